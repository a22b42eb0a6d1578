"""States, twists and wrenches as other libraries store them. Formulas only: no such library need be installed."""

from ..lazy import lazy
from .robot_states import PEERS as PEERS
from .robot_states import Convention as Convention
from .robot_states import PeerJoint as PeerJoint
from .robot_states import StateMap as StateMap
from .robot_states import convention as convention
from .robot_states import state_map as state_map
from .velocities import force_from_wrench as force_from_wrench
from .velocities import point_velocity as point_velocity
from .velocities import pose_from_quaternion as pose_from_quaternion
from .velocities import quaternion_from_pose as quaternion_from_pose
from .velocities import swapped as swapped
from .velocities import twist_from_world as twist_from_world
from .velocities import twist_to_world as twist_to_world
from .velocities import wrench_from_force as wrench_from_force
from .velocities import wrench_from_world as wrench_from_world
from .velocities import wrench_to_world as wrench_to_world

lazy()
