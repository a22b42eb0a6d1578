"""Simulations of scenes on the command line, with contacts or with joint limits alone: scene, start, table."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from ..contact import Plane
from ..errors import ArgumentError, FourbarError
from ..mechanism.contact_pairs import touches_world
from ..sim.motions.run import Run
from ..sim.scenes.scene import Scene
from ..sim.scenes.scene_start import free_roots, home, poses_at
from ..spatial.transform import IDENTITY
from ..system.system import System
from ..tree.cluster_tree import GROUND
from . import shared_arguments

_SHOWN = 6  # bodies in a row of the table
_BELOW = 0.2  # of the size of a robot: how far below its lowest point the ground is
_MOST_POINTS, _NEAR = 24, 1e-3  # of a robot without shapes; metres within which two are one
_CALM = 0.2  # seconds in which a joint without damping comes to rest by itself


@dataclass(frozen=True)
class GroundOptions:
    """The requested ground: a plane at a height (None: where it suits the robot), and its friction (None: 0.8)."""

    asked: bool = False
    height: float | None = None
    friction: float | None = None


@dataclass(frozen=True)
class ContactSimulation:
    """A simulation with contacts; `height` is that of a requested plane."""

    scene: Scene
    run: Run
    steps: int
    seconds: float
    energy: np.ndarray
    height: float | None
    calmed: bool = False


def up_of(robot: System) -> np.ndarray:
    """The direction against gravity; z without gravity."""
    g = np.array(robot.mechanism.gravity, float)
    return -g / np.linalg.norm(g) if g.any() else np.array([0.0, 0.0, 1.0])


def touches(robot: System, ground: GroundOptions) -> bool:
    """Whether contacts are to be simulated: with a ground, or with shapes of the world in the file."""
    return ground.asked or touches_world(robot.mechanism)


def build(robot: System, ground: GroundOptions, hanging: np.ndarray) -> tuple[Scene, np.ndarray, float | None]:
    """The scene, the configuration at the start, and the height of the ground where one was asked for.

    What moves freely is put on the ground; what does not starts at `hanging`, or at a configuration of its file, with
    the ground a little below.
    """
    if not ground.asked:
        scene = Scene(robot)
        named = bool(robot.mechanism.configurations)
        return scene, home(robot) if named else scene.start(), None
    contacts = None if _collides(robot) else _points(robot)
    height = 0.0 if ground.height is None else ground.height
    scene = _on(robot, ground, height, contacts)
    if free_roots(robot):  # so that it can be put on the ground
        return scene, scene.start(), height
    q = home(robot) if robot.mechanism.configurations else hanging
    if ground.height is None:
        origins = np.asarray(robot.poses(q))[:, :3, 3]
        height = _lowest(scene, q) - _BELOW * float(np.linalg.norm(np.ptp(origins, axis=0)))
        scene = _on(robot, ground, height, contacts)
    return scene, q, height


def _on(robot: System, ground: GroundOptions, height: float, contacts: list[str] | None) -> Scene:
    up = up_of(robot)
    friction = 0.8 if ground.friction is None else ground.friction
    return Scene(robot, Plane(friction, tuple(height * up), tuple(up)), contacts=contacts)


def _collides(robot: System) -> bool:
    return any(x.role == "collision" for body in robot.mechanism.bodies for x in body.geometry)


def _points(robot: System) -> list[str]:
    """Where a robot without collision shapes touches: its frames, and the origins of its bodies, that move."""
    tree, q = robot.model.cluster_tree, home(robot)
    moving = [name for name in robot.names.frames if tree.frames[name].link != GROUND][-_MOST_POINTS:]
    places = [robot.pose(q, name)[:3, 3] for name in moving]
    hinged = {i for i, parent in enumerate(tree.spanning_tree.parents) if parent == GROUND} - set(free_roots(robot))
    for name in robot.names.bodies:
        place, link = robot.pose(q, name)[:3, 3], tree.bodies[name].link
        near = any(float(np.linalg.norm(place - x)) < _NEAR for x in places)
        if link != GROUND and link not in hinged and not near and len(moving) < _MOST_POINTS:
            moving.append(name)
            places.append(place)
    return moving or [robot.names.bodies[-1]]


def _lowest(scene: Scene, q: np.ndarray) -> float:
    """The height of the lowest shape above the plane of a scene at height zero."""
    poses = poses_at(scene.robot, q)
    own = [x for x in scene.spec.candidates if x.links[1] == GROUND]
    return min((float(x.geometry.touch(poses[x.links[0]], IDENTITY).gap) for x in own), default=0.0)


def add_damping(robot: System, q: np.ndarray) -> System:
    """The robot with damping in the joints that have none: a limp robot would spin ever faster than steps resolve."""
    inertias = np.diag(robot.mass_matrix(q))
    joints = {c.name: c for c in robot.model.cluster_tree.moving}
    joint_damping = {}
    for name, inertia in zip(robot.names.velocities, inertias, strict=True):
        if name in joints and not any(joints[name].damping):
            joint_damping[name] = {"damping": float(inertia) / _CALM}
    return robot.with_parameters(joints=joint_damping) if joint_damping else robot


def _simulate(
    scene: Scene,
    start: tuple[np.ndarray, np.ndarray],
    duration: float,
    dt: float,
    every: int,
    progress: Callable[[Iterable[int]], Iterator[int]],
) -> tuple[Run, float]:
    """Simulate from q and v, compiling before the clock starts; the motion, and the seconds that it took."""
    scene.rollout(start[0], steps=1, dt=dt)
    begin = time.perf_counter()
    run = scene.simulate(*start, duration=duration, dt=dt, every=every, progress=progress)
    seconds = time.perf_counter() - begin
    if run.diverged.any():
        last = run.t[np.isfinite(run.q).all(axis=-1)][-1]
        raise FourbarError(f"the simulation diverged after {last:g} s; try a shorter step than --dt {dt:g} s")
    return run, seconds


def measure_contacts(
    robot: System,
    ground: GroundOptions,
    hanging: np.ndarray,
    duration: float,
    dt: float,
    every: int,
    progress: Callable[[Iterable[int]], Iterator[int]],
) -> ContactSimulation:
    """Simulate a robot on its ground from rest."""
    scene, q, height = build(robot, ground, hanging)
    if not scene.contacts:
        raise FourbarError(
            f"{robot.name}: no shape of the robot can touch anything; add collision shapes to the file, or leave out "
            "--ground"
        )
    run, seconds = _simulate(scene, (q, np.zeros(robot.nv)), duration, dt, every, progress)
    energy = robot.kinetic_energy(run.q, run.v) + robot.potential_energy(run.q) + robot.spring_energy(run.q)
    return ContactSimulation(scene, run, max(1, round(duration / dt)), seconds, energy, height)


def by_body(touched: ContactSimulation) -> dict[str, np.ndarray]:
    """The force (n, 3) on each body that touched, the one with the largest force first."""
    names = body_names(touched.scene)
    forces: dict[str, np.ndarray] = {}
    for k, body in enumerate(names):
        own = touched.run.contacts.force[:, k]
        forces[body] = forces[body] + own if body in forces else own.copy()
    size = {body: float(np.linalg.norm(force, axis=1).max()) for body, force in forces.items()}
    return {body: forces[body] for body in sorted(forces, key=lambda x: -size[x]) if size[body] > 0.0}


def body_names(scene: Scene) -> list[str]:
    """For each contact the first body of the link that touches."""
    tree = scene.robot.model.cluster_tree
    first: dict[int, str] = {}
    for name, home_of in tree.bodies.items():
        first.setdefault(home_of.link, name)
    return [first[x.links[0]] for x in scene.spec.candidates]


def contact_rows(robot: System, touched: ContactSimulation, dt: float) -> list[tuple[str, str]]:
    """The table."""
    run, scene = touched.run, touched.scene
    up = up_of(robot)
    late = int((run.residual > scene.spec.tolerance).sum())
    forces = by_body(touched)
    pressing = {body: float(force[-1] @ up) for body, force in forces.items() if np.any(force[-1])}
    weight = sum(body.mass for body in robot.mechanism.bodies) * float(np.linalg.norm(robot.mechanism.gravity))
    shown = ", ".join(f"{body} {force:.3g} N" for body, force in list(pressing.items())[:_SHOWN])
    others = f" and {len(pressing) - _SHOWN} more" if len(pressing) > _SHOWN else ""
    gap = float(robot.loop_gap(run.q).max())
    ground = [] if touched.height is None else [("ground", _ground(touched))]
    lost = touched.energy[0] - touched.energy[-1]
    return [
        ("robot", f"{robot.name} ({len(robot.names.bodies)} bodies, nv = {robot.nv})"),
        *ground,
        *(
            [("joint damping", f"added where there was none: joints calm down in {_CALM:g} s")]
            if touched.calmed
            else []
        ),
        ("contacts", f"{len(scene.contacts)} points of {len(set(body_names(scene)))} bodies, law: rigid"),
        ("steps", f"{touched.steps} of {shared_arguments.duration(dt)}"),
        ("time per step", shared_arguments.duration(touched.seconds / touched.steps)),
        ("residual", f"{run.worst.max():.1e} m/s at most" + (f", unsolved in {late} records" if late else "")),
        ("penetration", f"{max(0.0, -float(np.nanmin(run.contacts.gap))) * 1e3:.2g} mm at most"),
        ("energy lost", f"{lost:.4g} J"),
        ("touching at the end", f"{shown}{others} (weight {weight:.4g} N)" if pressing else "nothing"),
        *([("loop gap", f"{gap:.1e} at most")] if robot.nq > robot.nv and robot.mechanism.loops else []),
    ]


def _ground(touched: ContactSimulation) -> str:
    return f"height {touched.height:.4g} m, friction {touched.scene.friction.max():.3g}"


@dataclass(frozen=True)
class LimitSimulation:
    """A simulation with joint limits; `energy` (n), and `drift`, its change over the largest kinetic energy."""

    trajectory: Run
    steps: int
    seconds: float
    energy: np.ndarray
    drift: np.ndarray


def measure_limits(
    robot: System,
    start: tuple[np.ndarray, np.ndarray],
    duration: float,
    dt: float,
    every: int,
    progress: Callable[[Iterable[int]], Iterator[int]],
) -> LimitSimulation:
    """Simulate a robot whose joints stop at their limits, without a ground."""
    if not _has_limits(robot):
        raise ArgumentError(f"--limits: no joint of {robot.name} has limits; leave it out")
    scene = Scene(robot, contacts=[], pairs=[])
    run, seconds = _simulate(scene, start, duration, dt, every, progress)
    kinetic = robot.kinetic_energy(run.q, run.v)
    energy = kinetic + robot.potential_energy(run.q) + robot.spring_energy(run.q)
    drift = (energy - energy[0]) / (kinetic.max() or 1.0)
    return LimitSimulation(run, max(1, round(duration / dt)), seconds, energy, drift)


def _has_limits(robot: System) -> bool:
    return any(np.isfinite(x) for c in robot.model.cluster_tree.moving for x in (*c.lower, *c.upper))


def limit_rows(robot: System, stopped: LimitSimulation, dt: float) -> list[tuple[str, str]]:
    """The table."""
    run = stopped.trajectory
    at_rest = bool(np.abs(run.v[-1]).max() < 1e-3)
    gap = float(robot.loop_gap(run.q).max())
    return [
        ("robot", f"{robot.name} ({len(robot.names.bodies)} bodies, nv = {robot.nv})"),
        ("joint limits", "joints stop at them without bouncing"),
        ("steps", f"{stopped.steps} of {shared_arguments.duration(dt)}"),
        ("time per step", shared_arguments.duration(stopped.seconds / stopped.steps)),
        ("residual", f"{run.worst.max():.1e} m/s or rad/s at most"),
        (
            "energy lost",
            f"{stopped.energy[0] - stopped.energy[-1]:.4g} J, at limits and by damping, friction and steps",
        ),
        ("at the end", "at rest" if at_rest else "moving"),
        *([("loop gap", f"{gap:.1e} at most")] if robot.nq > robot.nv and robot.mechanism.loops else []),
    ]
