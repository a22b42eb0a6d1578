"""Lagrange's equations: another name of `fourbar.reference.lagrange`."""

from .reference.lagrange import *  # noqa: F403
from .reference.lagrange import __all__ as __all__
