"""Gaps of convex shapes beside independent ones: differences of polyhedra, bounds of 50 digits, MuJoCo, coal."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
import pytest
from mpmath import mp, mpf

from fourbar.compile.callables import compile_ufunc
from fourbar.compile.llvm import batch_lanes
from fourbar.contact.narrow.separation import CERTAIN, separate
from fourbar.expr import Direct, Shared
from fourbar.shapes import Box, Capsule, ConvexHull, Cylinder, Ellipsoid, ShapeType, Sphere
from fourbar.spatial.linear import Mat, Vec
from fourbar.spatial.transform import Transform

from .narrow_pairs import POLYHEDRA, SHAPES, Batch, corners, exact_gap, pose, random_pairs, rotations

mp.dps = 50
EVERY = [*combinations_with_replacement(SHAPES, 2)]
FEW, MANY = 12, 250  # pairs of each two shapes: about 500 and 10,000 in all
COUNTS = [FEW, pytest.param(MANY, marks=pytest.mark.slow)]
SIZE = 0.1  # m, of the shapes
UNSURE = 0.02  # of the pairs, that may be marked as uncertain


def certain(found: Batch) -> np.ndarray:
    """Whether the bounds meet (n)."""
    return found.certificate <= CERTAIN * SIZE


@pytest.mark.parametrize("count", COUNTS)
def test_bounds_meet_in_nearly_all_pairs(count: int) -> None:
    batches = {both: random_pairs(*both, count) for both in EVERY}
    unsure = {both: float(np.mean(~certain(x))) for both, x in batches.items()}
    assert max(unsure.values()) < max(2.5 / count, 3.0 * UNSURE), unsure
    assert np.mean([*unsure.values()]) < UNSURE
    for x in batches.values():
        assert np.abs(np.linalg.norm(x.normal, axis=1) - 1.0).max() < 1e-14
        assert ((x.gap > 0.0).sum() > count / 3 and (x.gap < 0.0).any()) or count == FEW


@pytest.mark.parametrize("count", COUNTS)
def test_gaps_of_polyhedra_are_those_of_their_differences(count: int) -> None:
    wrong, overlaps = 0, 0
    for both in combinations_with_replacement(POLYHEDRA, 2):
        x = random_pairs(*both, count)
        points = [[corners(s) @ R.T + p for R, p in zip(x.R[k], x.p[k], strict=True)] for k, s in enumerate(x.shapes)]
        exact = np.array([exact_gap(a, b) for a, b in zip(*points, strict=True)])
        apart, sure = exact > 0.0, certain(x)
        assert np.abs(x.gap - exact)[apart & sure].max(initial=0.0) < CERTAIN
        assert np.abs(x.gap - exact)[apart].max(initial=0.0) < 1e-7
        assert (x.gap <= exact + 1e-14).all()  # never less deep than it is
        deeper = (exact - x.gap)[~apart]
        wrong, overlaps = wrong + int((deeper > 1e-12).sum()), overlaps + len(deeper)
        assert (deeper <= -0.7 * exact[~apart] + 1e-12).all()
    assert wrong < 0.25 * overlaps  # found a way out that is not the shortest


def _farthest(shape: ShapeType, n: Sequence[Any]) -> Any:
    """h(n) with 50 digits."""
    x, y, z = n
    length = mp.sqrt(x * x + y * y + z * z)
    sizes = [mpf(a) for a in shape.numbers]
    if isinstance(shape, Sphere):
        return sizes[0] * length
    if isinstance(shape, Capsule):
        return sizes[0] * length + abs(z) * sizes[1] / 2
    if isinstance(shape, Box):
        return sum(abs(a) * b / 2 for a, b in zip(n, sizes, strict=True))
    if isinstance(shape, Cylinder):
        return sizes[0] * mp.sqrt(x * x + y * y) + abs(z) * sizes[1] / 2
    if isinstance(shape, Ellipsoid):
        return mp.sqrt(sum((a * b) ** 2 for a, b in zip(n, sizes, strict=True)))
    assert isinstance(shape, ConvexHull)
    return max(sum(a * mpf(b) for a, b in zip(n, p, strict=True)) for p in shape.points)


def _outside(shape: ShapeType, p: np.ndarray) -> float:
    """How far a point is outside of a shape, about."""
    if isinstance(shape, ConvexHull):
        return exact_gap(corners(shape), p[None] + 1e-9 * np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]))
    if isinstance(shape, Ellipsoid):
        return float((np.linalg.norm(p / shape.half_axes) - 1.0) * min(shape.half_axes))
    return float(shape.distance(p.tolist()).gap) if shape.has("distance") else np.inf  # type: ignore[arg-type]


@pytest.mark.parametrize("count", [3, pytest.param(30, marks=pytest.mark.slow)])
def test_bounds_hold_with_fifty_digits(count: int) -> None:
    for both in EVERY:
        x = random_pairs(*both, count, seed=1)
        a, b = (np.array(y).T for y in (x.found.first, x.found.second))
        for i in np.flatnonzero(certain(x)):
            n = [mpf(float(y)) for y in x.normal[i]]
            length = mp.sqrt(sum(y * y for y in n))
            turned = []
            for k, sign in ((0, -1), (1, 1)):
                R, p = x.R[k][i], x.p[k][i]
                own = [sign * sum(mpf(float(R[r, c])) * n[r] for r in range(3)) / length for c in range(3)]
                height = sum(mpf(float(u)) * v for u, v in zip(p, n, strict=True)) / length
                turned.append(_farthest(x.shapes[k], own) + sign * height)
            lower = -turned[0] - turned[1]
            assert abs(float(lower - mpf(float(x.gap[i])))) < 1e-15
            for k, point in ((0, a[i]), (1, b[i])):
                assert _outside(x.shapes[k], x.R[k][i].T @ (point - x.p[k][i])) < 2e-9
            apart = a[i] - b[i]
            if x.gap[i] > 1e-6:
                assert np.linalg.norm(apart) - float(lower) < 1e-12
            assert np.abs(apart - x.gap[i] * x.normal[i]).max() < 1e-7


@pytest.mark.parametrize("both", [("ellipsoid", "disc"), ("cylinder", "hull"), ("ellipsoid", "box")])
def test_overlaps_are_local_maxima_over_normals(both: tuple[str, str]) -> None:
    x = random_pairs(*both, FEW)
    rng = np.random.default_rng(3)
    for scale in (1e-3, 1e-2):
        for _ in range(20):
            n = x.normal + scale * rng.normal(size=x.normal.shape)
            n /= np.linalg.norm(n, axis=1, keepdims=True)
            s = np.zeros(len(n))
            for k, sign in ((0, -1.0), (1, 1.0)):
                for i in range(len(n)):
                    own = x.R[k][i].T @ (sign * n[i])
                    farthest = np.array(x.shapes[k].support(own.tolist()), float)  # type: ignore[arg-type]
                    s[i] -= farthest @ own + sign * n[i] @ x.p[k][i]
            assert (s <= x.gap + 1e-13)[certain(x)].all()


def test_a_normal_from_before_leads_to_the_same() -> None:
    x = random_pairs("hull", "cylinder", FEW)
    turned = x.normal + 0.05
    guess = turned / np.linalg.norm(turned, axis=1, keepdims=True)
    poses = (pose(x.R[0], x.p[0]), pose(x.R[1], x.p[1]))
    again = separate(Direct(), x.shapes, poses, Vec(guess.T))
    both = certain(x) & (np.asarray(again.certificate) <= CERTAIN * SIZE) & (x.gap > 0.0)
    assert both.any() and np.abs(np.asarray(again.gap) - x.gap)[both].max() < 1e-12


def test_gaps_scale_with_the_shapes_and_move_with_them() -> None:
    """Decisions do not depend on units, nor on where the shapes are."""
    x = random_pairs("cylinder", "box", FEW)
    R = rotations(np.random.default_rng(5), 1)[0]
    scale = 1e-3
    small = [type(s)(*(scale * y for y in s.numbers)) for s in x.shapes]
    poses = [pose(R @ own, scale * (p @ R.T)) for own, p in zip(x.R, x.p, strict=True)]
    again = separate(Direct(), (small[0], small[1]), (poses[0], poses[1]))
    sure = certain(x) & (np.asarray(again.certificate) <= CERTAIN * SIZE * scale)
    assert sure.sum() > FEW - 3 and np.abs(np.asarray(again.gap) / scale - x.gap)[sure].max() < 1e-12


@pytest.mark.parametrize("both", [("box", "hull"), ("cylinder", "ellipsoid"), ("capsule", "disc")])
def test_machine_code_finds_the_same_in_any_company(both: tuple[str, str]) -> None:
    x = random_pairs(*both, 37)
    recorder = Shared()
    entries = recorder.input("poses", (24,))
    poses = recorder.call(lambda *e: (_pose(e[:12]), _pose(e[12:])), *entries)
    found = separate(recorder, x.shapes, poses)
    program = recorder.finish("pair", [("gap", (), [found.gap]), ("normal", (3,), found.normal)])
    given = np.concatenate([np.column_stack([R.reshape(-1, 9), p]) for R, p in zip(x.R, x.p, strict=True)], axis=1)
    made = compile_ufunc(program, batch_lanes(), {})
    assert made.ufunc is not None
    with np.errstate(all="ignore"):
        gap, normal = made.ufunc(given)
        alone = np.array([made.ufunc(row)[0] for row in given[:5]])
    assert (alone == gap[:5]).all()
    sure = certain(x) & (x.gap > 1e-6)
    assert np.abs(gap - x.gap)[sure].max() < 1e-12 and np.abs(normal - x.normal)[sure].max() < 1e-6


def _pose(x: Sequence[Any]) -> Transform:
    return Transform((Mat(Vec(x[3 * i : 3 * i + 3]) for i in range(3)),), Vec(x[9:]))
