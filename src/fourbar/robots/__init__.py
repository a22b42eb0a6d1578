"""Robots that come with the library: those of Chignoli's paper, and small ones that each show one thing.

The numbers of the paper's robots are from ROAM-Lab-ND/generalized_rbda (MIT licence, (c) 2023 MatthewChignoli), those
of the links of JVRC-1 by way of it from jvrc_description; `data/README.md` says which. The others are fourbar's own.
"""

from types import ModuleType

from ..lazy import lazy
from .cassie import cassie_leg
from .chains import gt_chain, pbt_chain
from .crank_rocker import crank_rocker
from .humanoids import jvrc1, mit_humanoid
from .linkages import five_bar, four_bar, parallelogram, planar_leg_linkage, six_bar, slider_crank
from .mini_cheetah import mini_cheetah
from .parallel import delta, stewart_platform
from .pendulum import double_pendulum
from .tello import tello, tello_with_arms
from .wrist import differential_wrist

ROBOTS = {
    f.__name__: f
    for f in (
        cassie_leg, crank_rocker, delta, differential_wrist, double_pendulum, five_bar, four_bar, gt_chain, jvrc1,
        mini_cheetah, mit_humanoid, parallelogram, pbt_chain, planar_leg_linkage, six_bar, slider_crank,
        stewart_platform, tello, tello_with_arms,
    )
}  # fmt: skip

__all__ = [
    "ROBOTS", "cassie_leg", "crank_rocker", "delta", "differential_wrist", "double_pendulum", "five_bar", "four_bar",
    "gt_chain", "jvrc1", "mini_cheetah", "mit_humanoid", "parallelogram", "pbt_chain", "planar_leg_linkage", "six_bar",
    "slider_crank", "stewart_platform", "tello", "tello_with_arms",
]  # fmt: skip

for _name in [name for name, x in globals().items() if isinstance(x, ModuleType)]:
    del globals()[_name]  # fb.robots.cassie is no robot: the error that says so names cassie_leg
lazy(__name__, {})
