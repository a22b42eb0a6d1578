"""Hints at the names of fourbar, for names that it does not have: near misses, and words of other libraries."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial, wraps
from types import FunctionType
from typing import TYPE_CHECKING, Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])

_MOVED = {("motor", x): "Builder.rotor(...) adds the rotor of a geared motor" for x in ("inertia", "mass", "ratio")}
_MOVED |= {(x, "friction"): 'give numbers={"friction": ...}, of all contacts' for x in ("rollout", "simulate", "step")}
_LONGEST = 60  # characters of a name in a message


def shorten(name: str) -> str:
    """A name as messages show it."""
    return name if len(name) <= _LONGEST else name[:_LONGEST] + "..."


def suggestions(name: object, known: Iterable[str], scope: str = "") -> list[str]:
    """Up to three names that may have been meant: those of `scope` for the same thing, else the nearest known ones."""
    import difflib  # which only mistakes need, as the words of others

    from .other_words import names_of, plain

    names = [*map(shorten, known)]
    meant = [x for x in names_of(scope).get(plain(str(name)), ()) if x in names or "(" in x]
    within = [x for x in names if len(str(name)) > 2 and str(name).lower() in x.lower()]
    near = meant or difflib.get_close_matches(str(name), names, n=3)
    return (near or sorted(within, key=len))[:3]


def hint(name: object, known: Iterable[str], scope: str = "") -> str:
    """A question with the names that may have been meant; empty if there are none like it."""
    near = suggestions(name, known, scope)
    return f"did you mean {' or '.join(x if '(' in x else repr(x) for x in near)}?" if near else ""


class MissingAttribute(AttributeError):
    """A missing attribute. The hint is computed when the error is shown: most callers only ask `hasattr`.

    It holds no object: Python would append a hint of its own.
    """

    def __init__(self, owner: str, name: str, known: Callable[[], Iterable[str]], scope: str) -> None:
        super().__init__(f"{owner} has no attribute {name!r}", name=name, obj=None)
        self._known, self._scope = known, scope

    def __str__(self) -> str:
        name = str(self.name)
        near = "" if name.startswith("_") else hint(name, self._known(), self._scope)
        return f"{self.args[0]}; {near}" if near else self.args[0]

    def __reduce__(self) -> tuple[Any, ...]:
        return AttributeError, (str(self),)


class Hinted:
    """A class whose errors for unknown attributes and keywords suggest the intended name.

    `_scope` says which words others have for its attributes.
    """

    _scope = ""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        for base in cls.__mro__:
            if base.__module__.startswith("fourbar.") and base is not Hinted:
                for name, function in [*vars(base).items()]:
                    if _takes_keywords(name, function):
                        setattr(base, name, with_keyword_hints(function))

    if not TYPE_CHECKING:  # type checkers would take every name for an attribute

        def __getattr__(self, name: str) -> Any:
            if hasattr(type(self), name):  # a property that raises AttributeError itself
                return object.__getattribute__(self, name)
            kind = type(self)
            raise MissingAttribute(f"{kind.__name__!r} object", name, partial(_public, kind), self._scope)


def _public(kind: type) -> list[str]:
    return [x for x in dir(kind) if not x.startswith("_")]


def _takes_keywords(name: str, function: Any) -> bool:
    """Whether this is a public method whose calls may name arguments, and that does not hint at them yet."""
    if not isinstance(function, FunctionType) or (name.startswith("_") and name != "__init__"):
        return False
    count = function.__code__.co_argcount + function.__code__.co_kwonlyargcount
    return count > 1 and not hasattr(function, "__wrapped__")


def unknown_keyword(function: str, name: str, known: Iterable[str]) -> TypeError:
    """The error for a keyword argument that a function does not have."""
    names = list(known)
    near = _MOVED.get((function, name)) or hint(name, names, "argument") or f"it takes {', '.join(names)}"
    return TypeError(f"{function} has no argument {name!r}; {near}")


def with_keyword_hints(function: F) -> F:
    """A function whose TypeError for an unknown keyword argument suggests the intended one."""

    @wraps(function)
    def call(*args: Any, **named: Any) -> Any:
        try:
            return function(*args, **named)
        except TypeError as error:
            trace = error.__traceback__
            wrong = None if trace is None or trace.tb_next is not None else _wrong_keyword(function, named)
            if wrong is None:
                raise
            raise wrong from None

    return call  # type: ignore[return-value]


def hint_at_keywords(public: Any) -> None:
    """Let a public class suggest the intended keyword in place of a wrong one; other objects stay as they are."""
    if not isinstance(public, type) or not public.__module__.startswith("fourbar."):
        return
    init = vars(public).get("__init__")
    if init is not None and not getattr(public, "_is_protocol", False) and _takes_keywords("__init__", init):
        public.__init__ = with_keyword_hints(init)


def _wrong_keyword(function: Callable[..., Any], named: dict[str, Any]) -> TypeError | None:
    """The error for the first keyword that a function does not take, if there is one."""
    from inspect import Parameter, signature

    parameters = signature(function).parameters
    if any(x.kind is Parameter.VAR_KEYWORD for x in parameters.values()):
        return None
    known = [x.name for x in parameters.values() if x.kind in (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)]
    name = next((x for x in named if x not in known), None)
    shown = function.__qualname__.removesuffix(".__init__").rpartition(".")[2]
    return None if name is None else unknown_keyword(shown, name, [x for x in known if x != "self"])
