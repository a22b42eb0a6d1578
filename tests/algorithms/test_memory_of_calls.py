"""Calls that are repeated leave nothing behind: the number of objects stays."""

import gc

import numpy as np
import pytest

import fourbar as fb

PENDULUM, LINKAGE = fb.robots.double_pendulum(), fb.robots.four_bar()
VARYING = LINKAGE.varying(f"{LINKAGE.mechanism.bodies[1].name}.mass")
CALLS = {
    "varying": lambda k: VARYING.at([1.0 + 1e-3 * k]).gravity_force(LINKAGE.neutral()),
    "simulate": lambda k: fb.simulate(PENDULUM, [0.1, 0.2], duration=0.01, dt=1e-3),
    "torque": lambda k: fb.simulate(PENDULUM, [0.1, 0.2], duration=0.005, period=0, tau=lambda t, q, v: np.zeros(2)),
}


@pytest.mark.parametrize("name", CALLS)
def test_repeated_calls_leave_no_objects(name):
    for k in range(60):
        CALLS[name](k)
    gc.collect()
    before = len(gc.get_objects())
    for k in range(200):
        CALLS[name](k)
    gc.collect()
    assert len(gc.get_objects()) - before < 50  # a fourth of one per call
