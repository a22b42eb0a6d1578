"""Rollouts as JAX functions: the bits of `fourbar.rollout`, and gradients through the steps."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import fourbar as fb

from .support import floating

pytestmark = pytest.mark.usefixtures("double_precision")

jax: Any = pytest.importorskip("jax", reason="jax is not installed")
to_jax: Any = pytest.importorskip("fourbar.jax")
FIELDS = ("t", "q", "v", "lost", "steps", "diverged")
SLOW = tuple(pytest.param(name, marks=pytest.mark.slow) for name in ("floating", "five_bar", "tello"))
ROBOTS = ("double_pendulum", *SLOW)
DT, STEPS = 5e-3, 10


def case(name: str, n: int = 5) -> tuple[fb.System, np.ndarray, np.ndarray, np.ndarray]:
    """A robot, states, and forces of every step."""
    robot = floating() if name == "floating" else getattr(fb.robots, name)()
    rng = np.random.default_rng(0)
    q = np.stack([robot.random(i) for i in range(n)])
    return robot, q, rng.normal(size=(n, robot.nv)), rng.normal(size=(n, STEPS, robot.nv))


def servo() -> fb.System:
    """A mass on a servo, with damping."""
    b = fb.Builder("lift", gravity=(0, 0, -10))
    b.body("mass", joint=fb.joints.Prismatic("z"), mass=2.0, damping=0.4)
    return b.position_servo("servo", drives="mass", kp=1e2, kd=1e1).build()


def same(found: Any, wanted: Any) -> None:
    """All bits of all results."""
    for name in FIELDS:
        x, y = np.asarray(getattr(found, name)), getattr(wanted, name)
        assert x.shape == y.shape and np.array_equal(x, y, equal_nan=True), name


@pytest.mark.parametrize("name", ROBOTS)
def test_the_bits_of_a_rollout(name: str) -> None:
    robot, q, v, tau = case(name)
    wanted = fb.rollout(robot, q, v, tau, dt=DT, every=3)  # the last step is recorded too
    same(jax.jit(lambda *x: to_jax.rollout(robot, *x, dt=DT, every=3))(q, v, tau), wanted)
    mapped = jax.vmap(lambda q, tau: to_jax.rollout(robot, q, v[0], tau, dt=DT).q, (1, 0), 1)(q.T, tau)
    assert np.array_equal(mapped, fb.rollout(robot, q, v[0], tau, dt=DT).q)
    assert to_jax.rollout(robot, q[:0], dt=DT, steps=3).q.shape == (4, 0, robot.nq)
    grid = to_jax.rollout(robot, q[:, None], v[:2], None, dt=DT, steps=3)
    assert np.array_equal(grid.v, fb.rollout(robot, q[:, None], v[:2], None, dt=DT, steps=3).v)


@pytest.mark.parametrize("name", ROBOTS)
def test_gradients_through_the_steps(name: str) -> None:
    """Beside differences along the configuration space; nothing off it."""
    robot, (q, *_), (v, *_), (tau, *_) = case(name)
    rng = np.random.default_rng(1)
    w, dv, dq = rng.normal(size=(3, robot.nv))
    dtau, h = rng.normal(size=tau.shape), 1e-5
    f = jax.jit(lambda q, v, tau: to_jax.rollout(robot, q, v, tau, dt=DT).v[-1] @ w)
    g_q, g_v, g_tau = jax.jit(jax.grad(f, (0, 1, 2)))(q, v, tau)

    def difference(step: Any) -> float:
        return float(step(h) - step(-h)) / (2 * h)

    scale = float(np.abs(g_v).max() + np.abs(g_q).max())
    T = robot.integrate.jacobian(q, np.zeros(robot.nv), 1.0).v
    assert g_q @ T @ dq == pytest.approx(difference(lambda h: f(robot.integrate(q, dq, h), v, tau)), abs=1e-6 * scale)
    assert g_v @ dv == pytest.approx(difference(lambda h: f(q, v + h * dv, tau)), abs=1e-6 * scale)
    assert np.vdot(g_tau, dtau) == pytest.approx(difference(lambda h: f(q, v, tau + h * dtau)), abs=1e-6 * scale)
    assert np.abs(T @ np.linalg.lstsq(T, g_q, rcond=None)[0] - g_q).max() < 1e-12 * scale
    rate = np.asarray(T @ dq)
    _, pushed = jax.jvp(lambda q: f(q, v, tau), (q,), (rate,))
    assert pushed == pytest.approx(float(g_q @ rate), abs=1e-11 * scale)


@pytest.mark.slow
def test_second_derivatives() -> None:
    robot, (q, *_), (v, *_), (tau, *_) = case("double_pendulum")
    f = lambda v: (to_jax.rollout(robot, q, v, tau, dt=DT).q[-1] ** 2).sum()  # noqa: E731
    H, h, d = jax.jit(jax.hessian(f))(v), 1e-5, np.array([0.3, -1.0])
    gradient = jax.jit(jax.grad(f))
    np.testing.assert_allclose(H @ d, (gradient(v + h * d) - gradient(v - h * d)) / (2 * h), atol=1e-7)


@pytest.mark.slow
def test_actuators_numbers_and_functions() -> None:
    robot, n = servo(), 4
    q, u, masses = (
        np.linspace(-0.1, 0.1, n)[:, None],
        np.random.default_rng(0).normal(size=(n, 5, 1)),
        np.arange(1.0, 5),
    )
    given: dict[str, Any] = {"dt": DT, "period": 2 * DT}
    numbers = {"mass.mass": masses, "gravity": [0.0, 0.0, -5.0]}
    roll = jax.jit(lambda q, u, numbers: to_jax.rollout(robot, q, u=u, numbers=numbers, **given))
    same(roll(q, u, numbers), fb.rollout(robot, q, u=u, numbers=numbers, **given))
    asked = lambda t, q, v: 0.3 * t - 0.5 * q  # noqa: E731
    found = to_jax.rollout(robot, q, u=asked, tau=asked, steps=7, every=2, **given)
    wanted = fb.rollout(robot, q, u=asked, tau=asked, steps=7, every=2, **given)
    np.testing.assert_allclose(found.q, wanted.q, rtol=1e-13)  # XLA may fuse what functions do

    def end(mass: Any, gain: Any) -> Any:
        numbers, law = {"mass.mass": mass}, lambda t, q, v: -gain * q
        return to_jax.rollout(robot, q[0], u=law, numbers=numbers, steps=9, **given).q[-1, 0]

    by_mass, by_gain = jax.grad(end, (0, 1))(2.0, 0.5)
    h = 1e-5
    assert by_mass == pytest.approx(float(end(2.0 + h, 0.5) - end(2.0 - h, 0.5)) / (2 * h), rel=1e-5)
    assert by_gain == pytest.approx(float(end(2.0, 0.5 + h) - end(2.0, 0.5 - h)) / (2 * h), rel=1e-5)


def test_samples_that_diverge_leave_others_alone() -> None:
    robot, q, v, _ = case("double_pendulum", 3)
    v[1] = 1e200
    wanted = fb.rollout(robot, q, v, dt=DT, steps=4)
    assert wanted.diverged.tolist() == [False, True, False]
    roll = jax.jit(lambda q, v: to_jax.rollout(robot, q, v, dt=DT, steps=4))
    same(roll(q, v), wanted)
    gradient = np.asarray(jax.grad(lambda v: jax.numpy.nansum(roll(q, v).q))(v))
    assert np.isfinite(gradient[[0, 2]]).all()


@pytest.mark.slow
def test_a_loop_whose_velocities_lose_their_hold_is_reported() -> None:
    """A rocker that is driven to where it reverses: its velocity does not determine that of the crank there."""
    robot = fb.robots.crank_rocker().with_independent(["rocker"])
    q = robot.assemble(robot.neutral())
    run = to_jax.rollout(robot, q, [0.3], dt=1e-3, steps=3000, every=10)
    assert bool(run.diverged) and 0 < int(run.steps) < 3000
    made = 1 + int(run.steps) // 10
    assert np.isnan(run.q[made:]).all() and np.isfinite(run.q[:made]).all()
    wanted = fb.rollout(robot, q, [0.3], dt=1e-3, steps=3000, every=10)
    np.testing.assert_allclose(run.q[:made], wanted.q[:made], atol=1e-6)


def test_what_is_refused() -> None:
    robot, q, v, tau = case("double_pendulum")
    roll = to_jax.rollout
    with pytest.raises(fb.ArgumentError, match=re.escape("q must have shape (..., 2)")):
        roll(robot, q[:, :1], dt=DT, steps=3)
    with pytest.raises(fb.ArgumentError, match="tau has 2 rows, but the motion needs 3"):
        roll(robot, q, v, tau[:, :2], dt=DT, steps=3)
    with pytest.raises(fb.ArgumentError, match="tau has 1 row, but"):
        roll(robot, q, v, tau[:, :1], dt=DT, steps=3)
    with pytest.raises(fb.ArgumentError, match=r"tau: expected an array \(..., rows, 2\)"):
        roll(robot, q, v, tau[..., :1], dt=DT, steps=3)
    with pytest.raises(fb.ArgumentError, match=r"'lower\.mass' is negative in some samples, the least is -1"):
        roll(robot, q, v, dt=DT, steps=3, numbers={"lower.mass": -1.0})
    with pytest.raises(fb.ArgumentError, match="give steps="):
        roll(robot, q, v, dt=DT)
    for name, options in {"dt": {"steps": 3}, "steps": {"dt": DT}}.items():
        with pytest.raises(fb.ArgumentError, match=f"{name} is traced by JAX.*static_argnames='{name}'"):
            jax.jit(lambda x, name=name, options=options: roll(robot, q, v, **options, **{name: x}).q)(1)
    with pytest.raises(fb.ArgumentError, match="takes a robot"):
        roll(3, q, v, dt=DT, steps=3)
    with pytest.raises(fb.ArgumentError, match="no actuators"):
        roll(robot, q, v, u=tau, dt=DT)
    with pytest.raises(fb.ArgumentError, match=r"NumPy arrays of what JAX traces.*jax\.numpy"):
        roll(robot, q, v, lambda t, q, v: np.sin(np.asarray(q)), dt=DT, steps=3)
    with pytest.raises(fb.ArgumentError, match=re.escape("tau(t, q, v) must have shape (..., 2), got (3,)")):
        roll(robot, q, v, lambda t, q, v: np.zeros(3), dt=DT, steps=3)
    with pytest.raises(fb.ArgumentError, match="returned shape"):
        roll(robot, q, v, lambda t, q, v: np.zeros((3, 2)), dt=DT, steps=3)
    with pytest.raises(fb.ArgumentError, match=r"tau: fb\.traced.*itself"):
        roll(robot, q, v, fb.traced(lambda t, q, v: [-q[0], -q[1]]), dt=DT, steps=3)
    with pytest.raises(fb.ArgumentError, match="open"):
        roll(fb.robots.four_bar(), [0.1, 0.2, 0.3], dt=DT, steps=3)
    jax.config.update("jax_enable_x64", False)
    with pytest.raises(fb.ArgumentError, match="jax_enable_x64"):
        roll(robot, q, v, dt=DT, steps=3)


def test_constant_controls() -> None:
    """One row (nv) or (nu) stands for all, as in `fourbar.rollout`, and derivatives go through it."""
    robot, q, v, tau = case("double_pendulum")
    same(to_jax.rollout(robot, q, v, tau[0, 0], dt=DT, steps=7), fb.rollout(robot, q, v, tau[0, 0], dt=DT, steps=7))
    lift = servo()
    same(to_jax.rollout(lift, [0.0], u=[0.3], dt=DT, steps=7), fb.rollout(lift, [0.0], u=[0.3], dt=DT, steps=7))
    last = jax.jacfwd(lambda x: to_jax.rollout(robot, q[0], v[0], x, dt=DT, steps=7).q[-1])(tau[0, 0])
    rows = jax.jacfwd(lambda x: to_jax.rollout(robot, q[0], v[0], x, dt=DT).q[-1])(np.tile(tau[0, 0], (7, 1)))
    assert np.allclose(last, np.asarray(rows).sum(axis=1), rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("argument", ["q", "tau", "target"])
def test_what_jax_traces_is_refused_by_naming_the_function_to_use(argument: str) -> None:
    robot, still = fb.robots.double_pendulum(), np.zeros(2)

    def run(x: Any) -> Any:
        if argument == "target":
            return robot.inverse_kinematics({"tip": jax.numpy.append(x, 0.0)}).q
        given = {"q": still, "v": still, "tau": None, argument: x}
        return fb.rollout(robot, given["q"], given["v"], tau=given["tau"], dt=1e-3, steps=5).q

    with pytest.raises(fb.ArgumentError, match=r"cannot be read as .*fourbar\.jax\.rollout instead") as caught:
        jax.jit(run)(jax.numpy.zeros(2))
    assert "Tracer" not in str(caught.value)


@pytest.mark.parametrize("give", [lambda x: x, lambda x: [x[0], x[1], -9.0]], ids=["array", "list"])
def test_numbers_that_jax_traces_are_sent_to_its_own_rollout(give: Any) -> None:
    robot = fb.robots.double_pendulum()
    q, v = np.zeros(2), np.zeros(2)
    for run in (
        lambda x: fb.rollout(robot, q, v, dt=DT, steps=2, numbers={"gravity": give(x)}),
        lambda x: fb.simulate(robot, q, v, dt=DT, duration=0.1, numbers={"gravity": give(x)}),
        lambda x: fb.rollout(robot, [x[0], x[1]], v, dt=DT, steps=2),
    ):
        with pytest.raises(fb.ArgumentError, match=r"fourbar\.jax\.rollout") as caught:
            jax.jit(lambda x, run=run: run(x).q)(jax.numpy.ones(3))
        assert "Tracer(" not in str(caught.value)


@pytest.mark.parametrize("name", ["double_pendulum", pytest.param("five_bar", marks=pytest.mark.slow)])
def test_wrenches_on_bodies(name: str) -> None:
    """Of all bodies and by name: the bits of `fourbar.rollout`, held and asked, and gradients by differences."""
    robot, q, v, tau = case(name)
    body, count = robot.names.bodies[-1], len(robot.names.bodies)
    f_ext = np.random.default_rng(2).normal(size=(len(q), count, 6))
    only = np.where(np.arange(count)[:, None] == count - 1, f_ext, 0.0)
    same(jax.jit(lambda q, f: to_jax.rollout(robot, q, v, tau, f_ext=f, dt=DT))(q, f_ext),
         fb.rollout(robot, q, v, tau, f_ext=f_ext, dt=DT))  # fmt: skip
    same(to_jax.rollout(robot, q, v, tau, f_ext={body: f_ext[:, -1]}, dt=DT),
         fb.rollout(robot, q, v, tau, f_ext=only, dt=DT))  # fmt: skip
    asked = lambda t, q, v: {body: 0.5 * f_ext[:, -1]}  # noqa: E731
    given: Any = {"dt": DT, "steps": 7, "period": 2 * DT}
    same(to_jax.rollout(robot, q, v, f_ext=asked, **given), fb.rollout(robot, q, v, f_ext=asked, **given))
    w, h, d = np.random.default_rng(3).normal(size=robot.nv), 1e-5, f_ext[1, 0]
    end = jax.jit(lambda x: to_jax.rollout(robot, q[0], v[0], f_ext={body: x}, dt=DT, steps=5).v[-1] @ w)
    slope = float(end(f_ext[0, -1] + h * d) - end(f_ext[0, -1] - h * d)) / (2 * h)
    assert jax.jit(jax.grad(end))(f_ext[0, -1]) @ d == pytest.approx(slope, rel=1e-6, abs=1e-9)
    with pytest.raises(fb.UnknownNameError, match="in f_ext of rollout"):
        to_jax.rollout(robot, q, f_ext={"nobody": f_ext[:, 0]}, dt=DT, steps=3)
    with pytest.raises(fb.ArgumentError, match=r"f_ext must have shape \(\.\.\., \d, 6\), got \(6,\); or"):
        to_jax.rollout(robot, q, f_ext=np.zeros(6), dt=DT, steps=3)
    with pytest.raises(fb.ArgumentError, match=r"f_ext\(t, q, v\) must have shape"):
        to_jax.rollout(robot, q, f_ext=lambda t, q, v: 0.0 * q, dt=DT, steps=3)
    with pytest.raises(fb.ArgumentError, match=r"f_ext: fb\.traced"):
        to_jax.rollout(robot, q, f_ext=fb.traced(asked), dt=DT, steps=3)


def test_actuators_with_dynamics_and_delays() -> None:
    """Bits of `fourbar.rollout`, and gradients by start and controls against central differences."""
    b = fb.Builder("arm")
    rod = {"joint": fb.joints.Revolute("y"), "com": (0.0, 0.0, -0.3), "inertia": (0.02, 0.02, 0.01), "mass": 1.0}
    b.body("upper", **rod)
    b.body("lower", parent="upper", position=(0.0, 0.0, -0.6), **rod)
    b.motor("motor", drives="upper", dynamics=fb.Dynamics("filter", 0.05), delay=2)
    b.position_servo("servo", drives="lower", kp=3.0, kd=0.2, dynamics="integrator")
    arm, u, act = b.build(), np.random.default_rng(0).normal(size=(3, 12, 2)), np.array([0.3, 0.1, 0.1, 0.2])
    found, wanted = (roll(arm, np.zeros((3, 2)), u=u, act=act, dt=DT) for roll in (to_jax.rollout, fb.rollout))
    for name in ("q", "v", "act"):
        np.testing.assert_array_equal(getattr(found, name), getattr(wanted, name))

    def end(u: Any, act: Any) -> Any:
        return to_jax.rollout(arm, np.zeros(2), u=u, act=act, dt=DT).q[-1].sum()

    by_u, by_act = (np.asarray(x) for x in jax.grad(end, (0, 1))(u[0], act))
    h, push = 1e-6, np.zeros((12, 2))
    push[4] = 0.7, -0.4
    slope = (end(u[0] + h * push, act) - end(u[0] - h * push, act)) / (2.0 * h)
    assert slope == pytest.approx((by_u * push).sum(), abs=1e-9)
    slopes = [(end(u[0], act + h * e) - end(u[0], act - h * e)) / (2.0 * h) for e in np.eye(4)]
    np.testing.assert_allclose(by_act, slopes, rtol=0, atol=1e-9)
    with pytest.raises(fb.ArgumentError, match="give u= too"):
        to_jax.rollout(arm, np.zeros(2), act=act, dt=DT, steps=1)
