"""Derivatives of functions whose parameters are arguments, where these are not the numbers that the robot was built
with: against the complex step of the function itself, and against robots that were built with the other numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import fourbar as fb
from fourbar.arrays import Argument
from fourbar.errors import ArgumentError
from fourbar.functions.function import make
from fourbar.functions.methods import METHODS
from fourbar.functions.recording import MethodRecording, ParameterRecording
from fourbar.functions.varied_context import VariedContext, as_arguments
from fourbar.functions.varying import VariedRecording
from fourbar.joints import Helical, Prismatic, Revolute
from fourbar.loops import Distance, Gear
from fourbar.system.constrained.method_recordings import without_health
from fourbar.tree.parameters import Parameter, find, parameters
from tests.loops import looped

from .rebuilt import again, closed, rebuilt, slope
from .step import directional
from .test_constraint_numbers import small, together
from .test_dynamics import meaning, near
from .test_methods import BATCH, along, arguments, options, robot, tangents

pytestmark = pytest.mark.drawn_in_line

KINDS = {"mass", "com", "inertia", "placement", "armature", "damping", "stiffness", "rest", "friction", "kp", "gain"}


def changes(which: Sequence[Parameter], size: float) -> dict[str, np.ndarray]:
    """A change of each parameter, far more than rounding; inertias stay those of some matter."""
    rng = np.random.default_rng(11)
    steps = {x.name: size * rng.normal(size=x.shape) for x in which}
    steps |= {x.name: np.abs(steps[x.name]) for x in which if x.field in ("mass", "armature")}
    return {x.name: 0.05 * (steps[x.name] + steps[x.name].T) if x.is_symmetric else steps[x.name] for x in which}


def samples(values: dict[str, np.ndarray], which: Sequence[Parameter]) -> dict[str, np.ndarray]:
    """The same numbers in every sample, by the names of arguments."""
    pairs = zip(as_arguments(which), which, strict=True)
    return {a.name: np.broadcast_to(values[x.name], (BATCH, *x.shape)) for a, x in pairs}


def check(system: Any, f: Any, given: dict[str, np.ndarray], results: Sequence[str]) -> list[np.ndarray]:
    """jvp and jacobian against the complex step, vjp against both; all arguments move. Gives the values."""
    moving = tangents(f, given)
    expected = directional(system, f, given, moving)
    pushed = meaning(f.jvp, {**given, **{f"d_{k}": x for k, x in moving.items()}})
    (blocks,) = meaning(f.jacobian, given)
    for rate, product, exact in zip(pushed, along(blocks, expected, moving), expected, strict=True):
        near(rate, exact, 1e-11)
        near(product, exact, 1e-11)
    rng = np.random.default_rng(6)
    weights = [rng.normal(size=y.shape) for y in expected]
    pulled = meaning(f.vjp, {**given, **{f"w_{n}": w for n, w in zip(results, weights, strict=True)}})
    terms = [(g * x).reshape(BATCH, -1) for g, x in zip(pulled, moving.values(), strict=True)]
    products = [(w * y).reshape(BATCH, -1) for w, y in zip(weights, expected, strict=True)]
    difference = sum(x.sum(axis=1) for x in terms) - sum(x.sum(axis=1) for x in products)
    assert np.all(np.abs(difference) <= 1e-11 * sum(np.abs(x).sum(axis=1) for x in (*terms, *products)))
    return meaning(f, given)


class ConstrainedRecording(ParameterRecording):
    """A method of a constrained robot with all its numbers as arguments: it is differentiated in stages."""

    def __init__(self, of: MethodRecording, which: tuple[Parameter, ...]) -> None:
        super().__init__(of.model, of.name, of.method, of.read, of.pickle_recipe(), as_arguments(which))
        self.which = which

    def context(self, recorder: Any, present: Sequence[Argument]) -> VariedContext:
        return VariedContext(self.model, recorder, present, self.which)


def test_stages_at_other_numbers() -> None:
    """Every number of a geared robot, of its constraints and of their gains."""
    rod = Distance("slide", "right_foot", (0.1, 0.0, 0.0), (0.0, 0.0, -0.1), 0.9)
    c = small().constrained(rod, Gear("slide", "right_foot", 0.3), stabilize=(4.0, 3.0))
    whole, which = c.forward_dynamics.function.jvp.recording.of, c._model.numbers
    method = without_health("forward_dynamics")
    of = MethodRecording(whole.model, whole.name, method, whole.read, whole.pickle_recipe())
    varied = ConstrainedRecording(of, which)
    assert varied.stages is not None
    f = make(varied)
    step = changes(which, 0.1)
    values = {x.name: np.reshape(c._model.values(x), x.shape) + step[x.name] for x in which}
    rng = np.random.default_rng(5)
    state = dict(zip(("v", "tau"), rng.normal(size=(2, BATCH, c.system.nv)), strict=True))
    given = {"q": c.system.random(rng, BATCH), **state, **samples(values, which)}
    results = check(c.system, f, given, of.results)
    other = again(c, step, 1.0)
    q = closed(c.system, other.system, given["q"])
    near(together(results), together(other.forward_dynamics(q, state["v"], state["tau"])), 1e-10)


def one_of_each(system: fb.System) -> list[Parameter]:
    """The last parameter of every kind."""
    kinds: dict[tuple[str, str], Parameter] = {}
    for x in parameters(system.mechanism):
        kinds[x.owners, x.field] = x
    return [x for x in kinds.values() if x.owners != "loops"]


@pytest.mark.slow_cases("christoffel", "osim", "regressor")
@pytest.mark.parametrize("name", ["tree", "linkage"])
@pytest.mark.parametrize("method", METHODS)
def test_methods_at_other_numbers(method: str, name: str) -> None:
    system = robot(name)
    which = one_of_each(system)
    built = system.varying(*(x.name for x in which)).nominal
    step = changes(which, 0.1)
    given = arguments(method, name)
    numbers = samples({x.name: built[x.name] + step[x.name] for x in which}, which)
    f = make(VariedRecording(system.model, method, options(name, method)[0], tuple(which)))
    required = {k: x for k, x in given.items() if k in METHODS[method].arguments}
    extra = {k: x for k, x in given.items() if k not in required}
    check(system, f, {**required, **numbers, **extra}, METHODS[method].results)


def test_the_sweep_has_every_kind() -> None:
    fields = {x.field for name in ("tree", "linkage") for x in one_of_each(robot(name))}
    assert fields >= KINDS


def geared() -> fb.System:
    """A screw, a slide with a spring, a hinge geared to a rotor, and a rod that closes a loop."""
    b = fb.Builder("geared", gravity=(0.3, -0.2, -9.7))
    looped.shaped(b, "screw", 1, joint=Helical("z", pitch=0.2), armature=0.1, damping=0.3)
    looped.shaped(b, "slide", 2, parent="screw", joint=Prismatic("x"), stiffness=20.0, rest=0.1)
    looped.shaped(b, "arm", 3, parent="slide", joint=Revolute("y"), position=(0.1, 0.2, 0.3))
    b.rotor("rotor", drives="arm", ratio=7.0, parent="slide", axis="y", mass=0.2, inertia=(1e-3, 2e-3, 1e-3))
    b.loop(looped.bars(b, "", (0.5, 0.2, 0.45, 0.35), carrier="screw"), name="bars", independent=["crank"])
    return b.build()


VARIED = ("arm.mass", "screw.pitch", "rotor_gear.ratio", "gravity")
CHANGING = ("slide.placement", "screw.inertia", "arm.com", "slide.stiffness", "rotor_gear.offset", "crank.mass")


def _values(system: fb.System) -> dict[str, np.ndarray]:
    built = system.varying(*VARIED).nominal
    step = changes(find(parameters(system.mechanism), VARIED), 0.3)
    return {name: built[name] + step[name] for name in VARIED}


@pytest.mark.parametrize("method", ["passive_dynamics", "mass_matrix"])
def test_by_further_numbers(method: str) -> None:
    """`parameters=` of a function that takes other numbers as arguments: at these, not at those of the robot."""
    system = geared()
    values = _values(system)
    f = getattr(system.varying(*VARIED), method)
    rng = np.random.default_rng(2)
    state = {"q": system.random(rng), "v": rng.normal(size=system.nv), "tau": rng.normal(size=system.nv)}
    args = [*(state[name] for name in METHODS[method].arguments), *values.values()]
    which = find(parameters(system.mechanism), CHANGING)
    step = {name: 0.03 / 0.1 * x for name, x in changes(which, 0.1).items()}
    moved = {name: x - system.varying(*VARIED).nominal[name] for name, x in values.items()}
    there = rebuilt(system, moved, 1.0)

    def at(h: float) -> np.ndarray:
        other = rebuilt(there, step, h)
        q = closed(system, other, state["q"][None])[0]
        return getattr(other, method)(q, *args[1 : len(METHODS[method].arguments)])

    expected = slope(at)
    J = f.jacobian(*args, parameters=list(CHANGING)).parameters
    product = sum(np.tensordot(J[name], step[name], np.ndim(step[name])) for name in CHANGING)
    size = np.abs(expected).max()
    assert np.abs(product - expected).max() <= 1e-6 * size
    rate = f.jvp(tuple(args), parameters=step)
    assert np.abs(rate - product).max() <= 1e-11 * size
    weight = rng.normal(size=expected.shape)
    pulled = f.vjp(tuple(args), weight, parameters=list(CHANGING)).parameters
    total = sum(np.sum(pulled[name] * step[name]) for name in CHANGING)
    assert abs(total - np.sum(weight * product)) <= 1e-10 * np.abs(weight * product).sum()


def test_a_number_that_is_an_argument_is_no_parameter() -> None:
    system = geared()
    f = system.varying("arm.mass").gravity_force
    calls: list[Callable[[], Any]] = [
        lambda: f.jacobian(system.neutral(), 2.0, parameters=["arm.mass"]),
        lambda: f.jvp((system.neutral(), 2.0), parameters={"arm.mass": 1.0}),
    ]
    for call in calls:
        with pytest.raises(ArgumentError, match="is an argument of this function, arm_mass"):
            call()
