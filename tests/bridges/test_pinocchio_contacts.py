"""Impulses of rigid contacts beside Pinocchio's solvers of the same problem: cone* ∋ c + Γ(c) ⟂ λ ∈ cone."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import fourbar as fb
from fourbar.contact import Shape
from fourbar.contact.contact_model import ContactModel
from fourbar.contact.contact_step import Stepper
from fourbar.contact.gauss_seidel import measured, scaled
from fourbar.contact.step_recording import stepper
from fourbar.expr import Direct
from fourbar.functions.context import Context
from fourbar.spatial.linear import Vec
from tests.contact.test_lying import fallen
from tests.contact.test_lying import quadruped as lying_quadruped

from .contact_problems import contacts, problem_of, solved

pin: Any = pytest.importorskip("pinocchio")
if not hasattr(pin, "PGSConstraintSolver"):
    pytest.skip("the solvers of contact problems are those of Pinocchio 4", allow_module_level=True)
pytestmark = pytest.mark.peers


def theirs(G: np.ndarray, g: np.ndarray, mu: np.ndarray, kind: str) -> tuple[np.ndarray, bool]:
    """Impulses with normals first, and whether they say that it is solved. Their rows have the normal last."""
    n = len(mu)
    model = pin.Model()
    joint = model.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), "free")
    model.appendBodyToJoint(joint, pin.Inertia.Identity(), pin.SE3.Identity())
    data = model.createData()
    pin.forwardKinematics(model, data, pin.neutral(model))
    models, known = pin.StdVec_ConstraintModel(), pin.StdVec_ConstraintData()
    for x in mu:
        contact = pin.PointContactConstraintModel(model, joint, pin.SE3.Identity(), 0, pin.SE3.Identity())
        contact.setFriction(float(x))
        models.append(pin.ConstraintModel(contact))
        known.append(models[-1].createData())
        models[-1].calc(model, data, known[-1])
    settings, result = (getattr(pin, f"{kind}Solver{x}")() for x in ("Settings", "Result"))
    for name in ("absolute_complementarity_tol", "absolute_feasibility_tol", "relative_complementarity_tol",
                 "relative_feasibility_tol"):  # fmt: skip
        setattr(settings, name, 1e-13)
    settings.max_iterations, settings.solve_ncp = 20_000, True
    if kind == "ADMM":
        settings.mu_prox = 1e-8
    order = np.concatenate([[3 * k + 1, 3 * k + 2, 3 * k] for k in range(n)])
    solver = getattr(pin, f"{kind}ConstraintSolver")(3 * n)
    operator = pin.DelassusOperatorDense(np.ascontiguousarray(G[np.ix_(order, order)]))
    good = solver.solve(operator, g[order].copy(), models, known, settings, result)
    found = np.zeros(3 * n)
    found[order] = result.retrieveConstraintImpulses()
    return found, bool(good)


def missed(G: np.ndarray, g: np.ndarray, mu: np.ndarray, impulse: np.ndarray) -> float:
    """Our residual of their impulses, in m/s."""
    problem, blocks = problem_of(G, g, mu), contacts(len(mu))
    return float(measured(problem, scaled(problem, blocks), blocks, Vec(impulse.tolist())).residual)


def compared(problems: list[tuple[np.ndarray, np.ndarray, np.ndarray]]) -> tuple[int, int, int]:
    """How many of their solutions are ours to 1e-8, are others of the same problem, and are further off than ours."""
    same = other = none = 0
    for G, g, mu in problems:
        impulse, residual = solved(G, g, mu)
        assert residual < 1e-12 and impulse.any()
        for kind in ("PGS", "ADMM"):
            found, good = theirs(G, g, mu, kind)
            if np.abs(found - impulse).max() < 1e-8 * np.abs(impulse).max():
                same += 1
            elif missed(G, g, mu, found) < 1e-9:
                other += 1  # with much friction there may be several
            else:
                none += 1
                assert not good or missed(G, g, mu, found) < 1e-6, f"{kind} takes something else for solved"
    return same, other, none


def test_random_cones() -> None:
    """Matrices without structure, with little and with much friction."""
    rng = np.random.default_rng(0)
    problems = []
    for _ in range(60):
        n = int(rng.integers(1, 6))
        A = rng.normal(size=(3 * n, 3 * n + 2))
        g = rng.normal(size=3 * n)
        g[::3] = -np.abs(g[::3])
        problems.append((A @ A.T, g, rng.uniform(0.05, 0.8, n)))
    same, other, none = compared(problems)
    assert same >= 115 and other <= 1 and none <= 4, (same, other, none)


def quadruped() -> tuple[fb.System, fb.Scene]:
    """Four legs of three joints with a ball at each foot."""
    b = fb.Builder("quadruped")
    b.body("trunk", joint=fb.joints.Free(), mass=8.0, inertia=(0.05, 0.15, 0.18))
    for k in range(4):
        x, y = 0.2 if k < 2 else -0.2, 0.1 if k % 2 else -0.1
        b.body(f"hip{k}", parent="trunk", joint=fb.joints.Revolute("x"), position=(x, y, 0.0), mass=0.6,
               inertia=(1e-3,) * 3)  # fmt: skip
        b.body(f"thigh{k}", parent=f"hip{k}", joint=fb.joints.Revolute("y"), position=(0, 0.3 * y, 0), mass=0.8,
               com=(0, 0, -0.1), inertia=(4e-3, 4e-3, 8e-4))  # fmt: skip
        b.body(f"shin{k}", parent=f"thigh{k}", joint=fb.joints.Revolute("y"), position=(0, 0, -0.2), mass=0.2,
               com=(0, 0, -0.1), inertia=(1e-3, 1e-3, 1e-4))  # fmt: skip
    robot = b.build()
    feet = [Shape(f"shin{k}", "sphere", 0.02, position=(0, 0, -0.2)) for k in range(4)]
    return robot, fb.Scene(robot, fb.Plane(friction=0.7), contacts=feet)


def test_a_quadruped() -> None:
    """G and the free velocities of a step from random states with all feet near the floor."""
    robot, scene = quadruped()
    model, rng = ContactModel.with_contacts(robot.mechanism, scene.spec), np.random.default_rng(2)
    problems = []
    for _ in range(30):
        q = robot.neutral()
        q[7:] = np.tile([0.0, 0.6, -1.2], 4) + 0.1 * rng.normal(size=12)
        q[2] = 0.02 - min(robot.pose(q, f"shin{k}")[2] @ [0, 0, -0.2, 1.0] for k in range(4))
        v, tau = 0.5 * rng.normal(size=robot.nv), 5.0 * rng.normal(size=robot.nv)
        given = {"q": tuple(q), "v": tuple(v), "tau": tuple(tau), "dt": (2e-3,)}
        step = stepper(Context.at(model, Direct(), given), scene.spec)
        found = step.problem(step.delassus())
        G, g = np.array(found.G, float), np.array(found.g, float)
        g[::3] = -np.abs(g[::3])  # all of them close
        problems.append((G, g, rng.uniform(0.2, 1.0, 4)))
    same, other, none = compared(problems)
    assert same >= 57 and other <= 1 and none <= 2, (same, other, none)


def test_a_limp_quadruped_on_all_its_links() -> None:
    """36 points over 18 velocities, from states on the floor: impulses are not unique, velocities are theirs."""
    robot, shapes = lying_quadruped()
    scene = fb.Scene(robot, fb.Plane(friction=0.4), contacts=shapes, pairs="none", limits=False, joint_friction=False,
                     tolerance=1e-9)  # fmt: skip
    model, dt = ContactModel.with_contacts(robot.mechanism, scene.spec), 2e-3
    q, v = fallen(scene, robot, 0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fb.SimulationWarning)  # on the way; the states themselves are checked
        run, mu = scene.rollout(q, v, dt=dt, steps=400, every=100), np.full(36, 0.4)
    same = ended = 0
    for state in zip(run.q[1:, ::4].reshape(-1, robot.nq), run.v[1:, ::4].reshape(-1, robot.nv), strict=True):
        given = {"q": tuple(state[0]), "v": tuple(state[1]), "tau": (0.0,) * robot.nv, "dt": (dt,)}
        step = Stepper(Context.at(model, Direct(), given), scene.spec)
        problem = step.problem(step.delassus())
        G, g = np.array(problem.G, float), np.array(problem.g, float)
        *_, impulse, report = scene.function(
            *state, np.zeros(scene.n_impulses), np.array(dt), scene.friction, np.zeros(robot.nv)
        )
        assert report[0] <= 1e-9 and missed(G, g, mu, impulse) <= 1.1e-9
        for kind in ("PGS", "ADMM"):
            found, _ = theirs(G, g, mu, kind)
            if missed(G, g, mu, found) < 1e-7:  # where they come to an end
                ended += 1
                same += np.abs(G @ (found - impulse)).max() < 1e-5
    assert ended >= 5 and same >= 0.9 * ended, (same, ended)
