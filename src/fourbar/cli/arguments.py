"""Arguments that several commands share."""

from __future__ import annotations

import argparse
import math
from typing import Any

from ..errors import unknown
from ..robots import ROBOTS
from ..system.robot import System

DEFAULT_ROBOT = "crank_rocker"


def add_robot(parser: argparse.ArgumentParser, **options: Any) -> None:
    """The argument ROBOT."""
    parser.add_argument("robot", metavar="ROBOT", help=f"a robot of the library: {', '.join(ROBOTS)}", **options)


def read_robot(name: str) -> System:
    """The robot of that name."""
    if name not in ROBOTS:
        raise unknown("robot", name, ROBOTS)
    return ROBOTS[name]()


def positive(text: str) -> float:
    """A positive finite number."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (value > 0.0 and math.isfinite(value)):
        raise argparse.ArgumentTypeError(f"expected a positive number, got {text!r}")
    return value


def at_least_one(text: str) -> int:
    """A whole number of at least 1."""
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"expected a whole number of at least 1, got {text!r}")
    return int(text)
