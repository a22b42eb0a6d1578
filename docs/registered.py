"""What the registry says of a method, for the stub and the API page: the only place here that knows how it says it."""

from __future__ import annotations

import inspect
import re
from inspect import Parameter
from typing import NamedTuple

from fourbar.functions.function import true_signature
from fourbar.functions.method_table import SUBJECTS
from fourbar.functions.registry import METHODS, Method, Option
from fourbar.system.constrained import actuated, drive_recordings, method_recordings
from fourbar.system.constrained.hybrid import HybridDynamics

ROW_FUNCTIONS = ("jacobian", "residual", "rate", "acceleration", "osim_inverse")
assert drive_recordings.METHODS is method_recordings.METHODS  # importing it registered its methods there


class Documented(NamedTuple):
    """An entry of a section Parameters or Returns: a name and what it is."""

    name: str
    type: str
    text: str


def methods() -> dict[str, Method]:
    """The methods of a robot by name, in the order of the table of methods."""
    return {name: METHODS[name] for name in SUBJECTS}


def constrained_methods() -> dict[str, Method]:
    """The functions of a `Constrained` as users call them: without the result that says how far to trust the rest."""
    hybrid = method_recordings.METHODS["hybrid_dynamics"]._replace(
        options=(Option("prescribed", required=True), Option("least", "constraint")), doc=HybridDynamics.__doc__ or ""
    )
    names = ("forward_dynamics", "inverse_dynamics", "inverse_passive_dynamics", "hybrid_dynamics", "impulse")
    found = {name: method_recordings.METHODS[name] for name in (*names, *ROW_FUNCTIONS)} | {"hybrid_dynamics": hybrid}
    return {name: m._replace(results=tuple(x for x in m.results if x != "health")) for name, m in found.items()}


def actuated_methods() -> dict[str, Method]:
    """The functions of an `Actuated`."""
    return dict(actuated.METHODS)


def options_of(method: Method) -> list[Parameter]:
    """The options that choose the code of a method, with their defaults."""
    return [signature_of(method).parameters[x.name] for x in method.options]


def signature_of(method: Method) -> inspect.Signature:
    """What a call takes: arrays, options, arrays that may be left out, and where and on how many threads to work."""
    return true_signature(method.defaults, method.optional, method.options)


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
