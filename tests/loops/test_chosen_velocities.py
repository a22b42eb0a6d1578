"""Independent velocities as the user wants them: of joints with several, one by one, and where the robot is built at a
dead centre of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import fourbar as fb
from fourbar.edit.coordinates import gather_velocity
from fourbar.joints import Prismatic, Revolute
from fourbar.loops import Closure

from .looped import near

CARTESIAN = ("platform.vx", "platform.vy", "platform.vz")
CHOICES = [
    ("slider_crank", ("piston",)),
    pytest.param("stewart_platform", ("platform",), marks=pytest.mark.slow),
    ("delta", CARTESIAN),
]


@pytest.mark.default_cases("slider_crank")
@pytest.mark.parametrize(("name", "chosen"), CHOICES, ids=["slider_crank", "stewart_platform", "delta"])
def test_the_same_robot_in_other_velocities(name: str, chosen: tuple[str, ...]) -> None:
    robot = fb.robots.ROBOTS[name]()
    other = robot.with_independent(*chosen)
    assert all(x.startswith(chosen[0].split(".")[0]) for x in other.names.velocities)
    rng = np.random.default_rng(0)
    q, (v, a) = robot.random(rng, 5), rng.normal(size=(2, 5, robot.nv))

    def seen(x: np.ndarray) -> np.ndarray:
        return gather_velocity(other.model.cluster_tree, x)

    w, b = seen(robot.expand_velocity(q, v)), seen(robot.expand_acceleration(q, v, a))
    forces = other.inverse_dynamics(q, w, b)
    PE = seen(np.swapaxes(robot.loop_map(q), -1, -2))
    near(np.einsum("nij,nj->ni", PE, forces), robot.inverse_dynamics(q, v, a), 1e-10)
    near(other.forward_dynamics(q, w, forces), b, 1e-9)
    ahead = other.integrate(q, w, 1e-3)
    assert robot.loop_gap(ahead).max() < 1e-12
    near(other.difference(q, ahead), 1e-3 * w, 1e-9)


def test_names_of_velocities_are_those_that_are_reported() -> None:
    delta = fb.robots.delta()
    assert delta.with_independent(*CARTESIAN).names.velocities == CARTESIAN
    assert delta.with_independent(dict.fromkeys(CARTESIAN, 2.0)).names.velocities == CARTESIAN
    renamed = delta.with_independent(*CARTESIAN).renamed(joints={"platform": "plate"})
    assert renamed.names.velocities == ("plate.vx", "plate.vy", "plate.vz")
    with pytest.raises(
        fb.ModelError, match=r"have 3 degrees of freedom, but 6 velocities are declared.*'platform\.vx'"
    ):
        delta.with_independent("platform")
    with pytest.raises(fb.ModelError, match=r"'platform\.vq' cannot be declared independent.*'platform\.vx'"):
        delta.with_independent("platform.vq")
    with pytest.raises(fb.UnknownNameError, match=r"there is no joint in a loop 'plate\.vx'"):
        delta.with_independent("plate.vx")


def test_files_hold_them(tmp_path: Path) -> None:
    delta = fb.robots.delta().with_independent(*CARTESIAN)
    delta.save(tmp_path / "delta.json")
    assert fb.load(tmp_path / "delta.json").names.velocities == CARTESIAN


def test_a_piston_at_its_dead_centre() -> None:
    """Where the crank is in line with the rod the piston says nothing; elsewhere it does."""
    crank = fb.robots.slider_crank()
    piston = crank.with_independent("piston")
    assert np.abs(np.sin(piston.neutral()[0])) > 0.01 and piston.loop_gap(piston.neutral()) < 1e-12
    assert np.isfinite(piston.forward_dynamics(piston.neutral(), [0.1], [0.0])).all()
    assert (crank.neutral() == 0.0).all()


def test_velocities_that_never_determine_the_others_are_refused() -> None:
    """A slide across the plane of a four-bar does not move with it."""
    b = fb.Builder("beside")
    solid = {"mass": 1.0, "inertia": (0.1, 0.1, 0.1)}
    b.body("crank", joint=Revolute("z"), **solid)
    b.body("coupler", parent="crank", joint=Revolute("z"), position=(0.2, 0, 0), **solid)
    b.body("post", joint=Prismatic("z"), **solid)
    b.body("rocker", parent="post", joint=Revolute("z"), position=(0.5, 0, 0), **solid)
    pin = Closure(Revolute("z"), "coupler", "rocker", at_predecessor=(0.5, 0, 0), at_successor=(0.4, 0, 0))
    with pytest.raises(fb.ModelError, match=r"do not determine the others.*configurations near"):
        b.loop(pin, independent=["post"]).build()


def test_a_lock_keeps_them() -> None:
    """As many of them as are left."""
    left = fb.robots.delta().with_independent(*CARTESIAN).lock(["arm1"])
    assert left.nv == 2 and set(left.names.velocities) < set(CARTESIAN)


def test_joints_outside_of_loops_may_be_named_too() -> None:
    """All velocities that a robot has are a choice of its velocities."""
    robot = fb.robots.cassie_leg()
    assert robot.with_independent(*robot.names.velocities).names.velocities == robot.names.velocities
    for wrong in (("hip_roll", 2.0), "nobody"):
        with pytest.raises(fb.FourbarError, match="no joint in a loop"):
            robot.with_independent(wrong)
