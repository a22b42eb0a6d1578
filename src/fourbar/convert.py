"""Conversions: rotations and their rates, Cartesian and generalized velocities and forces, maximal coordinates, peers.

Small pure functions over leading axes. NumPy only: no peer need be installed.
"""

from .interop import PEERS as PEERS
from .interop import StateMap as StateMap
from .interop import force_from_wrench as force_from_wrench
from .interop import point_velocity as point_velocity
from .interop import pose_from_quaternion as pose_from_quaternion
from .interop import quaternion_from_pose as quaternion_from_pose
from .interop import state_map as state_map
from .interop import swapped as swapped
from .interop import twist_from_world as twist_from_world
from .interop import twist_to_world as twist_to_world
from .interop import wrench_from_force as wrench_from_force
from .interop import wrench_from_world as wrench_from_world
from .interop import wrench_to_world as wrench_to_world
from .interop.maximal import Coordinates as Coordinates
from .interop.maximal import JointCoordinates as JointCoordinates
from .interop.maximal import MaximalState as MaximalState
from .interop.maximal import State as State
from .interop.maximal import coordinates_from_poses as coordinates_from_poses
from .interop.maximal import joint_coordinates as joint_coordinates
from .interop.maximal import maximal_from_state as maximal_from_state
from .interop.maximal import reduced_coordinates as reduced_coordinates
from .interop.maximal import state_from_maximal as state_from_maximal
from .interop.numbered_robot import reduced_velocities as reduced_velocities
from .interop.rotations import SEQUENCES as SEQUENCES
from .interop.rotations import euler_from_matrix as euler_from_matrix
from .interop.rotations import euler_from_quaternion as euler_from_quaternion
from .interop.rotations import euler_from_vector as euler_from_vector
from .interop.rotations import euler_rate_from_omega as euler_rate_from_omega
from .interop.rotations import is_gimbal_locked as is_gimbal_locked
from .interop.rotations import matrix_from_euler as matrix_from_euler
from .interop.rotations import matrix_from_quaternion as matrix_from_quaternion
from .interop.rotations import matrix_from_vector as matrix_from_vector
from .interop.rotations import matrix_rate_from_omega as matrix_rate_from_omega
from .interop.rotations import nearest_rotation as nearest_rotation
from .interop.rotations import omega_from_euler_rate as omega_from_euler_rate
from .interop.rotations import omega_from_matrix_rate as omega_from_matrix_rate
from .interop.rotations import omega_from_quaternion_rate as omega_from_quaternion_rate
from .interop.rotations import omega_from_vector_rate as omega_from_vector_rate
from .interop.rotations import quaternion_from_euler as quaternion_from_euler
from .interop.rotations import quaternion_from_matrix as quaternion_from_matrix
from .interop.rotations import quaternion_from_vector as quaternion_from_vector
from .interop.rotations import quaternion_rate_from_omega as quaternion_rate_from_omega
from .interop.rotations import vector_from_euler as vector_from_euler
from .interop.rotations import vector_from_matrix as vector_from_matrix
from .interop.rotations import vector_from_quaternion as vector_from_quaternion
from .interop.rotations import vector_rate_from_omega as vector_rate_from_omega
from .interop.rotations import wxyz_from_xyzw as wxyz_from_xyzw
from .interop.rotations import xyzw_from_wxyz as xyzw_from_wxyz
from .interop.velocities import ForcesAndTorques as ForcesAndTorques
from .interop.velocities import JointTorques as JointTorques
from .interop.velocities import JointVelocity as JointVelocity
from .interop.velocities import Velocities as Velocities
from .interop.velocities import body_torques_from_joint_torques as body_torques_from_joint_torques
from .interop.velocities import connectivity_matrix as connectivity_matrix
from .interop.velocities import forces_and_joint_torques_from_generalized as forces_and_joint_torques_from_generalized
from .interop.velocities import generalized_from_joint_torques as generalized_from_joint_torques
from .interop.velocities import joint_torques_from_body_torques as joint_torques_from_body_torques
from .interop.velocities import joint_torques_from_generalized as joint_torques_from_generalized
from .interop.velocities import joint_velocity as joint_velocity
from .interop.velocities import velocities_by_joint as velocities_by_joint
from .interop.velocities import velocities_by_least_squares as velocities_by_least_squares
from .interop.velocities import velocities_recursive as velocities_recursive
from .interop.velocities import wrenches_from_generalized as wrenches_from_generalized
from .lazy import lazy

lazy()
