"""check: list errors, warnings and notes about a model file.

Prints every error and warning with file, line and fix, and one line for each kind of note; --details prints every note.
Exit code 1 if there are errors (with --strict also for warnings).
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace

from ..io.report import ParseError, Report
from .shared_arguments import add_reading, read_file, reading_options


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("file", metavar="FILE", help="a model file")
    add_reading(parser)
    parser.add_argument("--quiet", action="store_true", help="print only errors and warnings")
    parser.add_argument("--details", action="store_true", help="print every note on its own line")


def run(args: argparse.Namespace) -> int:
    """Print the findings; return 1 if some are errors."""
    report, size = _read(args)
    shown = tuple(f for f in report if f.severity != "note" or not args.quiet)
    listed = replace(report, findings=shown, file="")  # with the paths as given
    print(listed.details() if args.details else "\n".join(listed.lines(grouped=("note",))), end="\n" if shown else "")
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
