"""Derivatives along the numbers that a robot is made of: masses, places, armatures, gear ratios, lengths."""

from __future__ import annotations

import pickle
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

import fourbar as fb
from fourbar import Builder, System
from fourbar.constraints.serialize import Renamed
from fourbar.errors import ArgumentError, UnknownNameError
from fourbar.functions.methods import METHODS
from fourbar.joints import Fixed, Revolute, Spherical
from fourbar.loops import Coupling, Gear
from fourbar.mechanism.inertial_parameters import about_com
from tests.loops import looped

from .rebuilt import closed, differences, random_rates, rebuilt
from .test_dynamics import TREES, case, meaning, near

_LONG = ("tripod", "own_coordinate", "moored", "nested", "chained", "spatial_crank", *TREES[1:5], *TREES[6:])
_SHORT = ("tree0", "four_bar", "geared")
_OPTIONS: dict[str, dict[str, Any]] = {
    "frame": {"frame": "tip"},
    "frames": {"points": ("tip",), "frames": ()},
    "prescribed": {"prescribed": ("arm",)},
    "cluster": {"cluster": "arm"},
}


def _marked(names: tuple[str, ...]) -> list[Any]:
    marks = {**dict.fromkeys(_LONG, pytest.mark.slow), **dict.fromkeys(_SHORT, pytest.mark.quick)}
    return [pytest.param(n, marks=marks[n]) if n in marks else n for n in names]


def batch(rates: dict[str, np.ndarray], n: int) -> dict[str, np.ndarray]:
    """The rates as arguments of a derivative, for every sample."""
    return {f"d_{k}": np.broadcast_to(x, (n, *np.shape(x))) for k, x in rates.items()}


def check(robot: Any, function: str, given: dict[str, np.ndarray], tol: float, **options: Any) -> None:
    """A derivative along all numbers at once against differences of robots with changed numbers."""

    def of(other: Any) -> Any:
        method = getattr(other, function)
        return method.specialise(**options) if METHODS[function].static else method

    rates = random_rates(robot)
    found = meaning(of(robot).jvp.along(tuple(rates)).function, {**given, **batch(rates, len(given["q"]))})

    def value(other: Any, q: np.ndarray) -> np.ndarray:
        moved = {**given, "q": q}
        results = meaning(of(other), moved)
        return np.concatenate([y.reshape(len(q), -1) for y in results], axis=-1)

    expected = differences(robot, rates, value, given["q"])
    near(np.concatenate([y.reshape(len(expected), -1) for y in found], axis=-1), expected, tol)


@pytest.mark.default_cases("tree0", "four_bar")
@pytest.mark.parametrize("name", _marked((*TREES, *looped.NAMES)))
def test_forward_dynamics_along_all_numbers_is_that_of_robots_built_with_others(name: str) -> None:
    robot, state = case(name)
    check(robot, "forward_dynamics", {"q": state.q, "v": state.v, "tau": state.tau, "f_ext": state.f_ext}, 1e-9)


@cache
def geared_arm() -> System:
    """A little robot with a fixed body, a frame, a gear and a ball joint."""
    b = Builder("geared_arm")
    looped.shaped(b, "arm", 1, joint=Revolute((0.6, 0.0, 0.8)), armature=0.02, position=(0.1, 0.2, 0.3))
    looped.shaped(b, "rotor", 2, joint=Revolute("y"))
    b.loop(Gear("arm", "rotor", -4.0, 0.1), name="gear")
    looped.shaped(b, "bracket", 3, parent="arm", joint=Fixed(), position=(0, 0.1, 0.2))
    looped.shaped(b, "wrist", 4, parent="bracket", joint=Spherical(), position=(0.3, 0, 0))
    b.frame("tip", "wrist", position=(0.1, 0.2, 0.3))
    b.actuator("motor", drives={"arm": 3.0, "rotor": 0.5})
    return b.build()


def _state(robot: System, n: int = 2) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(5)
    q = robot.random(rng, n)
    found = {"q": q, "q0": q, "q1": robot.random(rng, n), "dt": np.full(n, 0.2), "friction_velocity": np.full(n, 0.5)}
    found["f_ext"] = rng.normal(size=(n, len(robot.mechanism.bodies), 6))
    return {
        **found,
        **{name: rng.normal(size=(n, robot.nv)) for name in ("v", "a", "tau", "theta", "b")},
        "u": rng.normal(size=(n, len(robot.actuators))),
    }


@pytest.mark.parametrize("function", sorted(set(METHODS) - {"difference", "chart_rate", "loop_residual"}))
def test_every_function(function: str) -> None:
    robot, method = geared_arm(), METHODS[function]
    state = _state(robot)
    given = {name: state[name] for name in (*method.arguments, *method.optional)}
    check(robot, function, given, 1e-9, **_OPTIONS.get((*method.static, "")[0], {}))


@pytest.mark.default_cases("reactions", "expand_acceleration")
@pytest.mark.parametrize("function", ["reactions", "integrate", "expand_acceleration", "mass_matrix_rate"])
def test_functions_of_a_linkage(function: str) -> None:
    robot, state = case("four_bar")
    every = {"q": state.q, "v": state.v, "a": state.a, "dt": np.full(3, 0.1)}
    check(robot, function, {name: every[name] for name in METHODS[function].arguments}, 1e-9)


def test_between_configurations_nothing_depends_on_numbers() -> None:
    robot = geared_arm()
    state = _state(robot)
    rates = random_rates(robot)
    for function, names in (("difference", ("q0", "q1")), ("chart_rate", ("theta", "v"))):
        args = tuple(state[name] for name in names)
        assert not np.any(getattr(robot, function).jvp(args, parameters=rates))


@pytest.mark.default_cases("tree0", "four_bar")
@pytest.mark.parametrize("name", _marked(("tree0", "tree5", "geared", "differential", "four_bar", "tripod")))
def test_forward_dynamics_is_the_inverse_of_inverse_dynamics(name: str) -> None:
    robot, state = case(name)
    rates = random_rates(robot)
    a = meaning(robot.forward_dynamics, {"q": state.q, "v": state.v, "tau": state.tau})[0]
    (M,) = meaning(robot.mass_matrix, {"q": state.q})
    moving = batch(rates, len(a))
    by_force, by_acceleration = (
        meaning(function.jvp.along(tuple(rates)).function, {"q": state.q, "v": state.v, last: x, **moving})[0]
        for function, last, x in ((robot.inverse_dynamics, "a", a), (robot.forward_dynamics, "tau", state.tau))
    )
    near(-np.linalg.solve(M, by_force[..., None])[..., 0], by_acceleration, 1e-12)


def _rates_of_ten(body: Any, mass: float, com: np.ndarray, inertia: np.ndarray) -> np.ndarray:
    """The rates of m, m c and the inertia about the origin, m (c·c 1 - c cᵀ) + I."""
    m, c = body.mass, np.array(body.com)
    twice = np.outer(com, c) + np.outer(c, com)
    J = inertia + mass * (c @ c * np.eye(3) - np.outer(c, c)) + m * (2 * com @ c * np.eye(3) - twice)
    return np.array([mass, *(mass * c + m * com), *J[np.triu_indices(3)]])


@pytest.mark.parametrize("name", _marked(("tree0", "tree5", "geared", "four_bar")))
def test_inertial_parameters_against_the_regressor(name: str) -> None:
    robot, state = case(name)
    rng = np.random.default_rng(7)
    rates, phi = {}, []
    for body in robot.mechanism.bodies:
        mass, com, inertia = rng.normal(), rng.normal(size=3), rng.normal(size=(3, 3))
        own = {"mass": mass, "com": com, "inertia": inertia + inertia.T}
        rates.update({f"{body.name}.{field}": x for field, x in own.items()})
        phi += [*_rates_of_ten(body, *own.values())]
    for c in (c for c in robot.mechanism.joints if c.joint.nv):
        armature = rng.normal(size=c.joint.nv)
        rates[f"{c.name}.armature"] = armature if c.joint.nv > 1 else armature[0]
        phi += [*armature]
    given = {"q": state.q, "v": state.v, "a": state.a}
    (Y,) = meaning(robot.regressor.specialise(), given)
    function = robot.inverse_dynamics.jvp.along(tuple(rates)).function
    near(meaning(function, {**given, **batch(rates, 3)})[0], Y @ np.array(phi), 1e-12)


def test_the_ten_parameters_go_back_and_forth() -> None:
    body = geared_arm().mechanism.bodies[0]
    ten = geared_arm().inertial_parameters()[:10]
    step = 1e-7 * _rates_of_ten(body, 0.3, np.array([0.1, 0.2, -0.1]), 0.01 * np.eye(3))
    mass, com, inertia = about_com(ten + step)
    assert np.allclose((mass - body.mass) / 1e-7, 0.3, atol=1e-6)
    assert np.allclose((com - body.com) / 1e-7, (0.1, 0.2, -0.1), atol=1e-6)
    assert np.allclose((inertia - np.array(body.inertia)) / 1e-7, 0.01 * np.eye(3), atol=1e-6)


def test_with_tangents_of_the_arguments_they_add_up() -> None:
    robot = geared_arm()
    state = _state(robot)
    args = state["q"], state["v"], state["tau"]
    tangents = state["theta"], state["b"], state["a"]
    rates = {"gear.ratio": 0.3, "wrist.placement": np.arange(6.0), "arm.mass": np.array([0.5, -1.0])}
    both = robot.forward_dynamics.jvp(args, tangents, parameters=rates)
    apart = robot.forward_dynamics.jvp(args, tangents) + robot.forward_dynamics.jvp(args, parameters=rates)
    assert np.allclose(both, apart, rtol=1e-12, atol=1e-12 * np.abs(both).max())
    one = robot.forward_dynamics.jvp(tuple(x[1] for x in args), parameters={**rates, "arm.mass": -1.0})
    assert np.allclose(one, robot.forward_dynamics.jvp(args, parameters=rates)[1], rtol=1e-12, atol=1e-12)
    left_out = robot.forward_dynamics.jvp(args, tangents, parameters={"arm.mass": None})
    assert np.array_equal(left_out, robot.forward_dynamics.jvp(args, tangents))


@pytest.mark.parametrize("name", ["geared_arm", "four_bar"])
def test_how_a_jacobian_changes(name: str) -> None:
    """Mixed second derivatives: the configuration moves along the loops of the robot as it is changed."""
    robot = geared_arm() if name == "geared_arm" else looped.mechanism(name)
    state = _state(robot)
    rates = random_rates(robot)
    given = {"q": state["q"], "v": state["v"], "a": state["a"]}
    found = meaning(robot.inverse_dynamics.jacobian.jvp.along(tuple(rates)).function, {**given, **batch(rates, 2)})

    def value(other: Any, q: np.ndarray) -> np.ndarray:
        return meaning(other.inverse_dynamics.jacobian, {**given, "q": q})[0]

    near(found[0], differences(robot, rates, value, state["q"]), 1e-8)


def test_of_a_derivative_by_name() -> None:
    robot = geared_arm()
    state = _state(robot)
    args = state["q"], state["v"], state["a"]
    found = robot.inverse_dynamics.jacobian.jvp(args, parameters={"arm.mass": 1.0})
    assert found.q.shape == found.a.shape == (2, robot.nv, robot.nv)
    assert np.allclose(found.a, robot.mass_matrix.jvp(state["q"], parameters={"arm.mass": 1.0}))


def test_options_go_by_name_too() -> None:
    robot = geared_arm()
    q = _state(robot)["q"]
    pose = robot.pose(q, "tip")
    rate = robot.pose.jvp(q, parameters={"tip.placement": (0, 0, 0, 1.0, 2.0, 3.0)}, frame="tip")
    assert np.allclose(rate[..., :3, 3], pose[..., :3, :3] @ (1.0, 2.0, 3.0))
    assert np.allclose(rate[..., :3, :3], 0.0)


@pytest.mark.slow  # a long chain
def test_steps_that_share_their_code() -> None:
    """A robot too long to be unrolled."""
    robot = fb.robots.gt_chain(60, seed=1)
    rng = np.random.default_rng(1)
    q = robot.random(rng, 2)
    v, a = rng.normal(size=(2, 2, robot.nv))
    body, joint, loop = robot.mechanism.bodies[60], robot.mechanism.joints[40], robot.mechanism.loops[30]
    rates = {f"{body.name}.mass": 0.03, f"{joint.name}.placement": 0.01 * rng.normal(size=6)}
    rates[f"{loop.name}.ratio"] = 0.1
    given = {"q": q, "v": v, "a": a}
    program = robot.inverse_dynamics.program()
    assert len(program.calls) > 2 * len(program.blocks)
    found = meaning(robot.inverse_dynamics.jvp.along(tuple(rates)).function, {**given, **batch(rates, 2)})
    expected = differences(robot, rates, lambda other, _: meaning(other.inverse_dynamics, given)[0], q)
    near(found[0], expected, 1e-9)


def test_of_actuators() -> None:
    robot = geared_arm()
    state = _state(robot)
    rates = {"gear.ratio": 0.5}
    joints = ["rotor", "wrist"]
    found = robot.actuated(joints).forward_dynamics.jvp((state["q"], state["v"], state["tau"]), parameters=rates)

    def value(other: Any, q: np.ndarray) -> np.ndarray:
        return other.actuated(joints).forward_dynamics(q, state["v"], state["tau"])

    near(found, differences(robot, rates, value, state["q"]), 1e-9)


def test_a_loop_seen_by_other_names() -> None:
    robot = geared_arm()
    (loop,) = robot.mechanism.loops
    hidden = Renamed(Gear("driver", "rotor", -4.0, 0.1), (("driver", "arm"),), ())
    other = System(replace(robot.mechanism, loops=(replace(loop, loop=hidden),)))
    state = _state(robot)
    args = state["q"], state["v"], state["tau"]
    expected, found = (r.forward_dynamics.jvp(args, parameters={"gear.ratio": 1.0}) for r in (robot, other))
    assert np.allclose(found, expected, rtol=1e-12)
    assert np.any(expected)


def test_it_travels_to_other_processes() -> None:
    robot = geared_arm()
    state = _state(robot)
    function = robot.gravity_force.jvp.along(["arm.mass"])
    again = pickle.loads(pickle.dumps(function))
    given = {"q": state["q"], "d_arm.mass": 1.0}
    assert np.array_equal(again(**given), function(**given))
    compiled = pickle.loads(pickle.dumps(function.function))
    assert np.array_equal(compiled(**given), function(**given))


@pytest.mark.parametrize("kind", ["jvp", "vjp", "jacobian"])
def test_compiled_derivatives_travel_as_they_are(kind: str) -> None:
    """What a lazy array sends to another process takes arrays by name, as it did here."""
    robot = geared_arm()
    q = _state(robot)["q"]
    more = {"jvp": {"d_q": np.ones(robot.nv)}, "vjp": {"w_tau": np.ones(robot.nv)}, "jacobian": {}}[kind]
    function = getattr(robot.gravity_force, kind).function
    again = pickle.loads(pickle.dumps(function))
    assert np.array_equal(again(q=q, **more), function(q=q, **more))


def test_changes_that_a_linkage_cannot_follow_are_refused() -> None:
    robot = looped.mechanism("four_bar")
    q = robot.random(0)
    out_of_plane = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 1.0])
    with pytest.raises(ArgumentError, match=r"loop 'loop' would not stay closed .* 'crank.placement' changed"):
        robot.gravity_force.jvp(q, parameters={"crank.placement": out_of_plane})
    for more in ({"coupler.mass": 1e12}, {"crank.mass": np.array([1.0, 1e12])}):
        with pytest.raises(ArgumentError, match="would not stay closed"):
            robot.gravity_force.jvp(q, parameters={"crank.placement": out_of_plane, **more})
    others = np.stack([1e12 * np.eye(6)[3], out_of_plane])  # one that it can follow, and one that it cannot
    with pytest.raises(ArgumentError, match="would not stay closed"):
        robot.gravity_force.jvp(q, parameters={"crank.placement": others})
    whole = {"crank.placement": out_of_plane, "rocker.placement": out_of_plane}
    assert np.allclose(robot.gravity_force.jvp(q, parameters=whole), 0.0, atol=1e-12)
    along = np.array([0.0, 0.0, 0.0, 1.0, 0.0, 1e-16])  # rounding is no change
    robot.gravity_force.jvp(q, parameters={"crank.placement": along})


def test_a_rate_that_is_left_out_is_asked_for() -> None:
    robot = geared_arm()
    with pytest.raises(TypeError, match=r"needs 'd_arm.mass'"):
        robot.gravity_force.jvp.along(["arm.mass"])(q=robot.neutral())


def test_redundant_couplings_must_change_together() -> None:
    b = Builder("twice")
    looped.shaped(b, "a", 1, joint=Revolute("x"))
    looped.shaped(b, "b", 2, joint=Revolute("y"))
    for name in ("first", "second"):
        b.loop(Coupling({"a": 2.0, "b": 1.0}), name=name)
    robot = b.build()
    q = robot.random(0)
    with pytest.raises(ArgumentError, match="would not stay closed"):
        robot.gravity_force.jvp(q, parameters={"first.factors": (1.0, 0.0)})
    rates = {"first.factors": np.array([1.0, 0.0]), "second.factors": np.array([1.0, 0.0])}
    expected = differences(robot, rates, lambda other, x: meaning(other.gravity_force, {"q": x})[0], q[None])
    near(robot.gravity_force.jvp(q, parameters=rates)[None], expected, 1e-9)


def test_rates_that_are_symmetric_up_to_rounding() -> None:
    robot = geared_arm()
    state = _state(robot)
    args = state["q"], state["v"], state["a"]
    rate = np.diag([0.1, 0.2, 0.3])
    rounded = rate + np.array([[0.0, 1e-17, 0.0], [-3e-17, 0.0, 0.0], [0.0, 0.0, 0.0]])
    wanted, found = (robot.inverse_dynamics.jvp(args, parameters={"arm.inertia": x}) for x in (rate, rounded))
    assert np.allclose(found, wanted, rtol=1e-14, atol=1e-15)


def test_errors_say_what_is_wrong() -> None:
    robot = geared_arm()
    state = _state(robot)
    args = state["q"], state["v"], state["tau"]
    jvp = robot.forward_dynamics.jvp
    with pytest.raises(UnknownNameError, match=r"no parameter 'arm.mas'; did you mean 'arm.mass'"):
        jvp(args, parameters={"arm.mas": 1.0})
    with pytest.raises(ArgumentError, match=r"d_arm.com must have shape \(..., 3\), got \(2,\)"):
        jvp(args, parameters={"arm.com": (1.0, 2.0)})
    with pytest.raises(ArgumentError, match=r"'arm.inertia' must be a symmetric matrix"):
        jvp(args, parameters={"arm.inertia": np.arange(9.0).reshape(3, 3)})
    with pytest.raises(TypeError, match="parameters are given by name"):
        jvp(args, parameters=["arm.mass"])
    with pytest.raises(TypeError, match="needs tangents of the arguments, or rates of parameters"):
        jvp(args)
    with pytest.raises(ArgumentError, match="second derivatives along parameters"):
        jvp.along(["arm.mass"]).function.jvp.along(["arm.mass"])


def test_one_name_for_two_numbers_is_refused() -> None:
    robot = geared_arm()
    frames = tuple(replace(f, name="arm") for f in robot.mechanism.frames)
    other = System(replace(robot.mechanism, frames=frames))
    with pytest.raises(ArgumentError, match=r"'arm.placement' belongs to one of the robot's joints and one of its"):
        other.gravity_force.jvp(other.random(0), parameters={"arm.placement": np.zeros(6)})


def test_a_changed_robot_is_what_the_differences_say_it_is() -> None:
    """The other route itself: a finite change of a gear ratio keeps the loops closed and shows in the motion."""
    robot = geared_arm()
    other = rebuilt(robot, {"gear.ratio": np.array(1.0)}, 0.5)
    q = robot.random(0)[None]
    assert np.allclose(closed(robot, other, q), q)
    assert np.isclose(other.loop_map(q[0])[1, 0], -3.5)
