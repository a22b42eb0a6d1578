"""The text of an MJCF file and of those it includes, read strictly before MuJoCo sees it.

MuJoCo opens any file that is named to it, takes "nan" for a number, and skips what precedes the root. Here every
document passes the strict XML reader, numbers are checked to be finite, and included files and attached models must be
below the folders that the user allows; MuJoCo then gets their texts, and opens nothing itself.

Models that a document attaches, and how many bodies result: models that attach models multiply.

Where the files are that a document names: found as MuJoCo does, inside the folders that may be read.

A document that is included is part of the model that includes it. MuJoCo looks for the files it names in the folder of
that model first, and if there are none, in the folder of the document itself.
"""

from __future__ import annotations

import math
import os
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from ...errors import ArgumentError
from ...once import cached_property
from ..element import Element
from ..meshes import Meshes
from ..report import Place, Reading
from ..source import Options, Source, read_source
from ..xml import parse
from .lines import ElementLines


class Finder:
    """Finds what one document names. `model`: the folder of the model that it is part of, `own`: its own folder."""

    def __init__(self, folders: Sequence[Path], model: Path | None, own: Path | None) -> None:
        self._folders, self._model = tuple(folders), model
        above = (*folders, *([] if model is None else [model]))  # into which a path may lead
        self._from_model = Meshes((), model, above)
        self._from_own = Meshes((), own, above)
        self._listed = Meshes(folders, None)

    def inside(self, own: Path | None) -> Finder:
        """The finder of a document in the folder `own` that this one includes."""
        return Finder(self._folders, self._model, own)

    def find_document(self, name: str) -> Path | None:
        """A document to include."""
        return _first((self._from_model, name), (self._from_own, name), (self._listed, name))

    def find_model(self, name: str) -> Path | None:
        """A model to attach: from the folder of the document alone."""
        return _first((self._from_own, name), (self._listed, name))

    def mesh(self, folder: str, file: str) -> Path | None:
        """A mesh; `folder` is the `meshdir` of the model, which does not apply in a document's own folder."""
        name = f"{folder}/{file}" if folder else file
        return _first((self._from_model, name), (self._from_own, file), (self._listed, name), (self._listed, file))


def _first(*tries: tuple[Meshes, str]) -> Path | None:
    found = (meshes.find(name).path for meshes, name in tries)
    return next((Path(path) for path in found if path), None)


COPYING = ("replicate", "composite", "flexcomp")
MOST_COPIES = 10_000


class Size(NamedTuple):
    """The size of a model: its bodies, and its models, which are itself and copies of those it attaches."""

    bodies: float
    models: float


class MjcfDocument:
    """The main document, or an attached one, with the files that it includes."""

    def __init__(self, name: str, parent: MjcfDocument | None = None) -> None:
        self.name = name
        self.chain: tuple[str, ...] = (name,) if parent is None else (*parent.chain, name)
        self.attachable: dict[str, MjcfDocument] = {}  # by the name that it has here
        self.included: set[str] = {str(Path(name).resolve())}
        self._bodies = 0.0
        self._attaches: list[Element] = []
        self._keys: list[Element] = []

    def count(self, element: Element) -> None:
        """Count a body, or remember an <attach> or a keyframe."""
        if element.tag == "body":
            self._bodies += copies(element)
        elif element.tag == "attach":
            self._attaches.append(element)
        elif element.tag == "key":
            self._keys.append(element)

    def check_size(self) -> Size:
        """The size of the result, with all that is attached; too much is refused."""
        total, sizes = Size(self._bodies, 1.0), {name: model.check_size() for name, model in self.attachable.items()}
        largest = Size(*(max(parts) for parts in zip(Size(0.0, 1.0), *sizes.values(), strict=True)))
        for element in self._attaches:
            more, n = sizes.get(element.attributes.get("model", ""), largest), copies(element)
            total = Size(*(own + n * part for own, part in zip(total, more, strict=True)))
            for number, what in zip(total, ("bodies", "models"), strict=True):
                if number > MOST_COPIES:
                    element.fail(f"{number:.3g} {what} are attached", f"at most {MOST_COPIES} are allowed")
        return total

    @cached_property
    def keys(self) -> list[tuple[str, Place]]:
        """The names of keyframes and where they are, those of attached models too."""
        keyframes = [
            (key.attributes.get("name") or f"key{number}", Place(key.reading.file, key.line, key.tag))
            for number, key in enumerate(self._keys)
        ]
        for element in self._attaches:
            other, prefix = self.attachable.get(element.attributes.get("model", "")), element.attributes.get("prefix")
            keyframes += [((prefix or "") + name, place) for name, place in other.keys] if other is not None else []
            if len(keyframes) > MOST_COPIES:
                element.fail(f"{len(keyframes)} keyframes are attached", f"at most {MOST_COPIES} are allowed")
        return keyframes


def copies(element: Element) -> float:
    """The number of copies that an element makes, with those of its ancestors; 1 where MuJoCo will refuse a count."""
    total, at = 1.0, element
    while at is not None:
        if at.tag in COPYING:
            try:
                total *= math.prod(max(1.0, float(n)) for n in at.attributes.get("count", "1").split())
            except ValueError:
                return 1.0
        at = at.parent
    return total if total == total else math.inf


_DEEPEST = 2100  # of the body elements of a chain; MuJoCo stops at about half of it
_WORDS = {"nan", "inf", "infinity"}
_FREE_TEXT = {"name", "class", "childclass", "file", "data", "model", "value", "prefix"}
_MOST_FILES = 500
MOST_HEIGHTS = 4_000_000
_ASIDE = {"visual", "statistic", "size"}  # sections that only MuJoCo uses
_OPTIONS = {
    "gravity",
    "density",
    "viscosity",
    "wind",
    "timestep",
    "cone",
    "impratio",
    "integrator",
    "actuatorgroupdisable",
}  # reported elsewhere


@dataclass
class Texts:
    """An MJCF document with what it includes, the models it attaches by their names, and where all of it is."""

    text: str
    lines: ElementLines
    folders: tuple[Path, ...]
    own_finder: Finder
    included: dict[str, bytes] = field(default_factory=dict)
    attached: dict[str, bytes] = field(default_factory=dict)  # as they are in their files
    opened: int = 0

    def finder(self, element: Element | None) -> Finder:
        """The finder for the files that an element names: that of its document, or of the main one if unknown."""
        reading = None if element is None else element.reading
        return reading.finder if isinstance(reading, IncludedReading) else self.own_finder


def read_texts(source: Source, options: Options, reading: Reading) -> Texts:
    """Read and check a document with all it includes and attaches."""
    own = () if source.folder is None else (source.folder,)
    own_finder = Finder(options.folders, source.folder, source.folder)
    texts = Texts("", ElementLines(source.name), (*own, *options.folders), own_finder)
    main = MjcfDocument(source.name)
    pending = [("", source, reading, main)]
    while pending:
        name, one, judge, model = pending.pop()
        root = parse(one, judge, _DEEPEST)
        _check_root(root, one is source)
        _include(root, texts, model)
        for element in _all(root):
            _check_element(element)
            model.count(element)
            if element.tag == "model" and element.parent is not None and element.parent.tag == "asset":
                pending.append(_attach(element, texts, options, model))
        if model is main:
            texts.text = texts.lines.text(root)
        else:
            texts.included[name] = texts.lines.text(root).encode()
    main.check_size()
    texts.lines.learn_names("key", main.keys)
    return texts


def _include(root: Element, texts: Texts, model: MjcfDocument) -> None:
    """Put the elements of included files in place of each <include>, as MuJoCo does."""
    stack = [root]
    while stack:
        element = stack.pop()
        waiting, children = deque(element.children), []
        while waiting:
            child = waiting.popleft()
            if child.tag != "include":
                children.append(child)
                continue
            inner = _included_elements(child, texts, model)
            for one in inner:
                one.parent = element
            waiting.extendleft(reversed(inner))
        element.children = children
        stack.extend(children)


def _included_elements(include: Element, texts: Texts, model: MjcfDocument) -> list[Element]:
    """The elements of the file that an <include> names; like MuJoCo, each file only once."""
    for other in include.attributes.keys() - {"file"}:
        include.reading.warn(include.place, f"attribute {other[:60]!r} is not understood", key=f"include@{other[:60]}")
    _report_text(include)
    if include.children:
        include.fail("an <include> cannot contain elements", "put them beside it")
    path = _path_of(include, texts, texts.finder(include).find_document(include.require("file").strip()))
    if str(path.resolve()) in model.included:
        include.fail(f"the file {include.attributes['file'][:200]!r} includes itself, or is included twice")
    model.included.add(str(path.resolve()))
    source = _open_source(include, texts, path)
    finder = texts.finder(include).inside(source.folder)
    root = parse(source, IncludedReading(source.name, include.reading, finder), _DEEPEST)
    _report_root(root)
    _report_text(root)
    return root.children


def _attach(
    element: Element, texts: Texts, options: Options, model: MjcfDocument
) -> tuple[str, Source, Reading, MjcfDocument]:
    """The model that an element <model> names."""
    file = element.require("file").strip()
    if "content_type" in element.attributes and "xml" not in element.attributes["content_type"]:
        element.fail(f"a model of type {element.attributes['content_type'][:60]!r} cannot be attached", "use MJCF")
    source = _open_source(element, texts, _path_of(element, texts, texts.finder(element).find_model(file)))
    other = MjcfDocument(source.name, model)
    if source.name in model.chain:
        element.fail(f"the model {file[:200]!r} attaches itself")
    model.attachable[element.attributes.get("name") or other.name] = other
    finder = Finder(options.folders, source.folder, source.folder)
    judge = IncludedReading(source.name, element.reading, finder)
    return _model_name(element, texts.attached, file, source.data), source, judge, other


def _all(root: Element) -> Iterator[Element]:
    stack = [root]
    while stack:
        element = stack.pop()
        yield element
        stack.extend(reversed(element.children))


def _check_root(root: Element, is_main: bool) -> None:
    if is_main and root.tag != "mujoco":
        part = root.tag == "mujocoinclude"
        hint = "this is a part that other files include: load the file that does" if part else ""
        root.fail(f"the root element of an MJCF file is <mujoco>, not <{root.tag[:60]}>", hint)


def _check_element(element: Element) -> None:
    _check_numbers(element)
    _report_text(element)
    _report_aside(element)
    if element.tag in COPYING and copies(element) > MOST_COPIES:
        element.fail(f"{copies(element):.3g} copies are asked for", f"at most {MOST_COPIES} are allowed")
    if element.tag == "hfield" and _heights(element) > MOST_HEIGHTS:
        element.fail(f"{_heights(element):.3g} heights are asked for", f"at most {MOST_HEIGHTS} are allowed")
    if element.tag == "flexcomp" and element.attributes.get("file"):
        element.fail("<flexcomp> with a file is not supported", "save the compiled model from MuJoCo")


def _heights(element: Element) -> float:
    """The number of heights of a height field; none where MuJoCo will refuse a count."""
    try:
        return math.prod(max(0.0, float(element.attributes.get(side, "0"))) for side in ("nrow", "ncol"))
    except ValueError:
        return 0.0


def _report_aside(element: Element) -> None:
    """Report what only MuJoCo uses: sections, and options of its solver."""
    if element.tag in _ASIDE and element.parent is not None and element.parent.parent is None:
        element.reading.add("note", element.place, f"<{element.tag}> is for MuJoCo only", "", element.tag)
    if element.tag == "option":
        for name in element.attributes.keys() - _OPTIONS:
            message = f"{name[:60]} is an option of MuJoCo's own simulation"
            element.reading.add("note", element.place, message, "", f"option@{name[:60]}")


def _report_root(root: Element) -> None:
    """Report attributes of the root of an included file: MuJoCo uses only its elements."""
    for name, value in root.attributes.items():
        if name == "model":
            root.reading.note(root.place, f"the name {value[:60]!r} of an included file is ignored")
        else:
            message = f"attribute {name[:60]!r} on the root of an included file is not understood"
            root.reading.warn(root.place, message, "remove it", f"{root.key}@{name[:60]}")


def _report_text(element: Element) -> None:
    """Report text between tags, which has no meaning in MJCF."""
    if element.text.strip():
        message = f"the text {element.text.strip()[:60]!r} is not understood"
        element.reading.warn(element.place, message, "write it as a comment, <!-- ... -->", element.key)


def _check_numbers(element: Element) -> None:
    for name, value in element.attributes.items():
        if name in _FREE_TEXT:
            continue
        for word in value.split():
            bare = word.lower().lstrip("+-")
            if bare in _WORDS:
                element.fail(
                    f"{name}={value[:60]!r}: {word!r} is not a finite number", "write a finite number, or remove it"
                )
            if bare.startswith("0x"):
                element.fail(f"{name}={value[:60]!r}: {word!r} is hexadecimal", "write a decimal number")


def _path_of(element: Element, texts: Texts, path: Path | None) -> Path:
    """The path of the file that an element names; refused where it was not found."""
    if path is None:
        name = element.attributes["file"].strip()
        listed = ", ".join(repr(str(f)) for f in texts.folders) or "none: a text has no folder"
        element.fail(
            f"the included file {name[:200]!r} is not in the folders that may be read ({listed})",
            _allowing(name, texts.folders),
        )
    return path


def _allowing(name: str, folders: Sequence[Path]) -> str:
    """How to let a document be read: if it is beside the folder of the main one, with the folder that has both."""
    if folders and Path(name).suffix == ".xml" and not Path(name).is_absolute():
        there = os.path.normpath(folders[0] / name)
        shared = os.path.commonpath([folders[0], there])
        if len(Path(shared).parts) > 2 and os.path.isfile(there):
            return f"allow that with folders=[{shared!r}]"
    return "add its folder with folders=[...]"


def _open_source(element: Element, texts: Texts, path: Path) -> Source:
    """A file that is included or attached."""
    texts.opened += 1
    if texts.opened > _MOST_FILES:
        element.fail(f"more than {_MOST_FILES} files are included")
    try:
        return read_source(path)
    except ArgumentError as error:
        element.fail(str(error))


def _model_name(element: Element, attached: dict[str, bytes], name: str, data: bytes) -> str:
    """The name under which MuJoCo gets a model, which it looks up by the last part of its name."""
    last = PurePosixPath(name).name
    same = next((other for other in attached if PurePosixPath(other).name == last), None)
    if same is not None and attached[same] != data:
        element.fail(f"{name[:200]!r} and {same[:200]!r} are two files named {last[:200]!r}", "rename one of them")
    attached[name if same is None else same] = data
    return name if same is None else same


class IncludedReading(Reading):
    """The reading of an included file, which shares the findings of the main one. `finder`: finds the files it
    names.
    """

    def __init__(self, file: str, main: Reading, finder: Finder) -> None:
        super().__init__(file, main.strict, main.waive)
        self.findings, self.finder = main.findings, finder
