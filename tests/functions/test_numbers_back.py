"""Gradients and Jacobians by the numbers that a robot is made of: the transposes of the derivatives along them."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import fourbar as fb
from fourbar import Builder
from fourbar.errors import ArgumentError, UnknownNameError
from fourbar.functions.methods import METHODS
from fourbar.functions.parameter_derivatives import changing, current_values
from fourbar.joints import Revolute
from fourbar.loops import Coupling
from fourbar.tree.parameters import find
from tests.loops import looped

from .rebuilt import differences, random_rates
from .step import STEP, run
from .test_dynamics import TREES, case, meaning, near
from .test_numbers import _OPTIONS, _marked, _rates_of_ten, _state, batch, geared_arm

_DYNAMICS = {"inverse_dynamics": "a", "forward_dynamics": "tau"}


def _complex_step(function: Any, given: dict[str, np.ndarray], rates: dict[str, np.ndarray]) -> list[np.ndarray]:
    """The rates of the results along rates of numbers, from the program that has them as inputs."""
    recording = function.jvp.recording.of
    which = find(recording.model.numbers, rates)
    program = changing(recording, which).program(tuple(given))
    n = len(given["q"])
    built = current_values(recording.model, find(recording.model.numbers, rates))
    moving = {k: np.reshape(built[k], np.shape(x)) + 1j * STEP * np.asarray(x) for k, x in rates.items()}
    moving = {k: np.broadcast_to(x, (n, *np.shape(x))) for k, x in moving.items()}
    return [y.imag / STEP for y in run(program, {**given, **moving})]


def _transposed(function: Any, given: dict[str, np.ndarray], rates: dict[str, np.ndarray], tol: float) -> None:
    """Σ gradient · rate is Σ weight · (rate of the results), by a complex step and by jvp."""
    exact = _complex_step(function, given, rates)
    n, rng = len(given["q"]), np.random.default_rng(4)
    pushed = meaning(function.jvp.along(tuple(rates)).function, {**given, **batch(rates, n)})
    weights = [rng.normal(size=y.shape) for y in exact]
    named = {f"w_{name}": w for name, w in zip(function.state[0].results, weights, strict=True)}
    pulled = meaning(function.vjp.along(tuple(rates)).function, {**given, **named})
    plain = meaning(function.vjp, {**given, **named})
    for a, b in zip(pulled[: len(plain)], plain, strict=True):
        near(a, b, 1e-12)
    gradients = pulled[len(plain) :]
    terms = [(g * rates[k]).reshape(n, -1) for k, g in zip(rates, gradients, strict=True)]
    backwards, size = sum(x.sum(axis=1) for x in terms), sum(np.abs(x).sum(axis=1) for x in terms)
    for found in (exact, pushed):
        products = [(w * y).reshape(n, -1) for w, y in zip(weights, found, strict=True)]
        forwards = sum(x.sum(axis=1) for x in products)
        bound = size + sum(np.abs(x).sum(axis=1) for x in products)
        assert np.all(np.abs(forwards - backwards) <= tol * bound)


@pytest.mark.default_cases("tree0-inverse_dynamics", "four_bar-forward_dynamics")
@pytest.mark.parametrize("method", _DYNAMICS)
@pytest.mark.parametrize("name", _marked((*TREES, *looped.NAMES)))
def test_gradient_of_the_dynamics_by_all_numbers(name: str, method: str) -> None:
    robot, state = case(name)
    last = _DYNAMICS[method]
    given = {"q": state.q, "v": state.v, last: getattr(state, last), "f_ext": state.f_ext}
    _transposed(getattr(robot, method), given, random_rates(robot), 1e-12)


@pytest.mark.default_cases("four_bar")
@pytest.mark.parametrize("name", ["tree0", "geared", "four_bar", pytest.param("tripod", marks=pytest.mark.slow)])
def test_jacobian_by_some_numbers(name: str) -> None:
    robot, state = case(name)
    rates = random_rates(robot)
    chosen = {k: rates[k] for k in list(rates)[:: max(1, len(rates) // 8)]}
    chosen = {**chosen, **{k: rates[k] for k in [*list(rates)[-3:], "gravity"]}}
    given = {"q": state.q, "v": state.v, "tau": state.tau}
    function = robot.forward_dynamics
    (exact,) = _complex_step(function, given, chosen)
    by_number = function.jacobian.along(tuple(chosen))
    (flat,) = meaning(by_number.function, given)
    (blocks,) = by_number.recording.split_blocks(flat)
    parts = [np.einsum("bij,j->bi", blocks[k].reshape(*exact.shape, -1), np.ravel(x)) for k, x in chosen.items()]
    near(sum(parts), exact, 1e-12)


@pytest.mark.parametrize("function", sorted(set(METHODS) - {"difference", "chart_rate"}))
def test_every_function(function: str) -> None:
    robot, method = geared_arm(), METHODS[function]
    state = _state(robot)
    given = {name: state[name] for name in (*method.arguments, *method.optional)}
    options = _OPTIONS.get((*method.static, "")[0], {})
    made = getattr(robot, function)
    rates = random_rates(robot)
    kept = ("arm.mass", "arm.inertia", "wrist.com", "wrist.placement", "arm.armature", "gear.ratio", "tip.placement")
    _transposed(
        made.specialise(**options) if method.static else made,
        given,
        {k: rates[k] for k in (*kept, "gravity", "bracket.placement")},
        1e-12,
    )


@pytest.mark.parametrize("name", _marked(("tree0", "tree5", "geared", "four_bar")))
def test_gradient_by_inertial_parameters_against_the_regressor(name: str) -> None:
    """Σ gradient · rate = wᵀ Y φ̇ for every mass, centre of mass and inertia on its own."""
    robot, state = case(name)
    names = [f"{b.name}.{field}" for b in robot.mechanism.bodies for field in ("mass", "com", "inertia")]
    given = {"q": state.q, "v": state.v, "a": state.a}
    w = np.random.default_rng(3).normal(size=state.v.shape)
    found = meaning(robot.inverse_dynamics.vjp.along(names).function, {**given, "w_tau": w})[3:]
    (Y,) = meaning(robot.regressor.specialise(), given)
    weighted = np.einsum("bi,bip->bp", w, Y)
    gradients = dict(zip(names, found, strict=True))
    rng = np.random.default_rng(5)
    for b, body in enumerate(robot.mechanism.bodies):
        own = {"mass": rng.normal(), "com": rng.normal(size=3), "inertia": rng.normal(size=(3, 3))}
        own["inertia"] = own["inertia"] + own["inertia"].T
        expected = weighted[:, 10 * b : 10 * b + 10] @ _rates_of_ten(body, *own.values())
        terms = [(gradients[f"{body.name}.{k}"] * x).reshape(3, -1).sum(axis=1) for k, x in own.items()]
        scale = np.abs(weighted).max(axis=1) * max(1.0, body.mass)
        assert np.all(np.abs(sum(terms) - expected) <= 1e-12 * scale)


def test_as_users_call_it() -> None:
    robot = geared_arm()
    assert {"arm.mass", "gear.ratio", "tip.placement", "gravity"} <= set(robot.names.numbers)
    state = _state(robot)
    args, names = (state["q"], state["v"], state["tau"]), ["arm.mass", "gear.ratio", "wrist.inertia", "gravity"]
    f = robot.forward_dynamics
    w = state["b"]
    gradient, plain = f.vjp(args, w, parameters=names), f.vjp(args, w)
    assert gradient._fields == ("q", "v", "tau", "parameters") and list(gradient.parameters) == names
    assert gradient.parameters["wrist.inertia"].shape == (2, 3, 3) and gradient.parameters["arm.mass"].shape == (2,)
    for a, b in zip(gradient[:3], plain, strict=True):
        assert np.allclose(a, b, rtol=1e-12, atol=1e-12)
    J = f.jacobian(*args, parameters=names)
    assert np.array_equal(J.q, f.jacobian(*args).q)
    assert J.parameters["gravity"].shape == (2, robot.nv, 3) and J.parameters["gear.ratio"].shape == (2, robot.nv)
    for name in names:
        block = J.parameters[name].reshape(2, robot.nv, -1)
        flat = np.einsum("bi,bik->bk", w, block)
        assert np.allclose(flat, gradient.parameters[name].reshape(2, -1), rtol=1e-12, atol=1e-12)
    one = f.jacobian(*(x[1] for x in args), parameters="gear.ratio")
    assert np.allclose(one.parameters["gear.ratio"], J.parameters["gear.ratio"][1], rtol=1e-12)
    assert f.vjp(args, w, parameters=[]).parameters == {} and f.jacobian(*args, parameters=()).parameters == {}
    into = tuple(np.empty(np.shape(x)) for x in (*gradient[:3], gradient.parameters["gear.ratio"]))
    found = f.vjp(args, w, parameters=["gear.ratio"], out=into)
    assert found.parameters["gear.ratio"] is into[3]


def test_several_results_and_options() -> None:
    robot = geared_arm()
    state = _state(robot)
    args = tuple(state[k] for k in ("q", "v", "a", "tau"))
    J = robot.hybrid_dynamics.jacobian(*args, prescribed=["arm"], parameters=["arm.mass"])
    rates = robot.hybrid_dynamics.jvp(args, prescribed=["arm"], parameters={"arm.mass": 1.0})
    for block, rate in zip(J, rates, strict=True):
        assert block._fields == ("q", "v", "a", "tau", "parameters")
        assert np.allclose(block.parameters["arm.mass"], rate, rtol=1e-12, atol=1e-12)
    tip = robot.pose.vjp(state["q"], np.ones((4, 4)), frame="tip", parameters=["tip.placement"])
    rate = robot.pose.jvp(state["q"], frame="tip", parameters={"tip.placement": np.arange(6.0)})
    assert np.allclose(tip.parameters["tip.placement"] @ np.arange(6.0), rate.sum(axis=(1, 2)))


def test_numbers_that_a_linkage_cannot_follow() -> None:
    """The gradient lies within the changes that leave the loop closed, and is right along all of them."""
    robot = looped.mechanism("four_bar")
    q = robot.random(0)
    names = ("crank.placement", "rocker.placement")
    gradient = robot.gravity_force.vjp(q, np.ones(robot.nv), parameters=names).parameters
    J = robot.gravity_force.jacobian(q, parameters=names).parameters
    out_of_plane = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 1.0])
    opened = sum(s * gradient[k] @ out_of_plane for s, k in zip((1.0, -1.0), names, strict=True))
    assert abs(opened) < 1e-12
    for moved in ((0, 0, 0, 1.0, 0, 0), (0, 0, 0, 0, 1.0, 0)):
        rate = robot.gravity_force.jvp(q, parameters={"crank.placement": moved})
        assert np.allclose(gradient["crank.placement"] @ moved, rate.sum(), rtol=1e-12)
        assert np.allclose(J["crank.placement"] @ moved, rate, rtol=1e-12)
        assert np.abs(rate).max() > 1e-3


def test_redundant_couplings_change_together() -> None:
    b = Builder("twice")
    looped.shaped(b, "a", 1, joint=Revolute("x"))
    looped.shaped(b, "b", 2, joint=Revolute("y"))
    for name in ("first", "second"):
        b.loop(Coupling({"a": 2.0, "b": 1.0}), name=name)
    robot = b.build()
    q, names = robot.random(0), ("first.factors", "second.factors")
    gradient = robot.gravity_force.vjp(q, np.ones(1), parameters=names).parameters
    rate = np.array([0.7, -0.4])
    both = dict.fromkeys(names, rate)
    expected = differences(robot, both, lambda other, x: meaning(other.gravity_force, {"q": x})[0], q[None])
    assert np.allclose(sum(g @ rate for g in gradient.values()), expected.sum(), rtol=1e-9)
    assert np.allclose(gradient["first.factors"], gradient["second.factors"])


def test_the_gradient_changes_with_numbers_too() -> None:
    """The derivative of a gradient along a mass: forward dynamics is pulled back through inverse dynamics."""
    robot = geared_arm()
    state = _state(robot)
    args = state["q"], state["v"], state["tau"]
    rates = {"arm.mass": np.array(0.5), "gear.ratio": np.array(0.2)}
    found = robot.forward_dynamics.vjp.jvp((*args, None, state["b"]), parameters=rates)

    def value(other: Any, q: np.ndarray) -> np.ndarray:
        return np.concatenate(other.forward_dynamics.vjp((q, *args[1:]), state["b"]), axis=-1)

    near(np.concatenate(found, axis=-1), differences(robot, rates, value, args[0]), 1e-8)


@pytest.mark.slow
def test_steps_that_share_their_code() -> None:
    robot = fb.robots.gt_chain(60, seed=1)
    rng = np.random.default_rng(1)
    given = {"q": robot.random(rng, 2), "v": rng.normal(size=(2, robot.nv)), "a": rng.normal(size=(2, robot.nv))}
    body, joint, loop = robot.mechanism.bodies[60], robot.mechanism.joints[40], robot.mechanism.loops[30]
    rates = {f"{body.name}.mass": np.array(0.03), f"{joint.name}.placement": 0.01 * rng.normal(size=6)}
    rates[f"{loop.name}.ratio"] = np.array(0.1)
    _transposed(robot.inverse_dynamics, given, rates, 1e-12)


def test_it_travels_to_other_processes() -> None:
    robot = geared_arm()
    q = _state(robot)["q"]
    for function, more in (
        (robot.gravity_force.vjp.along(["arm.mass"]), {"w_tau": np.ones(robot.nv)}),
        (robot.gravity_force.jacobian.along(["arm.mass"]), {}),
    ):
        again = pickle.loads(pickle.dumps(function))
        np.testing.assert_equal(again(q=q, **more), function(q=q, **more))
    J = robot.gravity_force.jacobian(q, parameters=["arm.mass"])
    assert np.array_equal(pickle.loads(pickle.dumps(J)).parameters["arm.mass"], J.parameters["arm.mass"])


def test_errors_say_what_is_wrong() -> None:
    robot = geared_arm()
    q, w = _state(robot)["q"], np.ones(robot.nv)
    f = robot.gravity_force
    with pytest.raises(UnknownNameError, match=r"no parameter 'arm.mas'; did you mean 'arm.mass'"):
        f.vjp(q, w, parameters=["arm.mas"])
    with pytest.raises(UnknownNameError, match=r"no parameter 'arm.mas'; did you mean 'arm.mass'"):
        f.jacobian(q, parameters="arm.mas")
    with pytest.raises(TypeError, match=r"gravity_force.vjp: parameters are names here, such as .* got \{'arm.mass'"):
        f.vjp(q, w, parameters={"arm.mass": 1.0})
    with pytest.raises(TypeError, match=r"gravity_force.jacobian: parameters are names here, .* got 3"):
        f.jacobian(q, parameters=3)
    with pytest.raises(TypeError, match=r"parameter 'arm.mass' is named twice"):
        f.vjp(q, w, parameters=["arm.mass", "arm.mass"])
    with pytest.raises(ArgumentError, match=r"jacobian: out= is for the blocks by the arguments"):
        f.jacobian(q, parameters=["arm.mass"], out=np.empty((2, 1, 4, 4)))
    with pytest.raises(ArgumentError, match="second derivatives along parameters are not available"):
        f.vjp.along(["arm.mass"]).jvp((q, w), parameters={"arm.mass": 1.0})
