"""Symbolic scalars and programs. Knows nothing of robots."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazy import lazy
from . import operators as _operators  # noqa: F401  (gives Expr its operators)
from .evaluate import evaluate as evaluate
from .evaluate import prepare as prepare
from .functions import acos as acos
from .functions import asin as asin
from .functions import atan2 as atan2
from .functions import cos as cos
from .functions import exp as exp
from .functions import floor as floor
from .functions import lookup as lookup
from .functions import maximum as maximum
from .functions import minimum as minimum
from .functions import select as select
from .functions import sin as sin
from .functions import sqrt as sqrt
from .functions import tan as tan
from .functions import tanh as tanh
from .interpret import interpret as interpret
from .node import Expr as Expr
from .node import Graph as Graph
from .node import Value as Value
from .operators import traced_array as traced_array

if TYPE_CHECKING:
    from .autodiff import jvp as jvp
    from .autodiff import reachable as reachable
    from .autodiff import vjp as vjp
    from .program import Block as Block
    from .program import Call as Call
    from .program import Input as Input
    from .program import Output as Output
    from .program import Program as Program
    from .program import Store as Store
    from .program_derivatives import Replay as Replay
    from .pytree import flatten as flatten
    from .pytree import leaves as leaves
    from .pytree import tree_map as tree_map
    from .pytree import unflatten as unflatten
    from .shared import Shared as Shared
    from .text import from_text as from_text
    from .text import to_text as to_text
    from .unrolled import Direct as Direct
    from .unrolled import Recorder as Recorder
    from .unrolled import TooLarge as TooLarge
    from .unrolled import Unrolled as Unrolled

lazy()
