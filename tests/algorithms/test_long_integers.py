"""Integers that no float holds are refused in words, wherever a number is expected."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fourbar as fb
from fourbar.joints import Helical, Revolute
from fourbar.loops import Closure, Differential, Distance, Gear

HUGE = 10**400
PENDULUM = fb.robots.double_pendulum()


def body(**given: Any) -> Any:
    return fb.Builder("x").body("a", joint=Revolute("z"), **{"mass": 1, "inertia": (1, 1, 1), **given})


CASES: dict[str, Callable[[], Any]] = {
    "mass": lambda: body(mass=HUGE),
    "limits": lambda: body(limits=(-HUGE, HUGE)),
    "max_force": lambda: body(max_force=HUGE),
    "rest": lambda: body(stiffness=1.0, rest=HUGE),
    "axis": lambda: Revolute((HUGE, 0, 0)),
    "pitch": lambda: Helical("z", HUGE),
    "gear": lambda: Gear("a", "b", HUGE),
    "closure": lambda: Closure(Revolute("z"), "a", "b", at_predecessor=(HUGE, 0, 0)),
    "matrix": lambda: Differential(["a"], ["b"], [[HUGE]]),
    "rod": lambda: Distance("a", "b", (HUGE, 0, 0), (0, 0, 0), length=1.0),
    "plane": lambda: fb.Plane((0, 0, HUGE)),
    "q": lambda: PENDULUM.mass_matrix([HUGE, 0]),
    "dt": lambda: PENDULUM.integrate([0.0, 0.0], [0.0, 0.0], HUGE),
    "check": lambda: PENDULUM.check([HUGE, 0]),
    "assemble": lambda: fb.robots.four_bar().assemble([HUGE, 0, 0]),
    "simulate": lambda: fb.simulate(PENDULUM, [HUGE, 0], duration=1.0),
    "rollout": lambda: fb.rollout(PENDULUM, [[HUGE, 0]], [[0, 0]], steps=3, dt=1e-3),
    "point": lambda: PENDULUM.jacobian([0.0, 0.0], "tip", at=(HUGE, 0, 0)),
}


@pytest.mark.parametrize("name", CASES)
def test_a_number_too_long_for_a_float_is_refused(name: str) -> None:
    for _ in range(2):  # repeated calls go another way
        with pytest.raises(fb.FourbarError):
            CASES[name]()
    assert np.isfinite(PENDULUM.mass_matrix([10**40 % 7, 0])).all()
