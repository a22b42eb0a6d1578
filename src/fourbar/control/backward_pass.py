"""The backward pass: the Riccati recursion of a knot as the step of a rollout, problems in the lanes.

With [A B] of a knot, the Hessian H and gradient g of its cost on (x, u), and V, s of the knot after it, behind a gap f:

    s ← s + V f,   [Q_xu; Q_uu] = H_u + [A B]ᵀ V B,   q_u = g_u + Bᵀ s,   K, k = -(Q_uu + μ diag Q_uu)⁻¹ (Q_ux, q_u)
    V ← H_xx + Kᵀ H_ux + H_xu K + Kᵀ H_uu K + (A + B K)ᵀ V (A + B K)                          Joseph's form
    s ← g_x + H_xu k + Kᵀ (g_u + H_uu k) + (A + B K)ᵀ (s + V B k)

Only the lower half of V is computed. Where a pivot of Q_uu is not above zero, the pass ends: V is not a number. Bounds
of controls (box-DDP, Tassa 2014) make k the solution of a quadratic program, and rows of K zero where a bound holds.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from ..algorithms.tiles import Rows, plus_product, transpose
from ..expr import maximum, minimum, select
from ..functions.rollout import Rollout, Step
from ..spatial.linear import Mat, Vec
from ..spatial.solve import Factored, factor

_LENGTHS = (1.0, 0.5, 0.25, 0.0625, 0.0078125)  # of steps of the quadratic program


class _QuadraticProgram:
    """Of the settings of the quadratic program."""

    PASSES = 20  # of Newton's method, of which two or three are needed
    PROGRESS = 1e-13  # relative change of the value below which it is solved


class Policy(NamedTuple):
    """Of all knots: gains K (..., T, nu, nx), steps k (..., T, nu), slopes q_u (..., T, nu) of the cost to go, costates
    (..., T, nx) behind each knot; first- and second-order changes (...) of the cost for a whole step, and whether
    (...) all pivots were above zero. In reverse order of time."""

    K: np.ndarray
    k: np.ndarray
    slope: np.ndarray
    costate: np.ndarray
    first: np.ndarray
    second: np.ndarray
    valid: np.ndarray


def _rows(entries: Any, columns: int) -> Rows:
    return [list(entries[i : i + columns]) for i in range(0, len(entries), columns)]


def _add_damping(H: Mat, damping: Any) -> Mat:
    """H + μ |diag H|."""
    return Mat(
        Vec([x + damping * maximum(x, -x) if i == j else x for j, x in enumerate(row)]) for i, row in enumerate(H)
    )


def _factor_positive(H: Mat) -> Factored:
    """The factors of H; NaN where a pivot is not above zero."""
    found = factor(H)
    return Factored(found.L, Vec([select(x > 0.0, x, float("nan")) for x in found.inverse_pivots]))


def _solve_columns(H: Factored, columns: tuple[Vec, ...]) -> tuple[Vec, ...]:
    return tuple(-H.solve(x) for x in columns)


def _free(H: Mat, held: Vec) -> Mat:
    """H among controls that are free, and a unit matrix among those at a bound."""
    rows = []
    for i, row in enumerate(H):
        entries = [select(maximum(held[i], held[j]) > 0.5, float(i == j), x) for j, x in enumerate(row)]
        rows.append(Vec(entries))
    return Mat(rows)


def _find_held(H: Mat, slope: Vec, step: Vec, low: Vec, high: Vec) -> tuple[Vec, Vec]:
    """Which controls are at a bound that the cost presses them against, and the slope there."""
    there = Vec([s + row.dot(step) for s, row in zip(slope, H, strict=True)])
    held = []
    for g, x, a, b in zip(there, step, low, high, strict=True):
        at_low = select(x <= a, select(g > 0.0, 1.0, 0.0), 0.0)
        at_high = select(x >= b, select(g < 0.0, 1.0, 0.0), 0.0)
        held.append(maximum(at_low, at_high))
    return Vec(held), there


def _value(H: Mat, slope: Vec, step: Vec) -> Any:
    return slope.dot(step) + 0.5 * step.dot(Vec([row.dot(step) for row in H]))


def _projected_newton(H: Mat, slope: Vec, step: Vec, value: Any, low: Vec, high: Vec) -> tuple[Vec, Any, Any]:
    """A step of Newton's method among the free controls, of the best of some lengths; its value; whether to go on."""
    held, there = _find_held(H, slope, step, low, high)
    wanted = [select(h > 0.5, 0.0, g) for h, g in zip(held, there, strict=True)]
    newton = -_factor_positive(_free(H, held)).solve(wanted)
    best, least = step, value
    for length in _LENGTHS:
        moved = [minimum(maximum(x + length * d, a), b) for x, d, a, b in zip(step, newton, low, high, strict=True)]
        new = _value(H, slope, Vec(moved))
        better = new < least
        best = Vec([select(better, x, y) for x, y in zip(moved, best, strict=True)])
        least = select(better, new, least)
    return best, least, value - least - _QuadraticProgram.PROGRESS * maximum(-least, 0.0)


def _begin(slope: Vec, low: Vec, high: Vec, H: Mat) -> tuple[Vec, Any]:
    """No step, or the nearest that bounds allow."""
    step = Vec([minimum(maximum(0.0, a), b) for a, b in zip(low, high, strict=True)])
    return step, _value(H, slope, step)


def _of_free(held: Vec, columns: tuple[Vec, ...]) -> tuple[Vec, ...]:
    return tuple(Vec([select(h > 0.5, 0.0, x) for h, x in zip(held, column, strict=True)]) for column in columns)


def _changes(first: Any, second: Any, slope: Vec, k: Vec, H: Mat) -> Vec:
    return Vec((first + slope.dot(k), second + k.dot(Vec([row.dot(k) for row in H]))))


class _Recursion:
    """The step of a knot with n entries of the state and m controls."""

    def __init__(self, n: int, m: int, boxed: bool, gaps: bool) -> None:
        self._n, self._m, self._boxed, self._gaps = n, m, boxed, gaps

    def rollout(self) -> Rollout:
        """The rollout over knots, the last first."""
        n, m = self._n, self._m
        controls: dict[str, Any] = {"AB": (n, n + m), "H": (n + m, n + m), "g": (n + m,)}
        controls |= {"low": (m,), "high": (m,)} if self._boxed else {}
        controls |= {"gap": (n,)} if self._gaps else {}
        records = {"K": (m, n), "k": (m,), "slope": (m,), "costate": (n,)}
        state = {"V": (n, n), "s": (n,), "first": (), "second": ()}
        key = ("backward pass", n, m, self._boxed, self._gaps)
        return Rollout(Step("backward_pass", self._write, state, controls, {"damping": ()}, records, key=key))

    def _write(self, recorder: Any, given: dict[str, tuple[Any, ...]]) -> dict[str, Any]:
        n, m, call = self._n, self._m, recorder.call
        AB, V, H = _rows(given["AB"], n + m), _rows(given["V"], n), _rows(given["H"], n + m)
        s: Rows = [[x] for x in given["s"]]
        if self._gaps:
            s = self._product(recorder, s, V, [[x] for x in given["gap"]])
        W = self._product(recorder, None, V, AB)  # V [A B]
        A, B = [row[:n] for row in AB], transpose([row[n:] for row in AB])
        Wu = [row[n:] for row in W]
        Hux, Huu = [row[:n] for row in H[n:]], [row[n:] for row in H[n:]]
        Qux = self._product(recorder, Hux, B, [row[:n] for row in W])
        Quu = self._product(recorder, Huu, B, Wu)
        qu = [x for (x,) in self._product(recorder, [[x] for x in given["g"][n:]], B, s)]
        K, k = self._feedback(recorder, given, Quu, Qux, qu)
        Kt = transpose(K)
        closed = self._product(recorder, A, [row[n:] for row in AB], K)
        WK = self._product(recorder, [row[:n] for row in W], Wu, K)
        left = self._product(recorder, Hux, Huu, K)  # H_ux + H_uu K
        Vx = [row[:n] for row in H[:n]]
        V_new = self._lower(recorder, Vx, [(Kt, left), ([row[n:] for row in H[:n]], K), (transpose(closed), WK)])
        column: Rows = [[x] for x in k]
        ahead = self._product(recorder, s, Wu, column)
        pushed = self._product(recorder, [[x] for x in given["g"][n:]], Huu, column)
        s_new = self._product(recorder, [[x] for x in given["g"][:n]], [row[n:] for row in H[:n]], column)
        s_new = self._product(recorder, s_new, Kt, pushed)
        s_new = self._product(recorder, s_new, transpose(closed), ahead)
        first, second = call(_changes, given["first"][0], given["second"][0], Vec(qu), Vec(k), Mat(map(Vec, Quu)))
        flat = {"V": V_new, "s": s_new, "K": K, "costate": s}
        results: dict[str, Any] = {name: [x for row in rows for x in row] for name, rows in flat.items()}
        return {**results, "k": k, "slope": qu, "first": (first,), "second": (second,)}

    def _feedback(self, recorder: Any, given: Any, Quu: Rows, Qux: Rows, qu: list[Any]) -> tuple[Rows, list[Any]]:
        """K and k."""
        call, slope = recorder.call, Vec(qu)
        H = call(_add_damping, Mat(map(Vec, Quu)), given["damping"][0])
        columns = [Vec(x) for x in transpose(Qux)]
        if not self._boxed:
            return self._solve(recorder, call(_factor_positive, H), columns, slope)
        low, high = Vec(given["low"]), Vec(given["high"])
        start, value = call(_begin, slope, low, high, H)

        def body(state: Any) -> Any:
            step, least, going = call(_projected_newton, H, slope, *state, low, high)
            return (step, least), going

        step, _ = recorder.repeat(body, (start, value), _QuadraticProgram.PASSES)
        held, _ = call(_find_held, H, slope, step, low, high)
        factors = call(_factor_positive, call(_free, H, held))
        found: list[Vec] = []
        for first in range(0, len(columns), 4):
            found += call(_of_free, held, tuple(columns[first : first + 4]))
        K, _ = self._solve(recorder, factors, found, slope)
        return K, list(step)

    def _solve(self, recorder: Any, H: Factored, columns: list[Vec], slope: Vec) -> tuple[Rows, list[Any]]:
        wanted, found = [*columns, slope], list[Vec]()
        for first in range(0, len(wanted), 4):
            found += recorder.call(_solve_columns, H, tuple(wanted[first : first + 4]))
        return transpose([list(x) for x in found[:-1]]), list(found[-1])

    def _product(self, recorder: Any, C: Rows | None, A: Rows, B: Rows) -> Rows:
        return plus_product(recorder, C, A, B, len(A) > 16)

    def _lower(self, recorder: Any, total: Rows, products: list[tuple[Rows, Rows]]) -> Rows:
        """total + Σ A B, which is symmetric: its lower half is computed, by blocks of columns."""
        n = self._n
        lower_half: Rows = [[0.0] * n for _ in range(n)]
        size = 12 if n > 16 else 4
        for first in range(0, n, size):
            last = min(first + size, n)
            block: Rows = [row[first:last] for row in total[first:]]
            for A, B in products:
                block = self._product(recorder, block, A[first:], [row[first:last] for row in B])
            for i, row in enumerate(block, first):
                for j, x in enumerate(row, first):
                    if j <= i:
                        lower_half[i][j] = lower_half[j][i] = x
        return lower_half


@lru_cache(maxsize=64)
def recursion(n: int, m: int, boxed: bool, gaps: bool) -> Rollout:
    """The recursion, made once for all problems of a size."""
    return _Recursion(n, m, boxed, gaps).rollout()


def run_back(
    V: np.ndarray, s: np.ndarray, knots: dict[str, np.ndarray], damping: np.ndarray, threads: int | None
) -> Policy:
    """The pass over knots (..., T, ...) in reverse order of time; V and s are those of the end."""
    n = V.shape[-1]
    m = knots["H"].shape[-1] - n
    rollout = recursion(n, m, "low" in knots, "gap" in knots)
    state = {"V": V, "s": s, "first": np.zeros(()), "second": np.zeros(())}
    names = ("K", "k", "slope", "costate")
    steps = knots["H"].shape[-3]
    run = rollout.run(state, knots, {"damping": damping}, steps=steps, records=names, threads=threads)
    K, k, slope, costate = (run.records[x] for x in names)
    return Policy(K, k, slope, costate, run.state["first"], run.state["second"], ~run.diverged)
