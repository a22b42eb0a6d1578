"""The same mechanism with its loops embedded, and with the same loops enforced by forces."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import fourbar as fb
from fourbar import Builder, ModelError, baselines
from fourbar.joints import Free, Helical, Revolute
from fourbar.loops import Closure
from tests.loops.looped import NAMES, mechanism, near, shaped, spanning, state

_MASSLESS = ("own_coordinate", "explicit")  # bodies that only loops hold
EACH = pytest.mark.parametrize("name", [name for name in NAMES if name not in _MASSLESS])


@pytest.mark.slow_cases("chained", "nested")
@EACH
def test_same_accelerations(name: str) -> None:
    robot, s = mechanism(name), state(name, n=3)
    c = spanning(robot).constrained(*(named.loop for named in robot.mechanism.loops))
    q, v = robot.expand(s.q), robot.expand_velocity(s.q, s.v)
    expected = robot.expand_acceleration(s.q, s.v, robot.forward_dynamics(s.q, s.v, s.tau, f_ext=s.f_ext))
    a, _ = c.forward_dynamics(q, v, baselines.spanning_forces(robot, s.tau), f_ext=s.f_ext)
    near(a, expected, 1e-12 if name != "spatial_crank" else 1e-11)
    assert np.abs(c.residual(q)).max() < 1e-10


@EACH
def test_rank_is_what_the_loops_take(name: str) -> None:
    robot, s = mechanism(name), state(name, n=3)
    c = spanning(robot).constrained(*(named.loop for named in robot.mechanism.loops))
    assert np.all(c.rank(robot.expand(s.q)) == spanning(robot).nv - robot.nv)


def test_some_embedded_others_not() -> None:
    """A loop on top of a robot with other loops embedded: as if all were embedded."""
    whole, s = mechanism("tripod"), state("tripod", n=3)
    loops = whole.mechanism.loops
    part = fb.System(replace(whole.mechanism, loops=loops[:2]))
    c = part.constrained(*(named.loop for named in loops[2:]))
    q, v, tau = s.q, s.v, s.tau
    expected = whole.expand_acceleration(q, v, whole.forward_dynamics(q, v, tau))
    full_v = whole.expand_velocity(q, v)
    everything, names = whole.spanning().names, list(part.spanning().names.velocities)
    part_v = full_v[:, [names.index(x) for x in part.names.velocities]]
    order = {x: i for i, x in enumerate(everything.coordinates)}
    part_q = whole.expand(q)[:, [order[x] for x in part.names.coordinates]]
    forces = np.zeros((3, len(names)))
    forces[:, [names.index(x) for x in whole.names.velocities]] = tau
    G = part.loop_map(part_q)
    a, _ = c.forward_dynamics(part_q, part_v, np.einsum("bij,bi->bj", G, forces))
    near(part.expand_acceleration(part_q, part_v, a), expected, 1e-12)


def test_bodies_without_mass_that_only_loops_hold() -> None:
    robot = mechanism("own_coordinate")
    held = spanning(robot).constrained(*(named.loop for named in robot.mechanism.loops))
    with pytest.raises(ModelError, match=r"forward_dynamics .* moves nothing that has inertia"):
        _ = held.forward_dynamics


def test_overconstrained_mechanisms() -> None:
    """A planar four-bar closed by a weld of its coupler's end holds too much; closed by a hinge, just enough."""
    robot = mechanism("four_bar")
    s = state("four_bar", n=3)
    loop = robot.mechanism.loops[0].loop
    assert isinstance(loop, Closure)
    twice = spanning(robot).constrained(loop, loop)
    once = spanning(robot).constrained(loop)
    q, v = robot.expand(s.q), robot.expand_velocity(s.q, s.v)
    tau = baselines.spanning_forces(robot, s.tau)
    a, force = once.forward_dynamics(q, v, tau)
    again, halves = twice.forward_dynamics(q, v, tau)
    near(again, a, 1e-13)
    near(halves, np.concatenate([force, force], axis=-1) / 2.0, 1e-13)


@pytest.mark.slow
def test_a_screw() -> None:
    """Embedded or held by forces: the same rows, the same accelerations, and no body or coordinate more."""
    screw = Closure(Helical((0.6, 0.0, 0.8), pitch=0.15), "swing", "block", at_predecessor=(0, 0, 0.3))
    robots = []
    for embedded in (True, False):
        b = Builder("screw")
        shaped(b, "swing", 80, joint=Revolute("x"))
        shaped(b, "block", 81, joint=Free(), position=(0, 0.2, 0.4))
        robots.append(
            (b.loop(screw, name="block") if embedded else b).build()
        )  # a body of the loop's name is none of it
    whole, tree = robots
    assert whole.names.bodies == tree.names.bodies == ("swing", "block")
    assert (whole.nq, whole.nv) == (tree.nq, 2) and whole.names.parameters == tree.names.parameters
    c = tree.constrained(screw)
    rng = np.random.default_rng(0)
    q, v = whole.random(rng, 3), rng.normal(size=(3, whole.nv))
    full, every = whole.expand(q), whole.expand_velocity(q, v)
    near(c.residual(full), np.zeros((3, 5)), 1e-13, 1.0)
    near(c.rate(full, every), np.zeros((3, 5)), 1e-13, np.abs(every).max(axis=-1))
    a = whole.expand_acceleration(q, v, whole.forward_dynamics(q, v, np.zeros(whole.nv)))
    near(c.forward_dynamics(full, every, np.zeros(tree.nv))[0], a, 1e-12)
