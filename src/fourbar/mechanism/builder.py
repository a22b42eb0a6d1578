"""Building a mechanism body by body. All checks that need the complete mechanism happen in `mechanism()`.

Declaring armature that couples joints: a part of the `Builder`.

Checks that everything that the parts of a mechanism refer to exists, before it is made.

Declaring what a robot may touch: a part of the `Builder`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np

from ..constraints.loop import Loop
from ..errors import ModelError, unknown
from ..hints import Hinted
from ..joints.base import Joint
from ..joints.euclidean import Fixed
from ..joints.one_axis import Revolute
from ..spatial.inertia import unphysical
from . import actuators
from .actuator_builder import ActuatorBuilder
from .actuators import Actuator
from .armature_blocks import ArmatureBlock, check, read_block
from .contact_rules import NO_RULES, ContactRules
from .fluid import Fluid, read_fluid
from .mechanism import WORLD, Body, Configuration, Frame, Mechanism, NamedLoop, PlacedJoint, joint_of
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
    read_softness,
    read_spring,
    read_three,
)  # fmt: skip

if TYPE_CHECKING:
    from ..constraints.closures import Closure
    from .contact import JointSoftness, Surface
    from .geometry import Geometry
    from .mechanism import Body


_WORLD = "world"


class ContactBuilder:
    """Collects shapes of the world, and rules of contact by name."""

    def __init__(self) -> None:
        super().__init__()
        self._world: dict[Geometry, None] = {}
        self._rules: ContactRules = NO_RULES

    def world(self, *shapes: Geometry) -> Self:
        """Add shapes that are fixed in the world: a floor, a height field, a table.

        Parameters
        ----------
        *shapes : Geometry
            Their placement is in the world; with role "collision" bodies can touch them.

        Returns
        -------
        Builder
            The builder itself, so that calls can be chained.

        Examples
        --------
        >>> import fourbar as fb
        >>> from fourbar.mechanism.geometry import Geometry
        >>> b = fb.Builder("hopper").world(Geometry("plane", role="collision", name="floor"))
        >>> _ = b.body("trunk", joint=fb.joints.Free(), mass=1.0, inertia=(0.1, 0.1, 0.1))
        >>> b.build().mechanism.world[0].name
        'floor'
        """
        return self._add_world(read_geometry("world", shapes), NO_RULES)

    def exclude_contact(self, first: str, second: str) -> Self:
        """Exclude contact between the shapes of two bodies.

        Parameters
        ----------
        first, second : str
            Bodies, or "world".

        Returns
        -------
        Builder
            The builder itself, so that calls can be chained.

        Examples
        --------
        >>> import fourbar as fb
        >>> b = fb.Builder("arm").body("upper", joint=fb.joints.Revolute("y"), mass=1.0, inertia=(0.1, 0.1, 0.1))
        >>> b.exclude_contact("upper", "world").build().mechanism.contacts.excluded
        (('upper', 'world'),)
        """
        self._rules = self._rules.join(ContactRules(excluded=((first, second),)))
        return self

    def contact_pair(
        self, first: tuple[str, str], second: tuple[str, str], surface: Surface | None = None, name: str = ""
    ) -> Self:
        """Let two shapes touch, whatever their groups and bodies.

        Parameters
        ----------
        first, second : pair of str
            Body (or "world") and name of the shape: ("foot", "sole").
        surface : Surface, optional
            Friction and other numbers of this pair; those of `Surface()` if None.
        name : str, optional
            What the pair is called.

        Returns
        -------
        Builder
            The builder itself, so that calls can be chained.

        Examples
        --------
        >>> import fourbar as fb
        >>> from fourbar.mechanism.geometry import Geometry
        >>> ball = Geometry("sphere", (0.1,), role="collision", name="ball")
        >>> from fourbar.mechanism.contact import Surface
        >>> b = fb.Builder("toy").world(Geometry("plane", role="collision", name="floor"))
        >>> _ = b.body("toy", joint=fb.joints.Free(), mass=1.0, inertia=(0.1, 0.1, 0.1), geometry=[ball])
        >>> robot = b.contact_pair(("world", "floor"), ("toy", "ball"), Surface(friction=0.3)).build()
        >>> robot.mechanism.contacts.pairs[0].surface.friction
        0.3
        """
        from .contact import PLAIN, ContactPair, Surface

        for shape in (first, second):
            if not (isinstance(shape, tuple) and len(shape) == 2 and all(isinstance(x, str) and x for x in shape)):
                raise ModelError(f"contact_pair: a shape is (body, name of the shape), got {shape!r}")
        if surface is None:
            surface = PLAIN
        if not isinstance(surface, Surface):
            raise ModelError(f"contact_pair: surface must be a Surface, got {surface!r}")
        self._rules = self._rules.join(ContactRules((ContactPair(first, second, surface, name),)))
        return self

    def contact_options(self, **options: Any) -> Self:
        """Set options of all contacts.

        Parameters
        ----------
        **options
            with_parents, enabled, cone, impratio, timestep, integrator and implicit_damping of `ContactRules`.

        Returns
        -------
        Builder
            The builder itself, so that calls can be chained.

        Examples
        --------
        >>> import fourbar as fb
        >>> b = fb.Builder("arm").body("upper", joint=fb.joints.Revolute("y"), mass=1.0, inertia=(0.1, 0.1, 0.1))
        >>> b.contact_options(cone="elliptic", timestep=0.001).build().mechanism.contacts.cone
        'elliptic'
        """
        known = tuple(x.name for x in fields(ContactRules) if x.name not in ("pairs", "excluded"))
        for key in options:
            if key not in known:
                raise ModelError(f"contact_options: {unknown('option', key, known)}")
        self._rules = replace(self._rules, **options)
        return self

    def _add_world(self, shapes: Iterable[Geometry], rules: ContactRules) -> Self:
        self._world |= dict.fromkeys(shapes)
        self._rules = self._rules.join(rules)
        return self

    def _checked_rules(self, bodies: Mapping[str, Body]) -> ContactRules:
        if self._rules == NO_RULES:
            return NO_RULES
        names = {body: {x.name for x in own.geometry} for body, own in bodies.items()}
        names[_WORLD] = {x.name for x in self._world}
        self._rules.check(names, lambda what, body: ModelError(f"{what}: {unknown('body', body, names)}"))
        return self._rules


Names = Collection[str]
Joints = Mapping[str, PlacedJoint]  # by the body that each carries


def check_new_name(kind: str, name: Any, *used: Names) -> None:
    """A body or frame has a name that no other has."""
    if not isinstance(name, str) or not name:
        raise ModelError(f"a {kind} needs a name, a non-empty string; got {name!r}")
    if name == WORLD:
        raise ModelError(f"{WORLD!r} is reserved for the ground; choose another name for the {kind}")
    if any(name in names for names in used):
        raise ModelError(f"there is already a {kind} {name!r}; names must be unique")


def check_references(bodies: Names, joints: Joints, frames: Iterable[Frame]) -> None:
    """Parents and the bodies of frames are there, and each joint carries one body."""
    seen: dict[str, str] = {}
    for c in joints.values():
        if c.parent != WORLD and c.parent not in bodies:
            raise ModelError(f"body {c.child!r}: parent: {unknown('body', c.parent, [WORLD, *bodies])}")
        if c.name in seen:
            raise ModelError(
                f"joint {c.name!r} carries both {seen[c.name]!r} and {c.child!r}; give one of them another joint_name="
            )
        seen[c.name] = c.child
    for f in frames:
        if f.body != WORLD and f.body not in bodies:
            raise ModelError(f"frame {f.name!r}: {unknown('body', f.body, [WORLD, *bodies])}")


def check_loops(bodies: Names, placed: Joints, loops: Iterable[NamedLoop]) -> None:
    """The joints and bodies that loops name are there."""
    joints = [c.name for c in placed.values()]
    for loop in loops:
        for joint in (*loop.loop.joints, *(j for j, _ in loop.independent if joint_of(j, joints) is None)):
            if joint not in joints:
                raise ModelError(f"loop {loop.name!r}: {unknown('joint', joint, joints)}")
        for body in loop.loop.bodies:
            if body != WORLD and body not in bodies:
                raise ModelError(f"loop {loop.name!r}: {unknown('body', body, [WORLD, *bodies])}")


def check_configurations(
    placed: Joints, actuators: Mapping[str, Actuator], configurations: Iterable[Configuration]
) -> None:
    """Named configurations fit their joints and actuators."""
    joints = {c.name: c.joint for c in placed.values()}
    for configuration in configurations:
        what = f"configuration {configuration.name!r}"
        for joint, _ in (*configuration.coordinates, *configuration.velocities):
            if joint not in joints:
                raise ModelError(f"{what}: {unknown('joint', joint, joints)}")
        for joint, q in configuration.coordinates:
            if len(q) != joints[joint].nq:
                raise ModelError(f"{what}: joint {joint!r} has {joints[joint].nq} coordinates, got {len(q)}")
        for joint, v in configuration.velocities:
            if len(v) != joints[joint].nv:
                raise ModelError(f"{what}: joint {joint!r} has {joints[joint].nv} velocities, got {len(v)}")
        for actuator, _ in (*configuration.controls, *configuration.activations):
            if actuator not in actuators:
                raise ModelError(f"{what}: {unknown('actuator', actuator, actuators)}")
        for actuator, _ in configuration.activations:
            if actuators[actuator].dynamics is None:
                raise ModelError(f"{what}: actuator {actuator!r} has no dynamics, and so no activation")


def parents_first(bodies: Names, joints: Joints) -> list[str]:
    """The bodies as declared, but each after its parent."""
    order: list[str] = []
    placed = {WORLD}
    for start in bodies:
        path: list[str] = []
        name = start
        while name not in placed:
            if name in path:
                loop = " -> ".join([*path[path.index(name) :], name])
                raise ModelError(
                    f"the parents of these bodies form a cycle: {loop}. Every body has one parent, and the chain "
                    "of parents ends at 'world'; declare a kinematic loop with loop(...), not through parents"
                )
            path.append(name)
            name = joints[name].parent
        placed.update(path)
        order.extend(reversed(path))
    return order


class ArmatureBuilder:
    """Collects armature blocks by name."""

    def __init__(self) -> None:
        super().__init__()
        self._armatures: dict[str, ArmatureBlock] = {}

    def armature(self, joints: Any, matrix: Any, *, name: str | None = None) -> Self:
        """Add armature that couples joints: a symmetric block of the mass matrix.

        Parameters
        ----------
        joints : sequence of str
            Joints; each has all of its velocities.
        matrix : array_like, shape (n, n)
            Symmetric matrix (kg m², kg m, kg) over their n velocities, without negative eigenvalues. It is added to the
            mass matrix, and to the `armature` of the joints.
        name : str, optional
            Name of the block; by default 'armature' and a number.

        Returns
        -------
        Builder
            The builder itself, so that calls can be chained.

        See Also
        --------
        rotor : A rotor as a body, which is exact.
        fourbar.baselines.reflected_robot : A robot with such blocks in place of its rotors.

        Notes
        -----
        A rotor of inertia I that turns by c · v adds I c cᵀ, the reflected inertia of a transmission (Chignoli §II-C).
        The joints then form one cluster. On spherical, planar and free joints the momentum turns with the joint, as
        that of a body does.

        Examples
        --------
        Two rotors of 1e-4 kg m² drive a knee and an ankle by belts: they turn by 12 knee and 12 (knee + ankle).

        >>> import fourbar as fb
        >>> b = fb.Builder("leg")
        >>> _ = b.body("knee", joint=fb.joints.Revolute("y"), mass=1.0, com=(0, 0, -0.1), inertia=(0.01, 0.01, 0.01))
        >>> _ = b.body("ankle", parent="knee", joint=fb.joints.Revolute("y"), position=(0, 0, -0.3), mass=0.2)
        >>> robot = b.armature(["knee", "ankle"], [[0.0288, 0.0144], [0.0144, 0.0144]], name="belts").build()
        >>> robot.mass_matrix([0.0, 0.0]).round(4)
        array([[0.0668, 0.0144],
               [0.0144, 0.0144]])
        """
        chosen = f"armature{len(self._armatures) + 1}" if name is None else name
        if not isinstance(chosen, str) or not chosen:
            raise ModelError(
                f"the name of an armature must be a non-empty string, got {name!r}; leave it out to have one chosen"
            )
        return self._add_armatures(read_block(chosen, joints, matrix))

    def _add_armatures(self, *blocks: ArmatureBlock) -> Self:
        for block in blocks:
            if block.name in self._armatures:
                raise ModelError(f"there is already an armature {block.name!r}; names must be unique")
            self._armatures[block.name] = block
        return self

    def _checked_armatures(self, joints: Mapping[str, Joint]) -> tuple[ArmatureBlock, ...]:
        check(tuple(self._armatures.values()), joints)
        return tuple(self._armatures.values())


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
        softness: JointSoftness | None = None,
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
        softness : JointSoftness, optional
            How soft limits and dry friction of the joint are under MuJoCo's law (`fb.contact.MuJoCo`).
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
            softness=read_softness(what, softness),
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
        System.constrained : Constraints enforced by forces.

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
        activations: Mapping[str, Any] | None = None,
    ) -> Self:
        """Name a configuration.

        Parameters
        ----------
        name : str
            Name of the configuration.
        coordinates : mapping of str to array_like
            Coordinates (rad, m) by joint; other joints are neutral.
        velocities : mapping of str to array_like, optional
            Velocities (rad/s, m/s) by joint; others are zero. They and what follows are in `Scene.keyframes`.
        controls : mapping of str to float, optional
            Controls by actuator; others are zero.
        activations : mapping of str to float, optional
            Activations by actuator with dynamics; others are zero.

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
        act = read_controls(what, {} if activations is None else activations, "activations")
        self._configurations[name] = Configuration(name, q, v, u, act)
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
            x = configuration
            q, v, u, act = (dict(y) for y in (x.coordinates, x.velocities, x.controls, x.activations))
            self.configuration(x.name, q, velocities=v, controls=u, activations=act)
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
