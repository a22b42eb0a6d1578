"""Simulation: fourth order on every joint, energy kept, quaternions of unit length."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fourbar as fb
from fourbar.functions.function import backend
from fourbar.joints import Free, Joint, Planar, Revolute, Schoenflies, Spherical, SphericalEuler, SphericalExponential
from fourbar.loops import Closure, Constraint, Distance
from tests.algorithms.mechanisms import mechanism, near, quaternions, random_mechanism, small_mechanism, state

pytestmark = pytest.mark.drawn_in_line

STEPS = 2000 if backend() == "llvm" else 200  # the interpreter is for comparisons, not for speed


def total_energy(robot: fb.System, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    return robot.kinetic_energy(q, v) + robot.potential_energy(q)


def test_energy_is_kept() -> None:
    """A floating tree with quaternions, let go: the energy stays, to the order of the method."""
    robot = small_mechanism()
    s = state(robot, (1, "random", 1.0), n=2)
    motion = fb.simulate(robot, s.q, s.v, duration=5e-4 * STEPS, dt=5e-4, every=STEPS // 10)
    energy = total_energy(robot, motion.q, motion.v)
    flow = robot.kinetic_energy(motion.q, motion.v).max(axis=0)
    near(energy, np.broadcast_to(energy[0], energy.shape), 1e-9, flow.max())
    for part in quaternions(robot):
        length = np.linalg.norm(motion.q[..., part], axis=-1)
        assert np.abs(length - 1.0).max() < 1e-15


def test_momentum_of_a_floating_robot_is_kept() -> None:
    """Without gravity: angular momentum about the world's origin and linear momentum stay, whatever the joints do."""
    robot = small_mechanism().with_gravity((0.0, 0.0, 0.0))
    assert not any(robot.mechanism.joints[0].armature)
    s = state(robot, (2, "random", 1.0), n=2)
    push = np.concatenate([np.zeros(6), np.ones(robot.nv - 6)])

    def torque(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return (np.cos(t) - 0.1 * v) * push

    motion = fb.simulate(robot, s.q, s.v, duration=0.1, dt=5e-4, every=50, period=0, tau=torque)
    h = robot.momentum(motion.q, motion.v, about="world")
    near(h, np.broadcast_to(h[0], h.shape), 1e-10)


ORDER_CASES: list[tuple[Joint, ...]] = [
    (Revolute("x"), Revolute("y")),
    (Spherical(), Revolute("x")),
    (Free(), Spherical()),
    (Planar("y"), Schoenflies("x")),
    (SphericalEuler("xyz"), SphericalExponential()),
]


@pytest.mark.parametrize("joints", ORDER_CASES, ids=lambda js: "-".join(type(j).__name__ for j in js))
def test_fourth_order(joints: tuple[Joint, ...]) -> None:
    """Halving the step divides the error by sixteen, on the groups too: differences of three solutions tell."""
    robot = random_mechanism(np.random.default_rng(8), joints, "two", floating=False)
    s = state(robot, (3, "home", 1.0), n=1)
    q, v = s.q[0], s.v[0]
    ends = []
    for dt in (8e-3, 4e-3, 2e-3):
        motion = fb.simulate(robot, q, v, duration=0.16, dt=dt, every=1000)
        ends.append((motion.q[-1], motion.v[-1]))
    (q1, v1), (q2, v2), (q3, v3) = ends
    coarse = np.concatenate([robot.difference(q1, q2), v2 - v1])
    fine = np.concatenate([robot.difference(q2, q3), v3 - v2])
    assert np.linalg.norm(fine) > 1e-13, "the steps are too small to tell"
    assert 3.7 < np.log2(np.linalg.norm(coarse) / np.linalg.norm(fine)) < 4.3


def test_what_cannot_be_simulated_is_refused() -> None:
    robot = fb.robots.four_bar()
    for every in (0, -1, 2.5):
        with pytest.raises(fb.ArgumentError, match=r"every=.*whole number of steps"):
            fb.simulate(robot, robot.neutral(), duration=0.01, every=every)  # type: ignore[arg-type]
    with pytest.raises(fb.ArgumentError, match="passive='no': expected True or False"):
        fb.simulate(robot, robot.neutral(), duration=0.01, passive="no")  # type: ignore[arg-type]
    with pytest.raises(fb.ArgumentError, match=r"simulate: q must have shape \(\.\.\., 3\), got \(5,\)"):
        fb.simulate(robot, np.zeros(5), duration=0.01)
    beside = robot.neutral() + np.array([1e-3, 0.0, 0.0])
    with pytest.raises(fb.ArgumentError, match=r"open by .* at the start.*assemble"):
        fb.simulate(robot, beside, duration=0.01)
    with pytest.raises(fb.ArgumentError, match="open by"):
        fb.simulate(robot, np.stack([robot.neutral(), beside]), duration=0.01)
    lost = fb.simulate(robot, np.stack([robot.neutral(), np.full(3, np.nan)]), duration=0.002)
    assert np.isfinite(lost.q[:, 0]).all() and np.isnan(lost.q[:, 1]).all()


@pytest.mark.quick
@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"q": "ab"}, "simulate: q must hold real numbers"),
        ({"q": [0.0, 1j]}, "simulate: q must hold real numbers"),
        ({"v": "ab"}, "simulate: v must hold real numbers"),
        ({"v": np.zeros(3)}, r"simulate: v must have shape \(\.\.\., 2\), got \(3,\)"),
        ({"q": np.zeros((3, 2)), "v": np.zeros((2, 2))}, "simulate: the leading .batch. axes do not broadcast"),
        ({"tau": lambda t, q, v: None}, r"simulate: tau\(t, q, v\) cannot be read as an array"),
        ({"tau": lambda t, q, v: np.zeros(3)}, r"simulate: tau\(t, q, v\) must have shape \(\.\.\., 2\)"),
        ({"duration": "1"}, "duration and dt must be positive and finite, got duration='1'"),
        ({"dt": "fast"}, "duration and dt must be positive and finite, got .* dt='fast'"),
        ({"duration": True, "dt": 1.0}, "duration and dt must be positive and finite, got duration=True"),
        ({"duration": 10**400}, "duration and dt must be positive and finite, got duration=1000"),
        ({"duration": 1e300, "dt": 1e-300}, "duration and dt must be positive and finite"),
        ({"every": True}, "every=True: expected a whole number of steps"),
        ({"progress": 3}, "progress=3: expected a function that wraps the range of steps"),
        (
            {"tau": lambda t, q, v: np.zeros((3, 2)), "period": 0},
            r"tau.*returned shape \(3, 2\) for one state, expected \(2,\)",
        ),
        (
            {"q": np.zeros((3, 2)), "tau": lambda t, q, v: np.zeros((2, 2)), "period": 0},
            r"tau.*returned shape \(2, 2\) for a batch of states \(3,\), expected \(3, 2\)",
        ),
        ({"dt": 0.1}, "dt=0.1 is longer than duration=0.01: no whole step fits"),
        ({"robot": "arm.urdf"}, "simulate takes a robot, such as fb.load"),
    ],
)
def test_arguments_that_make_no_sense(given: dict[str, Any], message: str) -> None:
    usual: dict[str, Any] = {"robot": fb.robots.double_pendulum(), "q": np.zeros(2), "duration": 0.01}
    with pytest.raises(fb.ArgumentError, match=message):
        fb.simulate(**{**usual, **given})


def test_many_velocities_from_one_configuration() -> None:
    robot, v = fb.robots.double_pendulum(), np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]])
    together = fb.simulate(robot, np.zeros(2), v, duration=0.005)
    assert together.q.shape == (6, 3, 2) and together.lost.shape == (6, 3)
    for i in range(3):
        assert np.array_equal(together.q[:, i], fb.simulate(robot, np.zeros(2), v[i], duration=0.005).q)


def test_a_small_mechanism_must_be_closed_too() -> None:
    """A gap of a micrometre is nothing for a robot, and much for a mechanism of that size."""
    b, x = fb.Builder("watch"), 1e-6
    matter: dict[str, Any] = {"mass": 1e-9, "com": (0.2 * x, 0, 0), "inertia": (1e-9 * x * x,) * 3}
    b.body("crank", joint=Revolute("z"), **matter)
    b.body("coupler", parent="crank", joint=Revolute("z"), position=(0.4 * x, 0, 0), **matter)
    b.body("rocker", joint=Revolute("z"), position=(x, 0, 0), **matter)
    ends = {"at_predecessor": (0.7 * x, 0, 0), "at_successor": (0.6 * x, 0, 0)}
    robot = b.loop(Closure(Revolute("z"), "coupler", "rocker", **ends)).build()
    assert fb.simulate(robot, robot.neutral(), duration=1e-3).q.shape == (2, 3)
    with pytest.raises(fb.ArgumentError, match=r"open by .* at the start"):
        fb.simulate(robot, robot.neutral() + np.array([0.3, 0.0, 0.0]), duration=1e-3)


def rods(size: float) -> Any:
    """Two cranks that are tied by a rod, in any unit of length."""
    b, x = fb.Builder("rods", gravity=(0, 0, 0)), size
    matter: dict[str, Any] = {"mass": 1.0, "com": (0.5 * x, 0, 0), "inertia": (x * x,) * 3}
    b.body("a", joint=Revolute("z"), **matter)
    b.body("b", parent="a", joint=Revolute("z"), position=(x, 0, 0), **matter)
    b.body("c", joint=Revolute("z"), position=(1.3 * x, 0, 0), **matter)
    ends = {"predecessor_point": (0.9 * x, 0, 0), "successor_point": (0.8 * x, 0, 0)}
    return b.loop(Distance("b", "c", length=1.1 * x, **ends)).build()


@pytest.mark.parametrize("size", [1e-6, 1e-3, 1.0, 1e3, 1e5])
def test_loops_are_closed_or_not_in_all_units(size: float) -> None:
    """Coordinates of six digits are those of a closed loop, of four they are not."""
    robot = rods(size)
    q = robot.assemble([1.0, -1.0, 1.2])
    for i in range(5):
        off = np.random.default_rng(i).choice([-5e-7, 5e-7], 3)
        assert fb.simulate(robot, q + off, duration=1e-3).q.shape == (2, 3)
        with pytest.raises(fb.ArgumentError, match=r"open by .* at the start"):
            fb.simulate(robot, q + np.array([5e-5, 0.0, 0.0]), duration=1e-3)


@pytest.mark.parametrize("size", [1e-6, 1.0, 1e4])
def test_loops_of_angles_do_not_ask_where_bodies_are(size: float) -> None:
    b = fb.Builder("wheels", gravity=(0, 0, 0))
    b.body("a", joint=Revolute("z"), mass=1.0, inertia=(size**2,) * 3, position=(size, 0, 0))
    b.body("b", joint=Revolute("z"), mass=1.0, inertia=(size**2,) * 3, position=(-size, 0, 0))
    robot = b.loop(Constraint(lambda a, b: [b - a - 0.3 * a**3 - 0.2 * b**3], of=["a", "b"])).build()
    q = robot.assemble([0.5, 0.5])
    assert fb.simulate(robot, q + np.array([5e-7, -5e-7]), duration=1e-3).q.shape == (2, 2)
    with pytest.raises(fb.ArgumentError, match=r"open by .* at the start"):
        fb.simulate(robot, q + np.array([1e-5, 0.0]), duration=1e-3)


def test_a_quaternion_that_is_zero() -> None:
    robot = fb.Builder("stone").body("stone", joint=Free(), mass=1.0, inertia=(1.0, 1.0, 1.0)).build()
    with pytest.raises(fb.ArgumentError, match=r"quaternion of joint 'stone'.*zero"):
        robot.integrate(np.zeros(7), np.ones(6), 1.0)
    with pytest.raises(fb.ArgumentError, match=r"quaternion of joint 'stone'.*zero"):
        fb.simulate(robot, np.zeros(7), duration=1e-3)


def diverging(gain: float) -> dict[str, Any]:
    """A double pendulum with a spring that is far too stiff for the step."""
    law = lambda t, q, v: -gain * q  # noqa: E731
    return {"robot": fb.robots.double_pendulum(), "tau": law, "period": 0, "duration": 1.0, "dt": 1e-2}


def test_a_motion_that_diverges_ends_with_a_warning() -> None:
    with pytest.warns(fb.SimulationWarning, match="diverged at t = .*shorter step"):
        motion = fb.simulate(q=[0.1, 0.2], **diverging(1e5))
    assert 1 < len(motion.t) < 100 and np.isfinite(motion.q).all() and np.isfinite(motion.v).all()
    assert len(motion.t) == len(motion.q) == len(motion.v) == len(motion.lost)


@pytest.mark.parametrize("how", ["asked", "traced", "too fast"])
@pytest.mark.parametrize("joint", [Free(), Spherical()])
def test_bodies_whose_rotation_overflows_diverge_too(joint: Any, how: str) -> None:
    """The quaternion of one that turns too fast has no value; that is no other end than that of a pendulum."""
    robot = fb.Builder("top").body("top", joint=joint, mass=1.0, inertia=(1.0, 2.0, 2.5)).build()
    law: Any = {
        "asked": {"tau": lambda t, q, v: 1e4 * v, "period": 0},
        "traced": {"tau": fb.traced(lambda t, q, v: [1e4 * x for x in v]), "period": 0},
        "too fast": {},
    }[how]
    v = np.full(robot.nv, 1e200 if how == "too fast" else 0.1)
    with pytest.warns(fb.SimulationWarning, match="diverged at t = .*shorter step"):
        motion = fb.simulate(robot, robot.neutral(), v, duration=2.0, dt=1e-2, **law)
    assert len(motion.t) < 200 and np.isfinite(motion.q).all() and np.isfinite(motion.v).all()


def test_samples_that_diverge_are_marked_and_counted() -> None:
    """The others go on as they would alone."""
    gains = np.array([[0.0], [1e9], [0.0]])
    setup = diverging(0.0) | {"tau": lambda t, q, v: -gains * q}
    with pytest.warns(fb.SimulationWarning, match="1 of 3 samples diverged"):
        motion = fb.simulate(q=np.tile([0.1, 0.2], (3, 1)), **setup)
    alone = fb.simulate(q=[0.1, 0.2], **diverging(0.0))
    assert np.isnan(motion.q[-1, 1]).any() and np.array_equal(motion.q[:, 0], alone.q)
    assert np.array_equal(motion.q[:, 2], alone.q) and motion.t[-1] == alone.t[-1]


def test_an_error_carries_the_states_before_it() -> None:
    def torque(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        if t > 0.05:
            raise RuntimeError("the drive is on fire")
        return np.zeros(2)

    with pytest.raises(RuntimeError, match="on fire") as caught:
        fb.simulate(fb.robots.double_pendulum(), [0.1, 0.2], duration=1.0, dt=1e-2, period=0, tau=torque)
    before: Any = caught.value.run  # type: ignore[attr-defined]
    assert before.t[-1] == pytest.approx(0.05) and "'run'" in caught.value.__notes__[0]


def test_an_interrupt_ends_with_what_was_computed() -> None:
    def torque(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        if t > 0.05:
            raise KeyboardInterrupt
        return np.zeros(2)

    with pytest.raises(KeyboardInterrupt) as caught:
        fb.simulate(fb.robots.double_pendulum(), [0.1, 0.2], duration=1.0, dt=1e-2, period=0, tau=torque, every=4)
    motion: Any = caught.value.run  # type: ignore[attr-defined]
    whole = fb.simulate(fb.robots.double_pendulum(), [0.1, 0.2], duration=0.05, dt=1e-2, every=4)
    assert np.array_equal(motion.t, whole.t) and np.array_equal(motion.q, whole.q)


@pytest.mark.quick
def test_work_of_the_joints_is_the_change_of_energy() -> None:
    """E(end) - E(start) = ∫ τ · v dt, by Simpson's rule over the recorded states."""
    robot = mechanism(4)
    s = state(robot, (5, "home", 1.0), n=1)
    q, v, tau = s.q[0], s.v[0], s.tau[0]
    steps = 40
    motion = fb.simulate(robot, q, v, duration=0.04, dt=1e-3, period=0, tau=lambda t, q, v: tau)
    power = motion.v @ tau
    weights = np.ones(steps + 1)
    weights[1:-1:2], weights[2:-1:2] = 4.0, 2.0
    work = 1e-3 / 3.0 * (weights * power).sum()
    energy = total_energy(robot, motion.q[[0, -1]], motion.v[[0, -1]])
    assert abs(energy[1] - energy[0] - work) < 1e-7 * np.abs(power).max()


@pytest.mark.quick
def test_a_batch_is_simulated_like_its_members() -> None:
    robot = small_mechanism()
    s = state(robot, n=3)
    together = fb.simulate(robot, s.q, s.v, duration=0.01, dt=1e-3)
    alone = fb.simulate(robot, s.q[1], s.v[1], duration=0.01, dt=1e-3)
    assert np.array_equal(together.q[:, 1], alone.q)
    assert np.array_equal(together.v[:, 1], alone.v)
