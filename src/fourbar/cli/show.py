"""show: print the compiled code of a robot's method.

Prints the traced program, its LLVM assembly or its machine assembly, or counts the operations per evaluation.
"""

from __future__ import annotations

import argparse

from ..errors import ArgumentError, unknown
from ..functions.registry import METHODS
from ..system.program_text import STAGES, count
from . import shared_arguments
from .shared_arguments import add_robot, print_warnings, read_robot, reading_options

_COUNTED = ("add", "mul", "div")
_SEVERAL = " ..."


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_robot(parser)
    parser.add_argument("method", metavar="METHOD", help="e.g. inverse_dynamics")
    parser.add_argument("--stage", choices=list(STAGES), default="program", help="what to print (default: program)")
    parser.add_argument("--count", action="store_true", help="count operations instead")
    group = parser.add_argument_group("options of methods")
    for name, (written, methods) in _settable_options().items():
        word, several, _ = written.partition(_SEVERAL)
        text = f"of {', '.join(methods)}"
        group.add_argument(_flag(name), nargs="+" if several else None, metavar=word, help=text)


def _settable_options() -> dict[str, tuple[str, list[str]]]:
    """The options of methods that can be given here: the placeholder of the value, and the methods that have it."""
    options: dict[str, tuple[str, list[str]]] = {}
    for name, method in METHODS.items():
        for option in method.options:
            if option.written:
                options.setdefault(option.name, (option.written, []))[1].append(name)
    return options


def _flag(option: str) -> str:
    """An option as it is given on the command line."""
    return f"--{option.replace('_', '-')}"


def run(args: argparse.Namespace) -> int:
    """Print the code, or the count."""
    robot = read_robot(args.robot, **reading_options(args))
    print_warnings(robot, args.robot)
    if args.method not in METHODS:
        raise unknown("method", args.method, METHODS)
    options = _options(args)
    if args.count:
        print(_count_table(count(robot.program(args.method, **options))))
    else:
        print(robot.show(args.method, stage=args.stage, **options).rstrip("\n"))
    return 0


def _options(args: argparse.Namespace) -> dict[str, object]:
    """The options of the method, checked against those it has."""
    method = METHODS[args.method]
    found = {name: getattr(args, name) for name in _settable_options()}
    chosen = {name: value for name, value in found.items() if value is not None}
    for name in chosen:
        if name not in method.static:
            raise ArgumentError(f"{args.method} takes no {_flag(name)}")
    for option in method.options:
        if option.required and option.name not in chosen:
            raise ArgumentError(f"{args.method} needs {_flag(option.name)}")
    return chosen


def _count_table(operations: dict[str, int]) -> str:
    """Additions, multiplications and divisions, then all other operations, then the sum."""
    kinds = [*_COUNTED, *sorted(set(operations) - set(_COUNTED))]
    rows = [(kind, str(operations.get(kind, 0))) for kind in kinds]
    return shared_arguments.columns(
        ("operation", "number"), [*rows, ("total", str(sum(operations.values())))], right=(1,)
    )
