"""Functions of a robot as operations that an automatic differentiation can follow: each has its derivatives, which are
operations again, and so on.

Libraries that differentiate know nothing of groups and loops: their tangent of a configuration has an entry for every
coordinate (nq), ours one for every velocity (nv). `Projection` maps the one to the other: where q̇ = T(q) v, it is the
least squares solution v = (TᵀT)⁻¹ Tᵀ dq. So a function is differentiated as if it were constant off the configuration
space.

Bridges to such libraries have in common which functions they take, and how these are looked up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from inspect import Parameter, Signature
from typing import Any, NamedTuple

from ..arrays import Argument, as_signed
from ..errors import ArgumentError
from ..expr import Program
from ..functions.attributes import OptionedMethod
from ..functions.context import record_program
from ..functions.derivative_recordings import DerivativeRecording, Jvp, Vjp
from ..functions.method_table import SUBJECTS
from ..functions.model import Model
from ..functions.recording import BLOCK, MethodRecording, Recording
from ..hints import MissingAttribute
from ..once import cached_property
from ..spatial.linear import Mat, Vec, dot
from ..spatial.solve import factor
from ..tree.clusters import split


class UnfitLibrary(ImportError):
    """A library is installed in a version that cannot run functions of fourbar."""


def recording_of(of: Any, module: str, library: str, routes: str) -> Recording:
    """The recording of a function of a robot; errors say what to give instead.

    `module` is the bridge, `library` the library that it serves, and `routes` its ways to differentiate.
    """
    recording = of.state[0].recording if hasattr(type(of), "state") else None  # not that of something inside `of`
    if isinstance(recording, MethodRecording):
        return recording
    if isinstance(getattr(of, "recording", recording), DerivativeRecording):
        raise ArgumentError(
            f"{module}.function: {of!r} is a derivative. Give the function itself, and differentiate that with {routes}"
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


class ChosenRecording(Recording):
    """A recording for one choice of its optional arguments: all are needed then, and are named by their places.

    Names of derivatives of derivatives would clash.
    """

    def __init__(self, of: Recording, present: tuple[str, ...]) -> None:
        super().__init__()
        self._of, self._present = of, present
        self.model, self.name = of.model, of.name
        known = {a.name: a for a in of.arguments}
        self.arguments = tuple(known[x]._replace(name=f"x{i}", optional=False) for i, x in enumerate(present))
        self.results = tuple(y.name for y in self._numbered_program.outputs)

    @cached_property
    def _numbered_program(self) -> Program:
        program = self._of.program(self._present)
        inputs = tuple(replace(x, name=a.name) for x, a in zip(program.inputs, self.arguments, strict=True))
        return replace(
            program, inputs=inputs, outputs=tuple(replace(y, name=f"y{k}") for k, y in enumerate(program.outputs))
        )

    def program(self, present: tuple[str, ...]) -> Program:
        return self._numbered_program

    def write(self, present: tuple[str, ...], block: int = BLOCK) -> Program:
        return self._numbered_program

    @property
    def parts(self) -> tuple[Any, ...]:
        return type(self), self._of.parts, self._present

    @property
    def nan(self) -> str:
        return self._of.nan

    def pickle_recipe(self) -> tuple[Any, ...]:
        return self._of.pickle_recipe()


class _ProjectionRecording(Recording):
    """(q, x) to step(embedding, q, x) of each cluster; derivatives by q are by its entries, on no group."""

    def __init__(self, model: Model, name: str, step: Callable[..., Any], given: str) -> None:
        super().__init__()
        self.model, self.name = model, name
        self._step, self._given = step, given
        tree = model.cluster_tree
        self.arguments = Argument("q", (tree.nq,)), Argument("x", (getattr(tree, given),))
        self.results = ("y",)

    def write(self, present: tuple[str, ...], block: int = BLOCK) -> Program:
        clusters = self.model.cluster_tree.clusters

        def run(recorder: Any) -> Any:
            q, x = (recorder.input(a.name, a.shape) for a in self.arguments)
            by_cluster = zip(clusters, split(clusters, q, "nq"), split(clusters, x, self._given), strict=True)
            parts = [recorder.call(self._step, g.embedding, own_q, own_x) for g, own_q, own_x in by_cluster]
            y = [entry for part in parts for entry in part]
            return [("y", (len(y),), y)]

        return record_program(self.name, run, block)

    @property
    def parts(self) -> tuple[Any, ...]:
        return type(self), self.name, self.model.mechanism

    @property
    def nan(self) -> str:
        return ""

    def pickle_recipe(self) -> tuple[Any, ...]:
        return type(self), self.model, self.name, self._step, self._given


def _columns(embedding: Any, q: Sequence[Any]) -> list[Any]:
    """The columns of T(q), q̇ = T(q) v."""
    n = embedding.nv
    return [embedding.rate(q, [1.0 if i == j else 0.0 for i in range(n)]) for j in range(n)]


def _solve_normal(T: list[Any], b: Sequence[Any]) -> Vec:
    """(TᵀT)⁻¹ b."""
    return factor(Mat(Vec([dot(x, y) for y in T]) for x in T)).solve(b)


def project_rates(embedding: Any, q: Sequence[Any], dq: Sequence[Any]) -> Sequence[Any]:
    """The velocity that moves a cluster most nearly with the rates dq of its coordinates."""
    if embedding.is_additive:
        return dq
    T = _columns(embedding, q)
    return _solve_normal(T, [dot(column, dq) for column in T])


def project_gradient(embedding: Any, q: Sequence[Any], w: Sequence[Any]) -> Sequence[Any]:
    """The transposed map: a gradient by velocities as one by coordinates."""
    if embedding.is_additive:
        return w
    T = _columns(embedding, q)
    return Mat.from_columns(T) @ _solve_normal(T, w)


class Transposed(NamedTuple):
    """A linear operation transposed: another operation, which takes the arguments that are not linear, then the weights
    `of` some results; its results `picked` belong to the linear arguments.
    """

    operation: Operation
    of: tuple[int, ...]
    picked: tuple[int, ...]


class Operation:
    """A program, and its derivatives. Arguments in which it is `linear` are its last ones."""

    def __init__(self, recording: Recording, present: tuple[str, ...], projection: Projection | None = None) -> None:
        self.recording = recording
        self.present = present
        self.projection = Projection(recording.model) if projection is None else projection
        self._forward: dict[tuple[int, ...], TangentOperation] = {}

    @cached_property
    def program(self) -> Program:
        """Its program."""
        return self.recording.program(self.present)

    @cached_property
    def arguments(self) -> tuple[Argument, ...]:
        """The arguments that it is given."""
        known = {a.name: a for a in self.recording.arguments}
        return tuple(known[name] for name in self.present)

    @property
    def linear(self) -> tuple[int, ...]:
        """The places of arguments in which it is linear."""
        return ()

    def forward(self, moving: tuple[int, ...]) -> TangentOperation:
        """The rates of the results, from all arguments and the tangents of those at the places `moving`."""
        found = self._forward.get(moving)
        return self._forward.setdefault(moving, TangentOperation(self, moving)) if found is None else found

    @cached_property
    def backward(self) -> Backward:
        """The gradients by all arguments, from these and a weight for each result."""
        return Backward(self)

    @cached_property
    def source(self) -> Recording:
        """The recording from which its derivatives are made."""
        return self.recording if self._is_method else ChosenRecording(self.recording, self.present)

    @property
    def _is_method(self) -> bool:
        return isinstance(self.recording, MethodRecording)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Its arguments as `source` calls them."""
        return self.present if self._is_method else tuple(a.name for a in self.source.arguments)

    def project(self, place: int) -> Operation | None:
        """The function that turns (q, dq) into the tangent of the argument at a place, if that is not dq itself."""
        argument = self.arguments[place]
        return self.projection.down if argument.is_configuration and not self.projection.is_straight else None

    def along(self, moving: tuple[int, ...]) -> Operation | None:
        """A linear operation of fewer linear arguments, those at the places `moving`; None if there is none."""
        return self if moving == self.linear else None

    def transpose(self, weighted: tuple[int, ...]) -> Transposed:
        """A linear operation backwards, where some results have weights."""
        raise TypeError(f"{self.recording.name} is not linear in its arguments, so it cannot be transposed")


class TangentOperation(Operation):
    """An operation along tangents of some of its arguments, in which it is linear."""

    def __init__(self, of: Operation, moving: tuple[int, ...]) -> None:
        recording = Jvp(of.source)
        tangents = tuple(f"d_{of.names[i]}" for i in moving)
        super().__init__(recording, (*of.names, *tangents), of.projection)
        self._of, self._moving = of, moving

    @property
    def linear(self) -> tuple[int, ...]:
        n = len(self._of.names)
        return tuple(range(n, n + len(self._moving)))

    def along(self, moving: tuple[int, ...]) -> Operation:
        n = len(self._of.names)
        return self._of.forward(tuple(self._moving[i - n] for i in moving))

    def transpose(self, weighted: tuple[int, ...]) -> Transposed:
        return Transposed(self._of.backward, tuple(range(len(self.program.outputs))), self._moving)


class Backward(Operation):
    """The gradients of an operation by all its arguments, linear in the weights of its results."""

    def __init__(self, of: Operation) -> None:
        recording = Vjp(of.source)
        super().__init__(recording, (*of.names, *(w.name for w in recording.weights)), of.projection)
        self._of = of

    @property
    def linear(self) -> tuple[int, ...]:
        return tuple(range(len(self._of.names), len(self.present)))

    def transpose(self, weighted: tuple[int, ...]) -> Transposed:
        return Transposed(self._of.forward(weighted), weighted, tuple(range(len(self.linear))))


class _Projecting(Operation):
    """One direction of `Projection`: linear in its second argument."""

    other: Callable[[], Operation]

    @property
    def linear(self) -> tuple[int, ...]:
        return (1,)

    def transpose(self, weighted: tuple[int, ...]) -> Transposed:
        return Transposed(self.other(), (0,), (0,))


class Projection:
    """The operations between tangents of configurations by entry (nq) and along the configuration space (nv)."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self.is_straight = all(g.embedding.is_additive for g in model.cluster_tree.clusters)

    @cached_property
    def down(self) -> Operation:
        """(q, dq) to v."""
        return self._operation("tangent", project_rates, "nq", lambda: self.up)

    @cached_property
    def up(self) -> Operation:
        """(q, weights of v) to weights of dq."""
        return self._operation("cotangent", project_gradient, "nv", lambda: self.down)

    def _operation(self, name: str, step: Callable[..., Any], given: str, other: Callable[[], Operation]) -> Operation:
        recording = _ProjectionRecording(self._model, name, step, given)
        operation = _Projecting(recording, recording.required_names, self)
        operation.other = other
        return operation
