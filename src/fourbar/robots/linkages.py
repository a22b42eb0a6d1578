"""Planar linkages: four-, five- and six-bars, a slider-crank, a leg. Hinges about z, closed by one more hinge."""

from __future__ import annotations

from ..joints import Prismatic, Revolute
from ..loops import Closure
from ..system.robot import Builder, System
from .facts import build_facts, read_facts

DOWN = (0.0, -9.81, 0.0)  # the plane is x-y, and y points up
PARALLELOGRAM = (1.0, 0.5, 1.0)  # ground, cranks, coupler
FIVE_BAR = (0.3, 0.25, 0.35)  # between the motors, cranks, forearms
SLIDER_CRANK = (0.05, 0.15)  # crank, rod


def _rod(b: Builder, name: str, length: float, mass: float, parent: str = "world", at: float = 0.0) -> None:
    """A uniform slender rod along x, hinged at its origin about z to the point x = `at` of its parent."""
    across = mass * length**2 / 12.0
    b.body(
        name, parent=parent, joint=Revolute("z"), position=(at, 0.0, 0.0), mass=mass, com=(length / 2.0, 0.0, 0.0),
        inertia=(0.0, across, across),
    )  # fmt: skip


def _hinge(first: str, x_first: float, second: str, x_second: float) -> Closure:
    """A hinge about z between points on the x axes of two bodies."""
    return Closure(Revolute("z"), first, second, at_predecessor=(x_first, 0.0, 0.0), at_successor=(x_second, 0.0, 0.0))


def four_bar() -> System:
    """A four-bar of three equal links as in Chignoli's examples: the smallest robot with a loop. Gravity is along z."""
    return build_facts(read_facts("four_bar"))


def six_bar() -> System:
    """Five moving links in one loop, three degrees of freedom, as in Chignoli's examples. Gravity is along z."""
    return build_facts(read_facts("six_bar"))


def planar_leg_linkage() -> System:
    """A thigh that carries a four-bar as shank, as in Chignoli's examples: a loop in the middle of a chain."""
    return build_facts(read_facts("planar_leg_linkage"))


def parallelogram() -> System:
    """Two equal cranks joined by a coupler as long as the ground: rods of 1 kg, gravity along -y.

    It has a closed form (see `parallelogram_acceleration`), and at q = 0 a toggle position, where it may also turn into
    an anti-parallelogram. The independent velocity is that of the first crank.
    """
    ground, crank, coupler = PARALLELOGRAM
    b = Builder("parallelogram", gravity=DOWN)
    _rod(b, "crank", crank, 1.0)
    _rod(b, "coupler", coupler, 1.0, parent="crank", at=crank)
    _rod(b, "follower", crank, 1.0, at=ground)
    b.loop(_hinge("coupler", coupler, "follower", crank), name="closing", independent=["crank"])
    b.frame("middle", "coupler", position=(coupler / 2.0, 0.0, 0.0))
    return b.build()


def five_bar() -> System:
    """Two motors on the ground move one point in the plane: the parallel SCARA, two degrees of freedom.

    The independent velocities are the motors'; the tip of the left forearm is the frame "tip".
    """
    ground, crank, forearm = FIVE_BAR
    b = Builder("five_bar", gravity=DOWN)
    for side, x in (("left", -ground / 2.0), ("right", ground / 2.0)):
        _rod(b, f"{side}_crank", crank, 0.4, at=x)
        _rod(b, f"{side}_forearm", forearm, 0.3, parent=f"{side}_crank", at=crank)
    cranks = ["left_crank", "right_crank"]
    b.loop(_hinge("left_forearm", forearm, "right_forearm", forearm), name="closing", independent=cranks)
    b.frame("tip", "left_forearm", position=(forearm, 0.0, 0.0))
    return b.build()


def slider_crank() -> System:
    """Crank, connecting rod and piston: turning into sliding, a loop of two kinds of joint.

    At crank angle θ the piston is at x = r cos θ + √(l² - r² sin² θ); it turns round where crank and rod are in line,
    so the crank's velocity is the independent one.
    """
    crank, rod = SLIDER_CRANK
    b = Builder("slider_crank", gravity=DOWN)
    _rod(b, "crank", crank, 0.6)
    _rod(b, "rod", rod, 0.4, parent="crank", at=crank)
    b.body("piston", joint=Prismatic("x"), position=(crank + rod, 0.0, 0.0), mass=0.5, inertia=(2e-4, 3e-4, 3e-4))
    b.loop(_hinge("rod", rod, "piston", 0.0), name="pin", independent=["crank"])
    return b.build()
