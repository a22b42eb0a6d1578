"""Numbers and elements as text, and what could not be expressed."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np

from ...errors import ArgumentError, ModelError
from ...spatial.transform import Transform
from ..report import WRITTEN, Finding, Report

_SHOWN = 5  # names in a message
# Characters that XML does not allow. A pattern over so many is compiled when first needed: it takes milliseconds.
_ILLEGAL = "[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"


def words(values: Iterable[Any]) -> str:
    """Numbers with all their digits, separated by spaces."""
    return " ".join(repr(float(x) + 0.0) for x in values)


def list_names(names: Iterable[str]) -> str:
    """Names in quotes, the first of many."""
    quoted = [repr(name) for name in names]
    return ", ".join(quoted[:_SHOWN]) + (f" and {len(quoted) - _SHOWN} more" if len(quoted) > _SHOWN else "")


def child(parent: ET.Element, tag: str, **attributes: Any) -> ET.Element:
    """An element inside another; attributes that are None are left out."""
    given = {key: value if isinstance(value, str) else words(np.ravel(value)) for key, value in attributes.items()
             if value is not None}  # fmt: skip
    return ET.SubElement(parent, tag, given)


def as_text(root: ET.Element) -> str:
    """The complete document."""
    ET.indent(root, " ")
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


class Fresh:
    """Names for what exists only in the file: different from all that are taken."""

    def __init__(self, used: Iterable[str]) -> None:
        self._taken = set(used)

    def is_free(self, name: str) -> bool:
        """Whether a name is free."""
        return name not in self._taken

    def __call__(self, name: str) -> str:
        """This name, with a suffix where it is taken."""
        while name in self._taken:
            name += "_"
        self._taken.add(name)
        return name


def rpy(T: Transform) -> tuple[float, float, float]:
    """Roll, pitch and yaw of R = Rz(yaw) Ry(pitch) Rx(roll). Roll is that for this yaw: exact near pitch ±π/2 too."""
    (r00, r01, r02), (r10, r11, r12), (r20, _, _) = np.array(T.R, float).tolist()
    yaw = math.atan2(r10, r00)
    c, s = math.cos(yaw), math.sin(yaw)
    return math.atan2(s * r02 - c * r12, c * r11 - s * r01), math.atan2(-r20, c * r00 + s * r10), yaw


def check_waived(waive: Iterable[str], known: Iterable[str]) -> None:
    """Refuse keys that a writer does not know."""
    listed = ", ".join(known)
    strange = [key for key in waive if key not in known]
    if strange:
        expected = (
            f"expected some of {listed}"
            if listed
            else ("this format expresses everything, so that there is nothing to waive")
        )
        raise ArgumentError(f"waive={strange!r}: {expected}")


class Unsaid:
    """Handles what a format cannot express: refused where the dynamics depends on it, unless waived; else reported."""

    def __init__(self, format: str, file: str, waive: Iterable[str] = ()) -> None:
        self._format, self._file, self._waive = format, file, tuple(waive)
        check_waived(self._waive, WRITTEN)
        self._needed: set[str] = set()
        self._left: dict[tuple[str, str, str], list[str]] = {}  # names by kind, what is left out, and fix
        self._refused: list[str] = []
        self._keys: dict[str, None] = {}

    def leave(self, what: str, fix: str = "", joint: str = "", actuator: str = "") -> None:
        """Something that does not change the dynamics is left out, or changed.

        Joints, or actuators, of which the same is left out are named together.
        """
        names = self._left.setdefault(("joint" if joint else "actuator" if actuator else "", what, fix), [])
        names.extend({joint, actuator} - {"", *names})

    def refuse(self, what: str, key: str = "") -> bool:
        """Something without which the file would describe another robot. True where `key` is waived."""
        if key and key in self._waive:
            self.leave(f"{what}: {WRITTEN[key]} (waived)")
            self._needed.add(key)
            return True
        self._refused.append(what)
        self._keys.update({key: None} if key else {})
        return False

    def name(self, name: str) -> str:
        """A name that XML can represent."""
        if re.search(_ILLEGAL, name):
            self.refuse(f"the name {name!r} has characters that XML cannot represent")
        return name

    def report(self) -> Report:
        """The report of what was left out, and of waivers that were not needed; raises if anything was refused."""
        if self._refused:
            keys = "; ".join(f"waive=[{key!r}] (--waive-written {key}): {WRITTEN[key]}" for key in self._keys)
            fix = f". To write a different robot nevertheless, {keys}" if keys else ""
            raise ModelError(f"{self._file}: {self._format} cannot express: " + "; ".join(self._refused) + fix)
        idle = [key for key in self._waive if key not in self._needed]
        notes = [
            Finding("note", f"waive={[key]!r} was not needed: nothing was left out", "", self._file) for key in idle
        ]
        return Report((*(self._finding(*key, names) for key, names in self._left.items()), *notes))

    def _finding(self, kind: str, what: str, fix: str, names: list[str]) -> Finding:
        of = f"{kind}{'s' * (len(names) > 1)} {list_names(names)}: " if names else ""
        return Finding("warning", of + what, fix, self._file)
