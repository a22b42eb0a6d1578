"""The file formats. To add one: a file of this folder with `read` (and `write`), and a line here; or, in a program of
one's own, a line with the two functions themselves.

    read(source: Source, options: Options) -> tuple[Mechanism, Report]
    write(mechanism: Mechanism, file: str, waive: tuple[str, ...]) -> tuple[str, Report]

The text, and what the format cannot express; `waive`: what may be changed, though that makes another robot.

Both are imported when first needed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib import import_module
from pathlib import PurePath
from typing import Any

from ..errors import ArgumentError
from ..mechanism.mechanism import Mechanism
from .report import Place, Report
from .source import Options, Source
from .xml import root_tag

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
                listed = ", ".join(self.options) or "none besides the common ones"
                raise ArgumentError(f"{source.name}: {self.name} has no option {name!r}; its options: {listed}")
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
    found = by_root or by_ending
    if found is None:
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
    return found
