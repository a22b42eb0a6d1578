"""check: what a model file says that is wrong, doubtful or not understood.

Prints every finding with file, line, severity and fix. Exit code 1 if there are errors (with --strict: or warnings).
"""

from __future__ import annotations

import argparse
import sys

from ..io.report import ParseError, Report
from .arguments import add_reading, read_file, reading_options


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("file", metavar="FILE", help="a model file")
    add_reading(parser)
    parser.add_argument("--quiet", action="store_true", help="only errors and warnings")


def run(args: argparse.Namespace) -> int:
    """Print the findings; returns 1 where some are errors."""
    report, size = _read(args)
    for finding in report:
        if finding.severity != "note" or not args.quiet:
            print(finding)
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
