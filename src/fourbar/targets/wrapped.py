"""The common part of bridges to libraries that differentiate: functions that they take, and how these are found."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from inspect import Parameter, Signature
from typing import Any

from ..arrays import Argument, as_signed
from ..errors import ArgumentError
from ..functions.attributes import OptionedMethod
from ..functions.derivative_recordings import DerivativeRecording
from ..functions.method_table import SUBJECTS
from ..functions.recording import MethodRecording, Recording
from ..hints import MissingAttribute


class UnfitLibrary(ImportError):
    """A library is installed in a version that cannot run functions of fourbar."""


def recording_of(of: Any, module: str, library: str, ways: str) -> Recording:
    """The recording of a function of a robot; errors say what to give instead.

    `module` is the bridge, `library` the library that it serves, and `ways` are its ways to differentiate.
    """
    recording = of.state[0].recording if hasattr(type(of), "state") else None  # not that of something inside `of`
    if isinstance(recording, MethodRecording):
        return recording
    if isinstance(getattr(of, "recording", recording), DerivativeRecording):
        raise ArgumentError(
            f"{module}.function: {of!r} is a derivative. Give the function itself, and differentiate that with {ways}"
        )
    raise ArgumentError(
        f"{module}.function: {of!r} is not a function of a robot with a single program. Give robot.forward_dynamics, "
        f"robot.pose, ...; functions of constrained robots choose between programs by values, which {library} "
        "does not know while tracing"
    )


def signature(arguments: Iterable[Argument]) -> Signature:
    """The signature of a function, for help, for editors, and for libraries that name arguments in messages."""
    kind = Parameter.POSITIONAL_OR_KEYWORD
    empty = Parameter.empty
    every = (
        Parameter(a.name, kind, default=a.default if "=" in a.declaration else empty) for a in as_signed(arguments)
    )
    return Signature(list(every))


def is_taken(of: Any) -> bool:
    """Whether bridges take a function."""
    if isinstance(of, OptionedMethod):
        return True
    return hasattr(type(of), "state") and isinstance(of.state[0].recording, MethodRecording)


class WrappedMethod:
    """A method with options, which go by name: `pose(q, frame="hand")`; `make` wraps one choice of them."""

    def __init__(self, method: OptionedMethod, make: Callable[[Any], Any], library: str) -> None:
        self._method, self._make, self._library = method, make, library
        self._made: dict[int, tuple[Any, Any]] = {}
        self.__name__ = self.__qualname__ = method.__name__
        self.__doc__ = method.__doc__

    def __reduce__(self) -> tuple[Any, ...]:
        return self._make, (self._method,)

    def __repr__(self) -> str:
        options = ", ".join(self._method.options)
        return f"<fourbar {self._library} function {self.__name__}, options by name: {options}>"

    def specialise(self, **options: Any) -> Any:
        """The function for one choice of options."""
        own = self._method.specialise(**options)
        found = self._made.get(id(own))
        return (self._made.setdefault(id(own), (own, self._make(own))) if found is None else found)[1]

    def __call__(self, *args: Any, **named: Any) -> Any:
        options = {name: named.pop(name) for name in self._method.options if name in named}
        return self.specialise(**options)(*args, **named)


class Functions:
    """The functions of a robot in another library, by their names. Made by `functions`."""

    def __init__(self, robot: Any, make: Callable[[Any], Any], library: str) -> None:
        if not any(hasattr(type(robot), name) or hasattr(robot, name) for name in SUBJECTS):
            raise ArgumentError(
                f"functions of {library} are those of a robot, such as fb.load(...) returns, got {robot!r}"
            )
        self._robot, self._make, self._library = robot, make, library

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or not hasattr(self._robot, name):
            raise MissingAttribute(repr(self._robot), name, lambda: SUBJECTS, "robot")
        return self.__dict__.setdefault(name, self._make(getattr(self._robot, name)))

    def __reduce__(self) -> tuple[Any, ...]:
        return Functions, (self._robot, self._make, self._library)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *SUBJECTS})

    def __repr__(self) -> str:
        return f"<{self._library} functions of {self._robot!r}>"
