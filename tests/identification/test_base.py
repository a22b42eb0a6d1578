"""Base parameters: against closed forms, and the definition on mechanisms with every joint and loop."""

from __future__ import annotations

import numpy as np
import pytest

import fourbar as fb
from fourbar import ArgumentError, Builder, ModelError, base_parameters
from fourbar.joints import Free, Revolute
from tests.algorithms.mechanisms import near

from .arms import arm, geared
from .robots import FEW, robot_and_state


def test_double_pendulum() -> None:
    """Two hinges about y, half a metre apart, gravity along -z: the regrouping of the textbooks."""
    base = base_parameters(fb.robots.double_pendulum(), "inertia")
    assert base.combinations == (
        "upper.mx", "upper.mz - 0.5 lower.m", "upper.Jyy + 0.25 lower.m", "lower.mx", "lower.mz", "lower.Jyy",
    )  # fmt: skip
    assert base.identifiable == ("upper.mx", "lower.mx", "lower.mz", "lower.Jyy")
    assert base.only_combined == ("upper.mz", "upper.Jyy", "lower.m")
    assert len(base.without_effect) == 20 - 7 and "upper.m" in base.without_effect


@pytest.mark.parametrize("length", [1e-5, 1e-3, 1.0, 1e3, 1e5])
@pytest.mark.parametrize("gravity", [9.81, 0.0])
def test_units_of_length_do_not_matter(length: float, gravity: float) -> None:
    """In micrometres or hectometres the same parameters are known alone, combined, or not at all."""
    b = Builder("arm", gravity=(0, 0, -gravity))
    size = {"mass": 1.0, "com": (0.3 * length, 0, 0.1 * length), "inertia": 0.1 * length**2 * np.array([1.0, 1.0, 1.0])}
    b.body("upper", joint=Revolute("y"), **size)
    b.body("fore", parent="upper", joint=Revolute("y"), position=(length, 0, 0), **size)
    base = base_parameters(b.build(), "inertia")
    still = () if gravity else ("upper.mx", "upper.mz")
    assert set(base.identifiable) == {"upper.mz", "fore.mx", "fore.mz", "fore.Jyy"} - set(still)
    assert set(base.only_combined) == {"upper.mx", "upper.Jyy", "fore.m"} - set(still)
    factor = f"{length**2:.6g} " if length != 1.0 else ""
    assert f"upper.Jyy + {factor}fore.m" in base.combinations


def test_a_free_body_determines_everything() -> None:
    b = Builder("rock")
    b.body("rock", joint=Free(), mass=1.0, inertia=(1, 1, 1))
    base = base_parameters(b.build(), "inertia")
    assert base.rank == 10 and len(base.identifiable) == 10


def test_rotors_add_to_what_they_drive() -> None:
    base = base_parameters(geared(), "inertia")
    assert base.combinations == (
        "slide.m + elbow.m + 625 drum.Jzz + rotor.m", "elbow.mx", "elbow.mz", "elbow.Jyy + 2500 rotor.Jyy",
        "rotor.mx", "rotor.mz",
    )  # fmt: skip


def test_linkages_count_in_their_assembly() -> None:
    """A parallelogram stays one: its two cranks turn alike, so that their inertias show as a sum only."""
    base = base_parameters(fb.robots.planar_leg_linkage(), "inertia")
    assert base.rank == 4 and "shank_driver.Jzz + shank_support.Jzz + 0.009216 foot.m" in base.combinations


@pytest.mark.default_cases("geared")
@FEW
def test_definition(name: str) -> None:
    """Y φ = Y_independent β for any φ; β of changes that nothing sees is zero; as many as the rank of Y."""
    robot, s = robot_and_state(name)
    base = base_parameters(robot)
    Y = robot.regressor(s.q, s.v, s.a)
    phi = np.random.default_rng(0).normal(size=len(base.names))
    n = 3 * len(base.names) // robot.nv
    rng = np.random.default_rng(9)
    q, (v, a) = robot.random(rng, n), rng.normal(size=(2, n, robot.nv))
    wide = robot.regressor(q, v, a).reshape(-1, len(base.names))
    norms = np.linalg.norm(wide, axis=0)
    kept = list(base.independent)
    near(Y[..., kept] @ (base.combine @ phi), Y @ phi, 1e-14 * np.linalg.cond(wide[:, kept] / norms[kept]))
    values = np.linalg.svd(wide / np.where(norms > 1e-12 * norms.max(), norms, np.inf), compute_uv=False)
    assert base.rank == np.count_nonzero(values > 1e-10 * values[0])
    assert set(base.identifiable) | set(base.only_combined) | set(base.without_effect) == set(base.names)


def test_merged_bodies_are_indistinguishable() -> None:
    """A tool that is fixed to a link only shows together with it."""
    base = base_parameters(arm(), "inertia")
    assert not any(name.startswith("tool") for name in base.identifiable)
    assert {"fore.mx", "tool.m", "tool.mx"} <= set(base.only_combined)


def test_errors() -> None:
    with pytest.raises(ArgumentError, match=r"columns=\[\]: expected at least one kind"):
        base_parameters(arm(), [])
    with pytest.raises(ArgumentError, match=r"robot: expected a System, such as .* got int"):
        base_parameters(3)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="rng='x': expected a seed"):
        base_parameters(arm(), rng="x")  # type: ignore[arg-type]
    b = Builder("rock")
    b.body("rock", mass=1.0)
    with pytest.raises(ModelError, match=r"robot 'rock' cannot move"):
        base_parameters(b.build())
