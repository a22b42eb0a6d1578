"""What the registry says of a method, for the stub and the API page: the only place here that knows how it says it."""

from __future__ import annotations

import inspect
import re
from inspect import Parameter
from typing import NamedTuple

from fourbar.functions.function import true_signature
from fourbar.functions.method_table import SUBJECTS
from fourbar.functions.registry import METHODS, Method


class Documented(NamedTuple):
    """An entry of a section Parameters or Returns: a name and what it is."""

    name: str
    type: str
    text: str


def methods() -> dict[str, Method]:
    """The methods of a robot by name, in the order of the table of methods."""
    return {name: METHODS[name] for name in SUBJECTS}


def options_of(method: Method) -> list[Parameter]:
    """The options that choose the code of a method, with their defaults."""
    return [signature_of(method).parameters[x.name] for x in method.options]


def signature_of(method: Method) -> inspect.Signature:
    """What a call takes: arrays, options, arrays that may be left out, and where and on how many threads to work."""
    return true_signature(method.arguments, method.optional, method.options)


def section(doc: str, title: str) -> str:
    """The text of one section of a docstring."""
    found = re.search(rf"^{title}\n-+\n(.*?)(?=^\S[^\n]*\n-+\n|\Z)", inspect.cleandoc(doc), re.DOTALL | re.MULTILINE)
    return found[1].rstrip() if found else ""


def documented(doc: str, title: str) -> list[Documented]:
    """The entries of a section of a docstring."""
    entries = re.findall(
        r"^(\S[^:\n]*?)(?: : ([^\n]*))?\n((?:    [^\n]*\n?|\n)*)", section(doc, title) + "\n", re.MULTILINE
    )
    return [Documented(name, type, inspect.cleandoc(text)) for name, type, text in entries]
