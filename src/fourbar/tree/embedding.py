"""Independent coordinates of a cluster of links: the coordinates, velocities and accelerations of all joints from them.

For links connected by loops φ(q) = 0, with the rows K of ∂φ/∂q split into independent and dependent columns,
G = [1; -K_d⁻¹ K_i] and g = [0; K_d⁻¹ k] (Chignoli §II-B). K and k = -K̇ q̇ are derivatives of the trace of φ. Where
the dependent coordinates follow one after the other (gears, polynomials, functions) they are explicit and need not be
stored.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from typing import Any, NamedTuple, Self

import numpy as np

from ..constraints.trace import LoopTrace, cut
from ..expr import Expr, evaluate, maximum, prepare, select
from ..joints.base import Joint
from ..joints.euclidean import FlatJoint
from ..joints.rates import Rate, rate_of
from ..linalg import finite, smallest
from ..once import cached_property
from ..spatial.linear import Mat, Scalar, Vec, dot
from ..spatial.vectors import Wrench
from ..tolerances import CONVERGED, FOLD_ACCELERATION, FOLD_STEP, FOLD_VELOCITY, LOST, NO_PIVOT
from .elimination import (
    Bent,
    SharedJoint,
    SparseRow,
    Step,
    WholeRows,
    find_shared,
    no_pivot,
    pair_rows,
    reversed_steps,
    solve,
    solve_in_steps,
    steps_to_solve,
)
from .states import Call, ClusterState, EmbeddedState
from .units import Units

_NEWTON_STEPS = 4  # each squares the gap that a step along the tangent leaves


class FoldBounds(NamedTuple):
    """How near a fold (rad) there are no velocities or accelerations, since few digits of them would be right; zero: as
    near as can be.
    """

    velocity: float = 0.0
    acceleration: float = 0.0


class LoopEmbedding:
    """Links connected by loops. `independent` and `rows` are chosen where K is well conditioned.

    Two embeddings are equal if they compute the same.
    """

    least: Scalar = NO_PIVOT**2  # the square of a pivot of K_d, in its units, that counts as none
    folds: FoldBounds = FoldBounds(FOLD_VELOCITY, FOLD_ACCELERATION)

    def __init__(
        self,
        joints: Sequence[Joint],
        traced: LoopTrace,
        independent: Sequence[tuple[int, float]],
        rows: Sequence[int],
        closed: np.ndarray | None = None,
        units: Units | None = None,
    ) -> None:
        self._units = units
        self.kept: tuple[int, ...] | None = None  # the rows of the loops that are used, where some are left out
        self.closed = closed  # a configuration of all joints in which the loops are closed
        self.joints = tuple(joints)
        self.traced = traced
        self.independent = tuple(independent)
        chosen = {j for j, _ in independent}
        self.dependent = tuple(j for j in range(len(traced.v)) if j not in chosen)
        flat = all(isinstance(j, FlatJoint) for j in joints)
        self.steps = steps_to_solve(traced.K, traced.entries, rows, self.dependent) if flat else None
        self.explicit = self.is_additive = self.steps is not None  # only independent coordinates are stored: q̇ = v
        self.is_implicit = not self.explicit  # dependent coordinates are stored too, so that loops may be open
        self.rows = tuple(rows) if self.steps is None else pair_rows(self.steps, self.dependent)
        self.nv = len(self.independent)
        self.nq = self.nv if self.explicit else len(traced.q)
        self.p: tuple[Any, ...] = ()  # parameters on which the trace depends (`WithNumbers`)

    @property
    def is_solved(self) -> bool:
        """Whether the loops are solved while the links move."""
        return self.is_implicit and bool(self.nv) and bool(self.rows)

    @property
    def as_built(self) -> LoopEmbedding:
        """The loops with the parameters of the mechanism."""
        return self

    def _point(self, q: Sequence[Scalar]) -> dict[Expr, Scalar]:
        """The point at which the trace is evaluated, apart from velocities."""
        return dict(zip((*self.traced.q, *self.traced.p), (*q, *self.p), strict=True))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LoopEmbedding) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    @cached_property
    def _key(self) -> tuple[Any, ...]:
        """The cluster's computation, as data: equal clusters share their code."""
        from ..expr.unrolled import linear_code

        t = self.traced
        roots = t.roots
        code, number = linear_code(roots, lambda node: (node.op, *node.args))
        ends = tuple(number[r.id] if r.__class__ is Expr else r for r in roots)
        return type(self), self.joints, self.independent, self.rows, tuple(code), ends, t.entries, self.folds

    @cached_property
    def _squares(self) -> tuple[list[float], list[float]]:
        """The squares of the units of the rows and columns of K_d."""
        rows, columns = self.units.rows[list(self.rows)], self.units.columns[list(self.dependent)]
        return (rows**2).tolist(), (columns**-2.0).tolist()

    @property
    def units(self) -> Units:
        """The units of the rows and columns of K."""
        assert self._units is not None
        return self._units

    @property
    def _gap_units(self) -> list[float]:
        """The unit of the gap of each row that is solved for."""
        return self.units.gaps[list(self.rows)].tolist()

    def with_units(self, units: Units) -> LoopEmbedding:
        """The embedding with units for the rows and columns of K."""
        other = copy(self)
        other._units = units
        return other

    def in_steps(self) -> Self:
        """The loops for a step in time, which bears less accurate accelerations near folds."""
        other = copy(self)
        vars(other).pop("_key", None)
        other.folds = FoldBounds(FOLD_VELOCITY, FOLD_STEP)
        return other

    def _solve(self, K: list[SparseRow], B: list[list[Scalar]], fold: float = 0.0) -> list[list[Scalar]]:
        """K_d⁻¹ B. With `fold` B begins with the columns K_i, and a row of (K_d, K_i) that is no longer than that after
        elimination, in its units, counts as none.
        """
        at = self._position
        K_d = [{at[j]: x for j, x in row.items() if j in at} for row in K]
        squares = [(scale / self.units.columns[j]) ** 2 for j, scale in self.independent]
        whole = WholeRows(fold**2, squares) if fold else None
        return self._eliminate(K_d, B, self._places, *self._squares, self.least, whole)

    @staticmethod
    def _eliminate(
        A: list[SparseRow],
        B: list[list[Scalar]],
        steps: Sequence[Step] | None,
        rows: Sequence[float],
        columns: Sequence[float],
        least: Scalar = NO_PIVOT**2,
        whole: WholeRows | None = None,
    ) -> list[list[Scalar]]:
        if steps is not None:
            return solve_in_steps(A, B, steps, rows, columns)
        return solve([[row.get(k, 0.0) for k in range(len(columns))] for row in A], B, rows, columns, least, whole)

    @cached_property
    def _places(self) -> list[Step] | None:
        """The steps, by position among the rows and columns of K_d."""
        if self.steps is None:
            return None
        row, column = ({x: n for n, x in enumerate(which)} for which in (self.rows, self.dependent))
        return [(tuple(row[i] for i in rows), tuple(column[j] for j in own)) for rows, own in self.steps]

    @cached_property
    def _position(self) -> dict[int, int]:
        return {j: place for place, j in enumerate(self.dependent)}

    def _K(self, known: Mapping[Expr, Scalar]) -> list[SparseRow]:
        """The rows of K that are solved for."""
        K, entries = self.traced.K, [self.traced.entries[i] for i in self.rows]
        values = iter(evaluate([K[i][j] for i, own in zip(self.rows, entries, strict=True) for j in own], known))
        return [{j: next(values) for j in own} for own in entries]

    def _K_d(self, known: Mapping[Expr, Scalar]) -> list[SparseRow]:
        """The columns of `_K` of dependent velocities; row by row, which folds better than all at once."""
        K, own = self.traced.K, [[j for j in self.traced.entries[i] if j in self._position] for i in self.rows]
        rows = (evaluate([K[i][j] for j in which], known) for i, which in zip(self.rows, own, strict=True))
        return [dict(zip(which, row, strict=True)) for which, row in zip(own, rows, strict=True)]

    def coordinates(self, q: Sequence[Scalar]) -> list[Scalar]:
        """All coordinates of all joints."""
        if self.steps is None:
            return list(q)
        full: list[Scalar] = [0.0] * len(self.traced.q)
        for (j, scale), y in zip(self.independent, q, strict=True):
            full[j] = scale * y
        known = self._point(full)
        for rows, columns in self.steps:
            gap = evaluate([self.traced.phi[i] for i in rows], known)
            K = [evaluate([self.traced.K[i][j] for j in columns], known) for i in rows]
            units = self.units.rows[list(rows)] ** 2, self.units.columns[list(columns)] ** -2.0
            solved = solve(K, [[-x] for x in gap], *(x.tolist() for x in units))
            for j, (x,) in zip(columns, solved, strict=True):
                full[j] = known[self.traced.q[j]] = x
        return full

    def full_coordinates(self, q: np.ndarray) -> np.ndarray:
        """The coordinates (n, all) of all joints at those stored (n, nq)."""
        with np.errstate(all="ignore"):
            columns = self.coordinates(list(q.T))
        return np.stack([np.broadcast_to(x, len(q)) for x in columns], axis=-1)

    def stored_coordinates(self, full: np.ndarray) -> np.ndarray:
        """The coordinates (..., nq) that are stored, from those (..., all) of all joints."""
        if self.is_implicit:
            return full
        return np.stack([full[..., j] / scale for j, scale in self.independent], axis=-1) if self.nq else full[..., :0]

    def state(self, call: Call, q: Vec, v: Vec | None) -> ClusterState:
        """The cluster at a state, recorded."""
        return call(expand, self, q, v)

    def map_rates(self, call: Call, e: ClusterState) -> tuple[Mat, ...]:
        """Ġ by link as the cluster moves, recorded."""
        return call(map_rate, self, e, e.v)

    def expand(self, q: Sequence[Scalar], v: Sequence[Scalar] | None) -> EmbeddedState:
        """All joints' coordinates, velocities and the maps G and g; without v only G."""
        full = self.coordinates(q)
        known, n = self._point(full), len(self.traced.v)
        K = self._K(known)
        K_i = [[-row.get(j, 0.0) * scale for j, scale in self.independent] for row in K]
        solved = self._solve(K, K_i, self.folds.velocity)
        G: list[Vec] = [Vec()] * n
        for column, (j, scale) in enumerate(self.independent):
            G[j] = Vec([scale if k == column else 0.0 for k in range(self.nv)])
        for j, row in zip(self.dependent, solved, strict=True):
            G[j] = Vec(row)
        nq, nv = [j.nq for j in self.joints], [j.nv for j in self.joints]
        blocks = tuple(Mat(part) for part in cut(G, nv))
        if v is None:
            zero = cut([0.0] * n, nv)
            return EmbeddedState(cut(full, nq), zero, blocks, zero)
        velocity = [dot(row, v) for row in G]
        g: list[Scalar] = [0.0] * n
        known.update(zip(self.traced.v, velocity, strict=True))
        bend = evaluate([self.traced.curvature[i] for i in self.rows], known)
        bent = self._solve(K, [[*row, -b] for row, b in zip(K_i, bend, strict=True)], self.folds.acceleration)
        for j, (*_, x) in zip(self.dependent, bent, strict=True):
            g[j] = x
        return EmbeddedState(cut(full, nq), cut(velocity, nv), blocks, cut(g, nv))

    @cached_property
    def K_rate(self) -> Rate:
        """K̇ (rows that are used, all columns; flat) as expressions of the coordinates and velocities of all joints."""
        t = self.traced
        return rate_of(self.joints, t.q, [t.K[i][j] for i in self.rows for j in range(len(t.v))], t.p)

    def map_rate(self, e: EmbeddedState, v: Sequence[Sequence[Scalar]]) -> tuple[Mat, ...]:
        """Ġ by link, as the joints move with velocities v (by link, such as e.v): K_d Ġ_d = -K̇ G, Ġ_i = 0."""
        n = len(self.traced.v)
        q, G = [x for own in e.q for x in own], Mat(row for block in e.G for row in block)
        rates = self.K_rate.at(q, [x for own in v for x in own], self.p)
        known = self._point(q)
        K = self._K(known)
        K_i = [[-row.get(j, 0.0) * scale for j, scale in self.independent] for row in K]
        right = [-G.transpose_times(rates[i * n : (i + 1) * n]) for i in range(len(self.rows))]
        solved = self._solve(K, [[*own, *row] for own, row in zip(K_i, right, strict=True)], self.folds.acceleration)
        rate: list[Vec] = [Vec([0.0] * self.nv)] * n
        for j, row in zip(self.dependent, solved, strict=True):
            rate[j] = Vec(row[self.nv :])
        return tuple(Mat(part) for part in cut(rate, [j.nv for j in self.joints]))

    def integrate(self, q: Sequence[Scalar], v: Sequence[Scalar], G: Sequence[Mat] | None = None) -> Vec:
        """q ⊕ v: the independent joints move by v, the others follow by Newton's method until the loops are closed.

        Where only some velocities of a joint are independent, these entries of its own difference are v: `difference`
        takes the step back. NaN where loops do not close: the step was too long, or there is no closed configuration.
        """
        if self.explicit:
            return Vec([a + b for a, b in zip(q, v, strict=True)])
        step = [x for block in (self.expand(q, None).G if G is None else G) for x in block @ v]
        full = list(self.move(q, step))
        for _ in range(_NEWTON_STEPS):
            known = self._point(full)
            gaps = evaluate([self.traced.phi[i] for i in self.rows], known)
            shares = [share.at(q, full, step) for share in self._shared_joints]
            full = list(self.move(full, self._correction(known, gaps, shares)))
        known = self._point(full)
        gap: Scalar = 0.0
        for x, unit in zip(evaluate([self.traced.phi[i] for i in self.rows], known), self._gap_units, strict=True):
            gap = maximum(gap, maximum(x, -x) * (1.0 / unit))
        return Vec([select(gap < CONVERGED, x, float("nan")) for x in full])

    def rate(self, q: Sequence[Scalar], v: Sequence[Scalar]) -> Vec:
        """q̇ at independent velocities v: all joints move as the loops allow."""
        if self.explicit:
            return Vec(v)
        e = self.expand(q, None)
        parts = zip(self.joints, e.q, e.G, strict=True)
        return Vec([x for joint, own, block in parts for x in joint.rate(own, block @ v)])

    def move(self, q: Sequence[Scalar], step: Sequence[Scalar]) -> Vec:
        """q ⊕ step for the coordinates (nq) and velocities (nv) of all joints, wherever loops are then."""
        nq, nv = [j.nq for j in self.joints], [j.nv for j in self.joints]
        parts = zip(self.joints, cut(q, nq), cut(step, nv), strict=True)
        return Vec([x for joint, own, delta in parts for x in joint.integrate(own, delta)])

    def _correction(
        self, known: Mapping[Expr, Scalar], phi: Sequence[Scalar], shares: Sequence[Bent] = ()
    ) -> list[Scalar]:
        """The Newton step of the dependent joints: -K_d⁻¹ φ; independent velocities of shared joints go with them."""
        K = self._K_d(known)
        gap = list(phi)
        for share in shares:
            for n, i in enumerate(self.rows):
                held = evaluate([self.traced.K[i][j] for j in share.independent], known)
                gap[n] = gap[n] + dot(held, share.back)
                for column, j in enumerate(share.dependent):
                    K[n][j] = K[n].get(j, 0.0) + dot(held, [row[column] for row in share.follow])
        step: list[Scalar] = [0.0] * len(self.traced.v)
        for j, (x,) in zip(self.dependent, self._solve(K, [[-p] for p in gap]), strict=True):
            step[j] = x
        for share in shares:
            own = [step[j] for j in share.dependent]
            for j, back, row in zip(share.independent, share.back, share.follow, strict=True):
                step[j] = back + dot(row, own)
        return step

    @property
    def has_shared_joints(self) -> bool:
        """Whether a joint on a Lie group, such as a ball, is partly independent."""
        return bool(self._shared_joints)

    @cached_property
    def _shared_joints(self) -> tuple[SharedJoint, ...]:
        """Joints that are partly independent, and whose velocities are not the rates of coordinates."""
        return tuple(find_shared(self.joints, self.dependent))

    def difference(self, q0: Sequence[Scalar], q1: Sequence[Scalar]) -> Vec:
        """The independent velocities that move q0 to q1 in unit time."""
        if self.explicit:
            return Vec([b - a for a, b in zip(q0, q1, strict=True)])
        nq = [j.nq for j in self.joints]
        parts = zip(self.joints, cut(self.coordinates(q0), nq), cut(self.coordinates(q1), nq), strict=True)
        full = [x for joint, a, b in parts for x in joint.difference(a, b)]
        return Vec([full[j] * (1.0 / scale) for j, scale in self.independent])

    def chart_rate(self, theta: Sequence[Scalar], v: Sequence[Scalar]) -> Vec:
        """The rate of θ in q₀ ⊕ θ. For `has_shared_joints` exact only at θ = 0; elsewhere it depends on q."""
        position = {j: (at, scale) for at, (j, scale) in enumerate(self.independent)}
        rate, first = list(v), 0
        for joint in self.joints:
            positions = [position[j] for j in range(first, first + joint.nv) if j in position]
            first += joint.nv
            if len(positions) == joint.nv and not isinstance(joint, FlatJoint):
                scaled = joint.chart_rate([s * theta[at] for at, s in positions], [s * v[at] for at, s in positions])
                for (at, scale), x in zip(positions, scaled, strict=True):
                    rate[at] = x * (1.0 / scale)
        return Vec(rate)

    def follow(self, q: Sequence[Scalar], targets: Sequence[Sequence[Scalar]]) -> list[list[Scalar]]:
        """For each target b (one entry per row) velocities x of all joints: K_d x_d = b, the independent ones zero."""
        known = self._point(q)
        solved = self._solve(self._K_d(known), [list(row) for row in zip(*targets, strict=True)])
        solutions: list[list[Scalar]] = [[0.0] * len(self.traced.v) for _ in targets]
        for j, row in zip(self.dependent, solved, strict=True):
            for column, x in zip(solutions, row, strict=True):
                column[j] = x
        return solutions

    def hold(self, q: Sequence[Scalar], tau: Sequence[Scalar]) -> list[Scalar]:
        """The multipliers λ with which the loops balance forces tau of all joints: K_dᵀ λ = τ_d."""
        known = self._point(q)
        transposed: list[SparseRow] = [{} for _ in self.dependent]
        for n, row in enumerate(self._K_d(known)):
            for j, x in row.items():
                transposed[self._position[j]][n] = x
        steps = None if self._places is None else reversed_steps(self._places)
        right, (rows, columns) = [[tau[j]] for j in self.dependent], self._squares
        return [x for (x,) in self._eliminate(transposed, right, steps, columns, rows)]

    def wrenches(self, q: Sequence[Scalar], tau: Sequence[Scalar]) -> tuple[Wrench, ...]:
        """The wrenches of the loops on the bodies they refer to, when only independent joints are driven.

        q and tau are those of all joints; the wrenches are in the bodies' own frames.
        """
        t = self.traced
        known = self._point(q)
        force = self.hold(q, tau)
        loop_wrenches = []
        for columns in t.pull:
            six = [dot(evaluate([column[i] for i in self.rows], known), force) for column in columns]
            loop_wrenches.append(Wrench.of(Vec(six)))
        return tuple(loop_wrenches)

    def pulls(self, q: Sequence[Scalar]) -> list[list[Wrench]]:
        """For each body that the loops refer to, the effect of a unit force along every row, in its own frame."""
        known, unit_wrenches = self._point(q), []
        for columns in self.traced.pull:
            sixes = zip(*(evaluate(column, known) for column in columns), strict=True)
            unit_wrenches.append([Wrench.of(Vec(six)) for six in sixes])
        return unit_wrenches

    def loop_rows(self, q: Sequence[Scalar], every: bool = False) -> list[list[Scalar]]:
        """The rows of K that are solved for, or every row, at the coordinates of all joints."""
        known = self._point(q)
        return [evaluate(self.traced.K[i], known) for i in (range(len(self.traced.K)) if every else self.rows)]

    def loop_residual(self, q: Sequence[Scalar], every: bool) -> list[Scalar]:
        """φ of every row, or of those that hold dependent coordinates, at stored coordinates; loops may be open."""
        rows = range(len(self.traced.phi)) if every else () if self.explicit else self.rows
        return evaluate([self.traced.phi[i] for i in rows], self._point(self.coordinates(q) if self.explicit else q))

    def loop_rates(self, q: Sequence[Scalar], v: Sequence[Scalar]) -> list[Scalar]:
        """k = -K̇ q̇ of every row, at coordinates and velocities of all joints."""
        known = self._point(q)
        known.update(zip(self.traced.v, v, strict=True))
        return [-x for x in evaluate(self.traced.curvature, known)]

    @cached_property
    def _runs(self) -> tuple[Any, Any]:
        """φ and the entries of K that are not constant as functions of parameters."""
        t = self.traced
        rows, columns = self._varying
        varying = [t.K[i][j] for i, j in zip(rows, columns, strict=True)]
        return prepare(t.phi, (*t.q, *t.p)), prepare(varying, (*t.q, *t.p))

    @cached_property
    def _varying(self) -> tuple[list[int], list[int]]:
        """Rows and columns of the entries of K that are not constant."""
        t = self.traced
        places = [(i, j) for i, own in enumerate(t.entries) for j in own if t.K[i][j].__class__ is not float]
        return [i for i, _ in places], [j for _, j in places]

    @property
    def is_linear(self) -> bool:
        """Whether all of K is constant."""
        return not self._varying[0]

    @cached_property
    def constants(self) -> np.ndarray:
        """K (m, n) where it is constant; zero elsewhere."""
        t = self.traced
        K = np.zeros((len(t.phi), len(t.v)))
        for i, own in enumerate(t.entries):
            for j in own:
                K[i, j] = t.K[i][j] if t.K[i][j].__class__ is float else 0.0
        return K

    def _stack(self, run: Callable[[Any], list[Any]], q: np.ndarray, count: int) -> np.ndarray:
        """The results of a prepared function of q (..., nq) as an array (..., count), not finite where undefined."""
        results, p = np.zeros((*q.shape[:-1], count)), self.p
        if q.size == q.shape[-1]:  # one sample: Python's floats are faster, but raise where a result is undefined
            try:
                results[...] = run((*q.ravel().tolist(), *p))
                return results
            except (ArithmeticError, ValueError):
                pass
        with np.errstate(all="ignore"):
            for i, x in enumerate(run((*np.moveaxis(q, -1, 0), *p))):
                results[..., i] = x
        return results

    def residual(self, q: np.ndarray) -> np.ndarray:
        """φ (..., m) at the coordinates (..., nq) of all joints."""
        return self._stack(self._runs[0], q, len(self.traced.phi))

    def _hold(self, q: np.ndarray) -> np.ndarray:
        """The smallest singular value (...) of K_d in balanced units; zero where K is not finite."""
        with np.errstate(all="ignore"):
            K = self.units.of(self.slopes(q))
        return smallest(finite(K[..., list(self.rows), :][..., list(self.dependent)]))

    def fold_distance(self, q: np.ndarray) -> np.ndarray:
        """The smallest singular value (...) of K in balanced units: the distance (rad) of q (..., nq), of all joints,
        from a fold; infinite if K has no rows, zero where it is not finite.
        """
        with np.errstate(all="ignore"):
            K = self.units.of(self.slopes(q))
        return smallest(finite(K[..., list(self.rows), :]))

    def determinacy(self, q: np.ndarray) -> np.ndarray:
        """The degree (...) to which the independent velocities determine the others at q (..., nq) of all joints,
        relative to where the loops were closed first."""
        assert self.closed is not None
        return self._hold(q) / np.minimum(1.0, self._hold(self.closed[None])[0])

    def is_toggled(self, q: np.ndarray) -> np.ndarray:
        """Whether (...) half of the digits are lost at q (..., nq), or `solve` may find no pivot."""
        return (self.determinacy(q) < LOST) | (self._hold(q) < no_pivot(len(self.rows)))

    def displacements(self, q: np.ndarray) -> np.ndarray:
        """The effect of displacements of the bodies on φ (m, bodies, 6), at the coordinates (nq) of all joints."""
        t = self.traced
        known = self._point(tuple(q))  # NumPy's numbers: a division by zero is no error
        flat = evaluate([x for columns in t.pull for column in columns for x in column], known)
        return np.array(flat, float).reshape(len(t.bodies), 6, len(t.phi)).transpose(2, 0, 1)

    def slopes(self, q: np.ndarray) -> np.ndarray:
        """K (..., m, n) at the coordinates (..., nq) of all joints."""
        rows, columns = self._varying
        K = np.tile(self.constants, (*q.shape[:-1], 1, 1))
        K[..., rows, columns] = self._stack(self._runs[1], q, len(rows))
        return K


def expand(embedding: LoopEmbedding, q: Vec, v: Vec | None) -> EmbeddedState:
    """A cluster at a state."""
    return embedding.expand(q, v)


def map_rate(embedding: LoopEmbedding, e: EmbeddedState, v: tuple[Vec, ...]) -> tuple[Mat, ...]:
    """The rate of G as the joints of a cluster move with v."""
    return embedding.map_rate(e, v)
