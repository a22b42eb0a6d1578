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
    from ..edit.rename import Names
    from ..io.report import Report
    from ..mechanism.geometry import Role


@lru_cache(maxsize=16)
def _mirror(mechanism: Mechanism, plane: Any) -> tuple[Mechanism, ClusterTree]:
    image = edit.mirror.mirror(mechanism, plane)
    return image, lower(image)


class Editing:
    """Edits of a robot, each of which returns a new one."""

    mechanism: Mechanism
    model: Model
    expand: Any
    expand_velocity: Any

    def _edit(self, mechanism: Mechanism) -> Self:
        return type(self)(mechanism)  # type: ignore[call-arg]

    def lock(self, joints: Iterable[str] | Mapping[str, Any], q: Any = None) -> Self:
        """Robot with some joints fixed.

        Parameters
        ----------
        joints : iterable of str, or mapping of str to array_like
            Joints to lock; a mapping gives the coordinates (rad, m) at which to lock them, loops being closed with
            these kept.
        q : array_like, shape (nq,), optional
            Configuration at which to lock; `neutral` if None.

        Returns
        -------
        System
            The robot with fixed joints in their place. Joints that loops then hold become fixed too; loops and
            actuators that move nothing any more are left out. If loops are left, the configuration 'locked' is the one
            of locking.

        Raises
        ------
        UnknownNameError
            If there is no such moving joint.

        Examples
        --------
        >>> import fourbar as fb
        >>> robot = fb.robots.double_pendulum()
        >>> robot.lock({"elbow": 0.3})
        <fourbar System 'double_pendulum': 2 bodies, nq=1, nv=1>
        """
        cluster_tree = self.model.cluster_tree
        chosen = edit.lock.require_known(joints, (c.name for c in cluster_tree.moving))
        start = self.model.neutral() if q is None else q  # type: ignore[attr-defined]
        at = edit.coordinates.coordinates(cluster_tree, edit.coordinates.read_configuration(cluster_tree, start))
        if isinstance(joints, Mapping):
            at = edit.coordinates.move_joints(cluster_tree, at, joints)
        return self._edit(edit.lock.lock(self.mechanism, chosen, at))

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
        """Robot with another one mounted on it.

        Parameters
        ----------
        other : System
            The robot to mount. Its world becomes a body without mass.
        frame : str
            Frame or body of this robot that carries it.
        joint : Joint, optional
            Joint between the two; rigid if None.
        prefix : str, default ''
            Put before all names of the other robot.
        base : str, optional
            Name of the body that the other world becomes; by default the prefix, the name of the other robot and
            '_base'.
        **mount : object
            Position, rotation, rpy, limits, ... of the joint, as in `Builder.body`.

        Returns
        -------
        System
            Both robots as one, in the gravity of this one.

        Examples
        --------
        >>> import fourbar as fb
        >>> robot = fb.robots.double_pendulum()
        >>> robot.attach(robot, "tip", prefix="second_").names.joints
        ('shoulder', 'elbow', 'second_double_pendulum_base', 'second_shoulder', 'second_elbow')
        """
        return self._edit(edit.join.attach(self.mechanism, _mechanism(other), frame, joint, prefix, base, **mount))

    def merge(self, other: Editing, prefix: str = "", name: str | None = None) -> Self:
        """Robot with another one beside it in one world.

        Parameters
        ----------
        other : System
            The other robot.
        prefix : str, default ''
            Put before all names of the other robot.
        name : str, optional
            Name of the result.

        Returns
        -------
        System
            Both robots as one, in the gravity of this one.

        Examples
        --------
        >>> import fourbar as fb
        >>> robot = fb.robots.double_pendulum()
        >>> robot.merge(robot, prefix="second_").nv
        4
        """
        return self._edit(edit.join.merge(self.mechanism, _mechanism(other), prefix, name))

    def sub(
        self,
        body: str | None = None,
        to: Iterable[str] = (),
        joint: Joint | None = None,
        name: str | None = None,
    ) -> Self:
        """Part of a robot, as a robot.

        Parameters
        ----------
        body : str, optional
            Body with which the part begins; what carries it becomes the world. From the world on if None.
        to : iterable of str, optional
            Frames or bodies to which the part leads; all that the body carries if empty.
        joint : Joint, optional
            Replaces the joint of the body: ``Free()`` lets the part float.
        name : str, optional
            Name of the result.

        Returns
        -------
        System
            The part, with all that loops tie to it (rotors, rods). Actuators are kept for the joints that remain.

        Examples
        --------
        >>> import fourbar as fb
        >>> robot = fb.robots.double_pendulum()
        >>> robot.sub("lower").names.joints
        ('elbow',)
        """
        return self._edit(edit.sub.sub(self.mechanism, body, to, joint, name))

    def mirrored(self, plane: Axis = "y", names: Names = None) -> Self:
        """Mirror image of the robot.

        Parameters
        ----------
        plane : str or array_like, shape (3,), default 'y'
            Normal of the mirror plane, which passes through the origin of the world.
        names : mapping or callable, optional
            New names of bodies, joints, frames, loops and actuators: a mapping from old to new, or a function of the
            old name such as ``lambda name: name.replace("left", "right")``.

        Returns
        -------
        System
            The mirror image, gravity mirrored too. A revolute, prismatic, helical or universal joint has the same
            coordinate as its image; `mirrored_state` converts all.

        Examples
        --------
        >>> import fourbar as fb
        >>> robot = fb.robots.five_bar()
        >>> robot.mirrored("x").names.joints == robot.names.joints
        True
        """
        image, _ = _mirror(self.mechanism, unit_axis(plane))
        return self._edit(_rename_everywhere(image, names))

    def mirrored_state(self, q: Any, v: Any, plane: Axis = "y") -> tuple[np.ndarray, np.ndarray]:
        """State of the mirror image.

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Configuration of this robot.
        v : array_like, shape (..., nv)
            Velocity of this robot (rad/s, m/s).
        plane : str or array_like, shape (3,), default 'y'
            Normal of the mirror plane.

        Returns
        -------
        q : ndarray, shape (..., nq)
            Configuration of ``robot.mirrored(plane)``.
        v : ndarray, shape (..., nv)
            Its velocity.

        Examples
        --------
        >>> import fourbar as fb
        >>> robot = fb.robots.double_pendulum()
        >>> robot.mirrored_state([0.1, 0.2], [1.0, 0.0])
        (array([0.1, 0.2]), array([1., 0.]))
        """
        _, cluster_tree = _mirror(self.mechanism, unit_axis(plane))
        Q, V = edit.mirror.state_maps(self.model.cluster_tree, plane)
        full_q, full_v = np.asarray(self.expand(q)), np.asarray(self.expand_velocity(q, v))
        return edit.coordinates.gather(cluster_tree, full_q @ Q.T), edit.coordinates.gather_velocity(
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
        armatures: Changes = None,
        gravity: Any = None,
    ) -> Self:
        """Robot with other numbers, by name.

        Parameters
        ----------
        bodies : mapping of str to mapping, optional
            By body: mass, com, inertia, geometry, gravity_compensation, allow_unphysical, as in `Builder.body`.
        joints : mapping of str to mapping, optional
            By joint: joint (its type), position, rotation or rpy, limits, armature, damping, friction, stiffness, rest,
            max_force, max_velocity, as in `Builder.body`.
        frames : mapping of str to mapping, optional
            By frame: body, position, rotation or rpy.
        loops : mapping of str to mapping, optional
            By loop: what its constructor takes (ratio, offset, length, ...), and independent.
        actuators : mapping of str to mapping, optional
            By actuator: what `Builder.actuator` takes.
        armatures : mapping of str to mapping, optional
            By armature that couples joints: joints, matrix, as in `Builder.armature`.
        gravity : array_like, shape (3,), optional
            Acceleration of gravity (m/s²).

        Returns
        -------
        System
            The same robot with these numbers; what is not named stays as it is.

        Examples
        --------
        >>> import fourbar as fb
        >>> robot = fb.robots.double_pendulum()
        >>> heavy = robot.with_parameters(bodies={"lower": {"mass": 2.0}}, joints={"elbow": {"damping": 0.1}})
        >>> heavy.gravity_force([0.1, 0.2]).round(3)
        array([2.384, 1.16 ])
        """
        tables = bodies, joints, frames, loops, gravity, actuators, armatures
        return self._edit(edit.change.change(self.mechanism, *tables))

    def with_mass_from_geometry(
        self,
        density: float | Mapping[str, float],
        bodies: Iterable[str] | None = None,
        role: Role = "collision",
    ) -> Self:
        """Robot with masses and inertias from its shapes, of uniform density.

        Parameters
        ----------
        density : float, or mapping of str to float
            Density (kg/m³) for all bodies, or by body.
        bodies : iterable of str, optional
            Bodies to fill; by default those named in `density`, else all that have shapes of the role.
        role : {'collision', 'visual'}, default 'collision'
            Which shapes are filled.

        Returns
        -------
        System
            The robot with mass, centre of mass and inertia from its shapes.

        Notes
        -----
        Where shapes of a body overlap, mass counts twice. Meshes must be closed, and need trimesh (``.[mesh]``).

        Examples
        --------
        >>> import fourbar as fb
        >>> from fourbar.mechanism.geometry import Geometry
        >>> b = fb.Builder("box")
        >>> box = Geometry("box", (0.1, 0.1, 0.1), role="collision")
        >>> _ = b.body("box", joint=fb.joints.Free(), mass=1.0, inertia=(1, 1, 1), geometry=[box])
        >>> round(b.build().with_mass_from_geometry(1000.0).mechanism.bodies[0].mass, 6)
        1.0
        """
        return self._edit(edit.mass_from_shapes.fill(self.mechanism, density, bodies, role))

    def save(self, path: str | Path, *, format: str | None = None, waive: Iterable[str] = ()) -> Report:
        """Write the robot to a file.

        Parameters
        ----------
        path : str or Path
            Where to write.
        format : str, optional
            Format, if the ending of the path does not say it: 'urdf', 'mjcf', 'sdf', 'json' or 'toml'.
        waive : iterable of str, optional
            What may be lost: 'coordinates' (joints become hinges and slides in series, with other coordinates), 'loop'
            (loops that the format cannot hold are left out), 'armature' (likewise).

        Returns
        -------
        Report
            What the format could not hold.

        Raises
        ------
        ModelError
            If the file would be another robot, and that is not waived.

        See Also
        --------
        load : Read a file.

        Examples
        --------
        >>> import tempfile, fourbar as fb
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     report = fb.robots.double_pendulum().save(f"{folder}/arm.urdf")
        >>> len(report.warnings)
        1
        """
        from ..io.formats import write_file

        return write_file(self.mechanism, path, format, waive)

    def renamed(
        self,
        *,
        bodies: Names = None,
        joints: Names = None,
        frames: Names = None,
        loops: Names = None,
        actuators: Names = None,
        armatures: Names = None,
        name: str | None = None,
    ) -> Self:
        """Robot under other names.

        Parameters
        ----------
        bodies : mapping or callable, optional
            New names of bodies: a mapping from old to new (others stay), or a function of the old name.
        joints : mapping or callable, optional
            New names of joints.
        frames : mapping or callable, optional
            New names of frames.
        loops : mapping or callable, optional
            New names of loops.
        actuators : mapping or callable, optional
            New names of actuators.
        armatures : mapping or callable, optional
            New names of armatures that couple joints.
        name : str, optional
            New name of the robot.

        Returns
        -------
        System
            The same robot under these names.

        Examples
        --------
        >>> import fourbar as fb
        >>> robot = fb.robots.double_pendulum()
        >>> robot.renamed(joints={"elbow": "knee"}, bodies=str.upper).names.joints
        ('shoulder', 'knee')
        """
        changed = edit.rename.rename(self.mechanism, bodies, joints, frames, loops, actuators, armatures)
        return self._edit(replace(changed, name=name or changed.name))


def _mechanism(other: Any) -> Mechanism:
    """The mechanism of another robot."""
    if not isinstance(other, Editing):
        raise ArgumentError(f"expected another robot, such as fb.load(...) returns, got {other!r}")
    return other.mechanism


def _rename_everywhere(mechanism: Mechanism, given: Names) -> Mechanism:
    """One table of names for bodies, joints, frames, loops, actuators and armatures."""
    if given is None:
        return mechanism
    kinds = {
        "bodies": [b.name for b in mechanism.bodies],
        "joints": [c.name for c in mechanism.joints],
        "frames": [f.name for f in mechanism.frames],
        "loops": [x.name for x in mechanism.loops],
        "actuators": [x.name for x in mechanism.actuators],
        "armatures": [x.name for x in mechanism.armatures],
    }
    if isinstance(given, Mapping):
        edit.rename.table("name", given, [x for known in kinds.values() for x in known])
        tables = {kind: {x: given[x] for x in known if x in given} for kind, known in kinds.items()}
        return edit.rename.rename(mechanism, **tables)
    return edit.rename.rename(mechanism, **dict.fromkeys(kinds, given))
