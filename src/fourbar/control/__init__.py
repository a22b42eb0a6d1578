"""Control: linear-quadratic regulators, optimal control of robots and scenes, receding horizons."""

from ..lazy import lazy
from .regulator import lqr as lqr

lazy()
