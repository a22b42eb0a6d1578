"""Conversions: rotations and their rates, Cartesian and generalized velocities and forces, maximal coordinates, peers.

Small pure functions over leading axes. NumPy only: no peer need be installed.
"""

from .interop import (
    PEERS,
    StateMap,
    force_from_wrench,
    point_velocity,
    pose_from_quaternion,
    quaternion_from_pose,
    swapped,
    twist_from_world,
    twist_to_world,
    wrench_from_force,
    wrench_from_world,
    wrench_to_world,
)
from .interop.euler_angles import (
    SEQUENCES,
    euler_from_matrix,
    euler_from_quaternion,
    euler_from_vector,
    is_gimbal_locked,
    matrix_from_euler,
    quaternion_from_euler,
    vector_from_euler,
)
from .interop.generalized_forces import (
    ForcesAndTorques,
    JointTorques,
    body_torques_from_joint_torques,
    connectivity_matrix,
    forces_and_joint_torques_from_generalized,
    generalized_from_joint_torques,
    joint_torques_from_body_torques,
    joint_torques_from_generalized,
    wrenches_from_generalized,
)
from .interop.joint_coordinates import JointCoordinates, joint_coordinates
from .interop.maximal import (
    Coordinates,
    MaximalState,
    State,
    coordinates_from_poses,
    maximal_from_state,
    reduced_coordinates,
    state_from_maximal,
)
from .interop.numbered_robot import reduced_velocities
from .interop.peer_states import state_map
from .interop.rotation_rates import (
    euler_rate_from_omega,
    matrix_rate_from_omega,
    omega_from_euler_rate,
    omega_from_matrix_rate,
    omega_from_quaternion_rate,
    omega_from_vector_rate,
    quaternion_rate_from_omega,
    vector_rate_from_omega,
)
from .interop.rotations import (
    matrix_from_quaternion,
    matrix_from_vector,
    nearest_rotation,
    quaternion_from_matrix,
    quaternion_from_vector,
    vector_from_matrix,
    vector_from_quaternion,
    wxyz_from_xyzw,
    xyzw_from_wxyz,
)
from .interop.velocities import (
    JointVelocity,
    Velocities,
    joint_velocity,
    velocities_by_joint,
    velocities_by_least_squares,
    velocities_recursive,
)

__all__ = [
    "Coordinates", "ForcesAndTorques", "JointCoordinates", "JointTorques", "JointVelocity", "MaximalState", "PEERS",
    "SEQUENCES", "State", "StateMap", "Velocities", "body_torques_from_joint_torques", "connectivity_matrix",
    "coordinates_from_poses", "euler_from_matrix", "euler_from_quaternion", "euler_from_vector",
    "euler_rate_from_omega", "force_from_wrench", "forces_and_joint_torques_from_generalized",
    "generalized_from_joint_torques", "is_gimbal_locked", "joint_coordinates", "joint_torques_from_body_torques",
    "joint_torques_from_generalized", "joint_velocity", "matrix_from_euler", "matrix_from_quaternion",
    "matrix_from_vector", "matrix_rate_from_omega", "maximal_from_state", "nearest_rotation", "omega_from_euler_rate",
    "omega_from_matrix_rate", "omega_from_quaternion_rate", "omega_from_vector_rate", "point_velocity",
    "pose_from_quaternion", "quaternion_from_euler", "quaternion_from_matrix", "quaternion_from_pose",
    "quaternion_from_vector", "quaternion_rate_from_omega", "reduced_coordinates", "reduced_velocities",
    "state_from_maximal", "state_map", "swapped", "twist_from_world", "twist_to_world", "vector_from_euler",
    "vector_from_matrix", "vector_from_quaternion", "vector_rate_from_omega", "velocities_by_joint",
    "velocities_by_least_squares", "velocities_recursive", "wrench_from_force", "wrench_from_world", "wrench_to_world",
    "wrenches_from_generalized", "wxyz_from_xyzw", "xyzw_from_wxyz",
]  # fmt: skip
