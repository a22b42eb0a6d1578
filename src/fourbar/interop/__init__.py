"""States, twists and wrenches as other libraries store them. Formulas only: no such library need be installed."""

from ..lazy import lazy
from .joint_states import PEERS as PEERS
from .joint_states import Convention as Convention
from .joint_states import convention as convention
from .robot_states import PeerJoint as PeerJoint
from .robot_states import StateMap as StateMap
from .robot_states import state_map as state_map
from .twists import force_from_wrench as force_from_wrench
from .twists import point_velocity as point_velocity
from .twists import pose_from_quaternion as pose_from_quaternion
from .twists import quaternion_from_pose as quaternion_from_pose
from .twists import swapped as swapped
from .twists import twist_from_world as twist_from_world
from .twists import twist_to_world as twist_to_world
from .twists import wrench_from_force as wrench_from_force
from .twists import wrench_from_world as wrench_from_world
from .twists import wrench_to_world as wrench_to_world

lazy()
