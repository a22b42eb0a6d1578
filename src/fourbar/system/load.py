"""Robots from model files."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ..errors import ArgumentError, MasslessError, ModelError, warn
from ..hints import with_keyword_hints
from ..io.formats import read_file, read_options, read_text
from ..io.report import WRITTEN, Finding, ParseError, Place, Reading, Report, summary, unused_waivers
from ..io.source import Options
from ..joints.base import Joint
from ..mechanism.mechanism import Mechanism
from ..once import no_collection
from .closed_states import FLAT, FLAT_FIX, SLACK, SLACK_FIX, flat_messages, slack_messages
from .massless_bodies import MASSLESS
from .system import System, restore


class FileWarning(UserWarning):
    """A file has parts that were not understood; the robot's `report` lists them."""


@with_keyword_hints
def load(
    path: str | Path,
    *,
    format: str | None = None,
    strict: bool = False,
    waive: Iterable[str] = (),
    floating: bool | Joint = False,
    folders: Iterable[str | Path] = (),
    **extra: Any,
) -> System:
    """Load a robot from a model file.

    Parameters
    ----------
    path : str or Path
        URDF, MJCF or SDF, or the native format in JSON or TOML.
    format : str, optional
        Format, if neither the content nor the ending of the file determines it.
    strict : bool, default False
        Make errors of warnings: of all that is not understood.
    waive : iterable of str, optional
        Findings to accept, by their keys: a tag ('gazebo'), an attribute ('joint@colour'), a path ('link/contact'), or
        a pattern of these ('link/*').
    floating : bool or Joint, default False
        True puts the root on a free joint, a joint on that joint.
    folders : iterable of str or Path, optional
        Where packages and meshes are looked for.
    **extra : object
        Options of one format, see docs/files.md.

    Returns
    -------
    System
        The robot; its `report` lists all that was not understood.

    Raises
    ------
    ParseError
        If the file cannot be read as a robot, or what is not understood would change its dynamics and is not waived.

    Warns
    -----
    FileWarning
        If parts of the file were not understood.

    See Also
    --------
    loads : The same for the content of a file.
    System.save : Write a file.

    Examples
    --------
    >>> import tempfile, fourbar as fb
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = fb.robots.double_pendulum().save(f"{folder}/arm.urdf")
    ...     robot = fb.load(f"{folder}/arm.urdf")
    >>> robot
    <fourbar System 'double_pendulum': 3 bodies, nq=2, nv=2>
    """
    options = read_options(strict, waive, floating, folders, extra)
    with no_collection():
        return _build(*read_file(path, format, options), options, str(path))


@with_keyword_hints
def loads(
    text: str | bytes,
    *,
    format: str | None = None,
    name: str = "<text>",
    strict: bool = False,
    waive: Iterable[str] = (),
    floating: bool | Joint = False,
    folders: Iterable[str | Path] = (),
    **extra: Any,
) -> System:
    """Load a robot from the content of a model file.

    Parameters
    ----------
    text : str or bytes
        The content.
    format : str, optional
        Format, if the content does not determine it.
    name : str, default '<text>'
        What messages call the text.
    strict : bool, default False
        Make errors of warnings: of all that is not understood.
    waive : iterable of str, optional
        Findings to accept, by their keys; see `load`.
    floating : bool or Joint, default False
        True puts the root on a free joint, a joint on that joint.
    folders : iterable of str or Path, optional
        Where packages and meshes are looked for.
    **extra : object
        Options of one format, see docs/files.md.

    Returns
    -------
    System
        The robot; its `report` lists all that was not understood.

    Raises
    ------
    ParseError
        If the text cannot be read as a robot.

    See Also
    --------
    load : The same for a file.

    Examples
    --------
    >>> import fourbar as fb
    >>> text = '''<robot name="arm"><link name="base"/>
    ...   <link name="rod"><inertial><origin xyz="0 0 -0.5"/><mass value="1"/>
    ...     <inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.01"/></inertial></link>
    ...   <joint name="hinge" type="continuous"><parent link="base"/><child link="rod"/><axis xyz="0 1 0"/></joint>
    ... </robot>'''
    >>> fb.loads(text)
    <fourbar System 'arm': 2 bodies, nq=1, nv=1>
    """
    options = read_options(strict, waive, floating, folders, extra)
    with no_collection():
        return _build(*read_text(text, name, format, options), options, name)


def _build(mechanism: Mechanism, report: Report, options: Options, file: str) -> System:
    try:
        robot = System(mechanism, report)
    except MasslessError as error:
        report += _judge(_locate(report, str(error), file), options)
        robot = restore(mechanism, report)
    except ModelError as error:
        raise ParseError(report + Report((_locate(report, str(error), file),))) from error
    except ArithmeticError as error:
        message = f"the robot cannot be built, since a number is too large or too small: {error}"
        raise ParseError(report + Report((_locate(report, message, file),))) from error
    robot.__dict__["report"] = report = _with_loops(robot, options, file)
    _check_waived(options, report, file)
    if report.warnings:
        text = f"{file}: {summary(report.warnings)}; robot.report says where and what"
        warn(text, FileWarning)
    return robot


def _with_loops(robot: System, options: Options, file: str) -> Report:
    """The robot's report with findings for loops with rows left out, and for loops drawn where they are singular."""
    reading = Reading(file, options.strict, options.waive)
    for message in slack_messages(robot.model.cluster_tree):
        reading.warn(robot.report.place_of(message, file), message, SLACK_FIX, SLACK)
    for message in flat_messages(robot.mechanism, robot.model.cluster_tree):
        reading.warn(robot.report.place_of(message, file), message, FLAT_FIX, FLAT)
    found = Report(tuple(reading.findings))
    if any(finding.severity == "error" for finding in found):
        raise ParseError(robot.report + found)
    return robot.report + found


def _judge(massless: Finding, options: Options) -> Report:
    """The finding where a joint moves no inertia: it matters only where forward dynamics is needed."""
    reading = Reading(massless.file, options.strict, options.waive)
    place = Place(massless.file, massless.line, massless.element)
    reading.warn(place, massless.message, f"or accept NaN there with waive=[{MASSLESS!r}]", MASSLESS)
    return reading.close()


def _check_waived(options: Options, report: Report, file: str) -> None:
    """Refuse waivers that match no finding: they are misspelt, or meant for another file."""
    idle = unused_waivers(options.waive, report)
    if idle:
        keys = ", ".join(dict.fromkeys(f.key for f in report if f.key)) or "nothing to waive"
        meant = " ".join(key for key in idle if key in WRITTEN)
        hint = f". To waive what cannot be written: save(..., waive=...), or --waive-written {meant}" if meant else ""
        raise ArgumentError(
            f"waive={idle!r} (--waive {' '.join(idle)}) matches no finding in {file}; found while reading: {keys}; a "
            f"pattern such as {idle[0] + '*'!r} may match none{hint}"
        )


def _locate(report: Report, message: str, file: str) -> Finding:
    return Finding("error", message, "", *report.place_of(message, file))
