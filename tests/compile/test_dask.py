"""Dask arrays: a call becomes part of their graph and is computed chunk by chunk."""

import pickle

import numpy as np
import pytest

import fourbar as fb
from fourbar import ArgumentError
from fourbar.joints import Revolute

from .support import arguments, as_tuple, function, python, robot, same_bits

da = pytest.importorskip("dask.array")
SCHEDULERS = pytest.mark.parametrize("scheduler", ["synchronous", "threads"])


def chunked(array, size=7):
    return da.from_array(array, chunks=(size, *array.shape[1:]))


@pytest.mark.quick
@SCHEDULERS
@pytest.mark.parametrize("method", ["inverse_dynamics", "mass_matrix", "kinetic_energy", "poses", "pose", "integrate"])
def test_chunks_give_the_same_bits(method, scheduler):
    f = function(robot(), method)
    arrays = arguments(robot(), method, (23,))
    lazy = f(*map(chunked, arrays))
    assert isinstance(lazy, da.Array)
    wanted = f(*arrays)
    assert lazy.shape == wanted.shape
    assert lazy.dtype == wanted.dtype
    assert same_bits(lazy.compute(scheduler=scheduler), wanted)


@SCHEDULERS
def test_several_results(scheduler):
    f = function(robot(), "hybrid_dynamics")
    arrays = arguments(robot(), "hybrid_dynamics", (23,))
    lazy = f(*map(chunked, arrays))
    assert isinstance(lazy, tuple)
    computed = [part.compute(scheduler=scheduler) for part in lazy]
    assert all(same_bits(a, b) for a, b in zip(computed, as_tuple(f(*arrays)), strict=True))


def test_an_optional_argument():
    arrays = arguments(robot(), "inverse_dynamics", (9,), optional=True)
    lazy = robot().inverse_dynamics(*map(chunked, arrays))
    assert same_bits(lazy.compute(), robot().inverse_dynamics(*arrays))


def test_an_argument_whose_sizes_are_equal():
    """f_ext of six bodies is 6 x 6."""
    b = fb.Builder("six")
    for i in range(6):
        b.body(f"b{i}", parent=f"b{i - 1}" if i else "world", joint=Revolute("y"), mass=1.0, com=(0.1, 0.0, 0.2))
    six = b.build()
    arrays = arguments(six, "inverse_dynamics", (10,), optional=True)
    assert same_bits(six.inverse_dynamics(*map(chunked, arrays)).compute(), six.inverse_dynamics(*arrays))


def test_several_axes_of_chunks_and_broadcasting():
    q, v, a = arguments(robot(), "inverse_dynamics", (4, 6))
    lazy = robot().inverse_dynamics(da.from_array(q, chunks=(2, 3, q.shape[-1])), v, a[0, 0])
    assert same_bits(lazy.compute(), robot().inverse_dynamics(q, v, a[0, 0]))


def test_chunks_that_do_not_match():
    q, v, a = arguments(robot(), "inverse_dynamics", (12,))
    wanted = robot().inverse_dynamics(q, v, a)
    assert same_bits(robot().inverse_dynamics(chunked(q, 5), chunked(v, 4), chunked(a, 12)).compute(), wanted)
    narrow = da.from_array(q, chunks=(6, 2))
    assert same_bits(robot().inverse_dynamics(narrow, v, a).compute(), wanted)


def test_ordinary_arrays_beside_lazy_ones():
    q, v, a = arguments(robot(), "inverse_dynamics", (8,))
    wanted = robot().inverse_dynamics(q, v, a)
    assert same_bits(robot().inverse_dynamics(chunked(q), v, a).compute(), wanted)
    assert same_bits(robot().inverse_dynamics(q, v=chunked(v), a=a).compute(), wanted)


@pytest.mark.quick
def test_nothing_is_computed_before_it_is_asked_for():
    def never(block):
        raise AssertionError("computed too early")

    q, v, a = map(chunked, arguments(robot(), "inverse_dynamics", (8,)))
    lazy = robot().inverse_dynamics(q.map_blocks(never, dtype=float, meta=np.empty((0, 0))), v, a)
    with pytest.raises(AssertionError, match="too early"):
        lazy.compute(scheduler="synchronous")


def test_a_robot_is_not_made_again_for_every_chunk(monkeypatch):
    arrays = arguments(robot(), "inverse_dynamics", (40,))
    lazy = robot().inverse_dynamics(*(chunked(a, 2) for a in arrays))
    made = []
    init = fb.System.__init__
    monkeypatch.setattr(fb.System, "__init__", lambda self, m: (made.append(m), init(self, m))[1])
    lazy.compute(scheduler="synchronous")
    assert not made
    sent = [pickle.loads(pickle.dumps(lazy)) for _ in range(5)]
    results = [x.compute(scheduler="synchronous") for x in sent]
    assert len(made) <= 1
    assert all(same_bits(r, robot().inverse_dynamics(*arrays)) for r in results)


@pytest.mark.quick
@pytest.mark.parametrize("place", [0, 1, 2])
def test_wrong_shapes_are_refused_at_once(place):
    arrays = [chunked(a) for a in arguments(robot(), "inverse_dynamics", (8,))]
    arrays[place] = arrays[place][:, :-1]
    with pytest.raises(ArgumentError, match=f"inverse_dynamics: {'qva'[place]} must have shape"):
        robot().inverse_dynamics(*arrays)
    arrays[place] = da.from_array(np.array(1.0))
    with pytest.raises(ArgumentError, match=f"inverse_dynamics: {'qva'[place]} must have shape"):
        robot().inverse_dynamics(*arrays)


def test_batches_of_different_length_are_refused():
    q, v, a = map(chunked, arguments(robot(), "inverse_dynamics", (8,)))
    with pytest.raises(ArgumentError, match="do not broadcast together"):
        robot().inverse_dynamics(q, v[:5], a)


def test_results_cannot_go_into_an_array():
    arrays = [chunked(a) for a in arguments(robot(), "inverse_dynamics", (8,))]
    with pytest.raises(ArgumentError, match="out= cannot be used with dask"):
        robot().inverse_dynamics(*arrays, out=np.empty((8, robot().nv)))


def test_results_are_used_further():
    q, v, a = map(chunked, arguments(robot(), "inverse_dynamics", (16,)))
    tau = robot().inverse_dynamics(q, v, a)
    again = robot().forward_dynamics(q, v, tau)
    np.testing.assert_allclose(again.compute(), a.compute(), atol=1e-9)
    assert np.isfinite(float((tau**2).mean()))


def test_neither_dask_nor_distributed_is_needed():
    code = """
import sys
sys.modules["dask"] = sys.modules["distributed"] = None
import numpy as np, fourbar as fb
print(fb.robots.double_pendulum().gravity_force(np.zeros((3, 2))).shape)
"""
    assert python(code) == "(3, 2)"
