"""Functions of a robot as PyTorch functions (extra `torch`)."""

from .targets.torch import function, functions

__all__ = ["function", "functions"]
