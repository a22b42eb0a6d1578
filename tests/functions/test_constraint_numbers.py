"""Derivatives along the numbers of constraints: places of contacts and loops, lengths, ratios, gains."""

from __future__ import annotations

import pickle
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import pytest

import fourbar as fb
from fourbar import Builder
from fourbar.constraints import Condition, Contact, Prescribed, Rows
from fourbar.errors import ArgumentError, ModelError, UnknownNameError
from fourbar.functions.parameter_derivatives import changing, current_values
from fourbar.joints import (
    Cylindrical,
    Fixed,
    Helical,
    Planar,
    Prismatic,
    Revolute,
    Schoenflies,
    Spherical,
    Translation2,
    Translation3,
    Universal,
)
from fourbar.loops import Closure, Constraint, Coupling, Differential, Distance, Gear, Polynomial
from fourbar.mechanism.mechanism import Frame, Placement
from fourbar.system.system import restore
from fourbar.tree.parameters import find
from tests.constraints.held import CASES as KINDS
from tests.constraints.held import walker
from tests.loops import looped

from .rebuilt import again, closed, slope
from .step import STEP, run
from .test_dynamics import TREES, case, near

pytestmark = [pytest.mark.drawn_in_line, pytest.mark.usefixtures("interpreted_programs")]


@dataclass(frozen=True)
class Slip:
    """A blade that slips sideways by some of what it glides; `power` is no number to differentiate along."""

    share: float
    direction: tuple[float, float]
    power: int = 2

    def __call__(self, cart: Any) -> Any:
        x, y, angle = cart
        a, b = self.direction
        return [[self.share * fb.sin(angle) + a, fb.cos(angle) + b, x * y**self.power]]


@dataclass(frozen=True)
class Cam:
    lift: float

    def __call__(self, a: Any, b: Any) -> Any:
        return b - self.lift * fb.sin(a)


_TURNED = ((0.0, -1.0, 0.0), (1.0, 0.0, 0.0), (0.0, 0.0, 1.0))


def _closing(joint: Any) -> Closure:
    return Closure(
        joint, "slide", "left_foot", at_predecessor=(0.0, 0.1, 0.2), at_successor=(0.1, 0.2, 0.3),
        successor_rotation=_TURNED,
    )  # fmt: skip


CASES: dict[str, tuple[Any, ...]] = {
    **{k: KINDS[k] for k in ("weld", "point", "line", "plane", "between", "rotor", "loops")},
    "elsewhere": (
        Contact("left_sole", "plane", at_frame=(0.1, 0.0, -0.1), frame_rotation=_TURNED, to_rotation=_TURNED),
        Contact("tip", "line", to="right_hip", axes="frame", at_frame=(0.0, 0.2, 0.1)),
    ),
    "couplings": (
        Coupling({"arm": 1.0, "slide": -0.4, "left_foot": 0.2}, 0.1),
        Polynomial("right_shin", "right_foot", (0.1, 0.7, -0.2)),
        Gear("left_shin", "left_foot", 0.3, 0.2),
    ),
    "differential": (Differential(["arm", "slide"], ["left_foot", "right_foot"], [[1.0, 0.3], [-0.4, 2.0]]),),
    "functions": (Rows(Slip(0.3, (0.1, 2.0)), ["cart"]), Constraint(Cam(0.4), ["arm", "slide"])),
}
JOINTS = {
    type(j).__name__: j
    for j in (
        Fixed(), Revolute((0.6, 0.0, 0.8)), Prismatic("x"), Cylindrical("y"), Spherical(), Universal("x", "z"),
        Planar("y"), Translation2("x"), Translation3(), Schoenflies("z"), Helical("y", 0.2),
    )
}  # fmt: skip
ROWS = ("residual", "rate", "acceleration", "jacobian", "osim_inverse")


def _arguments(robot: Any, n: int = 2) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(5)
    found = dict(zip(("v", "a", "tau"), rng.normal(size=(3, n, robot.nv)), strict=True))
    return {"q": robot.random(rng, n), **found}


def _rates(c: Any, size: float = 0.3) -> dict[str, np.ndarray]:
    """Of all numbers that the constraints have, and of one of the robot below."""
    rng = np.random.default_rng(6)
    own = [x for x in c._model.numbers if not x.is_mechanisms]
    return {x.name: size * rng.normal(size=x.shape) for x in own}


def _parts(found: Any) -> list[np.ndarray]:
    return list(found) if isinstance(found, tuple) else [found]


def together(parts: Any) -> np.ndarray:
    return np.concatenate([x.reshape(len(x), -1) for x in parts], axis=-1)


def _complex_step(f: Any, given: dict[str, np.ndarray], rates: dict[str, np.ndarray], hidden: int) -> np.ndarray:
    recording = f.jvp.recording.of
    program = changing(recording, find(recording.model.numbers, rates)).program(tuple(given))
    n = len(given["q"])
    built = current_values(recording.model, find(recording.model.numbers, rates))
    moving = {k: np.reshape(built[k], np.shape(x)) + 1j * STEP * np.asarray(x) for k, x in rates.items()}
    moving = {k: np.broadcast_to(x, (n, *np.shape(x))) for k, x in moving.items()}
    found = [y.imag / STEP for y in run(program, {**given, **moving})]
    return together(found[: len(found) - hidden])


def check(c: Any, name: str, given: dict[str, np.ndarray], rates: dict[str, np.ndarray], tol: float = 1e-12) -> None:
    """jvp against a complex step and against constraints built with other numbers; vjp and jacobian against jvp."""
    f = getattr(c, name)
    solved = name not in ROWS
    found = _parts(f.jvp(given, parameters=rates))
    exact = _complex_step(f.function if solved else f, given, rates, int(solved))
    near(together(found), exact, tol)

    def at(h: float) -> np.ndarray:
        other = again(c, rates, h)
        q = given["q"] if other.system is c.system else closed(c.system, other.system, given["q"])
        return together(_parts(getattr(other, name)(**{**given, "q": q})))

    near(exact, slope(at), 3e-7)
    rng, n = np.random.default_rng(7), len(given["q"])
    weights = tuple(rng.normal(size=y.shape) for y in found)
    pulled = f.vjp(given, weights if solved else weights[0], parameters=list(rates)).parameters
    terms = [(pulled[k] * r).reshape(n, -1) for k, r in rates.items()]
    products = [(w * y).reshape(n, -1) for w, y in zip(weights, found, strict=True)]
    difference = sum(x.sum(axis=1) for x in terms) - sum(x.sum(axis=1) for x in products)
    assert np.all(np.abs(difference) <= tol * sum(np.abs(x).sum(axis=1) for x in (*terms, *products)))
    J = f.jacobian(*given.values(), parameters=list(rates))
    for block, rate in zip(J if solved else [J], found, strict=True):
        parts = [block.parameters[k].reshape(*rate.shape, -1) @ np.ravel(r) for k, r in rates.items()]
        assert np.abs(sum(parts) - rate).max() <= tol * max(1.0, np.abs(together(found)).max())


@cache
def small() -> Any:
    """Two short arms, one of them geared to a rotor."""
    b = Builder("small", gravity=(0.3, -0.2, -9.81))
    looped.shaped(b, "arm", 1, joint=Revolute("x"))
    looped.shaped(b, "slide", 2, parent="arm", joint=Prismatic("z"), position=(0.1, 0.2, 0.3))
    looped.shaped(b, "left_foot", 3, joint=Universal("x", "y"), position=(0.2, 0.0, 0.1))
    looped.shaped(b, "right_foot", 4, parent="left_foot", joint=Revolute("z"), position=(0.2, 0.1, 0.1))
    b.rotor("rotor", drives="arm", ratio=7.0, parent="world", axis="x", mass=0.2, inertia=(1e-3, 2e-3, 1e-3))
    b.frame("tip", "slide", position=(0, 0.1, 0.2), rpy=(0.1, 0.2, 0.3))
    return b.build()


@cache
def constrained(name: str) -> Any:
    if name in JOINTS:
        return small().constrained(_closing(JOINTS[name]), stabilize=(4.0, 3.0))
    return walker().constrained(*CASES[name], stabilize=(4.0, 3.0))


_SHORT = ("functions", "Fixed", "Universal", "Helical")
_EACH = [x if x in _SHORT else pytest.param(x, marks=pytest.mark.slow) for x in (*CASES, *JOINTS)]


HELD = {
    "contacts": lambda kind: (Contact("tip", kind, to="right_foot", at_frame=(0.1, 0.2, 0.0), to_rotation=_TURNED),),
    "ground": lambda kind: (Contact("right_foot", kind, axes="frame", frame_rotation=_TURNED),),
}


_SLOW = pytest.mark.slow


@pytest.mark.default_cases("contacts-plane")
@pytest.mark.parametrize("kind", ["weld", *(pytest.param(x, marks=_SLOW) for x in ("line", "point", "touch")), "plane"])
@pytest.mark.parametrize("name", HELD)
def test_contacts(name: str, kind: str) -> None:
    c = small().constrained(*HELD[name](kind), stabilize=(4.0, 3.0))
    check(c, "acceleration", _given(c, "q", "v", "a"), _rates(c))


def _given(c: Any, *names: str) -> dict[str, np.ndarray]:
    every = _arguments(c.system)
    return {k: every[k] for k in names}


@pytest.mark.default_cases("functions")
@pytest.mark.parametrize("name", _EACH)
def test_rows(name: str) -> None:
    """A a + Ȧ v and φ of every kind of constraint, on a tree with embedded loops."""
    c = constrained(name)
    gains = ("stabilize.stiffness", "stabilize.damping")
    rates = {k: x for k, x in _rates(c).items() if k not in gains}
    check(c, "acceleration", _given(c, "q", "v", "a"), rates)
    if any(b.traced.holonomic for b in c._model.groups):
        check(c, "residual", _given(c, "q"), rates)


@pytest.mark.parametrize("function", ["jacobian", "rate", pytest.param("osim_inverse", marks=pytest.mark.slow)])
def test_functions_of_the_rows(function: str) -> None:
    c = constrained("Universal")
    rates = {k: x for k, x in _rates(c).items() if "stabilize" not in k}
    names = ("q", "v") if function == "rate" else ("q",)
    check(c, function, _given(c, *names), rates)


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_forward_dynamics(name: str) -> None:
    """Off the constraints too, with their gains."""
    c = constrained(name)
    check(c, "forward_dynamics", _given(c, "q", "v", "tau"), _rates(c), 1e-12)


@pytest.mark.slow
def test_impulse() -> None:
    c = constrained("between")
    check(c, "impulse", _given(c, "q", "v"), {k: x for k, x in _rates(c).items() if "stabilize" not in k}, 1e-12)


@pytest.mark.default_cases("acceleration")
@pytest.mark.parametrize("function", ["forward_dynamics", "acceleration"])
def test_beside_numbers_of_the_robot(function: str) -> None:
    rod = Distance("slide", "right_foot", (0.1, 0.0, 0.0), (0.0, 0.0, -0.1), 0.9)
    c = small().constrained(rod, Gear("slide", "right_foot", 0.3), stabilize=(4.0, 3.0))
    rates = _rates(c, 0.03) if function == "forward_dynamics" else {"distance1.length": np.array(0.1)}
    more = {"arm.placement": 0.03 * np.arange(6.0), "slide.mass": np.array(0.1), "rotor_gear.ratio": np.array(0.2)}
    last = "tau" if function == "forward_dynamics" else "a"
    check(c, function, _given(c, "q", "v", last), {**rates, **more}, 1e-12)


@pytest.mark.default_cases("constraint")
@pytest.mark.parametrize("least", ["torque", "constraint"])
def test_hybrid_dynamics(least: str) -> None:
    couplings = Coupling({"arm": 1.0, "slide": -0.4}, 0.1), Polynomial("arm", "right_foot", (0.1, 0.7, -0.2))
    c = small().constrained(*couplings, stabilize=(4.0, 3.0))
    names = ["arm"]
    f = c.hybrid_dynamics.specialise(names, least)
    given, rates = _given(c, "q", "v", "a", "tau"), _rates(c)
    found = f.jvp(given, parameters=rates)
    near(together(found), _complex_step(f.function, given, rates, 1), 1e-12)
    by_name = c.hybrid_dynamics.jvp(given, parameters=rates, prescribed=names, least=least)
    assert np.array_equal(by_name[2], found[2])

    def at(h: float) -> np.ndarray:
        return together(again(c, rates, h).hybrid_dynamics(**given, prescribed=names, least=least))

    near(together(found), slope(at), 1e-6)


def _planar(weight: Any = None, least: str = "torque") -> tuple[Any, dict[str, np.ndarray]]:
    """Five hinges in a row whose end is held in its plane: two rows, no more than needed."""
    b = Builder("five", gravity=(0.3, -9.81, 0.2))
    parent = "world"
    for i in range(4):
        looped.shaped(b, f"link{i}", i, parent=parent, joint=Revolute("z"), position=(0.3, 0, 0))
        parent = f"link{i}"
    robot = b.build()
    rod, point = (
        Distance("world", "link3", (0.5, 0.4, 0.0), (0.3, 0.0, 0.0), 0.5),
        Coupling({"link0": 1, "link2": -0.5}),
    )
    c = robot.constrained(rod, point, actuated=["link0", "link1", "link3"], least=least, weight=weight)
    rng = np.random.default_rng(0)
    q = c.project(np.array([[0.4, 0.9, 0.3, -0.8], [0.5, 0.8, 0.5, -0.5]]))
    v = c.impulse(q, rng.normal(size=(2, 4)))[0]
    a = c.forward_dynamics(q, v, rng.normal(size=(2, 4)))[0]
    return c, {"q": q, "v": v, "a": a}


@pytest.mark.slow_cases("impulse")
@pytest.mark.parametrize("function", ["forward_dynamics", "impulse", "osim_inverse"])
def test_a_small_chain(function: str) -> None:
    c, given = _planar()
    c = c.system.constrained(*c._model.conditions, stabilize=(3.0, 2.0))
    last = {"forward_dynamics": {"v": given["v"], "tau": given["a"]}, "impulse": {"v": given["v"]}}.get(function, {})
    rates = {k: x for k, x in _rates(c).items() if function == "forward_dynamics" or "stabilize" not in k}
    check(c, function, {"q": given["q"], **last}, rates, 1e-12)


@pytest.mark.default_cases("torque")
@pytest.mark.parametrize("least", ["torque", "constraint"])
def test_inverse_dynamics(least: str) -> None:
    """The accelerations stay what they are: those that the constraints allow where nothing has changed."""
    c, given = _planar(least=least)
    f = c.inverse_dynamics
    rates = _rates(c)
    found = f.jvp(given, parameters=rates)
    near(together(found), _complex_step(f.function, given, rates, 1), 1e-12)

    def at(h: float) -> np.ndarray:
        return together(again(c, rates, h).inverse_dynamics.function(**given)[:-1])

    near(together(found), slope(at), 1e-6)
    assert np.abs(found[0]).max() > 1e-3
    weights = tuple(np.random.default_rng(2).normal(size=y.shape) for y in found)
    pulled = f.vjp(given, weights, parameters=list(rates)).parameters
    backwards = sum((pulled[k] * r).reshape(2, -1).sum(axis=1) for k, r in rates.items())
    assert np.allclose(backwards, sum((w * y).sum(axis=1) for w, y in zip(weights, found, strict=True)), rtol=1e-10)
    J = f.jacobian(**given, parameters=["distance1.length"])
    assert J.tau.parameters["distance1.length"].shape == (2, 3)


_MECHANISMS = ["four_bar", "nested", "differential", TREES[0], TREES[3]]


@pytest.mark.slow
@pytest.mark.parametrize("name", _MECHANISMS)
def test_random_mechanisms(name: str) -> None:
    """A contact and a rod on mechanisms with all joints and loops."""
    plain, state = case(name)
    last = plain.mechanism.bodies[-1].name
    probe = Frame("probe", last, Placement(position=(0.3, 0.2, 0.1)))
    robot = restore(replace(plain.mechanism, frames=(*plain.mechanism.frames, probe)))
    rod = Distance("world", last, (0.2, 0.9, -0.4), (0.1, 0.0, 0.3), 0.7)
    c = robot.constrained(Contact("probe", "touch"), rod, stabilize=(2.0, 1.0))
    if c.rank(state.q[0]) < 2:
        c = robot.constrained(rod, stabilize=(2.0, 1.0))
    check(c, "forward_dynamics", {"q": state.q, "v": state.v, "tau": state.tau}, _rates(c, 0.05), 1e-12)


def test_closed_forms() -> None:
    """A bead on a rail whose rope pulls: the force of a prescribed gear changes with its ratio as it should."""
    b = Builder("two", gravity=(0, 0, 0))
    b.body("first", joint=Prismatic("x"), mass=2.0)
    b.body("second", joint=Prismatic("x"), mass=3.0)
    c = b.build().constrained(Gear("first", "second", 0.7))
    r, tau = 0.7, np.array([1.3, -0.4])
    a = (tau[0] + r * tau[1]) / (2 + 3 * r * r)  # of the first; the second moves with r a
    slope_a = (tau[1] - 6 * r * a) / (2 + 3 * r * r)
    da, dforce = c.forward_dynamics.jvp((np.zeros(2), np.zeros(2), tau), parameters={"gear1.ratio": 1.0})
    assert np.allclose(da, [slope_a, a + r * slope_a], rtol=1e-14)
    assert np.allclose(dforce, 3 * (a + r * slope_a), rtol=1e-13)  # 3 r a = tau2 + force


def test_a_place_on_the_frame_is_a_place_of_the_frame() -> None:
    """Moving the contact on its frame is what moving the frame is."""
    c = walker().constrained(Contact("left_sole", "point", to="slope"))
    given = _given(c, "q", "v", "a")
    by = np.arange(1.0, 7.0)
    own = c.acceleration.jvp(given, parameters={"contact1.at_frame": by})
    assert np.allclose(own, c.acceleration.jvp(given, parameters={"left_sole.placement": by}), rtol=1e-12, atol=1e-12)
    own = c.acceleration.jvp(given, parameters={"contact1.at_to": by})
    assert np.allclose(own, c.acceleration.jvp(given, parameters={"slope.placement": by}), rtol=1e-12, atol=1e-12)
    shifted = np.array([0, 0, 0, 1.0, 2.0, 3.0])
    assert not np.any(c.acceleration.jvp(given, parameters={"contact1.at_to": shifted}))
    b = Builder("same")
    b.body("block", joint=fb.joints.Free(), mass=1.0, inertia=(0.1, 0.2, 0.3))
    b.frame("edge", "block", position=(0.1, 0.2, 0.3), rotation=_TURNED)
    block = b.build()
    q, v = block.random(0), np.arange(6.0)
    named, placed = (
        block.constrained(x)
        for x in (Contact("edge", "line"), Contact("block", "line", at_frame=(0.1, 0.2, 0.3), frame_rotation=_TURNED))
    )
    assert np.allclose(named.jacobian(q), placed.jacobian(q), rtol=1e-14, atol=1e-14)
    assert np.allclose(named.acceleration(q, v, v), placed.acceleration(q, v, v), rtol=1e-13, atol=1e-13)


@dataclass(frozen=True)
class Drag(Condition):
    """A condition of the user's own."""

    joint: str
    other: str
    share: float

    @property
    def joints(self) -> tuple[str, ...]:
        return (self.joint, self.other)

    def rates(self, view: Any) -> Any:
        return [view.v(self.joint)[0] - self.share * fb.cos(view.q(self.other)[0]) * view.v(self.other)[0]]


def test_a_condition_of_the_users_own() -> None:
    c = small().constrained(Drag("slide", "arm", 0.4))
    check_names = [x for x in c.names.numbers if x.startswith("drag1")]
    assert check_names == ["drag1.share"]
    given = _given(c, "q", "v", "tau")
    found = c.forward_dynamics.jvp(given, parameters={"drag1.share": 0.5})
    exact = _complex_step(c.forward_dynamics.function, given, {"drag1.share": np.array(0.5)}, 1)
    near(together(found), exact, 1e-12)

    def at(h: float) -> np.ndarray:
        return together(small().constrained(Drag("slide", "arm", 0.4 + 0.5 * h)).forward_dynamics(**given))

    near(exact, slope(at), 1e-8)


def test_an_embedded_function_has_numbers_too() -> None:
    b = Builder("cam")
    looped.shaped(b, "arm", 1, joint=Revolute("x"))
    looped.shaped(b, "slide", 2, joint=Prismatic("z"))
    b.loop(Constraint(Cam(0.4), ["arm", "slide"]), name="cam", independent=["arm"])
    robot = b.build()
    assert "cam.lift" in robot.names.numbers
    q, x = robot.random(0), np.array([0.7])
    found = robot.bias_force.jvp((q, x), parameters={"cam.lift": 1.0})
    h = 1e-5

    def at(lift: float) -> np.ndarray:
        b = Builder("cam")
        looped.shaped(b, "arm", 1, joint=Revolute("x"))
        looped.shaped(b, "slide", 2, joint=Prismatic("z"))
        b.loop(Constraint(Cam(lift), ["arm", "slide"]), name="cam", independent=["arm"])
        return b.build().bias_force(q, x)

    assert q.shape == (1,)  # the slide follows without any iteration
    assert np.allclose(found, (at(0.4 + h) - at(0.4 - h)) / (2 * h), rtol=1e-7)


def test_names() -> None:
    """As loops are named: by kind and place, or as told; what is named already is left alone."""
    conditions = (Contact("tip", "touch"), Gear("arm", "slide", 0.3), Prescribed(["left_foot"]))
    c = walker().constrained(*conditions, stabilize=(1.0, 2.0))
    assert c.constraints == ("contact1", "gear2", "prescribed3")
    assert set(walker().names.numbers) < set(c.names.numbers) and c.names.joints == walker().names.joints
    new = [x for x in c.names.numbers if x not in walker().names.numbers]
    assert new == [
        "contact1.at_frame",
        "contact1.at_to",
        "gear2.ratio",
        "gear2.offset",
        "stabilize.stiffness",
        "stabilize.damping",
    ]
    told = walker().constrained(*conditions, names=["probe", "belt", "foot"])
    assert "belt.ratio" in told.names.numbers and "stabilize.damping" not in told.names.numbers
    assert pickle.loads(pickle.dumps(told)).constraints == ("probe", "belt", "foot") and told != c
    b = Builder("taken")
    b.body("a", joint=Revolute("x"), mass=1.0, inertia=(0.1, 0.1, 0.1))
    b.body("gear1", joint=Revolute("x"), mass=1.0, inertia=(0.1, 0.1, 0.1))
    assert b.build().constrained(Gear("a", "gear1", 2.0)).constraints == ("gear2",)


def test_it_travels_to_other_processes() -> None:
    c = walker().constrained(Gear("arm", "slide", 0.3), names=["belt"])
    q = walker().random(0)
    along = c.osim_inverse.jvp.along(["belt.ratio"])
    moved = pickle.loads(pickle.dumps(along))
    assert np.array_equal(moved(q=q, **{"d_belt.ratio": 1.0}), along(q=q, **{"d_belt.ratio": 1.0}))


@pytest.mark.parametrize("names", ["belt", ["belt"], ["belt", "belt"], ["belt", ""], ["belt", "arm"], ["belt", 3]])
def test_names_that_are_refused(names: Any) -> None:
    with pytest.raises(ModelError, match=r"names=.*(expected a list of 2 names|already the name of something else)"):
        walker().constrained(Contact("tip"), Gear("arm", "slide", 0.3), names=names)


def test_errors() -> None:
    conditions = Distance("slide", "right_foot", (0.1, 0, 0), (0, 0, -0.1), 0.9), Gear("arm", "slide", 0.3)
    c = small().constrained(_closing(Spherical()), *conditions)
    given = _given(c, "q", "v", "tau")
    with pytest.raises(UnknownNameError, match=r"no parameter 'distance2.lenght'; did you mean 'distance2.length'"):
        c.forward_dynamics.jvp(given, parameters={"distance2.lenght": 1.0})
    with pytest.raises(UnknownNameError, match=r"no parameter 'gear3.ration'; did you mean 'gear3.ratio'"):
        c.osim_inverse.vjp(given["q"], np.eye(5), parameters=["gear3.ration"])
    with pytest.raises(UnknownNameError, match=r"no parameter 'prescribed1'"):
        small().constrained(Prescribed(["arm"])).rate.jacobian(given["q"], given["v"], parameters=["prescribed1"])
    with pytest.raises(ArgumentError, match=r"d_closure1.at_successor must have shape \(..., 6\), got \(3,\)"):
        c.rate.jvp((given["q"], given["v"]), parameters={"closure1.at_successor": np.ones(3)})
    with pytest.raises(UnknownNameError, match=r"no parameter 'stabilize\.damping'"):
        small().constrained(Contact("tip")).rate.jvp(
            (given["q"], given["v"]), parameters={"stabilize.damping": 1.0}
        )  # fmt: skip
    with pytest.raises(UnknownNameError, match=r"no parameter 'distance2.length'"):
        small().mass_matrix.jvp(given["q"], parameters={"distance2.length": 1.0})
