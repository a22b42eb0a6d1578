"""Calling a compiled problem, and solving again by dense matrices the samples in which its rows are nearly redundant.

Rows that depend on each other may stop doing so where numbers of the robot or of the constraints change. A matrix keeps
its rank to first order if its change takes nothing of what it holds still to what its rows leave open:
Uᵀ δA N = 0 for all U with Uᵀ A = 0 and all N with A N = 0. Where it does not, forces along the rows jump, and there is
no derivative.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...algorithms.constrained.multipliers import IndependentRows
from ...arrays import batch_shape, bind, check_target, to_array
from ...errors import ArgumentError, SingularError, warn
from ...functions.derivatives import describe, read_names
from ...functions.nan_reasons import dependent_rates_mask
from ...linalg import apply, count, factors, inverse_in_units, lengths, ranks, transpose
from ...tolerances import BROKEN, LOOSE, NOTHING, RANK, WEAK
from ...tree.parameters import find
from .constrained_model import ConstrainedModel


def _breaks(A: np.ndarray, dA: np.ndarray) -> np.ndarray:
    """Whether the rank of A (..., m, n) changes with each of its changes dA (..., k, m, n): (..., k)."""
    A = np.nan_to_num(A)
    row_units = lengths(transpose(A))  # rows in their own units, as where ranks are taken
    U, s, Vt = factors(A / row_units[..., None], whole=True)
    rank = count(s)[..., None]
    left = np.where(np.arange(U.shape[-1]) >= rank, 1.0, 0.0)[..., None, :] * U
    right = np.where(np.arange(Vt.shape[-1]) >= rank, 1.0, 0.0)[..., :, None] * Vt
    change = np.nan_to_num(dA) / _finite(row_units)[..., None, :, None]
    change_beyond_rank = transpose(left)[..., None, :, :] @ change @ transpose(right)[..., None, :, :]
    size = np.abs(change).max(axis=(-2, -1), initial=0.0)
    return np.abs(change_beyond_rank).max(axis=(-2, -1), initial=0.0) > BROKEN * size


def _finite(size: np.ndarray) -> np.ndarray:
    """Lengths of rows (..., m); the longest for those that are nothing."""
    longest = np.where(np.isfinite(size), size, 0.0).max(axis=-1, keepdims=True, initial=0.0)
    return np.where(np.isfinite(size), size, np.where(longest > 0.0, longest, 1.0))


class Broken(NamedTuple):
    """A mask (..., *shape) of the entries of a number that have no derivative."""

    lost: np.ndarray
    shape: tuple[int, ...]

    def among(self, x: np.ndarray, batch: int) -> np.ndarray:
        """The mask beside derivatives (..., *result, *shape) with `batch` leading axes."""
        own = self.lost.shape[: self.lost.ndim - len(self.shape)]
        return self.lost.reshape(*own, *(1,) * (x.ndim - batch - len(self.shape)), *self.shape)


class Dependent:
    """Rows A(q) of which some stand for others; `free` are the velocities that count."""

    def __init__(self, model: ConstrainedModel, rows: Any, free: Sequence[bool]) -> None:
        self._model, self._rows, self._free = model, rows, np.array(free, bool)

    def _relevant(self, names: Sequence[str]) -> list[str]:
        """The numbers that rows can depend on: not inertias, gravity and the like."""
        return [x.name for x in find(self._model.numbers, names) if x.moves_links]

    def breaks_along(self, q: np.ndarray, dq: Any, rates: Mapping[str, Any]) -> np.ndarray:
        """The samples (...) in which rows stop to depend on each other along rates of numbers."""
        moving = {name: rates[name] for name in self._relevant([k for k, x in rates.items() if x is not None])}
        if not moving:
            return np.zeros(q.shape[:-1], bool)
        dA = self._rows.jvp(q, {} if dq is None else {"q": dq}, parameters=moving)
        A = np.broadcast_to(self._rows(q), dA.shape)
        return _breaks(A[..., self._free], dA[..., None, :, self._free])[..., 0]

    def breaks_by_number(self, q: np.ndarray, names: Sequence[str]) -> dict[str, Broken]:
        """The entries of numbers with which rows stop to depend on each other; these are reported."""
        relevant = self._relevant(names)
        if not relevant:
            return {}
        A, by_name = self._rows(q), {}
        for name, block in self._rows.jacobian(q, parameters=relevant).parameters.items():
            shape = block.shape[A.ndim :]
            dA = np.moveaxis(block.reshape(*A.shape, -1), -1, -3)
            broken = _breaks(A[..., self._free], dA[..., self._free])
            by_name[name] = Broken(broken.reshape(*A.shape[:-2], *shape), shape)
        lost = [name for name, own in by_name.items() if own.lost.any()]
        if lost:
            warn(
                f"redundant rows would become independent if {', '.join(map(repr, lost))} changed, so that the forces "
                "have no derivative with respect to some of the entries; these are NaN",
                RuntimeWarning,
            )
        return by_name


class Least(NamedTuple):
    """λ (..., m), and by how much b is out of reach, relative: see `_out_of_reach`."""

    force: np.ndarray  # (..., m)
    gap: np.ndarray  # (...)


def least_force(Y: np.ndarray, b: np.ndarray, quiet: np.ndarray) -> Least:
    """The least λ with YᵀY λ = -b, for Y (..., n, m): exact also where rows depend on each other.

    `quiet` (m): accelerations of the rows that are small.
    """
    r = ranks(Y)[..., None]
    _, s, Vt = factors(Y)
    significant = np.arange(s.shape[-1]) < r
    along = np.where(significant, apply(Vt, b), 0.0)
    force = -apply(transpose(Vt), along / np.where(significant, s, 1.0) ** 2)
    return Least(force, _out_of_reach(Y, b, quiet))


def _out_of_reach(Y: np.ndarray, b: np.ndarray, quiet: np.ndarray) -> np.ndarray:
    """The part of b (..., m) that rows Y cannot reach: of each row what is left, beside `quiet` and what it and
    others say of it. All in units of the rows' own lengths, so that metres and radians do not meet."""
    size = lengths(Y)
    _, s, Vt = factors(Y / size[..., None, :])
    significant = np.where(np.arange(s.shape[-1]) < count(s)[..., None], 1.0, 0.0)
    P = transpose(Vt) @ (significant[..., None] * Vt)
    unit = np.where(np.isfinite(size), size, 1.0)
    along = np.where(np.isfinite(size), b / unit, 0.0)  # a row that is nothing depends on no other
    left = np.abs(b - unit * apply(P, along))
    said = quiet + np.abs(b) + unit * apply(np.abs(P), np.abs(along))
    return (left / said).max(axis=-1, initial=0.0)


def choose(samples: np.ndarray, units: np.ndarray | float = 1.0) -> IndependentRows:
    """Columns that stand for all, from samples (k, n, m) of Y: as many as its rank is anywhere, with its rows in
    `units` (n).
    """
    if 0 in samples.shape:
        return IndependentRows((), ())
    scaled = samples / np.reshape(units, (-1, 1))
    sample_ranks = ranks(scaled)
    best_sample = int(sample_ranks.argmax())
    size = np.linalg.norm(samples[best_sample], axis=0)
    Y = scaled[best_sample] / lengths(scaled[best_sample])
    chosen: list[int] = []
    for _ in range(int(sample_ranks.max())):
        left = np.linalg.norm(Y, axis=0)
        left[chosen] = -1.0
        best = int((left > 0.5 * left.max()).argmax())  # the first of the good ones: rows given first lead
        chosen.append(best)
        direction = Y[:, best] / left[best]
        Y = Y - np.outer(direction, direction @ Y)
    usual = np.where(size > NOTHING * size.max(), size, size.max())
    return IndependentRows(tuple(sorted(chosen)), tuple((usual**2).tolist()))


def _above_rounding(E: np.ndarray, A: np.ndarray) -> np.ndarray:
    """E (..., m, n) without the rows that are rounding beside the same rows of A (..., m, n)."""
    size, whole = (np.linalg.norm(x, axis=-1, keepdims=True) for x in (E, A))
    return np.where(size > RANK * whole, E, 0.0)


class SharedForces(NamedTuple):
    """Forces of actuators and of constraints, and by how much the passive joints' forces are out of reach, relative."""

    tau: np.ndarray  # (..., actuators)
    force: np.ndarray  # (..., m)
    gap: np.ndarray  # (...)


def drive(
    tau: np.ndarray, rows: np.ndarray, active: np.ndarray, weight: np.ndarray | None, least_torque: bool, quiet: float
) -> SharedForces:
    """τ_active and λ with τ = S_aᵀ τ_active + rowsᵀ λ (Kim eq. 57-66).

    tau (..., n), rows (..., k, n); `active` (n) says which velocities are driven. Of many solutions: the one
    with least λᵀ W λ, or with least τᵀ W τ (and of several of these the one with least λ). The gap is relative to
    `quiet`, a small force, + the largest |τ|.
    """
    passive = ~active
    A_p, A_a = transpose(rows[..., passive]), transpose(rows[..., active])  # (..., passive, k), (..., active, k)
    L = np.eye(1) if weight is None else np.linalg.cholesky(weight)
    turn = np.eye(rows.shape[-2]) if weight is None or least_torque else np.linalg.inv(L).T
    A_p, A_a = A_p @ turn, A_a @ turn  # λ = L⁻ᵀ μ: least |μ|
    inverse = inverse_in_units(A_p)  # (..., k, passive)
    force = apply(inverse, tau[..., passive])  # (..., k)
    if least_torque:
        P = np.eye(rows.shape[-2]) - inverse @ A_p
        E, left = _above_rounding(A_a @ P, A_a), tau[..., active] - apply(A_a, force)
        if weight is not None:
            E, left = L.T @ E, apply(L.T, left)
        force = force + apply(P, apply(inverse_in_units(E), left))
    left = np.abs(tau[..., passive] - apply(A_p, force)).max(axis=-1, initial=0.0)
    found = tau[..., active] - apply(A_a, force)
    return SharedForces(found, apply(turn, force), left / (quiet + np.abs(tau).max(axis=-1, initial=0.0)))


BySvd = Callable[[dict[str, np.ndarray]], tuple[Sequence[np.ndarray], np.ndarray]]  # arguments -> results, gap
_CONTRADICT = (
    "the constraints contradict each other: no acceleration satisfies all rows (the velocity violates A v = 0, "
    "prescribed motions disagree, or the mechanism is jammed); see rank(q), rate(q, v) and project(q, v)"
)
_UNDEFINED = "a constraint has no value or no derivative there, as sqrt(x) at x = 0"
_NO_DERIVATIVE = (
    "the rank of the constraints changes here, or they contradict each other, so that there is no derivative; see "
    "rank(q)"
)


class Resolved:
    """A problem in machine code: `function` returns results, forces and health, `differentiable` the same without
    health.

    Samples whose rows depend on each other more than usual are solved by singular values. Where rows contradict each
    other there is no answer: an error for one sample, NaN and a warning in a batch.
    """

    def __init__(
        self,
        function: Any,
        differentiable: Any,
        by_svd: BySvd,
        tolerance: float,
        rebuild: tuple[Any, ...],
        why: str = _CONTRADICT,
        dependent: Dependent | None = None,
    ) -> None:
        self.function, self.differentiable, self.dependent = function, differentiable, dependent
        self.__doc__ = function.__doc__
        self._by_svd, self._tolerance, self._rebuild, self._why = by_svd, tolerance, rebuild, why

    def __getattr__(self, name: str) -> Any:
        if name in ("function", "differentiable", "dependent"):
            raise AttributeError(name)
        return getattr(self.function, name)

    def program(self, *optional: str) -> Any:
        """There is not one: which program answers depends on values."""
        raise ArgumentError(
            f"{self.function.__name__}: a function of a constrained robot has no single program, since samples whose "
            "rows depend on each other are solved another way; it cannot be written as C, CasADi or JAX"
        )

    def __repr__(self) -> str:
        return repr(self.function).replace(", health", "")

    def __reduce__(self) -> tuple[Any, ...]:
        make, *args = self._rebuild
        return make, tuple(args)

    def __call__(self, *args: Any, out: Any = None, threads: int | None = None, **named: Any) -> Any:
        *results, health = self.function(*args, threads=threads, **named)
        if not isinstance(health, np.ndarray):
            results = _mask_invalid(results, health, self._tolerance)
        elif not _is_valid(health, self._tolerance):
            results = self._look_closer(args, named, results, health)
        return tuple(results) if out is None else _write_results(out, results, self.results)

    def jvp(self, args: Any, tangents: Any = (), parameters: Any = None, **options: Any) -> tuple[Any, ...]:
        """Rates of the results along tangents of the arguments, and along rates of numbers of the robot.

        Where the rank changes there is none: an error for one sample, NaN and a warning in a batch. Rows that always
        depend on each other are no obstacle.
        """
        found = self.differentiable.jvp(args, tangents, parameters, **options)
        undefined = _beside(found[0], 1, self.undefined_samples_along(args, tangents, parameters))
        return tuple(_fill_nan(x, undefined) for x in found)

    def undefined_samples_along(self, args: Any, tangents: Any, parameters: Mapping[str, Any] | None) -> np.ndarray:
        """The samples that have no derivative along a direction; these are reported."""
        undefined = self.undefined_samples(args)
        return undefined | self._breaks(args, tangents, parameters) if parameters else undefined

    def _breaks(self, args: Any, tangents: Any, parameters: Mapping[str, Any]) -> np.ndarray | bool:
        """The samples in which rows that depend on each other stop to do so along rates of numbers."""
        arrays = self.read(args)
        if self.dependent is None or not all(isinstance(x, np.ndarray) for x in arrays.values()):
            return False  # lazy arrays are not checked
        listed = tangents if isinstance(tangents, tuple) else (tangents,)
        dq = tangents.get("q") if isinstance(tangents, Mapping) else next(iter(listed), None)
        broken = self.dependent.breaks_along(arrays["q"], dq, parameters)
        self._report_derivative(broken & self._finite(arrays, broken.shape))
        return broken

    def broken_entries(self, args: Any, named: Mapping[str, Any] | None, names: Sequence[str]) -> dict[str, Broken]:
        """By name of numbers, the entries by which there is no derivative."""
        given = self.read(args, named)
        if self.dependent is None or not all(isinstance(x, np.ndarray) for x in given.values()):
            return {}
        return self.dependent.breaks_by_number(given["q"], names)

    def vjp(self, args: Any, cotangents: Any, parameters: Any = None, **options: Any) -> Any:
        """Gradients of Σ cotangent · result by argument, for a cotangent of each result; where there is none: `jvp`."""
        names, what = self.results, f"{self.differentiable.vjp.recording.name}, cotangent"
        if not isinstance(cotangents, Mapping | tuple) or len(cotangents) != len(names):
            wanted = f"expected a tuple of arrays ({', '.join(names)}), or a dictionary"
            raise TypeError(f"{what}: {wanted}, got {describe(cotangents)}")
        for name in cotangents if isinstance(cotangents, Mapping) else ():
            if name not in names:
                raise TypeError(f"{what}: there is no {name!r}; expected {', '.join(names)}")
        found = self.differentiable.vjp(args, cotangents, parameters, **options)
        undefined = _beside(found[0], 1, self.undefined_samples(args))
        broken = self.broken_entries(args, None, read_names("", parameters)) if parameters else {}
        return type(found)(*(_fill_nan(_without(x, broken, undefined.ndim), undefined) for x in found))

    @property
    def jacobian(self) -> ResolvedJacobian:
        """All first derivatives by result and argument: `.a.q`, `.force.tau`, ...; where there are none: see `jvp`."""
        return ResolvedJacobian(self)

    @property
    def results(self) -> tuple[str, ...]:
        """The results by name."""
        return tuple(self.function.state[0].results[:-1])

    def read(self, args: Any, named: Mapping[str, Any] | None = None) -> dict[str, np.ndarray]:
        """The arguments of a call, or of a derivative, as arrays that are checked; what is lazy stays so."""
        state = self.function.state[0]
        listed = args if isinstance(args, tuple) else () if isinstance(args, Mapping) else (args,)
        given = dict(args) if isinstance(args, Mapping) else dict(named or {})
        core = {a.name: a for a in state.arguments}
        found = bind(state.name, state.arguments, [x for x in listed if x is not None or len(listed) > 1], given)
        if any(type(x).__module__.startswith("dask") for x in found.values()):
            return found
        return {name: to_array(state.name, core[name], x) for name, x in found.items()}

    def undefined_samples(self, args: Any, named: Mapping[str, Any] | None = None) -> np.ndarray:
        """The samples that have no derivative; these are reported, unless their arguments are not finite."""
        arrays = self.read(args, named)
        health = self.function(**arrays)[-1]
        undefined = ~((health[..., 0] < WEAK) & (health[..., 1] < LOOSE) & (health[..., 2] <= self._tolerance))
        if isinstance(health, np.ndarray):
            self._report_derivative(undefined & self._finite(arrays, undefined.shape))
        return undefined

    def _finite(self, given: Mapping[str, np.ndarray], batch: tuple[int, ...]) -> np.ndarray:
        """The samples whose arguments are numbers."""
        core = {a.name: len(a.shape) for a in self.function.state[0].arguments}
        found = np.ones(batch, bool)
        for name, x in given.items():
            found = found & np.isfinite(x).all(axis=tuple(range(x.ndim - core[name], x.ndim)))
        return found

    def _report_derivative(self, lost: np.ndarray) -> None:
        if np.any(lost) and not lost.ndim:
            raise SingularError(_NO_DERIVATIVE)
        if np.any(lost):
            warn(f"in some samples {_NO_DERIVATIVE}; these are NaN", RuntimeWarning)

    def _look_closer(
        self, args: Sequence[Any], named: dict[str, Any], results: list[Any], health: np.ndarray
    ) -> list[Any]:
        arrays = self.read(tuple(args), named)
        core = {a.name: a for a in self.function.state[0].arguments}
        batch = batch_shape("", [core[name] for name in arrays], list(arrays.values()))
        full = {name: np.broadcast_to(x, (*batch, *core[name].shape)) for name, x in arrays.items()}
        results = [np.array(x) for x in results]
        gap = health[..., 2].copy()
        suspect = ~((health[..., 0] < WEAK) & (health[..., 1] < LOOSE))
        finite = self._finite(full, batch)
        gap[suspect] = np.nan
        which = suspect & finite
        if np.any(which):
            found, gap[which] = self._by_svd({name: x[which] for name, x in full.items()})
            for result, part in zip(results, found, strict=True):
                result[which] = part
        lost = ~(gap <= self._tolerance)
        for result in results:
            result[lost] = np.nan
        unexplained = np.array(lost & finite)
        if np.any(unexplained):  # of gimbal lock the function itself has warned
            tree = self.function.state[0].recording.model.cluster_tree
            unexplained[unexplained] = ~dependent_rates_mask(tree, full["q"][unexplained])
        if np.any(unexplained):
            self._report(batch == (), _UNDEFINED if np.isnan(gap[unexplained]).all() else self._why)
        return results

    def _report(self, single: bool, why: str) -> None:
        if single:
            raise SingularError(why)
        warn(f"in some samples {why}; these are NaN", RuntimeWarning)


class ResolvedJacobian:
    """`f.jacobian(*args)` of a problem that was resolved, and its own derivative along a direction."""

    def __init__(self, of: Resolved) -> None:
        self._of = of

    def __repr__(self) -> str:
        return repr(self._of.differentiable.jacobian)

    def __call__(self, *args: Any, out: Any = None, **named: Any) -> Any:
        """The blocks by result and argument. out (..., n): they are written there one after the other, row by row."""
        jacobian = self._of.differentiable.jacobian(*args, **named)
        given = {k: x for k, x in named.items() if k not in ("threads", "parameters")}
        undefined = self._of.undefined_samples(args, given)
        broken = self._of.broken_entries(args, given, read_names("", named.get("parameters")))
        result = _defined_blocks(jacobian, undefined, broken)
        return result if out is None else _write_blocks(out, result, undefined.shape)

    def jvp(self, args: Any, tangents: Any = (), parameters: Any = None, **options: Any) -> Any:
        """Derivatives of the blocks along tangents of the arguments, and along rates of numbers of the robot."""
        found = self._of.differentiable.jacobian.jvp(args, tangents, parameters, **options)
        return _defined_blocks(found, self._of.undefined_samples_along(args, tangents, parameters))


def _defined_blocks(found: Any, undefined: np.ndarray, broken: Mapping[str, Broken] | None = None) -> Any:
    """The blocks by result, NaN where there are none."""
    undefined = _beside(found[0][0], 2, undefined)
    return type(found)(
        *(type(J)(*(_fill_nan(_without(x, broken or {}, undefined.ndim), undefined) for x in J)) for J in found)
    )


def _without(x: Any, broken: Mapping[str, Broken], batch: int) -> Any:
    """Derivatives by numbers (*batch, *result, *number), NaN by entries (*batch of q, *number) that are broken."""
    if not isinstance(x, dict):
        return x
    return {
        name: np.where(broken[name].among(own, batch), np.nan, own) if name in broken else own
        for name, own in x.items()
    }


def by_svd(factor: Callable[[], Any], apply: Callable[[], Any], quiet: np.ndarray) -> BySvd:
    """Samples by singular values: `factor` gives Y and b of YᵀY λ = -b, `apply` the results for given λ; `quiet` (m):
    accelerations of the rows that are small."""

    def solve(given: dict[str, np.ndarray]) -> tuple[Sequence[np.ndarray], np.ndarray]:
        Y, b = factor()(**given)
        valid = np.isfinite(Y).all(axis=(-2, -1)) & np.isfinite(b).all(axis=-1)
        force, gap = np.full(b.shape, np.nan), np.full(len(b), np.nan)
        force[valid], gap[valid] = least_force(Y[valid], b[valid], quiet)
        results = apply()(**given, force=force)
        return (*(results if isinstance(results, tuple) else (results,)), force), gap

    return solve


def _beside(x: Any, core: int, undefined: np.ndarray) -> np.ndarray:
    """Values per sample, with all axes of the batch of x, whose last `core` axes are no part of it: directions
    may have more of them than states."""
    return undefined[(None,) * (np.ndim(x) - core - undefined.ndim)]


def _fill_nan(x: Any, undefined: np.ndarray) -> Any:
    if isinstance(x, dict):
        return {name: _fill_nan(own, undefined) for name, own in x.items()}
    lost = undefined.reshape(undefined.shape + (1,) * (np.ndim(x) - undefined.ndim))
    return np.where(lost, np.nan, x)


def _write_blocks(out: Any, found: Any, batch: tuple[int, ...]) -> Any:
    """The blocks of a Jacobian as pieces of a given array."""
    n = len(batch)
    size = sum(math.prod(x.shape[n:]) for J in found for x in J if isinstance(x, np.ndarray))
    check_target("out", out, (*batch, size))
    at, rows = 0, []
    for J in found:
        blocks = []
        for block in J:
            if isinstance(block, np.ndarray):
                end = at + math.prod(block.shape[n:])
                out[..., at:end] = block.reshape(*batch, end - at)
                block, at = out[..., at:end].reshape(block.shape), end
            blocks.append(block)
        rows.append(type(J)(*blocks))
    return type(found)(*rows)


def _is_valid(health: np.ndarray, tolerance: float) -> bool:
    worst = health.reshape(-1, 3).max(axis=0, initial=0.0)
    return bool(worst[0] < WEAK and worst[1] < LOOSE and worst[2] <= tolerance)  # False where it is NaN


def _mask_invalid(results: list[Any], health: Any, tolerance: float) -> list[Any]:
    """Lazy results: NaN where a sample would have to be looked at."""
    import dask.array

    valid = (health[..., 0] < WEAK) & (health[..., 1] < LOOSE) & (health[..., 2] <= tolerance)
    return [dask.array.where(valid[..., None], x, np.nan) for x in results]


def _write_results(out: Any, results: Sequence[Any], names: Sequence[str]) -> Any:
    if not isinstance(out, tuple) or len(out) != len(results):
        raise ArgumentError(f"out must be a tuple of {len(results)} arrays ({', '.join(names)}), got {describe(out)}")
    for target, result, name in zip(out, results, names, strict=True):
        check_target(f"out ({name})", target, result.shape)
    for target, result in zip(out, results, strict=True):
        target[...] = result
    return out
