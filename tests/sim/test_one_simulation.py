"""One simulation: functions and methods are the same, of robots and scenes alike, and every run has the same axes."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fourbar as fb
from tests.contact.walkers import hopper, starts

STANCE = np.array([0.6, -1.2])


def test_functions_and_methods_are_the_same() -> None:
    assert fb.Scene.simulate is fb.simulate and fb.Scene.rollout is fb.rollout
    arguments = [list(inspect.signature(f).parameters) for f in (fb.simulate, fb.rollout)]
    own = {"duration", "progress"}, {"steps"}
    assert [x for x in arguments[0] if x not in own[0]] == [x for x in arguments[1] if x not in own[1]]
    robot, scene = hopper()
    q, v = starts(robot, 2)
    by_function, by_method = (
        fb.simulate(scene, q, v, duration=0.02, u=STANCE),
        scene.simulate(q, v, duration=0.02, u=STANCE),
    )
    assert np.array_equal(by_function.q, by_method.q) and np.array_equal(by_function.t, by_method.t)
    assert by_function.t[1] == 2e-3 and fb.simulate(robot, q, duration=0.02).t[1] == 1e-3
    with pytest.raises(fb.ArgumentError, match="always act in a scene"):
        fb.rollout(scene, q, steps=2, passive=False)


@pytest.mark.parametrize("alone", [True, False])
@pytest.mark.parametrize("every", [1, 4])
def test_simulations_and_rollouts_have_the_same_rows(alone: bool, every: int) -> None:
    """Time first, the start and the last step included, whatever was called; in dask arrays too."""
    robot, scene = hopper()
    x, (q, v) = robot if alone else scene, starts(robot, 3)
    given: dict[str, Any] = {"dt": 1e-3, "u": STANCE, "every": every, "observe": {"imu": fb.observe.imu("imu")}}
    timed, counted = fb.simulate(x, q, v, duration=0.01, **given), fb.rollout(x, q, v, steps=10, **given)
    rows = 1 + -(-10 // every)
    assert timed.t.shape == (rows,) and timed.t[0] == 0.0 and timed.t[-1] == pytest.approx(0.01)
    for name, core in {"q": (robot.nq,), "v": (robot.nv,), "u": (2,)}.items():
        assert getattr(timed, name).shape == (rows, 3, *core)
        assert np.array_equal(getattr(timed, name), getattr(counted, name), equal_nan=True)
    assert np.array_equal(timed.q[0], q) and np.array_equal(timed.v[0], v)
    assert timed.observations["imu"].shape == (rows, 3, 6)
    assert timed.steps.tolist() == [10, 10, 10] and not timed.diverged.any()
    assert (timed.contacts is None) == alone and (timed.lost is None) != alone
    da = pytest.importorskip("dask.array")
    lazy = fb.rollout(x, da.from_array(q, chunks=(2, 3)), v, steps=10, **given)
    assert np.array_equal(lazy.q.compute(), timed.q) and np.array_equal(lazy.t, counted.t)


@pytest.mark.parametrize("alone", [True, False])
def test_every_run_is_saved_loaded_and_shown(alone: bool, tmp_path: Path) -> None:
    robot, scene = hopper()
    q, v = starts(robot, 2)
    run = fb.rollout(robot if alone else scene, q, v, u=STANCE, dt=2e-3, steps=20)
    loaded = fb.Run.load(run.save(tmp_path / "run.npz"))
    for name in ("t", "q", "v", "u", "steps", "diverged"):
        assert np.array_equal(getattr(loaded, name), getattr(run, name), equal_nan=True), name
    assert loaded.robot == robot and np.array_equal(loaded.recording.q, run.recording.q)
    assert np.array_equal(fb.Run.load(loaded.save(tmp_path / "again.npz")).q, run.q)
    if not alone:
        assert np.array_equal(loaded.contacts.force, run.contacts.force)
        assert fb.Run.load(tmp_path / "run.npz", scene).recording.terrains == run.recording.terrains
    pytest.importorskip("matplotlib")
    assert len(run.plot(sample=1).axes) == len(loaded.plot(sample=1).axes)


def test_a_function_is_held_unless_the_period_is_zero() -> None:
    """It is asked once per step of a robot and of a scene, and with period=0 in every pass of a Runge-Kutta step."""
    robot = fb.robots.double_pendulum()
    for x, period, calls in ((robot, None, 10), (robot, 2e-3, 5), (robot, 0, 40), (fb.Scene(robot), None, 10),
                             (fb.Scene(robot), 0, 10)):  # fmt: skip
        asked: list[float] = []

        def law(t: float, q: np.ndarray, v: np.ndarray, asked: list[float] = asked) -> np.ndarray:
            asked.append(t)
            return -0.1 * v

        fb.rollout(x, [0.3, 0.1], tau=law, dt=1e-3, steps=10, period=period)
        assert len(asked) == calls, (x, period)


def test_friction_is_one_of_the_numbers() -> None:
    robot, scene = hopper()
    q, v = starts(robot, 3)
    friction = np.array([[0.05], [0.4], [0.9]])
    run = scene.rollout(q, v, u=STANCE, steps=60, numbers={"friction": friction})
    worlds = scene.batch(3, numbers={"friction": friction})
    worlds.reset(q=q, v=v)
    worlds.step(u=STANCE, steps=60)
    assert np.array_equal(worlds.q, run.q[-1]) and np.array_equal(worlds.friction, friction)
    one = scene.step(q, v, dt=2e-3, u=STANCE, numbers={"friction": friction})
    assert np.abs(one.q - run.q[1]).max() < 1e-14
    with pytest.raises(fb.UnknownNameError, match="friction"):
        fb.rollout(robot, q, steps=2, numbers={"friction": friction})
