"""What a method of a robot is, and the registry of all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ..once import imported

if TYPE_CHECKING:
    from .context import Context, Record

# The files of this folder that register methods.
SUBJECTS = (
    "actuation", "bodies", "configuration", "coriolis", "dynamics", "energy", "forces", "kinematics", "passive",
    "regressors",
)  # fmt: skip
Outputs = list[tuple[str, tuple[int, ...], list[Any]]]


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
    unknown: tuple[str, ...] = ()
    solve: Callable[..., Sequence[Sequence[Any]]] = lambda c, **_: ()


class Method(NamedTuple):
    """An algorithm as a method: arrays it takes, what it returns, options that choose the code (`static`).

    `nan` says why a result may be NaN where no loop is at a toggle position, `nan_of_loops` the same of robots with
    loops that are solved while they move. `stages` are another way to differentiate.
    """

    record: Record
    arguments: tuple[str, ...]
    results: tuple[str, ...]
    optional: tuple[str, ...] = ()
    static: tuple[str, ...] = ()
    doc: str = ""
    nan: str = ""
    nan_of_loops: str = ""
    stages: Stages | None = None


def load(subject: str) -> None:
    """Import a file of this folder, which registers its methods."""
    imported(f"{__package__}.methods.{subject}")


class Methods(Mapping[str, Method]):
    """Methods by name. A file is imported when it is needed: one looks up a name after `load`, or all are loaded."""

    def __init__(self) -> None:
        self._found: dict[str, Method] = {}

    def __setitem__(self, name: str, method: Method) -> None:
        self._found[name] = method

    def __getitem__(self, name: str) -> Method:
        return self._found[name] if name in self._found else self._all()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())

    def _all(self) -> dict[str, Method]:
        for subject in SUBJECTS:
            load(subject)
        return self._found


METHODS = Methods()


def method(
    arguments: str,
    results: str,
    optional: str = "",
    static: str = "",
    nan: str = "",
    nan_of_loops: str = "",
    into: Methods | dict[str, Method] = METHODS,
) -> Any:
    """Register a recording function as a method; its docstring becomes the method's."""

    def register(function: Record) -> Record:
        name = function.__name__
        doc = function.__doc__ or ""
        into[name] = Method(
            function,
            tuple(arguments.split()),
            tuple(results.split()),
            tuple(optional.split()),
            tuple(static.split()),
            doc,
            nan,
            nan_of_loops,
        )
        return function

    return register


def flat(parts: Sequence[Sequence[Any]]) -> list[Any]:
    """The entries of all parts, one after the other."""
    return [x for part in parts for x in part]


def vector(c: Context, name: str, parts: Sequence[Sequence[Any]]) -> Outputs:
    """One result of nv entries, given by cluster."""
    return [(name, (c.nv,), flat(parts))]
