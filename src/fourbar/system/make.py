"""From a method and a model to a compiled function."""

from __future__ import annotations

from typing import Any

from .context import Model
from .functions import make
from .methods import Method
from .recipe import Base, Static


def compiled(model: Model, name: str, method: Method, static: Static, rebuild: tuple[Any, ...]) -> Any:
    """The function of a method of a model for one choice of options, which `static` reads.

    `rebuild` makes it anew in other processes.
    """
    return make(Base(model, name, method, static, rebuild))
