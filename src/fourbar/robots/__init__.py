"""Robots that come with the library."""

from .chains import gt_chain, pbt_chain
from .humanoids import jvrc1, mit_humanoid
from .linkages import five_bar, four_bar, parallelogram, planar_leg_linkage, six_bar, slider_crank
from .mini_cheetah import mini_cheetah
from .pendulum import double_pendulum
from .tello import tello, tello_with_arms
from .wrist import differential_wrist
