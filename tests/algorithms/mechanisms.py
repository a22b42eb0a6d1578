"""Random mechanisms that together hold every joint of the registry, random states of them, and comparisons.

The mechanisms are few and always the same, so that each of their methods is compiled once for all tests. What
hypothesis varies are the states, which are cheap and come in batches.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from fourbar import Builder, System
from fourbar.joints import REGISTRY, Fixed, Free, Helical, Joint, Planar, Prismatic, Revolute, Spherical, SphericalEuler
from fourbar.joints.base import subspace_matrix
from fourbar.mechanism.mechanism import Mechanism

COUNT = 10  # mechanisms
BATCH = 6  # states in a batch
FLOATING = (0, 1)  # mechanisms of one tree on one free joint
_SHORT = (0, 5)


def _numbers(*numbers: int) -> pytest.MarkDecorator:
    marked = [pytest.param(i, marks=pytest.mark.quick) if i in _SHORT else i for i in numbers]
    return pytest.mark.parametrize("number", marked)


EACH = _numbers(*range(COUNT))
FEW = _numbers(1, 5, 8)
EACH_FLOATING = _numbers(*FLOATING)
EXAMPLES = settings(max_examples=4, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))


def random_rotation(rng: np.random.Generator, generic: bool = False) -> np.ndarray:
    """Any rotation, or (not if generic) one that only swaps axes or none: these take other paths through the tracer."""
    kind = 3 if generic else rng.integers(4)
    if kind == 0:
        return np.eye(3)
    Q, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    if kind == 1:
        Q = np.eye(3)[rng.permutation(3)]
    return Q * np.array([1.0, 1.0, np.linalg.det(Q)])


def random_inertia(rng: np.random.Generator, mass: float) -> np.ndarray:
    """Rotational inertia of a few random points: always that of some matter."""
    points = 0.15 * rng.normal(size=(5, 3))
    moments = mass / 5 * points.T @ points
    return np.trace(moments) * np.eye(3) - moments


def regular_limits(joint: Joint) -> tuple[list[float], list[float]] | None:
    """Limits that keep Euler angles away from gimbal lock."""
    if not isinstance(joint, SphericalEuler):
        return None
    middle = (0.6, 2.5) if joint.sequence[0] == joint.sequence[2] else (-0.9, 0.9)
    return [-3.0, middle[0], -3.0], [3.0, middle[1], 3.0]


def _add_body(
    b: Builder, rng: np.random.Generator, name: str, parent: str, joint: Joint | None, massless: bool = False
) -> None:
    mass = 0.0 if massless else float(rng.uniform(0.3, 2.0))
    nv = 0 if joint is None else joint.nv
    b.body(
        name,
        parent=parent,
        joint=joint,
        joint_name=f"joint_{name}",
        position=rng.choice([0.0, 0.3]) * rng.normal(size=3),
        rotation=random_rotation(rng, generic=parent.startswith("massless")),  # two joints in line would be one
        mass=mass,
        com=np.zeros(3) if massless else 0.1 * rng.normal(size=3),
        inertia=random_inertia(rng, mass),
        armature=rng.uniform(0.0, 0.2, nv) if rng.random() < 0.3 else 0.0,
        limits=None if joint is None else regular_limits(joint),
    )


def random_mechanism(rng: np.random.Generator, joints: Sequence[Joint], name: str, floating: bool = False) -> System:
    """A tree of bodies on the given joints, with several roots unless it floats.

    It has branches, bodies on fixed joints (one on the ground, with things on it), bodies without mass before some
    joints of few freedoms, armatures, frames on moving, fixed and ground bodies, and gravity in any direction.
    """
    b = Builder(name, gravity=9.81 * random_rotation(rng)[2])
    bodies = ["base"]
    _add_body(b, rng, "base", "world", Free() if floating else None)
    for i, joint in enumerate(joints):
        carrier = bodies[int(rng.integers(max(0, len(bodies) - 3), len(bodies)))]
        if not floating and rng.random() < 0.2:
            carrier = "world"
        if 1 <= joint.nv <= 2 and rng.random() < 0.3:
            inserted: Joint = [Revolute("x"), Prismatic("y"), Helical("z", pitch=0.2)][int(rng.integers(3))]
            _add_body(b, rng, f"massless{i}", carrier, inserted, massless=True)
            carrier = f"massless{i}"
        _add_body(b, rng, f"body{i}", carrier, joint)
        bodies.append(f"body{i}")
        if rng.random() < 0.3:
            _add_body(b, rng, f"tool{i}", f"body{i}", None, massless=bool(rng.random() < 0.3))
            bodies.append(f"tool{i}")
    _add_body(b, rng, "welded", bodies[-1], None)
    b.frame("hand", bodies[-1], position=rng.normal(size=3), rotation=random_rotation(rng))
    b.frame("welded_tip", "welded", position=rng.normal(size=3), rotation=random_rotation(rng))
    b.frame("middle", bodies[len(bodies) // 2], position=rng.normal(size=3), rotation=random_rotation(rng))
    b.frame("mark", "world", position=rng.normal(size=3), rotation=random_rotation(rng))
    return b.build()


@cache
def shares() -> tuple[tuple[Joint, ...], ...]:
    """The joints of the registry, dealt to the mechanisms."""
    order = np.random.default_rng(2).permutation(len(REGISTRY))
    return tuple(tuple(REGISTRY[i] for i in order[k::COUNT]) for k in range(COUNT))


@cache
def mechanism(number: int) -> System:
    """One of the fixed set."""
    rng = np.random.default_rng(100 + number)
    return random_mechanism(rng, shares()[number], f"random{number}", floating=number in FLOATING)


@cache
def small_mechanism() -> System:
    """A small floating tree with quaternions and group joints: for simulations."""
    return random_mechanism(np.random.default_rng(7), (Spherical(), Revolute("x"), Planar("y")), "small", floating=True)


def joint_types(mechanisms: Sequence[Mechanism]) -> set[Joint]:
    """All joints found in mechanisms."""
    return {c.joint for m in mechanisms for c in m.joints} | {Fixed()}


@dataclass(frozen=True)
class State:
    """A batch of states and what else the methods take."""

    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    tau: np.ndarray
    f_ext: np.ndarray


def home(robot: System) -> np.ndarray:
    """Every joint at its neutral position, unless it is singular there (gimbal lock): then anywhere."""
    rng = np.random.default_rng(3)
    parts = []
    for c in robot.model.cluster_tree.moving:
        values = np.linalg.svd(subspace_matrix(c.joint, c.joint.neutral()), compute_uv=False)
        anywhere = c.joint.random(rng, np.array(c.lower), np.array(c.upper))
        parts.append(np.array(c.joint.neutral()) if values[-1] > 1e-3 * values[0] else anywhere)
    return np.concatenate(parts)


def quaternions(robot: System) -> list[slice]:
    """Where quaternions lie in q."""
    found, at = [], 0
    for c in robot.model.cluster_tree.moving:
        if isinstance(c.joint, (Free, Spherical)):
            first = at + c.joint.nq - 4
            found.append(slice(first, first + 4))
        at += c.joint.nq
    return found


Recipe = tuple[int, str, float]


@st.composite
def _recipes(draw: st.DrawFn) -> Recipe:
    return (
        draw(st.integers(0, 2**32 - 1)),
        draw(st.sampled_from(("random", "random", "home", "near home", "long quaternions"))),
        draw(st.sampled_from((1.0, 1.0, 0.0, 1e-3, 10.0))),
    )


RECIPES = _recipes()


def state(robot: System, recipe: Recipe = (0, "random", 1.0), n: int = BATCH) -> State:
    """States from a seed, a kind of configuration and a speed."""
    seed, kind, speed = recipe
    rng = np.random.default_rng(seed)
    q = robot.random(rng, n)
    if kind in ("home", "near home"):
        step = (1e-5 if kind == "near home" else 0.0) * rng.normal(size=(n, robot.nv))
        q = robot.integrate(np.broadcast_to(home(robot), q.shape), step, 1.0)
    elif kind == "long quaternions":
        for part in quaternions(robot):
            q[:, part] *= rng.uniform(-3.0, 3.0, (n, 1))
    v, a, tau = (rng.normal(size=(n, robot.nv)) for _ in range(3))
    f_ext = rng.normal(size=(n, len(robot.names.bodies), 6))
    return State(q, speed * v, a, 10.0 * tau, f_ext)


def error(actual: np.ndarray, expected: np.ndarray, size: np.ndarray | float | None = None) -> float:
    """Largest difference over the batch (first axis), in units of the largest entry of each sample (or of `size`)."""
    actual, expected = np.asarray(actual), np.asarray(expected)
    assert actual.shape == expected.shape
    assert np.all(np.isfinite(actual))
    axes = tuple(range(1, actual.ndim))
    largest = np.abs(expected).max(axis=axes) if size is None else np.asarray(size)
    difference = np.abs(actual - expected).max(axis=axes)
    return float((difference / np.where(largest > 0.0, largest, 1.0)).max())


def near(actual: np.ndarray, expected: np.ndarray, tol: float, size: np.ndarray | float | None = None) -> None:
    """Equal up to tol times the largest entry of each sample, or times `size`."""
    found = error(actual, expected, size)
    assert found <= tol, f"off by {found:.3g} of the largest entry, allowed are {tol:.3g}"


def condition(M: np.ndarray) -> np.ndarray:
    """Condition number of mass matrices, after scaling every velocity so that the diagonal is one."""
    d = 1.0 / np.sqrt(np.einsum("...ii->...i", M))
    return np.linalg.cond(M * d[..., :, None] * d[..., None, :])
