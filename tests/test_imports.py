"""What importing fourbar loads, and that what it does not load is there when it is asked for."""

import ast
import os
import pickle
import runpy
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import fourbar
from fourbar.functions import method_table
from fourbar.functions.methods import METHODS
from fourbar.system.system import System

SOURCE = Path(fourbar.__file__).resolve().parent
LAZY = (
    "fourbar", "fourbar.bridges", "fourbar.constraints", "fourbar.edit", "fourbar.expr", "fourbar.joints",
    "fourbar.loops", "fourbar.sim", "fourbar.spatial",
)  # fmt: skip
LISTED = (*LAZY, "fourbar.contact", "fourbar.convert", "fourbar.identification", "fourbar.interop", "fourbar.robots")

# Parts that neither building a robot nor computing with it needs, and those that a robot needs to compute only.
NOT_NEEDED = """
fourbar.baselines fourbar.bridges fourbar.cli fourbar.constraints.contacts
fourbar.interop fourbar.chunks fourbar.convert fourbar.identification fourbar.io fourbar.lagrange fourbar.robots
fourbar.sim fourbar.joints.composite fourbar.joints.lie fourbar.joints.mirror fourbar.joints.serialize
fourbar.constraints.closures fourbar.constraints.gears fourbar.constraints.function_loops fourbar.edit.change
fourbar.edit.join fourbar.edit.lock fourbar.edit.mirror
fourbar.edit.sub fourbar.mechanism.geometry fourbar.algorithms.derivatives
fourbar.edit.mass_from_shapes fourbar.spatial.groups fourbar.spatial.series fourbar.system.constrained
fourbar.system.equations fourbar.functions.methods.coriolis fourbar.functions.methods.jacobians
fourbar.functions.methods.forces fourbar.functions.methods.regressors fourbar.functions.methods.kinematics
fourbar.algorithms.energy fourbar.algorithms.kinematics fourbar.algorithms.regressor
fourbar.expr.program_derivatives fourbar.expr.shared fourbar.expr.shared_tasks fourbar.tree.parameter_changes
fourbar.tree.parameters fourbar.functions.parameter_derivatives fourbar.functions.derivatives
fourbar.functions.derivative_recordings fourbar.algorithms.massless fourbar.functions.parameter_derivatives
fourbar.functions.inverse_kinematics fourbar.mechanism.contact fourbar.system.inverse_kinematics
fourbar.system.limits
decimal difflib fractions fnmatch
"""
NEEDED_TO_COMPUTE = """
fourbar.algorithms fourbar.compile fourbar.expr.program fourbar.expr.unrolled fourbar.functions.context
fourbar.functions.arguments fourbar.functions.function fourbar.functions.methods.dynamics fourbar.functions.recording
threading
"""

BUILD = """
import fourbar as fb
b = fb.Builder("arm")
b.body("rod", joint=fb.joints.Revolute("y"), mass=1.0, com=(0, 0, -0.5), inertia=(0.1, 0.1, 0.1))
robot = b.build()
"""


def output(code):
    """What a new interpreter prints."""
    run = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(SOURCE.parent)},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return run.stdout.split()


def loaded(code, modules):
    """Which of the modules some code imports that NumPy does not."""
    return output(
        f"import sys, numpy\nbefore = set(sys.modules)\n{code}\n"
        f"print(*(m for m in {modules.split()!r} if m in sys.modules and m not in before))"
    )


def test_importing_fourbar_loads_names_only():
    """What builds robots and computes with them is imported when the first of its names is used."""
    found = output("import sys, fourbar\nprint(*sorted(m for m in sys.modules if m.startswith('fourbar.')))")
    assert found == [f"fourbar.{name}" for name in ("errors", "hints", "joints", "lazy", "loops", "once", "sources")]
    assert loaded("import fourbar", "dataclasses llvmlite scipy matplotlib") == []


def test_building_a_robot_loads_little():
    assert loaded(BUILD, NOT_NEEDED + NEEDED_TO_COMPUTE) == []


def test_computing_loads_what_it_needs():
    code = BUILD + "robot.inverse_dynamics([0.1], [0.2], [0.3])\n"
    assert loaded(code, NOT_NEEDED) == []
    assert set(loaded(code, NEEDED_TO_COMPUTE)) >= {"fourbar.compile", "fourbar.functions.methods.dynamics"}


FILES = {
    "urdf": '<robot name="rod"><link name="world"/><link name="rod"><inertial><mass value="1"/>'
    '<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link><joint name="hinge" type="continuous">'
    '<parent link="world"/><child link="rod"/><axis xyz="0 1 0"/></joint></robot>',
    "mjcf": '<mujoco><worldbody><body name="rod"><joint/><geom size="0.1" mass="1"/></body></worldbody></mujoco>',
}
# Clients of networks, writers of files, and what looks for mistakes that the file does not have.
NOT_NEEDED_TO_READ = """
http http.client ssl urllib.request xml.etree.ElementTree fourbar.io.export.written_numbers fourbar.joints.examples
fourbar.algorithms.massless
"""


@pytest.mark.parametrize("format", FILES)
def test_reading_a_file_loads_little(format):
    if format == "mjcf":
        pytest.importorskip("mujoco")
    before = "import mujoco\nbefore |= set(sys.modules)\n" if format == "mjcf" else ""  # whatever it imports itself
    code = f"{before}import fourbar as fb\nfb.loads({FILES[format]!r}, format={format!r})\n"
    assert loaded(code, NOT_NEEDED_TO_READ) == []


@pytest.mark.parametrize("package", LAZY)
def test_a_star_imports_every_public_name(package):
    """And `dir` lists them, in a process that has used none of them."""
    names = import_module(package).__all__
    code = (
        f"import {package} as m\nprint(set(m.__all__) <= set(dir(m)))\n"
        f"from {package} import *\nprint(*(name for name in {names!r} if name in globals()))"
    )
    assert output(code) == ["True", *names]


def told_to_type_checkers(package):
    """(module, name) of all names that a package imports for type checkers only."""
    path = Path(import_module(package).__file__ or "")
    for block in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(block, ast.If) and ast.unparse(block.test) == "TYPE_CHECKING":
            for node in block.body:
                yield from ((node.module, alias.name) for alias in node.names)


def imported_at_once(package):
    """The names that a package imports when it is imported itself."""
    path = Path(import_module(package).__file__ or "")
    body = ast.parse(path.read_text(encoding="utf-8")).body
    return {alias.asname or alias.name for node in body if isinstance(node, ast.ImportFrom) for alias in node.names}


@pytest.mark.parametrize("package", LAZY)
def test_type_checkers_see_what_is_found(package):
    module, told = import_module(package), list(told_to_type_checkers(package))
    assert told
    for home, name in told:
        within = package if hasattr(module, "__path__") else package.rpartition(".")[0]
        meant = import_module(f"{within}.{name}") if home is None else getattr(import_module(f"{within}.{home}"), name)
        assert getattr(module, name) is meant
    offered = {name for name in dir(module) if not name.startswith("__")}
    names = {name for _, name in told}
    assert names <= offered
    assert offered <= names | imported_at_once(package)


@pytest.mark.parametrize("package", LISTED)
def test_a_public_name_is_imported_as_itself(package):
    """Without that a typed package does not offer it: type checkers would call it private."""
    tree = ast.parse(Path(import_module(package).__file__ or "").read_text(encoding="utf-8"))
    own = [x for x in ast.walk(tree) if isinstance(x, ast.ImportFrom) and x.level and x.module != "lazy"]
    aliases = [alias for node in own for alias in node.names]
    assert [x.name for x in aliases if x.asname != x.name and not (x.asname or "").startswith("_")] == []
    named = {x.name for x in aliases if x.asname == x.name}
    assert named == set(import_module(package).__all__) - {"ROBOTS"}
    assert "__all__" not in ast.unparse(tree)


PACKAGE = {
    "__init__": """
from types import ModuleType
from typing import TYPE_CHECKING

from fourbar.lazy import lazy
from . import _private as _private
from .early import first as first

if TYPE_CHECKING:
    from collections.abc import Mapping
    from . import whole as whole
    from .late import second as second

TABLE = {"first": first}
lazy(optional=("missing",))
""",
    "early": "first = 1",
    "late": "second = 2",
    "whole": "",
    "_private": "",
}


def test_a_public_name_is_listed_once(tmp_path):
    """Its import makes it known to type checkers, to `__all__`, to `dir` and to whoever names it first."""
    (tmp_path / "package").mkdir()
    for name, text in PACKAGE.items():
        (tmp_path / "package" / f"{name}.py").write_text(text, encoding="utf-8")
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r})\nimport package\nprint(*package.__all__)\n"
        "print('package.late' in sys.modules, package.first, package.second, package.whole.__name__)\n"
        "print(*(x for x in dir(package) if x[0] != '_'))\nfrom package import *\nprint(second, TABLE['first'])\n"
        "try: package.secnd\nexcept AttributeError as error: print('second' in str(error))\n"
        "try: package.missing\nexcept ImportError: print('gone')"
    )
    names = ["TABLE", "first", "second", "whole"]
    assert output(code) == [*names, "False", "1", "2", "package.whole", *names, "2", "1", "True", "gone"]


@pytest.mark.parametrize("package", LAZY)
def test_names_that_are_not_there(package):
    module = import_module(package)
    assert set(module.__all__) <= set(dir(module))
    with pytest.raises(AttributeError, match=f"module '{package}' has no attribute 'nonsense'"):
        module.nonsense  # noqa: B018
    with pytest.raises(ImportError, match="nonsense"):
        exec(f"from {package} import nonsense")


def test_a_name_is_found_once():
    code = "import fourbar\nprint('identify' in vars(fourbar))\nfourbar.identify\nprint('identify' in vars(fourbar))"
    assert output(code) == ["False", "True"]


def test_parts_and_functions_do_not_hide_each_other():
    code = (
        "import fourbar.identification, fourbar.sim, fourbar.io, fourbar as fb\nfrom fourbar import identify, simulate"
    )
    assert output(f"{code}\nprint(callable(fb.identify), fb.simulate is simulate, fb.sim.simulate is simulate)") == [
        "True", "True", "True",
    ]  # fmt: skip


def test_what_was_imported_late_can_be_pickled():
    warning = fourbar.SimulationWarning("late")
    assert type(pickle.loads(pickle.dumps(warning))) is fourbar.SimulationWarning
    assert pickle.loads(pickle.dumps(fourbar.simulate)) is fourbar.simulate
    assert pickle.loads(pickle.dumps(fourbar.Run)) is fourbar.Run


def test_methods_are_where_the_robot_looks_for_them():
    listed = {name: thing.subject for name, thing in vars(System).items() if hasattr(thing, "subject")}
    assert listed == {name: method.record.__module__.rpartition(".")[2] for name, method in METHODS.items()}


def test_the_table_of_methods_is_current():
    script = Path(__file__).resolve().parents[1] / "docs" / "make_method_table.py"
    made = runpy.run_path(str(script))["text"]()
    assert Path(method_table.__file__).read_text(encoding="utf-8") == made, "run python docs/make_method_table.py"


def test_looking_up_one_method_loads_its_file_only():
    found = loaded(BUILD + "robot.poses", "fourbar.functions.methods.kinematics fourbar.functions.methods.dynamics")
    assert found == ["fourbar.functions.methods.kinematics"]


def test_every_method_is_found_by_name():
    code = (
        "from fourbar.functions.methods import METHODS as found\n"
        "print(found['pose'].static[0], 'x' in found, len(found))"
    )
    assert output(code) == ["frame", "False", str(len(METHODS))]


def test_parts_are_there_without_being_imported() -> None:
    code = "import fourbar as fb\nprint(*(x.__name__ for x in (fb.io, fb.sim, fb.identification)), 'robots' in dir(fb))"
    assert output(code) == ["fourbar.io", "fourbar.sim", "fourbar.identification", "True"]


@pytest.mark.parametrize(("code", "meant"), [("fb.Bilder", "Builder"), ("fb.joints.Revolut", "Revolute")])
def test_misspelt_names_are_guessed(code, meant):
    run = subprocess.run(
        [sys.executable, "-c", f"import fourbar as fb\n{code}"],
        env={**os.environ, "PYTHONPATH": str(SOURCE.parent)},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert f"has no attribute {code.rpartition('.')[2]!r}; did you mean {meant!r}?" in run.stderr


def test_modules_for_other_libraries_are_there_when_named_and_not_before():
    names = ["casadi", "dask", "gymnasium", "jax", "torch"]
    assert not {*names} & {*dir(fourbar)}
    assert loaded("import fourbar", " ".join(f"fourbar.{name}" for name in names)) == []
    assert output("import fourbar as fb, sys; print(fb.dask is sys.modules['fourbar.dask'])") == ["True"]


@pytest.mark.parametrize("name", ["casadi", "gymnasium", "jax", "torch"])
def test_a_module_whose_library_is_missing_says_so(name):
    asked = f"try: fb.{name}\nexcept ImportError as error: print(error)"
    said = " ".join(output(f"import fourbar as fb, sys\nsys.modules[{name!r}] = None\n{asked}"))
    assert f"needs {name}" in said and "pip install" in said
