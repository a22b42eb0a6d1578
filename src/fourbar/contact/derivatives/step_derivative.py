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
from .. import gauss_seidel
from ..candidates import Spec
from ..contact_model import IMPULSE, LARGEST, ContactModel, rows
from ..recovery import compliance, worth_recovering
from .known_step import KnownStep, is_judged
from .recovery_rates import Displacement
from .response import Response, negative
from .soft_known_step import SoftKnownStep

LARGEST_DERIVATIVE = 60_000  # operations in a derivative that is unrolled
FREE = "free"  # accelerations without contacts, as an unknown of the equations
DISPLACEMENT, PUSHES = "displacement", "pushes"  # w and y of `recovery`, likewise
Entries = Mapping[str, Sequence[Any]]


class StepInputs(NamedTuple):
    """The inputs of a step that is differentiated: the mechanism and its contacts, parameters of the robot (`which`;
    numbers of terrain are in the spec), and whether controls and wrenches act; smoothing of corners (m/s); and whether
    penetrations are taken back.
    """

    mechanism: Mechanism
    spec: Spec
    which: tuple[Parameter, ...] = ()
    driven: bool = False
    pushed: bool = False
    smoothing: float = 0.0
    recovers: bool = False


class Known(NamedTuple):
    """A state of a recording with the accelerations of its step, and those without contacts where they matter; and the
    displacement that takes back penetrations, if there are any."""

    c: Context
    a: tuple[Any, ...]
    free: tuple[Any, ...]
    displacement: Displacement | None = None

    @property
    def displaced(self) -> dict[str, Any]:
        """w as an unknown of the end of a step."""
        return {} if self.displacement is None else {DISPLACEMENT: tuple(x for (x,) in self.displacement.w)}


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
        w = c.by_cluster(DISPLACEMENT) if self.of.recovers else None
        q, v = self.known_step(c).end(c.by_cluster("a"), w)
        return {"q": flat(q), "v": flat(v)}

    def _recovery_equations(self, c: Context) -> dict[str, Sequence[Any]]:
        """(M̃ w - Jᵀ y) / dt and J w - r at a known displacement."""
        step = self.known_step(c)
        w, y = c.by_cluster(DISPLACEMENT), step.parts(c.given[PUSHES])
        still = [Vec([0.0] * x.embedding.nv) for x in c.clusters]
        rates = [c.recorder.call(_over, own, step.dt) for own in w]
        both = zip(step.residual(rates, y), step.residual(still, None), strict=True)
        missed = step.missed_of_asked(w, c.by_cluster("a"))
        return {"r": [c.recorder.call(_less, *x) for x in both], "c": [missed[k] for k in asking(step.asked(None))]}

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
        more = [A.on(self.model), *([self._velocity_argument(DISPLACEMENT)] if self.of.recovers else [])]
        return self._replay(known, "step end", more, self._end, {"a": known.a, **known.displaced}, piece)

    def recovery_equations(self, known: Known, piece: int) -> Replay:
        """The equations of the displacement that takes back penetrations."""
        step, displacement = self.known_step(known.c), known.displacement
        pushes = [0.0] * rows(self.model)
        for k, (y,) in zip(asking(step.asked(None)), displacement.y, strict=True):  # type: ignore[union-attr]
            pushes[step.blocks[k].first] = y
        more = [A.on(self.model), self._velocity_argument(DISPLACEMENT), Argument(PUSHES, (len(pushes),))]
        given = {"a": known.a, **known.displaced, PUSHES: tuple(pushes)}
        return self._replay(known, "recovery equations", more, self._recovery_equations, given, piece)

    @property
    def _free_argument(self) -> Argument:
        return self._velocity_argument(FREE)

    def _velocity_argument(self, name: str) -> Argument:
        return Argument(name, (self.model.cluster_tree.nv,))

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
        w = [list(split(c.clusters, x, "nv")) for x in known.displaced.values()]
        clusters, q = c.clusters, flat(self.known_step(c).end(list(split(c.clusters, known.a, "nv")), *w)[0])
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
        displacement = None
        if self.of.recovers and response is not None:
            asked = step.asked(by_cluster[0])
            numbers = asking(asked)
            first = [step.blocks[k].first for k in numbers]
            some = [J[i] for i in first], [[row[i] for i in first] for row in answers]
            wanted = [asked[k] for k in numbers]
            displacement = Displacement.of(recorder, M, *some, wanted, self._own(response, numbers))
        return Known(c, tuple(a), tuple(a_free), displacement), LinearStep(M, J, answers, response, free)

    def _own(self, response: Response, numbers: Sequence[int]) -> list[tuple[Any, Any]]:
        """D and R of the first rows of some blocks."""
        call, contacts = response.recorder.call, len(self.of.spec.candidates)
        most = call(gauss_seidel.largest, *(x[0] for x in response.own[:contacts])) if contacts else 0.0
        sizes = [response.own[k][0] for k in numbers]
        return [(x, call(compliance, x, most, k < contacts)) for k, x in zip(numbers, sizes, strict=True)]

    def report(self, known: Known, linear: LinearStep) -> list[tuple[str, tuple[int, ...], Sequence[Any]]]:
        """Margins of contacts and joint rows (m/s); above zero where penetrations are taken back; the condition and the
        residual (m/s)."""
        count, response = len(self.of.spec.candidates) + len(self.of.spec.joints), linear.response
        entries: list[Any] = [-1.0, 1.0, 0.0]
        if response is not None:
            at_rest = self.known_step(known.c).asked(None)
            some = tuple(x for x in at_rest if x is not None and x.__class__ is not float)
            over = known.c.recorder.call(worth_recovering, some, self.of.spec.tolerance) if some else -1.0
            entries = [*response.margins[:count], over, response.condition, response.residual]
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


def asking(asked: Sequence[Any]) -> list[int]:
    """The blocks that may ask for a velocity, by number, and those of constraints."""
    return [k for k, r in enumerate(asked) if r.__class__ is not float]


def _over(x: Vec, dt: Any) -> Vec:
    return x * (1.0 / dt)


def _less(a: Any, b: Any) -> Any:
    return a - b


def _difference(embedding: Any, there: Vec, q: Vec) -> Vec:
    return embedding.difference(there, q)
