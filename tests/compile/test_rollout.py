"""Steps that run on their own results: a step of a few lines, against a loop in NumPy."""

from __future__ import annotations

import os
import signal
from typing import Any

import numpy as np
import pytest

import fourbar as fb
from fourbar.compile.llvm import batch_lanes
from fourbar.functions.rollout import ALWAYS, Interpreter, Rolled, Rollout, Step

DT = 1e-2
STEPS, HOLD, EVERY = 60, 4, 5


def move(x: Any, v: Any, u: Any, k: Any, dt: Any) -> Any:
    """A mass on a spring for a time step."""
    v = v + dt * (u - k * x)
    return x + dt * v, v, 0.5 * (v * v + k * x * x)


def write(recorder: Any, given: dict[str, Any]) -> dict[str, Any]:
    (x,), (v,), (u,), (k,), (dt,) = (given[name] for name in ("x", "v", "u", "k", "dt"))
    x, v, energy = recorder.call(move, x, v, u, k, dt)
    return {"x": (x,), "v": (v,), "energy": (energy,)}


MASS = Step(
    "mass", write, state={"x": (), "v": ()}, controls={"u": ()}, numbers={"k": (), "dt": ()}, records={"energy": ()}
)


@pytest.fixture(scope="module")
def mass() -> Rollout:
    return Rollout(MASS)


def samples(n: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(n)
    return {"x": rng.normal(size=n), "u": rng.normal(size=(n, STEPS // HOLD)), "k": rng.uniform(1.0, 5.0, size=n)}


def run(mass: Rollout, given: dict[str, np.ndarray], **asked: Any) -> Rolled:
    usual = {"steps": STEPS, "hold": HOLD, "every": EVERY}
    numbers = {"k": given["k"], "dt": DT}
    return mass.run({"x": given["x"], "v": 0.0}, {"u": given["u"]}, numbers, **{**usual, **asked})


def in_numpy(given: dict[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """x and energy at the recorded steps."""
    x, v, rows = given["x"], np.zeros_like(given["x"]), []
    for i in range(STEPS):
        x, v, energy = move(x, v, given["u"][..., i // HOLD], given["k"], DT)
        if (i + 1) % EVERY == 0:
            rows.append((x, energy))
    found = np.array(rows)
    return np.moveaxis(found[:, 0], 0, -1), np.moveaxis(found[:, 1], 0, -1)


@pytest.mark.parametrize("n", [1, 7, 8, 37])
def test_the_same_as_a_loop_in_python(mass: Rollout, n: int) -> None:
    given = samples(n)
    found = run(mass, given)
    x, energy = in_numpy(given)
    assert found.records["x"].shape == (n, STEPS // EVERY)
    assert np.abs(found.records["x"] - x).max() < 1e-14 and np.abs(found.records["energy"] - energy).max() < 1e-13
    assert np.array_equal(found.state["x"], found.records["x"][:, -1])
    assert found.steps == STEPS and (found.made == STEPS).all() and not found.diverged.any()


def test_a_sample_has_the_same_bits_everywhere(mass: Rollout) -> None:
    given = samples(1024)
    whole = run(mass, given, threads=1).records
    for threads in (2, 3):
        again = run(mass, given, threads=threads).records
        assert all(np.array_equal(whole[name], again[name]) for name in whole)
    for some in (slice(5, 6), slice(3, 10), slice(100, 108), slice(9, 500)):
        part = run(mass, {name: array[some] for name, array in given.items()}).records
        assert all(np.array_equal(whole[name][some], part[name]) for name in whole)
    alone = run(mass, {name: array[17] for name, array in given.items()}).records
    assert alone["x"].shape == (STEPS // EVERY,)
    assert all(np.array_equal(whole[name][17], alone[name]) for name in whole)


def test_segments_make_no_difference(mass: Rollout, monkeypatch: pytest.MonkeyPatch) -> None:
    given = samples(11)
    whole = run(mass, given)
    for at_once, fewest in ((1, 1), (1, 7), (1, 13)):
        monkeypatch.setattr("fourbar.functions.rollout._AT_ONCE", at_once)
        monkeypatch.setattr("fourbar.functions.rollout.FEWEST", fewest)
        told: list[int] = []
        parts = run(mass, given, on_progress=told.append)
        assert told[-1] == STEPS and len(told) == -(-STEPS // fewest)
        assert all(np.array_equal(whole.records[name], parts.records[name]) for name in whole.records)


def test_the_interpreter_means_the_same(mass: Rollout, monkeypatch: pytest.MonkeyPatch) -> None:
    given = samples(9)
    compiled = run(mass, given)
    monkeypatch.setenv("FOURBAR_BACKEND", "numpy")
    fresh = Rollout(MASS)
    assert isinstance(fresh.runner(False, ("x",)), Interpreter)
    found = run(fresh, given)
    for name, array in compiled.records.items():
        assert np.allclose(array, found.records[name], rtol=1e-13, atol=1e-14)
    assert np.array_equal(found.made, compiled.made)


def test_leading_axes_broadcast(mass: Rollout) -> None:
    given = samples(3)
    k = np.array([[1.0], [2.0]])
    found = run(mass, {**given, "k": k})
    assert found.records["x"].shape == (2, 3, STEPS // EVERY) and found.made.shape == (2, 3)
    for i in range(2):
        assert np.array_equal(found.records["x"][i], run(mass, {**given, "k": k[i]}).records["x"])


def test_controls_decide_how_many_samples_there_are(mass: Rollout) -> None:
    u = np.random.default_rng(0).normal(size=(5, 15))
    found = run(mass, {"x": np.array(0.3), "u": u, "k": np.array(2.0)})
    assert found.state["x"].shape == (5,) and len(np.unique(found.state["x"])) == 5


def test_only_what_is_asked_for_is_recorded(mass: Rollout) -> None:
    given = samples(8)
    assert set(run(mass, given, records=["energy"]).records) == {"energy"}
    assert run(mass, given, records=[]).records == {}
    assert run(mass, given, every=100).records["x"].shape == (8, 0)
    with pytest.raises(fb.ArgumentError, match="no result 'heat'"):
        run(mass, given, records=["heat"])


def growing(recorder: Any, given: dict[str, Any]) -> dict[str, Any]:
    """x squared each time: it leaves all numbers behind, unless it is at most one. It stops beyond `end`."""
    (x,), (y,), (end,) = given["x"], given["y"], given["end"]
    x, y, stop = recorder.call(lambda x, y, end: (x * x, x, x - end), x, y, end)
    return {"x": (x,), "y": (y,), "stop": (stop,)}


@pytest.mark.parametrize("backend", ["llvm", "numpy"])
def test_samples_that_diverge_or_stop(backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FOURBAR_BACKEND", backend)
    step = Step("growing", growing, {"x": (), "y": ()}, numbers={"end": ()}, stop=True)
    x = np.array([0.5, 10.0, 1.0, 2.0, 10.0, np.nan, 1e200, 3.0, -1.0])
    end = np.array([np.inf, np.inf, np.inf, np.inf, 50.0, np.inf, np.inf, 1.0, np.inf])
    found = Rollout(step).run({"x": x, "y": 0.0}, numbers={"end": end}, steps=20)
    assert found.steps == 20
    assert found.diverged.tolist() == [False, True, False, True, False, True, True, False, False]
    assert found.stopped.tolist() == [False, False, False, False, True, False, False, True, False]
    assert found.made.tolist() == [20, 8, 20, 9, 2, 0, 0, 1, 20]
    assert np.allclose(found.state["x"][[1, 3, 4, 6, 7]], [1e256, 2.0**512, 1e4, 1e200, 9.0], rtol=1e-13)
    assert np.allclose(found.state["y"][[1, 4, 6, 7]], [1e128, 100.0, 0.0, 3.0], rtol=1e-13)
    records = found.records["x"]
    assert np.isfinite(records).sum(axis=1).tolist() == [20, 8, 20, 9, 2, 0, 0, 1, 20]
    alone = Rollout(step).run({"x": 10.0, "y": 0.0}, numbers={"end": np.inf}, steps=20)
    assert alone.diverged and alone.made == 8 and np.array_equal(alone.records["x"], records[1], equal_nan=True)


def swapped(recorder: Any, given: dict[str, Any]) -> dict[str, Any]:
    """Three numbers that change places, and one that never changes."""
    a, b, c = given["x"]
    return {"x": (c, a, b), "still": given["still"], "zero": (0.0,)}


def test_results_that_are_the_arguments_themselves() -> None:
    step = Step("swapped", swapped, {"x": (3,), "still": (2,)}, records={"zero": ()})
    x = np.arange(3 * 21.0).reshape(21, 3)
    found = Rollout(step).run({"x": x, "still": [4.0, 5.0]}, steps=5)
    assert np.array_equal(found.state["x"], np.roll(x, 5, axis=1))
    assert np.array_equal(found.records["x"][:, 0], np.roll(x, 1, axis=1))
    assert (found.state["still"] == [4.0, 5.0]).all() and not found.records["zero"].any()


def shaped(recorder: Any, given: dict[str, Any]) -> dict[str, Any]:
    """A matrix that controls and numbers are added to, with a part that repeats until it is small."""
    new = [recorder.call(lambda a, b, c: a + b * c, *x) for x in zip(given["A"], given["U"], given["N"], strict=True)]

    def halve(y: Any) -> Any:
        return (0.5 * y,), abs(0.5 * y) - 0.1

    (small,) = recorder.repeat(lambda s: recorder.call(halve, *s), (new[0],), 60)
    return {"A": new, "small": (small,)}


def test_matrices_and_repeats_within_steps() -> None:
    """Rows of controls are brought anew amid a motion: they must write nothing else. 17 entries fill no vectors."""
    shape = (17, 1)
    step = Step("shaped", shaped, {"A": shape}, controls={"U": shape}, numbers={"N": shape}, records={"small": ()})
    rng = np.random.default_rng(3)
    A, U, N = rng.normal(size=(13, *shape)), rng.normal(size=(13, 10, *shape)), rng.normal(size=(13, *shape))
    found = Rollout(step).run({"A": A}, {"U": U}, {"N": N}, steps=10)
    path = A[:, None] + np.cumsum(U * N[:, None], axis=1)
    assert np.abs(found.records["A"] - path).max() < 1e-13
    first = path[:, :, 0, 0]
    passes = np.maximum(1, np.ceil(np.log2(np.abs(first) / 0.1)))
    assert np.allclose(found.records["small"], first / 2.0**passes, rtol=1e-12)


def test_a_motion_step_by_step_with_controls_from_python(mass: Rollout) -> None:
    """What a controller in Python needs: rows for a while, held, and records that go on."""
    given = samples(10)
    whole = run(mass, given)
    for stay in (False, True):  # rows that are new in each call, or the same arrays, which stay where they are
        motion = mass.start({"x": given["x"], "v": 0.0}, {"k": given["k"], "dt": DT})
        into = {name: np.empty((STEPS // EVERY, motion.n)).swapaxes(0, 1) for name in ("x", "energy")}
        rows = [np.empty((motion.n, 1))]
        for i in range(STEPS // HOLD):
            fresh = motion.rows({"u": given["u"][:, i : i + 1]}, 1)
            rows[0][...] = fresh[0]
            motion.advance(HOLD, rows if stay else fresh, into, hold=ALWAYS, every=EVERY)
        rolled = motion.outcome(into, EVERY)
        assert motion.now.steps == STEPS and np.array_equal(motion.state["x"], whole.state["x"])
        assert all(np.array_equal(rolled.records[name], whole.records[name]) for name in into)


def test_stopped_samples_can_go_on() -> None:
    step = Step("growing", growing, {"x": (), "y": ()}, numbers={"end": ()}, stop=True)
    motion = Rollout(step).start({"x": [2.0, 0.5], "y": 0.0}, {"end": 10.0})
    motion.advance(10)
    assert motion.now.status.tolist() == [2.0, 0.0] and motion.state["x"][0] == 256.0
    assert motion.now.made.tolist() == [3.0, 10.0]
    again = Rollout(step).start(motion.state, {"end": np.inf}, made=motion.now.made)
    assert again.now.steps == 3
    again.advance(2)
    assert again.state["x"].tolist() == [2.0**32, 0.5**1024], "what is ahead waits"
    again.advance(6)
    assert again.now.made.tolist() == [9.0, 11.0] and again.now.status.tolist() == [1.0, 0.0]
    assert again.state["x"].tolist() == [2.0**512, 0.0]


def test_ctrl_c_returns_what_was_computed(mass: Rollout) -> None:
    given = {"x": np.ones(4 * batch_lanes().width + 3), "u": np.zeros((1, 1)), "k": np.ones(1)}
    told: list[int] = []

    def press(done: int) -> None:
        told.append(done)
        if len(told) == 3:
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt) as caught:
        run(mass, given, steps=2_000_000_000, hold=ALWAYS, every=100_000_000, records=["x"], on_progress=press)
    found = caught.value.run  # type: ignore[attr-defined]
    assert told[2] <= found.steps <= 4 * told[0] and (found.made == found.steps).all()
    assert found.records["x"].shape[1] == found.steps // 100_000_000
    assert len(np.unique(found.state["x"])) == 1
    again = run(mass, {**given, "x": np.ones(1)}, steps=found.steps, hold=ALWAYS, records=[], every=ALWAYS)
    assert again.state["x"][0] == found.state["x"][0]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"steps": 0}, "steps.*at least 1"),
        ({"every": 1.5}, "every.*whole number"),
        ({"hold": -1}, "hold"),
        ({"threads": 0}, "threads"),
        ({"hold": 1}, "u has 15 rows.*need 60"),
    ],
)
def test_counts_that_make_no_sense(mass: Rollout, changed: dict[str, Any], message: str) -> None:
    with pytest.raises(fb.ArgumentError, match=message):
        run(mass, samples(2), **changed)


def test_arguments_that_do_not_fit(mass: Rollout) -> None:
    good = samples(2)
    with pytest.raises(fb.ArgumentError, match="'v' is missing"):
        mass.run({"x": 0.0}, {"u": [0.0]}, {"k": 1.0, "dt": 1.0}, steps=1)
    with pytest.raises(fb.ArgumentError, match="no 'w'"):
        mass.run({"x": 0.0, "v": 0.0, "w": 1.0}, {"u": [0.0]}, {"k": 1.0, "dt": 1.0}, steps=1)
    with pytest.raises(fb.ArgumentError, match="leading axes"):
        run(mass, {**good, "k": np.ones(3)})
    with pytest.raises(fb.ArgumentError, match=r"u must have shape \(..., rows\)"):
        run(mass, {**good, "u": np.array(1.0)})
