"""What newcomers are told where they ask wrongly."""

from __future__ import annotations

from importlib import metadata
from pathlib import Path

import numpy as np
import pytest

import fourbar as fb
from fourbar.errors import extra
from fourbar.joints import Free


def free_body() -> fb.System:
    return fb.Builder("free").body("a", joint=Free(), mass=1.0, inertia=(1, 1, 1)).build()


def test_a_step_too_far_of_a_robot_without_loops_is_not_about_loops() -> None:
    robot = free_body()
    with pytest.raises(fb.SingularError, match=r"q, v or dt are too large") as caught:
        robot.integrate(robot.neutral(), np.full(6, 1e200), 1e200)
    assert "loops" not in str(caught.value)


def test_a_step_too_far_of_a_linkage_is_about_its_loops() -> None:
    robot = fb.robots.crank_rocker()
    with pytest.raises(fb.SingularError, match="loops could not be closed"):
        robot.integrate(robot.random(0), np.full(1, 1e200), 1e200)


def test_axes_of_results() -> None:
    robot = fb.robots.double_pendulum()
    with pytest.raises(fb.UnknownNameError, match=r"expressed_in='local'.*'world', 'frame'.*known: tip"):
        robot.jacobian(np.zeros(2), "tip", expressed_in="local")


def test_forces_by_name() -> None:
    robot = fb.robots.double_pendulum()
    with pytest.raises(fb.UnknownNameError, match=r"no body .*'lover'; did you mean 'lower'"):
        robot.inverse_dynamics(np.zeros(2), np.zeros(2), np.zeros(2), f_ext={"lover": np.zeros(6)})
    with pytest.raises(fb.ArgumentError, match=r"q is a dictionary.*shape \(\.\.\., 2\)"):
        robot.mass_matrix({"shoulder": 0.0, "elbow": 0.0})


@pytest.mark.parametrize(("given", "meant"), [("upper.m", "upper.mass"), ("upper.Jxx", "upper.inertia")])
def test_parameters_of_regressors_are_distinguished_from_numbers(given: str, meant: str) -> None:
    robot = fb.robots.double_pendulum()
    assert given in robot.names.parameters and meant in robot.names.numbers
    with pytest.raises(fb.UnknownNameError, match=rf"{given}.*names\.parameters.*here it is called '{meant}'"):
        robot.mass_matrix.vjp((np.zeros(2),), np.eye(2), parameters=[given])


def test_extras_are_installed_as_the_readme_says(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beside the sources, where no installed package lists what the extra brings."""
    monkeypatch.setattr(metadata, "requires", lambda name: None)
    assert extra("bench") == 'pip install ".[bench]" in the folder of fourbar'


def test_hints_name_packages_where_fourbar_is_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    information = tmp_path / "fourbar-9.dist-info"
    information.mkdir()
    (information / "METADATA").write_text(
        "Metadata-Version: 2.4\nName: fourbar\nVersion: 9\nRequires-Dist: numpy>=2.1\nProvides-Extra: plot\n"
        "Requires-Dist: matplotlib>=3.9; extra == 'plot'\nRequires-Dist: tqdm>=4.60; extra == \"plot\"\n"
        "Requires-Dist: sphinx; extra == 'plots'\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    assert extra("plot") == 'pip install "matplotlib>=3.9" "tqdm>=4.60"'
    assert extra("view") == 'pip install ".[view]" in the folder of fourbar'
