"""convert: a model file in another format.

Reads A and writes B; the formats are told by the endings. What the format of B cannot say is listed, or refused where B
would be another robot; `--waive coordinates loop armature` accepts that.
"""

from __future__ import annotations

import argparse
import sys
import warnings

from ..io.export.text import WAIVABLE
from ..io.formats import FORMATS
from ..system.load import FileWarning, load
from .arguments import add_reading, reading_options, tell_warnings


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("source", metavar="A", help="the file to read")
    parser.add_argument("target", metavar="B", help="the file to write")
    add_reading(parser)
    written = [name for name, format in FORMATS.items() if format.writer]
    parser.add_argument("--to", metavar="FORMAT", choices=written, help=f"format of B: {', '.join(written)}")


def run(args: argparse.Namespace) -> int:
    """Convert; what was found while reading, in short, and what could not be written go to stderr."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FileWarning)
        robot = load(args.source, **reading_options(args))
    left_out = robot.save(args.target, format=args.to, waive=[key for key in args.waive if key in WAIVABLE])
    tell_warnings(robot, args.source)
    for finding in left_out:
        print(finding, file=sys.stderr)
    print(f"{args.target}: {len(robot.names.bodies)} bodies, nq = {robot.nq}, nv = {robot.nv}")
    return 0
