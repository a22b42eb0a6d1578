"""Clusters as the user sees them: who belongs together, how to name coordinates, how to close loops."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ..errors import AssemblyError, unknown
from ..model.choose import close, differences
from ..model.embedding import Free, Tied
from ..model.groups import Group
from ..model.lower import Lowered
from ..model.mechanism import Connection, Mechanism, joint_of, velocity_names
from ..model.read import read_independent
from ..model.restart import close_from
from ..model.travel import brought_within, travel
from ..tolerances import CLOSED, KEEP_AWAY

_AT_HOME = 10  # trials in the assembly in which a robot is built, if that is outside of the limits of its joints


Trial = tuple[np.ndarray, np.ndarray]  # coordinates (n, nq), and which of them are good (n)


class ClusterInfo(NamedTuple):
    """Bodies tied by loops, and what describes their state."""

    bodies: tuple[str, ...]
    joints: tuple[str, ...]
    loops: tuple[str, ...]
    carrier: str
    coordinate_names: tuple[str, ...]
    velocity_names: tuple[str, ...]


def _labels(name: str, suffixes: Sequence[str]) -> list[str]:
    return [f"{name}.{s}" if s else name for s in suffixes]


def coordinate_labels(c: Connection) -> list[str]:
    """What the coordinates of a joint are called."""
    return _labels(c.name, c.joint.q_names)


def _velocity_labels(lowered: Lowered, group: Group) -> list[tuple[str, str]]:
    """(joint, label) of the independent velocities of a group."""
    connections = [lowered.moving[i] for i in group.links]
    every = [(c.name, label) for c in connections for label in velocity_names(c.name, c.joint)]
    return every if isinstance(group.embedding, Free) else [every[j] for j, _ in group.embedding.independent]


def independent_joints(lowered: Lowered, group: Group) -> list[str]:
    """The joint of each independent velocity."""
    return [joint for joint, _ in _velocity_labels(lowered, group)]


def describe(lowered: Lowered, group: Group) -> ClusterInfo:
    """A group by names."""
    connections = [lowered.moving[i] for i in group.links]
    velocities = tuple(label for _, label in _velocity_labels(lowered, group))
    explicit = isinstance(group.embedding, Tied) and group.embedding.explicit
    coordinates = tuple(x for c in connections for x in coordinate_labels(c))
    return ClusterInfo(
        bodies=tuple(c.child for c in connections),
        joints=tuple(c.name for c in connections),
        loops=group.loops,
        carrier="world" if group.carrier < 0 else lowered.moving[group.carrier].child,
        coordinate_names=velocities if explicit else coordinates,
        velocity_names=velocities,
    )


def _state(group: Group, full: np.ndarray) -> np.ndarray:
    """The stored coordinates (..., nq) of a tied group, from those of all its joints."""
    tie = group.embedding
    assert isinstance(tie, Tied)
    if not tie.explicit:
        return full
    return np.stack([full[..., j] / scale for j, scale in tie.independent], axis=-1) if tie.nq else full[..., :0]


def group_neutral(lowered: Lowered, group: Group) -> np.ndarray:
    """The neutral coordinates, or closed ones near them."""
    if isinstance(group.embedding, Tied):
        assert group.embedding.closed is not None
        return _state(group, group.embedding.closed)
    return np.array(lowered.moving[group.links[0]].joint.neutral())


def group_named(lowered: Lowered, group: Group, coordinates: Mapping[str, Sequence[float]]) -> np.ndarray:
    """Closed coordinates of a group near those given by joint; joints not given are neutral."""
    connections = [lowered.moving[i] for i in group.links]
    full = np.array([x for c in connections for x in coordinates.get(c.name, c.joint.neutral())])
    if not isinstance(group.embedding, Tied):
        return full
    closed, gap = close_from(group.embedding, full[None])
    if not gap[0] <= CLOSED:
        raise AssemblyError(
            f"loops {', '.join(map(repr, group.loops))} cannot be closed: a gap of "
            f"{np.abs(group.embedding.residual(closed)).max():.3g} is left"
        )
    return _state(group, closed[0])


def _random_full(lowered: Lowered, group: Group, rng: np.random.Generator, count: int) -> np.ndarray:
    parts = [lowered.moving[i] for i in group.links]
    return np.concatenate([c.joint.random(rng, np.array(c.lower), np.array(c.upper), (count,)) for c in parts], axis=-1)


def _limits(lowered: Lowered, group: Group) -> tuple[np.ndarray, np.ndarray]:
    """Lower and upper limits of the coordinates of all joints of a group."""
    lower = np.array([x for i in group.links for x in lowered.moving[i].lower])
    return lower, np.array([x for i in group.links for x in lowered.moving[i].upper])


def _within_limits(lowered: Lowered, group: Group, full: np.ndarray) -> np.ndarray:
    """Which rows of coordinates of all joints of a group keep their limits."""
    lower, upper = _limits(lowered, group)
    return np.all((full >= lower) & (full <= upper), axis=-1)


def _is_held(tie: Tied, full: np.ndarray) -> np.ndarray:
    """Which configurations (n, nq) are away from toggle positions."""
    return tie.determinacy(full) > KEEP_AWAY


def _travelled(lowered: Lowered, group: Group, rng: np.random.Generator, count: int, attempt: int) -> Trial:
    """Where ways from the closed configuration towards random ones lead, and whether they could be gone."""
    tie = group.embedding
    assert isinstance(tie, Tied) and tie.closed is not None
    way = differences(tie.joints, np.tile(tie.closed, (count, 1)), _random_full(lowered, group, rng, count))
    way = way / tie.units.steps
    spread = 0.86**attempt  # nearer and nearer to a configuration that is closed
    length = spread * np.sqrt(rng.random(count)) * np.linalg.norm(way, axis=-1)
    return travel(tie, tie.closed, way, length)


def _elsewhere(lowered: Lowered, group: Group, rng: np.random.Generator, count: int, attempt: int) -> Trial:
    """Closed configurations near random ones, in any assembly: for a robot that is built outside of its limits."""
    tie = group.embedding
    assert isinstance(tie, Tied)
    full, gap = close(tie, _random_full(lowered, group, rng, count))
    return full, gap < CLOSED


def _brought(lowered: Lowered, group: Group, ends: np.ndarray, closed: np.ndarray) -> Trial:
    """Closed configurations brought into the limits, and which are there, away from toggle positions."""
    tie = group.embedding
    assert isinstance(tie, Tied)
    outside = np.flatnonzero(closed & ~_within_limits(lowered, group, ends))
    if outside.size:
        ends[outside], closed[outside] = brought_within(tie, ends[outside], *_limits(lowered, group))
    return ends, closed & _within_limits(lowered, group, ends) & _is_held(tie, ends)


def group_random(lowered: Lowered, group: Group, rng: np.random.Generator, size: tuple[int, ...]) -> np.ndarray:
    """Random coordinates (*size, nq of the group), with loops closed in the assembly in which the robot is built.

    Where that is outside of the limits, and no way leads into them, another assembly is within.
    """
    tie = group.embedding
    if not isinstance(tie, Tied):
        c = lowered.moving[group.links[0]]
        return c.joint.random(rng, np.array(c.lower), np.array(c.upper), size)
    count = int(np.prod(size, dtype=int))
    found = _random_full(lowered, group, rng, count)
    if tie.explicit:
        return _state(group, found).reshape(*size, tie.nq)
    assert tie.closed is not None
    left, at_home = np.arange(count), bool(_within_limits(lowered, group, tie.closed))
    for attempt in range(100):
        if not left.size:
            return found.reshape(*size, tie.nq)
        trial = _travelled if at_home or attempt < _AT_HOME else _elsewhere
        ends, sound = _brought(lowered, group, *trial(lowered, group, rng, len(left), attempt))
        found[left[sound]], left = ends[sound], left[~sound]
    names = ", ".join(map(repr, group.loops))
    raise AssemblyError(f"no closed configuration of loops {names} within the limits was found by random trials")


def group_anywhere(lowered: Lowered, group: Group, rng: np.random.Generator) -> np.ndarray:
    """One set of coordinates of a group with closed loops, away from toggle positions, whatever the limits are.

    Loops of a file may be closed outside the limits of its joints: such a robot has dynamics too.
    """
    tie = group.embedding
    if not isinstance(tie, Tied) or tie.explicit:
        return group_random(lowered, group, rng, ())
    assert tie.closed is not None
    spread = np.array([[0.5], [0.25], [0.1], [0.05], [0.02]])
    near = tie.closed + spread * (_random_full(lowered, group, rng, len(spread)) - tie.closed)
    full, gap = close(tie, near)
    sound = full[(gap < CLOSED) & _is_held(tie, full)]
    return sound[0] if len(sound) else tie.closed


def choose_independent(mechanism: Mechanism, clusters: Sequence[ClusterInfo], joints: Sequence[Any]) -> Mechanism:
    """The mechanism with the named joints as the independent ones of their clusters."""
    listed = joints[0] if len(joints) == 1 and isinstance(joints[0], list | dict) else joints
    pairs = read_independent("independent", listed)
    tied = {joint: n for n, cluster in enumerate(clusters) if cluster.loops for joint in cluster.joints}
    owners = {name: joint_of(name, tied) for name, _ in pairs}
    alone = {joint: 0 for cluster in clusters if not cluster.loops for joint in cluster.joints}
    for name, scale in pairs:
        if owners[name] is None and (joint_of(name, alone) is None or scale != 1.0):
            raise unknown("joint in a loop", name, tied)  # those outside of loops are independent anyway
    own = {name: tied[joint] for name, joint in owners.items() if joint is not None}
    changed = set(own.values())
    first = {clusters[n].loops[0]: tuple(p for p in pairs if own.get(p[0]) == n) for n in changed}
    cleared = {name for n in changed for name in clusters[n].loops}
    loops = tuple(
        replace(loop, independent=first.get(loop.name, ())) if loop.name in cleared else loop
        for loop in mechanism.loops
    )
    return replace(mechanism, loops=loops)
