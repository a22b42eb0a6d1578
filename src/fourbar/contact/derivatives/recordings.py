"""Derivatives of a step as recordings: along a direction, backwards, and all of them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from math import prod
from typing import Any, NamedTuple

from ...algorithms.branch_solver import Solver, velocity_parents
from ...algorithms.tiles import Rows, plus_product, transpose
from ...arrays import Argument
from ...expr import Program, Replay, Shared, TooLarge, Unrolled
from ...expr.program_derivatives import MANY, PIECE
from ...functions.arguments import DT, F_EXT, TAU, A, Q, U, V
from ...functions.context import Context
from ...functions.function import make
from ...functions.recording import BLOCK, Recording
from ...functions.registry import flat
from ...functions.varied_context import VariedContext, argument_names
from ...mechanism.mechanism import Mechanism
from ...spatial.linear import Mat, Vec, is_zero
from ...tree.cluster_tree import GROUND
from ...tree.clusters import split
from ...tree.parameters import Parameter
from ..candidates import Spec
from ..contact_model import IMPULSE, LARGEST, ContactModel, rows
from .known_step import KnownStep, is_judged
from .response import Response, negative
from .tree_ends import end_rates
from .tree_rates import TreeRates

LARGEST_DERIVATIVE = 60_000  # operations in a derivative that is unrolled
FREE = "free"  # accelerations without contacts, as an unknown of the equations
Entries = Mapping[str, Sequence[Any]]


class StepInputs(NamedTuple):
    """The inputs of a step that is differentiated: the mechanism and its contacts, parameters of the robot (`which`;
    numbers of terrain are in the spec), and whether controls and wrenches act; and smoothing of corners (m/s).
    """

    mechanism: Mechanism
    spec: Spec
    which: tuple[Parameter, ...] = ()
    driven: bool = False
    pushed: bool = False
    smoothing: float = 0.0


class Known(NamedTuple):
    """A state of a recording with the accelerations of its step, and those without contacts where they matter."""

    c: Context
    a: tuple[Any, ...]
    free: tuple[Any, ...]


class LinearStep(NamedTuple):
    """The linearised equations of a step: M̃, J (rows, nv), -M̃⁻¹ Jᵀ (nv, rows), and the response of impulses."""

    M: Solver
    J: Rows
    answers: Rows
    response: Response | None


class StepDerivative(Recording):
    """A derivative of a step: arguments are q, v, impulses that solve it, dt, friction, parameters and controls."""

    kind: str

    def __init__(self, of: StepInputs, moving: tuple[str, ...]) -> None:
        super().__init__()
        self.of, self.moving, self.name = of, moving, f"step.{self.kind}"
        self.model = ContactModel.with_contacts(of.mechanism, of.spec)
        self.inputs = self._inputs()
        self.is_judged = any(map(is_judged, of.spec.candidates))

    def _inputs(self) -> tuple[Argument, ...]:
        of, model = self.of, self.model
        every = [Q.on(model), V.on(model)]
        every += [IMPULSE.on(model)] if rows(model) else []
        every += [DT.on(model)]
        every += [Argument("friction", (len(of.spec.candidates),))] if of.spec.candidates else []
        for some in (of.which, of.spec.numbers):
            every += [Argument(name, x.shape) for name, x in zip(argument_names(some), some, strict=True)]
        every += [TAU.on(model)]
        every += [U.on(model)] if of.driven else []
        return tuple(every + ([F_EXT.on(model)] if of.pushed else []))

    @property
    def nan(self) -> str:
        return ""

    @property
    def parts(self) -> tuple[Any, ...]:
        return type(self), self.of, self.moving

    def pickle_recipe(self) -> tuple[Any, ...]:
        return step_derivative, self.kind, self.of, self.moving

    # ------------------------------------------------------------------ recording

    def write(self, present: tuple[str, ...], block: int = BLOCK) -> Program:
        try:
            return self._write(Unrolled(block, largest=LARGEST_DERIVATIVE))
        except TooLarge:
            pass  # the error would keep all that was recorded
        return self._write(Shared())

    def _write(self, recorder: Any) -> Program:
        given = {x.name: recorder.input(x.name, x.shape) for x in self.arguments}
        return recorder.finish(self.name, self.record(self.context(recorder, given)))

    @abstractmethod
    def record(self, c: Context) -> list[tuple[str, tuple[int, ...], Sequence[Any]]]:
        """Record the results."""

    def context(self, recorder: Any, given: dict[str, tuple[Any, ...]]) -> Context:
        """The recording of a step at its start."""
        return VariedContext.with_parameters(self.model, recorder, given, self.of.which).in_steps()

    def _program(self, recorder: Any, name: str, more: Sequence[Argument], run: Any) -> Program:
        """The program of a part of the equations, with inputs besides the step's, in the layout of a recorder."""
        own: Any = Shared() if isinstance(recorder, Shared) else Unrolled(BLOCK, largest=LARGEST)
        given = {x.name: own.input(x.name, x.shape) for x in (*self.inputs, *more)}
        return own.finish(name, [(key, (len(x),), x) for key, x in run(self.context(own, given)).items() if len(x)])

    def _equations(self, c: Context) -> dict[str, Sequence[Any]]:
        """r, c and bounds at known accelerations and impulses."""
        step = KnownStep(c, self.of.spec)
        a, impulse = c.by_cluster("a"), step.parts(c.given.get("impulse", ()))
        velocities = step.row_velocities(a, impulse, c.by_cluster(FREE))
        return {"r": step.residual(a, impulse), "c": velocities, "bounds": flat(step.bounds())}

    def _free_equations(self, c: Context) -> dict[str, Sequence[Any]]:
        """r without contacts."""
        return {"r": KnownStep(c, self.of.spec).residual(c.by_cluster(FREE), None)}

    def _end(self, c: Context) -> dict[str, Sequence[Any]]:
        """Coordinates (nq) and velocities at the end of a step of known accelerations."""
        q, v = KnownStep(c, self.of.spec).end(c.by_cluster("a"))
        return {"q": flat(q), "v": flat(v)}

    def equations(self, known: Known, piece: int) -> Replay:
        """The equations, to be differentiated at the solution."""
        more = [A.on(self.model), *([self._free_argument] if self.is_judged else [])]
        given = {"a": known.a} | ({FREE: known.free} if self.is_judged else {})
        return self._replay(known, "step equations", more, self._equations, given, piece)

    def free_equations(self, known: Known, piece: int) -> Replay:
        """The same without contacts."""
        free = [self._free_argument]
        return self._replay(known, "free equations", free, self._free_equations, {FREE: known.free}, piece)

    def end(self, known: Known, piece: int) -> Replay:
        """The end of the step, to be differentiated at the solution."""
        return self._replay(known, "step end", [A.on(self.model)], self._end, {"a": known.a}, piece)

    @property
    def _free_argument(self) -> Argument:
        return Argument(FREE, (self.model.cluster_tree.nv,))

    def _replay(
        self, known: Known, name: str, more: Sequence[Argument], run: Any, given: dict[str, Any], piece: int
    ) -> Replay:
        c = known.c
        program = self._program(c.recorder, name, more, run)
        state = {x.name: c.given[x.name] for x in self.inputs}
        return Replay(program, c.recorder, {**state, **given}, piece)

    def displacement_slopes(self, known: Known) -> list[Rows]:
        """By cluster the tangent (nv) by each coordinate (nq) at the end of the step."""
        c = known.c
        clusters, q = c.clusters, flat(KnownStep(c, self.of.spec).end(list(split(c.clusters, known.a, "nv")))[0])
        own: Any = Shared() if isinstance(c.recorder, Shared) else Unrolled(BLOCK, largest=LARGEST)
        both = [split(clusters, own.input(name, (c.model.cluster_tree.nq,)), "nq") for name in ("there", "q")]
        apart = [own.call(_difference, x.embedding, *pair) for x, *pair in zip(clusters, *both, strict=True)]
        program = own.finish("displacement", [("displacement", (c.nv,), flat(apart))])
        sizes = [x.embedding.nq for x in clusters]
        ways = [{"q": [float(i == j) for n in sizes for i in range(n)]} for j in range(max(sizes, default=0))]
        rates = Replay(program, c.recorder, {"there": tuple(q), "q": tuple(q)}, PIECE).push(ways)[1]
        by_cluster = [split(clusters, rate["displacement"], "nv") for rate in rates]
        return [transpose([list(rate[n]) for rate in by_cluster[:size]]) for n, size in enumerate(sizes)]

    # ------------------------------------------------------------------ the solution

    def solve(self, c: Context) -> tuple[Known, LinearStep]:
        """Accelerations from the impulses of the step, and the linearised equations there."""
        step, recorder = KnownStep(c, self.of.spec), c.recorder
        parts = step.parts(c.given.get("impulse", ()))
        independent = velocity_parents(c.clusters)
        parents = [*range(-1, c.nv - 1)] if step.implicit.coupled else independent
        M = Solver(recorder, step.mass_matrix(), parents)
        still = [Vec([0.0] * x.embedding.nv) for x in c.clusters]
        missing = [step.residual(still, parts)] + ([step.residual(still, None)] if self.is_judged else [])
        a, *free = transpose(M.negative_solution(transpose(missing)))
        a_free = tuple(free[0]) if free else ()
        J = step.rows()
        answers = M.negative_solution(transpose(J)) if J else [[] for _ in range(c.nv)]
        G = negative(recorder, plus_product(recorder, None, J, answers))
        for i, soft in step.compliances().items():
            G[i][i] = recorder.call(_add, G[i][i], soft)
        by_cluster = [list(split(c.clusters, x or (0.0,) * c.nv, "nv")) for x in (a, a_free)]
        velocities = step.row_velocities(by_cluster[0], parts, by_cluster[1])
        bounds, impulse = step.bounds(), Vec(c.given.get("impulse", ()))
        response = None
        if J:
            response = Response(recorder, step.blocks, G, bounds, impulse, Vec(velocities), self.of.smoothing)
        return Known(c, tuple(a), a_free), LinearStep(M, J, answers, response)

    def report(self, linear: LinearStep) -> list[tuple[str, tuple[int, ...], Sequence[Any]]]:
        """Margins of contacts and joint rows (m/s), then the condition and the residual (m/s)."""
        count = len(self.of.spec.candidates) + len(self.of.spec.joints)
        response = linear.response
        entries = [1.0, 0.0] if response is None else [*response.margins[:count], response.condition, response.residual]
        return [("report", (len(entries),), entries)]


def _add(a: Any, b: Any) -> Any:
    return a + b


def _times(x: Mat, factor: Any) -> Mat:
    return Mat(row * factor for row in x)


def _over(x: Mat, divisor: Any) -> Mat:
    return Mat(row * (1.0 / divisor) for row in x)


class DirectionalStep(StepDerivative):
    """Derivatives along directions."""

    def push(self, c: Context, directions: Sequence[Entries], piece: int) -> tuple[Rows, Rows, LinearStep]:
        """The rates of q (nv, directions) and v (nv, directions)."""
        known, linear = self.solve(c)
        da = self._accelerations(known, linear, directions, piece)
        return *self._ends(known, directions, da, piece), linear

    def _ends(self, known: Known, directions: Sequence[Entries], da: Rows, piece: int) -> tuple[Rows, Rows]:
        """The rates of q and v at the end from those of accelerations."""
        c = known.c
        ways = [{**way, "a": column} for way, column in zip(directions, transpose(da), strict=True)]
        rates = self.end(known, piece).push(ways)[1]
        dq, at, moved = _columns(rates, "q"), 0, list[list[Any]]()
        for slopes, cluster in zip(self.displacement_slopes(known), c.clusters, strict=True):
            n = cluster.embedding.nq
            moved += _moved(c.recorder, slopes, dq[at : at + n])
            at += n
        return moved, _columns(rates, "v")

    def _accelerations(self, known: Known, linear: LinearStep, directions: Sequence[Entries], piece: int) -> Rows:
        """Changes of a (nv, directions)."""
        recorder, (dt,) = known.c.recorder, known.c.given["dt"]
        M, J, answers, response = linear
        ways = directions
        if self.is_judged:
            without = self.free_equations(known, piece).push(directions)[1]
            free = transpose(M.negative_solution(_columns(without, "r")))
            ways = [{**way, FREE: column} for way, column in zip(directions, free, strict=True)]
        rates = self.equations(known, piece).push(ways)[1]
        du = M.negative_solution(_columns(rates, "r"))
        if response is None:
            return du
        steps = [list(row) for row in recorder.call(_times, Mat(map(Vec, J)), dt)]
        dc = plus_product(recorder, _columns(rates, "c"), steps, du)
        dimpulse = response.impulses(dc, _columns(rates, "bounds") if response.has_bounds else None)
        pushes = [list(row) for row in recorder.call(_over, Mat(map(Vec, negative(recorder, answers))), dt)]
        return plus_product(recorder, du, pushes, dimpulse)


def _moved(recorder: Any, slopes: Rows, dq: Rows) -> Rows:
    """Tangents from rates of coordinates."""
    same = all(x.__class__ is float and x == (i == j) for i, row in enumerate(slopes) for j, x in enumerate(row))
    return dq if same and len(dq) == len(slopes) else plus_product(recorder, None, slopes, dq)


def _columns(rates: Sequence[Entries], name: str) -> Rows:
    return transpose([list(rate[name]) for rate in rates])


def rate_of(c: Context, argument: Argument, tangent: Sequence[Any]) -> Sequence[Any]:
    """The rates of an argument's entries along a tangent: of a configuration along the group."""
    if not argument.is_configuration:
        return tangent
    parts = zip(c.clusters, c.by_cluster(argument.name), split(c.clusters, tangent, "nv"), strict=True)
    return flat([c.recorder.call(_rate, x.embedding, q, own) for x, q, own in parts])


def _rate(embedding: Any, q: Any, v: Any) -> Any:
    return embedding.rate(q, v)


def _pull_rate(embedding: Any, q: Any, w: Any) -> Vec:
    """The transposed map of `rate`."""
    columns = []
    for j in range(embedding.nv):
        unit = [1.0 if i == j else 0.0 for i in range(embedding.nv)]
        columns.append(sum((a * b for a, b in zip(embedding.rate(q, unit), w, strict=True)), 0.0))
    return Vec(columns)


class StepJvpRecording(DirectionalStep):
    """Along one direction: tangents of the `moving` arguments to those of q and v."""

    kind = "jvp"

    def __init__(self, of: StepInputs, moving: tuple[str, ...]) -> None:
        super().__init__(of, moving)
        own = [x for x in self.inputs if x.name in moving]
        self.tangents = tuple(Argument(f"d_{x.name}", x.tangent) for x in own)
        self.arguments = (*self.inputs, *self.tangents)
        self.results = ("d_q", "d_v", "report")

    def record(self, c: Context) -> list[tuple[str, tuple[int, ...], Sequence[Any]]]:
        own = {x.name: x for x in self.inputs}
        direction = {name: rate_of(c, own[name], c.given[f"d_{name}"]) for name in self.moving}
        dq, dv, linear = self.push(c, [direction], PIECE)
        return [("d_q", (c.nv,), flat(dq)), ("d_v", (c.nv,), flat(dv)), *self.report(linear)]


class StepJacobianRecording(DirectionalStep):
    """All of them: (2 nv, columns) of q and v by the entries of the `moving` arguments, one after the other."""

    kind = "jacobian"

    def __init__(self, of: StepInputs, moving: tuple[str, ...]) -> None:
        super().__init__(of, moving)
        self.arguments = self.inputs
        self.results = ("jacobian", "report")
        links = [link for x in of.spec.candidates for link in x.links if link != GROUND]
        is_redundant = len(set(links)) < len(links) or rows(self.model) > self.model.cluster_tree.nv
        self.is_simple = not (self.is_judged or is_redundant)
        self.is_tree = all(x.is_free and len(x.links) == 1 for x in self.model.cluster_tree.clusters)

    def _accelerations(self, known: Known, linear: LinearStep, directions: Sequence[Entries], piece: int) -> Rows:
        """With few rows that are independent M̃⁻¹ among contacts is formed once, which joint forces take as it is."""
        response, recorder, count = linear.response, known.c.recorder, len(directions)
        if response is None or not self.is_simple:
            return super()._accelerations(known, linear, directions, piece)
        inverse, across = linear.M.inverse(), negative(recorder, linear.answers)  # M̃⁻¹, M̃⁻¹ Jᵀ
        (dt,) = known.c.given["dt"]
        pushes = plus_product(recorder, None, linear.answers, response.by_velocity())  # -M̃⁻¹ Jᵀ S
        held = plus_product(recorder, inverse, pushes, transpose(across))
        pushes = [list(row) for row in recorder.call(_over, Mat(map(Vec, pushes)), dt)]
        pushed = [k for k, way in enumerate(directions) if tuple(way) == ("tau",)]
        others = [k for k in range(count) if k not in pushed]
        rates = self._rates(known, [directions[k] for k in others], piece)
        left = [a + b for a, b in zip(negative(recorder, held), pushes, strict=True)]
        da = plus_product(recorder, None, left, _columns(rates, "r") + _columns(rates, "c"), large=True)
        if response.has_bounds:
            da = self._add_bounds(known, linear, across, rates, da)
        columns = dict(zip(others, transpose(da), strict=True)) if others else {}
        own = list(zip(*held, strict=True))
        columns |= {k: list(own[directions[k]["tau"].index(1.0)]) for k in pushed}
        return transpose([columns[k] for k in range(count)])

    @property
    def _is_lean(self) -> bool:
        """Whether all that moves besides q and v acts through accelerations."""
        return self.is_tree and self.moving[:2] == ("q", "v") and set(self.moving[2:]) <= {"tau", "u"}

    def _ends(self, known: Known, directions: Sequence[Entries], da: Rows, piece: int) -> tuple[Rows, Rows]:
        if not self._is_lean:
            return super()._ends(known, directions, da, piece)
        a = list(split(known.c.clusters, known.a, "nv"))
        return end_rates(KnownStep(known.c, self.of.spec), a, self.displacement_slopes(known), da)

    def _rates(self, known: Known, directions: Sequence[Entries], piece: int) -> list[dict[str, Sequence[Any]]]:
        """The rates of r, c and the bounds; of trees by q and v from the sweeps of inverse dynamics."""
        n = self.model.cluster_tree.nv
        is_known = all(isinstance(x, float) for x in known.c.gravity)
        if not (self.is_tree and is_known) or self.model.kept_rows or self.moving[:2] != ("q", "v"):
            return list(self.equations(known, piece).push(directions)[1])
        c, a = known.c, list(split(known.c.clusters, known.a, "nv"))
        step = KnownStep(c, self.of.spec)
        more = [A.on(self.model)]
        count = len(directions) if self._is_lean else 2 * n  # controls act through forces alone
        forces = self._replay(known, "forces", more, self._forces, {"a": known.a}, piece).push(directions[:count])[1]
        r, of_contacts = TreeRates(step, a, step.parts(c.given.get("impulse", ()))).rates()
        of_joints = [[*[0.0] * n, *row] for row in linear_rows(step)]
        zeros = [[0.0] * (count - 2 * n)]
        dc = transpose([row + zeros[0] for row in of_contacts + of_joints])
        found = list[dict[str, Sequence[Any]]]()
        for own, by_c, force in zip(transpose([row + zeros[0] for row in r]), dc, forces, strict=True):
            both = zip(own, force["forces"], strict=True)
            total = [x if is_zero(y) else y if is_zero(x) else c.recorder.call(_add, x, y) for x, y in both]
            found.append({"r": total, "c": by_c, "bounds": force["bounds"]})
        rest = directions[count:]
        return found + (list(self.equations(known, piece).push(rest)[1]) if rest else [])

    def _forces(self, c: Context) -> dict[str, Sequence[Any]]:
        step = KnownStep(c, self.of.spec)
        return {"forces": step.unmodelled_forces(c.by_cluster("a")), "bounds": flat(step.bounds())}

    def _add_bounds(self, known: Known, linear: LinearStep, across: Rows, rates: Sequence[Entries], da: Rows) -> Rows:
        """Changes of a with those by bounds that move, where any do."""
        recorder, (dt,) = known.c.recorder, known.c.given["dt"]
        moving = [k for k, rate in enumerate(rates) if not all(map(is_zero, rate["bounds"]))]
        if not moving or linear.response is None:
            return da
        still = [[0.0] * len(moving) for _ in linear.J]
        dimpulse = linear.response.impulses(still, _columns([rates[k] for k in moving], "bounds"))
        pushes = [list(row) for row in recorder.call(_over, Mat(map(Vec, across)), dt)]
        some = plus_product(recorder, [[row[k] for k in moving] for row in da], pushes, dimpulse)
        for row, new in zip(da, some, strict=True):
            for k, x in zip(moving, new, strict=True):
                row[k] = x
        return da

    def record(self, c: Context) -> list[tuple[str, tuple[int, ...], Sequence[Any]]]:
        directions = []
        own = {x.name: x for x in self.inputs}
        for name in self.moving:
            width = prod(own[name].tangent)
            for j in range(width):
                unit = [1.0 if i == j else 0.0 for i in range(width)]
                directions.append({name: rate_of(c, own[name], unit)})
        dq, dv, linear = self.push(c, directions, MANY)
        return [("jacobian", (2 * c.nv, len(directions)), flat([*dq, *dv])), *self.report(linear)]


def linear_rows(step: KnownStep) -> list[list[Any]]:
    """The rows of joints (rows, nv) of a tree."""
    first = step.s.tree.first_v
    return [[float(j == first[x.link] + x.entry) for j in range(step.c.nv)] for x in step.spec.joints]


class StepVjpRecording(StepDerivative):
    """Backwards: weights of q (nv) and v (nv) to the gradients by the `moving` arguments."""

    kind = "vjp"

    def __init__(self, of: StepInputs, moving: tuple[str, ...]) -> None:
        super().__init__(of, moving)
        n = self.model.cluster_tree.nv
        self.arguments = (*self.inputs, Argument("w_q", (n,)), Argument("w_v", (n,)))
        self.results = (*(f"g_{name}" for name in moving), "report")

    def record(self, c: Context) -> list[tuple[str, tuple[int, ...], Sequence[Any]]]:
        recorder, (dt,), call = c.recorder, c.given["dt"], c.recorder.call
        known, linear = self.solve(c)
        M, J, answers, response = linear
        ended = self.end(known, PIECE).pull({"q": self._entries(known, c.given["w_q"]), "v": c.given["w_v"]})[1]
        weight = [[x] for x in ended["a"]]  # (nv, 1)
        p = negative(recorder, M.negative_solution(weight))
        weights: dict[str, Sequence[Any]] = {}
        if response is not None:
            shares = [
                list(row) for row in call(_over, Mat(map(Vec, plus_product(recorder, None, J, p))), dt)
            ]  # J p / dt
            of_velocities, of_bounds = response.weights(shares)
            y = [[x] for x in of_velocities]
            back = [list(row) for row in call(_times, Mat(map(Vec, plus_product(recorder, None, answers, y))), dt)]
            w_r = negative(recorder, [[call(_add, a, b)] for (a,), (b,) in zip(p, back, strict=True)])
            weights |= {"c": flat(negative(recorder, y)), "bounds": of_bounds}
        else:
            w_r = negative(recorder, p)
        gradients = [ended, self.equations(known, PIECE).pull({"r": flat(w_r), **weights})[1]]
        if self.is_judged:
            free = M.negative_solution([[x] for x in gradients[-1][FREE]])
            gradients.append(self.free_equations(known, PIECE).pull({"r": flat(free)})[1])
        own = {x.name: x for x in self.inputs}
        results = []
        for name in self.moving:
            total = [call(_total, x) for x in zip(*(some[name] for some in gradients), strict=True)]
            results.append((f"g_{name}", own[name].tangent, self._on_group(c, own[name], total)))
        return [*results, *self.report(linear)]

    def _entries(self, known: Known, weight: Sequence[Any]) -> list[Any]:
        """A weight of the tangent at the end as one of the coordinates there."""
        c = known.c
        parts = split(c.clusters, weight, "nv")
        both = zip(parts, self.displacement_slopes(known), strict=True)
        return [
            x
            for own, slopes in both
            for x in flat(plus_product(c.recorder, None, transpose(slopes), [[y] for y in own]))
        ]

    def _on_group(self, c: Context, argument: Argument, gradient: Sequence[Any]) -> Sequence[Any]:
        """A gradient by the entries of an argument as one by its tangent."""
        if not argument.is_configuration:
            return gradient
        parts = zip(c.clusters, c.by_cluster(argument.name), split(c.clusters, gradient, "nq"), strict=True)
        return flat([c.recorder.call(_pull_rate, x.embedding, q, own) for x, q, own in parts])


def _total(x: tuple[Any, ...]) -> Any:
    return sum(x[1:], x[0])


def _difference(embedding: Any, there: Vec, q: Vec) -> Vec:
    return embedding.difference(there, q)


KINDS: dict[str, type[StepDerivative]] = {
    "jvp": StepJvpRecording,
    "vjp": StepVjpRecording,
    "jacobian": StepJacobianRecording,
}


def step_derivative(kind: str, of: StepInputs, moving: tuple[str, ...]) -> Any:
    """The compiled function of a derivative: "jvp", "vjp" or "jacobian"."""
    return make(KINDS[kind](of, moving))
