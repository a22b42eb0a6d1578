"""Motions of scenes as PyTorch functions: the states of NumPy, gradients beside differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fourbar as fb
from fourbar.errors import ArgumentError

from .walkers import hopper, starts

torch: Any = pytest.importorskip("torch")
fbt: Any = pytest.importorskip("fourbar.torch")

H = 1e-6


def landing() -> tuple[fb.Scene, Any, tuple[Any, ...]]:
    """Hoppers that land, a cost of their motion, and its arguments."""
    robot, scene = hopper(tolerance=1e-12)
    q, v = starts(robot, 3)
    u = np.array([0.6, -1.2]) + 0.1 * np.random.default_rng(0).normal(size=(3, 20, 2))

    def cost(q: Any, v: Any, u: Any, mass: Any, friction: Any) -> Any:
        numbers = {"thigh.mass": mass, "terrain.friction": friction}
        run = fbt.rollout(scene, q, v, u=u, dt=2e-3, period=6e-3, numbers=numbers)
        return (run.q**2).sum() + (run.v[-1] ** 2).sum()

    given = (q, v, u, np.array([0.5, 0.6, 0.4]), np.array(0.6))
    return scene, cost, tuple(torch.from_numpy(x) for x in given)


def test_gradients_of_a_motion_with_contacts() -> None:
    _, cost, given = landing()
    gradient = torch.func.grad(cost, argnums=(0, 1, 2, 3, 4))(*given)
    for k, place in ((0, (2, 1)), (1, (0, 0)), (2, (1, 7, 1)), (3, (1,)), (4, ())):
        ends = []
        for h in (H, -H):
            moved = given[k].clone()
            moved[place] += h
            ends.append(float(cost(*given[:k], moved, *given[k + 1 :])))
        assert gradient[k].shape == given[k].shape
        assert np.isclose(gradient[k][place], (ends[0] - ends[1]) / (2 * H), rtol=1e-4, atol=1e-5)
    alone = torch.func.vmap(torch.func.grad(cost, argnums=(0, 2)), in_dims=(0, 0, 0, 0, None))(*given)
    assert torch.equal(alone[0], gradient[0]) and torch.equal(alone[1], gradient[2])
    leaves = [x.clone().requires_grad_() for x in given]
    cost(*leaves).backward()
    assert all(torch.equal(x.grad, g) for x, g in zip(leaves, gradient, strict=True))


def test_states_are_those_of_numpy() -> None:
    scene, _, (q, v, u, mass, friction) = landing()
    arrays = {"thigh.mass": mass, "terrain.friction": friction}
    run = fbt.rollout(scene, q, v, u=u, dt=2e-3, every=7, numbers=arrays)
    numbers = {name: x.numpy() for name, x in arrays.items()}
    wanted = scene.rollout(q.numpy(), v.numpy(), u=u.numpy(), dt=2e-3, every=7, numbers=numbers)
    for name in ("t", "q", "v"):
        assert np.array_equal(getattr(run, name).numpy(), getattr(wanted, name))
    assert not run.diverged.any() and (run.steps == 20).all()


def test_constant_controls_have_the_sum_of_gradients() -> None:
    scene, _, (q, v, *_) = landing()
    u = torch.tensor([0.6, -1.2], dtype=torch.float64)

    def last(u: Any) -> Any:
        return fbt.rollout(scene, q, v, u=u, steps=20).q[-1].sum()

    rows = torch.func.grad(last)(u.expand(20, 2).clone())
    assert torch.allclose(torch.func.grad(last)(u), rows.sum(0), rtol=1e-12)


def test_what_it_does_not_take_is_refused() -> None:
    scene, _, (q, v, *_) = landing()
    with pytest.raises(ArgumentError, match="make the steps"):
        fbt.rollout(scene, q, v, u=lambda t, q, v: v, steps=3)
    with pytest.raises(ArgumentError, match="float64"):
        fbt.rollout(scene, q.float(), v, steps=3)
    with pytest.raises(ArgumentError, match="q must have shape"):
        fbt.rollout(scene, q[:, :2], v, steps=3)
    with pytest.raises(ArgumentError, match="takes a scene"):
        fbt.rollout(scene.robot, q, v, steps=3)

    def twice(q: Any) -> Any:
        first = torch.func.grad(lambda q: fbt.rollout(scene, q, v, steps=3).q.sum())(q)
        return first.sum()

    with pytest.raises(ArgumentError, match="second derivatives"):
        torch.func.grad(twice)(q)
