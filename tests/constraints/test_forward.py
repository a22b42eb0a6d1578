"""Accelerations and forces under constraints: against the equations in 40 digits, power, redundancy, drift."""

from __future__ import annotations

import numpy as np
import pytest

from fourbar import SingularError
from fourbar.constraints import Contact, Prescribed
from tests.loops.looped import apply, near, slope, transposed

from .held import CASES, REDUNDANT, equations, exact, held, state, walker

pytestmark = pytest.mark.drawn_in_line

EACH = pytest.mark.parametrize("name", list(CASES))


@pytest.mark.default_cases("weld", "rotor", "loops", "functions")
@pytest.mark.slow_cases("twice")
@EACH
def test_equations_in_high_precision(name: str) -> None:
    c, s = held(name), state(name)
    a, force = c.forward_dynamics(s.q, s.v, s.tau, f_ext=s.f_ext)
    found = [exact(*parts, full=name not in REDUNDANT) for parts in zip(*equations(c, s, s.f_ext), strict=True)]
    near(a, np.array([x for x, _ in found]), 2e-12)
    near(force, np.array([x for _, x in found]), 2e-11)


@EACH
def test_rows_stay_at_rest(name: str) -> None:
    c, s = held(name), state(name)
    assert np.abs(c.residual(s.q)).max() < 1e-11
    assert np.abs(c.rate(s.q, s.v)).max() < 1e-12
    a, _ = c.forward_dynamics(s.q, s.v, s.tau)
    near(c.acceleration(s.q, s.v, a), np.zeros((len(a), c.m)), 1e-12, np.abs(a).max(axis=-1))


@pytest.mark.default_cases("weld", "plane", "rotor", "functions", "twice")
@EACH
def test_constraints_do_no_work(name: str) -> None:
    robot, c, s = walker(), held(name), state(name)
    a, _ = c.forward_dynamics(s.q, s.v, s.tau)

    def energy(t: float) -> np.ndarray:
        q, v = robot.integrate(s.q, s.v, t), s.v + t * a
        return robot.kinetic_energy(q, v) + robot.potential_energy(q)

    power = (s.tau * s.v).sum(axis=-1)
    size = (np.abs(s.tau) * np.abs(s.v)).sum(axis=-1)
    near(slope(energy, 1e-3)[:, None], power[:, None], 1e-10, size)


@EACH
def test_rates_are_rows_and_change_as_said(name: str) -> None:
    """A v is the rate of φ, and A a + Ȧ v the rate of A v, along motions that need not keep the constraints."""
    robot, c = walker(), held(name)
    rng = np.random.default_rng(5)
    q, (v, a) = robot.random(rng, 4), rng.normal(size=(2, 4, robot.nv))
    rate = c.rate(q, v)
    near(apply(c.jacobian(q), v), rate, 1e-13, np.abs(rate).max() * np.ones(4))
    change = slope(lambda t: c.rate(robot.integrate(q, v, t), v + t * a), 1e-3)
    size = 10.0 + np.abs(change).max(axis=-1)
    near(c.acceleration(q, v, a), change, 1e-10, size)
    if name in ("loops", "closed"):
        near(slope(lambda t: c.residual(robot.integrate(q, v, t)), 1e-3), rate, 1e-10, size)


@EACH
def test_inverse_inertia_and_rank(name: str) -> None:
    robot, c, s = walker(), held(name), state(name)
    A = c.jacobian(s.q)
    expected = A @ np.linalg.solve(robot.mass_matrix(s.q), transposed(A))
    near(c.osim_inverse(s.q), expected, 1e-11)
    assert np.all(c.rank(s.q) == REDUNDANT.get(name, c.m))


def test_velocities_of_frames() -> None:
    """The rows of a weld are the frame's velocity; those of other kinds are some of them."""
    robot, s = walker(), state("weld")
    c = robot.constrained(Contact("left_sole"), Contact("left_sole", axes="frame"))
    expected = [robot.velocity(s.q, s.v, "left_sole"), robot.velocity(s.q, s.v, "left_sole", expressed_in="frame")]
    q, v = s.q, np.ones(robot.nv)
    expected = [robot.velocity(q, v, "left_sole"), robot.velocity(q, v, "left_sole", expressed_in="frame")]
    near(c.rate(q, v), np.concatenate(expected, axis=-1), 1e-14)
    for kind, rows in (("point", [3, 4, 5]), ("line", [1, 2, 3, 4, 5]), ("plane", [0, 1, 5]), ("touch", [5])):
        near(robot.constrained(Contact("left_sole", kind)).rate(q, v), expected[0][:, rows], 1e-14)


def test_forces_are_wrenches_on_the_frame() -> None:
    """What the contacts push with, given as external forces instead, causes the same accelerations."""
    robot, c, s = walker(), held("weld"), state("weld")
    a, force = c.forward_dynamics(s.q, s.v, s.tau)
    J = [robot.jacobian(s.q, "left_sole"), robot.jacobian(s.q, "right_sole", expressed_in="frame")]
    pushed = sum(apply(transposed(j), f) for j, f in zip(J, (force[:, :6], force[:, 6:]), strict=True))
    near(robot.forward_dynamics(s.q, s.v, s.tau + pushed), a, 1e-11)


def test_prescribed_motion() -> None:
    """Joints and a frame accelerate as told; the force of a prescribed joint is that of its drive."""
    robot, s = walker(), state("weld")
    c = robot.constrained(Prescribed(["arm", "right_shin"]), Contact("left_sole", "point"))
    rng = np.random.default_rng(1)
    wanted = rng.normal(size=(len(s.q), c.m))
    a, force = c.forward_dynamics(s.q, s.v, s.tau, row_acceleration=wanted)
    names = robot.names.velocities
    joints = [names.index("arm"), names.index("right_shin")]
    near(a[:, joints], wanted[:, :2], 1e-12, np.abs(a).max(axis=-1))
    near(robot.acceleration(s.q, s.v, a, "left_sole")[:, 3:], wanted[:, 2:], 1e-12, np.abs(a).max(axis=-1))
    hybrid_a, hybrid_tau = robot.hybrid_dynamics(s.q, s.v, a, s.tau, prescribed=["arm", "right_shin"])
    only = robot.constrained(Prescribed(["arm", "right_shin"]))
    a, force = only.forward_dynamics(s.q, s.v, s.tau, row_acceleration=wanted[:, :2])
    hybrid_a, hybrid_tau = robot.hybrid_dynamics(s.q, s.v, a, s.tau, prescribed=["arm", "right_shin"])
    near(hybrid_a, a, 1e-12)
    near(s.tau[:, joints] + force, hybrid_tau[:, joints], 1e-11)


def test_a_batch_with_singular_samples() -> None:
    """Two arms in line lose a row: these samples are solved by singular values, the others are not disturbed."""
    import fourbar as fb
    from fourbar.joints import Revolute

    b = fb.Builder("arm")
    for i, parent in enumerate(("world", "link0", "link1")):
        place = (0, 0, 0) if i == 0 else (1, 0, 0)
        b.body(
            f"link{i}",
            parent=parent,
            joint=Revolute("z"),
            position=place,
            mass=1.0,
            com=(0.5, 0, 0),
            inertia=(0, 0.1, 0.1),
        )
    b.frame("tip", "link2", position=(1, 0, 0))
    robot = b.build()
    c = robot.constrained(Contact("tip", "point"))
    q = np.array([[0.3, 0.5, 0.7], [0.3, 0.0, 0.0], [0.1, np.pi, 0.0], [0.4, 1e-9, 0.0], [0.1, 0.2, 0.3]])
    tau = np.random.default_rng(0).normal(size=(5, 3))
    v = np.zeros((5, 3))
    assert c.rank(q).tolist() == [2, 1, 1, 1, 2] or c.rank(q).tolist() == [2, 1, 1, 2, 2]
    a, force = c.forward_dynamics(q, v, tau)
    for i in (0, 1, 2, 4):
        M, f = robot.mass_matrix(q[i]), tau[i] - robot.bias_force(q[i], v[i])
        expected = exact(M, f, c.jacobian(q[i]), np.zeros(3))
        near(a[i][None], expected[0][None], 1e-12)
        near(force[i][None], expected[1][None], 1e-11)
        single = c.forward_dynamics(q[i], v[i], tau[i])
        near(single[0][None], a[i][None], 1e-13)
    assert np.all(np.isfinite(a)) and np.abs(c.acceleration(q, v, a)).max() < 1e-6


def test_contradictions_are_refused() -> None:
    robot, s = walker(), state("weld")
    twice = robot.constrained(Prescribed(["arm"]), Prescribed(["arm", "slide"]))
    wanted = np.array([1.0, 1.0, 0.5])
    a, force = twice.forward_dynamics(s.q, s.v, s.tau, row_acceleration=wanted)
    assert np.all(np.isfinite(a))
    near(force[:, 0], force[:, 1], 1e-12)  # the least forces share the load
    wanted[1] = 2.0
    with pytest.raises(SingularError, match="contradict each other"):
        twice.forward_dynamics(s.q[0], s.v[0], s.tau[0], row_acceleration=wanted)
    mixed = np.stack([np.array([1.0, 1.0, 0.5]), wanted])
    with pytest.warns(RuntimeWarning, match="contradict"):
        a, force = twice.forward_dynamics(s.q[0], s.v[0], s.tau[0], row_acceleration=mixed)
    assert np.all(np.isfinite(a[0])) and np.all(np.isnan(a[1])) and np.all(np.isnan(force[1]))


def test_nan_stays_in_its_sample() -> None:
    c, s = held("weld"), state("weld")
    tau = s.tau.copy()
    tau[1, 3] = np.nan
    a, force = c.forward_dynamics(s.q, s.v, tau)
    assert np.all(np.isnan(a[1, :6])) and np.all(np.isnan(force[1]))
    clean = c.forward_dynamics(s.q, s.v, s.tau)
    assert np.array_equal(np.delete(a, 1, 0), np.delete(clean[0], 1, 0))
    assert np.array_equal(np.delete(force, 1, 0), np.delete(clean[1], 1, 0))


def test_stabilisation_pulls_back() -> None:
    robot, s = walker(), state("loops")
    c = robot.constrained(*CASES["loops"], stabilize=(25.0, 10.0))
    rng = np.random.default_rng(3)
    q = robot.integrate(s.q, 1e-3 * rng.normal(size=s.v.shape), 1.0)
    v = s.v + 1e-3 * rng.normal(size=s.v.shape)
    a, _ = c.forward_dynamics(q, v, s.tau)
    expected = -25.0 * c.residual(q) - 10.0 * c.rate(q, v)
    near(c.acceleration(q, v, a), expected, 1e-12, np.abs(a).max(axis=-1))


def test_projection() -> None:
    c, s, robot = held("loops"), state("loops"), walker()
    rng = np.random.default_rng(4)
    far = robot.integrate(s.q, 0.02 * rng.normal(size=s.v.shape), 1.0)
    q, v = c.project(far, s.v)
    assert np.abs(c.residual(q)).max() < 1e-11 and np.abs(c.rate(q, v)).max() < 1e-12
    assert np.abs(robot.difference(far, q)).max() < 0.2
    assert np.abs(c.residual(c.project(far[0]))).max() < 1e-11


def test_frames_on_rotors_turn_with_them() -> None:
    """Rotors are left unturned where no one looks at them; the inertia felt at their frames must not show it."""
    robot = walker()
    q = robot.random(0, 3)
    J = robot.jacobian(q, "rotor", expressed_in="frame")
    expected = J @ np.linalg.solve(robot.mass_matrix(q), transposed(J))
    near(robot.osim_inverse(q, frames=["rotor"], expressed_in="frame"), expected, 1e-11)
    c = robot.constrained(Contact("rotor", axes="frame"))
    near(c.osim_inverse(q), expected, 1e-11)


@pytest.mark.default_cases("closed")
@pytest.mark.parametrize("name", ["point", "closed"])
def test_derivatives(name: str) -> None:
    """Along a direction by differences, and backwards by the adjoint identity; redundant rows included."""
    robot, c, s = walker(), held(name), state(name)
    rng = np.random.default_rng(6)
    dq, dv, dtau = rng.normal(size=(3, len(s.q), robot.nv))
    A = c.jacobian(s.q)
    dq = dq - apply(np.linalg.pinv(A, rcond=1e-9), apply(A, dq))  # along the constraints, where their rank stays
    f = c.forward_dynamics
    found = f.jvp((s.q, s.v, s.tau), (dq, dv, dtau))
    if name == "point":
        for k in range(2):
            along = slope(lambda t, k=k: f(robot.integrate(s.q, dq, t), s.v + t * dv, s.tau + t * dtau)[k], 1e-3)
            near(found[k], along, 1e-9)
    weights = tuple(rng.normal(size=x.shape) for x in found)
    gradient = f.vjp((s.q, s.v, s.tau), weights)
    backward = sum((g * d).sum(-1) for g, d in zip(gradient, (dq, dv, dtau), strict=True))
    forward = sum((w * x).sum(-1) for w, x in zip(weights, found, strict=True))
    near(np.asarray(backward)[:, None], np.asarray(forward)[:, None], 1e-9)
