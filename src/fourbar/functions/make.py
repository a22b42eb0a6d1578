"""From a method and a model to a compiled function."""

from __future__ import annotations

from typing import Any

from ..once import imported
from .context import Model
from .guard import Explainer
from .methods import Method
from .recording import MethodRecording, Recording, Static


def compiled(model: Model, name: str, method: Method, static: Static, rebuild: tuple[Any, ...]) -> Any:
    """The function of a method of a model for one choice of options, which `static` reads.

    `rebuild` makes it anew in other processes.
    """
    return make(MethodRecording(model, name, method, static, rebuild))


_OWN = __name__.partition(".")[0]


def make(recipe: Recording) -> Any:
    """The compiled function of a recipe."""
    for name in ("functions.function", "compile.program_cache"):
        imported(f"{_OWN}.{name}")  # when first needed: half of the time of importing fourbar
    from ..arrays import Argument
    from .function import State, make_function

    cluster_tree = recipe.model.cluster_tree
    configurations = [a.name for a in recipe.arguments if a.is_configuration]
    state = State(
        recipe.name,
        [Argument(a.name, a.shape, a.optional) for a in recipe.arguments],
        recipe.results,
        recipe.program,
        recipe.recall() if isinstance(recipe, MethodRecording) else (unpickle_function, recipe.recall()),
        recipe.doc,
        Explainer(cluster_tree, configurations, recipe.nan) if configurations else None,
        lambda kind: _derivative(recipe, kind),
    )
    return make_function(state)


def unpickle_function(derivative: tuple[Any, ...]) -> Any:
    """The compiled function of a derivative, from the recipe of the derivative: how it travels to other processes."""
    make_again, *args = derivative
    return make_again(*args).function


def _derivative(recipe: Recording, kind: str) -> Any:
    """A derivative of the function of a recipe: "jvp", "vjp" or "jacobian"."""
    imported(f"{__package__}.derivatives")
    from .derivative_recordings import KINDS
    from .derivatives import WRAPPERS

    return WRAPPERS[kind](KINDS[kind](recipe))
