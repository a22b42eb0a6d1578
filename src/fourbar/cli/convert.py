"""convert: convert a model file to another format.

Reads A and writes B; the file extensions determine the formats. Lists everything that B's format cannot express; if B
would be a different robot, nothing is written unless `--waive-written coordinates loop armature zero inertia` accepts
it. `--waive` accepts findings in A.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from ..errors import ArgumentError
from ..io.formats import FORMATS
from ..io.report import WRITTEN
from .shared_arguments import add_reading, print_warnings, read_robot, reading_options


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("source", metavar="A", help="the file to read, or a robot of the library")
    parser.add_argument("target", metavar="B", help="the file to write")
    add_reading(parser)
    written = [name for name, format in FORMATS.items() if format.writer]
    parser.add_argument(
        "--waive-written", nargs="+", default=[], metavar="KEY", choices=list(WRITTEN),
        help=f"accepted changes in B: {', '.join(WRITTEN)}",
    )  # fmt: skip
    parser.add_argument("--to", metavar="FORMAT", choices=written, help=f"format of B: {', '.join(written)}")


def run(args: argparse.Namespace) -> int:
    """Convert; a summary of the findings, and what could not be written, go to stderr."""
    if Path(args.target).exists() and Path(args.source).exists() and Path(args.target).samefile(args.source):
        raise ArgumentError(f"{args.target} is also the file to read: choose another name for the output")
    robot = read_robot(args.source, **reading_options(args))
    left_out = robot.save(args.target, format=args.to, waive=args.waive_written)
    print_warnings(robot, args.source)
    for finding in left_out:
        print(finding, file=sys.stderr)
    print(f"{args.target}: {len(robot.names.bodies)} bodies, nq = {robot.nq}, nv = {robot.nv}")
    return 0
