"""Functions of a robot, and rollouts, as JAX functions (extra `jax`)."""

from .targets.jax import function, functions
from .targets.jax_rollout import JaxRun, rollout

__all__ = ["JaxRun", "function", "functions", "rollout"]
