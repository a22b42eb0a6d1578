"""Parameters as a vector: names, values, and a mechanism with others."""

from __future__ import annotations

import numpy as np
import pytest

import fourbar as fb
from fourbar import Builder, ModelError
from fourbar.joints import Free, Revolute, Spherical, Universal
from fourbar.mechanism.inertial_parameters import (
    INERTIAL,
    KINDS,
    about_com,
    parameter_names,
    parameter_values,
    read_columns,
)

SETTABLE = ("inertia", "armature", "damping", "friction")


def _robot() -> fb.System:
    b = Builder("pair")
    b.body("base", joint=Free(), mass=2.0, com=(0.1, 0.2, 0.3), inertia=(0.3, 0.01, 0.02, 0.4, 0.03, 0.5))
    b.body("plate", parent="base", mass=1.0)
    b.body("arm", parent="base", joint=Revolute("x"), joint_name="hinge", mass=1.5, com=(0, 0.4, 0), inertia=(1, 1, 1),
           armature=0.3, damping=0.2, friction=0.1)  # fmt: skip
    return b.build()


def test_names() -> None:
    m = _robot().mechanism
    assert parameter_names(m, "inertia") == tuple(f"{b}.{x}" for b in ("base", "plate", "arm") for x in INERTIAL)
    joints = parameter_names(m, ("damping", "armature"))
    assert joints[6] == "hinge.armature" and joints[-1] == "hinge.damping" and len(joints) == 14
    assert joints[0].startswith("base.") and joints[0].endswith(".armature")


def test_values() -> None:
    """Against the definitions: mass, moment, and inertia about the origin as a sum over point masses."""
    rng = np.random.default_rng(3)
    points, masses = rng.normal(size=(6, 3)), rng.uniform(0.1, 1.0, 6)
    m, com = masses.sum(), masses @ points / masses.sum()

    def inertia(r: np.ndarray) -> np.ndarray:
        return sum(w * (x @ x * np.eye(3) - np.outer(x, x)) for w, x in zip(masses, r, strict=True))

    b = Builder("cloud")
    b.body("cloud", joint=Free(), mass=m, com=com, inertia=inertia(points - com))
    J = inertia(points)
    expected = [m, *(m * com), J[0, 0], J[0, 1], J[0, 2], J[1, 1], J[1, 2], J[2, 2]]
    assert np.allclose(parameter_values(b.mechanism(), "inertia"), expected, rtol=1e-14, atol=1e-14)
    assert np.allclose(about_com(expected)[2], inertia(points - com), rtol=0, atol=1e-14)


def test_round_trip() -> None:
    robot = _robot()
    phi = robot.inertial_parameters(SETTABLE)
    assert phi[-1] == 0.1 and np.allclose(phi[-8], 0.2)
    rng = np.random.default_rng(0)
    other = robot.with_inertial_parameters(1.5 * phi, SETTABLE)
    assert np.allclose(other.inertial_parameters(SETTABLE), 1.5 * phi, rtol=1e-14, atol=1e-15)
    only = robot.with_inertial_parameters(rng.uniform(0, 1, 7), "friction")
    assert only.mechanism.bodies == robot.mechanism.bodies
    assert robot.with_inertial_parameters(only.inertial_parameters("friction"), ["friction"]) == only


def test_springs() -> None:
    """τ = stiffness q + preload is the force of the spring that the mechanism holds, stiffness (q - rest)."""
    robot = _robot().with_inertial_parameters([*np.zeros(6), 4.0, *np.zeros(6), -2.0], ("stiffness", "preload"))
    hinge = robot.mechanism.joints[-1]
    assert (hinge.stiffness, hinge.rest) == ((4.0,), (0.5,))
    assert robot.inertial_parameters(("stiffness", "preload"))[[6, 13]].tolist() == [4.0, -2.0]
    softer = robot.with_inertial_parameters([*np.zeros(6), 2.0], "stiffness")  # the preload stays
    assert (softer.mechanism.joints[-1].stiffness, softer.mechanism.joints[-1].rest) == ((2.0,), (1.0,))
    gone = robot.with_inertial_parameters(np.zeros(14), ("stiffness", "preload")).mechanism.joints[-1]
    assert (gone.stiffness, gone.rest) == ((), ())
    b = Builder("ball")
    b.body("ball", joint=Spherical(), mass=1.0, inertia=(1, 1, 1), stiffness=2.0, rest=(0.6, 0.8, 0.0, 0.0))
    with pytest.raises(ModelError, match=r"joint 'ball': its spring is at rest away from neutral, and the coordinates"):
        b.build().inertial_parameters("stiffness")
    b = Builder("cardan")
    b.body("cross", joint=Universal(), mass=1.0, inertia=(1, 1, 1))
    bent = b.build().with_inertial_parameters([2.0, 1.0, 0.5, 0.0], ("stiffness", "preload")).mechanism.joints[0]
    assert (bent.stiffness, bent.rest) == ((2.0, 1.0), (-0.25, 0.0))


def test_massless_bodies_stay() -> None:
    b = Builder("carried")
    b.body("none", joint=Revolute("z"))
    b.body("mass", parent="none", joint=Revolute("x"), mass=1.0, com=(0.1, 0.2, 0.3), inertia=(1.0, 1.0, 1.0))
    robot = b.build()
    assert robot.with_inertial_parameters(robot.inertial_parameters()).mechanism.bodies[0] == robot.mechanism.bodies[0]


def test_columns_are_ordered() -> None:
    assert read_columns(reversed(KINDS)) == KINDS
    assert read_columns("friction") == ("friction",)


def test_errors() -> None:
    robot = _robot()
    phi = robot.inertial_parameters()
    with pytest.raises(
        ModelError, match=r"inertia, armature, fluid: expected 37 numbers \(base.m, .*\), got shape \(36,\)"
    ):
        robot.with_inertial_parameters(phi[:-1])
    broken = phi.copy()
    broken[20] = np.nan
    with pytest.raises(ModelError, match=r"must be finite; these are not: arm.m$"):
        robot.with_inertial_parameters(broken)
    broken[20] = -1.0
    with pytest.raises(ModelError, match=r"body 'arm': mass -1.0 is negative"):
        robot.with_inertial_parameters(broken, allow_unphysical=True)
    broken[20] = 0.0
    with pytest.raises(ModelError, match=r"body 'arm': mass is zero, but the other parameters"):
        robot.with_inertial_parameters(broken)
    broken[20] = 1.5
    broken[24] += 9.0
    with pytest.raises(ModelError, match=r"body 'arm': the principal moments .* violate the triangle inequality"):
        robot.with_inertial_parameters(broken)
    assert robot.with_inertial_parameters(broken, allow_unphysical=True).mechanism.bodies[2].inertia[0][0] > 9.0
    with pytest.raises(ModelError, match=r"joint 'base': armature must be non-negative"):
        robot.with_inertial_parameters(-np.ones(7), "armature")
    with pytest.raises(ModelError, match=r"joint 'hinge': stiffness must be non-negative"):
        robot.with_inertial_parameters([*np.ones(6), -1.0], "stiffness")
    with pytest.raises(ModelError, match=r"joint 'hinge': a spring without stiffness cannot store a preload, got 0.5"):
        robot.with_inertial_parameters([*np.zeros(6), 0.5], "preload")
    with pytest.raises(ModelError, match=r"joint 'base': a Free joint cannot store a preload"):
        robot.with_inertial_parameters(np.ones(14), ("stiffness", "preload"))
