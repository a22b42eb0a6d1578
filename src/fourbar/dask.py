"""Work on many cores or many machines, chunk by chunk (extra `dask`; `write` also needs the extra `zarr`).

The functions of a robot, `rollout`, `Scene.rollout` and `identify` take dask arrays themselves.
"""

from .chunks.lazy_results import compute, write
from .chunks.sweep_samples import sweep

__all__ = ["compute", "sweep", "write"]
