"""The input of a reader: the bytes of a file with its name, and the user's options."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

from ..errors import ArgumentError
from ..hints import hint
from ..joints.base import Joint
from .report import Finding, ParseError, Reading, Report

LARGEST = 64 * 2**20  # bytes of a model file


@dataclass(frozen=True)
class Source:
    """A file, or a text under a name. `folder` is where relative names in it start; None: nowhere."""

    name: str
    data: bytes
    folder: Path | None = None

    @property
    def text(self) -> str:
        """The content as UTF-8; raises ParseError where it is not."""
        try:
            return self.data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            line = self.data.count(b"\n", 0, error.start) + 1
            message = f"byte 0x{self.data[error.start]:02x} is not UTF-8"
            raise ParseError(Report((Finding("error", message, "save the file as UTF-8", self.name, line),))) from None


@dataclass(frozen=True)
class Options:
    """Options of reading. `extra` are those of one format only; its entry in `formats.py` lists them.

    `floating`: False, True (a free joint carries the root), or the joint that does. `folders`: where to search for
    packages and meshes; no path that leads out of these and the file's own folder is opened, but symbolic links in them
    are followed.
    """

    strict: bool = False
    waive: tuple[str, ...] = ()
    floating: bool | Joint = False
    folders: tuple[Path, ...] = ()
    extra: Mapping[str, Any] = field(default_factory=dict)

    def reading(self, source: Source) -> Reading:
        """An empty collection of findings about this file."""
        return Reading(source.name, self.strict, self.waive)


def check_path(path: Any) -> Path:
    """The name of a file as a path."""
    if not isinstance(path, str | PathLike):
        raise ArgumentError(f"expected the name of a file, got {path!r}")
    return Path(path)


def read_source(path: str | Path) -> Source:
    """The file at a path."""
    where = check_path(path)
    if where.is_dir():
        raise ArgumentError(f"{str(path)[:200]!r} is a folder; give a file")
    try:
        if where.stat().st_size > LARGEST:
            raise too_large(str(path))
        return Source(str(path), where.read_bytes(), where.parent)
    except FileNotFoundError:
        raise ArgumentError(f"there is no file {str(path)[:200]!r}{_advice(where)}") from None
    except (OSError, ValueError) as error:
        raise ArgumentError(f"file {str(path)[:200]!r} cannot be read: {error}") from None


def _advice(missing: Path) -> str:
    """A hint for who asked for a file that does not exist: a text or an address in place of a file, or a near name."""
    asked = str(missing)
    if "<" in asked:
        return "; to read a text, use loads(text, format=...)"
    if ":/" in asked[2:]:
        return "; nothing is downloaded automatically: download it first"
    try:
        near = hint(missing.name, [x.name for x in missing.parent.iterdir() if x.is_file()])
    except OSError:
        return f"; there is no folder {str(missing.parent)[:200]!r}"
    return f"; {near}" if near else ""


def too_large(name: str) -> ParseError:
    """The error for a file beyond the limit."""
    return ParseError(Report((Finding("error", f"the file is larger than {LARGEST // 2**20} MiB", "", name),)))
