"""Terms of costs and constraints: functions of the user's at a knot, as parts of a recording.

A function is called with symbols. Its parameters are found by name: the state `x`, the control `u`, the time `t`, and
numbers and references of the problem. Methods of the robot that it asks of x are recorded by themselves, as those of a
robot are, and their results are inputs of what the function does with them.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from ..errors import ArgumentError, unknown
from ..expr import Expr, Graph, traced_array
from ..functions.context import Context
from ..functions.method_table import SUBJECTS
from ..functions.registry import METHODS
from ..sim.observe import OfMethod
from ..sim.observe import method as observe_method
from ..spatial.linear import Vec
from ..tree.clusters import split

Shape = tuple[int, ...]
Entries = Mapping[str, Sequence[Any]]
_AT_A_KNOT = ("q", "v", "u", "tau")


class Term(NamedTuple):
    """A part of what a function returns: its name, the number of its entries, and whether it is one plain number."""

    name: str
    size: int
    is_scalar: bool


class Plain(NamedTuple):
    """A number that is a cost itself, and no residual."""

    value: Any


def plain(cost: Any) -> Plain:
    """Mark a number among the terms of a cost as one that is added as it is, and not as a residual r that costs ½ r².

    Parameters
    ----------
    cost : number
        What it costs; its exact Hessian is used, so that the solver is fast near a minimum and may need damping
        elsewhere.

    Returns
    -------
    Plain
        The term.

    Examples
    --------
    >>> import fourbar as fb
    >>> def cost(x, u):
    ...     return {"effort": 0.1 * u, "fuel": fb.control.plain(fb.sqrt(1e-4 + u[0] * u[0]))}
    """
    return Plain(cost)


class KnotState:
    """The state of a knot while a function of it is traced: `x.q` (nq), `x.v` (nv), and the methods of the robot.

    `x.pose("hand")` is what `robot.pose(q, "hand")` returns, `x.center_of_mass()` and `x.velocity("foot")` likewise;
    all methods of q, v, and of the controls where there are some. `x.difference(q_from)` is the tangent (nv) from
    another configuration, q ⊖ q_from.
    """

    def __init__(self, model: Any, q: np.ndarray, v: np.ndarray, ask: Callable[[OfMethod], np.ndarray]) -> None:
        self.q, self.v, self._model, self._ask = q, v, model, ask

    def difference(self, q_from: Any) -> np.ndarray:
        """The tangent (nv) that leads from another configuration (nq) to this one."""
        entries = np.asarray(q_from, dtype=object).ravel().tolist()
        tree = self._model.cluster_tree
        if len(entries) != tree.nq:
            raise ArgumentError(f"x.difference: expected a configuration of {tree.nq} coordinates, got {len(entries)}")
        start = Vec([x if isinstance(x, Expr) else float(x) for x in entries])
        parts = [split(tree.clusters, x, "nq") for x in (start, Vec(self.q.tolist()))]
        apart = [c.embedding.difference(a, b) for c, a, b in zip(tree.clusters, *parts, strict=True)]
        return traced_array([x for part in apart for x in part])

    def __getattr__(self, name: str) -> Callable[..., np.ndarray]:
        if name.startswith("__") or name not in SUBJECTS:
            raise AttributeError(f"{unknown('method of a robot', name, [*SUBJECTS, 'q', 'v', 'difference'])}")
        method = METHODS[name]
        if missing := [x for x in method.arguments if x not in _AT_A_KNOT]:
            raise ArgumentError(f"x.{name}: it needs {', '.join(missing)}, which a knot does not have")

        def call(*args: Any, **options: Any) -> np.ndarray:
            placed = dict(zip(method.static, args, strict=False))
            if len(args) > len(method.static):
                raise ArgumentError(f"x.{name} takes {', '.join(method.static) or 'no arguments'} besides the state")
            asked = observe_method(name, **placed, **options)
            assert isinstance(asked, OfMethod)
            return self._ask(asked)

        return call


class KnotFunction:
    """A function of the user's: which parameters it has, which methods it asks for, and the terms that it returns.

    `sizes`: the shapes of u, t, numbers and references that it may take.
    """

    def __init__(self, where: str, function: Any, model: Any, sizes: Mapping[str, Shape], single: str) -> None:
        if not callable(function):
            raise ArgumentError(f"{where}={function!r}: expected a function of a state x, such as lambda x, u: ...")
        self.where, self.function, self._model, self._sizes, self._single = where, function, model, dict(sizes), single
        self.parameters = self._read_parameters()
        self._requests: list[OfMethod] = []
        graph = Graph()
        inputs = {name: graph.inputs(name, int(np.prod(shape))) for name, shape in self._all_sizes().items()}
        shown: dict[OfMethod, np.ndarray] = {}

        def ask(method: OfMethod) -> np.ndarray:
            if method not in shown:
                shape = method.shape(model)
                entries = graph.inputs(f"result {len(shown)}", int(np.prod(shape)))
                shown[method] = traced_array(entries).reshape(shape)
                self._requests.append(method)
            return shown[method]

        self.terms = [Term(name, len(values), alone) for name, values, alone in self._call(inputs, ask)]
        if not self.terms:
            raise ArgumentError(f"{where}: {function!r} returned no terms")

    def _read_parameters(self) -> tuple[str, ...]:
        known = ["x", *self._sizes]
        try:
            parameters = inspect.signature(self.function).parameters.values()
        except (TypeError, ValueError):
            raise ArgumentError(f"{self.where}: the parameters of {self.function!r} are not known") from None
        names = []
        for p in parameters:
            if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD):
                raise ArgumentError(f"{self.where}: parameters go by name, of {', '.join(known)}; got *{p.name}")
            if p.name in known:
                names.append(p.name)
            elif p.default is p.empty:
                raise unknown(f"parameter of {self.where}", p.name, known)
        return tuple(names)

    def _all_sizes(self) -> dict[str, Shape]:
        tree = self._model.cluster_tree
        return {"q": (tree.nq,), "v": (tree.nv,), **self._sizes}

    @property
    def size(self) -> int:
        """The number of entries of all terms."""
        return sum(term.size for term in self.terms)

    @property
    def labels(self) -> list[str]:
        """A name for each entry."""
        return [t.name if t.size == 1 else f"{t.name}[{k}]" for t in self.terms for k in range(t.size)]

    def write(self, c: Context) -> list[Any]:
        """The entries of all terms in a recording."""
        results = tuple(tuple(method.outputs(c)[0][2]) for method in self._requests)
        names = tuple(self._all_sizes())
        values = tuple(tuple(c.given.get(name, ())) for name in names)
        return list(c.recorder.call(self._evaluate, names, values, results))

    def _evaluate(self, names: tuple[str, ...], values: tuple[Any, ...], results: tuple[Any, ...]) -> Vec:
        known = {m: traced_array(list(r)).reshape(m.shape(self._model)) for m, r in
                 zip(self._requests, results, strict=True)}  # fmt: skip
        parts = self._call(dict(zip(names, values, strict=True)), known.__getitem__)
        return Vec([x for _, entries, _ in parts for x in entries])

    def _call(self, given: Entries, ask: Callable[[OfMethod], np.ndarray]) -> list[tuple[str, list[Any], bool]]:
        """Name, entries and whether it is a plain number, of each term."""
        arrays = {name: traced_array(list(given[name])).reshape(shape) for name, shape in self._all_sizes().items()
                  if len(given[name]) == int(np.prod(shape))}  # fmt: skip
        x = KnotState(self._model, arrays["q"], arrays["v"], ask)
        scalars: dict[str, Any] = {name: a[()] if a.shape == () else a for name, a in arrays.items()}
        found = self.function(**{name: x if name == "x" else scalars[name] for name in self.parameters})
        parts = dict(found) if isinstance(found, Mapping) else {self._single: found}
        if np.ndim(np.asarray(found, dtype=object)) == 0 and not isinstance(found, Mapping | Plain):
            parts = {self._single: Plain(found)}
        return [self._read_term(str(name), value) for name, value in parts.items()]

    def _read_term(self, name: str, value: Any) -> tuple[str, list[Any], bool]:
        is_plain = isinstance(value, Plain)
        value = value.value if is_plain else value
        try:
            array = np.asarray(value, dtype=object)
            entries = array.ravel().tolist()
        except ValueError:
            entries, array = ["?"], np.empty(1, object)
        for x in entries:
            if not isinstance(x, Expr | Real):
                raise ArgumentError(
                    f"{self.where}, {name!r}: expected a number, or a list or an array of numbers, got {value!r}"
                )
        return name, [x if isinstance(x, Expr) else float(x) for x in entries], is_plain
