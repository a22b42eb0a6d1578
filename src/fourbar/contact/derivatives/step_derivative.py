"""The equations of a step as programs, to be differentiated at its solution: what all derivatives of it share."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ...algorithms.branch_solver import Solver, velocity_parents
from ...algorithms.tiles import Rows, plus_product, transpose
from ...arrays import Argument
from ...expr import Program, Replay, Shared, TooLarge, Unrolled
from ...expr.program_derivatives import PIECE
from ...functions.arguments import DT, F_EXT, TAU, A, Q, U, V
from ...functions.context import Context
from ...functions.function import make
from ...functions.recording import BLOCK, Recording
from ...functions.registry import flat
from ...functions.varied_context import VariedContext, argument_names
from ...mechanism.mechanism import Mechanism
from ...spatial.linear import Mat, Vec
from ...tree.clusters import split
from ...tree.parameters import Parameter
from ..candidates import Spec
from ..contact_model import IMPULSE, LARGEST, ContactModel, rows
from .known_step import KnownStep, is_judged
from .response import Response, negative
from .soft_known_step import SoftKnownStep

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
    free: Solver


class StepDerivative(Recording):
    """A derivative of a step: arguments are q, v, impulses that solve it, dt, friction, parameters and controls."""

    kind: str
    model: ContactModel

    def __init__(self, of: StepInputs, moving: tuple[str, ...]) -> None:
        super().__init__()
        self.of, self.moving, self.name = of, moving, f"step.{self.kind}"
        self.model = ContactModel.with_contacts(of.mechanism, of.spec)
        self.inputs = self._inputs()
        self.has_free = of.spec.soft or any(map(is_judged, of.spec.candidates))

    def known_step(self, c: Context) -> KnownStep:
        """The equations of the law in a recording."""
        return SoftKnownStep(c, self.of.spec) if self.of.spec.soft else KnownStep(c, self.of.spec)

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
        return make_derivative, type(self), self.of, self.moving

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
        step = self.known_step(c)
        a, impulse = c.by_cluster("a"), step.parts(c.given.get("impulse", ()))
        velocities = step.row_velocities(a, impulse, c.by_cluster(FREE))
        return {"r": step.residual(a, impulse), "c": velocities, "bounds": flat(step.bounds())}

    def _free_equations(self, c: Context) -> dict[str, Sequence[Any]]:
        """r of the accelerations that contacts judge by."""
        step = self.known_step(c)
        return {"r": step.free_residual(c.by_cluster(FREE), step.parts(c.given.get("impulse", ())))}

    def _end(self, c: Context) -> dict[str, Sequence[Any]]:
        """Coordinates (nq) and velocities at the end of a step of known accelerations."""
        q, v = self.known_step(c).end(c.by_cluster("a"))
        return {"q": flat(q), "v": flat(v)}

    def equations(self, known: Known, piece: int) -> Replay:
        """The equations, to be differentiated at the solution."""
        more = [A.on(self.model), *([self._free_argument] if self.has_free else [])]
        given = {"a": known.a} | ({FREE: known.free} if self.has_free else {})
        return self._replay(known, "step equations", more, self._equations, given, piece)

    def free_equations(self, known: Known, piece: int) -> Replay:
        """The same of the accelerations that contacts judge by."""
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
        clusters, q = c.clusters, flat(self.known_step(c).end(list(split(c.clusters, known.a, "nv")))[0])
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
        step, recorder = self.known_step(c), c.recorder
        parts = step.parts(c.given.get("impulse", ()))
        independent = velocity_parents(c.clusters)
        parents = [*range(-1, c.nv - 1)] if step.implicit.coupled else independent
        M = Solver(recorder, step.mass_matrix(), parents)
        free = Solver(recorder, step.free_mass_matrix(), independent) if self.of.spec.soft else M
        still = [Vec([0.0] * x.embedding.nv) for x in c.clusters]
        (a,) = transpose(M.negative_solution(transpose([step.residual(still, parts)])))
        a_free: list[Any] = []
        if self.has_free:
            (a_free,) = transpose(free.negative_solution(transpose([step.free_residual(still, parts)])))
        J = step.rows()
        answers = M.negative_solution(transpose(J)) if J else [[] for _ in range(c.nv)]
        responses = free.negative_solution(transpose(J)) if J and free is not M else answers
        G = negative(recorder, plus_product(recorder, None, J, responses))
        for i, soft in step.compliances().items():
            G[i][i] = recorder.call(add, G[i][i], soft)
        by_cluster = [list(split(c.clusters, x or (0.0,) * c.nv, "nv")) for x in (a, a_free)]
        velocities = step.row_velocities(by_cluster[0], parts, by_cluster[1])
        bounds, impulse = step.bounds(), Vec(c.given.get("impulse", ()))
        response = None
        if J:
            law = (step.block_slopes, self.of.smoothing)
            response = Response(recorder, step.blocks, G, bounds, impulse, Vec(velocities), law)
        return Known(c, tuple(a), tuple(a_free)), LinearStep(M, J, answers, response, free)

    def report(self, linear: LinearStep) -> list[tuple[str, tuple[int, ...], Sequence[Any]]]:
        """Margins of contacts and joint rows (m/s), then the condition and the residual (m/s)."""
        count = len(self.of.spec.candidates) + len(self.of.spec.joints)
        response = linear.response
        entries = [1.0, 0.0] if response is None else [*response.margins[:count], response.condition, response.residual]
        return [("report", (len(entries),), entries)]


def make_derivative(kind: type[StepDerivative], of: StepInputs, moving: tuple[str, ...]) -> Any:
    """The compiled function of a derivative."""
    return make(kind(of, moving))


def add(a: Any, b: Any) -> Any:
    """a + b."""
    return a + b


def times(x: Mat, factor: Any) -> Mat:
    """A matrix times a number."""
    return Mat(row * factor for row in x)


def over(x: Mat, divisor: Any) -> Mat:
    """A matrix divided by a number."""
    return Mat(row * (1.0 / divisor) for row in x)


def _difference(embedding: Any, there: Vec, q: Vec) -> Vec:
    return embedding.difference(there, q)
