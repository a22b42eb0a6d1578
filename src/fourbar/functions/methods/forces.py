"""Forces between bodies, and operational-space inertia."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...algorithms import efpa, pv_osim, rnea
from ...algorithms import rnea as reaction
from ...algorithms.kinematics import Reported, jacobian
from ...algorithms.sweep import Sweeps
from ...errors import ArgumentError
from ...spatial.linear import Mat, Vec
from ...spatial.solve import inverse_or_nan
from ...spatial.vectors import Wrench
from ...tree.cluster_tree import ClusterTree, Location
from ...tree.embedding import LoopEmbedding
from .. import merging, projection
from ..arguments import F_EXT, A, Q, V
from ..context import Context
from ..options import read_frame
from ..registry import Option, Outputs, Rival, flat, method

Ends = tuple[tuple[Location, bool], ...]  # frames, each with whether only its three linear rows are wanted
_ENDS = (
    Option(
        "frames",
        (),
        written="FRAME ...",
        type="sequence of str",
        text="Frames or bodies with six rows each, [angular; linear].",
    ),
    Option(
        "points",
        (),
        written="FRAME ...",
        type="sequence of str",
        text="Frames or bodies with three rows each, the linear ones; they come after `frames`.",
    ),
    Option(
        "expressed_in",
        "world",
        written="AXES",
        type="{'world', 'frame'}",
        text="Axes of the rows: those of the world, or of each frame itself.",
    ),
)


def _read_ends(cluster_tree: ClusterTree, frames: Any, points: Any, expressed_in: str) -> dict[str, Any]:
    if any(isinstance(x, str) or not hasattr(x, "__iter__") for x in (frames, points)):
        raise ArgumentError(f"frames={frames!r}, points={points!r}: expected lists of names, e.g. ['hand']")
    if expressed_in not in ("world", "frame"):
        raise ArgumentError(f"expressed_in={expressed_in!r}: expected 'world' or 'frame'")
    ends = [(read_frame(cluster_tree, x), False) for x in frames]
    ends += [(read_frame(cluster_tree, x), True) for x in points]
    if not ends:
        raise ArgumentError("give at least one name in frames= or points=")
    return {"ends": tuple(ends), "in_world": expressed_in == "world"}


def _reaching(c: Context, ends: Ends) -> Sweeps:
    """Sweeps on a tree in which the frames turn with their bodies."""
    return c.equations([home.link for home, _ in ends])


def _omega(c: Context, algorithm: Any, ends: Ends, in_world: bool) -> list[list[Any]]:
    """Ω by one of the recursive algorithms, as rows of scalars."""
    return algorithm.osim_inverse(_reaching(c, ends), c.clusters, c.cluster_states, ends, in_world)


def _merged_omega(c: Context, ends: Ends, in_world: bool) -> list[list[Any]]:
    """Ω by PV-OSIMr, with clusters on several links merged with what carries them."""
    m = merging.merge(c)
    return pv_osim.osim_inverse(_reaching(c, ends), m.clusters, m.states, ends, in_world)


def _osim_inverse_by_merging(c: Context, ends: Ends, in_world: bool) -> Outputs:
    return _osim_inverse_outputs(_merged_omega(c, ends, in_world))


def _osim_by_merging(c: Context, ends: Ends, in_world: bool) -> Outputs:
    return _osim_outputs(c, _merged_omega(c, ends, in_world))


def _osim_inverse_by_efpa(c: Context, ends: Ends, in_world: bool) -> Outputs:
    return _osim_inverse_outputs(_omega(c, efpa, ends, in_world))


def _omega_by_projection(c: Context, ends: Ends, in_world: bool) -> Mat:
    s, rows = _reaching(c, ends), []
    for home, linear in ends:
        J = jacobian(s, Reported(home, (0.0, 0.0, 0.0), None if in_world else home))
        rows += J[3:] if linear else J
    return projection.osim_inverse(c, s, rows)


def _osim_inverse_by_projection(c: Context, ends: Ends, in_world: bool) -> Outputs:
    return _osim_inverse_outputs(_omega_by_projection(c, ends, in_world))


def _osim_by_efpa(c: Context, ends: Ends, in_world: bool) -> Outputs:
    return _osim_outputs(c, _omega(c, efpa, ends, in_world))


def _osim_by_projection(c: Context, ends: Ends, in_world: bool) -> Outputs:
    return _osim_outputs(c, _omega_by_projection(c, ends, in_world))


@method(
    Q, results="Omega", options=_ENDS, read=_read_ends, inverts_mass=True,
    rivals=[
        Rival(_osim_inverse_by_efpa), Rival(_osim_inverse_by_projection, projection.may_win_for_matrices),
        Rival(_osim_inverse_by_merging, merging.may_win),
    ],
)  # fmt: skip
def osim_inverse(c: Context, ends: Ends, in_world: bool) -> Outputs:
    """Inverse operational-space inertia of one or more frames (PV-OSIMr or EFPA).

    Returns
    -------
    Omega : ndarray, shape (..., k, k)
        Ω = J M⁻¹ Jᵀ, with the Jacobians of all frames at their origins in J.

    See Also
    --------
    osim : Its inverse.

    Notes
    -----
    Found by propagating unit forces inward (PV-OSIMr, Sathya et al., arXiv 2310.03676, here over clusters) or
    accelerations outward (C-EFPA, Chignoli eq. 61-67), or of robots with up to 12 independent velocities from M
    (projection, Chignoli §II-E): whichever takes fewer operations for this robot and these frames.

    Examples
    --------
    >>> import fourbar as fb
    >>> robot = fb.robots.double_pendulum()
    >>> robot.osim_inverse([0.1, 0.2], points=["tip"]).round(3)
    array([[ 3.723,  0.   , -1.305],
           [ 0.   ,  0.   ,  0.   ],
           [-1.305,  0.   ,  0.529]])
    """
    return _osim_inverse_outputs(_omega(c, pv_osim, ends, in_world))


def _osim_inverse_outputs(rows: Sequence[Sequence[Any]]) -> Outputs:
    return [("Omega", (len(rows), len(rows)), flat(rows))]


_NOT_INDEPENDENT = (
    "the frames cannot be moved independently in all their rows, so that Ω has no inverse; ask for fewer rows, or use "
    "osim_inverse"
)


@method(
    Q, results="Lambda", options=_ENDS, read=_read_ends, nan=_NOT_INDEPENDENT, inverts_mass=True,
    rivals=[
        Rival(_osim_by_efpa), Rival(_osim_by_projection, projection.may_win_for_matrices),
        Rival(_osim_by_merging, merging.may_win),
    ],
)  # fmt: skip
def osim(c: Context, ends: Ends, in_world: bool) -> Outputs:
    """Operational-space inertia of one or more frames.

    Returns
    -------
    Lambda : ndarray, shape (..., k, k)
        Λ = (J M⁻¹ Jᵀ)⁻¹, with the Jacobians of all frames at their origins in J.

    Raises
    ------
    ArgumentError
        If there are more rows than independent velocities.
    SingularError
        If the frames cannot be moved independently in all their rows (NaN and a warning in a batch).

    See Also
    --------
    osim_inverse : Ω = Λ⁻¹, which exists always.

    Examples
    --------
    >>> import fourbar as fb
    >>> robot = fb.robots.delta()
    >>> robot.osim(robot.neutral(), points=["tool"]).shape
    (3, 3)
    """
    k = sum(3 if linear else 6 for _, linear in ends)
    if k > c.nv:
        raise ArgumentError(
            f"osim: the frames and points have {k} rows but the robot only {c.nv} independent velocities, so that they "
            "cannot be moved independently; ask for fewer (points= has three rows each), or use osim_inverse"
        )
    return _osim_outputs(c, _omega(c, pv_osim, ends, in_world))


def _osim_outputs(c: Context, rows: Sequence[Sequence[Any]]) -> Outputs:
    return [("Lambda", (len(rows), len(rows)), flat(c.recorder.call(inverse_or_nan, Mat(map(Vec, rows)))))]


def _loop_wrenches(c: Context) -> dict[str, list[Wrench]]:
    """Wrenches of loops on the bodies they tie, by body; the independent joints are driven, the others passive."""
    tau = rnea.inverse_dynamics(c.equations(), c.velocities(), c.accelerations("a"), c.F_ext(), c.gravity)
    q = c.coordinates()
    wrenches: dict[str, list[Wrench]] = {}
    for cluster in c.clusters:
        if cluster.tie is not None and cluster.tie.traced.bodies:
            own_q, own_tau = tuple(q[i] for i in cluster.links), tuple(tau[i] for i in cluster.links)
            forces = c.recorder.call(reaction.loop_wrenches, cluster.tie, own_q, own_tau)
            for body, F in zip(cluster.tie.traced.bodies, forces, strict=True):
                wrenches.setdefault(body, []).append(F)
    return wrenches


@method(Q, V, A, results="F", optional=[F_EXT])
def reactions(c: Context) -> Outputs:
    """Wrenches that bodies receive through their joints.

    Returns
    -------
    F : ndarray, shape (..., n_bodies, 6)
        Wrench [moment; force] (N m, N) that each body receives from its parent through its joint, in the frame of the
        body.

    See Also
    --------
    inverse_dynamics : The components along the joint axes.
    System.least_reactions : Where loops hold more than is needed.

    Notes
    -----
    With loops only the independent joints are driven; the forces of loop joints and rods on bodies are accounted for,
    while gears and couplings act as torques in the joints they couple. Where loops hold more than is needed (a planar
    four-bar closed by a hinge in space) rigid bodies do not determine how joints share the load: here rows that others
    imply carry nothing, so that the answer depends on which joint closes the loop.

    Examples
    --------
    >>> import fourbar as fb
    >>> robot = fb.robots.double_pendulum()
    >>> robot.reactions([0.0, 0.0], [0.0, 0.0], [0.0, 0.0])[:, 5].round(3)
    array([17.658,  7.848])
    """
    bodies, connections = c.model.mechanism.bodies, c.model.mechanism.joints
    tree, poses = c.every_body()
    number = {connection.name: i for i, connection in enumerate(c.model.cluster_tree.moving)}
    by_link = (c.coordinates(), c.velocities(), c.accelerations("a"))
    q, v, a = ([x[number[k.name]] if k.name in number else Vec() for k in connections] for x in by_link)
    F = [
        Wrench.of(c.given["f_ext"][6 * b : 6 * b + 6]) if "f_ext" in c.given else Wrench.zero()
        for b in range(len(bodies))
    ]
    total = [c.recorder.call(reaction.add_wrench, pose, f, Wrench.zero()) for pose, f in zip(poses, F, strict=True)]
    for body, forces in _loop_wrenches(c).items():
        for b in (b for b, x in enumerate(bodies) if x.name == body):
            for f in forces:
                total[b] = c.recorder.call(reaction.add_wrench, poses[b], f, total[b])
    s = Sweeps(tree, c.recorder, flat(q), flat(v))
    found = reaction.reactions(s, v, a, total, poses, c.gravity)
    return [("F", (len(bodies), 6), [x for F in found for x in F.six()])]


def _pulls(tie: LoopEmbedding, q: tuple[Vec, ...]) -> tuple[tuple[Wrench, ...], ...]:
    return tuple(map(tuple, tie.pulls([x for own in q for x in own])))


@method(Q, results="pull")
def loop_pull(c: Context) -> Outputs:
    """Wrenches on all bodies of unit forces along the conditions of loops.

    Returns
    -------
    pull : ndarray, shape (..., m, n_bodies, 6)
        Wrench [moment; force] on each body, in its frame, of a unit force along each condition of each loop, in the
        order of the rows of `loop_jacobian`.

    See Also
    --------
    loop_jacobian : The same on the joints of the spanning tree.

    Examples
    --------
    >>> import fourbar as fb
    >>> robot = fb.robots.four_bar()
    >>> robot.loop_pull(robot.neutral()).shape
    (6, 3, 6)
    """
    q, bodies, unit_wrenches = c.coordinates(), [x.name for x in c.model.mechanism.bodies], []
    for cluster in c.clusters:
        if cluster.tie is None:
            continue
        pulls = c.recorder.call(_pulls, cluster.tie, tuple(q[i] for i in cluster.links))
        by_body = dict(zip(cluster.tie.traced.bodies, pulls, strict=True))
        for row in range(len(cluster.tie.traced.phi)):
            unit_wrenches.append([list(by_body[x][row].six()) if x in by_body else [0.0] * 6 for x in bodies])
    return [("pull", (len(unit_wrenches), len(bodies), 6), [x for row in unit_wrenches for six in row for x in six])]
