"""Building a mechanism body by body. All checks that need the complete mechanism happen in `mechanism()`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np

from ..constraints.loop import Loop
from ..errors import ModelError
from ..hints import Hinted
from ..joints.base import Joint
from ..joints.fixed import Fixed
from ..joints.one_axis import Revolute
from ..spatial.inertia import unphysical
from . import actuators
from .actuator_builder import ActuatorBuilder
from .armature_builder import ArmatureBuilder
from .contact_builder import ContactBuilder
from .fluid import Fluid, read_fluid
from .mechanism import WORLD, Body, Configuration, Frame, Mechanism, NamedLoop, PlacedJoint
from .references import check_configurations, check_loops, check_new_name, check_references, parents_first
from .validate import (
    as_matrix,
    read_by_joint,
    read_controls,
    read_drive,
    read_geometry,
    read_independent,
    read_inertia,
    read_joint,
    read_limits,
    read_number,
    read_per_velocity,
    read_placement,
    read_spring,
    read_three,
)  # fmt: skip

if TYPE_CHECKING:
    from ..constraints.closures import Closure


class MechanismBuilder(ActuatorBuilder, ArmatureBuilder, ContactBuilder, Hinted):
    """Collects bodies, joints, frames, loops, actuators and what may touch, by name.

    Parameters
    ----------
    name : str, default 'robot'
        Name of the mechanism.
    gravity : array_like, shape (3,), default (0, 0, -9.81)
        Acceleration of gravity (m/s²), in world axes.
    """

    _scope = "Builder"

    def __init__(self, name: str = "robot", gravity: Any = (0.0, 0.0, -9.81)) -> None:
        super().__init__()
        self.name = name
        self._gravity = read_three("gravity", gravity)
        self._bodies: dict[str, Body] = {}
        self._connections: dict[str, PlacedJoint] = {}
        self._frames: dict[str, Frame] = {}
        self._loops: dict[str, NamedLoop] = {}
        self._configurations: dict[str, Configuration] = {}

    def body(
        self,
        name: str,
        *,
        parent: str = WORLD,
        joint: Joint | None = None,
        joint_name: str | None = None,
        position: Any = (0.0, 0.0, 0.0),
        rotation: Any = None,
        rpy: Any = None,
        mass: float = 0.0,
        com: Any = (0.0, 0.0, 0.0),
        inertia: Any = (0.0, 0.0, 0.0),
        armature: Any = 0.0,
        damping: Any = 0.0,
        friction: Any = 0.0,
        limits: Any = None,
        stiffness: Any = 0.0,
        rest: Any = None,
        max_force: Any = np.inf,
        max_velocity: Any = np.inf,
        min_force: Any = None,
        geometry: Any = (),
        gravity_compensation: float = 0.0,
        fluid: Fluid | None = None,
        allow_unphysical: bool = False,
    ) -> Self:
        """Add a body and the joint that carries it.

        Parameters
        ----------
        name : str
            Name of the body.
        parent : str, default 'world'
            Body that carries it.
        joint : Joint, optional
            Joint between parent and body; fixed if None.
        joint_name : str, optional
            Name of the joint; that of the body if None.
        position : array_like, shape (3,), default (0, 0, 0)
            Position (m) of the joint in the frame of the parent.
        rotation : array_like, shape (3, 3) or (4,), optional
            Rotation matrix or quaternion (w, x, y, z).
        rpy : array_like, shape (3,), optional
            Roll, pitch and yaw (rad), instead of `rotation`.
        mass : float, default 0.0
            Mass (kg).
        com : array_like, shape (3,), default (0, 0, 0)
            Centre of mass (m) in the frame of the body.
        inertia : array_like, shape (3,), (6,) or (3, 3), default (0, 0, 0)
            Rotational inertia (kg m²) about the centre of mass, in the axes of the body: three principal moments, six
            numbers xx xy xz yy yz zz, or the matrix.
        armature : array_like, shape () or (nv of the joint,), default 0.0
            Added to the diagonal of the mass matrix (kg m², kg), such as the reflected inertia of a rotor. On
            spherical, planar and free joints its momentum turns with the joint, as that of a body does.
        damping : array_like, shape () or (nv of the joint,), default 0.0
            Viscous damping (N m s/rad, N s/m), see `System.passive_forces`.
        friction : array_like, shape () or (nv of the joint,), default 0.0
            Coulomb friction (N m, N), which acts in an `fb.Scene` and, smoothed, in `inverse_passive_dynamics`.
        limits : array_like, shape (2,) or (2, nq of the joint), optional
            Lower and upper limits of the coordinates (rad, m), which `System.random` keeps and which stop the joint in
            an `fb.Scene`; none if None.
        stiffness : array_like, shape () or (nv of the joint,), default 0.0
            Stiffness of a spring (N m/rad, N/m), see `System.passive_forces`.
        rest : array_like, shape (nq of the joint,), optional
            Coordinates at which the spring is at rest; neutral if None.
        max_force : array_like, shape () or (nv of the joint,), default inf
            Largest force of what drives the joint (N m, N), see `System.control_force`.
        max_velocity : array_like, shape () or (nv of the joint,), default inf
            Largest velocity of the drive (rad/s, m/s), kept with the model.
        min_force : array_like, shape () or (nv of the joint,), optional
            Lower end of that force, not above zero; -max_force if None.
        geometry : sequence of Geometry, optional
            Shapes for viewing and for contacts in an `fb.Scene`.
        gravity_compensation : float, default 0.0
            Fraction of its weight that a passive force at its centre of mass carries (`System.passive_forces`).
        fluid : Fluid, optional
            Fluid in which the body moves: added mass, buoyancy, drag, current; none if None.
        allow_unphysical : bool, default False
            Accept an inertia that no distribution of mass has.

        Returns
        -------
        Builder
            The builder itself, so that calls can be chained.

        Raises
        ------
        ModelError
            If a name is taken, a number is missing or not finite, or the inertia is not physical.

        Notes
        -----
        At the neutral configuration of the joint the frame of the body coincides with that of the joint. Springs,
        damping and gravity compensation are no part of the rigid-body dynamics.

        Examples
        --------
        >>> import fourbar as fb
        >>> b = fb.Builder("arm")
        >>> _ = b.body("upper", joint=fb.joints.Revolute("y"), mass=1.0, com=(0, 0, -0.2), inertia=(0.01, 0.01, 0.002))
        >>> _ = b.body("hand", parent="upper", position=(0, 0, -0.4), mass=0.2)
        >>> b.build()
        <fourbar System 'arm': 2 bodies, nq=1, nv=1>
        """
        what = f"body {name!r}"
        check_new_name("body", name, self._bodies, self._frames)
        if not isinstance(parent, str) or not isinstance(joint_name, str | None):
            raise ModelError(f"{what}: parent and joint_name must be names, got {parent!r} and {joint_name!r}")
        joint = read_joint(what, joint)
        lower, upper = read_limits(f"{what}, limits", limits, joint.nq)
        connection = PlacedJoint(
            name=joint_name or name,
            joint=joint,
            parent=parent,
            child=name,
            placement=read_placement(what, position, rotation, rpy),
            armature=read_per_velocity(f"{what}, armature", armature, joint.nv),
            damping=read_per_velocity(f"{what}, damping", damping, joint.nv),
            friction=read_per_velocity(f"{what}, friction", friction, joint.nv),
            lower=lower,
            upper=upper,
            **read_spring(what, joint, stiffness, rest),
            **read_drive(what, joint.nv, max_force, max_velocity, min_force),
        )
        more = read_number(f"{what}, gravity_compensation", gravity_compensation), read_fluid(what, fluid)
        self._bodies[name] = self._body(name, mass, com, inertia, geometry, allow_unphysical, more)
        self._connections[name] = connection
        return self

    def _body(self, name: str, mass: Any, com: Any, inertia: Any, geometry: Any, unsound: bool, more: Any) -> Body:
        what = f"body {name!r}"
        tensor = read_inertia(f"{what}, inertia", inertia)
        weight = read_number(f"{what}, mass", mass)
        problem = unphysical(weight, tensor)
        if problem is not None and not (unsound and weight >= 0.0):
            raise ModelError(f"{what}: {problem}")
        centre, shapes = read_three(f"{what}, com", com), read_geometry(what, geometry)
        return Body(name, weight, centre, as_matrix(0.5 * (tensor + tensor.T)), shapes, *more)

    def frame(
        self, name: str, body: str, *, position: Any = (0.0, 0.0, 0.0), rotation: Any = None, rpy: Any = None
    ) -> Self:
        """Add a named frame on a body or on the world.

        Parameters
        ----------
        name : str
            Name of the frame.
        body : str
            Body that carries it, or 'world'.
        position : array_like, shape (3,), default (0, 0, 0)
            Position (m) in the frame of the body.
        rotation : array_like, shape (3, 3) or (4,), optional
            Rotation matrix or quaternion (w, x, y, z).
        rpy : array_like, shape (3,), optional
            Roll, pitch and yaw (rad), instead of `rotation`.

        Returns
        -------
        Builder
            The builder itself, so that calls can be chained.

        Examples
        --------
        >>> import fourbar as fb
        >>> b = fb.Builder("arm")
        >>> _ = b.body("rod", joint=fb.joints.Revolute("y"), mass=1.0, com=(0, 0, -0.5), inertia=(0.1, 0.1, 0))
        >>> b.frame("tip", "rod", position=(0, 0, -1.0)).build().pose([0.0], "tip")[2, 3]
        np.float64(-1.0)
        """
        check_new_name("frame", name, self._bodies, self._frames)
        if not isinstance(body, str):
            raise ModelError(f"frame {name!r}: body must be a name, got {body!r}")
        self._frames[name] = Frame(name, body, read_placement(f"frame {name!r}", position, rotation, rpy))
        return self

    def loop(self, loop: Loop, *, name: str | None = None, independent: Any = ()) -> Self:
        """Close a loop: a gear, a coupling, a joint between two bodies, or a function.

        Parameters
        ----------
        loop : Loop
            One of `fourbar.loops`, such as ``Gear('knee', 'knee_rotor', 6.0)``.
        name : str, optional
            Name of the loop; by default its kind and a number.
        independent : sequence of str, or mapping of str to float, optional
            Joints whose velocities are to be the independent ones; a mapping gives the joint velocity per unit of the
            independent one. For a joint with several velocities all are meant, or one: 'platform.vx'. By default they
            are chosen where the loop is closed.

        Returns
        -------
        Builder
            The builder itself, so that calls can be chained.

        See Also
        --------
        System.constrained : Constraints kept by forces.

        Examples
        --------
        >>> import fourbar as fb
        >>> b = fb.Builder("geared")
        >>> _ = b.body("arm", joint=fb.joints.Revolute("y"), mass=1.0, com=(0, 0, -0.3), inertia=(0.01, 0.01, 0.01))
        >>> _ = b.body("rotor", joint=fb.joints.Revolute("y"), mass=0.1, inertia=(1e-4, 1e-4, 1e-4))
        >>> b.loop(fb.loops.Gear("arm", "rotor", 9.0)).build()
        <fourbar System 'geared': 2 bodies, nq=1, nv=1>
        """
        if not isinstance(loop, Loop):
            raise ModelError(
                f"loop must be a loop of fourbar.constraints, such as Gear('knee', 'knee_rotor', 6.0), got {loop!r}"
            )
        chosen = f"{type(loop).__name__.lower()}{len(self._loops) + 1}" if name is None else name
        if not isinstance(chosen, str) or not chosen:
            raise ModelError(
                f"the name of a loop must be a non-empty string, got {name!r}; leave it out to have one chosen"
            )
        if chosen in self._loops:
            raise ModelError(f"there is already a loop {chosen!r}; names must be unique")
        scales = read_independent(f"loop {chosen!r}, independent", independent)
        if loop.extra_joint is not None:
            loop = self._with_link(chosen, cast("Closure", loop))
        self._loops[chosen] = NamedLoop(chosen, loop, scales)
        return self

    def _with_link(self, name: str, loop: Closure) -> Loop:
        """A loop joint with coordinates of its own: a body without mass on that joint, welded to the successor.

        Both have the name of the loop, or a longer one where that is taken.
        """
        from ..constraints.closures import Closure

        R, p, body = np.array(loop.at_predecessor.R, float), loop.at_predecessor.p, name
        while body in self._bodies or body in self._frames:
            body = f"{body}_joint"
        joint = body if any(c.name == name for c in self._connections.values()) else name
        self.body(body, parent=loop.predecessor, joint=loop.joint, joint_name=joint, position=p, rotation=R)
        place = loop.at_successor
        return Closure(Fixed(), body, loop.successor, at_successor=place.p, successor_rotation=place.R)

    def configuration(
        self,
        name: str,
        coordinates: Mapping[str, Any],
        *,
        velocities: Mapping[str, Any] | None = None,
        controls: Mapping[str, Any] | None = None,
    ) -> Self:
        """Name a configuration.

        Parameters
        ----------
        name : str
            Name of the configuration.
        coordinates : mapping of str to array_like
            Coordinates (rad, m) by joint; other joints are neutral.
        velocities : mapping of str to array_like, optional
            Velocities (rad/s, m/s) by joint; others are zero. They and `controls` are in `Scene.keyframes`.
        controls : mapping of str to float, optional
            Controls by actuator; others are zero.

        Returns
        -------
        Builder
            The builder itself, so that calls can be chained.

        Notes
        -----
        Loops are closed near the first configuration. It need not be closed itself: `System.configurations` has the
        nearest closed one.

        Examples
        --------
        >>> import fourbar as fb
        >>> b = fb.Builder("arm")
        >>> _ = b.body("rod", joint=fb.joints.Revolute("y"), mass=1.0, com=(0, 0, -0.5), inertia=(0.1, 0.1, 0))
        >>> b.configuration("home", {"rod": 0.5}).build().configurations["home"]
        array([0.5])
        """
        if not isinstance(name, str) or not name or name in self._configurations:
            raise ModelError(f"a configuration needs a unique name, a non-empty string; got {name!r}")
        what = f"configuration {name!r}"
        q = read_by_joint(what, "coordinates", coordinates)
        v = read_by_joint(what, "velocities", {} if velocities is None else velocities)
        u = read_controls(what, {} if controls is None else controls)
        self._configurations[name] = Configuration(name, q, v, u)
        return self

    def rotor(
        self,
        name: str,
        *,
        drives: str,
        ratio: float,
        parent: str = WORLD,
        axis: Any = "z",
        position: Any = (0.0, 0.0, 0.0),
        rotation: Any = None,
        rpy: Any = None,
        mass: float = 0.0,
        com: Any = (0.0, 0.0, 0.0),
        inertia: Any = (0.0, 0.0, 0.0),
    ) -> Self:
        """Add the rotor of a geared motor: a body and the gear that ties it to a joint.

        Parameters
        ----------
        name : str
            Name of the rotor.
        drives : str
            Joint that it drives.
        ratio : float
            Turns of the rotor per turn of the joint.
        parent : str, default 'world'
            Body that carries the rotor.
        axis : str or array_like, shape (3,), default 'z'
            Axis of the rotor in the frame of its joint.
        position : array_like, shape (3,), default (0, 0, 0)
            Position (m) of the axis in the frame of the parent.
        rotation : array_like, shape (3, 3) or (4,), optional
            Rotation matrix or quaternion (w, x, y, z).
        rpy : array_like, shape (3,), optional
            Roll, pitch and yaw (rad), instead of `rotation`.
        mass : float, default 0.0
            Mass (kg).
        com : array_like, shape (3,), default (0, 0, 0)
            Centre of mass (m) in the frame of the rotor.
        inertia : array_like, shape (3,), (6,) or (3, 3), default (0, 0, 0)
            Rotational inertia (kg m²) about the centre of mass.

        Returns
        -------
        Builder
            The builder itself, so that calls can be chained.

        See Also
        --------
        motor : An actuator, which has no inertia of its own.

        Examples
        --------
        >>> import fourbar as fb
        >>> b = fb.Builder("geared")
        >>> _ = b.body("arm", joint=fb.joints.Revolute("y"), mass=1.0, com=(0, 0, -0.3), inertia=(0.01, 0.01, 0.01))
        >>> robot = b.rotor("rotor", drives="arm", ratio=9.0, axis="y", mass=0.1, inertia=(1e-4, 1e-4, 1e-4)).build()
        >>> robot.mass_matrix([0.0]).round(4)
        array([[0.1081]])
        """
        from ..constraints.gears import Gear

        self.body(
            name, parent=parent, joint=Revolute(axis), position=position, rotation=rotation, rpy=rpy, mass=mass,
            com=com, inertia=inertia,
        )  # fmt: skip
        return self.loop(Gear(drives, name, ratio), name=f"{name}_gear", independent=[drives])

    def include(self, mechanism: Mechanism) -> Self:
        """Add all parts of a mechanism: bodies, frames, loops, configurations, actuators, armatures and contacts.

        Parameters
        ----------
        mechanism : Mechanism
            What to add, such as ``robot.mechanism``; its name and gravity are left.

        Returns
        -------
        Builder
            The builder itself, so that calls can be chained.

        Raises
        ------
        ModelError
            If a name is taken.

        See Also
        --------
        System.attach : One robot mounted on another.
        System.merge : Two robots in one world.

        Examples
        --------
        >>> import fourbar as fb
        >>> robot = fb.robots.double_pendulum()
        >>> fb.Builder("arm").include(robot.mechanism).build() == robot.renamed(name="arm")
        True
        """
        for body, c in zip(mechanism.bodies, mechanism.joints, strict=True):
            check_new_name("body", body.name, self._bodies, self._frames)
            self._bodies[body.name], self._connections[body.name] = body, c
        for frame in mechanism.frames:
            check_new_name("frame", frame.name, self._bodies, self._frames)
            self._frames[frame.name] = frame
        for loop in mechanism.loops:
            if loop.name in self._loops:
                raise ModelError(f"there is already a loop {loop.name!r}; names must be unique")
            self._loops[loop.name] = loop
        for configuration in mechanism.configurations:
            q, v, u = (dict(x) for x in (configuration.coordinates, configuration.velocities, configuration.controls))
            self.configuration(configuration.name, q, velocities=v, controls=u)
        for actuator in mechanism.actuators:
            self._add_actuator(actuator)
        self._add_armatures(*mechanism.armatures)
        return self._add_world(mechanism.world, mechanism.contacts)

    def mechanism(self) -> Mechanism:
        """The finished mechanism, checked as a whole."""
        if not self._bodies:
            raise ModelError(f"mechanism {self.name!r} has no bodies; add one with body(...)")
        check_references(self._bodies, self._connections, self._frames.values())
        check_loops(self._bodies, self._connections, self._loops.values())
        check_configurations(self._connections, self._actuators, self._configurations.values())
        joints = {c.name: c.joint for c in self._connections.values()}
        actuators.check(self._actuators.values(), joints)
        order = parents_first(self._bodies, self._connections)
        return Mechanism(
            self.name,
            tuple(self._bodies[name] for name in order),
            tuple(self._connections[name] for name in order),
            tuple(self._frames.values()),
            self._gravity,
            tuple(self._loops.values()),
            tuple(self._configurations.values()),
            tuple(self._actuators.values()),
            tuple(self._world),
            self._checked_rules(self._bodies),
            self._checked_armatures(joints),
        )
