"""Simulation in machine code: forces as arrays, held, traced or from Python; the same bits in any batch."""

from __future__ import annotations

import os
import signal
from functools import partial
from typing import Any

import numpy as np
import pytest

import fourbar as fb
from fourbar.functions.function import backend
from fourbar.joints import Revolute
from fourbar.sim.motions.outcome import acting_on
from fourbar.sim.robot.runge_kutta import SimulatedState, step
from tests.algorithms.mechanisms import near, random_mechanism, small_mechanism, state
from tests.algorithms.sprung import sprung, states

DT = 1e-3
SOME = 1024 if backend() == "llvm" else 24  # the interpreter is for comparisons, not for speed


def in_python(robot: fb.System, q: np.ndarray, v: np.ndarray, tau: Any, steps: int) -> SimulatedState:
    """The classic scheme with the robot's own functions, forces (..., rows, nv) held for a step each."""
    now = SimulatedState(q, v, np.zeros(q.shape[:-1]))
    acting = acting_on(robot, True)
    for i in range(steps):
        now = step(robot, i * DT, now, DT, lambda t, q, v, i=i: tau[..., i, :], acting)
    return now


def robots() -> dict[str, fb.System]:
    return {
        "tree": small_mechanism(),
        "four_bar": fb.robots.four_bar(),
        "mini_cheetah": fb.robots.mini_cheetah(),
        "tello": fb.robots.tello(),
    }


@pytest.mark.parametrize("name", ["tree", "four_bar", "mini_cheetah"])
def test_the_same_as_the_scheme_in_python(name: str) -> None:
    robot = robots()[name]
    rng = np.random.default_rng(0)
    q, v = robot.random(rng, 5), 0.3 * rng.normal(size=(5, robot.nv))
    tau = rng.normal(size=(5, 6, robot.nv))
    found = fb.rollout(robot, q, v, tau, dt=DT, every=3)
    wanted = in_python(robot, q, v, tau, 6)
    assert found.q.shape == (3, 5, robot.nq) and found.t.tolist() == [0.0, 3 * DT, 6 * DT]
    assert np.array_equal(found.q[0], q) and np.array_equal(found.v[0], v)
    near(found.q[-1], wanted.q, 1e-13)
    near(found.v[-1], wanted.v, 1e-12)
    near(found.lost[-1], wanted.lost, 1e-12, 1.0)
    assert (found.steps == 6).all() and not found.diverged.any()


@pytest.mark.parametrize("name", ["1", "four_bar"])
def test_springs_and_damping_act_in_machine_code(name: str) -> None:
    robot, (q, v) = sprung(name), states(name)
    found = fb.simulate(robot, q[:4], v[:4], duration=0.02, dt=DT)
    wanted = in_python(robot, q[:4], v[:4], np.zeros((4, 20, robot.nv)), 20)
    near(found.q[-1], wanted.q, 1e-12)
    near(found.lost[-1], wanted.lost, 1e-11)
    assert (found.lost[-1] > 0.0).all()


@pytest.mark.parametrize("name", ["tree", "four_bar"])
def test_a_sample_has_the_same_bits_everywhere(name: str) -> None:
    robot = robots()[name]
    rng = np.random.default_rng(2)
    q, v = robot.random(rng, SOME), 0.3 * rng.normal(size=(SOME, robot.nv))
    tau = rng.normal(size=(SOME, 4, robot.nv))
    whole = fb.rollout(robot, q, v, tau, dt=DT, threads=1)
    again = fb.rollout(robot, q, v, tau, dt=DT, threads=2)
    assert np.array_equal(whole.q, again.q) and np.array_equal(whole.v, again.v)
    for some in (slice(5, 6), slice(3, 10), slice(8, 16), slice(1, SOME - 1)):
        part = fb.rollout(robot, q[some], v[some], tau[some], dt=DT)
        assert np.array_equal(whole.q[:, some], part.q) and np.array_equal(whole.v[:, some], part.v)
    alone = fb.rollout(robot, q[11], v[11], tau[11], dt=DT)
    assert np.array_equal(whole.q[:, 11], alone.q) and np.array_equal(whole.v[:, 11], alone.v)


def test_python_and_machine_code_agree_to_the_bit() -> None:
    """A force that Python is asked for, and the same in a traced function and in an array: one stage computes all."""
    robot = small_mechanism()
    s = state(robot, n=3)
    tau = np.random.default_rng(3).normal(size=robot.nv)
    asked = fb.simulate(robot, s.q, s.v, duration=0.01, period=0, tau=lambda t, q, v: tau)
    array = fb.simulate(robot, s.q, s.v, duration=0.01, tau=np.tile(tau, (10, 1)))
    assert np.array_equal(asked.q, array.q) and np.array_equal(asked.v, array.v)


def law(t: Any, q: Any, v: Any) -> Any:
    """A pendulum's spring, damper and a push, for scalars of any kind."""
    return [-3.0 * fb.sin(q[0]) - 0.4 * v[0] + fb.cos(5.0 * t), fb.select(v[1] > 0.0, -0.2, 0.2) - q[1]]


def test_a_traced_torque_is_the_torque() -> None:
    robot, q = fb.robots.double_pendulum(), np.array([0.4, -0.2])
    asked = fb.simulate(robot, q, duration=0.2, period=0, tau=lambda t, q, v: np.array(law(t, q, v)))
    traced = fb.simulate(robot, q, duration=0.2, period=0, tau=fb.traced(law))
    near(traced.q, asked.q, 1e-12)
    near(traced.v, asked.v, 1e-11)


@pytest.mark.parametrize("period", [1, 4])
def test_controls_are_held(period: int) -> None:
    """A controller in Python, the same one traced, and what it answered as an array; it is asked once per period."""
    robot, q = fb.robots.double_pendulum(), np.array([[0.4, -0.2], [1.0, 0.5]])
    times: list[float] = []
    answers: list[np.ndarray] = []

    def control(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        times.append(t)
        answers.append(np.stack([np.array(law(t, *x)) for x in zip(q, v, strict=True)]))
        return answers[-1]

    options: dict[str, Any] = {"duration": 0.022, "dt": DT, "period": period * DT, "every": 3}
    asked = fb.simulate(robot, q, tau=control, **options)
    assert np.allclose(times, np.arange(-(-22 // period)) * period * DT, atol=1e-15)
    array = fb.simulate(robot, q, tau=np.stack(answers, axis=1), **options)
    assert np.array_equal(asked.q, array.q) and np.array_equal(asked.t, array.t)
    traced = fb.simulate(robot, q, tau=fb.traced(law), **options)
    near(traced.q, asked.q, 1e-13)
    near(traced.v, asked.v, 1e-12)
    held = np.repeat(np.stack(answers, axis=1), period, axis=1)
    near(asked.q[-1], in_python(robot, q, np.zeros((2, 2)), held, 22).q, 1e-13)


def test_a_controller_may_keep_state() -> None:
    """An integrator: a weight on a slide, held where it is by what it has learned."""
    b = fb.Builder("lift")
    b.body("weight", joint=fb.joints.Prismatic("z"), mass=2.0)
    robot = b.build()
    learned = [0.0]

    def control(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        learned[0] -= 2.0 * q[0]
        return np.array([learned[0] - 200.0 * q[0] - 40.0 * v[0]])

    motion = fb.simulate(robot, [0.0], duration=6.0, dt=1e-3, tau=control, period=1e-2, every=100)
    assert abs(motion.q[-1, 0]) < 1e-4 and abs(learned[0] - 2.0 * 9.81) < 0.1


def test_records_every_so_many_steps() -> None:
    robot, q = fb.robots.double_pendulum(), np.array([0.4, -0.2])
    whole = fb.simulate(robot, q, duration=0.023)
    some = fb.simulate(robot, q, duration=0.023, every=5)
    assert some.t.tolist() == pytest.approx([0.0, 0.005, 0.01, 0.015, 0.02, 0.023])
    assert np.array_equal(some.q, whole.q[[0, 5, 10, 15, 20, 23]])
    assert fb.simulate(robot, q, duration=0.002, every=7).t.tolist() == pytest.approx([0.0, 0.002])


def test_the_interpreter_means_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    robot = fb.robots.four_bar()
    q = robot.random(4, 3)
    v, tau = np.random.default_rng(4).normal(size=(2, 3, 1))
    compiled = fb.rollout(robot, q, v, np.tile(tau[:, None], (1, 5, 1)), dt=DT)
    monkeypatch.setenv("FOURBAR_BACKEND", "numpy")
    fresh = fb.robots.four_bar().with_gravity(robot.gravity)
    meant = fb.rollout(fresh, q, v, np.tile(tau[:, None], (1, 5, 1)), dt=DT)
    near(meant.q, compiled.q, 1e-13)
    near(meant.v, compiled.v, 1e-12)


def test_pendulum_in_closed_form() -> None:
    """Small swings of a pendulum: its period, and its energy over many of them."""
    b = fb.Builder("pendulum")
    b.body("bob", joint=Revolute("x"), mass=1.0, com=(0, 0, -0.5), inertia=(0.0, 0.0, 0.0))
    robot, w = b.build(), np.sqrt(9.81 / 0.5)
    motion = fb.simulate(robot, [1e-4], duration=10.0, dt=2e-3, every=50)
    assert np.abs(motion.q[:, 0] - 1e-4 * np.cos(w * motion.t)).max() < 1e-10
    large = fb.simulate(robot, [2.0], duration=20.0, dt=2e-3, every=100)
    energy = robot.kinetic_energy(large.q, large.v) + robot.potential_energy(large.q)
    assert np.ptp(energy) < 1e-7


def test_samples_that_diverge_keep_the_others_going() -> None:
    """A control that is far too large; the sample ends where it was last finite."""
    robot = fb.robots.double_pendulum()
    control = np.zeros((3, 50, 2))
    control[1, 20:] = 1e308
    found = fb.rollout(robot, np.full((3, 2), 0.3), None, control, dt=1e-2)
    assert found.diverged.tolist() == [False, True, False] and found.steps[1] < 25 and found.steps[0] == 50
    assert np.isfinite(found.q[:, 1]).all(axis=-1).sum() == found.steps[1] + 1
    assert np.isfinite(found.q[:, [0, 2]]).all() and np.array_equal(found.q[:, 0], found.q[:, 2])
    with pytest.warns(fb.SimulationWarning, match=r"1 of 3 samples diverged, the first at t = 0\.2"):
        motion = fb.simulate(robot, np.full((3, 2), 0.3), duration=0.5, dt=1e-2, tau=control)
    assert np.array_equal(motion.q, found.q, equal_nan=True)
    assert np.array_equal(motion.diverged, found.diverged) and np.array_equal(motion.steps, found.steps)
    with pytest.warns(fb.SimulationWarning, match="the motion diverged"):
        alone = fb.simulate(robot, np.full(2, 0.3), duration=0.5, dt=1e-2, tau=control[1])
    assert len(alone.t) == found.steps[1] + 1 and np.isfinite(alone.q).all()


def test_all_samples_diverge() -> None:
    robot = fb.robots.double_pendulum()
    found = fb.rollout(robot, np.full((2, 2), 0.3), None, np.full((30, 2), 1e308), dt=1e-2)
    assert found.diverged.all() and found.q.shape == (31, 2, 2) and np.isnan(found.q[-1]).all()


def test_loops_pass_where_joints_reverse_each_on_its_own_account() -> None:
    """A crank-rocker in the velocity of its rocker: which samples are beside it changes no bit."""
    crank = fb.robots.crank_rocker()
    rocker = crank.with_independent("rocker")
    q = np.array([crank.assemble((2.0, -1.6, 1.9))] * 3)
    speed = np.array([[6.0], [3.0], [-5.0]])
    options: dict[str, Any] = {"duration": 0.6, "dt": 1e-3, "every": 40}
    wanted = fb.simulate(crank, q, speed, **options)
    slow = crank.expand_velocity(q, speed)[:, 2:3]
    found = fb.simulate(rocker, q, slow, **options)
    assert np.ptp(wanted.q[:, 0, 0]) > 3.0
    assert np.abs(found.q - wanted.q).max() < 2e-6
    velocity = crank.expand_velocity(wanted.q, wanted.v)[..., 2:3]
    assert np.abs(found.v - velocity).max() < 1e-4 * np.abs(velocity).max()
    alone = fb.simulate(rocker, q[1], slow[1], **options)
    assert np.array_equal(found.q[:, 1], alone.q) and np.array_equal(found.v[:, 1], alone.v)


def test_forces_keep_their_meaning_in_other_velocities() -> None:
    """A force on the rocker, while the velocity of the crank is integrated where the rocker reverses."""
    crank = fb.robots.crank_rocker()
    rocker = crank.with_independent("rocker")
    q, speed = crank.assemble((2.0, -1.6, 1.9)), np.array([6.0])
    slow = crank.expand_velocity(q, speed)[2:3]
    options: dict[str, Any] = {"duration": 0.5, "dt": 1e-3, "every": 50}
    asked = fb.simulate(rocker, q, slow, period=0, tau=lambda t, q, v: np.array([0.3]) - 0.05 * v, **options)
    traced = fb.simulate(rocker, q, slow, period=0, tau=fb.traced(lambda t, q, v: [0.3 - 0.05 * v[0]]), **options)
    assert np.abs(asked.q - traced.q).max() < 1e-6
    free = fb.simulate(rocker, q, slow, **options)
    assert np.abs(free.q - traced.q).max() > 1e-3
    held = fb.simulate(rocker, q, slow, tau=np.full((500, 1), 0.3), **options)
    python = fb.simulate(rocker, q, slow, period=0, tau=lambda t, q, v: np.array([0.3]), **options)
    assert np.abs(held.q - python.q).max() < 1e-6


def test_progress_and_an_interrupt() -> None:
    robot, seen = fb.robots.double_pendulum(), []

    def progress(steps: Any) -> Any:
        for i in steps:
            seen.append(i)
            if i == 5000:
                os.kill(os.getpid(), signal.SIGINT)
            yield i

    with pytest.raises(KeyboardInterrupt) as caught:
        fb.simulate(robot, [0.1, 0.2], duration=1e6, dt=1e-3, every=1000, progress=progress)
    motion: Any = caught.value.run  # type: ignore[attr-defined]
    steps = round(motion.t[-1] / 1e-3)
    assert seen[:5001] == list(range(5001)) and steps >= 5000 and np.isfinite(motion.q).all()
    whole = fb.simulate(robot, [0.1, 0.2], duration=steps * 1e-3, dt=1e-3, every=1000)
    assert np.array_equal(motion.q, whole.q) and np.array_equal(motion.t, whole.t)


@pytest.mark.parametrize("joints", [(Revolute("x"), Revolute("y")), (fb.joints.Free(), fb.joints.Spherical())])
def test_fourth_order_with_a_traced_torque(joints: Any) -> None:
    robot = random_mechanism(np.random.default_rng(8), joints, "two", floating=False)
    s = state(robot, (3, "home", 1.0), n=1)
    force = fb.traced(lambda t, q, v: [fb.sin(9.0 * t) - 0.3 * x for x in v])
    ends = [fb.simulate(robot, s.q[0], s.v[0], duration=0.16, dt=dt, every=1000, period=0, tau=force).v[-1]
            for dt in (8e-3, 4e-3, 2e-3)]  # fmt: skip
    coarse, fine = np.linalg.norm(ends[1] - ends[0]), np.linalg.norm(ends[2] - ends[1])
    assert fine > 1e-13 and 3.6 < np.log2(coarse / fine) < 4.4


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"tau": np.zeros((3, 2))}, "tau has 3 rows, but the motion needs 10"),
        ({"tau": np.zeros((10, 3))}, r"tau: expected an array \(..., rows, 2\)"),
        ({"tau": "push"}, "tau: expected an array"),
        ({"tau": np.zeros((4, 10, 2)), "q": np.zeros((3, 2))}, "tau: leading axes"),
        ({"tau": lambda t, q, v: np.zeros(3)}, r"tau\(t, q, v\) must have shape"),
        ({"tau": fb.traced(lambda t, q, v: [0.0])}, r"tau\(t, q, v\) must give 2 forces"),
        ({"tau": np.zeros((10, 2)), "period": 1.5e-3}, "period=0.0015: expected a multiple of dt"),
        ({"tau": np.zeros((10, 2)), "period": "long"}, "period='long'"),
        ({"threads": 0}, "threads must be a whole number"),
    ],
)
def test_controls_that_make_no_sense(given: dict[str, Any], message: str) -> None:
    usual: dict[str, Any] = {"robot": fb.robots.double_pendulum(), "q": np.zeros(2), "duration": 0.01}
    with pytest.raises(fb.ArgumentError, match=message):
        fb.simulate(**{**usual, **given})


def test_rollouts_that_make_no_sense() -> None:
    robot = fb.robots.double_pendulum()
    with pytest.raises(fb.ArgumentError, match="give steps=, or an array tau"):
        fb.rollout(robot, np.zeros(2), dt=1e-3)
    with pytest.raises(fb.ArgumentError, match="steps=0"):
        fb.rollout(robot, np.zeros(2), dt=1e-3, steps=0)
    with pytest.raises(fb.ArgumentError, match="traced takes a function"):
        fb.traced(3)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"q": np.zeros(3)}, r"^rollout: q must have shape \(\.\.\., 2\), got \(3,\)"),
        ({"v": np.zeros(3)}, r"^rollout: v must have shape"),
        ({"v": np.zeros((4, 2)), "q": np.zeros((3, 2))}, "^rollout: the leading .batch. axes do not broadcast"),
        ({"robot": 3}, "^rollout takes a robot"),
        ({"tau": lambda t, q, v: np.zeros(3)}, r"^rollout: tau\(t, q, v\) must have shape"),
        ({"tau": lambda t, q, v: np.zeros((7, 2))}, r"^rollout: tau\(t, q, v\) returned shape \(7, 2\)"),
        ({"tau": fb.traced(lambda t, q, v: [0.0])}, r"^tau\(t, q, v\) must give 2 forces, got 1"),
        ({"tau": np.zeros((5, 2), complex)}, "^tau must hold real numbers, got an array of dtype complex128"),
        ({"numbers": {"lower.mass": np.ones(3, complex)}}, "^numbers: 'lower.mass': expected numbers, got"),
        ({"dt": "a"}, "^dt='a': expected the length of a step"),
        ({"threads": 0}, "^threads must be a whole number of at least 1, got 0"),
        ({"threads": True}, "^threads must be a whole number of at least 1, got True"),
    ],
)
def test_messages_of_a_rollout_name_what_was_called(given: dict[str, Any], message: str) -> None:
    usual: dict[str, Any] = {"robot": fb.robots.double_pendulum(), "q": np.zeros(2), "dt": 1e-3, "steps": 5}
    with pytest.raises(fb.ArgumentError, match=message):
        fb.rollout(**{**usual, **given})


@pytest.mark.parametrize("every", [1, 4])
def test_an_interrupted_rollout_has_what_was_computed(every: int) -> None:
    robot, asked = fb.robots.double_pendulum(), []

    def control(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        asked.append(t)
        if len(asked) > 10:
            raise KeyboardInterrupt
        return np.zeros_like(v)

    with pytest.raises(KeyboardInterrupt) as caught:
        fb.rollout(robot, np.full((3, 2), 0.2), tau=control, dt=1e-3, steps=20, every=every)
    runs: Any = caught.value.run  # type: ignore[attr-defined]
    assert "at t = 0.01 s" in caught.value.__notes__[0]
    whole = fb.rollout(robot, np.full((3, 2), 0.2), dt=1e-3, steps=20, every=every)
    assert not runs.diverged.any() and (runs.steps == 10).all() and runs.t[-1] == pytest.approx(0.01)
    done = 1 + 10 // every
    assert np.array_equal(runs.q[:done], whole.q[:done]) and len(runs.t) == 1 + -(-10 // every)


def test_samples_that_have_all_diverged_between_two_records_are_nan() -> None:
    robot = fb.robots.double_pendulum()
    push = np.zeros((20, 2))
    push[6:] = np.nan
    runs = fb.rollout(robot, np.full((3, 2), 0.2), tau=push, dt=1e-3, every=4)
    assert runs.diverged.all() and (runs.steps == 6).all()
    assert np.isfinite(runs.q[:2]).all() and np.isnan(runs.q[2:]).all() and len(runs.q) == 6


def test_a_small_network_is_compiled_into_the_steps() -> None:
    robot, rng = fb.robots.double_pendulum(), np.random.default_rng(2)
    first, second = rng.normal(size=(8, 4)), rng.normal(size=(2, 8))

    def network(t: Any, q: Any, v: Any) -> Any:
        return second @ np.tanh(first @ np.concatenate([q, v]))

    traced = fb.simulate(robot, [0.3, 0.1], duration=0.2, dt=2e-3, tau=fb.traced(network))
    asked = fb.simulate(robot, [0.3, 0.1], duration=0.2, dt=2e-3, tau=network)
    assert np.abs(traced.q - asked.q).max() < 1e-12


@pytest.mark.parametrize("period", [1, 4])
@pytest.mark.parametrize("how", ["interrupted", "diverged"])
def test_controls_of_python_are_known_wherever_a_motion_ends(how: str, period: int) -> None:
    """Also between two records; what was computed is that of the whole motion."""
    b = fb.Builder("arm")
    b.body("arm", joint=fb.joints.Revolute("y"), mass=1.0, com=(0.1, 0, 0), inertia=(0.01, 0.01, 0.01))
    robot = b.actuator("motor", drives="arm").build()
    given = {"duration": 0.05, "dt": 1e-3, "period": 1e-3 * period}
    whole = fb.simulate(robot, [0.3], u=lambda t, q, v: np.array([np.sin(100 * t)]), **given)
    for end in (1, 5, 8, 9, 13):

        def ends(t: float, q: np.ndarray, v: np.ndarray, end: int = end) -> np.ndarray:
            if t > 1e-3 * (end - 0.5):
                if how == "interrupted":
                    raise KeyboardInterrupt
                return np.array([np.nan])
            return np.array([np.sin(100 * t)])

        if how == "interrupted":
            with pytest.raises(KeyboardInterrupt) as caught:
                fb.simulate(robot, [0.3], u=ends, every=7, **given)
            run: Any = caught.value.run  # type: ignore[attr-defined]
        else:
            with pytest.warns(fb.SimulationWarning, match=how):
                run = fb.simulate(robot, [0.3], u=ends, every=7, **given)
        steps = np.round(run.t / 1e-3).astype(int)
        assert steps[-1] == -(-end // period) * period
        assert np.array_equal(run.q, whole.q[steps]) and np.array_equal(run.u[1:], whole.u[steps[1:]])


@pytest.mark.parametrize("kind", ["tau", "observe"])
def test_the_last_few_traced_functions_are_kept(kind: str) -> None:
    """Of a robot alone and of a scene: functions that are new in every call do not fill the memory."""
    robot = fb.robots.double_pendulum()
    scene = fb.Scene(robot)
    for mover, roll in ((robot, partial(fb.rollout, robot)), (scene, scene.rollout)):
        for k in range(10):
            function = fb.traced(lambda t, q, v, k=k: [0.1 * k, q[0]])
            given = {"tau": function} if kind == "tau" else {"observe": {"x": function}}
            run = roll([0.1, 0.2], steps=1, dt=1e-3, **given)
        assert np.isfinite(run.q).all()
        assert all(len(vars(mover).get(name, ())) <= 8 for name in ("_rollouts", "_observers"))
    plain = scene.rollout([0.1, 0.2], steps=1, dt=1e-3)
    assert np.array_equal(scene.rollout([0.1, 0.2], steps=1, dt=1e-3).q, plain.q)
