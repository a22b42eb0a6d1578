"""The same numbers as Pinocchio on the robots of example-robot-data, fixed and floating, and on long chains."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fourbar import convert
from tests.algorithms.oracle import armature_force

from .comparison import each, near, states

pin = pytest.importorskip("pinocchio")
pytestmark = pytest.mark.peers

# File below the robots of example-robot-data, floating base, part of the names of joints to lock.
ROBOTS = {
    "panda": ("panda_description/urdf/panda.urdf", False, None),
    "ur5": ("ur_description/urdf/ur5_robot.urdf", False, None),
    "kinova": ("kinova_description/robots/kinova.urdf", False, None),
    "allegro": ("allegro_hand_description/urdf/allegro_right_hand.urdf", False, None),
    "baxter": ("baxter_description/urdf/baxter.urdf", False, None),
    "double_pendulum": ("double_pendulum_description/urdf/double_pendulum_continuous.urdf", False, None),
    "anymal_b": ("anymal_b_simple_description/robots/anymal.urdf", True, None),
    "anymal_c": ("anymal_c_simple_description/urdf/anymal.urdf", True, None),
    "go2": ("go2_description/urdf/go2.urdf", True, None),
    "hyq": ("hyq_description/robots/hyq_no_sensors.urdf", True, None),
    "solo12": ("solo_description/robots/solo12.urdf", True, None),
    "bolt": ("bolt_description/robots/bolt.urdf", True, None),
    "hector": ("hector_description/robots/quadrotor_base.urdf", True, None),
    "tiago": ("tiago_description/robots/tiago_no_hand.urdf", True, None),
    "icub": ("icub_description/robots/icub_reduced.urdf", True, None),
    "talos": ("talos_data/robots/talos_reduced.urdf", True, None),
    "romeo": ("romeo_description/urdf/romeo_small.urdf", True, None),
}
EACH = pytest.mark.parametrize("name", ROBOTS)
LARGE = ("icub", "romeo", "talos", "baxter")  # which compile for long
IN_DEPTH = pytest.mark.parametrize("name", [pytest.param("panda", marks=pytest.mark.quick), "anymal_b", "tiago"])
_made: dict[str, Any] = {}


@pytest.fixture
def peer(name: str, bench: Any) -> Any:
    """The robot in both libraries; one of each name serves all tests."""
    if not bench.robot_folder().is_dir():
        pytest.skip("example-robot-data is not installed")
    if name not in _made:
        from fourbar.bridges.pinocchio import Peer

        _made[name] = Peer(bench.load_urdf(*ROBOTS[name]), name)
    return _made[name]


# --- dynamics, every robot --------------------------------------------------------------------------------------------


@pytest.mark.default_cases("panda", "ur5", "allegro", "double_pendulum", "anymal_b", "tiago", "hector")
@EACH
def test_inverse_dynamics(peer: Any) -> None:
    s = states(peer)
    theirs = each(lambda *x: pin.rnea(peer.model, peer.data, *x), s.their_q, s.their_v, s.their_a)
    near(peer.robot.inverse_dynamics(s.q, s.v, s.a), peer.v_from_peer(theirs))


@pytest.mark.default_cases("panda", "ur5", "allegro", "double_pendulum", "anymal_b", "tiago", "hector")
@EACH
def test_forward_dynamics(peer: Any) -> None:
    """Their `aba`, not `abaInParallel`, which is less accurate (8e-14 on panda)."""
    s = states(peer)
    theirs = each(lambda *x: pin.aba(peer.model, peer.data, *x), s.their_q, s.their_v, s.their_tau)
    near(peer.robot.forward_dynamics(s.q, s.v, s.tau), peer.v_from_peer(theirs))


@pytest.mark.default_cases("panda", "ur5", "allegro", "double_pendulum", "anymal_b", "tiago", "hector")
@EACH
def test_mass_matrix(peer: Any) -> None:
    s = states(peer)
    near(peer.robot.mass_matrix(s.q), their_mass_matrix(peer, s.their_q))


@pytest.mark.default_cases("panda", "anymal_b", "tiago", "allegro")
@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.slow) if n in LARGE else n for n in ROBOTS])
def test_coriolis_matrix(peer: Any) -> None:
    """Both are those of the Christoffel symbols, so the matrices themselves agree, and Ṁ = C + Cᵀ."""
    s = states(peer)
    theirs = each(lambda *x: pin.computeCoriolisMatrix(peer.model, peer.data, *x), s.their_q, s.their_v)
    C = peer.matrix_from_peer(theirs)
    near(peer.robot.coriolis_matrix(s.q, s.v), C)
    rate = C + np.swapaxes(C, -1, -2)
    near(peer.robot.mass_matrix_rate(s.q, s.v) - rate + C, C)


def their_mass_matrix(peer: Any, their_q: np.ndarray) -> np.ndarray:
    return peer.matrix_from_peer(mirrored(each(lambda q: pin.crba(peer.model, peer.data, q), their_q)))


def mirrored(m: np.ndarray) -> np.ndarray:
    """Symmetric matrices from their upper triangles, which is all that Pinocchio promises to fill."""
    return np.triu(m) + np.swapaxes(np.triu(m, 1), -1, -2)


# --- everything, some robots ------------------------------------------------------------------------------------------


@IN_DEPTH
def test_inverse_mass_matrix(peer: Any) -> None:
    """Against the inverse of their mass matrix, and against their own M⁻¹.

    The latter works in world axes and loses digits where a light body is at the end: on tiago, whose last joint turns
    an inertia of 4e-6 kg m², it is off by 1.7e-11 from the inverse of their M, and ours by 2e-16.
    """
    s = states(peer)
    ours = peer.robot.inverse_mass_matrix(s.q)
    near(ours, np.linalg.inv(their_mass_matrix(peer, s.their_q)))
    theirs = mirrored(each(lambda q: pin.computeMinverse(peer.model, peer.data, q), s.their_q))
    near(ours, peer.matrix_from_peer(theirs), 1e-10 if peer.robot.name == "tiago" else 1e-13)


@IN_DEPTH
def test_bias_and_gravity(peer: Any) -> None:
    s = states(peer)
    bias = each(lambda *x: pin.nonLinearEffects(peer.model, peer.data, *x), s.their_q, s.their_v)
    near(peer.robot.bias_force(s.q, s.v), peer.v_from_peer(bias))
    gravity = each(lambda q: pin.computeGeneralizedGravity(peer.model, peer.data, q), s.their_q)
    near(peer.robot.gravity_force(s.q), peer.v_from_peer(gravity))


@IN_DEPTH
def test_external_forces(peer: Any) -> None:
    """Pinocchio takes one wrench a joint, [force; moment] in its frame: our bodies are these joints."""
    s = states(peer)
    f = np.random.default_rng(1).normal(size=(len(s.q), len(peer.robot.names.bodies), 6))

    def theirs(algorithm: Any, *x: np.ndarray) -> np.ndarray:
        *state, wrenches = x
        return algorithm(peer.model, peer.data, *state, [pin.Force(w) for w in wrenches])

    given = peer.wrenches_to_peer(f)
    near(peer.wrenches_from_peer(given), f, 0.0)
    tau = each(lambda *x: theirs(pin.rnea, *x), s.their_q, s.their_v, s.their_a, given)
    near(peer.robot.inverse_dynamics(s.q, s.v, s.a, f_ext=f), peer.v_from_peer(tau))
    a = each(lambda *x: theirs(pin.aba, *x), s.their_q, s.their_v, s.their_tau, given)
    near(peer.robot.forward_dynamics(s.q, s.v, s.tau, f_ext=f), peer.v_from_peer(a))


@IN_DEPTH
def test_energies(peer: Any) -> None:
    s = states(peer)
    kinetic = each(lambda *x: pin.computeKineticEnergy(peer.model, peer.data, *x), s.their_q, s.their_v)
    near(peer.robot.kinetic_energy(s.q, s.v), kinetic)
    potential = each(lambda q: pin.computePotentialEnergy(peer.model, peer.data, q), s.their_q)
    near(peer.robot.potential_energy(s.q), potential)


@IN_DEPTH
def test_centre_of_mass(peer: Any) -> None:
    s = states(peer)
    near(peer.robot.center_of_mass(s.q), each(lambda q: pin.centerOfMass(peer.model, peer.data, q), s.their_q))
    J = each(lambda q: pin.jacobianCenterOfMass(peer.model, peer.data, q), s.their_q)
    near(peer.robot.center_of_mass_jacobian(s.q), peer.columns_from_peer(J))


@IN_DEPTH
def test_centroidal_momentum(peer: Any) -> None:
    s = states(peer)

    def theirs(q: np.ndarray, v: np.ndarray) -> np.ndarray:
        pin.ccrba(peer.model, peer.data, q, v)
        return np.column_stack([peer.data.Ag, peer.data.hg.vector])

    both = each(theirs, s.their_q, s.their_v)
    near(peer.robot.centroidal_matrix(s.q), peer.jacobian_from_peer(both[..., :-1]))
    near(peer.robot.momentum(s.q, s.v), peer.momentum_from_peer(both[..., -1]))


@IN_DEPTH
def test_integrate_and_difference(peer: Any) -> None:
    s = states(peer)
    ours = peer.robot.integrate(s.q, s.v, 1.0)
    theirs = each(lambda *x: pin.integrate(peer.model, *x), s.their_q, s.their_v)
    near(each(lambda *x: pin.difference(peer.model, *x), theirs, peer.q_to_peer(ours)), np.zeros_like(s.v), 1e-13)
    back = each(lambda *x: pin.difference(peer.model, *x), s.their_q, s.their_q[::-1])
    wrapped = peer.robot.difference(s.q, s.q[::-1])
    near(peer.robot.poses(peer.robot.integrate(s.q, peer.v_from_peer(back), 1.0)), peer.robot.poses(s.q[::-1]))
    near(peer.robot.poses(peer.robot.integrate(s.q, wrapped, 1.0)), peer.robot.poses(s.q[::-1]))


# --- frames -----------------------------------------------------------------------------------------------------------

CHOICES = {
    "LOCAL": {"at": "origin", "expressed_in": "frame"},
    "WORLD": {"at": "world", "expressed_in": "world"},
    "LOCAL_WORLD_ALIGNED": {"at": "origin", "expressed_in": "world"},
}


def last_frame(peer: Any) -> tuple[str, int]:
    """A frame far from the root, not at a joint."""
    frames = [f for f in peer.robot.names.frames if peer.model.frames[peer.model.getFrameId(f)].parentJoint > 0]
    name = max(frames, key=lambda f: len(peer.model.supports[peer.model.frames[peer.model.getFrameId(f)].parentJoint]))
    return name, peer.model.getFrameId(name)


@IN_DEPTH
def test_poses(peer: Any) -> None:
    """Every body (their joints), and a frame."""
    s = states(peer)
    frame, number = last_frame(peer)

    def theirs(q: np.ndarray) -> np.ndarray:
        pin.framesForwardKinematics(peer.model, peer.data, q)
        return np.array([T.homogeneous for T in (*list(peer.data.oMi)[1:], peer.data.oMf[number])])

    expected = each(theirs, s.their_q)
    near(peer.robot.poses(s.q), expected[:, :-1])
    near(peer.robot.pose(s.q, frame), expected[:, -1])


@pytest.mark.every_mechanism
@IN_DEPTH
@pytest.mark.parametrize("reference", CHOICES)
def test_jacobian(peer: Any, reference: str) -> None:
    s = states(peer)
    frame, number = last_frame(peer)
    kind = getattr(pin.ReferenceFrame, reference)
    theirs = each(lambda q: pin.computeFrameJacobian(peer.model, peer.data, q, number, kind), s.their_q)
    near(peer.robot.jacobian(s.q, frame, **CHOICES[reference]), peer.jacobian_from_peer(theirs))


@IN_DEPTH
@pytest.mark.parametrize("reference", CHOICES)
def test_velocity_and_acceleration(peer: Any, reference: str) -> None:
    """Rates of our components: spatial acceleration LOCAL and WORLD, but the classical one of a point in world axes."""
    s = states(peer)
    frame, number = last_frame(peer)
    kind = getattr(pin.ReferenceFrame, reference)
    classical = reference == "LOCAL_WORLD_ALIGNED"
    accelerate = pin.getFrameClassicalAcceleration if classical else pin.getFrameAcceleration

    def theirs(q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
        pin.forwardKinematics(peer.model, peer.data, q, v, a)
        velocity = pin.getFrameVelocity(peer.model, peer.data, number, kind)
        acceleration = accelerate(peer.model, peer.data, number, kind)
        return np.array([x for m in (velocity, acceleration) for x in (*m.angular, *m.linear)])

    expected = each(theirs, s.their_q, s.their_v, s.their_a)
    near(peer.robot.velocity(s.q, s.v, frame, **CHOICES[reference]), expected[:, :6])
    near(peer.robot.acceleration(s.q, s.v, s.a, frame, **CHOICES[reference]), expected[:, 6:])
    drift = each(theirs, s.their_q, s.their_v, 0.0 * s.their_a)[:, 6:]
    near(peer.robot.jacobian_rate(s.q, s.v, frame, **CHOICES[reference]), drift)


@IN_DEPTH
def test_classical_acceleration_in_local_axes(peer: Any) -> None:
    """The one of Pinocchio's accelerations that is no rate of components: ours in world axes, turned by hand."""
    s = states(peer)
    frame, number = last_frame(peer)

    def theirs(q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
        pin.forwardKinematics(peer.model, peer.data, q, v, a)
        return pin.getFrameClassicalAcceleration(peer.model, peer.data, number, pin.ReferenceFrame.LOCAL).linear

    R = peer.robot.pose(s.q, frame)[:, :3, :3]
    ours = np.einsum("bij,bi->bj", R, peer.robot.acceleration(s.q, s.v, s.a, frame)[:, 3:])
    near(ours, each(theirs, s.their_q, s.their_v, s.their_a))


# --- other joints, armature, long chains ------------------------------------------------------------------------------


def composite() -> Any:
    """A joint of several parts: a quaternion, a slide and an unbounded hinge."""
    joint = pin.JointModelComposite(pin.JointModelSpherical(), pin.SE3.Random())
    joint.addJoint(pin.JointModelPX(), pin.SE3.Random())
    joint.addJoint(pin.JointModelRUBZ(), pin.SE3.Random())
    return joint


def odd_model() -> Any:
    """Every joint that the bridge translates, with random placements and armatures."""
    rng = np.random.default_rng(2)
    model = pin.Model()
    axis = np.array([2.0, -3.0, 6.0]) / 7.0
    kinds = [
        pin.JointModelFreeFlyer(), pin.JointModelSpherical(), pin.JointModelPlanar(), pin.JointModelTranslation(),
        pin.JointModelRX(), pin.JointModelRY(), pin.JointModelRZ(), pin.JointModelPX(), pin.JointModelPY(),
        pin.JointModelPZ(), pin.JointModelRUBX(), pin.JointModelRUBY(), pin.JointModelRUBZ(),
        pin.JointModelRevoluteUnaligned(axis), pin.JointModelPrismaticUnaligned(axis), pin.JointModelSphericalZYX(),
        pin.JointModelUniversal(np.array([1.0, 0.0, 0.0]), np.array([0.0, 0.6, 0.8])), pin.JointModelHX(0.3),
        pin.JointModelHelicalUnaligned(axis, -0.2), composite(),
    ]  # fmt: skip
    parents = [0]
    for i, kind in enumerate(kinds):
        joint = model.addJoint(int(rng.choice(parents[-3:])), kind, pin.SE3.Random(), f"joint{i}")
        model.appendBodyToJoint(joint, pin.Inertia.Random(), pin.SE3.Random())
        model.addFrame(pin.Frame(f"tip{i}", joint, 0, pin.SE3.Random(), pin.FrameType.OP_FRAME))
        parents.append(joint)
    model.armature = rng.uniform(0.0, 0.5, model.nv)
    return model


@pytest.mark.quick
def test_every_joint_of_the_bridge() -> None:
    """With armature, which Pinocchio adds to the diagonal of M, but whose momentum it does not turn with the joint."""
    from fourbar.bridges.pinocchio import Peer

    pin.seed(3)
    peer = Peer(odd_model(), "odd")
    s = states(peer)
    turning = armature_force([(c.joint, c.armature) for c in peer.robot.mechanism.joints], s.v)
    assert np.abs(turning).max() > 0.01
    tau = each(lambda *x: pin.rnea(peer.model, peer.data, *x), s.their_q, s.their_v, s.their_a)
    near(peer.robot.inverse_dynamics(s.q, s.v, s.a), peer.v_from_peer(tau) + turning)
    a = each(lambda *x: pin.aba(peer.model, peer.data, *x), s.their_q, s.their_v, s.their_tau)
    near(peer.robot.forward_dynamics(s.q, s.v, s.tau + turning), peer.v_from_peer(a))
    J = each(lambda q: pin.computeFrameJacobian(peer.model, peer.data, q, peer.model.getFrameId("tip14")), s.their_q)
    ours = peer.robot.jacobian(s.q, "tip14", expressed_in="frame")
    near(ours, peer.jacobian_from_peer(J))
    near(peer.jacobian_to_peer(ours), J)
    near(peer.robot.poses(peer.q_from_peer(s.their_q)), peer.robot.poses(s.q), 1e-14)
    near(peer.v_from_peer(peer.v_to_peer(s.v)), s.v, 0.0)


def test_the_map_without_pinocchio_is_the_same() -> None:
    """Given which hinges are unbounded; joints with unbounded hinges inside have no variant of their own."""
    from fourbar.bridges.pinocchio import Peer

    pin.seed(3)
    model = pin.Model()
    kinds = [pin.JointModelFreeFlyer(), pin.JointModelRUBY(), pin.JointModelSpherical(), pin.JointModelPlanar()]
    for i, kind in enumerate([*kinds, pin.JointModelRX(), pin.JointModelUniversal(np.eye(3)[0], np.eye(3)[1])]):
        joint = model.addJoint(i, kind, pin.SE3.Random(), f"joint{i}")
        model.appendBodyToJoint(joint, pin.Inertia.Random(), pin.SE3.Random())
    peer = Peer(model)
    s = states(peer)
    alone = convert.state_map(peer.robot, "pinocchio", variants={"joint1": "unbounded"})
    assert np.array_equal(alone.q_to_peer(s.q), s.their_q)
    assert np.array_equal(alone.v_to_peer(s.v), s.their_v)
    assert np.array_equal(alone.a_to_peer(s.a), s.their_a)


@pytest.mark.parametrize("n, tol", [(64, 1e-12), pytest.param(256, 1e-11, marks=pytest.mark.slow)])
def test_long_chain(n: int, tol: float, bench: Any) -> None:
    peer = bench.chain(n)
    s = states(peer, n=2)
    tau = each(lambda *x: pin.rnea(peer.model, peer.data, *x), s.their_q, s.their_v, s.their_a)
    near(peer.robot.inverse_dynamics(s.q, s.v, s.a), tau, tol)
    a = each(lambda *x: pin.aba(peer.model, peer.data, *x), s.their_q, s.their_v, s.their_tau)
    near(peer.robot.forward_dynamics(s.q, s.v, s.tau), a, tol)
