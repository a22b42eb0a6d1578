"""From recipes to the functions that users hold."""

from __future__ import annotations

from typing import Any

from ..once import imported
from .guard import Explainer
from .recipe import Base, Recipe

_OWN = __name__.partition(".")[0]


def make(recipe: Recipe) -> Any:
    """The compiled function of a recipe."""
    for name in ("function", "programs"):
        imported(f"{_OWN}.compile.{name}")  # when first needed: half of the time of importing fourbar
    from ..compile.arguments import Argument
    from ..compile.function import State, make_function

    lowered = recipe.model.lowered
    configurations = [a.name for a in recipe.arguments if a.is_configuration]
    state = State(
        recipe.name,
        [Argument(a.name, a.shape, a.optional) for a in recipe.arguments],
        recipe.results,
        recipe.program,
        recipe.recall() if isinstance(recipe, Base) else (function_again, recipe.recall()),
        recipe.doc,
        Explainer(lowered, configurations, recipe.nan) if configurations else None,
        lambda kind: _derivative(recipe, kind),
    )
    return make_function(state)


def function_again(derivative: tuple[Any, ...]) -> Any:
    """The compiled function of a derivative, from the recipe of the derivative: how it travels to other processes."""
    make_again, *args = derivative
    return make_again(*args).function


def _derivative(recipe: Recipe, kind: str) -> Any:
    """A derivative of the function of a recipe: "jvp", "vjp" or "jacobian"."""
    imported(f"{__package__}.derivatives")
    from .derivatives import WRAPPERS
    from .derived import KINDS

    return WRAPPERS[kind](KINDS[kind](recipe))
