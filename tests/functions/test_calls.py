"""How derivatives are called: tuples and names, batches, out=, threads=, pickles, errors; compiled as interpreted."""

from __future__ import annotations

import copy
import pickle
from functools import cache
from typing import Any

import numpy as np
import pytest

import fourbar as fb
from fourbar import System
from fourbar.errors import ArgumentError

from .test_dynamics import meaning


@cache
def arm() -> System:
    return fb.robots.double_pendulum()


@cache
def state(*batch: int) -> tuple[np.ndarray, ...]:
    """q, v, tau and tangents of them."""
    rng = np.random.default_rng(len(batch))
    return tuple(rng.normal(size=(6, *batch, arm().nv)))


def same(a: Any, b: Any) -> None:
    np.testing.assert_allclose(a, b, rtol=1e-13, atol=1e-13 * max(1.0, float(np.abs(b).max(initial=0.0))))


def test_tuples_names_and_what_is_left_out() -> None:
    q, v, tau, dq, dv, dtau = state()
    jvp = arm().forward_dynamics.jvp
    full = jvp((q, v, tau), (dq, dv, dtau))
    assert full.shape == (arm().nv,)
    same(jvp({"tau": tau, "q": q, "v": v}, {"v": dv, "tau": dtau, "q": dq}), full)
    same(jvp((q, v, tau, None), (dq, dv, dtau, None)), full)
    zero = np.zeros(arm().nv)
    expected = jvp((q, v, tau), (zero, dv, zero))
    same(jvp((q, v, tau), (None, dv, None)), expected)
    same(jvp((q, v, tau), (None, dv)), expected)
    same(jvp((q, v, tau), {"v": dv}), expected)
    same(jvp((q, v, tau), {"v": dv, "q": None}), expected)
    with pytest.raises(TypeError, match="needs tangents"):
        jvp((q, v, tau), ())


def test_one_argument_needs_no_tuple() -> None:
    q, _, _, dq, *_ = state()
    robot = arm()
    same(robot.mass_matrix.jvp(q, dq), robot.mass_matrix.jvp((q,), (dq,)))
    w = np.random.default_rng(0).normal(size=(robot.nv, robot.nv))
    gradient = robot.mass_matrix.vjp(q, w)
    assert gradient._fields == ("q",)
    same(gradient.q, robot.mass_matrix.vjp((q,), (w,)).q)
    same(gradient.q @ dq, np.sum(w * robot.mass_matrix.jvp(q, dq)))


def test_scalar_results() -> None:
    q, v, _, dq, dv, _ = state()
    robot = arm()
    rate = robot.kinetic_energy.jvp((q, v), (dq, dv))
    assert np.shape(rate) == ()
    gradient = robot.kinetic_energy.vjp((q, v), 1.0)
    same(gradient.q @ dq + gradient.v @ dv, rate)
    J = robot.kinetic_energy.jacobian(q, v)
    assert J.q.shape == J.v.shape == (robot.nv,)
    same(J.v, robot.mass_matrix(q) @ v)
    same(J.q, gradient.q)


def test_matrices_and_options() -> None:
    q, _, _, dq, *_ = state()
    robot, body = arm(), arm().names.bodies[-1]
    J = robot.pose.jacobian(q, frame=body)
    assert J.q.shape == (4, 4, robot.nv)
    same(robot.pose.jvp(q, dq, frame=body), J.q @ dq)
    f = robot.pose.specialise(frame=body)
    same(f.jvp(q, dq), J.q @ dq)
    same(f.vjp(q, np.ones((4, 4))).q, J.q.sum(axis=(0, 1)))


def test_several_results() -> None:
    q, v, tau, dq, dv, dtau = state()
    robot, first = arm(), arm().names.joints[:1]
    f = robot.hybrid_dynamics.specialise(prescribed=first)
    da, dtau_all = f.jvp((q, v, tau, tau), (dq, dv, dtau, dtau))
    J = f.jacobian(q, v, tau, tau)
    assert J._fields == ("a", "tau")
    assert J.a._fields == ("q", "v", "a", "tau")
    same(J.a.q @ dq + J.a.v @ dv + J.a.a @ dtau + J.a.tau @ dtau, da)
    same(J.tau.q @ dq + J.tau.v @ dv + J.tau.a @ dtau + J.tau.tau @ dtau, dtau_all)
    w = np.random.default_rng(1).normal(size=(2, robot.nv))
    gradient = f.vjp((q, v, tau, tau), (w[0], w[1]))
    same(gradient.q, w[0] @ J.a.q + w[1] @ J.tau.q)
    same(f.vjp((q, v, tau, tau), {"tau": w[1], "a": w[0]}).v, gradient.v)


def test_external_forces() -> None:
    q, v, tau, *_ = state()
    robot = arm()
    f_ext = np.random.default_rng(2).normal(size=(len(robot.names.bodies), 6))
    J = robot.forward_dynamics.jacobian(q, v, tau, f_ext)
    assert J._fields == ("q", "v", "tau", "f_ext")
    assert J.f_ext.shape == (robot.nv, len(robot.names.bodies), 6)
    assert J.q.shape == (robot.nv, robot.nv)
    same(robot.forward_dynamics.jacobian(q, v, tau, f_ext=f_ext).f_ext, J.f_ext)
    d = np.random.default_rng(3).normal(size=f_ext.shape)
    same(robot.forward_dynamics.jvp((q, v, tau, f_ext), {"f_ext": d}), np.tensordot(J.f_ext, d, 2))
    same(robot.forward_dynamics.vjp((q, v, tau, f_ext), np.ones(robot.nv)).f_ext, J.f_ext.sum(axis=0))
    assert robot.forward_dynamics.jacobian(q, v, tau)._fields == ("q", "v", "tau")


def test_batches() -> None:
    robot = arm()
    q, v, tau, dq, dv, dtau = state(3, 5)
    f = robot.forward_dynamics
    da = f.jvp((q, v, tau), (dq, dv, dtau))
    J = f.jacobian(q, v, tau)
    g = f.vjp((q, v, tau), dq)
    assert da.shape == (3, 5, robot.nv) and J.q.shape == (3, 5, robot.nv, robot.nv) and g.q.shape == q.shape
    one = f.jacobian(q[1, 2], v[1, 2], tau[1, 2])
    again = f.jacobian(q[1, 2], v[1, 2], tau[1, 2])  # the second call of a kind takes a shorter way
    for name in J._fields:
        same(getattr(J, name)[1, 2], getattr(one, name))
        same(getattr(one, name), getattr(again, name))
    same(da[1, 2], f.jvp((q[1, 2], v[1, 2], tau[1, 2]), (dq[1, 2], dv[1, 2], dtau[1, 2])))
    same(g.v[1, 2], f.vjp((q[1, 2], v[1, 2], tau[1, 2]), dq[1, 2]).v)


def test_broadcasting() -> None:
    robot = arm()
    q, v, tau, dq, dv, _ = state(4)
    f = robot.inverse_dynamics
    same(
        f.jvp((q[0], v, tau[0]), (dq[0], dv)), np.array([f.jvp((q[0], v[i], tau[0]), (dq[0], dv[i])) for i in range(4)])
    )
    units = np.eye(robot.nv)
    same(f.jvp((q[0], v[0], tau[0]), (units, None)), f.jacobian(q[0], v[0], tau[0]).q.T)
    same(f.vjp((q[0], v[0], tau[0]), units).q, f.jacobian(q[0], v[0], tau[0]).q)
    J = f.jacobian(q[:, None], v, tau[0])
    assert J.q.shape == (4, 4, robot.nv, robot.nv)
    same(J.v[1, 3], f.jacobian(q[1], v[3], tau[0]).v)
    assert f.jacobian(q[:0], v[:0], tau[:0]).q.shape == (0, robot.nv, robot.nv)


def test_into_given_arrays() -> None:
    robot = arm()
    q, v, tau, dq, dv, dtau = state(7)
    f, n = robot.forward_dynamics, robot.nv
    rates = np.empty((7, n))
    assert f.jvp((q, v, tau), (dq, dv, dtau), out=rates) is rates
    same(rates, f.jvp((q, v, tau), (dq, dv, dtau)))
    blocks = np.empty((7, 3, n, n))
    J = f.jacobian(q, v, tau, out=blocks)
    assert all(np.shares_memory(x, blocks) for x in J)
    for k, x in enumerate(f.jacobian(q, v, tau)):
        same(blocks[:, k], x)
    into = tuple(np.empty((7, n)) for _ in range(3))
    g = f.vjp((q, v, tau), dq, out=into)
    assert g.q is into[0] and g.tau is into[2]
    same(g.v, f.vjp((q, v, tau), dq).v)
    with pytest.raises(ArgumentError, match=r"forward_dynamics.jacobian: out .* shape \(7, 3, 2, 2\)"):
        f.jacobian(q, v, tau, out=np.empty((7, n, n)))


def test_threads() -> None:
    robot = arm()
    q, v, tau, dq, dv, dtau = (np.resize(x, (20_000, robot.nv)) for x in state(11))
    f = robot.forward_dynamics
    same(f.jvp((q, v, tau), (dq, dv, dtau), threads=2), f.jvp((q, v, tau), (dq, dv, dtau), threads=1))
    same(f.vjp((q, v, tau), dq, threads=2).q, f.vjp((q, v, tau), dq, threads=1).q)
    same(f.jacobian(q, v, tau, threads=2).q, f.jacobian(q, v, tau, threads=1).q)
    with pytest.raises(ArgumentError, match="threads must be a whole number"):
        f.jvp((q, v, tau), (dq,), threads=0)


@pytest.mark.parametrize("kind", ["jvp", "vjp", "jacobian"])
def test_pickles(kind: str) -> None:
    q, v, tau, dq, *_ = state()
    robot = arm()
    calls = {"jvp": ((q, v, tau), (dq,)), "vjp": ((q, v, tau), dq), "jacobian": (q, v, tau)}
    f = getattr(robot.forward_dynamics, kind)
    again = pickle.loads(pickle.dumps(f))
    assert repr(again) == repr(f) == f"<fourbar derivative forward_dynamics.{kind}>"
    for a, b in zip(again(*calls[kind]), f(*calls[kind]), strict=True):
        np.testing.assert_array_equal(a, b)
    second = pickle.loads(pickle.dumps(f.jvp))
    assert repr(second) == f"<fourbar derivative forward_dynamics.{kind}.jvp>"
    pose = getattr(robot.pose.specialise(frame=robot.names.bodies[-1]), kind)
    assert repr(pickle.loads(pickle.dumps(pose))) == repr(pose)


@pytest.mark.parametrize("kind", ["jvp", "vjp", "jacobian"])
def test_derivatives_of_functions_with_options_travel(kind: str) -> None:
    q, _, _, dq, *_ = state()
    robot = arm()
    f = getattr(robot.pose, kind)
    again = pickle.loads(pickle.dumps(f))
    assert repr(again) == repr(f) == f"<fourbar function pose(q, frame) -> T: {kind}>"
    args = {"jvp": (q, dq), "vjp": (q, np.ones((4, 4))), "jacobian": (q,)}[kind]
    for a, b in zip(again(*args, frame="upper"), f(*args, frame="upper"), strict=True):
        np.testing.assert_array_equal(a, b)
    family = pickle.loads(pickle.dumps(robot.pose))
    np.testing.assert_array_equal(family(q, "upper"), robot.pose(q, "upper"))


def test_results_can_be_pickled_and_copied() -> None:
    q, v, tau, *_ = state()
    robot = arm()
    by_joint = robot.hybrid_dynamics.jacobian(q, v, tau, tau, prescribed=robot.names.joints[:1])
    for x in (robot.forward_dynamics.jacobian(q, v, tau), robot.forward_dynamics.vjp((q, v, tau), v), by_joint.tau):
        for again in (pickle.loads(pickle.dumps(x)), copy.deepcopy(x)):
            assert type(again) is type(x) and again._fields == x._fields
            for a, b in zip(again, x, strict=True):
                np.testing.assert_array_equal(a, b)
    assert pickle.loads(pickle.dumps(by_joint))._fields == ("a", "tau")


def test_the_same_derivative_is_made_once() -> None:
    f = arm().forward_dynamics
    assert f.jvp is f.jvp and f.jacobian is f.jacobian and f.jacobian.jvp is f.jacobian.jvp


def test_derivatives_of_derivatives() -> None:
    q, v, a, dq, *_ = state()
    f = arm().inverse_dynamics
    second = f.jacobian.jvp((q, v, a), {"q": dq})
    assert second._fields == ("q", "v", "a")
    h = 1e-5
    ahead, behind = (f.jacobian(q + s * h * dq, v, a) for s in (1.0, -1.0))
    for found, x, y in zip(second, ahead, behind, strict=True):
        np.testing.assert_allclose(found, (x - y) / (2 * h), atol=1e-7)
    by_q = f.jacobian.jacobian(q, v, a).q  # (blocks, rows, columns, directions)
    rates = f.vjp.jvp((q, v, a, None, v), {"q": dq})
    for found, block in zip(rates, by_q, strict=True):
        same(found, np.einsum("i,ijk,k->j", v, block, dq))


ERRORS = {
    "too many arguments": (lambda f, x: f.jvp((x,) * 5, (x,)), TypeError, "5 arrays were given for q, v, tau, f_ext"),
    "too many tangents": (lambda f, x: f.jvp((x,) * 3, (x,) * 5), TypeError, "tangents: 5 arrays were given for q, v"),
    "unknown argument": (lambda f, x: f.jvp({"p": x}, {}), TypeError, "arguments: .*'p'.* q, v, tau, f_ext"),
    "unknown tangent": (lambda f, x: f.jvp((x,) * 3, {"d_q": x}), TypeError, "tangents: .*'d_q'.* q, v, tau"),
    "tangent alone": (lambda f, x: f.jvp((x,) * 3, {"f_ext": x}), TypeError, "a tangent of 'f_ext' is given, but not"),
    "argument missing": (lambda f, x: f.jvp((x, x), (x,)), TypeError, "needs 'tau'"),
    "no tuple": (lambda f, x: f.jvp(x, x, x), TypeError, r"expected a tuple of arrays \(q, v, tau\).*shape \(2,\)"),
    "list of arguments": (lambda f, x: f.vjp([x, x, x], x), TypeError, r"arguments: expected a tuple .* a list of 3"),
    "list of tangents": (lambda f, x: f.jvp((x,) * 3, [x, x]), TypeError, r"tangents: expected a tuple .* a list of 2"),
    "nothing": (lambda f, x: f.jvp(), TypeError, "needs tangents"),
    "no cotangent": (lambda f, x: f.vjp((x,) * 3), TypeError, r"needs the cotangent \(weight\) of 'a'.*\(\.\.\., 2\)"),
    "jacobian of a tuple": (lambda f, x: f.jacobian((x,) * 3), TypeError, r"one by one, jacobian\(q, v, tau\)"),
    "option": (lambda f, x: f.jvp((x,) * 3, (x,), frame=1), TypeError, "has no argument 'frame'"),
    "shape of an argument": (lambda f, x: f.jvp((x[:1], x, x), (x,)), ArgumentError, r"q must have shape \(..., 2\)"),
    "shape of a tangent": (lambda f, x: f.jvp((x,) * 3, (x[:1],)), ArgumentError, r"d_q must have shape \(..., 2\)"),
    "cotangent missing": (lambda f, x: f.vjp((x,) * 3, None), TypeError, "needs the cotangent"),
    "too many cotangents": (lambda f, x: f.vjp((x,) * 3, (x, x)), TypeError, "cotangent: 2 arrays were given for a"),
    "unknown cotangent": (
        lambda f, x: f.vjp((x,) * 3, {"tau": x}),
        TypeError,
        "cotangent: there is no 'tau'; expected a",
    ),
    "shape of a cotangent": (lambda f, x: f.vjp((x,) * 3, x[:1]), ArgumentError, r"w_a must have shape \(..., 2\)"),
    "jacobian": (lambda f, x: f.jacobian(x, x), TypeError, "forward_dynamics.jacobian.* needs 'tau'"),
    "batches": (
        lambda f, x: f.jvp((np.zeros((3, 2)), x, x), (np.zeros((4, 2)),)),
        ArgumentError,
        r"do not broadcast together: q \(3,\).*d_q \(4,\)",
    ),
}


@pytest.mark.parametrize("case", ERRORS)
def test_errors(case: str) -> None:
    call, kind, text = ERRORS[case]
    with pytest.raises(kind, match=text):
        call(arm().forward_dynamics, np.zeros(arm().nv))


def test_a_tangent_is_no_configuration() -> None:
    robot = fb.robots.five_bar()
    q, v = robot.random(0), np.zeros(robot.nv)
    with pytest.raises(ArgumentError, match=r"the tangent of q has 2 entries, one for each velocity .* got \(4,\)"):
        robot.forward_dynamics.jvp((q, v, v), (q,))


def test_numbers_of_other_kinds() -> None:
    """Lists, integers and single precision are computed in double precision; empty batches stay empty, and NaN NaN."""
    robot = arm()
    q, v, tau, *_ = (np.round(x, 2) for x in state(3))
    exact = robot.forward_dynamics.jacobian(q, v, tau)
    listed = robot.forward_dynamics.jacobian(q.tolist(), v.tolist(), tau.tolist())
    assert np.array_equal(listed.q, exact.q)
    single = robot.forward_dynamics.jacobian(q.astype(np.float32), v, tau)
    assert single.q.dtype == float
    np.testing.assert_allclose(single.q, exact.q, rtol=1e-5)
    whole = robot.forward_dynamics.jvp(([0, 1], [1, 0], [2, 3]), ([1, 0],))
    same(whole, robot.forward_dynamics.jvp(([0.0, 1.0], [1.0, 0.0], [2.0, 3.0]), ([1.0, 0.0],)))
    with pytest.raises(ArgumentError, match="q must hold real numbers, got an array of dtype complex128"):
        robot.forward_dynamics.jacobian(q + 0j, v, tau)
    none = q[:0]
    assert robot.forward_dynamics.vjp((none, none, none), none, parameters=["upper.mass"]).q.shape == (0, 2)
    by_mass = robot.forward_dynamics.jacobian(none, none, none, parameters=["upper.com"])
    assert by_mass.parameters["upper.com"].shape == (0, 2, 3)
    spoiled = q.copy()
    spoiled[1, 0] = np.nan
    J = robot.forward_dynamics.jacobian(spoiled, v, tau)
    assert np.isnan(J.q[1]).any() and np.array_equal(J.q[[0, 2]], exact.q[[0, 2]])


def test_errors_of_options() -> None:
    robot, q = arm(), np.zeros(arm().nv)
    with pytest.raises(TypeError, match="pose needs 'frame'"):
        robot.pose.jvp(q, q)
    with pytest.raises(KeyError, match="nowhere"):
        robot.pose.jacobian(q, frame="nowhere")


@pytest.mark.parametrize("method", ["inverse_dynamics", "forward_dynamics"])
def test_compiled_is_interpreted(method: str) -> None:
    """The machine code beside the meaning of the program."""
    robot = arm()
    q, v, x, dq, dv, dx = state(4)
    f = getattr(robot, method)
    last = f.state[0].arguments[2].name
    given = {"q": q, "v": v, last: x}
    same(f.jvp((q, v, x), (dq, dv, dx)), meaning(f.jvp, {**given, "d_q": dq, "d_v": dv, f"d_{last}": dx})[0])
    weight = {f"w_{f.state[0].results[0]}": dq}
    for a, b in zip(f.vjp((q, v, x), dq), meaning(f.vjp, {**given, **weight}), strict=True):
        same(a, b)
    same(np.stack(f.jacobian(q, v, x), axis=-3), meaning(f.jacobian, given)[0])


@pytest.mark.slow
@pytest.mark.parametrize("method", ["inverse_dynamics", "forward_dynamics"])
def test_compiled_is_interpreted_with_loops(method: str) -> None:
    robot = fb.robots.mini_cheetah()
    rng = np.random.default_rng(0)
    q = robot.random(rng, 3)
    v, x, dq, dv, dx = rng.normal(size=(5, 3, robot.nv))
    f = getattr(robot, method)
    last = f.state[0].arguments[2].name
    given = {"q": q, "v": v, last: x}
    found = f.jvp((q, v, x), (dq, dv, dx))
    expected = meaning(f.jvp, {**given, "d_q": dq, "d_v": dv, f"d_{last}": dx})[0]
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-12 * np.abs(expected).max())
    J, blocks = np.stack(f.jacobian(q, v, x), axis=-3), meaning(f.jacobian, given)[0]
    np.testing.assert_allclose(J, blocks, rtol=0.0, atol=1e-12 * np.abs(blocks).max())


def test_the_interpreter_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """FOURBAR_BACKEND=numpy: no compiler is needed."""
    q, v, tau, dq, dv, dtau = state(3)
    expected = arm().forward_dynamics
    monkeypatch.setenv("FOURBAR_BACKEND", "numpy")
    f = System(arm().mechanism).forward_dynamics
    same(f.jvp((q, v, tau), (dq, dv, dtau)), expected.jvp((q, v, tau), (dq, dv, dtau)))
    for a, b in zip(f.vjp((q, v, tau), dq), expected.vjp((q, v, tau), dq), strict=True):
        same(a, b)
    blocks = np.empty((3, 3, arm().nv, arm().nv))
    for a, b in zip(f.jacobian(q, v, tau, out=blocks), expected.jacobian(q, v, tau), strict=True):
        same(a, b)
    same(f.jacobian(q[0], v[0], tau[0]).q, blocks[0, 0])


def test_programs_are_written_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Calls of a kind that was seen before record nothing."""
    q, v, tau, dq, *_ = state(3)
    f = arm().forward_dynamics
    second = f.jacobian.jvp

    def calls() -> None:
        f.jacobian(q, v, tau)
        f.jacobian(q[0], v[0], tau[0])
        f.jvp((q, v, tau), (dq,))
        f.vjp((q, v, tau), dq)
        second((q, v, tau), (dq,))

    calls()
    for derivative in (f.jacobian, f.jvp, f.vjp, second):
        for recording in (derivative.recording, derivative.recording.of):
            monkeypatch.setattr(recording, "program", None)
    calls()
