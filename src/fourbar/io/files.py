"""From a file, or a text, to a mechanism and a report; and back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from ..errors import ArgumentError
from ..joints.base import Joint
from ..mechanism.mechanism import Mechanism
from .formats import FORMATS, find_format
from .report import Report
from .source import Options, Source, check_path, read_source


def read_options(
    strict: bool, waive: Iterable[str], floating: bool | Joint, folders: Iterable[str | Path], extra: Mapping[str, Any]
) -> Options:
    """The user's options, checked."""
    if not isinstance(strict, bool):
        raise ArgumentError(f"strict={strict!r}: expected True or False")
    if not isinstance(floating, bool | Joint):
        raise ArgumentError(f"floating={floating!r}: expected True, False, or the joint that carries the root")
    where = tuple(Path(folder) for folder in _listed("folders", folders))
    for folder in where:
        if not folder.is_dir():
            raise ArgumentError(f"folders: there is no folder {str(folder)!r}")
    return Options(strict, read_waived(waive), floating, where, dict(extra))


def read_waived(waive: Any) -> tuple[str, ...]:
    """The user's waivers, checked."""
    return tuple(map(str, _listed("waive", waive, (str,))))


def _listed(name: str, value: Any, kinds: tuple[type, ...] = (str, PathLike)) -> tuple[Any, ...]:
    """A list of names from the user."""
    if isinstance(value, str | PathLike):
        raise ArgumentError(f"{name}={value!r}: expected a list, such as [{str(value)!r}]")
    found = tuple(value) if isinstance(value, Iterable) else None
    if found is None or not all(isinstance(x, kinds) for x in found):
        raise ArgumentError(f"{name}={value!r}: expected a list of names, [] for none")
    return found


def read_file(path: str | Path, format: str | None, options: Options) -> tuple[Mechanism, Report]:
    """The mechanism in a file."""
    where = check_path(path)
    if where.is_dir():
        raise ArgumentError(_a_folder(where))
    source = read_source(path)
    return find_format(source.name, source.data, format).read(source, options)


def _a_folder(path: Path) -> str:
    """A hint where a model file is expected."""
    endings = {ending for format in FORMATS.values() for ending in format.endings}
    inside = sorted(x.name for x in path.iterdir() if x.suffix.lower() in endings and x.is_file())
    listed = ", ".join(inside[:6]) + (", ..." if len(inside) > 6 else "")
    return f"{str(path)[:200]!r} is a folder; give a model file" + (f" of it: {listed}" if inside else "")


def read_text(text: str | bytes, name: str, format: str | None, options: Options) -> tuple[Mechanism, Report]:
    """The mechanism in a text."""
    if not isinstance(text, str | bytes):
        raise ArgumentError(f"loads takes the text of a model file, got {text!r}")
    data = text.encode() if isinstance(text, str) else text
    return find_format(name, data, format).read(Source(name, data), options)


def write_file(mechanism: Mechanism, path: str | Path, format: str | None, waive: Iterable[str] = ()) -> Report:
    """Write a mechanism to a file; returns what the format could not express."""
    where, waived = check_path(path), read_waived(waive)
    text, report = find_format(str(path), chosen=format).write(mechanism, str(path), waived)
    if not where.parent.is_dir():
        raise ArgumentError(f"file {str(path)!r} cannot be written: there is no folder {str(where.parent)!r}")
    try:
        where.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ArgumentError(f"file {str(path)!r} cannot be written: {error}") from None
    return report
