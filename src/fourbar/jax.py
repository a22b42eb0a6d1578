"""Functions of a robot, and rollouts, as JAX functions (extra `jax`)."""

from .targets.jax import function, functions
from .targets.jax_rollout import JaxRollouts, rollout

__all__ = ["JaxRollouts", "function", "functions", "rollout"]
