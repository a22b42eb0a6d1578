"""Methods as a robot has them: attributes that become functions when they are first asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, TypeVar

from ..errors import MasslessError
from ..hints import unknown_keyword
from ..mechanism.mechanism import Mechanism
from ..once import cached_property, import_late
from .method_table import SUBJECTS
from .model import Model
from .options import Choices, read_choice
from .registry import METHODS, Method

T = TypeVar("T")
Make = Callable[[Model, str, dict[str, Any]], Any]  # the function of a method for a choice of options


class MethodAttribute:
    """A method made when it is first asked for; the robot then holds it in its dictionary. `subject` is its file."""

    def __init__(self, name: str, subject: str) -> None:
        self._name, self.subject = name, subject

    def __get__(self, robot: Any, owner: type) -> Any:
        if robot is None:
            return self
        return robot.__dict__.setdefault(self._name, bind_method(robot.model, self._name))

    @property
    def method(self) -> Method:
        """The method registered under its name."""
        return METHODS[self._name]

    @property
    def __doc__(self) -> str:
        return self.method.doc


def with_methods(robot: type[T]) -> type[T]:
    """The class of a robot with all methods that there are."""
    for name, subject in SUBJECTS.items():
        setattr(robot, name, MethodAttribute(name, subject))
    return robot


def bind_method(model: Model, name: str) -> Any:
    """A method of a model: a function, or what makes one for each choice of its options."""
    method = METHODS[name]
    if method.inverts_mass and model.unsolvable:
        raise MasslessError(f"{name}: {model.unsolvable}")
    return OptionedMethod(model, name) if method.options else _function(model, name, {})


def _function(model: Model, name: str, options: dict[str, Any]) -> Any:
    """The compiled function of a method for one choice of options."""
    function: Any = import_late(f"{__package__}.function")  # late: half of the import time
    method = METHODS[name]
    again = (unpickle_method, model.mechanism, name, tuple(options.items()))
    return function.make_method(model, name, method, partial(method.read_options, **options), again)


def unpickle_method(mechanism: Mechanism, name: str, options: tuple[tuple[str, Any], ...]) -> Any:
    """A function of a robot: how it travels to other processes."""
    made = bind_method(Model.of(mechanism), name)
    return made.specialise(**dict(options)) if isinstance(made, OptionedMethod) else made


class MissingOption(TypeError):
    """A call of a method without an option that it needs."""


class OptionedMethod:
    """A method with options: `robot.pose(q, "hand")`. One compiled function for each choice, kept.

    `make` makes it; `more` are arguments that it then takes besides those of the method.
    """

    def __init__(self, model: Model, name: str, make: Make | None = None, more: tuple[str, ...] = ()) -> None:
        self._model = model
        self._name = name
        self._make = make or _function
        self._method: Method = METHODS[name]
        self._made: dict[Any, Any] = {}
        self._arguments = (*self._method.arguments, *more)
        self._count = len(self._arguments)
        self._choices = Choices(self._method.static, self.specialise)
        self.__name__ = name

    @property
    def __doc__(self) -> str:
        return self._method.doc

    @property
    def __signature__(self) -> Any:
        function: Any = import_late(f"{__package__}.function")  # when first needed, as above
        return function.true_signature(self._method.defaults, self._method.optional, self._method.options)

    def __repr__(self) -> str:
        return f"<fourbar function {self._call_text()} -> {', '.join(self._method.results)}>"

    def _call_text(self) -> str:
        return f"{self._name}({', '.join([*self._arguments, *self._method.static])})"

    def specialise(self, *args: Any, **options: Any) -> Any:
        """The function for one choice of options: takes arrays only, and is called faster."""
        chosen = read_choice(self._name, self._method.options, self._options_by_name(args, options))
        key = tuple((k, type(v), v) for k, v in chosen.items())  # its type: 1 is equal to True
        if key not in self._made:
            missing = next((x.name for x in self._method.options if x.required and x.name not in chosen), None)
            if missing is not None:
                example = f"{self._name}({self._method.arguments[0]}, {missing}=...)"
                raise MissingOption(f"{self._name} needs {missing!r}, e.g. {example}")
            self._made.setdefault(key, self._make(self._model, self._name, chosen))
        return self._made[key]

    def _options_by_name(self, args: tuple[Any, ...], options: dict[str, Any]) -> dict[str, Any]:
        """The options by name."""
        names = self._method.static
        placed = dict(zip(names, args, strict=False))
        if len(args) > len(placed) or set(placed) & set(options):
            raise TypeError(f"{self._call_text()} got too many arguments, or one of them twice: {args}, {options}")
        extra = sorted(set(options) - set(names))
        if extra:
            raise unknown_keyword(self._name, extra[0], names)
        return {**placed, **options}

    @cached_property
    def jvp(self) -> Any:
        """The derivative along a direction; options by name: `robot.pose.jvp(q, dq, frame="hand")`."""
        return OptionedDerivative(self, "jvp")

    @cached_property
    def vjp(self) -> Any:
        """The gradient of a weighted sum of the results; options by name."""
        return OptionedDerivative(self, "vjp")

    @cached_property
    def jacobian(self) -> Any:
        """All first derivatives; options by name."""
        return OptionedDerivative(self, "jacobian")

    @property
    def options(self) -> tuple[str, ...]:
        """The names of the options."""
        return self._method.static

    def __reduce__(self) -> tuple[Any, ...]:
        return unpickle_optioned_method, (self._model.mechanism, self._name)

    def _check_keywords(self, named: Iterable[str]) -> None:
        """Refuse keywords that are neither arguments nor options."""
        known = [*self._arguments, *self._method.static, *self._method.optional, "out", "threads"]
        for name in named:
            if name not in known:
                raise unknown_keyword(self._name, name, known)

    def __call__(self, *args: Any, **named: Any) -> Any:
        n = self._count
        if named:
            try:
                function = self._choices.by_name(args[n:], named)
            except MissingOption:
                self._check_keywords(named)  # one of these may be the option, misspelt
                raise
            return function(*args[:n], **named)
        return self._choices.by_position(args[n:])(*args[:n])


class OptionedDerivative:
    """A derivative of a method with options, which go by name: `robot.pose.jvp(q, dq, frame="hand")`."""

    def __init__(self, method: OptionedMethod, kind: str) -> None:
        self._method = method
        self._kind = kind
        self._choices = Choices(method.options, lambda **options: getattr(method.specialise(**options), kind))

    def __reduce__(self) -> tuple[Any, ...]:
        return OptionedDerivative, (self._method, self._kind)

    def __repr__(self) -> str:
        return f"{repr(self._method)[:-1]}: {self._kind}>"

    def __call__(self, *args: Any, **named: Any) -> Any:
        return self._choices.by_name((), named)(*args, **named)


def unpickle_optioned_method(mechanism: Mechanism, name: str) -> OptionedMethod:
    """A method with options: how it travels to other processes."""
    return OptionedMethod(Model.of(mechanism), name)
