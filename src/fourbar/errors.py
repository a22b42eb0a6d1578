"""The errors that fourbar raises on purpose. Each says what was given, what was expected, and what to do."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterable
from typing import Any


class FourbarError(Exception):
    """Base class of all errors of this library."""


class ModelError(FourbarError, ValueError):
    """A mechanism that cannot be built."""


class MasslessError(ModelError):
    """A joint that moves nothing that has inertia."""


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


_LONGEST = 60  # characters of a name in a message


def unknown(kind: str, name: object, known: Iterable[str]) -> UnknownNameError:
    """An error for an unknown name, with the closest known ones."""
    import difflib

    names = [x if len(x) <= _LONGEST else x[:_LONGEST] + "..." for x in known]
    near = difflib.get_close_matches(str(name), names, n=3)
    listed = ", ".join(names[:12]) + (", ..." if len(names) > 12 else "")
    hint = f"did you mean {' or '.join(map(repr, near))}?" if near else f"known: {listed or 'none'}"
    return UnknownNameError(f"there is no {kind} {name!r}; {hint}")


def extra(name: str) -> str:
    """The command that installs an optional part, as in the README."""
    return f'pip install ".[{name}]" in the folder of fourbar'


def needed(module: str, extra_name: str, what: str = "") -> Any:
    """A library of another project that `what` needs, or an ImportError that says how to get it."""
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
    """The data do not determine what was asked for."""


class SingularError(FourbarError, ArithmeticError):
    """The requested quantity is undefined here (a singular configuration or toggle position)."""


def warn(message: str, category: type[Warning]) -> None:
    """A warning that points at the user's line, however deep in the library it originates."""
    level, frame, here = 1, sys._getframe(), os.path.dirname(__file__) + os.sep
    while frame is not None and frame.f_code.co_filename.startswith(here):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)
