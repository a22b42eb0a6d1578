"""What the things of a robot are called."""

from __future__ import annotations

from typing import NamedTuple


class Names(NamedTuple):
    """What things are called, in the order of the arrays."""

    bodies: tuple[str, ...]
    joints: tuple[str, ...]
    frames: tuple[str, ...]
    coordinates: tuple[str, ...]
    velocities: tuple[str, ...]
    parameters: tuple[str, ...]
    numbers: tuple[str, ...]
    actuators: tuple[str, ...]
