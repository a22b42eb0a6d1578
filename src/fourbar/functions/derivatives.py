"""The derivatives that hang on the functions of a robot, as users hold them."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from math import prod
from sys import intern
from typing import Any

import numpy as np

from ..compile.callables import Front
from ..errors import ArgumentError
from ..hints import unknown_keyword
from ..once import once
from ..tree.parameters import find
from .derivative_recordings import Jacobian, Jvp, Vjp
from .function import DERIVATIVES, make
from .parameter_derivatives import ChangeJacobian, ChangeJvp, ChangeVjp, incompatible_changes, read_rate


class Wrapper:
    """A derivative: its recording, and its compiled function, which takes arrays by name."""

    def __init__(self, recording: Any, function: Any) -> None:
        self.recording = recording
        self.function = function

    def __getattr__(self, name: str) -> Any:
        if name in ("recording", "function"):
            raise AttributeError(name)
        return getattr(self.function, name)

    def __call__(self, *args: Any, **named: Any) -> Any:
        return self.function(*args, **named)

    def __repr__(self) -> str:
        return f"<fourbar derivative {self.recording.name}>"

    def __reduce__(self) -> tuple[Any, ...]:
        restore, *args = self.recording.pickle_recipe()
        return restore, tuple(args)


class ParameterDerivative(Wrapper):
    """A derivative along numbers of the robot: their rates are arguments, "d_" before the name."""

    recording: ChangeJvp

    def __init__(self, recording: ChangeJvp, function: Any) -> None:
        super().__init__(recording, function)
        self._incompatible = incompatible_changes(recording.model, recording.which)

    def __call__(self, **named: Any) -> Any:
        rates = {x.name: read_rate(x, named.get(f"d_{x.name}")) for x in self.recording.which}
        for change in self._incompatible:
            change.check(rates)
        return self.function(**named)


class ByNumbers(Wrapper):
    """`f.jacobian.along(names)`: for every result a dictionary of blocks (..., *result, *number) by name."""

    recording: ChangeJacobian

    def __call__(self, *args: Any, **named: Any) -> list[dict[str, Any]]:
        return self.recording.split_blocks(self.function(*args, **named))


def describe(x: Any) -> str:
    """A value in an error message: arrays by their shape."""
    if hasattr(x, "shape"):
        return f"an array of shape {x.shape}"
    return f"a {type(x).__name__} of {len(x)}" if isinstance(x, list | tuple) else repr(x)


def read_names(what: str, parameters: Any) -> tuple[str, ...]:
    """Names of numbers of the robot."""
    if parameters is None:
        return ()
    listed = [parameters] if isinstance(parameters, str) else parameters
    if isinstance(listed, Mapping) or not isinstance(listed, Iterable) or not all(isinstance(x, str) for x in listed):
        raise TypeError(f"{what}: parameters are names here, such as ['arm.mass', 'gear.ratio'], got {parameters!r}")
    names = tuple(listed)
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise TypeError(f"{what}: parameter {twice[0]!r} is named twice")
    return names


@once
def named_tuple(name: str, fields: tuple[str, ...]) -> Any:
    """A class of named tuples; these can be pickled, though the class has no place in a module."""
    made: Any = namedtuple(name, fields)
    made.__reduce__ = lambda self: (restore_result, (name, fields, tuple(self)))
    return made


def restore_result(name: str, fields: tuple[str, ...], values: tuple[Any, ...]) -> Any:
    """A named tuple as it travels to other processes."""
    return named_tuple(name, fields)(*values)


def _by_name(what: str, names: list[str], given: Any, least: int = 0) -> dict[str, Any]:
    """Arrays given as a tuple, by name, or one alone, as a dictionary without those left out.

    At least `least` are needed: one alone is then a mistake.
    """
    if isinstance(given, Mapping):
        wrong = [name for name in given if name not in names]
        if wrong:
            raise TypeError(f"{what}: there is no {wrong[0]!r}; expected {', '.join(names)}")
        arrays_by_name = dict(given)
    else:
        listed = given if isinstance(given, tuple) else (given,)
        arrays = isinstance(given, list) and any(x is None or isinstance(x, np.ndarray) for x in given)
        if len(names) > 1 and (arrays or (len(listed) < least and not isinstance(given, tuple))):
            wanted = f"({', '.join(names[: max(least, 2)])})"
            raise TypeError(f"{what}: expected a tuple of arrays {wanted}, or a dictionary, got {describe(given)}")
        if len(listed) > len(names):
            raise TypeError(f"{what}: {len(listed)} arrays were given for {', '.join(names)}")
        arrays_by_name = dict(zip(names, listed, strict=False))
    return {name: x for name, x in arrays_by_name.items() if x is not None}


def _arguments(recording: Any, args: Any) -> dict[str, Any]:
    """The arguments of the function that a recording differentiates, by name."""
    every = recording.of.arguments
    required = sum(not a.optional and a.default is None for a in every)
    given = _by_name(f"{recording.name}, arguments", [a.name for a in every], args, required)
    return {a.name: given.get(a.name, a.default) for a in every if a.name in given or a.default is not None}


def _check_options(recording: Any, second: str, options: Mapping[str, Any]) -> None:
    """Refuse keywords that a derivative does not take, and show how it is called; `second`: its second argument."""
    known = ("args", second, "parameters", "out", "threads")
    wrong = next((name for name in options if name not in known), None)
    if wrong is not None:
        names = [a.name for a in recording.of.arguments if not a.optional]
        rates = [f"d{name}" for name in names] if second == "tangents" else [f"w_{x}" for x in recording.of.results]
        example = f"{recording.name}({_tuple_text(names)}, {_tuple_text(rates)})"
        raise TypeError(f"{unknown_keyword(recording.name, wrong, known)} Call it as {example}")


def _tuple_text(names: Sequence[str]) -> str:
    """A tuple of names; one name alone."""
    return f"({', '.join(names)})" if len(names) > 1 else names[0]


def _check_tangents(recording: Jvp, moving: Mapping[str, Any]) -> None:
    """A tangent of a configuration that looks like a configuration: the most likely mistake."""
    for a in recording.of.arguments:
        if a.is_configuration and a.name in moving and a.shape != a.tangent:
            shape = np.shape(moving[a.name])
            if shape[-1:] == a.shape:
                raise ArgumentError(
                    f"{recording.name}: the tangent of {a.name} has {a.width} entries, one for each velocity ({a.name} "
                    f"moves along the group and the loops), got {shape}"
                )


def _rates(what: str, parameters: Any) -> dict[str, Any]:
    """Rates of parameters, without those left out."""
    if parameters is not None and not isinstance(parameters, Mapping):
        raise TypeError(f"{what}: parameters are given by name, such as {{'arm.mass': 1.0}}, got {parameters!r}")
    return {name: rate for name, rate in (parameters or {}).items() if rate is not None}


def _all_arrays(given: Any, least: int, most: int) -> bool:
    """Whether this is a tuple of `least` to `most` plain arrays, which needs no reading."""
    return type(given) is tuple and least <= len(given) <= most and all(type(x) is np.ndarray for x in given)


class Stacked:
    """Blocks (..., blocks, rows, columns) of one array, by name and by number; a block is cut out when it is asked for.

    Making three views of a small result takes as long as computing it.
    """

    __slots__ = ("array",)
    _fields: tuple[str, ...] = ()

    def __init__(self, array: np.ndarray) -> None:
        self.array = array

    def __len__(self) -> int:
        return len(self._fields)

    def __iter__(self) -> Iterator[np.ndarray]:
        return (self[k] for k in range(len(self._fields)))

    def __getitem__(self, number: int) -> np.ndarray:
        return self.array[..., range(len(self._fields))[number], :, :]

    def __repr__(self) -> str:
        return f"Jacobian({', '.join(f'{name}={x!r}' for name, x in zip(self._fields, self, strict=True))})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _stack, (self._fields, self.array)


@once
def stacked_type(fields: tuple[str, ...]) -> type[Stacked]:
    """The class of results with these blocks."""
    blocks = {name: property(_block(k)) for k, name in enumerate(fields)}
    return type("Jacobian", (Stacked,), {"__slots__": (), "_fields": fields, **blocks})


def _block(number: int) -> Callable[[Stacked], np.ndarray]:
    """A function that extracts one block."""
    return lambda blocks: blocks.array[..., number, :, :]


def _stack(fields: tuple[str, ...], array: np.ndarray) -> Stacked:
    return stacked_type(fields)(array)


class JacobianLayout:
    """The positions of the blocks of a Jacobian in one array, and their names."""

    def __init__(self, recording: Jacobian) -> None:
        self._recording = recording
        self._unpack: dict[tuple[str, ...], Callable[[np.ndarray], Any]] = {}

    def _shapes(self, present: tuple[str, ...]) -> tuple[list[tuple[int, ...]], list[tuple[int, ...]]]:
        """Shapes of the results, and of the tangents of the arguments."""
        widths = [a.tangent for a in self._recording.of.arguments if a.name in present]
        return self._recording.result_shapes(present), widths

    def block_type(self, present: tuple[str, ...]) -> Any:
        """The type with the blocks by name if these are matrices of one size (blocks, rows, columns), else None."""
        shapes, widths = self._shapes(present)
        plain = len(shapes) == 1 and len(shapes[0]) == 1 and all(len(w) == 1 for w in widths)
        return stacked_type(present) if plain and len(self._recording.shape(present, shapes)) == 3 else None

    def name_blocks(self, present: tuple[str, ...], array: np.ndarray) -> Any:
        """The blocks by name."""
        if present not in self._unpack:
            self._unpack[present] = self.block_type(present) or self._unpacker(present)
        return self._unpack[present](array)

    def _unpacker(self, present: tuple[str, ...]) -> Callable[[np.ndarray], Any]:
        shapes, widths = self._shapes(present)
        core = len(self._recording.shape(present, shapes))
        result = named_tuple("Jacobian", present)
        several = named_tuple("Jacobians", self._recording.of.results) if len(shapes) > 1 else None

        cuts, at = [], 0
        for shape in shapes:
            for width in widths:
                size = prod(shape) * prod(width)
                cuts.append((slice(at, at + size), (*shape, *width)))
                at += size

        def unpack(array: np.ndarray) -> Any:
            if array.ndim == core:
                flat = array.reshape(at)
                blocks = [flat[own] if len(shape) == 1 else flat[own].reshape(shape) for own, shape in cuts]
            else:
                batch = array.shape[: array.ndim - core]
                flat = array.reshape(*batch, at)
                blocks = [flat[..., own].reshape((*batch, *shape)) for own, shape in cuts]
            if several is None:
                return result(*blocks)
            n = len(widths)
            return several(*[result(*blocks[k : k + n]) for k in range(0, len(blocks), n)])

        return unpack


class _Numbers:
    """A derivative that follows numbers of the robot too: one compiled function for each choice of these, kept."""

    def __init__(self, recording: Any, change: Callable[..., Any], wrapper: Callable[..., Any]) -> None:
        self._recording, self._change, self._wrapper = recording, change, wrapper
        self._made: dict[tuple[str, ...], Any] = {}

    def along(self, parameters: Sequence[str]) -> Any:
        """The derivative for the numbers with these names."""
        names = read_names(self._recording.name, parameters)
        if names not in self._made:
            model = self._recording.model
            recording = self._change(self._recording.of, find(model.numbers, names, model.mechanism))
            self._made[names] = self._wrapper(recording, make(recording))
        return self._made[names]


class Directional(Wrapper):
    """`f.jvp(args, tangents)`: the rates of the results when the arguments move with the tangents.

    Both are tuples in the order of the arguments, or dictionaries by name; a tangent left out (or None) is zero. The
    tangent of a configuration has nv entries: q moves along the group, q ⊕ t dq. `parameters` are the rates of numbers
    of the robot, by name: "arm.mass", "elbow.placement", "gear.ratio", ... (see `tree/parameters.py`).
    """

    recording: Jvp

    def __init__(self, recording: Jvp, function: Any = None) -> None:
        super().__init__(recording, make(recording) if function is None else function)
        self._layout = JacobianLayout(recording.of) if isinstance(recording.of, Jacobian) else None
        self._numbers = _Numbers(recording, ChangeJvp, ParameterDerivative)
        self._names = [a.name for a in recording.of.arguments]
        self._required = sum(not a.optional for a in recording.of.arguments)

    def along(self, parameters: Sequence[str]) -> ParameterDerivative:
        """The derivative when the named numbers of the robot change too."""
        return self._numbers.along(parameters)

    def __call__(self, args: Any = (), tangents: Any = (), parameters: Any = None, **options: Any) -> Any:
        plain = parameters is None and self._layout is None and _all_arrays(args, self._required, len(self._names))
        if not plain or not _all_arrays(tangents, 1, len(args)):
            return self._read(args, tangents, parameters, options)
        _check_tangents(self.recording, dict(zip(self._names, tangents, strict=False)))
        left_out = (None,) * (len(self._names) - len(args))
        return self.function(*args, *left_out, *tangents, **options)

    def _read(self, args: Any, tangents: Any, parameters: Any, options: dict[str, Any]) -> Any:
        """A call with arguments of any kind."""
        names = self._names
        _check_options(self.recording, "tangents", options)
        arguments = _arguments(self.recording, args)
        moving = _by_name(f"{self.recording.name}, tangents", names, tangents)
        rates = _rates(self.recording.name, parameters)
        if not (moving or rates):
            raise TypeError(f"{self.recording.name} needs tangents of the arguments, or rates of parameters=")
        for name in moving:
            if name not in arguments:
                raise TypeError(f"{self.recording.name}: a tangent of {name!r} is given, but not {name!r} itself")
        _check_tangents(self.recording, moving)
        if rates:
            tangents = {f"d_{name}": x for name, x in {**moving, **rates}.items()}
            result = self.along(tuple(rates))(**arguments, **tangents, **options)
        else:
            result = self.function(*map(arguments.get, names), *map(moving.get, names), **options)
        return (
            result
            if self._layout is None
            else self._layout.name_blocks(tuple(n for n in names if n in arguments), result)
        )


class Pullback(Wrapper):
    """`f.vjp(args, cotangent)`: the gradient of Σ cotangent · result, by argument, in O(n).

    Several results take a tuple of cotangents, or a dictionary. The gradient by a configuration has nv entries.
    `parameters` are names of numbers of the robot: the gradient by each of them is found in `.parameters[name]`.
    """

    recording: Vjp

    def __init__(self, recording: Vjp, function: Any = None) -> None:
        super().__init__(recording, make(recording) if function is None else function)
        self._numbers = _Numbers(recording, ChangeVjp, Wrapper)
        self._names = tuple(a.name for a in recording.of.arguments)
        self._required = sum(not a.optional for a in recording.of.arguments)

    def along(self, parameters: Sequence[str]) -> Wrapper:
        """The gradients by the arguments, then by the named numbers of the robot."""
        return self._numbers.along(parameters)

    def __call__(self, args: Any = (), cotangent: Any = None, parameters: Any = None, **options: Any) -> Any:
        plain = parameters is None and type(cotangent) is np.ndarray and len(self.recording.weights) == 1
        if not plain or not _all_arrays(args, self._required, len(self._names)):
            return self._read(args, cotangent, parameters, options)
        left_out = (None,) * (len(self._names) - len(args))
        found = self.function(*args, *left_out, cotangent, **options)
        gradient = named_tuple("Gradient", self._names[: len(args)])
        return gradient(*found) if isinstance(found, tuple) else gradient(found)

    def _read(self, args: Any, cotangent: Any, parameters: Any, options: dict[str, Any]) -> Any:
        """A call with arguments of any kind."""
        of = self.recording.of
        _check_options(self.recording, "cotangent", options)
        arguments = _arguments(self.recording, args)
        weights = _by_name(f"{self.recording.name}, cotangent", list(of.results), cotangent)
        for weight, name in zip(self.recording.weights, of.results, strict=True):
            if name not in weights:
                wanted = f"an array of shape ({', '.join(['...', *map(str, weight.shape)])})"
                raise TypeError(f"{self.recording.name} needs the cotangent (weight) of {name!r}, {wanted}")
        names = tuple(a.name for a in of.arguments if a.name in arguments)
        numbers = read_names(self.recording.name, parameters)
        function = self.along(numbers).function if numbers else self.function
        results = function(**arguments, **{intern(f"w_{name}"): x for name, x in weights.items()}, **options)
        gradients = results if isinstance(results, tuple) else (results,)
        if parameters is None:
            return named_tuple("Gradient", names)(*gradients)
        by_number = dict(zip(numbers, gradients[len(names) :], strict=True))
        return named_tuple("Gradient", (*names, "parameters"))(*gradients[: len(names)], by_number)


class NamedJacobian(Wrapper):
    """`f.jacobian(*args)`: all first derivatives, by name: `.q`, `.v`, ..., each (..., *result, width).

    Columns for a configuration are along the group (nv of them). Several results: `.a.q`, `.tau.v`, ... `parameters`
    are names of numbers of the robot; the blocks (..., *result, *number) are then in `.parameters[name]`.
    """

    recording: Jacobian

    def __init__(self, recording: Jacobian, function: Any = None) -> None:
        super().__init__(recording, make(recording) if function is None else function)
        self._layout = JacobianLayout(recording)
        self._required = tuple(a.name for a in recording.arguments if not a.optional)
        self._front: Any = None
        self._numbers = _Numbers(recording, ChangeJacobian, ByNumbers)

    def make_front(self) -> Any:
        """This, with machine code before it that serves plain calls."""
        inner = self.function.state[0].environment
        if inner is None:
            return self
        self._front = Front(self, inner)
        return self._front.callable()

    def along(self, parameters: Sequence[str]) -> ByNumbers:
        """The derivatives by the named numbers of the robot."""
        return self._numbers.along(parameters)

    def _with_parameters(self, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """The blocks by the arguments, and by numbers of the robot."""
        numbers = read_names(self.recording.name, named.pop("parameters"))
        if named.get("out") is not None:
            raise ArgumentError(
                f"{self.recording.name}: out= is for the blocks by the arguments; those by parameters are another "
                "array, which jacobian.along(names).function(..., out=...) fills"
            )
        by_argument, several = self(*args, **named), len(self.recording.of.results) > 1
        by_number = self.along(numbers)(*args, **named) if numbers else [{} for _ in self.recording.of.results]
        rows = [
            named_tuple("Jacobian", (*own._fields, "parameters"))(*own, more)
            for own, more in zip(by_argument if several else [by_argument], by_number, strict=True)
        ]
        return named_tuple("Jacobians", self.recording.of.results)(*rows) if several else rows[0]

    def __call__(self, *args: Any, **named: Any) -> Any:
        if "parameters" in named:
            return self._with_parameters(args, named)
        if len(args) == 1 < len(self._required) and isinstance(args[0], tuple):
            listed = ", ".join(self._required)
            raise TypeError(f"{self.recording.name} takes its arguments one by one, jacobian({listed}), not as a tuple")
        array = self.function(*args, **named)
        present = self._present(args, named)
        found = self._layout.name_blocks(present, array)
        if self._front is not None and present == self._required and isinstance(found, Stacked):
            self._front.serve(found, found.array)
        return found

    def _present(self, args: tuple[Any, ...], named: dict[str, Any]) -> tuple[str, ...]:
        given = dict(zip((a.name for a in self.recording.arguments), args, strict=False))
        given.update(named)
        return tuple(a.name for a in self.recording.arguments if given.get(a.name, a.default) is not None)


WRAPPERS: dict[str, tuple[Any, Any]] = {  # what a user holds, and how its program is written, by kind
    "jvp": (Directional, Jvp),
    "vjp": (Pullback, Vjp),
    "jacobian": (NamedJacobian, Jacobian),
}
DERIVATIVES["jvp"] = lambda of: Directional(Jvp(of))
DERIVATIVES["vjp"] = lambda of: Pullback(Vjp(of))
DERIVATIVES["jacobian"] = lambda of: NamedJacobian(Jacobian(of)).make_front()
