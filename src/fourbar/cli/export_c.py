"""export-c: functions of a robot as C99 source.

Writes source, header, a test with vectors and CMakeLists.txt into a folder: no allocation, libm only. A function with
options is written as name:option=value, e.g. pose:frame=hand.
"""

from __future__ import annotations

import argparse
from typing import Any

from ..errors import ArgumentError, unknown
from ..functions.methods import METHODS
from ..system.system import System
from ..targets.c import export_c
from ..targets.c_code import SCALARS
from .arguments import add_reading, read_robot, reading_options, tell_warnings

_DERIVATIVES = ("jvp", "vjp", "jacobian")


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("source", metavar="ROBOT", help="a model file, or a robot of the library")
    parser.add_argument(
        "--functions", default="inverse_dynamics,forward_dynamics", metavar="F,G",
        help="what to write, e.g. inverse_dynamics,pose:frame=hand,forward_dynamics.jacobian (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "-o", "--output", default="c", metavar="DIR", help="the folder to write to (default: %(default)s)"
    )
    parser.add_argument("--name", metavar="NAME", help="prefix of the names in C (default: the robot's name)")
    parser.add_argument("--scalar", choices=list(SCALARS), default="double", help="type of all numbers")
    parser.add_argument("--casadi", action="store_true", help="also write the symbols that casadi.external looks for")
    add_reading(parser)


def run(args: argparse.Namespace) -> int:
    """Write the files and list them."""
    robot = read_robot(args.source, **reading_options(args))
    functions = [_function(robot, word.strip()) for word in args.functions.split(",") if word.strip()]
    files = export_c(args.output, functions, name=args.name or robot.name, scalar=args.scalar, casadi=args.casadi)
    tell_warnings(robot, args.source)
    for file in files:
        print(file)
    return 0


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
        function = function.specialise(**{key: value for key, _, value in pairs})
    elif pairs:
        raise ArgumentError(f"--functions {word}: {name} has no options")
    if derivative and derivative not in _DERIVATIVES:
        raise unknown("derivative", derivative, _DERIVATIVES)
    return getattr(function, derivative) if derivative else function
