"""Robots that come with the library: those of Chignoli's paper, and small ones that each show one thing.

The numbers of the paper's robots are from ROAM-Lab-ND/generalized_rbda (MIT licence, (c) 2023 MatthewChignoli), those
of the links of JVRC-1 by way of it from jvrc_description; `data/README.md` says which. The others are fourbar's own.
"""

from collections.abc import Callable
from types import FunctionType, ModuleType
from typing import Any

from ..lazy import lazy
from .chains import double_pendulum as double_pendulum
from .chains import gt_chain as gt_chain
from .chains import pbt_chain as pbt_chain
from .legged import cassie_leg as cassie_leg
from .legged import jvrc1 as jvrc1
from .legged import mini_cheetah as mini_cheetah
from .legged import mit_humanoid as mit_humanoid
from .legged import tello as tello
from .legged import tello_with_arms as tello_with_arms
from .linkages import crank_rocker as crank_rocker
from .linkages import five_bar as five_bar
from .linkages import four_bar as four_bar
from .linkages import parallelogram as parallelogram
from .linkages import planar_leg_linkage as planar_leg_linkage
from .linkages import six_bar as six_bar
from .linkages import slider_crank as slider_crank
from .parallel import delta as delta
from .parallel import differential_wrist as differential_wrist
from .parallel import stewart_platform as stewart_platform

ROBOTS: dict[str, Callable[..., Any]] = {
    name: x for name, x in sorted(globals().items()) if isinstance(x, FunctionType) and x is not lazy
}

for _name in [name for name, x in globals().items() if isinstance(x, ModuleType)]:
    del globals()[_name]  # fb.robots.cassie is no robot: the error that says so names cassie_leg
lazy()
