"""Control: linear-quadratic regulators, optimal control of robots and scenes, receding horizons."""

from ..lazy import lazy
from .knot_terms import plain as plain
from .problem import Problem as Problem
from .problem import limits as limits
from .random_plans import Sampling as Sampling
from .receding import Receding as Receding
from .regulator import lqr as lqr

lazy()
