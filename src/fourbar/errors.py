"""The errors that fourbar raises on purpose. All say what was given, what was expected, and what to do."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterable


class FourbarError(Exception):
    """Base of all errors of this library."""


class ModelError(FourbarError, ValueError):
    """A mechanism that cannot be built."""


class ArgumentError(FourbarError, ValueError):
    """An argument of a wrong shape or kind."""


class CoordinateError(ArgumentError):
    """Coordinates that stand for no placement: a quaternion of zeros, an angle without end."""


class UnknownNameError(FourbarError, KeyError):
    """A name that the mechanism does not have."""

    def __str__(self) -> str:
        return str(self.args[0])


_LONGEST = 60  # characters of a name in a message


def unknown(kind: str, name: object, known: Iterable[str]) -> UnknownNameError:
    """An error for a name that is not there, with the nearest ones that are."""
    import difflib

    names = [x if len(x) <= _LONGEST else x[:_LONGEST] + "..." for x in known]
    near = difflib.get_close_matches(str(name), names, n=3)
    listed = ", ".join(names[:12]) + (", ..." if len(names) > 12 else "")
    hint = f"did you mean {' or '.join(map(repr, near))}?" if near else f"known: {listed or 'none'}"
    return UnknownNameError(f"there is no {kind} {name!r}; {hint}")


def extra(name: str) -> str:
    """How to install an optional part, as the README says it."""
    return f'pip install ".[{name}]" in the folder of fourbar'


class AssemblyError(FourbarError, ValueError):
    """Loops that cannot be closed."""


class IdentificationError(FourbarError, ValueError):
    """Data that do not tell what was asked."""


class SingularError(FourbarError, ArithmeticError):
    """A configuration in which the question has no answer."""


def warn(message: str, category: type[Warning]) -> None:
    """A warning that points at the user's line, however deep in this library the reason was found."""
    level, frame, here = 1, sys._getframe(), os.path.dirname(__file__) + os.sep
    while frame is not None and frame.f_code.co_filename.startswith(here):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)
