"""Functions of a robot in which some of its parameters are arguments: they may differ from sample to sample.

What follows from the parameters alone is computed when a function is first called; each call then takes little more
than one with the robot's own parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ..arrays import Argument, batch_shape, bind, refuse_lazy, to_array
from ..compile.in_place_input import interleave, with_far_input
from ..compile.llvm import batch_lanes
from ..errors import ArgumentError, unknown
from ..expr import Program
from ..expr.partial_evaluation import KNOWN, separate
from ..mechanism.mechanism import Mechanism
from ..once import Turn, cached_property, import_late
from ..spatial.linear import Vec
from ..tree.cluster_tree import ClusterTree
from ..tree.parameter_changes import varied_tree, with_varied
from ..tree.parameters import Parameter, find
from ..tree.parameters import parameters as every_parameter
from .attributes import OptionedMethod
from .function import Variant, backend, make, signature_of
from .method_table import SUBJECTS
from .model import Model
from .recording import BLOCK, ParameterRecording, Recording
from .registry import METHODS
from .varied_context import VariedContext, argument_names, as_arguments


class VariedRecording(ParameterRecording):
    """A method with parameters of the model as arguments, after those that it needs."""

    def __init__(self, model: Model, name: str, options: dict[str, Any], which: tuple[Parameter, ...]) -> None:
        method = METHODS[name]
        again = (unpickle_varying, model.mechanism, tuple(x.name for x in which), name, tuple(options.items()))
        super().__init__(model, name, method, partial(method.read_options, **options), again, as_arguments(which))
        self.which = which

    def context(self, recorder: Any, present: Sequence[Argument]) -> VariedContext:
        return VariedContext(self.model, recorder, present, self.which)

    def tree_at(self, number: Callable[[Argument], Sequence[float]]) -> ClusterTree:
        p = Vec([x for argument in as_arguments(self.which) for x in number(argument)])
        mechanism, built = self.model.mechanism, self.model.cluster_tree
        return with_varied(mechanism, built, self.which, p, varied_tree(mechanism, self.which, p))


class Varying:
    """The functions of a robot with some of its parameters as arguments. Made by `System.varying`.

    A method takes, after its own arguments, the parameters in the order in which they were named, each with leading
    axes like any argument; as keywords they are written with underscores (``hand_mass``). `nominal` has the values of
    the robot by name. `at` takes the parameters once, for many calls.

    Examples
    --------
    >>> import fourbar as fb, numpy as np
    >>> robot = fb.robots.double_pendulum()
    >>> heavier = robot.varying("lower.mass")
    >>> masses = np.linspace(0.5, 2.0, 4)
    >>> heavier.inverse_dynamics([0.3, 0.4], [0, 0], [0, 0], masses).shape
    (4, 2)
    """

    def __init__(self, model: Model, names: Iterable[str]) -> None:
        self._model = model
        self._which = parameters(model.mechanism, tuple(names))
        self.names = tuple(x.name for x in self._which)

    @property
    def nominal(self) -> dict[str, np.ndarray]:
        """The values that the robot itself has."""
        return {x.name: np.reshape(x.values(self._model.mechanism), x.shape) for x in self._which}

    def at(self, *values: Any, **named: Any) -> VaryingAt:
        """The functions with values of the parameters, which are given once instead of in every call.

        What follows from the parameters alone is then computed once too, and batches with as many samples as the
        parameters have, along one axis, read it in place: a call takes 1.0 to 1.2 times as long as one of the robot's
        own function, where one that is given 64 parameters takes up to twice as long.

        Parameters
        ----------
        *values : array_like, shape (..., *shape)
            The parameters, in the order in which they were named; or a single mapping of values by their names.
        **named : array_like, shape (..., *shape)
            The same by the names of arguments: ``hand_mass``.

        Returns
        -------
        VaryingAt
            Its methods take what those of the robot take. The values are copied.

        Examples
        --------
        >>> import fourbar as fb, numpy as np
        >>> robot = fb.robots.double_pendulum()
        >>> masses = np.linspace(0.5, 2.0, 1000)
        >>> many = robot.varying("lower.mass", "gravity").at({"lower.mass": masses, "gravity": [0, 0, -1.62]})
        >>> many.forward_dynamics([0.3, 0.4], [0, 0], [0, 0]).shape
        (1000, 2)
        """

        given = read_values(self.names, as_arguments(self._which), values, named)
        again = (varying_at, (self._model.mechanism, self.names, given))
        return VaryingAt(self._model, self._recording, given, again)

    def _recording(self, name: str, options: dict[str, Any]) -> VariedRecording:
        return VariedRecording(self._model, name, options, self._which)

    def __getattr__(self, name: str) -> Any:
        if name not in SUBJECTS:
            raise AttributeError(str(unknown("method of a varying robot", name, SUBJECTS)))
        if METHODS[name].options:
            made = OptionedMethod(self._model, name, self._make, argument_names(self._which))
        else:
            made = self._make(self._model, name, {})
        return self.__dict__.setdefault(name, made)

    def _make(self, model: Model, name: str, options: dict[str, Any]) -> Any:
        return make(self._recording(name, options))

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *SUBJECTS})

    def __repr__(self) -> str:
        return f"<fourbar System {self._model.mechanism.name!r} varying {', '.join(self.names)}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return varying, (self._model.mechanism, self.names)


def parameters(mechanism: Mechanism, names: tuple[str, ...]) -> tuple[Parameter, ...]:
    """Parameters by name, each once."""
    if not names:
        raise ArgumentError("varying: name at least one parameter, such as 'hand.mass'")
    for name in names:
        if not isinstance(name, str):
            raise ArgumentError(
                f"varying: {name!r} is not a name; expected names as separate arguments, such as "
                "varying('hand.mass', 'gravity'); write varying(*names) for those of a list"
            )
    if len(set(names)) < len(names):
        raise ArgumentError(f"varying: a parameter is named twice: {', '.join(names)}")
    return find(every_parameter(mechanism), names, mechanism)


def varying(mechanism: Mechanism, names: tuple[str, ...]) -> Varying:
    """The functions of a mechanism with some of its parameters as arguments."""
    return Varying(Model.of(mechanism), names)


def varying_at(mechanism: Mechanism, names: tuple[str, ...], given: Mapping[str, np.ndarray]) -> VaryingAt:
    """`varying` at values by the names of arguments, as pickles make it in other processes."""
    return varying(mechanism, names).at(**given)


def unpickle_varying(
    mechanism: Mechanism, names: tuple[str, ...], name: str, options: tuple[tuple[str, Any], ...]
) -> Any:
    """A function with parameters as arguments: how it travels to other processes."""
    made = getattr(varying(mechanism, names), name)
    return made.specialise(**dict(options)) if isinstance(made, OptionedMethod) else made


_OPTIONS = frozenset(("out", "threads"))  # of every call
Values = Mapping[str, np.ndarray]  # (*batch, *shape) of parameters, by the names of arguments


class Borrowed(Recording):
    """A recording with the names, the model and the explanations of another."""

    def __init__(self, of: Recording) -> None:
        super().__init__()
        self.of = of
        self.model, self.name, self.results = of.model, of.name, of.results

    def write(self, present: tuple[str, ...], block: int = BLOCK) -> Program:
        return self.program(present)

    @property
    def parts(self) -> tuple[Any, ...]:
        return type(self), self.of.parts

    @property
    def doc(self) -> str:
        return self.of.doc

    @property
    def nan(self) -> str:
        return self.of.nan

    @property
    def varies_inertia(self) -> bool:
        return self.of.varies_inertia

    @property
    def inverts_mass(self) -> bool:
        return self.of.inverts_mass

    def tree_at(self, number: Callable[[Argument], Sequence[float]]) -> ClusterTree:
        return self.of.tree_at(number)

    def pickle_recipe(self) -> tuple[Any, ...]:
        return self.of.pickle_recipe()


class OfState(Borrowed):
    """A function in which parameters are arguments, seen as one of its other arguments; its programs take both."""

    def __init__(self, of: Recording, parameters: Iterable[str]) -> None:
        super().__init__(of)
        self._parameters = frozenset(parameters)
        self.arguments = tuple(a for a in of.arguments if a.name not in self._parameters)

    def program(self, present: tuple[str, ...]) -> Program:
        wanted_names = {*present, *self._parameters}
        return self.of.program(tuple(a.name for a in self.of.arguments if a.name in wanted_names))


class _Rest(Borrowed):
    """The rest of a function, for some of its arguments, when the parameters are known."""

    def __init__(self, of: Recording, program: Program, values: Values) -> None:
        super().__init__(of)
        own = {a.name: a for a in of.arguments}
        self.arguments = tuple(_required_argument(own.get(x.name), x) for x in program.inputs)
        self._rest, self._values = program, values

    @property
    def constants(self) -> Values:
        return self._values

    def program(self, present: tuple[str, ...]) -> Program:
        return self._rest


def _required_argument(argument: Argument | None, x: Any) -> Argument:
    """A required argument of the function; without one, that of the values that follow from the parameters."""
    moves, rows = (None, ()) if argument is None else (argument.moves, argument.rows)
    return Argument(x.name, x.shape, False, moves, rows)


class _Served(NamedTuple):
    """A function, and the array that it takes in place of the parameters."""

    function: Any
    known: np.ndarray  # (..., values that follow from the parameters)


class _Ready:
    """A function of some arguments, with the values that follow from the parameters, which it takes at a `place`.

    For a batch with as many samples as the parameters have, along one axis, that is read where it lies, in `vectors`;
    for others it is brought along in `rows`, which broadcast.
    """

    def __init__(self, recording: Recording, present: tuple[str, ...], values: Values) -> None:
        self._recording, self._values = recording, values
        self._before, self._rest, _ = separate(recording.program(present), values, least_values=True)
        self.place = [x.name for x in self._rest.inputs].index(KNOWN)
        self._axes = [len(x.shape) + 1 for x in self._rest.inputs if x.name != KNOWN]

    def serving(self, args: Sequence[Any]) -> _Served:
        """The compiled function for a call with these arguments."""
        n = self._samples
        for x, axes in zip(args, self._axes, strict=False):
            if x.__class__ is not np.ndarray or x.ndim != axes or len(x) != n:
                return self._in_rows
        return self._in_vectors if len(args) == len(self._axes) else self._in_rows

    @cached_property
    def _samples(self) -> int:
        """How many samples a batch has for which known values lie in vectors; -1 where they never do."""
        batch = np.broadcast_shapes(*(self._values[x.name].shape[: -len(x.shape) or None] for x in self._before.inputs))
        sizes = [k for x in (*self._rest.inputs, *self._rest.outputs) for k in x.shape]
        fits = len(batch) == 1 and batch[0] >= batch_lanes().width and 0 not in sizes
        return batch[0] if fits and backend() == "llvm" else -1

    @cached_property
    def _in_rows(self) -> _Served:
        return _Served(make(_Rest(self._recording, self._rest, self._values)), precompute(self._before, self._values))

    @cached_property
    def _in_vectors(self) -> _Served:
        """Vectors, and the addresses of them that the function takes. Where some parameter is NaN, rows: who explains
        a NaN looks at the arguments.
        """
        rows = precompute(self._before, self._values)
        if not np.isfinite(rows).all():
            return self._in_rows
        self._vectors, places = interleave(rows, batch_lanes().width)
        return _Served(make(_Rest(self._recording, with_far_input(self._rest, KNOWN), self._values)), places)


class FunctionAt:
    """A function of a robot with given parameters: `robot.varying("hand.mass").at(masses).forward_dynamics`."""

    def __init__(self, recording: Recording, values: Values, again: tuple[Any, ...]) -> None:
        self._recording, self._values, self._again = recording, values, again
        self._by_names: dict[tuple[str, ...], _Ready] = {}
        self._by_count: dict[int, _Ready] = {}
        self._turn = Turn()
        self.__name__ = recording.name

    @property
    def __doc__(self) -> str:
        return self._recording.doc

    def __call__(self, *args: Any, **named: Any) -> Any:
        ready = self._by_count.get(len(args))
        if ready is None or (named and not named.keys() <= _OPTIONS):
            return self._call(args, named)
        if any(x is None for x in args):
            return self._call(args, named)
        function, known = ready.serving(args)
        place = ready.place
        if place == len(args):
            return function(*args, known, **named)
        return function(*args[:place], known, *args[place:], **named)

    def _call(self, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """A call with arguments by name, or with some left out."""
        options = {name: named.pop(name) for name in _OPTIONS if name in named}
        arguments = bind(self._recording.name, self._recording.arguments, args, named)
        ready = self._ready(tuple(arguments))
        if tuple(arguments) == tuple(a.name for a in self._recording.arguments[: len(arguments)]):
            self._by_count[len(arguments)] = ready
        values = list(arguments.values())
        function, known = ready.serving(values)
        return function(*values[: ready.place], known, *values[ready.place :], **options)

    def _ready(self, present: tuple[str, ...]) -> _Ready:
        """The function that serves calls with these arguments."""
        if present not in self._by_names:
            with self._turn.take():
                if present not in self._by_names:
                    self._by_names.setdefault(present, _Ready(self._recording, present, self._values))
        return self._by_names[present]

    @property
    def __signature__(self) -> Any:
        given = self._recording.arguments
        return signature_of(given)

    def _derivative(self, kind: str) -> Any:
        derivatives: Any = import_late(f"{__package__}.derivatives")  # when first needed
        wrapper, recording = derivatives.WRAPPERS[kind]
        of = recording(self._recording)
        made = wrapper(of, FunctionAt(of, self._values, (_unpickle_derivative, self, kind)))
        made.along = _refuse_parameters
        return made

    @cached_property
    def jvp(self) -> Any:
        """The derivative along a direction."""
        return self._derivative("jvp")

    @cached_property
    def vjp(self) -> Any:
        """The gradient of a weighted sum of the results."""
        return self._derivative("vjp")

    @cached_property
    def jacobian(self) -> Any:
        """All first derivatives by the arguments, not by the parameters."""
        return self._derivative("jacobian")

    def __repr__(self) -> str:
        given = ", ".join(f"{a.name}=None" if a.optional else a.name for a in self._recording.arguments)
        return f"<fourbar function {self._recording.name}({given}) with {_count_text(self._values)} given>"

    def __reduce__(self) -> tuple[Any, ...]:
        make_again, *args = self._again
        return make_again, tuple(args)


def _refuse_parameters(parameters: Any) -> Any:
    raise ArgumentError(
        f"with parameters that are given, derivatives are those of the arguments, not of parameters ({parameters!r}); "
        "these are arguments of the functions of robot.varying(...) itself"
    )


def _unpickle_derivative(function: FunctionAt, kind: str) -> Any:
    return getattr(function, kind).function


def _count_text(values: Values) -> str:
    return "1 parameter" if len(values) == 1 else f"{len(values)} parameters"


def precompute(before: Program, values: Values) -> np.ndarray:
    """The values (*batch, k) that follow from parameters alone: the result of a program of theirs."""
    arguments = [Argument(x.name, x.shape) for x in before.inputs]
    arrays = [np.require(values[x.name], float, "A") for x in before.inputs]
    batch = batch_shape(before.name, arguments, arrays)
    (found,) = Variant(before, {}).run(arrays, batch, None, 1)
    return np.ascontiguousarray(found)


class VaryingAt:
    """The functions of a robot with parameters that are given for each sample. Made by `Varying.at`.

    They take the arguments that the robot's own functions take; leading axes of the parameters broadcast with theirs.

    Examples
    --------
    >>> import fourbar as fb, numpy as np
    >>> robot = fb.robots.double_pendulum()
    >>> four = robot.varying("lower.mass").at(np.linspace(0.5, 2.0, 4))
    >>> four.mass_matrix([0.3, 0.4]).shape
    (4, 2, 2)
    >>> four.forward_dynamics.jacobian([0.3, 0.4], [0, 0], [0, 0]).q.shape
    (4, 2, 2)
    """

    def __init__(
        self, model: Model, record: Callable[[str, dict[str, Any]], Recording], values: Values, again: tuple[Any, ...]
    ) -> None:
        self._model, self._record, self._values, self._again = model, record, values, again

    def __getattr__(self, name: str) -> Any:
        if name not in SUBJECTS:
            raise AttributeError(str(unknown("method of a varying robot", name, SUBJECTS)))
        if METHODS[name].options:
            made: Any = OptionedMethod(self._model, name, self._make)
        else:
            made = self._make(self._model, name, {})
        return self.__dict__.setdefault(name, made)

    def _make(self, model: Model, name: str, options: dict[str, Any]) -> FunctionAt:
        again = (_unpickle_function, self, name, tuple(options.items()))
        return FunctionAt(OfState(self._record(name, options), self._values), self._values, again)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *SUBJECTS})

    def __repr__(self) -> str:
        return f"<fourbar System {self._model.mechanism.name!r} with {_count_text(self._values)} given>"

    def __reduce__(self) -> tuple[Any, ...]:
        return self._again


def _unpickle_function(robots: VaryingAt, name: str, options: tuple[tuple[str, Any], ...]) -> FunctionAt:
    made = getattr(robots, name)
    return made.specialise(**dict(options)) if isinstance(made, OptionedMethod) else made


def read_values(
    names: Sequence[str], arguments: Sequence[Argument], args: Sequence[Any], named: Mapping[str, Any]
) -> Values:
    """Values of parameters, as arrays that nobody else changes, by the names of arguments.

    They are given in order, or by the names of arguments, or all in one mapping by `names`, those of parameters.
    """
    if len(args) == 1 and not named and isinstance(args[0], Mapping):
        values_by_parameter, args = dict(args[0]), ()
        for name in values_by_parameter:
            if name not in names:
                raise unknown("parameter that varies", name, list(names))
        called = dict(zip(names, (a.name for a in arguments), strict=True))
        named = {called[name]: x for name, x in values_by_parameter.items()}
    bound = bind("at", arguments, args, named)
    refuse_lazy("at", **bound)
    arrays = {a.name: np.array(to_array("at", a, bound[a.name])) for a in arguments}
    batch_shape("at", arguments, list(arrays.values()))
    return arrays
