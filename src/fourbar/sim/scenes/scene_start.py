"""The start of a scene: where its robot stands, keyframes of its file, warnings about the selection of its shapes, and
how far velocities may move what touches.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...arrays import to_count
from ...contact.candidates import Candidate
from ...contact.laws import Law
from ...contact.nearest_candidates import Skipped, find_touches
from ...contact.selection import ENOUGH, ContactSelection
from ...contact.shapes import Shape
from ...contact.terrain import Terrain
from ...edit.coordinates import gather_velocity
from ...errors import ArgumentError, AssemblyError, warn
from ...joints import Free
from ...spatial.linear import Vec
from ...spatial.transform import IDENTITY, Transform
from ...system.inspection import ByName
from ...system.system import System
from ...tolerances import WRITTEN
from ...tree.closed_positions import turning_velocities
from ...tree.cluster_tree import GROUND
from ..motions.outcome import SimulationWarning

_HOMES = ("home", "standing", "stand", "default")  # names of configurations in which robots start
_SHOWN = 6  # names in a message
_LIFTS = 4  # steps until a shape touches terrain that is curved
_STEEPEST = 0.2  # of the normal against gravity


def added_shapes(contacts: Any) -> tuple[Shape, ...]:
    """The shapes that a scene gives to its robot, to be shown with it."""
    return tuple(x for x in contacts if isinstance(x, Shape)) if isinstance(contacts, Sequence) else ()


def home(robot: System) -> np.ndarray:
    """Where a robot starts: its configuration "home" (or one of a like name), else its first, else the neutral one with
    joints that are beyond their limits there at these.

    Loops are closed near it, or somewhere else if that fails.
    """
    known = robot.configurations
    name = next((x for x in _HOMES if x in known), next(iter(known), None))
    limits = robot.limits
    q = np.clip(robot.model.neutral(), limits.lower, limits.upper) if name is None else np.array(known[name])
    if float(robot.loop_gap(q)) < WRITTEN:
        return q
    try:
        return np.asarray(robot.assemble(q))
    except AssemblyError:
        return robot.random(0)


def home_poses(robot: System) -> dict[int, Transform]:
    """The poses of all links that carry bodies, at the start."""
    return poses_at(robot, home(robot))


def poses_at(robot: System, q: np.ndarray) -> dict[int, Transform]:
    """The poses of all links that carry bodies."""
    poses: dict[int, Transform] = {}
    tree = robot.model.cluster_tree
    for name, T in zip(robot.names.bodies, np.asarray(robot.poses(q)), strict=True):
        link, pose = tree.bodies[name]
        if link != GROUND and link not in poses:
            own = Transform.of(T[:3, :3].tolist(), Vec(T[:3, 3].tolist()))
            poses[link] = own.then(pose.inverse())
    return poses


def read_points(mesh_points: Any) -> int:
    """The number of corners of a hull."""
    if (count := to_count(mesh_points, 4)) is None:
        raise ArgumentError(f"mesh_points={mesh_points!r}: expected a whole number of points, at least 4")
    return count


def warn_of_selection(found: ContactSelection, unkept: Sequence[str], unkept_by_law: str) -> None:
    """Warn of shapes and limits of the model that are left out or approximated, and of numbers that the law ignores."""
    if unkept_by_law:
        warn(f"Scene: {unkept_by_law}", SimulationWarning)
    if found.left:
        left = [x if n == 1 else f"{x} ({n} of them)" for x, n in Counter(found.left).items()]
        warn(f"Scene: these contacts are not simulated: {_list_names(left, '; ')}. Put simple shapes in their place: "
             "contacts=[fb.contact.Shape(...), ...]", SimulationWarning)  # fmt: skip
    if found.skipped and found.skipped.pairs:
        warn(_reasons_of_skipping(found.skipped), SimulationWarning)
    if found.beyond:
        count = len(found.beyond)
        worst = max(found.beyond, key=lambda name: found.beyond[name])
        warn(f"Scene: {count} mesh{'es touch' if count > 1 else ' touches'} with a few corners of the convex hull, "
             f"which the mesh exceeds by up to {1e3 * found.beyond[worst]:.3g} mm ({worst!r}); increase "
             "mesh_points= for a closer fit", SimulationWarning)  # fmt: skip
    if unkept:
        names = _list_names([repr(x) for x in unkept], ", ")
        warn(f"Scene: the limits of {names} are not enforced: their coordinates are not the integrals of their "
             "velocities", SimulationWarning)  # fmt: skip


def _reasons_of_skipping(skipped: Skipped) -> str:
    """The message about pairs that are left out."""
    return (
        f"Scene: pairs of shapes may touch at {skipped.total} points; without contacts= at most {ENOUGH} are "
        "simulated, those that are nearest at the start, pairs at equal distance together where there is room. "
        f"Pairs of shapes that pass through each other: {_list_names(skipped.pairs, ', ')}. Name the bodies that "
        "should touch in contacts=[...]: then all their points are simulated"
    )


def _list_names(names: Sequence[str], between: str) -> str:
    return between.join(names[:_SHOWN]) + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")


def free_roots(robot: System) -> list[int]:
    """The links on the ground that move freely, and are in no loop."""
    tree = robot.model.cluster_tree
    alone = {link for cluster in tree.clusters if cluster.is_free for link in cluster.links}
    return [
        i for i, c in enumerate(tree.moving)
        if isinstance(c.joint, Free) and i in alone and tree.spanning_tree.parents[i] == GROUND
    ]  # fmt: skip


def lift(robot: System, candidates: Sequence[Candidate], q: np.ndarray) -> np.ndarray:
    """q with freely moving roots lifted, or lowered, along gravity until the lowest of their shapes touches."""
    q = np.array(q, float)
    g = np.array(robot.mechanism.gravity, float)
    up = -g / np.linalg.norm(g) if g.any() else np.array([0.0, 0.0, 1.0])
    tree = robot.model.cluster_tree
    for root in free_roots(robot):
        c = tree.moving[root]
        touching = [x for x in candidates if x.links[1] == GROUND and tree.spanning_tree.roots[x.links[0]] == root]
        places = [robot.names.coordinates.index(f"{c.name}.{x}") for x in "xyz"]
        turned = np.array(c.placement.rotation, float)
        for _ in range(_LIFTS if touching else 0):
            poses = poses_at(robot, q)
            found = find_touches(touching, {GROUND: IDENTITY, **poses})
            lowest = min(found, key=lambda touch: float(touch.gap))
            steep = max(float(np.dot([float(x) for x in lowest.normal], up)), _STEEPEST)
            q[places] += turned.T @ up * (-float(lowest.gap) / steep)
    return q


def check_parts(robot: Any, terrains: Iterable[Any], law: Any) -> None:
    """A scene is made of a robot, terrain and a law."""
    if not isinstance(robot, System):
        raise ArgumentError(f"Scene takes a robot, such as fb.load(...) returns, and terrains; got {robot!r}")
    for x in terrains:
        if not isinstance(x, Terrain):
            raise ArgumentError(
                f"Scene: expected a Plane, HeightField or SignedDistance, or a Solid, after the robot, got {x!r}"
            )
    if not isinstance(law, Law):
        raise ArgumentError(f"law={law!r}: expected fb.contact.Rigid(), Compliant(...) or MuJoCo(...)")


_LONGEST = 20.0  # times what shapes reach from the origins of their bodies
_WIDEST = 1.0  # rad


def largest_moves(robot: System, candidates: Sequence[Candidate], reach: float) -> np.ndarray:
    """Largest displacements (nv) in a step (m, rad) of velocities that move contacts; infinite for all others."""
    tree = robot.model.cluster_tree
    carriers = {link for x in candidates for link in x.links if link != GROUND}
    for link in tuple(carriers):
        above = tree.spanning_tree.parents[link]
        while above != GROUND:
            carriers.add(above)
            above = tree.spanning_tree.parents[above]
    carry = [not carriers.isdisjoint(cluster.links) for cluster in tree.clusters for _ in range(cluster.embedding.nv)]
    far = _LONGEST * reach if reach > 0.0 else np.inf
    return np.where(carry, np.where(turning_velocities(tree), _WIDEST, far), np.inf)


@dataclass(frozen=True, eq=False)
class Keyframe:
    """A state that a file names. Where an array is expected it is its configuration q.

    Parameters
    ----------
    q : ndarray, shape (nq,)
        Configuration, with its loops closed.
    v : ndarray, shape (nv,)
        Velocity (rad/s, m/s); zero where the file has none.
    u : ndarray, shape (nu,)
        Controls of the actuators; zero where the file has none.
    act : ndarray, shape (na,)
        State of the actuators (`System.names.activations`); zero where the file has none.

    Examples
    --------
    >>> import fourbar as fb
    >>> b = fb.Builder("ball")
    >>> _ = b.body("ball", joint=fb.joints.Prismatic("z"), mass=1.0, inertia=(0.004, 0.004, 0.004))
    >>> _ = b.configuration("thrown", {"ball": 0.5}, velocities={"ball": 2.0})
    >>> scene = fb.Scene(b.build(), fb.Plane(), contacts=[fb.contact.Shape("ball", "sphere", 0.1)])
    >>> thrown = scene.keyframes["thrown"]
    >>> thrown.q.tolist(), thrown.v.tolist(), thrown.u.tolist()
    ([0.5], [2.0], [])
    """

    q: np.ndarray
    v: np.ndarray
    u: np.ndarray
    act: np.ndarray

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """The configuration."""
        return np.array(self.q, dtype, copy=copy)

    def __len__(self) -> int:
        """Number of coordinates."""
        return len(self.q)

    def __iter__(self) -> Iterator[float]:
        """The coordinates."""
        return iter(self.q)

    def __getitem__(self, which: Any) -> Any:
        """Entries of the configuration."""
        return self.q[which]


def keyframes_of(robot: System) -> Mapping[str, Keyframe]:
    """The named configurations of a robot, with independent velocities, controls and activations."""
    keyframes, tree = {}, robot.model.cluster_tree
    for named in robot.mechanism.configurations:
        v, u = dict(named.velocities), dict(named.controls)
        v_all = np.concatenate([np.zeros(0), *(v.get(c.name, np.zeros(c.joint.nv)) for c in tree.moving)])
        controls = np.array([u.get(name, 0.0) for name in robot.names.actuators])
        known = dict(named.activations)
        act = np.array([known.get(name, 0.0) for name in robot.names.activations])
        state = robot.configurations[named.name], gather_velocity(tree, v_all), controls, act
        for array in state:
            array.setflags(write=False)
        keyframes[named.name] = Keyframe(*state)
    return ByName("configuration", keyframes)
