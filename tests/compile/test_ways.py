"""Every way to give arguments and get results: what the machine code serves, and that it says the same as arrays do."""

import sys
from pathlib import Path

import numpy as np
import pytest

import fourbar as fb
from fourbar import ArgumentError
from fourbar.errors import UnknownNameError

from .support import chain, fast_calls_only, pendulum, robot, same_bits

Q, V, A = np.array([0.3, -0.7]), np.array([1.0, -2.0]), np.array([0.5, 4.0])
MANY = np.random.default_rng(0).uniform(-1.0, 1.0, (6, 2))
FORCES = np.random.default_rng(1).uniform(-1.0, 1.0, 12)
WHOLE = [[0, -1], [1, 2], [2**60 + 1, 3]]
SHORT = np.array([0.3, 1.0], np.float32)
SOURCE = str(Path(fb.__file__).parent)


def entered(call):
    """The functions of fourbar in Python that a call enters."""
    seen = []

    def note(frame, event, arg):
        if event == "call" and frame.f_code.co_filename.startswith(SOURCE):
            seen.append(frame.f_code.co_name)

    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    return seen


def forces():
    return FORCES.reshape(len(pendulum().names.bodies), 6)


def id_(*args, **named):
    return pendulum().inverse_dynamics(*args, **named)


def kinetic(*args):
    return pendulum().kinetic_energy(*args)


def potential(*args, **named):
    return pendulum().potential_energy(*args, **named)


def step(*args):
    return pendulum().integrate(*args)


def tiled(x, *shape):
    return np.ascontiguousarray(np.broadcast_to(x, (*shape, *x.shape)))


# The call, and the same with float64 arrays of full shape; the shape of its batch.
WAYS = {
    "lists": (lambda: id_(Q.tolist(), V.tolist(), A.tolist()), lambda: id_(Q, V, A)),
    "tuples": (lambda: id_(tuple(Q.tolist()), V, tuple(A)), lambda: id_(Q, V, A)),
    "lists of whole numbers": (lambda: id_([0, -1], [1, 2], [2**60 + 1, 3]), lambda: id_(*np.array(WHOLE, float))),
    "lists of numbers of NumPy": (lambda: id_(list(Q), list(V), list(A)), lambda: id_(Q, V, A)),
    "float32": (lambda: id_(*np.float32([Q, V, A])), lambda: id_(*np.float32([Q, V, A]).astype(float))),
    "float32 in steps": (lambda: id_(np.float32([Q, V]).T[0], V, A), lambda: id_(SHORT.astype(float), V, A)),
    "whole numbers": (lambda: id_(np.array([1, -2]), V, A), lambda: id_(np.array([1.0, -2.0]), V, A)),
    "names": (lambda: id_(a=A, q=Q, v=V), lambda: id_(Q, V, A)),
    "some names": (lambda: id_(Q, a=A, v=V), lambda: id_(Q, V, A)),
    "names and None": (lambda: id_(Q, V, A, f_ext=None, out=None, threads=None), lambda: id_(Q, V, A)),
    "None by place": (lambda: id_(Q, V, A, None), lambda: id_(Q, V, A)),
    "an optional argument": (lambda: id_(Q, V, A, forces()), lambda: id_(tiled(Q, 1), V, A, forces())[0]),
    "an optional argument by name": (lambda: id_(Q, v=V, a=A, f_ext=forces()), lambda: id_(Q, V, A, forces())),
    "a batch with one for all": (lambda: id_(MANY, V, A), lambda: id_(MANY, tiled(V, 6), tiled(A, 6))),
    "one for all first": (lambda: id_(Q, MANY, A), lambda: id_(tiled(Q, 6), MANY, tiled(A, 6))),
    "one sample for all": (lambda: id_(Q[None], MANY, A), lambda: id_(tiled(Q, 6), MANY, tiled(A, 6))),
    "one sample for all, last": (lambda: id_(MANY, MANY, A[None]), lambda: id_(MANY, MANY, tiled(A, 6))),
    "a list for all": (lambda: id_(MANY, V.tolist(), A), lambda: id_(MANY, tiled(V, 6), tiled(A, 6))),
    "two axes": (lambda: id_(*[MANY.reshape(2, 3, 2)] * 3), lambda: id_(MANY, MANY, MANY).reshape(2, 3, 2)),
    "a column": (lambda: id_(*[MANY[:, None]] * 3), lambda: id_(MANY, MANY, MANY)[:, None]),
    "a row": (lambda: id_(*[MANY[None]] * 3), lambda: id_(MANY, MANY, MANY)[None]),
    "one sample, two axes": (lambda: id_(*[Q[None, None]] * 3), lambda: id_(Q, Q, Q)[None, None]),
    "one among two axes": (lambda: id_(MANY[:, None], V, A[None, None]), lambda: id_(MANY, V, A)[:, None]),
    "every second": (lambda: id_(*[MANY[::2]] * 3), lambda: id_(*[MANY[::2].copy()] * 3)),
    "backwards": (lambda: id_(Q[::-1], V, A), lambda: id_(Q[::-1].copy(), V, A)),
    "a number as the result": (lambda: kinetic(Q, V), lambda: kinetic(tiled(Q, 1), V)[0]),
    "a number for each sample": (lambda: potential(MANY), lambda: np.array([potential(q) for q in MANY])),
    "a number into an array": (lambda: potential(Q, out=np.zeros(())), lambda: np.array(potential(Q))),
    "a float": (lambda: step(Q, V, 1e-3), lambda: step(Q, V, np.array(1e-3))),
    "a whole number": (lambda: step(Q, V, -1), lambda: step(Q, V, np.array(-1.0))),
    "a number of NumPy": (lambda: step(Q, V, np.float64(0.1)), lambda: step(Q, V, np.array(0.1))),
    "a float for a batch": (lambda: step(MANY, MANY, 0.1), lambda: step(MANY, MANY, np.full(6, 0.1))),
    "a float for each": (lambda: step(MANY, V, np.full(6, 0.1)), lambda: step(MANY, tiled(V, 6), np.full(6, 0.1))),
}  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
def test_the_same_bits(way):
    call, plain = WAYS[way]
    wanted = np.array(plain())
    for _ in range(4):  # in Python, then in machine code, into spare results
        found = call()
        assert isinstance(found, np.float64 if way == "a number as the result" else np.ndarray)
        assert same_bits(found, wanted)


@fast_calls_only
@pytest.mark.parametrize("way", WAYS)
def test_python_is_not_entered(way):
    call, _ = WAYS[way]
    call(), call()
    assert [name for name in entered(call) if name not in ("pendulum", "double_pendulum", "shape")] == []


@fast_calls_only
def test_several_results():
    f = pendulum().hybrid_dynamics.specialise(prescribed=["elbow"])
    several = [np.array(x) for x in f(MANY, MANY, MANY, MANY)]
    f(*[MANY[0]] * 4), f(*[MANY] * 4)
    kept = [f(q, q, q, q) for q in MANY]
    assert all(type(one) is tuple and len(one) == 2 for one in kept)
    for k, one in enumerate(kept):
        assert same_bits(one[0], several[0][k])
        assert same_bits(one[1], several[1][k])
    assert entered(lambda: f(Q, Q, Q, Q)) == []
    a, tau = np.empty(2), np.empty(2)
    assert f(Q, Q, Q, Q, out=(a, tau))[0] is a
    assert same_bits(tau, f(Q, Q, Q, Q)[1])


CONVERTED = {
    "lists of lists": lambda: id_(MANY.tolist(), MANY.tolist(), MANY.tolist()),
    "float32 in a batch": lambda: id_(*[MANY.astype(np.float32)] * 3),
    "truth": lambda: id_(np.array([True, False]), V, A),
    "int32": lambda: id_(np.array([1, 2], np.int32), V, A),
}


@fast_calls_only
@pytest.mark.parametrize("way", CONVERTED)
def test_what_is_converted_first(way):
    """Once it is an array, the machine code takes it; nothing is bound, looked at or explained in Python."""
    CONVERTED[way](), CONVERTED[way]()
    assert not {"bind", "to_array", "batch_shape", "run"} & set(entered(CONVERTED[way]))


WRONG = {
    "a list that is too long": [0.1, 0.2, 0.3],
    "a list with None": [0.1, None],
    "a list with text": [0.1, "0.2"],
    "a list with a list": [0.1, [0.2]],
    "a complex number": [0.1, 1j],
    "a number that is too large": [0.1, 10**400],
    "a number": 0.1,
    "a set": {0.1, 0.2},
    "complex numbers": np.array([0.1, 1j]),
}


@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("place", range(3))
def test_what_is_no_array_of_numbers(wrong, place):
    id_(Q, V, A)
    given = [Q, V, A]
    given[place] = WRONG[wrong]
    for _ in range(2):
        with pytest.raises((ArgumentError, OverflowError), match=r"inverse_dynamics|too large"):
            id_(*given)
    assert same_bits(id_(Q, V, A), id_(Q.tolist(), V, A))


def test_a_list_that_is_long():
    """Only so many numbers are converted in machine code."""
    long, q = chain(60), np.linspace(-1.0, 1.0, 60)
    wanted = long.inverse_dynamics(q, q, q).copy()
    for _ in range(3):
        assert same_bits(long.inverse_dynamics(q.tolist(), q.tolist(), q.tolist()), wanted)


def test_out_for_one_sample_does_not_stand_for_a_batch():
    id_(MANY, V, A)
    for out in (np.empty((1, 2)), np.empty(2), np.empty((3, 2, 2))):
        with pytest.raises(ArgumentError, match="out"):
            id_(MANY, V, A, out=out)


def test_out_over_an_argument_of_a_batch():
    """What is the same for all samples must not be overwritten before the last of them has read it."""
    wanted = id_(MANY, V, A).copy()
    memory = MANY.copy()
    for _ in range(2):
        memory[:] = MANY
        assert same_bits(id_(memory, V, A, out=memory), wanted)
    first = id_(MANY, MANY[0], A).copy()
    memory[:] = MANY
    assert same_bits(id_(memory, memory[0], A, out=memory), first)


def test_frames_by_name():
    f, q = robot().jacobian, robot().random(0)
    wanted = f.specialise("tip", expressed_in="frame")(q).copy()
    for _ in range(3):
        assert same_bits(f(q, "tip", "origin", "frame"), wanted)
        assert same_bits(f(q, frame="tip", expressed_in="frame"), wanted)
        assert same_bits(f(q, "tip", expressed_in="frame", out=np.empty((6, robot().nv))), wanted)
        assert same_bits(f(q=q, frame="".join(["t", "ip"]), expressed_in="frame"), wanted)
        assert not same_bits(f(q, "tip"), wanted)
        with pytest.raises(UnknownNameError, match="tap"):
            f(q, "tap")


@fast_calls_only
def test_frames_are_not_read_again():
    f, q = robot().jacobian, robot().random(0)
    for call in (lambda: f(q, "tip"), lambda: f(q, frame="tip", at=(0.0, 0.1, 0.0)), lambda: robot().pose(q, "tip")):
        call(), call()
        assert not {"specialise", "read_choice", "bind"} & set(entered(call))


def test_options_that_are_equal_but_not_the_same():
    """1 equals True, and is no answer to a question."""
    f, q = robot().regressor, robot().random(0)
    v = np.zeros(robot().nv)
    f(q, v, v, packed=True), f(q, v, v, packed=True)
    with pytest.raises(ArgumentError, match="packed"):
        f(q, v, v, packed=1)


def test_derivatives_every_way():
    f = pendulum().inverse_dynamics
    wanted = np.array(f.jvp({"q": Q, "v": V, "a": A}, {"q": V, "a": Q}))
    assert same_bits(f.jvp((Q, V, A), (V, None, Q)), wanted)
    np.testing.assert_allclose(f.jvp((Q, V, A), (V, 0.0 * V, Q)), wanted, rtol=1e-14)
    gradient = f.vjp({"q": Q, "v": V, "a": A}, {"tau": A})
    for again in (f.vjp((Q, V, A), A), f.vjp((Q.tolist(), V, A), A), f.vjp((Q, V, A), (A,))):
        assert again._fields == gradient._fields == ("q", "v", "a")
        assert all(same_bits(x, y) for x, y in zip(again, gradient, strict=True))
    energy = pendulum().kinetic_energy
    many = energy.jacobian(MANY, MANY)
    one = energy.jacobian(MANY[2], MANY[2])
    assert same_bits(one.q, many.q[2])
    assert same_bits(one.v, many.v[2])


@fast_calls_only
def test_derivatives_are_not_bound_by_name():
    f = pendulum().inverse_dynamics
    for call in (lambda: f.jvp((Q, V, A), (Q, V, A)), lambda: f.vjp((Q, V, A), A)):
        call(), call()
        assert not {"bind", "to_array", "run"} & set(entered(call))
