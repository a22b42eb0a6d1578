"""`identify`: the parameters of a robot from measured motion and forces."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from numbers import Real
from typing import Any

import numpy as np

from ..arrays import is_lazy, to_count
from ..errors import ArgumentError, IdentificationError, unknown
from ..hints import hinted
from ..system.system import System
from . import result as status
from .base_parameters import BaseParameters, mean_length, random_triangle, read_kinds, regroup
from .data import Chunks
from .equation_rows import FORMS
from .evidence import Evidence, Progress, gather
from .in_chunks import gather_lazily
from .interior_point import solve_interior
from .least_squares import LeastSquares, estimate_noise, make_problem
from .parameter_coordinates import EstimatedCoordinates, make_coordinates
from .random_states import check_robot
from .result import Identification
from .sdp import solve_sdp

_CONSISTENT: dict[str, Callable[[LeastSquares, EstimatedCoordinates], np.ndarray]] = {
    "interior-point": solve_interior,
    "sdp": solve_sdp,
}


@hinted
def identify(
    robot: System,
    data: Any,
    *,
    columns: Any = "inertia",
    noise: Any = "estimated",
    prior: float | None = None,
    consistent: str | None = "interior-point",
    keep_unexcited: bool = False,
    form: str | None = None,
    measured: Sequence[str] | None = None,
    window: int = 10,
    chunk: int = 4096,
    progress: Progress | None = None,
) -> Identification:
    """Identify the parameters of a robot from measured motion and forces.

    Parameters
    ----------
    robot : System
        The robot as it is known; parameters that the data do not determine stay near it.
    data : mapping of str to array_like, or iterable of these
        Arrays q (n, nq), v, a and tau (n, nv), and optionally f_ext (n, n_bodies, 6) and t (n). They are read once, so
        that arrays may be memory-mapped and iterables endless files; chunks of dask arrays are read in parallel.
    columns : str or sequence of str, default 'inertia'
        Kinds of parameters to identify, see `System.regressor`; the others stay as they are.
    noise : {'estimated', 'common'} or array_like, default 'estimated'
        Standard deviations of the equations (nv), by which they are weighted: estimated from the residuals of each,
        common to all, or given.
    prior : float, optional
        How well the parameters of `robot` are known, as a relative standard deviation such as 0.3; not at all if None.
    consistent : {'interior-point', 'sdp', None}, default 'interior-point'
        Enforce physical consistency with this solver; 'sdp' needs the extra `identify`.
    keep_unexcited : bool, default False
        Let parameters that the data do not excite keep their values; otherwise they are an error.
    form : {'force', 'momentum', 'energy'}, optional
        'force': the equations of motion at every sample, which need `a`. Without `a` but with `t`, over every `window`
        samples: 'momentum', one balance per velocity, or 'energy', one for all. By default 'force' if there is `a`,
        else 'momentum'.
    measured : sequence of str, optional
        Velocities whose forces `tau` are known, such as all but those of a floating base; all if None.
    window : int, default 10
        Samples per balance of momentum or energy.
    chunk : int, default 4096
        Samples that are read at a time.
    progress : callable, optional
        Wraps the chunks, e.g. tqdm.tqdm; with dask arrays True, for a bar of dask's.

    Returns
    -------
    Identification
        Values with their standard deviations, and what is not known.

    Raises
    ------
    IdentificationError
        If the data do not determine what was asked for.
    ArgumentError
        If the data are not what they should be.

    See Also
    --------
    exciting_trajectory : Motions that make parameters visible.
    base_parameters : What can be known at all.

    Examples
    --------
    >>> import numpy as np, fourbar as fb
    >>> robot = fb.robots.double_pendulum()
    >>> rng = np.random.default_rng(0)
    >>> q, v, a = rng.normal(size=(3, 200, 2))
    >>> found = fb.identify(robot, {"q": q, "v": v, "a": a, "tau": robot.inverse_dynamics(q, v, a)}, noise=0.01)
    >>> found.identified
    ('upper.mx', 'lower.mx', 'lower.mz', 'lower.Jyy')
    """
    check_robot(robot)
    kinds = read_kinds(columns)
    weight = _read_prior(prior)
    if consistent is not None and consistent not in _CONSISTENT:
        raise ArgumentError(f"consistent={consistent!r}: expected {', '.join(map(repr, _CONSISTENT))} or None")
    rows = _read_measured(robot, measured)
    evidence = _gather(robot, data, kinds, rows, form, window, chunk, progress)
    _check_forces(evidence)
    c = make_coordinates(robot, kinds, _typical(evidence))
    triangle = random_triangle(robot, kinds, measured=rows)
    base = regroup(triangle[:, c.estimated], tuple(c.names[j] for j in c.estimated), mean_length(robot))
    deviation = _read_noise(noise, evidence, c, weight)
    problem = make_problem(evidence, c, deviation, weight)
    if weight == 0.0 and not keep_unexcited:
        _check_enough(evidence, base)
        _check_excited(problem, base, c)
    if isinstance(noise, str) and evidence.equations <= problem.rank:
        raise IdentificationError(
            f"{evidence.equations} equations for {problem.rank} base parameters leave no residual to estimate the "
            "noise from, so that no confidence can be given; record more data, or give the standard deviations as "
            "noise="
        )
    free = x = problem.solution()
    if consistent is not None and not c.is_consistent(x):
        x = _CONSISTENT[consistent](problem.anchored(), c)
    return _result(robot, kinds, c, base, evidence, problem, deviation, (x, free), consistent)


def _read_prior(prior: float | None) -> float:
    """The weight μ = 1 / prior²."""
    if prior is None:
        return 0.0
    if isinstance(prior, bool) or not (isinstance(prior, Real) and np.isfinite(prior) and prior > 0.0):
        raise ArgumentError(f"prior={prior!r}: expected a positive relative standard deviation, such as 0.3, or None")
    return 1.0 / float(prior) ** 2


def _read_measured(robot: System, measured: Sequence[str] | None) -> list[int]:
    """Numbers of the velocities whose forces are known."""
    names = robot.names.velocities
    if measured is None:
        return list(range(robot.nv))
    if isinstance(measured, str) or not measured:
        raise ArgumentError(f"measured={measured!r}: expected a list of velocities, some of {', '.join(names[:8])}")
    for name in measured:
        if name not in names:
            raise unknown("velocity", name, names)
    return [i for i, name in enumerate(names) if name in measured]


def _gather(
    robot: System,
    data: Any,
    kinds: tuple[str, ...],
    measured: list[int],
    form: str | None,
    window: int,
    chunk: int,
    progress: Progress | None,
) -> Evidence:
    for name, number in (("window", window), ("chunk", chunk)):
        if to_count(number) is None:
            raise ArgumentError(f"{name}={number!r}: expected a whole number of samples, at least 1")
    first, data = _peek(data)
    if form is None:
        form = "momentum" if first is not None and first.get("a") is None else "force"
    if form not in FORMS:
        raise ArgumentError(f"form={form!r}: expected {', '.join(map(repr, FORMS))}, or None")
    if FORMS[form].needs == "t":
        if chunk < window:
            raise ArgumentError(f"chunk={chunk} must not be smaller than window={window}")
        chunk -= chunk % window
    equations = FORMS[form](robot, kinds, measured, window)
    chunks = Chunks(robot, data, chunk, equations.needs, measured)
    is_lazily_given = first is not None and any(map(is_lazy, first.values()))
    collect = gather_lazily if is_lazily_given else gather
    return collect(equations, chunks, len(robot.parameter_names(kinds)), progress)


def _peek(data: Any) -> tuple[Mapping[str, Any] | None, Any]:
    """The first piece of the data, and all of them."""
    if isinstance(data, Mapping):
        return data, data
    if not isinstance(data, Iterable):
        return None, data
    pieces = iter(data)
    first = next(pieces, None)
    return (first if isinstance(first, Mapping) else None), chain([] if first is None else [first], pieces)


def _typical(evidence: Evidence) -> np.ndarray:
    """For each parameter the value at which it alone would explain the measured forces."""
    R = evidence.weighted(np.ones(len(evidence.kinds)))
    norms = np.linalg.norm(R, axis=0)
    return np.divide(norms[-1], norms[:-1], out=np.zeros(evidence.width), where=norms[:-1] > 0.0)


def _read_noise(noise: Any, evidence: Evidence, c: EstimatedCoordinates, weight: float) -> np.ndarray:
    if isinstance(noise, str):
        if noise not in ("estimated", "common"):
            raise ArgumentError(f"noise={noise!r}: expected 'estimated', 'common', or standard deviations")
        return estimate_noise(evidence, c, weight, noise == "common")
    shape = (len(evidence.kinds),)
    try:
        given = np.asarray(noise, float)
    except (TypeError, ValueError, OverflowError):
        given = np.full((0,), np.nan)
    if given.shape not in ((), shape) or not np.all(np.isfinite(given) & (given > 0.0)):
        listed = ", ".join(evidence.kinds[:6])
        raise ArgumentError(f"noise={noise!r}: expected one positive number, or {shape[0]} of them, for {listed}")
    return np.broadcast_to(given, shape).copy()


def _check_forces(evidence: Evidence) -> None:
    if not evidence.sizes().max(initial=0.0) > 0.0:
        raise IdentificationError(
            "the measured forces are zero in all samples, so that a massless robot would fit; give the forces tau of "
            "a motion"
        )


def _check_enough(evidence: Evidence, base: BaseParameters) -> None:
    if evidence.equations < base.rank:
        raise IdentificationError(
            f"too few data: {evidence.equations} equations for {base.rank} base parameters. Record more samples, give "
            "a prior=, or keep the values of undetermined parameters with keep_unexcited=True"
        )


def _check_excited(problem: LeastSquares, base: BaseParameters, c: EstimatedCoordinates) -> None:
    unseen = problem.unknown(base.combine @ c.T)
    if unseen.any():
        named = [name for name, x in zip(base.combinations, unseen, strict=True) if x]
        more = f", and {len(named) - 8} more" if len(named) > 8 else ""
        raise IdentificationError(
            f"the data do not excite {len(named)} of {base.rank} base parameters: {'; '.join(named[:8])}{more}. Move "
            "these joints (exciting_trajectory designs motions), give a prior=, or keep their values with "
            "keep_unexcited=True"
        )


def _statuses(
    problem: LeastSquares, base: BaseParameters, c: EstimatedCoordinates
) -> tuple[tuple[str, ...], np.ndarray]:
    """For all parameters what is known of them, and their standard deviations."""
    statuses = [status.KNOWN if j in c.known else status.HELD for j in range(len(c.names))]
    deviations = np.full(len(c.names), np.nan)
    unseen, found, sizes = problem.unknown(c.T), problem.deviations(c.T), np.linalg.norm(c.T, axis=1)
    for at, j in enumerate(c.estimated):
        if base.silent[at]:
            statuses[j] = status.SILENT
        elif not base.alone[at]:
            statuses[j] = status.COMBINED
        elif unseen[at]:
            statuses[j] = status.UNEXCITED
        else:
            statuses[j] = status.IDENTIFIED if found[at] <= sizes[at] else status.UNCERTAIN
            deviations[j] = found[at]
    return tuple(statuses), deviations


def _result(
    robot: System,
    kinds: tuple[str, ...],
    c: EstimatedCoordinates,
    base: BaseParameters,
    evidence: Evidence,
    problem: LeastSquares,
    noise: np.ndarray,
    solutions: tuple[np.ndarray, np.ndarray],
    consistent: str | None,
) -> Identification:
    phi, free = (c.parameters(x) for x in solutions)
    statuses, deviations = _statuses(problem, base, c)
    s = problem.svd[1]
    return Identification(
        given=robot,
        columns=kinds,
        names=c.names,
        values=phi,
        deviations=deviations,
        statuses=statuses,
        base=base,
        base_values=base.combine @ phi[c.estimated],
        base_deviations=problem.deviations(base.combine @ c.T),
        kinds=evidence.kinds,
        residuals=evidence.residuals(phi),
        free_residuals=evidence.residuals(free),
        sizes=evidence.sizes(),
        noise=noise,
        equations=evidence.equations,
        condition=float(s[0] / s[problem.rank - 1]) if problem.rank else np.inf,
        consistent=consistent,
    )
