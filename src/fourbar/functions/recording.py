"""Recordings, which write the programs of functions. Those of derivatives are in `derivative_recordings`.

A fingerprint holds all that the program of a recording depends on: equal bytes mean equal programs.
"""

from __future__ import annotations

import io
import pickle
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, partial
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any

from ..arrays import Argument
from ..compile.cache import cached_program
from ..once import Turn, cached_property
from ..sources import sources
from .context import LARGEST_UNROLLED, Context, Record, record_program
from .model import Model
from .nan_reasons import implicit_loops
from .registry import Method, Stages

if TYPE_CHECKING:
    import numpy as np

    from ..expr import Program
    from ..tree.cluster_tree import ClusterTree
    from ..tree.parameters import Parameter


_OWN = __name__.partition(".")[0]
_KNOWN = {_OWN, "numpy", "builtins", "copyreg", "collections", "functools", "operator", "pathlib"}


class _Unknown(Exception):
    """Something whose name does not determine its meaning: a function or a class of the user's, which may change."""


class _Identity(pickle.Pickler):
    """Writes data by value, classes and functions by name: if fourbar or a library has them, it says what they are."""

    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, FunctionType):
            return _function(obj)
        kind = obj if isinstance(obj, type) else type(obj)
        inner = getattr(obj, "__module__", None) or _OWN  # a wrapper of some library: where its content is from
        for home in (kind.__module__ or "", inner):
            if home.partition(".")[0] not in _KNOWN:
                raise _Unknown(obj)
        return NotImplemented


def _function(f: FunctionType) -> tuple[Any, ...]:
    """A function of a known module: what it does, and what it holds."""
    home = f.__globals__.get("__name__") or ""  # it may call itself whatever it likes: its code is from there
    if home.partition(".")[0] not in _KNOWN or vars(sys.modules.get(home, _Unknown)) is not f.__globals__:
        raise _Unknown(f)
    held = [cell.cell_contents for cell in f.__closure__ or ()]
    return list, ((home, f.__qualname__, _code(f.__code__), f.__defaults__, f.__kwdefaults__, held),)


def _code(code: CodeType) -> tuple[Any, ...]:
    """The meaning of a piece of code, apart from the functions that it calls, which are in the sources."""
    constants = [_code(c) if isinstance(c, CodeType) else c for c in code.co_consts]
    return code.co_name, code.co_firstlineno, code.co_code, code.co_names, constants


def fingerprint(parts: Any) -> bytes | None:
    """The fingerprint of `parts` and of the sources of fourbar; None if there is none."""
    files, written = _sources(), io.BytesIO()
    if not files:
        return None
    pickler = _Identity(written, 5)
    pickler.fast = True  # what is shared is written in full wherever it occurs, so that sharing makes no difference
    try:
        pickler.dump(parts)
    except (_Unknown, pickle.PicklingError, TypeError, AttributeError, ValueError, RecursionError):
        return None
    return files + written.getvalue()


@cache
def _sources() -> bytes:
    """Name, size and times of each source file; empty if they are not what runs."""
    found = [(path, s.st_size, s.st_mtime_ns, s.st_ctime_ns) for path, s in sources()]
    return repr(found).encode() if found else b""


BLOCK = 1000
Static = Callable[["ClusterTree"], dict[str, Any]]  # reads the options of a method


class Recording(ABC):
    """Writes the program of a function, for any choice of its optional arguments."""

    model: Model
    name: str
    arguments: tuple[Argument, ...]
    results: tuple[str, ...]

    def __init__(self) -> None:
        self._programs: dict[tuple[str, ...], Program] = {}
        self._turn = Turn()

    @abstractmethod
    def write(self, present: tuple[str, ...], block: int = BLOCK) -> Program:
        """Write the program that takes the named arguments.

        Blocks have about `block` operations where steps are unrolled.
        """

    @property
    @abstractmethod
    def parts(self) -> tuple[Any, ...]:
        """All that decides what is written, besides the present arguments."""

    def program(self, present: tuple[str, ...]) -> Program:
        """The program that takes the named arguments: as it was written before, maybe by another process, or anew."""
        if present not in self._programs:
            with self._turn.take():
                if present not in self._programs:
                    key = partial(fingerprint, (present, self.parts))
                    self._programs.setdefault(present, cached_program(key, partial(self.write, present)))
        return self._programs[present]

    @property
    def doc(self) -> str:
        """The docstring of the function."""
        return ""

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all arguments."""
        return tuple(a.name for a in self.arguments)

    @property
    def required_names(self) -> tuple[str, ...]:
        """The names of those that have to be given."""
        return tuple(a.name for a in self.arguments if not a.optional)

    @property
    @abstractmethod
    def nan(self) -> str:
        """The meaning of NaN in a result, where no loop is at a toggle position."""

    @property
    def varies_inertia(self) -> bool:
        """Whether inertias are arguments, so that they may be zero."""
        return False

    @property
    def inverts_mass(self) -> bool:
        """Whether results are infinite where the mass matrix has no inverse."""
        return False

    def tree_at(self, number: Callable[[Argument], Sequence[float]]) -> ClusterTree:
        """The robot in one sample; `number` gives the entries of an argument there."""
        return self.model.cluster_tree

    @property
    def constants(self) -> Mapping[str, np.ndarray]:
        """The parameters (..., *shape) that calls do not give, by the names of arguments."""
        return {}

    @abstractmethod
    def pickle_recipe(self) -> tuple[Any, ...]:
        """(function, arguments...) that makes what users hold again, in another process."""

    @property
    def rebuild(self) -> tuple[Any, ...]:
        """(function, arguments...) that makes the compiled function again, in another process."""
        return self.pickle_recipe()


class MethodRecording(Recording):
    """A method with its options read, and `more` arguments after those that it needs.

    `rebuild` makes the function anew in another process. The shapes of arguments are found when they are first needed.
    """

    is_plain = True  # the method as it is registered
    largest = LARGEST_UNROLLED  # traced operations

    def __init__(
        self, model: Model, name: str, method: Method, static: Static, rebuild: tuple[Any, ...],
        more: tuple[Argument, ...] = (),
    ) -> None:  # fmt: skip
        super().__init__()
        self.model = model
        self.name = name
        self.results = method.results
        self.method = method
        self.read = static
        self.static = static(model.cluster_tree)
        self._rebuild, self.more = rebuild, more

    @cached_property
    def arguments(self) -> tuple[Argument, ...]:  # type: ignore[override]
        """All arguments, with their shapes."""
        return self.method.all_arguments(self.model, self.more)

    @property
    def doc(self) -> str:
        return self.method.doc

    @property
    def names(self) -> tuple[str, ...]:
        return (*self.required_names, *self.method.optional)

    @property
    def required_names(self) -> tuple[str, ...]:
        return (*self.method.arguments, *(a.name for a in self.more))

    def select_arguments(self, present: Iterable[str]) -> list[Argument]:
        """The named arguments."""
        known = {a.name: a for a in self.arguments}
        return [known[name] for name in present]

    def write(self, present: tuple[str, ...], block: int = BLOCK) -> Program:
        arguments = self.select_arguments(present)
        best = self.record_algorithm(self.method.record, arguments, block)
        for rival in self.method.rivals:
            if not self.varies_inertia and rival.may_win(self.model):  # which do not look for joints without inertia
                program = self.record_algorithm(rival.record, arguments, block)
                best = program if program.operations < best.operations else best
        return best

    def context(self, recorder: Any, present: Sequence[Argument]) -> Context:
        """The context in which its algorithms are recorded: every one of them, those of its derivatives too."""
        return Context(self.model, recorder, present)

    def current_context(self, recorder: Any, present: Sequence[Argument]) -> Context:
        """The same where numbers by which it is differentiated, which are no arguments, have their values."""
        return self.context(recorder, present)

    def options_in(self, context: Context) -> dict[str, Any]:
        """The options as read for the tree of a context, whose numbers may be symbols."""
        tree = context.model.cluster_tree
        return self.static if tree is self.model.cluster_tree else self.read(tree)

    def record_algorithm(self, algorithm: Record, present: Sequence[Argument], block: int = BLOCK) -> Program:
        """The program of an algorithm of the model, with the options of this one."""

        def run(recorder: Any) -> Any:
            context = self.context(recorder, present)
            return algorithm(context, **self.options_in(context))

        return record_program(self.name, run, block, self.largest)

    @property
    def nan(self) -> str:
        method = self.method
        return (method.nan_of_loops if implicit_loops(self.model.cluster_tree) else "") or method.nan

    @property
    def inverts_mass(self) -> bool:
        return self.method.inverts_mass

    @property
    def stages(self) -> Stages | None:
        """The stages in which it is differentiated forwards, if it has any."""
        stages = self.method.stages
        return stages if stages is not None and stages.apply(self.model, **self.static) else None

    @property
    def parts(self) -> tuple[Any, ...]:
        return type(self), self.method, self.read, self.pickle_recipe()

    def pickle_recipe(self) -> tuple[Any, ...]:
        return self._rebuild


class ParameterRecording(MethodRecording):
    """A method in whose program parameters of the model are inputs too."""

    is_plain = False  # what is written for a method as registered knows nothing of parameters
    which: tuple[Parameter, ...]

    @property
    def parts(self) -> tuple[Any, ...]:
        return *super().parts, tuple(x.name for x in self.which)

    @property
    def varies_inertia(self) -> bool:
        return any(x.is_inertia for x in self.which)

    @abstractmethod
    def context(self, recorder: Any, present: Sequence[Argument]) -> Context:
        """The recording with the parameters."""
