"""Forces and accelerations, and the mass matrix between them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ...algorithms import aba, minverse, rnea
from ...errors import ArgumentError, unknown
from ...once import once_per_object
from ...tree.assembly import independent_joints
from ...tree.cluster_tree import ClusterTree
from .. import merging, projection
from ..arguments import F_EXT, TAU, A, B, Q, V
from ..context import Context, record
from ..model import Model
from ..registry import Option, Outputs, Rival, flat, method, vector


def inverse_parts(c: Context) -> list[Any]:
    """The inverse dynamics of the given state and accelerations, by cluster."""
    return c.project(rnea.inverse_dynamics(c.equations(), c.velocities(), c.accelerations("a"), c.F_ext(), c.gravity))


@method(Q, V, A, results="tau", optional=[F_EXT])
def inverse_dynamics(c: Context) -> Outputs:
    """Joint forces that cause given accelerations (RNEA).

    Parameters
    ----------
    q : array_like, shape (..., nq)
        Configuration, with its loops closed: `robot.check(q, v)` checks them, `robot.assemble(q)` closes them.

    Returns
    -------
    tau : ndarray, shape (..., nv)
        Joint forces (N m, N).

    See Also
    --------
    forward_dynamics : Accelerations caused by joint forces.
    inverse_passive_dynamics : The same with springs and damping of the joints.
    reactions : All six components of the force in every joint.

    Notes
    -----
    τ = M a + C v + g - Σ Jᵀ f_ext, in O(n), of the rigid bodies and armatures alone. For speed q is not checked: where
    loops are open, the result means nothing. `System.check` looks at a state, `System.assemble` closes its loops.

    Examples
    --------
    >>> import fourbar as fb
    >>> robot = fb.robots.double_pendulum()
    >>> robot.inverse_dynamics([0.1, 0.2], [1.0, 0.0], [0.0, 0.0]).round(4)
    array([1.1004, 0.4797])
    """
    return vector(c, "tau", inverse_parts(c))


def accelerations(c: Context, v: list[Any], tau: list[Any], gravity: Sequence[float]) -> list[Any]:
    """The forward dynamics of all links' velocities and the clusters' forces, by cluster."""
    return aba.forward_dynamics(c.equations(), c.clusters, c.cluster_states, v, tau, c.F_ext(), gravity)


def merged_accelerations(c: Context, v: list[Any], tau: list[Any], gravity: Sequence[float]) -> list[Any]:
    """`accelerations` with clusters on several links merged with what carries them."""
    m = merging.merge(c)
    parts = aba.forward_dynamics(c.equations(), m.clusters, m.states, v, m.join(tau), c.F_ext(), gravity)
    return m.split(parts)


Solver = Callable[[Context, list[Any]], list[Any]]


def recursive_solver(c: Context, tau: list[Any]) -> list[Any]:
    """`accelerations` of the given state under forces by cluster."""
    return accelerations(c, c.velocities(), tau, c.gravity)


def merged_solver(c: Context, tau: list[Any]) -> list[Any]:
    """`recursive_solver` with clusters on several links merged with what carries them."""
    return merged_accelerations(c, c.velocities(), tau, c.gravity)


@once_per_object
def cheapest_solver(model: Model) -> Solver:
    """The algorithm for accelerations with the fewest operations for a robot, the one `forward_dynamics` keeps; for
    larger programs that contain it.
    """
    rivals: list[tuple[Solver, Callable[[Model], bool]]] = [
        (projection.accelerations, projection.may_win_for_vectors),
        (merged_solver, merging.may_win),
    ]
    solvers = [recursive_solver, *(solver for solver, may_win in rivals if may_win(model))]
    if len(solvers) == 1:
        return recursive_solver
    arguments = [x.on(model) for x in (Q, V, TAU)]

    def count(solver: Solver) -> int:
        def algorithm(c: Context) -> Outputs:
            return vector(c, "a", solver(c, c.by_cluster("tau")))

        return record("forward_dynamics", model, algorithm, arguments, {}).operations

    return min(solvers, key=count)


def acceleration_parts(c: Context) -> list[Any]:
    """The forward dynamics of the given state, by cluster."""
    return accelerations(c, c.velocities(), c.by_cluster("tau"), c.gravity)


def _by_projection(c: Context) -> Outputs:
    return vector(c, "a", projection.accelerations(c, c.by_cluster("tau")))


def _by_merging(c: Context) -> Outputs:
    return vector(c, "a", merged_solver(c, c.by_cluster("tau")))


@method(
    Q,
    V,
    TAU,
    results="a",
    optional=[F_EXT],
    inverts_mass=True,
    rivals=[Rival(_by_projection, projection.may_win_for_vectors), Rival(_by_merging, merging.may_win)],
)
def forward_dynamics(c: Context) -> Outputs:
    """Accelerations caused by joint forces (ABA).

    Parameters
    ----------
    q : array_like, shape (..., nq)
        Configuration, with its loops closed: `robot.check(q, v)` checks them, `robot.assemble(q)` closes them.

    Returns
    -------
    a : ndarray, shape (..., nv)
        Accelerations (rad/s², m/s²).

    See Also
    --------
    inverse_dynamics : Joint forces that cause given accelerations.
    passive_dynamics : The same with springs and damping of the joints.
    hybrid_dynamics : Accelerations of some joints and forces of the others.
    simulate : Motion over time.

    Notes
    -----
    Solves M a + C v + g = τ + Σ Jᵀ f_ext in O(n) without forming M; loops are embedded (Chignoli, Alg. 1). For robots
    with up to 12 independent velocities M is formed and factored where that takes fewer operations (projection,
    Chignoli §II-D). For speed q is not checked: where loops are open, the result means nothing. `System.check` looks at
    a state, `System.assemble` closes its loops.

    Examples
    --------
    >>> import fourbar as fb
    >>> robot = fb.robots.double_pendulum()
    >>> robot.forward_dynamics([0.1, 0.2], [1.0, 0.0], [0.0, 0.0]).round(4)
    array([  1.8735, -16.5602])

    Leading axes are batches; they broadcast.

    >>> import numpy as np
    >>> robot.forward_dynamics(np.zeros((1000, 2)), np.zeros(2), np.zeros(2)).shape
    (1000, 2)

    Derivatives are attributes of the function.

    >>> robot.forward_dynamics.jacobian([0.1, 0.2], [1.0, 0.0], [0.0, 0.0]).tau.shape
    (2, 2)
    """
    return vector(c, "a", acceleration_parts(c))


def hybrid_parts(c: Context, prescribed: tuple[tuple[bool, ...], ...]) -> tuple[list[Any], list[Any]]:
    """All accelerations and all forces, by cluster."""
    return aba.hybrid_dynamics(
        c.equations(), c.clusters, c.cluster_states, c.velocities(), c.by_cluster("a"), c.by_cluster("tau"), c.F_ext(),
        prescribed, c.gravity,
    )  # fmt: skip


def _hybrid_by_merging(c: Context, prescribed: tuple[tuple[bool, ...], ...]) -> Outputs:
    m = merging.merge(c)
    held = tuple(tuple(x for n in own for x in prescribed[n]) for own in m.members)
    a, tau = m.join(c.by_cluster("a")), m.join(c.by_cluster("tau"))
    moved, forces = aba.hybrid_dynamics(
        c.equations(), m.clusters, m.states, c.velocities(), a, tau, c.F_ext(), held, c.gravity
    )
    return vector(c, "a_all", m.split(moved)) + vector(c, "tau_all", m.split(forces))


def _is_list(prescribed: Any) -> bool:
    return isinstance(prescribed, Iterable) and not isinstance(prescribed, str)


def _as_tuple(prescribed: Any) -> Any:
    """The names as a tuple: their order, and what holds them, does not matter."""
    return tuple(prescribed) if _is_list(prescribed) else prescribed


def read_prescribed(cluster_tree: ClusterTree, prescribed: Any) -> dict[str, Any]:
    """A mask of the independent velocities that are prescribed, by cluster, from the names of their joints."""
    if not _is_list(prescribed):
        example = prescribed if isinstance(prescribed, str) else "hip"
        raise ArgumentError(f"prescribed={prescribed!r}: expected a list of joint names, e.g. [{example!r}]")
    names = list(prescribed)
    by_cluster = [independent_joints(cluster_tree, cluster) for cluster in cluster_tree.clusters]
    known = list(dict.fromkeys(name for own in by_cluster for name in own))
    for name in names:
        if name not in known:
            raise unknown("independent moving joint", name, known)
    return {"prescribed": tuple(tuple(joint in names for joint in own) for own in by_cluster)}


PRESCRIBED = Option(
    "prescribed",
    required=True,
    keep=_as_tuple,
    written="JOINT ...",
    type="sequence of str",
    text="Joints whose acceleration is given.",
)


@method(
    Q,
    V,
    A,
    TAU,
    results="a tau",
    optional=[F_EXT],
    options=[PRESCRIBED],
    read=read_prescribed,
    rivals=[Rival(_hybrid_by_merging, merging.may_win)],
)
def hybrid_dynamics(c: Context, prescribed: tuple[tuple[bool, ...], ...]) -> Outputs:
    """All accelerations and joint forces, where some accelerations and the other forces are given.

    Parameters
    ----------
    a : array_like, shape (..., nv)
        Acceleration (rad/s², m/s²); read for the joints in `prescribed`.
    tau : array_like, shape (..., nv)
        Joint forces (N m, N); read for all other joints.

    Returns
    -------
    a : ndarray, shape (..., nv)
        Accelerations of all joints (rad/s², m/s²).
    tau : ndarray, shape (..., nv)
        Forces of all joints (N m, N).

    See Also
    --------
    forward_dynamics : No acceleration is given.
    inverse_dynamics : All accelerations are given.

    Notes
    -----
    The rows of M a + C v + g = τ + Σ Jᵀ f_ext are solved for what is not given in O(n) (Kim, Table 4).

    Examples
    --------
    >>> import fourbar as fb
    >>> robot = fb.robots.double_pendulum()
    >>> a, tau = robot.hybrid_dynamics([0.1, 0.2], [0.0, 0.0], [2.0, 0.0], [0.0, 0.0], prescribed=["shoulder"])
    >>> a.round(3), tau.round(3)
    (array([  2.   , -16.547]), array([0.063, 0.   ]))
    """
    moved, forces = hybrid_parts(c, prescribed)
    return vector(c, "a_all", moved) + vector(c, "tau_all", forces)


@method(Q, V, results="tau", optional=[F_EXT])
def bias_force(c: Context) -> Outputs:
    """Joint forces at acceleration zero: Coriolis, centrifugal and gravity forces.

    Returns
    -------
    tau : ndarray, shape (..., nv)
        C v + g - Σ Jᵀ f_ext (N m, N), also called nonlinear effects.

    See Also
    --------
    gravity_force : g alone.
    coriolis_force : C v alone.

    Examples
    --------
    >>> import fourbar as fb
    >>> robot = fb.robots.double_pendulum()
    >>> robot.bias_force([0.1, 0.2], [1.0, 0.0]).round(4)
    array([1.1004, 0.4797])
    """
    tau = rnea.inverse_dynamics(c.equations(), c.velocities(), c.accelerations(""), c.F_ext(), c.gravity)
    return vector(c, "tau", c.project(tau))


@method(Q, results="tau")
def gravity_force(c: Context) -> Outputs:
    """Joint forces that hold the robot still against gravity.

    Returns
    -------
    tau : ndarray, shape (..., nv)
        g(q) = ∂U/∂q (N m, N), with the potential energy U.

    See Also
    --------
    potential_energy : The energy of which this is the gradient.
    bias_force : With Coriolis and centrifugal forces.

    Examples
    --------
    >>> import fourbar as fb
    >>> robot = fb.robots.double_pendulum()
    >>> robot.gravity_force([0.1, 0.2]).round(4)
    array([1.1004, 0.4638])
    """
    tau = rnea.inverse_dynamics(c.equations(), c.still(), c.still(), c.F_ext(), c.gravity)
    return vector(c, "tau", c.project(tau))


@method(Q, results="M")
def mass_matrix(c: Context) -> Outputs:
    """Mass matrix, symmetric and full (CRBA).

    Returns
    -------
    M : ndarray, shape (..., nv, nv)
        Mass matrix (kg m², kg m, kg), with armatures on its diagonal.

    See Also
    --------
    inverse_mass_matrix : The inverse.
    solve_mass_matrix : M⁻¹ b.
    mass_matrix_rate : Its rate.

    Notes
    -----
    With loops M = Gᵀ M_tree G, with the `loop_map` G and the mass matrix M_tree of the spanning tree.

    Examples
    --------
    >>> import fourbar as fb
    >>> robot = fb.robots.double_pendulum()
    >>> robot.mass_matrix([0.1, 0.2]).round(4)
    array([[0.4828, 0.1211],
           [0.1211, 0.0427]])
    """
    return [("M", (c.nv, c.nv), flat(projection.mass_matrix(c, c.equations())))]


def _inverse_by_projection(c: Context) -> Outputs:
    return [("M_inverse", (c.nv, c.nv), flat(projection.inverse_mass_matrix(c)))]


def _inverse_by_merging(c: Context) -> Outputs:
    m = merging.merge(c)
    rows = m.sort(minverse.inverse_mass_matrix(c.equations(), m.clusters, m.states))
    return [("M_inverse", (c.nv, c.nv), flat(rows))]


@method(
    Q,
    results="M_inverse",
    inverts_mass=True,
    rivals=[
        Rival(_inverse_by_projection, projection.may_win_for_matrices),
        Rival(_inverse_by_merging, merging.may_win),
    ],
)
def inverse_mass_matrix(c: Context) -> Outputs:
    """Inverse of the mass matrix.

    Returns
    -------
    M_inverse : ndarray, shape (..., nv, nv)
        M⁻¹ (1/(kg m²), 1/(kg m), 1/kg), in O(n²) for large robots.

    See Also
    --------
    mass_matrix : The mass matrix.
    solve_mass_matrix : Its product with one vector, in O(n).

    Examples
    --------
    >>> import fourbar as fb
    >>> robot = fb.robots.double_pendulum()
    >>> (robot.inverse_mass_matrix([0.1, 0.2]) @ robot.mass_matrix([0.1, 0.2])).round(9)
    array([[1., 0.],
           [0., 1.]])
    """
    return [
        ("M_inverse", (c.nv, c.nv), flat(minverse.inverse_mass_matrix(c.equations(), c.clusters, c.cluster_states)))
    ]


def _solve_by_projection(c: Context) -> Outputs:
    return vector(c, "x", projection.solution(c, c.by_cluster("b")))


def _solve_by_merging(c: Context) -> Outputs:
    return vector(c, "x", merged_accelerations(c, c.still(), c.by_cluster("b"), (0.0, 0.0, 0.0)))


@method(
    Q, B, results="x", inverts_mass=True,
    rivals=[Rival(_solve_by_projection, projection.may_win_for_vectors), Rival(_solve_by_merging, merging.may_win)],
)  # fmt: skip
def solve_mass_matrix(c: Context) -> Outputs:
    """Solution x of M x = b.

    Returns
    -------
    x : ndarray, shape (..., nv)
        M⁻¹ b (rad/s², m/s²), in O(n) for large robots.

    See Also
    --------
    inverse_mass_matrix : The whole matrix M⁻¹.

    Examples
    --------
    >>> import fourbar as fb
    >>> robot = fb.robots.double_pendulum()
    >>> robot.solve_mass_matrix([0.1, 0.2], [1.0, 0.0]).round(4)
    array([  7.1811, -20.3774])
    """
    return vector(c, "x", accelerations(c, c.still(), c.by_cluster("b"), (0.0, 0.0, 0.0)))
