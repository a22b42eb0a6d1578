"""What a PyTorch function of a robot costs beside the machine code that it calls.

    python bench/torch_calls.py [--strict] [--ways]

For each robot: µs of a call of forward dynamics for one state, beyond the kernel's own time, unrecorded and while
autograd records it; µs of the backward pass beyond its kernel and beyond that of a product; and a batch of 1024 states,
as a multiple of the NumPy call ("via NumPy": that call on arrays that are made of the tensors, and back). `--ways`
also times other ways to make the call. `--strict` ends with an error if a bar is missed. Times are of the CPU, those of
batches by the clock, the least of many turns.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

import fourbar as fb
import fourbar.torch as to_torch
from bridge_robots import bridge_robots
from fourbar.functions.function import make
from report import Report, add_options

OVER_KERNEL, OVER_NUMPY = 15.0, 1.2
CALLS, BATCH = 300, 1024


def least(
    *calls: Callable[[], Any], turns: int = 40, times: int = CALLS, clock: Any = time.process_time
) -> list[float]:
    """µs of each call: the least of some turns, which they take one after the other."""
    found = [[] for _ in calls]
    for call in calls:
        call(), call()
    for _ in range(turns):
        for own, call in zip(found, calls, strict=True):
            start = clock()
            for _ in range(times):
                call()
            own.append((clock() - start) / times)
    return [1e6 * min(own) for own in found]


def one_state(robot: Any) -> list[float]:
    """µs of the kernel, of calls beyond it (not recorded, recorded), and of the backward pass beyond its own."""
    rng = np.random.default_rng(0)
    arrays = robot.random(0), *rng.normal(size=(2, robot.nv))
    q, v, tau = (torch.from_numpy(x) for x in arrays)
    weight = torch.from_numpy(rng.normal(size=robot.nv))
    own, f = robot.forward_dynamics, to_torch.function(robot.forward_dynamics)
    back = make(own.vjp.function.state[0].recording)  # by arrays, without the names of its results
    force = tau.clone().requires_grad_()
    result, product = f(q, v, force), force * v
    names = ("q", "v", "tau", f"w_{own.state[0].results[0]}")
    given = {sys.intern(name): x for name, x in zip(names, (*arrays, weight.numpy()), strict=True)}
    grad = torch.autograd.grad
    kernel, plain, recorded, pulled, backward, empty = least(
        lambda: own(*arrays),
        lambda: f(q, v, tau),
        lambda: f(q, v, force),
        lambda: back(**given),
        lambda: grad(result, force, weight, retain_graph=True),
        lambda: grad(product, force, weight, retain_graph=True),
    )
    return [kernel, plain - kernel, recorded - kernel, backward - empty - pulled]


def batch_ratios(robot: Any) -> tuple[float, float]:
    """A batch by PyTorch as a multiple of the NumPy call, by the clock: both are shared among threads. And the same for
    nothing but the NumPy call on arrays of the tensors' memory.
    """
    rng = np.random.default_rng(0)
    q = np.stack([robot.random(i) for i in range(BATCH)])
    v, tau = rng.normal(size=(2, BATCH, robot.nv))
    own, f, given = robot.forward_dynamics, to_torch.function(robot.forward_dynamics), [q, v, tau]
    x, y, z = (torch.from_numpy(a) for a in given)
    numpy, ours, through = least(
        lambda: own(q, v, tau),
        lambda: f(x, y, z),
        lambda: torch.from_numpy(own(x.numpy(), y.numpy(), z.numpy())),
        turns=100, times=20, clock=time.perf_counter,
    )  # fmt: skip
    return ours / numpy, through / numpy


def other_ways() -> None:
    """What PyTorch's own ways to make such a call cost, on the smallest robot."""
    robot = fb.robots.double_pendulum()
    own, given = robot.forward_dynamics, [torch.rand(2, dtype=torch.float64) for _ in range(3)]

    def kernel(q: torch.Tensor, v: torch.Tensor, tau: torch.Tensor) -> torch.Tensor:
        return torch.from_numpy(own(q.numpy(), v.numpy(), tau.numpy()))

    class Applied(torch.autograd.Function):
        @staticmethod
        def forward(q: Any, v: Any, tau: Any) -> Any:
            return kernel(q, v, tau)

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.save_for_backward(*inputs)

    library = torch.library.Library("fourbar_bench", "DEF")
    library.define("defined(Tensor q, Tensor v, Tensor tau) -> Tensor")
    library.impl("defined", kernel, "CPU")
    defined = torch.ops.fourbar_bench.defined.default
    custom = torch.library.custom_op("fourbar_bench::custom", kernel, mutates_args=())
    custom.register_autograd(lambda ctx, w: (w, w, w))
    f = to_torch.function(own)
    f(*given)
    ways = {
        "from_numpy(f(q.numpy(), ...))": lambda: kernel(*given),
        "fourbar.torch": lambda: f(*given),
        "torch.library.define, impl": lambda: defined(*given),
        "torch.library.custom_op": lambda: custom(*given),
        "torch.autograd.Function": lambda: Applied.apply(*given),
    }
    for name, found in zip(ways, least(*ways.values()), strict=True):
        print(f"{name:34} {found:8.2f} µs")


def main() -> int:
    """Print the table; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_options(parser)
    parser.add_argument("--ways", action="store_true", help="also time other ways to make a call")
    asked = parser.parse_args()
    report = Report("torch_calls")
    columns = ("kernel µs", "over", "recorded", "bar", "backward", "batch ratio", "via NumPy", "bar")
    print(f"{'forward dynamics':18}", *(f"{x:>11}" for x in columns))
    for name, robot in bridge_robots():
        kernel, over, recorded, backward = one_state(robot)
        ratio, through = batch_ratios(robot)
        report.missed += [name] if over > OVER_KERNEL or ratio > OVER_NUMPY else []
        report.record("one state, beyond the machine code", name, over, "µs")
        report.record("one state, recorded by autograd, beyond the machine code", name, recorded, "µs")
        report.record("a batch, times NumPy's call", name, ratio, "x")
        numbers = (kernel, over, recorded, OVER_KERNEL, backward, ratio, through, OVER_NUMPY)
        print(f"{name:18}", *(f"{x:11.2f}" for x in numbers))
    if asked.ways:
        other_ways()
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
