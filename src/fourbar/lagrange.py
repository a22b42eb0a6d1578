"""Lagrange's equations: another name of `fourbar.reference.lagrange`."""

from .reference.lagrange import *  # noqa: F403
