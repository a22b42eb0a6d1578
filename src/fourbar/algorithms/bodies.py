"""All bodies at once: twists, Jacobians, and the joint forces that do the work of wrenches on bodies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..spatial.linear import Vec
from ..spatial.transform import Transform
from ..spatial.vectors import Twist, Wrench
from ..tree.cluster_tree import GROUND, Location
from ..tree.links import Kinematics
from .link_twists import velocity_outward
from .sweep import Outcome, Sweeps, outward


def to_place(pose: Transform, V: Twist) -> Twist:
    """The twist of a place on a link's body, in the axes of that place."""
    return pose.motion_to_child(V)


def twists(s: Sweeps, v: Sequence[Vec], homes: Sequence[Location]) -> list[Twist]:
    """V = X V_λ + S v, at every home."""
    V = s.outward(velocity_outward, Twist.zero(), v)
    return [
        Twist.zero() if home.link == GROUND else s.recorder.call(to_place, home.pose, V[home.link]) for home in homes
    ]


Columns = tuple[Twist, ...]


def own_columns(k: Kinematics) -> Columns:
    """S: what the joint of a link does to its body."""
    return k.S.twists()


def carry(k: Kinematics, columns: Columns) -> Columns:
    """X J_λ: what a joint that carries the link does to its body, from what it does to the parent."""
    return tuple(k.X.motion_to_child(column) for column in columns)


def columns_at(pose: Transform, columns: Columns) -> Columns:
    """The columns of a place on a link's body."""
    return tuple(pose.motion_to_child(column) for column in columns)


def _all_columns(s: Sweeps) -> list[dict[int, Columns]]:
    """For each link the columns of its own joint and of those that carry it, by number."""

    def columns_outward(i: int, above: dict[int, Columns]) -> dict[int, Columns]:
        carried = {j: s.step(i, carry, columns) for j, columns in above.items()}
        return {**carried, i: s.step(i, own_columns)}

    return outward(s.tree.parents, {}, columns_outward)


def jacobians(s: Sweeps, homes: Sequence[Location]) -> list[list[list[Any]]]:
    """J (6 x nv, rows of scalars) of every home, on the velocities of all links."""
    carried, found = _all_columns(s), []
    for home in homes:
        J: list[list[Any]] = [[0.0] * s.tree.nv for _ in range(6)]
        for i, columns in carried[home.link].items() if home.link != GROUND else ():
            for b, column in enumerate(s.recorder.call(columns_at, home.pose, columns)):
                for row, x in enumerate(column.six()):
                    J[row][s.tree.first_v[i] + b] = x
        found.append(J)
    return found


def force_inward(k: Kinematics, children: tuple[Wrench, ...], F_ext: Wrench) -> Outcome:
    """F = F_ext + Σ Xᵀ F of the children;  τ = Sᵀ F."""
    F = sum(children, F_ext)
    return Outcome(k.S.project(F), k.X.force_to_parent(F))


def generalized_force(s: Sweeps, F_ext: Sequence[Wrench]) -> list[Vec]:
    """Joint forces of every link that do the work of external wrenches on its body."""
    return s.inward(force_inward, F_ext)
