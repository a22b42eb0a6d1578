"""The feedback law of plans: as a compiled function, and in C."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import fourbar as fb

from .robots import flyer, scattered


@pytest.fixture(scope="module")
def problem() -> fb.control.Problem:
    return fb.control.Problem(flyer(), cost=lambda x, u: [*x.v, *u], dt=0.05, steps=3, control=(-0.5, 2.0))


def test_the_law_is_that_of_the_plan(problem: fb.control.Problem) -> None:
    robot, rng = problem.robot, np.random.default_rng(0)
    q0, v0 = scattered(robot, rng)
    plan = problem.solve(q0, v0)
    q, v = (
        robot.integrate(plan.q[1], 1e-2 * rng.normal(size=robot.nv), 1.0),
        plan.v[1] + 1e-2 * rng.normal(size=robot.nv),
    )
    u = problem.feedback(q, v, plan.q[1], plan.v[1], plan.u[1], plan.gains[1])
    assert np.abs(u - plan.feedback(q, v, 1, (-0.5, 2.0))).max() < 1e-14
    away = 1e3 * np.ones((1, 2 * robot.nv))
    assert problem.feedback(q, v, plan.q[1], plan.v[1], plan.u[1], away)[0] in (-0.5, 2.0)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")
def test_the_law_runs_in_c(problem: fb.control.Problem, tmp_path: Path) -> None:
    fb.export_c(tmp_path, [problem.feedback], name="law")
    assert "malloc" not in (tmp_path / "law.c").read_text()
    program = tmp_path / "test"
    subprocess.run(
        ["gcc", "-std=c99", "-O1", "-o", program, tmp_path / "law.c", tmp_path / "law_test.c", "-lm"], check=True
    )
    subprocess.run([program], check=True)
