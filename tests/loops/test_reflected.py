"""The approximation of geared motors by armatures: what it gets right, and what it leaves out."""

from __future__ import annotations

import numpy as np
import pytest

from fourbar import Builder, ModelError, System, baselines
from fourbar.joints import Revolute

from .looped import mechanism, near, shaped, state

ROTOR = (1e-4, 2e-4, 1e-4)


def _arm(carried: bool, symmetric: bool = True) -> System:
    """Two links with geared motors: on the ground, or the second on the first link."""
    b = Builder("arm")
    shaped(b, "upper", 1, joint=Revolute("y"))
    shaped(b, "lower", 2, parent="upper", joint=Revolute("x"), position=(0, 0, -0.4))
    inertia = ROTOR if symmetric else (1e-4, 2e-4, 1.5e-4)
    b.rotor("motor1", drives="upper", ratio=10.0, axis="y", mass=0.1, inertia=inertia)
    home = {"parent": "upper"} if carried else {}
    b.rotor("motor2", drives="lower", ratio=-20.0, axis="y", position=(0.1, 0, 0), mass=0.1, inertia=inertia, **home)
    return b.build()


def test_reflected_inertia_is_ratio_squared_times_inertia() -> None:
    near(baselines.reflected_inertia(_arm(carried=True)), np.diag([100 * 2e-4, 400 * 2e-4]), 1e-14)


def test_exact_for_rotors_on_the_ground() -> None:
    robot = _arm(carried=False)
    rough = baselines.reflected_robot(robot)
    rng = np.random.default_rng(0)
    q, v, tau = rng.normal(size=(3, 5, 2))
    assert rough.names.velocities == robot.names.velocities == ("upper", "lower")
    near(rough.mass_matrix(q), robot.mass_matrix(q), 1e-14)
    near(rough.forward_dynamics(q, v, tau), robot.forward_dynamics(q, v, tau), 1e-13)
    near(rough.potential_energy(q), robot.potential_energy(q), 1e-12)


def test_only_coupling_is_lost_for_rotors_on_links() -> None:
    """The rotor on the first link, parallel to its axis, couples both joints: M differs by N I off its diagonal."""
    robot = _arm(carried=True)
    rough = baselines.reflected_robot(robot)
    q = np.random.default_rng(0).normal(size=(5, 2))
    lost = robot.mass_matrix(q) - rough.mass_matrix(q)
    near(lost, np.broadcast_to([[0.0, -20 * 2e-4], [-20 * 2e-4, 0.0]], lost.shape), 1e-12)


def test_four_bar_is_fixed_at_the_reference() -> None:
    """Dependent bars become part of the crank or of the ground, where they are at the given configuration."""
    robot, q = mechanism("four_bar"), state("four_bar").q[0]
    rough = baselines.reflected_robot(robot, q)
    assert rough.nv == 1 and rough.names.velocities == ("crank",)
    near(rough.poses(q[:1])[None], robot.poses(q)[None], 1e-13)
    K = baselines.reflected_inertia(robot, q)
    G = robot.loop_map(q)[1:, 0]
    own = np.array([bar.inertia[2][2] + bar.mass * bar.com[0] ** 2 for bar in robot.mechanism.bodies[1:]])
    assert K.item() == pytest.approx(own @ G**2, rel=1e-13)


def test_a_joint_independent_in_part_is_refused() -> None:
    with pytest.raises(ModelError, match="joint 'link' is only partly independent"):
        baselines.reflected_robot(mechanism("spatial_crank"))
