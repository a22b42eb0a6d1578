"""The methods of a constrained robot, as recordings.

A problem with unknown forces along the rows is recorded three times: solved in one go (`name`), its factor Y and
right side b alone (`name_factor`, for samples whose rows depend on each other), and with given forces (`name_apply`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ...algorithms import hybrid, rnea
from ...algorithms.constrained.dynamics import Forward, Rowed, State, Still, Wanted, by_bundle, missing
from ...algorithms.constrained.multipliers import Chosen
from ...algorithms.constrained.rows import dense_rows, evaluate_rows
from ...functions.arguments import DT, F_EXT, TAU, A, Input, Q, V
from ...functions.context import Context
from ...functions.methods.configuration import integrate
from ...functions.registry import Method, Outputs, Stages, flat, method, vector
from ...spatial.linear import Mat, Vec
from ...tree.embedding import LoopEmbedding
from .model import FORCE, RESTITUTION, ROW_ACCELERATION, ConstrainedModel

METHODS: dict[str, Method] = {}
STAGES: dict[str, Stages] = {}  # in which methods are differentiated


class Problem(NamedTuple):
    """Rows, b in Ω λ = -b, and what follows from λ."""

    rowed: Rowed
    b: Vec
    finish: Callable[[Vec], Outputs]


def constrained_model(c: Context) -> ConstrainedModel:
    """The model of a recording of a constrained robot."""
    assert isinstance(c.model, ConstrainedModel)
    return c.model


def _solved(problem: Callable[..., Problem]) -> Callable[..., Outputs]:
    def record(c: Context, chosen: Chosen, **static: Any) -> Outputs:
        p = problem(c, **static)
        force, health = p.rowed.multipliers(p.b, chosen)
        return [*p.finish(force), ("force", (len(force),), list(force)), ("health", (len(health),), list(health))]

    return record


def _factored(problem: Callable[..., Problem]) -> Callable[..., Outputs]:
    def record(c: Context, **static: Any) -> Outputs:
        p = problem(c, **static)
        return [("Y", (c.nv, len(p.b)), flat(p.rowed.whitened())), ("b", (len(p.b),), list(p.b))]

    return record


def _applied(problem: Callable[..., Problem]) -> Callable[..., Outputs]:
    def record(c: Context, **static: Any) -> Outputs:
        return problem(c, **static).finish(Vec(c.given["force"]))

    return record


def solvable(*given: Input, results: str, optional: Sequence[Input] = ()) -> Any:
    """Register a problem as its three recordings."""

    def register(problem: Callable[..., Problem]) -> Callable[..., Problem]:
        name, made, extra = problem.__name__, tuple(results.split()), tuple(optional)
        doc = problem.__doc__ or ""
        METHODS[name] = Method(_solved(problem), given, (*made, FORCE.name, "health"), extra, doc=doc)
        METHODS[f"{name}_factor"] = Method(_factored(problem), given, ("Y", "b"), extra)
        METHODS[f"{name}_apply"] = Method(_applied(problem), (*given, FORCE), made, extra)
        return problem

    return register


def without_health(name: str) -> Method:
    """A method without its last result."""
    whole = METHODS[name]

    def record(c: Context, **static: Any) -> Any:
        return whole.record(c, **static)[:-1]

    return whole._replace(record=record, results=whole.results[:-1], stages=STAGES.get(name))


def _state(c: Context) -> State:
    return State(c.coordinates(), c.velocities())


def _target(c: Context, name: str) -> tuple[Vec, ...] | None:
    return by_bundle(c.given[name], constrained_model(c).bundles) if name in c.given else None


def wanted(c: Context) -> Wanted:
    """How the rows should accelerate."""
    m = constrained_model(c)
    gains = m.gains and c.recorder.call(_both, m.gains, m.gain_changes)
    return Wanted(_target(c, "row_acceleration"), gains)


def _both(gains: tuple[Any, Any], changes: tuple[Any, Any]) -> tuple[Any, Any]:
    return gains[0] + changes[0], gains[1] + changes[1]


@solvable(Q, V, TAU, results="a", optional=[F_EXT, ROW_ACCELERATION])
def forward_dynamics(c: Context) -> Problem:
    """Accelerations and constraint forces caused by joint forces.

    Parameters
    ----------
    q : array_like, shape (..., nq)
        Configuration, with its loops closed.
    v : array_like, shape (..., nv)
        Velocity (rad/s, m/s).
    tau : array_like, shape (..., nv)
        Joint forces (N m, N).
    f_ext : array_like, shape (..., n_bodies, 6), optional
        Wrench [moment; force] (N m, N) on each body, at its origin and in its axes.
    row_acceleration : array_like, shape (..., m), optional
        How the rows accelerate (rad/s², m/s²) instead of not at all.
    out : tuple of ndarray, optional
        Arrays that receive the results.
    threads : int, optional
        Largest number of threads for a batch.

    Returns
    -------
    a : ndarray, shape (..., nv)
        Accelerations (rad/s², m/s²).
    force : ndarray, shape (..., m)
        Forces λ along the rows (N m, N).

    Raises
    ------
    SingularError
        If the rows contradict each other (NaN and a warning in a batch).

    Notes
    -----
    M a + C v + g = τ + Aᵀ λ and A a + Ȧ v = 0 (Kim eq. 67-69), in O(n) and m³. Where rows are redundant, λ is the least
    of all that do the same.

    Examples
    --------
    >>> import fourbar as fb
    >>> robot = fb.robots.double_pendulum()
    >>> held = robot.constrained(fb.constraints.Contact("tip", "touch"))
    >>> a, force = held.forward_dynamics([0.1, 0.2], [0.0, 0.0], [0.0, 0.0])
    >>> a.round(3), force.round(3)
    (array([-1.961,  2.789]), array([2.922]))
    """
    m = constrained_model(c)
    s = c.equations(m.touched)
    forward = Forward(
        s, c.clusters, c.expanded, m.bundles, _state(c), c.by_cluster("tau"), c.F_ext(), c.gravity
    )  # fmt: skip
    b = forward.missing(wanted(c))
    return Problem(forward.rowed, b, lambda force: vector(c, "a", forward.accelerations(force)))


class Hybrid:
    """The motion of a robot some of whose joints move as prescribed, up to the forces along the rows."""

    def __init__(self, c: Context, prescribed: Prescribed) -> None:
        m = constrained_model(c)
        self.c, self.s = c, c.equations(m.touched)
        self._a, _ = hybrid.hybrid_dynamics(
            self.s, c.clusters, c.expanded, c.velocities(), c.by_cluster("a"), c.by_cluster("tau"), c.F_ext(),
            prescribed, c.gravity,
        )  # fmt: skip
        motion = _state(c), c.links_accelerations(self._a)
        self._still = Still(self.s, c.clusters, c.expanded, m.bundles, *motion, prescribed)
        self.rowed = self._still.rowed
        self.b = c.recorder.call(missing, tuple(self.rowed.rows), wanted(c))

    def accelerations(self, force: Vec) -> list[Vec]:
        """Of all clusters."""
        pairs = zip(self._a, self._still.answers(force), strict=True)
        return [self.c.recorder.call(_added, x, y) for x, y in pairs]

    def needed(self, a: list[Vec]) -> list[Vec]:
        """The forces that these accelerations take without constraints, by cluster."""
        links_a = self.c.links_accelerations(a)
        return self.c.project(
            rnea.inverse_dynamics(self.s, self.c.velocities(), links_a, self.c.F_ext(), self.c.gravity)
        )

    def dense(self) -> list[list[Any]]:
        """A (m x nv) over the independent velocities."""
        pairs = zip(self.rowed.bundles, self.rowed.rows, strict=True)
        return self.c.columns([row for b, rows in pairs for row in dense_rows(self.s, b, rows)])


Prescribed = tuple[tuple[bool, ...], ...]  # by cluster, for each of its independent velocities


@solvable(Q, V, A, TAU, results="a tau", optional=[F_EXT, ROW_ACCELERATION])
def hybrid_dynamics(c: Context, prescribed: Prescribed) -> Problem:
    """All accelerations and joint forces, where some accelerations and the other forces are given.

    Parameters
    ----------
    q : array_like, shape (..., nq)
        Configuration, with its loops closed.
    v : array_like, shape (..., nv)
        Velocity (rad/s, m/s).
    a : array_like, shape (..., nv)
        Acceleration (rad/s², m/s²); read for the joints in `prescribed`.
    tau : array_like, shape (..., nv)
        Joint forces (N m, N); read for all other joints.
    f_ext : array_like, shape (..., n_bodies, 6), optional
        Wrench [moment; force] (N m, N) on each body, at its origin and in its axes.
    row_acceleration : array_like, shape (..., m), optional
        How the rows accelerate (rad/s², m/s²) instead of not at all.
    out : tuple of ndarray, optional
        Arrays that receive the results.
    threads : int, optional
        Largest number of threads for a batch.

    Returns
    -------
    a : ndarray, shape (..., nv)
        Accelerations of all joints (rad/s², m/s²).
    tau : ndarray, shape (..., nv)
        Forces of all joints (N m, N).
    force : ndarray, shape (..., m)
        Forces λ along the rows (N m, N).

    Raises
    ------
    SingularError
        If the rows contradict each other (NaN and a warning in a batch).

    Notes
    -----
    Kim eq. 70-80.

    Examples
    --------
    >>> import fourbar as fb
    >>> robot = fb.robots.double_pendulum()
    >>> held = robot.constrained(fb.constraints.Contact("tip", "touch"))
    >>> half = held.hybrid_dynamics.specialise(prescribed=["shoulder"])
    >>> a, tau, force = half([0.1, 0.2], [0.0, 0.0], [0.0, 0.0], [0.0, 0.0])
    >>> a.round(3)
    array([ 0., -0.])
    """
    problem = Hybrid(c, prescribed)

    def finish(force: Vec) -> Outputs:
        moved = problem.accelerations(force)
        A, at, forces = problem.dense(), 0, []
        for held, own, given in zip(prescribed, problem.needed(moved), c.by_cluster("tau"), strict=True):
            columns = Mat(Vec(row[at : at + len(own)]) for row in A)
            forces.append(c.recorder.call(_less, own, columns, force, held, given) if any(held) else given)
            at += len(own)
        return vector(c, "a_all", moved) + vector(c, "tau_all", forces)

    return Problem(problem.rowed, problem.b, finish)


@solvable(Q, V, results="v", optional=[RESTITUTION])
def impulse(c: Context) -> Problem:
    """Velocities after the constraints close at once, and the impulses along their rows.

    Parameters
    ----------
    q : array_like, shape (..., nq)
        Configuration, with its loops closed.
    v : array_like, shape (..., nv)
        Velocity (rad/s, m/s).
    restitution : array_like, shape (..., m), optional
        Each row A v is -restitution times what it was afterwards; zero without it.
    out : tuple of ndarray, optional
        Arrays that receive the results.
    threads : int, optional
        Largest number of threads for a batch.

    Returns
    -------
    v : ndarray, shape (..., nv)
        Velocities afterwards (rad/s, m/s).
    force : ndarray, shape (..., m)
        Impulses along the rows (N m s, N s).

    Raises
    ------
    SingularError
        If the rows contradict each other (NaN and a warning in a batch).

    Notes
    -----
    This is also the projection of v on the constraints that changes the kinetic energy of the difference least.

    Examples
    --------
    >>> import fourbar as fb
    >>> robot = fb.robots.double_pendulum()
    >>> held = robot.constrained(fb.constraints.Contact("tip", "touch"))
    >>> v, impulses = held.impulse([0.1, 0.2], [1.0, 0.0])
    >>> v.round(3)
    array([ 1.382, -1.966])
    """
    m = constrained_model(c)
    s = c.equations(m.touched)
    still = Still(s, c.clusters, c.expanded, m.bundles, _state(c), c.still(), _free(c))
    b = c.recorder.call(_impact, tuple(still.rowed.rows), _target(c, "restitution"))

    def finish(force: Vec) -> Outputs:
        jumps = zip(c.by_cluster("v"), still.answers(force), strict=True)
        return vector(c, "v_after", [c.recorder.call(_added, v, dv) for v, dv in jumps])

    return Problem(still.rowed, b, finish)


def _free(c: Context) -> Prescribed:
    """Nothing is prescribed."""
    return tuple((False,) * cluster.embedding.nv for cluster in c.clusters)


def _impact(rows: tuple[Any, ...], restitution: tuple[Vec, ...] | None) -> Vec:
    """(1 + e) A v."""
    if restitution is None:
        return Vec([x for own in rows for x in own.rate])
    return Vec(
        [x * (1.0 + e) for own, es in zip(rows, restitution, strict=True) for x, e in zip(own.rate, es, strict=True)]
    )


def _added(a: Vec, b: Vec) -> Vec:
    return a + b


def _less(tau: Vec, A: Mat, force: Vec, held: tuple[bool, ...], given: Vec) -> Vec:
    """τ - Aᵀ λ where the acceleration is prescribed, else the given force."""
    left = tau - A.transpose_times(force)
    return Vec([x if prescribed else own for x, prescribed, own in zip(left, held, given, strict=True)])


def _rows(c: Context, a: str = "") -> Any:
    """The rows at the given state, on the true tree."""
    s = c.sweeps()
    return s, evaluate_rows(s, constrained_model(c).bundles, c.coordinates(), c.velocities(), c.accelerations(a))


@method(Q, results="A", into=METHODS)
def jacobian(c: Context) -> Outputs:
    """Rows of the constraints.

    Parameters
    ----------
    q : array_like, shape (..., nq)
        Configuration, with its loops closed.
    out : ndarray, optional
        Array that receives the result.
    threads : int, optional
        Largest number of threads for a batch.

    Returns
    -------
    A : ndarray, shape (..., m, nv)
        The rows: A v is zero while the constraints hold.

    Examples
    --------
    >>> import fourbar as fb
    >>> robot = fb.robots.double_pendulum()
    >>> held = robot.constrained(fb.constraints.Contact("tip", "touch"))
    >>> held.jacobian([0.1, 0.2]).round(4)
    array([[0.1681, 0.1182]])
    """
    s, rows = _rows(c)
    full = [row for b, own in zip(constrained_model(c).bundles, rows, strict=True) for row in dense_rows(s, b, own)]
    return [("A", (len(full), c.nv), flat(c.columns(full)))]


@method(Q, results="phi", into=METHODS)
def residual(c: Context) -> Outputs:
    """How far loops and functions are from closed.

    Parameters
    ----------
    q : array_like, shape (..., nq)
        Configuration.
    out : ndarray, optional
        Array that receives the result.
    threads : int, optional
        Largest number of threads for a batch.

    Returns
    -------
    phi : ndarray, shape (..., m)
        Residual φ (m, rad); zero for rows that hold velocities only.

    Examples
    --------
    >>> import fourbar as fb
    >>> robot = fb.robots.double_pendulum()
    >>> held = robot.constrained(fb.constraints.Contact("tip", "touch"))
    >>> held.residual([0.1, 0.2])
    array([0.])
    """
    found = flat([own.phi for own in _rows(c)[1]])
    return [("phi", (len(found),), found)]


@method(Q, V, DT, results="q", into=METHODS)
def moved(c: Context) -> Outputs:
    """The robot's own `integrate` (..., nq), where NaN needs no words: a trial that leads nowhere."""
    return integrate(c)


@method(Q, V, results="rate", into=METHODS)
def rate(c: Context) -> Outputs:
    """Rates of the rows.

    Parameters
    ----------
    q : array_like, shape (..., nq)
        Configuration, with its loops closed.
    v : array_like, shape (..., nv)
        Velocity (rad/s, m/s).
    out : ndarray, optional
        Array that receives the result.
    threads : int, optional
        Largest number of threads for a batch.

    Returns
    -------
    rate : ndarray, shape (..., m)
        A v (rad/s, m/s), zero while the constraints hold.

    Examples
    --------
    >>> import fourbar as fb
    >>> robot = fb.robots.double_pendulum()
    >>> held = robot.constrained(fb.constraints.Contact("tip", "touch"))
    >>> held.rate([0.1, 0.2], [1.0, 0.0]).round(4)
    array([0.1681])
    """
    found = flat([own.rate for own in _rows(c)[1]])
    return [("rate", (len(found),), found)]


@method(Q, V, A, results="acceleration", into=METHODS)
def acceleration(c: Context) -> Outputs:
    """Accelerations of the rows.

    Parameters
    ----------
    q : array_like, shape (..., nq)
        Configuration, with its loops closed.
    v : array_like, shape (..., nv)
        Velocity (rad/s, m/s).
    a : array_like, shape (..., nv)
        Acceleration (rad/s², m/s²).
    out : ndarray, optional
        Array that receives the result.
    threads : int, optional
        Largest number of threads for a batch.

    Returns
    -------
    acceleration : ndarray, shape (..., m)
        A a + Ȧ v (rad/s², m/s²).

    Examples
    --------
    >>> import fourbar as fb
    >>> robot = fb.robots.double_pendulum()
    >>> held = robot.constrained(fb.constraints.Contact("tip", "touch"))
    >>> held.acceleration([0.1, 0.2], [1.0, 0.0], [0.0, 0.0]).round(4)
    array([0.8796])
    """
    found = flat([own.acceleration for own in _rows(c, "a")[1]])
    return [("acceleration", (len(found),), found)]


@method(Q, results="Omega", into=METHODS)
def osim_inverse(c: Context) -> Outputs:
    """Inverse inertia along the rows.

    Parameters
    ----------
    q : array_like, shape (..., nq)
        Configuration, with its loops closed.
    out : ndarray, optional
        Array that receives the result.
    threads : int, optional
        Largest number of threads for a batch.

    Returns
    -------
    Omega : ndarray, shape (..., m, m)
        Ω = A M⁻¹ Aᵀ, without forming M.

    Examples
    --------
    >>> import fourbar as fb
    >>> robot = fb.robots.double_pendulum()
    >>> held = robot.constrained(fb.constraints.Contact("tip", "touch"))
    >>> held.osim_inverse([0.1, 0.2]).round(4)
    array([[0.5285]])
    """
    m = constrained_model(c)
    s = c.equations(m.touched)
    still = Still(s, c.clusters, c.expanded, m.bundles, _state(c), c.still(), _free(c))
    rows = still.rowed.omega()
    return [("Omega", (len(rows), len(rows)), flat(rows))]


def spanning(c: Context) -> tuple[list[Any], list[list[Any]]]:
    """Forces (n) of all n velocities of the spanning tree without any constraint, and rows (k, n) of all that
    constrains them: the conditions', then the embedded loops'."""
    m = constrained_model(c)
    s = c.equations(m.touched)
    tau = flat(rnea.inverse_dynamics(s, c.velocities(), c.accelerations("a"), c.F_ext(), c.gravity))
    rows = evaluate_rows(s, m.bundles, c.coordinates(), c.velocities(), c.still())
    full = [row for b, own in zip(m.bundles, rows, strict=True) for row in dense_rows(s, b, own)]
    return tau, full + _loop_rows(c)


def _loop_rows(c: Context) -> list[list[Any]]:
    """K of all embedded loops over the velocities of all links."""
    q, found = c.coordinates(), []
    for cluster in c.clusters:
        if not isinstance(cluster.embedding, LoopEmbedding):
            continue
        K = c.recorder.call(tied_rows, cluster.embedding, tuple(q[i] for i in cluster.links))
        places = [c.tree.first_v[i] + j for i in cluster.links for j in range(c.tree.links[i].joint.nv)]
        for own in K:
            row: list[Any] = [0.0] * c.tree.nv
            for place, x in zip(places, own, strict=True):
                row[place] = x
            found.append(row)
    return found


def tied_rows(tie: LoopEmbedding, q: tuple[Vec, ...]) -> Mat:
    """The independent rows of K of a tied cluster."""
    return Mat(Vec(row) for row in tie.loop_rows([x for part in q for x in part]))
