"""`identify`: the parameters of a robot from measured motion and forces.

Evidence from dask arrays is computed where the data are, and merged on the way.

Physically consistent least squares has two solvers: an interior-point method that needs nothing but NumPy, and a
semidefinite program, solved by Clarabel (an optional package).

The interior-point method minimises ½ |B x - y|² - t Σ log det (1 + X) - t Σ log (joint parameters that must not be
negative), for smaller and smaller t: a convex problem. With 1 + X = L Lᵀ the Newton step dx is itself a least-squares
problem: the barrier adds the rows √t (L⁻¹ dX L⁻ᵀ) = √t 1 for every body, so that no product of matrices costs digits.

In log-Cholesky coordinates (the logarithms of the diagonal of L, and its other entries) the barrier is linear and the
Gauss-Newton step is this very dx; but a step along them is bent by dL dLᵀ, which stiff rows of B punish. Hence steps
are straight in X, where the problem is convex.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from numbers import Real
from typing import Any

import numpy as np

from ..arrays import is_lazy, to_count
from ..chunks.bundles import Sent, compute_on_one_thread
from ..chunks.lazy_results import compute
from ..errors import ArgumentError, FourbarError, IdentificationError, extra, require_library, unknown
from ..hints import with_keyword_hints
from ..system.system import System
from . import result as status
from .base_parameters import BaseParameters, check_robot, mean_length, random_triangle, read_kinds, regroup
from .data import FORMS, Chunks, Reader, RowMaker, UnreadChunk
from .least_squares import (
    FAN,
    Evidence,
    LeastSquares,
    Progress,
    estimate_noise,
    evidence_of,
    gather,
    make_problem,
    merge,
    require_equations,
)
from .parameter_coordinates import EstimatedCoordinates, coordinates, make_coordinates, symmetric
from .result import Identification

_MARGIN = 1e-6  # relative to the reference: every pseudo-inertia stays positive definite by this margin


def _packages() -> tuple[Any, Any]:
    try:
        import clarabel
        from scipy import sparse
    except ImportError as error:
        raise FourbarError(
            f"consistent='sdp' needs the packages clarabel and scipy: {extra('identify')}; "
            "consistent='interior-point' needs none"
        ) from error
    return clarabel, sparse


def solve_sdp(problem: LeastSquares, c: EstimatedCoordinates) -> np.ndarray:
    """The consistent x of least cost: minimise ½ xᵀ H x - fᵀ x with 1 + X ⪰ margin for every body."""
    clarabel, sparse = _packages()
    m, size = len(problem.prior), problem.svd[1].max(initial=1e-300) ** 2
    weight = problem.weight / size
    H = problem.A.T @ problem.A / size + weight * np.eye(m)
    f = problem.A.T @ problem.z / size + weight * problem.prior
    cones, rows, offsets = [], [], []
    identity = np.eye(4)[np.tril_indices(4)]
    for place in c.bodies:
        cones.append(clarabel.PSDTriangleConeT(4))
        rows.extend(range(place.at.start, place.at.stop))
        offsets.extend((1.0 - _MARGIN) * identity)
    if len(c.positive):
        cones.append(clarabel.NonnegativeConeT(len(c.positive)))
        rows.extend(c.positive)
        offsets.extend(c.joint_values(np.zeros(m)))
    chosen = sparse.csc_matrix((-np.ones(len(rows)), (np.arange(len(rows)), rows)), shape=(len(rows), m))
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    upper = sparse.csc_matrix(np.triu(H))
    solved = clarabel.DefaultSolver(upper, -f, chosen, np.array(offsets), cones, settings).solve()
    coordinates = np.array(solved.x)
    coordinates[c.positive] = np.maximum(c.joint_values(coordinates), 0.0) - c.joint_values(np.zeros(m))
    if str(solved.status) != "Solved" or not c.is_consistent(coordinates):
        raise FourbarError(f"Clarabel found no consistent parameters: {solved.status}; try consistent='interior-point'")
    return coordinates


class InteriorPointSettings:
    """Settings of the interior-point method."""

    STEPS = 400
    GAP = 1e-10  # between the cost that is found and the least, beside the cost
    FINEST = 1e-26  # the same beside the cost of fitting nothing: where data fit to the last digit
    FIRST, SHRINK = 0.01, 0.05  # t at the start, beside the cost, and its next value, beside the last
    TO_BOUNDARY = 0.9


def start(problem: LeastSquares, c: EstimatedCoordinates) -> np.ndarray:
    """A consistent x: on the way from the prior (or the reference) to the free solution, as far as that goes."""
    inside = problem.prior.copy() if c.is_consistent(problem.prior, 1e-3) else np.zeros_like(problem.prior)
    inside[c.positive] += np.maximum(1e-2 - c.joint_values(inside), 0.0)
    target, part = problem.solution(), 0.9
    while part > 1e-3 and not c.is_consistent(inside + part * (target - inside), 1e-3):
        part *= 0.7
    return inside + (part if part > 1e-3 else 0.0) * (target - inside)


class _Barrier:
    """The barrier at a point: rows W with W dx = (L⁻¹ dX L⁻ᵀ of bodies; dy / y of joints), and what they should be."""

    def __init__(self, c: EstimatedCoordinates, x: np.ndarray) -> None:
        m = len(x)
        self._c = c
        self.W = np.zeros((10 * len(c.bodies) + len(c.positive), m))
        self.target = np.ones(len(self.W))
        basis, unit = symmetric(np.eye(10)), coordinates(np.eye(4))
        for n, (place, shape) in enumerate(zip(c.bodies, c.shapes(x), strict=True)):
            inverse = np.linalg.inv(np.linalg.cholesky(shape))
            self.W[10 * n : 10 * n + 10, place.at] = coordinates(inverse @ basis @ inverse.T).T
            self.target[10 * n : 10 * n + 10] = unit
        rest = np.arange(10 * len(c.bodies), len(self.W))
        self.W[rest, c.positive] = 1.0 / c.joint_values(x)

    def longest(self, dx: np.ndarray) -> float:
        """The largest multiple of dx that can be added before something ceases to be consistent."""
        moved = self.W @ dx
        n = 10 * len(self._c.bodies)
        least = min(
            np.linalg.eigvalsh(symmetric(moved[:n].reshape(-1, 10))).min(initial=0.0), moved[n:].min(initial=0.0)
        )
        return np.inf if least >= 0.0 else -1.0 / least


def _least_squares(rows: np.ndarray, target: np.ndarray) -> np.ndarray:
    """The x (p,) of least |rows x - target|, rows (n, p)."""
    n = rows.shape[1]
    R = np.asarray(np.linalg.qr(np.column_stack([rows, target]), mode="r"))
    return np.linalg.solve(R[:n, :n], R[:n, n])


def solve_interior(problem: LeastSquares, c: EstimatedCoordinates) -> np.ndarray:
    """The consistent x of least cost; the problem has a prior (see `LeastSquares.with_weak_prior`)."""
    largest = problem.svd[1].max(initial=1e-300)
    weight = np.sqrt(problem.weight) / largest
    B = np.vstack([problem.A / largest, weight * np.eye(len(problem.prior))])
    y = np.concatenate([problem.z / largest, weight * problem.prior])
    R = np.asarray(np.linalg.qr(np.column_stack([B, y]), mode="r"))
    B, y = R[:, :-1], R[:, -1]
    coordinates = start(problem, c)
    count = 4 * len(c.bodies) + len(c.positive)
    least = InteriorPointSettings.FINEST * (y @ y)
    t = InteriorPointSettings.FIRST * max(np.sum((B @ coordinates - y) ** 2), least) / count
    for _ in range(InteriorPointSettings.STEPS):
        barrier, r, root = _Barrier(c, coordinates), B @ coordinates - y, np.sqrt(t)
        dx = _least_squares(np.vstack([B, root * barrier.W]), np.concatenate([-r, root * barrier.target]))
        decrement = np.sqrt(np.sum((B @ dx) ** 2) / t + np.sum((barrier.W @ dx) ** 2))
        coordinates = coordinates + min(1.0, InteriorPointSettings.TO_BOUNDARY * barrier.longest(dx)) * dx
        if decrement < 1.0:
            if t * count <= max(InteriorPointSettings.GAP * np.sum((B @ coordinates - y) ** 2), least):
                return coordinates
            t *= InteriorPointSettings.SHRINK
    raise FourbarError(
        f"the search for consistent parameters did not settle in {InteriorPointSettings.STEPS} steps; "
        "try consistent='sdp', or give a prior="
    )


class Work:
    """The work on a part: it is read, and turned into evidence."""

    def __init__(self, equations: RowMaker, read: Reader, width: int) -> None:
        self._equations, self._read, self._width = equations, read, width

    def __call__(self, part: UnreadChunk) -> Evidence:
        return evidence_of(self._equations, self._read(part), self._width)


def _evidence(sent: Sent, names: tuple[str, ...], where: str, first: int, *arrays: Any) -> Evidence:
    """The evidence of a part whose arrays have been computed."""
    compute_on_one_thread()
    return sent.once(UnreadChunk(dict(zip(names, arrays, strict=True)), where, first))


def _merge(*parts: Evidence) -> Evidence:
    return merge(parts)


def gather_lazily(equations: RowMaker, chunks: Chunks, width: int, progress: Any = None) -> Evidence:
    """The evidence of all data, computed in parallel; with the same bits as one chunk after the other."""
    delayed = require_library("dask.delayed", "dask").delayed
    if progress not in (None, True, False):
        raise ArgumentError(f"progress={progress!r}: with dask arrays expected True, for a bar of dask, or None")
    work = Work(equations, chunks.read, width)
    sent = Sent.of("identify: the robot", work)
    one, merge = delayed(_evidence, pure=True), delayed(_merge, pure=True)
    found = [one(sent, tuple(part.arrays), part.where, part.first, *part.arrays.values()) for part in chunks.parts()]
    while len(found) > 1:
        found = [merge(*found[k : k + FAN]) if len(found) - k > 1 else found[k] for k in range(0, len(found), FAN)]
    return require_equations(compute(found[0], progress=bool(progress)) if found else None)


_CONSISTENT: dict[str, Callable[[LeastSquares, EstimatedCoordinates], np.ndarray]] = {
    "interior-point": solve_interior,
    "sdp": solve_sdp,
}


@with_keyword_hints
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
        x = _CONSISTENT[consistent](problem.with_weak_prior(), c)
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
    R = evidence.weighted_triangle(np.ones(len(evidence.kinds)))
    norms = np.linalg.norm(R, axis=0)
    return np.divide(norms[-1], norms[:-1], out=np.zeros(evidence.width), where=norms[:-1] > 0.0)


def _read_noise(noise: Any, evidence: Evidence, c: EstimatedCoordinates, weight: float) -> np.ndarray:
    if isinstance(noise, str):
        if noise not in ("estimated", "common"):
            raise ArgumentError(f"noise={noise!r}: expected 'estimated', 'common', or standard deviations")
        return estimate_noise(evidence, c, weight, noise == "common")
    shape = (len(evidence.kinds),)
    try:
        deviations = np.asarray(noise, float)
    except (TypeError, ValueError, OverflowError):
        deviations = np.full((0,), np.nan)
    if deviations.shape not in ((), shape) or not np.all(np.isfinite(deviations) & (deviations > 0.0)):
        listed = ", ".join(evidence.kinds[:6])
        raise ArgumentError(f"noise={noise!r}: expected one positive number, or {shape[0]} of them, for {listed}")
    return np.broadcast_to(deviations, shape).copy()


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
    """The status of every parameter, and its standard deviation."""
    statuses = [status.KNOWN if j in c.known else status.HELD for j in range(len(c.names))]
    deviations = np.full(len(c.names), np.nan)
    unseen, sigma, sizes = problem.unknown(c.T), problem.deviations(c.T), np.linalg.norm(c.T, axis=1)
    for at, j in enumerate(c.estimated):
        if base.silent[at]:
            statuses[j] = status.SILENT
        elif not base.alone[at]:
            statuses[j] = status.COMBINED
        elif unseen[at]:
            statuses[j] = status.UNEXCITED
        else:
            statuses[j] = status.IDENTIFIED if sigma[at] <= sizes[at] else status.UNCERTAIN
            deviations[j] = sigma[at]
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
