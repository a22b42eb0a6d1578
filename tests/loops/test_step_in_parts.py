"""Steps that make parts themselves where a whole one gives no state."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fourbar as fb
from fourbar.expr import select
from fourbar.functions.rollout import Rollout, Step
from fourbar.functions.step_in_parts import PASSES, StepInParts
from fourbar.sim.chart_table import ChartTable

STATE = {"x": (), "impulse": (), "count": ()}
RECORDS = {"gap": (), "residual": (), "force": (), "length": ()}


def write(recorder: Any, given: dict[str, Any]) -> dict[str, Any]:
    """x grows by dt; there is no state where a part is longer than the limit. Examine loops from `until` on."""

    def move(x: Any, impulse: Any, count: Any, dt: Any, limit: Any, until: Any) -> tuple[Any, ...]:
        after = x + select(limit < dt, float("nan"), dt)
        return after, dt, count + 1.0, x, x, count * dt, dt, x - until

    (limit, until, _) = given["usual"]
    found = recorder.call(move, *(given[name][0] for name in (*STATE, "dt")), limit, until)
    return dict(zip((*STATE, *RECORDS, "stop"), ((x,) for x in found), strict=True))


def rolled(limits: Any, shortest: float, until: float = 100.0, steps: int = 3) -> Any:
    """Steps of length one, of which no part may be longer than the limits (n)."""
    step = Step("toy", StepInParts(write, tuple(STATE), RECORDS).write, STATE, {}, {"dt": (), "usual": (3,)}, RECORDS,
                stop=True, thresholds=("usual",), passes=PASSES)  # fmt: skip
    usual = np.array([[limit, until, shortest] for limit in limits])
    return Rollout(step).run({"x": 0.0, "impulse": 0.0, "count": 0.0}, {}, {"dt": 1.0, "usual": usual}, steps=steps)


@pytest.mark.parametrize("backend", ["llvm", "numpy"])
def test_a_step_in_parts_reports_the_whole(backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FOURBAR_BACKEND", backend)
    run = rolled([2.0, 0.5, 0.3, 0.1], 0.25)
    assert run.diverged.tolist() == [False, False, False, True]  # 1/16 of a step is needed, 1/4 is allowed
    lengths = np.array([1.0, 0.5, 0.25])[:, None]
    steps = np.arange(3.0)
    np.testing.assert_array_equal(run.records["x"][:3], np.tile(steps + 1.0, (3, 1)))
    np.testing.assert_array_equal(run.records["count"][:3], np.tile(steps + 1.0, (3, 1)))
    np.testing.assert_array_equal(run.records["impulse"][:3], np.ones((3, 3)))  # as of a whole step
    np.testing.assert_array_equal(run.records["gap"][:3], np.tile(steps, (3, 1)))  # of the first part
    np.testing.assert_array_equal(run.records["residual"][:3], steps + 1.0 - lengths)  # the largest one
    np.testing.assert_array_equal(run.records["force"][:3], steps + 0.5 - 0.5 * lengths)  # the mean time of parts
    np.testing.assert_array_equal(run.records["length"][:3], np.tile(lengths, 3))  # of the last part


def test_a_loop_that_should_be_examined_within_a_step_ends_it() -> None:
    whole, parts = rolled([2.0], 0.25, until=0.5), rolled([0.5], 0.25, until=0.9)
    assert whole.stopped[0] and whole.made[0] == 2  # after the step
    assert parts.diverged[0] and parts.made[0] == 1  # before it is over


def test_steps_in_parts_seldom_ask_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """A leg without limits turns through the toggle positions of its loops, in many steps of parts."""
    robot, asked, parts = fb.robots.cassie_leg(), [], ChartTable.parts

    def count(self: ChartTable, s: Any, ids: np.ndarray, dt: np.ndarray) -> np.ndarray:
        asked.extend(ids.tolist())
        return parts(self, s, ids, dt)

    monkeypatch.setattr(ChartTable, "parts", count)
    v = np.random.default_rng(0).normal(size=robot.nv)
    run = fb.rollout(robot, robot.neutral(), v, dt=1e-3, steps=1000, passive=False)
    energy = robot.kinetic_energy(run.q, run.v) + robot.potential_energy(run.q)
    assert np.ptp(energy) < 1e-5 * robot.kinetic_energy(run.q, run.v).max()
    assert 0 < len(asked) < 20


def test_parts_have_the_same_bits_in_any_company() -> None:
    robot = fb.robots.cassie_leg()
    v = np.random.default_rng(0).normal(size=(5, robot.nv))
    q = np.repeat(robot.neutral()[None], 5, 0)
    together = fb.rollout(robot, q, v, dt=1e-3, steps=300)
    alone = fb.rollout(robot, q[3], v[3], dt=1e-3, steps=300)
    assert np.array_equal(together.q[:, 3], alone.q) and np.array_equal(together.v[:, 3], alone.v)
    scene = fb.Scene(robot, limits=False)
    run = scene.rollout(q, v, dt=1e-3, steps=300)
    worlds = scene.batch(5, dt=1e-3)
    worlds.reset(q=q, v=v)
    for _ in range(300):
        worlds.step()
    assert np.array_equal(worlds.q, run.q[-1]) and np.array_equal(worlds.v, run.v[-1])
