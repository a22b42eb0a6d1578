"""The projection method compiled: the same results as the recursive algorithms, kept where it has fewer operations."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fourbar as fb
from fourbar.expr import Program, interpret
from fourbar.functions import merging, projection
from fourbar.functions.methods import dynamics
from fourbar.joints import Revolute, SphericalEuler
from fourbar.sim.robot import runge_kutta_step
from fourbar.sim.robot.runge_kutta_step import StageRecording

from .looped import EACH, mechanism, near, state

METHODS = {
    "forward_dynamics": ("q", "v", "tau", "f_ext"),
    "passive_dynamics": ("q", "v", "tau"),
    "solve_mass_matrix": ("q", "b"),
    "inverse_mass_matrix": ("q",),
}


def programs(function: Any, given: tuple[str, ...]) -> list[Program]:
    """Those of the recursive algorithms, and at last that of projection."""
    recording = function.state[0].recording
    rivals = [rival.record for rival in recording.method.rivals if rival.may_win is not merging.may_win]
    algorithms = (recording.method.record, *rivals)
    return [recording.record_algorithm(x, recording.select_arguments(given)) for x in algorithms]


@pytest.mark.default_cases("four_bar", "geared", "tripod", "moored", "explicit", "nested")
@EACH
def test_both_algorithms_agree(name: str) -> None:
    robot, s = mechanism(name), state(name)
    arrays = {"q": s.q, "v": s.v, "tau": s.tau, "b": s.tau, "f_ext": s.f_ext}
    for method, given in METHODS.items():
        recursive, projected = programs(getattr(robot, method), given)
        taken = {x: arrays[x] for x in given}
        (expected,), (found,) = (interpret(p, taken).values() for p in (recursive, projected))
        near(found, expected, 1e-11)


@pytest.mark.parametrize("axes", ["world", "frame"])
def test_omega_by_three_algorithms(axes: str) -> None:
    robot = fb.robots.pbt_chain(6, seed=3)
    q = robot.random(1, 4)
    ends = {"frames": ["cp-B-2"], "points": ["cp-A-1"], "expressed_in": axes}
    three = programs(robot.osim_inverse.specialise(**ends), ("q",))
    results = [interpret(p, {"q": q})["Omega"] for p in three]
    for omega in results[1:]:
        near(omega, results[0], 1e-12)
    assert np.array_equal(results[-1], np.swapaxes(results[-1], 1, 2))
    kept = robot.osim_inverse.specialise(**ends).program().operations
    assert kept == three[-1].operations < 0.8 * three[0].operations


def test_projection_is_kept_where_it_has_fewer_operations() -> None:
    """Of short belt chains and a Stewart platform; of a leg with few loops the program of C-ABA stays as it is."""
    for robot, wins in (
        (fb.robots.pbt_chain(6, seed=0), True),
        (fb.robots.stewart_platform(), True),
        (fb.robots.cassie_leg(), False),
    ):
        recursive, projected = programs(robot.forward_dynamics, ("q", "v", "tau"))
        kept = robot.forward_dynamics.program()
        assert kept.operations == (projected if wins else recursive).operations
        assert (projected.operations < recursive.operations) is wins
    inverse = fb.robots.pbt_chain(6, seed=0).inverse_mass_matrix
    recursive, projected = programs(inverse, ("q",))
    assert inverse.program().operations == projected.operations < 0.75 * recursive.operations


def test_steps_of_rollouts_use_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """The stage of a Runge-Kutta step with fewer operations than with C-ABA, and the same result."""
    robot = fb.robots.pbt_chain(6, seed=0)
    followed, law = runge_kutta_step.Followed(robot, robot), runge_kutta_step.ForceLaw(passive=True)

    def stage() -> Program:
        recording = StageRecording(followed, law, packed=True)
        return recording.write(tuple(x.name for x in recording.arguments))

    projected = stage()
    monkeypatch.setattr(runge_kutta_step, "cheapest_solver", lambda model: dynamics.recursive_solver)
    recursive = stage()
    assert projected.operations < 0.95 * recursive.operations
    rng = np.random.default_rng(0)
    given = {x.name: 0.3 * rng.normal(size=(3, *x.shape)) for x in projected.inputs}
    near(interpret(projected, given)["next"], interpret(recursive, given)["next"], 1e-12)


def test_large_robots_do_not_try() -> None:
    for name in ("mit_humanoid", "mini_cheetah"):
        model = getattr(fb.robots, name)().model
        assert not projection.may_win_for_matrices(model)
    arm = fb.Builder("arm")
    for i in range(7):
        arm.body(f"link{i}", parent=f"link{i - 1}" if i else "world", joint=Revolute("xyz"[i % 3]), mass=1.0,
                 position=(0.1, 0.0, 0.3), inertia=(0.1, 0.1, 0.1))  # fmt: skip
    model = arm.build().model
    assert projection.may_win_for_matrices(model) and not projection.may_win_for_vectors(model)


def test_robots_with_singular_places_of_their_own_do_not_try() -> None:
    """Gimbal lock, and joints that move no inertia, are noticed by the recursive algorithms alone."""
    gimbal = fb.Builder("gimbal").body("ball", joint=SphericalEuler("xyz"), mass=1.0, inertia=(0.1, 0.1, 0.1)).build()
    assert not projection.may_win_for_matrices(gimbal.model)
    point = fb.Builder("pendulum").body("bob", joint=Revolute("y"), mass=1.0, com=(0.0, 0.0, -1.0)).build()
    assert not projection.may_win_for_matrices(point.model)


def _derivative_along(robot: fb.System, q: Any, v: Any, tau: Any, dq: np.ndarray) -> np.ndarray:
    step = 1e-6
    ahead, behind = (robot.forward_dynamics(robot.integrate(q, dq, h), v, tau) for h in (step, -step))
    return (ahead - behind) / (2 * step)


def test_derivatives_where_projection_is_kept() -> None:
    robot = fb.robots.pbt_chain(4, seed=0)
    rng = np.random.default_rng(0)
    q = robot.random(rng)
    v, tau, dq, w = rng.normal(size=(4, robot.nv))
    expected = _derivative_along(robot, q, v, tau, dq)
    size = np.abs(expected).max()
    function = robot.forward_dynamics
    assert np.abs(function.jvp((q, v, tau), (dq, 0.0 * v, 0.0 * tau)) - expected).max() < 1e-7 * size
    assert np.abs(function.jacobian(q, v, tau).q @ dq - expected).max() < 1e-7 * size
    assert abs(function.vjp((q, v, tau), w).q @ dq - w @ expected) < 1e-7 * size


def test_batches_mark_the_same_samples() -> None:
    """Where projection is kept, a quaternion of zeros and NaN spoil their own samples, as in the recursive program."""
    robot, s = mechanism("moored"), state("moored")
    recursive, projected = programs(robot.forward_dynamics, ("q", "v", "tau"))
    assert robot.forward_dynamics.program().operations == projected.operations < recursive.operations
    q = s.q.copy()
    q[1, 0] = np.nan
    q[2, 3:7] = 0.0
    with pytest.warns(RuntimeWarning, match="quaternion"):
        a = robot.forward_dynamics(q, s.v, s.tau)
    lost = np.isnan(interpret(recursive, {"q": q, "v": s.v, "tau": s.tau})["a"]).any(-1)
    assert np.array_equal(np.isnan(a).all(-1), lost) and lost.tolist() == [i in (1, 2) for i in range(len(q))]


def test_toggle_positions_are_still_refused() -> None:
    robot = fb.robots.parallelogram()
    at = {"q": np.zeros((1, 3)), "v": np.zeros((1, 1)), "tau": np.ones((1, 1))}
    assert all(np.isnan(interpret(p, at)["a"]).all() for p in programs(robot.forward_dynamics, ("q", "v", "tau")))
    with pytest.raises(fb.SingularError, match="toggle position"):
        robot.forward_dynamics([0.0, 0.0, 0.0], [0.0], [1.0])
    with pytest.raises(fb.SingularError, match="toggle position"):
        robot.inverse_mass_matrix([0.0, 0.0, 0.0])
