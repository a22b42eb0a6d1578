"""Exciting motions keep their limits, move as they say, and tell more than the first that comes to mind."""

from __future__ import annotations

import numpy as np
import pytest

import fourbar as fb
from fourbar import ArgumentError, exciting_trajectory, identify
from tests.loops import looped

from .arms import arm, base_values, changed, geared


def test_within_limits_and_better() -> None:
    robot = arm()
    limits = {"period": 5.0, "velocity": [1.0, 2.0, 2.0], "acceleration": 8.0}
    found = exciting_trajectory(robot, **limits, evaluations=80)
    lower = [c.lower[0] for c in robot.mechanism.joints if c.joint.nv]
    upper = [c.upper[0] for c in robot.mechanism.joints if c.joint.nv]
    assert np.all((found.q > lower) & (found.q < upper))
    assert np.all(np.abs(found.v) <= limits["velocity"]) and np.all(np.abs(found.a) <= 8.0)
    assert found.condition < 0.7 * found.first
    again = exciting_trajectory(robot, **limits, evaluations=80)
    assert np.array_equal(again.q, found.q)
    result = identify(
        changed(robot),
        {"q": found.q, "v": found.v, "a": found.a, "tau": robot.inverse_dynamics(found.q, found.v, found.a)},
    )
    assert result.residuals.max() < 1e-8 and result.condition < 1e5


def test_starts_and_ends_at_rest() -> None:
    """With zero acceleration too, so that a controller need not jump; and the next period follows smoothly."""
    found = exciting_trajectory(arm(), period=4.0, velocity=1.0, acceleration=5.0, evaluations=5)
    size = np.abs(found.v).max()
    for end in (0, -1):
        assert np.abs(found.v[end]).max() < 1e-12 * size and np.abs(found.a[end]).max() < 1e-11 * size
    assert (found.t[0], found.t[-1]) == (0.0, 4.0) and np.allclose(found.q[0], found.q[-1], atol=1e-12)
    assert size > 0.5 and np.allclose(found.tau, arm().inverse_dynamics(found.q, found.v, found.a))


def _with_drives(**more: object) -> fb.System:
    b = fb.Builder("driven")
    rod = {"mass": 1.0, "com": (0.2, 0.0, 0.1), "inertia": (0.02, 0.03, 0.03)}
    b.body("upper", joint=fb.joints.Revolute("y"), limits=(-1.0, 2.0), max_velocity=1.5, max_force=12.0, **rod, **more)
    drive = {"max_velocity": 2.0, "max_force": 5.0}
    b.body("lower", parent="upper", joint=fb.joints.Revolute("y"), position=(0.4, 0, 0), **drive, **rod)
    return b.build()


def test_limits_of_the_drives() -> None:
    """Without limits given those of the joints count, forces among them, friction included."""
    robot = _with_drives(damping=1.0, friction=0.5)
    found = exciting_trajectory(robot, period=3.0, evaluations=40)
    t = np.linspace(0.0, 3.0, 3000)
    y, v, a = found.fourier.at(t)
    tau = robot.inverse_dynamics(y, v, a) + np.array([1.0, 0.0]) * v + np.array([0.5, 0.0]) * np.sign(v)
    assert np.all(np.abs(tau) <= 1.001 * np.array([12.0, 5.0])) and np.all(np.abs(v) <= [1.5, 2.0])
    assert np.all((y[:, 0] > -1.0) & (y[:, 0] < 2.0))
    tight = exciting_trajectory(robot, period=3.0, force=[9.0, 2.5], evaluations=10)
    assert np.all(np.abs(tight.tau) <= [9.0, 2.5]) and np.abs(found.tau[:, 1]).max() > 2.5
    with pytest.raises(ArgumentError, match=r"joint 'upper' needs a force of 7\.\d+ to stay .* only 1 is allowed"):
        exciting_trajectory(robot, period=3.0, force=1.0)
    with pytest.raises(ArgumentError, match=r"velocity=None: joints 'column', 'upper', 'fore' have no max_velocity"):
        exciting_trajectory(arm(), period=3.0)


def test_geared() -> None:
    """The motors' limits hold too: a rotor turns fifty times as fast as what it drives."""
    b = fb.Builder("geared")
    b.body("elbow", joint=fb.joints.Revolute("y"), mass=1.0, com=(0.2, 0, 0.1), inertia=(0.02, 0.03, 0.03))
    b.body("rotor", joint=fb.joints.Revolute("y"), mass=0.1, inertia=(1e-4, 1e-4, 1e-4), max_velocity=40.0)
    b.loop(fb.loops.Gear("elbow", "rotor", 50.0), independent=["elbow"])
    robot = b.build()
    found = exciting_trajectory(robot, period=6.0, velocity=2.0, acceleration=30.0, evaluations=10)
    assert 0.3 < np.abs(found.v).max() <= 40.0 / 50.0
    wild = exciting_trajectory(geared(), period=6.0, velocity=2.0, acceleration=30.0, evaluations=40)
    assert wild.condition < wild.first and np.abs(wild.v).max() > 1.0


@pytest.mark.slow  # docs/identification.md has such a case too
def test_a_floating_base_is_held() -> None:
    """A quadruped on a stand: its legs move, and with the joints' forces only their parameters are found."""
    robot = fb.robots.mini_cheetah()
    found = exciting_trajectory(robot, period=4.0, velocity=6.0, acceleration=60.0, evaluations=15, samples=600)
    assert len(found.held) == 1 and len(found.moved) == robot.nv - 6
    base = [i for i, name in enumerate(robot.names.velocities) if name not in found.moved]
    assert np.all(found.v[:, base] == 0.0) and np.all(found.a[:, base] == 0.0)
    assert np.allclose(found.q[:, :7], robot.neutral()[:7]) and found.condition < found.first
    tau = robot.inverse_dynamics(found.q, found.v, found.a)
    tau[:, base] = np.nan  # nobody measured what the stand carries
    data = {"q": found.q, "v": found.v, "a": found.a, "tau": tau}
    with pytest.raises(fb.IdentificationError, match="do not excite"):
        identify(changed(robot), data, measured=found.moved)  # a moving base would tell more
    result = identify(changed(robot), data, measured=found.moved, keep_unexcited=True)
    assert result.residuals.max() < 1e-6 * np.nanmax(np.abs(tau))
    known = np.isfinite(result.base_deviations)
    right = base_values(result, robot)
    assert known.sum() > 30 and np.allclose(result.base_values[known], right[known], atol=1e-6)


def test_derivatives() -> None:
    found = exciting_trajectory(arm(), period=4.0, velocity=1.0, acceleration=5.0, evaluations=2, harmonics=3)
    t, h = np.linspace(0.0, 4.0, 7), 1e-5
    _, v, a = found.fourier.at(t)
    (y1, v1, _), (y0, v0, _) = found.fourier.at(t + h), found.fourier.at(t - h)
    assert np.allclose((y1 - y0) / (2 * h), v, atol=1e-8) and np.allclose((v1 - v0) / (2 * h), a, atol=1e-7)
    assert np.allclose(found.fourier.at(t)[0], found.fourier.at(t + 4.0)[0])


def test_loops_stay_closed() -> None:
    robot = fb.robots.four_bar()
    found = exciting_trajectory(robot, period=3.0, velocity=4.0, acceleration=20.0, evaluations=5, harmonics=2)
    assert robot.loop_gap(found.q).max() < 1e-10
    assert found.condition <= found.first
    numerical = robot.difference(found.q[:-2], found.q[2:]) / (found.t[2] - found.t[0])
    assert np.allclose(numerical, found.v[1:-1], atol=2e-2 * np.abs(found.v).max())


@pytest.mark.slow
def test_a_delta_robot_moves_in_its_assembly() -> None:
    """What another assembly would tell (there the platform turns) is not asked for; rods keep their limits."""
    robot = fb.robots.delta()
    found = exciting_trajectory(robot, period=3.0, velocity=1.0, evaluations=8)
    assert found.condition < 1e3 and found.condition < found.first and robot.loop_gap(found.q).max() < 1e-10
    full, limits = robot.expand(found.q), [(c.lower, c.upper) for c in robot.model.cluster_tree.moving]
    lower, upper = (np.concatenate(x) for x in zip(*limits, strict=True))
    assert np.all((full >= lower) & (full <= upper))
    tau = robot.inverse_dynamics(found.q, found.v, found.a)
    result = identify(changed(robot), {"q": found.q, "v": found.v, "a": found.a, "tau": tau})
    right = base_values(result, robot)
    assert np.abs(result.base_values - right).max() < 1e-8 * np.abs(right).max()


def test_errors() -> None:
    robot = arm()
    with pytest.raises(ArgumentError, match=r"velocity=-1: expected a positive number, or 3 of them"):
        exciting_trajectory(robot, period=1.0, velocity=-1, acceleration=1.0)
    with pytest.raises(ArgumentError, match=r"robot: expected a System, such as .* got int"):
        exciting_trajectory(3, period=1.0)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="rng=-1: expected a seed"):
        exciting_trajectory(robot, period=1.0, rng=-1)
    with pytest.raises(ArgumentError, match=r"period=0: expected a positive number"):
        exciting_trajectory(robot, period=0, velocity=1.0, acceleration=1.0)
    for period in ("a", [2.0], np.nan, np.inf):
        with pytest.raises(ArgumentError, match=r"period=.*: expected a positive number of seconds"):
            exciting_trajectory(robot, period=period, velocity=1.0)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match=r"velocity='fast': expected a positive number, or 3 of them"):
        exciting_trajectory(robot, period=1.0, velocity="fast")
    with pytest.raises(ArgumentError, match=r"columns=\[\]: expected at least one kind of parameter"):
        exciting_trajectory(robot, period=1.0, velocity=1.0, columns=[])
    with pytest.raises(ArgumentError, match=r"harmonics=1: expected a whole number, at least 2: a single wave"):
        exciting_trajectory(robot, period=1.0, velocity=1.0, acceleration=1.0, harmonics=1)
    b = fb.Builder("rock")
    b.body("rock", joint=fb.joints.Free(), mass=1.0, inertia=(1, 1, 1))
    with pytest.raises(ArgumentError, match=r"nothing is left to move: joints 'rock' are held, since their coord"):
        exciting_trajectory(b.build(), period=1.0, velocity=1.0, acceleration=1.0)
    b = fb.Builder("stuck")
    b.body("arm", joint=fb.joints.Revolute("x"), mass=1.0, inertia=(1, 1, 1), limits=(0.3, 0.3))
    with pytest.raises(ArgumentError, match=r"joints 'arm' have no room to move"):
        exciting_trajectory(b.build(), period=1.0, velocity=1.0, acceleration=1.0)
    with pytest.raises(ArgumentError, match=r"joint '.*' is a .* velocities are independent in a loop"):
        exciting_trajectory(looped.mechanism("spatial_crank"), period=1.0, velocity=1.0)
