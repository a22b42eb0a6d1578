"""The command `fourbar`: parsing, and turning errors into messages."""

from __future__ import annotations

import argparse
import io
import os
import sys
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from .. import __version__
from ..errors import ArgumentError, FourbarError, UnknownNameError
from . import bench, check, convert, docs, export_c, export_wasm, info, show, simulate, view

COMMANDS = {
    "view": view, "simulate": simulate, "info": info, "check": check, "convert": convert, "export-c": export_c,
    "export-wasm": export_wasm, "bench": bench, "show": show, "docs": docs,
}  # fmt: skip
GROUPS = {
    "first steps": ("info", "view", "simulate", "docs"),
    "model files": ("check", "convert"),
    "export": ("export-c", "export-wasm"),
    "speed and machine code": ("bench", "show"),
}  # commands in the order in which one needs them
_EXAMPLES = """examples
  fourbar simulate              self-test: a four-bar against its closed form
  fourbar info robot.urdf       bodies, joints, limits and actuators of a file
  fourbar COMMAND --help        arguments of a command"""
_FAILED, _WRONG_USAGE, _INTERRUPTED = 1, 2, 130


def _about(name: str) -> str:
    """The summary of a command, from the docstring of its file."""
    return (COMMANDS[name].__doc__ or "").partition(": ")[2].strip()


def listed_commands() -> str:
    """All commands by group, each with what it does in one line."""
    named = {name for names in GROUPS.values() for name in names}
    groups = {**GROUPS, "more": tuple(name for name in COMMANDS if name not in named)}
    width = max(map(len, COMMANDS))
    parts = []
    for group, names in groups.items():
        known = [name for name in names if name in COMMANDS]
        lines = [f"  {name:<{width}}  {_about(name).splitlines()[0].rstrip('.')}" for name in known]
        parts += ["\n".join([group, *lines])] if lines else []
    return "\n\n".join(parts)


class Paragraphs(argparse.HelpFormatter):
    """A formatter that keeps the paragraphs of a description."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return "\n\n".join(super(Paragraphs, self)._fill_text(x, width, indent) for x in text.split("\n\n"))


class CommandParser(argparse.ArgumentParser):
    """The parser of a command, which declares its arguments when it is used: those of some commands take time."""

    configure: Callable[[argparse.ArgumentParser], None] | None = None

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:  # type: ignore[override]
        """Declare the arguments, and parse them."""
        if self.configure is not None:
            self.configure(self)
            self.configure = None
        return super().parse_known_args(args, namespace)


def build_parser() -> argparse.ArgumentParser:
    """The parser of the whole command line."""
    parser = argparse.ArgumentParser(
        prog="fourbar",
        description="Rigid-body dynamics for robots with kinematic loops.",
        epilog=f"{listed_commands()}\n\n{_EXAMPLES}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"fourbar {__version__}")
    commands = parser.add_subparsers(
        dest="command",
        metavar="COMMAND",
        required=True,
        help="a command from the list below",
        parser_class=CommandParser,
    )
    for name, command in COMMANDS.items():
        about = _about(name)
        own = commands.add_parser(name, description=about[0].upper() + about[1:], formatter_class=Paragraphs)
        own.configure = command.configure
        own.set_defaults(run=command.run)
    return parser


def _format_warning(message: Warning | str, *_: object) -> str:
    """A warning as one line of text, without file and line."""
    return f"warning: {message}\n"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command line; returns the exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without Greek letters should not make the command fail
    args = build_parser().parse_args(arguments)
    usual, warnings.formatwarning = warnings.formatwarning, _format_warning
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
    except OSError as error:  # a folder that is a file, a full disk
        where = "" if error.filename is None else f": {str(error.filename)!r}"
        print(f"fourbar {args.command}: error: {error.strerror or error}{where}", file=sys.stderr)
        return _FAILED
    finally:
        warnings.formatwarning = usual
