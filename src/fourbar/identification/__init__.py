"""Identification: which parameters of a robot its motion determines, and their values."""

from ..lazy import lazy
from .base_parameters import BaseParameters as BaseParameters
from .base_parameters import base_parameters as base_parameters
from .estimate import identify as identify
from .excite import Excitation as Excitation
from .excite import Fourier as Fourier
from .excite import exciting_trajectory as exciting_trajectory
from .result import Identification as Identification

lazy()
