"""Calls that go from the memory of tensors to machine code: the same bits, and nothing else is served."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
import warnings
import weakref
from typing import Any

import numpy as np
import pytest

import fourbar as fb
from fourbar.compile import callables
from fourbar.compile import vectorcall_tensors as layouts
from fourbar.functions.function import backend

torch: Any = pytest.importorskip("torch", reason="torch is not installed")
to_torch: Any = pytest.importorskip("fourbar.torch")
inside: Any = pytest.importorskip("fourbar.targets.torch_operations")
N = 64
MACHINE_CODE = callables.is_supported() and backend() == "llvm"


def armed(robot: Any, name: str = "forward_dynamics") -> tuple[Any, Any]:
    """A function that has been called with one state and with a batch, and its machine code for tensors."""
    f = to_torch.function(getattr(robot, name))
    given = [torch.from_numpy(np.array(x)) for x in states(robot, name)]
    f(*given), f(*(x[0] for x in given))
    return f, f._on_tensors


def states(robot: Any, name: str = "forward_dynamics", n: int = N) -> list[np.ndarray]:
    """As many arguments of a function: configurations, and whatever else as random numbers."""
    rng = np.random.default_rng(2)
    others = len(getattr(robot, name).state[0].recording.required_names) - 1
    return [np.stack([robot.random(i) for i in range(n)]), *rng.normal(size=(others, n, robot.nv))]


def served(on_tensors: Any, *args: Any) -> bool:
    return on_tensors(*args) is not None


@pytest.mark.parametrize("name", ["double_pendulum", "mini_cheetah", "four_bar"])
def test_every_layout_has_the_bits_of_numpy(name: str) -> None:
    robot = getattr(fb.robots, name)()
    f, on_tensors = armed(robot)
    own, (q, v, tau) = robot.forward_dynamics, states(robot)
    t = [torch.from_numpy(x) for x in (q, v, tau)]
    cases = {
        "one": [x[3] for x in t],
        "batch": t,
        "shared": [t[0], t[1], t[2][0]],
        "every second": [x[::2] for x in t],
        "columns": [x.t().contiguous().t() for x in t],
        "expanded": [t[0], t[1], t[2][:1].expand(N, -1)],
        "two axes": [x.reshape(8, 8, -1) for x in t],
        "one of one": [x[:1] for x in t],
        "later in memory": [x[5:] for x in t],
    }
    for what, given in cases.items():
        expected = own(*(x.numpy() for x in given))
        found = f(*given)
        assert served(on_tensors, *given) == MACHINE_CODE, what
        assert type(found) is torch.Tensor and found.is_contiguous() and not found.requires_grad
        assert np.array_equal(found.numpy(), expected) and found.shape == expected.shape, what


def test_what_is_not_plain_memory_goes_another_way() -> None:
    robot = fb.robots.double_pendulum()
    f, on_tensors = armed(robot)
    q, v, tau = (torch.from_numpy(x) for x in states(robot))
    conjugated = torch.complex(tau, -tau).conj()
    odd = torch.frombuffer(bytearray(b"x" + tau.numpy().tobytes()), dtype=torch.float64, offset=1).reshape(N, 2)
    others = {
        "negated": conjugated.imag,  # -(-tau), on the memory of -tau
        "negated, one behind the other": torch._neg_view(-tau),
        "wants gradients": tau.clone().requires_grad_(),
        "a parameter": torch.nn.Parameter(tau.clone()),
        "misaligned": odd,
        "a list": tau.tolist(),
        "an array": tau.numpy(),
    }
    expected = robot.forward_dynamics(q.numpy(), v.numpy(), tau.numpy())
    for what, given in others.items():
        assert not served(on_tensors, q, v, given), what
        assert np.array_equal(f(q, v, given).detach().numpy(), expected), what
    assert not served(on_tensors, q, v) and not served(on_tensors, q[:3], v, tau) and not served(on_tensors)
    assert not served(on_tensors, q[:0], v[:0], tau[:0]) and f(q[:0], v[:0], tau[:0]).shape == (0, 2)
    assert not served(on_tensors, q.float(), v, tau) and not served(on_tensors, q.to("meta"), v, tau)
    assert not served(on_tensors, torch._efficientzerotensor((N, 2), dtype=torch.float64), v, tau)
    assert np.array_equal(f(torch._efficientzerotensor((N, 2), dtype=torch.float64), v, tau), f(q * 0, v, tau))


def test_whoever_is_to_see_a_call_sees_it() -> None:
    robot = fb.robots.double_pendulum()
    f, on_tensors = armed(robot)
    q, v, tau = (torch.from_numpy(x[0]) for x in states(robot))
    seen: list[bool] = []

    def looking(q: Any) -> Any:
        seen.append(served(on_tensors, v, v, v))  # plain tensors, while something is going on
        return f(q, v, tau)

    torch.func.vmap(looking)(q.expand(3, -1))
    torch.func.jvp(looking, (q,), (v,))
    torch.func.grad(lambda q: looking(q).sum())(q)
    assert not any(seen) and len(seen) == 3
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(tau, torch.ones_like(tau))
        rate = torch.autograd.forward_ad.unpack_dual(f(q, v, dual)).tangent
    assert torch.allclose(rate, torch.func.jvp(lambda tau: f(q, v, tau), (tau,), (torch.ones_like(tau),))[1])

    class Watching(torch.utils._python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            names.append(str(func))
            return func(*args, **(kwargs or {}))

    names: list[str] = []
    with Watching():
        f(q, v, tau)
    assert any("forward_dynamics" in name for name in names)


def test_several_results_and_numbers() -> None:
    robot = fb.robots.double_pendulum()
    q, v = (torch.from_numpy(x) for x in states(robot)[:2])
    energy = to_torch.function(robot.kinetic_energy)
    for _ in range(3):
        assert np.array_equal(energy(q, v), robot.kinetic_energy(q.numpy(), v.numpy()))
        one = energy(q[0], v[0])
        assert one.shape == () and one.item() == robot.kinetic_energy(q[0].numpy(), v[0].numpy())


def test_errors_are_those_of_numpy() -> None:
    robot = fb.robots.mini_cheetah()
    f, _ = armed(robot)
    q, v, tau = (torch.from_numpy(x) for x in states(robot))
    nowhere = q.clone()
    nowhere[3] = 0.0
    with pytest.raises(fb.FourbarError, match="quaternion"):
        f(nowhere[3], v[3], tau[3])
    with pytest.warns(RuntimeWarning, match="quaternion"):
        found = f(nowhere, v, tau)
    assert found[3].isnan().all() and found.isnan().any(1).sum() == 1


def test_results_are_freed_with_their_tensors() -> None:
    robot = fb.robots.double_pendulum()
    f, _ = armed(robot)
    given = [torch.from_numpy(x) for x in states(robot, n=2000)]
    given = [x.repeat(50, 1) for x in given]
    kept = f(*given)
    expected, view = kept.clone(), kept[5:]
    del kept
    for _ in range(300):  # half a GB, if they stayed
        f(*given)
    assert torch.equal(view, expected[5:])
    found = [f(*given)]
    thread = threading.Thread(target=found.clear)
    thread.start()
    thread.join()
    resource = pytest.importorskip("resource")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(300):
        f(*given)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000  # kB


def test_a_function_may_go_before_its_results() -> None:
    f, _ = armed(fb.robots.double_pendulum())
    q, v, tau = (torch.from_numpy(x[0]) for x in states(fb.robots.double_pendulum()))
    result = f(q, v, tau)
    expected, alive = result.clone(), weakref.ref(f)
    del f
    gc.collect()
    assert alive() is None and torch.equal(result, expected)
    del result
    gc.collect()


def test_tensors_may_outlive_the_interpreter() -> None:
    code = """
import torch, fourbar as fb
f = fb.torch.function(fb.robots.double_pendulum().forward_dynamics)
x = torch.zeros(64, 2, dtype=torch.float64)
f(x, x, x)
kept = f(x, x, x)
torch.kept_until_the_end = [f(x, x, x), f(x[0], x[0], x[0]), kept]
"""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert ended.returncode == 0 and not ended.stderr


def test_a_class_without_the_interface_of_dlpack() -> None:
    assert layouts.interface(list) == (0, 0)
    assert 0 not in layouts.interface(torch.Tensor)


def test_a_torch_without_the_interface_computes_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inside, "_reader", lambda: None)
    robot = fb.robots.double_pendulum()
    q = torch.from_numpy(states(robot)[0])
    of = inside.Operation(robot.mass_matrix.state[0].recording, ("q",))
    known = inside.Operator("test_without_the_interface", of, robot.mass_matrix)
    for _ in range(2):
        assert known.on_tensors(q) is None
        assert np.array_equal(known.direct((q,)), robot.mass_matrix(q.numpy()))


def test_threads_call_at_once() -> None:
    robot = fb.robots.double_pendulum()
    f, _ = armed(robot)
    given = [torch.from_numpy(x) for x in states(robot, n=1000)]
    expected, wrong = f(*given), []

    def often() -> None:
        for _ in range(200):
            if not torch.equal(f(*given), expected):
                wrong.append(1)

    threads = [threading.Thread(target=often) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_mode_of_functions_changes_nothing() -> None:
    robot = fb.robots.double_pendulum()
    f, _ = armed(robot)
    q, v, tau = (torch.from_numpy(x) for x in states(robot))
    expected = f(q, v, tau)
    with torch.device("cpu"), warnings.catch_warnings():
        warnings.simplefilter("error")
        assert torch.equal(f(q, v, tau), expected)
