"""Axes that a file means to be parallel, made parallel.

A planar linkage moves only because its axes are parallel. Files write them with a few digits: axes that differ by a
microradian make the loop rigid, exactly computed. Within a loop, hinges about nearly the same direction are therefore
given the same one, and slides nearly across it are turned across it. What was changed is told.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ..joints import Cylindrical, Helical, Prismatic, Revolute
from ..joints.base import Joint
from ..loops.closure import Closure
from .mechanism import WORLD, Connection, Mechanism, NamedLoop

_TURNING = (Revolute, Helical, Cylindrical)
_EXACT = 1e-15
_ASTRAY = 0.3  # radians; axes further from each other are meant to be
_NOTHING: Mapping[str, float] = {}


@dataclass(frozen=True)
class Straightened:
    """What was changed in the loops of one group: the joints, and the largest angle (radians)."""

    joints: tuple[str, ...]
    angle: float


@dataclass(frozen=True)
class Tolerance:
    """Angles (radians) below which axes are meant to be parallel: of all joints, and of some `named` ones."""

    usual: float
    named: Mapping[str, float] = field(default_factory=dict)

    def of(self, name: str) -> float:
        """That of a joint, or a loop."""
        return self.named.get(name, self.usual)


Accept = Callable[[Mechanism, Mechanism, Straightened], bool]


def _always(before: Mechanism, after: Mechanism, change: Straightened) -> bool:
    return True


def straighten(
    mechanism: Mechanism, usual: float, named: Mapping[str, float] = _NOTHING, accept: Accept = _always
) -> tuple[Mechanism, tuple[Straightened, ...]]:
    """The mechanism with axes in loops parallel, or across, where they are so within a tolerance (radians).

    `named`: another tolerance by joint or loop. `accept`: which groups of loops are changed, asked with the mechanism
    of these loops alone before and after.
    """
    tolerance = Tolerance(usual, named)
    by_child = {c.child: c for c in mechanism.connections}
    R = _rotations(mechanism)
    connections, loops, told = {c.name: c for c in mechanism.connections}, {x.name: x for x in mechanism.loops}, []
    for group in _groups(mechanism.loops, by_child):
        turned, closed = dict(connections), dict(loops)
        changed, angle = _straighten(group, R, turned, closed, by_child, tolerance)
        one = Straightened(tuple(changed), angle)
        before, after = (
            replace(mechanism, connections=tuple(c.values()), loops=tuple(x[name] for name in group[1]))
            for c, x in ((connections, loops), (turned, closed))
        )
        if changed and accept(before, after, one):
            connections, loops = turned, closed
            told.append(one)
    if not told:
        return mechanism, ()
    new = replace(mechanism, connections=tuple(connections.values()), loops=tuple(loops.values()))
    return new, tuple(told)


def _rotations(mechanism: Mechanism) -> dict[str, np.ndarray]:
    """The rotation of every body's frame in the world, all joints neutral."""
    found = {WORLD: np.eye(3)}
    for c in mechanism.connections:
        own = np.array(c.joint.placement(c.joint.neutral()).R, float)
        found[c.child] = found[c.parent] @ np.array(c.placement.rotation) @ own
    return found


def _path(body: str, by_child: dict[str, Connection]) -> Iterator[str]:
    while body != WORLD:
        yield body
        body = by_child[body].parent


def _groups(loops: Sequence[NamedLoop], by_child: dict[str, Connection]) -> list[tuple[list[str], list[str]]]:
    """Bodies and loops that belong together: loops between bodies that share bodies on their ways."""
    groups: list[tuple[set[str], list[str]]] = []
    for loop in loops:
        if not loop.loop.bodies:
            continue
        ways = [set(_path(body, by_child)) for body in loop.loop.bodies]
        bodies, names = set.union(*ways) - set.intersection(*ways), [loop.name]
        for other in [g for g in groups if g[0] & bodies]:
            groups.remove(other)
            bodies, names = bodies | other[0], other[1] + names
        groups.append((bodies, names))
    return [([b for b in by_child if b in bodies], names) for bodies, names in groups]


def _straighten(
    group: tuple[list[str], list[str]],
    R: dict[str, np.ndarray],
    connections: dict[str, Connection],
    loops: dict[str, NamedLoop],
    by_child: dict[str, Connection],
    tolerance: Tolerance,
) -> tuple[list[str], float]:
    """Straighten one group; the names of what was changed, and the largest angle."""
    references: list[np.ndarray] = []
    changed: list[str] = []
    largest = 0.0
    held = [connections[by_child[body].name] for body in group[0]]
    # Hinges say the directions, those first that are not in doubt.
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
    for name in group[1]:
        angle = _straighten_loop(name, R, loops, references, tolerance.of(name))
        if angle > _EXACT:
            changed.append(name)
            largest = max(largest, angle)
    return changed, largest


@dataclass(frozen=True)
class Astray:
    """A hinge in a loop whose axis is nearly, but not quite, that of others."""

    joint: str
    others: tuple[str, ...]
    angle: float


def astray(mechanism: Mechanism, loop: str, tolerance: float) -> tuple[Astray, ...]:
    """The hinges of the group of a loop that are not parallel to most others, though less than 0.3 rad from them."""
    axes = _hinges(mechanism, loop)
    across = {a: {b: float(np.linalg.norm(np.cross(x, y))) for b, y in axes.items()} for a, x in axes.items()}
    parallel = {a: [b for b in axes if across[a][b] < tolerance] for a in axes}
    main = max(axes, key=lambda a: len(parallel[a]), default="")
    if not main or len(parallel[main]) < 2:
        return ()
    off = [a for a in axes if tolerance <= across[a][main] < np.sin(_ASTRAY)]
    return tuple(Astray(a, tuple(parallel[main]), float(np.arcsin(across[a][main]))) for a in off)


def _hinges(mechanism: Mechanism, loop: str) -> dict[str, np.ndarray]:
    """The axes, in the world, of all hinges of the group of a loop, by joint or loop."""
    by_child, R = {c.child: c for c in mechanism.connections}, _rotations(mechanism)
    bodies, names = next((g for g in _groups(mechanism.loops, by_child) if loop in g[1]), ([], []))
    found = {}
    for c in (by_child[body] for body in bodies):
        if isinstance(c.joint, _TURNING):
            found[c.name] = R[c.parent] @ np.array(c.placement.rotation) @ np.array(c.joint.axis, float)
    for named in (x for x in mechanism.loops if x.name in names):
        if isinstance(named.loop, Closure) and isinstance(named.loop.joint, _TURNING):
            own = np.array(named.loop.at_predecessor.R, float) @ np.array(named.loop.joint.axis, float)
            found[named.name] = R[named.loop.predecessor] @ own
    return found


def _nearest(
    axis: np.ndarray, references: list[np.ndarray], slides: bool, tolerance: float
) -> tuple[np.ndarray, float]:
    """The axis, made parallel to a reference (or across it, for a slide) that it nearly is; and the angle between."""
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
    """Turn the places of a loop joint on both bodies so that its axis is straight on both."""
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
