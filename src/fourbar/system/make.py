"""From a method and a model to a compiled function."""

from __future__ import annotations

from typing import Any

from .context import Model, record
from .guard import explainer, implicit_loops
from .methods import Method


def compiled(model: Model, name: str, method: Method, static: dict[str, Any], rebuild: tuple[Any, ...]) -> Any:
    """The function of a method of a model for one choice of options; `rebuild` makes it anew in other processes."""
    from ..compile.arguments import Argument  # imported when first needed: half of the time of importing fourbar
    from ..compile.function import State, make_function

    arguments = [Argument(a, model.shape(a)) for a in method.arguments]
    arguments += [Argument(a, model.shape(a), optional=True) for a in method.optional]
    watched = "q" in method.arguments and (method.nan or implicit_loops(model.lowered))
    state = State(
        name,
        arguments,
        method.results,
        lambda present: record(name, model, method.record, present, static),
        rebuild,
        method.doc,
        explainer(model.lowered, method.nan) if watched else None,
    )
    return make_function(state)
