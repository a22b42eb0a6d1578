"""The reach of a UR5 by Crocoddyl, in a process of its own:  python crocoddyl_reach.py URDF

Its wheels run only with the Pinocchio that they were built with; with another one the process ends by a signal.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

REST, GOAL, DT, STEPS = [0.0, -1.2, 1.2, -0.5, 0.3, 0.0], [0.45, 0.35, 0.35], 0.01, 100


def cost_of_reach(path: str) -> float:
    """The least cost that FDDP finds."""
    import numpy as np

    crocoddyl: Any = import_module("crocoddyl")
    pinocchio: Any = import_module("pinocchio")

    model = pinocchio.buildModelFromUrdf(path)
    state = crocoddyl.StateMultibody(model)
    x0 = np.r_[REST, np.zeros(6)]
    hold = pinocchio.rnea(model, model.createData(), np.array(REST), np.zeros(6), np.zeros(6))
    hand = crocoddyl.ResidualModelFrameTranslation(state, model.getFrameId("tool0"), np.array(GOAL), 6)
    still = crocoddyl.ActivationModelWeightedQuad(np.r_[np.zeros(6), np.ones(6)])
    running, last = (crocoddyl.CostModelSum(state, 6) for _ in range(2))
    near = crocoddyl.ResidualModelState(state, x0, 6)
    running.addCost("x", crocoddyl.CostModelResidual(state, near), 0.1)
    running.addCost("u", crocoddyl.CostModelResidual(state, crocoddyl.ResidualModelControl(state, 6)), 1e-3)
    running.addCost("hand", crocoddyl.CostModelResidual(state, hand), 10.0)
    last.addCost("hand", crocoddyl.CostModelResidual(state, hand), 1e3)
    last.addCost("still", crocoddyl.CostModelResidual(state, still, near), 1.0)
    drives = crocoddyl.ActuationModelFull(state)
    knots = [
        crocoddyl.IntegratedActionModelEuler(crocoddyl.DifferentialActionModelFreeFwdDynamics(state, drives, costs), h)
        for costs, h in ((running, DT), (last, 0.0))
    ]
    problem = crocoddyl.ShootingProblem(x0, [knots[0]] * STEPS, knots[1])
    problem.nthreads = 1
    solver = crocoddyl.SolverFDDP(problem)
    solver.th_stop = 1e-14
    solver.solve([x0] * (STEPS + 1), [hold] * STEPS, 100, False)
    return float(solver.cost)


if __name__ == "__main__":
    print(repr(cost_of_reach(sys.argv[1])))
