"""q̇ of every joint of the registry: that of q ⊕ t v, and the one that moves the child with S v."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

from fourbar.joints import REGISTRY, Free, Joint, Spherical
from fourbar.spatial.transform import Transform

EACH = pytest.mark.parametrize("joint", REGISTRY, ids=lambda j: repr(j)[:60])
STEP = 1e-30


@functools.cache
def states(joint: Joint) -> list[tuple[list[float], list[float]]]:
    rng = np.random.default_rng(6)
    free = np.full(joint.nq, np.inf)
    found = [list(joint.neutral())] + [joint.random(rng, -free, free).tolist() for _ in range(3)]
    return [(q, rng.normal(size=joint.nv).tolist()) for q in found]


def near(actual: Any, expected: Any, tol: float) -> None:
    a, e = np.asarray(actual, float), np.asarray(expected, float)
    assert a.shape == e.shape
    np.testing.assert_allclose(a, e, rtol=0.0, atol=tol * max(1.0, float(np.abs(e).max(initial=0.0))))


def dense(T: Transform) -> np.ndarray:
    matrix = np.eye(4, dtype=complex)
    matrix[:3, :3], matrix[:3, 3] = T.R, T.p
    return matrix


def twist_along(joint: Joint, q: list[float], rate: Any) -> np.ndarray:
    """The twist of the child when q moves with q̇, by a complex step of the placement."""
    moved = dense(joint.placement([x + 1j * STEP * dx for x, dx in zip(q, rate, strict=True)]))
    m = np.linalg.solve(moved.real, moved.imag / STEP)
    near(m[:3, :3], -m[:3, :3].T, 1e-13)
    return np.array([m[2, 1], m[0, 2], m[1, 0], *m[:3, 3]])


@EACH
def test_rate_is_that_of_integrate(joint: Joint) -> None:
    for q, v in states(joint):
        moved = joint.integrate([complex(x) for x in q], [1j * STEP * x for x in v])
        near(joint.rate(q, v), [np.imag(x) / STEP for x in moved], 1e-14)


@EACH
def test_rate_moves_the_child_with_the_subspace(joint: Joint) -> None:
    for q, v in states(joint):
        near(twist_along(joint, q, joint.rate(q, v)), joint.subspace(q).twist(v).six(), 1e-13)


@pytest.mark.parametrize("joint", [j for j in REGISTRY if isinstance(j, (Free, Spherical))], ids=repr)
@pytest.mark.parametrize("length", [0.2, -3.0])
def test_long_quaternions(joint: Joint, length: float) -> None:
    for q, v in states(joint):
        long = [*q[:-4], *(length * x for x in q[-4:])]
        rate = joint.rate(long, v)
        near(twist_along(joint, long, rate), joint.subspace(long).twist(v).six(), 1e-13)
        near(np.dot(rate[-4:], long[-4:]), 0.0, 1e-14 * length**2)
