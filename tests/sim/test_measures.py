"""Penetration and energy gained: measures of a run that stand beside its residual."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import fourbar as fb
from fourbar.contact import Compliant, MuJoCo, Shape


def ball(law: fb.contact.Rigid | Compliant | MuJoCo | None = None, restitution: float = 0.0) -> fb.Scene:
    b = fb.Builder("ball")
    b.body("ball", joint=fb.joints.Free(), mass=1.0, inertia=(0.004,) * 3)
    return fb.Scene(
        b.build(), fb.Plane(0.6, restitution=restitution), contacts=[Shape("ball", "sphere", (0.1,))], law=law
    )


def energies(run: fb.Run) -> np.ndarray:
    return np.asarray(run.robot.kinetic_energy(run.q, run.v) + run.robot.potential_energy(run.q))


def test_rigid_contacts_gain_nothing_and_enter_nothing() -> None:
    run = ball(restitution=0.8).simulate([0, 0, 0.3, 1, 0, 0, 0], [0, 5, 0, 1, 0, 0], duration=1.0)
    assert run.contacts.found.any() and not np.nansum(run.energy_gain)
    assert np.nanmax(run.penetration) < 1e-9 and np.isnan(run.penetration[0])


def test_penetration_is_that_of_the_deepest_contact() -> None:
    starts = np.array([[0, 0, z, 1, 0, 0, 0] for z in (0.3, 0.09, 0.05)])
    run = ball().simulate(starts, duration=0.01)
    assert run.penetration.shape == run.residual.shape == (6, 3)
    assert np.allclose(run.penetration[1], [0.0, 0.01, 0.05])


@pytest.mark.parametrize("law", [Compliant(stiffness=2e4, damping=0.0), MuJoCo(solref=(-2e4, 0.0))])
def test_springs_give_back_what_was_entered(law: fb.contact.Rigid) -> None:
    """Of a ball that leaves a spring without damping, the energy that all steps add is what it has at the end."""
    run = ball(law).simulate([0, 0, 0.095, 1, 0, 0, 0], duration=0.02, dt=1e-4)
    change = energies(run)[-1] - energies(run)[0]
    assert change > 0.1 and np.isclose(np.nansum(run.energy_gain), change, rtol=0.02)


def test_measures_are_saved(tmp_path: Path) -> None:
    scene = ball(Compliant())
    run = scene.simulate([0, 0, 0.09, 1, 0, 0, 0], duration=0.02)
    run.save(tmp_path / "run.npz")
    again = fb.Run.load(tmp_path / "run.npz", scene)
    for name in ("penetration", "energy_gain"):
        assert np.array_equal(getattr(again, name), getattr(run, name), equal_nan=True)
    assert np.nansum(run.energy_gain) > 0.0
