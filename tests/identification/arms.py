"""Small robots to be identified, and measurements of them."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

import fourbar as fb
from fourbar import Builder, System
from fourbar.joints import Prismatic, Revolute


def _shape(rng: np.random.Generator) -> dict[str, Any]:
    points, mass = 0.15 * rng.normal(size=(5, 3)), float(rng.uniform(0.5, 2.0))
    sigma = mass / 5 * points.T @ points
    return {"mass": mass, "com": 0.1 * rng.normal(size=3), "inertia": np.trace(sigma) * np.eye(3) - sigma}


@cache
def arm() -> System:
    """Three hinges and a tool that is fixed to the last link."""
    rng = np.random.default_rng(1)
    b = Builder("arm")
    b.body("column", joint=Revolute("z"), limits=(-2, 2), **_shape(rng))
    b.body("upper", parent="column", joint=Revolute("y"), position=(0, 0.1, 0.3), limits=(-1.5, 1.5), **_shape(rng))
    b.body("fore", parent="upper", joint=Revolute("y"), position=(0.4, 0, 0), limits=(-2, 2), **_shape(rng))
    b.body("tool", parent="fore", position=(0.3, 0, 0.1), rpy=(0.1, 0.2, 0.3), **_shape(rng))
    return b.build()


@cache
def geared() -> System:
    """A slide and an elbow, each driven by a geared motor."""
    rng = np.random.default_rng(2)
    b = Builder("geared")
    b.body("slide", joint=Prismatic("x"), **_shape(rng))
    b.body("elbow", parent="slide", joint=Revolute("y"), position=(0, 0, 0.2), **_shape(rng))
    b.body("drum", joint=Revolute("z"), position=(0.5, 0, 0), mass=0.4, inertia=(1e-3, 1e-3, 2e-3))
    b.loop(fb.loops.Gear("slide", "drum", 25.0))
    b.rotor("rotor", drives="elbow", ratio=50.0, parent="slide", axis="y", mass=0.2, inertia=(1e-4, 2e-4, 1e-4))
    return b.build()


def changed(robot: System, part: float = 0.2, seed: int = 3) -> System:
    """A robot that looks the same but has other inertias, physical ones: what one knows before identifying."""
    rng = np.random.default_rng(seed)
    phi = robot.inertial_parameters("inertia")
    for ten in phi.reshape(-1, 10):
        ten *= 1.0 + part * rng.uniform(-1.0, 1.0)
        ten[4:] += part * ten[0] * 0.01 * np.array([1.0, 0.0, 0.0, 1.0, 0.0, 1.0])
    return robot.with_inertial_parameters(phi, "inertia")


def measured(robot: System, n: int = 300, noise: Any = 0.0, seed: int = 0, extra: Any = None) -> dict[str, np.ndarray]:
    """Samples at random states; `extra(q, v)` are forces besides, `noise` the standard deviation of measured forces."""
    rng = np.random.default_rng(seed)
    q, (v, a) = robot.random(rng, n), rng.normal(size=(2, n, robot.nv))
    tau = robot.inverse_dynamics(q, v, a) + (0.0 if extra is None else extra(q, v))
    return {"q": q, "v": v, "a": a, "tau": tau + noise * rng.normal(size=tau.shape)}


def swing(
    robot: System, duration: float = 12.0, dt: float = 2e-3, noise: Any = 0.0, extra: Any = None, seed: int = 0
) -> dict[str, np.ndarray]:
    """A recording over time of a robot whose coordinates are its velocities' integrals, with exact q, v, a."""
    rng = np.random.default_rng(seed)
    amplitude, rate = rng.uniform(1.0, 6.0, (4, robot.nv)), rng.uniform(1.0, 9.0, (4, robot.nv))
    t = np.arange(0.0, duration, dt)
    angles = rate * t[:, None, None]
    q = np.sum(amplitude / rate**2 * np.sin(angles), axis=1)
    v = np.sum(amplitude / rate * np.cos(angles), axis=1)
    a = -np.sum(amplitude * np.sin(angles), axis=1)
    tau = robot.inverse_dynamics(q, v, a) + (0.0 if extra is None else extra(q, v))
    return {"q": q, "v": v, "a": a, "tau": tau + noise * rng.normal(size=tau.shape), "t": t}


def base_values(result: Any, robot: System) -> np.ndarray:
    """The base parameters of a robot, in the order of a result."""
    phi = dict(zip(robot.parameter_names(result.columns), robot.inertial_parameters(result.columns), strict=True))
    return result.base.combine @ [phi[name] for name in result.base.names]


def without(data: dict[str, Any], *names: str) -> dict[str, Any]:
    """Data that lack some arrays."""
    return {k: x for k, x in data.items() if k not in names}
