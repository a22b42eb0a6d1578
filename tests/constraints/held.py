"""Robots under every kind of constraint, states that keep them, and the equations of motion solved in 40 digits."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import mpmath
import numpy as np

import fourbar as fb
from fourbar import Builder, System
from fourbar.constraints import Contact, Prescribed, Rows
from fourbar.joints import Fixed, Free, Planar, Prismatic, Revolute, Spherical, Universal
from fourbar.loops import Closure, Constraint, Distance, Gear
from fourbar.system.constrained.robot import Constrained
from tests.loops.looped import bars, shaped

BATCH = 2


@cache
def walker() -> System:
    """A floating body with two legs, an arm, a four-bar and a geared rotor: a tree with embedded loops on it."""
    b = Builder("walker", gravity=(0.2, -0.1, -9.7))
    shaped(b, "trunk", 0, joint=Free())
    for i, side in enumerate(("left", "right")):
        shaped(
            b, f"{side}_hip", 1 + 4 * i, parent="trunk", joint=Universal("x", "y"), position=(0, 0.2 - 0.4 * i, -0.1)
        )
        shaped(b, f"{side}_shin", 2 + 4 * i, parent=f"{side}_hip", joint=Revolute("y"), position=(0, 0, -0.4))
        shaped(b, f"{side}_foot", 3 + 4 * i, parent=f"{side}_shin", joint=Revolute("x"), position=(0, 0, -0.4))
        b.frame(f"{side}_sole", f"{side}_foot", position=(0.05, 0, -0.08), rpy=(0.1, 0.2, 0.3))
    b.rotor("rotor", drives="left_shin", ratio=7.0, parent="left_hip", axis="y", mass=0.2, inertia=(1e-3, 2e-3, 1e-3))
    b.loop(bars(b, "", (0.5, 0.2, 0.45, 0.35), carrier="trunk"), name="four_bar", independent=["crank"])
    shaped(b, "arm", 20, parent="coupler", joint=Revolute("x"), position=(0.2, 0, 0))
    shaped(b, "slide", 21, parent="arm", joint=Prismatic("z"), position=(0, 0, 0.3))
    shaped(b, "cart", 22, joint=Planar("z"))
    b.frame("tip", "slide", position=(0, 0.1, 0.2))
    b.frame("slope", "world", rpy=(0.3, -0.2, 0.4))
    return b.build()


def _blade(cart: Any) -> Any:
    """A row that depends on q, and is not the rate of anything."""
    x, y, angle = cart
    return [[0.1 * fb.sin(angle), fb.cos(angle) + 2.0, x * y]]


def _sum(a: Any, b: Any) -> Any:
    return fb.sin(a) + b * b - 0.3


CASES: dict[str, tuple[Any, ...]] = {
    "weld": (Contact("left_sole"), Contact("right_sole", axes="frame")),
    "point": (Contact("left_sole", "point"), Contact("right_sole", "point", axes="frame")),
    "line": (Contact("left_sole", "line", to="slope"), Contact("tip", "touch", to="slope")),
    "plane": (Contact("left_sole", "plane", to="slope"), Contact("right_foot", "touch")),
    "between": (Contact("tip", "point", to="right_sole"), Contact("rocker", "touch", to="left_hip", axes="frame")),
    "rotor": (Contact("rotor", "point"), Prescribed(["arm", "rocker", "left_foot"])),
    "loops": (
        Closure(Spherical(), "slide", "left_foot", at_predecessor=(0.0, 0.1, 0.2), at_successor=(0.1, 0.2, 0.3)),
        Distance("cart", "right_shin", (0.1, 0.0, 0.0), (0.0, 0.0, -0.1), 0.9),
        Gear("arm", "slide", 0.3),
    ),
    "functions": (Rows(_blade, ["cart"]), Constraint(_sum, ["arm", "slide"])),
    "twice": (Contact("left_sole"), Contact("left_foot", "point"), Contact("left_foot", "line", to="slope")),
    "closed": (
        Closure(Fixed(), "world", "cart", at_predecessor=(0.1, 0.2, 0.0)),
        Closure(Revolute("z"), "world", "cart", at_predecessor=(0.1, 0.2, 0.0)),
    ),
}
REDUNDANT = {"twice": 6, "closed": 3}


@cache
def held(name: str) -> Constrained:
    """The walker under one of the cases."""
    return walker().constrained(*CASES[name])


@dataclass(frozen=True)
class State:
    """A batch of states that keep the constraints, and forces."""

    q: np.ndarray
    v: np.ndarray
    tau: np.ndarray
    f_ext: np.ndarray


@cache
def state(name: str, seed: int = 0, n: int = BATCH) -> State:
    """Random states of a case."""
    c, robot = held(name), walker()
    rng = np.random.default_rng(seed)
    q = c.project(robot.random(rng, n))
    v = c.impulse(q, rng.normal(size=(n, robot.nv)))[0]
    return State(q, v, 10.0 * rng.normal(size=(n, robot.nv)), rng.normal(size=(n, len(robot.names.bodies), 6)))


def _span(rows: Any) -> Any:
    """An orthonormal basis, by rows, of all that the rows times anything can be: least λ lies in it."""
    _, s, Vt = mpmath.svd_r(rows.T)
    return Vt[: sum(1 for x in s if x > mpmath.mpf(10) ** -11 * s[0]), :]


def _solve(M: Any, B: Any) -> Any:
    columns = [mpmath.lu_solve(M, B[:, j]) for j in range(B.cols)]
    return mpmath.matrix([[column[i] for column in columns] for i in range(M.rows)])


def exact(
    M: np.ndarray, force: np.ndarray, A: np.ndarray, b: np.ndarray, full: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """a and least-norm λ with M a = force + Aᵀ λ and A a = -b, in 30 digits; `full`: the rows are independent."""
    with mpmath.workdps(30):
        m, f, rows, right = (mpmath.matrix(x.tolist()) for x in (M, force, A, b))
        V = mpmath.eye(len(b)) if full else _span(rows)
        inverse_rows = _solve(m, rows.T)
        free = mpmath.lu_solve(m, f)
        lam = V.T * mpmath.lu_solve(V * rows * inverse_rows * V.T, -(V * (rows * free + right)))
        a = free + inverse_rows * lam
        return np.array(a.tolist(), float)[:, 0], np.array(lam.tolist(), float)[:, 0]


def equations(c: Constrained, s: State, f_ext: np.ndarray | None = None) -> tuple[np.ndarray, ...]:
    """M, τ - bias, A and Ȧ v of a batch."""
    robot = c.system
    force = s.tau - robot.bias_force(s.q, s.v, f_ext=f_ext)
    return robot.mass_matrix(s.q), force, c.jacobian(s.q), c.acceleration(s.q, s.v, np.zeros(robot.nv))
