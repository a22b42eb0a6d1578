"""Solutions with the mass matrix M = Gᵀ H G itself (projection, Chignoli §II-D and §II-E), unrolled, for small robots.

Velocities are numbered outward. Eliminated in the opposite order, from the tips inward, M keeps its zeros between
branches (Featherstone 2008, §6.4-6.5), and zeros that are known while recording cost nothing. The effort grows with the
cube of the number of velocities between a tip and the root; of few velocities it is less than that of the recursive
algorithms, whose inertias have 21 entries for each link.
"""

from __future__ import annotations

from ..spatial.linear import Mat, Vec, dot
from ..spatial.solve import Factored, factor


def _factor_inward(M: Mat) -> Factored:
    """M (nv, nv) with its rows and columns in the opposite order, factored."""
    return factor(Mat(Vec(row[::-1]) for row in M[::-1]))


def accelerations(M: Mat, tau: Vec, bias: Vec) -> Vec:
    """M⁻¹ (τ - bias), with M (nv, nv)."""
    return Vec(_factor_inward(M).solve((tau - bias)[::-1])[::-1])


def inverse(M: Mat) -> Mat:
    """M⁻¹ (nv, nv), symmetric to the last bit."""
    n, factored = len(M), _factor_inward(M)
    columns = [factored.solve([1.0 if i == j else 0.0 for i in range(n)])[::-1] for j in reversed(range(n))]
    return Mat(Vec([columns[max(i, j)][min(i, j)] for j in range(n)]) for i in range(n))


def osim_inverse(M: Mat, J: Mat) -> Mat:
    """Ω = J M⁻¹ Jᵀ of J (m, nv), symmetric to the last bit."""
    factored = _factor_inward(M)
    half = [factored.reduce(row[::-1]) for row in J]
    scaled = [Vec([x * d for x, d in zip(row, factored.inverse_pivots, strict=True)]) for row in half]
    lower = [[dot(row, other) for other in scaled[: i + 1]] for i, row in enumerate(half)]
    return Mat(Vec([lower[max(i, j)][min(i, j)] for j in range(len(J))]) for i in range(len(J)))
