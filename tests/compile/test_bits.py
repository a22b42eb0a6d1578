"""A sample has a result of the same bits whatever the batch it is in, its place there, the vectors and the threads."""

import numpy as np
import pytest

from fourbar.functions.methods import METHODS

from .support import (
    EVERY_WIDTH,
    arguments,
    as_tuple,
    digest,
    finished,
    function,
    machine_code_only,
    robot,
    run,
    same_bits,
    started,
)

SOME = ("forward_dynamics", "mass_matrix", "integrate", "difference", "kinetic_energy", "hybrid_dynamics", "poses")


def all_same(a, b):
    return all(same_bits(x, y) for x, y in zip(as_tuple(a), as_tuple(b), strict=True))


def taken(results, index):
    return tuple(r[index] for r in as_tuple(results))


@pytest.mark.quick
@pytest.mark.parametrize("method", METHODS)
def test_one_by_one_or_all_at_once(method):
    f = function(robot(), method)
    arrays = arguments(robot(), method, (23,))
    together = f(*arrays)
    for i in range(23):
        assert all_same(taken(together, i), f(*(a[i] for a in arrays)))


@pytest.mark.parametrize("method", SOME)
def test_every_batch_size(method):
    f = function(robot(), method)
    arrays = arguments(robot(), method, (1000,))
    together = f(*arrays)
    for n in range(1, 41):
        assert all_same(taken(together, slice(n)), f(*(a[:n] for a in arrays)))


@pytest.mark.parametrize("method", SOME)
def test_every_position(method):
    f = function(robot(), method)
    arrays = arguments(robot(), method, (40,))
    together = f(*arrays)
    for shift in range(1, 40):
        order = np.roll(np.arange(40), shift)
        assert all_same(taken(together, order), f(*(a[order] for a in arrays)))


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("method", ["forward_dynamics", "mass_matrix", "hybrid_dynamics"])
def test_every_number_of_threads(method, threads):
    f = function(robot(), method)
    arrays = arguments(robot(), method, (30_011,))
    assert all_same(f(*arrays, threads=threads), f(*arrays))


def test_threads_broadcast_and_convert_like_one():
    f = robot().inverse_dynamics
    q, v, a = arguments(robot(), "inverse_dynamics", (40, 501))
    forms = {
        "several axes": (q, v, a),
        "one sample for all": (q, v[3, 4], a),
        "one axis for all": (q, v[:, :1], a[:1]),
        "strided": (q[:, ::-1], v[:, ::-1], np.asfortranarray(a[:, ::-1])),
        "other numbers": (q, v.astype(np.float32), (10 * a).astype(int)),
        "other bytes": (q.astype(">f8"), v, a),
    }
    for name, given in forms.items():
        assert same_bits(f(*given, threads=2), f(*given, threads=1)), name


@machine_code_only
@pytest.mark.parametrize("method", ["forward_dynamics", "integrate", "mass_matrix", "poses"])
def test_every_width_in_one_process(method):
    program = function(robot(), method).program()
    arrays = arguments(robot(), method, (19,))
    wanted = as_tuple(function(robot(), method)(*arrays))
    for lanes in EVERY_WIDTH:
        assert all_same(run(program, *arrays, lanes=lanes), wanted)


def some_results():
    """A digest of what a process computes, single calls and batches."""
    results = []
    for method in ("inverse_dynamics", "hybrid_dynamics", "integrate"):
        for batch in ((), (101,)):
            results += as_tuple(function(robot(), method)(*arguments(robot(), method, batch)))
    return digest(results)


@pytest.mark.slow  # an interpreter for each width
@machine_code_only
def test_every_width_by_environment():
    code = "from tests.compile.test_bits import some_results; print(some_results())"
    running = [started(code, FOURBAR_LANES=str(width)) for width in (1, 2, 4, 8)]
    assert {finished(process) for process in running} == {some_results()}


@pytest.mark.quick
@pytest.mark.parametrize("method", ["inverse_dynamics", "forward_dynamics", "integrate"])
@pytest.mark.parametrize("poison", [np.nan, np.inf, 1e300], ids=str)
def test_a_bad_sample_harms_no_other(method, poison):
    f = function(robot(), method)
    arrays = arguments(robot(), method, (21,))
    wanted = f(*arrays)
    for place in range(21):
        spoilt = [a.copy() for a in arrays]
        for a in spoilt:
            a[place] = poison
        others = np.arange(21) != place
        assert same_bits(f(*spoilt)[others], wanted[others])


def forms(a):
    """The same numbers in other arrays."""
    spread = np.full((*a.shape[:-1], 2 * a.shape[-1] + 1), np.nan)
    spread[..., 1::2] = a
    packed = np.zeros(a.size * 8 + 3, np.uint8)[3:].view(np.float64)  # not on a multiple of eight bytes
    packed[:] = a.ravel()
    return {
        "list": a.tolist(),
        "tuple": tuple(a),
        "Fortran": np.asfortranarray(a),
        "strided": spread[..., 1::2],
        "backwards": a[..., ::-1].copy()[..., ::-1],
        "samples backwards": a[::-1].copy()[::-1],
        "transposed": np.ascontiguousarray(a.T).T,
        "unaligned": packed.reshape(a.shape),
        "other bytes": a.astype(a.dtype.newbyteorder()),
        "long double": a.astype(np.longdouble),
        "objects": a.astype(object),
        "matrix": a.view(np.matrix) if a.ndim == 2 else a,
    }


@pytest.mark.quick
@pytest.mark.parametrize("form", list(forms(np.zeros((2, 2)))))
@pytest.mark.parametrize("batch", [(), (13,)], ids=["one", "many"])
def test_every_form_of_input(form, batch):
    f = robot().inverse_dynamics
    arrays = arguments(robot(), "inverse_dynamics", batch)
    assert same_bits(f(*(forms(a)[form] for a in arrays)), f(*arrays))
    assert same_bits(f(arrays[0], forms(arrays[1])[form], arrays[2]), f(*arrays))


@machine_code_only
@pytest.mark.parametrize("method", ["inverse_dynamics", "mass_matrix", "center_of_mass"])
def test_the_fast_and_the_ordinary_call_agree(method):
    f = function(robot(), method)
    arrays = arguments(robot(), method)
    ordinary = f.state[0].call
    wanted = ordinary(*arrays)
    assert same_bits(f(*arrays), wanted)
    assert same_bits(f(*arrays, out=np.empty(wanted.shape)), wanted)
    many = arguments(robot(), method, (77,))
    wanted = ordinary(*many)
    assert same_bits(f(*many), wanted)
    assert same_bits(f(*many, out=np.empty(wanted.shape)), wanted)
