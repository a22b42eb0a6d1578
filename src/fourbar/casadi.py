"""Functions of a robot as CasADi functions (extra `casadi`)."""

from .targets.casadi import function

__all__ = ["function"]
