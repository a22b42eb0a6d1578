"""Scenes as environments of Gymnasium, for learning (extra `gymnasium`)."""

from .learning.actions import Controls, Forces, Targets
from .learning.environments import Env, RecordedEpisodes, VectorEnv, record
from .learning.task import Task
from .learning.terrains import LevelGround, Rough, Slope, Stairs, SteppingStones, TerrainTiles, scan_heights
from .learning.worlds import Worlds

__all__ = [
    "Controls", "Env", "Forces", "LevelGround", "RecordedEpisodes", "Rough", "Slope", "Stairs", "SteppingStones",
    "Targets", "Task", "TerrainTiles", "VectorEnv", "Worlds", "record", "scan_heights",
]  # fmt: skip
