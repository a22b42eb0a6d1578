"""Derivatives of constrained robots: inverse and hybrid dynamics, forces on random mechanisms, along their numbers."""

from __future__ import annotations

import pickle
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from fourbar import Builder, System
from fourbar.constraints import Contact, Prescribed
from fourbar.errors import ArgumentError, SingularError, UnknownNameError
from fourbar.joints import Fixed, Revolute
from fourbar.loops import Closure, Distance
from fourbar.mechanism.mechanism import Frame, Placement
from fourbar.system.system import restore
from tests.constraints.test_inverse import HINGES, five_bar
from tests.constraints.test_inverse import states as hinge_states
from tests.loops import looped

from .rebuilt import differences, random_rates
from .step import directional
from .test_dynamics import TREES, case, near, tangents
from .test_numbers import geared_arm

pytestmark = [pytest.mark.drawn_in_line, pytest.mark.usefixtures("interpreted_programs")]


def _check(f: Any, system: System, given: dict[str, np.ndarray], tol: float, seed: int = 1) -> None:
    """jvp, vjp and jacobian of a function with hidden health against a complex step of its program."""
    moving, n = tangents(system, given, seed), len(given["q"])
    expected = directional(system, f.function, given, moving)[:-1]
    together = np.concatenate(expected, axis=-1)  # where all freedoms are taken the accelerations do not change
    near(np.concatenate(f.jvp(given, moving), axis=-1), together, tol)
    J = f.jacobian(**given)
    assert J._fields == f.results
    columns = []
    for block, exact in zip(J, expected, strict=True):
        parts = [
            np.einsum("bij,bj->bi", x.reshape(*exact.shape, -1), moving[k].reshape(n, -1))
            for k, x in block._asdict().items()
        ]
        columns.append(sum(parts))
    near(np.concatenate(columns, axis=-1), together, tol)
    rng = np.random.default_rng(1)
    weights = tuple(rng.normal(size=y.shape) for y in expected)
    gradient = f.vjp(given, weights)
    backwards = sum((x * moving[k]).reshape(n, -1).sum(axis=1) for k, x in gradient._asdict().items())
    forwards = sum((w * y).sum(axis=1) for w, y in zip(weights, expected, strict=True))
    size = sum(np.abs(w * y).sum(axis=1) for w, y in zip(weights, expected, strict=True))
    assert np.all(np.abs(backwards - forwards) <= tol * size)


def _ground() -> Closure:
    return Closure(Fixed(), "world", "right", at_predecessor=(0.15, 0, 0))


DRIVES = {
    "unique": (("left", "right"), "torque", None),
    "three": (("right", "left_elbow", "left"), "torque", None),
    "weighted": (("right", "left_elbow", "left"), "torque", (1.0, 2.0, 0.5)),
    "every": (HINGES, "torque", None),
    "constraint": (("left", "tip", "right"), "constraint", None),
    "weighted rows": (("left", "tip", "right"), "constraint", tuple(1.0 + i for i in range(6))),
}


@pytest.mark.default_cases("unique", "weighted", "weighted rows")
@pytest.mark.parametrize("name", DRIVES)
def test_inverse_dynamics(name: str) -> None:
    """Five hinges, closed by a weld whose six rows say three things: least forces of a redundant set of rows."""
    actuated, least, weight = DRIVES[name]
    system = five_bar(False)
    c = system.constrained(_ground(), actuated=list(actuated), least=least, weight=weight)
    q, v, a = hinge_states()
    f_ext = np.random.default_rng(2).normal(size=(len(q), 5, 6))
    given = {"q": q, "v": v, "a": a, "f_ext": f_ext}
    moving = tangents(system, given)
    exact = directional(system, c.inverse_dynamics.function, given, moving)
    _check(c.inverse_dynamics, system, given, 1e-12)
    assert np.abs(exact[0]).max() > 0.1
    tau, force = c.inverse_dynamics(**given)
    for x, y in zip(c.inverse_dynamics(**given), c.inverse_dynamics._by_svd(given)[0], strict=True):
        near(x, y, 1e-12)  # by singular values
    assert tau.shape == (len(q), len(actuated)) and force.shape == (len(q), 6)


_FULL = ((2.0, 0.3, 0.1), (0.3, 1.0, -0.2), (0.1, -0.2, 0.7))
DIRECT = {
    "unique": (["third", "last"], "torque", None),
    "spare": (["last", "first", "second"], "torque", None),
    "weighted": (["last", "first", "second"], "torque", _FULL),
    "every": (["first", "second", "third", "last"], "torque", (1.0, 2.0, 3.0, 4.0)),
    "constraint": (["last", "first", "second"], "constraint", ((2.0, 0.4), (0.4, 1.0))),
}


@pytest.mark.default_cases("unique", "every")
@pytest.mark.parametrize("name", DIRECT)
def test_inverse_dynamics_with_independent_rows(name: str) -> None:
    """What is differentiated here are the conditions that determine the forces."""
    b = Builder("chain", gravity=(0.3, -9.81, 0.2))
    parent = "world"
    for i, (link, axis) in enumerate(zip(("first", "second", "third", "last"), "zyzx", strict=True)):
        looped.shaped(b, link, i, parent=parent, joint=Revolute(axis), position=(0.3, 0, 0.1))
        parent = link
    robot = b.build()
    rod = Distance("world", "last", (0.5, 0.4, 0.0), (0.3, 0.0, 0.0), 0.8)
    actuated, least, weight = DIRECT[name]
    c = robot.constrained(rod, Contact("third", "touch"), actuated=actuated, least=least, weight=weight)
    rng = np.random.default_rng(0)
    q = robot.random(rng, 3)
    v = c.impulse(q, rng.normal(size=(3, 4)))[0]
    a = c.forward_dynamics(q, v, rng.normal(size=(3, 4)))[0]
    assert c.inverse_dynamics.differentiable.jvp.recording.of.stages is not None
    _check(c.inverse_dynamics, robot, {"q": q, "v": v, "a": a, "f_ext": rng.normal(size=(3, 4, 6))}, 1e-10)
    second = c.inverse_dynamics.jacobian.jvp((q, v, a), (v,))
    h = 1e-5
    ahead, behind = (c.inverse_dynamics.differentiable.jacobian(robot.integrate(q, v, s), v, a) for s in (h, -h))
    near(second.tau.v, (ahead.tau.v - behind.tau.v) / (2 * h), 1e-6)


def test_inverse_dynamics_with_embedded_loops() -> None:
    robot = five_bar(True)
    q, v, a = hinge_states()
    own = [HINGES.index(x) for x in robot.names.velocities]
    c = robot.constrained(Prescribed(["tip"]), actuated=["left", "right", "left_elbow"], least="torque")
    given = {"q": q, "v": v[:, own], "a": a[:, own]}
    given["a"] = c.forward_dynamics(given["q"], given["v"], np.zeros(2))[0]
    _check(c.inverse_dynamics, robot, given, 1e-12)


def test_inverse_dynamics_where_the_drives_lose_their_hold() -> None:
    robot = five_bar(True).with_independent("left", "left_elbow")
    full = robot.assemble([2.2, -1.2, 0.0, -1.4, 1.0], keep=["tip"])
    system = five_bar(False)
    f = system.constrained(_ground(), actuated=["left", "right"]).inverse_dynamics
    zero = np.zeros(5)
    with pytest.raises(SingularError, match=r"rank of the constraints changes .* no derivative"):
        f.jvp((full, zero, zero), {"v": zero})
    q = np.stack([full, hinge_states()[0][0]])
    with pytest.warns(RuntimeWarning, match=r"in some samples the rank .* these are NaN"):
        J = f.jacobian(q, zero, zero)
    for x in (*J.tau, *J.force):
        assert np.all(np.isnan(x[0])) and np.all(np.isfinite(x[1]))


def test_inverse_dynamics_is_called_like_the_others() -> None:
    system = five_bar(False)
    f = system.constrained(_ground(), actuated=["right", "left"]).inverse_dynamics
    q, v, a = hinge_states()
    tau, force = f(q, v, a)
    into = np.empty_like(tau), np.empty_like(force)
    assert f(q, v, a, out=into) is into and np.array_equal(into[0], tau)
    again = pickle.loads(pickle.dumps(f))
    assert np.array_equal(again(q, v, a)[1], force)
    assert repr(f) == "<fourbar function inverse_dynamics(q, v, a, f_ext=None, tau_passive=None) -> tau, force>"
    one = f.jacobian(q[1], v[1], a[1])
    many = f.jacobian(q, v, a)
    near(one.tau.q[None], many.tau.q[1:2], 1e-13)
    more = f.jacobian(q, v, a, out=(array := np.empty((len(q), (2 + 6) * 15))))
    assert all(np.shares_memory(x, array) for J in more for x in J)
    assert np.array_equal(more.force.a, many.force.a)
    with pytest.raises(Exception, match=r"out must be a float64 array of shape \(4, 120\)"):
        f.jacobian(q, v, a, out=np.empty((len(q), 7)))


@cache
def two_freedoms() -> System:
    """A five-bar, both of whose independent hinges are in one cluster, with an arm on its tip."""
    b = Builder("five_bar_arm", gravity=(0.3, -9.81, 0.2))
    parent, place = "world", (-0.15, 0, 0)
    for i, (name, length) in enumerate(zip(HINGES, (0.25, 0.35, 0.35, 0.25, 0.05), strict=True)):
        looped.shaped(b, name, i, parent=parent, joint=Revolute("z"), position=place)
        parent, place = name, (length, 0, 0)
    looped.shaped(b, "arm", 7, parent="left_elbow", joint=Revolute("x"), position=(0.35, 0, 0))
    looped.shaped(b, "hand", 8, parent="arm", joint=Revolute("y"), position=(0, 0.2, 0.1))
    b.frame("point", "hand", position=(0.1, 0, 0.2))
    b.loop(_ground(), name="ground", independent=["left", "right"])
    return b.build()


def _hybrid_state() -> tuple[Any, dict[str, np.ndarray]]:
    robot = two_freedoms()
    c = robot.constrained(Contact("point", "touch"))
    rng = np.random.default_rng(0)
    start = robot.assemble([1.9, -0.9, -1.9, -0.9, 1.8, 0.3, 0.4])
    q = robot.integrate(start, 0.2 * rng.normal(size=(3, robot.nv)), 1.0)
    v = c.impulse(q, rng.normal(size=(3, robot.nv)))[0]
    a, tau = rng.normal(size=(2, 3, robot.nv))
    return c, {"q": q, "v": v, "a": a, "tau": tau}


@pytest.mark.default_cases("constraint")
@pytest.mark.parametrize("least", ["constraint", "torque"])
def test_hybrid_dynamics_of_one_joint_of_a_cluster(least: str) -> None:
    c, given = _hybrid_state()
    robot = c.system
    assert robot.names.velocities == ("left", "right", "arm", "hand")
    names, u = ["left", "hand"], np.array([True, False, False, True])
    a, tau, force = c.hybrid_dynamics(**given, prescribed=names, least=least)
    near(a[:, u], given["a"][:, u], 1e-15)
    near(tau[:, ~u], given["tau"][:, ~u], 1e-15)
    again, lam = c.forward_dynamics(given["q"], given["v"], tau)
    near(again, a, 1e-12)
    near(lam, force, 1e-12)
    needed = robot.inverse_dynamics(given["q"], given["v"], a)
    near(tau + np.einsum("bij,bi->bj", c.jacobian(given["q"]), force), needed, 1e-12)
    _check(c.hybrid_dynamics.specialise(names, least), robot, given, 1e-12)


def test_hybrid_dynamics_of_least_torque_by_name() -> None:
    """More rows than free joints: derivatives by name, and by singular values the same numbers."""
    robot = two_freedoms()
    c = robot.constrained(Contact("point", "point"))
    rng = np.random.default_rng(0)
    q = robot.integrate(
        robot.assemble([1.9, -0.9, -1.9, -0.9, 1.8, 0.3, 0.4]), 0.2 * rng.normal(size=(3, robot.nv)), 1.0
    )
    v = c.impulse(q, rng.normal(size=(3, robot.nv)))[0]
    tau = rng.normal(size=(3, robot.nv))
    allowed = c.forward_dynamics(q, v, tau)[0]
    options = {"prescribed": ["left", "right", "hand"], "least": "torque"}
    f = c.hybrid_dynamics.specialise(**options)
    given = {"q": q, "v": v, "a": allowed, "tau": tau}
    _, small, _ = c.hybrid_dynamics(**given, **options)
    _, large, _ = c.hybrid_dynamics(**given, prescribed=options["prescribed"])
    own = [0, 1, 3]
    assert np.all((small[:, own] ** 2).sum(-1) < (large[:, own] ** 2).sum(-1))
    for x, y in zip(f(**given), f._by_svd(given)[0], strict=True):
        near(x, y, 1e-12)
    moving = {"tau": np.ones_like(tau)}
    for x, y in zip(c.hybrid_dynamics.jvp(given, moving, **options), f.jvp(given, moving), strict=True):
        assert np.array_equal(x, y)
    J = c.hybrid_dynamics.jacobian(q, v, allowed, tau, **options)
    assert J.tau.a.shape == (3, 4, 4) and J.force.q.shape == (3, 3, 4)
    gradient = c.hybrid_dynamics.vjp(given, (tau, tau, np.ones((3, 3))), **options)
    assert gradient._fields == ("q", "v", "a", "tau")
    again = pickle.loads(pickle.dumps(f))
    assert np.array_equal(again(**given)[1], small)
    assert repr(pickle.loads(pickle.dumps(c.hybrid_dynamics))) == repr(c.hybrid_dynamics)


_SLOW = ("geared", "spatial_crank", "moored", TREES[2], "between")


def _marked(names: Any) -> list[Any]:
    return [pytest.param(x, marks=pytest.mark.slow) if x in _SLOW else x for x in names]


_MECHANISMS = _marked(["four_bar", "nested", "differential", "geared", "spatial_crank", "moored", TREES[2]])


@pytest.mark.parametrize("name", _MECHANISMS)
def test_forces_of_constraints_on_random_mechanisms(name: str) -> None:
    """Ω and its derivatives, the forces λ and theirs, with loops below and above."""
    plain, state = case(name)
    last = plain.mechanism.bodies[-1].name
    probe = Frame("probe", last, Placement(position=(0.3, 0.2, 0.1)))
    robot = restore(replace(plain.mechanism, frames=(*plain.mechanism.frames, probe)))
    c = robot.constrained(Contact("probe", "point"))
    v = c.impulse(state.q, state.v)[0]
    given = {"q": state.q, "v": v, "tau": state.tau, "f_ext": state.f_ext}
    _check(c.forward_dynamics, robot, given, 1e-9)
    moving = tangents(robot, {"q": state.q})
    (exact,) = directional(robot, c.osim_inverse, {"q": state.q}, moving)
    near(c.osim_inverse.jvp(state.q, moving["q"]), exact, 1e-12)
    assert np.abs(exact).max() > 1e-6


NUMBERS = {
    "touch": ("geared_arm", lambda: (Contact("tip", "touch"),)),
    "loop": (
        "geared_arm",
        lambda: (Distance("rotor", "wrist", (0.1, 0.2, 0), (0.1, 0, 0), 0.9), Contact("tip", "touch")),
    ),
    "between": ("two", lambda: (Contact("point", "touch", to="right_elbow"),)),
    "driven": ("two", lambda: (Prescribed(["hand"]), Contact("point", "touch"))),
}


def _numbered(name: str) -> tuple[System, Any]:
    home, conditions = NUMBERS[name]
    return (geared_arm() if home == "geared_arm" else two_freedoms()), conditions()


@pytest.mark.default_cases("osim_inverse-loop", "acceleration-touch")
@pytest.mark.parametrize("name", _marked(NUMBERS))
@pytest.mark.parametrize(
    "function",
    [
        pytest.param("forward_dynamics", marks=pytest.mark.slow),
        "osim_inverse",
        pytest.param("impulse", marks=pytest.mark.slow),
        "acceleration",
    ],
)
def test_along_the_numbers_of_the_robot(name: str, function: str) -> None:
    """Against robots built with other numbers, and back: the adjoint identity."""
    robot, conditions = _numbered(name)
    rng = np.random.default_rng(3)
    q = (
        robot.random(rng, 2)
        if robot is geared_arm()
        else robot.integrate(
            robot.assemble([1.9, -0.9, -1.9, -0.9, 1.8, 0.3, 0.4]), 0.2 * rng.normal(size=(2, robot.nv)), 1.0
        )
    )
    v, x = rng.normal(size=(2, 2, robot.nv))
    args = {"forward_dynamics": (q, v, x), "osim_inverse": (q,), "impulse": (q, v), "acceleration": (q, v, x)}[function]
    rates = random_rates(robot)
    f = getattr(robot.constrained(*conditions), function)
    found = f.jvp(args, parameters=rates)
    found = found if isinstance(found, tuple) else (found,)

    def value(other: Any, moved: np.ndarray) -> np.ndarray:
        result = getattr(other.constrained(*conditions), function)(moved, *args[1:])
        parts = result if isinstance(result, tuple) else (result,)
        return np.concatenate([y.reshape(2, -1) for y in parts], axis=-1)

    expected = differences(robot, rates, value, q)
    near(np.concatenate([y.reshape(2, -1) for y in found], axis=-1), expected, 1e-8)
    weights = tuple(rng.normal(size=y.shape) for y in found)
    gradient = f.vjp(args, weights if len(weights) > 1 else weights[0], parameters=tuple(rates))
    terms = [(gradient.parameters[k] * r).reshape(2, -1) for k, r in rates.items()]
    forwards = sum((w * y).reshape(2, -1).sum(axis=1) for w, y in zip(weights, found, strict=True))
    bound = sum(np.abs(x).sum(axis=1) for x in terms)
    assert np.all(np.abs(sum(x.sum(axis=1) for x in terms) - forwards) <= 1e-12 * bound)
    names = ["gravity", *list(rates)[1:4]]
    J = f.jacobian(*args, parameters=names)
    chosen = {k: rates[k] for k in names}
    along = f.jvp(args, parameters=chosen)
    blocks, along = (J, along) if isinstance(along, tuple) else ([J], [along])
    for block, rate in zip(blocks, along, strict=True):
        parts = [block.parameters[k].reshape(*rate.shape, -1) @ np.ravel(r) for k, r in chosen.items()]
        near(sum(parts), rate, 1e-12)


@pytest.mark.slow
def test_inverse_dynamics_along_numbers() -> None:
    robot = five_bar(False)
    names = ["left_elbow.mass", "tip.com", "left.armature", "gravity", "right.inertia"]
    rng = np.random.default_rng(3)
    every = random_rates(robot)
    rates = {k: every[k] for k in names}
    q, v, a = hinge_states()
    f = robot.constrained(_ground(), actuated=["left", "tip", "right"]).inverse_dynamics
    found = f.jvp((q, v, a), parameters=rates)

    def value(other: Any, moved: np.ndarray) -> np.ndarray:
        own = other.constrained(_ground(), actuated=["left", "tip", "right"]).inverse_dynamics
        return np.concatenate(own(moved, v, a), axis=-1)

    near(np.concatenate(found, axis=-1), differences(robot, rates, value, q), 1e-9)
    weights = tuple(rng.normal(size=y.shape) for y in found)
    gradient = f.vjp((q, v, a), weights, parameters=names).parameters
    backwards = sum((gradient[k] * r).reshape(len(q), -1).sum(axis=1) for k, r in rates.items())
    forwards = sum((w * y).sum(axis=1) for w, y in zip(weights, found, strict=True))
    assert np.allclose(backwards, forwards, rtol=1e-12, atol=1e-12)


def test_second_derivatives() -> None:
    c, given = _hybrid_state()
    args = given["q"], given["v"], given["tau"]
    rng = np.random.default_rng(1)
    dq = rng.normal(size=given["v"].shape)
    found = c.forward_dynamics.jacobian.jvp(args, (dq,))
    assert found._fields == ("a", "force") and repr(c.forward_dynamics.jacobian).endswith("forward_dynamics.jacobian>")
    h = 1e-5
    ahead, behind = (c.forward_dynamics.jacobian(c.system.integrate(args[0], dq, s), *args[1:]) for s in (h, -h))
    for block, x, y in zip(found, ahead, behind, strict=True):
        near(block.tau, (x.tau - y.tau) / (2 * h), 1e-6)
        near(block.v, (x.v - y.v) / (2 * h), 1e-6)


def test_odd_numbers() -> None:
    """Empty batches stay empty, samples that are not numbers are NaN and no news, lists and single precision do."""
    c, given = _hybrid_state()
    args = given["q"], given["v"], given["tau"]
    empty = c.forward_dynamics.jacobian(*(x[:0] for x in args))
    assert empty.a.q.shape == (0, 4, 4) and empty.force.q.shape == (0, 1, 4)
    into = np.empty((0, 5 * 12))
    assert c.forward_dynamics.jacobian(*(x[:0] for x in args), out=into).a.v.shape == (0, 4, 4)
    spoiled = args[0].copy()
    spoiled[1] = np.nan
    whole, part = c.forward_dynamics.jacobian(*args), c.forward_dynamics.jacobian(spoiled, *args[1:])
    assert np.isnan(part.a.q[1]).all() and np.array_equal(part.a.q[[0, 2]], whole.a.q[[0, 2]])
    assert np.isnan(c.forward_dynamics.jacobian(spoiled[1], args[1][1], args[2][1]).a.q).all()
    listed = c.forward_dynamics.jvp(tuple(x.tolist() for x in args), {"tau": args[2].tolist()})
    exact = c.forward_dynamics.jvp(args, {"tau": args[2]})
    assert np.array_equal(listed[0], exact[0])
    f = five_bar(False).constrained(_ground(), actuated=["left", "right"]).inverse_dynamics
    q, v, a = hinge_states()
    assert f(q[:0], v[:0], a[:0])[1].shape == (0, 6) and f.jacobian(q[:0], v[:0], a[:0]).tau.q.shape == (0, 2, 5)
    assert np.isnan(f(q * np.nan, v, a)[0]).all()


def test_errors() -> None:
    c, given = _hybrid_state()
    args, f = (given["q"], given["v"], given["tau"]), c.forward_dynamics
    with pytest.raises(TypeError, match=r"vjp, cotangent: expected a tuple of arrays \(a, force\), .* shape \(3, 4\)"):
        f.vjp(args, given["tau"])
    with pytest.raises(TypeError, match=r"cotangent: .*'lambda'.* a, force$"):
        f.vjp(args, {"a": given["tau"], "lambda": np.ones(1)})
    with pytest.raises(UnknownNameError, match=r"no parameter 'arm\.mas'"):
        f.vjp(args, (given["tau"], np.ones(1)), parameters="arm.mas")
    with pytest.raises(UnknownNameError, match="no independent moving joint 'tip'"):
        c.hybrid_dynamics(**given, prescribed=["tip"])
    with pytest.raises(TypeError, match="hybrid_dynamics needs 'prescribed', names of joints"):
        c.hybrid_dynamics.jvp(given, given)
    with pytest.raises(ArgumentError, match="inverse_dynamics needs the actuated joints"):
        c.inverse_dynamics(*args)
    with pytest.raises(ArgumentError, match=r"out must be a float64 array of shape \(3, 60\), got 3"):
        f.jacobian(*args, out=3)
    inverse = five_bar(False).constrained(_ground(), actuated=["left", "right"]).inverse_dynamics
    q, v, a = hinge_states()
    with pytest.raises(ArgumentError, match=r"inverse_dynamics: a must have shape \(\.\.\., 5\), got \(4, 2\)"):
        inverse(q, v, a[:, :2])
    with pytest.raises(ArgumentError, match="do not allow these accelerations"):
        inverse.jvp((q, v, a + 1.0), {"v": v})
