"""Every number of every type of loop as an argument: the same as of a robot that was built with it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

import fourbar as fb
from fourbar.constraints.serialize import EditedLoop
from fourbar.joints import Helical, Prismatic, Revolute, Spherical
from fourbar.loops import (
    Closure,
    Constraint,
    Coupling,
    Differential,
    Distance,
    Formula,
    Gear,
    Loop,
    Parametric,
    Polynomial,
)
from fourbar.spatial import SE3
from fourbar.system.system import restore
from fourbar.tree.parameters import change_parameters, find, parameters

pytestmark = pytest.mark.drawn_in_line

SAMPLES = 3


@dataclass(frozen=True)
class Lift:
    """A cam with numbers of its own."""

    height: float = 0.2
    lift: float = 0.05

    def __call__(self, turn: Any) -> Any:
        return self.height + self.lift * fb.sin(turn)


@dataclass(frozen=True)
class Ellipse:
    """Two slides on an ellipse; its axes cannot be zero."""

    width: float = 0.9
    depth: float = 0.5

    def __call__(self, x: Any, y: Any) -> Any:
        return (x / self.width) ** 2 + ((y + self.depth) / self.depth) ** 2 - 1.0


ELLIPSE = Formula("x y", "(x / w) ** 2 + ((y + d) / d) ** 2 - 1", constants={"w": 0.9, "d": 0.5})


def robot(loop: Loop, independent: tuple[str, ...] = ()) -> fb.System:
    """Three hinges and two slides, with a loop."""
    b = fb.Builder("looped", gravity=(0.3, -0.2, -9.7))
    shape = {"mass": 1.3, "com": (0.1, 0.02, -0.03), "inertia": (0.02, 0.03, 0.025)}
    b.body("lever", joint=Revolute("y"), **shape)
    b.body("wheel", joint=Revolute("z"), position=(0.3, 0.1, 0.2), **shape)
    b.body("pinion", parent="wheel", joint=Revolute("x"), position=(0.0, 0.1, 0.0), **shape)
    b.body("slide", joint=Prismatic("x"), **shape)
    b.body("post", parent="slide", joint=Prismatic("y"), **shape)
    return b.loop(loop, name="loop", independent=independent).build()


@dataclass(frozen=True)
class Sines(Loop):
    """A type of loop as users add one, which knows nothing of other names, locked joints and mirrors."""

    factor: float = 0.7
    weight: float = 1.4

    @property
    def joints(self) -> tuple[str, ...]:
        return ("lever", "wheel", "pinion")

    def residual(self, view: Any) -> list[Any]:
        a, b, c = (view.q(joint)[0] for joint in self.joints)
        return [self.factor * fb.sin(a) + b / self.weight - c]


def screw() -> fb.System:
    """A nut that turns and slides on a post, held by a thread."""
    b = fb.Builder("screw", gravity=(0.3, -0.2, -9.7))
    shape = {"mass": 1.3, "com": (0.1, 0.02, -0.03), "inertia": (0.02, 0.03, 0.025)}
    b.body("sleeve", joint=Revolute("z"), **shape)
    b.body("nut", parent="sleeve", joint=Prismatic("z"), **shape)
    return b.loop(Closure(Helical("z", pitch=0.05), "world", "nut"), name="loop", independent=("sleeve",)).build()


def own() -> fb.System:
    return robot(Sines(), ("lever", "wheel"))


MAKERS: dict[str, Callable[[], fb.System]] = {
    "Closure": lambda: robot(Closure(Spherical(), "pinion", "post", at_predecessor=(0.3, 0.3, 0.1)), ("wheel",)),
    "Formula": lambda: robot(Constraint(ELLIPSE, ["slide", "post"]), ("slide",)),
    "Screw": lambda: screw(),
    "Constraint": lambda: robot(Constraint(Ellipse(), ["slide", "post"]), ("slide",)),
    "Coupling": lambda: robot(Coupling({"lever": 1.5, "wheel": 0.4, "slide": -0.7}, 0.1), ("lever", "wheel")),
    "Differential": lambda: robot(Differential(["lever", "wheel"], ["pinion", "slide"], [[0.5, 0.6], [1.5, -1.2]])),
    "Distance": lambda: robot(Distance("lever", "wheel", (0.3, 0.01, 0.02), (0.1, 0.02, 0.01), 0.25), ("wheel",)),
    "Gear": lambda: robot(Gear("lever", "wheel", -3.0, offset=0.2)),
    "Parametric": lambda: robot(Parametric(Lift(), ["lever"], ("slide",))),
    "Polynomial": lambda: robot(Polynomial("lever", "slide", (0.1, 0.8, -0.2))),
    "Sines": own,
    "Renamed": lambda: own().renamed(joints={"lever": "arm"}),
    "LoopWithLockedJoints": lambda: own().lock({"wheel": 0.3}),
    "Reflected": lambda: own().mirrored("y"),
}


def numbers(made: fb.System) -> list[str]:
    """The names of all numbers of loops that may vary."""
    return [x.name for x in parameters(made.mechanism) if x.owners == "loops"]


CASES = [(kind, name) for kind, make in MAKERS.items() for name in numbers(make())]
CASES = [x for x in CASES if x[0] != "Screw" or x[1] == "loop.pitch"]  # its placements would tilt the thread


def rebuilt(made: fb.System, name: str, value: np.ndarray) -> fb.System:
    """The robot built with another number."""
    which = find(parameters(made.mechanism), [name])
    flat = [float(x) for x in np.ravel(value)]
    return restore(replace(change_parameters(made.mechanism, which, flat), configurations=()))


@pytest.mark.quick
def test_all_types_are_here() -> None:
    kinds = {*fb.loops.__all__, "Sines"} - {"Loop"} | {x.__name__ for x in EditedLoop.__subclasses__()}
    assert kinds == set(MAKERS) - {"Screw"}
    assert {kind for kind, _ in CASES} == set(MAKERS)
    assert ("Screw", "loop.pitch") in CASES and ("Closure", "loop.at_successor") in CASES
    for kind in kinds - {"Formula"}:
        assert kind in {type(x.loop).__name__ for x in MAKERS[kind]().mechanism.loops}


@pytest.mark.parametrize(("kind", "name"), CASES)
def test_functions_are_those_of_robots_with_this_number(kind: str, name: str) -> None:
    """Values, derivatives by the number, and functions made by `at`, of which q is closed where the number is given."""
    made = MAKERS[kind]()
    varied, rng = made.varying(name), np.random.default_rng(3)
    nominal = varied.nominal[name]
    values = np.where(nominal == 0.0, 0.02, nominal) * rng.uniform(0.9, 1.1, (SAMPLES, *nominal.shape))
    others = [rebuilt(made, name, value) for value in values]
    keep = list(dict.fromkeys(x.partition(".")[0] for x in made.names.velocities))
    q = np.stack([other.assemble(x, keep) for other, x in zip(others, made.random(1, n=SAMPLES), strict=True)])
    v, a = rng.normal(size=(2, SAMPLES, made.nv))
    at = varied.at(values)
    for function in ("inverse_dynamics", "forward_dynamics", "mass_matrix", "poses"):
        state = {"mass_matrix": (q,), "poses": (q,)}.get(function, (q, v, a))
        expected = np.stack([getattr(other, function)(*(x[k] for x in state)) for k, other in enumerate(others)])
        for found in (getattr(varied, function)(*state, values), getattr(at, function)(*state)):
            assert np.allclose(found, expected, rtol=1e-9, atol=1e-10), function
        single = getattr(varied, function)(*(x[0] for x in state), values[0])
        assert np.allclose(single, expected[0], rtol=1e-9, atol=1e-10), function
    slope = varied.inverse_dynamics.jacobian(q, v, a, values)[3]
    (number,) = find(parameters(made.mechanism), [name])
    for k, other in enumerate(others):
        own = other.inverse_dynamics.jacobian(q[k], v[k], a[k], parameters=[name]).parameters[name]
        if number.is_placement(made.mechanism):  # exp(-ξ) d exp(ξ) = dexp(-ξ) dξ
            own = own @ np.array(SE3().dexp((-values[k]).tolist()))
        assert np.allclose(slope[k], own.reshape(slope[k].shape), rtol=1e-8, atol=1e-9)
