"""A mechanism as sticks: which points of its bodies they join. Pictures and the viewer draw the same ones.

Colours of bodies and clusters (red, green, blue from 0 to 1) are also the same in pages, pictures and graphs.
"""

from __future__ import annotations

import colorsys
from collections.abc import Iterator

import numpy as np

from ..joints.base import Joint, subspace_matrix
from .mechanism import WORLD, Mechanism, PlacedJoint

Shade = tuple[float, float, float]
# Colours that people who confuse red and green can distinguish too; the last is a grey.
PALETTE: tuple[Shade, ...] = tuple(
    (r / 255, g / 255, b / 255)
    for r, g, b in ((52, 106, 178), (224, 130, 42), (62, 148, 92), (160, 90, 164), (198, 78, 82), (70, 150, 160),
                    (150, 120, 70), (110, 110, 120))
)  # fmt: skip
_GOLDEN = 0.381966  # of the circle of hues, from one colour to the next where the palette ends


def cluster_colour(k: int) -> Shade:
    """The colour of the k-th cluster that loops tie."""
    if k < len(PALETTE) - 1:
        return PALETTE[k]
    return colorsys.hsv_to_rgb((0.1 + _GOLDEN * k) % 1.0, 0.55, 0.75)


def hexadecimal(colour: Shade, white: float = 0.0) -> str:
    """The colour as #rrggbb, mixed with a part of white."""
    return "#" + "".join(f"{round(255.0 * (x + white * (1.0 - x))):02x}" for x in colour)


def held_points(m: Mechanism) -> Iterator[list[tuple[str, np.ndarray]]]:
    """For each joint and rod that closes a loop the two bodies that it holds, and where, in the bodies' frames."""
    for named in m.loops:
        if named.loop.attachments:
            yield [(body, np.array(point, float)) for body, point in named.loop.attachments]


def tip(m: Mechanism) -> tuple[str, str, np.ndarray]:
    """The tip whose path is drawn: a name, a body and a point of it.

    It is at the far end of the longest chain, of the last one if several are as long: the last frame there, else the
    body there that is fixed farthest away, else the centre of mass of the last link, whose origin may lie on a hinge.
    """
    ends = _far_ends(m)
    if not ends:
        body = m.bodies[-1]
        return body.name, body.name, np.array(body.com, float)
    depth: dict[str, int] = {WORLD: 0}
    for c in m.joints:
        depth[c.child] = depth[c.parent] + (c.joint.nv > 0)
    order = {c.child: k for k, c in enumerate(m.joints)}
    framed = {end for end, fixed in ends.items() if any(frame.body in fixed for frame in m.frames)}
    end = max(framed or ends, key=lambda body: (depth[body], order[body]))
    frames = [frame for frame in m.frames if frame.body in ends[end]]
    if frames:
        return frames[-1].name, frames[-1].body, np.array(frames[-1].placement.position, float)
    far = _farthest(ends[end])
    return far, far, np.zeros(3) if np.any(ends[end][far]) else _com(m, far)


def _farthest(fixed: dict[str, np.ndarray]) -> str:
    return max(fixed, key=lambda body: float(np.linalg.norm(fixed[body])))


def _com(m: Mechanism, name: str) -> np.ndarray:
    return next(np.array(body.com, float) for body in m.bodies if body.name == name)


def guided_joints(m: Mechanism) -> list[PlacedJoint]:
    """The joints that take bodies away from the places where they are mounted; what moves over a plane or freely in
    the world is mounted nowhere."""

    def ways(joint: Joint) -> int:
        return int(np.any(subspace_matrix(joint, joint.neutral())[3:], axis=0).sum())

    return [c for c in m.joints if ways(c.joint) == 1 or (ways(c.joint) and c.parent != WORLD)]


def stick_ends(m: Mechanism) -> dict[str, list[np.ndarray]]:
    """For each body the points, in its frame, to which sticks lead from its origin.

    They are where joints are mounted that carry what moves, where loops hold, and frames at the far ends. What is fixed
    to a body that carries others, such as sensors, has none. Of a far end that has nothing else it is the centre of
    mass.
    """
    ends = _far_ends(m)
    shown = _shown_bodies(m, ends)
    points: dict[str, list[np.ndarray]] = {body.name: [] for body in m.bodies}
    for c in m.joints:
        if c.parent != WORLD and c.child in shown:
            points[c.parent].append(np.array(c.placement.position, float))
    for body, point in (place for held in held_points(m) for place in held):
        if body != WORLD:
            points[body].append(point)
    far = {body for fixed in ends.values() for body in fixed} & shown
    for frame in m.frames:
        if frame.body in far:
            points[frame.body].append(np.array(frame.placement.position, float))
    for end, fixed in ends.items():
        if not any(np.any(point) for body in fixed for point in points[body]):
            points[end].append(_com(m, end))
    return points


def _far_ends(m: Mechanism) -> dict[str, dict[str, np.ndarray]]:
    """The bodies that move and carry none that does, each with all that is fixed to it, and where in its frame."""
    link: dict[str, str] = {WORLD: WORLD}
    pose: dict[str, tuple[np.ndarray, np.ndarray]] = {WORLD: (np.eye(3), np.zeros(3))}
    for c in m.joints:  # parents come first
        link[c.child] = c.child if c.joint.nv else link[c.parent]
        R, p = pose[c.parent]
        there = R @ np.array(c.placement.rotation, float), p + R @ np.array(c.placement.position, float)
        pose[c.child] = (np.eye(3), np.zeros(3)) if c.joint.nv else there
    ends = {link[c.child] for c in m.joints} - {link[c.parent] for c in m.joints if c.joint.nv} - {WORLD}
    return {end: {body: pose[body][1] for body, own in link.items() if own == end} for end in sorted(ends)}


def _shown_bodies(m: Mechanism, ends: dict[str, dict[str, np.ndarray]]) -> set[str]:
    """The bodies to which sticks lead: those that move in their parents, what lies between, and the far ends."""
    above = {c.child: c.parent for c in m.joints}
    wanted = [c.child for c in m.joints if c.joint.nv]
    wanted += [_farthest(fixed) for fixed in ends.values()]
    wanted += [tip(m)[1]] if ends else []
    shown: set[str] = set()
    for body in wanted:
        while body != WORLD and body not in shown:
            shown.add(body)
            body = above[body]
    return shown
