"""Wrong arguments are refused before any work, and the message says which, what was expected and what was given."""

import re

import numpy as np
import pytest

import fourbar as fb
from fourbar import ArgumentError, UnknownNameError
from fourbar.compile.llvm import batch_lanes
from fourbar.functions.methods import METHODS

from .support import arguments, function, pendulum, robot

Q = np.array([0.3, -0.7])
EACH_ARGUMENT = [(m, k) for m, entry in METHODS.items() for k in range(len(entry.arguments))]
REQUIRED = [(m, k) for m, k in EACH_ARGUMENT if METHODS[m].defaults[METHODS[m].arguments[k]] is None]


@pytest.fixture
def idle(monkeypatch):
    """A robot that must not begin to work."""
    system = fb.robots.double_pendulum()
    monkeypatch.setattr("fourbar.functions.recording.record_program", lambda *a: pytest.fail("began to work"))
    return system


@pytest.mark.quick
@pytest.mark.parametrize(("method", "k"), EACH_ARGUMENT)
def test_a_wrong_shape(method, k):
    f = function(robot(), method)
    name = METHODS[method].arguments[k]
    shape = METHODS[method].inputs[k].shape(robot().model)
    for batch in ((), (3,)):
        arrays = arguments(robot(), method, batch)
        wrong = [np.zeros((*shape[:-1], shape[-1] + 1)), np.zeros((*batch, 1)), np.zeros(())] if shape else []
        for bad in wrong:
            arrays[k] = bad
            wanted = "(" + ", ".join(["...", *map(str, shape)]) + ")"
            message = re.escape(f"{method}: {name} must have shape {wanted}, got {bad.shape}")
            with pytest.raises(ArgumentError, match=message):
                f(*arrays)


@pytest.mark.parametrize(("method", "k"), REQUIRED)
def test_a_missing_argument(method, k):
    f = function(robot(), method)
    name = METHODS[method].arguments[k]
    named = dict(zip(METHODS[method].arguments, arguments(robot(), method), strict=True))
    for given in ({**named, name: None}, {n: a for n, a in named.items() if n != name}):
        with pytest.raises(TypeError, match=rf"{method}\(.*needs '{name}', an array of shape"):
            f(**given)


@pytest.mark.parametrize("method", METHODS)
def test_too_many_and_unknown_arguments(method):
    f = function(robot(), method)
    arrays = arguments(robot(), method)
    count = len(METHODS[method].arguments) + len(METHODS[method].optional)
    with pytest.raises(TypeError, match=rf"{method}\(.*takes {count} arrays, {count + 1} were given"):
        f(*[Q] * (count + 1))
    with pytest.raises(TypeError, match=rf"{method}\(.*has no argument 'speed'.*out= and threads="):
        f(*arrays, speed=1.0)
    with pytest.raises(TypeError, match="twice"):
        f(*arrays, **{METHODS[method].arguments[0]: arrays[0]})


WRONG_KINDS = {
    "complex": (np.array([1j, 0]), "must hold real numbers, got an array of dtype complex128"),
    "text": (["a", "b"], "must hold real numbers, got an array of dtype <U1"),
    "dates": (np.zeros(2, "M8[s]"), r"must hold real numbers, got an array of dtype datetime64"),
    "records": (np.zeros(2, [("x", float)]), "must hold real numbers"),
    "ragged": ([[1.0], [1.0, 2.0]], "cannot be read as an array of numbers"),
    "objects": (np.array([object(), 1.0]), "cannot be read as an array of numbers.*object"),
    "nothing": ([None, 1.0], "cannot be read as an array of numbers.*None"),
    "dictionary": ({"q": 1.0}, "is a dictionary; expected an array"),
    "masked": (np.ma.masked_array([1.0, 2.0], [True, False]), "has masked entries"),
}


@pytest.mark.quick
@pytest.mark.parametrize("wrong", WRONG_KINDS)
@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_wrong_kind(idle, wrong, place):
    value, message = WRONG_KINDS[wrong]
    given = [Q, Q, Q]
    given[place] = value
    with pytest.raises(ArgumentError, match=f"inverse_dynamics: {'qva'[place]} {message}"):
        idle.inverse_dynamics(*given)


@pytest.mark.quick
def test_shapes_are_checked_before_tracing(idle):
    with pytest.raises(ArgumentError, match="v must have shape"):
        idle.inverse_dynamics(Q, np.zeros(3), Q)
    with pytest.raises(ArgumentError, match=r"f_ext must have shape \(\.\.\., 2, 6\), got \(6,\)"):
        idle.inverse_dynamics(Q, Q, Q, f_ext=np.zeros(6))
    with pytest.raises(TypeError, match="needs 'a'"):
        idle.inverse_dynamics(Q, Q)


@pytest.mark.quick
def test_batches_that_do_not_broadcast(idle):
    message = r"inverse_dynamics: the leading \(batch\) axes do not broadcast together: q \(4,\), v \(\), a \(3,\)"
    with pytest.raises(ArgumentError, match=message):
        idle.inverse_dynamics(np.zeros((4, 2)), Q, np.zeros((3, 2)))


OPTIONS = {
    "unknown frame": (lambda r: r.pose(Q, "tipp"), UnknownNameError, "no frame or body 'tipp'; did you mean 'tip'"),
    "far frame": (lambda r: r.pose(Q, "hand"), UnknownNameError, "known: .*upper, lower"),
    "frame of another type": (lambda r: r.pose(Q, 3), UnknownNameError, "frame or body 3"),
    "frame as a table": (lambda r: r.pose(Q, {}), ArgumentError, r"pose: frame=\{\}: expected a name"),
    "axes as a set": (lambda r: r.jacobian(Q, "tip", expressed_in={"tip"}), ArgumentError, "expressed_in=.*a name"),
    "frames in no order": (lambda r: r.osim_inverse(Q, frames=frozenset({"tip"})), ArgumentError, "or a list of them"),
    "an option that changes": (lambda r: r.pose(Q, [{}]), ArgumentError, "expected a name"),
    "half a configuration": (lambda r: r.random(0, 1.5), ArgumentError, "n must be a whole number.*got 1.5"),
    "no seed": (lambda r: r.random("x"), ArgumentError, "rng='x': expected a seed"),
    "less than none": (lambda r: r.random(0, -1), ArgumentError, "n must be a whole number.*got -1"),
    "no frame": (lambda r: r.pose(Q), TypeError, "pose needs 'frame'"),
    "unknown axes": (lambda r: r.velocity(Q, Q, "tip", expressed_in="lwer"), UnknownNameError, "'lwer'.*lower"),
    "unknown place": (lambda r: r.velocity(Q, Q, "tip", at="com"), ArgumentError, "at='com'.*'origin', 'world'"),
    "short point": (lambda r: r.velocity(Q, Q, "tip", at=(1, 2)), ArgumentError, "three finite numbers"),
    "long point": (lambda r: r.velocity(Q, Q, "tip", at=np.zeros((2, 3))), ArgumentError, "three finite numbers"),
    "NaN point": (lambda r: r.velocity(Q, Q, "tip", at=(0, 0, np.nan)), ArgumentError, "three finite numbers"),
    "point of words": (lambda r: r.velocity(Q, Q, "tip", at=("x", "y", "z")), ArgumentError, "three finite numbers"),
    "one joint as text": (lambda r: r.hybrid_dynamics(Q, Q, Q, Q, prescribed="elbow"), ArgumentError, "a list"),
    "unknown joint": (lambda r: r.hybrid_dynamics(Q, Q, Q, Q, ["elbw"]), UnknownNameError, "'elbw'.*'elbow'"),
    "no joints": (lambda r: r.hybrid_dynamics(Q, Q, Q, Q), TypeError, "needs 'prescribed'"),
    "no frames": (lambda r: r.osim_inverse(Q), ArgumentError, "at least one name in frames= or points="),
    "frames as text": (lambda r: r.osim_inverse(Q, "tip"), ArgumentError, "lists of names"),
    "unknown point": (lambda r: r.osim_inverse(Q, points=["tipp"]), UnknownNameError, "'tipp'.*'tip'"),
    "about": (lambda r: r.momentum(Q, Q, about="base"), ArgumentError, "about='base'.*'com'"),
    "too many options": (lambda r: r.pose(Q, "tip", "world"), TypeError, "too many"),
    "an option twice": (lambda r: r.pose(Q, "tip", frame="lower"), TypeError, "twice"),
    "unknown option": (
        lambda r: r.pose.specialise("tip", axes="world"),
        TypeError,
        "no argument 'axes'; it takes frame",
    ),
    "unknown name": (lambda r: r.pose(Q, "tip", axes="world"), TypeError, "no argument 'axes'"),
    "wrong gravity": (lambda r: r.with_gravity(9.81), fb.ModelError, r"gravity: expected shape \(3,\)"),
}


@pytest.mark.quick
@pytest.mark.parametrize("wrong", OPTIONS)
def test_wrong_options(idle, wrong):
    call, error, message = OPTIONS[wrong]
    with pytest.raises(error, match=message):
        call(idle)


def test_right_options_are_kept():
    """The same choice, written in several ways, is compiled once."""
    tip = pendulum().velocity.specialise("tip", at=(0.1, 0.2, 0.3))
    assert pendulum().velocity.specialise(frame="tip", at=[0.1, 0.2, 0.3]) is tip
    assert pendulum().velocity.specialise("tip", np.array([0.1, 0.2, 0.3])) is tip
    both = pendulum().hybrid_dynamics.specialise(["shoulder", "elbow"])
    assert pendulum().hybrid_dynamics.specialise(prescribed=iter(["shoulder", "elbow"])) is both
    tips = pendulum().osim_inverse.specialise(["tip", "lower"])
    assert pendulum().osim_inverse.specialise(frames=(x for x in ("tip", "lower"))) is tips


def test_whether_an_option_is_right_does_not_depend_on_earlier_ones():
    """1 is equal to True."""
    for _ in range(2):
        with pytest.raises(ArgumentError, match="packed"):
            pendulum().regressor(Q, Q, Q, packed=1)
        pendulum().regressor(Q, Q, Q, packed=True)


def test_all_errors_of_the_library_are_of_one_family():
    for error, plain in ((ArgumentError, ValueError), (UnknownNameError, KeyError), (fb.ModelError, ValueError)):
        assert issubclass(error, fb.FourbarError)
        assert issubclass(error, plain)


@pytest.mark.parametrize("wrong", ["", "LLVM", "c", "numpy "])
def test_an_unknown_backend(wrong, monkeypatch):
    monkeypatch.setenv("FOURBAR_BACKEND", wrong)
    with pytest.raises(ValueError, match=f"FOURBAR_BACKEND={wrong!r}: expected one of llvm, numpy"):
        fb.robots.double_pendulum().inverse_dynamics(Q, Q, Q)


@pytest.mark.parametrize("wrong", ["0", "3", "16", "four", ""])
def test_an_unknown_width(wrong, monkeypatch):
    monkeypatch.setenv("FOURBAR_LANES", wrong)
    with pytest.raises(ValueError, match=f"FOURBAR_LANES={wrong!r}: expected 1, 2, 4 or 8 samples per vector"):
        batch_lanes.__wrapped__()
