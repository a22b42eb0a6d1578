"""Coriolis matrices and Christoffel symbols of mechanisms with loops."""

from __future__ import annotations

import numpy as np
import pytest

from fourbar import System
from fourbar.expr import evaluate, jvp, prepare
from fourbar.functions.arguments import Q
from fourbar.functions.context import Context
from fourbar.functions.methods import METHODS
from fourbar.joints.euclidean import FlatJoint
from fourbar.system.equations import SymbolicRecorder
from fourbar.tree.embedding import LoopEmbedding

from .looped import EACH_BUT_LARGEST as EACH
from .looped import NAMES, apply, mechanism, near, slope, spanning, state, transposed

DIFFERENCED = 3e-11  # rates by central differences, in double precision
FLAT = [
    name
    for name in NAMES
    if all(isinstance(c.joint, FlatJoint) for c in mechanism(name).mechanism.joints) and mechanism(name).nv > 0
]


@EACH
def test_force_and_skew_symmetry(name: str) -> None:
    """C v + g = bias and Ṁ - 2 C skew, with Ṁ by differences along a motion that keeps the loops closed."""
    robot, s = mechanism(name), state(name)
    if robot.nv == 0:
        return
    C, M = robot.coriolis_matrix(s.q, s.v), robot.mass_matrix(s.q)
    speed = np.abs(robot.expand_velocity(s.q, s.v)).max(axis=-1)
    size = np.abs(M).max(axis=(-2, -1)) * np.maximum(speed, 1e-3)
    bias, weight = robot.bias_force(s.q, s.v), robot.gravity_force(s.q)
    near(apply(C, s.v) + weight, bias, 1e-12, size * speed + np.abs(weight).max(axis=-1))
    near(robot.coriolis_force(s.q, s.v), bias - weight, 1e-12, size * speed + np.abs(weight).max(axis=-1))
    rate = slope(lambda t: robot.mass_matrix(robot.integrate(s.q, s.v, t)))
    near(rate - 2.0 * C, -transposed(rate - 2.0 * C), DIFFERENCED, size)
    near(robot.mass_matrix_rate(s.q, s.v), rate, DIFFERENCED, size)


def rate_of_mass_matrix(robot: System, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Ṁ by differentiating the trace of M along q ⊕ t v, exactly."""
    recorder = SymbolicRecorder()
    ((_, shape, M),) = METHODS["mass_matrix"].record(Context(robot.model, recorder, [Q.on(robot.model)]))
    (t,) = recorder.graph.inputs("t", 1)
    w = recorder.graph.inputs("w", spanning(robot).nv)
    y = recorder.graph.inputs("y", robot.nv)
    moved, at_q, at_v = [], 0, 0
    tree = robot.model.cluster_tree.spanning_tree
    for group in robot.model.cluster_tree.clusters:
        tie = group.embedding
        own = recorder.arguments["q"][at_q : at_q + tie.nq]
        if isinstance(tie, LoopEmbedding) and tie.explicit:
            moved += [a + t * b for a, b in zip(own, y[at_v : at_v + tie.nv], strict=True)]
        else:
            first = 0
            for i in group.links:
                joint, start = robot.model.cluster_tree.moving[i].joint, tree.first_v[i]
                moved += joint.integrate(own[first : first + joint.nq], [t * x for x in w[start : start + joint.nv]])
                first += joint.nq
        at_q, at_v = at_q + tie.nq, at_v + tie.nv
    along = evaluate(M, dict(zip(recorder.arguments["q"], moved, strict=True)))
    slopes = jvp(along, {t: 1.0})
    run = prepare(slopes, (*recorder.arguments["q"], *w, *y, t))
    found = [run([*a, *b, *c, 0.0]) for a, b, c in zip(q, robot.expand_velocity(q, v), v, strict=True)]
    return np.array(found, float).reshape(len(q), *shape)


@EACH
def test_rate_of_the_mass_matrix(name: str) -> None:
    """Ṁ = C + Cᵀ to the last digits."""
    robot, s = mechanism(name), state(name)
    C = robot.coriolis_matrix(s.q, s.v)
    rate = rate_of_mass_matrix(robot, s.q, s.v)
    size = np.abs(robot.mass_matrix(s.q)).max(axis=(-2, -1), initial=1e-9)
    near(C + transposed(C), rate, 1e-12, size + np.abs(rate).max(axis=(-2, -1), initial=0.0))


@EACH
def test_projection_of_the_spanning_tree(name: str) -> None:
    """C = Gᵀ (C G + M Ġ), with Ġ by differences."""
    robot, s = mechanism(name), state(name)
    tree, q = spanning(robot), robot.expand(s.q)
    G = robot.loop_map(s.q)
    rate = slope(lambda t: robot.loop_map(robot.integrate(s.q, s.v, t)), 1e-3)
    inner = tree.coriolis_matrix(q, robot.expand_velocity(s.q, s.v)) @ G + tree.mass_matrix(q) @ rate
    expected = transposed(G) @ inner
    size = np.abs(robot.mass_matrix(s.q)).max(axis=(-2, -1), initial=1e-9) + np.abs(expected).max(
        axis=(-2, -1), initial=0.0
    )
    near(robot.coriolis_matrix(s.q, s.v), expected, DIFFERENCED, size)


@EACH
def test_coriolis_matrix_is_linear_in_velocity(name: str) -> None:
    """C = Γ v."""
    robot, s = mechanism(name), state(name)
    C = np.einsum("...ijk,...k->...ij", robot.christoffel(s.q), s.v)
    near(robot.coriolis_matrix(s.q, s.v), C, 1e-12, np.abs(C).max(axis=(-2, -1), initial=0.0) + 1e-9)


@pytest.mark.parametrize("name", FLAT)
def test_christoffel_symbols_of_coordinates(name: str) -> None:
    """Γ_ijk = ½ (∂_k M_ij + ∂_j M_ik - ∂_i M_jk) where the independent velocities are rates of coordinates."""
    robot, s = mechanism(name), state(name)
    units = np.eye(robot.nv) / (1.0 + np.abs(robot.loop_map(s.q)).max(axis=-2)[..., None])
    scale = np.einsum("...kk->...k", units)

    def along(t: float) -> np.ndarray:
        return robot.mass_matrix(robot.integrate(s.q[:, None, :], units, t))

    slopes = slope(along, 1e-3) / scale[..., None, None]  # (..., k, i, j)
    expected = 0.5 * (np.einsum("...kij->...ijk", slopes) + np.einsum("...jik->...ijk", slopes) - slopes)
    found = robot.christoffel(s.q)
    size = np.abs(robot.mass_matrix(s.q)).max(axis=(-2, -1)) * (1.0 / scale).max(axis=-1)
    near(found, expected, DIFFERENCED, size)
    near(found, np.swapaxes(found, -1, -2), 1e-12, size)


def test_there_are_flat_mechanisms() -> None:
    assert {"four_bar", "nested"} <= set(FLAT)
