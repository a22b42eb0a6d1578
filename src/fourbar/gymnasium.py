"""Scenes as environments of Gymnasium, for learning (extra `gymnasium`)."""

from .learning.actions import Controls, Forces, Targets
from .learning.environments import Env, RecordedEpisodes, VectorEnv, record
from .learning.task import Task
from .learning.worlds import Worlds

__all__ = ["Controls", "Env", "Forces", "RecordedEpisodes", "Targets", "Task", "VectorEnv", "Worlds", "record"]
