"""The same worlds in several engines: free bodies with balls on a floor, and a legged robot with foot spheres.

Each engine is a class with `free` and `legged`; both give states and CPU seconds per step. Every engine runs with its
own defaults, one thread, but for what is said where it is set. An engine that is not installed is left out.
"""

from __future__ import annotations

import re
import tempfile
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import mujoco
import numpy as np

import fourbar as fb
from contact_cases import Case, peer_model, peer_state
from fourbar.contact import MuJoCo, Rigid, Shape
from fourbar.convert import matrix_from_quaternion

mj: Any = mujoco
Torque = Callable[[float, Any, Any], Any]  # of t, joint angles and velocities


@dataclass(frozen=True)
class Thing:
    """A free body: mass, moments of inertia, balls (place, radius), where it starts and how it moves (in the world)."""

    mass: float
    inertia: tuple[float, float, float]
    balls: tuple[tuple[tuple[float, float, float], float], ...]
    at: tuple[float, float, float]
    velocity: tuple[float, float, float] = (0.0, 0.0, 0.0)


@dataclass(frozen=True)
class World:
    """Bodies above a floor z = 0; restitution is 0 or 1."""

    things: tuple[Thing, ...]
    gravity: tuple[float, float, float]
    friction: float
    elastic: bool = False


class Motion(NamedTuple):
    """Positions (steps + 1, bodies, 3) and velocities (steps + 1, bodies, 6), linear and angular, or coordinates and
    velocities of a robot as fourbar has them; CPU seconds per step."""

    q: np.ndarray
    v: np.ndarray
    seconds: float


class Ours:
    """fourbar, whole motions in one call."""

    def __init__(self, law: Any) -> None:
        self.law = law

    def free(self, world: World, dt: float, steps: int) -> Motion:
        b = fb.Builder("things", gravity=world.gravity)
        for k, x in enumerate(world.things):
            b.body(f"b{k}", joint=fb.joints.Free(), mass=x.mass, inertia=x.inertia)
        robot = b.build()
        e = 1.0 if world.elastic and isinstance(self.law, Rigid) else None
        law = elastic_law() if world.elastic and e is None else self.law
        shapes = [Shape(f"b{k}", "sphere", r, at, friction=world.friction, restitution=e)
                  for k, x in enumerate(world.things) for at, r in x.balls]  # fmt: skip
        scene = fb.Scene(robot, fb.Plane(friction=world.friction, restitution=e), contacts=shapes, law=law)
        q = np.concatenate([[*x.at, 1.0, 0.0, 0.0, 0.0] for x in world.things])
        v = np.concatenate([[0.0, 0.0, 0.0, *x.velocity] for x in world.things])
        run, seconds = timed(lambda: scene.rollout(q, v, np.zeros((steps, robot.nv)), dt=dt), steps)
        twists = [robot.velocity(run.q, run.v, f"b{k}") for k in range(len(world.things))]
        speeds = [np.concatenate([x[:, 3:], x[:, :3]], axis=1) for x in twists]
        places = run.q.reshape(steps + 1, -1, 7)[:, :, :3]
        return Motion(places, np.stack(speeds, axis=1), seconds)

    def legged(self, case: Case, q: Any, v: Any, torque: Torque, dt: float, steps: int, floor: bool) -> Motion:
        robot = case.robot if floor else case.robot.with_gravity((0.0, 0.0, 0.0))
        terrain = (fb.Plane(friction=0.7),) if floor else ()
        scene = fb.Scene(robot, *terrain, contacts=list(case.feet), pairs="all", law=self.law, limits=False,
                         joint_friction=False)  # fmt: skip
        law = fb.traced(lambda t, q, v: [*[0.0] * 6, *torque(t, q[7:], v[6:])])
        run, seconds = timed(lambda: scene.simulate(q, v, duration=steps * dt, dt=dt, tau=law, period=dt), steps)
        return Motion(run.q, run.v, seconds)


def elastic_law() -> MuJoCo:
    """Springs without damping."""
    return MuJoCo(solref=(-1e4, 0.0), impratio=10.0)


def timed(made: Callable[[], Any], steps: int) -> tuple[Any, float]:
    """What was made, and CPU seconds per step: the least of three."""
    best = np.inf
    for _ in range(3):
        start = time.process_time()
        run = made()
        best = min(best, time.process_time() - start)
    return run, best / steps


class Theirs:
    """MuJoCo, by mj_step."""

    def __init__(self, options: str) -> None:
        self.options = options

    def free(self, world: World, dt: float, steps: int) -> Motion:
        soft = 'solref="-10000 0"' if world.elastic else ""
        surface = f'friction="{world.friction} 0 0" condim="3" {soft}'
        bodies = "".join(
            f'<body pos="{_text(x.at)}"><freejoint/><inertial pos="0 0 0" mass="{x.mass}" '
            f'diaginertia="{_text(x.inertia)}"/>'
            + "".join(f'<geom size="{r}" pos="{_text(at)}" {surface}/>' for at, r in x.balls) + "</body>"
            for x in world.things
        )  # fmt: skip
        scene = (
            f'<mujoco><option timestep="{dt}" gravity="{_text(world.gravity)}" {self.options}/><worldbody>'
            f'<geom type="plane" size="50 50 1" {surface}/>{bodies}</worldbody></mujoco>'
        )
        model = mj.MjModel.from_xml_string(scene)
        data = mj.MjData(model)
        data.qvel.reshape(-1, 6)[:, :3] = [x.velocity for x in world.things]
        places, speeds, spent = [data.qpos.copy()], [data.qvel.copy()], 0.0
        for _ in range(steps):
            start = time.process_time()
            mj.mj_step(model, data)
            spent += time.process_time() - start
            places.append(data.qpos.copy())
            speeds.append(data.qvel.copy())
        n = len(world.things)
        q, v = np.reshape(places, (-1, n, 7)), np.reshape(speeds, (-1, n, 6))
        return Motion(q[:, :, :3], v, spent / steps)

    def legged(self, case: Case, q: Any, v: Any, torque: Torque, dt: float, steps: int, floor: bool) -> Motion:
        model = peer_model(case, self.options)
        model.opt.timestep = dt
        model.geom_contype[:] = model.geom_conaffinity[:] = 1
        if not floor:
            model.opt.gravity[:] = 0.0
            model.geom_contype[0] = model.geom_conaffinity[0] = 0
        data = mj.MjData(model)
        state = peer_state(case, model, q[None], v[None])[0]
        mj.mj_setState(model, data, state, mj.mjtState.mjSTATE_FULLPHYSICS)
        places, speeds, spent = [data.qpos.copy()], [data.qvel.copy()], 0.0
        for k in range(steps):
            data.qfrc_applied[6:] = torque(k * dt, data.qpos[7:], data.qvel[6:])
            start = time.process_time()
            mj.mj_step(model, data)
            spent += time.process_time() - start
            places.append(data.qpos.copy())
            speeds.append(data.qvel.copy())
        found, rates = np.array(places), np.array(speeds)
        R = matrix_from_quaternion(found[:, 3:7])
        own = np.concatenate([rates[:, 3:6], np.einsum("kji,kj->ki", R, rates[:, :3]), rates[:, 6:]], axis=1)
        return Motion(found, own, spent / steps)


def _text(x: Any) -> str:
    return " ".join(str(float(y)) for y in x)


def robot_urdf(case: Case, folder: Path) -> Path:
    """The robot, without shapes of its own, as a URDF with foot spheres; what is free there has no joint."""
    file = folder / "robot.urdf"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        case.robot.save(file)
    text = file.read_text(encoding="utf-8")
    text = re.sub(r'<link name="world"\s*/>|<joint name="root_joint".*?</joint>|<dynamics[^>]*/>', "", text, flags=re.S)
    for foot in case.feet:
        shape = (
            f'<collision><origin xyz="{_text(foot.position)}"/><geometry><sphere radius="{foot.size[0]}"/>'
            "</geometry></collision>"
        )
        pattern = rf'(<link name="{foot.frame}"[^>]*?)(/?)>'
        text = re.sub(pattern, lambda m, s=shape: m[1] + ">" + s + ("</link>" if m[2] else ""), text)
    file.write_text(text, encoding="utf-8")
    return file


class Drake:
    """Drake's discrete plant with compliant points, by Simulator.AdvanceTo; it has no restitution."""

    def _plant(self, dt: float, gravity: Any, friction: float, floor: bool = True) -> tuple[Any, Any, Any]:
        from pydrake.geometry import HalfSpace
        from pydrake.math import RigidTransform
        from pydrake.multibody.plant import AddMultibodyPlantSceneGraph, CoulombFriction
        from pydrake.systems.framework import DiagramBuilder

        builder = DiagramBuilder()
        plant, graph = AddMultibodyPlantSceneGraph(builder, dt)
        plant.mutable_gravity_field().set_gravity_vector(np.array(gravity))
        self.friction = CoulombFriction(friction, friction)
        if floor:
            plant.RegisterCollisionGeometry(plant.world_body(), RigidTransform(), HalfSpace(), "floor", self.friction)
        return builder, plant, graph

    def free(self, world: World, dt: float, steps: int) -> Motion:
        from pydrake.geometry import Sphere
        from pydrake.math import RigidTransform
        from pydrake.multibody.math import SpatialVelocity
        from pydrake.multibody.tree import SpatialInertia, UnitInertia

        builder, plant, _ = self._plant(dt, world.gravity, world.friction)
        bodies = []
        for k, x in enumerate(world.things):
            unit = UnitInertia(*(i / x.mass for i in x.inertia))
            body = plant.AddRigidBody(f"b{k}", SpatialInertia(x.mass, np.zeros(3), unit))
            for i, (at, r) in enumerate(x.balls):
                plant.RegisterCollisionGeometry(body, RigidTransform(np.array(at)), Sphere(r), f"s{i}", self.friction)
            bodies.append(body)
        plant.Finalize()
        simulator, context = _simulator(builder, plant)
        for x, body in zip(world.things, bodies, strict=True):
            plant.SetFreeBodyPose(context, body, RigidTransform(np.array(x.at)))
            plant.SetFreeBodySpatialVelocity(context, body, SpatialVelocity(np.zeros(3), np.array(x.velocity)))

        def seen() -> tuple[Any, Any]:
            at = [plant.EvalBodyPoseInWorld(context, x).translation() for x in bodies]
            twists = [plant.EvalBodySpatialVelocityInWorld(context, x) for x in bodies]
            return at, [[*x.translational(), *x.rotational()] for x in twists]

        return _advanced(simulator, seen, dt, steps, lambda k: None)

    def legged(self, case: Case, q: Any, v: Any, torque: Torque, dt: float, steps: int, floor: bool) -> Motion:
        from pydrake.common.eigen_geometry import Quaternion
        from pydrake.math import RigidTransform
        from pydrake.multibody.math import SpatialVelocity
        from pydrake.multibody.parsing import Parser

        gravity = (0.0, 0.0, -9.81) if floor else (0.0, 0.0, 0.0)
        builder, plant, _ = self._plant(dt, gravity, 0.7, floor)
        with tempfile.TemporaryDirectory() as folder:
            Parser(plant).AddModels(str(robot_urdf(case, Path(folder))))
        names = case.robot.names.velocities[6:]
        joints = [plant.GetJointByName(x) for x in names]
        plant.Finalize()
        simulator, context = _simulator(builder, plant)
        base = plant.GetBodyByName(case.robot.mechanism.joints[0].child)
        w = np.array(q[3:7])
        plant.SetFreeBodyPose(context, base, RigidTransform(Quaternion(w / np.linalg.norm(w)), q[:3]))
        R = matrix_from_quaternion(w[None])[0]
        plant.SetFreeBodySpatialVelocity(context, base, SpatialVelocity(R @ v[:3], R @ v[3:6]))
        for x, at, rate in zip(joints, q[7:], v[6:], strict=True):
            x.set_angle(context, at)
            x.set_angular_rate(context, rate)
        places = [x.velocity_start() for x in joints]
        applied = plant.get_applied_generalized_force_input_port()

        def seen() -> tuple[Any, Any]:
            pose, twist = plant.EvalBodyPoseInWorld(context, base), plant.EvalBodySpatialVelocityInWorld(context, base)
            R = pose.rotation().matrix()
            quaternion = pose.rotation().ToQuaternion().wxyz()
            angles = [x.get_angle(context) for x in joints]
            own = [*(R.T @ twist.rotational()), *(R.T @ twist.translational())]
            return [*pose.translation(), *quaternion, *angles], [*own, *(x.get_angular_rate(context) for x in joints)]

        def driven(k: int) -> None:
            at, rates = seen()
            force = np.zeros(plant.num_velocities())
            force[places] = torque(k * dt, np.array(at[7:]), np.array(rates[6:]))
            applied.FixValue(context, force)

        return _advanced(simulator, seen, dt, steps, driven)


def _simulator(builder: Any, plant: Any) -> tuple[Any, Any]:
    from pydrake.systems.analysis import Simulator

    diagram = builder.Build()
    simulator = Simulator(diagram)
    return simulator, plant.GetMyMutableContextFromRoot(simulator.get_mutable_context())


def _advanced(simulator: Any, seen: Any, dt: float, steps: int, driven: Any) -> Motion:
    rows, spent = [seen()], 0.0
    simulator.Initialize()
    for k in range(steps):
        driven(k)
        start = time.process_time()
        simulator.AdvanceTo((k + 1) * dt)
        spent += time.process_time() - start
        rows.append(seen())
    return Motion(np.array([x for x, _ in rows]), np.array([x for _, x in rows]), spent / steps)


class Bullet:
    """PyBullet, by stepSimulation; friction of two bodies is the product of theirs, so that the floor has 1."""

    def _begin(self, dt: float, gravity: Any, floor: bool, elastic: bool = False) -> Any:
        import pybullet as p

        p.connect(p.DIRECT)
        p.resetSimulation()
        p.setTimeStep(dt)
        p.setGravity(*gravity)
        if floor:
            body = p.createMultiBody(0.0, p.createCollisionShape(p.GEOM_PLANE))
            p.changeDynamics(body, -1, lateralFriction=1.0, restitution=float(elastic))
        return p

    def free(self, world: World, dt: float, steps: int) -> Motion:
        p = self._begin(dt, world.gravity, True, world.elastic)
        bodies = []
        for x in world.things:
            radii, places = [r for _, r in x.balls], [list(at) for at, _ in x.balls]
            shape = p.createCollisionShapeArray([p.GEOM_SPHERE] * len(radii), radii=radii,
                                                collisionFramePositions=places) if len(radii) > 1 else \
                p.createCollisionShape(p.GEOM_SPHERE, radius=radii[0])  # fmt: skip
            body = p.createMultiBody(x.mass, shape, basePosition=list(x.at))
            p.changeDynamics(body, -1, lateralFriction=world.friction, restitution=float(world.elastic),
                             linearDamping=0.0, angularDamping=0.0, localInertiaDiagonal=list(x.inertia),
                             activationState=p.ACTIVATION_STATE_DISABLE_SLEEPING)  # fmt: skip
            p.resetBaseVelocity(body, list(x.velocity))
            bodies.append(body)

        def seen() -> tuple[Any, Any]:
            at = [p.getBasePositionAndOrientation(x)[0] for x in bodies]
            return at, [[*linear, *angular] for linear, angular in map(p.getBaseVelocity, bodies)]

        return self._stepped(p, seen, steps, lambda k: None)

    def legged(self, case: Case, q: Any, v: Any, torque: Torque, dt: float, steps: int, floor: bool) -> Motion:
        p = self._begin(dt, (0.0, 0.0, -9.81) if floor else (0.0, 0.0, 0.0), floor)
        with tempfile.TemporaryDirectory() as folder:
            flags = p.URDF_USE_INERTIA_FROM_FILE | p.URDF_USE_SELF_COLLISION
            body = p.loadURDF(str(robot_urdf(case, Path(folder))), flags=flags)
        by_name = {p.getJointInfo(body, k)[1].decode(): k for k in range(p.getNumJoints(body))}
        joints = [by_name[x] for x in case.robot.names.velocities[6:]]
        for k in range(-1, p.getNumJoints(body)):
            p.changeDynamics(body, k, lateralFriction=0.7, linearDamping=0.0, angularDamping=0.0, jointDamping=0.0,
                             activationState=p.ACTIVATION_STATE_DISABLE_SLEEPING)  # fmt: skip
        at, turn = p.getDynamicsInfo(body, -1)[3:5]  # of the inertial frame, by which a base is placed
        R = matrix_from_quaternion(np.array(q[3:7])[None])[0]
        xyzw = _product(np.array(q[3:7]), np.array([turn[3], *turn[:3]]))[[1, 2, 3, 0]]
        p.resetBasePositionAndOrientation(body, q[:3] + R @ at, xyzw)
        w = R @ v[:3]
        p.resetBaseVelocity(body, R @ v[3:6] + np.cross(w, R @ at), w)
        for k, x, rate in zip(joints, q[7:], v[6:], strict=True):
            p.resetJointState(body, k, x, rate)
        p.setJointMotorControlArray(body, joints, p.VELOCITY_CONTROL, forces=[0.0] * len(joints))

        def seen() -> tuple[Any, Any]:
            place, xyzw = p.getBasePositionAndOrientation(body)
            linear, w = p.getBaseVelocity(body)
            own = _product(np.array([xyzw[3], *xyzw[:3]]), np.array([turn[3], *(-x for x in turn[:3])]))
            R = matrix_from_quaternion(own[None])[0]
            states = p.getJointStates(body, joints)
            rates = [*(R.T @ w), *(R.T @ (np.array(linear) - np.cross(w, R @ at))), *(x[1] for x in states)]
            return [*(np.array(place) - R @ at), *own, *(x[0] for x in states)], rates

        def driven(k: int) -> None:
            now, rates = seen()
            force = torque(k * dt, np.array(now[7:]), np.array(rates[6:]))
            p.setJointMotorControlArray(body, joints, p.TORQUE_CONTROL, forces=list(force))

        return self._stepped(p, seen, steps, driven)

    @staticmethod
    def _stepped(p: Any, seen: Any, steps: int, driven: Any) -> Motion:
        rows, spent = [seen()], 0.0
        for k in range(steps):
            driven(k)
            start = time.process_time()
            p.stepSimulation()
            spent += time.process_time() - start
            rows.append(seen())
        p.disconnect()
        return Motion(np.array([x for x, _ in rows]), np.array([x for _, x in rows]), spent / steps)


def _product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Of two quaternions."""
    w, u = a[0] * b[0] - a[1:] @ b[1:], a[0] * b[1:] + b[0] * a[1:] + np.cross(a[1:], b[1:])
    return np.array([w, *u])


ELLIPTIC = 'cone="elliptic" impratio="10" tolerance="1e-12"'
ENGINES: dict[str, Any] = {
    "fourbar, rigid": Ours(Rigid()),
    "fourbar, MuJoCo's law": Ours(MuJoCo(impratio=10.0)),
    "MuJoCo, elliptic": Theirs(ELLIPTIC),
    "MuJoCo, default": Theirs(""),
}
if find_spec("pydrake") is not None:
    ENGINES["Drake"] = Drake()
if find_spec("pybullet") is not None:
    ENGINES["PyBullet"] = Bullet()
