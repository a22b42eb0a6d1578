"""Reading the options of methods (frames, points, axes, joints) by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ..errors import ArgumentError, UnknownNameError, unknown
from ..mechanism.inertial_parameters import RIGID, read_columns
from ..tree.assembly import independent_joints
from ..tree.cluster_tree import ClusterTree, Location


def read_frame(cluster_tree: ClusterTree, name: Any) -> Location:
    """A frame or body by name."""
    found = cluster_tree.frames.get(name) or cluster_tree.bodies.get(name) if isinstance(name, str) else None
    if found is None:
        raise unknown("frame or body", name, [*cluster_tree.frames, *cluster_tree.bodies])
    return found


def _read_point(at: Any) -> tuple[float, float, float] | str:
    from ..algorithms.kinematics import WORLD_POINT

    if isinstance(at, str):
        if at == "origin":
            return (0.0, 0.0, 0.0)
        if at == "world":
            return WORLD_POINT
        raise ArgumentError(f"at={at!r}: expected 'origin', 'world', or a point (x, y, z) fixed in the frame")
    try:
        point = np.asarray(at, float)
    except (TypeError, ValueError):
        point = np.full(3, np.nan)
    if point.shape != (3,) or not np.all(np.isfinite(point)):
        raise ArgumentError(f"at={at!r}: a point is three finite numbers")
    x, y, z = point.tolist()
    return (x, y, z)


def _pose(cluster_tree: ClusterTree, frame: Any) -> dict[str, Any]:
    return {"frame": read_frame(cluster_tree, frame)}


def _reported(cluster_tree: ClusterTree, frame: Any, at: Any = "origin", expressed_in: Any = "world") -> dict[str, Any]:
    from ..algorithms.kinematics import Reported

    home = read_frame(cluster_tree, frame)
    axes = (
        None if expressed_in == "world" else home if expressed_in == "frame" else _read_axes(cluster_tree, expressed_in)
    )
    return {"frame": Reported(home, _read_point(at), axes)}


def _read_axes(cluster_tree: ClusterTree, expressed_in: Any) -> Location:
    """The frame whose axes a result is expressed in."""
    try:
        return read_frame(cluster_tree, expressed_in)
    except UnknownNameError as error:
        raise UnknownNameError(
            f"expressed_in={expressed_in!r}: expected 'world', 'frame' (the axes of the frame itself), or the name of "
            f"another frame or body; {error}"
        ) from None


def read_prescribed(cluster_tree: ClusterTree, prescribed: Iterable[str]) -> dict[str, Any]:
    """Which independent velocities are prescribed, by cluster, from the names of their joints."""
    if isinstance(prescribed, str) or not isinstance(prescribed, Iterable):
        example = prescribed if isinstance(prescribed, str) else "hip"
        raise ArgumentError(f"prescribed={prescribed!r}: expected a list of joint names, e.g. [{example!r}]")
    names = list(prescribed)
    by_cluster = [independent_joints(cluster_tree, cluster) for cluster in cluster_tree.clusters]
    known = list(dict.fromkeys(name for own in by_cluster for name in own))
    for name in names:
        if name not in known:
            raise unknown("independent moving joint", name, known)
    return {"prescribed": tuple(tuple(joint in names for joint in own) for own in by_cluster)}


def _about(cluster_tree: ClusterTree, about: str = "com") -> dict[str, Any]:
    from ..algorithms.energy import COM, WORLD

    if about not in (COM, WORLD):
        raise ArgumentError(f"about={about!r}: expected {COM!r} or {WORLD!r}")
    return {"about": about}


def _ends(cluster_tree: ClusterTree, frames: Any = (), points: Any = (), expressed_in: str = "world") -> dict[str, Any]:
    if any(isinstance(x, str) or not hasattr(x, "__iter__") for x in (frames, points)):
        raise ArgumentError(f"frames={frames!r}, points={points!r}: expected lists of names, e.g. ['hand']")
    if expressed_in not in ("world", "frame"):
        raise ArgumentError(f"expressed_in={expressed_in!r}: expected 'world' or 'frame'")
    ends = [(read_frame(cluster_tree, x), False) for x in frames] + [
        (read_frame(cluster_tree, x), True) for x in points
    ]
    if not ends:
        raise ArgumentError("give at least one name in frames= or points=")
    return {"ends": tuple(ends), "in_world": expressed_in == "world"}


def _columns(cluster_tree: ClusterTree, columns: Any = RIGID, packed: bool = False) -> dict[str, Any]:
    if not isinstance(packed, bool):
        raise ArgumentError(f"packed={packed!r}: expected True or False")
    return {"columns": read_columns(columns), "packed": packed}


def _kinds(cluster_tree: ClusterTree, columns: Any = RIGID) -> dict[str, Any]:
    return {"columns": read_columns(columns)}


READERS: dict[tuple[str, ...], Callable[..., dict[str, Any]]] = {
    (): lambda cluster_tree: {},
    ("frame",): _pose,
    ("frame", "at", "expressed_in"): _reported,
    ("prescribed",): read_prescribed,
    ("about",): _about,
    ("frames", "points", "expressed_in"): _ends,
    ("columns", "packed"): _columns,
    ("columns",): _kinds,
}
