"""Objects whose attributes are set once, when they are made."""

from __future__ import annotations

from typing import Any

from ...hints import Hinted


class Frozen(Hinted):
    """Attributes are written to `__dict__` by the class itself; nobody else may."""

    _scope = "robot"

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"a {type(self).__name__} is frozen; {name!r} cannot be set. Make another one")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a {type(self).__name__} is frozen; {name!r} cannot be deleted")
