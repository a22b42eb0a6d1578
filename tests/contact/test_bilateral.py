"""Scenes of robots whose constraints are enforced by forces: rows of the same problem as contacts."""

from __future__ import annotations

import numpy as np
import pytest

import fourbar as fb
from fourbar.contact import Shape
from fourbar.joints import Fixed, Prismatic, Revolute
from fourbar.loops import Closure, Gear
from tests.loops.looped import mechanism, spanning, state

FIXED_BASE = ("four_bar", "chained", "nested")


def leg(embedded: bool) -> fb.System | fb.Constrained:
    """A body that slides along z on a leg whose shin is moved by a parallelogram; a sphere for a foot."""
    b = fb.Builder("leg")
    b.body("body", joint=Prismatic("z"), mass=4.0)
    limb = {"mass": 0.4, "com": (0, 0, -0.15), "inertia": (3e-3, 3e-3, 1e-4)}
    b.body("thigh", parent="body", joint=Revolute("y"), damping=0.3, stiffness=40.0, rest=0.5, **limb)
    b.body("shin", parent="thigh", joint=Revolute("y"), position=(0, 0, -0.3), damping=0.3, **limb)
    b.body("crank", parent="body", joint=Revolute("y"), damping=0.1, **limb | {"com": (-0.05, 0, 0)})
    b.body("rod", parent="crank", joint=Revolute("y"), position=(-0.1, 0, 0), **limb)
    b.frame("foot", "shin", position=(0, 0, -0.3))
    loop = Closure(Revolute("y"), "rod", "shin", at_predecessor=(0, 0, -0.3), at_successor=(-0.1, 0, 0))
    if embedded:
        b.loop(loop, name="pin")
        return b.build()
    return b.build().constrained(loop, names=["pin"])


def floor(robot: object, **options: object) -> fb.Scene:
    return fb.Scene(robot, fb.Plane(friction=0.7), contacts=[Shape("foot", "sphere", 0.02)], **options)


def test_a_step_is_the_solution_of_the_equations_of_all_rows() -> None:
    """Against a dense solution of M Δv - Aᵀ λ = dt (τ - h) and A v⁺ + φ / dt = 0, for loops of several kinds."""
    dt = 1e-3
    for name in FIXED_BASE:
        robot, s = mechanism(name), state(name, n=3)
        free = spanning(robot)
        kept = free.constrained(*(named.loop for named in robot.mechanism.loops))
        q, v = robot.expand(s.q), robot.expand_velocity(s.q, s.v)
        tau = fb.baselines.spanning_forces(robot, s.tau)
        scene = fb.Scene(kept, limits=False, joint_friction=False)
        A, M = kept.jacobian(q), free.mass_matrix(q)
        h = free.inverse_dynamics(q, v, np.zeros_like(v))
        assert not any(any(x.damping) or any(x.stiffness) for x in free.mechanism.joints)  # nothing acts implicitly
        found = scene.step(q, v, tau, dt=dt)
        for k in range(len(q)):
            m = len(A[k])
            K = np.block([[M[k], -A[k].T], [A[k], np.zeros((m, m))]])
            right = np.concatenate([M[k] @ v[k] + dt * (tau[k] - h[k]), -kept.residual(q[k]) / dt])
            expected = np.linalg.lstsq(K, right, rcond=1e-12)[0][: free.nv]
            assert np.abs(found.v[k] - expected).max() < 1e-9 * max(1.0, np.abs(expected).max()), name


def test_on_the_floor_as_with_an_embedded_loop() -> None:
    """From a stance: no impact, whose step would depend on rounding. The rows of a parallelogram stay closed."""
    embedded, kept = leg(True), leg(False)
    q0 = embedded.assemble([0.02 + 0.6 * np.cos(0.4), 0.4, -0.8, -0.4, 0.8])
    full = embedded.expand(q0)
    for dt in (2e-3, 1e-3):
        one = floor(embedded).simulate(q0, duration=0.2, dt=dt)
        other = floor(kept).simulate(full, duration=0.2, dt=dt)
        assert one.converged.all() and other.converged.all()
        assert np.abs(kept.residual(other.q[-1])).max() < 1e-6 * dt
        apart, fold = np.abs(embedded.expand(one.q) - other.q).max(axis=-1), round(0.14 / dt)
        assert apart[:fold].max() < 1e-9
        assert np.allclose(other.contacts.force[:fold], one.contacts.force[:fold], rtol=1e-6)
        # at its fold, where links are in line, the embedded loop moves in parts of steps: apart by the order of a step
        assert apart.max() < 0.1 * dt


def test_forces_of_constraints_are_those_that_hold() -> None:
    """A ball on a weld: the forces along the rows are its weight."""
    b = fb.Builder("ball")
    b.body("ball", joint=fb.joints.Free(), mass=2.0, inertia=(0.01, 0.01, 0.01))
    kept = b.build().constrained(Closure(Fixed(), "world", "ball"))
    scene = fb.Scene(kept, fb.Plane(), contacts=[Shape("ball", "sphere", 0.1, position=(0, 0, 0.5))])
    run = scene.simulate(kept.project(kept.system.neutral()), duration=0.05)
    assert run.constraint_force is not None and run.constraint_force.shape == (26, 6)
    assert np.isclose(np.abs(run.constraint_force[-1]).max(), 2.0 * 9.81, rtol=1e-9)
    assert np.abs(run.q[-1] - run.q[0]).max() < 1e-12


def test_redundant_rows() -> None:
    """The same loop twice: the motion is that of one."""
    robot, s = mechanism("four_bar"), state("four_bar", n=2)
    loop = robot.mechanism.loops[0].loop
    q, v = robot.expand(s.q), robot.expand_velocity(s.q, s.v)
    once, twice = (fb.Scene(spanning(robot).constrained(*[loop] * n)) for n in (1, 2))
    a, b = (x.simulate(q, v, duration=0.05, dt=1e-3) for x in (once, twice))
    assert a.converged.all() and b.converged.all()
    assert np.abs(a.q - b.q).max() < 1e-8


def test_a_batch_has_the_same_bits_and_starts_on_its_constraints() -> None:
    kept = fb.robots.double_pendulum().constrained(Gear("shoulder", "elbow", -2.0))
    q = np.stack([kept.project([x, 0.1]) for x in (0.2, 0.5, 0.9)])
    scene = fb.Scene(kept)
    every = scene.rollout(q, dt=1e-3, steps=50)
    for k, own in enumerate(q):
        assert np.array_equal(scene.rollout(own, dt=1e-3, steps=50).q, every.q[:, k])
    worlds = scene.batch(3, dt=1e-3)
    worlds.reset(q=q)
    worlds.step(steps=50)
    assert np.array_equal(worlds.q, every.q[-1])
    with pytest.raises(fb.ArgumentError, match=r"is open by .*project"):
        scene.rollout([0.3, 0.3], dt=1e-3, steps=2)
    with pytest.raises(fb.ArgumentError, match="is open by"):
        worlds.reset([1], q=[0.3, 0.3])


def test_masses_that_differ_per_sample() -> None:
    robot = fb.robots.double_pendulum()
    gear = Gear("shoulder", "elbow", -2.0)
    name = next(x for x in robot.names.numbers if x.endswith(".mass"))
    q = robot.constrained(gear).project([0.4, 0.1])
    run = fb.Scene(robot.constrained(gear)).rollout(np.tile(q, (2, 1)), dt=1e-3, steps=100, numbers={name: [0.7, 2.5]})
    for k, mass in enumerate((0.7, 2.5)):
        changed = fb.Scene(
            robot.with_parameters(bodies={name.removesuffix(".mass"): {"mass": mass}}).constrained(gear)
        ).rollout(q, dt=1e-3, steps=100)
        assert np.abs(run.q[:, k] - changed.q).max() < 1e-11


def test_actuated_robots_have_motors_on_their_drives() -> None:
    linkage = fb.robots.five_bar()
    scene = fb.Scene(linkage.actuated(["left_crank", "right_crank"]))
    u = np.tile([0.3, -0.2], (200, 1))
    run = scene.rollout(linkage.neutral(), u=u, dt=5e-4)
    smooth = fb.rollout(linkage.actuated(["left_crank", "right_crank"]), linkage.neutral(), None, u, dt=5e-4)
    assert np.abs(run.q[-1] - smooth.q[-1]).max() < 2e-3


def test_mujocos_law_cannot_keep_constraints() -> None:
    kept = fb.robots.double_pendulum().constrained(Gear("shoulder", "elbow", -2.0))
    with pytest.raises(fb.ArgumentError, match="MuJoCo's law"):
        fb.Scene(kept, law=fb.contact.MuJoCo())


def test_many_rows_are_solved_link_by_link() -> None:
    """More than 40 rows: sweeps; a chain of balls that welds hold to the world stays where it is."""
    b = fb.Builder("chain")
    for k in range(3):
        b.body(f"b{k}", joint=fb.joints.Free(), mass=1.0, inertia=(0.1, 0.1, 0.1))
    robot = b.build()
    welds = [Closure(Fixed(), "world", f"b{k}") for k in range(3)]
    kept = robot.constrained(*welds)
    contacts = [Shape(f"b{k}", position=(x, y, 0.3)) for k in range(3) for x in (-1, 1) for y in (-1, 1)]
    scene = fb.Scene(kept, fb.Plane(), contacts=contacts, pairs="none")
    assert scene.n_impulses == 3 * 12 + 18
    run = scene.simulate(robot.neutral(), duration=0.02)
    assert run.converged.all() and np.abs(run.q[-1] - run.q[0]).max() < 1e-9
