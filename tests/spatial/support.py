"""What the tests of groups share: samples near and far from the identity, and oracles."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fourbar.expr import Expr, reachable
from fourbar.expr.interpret import MEANING
from fourbar.spatial.groups import GROUPS, Group
from fourbar.spatial.linear import Mat, Vec, hat, vec

TOL = 1e-14
EACH = pytest.mark.parametrize("group", GROUPS, ids=lambda g: g.name)
# Length of the rotation vector (of the whole vector, where nothing rotates).
REGIONS = {
    "zero": 0.0, "tiny": 1e-12, "small": 1e-6, "border": 0.999999, "moderate": 2.3, "near_pi": math.pi - 1e-9,
    "next_to_pi": math.pi * (1 - 1e-15), "pi": math.pi, "beyond_pi": 4.1, "near_2pi": 6.0,
}  # fmt: skip
REGION = pytest.mark.parametrize("region", REGIONS)
SAMPLES = 2


def samples(group: Group, region: str) -> list[Vec]:
    """Velocities whose rotation has the length of the region, with translations of order one."""
    rng = np.random.default_rng(list(REGIONS).index(region) + 1)
    found = []
    for _ in range(SAMPLES):
        v = rng.normal(size=group.nv)
        turning = [k for k, row in enumerate(group.rows) if row < 3] or list(range(group.nv))
        v[turning] *= REGIONS[region] / np.linalg.norm(v[turning])
        found.append(vec(v))
    return found


@functools.cache
def vectors(group: Group) -> st.SearchStrategy[Vec]:
    entries = st.lists(st.floats(-1.0, 1.0), min_size=group.nv, max_size=group.nv)
    return st.builds(lambda xs, k: vec(xs) * k, entries, st.sampled_from([1e-9, 1e-3, 1.0, 3.0]))


@functools.cache
def elements(group: Group) -> st.SearchStrategy[Vec]:
    return st.builds(lambda v, w: group.compose(group.exp(v), group.exp(w)), vectors(group), vectors(group))


def drawn(test: Callable[[Group, Any], None]) -> Any:
    """A hypothesis test that draws what it needs, for each group."""
    return EACH(settings(max_examples=15, deadline=None, derandomize=True)(given(data=st.data())(test)))


def near(actual: Any, expected: Any, tol: float = TOL, floor: float = 0.0) -> None:
    """Equal up to tol times the largest entry (or the floor, where that is larger)."""
    a, e = np.array(actual, float), np.array(expected, float)
    assert a.shape == e.shape
    np.testing.assert_allclose(a, e, rtol=0.0, atol=tol * max(float(np.max(np.abs(e), initial=0.0)), floor))


def same(group: Group, a: Vec, b: Vec, tol: float = TOL) -> None:
    """The same placement; quaternions q and -q, angles θ and θ + 2π count as equal."""
    near(group.rotation(a), group.rotation(b), tol)
    near(group.translation(a), group.translation(b), tol, floor=1.0)


def selection(group: Group) -> np.ndarray:
    """H of V = H v (From eq. 58), [angular; linear]."""
    return np.eye(6)[:, list(group.rows)]


def many_digits(m: Any) -> Any:
    return mp.matrix([[mp.mpf(x) for x in row] for row in m])


def plain(m: Any) -> np.ndarray:
    return np.array(m.tolist(), float)


def homogeneous(twist: Sequence[float]) -> Any:
    """The 4 x 4 matrix of a twist, 40 digits."""
    w, v = twist[:3], twist[3:]
    return many_digits([[*row, x] for row, x in zip(hat(w), v, strict=True)] + [[0.0] * 4])


@functools.cache
def dexp_series(ad: Mat) -> Any:
    """Σ ad^k / (k+1)! to 40 digits."""
    with mp.workdps(40):
        a = many_digits(ad)
        term, total, k = mp.eye(a.rows), mp.zeros(a.rows), 1
        while mp.mnorm(term, 1) > mp.mpf(10) ** -40:
            total = total + term
            k += 1
            term = term * a / k
        return total


def spatial_velocity(r: np.ndarray, p: np.ndarray, dr: np.ndarray, dp: np.ndarray) -> np.ndarray:
    """The twist Ṫ T⁻¹ of a moving placement."""
    spin = dr @ r.T
    w = np.array([spin[2, 1], spin[0, 2], spin[1, 0]])
    return np.concatenate([w, dp - np.cross(w, p)])


def body_velocity(r: np.ndarray, p: np.ndarray, dr: np.ndarray, dp: np.ndarray) -> np.ndarray:
    """The twist T⁻¹ Ṫ of a moving placement."""
    spin = r.T @ dr
    return np.concatenate([[spin[2, 1], spin[0, 2], spin[1, 0]], r.T @ dp])


def evaluate(roots: Sequence[Any], values: dict[Expr, float]) -> list[float]:
    """Numbers for the roots; no node on the way, taken by a select or not, may be NaN or infinite."""
    found: dict[int, Any] = {}
    for node in reachable(roots):
        if node in values:
            found[node.id] = values[node]
        else:
            found[node.id] = MEANING[node.op](*(found[a.id] if isinstance(a, Expr) else a for a in node.args))
        assert np.isfinite(found[node.id]), node
    return [float(found[r.id]) if isinstance(r, Expr) else r for r in roots]
