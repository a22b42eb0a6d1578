"""Robots and functions as values: equal, hashable, copied, pickled, sent to other processes."""

import copy
import multiprocessing
import pickle
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import pytest

import fourbar as fb
from fourbar.joints import CustomJoint

from .support import arguments, as_tuple, function, mixed, pendulum, python, robot, same_bits

Q = np.array([0.3, -0.7])


def cam(q):
    """The pose of a follower on a cam; here at the top of a module, so that it can be pickled by name."""
    return np.eye(3), [0.1 * np.sin(q[0]), q[0], 0.0]


def with_cam():
    b = fb.Builder("cam")
    b.body("follower", joint=CustomJoint(cam, nq=1), mass=1.0, inertia=(1.0, 1.0, 1.0))
    return b.build()


COPIES = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    **{f"pickle {p}": lambda x, p=p: pickle.loads(pickle.dumps(x, p)) for p in range(2, pickle.HIGHEST_PROTOCOL + 1)},
}


@pytest.mark.quick
@pytest.mark.parametrize("how", COPIES)
@pytest.mark.parametrize("make", [mixed, with_cam, fb.robots.double_pendulum], ids=["mixed", "cam", "pendulum"])
def test_robots_are_copied(how, make):
    original = make()
    original.gravity_force(original.neutral())
    made = COPIES[how](original)
    assert made == original
    assert hash(made) == hash(original)
    assert made.names == original.names
    arrays = arguments(original, "forward_dynamics", (5,))
    assert same_bits(made.forward_dynamics(*arrays), original.forward_dynamics(*arrays))


@pytest.mark.parametrize("how", COPIES)
@pytest.mark.parametrize("method", ["inverse_dynamics", "pose", "hybrid_dynamics", "momentum"])
def test_functions_are_copied(how, method):
    f = function(robot(), method)
    arrays = arguments(robot(), method, (3,))
    wanted = f(*arrays)
    made = COPIES[how](f)
    assert repr(made) == repr(f)
    assert all(same_bits(a, b) for a, b in zip(as_tuple(made(*arrays)), as_tuple(wanted), strict=True))


@pytest.mark.parametrize("how", COPIES)
def test_methods_with_options_are_copied(how):
    made = COPIES[how](robot().velocity)
    q, v = arguments(robot(), "velocity")
    given = {"at": np.array([0.1, 0.2, 0.3]), "expressed_in": "foot"}
    assert same_bits(made(q, v, "tip", **given), robot().velocity(q, v, "tip", **given))
    specialised = COPIES[how](robot().velocity.specialise("tip", **given))
    assert same_bits(specialised(q, v), robot().velocity(q, v, "tip", **given))


def test_a_pickle_is_small_and_does_not_grow():
    system = fb.robots.double_pendulum()
    before = len(pickle.dumps(system))
    system.inverse_dynamics(Q, Q, Q), system.pose(Q, "tip"), system.names
    assert len(pickle.dumps(system)) == before < 4_000


@pytest.mark.quick
def test_equality_is_by_content():
    assert mixed() == mixed()
    assert hash(mixed()) == hash(mixed())
    assert mixed() != mixed().with_gravity((0.0, 0.0, -1.62))
    assert mixed().with_gravity((0.0, 0.0, -1.62)) == mixed().with_gravity([0, 0, -1.62])
    assert mixed() != pendulum()
    assert mixed() != "mixed"
    assert len({mixed(), mixed(), pendulum(), fb.robots.double_pendulum()}) == 2
    assert {mixed(): 1}[robot()] == 1


def test_each_small_difference_counts():
    def made(**changes):
        b = fb.Builder(changes.pop("name", "arm"))
        given = {"mass": 1.0, "com": (0.0, 0.0, 1.0), "position": (0.0, 0.0, 0.0), "joint": fb.joints.Revolute("y")}
        b.body("rod", **{**given, **changes})
        return b.build()

    changes = [
        {}, {"mass": 1.0000000000000002}, {"com": (0.0, 0.0, 1.1)}, {"position": (1e-12, 0.0, 0.0)}, {"name": "leg"},
        {"joint": fb.joints.Revolute("x")}, {"armature": 0.1}, {"damping": 0.1}, {"limits": (-1, 1)},
        {"joint_name": "hinge"}, {"friction": 0.1},
    ]  # fmt: skip
    assert len({made(**c) for c in changes}) == len(changes)
    assert made(position=(0, -0.0, 0)) == made()


def work(task):
    """In another process: a robot or a function, and arrays."""
    thing, arrays = task
    f = thing.inverse_dynamics if isinstance(thing, fb.System) else thing
    return np.array(f(*arrays))


@pytest.mark.slow_cases("forkserver")
@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_other_processes(method):
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip(f"this system has no {method}")
    arrays = arguments(robot(), "inverse_dynamics", (4,))
    wanted = robot().inverse_dynamics(*arrays)
    tasks = [(robot(), arrays), (robot().inverse_dynamics, arrays), (robot().pose.specialise("tip"), arrays[:1])]
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context(method)) as pool:
        results = list(pool.map(work, tasks))
    assert same_bits(results[0], wanted)
    assert same_bits(results[1], wanted)
    assert same_bits(results[2], robot().pose(arrays[0], "tip"))


def test_a_pickle_is_read_by_another_interpreter(tmp_path):
    file = tmp_path / "robot.pickle"
    file.write_bytes(pickle.dumps((robot(), robot().mass_matrix)))
    code = f"""
import pickle, numpy as np
robot, mass_matrix = pickle.load(open({str(file)!r}, "rb"))
q = robot.random(0)
print(hash(robot) == hash(pickle.loads(pickle.dumps(robot))), np.array_equal(robot.mass_matrix(q), mass_matrix(q)))
"""
    assert python(code) == "True True"


def test_a_robot_is_frozen():
    system = mixed()
    with pytest.raises(AttributeError, match="frozen"):
        system.gravity = (0.0, 0.0, 0.0)
    with pytest.raises(AttributeError, match="frozen"):
        system.inverse_dynamics = None
    with pytest.raises(AttributeError, match="frozen"):
        del system.mechanism
    with pytest.raises(AttributeError):
        system.mechanism.name = "other"
    assert system == mixed()
