"""The file formats. To add one: a file of this folder with `read` (and `write`), and a line here; or, in a program of
one's own, a line with the two functions themselves.

    read(source: Source, options: Options) -> tuple[Mechanism, Report]
    write(mechanism: Mechanism, file: str, waive: tuple[str, ...]) -> tuple[str, Report]

The text, and what the format cannot express; `waive`: what may be changed, though that makes another robot.

Both are imported when first needed.

`read_text` and the rest go from a file, or a text, to a mechanism and a report; and back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib import import_module
from os import PathLike
from pathlib import Path, PurePath
from typing import Any

from ..errors import ArgumentError
from ..hints import hint
from ..joints.base import Joint
from ..mechanism.mechanism import Mechanism
from .report import Place, Report
from .source import Options, Source, check_path, read_source
from .xml import root_tag

_COMMON = ("format", "strict", "waive", "floating", "folders")  # options of all formats

Reader = Callable[[Source, Options], tuple[Mechanism, Report]]
Writer = Callable[[Mechanism, str, tuple[str, ...]], tuple[str, Report]]


@dataclass(frozen=True)
class Format:
    """A format: the endings of its files, the tags of their root elements, its reader and writer.

    Reader and writer are functions, or modules of this package that have them. `options`: options of its reader besides
    the common ones.
    """

    name: str
    endings: tuple[str, ...]
    roots: tuple[str, ...] = ()
    reader: str | Reader = ""
    writer: str | Writer = ""
    options: tuple[str, ...] = ()

    def read(self, source: Source, options: Options) -> tuple[Mechanism, Report]:
        """The mechanism in a file."""
        if not self.reader:
            raise ArgumentError(f"{source.name}: {self.name} can be written, but not read")
        for name in options.extra:
            if name not in self.options:
                near = hint(name, (*_COMMON, *self.options), "argument")
                near = near or f"its options: {', '.join(self.options) or 'none besides the common ones'}"
                raise ArgumentError(f"{source.name}: {self.name} has no option {name!r}; {near}")
        reader: Reader = _module(self.reader).read if isinstance(self.reader, str) else self.reader
        with options.reading(source).naming(Place(source.name)):
            return reader(source, options)

    def write(self, mechanism: Mechanism, file: str, waive: Iterable[str] = ()) -> tuple[str, Report]:
        """The text of a mechanism, and what of it could not be expressed."""
        if not self.writer:
            known = ", ".join(f.name for f in FORMATS.values() if f.writer) or "none"
            raise ArgumentError(f"{file}: {self.name} can be read, but not written; formats to write: {known}")
        writer: Writer = _module(self.writer).write if isinstance(self.writer, str) else self.writer
        return writer(mechanism, file, tuple(waive))


def _module(name: str) -> Any:
    return import_module(f".{name}", __package__)


FORMATS: dict[str, Format] = {}


def register(format: Format) -> Format:
    """Add a format; one of the same name is replaced."""
    FORMATS[format.name] = format
    return format


_MJCF = ("ratios", "straighten")
register(Format("mjcf", (".mjcf", ".xml"), ("mujoco",), reader="mjcf", writer="export.mjcf", options=_MJCF))
register(Format("json", (".json",), reader="native.json", writer="native.json"))
register(Format("toml", (".toml",), reader="native.toml", writer="native.toml"))
register(Format("urdf", (".urdf",), ("robot",), reader="urdf", writer="export.urdf", options=("sidecar", "srdf")))
register(Format("sdf", (".sdf", ".world"), ("sdf",), reader="sdf", writer="export.sdf", options=("straighten",)))


# Other files that are not models, by their endings: what they are, and what to do.
_DIRECTIVES = (
    "this is a file of model directives, with which Drake combines several models; fourbar reads single models. Load "
    "the files named in its add_model entries and combine them with robot.attach or robot.merge"
)
_COMPILED = "this is a compiled MuJoCo model; load the MJCF file it was compiled from"
_OTHERS = {".dmd.yaml": _DIRECTIVES, ".dmd.yml": _DIRECTIVES, ".mjb": _COMPILED}


def find_format(name: str, data: bytes | None = None, chosen: str | None = None) -> Format:
    """The format of a file: the chosen one, else by the root element of its content, else by the ending of its name."""
    if chosen is not None:
        if chosen not in FORMATS:
            raise ArgumentError(f"unknown format={chosen!r}; expected one of {', '.join(FORMATS)}")
        return FORMATS[chosen]
    ending = PurePath(name).suffix.lower()
    by_ending = next((f for f in FORMATS.values() if ending and ending in f.endings), None)
    if by_ending is not None and not by_ending.roots:
        return by_ending
    root = root_tag(data) if data is not None else ""
    by_root = next((f for f in FORMATS.values() if root and root in f.roots), None)
    chosen_format = by_root or by_ending
    if chosen_format is None:
        other = next((hint for end, hint in _OTHERS.items() if name.lower().endswith(end)), "")
        if other:
            raise ArgumentError(f"{name}: {other}")
        known = ", ".join(f"{f.name} ({' '.join(f.endings)})" for f in FORMATS.values())
        ended = f"its name ends in {ending!r}" if ending else "its name has no ending"
        reason = f"its root element is <{root[:60]}>" if root else ended
        raise ArgumentError(
            f"{name}: cannot determine the format of this file, {reason}; choose it with format= (--format, for a file "
            f"to write --to): {known}"
        )
    return chosen_format


def read_options(
    strict: bool, waive: Iterable[str], floating: bool | Joint, folders: Iterable[str | Path], extra: Mapping[str, Any]
) -> Options:
    """The user's options, checked."""
    if not isinstance(strict, bool):
        raise ArgumentError(f"strict={strict!r}: expected True or False")
    if not isinstance(floating, bool | Joint):
        raise ArgumentError(f"floating={floating!r}: expected True, False, or the joint that carries the root")
    where = tuple(Path(folder) for folder in _read_names("folders", folders))
    for folder in where:
        if not folder.is_dir():
            raise ArgumentError(f"folders: there is no folder {str(folder)!r}")
    return Options(strict, read_waived(waive), floating, where, dict(extra))


def read_waived(waive: Any) -> tuple[str, ...]:
    """The user's waivers, checked."""
    return tuple(map(str, _read_names("waive", waive, (str,))))


def _read_names(name: str, value: Any, kinds: tuple[type, ...] = (str, PathLike)) -> tuple[Any, ...]:
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
