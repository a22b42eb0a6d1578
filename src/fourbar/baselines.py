"""The usual ways to treat loops: another name of `fourbar.reference.baselines`."""

from .reference.baselines import *  # noqa: F403
from .reference.baselines import __all__ as __all__
