"""Exported SDF, as Drake reads it: the same poses, mass matrix and forces."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fourbar as fb
from fourbar.joints import Free, Planar, Spherical
from fourbar.loops import Coupling, Gear

from .exported import arm, tree
from .sdf_files import JOINTS, chain, one, parts, stored, written

pytest.importorskip("pydrake")
pytestmark = pytest.mark.peers


def drake(robot: fb.System, step: float = 0.0) -> Any:
    """Drake's plant of the written file."""
    from pydrake.multibody.parsing import Parser
    from pydrake.multibody.plant import MultibodyPlant

    plant = MultibodyPlant(step)
    Parser(plant).AddModelsFromString(written(robot)[0], "sdf")
    plant.Finalize()
    return plant


def places(robot: fb.System, plant: Any) -> list[int]:
    """Where each velocity of ours is in Drake's, for joints whose velocities are the rates of their coordinates."""
    seen: dict[str, int] = {}
    found = []
    for name in parts(robot, "nv"):
        found.append(plant.GetJointByName(name).velocity_start() + seen.get(name, 0))
        seen[name] = seen.get(name, 0) + 1
    return found


SERIES = {
    **{name: (lambda joint=joint: one(joint)) for name, joint in JOINTS.items()
       if not isinstance(joint, Spherical | Planar) and name != "skew universal"},
    "armature": lambda: one(JOINTS["revolute"], armature=0.3),
    "spring and damper": lambda: one(JOINTS["prismatic"], stiffness=3.0, rest=[0.4], damping=0.2),
    "arm": arm,
    **{f"tree{i}": lambda i=i: tree(i, placed=True) for i in range(3)},
}  # fmt: skip


@pytest.mark.default_cases("revolute", "screw", "universal", "placed", "armature", "tree0", "spring and damper")
@pytest.mark.parametrize("name", SERIES)
def test_drake_reads_the_same_tree(name: str) -> None:
    from pydrake.multibody.tree import MultibodyForces

    robot = SERIES[name]().with_gravity((0.0, 0.0, -9.81))
    if name.startswith("tree") and any("Universal" in type(c.joint).__name__ for c in stored(robot)):
        robot = robot.with_parameters(
            joints={c.name: {"armature": [0.1] * c.joint.nv} for c in stored(robot)}
        )  # then in series: Drake has no revolute2
    plant = drake(robot)
    context, at, rng = plant.CreateDefaultContext(), places(robot, plant), np.random.default_rng(0)
    assert plant.num_velocities() == robot.nv and sorted(at) == list(range(robot.nv))
    for _ in range(3):
        q, v, a = robot.random(rng), rng.normal(size=robot.nv), rng.normal(size=robot.nv)
        theirs = np.zeros((3, robot.nv))
        theirs[:, at] = q, v, a
        plant.SetPositions(context, theirs[0])
        plant.SetVelocities(context, theirs[1])
        for body in robot.names.bodies:
            X = plant.GetBodyByName(body).EvalPoseInWorld(context).GetAsMatrix4()
            assert np.abs(robot.pose(q, body) - X).max() < 1e-12
        M = plant.CalcMassMatrix(context)[np.ix_(at, at)]
        assert np.abs(robot.mass_matrix(q) - M).max() <= 1e-12 * np.abs(M).max()
        forces = MultibodyForces(plant)
        plant.CalcForceElementsContribution(context, forces)
        tau = plant.CalcInverseDynamics(context, theirs[2], forces)[at]
        expected = robot.inverse_dynamics(q, v, a) + passive(robot, q, v)
        assert np.abs(tau - expected).max() <= 1e-11 * max(1.0, np.abs(tau).max())


def passive(robot: fb.System, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """What has to act against dampers and springs."""
    joints = stored(robot)
    stiffness, rest = (
        np.array([x for c in joints for x in getattr(c, name) or (0.0,) * c.joint.nv]) for name in ("stiffness", "rest")
    )
    return np.array([x for c in joints for x in c.damping]) * v + stiffness * (q - rest)


@pytest.mark.parametrize("name", ["ball", "planar", "odd planar"])
def test_drake_reads_the_same_energy(name: str) -> None:
    """Near zero the velocities of ball and planar joints are Drake's, in another order."""
    robot = one(JOINTS[name])
    plant = drake(robot)
    context, rng = plant.CreateDefaultContext(), np.random.default_rng(0)
    planar = name != "ball"
    for _ in range(3):
        v = rng.normal(size=5)
        theirs = np.zeros(5)
        for joint, own in (("h", v[:1]), ("j", v[[2, 3, 1]] if planar else v[1:4]), ("k", v[4:])):
            start = plant.GetJointByName(joint).velocity_start()
            theirs[start : start + len(own)] = own
        plant.SetVelocities(context, theirs)
        assert np.isclose(robot.kinetic_energy(robot.neutral(), v), plant.CalcKineticEnergy(context), rtol=1e-13)
        X = plant.GetBodyByName("third").EvalPoseInWorld(context).GetAsMatrix4()
        assert np.allclose(robot.pose(robot.neutral(), "third"), X, atol=1e-14)


def test_drake_reads_a_free_body_where_it_is() -> None:
    b = fb.Builder("f").body("a", joint=Free(), mass=1, com=(0.1, 0.2, 0.3), inertia=(1, 1, 1))
    robot = b.configuration("home", {"a": (1.0, 2.0, 3.0, 0.5, 0.5, -0.5, 0.5)}).build()
    plant = drake(robot)
    X = plant.GetBodyByName("a").EvalPoseInWorld(plant.CreateDefaultContext()).GetAsMatrix4()
    assert np.allclose(X, robot.pose(robot.configurations["home"], "a"), atol=1e-15)


@pytest.mark.parametrize("loop", [Gear("ja", "jb", 2.0, 0.1), Coupling({"ja": 1.0, "jb": 2.0, "jd": -3.0}, 0.1)])
def test_drake_takes_gears_and_couplings_as_constraints(loop: fb.loops.Loop) -> None:
    assert drake(chain(loop), step=1e-3).num_constraints() == 1
