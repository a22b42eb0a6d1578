"""The problem of one step in numbers: what it holds, how it is kept, and that it is solved alone as in a step."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import fourbar as fb
from fourbar.contact import Compliant, MuJoCo, Shape, StepProblem

DT = 1e-3


def box(law: fb.contact.Rigid | Compliant | MuJoCo | None = None, restitution: float = 0.0) -> fb.Scene:
    b = fb.Builder("box")
    b.body("box", joint=fb.joints.Free(), mass=2.0, inertia=(0.0133,) * 3)
    plane = fb.Plane(0.5, restitution=restitution)
    return fb.Scene(b.build(), plane, contacts=[Shape("box", "box", (0.2, 0.2, 0.2))], law=law)


Q, V = np.array([0, 0, 0.1, 1.0, 0, 0, 0]), np.array([0.1, 0.3, 0, 0.5, 0, -0.2])


@pytest.mark.parametrize("law", [None, Compliant(2e4, 100.0)])
def test_a_problem_is_solved_as_in_a_step(law: Compliant | None) -> None:
    scene = box(law)
    problem = scene.problem(Q, V, dt=DT)
    solved, after = problem.solve(), scene.step(Q, V, dt=DT)
    assert problem.names == scene.contacts and problem.G.shape == (24, 24)
    assert solved.residual < 1e-10 and np.allclose(solved.velocity, problem.velocity(solved.impulse))
    change = problem.G @ (solved.impulse - after.impulse)  # impulses of a box on eight corners are not unique
    assert np.abs(change).max() < 1e-8


def test_rows_are_those_of_the_robot() -> None:
    """G = J M⁻¹ Jᵀ and g = J v* + bias, with J by the robot's own functions."""
    b = fb.Builder("arm")
    b.body("upper", joint=fb.joints.Revolute("y"), mass=1.0, com=(0.2, 0, 0), inertia=(0.01,) * 3, friction=0.3)
    b.body("fore", parent="upper", joint=fb.joints.Revolute("y"), position=(0.4, 0, 0), mass=0.5, com=(0.1, 0, 0),
           inertia=(0.004,) * 3, limits=(-1.0, 0.4))  # fmt: skip
    b.frame("tip", "fore", position=(0.3, 0, 0))
    robot = b.build()
    scene = fb.Scene(robot, fb.Plane(0.4, point=(0, 0, -0.5)), contacts=["tip"])
    q, v, tau = np.array([0.3, 0.35]), np.array([1.0, -0.5]), np.array([0.2, -0.1])
    problem = scene.problem(q, v, tau, dt=DT)
    J = np.zeros((3, 2))
    for j in range(2):
        J[:, j] = robot.velocity(q, np.eye(2)[j], "tip")[3:]
    n = problem.names
    assert n[0] == "tip" and set(n[1:]) == {"upper", "fore"}
    R = np.linalg.inv(robot.mass_matrix(q))
    free = v + DT * robot.forward_dynamics(q, v, tau)
    assert np.allclose(problem.G[0, 0], J[2] @ R @ J[2], rtol=1e-3)  # the point that acts is on the plane
    assert np.allclose(problem.G[3:, 3:], R) and np.allclose(problem.g[3:], free)
    upper, fore = (problem.bounds[n.index(name)] for name in ("upper", "fore"))
    assert np.isclose(upper[2], 0.3 * DT) and np.isclose(fore[1], (0.4 - q[1]) / DT)


def test_problems_are_saved_and_loaded(tmp_path: Path) -> None:
    problem = box().problem(Q, V, dt=DT)
    again = StepProblem.load(problem.save(tmp_path / "x.npz"))
    for name in ("G", "g", "bounds", "discs", "is_joint", "start"):
        assert np.array_equal(getattr(again, name), getattr(problem, name), equal_nan=True)
    assert (again.names, again.tolerance, again.redundant) == (problem.names, problem.tolerance, problem.redundant)
    a, b = problem.solve(), again.solve()
    assert np.array_equal(a.impulse, b.impulse) and a.iterations == b.iterations
    (tmp_path / "y.npz").write_bytes(b"no")
    with pytest.raises(fb.ArgumentError, match=r"y\.npz is not a problem"):
        StepProblem.load(tmp_path / "y.npz")


def test_iterations_are_those_of_the_phases() -> None:
    """Random problems of many redundant rows, some of which have no solution; the residual at the end is the least."""
    rng, phases = np.random.default_rng(0), set[str]()
    for _ in range(12):
        n = 8
        J = rng.normal(size=(3 * n, 6)) * np.r_[np.ones(3), 1e-2, 1.0, 1e2]
        bounds = np.full((n, 3), np.nan)
        bounds[:, 0] = rng.choice([0.1, 0.9], n)
        discs = np.tile([2, 0, 0], (n, 1))
        names = tuple(map(str, range(n)))
        problem = StepProblem(J @ J.T, rng.normal(size=3 * n), bounds, discs, np.zeros(n, bool), names,
                              np.zeros(3 * n), 1e-9, True)  # fmt: skip
        solved = problem.solve(iterations=60)
        phases |= {x.phase for x in solved.iterations}
        assert solved.residual <= min(x.residual for x in solved.iterations if x.phase != "least norm") + 1e-9
        assert all(x.barrier > 0.0 for x in solved.iterations if x.phase in ("smoothed", "interior point"))
    assert phases == {"sweep", "Newton", "smoothed", "proximal", "interior point", "least norm"}


def test_restitution_is_whole() -> None:
    b = fb.Builder("ball")
    b.body("ball", joint=fb.joints.Free(), mass=1.0, inertia=(0.004,) * 3)
    scene = fb.Scene(b.build(), fb.Plane(0.0, restitution=0.5), contacts=[Shape("ball", "sphere", 0.1, friction=0.0)])
    solved = scene.problem([0, 0, 0.1, 1, 0, 0, 0], [0, 0, 0, 0, 0, -2.0], dt=DT).solve()
    assert np.isclose(solved.impulse[0], 3.0 + 9.81 * DT)


def test_wrong_arguments_are_refused() -> None:
    with pytest.raises(fb.ArgumentError, match="convex"):
        box(MuJoCo()).problem(Q, dt=DT)
    with pytest.raises(fb.ArgumentError, match="one state"):
        box().problem(np.tile(Q, (2, 1)), dt=DT)
    with pytest.raises(fb.ArgumentError, match="expected 24 impulses"):
        box().problem(Q, dt=DT).solve(np.zeros(3))
