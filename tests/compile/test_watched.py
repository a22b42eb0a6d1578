"""Functions that are watched for NaN: machine code serves all calls but those whose result has one, which are told."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import tracemalloc
import warnings
from itertools import product
from typing import Any

import numpy as np
import pytest

import fourbar as fb
from fourbar.compile import callables
from fourbar.compile.batch_loop import DATA_WORDS, STRANGE
from fourbar.compile.callables import GeneralisedUfunc
from fourbar.compile.ir import Lanes
from fourbar.compile.kernel import Kernel, WatchedEntries
from fourbar.functions.function import FunctionState

from .support import EVERY_WIDTH, machine_code_only, program_of

ROBOT = fb.robots.parallelogram()
SOUND, LOST = np.array([1.0, -1.0, 1.0]), np.zeros(3)
ONE = np.ones(1)
only_fast = pytest.mark.skipif(not callables.is_supported(), reason="there is no machine code for calls here")


def _armed() -> Any:
    """Forward dynamics, with machine code for one sample and for batches."""
    for _ in range(3):
        ROBOT.forward_dynamics(SOUND, ONE, ONE)
        ROBOT.forward_dynamics(np.stack([SOUND] * 5), np.ones((5, 1)), np.ones((5, 1)))
    return ROBOT.forward_dynamics


@pytest.mark.quick
def test_every_call_of_one_sample_is_reported() -> None:
    f = _armed()
    for _ in range(5):
        with pytest.raises(fb.SingularError, match="toggle position"):
            f(LOST, ONE, ONE)
        assert np.isfinite(f(SOUND, ONE, ONE)).all()


@pytest.mark.parametrize("n", [1, 2, 7, 8, 9, 64, 100])
def test_wherever_it_is_in_a_batch(n: int) -> None:
    """Numbers are looked at eight at a time, and one by one at the end."""
    f, v = _armed(), np.ones((n, 1))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        expected = f(np.tile(SOUND, (n, 1)), v, v)
    for k in range(n):
        q = np.tile(SOUND, (n, 1))
        q[k] = LOST
        with pytest.warns(RuntimeWarning, match="toggle position") as told:
            a = f(q, v, v)
        assert told[0].filename == __file__
        assert np.flatnonzero(np.isnan(a[:, 0])).tolist() == [k]
        assert np.array_equal(np.delete(a, k), np.delete(expected, k))


@pytest.mark.parametrize("step", [1, 2])
def test_results_that_are_given(step: int) -> None:
    """Into the user's own array, contiguous or not."""
    f, out = _armed(), np.zeros(2 * step)[::step][:1]
    assert f(SOUND, ONE, ONE, out=out) is out and np.isfinite(out).all()
    with pytest.raises(fb.SingularError):
        f(LOST, ONE, ONE, out=out)
    M = np.zeros((1, 3 * step))[:, ::step][:, :1]
    with pytest.raises(fb.SingularError):
        ROBOT.mass_matrix(LOST, out=M)


@pytest.mark.parametrize("way", ["fast", "by name"])
def test_results_over_the_arguments_are_reported_too(way: str) -> None:
    """What explains NaN must see the arguments as they were, not the NaN that was written over them."""
    f = _armed()

    def call(q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> Any:
        return f(q, v, tau, out=v) if way == "fast" else f(q=q, v=v, tau=tau, out=v)

    strided = np.ones(4)[::2][:1]
    for v in (np.ones(1), strided):
        assert np.array_equal(call(SOUND, v, ONE), f(SOUND, ONE, ONE))
        v[:] = 1.0
        with pytest.raises(fb.SingularError, match="toggle position"):
            call(LOST, v, ONE)
    with pytest.warns(RuntimeWarning, match="toggle position"):
        call(np.stack([SOUND, LOST, SOUND]), np.ones((3, 1)), np.ones((3, 1)))


def test_nan_of_the_user_is_nobodys_fault() -> None:
    f = _armed()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isnan(f(np.full(3, np.nan), ONE, ONE)).all()
        assert np.isnan(f(SOUND, np.array([np.nan]), ONE)).all()
        assert np.isnan(ROBOT.integrate(SOUND, np.array([np.nan]), np.array(0.1))).all()


@machine_code_only
@only_fast
def test_only_results_with_nan_take_the_long_way(monkeypatch: pytest.MonkeyPatch) -> None:
    f, calls = _armed(), []
    monkeypatch.setattr(
        FunctionState, "variant", lambda self, present: calls.append(self.name) or self._variants[present]
    )
    for _ in range(10):
        f(SOUND, ONE, ONE)
        f(np.stack([SOUND] * 5), np.ones((5, 1)), np.ones((5, 1)))
    assert not calls
    with pytest.raises(fb.SingularError):
        f(LOST, ONE, ONE)
    assert calls == ["forward_dynamics"]


@pytest.mark.slow
@only_fast
def test_results_that_are_given_up_are_freed() -> None:
    f, many, v = _armed(), np.zeros((2000, 3)), np.ones((2000, 1))

    def lose(times: int, *arguments: np.ndarray) -> int:
        for _ in range(times):
            with contextlib.suppress(fb.SingularError), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                f(*arguments)
        gc.collect()
        return tracemalloc.get_traced_memory()[0]

    for times, arguments, size in ((500, (LOST, ONE, ONE), 100), (5, (many, v, v), 16000)):
        tracemalloc.start()
        before = lose(times, *arguments)  # Python and NumPy keep some memory for later use
        grown = lose(times, *arguments) - before
        tracemalloc.stop()
        assert grown < times * size / 2


@machine_code_only
@pytest.mark.parametrize("lanes", EVERY_WIDTH, ids=str)
@pytest.mark.parametrize("n", [1, 3, 4, 5, 8, 10])
def test_every_angle_is_looked_at(lanes: Lanes, n: int) -> None:
    """In one sample four at a time, and one by one at the end; none of the numbers beside them."""
    watch = {"x": WatchedEntries(tuple(range(1, n + 1)))}
    made = GeneralisedUfunc(Kernel(program_of(lambda x: (x[0],), n + 2), lanes, watch))
    words = (ctypes.c_int64 * DATA_WORDS).from_address(made.kernel.data)
    for k, value in product(range(n + 2), (1.0, -1e8, 1.1e8, -1.1e8, np.inf)):
        x, before = np.ones(n + 2), words[STRANGE]
        x[k] = value
        made.ufunc(x)
        assert words[STRANGE] - before == (1 <= k <= n and abs(value) > 1e8)
