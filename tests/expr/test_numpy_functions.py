"""NumPy's functions on traced expressions record what they compute on numbers, or say what to write instead."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fourbar as fb
from fourbar.expr import Expr, Graph, prepare, traced_array

VALUES = np.random.default_rng(0).uniform(-0.9, 0.9, (50, 4))
OF_ARRAYS: dict[str, Callable[[Any], Any]] = {
    "clip": lambda x: np.clip(x, -0.3, 0.5),
    "clip from below": lambda x: np.clip(x, 0.1, None),
    "clip by names": lambda x: np.clip(x, min=-0.2, max=0.2),
    "clip, a method": lambda x: x.clip(-0.3, 0.5),
    "clip between symbols": lambda x: np.clip(x, -abs(x[0]), abs(x[0])),
    "minimum": lambda x: np.minimum(x, 0.1),
    "maximum": lambda x: np.maximum(0.1, x[::-1]),
    "fmax": lambda x: np.fmax(x, x[1]),
    "where": lambda x: np.where(x > 0.2, x * x, -1.0),
    "where of a list": lambda x: np.where(x <= 0.0, [1.0, 2.0, 3.0, 4.0], x),
    "sign": np.sign,
    "abs": np.abs,
    "fabs": np.fabs,
    "arcsin": np.arcsin,
    "arccos": np.arccos,
    "arctan2": lambda x: np.arctan2(0.5, x),
    "hypot": lambda x: np.hypot(x, 0.3),
    "deg2rad": np.deg2rad,
    "degrees": np.degrees,
    "norm": lambda x: [np.linalg.norm(x), np.linalg.norm(x[:2], ord=2)],
    "norms of rows": lambda x: np.linalg.norm(x.reshape(2, 2), axis=1),
    "max": lambda x: [np.max(x), x.min()],
    "sum": lambda x: [np.sum(np.maximum(x, 0.0)), x @ np.arange(4.0)],
    "cross": lambda x: np.cross(x[:3], x[1:]),
    "in place": lambda x: _in_place(x),
    "an array in front": lambda x: np.minimum(np.arange(4.0) * 0.2 - 0.3, x),
    "stack": lambda x: np.concatenate([x[:2], np.zeros(2)]).clip(0.0, 1.0),
    "fourbar's own": lambda x: fb.select(fb.minimum(x, 0.1) < 0.0, x, fb.maximum(x, 0.4)),
}
OF_SCALARS: dict[str, Callable[[Any], Any]] = {
    "clip": lambda x: np.clip(x, -0.3, 0.5),
    "where": lambda x: np.where(x > 0.2, x, 2.0),
    "minimum": lambda x: np.minimum(x, 0.1),
    "arccos": np.arccos,
    "arctan2": lambda x: np.arctan2(1.0, x),
    "sign": np.sign,
    "norm": lambda x: np.linalg.norm(np.stack([x, 2.0 * x])),
    "scaled": lambda x: np.float64(2.0) * x,
}


def _in_place(x: Any) -> Any:
    y = x.copy()
    y += 1.0
    y *= x
    return y


@pytest.mark.parametrize("use", OF_ARRAYS.values(), ids=OF_ARRAYS)
def test_arrays(use: Callable[[Any], Any]) -> None:
    x = traced_array(Graph().inputs("x", 4))
    recorded = list(use(x))
    assert all(isinstance(y, Expr | float) for y in recorded)
    found = np.array(np.broadcast_arrays(*prepare(recorded, tuple(x))(VALUES.T)), float)
    assert np.allclose(found, np.array([use(row) for row in VALUES]).T, rtol=1e-14, atol=1e-15)


@pytest.mark.parametrize("use", OF_SCALARS.values(), ids=OF_SCALARS)
def test_scalars(use: Callable[[Any], Any]) -> None:
    (x,) = Graph().inputs("x", 1)
    y = use(x)
    assert isinstance(y, Expr)
    (found,) = prepare([y], (x,))(VALUES[:, :1].T)
    assert np.allclose(found, [use(float(p)) for p in VALUES[:, 0]], rtol=1e-14, atol=1e-15)


@pytest.mark.parametrize(
    ("use", "words"),
    [
        (np.log, "np.log of traced.*sqrt, exp, tanh"),
        (np.sinh, "np.sinh of traced"),
        (np.argmax, "fourbar.select"),
        (np.sort, "fourbar.select"),
        (lambda x: x == 0.0, "equal is unknown while tracing"),
        (lambda x: np.linalg.inv(x.reshape(2, 2)), "np.inv of traced expressions is not recorded"),
        (lambda x: np.linalg.norm(x, ord=1), "Euclidean"),
        (lambda x: np.where(x > 0.0), "two choices"),
        (lambda x: np.minimum(list(x), 0.0), r"fourbar\.minimum"),
        (lambda x: math.sin(x[0]), "not math's"),
        (lambda x: np.array(x, float), "no numerical value"),
    ],
)
def test_refusals_name_what_to_write(use: Callable[[Any], Any], words: str) -> None:
    x = traced_array(Graph().inputs("x", 4))
    with pytest.raises((TypeError, ValueError)) as caught:
        use(x)
    assert re.search(words, f"{caught.value} {caught.value.__cause__}")


def test_a_control_in_the_words_of_numpy() -> None:
    """Saturated and with a dead band: compiled into the steps, with the bits of a function that Python calls."""
    robot = fb.robots.double_pendulum()

    def law(t: Any, q: Any, v: Any) -> Any:
        push = np.clip(-20.0 * q - 2.0 * v, -3.0, 3.0)
        return np.where(abs(q) < 0.01, 0.0, push) + np.minimum(t, 0.1) * np.arcsin(0.1 * np.sign(v))

    given: Any = {"dt": 1e-2, "steps": 50}
    found = fb.rollout(robot, [0.5, -0.2], tau=fb.traced(law), **given)
    wanted = fb.rollout(robot, [0.5, -0.2], tau=law, **given)
    assert np.allclose(found.q, wanted.q, rtol=1e-12, atol=1e-13)


def test_a_loop_in_the_words_of_numpy() -> None:
    """A follower on a cam with a dwell, a function of one number."""
    for clip in (np.clip, lambda x, low, high: fb.minimum(fb.maximum(x, low), high)):
        b = fb.Builder("cam")
        b.body("cam", joint=fb.joints.Revolute("z"), mass=1.0, inertia=(0.1, 0.1, 0.1))
        b.body("follower", joint=fb.joints.Prismatic("x"), mass=1.0)
        b.loop(fb.loops.Parametric(lambda q, clip=clip: 0.1 * clip(q, 0.0, 1.0) ** 2, ["cam"], ["follower"]))
        assert np.isclose(b.build().mass_matrix([0.5])[0, 0], 0.1 + (0.2 * 0.5) ** 2)
