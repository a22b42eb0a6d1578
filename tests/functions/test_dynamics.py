"""Derivatives of the dynamics on random mechanisms with every joint and every kind of loop, by their NumPy meaning."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from fourbar import System
from fourbar.expr import interpret
from tests.algorithms import mechanisms
from tests.loops import looped

from .step import directional

TREES = [f"tree{i}" for i in range(mechanisms.COUNT)]
_TREES = [pytest.param(n, marks=pytest.mark.quick) if n in ("tree0", "tree5") else n for n in TREES]
CASES = pytest.mark.parametrize("name", [*_TREES, *map(looped.marked, looped.NAMES)])
DYNAMICS = pytest.mark.parametrize("method", ["inverse_dynamics", "forward_dynamics"])


def case(name: str) -> tuple[Any, Any]:
    """A robot and states of it."""
    if not name.startswith("tree"):
        return looped.mechanism(name), looped.state(name, n=3)
    robot = mechanisms.mechanism(int(name[4:]))
    return robot, mechanisms.state(robot, n=3)


def arguments(method: str, state: Any, forces: bool = True) -> dict[str, np.ndarray]:
    last = {"inverse_dynamics": "a", "forward_dynamics": "tau"}[method]
    given = {"q": state.q, "v": state.v, last: getattr(state, last)}
    return {**given, "f_ext": state.f_ext} if forces else given


def tangents(robot: Any, given: dict[str, np.ndarray], seed: int = 1) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {k: rng.normal(size=(len(x), robot.nv) if k == "q" else x.shape) for k, x in given.items()}


def meaning(function: Any, given: dict[str, np.ndarray]) -> list[np.ndarray]:
    """The results of a function by the NumPy meaning of its program."""
    return list(interpret(function.state[0].program(tuple(given)), given).values())


def near(actual: np.ndarray, expected: np.ndarray, tol: float) -> None:
    """The largest difference, beside the largest entry of each sample."""
    axes = tuple(range(1, expected.ndim))
    size = np.abs(expected).max(axis=axes, initial=1e-9)
    assert np.all(np.abs(actual - expected).max(axis=axes, initial=0.0) <= tol * size)


def along(blocks: np.ndarray, robot: Any, moving: dict[str, np.ndarray]) -> np.ndarray:
    """A Jacobian, as its flat blocks, times tangents."""
    flat, at = blocks.reshape(len(blocks), -1), 0
    total = np.zeros((len(blocks), robot.nv))
    for x in moving.values():
        dx = x.reshape(len(x), -1)
        size = robot.nv * dx.shape[1]
        block = flat[:, at : at + size].reshape(len(blocks), robot.nv, -1)
        total += np.einsum("bij,bj->bi", block, dx)
        at += size
    assert at == flat.shape[1]
    return total


@pytest.mark.default_cases("tree0", "four_bar", "own_coordinate")
@CASES
@DYNAMICS
def test_along_a_direction(name: str, method: str) -> None:
    robot, state = case(name)
    function = getattr(robot, method)
    given = arguments(method, state)
    moving = tangents(robot, given)
    (expected,) = directional(robot, function, given, moving)
    (pushed,) = meaning(function.jvp, {**given, **{f"d_{k}": x for k, x in moving.items()}})
    near(pushed, expected, 1e-12)
    (blocks,) = meaning(function.jacobian, given)
    near(along(blocks, robot, moving), expected, 1e-12)


@pytest.mark.default_cases("tree0", "four_bar", "own_coordinate")
@CASES
@DYNAMICS
def test_backwards_is_the_transpose_of_forwards(name: str, method: str) -> None:
    robot, state = case(name)
    function = getattr(robot, method)
    given = arguments(method, state)
    moving = tangents(robot, given)
    weight = np.random.default_rng(2).normal(size=(3, robot.nv))
    (pushed,) = meaning(function.jvp, {**given, **{f"d_{k}": x for k, x in moving.items()}})
    pulled = meaning(function.vjp, {**given, f"w_{function.state[0].results[0]}": weight})
    forwards = np.einsum("bi,bi->b", weight, pushed)
    backwards = sum((g * x).reshape(3, -1).sum(axis=1) for g, x in zip(pulled, moving.values(), strict=True))
    assert np.all(np.abs(forwards - backwards) <= 1e-12 * (1.0 + np.abs(pushed).sum(axis=1)))


@pytest.mark.default_cases("tree0", "four_bar", "geared")
@CASES
def test_the_mass_matrix_is_a_block(name: str) -> None:
    robot, state = case(name)
    (blocks,) = meaning(robot.inverse_dynamics.jacobian, arguments("inverse_dynamics", state, forces=False))
    (M,) = meaning(robot.mass_matrix, {"q": state.q})
    near(blocks[:, 2], M, 1e-13)


@pytest.mark.default_cases("tree0", "tree1", "four_bar", "own_coordinate")
@CASES
def test_forward_is_the_inverse_of_inverse(name: str) -> None:
    """∂a/∂x = -M⁻¹ ∂τ/∂x at a = FD(q, v, τ)."""
    robot, state = case(name)
    (forward,) = meaning(robot.forward_dynamics.jacobian, arguments("forward_dynamics", state, forces=False))
    (a,) = meaning(robot.forward_dynamics, arguments("forward_dynamics", state, forces=False))
    (inverse,) = meaning(robot.inverse_dynamics.jacobian, {"q": state.q, "v": state.v, "a": a})
    condition = np.linalg.cond(inverse[:, 2]).max()
    near(inverse[:, 2] @ forward[:, 0], -inverse[:, 0], 1e-15 * condition)
    near(inverse[:, 2] @ forward[:, 1], -inverse[:, 1], 1e-15 * condition)


@DYNAMICS
def test_armatures_of_joints_that_follow_others(method: str) -> None:
    """Their forces are carried by the loops too, whose maps change with the configuration."""
    state = looped.state("four_bar", n=3)
    m = looped.mechanism("four_bar").mechanism
    robot = System(replace(m, joints=tuple(replace(c, armature=(0.3,)) for c in m.joints)))
    given = arguments(method, state, forces=False)
    moving = tangents(robot, given)
    function = getattr(robot, method)
    (expected,) = directional(robot, function, given, moving)
    (blocks,) = meaning(function.jacobian, given)
    near(along(blocks, robot, moving), expected, 1e-12)
