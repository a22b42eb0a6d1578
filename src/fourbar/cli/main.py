"""The command `fourbar`: parsing, and turning errors into messages."""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Sequence

from .. import __version__
from ..errors import ArgumentError, FourbarError, UnknownNameError
from . import bench, check, convert, export_c, info, show, simulate

COMMANDS = {
    "simulate": simulate, "info": info, "check": check, "convert": convert, "export-c": export_c,
    "bench": bench, "show": show,
}  # fmt: skip
_FAILED, _WRONG_USAGE, _INTERRUPTED = 1, 2, 130


def build_parser() -> argparse.ArgumentParser:
    """The parser of the whole command line."""
    parser = argparse.ArgumentParser(prog="fourbar", description="Dynamics of articulated rigid bodies.")
    parser.add_argument("--version", action="version", version=f"fourbar {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, command in COMMANDS.items():
        about = (command.__doc__ or "").partition(": ")[2].strip()
        summary = about.splitlines()[0].rstrip(".")
        own = commands.add_parser(name, help=summary, description=about[0].upper() + about[1:])
        command.configure(own)
        own.set_defaults(run=command.run)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command line; returns the exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without Greek letters should not make the command fail
    args = build_parser().parse_args(arguments)
    try:
        code = args.run(args)
        sys.stdout.flush()
        return code
    except FourbarError as error:
        print(f"fourbar {args.command}: error: {error}", file=sys.stderr)
        return _WRONG_USAGE if isinstance(error, ArgumentError | UnknownNameError) else _FAILED
    except KeyboardInterrupt:
        print(f"\nfourbar {args.command}: interrupted", file=sys.stderr)
        return _INTERRUPTED
    except BrokenPipeError:  # the reader has gone, e.g. `| head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
