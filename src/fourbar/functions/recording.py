"""What a compiled function of a robot is made from: recipes. Those of its derivatives are in `derived`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

from ..once import cached_property
from .fingerprint import fingerprint
from .guard import implicit_loops
from .methods import METHODS, Method

if TYPE_CHECKING:
    from ..expr import Program
    from ..tree.cluster_tree import ClusterTree
    from ..tree.parameters import Parameter
    from .context import Record
    from .model import Model
    from .registry import Stages

BLOCK = 1000
Static = Callable[["ClusterTree"], dict[str, Any]]  # reads the options of a method


class Given(NamedTuple):
    """An argument: its core shape, how many velocities its tangent has, whether it may be left out."""

    name: str
    shape: tuple[int, ...]
    optional: bool = False
    is_configuration: bool = False
    tangent: tuple[int, ...] = ()

    @property
    def width(self) -> int:
        """Directions in which the argument can move."""
        return prod(self.tangent)


class Recording(ABC):
    """How to write the program of a function, for any choice of its optional arguments."""

    model: Model
    name: str
    arguments: tuple[Given, ...]
    results: tuple[str, ...]
    doc: str
    nan: str  # what NaN in a result means, where no loop is at a toggle position

    @abstractmethod
    def write(self, present: tuple[str, ...], block: int = BLOCK) -> Program:
        """Write the program that takes the named arguments.

        Blocks have about `block` operations where steps are unrolled.
        """

    @property
    @abstractmethod
    def parts(self) -> tuple[Any, ...]:
        """All that decides what is written, besides the present arguments."""

    @cached_property
    def _programs(self) -> dict[tuple[str, ...], Program]:
        return {}

    def program(self, present: tuple[str, ...]) -> Program:
        """The program that takes the named arguments: as it was written before, maybe by another process, or anew."""
        from ..compile.program_cache import cached_program  # when first needed: importing fourbar is to be fast

        if present not in self._programs:
            key = partial(fingerprint, (present, self.parts))
            self._programs.setdefault(present, cached_program(key, partial(self.write, present)))
        return self._programs[present]

    @abstractmethod
    def changed(self, which: tuple[Parameter, ...]) -> Recording:
        """The same function with changes of numbers of the model as inputs besides its arguments."""

    @abstractmethod
    def recall(self) -> tuple[Any, ...]:
        """(function, arguments...) that makes the compiled function again, in another process."""


class MethodRecording(Recording):
    """A method with its options read; `rebuild` makes the function anew in another process."""

    def __init__(self, model: Model, name: str, method: Method, static: Static, rebuild: tuple[Any, ...]) -> None:
        self.model = model
        self.name = name
        self.doc = method.doc
        self.nan = (method.nan_of_loops if implicit_loops(model.cluster_tree) else "") or method.nan
        self.results = method.results
        self._method = method
        self._read = static
        self._static = static(model.cluster_tree)
        self._rebuild = rebuild
        every = [(name, False) for name in method.arguments] + [(name, True) for name in method.optional]
        self.arguments = tuple(self._given(name, optional) for name, optional in every)

    def _given(self, name: str, optional: bool) -> Given:
        shape, moving = self.model.shape(name), name in ("q", "q0", "q1")
        return Given(name, shape, optional, moving, (self.model.cluster_tree.nv,) if moving else shape)

    def write(self, present: tuple[str, ...], block: int = BLOCK) -> Program:
        return self.recorded(self._method.record, present, block)

    def recorded(self, algorithm: Record, present: tuple[str, ...], block: int = BLOCK) -> Program:
        """The program of an algorithm of the model, with the options of this one."""
        from .context import record

        return record(self.name, self.model, algorithm, present, self._static, block)

    @property
    def stages(self) -> Stages | None:
        """The stages in which it is differentiated forwards, if it has any."""
        stages, static = self._method.stages, self._static
        if stages is None or not stages.apply(self.model, **static):
            return None
        return stages._replace(solve=partial(stages.solve, **static), rates=partial(stages.rates, **static))

    @property
    def is_forward_dynamics(self) -> bool:
        """Whether this is the forward dynamics of a robot."""
        return self._method is METHODS["forward_dynamics"]

    def written_jacobian(self, present: tuple[str, ...], block: int) -> Program | None:
        """The Jacobian by sweeps of its own, where they have been written."""
        from .context import LARGEST_JACOBIAN, record
        from .methods.jacobians import JACOBIANS

        if METHODS.get(self.name) is not self._method or self.name not in JACOBIANS:
            return None
        write = JACOBIANS[self.name]
        return record(f"{self.name}.jacobian", self.model, write, present, self._static, block, LARGEST_JACOBIAN)

    def changed(self, which: tuple[Parameter, ...]) -> Recording:
        from .derivative_recordings import Changing

        return Changing(self.model, self.name, self._method, self._read, self._rebuild, which)

    @property
    def parts(self) -> tuple[Any, ...]:
        return type(self), self._method, self._read, self.recall()

    def recall(self) -> tuple[Any, ...]:
        return self._rebuild
