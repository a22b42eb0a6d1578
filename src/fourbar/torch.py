"""Functions of a robot, and rollouts of scenes, as PyTorch functions (extra `torch`)."""

from .targets.torch import function, functions
from .targets.torch_rollout import TorchRun, rollout

__all__ = ["TorchRun", "function", "functions", "rollout"]
