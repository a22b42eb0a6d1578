"""The same numbers as Drake on random trees with every joint it has: dynamics, velocities, Jacobians, momentum."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

from fourbar import ArgumentError, ModelError, convert

from .comparison import each, near

tree = pytest.importorskip("pydrake.multibody.tree")
plant_module = pytest.importorskip("pydrake.multibody.plant")
math = pytest.importorskip("pydrake.math")
pytestmark = pytest.mark.peers
SEEDS = pytest.mark.parametrize("seed", [pytest.param(0, marks=pytest.mark.quick), 1])
SAMPLES = 4


def random_pose(rng: np.random.Generator) -> Any:
    return math.RigidTransform(math.RollPitchYaw(rng.normal(size=3)), 0.3 * rng.normal(size=3))


def random_inertia(rng: np.random.Generator) -> Any:
    L = 0.3 * rng.normal(size=(3, 3))
    J = np.trace(L @ L.T) * np.eye(3) - L @ L.T
    moments = tree.RotationalInertia(J[0, 0], J[1, 1], J[2, 2], J[0, 1], J[0, 2], J[1, 2])
    return tree.SpatialInertia.MakeFromCentralInertia(rng.uniform(0.5, 2), 0.1 * rng.normal(size=3), moments)


def every_joint(rng: np.random.Generator) -> list[Any]:
    """Makers of joints between two frames, one of every kind, in random order."""
    axis = np.array([2.0, -3.0, 6.0]) / 7.0
    made = [
        lambda *x: tree.QuaternionFloatingJoint(*x),
        lambda *x: tree.RpyFloatingJoint(*x),
        lambda *x: tree.BallRpyJoint(*x),
        lambda *x: tree.PlanarJoint(*x),
        lambda *x: tree.UniversalJoint(*x),
        lambda *x: tree.ScrewJoint(*x, axis, 0.4, 0.0),
        lambda *x: tree.RevoluteJoint(*x, axis),
        lambda *x: tree.PrismaticJoint(*x, axis),
        lambda *x: tree.WeldJoint(*x, random_pose(rng)),
    ]
    return [made[i] for i in rng.permutation(len(made))]


@cache
def peer_of(seed: int) -> Any:
    from fourbar.bridges.drake import Peer

    rng = np.random.default_rng(seed)
    plant = plant_module.MultibodyPlant(0.0)
    plant.mutable_gravity_field().set_gravity_vector([0.5, -1.0, -9.7])
    bodies = [plant.world_body()]
    for i, make in enumerate(every_joint(rng)):
        body = plant.AddRigidBody(f"body{i}", random_inertia(rng))
        carrier = bodies[int(rng.integers(max(0, len(bodies) - 3), len(bodies)))]
        ends = [
            plant.AddFrame(tree.FixedOffsetFrame(f"{side}{i}", on, random_pose(rng)))
            for side, on in (("parent", carrier), ("child", body))
        ]
        joint = plant.AddJoint(make(f"joint{i}", *ends))
        if joint.type_name() == "revolute":
            motor = plant.AddJointActuator("motor", joint)
            motor.set_default_rotor_inertia(2e-3)
            motor.set_default_gear_ratio(12.0)
        bodies.append(body)
    plant.AddRigidBody("loose", random_inertia(rng))  # Drake gives it a floating joint
    plant.Finalize()
    return Peer(plant)


def states(peer: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(9)
    q = peer.robot.random(rng, SAMPLES)
    v, a = rng.normal(size=(2, SAMPLES, peer.robot.nv))
    return q, v, a


def context_at(peer: Any, q: np.ndarray, v: np.ndarray) -> Any:
    """Drake's context at one of our states."""
    context = peer.model.CreateDefaultContext()
    peer.model.SetPositions(context, peer.q_to_peer(q))
    peer.model.SetVelocities(context, peer.v_to_peer(v, q))
    return context


@SEEDS
def test_dynamics(seed: int) -> None:
    peer = peer_of(seed)
    q, v, a = states(peer)

    def inverse(q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
        context, forces = context_at(peer, q, v), tree.MultibodyForces(peer.model)
        peer.model.CalcForceElementsContribution(context, forces)
        return peer.model.CalcInverseDynamics(context, peer.a_to_peer(a, q, v), forces)

    tau = each(inverse, q, v, a)
    near(peer.robot.inverse_dynamics(q, v, a), peer.force_from_peer(tau, q), 1e-12)
    near(peer.force_to_peer(peer.force_from_peer(tau, q), q), tau, 1e-14)
    M = each(lambda q, v: peer.model.CalcMassMatrix(context_at(peer, q, v)), q, v)
    near(peer.robot.mass_matrix(q), peer.matrix_from_peer(M, q), 1e-12)
    near(peer.states.matrix_to_peer(peer.robot.mass_matrix(q), q), M, 1e-12)


@SEEDS
def test_wrenches(seed: int) -> None:
    """Spatial forces on bodies in world axes at their origins."""
    peer = peer_of(seed)
    q, v, a = states(peer)
    f = np.random.default_rng(1).normal(size=(SAMPLES, len(peer.bodies), 6))
    world = peer.wrenches_to_peer(f, q)
    near(peer.wrenches_from_peer(world, q), f, 1e-14)

    def inverse(q: np.ndarray, v: np.ndarray, a: np.ndarray, wrenches: np.ndarray) -> np.ndarray:
        context, forces = context_at(peer, q, v), tree.MultibodyForces(peer.model)
        peer.model.CalcForceElementsContribution(context, forces)
        for body, F in zip(peer.bodies, wrenches, strict=True):
            force = tree_force(F)
            body.AddInForceInWorld(context, force, forces)
        return peer.model.CalcInverseDynamics(context, peer.a_to_peer(a, q, v), forces)

    tau = each(inverse, q, v, a, world)
    near(peer.robot.inverse_dynamics(q, v, a, f_ext=f), peer.force_from_peer(tau, q), 1e-12)


def tree_force(F: np.ndarray) -> Any:
    from pydrake.multibody.math import SpatialForce

    return SpatialForce(tau=F[:3], f=F[3:])


@SEEDS
def test_poses_and_velocities_of_bodies(seed: int) -> None:
    peer = peer_of(seed)
    q, v, _ = states(peer)

    def both(q: np.ndarray, v: np.ndarray) -> np.ndarray:
        context = context_at(peer, q, v)
        poses = [peer.model.EvalBodyPoseInWorld(context, b).GetAsMatrix4() for b in peer.bodies]
        moving = [peer.model.EvalBodySpatialVelocityInWorld(context, b) for b in peer.bodies]
        twists = [np.concatenate([V.rotational(), V.translational()]) for V in moving]
        return np.concatenate([np.array(poses).reshape(-1, 16), twists], axis=-1)

    theirs = each(both, q, v)
    poses = theirs[..., :16].reshape(SAMPLES, -1, 4, 4)
    near(peer.robot.poses(q), poses, 1e-13)
    near(convert.twist_to_world(peer.robot.twists(q, v), poses), theirs[..., 16:], 1e-13)


@SEEDS
def test_jacobian_and_momentum(seed: int) -> None:
    peer = peer_of(seed)
    q, v, _ = states(peer)
    world, point = peer.model.world_frame(), (0.3, -0.2, 0.1)
    body = peer.bodies[-1]

    def jacobian(q: np.ndarray, v: np.ndarray) -> np.ndarray:
        wrt = tree.JacobianWrtVariable.kV
        context = context_at(peer, q, v)
        return peer.model.CalcJacobianSpatialVelocity(context, wrt, body.body_frame(), point, world, world)

    J = each(jacobian, q, v)
    ours = peer.robot.jacobian(q, peer.robot.names.bodies[-1], at=point)
    near(ours, peer.jacobian_from_peer(J, q), 1e-13)
    near(peer.jacobian_to_peer(ours, q), J, 1e-13)

    def momentum(q: np.ndarray, v: np.ndarray) -> np.ndarray:
        context = context_at(peer, q, v)
        h = peer.model.CalcSpatialMomentumInWorldAboutPoint(context, peer.robot.center_of_mass(q))
        return np.concatenate([h.rotational(), h.translational()])

    near(peer.robot.momentum(q, v), peer.momentum_from_peer(each(momentum, q, v)), 1e-12)


@SEEDS
def test_states_come_back_and_rates_agree(seed: int) -> None:
    """There and back; their q̇ of their v is the rate of our q."""
    peer = peer_of(seed)
    q, v, a = states(peer)
    theirs = peer.q_to_peer(q)
    near(peer.robot.poses(peer.q_from_peer(theirs)), peer.robot.poses(q), 1e-14)
    near(peer.v_from_peer(peer.v_to_peer(v, q), q), v, 1e-14)
    near(peer.a_from_peer(peer.a_to_peer(a, q, v), q, v), a, 1e-14)

    def rate(q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return peer.model.MapVelocityToQDot(context_at(peer, q, v), peer.v_to_peer(v, q))

    h = 1e-6
    steps = [peer.q_to_peer(peer.robot.integrate(q, v, s * h)) for s in (1.0, -1.0)]
    near((steps[0] - steps[1]) / (2 * h), each(rate, q, v), 1e-7)


@SEEDS
def test_the_map_without_drake_is_the_same(seed: int) -> None:
    """Given the order of the joints, and which floating joint has angles."""
    peer = peer_of(seed)
    q, v, a = states(peer)
    moving = [b for b, c in zip(peer.bodies, peer.robot.mechanism.joints, strict=True) if c.joint.nv]
    names = [c.name for c in peer.robot.mechanism.joints if c.joint.nv]
    carrying = {int(j.child_body().index()): j for j in peer.joints}
    joints = [carrying[int(body.index())] for body in moving]
    order = [name for _, name in sorted(zip((j.velocity_start() for j in joints), names, strict=True))]
    variants = {n: "rpy" for j, n in zip(joints, names, strict=True) if j.type_name() == "rpy_floating"}
    assert len(variants) == 1
    alone = convert.state_map(peer.robot, "drake", order, variants)
    assert np.array_equal(alone.q_to_peer(q), peer.q_to_peer(q))
    assert np.array_equal(alone.v_to_peer(v, q), peer.v_to_peer(v, q))
    assert np.array_equal(alone.a_to_peer(a, q, v), peer.a_to_peer(a, q, v))


def test_errors() -> None:
    from fourbar.bridges.drake import Peer

    peer = peer_of(0)
    q, v, a = states(peer)
    with pytest.raises(ArgumentError, match=r"drake stores the velocities of joint .* in other axes.*give our q"):
        peer.v_to_peer(v)
    with pytest.raises(ArgumentError, match="depends on the velocity: give our v"):
        peer.a_to_peer(a, q)
    with pytest.raises(ModelError, match="not finalized"):
        Peer(plant_module.MultibodyPlant(0.0))


def two_links(reversed_joint: bool = False, **options: Any) -> Any:
    """Two bodies on hinges, with what `options` add before the plant is finalized."""
    plant = plant_module.MultibodyPlant(1e-3)
    first, second = (plant.AddRigidBody(n, random_inertia(np.random.default_rng(0))) for n in ("first", "second"))
    ends = (second, first) if reversed_joint else (first, second)
    hinges = [
        plant.AddJoint(tree.RevoluteJoint(name, a.body_frame(), b.body_frame(), [0, 0, 1], -2.0, 1.0, 0.3))
        for name, (a, b) in (("shoulder", (plant.world_body(), first)), ("elbow", ends))
    ]
    if "spring" in options:
        plant.AddForceElement(tree.RevoluteSpring(hinges[0], 0.3, 5.0))
    if "coupled" in options:
        plant.AddCouplerConstraint(hinges[0], hinges[1], 2.0)
    if "damped" in options:
        ball = plant.AddRigidBody("ball", random_inertia(np.random.default_rng(1)))
        plant.AddJoint(tree.BallRpyJoint("socket", first.body_frame(), ball.body_frame(), 0.2))
    plant.Finalize()
    return plant


@pytest.mark.parametrize(
    "options, message",
    [
        ({"reversed_joint": True}, "joint 'elbow' is reversed: its child is closer to the world.*exchange"),
        ({"spring": True}, "force elements other than gravity"),
        ({"coupled": True}, "has 1 constraints.*tree only"),
        ({"damped": True}, "joint 'socket' has damping in axes other"),
    ],
)
def test_what_is_not_translated_is_refused(options: dict[str, bool], message: str) -> None:
    from fourbar.bridges.drake import from_drake

    with pytest.raises(ModelError, match=message):
        from_drake(two_links(**options))


def test_damping_and_limits_are_kept() -> None:
    from fourbar.bridges.drake import from_drake

    connection = from_drake(two_links()).mechanism.joints[1]
    assert connection.damping == (0.3,)
    assert (connection.lower, connection.upper) == ((-2.0,), (1.0,))
