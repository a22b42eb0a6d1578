"""Arrays that were given out belong to the user: no later call may touch one that anybody still holds."""

import gc
import weakref

import numpy as np
import pytest

import fourbar as fb

from .support import arguments, function, pendulum, robot, same_bits

Q = np.array([0.3, -0.7])
SAMPLES = np.random.default_rng(0).uniform(-2.0, 2.0, (1000, 2))


@pytest.fixture
def f():
    made = fb.robots.double_pendulum().inverse_dynamics
    for _ in range(4):
        made(Q, Q, Q)
    return made


def wanted(q):
    """The right result, by way of a call that cannot be served by a spare array."""
    return pendulum().inverse_dynamics(q.tolist(), q, q).copy()


def others(f):
    """Calls that would overwrite an array wrongly taken for free."""
    for q in SAMPLES[:4]:
        f(q, q, q)
    return [f(q, q, q) for q in SAMPLES[4:8]]


@pytest.mark.quick
def test_a_thousand_results_are_kept(f):
    kept = [f(q, q, q) for q in SAMPLES]
    assert len({r.ctypes.data for r in kept}) == 1000
    assert all(same_bits(r, wanted(q)) for r, q in zip(kept, SAMPLES, strict=True))


def test_results_dropped_in_any_order(f):
    rng = np.random.default_rng(1)
    held = {}
    for number, q in enumerate(SAMPLES):
        held[number] = f(q, q, q)
        for old in rng.choice(list(held), rng.integers(0, 3)):
            held.pop(old, None)
        for old in list(held)[:2] + list(held)[-2:]:
            assert same_bits(held[old], wanted(SAMPLES[old]))


def test_arrays_of_matrices(f):
    g = robot().mass_matrix
    q = robot().random(0, 50)
    kept = [g(x) for x in q]
    together = g(q)
    assert all(same_bits(m, n) for m, n in zip(kept, together, strict=True))


KEEPERS = {
    "view": lambda r: r[:],
    "transposed": lambda r: r.T,
    "reshaped": lambda r: r.reshape(1, 2),
    "other type": lambda r: r.view(np.int64),
    "memory": memoryview,
    "from memory": lambda r: np.frombuffer(r),
    "broadcast": lambda r: np.broadcast_to(r, (3, 2)),
    "iterator": lambda r: r.flat,
    "ctypes": lambda r: r.ctypes,
    "array protocol": np.asarray,
    "exchange": lambda r: np.from_dlpack(r),
    "list": lambda r: [r],
    "closure": lambda r: lambda: r,
    "frozen": lambda r: (r.setflags(write=False), r)[1],
}


def numbers_in(keeper):
    """The two numbers of a result, read through what keeps it."""
    if isinstance(keeper, list):
        keeper = keeper[0]
    if isinstance(keeper, np.flatiter):
        return np.array(keeper)
    if type(keeper).__name__ == "_ctypes":
        return np.array(keeper.data_as(np.ctypeslib.ctypes.POINTER(np.ctypeslib.ctypes.c_double))[:2])
    array = np.array(keeper() if callable(keeper) else keeper)
    return array.view(np.float64).ravel()[-2:] if array.dtype != float else array.ravel()[-2:]


@pytest.mark.parametrize("how", KEEPERS)
def test_whatever_keeps_a_result_keeps_its_numbers(f, how):
    for q in SAMPLES[10:14]:
        keeper = KEEPERS[how](f(q, q, q))
        others(f)
        assert same_bits(numbers_in(keeper), wanted(q))


def test_part_of_a_result(f):
    for q in SAMPLES[10:14]:
        part = f(q, q, q)[1:][:1]
        others(f)
        assert part[0] == wanted(q)[1]


def test_results_as_arguments(f):
    """A chain of calls, where each result is the argument of the next and then dropped."""
    x, y = Q, Q.tolist()
    for _ in range(50):
        x, y = np.tanh(f(x, x, f(x, x, x))), np.tanh(wanted_of(f, y))
        assert same_bits(x, y)


def wanted_of(f, y):
    y = np.asarray(y)
    inner = f(y.tolist(), y, y).copy()
    return f(y.tolist(), y, inner).copy()


CHANGES = {
    "shape": lambda r: setattr(r, "shape", (1, 2)),
    "columns": lambda r: setattr(r, "shape", (2, 1)),
    "read-only": lambda r: r.setflags(write=False),
    "type": lambda r: setattr(r, "dtype", np.int64),
    "bytes": lambda r: setattr(r, "dtype", ">f8"),
    "size": lambda r: r.resize(5, refcheck=False) if r.flags.owndata else None,
    "order": lambda r: r.byteswap(inplace=True),
    "numbers": lambda r: r.fill(np.nan),
    "sorted": lambda r: r.sort(),
}


@pytest.mark.quick
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("how", CHANGES)
def test_a_result_that_was_changed_and_dropped_does_no_harm(f, how):
    for q in SAMPLES[20:24]:
        r = f(q, q, q)
        CHANGES[how](r)
        del r
        for again in (f(q, q, q), f(q, q, q), f(q, q, q)):
            assert again.shape == (2,)
            assert again.dtype == float
            assert again.flags.writeable and again.flags.c_contiguous
            assert same_bits(again, wanted(q))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_result_whose_strides_were_changed_does_no_harm(f):
    for q in SAMPLES[20:24]:
        kept = f(q, q, q)
        r = f(q, q, q)
        try:
            r.strides = (0,)
        except AttributeError:
            pytest.skip("this NumPy does not let strides be set")
        del r
        assert same_bits(f(q, q, q), wanted(q))
        assert same_bits(kept, wanted(q))


def test_a_matrix_whose_strides_were_changed_does_no_harm():
    g = robot().mass_matrix
    q = robot().random(3)
    right = g(q.tolist()).copy()
    r = g(q)
    r.shape = r.shape[::-1]
    r[:] = np.nan
    del r
    for _ in range(4):
        assert same_bits(g(q), right)


def test_a_weak_reference_never_shows_other_numbers(f):
    for q in SAMPLES[30:34]:
        result = f(q, q, q)
        seen = weakref.ref(result)
        del result
        others(f)
        assert seen() is None or same_bits(seen(), wanted(q))


def test_a_dictionary_of_weak_references(f):
    known = weakref.WeakValueDictionary()
    for number, q in enumerate(SAMPLES[:50]):
        known[number] = f(q, q, q)
    for number, result in list(known.items()):
        assert same_bits(result, wanted(SAMPLES[number]))


@pytest.mark.usefixtures("only_new")
def test_results_outlive_the_robot():
    system = fb.robots.double_pendulum()
    results = [system.inverse_dynamics(q, q, q) for q in SAMPLES[:20]]
    del system
    gc.collect()
    assert all(same_bits(r, wanted(q)) for r, q in zip(results, SAMPLES[:20], strict=True))


@pytest.mark.parametrize("method", ["inverse_dynamics", "mass_matrix", "poses"])
def test_new_results_are_not_shared_between_functions(method):
    a, b = fb.robots.double_pendulum(), fb.robots.double_pendulum()
    arrays = arguments(a, method)
    first = [function(a, method)(*arrays) for _ in range(4)]
    second = [function(b, method)(*arrays) for _ in range(4)]
    addresses = {r.ctypes.data for r in (*first, *second)}
    assert len(addresses) == 8
