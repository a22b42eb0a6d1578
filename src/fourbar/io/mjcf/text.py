"""The text of an MJCF file and of those it includes, read strictly before MuJoCo sees it.

MuJoCo opens any file that is named to it, takes "nan" for a number, and skips what precedes the root. Here every
document passes the strict XML reader, numbers are checked to be finite, and included files must be below the folders
that the user allows; MuJoCo then gets their texts, and opens nothing itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from ..element import Element
from ..meshes import Meshes
from ..report import Reading
from ..source import LARGEST, Options, Source
from ..xml import parse
from .names import Lines

_DEEPEST = 2100  # of the body elements of a chain; MuJoCo stops at about half of it
_WORDS = {"nan", "inf", "infinity"}
_FREE_TEXT = {"name", "class", "childclass", "file", "data", "model", "value", "prefix"}
_READS_FILES = ("flexcomp", "model", "attach")  # read by MuJoCo at once, and not through what it is given
_MOST_INCLUDES = 500
_COPIES, _MOST_COPIES = ("replicate", "composite"), 10_000


@dataclass
class Texts:
    """An MJCF document, the files it includes by the names it uses, and where everything is."""

    text: str
    lines: Lines
    files: Meshes
    folders: tuple[Path, ...]
    included: dict[str, bytes] = field(default_factory=dict)


def read_texts(source: Source, options: Options, reading: Reading) -> Texts:
    """Read and check a document with all it includes."""
    own = () if source.folder is None else (source.folder,)
    files = Meshes(options.folders, source.folder)
    texts = Texts("", Lines(source.name), files, (*own, *options.folders))
    pending = [(source, reading)]
    while pending:
        one, judge = pending.pop()
        root = parse(one, judge, _DEEPEST)
        _check_root(root, one is source)
        texts.lines.add(root)
        for element in _all(root):
            _check_numbers(element)
            _check_copies(element)
            if element.tag in _READS_FILES:
                element.fail(
                    f"<{element.tag}> is not read: it needs other files", "save the compiled model from MuJoCo"
                )
            if element.tag == "include":
                pending.extend(_included(element, texts, options))
    texts.text = source.text
    return texts


def _all(root: Element) -> Iterator[Element]:
    stack = [root]
    while stack:
        element = stack.pop()
        yield element
        stack.extend(reversed(element.children))


def _check_root(root: Element, is_main: bool) -> None:
    if is_main and root.tag != "mujoco":
        root.fail(f"the root element of an MJCF file is <mujoco>, not <{root.tag[:60]}>")


def _check_copies(element: Element) -> None:
    """Refuse more copies than a model can have; those of copies multiply."""
    if element.tag not in _COPIES:
        return
    total, at = 1.0, element
    while at is not None:
        if at.tag in _COPIES:
            try:
                total *= float(np.prod([max(1.0, float(n)) for n in at.attributes.get("count", "1").split()]))
            except ValueError:
                return  # MuJoCo refuses what is no number
        at = at.parent
    if not total <= _MOST_COPIES:
        element.fail(f"{total:.3g} copies are asked for", f"at most {_MOST_COPIES} are made")


def _check_numbers(element: Element) -> None:
    for name, value in element.attributes.items():
        if name in _FREE_TEXT:
            continue
        for word in value.split():
            bare = word.lower().lstrip("+-")
            if bare in _WORDS:
                element.fail(
                    f"{name}={value[:60]!r}: {word!r} is no finite number", "write a finite number, or leave it out"
                )
            if bare.startswith("0x"):
                element.fail(f"{name}={value[:60]!r}: {word!r} is hexadecimal", "write a decimal number")


def _included(element: Element, texts: Texts, options: Options) -> Iterator[tuple[Source, Reading]]:
    name = element.require("file").strip()
    if name in texts.included:
        return  # MuJoCo refuses a file that is included twice, and says so
    if len(texts.included) >= _MOST_INCLUDES:
        element.fail(f"more than {_MOST_INCLUDES} files are included")
    path = Path(texts.files.find(name).path)
    if path == Path():
        listed = ", ".join(repr(str(f)) for f in texts.folders) or "none: a text has no folder"
        element.fail(
            f"the included file {name[:200]!r} is not in the folders that may be read ({listed})",
            "add its folder with folders=[...]",
        )
    if path.stat().st_size > LARGEST:
        element.fail(f"the included file {name[:200]!r} is larger than {LARGEST // 2**20} MiB")
    data = path.read_bytes()
    texts.included[name] = data
    source = Source(str(path), data, path.parent)
    yield source, Shared(source.name, element.reading)


class Shared(Reading):
    """The reading of an included file: its findings are those of the main one."""

    def __init__(self, file: str, main: Reading) -> None:
        super().__init__(file, main.strict, main.waive)
        self.findings = main.findings
