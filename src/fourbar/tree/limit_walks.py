"""Random points of narrow sets: those at which functions of a few inputs are within their limits.

Where the functions are linear the set is a polytope. Its analytic centre z minimises the barrier -Σ log s of the
distances s = g - G z from its sides, and the barrier's Hessian H there has the shape of the set: walks by hit-and-run,
each step to a uniform point of the chord in a direction of covariance H⁻¹, are not slowed down by thin sets, and do not
depend on units. Other functions are led into their limits by damped Newton steps, and walk by slice sampling, whose
chords shrink until a point of them is within the limits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ..linalg import least_squares, null_space, pseudo_inverse


class WalkSettings:
    """Settings of walks within limits, and of the search for a point inside."""

    HELD = 1e-12  # width of a row, of its largest change within the box, that leaves no room
    FLAT, ON_SIDE = 1e-9, 1e-7  # distance from the sides that counts as none, and that of sides without room there
    NEWTON_STEPS = 30  # to the minimum of a barrier
    CONVERGED = 1e-9  # square of the last Newton step, in the norm of the Hessian
    STEPS_PER_INPUT, MOST_STEPS = 20, 200  # of a walk in a polytope
    SLICE_STEPS, SHRINKS = 10, 50  # of a walk between curved limits, and of each of its chords
    PROJECTIONS = 80  # damped Newton steps into curved limits
    STICKY = 0.1  # weight of rows that have been outside, beside those that are
    DAMPING = 1e-9  # of these steps, relative to the trace of JᵀJ
    DEPTHS = 0.02, 0.5  # of the range beside a limit: where rows return to that have left it


class Polytope(NamedTuple):
    """The points x = origin + basis z (nx) with G z <= g: (nx), (nx, nz), (m, nz), (m)."""

    origin: np.ndarray
    basis: np.ndarray
    G: np.ndarray  # (m, nz)
    g: np.ndarray


def _newton_step(G: np.ndarray, s: np.ndarray, slope: np.ndarray) -> tuple[np.ndarray, float, np.ndarray]:
    """The Newton step (nz) of slope · z - Σ log s, s = g - G z (m), its square by the Hessian, and the Hessian."""
    scaled = G / s[:, None]
    gradient, H = slope + scaled.sum(axis=0), scaled.T @ scaled
    step = -least_squares(H, gradient)
    return step, float(-gradient @ step), H


def _minimise_barrier(G: np.ndarray, g: np.ndarray, z: np.ndarray, slope: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The minimum z (nz) of slope · z - Σ log (g - G z) from a point inside, and the Hessian there."""
    for _ in range(WalkSettings.NEWTON_STEPS):
        step, square, _ = _newton_step(G, g - G @ z, slope)
        if not square > WalkSettings.CONVERGED:
            break
        z = z + step / (1.0 + np.sqrt(square))  # damped: stays inside, and converges from everywhere
    return z, _newton_step(G, g - G @ z, slope)[2]


def _deepest_point(G: np.ndarray, g: np.ndarray) -> np.ndarray:
    """A point z (nz) at which the least of g - G z (m) is positive, or else nearly the largest that there is."""
    wide = np.concatenate([G, -np.ones((len(G), 1))], axis=1)  # G z - t <= g, for the least t
    point = np.append(np.zeros(G.shape[1]), 1.0 - g.min())
    last = np.append(np.zeros(G.shape[1]), 1.0)
    for weight in 5.0 ** np.arange(19):
        point = _minimise_barrier(wide, g, point, weight * last)[0]
        if (g - G @ point[:-1]).min() > 0.01:
            break
    return point[:-1]


def _hold(M: np.ndarray, low: np.ndarray, high: np.ndarray) -> Polytope | None:
    """The polytope low <= M x <= high (m) within the rows that leave no room; None if these contradict each other.

    Sides are in units of half the range of their row.
    """
    held = high - low <= WalkSettings.HELD * (1.0 + np.abs(np.nan_to_num(low, posinf=0.0, neginf=0.0)))
    origin, basis = np.zeros(M.shape[1]), np.eye(M.shape[1])
    if held.any():
        value = 0.5 * (low[held] + high[held])
        origin = pseudo_inverse(M[held]) @ value
        if np.abs(M[held] @ origin - value).max() > WalkSettings.FLAT:
            return None
        basis = null_space(M[held])
    free = ~held
    slopes, at = M[free] @ basis, M[free] @ origin
    unit = np.minimum(0.5 * (high[free] - low[free]), 1.0)
    G = np.concatenate([slopes, -slopes]) / np.tile(unit, 2)[:, None]
    g = np.concatenate([high[free] - at, at - low[free]]) / np.tile(unit, 2)
    return Polytope(origin, basis, G, g)


def _interior(M: np.ndarray, low: np.ndarray, high: np.ndarray) -> tuple[Polytope, np.ndarray] | None:
    """The polytope low <= M x <= high (m) in coordinates where it has an interior, and a point z there; None if empty.

    Rows for which a flat polytope leaves no room are held in turn.
    """
    for _ in range(M.shape[1] + 1):
        polytope = _hold(M, low, high)
        if polytope is None:
            return None
        finite = np.isfinite(polytope.g)
        varies = finite & (np.abs(polytope.G).max(axis=1, initial=0.0) > WalkSettings.HELD)
        if (polytope.g[finite & ~varies] < -WalkSettings.FLAT).any():
            return None
        G, g = polytope.G[varies], polytope.g[varies]
        z = _deepest_point(G, g) if G.shape[1] else np.zeros(0)
        depth = (g - G @ z).min(initial=np.inf)
        if depth > WalkSettings.FLAT:
            return polytope._replace(G=G, g=g), z
        if depth < -WalkSettings.FLAT:
            return None
        sides = np.full(len(finite), np.inf)
        sides[varies] = g - G @ z
        free = np.flatnonzero(
            high - low > WalkSettings.HELD * (1.0 + np.abs(np.nan_to_num(low, posinf=0.0, neginf=0.0)))
        )
        at_high, at_low = np.split(sides < WalkSettings.ON_SIDE, 2)
        low, high = low.copy(), high.copy()
        low[free[at_high]] = high[free[at_high]]
        high[free[at_low & ~at_high]] = low[free[at_low & ~at_high]]
    return None


def walk_in_polytope(
    A: np.ndarray,
    b: np.ndarray,
    limits: tuple[np.ndarray, np.ndarray],
    box: tuple[np.ndarray, np.ndarray],
    rng: np.random.Generator,
    count: int,
) -> np.ndarray | None:
    """Nearly uniform points q (count, n) of a box (n) at which A q + b (m) is within limits (m); None if there are
    none."""
    middle, half = 0.5 * (box[0] + box[1]), 0.5 * (box[1] - box[0])
    half = np.where(half > 0.0, half, 1.0)
    M = np.concatenate([np.eye(len(half)), A * half])
    size = np.abs(M).sum(axis=1)
    size[size == 0.0] = 1.0
    at = np.concatenate([np.zeros(len(half)), b + A @ middle])
    low = (np.concatenate([(box[0] - middle) / half, limits[0]]) - at) / size
    high = (np.concatenate([(box[1] - middle) / half, limits[1]]) - at) / size
    inside = _interior(M / size[:, None], low, high)
    if inside is None:
        return None
    (origin, basis, G, g), z = inside
    z, H = _minimise_barrier(G, g, z, np.zeros(len(z)))
    walkers = np.tile(z, (count, 1))
    shape = np.linalg.inv(np.linalg.cholesky(H)) if len(z) else H
    steps = 1 if len(z) == 1 else min(WalkSettings.STEPS_PER_INPUT * len(z), WalkSettings.MOST_STEPS)
    for _ in range(steps if len(z) else 0):
        direction = rng.standard_normal(walkers.shape) @ shape
        speed, room = direction @ G.T, np.maximum(g - walkers @ G.T, 0.0)
        with np.errstate(all="ignore"):
            ahead = np.where(speed > 0.0, room / speed, np.inf).min(axis=1)
            behind = np.where(speed < 0.0, room / speed, -np.inf).max(axis=1)
        walkers += rng.uniform(behind, ahead)[:, None] * direction
    return middle + half * (origin + walkers @ basis.T)


class CurvedLimits(NamedTuple):
    """Functions of q (n, nq) with limits: their values (n, m) and slopes (n, m, nq), a mask (n) of the points within
    the limits (m), and the limits of the inputs (nq)."""

    values: Callable[[np.ndarray], np.ndarray]
    slopes: Callable[[np.ndarray], np.ndarray]
    is_inside: Callable[[np.ndarray], np.ndarray]
    lower: np.ndarray  # (m,)
    upper: np.ndarray  # (m,)
    box: tuple[np.ndarray, np.ndarray]


def lead_into_limits(curved: CurvedLimits, q: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The points (k, nq) within the limits to which damped Newton steps lead from q (n, nq); k may be zero."""
    lower, upper = curved.lower, curved.upper
    half = np.maximum(0.5 * (curved.box[1] - curved.box[0]), 1e-12)
    values, step = curved.values(q), np.ones(len(q))
    with np.errstate(all="ignore"):
        size = np.nanmax(np.abs(curved.slopes(q) * half).sum(axis=-1), axis=0, initial=0.0)
    size[~((size > 0.0) & np.isfinite(size))] = 1.0
    depth = rng.uniform(*WalkSettings.DEPTHS, (len(q), 1)) * np.minimum(upper - lower, size)
    sticky = np.zeros(values.shape, bool)
    for _ in range(WalkSettings.PROJECTIONS):
        below, above = values < lower, values > upper
        outside = below | above
        if not outside.any():
            break
        sticky |= outside
        missing = np.where(below, lower + depth - values, np.where(above, upper - depth - values, 0.0)) / size
        J = curved.slopes(q) * half / size[:, None] * np.where(outside, 1.0, WalkSettings.STICKY * sticky)[..., None]
        J, missing = np.nan_to_num(J, posinf=0.0, neginf=0.0), np.nan_to_num(missing)
        JtJ = np.einsum("nij,nik->njk", J, J)
        trace = np.trace(JtJ, axis1=1, axis2=2)[:, None, None]
        damped = JtJ + (WalkSettings.DAMPING * trace + 1e-300) * np.eye(len(half))
        change = np.linalg.solve(damped, np.einsum("nij,ni->nj", J, missing)[..., None])[..., 0]
        change *= np.minimum(1.0, 2.0 / np.maximum(np.abs(change).max(axis=1), 1e-300))[:, None]
        trial = q + step[:, None] * half * change
        new = curved.values(trial)
        better = _violation(new / size, lower / size, upper / size) < _violation(
            values / size, lower / size, upper / size
        )
        q, values = np.where(better[:, None], trial, q), np.where(better[:, None], new, values)
        step = np.where(better, np.minimum(2.0 * step, 1.0), 0.5 * step)
    return q[curved.is_inside(q)]


def _violation(values: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """The sum (n) of the squares by which values (n, m) pass their limits; infinite where they are undefined."""
    passed = np.maximum(np.maximum(lower - values, values - upper), 0.0)
    return np.where(np.isfinite(values).all(axis=-1), (passed**2).sum(axis=-1), np.inf)


def walk_in_limits(curved: CurvedLimits, starts: np.ndarray, rng: np.random.Generator, count: int) -> np.ndarray:
    """Random points (count, nq) within the limits, by slice sampling along random chords from starts (k, nq) there."""
    low, high = (
        np.minimum(curved.box[0], starts.min(axis=0)),
        np.maximum(curved.box[1], starts.max(axis=0)),
    )
    spread = high - low
    q = starts[rng.integers(len(starts), size=count)]
    for _ in range(WalkSettings.SLICE_STEPS):
        direction = rng.standard_normal(q.shape) * spread
        with np.errstate(all="ignore"):
            ends = np.where(
                direction != 0.0, np.array([low - q, high - q]) / direction, np.array([-np.inf, np.inf])[:, None, None]
            )
        behind, ahead = ends.min(axis=0).max(axis=-1), ends.max(axis=0).min(axis=-1)
        left = np.flatnonzero(np.isfinite(behind) & np.isfinite(ahead))
        for _ in range(WalkSettings.SHRINKS):
            t = rng.uniform(np.minimum(behind[left], 0.0), np.maximum(ahead[left], 0.0))
            trial = q[left] + t[:, None] * direction[left]
            inside = curved.is_inside(trial)
            q[left[inside]] = trial[inside]
            left, t = left[~inside], t[~inside]
            if not left.size:
                break
            behind[left], ahead[left] = np.where(t < 0.0, t, behind[left]), np.where(t < 0.0, ahead[left], t)
    return q
