"""Frame semantics: where every frame is, and to which link it belongs; and constant poses as SDF writes them.

A pose is given relative to the frame that `relative_to` names; by default to the model, for a joint to its child, for a
frame to its attachment. Poses depend on each other in any order, chains may be long, and cycles are refused.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import NamedTuple, TypeVar

import numpy as np

from ..element import Element
from .scope import NamedFrame, Scope


class Pose(NamedTuple):
    """R and p of a frame in another."""

    R: np.ndarray
    p: np.ndarray

    def then(self, inner: Pose) -> Pose:
        """The pose of a frame placed by `inner` in this one."""
        return Pose(self.R @ inner.R, self.R @ inner.p + self.p)

    def inverse(self) -> Pose:
        """The outer frame in this one."""
        return Pose(self.R.T, -self.R.T @ self.p)


IDENTITY = Pose(np.eye(3), np.zeros(3))


def _turn(axis: int, angle: float) -> np.ndarray:
    c, s = np.cos(angle), np.sin(angle)
    i, j = (axis + 1) % 3, (axis + 2) % 3
    R = np.eye(3)
    R[i, i], R[i, j], R[j, i], R[j, j] = c, -s, s, c
    return R


def _from_quaternion(x: float, y: float, z: float, w: float) -> np.ndarray:
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def read_pose(element: Element | None) -> Pose:
    """The pose in a <pose> element: x y z roll pitch yaw, with degrees="true", or with a quaternion; else none."""
    if element is None:
        return IDENTITY
    if element.get("frame"):
        element.fail("the attribute frame exists only in SDF up to 1.6", "write relative_to")
    text, form = element.words(), element.get("rotation_format") or "euler_rpy"
    degrees = element.flag("degrees", False)
    if not text:
        return IDENTITY
    if form == "quat_xyzw":
        x, y, z, *q = element.text_numbers(7)
        length = float(np.linalg.norm(q))
        if degrees or abs(length - 1.0) > 1e-6:
            element.fail(f"the quaternion (x, y, z, w) = {q} has length {length:.9g}, expected 1")
        return Pose(_from_quaternion(*(np.array(q) / length)), np.array([x, y, z]))
    if form != "euler_rpy":
        element.fail(f"rotation_format={form[:60]!r}: expected euler_rpy or quat_xyzw")
    x, y, z, *rpy = element.text_numbers(6)
    roll, pitch, yaw = np.deg2rad(rpy) if degrees else rpy
    return Pose(_turn(2, yaw) @ _turn(1, pitch) @ _turn(0, roll), np.array([x, y, z]))


WORLD = "world"
T = TypeVar("T")


class Resolver:
    """Answers where frames are, in their model and in the world, and which link carries them."""

    def __init__(self) -> None:
        self._in_model: dict[NamedFrame, Pose] = {}
        self._link: dict[NamedFrame, NamedFrame] = {}

    def in_world(self, item: NamedFrame) -> Pose:
        """The pose of an item's frame in the world."""
        return self.scope_pose(item.scope).then(self.in_model(item))

    def scope_pose(self, scope: Scope) -> Pose:
        """The pose of a model's frame in the world."""
        poses = []
        while scope.model is not None:
            poses.append(self.in_model(scope.model))
            scope = scope.model.scope
        return reduce(Pose.then, reversed(poses), IDENTITY)

    def in_model(self, item: NamedFrame) -> Pose:
        """The pose of an item's frame in the model that contains it."""
        return _in_order(item, self._in_model, self._bases, self._pose_of_item, "the poses of frames")

    def pose_of(self, scope: Scope, name: str, by: Element) -> Pose:
        """The pose of a named frame in the frame of its scope."""
        return self._along(scope.find(name, by))

    def _along(self, chain: list[NamedFrame]) -> Pose:
        return reduce(Pose.then, [self.in_model(step) for step in chain], IDENTITY)

    def _way(self, item: NamedFrame) -> list[NamedFrame]:
        """The frame that an item's pose is relative to, as a path of frames to multiply."""
        pose = item.element.child("pose")
        asked = pose.get("relative_to") if pose is not None else None
        if pose is not None and asked:
            return [] if item.scope.model is None and asked == WORLD else item.scope.find(asked, pose)
        if item.kind == "joint":
            child = joint_end(item.element, "child")
            if child.words() == WORLD:
                child.fail("the world cannot be the child of a joint", "exchange <parent> and <child>")
            return item.scope.find(child.words(), child)
        if item.kind == "frame" and item.element.get("attached_to"):
            return self._attachment(item)
        return []

    def _attachment(self, item: NamedFrame) -> list[NamedFrame]:
        name = item.element.get("attached_to") or ""
        return [] if name == WORLD and item.scope.model is None else item.scope.find(name, item.element)

    def _placement(self, item: NamedFrame) -> list[NamedFrame]:
        """The frame inside a model that its pose places, as a path from inside."""
        name = item.element.get("placement_frame") if item.kind == "model" else None
        return item.scope.inner[item.name].find(name, item.element) if name else []

    def _bases(self, item: NamedFrame) -> list[NamedFrame]:
        return [*self._way(item), *self._placement(item)]

    def _pose_of_item(self, item: NamedFrame) -> Pose:
        raw = read_pose(item.element.child("pose"))
        return self._along(self._way(item)).then(raw).then(self._along(self._placement(item)).inverse())

    # --- links --------------------------------------------------------------------------------------------------------

    def link(self, scope: Scope, name: str, by: Element) -> NamedFrame | None:
        """The link that a named frame belongs to; None for the world."""
        if name == WORLD:
            return None
        chain = scope.find(name, by)
        if not chain:
            return self.canonical(scope, by)
        return _in_order(chain[-1], self._link, self._carriers, self._carrier, "the attachments of frames")

    def canonical(self, scope: Scope, by: Element) -> NamedFrame:
        """The link that a model's frame belongs to."""
        found = self.declared_link(scope) or _first_link(scope)
        if found is None:
            by.fail("the model has no link that its frame could belong to")
        return found

    def declared_link(self, scope: Scope) -> NamedFrame | None:
        """The link that a model names as canonical, if it does."""
        asked = scope.element.get("canonical_link")
        if not asked:
            return None
        chain = scope.find(asked, scope.element)
        if not chain or chain[-1].kind != "link":
            scope.element.fail(f"canonical_link={asked[:200]!r} is not a link", "name a link of the model")
        return chain[-1]

    def _carriers(self, item: NamedFrame) -> list[NamedFrame]:
        if item.kind == "link":
            return []
        if item.kind == "joint":
            child = joint_end(item.element, "child")
            return item.scope.find(child.words(), child)[-1:]
        if item.kind == "model":
            return [self.canonical(item.scope.inner[item.name], item.element)]
        chain = self._attachment(item) if item.element.get("attached_to") else []
        return chain[-1:] or [self.canonical(item.scope, item.element)]

    def _carrier(self, item: NamedFrame) -> NamedFrame:
        return item if item.kind == "link" else self._link[self._carriers(item)[0]]


def joint_end(joint: Element, side: str) -> Element:
    """The <parent> or <child> of a joint, which Drake's own joints write with a prefix."""
    return joint.require_child(f"drake:{side}" if joint.tag.startswith("drake:") else side)


def _first_link(scope: Scope) -> NamedFrame | None:
    """The first link of a model, else that of the first model inside it that has one."""
    links = scope.of("link")
    if links:
        return links[0]
    return next((link for inner in scope.inner.values() if (link := _first_link(inner)) is not None), None)


def _in_order(
    item: NamedFrame,
    known: dict[NamedFrame, T],
    needs: Callable[[NamedFrame], list[NamedFrame]],
    make: Callable[[NamedFrame], T],
    what: str,
) -> T:
    """The value of an item, after those of all that it needs; `known` caches them."""
    stack, waiting = [item], {}
    while stack:
        top = stack[-1]
        if top in known:
            stack.pop()
            continue
        if top in waiting:
            known[top] = make(top)
            stack.pop()
            continue
        waiting[top] = True
        for need in needs(top):
            if need in waiting and need not in known:
                circle = " -> ".join(i.full for i in [*stack[stack.index(need) :], need])
                top.element.fail(f"{what} refer to each other in a cycle: {circle[:300]}")
            if need not in known:
                stack.append(need)
    return known[item]
