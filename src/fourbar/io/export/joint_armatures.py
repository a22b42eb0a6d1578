"""Armature for formats that have one number for each velocity of a joint."""

from __future__ import annotations

from dataclasses import replace

from ...mechanism.armature_blocks import places
from ...mechanism.mechanism import Mechanism
from .written_numbers import Unsaid


def without_blocks(mechanism: Mechanism, unsaid: Unsaid) -> Mechanism:
    """The mechanism with armature by joint: blocks without entries off the diagonal are added to that of their joints,
    others refused by name, or left out where that is waived.
    """
    if not mechanism.armatures:
        return mechanism
    joints = {c.name: c for c in mechanism.joints}
    for block in mechanism.armatures:
        rows = block.matrix
        if any(x for i, row in enumerate(rows) for j, x in enumerate(row) if i != j):
            coupled = ", ".join(map(repr, block.joints))
            unsaid.refuse(f"armature {block.name!r}, which couples velocities of {coupled}", "armature")
            continue
        for name, own in places(block, {c.name: c.joint for c in mechanism.joints}).items():
            total = tuple(x + rows[i][i] for x, i in zip(joints[name].armature, own, strict=True))
            joints[name] = replace(joints[name], armature=total)
    return replace(mechanism, joints=tuple(joints[c.name] for c in mechanism.joints), armatures=())
