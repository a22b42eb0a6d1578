"""The errors that fourbar raises on purpose. Each says what was given, what was expected, and what to do."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterable
from contextvars import ContextVar
from typing import Any

from .hints import hint, shorten


class FourbarError(Exception):
    """Base class of all errors of this library."""


class ModelError(FourbarError, ValueError):
    """A mechanism that cannot be built."""


class MasslessError(ModelError):
    """A joint that moves no inertia."""


class IndependenceError(ModelError):
    """Velocities of a loop that cannot be its independent ones."""


class ArgumentError(FourbarError, ValueError):
    """An argument of the wrong shape or type."""


class CoordinateError(ArgumentError):
    """Coordinates that describe no placement: a zero quaternion, an angle too large to be meaningful."""


class UnknownNameError(FourbarError, KeyError):
    """A name that the mechanism does not contain."""

    def __str__(self) -> str:
        return str(self.args[0])


def unknown(kind: str, name: object, known: Iterable[str], scope: str = "") -> UnknownNameError:
    """An error for an unknown name, with the closest known ones; `scope`: see `hints.hint`."""
    names = list(known)
    listed = ", ".join(map(shorten, names[:12])) + (", ..." if len(names) > 12 else "" if names else "none")
    return UnknownNameError(f"there is no {kind} {name!r}; {hint(name, names, scope) or f'known: {listed}'}")


def extra(name: str) -> str:
    """The command that installs the packages of an optional part: by their names if fourbar is installed, so that users
    of a wheel need no folder of sources.
    """
    from importlib import metadata  # which computing does not need

    try:
        requirements = metadata.requires("fourbar") or []
    except metadata.PackageNotFoundError:
        requirements = []
    split = (requirement.partition(";") for requirement in requirements)
    packages = [package.strip() for package, _, marker in split if f"extra=='{name}'" in _plain(marker)]
    if packages:
        return "pip install " + " ".join(f'"{package}"' for package in packages)
    return f'pip install ".[{name}]" in the folder of fourbar'


def _plain(marker: str) -> str:
    """The marker of a requirement with one kind of quotes and no spaces."""
    return marker.replace('"', "'").replace(" ", "")


def require_library(module: str, extra_name: str, what: str = "") -> Any:
    """Import a third-party library that `what` needs; the ImportError says how to install it."""
    from importlib import import_module

    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name not in (module, module.partition(".")[0]):
            raise
        message = f"{what or f'fourbar.{extra_name}'} needs {module.partition('.')[0]}: {extra(extra_name)}"
        raise ImportError(message, name=module) from error


class AssemblyError(FourbarError, ValueError):
    """Loops that cannot be closed."""


class IdentificationError(FourbarError, ValueError):
    """Data that do not determine the requested parameters."""


class SingularError(FourbarError, ArithmeticError):
    """The requested quantity is undefined here (a singular configuration or toggle position)."""


_collected: ContextVar[list[tuple[str, type[Warning]]] | None] = ContextVar("warnings that become one", default=None)


class OneWarning:
    """A context manager that collects warnings and issues them as one; `category` applies if theirs differ."""

    def __init__(self, about: str, category: type[Warning]) -> None:
        self._about, self._category = about, category
        self._found: list[tuple[str, type[Warning]]] = []

    def __enter__(self) -> None:
        within = _collected.get()  # a larger piece of work lists them
        self._token = _collected.set(self._found if within is None else within)

    def __exit__(self, *_: object) -> None:
        _collected.reset(self._token)
        if len(self._found) == 1:
            warn(*self._found[0])
        elif self._found:
            kinds = {kind for _, kind in self._found}
            listed = "".join(f"\n- {message}" for message, _ in self._found)
            category = kinds.pop() if len(kinds) == 1 else self._category
            warn(f"{self._about}: {len(self._found)} warnings{listed}", category)


def warn(message: str, category: type[Warning]) -> None:
    """A warning that points at the user's line, however deep in the library it originates."""
    if (collected := _collected.get()) is not None:
        collected.append((message, category))
        return
    level, frame, here = 1, sys._getframe(), os.path.dirname(__file__) + os.sep
    while frame is not None and frame.f_code.co_filename.startswith(here):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)
