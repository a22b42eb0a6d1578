"""Functions of a robot by their names on the command line, for the commands that write them."""

from __future__ import annotations

import argparse
from typing import Any

from ..errors import ArgumentError, unknown
from ..functions.methods import METHODS
from ..system.system import System
from .shared_arguments import add_reading

_DERIVATIVES = ("jvp", "vjp", "jacobian")


def add_functions(parser: argparse.ArgumentParser, folder: str, named: str) -> None:
    """Declare which robot and functions are written, where, and under which name; `named`: the thing with that name."""
    parser.add_argument("source", metavar="ROBOT", help="a model file, or a robot of the library")
    parser.add_argument(
        "--functions", default="inverse_dynamics,forward_dynamics", metavar="F,G",
        help="functions, e.g. inverse_dynamics,pose:frame=hand,forward_dynamics.jacobian (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument("-o", "--output", default=folder, metavar="DIR", help="output folder (default: %(default)s)")
    parser.add_argument("--name", metavar="NAME", help=f"{named} (default: the robot's name)")
    add_reading(parser)


def chosen_functions(robot: System, words: str) -> list[Any]:
    """The functions that words with commas between stand for."""
    return [_function(robot, word.strip()) for word in words.split(",") if word.strip()]


def _function(robot: System, word: str) -> Any:
    """The function that 'name', 'name.jacobian' or 'name:option=value' stands for."""
    called, *options = word.split(":")
    name, _, derivative = called.partition(".")
    if name not in METHODS:
        raise unknown("function", name, METHODS)
    function = getattr(robot, name)
    pairs = [option.partition("=") for option in options]
    if any(not sign for _, sign, _ in pairs):
        raise ArgumentError(f"--functions {word}: expected name:option=value, e.g. pose:frame=hand")
    if hasattr(function, "specialise"):
        try:
            function = function.specialise(**{key: value for key, _, value in pairs})
        except TypeError as error:  # an option that is missing, or that it has not
            raise ArgumentError(f"--functions {word}: {error}. Options go as name:option=value") from None
    elif pairs:
        raise ArgumentError(f"--functions {word}: {name} has no options")
    if derivative and derivative not in _DERIVATIVES:
        raise unknown("derivative", derivative, _DERIVATIVES)
    return getattr(function, derivative) if derivative else function
