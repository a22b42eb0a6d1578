"""What a user is told about loops that cannot be: the message names the thing and says what to do."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fourbar as fb
from fourbar import ArgumentError, AssemblyError, Builder, ModelError, UnknownNameError
from fourbar.joints import Composite, Fixed, Free, Planar, Prismatic, Revolute, Spherical
from fourbar.loops import Closure, Constraint, Coupling, Differential, Distance, Gear, Loop, Parametric, Polynomial

from .looped import bars, mechanism, rod

pytestmark = pytest.mark.drawn_in_line


def linkage() -> Builder:
    """Bars of a four-bar, not yet closed, with a ball, a wheel and a body fixed to the crank beside them."""
    b = Builder("linkage", gravity=(0, -9.81, 0))
    bars(b, "", (1.0, 0.4, 0.9, 0.7))
    solid = {"mass": 1.0, "inertia": (0.1, 0.1, 0.1)}
    b.body("ball", joint=Spherical(), **solid).body("wheel", joint=Revolute("x"), **solid)
    return b.body("badge", parent="crank", **solid)


def pin(**places: Any) -> Closure:
    """The joint that closes the four-bar."""
    given = {"at_predecessor": (0.9, 0, 0), "at_successor": (0.7, 0, 0)} | places
    return Closure(Revolute("z"), "coupler", "rocker", **given)


WRONG: dict[str, tuple[Callable[[], object], str]] = {
    "gear on itself": (lambda: Gear("crank", "crank", 2.0), "a gear couples two joints, got 'crank' twice"),
    "gear ratio": (lambda: Gear("crank", "rocker", float("inf")), "ratio must be a finite number, got inf"),
    "gear ratio text": (lambda: Gear("crank", "rocker", "fast"), "ratio must be a finite number, got 'fast'"),
    "gear offset": (lambda: Gear("crank", "rocker", 1.0, float("nan")), "offset must be a finite number"),
    "coupling of none": (lambda: Coupling({"crank": 0.0}), "a factor that is not zero"),
    "coupling of zeros": (lambda: Coupling({"crank": 0.0, "rocker": 0.0}), "a factor that is not zero"),
    "coupling list": (lambda: Coupling(["crank", "rocker"]), "factors by joint"),
    "coupling factor": (lambda: Coupling({"crank": 1.0, "rocker": math.nan}), "factor of 'rocker' must be a finite"),
    "polynomial on itself": (lambda: Polynomial("crank", "crank", (0.0, 1.0)), "couples two joints, got 'crank' twice"),
    "polynomial number": (
        lambda: Polynomial("crank", "rocker", 2.0),
        "list of coefficients, that of the power 0 first, got 2.0",
    ),
    "polynomial text": (lambda: Polynomial("crank", "rocker", "12"), "list of coefficients"),
    "polynomial by power": (lambda: Polynomial("crank", "rocker", {1: 2.0}), "got {1: 2.0}"),
    "polynomial empty": (lambda: Polynomial("crank", "rocker", ()), "at least one coefficient"),
    "polynomial coefficient": (
        lambda: Polynomial("crank", "rocker", (1.0, math.inf)),
        "a coefficient must be a finite",
    ),
    "differential shape": (
        lambda: Differential(["crank"], ["rocker", "coupler"], [[1.0, 2.0]]),
        "2 outputs and 1 inputs needs a finite matrix of shape (2, 1), got [[1.0, 2.0]]",
    ),
    "differential same joint": (
        lambda: Differential(["crank", "rocker"], ["crank"], [[1.0, 2.0]]),
        "lists of different joints, got ['crank', 'rocker'] and ['crank']",
    ),
    "differential text": (
        lambda: Differential("crank", ["rocker"], [[1.0]]),
        "inputs of a differential: expected a list",
    ),
    "differential of nothing": (
        lambda: Differential(["crank"], None, [[1.0]]),
        "outputs of a differential: expected a list of joints, such as ['left', 'right'], got None",
    ),
    "differential uneven": (
        lambda: Differential(["crank", "coupler"], ["rocker"], [[1.0], [2.0, 3.0]]),
        "needs a finite matrix of shape (1, 2), got [[1.0], [2.0, 3.0]]",
    ),
    "rod of no length": (
        lambda: Distance("crank", "rocker", (0, 0, 0), (0, 0, 0), 0.0),
        "must be positive, got 0.0; for zero use a spherical joint",
    ),
    "rod of some length": (
        lambda: Distance("crank", "rocker", (0, 0, 0), (0, 0, 0), "long"),
        "length of a rod must be a finite number, got 'long'",
    ),
    "rod of lengths": (lambda: Distance("crank", "rocker", (0, 0, 0), (0, 0, 0), [1, 2]), "number, got [1, 2]"),
    "rod of negative length": (lambda: Distance("crank", "rocker", (0, 0, 0), (0, 0, 0), -1.0), "got -1.0"),
    "rod of endless length": (lambda: Distance("crank", "rocker", (0, 0, 0), (0, 0, 0), math.inf), "got inf"),
    "rod on one body": (lambda: Distance("crank", "crank", (0, 0, 0), (1, 0, 0), 1.0), "two bodies, got 'crank' twice"),
    "rod at two numbers": (
        lambda: Distance("crank", "rocker", (0, 0), (0, 0, 0), 1.0),
        "rod on 'crank': a position is three finite numbers, got (0, 0)",
    ),
    "closure without joint": (lambda: Closure("hinge", "crank", "rocker"), "such as Revolute('z'), got 'hinge'"),
    "closure with a class": (lambda: Closure(Revolute, "crank", "rocker"), "such as Revolute('z'), got <class"),
    "closure on one body": (lambda: Closure(Revolute(), "crank", "crank"), "between two bodies, got 'crank' twice"),
    "closure position": (
        lambda: pin(at_successor=(1, 2)),
        "loop joint on 'rocker': a position is three finite numbers",
    ),
    "closure position text": (lambda: pin(at_successor="tip"), "loop joint on 'rocker': expected numbers"),
    "closure rotation": (lambda: pin(predecessor_rotation=np.eye(2)), "on 'coupler': expected a 3 x 3 rotation matrix"),
    "closure mirror": (lambda: pin(successor_rotation=-np.eye(3)), "on 'rocker': expected a 3 x 3 rotation matrix"),
    "constraint without function": (lambda: Constraint(3, ["crank"]), "needs a hashable function of joint coordinates"),
    "constraint of text": (
        lambda: Constraint(math.sin, "crank"),
        "a list of joints, such as ['crank'], got 'crank'",
    ),
    "constraint of nothing": (lambda: Constraint(math.sin, []), "expected at least one joint, got []"),
    "constraint of a set": (lambda: Constraint(_branches, {"crank"}), "expected a list of joints"),
    "constraint turned round": (lambda: Constraint(["crank"], _branches), "expected a list of joints"),
    "constraint of too many": (
        lambda: Constraint(_branches, ["crank", "rocker"]),
        "constraint of 'crank', 'rocker': _branches(x: 'Any') -> 'Any' is called with the coordinates of 2 joints",
    ),
    "constraint twice": (lambda: Constraint(_branches, ["crank", "crank"]), "expected different joints"),
    "name no text": (lambda: linkage().loop(pin(), name=3), "the name of a loop must be a non-empty string, got 3"),
    "name empty": (lambda: linkage().loop(pin(), name=""), "the name of a loop must be a non-empty string, got ''"),
    "no loop": (lambda: linkage().loop(Revolute("z")), "a loop of fourbar.constraints, such as Gear("),
    "loop class": (lambda: linkage().loop(Gear), "a loop of fourbar.constraints, such as Gear("),
    "same name": (lambda: linkage().loop(pin(), name="a").loop(pin(), name="a"), "there is already a loop 'a'"),
    "independent text": (
        lambda: linkage().loop(pin(), independent="crank"),
        "expected a list of joints, such as ['crank']",
    ),
    "independent None": (lambda: linkage().loop(pin(), independent=None), "or scales by joint, got None"),
    "independent number": (lambda: linkage().loop(pin(), independent=[1]), "or scales by joint, got [1]"),
    "independent pair": (lambda: linkage().loop(pin(), independent=[("crank", 0.0)]), "cannot be zero"),
    "scale of zero": (
        lambda: linkage().loop(pin(), independent={"crank": 0.0}),
        "joint 'crank': the scale of an independent",
    ),
    "scale no number": (lambda: linkage().loop(pin(), independent={"crank": "x"}), "joint 'crank': expected numbers"),
}


@pytest.mark.parametrize("case", WRONG)
def test_refused_at_once(case: str) -> None:
    make, message = WRONG[case]
    with pytest.raises(ModelError, match=re.escape(message)):
        make()


def _nothing(x: Any) -> None:
    return None


def _branches(x: Any) -> Any:
    return x if x > 0 else -x


REFUSED: dict[str, tuple[Loop, dict[str, Any], str]] = {
    "unknown joint": (Gear("crnk", "rocker", 2.0), {}, "loop 'it': there is no joint 'crnk'; did you mean 'crank'?"),
    "unknown body": (
        Closure(Revolute(), "coupler", "roker"),
        {},
        "loop 'it': there is no body 'roker'; did you mean 'rocker'",
    ),
    "unknown joint of a function": (Constraint(_branches, ["hip"]), {}, "loop 'it': there is no joint 'hip'"),
    "fixed joint": (
        Gear("crank", "badge", 2.0),
        {},
        "loop 'it': joint 'badge' is fixed, so that its coordinates cannot be coupled",
    ),
    "joint with several coordinates": (Gear("crank", "ball", 2.0), {}, "joint 'ball' has 4 coordinates"),
    "same rigid body": (
        Closure(Revolute(), "crank", "badge"),
        {},
        "constrains nothing: both its ends are on the same",
    ),
    "rod on the same rigid body": (
        Distance("crank", "badge", (0, 0, 0), (1, 0, 0), 1.0),
        {},
        "loop 'it' constrains nothing",
    ),
    "too far": (
        pin(at_successor=(9, 0, 0)),
        {},
        "the loops 'it' cannot be closed: the nearest configuration leaves a gap of ",
    ),
    "never": (Constraint(_nothing, ["crank"]), {}, "constraint of 'crank': the function returned None, expected a"),
    "no residual": (Constraint(lambda x, y: x == y, ["crank", "rocker"]), {}, "returned False; write a difference"),
    "constant residual": (
        Constraint(lambda x, y: 0.0, ["crank", "rocker"]),
        {},
        "constraint of 'crank', 'rocker': the function returned [0.0], which depends on none of the joints",
    ),
    "imaginary residual": (Constraint(lambda x, y: 1j, ["crank", "rocker"]), {}, "the function returned 1j"),
    "two where one is free": (
        pin(),
        {"independent": ["crank", "rocker"]},
        "have 1 degrees of freedom, but 2 velocities are declared",
    ),
    "unknown independent": (pin(), {"independent": ["knee"]}, "loop 'it': there is no joint 'knee'"),
    "independent elsewhere": (
        pin(),
        {"independent": ["wheel"]},
        "the velocity of joint 'wheel' cannot be declared independent",
    ),
    "independent ball": (
        pin(),
        {"independent": ["ball"]},
        "in the same cluster: 'crank', 'coupler', 'rocker'",
    ),
    "independent fixed": (
        pin(),
        {"independent": ["badge"]},
        "the velocity of joint 'badge' cannot be declared independent",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused_when_built(case: str) -> None:
    loop, options, message = REFUSED[case]
    with pytest.raises((ModelError, UnknownNameError), match=re.escape(message)):
        linkage().loop(loop, name="it", **options).build()


def test_independent_velocities_that_do_not_determine_the_others() -> None:
    """A joint that its loop holds still determines nothing."""
    b = linkage().loop(Coupling({"crank": 1.0, "wheel": 0.0}), name="it", independent=["crank"])
    with pytest.raises(ModelError, match="loops 'it': the velocities declared independent do not determine the others"):
        b.build()


def test_one_velocity_with_two_scales() -> None:
    b = linkage().loop(pin(), name="a", independent={"crank": 1.0}).loop(pin(), name="b", independent={"crank": 2.0})
    with pytest.raises(
        ModelError, match="loops 'a', 'b': the same velocity is declared independent with different scales"
    ):
        b.build()


def test_fewer_declared_than_free() -> None:
    """Those declared are independent, the rest is chosen: a motor in a cluster with more freedom."""
    b = Builder("five_bar")
    bars(b, "", (1.0, 0.5, 0.8, 0.5))
    rod(b, "extra", 0.7, parent="coupler", position=(0.8, 0, 0))
    joint = Closure(Revolute("z"), "extra", "rocker", at_predecessor=(0.7, 0, 0), at_successor=(0.5, 0, 0))
    b.loop(joint, name="it")
    b.rotor("rotor", drives="extra", ratio=5.0, axis="z", parent="coupler", mass=0.1, inertia=(1e-4, 1e-4, 1e-4))
    robot = b.build()
    assert robot.nv == 2 and "extra" in robot.names.velocities and "rotor" not in robot.names.velocities


def test_loops_that_contradict_each_other() -> None:
    b = linkage().loop(Gear("crank", "rocker", 2.0), name="a").loop(Gear("crank", "rocker", 2.0, 0.1), name="b")
    with pytest.raises(ModelError, match=r"the loops 'a', 'b' cannot be closed.*gap of 0.05"):
        b.build()


def test_a_function_that_asks_for_truth_or_numbers() -> None:
    with pytest.raises(TypeError, match=r"fourbar\.select"):
        linkage().loop(Constraint(_branches, ["crank"])).build()
    with pytest.raises(TypeError, match="use fourbar's sin, cos"):
        linkage().loop(Constraint(math.sin, ["crank"])).build()


def test_what_a_function_was_given() -> None:
    """An error inside a user's function stays what it is, with a note of what the function was called with."""
    with pytest.raises(TypeError) as caught:
        linkage().loop(Constraint(lambda x, y: x - y, ["crank", "ball"])).build()
    assert "for the coordinates of its joints: 'crank' a number, 'ball' 4" in caught.value.__notes__[0]


@pytest.mark.parametrize("kept", ["embedded", "by forces"])
@pytest.mark.parametrize("function", [lambda a, b: a / (b - b), lambda a, b: a - b + 1 / 0], ids=["always", "constant"])
def test_a_function_that_divides_by_zero(function: Callable[..., Any], kept: str) -> None:
    b, loop = linkage(), Constraint(function, ["crank", "wheel"])
    with pytest.raises(ModelError, match=r"a loop of 'crank', 'wheel' divides by zero whatever the coordinates"):
        if kept == "embedded":
            b.loop(loop).build()
        else:
            b.build().constrained(loop)


def test_arrays_of_the_wrong_shape() -> None:
    robot = mechanism("four_bar")
    for method in ("assemble", "loop_gap"):
        with pytest.raises(ArgumentError, match=rf"{method}: q must have shape \(\.\.\., 3\), got \(2,\)"):
            getattr(robot, method)([0.0, 0.0])
        with pytest.raises(ArgumentError, match=f"{method}: q must hold real numbers"):
            getattr(robot, method)("home")
    with pytest.raises(ArgumentError, match=r"keep='crank': expected a list of joints, such as \['crank'\]"):
        robot.assemble([0.0, 0.0, 0.0], keep="crank")
    guess = [0.3, 1.0, 1.5]
    assert robot.assemble(guess, keep=["crank"])[0] == 0.3 and guess == [0.3, 1.0, 1.5]


def test_assemble_says_what_is_left() -> None:
    robot = mechanism("four_bar")
    with pytest.raises(
        AssemblyError, match=r"loop 'loop' cannot be closed.* with 'crank', 'rocker' fixed: the remaining gap is 0\.\d+"
    ):
        robot.assemble([0.0, 0.0, 0.0], keep=["crank", "rocker"])
    with pytest.raises(UnknownNameError, match="there is no moving joint 'crnk'; did you mean 'crank'"):
        robot.assemble([0.0, 0.0, 0.0], keep=["crnk"])
    with pytest.raises(AssemblyError, match="cannot be closed: q contains NaN"):
        robot.assemble([np.nan, 0.0, 0.0])


def test_other_independent_velocities() -> None:
    robot = mechanism("four_bar")
    with pytest.raises(UnknownNameError, match="there is no joint in a loop 'knee'"):
        robot.with_independent("knee")
    with pytest.raises(ModelError, match="have 1 degrees of freedom, but 2 velocities are declared independent"):
        robot.with_independent("crank", "rocker")
    for wrong in (3, ("rocker",)):
        with pytest.raises(ModelError, match="independent: expected a list of joints"):
            robot.with_independent(wrong)
    assert (
        robot.with_independent(["rocker"])
        == robot.with_independent({"rocker": 1.0})
        == robot.with_independent("rocker")
    )
    with pytest.raises(ModelError, match="'rocker': the scale of an independent velocity cannot be zero"):
        robot.with_independent(("rocker", 0.0))


@pytest.mark.slow
def test_loops_that_close_outside_the_limits_have_dynamics() -> None:
    """A joint that may hardly move, and a bar without inertia about its axis: closed configurations are not within,
    since its tip is then further from the other pivot than the other bars reach."""
    b = Builder("bars")
    thin = {"mass": 1.0, "com": (0.5, 0.0, 0.0), "inertia": (0.0, 0.1, 0.1)}
    b.body("a", joint=Revolute("y"), limits=(3.0, 3.0 + 1e-9), **thin)
    b.body("b", parent="a", joint=Revolute("y"), position=(1.0, 0.0, 0.0), **thin)
    b.body("c", joint=Revolute("y"), position=(1.5, 0.0, 0.0), **thin)
    b.loop(Closure(Revolute("y"), "b", "c", at_predecessor=(1.2, 0.0, 0.0), at_successor=(0.9, 0.0, 0.0)))
    robot = b.build()
    assert robot.nv == 1
    with pytest.raises(AssemblyError, match="within the limits"):
        robot.random(rng=0)


def test_random_configurations_keep_narrow_limits() -> None:
    """A loop through a body that is free closes with a slide that may hardly move left where it is."""
    b = Builder("held")
    solid = {"mass": 1.0, "inertia": (0.1, 0.1, 0.1)}
    b.body("arm", joint=Revolute("y"), **solid)
    b.body("box", joint=Free(), **solid)
    b.body("peg", parent="box", joint=Prismatic("z"), limits=(1e-4, 1.001e-4), **solid)
    b.loop(Closure(Fixed(), "arm", "peg", at_predecessor=(0.3, 0.0, 0.0)))
    robot = b.build().with_independent("arm", "peg")
    q = robot.random(rng=0, n=20)
    assert np.all((q[:, -1] >= 1e-4) & (q[:, -1] <= 1.001e-4))
    assert robot.loop_gap(q).max() < 1e-11


def test_limits_may_ask_for_another_assembly() -> None:
    """A four-bar that is built with its rocker above, and whose limits have it below."""
    robot = mechanism("four_bar")
    at = robot.names.coordinates.index("rocker")
    side = np.sign(robot.neutral()[at])
    limits = sorted((-0.1 * side, -3.0 * side))
    turned = robot.with_parameters(joints={"rocker": {"limits": limits}})
    q = turned.random(rng=0, n=5)
    assert np.all((q[:, at] >= limits[0]) & (q[:, at] <= limits[1]))
    assert turned.loop_gap(q).max() < 1e-11


def _root(x: Any, y: Any) -> Any:
    return fb.sqrt(x) - y


def _cone(x: Any) -> Any:
    return fb.sqrt(x * x)


def _flat(x: Any, y: Any) -> Any:
    """The root of zero, wherever x is less than a hundred."""
    return fb.sqrt(fb.maximum(x, 100.0) - 100.0) - y


def _slides() -> Builder:
    b = Builder("slides")
    for name, axis in (("a", "x"), ("b", "y")):
        b.body(name, joint=Prismatic(axis), mass=1.0, inertia=(1, 1, 1))
    return b


def test_functions_without_a_derivative_where_the_robot_is_built() -> None:
    """They are closed where there is one; where there is none, that is said."""
    for loop in (Constraint(_root, ["a", "b"]), Parametric(_cone, ["a"], ["b"])):
        robot = _slides().loop(loop).build()
        assert np.isfinite(robot.forward_dynamics(robot.neutral(), [1.0], [0.0])).all()
    robot = _slides().loop(Constraint(_root, ["a", "b"])).build()
    with pytest.raises(fb.SingularError, match="no value or no derivative"):
        robot.forward_dynamics(np.zeros(robot.nq), [1.0], [0.0])
    with pytest.raises(ModelError, match=r"closed only where the derivative of a condition is undefined"):
        _slides().loop(Constraint(_flat, ["a", "b"])).build()


@pytest.mark.parametrize(("off", "hinted"), [(1e-5, True), (0.5, False)])
def test_hinges_that_just_fail_to_close(off: float, hinted: bool) -> None:
    """An axis of a plane four-bar that is off by rounding, as in a file that says 1.5708."""
    b = Builder("tilted")
    solid = {"mass": 1.0, "inertia": (1, 1, 1)}
    b.body("crank", joint=Revolute("z"), **solid)
    b.body("coupler", parent="crank", joint=Revolute("z"), position=(0.2, 0, 0), **solid)
    b.body("rocker", joint=Revolute("z"), position=(0.5, 0, 0), rpy=(off, 0, 0), **solid)
    pin = Closure(Revolute("z"), "coupler", "rocker", at_predecessor=(0.5, 0, 0), at_successor=(0.4, 0, 0))
    with pytest.raises(ModelError, match="cannot be closed") as raised:
        b.loop(pin, name="pin").build()
    assert ("close 'pin' with Spherical()" in str(raised.value)) is hinted


def test_a_free_joint_closes_nothing() -> None:
    with pytest.raises(ModelError, match=r"'a' and 'b' cannot be Free\(\): it constrains nothing"):
        Closure(Free(), "a", "b")


def test_a_loop_joint_in_series_beside_a_body_of_its_name() -> None:
    b = Builder("names")
    solid = {"mass": 1.0, "inertia": (1, 1, 1)}
    b.body("crank", joint=Revolute("z"), **solid)
    b.body("slot", joint=Planar("z"), **solid)
    robot = b.loop(Closure(Composite(Prismatic("x"), Revolute("z")), "crank", "slot"), name="slot").build()
    assert set(robot.names.bodies) == {"crank", "slot", "slot_joint"}


def test_a_ball_beside_an_axis_that_is_off_needs_more_digits() -> None:
    """Spherical() does not help where the axis of another joint is rounded: it is not named again."""
    b = Builder("four_bar")
    b.body("crank", joint=Revolute("z"), rpy=(-1.5708, 0, 0), mass=1.0, inertia=(1, 1, 1))
    b.body("coupler", parent="crank", joint=Revolute("z"), position=(0.2, 0, 0), mass=1.0, inertia=(1, 1, 1))
    b.body("rocker", joint=Revolute("y"), position=(0.5, 0, 0), mass=1.0, inertia=(1, 1, 1))
    b.loop(Closure(Spherical(), "coupler", "rocker", at_predecessor=(0.5, 0, 0), at_successor=(0.4, 0, 0)))
    with pytest.raises(ModelError, match=r"cannot be closed.*write the numbers with all their digits") as caught:
        b.build()
    assert "Spherical()" not in str(caught.value)
