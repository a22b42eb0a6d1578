"""Writes the tables of configuration spaces into docs/equations.md:  python docs/make_equations.py

From's Tables 1 and 2, made by the library: adjoint maps and Coriolis matrices from the groups, mass matrices and the
Coriolis matrix of the Christoffel symbols from `robot.equations()` of a body on the joint of each group.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import sympy

from fourbar import Builder, joints
from fourbar.expr import Graph
from fourbar.joints import Joint
from fourbar.spatial.groups import SE2, SE3, SO2, SO3, Group, Rn, SchoenfliesGroup
from fourbar.system.equations import to_sympy

PAGE = Path(__file__).with_name("equations.md")
BEGIN, END = "<!-- made by docs/make_equations.py -->\n", "<!-- end -->\n"
TWIST = sympy.symbols("p q r u v w", real=True)  # From's letters, angular first
# Name in LaTeX, group, and the joint whose child moves on it.
SPACES: tuple[tuple[str, Group, Joint], ...] = (
    ("SE(3)", SE3(), joints.Free()),
    (r"\mathcal{X}(z)", SchoenfliesGroup(), joints.Schoenflies()),
    ("SE(2)", SE2(), joints.Planar()),
    ("SO(3)", SO3(), joints.Spherical()),
    (r"\mathbb{R}^3", Rn(3), joints.Translation3()),
    (r"\mathbb{R}^2", Rn(2), joints.Translation2()),
    (r"\mathbb{R}", Rn(1), joints.Prismatic()),
    ("SO(2)", SO2(), joints.Revolute()),
)


def matrix(of: Any, values: Any) -> Any:
    """A matrix-valued function of the library, such as `group.ad`, at SymPy's symbols."""
    inputs = Graph().inputs("x", len(values))
    rows = of(inputs)
    flat = to_sympy([x for row in rows for x in row], dict(zip(inputs, values, strict=True)))
    return sympy.Matrix(len(rows), len(rows[0]), flat)


def _hat(group: Group) -> Any:
    """The 4 x 4 matrix of a velocity of the group."""
    six = [TWIST[i] if i in group.rows else sympy.Integer(0) for i in range(6)]
    (p, q, r), linear = six[:3], six[3:]
    turning = [[0, -r, q], [r, 0, -p], [-q, p, 0]]
    return sympy.Matrix([*([*row, x] for row, x in zip(turning, linear, strict=True)), [0, 0, 0, 0]])


def velocity(group: Group) -> Any:
    """v of the group in From's letters."""
    return sympy.Matrix([TWIST[i] for i in group.rows])


def equations(joint: Joint) -> tuple[Any, Any]:
    """M and C of a body on the joint, its frame at the centre of mass along principal axes; in From's letters."""
    b = Builder("body", gravity=(0.0, 0.0, 0.0))
    e = b.body("b", joint=joint, mass=2.0, inertia=(0.3, 0.4, 0.5)).build().equations(symbols=True)
    plain = {x: sympy.Symbol(str(x).removesuffix("_b").replace("I", "I_"), positive=True) for x in e.parameters}
    return e.M.subs(plain), e.C.subs(plain).subs(dict(zip(e.v, _letters(joint), strict=True)))


def _letters(joint: Joint) -> Any:
    return next(velocity(group) for _, group, own in SPACES if own == joint)


def _tex(x: Any) -> str:
    return f"${sympy.latex(x, mat_str='matrix', mat_delim='[')}$"


def _first() -> Iterator[str]:
    """Table 1: the matrices of the groups."""
    yield "| group | $\\hat V$ | $\\mathrm{ad}_v$ | $C = \\widetilde{\\mathrm{ad}}_p$ |\n| --- | --- | --- | --- |\n"
    for name, group, _ in SPACES:
        momenta = sympy.symbols(f"p_1:{group.nv + 1}", real=True)
        ad, C = matrix(group.ad, list(velocity(group))), matrix(group.coadjoint_coriolis, list(momenta))
        yield f"| ${name}$ | {_tex(_hat(group))} | {_tex(ad)} | {_tex(C)} |\n"


def _second() -> Iterator[str]:
    """Table 2: velocities from local coordinates, M, and two Coriolis matrices with the same C v."""
    yield "| group | $S(\\varphi)$ | $M$ | From: $C = \\widetilde{\\mathrm{ad}}_{Mv}$ | `coriolis_matrix` |\n"
    yield "| --- | --- | --- | --- | --- |\n"
    for name, group, joint in SPACES:
        v = velocity(group)
        M, C = equations(joint)
        bends = matrix(group.ad, list(v)) != sympy.zeros(group.nv, group.nv)
        S = r"1 - \frac12 \mathrm{ad}_\varphi + \frac16 \mathrm{ad}_\varphi^2 - \dots" if bends else "1"
        theirs = matrix(group.coadjoint_coriolis, list(M * v))
        if sympy.expand((theirs - C) * v) != sympy.zeros(group.nv, 1):
            raise AssertionError(f"the two Coriolis forces on {name} differ")
        yield f"| ${name}$ | ${S}$ | {_tex(M)} | {_tex(theirs)} | {_tex(C)} |\n"


def make() -> str:
    """The tables."""
    return "".join([BEGIN, "\n### Table 1\n\n", *_first(), "\n### Table 2\n\n", *_second(), "\n", END])


def write(page: str) -> str:
    """A page with its tables made anew."""
    before, rest = page.split(BEGIN)
    return before + make() + rest.split(END)[1]


if __name__ == "__main__":
    PAGE.write_text(write(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
