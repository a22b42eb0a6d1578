"""Symbolic scalars and programs. Knows nothing of robots."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazy import lazy
from . import operators as _operators  # noqa: F401  (gives Expr its operators)
from .evaluate import evaluate, prepare
from .functions import acos, asin, atan2, cos, exp, maximum, minimum, select, sin, sqrt, tan, tanh
from .interpret import interpret
from .node import Expr, Graph, Value

if TYPE_CHECKING:
    from .autodiff import jvp, reachable, vjp
    from .program import Block, Call, Input, Output, Program, Store
    from .program_derivatives import Replay
    from .pytree import flatten, leaves, tree_map, unflatten
    from .shared import Shared
    from .text import from_text, to_text
    from .unrolled import Direct, Recorder, TooLarge, Unrolled

__all__ = [
    "Block", "Call", "Direct", "Expr", "Graph", "Input", "Output", "Program", "Recorder", "Replay", "Shared", "Store",
    "TooLarge", "Unrolled", "Value", "acos", "asin", "atan2", "cos", "evaluate", "exp", "flatten", "from_text",
    "interpret", "jvp", "leaves", "maximum", "minimum", "prepare", "reachable", "select", "sin", "sqrt", "tan", "tanh",
    "to_text", "tree_map", "unflatten", "vjp",
]  # fmt: skip

lazy(
    __name__,
    {
        "autodiff": "jvp reachable vjp",
        "program_derivatives": "Replay",
        "program": "Block Call Input Output Program Store",
        "unrolled": "Direct Recorder TooLarge Unrolled",
        "shared": "Shared",
        "text": "from_text to_text",
        "pytree": "flatten leaves tree_map unflatten",
    },
)
