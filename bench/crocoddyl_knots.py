"""Crocoddyl's derivatives of a robot on feet that are held, and their time: run by `contact_derivatives.py`.

python crocoddyl_knots.py URDF STATES.npz: reads q, tau, names (of joints) and feet in our order, writes the derivatives
of accelerations by_q and by_tau in our order into the same file, and prints the CPU time of calc and calcDiff of a
shooting problem per knot (µs).
"""

import sys
import time

import crocoddyl
import numpy as np
import pinocchio as pin

given = dict(np.load(sys.argv[2]))
model = pin.buildModelFromUrdf(sys.argv[1], pin.JointModelFreeFlyer())
data, state = model.createData(), crocoddyl.StateMultibody(model)
actuation = crocoddyl.ActuationModelFloatingBase(state)
ours = [str(x) for x in given["names"]]
order = [ours.index(model.names[i]) for i in range(2, model.njoints)]
velocities = [3, 4, 5, 0, 1, 2, *(6 + k for k in order)]  # ours, of each of theirs
P = np.eye(model.nv)[velocities]


def configuration(q: np.ndarray) -> np.ndarray:
    """Our q as theirs."""
    return np.concatenate([q[:3], q[4:7], q[3:4], q[7:][order]])


def held(q: np.ndarray) -> crocoddyl.DifferentialActionModelContactFwdDynamics:
    """Dynamics with all feet held where they are, and small costs."""
    pin.framesForwardKinematics(model, data, q)
    contacts = crocoddyl.ContactModelMultiple(state, actuation.nu)
    for name in given["feet"]:
        k = model.getFrameId(str(name))
        at = data.oMf[k].translation.copy()
        one = crocoddyl.ContactModel3D(state, k, at, pin.LOCAL_WORLD_ALIGNED, actuation.nu, np.zeros(2))
        contacts.addContact(str(name), one)
    costs = crocoddyl.CostModelSum(state, actuation.nu)
    rest = crocoddyl.ResidualModelState(state, np.concatenate([q, np.zeros(model.nv)]), actuation.nu)
    costs.addCost("x", crocoddyl.CostModelResidual(state, rest), 1.0)
    costs.addCost("u", crocoddyl.CostModelResidual(state, crocoddyl.ResidualModelControl(state, actuation.nu)), 1e-3)
    return crocoddyl.DifferentialActionModelContactFwdDynamics(state, actuation, contacts, costs, 0.0, True)


by_q, by_tau = [], []
for q, tau in zip(given["q"], given["tau"], strict=True):
    there = configuration(q)
    dynamics = held(there)
    known = dynamics.createData()
    x, u = np.concatenate([there, np.zeros(model.nv)]), tau[order]
    dynamics.calc(known, x, u)
    dynamics.calcDiff(known, x, u)
    by_q.append(P.T @ known.Fx[:, : model.nv] @ P)
    by_tau.append(P.T @ known.Fu @ P[6:, 6:])
np.savez(sys.argv[2], by_q=by_q, by_tau=by_tau)

start = configuration(given["q"][0])
knot = crocoddyl.IntegratedActionModelEuler(held(start), 1e-2)
x0, count = np.concatenate([start, np.zeros(model.nv)]), int(given["knots"])
problem = crocoddyl.ShootingProblem(x0, [knot] * count, knot)
problem.nthreads = 1
xs, us = [x0] * (count + 1), [np.zeros(actuation.nu)] * count
best = float("inf")
for _ in range(30):
    begin = time.process_time()
    problem.calc(xs, us)
    problem.calcDiff(xs, us)
    best = min(best, time.process_time() - begin)
print(best / count * 1e6)
