"""Building a mechanism body by body. All checks that need the complete mechanism happen in `mechanism()`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from ..constraints.loop import Loop
from ..errors import ModelError, unknown
from ..joints.base import Joint
from ..joints.fixed import Fixed
from ..joints.one_axis import Revolute
from ..spatial.inertia import unphysical
from . import actuators
from .mechanism import WORLD, Actuator, Body, Configuration, Frame, Mechanism, NamedLoop, PlacedJoint, joint_of
from .validate import (
    as_matrix,
    read_coordinates,
    read_drive,
    read_geometry,
    read_independent,
    read_inertia,
    read_limits,
    read_number,
    read_per_velocity,
    read_placement,
    read_spring,
    read_three,
)

if TYPE_CHECKING:
    from ..constraints.closures import Closure


class Builder:
    """Collects bodies, joints and frames by name.

    >>> b = Builder("pendulum")
    >>> b.body("rod", joint=Revolute("y"), mass=1.0, com=(0, 0, -0.5), inertia=(0.083, 0.083, 0))
    >>> mechanism = b.mechanism()
    """

    def __init__(self, name: str = "robot", gravity: Any = (0.0, 0.0, -9.81)) -> None:
        self.name = name
        self._gravity = read_three("gravity", gravity)
        self._bodies: dict[str, Body] = {}
        self._connections: dict[str, PlacedJoint] = {}
        self._frames: dict[str, Frame] = {}
        self._loops: dict[str, NamedLoop] = {}
        self._configurations: dict[str, Configuration] = {}
        self._actuators: dict[str, Actuator] = {}

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
        geometry: Any = (),
        allow_unphysical: bool = False,
    ) -> Builder:
        """Add a body and the joint that carries it.

        The joint sits at `position` / `rotation` (3 x 3 or quaternion) or `rpy` in the parent's frame; at q = neutral
        the body's frame coincides with it. `com` and `inertia` (about the com: 3 principal moments, 6 numbers xx xy xz
        yy yz zz, or 3 x 3) are in the body's frame. `armature` adds to the diagonal of the mass matrix. No part of the
        rigid-body dynamics are `damping` and `stiffness` of a spring that is at rest at the coordinates `rest` (neutral
        if None), whose forces `System.passive_forces` gives, and what is only kept: `friction`, `limits` (lower,
        upper), `max_force` and `max_velocity` of the drive, and `geometry`, a list of `Geometry`.
        `allow_unphysical` accepts an inertia that no distribution of mass has. Without `joint` the body is fixed.
        """
        what = f"body {name!r}"
        self._check_new_name("body", name)
        if not isinstance(parent, str) or not isinstance(joint_name, str | None):
            raise ModelError(f"{what}: parent and joint_name must be names, got {parent!r} and {joint_name!r}")
        joint = Fixed() if joint is None else joint
        if not isinstance(joint, Joint):
            raise ModelError(f"{what}: joint must be a joint such as Revolute('z'), got {joint!r}")
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
            **read_drive(what, joint.nv, max_force, max_velocity),
        )
        self._bodies[name] = self._body(name, mass, com, inertia, geometry, allow_unphysical)
        self._connections[name] = connection
        return self

    def _body(self, name: str, mass: Any, com: Any, inertia: Any, geometry: Any, allow_unphysical: bool) -> Body:
        what = f"body {name!r}"
        tensor = read_inertia(f"{what}, inertia", inertia)
        weight = read_number(f"{what}, mass", mass)
        problem = unphysical(weight, tensor)
        if problem is not None and not (allow_unphysical and weight >= 0.0):
            raise ModelError(f"{what}: {problem}")
        centre, shapes = read_three(f"{what}, com", com), read_geometry(what, geometry)
        return Body(name, weight, centre, as_matrix(0.5 * (tensor + tensor.T)), shapes)

    def frame(
        self, name: str, body: str, *, position: Any = (0.0, 0.0, 0.0), rotation: Any = None, rpy: Any = None
    ) -> Builder:
        """Add a named place on a body (or on the world)."""
        self._check_new_name("frame", name)
        if not isinstance(body, str):
            raise ModelError(f"frame {name!r}: body must be a name, got {body!r}")
        self._frames[name] = Frame(name, body, read_placement(f"frame {name!r}", position, rotation, rpy))
        return self

    def loop(self, loop: Loop, *, name: str | None = None, independent: Any = ()) -> Builder:
        """Close a loop: a gear, a coupling, a joint between two bodies, a function (see `fourbar.constraints`).

        `independent`: joints whose velocities are to be the independent ones, a list of names, or a mapping from name
        to the joint velocity for a unit of the independent one. Of a joint with several velocities all are meant, or
        one: "platform.vx". Without it they are chosen where the loop is closed.
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

    def configuration(self, name: str, coordinates: Mapping[str, Any]) -> Builder:
        """Name a configuration: coordinates by joint, the others neutral. The first one says near which to close loops.

        It need not be closed: `System.configurations` has the nearest closed one.
        """
        if not isinstance(name, str) or not name or name in self._configurations:
            raise ModelError(f"a configuration needs a unique name, a non-empty string; got {name!r}")
        if not isinstance(coordinates, Mapping):
            raise ModelError(f"configuration {name!r}: expected coordinates by joint, got {coordinates!r}")
        what = f"configuration {name!r}, joint"
        read = tuple((str(j), read_coordinates(f"{what} {j!r}", q)) for j, q in coordinates.items())
        self._configurations[name] = Configuration(name, read)
        return self

    def actuator(
        self,
        name: str,
        *,
        drives: Any,
        gear: Any = 1.0,
        axes: str = "child",
        control_range: Any = None,
        force_range: Any = None,
        kind: str = "motor",
        parameters: Any = None,
    ) -> Builder:
        """Add an actuator that moves joints: its force times gear is the force on the joint.

        `drives`: a joint, with `gear` a number or one for each of its velocities; or gear ratios by joint, as of a
        tendon that runs over several, {"knee": 9.0, "ankle": -2.0}; or a list of `Drive`. `axes="parent"`: the gear of
        a ball or free joint stays in the parent's axes. The ranges are pairs; `kind` and `parameters` (numbers by name)
        say how force comes from control, and are only carried.
        """
        made = actuators.make(name, drives, gear, axes, control_range, force_range, kind, parameters)
        return self._add_actuator(made)

    def _add_actuator(self, actuator: Actuator) -> Builder:
        if actuator.name in self._actuators:
            raise ModelError(f"there is already an actuator {actuator.name!r}; names must be unique")
        self._actuators[actuator.name] = actuator
        return self

    def motor(
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
    ) -> Builder:
        """Add the rotor of a geared motor: a body on `parent` that turns `ratio` times as fast as joint `drives`."""
        from ..constraints.gears import Gear

        self.body(
            name, parent=parent, joint=Revolute(axis), position=position, rotation=rotation, rpy=rpy, mass=mass,
            com=com, inertia=inertia,
        )  # fmt: skip
        return self.loop(Gear(drives, name, ratio), name=f"{name}_gear", independent=[drives])

    def include(self, mechanism: Mechanism) -> Builder:
        """Add all bodies, frames, loops, configurations and actuators of a mechanism; name and gravity are left."""
        for body, c in zip(mechanism.bodies, mechanism.joints, strict=True):
            self._check_new_name("body", body.name)
            self._bodies[body.name], self._connections[body.name] = body, c
        for frame in mechanism.frames:
            self._check_new_name("frame", frame.name)
            self._frames[frame.name] = frame
        for loop in mechanism.loops:
            if loop.name in self._loops:
                raise ModelError(f"there is already a loop {loop.name!r}; names must be unique")
            self._loops[loop.name] = loop
        for configuration in mechanism.configurations:
            self.configuration(configuration.name, dict(configuration.coordinates))
        for actuator in mechanism.actuators:
            self._add_actuator(actuator)
        return self

    def _check_new_name(self, kind: str, name: Any) -> None:
        if not isinstance(name, str) or not name:
            raise ModelError(f"a {kind} needs a name, a non-empty string; got {name!r}")
        if name == WORLD:
            raise ModelError(f"{WORLD!r} is reserved for the ground; choose another name for the {kind}")
        if name in self._bodies or name in self._frames:
            raise ModelError(f"there is already a {kind} {name!r}; names must be unique")

    def mechanism(self) -> Mechanism:
        """The finished mechanism, checked as a whole."""
        if not self._bodies:
            raise ModelError(f"mechanism {self.name!r} has no bodies; add one with body(...)")
        self._check_references()
        self._check_loops()
        self._check_configurations()
        actuators.check(self._actuators.values(), {c.name: c.joint for c in self._connections.values()})
        order = self._parents_first()
        return Mechanism(
            self.name,
            tuple(self._bodies[name] for name in order),
            tuple(self._connections[name] for name in order),
            tuple(self._frames.values()),
            self._gravity,
            tuple(self._loops.values()),
            tuple(self._configurations.values()),
            tuple(self._actuators.values()),
        )

    def _check_references(self) -> None:
        seen: dict[str, str] = {}
        for c in self._connections.values():
            if c.parent != WORLD and c.parent not in self._bodies:
                raise ModelError(f"body {c.child!r}: parent: {unknown('body', c.parent, [WORLD, *self._bodies])}")
            if c.name in seen:
                raise ModelError(
                    f"joint {c.name!r} carries both {seen[c.name]!r} and {c.child!r}; give one of them another "
                    "joint_name="
                )
            seen[c.name] = c.child
        for f in self._frames.values():
            if f.body != WORLD and f.body not in self._bodies:
                raise ModelError(f"frame {f.name!r}: {unknown('body', f.body, [WORLD, *self._bodies])}")

    def _check_loops(self) -> None:
        joints = [c.name for c in self._connections.values()]
        for loop in self._loops.values():
            for joint in (*loop.loop.joints, *(j for j, _ in loop.independent if joint_of(j, joints) is None)):
                if joint not in joints:
                    raise ModelError(f"loop {loop.name!r}: {unknown('joint', joint, joints)}")
            for body in loop.loop.bodies:
                if body != WORLD and body not in self._bodies:
                    raise ModelError(f"loop {loop.name!r}: {unknown('body', body, [WORLD, *self._bodies])}")

    def _check_configurations(self) -> None:
        joints = {c.name: c.joint for c in self._connections.values()}
        for configuration in self._configurations.values():
            for joint, q in configuration.coordinates:
                if joint not in joints:
                    raise ModelError(f"configuration {configuration.name!r}: {unknown('joint', joint, joints)}")
                if len(q) != joints[joint].nq:
                    raise ModelError(
                        f"configuration {configuration.name!r}: joint {joint!r} has {joints[joint].nq} coordinates, "
                        f"got {len(q)}"
                    )

    def _parents_first(self) -> list[str]:
        """The bodies as declared, but each after its parent."""
        order: list[str] = []
        placed = {WORLD}
        for start in self._bodies:
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
                name = self._connections[name].parent
            placed.update(path)
            order.extend(reversed(path))
        return order
