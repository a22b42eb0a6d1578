"""What holds for every function holds for those of robots with loops, which are watched for toggle positions."""

import copy
import gc
import hashlib
import pickle
import warnings
import weakref
from functools import cache

import numpy as np
import pytest

import fourbar as fb
from fourbar.joints import Composite, Revolute
from fourbar.loops import Closure

from .support import arguments, as_tuple, finished, function, same_bits, started

METHODS = ("inverse_dynamics", "forward_dynamics", "mass_matrix", "kinetic_energy", "integrate", "expand", "loop_map")
ROBOTS = ("four_bar", "differential_wrist", "cassie_leg", "tello")


@cache
def robot(name):
    return getattr(fb.robots, name)()


@pytest.mark.quick
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", ROBOTS[:3])
def test_one_by_one_or_all_at_once(name, method):
    f = function(robot(name), method)
    arrays = arguments(robot(name), method, (11,))
    if method == "integrate":
        arrays[-1] *= 0.01  # a small step, after which the loops close again
    together = f(*arrays)
    for i in range(11):
        assert same_bits(f(*(a[i] for a in arrays)), together[i])
    assert same_bits(f(*(a.tolist() for a in arrays)), together)


@pytest.mark.parametrize("name", ROBOTS)
def test_threads_and_arrays_of_the_user(name):
    f = robot(name).forward_dynamics
    arrays = arguments(robot(name), "forward_dynamics", (60,))
    wanted = f(*arrays)
    many = [np.tile(a, (100, 1)) for a in arrays]
    assert same_bits(f(*many, threads=3), np.tile(wanted, (100, 1)))
    out = np.empty(wanted.shape)
    assert f(*arrays, out=out) is out
    assert same_bits(out, wanted)
    assert same_bits(f(*(np.asfortranarray(a) for a in arrays)), wanted)


COPIES = {"copy": copy.copy, "deepcopy": copy.deepcopy, "pickle": lambda x: pickle.loads(pickle.dumps(x))}


@pytest.mark.quick
@pytest.mark.parametrize("kind", COPIES)
@pytest.mark.parametrize("name", ROBOTS)
def test_robots_and_functions_are_copied(name, kind):
    system, how = robot(name), COPIES[kind]
    made = how(system)
    assert made == system
    assert hash(made) == hash(system)
    arrays = arguments(system, "bias_force", (3,))
    wanted = system.bias_force(*arrays)
    assert same_bits(made.bias_force(*arrays), wanted)
    assert same_bits(how(system.bias_force)(*arrays), wanted)
    assert repr(how(system.bias_force)) == repr(system.bias_force)


def test_a_spanning_tree_without_regular_dynamics_is_copied():
    """A loop joint with a coordinate of its own is a body without mass, which only the loop holds."""
    b = fb.Builder("screw")
    solid = {"mass": 1.0, "inertia": (1.0, 1.0, 1.0)}
    b.body("nut", joint=Revolute("z"), **solid)
    b.body("slide", joint=fb.joints.Prismatic("z"), **solid)
    b.loop(Closure(Composite(Revolute("z"), fb.joints.Prismatic("z")), "nut", "slide"))
    tree = b.build().spanning()
    made = pickle.loads(pickle.dumps(tree))
    assert made == tree
    q = np.full(tree.nq, 0.1)
    assert same_bits(made.mass_matrix(q), tree.mass_matrix(q))
    assert same_bits(pickle.loads(pickle.dumps(tree.mass_matrix))(q), tree.mass_matrix(q))
    with pytest.raises(fb.ModelError, match="moves nothing"):
        fb.System(tree.mechanism)


@pytest.mark.usefixtures("only_new")
def test_they_are_freed():
    system = fb.robots.four_bar()
    system.mass_matrix(system.neutral()), system.inverse_dynamics(*arguments(system, "inverse_dynamics", (4,)))
    alive = weakref.ref(system), weakref.ref(system.mass_matrix.state[0])
    del system
    gc.collect(), gc.collect()
    assert [a() for a in alive] == [None, None]


def programs():
    """A digest of the programs of robots with loops: their text is the key of the cache."""
    texts = [robot(name).show(method) for name in ROBOTS[:3] for method in ("forward_dynamics", "loop_map")]
    return hashlib.sha256("".join(texts).encode()).hexdigest()


def test_programs_do_not_depend_on_the_hashes_of_the_process():
    code = "from tests.compile.test_loops import programs; print(programs())"
    running = [started(code, PYTHONHASHSEED=seed) for seed in ("1", "99")]
    assert {finished(process) for process in running} == {programs()}


@pytest.mark.quick
def test_lazy_arrays_stay_lazy():
    da = pytest.importorskip("dask.array")
    system = robot("four_bar")
    q, v, a = arguments(system, "inverse_dynamics", (12,))
    seen = []
    chunks = da.from_array(q, chunks=(4, -1))
    watched = chunks.map_blocks(lambda block: seen.append(1) or block, dtype=float, meta=np.empty((0, 0)))
    lazy = system.inverse_dynamics(watched, v, a)
    assert not seen
    assert same_bits(lazy.compute(), system.inverse_dynamics(q, v, a))


def toggle():
    """A parallelogram, and configurations of which number 3 is at a toggle position."""
    system = robot("parallelogram")
    q = system.random(0, 9)
    q[3] = 0.0
    return system, q, np.ones((9, system.nv))


@pytest.mark.quick
def test_a_toggle_position_harms_no_other_sample():
    system, q, v = toggle()
    with pytest.warns(RuntimeWarning, match="loop 'closing' is at a toggle position"):
        result = system.forward_dynamics(q, v, v)
    others = np.arange(9) != 3
    assert np.all(np.isnan(result[3]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert same_bits(result[others], system.forward_dynamics(q[others], v[others], v[others]))


@pytest.mark.quick
@pytest.mark.parametrize("method", ["forward_dynamics", "kinetic_energy", "mass_matrix"])
def test_one_sample_at_a_toggle_position_is_an_error(method):
    system, q, v = toggle()
    count = len(arguments(system, method))
    with pytest.raises(fb.FourbarError, match="loop 'closing' is at a toggle position"):
        function(system, method)(q[3], *[v[3]] * (count - 1))


def test_other_nan_is_not_blamed_on_the_loop():
    system, q, v = toggle()
    v[5] = np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isnan(system.forward_dynamics(np.delete(q, 3, 0), np.delete(v, 3, 0), v[0])[4]).all()
        assert np.isnan(system.forward_dynamics(q[5], v[5], v[0])).all()


def test_only_samples_without_result_are_examined(monkeypatch):
    """A batch may be large; looking at a sample is slow."""
    system, q, v = toggle()
    seen = []
    monkeypatch.setattr(
        "fourbar.functions.nan_reasons.fold_distances", lambda cluster_tree, row: seen.append(row) or {"closing": 0.0}
    )
    with pytest.warns(RuntimeWarning, match="toggle"):
        system.forward_dynamics(q, v, v)
    assert len(seen) == 1
    assert np.array_equal(seen[0], q[3])
    seen.clear()
    with pytest.warns(RuntimeWarning, match="toggle"):
        system.forward_dynamics(np.zeros((5000, system.nq)), v[0], v[0])
    assert 1 <= len(seen) <= 100


def test_shapes_are_checked_as_ever():
    system = robot("four_bar")
    q, v, a = arguments(system, "inverse_dynamics")
    with pytest.raises(fb.ArgumentError, match="inverse_dynamics: q must have shape"):
        system.inverse_dynamics(q[1:], v, a)
    with pytest.raises(TypeError, match="needs 'a'"):
        system.inverse_dynamics(q, v)
    assert len(as_tuple(system.inverse_dynamics(q=q, v=v, a=a))) == 1
