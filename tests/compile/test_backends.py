"""The reference interpreter as a backend: slower, the same contract, the same numbers."""

import pickle

import numpy as np
import pytest

import fourbar as fb
from fourbar.compile import callables
from fourbar.functions.methods import METHODS

from .support import INTERPRETED, arguments, as_tuple, function, mixed, python, robot


@pytest.fixture
def interpreted(monkeypatch):
    """A robot of which every function that is asked for within the test is interpreted."""
    monkeypatch.setenv("FOURBAR_BACKEND", "numpy")
    return mixed()


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("batch", [(), (7,), (2, 0)], ids=str)
def test_the_same_numbers(method, batch, monkeypatch):
    arrays = arguments(robot(), method, batch)
    ours = function(robot(), method)(*arrays)
    monkeypatch.setenv("FOURBAR_BACKEND", "numpy")
    theirs = function(mixed(), method)(*arrays)
    for a, b in zip(as_tuple(theirs), as_tuple(ours), strict=True):
        assert a.shape == b.shape
        assert type(a) is type(b)
        np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-11)


def test_the_same_contract(interpreted):
    q, v, a = arguments(interpreted, "inverse_dynamics", (4,))
    wanted = interpreted.inverse_dynamics(q, v, a)
    out = np.empty(wanted.shape)
    assert interpreted.inverse_dynamics(q, v, a, out=out, threads=2) is out
    assert np.array_equal(out, wanted)
    assert interpreted.inverse_dynamics(q, v, a, out=v) is v
    assert np.array_equal(v, wanted)
    copy = pickle.loads(pickle.dumps(interpreted.inverse_dynamics))
    assert np.array_equal(copy(q, a, a), interpreted.inverse_dynamics(q, a, a))
    with pytest.raises(fb.ArgumentError, match="q must have shape"):
        interpreted.inverse_dynamics(q[:, 1:], v, a)


def test_another_process(tmp_path):
    """A process that interprets, and for that needs no compiler: within 1e-13 of the machine code of this one."""
    given, found = tmp_path / "given.npy", tmp_path / "found.npy"
    np.save(given, np.random.default_rng(0).uniform(-1.0, 1.0, (3, 50, 2)))
    code = f"""
import sys
sys.modules["llvmlite"] = None
import numpy as np, fourbar as fb
robot = fb.robots.double_pendulum()
arrays = np.load({str(given)!r})
np.save({str(found)!r}, [robot.inverse_dynamics(*arrays), robot.forward_dynamics(*arrays)])
"""
    python(code, FOURBAR_BACKEND="numpy")
    system = fb.robots.double_pendulum()
    for f, theirs in zip((system.inverse_dynamics, system.forward_dynamics), np.load(found), strict=True):
        ours = f(*np.load(given))
        np.testing.assert_allclose(theirs, ours, rtol=1e-13, atol=1e-13 * np.abs(ours).max())


def test_which_backend_runs():
    fast = not INTERPRETED and callables.is_supported()
    assert (robot().inverse_dynamics.state[0].environment is not None) == fast
