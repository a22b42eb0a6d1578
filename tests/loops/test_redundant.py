"""Loops that say more than is needed, loops that leave no freedom, long chains of loops."""

from __future__ import annotations

import numpy as np
import pytest

from fourbar import Builder, System, loads
from fourbar.joints import Cylindrical, Fixed, Joint, Planar, Prismatic, Revolute, Spherical, Universal
from fourbar.loops import Closure, Constraint, Coupling, Distance, Gear

from .looped import bars, near, rod, shaped, state

pytestmark = pytest.mark.drawn_in_line

LENGTHS = (1.0, 0.4, 0.9, 0.7)


def _planar(joint: Joint, times: int = 1) -> System:
    """The planar four-bar, its last pin replaced by a joint that allows at least that; closed several times."""
    b = Builder("planar", gravity=(0, -9.81, 0))
    pin = bars(b, "", LENGTHS)
    places = {"at_predecessor": pin.at_predecessor.p, "at_successor": pin.at_successor.p}
    for i in range(times):
        closure = Closure(joint, pin.predecessor, pin.successor, **places)
        b.loop(closure, name=f"loop{i}", independent=["crank"])
    return b.build()


@pytest.mark.parametrize("joint", [Spherical(), Cylindrical("z"), Universal("x", "z")], ids=lambda j: type(j).__name__)
def test_rows_that_a_plane_implies_are_left_out(joint: Joint) -> None:
    """In a plane these joints hold no more and no less than a hinge; in all some rows are redundant."""
    s = state("four_bar")
    hinge, other = _planar(Revolute("z")), _planar(joint)
    assert other.nv == 1
    a = hinge.forward_dynamics(s.q, s.v, s.tau, f_ext=s.f_ext)
    near(other.forward_dynamics(s.q, s.v, s.tau, f_ext=s.f_ext), a, 1e-13)


@pytest.mark.parametrize("times", [2, 3])
def test_the_same_loop_several_times(times: int) -> None:
    s = state("four_bar")
    once, often = _planar(Revolute("z")), _planar(Revolute("z"), times)
    assert often.nv == 1 and often.clusters[0].loops == tuple(f"loop{i}" for i in range(times))
    near(often.mass_matrix(s.q), once.mass_matrix(s.q), 1e-14)
    near(often.forward_dynamics(s.q, s.v, s.tau), once.forward_dynamics(s.q, s.v, s.tau), 1e-13)


def _parallel(cranks: int) -> System:
    """A beam on parallel cranks: each after the second is redundant."""
    b = Builder("parallel", gravity=(0, -9.81, 0))
    rod(b, "crank0", 0.5)
    rod(b, "beam", 1.0, parent="crank0", position=(0.5, 0, 0))
    for i in range(1, cranks):
        at = i / (cranks - 1)
        rod(b, f"crank{i}", 0.5, position=(at, 0, 0))
        b.loop(Closure(Revolute("z"), "beam", f"crank{i}", at_predecessor=(at, 0, 0), at_successor=(0.5, 0, 0)))
    return b.build().with_independent("crank0")


@pytest.mark.parametrize("cranks", [2, 3, 5])
def test_parallel_cranks(cranks: int) -> None:
    """-g cos θ (n/2 + 1) / ((n/3 + 1) L) for n cranks, in spite of loops that imply each other."""
    robot, angle = _parallel(cranks), np.array([0.4, 1.0, 2.2])
    assert robot.nv == 1
    q = angle[:, None] * np.array([1.0, -1.0] + [1.0] * (cranks - 1))
    assert robot.loop_gap(q).max() < 1e-15
    a = robot.forward_dynamics(q, np.ones((3, 1)), np.zeros((3, 1)))
    near(a[:, 0], -9.81 * np.cos(angle) * (cranks / 2 + 1) / ((cranks / 3 + 1) * 0.5), 1e-13)


def _locked() -> System:
    """A linkage that cannot move, and what hangs on it."""
    b = Builder("locked", gravity=(0, -9.81, 0))
    b.loop(bars(b, "", LENGTHS), name="loop")
    b.loop(Constraint(_at_eight_tenths, ["crank"]), name="lock")
    shaped(b, "tip", 1, parent="rocker", joint=Revolute("y"), position=(0.2, 0, 0))
    return b.build()


def _at_eight_tenths(x: float) -> float:
    return x - 0.8


def test_a_structure_carries_what_hangs_on_it() -> None:
    """A cluster without freedom: all methods work, and what it carries moves as if it were on the ground."""
    robot, rng = _locked(), np.random.default_rng(0)
    assert robot.nv == 1 and robot.names.velocities == ("tip",)
    q = robot.random(rng, 4)
    v, a, tau = rng.normal(size=(3, 4, 1))
    fixed = Builder("fixed", gravity=(0, -9.81, 0))
    T = robot.pose(q[0], "rocker")
    fixed.body("rocker", position=T[:3, 3], rotation=T[:3, :3])
    shaped(fixed, "tip", 1, parent="rocker", joint=Revolute("y"), position=(0.2, 0, 0))
    alone = fixed.build()
    same = np.abs(robot.expand(q)[:, 2] - robot.expand(q)[0, 2]) < 1e-9  # in the same of the two assemblies
    q, v, a, tau = q[same], v[same], a[same], tau[same]
    angle = q[:, 3:]
    near(robot.forward_dynamics(q, v, tau), alone.forward_dynamics(angle, v, tau), 1e-12)
    near(robot.inverse_dynamics(q, v, a), alone.inverse_dynamics(angle, v, a), 1e-12)
    near(robot.inverse_mass_matrix(q), alone.inverse_mass_matrix(angle), 1e-12)
    near(robot.osim_inverse(q, frames=["tip"]), alone.osim_inverse(angle, frames=["tip"]), 1e-12)
    near(robot.integrate(q, v, 0.1)[:, :3], q[:, :3], 1e-12)
    assert robot.loop_map(q).shape == (len(q), 4, 1)


def test_nothing_is_left_to_move() -> None:
    """A robot of loops only, without any freedom."""
    b = Builder("frame", gravity=(0, -9.81, 0))
    rod(b, "left", 1.0)
    rod(b, "right", 1.0, position=(1.0, 0, 0))
    joint = Closure(Revolute("z"), "left", "right", at_predecessor=(1.0, 0, 0), at_successor=(1.0, 0, 0))
    robot = b.loop(joint).build()
    assert robot.nv == 0
    q, none = robot.neutral(), np.zeros(0)
    assert q.tolist() == pytest.approx([np.pi / 3, 2 * np.pi / 3], abs=1e-12) or q[0] < 0.0
    assert robot.forward_dynamics(q, none, none).shape == (0,)
    assert robot.mass_matrix(q).shape == (0, 0)
    near(robot.integrate(q, none, 1.0)[None], q[None], 1e-12)
    assert robot.kinetic_energy(q, none) == 0.0


def test_a_long_chain_of_gears() -> None:
    """Twenty wheels, each geared to the next: one coordinate, and the ratios multiply."""
    b, ratios = Builder("clock"), np.linspace(-2.0, 2.1, 20)
    shaped(b, "wheel0", 0, joint=Revolute("z"))
    for i, ratio in enumerate(ratios, 1):
        shaped(b, f"wheel{i}", i, joint=Revolute("z"), position=(i, 0, 0))
        b.loop(Gear(f"wheel{i - 1}", f"wheel{i}", ratio, offset=0.1))
    robot = b.build()
    assert robot.nq == robot.nv == 1 and len(robot.clusters) == 1
    expected = np.concatenate([[1.0], np.cumprod(ratios)])
    assert robot.loop_map(np.array([0.3]))[:, 0] == pytest.approx(expected, rel=1e-14)
    angles = [0.3]
    for ratio in ratios:
        angles.append(ratio * angles[-1] + 0.1)
    assert robot.expand(np.array([0.3])) == pytest.approx(np.array(angles), rel=1e-12)


def test_gears_in_a_circle() -> None:
    """Gears that close a circle: consistent ones leave one freedom; one more says that nothing turns."""

    def circle(last: float) -> System:
        b = Builder("circle")
        for i in range(3):
            shaped(b, f"wheel{i}", i, joint=Revolute("z"), position=(i, 0, 0))
        b.loop(Gear("wheel0", "wheel1", -2.0)).loop(Gear("wheel1", "wheel2", 3.0)).loop(Gear("wheel2", "wheel0", last))
        return b.build()

    assert circle(-1 / 6).nv == 1
    assert circle(1 / 6).nv == 0


def test_a_coupling_of_one_side_only_fixes_a_joint() -> None:
    """A factor of zero: the joint is tied to nothing, the other one is held."""
    b = Builder("held")
    for i in range(2):
        shaped(b, f"wheel{i}", i, joint=Revolute("z"), position=(i, 0, 0))
    robot = b.loop(Coupling({"wheel0": 2.0, "wheel1": 0.0}, offset=1.0)).build()
    assert robot.names.velocities == ("wheel1",)
    near(robot.expand(np.array([0.7]))[None], np.array([[0.5, 0.7]]), 1e-15)


def test_a_rod_may_be_redundant() -> None:
    """Two rods of a parallelogram's diagonal length in the same place hold what one does."""
    b = Builder("rods", gravity=(0, -9.81, 0))
    rod(b, "bar", 1.0)
    b.body("slab", mass=1.0, inertia=(0.1, 0.1, 0.1), joint=Planar("z"))
    for _ in range(2):
        b.loop(Distance("bar", "slab", (1.0, 0, 0), (0.1, 0.2, 0), 0.7))
    assert b.build().nv == 3


def test_a_weld_of_two_slides_and_a_hinge() -> None:
    """A body held by a weld in a chain that could not move otherwise: the chain is a structure, without a gap."""
    b = Builder("welded", gravity=(0, 0, -9.81))
    shaped(b, "slide", 1, joint=Prismatic("x"))
    shaped(b, "arm", 2, parent="slide", joint=Revolute("y"), position=(0, 0, 0.5))
    robot = b.loop(Closure(Fixed(), "world", "arm", at_predecessor=(0.3, 0, 0.5))).build()
    assert robot.nv == 0
    near(robot.neutral()[None], np.array([[0.3, 0.0]]), 1e-12)


PARALLEL = """<mujoco><compiler angle="radian"/><worldbody>
<body name="bar" pos="0 0.004 0.0194" quat="-0.499092 -0.499092 -0.500906 0.500906">
 <joint name="bar" axis="0 0 1"/><geom size=".01"/>
 <body name="plate" pos="-0.0326157 -0.027 0.0025" quat="0 0 1 0"><joint name="plate" axis="0 0 1"/><geom size=".01"/>
  <body name="front" pos="-0.00194114 -0.00724444 -0.0055" quat="0.904588 0 0 0.426286">
   <joint name="front" axis="0 0 1"/><geom size=".01"/></body>
  <body name="back" pos="0.00194114 0.00724444 -0.0055" quat="0.905205 0 0 0.424976">
   <joint name="back" axis="0 0 1"/><geom size=".01"/></body></body></body>
<body name="rod" pos="-0.00724444 -0.004 0.0174589" quat="0.302589 -0.302589 -0.639093 -0.639093">
 <joint name="rod" axis="0 0 1"/><geom size=".01"/></body>
<body name="other" pos="0.00724444 -0.004 0.0213411" quat="-0.301664 0.301664 0.63953 0.63953">
 <joint name="other" axis="0 0 1"/><geom size=".01"/></body>
</worldbody><equality><weld name="first" body1="rod" body2="front"/><weld name="second" body1="other" body2="back"/>
</equality></mujoco>"""


def test_three_parallel_bars_of_six_digits_still_move() -> None:
    """Three bars hold a plate, one too many. Without the last, it can be assembled otherwise too, far away."""
    with pytest.warns(UserWarning, match="slack"):
        robot = loads(PARALLEL, format="mjcf")
    assert robot.nv == 1
    q = robot.integrate(robot.neutral(), [0.3], 1.0)
    q = robot.assemble(q)
    places = dict(zip(robot.names.coordinates, q, strict=True))
    assert abs(places["bar"]) > 0.2 and abs(places["bar"] - places["plate"]) < 0.01  # the plate does not turn
