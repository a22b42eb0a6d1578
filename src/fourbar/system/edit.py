"""Editing: methods of a robot that return new robots."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from .. import edit
from ..errors import ArgumentError
from ..functions.model import Model
from ..joints.axis import Axis, unit_axis
from ..joints.base import Joint
from ..mechanism.mechanism import Mechanism
from ..tree.cluster_tree import ClusterTree, lower

if TYPE_CHECKING:
    from pathlib import Path

    from ..edit.change import Changes
    from ..edit.names import Names
    from ..io.report import Report
    from ..mechanism.geometry import Role


@lru_cache(maxsize=16)
def _mirrored(mechanism: Mechanism, plane: Any) -> tuple[Mechanism, ClusterTree]:
    image = edit.mirror.mirror(mechanism, plane)
    return image, lower(image)


class Editing:
    """What every robot can be turned into. The robot itself stays as it is."""

    mechanism: Mechanism
    model: Model
    expand: Any
    expand_velocity: Any

    def _edited(self, mechanism: Mechanism) -> Self:
        return type(self)(mechanism)  # type: ignore[call-arg]

    def lock(self, joints: Iterable[str] | Mapping[str, Any], q: Any = None) -> Self:
        """The robot with some joints fixed where they are in the configuration q (nq), neutral unless given.

        A mapping gives the coordinates of the joints to lock; loops are then closed with these kept. Joints that
        cannot move any more because of loops become fixed too, loops that tie nothing that moves are left out, and so
        are actuators that move nothing any more. Where
        loops are left, the configuration "locked" is the one in which joints were locked.
        """
        cluster_tree = self.model.cluster_tree
        chosen = edit.lock.require_known(joints, (c.name for c in cluster_tree.moving))
        start = self.neutral() if q is None else q  # type: ignore[attr-defined]
        at = edit.coordinates.coordinates(cluster_tree, edit.coordinates.read_configuration(cluster_tree, start))
        if isinstance(joints, Mapping):
            at = edit.coordinates.moved_to(cluster_tree, at, joints)
        return self._edited(edit.lock.lock(self.mechanism, chosen, at))

    def attach(
        self,
        other: Editing,
        frame: str,
        joint: Joint | None = None,
        *,
        prefix: str = "",
        base: str | None = None,
        **mount: Any,
    ) -> Self:
        """The robot with another one on a frame (or body) of it, by a joint; without one, rigidly.

        The other's world becomes a body without mass: `base`, else the prefix, its name and `_base`. All its other
        names get the prefix. `mount` is as in `Builder.body`: position, rotation or rpy in the frame, limits, ...
        Gravity is that of this robot.
        """
        return self._edited(edit.join.attach(self.mechanism, _mechanism(other), frame, joint, prefix, base, **mount))

    def merge(self, other: Editing, prefix: str = "", name: str | None = None) -> Self:
        """This robot and another side by side in one world; the names of the other get the prefix."""
        return self._edited(edit.join.merge(self.mechanism, _mechanism(other), prefix, name))

    def sub(
        self,
        body: str | None = None,
        to: Iterable[str] = (),
        joint: Joint | None = None,
        name: str | None = None,
    ) -> Self:
        """A part as a robot: the body and all it carries, or only what leads from it to the frames (or bodies) `to`.

        What carries the body becomes the world; all that loops tie to the part (rotors, rods) belongs to it. `joint`
        replaces the joint of the body: `Free()` lets the part float. Without a body the part begins at the world. Of
        actuators stays what they do to joints that are left.
        """
        return self._edited(edit.sub.sub(self.mechanism, body, to, joint, name))

    def mirrored(self, plane: Axis = "y", names: Names = None) -> Self:
        """The mirror image in the plane through the world's origin that has the normal `plane`; gravity too.

        A revolute, prismatic, helical or universal joint has the same coordinate as its image; `mirrored_state` tells
        for all. `names` maps old names of bodies, joints, frames, loops and actuators to new ones: a mapping, or a
        function such as `lambda name: name.replace("left", "right")`.
        """
        image, _ = _mirrored(self.mechanism, unit_axis(plane))
        return self._edited(_renamed_everywhere(image, names))

    def mirrored_state(self, q: Any, v: Any, plane: Axis = "y") -> tuple[np.ndarray, np.ndarray]:
        """The state of the mirror image: q (..., nq) and v (..., nv) of this robot as those of `mirrored(plane)`."""
        _, cluster_tree = _mirrored(self.mechanism, unit_axis(plane))
        Q, V = edit.mirror.state_maps(self.model.cluster_tree, plane)
        full_q, full_v = np.asarray(self.expand(q)), np.asarray(self.expand_velocity(q, v))
        return edit.coordinates.gathered(cluster_tree, full_q @ Q.T), edit.coordinates.gathered_velocity(
            cluster_tree, full_v @ V.T
        )

    def with_parameters(
        self,
        *,
        bodies: Changes = None,
        joints: Changes = None,
        frames: Changes = None,
        loops: Changes = None,
        actuators: Changes = None,
        gravity: Any = None,
    ) -> Self:
        """The same robot with other numbers, by name: `bodies={"hand": {"mass": 2.0}}`.

        A body has mass, com, inertia, geometry, allow_unphysical; a joint has joint (its type), position, rotation or
        rpy, limits, armature, damping, friction, stiffness, rest, max_force, max_velocity; a frame has body, position,
        rotation or rpy; a loop has what its constructor takes (ratio, offset, length, ...), and independent; an
        actuator has what `Builder.actuator` takes. What is not named stays as it is.
        """
        return self._edited(edit.change.change(self.mechanism, bodies, joints, frames, loops, gravity, actuators))

    def with_mass_from_geometry(
        self,
        density: float | Mapping[str, float],
        bodies: Iterable[str] | None = None,
        role: Role = "collision",
    ) -> Self:
        """The robot with mass, centre and inertia of bodies as if their shapes of a role were filled evenly.

        `density` is in kg/m³, for all or by body; `bodies` are those named there, else all that have such shapes.
        Where shapes of a body overlap, matter counts twice. Meshes must be closed, and need trimesh (".[mesh]").
        """
        return self._edited(edit.fill.fill(self.mechanism, density, bodies, role))

    def save(self, path: str | Path, *, format: str | None = None, waive: Iterable[str] = ()) -> Report:
        """Write the robot to a file, in the format of its ending or `format`; returns what the format could not say.

        What would make it another robot is refused, unless waived: "coordinates" (joints become hinges and slides in
        series, with other coordinates), "loop" (loops that cannot be said are left out), "armature" (likewise).
        """
        from ..io.files import write_file

        return write_file(self.mechanism, path, format, waive)

    def renamed(
        self,
        *,
        bodies: Names = None,
        joints: Names = None,
        frames: Names = None,
        loops: Names = None,
        actuators: Names = None,
        name: str | None = None,
    ) -> Self:
        """The robot under other names: mappings from old to new (others stay), or functions of the old name."""
        changed = edit.names.rename(self.mechanism, bodies, joints, frames, loops, actuators)
        return self._edited(replace(changed, name=name or changed.name))


def _mechanism(other: Any) -> Mechanism:
    """The mechanism of another robot."""
    if not isinstance(other, Editing):
        raise ArgumentError(f"expected another robot, such as fb.load(...) returns, got {other!r}")
    return other.mechanism


def _renamed_everywhere(mechanism: Mechanism, given: Names) -> Mechanism:
    """One table of names for bodies, joints, frames, loops and actuators."""
    if given is None:
        return mechanism
    kinds = {
        "bodies": [b.name for b in mechanism.bodies],
        "joints": [c.name for c in mechanism.joints],
        "frames": [f.name for f in mechanism.frames],
        "loops": [x.name for x in mechanism.loops],
        "actuators": [x.name for x in mechanism.actuators],
    }
    if isinstance(given, Mapping):
        edit.names.table("name", given, [x for known in kinds.values() for x in known])
        tables = {kind: {x: given[x] for x in known if x in given} for kind, known in kinds.items()}
        return edit.names.rename(mechanism, **tables)
    return edit.names.rename(mechanism, **dict.fromkeys(kinds, given))
