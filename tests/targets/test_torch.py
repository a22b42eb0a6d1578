"""Functions as PyTorch functions: the bits of the NumPy functions, and derivatives in all of PyTorch's ways."""

from __future__ import annotations

import copy
import pickle
import re
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import pytest

import fourbar as fb

from .support import floating

torch: Any = pytest.importorskip("torch", reason="torch is not installed")
to_torch: Any = pytest.importorskip("fourbar.torch")
inside: Any = pytest.importorskip("fourbar.targets.torch_operations")
func, gradcheck, gradgradcheck = torch.func, torch.autograd.gradcheck, torch.autograd.gradgradcheck
ROBOTS = ("double_pendulum", "floating", "five_bar")
LARGE = tuple(pytest.param(name, marks=pytest.mark.slow) for name in ("mini_cheetah", "tello"))
ALL = (*ROBOTS, *LARGE)
MANY = 37


@cache
def case(name: str) -> tuple[Any, Any, tuple[Any, Any, Any], Any]:
    """A robot, its PyTorch functions, a state with forces, and a weight of accelerations."""
    robot = floating() if name == "floating" else getattr(fb.robots, name)()
    v, tau, w = (torch.from_numpy(x) for x in np.random.default_rng(4).normal(size=(3, robot.nv)))
    return robot, to_torch.functions(robot), (torch.from_numpy(robot.random(7)), v, tau), w


def batch(robot: Any, n: int = MANY) -> tuple[Any, Any]:
    """Configurations and velocities."""
    q, v = np.stack([robot.random(i) for i in range(n)]), np.random.default_rng(1).normal(size=(n, robot.nv))
    return torch.from_numpy(q), torch.from_numpy(v)


def same(found: Any, expected: Any) -> bool:
    """Whether a tensor has the bits of an array."""
    return found.dtype == torch.float64 and np.array_equal(found.detach().numpy(), expected)


def agree(found: Any, expected: Any, bound: float = 1e-12) -> None:
    """Equal relative to the largest entry."""
    found, expected = (np.asarray(x.detach() if isinstance(x, torch.Tensor) else x) for x in (found, expected))
    assert found.shape == expected.shape
    assert np.abs(found - expected).max() <= bound * max(1.0, np.abs(expected).max())


def arrays(*tensors: Any) -> list[np.ndarray]:
    """Tensors as arrays."""
    return [x.detach().numpy() for x in tensors]


def leaves(*tensors: Any) -> list[Any]:
    """The same values, which gradients are wanted of."""
    return [x.clone().requires_grad_() for x in tensors]


def moved(ft: Any, q: Any, name: str = "forward_dynamics") -> Any:
    """A function of (step, v, tau), the configuration moved along its space by a step."""
    f = getattr(ft, name)
    return lambda step, v, tau: f(ft.integrate(q, step, 1.0), v, tau)


def zeros(n: int) -> Any:
    return torch.zeros(n, dtype=torch.float64)


@pytest.mark.parametrize("name", ALL)
def test_values_have_the_same_bits(name: str) -> None:
    robot, ft, (q, v, tau), _ = case(name)
    f, own = ft.forward_dynamics, robot.forward_dynamics
    expected = own(*arrays(q, v, tau))
    assert same(f(q, v, tau), expected)
    assert same(f(q, tau=tau, v=v), expected)
    assert same(f(*leaves(q, v, tau)), expected)
    Q, V = batch(robot)
    many = own(*arrays(Q, V, tau))
    assert same(f(Q, V, tau), many)  # tau is the same for all samples
    assert same(f(*leaves(Q, V, tau)), many)
    assert same(f(Q[:, None], V[:3], tau), own(*arrays(Q[:, None], V[:3], tau)))
    assert f(Q[:0], V[:0], tau).shape == (0, robot.nv)
    columns = Q.T.contiguous().T  # not row by row
    assert same(f(columns, V.flip(0).flip(0), tau.expand(MANY, -1)), many)


def test_memory_is_not_copied() -> None:
    """The array that the NumPy function gets lies where the tensor does, and the tensor where its result is."""
    robot, _, _, _ = case("double_pendulum")
    seen: list[Any] = []

    def call(*given: Any) -> Any:
        result = robot.mass_matrix(*given)
        seen.append(([x.ctypes.data for x in given], result.ctypes.data))
        return result

    op = inside.Operation(robot.mass_matrix.state[0].recording, ("q",))
    q, _ = batch(robot)
    known = inside.Operator("test_of_memory", op, call)
    for run in (known.overload, lambda q: known.direct((q,))):
        found = run(q)
        given, result = seen.pop()
        assert given == [q.data_ptr()] and found.data_ptr() == result


@pytest.mark.parametrize("name", ALL)
def test_vmap_over_any_axes(name: str) -> None:
    robot, ft, (_, _, tau), _ = case(name)
    Q, V = batch(robot)
    f = ft.forward_dynamics
    expected = robot.forward_dynamics(*arrays(Q, V, tau))
    assert same(func.vmap(f, (0, 0, None))(Q, V, tau), expected)
    assert same(func.vmap(f, (1, 0, None), out_dims=1)(Q.T, V, tau), expected.T)
    grid = robot.forward_dynamics(*arrays(Q[:, None], V[None, :3], tau))
    inner = func.vmap(f, (None, 0, None))
    assert same(func.vmap(inner, (0, None, None))(Q, V[:3], tau), grid)
    assert same(func.vmap(f, (0, None, None))(Q, V[:3], tau), grid)  # an argument that has a leading axis already
    assert same(func.vmap(f, (None, 0, None))(Q, V[:3], tau), grid.swapaxes(0, 1))


@pytest.mark.parametrize("name", ALL)
def test_gradients(name: str) -> None:
    """Those by velocities and forces are ours; that by the configuration is ours along each direction."""
    robot, ft, (q, v, tau), w = case(name)
    given = leaves(q, v, tau)
    g_q, g_v, g_tau = torch.autograd.grad(ft.forward_dynamics(*given), given, w)
    expected = robot.forward_dynamics.vjp(tuple(arrays(q, v, tau)), w.numpy())
    agree(g_v, expected.v)
    agree(g_tau, expected.tau)
    T = robot.integrate.jacobian(q.numpy(), np.zeros(robot.nv), 1.0).v
    agree(T.T @ g_q.numpy(), expected.q)
    agree(T @ np.linalg.lstsq(T, g_q.numpy(), rcond=None)[0], g_q)  # nothing off the configuration space
    loss = func.grad(lambda *x: ft.forward_dynamics(*x) @ w, (0, 1, 2))
    for found, other in zip(loss(q, v, tau), (g_q, g_v, g_tau), strict=True):
        agree(found, other, 1e-14)
    Q, V = batch(robot, 5)
    each = [loss(*x, tau) for x in zip(Q, V, strict=True)]
    for found, one_by_one in zip(func.vmap(loss, (0, 0, None))(Q, V, tau), zip(*each, strict=True), strict=True):
        agree(found, torch.stack(one_by_one), 1e-14)


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("way", ["jacfwd", "jacrev"])
def test_jacobians(name: str, way: str) -> None:
    robot, ft, (q, v, tau), _ = case(name)
    found = getattr(func, way)(moved(ft, q), (0, 1, 2))(zeros(robot.nv), v, tau)
    for block, expected in zip(found, robot.forward_dynamics.jacobian(*arrays(q, v, tau)), strict=True):
        agree(block, expected, 1e-11)


def test_along_a_direction() -> None:
    for name in ROBOTS:
        robot, ft, (q, v, tau), w = case(name)
        rate = robot.integrate.jvp((q.numpy(), np.zeros(robot.nv), 1.0), {"v": w.numpy()})
        f = lambda q, v: ft.forward_dynamics(q, v, tau)  # noqa: B023, E731
        expected = robot.forward_dynamics.jvp(tuple(arrays(q, v, tau)), {"q": w.numpy(), "v": w.numpy()})
        tangents = (torch.from_numpy(rate), w)
        agree(func.jvp(f, (q, v), tangents)[1], expected)
        dual = torch.autograd.forward_ad
        with dual.dual_level():
            found = f(*(dual.make_dual(x, t) for x, t in zip((q, v), tangents, strict=True)))
            agree(dual.unpack_dual(found).tangent, expected)


@pytest.mark.parametrize("name", ROBOTS)
def test_gradcheck(name: str) -> None:
    robot, ft, (q, v, tau), _ = case(name)
    ways = {"check_forward_ad": True, "check_batched_grad": True, "check_batched_forward_grad": True}
    assert gradcheck(moved(ft, q), leaves(zeros(robot.nv), v, tau), **ways)


def test_gradcheck_by_the_entries_of_a_quaternion() -> None:
    """As of the function with the quaternion normalised, which is constant along its length."""
    robot, ft, (q, v, tau), _ = case("floating")
    (first,) = robot.neutral().nonzero()[0][:1]  # of (1, 0, 0, 0)

    def normalised(q: Any, v: Any) -> Any:
        unit = q[first : first + 4] / torch.linalg.vector_norm(q[first : first + 4])
        return ft.forward_dynamics(torch.cat([q[:first], unit, q[first + 4 :]]), v, tau)

    given = leaves(q, v)
    found, expected = (
        torch.autograd.functional.jacobian(f, tuple(given))
        for f in (lambda q, v: ft.forward_dynamics(q, v, tau), normalised)
    )
    for x, y in zip(found, expected, strict=True):
        agree(x, y, 1e-11)
    assert gradcheck(normalised, given, check_forward_ad=True)


def test_gradgradcheck() -> None:
    robot, ft, (q, v, tau), _ = case("double_pendulum")
    given = leaves(zeros(robot.nv), v, tau)
    assert gradgradcheck(moved(ft, q), given, check_fwd_over_rev=True, check_batched_grad=True)


@pytest.mark.slow
@pytest.mark.parametrize("of", ["inverse_dynamics", "forward_dynamics"])
@pytest.mark.parametrize("name", ROBOTS)
def test_gradgradcheck_of_all(name: str, of: str) -> None:
    robot, ft, (q, v, tau), _ = case(name)
    given = leaves(zeros(robot.nv), v, tau)
    assert gradgradcheck(moved(ft, q, of), given, check_fwd_over_rev=True, check_batched_grad=True)


def second_derivatives(name: str, ways: list[tuple[Any, Any]]) -> None:
    """Hessians of inverse dynamics in (step, v) by two differentiations, beside differences of gradients."""
    robot, ft, (q, v, a), w = case(name)
    f = lambda step, v: moved(ft, q, "inverse_dynamics")(step, v, a) @ w  # noqa: E731
    gradient, zero, h = func.grad(f, (0, 1)), zeros(robot.nv), 1e-5
    ds, dv = (torch.from_numpy(x) for x in np.random.default_rng(3).normal(size=(2, robot.nv)))
    ahead, behind = gradient(zero + h * ds, v + h * dv), gradient(zero - h * ds, v - h * dv)
    expected = [(x - y) / (2 * h) for x, y in zip(ahead, behind, strict=True)]
    for outer, inner in ways:
        H = outer(inner(f, (0, 1)), (0, 1))(zero, v)
        for row, difference in zip(H, expected, strict=True):
            agree(row[0] @ ds + row[1] @ dv, difference, 1e-7)
        agree(H[0][1], H[1][0].T, 1e-11)
        agree(H[0][0], H[0][0].T, 1e-11)


WAYS = [(outer, inner) for outer in (func.jacfwd, func.jacrev) for inner in (func.jacfwd, func.jacrev)]


def test_hessians_in_every_order() -> None:
    second_derivatives("double_pendulum", WAYS)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["floating", "five_bar"])
def test_hessians_of_others(name: str) -> None:
    second_derivatives(name, WAYS)


@pytest.mark.parametrize("outer", ["jacrev", "jacfwd"])
def test_a_value_and_its_derivative_in_one_function(outer: str) -> None:
    """What is computed beside an inner derivative is differentiated too."""
    robot, ft, (q, v, a), w = case("double_pendulum")
    f = lambda v: ft.inverse_dynamics(q, v, a)  # noqa: E731

    def pulled(v: Any) -> Any:
        value, back = func.vjp(f, v)
        return (value @ w) * back(w)[0]

    def pushed(v: Any) -> Any:
        value, rate = func.jvp(f, (v,), (w,))
        return (value @ w) * rate

    h = 1e-6
    for g in (pulled, pushed):
        columns = [(g(v + h * e) - g(v - h * e)) / (2 * h) for e in torch.eye(robot.nv, dtype=torch.float64)]
        agree(getattr(func, outer)(g)(v), torch.stack(columns, 1), 1e-7)


def test_an_argument_shared_by_samples_has_the_sum_of_gradients() -> None:
    robot, ft, (_, _, tau), w = case("double_pendulum")
    Q, V = batch(robot)
    (own,) = leaves(tau)
    (ft.forward_dynamics(Q, V, own) @ w).sum().backward()
    expected = robot.forward_dynamics.vjp(tuple(arrays(Q, V, tau)), np.tile(w.numpy(), (MANY, 1))).tau
    agree(own.grad, expected.sum(0))
    (column,) = leaves(V[:, None])  # its axis of one broadcasts
    ft.forward_dynamics(Q[:3], column, tau).sum().backward()
    assert column.grad.shape == column.shape


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_robots_of_the_same_program_have_their_own_gradients(order: tuple[int, int]) -> None:
    """Where the crank is depends on q alike whether or not a loop ties the joints; where q can go does not."""
    b = fb.Builder("chain", gravity=(0.0, -9.81, 0.0))
    for name, parent, x in (("crank", "world", 0.0), ("coupler", "crank", 0.5), ("follower", "world", 1.0)):
        b.body(
            name, parent=parent, joint=fb.joints.Revolute("z"), position=(x, 0.0, 0.0), mass=1.0, com=(0.1, 0.0, 0.0)
        )
    closed, chain = fb.robots.parallelogram(), b.build()
    q = closed.random(0)
    T = closed.expand_velocity(q, np.ones(1))
    along = {id(chain): np.eye(3), id(closed): np.outer(T, T) / (T @ T)}
    own = chain.pose.jacobian(q, frame="crank").q
    for robot in [(closed, chain)[i] for i in order]:
        found = func.jacrev(to_torch.function(robot.pose.specialise(frame="crank")))(torch.from_numpy(q))
        agree(found, own @ along[id(robot)])


def test_optional_arguments_options_and_several_results() -> None:
    robot, ft, (q, v, a), _ = case("floating")
    f_ext = torch.from_numpy(np.random.default_rng(0).normal(size=(len(robot.names.bodies), 6)))
    assert same(ft.inverse_dynamics(q, v, a, f_ext), robot.inverse_dynamics(*arrays(q, v, a, f_ext)))
    (force,) = leaves(f_ext)
    (gradient,) = torch.autograd.grad(ft.inverse_dynamics(q, v, a, force), force, v)
    agree(gradient, robot.inverse_dynamics.vjp(tuple(arrays(q, v, a, f_ext)), v.numpy()).f_ext)
    frame = robot.names.bodies[-1]
    assert same(ft.pose(q, frame=frame), robot.pose(q.numpy(), frame))
    assert same(to_torch.function(robot.pose.specialise(frame=frame))(q), robot.pose(q.numpy(), frame))
    assert ft.potential_energy(q).shape == () and ft.potential_energy(q) == robot.potential_energy(q.numpy())
    pendulum, fp, (q, v, a), _ = case("double_pendulum")
    options = {pendulum.hybrid_dynamics.options[0]: ["elbow"]}
    own = pendulum.hybrid_dynamics(*arrays(q, v, a, a), **options)
    for x, y in zip(fp.hybrid_dynamics(q, v, a, a, **options), own, strict=True):
        assert same(x, y)


def test_parameters_as_arguments() -> None:
    robot, _, (q, v, a), w = case("double_pendulum")
    varying = robot.varying("lower.mass")
    ft, masses = to_torch.functions(varying), torch.linspace(0.5, 2.0, 4, dtype=torch.float64)
    assert same(ft.inverse_dynamics(q, v, a, masses), varying.inverse_dynamics(*arrays(q, v, a, masses)))
    (mass,) = leaves(masses[1])
    (found,) = torch.autograd.grad(ft.inverse_dynamics(q, v, a, mass) @ w, mass)
    step = [w.numpy() @ varying.inverse_dynamics(*arrays(q, v, a), m) for m in (2.0, 1.0)]
    agree(found, step[0] - step[1], 1e-10)  # it is linear in masses


@pytest.fixture
def fresh() -> Iterator[None]:
    """Nothing compiled before, nor afterwards."""
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


def compiled(f: Any, **options: Any) -> Any:
    """A whole function as one graph, traced by AOTAutograd, without the C++ compiler."""
    return torch.compile(f, fullgraph=True, backend="aot_eager", **options)


def test_compiled_in_one_graph(fresh: None) -> None:
    """Functions that were never called before; options, numbers and optional arguments; gradients."""
    robot = floating()
    ft = to_torch.functions(robot)
    _, plain, (q, v, tau), w = case("floating")
    frame = robot.names.bodies[-1]

    def cost(q: Any, v: Any, tau: Any) -> Any:
        v = v + 1e-3 * ft.forward_dynamics(q, v, tau=tau)
        q = ft.integrate(q, v, 1e-3)
        return (ft.pose(q, frame=frame) ** 2).sum() + v @ w

    given = leaves(q, v, tau)
    found = compiled(cost)(*given)
    ft = plain
    agree(found, cost(q, v, tau), 1e-14)
    for x, y in zip(torch.autograd.grad(found, given), torch.autograd.grad(cost(*given), given), strict=True):
        agree(x, y, 1e-13)


def test_compiled_for_any_batch_and_within_torch_func(fresh: None) -> None:
    robot, ft, (_, _, tau), w = case("double_pendulum")
    Q, V = batch(robot)
    f = compiled(lambda q, v: ft.forward_dynamics(q, v, tau) * 2.0, dynamic=True)
    for n in (5, 9):
        agree(f(Q[:n], V[:n]), 2.0 * ft.forward_dynamics(Q[:n], V[:n], tau), 0.0)
    loss = func.vmap(func.grad(lambda q, v: ft.forward_dynamics(q, v, tau) @ w))
    agree(compiled(loss)(Q, V), loss(Q, V), 1e-14)
    along = lambda v: func.jvp(lambda v: ft.forward_dynamics(Q[0], v, tau), (v,), (w,))  # noqa: E731
    for x, y in zip(compiled(along)(V[0]), along(V[0]), strict=True):
        agree(x, y, 1e-14)


@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")
@pytest.mark.parametrize("recorded", [False, True])
def test_torch_jit_traces_the_operator_and_not_its_result(recorded: bool) -> None:
    robot, ft, (q, v, tau), _ = case("double_pendulum")
    traced = torch.jit.trace(lambda q: ft.forward_dynamics(q, v, tau), (q.clone().requires_grad_(recorded),))
    (other,) = leaves(q + 0.5)
    found = traced(other)
    assert same(found, robot.forward_dynamics(*arrays(other, v, tau)))
    (gradient,) = torch.autograd.grad(found.sum(), other)
    agree(gradient, robot.forward_dynamics.vjp(tuple(arrays(other, v, tau)), np.ones(2)).q)


@pytest.mark.slow
def test_compiled_by_inductor(fresh: None) -> None:
    robot, ft, (_, _, tau), w = case("five_bar")
    Q, V = batch(robot)
    f = lambda q, v: (torch.sin(ft.forward_dynamics(q, v, tau)) @ w).sum()  # noqa: E731
    given = leaves(Q, V)
    found = torch.autograd.grad(torch.compile(f, fullgraph=True)(*given), given)
    for x, y in zip(found, torch.autograd.grad(f(*given), given), strict=True):
        agree(x, y, 1e-12)


def test_pytorch_checks_the_operators() -> None:
    """Its own tests of what an operator promises."""
    for name in ("double_pendulum", "five_bar"):
        _, ft, (q, v, tau), _ = case(name)
        ft.forward_dynamics(q, v, tau)
        known = ft.forward_dynamics._operators["q", "v", "tau"]
        torch.library.opcheck(known.overload, tuple(leaves(q, v, tau)))
        torch.library.opcheck(known.overload, (q.expand(3, -1), v, tau))
        torch.library.opcheck(known.backward.overload, (*leaves(q, v, tau), v), test_utils=("test_schema",))


def test_float32_is_asked_for_openly() -> None:
    robot, ft, (q, v, a), _ = case("double_pendulum")
    short = [x.float() for x in (q, v, a)]
    with pytest.raises(fb.ArgumentError, match=re.escape("q.double()")) as told:
        ft.inverse_dynamics(*short)
    assert "dtype=torch.float32" in str(told.value) and "torch.float64" in str(told.value)
    f = to_torch.function(robot.inverse_dynamics, dtype=torch.float32)
    found = f(*(x.requires_grad_() for x in short))
    assert found.dtype == torch.float32
    agree(found, robot.inverse_dynamics(*(x.detach().double().numpy() for x in short)), 1e-6)
    found.sum().backward()
    assert short[0].grad.dtype == torch.float32
    with pytest.raises(fb.ArgumentError, match=re.escape("expected torch.float32")):
        f(q, *short[1:])
    with pytest.raises(fb.ArgumentError, match=re.escape("torch.float16")):
        to_torch.function(robot.inverse_dynamics, dtype=torch.float16)
    energy = to_torch.functions(robot, torch.float32).potential_energy([1.0, 2.0])  # numbers have no dtype yet
    assert energy.dtype == torch.float32


def test_what_is_refused() -> None:
    robot, ft, (q, v, a), _ = case("double_pendulum")
    f = ft.inverse_dynamics
    for given in ((zeros(3), v, a), leaves(zeros(3), v, a), (zeros(3), v, [0.0, 0.0])):
        with pytest.raises(fb.ArgumentError, match=re.escape("q must have shape (..., 2), got (3,)")):
            f(*given)
    with pytest.raises(fb.ArgumentError, match="do not broadcast"):
        f(torch.zeros(3, 2).double(), torch.zeros(4, 2).double(), a)
    with pytest.raises(fb.ArgumentError, match=re.escape("q must hold real numbers, got a tensor of torch.complex128")):
        f(q.to(torch.complex128), v, a)
    with pytest.raises(fb.ArgumentError, match=re.escape("torch.complex128")):
        f(q + 1j, v, a)
    with pytest.raises(fb.ArgumentError, match=re.escape("torch.int64")):
        f(torch.tensor([1, 2]), v, a)
    with pytest.raises(fb.ArgumentError, match=r"machine code for the CPU.*'meta'"):
        f(q.to("meta"), v, a)
    with pytest.raises(fb.ArgumentError, match="dense"):
        f(q.to_sparse(), v, a)
    with pytest.raises(fb.ArgumentError, match="cannot be read as a tensor"):
        f("home", v, a)
    with pytest.raises(TypeError, match="PyTorch function has no argument 'out'"):
        f(q, v, a, out=zeros(2))
    with pytest.raises(TypeError, match="needs 'a'"):
        f(q, v)
    for derivative in (robot.forward_dynamics.jacobian, robot.forward_dynamics.vjp):
        with pytest.raises(fb.ArgumentError, match=re.escape("torch.func.jacrev")):
            to_torch.function(derivative)
    with pytest.raises(fb.ArgumentError, match="not a function of a robot"):
        to_torch.function(np.sin)
    with pytest.raises(AttributeError, match="no attribute 'dance'"):
        to_torch.functions(robot).dance  # noqa: B018
    with pytest.raises(fb.ArgumentError, match=r"torch is tracing.*fourbar\.torch"):
        robot.inverse_dynamics(q.clone().requires_grad_(), v, a)
    with pytest.raises(fb.ArgumentError, match=r"those of a robot.*got 'robot\.urdf'"):
        to_torch.functions("robot.urdf")
    with pytest.raises(fb.ArgumentError, match=r"torch\.fx.*torch\.export"):
        torch.fx.symbolic_trace(lambda q: f(q, v, a))
    lazy = pytest.importorskip("dask.array").zeros((4, 2))
    with pytest.raises(fb.ArgumentError, match="q is a dask array"):
        f(lazy, v, a)
    hung = robot.constrained(fb.constraints.Contact("lower", "point"))  # what it computes depends on values
    with pytest.raises(fb.ArgumentError, match="single program"):
        to_torch.function(hung.forward_dynamics)


def test_errors_of_numpy_functions_are_reported(fresh: None) -> None:
    _, ft, (q, v, a), _ = case("floating")
    nowhere = torch.zeros_like(q)
    with pytest.raises(fb.FourbarError, match="quaternion"):
        ft.inverse_dynamics(nowhere, v, a)
    with pytest.raises(fb.FourbarError, match="quaternion"):
        ft.inverse_dynamics(*leaves(nowhere, v, a))
    with pytest.raises(Exception, match=re.escape("q must have shape (..., 8), got (1,)")):
        compiled(lambda q: ft.inverse_dynamics(q[:1], v, a))(q)


def test_functions_travel() -> None:
    _, ft, (q, v, tau), _ = case("double_pendulum")
    for f in (pickle.loads(pickle.dumps(ft.forward_dynamics)), copy.deepcopy(ft.forward_dynamics)):
        assert same(f(q, v, tau), ft.forward_dynamics(q, v, tau).numpy())
    pose = pickle.loads(pickle.dumps(ft.pose))
    assert same(pose(q, frame="lower"), ft.pose(q, frame="lower").numpy())
    all_of_them = pickle.loads(pickle.dumps(ft))
    assert same(all_of_them.forward_dynamics(q, v, tau), ft.forward_dynamics(q, v, tau).numpy())
    again = to_torch.functions(fb.robots.double_pendulum()).forward_dynamics
    again(q, v, tau)
    operators = [f._operators["q", "v", "tau"] for f in (ft.forward_dynamics, again)]
    assert operators[0] is operators[1]  # equal robots share what PyTorch knows


def test_a_torch_that_does_not_fit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(torch._C, "_after_autograd_keyset")
    with pytest.raises(ImportError, match="does not fit") as told:
        inside._parts()
    assert torch.__version__ in str(told.value) and "_after_autograd_keyset" in str(told.value)
