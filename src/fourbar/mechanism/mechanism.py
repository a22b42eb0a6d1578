"""`Mechanism`: what a robot is made of, as frozen data by name. Nothing here computes dynamics."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..constraints.loop import Loop
from ..joints.base import Joint
from .contact_rules import NO_RULES, ContactRules
from .placement import Matrix, Placement, Three

if TYPE_CHECKING:
    from .actuators import Actuator
    from .armature_blocks import ArmatureBlock
    from .contact import JointSoftness
    from .fluid import Fluid
    from .geometry import Geometry

WORLD = "world"


@dataclass(frozen=True)
class Body:
    """A rigid body: mass, centre of mass, rotational inertia about the centre of mass, in the body's own frame.

    `geometry` is what it looks like and collides with. `gravity_compensation` is the fraction of its weight that a
    passive force at its centre of mass carries. `fluid` is that in which it moves, if any.
    """

    name: str
    mass: float
    com: Three
    inertia: Matrix
    geometry: tuple[Geometry, ...] = ()
    gravity_compensation: float = 0.0
    fluid: Fluid | None = None


@dataclass(frozen=True)
class PlacedJoint:
    """The joint that carries a body: where it sits on the parent body, and its parameters (one entry per coordinate).

    `stiffness` (one entry per velocity) is that of a spring at rest at the coordinates `rest`; empty without a spring.
    `max_force` and `max_velocity` bound what moves the joint (infinite where nothing does); one entry per velocity. The
    force is also bounded by `min_force`, or by -max_force where that is empty. `softness` of limits and dry friction
    is of MuJoCo's law alone.
    """

    name: str
    joint: Joint
    parent: str
    child: str
    placement: Placement
    armature: tuple[float, ...]
    damping: tuple[float, ...]
    friction: tuple[float, ...]
    lower: tuple[float, ...]
    upper: tuple[float, ...]
    stiffness: tuple[float, ...] = ()
    rest: tuple[float, ...] = ()
    max_force: tuple[float, ...] = ()
    max_velocity: tuple[float, ...] = ()
    min_force: tuple[float, ...] = ()
    softness: JointSoftness | None = None


@dataclass(frozen=True)
class Frame:
    """A named place on a body."""

    name: str
    body: str
    placement: Placement


@dataclass(frozen=True)
class NamedLoop:
    """A loop by name, and the velocities that should be independent: (name, joint velocity per unit).

    A name is that of a joint, which means all of its velocities, or of one of its velocities, "joint.vx".
    """

    name: str
    loop: Loop
    independent: tuple[tuple[str, float], ...] = ()


def velocity_names(name: str, joint: Joint) -> tuple[str, ...]:
    """The names of a joint's velocities: the joint's own name if it has only one."""
    return tuple(f"{name}.{suffix}" if suffix else name for suffix in joint.v_names)


def joint_of(velocity: str, joints: Container[str]) -> str | None:
    """The joint that the name of a joint or of one of its velocities belongs to."""
    if velocity in joints:
        return velocity
    ends = (n for n, letter in enumerate(velocity) if letter == ".")
    return next((velocity[:n] for n in ends if velocity[:n] in joints), None)


@dataclass(frozen=True)
class Configuration:
    """A configuration by name: the coordinates of joints, (joint, q). Joints that are not listed are neutral.

    A keyframe of a file may have velocities too, (joint, v), controls, (actuator, u), and activations, (actuator, act);
    others are zero.
    """

    name: str
    coordinates: tuple[tuple[str, tuple[float, ...]], ...]
    velocities: tuple[tuple[str, tuple[float, ...]], ...] = ()
    controls: tuple[tuple[str, float], ...] = ()
    activations: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True)
class Mechanism:
    """Bodies, each with the joint that carries it, parents first; frames; gravity; loops; named configurations;
    actuators; shapes fixed in the world, such as a floor; which shapes may touch; armature that couples joints.

    Loops are closed as near as possible to the first of the configurations, else to the neutral one.
    """

    name: str
    bodies: tuple[Body, ...]
    joints: tuple[PlacedJoint, ...]
    frames: tuple[Frame, ...]
    gravity: Three
    loops: tuple[NamedLoop, ...] = ()
    configurations: tuple[Configuration, ...] = ()
    actuators: tuple[Actuator, ...] = ()
    world: tuple[Geometry, ...] = ()
    contacts: ContactRules = NO_RULES
    armatures: tuple[ArmatureBlock, ...] = ()


__all__ = [
    "WORLD", "Body", "Configuration", "Frame", "Matrix", "Mechanism", "NamedLoop", "PlacedJoint", "Placement", "Three",
    "joint_of", "velocity_names",
]  # fmt: skip
