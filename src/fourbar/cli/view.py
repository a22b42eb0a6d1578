"""view: show a robot or a recorded motion in the browser.

Serves a page until interrupted, to this machine only unless --host is given; or writes a file with --output.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path

from ..errors import ArgumentError
from ..robots import ROBOTS
from ..sim.motions.results import load_recording
from ..viewer.export import ENDINGS, write
from ..viewer.recorded_motion import RecordedMotion, still
from ..viewer.served_page import LOCAL
from ..viewer.view import view
from .shared_arguments import add_reading, print_warnings, read_robot, reading_options, refuse_reading

_RECORDED = ".npz"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "robot", metavar="FILE",
        help=f"a model file, a motion saved by run.save('run.npz'), or a robot of the library: {', '.join(ROBOTS)}",
    )  # fmt: skip
    parser.add_argument("--host", default=LOCAL, help=f"address to serve (default: {LOCAL}, this machine only)")
    parser.add_argument("--port", type=int, default=8080, help="port of the page (default: 8080, or the next free one)")
    parser.add_argument(
        "--allow", action="append", default=[], metavar="NAME",
        help="another name or address under which the page may be opened (behind a proxy); may be repeated",
    )  # fmt: skip
    parser.add_argument("--no-browser", action="store_true", help="print the address, but do not open a browser")
    parser.add_argument("--output", type=Path, metavar="FILE", help=f"write a file instead: {', '.join(ENDINGS)}")
    parser.add_argument("--follow", metavar="BODY", help="let the camera follow this body while a motion plays")
    parser.add_argument("--moved", metavar="ROBOT", help="the robot of a motion that does not contain it")
    add_reading(parser)


def run(args: argparse.Namespace) -> int:
    """Serve the page, or write the file."""
    shown = _recording(args)
    follow = {} if args.follow is None else {"follow": args.follow}
    if follow and len(shown.t) < 2:
        raise ArgumentError(f"--follow needs a motion ({_RECORDED}); {args.robot} does not move")
    if args.output is not None:
        if not args.output.absolute().parent.is_dir():
            raise ArgumentError(f"--output {args.output}: there is no folder {args.output.parent}")
        write(shown, args.output, **follow)
        print(f"wrote {args.output}")
        return 0
    try:
        page = view(shown, host=args.host, port=args.port, browser=not args.no_browser, allow=args.allow, **follow)
    except ImportError as error:
        raise ArgumentError(str(error)) from None
    try:
        print(f"{shown.robot.name} at {page.url}; Ctrl-C ends", flush=True)
        page.wait()
    except KeyboardInterrupt:  # as soon as the line was read, before anything waits
        page.stop()
    return 0


def _recording(args: argparse.Namespace) -> RecordedMotion:
    options = reading_options(args)
    if Path(args.robot).suffix.lower() == _RECORDED:
        robot = None
        if args.moved is not None:
            robot = read_robot(args.moved, **options)
        else:
            refuse_reading(f"{args.robot} is a motion", {k: x for k, x in options.items() if k != "folders"})
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return load_recording(args.robot, robot, args.folders)
    if args.moved is not None:
        raise ArgumentError(f"--moved needs a motion ({_RECORDED}); {args.robot} is a robot")
    robot = read_robot(args.robot, **options)
    print_warnings(robot, args.robot)
    return still(robot)
