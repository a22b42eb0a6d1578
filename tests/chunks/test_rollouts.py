"""Rollouts of dask arrays: lazy, with the bits of one call; what computes at once refuses them by name."""

from __future__ import annotations

import os
import re
import signal
import threading
from functools import partial
from typing import Any

import numpy as np
import pytest

import fourbar as fb
import fourbar.dask
from fourbar import ArgumentError
from fourbar.chunks.apply import Result
from fourbar.sim.motions.in_chunks import rolled_lazily

from .support import Integrating, Interrupted, ball_on_floor, chunked, linkage, pendulum, same_bits, states

da = pytest.importorskip("dask.array")
FIELDS = ("q", "v", "lost", "steps", "diverged")


def never(block: np.ndarray) -> np.ndarray:
    """What must not be computed."""
    raise AssertionError("computed too early")


@pytest.mark.parametrize("scheduler", ["synchronous", "threads"])
def test_rollouts_have_the_bits_of_one_call(scheduler: str) -> None:
    q, v = states()
    lazy = fb.rollout(pendulum(), chunked(q), chunked(v, 20), dt=0.01, steps=9, every=2)
    wanted = fb.rollout(pendulum(), q, v, dt=0.01, steps=9, every=2)
    assert same_bits(lazy.t, wanted.t)
    for name in FIELDS:
        x = getattr(lazy, name)
        assert isinstance(x, da.Array) and x.shape == getattr(wanted, name).shape
        assert same_bits(x.compute(scheduler=scheduler), getattr(wanted, name))


def test_nothing_is_computed_before_it_is_asked_for() -> None:
    q = da.zeros((20, 2), chunks=(5, 2)).map_blocks(never, dtype=float, meta=np.empty((0, 0)))
    lazy = fb.rollout(pendulum(), q, dt=0.01, steps=3)
    assert lazy.q.chunks == ((4,), (5, 5, 5, 5), (2,))
    with pytest.raises(AssertionError, match="too early"):
        lazy.q.compute(scheduler="synchronous")


def test_controls_in_chunks_and_several_axes() -> None:
    q = np.random.default_rng(0).normal(size=(4, 1, 2))
    u = np.random.default_rng(1).normal(size=(6, 5, 2))
    lazy = fb.rollout(pendulum(), da.from_array(q, chunks=(2, 1, 2)), None, chunked(u, 4), dt=0.01)
    assert lazy.q.chunks == ((6,), (2, 2), (4, 2), (2,))
    assert same_bits(lazy.q.compute(), fb.rollout(pendulum(), q, None, u, dt=0.01).q)


def test_a_control_that_keeps_state_is_copied_for_each_chunk() -> None:
    q, v = states()
    control = Integrating()
    lazy = fb.rollout(pendulum(), chunked(q), v, control, dt=0.01, steps=6)
    assert same_bits(lazy.q.compute(), fb.rollout(pendulum(), q, v, Integrating(), dt=0.01, steps=6).q)
    assert control.total == 0.0


def test_a_traced_control() -> None:
    q, v = states()
    damped = fb.traced(lambda t, q, v: [-0.1 * x for x in v])
    lazy = fb.rollout(pendulum(), chunked(q), v, damped, dt=0.01, steps=6)
    assert same_bits(lazy.q.compute(), fb.rollout(pendulum(), q, v, damped, dt=0.01, steps=6).q)


def test_a_control_that_cannot_be_sent_is_refused_by_name() -> None:
    lock = threading.Lock()

    def guarded(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        with lock:
            return -q

    with pytest.raises(ArgumentError, match=r"rollout: tau cannot be pickled.*guarded.*lock"):
        fb.rollout(pendulum(), chunked(states()[0]), None, guarded, dt=0.01, steps=3)


def servo() -> fb.System:
    """A mass on a servo."""
    b = fb.Builder("lift", gravity=(0, 0, -10))
    b.body("mass", joint=fb.joints.Prismatic("z"), mass=2.0)
    return b.position_servo("servo", drives="mass", kp=1e2, kd=1e1).build()


@pytest.mark.parametrize("kind", ["array", "function", "traced"])
def test_controls_of_actuators_numbers_and_observations(kind: str) -> None:
    n = 21
    rng = np.random.default_rng(2)
    rows, masses = rng.normal(size=(n, 3, 1)), rng.uniform(1.0, 3.0, n)
    u: Any = {
        "array": rows,
        "function": lambda t, q, v: 0.1 - 0.5 * q,
        "traced": fb.traced(lambda t, q, v: [0.1 - 0.5 * q[0]]),
    }[kind]
    given: dict[str, Any] = {"dt": 0.01, "steps": 6, "period": 0.02, "every": 2}
    given["observe"] = {
        "force": fb.observe.actuator_force(),
        "pose": fb.observe.pose("mass"),
        "own": fb.traced(lambda t, q, v: [t + q[0]]),
    }
    q = rng.normal(size=(n, 1))
    wanted = fb.rollout(servo(), q, u=u, numbers={"mass.mass": masses, "gravity": [0.0, 0.0, -5.0]}, **given)
    lazy_u = chunked(rows, 5) if kind == "array" else u
    numbers = {"mass.mass": chunked(masses, 4), "gravity": [0.0, 0.0, -5.0]}
    lazy = fb.rollout(servo(), chunked(q, 10), u=lazy_u, numbers=numbers, **given)
    found = fb.dask.compute(lazy)
    pairs = [(getattr(found, name), getattr(wanted, name)) for name in (*FIELDS, "u")]
    pairs += [(found.observations[name], x) for name, x in wanted.observations.items()]
    for x, y in pairs:
        assert isinstance(x, np.ndarray) and same_bits(x, y)
    assert list(found.observations) == ["force", "pose", "own"] and found.u.shape == (4, n, 1)


def test_no_samples() -> None:
    lazy = fb.rollout(pendulum(), da.zeros((0, 2)), dt=0.01, steps=3)
    assert lazy.q.compute().shape == (4, 0, 2) == fb.rollout(pendulum(), np.zeros((0, 2)), dt=0.01, steps=3).q.shape


def test_to_look_at_what_is_lazy_computes_nothing() -> None:
    q = da.zeros((20, 2), chunks=(5, 2)).map_blocks(never, dtype=float, meta=np.empty((0, 0)))
    assert "not computed" in repr(fb.rollout(pendulum(), q, dt=0.01, steps=3))
    q = da.zeros((20, 7), chunks=(5, 7)).map_blocks(never, dtype=float, meta=np.empty((0, 0)))
    assert "not computed" in repr(ball_on_floor().rollout(q, steps=3))


def test_wrong_controls_numbers_and_observations_are_refused_at_once() -> None:
    q = da.zeros((20, 1), chunks=(5, 1))
    for more, words in (
        ({"u": np.zeros((6, 2))}, r"u: expected an array \(\.\.\., rows, 1\)"),
        ({"numbers": {"mass.mas": np.ones(20)}}, "mass.mas"),
        ({"numbers": {"mass.mass": np.ones((20, 3))}}, "broadcast"),
        ({"observe": {"force": fb.observe.actuator_force()}}, "no controls"),
        ({"observe": {"x": 3}}, "not an observation"),
    ):
        with pytest.raises(fb.FourbarError, match=words):
            fb.rollout(servo(), q, dt=0.01, steps=6, **more)
    with pytest.raises(ArgumentError, match="no actuators"):
        fb.rollout(pendulum(), da.zeros((20, 2), chunks=(5, 2)), u=np.zeros((6, 2)), dt=0.01, steps=6)
    held = pendulum().constrained(fb.constraints.Contact("lower", "point"))
    with pytest.raises(ArgumentError, match=r"constrained.*fb\.dask\.sweep"):
        fb.rollout(held, da.zeros((20, 2), chunks=(5, 2)), dt=0.01, steps=6)  # type: ignore[arg-type]
    negative = fb.rollout(servo(), q, dt=0.01, steps=6, numbers={"mass.mass": np.where(np.arange(20) == 13, -1.0, 1.0)})
    with pytest.raises(ArgumentError, match=r"mass\.mass.*negative.*in sample 13 of"):
        negative.q.compute()


def test_wrenches_in_chunks_and_by_name() -> None:
    """Of robots and scenes: arrays of all bodies, some bodies by name, and functions."""
    q, v = states()
    f_ext = np.random.default_rng(2).normal(size=(len(q), 2, 6))
    body = pendulum().names.bodies[1]
    scene = fb.Scene(pendulum(), contacts=[], pairs=[])
    for run in (partial(fb.rollout, pendulum(), dt=0.01), partial(scene.rollout, dt=0.01)):
        wanted, some = run(q, v, steps=5, f_ext=f_ext), run(q, v, steps=5, f_ext={body: f_ext[:, 1]})
        assert same_bits(run(chunked(q), v, steps=5, f_ext=chunked(f_ext)).q.compute(), wanted.q)
        assert same_bits(run(q, v, steps=5, f_ext={body: chunked(f_ext[:, 1])}).q.compute(), some.q)
        held = run(chunked(q), v, steps=5, f_ext=push).q.compute()
        assert same_bits(held, run(q, v, steps=5, f_ext=push).q)
        with pytest.raises(fb.UnknownNameError, match="in f_ext of rollout"):
            run(q, v, steps=5, f_ext={"nobody": chunked(f_ext[:, 1])})


def push(t: float, q: np.ndarray, v: np.ndarray) -> dict[str, np.ndarray]:
    """A wrench that follows the state."""
    return {pendulum().names.bodies[1]: np.concatenate([0.0 * q, q, -v], axis=-1)}


@pytest.mark.slow
def test_scenes_with_actuators_numbers_and_observations() -> None:
    scene, n = fb.Scene(servo()), 12
    q, u = np.linspace(-0.1, 0.1, n)[:, None], np.random.default_rng(0).normal(size=(n, 20, 1))
    given: dict[str, Any] = {"observe": {"force": fb.observe.actuator_force()}, "every": 3}
    masses = np.linspace(1.0, 2.0, n)
    wanted = scene.rollout(q, u=u, numbers={"mass.mass": masses}, **given)
    lazy = scene.rollout(chunked(q, 5), u=chunked(u, 5), numbers={"mass.mass": chunked(masses, 5)}, **given)
    assert isinstance(lazy.u, da.Array) and isinstance(lazy.observations["force"], da.Array)
    for x, y in ((lazy.q, wanted.q), (lazy.u, wanted.u), (lazy.observations["force"], wanted.observations["force"])):
        assert x.shape == y.shape and same_bits(x.compute(), y)


@pytest.mark.slow
def test_scenes() -> None:
    q = np.tile([0.0, 0.0, 0.3, 1.0, 0.0, 0.0, 0.0], (6, 1))
    q[:, 2] += 0.05 * np.arange(6)
    friction = np.linspace(0.1, 0.9, 6)[:, None]
    wanted = ball_on_floor().rollout(q, steps=205, every=50, numbers={"friction": friction})
    lazy = ball_on_floor().rollout(chunked(q, 4), steps=205, every=50, numbers={"friction": friction})
    assert same_bits(lazy.t, wanted.t) and lazy.contacts.names == wanted.contacts.names
    pairs: list[tuple[Any, Any]] = [
        *((getattr(lazy, x), getattr(wanted, x)) for x in ("q", "v", "residual", "worst", "converged", "diverged")),
        *((getattr(lazy.contacts, x), getattr(wanted.contacts, x)) for x in ("gap", "force", "found")),
        *zip(lazy.last, wanted.last, strict=True),
    ]
    for x, y in pairs:
        assert isinstance(x, da.Array) and x.shape == y.shape
        assert same_bits(x.compute(), y)


def test_a_failure_names_its_sample() -> None:
    q = np.tile(linkage().assemble(linkage().neutral()), (20, 1))
    q[13] += 0.1
    lazy = fb.rollout(linkage(), chunked(q, 5), dt=0.01, steps=3)
    with pytest.raises(ArgumentError, match=r"loops.*open.*in sample 13 of.*samples 10 to 14"):
        lazy.q.compute()
    two = da.from_array(q.reshape(4, 5, -1), chunks=(2, 5, -1))
    with pytest.raises(ArgumentError, match=r"in sample \(2, 3\) of"):
        fb.rollout(linkage(), two, dt=0.01, steps=3).q.compute()


@pytest.mark.parametrize("by_signal", [False, True])
@pytest.mark.parametrize("of", ["robot", "scene"])
def test_ctrl_c_in_a_chunk_ends_the_work(of: str, by_signal: bool) -> None:
    """With the states of the chunk so far, and the place of the chunk in the whole array."""
    control = Interrupted(0.05, by_signal)
    if of == "robot":
        lazy = fb.rollout(pendulum(), chunked(states(12)[0], 4), None, control, dt=0.01, steps=400)
    else:
        q = np.tile([0.0, 0.0, 0.3, 1.0, 0.0, 0.0, 0.0], (12, 1))
        lazy = ball_on_floor().rollout(chunked(q, 4), None, control, dt=0.01, steps=400)
    with pytest.raises(KeyboardInterrupt) as caught:
        lazy.q.compute(scheduler="synchronous")
    run = caught.value.run  # type: ignore[attr-defined]
    made = np.isfinite(run.q).all(axis=-1)
    times = made.sum(axis=0)
    assert run.q.shape[1] == 4 and (times >= 5).all() and (times < 400).all()
    assert any(re.search(r"samples \d+ to \d+ of the whole array", note) for note in caught.value.__notes__)


def test_ctrl_c_while_chunks_are_computed() -> None:
    """In machine code, without a control that Python is asked for, and in threads of dask."""
    lazy = fb.rollout(pendulum(), chunked(states(4)[0], 2), dt=1e-4, steps=10**8, every=10**7)
    for scheduler in ("synchronous", "threads"):
        timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        with pytest.raises(KeyboardInterrupt) as caught:
            lazy.q.compute(scheduler=scheduler)
        timer.join()
        assert scheduler == "threads" or (caught.value.run.steps < 10**8).all()  # type: ignore[attr-defined]


def test_a_control_that_returns_a_wrong_shape_is_one_of_a_rollout() -> None:
    lazy = fb.rollout(pendulum(), chunked(states()[0]), None, lambda t, q, v: np.zeros(3), dt=0.01, steps=3)
    with pytest.raises(ArgumentError, match=r"^rollout: tau\(t, q, v\) must have shape \(\.\.\., 2\), got \(3,\)"):
        lazy.q.compute()


def test_what_computes_at_once_refuses_dask_arrays() -> None:
    q = chunked(states()[0])
    for call in (
        lambda: fb.simulate(pendulum(), q, duration=0.1),
        lambda: fb.simulate(pendulum(), [0.0, 0.0], q[0], duration=0.1),
        lambda: fb.simulate(pendulum(), [0.0, 0.0], tau=q, duration=0.1),
        lambda: ball_on_floor().simulate(da.zeros((3, 7)), duration=0.1),
    ):
        with pytest.raises(ArgumentError, match=r"simulate: \w+ is a dask array.*rollout.*compute\(\)"):
            call()
    with pytest.raises(ArgumentError, match="assemble: q is a dask array"):
        pendulum().assemble(q)
    for call in (
        lambda: fb.simulate(pendulum(), [0.0, 0.0], duration=0.1, numbers={"lower.mass": da.ones(4)}),
        lambda: ball_on_floor().simulate(np.zeros((4, 7)), duration=0.1, numbers={"ball.mass": da.ones(4)}),
        lambda: ball_on_floor().batch(4, numbers={"ball.mass": da.ones(4)}),
    ):
        with pytest.raises(ArgumentError, match=r"numbers: '\w+.mass' is a dask array.*rollout.*compute\(\)"):
            call()


def test_wrong_arguments_are_refused_at_once() -> None:
    q = chunked(states()[0])
    with pytest.raises(ArgumentError, match="q must have shape"):
        fb.rollout(pendulum(), q[:, :1], dt=0.01, steps=3)
    with pytest.raises(ArgumentError, match="tau has 2 rows, but the motion needs 3"):
        fb.rollout(pendulum(), q, None, np.zeros((2, 2)), dt=0.01, steps=3)
    with pytest.raises(ArgumentError, match=r"tau: expected an array .* got an array of shape \(3, 1\)"):
        fb.rollout(pendulum(), q, None, da.zeros((3, 1)), dt=0.01, steps=3)
    with pytest.raises(ArgumentError, match=r"tau: expected an array .* got 'push'"):
        fb.rollout(pendulum(), q, None, "push", dt=0.01, steps=3)
    with pytest.raises(ArgumentError, match="threads must be a whole number"):
        fb.rollout(pendulum(), q, dt=0.01, steps=3, threads=0)
    with pytest.raises(ArgumentError, match="threads must be a whole number"):
        ball_on_floor().rollout(da.zeros((4, 7)), steps=3, threads=0)
    with pytest.raises(ArgumentError, match="compute_chunk_sizes"):
        fb.rollout(pendulum(), q[q[:, 0] > 0.0], dt=0.01, steps=3)
    with pytest.raises(ArgumentError, match="real numbers"):
        fb.rollout(pendulum(), q.astype(complex), dt=0.01, steps=3)
    with pytest.raises(ArgumentError, match="takes a robot"):
        fb.rollout(3, q, dt=0.01, steps=3)  # type: ignore[arg-type]


def test_the_functions_of_a_robot_name_samples_too() -> None:
    """A batch has NaN where a sample has no answer; what raises, such as a wrong loop, says where."""
    q, _ = states(12)
    varied = pendulum().varying("lower.mass")
    lazy = varied.forward_dynamics(chunked(q, 4), q, q, chunked(np.linspace(0.5, 2.0, 12), 4))
    assert same_bits(lazy.compute(), varied.forward_dynamics(q, q, q, np.linspace(0.5, 2.0, 12)))


def weighed(q: np.ndarray, numbers: dict[str, np.ndarray], scale: float) -> tuple[np.ndarray]:
    """Stands for a rollout with numbers by name."""
    return (q * numbers["hand.mass"][..., None] + scale * numbers["hand.com"],)


def test_numbers_by_name_go_with_their_samples() -> None:
    q, v = states(20)
    numbers = {"hand.mass": chunked(np.arange(20.0), 5), "hand.com": v}
    cores = {"q": (2,), "numbers": {"hand.mass": (), "hand.com": (2,)}}
    given = {"q": chunked(q, 4), "numbers": numbers, "tau": None}
    found = rolled_lazily("rollout", weighed, tuple, given, cores, [Result("x", (2,))], {"scale": 3.0})["x"]
    assert same_bits(found.compute(), q * np.arange(20.0)[:, None] + 3.0 * v)
