"""Ranks, independent joints and closed configurations do not depend on units, factors of rows, or gear ratios."""

from __future__ import annotations

import contextlib
import re
import warnings
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import fourbar as fb
from fourbar import Builder, SingularError, System
from fourbar.joints import Cylindrical, Joint, Planar, Prismatic, Revolute, Spherical, Universal
from fourbar.loops import Closure, Constraint, Coupling, Differential, Distance, Gear, Loop
from fourbar.spatial.linear import Scalar

pytestmark = pytest.mark.drawn_in_line
SOLID: dict[str, Any] = {"mass": 1.0, "inertia": (0.1, 0.1, 0.1)}
LENGTHS, TINY = (1e-5, 1e-3, 1e3, 1e5), (1e-8, 1e-10)  # the latter: a slip of units, but no reason to lose a loop


def wheels(*names: str) -> Builder:
    b = Builder("wheels")
    for name in names:
        b.body(name, joint=Revolute("z"), **SOLID)
    return b


def turned(alpha: float) -> list[list[float]]:
    c, s = np.cos(alpha), np.sin(alpha)
    return [[1, 0, 0], [0, c, -s], [0, s, c]]


class Scaled(Loop):
    """A loop with its rows times a number."""

    def __init__(self, loop: Loop, factor: float) -> None:
        self.loop, self.factor = loop, factor

    joints = property(lambda self: self.loop.joints)
    bodies = property(lambda self: self.loop.bodies)
    driven_joints = property(lambda self: self.loop.driven_joints)

    def residual(self, view: Any) -> list[Scalar]:
        return [self.factor * x for x in self.loop.residual(view)]


def four_bar(u: float, factor: float) -> Builder:
    b = Builder("four_bar", gravity=(0, -9.81 * u, 0))
    solid: dict[str, Any] = {"mass": 1.0, "inertia": (0.1 * u * u,) * 3}
    b.body("crank", joint=Revolute("z"), com=(0.2 * u, 0, 0), **solid)
    b.body("coupler", parent="crank", joint=Revolute("z"), position=(0.4 * u, 0, 0), com=(0.3 * u, 0, 0), **solid)
    b.body("rocker", joint=Revolute("z"), position=(u, 0, 0), **solid)
    at: dict[str, Any] = {"at_predecessor": (0.9 * u, 0, 0), "at_successor": (0.7 * u, 0, 0)}
    return b.loop(Scaled(Closure(Revolute("z"), "coupler", "rocker", **at), factor))


def rccc(u: float, factor: float) -> Builder:
    b = Builder("rccc", gravity=(0, 0, -9.81 * u))
    solid: dict[str, Any] = {"mass": 1.0, "inertia": (0.1 * u * u,) * 3, "com": (0.1 * u, 0, 0)}
    b.body("crank", joint=Revolute("z"), **solid)
    for name, parent, a, alpha in (("coupler", "crank", 0.2, 0.5), ("follower", "coupler", 0.6, 0.7)):
        b.body(name, parent=parent, joint=Cylindrical("z"), position=(a * u, 0, 0), rotation=turned(alpha), **solid)
    at: dict[str, Any] = {"at_predecessor": (0.5 * u, 0, 0), "at_successor": (0.6 * u, 0.1 * u, 0)}
    at |= {"predecessor_rotation": turned(0.6), "successor_rotation": turned(0.9)}
    return b.loop(Scaled(Closure(Cylindrical("z"), "follower", "world", **at), factor))


def slider(u: float, factor: float) -> Builder:
    """A crank with a geared rotor, a rod to a slide, and a second slide that follows by a rack."""
    b = Builder("slider", gravity=(0, -9.81 * u, 0))
    solid: dict[str, Any] = {"mass": 1.0, "inertia": (0.1 * u * u,) * 3}
    b.body("crank", joint=Revolute("z"), com=(0.1 * u, 0, 0), **solid)
    b.body("rotor", joint=Revolute("z"), **solid)
    b.body("slide", joint=Prismatic("x"), position=(0.9 * u, 0.05 * u, 0), **solid)
    b.body("rack", joint=Prismatic("y"), **solid)
    b.loop(Scaled(Distance("crank", "slide", (0.3 * u, 0, 0), (0, 0, 0), 0.7 * u), factor))
    b.loop(Scaled(Gear("crank", "rotor", 50.0), 1.0 / factor))
    return b.loop(Scaled(Coupling({"rotor": 0.002 * u, "rack": -1.0}), factor))


def spatial(u: float, factor: float) -> Builder:
    b = Builder("rssr", gravity=(0, 0, -9.81 * u))
    solid: dict[str, Any] = {"mass": 1.0, "inertia": (0.1 * u * u,) * 3, "com": (0.1 * u, 0.02 * u, 0)}
    b.body("crank", joint=Revolute("z"), **solid)
    b.body("rod", parent="crank", joint=Universal("y", "z"), position=(0.3 * u, 0, 0), **solid)
    b.body("rocker", joint=Revolute("x"), position=(0.8 * u, 0.1 * u, 0), **solid)
    at: dict[str, Any] = {"at_predecessor": (0.7 * u, 0, 0), "at_successor": (0, 0.5 * u, 0)}
    return b.loop(Scaled(Closure(Spherical(), "rod", "rocker", **at), factor))


MECHANISMS = {"four_bar": four_bar, "rccc": rccc, "slider": slider, "spatial": spatial}
usual = cache(lambda name: MECHANISMS[name](1.0, 1.0).build())  # in metres, their rows as they are


def compared(robot: System, other: System, u: float) -> None:
    """The same robot in other units: q in units of u where it is a length."""
    assert (robot.nq, robot.nv, robot.names.velocities) == (other.nq, other.nv, other.names.velocities)
    q, image = robot.neutral(), other.neutral()
    unit = np.where(np.abs(image) > 1e-12, image / np.where(q == 0.0, 1.0, q), 1.0)
    is_length = np.abs(np.log(np.abs(unit))) > 0.5 * abs(np.log(u))
    assert np.allclose(np.where(is_length, unit / u, unit), 1.0, rtol=1e-7), (q, image)
    assert "slide" not in robot.names.joints or is_length.sum() >= 1
    v, tau = np.full(robot.nv, 0.3), np.full(robot.nv, 0.2)
    # all independent velocities here are angles: torques are in units of u²
    a, b = robot.forward_dynamics(q, v, tau), other.forward_dynamics(image, v, tau * u * u)
    assert np.allclose(a, b, rtol=1e-6, atol=1e-8)


@pytest.mark.default_cases("1e-05", "100000.0", "1e-08", "1e-10")
@pytest.mark.parametrize("u", (*LENGTHS, *TINY))
@pytest.mark.parametrize("name", MECHANISMS)
def test_lengths_in_other_units(name: str, u: float) -> None:
    compared(usual(name), MECHANISMS[name](u, 1.0).build(), u)


@pytest.mark.default_cases("1e-05", "100000.0")
@pytest.mark.parametrize("factor", LENGTHS)
@pytest.mark.parametrize("name", MECHANISMS)
def test_rows_times_a_number(name: str, factor: float) -> None:
    robot, other = usual(name), MECHANISMS[name](1.0, factor).build()
    assert (robot.nq, robot.nv, robot.names.velocities) == (other.nq, other.nv, other.names.velocities)
    assert np.allclose(robot.neutral(), other.neutral(), atol=1e-8)


@pytest.mark.parametrize("seed", range(6))
def test_random_couplings_in_other_units(seed: int) -> None:
    """Rows and columns of random linear loops times powers of ten: the same joints are independent."""
    rng = np.random.default_rng(seed)
    names = [f"j{i}" for i in range(6)]
    A = rng.normal(size=(3, 6)) * (rng.random((3, 6)) < 0.7)
    A = np.concatenate([A, A[:1] - 2.0 * A[1:2]])  # a row that others imply
    A[:, 5] += 1.0
    A[3] = A[0] - 2.0 * A[1]
    found = []
    for case in range(4):
        rows, columns = (10.0 ** (case * rng.integers(-2, 3, n)) for n in (4, 6))
        b = wheels(*names)
        for row in A * rows[:, None] * columns:
            b.loop(Coupling(dict(zip(names, row.tolist(), strict=True))))
        found.append(b.build().names.velocities)
    assert len(set(found)) == 1 and len(found[0]) == 3


def test_rows_of_very_different_sizes() -> None:
    robot = wheels("a", "b", "c").loop(Coupling({"a": 1e5, "b": -1e5})).loop(Coupling({"b": 1e-5, "c": -1e-5})).build()
    assert robot.names.velocities == ("a",)
    assert np.allclose(robot.expand([0.4]), 0.4)


@pytest.mark.parametrize("ratio", [1e-12, 1e-9, 1e6, 1e9, 1e12])
def test_gears_of_any_ratio(ratio: float) -> None:
    one = wheels("a", "b", "c").loop(Gear("a", "b", ratio)).loop(Gear("a", "c", 1.0)).build()
    both = wheels("a", "b", "c").loop(Gear("a", "b", ratio)).loop(Gear("a", "c", ratio)).build()
    assert one.names.velocities == both.names.velocities == ("a",)
    assert np.allclose(one.loop_map([0.0])[:, 0], [1.0, ratio, 1.0], rtol=1e-14)
    assert np.allclose(both.loop_map([0.0])[:, 0], [1.0, ratio, ratio], rtol=1e-14)
    mass = 0.1 * (1.0 + 2.0 * ratio**2)
    assert np.allclose(both.forward_dynamics([0.1], [1.0], [1.0]), 1.0 / mass, rtol=1e-12)


@pytest.mark.parametrize("factor", [5e-324, 1e-300, 1e-60, 1e60, 1e300])
def test_factors_without_a_finite_inverse_or_square_are_refused(factor: float) -> None:
    with pytest.raises(fb.ModelError, match="'b' must be"):
        Coupling({"a": 1.0, "b": factor})
    with pytest.raises(fb.ModelError, match="ratio must be"):
        Gear("a", "b", factor)


@pytest.mark.parametrize("factor", [1e-50, 1e-20, 1e20, 1e50])
def test_factors_near_the_ends_of_what_is_taken(factor: float) -> None:
    robot = wheels("a", "b").loop(Coupling({"a": 1.0, "b": factor})).build()
    M = robot.mass_matrix(np.zeros(1))[0, 0]
    assert robot.names.velocities == ("a",) and np.isclose(M, 0.1 * (1.0 + factor**-2.0), rtol=1e-12)


@pytest.mark.parametrize(("count", "ratio"), [(4, 1000.0), (25, 2.0), (40, 0.5), (60, -3.0)])
def test_chains_of_gears(count: int, ratio: float) -> None:
    names = [f"j{i}" for i in range(count + 1)]
    b = wheels(*names)
    for first, second in pairwise(names):
        b.loop(Gear(first, second, ratio, offset=0.5))
    robot = b.build()
    assert robot.names.velocities == ("j0",)
    powers = ratio ** np.arange(count + 1)
    assert np.allclose(robot.loop_map([0.2])[:, 0], powers, rtol=1e-12)
    assert np.allclose(robot.forward_dynamics([0.2], [0.0], [1.0]), 1.0 / (0.1 * (powers**2).sum()), rtol=1e-12)
    assert len(robot.with_independent(names[-1]).names.velocities) == 1


@pytest.mark.parametrize("k", [0.01, 100.0])
def test_a_train_of_gears_keeps_its_independent_joint(k: float) -> None:
    b = wheels("a", "b", "c", "d")
    for first, second in ("ab", "bc", "cd"):
        b.loop(Coupling({first: k, second: -1.0}))
    assert b.build().names.velocities == ("a",)


def test_a_chain_of_mimics_in_a_file() -> None:
    joints = "".join(
        f"<joint name='j{i}' type='continuous'><parent link='base'/><child link='l{i}'/><axis xyz='0 0 1'/>"
        + (f"<mimic joint='j{i - 1}' multiplier='1000'/>" if i else "") + "</joint>"
        for i in range(5)
    )  # fmt: skip
    inertial = "<inertial><mass value='1'/><inertia ixx='.1' iyy='.1' izz='.1' ixy='0' ixz='0' iyz='0'/></inertial>"
    links = "<link name='base'/>" + "".join(f"<link name='l{i}'>{inertial}</link>" for i in range(5))
    robot = fb.loads(f"<robot name='r'>{links}{joints}</robot>")
    assert robot.names.velocities == ("j0",)


@pytest.mark.parametrize("offset", [0.0, 1e-9, 1e-3])
def test_a_small_placement_is_no_unit_of_length(offset: float) -> None:
    """Loops between coordinates look at no body: where the bodies are must not matter."""
    b = Builder("lift").body("lift", joint=Prismatic("z"), position=(offset, 0, 0), **SOLID)
    b.body("wheel", joint=Revolute("z"), **SOLID)
    robot = b.loop(Constraint(lambda z, q: z - 0.3 * fb.sin(q) - 0.2, ["lift", "wheel"])).build()
    z, q = robot.neutral()[:2] if robot.nq == 2 else robot.expand(robot.neutral())
    assert robot.nv == 1 and abs(z - 0.3 * np.sin(q) - 0.2) < 1e-12 and abs(q) < 1.0


def test_differentials_of_unlike_rows() -> None:
    matrix = [[1e6, 2e6], [1e-6, -1e-6]]
    robot = wheels("a", "b", "c", "d").loop(Differential(["a", "b"], ["c", "d"], matrix)).build()
    assert robot.names.velocities == ("a", "b")
    assert np.allclose(robot.loop_map([0.0, 0.0])[2:], matrix, rtol=1e-14)


def ellipsograph() -> System:
    b = Builder("ellipsograph")
    b.body("slide", joint=Prismatic("x"), mass=0.3, inertia=(1e-4, 1e-4, 1e-4))
    b.body("post", joint=Prismatic("y"), position=(0, 0.5, 0), mass=0.3, inertia=(1e-4, 1e-4, 1e-4))
    return b.loop(
        Constraint(lambda x, y: x * x + (y + 0.5) ** 2 - 0.25, ["slide", "post"]), independent=["slide"]
    ).build()


def test_a_loop_of_one_dependent_velocity_reports_its_toggle_position() -> None:
    robot, q = ellipsograph(), np.array([0.5, -0.5 + 1e-12])
    with pytest.raises(SingularError, match="toggle"):
        robot.forward_dynamics(q, [1.0], [0.0])
    with pytest.warns(RuntimeWarning, match="toggle"):
        found = robot.forward_dynamics(np.stack([q, robot.neutral()]), np.ones((2, 1)), np.zeros((2, 1)))
    assert np.isnan(found[0]).all() and np.isfinite(found[1]).all()


def plate() -> Builder:
    return Builder("plate").body("plate", joint=Planar(), **SOLID).loop(Closure(Planar(), "world", "plate"))


def test_a_loop_whose_rows_are_all_implied_is_simulated() -> None:
    robot = plate().build()
    assert (robot.nq, robot.nv) == (3, 3)
    end = fb.simulate(robot, robot.neutral(), [0.1, 0.2, 0.3], duration=0.1)
    free = Builder("free").body("plate", joint=Planar(), **SOLID).build()
    same = fb.simulate(free, free.neutral(), [0.1, 0.2, 0.3], duration=0.1)
    assert np.allclose(end.q, same.q, atol=1e-12)


def test_a_loop_that_toggles_beside_one_that_is_implied_is_simulated() -> None:
    b = plate()
    b.body("slide", joint=Prismatic("x"), **SOLID)
    b.body("crank", joint=Revolute("z"), **SOLID)
    b.body("rod", parent="crank", joint=Revolute("z"), position=(0.3, 0, 0), **SOLID)
    b.loop(Closure(Revolute("z"), "rod", "slide", at_predecessor=(0.3, 0, 0)), independent=["slide"])
    robot = b.configuration("home", {"crank": 0.7, "rod": -1.4, "slide": 0.6 * np.cos(0.7)}).build()
    v = np.array([float(name == "slide") for name in robot.names.velocities])
    end = fb.simulate(robot, robot.neutral(), v, duration=0.3)
    slide = end.q[:, robot.names.coordinates.index("slide")]
    assert np.isfinite(end.q).all() and slide[-1] < slide.max() > 0.59  # through the dead centre, and back


def pins(gap: float) -> Builder:
    """A four-bar whose pin is written as two points on its axis, one of them a little off."""
    b = Builder("pins", gravity=(0, -9.81, 0))
    b.body("crank", joint=Revolute("z"), **SOLID)
    b.body("coupler", parent="crank", joint=Revolute("z"), position=(0.4, 0, 0), **SOLID)
    b.body("rocker", joint=Revolute("z"), position=(1.0, 0, 0), **SOLID)
    for name, z, off in (("pin", 0.0, 0.0), ("again", 0.1, gap)):
        at: dict[str, Any] = {"at_predecessor": (0.9 + off, off, z), "at_successor": (0.7, 0, z)}
        b.loop(Closure(Spherical(), "coupler", "rocker", **at), name=name)
    return b


@pytest.mark.parametrize("gap", [1e-10, 1e-9, 1e-8, 1e-7, 1e-6])
def test_redundant_rows_with_a_gap_are_left_out(gap: float) -> None:
    with pytest.warns(RuntimeWarning, match=f"'again'.*{gap:.0e}"):
        robot = pins(gap).build()
    exact = pins(0.0).build()
    assert (robot.nq, robot.nv) == (exact.nq, exact.nv) == (3, 1)
    assert np.allclose(robot.neutral(), exact.neutral(), atol=10 * gap)
    q = robot.random(np.random.default_rng(0), 5)
    assert np.all(robot.loop_gap(q) < 1e-11) and np.all(robot.loop_gap(robot.assemble(q + 0.01)) < 1e-11)
    q, v, tau = robot.neutral(), np.array([0.4]), np.array([0.1])
    assert np.allclose(robot.forward_dynamics(q, v, tau), exact.forward_dynamics(exact.neutral(), v, tau), atol=1e-4)


def test_loops_that_contradict_each_other_are_refused() -> None:
    with pytest.raises(fb.ModelError, match="'pin', 'again' cannot be closed"):
        pins(1e-4).build()


def test_a_linkage_that_is_a_little_too_short_is_refused() -> None:
    """At full stretch rows depend on each other too, but only there."""
    b = Builder("short")
    b.body("crank", joint=Revolute("z"), **SOLID)
    b.body("rod", parent="crank", joint=Revolute("z"), position=(0.5, 0, 0), **SOLID)
    b.loop(Closure(Revolute("z"), "rod", "world", at_predecessor=(0.5, 0, 0), at_successor=(1.0 + 1e-8, 0, 0)))
    with pytest.raises(fb.ModelError, match="cannot be closed"):
        b.build()


FROZEN = """<mujoco><compiler angle="radian"/><worldbody>
<body name="crank"><joint name="crank" axis="0 0 1"/><geom size=".1" mass="1"/>
 <body name="coupler" pos="{0} {1} 0"><joint name="coupler" axis="0 0 1"/><geom size=".1" mass="1"/></body></body>
<body name="rocker" pos="{2} 0 0"><joint name="rocker" axis="0 0 1"/><geom size=".1" mass="1"/></body>
</worldbody><equality>
<connect name="pin" body1="coupler" body2="rocker" anchor="{3} {4} 0"/>
<connect name="again" body1="coupler" body2="rocker" anchor="{5} {6} {7}"/>
</equality></mujoco>"""


@pytest.mark.slow_cases("off0-1000.0", "off1-0.001", "off1-1000.0", "off2-0.001")
@pytest.mark.parametrize("u", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("off", [(1e-8, 0.0), (1e-7, -1e-7), (0.0, 1e-6)])
def test_a_pin_whose_points_are_on_slightly_different_axes_still_turns(off: tuple[float, float], u: float) -> None:
    """Both points meet where the file was written, and nowhere else."""
    x, y = off
    lengths = np.array([0.4, 0.3, 1.0, 0.7, 0.4, 0.7 + x, 0.4 + y, 0.1]) * u
    with pytest.warns(UserWarning, match="slack"):
        robot = fb.loads(FROZEN.format(*map(repr, lengths.tolist())), format="mjcf")
    assert robot.nv == 1
    (finding,) = [f for f in robot.report.warnings if f.key == "slack"]
    said = re.search(r"'again'.* gap of ([\d.e-]+)", finding.message)
    assert said and 0.3 * max(map(abs, off)) * u < float(said[1]) < 10 * max(map(abs, off)) * u
    lengths[5:7] = lengths[3:5]
    exact = fb.loads(FROZEN.format(*map(repr, lengths.tolist())), format="mjcf")
    q = exact.random(np.random.default_rng(0), 5)
    v, tau = np.full((5, 1), 0.4), np.full((5, 1), 0.1)
    assert np.allclose(robot.forward_dynamics(q, v, tau), exact.forward_dynamics(q, v, tau), rtol=1e-4)


@pytest.mark.default_cases("1e-08", "6e-07")
@pytest.mark.parametrize("joint", [Revolute("z"), Cylindrical("z"), Universal("x", "z"), Planar()], ids=repr)
@pytest.mark.parametrize("tilt", [1e-8, 1e-7, 6e-7])
def test_a_slightly_tilted_pin_still_turns(joint: Joint, tilt: float) -> None:
    """It is closed in one configuration; away from it its axis and those of the others differ."""

    def built(tilt: float) -> System:
        b = Builder("tilted", gravity=(0, -9.81, 0))
        b.body("crank", joint=Revolute("z"), **SOLID)
        b.body("coupler", parent="crank", joint=Revolute("z"), position=(0.4, 0.3, 0), **SOLID)
        b.body("rocker", joint=Revolute("z"), position=(1.0, 0, 0), **SOLID)
        at: dict[str, Any] = {"at_predecessor": (0.3, 0.1, 0), "at_successor": (-0.3, 0.4, 0)}
        axes = {"predecessor_rotation": turned(tilt), "successor_rotation": turned(tilt)}
        return b.loop(Closure(joint, "coupler", "rocker", **at, **axes), name="pin").build()

    exact = built(0.0)
    with pytest.warns(RuntimeWarning, match="'pin' duplicates"):
        robot = built(tilt)
    assert robot.nv == exact.nv
    q = exact.random(np.random.default_rng(0), 3)
    assert np.allclose(robot.mass_matrix(q), exact.mass_matrix(q), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("height", [1e-8, 1e-6, 1e-3])
def test_a_flat_truss_is_rigid_however_flat(height: float) -> None:
    """Near full stretch rows are nearly those of each other too, but only there."""
    b, rod = Builder("truss"), float(np.hypot(1.0, height))
    b.body("left", joint=Revolute("z"), **SOLID)
    b.body("right", joint=Revolute("z"), position=(2.0, 0, 0), **SOLID)
    b.loop(Closure(Revolute("z"), "left", "right", at_predecessor=(rod, 0, 0), at_successor=(rod, 0, 0)))
    assert b.build().nv == 0


@pytest.mark.parametrize("small", [1e-3, 1e-5, 1e-7, 1e-10])
@pytest.mark.parametrize("far", [False, True], ids=["beside", "at the end"])
def test_a_small_loop_and_a_large_one_that_share_a_link(small: float, far: bool) -> None:
    """The angles of the small one are those that it has by itself."""

    def four_bar(b: Builder, name: str, carrier: str, crank: str, start: float, u: float) -> None:
        """The crank is there already, from `start` on along the x-axis of its carrier."""
        b.body(f"{name}coupler", parent=crank, joint=Revolute("z"), position=(0.4 * u, 0, 0), **SOLID)
        b.body(f"{name}rocker", parent=carrier, joint=Revolute("z"), position=(start + u, 0, 0), **SOLID)
        at: dict[str, Any] = {"at_predecessor": (0.9 * u, 0, 0), "at_successor": (0.7 * u, 0, 0)}
        b.loop(Closure(Revolute("z"), f"{name}coupler", f"{name}rocker", **at), name=name)

    b = Builder("two")
    b.body("crank", joint=Revolute("z"), **SOLID)
    four_bar(b, "large", "world", "crank", 0.0, 1.0)
    if far:  # on the large rocker, and geared to it
        b.body("wheel", parent="largerocker", joint=Revolute("z"), position=(0.7, 0, 0), **SOLID)
        b.loop(Gear("largerocker", "wheel", 1.0))
        four_bar(b, "small", "largerocker", "wheel", 0.7, small)
    else:
        four_bar(b, "small", "world", "crank", 0.0, small)
    robot = b.build()
    assert robot.nv == 1
    q = robot.random(np.random.default_rng(0), 4)
    by_name = dict(zip(robot.names.coordinates, q.T, strict=True))
    alone = Builder("alone")
    alone.body("crank", joint=Revolute("z"), **SOLID)
    four_bar(alone, "own", "world", "crank", 0.0, 1.0)
    own = np.stack([by_name["wheel" if far else "crank"], by_name["smallcoupler"], by_name["smallrocker"]], axis=-1)
    assert np.abs(alone.build().loop_gap(own)).max() < 1e-11 + (1e-14 / small if far else 0.0)


MJCF = """<mujoco><worldbody>
<body name="crank"><joint name="crank" axis="0 0 1"/><geom size=".1" mass="1"/>
 <body name="coupler" pos=".4 0 0"><joint name="coupler" axis="0 0 1"/><geom size=".1" mass="1"/>
  <site name="a" pos=".9 0 0"/><site name="b" pos=".90000001 0 .1"/></body></body>
<body name="rocker" pos="1 0 0"><joint name="rocker" axis="0 0 1"/><geom size=".1" mass="1"/>
  <site name="c" pos=".7 0 0"/><site name="d" pos=".7 0 .1"/></body>
</worldbody><equality>
<connect name="pin" site1="a" site2="c"/>
<connect name="again" site1="b" site2="d"/>
</equality></mujoco>"""


def test_the_gap_in_a_file_is_reported_and_can_be_waived() -> None:
    pytest.importorskip("mujoco")
    with pytest.warns(UserWarning, match="slack"):
        robot = fb.loads(MJCF, format="mjcf")
    (finding,) = [f for f in robot.report.warnings if f.key == "slack"]
    assert "'again'" in finding.message and robot.nv == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        waived = fb.loads(MJCF, format="mjcf", waive=["slack", "flat"])
    assert [f.severity for f in waived.report if f.key == "slack"] == ["note"]
    with pytest.raises(fb.ParseError, match="again"):
        fb.loads(MJCF, format="mjcf", strict=True)


def test_thousands_of_mimics_take_as_long_as_they_are_many() -> None:
    """By count of what is traced, not by a clock."""
    sizes = []
    for count in (100, 200):
        b = wheels("driver", *(f"j{i}" for i in range(count)))
        for i in range(count):
            b.loop(Gear("driver", f"j{i}", 1.0 + i % 7))
        robot = b.build()
        (group,) = robot.model.cluster_tree.clusters
        assert robot.names.velocities == ("driver",) and len(group.embedding.steps) == count
        sizes.append(len(group.embedding.traced.phi[0].graph.nodes))
    assert sizes[1] < 2.2 * sizes[0]


def test_the_trace_of_a_long_loop_grows_with_its_length() -> None:
    sizes = []
    for count in (20, 40):
        b, parent = Builder("ring", gravity=(0, -9.81, 0)), "world"
        for i in range(count):
            b.body(f"b{i}", parent=parent, joint=Revolute("z"), position=(float(i > 0), 0, 0), **SOLID)
            parent = f"b{i}"
        b.configuration("home", {f"b{i}": 2 * np.pi / (count + 1) for i in range(count)})
        b.loop(Closure(Revolute("z"), parent, "world", at_predecessor=(1, 0, 0), at_successor=(0.5, 0, 0)))
        robot = b.build()
        (group,) = robot.model.cluster_tree.clusters
        assert robot.nv == count - 2
        sizes.append(len(group.embedding.traced.phi[0].graph.nodes))
    assert sizes[1] < 2.4 * sizes[0]


def stick(u: float) -> System:
    """Two slides on crossed rails that carry the ends of a stick of length u / 2."""
    b = Builder("stick")
    b.body("slide", joint=Prismatic("x"), **SOLID)
    b.body("post", joint=Prismatic("y"), position=(0, 0.5 * u, 0), **SOLID)
    return b.loop(
        Constraint(lambda x, y: x * x + (y + 0.5 * u) ** 2 - 0.25 * u * u, ["slide", "post"]), independent=["slide"]
    ).build()


@pytest.mark.parametrize("u", (1.0, *LENGTHS))
def test_near_a_toggle_results_are_right_or_refused_in_any_unit(u: float) -> None:
    """Never NaN without a word: where the elimination finds no pivot, it is said to be a toggle position."""
    robot = stick(u)
    for small in 10.0 ** -np.arange(3, 16):
        q = np.array([np.sqrt(0.25 - small**2) * u, (small - 0.5) * u])
        if small >= 1e-8:
            G = robot.loop_map(q)
            assert np.isclose(G[1, 0], -np.sqrt(0.25 - small**2) / small, rtol=1e-6)
        elif small <= 1e-10:
            with pytest.raises(SingularError, match="toggle position"):
                robot.loop_map(q)
        else:
            with contextlib.suppress(SingularError):
                assert np.isfinite(robot.loop_map(q)).all()


def test_random_configurations_of_a_tiny_slider() -> None:
    """A slide without limits is asked to move by what is far for its loop, not by metres."""
    u = 1e-8
    crank, rotor, slide, rack = slider(u, 1.0).build().random(np.random.default_rng(0), 5).T
    rod = np.hypot(0.3 * u * np.cos(crank) - 0.9 * u - slide, 0.3 * u * np.sin(crank) - 0.05 * u) - 0.7 * u
    assert np.ptp(crank) > 0.1 and max(np.abs(rod).max(), np.abs(0.002 * u * rotor - rack).max()) < u * 1e-11
    assert np.abs(50.0 * crank - rotor).max() < 1e-14 * np.abs(rotor).max()  # radians, whatever the size
