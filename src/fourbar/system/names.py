"""The names of the things of a robot."""

from __future__ import annotations

from typing import NamedTuple


class Names(NamedTuple):
    """Names, in the order of the arrays."""

    bodies: tuple[str, ...]
    joints: tuple[str, ...]
    frames: tuple[str, ...]
    coordinates: tuple[str, ...]
    velocities: tuple[str, ...]
    parameters: tuple[str, ...]
    numbers: tuple[str, ...]
    actuators: tuple[str, ...]
