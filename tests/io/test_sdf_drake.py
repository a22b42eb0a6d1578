"""SDF: the same bodies in the same places, with the same dynamics, as Drake reads from the same text."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sdf_models import TREES

import fourbar as fb

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
