"""The findings of reading a file: nothing that the file says is dropped without one.

A reader holds a `Reading`, reports to it what it finds, and closes it into a frozen `Report`. An error in one element
does not hide those in the next: `with reading.element():` around each collects the errors of all.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import PurePath
from typing import Literal, NamedTuple, NoReturn

from ..errors import ModelError
from ..representation import html_table, quantity

Severity = Literal["note", "warning", "error"]
SEVERITIES: tuple[Severity, ...] = ("note", "warning", "error")
# What may be waived when a file is written, and what it means; keys of what is read are those of findings.
WRITTEN = {
    "coordinates": "the joint is written as others, with other coordinates and velocities",
    "loop": "the loop is left out",
    "armature": "the armature is left out",
    "zero": "loops are closed where joints are at zero, so that coordinates have another origin",
    "inertia": "the inertia is written as the nearest physically consistent one",
    "fluid": "added mass, buoyancy and forces of the fluid that the format does not know are left out",
}
_SHOWN = 10  # errors listed in a message
_ENOUGH = 1000  # elements with an error after which reading stops


class Place(NamedTuple):
    """A place in a file: line 0 is the file as a whole; `element` is a path such as robot/link 'arm'/inertial."""

    file: str
    line: int = 0
    element: str = ""


@dataclass(frozen=True)
class Finding:
    """A finding about a file: its severity, message, fix and place.

    Parameters
    ----------
    severity : {'note', 'warning', 'error'}
        How bad it is.
    message : str
        What was found.
    fix : str, default ''
        What to do.
    file : str, default ''
        The file.
    line : int, default 0
        The line; 0 is the file as a whole.
    element : str, default ''
        Path of the element, such as robot/link 'arm'/inertial.
    key : str, default ''
        What `waive=` calls it; empty where it cannot be waived.

    Examples
    --------
    >>> import fourbar as fb
    >>> print(fb.Finding("warning", "unknown element", file="arm.urdf", line=3, key="gazebo"))
    arm.urdf:3: warning: unknown element
    """

    severity: Severity
    message: str
    fix: str = ""
    file: str = ""
    line: int = 0
    element: str = ""
    key: str = ""

    def __str__(self) -> str:
        return _line(self, self.file, self.element)


def _line(finding: Finding, file: str, about: str) -> str:
    """A finding as a line of text: place, severity, message, and fix."""
    place = f"{file}:{finding.line}" if finding.line else file
    parts = [place, finding.severity, about, finding.message]
    return ": ".join(x for x in parts if x) + (f"; {finding.fix}" if finding.fix else "")


@dataclass(frozen=True)
class Report:
    """All findings about a file, in the order of the file.

    Printed, findings of one kind are one line, the worst first, and files are named from the folder of `file`.

    Parameters
    ----------
    findings : tuple of Finding, default ()
        The findings.
    places : mapping of str to Place, optional
        Where the file declares what is called so; of a loop with its kind, ``"loop 'bar'"``.
    file : str, default ''
        The file that was read.

    Examples
    --------
    >>> import fourbar as fb
    >>> report = fb.Report((fb.Finding("warning", "unknown element", file="arm.urdf", line=3, key="gazebo"),))
    >>> len(report), bool(report.errors)
    (1, False)
    """

    findings: tuple[Finding, ...] = ()
    places: Mapping[str, Place] = field(default_factory=dict, compare=False, repr=False)
    file: str = field(default="", compare=False, repr=False)

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.findings)

    def __len__(self) -> int:
        return len(self.findings)

    def __str__(self) -> str:
        return "\n".join(self.lines()) or "nothing to report"

    def __repr__(self) -> str:
        of = f" of {self.file!r}" if self.file else ""
        return f"<fourbar Report{of}: {', '.join(quantity(len(self.of(x)), x) for x in reversed(SEVERITIES))}>"

    def _repr_html_(self) -> str:
        worst_first = (finding for severity in reversed(SEVERITIES) for finding in self.of(severity))
        rows = ((f.severity, f"{self._relative(f.file)}:{f.line}", f.element, f.message, f.fix) for f in worst_first)
        return html_table(repr(self), ("severity", "place", "element", "finding", "what to do"), rows)

    def details(self) -> str:
        """Every finding on a line of its own.

        Returns
        -------
        str
            The lines, in the order of the file.
        """
        return "\n".join(map(str, self.findings)) or "nothing to report"

    def lines(self, grouped: Sequence[Severity] = SEVERITIES) -> Iterator[str]:
        """The printed lines; `grouped`: the severities whose findings of one kind share a line."""
        kinds: dict[tuple[object, ...], list[Finding]] = {}
        for n, finding in enumerate(self.findings):
            kind = (finding.key or finding.message) if finding.severity in grouped else n
            kinds.setdefault((finding.severity, kind), []).append(finding)
        for severity in reversed(SEVERITIES):
            yield from (self._together(found) for (own, _), found in kinds.items() if own == severity)

    def _together(self, findings: Sequence[Finding]) -> str:
        """Findings of one kind on one line: the first of them, and their number."""
        first = findings[0]
        file = self._relative(first.file)
        if len(findings) == 1:
            return _line(first, file, first.element)
        same = all(f.message == first.message for f in findings)
        count = f"{len(findings)} elements" + ("" if same else ", the first of them")
        return _line(first, file, f"{first.key}: {count}" if first.key else count)

    def _relative(self, file: str) -> str:
        """The name of a file relative to the folder of the one that was read. Included files have absolute names."""
        folder, path = PurePath(self.file).parent, PurePath(file)
        if self.file and path.is_absolute() and not folder.is_absolute():
            folder = PurePath(os.path.abspath(folder))
        return str(path.relative_to(folder)) if self.file and path.is_relative_to(folder) else file

    def of(self, severity: Severity) -> tuple[Finding, ...]:
        """Findings of one severity.

        Parameters
        ----------
        severity : {'note', 'warning', 'error'}
            The severity.

        Returns
        -------
        tuple of Finding
            In the order of the file.
        """
        return tuple(f for f in self.findings if f.severity == severity)

    @property
    def errors(self) -> tuple[Finding, ...]:
        """Findings that make the file unreadable.

        Returns
        -------
        tuple of Finding
            In the order of the file.
        """
        return self.of("error")

    @property
    def warnings(self) -> tuple[Finding, ...]:
        """Findings that were not understood, but leave the dynamics as it is.

        Returns
        -------
        tuple of Finding
            In the order of the file.
        """
        return self.of("warning")

    @property
    def notes(self) -> tuple[Finding, ...]:
        """Findings that lose nothing, but are good to know.

        Returns
        -------
        tuple of Finding
            In the order of the file.
        """
        return self.of("note")

    def __add__(self, other: Report) -> Report:
        return Report(self.findings + other.findings, {**other.places, **self.places}, self.file or other.file)

    def place_of(self, message: str, file: str) -> Place:
        """Where the first loop is declared that a message names, or else the first thing that it quotes; the file as a
        whole if none is.
        """
        loops = map(loop_key, re.findall(r"\bloops? '([^']+)'", message))
        named = (self.places[x] for x in (*loops, *re.findall(r"'([^']+)'", message)) if x in self.places)
        return next(named, Place(file))


NOTHING = Report()


def loop_key(name: str) -> str:
    """The key of a loop among places: a body or a joint may have the same name."""
    return f"loop {name!r}"


class ParseError(ModelError):
    """A file that cannot be read as a mechanism. `report` has all findings so far, including the errors."""

    def __init__(self, report: Report) -> None:
        self.report = report
        errors = [str(f).replace(": error: ", ": ", 1) for f in report.errors]
        more = [f"... and {len(errors) - _SHOWN} more errors"] if len(errors) > _SHOWN else []
        super().__init__("\n".join([*errors[:_SHOWN], *more]))

    def __reduce__(self) -> tuple[type[ParseError], tuple[Report]]:
        return ParseError, (self.report,)


class Reading:
    """Collects findings, and knows how strict to be.

    What is not understood is a warning, or an error with `strict`; what would change the dynamics is an error. Both
    become notes where `waive` names them: a tag ("gazebo"), an attribute ("joint@colour"), a path ("link/contact"), or
    a pattern of these ("link/*").
    """

    def __init__(self, file: str, strict: bool = False, waive: Iterable[str] = ()) -> None:
        self.file = file
        self.strict = strict
        self.waive = tuple(waive)
        self.findings: list[Finding] = []
        self.places: dict[str, Place] = {}
        self._failed = 0  # elements with an error

    def add(self, severity: Severity, place: Place, message: str, fix: str = "", key: str = "") -> Finding:
        """Record a finding."""
        finding = Finding(severity, message, fix, *place, key)
        self.findings.append(finding)
        return finding

    def note(self, place: Place, message: str, fix: str = "", key: str = "") -> None:
        """Something that loses nothing but is good to know. Notes of one key are printed as one line."""
        self.add("note", place, message, fix, key)

    def warn(self, place: Place, message: str, fix: str = "", key: str = "") -> None:
        """Something not understood that does not affect the dynamics."""
        self._judge("error" if self.strict else "warning", place, message, fix, key)

    def doubt(self, place: Place, message: str, fix: str = "", key: str = "") -> None:
        """Something not understood, or impossible, that affects the dynamics."""
        self._judge("error", place, message, fix, key)

    def fail(self, place: Place, message: str, fix: str = "", key: str = "") -> NoReturn:
        """Something that cannot be read at all: give up this element. `key`: what can be waived nevertheless."""
        raise ParseError(Report((Finding("error", message, fix, *place, key),)))

    def is_waived(self, key: str) -> bool:
        """Whether the user accepts findings of this key: a trailing part of its path is named."""
        return names_any(self.waive, key)

    def _judge(self, severity: Severity, place: Place, message: str, fix: str, key: str) -> None:
        if key and self.is_waived(key):
            self.add("note", place, f"{message} (waived)", "", key)
        else:
            if key and severity == "error":
                fix = f"{fix}; or" if fix else "remove it from the file, or"
                fix += f" accept it with waive=[{key!r}]"
            self.add(severity, place, message, fix, key)

    @contextmanager
    def element(self) -> Iterator[None]:
        """A context for reading one element: its error is recorded, and the next element is read."""
        try:
            yield
        except ParseError as error:
            self.findings.extend(error.report.findings)
            self._failed += 1
            if self._failed > _ENOUGH:
                self.check()

    @contextmanager
    def lenient(self, key: str, doubt: bool = False, outcome: str = "") -> Iterator[None]:
        """A context for reading what can be left out: an error becomes a warning, or with `doubt` an error unless
        waived. `outcome`: what follows from it.
        """
        try:
            yield
        except ParseError as error:
            for f in error.report.findings:
                message = f"{f.message}; {outcome}" if outcome else f.message
                (self.doubt if doubt else self.warn)(Place(f.file, f.line, f.element), message, f.fix, key)

    @contextmanager
    def naming(self, place: Place, fixes: Mapping[type[ModelError], str] | None = None) -> Iterator[None]:
        """A context for building parts of the mechanism: refusals get a file and a line, and those of some kinds what
        to do.
        """
        try:
            yield
        except ParseError:
            raise
        except (ModelError, ArithmeticError) as error:
            whole = not place.line and not place.element
            found = self.report().place_of(str(error), self.file) if whole else place
            message = str(error) if isinstance(error, ModelError) else f"a number is too large or too small: {error}"
            fix = next((text for kind, text in (fixes or {}).items() if isinstance(error, kind)), "")
            raise ParseError(Report((Finding("error", message, fix, *found),))) from error

    def check(self) -> None:
        """Stop here if there are errors so far."""
        if any(f.severity == "error" for f in self.findings):
            raise ParseError(self.report())

    def report(self) -> Report:
        """All findings so far, by line, each once."""
        found = sorted(self.findings, key=lambda f: (f.file != self.file, f.file, f.line))
        return Report(tuple(dict.fromkeys(found)), self.places, self.file)

    def close(self) -> Report:
        """The report of a completely read file; raises if it has errors."""
        self.check()
        return self.report()


def names_any(patterns: Iterable[str], key: str) -> bool:
    """Whether one of these patterns matches this key: a trailing part of its path."""
    return any(_names(pattern, key) for pattern in patterns)


def _names(pattern: str, key: str) -> bool:
    """Whether a waiver matches this key: a trailing part of its path."""
    steps = key.split("/")
    return any(fnmatchcase("/".join(steps[i:]), pattern) for i in range(len(steps)))


def unused_waivers(waive: Iterable[str], report: Report) -> list[str]:
    """Waivers that match no finding; patterns such as * may match none."""
    keys = {finding.key for finding in report if finding.key}
    plain = [name for name in waive if not set(name) & set("*?[")]
    return [name for name in plain if not any(_names(name, key) for key in keys)]


def summary(findings: Sequence[Finding]) -> str:
    """A short summary of findings: how many, and of what."""
    keys = list(dict.fromkeys(f.key or f.message for f in findings))
    listed = ", ".join(keys[:5]) + (", ..." if len(keys) > 5 else "")
    return f"{len(findings)} warning{'s' if len(findings) > 1 else ''} ({listed})"
