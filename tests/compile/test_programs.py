"""Programs on disk: what is read is what was written, and only what is certain to be the same is read."""

import functools
import gc
import os
import pickle
import shutil
import time
from pathlib import Path

import numpy as np
import pytest

import fourbar as fb
from fourbar import constraints
from fourbar.compile import cache as files
from fourbar.compile import cache as programs
from fourbar.expr import Program, from_text, to_text
from fourbar.expr.program import Block, Call, Store
from fourbar.expr.text import pack, unpack
from fourbar.functions import recording as identity
from fourbar.functions.arguments import Q
from fourbar.functions.derivative_recordings import KINDS
from fourbar.functions.methods import METHODS
from fourbar.functions.recording import MethodRecording
from fourbar.functions.registry import Method
from fourbar.joints import CustomJoint, Revolute

from .support import OPTIONS, chain, mixed, python, same_bits


class Forgetful(dict):
    """A table that keeps nothing."""

    def setdefault(self, key, default=None):
        return default


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty cache that keeps small programs too, and a process that keeps none."""
    monkeypatch.setenv("FOURBAR_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(programs, "_programs", Forgetful())
    monkeypatch.setattr(programs, "_WORTH_A_FILE", 1)
    return tmp_path / "cache"


@pytest.fixture
def written(monkeypatch):
    """The names of the programs that were written, not read."""
    seen = []
    for kind in (MethodRecording, *KINDS.values()):
        write = kind.write
        monkeypatch.setattr(
            kind, "write", lambda self, *args, write=write: seen.append(self.name) or write(self, *args)
        )
    return seen


def kept(folder):
    return sorted(path for path in folder.iterdir() if path.suffix == ".program") if folder.exists() else []


def linkage():
    return fb.robots.crank_rocker()


def hinge(length=1.0, **more):
    b = fb.Builder("hinge", **more)
    b.body("rod", joint=Revolute("y"), mass=1.0, com=(0.0, 0.0, -length))
    return b.build()


def functions(robot, frame):
    """Functions of all sorts: with and without options, derivatives, derivatives of derivatives."""
    one = (robot.inverse_dynamics, robot.forward_dynamics, robot.pose.specialise(frame=frame))
    more = (
        robot.forward_dynamics.jacobian.recording,
        robot.inverse_dynamics.vjp.recording,
        robot.mass_matrix.jvp.recording,
    )
    return [f.state[0] for f in one], [*more, KINDS["jvp"](more[0])]


def every_program(robot, frame):
    """Their texts, for NaN is not equal to itself."""
    return [to_text(f.program(tuple(a.name for a in f.arguments))) for part in functions(robot, frame) for f in part]


@pytest.mark.parametrize("method", sorted(METHODS))
def test_what_is_read_is_what_was_written(method):
    system = mixed()
    program = system.program(method, **OPTIONS.get(method, {}))
    read = unpack(pack(program))
    assert to_text(read) == to_text(program)
    assert [block.digest for block in read.blocks] == [block.digest for block in program.blocks]


def test_signs_of_zeros_and_numbers_that_are_none():
    block = Block(1, 0, (("load", 0, 0), ("add", 0, -0.0), ("mul", 0, float("nan"))), (Store(0, 1, 1),))
    program = Program("odd", 2, (), (), ((0, -0.0),), (block,), ())
    assert to_text(unpack(pack(program))) == to_text(program) == to_text(from_text(to_text(program)))


def test_numbers_of_numpy_are_refused():
    """marshal would write them as bytes."""
    block = Block(1, 0, (("load", 0, 0), ("add", 0, np.float64(1.0))), (Store(0, 1, 1),))
    with pytest.raises(TypeError, match="not Python's own: float64"):
        pack(Program("odd", 2, (), (), (), (block,), ()))
    plain = Block(1, 1, (("load", 0, 0), ("table", 0)), (Store(0, 1, 1),))
    with pytest.raises(TypeError, match="not Python's own: float64"):
        pack(Program("odd", 2, (), (), ((0, np.float64(1.0)),), (plain,), ()))
    with pytest.raises(TypeError, match="not Python's own: float64"):
        pack(Program("odd", 2, (), (), (), (plain,), (Call(0, (0,), (np.float64(1.0),)),)))
    with pytest.raises(TypeError, match="not Python's own: int64"):
        pack(Program("odd", np.int64(2), (), (), (), (plain,), ()))


@pytest.mark.parametrize("robot, frame", [(mixed, "tip"), (linkage, "rocker")])
def test_a_program_is_written_once(folder, written, robot, frame):
    first = every_program(robot(), frame)
    assert written and kept(folder)
    written.clear()
    assert every_program(robot(), frame) == first
    assert written == []


def test_steps_that_are_shared(folder, written):
    first = to_text(chain(120).program("forward_dynamics"))
    assert written.pop() == "forward_dynamics"
    assert to_text(chain(120).program("forward_dynamics")) == first
    assert written == []


def test_other_processes_find_it(folder):
    """Whatever the seed of their hashes: a second process of another seed writes no file."""
    code = """
import fourbar as fb
from fourbar.compile import cache as programs
programs._WORTH_A_FILE = 1
robot = fb.robots.crank_rocker()
q, v = robot.neutral(), [0.3]
print(robot.inverse_dynamics(q, v, v).tobytes().hex(), robot.forward_dynamics.jacobian(q, v, v).array.tobytes().hex())
"""
    first = python(code, FOURBAR_CACHE=str(folder), PYTHONHASHSEED="1")
    before = {path: path.stat().st_mtime_ns for path in kept(folder)}
    assert len(before) >= 2
    assert python(code, FOURBAR_CACHE=str(folder), PYTHONHASHSEED="2") == first
    assert {path: path.stat().st_mtime_ns for path in kept(folder)} == before


def test_a_robot_that_came_by_pickle_is_the_same_robot(folder, written):
    robot = mixed()
    robot.program("forward_dynamics")
    written.clear()
    pickle.loads(pickle.dumps(robot)).program("forward_dynamics")
    assert written == []


ANOTHER = {
    "mass": lambda: hinge().with_parameters(bodies={"rod": {"mass": 2.0}}),
    "last digit": lambda: hinge(np.nextafter(1.0, 2.0)),
    "gravity": lambda: hinge(gravity=(0.0, 0.0, -1.62)),
}


@pytest.mark.parametrize("what", ANOTHER)
def test_another_robot_has_another_program(folder, written, what):
    q = np.array([0.3])
    one = hinge().gravity_force(q).copy()
    written.clear()
    other = ANOTHER[what]()
    assert other.gravity_force(q) != one or what == "last digit"
    assert written == ["gravity_force"]


def test_options_and_present_arguments_count(folder, written):
    robot = mixed()
    robot.pose(robot.neutral(), "tip"), robot.pose(robot.neutral(), "head")
    robot.inverse_dynamics.program(), robot.inverse_dynamics.program("f_ext")
    assert written == ["pose", "pose", "inverse_dynamics", "inverse_dynamics"]


def test_numbers_that_change_count(folder):
    """The derivative by a mass is not that by a place."""
    robot = mixed()
    q = robot.neutral()
    by = [robot.potential_energy.jacobian(q, parameters=[name]).parameters[name] for name in ("foot.mass", "head.mass")]
    assert by[0] != by[1]


def test_a_changed_source_file_counts(folder, written, monkeypatch):
    hinge().program("gravity_force")
    monkeypatch.setattr(identity, "_sources", lambda: b"later")
    hinge().program("gravity_force")
    assert written == ["gravity_force"] * 2


def test_all_sources_are_looked_at():
    assert b"recording.py" in identity._sources() and b"aba.py" in identity._sources()


_UPGRADED = """
import sys, pathlib
sys.path.insert(0, {copy!r})
import fourbar as fb
from fourbar.compile import cache as programs
programs._WORTH_A_FILE = 1
if {change}:
    (pathlib.Path(fb.__file__).parent / "mechanism" / "mechanism.py").touch()
b = fb.Builder("hinge")
b.body("rod", joint=fb.joints.Revolute("y"), mass=1.0, com=(0.0, 0.0, -0.5))
robot = b.build()
assert fb.__file__.startswith({copy!r})
robot.gravity_force(robot.neutral())
"""


@pytest.mark.default_cases("True-0")
@pytest.mark.parametrize(("change", "files"), [(False, 1), (True, 0)])
def test_sources_that_change_under_a_running_process(tmp_path, folder, change, files):
    """What it writes is what the old files say: no other process may take it for what the new ones do."""
    copy = tmp_path / "copy"
    shutil.copytree(Path(fb.__file__).parent, copy / "fourbar", ignore=shutil.ignore_patterns("__pycache__"))
    python(_UPGRADED.format(copy=str(copy), change=change), PYTHONPATH=None)
    assert len(kept(folder)) == files


_AHEAD = """
import sys
sys.path.insert(0, {copy!r})
import fourbar as fb
from fourbar.compile import cache as programs
programs._WORTH_A_FILE = 1
b = fb.Builder("hinge")
b.body("rod", joint=fb.joints.Revolute("y"), mass=1.0, com=(0.0, 0.0, -0.5))
robot = b.build()
robot.gravity_force(robot.neutral())
"""


def test_sources_from_the_future(tmp_path, folder):
    """A clock was wrong where they were written; that is no change under the process."""
    copy = tmp_path / "copy"
    shutil.copytree(Path(fb.__file__).parent, copy / "fourbar", ignore=shutil.ignore_patterns("__pycache__"))
    later = time.time() + 1e6
    os.utime(copy / "fourbar" / "mechanism" / "mechanism.py", (later, later))
    python(_AHEAD.format(copy=str(copy)), PYTHONPATH=None)
    assert len(kept(folder)) == 1


def test_garbage_is_looked_for_again():
    """Also after an error; and not if the user has switched it off."""

    def fails():
        assert not gc.isenabled()
        raise ValueError("no program")

    for enabled in (True, False):
        (gc.enable if enabled else gc.disable)()
        try:
            with pytest.raises(ValueError, match="no program"):
                programs.cached_program(lambda: None, fails)
            assert gc.isenabled() is enabled
        finally:
            gc.enable()


DAMAGES = {"empty": lambda c: b"", "cut": lambda c: c[:-1], "a bit": lambda c: c[:-9] + bytes([c[-9] ^ 4]) + c[-8:]}


@pytest.mark.quick
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_is_written_again(folder, written, damage):
    wanted = hinge().program("gravity_force")
    (path,) = kept(folder)
    path.write_bytes(DAMAGES[damage](path.read_bytes()))
    written.clear()
    assert hinge().program("gravity_force") == wanted
    assert written == ["gravity_force"]
    assert files.read(path) is not None


def test_small_programs_have_no_file(tmp_path, monkeypatch):
    monkeypatch.setenv("FOURBAR_CACHE", str(tmp_path))
    hinge().program("gravity_force")
    assert kept(tmp_path) == []


def test_it_can_be_switched_off(tmp_path, monkeypatch, written):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FOURBAR_CACHE", "off")
    monkeypatch.setattr(programs, "_programs", Forgetful())
    mixed().program("forward_dynamics"), mixed().program("forward_dynamics")
    assert written == ["forward_dynamics"] * 2
    assert not list(tmp_path.iterdir())


def path(q):
    return np.eye(3), [q[0], 0.0, q[0] * q[0]]


class Shifted(Revolute):
    """A joint of the user's."""


def with_joint(joint):
    b = fb.Builder("user's")
    b.body("rod", joint=joint, mass=1.0, com=(0.0, 0.0, -1.0), inertia=(0.1, 0.1, 0.1))
    return b.build()


def without_a_module():
    """As SymPy's lambdify makes them."""
    space = {}
    exec("def path(q): return ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)), (q[0], 0.0, q[0] * q[0])", space)
    return space["path"]


class Homeless(Revolute):
    """One that does not say where it is from."""


Homeless.__module__ = None  # type: ignore[assignment]

USERS = {
    "a class from nowhere": lambda: Homeless("y"),
    "a function from nowhere": lambda: CustomJoint(without_a_module(), 1),
    "a function that says it is ours": lambda: CustomJoint(functools.wraps(fb.sin)(lambda q: path(q)), 1),
    "a function": lambda: CustomJoint(path, 1),
    "a wrapped function": lambda: CustomJoint(functools.wraps(path)(functools.partial(path)), 1),
    "a function with something bound": lambda: CustomJoint(functools.partial(path), 1),
    "a class": lambda: Shifted("y"),
}


@pytest.mark.quick
@pytest.mark.parametrize("what", USERS)
def test_functions_of_the_user_are_called_again(folder, written, what):
    """Their code may be another one the next time."""
    for _ in range(2):
        with_joint(USERS[what]()).program("gravity_force")
    assert written == ["gravity_force"] * 2
    assert kept(folder) == []
    with_joint(Revolute("y")).program("gravity_force")
    assert len(kept(folder)) == 1  # so small a program is kept where it may be


def test_constraints_of_the_user_are_called_again(folder, written):
    robot = mixed()
    q, v = robot.neutral(), np.zeros(robot.nv)
    for made in range(1, 3):
        row = constraints.Rows(lambda knee, slider: [1.0, 2.0], ["knee", "slider"])
        robot.constrained(row).forward_dynamics(q, v, v)
        assert written.count("forward_dynamics") == made


def test_constraints_are_written_once(folder, written):
    robot = mixed()
    q, v = robot.neutral(), np.zeros(robot.nv)
    first = robot.constrained(constraints.Contact("foot")).forward_dynamics(q, v, v)
    assert "forward_dynamics" in written
    written.clear()
    again = mixed().constrained(constraints.Contact("foot")).forward_dynamics(q, v, v)
    assert all(same_bits(x, y) for x, y in zip(again, first, strict=True))
    assert written == []
    mixed().constrained(constraints.Contact("foot", "line")).forward_dynamics(q, v, v)
    assert "forward_dynamics" in written


def test_methods_of_the_user_are_recorded_again(folder, written):
    robot = mixed()

    def record(c):
        return METHODS["gravity_force"].record(c)

    own = Method(record, (Q,), ("tau",))
    for _ in range(2):
        MethodRecording(robot.model, "own", own, read_nothing, (list, (robot.mechanism,))).program(("q",))
    assert written == ["own"] * 2


def read_nothing(cluster_tree):
    return {}


@pytest.mark.quick
def test_results_are_the_same_bits(folder):
    robot, rng = linkage(), np.random.default_rng(0)
    q, v = robot.random(rng, 5), rng.normal(size=(5, robot.nv))
    first = [robot.forward_dynamics(q, v, v).copy(), robot.inverse_dynamics.jacobian(q, v, v).array.copy()]
    assert kept(folder)
    again = linkage()
    assert same_bits(again.forward_dynamics(q, v, v), first[0])
    assert same_bits(again.inverse_dynamics.jacobian(q, v, v).array, first[1])


def test_contents_are_private(folder):
    hinge().program("gravity_force")
    if os.name == "posix":
        assert all(p.stat().st_mode & 0o077 == 0 for p in kept(folder))
