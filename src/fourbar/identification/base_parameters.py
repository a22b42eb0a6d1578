"""Base parameters: the combinations of parameters that determine a robot's joint forces, and those without effect.

They are found numerically. Columns of the regressor at many random states are visited in order, bodies near the ground
first; one that depends on those before it adds to their combinations (the regrouping of the identification literature).
Closed linkages count as assembled: what only another assembly would reveal is not determined.

Of matrices too tall for memory QR factors are made from chunks of rows, of which a triangle stays.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import ArgumentError, ModelError
from ..hints import with_keyword_hints
from ..linalg import condition, least_squares
from ..mechanism.inertial_parameters import INERTIAL, RIGID, read_columns
from ..mechanism.validate import read_rng
from ..once import cached_property
from ..representation import html_table, quantity
from ..system.system import System
from ..tolerances import REMAINDER

_DRAWS = 20
_WORST = 10.0  # relative to the condition number of the loops at neutral: nearer to a toggle position accuracy is lost


def check_robot(robot: Any) -> None:
    """Refuse anything but a robot."""
    if not isinstance(robot, System):
        raise ArgumentError(f"robot: expected a System, such as fourbar.load(...) returns, got {type(robot).__name__}")


def has_implicit_loops(robot: System) -> bool:
    """Whether q contains dependent coordinates, which select the assembly of a loop."""
    return any(cluster.embedding.is_implicit for cluster in robot.model.cluster_tree.clusters)


def _conditions(robot: System, q: np.ndarray) -> np.ndarray:
    """The nearness of loops to toggle positions at q (n, nq): the largest condition number of their rows K_d (n)."""
    worst = np.ones(len(q))
    for _, tie, places in robot.model.cluster_tree.implicit_clusters:
        if tie.dependent:
            K = tie.units.of(tie.slopes(q[:, places]))  # (n, rows, columns)
            worst = np.maximum(worst, condition(K[:, list(tie.rows)][:, :, list(tie.dependent)]))
    return worst


def random_configurations(robot: System, rng: np.random.Generator, n: int) -> np.ndarray:
    """q (n, nq) within limits. Those too near to a toggle position are drawn again, and finally replaced by others."""
    q = robot.random(rng, n)
    if not has_implicit_loops(robot):
        return q
    worst = _WORST * _conditions(robot, robot.model.neutral()[None])[0]
    for _ in range(_DRAWS):
        near = np.flatnonzero(~(_conditions(robot, q) < worst))
        if not near.size:
            return q
        q[near] = robot.random(rng, len(near))
    valid = np.flatnonzero(_conditions(robot, q) < worst)
    return q[np.resize(valid, n)] if len(valid) else q


class Triangle:
    """R of the QR factorisation of all rows so far, which gives every sum of squares: |A x|² = |R x|²."""

    def __init__(self, width: int) -> None:
        self.R: np.ndarray = np.zeros((0, width))
        self.rows = 0

    def add(self, A: np.ndarray) -> None:
        """Add rows (n, width)."""
        self.rows += len(A)
        self.R = np.asarray(np.linalg.qr(np.concatenate([self.R, A]), mode="r"))


def stack(parts: list[tuple[np.ndarray, np.ndarray, float]], width: int) -> np.ndarray:
    """R of several triangles stacked: each with its own columns, and a weight."""
    whole = Triangle(width)
    for R, columns, weight in parts:
        wide = np.zeros((len(R), width))
        wide[:, columns] = weight * R
        whole.add(wide)
    return whole.R


_NEGLIGIBLE = 1e-9  # relative to the largest coefficient of its row
_STATES = 4  # rows of the regressor per column
States = Callable[["np.random.Generator", int], tuple[np.ndarray, np.ndarray, np.ndarray]]


@dataclass(frozen=True)
class BaseParameters:
    """The combinations of inertial parameters on which joint forces depend.

    Parameters
    ----------
    names : tuple of str
        Names of all p parameters φ.
    independent : tuple of int
        Which columns of the regressor are kept, r of them.
    combine : ndarray, shape (r, p)
        β = combine @ φ are the base parameters: Y φ = Y[..., independent] β at every state.

    Examples
    --------
    >>> import fourbar as fb
    >>> robot = fb.robots.double_pendulum()
    >>> base = fb.base_parameters(robot)
    >>> base.rank, base.combinations[0]
    (7, 'upper.mx')
    """

    names: tuple[str, ...]
    independent: tuple[int, ...]
    combine: np.ndarray

    def __repr__(self) -> str:
        return f"<fourbar BaseParameters: {self.rank} of {quantity(len(self.names), 'parameter')}>"

    def _repr_html_(self) -> str:
        return html_table(repr(self), ("base parameter",), ((name,) for name in self.combinations))

    @property
    def rank(self) -> int:
        """Number of base parameters.

        Returns
        -------
        int
            The rank r of the regressor.
        """
        return len(self.independent)

    @cached_property
    def combinations(self) -> tuple[str, ...]:
        """Each base parameter, written out.

        Returns
        -------
        tuple of str
            Such as 'rod.Jyy + 0.25 tip.m'.
        """
        rows = zip(self.combine, self.independent, strict=True)
        return tuple(_combination_text(row, self.names, first) for row, first in rows)

    @cached_property
    def identifiable(self) -> tuple[str, ...]:
        """Parameters that can be known by themselves.

        Returns
        -------
        tuple of str
            Their names.
        """
        return tuple(name for name, alone in zip(self.names, self.alone, strict=True) if alone)

    @cached_property
    def only_combined(self) -> tuple[str, ...]:
        """Parameters that can be known only together with others, as parts of `combinations`.

        Returns
        -------
        tuple of str
            Their names.
        """
        loose = ~self.alone & ~self.silent
        return tuple(name for name, x in zip(self.names, loose, strict=True) if x)

    @cached_property
    def without_effect(self) -> tuple[str, ...]:
        """Parameters on which no motion and no joint force depends.

        Returns
        -------
        tuple of str
            Their names.
        """
        return tuple(name for name, x in zip(self.names, self.silent, strict=True) if x)

    @cached_property
    def alone(self) -> np.ndarray:
        """Mask of the parameters that are base parameters on their own."""
        single = np.count_nonzero(self.combine, axis=1) == 1
        found = np.zeros(len(self.names), bool)
        found[np.array(self.independent, int)[single]] = True
        return found

    @cached_property
    def silent(self) -> np.ndarray:
        """Mask of the parameters that nothing depends on."""
        return ~np.any(self.combine, axis=0)


def _combination_text(row: np.ndarray, names: tuple[str, ...], first: int) -> str:
    order = [first, *(j for j in np.flatnonzero(row) if j != first)]
    text = ""
    for j in order:
        size = f"{abs(row[j]):.6g}"
        term = names[j] if size == "1" else f"{size} {names[j]}"
        sign = ("- " if row[j] < 0.0 else "") if not text else (" - " if row[j] < 0.0 else " + ")
        text += sign + term
    return text


def read_kinds(columns: Any) -> tuple[str, ...]:
    """Kinds of parameters, at least one."""
    kinds = read_columns(columns)
    if not kinds:
        raise ArgumentError(f"columns={columns!r}: expected at least one kind of parameter, such as 'inertia'")
    return kinds


def mean_length(robot: System) -> float:
    """The size of a robot: the mean distance between joints, or one."""
    lengths = [float(np.linalg.norm(c.placement.position)) for c in robot.mechanism.joints]
    return float(np.mean([x for x in lengths if x > 0.0] or [1.0]))


def _above_rounding(norms: np.ndarray, names: tuple[str, ...], length: float) -> np.ndarray:
    """A mask of the columns of a regressor that are more than rounding, independent of the unit of length.

    Relative to the largest: m, m c and J, scaled by the robot's size, and joint parameters among themselves.
    """
    sizes = {name: 0 if name == "m" else 1 if name.startswith("m") else 2 for name in INERTIAL}
    suffixes = [name.rsplit(".", 1)[1] for name in names]
    of_bodies = np.array([x in sizes for x in suffixes], bool)
    scaled = norms * np.array([length ** sizes.get(x, 0) for x in suffixes])
    largest = np.where(of_bodies, scaled[of_bodies].max(initial=0.0), scaled[~of_bodies].max(initial=0.0))
    return scaled > REMAINDER * largest


def regroup(R: np.ndarray, names: tuple[str, ...], length: float) -> BaseParameters:
    """Base parameters from a triangle R (·, p) of a regressor; `length` is the size of the robot."""
    norms = np.linalg.norm(R, axis=0)
    used = _above_rounding(norms, names, length)
    unit = R / np.where(used, norms, 1.0)
    Q = np.zeros((len(R), 0))
    independent: list[int] = []
    for j in np.flatnonzero(used):
        left = unit[:, j] - Q @ (Q.T @ unit[:, j])
        left -= Q @ (Q.T @ left)
        size = np.linalg.norm(left)
        if size > REMAINDER:
            independent.append(int(j))
            Q = np.column_stack([Q, left / size])
    combine = np.zeros((len(independent), len(names)))
    if independent:
        solved = least_squares(unit[:, independent], unit[:, used])
        combine[:, used] = solved * norms[used] / norms[independent][:, None]
        relative = np.abs(combine) * norms[independent][:, None] / np.where(used, norms, 1.0)
        combine[relative < _NEGLIGIBLE] = 0.0
        combine[:, independent] = np.eye(len(independent))
    return BaseParameters(names, tuple(independent), combine)


def _any_states(robot: System, rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    v, a = rng.normal(size=(2, n, robot.nv))
    return random_configurations(robot, rng, n), v, a


def random_triangle(
    robot: System,
    kinds: tuple[str, ...],
    rng: np.random.Generator | int | None = 0,
    measured: Sequence[int] | None = None,
    states: States | None = None,
) -> np.ndarray:
    """R (p, p) of the regressor at more than enough random states; only its `measured` rows, all if None.

    states: draws n states q, v, a; random states of the robot if None.
    """
    if robot.nv == 0:
        raise ModelError(f"robot {robot.name!r} cannot move, so its motion determines no parameters")
    width = len(robot.parameter_names(kinds))
    function = robot.regressor.specialise(columns=kinds)
    triangle, rng = Triangle(width), read_rng(rng)
    rows = range(robot.nv) if measured is None else measured
    wanted = _STATES * width // len(rows) + 4
    while triangle.rows < wanted * len(rows):
        n = min(256, wanted)
        q, v, a = states(rng, n) if states is not None else _any_states(robot, rng, n)
        triangle.add(function(q, v, a)[:, list(rows)].reshape(-1, width))
    return triangle.R


@with_keyword_hints
def base_parameters(robot: System, columns: Any = RIGID, rng: np.random.Generator | int | None = 0) -> BaseParameters:
    """Find the base parameters of a robot.

    Parameters
    ----------
    robot : System
        The robot.
    columns : str or sequence of str, default ('inertia', 'armature', 'fluid')
        Kinds of parameters, see `System.regressor`.
    rng : Generator or int, optional
        Generator of random states, or its seed.

    Returns
    -------
    BaseParameters
        What joint forces depend on, and what no motion determines.

    Raises
    ------
    ModelError
        If the robot cannot move.

    See Also
    --------
    identify : Their values from data.

    Notes
    -----
    Columns of the regressor at many random states are visited in order, bodies near the ground first; one that depends
    on those before it adds to their combinations. Closed linkages count as they are assembled.

    Examples
    --------
    >>> import fourbar as fb
    >>> robot = fb.robots.double_pendulum()
    >>> fb.base_parameters(robot).identifiable[:3]
    ('upper.mx', 'lower.mx', 'lower.mz')
    """
    check_robot(robot)
    kinds = read_kinds(columns)
    return regroup(random_triangle(robot, kinds, rng), robot.parameter_names(kinds), mean_length(robot))
