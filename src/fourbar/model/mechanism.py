"""`Mechanism`: what a robot is made of, as frozen data by name. Nothing here computes dynamics."""

from __future__ import annotations

from dataclasses import dataclass

from ..joints.base import Joint
from ..loops.base import Loop

WORLD = "world"
Three = tuple[float, float, float]
Matrix = tuple[Three, Three, Three]


@dataclass(frozen=True)
class Placement:
    """A constant pose: rotation matrix and position."""

    rotation: Matrix = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
    position: Three = (0.0, 0.0, 0.0)


@dataclass(frozen=True)
class Body:
    """A rigid body: mass, centre of mass, rotational inertia about the centre of mass, in the body's own frame."""

    name: str
    mass: float
    com: Three
    inertia: Matrix


@dataclass(frozen=True)
class Connection:
    """The joint that carries a body: where it sits on the parent body, and its parameters (one entry a coordinate).

    `stiffness` (one entry a velocity) is that of a spring at rest at the coordinates `rest`; empty without a spring.
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


@dataclass(frozen=True)
class Frame:
    """A named place on a body."""

    name: str
    body: str
    placement: Placement


@dataclass(frozen=True)
class NamedLoop:
    """A loop by name, and the joints whose velocities it should leave independent: (joint, joint velocity a unit)."""

    name: str
    loop: Loop
    independent: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True)
class Configuration:
    """A configuration by name: the coordinates of joints, (joint, q). Joints that are not listed are neutral."""

    name: str
    coordinates: tuple[tuple[str, tuple[float, ...]], ...]


@dataclass(frozen=True)
class Mechanism:
    """Bodies, each with the connection that carries it, parents first; frames; loops; gravity; named configurations.

    Loops are closed as near as possible to the first of the configurations, else to the neutral one.
    """

    name: str
    bodies: tuple[Body, ...]
    connections: tuple[Connection, ...]
    frames: tuple[Frame, ...]
    gravity: Three
    loops: tuple[NamedLoop, ...] = ()
    configurations: tuple[Configuration, ...] = ()
