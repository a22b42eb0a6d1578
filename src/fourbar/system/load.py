"""Robots from model files."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..errors import ModelError, warn
from ..io.files import read_file, read_options, read_text
from ..io.report import Finding, ParseError, Reading, Report, in_vain, summary
from ..io.source import Options
from ..joints.base import Joint
from ..model.mechanism import Mechanism
from .massless import MasslessError
from .robot import System, restored
from .slack import SLACK, SLACK_FIX, slack_messages

MASSLESS = "massless"  # what `waive` calls a joint that moves nothing


class FileWarning(UserWarning):
    """A file has parts that were not understood; the robot's `report` lists them."""


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
    """The robot in a model file. The format is told by the file's content or ending, or by `format`.

    All that was not understood is in the robot's `report`: a warning by default, an error with `strict`; an error where
    it would change the dynamics, unless `waive` names it. `floating`: True puts the root on a free joint, a joint on
    that joint. `folders`: where packages and meshes are looked for. Other options belong to one format: see
    docs/files.md.
    """
    options = read_options(strict, waive, floating, folders, extra)
    return _built(*read_file(path, format, options), options, str(path))


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
    """The robot in a text: as `load`, for the content of a file. `name` is what messages call it."""
    options = read_options(strict, waive, floating, folders, extra)
    return _built(*read_text(text, name, format, options), options, name)


def _built(mechanism: Mechanism, report: Report, options: Options, file: str) -> System:
    report += _told_in_vain(options, report, file)
    try:
        robot = System(mechanism, report)
    except MasslessError as error:
        finding = _located(report, str(error), file)
        if not Reading(file, waive=options.waive).is_waived(MASSLESS):
            fix = f"or accept it with waive=[{MASSLESS!r}]: forward dynamics is then NaN"
            raise ParseError(report + Report((replace(finding, fix=fix),))) from None
        noted = replace(finding, severity="note", message=f"{error} (waived)", key=MASSLESS)
        robot = restored(mechanism, report + Report((noted,)))
    except ModelError as error:
        raise ParseError(report + Report((_located(report, str(error), file),))) from error
    robot.__dict__["report"] = report = _with_slack(robot, options, file)
    if report.warnings:
        text = f"{file}: {summary(report.warnings)}; robot.report says where and what"
        warn(text, FileWarning)
    return robot


def _with_slack(robot: System, options: Options, file: str) -> Report:
    """The robot's report with a finding for each loop of which rows are left out."""
    reading = Reading(file, options.strict, options.waive)
    for message in slack_messages(robot.model.lowered):
        reading.warn(robot.report.place_of(message, file), message, SLACK_FIX, SLACK)
    found = Report(tuple(reading.findings))
    if any(finding.severity == "error" for finding in found):
        raise ParseError(robot.report + found)
    return robot.report + found


def _told_in_vain(options: Options, report: Report, file: str) -> Report:
    """A note on each name in `waive` that nothing was found for, but for what only the finished robot tells."""
    names = [name for name in in_vain(options.waive, report) if name not in (MASSLESS, SLACK)]
    notes = (f"waive={[name]!r}: nothing was found that is called so" for name in names)
    return Report(tuple(Finding("note", message, "", file) for message in notes))


def _located(report: Report, message: str, file: str) -> Finding:
    return Finding("error", message, "", *report.place_of(message, file))
