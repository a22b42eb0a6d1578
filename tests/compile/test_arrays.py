"""Shapes and kinds of arrays: what goes in, and what comes out."""

import numpy as np
import pytest

import fourbar as fb
from fourbar.functions.methods import METHODS
from fourbar.joints import Revolute

from .support import arguments, as_tuple, function, pendulum, robot, same_bits

Q = np.array([0.3, -0.7])


@pytest.mark.quick
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("batch", [(), (1,), (6,), (2, 3), (2, 1, 4)], ids=str)
def test_results_are_plain_contiguous_arrays_of_the_right_shape(method, batch):
    f = function(robot(), method)
    outputs = f.program().outputs
    results = as_tuple(f(*arguments(robot(), method, batch)))
    assert len(results) == len(outputs) == len(METHODS[method].results)
    for result, y in zip(results, outputs, strict=True):
        assert result.shape == (*batch, *y.shape)
        assert result.dtype == np.float64
        assert result.flags.c_contiguous
        assert type(result) is (np.ndarray if result.shape else np.float64)


@pytest.mark.parametrize("axes", [(0, 1, 2), (1, 0, 2), (2, 0, 1), (2, 1, 0)], ids=str)
def test_results_are_contiguous_whatever_the_order_of_the_input(axes):
    shape = [0, 0, 0]
    for place, axis in enumerate(axes):
        shape[axis] = (5, 4, 2)[place]
    memory = np.random.default_rng(0).random(shape)
    q = memory.transpose(axes)
    for given in (q, q[::-1], q[:, ::-2]):
        result = pendulum().inverse_dynamics(given, given, given)
        assert result.flags.c_contiguous
        assert same_bits(result, pendulum().inverse_dynamics(*[given.copy(order="C")] * 3))


@pytest.mark.quick
@pytest.mark.parametrize(
    "shapes",
    [((), (5,), ()), ((5,), (1,), ()), ((3, 1), (4,), ()), ((2, 1, 4), (3, 1), (1, 3, 4)), ((1,), (1,), (1,))],
    ids=str,
)
def test_leading_axes_broadcast(shapes):
    rng = np.random.default_rng(1)
    arrays = [rng.random((*s, 2)) for s in shapes]
    batch = np.broadcast_shapes(*shapes)
    result = pendulum().inverse_dynamics(*arrays)
    full = [np.ascontiguousarray(np.broadcast_to(a, (*batch, 2))) for a in arrays]
    assert same_bits(result, pendulum().inverse_dynamics(*full))
    assert result.flags.c_contiguous


def test_a_sample_may_be_repeated_by_a_stride_of_zero():
    q = np.broadcast_to(Q, (9, 2))
    assert same_bits(pendulum().inverse_dynamics(q, q, q)[8], pendulum().inverse_dynamics(Q, Q, Q))


@pytest.mark.quick
@pytest.mark.parametrize("batch", [(0,), (3, 0), (0, 4), (0, 0)], ids=str)
@pytest.mark.parametrize("method", ["inverse_dynamics", "mass_matrix", "kinetic_energy", "hybrid_dynamics"])
def test_empty_batches(method, batch):
    f = function(robot(), method)
    for result, y in zip(as_tuple(f(*arguments(robot(), method, batch))), f.program().outputs, strict=True):
        assert result.shape == (*batch, *y.shape)
    one = arguments(robot(), method)
    empty = [np.broadcast_to(a, (*batch, *a.shape)) for a in one[:1]]
    assert as_tuple(f(*empty, *one[1:]))[0].shape[: len(batch)] == batch


KINDS = ("float16", "float32", "longdouble", "int8", "int64", "uint64", "bool", "object", ">f8", ">i4")


@pytest.mark.quick
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("batch", [(), (7,)], ids=["one", "many"])
def test_other_kinds_of_numbers_are_converted(kind, batch):
    q = (np.random.default_rng(2).random((*batch, 2)) * 3).astype(kind)
    assert same_bits(pendulum().inverse_dynamics(q, q, q), pendulum().inverse_dynamics(*[q.astype(float)] * 3))


def test_a_mixture_of_kinds():
    result = pendulum().inverse_dynamics([1, 2], np.float32([0.5, 0.25]), (True, 0.0))
    assert same_bits(result, pendulum().inverse_dynamics(*map(np.array, ([1.0, 2.0], [0.5, 0.25], [1.0, 0.0]))))


def test_inputs_are_not_changed_and_may_be_read_only():
    arrays = arguments(robot(), "forward_dynamics", (5,))
    kept = [a.copy() for a in arrays]
    for a in arrays:
        a.flags.writeable = False
    wanted = robot().forward_dynamics(*kept)
    assert same_bits(robot().forward_dynamics(*arrays), wanted)
    assert same_bits(robot().forward_dynamics(*(a[2] for a in arrays)), wanted[2])
    assert all(np.array_equal(a, k) for a, k in zip(arrays, kept, strict=True))


def test_fields_of_packed_records():
    """Arrays that lie unaligned between other data."""
    kind = np.dtype([("flag", "u1"), ("q", "f8", 2), ("more", "u1"), ("v", "f8", 2)])
    records = np.zeros(12, kind)
    rng = np.random.default_rng(3)
    records["q"], records["v"] = rng.random((2, 12, 2))
    wanted = pendulum().bias_force(records["q"].copy(), records["v"].copy())
    assert same_bits(pendulum().bias_force(records["q"], records["v"]), wanted)
    assert same_bits(pendulum().bias_force(records["q"][5], records["v"][5]), wanted[5])


def test_an_array_on_foreign_memory():
    memory = bytearray(1 + 16 * 6)
    q = np.frombuffer(memory, np.float64, 12, offset=1).reshape(6, 2)
    q[:] = np.random.default_rng(4).random((6, 2))
    assert not q.flags.aligned
    assert same_bits(pendulum().gravity_force(q), pendulum().gravity_force(q.copy()))
    big = np.frombuffer(bytearray(1 + 16 * 400_000), np.float64, 800_000, offset=1).reshape(-1, 2)
    big[:] = np.random.default_rng(5).random(big.shape)
    assert same_bits(pendulum().gravity_force(big, threads=2), pendulum().gravity_force(big.copy(), threads=1))


class Wrapped:
    """What another library's array looks like."""

    def __init__(self, numbers):
        self.numbers = numbers

    def __array__(self, dtype=None, copy=None):
        return np.array(self.numbers, dtype or float)


class Child(np.ndarray):
    pass


NEARLY = {"wrapped": Wrapped, "subclass": lambda x: x.view(Child), "masked": np.ma.masked_array, "list of arrays": list}


@pytest.mark.parametrize("form", NEARLY)
def test_objects_that_are_nearly_arrays(form):
    q = np.array([[0.3, -0.7]])
    result = pendulum().gravity_force(NEARLY[form](q))
    assert type(result) is np.ndarray
    assert same_bits(result, pendulum().gravity_force(q))


def test_the_largest_number_of_axes():
    q = np.ones((1,) * 30 + (2,))
    assert pendulum().gravity_force(q).shape == q.shape
    assert same_bits(pendulum().gravity_force(q).ravel(), pendulum().gravity_force(np.ones(2)))


def test_scalars_come_back_as_numbers():
    energy = pendulum().kinetic_energy(Q, Q)
    assert type(energy) is np.float64
    assert pendulum().kinetic_energy(Q[None], Q).shape == (1,)
    time = pendulum().integrate(Q, Q, 0.1)
    assert same_bits(time, pendulum().integrate(Q, Q, np.array(0.1)))
    assert pendulum().integrate(Q, Q, np.array([0.1, 0.2, 0.3])).shape == (3, 2)


def test_named_arguments_in_any_order():
    result = pendulum().inverse_dynamics(a=Q, q=2 * Q, v=3 * Q)
    assert same_bits(result, pendulum().inverse_dynamics(2 * Q, 3 * Q, Q))
    assert same_bits(pendulum().inverse_dynamics(2 * Q, a=Q, v=3 * Q), result)


@pytest.mark.quick
def test_an_optional_argument():
    q, v, a, f_ext = arguments(robot(), "inverse_dynamics", (4,), optional=True)
    without = robot().inverse_dynamics(q, v, a)
    assert same_bits(robot().inverse_dynamics(q, v, a, None), without)
    assert same_bits(robot().inverse_dynamics(q, v, a, f_ext=None), without)
    wanted = robot().inverse_dynamics(q, v, a, f_ext=f_ext)
    assert same_bits(robot().inverse_dynamics(q, v, a, f_ext), wanted)
    assert np.abs(wanted - without).max() > 0.1
    np.testing.assert_allclose(robot().inverse_dynamics(q, v, a, 0 * f_ext), without, atol=1e-12)
    strided = np.moveaxis(np.ascontiguousarray(np.moveaxis(f_ext, -1, 0)), 0, -1)
    assert same_bits(robot().inverse_dynamics(q, v, a, strided), wanted)
    assert same_bits(robot().inverse_dynamics(q[1], v[1], a[1], strided[1]), wanted[1])


@pytest.mark.quick
def test_a_robot_that_cannot_move():
    b = fb.Builder("stand")
    b.body("base", position=(0.0, 0.0, 1.0), mass=1.0, inertia=(1.0, 1.0, 1.0))
    b.frame("top", "base", position=(0.0, 0.0, 0.5))
    stand = b.build()
    assert (stand.nq, stand.nv) == (0, 0)
    assert stand.pose(np.zeros(0), "top")[2, 3] == 1.5
    assert stand.pose(np.zeros((4, 0)), "top").shape == (4, 4, 4)
    assert stand.mass_matrix(np.zeros((3, 0))).shape == (3, 0, 0)
    assert stand.inverse_dynamics(*[np.zeros(0)] * 3).shape == (0,)
    assert stand.random(0, 5).shape == (5, 0)


def test_floating_point_warnings_are_not_raised():
    """Branches that are not taken divide by zero, and NaN samples are the user's."""
    system = robot()
    with np.errstate(all="raise"):
        q = np.tile(system.neutral(), (9, 1))
        assert np.all(np.isfinite(system.integrate(q.tolist(), np.zeros((9, system.nv)), 0.1)))
        assert np.all(np.isfinite(system.difference(q.tolist(), q)))
        assert np.all(np.isnan(pendulum().gravity_force([[np.nan, np.inf]])[0]))


def test_a_tree_with_one_hinge():
    b = fb.Builder("one")
    b.body("rod", joint=Revolute("y"), mass=1.0, com=(0.0, 0.0, -1.0))
    assert b.build().inverse_dynamics([0.0], [0.0], [1.0]).shape == (1,)
