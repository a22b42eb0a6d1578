"""Derivatives of every method of a robot, by the NumPy meaning of their programs: a tree and a linkage with a hand.

Along a direction against the complex step; backwards against forwards; Jacobians times tangents against both.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

from fourbar import Builder, System
from fourbar.functions.methods import METHODS
from fourbar.joints import Revolute, Spherical, SphericalEuler
from tests.algorithms import mechanisms
from tests.loops import looped

from .step import directional
from .test_dynamics import meaning, near

pytestmark = pytest.mark.drawn_in_line

SMALL = ("tree", "linkage")
LARGE = ("geared", "spatial_crank")
BATCH = 2


@cache
def robot(name: str) -> System:
    if name == "tree":
        joints = (SphericalEuler("zyx"), Revolute("x"), Spherical())
        return driven(mechanisms.random_mechanism(np.random.default_rng(3), joints, "derived"))
    return driven(linkage() if name == "linkage" else looped.mechanism(name))


def driven(system: System) -> System:
    """The same with actuators, in the parent's axes where it can be, and with springs and dampers."""
    moving, rng = system.model.cluster_tree.moving, np.random.default_rng(8)
    b = Builder(system.name, system.gravity).include(system.mechanism)
    for c in moving:
        axes = "parent" if isinstance(c.joint, Spherical) else "child"
        gear = rng.normal(size=c.joint.nv)
        b.actuator(f"{c.name}_motor", drives=c.name, gear=gear, axes=axes)
        b.position_servo(f"{c.name}_servo", drives=c.name, gear=gear, axes=axes, kp=3.0, kd=0.2, force_range=(-9, 9))
    parameters = {"stiffness": 2.0, "damping": 0.3, "friction": 0.4}
    return b.build().with_parameters(joints={c.name: parameters for c in moving})


def linkage() -> System:
    """A four-bar whose coupler carries a hand on a ball joint."""
    b = Builder("linkage", gravity=(0.5, -9.0, 1.0))
    b.loop(looped.bars(b, "", (1.0, 0.4, 0.9, 0.7)), name="loop", independent=["crank"])
    looped.shaped(b, "hand", 1, parent="coupler", joint=Spherical(), position=(0.4, 0.1, 0.0))
    b.frame("tip", "hand", position=(0.1, 0.2, -0.3))
    return b.build()


def options(name: str, method: str) -> list[dict[str, Any]]:
    """The choices of options to look at."""
    system = robot(name)
    body, other, tip = system.names.bodies[-1], system.names.bodies[1], system.names.frames[:1]
    if method == "osim":
        return [{"points": tip or (body,)}]
    return {
        ("cluster",): [{"cluster": system.clusters[-1].bodies[-1]}],
        ("frame",): [{"frame": body}],
        ("frame", "at", "expressed_in"): [
            {"frame": body, "at": "world", "expressed_in": "frame"}
            if name == "tree"
            else {"frame": body, "at": (0.1, -0.2, 0.3), "expressed_in": other}
        ],
        ("prescribed",): [{"prescribed": tuple(_independent(system))}, {"prescribed": ()}],
        ("about",): [{"about": "com" if name == "tree" else "world"}],
        ("frames", "points", "expressed_in"): [{"frames": (body,), "points": (other,)}],
        ("columns", "packed"): [{"packed": name == "tree"}],
        ("columns",): [{}],
        ("rows",): [{}, {"rows": "independent"}],
        (): [{}],
    }[METHODS[method].static]


def _independent(system: System) -> list[str]:
    """The independent joints of the first group that moves."""
    from fourbar.tree.assembly import independent_joints

    cluster_tree = system.model.cluster_tree
    return next(list(own) for own in (independent_joints(cluster_tree, g) for g in cluster_tree.clusters) if own)


def cases(names: tuple[str, ...]) -> list[tuple[str, str, int]]:
    return [(m, r, k) for m in METHODS for r in names for k in range(len(options(r, m)))]


CASES = [
    *cases(SMALL),
    *(pytest.param(*x, marks=pytest.mark.slow) for x in cases(LARGE) if x[0] not in ("osim", "christoffel")),
]
EACH = pytest.mark.parametrize(("method", "name", "choice"), CASES, ids=lambda x: str(x))


def function(method: str, name: str, choice: int) -> Any:
    found = getattr(robot(name), method)
    return found.specialise(**options(name, method)[choice]) if METHODS[method].static else found


@cache
def _state(name: str) -> Any:
    if name in LARGE:
        return looped.state(name, n=2 * BATCH)
    return mechanisms.state(robot(name), n=2 * BATCH)


def arguments(method: str, name: str) -> dict[str, np.ndarray]:
    """Values of all arguments, the optional ones too."""
    state, nv = _state(name), robot(name).nv
    rng = np.random.default_rng(4)
    known = {
        "q": state.q[:BATCH], "q0": state.q[:BATCH], "q1": state.q[BATCH:], "v": state.v[:BATCH], "a": state.a[:BATCH],
        "tau": state.tau[:BATCH], "b": state.tau[BATCH:], "f_ext": state.f_ext[:BATCH],
        "theta": 0.3 * rng.normal(size=(BATCH, nv)), "dt": rng.uniform(0.01, 0.02, BATCH),
        "u": rng.normal(size=(BATCH, len(robot(name).actuators))), "friction_velocity": rng.uniform(0.5, 1.0, BATCH),
    }  # fmt: skip
    return {x: known[x] for x in (*METHODS[method].arguments, *METHODS[method].optional)}


def tangents(f: Any, given: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(5)
    shapes = {a.name: a.tangent for a in f.state[0].arguments}
    return {k: rng.normal(size=(BATCH, *shapes[k])) for k in given}


def along(blocks: np.ndarray, results: list[np.ndarray], moving: dict[str, np.ndarray]) -> list[np.ndarray]:
    """A Jacobian, as the flat blocks of its results and arguments, times tangents."""
    flat, at, found = blocks.reshape(BATCH, -1), 0, []
    for y in results:
        rows = int(np.prod(y.shape[1:]))
        total = np.zeros((BATCH, rows))
        for x in moving.values():
            dx = x.reshape(BATCH, -1)
            block = flat[:, at : at + rows * dx.shape[1]].reshape(BATCH, rows, dx.shape[1])
            total += np.einsum("bij,bj->bi", block, dx)
            at += rows * dx.shape[1]
        found.append(total.reshape(y.shape))
    assert at == flat.shape[1]
    return found


def pushed(f: Any, given: dict[str, np.ndarray], moving: dict[str, np.ndarray]) -> list[np.ndarray]:
    return meaning(f.jvp, {**given, **{f"d_{k}": x for k, x in moving.items()}})


@EACH
def test_derivatives(method: str, name: str, choice: int) -> None:
    f = function(method, name, choice)
    given = arguments(method, name)
    moving = tangents(f, given)
    expected = directional(robot(name), f, given, moving)
    rates = pushed(f, given, moving)
    for found, exact in zip(rates, expected, strict=True):
        near(found, exact, 1e-12)
    (blocks,) = meaning(f.jacobian, given)
    for found, exact in zip(along(blocks, expected, moving), expected, strict=True):
        near(found, exact, 1e-12)
    rng = np.random.default_rng(6)
    weights = [rng.normal(size=y.shape) for y in expected]
    pulled = meaning(f.vjp, {**given, **{f"w_{n}": w for n, w in zip(METHODS[method].results, weights, strict=True)}})
    forwards = sum((w * y).reshape(BATCH, -1).sum(axis=1) for w, y in zip(weights, expected, strict=True))
    backwards = sum((g * x).reshape(BATCH, -1).sum(axis=1) for g, x in zip(pulled, moving.values(), strict=True))
    size = sum(np.abs(w * y).reshape(BATCH, -1).sum(axis=1) for w, y in zip(weights, expected, strict=True))
    assert np.all(np.abs(forwards - backwards) <= 1e-12 * (1e-3 + size))


@pytest.mark.parametrize("method", ["inverse_dynamics", "hybrid_dynamics", "integrate", "difference", "chart_rate"])
def test_tangents_left_out_are_zero(method: str, name: str = "linkage") -> None:
    f = function(method, name, 0)
    given = arguments(method, name)
    every = tangents(f, given)
    for kept in given:
        zeros = {k: x if k == kept else np.zeros_like(x) for k, x in every.items()}
        for alone, full in zip(pushed(f, given, {kept: every[kept]}), pushed(f, given, zeros), strict=True):
            near(alone, full, 1e-14)


def test_robots_have_what_they_should() -> None:
    """Quaternions, subspaces that change, loops."""
    assert robot("tree").nq > robot("tree").nv
    assert robot("linkage").nv == 4 and robot("linkage").nq == 7
    assert any(isinstance(c.joint, SphericalEuler) for c in robot("tree").mechanism.joints)
