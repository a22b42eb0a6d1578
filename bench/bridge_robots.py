"""The robots on which calls through other libraries are measured: a small one, a tree, a floating and a looped one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import fourbar as fb
from peer_robots import PEERS, robot_folder

NAMES = ("double_pendulum", "mini_cheetah", "tello")


def bridge_robots() -> Iterator[tuple[str, Any]]:
    """Each with its name; the tree is an arm of example-robot-data, left out with a word where that is missing."""
    for name in NAMES:
        yield name, getattr(fb.robots, name)()
        if name == NAMES[0]:
            yield from _arm()


def _arm() -> Iterator[tuple[str, Any]]:
    try:
        yield "panda", fb.load(robot_folder() / PEERS["panda"][0])
    except ModuleNotFoundError as error:
        print(f"panda: left out, {error}")
