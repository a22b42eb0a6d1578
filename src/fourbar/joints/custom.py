"""A joint from a user's function: only the pose is written, S and S° are derived from it."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..errors import ModelError
from ..expr import Expr, Graph, evaluate, jvp, traced_array
from ..spatial.linear import Mat, Scalar, Vec, dot
from ..spatial.subspace import Columns, Subspace
from ..spatial.transform import Transform
from ..spatial.vectors import Twist
from .base import require_independent
from .euclidean import FlatJoint, uniform
from .mirror_image import Mirrored, diagonal
from .variable import float_fields, innermost, with_entries, with_field, with_innermost

if TYPE_CHECKING:
    from .mirror import Mirror

_SHAPES = "a pair (R, p) of a 3 x 3 rotation and a position, a 4 x 4 matrix, or a Transform"

_REACH = 0.5  # range around home in which a joint is checked and, without limits, sampled


class _Trace(NamedTuple):
    """The function, traced once on symbols: entries of R and p, of S, of S° v, in the inputs q and v, and in those of
    the function's own `numbers` that vary.
    """

    q: tuple[Expr, ...]
    v: tuple[Expr, ...]
    R: Mat  # (3, 3)
    p: Vec  # (3,)
    S: tuple[Vec, ...]  # (6,) for each velocity
    bias: Vec  # (6,)
    numbers: tuple[Expr, ...] = ()


@dataclass(frozen=True, repr=False)
class CustomJoint(FlatJoint):
    """A joint whose pose is given by a Python function. q: plain numbers; v = q̇.

    Parameters
    ----------
    function : callable
        Takes nq scalars (as one array) and returns the pose of the child in the parent: (R, p), a 4 x 4 matrix, or a
        Transform. It is run once on symbols, so it must be written with functions of NumPy or fourbar and without `if`
        on q.
    nq : int
        Number of coordinates, 1 to 6.
    name : str, default ''
        Name for messages.
    home : array_like, shape (nq,), optional
        Neutral configuration, near which the joint is checked and sampled; zeros if None. The pose there need not be
        the identity.

    Examples
    --------
    >>> import numpy as np, fourbar as fb
    >>> def rolling(q):
    ...     c, s = np.cos(q[0]), np.sin(q[0])
    ...     return [[c, 0, s], [0, 1, 0], [-s, 0, c]], [0.3 * q[0], 0, 0]
    >>> fb.joints.CustomJoint(rolling, nq=1).nv
    1
    """

    function: Callable[[Any], Any]
    nq: int
    name: str = field(default="", compare=False)
    home: Sequence[float] | None = None
    _trace: _Trace = field(init=False, compare=False)
    _numbers: tuple[Scalar, ...] = field(init=False, compare=False, default=())  # values of `_trace.numbers`

    def __post_init__(self) -> None:
        if not (callable(self.function) and isinstance(self.function, Hashable)):
            raise ModelError(f"a custom joint needs a hashable function of its coordinates, got {self.function!r}")
        if not (isinstance(self.nq, numbers.Integral) and 1 <= self.nq <= 6):
            raise ModelError(f"{self._title} needs 1 to 6 coordinates, got nq = {self.nq!r}")
        home = np.zeros(self.nq) if self.home is None else np.asarray(self.home, float)
        if home.shape != (self.nq,) or not np.all(np.isfinite(home)):
            raise ModelError(
                f"the home configuration of {self._title} must be {self.nq} finite numbers, got {self.home!r}"
            )
        object.__setattr__(self, "nq", int(self.nq))
        object.__setattr__(self, "home", tuple(home.tolist()))
        object.__setattr__(self, "_trace", self._trace_columns())
        generic = (home + np.random.default_rng(0).uniform(-_REACH, _REACH, self.nq)).tolist()
        for q in (home.tolist(), generic):
            self._check_pose(q)
        require_independent(self, generic, self._title)

    @property
    def nv(self) -> int:
        return self.nq

    @property
    def v_names(self) -> tuple[str, ...]:
        return ("",) if self.nq == 1 else tuple(f"q{i}" for i in range(self.nq))

    @property
    def _title(self) -> str:
        shown = self.name or getattr(self.function, "__qualname__", None) or repr(self.function)
        return f"custom joint {shown!r}"

    def __repr__(self) -> str:
        shown = getattr(self.function, "__qualname__", None) or repr(self.function)
        name = f", name={self.name!r}" if self.name else ""
        home = f", home={self.home!r}" if any(self.home or ()) else ""
        return f"CustomJoint({shown}, nq={self.nq}{name}{home})"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.function, self.nq, self.name, self.home)

    def placement(self, q: Sequence[Scalar]) -> Transform:
        trace = self._trace
        x = evaluate([*trace.p, *trace.R[0], *trace.R[1], *trace.R[2]], self._values(q))
        return Transform((Mat((Vec(x[3:6]), Vec(x[6:9]), Vec(x[9:]))),), Vec(x[:3]))

    def subspace(self, q: Sequence[Scalar]) -> Subspace:
        entries = evaluate([x for column in self._trace.S for x in column], self._values(q))
        return Columns(tuple(Vec(entries[6 * k : 6 * k + 6]) for k in range(self.nq)))

    def bias(self, q: Sequence[Scalar], v: Sequence[Scalar]) -> Twist:
        return Twist.of(evaluate(self._trace.bias, self._values(q) | dict(zip(self._trace.v, v, strict=True))))

    def neutral(self) -> tuple[float, ...]:
        return tuple(self.home or ())

    def random(
        self, rng: np.random.Generator, lower: np.ndarray, upper: np.ndarray, size: tuple[int, ...] = ()
    ) -> np.ndarray:
        return uniform(rng, lower, upper, np.full(self.nq, _REACH), size, np.array(self.home))

    def _values(self, q: Sequence[Scalar]) -> dict[Expr, Scalar]:
        return dict(zip((*self._trace.q, *self._trace.numbers), (*q, *self._numbers), strict=True))

    @property
    def variable(self) -> dict[str, Any]:
        """The float fields of a function that is a dataclass, but for those of this joint itself."""
        inner = innermost(self)
        return {} if inner is self else float_fields(inner)

    def with_numbers(self, numbers: Mapping[str, Sequence[Scalar]]) -> CustomJoint:
        flat = tuple(x for entries in numbers.values() for x in entries)
        if all(isinstance(x, float) for x in flat):
            function = _with_numbers(self.function, numbers)
            return CustomJoint(function, self.nq, self.name, self.home)
        sizes = tuple((name, len(entries)) for name, entries in numbers.items())
        return with_field(with_field(self, "_trace", _trace_with(self, sizes)), "_numbers", flat)

    def _trace_columns(self, sizes: Sequence[tuple[str, int]] = ()) -> _Trace:
        """Body twists of the columns: ω from Rᵀ ∂R (skew), linear Rᵀ ∂p; S° v is the rate of S v along q̇ = v.

        Fields of the function are inputs too; `sizes` gives the number of entries of each, by name.
        """
        graph = Graph()
        q, v = graph.inputs("q", self.nq), graph.inputs("v", self.nq)
        numbers = {name: graph.inputs(name, size) for name, size in sizes}
        try:
            R, p = read_pose(_with_numbers(self.function, numbers)(traced_array(q)))
        except Exception as error:
            error.add_note(f"while tracing the function of {self._title}, called with {self.nq} symbols")
            raise
        entries = [*p, *R[0], *R[1], *R[2]]
        S = []
        for x in q:
            d = jvp(entries, {x: 1.0})
            dR = Mat((Vec(d[3:6]), Vec(d[6:9]), Vec(d[9:])))
            spin = [dot(R.T[i], dR.T[j]) for i, j in ((2, 1), (0, 2), (1, 0))]
            S.append(Vec((*spin, *R.transpose_times(d[:3]))))
        bias = jvp(Columns(tuple(S)).twist(v).six(), dict(zip(q, v, strict=True)))
        return _Trace(q, v, R, p, tuple(S), Vec(bias), tuple(x for own in numbers.values() for x in own))

    def _check_pose(self, q: list[float]) -> None:
        at = Vec(np.array(q))  # NumPy's numbers give NaN where floats raise
        with np.errstate(all="ignore"):
            T, S = self.placement(at), self.subspace(at)
        R, p = np.array(T.R, float), np.array(T.p, float)
        message = f"the function of {self._title} returned R = {R.tolist()}, p = {p.tolist()} at q = {q}"
        if not (np.all(np.isfinite(R)) and np.all(np.isfinite(p))):
            raise ModelError(f"{message}; expected finite numbers (use home= to name a configuration in its domain)")
        if not np.all(np.isfinite([t.six() for t in S.twists()])):
            raise ModelError(
                f"{message}; its derivative there is not finite (use home= to name a configuration where it is)"
            )
        error = np.abs(R.T @ R - np.eye(3)).max()
        if error > 1e-9:
            raise ModelError(f"{message}; expected a rotation matrix, but RᵀR differs from the identity by {error:.3g}")
        if np.linalg.det(R) < 0.0:
            raise ModelError(f"{message}; expected a rotation matrix, but this is a reflection (determinant -1)")

    def mirrored(self, mirror: Mirror) -> Mirrored:
        function = self.function
        twice = isinstance(function, _MirroredFunction) and function.mirror == mirror
        image = function.function if twice else _MirroredFunction(function, mirror)  # type: ignore[union-attr]
        same = diagonal(*(1.0,) * self.nq)
        return Mirrored(CustomJoint(image, self.nq, self.name, self.home), same, same)


@lru_cache(maxsize=64)
def _trace_with(joint: CustomJoint, sizes: tuple[tuple[str, int], ...]) -> _Trace:
    return joint._trace_columns(sizes)


def _with_numbers(function: Any, numbers: Mapping[str, Sequence[Scalar]]) -> Any:
    """A function that is a dataclass with other values of some fields: flat entries by name."""
    inner = innermost(function)
    for name, entries in numbers.items():
        inner = with_field(inner, name, with_entries(getattr(inner, name), iter(entries)))
    return with_innermost(function, inner) if numbers else function


@dataclass(frozen=True)
class _MirroredFunction:
    """The pose of a custom joint, mirrored."""

    function: Callable[[Any], Any]
    mirror: Mirror

    def __call__(self, q: Any) -> Transform:
        R, p = read_pose(self.function(q))
        return self.mirror.transform(Transform((R,), p))


def read_pose(result: Any) -> tuple[Mat, Vec]:
    """R and p from a function's result."""
    if isinstance(result, Transform):
        result = (result.R, result.p)
    if isinstance(result, (tuple, list)) and len(result) == 2:
        R, p = (np.array(part, object) for part in result)
        if R.shape == (3, 3) and p.shape == (3,):
            return Mat(Vec([_scalar(x) for x in row]) for row in R), Vec([_scalar(x) for x in p])
        raise ModelError(f"expected {_SHAPES}; got a pair of shapes {R.shape} and {p.shape}")
    T = np.array(result, object)
    if T.shape != (4, 4):
        raise ModelError(f"expected {_SHAPES}; got {type(result).__name__} of shape {T.shape}")
    if [_scalar(x) for x in T[3]] != [0.0, 0.0, 0.0, 1.0]:
        raise ModelError(f"expected the last row (0, 0, 0, 1) in a 4 x 4 pose, got {tuple(T[3])}")
    return read_pose((T[:3, :3], T[:3, 3]))


def _scalar(x: Any) -> Scalar:
    """A symbol, or a constant as a float."""
    if isinstance(x, Expr):
        return x
    if not isinstance(x, numbers.Real):
        raise ModelError(f"the entries of a pose must be numbers or symbols, got {x!r}")
    return float(x)
