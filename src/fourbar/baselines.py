"""The usual ways to treat loops: exact ones of `fourbar.reference.baselines`, and the approximate one."""

from .reference.baselines import *  # noqa: F403
from .reference.baselines import __all__ as _exact
from .reference.reflected import *  # noqa: F403
from .reference.reflected import __all__ as _approximate

__all__ = [*_exact, *_approximate]  # pyright: ignore[reportUnsupportedDunderAll]
