"""Tolerances that decide are in `tolerances.py`, with their reason, or among the settings of their solver."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import fourbar as fb
from fourbar import tolerances
from fourbar.io.export.equivalents import closed_coordinates

SOURCE = Path(fb.__file__).parent
SMALL, LARGE = 1e-3, 1e6  # ratios that decide may be written as their inverses
ELSEWHERE = ("tolerances.py", "compile/elementary.py", "contact/", "shapes/")  # series, and what has its own

# Small numbers that decide nothing about ranks, gaps, singular positions and convergence.
FORMATS = """
io/export/inertials.py LEAST _NEGLIGIBLE _PARALLEL _ROOM _ROUNDING
io/export/mjcf_contacts.py _FRICTION _THINNEST
io/export/sdf.py _RIGHT
io/meshes.py _REACHED _ROUNDING
io/mjcf/actuators.py _SAME
io/mjcf/contacts.py _SOLIMP _SOLREF
io/mjcf/fluids.py _ALIGNED _LEAST_MASS
io/sdf/build.py _NEAR
io/urdf/joints.py _SHORT
mechanism/contact_pairs.py SOLIMP SOLREF _LEAST
targets/c.py _TOLERANCE
targets/wasm.py _TOLERANCE
"""
PICTURES = """
cli/scene_simulation.py _MOST_POINTS _NEAR
learning/layout.py _SMALL
learning/terrains.py _EDGE
sim/terrain_observations.py _UPRIGHT
plots/matrices.py _ROUNDING
plots/motion_pictures.py _CONSTANT
plots/sticks.py _FLAT
viewer/robot_page.py _BETTER _STUCK
viewer/gltf.py _STILL
viewer/robot_page.py _PASSED
viewer/sticks.py _SHORT
viewer/terrain_surfaces.py _SAME
viewer/triangles.py _SAME
"""
CHECKS_OF_ARGUMENTS = """
constraints/condition.py _SAME
functions/parameter_derivatives.py _SYMMETRIC
functions/inverse_kinematics.py _ROTATION
interop/rotations.py _SKEW
interop/rotations.py _ORTHOGONAL
mechanism/armature_blocks.py _ROUNDING
mechanism/fluid.py _ROUNDING
sim/motions/given_numbers.py _ROUNDING
sim/linearize.py _SAME
sim/motions/read_arguments.py _NOT_UNIT
system/constrained/inverse_dynamics.py _SYMMETRIC
"""
ROUNDING_OF_RESULTS = """
functions/parameter_derivatives.py _ROUNDING
identification/base_parameters.py _NEGLIGIBLE
identification/least_squares.py _FAINT
identification/estimate.py _MARGIN
io/loop_repair.py _EXACT _ROUNDING
sim/scenes/step_derivatives.py _ROUNDING
spatial/groups/subgroup.py _ROUNDING
spatial/inertia.py _POINT
system/equations.py _DUST
tree/cluster_tree.py _ROUNDING
tree/equivalent_trees.py _DUST _TINY
tree/sampling.py _ROUNDING
"""
SETTINGS = "sim/loops/folds.py _LEAPT"  # of the search past folds, among its other ones
OTHERS = """
constraints/loop.py _LARGEST
functions/inverse_kinematics.py _NONE
io/export/mjcf.py _ENDLESS
io/export/urdf.py _ENDLESS
io/numbers.py _ENDLESS
joints/euclidean.py _ENDLESS
mechanism/validate.py LARGEST
sim/simulations.py DT SCENE_DT
spatial/inertia.py _LARGEST
"""  # what counts as infinite; a step in time


def targets(node: ast.stmt) -> list[str]:
    """The names that a statement of a module assigns."""
    assigned = (
        node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    )
    return [x.id for target in assigned for x in ast.walk(target) if isinstance(x, ast.Name)]


def is_tolerance(node: ast.AST) -> bool:
    """Whether this is a number that could be a tolerance, or the inverse of one."""
    number = node.value if isinstance(node, ast.Constant) and isinstance(node.value, float) else 1.0
    return 0.0 < number <= SMALL or number >= LARGE


def epsilons(path: Path) -> Iterator[str]:
    """The names of a module whose value has such a number."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        value = getattr(node, "value", None)
        if value is not None and any(map(is_tolerance, ast.walk(value))):
            yield from targets(node)


def listed(*texts: str) -> set[tuple[str, str]]:
    """Files and names of the lists above."""
    lines = [line.split() for text in texts for line in text.splitlines() if line]
    return {(file, name) for file, *names in lines for name in names}


def test_tolerances_that_decide_are_in_their_place() -> None:
    """A new one goes to `tolerances.py` with its reason, into a class of settings, or, if it decides nothing, above."""
    files = {path.relative_to(SOURCE).as_posix(): path for path in SOURCE.rglob("*.py")}
    found = {(name, x) for name, path in files.items() if not name.startswith(ELSEWHERE) for x in epsilons(path)}
    allowed = listed(FORMATS, PICTURES, CHECKS_OF_ARGUMENTS, ROUNDING_OF_RESULTS, SETTINGS, OTHERS)
    assert (sorted(found - allowed), sorted(allowed - found)) == ([], [])


def test_a_tolerance_has_one_value() -> None:
    """No other module has a small number of its name, with an underscore or without."""
    named = {name for name in vars(tolerances) if name.isupper()} - {
        "DUST",
        "ROUNDING",
        "NOTHING",
    }  # words of many uses
    files = [path for path in SOURCE.rglob("*.py") if path.name != "tolerances.py" and path.parent.name != "contact"]
    again = [f"{path.stem}: {x}" for path in files for x in epsilons(path) if x.lstrip("_") in named]
    assert again == ["gltf: _STILL"]  # of pictures


def test_a_tolerance_has_its_reason() -> None:
    lines = Path(tolerances.__file__).read_text(encoding="utf-8").splitlines()
    for number, line in enumerate(lines):
        if " = " in line and line[:1].isupper():
            before = (x for x in reversed(lines[:number]) if not x[:1].isupper())
            assert "  # " in line or next(before).startswith("# "), line


def test_tolerances_of_gaps_are_in_order() -> None:
    """What is closed within a step counts as closed, that as assembled, that as written, and that is not open."""
    order = ("CONVERGED", "CLOSED", "ASSEMBLED", "WRITTEN", "OPEN")
    values = [getattr(tolerances, name) for name in order]
    assert values == sorted(values) and len(set(values)) == len(order)


@pytest.mark.parametrize("unit", [1.0, 1e-10, 1e6])
def test_whether_a_loop_is_open_where_joints_are_neutral_does_not_depend_on_units(unit: float) -> None:
    b = fb.Builder("linkage")
    for name, parent, x, z in (
        ("crank", "world", 0, 0),
        ("coupler", "crank", 0, unit),
        ("rocker", "world", 2 * unit, 0),
    ):
        rod = {"mass": 1.0, "com": (0, 0, unit / 2), "inertia": (unit**2,) * 3}
        b.body(name, parent=parent, joint=fb.joints.Revolute("y"), position=(x, 0, z), **rod)  # type: ignore[arg-type]
    ends = {"at_predecessor": (0, 0, 2 * unit), "at_successor": (0, 0, 1.5 * unit)}
    robot = b.loop(fb.loops.Closure(fb.joints.Spherical(), "coupler", "rocker", **ends)).build()
    angles = [q for (q,) in closed_coordinates(robot.mechanism).values()]
    assert np.allclose(angles, [0.759806, 0.47486, 0.394743], atol=1e-5)
