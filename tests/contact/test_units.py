"""The same scene in other units takes the same steps: m and mm, kg and g, with rows that turn."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fourbar as fb
from fourbar.contact import Compliant, MuJoCo, Rigid, Shape

DT, STEPS = 2e-3, 150
TURNING = {"friction": 0.6, "torsion": 0.02, "rolling": 0.005}


def world(length: float, mass: float, law: str, restitution: float, count: int, tolerance: float) -> fb.Scene:
    """A box, a ball and a can on a plane, in units of which a metre has `length` and a kilogram `mass`."""
    b = fb.Builder("world", gravity=(0.0, 0.0, -9.81 * length))
    turn = mass * length**2
    for name in ("box", "ball", "can")[:count]:
        b.body(name, joint=fb.joints.Free(), mass=1.3 * mass, inertia=(0.011 * turn, 0.013 * turn, 0.015 * turn))
    surface = {name: x * (1.0 if name == "friction" else length) for name, x in TURNING.items()}
    sizes = {"box": (0.3, 0.2, 0.24), "ball": (0.12,), "can": (0.1, 0.16)}
    kinds = {"box": "box", "ball": "sphere", "can": "cylinder"}
    shapes = [
        Shape(name, kinds[name], tuple(x * length for x in sizes[name]), restitution=restitution, **surface)
        for name in ("box", "ball", "can")[:count]
    ]
    laws: dict[str, Any] = {
        "rigid": Rigid(), "compliant": Compliant(3e4 * mass, 200.0 * mass),
        "mujoco": MuJoCo(solimp=(0.9, 0.95, 0.001 * length, 0.5, 2.0)),
    }  # fmt: skip
    plane = fb.Plane(restitution=restitution, **surface)
    more = {"tolerance": tolerance * length, "bounce_above": 0.01 * length, "pairs": "none"}
    return fb.Scene(b.build(), plane, contacts=shapes, law=laws[law], **more)


def start(length: float, count: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(5)
    q, v = [], []
    for k in range(count):
        turn = rng.normal(size=4)
        q += [*(np.array([0.5 * k, 0.1, 0.22 + 0.05 * k]) * length), *(turn / np.linalg.norm(turn))]
        v += [*rng.normal(size=3) * 3.0, *(rng.normal(size=3) * length)]
    return np.array(q), np.array(v)


def in_metres(run: fb.Run, length: float, count: int) -> np.ndarray:
    """Coordinates and velocities of all times in metres."""
    q, v = run.q.copy(), run.v.copy()
    for k in range(count):
        q[:, 7 * k : 7 * k + 3] /= length
        v[:, 6 * k + 3 : 6 * k + 6] /= length
    return np.concatenate([q, v], axis=1)


CASES = [("rigid", 0.0, 1), ("rigid", 0.0, 3), ("rigid", 0.6, 3), ("compliant", 0.0, 3), ("mujoco", 0.0, 3)]


@pytest.mark.parametrize(("law", "restitution", "count"), CASES)
@pytest.mark.parametrize(
    ("length", "mass", "least"), [(1024.0, 1.0, 0.0), (0.125, 256.0, 0.0), (1000.0, 1000.0, 1e-6), (1e-3, 1e-3, 1e-6)]
)
def test_units_do_not_matter(
    law: str, restitution: float, count: int, length: float, mass: float, least: float
) -> None:
    """Powers of two give the same bits; with others, rounding differs, and grows with the motion."""
    tolerance = 1e-8 if length > 1.0 else 1e-10  # below 1e-8 m/s the solver aims at no less than 1e-10 m/s
    runs = []
    for a, m in ((1.0, 1.0), (length, mass)):
        scene, (q, v) = world(a, m, law, restitution, count, tolerance), start(a, count)
        runs.append((scene, scene.simulate(q, v, duration=STEPS * DT, dt=DT)))
    one, other = in_metres(runs[0][1], 1.0, count), in_metres(runs[1][1], length, count)
    assert runs[0][1].contacts.found.sum() > (3 if restitution else 50)
    assert np.abs(one - other).max() <= least
    assert np.array_equal(runs[0][1].contacts.found, runs[1][1].contacts.found)
    if not least:
        force = runs[1][1].contacts.force / (mass * length)
        assert np.array_equal(force, runs[0][1].contacts.force)
