"""Arguments that lie in memory in any way, in batches of more samples than are computed at once."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

from fourbar.compile.callables import compile_ufunc
from fourbar.compile.ir import Lanes
from fourbar.compile.llvm import batch_lanes
from fourbar.expr import Program, Unrolled

from .support import EVERY_WIDTH

SHAPES = {"a": (), "b": (3,), "c": (3, 3), "d": (2, 2, 2), "e": (9,), "f": (7,), "g": (46,)}
W = batch_lanes().width
Layout = Callable[[np.ndarray], np.ndarray]


def sums() -> Program:
    """Each entry, doubled: a result of the shape of each argument."""
    recorder = Unrolled()
    given = {name: recorder.input(name, shape) for name, shape in SHAPES.items()}
    found = {name: [recorder.call(lambda x: x + x, x) for x in entries] for name, entries in given.items()}
    return recorder.finish("doubled", [(f"two_{name}", SHAPES[name], entries) for name, entries in found.items()])


def _every_third(x: np.ndarray) -> np.ndarray:
    wide = np.full((3 * len(x), *x.shape[1:]), np.nan)
    wide[::3] = x
    return wide[::3]


def _entries_apart(x: np.ndarray) -> np.ndarray:
    wide = np.full((*x.shape, 2), np.nan)
    wide[..., 0] = x
    return wide[..., 0]


def _inner_rows_apart(x: np.ndarray) -> np.ndarray:
    if x.ndim < 3:
        return x
    wide = np.full((*x.shape[:-1], x.shape[-1] + 1), np.nan)
    wide[..., :-1] = x
    return wide[..., :-1]


LAYOUTS: dict[str, Layout] = {
    "together": np.ascontiguousarray,
    "samples side by side": np.asfortranarray,
    "every third": _every_third,
    "entries apart": _entries_apart,
    "rows apart": _inner_rows_apart,
    "backwards": lambda x: np.ascontiguousarray(x[::-1])[::-1],
    "the same for all": lambda x: np.broadcast_to(np.ascontiguousarray(x[0]), x.shape),
    "the same, turned": lambda x: np.broadcast_to(np.asfortranarray(x[0]), x.shape),
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_inputs_and_results_of_any_layout(name: str) -> None:
    made, rng = compile_ufunc(sums(), batch_lanes(), {}), np.random.default_rng(3)
    for n, other in product((1, 2, W, W + 1, 2 * W, 3 * W + 2), LAYOUTS):
        whole = [rng.normal(size=(n, *shape)) for shape in SHAPES.values()]
        given: list[Any] = [LAYOUTS[name if k % 2 else other](x) for k, x in enumerate(whole)]
        results: list[Any] = [np.full(x.shape, np.nan) for x in whole]
        if not name.startswith("the same"):
            results = [LAYOUTS[name](x) for x in results]
        made.ufunc(*given, out=tuple(results))
        for x, y in zip(given, results, strict=True):
            assert np.array_equal(y, 2.0 * x)


def test_nothing_is_written_beside_results() -> None:
    made, rng, n = compile_ufunc(sums(), batch_lanes(), {}), np.random.default_rng(4), 2 * W + 1
    given = [rng.normal(size=(n, *shape)) for shape in SHAPES.values()]
    rooms = [np.full((n, x[0].size + 5), 7.0) for x in given]
    results = [
        as_strided(room, x.shape, (room.strides[0], *x.strides[1:])) for room, x in zip(rooms, given, strict=True)
    ]
    made.ufunc(*given, out=tuple(results))
    for x, y, room in zip(given, results, rooms, strict=True):
        assert np.array_equal(y, 2.0 * x) and (room[:, -5:] == 7.0).all()


def multiplied(count: int) -> Program:
    """(1, 2, ... count) x."""
    recorder = Unrolled()
    (x,) = recorder.input("x", (1,))
    return recorder.finish(
        "multiples", [("y", (count,), [recorder.call(lambda x, k=k: (k + 1.0) * x, x) for k in range(count)])]
    )


@pytest.mark.parametrize("lanes", [lanes for lanes in EVERY_WIDTH if lanes.width > 1], ids=str)
@pytest.mark.parametrize("count", [88, 95, 96, 100, 102, 104, 137])
def test_results_at_any_address(lanes: Lanes, count: int) -> None:
    made, n = compile_ufunc(multiplied(count), lanes, {}), 3 * lanes.width + 1
    x = np.random.default_rng(count).normal(size=(n, 1))
    expected = np.arange(1.0, count + 1.0) * x
    for gap, shift in product((0, 4, 8, 12), range(8)):
        room = np.full(8 + n * (count + gap) + 8, 7.0)
        first = -(room.ctypes.data // 8) % 8 + shift  # so many entries behind a cache line
        result = as_strided(room[first:], (n, count), (8 * (count + gap), 8))
        made.ufunc(x, out=result)
        assert np.array_equal(result, expected)
        result[:] = 7.0
        assert np.all(room == 7.0)
