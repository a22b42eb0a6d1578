"""The call that is machine code from its first instruction on: whatever it gets, it answers or lets Python answer."""

import functools
import gc
import operator
import pydoc
import sys
import threading

import numpy as np
import pytest

import fourbar as fb
from fourbar import ArgumentError
from fourbar.compile import callables
from fourbar.expr import interpret

from .support import arguments, fast_calls_only, pendulum, robot, same_bits

Q = np.array([0.3, -0.7])
MANY = np.random.default_rng(0).random((200, 2))


@pytest.fixture
def f():
    """A function whose machine code has been armed for one sample and for batches."""
    made = fb.robots.double_pendulum().inverse_dynamics
    made(Q, Q, Q), made(Q, Q, Q), made(MANY, MANY, MANY), made(MANY, MANY, MANY)
    return made


def works(f):
    wanted = pendulum().inverse_dynamics(Q.tolist(), Q, Q)
    return all(same_bits(f(Q, Q, Q), wanted) for _ in range(3)) and same_bits(f(MANY, MANY, MANY)[7], f(*[MANY[7]] * 3))


@fast_calls_only
def test_it_is_used(f):
    """A call does not enter Python: a tracer sees nothing of it."""
    seen = []
    sys.setprofile(lambda frame, event, arg: seen.append(event) if event == "call" else None)
    try:
        f(Q, Q, Q)
        f(MANY, MANY, MANY)
        f(Q, Q, Q, out=Q.copy())
    finally:
        sys.setprofile(None)
    assert not seen


@fast_calls_only
def test_it_is_used_for_many_parameters():
    """Masses, centres and inertias of all links of a chain: each sample as a robot of its own."""
    b, rng, parent = fb.Builder("chain"), np.random.default_rng(1), "world"
    for name in "abcdef":
        b.body(name, parent=parent, joint=fb.joints.Revolute("x" if parent == "world" else "y"), position=(0.1, 0, 0.3),
               mass=1.0, com=(0.1, 0.02, 0.2), inertia=(0.02, 0.03, 0.025))  # fmt: skip
        parent = name
    chain, fields = b.build(), ("mass", "com", "inertia")
    varied = chain.varying(*(f"{name}.{field}" for name in "abcdef" for field in fields))
    q, scales = rng.normal(size=(21, 6)), rng.uniform(0.5, 1.5, 21)
    given = [scales.reshape(-1, *[1] * x.ndim) * x for x in varied.nominal.values()]
    f = varied.mass_matrix
    whole = [f(q, *given) for _ in range(3)]
    seen = []
    sys.setprofile(lambda frame, event, arg: seen.append(event) if event == "call" else None)
    try:
        again = f(q, *given)
    finally:
        sys.setprofile(None)
    assert not seen and all(same_bits(again, x) for x in whole)
    for k in (0, 7, 20):
        one = dict(zip(varied.names, (x[k] for x in given), strict=True))
        assert same_bits(f(q[k], *one.values()), again[k])
        own = chain.with_parameters(bodies={x: {field: one[f"{x}.{field}"] for field in fields} for x in "abcdef"})
        assert np.abs(own.mass_matrix(q[k]) - again[k]).max() < 1e-12


NOT_ARRAYS = [None, "q", b"q", 1, 1.5, True, (), [], {"q": 1}, set(), object(), type, np.ndarray, len, np.float64(1.0)]


@pytest.mark.quick
@pytest.mark.parametrize("wrong", NOT_ARRAYS, ids=lambda x: getattr(x, "__name__", type(x).__name__))
@pytest.mark.parametrize("place", [0, 1, 2])
def test_objects_that_are_no_arrays(f, wrong, place):
    given = [Q, Q, Q]
    given[place] = wrong
    with pytest.raises((TypeError, ArgumentError), match="inverse_dynamics"):
        f(*given)
    assert works(f)


WRONG_ARRAYS = {
    "no axes": np.array(1.0),
    "too short": np.zeros(1),
    "too long": np.zeros(3),
    "empty": np.zeros(0),
    "column": np.zeros((2, 1)),
    "too deep": np.zeros((2, 2, 1)),
    "other batch": np.zeros((5, 2)),
    "complex": np.zeros(2, complex),
    "text": np.array(["a", "b"]),
    "dates": np.zeros(2, "M8[s]"),
    "records": np.zeros(2, [("x", float)]),
    "objects": np.array([None, 1.0]),
}


@pytest.mark.quick
@pytest.mark.parametrize("wrong", WRONG_ARRAYS)
@pytest.mark.parametrize("place", [0, 1, 2])
def test_arrays_that_do_not_fit(f, wrong, place):
    for good in (Q, np.zeros((4, 2))):
        given = [good] * 3
        given[place] = WRONG_ARRAYS[wrong]
        if wrong == "other batch" and good is Q:
            assert f(*given).shape == (5, 2)
            continue
        with pytest.raises(ArgumentError, match=f"inverse_dynamics: .*{'qva'[place]}"):
            f(*given)
    assert works(f)


@pytest.mark.quick
@pytest.mark.parametrize("count", [0, 1, 2, 4, 5, 9, 50])
def test_wrong_numbers_of_arguments(f, count):
    with pytest.raises((TypeError, ArgumentError), match="inverse_dynamics"):
        f(*[Q] * count)
    assert works(f)


def test_wrong_names(f):
    for given in ({"foo": Q}, {"q": Q}, {"out": Q, "foo": 1}, {"threads": 1, "out": [1]}, {"": Q}, {"a" * 1000: Q}):
        with pytest.raises((TypeError, ArgumentError), match="inverse_dynamics"):
            f(Q, Q, Q, **given)
    with pytest.raises(TypeError):
        f(Q, Q, Q, **{1: Q})
    assert works(f)


def test_every_way_to_call(f):
    wanted = f(Q, Q, Q)
    ways = [
        f(*[Q] * 3), f(Q, v=Q, a=Q), f(q=Q, v=Q, a=Q), f(Q, Q, Q, out=None), f(Q, Q, Q, threads=1), f(Q, Q, Q, None),
        f(Q, Q, Q, out=Q.copy(), threads=1), f(Q, Q, Q, threads=1, out=Q.copy()), f.__call__(Q, Q, Q),
        functools.partial(f, Q)(Q, Q), functools.reduce(lambda g, x: functools.partial(g, x), [Q, Q], f)(Q),
        next(map(f, [Q], [Q], [Q])), operator.call(f, Q, Q, Q), f(**dict.fromkeys("qva", Q)),
    ]  # fmt: skip
    assert all(same_bits(w, wanted) for w in ways)


def test_the_state_of_errors_is_left_alone(f):
    try:
        raise KeyError("mine")
    except KeyError as mine:
        assert works(f)
        with pytest.raises(ArgumentError):
            f(Q, Q, Q[:1])
        assert sys.exc_info()[1] is mine
    assert sys.exc_info() == (None, None, None)


def test_errors_inside_an_argument_come_through(f):
    class Angry:
        def __array__(self, dtype=None, copy=None):
            raise ZeroDivisionError("angry")

    with pytest.raises(ZeroDivisionError, match="angry"):
        f(Q, Q, Angry())
    assert works(f)


def test_an_argument_that_calls_the_function_again(f):
    class Recursive:
        def __array__(self, dtype=None, copy=None):
            return f(Q, Q, Q)

    wanted = f(Q, Q, f(Q, Q, Q))
    assert same_bits(f(Q, Q, Recursive()), wanted)


def test_deep_recursion(f):
    def down(depth):
        return f(Q, Q, Q) if depth == 0 else down(depth - 1)

    with pytest.raises(RecursionError):
        down(10**6)
    assert works(f)


def test_calls_from_many_threads(f):
    """Both kinds of calls, all at once, on the same function; the results of each thread are its own."""
    samples = np.random.default_rng(1).random((8, 50, 2))
    wanted = [[f(q, q, q).copy() for q in some] for some in samples]
    start = threading.Barrier(8)
    failures = []

    def work(number):
        some = samples[number]
        start.wait()
        for turn in range(40):
            results = [f(q, q, q) for q in some]
            if not all(same_bits(r, w) for r, w in zip(results, wanted[number], strict=True)):
                failures.append((number, turn))
            if turn % 10 == 0 and not same_bits(f(some, some, some), np.array(wanted[number])):
                failures.append((number, turn, "batch"))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not failures


def test_first_calls_from_many_threads():
    system = fb.robots.double_pendulum()
    start = threading.Barrier(8)
    results = []

    def work():
        start.wait()
        results.append(system.forward_dynamics(Q, Q, Q).copy())

    threads = [threading.Thread(target=work) for _ in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(results) == 8
    assert all(same_bits(r, results[0]) for r in results)


@fast_calls_only
def test_a_function_cannot_be_taken_apart(f):
    for change in (lambda: setattr(f, "state", None), lambda: delattr(f, "state"), lambda: setattr(f, "other", 1)):
        with pytest.raises(AttributeError, match="frozen"):
            change()
    empty = type(f)()
    with pytest.raises(TypeError):
        empty(Q, Q, Q)
    del empty
    assert works(f)


def test_functions_describe_themselves(f):
    assert repr(f) == "<fourbar function inverse_dynamics(q, v, a, f_ext=None) -> tau>"
    assert "RNEA" in f.help
    assert f.__doc__ == f.help
    assert "RNEA" in pydoc.render_doc(f, renderer=pydoc.plaintext)
    assert "first derivatives" in pydoc.render_doc(f.jacobian, renderer=pydoc.plaintext)
    assert f.signature == "(2),(2),(2)->(2)"
    assert f.program().name == "inverse_dynamics"
    assert "f_ext" in [x.name for x in f.program("f_ext").inputs]
    assert repr(robot().pose) == "<fourbar function pose(q, frame) -> T>"


def test_where_the_interpreter_does_not_allow_it(monkeypatch):
    arrays = arguments(pendulum(), "inverse_dynamics", (5,))
    wanted = pendulum().inverse_dynamics(*arrays)
    monkeypatch.setattr(callables, "is_supported", lambda: False)
    plain = fb.robots.double_pendulum().inverse_dynamics
    assert repr(plain) == "<fourbar function inverse_dynamics(q, v, a, f_ext=None) -> tau>"
    assert same_bits(plain(*arrays), wanted)
    with pytest.raises(ArgumentError):
        plain(Q, Q, Q[:1])
    with pytest.raises(AttributeError, match="frozen"):
        plain.held = None


def any_array(rng):
    """An array of a random shape, kind and arrangement in memory; mostly one that fits."""
    shape = [(2,), (2,), (1, 2), (5, 2), (5, 2), (70, 2), (3, 1, 2), (0, 2), (3,), (2, 5), ()][rng.integers(11)]
    array = rng.uniform(-1.0, 1.0, shape)
    if array.ndim and rng.integers(3) == 0:
        forms = (array[::-1], array[..., ::-1], np.asfortranarray(array), np.repeat(array, 2, -1)[..., ::2])
        array = forms[rng.integers(4)]
    kind = ["f8"] * 6 + ["f4", "i8", ">f8", "O", "c16"]
    array = array.astype(kind[rng.integers(len(kind))], copy=False)
    if rng.integers(6) == 0:
        array.flags.writeable = False
    return array


@pytest.mark.parametrize("seed", range(10))
def test_random_calls(f, seed):
    """Each is answered as the meaning of the program says, or refused if that cannot take it either."""
    rng = np.random.default_rng(seed)
    program = f.program()
    kept = []
    for _ in range(150):
        arrays = [any_array(rng) for _ in range(3)]
        if rng.integers(2):
            arrays = [arrays[0]] * 3
        shapes = [a.shape for a in arrays]
        try:
            batch = np.broadcast_shapes(*(s[:-1] for s in shapes))
        except ValueError:
            batch = None
        if batch is None or any(s[-1:] != (2,) for s in shapes) or any(a.dtype.kind == "c" for a in arrays):
            with pytest.raises(ArgumentError):
                f(*arrays)
        else:
            numbers = {name: a.astype(float) for name, a in zip("qva", arrays, strict=True)}
            kept.append((f(*arrays), interpret(program, numbers)["tau"]))
    for result, meant in kept:
        assert result.shape == meant.shape
        np.testing.assert_allclose(result, meant, rtol=1e-12, atol=1e-12)
    assert works(f)


@fast_calls_only
def test_an_interrupted_first_call_leaves_no_noise(monkeypatch):
    """What was half made is freed without an error that nobody can catch."""

    def interrupted():
        raise KeyboardInterrupt

    noise = []
    monkeypatch.setattr(callables, "_common", interrupted)
    monkeypatch.setattr(sys, "unraisablehook", noise.append)
    with pytest.raises(KeyboardInterrupt):
        callables.Environment(("q",), ("q",))
    gc.collect()
    assert noise == []
