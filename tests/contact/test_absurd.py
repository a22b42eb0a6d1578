"""Motions that diverge or leap: samples are marked, the others go on, and a message says which, when and why."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import fourbar as fb
from fourbar.mechanism.geometry import Geometry

from .bodies import ball, placed


def test_what_moves_too_fast_for_its_steps_is_marked() -> None:
    """A ball at 1e6 m/s stops at a floor; past a post, which it may have met between two steps, it is marked."""
    robot = ball(0.1)
    scene = fb.Scene(robot, fb.Plane(), fb.contact.Solid("box", (0.2, 0.2, 1.0), (50.0, 0.5, 0.5)))
    q = np.tile(placed((0.0, 0.0, 1.0)), (4, 1))
    v = np.zeros((4, 6))
    v[:, 3:] = [(0, 0, -1e6), (1e6, 0, 0), (3.0, 0, -1.0), (0, 0, 0)]
    with pytest.warns(fb.SimulationWarning, match=r"samples 0, 1 of 4 moved further .* t = 0 s; .*shorter step"):
        run = scene.simulate(q, v, duration=0.02, dt=2e-3)
    assert run.too_fast is not None and run.too_fast[0].tolist() == [True, True, False, False]
    assert run.q[:, :, 2].min() > 0.1 - 1e-9 and not run.diverged.any()
    worlds = scene.batch(4, dt=2e-3)
    worlds.reset(q=q, v=v)
    assert worlds.too_fast.tolist() == [True, True, False, False]


def test_rotors_may_spin_and_absurd_gains_are_marked() -> None:
    b = fb.Builder("motor")
    shape = Geometry("sphere", (0.1,), role="collision")
    b.body("base", joint=fb.joints.Free(), mass=1.0, inertia=(0.01, 0.01, 0.01), geometry=[shape])
    b.body("rotor", parent="base", joint=fb.joints.Revolute("z"), mass=0.1, inertia=(1e-4, 1e-4, 1e-4))
    scene = fb.Scene(b.build(), fb.Plane())
    v = np.zeros(7)
    v[6] = 2000.0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run = scene.simulate(scene.start(), v, duration=0.01, dt=2e-3)
    assert run.too_fast is not None and not run.too_fast.any()
    with pytest.warns(fb.SimulationWarning) as told:
        run = scene.simulate(scene.start(), v, duration=0.4, dt=2e-3, tau=lambda t, q, v: 1e9 * v)
    assert run.diverged.all() and np.isfinite(run.last[0]).all() and any("diverged" in str(x.message) for x in told)
