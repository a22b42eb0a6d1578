"""The text of an MJCF file and of those it includes, read strictly before MuJoCo sees it.

MuJoCo opens any file that is named to it, takes "nan" for a number, and skips what precedes the root. Here every
document passes the strict XML reader, numbers are checked to be finite, and included files and attached models must be
below the folders that the user allows; MuJoCo then gets their texts, and opens nothing itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from ..element import Element
from ..meshes import Meshes
from ..report import Reading
from ..source import LARGEST, Options, Source
from ..xml import parse
from .attached import COPYING, MOST_COPIES, Model, copies
from .names import Lines

_DEEPEST = 2100  # of the body elements of a chain; MuJoCo stops at about half of it
_WORDS = {"nan", "inf", "infinity"}
_FREE_TEXT = {"name", "class", "childclass", "file", "data", "model", "value", "prefix"}
_MOST_FILES = 500


@dataclass
class Texts:
    """An MJCF document, the files that it and what it attaches include, by the names they use, and where everything is.

    `files` finds what is named, from the folder of the document, then from those of the models that are attached.
    """

    text: str
    lines: Lines
    files: list[Meshes]
    folders: tuple[Path, ...]
    included: dict[str, bytes] = field(default_factory=dict)


def read_texts(source: Source, options: Options, reading: Reading) -> Texts:
    """Read and check a document with all it includes and attaches."""
    own = () if source.folder is None else (source.folder,)
    texts = Texts("", Lines(source.name), [], (*own, *options.folders))
    main = Model(source.name, Meshes(options.folders, source.folder))
    pending = [(source, reading, main)]
    while pending:
        one, judge, model = pending.pop()
        root = parse(one, judge, _DEEPEST)
        _check_root(root, one is source)
        if model is main:
            texts.lines.add(root)
        if model.files not in texts.files:
            texts.files.append(model.files)
        for element in _all(root):
            _check_element(element)
            model.count(element)
            if element.tag == "include":
                pending.extend((file, said, model) for file, said in _opened(element, texts, model, once=True))
            elif element.tag == "model" and element.parent is not None and element.parent.tag == "asset":
                pending.extend(_attached(element, texts, options, model))
    main.check_size()
    texts.text = source.text
    return texts


def _attached(
    element: Element, texts: Texts, options: Options, model: Model
) -> Iterator[tuple[Source, Reading, Model]]:
    """The model that an element <model> names, if it has not been read already."""
    file = element.require("file").strip()
    if "content_type" in element.attributes and "xml" not in element.attributes["content_type"]:
        element.fail(f"a model of type {element.attributes['content_type'][:60]!r} cannot be attached", "use MJCF")
    for source, reading in _opened(element, texts, model, once=False):
        other = Model(source.name, Meshes(options.folders, source.folder), model)
        if source.name in model.chain:
            element.fail(f"the model {file[:200]!r} attaches itself")
        model.attachable[element.attributes.get("name", "")] = other
        yield source, reading, other


def _all(root: Element) -> Iterator[Element]:
    stack = [root]
    while stack:
        element = stack.pop()
        yield element
        stack.extend(reversed(element.children))


def _check_root(root: Element, is_main: bool) -> None:
    if is_main and root.tag != "mujoco":
        root.fail(f"the root element of an MJCF file is <mujoco>, not <{root.tag[:60]}>")


def _check_element(element: Element) -> None:
    _check_numbers(element)
    if element.tag in COPYING and copies(element) > MOST_COPIES:
        element.fail(f"{copies(element):.3g} copies are asked for", f"at most {MOST_COPIES} are made")
    if element.tag == "flexcomp" and element.attributes.get("file"):
        element.fail("<flexcomp> with a file is not read", "save the compiled model from MuJoCo")


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


def _opened(element: Element, texts: Texts, model: Model, once: bool) -> Iterator[tuple[Source, Reading]]:
    """The file that an element names. `once`: MuJoCo refuses a file that is included twice, and says so."""
    name = element.require("file").strip()
    if once and name in texts.included:
        return
    if len(texts.files) + len(texts.included) >= _MOST_FILES:
        element.fail(f"more than {_MOST_FILES} files are included")
    path = Path(model.files.find(name).path)
    if path == Path():
        listed = ", ".join(repr(str(f)) for f in texts.folders) or "none: a text has no folder"
        element.fail(
            f"the included file {name[:200]!r} is not in the folders that may be read ({listed})",
            "add its folder with folders=[...]",
        )
    if path.stat().st_size > LARGEST:
        element.fail(f"the included file {name[:200]!r} is larger than {LARGEST // 2**20} MiB")
    data = path.read_bytes()
    _keep(element, texts.included, name, data)
    source = Source(str(path), data, path.parent)
    yield source, Shared(source.name, element.reading)


def _keep(element: Element, included: dict[str, bytes], name: str, data: bytes) -> None:
    """Remember a text for MuJoCo, which looks for it by the last part of its name."""
    last = PurePosixPath(name).name
    same = next((other for other in included if PurePosixPath(other).name == last), None)
    if same is None:
        included[name] = data
    elif included[same] != data:
        element.fail(f"{name[:200]!r} and {same[:200]!r} are two files called {last[:200]!r}", "rename one of them")


class Shared(Reading):
    """The reading of an included file: its findings are those of the main one."""

    def __init__(self, file: str, main: Reading) -> None:
        super().__init__(file, main.strict, main.waive)
        self.findings = main.findings
