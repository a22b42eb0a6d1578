"""Functions of a robot as JAX functions (extra `jax`)."""

from .targets.jax import function, functions

__all__ = ["function", "functions"]
