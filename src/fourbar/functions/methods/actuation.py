"""Actuators: what their forces are on the velocities of a robot."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...algorithms.energy import add
from ...algorithms.transmission import driven, in_child_axes
from ...errors import ArgumentError
from ...spatial.linear import Vec, is_zero
from ..arguments import Q, U
from ..context import Context
from ..registry import Outputs, flat, method, vector


def _gears(c: Context) -> Iterator[tuple[int, int, Vec]]:
    """The number of an actuator, a link that it moves, and the gear on the velocities of the link's joint."""
    if not c.model.mechanism.actuators:
        raise ArgumentError(
            f"robot {c.model.mechanism.name!r} has no actuators; declare them with Builder.actuator(...), or put "
            "forces on the velocities themselves"
        )
    moving = c.model.cluster_tree.moving
    link, q = {joint.name: i for i, joint in enumerate(moving)}, c.coordinates()
    for a, actuator in enumerate(c.model.mechanism.actuators):
        for drive in actuator.drives:
            i, gear = link[drive.joint], Vec(drive.gear)
            in_parent = drive.axes == "parent"
            yield a, i, c.recorder.call(in_child_axes, moving[i].joint, q[i], gear) if in_parent else gear


@method(Q, U, results="tau")
def actuator_force(c: Context) -> Outputs:
    """Forces τ = Bᵀ u (..., nv) on the independent velocities, of forces u (..., n_actuators) of the actuators.

    In a loop an actuator may be on any joint. B is the `actuator_matrix`.
    """
    forces, u = c.still(), c.given["u"]
    for a, i, gear in _gears(c):
        forces[i] = c.recorder.call(driven, gear, u[a], forces[i])
    return vector(c, "tau", c.project(forces))


@method(Q, results="B")
def actuator_matrix(c: Context) -> Outputs:
    """B (..., n_actuators, nv): the velocities of the actuators are B v, and their forces u make τ = Bᵀ u."""
    rows: list[list[Any]] = [[0.0] * c.tree.nv for _ in c.model.mechanism.actuators]
    for a, i, gear in _gears(c):
        for k, x in enumerate(gear, c.tree.first_v[i]):
            rows[a][k] = x if is_zero(rows[a][k]) else c.recorder.call(add, rows[a][k], x)
    return [("B", (len(rows), c.nv), flat(c.columns(rows)))]
