"""The approximation of geared motors by armatures: what it gets right, and what it leaves out."""

from __future__ import annotations

import numpy as np
import pytest

from fourbar import ArgumentError, Builder, ModelError, System, baselines
from fourbar.joints import Revolute
from fourbar.loops import Differential

from .looped import bars, mechanism, near, shaped, state

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
    rough = baselines.reflected_robot(robot, dependent="fix")
    q = np.random.default_rng(0).normal(size=(5, 2))
    lost = robot.mass_matrix(q) - rough.mass_matrix(q)
    near(lost, np.broadcast_to([[0.0, -20 * 2e-4], [-20 * 2e-4, 0.0]], lost.shape), 1e-12)


def test_four_bar_is_fixed_at_the_reference() -> None:
    """Dependent bars become part of the crank or of the ground, where they are at the given configuration."""
    robot, q = mechanism("four_bar"), state("four_bar").q[0]
    rough = baselines.reflected_robot(robot, q, dependent="fix")
    assert rough.nv == 1 and rough.names.velocities == ("crank",)
    near(rough.poses(q[:1])[None], robot.poses(q)[None], 1e-13)
    K = baselines.reflected_inertia(robot, q)
    G = robot.loop_map(q)[1:, 0]
    own = np.array([bar.inertia[2][2] + bar.mass * bar.com[0] ** 2 for bar in robot.mechanism.bodies[1:]])
    assert K.item() == pytest.approx(own @ G**2, rel=1e-13)


def test_a_joint_independent_in_part_is_refused() -> None:
    with pytest.raises(ModelError, match="joint 'link' is only partly independent"):
        baselines.reflected_robot(mechanism("spatial_crank"))


def _belted(carrier: str = "world") -> System:
    """A knee and an ankle with two rotors on the thigh: the belt of the second runs past the knee."""
    b = Builder("belted")
    if carrier != "world":
        shaped(b, carrier, 5, joint=Revolute("x"))
    shaped(b, "knee", 1, parent=carrier, joint=Revolute("y"))
    shaped(b, "ankle", 2, parent="knee", joint=Revolute("y"), position=(0, 0, -0.4))
    for name in ("r1", "r2"):
        b.body(name, parent=carrier, joint=Revolute("y"), mass=0.1, inertia=ROTOR)
    b.body("disc", parent="r2", position=(0, 0.1, 0), mass=0.05, inertia=ROTOR)
    b.loop(
        Differential(["knee", "ankle"], ["r1", "r2"], [[12, 0], [12, 12]]), name="belts", independent=["knee", "ankle"]
    )
    return b.frame("on_rotor", "r1").frame("on_foot", "ankle").build()


def test_rotors_are_removed_and_their_block_is_kept() -> None:
    """On the ground nothing is lost: M and the forces are those of the exact robot."""
    robot = _belted()
    rough = baselines.reflected_robot(robot)
    assert rough.names.bodies == ("knee", "ankle") and [f.name for f in rough.mechanism.frames] == ["on_foot"]
    (block,) = rough.mechanism.armatures
    assert block.joints == ("knee", "ankle")
    J1, J2 = 2e-4, 4e-4  # r2 with its disc
    near(np.array(block.matrix), 144.0 * np.array([[J1 + J2, J2], [J2, J2]]), 1e-14)
    q, v, a = np.random.default_rng(0).normal(size=(3, 5, 2))
    near(rough.mass_matrix(q), robot.mass_matrix(q), 1e-13)
    near(rough.inverse_dynamics(q, v, a), robot.inverse_dynamics(q, v, a), 1e-12)
    near(rough.forward_dynamics(q, v, a), robot.forward_dynamics(q, v, a), 1e-12)


def test_choices_of_the_armature() -> None:
    robot = _belted("thigh")
    whole, diagonal, none = (baselines.reflected_robot(robot, armature=kind) for kind in ("block", "diagonal", "none"))
    q = np.random.default_rng(0).normal(size=3)
    H = baselines.reflected_inertia(robot)
    near(whole.mass_matrix(q) - none.mass_matrix(q), H, 1e-13)
    near(diagonal.mass_matrix(q) - none.mass_matrix(q), np.diag(np.diagonal(H)), 1e-13)
    assert not none.mechanism.armatures and not diagonal.mechanism.armatures
    fixed = baselines.reflected_robot(robot, dependent="fix")
    assert fixed.names.bodies == robot.names.bodies
    with pytest.raises(ArgumentError, match="armature='some': expected one of 'block', 'diagonal', 'none'"):
        baselines.reflected_robot(robot, armature="some")  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="dependent='keep': expected one of 'remove', 'fix'"):
        baselines.reflected_robot(robot, dependent="keep")  # type: ignore[arg-type]


def test_what_carries_an_independent_body_is_fixed() -> None:
    """A hand on the coupler of a four-bar keeps the coupler, not the rocker."""
    b = Builder("hand")
    b.loop(bars(b, "", (1.0, 0.4, 0.9, 0.7)), name="four_bar", independent=["crank"])
    shaped(b, "hand", 3, parent="coupler", joint=Revolute("x"))
    rough = baselines.reflected_robot(b.build())
    assert rough.names.bodies == ("crank", "coupler", "hand") and rough.names.velocities == ("crank", "hand")


def test_armature_that_is_there_already_is_kept() -> None:
    """A block of a robot without loops, and one that couples a rotor to a joint elsewhere."""
    b = Builder("arm")
    shaped(b, "upper", 1, joint=Revolute("y"), armature=0.01)
    shaped(b, "lower", 2, parent="upper", joint=Revolute("x"), position=(0, 0, -0.4))
    b.armature(["upper", "lower"], [[0.3, -0.1], [-0.1, 0.2]])
    tree = b.build()
    q = np.random.default_rng(0).normal(size=(3, 2))
    near(baselines.reflected_robot(tree).mass_matrix(q), tree.mass_matrix(q), 1e-14)
    assert not baselines.reflected_inertia(tree).any()
    b.rotor("motor", drives="lower", ratio=10.0, axis="y", inertia=ROTOR, mass=0.1)
    b.armature(["upper", "motor"], [[0.02, 0.001], [0.001, 1e-4]])
    robot = b.build()
    rough = baselines.reflected_robot(robot)
    order = [rough.names.velocities.index(name) for name in robot.names.velocities]
    near(rough.mass_matrix(q[:, np.argsort(order)])[:, order][:, :, order], robot.mass_matrix(q), 1e-13)
