"""check: what a model file says that is wrong, doubtful or not understood.

Prints every error and warning with file, line and fix, and notes of one kind as one line; with --details, all of them.
Exit code 1 if there are errors (with --strict: or warnings).
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace

from ..io.report import ParseError, Report
from .arguments import add_reading, read_file, reading_options


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("file", metavar="FILE", help="a model file")
    add_reading(parser)
    parser.add_argument("--quiet", action="store_true", help="only errors and warnings")
    parser.add_argument("--details", action="store_true", help="every note on a line of its own")


def run(args: argparse.Namespace) -> int:
    """Print the findings; returns 1 where some are errors."""
    report, size = _read(args)
    kept = tuple(f for f in report if f.severity != "note" or not args.quiet)
    listed = replace(report, findings=kept, file="")  # with the paths as they were given
    print(listed.details() if args.details else "\n".join(listed.lines(grouped=("note",))), end="\n" if kept else "")
    found = [(len(report.of(s)), s) for s in ("error", "warning", "note")]
    counts = ", ".join(f"{n} {s}{'' if n == 1 else 's'}" for n, s in found)
    print(f"{args.file}: {size}{counts}", file=sys.stderr if report.errors else sys.stdout)
    return 1 if report.errors else 0


def _read(args: argparse.Namespace) -> tuple[Report, str]:
    try:
        robot = read_file(args.file, **reading_options(args))
    except ParseError as error:
        return error.report, ""
    return robot.report, f"nq = {robot.nq}, nv = {robot.nv}; "
