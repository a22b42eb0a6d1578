"""export-wasm: export functions of a robot as a WebAssembly module.

Writes the module, a JavaScript module that embeds it, a test with test vectors and package.json to a folder. Options of
a function are given as name:option=value, e.g. pose:frame=hand.
"""

from __future__ import annotations

import argparse

from ..targets.wasm import export_wasm
from .function_names import add_functions, chosen_functions
from .shared_arguments import print_warnings, read_robot, reading_options


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_functions(parser, "wasm", "name of the files")


def run(args: argparse.Namespace) -> int:
    """Write the files and list them."""
    robot = read_robot(args.source, **reading_options(args))
    files = export_wasm(args.output, chosen_functions(robot, args.functions), name=args.name or robot.name)
    print_warnings(robot, args.source)
    for file in files:
        print(file)
    return 0
