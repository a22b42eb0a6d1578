"""Loops after reading: axes that are not quite parallel for lack of digits, gaps, and joints that cannot move."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..constraints.closures import Closure
from ..constraints.loop import Loop
from ..errors import ArgumentError, FourbarError, unknown
from ..joints import Cylindrical, Fixed, Helical, Prismatic, Revolute
from ..joints.base import Joint
from ..linalg import singular_values
from ..mechanism.mechanism import WORLD, Configuration, Mechanism, NamedLoop, PlacedJoint
from ..tolerances import DIGITS_OF_AXES
from ..tree.cluster_tree import ClusterTree, lower
from .report import Place, Reading
from .source import Options

TOLERANCE = 2e-3  # radians; files round angles to three digits
LARGEST = 0.2  # largest angle that a user can ask for, in radians
_MARGIN = 30.0  # how much larger than an angle a singular value must be to remain nonzero without it
_ROUNDING = 1e-9  # a change below this leaves the written numbers as they are


def straighten_axes(
    mechanism: Mechanism, options: Options, reading: Reading, place: Callable[[str], Place] | None = None
) -> Mechanism:
    """The mechanism with the axes of its loops made parallel; option `straighten`: the largest angle, 0 for none.

    Or angles by joint: other axes are straightened as usual, where loops then gain mobility. `place`: where a joint is
    in the file.
    """
    tolerances = options.extra.get("straighten", {})
    usual, named = _angles(tolerances, mechanism)

    def accept(before: Mechanism, after: Mechanism, change: Straightened) -> bool:
        asked = not isinstance(tolerances, Mapping) or any(name in named for name in change.joints)
        return asked or _frees(before, after, change)

    straight, changes = straighten(mechanism, usual, named, accept)
    for cluster in changes:
        if cluster.angle > _ROUNDING:
            names, angle = _list_names(cluster.joints), cluster.angle
            message = f"axes in a loop are not quite parallel: those of {names} are turned by up to {angle:.2g} rad"
            where = Place(reading.file) if place is None else place(cluster.joints[0])
            reading.warn(where, message, "write more digits, or keep them with straighten=0", "straighten")
    return straight


def _frees(before: Mechanism, after: Mechanism, change: Straightened) -> bool:
    """Whether loops gain mobility with straight axes, or need none of their rows left out, or the change is only in the
    last digits.
    """
    if change.angle < DIGITS_OF_AXES:
        return True
    try:
        held = lower(before)
        if _slack(held):
            return _slack(lower(after)) < _slack(held)
        return _is_loose(held, change.angle) and lower(after).nv > held.nv
    except FourbarError:  # where one of the two cannot be built, the error appears when the robot is used
        return True


def _slack(cluster_tree: ClusterTree) -> int:
    """The number of loops with rows that are left out."""
    return sum(len(cluster.slack) for cluster in cluster_tree.clusters)


def _is_loose(cluster_tree: ClusterTree, angle: float) -> bool:
    """Whether loops are so weakly constrained in some direction that axes turned by an angle could free it.

    That changes K by about the angle; a direction with a much larger singular value stays constrained.
    """
    for _, tie, _ in cluster_tree.tied_clusters:
        assert tie.closed is not None
        K = tie.units.effect_of(tie.slopes(tie.closed))
        sizes, rank = singular_values(K), K.shape[1] - tie.nv
        if rank and sizes[rank - 1] < _MARGIN * angle * sizes[0]:
            return True
    return False


def _angles(given: Any, mechanism: Mechanism) -> tuple[float, dict[str, float]]:
    """The usual tolerance, and those by joint."""
    usual, named = (TOLERANCE, dict(given)) if isinstance(given, Mapping) else (given, {})
    for angle in (usual, *named.values()):
        if isinstance(angle, bool) or not isinstance(angle, int | float) or not 0.0 <= angle <= LARGEST:
            raise ArgumentError(
                f"straighten={given!r}: expected an angle in radians from 0 to {LARGEST}, or such angles by joint"
            )
    known = {c.name for c in mechanism.joints} | {x.name for x in mechanism.loops}
    for name in named:
        if name not in known:
            raise unknown("joint or loop (of straighten=)", name, known)
    return float(usual), named


def report_loops(mechanism: Mechanism, reading: Reading, place: Callable[[str, str], Place]) -> None:
    """The gaps of the loops in each configuration of the file, before assembly; and the joints they lock.

    `place`: where a "configuration" or "loop" is in the file, by name.
    """
    if not mechanism.loops:
        return
    with reading.naming(place("loop", mechanism.loops[0].name)):
        cluster_tree = lower(mechanism)
    for named in mechanism.configurations:
        gap = _gap(cluster_tree, named)
        if gap > 1e-12:
            message = (
                f"in configuration {named.name!r} the loops of the file are open by {gap:.3g}; they are closed "
                "when it is used"
            )
            reading.note(place("configuration", named.name), message)
    _report_locked(mechanism, cluster_tree, reading, place)


def _report_locked(
    mechanism: Mechanism, cluster_tree: ClusterTree, reading: Reading, place: Callable[[str, str], Place]
) -> None:
    """The joints that loops lock: where these are not only welds, which are meant to, or an actuator drives a joint."""
    by_name = {named.name: named.loop for named in mechanism.loops}
    driving = {joint: actuator.name for actuator in mechanism.actuators for joint in actuator.joints}
    for cluster, tie, _ in cluster_tree.tied_clusters:
        if tie.nv:
            continue
        joints = [cluster_tree.moving[i].name for i in cluster.links]
        moved = [f"actuator {driving[joint]!r} drives {joint!r}" for joint in joints if joint in driving]
        if moved or not all(_holds(by_name[name]) for name in cluster.loops):
            message = f"loops {_list_names(cluster.loops)} lock joints {', '.join(map(repr, joints[:8]))}"
            why, fix = _why_rigid(mechanism, cluster.loops[0])
            but = f", though {' and '.join(moved[:2])}" if moved else ""
            reading.warn(place("loop", cluster.loops[0]), message + but + why, fix, "frozen")


def _why_rigid(mechanism: Mechanism, loop: str) -> tuple[str, str]:
    """Why the loop of some hinges may be rigid, and what to do."""
    misaligned = misaligned_axes(mechanism, loop, TOLERANCE)
    if not misaligned:
        return "", "check their axes and placements if they should move"
    changes = "; ".join(
        f"the axis of {x.joint!r} is {x.angle:.3g} rad off those of {_list_names(x.others)}" for x in misaligned
    )
    angles = {x.joint: _above(x.angle) for x in misaligned if x.angle < LARGEST}
    read = f", or read them as parallel with straighten={angles!r}" if angles else ""
    return f": {changes}", f"if they should move, make these parallel in the file{read}"


def _above(angle: float) -> float:
    """A slightly larger angle of two digits."""
    return float(f"{min(1.1 * angle + 1e-3, LARGEST):.2g}")


def _list_names(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names[:6])) + (", ..." if len(names) > 6 else "")


def _holds(loop: Loop) -> bool:
    """Whether a loop is meant to hold things in place: a weld, or a joint kept at a value."""
    return (isinstance(loop, Closure) and isinstance(loop.joint, Fixed)) or not loop.bodies


def _gap(cluster_tree: ClusterTree, named: Configuration) -> float:
    given, gap = dict(named.coordinates), 0.0
    for cluster, tie, _ in cluster_tree.tied_clusters:
        connections = [cluster_tree.moving[i] for i in cluster.links]
        q = np.array([x for c in connections for x in given.get(c.name, c.joint.neutral())])
        gap = max(gap, float(np.abs(tie.residual(q)).max(initial=0.0)))
    return gap


_TURNING = (Revolute, Helical, Cylindrical)
_EXACT = 1e-15
_MISALIGNED = 0.3  # radians; axes further apart are meant to be
_NOTHING: Mapping[str, float] = {}


@dataclass(frozen=True)
class Straightened:
    """A change in the loops of one cluster: the joints, and the largest angle (radians)."""

    joints: tuple[str, ...]
    angle: float


@dataclass(frozen=True)
class Tolerance:
    """Angles (radians) below which axes count as parallel: for all joints, and for some `named` ones."""

    usual: float
    named: Mapping[str, float] = field(default_factory=dict)

    def of(self, name: str) -> float:
        """The tolerance for a joint, or a loop."""
        return self.named.get(name, self.usual)


Accept = Callable[[Mechanism, Mechanism, Straightened], bool]


def _always(before: Mechanism, after: Mechanism, change: Straightened) -> bool:
    return True


def straighten(
    mechanism: Mechanism, usual: float, named: Mapping[str, float] = _NOTHING, accept: Accept = _always
) -> tuple[Mechanism, tuple[Straightened, ...]]:
    """The mechanism with axes in loops parallel, or perpendicular, where they are so within a tolerance (radians).

    `named`: another tolerance by joint or loop. `accept`: which clusters of loops are changed, called with the
    mechanism of these loops alone before and after.
    """
    tolerance = Tolerance(usual, named)
    by_child = {c.child: c for c in mechanism.joints}
    R = _rotations(mechanism)
    connections, loops, changes = {c.name: c for c in mechanism.joints}, {x.name: x for x in mechanism.loops}, []
    for cluster in _groups(mechanism.loops, by_child):
        turned, closed = dict(connections), dict(loops)
        changed, angle = _straighten(cluster, R, turned, closed, by_child, tolerance)
        one = Straightened(tuple(changed), angle)
        before, after = (
            replace(mechanism, joints=tuple(c.values()), loops=tuple(x[name] for name in cluster[1]))
            for c, x in ((connections, loops), (turned, closed))
        )
        if changed and accept(before, after, one):
            connections, loops = turned, closed
            changes.append(one)
    if not changes:
        return mechanism, ()
    new = replace(mechanism, joints=tuple(connections.values()), loops=tuple(loops.values()))
    return new, tuple(changes)


def _rotations(mechanism: Mechanism) -> dict[str, np.ndarray]:
    """The rotation of every body's frame in the world, all joints neutral."""
    rotations = {WORLD: np.eye(3)}
    for c in mechanism.joints:
        own = np.array(c.joint.placement(c.joint.neutral()).R, float)
        rotations[c.child] = rotations[c.parent] @ np.array(c.placement.rotation) @ own
    return rotations


def _path(body: str, by_child: dict[str, PlacedJoint]) -> Iterator[str]:
    while body != WORLD:
        yield body
        body = by_child[body].parent


def _groups(loops: Sequence[NamedLoop], by_child: dict[str, PlacedJoint]) -> list[tuple[list[str], list[str]]]:
    """Bodies and loops that belong together: loops whose paths share bodies."""
    clusters: list[tuple[set[str], list[str]]] = []
    for loop in loops:
        if not loop.loop.bodies:
            continue
        paths = [set(_path(body, by_child)) for body in loop.loop.bodies]
        bodies, names = set.union(*paths) - set.intersection(*paths), [loop.name]
        for other in [g for g in clusters if g[0] & bodies]:
            clusters.remove(other)
            bodies, names = bodies | other[0], other[1] + names
        clusters.append((bodies, names))
    return [([b for b in by_child if b in bodies], names) for bodies, names in clusters]


def _straighten(
    cluster: tuple[list[str], list[str]],
    R: dict[str, np.ndarray],
    connections: dict[str, PlacedJoint],
    loops: dict[str, NamedLoop],
    by_child: dict[str, PlacedJoint],
    tolerance: Tolerance,
) -> tuple[list[str], float]:
    """Straighten one cluster; the names of what was changed, and the largest angle."""
    references: list[np.ndarray] = []
    changed: list[str] = []
    largest = 0.0
    held = [connections[by_child[body].name] for body in cluster[0]]
    # Hinges define the directions, unambiguous ones first.
    for c in sorted(held, key=lambda c: (not isinstance(c.joint, _TURNING), c.name in tolerance.named)):
        if not isinstance(c.joint, (*_TURNING, Prismatic)):
            continue
        A = R[c.parent] @ np.array(c.placement.rotation)
        old = A @ np.array(c.joint.axis, float)
        new, angle = _nearest(old, references, isinstance(c.joint, Prismatic), tolerance.of(c.name))
        if angle > _EXACT:
            connections[c.name] = replace(c, joint=_about(c.joint, A.T @ new))
            changed.append(c.name)
            largest = max(largest, angle)
    for name in cluster[1]:
        angle = _straighten_loop(name, R, loops, references, tolerance.of(name))
        if angle > _EXACT:
            changed.append(name)
            largest = max(largest, angle)
    return changed, largest


@dataclass(frozen=True)
class Misaligned:
    """A hinge in a loop whose axis is nearly, but not quite, that of others."""

    joint: str
    others: tuple[str, ...]
    angle: float


def misaligned_axes(mechanism: Mechanism, loop: str, tolerance: float) -> tuple[Misaligned, ...]:
    """The hinges of the cluster of a loop that are not parallel to most others, though less than 0.3 rad from them."""
    axes = _hinges(mechanism, loop)
    across = {a: {b: float(np.linalg.norm(np.cross(x, y))) for b, y in axes.items()} for a, x in axes.items()}
    parallel = {a: [b for b in axes if across[a][b] < tolerance] for a in axes}
    main = max(axes, key=lambda a: len(parallel[a]), default="")
    if not main or len(parallel[main]) < 2:
        return ()
    off = [a for a in axes if tolerance <= across[a][main] < np.sin(_MISALIGNED)]
    return tuple(Misaligned(a, tuple(parallel[main]), float(np.arcsin(across[a][main]))) for a in off)


def _hinges(mechanism: Mechanism, loop: str) -> dict[str, np.ndarray]:
    """The axes, in the world, of all hinges of the cluster of a loop, by joint or loop."""
    by_child, R = {c.child: c for c in mechanism.joints}, _rotations(mechanism)
    bodies, names = next((g for g in _groups(mechanism.loops, by_child) if loop in g[1]), ([], []))
    axes_by_name = {}
    for c in (by_child[body] for body in bodies):
        if isinstance(c.joint, _TURNING):
            axes_by_name[c.name] = R[c.parent] @ np.array(c.placement.rotation) @ np.array(c.joint.axis, float)
    for named in (x for x in mechanism.loops if x.name in names):
        if isinstance(named.loop, Closure) and isinstance(named.loop.joint, _TURNING):
            own = np.array(named.loop.at_predecessor.R, float) @ np.array(named.loop.joint.axis, float)
            axes_by_name[named.name] = R[named.loop.predecessor] @ own
    return axes_by_name


def _nearest(
    axis: np.ndarray, references: list[np.ndarray], slides: bool, tolerance: float
) -> tuple[np.ndarray, float]:
    """The axis, made parallel to a reference (or perpendicular to it, for a slide) that it nearly is; and the angle."""
    for reference in references:
        along = float(axis @ reference)
        if np.linalg.norm(np.cross(axis, reference)) < tolerance:
            new = np.copysign(1.0, along) * reference
        elif slides and abs(along) < tolerance:
            new = axis - along * reference
            new = new / np.linalg.norm(new)
        else:
            continue
        return new, float(np.linalg.norm(new - axis))
    if not slides:
        references.append(axis)
    return axis, 0.0


def _about(joint: Joint, axis: np.ndarray) -> Joint:
    direction = tuple((axis / np.linalg.norm(axis)).tolist())
    return replace(joint, axis=direction)  # type: ignore[type-var]


def _straighten_loop(
    name: str, R: dict[str, np.ndarray], loops: dict[str, NamedLoop], references: list[np.ndarray], tolerance: float
) -> float:
    """Rotate the placements of a loop joint on both bodies so that its axis is straight on both."""
    loop = loops[name].loop
    if not isinstance(loop, Closure) or not isinstance(loop.joint, (*_TURNING, Prismatic)):
        return 0.0
    largest, rotations = 0.0, []
    for body, place in ((loop.predecessor, loop.at_predecessor), (loop.successor, loop.at_successor)):
        own = np.array(place.R, float)
        old = R[body] @ own @ np.array(loop.joint.axis, float)
        new, angle = _nearest(old, references, isinstance(loop.joint, Prismatic), tolerance)
        rotations.append(R[body].T @ _between(old, new) @ R[body] @ own)
        largest = max(largest, angle)
    if largest <= _EXACT:
        return 0.0
    straight = Closure(
        loop.joint, loop.predecessor, loop.successor, at_predecessor=loop.at_predecessor.p,
        at_successor=loop.at_successor.p, predecessor_rotation=rotations[0], successor_rotation=rotations[1],
    )  # fmt: skip
    loops[name] = replace(loops[name], loop=straight)
    return largest


def _between(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The smallest rotation that turns unit vector a into the near unit vector b (Rodrigues)."""
    w = np.cross(a, b)
    W = np.array([[0.0, -w[2], w[1]], [w[2], 0.0, -w[0]], [-w[1], w[0], 0.0]])
    return np.eye(3) + W + W @ W / (1.0 + float(a @ b))
