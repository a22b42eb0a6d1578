"""States, twists and wrenches as other libraries store them. Formulas only: no such library need be installed."""

from .conventions import PEERS, convention
from .joint_states import Convention
from .robot_states import PeerJoint, StateMap, state_map
from .twists import (
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

__all__ = [
    "PEERS", "Convention", "PeerJoint", "StateMap", "convention", "force_from_wrench", "point_velocity",
    "pose_from_quaternion", "quaternion_from_pose", "state_map", "swapped", "twist_from_world", "twist_to_world",
    "wrench_from_force", "wrench_from_world", "wrench_to_world",
]  # fmt: skip
