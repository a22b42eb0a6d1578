"""Motions of scenes as PyTorch functions: machine code, and backwards through the record of states."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..arrays import refuse_lazy, shape_text
from ..errors import ArgumentError
from ..sim.motions.read_arguments import read_counts, read_period, read_steps
from ..sim.scenes.scene import Scene
from .scene_plan import RolloutPlan, ScenePlan, make_plan
from .torch_operations import torch

_CALLER = "fourbar.torch.rollout"


class TorchRun(NamedTuple):
    """States of motions as tensors; time is the first axis, and its first row the start, as in `fourbar.Run`.

    t (n): times (s). q (n, ..., nq), v (n, ..., nv): states. steps (...): the number of steps that each sample made.
    diverged (...): where these are fewer than were asked for; such samples stay at their last state.
    """

    t: Any
    q: Any
    v: Any
    steps: Any
    diverged: Any


def rollout(
    scene: Scene,
    q: Any,
    v: Any = None,
    tau: Any = None,
    *,
    steps: int | None = None,
    dt: float | None = None,
    u: Any = None,
    period: float | None = None,
    numbers: Any = None,
    every: int = 1,
) -> TorchRun:
    """Simulate motions of a scene as `scene.rollout` does, with gradients of whole motions.

    Parameters
    ----------
    scene : Scene
        The scene. A robot without contacts is one too: ``fourbar.Scene(robot)``.
    q : tensor, shape (..., nq)
        Configurations at the start.
    v : tensor, shape (..., nv), optional
        Velocities at the start (rad/s, m/s); zero if None.
    tau : tensor, shape (..., rows, nv) or (nv,), optional
        Joint forces, a row for each period, or constant ones.
    steps : int, optional
        Number of steps; if None as many as the rows of `tau` or `u` last.
    dt : float, optional
        Length of a step (s), 0.002 if None.
    u : tensor, shape (..., rows, nu) or (nu,), optional
        Controls of the actuators, in the same way.
    period : float, optional
        Time (s) for which controls are held, a multiple of dt; dt if None.
    numbers : dict, optional
        Parameters by name, tensors (..., *shape), as in `scene.rollout`.
    every : int, default 1
        Number of steps between two records; the start and the last step are always recorded. On the way back the
        states between two records are made again: memory holds steps / every + every states of each sample.

    Returns
    -------
    TorchRun
        Times and states, time first. Leading axes broadcast.

    Raises
    ------
    ArgumentError
        If an argument is invalid, or a tensor has another dtype than float64.

    Notes
    -----
    States have the bits of `scene.rollout`, on the CPU. It goes through `backward`, `torch.func.grad`, `vjp`, `jacrev`
    and `vmap`, with respect to q, v, controls and numbers; there are no second derivatives, and none forwards.
    Gradients by q have an entry for each coordinate, and are those of a function that is constant off the configuration
    space.

    Examples
    --------
    >>> import torch, fourbar as fb, fourbar.torch
    >>> scene = fb.Scene(fb.robots.double_pendulum(), limits=False)
    >>> push = torch.full((50, 2), 0.1, dtype=torch.float64, requires_grad=True)
    >>> run = fb.torch.rollout(scene, torch.zeros(2, dtype=torch.float64), tau=push)
    >>> run.q[-1].sum().backward()
    >>> push.grad.shape
    torch.Size([50, 2])
    """
    if not isinstance(scene, Scene):
        raise ArgumentError(f"{_CALLER} takes a scene, such as fourbar.Scene(robot), got {scene!r}")
    every, dt = read_counts(every, True), float(scene.default_dt if dt is None else dt)
    hold = read_period(period, dt)
    plan, tensors = make_plan(
        _CALLER, scene, RolloutPlan(dt, read_steps(steps, hold, tau, u), every, hold),
        {"q": q, "v": v, "tau": tau, "u": u}, numbers, torch, _tensor,
    )  # fmt: skip
    there, speed, count = _Motion.apply(plan, *tensors)
    made = count.long()
    return TorchRun(
        torch.from_numpy(plan.times), there.movedim(-2, 0), speed.movedim(-2, 0), made, made < plan.rollout.steps
    )


def _tensor(name: str, x: Any, core: tuple[int, ...]) -> Any:
    """An argument as a tensor of float64 on the CPU."""
    refuse_lazy(_CALLER, **{name: x})
    if not isinstance(x, torch.Tensor):
        try:
            x = torch.as_tensor(x, dtype=torch.float64)
        except (TypeError, ValueError, RuntimeError) as error:
            raise ArgumentError(f"{_CALLER}: {name} cannot be read as a tensor of numbers: {error}") from None
    if x.dtype is not torch.float64 or not x.is_cpu or x.layout is not torch.strided:
        raise ArgumentError(
            f"{_CALLER}: {name} must be a dense tensor of torch.float64 on the CPU, got {x.dtype} on {str(x.device)!r} "
            f"with layout {x.layout}; convert it with .double(), .cpu(), through which gradients flow"
        )
    if core and tuple(x.shape[x.ndim - len(core) :]) != core:
        raise ArgumentError(f"{_CALLER}: {name} must have shape {shape_text(core)}, got {tuple(x.shape)}")
    return x


def _on_arrays(function: Any, tensors: Any) -> tuple[Any, ...]:
    return tuple(torch.from_numpy(np.array(y, float)) for y in function([x.detach().numpy() for x in tensors]))


def _batch_first(plan: ScenePlan, axes: Any, tensors: Any, cores: Any) -> list[Any]:
    """Tensors of a `vmap` with its axis as the first of the samples' axes."""
    ndims = [x.ndim - (axis is not None) for x, axis in zip(tensors, axes, strict=True)]
    most = max(n - core for n, core in zip(ndims, cores, strict=True))
    batched = []
    for tensor, axis, n, core in zip(tensors, axes, ndims, cores, strict=True):
        if axis is not None:
            tensor = tensor.movedim(axis, 0)
            tensor = tensor.reshape(tensor.shape[0], *[1] * (most - (n - core)), *tensor.shape[1:])
        batched.append(tensor)
    return batched


class _Motion(torch.autograd.Function):
    """The recorded states and the number of steps."""

    @staticmethod
    def forward(plan: ScenePlan, *tensors: Any) -> Any:
        return _on_arrays(plan.run, tensors)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        plan, *tensors = inputs
        ctx.plan = plan
        ctx.save_for_backward(*tensors)
        ctx.mark_non_differentiable(output[2])

    @staticmethod
    def backward(ctx: Any, w_q: Any, w_v: Any, _: Any) -> Any:
        tensors = ctx.saved_tensors
        gradients = _Gradient.apply(ctx.plan, w_q, w_v, *tensors)
        return None, *(g.sum_to_size(x.shape) for g, x in zip(gradients, tensors, strict=True))

    @staticmethod
    def vmap(info: Any, axes: Any, plan: ScenePlan, *tensors: Any) -> Any:
        return _Motion.apply(plan, *_batch_first(plan, axes[1:], tensors, plan.cores)), (0, 0, 0)


class _Gradient(torch.autograd.Function):
    """The gradients by all tensors, with the axes of all samples."""

    @staticmethod
    def forward(plan: ScenePlan, w_q: Any, w_v: Any, *tensors: Any) -> Any:
        weights = w_q.detach().numpy(), w_v.detach().numpy()
        return _on_arrays(lambda arrays: plan.pull(arrays, *weights), tensors)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        pass

    @staticmethod
    def backward(ctx: Any, *weights: Any) -> Any:
        raise ArgumentError(f"{_CALLER}: second derivatives of motions with contacts are not available")

    @staticmethod
    def vmap(info: Any, axes: Any, plan: ScenePlan, *tensors: Any) -> Any:
        moved = _batch_first(plan, axes[1:], tensors, (2, 2, *plan.cores))
        batch = plan.leading([x.shape for x in moved[2:]])
        batch = torch.broadcast_shapes(batch, *(x.shape[:-2] for x in moved[:2]))
        w_q, w_v = (x.expand(*batch, *x.shape[-2:]) for x in moved[:2])
        cores = plan.cores_of([x.shape for x in moved[2:]])
        spread = [x.expand(*batch, *core) for x, core in zip(moved[2:], cores, strict=True)]
        return _Gradient.apply(plan, w_q, w_v, *spread), (0,) * len(spread)
