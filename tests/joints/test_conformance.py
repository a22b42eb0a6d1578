"""What every joint promises, checked on every example of the registry."""

from __future__ import annotations

import functools
import pickle
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from fourbar.expr import Graph, evaluate, interpret, jvp
from fourbar.expr.unrolled import Unrolled
from fourbar.joints import JOINT_TYPES, REGISTRY, Composite, CustomJoint, Joint
from fourbar.joints.composite import SeriesJoint
from fourbar.spatial.linear import Vec
from fourbar.spatial.transform import Transform
from fourbar.spatial.vectors import Twist

EACH = pytest.mark.parametrize("joint", REGISTRY, ids=lambda j: repr(j)[:60])
# Central difference of order eight: weights of f(±h), f(±2h), f(±3h), f(±4h).
STENCIL = (4 / 5, -1 / 5, 4 / 105, -1 / 280)


def unlimited(joint: Joint) -> np.ndarray:
    return np.full(joint.nq, np.inf)


@functools.cache
def states(joint: Joint) -> list[tuple[list[float], list[float]]]:
    """(q, v): at the neutral configuration, next to it, and at random ones."""
    rng = np.random.default_rng(5)
    free = unlimited(joint)
    found = [(list(joint.neutral()), rng.normal(size=joint.nv).tolist())]
    for size in (1e-9, 1e-4):
        step = (size * rng.normal(size=joint.nv)).tolist()
        found.append((list(joint.integrate(joint.neutral(), step)), rng.normal(size=joint.nv).tolist()))
    for _ in range(3):
        found.append((joint.random(rng, -free, free).tolist(), rng.normal(size=joint.nv).tolist()))
    return found


def near(actual: Any, expected: Any, tol: float) -> None:
    """Equal up to tol times the largest entry, or times one."""
    a, e = np.asarray(actual, float), np.asarray(expected, float)
    assert a.shape == e.shape
    np.testing.assert_allclose(a, e, rtol=0.0, atol=tol * max(1.0, float(np.abs(e).max(initial=0.0))))


def pose(T: Transform) -> np.ndarray:
    matrix = np.eye(4)
    matrix[:3, :3], matrix[:3, 3] = T.R, T.p
    return matrix


def body_twist(T: np.ndarray, dT: np.ndarray) -> np.ndarray:
    """The vector of T⁻¹ Ṫ, whose rotation must be skew."""
    m = np.linalg.solve(T, dT)
    near(m[:3, :3], -m[:3, :3].T, 1e-9)
    return np.array([m[2, 1], m[0, 2], m[1, 0], *m[:3, 3]])


def six(V: Twist) -> np.ndarray:
    return np.array(V.six(), float)


def all_numbers(joint: Joint, q: Sequence[Any], v: Sequence[Any]) -> Vec:
    """Everything a joint computes from q and v, in one vector."""
    T = joint.placement(q)
    columns = [x for t in joint.subspace(q).twists() for x in t.six()]
    moved = joint.integrate(q, v)
    back = joint.difference(q, moved)
    return Vec([*T.R[0], *T.R[1], *T.R[2], *T.p, *columns, *joint.bias(q, v).six(), *moved, *back])


@functools.cache
def trace(joint: Joint) -> Any:
    """Symbols t, q, v; entries of T(q ⊕ t v) and S(q ⊕ t v) v and their derivatives with respect to t."""
    graph = Graph()
    t: Any = graph.inputs("t", 1)[0]
    q, v = graph.inputs("q", joint.nq), graph.inputs("v", joint.nv)
    moved = joint.integrate(q, [t * x for x in v])
    T = joint.placement(moved)
    roots = [*T.R[0], *T.R[1], *T.R[2], *T.p, *joint.subspace(moved).twist(v).six()]
    return t, q, v, roots, jvp(roots, {t: 1.0})


@EACH
def test_rate_of_the_subspace(joint: Joint) -> None:
    """S° by columns: the rate of each column of S along q ⊕ t v, and S° v = bias."""
    for q, v in states(joint):
        found = np.array([t.six() for t in joint.subspace_rate(q, v)], float).reshape(joint.nv, 6)
        near(found.T @ v if joint.nv else np.zeros(6), six(joint.bias(q, v)), 1e-13)

        def columns(t: float, q: Any = q, v: Any = v) -> np.ndarray:
            moved = joint.integrate(q, [t * x for x in v])
            return np.array([s.six() for s in joint.subspace(moved).twists()], float).reshape(joint.nv, 6)

        h = 0.01
        rate = sum(w / h * (columns(k * h) - columns(-k * h)) for k, w in enumerate(STENCIL, 1))
        near(found, rate, 1e-9)


def test_every_type_has_an_example() -> None:
    assert {type(joint) for joint in REGISTRY} == set(JOINT_TYPES)
    assert len(set(REGISTRY)) == len(REGISTRY)


@EACH
def test_names_and_sizes(joint: Joint) -> None:
    assert len(joint.q_names) == joint.nq == len(joint.neutral())
    assert len(joint.v_names) == joint.nv == joint.subspace(joint.neutral()).nv
    assert len(set(joint.q_names)) == joint.nq
    assert len(set(joint.v_names)) == joint.nv
    assert ("" in joint.v_names) <= (joint.nv == 1)
    for tag in joint.tags:
        assert tag.split(":")[0] in ("urdf", "urdf+", "drake", "mjcf", "sdf")
    assert sum(tag in other.tags for other in JOINT_TYPES for tag in joint.tags) == len(joint.tags)


@EACH
def test_neutral_is_the_identity(joint: Joint) -> None:
    stated_otherwise = isinstance(joint, CustomJoint | Composite)  # custom poses and fixed placements: see their text
    moved = isinstance(joint, SeriesJoint) and any(isinstance(p, Transform | CustomJoint) for p in _all_parts(joint))
    if not (stated_otherwise and (moved or isinstance(joint, CustomJoint))):
        near(pose(joint.placement(joint.neutral())), np.eye(4), 1e-15)


def _all_parts(joint: SeriesJoint) -> list[Any]:
    inner = [_all_parts(part) if isinstance(part, SeriesJoint) else [part] for part in joint.parts]
    return [part for parts in inner for part in parts]


@EACH
def test_rotation_is_orthonormal(joint: Joint) -> None:
    for q, _ in states(joint):
        R = np.array(joint.placement(q).R, float)
        near(R.T @ R, np.eye(3), 3e-15)
        assert np.linalg.det(R) > 0.0


@EACH
def test_subspace_is_the_velocity_of_the_placement(joint: Joint) -> None:
    """S v = vee(T⁻¹ Ṫ) along q ⊕ t v, by exact differentiation of the trace."""
    t, qs, vs, roots, rates = trace(joint)
    for q, v in states(joint):
        values = {t: 0.0} | dict(zip(qs, q, strict=True)) | dict(zip(vs, v, strict=True))
        x, d = np.array(evaluate(roots[:12], values), float), np.array(evaluate(rates[:12], values), float)
        T, dT = np.eye(4), np.zeros((4, 4))
        T[:3, :3], T[:3, 3], dT[:3, :3], dT[:3, 3] = x[:9].reshape(3, 3), x[9:], d[:9].reshape(3, 3), d[9:]
        near(six(joint.subspace(q).twist(v)), body_twist(T, dT), 1e-13)


@EACH
def test_bias_is_the_rate_of_the_subspace(joint: Joint) -> None:
    """S° v = d/dt S(q ⊕ t v) v, by exact differentiation of the trace."""
    t, qs, vs, _, rates = trace(joint)
    for q, v in states(joint):
        values = {t: 0.0} | dict(zip(qs, q, strict=True)) | dict(zip(vs, v, strict=True))
        near(six(joint.bias(q, v)), np.array(evaluate(rates[12:], values), float), 1e-13)


@EACH
def test_subspace_and_bias_against_differences(joint: Joint) -> None:
    """The same by high-order differences of plain floats, which need no trace."""
    h = 0.02
    for q, v in states(joint):
        dT, dV = np.zeros((4, 4)), np.zeros(6)
        for k, weight in enumerate(STENCIL, 1):
            for sign in (1.0, -1.0):
                moved = joint.integrate(q, [sign * k * h * x for x in v])
                dT += sign * weight / h * pose(joint.placement(moved))
                dV += sign * weight / h * six(joint.subspace(moved).twist(v))
        near(six(joint.subspace(q).twist(v)), body_twist(pose(joint.placement(q)), dT), 1e-9)
        near(six(joint.bias(q, v)), dV, 1e-9)


@EACH
def test_integrate_and_difference_are_inverse(joint: Joint) -> None:
    all_states = states(joint)
    for (q, v), (q1, _) in zip(all_states, [*all_states[1:], all_states[0]], strict=True):
        reached = joint.integrate(q, joint.difference(q, q1))
        near(pose(joint.placement(reached)), pose(joint.placement(q1)), 3e-14)
        for size in (1e-9, 0.5):
            step = [size * x for x in v]
            near(np.array(joint.difference(q, joint.integrate(q, step))) / size, v, 1e-14 / size)


@EACH
def test_integrating_in_parts(joint: Joint) -> None:
    """q ⊕ 0 = q, and two half steps are one step: v is constant along the way."""
    for q, v in states(joint):
        near(joint.integrate(q, [0.0] * joint.nv), q, 1e-15)
        half = [0.5 * x for x in v]
        twice = joint.integrate(joint.integrate(q, half), half)
        near(pose(joint.placement(twice)), pose(joint.placement(joint.integrate(q, v))), 1e-14)


@pytest.mark.parametrize("joint", [j for j in REGISTRY if j.nq != j.nv], ids=lambda j: repr(j)[:60])
def test_quaternions_stay_unit(joint: Joint) -> None:
    first = next(i for i, name in enumerate(joint.q_names) if name.endswith("qw"))
    rng = np.random.default_rng(1)
    q: Sequence[float] = joint.neutral()
    for step in rng.normal(scale=0.1, size=(10_000, joint.nv)).tolist():
        q = joint.integrate(q, step)
    assert abs(np.linalg.norm(q[first : first + 4]) - 1.0) < 1e-15


@EACH
def test_aligned(joint: Joint) -> None:
    """T(q) = A T'(q) Aᵀ, S = A S', S° = A S°', and the same q and v throughout."""
    A, simple = joint.aligned()
    assert simple.aligned() == (None, simple)
    assert (simple.nq, simple.nv, simple.neutral()) == (joint.nq, joint.nv, joint.neutral())
    R = np.eye(3) if A is None else np.array(A, float)
    near(R @ R.T, np.eye(3), 1e-15)
    both = np.kron(np.eye(2), R)
    for q, v in states(joint):
        T, simple_T = pose(joint.placement(q)), pose(simple.placement(q))
        near(T[:3, :3], R @ simple_T[:3, :3] @ R.T, 1e-14)
        near(T[:3, 3], R @ simple_T[:3, 3], 1e-14)
        near(six(joint.subspace(q).twist(v)), both @ six(simple.subspace(q).twist(v)), 1e-14)
        near(six(joint.bias(q, v)), both @ six(simple.bias(q, v)), 1e-14)
        near(joint.integrate(q, v), simple.integrate(q, v), 1e-14)


@EACH
def test_pivot(joint: Joint) -> None:
    """What of the child never moves: its z axis in the aligned frames, or its origin."""
    simple = joint.aligned()[1]
    assert joint.pivot == simple.pivot
    poses = np.array([pose(simple.placement(q)) for q, _ in states(joint)])
    still = joint.nv == 0 or not poses[:, :3, 3].any()
    assert still == (joint.pivot != "" or joint.nv == 0)
    if joint.pivot == "line":
        near(poses[:, :3, 2], np.tile([0.0, 0.0, 1.0], (len(poses), 1)), 0.0)


@EACH
def test_random_keeps_limits(joint: Joint) -> None:
    """Quaternions are uniform instead: limits on their entries are not asked for."""
    rng = np.random.default_rng(3)
    bounded = np.array([name.split("_")[-1] not in ("qw", "qx", "qy", "qz") for name in joint.q_names], bool)
    for low, high in ((-np.inf, np.inf), (0.1, 0.2), (-np.inf, -7.0), (7.0, np.inf)):
        lower, upper = np.full(joint.nq, low), np.full(joint.nq, high)
        assert joint.random(rng, lower, upper).shape == (joint.nq,)
        assert joint.random(rng, lower, upper, (2, 3)).shape == (2, 3, joint.nq)
        q = joint.random(rng, lower, upper, (50,))
        assert np.all(np.isfinite(q))
        assert np.all(((q >= lower) & (q <= upper))[:, bounded])
        if not bounded.all():
            near(np.linalg.norm(q[:, ~bounded], axis=1), np.ones(50), 1e-15)


@EACH
def test_equal_hashable_picklable(joint: Joint) -> None:
    copy = pickle.loads(pickle.dumps(joint))
    assert copy == joint
    assert hash(copy) == hash(joint)
    assert repr(copy) == repr(joint)
    for q, v in states(joint)[-1:]:
        assert all_numbers(copy, q, v) == all_numbers(joint, q, v)
    with pytest.raises(AttributeError):
        joint.nq = 7


@EACH
def test_traced_equals_floats(joint: Joint) -> None:
    """The recorded program, run on a batch, gives what the joint gives for each sample."""
    recorder = Unrolled()
    q, v = recorder.input("q", (joint.nq,)), recorder.input("v", (joint.nv,))
    results = recorder.call(all_numbers, joint, Vec(q), Vec(v))
    program = recorder.finish("joint", [("y", (len(results),), results)])
    cases = states(joint)
    y = interpret(program, {"q": np.array([q for q, _ in cases]), "v": np.array([v for _, v in cases])})["y"]
    y = np.broadcast_to(y, (len(cases), len(results)))
    for row, (q, v) in zip(y, cases, strict=True):
        near(row, all_numbers(joint, q, v), 1e-14)


@EACH
def test_array_scalars_equal_floats(joint: Joint) -> None:
    """Each scalar may be a NumPy array: a batch."""
    cases = states(joint)
    q = [np.array(x) for x in zip(*(q for q, _ in cases), strict=True)]
    v = [np.array(x) for x in zip(*(v for _, v in cases), strict=True)]
    batch = [np.broadcast_to(x, len(cases)) for x in all_numbers(joint, q, v)]
    for k, (q, v) in enumerate(cases):
        near([x[k] for x in batch], all_numbers(joint, q, v), 1e-14)
