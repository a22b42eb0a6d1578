"""Arguments that several commands share, and tables for the terminal."""

from __future__ import annotations

import argparse
import math
import sys
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..errors import ArgumentError, unknown
from ..io.formats import FORMATS
from ..io.report import WRITTEN, summary
from ..robots import ROBOTS
from ..system.load import FileWarning, load
from ..system.system import System

DEFAULT_ROBOT = "crank_rocker"


def add_robot(parser: argparse.ArgumentParser, **options: Any) -> None:
    """The argument ROBOT, and the options for reading it where it is a file."""
    parser.add_argument(
        "robot", metavar="ROBOT", help=f"a model file, or a robot of the library: {', '.join(ROBOTS)}", **options
    )
    add_reading(parser)


def add_reading(parser: argparse.ArgumentParser) -> None:
    """Options for reading a model file."""
    group = parser.add_argument_group("reading a model file")
    group.add_argument(
        "--format", choices=list(FORMATS), help="file format (default: from the file extension or content)"
    )
    group.add_argument("--strict", action="store_true", help="treat warnings as errors")
    group.add_argument(
        "--waive",
        nargs="+",
        default=[],
        metavar="KEY",
        help=("accept these findings (keys as printed by `fourbar check`)"),
    )
    group.add_argument("--floating", action="store_true", help="give the root a free joint")
    group.add_argument(
        "--folders", nargs="+", default=[], metavar="FOLDER", help=("folders to search for packages and meshes")
    )
    group.add_argument("--sidecar", metavar="FILE", help="a file that adds loops, motors and gears to a URDF")
    group.add_argument("--srdf", metavar="FILE", help="MoveIt's SRDF for a URDF: collision filters and group states")
    group.add_argument(
        "--straighten", nargs="+", metavar="ANGLE", type=_angle,
        help=(
            "largest angle (rad) by which joint axes in loops are made parallel, or JOINT=ANGLE for single joints"
        ),
    )  # fmt: skip
    group.add_argument(
        "--ratios", nargs="+", metavar="JOINT=RATIO", type=_ratio,
        help="gear ratios of joints in an MJCF file; their armature becomes a rotor",
    )  # fmt: skip


def reading_options(args: argparse.Namespace) -> dict[str, Any]:
    """The options of `load`."""
    named = {name: getattr(args, name) for name in ("format", "strict", "waive", "floating", "folders")}
    own = {"sidecar": args.sidecar, "srdf": args.srdf, "straighten": _angles(args.straighten)}
    own["ratios"] = None if args.ratios is None else dict(args.ratios)
    return {**named, **{name: value for name, value in own.items() if value is not None}}


def _angle(text: str) -> tuple[str, float]:
    """ANGLE, or JOINT=ANGLE: the joint, empty for all, and the angle."""
    joint, _, angle = text.rpartition("=")
    try:
        return joint, float(angle)
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected an angle, or JOINT=ANGLE, got {text!r}") from None


def _ratio(text: str) -> tuple[str, float]:
    """JOINT=RATIO."""
    joint, _, ratio = text.rpartition("=")
    try:
        if joint:
            return joint, float(ratio)
    except ValueError:
        pass
    raise argparse.ArgumentTypeError(f"expected JOINT=RATIO, got {text!r}")


def _angles(given: list[tuple[str, float]] | None) -> float | dict[str, float] | None:
    """The option `straighten`: one angle for all joints, or angles by joint."""
    if not given:
        return None
    joints = [joint for joint, _ in given]
    if joints == [""]:
        return given[0][1]
    if "" in joints or len(set(joints)) < len(joints):
        raise ArgumentError("--straighten: expected one angle for all joints, or JOINT=ANGLE for each joint")
    return dict(given)


def is_file(name: str) -> bool:
    """Whether ROBOT means a file: it exists, or has an ending or a folder."""
    return name not in ROBOTS and bool(Path(name).suffix or Path(name).name != name or Path(name).exists())


def read_robot(name: str, **options: Any) -> System:
    """The robot of that name, or in that file."""
    if is_file(name):
        return read_file(name, **options)
    if name not in ROBOTS:
        raise unknown("robot", name, ROBOTS)
    refuse_reading(f"{name} is a robot of the library", options)
    return ROBOTS[name]()


def refuse_reading(what: str, options: Mapping[str, Any]) -> None:
    """Refuse options of `load` for robots that are not files."""
    asked = [f"--{option}" for option, value in options.items() if value]
    if asked:
        hint = _about_writing(options.get("waive", ()))
        raise ArgumentError(f"{what}, not a file to read: leave out {', '.join(asked)}{hint}")


def read_file(file: str, **options: Any) -> System:
    """The robot in a file; the caller reports its findings."""
    if file in ROBOTS and not Path(file).exists():
        raise ArgumentError(f"there is no file {file!r}; for the robot of the library: `fourbar info {file}`")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FileWarning)
        return load(file, **options)


def _about_writing(waived: Sequence[str]) -> str:
    """A hint where keys were given that concern the file to be written."""
    meant = [key for key in waived if key in WRITTEN]
    return f". To accept what `fourbar convert` cannot write: --waive-written {' '.join(meant)}" if meant else ""


def print_warnings(robot: System, file: str) -> None:
    """Summarise on stderr what was found while a robot's file was read."""
    if robot.report.warnings:
        print(f"{file}: {summary(robot.report.warnings)}; `fourbar check {file}` lists them", file=sys.stderr)


def positive(text: str) -> float:
    """A positive finite number."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (value > 0.0 and math.isfinite(value)):
        raise argparse.ArgumentTypeError(f"expected a positive number, got {text!r}")
    return value


def number(text: str) -> float:
    """A finite number."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise argparse.ArgumentTypeError(f"expected a finite number, got {text!r}")
    return value


def not_negative(text: str) -> float:
    """A finite number that is not negative."""
    value = number(text)
    if value < 0.0:
        raise argparse.ArgumentTypeError(f"expected a number that is not negative, got {text!r}")
    return value


def at_least_one(text: str) -> int:
    """A whole number of at least 1."""
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"expected a whole number of at least 1, got {text!r}")
    return int(text)


def pairs(rows: Sequence[tuple[str, str]]) -> str:
    """One line per label and value."""
    width = max(len(label) for label, _ in rows)
    return "\n".join(f"{label:<{width}}  {value}" for label, value in rows)


def columns(head: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> str:
    """Rows below a header; the columns numbered in `right` are right-aligned."""
    lines = [list(head), *map(list, rows)]
    widths = [max(len(line[c]) for line in lines) for c in range(len(head))]

    def align(line: Sequence[str]) -> str:
        cells = [x.rjust(w) if c in right else x.ljust(w) for c, (x, w) in enumerate(zip(line, widths, strict=True))]
        return "  ".join(cells).rstrip()

    rule = "  ".join("-" * w for w in widths)
    return "\n".join([align(lines[0]), rule, *map(align, lines[1:])])


def duration(seconds: float) -> str:
    """A time in a suitable unit, three digits."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"
