"""SDF: the same bodies in the same places, with the same dynamics, as Drake reads from the same text."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fourbar as fb

from .sdf_models import FIX, TREES, link, sdf

pydrake = pytest.importorskip("pydrake")
pytestmark = pytest.mark.peers


def drake(text: str) -> Any:
    from pydrake.multibody.parsing import Parser
    from pydrake.multibody.plant import MultibodyPlant

    plant = MultibodyPlant(0.0)
    Parser(plant).AddModelsFromString(text, "sdf")
    plant.Finalize()
    return plant


def body_named(plant: Any, name: str) -> Any:
    """Drake scopes names by model instance, the outermost model first."""
    *models, last = name.split("::")
    return plant.GetBodyByName(last, plant.GetModelInstanceByName("::".join(["m", *models])))


def joint_named(plant: Any, name: str) -> Any:
    """Drake keeps a joint with its child, whatever model wrote it; names are different here."""
    joints = [plant.get_joint(i) for i in plant.GetJointIndices()]
    return next(j for j in joints if j.name() == name.split("::")[-1])


@pytest.mark.parametrize("name", TREES)
def test_same_poses_and_dynamics(name: str) -> None:
    from pydrake.multibody.tree import MultibodyForces

    plant, robot = drake(TREES[name]), fb.loads(TREES[name])
    context, rng = plant.CreateDefaultContext(), np.random.default_rng(0)
    assert plant.num_velocities() == robot.nv
    order = [joint_named(plant, j).velocity_start() for j in robot.names.velocities]
    for _ in range(3):
        q, v, a = rng.normal(size=(3, robot.nv))
        theirs = np.zeros((3, robot.nv))
        theirs[:, order] = q, v, a
        plant.SetPositions(context, theirs[0])
        plant.SetVelocities(context, theirs[1])
        for body in robot.names.bodies:
            if "/" not in body:
                X = body_named(plant, body).EvalPoseInWorld(context).GetAsMatrix4()
                assert np.allclose(robot.pose(q, body), X, rtol=0, atol=1e-13)
        M = plant.CalcMassMatrix(context)[np.ix_(order, order)]
        assert np.allclose(robot.mass_matrix(q), M, rtol=0, atol=1e-13 * np.abs(M).max())
        forces = MultibodyForces(plant)
        plant.CalcForceElementsContribution(context, forces)
        tau = plant.CalcInverseDynamics(context, theirs[2], forces)[order]
        assert np.allclose(robot.inverse_dynamics(q, v, a), tau, rtol=0, atol=1e-12 * np.abs(tau).max())


def test_the_same_planar_joint() -> None:
    """Drake's velocity is that of x and y in the parent's axes, then that of the angle."""
    text = sdf(
        link("a", "0 0 1 .1 .2 .3") + FIX + link("b", "1 2 3 .1 .2 .3")
        + '<frame name="F" attached_to="a"><pose>.1 .2 .3 .4 .5 .6</pose></frame>'
        + '<frame name="M" attached_to="b"><pose>.3 .2 .1 .7 .5 .6</pose></frame>'
        + '<drake:joint name="p" type="planar"><drake:parent>F</drake:parent><drake:child>M</drake:child>'
        + "<drake:damping>0 0 0</drake:damping></drake:joint>"
    )  # fmt: skip
    plant, robot = drake(text), fb.loads(text)
    context, rng = plant.CreateDefaultContext(), np.random.default_rng(0)
    falls = []
    for q, (x, y, w) in rng.normal(size=(3, 2, 3)):
        c, s = np.cos(q[2]), np.sin(q[2])
        v = np.array([w, c * x + s * y, c * y - s * x])
        plant.SetPositions(context, q)
        plant.SetVelocities(context, [x, y, w])
        X = body_named(plant, "b").EvalPoseInWorld(context).GetAsMatrix4()
        assert np.allclose(robot.pose(q, "b"), X, rtol=0, atol=1e-14)
        assert np.isclose(robot.kinetic_energy(q, v), plant.CalcKineticEnergy(context), rtol=1e-14)
        falls.append(robot.potential_energy(q) - plant.CalcPotentialEnergy(context))
    assert np.ptp(falls) < 1e-13  # a constant: that of the fixed link, which Drake counts
