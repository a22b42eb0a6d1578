"""Closing guesses, whichever they are; one that cannot be closed in a batch; and states that methods should not see."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import fourbar as fb
from fourbar.joints import Fixed, Free, Revolute, Spherical
from fourbar.loops import Closure
from fourbar.robots.linkages import FIVE_BAR

SOLID = {"mass": 1.0, "inertia": (1.0, 1.0, 1.0)}


@pytest.mark.default_cases("0.5")
@pytest.mark.parametrize("elbows", [0.0, 0.5])
def test_whatever_can_be_closed_is(elbows: float) -> None:
    """A five-bar with both cranks kept closes where its forearms are long enough, and only there."""
    robot, (_, _, forearm) = fb.robots.five_bar(), FIVE_BAR
    left, right = (x.ravel() for x in np.meshgrid(*(np.linspace(-np.pi, np.pi, 31),) * 2, indexing="ij"))
    guess = np.stack([left, 0 * left + elbows, right, 0 * left - elbows], axis=-1)
    with pytest.warns(RuntimeWarning, match=r"'closing' cannot be closed.*fixed.*these are NaN"):
        q = robot.assemble(guess, keep=["left_crank", "right_crank"])
    tips = [robot.pose(guess, body)[:, :3, 3] for body in ("left_forearm", "right_forearm")]
    closable = np.linalg.norm(tips[0] - tips[1], axis=-1) <= 2 * forearm + 1e-9
    assert (np.isfinite(q).all(axis=-1) == closable).all() and 0.8 < closable.mean() < 1.0
    assert (q[closable][:, [0, 2]] == guess[closable][:, [0, 2]]).all()
    assert robot.loop_gap(q[closable]).max() < 1e-10


@pytest.mark.parametrize("keep", [[], ["a"]])
def test_coaxial_hinges_that_are_welded(keep: list[str]) -> None:
    b = fb.Builder("coaxial")
    b.body("a", joint=Revolute("z"), **SOLID)
    b.body("b", parent="a", joint=Revolute("z"), **SOLID)
    robot = b.loop(Closure(Fixed(), "world", "b")).build()
    angle = np.linspace(-3.1, 3.1, 32)
    q = robot.assemble(np.stack([angle, 0 * angle], axis=-1), keep=keep)
    assert np.abs(q.sum(axis=-1)).max() < 1e-12
    assert np.allclose(q[:, 0], angle if keep else angle / 2, atol=1e-6)


def test_one_that_fails_does_not_spoil_a_batch() -> None:
    robot = fb.robots.five_bar()
    good = robot.neutral()
    bad = good + np.array([1.5, 0.0, -1.5, 0.0])
    keep = ["left_crank", "right_crank"]
    with pytest.raises(fb.AssemblyError, match="cannot be closed from this configuration"):
        robot.assemble(bad, keep=keep)
    with pytest.warns(RuntimeWarning, match="in some samples loop"):
        q = robot.assemble([[good, bad], [good, good * np.nan]], keep=keep)
    assert q.shape == (2, 2, 4) and np.allclose(q[:, 0], good) and np.isnan(q[:, 1]).all()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isnan(robot.assemble([good * np.nan, good])).all(axis=-1).tolist() == [True, False]


def test_states_that_are_sound_pass() -> None:
    robot = fb.robots.five_bar()
    q, v = robot.random(0, 3), np.ones((3, robot.nv))
    found = robot.check(q.tolist(), v)
    assert (found[0] == q).all() and (found[1] == v).all()
    assert (robot.check(q[0]) == q[0]).all()
    tree = fb.robots.double_pendulum()
    assert (tree.check([0.1, 0.2]) == [0.1, 0.2]).all()


def test_open_loops_are_refused() -> None:
    robot = fb.robots.five_bar()
    q = robot.random(0, 4)
    with pytest.raises(fb.AssemblyError, match=r"'closing' is open, by up to 0\.\d+.*robot\.assemble\(q\)"):
        robot.check(q[0] + [0.0, 0.1, 0.0, 0.0])
    robot.check(q[0] + 1e-9)
    with pytest.raises(fb.AssemblyError):
        robot.check(q[0] + [0.0, 1e-9, 0.0, 0.0], tolerance=1e-12)
    q[2:] += [0.0, 0.1, 0.0, 0.0]
    with pytest.raises(fb.AssemblyError, match=r"index \[2\] of the batch \(2 of 4 samples\)"):
        robot.check(q)
    for method in (robot.forward_dynamics, robot.inverse_dynamics):
        assert "robot.check(q, v)" in method.help
    assert "check(q, v)" in str(type(robot).__doc__)


def test_what_is_no_state_is_refused() -> None:
    b = fb.Builder("free")
    b.body("base", joint=Free(), **SOLID)
    b.body("ball", parent="base", joint=Spherical(), joint_name="socket", **SOLID)
    robot = b.build()
    q = robot.neutral()
    with pytest.raises(fb.ArgumentError, match=r"quaternion of joint 'base' is zero.*neutral"):
        robot.check(np.zeros(robot.nq))
    with pytest.raises(fb.ArgumentError, match="quaternion of joint 'socket' is zero"):
        robot.check(q * [1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0])
    with pytest.raises(fb.ArgumentError, match="q contains NaN"):
        robot.check(q * np.nan)
    with pytest.raises(fb.ArgumentError, match="v contains NaN"):
        robot.check(q, np.full(robot.nv, np.inf))
    with pytest.raises(fb.ArgumentError, match="check: v must have shape"):
        robot.check(q, np.zeros(3))
    with pytest.raises(fb.ArgumentError, match="tolerance must be a positive number"):
        robot.check(q, tolerance=-1.0)


def test_toggle_positions_are_refused() -> None:
    robot = fb.robots.parallelogram()
    with pytest.raises(fb.SingularError, match=r"is at a toggle position.*\(a fold\).*distance of 0 rad"):
        robot.check(np.zeros(3))
    piston = fb.robots.slider_crank().with_independent("piston")
    with pytest.raises(fb.SingularError, match=r"is at a toggle position.*with_independent"):
        piston.check(np.zeros(3))
    fine = robot.assemble([0.5, -0.5, 0.5], keep=["crank"])
    with pytest.raises(fb.SingularError, match=r"index \[1\] of the batch"):
        robot.check([fine, np.zeros(3)])
    robot.check(fine)


def test_a_guess_that_is_no_number_is_named() -> None:
    with pytest.raises(fb.AssemblyError, match="q contains NaN"):
        fb.robots.five_bar().assemble([np.nan, 0.0, 0.0, 0.0])
