"""Calling a compiled problem, and looking closer at the samples in which its rows depend on each other."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...compile.arguments import batch_shape, bind, to_array
from ...errors import ArgumentError, SingularError
from ..wrapper import named_tuple
from .dense import least_force

_WEAK = 1e8  # ratio of a diagonal entry of Ω to its pivot from which on a sample is solved again, without squaring
_LOOSE = 1e-9  # how much a row may not be implied by others, relative to the largest entry of Ω


class Resolved:
    """A problem in machine code: `function` returns results, forces and health; the rest is for samples that need it.

    Where rows contradict each other there is no answer: an error for one sample, NaN and a warning in a batch.
    """

    def __init__(
        self,
        function: Any,
        factor: Callable[[], Any],
        apply: Callable[[], Any],
        tolerance: float,
        rebuild: tuple[Any, ...],
    ) -> None:
        self.function = function
        self._factor, self._apply, self._tolerance, self._rebuild = factor, apply, tolerance, rebuild

    def __getattr__(self, name: str) -> Any:
        return getattr(self.function, name)

    def __repr__(self) -> str:
        return repr(self.function).replace(", health", "")

    def __reduce__(self) -> tuple[Any, ...]:
        make, *args = self._rebuild
        return make, tuple(args)

    def __call__(self, *args: Any, out: Any = None, threads: int | None = None, **named: Any) -> Any:
        *results, health = self.function(*args, threads=threads, **named)
        if not isinstance(health, np.ndarray):
            results = _masked(results, health, self._tolerance)
        elif not _is_sound(health, self._tolerance):
            results = self._look_closer(args, named, results, health)
        return tuple(results) if out is None else _written(out, results)

    def jvp(self, args: Any, tangents: Any, **options: Any) -> tuple[Any, ...]:
        """Rates of the results along tangents of the arguments.

        NaN in samples whose rows depend on each other by chance; rows that always do are no obstacle.
        """
        unsound = self._unsound(args)
        return tuple(_blanked(x, unsound) for x in self.function.jvp(args, tangents, **options)[:-1])

    def vjp(self, args: Any, cotangents: Any, **options: Any) -> Any:
        """Gradients of Σ cotangent · result by argument, for a cotangent of each result; NaN as for `jvp`."""
        unsound = self._unsound(args)
        none = np.zeros(3)
        full = {**cotangents, "health": none} if isinstance(cotangents, dict) else (*cotangents, none)
        found = self.function.vjp(args, full, **options)
        return type(found)(*(_blanked(x, unsound) for x in found))

    def jacobian(self, *args: Any, threads: int | None = None, **named: Any) -> Any:
        """All first derivatives by result and argument: `.a.q`, `.force.tau`, ...; NaN as for `jvp`."""
        unsound = self._unsound(args, named)
        found = self.function.jacobian(*args, threads=threads, **named)._asdict()
        del found["health"]
        blanked = {name: type(J)(*(_blanked(x, unsound) for x in J)) for name, J in found.items()}
        return named_tuple("Jacobians", tuple(blanked))(*blanked.values())

    def _unsound(self, args: Any, named: dict[str, Any] | None = None) -> np.ndarray:
        given = dict(args) if isinstance(args, dict) else named or {}
        health = self.function(*(() if isinstance(args, dict) else args), **given)[-1]
        return ~((health[..., 0] < _WEAK) & (health[..., 1] < _LOOSE) & (health[..., 2] <= self._tolerance))

    def _look_closer(
        self, args: Sequence[Any], named: dict[str, Any], results: list[Any], health: np.ndarray
    ) -> list[Any]:
        arguments = self.function.state[0].arguments
        given = bind(self.function.state[0].name, arguments, args, named)
        core = {a.name: a for a in arguments}
        arrays = {name: to_array("", core[name], x) for name, x in given.items()}
        batch = batch_shape("", [core[name] for name in arrays], list(arrays.values()))
        full = {name: np.broadcast_to(x, (*batch, *core[name].shape)) for name, x in arrays.items()}
        results = [np.array(x) for x in results]
        gap = health[..., 2].copy()
        suspect = ~((health[..., 0] < _WEAK) & (health[..., 1] < _LOOSE))
        finite = np.all([np.isfinite(x).all(axis=tuple(range(len(batch), x.ndim))) for x in full.values()], axis=0)
        gap[suspect] = np.nan
        self._solve_again(suspect & finite, full, results, gap)
        lost = ~(gap <= self._tolerance)
        for result in results:
            result[lost] = np.nan
        if np.any(lost & finite):
            self._report(batch == ())
        return results

    def _solve_again(self, which: np.ndarray, full: dict[str, np.ndarray], results: list[Any], gap: np.ndarray) -> None:
        """The samples `which`, by singular values; writes into results and gap."""
        given = {name: x[which] for name, x in full.items()}
        Y, b = self._factor()(**given)
        sound = np.isfinite(Y).all(axis=(-2, -1)) & np.isfinite(b).all(axis=-1)
        force, found = least_force(Y[sound], b[sound])
        places = np.flatnonzero(which)[sound]
        gap.reshape(-1)[places] = found
        again = self._apply()(**{name: x[sound] for name, x in given.items()}, force=force)
        for result, part in zip(results, (*(again if isinstance(again, tuple) else (again,)), force), strict=True):
            result.reshape(-1, result.shape[-1])[places] = part

    def _report(self, single: bool) -> None:
        what = (
            "the constraints contradict each other: no acceleration satisfies all rows (the velocity breaks A v = 0, "
            "prescribed motions disagree, or the mechanism is jammed); see rank(q), rate(q, v) and project(q, v)"
        )
        if single:
            raise SingularError(what)
        warnings.warn(f"in some samples {what}; these are NaN", RuntimeWarning, stacklevel=4)


def _blanked(x: Any, unsound: np.ndarray) -> np.ndarray:
    lost = unsound.reshape(unsound.shape + (1,) * (np.ndim(x) - unsound.ndim))
    return np.where(lost, np.nan, x)


def _is_sound(health: np.ndarray, tolerance: float) -> bool:
    worst = health.reshape(-1, 3).max(axis=0, initial=0.0)
    return bool(worst[0] < _WEAK and worst[1] < _LOOSE and worst[2] <= tolerance)  # False where it is NaN


def _masked(results: list[Any], health: Any, tolerance: float) -> list[Any]:
    """Lazy results: NaN where a sample would have to be looked at."""
    import dask.array

    sound = (health[..., 0] < _WEAK) & (health[..., 1] < _LOOSE) & (health[..., 2] <= tolerance)
    return [dask.array.where(sound[..., None], x, np.nan) for x in results]


def _written(out: Any, results: Sequence[Any]) -> Any:
    if not isinstance(out, tuple) or len(out) != len(results):
        raise ArgumentError(f"out must be a tuple of {len(results)} arrays, got {out!r}")
    for target, result in zip(out, results, strict=True):
        if not isinstance(target, np.ndarray) or target.shape != result.shape:
            raise ArgumentError(f"out must have shape {result.shape}, got {np.shape(target)}")
        target[...] = result
    return out
