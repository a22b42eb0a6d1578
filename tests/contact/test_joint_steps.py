"""A step over the joints beside the step that forms the matrix of all rows: the same motion, found in two ways."""

from __future__ import annotations

from collections.abc import Callable

import mpmath
import numpy as np
import pytest

import fourbar as fb
from fourbar.compile.callables import compile_ufunc
from fourbar.compile.llvm import batch_lanes
from fourbar.contact import Compliant, Shape
from fourbar.contact.articulated_system import ArticulatedSystem, JointsBase, LinkBase, RowBase
from fourbar.contact.contact_model import IMPULSE, ContactModel
from fourbar.contact.contact_step import Stepper
from fourbar.contact.joint_step import JointStepper
from fourbar.contact.link_motions import LinkMotions
from fourbar.expr import Direct, Shared, Unrolled
from fourbar.functions import projection
from fourbar.functions.arguments import TAU, Q, U, V
from fourbar.functions.context import Context
from fourbar.joints import Free, Prismatic, Revolute
from fourbar.joints import Spherical as Ball
from fourbar.loops import Closure, Gear
from fourbar.spatial.linear import Mat, Vec
from fourbar.spatial.transform import IDENTITY
from fourbar.tree.cluster_tree import GROUND

DT, N = 2e-3, 24


def skew(p: np.ndarray) -> np.ndarray:
    x, y, z = p
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])


def step(kind: type[Stepper], scene: fb.Scene, make: Callable[[], object], **given: np.ndarray) -> list[np.ndarray]:
    """q, v and residual after a step of each of some samples, without impulses to begin with."""
    mechanism, spec = scene.robot.mechanism, scene.spec
    model, recorder = ContactModel.with_contacts(mechanism, spec), make()
    shapes = {x.name: x.shape(model) for x in (Q, V, TAU, U, IMPULSE) if x.name in given or x is IMPULSE}
    inputs = {name: recorder.input(name, shape) for name, shape in shapes.items()}  # type: ignore[attr-defined]
    c = Context.at(model, recorder, {**inputs, "dt": (DT,)}).in_steps()
    found = kind(c, spec).results()
    outputs = [(name, (len(found[name]),), found[name]) for name in ("q", "v")]
    outputs.append(("residual", (), found["residual"]))
    program = recorder.finish("step", outputs)  # type: ignore[attr-defined]
    arrays = [*given.values(), np.zeros((N, *shapes["impulse"]))]
    made = compile_ufunc(program, batch_lanes(), {})
    with np.errstate(all="ignore"):
        return list(made.ufunc(*arrays))


def arm(tendon: bool = False, loops: bool = False, balls: int = 0) -> fb.System:
    """A free trunk with a hinged leg, a ball joint, a slide with limits, dry friction; two loose balls may push it."""
    b = fb.Builder("arm")
    b.body("trunk", joint=Free(), mass=3.0, inertia=(0.03, 0.02, 0.04), com=(0.02, 0.0, 0.01))
    b.body("thigh", parent="trunk", joint=Revolute("y"), position=(0.1, 0.05, 0.0), mass=0.7, com=(0, 0, -0.1),
           inertia=(0.004, 0.004, 0.001), limits=(-0.1, 0.4), damping=0.1)  # fmt: skip
    b.body("shin", parent="thigh", joint=Revolute("y"), position=(0.0, 0.0, -0.2), mass=0.4, com=(0, 0, -0.1),
           inertia=(0.002, 0.002, 0.001), friction=0.2)  # fmt: skip
    b.body("head", parent="trunk", joint=Ball(), position=(-0.1, 0.0, 0.1), mass=0.5, inertia=(0.003, 0.002, 0.003))
    b.body("rod", parent="trunk", joint=Prismatic("z"), position=(-0.1, -0.1, 0.0), mass=0.3, inertia=(1e-3,) * 3,
           limits=(-0.02, 0.05), friction=0.5)  # fmt: skip
    for k in range(balls):
        b.body(f"ball{k}", joint=Free(), mass=0.5, inertia=(1e-3,) * 3)
    if loops:
        b.body("motor", parent="trunk", joint=Revolute("y"), mass=0.2, inertia=(1e-3,) * 3)
        b.loop(Gear("motor", "thigh", 3.0), name="gear")
    if tendon:
        b.actuator("tendon", drives={"thigh": 0.3, "shin": -0.2}, kind="affine",
                   parameters={"gain": (40.0,), "bias": (0.0, -40.0, -3.0)})  # fmt: skip
    return b.build()


def geared_pairs() -> fb.System:
    """Two links tied by a gear, and two more on them, of which a gear makes a cluster that hangs on both."""
    b = fb.Builder("geared pairs")
    b.body("trunk", joint=Free(), mass=2.0, inertia=(0.03, 0.02, 0.04))
    for name, parent, y in (("left", "trunk", 0.1), ("right", "trunk", -0.1), ("far left", "left", 0.0),
                            ("far right", "right", 0.0)):  # fmt: skip
        b.body(name, parent=parent, joint=Revolute("y"), position=(0.0, y, -0.15), mass=0.5, com=(0, 0, -0.07),
               inertia=(2e-3, 2e-3, 5e-4))  # fmt: skip
    b.loop(Gear("left", "right", -2.0), name="upper").loop(Gear("far left", "far right", 1.5), name="lower")
    return b.build()


def shapes(robot: fb.System) -> list[Shape]:
    """Several points of a link, others of one each."""
    names = {body.name for body in robot.mechanism.bodies}
    found = [Shape("trunk", "sphere", 0.04, position=(0.1, 0.0, -0.02)), Shape("trunk", "sphere", 0.04),
             Shape("shin", "sphere", 0.03, position=(0, 0, -0.2)), Shape("rod", "sphere", 0.05)]  # fmt: skip
    return [x for x in found if x.frame in names]


def scene_of(name: str) -> fb.Scene:
    """A scene of a kind, with more rows than are eliminated as they are or fewer: both steps can do either."""
    robot = arm(tendon=name == "tendon", loops=name == "loops")
    plane = fb.Plane(friction=0.6, normal=(0.1, 0.05, 1.0))
    if name == "several links":
        own = [Shape(x, "sphere", 0.04, position=(0, 0, -0.15)) for x in ("far left", "far right")]
        return fb.Scene(geared_pairs(), plane, contacts=[*own, Shape("trunk", "sphere", 0.1)])
    if name == "constrained":
        held = robot.constrained(Closure(Revolute("z"), "trunk", "head", at_predecessor=(-0.1, 0.0, 0.1)))
        return fb.Scene(held, plane, contacts=[Shape("shin", "sphere", 0.03), Shape("rod", "sphere", 0.05)])
    if name == "pairs":
        robot = arm(balls=2)
        own = [Shape("shin", "sphere", 0.15), Shape("ball0", "sphere", 0.2), Shape("ball1", "sphere", 0.2)]
        return fb.Scene(robot, plane, contacts=own, pairs="all", limits=False, joint_friction=False)
    if name == "rolling":
        own = [Shape("shin", "sphere", 0.03, torsion=0.02, rolling=0.01), *shapes(robot)[3:]]
        return fb.Scene(robot, plane, contacts=own, pairs="none")
    law = {"law": Compliant(2e4, 50.0)} if name == "compliant" else {}
    return fb.Scene(robot, plane, contacts=shapes(robot), pairs="none", **law)  # type: ignore[arg-type]


def near_the_floor(scene: fb.Scene, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """States in which some points touch, or are about to."""
    robot = scene.robot
    q = np.repeat(robot.neutral()[None], N, 0) if scene.kept.conditions else robot.random(rng, N)
    q = np.array([scene.start(x) for x in q])
    return q, rng.normal(size=(N, robot.nv))


@pytest.mark.parametrize(
    "name", ["plain", "tendon", "loops", "several links", "constrained", "pairs", "rolling", "compliant"]
)
def test_both_ways_make_the_same_step(name: str) -> None:
    make: Callable[[], object] = Unrolled if name in ("loops", "pairs") else Shared
    scene = scene_of(name)
    rng = np.random.default_rng(3)
    q, v = near_the_floor(scene, rng)
    given = {"q": q, "v": v, "tau": rng.normal(size=(N, scene.robot.nv))}
    if scene.robot.nu:
        given["u"] = rng.normal(size=(N, scene.robot.nu))
    wanted, found = (step(kind, scene, make, **given) for kind in (Stepper, JointStepper))
    both = (wanted[2] < 1e-9) & (found[2] < 1e-9)
    assert both.mean() > 0.95
    assert np.abs(wanted[1] - found[1])[both].max() < 1e-8
    assert np.abs(wanted[0] - found[0])[both].max() < 1e-10


def test_what_a_sample_gets_does_not_depend_on_patience() -> None:
    """Samples that plain Newton steps do not solve are made again among their like: the same bits as in one go."""
    robot = arm()
    scene = fb.Scene(robot, fb.Plane(friction=0.6), contacts=[*shapes(robot), Shape("trunk", "box", (0.3, 0.3, 0.1))])
    rng = np.random.default_rng(0)
    q = np.repeat(np.array([scene.start(x) for x in robot.random(rng, 16)]), 8, axis=0)
    v = rng.normal(size=(128, robot.nv))
    tau = rng.normal(size=(128, 3, robot.nv))
    given = {"dt": DT, "steps": 6, "every": 2, "tau": tau, "period": 2 * DT}
    whole = scene.rollout(q, v, **given)
    worlds = scene.batch(128, dt=DT)
    worlds.reset(q=q, v=v)
    for k in range(6):
        worlds.step(tau=tau[:, k // 2])
    assert np.array_equal(worlds.q, whole.q[-1]) and np.array_equal(worlds.v, whole.v[-1])
    for some in (slice(0, 40), slice(40, 128)):  # 40 are too few to be made again together
        part = scene.rollout(q[some], v[some], **{**given, "tau": tau[some]})
        assert np.array_equal(part.q, whole.q[:, some]) and np.array_equal(part.v, whole.v[:, some])
        assert np.array_equal(part.contacts.force, whole.contacts.force[:, some])
        assert np.array_equal(part.residual, whole.residual[:, some])


@pytest.mark.parametrize("rows", ["none", "rows", "servos", "both"])
def test_newtons_equations_are_those_of_dense_matrices(rows: str) -> None:
    """(M + Bᵀ S B) v = Bᵀ f and B M⁻¹ Bᵀ on joints of several velocities, with bases on links, joints and rows."""
    rng = np.random.default_rng(2)
    robot = arm(loops=True, balls=1) if rows != "none" else geared_pairs()
    q = robot.random(5)
    recorder, model = Direct(), robot.model
    c = Context.at(model, recorder, {"q": tuple(q), "v": (0.0,) * robot.nv})
    s = c.sweeps()
    names = ("shin", "trunk", "head", "ball0") if rows != "none" else ("far left", "trunk", "right", "far right")
    links = {name: model.cluster_tree.bodies[name].link for name in names}
    motions = LinkMotions(s, c.clusters, c.cluster_states, {GROUND: IDENTITY})
    first_v = [0, *np.cumsum([x.embedding.nv for x in c.clusters]).tolist()]
    joints = [n for n, x in enumerate(c.clusters) if x.embedding.nv == 1][:2]
    own = JointsBase(tuple((n, Vec((2.0,))) for n in joints))
    bases: list[LinkBase | JointsBase | RowBase] = [*(LinkBase(x) for x in links.values())]
    bases += [LinkBase(links[names[0]]), own]
    dense = rng.normal(size=(2, robot.nv))
    if rows in ("rows", "both"):
        bases.append(RowBase(dense.tolist()))
    servos = [(Vec(rng.normal(size=robot.nv).tolist()), 0.7), (Vec(rng.normal(size=robot.nv).tolist()), 0.1)]
    servos = servos if rows in ("servos", "both") else []
    M = np.array(projection.mass_matrix(c, s)) + sum(w * np.outer(g, g) for g, w in servos)
    system = ArticulatedSystem(motions, first_v, bases, servos)
    B = []
    for name, link in [*links.items(), (names[0], links[names[0]])]:
        J = robot.jacobian(q, name, at="world")  # of the point at the world's origin
        away = np.eye(6)
        away[3:, :3] = -skew(np.array(motions.origin[link]))
        B.append(away @ J)
    B.append(np.array([2.0 * (np.arange(robot.nv) == first_v[n]) for n in joints]))
    B += [dense] if rows in ("rows", "both") else []
    for a, b in ((0, 0), (0, 3), (1, 2), (3, 2), (0, 4), *((k, k) for k in range(5, len(B)))):
        found = system.between(a, b)
        wanted = B[a] @ np.linalg.solve(M, B[b].T)
        wanted = np.diag(np.diag(wanted)) if a > 4 else wanted  # of rows the diagonal
        assert np.abs(wanted - (0.0 if found is None else np.array(found))).max() < 1e-11 * np.abs(wanted).max() + 1e-12
    S = {
        (a, b): rng.normal(size=(len(B[a]), len(B[b])))
        for a, b in ((0, 0), (2, 2), (4, 4), (3, 3), (4, 3), (3, 4), (0, 2), (2, 0))
    }
    S |= {(k, k): np.diag(rng.uniform(0.0, 2.0, len(B[k]))) for k in range(5, len(B))}
    f = [rng.normal(size=len(x)) for x in B]
    total = M + sum(B[a].T @ K @ B[b] for (a, b), K in S.items())
    v = np.linalg.solve(total, sum(J.T @ x for J, x in zip(B, f, strict=True)))
    given = {key: [Mat(map(Vec, K.tolist()))] for key, K in S.items()}
    y = system.step(given, [Vec(x.tolist()) for x in f])
    for J, faster in zip(B, y, strict=True):
        assert np.abs(J @ v - np.array(faster)).max() < 1e-9 * np.abs(v).max()
    free_v = np.linalg.solve(M, sum(J.T @ x for J, x in zip(B, f, strict=True)))
    whole = system.accelerations([Vec(x.tolist()) for x in f])
    assert np.abs(free_v - np.array(whole, float)).max() < 1e-11 * np.abs(free_v).max()
    for J, faster in zip(B, system.responses([Vec(x.tolist()) for x in f]), strict=True):
        assert np.abs(J @ free_v - np.array(faster)).max() < 1e-11 * np.abs(free_v).max()
    stiff = {key: 1e8 * (K @ K.T if key[0] == key[1] else 0.0 * K) for key, K in S.items()}  # as of what sticks
    total = M + sum(B[a].T @ K @ B[b] for (a, b), K in stiff.items())
    with mpmath.workdps(40):
        exact = mpmath.lu_solve(mpmath.matrix(total), mpmath.matrix(sum(J.T @ x for J, x in zip(B, f, strict=True))))
    v = np.array([float(x) for x in exact])
    y = system.step({key: [Mat(map(Vec, K.tolist()))] for key, K in stiff.items()}, [Vec(x.tolist()) for x in f])
    for J, faster in zip(B, y, strict=True):
        assert np.abs(J @ v - np.array(faster)).max() < 1e-9 * np.abs(v).max() + 1e-12 * np.abs(free_v).max()
    b = rng.normal(size=robot.nv)
    assert np.abs(np.linalg.solve(M, b) - np.array(system.solve(b.tolist()), float)).max() < 1e-9
