"""out=: results into arrays of the user."""

import numpy as np
import pytest

from fourbar import ArgumentError

from .support import arguments, as_tuple, enough, function, pendulum, robot, same_bits

Q = np.array([0.3, -0.7])
BATCHES = pytest.mark.parametrize("batch", [(), (9,), (2, 3)], ids=str)


@pytest.mark.quick
@BATCHES
@pytest.mark.parametrize("method", ["inverse_dynamics", "mass_matrix", "kinetic_energy"])
def test_the_array_is_filled_and_returned(method, batch):
    f = function(robot(), method)
    arrays = arguments(robot(), method, batch)
    wanted = f(*arrays)
    for _ in range(3):
        out = np.full(np.shape(wanted), 99.0)
        assert f(*arrays, out=out) is out
        assert same_bits(out, wanted)
        assert f(*arrays, out=(out,)) is out


@pytest.mark.quick
@BATCHES
def test_several_results_take_a_tuple(batch):
    f = function(robot(), "hybrid_dynamics")
    arrays = arguments(robot(), "hybrid_dynamics", batch)
    wanted = f(*arrays)
    out = tuple(np.empty(w.shape) for w in wanted)
    result = f(*arrays, out=out)
    assert isinstance(result, tuple)
    assert all(r is o and same_bits(o, w) for r, o, w in zip(result, out, wanted, strict=True))


@pytest.mark.parametrize("method", ["inverse_dynamics", "mass_matrix", "poses"])
def test_it_need_not_be_contiguous(method):
    f = function(robot(), method)
    for batch in ((), (9,)):
        arrays = arguments(robot(), method, batch)
        wanted = f(*arrays)
        spread = np.full([2 * n for n in wanted.shape], 99.0)
        some = (slice(None, None, 2),) * wanted.ndim
        assert same_bits(f(*arrays, out=spread[some]).copy(), wanted)
        assert np.count_nonzero(spread == 99.0) >= spread.size - wanted.size
        backwards = np.empty(wanted.shape)[..., ::-1]
        assert same_bits(f(*arrays, out=backwards).copy(), wanted)
        assert same_bits(f(*arrays, out=np.empty(wanted.shape, order="F")).copy(), wanted)


def test_it_may_be_unaligned():
    for batch in ((), (9,)):
        arrays = arguments(robot(), "forward_dynamics", batch)
        wanted = robot().forward_dynamics(*arrays)
        out = np.zeros(wanted.size * 8 + 1, np.uint8)[1:].view(np.float64).reshape(wanted.shape)
        assert same_bits(robot().forward_dynamics(*arrays, out=out).copy(), wanted)


@pytest.mark.quick
@pytest.mark.parametrize("batch", [(), (50,), (5, 10)], ids=str)
@pytest.mark.parametrize("which", [0, 1, 2])
def test_it_may_be_an_input(which, batch):
    arrays = arguments(pendulum(), "inverse_dynamics", batch)
    wanted = pendulum().inverse_dynamics(*arrays)
    out = arrays[which]
    assert same_bits(pendulum().inverse_dynamics(*arrays, out=out), wanted)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("shift", [1, 2, 7, 4096])
def test_it_may_overlap_an_input(shift, threads):
    """The memory of the results begins some numbers behind that of q."""
    n = enough(pendulum().gravity_force)
    memory = np.random.default_rng(0).random(2 * n + shift)
    q, out = memory[: 2 * n].reshape(n, 2), memory[shift:].reshape(n, 2)
    wanted = pendulum().gravity_force(q.copy())
    assert same_bits(pendulum().gravity_force(q, out=out, threads=threads).copy(), wanted)


def test_it_may_overlap_an_input_of_one_sample():
    memory = np.array([0.3, -0.7, 0.1])
    wanted = pendulum().gravity_force(memory[:2].copy())
    for _ in range(2):
        memory[:] = 0.3, -0.7, 0.1
        assert same_bits(pendulum().gravity_force(memory[:2], out=memory[1:]).copy(), wanted)


def test_large_batches_on_several_threads():
    arrays = arguments(robot(), "forward_dynamics", (20_000,))
    wanted = robot().forward_dynamics(*arrays, threads=1)
    out = np.empty((robot().nv, 20_000)).T
    assert robot().forward_dynamics(*arrays, out=out, threads=2) is out
    assert same_bits(out.copy(), wanted)


WRONG = {
    "too short": (np.empty(1), r"float64 array of shape \(2,\), got float64 array of shape \(1,\)"),
    "batched": (np.empty((1, 2)), r"got float64 array of shape \(1, 2\)"),
    "float32": (np.empty(2, np.float32), "float64.*got float32"),
    "integers": (np.empty(2, int), "float64.*got int64"),
    "other bytes": (np.empty(2, ">f8"), "float64.*got >f8"),
    "objects": (np.empty(2, object), "float64.*got object"),
    "a list": ([0.0, 0.0], r"got \[0.0, 0.0\]"),
    "a number": (1.0, r"got 1.0"),
    "nothing": ((), "must be 1 arrays"),
    "two": ((np.empty(2), np.empty(2)), "must be 1 arrays .*got 2"),
}


@pytest.mark.quick
@pytest.mark.parametrize("wrong", WRONG)
def test_what_does_not_fit_is_refused(wrong):
    out, message = WRONG[wrong]
    for _ in range(2):
        with pytest.raises(ArgumentError, match=f"inverse_dynamics: out.*{message}"):
            pendulum().inverse_dynamics(Q, Q, Q, out=out)


def test_a_read_only_array_is_refused_untouched():
    out = np.zeros(2)
    out.flags.writeable = False
    pendulum().inverse_dynamics(Q, Q, Q)
    with pytest.raises(ArgumentError, match=r"out .*read-only"):
        pendulum().inverse_dynamics(Q, Q, Q, out=out)
    assert np.all(out == 0.0)


def test_arrays_of_another_batch_are_refused():
    with pytest.raises(ArgumentError, match=r"shape \(4, 2\), got float64 array of shape \(2,\)"):
        pendulum().inverse_dynamics(np.zeros((4, 2)), Q, Q, out=np.empty(2))


def test_every_result_is_checked():
    f = function(robot(), "hybrid_dynamics")
    arrays = arguments(robot(), "hybrid_dynamics")
    good, bad = np.empty(robot().nv), np.empty(robot().nv + 1)
    for out in ((good, bad), (bad, good), (good,), good, [good, good]):
        with pytest.raises(ArgumentError, match="out"):
            f(*arrays, out=out)


def test_a_scalar_result_takes_an_array_without_axes():
    out = np.empty(())
    assert pendulum().kinetic_energy(Q, Q, out=out) is out
    assert out == pendulum().kinetic_energy(Q, Q)


def test_none_means_a_new_array():
    wanted = pendulum().inverse_dynamics(Q, Q, Q)
    assert same_bits(pendulum().inverse_dynamics(Q, Q, Q, out=None), wanted)
    assert as_tuple(pendulum().inverse_dynamics(Q, Q, Q, out=None))[0] is not wanted
