"""export-c: export functions of a robot as C99 source.

Writes source, header, a test with test vectors and CMakeLists.txt to a folder. The code allocates no memory and needs
only libm. Options of a function are given as name:option=value, e.g. pose:frame=hand.
"""

from __future__ import annotations

import argparse

from ..targets.c import SCALARS, export_c
from .function_names import add_functions, chosen_functions
from .shared_arguments import print_warnings, read_robot, reading_options


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_functions(parser, "c", "prefix of the names in C")
    parser.add_argument("--scalar", choices=list(SCALARS), default="double", help="type of all numbers")
    parser.add_argument("--casadi", action="store_true", help="also write the interface of casadi.external")


def run(args: argparse.Namespace) -> int:
    """Write the files and list them."""
    robot = read_robot(args.source, **reading_options(args))
    functions = chosen_functions(robot, args.functions)
    files = export_c(args.output, functions, name=args.name or robot.name, scalar=args.scalar, casadi=args.casadi)
    print_warnings(robot, args.source)
    for file in files:
        print(file)
    return 0
