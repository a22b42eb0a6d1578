"""Simulation through places where the joints that say the velocities of a loop turn back."""

from __future__ import annotations

import numpy as np
import pytest

import fourbar as fb
from fourbar.joints import Revolute
from fourbar.loops import Closure
from fourbar.robots.linkages import LENGTHS
from fourbar.robots.robot_data import rod
from fourbar.sim.loops.charts import Charts
from fourbar.sim.motions.outcome import rigid
from fourbar.sim.robot.runge_kutta import Follower, SimulatedState


def drive(robot: fb.System, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """A force on the crank and damping of the elbow, as forces on the velocities of this robot."""
    E = robot.expand_velocity(q[..., None, :], np.eye(robot.nv))
    motion = robot.expand_velocity(q, v)
    forces = np.zeros_like(motion)
    forces[..., 0], forces[..., 1] = 0.7, -0.05 * motion[..., 1]
    return np.einsum("...ij,...j->...i", E, forces)


@pytest.mark.parametrize("driven", [False, True])
def test_the_rocker_says_the_velocity(driven: bool) -> None:
    """The crank of a crank-rocker turns on, its rocker turns back twice a turn: the same motion in both velocities."""
    crank = fb.robots.crank_rocker()
    rocker = crank.with_independent(crank.names.joints[2])
    q, speed = crank.assemble((2.0, -1.6, 1.9)), np.array([6.0])
    slow = crank.expand_velocity(q, speed)[2:3]
    options = {"duration": 0.8, "dt": 4e-4, "every": 100}
    of = lambda robot: (lambda t, q, v: drive(robot, q, v)) if driven else None  # noqa: E731
    wanted = fb.simulate(crank, q, speed, period=0, tau=of(crank), **options)
    found = fb.simulate(rocker, q, slow, period=0, tau=of(rocker), **options)
    assert np.ptp(wanted.q[:, 0]) > 2.0 * np.pi, "the crank made a turn"
    assert np.abs(found.q - wanted.q).max() < 2e-8
    velocity = crank.expand_velocity(wanted.q, wanted.v)[:, 2:3]
    assert np.abs(found.v - velocity).max() < 2e-7 * np.abs(velocity).max()
    assert rocker.loop_gap(found.q).max() < 1e-12


def test_a_batch_changes_together() -> None:
    """Two motions at once, one of which needs other velocities."""
    crank = fb.robots.crank_rocker()
    rocker = crank.with_independent(crank.names.joints[2])
    q = np.array([crank.assemble((2.0, -1.6, 1.9))] * 2)
    speed = np.array([[5.0], [0.1]])
    slow = crank.expand_velocity(q, speed)[:, 2:3]
    wanted = fb.simulate(crank, q, speed, duration=0.6, dt=8e-4, every=125)
    found = fb.simulate(rocker, q, slow, duration=0.6, dt=8e-4, every=125)
    assert np.abs(found.q - wanted.q).max() < 2e-8


@pytest.mark.default_cases("0.3-1e-06-0.001", "0.3-0.03-0.005", "-6.0-1e-06-0.005", "-6.0-0.5-0.001")
@pytest.mark.parametrize("dt", [1e-3, 5e-3])
@pytest.mark.parametrize("before", [1e-6, 1e-3, 0.03, 0.5])
@pytest.mark.parametrize("speed", [0.3, -6.0])
def test_a_start_near_where_the_rocker_turns_back(speed: float, before: float, dt: float) -> None:
    """It turns back where crank and coupler are in line; there its velocity tells nothing, however small the steps."""
    crank = fb.robots.crank_rocker()
    rocker = crank.with_independent("rocker")
    ground, a, b, c = LENGTHS
    x = np.pi + np.arccos((ground**2 + (b - a) ** 2 - c**2) / (2 * ground * (b - a)))  # folded: the coupler points back
    in_line = crank.assemble((x, -np.pi, np.arctan2((a - b) * np.sin(x), (a - b) * np.cos(x) - ground)))
    assert abs(crank.expand_velocity(in_line, [1.0])[2]) < 1e-7
    q = crank.integrate(in_line, np.array([before if speed <= 0.0 else -before]), np.array(1.0))
    v = np.array([speed])
    wanted = fb.simulate(crank, q, v, duration=0.1, dt=dt)
    found = fb.simulate(rocker, q, crank.expand_velocity(q, v)[2:3], duration=0.1, dt=dt)
    assert np.abs(found.q - wanted.q).max() < 1e-6


def test_other_velocities_need_not_determine_all_where_the_robot_was_built() -> None:
    """A linkage without a crank, built where a turns back (b and c in line), while b is followed: a is asked later."""
    bars = {"a": 0.4, "b": 0.3, "c": 0.35}

    def linkage(home: dict[str, float]) -> fb.System:
        b = fb.Builder("rockers", gravity=(0, -9.81, 0))
        b.body("a", joint=Revolute("z"), **rod(0.4, (bars["a"], 0, 0)))
        b.body("b", parent="a", joint=Revolute("z"), position=(bars["a"], 0, 0), **rod(0.5, (bars["b"], 0, 0)))
        b.body("c", joint=Revolute("z"), position=(0.5, 0, 0), **rod(0.6, (bars["c"], 0, 0)))
        pin = Closure(Revolute("z"), "b", "c", at_predecessor=(bars["b"], 0, 0), at_successor=(bars["c"], 0, 0))
        return b.loop(pin, name="pin", independent=["b"]).configuration("home", home).build()

    start = {"a": 1.3, "b": -1.0, "c": 1.9}
    x = np.arccos((0.5**2 + bars["a"] ** 2 - (bars["b"] + bars["c"]) ** 2) / (2 * 0.5 * bars["a"]))
    y = np.arctan2(-bars["a"] * np.sin(x), 0.5 - bars["a"] * np.cos(x))
    usual, stretched = linkage(start), linkage({"a": x, "b": y - x, "c": y + np.pi})
    assert np.abs(stretched.expand_velocity(stretched.neutral(), [1.0])[0]) < 1e-6
    q = usual.assemble(tuple(start.values()))
    options = {"duration": 0.5, "dt": 5e-4, "every": 100}
    wanted, found = (fb.simulate(robot, q, np.array([3.0]), **options) for robot in (usual, stretched))
    assert np.abs(found.q - wanted.q).max() < 1e-7


def test_a_lost_motion_of_a_batch_hides_nothing() -> None:
    """The other motions pass as they would alone, and their number changes nothing."""
    crank = fb.robots.crank_rocker()
    rocker = crank.with_independent("rocker")
    q = np.array([crank.assemble((2.0, -1.6, 1.9))] * 3)
    speed = np.array([[6.0], [0.1], [5.0]])
    slow = crank.expand_velocity(q, speed)[:, 2:3]
    slow[1] = np.nan
    wanted = fb.simulate(crank, q, speed, duration=0.8, dt=1e-3, every=100)
    found = fb.simulate(rocker, q, slow, duration=0.8, dt=1e-3, every=100)
    assert np.abs(found.q - wanted.q)[:, [0, 2]].max() < 1e-5 and np.isnan(found.q[1:, 1]).all()


def test_forces_of_a_wrong_size_are_refused_in_other_velocities_too() -> None:
    """In those that are followed they would be spread over all."""
    crank = fb.robots.crank_rocker()
    follower = Follower(crank.with_independent("rocker"), lambda t, q, v: np.ones(2), rigid)
    follower.charts.now = crank
    now = SimulatedState(crank.assemble((2.0, -1.6, 1.9)), np.ones(1), 0.0)
    with pytest.raises(fb.ArgumentError, match=r"tau\(t, q, v\) must have shape \(\.\.\., 1\), got \(2,\)"):
        follower.step(0.0, now, 1e-3)


def test_only_loops_that_lose_their_hold_change() -> None:
    """Nothing is asked of others where all is well, and nothing without loops."""
    crank = fb.robots.crank_rocker()
    charts = Charts(crank)
    q = crank.assemble((2.0, -1.6, 1.9))
    assert charts.examine(q, np.ones(1)) is not None and charts.now is crank
    assert charts.better(q, np.ones(1), 1e-3) is None and charts.better(q, np.ones(1), 1.0) is None
    arm = fb.robots.double_pendulum()
    assert not Charts(arm).moving


@pytest.mark.parametrize(
    ("name", "until"), [pytest.param("stewart_platform", 0.6, marks=pytest.mark.slow), ("delta", 0.6)]
)
def test_parallel_robots_move_as_they_are_shipped(name: str, until: float) -> None:
    """As the command line moves them. The slides of the Stewart platform soon tell nothing of its pose, which is then
    followed itself."""
    robot = fb.robots.ROBOTS[name]()
    q, v = robot.random(0), 0.5 * np.random.default_rng(0).normal(size=robot.nv)
    with pytest.warns(fb.SimulationWarning, match="beyond the limits"):
        found = fb.simulate(robot, q, v, duration=until, dt=2e-3, passive=True)
    assert robot.loop_gap(found.q).max() < 1e-11
    energy = robot.kinetic_energy(found.q, found.v) + robot.potential_energy(found.q) + robot.spring_energy(found.q)
    drift = energy + found.lost - energy[0]
    assert np.abs(drift).max() < 1e-5 * robot.kinetic_energy(found.q, found.v).max()


def test_loops_are_examined_where_they_change_and_other_velocities_are_found_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With forces asked from Python too: a step costs no examination, and the next motion builds no robot again."""
    crank = fb.robots.crank_rocker()
    rocker = crank.with_independent(crank.names.joints[2])
    q = crank.assemble((2.0, -1.6, 1.9))
    slow = crank.expand_velocity(q, [6.0])[2:3]
    asked: list[str] = []
    sizes, build = Charts.sizes, fb.System.with_independent
    monkeypatch.setattr(Charts, "sizes", lambda self, q: (asked.append("sizes"), sizes(self, q))[1])
    monkeypatch.setattr(fb.System, "with_independent", lambda self, x: (asked.append("build"), build(self, x))[1])
    given: dict = {"period": 0, "tau": lambda t, q, v: 0.0 * v, "duration": 0.8, "dt": 4e-4}
    runs = [fb.simulate(rocker, q, slow, **given) for _ in range(2)]
    assert 0 < asked.count("build") <= 4  # velocities of other joints, in the first motion only
    assert asked.count("sizes") < 200  # of 4000 steps
    assert np.array_equal(runs[0].q, runs[1].q)
    smooth = fb.simulate(rocker, q, slow, duration=0.8, dt=4e-4)
    assert np.abs(smooth.q - runs[0].q).max() < 1e-8


def test_velocities_that_come_back_are_those_of_the_same_robot(monkeypatch: pytest.MonkeyPatch) -> None:
    """A linkage that falls and swings changes its velocities many times; machine code is made for few of them."""
    built: list[list[str]] = []
    build = fb.System.with_independent
    monkeypatch.setattr(fb.System, "with_independent", lambda self, x: (built.append(x), build(self, x))[1])
    robot = fb.robots.five_bar()
    with pytest.warns(fb.SimulationWarning, match="limits"):
        run = fb.simulate(robot, robot.neutral(), duration=4.0, dt=1e-3)
    assert len(built) == len({tuple(sorted(x)) for x in built}) >= 2  # 45 without
    total = robot.kinetic_energy(run.q, run.v) + robot.potential_energy(run.q) + run.lost
    assert np.ptp(total) < 1e-4 * np.ptp(robot.potential_energy(run.q)) and robot.loop_gap(run.q).max() < 1e-12


@pytest.mark.parametrize(("name", "speed", "steps"), [("five_bar", 2.0, 400), ("stewart_platform", 0.3, 200)])
def test_a_sample_has_the_same_bits_whoever_changed_velocities_before(name: str, speed: float, steps: int) -> None:
    make, rng = fb.robots.ROBOTS[name], np.random.default_rng(0)
    robot = make()
    q, v = np.tile(robot.neutral(), (6, 1)), speed * rng.normal(size=(6, robot.nv))
    together = fb.rollout(robot, q, v, dt=2e-3, steps=steps)
    turned = fb.rollout(make(), q[::-1], v[::-1], dt=2e-3, steps=steps)
    assert np.array_equal(turned.q[:, ::-1], together.q)
    for k in (0, 5):
        alone = fb.rollout(make(), q[k], v[k], dt=2e-3, steps=steps)
        assert np.array_equal(alone.q, together.q[:, k]) and np.array_equal(alone.v, together.v[:, k])
