"""A and B of the steps of a robot as one recording: derivatives of its passes, one after the other.

Within a step q(t) = q₀ ⊕ θ(t). Along a direction a pass moves by δq (a tangent at q), δv and δθ; its acceleration
moves by δa = a_q δq + a_v δv + M⁻¹ (f_q δq + f_v δv + f_u δu), with the slopes of forward dynamics and those of the
forces of springs, dampers and actuators.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ..algorithms.tiles import Rows, plus_product, transpose
from ..arrays import Argument
from ..expr import Program, Replay, Shared, TooLarge, Unrolled
from ..expr.program_derivatives import PIECE
from ..functions.context import Context
from ..functions.function import make
from ..functions.methods.jacobians import acceleration_slopes
from ..functions.recording import BLOCK, Recording
from ..functions.registry import flat
from ..sim.robot.runge_kutta_step import integrate
from ..spatial.linear import Vec
from ..tree.clusters import Cluster, split

_LARGEST = 60_000  # operations in a derivative that is unrolled
PASSES = {"rk4": ((1 / 6, 0.5), (1 / 3, 0.5), (1 / 3, 1.0), (1 / 6, 0.0)), "euler": ((1.0, 0.0),)}


class _Moving(NamedTuple):
    """A quantity of the pass, and its derivatives (rows, columns) along all directions."""

    value: tuple[Any, ...]
    rows: Rows


class RobotSlopes(Recording):
    """(2 nv, 2 nv + nu): q⁺ and v⁺, in tangents, by q, v and u. `forces` writes the forces on the velocities that act
    at a state, by cluster, and says whether they are more than the controls."""

    name = "step slopes"

    def __init__(self, plant: Any) -> None:
        super().__init__()
        self._plant, self.model = plant, plant.model
        tree = self.model.cluster_tree
        self.arguments = (
            Argument("q", (tree.nq,)), Argument("v", (tree.nv,)), Argument("u", (plant.drives.count,)),
            Argument("dt", ()),
        )  # fmt: skip
        self.results = ("slopes",)

    @property
    def nan(self) -> str:
        return ""

    @property
    def parts(self) -> tuple[Any, ...]:
        return "robot slopes", *self._plant.key

    def pickle_recipe(self) -> tuple[Any, ...]:
        return RobotSlopes.compile, self._plant

    @staticmethod
    def compile(plant: Any) -> Any:
        """The compiled function."""
        return make(RobotSlopes(plant))

    def write(self, present: tuple[str, ...], block: int = BLOCK) -> Program:
        try:
            return self._write(Unrolled(block, largest=_LARGEST))
        except TooLarge:
            pass
        return self._write(Shared())

    def _write(self, recorder: Any) -> Program:
        given = {x.name: recorder.input(x.name, x.shape) for x in self.arguments}
        rows = _StepSlopes(self._plant, recorder, given).record()
        return recorder.finish(self.name, [("slopes", (len(rows), len(rows[0])), flat(rows))])


class _StepSlopes:
    """One recording of it."""

    def __init__(self, plant: Any, recorder: Any, given: dict[str, Any]) -> None:
        self._plant, self._recorder, self._call, self._given = plant, recorder, recorder.call, given
        self._clusters = plant.model.cluster_tree.clusters
        self._n, self._m = plant.model.cluster_tree.nv, plant.drives.count
        self._dt = given["dt"][0]

    def _units(self, first: int) -> Rows:
        width = 2 * self._n + self._m
        return [[float(j == first + i) for j in range(width)] for i in range(self._n)]

    def record(self) -> Rows:
        """The rows of q⁺, then those of v⁺."""
        n, call = self._n, self._call
        q0, v0 = self._given["q"], tuple(self._given["v"])
        start = self._units(0), self._units(n)
        zeros: Rows = [[0.0] * (2 * n + self._m) for _ in range(n)]
        still = _Moving((0.0,) * n, zeros)
        q, v, theta = _Moving(tuple(q0), start[0]), _Moving(v0, start[1]), still
        tangent, change = still, still
        for weight, ahead in PASSES[self._plant.method]:
            a = self._accelerate(q, v)
            is_last, is_euler = ahead == 0.0, self._plant.method == "euler"
            if is_euler:
                change = self._add(still, a, weight)
                rate = _Moving(*self._sum_moving(_Moving(v0, start[1]), change))
            else:
                rate = self._chart_rate(theta, v)
                change = self._add(change, a, weight)
            tangent = self._add(tangent, rate, weight)
            theta = tangent if is_last else self._add(still, rate, ahead)
            moved = change if is_last else self._add(still, a, ahead)
            v = self._sum_moving(_Moving(v0, start[1]), moved)
            there = tuple(flat([call(integrate, x.embedding, *own) for x, *own in zip(
                self._clusters, split(self._clusters, Vec(q0), "nq"), split(self._clusters, Vec(theta.value), "nv"),
                strict=True)]))  # fmt: skip
            q = _Moving(there, self._displace(q0, theta, there, start[0]))
        return [*q.rows, *v.rows]

    def _add(self, total: _Moving, x: _Moving, weight: float) -> _Moving:
        """total + weight dt x."""
        values = self._call(_plus, Vec(total.value), Vec(x.value), weight, self._dt)
        rows = [
            list(self._call(_plus, Vec(a), Vec(b), weight, self._dt)) for a, b in zip(total.rows, x.rows, strict=True)
        ]
        return _Moving(tuple(values), rows)

    def _sum_moving(self, a: _Moving, b: _Moving) -> _Moving:
        return _Moving(
            tuple(self._call(_sum, Vec(a.value), Vec(b.value))),
            [list(self._call(_sum, Vec(x), Vec(y))) for x, y in zip(a.rows, b.rows, strict=True)],
        )

    # ------------------------------------------------------------------ accelerations

    def _accelerate(self, q: _Moving, v: _Moving) -> _Moving:
        plant, recorder, n = self._plant, self._recorder, self._n
        state = {"q": q.value, "v": v.value, "u": tuple(self._given["u"])}
        f, slopes = self._forces(state)
        c = Context.at(plant.model, recorder, {"q": q.value, "v": v.value, "tau": f})
        a, (by_q, by_v, inverse) = acceleration_slopes(c)
        if slopes is not None:
            by_q = plus_product(recorder, by_q, inverse, [row[:n] for row in slopes])
            by_v = plus_product(recorder, by_v, inverse, [row[n : 2 * n] for row in slopes])
            by_u = plus_product(recorder, None, inverse, [row[2 * n :] for row in slopes])
        else:
            by_u = [[row[j] for j in plant.drives.velocities] for row in inverse]
        total: Rows = [[*[0.0] * (2 * n), *row] for row in by_u]
        both = [[*x, *y] for x, y in zip(by_q, by_v, strict=True)]
        return _Moving(tuple(flat(a)), plus_product(recorder, total, both, [*q.rows, *v.rows]))

    def _forces(self, state: dict[str, Any]) -> tuple[tuple[Any, ...], Rows | None]:
        """Forces on the velocities (nv), and their derivatives by q, v and u where they are more than the controls."""
        plant, recorder = self._plant, self._recorder
        if not plant.has_other_forces:
            return plant.drives.forces(state["u"], self._n), None
        own = _like(recorder)
        inputs = {name: own.input(name, (len(x),)) for name, x in state.items()}
        program = own.finish("forces", [("f", (self._n,), plant.forces(own, inputs))])
        directions: list[Any] = [
            {"q": rate} for rate in tangent_rates(recorder, self._clusters, state["q"])
        ]  # fmt: skip
        for name, count in (("v", self._n), ("u", self._m)):
            directions += [{name: tuple(float(i == j) for i in range(count))} for j in range(count)]
        values, rates = Replay(program, recorder, state, PIECE).push(directions)
        return tuple(values["f"]), transpose([list(x["f"]) for x in rates])

    # ------------------------------------------------------------------ charts

    def _chart_rate(self, theta: _Moving, v: _Moving) -> _Moving:
        """The rate of θ at velocities v."""
        values: list[Any] = []
        rows: Rows = []
        first = 0
        for cluster in self._clusters:
            places = range(first, first + cluster.embedding.nv)
            at, speed = (Vec([x.value[i] for i in places]) for x in (theta, v))
            if cluster.embedding.is_additive:
                values += speed
                rows += [v.rows[i] for i in places]
            else:
                values += self._call(_chart_rate, cluster.embedding, at, speed)
                rows += self._chart_rows(cluster, "rate", {"theta": at, "v": speed}, [theta.rows, v.rows], places)
            first = places.stop
        return _Moving(tuple(values), rows)

    def _displace(self, q0: Any, theta: _Moving, there: tuple[Any, ...], start: Rows) -> Rows:
        """The tangent at q₀ ⊕ θ."""
        rows: Rows = []
        first = 0
        parts = zip(*(split(self._clusters, Vec(x), "nq") for x in (q0, there)), strict=True)
        for cluster, (at, end) in zip(self._clusters, parts, strict=True):
            places = range(first, first + cluster.embedding.nv)
            if cluster.embedding.is_additive:
                rows += [list(self._call(_sum, Vec(start[i]), Vec(theta.rows[i]))) for i in places]
            else:
                values = {"q": at, "theta": Vec([theta.value[i] for i in places]), "there": end}
                rows += self._chart_rows(cluster, "moved", values, [start, theta.rows], places)
            first = places.stop
        return rows

    def _chart_rows(self, cluster: Cluster, what: str, values: dict[str, Vec], rows: list[Rows], own: range) -> Rows:
        """The derivatives of a chart's rate by (θ, v), or of the tangent that it leads to by (q, θ)."""
        recorder, embedding, n = self._recorder, cluster.embedding, len(own)
        program_recorder = _like(recorder)
        inputs = {name: Vec(program_recorder.input(name, (len(x),))) for name, x in values.items()}
        entries = program_recorder.call(
            _chart_rate if what == "rate" else _chart_displacement, embedding, *inputs.values()
        )
        program = program_recorder.finish(what, [(what, (n,), list(entries))])
        directions: list[Any] = []
        for name in ("theta", "v") if what == "rate" else ("q", "theta"):
            units = [tuple(float(i == j) for i in range(n)) for j in range(n)]
            if name == "q":
                units = [tuple(recorder.call(_rate, embedding, values["q"], Vec(x))) for x in units]
            directions += [{name: x} for x in units]
        given = {name: tuple(x) for name, x in values.items()}
        rates = Replay(program, recorder, given, PIECE).push(directions)[1]
        slopes = transpose([list(x[what]) for x in rates])
        return plus_product(recorder, None, slopes, [part[i] for part in rows for i in own])


def tangent_rates(recorder: Any, clusters: Sequence[Cluster], q: Sequence[Any]) -> list[tuple[Any, ...]]:
    """The rates of all coordinates (nq) along each tangent (nv)."""
    parts = list(split(clusters, Vec(q), "nq"))
    rates = []
    for k, cluster in enumerate(clusters):
        for j in range(cluster.embedding.nv):
            rate: list[Any] = []
            for i, (other, at) in enumerate(zip(clusters, parts, strict=True)):
                unit = Vec([float(e == j) for e in range(other.embedding.nv)])
                rate += recorder.call(_rate, other.embedding, at, unit) if i == k else [0.0] * other.embedding.nq
            rates.append(tuple(rate))
    return rates


def _like(recorder: Any) -> Any:
    """Another recorder in the same layout."""
    return Shared() if isinstance(recorder, Shared) else Unrolled(BLOCK, largest=_LARGEST)


def _plus(total: Vec, x: Vec, weight: float, dt: Any) -> Vec:
    return Vec([a + (weight * dt) * b for a, b in zip(total, x, strict=True)])


def _sum(a: Vec, b: Vec) -> Vec:
    return a + b


def _rate(embedding: Any, q: Vec, v: Vec) -> Any:
    return embedding.rate(q, v)


def _chart_rate(embedding: Any, theta: Vec, v: Vec) -> Any:
    return embedding.chart_rate(theta, v)


def _chart_displacement(embedding: Any, q: Vec, theta: Vec, there: Vec) -> Any:
    return embedding.difference(there, embedding.integrate(q, theta))
