"""Identification: which parameters of a robot its motion determines, and their values."""

from .base_parameters import BaseParameters, base_parameters
from .estimate import identify
from .excite import Excitation, exciting_trajectory
from .fourier import Fourier
from .result import Identification

__all__ = [
    "BaseParameters", "Excitation", "Fourier", "Identification", "base_parameters", "exciting_trajectory", "identify",
]  # fmt: skip
