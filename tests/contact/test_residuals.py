"""What a run tells of how well contacts were solved, law by law."""

from __future__ import annotations

import numpy as np
import pytest

import fourbar as fb
from fourbar.contact.gauss_seidel import ContactProblem, RowBlock, conditions
from fourbar.spatial.linear import Mat, Vec

from .bodies import ball, placed


def missed(impulse: tuple[float, ...], g: tuple[float, ...], mu: float = 0.5) -> list[float]:
    """The three numbers of one contact with G = 1."""
    problem = ContactProblem(Mat.identity(3), Vec(g), (Vec([mu]),))
    return [float(x) for x in conditions(problem, (RowBlock(0, (2,)),), Vec(impulse))]


def test_each_law_is_missed_by_what_it_says() -> None:
    assert missed((0.0, 0.0, 0.0), (1.0, 2.0, 0.0)) == pytest.approx([0.0, 0.0, 0.0], abs=1e-15)  # leaves, no impulse
    assert missed((1.0, 0.0, 0.0), (-1.0, 0.0, 0.0)) == pytest.approx([0.0, 0.0, 0.0], abs=1e-15)  # pressed, at rest
    sliding = missed((1.0, -0.5, 0.0), (-1.0, 2.0, 0.0))  # c = (0, 1.5, 0), friction at the edge against it
    assert sliding == pytest.approx([0.0, 0.0, 0.0], abs=1e-15)
    assert missed((1.0, 0.0, 0.0), (-0.7, 0.0, 0.0))[0] == pytest.approx(0.3)  # λₙ cₙ = 1 · 0.3
    assert missed((1.0, -0.8, 0.0), (-1.0, 0.8, 0.0))[1] == pytest.approx(0.3)  # |λₜ| = 0.8 where 0.5 is allowed
    across = missed((1.0, 0.0, 0.5), (-1.0, 2.0, -0.5))  # c = (0, 2, 0), friction across it: 0.5 · 2 is not taken
    assert across == pytest.approx([0.0, 0.0, 1.0])


def test_a_run_reports_them_for_every_sample() -> None:
    robot = ball()
    scene = fb.Scene(robot, fb.Plane(friction=0.3))
    v = np.zeros((2, 6))
    v[1, robot.names.velocities.index("body.vx")] = 2.0
    run = scene.simulate(np.repeat(placed((0, 0, 0.1))[None], 2, 0), v, duration=0.1, dt=1e-3, every=10)
    assert run.residuals._fields == ("signorini", "cone", "dissipation")
    for x in run.residuals:
        assert x.shape == (11, 2) and (np.abs(x) < 1e-13).all()
    poor = fb.Scene(robot, fb.Plane(friction=0.3), law=fb.contact.MuJoCo())
    soft = poor.simulate(placed((0, 0, 0.1)), v[1], duration=0.1, dt=1e-3)
    assert soft.residuals.signorini.max() > 1e-6  # what slides opens under this law
    assert soft.residuals.cone.max() < 1e-13 and soft.residuals.dissipation.max() < 1e-12
