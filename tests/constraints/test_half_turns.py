"""Loop joints held by forces: no row is zero where the joint cannot be, half a turn on, and `project` gets home."""

from __future__ import annotations

import warnings
from functools import cache

import numpy as np
import pytest

import fourbar as fb
from fourbar.joints import (
    Cylindrical,
    Fixed,
    Free,
    Helical,
    Joint,
    Planar,
    Prismatic,
    Revolute,
    Schoenflies,
    Spherical,
    Translation2,
    Translation3,
)
from fourbar.loops import Closure
from fourbar.system.constrained.robot import Constrained

HALF = np.array([[0.0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1], [0, 0.6, 0, 0.8], [0, 2 / 7, -3 / 7, 6 / 7]])
NO_TURN: tuple[Joint, ...] = (Fixed(), Prismatic("z"), Translation2("z"), Translation3())
ABOUT_Z: tuple[Joint, ...] = (Revolute("z"), Cylindrical("z"), Planar("z"), Schoenflies("z"), Helical("z", pitch=0.3))
SOLID = {"mass": 1.0, "inertia": (0.1, 0.2, 0.25)}
kind = pytest.mark.parametrize("joint", NO_TURN + ABOUT_Z, ids=lambda j: type(j).__name__)


@cache
def stone(joint: Joint) -> Constrained:
    b = fb.Builder("stone")
    b.body("stone", joint=Free(), **SOLID)
    return b.build().constrained(Closure(joint, "world", "stone"))


def at(turned: np.ndarray) -> np.ndarray:
    return np.concatenate([np.zeros((len(turned), 3)), turned], axis=-1)


def z_axis(q: np.ndarray) -> np.ndarray:
    w, x, y, z = (q / np.linalg.norm(q, axis=-1, keepdims=True)).T
    return np.stack([2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y)], axis=-1)


@kind
def test_half_a_turn_is_open(joint: Joint) -> None:
    phi = stone(joint).residual(at(HALF))
    stays = z_axis(HALF)[:, 2] > 1 - 1e-12  # turned about z alone
    may = stays & (joint in ABOUT_Z) & (not isinstance(joint, Helical))
    assert (np.linalg.norm(phi[~may], axis=-1) > 0.5).all()
    assert np.abs(phi[may]).max(initial=0.0) < 1e-15
    assert np.isfinite(phi).all() and phi.shape[-1] == 6 - joint.nv


def test_what_half_a_turn_says() -> None:
    b = fb.Builder("ball")
    b.body("a", joint=Spherical(), **SOLID)
    c = b.build().constrained(Closure(Fixed(), "world", "a"))
    assert np.linalg.norm(c.residual([0, 1, 0, 0])) == pytest.approx(4.0)


@kind
def test_rows_are_the_rates_of_the_residual(joint: Joint) -> None:
    """Also far from closed; next to half a turn differences have few digits."""
    c, rng = stone(joint), np.random.default_rng(1)
    q = np.concatenate([0.2 * rng.normal(size=(40, 3)), rng.normal(size=(40, 4))], axis=-1)
    q[:, 3:] /= np.linalg.norm(q[:, 3:], axis=-1, keepdims=True)
    q = q[np.abs(q[:, 3]) > 0.2]
    v = rng.normal(size=(len(q), 6))
    assert np.abs(q[:, 3]).min() < 0.3
    h = 1e-6
    ahead, behind = (c.residual(c.system.integrate(q, v, t)) for t in (h, -h))
    assert np.abs((ahead - behind) / (2 * h) - c.rate(q, v)).max() < 1e-7


@kind
def test_projections_are_where_the_joint_can_be(joint: Joint) -> None:
    """From anywhere, half a turn included, to the closed configurations that embedded loops know."""
    c, rng = stone(joint), np.random.default_rng(2)
    turned = np.concatenate([HALF, rng.normal(size=(60, 4))])
    q = np.concatenate([0.3 * rng.normal(size=(len(turned), 3)), turned], axis=-1)
    q[:, 3:] /= np.linalg.norm(q[:, 3:], axis=-1, keepdims=True)
    found = c.project(q)
    assert np.abs(c.residual(found)).max() < 1e-10
    assert (z_axis(found[:, 3:])[:, 2] > 1 - 1e-9).all()
    if joint in NO_TURN:
        assert (np.abs(found[:, 3]) > 1 - 1e-9).all()
    b = fb.Builder("embedded")
    b.body("stone", joint=Free(), **SOLID)
    robot = b.loop(Closure(joint, "world", "stone")).build()
    if robot.nq == c.system.nq:
        assert robot.loop_gap(found).max() < 1e-9


def test_a_hand_comes_to_its_targets() -> None:
    """An arm of seven hinges whose hand is to be at poses that it can reach."""
    b = fb.Builder("arm")
    parent = "world"
    for i in range(7):
        b.body(
            f"l{i}", parent=parent, joint=Revolute("zy"[i % 2]), position=(0, 0, 0.2), mass=1.0,
            com=(0, 0, 0.1), inertia=(0.01, 0.02, 0.03),
        )  # fmt: skip
        parent = f"l{i}"
    arm = b.build()
    rng = np.random.default_rng(3)
    for _ in range(10):
        T = arm.pose(rng.uniform(-1.5, 1.5, 7), "l6")
        target = Closure(Fixed(), "world", "l6", at_predecessor=T[:3, 3], predecessor_rotation=T[:3, :3])
        q = arm.constrained(target).project(rng.uniform(-1.5, 1.5, (5, 7)))
        sound = np.isfinite(q).all(axis=-1)
        assert sound.sum() >= 4
        assert np.abs(arm.pose(q[sound], "l6") - T).max() < 1e-9


def test_one_that_fails_does_not_spoil_a_batch() -> None:
    b = fb.Builder("reach")
    b.body("arm", joint=Revolute("z"), com=(0.5, 0, 0), **SOLID)
    c = b.build().constrained(fb.loops.Constraint(_reach, ["arm"]))
    with pytest.raises(fb.AssemblyError, match=r"cannot be satisfied from this configuration: the remaining gap"):
        c.project([9e7])
    with pytest.warns(RuntimeWarning, match="in some samples the constraints cannot be satisfied.*NaN"):
        q = c.project([[9e7], [0.3], [np.nan]])
    assert np.isnan(q[[0, 2]]).all() and np.abs(q[1]) < 1e-9
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isnan(c.project([[np.nan], [0.3]])).tolist() == [[True], [False]]


def _reach(q: float) -> float:
    return q / (1.0 + q * q)
