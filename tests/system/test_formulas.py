"""`robot.equations()`: formulas against the compiled methods, against books, and in their printed forms."""

from __future__ import annotations

import builtins
import math
import re
from functools import cache
from typing import Any

import numpy as np
import pytest

import fourbar as fb
from fourbar import Builder, System, joints
from fourbar.errors import extra
from fourbar.loops import Coupling, Differential, Gear, Polynomial
from tests.algorithms.mechanisms import near

sympy = pytest.importorskip("sympy")
SOLID: dict[str, Any] = {"mass": 1.5, "com": (0.1, 0.2, 0.3), "inertia": (0.3, 0.01, -0.02, 0.4, 0.03, 0.5)}
BODIES: dict[str, joints.Joint] = {
    "SO(2)": joints.Revolute("y"),
    "R": joints.Prismatic((0.6, 0.0, 0.8)),
    "H": joints.Helical("z", pitch=0.2),
    "R2": joints.Translation2(),
    "R3": joints.Translation3(),
    "SO(3)": joints.Spherical(),
    "SE(2)": joints.Planar("z"),
    "X(z)": joints.Schoenflies("z"),
    "SE(3)": joints.Free(),
    "universal": joints.Universal("x", "y"),
    "cylindrical": joints.Cylindrical("x"),
    "series": joints.Composite(joints.Prismatic("x"), joints.Spherical()),
}


@cache
def body(name: str) -> System:
    b = Builder("body", gravity=(1.0, -2.0, -9.0))
    return b.body("b", joint=BODIES[name], position=(0.1, 0.0, 0.2), armature=0.05, **SOLID).build()


@cache
def arm() -> System:
    """Two links in a vertical plane, the arm of the textbooks."""
    b = Builder("arm", gravity=(0.0, -9.81, 0.0))
    b.body("1", joint=joints.Revolute("z"), mass=1.3, com=(0.4, 0.0, 0.0), inertia=(0.0, 0.02, 0.02))
    b.body("2", parent="1", joint=joints.Revolute("z"), position=(0.7, 0.0, 0.0), mass=0.8, com=(0.3, 0, 0),
           inertia=(0.0, 0.01, 0.01))  # fmt: skip
    return b.build()


@cache
def geared() -> System:
    """Explicit loops: a motor, and a slide coupled to two joints; a tool on a fixed joint."""
    b = Builder("geared")
    b.body("arm", joint=joints.Revolute("y"), mass=1.0, com=(0.2, 0, 0), inertia=(0.01, 0.02, 0.02), armature=0.1)
    b.body("rotor", joint=joints.Revolute("y"), mass=0.2, inertia=(1e-3, 2e-3, 1e-3))
    b.body("slide", parent="arm", joint=joints.Prismatic("x"), position=(0.3, 0, 0), mass=0.5, armature=0.2)
    b.body("tool", parent="slide", position=(0.1, 0, 0), mass=0.1, com=(0, 0.1, 0), inertia=(1e-3, 1e-3, 1e-3))
    b.loop(Gear("arm", "rotor", 6.0, offset=0.1), name="gear")
    return b.loop(Coupling({"slide": 1.0, "arm": -0.2}), name="belt").build()


@cache
def coupled() -> System:
    """Explicit loops of more kinds: a polynomial, and two joints that follow two others."""
    b = Builder("coupled", gravity=(0.0, -9.0, 1.0))
    for i, name in enumerate(("cam", "rod", "a", "b", "c", "d")):
        b.body(name, joint=joints.Revolute("xyz"[i % 3]), mass=0.5 + 0.1 * i, com=(0.1, 0.02 * i, 0.05),
               inertia=(0.01, 0.02, 0.03), position=(0.2 * i, 0.1, 0.0))  # fmt: skip
    b.loop(Polynomial("cam", "rod", (0.1, 0.7, 0.0, 0.3)), name="cam")
    return b.loop(Differential(["a", "b"], ["c", "d"], [[0.5, 0.5], [1.0, -2.0]]), name="differential").build()


ROBOTS = {"arm": arm, "coupled": coupled, "geared": geared, "parallelogram": fb.robots.parallelogram}


def made(name: str) -> System:
    return ROBOTS[name]() if name in ROBOTS else body(name)


@cache
def equations(name: str, symbols: bool) -> Any:
    return made(name).equations(symbols=symbols)


def run(source: str, robot: System, q: np.ndarray, v: np.ndarray, **parameters: float) -> list[np.ndarray]:
    """M, C and g of a batch by the printed Python."""
    space: dict[str, Any] = {}
    exec(source, space)
    found = [space["equations"](x.tolist(), y.tolist(), **parameters) for x, y in zip(q, v, strict=True)]
    return [np.array([sample[k] for sample in found], float) for k in range(3)]


@pytest.mark.slow_cases("parallelogram-numbers")
@pytest.mark.default_cases("numbers", "arm-symbols", "coupled-symbols")
@pytest.mark.parametrize("symbols", [False, True], ids=["numbers", "symbols"])
@pytest.mark.parametrize("name", [*BODIES, *ROBOTS])
def test_printed_python_has_the_numbers_of_the_compiled_methods(name: str, symbols: bool) -> None:
    robot, e = made(name), equations(name, symbols)
    q, v = robot.random(1, 4), np.random.default_rng(2).normal(size=(4, robot.nv))
    M, C, g = run(e.python(), robot, q, v)
    closed = 1e-11 if robot.nq != robot.nv and name in ROBOTS else 1e-13  # loops are closed to about 1e-13 only
    near(M, robot.mass_matrix(q), closed)
    size = np.abs(M).max(axis=(-2, -1)) * np.abs(v).max(axis=-1)
    near(C, robot.coriolis_matrix(q, v), 10 * closed, size + np.abs(C).max(axis=(-2, -1)))
    near(g, robot.gravity_force(q), closed, np.abs(g).max(axis=-1) + 9.81)
    assert symbols == bool(e.parameters)


@pytest.mark.parametrize("name", ["arm", "SO(3)", "geared"])
def test_forces(name: str) -> None:
    """τ by the formulas is inverse dynamics; substituting the parameters gives numbers."""
    robot, e = made(name), equations(name, True)
    q, v, a = robot.random(1), *np.random.default_rng(3).normal(size=(2, robot.nv))
    values = dict(zip((*e.q, *e.v, *e.a), (*q, *v, *a), strict=True)) | e.parameters
    tau = np.array(e.tau.subs(values).evalf(20), float)[:, 0]
    near(tau[None], robot.inverse_dynamics(q, v, a)[None], 1e-13)


def test_the_arm_of_the_textbooks() -> None:
    """Entry by entry."""
    e = equations("arm", True)
    s = {str(x): x for x in (*e.q, *e.v, *e.parameters)}
    m1, m2, c1, c2, l, g = (s[x] for x in ("m_1", "m_2", "cx_1", "cx_2", "lx_2", "g"))
    I1, I2, q1, q2, v1, v2 = (s[x] for x in ("Izz_1", "Izz_2", "q_1", "q_2", "v_1", "v_2"))
    cos, sin, h = sympy.cos, sympy.sin, m2 * l * c2 * sympy.sin(q2)
    inner = I2 + m2 * c2**2 + m2 * l * c2 * cos(q2)
    M = [[I1 + I2 + m1 * c1**2 + m2 * (l**2 + c2**2 + 2 * l * c2 * cos(q2)), inner], [inner, I2 + m2 * c2**2]]
    weight = [m1 * g * c1 * cos(q1) + m2 * g * (l * cos(q1) + c2 * cos(q1 + q2)), m2 * g * c2 * cos(q1 + q2)]
    assert sympy.simplify(e.M - sympy.Matrix(M)) == sympy.zeros(2, 2)
    assert sympy.simplify(e.C - sympy.Matrix([[-h * v2, -h * (v1 + v2)], [h * v1, 0]])) == sympy.zeros(2, 2)
    assert sympy.simplify(e.g - sympy.Matrix(weight)) == sympy.zeros(2, 1)
    assert sin(q2) in e.C.atoms(sympy.sin) and e.parameters[m2] == 0.8
    assert sympy.count_ops(e.M) < 50 and sympy.count_ops(e.C) < 30


def test_parameters_can_be_changed() -> None:
    """The printed function takes other masses: those of another robot."""
    source = equations("arm", True).python()
    b = Builder("other", gravity=(0.0, -1.6, 0.0))
    b.body("1", joint=joints.Revolute("z"), mass=2.0, com=(0.4, 0.0, 0.0), inertia=(0.0, 0.02, 0.02))
    b.body("2", parent="1", joint=joints.Revolute("z"), position=(0.9, 0.0, 0.0), mass=0.8, com=(0.3, 0, 0),
           inertia=(0.0, 0.01, 0.01))  # fmt: skip
    robot = b.build()
    q, v = robot.random(1, 3), np.ones((3, 2))
    M, C, g = run(source, robot, q, v, m_1=2.0, lx_2=0.9, g=1.6)
    near(M, robot.mass_matrix(q), 1e-14)
    near(C, robot.coriolis_matrix(q, v), 1e-14)
    near(g, robot.gravity_force(q), 1e-14)


def test_numbers_of_loops_can_be_changed() -> None:
    """Gear ratios, offsets, factors, coefficients: the printed function is that of a robot built with others."""
    other = Builder("geared")
    other.body("arm", joint=joints.Revolute("y"), mass=1.0, com=(0.2, 0, 0), inertia=(0.01, 0.02, 0.02), armature=0.1)
    other.body("rotor", joint=joints.Revolute("y"), mass=0.2, inertia=(1e-3, 2e-3, 1e-3))
    other.body("slide", parent="arm", joint=joints.Prismatic("x"), position=(0.3, 0, 0), mass=0.5, armature=0.2)
    other.body("tool", parent="slide", position=(0.1, 0, 0), mass=0.1, com=(0, 0.1, 0), inertia=(1e-3, 1e-3, 1e-3))
    other.loop(Gear("arm", "rotor", -9.0, offset=0.4), name="gear")
    robot = other.loop(Coupling({"slide": 2.0, "arm": -0.7}), name="belt").build()
    e = equations("geared", True)
    names = {str(x): value for x, value in e.parameters.items()}
    assert names["ratio_gear"] == 6.0 and names["offset_gear"] == 0.1 and "offset_belt" not in names
    q, v = robot.random(1, 3), np.ones((3, robot.nv))
    changed = {"ratio_gear": -9.0, "offset_gear": 0.4, "factors1_belt": 2.0, "factors2_belt": -0.7}
    _same(robot, run(e.python(), robot, q, v, **changed), q, v)
    b = Builder("coupled", gravity=(0.0, -9.0, 1.0))
    for i, name in enumerate(("cam", "rod", "a", "b", "c", "d")):
        b.body(name, joint=joints.Revolute("xyz"[i % 3]), mass=0.5 + 0.1 * i, com=(0.1, 0.02 * i, 0.05),
               inertia=(0.01, 0.02, 0.03), position=(0.2 * i, 0.1, 0.0))  # fmt: skip
    b.loop(Polynomial("cam", "rod", (0.1, 0.4, 0.0, -0.5)), name="cam")
    robot = b.loop(Differential(["a", "b"], ["c", "d"], [[0.25, 0.5], [1.0, 3.0]]), name="differential").build()
    q, v = robot.random(1, 3), np.random.default_rng(0).normal(size=(3, robot.nv))
    changed = {"coefficients2_cam": 0.4, "coefficients4_cam": -0.5, "matrix1_differential": 0.25}
    source = equations("coupled", True).python()
    _same(robot, run(source, robot, q, v, **changed, matrix4_differential=3.0), q, v)


def _same(robot: System, found: list[np.ndarray], q: np.ndarray, v: np.ndarray) -> None:
    M, C, g = found
    near(M, robot.mass_matrix(q), 1e-13)
    near(C, robot.coriolis_matrix(q, v), 1e-12, np.abs(M).max(axis=(-2, -1)))
    near(g, robot.gravity_force(q), 1e-13, np.abs(g).max(axis=-1) + 9.81)


@pytest.mark.parametrize("symbols", [False, True], ids=["numbers", "symbols"])
def test_rotation_vectors(symbols: bool) -> None:
    """Closed forms in the angle, where it is not zero."""
    b = Builder("ball", gravity=(1.0, -2.0, -9.0)).body("b", joint=joints.SphericalExponential(), **SOLID)
    b.body("tip", parent="b", joint=joints.Prismatic("x"), position=(0.1, 0.2, 0.3), mass=0.4, com=(0.1, 0, 0))
    robot = b.build()
    q, v = robot.random(1, 3), np.random.default_rng(0).normal(size=(3, robot.nv))
    q[0, :3] *= 1e-2 / np.linalg.norm(q[0, :3])
    e = robot.equations(symbols=symbols, simplify=False)
    M, C, g = run(e.python(), robot, q, v)
    near(M, robot.mass_matrix(q), 1e-9)  # the closed forms lose digits near zero
    near(C, robot.coriolis_matrix(q, v), 1e-6)
    near(g, robot.gravity_force(q), 1e-9)
    _same(robot, [M[1:], C[1:], g[1:]], q[1:], v[1:])
    assert not e.M.atoms(sympy.Dummy) and not e.M.has(sympy.Piecewise)


@pytest.mark.slow
def test_rotation_vectors_simplified() -> None:
    robot = Builder("ball").body("b", joint=joints.SphericalExponential(), mass=1.0, inertia=(1, 2, 3)).build()
    q, v = robot.random(1, 3), np.random.default_rng(0).normal(size=(3, 3))
    _same(robot, run(robot.equations().python(), robot, q, v), q, v)


def test_latex() -> None:
    text = equations("arm", False).latex()
    assert text.startswith(r"\begin{aligned}") and r"\tau &= \left[\begin{matrix}" in text
    assert r"\cos{\left(q_{1} + q_{2} \right)}" in text


def test_as_traced() -> None:
    """Without simplification the formulas are longer and the numbers the same."""
    robot = arm()
    e = robot.equations(simplify=False)
    q, v = robot.random(1, 3), np.ones((3, 2))
    near(run(e.python(), robot, q, v)[0], robot.mass_matrix(q), 1e-14)
    assert sympy.count_ops(e.M) > sympy.count_ops(equations("arm", False).M)


def test_names_that_are_no_identifiers() -> None:
    b = Builder("odd").body("left-arm", joint=joints.Revolute("y"), mass=1.0, com=(1, 0, 0))
    b.body("left arm", parent="left-arm", joint=joints.Revolute("y"), position=(0.3, 0, 0), mass=1.0, com=(1, 0, 0))
    robot = b.build()
    e = robot.equations(symbols=True)
    assert [str(x) for x in e.q] == ["q_left_arm", "q_left_arm_1"] and len(e.parameters) == 6
    q, v = robot.random(1, 2), np.ones((2, 2))
    near(run(e.python(), robot, q, v)[0], robot.mass_matrix(q), 1e-14)


def test_large_robots_are_refused() -> None:
    with pytest.raises(fb.ArgumentError, match=r"operations when written out.*small mechanisms"):
        fb.robots.mini_cheetah().equations()


def test_without_sympy(monkeypatch: pytest.MonkeyPatch) -> None:
    original = builtins.__import__

    def refuse(name: str, *args: Any, **named: Any) -> Any:
        if name.partition(".")[0] == "sympy":
            raise ImportError(name)
        return original(name, *args, **named)

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(fb.FourbarError, match=re.escape(extra("sympy"))):
        arm().equations()


def test_numbers_are_written_as_they_are() -> None:
    from fourbar.system.equations import number

    assert number(2.0) == sympy.Integer(2) and number(0.375) == sympy.Rational(3, 8)
    assert float(number(0.1)) == 0.1 and number(math.nan) is sympy.nan
