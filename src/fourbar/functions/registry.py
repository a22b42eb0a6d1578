"""Methods of robots, and the registry of all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ..once import import_late
from .method_table import SUBJECTS

if TYPE_CHECKING:
    from ..arrays import Argument
    from .arguments import DeclaredArgument
    from .context import Context, Record
    from .model import Model

Outputs = list[tuple[str, tuple[int, ...], list[Any]]]


def _identity(option: Any) -> Any:
    return option


class Option(NamedTuple):
    """An option, which chooses the code of a method: what it is called, its default, and whether it has to be given.

    `keep` turns what is given into what can be kept, a number or a name or a tuple of them, where that takes more than
    to turn a list into a tuple. `written` is what stands for its value on a command line: "FRAME", or "FRAME ..." for
    several; without it the option cannot be given there. `type` and `text` are its entry in the docstrings of methods
    that have it.
    """

    name: str
    default: Any = None
    required: bool = False
    keep: Callable[[Any], Any] = _identity
    written: str = ""
    type: str = ""
    text: str = ""


def _no_options(cluster_tree: Any) -> dict[str, Any]:
    return {}


class Stages(NamedTuple):
    """A function whose results solve equations: these are differentiated, not the steps that solve them.

    `data`, recorded like a method with arguments for the `unknown` besides its own, is what the equations need;
    `solve` gives the entries of each unknown, which do not move. `rates` takes a context, the data by name and their
    rates along directions, and gives the rates of the results, by name. All get the options of the method; `apply`
    says for which, of which model.
    """

    data: Record
    rates: Callable[..., list[dict[str, Sequence[Any]]]]
    apply: Callable[..., bool]
    unknown: tuple[DeclaredArgument, ...] = ()
    solve: Callable[..., Sequence[Sequence[Any]]] = lambda c, **_: ()


class Rival(NamedTuple):
    """Another algorithm for the results of a method: it is recorded too for models of which `may_win` is true."""

    record: Record
    may_win: Callable[[Model], bool] = lambda model: True


class Method(NamedTuple):
    """An algorithm as a method: arrays it takes (`extra` ones may be left out), what it returns, and its options.

    `read` takes a cluster tree and all options by name, and gives what `record` takes besides the context. `nan` says
    why a result may be NaN where no loop is at a toggle position, `nan_of_loops` the same of robots with loops that are
    solved while they move. `inverts_mass`: it needs the inverse of the mass matrix. `rivals` are other algorithms with
    the same results: the program with the fewest operations is kept. `stages` are another way to differentiate. `text`
    is the docstring as written, where arguments and options are described only if they differ from their declaration.
    """

    record: Record
    inputs: tuple[DeclaredArgument, ...]
    results: tuple[str, ...]
    extra: tuple[DeclaredArgument, ...] = ()
    options: tuple[Option, ...] = ()
    read: Callable[..., dict[str, Any]] = _no_options
    text: str = ""
    nan: str = ""
    nan_of_loops: str = ""
    inverts_mass: bool = False
    rivals: tuple[Rival, ...] = ()
    stages: Stages | None = None

    @property
    def arguments(self) -> tuple[str, ...]:
        """The names of the arguments that have to be given."""
        return tuple(x.name for x in self.inputs)

    @property
    def defaults(self) -> dict[str, float | None]:
        """The same with their defaults, None where there is none."""
        return {x.name: x.default for x in self.inputs}

    @property
    def optional(self) -> tuple[str, ...]:
        """The names of those that may be left out."""
        return tuple(x.name for x in self.extra)

    @property
    def static(self) -> tuple[str, ...]:
        """The names of the options."""
        return tuple(x.name for x in self.options)

    @property
    def doc(self) -> str:
        """The docstring: as written, with an entry for every argument and option in its section Parameters."""
        arguments: Any = import_late(f"{__package__}.arguments")  # when first needed: building a robot does not
        return arguments.complete_docstring(self)

    def all_arguments(self, model: Model, more: tuple[Argument, ...] = ()) -> tuple[Argument, ...]:
        """All arguments, for a model; `more` come after those that have to be given."""
        return (*(x.on(model) for x in self.inputs), *more, *(x.on(model, optional=True) for x in self.extra))

    def read_options(self, cluster_tree: Any, **chosen: Any) -> dict[str, Any]:
        """The arguments of `record` besides the context, for some options; the others have their defaults."""
        return self.read(cluster_tree, **{x.name: x.default for x in self.options if not x.required} | chosen)


def load(subject: str) -> None:
    """Import a file of `methods`, which registers its methods."""
    import_late(f"{__package__}.methods.{subject}")


class Methods(Mapping[str, Method]):
    """Methods by name. The file of a method is imported when it is first looked up; all are, to list them."""

    def __init__(self) -> None:
        self.registered: dict[str, Method] = {}  # by the files that were imported so far

    def __setitem__(self, name: str, method: Method) -> None:
        self.registered[name] = method

    def __getitem__(self, name: str) -> Method:
        if name not in self.registered:
            load(SUBJECTS[name])
        return self.registered[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())

    def _all(self) -> dict[str, Method]:
        for subject in dict.fromkeys(SUBJECTS.values()):
            load(subject)
        return self.registered


METHODS = Methods()


def method(
    *inputs: DeclaredArgument,
    results: str,
    optional: Sequence[DeclaredArgument] = (),
    options: Sequence[Option] = (),
    read: Callable[..., dict[str, Any]] = _no_options,
    nan: str = "",
    nan_of_loops: str = "",
    inverts_mass: bool = False,
    rivals: Sequence[Rival] = (),
    into: Methods | dict[str, Method] = METHODS,
) -> Any:
    """Register a recording function as a method; its docstring becomes the method's.

    Its arguments are described by their declarations; the docstring describes differences and results.
    """

    def register(function: Record) -> Record:
        into[function.__name__] = Method(
            function,
            inputs,
            tuple(results.split()),
            tuple(optional),
            tuple(options),
            read,
            function.__doc__ or "",
            nan,
            nan_of_loops,
            inverts_mass,
            tuple(rivals),
        )
        return function

    return register


def flat(parts: Sequence[Sequence[Any]]) -> list[Any]:
    """The entries of all parts, one after the other."""
    return [x for part in parts for x in part]


def vector(c: Context, name: str, parts: Sequence[Sequence[Any]]) -> Outputs:
    """One result of nv entries, given by cluster."""
    return [(name, (c.nv,), flat(parts))]
