"""Height fields of any size: cells are looked up, so that neither code nor work grows with the number of heights."""

from __future__ import annotations

import numpy as np
import pytest

import fourbar as fb
from fourbar.contact.terrain import HeightField
from fourbar.expr import Program, Unrolled, interpret
from fourbar.expr.text import block_digest, from_text, pack, to_text, unpack
from fourbar.mechanism.geometry import Geometry

SPACING, ORIGIN = (0.3, 0.2), (-0.4, 0.1)


def field(n: int, m: int, seed: int = 0) -> HeightField:
    """Random heights."""
    return HeightField(np.random.default_rng(seed).normal(size=(n, m)), SPACING, ORIGIN)


def bilinear(own: HeightField, places: np.ndarray) -> np.ndarray:
    """Heights by weights of all knots: an independent formula, in which nothing is looked up."""
    table = np.array(own.heights)
    weights = []
    for axis, n in enumerate(table.shape):
        at = np.clip((places[:, axis] - ORIGIN[axis]) / SPACING[axis], 0.0, n - 1.0)
        weights.append(np.maximum(1.0 - np.abs(at[:, None] - np.arange(n)), 0.0))
    return np.einsum("ki,kj,ij->k", *weights, table)


def gap_program(own: HeightField) -> Program:
    """(x, y, z) to the gap and the direction out."""
    recorder = Unrolled()
    x = recorder.input("x", (3,))
    gap, normal = recorder.call(lambda *x: tuple(own.surface(x)), *x)  # type: ignore[arg-type]
    return recorder.finish("gap", [("gap", (), (gap,)), ("normal", (3,), normal)])


def places(own: HeightField, count: int = 300) -> np.ndarray:
    """Places (count, 2) on it, beyond its edges, and at knots."""
    rng = np.random.default_rng(1)
    n, m = len(own.heights), len(own.heights[0])
    size = np.array([SPACING[0] * (n - 1), SPACING[1] * (m - 1)])
    at = np.array(ORIGIN) + size * rng.uniform(-0.2, 1.2, (count, 2))
    at[::7] = np.array(ORIGIN) + np.array(SPACING) * rng.integers(0, (n, m), at[::7].shape)
    return at


@pytest.mark.parametrize(("n", "m"), [(2, 2), (5, 7), (130, 90)])
def test_heights_between_knots(n: int, m: int) -> None:
    own = field(n, m)
    at = places(own)
    wanted = bilinear(own, at)
    np.testing.assert_allclose([own.height(x, y) for x, y in at.tolist()], wanted, rtol=0, atol=1e-13)
    np.testing.assert_allclose(own.height(*at.T), wanted, rtol=0, atol=1e-13)
    found = interpret(gap_program(own), {"x": np.column_stack([at, np.full(len(at), 2.0)])})
    scale = found["normal"][:, 2]  # the gap is along the normal
    np.testing.assert_allclose(found["gap"] / scale, 2.0 - wanted, rtol=0, atol=1e-12)


def test_slopes_are_those_of_the_cell() -> None:
    own = field(6, 9)
    at = places(own)[1:7]
    found = interpret(gap_program(own), {"x": np.column_stack([at, np.zeros(len(at))])})["normal"]
    h = 1e-6
    by_differences = [(bilinear(own, at + h * e) - bilinear(own, at - h * e)) / (2.0 * h) for e in np.eye(2)]
    np.testing.assert_allclose(-found[:, :2] / found[:, 2:], np.transpose(by_differences), rtol=0, atol=1e-8)


def test_code_does_not_grow_with_the_field() -> None:
    few, many = gap_program(field(3, 5)), gap_program(field(300, 400))
    assert few.operations == many.operations
    other = gap_program(field(300, 400, seed=1))
    assert [block_digest(b) for b in many.blocks] == [block_digest(b) for b in other.blocks]  # one machine code
    x = {"x": np.array([12.3, 20.2, 0.0])}
    assert interpret(many, x)["gap"] != interpret(other, x)["gap"]


def test_programs_with_tables_are_written_and_read() -> None:
    program = gap_program(field(5, 7))
    assert from_text(to_text(program)) == program
    assert unpack(pack(program)) == program


def test_a_ball_lies_on_a_large_field() -> None:
    """Twelve balls dropped on 300 x 301 heights come to rest on them, each where the field says."""
    heights = np.full((300, 301), 0.2)
    heights[150:] = -0.1
    field = HeightField(heights, 0.1, (-15.0, -15.0))
    b = fb.Builder("ball")
    ball = Geometry("sphere", (0.05,), role="collision")
    b.body("ball", joint=fb.joints.Free(), mass=1.0, inertia=(0.001, 0.001, 0.001), geometry=[ball])
    scene = fb.Scene(b.build(), field)
    q = np.zeros((12, 7))
    q[:, 0], q[:, 1], q[:, 3] = np.linspace(-14.0, 14.0, 12), np.linspace(-20.0, 20.0, 12), 1.0
    q[:, 2] = 0.05 + field.height(q[:, 0], q[:, 1]) + 0.001
    end = scene.rollout(q, steps=200, dt=0.005).q[-1]
    np.testing.assert_allclose(end[:, 2], 0.05 + field.height(end[:, 0], end[:, 1]), rtol=0, atol=1e-6)
    with pytest.raises(fb.ModelError, match="300 x 301 cannot differ from sample to sample"):
        scene.rollout(q[0], steps=1, numbers={"terrain.heights": heights})


def test_equal_fields_are_equal() -> None:
    assert field(5, 7) == field(5, 7)
    assert hash(field(5, 7)) == hash(field(5, 7))
    assert field(5, 7) != field(5, 7, seed=1)
    with pytest.raises(fb.ModelError, match=r"at least 2 x 2, got \(1, 3\)"):
        HeightField([[0.0, 1.0, 2.0]])
