"""Regressors times parameters are the forces, momenta and energies of the other algorithms, column by column too."""

from __future__ import annotations

import numpy as np
import pytest

import fourbar as fb
from fourbar.mechanism.inertial_parameters import KINDS, OF_JOINTS, RIGID
from tests.algorithms.mechanisms import near
from tests.algorithms.oracle import armature_force

from .robots import EACH, FEW, robot_and_state


@EACH
def test_forces(name: str) -> None:
    """τ = Y φ, against inverse dynamics, which runs on other sweeps and on a regrouped tree."""
    robot, s = robot_and_state(name)
    tau = robot.inverse_dynamics(s.q, s.v, s.a)
    Y = robot.regressor(s.q, s.v, s.a)
    assert Y.shape == (len(s.q), robot.nv, len(robot.names.parameters))
    near(Y @ robot.inertial_parameters(), tau, 1e-13)


@pytest.mark.slow_cases("tree1")
@EACH
def test_momentum_and_energy(name: str) -> None:
    robot, s = robot_and_state(name)
    phi = robot.inertial_parameters()
    near(robot.momentum_regressor(s.q, s.v) @ phi, (robot.mass_matrix(s.q) @ s.v[..., None])[..., 0], 1e-13)
    near(robot.kinetic_energy_regressor(s.q, s.v) @ phi, robot.kinetic_energy(s.q, s.v), 1e-13)
    near(robot.potential_energy_regressor(s.q) @ phi, robot.potential_energy(s.q), 1e-13)


@FEW
def test_other_parameters(name: str) -> None:
    """The columns are right one by one: they know nothing of φ, and give the forces of any other robot of the kind."""
    robot, s = robot_and_state(name)
    rng = np.random.default_rng(5)
    phi = robot.inertial_parameters()
    for ten in phi[: 10 * len(robot.names.bodies)].reshape(-1, 10):
        points, masses = 0.3 * rng.normal(size=(5, 3)), rng.uniform(0.1, 1.0, 5)
        sigma = points.T @ (masses[:, None] * points)
        J = np.trace(sigma) * np.eye(3) - sigma
        ten[:] = [masses.sum(), *(masses @ points), *J[np.triu_indices(3)]]
    phi[10 * len(robot.names.bodies) :] = rng.uniform(0.0, 1.0, robot.spanning().nv)
    other = robot.with_inertial_parameters(phi)
    near(robot.regressor(s.q, s.v, s.a) @ phi, other.inverse_dynamics(s.q, s.v, s.a), 1e-13)


def test_columns_are_forces_of_unit_parameters() -> None:
    """A column is what inverse dynamics gains by a unit of that parameter."""
    b = fb.Builder("scara")
    b.body("arm", joint=fb.joints.Revolute((0.6, 0.0, 0.8)), mass=9.0, inertia=(3.0, 3.0, 3.0))
    b.body(
        "quill", parent="arm", joint=fb.joints.Cylindrical("x"), position=(0.3, 0.2, 0.1), mass=9.0, inertia=(3, 3, 3)
    )
    robot = b.build()
    rng = np.random.default_rng(0)
    q, v, a = rng.normal(size=(3, 1, robot.nv))
    Y, phi = robot.regressor(q, v, a), robot.inertial_parameters()
    tau = robot.inverse_dynamics(q, v, a)
    for column, unit in enumerate(np.eye(len(phi))):
        more = robot.with_inertial_parameters(phi + 0.5 * unit)
        near(0.5 * Y[..., column], more.inverse_dynamics(q, v, a) - tau, 1e-13, np.abs(tau).max())


@FEW
def test_columns_of_joints(name: str) -> None:
    """Friction, springs and armatures act on the joints of the spanning tree: Gᵀ of the force of a unit of each."""
    robot, s = robot_and_state(name)
    columns = ("damping", "friction", "preload", "armature")
    Y = robot.regressor(s.q, s.v, s.a, columns=columns)
    G = robot.loop_map(s.q)
    v, a = robot.expand_velocity(s.q, s.v), robot.expand_acceleration(s.q, s.v, s.a)
    joints = [link.joint for link in robot.model.cluster_tree.spanning_tree.links]
    turning = np.zeros((*v.shape, v.shape[-1]))
    for k in range(v.shape[-1]):
        unit = iter(np.eye(v.shape[-1])[k])
        turning[..., k] = armature_force([(joint, [next(unit) for _ in range(joint.nv)]) for joint in joints], v)
    GT = G.swapaxes(-1, -2)
    expected = [GT * x[..., None, :] for x in (a, v, np.sign(v), np.ones_like(v))]
    expected[0] = expected[0] + GT @ turning
    near(Y, np.concatenate(expected, axis=-1), 1e-13)
    kinds = [name.rsplit(".", 1)[1] for name in robot.parameter_names(columns)]
    assert list(dict.fromkeys(kinds)) == [kind for kind in OF_JOINTS if kind != "stiffness"]


@FEW
def test_springs_are_those_of_the_robot(name: str) -> None:
    """Also where the coordinates of a joint do not add up, and each of its velocities has another stiffness."""
    robot, s = robot_and_state(name)
    Y = robot.regressor(s.q, s.v, s.a, columns="stiffness")
    rate = robot.momentum_rate_regressor(s.q, s.v, columns="stiffness")
    k = np.random.default_rng(1).uniform(0.5, 9.0, Y.shape[-1])
    force = robot.with_inertial_parameters(k, "stiffness").passive_forces(s.q, np.zeros_like(s.v))
    near(Y @ k, -force, 1e-12)
    near(rate @ k, force, 1e-12)


@FEW
def test_packed(name: str) -> None:
    robot, s = robot_and_state(name)
    for columns in (RIGID, KINDS):
        dense = robot.regressor(s.q, s.v, s.a, columns=columns)
        packed = robot.regressor(s.q, s.v, s.a, columns=columns, packed=True)
        rows, places = robot.regressor_pattern(columns)
        unpacked = np.zeros_like(dense)
        unpacked[..., rows, places] = packed
        assert packed.shape[-1] < dense[0].size
        assert np.array_equal(unpacked, dense)


def test_long_chain() -> None:
    """The layout with shared steps."""
    robot = fb.robots.gt_chain(20)
    rng = np.random.default_rng(0)
    q, (v, a) = robot.random(rng, 4), rng.normal(size=(2, 4, robot.nv))
    near(robot.regressor(q, v, a) @ robot.inertial_parameters(), robot.inverse_dynamics(q, v, a), 1e-13)


def test_bodies_that_do_not_move_have_no_columns() -> None:
    b = fb.Builder("arm")
    b.body("pedestal", mass=3.0, inertia=(1.0, 1.0, 1.0))
    b.body("arm", parent="pedestal", joint=fb.joints.Revolute("y"), mass=1.0, com=(0.2, 0, 0))
    b.body("tool", parent="arm", position=(0.5, 0.1, 0), rpy=(0.3, 0.2, 0.1), mass=0.5, inertia=(0.1, 0.1, 0.1))
    robot = b.build()
    Y = robot.regressor([0.3], [1.0], [2.0])
    assert np.all(Y[:, :10] == 0.0) and np.all(robot.potential_energy_regressor([0.3])[:10] == 0.0)
    near((Y @ robot.inertial_parameters())[None], robot.inverse_dynamics([[0.3]], [[1.0]], [[2.0]]), 1e-14)
    assert robot.names.parameters[:3] == ("pedestal.m", "pedestal.mx", "pedestal.my")
    assert robot.names.parameters[-1] == "arm.armature"


def test_a_joint_at_rest_has_no_coulomb_friction() -> None:
    robot = fb.robots.double_pendulum()
    Y = robot.regressor([0.1, 0.2], [0.0, -2.0], [1.0, 1.0], columns="friction")
    assert np.array_equal(Y, np.diag([0.0, -1.0]))


def test_errors() -> None:
    robot = fb.robots.double_pendulum()
    with pytest.raises(fb.UnknownNameError, match=r"kind of parameter 'inertias'; did you mean 'inertia'"):
        robot.regressor([0, 0], [0, 0], [0, 0], columns=["inertias"])
    with pytest.raises(fb.ArgumentError, match=r"packed=1: expected True or False"):
        robot.regressor([0, 0], [0, 0], [0, 0], packed=1)
