"""The compiled functions of a constrained robot: as the interpreter says, batched, picklable."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import fourbar as fb
from fourbar import ArgumentError
from fourbar.constraints import Contact, Prescribed
from fourbar.joints import Free, Revolute
from fourbar.system.constrained.robot import Constrained
from tests.loops.looped import near, shaped


@pytest.fixture(scope="module")
def c() -> Constrained:
    b = fb.Builder("crawler")
    shaped(b, "body", 0, joint=Free())
    shaped(b, "arm", 1, parent="body", joint=Revolute("y"), position=(0.3, 0, 0))
    shaped(b, "hand", 2, parent="arm", joint=Revolute("x"), position=(0.3, 0, 0))
    return b.build().constrained(Contact("hand", "point"), Contact("hand", "touch"), Prescribed(["arm"]))


@pytest.fixture(scope="module")
def given(c: Constrained) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    q = c.system.random(rng, 37)
    v, tau = rng.normal(size=(2, 37, c.system.nv))
    return q, c.impulse(q, v)[0], tau


def test_same_as_the_interpreter(
    c: Constrained, given: tuple[np.ndarray, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled = c.forward_dynamics(*given)
    monkeypatch.setenv("FOURBAR_BACKEND", "numpy")
    again: Constrained = pickle.loads(pickle.dumps(c))
    assert again == c and hash(again) == hash(c) and again is not c
    for x, y in zip(compiled, again.forward_dynamics(*given), strict=True):
        near(x, y, 1e-12)


def test_batches_have_the_bits_of_samples(c: Constrained, given: tuple[np.ndarray, ...]) -> None:
    a, force = c.forward_dynamics(*given)
    for i in (0, 17, 36):
        one = c.forward_dynamics(*(x[i] for x in given))
        assert np.array_equal(one[0], a[i]) and np.array_equal(one[1], force[i])
    grid = c.forward_dynamics(*(x[:36].reshape(4, 9, -1) for x in given))
    assert np.array_equal(grid[0], a[:36].reshape(4, 9, -1))
    two = c.forward_dynamics(*(np.tile(x, (300, 1)) for x in given), threads=2)
    assert np.array_equal(two[0], np.tile(a, (300, 1)))


def test_functions_are_picklable(c: Constrained, given: tuple[np.ndarray, ...]) -> None:
    a, _ = c.forward_dynamics(*given)
    back = pickle.loads(pickle.dumps(c.forward_dynamics))
    assert np.array_equal(back(*given)[0], a)
    assert np.array_equal(pickle.loads(pickle.dumps(c.jacobian))(given[0]), c.jacobian(given[0]))


def test_out(c: Constrained, given: tuple[np.ndarray, ...]) -> None:
    a, force = c.forward_dynamics(*given)
    into = np.empty_like(a), np.empty_like(force)
    assert c.forward_dynamics(*given, out=into) is into
    assert np.array_equal(into[0], a) and np.array_equal(into[1], force)
    with pytest.raises(ArgumentError, match="tuple of 2 arrays"):
        c.forward_dynamics(*given, out=into[0])
    with pytest.raises(ArgumentError, match="shape"):
        c.forward_dynamics(*given, out=(into[1], into[0]))


def test_singular_samples_in_a_batch(c: Constrained) -> None:
    """The touch repeats a row of the point: rank 4 of 5 everywhere, and the least forces share the load."""
    q = c.system.random(1, 3)
    assert np.all(c.rank(q) == 4)
    a, force = c.forward_dynamics(q, np.zeros(c.system.nv), np.ones(c.system.nv))
    near(force[:, 2], force[:, 3], 1e-12, np.abs(force).max(axis=-1))  # z of the point, and the touch
    assert np.abs(c.acceleration(q, np.zeros(c.system.nv), a)).max() < 1e-11


def test_lazy_arrays(c: Constrained, given: tuple[np.ndarray, ...]) -> None:
    array = pytest.importorskip("dask.array")
    lazy = [array.from_array(x, chunks=(10, -1)) for x in given]
    a, force = c.forward_dynamics(*lazy)
    expected = c.forward_dynamics(*given)
    assert np.array_equal(a.compute(scheduler="synchronous"), expected[0])
    assert np.array_equal(force.compute(scheduler="synchronous"), expected[1])


def test_what_it_is_made_of(c: Constrained) -> None:
    assert "forward_dynamics(q, v, tau, f_ext=None, row_acceleration=None) -> a, force" in repr(c.forward_dynamics)
    assert c.m == 5 and len(c.rows) == 5 and "'hand'" in c.rows[0]
    assert repr(c) == "<fourbar Constrained 'crawler': nv=8, 5 rows>"
