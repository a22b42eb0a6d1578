"""How clusters move: maps G and g, Jacobians and integration against finite differences of closed configurations."""

from __future__ import annotations

import numpy as np
import pytest

import fourbar as fb
from fourbar import System, baselines
from fourbar.joints import Revolute
from fourbar.loops import Closure

from .looped import BATCH, EACH, STENCIL, apply, bars, mechanism, near, slope, spanning, state

pytestmark = pytest.mark.drawn_in_line

# Second central difference of order ten: weight of f(0), then of f(±h), f(±2h), ...
BEND = (-5269 / 1800, 5 / 3, -5 / 21, 5 / 126, -5 / 1008, 1 / 3150)


def _path(robot: System, q: np.ndarray, v: np.ndarray, h: float) -> dict[int, np.ndarray]:
    """The spanning tree's way from q, in the chart of its joints, at the times k h of `integrate`."""
    start = robot.expand(q)
    times = range(-len(STENCIL), len(STENCIL) + 1)
    return {k: spanning(robot).difference(start, robot.expand(robot.integrate(q, v, k * h))) for k in times}


@EACH
def test_maps_by_finite_differences(name: str) -> None:
    """Rates of all joints along re-assembled configurations: first G v, then G a + g with a of the independent ones."""
    robot, s, h = mechanism(name), state(name), 0.003
    way = _path(robot, s.q, s.v, h)
    rate = sum(w * (way[k] - way[-k]) / h for k, w in enumerate(STENCIL, 1))
    near(rate, robot.expand_velocity(s.q, s.v), 1e-10)
    near(robot.expand_velocity(s.q, s.v), apply(robot.loop_map(s.q), s.v), 1e-13)
    bend = BEND[0] * way[0] + sum(w * (way[k] + way[-k]) for k, w in enumerate(BEND[1:], 1))
    where = baselines.independent(robot)
    a = bend[:, where.places] / h**2 / where.scales
    size = np.abs(robot.loop_bias(s.q, s.v)).max(axis=-1) + 1.0
    near(bend / h**2, robot.expand_acceleration(s.q, s.v, a), 1e-8, size)
    near(robot.expand_acceleration(s.q, s.v, s.a), apply(robot.loop_map(s.q), s.a) + robot.loop_bias(s.q, s.v), 1e-13)


@EACH
def test_frames_move_as_their_jacobians_say(name: str) -> None:
    """Velocity = J v = rate of the pose; acceleration = J a + J̇ v = rate of the velocity."""
    robot, s = mechanism(name), state(name)
    frame = robot.names.bodies[-1]
    V = robot.velocity(s.q, s.v, frame)
    near(apply(robot.jacobian(s.q, frame), s.v), V, 1e-12)
    T = robot.pose(s.q, frame)
    dT = slope(lambda t: robot.pose(robot.integrate(s.q, s.v, t), frame))
    near(dT[:, :3, 3], V[:, 3:], 1e-10, np.abs(V).max(axis=-1))
    spin = dT[:, :3, :3] @ np.swapaxes(T[:, :3, :3], -1, -2)
    near(np.stack([spin[:, 2, 1], spin[:, 0, 2], spin[:, 1, 0]], axis=-1), V[:, :3], 1e-10, np.abs(V).max(axis=-1))
    A = robot.acceleration(s.q, s.v, s.a, frame)
    near(apply(robot.jacobian(s.q, frame), s.a) + robot.jacobian_rate(s.q, s.v, frame), A, 1e-12)
    rate = slope(lambda t: robot.velocity(robot.integrate(s.q, s.v, t), s.v + t * s.a, frame), h=0.002)
    near(rate, A, 1e-8)


@EACH
def test_bodies_are_where_the_spanning_tree_has_them(name: str) -> None:
    robot, s = mechanism(name), state(name)
    near(robot.poses(s.q), spanning(robot).poses(robot.expand(s.q)), 1e-14)
    assert spanning(robot).loop_gap(robot.expand(s.q)).max() == 0.0


@EACH
def test_integrate_keeps_loops_closed(name: str) -> None:
    """Whatever the velocity; and `difference` takes the step back, also of joints that are independent in part."""
    robot, s = mechanism(name), state(name)
    assert robot.loop_gap(s.q).max() < 1e-11
    moved = robot.integrate(s.q, s.v, 0.05)
    assert robot.loop_gap(moved).max() < 1e-12
    near(robot.integrate(s.q, 0.0 * s.v, 1.0), s.q, 1e-11)
    near(robot.difference(s.q, moved), 0.05 * s.v, 1e-11)


@EACH
def test_random_and_neutral_configurations_are_closed(name: str) -> None:
    robot = mechanism(name)
    assert robot.loop_gap(robot.neutral()) < 1e-10
    q = robot.random(3, BATCH)
    assert q.shape == (BATCH, robot.nq) and robot.loop_gap(q).max() < 1e-11
    assert np.array_equal(q, robot.random(3, BATCH)), "the same seed gives the same configurations"
    assert robot.random(4).shape == (robot.nq,)


@pytest.mark.parametrize("name", ["moored", "spatial_crank", "written"])
def test_simulation_is_of_fourth_order_where_joints_are_independent_in_part(name: str) -> None:
    """A quarter of the step divides the error of the energy by 256: some velocities of a ball or a free base follow."""
    robot = mechanism(name)
    assert robot.model.cluster_tree.has_shared_joints
    q, v = robot.neutral(), 0.5 * np.random.default_rng(0).normal(size=robot.nv)
    coarse, fine = (fb.simulate(robot, q, v, duration=0.08, dt=dt, every=1000) for dt in (4e-3, 1e-3))
    before, after = (robot.kinetic_energy(x.q, x.v) + robot.potential_energy(x.q) for x in (coarse, fine))
    assert abs(after[-1] - after[0]) < abs(before[-1] - before[0]) / 100.0


@pytest.mark.parametrize("length", [1e-3, 1.0, 1e4, 1e6])
def test_units_of_length_do_not_matter(length: float) -> None:
    """A four-bar of kilometres closes to as many digits: rounding grows with its levers, and is no gap."""
    b = fb.Builder("four_bar")
    b.loop(bars(b, "", tuple(length * x for x in (1.0, 0.45, 0.9, 0.7))), name="loop", independent=["crank"])
    robot = b.build()
    q = robot.random(0, 100)
    moved = robot.integrate(q, np.full((100, 1), 0.1), 1.0)
    assert np.isfinite(moved).all() and robot.loop_gap(moved).max() < 1e-14 * length
    near(robot.assemble(moved + 1e-3, keep=["crank"])[:, 1:], moved[:, 1:], 0.01, 1.0)
    assert np.ptp(q[:, 0]) > 4.0


def test_random_configurations_stay_in_the_assembly() -> None:
    """The crank of a four-bar cannot fold its elbow over, links of a parallelogram stay parallel, a delta robot's
    platform does not turn: all of them could also be assembled otherwise."""
    robot = mechanism("four_bar")
    q = robot.random(0, 300)
    elbow = np.sin(q @ [1.0, 1.0, -1.0])  # between coupler and rocker
    assert np.all(elbow * np.sin(robot.neutral() @ [1.0, 1.0, -1.0]) > 0.0)
    assert np.ptp(q[:, 0]) > 4.0, "it turns far all the same"
    q = fb.robots.parallelogram().random(0, 100)
    near(q[:, 2], q[:, 0], 1e-9, 1.0)
    delta = fb.robots.delta()
    q = delta.random(0, 20)
    turned = delta.names.coordinates.index("platform.qw")
    near(q[:, turned : turned + 4], np.tile([1.0, 0.0, 0.0, 0.0], (20, 1)), 1e-9, 1.0)


def test_random_configurations_of_a_robot_that_is_built_outside_its_limits() -> None:
    """They start within limits, in the assembly from which a motion leads there."""
    solid = {"mass": 1.0, "com": (0.1, 0.0, 0.0), "inertia": (1e-3, 1e-2, 1e-2)}
    b = fb.Builder("four_bar")
    b.body("crank", joint=Revolute("y"), limits=(3.0, 3.1), **solid)
    b.body("coupler", parent="crank", joint=Revolute("y"), position=(0.2, 0, 0), **solid)
    b.body("rocker", joint=Revolute("y"), position=(0.5, 0, 0), **solid)
    ends = {"at_predecessor": (0.5, 0, 0), "at_successor": (0.4, 0, 0)}
    b.loop(Closure(Revolute("y"), "coupler", "rocker", **ends), independent=["crank"])
    robot = b.build()
    q, built = robot.random(0, 10), robot.neutral()
    assert not 3.0 <= built[0] <= 3.1 and np.all((q[:, 0] >= 3.0) & (q[:, 0] <= 3.1))
    assert np.all(np.sin(q @ [1.0, 1.0, -1.0]) * np.sin(built @ [1.0, 1.0, -1.0]) > 0.0)


def test_random_configurations_pass_where_independent_joints_turn_back() -> None:
    """A rocker that is independent says nothing of the crank at its end: a toggle position, but no other assembly."""
    robot = mechanism("four_bar").with_independent("rocker")
    q = robot.random(0, 300)
    assert np.ptp(q[:, 0]) > 4.0 and robot.loop_gap(q).max() < 1e-11


@EACH
def test_assemble_finds_the_way_back(name: str) -> None:
    """From a little beside a closed configuration to one; closed ones stay."""
    robot, s = mechanism(name), state(name)
    near(robot.assemble(s.q), s.q, 1e-11)
    beside = s.q + 1e-3 * np.random.default_rng(0).normal(size=s.q.shape)
    back = robot.assemble(beside)
    assert robot.loop_gap(back).max() < 1e-11
    near(back, s.q, 0.03, 1.0)


def test_assemble_keeps_what_it_is_asked_to() -> None:
    robot, s = mechanism("four_bar"), state("four_bar")
    guess = s.q + np.array([0.2, 0.1, -0.1])
    back = robot.assemble(guess, keep=["crank"])
    assert np.array_equal(back[:, 0], guess[:, 0]) and robot.loop_gap(back).max() < 1e-11


@pytest.mark.parametrize("name", ["chained", "tripod"])
def test_names_follow_the_independent_velocities(name: str) -> None:
    """Names are in the order of the arrays: v_i moves the joint velocity_names[i] says."""
    robot = mechanism(name)
    labels = spanning(robot).names.velocities
    where = baselines.independent(robot)
    assert [labels[i] for i in where.places] == list(robot.names.velocities)
    G = robot.loop_map(state(name).q)
    near(G[:, where.places], np.broadcast_to(np.diag(where.scales), (BATCH, robot.nv, robot.nv)), 1e-15)
