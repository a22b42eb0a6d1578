"""Wrenches of some bodies by name, {"bucket": wrench}: everywhere the same as an array (..., n_bodies, 6)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fourbar as fb
from fourbar.functions.registry import METHODS

pytestmark = pytest.mark.drawn_in_line

TAKING = sorted(name for name, method in METHODS.items() if "f_ext" in {*method.arguments, *method.optional})


def robot() -> fb.System:
    """A crank-rocker that carries an arm: a loop, and a body behind it."""
    b = fb.Builder("digger")
    link = {"mass": 1.0, "com": (0.1, 0.0, 0.0), "inertia": (0.01, 0.02, 0.02)}
    b.body("crank", joint=fb.joints.Revolute("y"), stiffness=2.0, damping=0.3, **link)
    b.body("coupler", parent="crank", joint=fb.joints.Revolute("y"), position=(0.2, 0, 0), **link)
    b.body("rocker", joint=fb.joints.Revolute("y"), position=(0.5, 0, 0), **link)
    b.body("bucket", parent="rocker", joint=fb.joints.Revolute("x"), position=(0.4, 0, 0), **link)
    closing = fb.loops.Closure(
        fb.joints.Revolute("y"), "coupler", "rocker", at_predecessor=(0.5, 0, 0), at_successor=(0.4, 0, 0)
    )
    b.loop(closing, independent=["crank"])
    return b.build()


@pytest.fixture(scope="module")
def digger() -> fb.System:
    return robot()


def wrenches(batch: tuple[int, ...] = ()) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Wrenches on two bodies by name, one of them the same for the whole batch, and as an array."""
    rng = np.random.default_rng(3)
    named = {"bucket": rng.normal(size=(*batch, 6)), "crank": rng.normal(size=6)}
    array = np.zeros((*batch, 4, 6))
    array[..., 3, :], array[..., 0, :] = named["bucket"], named["crank"]
    return named, array


def state(robot: Any, name: str, batch: tuple[int, ...]) -> dict[str, np.ndarray]:
    """The arguments of a method, but for f_ext."""
    rng, n = np.random.default_rng(5), int(np.prod(batch))
    values = {"q": robot.random(rng, n=n).reshape(*batch, robot.nq)}
    values |= {x: rng.normal(size=(*batch, robot.nv)) for x in ("v", "a", "tau")}
    options = {"prescribed": ["bucket"]} if name == "hybrid_dynamics" else {}
    return {a: values[a] for a in METHODS[name].arguments if a != "f_ext"} | options


def same(left: Any, right: Any) -> None:
    both = zip(left, right, strict=True) if isinstance(left, tuple) else [(left, right)]
    assert all(np.array_equal(x, y) for x, y in both)


@pytest.mark.quick
@pytest.mark.parametrize("batch", [(), (4,)])
@pytest.mark.parametrize("name", TAKING)
def test_every_method_takes_wrenches_by_name(digger: fb.System, name: str, batch: tuple[int, ...]) -> None:
    function, given = getattr(digger, name), state(digger, name, batch)
    named, array = wrenches(batch)
    same(function(**given, f_ext=named), function(**given, f_ext=array))
    assert not np.array_equal(function(**given, f_ext={})[0], function(**given, f_ext=array)[0])
    same(function(**given, f_ext={}), function(**given, f_ext=np.zeros((4, 6))))


@pytest.mark.parametrize("batch", [(), (4,)])
def test_derivatives(digger: fb.System, batch: tuple[int, ...]) -> None:
    f, (named, array) = digger.forward_dynamics, wrenches(batch)
    q, v, tau = state(digger, "forward_dynamics", batch).values()
    along = {"q": v, "f_ext": {"rocker": np.ones(6)}}
    ones = np.zeros((4, 6))
    ones[2] = 1.0
    same(f.jvp((q, v, tau, named), along), f.jvp((q, v, tau, array), {"q": v, "f_ext": ones}))
    same(tuple(f.vjp((q, v, tau, named), tau)), tuple(f.vjp((q, v, tau, array), tau)))
    same(tuple(f.jacobian(q, v, tau, named)), tuple(f.jacobian(q, v, tau, f_ext=array)))
    step = 1e-6 * ones
    difference = (f(q, v, tau, f_ext=array + step) - f(q, v, tau, f_ext=array - step)) / 2e-6
    assert np.allclose(f.jvp((q, v, tau, named), {"f_ext": along["f_ext"]}), difference, atol=1e-6)


def test_parameters_that_vary(digger: fb.System) -> None:
    named, array = wrenches((4,))
    given = state(digger, "inverse_dynamics", (4,))
    varying = digger.varying("bucket.mass")
    mass = {"bucket_mass": np.linspace(0.5, 2.0, 4)}
    same(varying.inverse_dynamics(**given, f_ext=named, **mass), varying.inverse_dynamics(**given, f_ext=array, **mass))
    at = varying.at(np.linspace(0.5, 2.0, 4))
    same(at.inverse_dynamics(**given, f_ext=named), at.inverse_dynamics(**given, f_ext=array))


@pytest.mark.parametrize("batch", [(), (4,)])
def test_constrained_robots(batch: tuple[int, ...]) -> None:
    base = fb.robots.four_bar().spanning()
    rng = np.random.default_rng(2)
    q = np.broadcast_to(base.random(rng), (*batch, base.nq))
    tip = base.poses(q.reshape(-1, base.nq)[0])[base.names.bodies.index("link3")] @ (0.1, 0.0, 0.0, 1.0)
    rod = fb.loops.Distance("world", "link3", (0, 0, 0), (0.1, 0, 0), length=float(np.linalg.norm(tip[:3])))
    held = base.constrained(rod, actuated=["link1_joint", "link2_joint"])
    named = {"link3": np.arange(6.0)}
    array = np.zeros((3, 6))
    array[base.names.bodies.index("link3")] = np.arange(6.0)
    v, tau = np.zeros((*batch, base.nv)), rng.normal(size=(*batch, base.nv))
    same(held.forward_dynamics(q, v, tau, f_ext=named), held.forward_dynamics(q, v, tau, f_ext=array))
    a = held.forward_dynamics(q, v, tau)[0]
    same(held.inverse_dynamics(q, v, a, f_ext=named), held.inverse_dynamics(q, v, a, f_ext=array))
    same(*(held.hybrid_dynamics(q, v, a, tau, ["link1_joint"], f_ext=x) for x in (named, array)))
    jacobians = [held.forward_dynamics.jacobian(q, v, tau, f_ext=x) for x in (named, array)]
    same(tuple(jacobians[0].a), tuple(jacobians[1].a))


def test_reactions_of_overconstrained_loops(digger: fb.System) -> None:
    named, array = wrenches((4,))
    q = digger.random(1)
    zero = np.zeros(digger.nv)
    same(digger.least_reactions(q, zero, zero, named), digger.least_reactions(q, zero, zero, array))


def test_identification(digger: fb.System) -> None:
    """A known wrench on the bucket is taken into account, by name as in an array."""
    rng = np.random.default_rng(0)
    q, v, a = digger.random(rng, n=300), rng.normal(size=(300, 2)), rng.normal(size=(300, 2))
    named, array = wrenches((300,))
    tau = digger.inverse_dynamics(q, v, a, f_ext=array)
    data = {"q": q, "v": v, "a": a, "tau": tau}
    by_name, by_array = (fb.identify(digger, {**data, "f_ext": x}) for x in (named, array))
    assert np.array_equal(by_name.values, by_array.values)


def test_messages(digger: fb.System) -> None:
    q, zero = digger.neutral(), np.zeros(2)
    with pytest.raises(
        fb.UnknownNameError, match=r"no body .*f_ext of forward_dynamics.* 'buket'; did you mean 'bucket'"
    ):
        digger.forward_dynamics(q, zero, zero, f_ext={"buket": np.zeros(6)})
    with pytest.raises(fb.ArgumentError, match=r"f_ext\['bucket'\] must have shape \(\.\.\., 6\), got \(3,\)"):
        digger.forward_dynamics(q, zero, zero, f_ext={"bucket": [0.0, 0.0, 1.0]})
    with pytest.raises(
        fb.ArgumentError, match=r"do not broadcast together: f_ext\['bucket'\] \(2,\), f_ext\['crank'\]"
    ):
        digger.forward_dynamics(q, zero, zero, f_ext={"bucket": np.zeros((2, 6)), "crank": np.zeros((3, 6))})
    with pytest.raises(fb.ArgumentError, match="tau is a dictionary"):
        digger.forward_dynamics(q, zero, {"crank": 1.0})


def test_dask(digger: fb.System) -> None:
    da = pytest.importorskip("dask.array")
    named, array = wrenches()
    given = state(digger, "inverse_dynamics", (8,))
    lazy = {name: da.from_array(x, chunks=(4, -1)) for name, x in given.items()}
    found = digger.inverse_dynamics(**lazy, f_ext=named).compute()
    assert np.allclose(found, digger.inverse_dynamics(**given, f_ext=array), rtol=1e-14, atol=0)
    with pytest.raises(fb.ArgumentError, match=r"f_ext\['bucket'\] is a dask array"):
        digger.inverse_dynamics(**given, f_ext={"bucket": da.zeros((8, 6))})
