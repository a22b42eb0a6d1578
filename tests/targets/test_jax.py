"""Functions as JAX functions: the bits of the NumPy functions, and derivatives in all of JAX's ways."""

from __future__ import annotations

import ctypes
import inspect
import pickle
import re
import subprocess
import sys
from functools import cache
from typing import Any

import numpy as np
import pytest

import fourbar as fb
from fourbar.compile import batch_loop as words
from fourbar.compile.kernel import Kernel
from fourbar.compile.llvm import batch_lanes, single_lane
from fourbar.targets.xla_handler import Handler

from .support import floating

pytestmark = pytest.mark.usefixtures("double_precision")

jax: Any = pytest.importorskip("jax", reason="jax is not installed")
to_jax: Any = pytest.importorskip("fourbar.jax")
target: Any = pytest.importorskip("fourbar.targets.jax")
ROBOTS = ("double_pendulum", "floating", "five_bar")
LARGE = tuple(pytest.param(name, marks=pytest.mark.slow) for name in ("mini_cheetah", "tello"))
ALL = (*ROBOTS, *LARGE)
FEW = ("double_pendulum", *(pytest.param(name, marks=pytest.mark.slow) for name in ROBOTS[1:]), *LARGE)
MANY = 37
KEPT: list[Handler] = []  # which XLA knows


@cache
def case(name: str) -> tuple[Any, Any, tuple[np.ndarray, np.ndarray, np.ndarray], np.ndarray]:
    """A robot, its JAX functions, a state with forces, and a weight of accelerations."""
    robot = floating() if name == "floating" else getattr(fb.robots, name)()
    v, tau, w = np.random.default_rng(4).normal(size=(3, robot.nv))
    return robot, to_jax.functions(robot), (robot.random(7), v, tau), w


def batch(robot: Any, n: int = MANY) -> tuple[np.ndarray, np.ndarray]:
    """Configurations and velocities."""
    return np.stack([robot.random(i) for i in range(n)]), np.random.default_rng(1).normal(size=(n, robot.nv))


def agree(found: Any, expected: Any, bound: float = 1e-12) -> None:
    """Equal relative to the largest entry."""
    found, expected = np.asarray(found), np.asarray(expected)
    assert found.shape == expected.shape
    assert np.abs(found - expected).max() <= bound * max(1.0, np.abs(expected).max())


def moved(fj: Any, q: np.ndarray) -> Any:
    """Forward dynamics of (step, v, tau), the configuration moved along its space by a step."""
    return lambda step, v, tau: fj.forward_dynamics(fj.integrate(q, step, 1.0), v, tau)


@pytest.mark.parametrize("name", ALL)
def test_values_have_the_same_bits(name: str) -> None:
    robot, fj, (q, v, tau), _ = case(name)
    expected = robot.forward_dynamics(q, v, tau)
    assert np.array_equal(fj.forward_dynamics(q, v, tau), expected)
    assert np.array_equal(jax.jit(fj.forward_dynamics)(q, v, tau), expected)
    assert np.array_equal(fj.forward_dynamics(q, tau=tau, v=v), expected)
    assert fj.forward_dynamics(q, v, tau).dtype == np.float64
    Q, V = batch(robot)
    many = robot.forward_dynamics(Q, V, tau)
    assert np.array_equal(fj.forward_dynamics(Q, V, tau), many)  # tau is the same for all samples
    grid = fj.forward_dynamics(Q[:, None], V[:3], tau)
    assert np.array_equal(grid, robot.forward_dynamics(Q[:, None], V[:3], tau)) and grid.shape == (MANY, 3, robot.nv)
    assert fj.forward_dynamics(Q[:0], V[:0], tau).shape == (0, robot.nv)


@pytest.mark.parametrize("name", FEW)
def test_vmap_over_any_axes(name: str) -> None:
    robot, fj, (_, _, tau), _ = case(name)
    Q, V = batch(robot)
    expected = robot.forward_dynamics(Q, V, tau)
    f = fj.forward_dynamics
    assert np.array_equal(jax.vmap(f, (0, 0, None))(Q, V, tau), expected)
    assert np.array_equal(jax.vmap(f, (1, 0, None), out_axes=1)(Q.T, V, tau), expected.T)
    grid = robot.forward_dynamics(Q[:, None], V[None, :3], tau)
    inner = jax.vmap(f, (None, 0, None))
    assert np.array_equal(jax.jit(jax.vmap(inner, (0, None, None)))(Q, V[:3], tau), grid)
    over_batches = jax.vmap(f, (0, None, None))(Q, V[:3], tau)  # an argument that has a leading axis already
    assert np.array_equal(over_batches, grid)
    under_batches = jax.vmap(f, (None, 0, None))(Q, V[:3], tau)
    assert np.array_equal(under_batches, grid.swapaxes(0, 1))


def test_vmap_beside_plain_numbers() -> None:
    """JAX keeps numbers such as a time as they are, not as arrays, where it differentiates what is mapped."""
    robot, fj, (q, v, _), w = case("double_pendulum")
    moved = lambda v: jax.lax.scan(lambda v, _: (fj.integrate(q, v, 0.5), None), v, length=2)[0] @ w  # noqa: E731
    expected = robot.integrate(q, robot.integrate(q, v, 0.5), 0.5) @ w
    agree(jax.vmap(moved)(np.stack([v, v])), [expected, expected], 1e-14)
    agree(jax.hessian(moved)(v), np.zeros((2, 2)))


def registered(kernel: Kernel, name: str, shared_from: int) -> Any:
    """A kernel of one result as a call of XLA, on arrays with one leading axis."""
    handler = Handler(kernel, target._MINOR, shared_from)
    KEPT.append(handler)
    target.register(name, handler.address)
    (y,) = kernel.program.outputs
    return lambda *x: jax.ffi.ffi_call(name, jax.ShapeDtypeStruct((len(x[0]), *y.shape), float))(*x)


def test_a_batch_shared_among_threads_of_xla(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FOURBAR_THREADS", "4")
    robot, _, (_, _, tau), _ = case("mini_cheetah")
    kernel = Kernel(robot.forward_dynamics.program(), batch_lanes(), pauses=False)
    f = jax.jit(registered(kernel, "fourbar_test_of_sharing", 2))
    Q, V = batch(robot, 200)
    expected = robot.forward_dynamics(Q, V, tau)
    for _ in range(200):
        assert np.array_equal(f(Q, V, tau), expected)


def test_no_memory_is_an_error() -> None:
    robot, _, (q, v, tau), _ = case("double_pendulum")
    kernel = Kernel(robot.forward_dynamics.program(), single_lane(), pauses=False)
    f = registered(kernel, "fourbar_test_of_memory", 2)
    agree(f(q[None], v, tau)[0], robot.forward_dynamics(q, v, tau))
    table = (ctypes.c_int64 * words.DATA_WORDS).from_address(kernel.data)
    table[words.BYTES] = 1 << 60
    with pytest.raises(Exception, match="forward_dynamics: no memory for a workspace"):
        f(q[None], v, tau).block_until_ready()


@pytest.mark.parametrize("name", ALL)
def test_gradients(name: str) -> None:
    """Those by velocities and forces are ours; that by the configuration is ours along each direction."""
    robot, fj, (q, v, tau), w = case(name)
    loss = jax.grad(lambda *x: w @ fj.forward_dynamics(*x), (0, 1, 2))
    g_q, g_v, g_tau = loss(q, v, tau)
    expected = robot.forward_dynamics.vjp((q, v, tau), w)
    agree(g_v, expected.v)
    agree(g_tau, expected.tau)
    T = robot.integrate.jacobian(q, np.zeros(robot.nv), 1.0).v
    agree(T.T @ g_q, expected.q)
    agree(T @ np.linalg.lstsq(T, g_q, rcond=None)[0], g_q)  # nothing off the configuration space
    Q, V = batch(robot, 5)
    each = [loss(*x, tau) for x in zip(Q, V, strict=True)]
    for found, one_by_one in zip(jax.vmap(loss, (0, 0, None))(Q, V, tau), zip(*each, strict=True), strict=True):
        agree(found, np.stack(one_by_one), 1e-14)


@pytest.mark.default_cases("jacfwd-floating", "jacrev-five_bar")
@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("way", ["jacfwd", "jacrev"])
def test_jacobians(name: str, way: str) -> None:
    robot, fj, (q, v, tau), _ = case(name)
    found = getattr(jax, way)(moved(fj, q), (0, 1, 2))(np.zeros(robot.nv), v, tau)
    for block, expected in zip(found, robot.forward_dynamics.jacobian(q, v, tau), strict=True):
        agree(block, expected, 1e-11)


@pytest.mark.parametrize("name", FEW)
def test_along_a_direction(name: str) -> None:
    robot, fj, (q, v, tau), w = case(name)
    rate = robot.integrate.jvp((q, np.zeros(robot.nv), 1.0), {"v": w})
    _, found = jax.jvp(lambda q, v: fj.forward_dynamics(q, v, tau), (q, v), (rate, w))
    agree(found, robot.forward_dynamics.jvp((q, v, tau), {"q": w, "v": w}))
    _, linear = jax.linearize(lambda q, v: fj.forward_dynamics(q, v, tau), q, v)
    agree(linear(rate, w), found)
    (again,) = jax.linear_transpose(lambda w: jax.vjp(lambda v: fj.forward_dynamics(q, v, tau), v)[1](w)[0], v)(w)
    agree(again, robot.forward_dynamics.jvp((q, v, tau), {"v": w}))  # transposed twice: forwards


def test_an_argument_shared_by_samples_has_the_sum_of_gradients() -> None:
    robot, fj, (_, _, tau), w = case("double_pendulum")
    Q, V = batch(robot)
    found = jax.grad(lambda tau: (fj.forward_dynamics(Q, V, tau) @ w).sum())(tau)
    agree(found, robot.forward_dynamics.vjp((Q, V, tau), np.tile(w, (MANY, 1))).tau.sum(0))


@pytest.mark.parametrize("way", ["jacfwd", "jacrev"])
def test_a_tangent_shared_by_others(way: str) -> None:
    """A derivative along tangents of which only some have an axis, by the one that has none."""
    robot, fj, (q, v, tau), w = case("double_pendulum")

    def rates(dv: Any) -> Any:
        along = lambda dq: jax.jvp(lambda q, v: fj.forward_dynamics(q, v, tau), (q, v), (dq, dv))[1]  # noqa: E731
        return jax.vmap(along)(np.eye(robot.nq))

    found = getattr(jax, way)(rates)(w)
    agree(found, np.tile(robot.forward_dynamics.jacobian(q, v, tau).v, (robot.nq, 1, 1)))


@pytest.mark.parametrize("name", FEW)
def test_scan_of_a_rollout(name: str) -> None:
    """Semi-implicit Euler: the loop in NumPy, and the gradient by the initial velocity by differences."""
    robot, fj, (q0, v0, tau), w = case(name)
    dt, steps = 1e-3, 20

    def step(state: Any, _: Any) -> Any:
        q, v = state
        v = v + dt * fj.forward_dynamics(q, v, tau)
        return (fj.integrate(q, v, dt), v), v

    def rollout(v0: Any) -> Any:
        return jax.lax.scan(step, (jax.numpy.asarray(q0), v0), length=steps)

    (q, v), kept = jax.jit(rollout)(jax.numpy.asarray(v0))
    q_own, v_own = q0, v0
    for _ in range(steps):
        v_own = v_own + dt * robot.forward_dynamics(q_own, v_own, tau)
        q_own = robot.integrate(q_own, v_own, dt)
    agree(q, q_own, 1e-13)  # XLA may fuse v + dt a
    agree(v, v_own, 1e-13)
    assert kept.shape == (steps, robot.nv)
    final = jax.jit(lambda v0: rollout(v0)[0][1] @ w)
    direction, h = np.random.default_rng(0).normal(size=robot.nv), 1e-5
    difference = (final(v0 + h * direction) - final(v0 - h * direction)) / (2 * h)
    agree(jax.jit(jax.grad(final))(v0) @ direction, difference, 1e-6)


def second_derivatives(name: str, ways: tuple[Any, ...]) -> None:
    """Hessians of inverse dynamics in (step, v) by two differentiations, beside differences of gradients."""
    robot, fj, (q, v, a), w = case(name)
    f = lambda step, v: w @ fj.inverse_dynamics(fj.integrate(q, step, 1.0), v, a)  # noqa: E731
    gradient, zero, h = jax.jit(jax.grad(f, (0, 1))), np.zeros(robot.nv), 1e-5
    rng = np.random.default_rng(3)
    ds, dv = rng.normal(size=(2, robot.nv))
    ahead, behind = gradient(zero + h * ds, v + h * dv), gradient(zero - h * ds, v - h * dv)
    expected = [(x - y) / (2 * h) for x, y in zip(ahead, behind, strict=True)]
    for way in ways:
        H = jax.jit(way(f))(zero, v)
        for row, difference in zip(H, expected, strict=True):
            agree(row[0] @ ds + row[1] @ dv, difference, 1e-7)
        agree(H[0][1], H[1][0].T, 1e-11)
        agree(H[0][0], H[0][0].T, 1e-11)


def test_hessian() -> None:
    second_derivatives("double_pendulum", (lambda f: jax.hessian(f, (0, 1)),))


@pytest.mark.slow
@pytest.mark.parametrize("name", ROBOTS)
def test_hessians_in_every_order(name: str) -> None:
    ways = [(outer, inner) for outer in (jax.jacfwd, jax.jacrev) for inner in (jax.jacfwd, jax.jacrev)]
    second_derivatives(name, tuple(lambda f, o=o, i=i: o(i(f, (0, 1)), (0, 1)) for o, i in ways))


@pytest.mark.slow
def test_hessian_by_the_entries_of_a_quaternion() -> None:
    """As of the function with the quaternion normalised, which is constant along its length."""
    robot, fj, (q, v, a), w = case("floating")
    (first,) = robot.neutral().nonzero()[0][:1]  # of (1, 0, 0, 0)
    four = slice(first, first + 4)

    def normalised(q: Any) -> Any:
        unit = q[four] / jax.numpy.linalg.norm(q[four])
        return w @ fj.inverse_dynamics(jax.numpy.asarray(q).at[four].set(unit), v, a)

    H = jax.hessian(lambda q: w @ fj.inverse_dynamics(q, v, a))(q)
    agree(H, jax.hessian(normalised)(q), 1e-10)


def test_optional_arguments_options_and_several_results() -> None:
    robot, fj, (q, v, a), _ = case("floating")
    f_ext = np.random.default_rng(0).normal(size=(len(robot.names.bodies), 6))
    assert np.array_equal(fj.inverse_dynamics(q, v, a, f_ext), robot.inverse_dynamics(q, v, a, f_ext))
    gradient = jax.grad(lambda f: fj.inverse_dynamics(q, v, a, f) @ v)(f_ext)
    agree(gradient, robot.inverse_dynamics.vjp((q, v, a, f_ext), v).f_ext)
    frame = robot.names.bodies[-1]
    assert np.array_equal(fj.pose(q, frame=frame), robot.pose(q, frame))
    assert np.array_equal(to_jax.function(robot.pose.specialise(frame=frame))(q), robot.pose(q, frame))
    pendulum, fp, (q, v, a), _ = case("double_pendulum")
    options = {pendulum.hybrid_dynamics.options[0]: ["elbow"]}
    for x, y in zip(
        fp.hybrid_dynamics(q, v, a, a, **options), pendulum.hybrid_dynamics(q, v, a, a, **options), strict=True
    ):
        assert np.array_equal(x, y)


def test_parameters_as_arguments() -> None:
    robot, _, (q, v, a), w = case("double_pendulum")
    varying = robot.varying("lower.mass")
    fj, masses = to_jax.functions(varying), np.linspace(0.5, 2.0, 4)
    assert np.array_equal(fj.inverse_dynamics(q, v, a, masses), varying.inverse_dynamics(q, v, a, masses))
    found = jax.grad(lambda m: w @ fj.inverse_dynamics(q, v, a, m))(1.3)
    step = [w @ varying.inverse_dynamics(q, v, a, m) for m in (2.3, 1.3)]
    agree(found, step[0] - step[1], 1e-10)  # it is linear in masses


def test_other_kinds_of_numbers_become_float64() -> None:
    robot, fj, (q, v, a), _ = case("double_pendulum")
    short = q.astype(np.float32)
    assert np.array_equal(fj.inverse_dynamics(short, v, a), robot.inverse_dynamics(short, v, a))
    shorter = jax.numpy.asarray(q).astype(jax.numpy.bfloat16)
    assert np.array_equal(fj.inverse_dynamics(shorter, v, a), robot.inverse_dynamics(np.asarray(shorter, float), v, a))
    assert np.array_equal(fj.inverse_dynamics([1, 2], [0, 0], [0, 0]), robot.inverse_dynamics([1, 2], [0, 0], [0, 0]))
    assert jax.grad(lambda q: fj.potential_energy(q))(jax.numpy.asarray(short)).dtype == np.float32


def test_without_jit_and_in_search_of_nan() -> None:
    """JAX then runs one operation after the other: those of a robot still have to be compiled."""
    robot, fj, (q, v, a), _ = case("double_pendulum")
    with jax.disable_jit():
        found = jax.jit(fj.inverse_dynamics)(q, v, a)
        gradient = jax.grad(lambda q: fj.inverse_dynamics(q, v, a).sum())(q)
    assert np.array_equal(found, robot.inverse_dynamics(q, v, a))
    agree(gradient, jax.grad(lambda q: fj.inverse_dynamics(q, v, a).sum())(q), 1e-14)
    _, fj, (q, v, a), _ = case("floating")
    zero = np.zeros_like(q)  # which is no rotation
    with jax.debug_nans(True):
        assert np.isfinite(fj.inverse_dynamics(q, v, a)).all()
        for call in (fj.inverse_dynamics, jax.jit(fj.inverse_dynamics)):
            with pytest.raises(FloatingPointError, match=r"invalid value \(nan\) encountered in fourbar"):
                call(zero, v, a)


def test_arrays_with_values_are_computed_in_one_compiled_call() -> None:
    robot, _, _, _ = case("double_pendulum")
    f = to_jax.function(robot.forward_dynamics)
    q, v = jax.numpy.asarray(robot.random(0)), jax.numpy.ones(2)
    for tau in (v, jax.numpy.ones((3, 2)), jax.numpy.ones(2, np.float32)):
        found = [f(q, v, tau) for _ in range(3)]
        assert all(np.array_equal(x, robot.forward_dynamics(q, v, tau)) for x in found)
    compiled = f._jitted._cache_size()
    assert compiled == 3  # one for each shape and dtype
    jax.jit(f)(q, v, v), jax.vmap(f, (None, None, 0))(q, v, jax.numpy.ones((3, 2)))
    assert f._jitted._cache_size() == compiled  # what is traced is not compiled on its own
    with pytest.raises(fb.ArgumentError, match=re.escape("q must have shape (..., 2), got (3,)")):
        f(jax.numpy.ones(3), v, v)


def test_classes_of_arrays_with_values_are_known_after_one_call(monkeypatch: pytest.MonkeyPatch) -> None:
    """To ask JAX takes as long as a tenth of a call; what is traced is no such class, even where it was first."""
    robot, _, (q, v, tau), _ = case("double_pendulum")
    f, expected = to_jax.function(robot.forward_dynamics), robot.forward_dynamics(q, v, tau)
    monkeypatch.setattr(target, "_concrete", set())
    x = [jax.numpy.asarray(one) for one in (q, v, tau)]
    jax.jit(f)(*x), jax.grad(lambda tau: f(*x[:2], tau).sum())(x[2]), jax.vmap(f)(*(one[None] for one in x))
    assert np.array_equal(f(*x), expected)
    assert target._concrete == {type(x[0])}
    asked = []
    monkeypatch.setattr(target, "is_concrete", lambda one: asked.append(one))
    assert np.array_equal(f(*x), expected) and not asked
    assert np.array_equal(f(*x[:2], tau), expected) and asked == [x[0]]  # a NumPy array is asked about


def test_results_of_arrays_with_values_are_those_of_jit() -> None:
    """Where they are and how firmly, also of what is still being computed; what was deleted is refused."""
    robot, fj, (q, v, tau), _ = case("double_pendulum")
    free = [jax.numpy.asarray(one) for one in (q, v, tau)]
    held = [jax.device_put(one, jax.devices("cpu")[0]) for one in (q, v, tau)]
    for given in (free, held, [*free[:2], held[2]]):
        found, expected = fj.forward_dynamics(*given), jax.jit(fj.forward_dynamics)(*given)
        assert found.committed == expected.committed == (given is not free)
        assert found.aval == expected.aval and found.sharding == expected.sharding and not found.weak_type
    work = jax.jit(lambda w: (w @ w @ w)[0, :2] * 0 + tau)
    late = work(jax.numpy.ones((700, 700)))  # which takes JAX some milliseconds on another thread
    assert np.array_equal(fj.forward_dynamics(*free[:2], late), robot.forward_dynamics(q, v, tau))
    late.delete()
    with pytest.raises(RuntimeError, match="deleted"):
        fj.forward_dynamics(*free[:2], late)


def test_libraries_and_editors_see_what_a_function_takes() -> None:
    fj = case("double_pendulum")[1]
    assert str(inspect.signature(fj.inverse_dynamics)) == "(q, v, a, f_ext=None)"
    with pytest.raises(ValueError, match=r"axis 0 of argument v of type"):
        jax.vmap(fj.inverse_dynamics)(np.zeros((3, 2)), np.zeros((4, 2)), np.zeros((3, 2)))


def test_jax_export_is_refused_with_words() -> None:
    from jax import export

    _, fj, (q, v, a), _ = case("double_pendulum")
    given = [jax.ShapeDtypeStruct((2,), float)] * 3
    with pytest.raises(
        NotImplementedError, match=r"gravity_force is machine code of this process.*jax\.export.*export_c"
    ):
        export.export(jax.jit(fj.gravity_force))(given[0])
    with pytest.raises(NotImplementedError, match=r"machine code of this process"):
        export.export(jax.jit(jax.grad(lambda q: fj.inverse_dynamics(q, v, a).sum())))(given[0])
    many = jax.ShapeDtypeStruct((*export.symbolic_shape("b"), 2), float)
    with pytest.raises(NotImplementedError, match=r"inverse_dynamics needs arrays of known shape; .* has symbols"):
        export.export(jax.jit(fj.inverse_dynamics))(many, many, many)
    assert jax.jit(fj.inverse_dynamics).lower(*given).compile()(q, v, a).shape == (2,)


def test_what_is_refused() -> None:
    robot, fj, (q, v, a), _ = case("double_pendulum")
    with pytest.raises(fb.ArgumentError, match=re.escape("q must have shape (..., 2), got (3,)")):
        fj.inverse_dynamics(np.zeros(3), v, a)
    with pytest.raises(fb.ArgumentError, match="do not broadcast"):
        fj.inverse_dynamics(np.zeros((3, 2)), np.zeros((4, 2)), a)
    with pytest.raises(fb.ArgumentError, match="real numbers"):
        fj.inverse_dynamics(q + 1j, v, a)
    with pytest.raises(TypeError, match="JAX function has no argument 'out'"):
        fj.inverse_dynamics(q, v, a, out=np.zeros(2))
    with pytest.raises(TypeError, match="needs 'a'"):
        fj.inverse_dynamics(q, v)
    with pytest.raises(fb.ArgumentError, match=re.escape("jax.jacfwd")):
        to_jax.function(robot.forward_dynamics.jacobian)
    with pytest.raises(fb.ArgumentError, match=re.escape("jax.jacfwd")):
        to_jax.function(robot.forward_dynamics.vjp)
    with pytest.raises(fb.ArgumentError, match="not a function of a robot"):
        to_jax.function(np.sin)
    with pytest.raises(AttributeError, match="no attribute 'dance'"):
        to_jax.functions(robot).dance  # noqa: B018
    with pytest.raises(AttributeError, match="did you mean 'pose'"):
        to_jax.functions(robot).poose  # noqa: B018
    with pytest.raises(fb.ArgumentError, match=r"jax is tracing.*fourbar\.jax"):
        jax.jit(lambda q: robot.inverse_dynamics(q, v, a))(q)
    with pytest.raises(fb.ArgumentError, match=r"those of a robot.*got 'robot\.urdf'"):
        to_jax.functions("robot.urdf")
    lazy = pytest.importorskip("dask.array").zeros((4, 2))
    with pytest.raises(fb.ArgumentError, match="q is a dask array"):
        fj.inverse_dynamics(lazy, v, a)
    hung = robot.constrained(fb.constraints.Contact("lower", "point"))  # what it computes depends on values
    with pytest.raises(fb.ArgumentError, match="single program"):
        to_jax.function(hung.forward_dynamics)
    traced = jax.jit(fj.inverse_dynamics).trace(q, v, a)
    with pytest.raises(NotImplementedError, match="inverse_dynamics is machine code for the CPU; this device is cuda"):
        traced.lower(lowering_platforms=("cuda",))
    jax.config.update("jax_enable_x64", False)
    with pytest.raises(fb.ArgumentError, match=re.escape('jax.config.update("jax_enable_x64", True)')):
        fj.inverse_dynamics(q, v, a)


def test_a_function_of_numpy_arrays_that_jax_traces_names_the_bridge() -> None:
    robot = fb.robots.double_pendulum()
    for traced in (jax.jit(robot.mass_matrix), jax.vmap(robot.mass_matrix)):
        with pytest.raises(fb.ArgumentError, match=r"mass_matrix: q cannot.*use fourbar\.jax\.functions\(robot\)"):
            traced(np.zeros((3, 2)))
    with pytest.raises(fb.ArgumentError, match=r"fourbar\.jax\.rollout"):
        jax.jit(lambda q: fb.rollout(robot, q, dt=0.01, steps=2).q)(np.zeros(2))


def test_functions_pickle() -> None:
    robot, q = fb.robots.double_pendulum(), np.array([0.3, -0.7])
    one, several = pickle.loads(pickle.dumps((to_jax.function(robot.mass_matrix), to_jax.functions(robot))))
    assert np.array_equal(one(q), robot.mass_matrix(q)) and np.array_equal(several.mass_matrix(q), one(q))
    pose = pickle.loads(pickle.dumps(to_jax.function(robot.pose)))
    assert np.array_equal(pose(q, frame="lower"), robot.pose(q, frame="lower"))


def test_a_jaxlib_that_does_not_fit_is_refused() -> None:
    define = "#define XLA_FFI_API_MAJOR {}\n#define XLA_FFI_API_MINOR {}\n"
    assert target.interface_version(define.format(0, 7)) == 7
    for header, word in ((define.format(1, 0), "1.0"), (define.format(0, 0), "0.0"), ("", "no version")):
        with pytest.raises(ImportError, match=re.escape(word)) as told:
            target.interface_version(header)
        assert jax.__version__ in str(told.value)
    with pytest.raises(ImportError, match="cannot be read"):
        target._read_header("nowhere")


def test_a_jax_without_what_is_used_of_it_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as less:
        less.delattr(jax.ffi, "ffi_lowering")
        with pytest.raises(ImportError, match=r"does not fit.*it has no jax\.ffi\.ffi_lowering.*jax>=0\.5"):
            target._parts()
    monkeypatch.setitem(sys.modules, "jax.ffi", None)
    with pytest.raises(ImportError, match=r"does not fit.*it has no jax\.ffi "):
        target._parts()


def test_xla_asks_for_the_version() -> None:
    """A handler for a version that XLA does not support is refused at registration, in words."""
    program = case("double_pendulum")[0].gravity_force.program()
    handler = Handler(Kernel(program, single_lane(), pauses=False), 0, 2)
    KEPT.append(handler)
    with pytest.raises(ImportError, match="refuses a function of fourbar"):
        target.register("fourbar_test_of_version_0", handler.address)


@pytest.mark.slow
def test_importing_does_not_start_the_backends() -> None:
    code = "import fourbar.jax, jax; from jax._src import xla_bridge as x; assert not x.backends_are_initialized()"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=300)
