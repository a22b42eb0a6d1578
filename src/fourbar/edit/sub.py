"""A part of a mechanism as a separate mechanism."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from ..errors import ModelError, unknown
from ..joints.base import Joint
from ..mechanism import actuators, armature_blocks
from ..mechanism.builder import MechanismBuilder
from ..mechanism.mechanism import WORLD, Mechanism, NamedLoop
from .join import locate
from .rename import check, kept_coordinates


class _BodyChildren:
    """The children of each body."""

    def __init__(self, mechanism: Mechanism) -> None:
        self.parent = {c.child: c.parent for c in mechanism.joints}
        self.child_of_joint = {c.name: c.child for c in mechanism.joints}
        self.order = [b.name for b in mechanism.bodies]
        self.parent_first = mechanism.joints

    def descendants(self, tops: set[str]) -> set[str]:
        """The given bodies and all their descendants."""
        below = set(tops)
        for c in self.parent_first:
            if c.parent in below:
                below.add(c.child)
        return below

    def up_to(self, body: str, ground: str) -> list[str] | None:
        """The bodies from one down to `ground`, exclusive; None if `ground` is not an ancestor."""
        path = []
        while body not in (ground, WORLD):
            path.append(body)
            body = self.parent[body]
        return path if body == ground else None

    def of_loop(self, loop: NamedLoop) -> list[str]:
        """The bodies that a loop refers to, and those on the joints that it refers to."""
        return [*loop.loop.bodies, *(self.child_of_joint[j] for j in loop.loop.joints)]


def _with_loops(
    bodies: _BodyChildren, loops: Sequence[NamedLoop], remaining: set[str], ground: str, everything: bool
) -> set[str]:
    """The bodies with all that loops connect to them, and (everything) their descendants; `ground` does not move."""
    grown = True
    while grown:
        grown = False
        for loop in loops:
            named = bodies.of_loop(loop)
            if not remaining.intersection(named):
                continue
            paths = [(name, bodies.up_to(name, ground)) for name in named]
            for name, path in paths:
                if path is None:
                    raise ModelError(
                        f"loop {loop.name!r} connects the part to {name!r}, which is not carried by {ground!r}; start "
                        "nearer to the ground, so that the part contains the whole loop"
                    )
            tied = {body for _, path in paths for body in path or ()}
            tied = bodies.descendants(tied) if everything else tied
            if not tied <= remaining:
                remaining, grown = remaining | tied, True
    return remaining


def sub(
    mechanism: Mechanism,
    body: str | None = None,
    to: Iterable[str] = (),
    joint: Joint | None = None,
    name: str | None = None,
) -> Mechanism:
    """The body and its descendants, or only what is needed to reach the frames (or bodies) `to`.

    The body's parent becomes the world; shapes of the world stay only if that parent is the world itself. Whatever
    loops connect to the part belongs to it. `joint` replaces the joint
    that carries the body, at the origin of the world.
    """
    bodies = _BodyChildren(mechanism)
    if body is not None and body not in bodies.parent:
        raise unknown("body", body, bodies.order)
    if isinstance(to, str):
        raise ModelError(f"to={to!r}: expected a list of frames or bodies, such as [{to!r}]")
    ground = WORLD if body is None else bodies.parent[body]
    ends = [locate(mechanism, frame)[0] for frame in to]
    remaining = bodies.descendants({body} if body is not None else set(bodies.order))
    if ends:
        for frame, end in zip(to, ends, strict=True):
            if end not in remaining:
                raise ModelError(f"to: {frame!r} is not carried by {body!r}; name frames or bodies beyond it")
        remaining = {x for end in ends for x in bodies.up_to(end, ground) or ()}
    remaining = _with_loops(bodies, mechanism.loops, remaining, ground, everything=not ends)
    part = _cut(mechanism, bodies, remaining, ground)
    return check(replace(part if joint is None else _hung(part, body, joint), name=name or mechanism.name))


def _cut(mechanism: Mechanism, bodies: _BodyChildren, remaining: set[str], ground: str) -> Mechanism:
    """Only the kept bodies, with `ground` as their world."""
    pairs = zip(mechanism.bodies, mechanism.joints, strict=True)
    left = [(b, replace(c, parent=WORLD if c.parent == ground else c.parent)) for b, c in pairs if b.name in remaining]
    if not left:
        raise ModelError("the part contains no bodies")
    places = remaining | {ground}
    frames = [f for f in mechanism.frames if f.body in places]
    loops = [x for x in mechanism.loops if remaining.intersection(bodies.of_loop(x))]
    world = {ground: WORLD}
    joints = {c.name for _, c in left}
    acting = actuators.of_joints(mechanism.actuators, joints)
    return replace(
        mechanism,
        bodies=tuple(b for b, _ in left),
        joints=tuple(c for _, c in left),
        frames=tuple(replace(f, body=world.get(f.body, f.body)) for f in frames),
        loops=tuple(replace(x, loop=x.loop.renamed({}, world)) for x in loops),
        configurations=kept_coordinates(mechanism, joints, acting),
        armatures=armature_blocks.among(mechanism.armatures, joints, {c.name: c.joint for c in mechanism.joints}),
        actuators=acting,
        world=mechanism.world if ground == WORLD else (),
        contacts=mechanism.contacts.among(places if ground == WORLD else remaining),
    )


def _hung(part: Mechanism, body: str | None, joint: Joint) -> Mechanism:
    """The part with another joint between its first body and the world."""
    old = next((c for c in part.joints if c.child == body), None)
    if old is None:
        raise ModelError("joint= replaces the joint of the first body of the part; name that body")
    looking = next((x.name for x in part.loops if old.name in x.loop.joints), None)
    if looking is not None:
        raise ModelError(f"joint=: the joint of {body!r} cannot be replaced, since loop {looking!r} uses it")
    roots = [c.child for c in part.joints if c.parent == WORLD and c.child != body]
    if roots:
        raise ModelError(
            f"joint=: the joint of {body!r} cannot be replaced, since loops connect it to {', '.join(map(repr, roots))}"
        )
    hung = MechanismBuilder().body(old.child, joint=joint, joint_name=old.name).mechanism().joints[0]
    others = {c.name for c in part.joints} - {old.name}
    own = actuators.of_joints(part.actuators, others)
    blocks = armature_blocks.among(part.armatures, others, {c.name: c.joint for c in part.joints})
    part = replace(part, configurations=kept_coordinates(part, others, own), actuators=own, armatures=blocks)
    return replace(part, joints=tuple(hung if c is old else c for c in part.joints))
