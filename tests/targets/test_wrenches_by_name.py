"""Wrenches by the names of bodies, {"hand": wrench}, in JAX and PyTorch: results and gradients as of an array."""

from __future__ import annotations

import numpy as np
import pytest

import fourbar as fb

from .support import floating

ROBOT = floating()
NAME, ROWS = ROBOT.names.bodies[-1], np.zeros((5, len(ROBOT.names.bodies), 6))
ROWS[:, -1] = np.random.default_rng(0).normal(size=(5, 6))
Q = ROBOT.random(7)
V, TAU, W = np.random.default_rng(4).normal(size=(3, ROBOT.nv))


def gradient() -> np.ndarray:
    """The gradient of W · a by the wrench on the last body (6), in the first sample."""
    return ROBOT.forward_dynamics.vjp((Q, V, TAU, ROWS[0]), W).f_ext[-1]


def test_jax() -> None:
    jax = pytest.importorskip("jax")
    fj = pytest.importorskip("fourbar.jax").functions(ROBOT)
    wrench = ROWS[:, -1]
    with jax.enable_x64(True):
        assert np.array_equal(
            fj.forward_dynamics(Q, V, TAU, f_ext={NAME: wrench}), ROBOT.forward_dynamics(Q, V, TAU, f_ext=ROWS)
        )
        assert np.array_equal(fj.generalized_force(Q, {NAME: wrench}), ROBOT.generalized_force(Q, ROWS))
        pushed = jax.jit(jax.grad(lambda x: W @ fj.forward_dynamics(Q, V, TAU, f_ext={NAME: x})))
        assert np.allclose(pushed(wrench[0]), gradient(), rtol=1e-12, atol=1e-12)
        with pytest.raises(fb.UnknownNameError, match=r"no body .* 'nobody'"):
            fj.forward_dynamics(Q, V, TAU, f_ext={"nobody": wrench})


def test_torch() -> None:
    torch = pytest.importorskip("torch")
    ft = pytest.importorskip("fourbar.torch").functions(ROBOT)
    q, v, tau, w, wrench = (torch.from_numpy(x.copy()) for x in (Q, V, TAU, W, ROWS[:, -1]))
    found = ft.forward_dynamics(q, v, tau, f_ext={NAME: wrench})
    assert np.array_equal(found, ROBOT.forward_dynamics(Q, V, TAU, f_ext=ROWS))
    assert np.array_equal(ft.generalized_force(q, {NAME: wrench}), ROBOT.generalized_force(Q, ROWS))
    force = wrench[0].clone().requires_grad_()
    (pulled,) = torch.autograd.grad(ft.forward_dynamics(q, v, tau, f_ext={NAME: force}), force, w)
    assert np.allclose(pulled, gradient(), rtol=1e-12, atol=1e-12)
    with pytest.raises(fb.UnknownNameError, match=r"no body .* 'nobody'"):
        ft.forward_dynamics(q, v, tau, f_ext={"nobody": wrench})
