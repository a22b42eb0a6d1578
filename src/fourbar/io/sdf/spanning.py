"""The choice between joints that carry links and joints that close loops.

Every link is carried by the first joint of the file that has it as its child. A link that is the child of two joints is
in a loop: the later joint closes it. Joints in the wrong direction are reversed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from .joints import SdfJoint
from .scope import NamedFrame


@dataclass
class Spanning:
    """Roots (without a joint), carrying joints, parents first and each towards its child, closing joints."""

    roots: list[NamedFrame] = field(default_factory=list)
    carrying: list[SdfJoint] = field(default_factory=list)
    closing: list[SdfJoint] = field(default_factory=list)


class _Finder:
    def __init__(self, links: Sequence[NamedFrame], joints: Sequence[SdfJoint]) -> None:
        self.links, self.joints = links, joints
        self.found = Spanning()
        self.placed: dict[NamedFrame | None, None] = {None: None}  # in order
        self.taken: set[SdfJoint] = set()
        self.touching: dict[NamedFrame | None, list[SdfJoint]] = {}
        for joint in joints:
            self.touching.setdefault(joint.parent, []).append(joint)
            self.touching.setdefault(joint.child, []).append(joint)
        self.first: dict[NamedFrame | None, SdfJoint] = {}
        for joint in joints:
            self.first.setdefault(joint.child, joint)

    def place(self, joint: SdfJoint, carried: NamedFrame | None) -> None:
        self.found.carrying.append(joint if joint.child is carried else joint.reversed())
        self.placed[carried] = None
        self.taken.add(joint)

    def grow(self, start: Iterable[NamedFrame | None], first_only: bool, turned: bool) -> None:
        """Place what joints carry on what is placed, outwards."""
        queue = list(start)
        for link in queue:
            for joint in self.touching.get(link, ()):
                facing = joint.parent is link
                other = joint.child if facing else joint.parent
                allowed = (facing or turned) and not (first_only and self.first.get(other) is not joint)
                if other not in self.placed and allowed:
                    self.place(joint, other)
                    queue.append(other)

    def settle(self, start: Iterable[NamedFrame | None]) -> None:
        """From a start, all that can be reached: by first joints, by any, by reversed ones."""
        known = len(self.placed)
        for first_only, turned in ((True, False), (False, False), (False, True)):
            self.grow([*start, *list(self.placed)[known:]], first_only, turned)


def spanning_tree(links: Sequence[NamedFrame], joints: Sequence[SdfJoint]) -> Spanning:
    """The tree: from the world, then from every link that is not a child, then from what is left."""
    finder = _Finder(links, joints)
    finder.settle([None])
    for candidates in ([link for link in links if link not in finder.first], links):
        for link in candidates:
            if link not in finder.placed:
                finder.found.roots.append(link)
                finder.placed[link] = None
                finder.settle([link])
    finder.found.closing = [joint for joint in joints if joint not in finder.taken]
    return finder.found
