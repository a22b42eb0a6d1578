"""Docstrings of methods: their sections, and the entries of arguments and options, which are declared once."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from inspect import cleandoc
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from .arguments import DeclaredArgument
    from .registry import Method, Option

_WIDTH = 112  # of the text of an entry, which stands in a method of a class
_TITLE = r"^\S[^\n]*\n-+\n"


class DocEntry(NamedTuple):
    """An entry of a section Parameters, Returns or Raises: a name, its type and what it is."""

    name: str
    type: str
    text: str

    def __str__(self) -> str:
        return f"{self.name} : {self.type}\n{textwrap.indent(self.text, '    ')}"


def section(doc: str, title: str) -> str:
    """The text of one section of a docstring."""
    found = re.search(rf"^{title}\n-+\n(.*?)(?={_TITLE}|\Z)", cleandoc(doc), re.DOTALL | re.MULTILINE)
    return found[1].rstrip() if found else ""


def entries(doc: str, title: str) -> list[DocEntry]:
    """The entries of a section of a docstring."""
    found = re.findall(
        r"^(\S[^:\n]*?)(?: : ([^\n]*))?\n((?:    [^\n]*\n?|\n)*)", section(doc, title) + "\n", re.MULTILINE
    )
    return [DocEntry(name, type, cleandoc(text)) for name, type, text in found]


def complete(method: Method) -> str:
    """The docstring of a method with all it takes in its section Parameters, in the order of a call."""
    written = cleandoc(method.text)
    if not written:
        return ""
    differing = {entry.name: entry for entry in entries(written, "Parameters")}
    listed = [differing.get(entry.name, entry) for entry in declared_entries(method)]
    parameters = "\n".join(["Parameters", "----------", *map(str, (entry for entry in listed if entry.text))])
    words, *sections = re.split(rf"(?={_TITLE})", written, flags=re.MULTILINE)
    rest = [own.rstrip() for own in sections if not own.startswith("Parameters\n")]
    return "\n\n".join([words.rstrip(), parameters, *rest])


def declared_entries(method: Method) -> Iterator[DocEntry]:
    """The entries of all that a method takes, as declared."""
    yield from (_argument(x) for x in method.inputs)
    yield from map(_option, method.options)
    yield from (_argument(x, optional=True) for x in method.extra)
    if len(method.results) == 1:
        yield DocEntry("out", "ndarray, optional", "Array that receives the result.")
    else:
        yield DocEntry("out", "tuple of ndarray, optional", "Arrays that receive the results.")
    yield DocEntry("threads", "int, optional", "Largest number of threads for a batch.")


def _argument(argument: DeclaredArgument, optional: bool = False) -> DocEntry:
    default = "" if argument.default is None else f", default {argument.default}"
    return _entry(argument.name, argument.type + (", optional" if optional else default), argument.text)


def _option(option: Option) -> DocEntry:
    default = ", optional" if option.default in (None, ()) else f", default {option.default!r}"
    return _entry(option.name, option.type + ("" if option.required else default), option.text)


def _entry(name: str, type: str, text: str) -> DocEntry:
    whole = re.sub("``.*?``", lambda code: code[0].replace(" ", "\0"), text)  # code stays on one line
    return DocEntry(name, type, textwrap.fill(whole, _WIDTH - 4, break_on_hyphens=False).replace("\0", " "))
