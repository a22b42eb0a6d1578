"""The bridge to MuJoCo: another name of `fourbar.interop.mujoco`."""

from ..interop.mujoco import *  # noqa: F403
from ..interop.mujoco import __all__ as __all__
