"""The operational-space inertia: inverse of J M⁻¹ Jᵀ, and what is said where there is none."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fourbar as fb
from fourbar import ArgumentError, Builder, SingularError, System
from fourbar.expr import interpret
from fourbar.joints import Free, Revolute, Spherical

from .looped import mechanism, near, shaped, state

CASES = {
    "explicit": (["tool"], []),
    "geared": (["tip"], ["pinion"]),
    "tripod": (["platform"], []),
    "moored": ([], ["fore", "fin"]),
    "chained": ([], ["hand"]),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("axes", ["world", "frame"])
def test_inverse_of_what_the_jacobians_say(name: str, axes: str) -> None:
    """Λ = (J M⁻¹ Jᵀ)⁻¹ by dense algebra, symmetric to the last bit."""
    robot, q = mechanism(name), state(name).q
    frames, points = CASES[name]
    J = np.concatenate(
        [robot.jacobian(q, x, expressed_in=axes) for x in frames]
        + [robot.jacobian(q, x, expressed_in=axes)[:, 3:] for x in points],
        axis=1,
    )
    omega = J @ np.linalg.solve(robot.mass_matrix(q), np.swapaxes(J, 1, 2))
    size = np.sqrt(np.diagonal(omega, axis1=1, axis2=2))
    condition = np.linalg.cond(omega / size[:, :, None] / size[:, None, :])
    found = robot.osim(q, frames=frames, points=points, expressed_in=axes)
    assert np.array_equal(found, np.swapaxes(found, 1, 2))
    near(found @ omega, np.broadcast_to(np.eye(omega.shape[-1]), omega.shape), 1.0, 1e-13 * condition * 100)
    near(found, np.linalg.inv(omega), 1.0, 1e-13 * condition * np.abs(found).max(axis=(1, 2)))


def test_of_a_free_body_is_its_own_inertia() -> None:
    b = Builder("stone", gravity=(0, 0, 0))
    b.body("stone", joint=Free(), mass=2.0, inertia=(0.1, 0.2, 0.3))
    q = b.build().random(0)
    near(
        b.build().osim(q, frames=["stone"], expressed_in="frame")[None],
        np.diag([0.1, 0.2, 0.3, 2.0, 2.0, 2.0])[None],
        1e-14,
    )


def _arm() -> System:
    """A shoulder with three axes and an elbow: at a stretched arm the hand cannot move along it."""
    b = Builder("arm")
    shaped(b, "upper", 1, joint=Spherical())
    shaped(b, "fore", 2, parent="upper", joint=Revolute("y"), position=(0, 0, -0.4))
    b.frame("hand", "fore", position=(0, 0, -0.3))
    return b.build()


def test_stretched_arm_has_none() -> None:
    """One sample: an error that says why; in a batch NaN there, and the others as they are alone."""
    robot = _arm()
    q = np.tile([1.0, 0.0, 0.0, 0.0, 0.5], (4, 1))
    q[:, 4] = 0.5, 0.0, 1.0, np.pi
    with pytest.raises(SingularError, match=r"frames cannot be moved independently in all their rows.*osim_inverse"):
        robot.osim(q[1], points=["hand"])
    with pytest.warns(RuntimeWarning, match="in some samples the frames cannot be moved independently"):
        found = robot.osim(q, points=["hand"])
    assert np.isnan(found).all(axis=(1, 2)).tolist() == [False, True, False, True]
    assert np.array_equal(found[0], robot.osim(q[0], points=["hand"]))
    near(found[[0, 2]] @ robot.osim_inverse(q[[0, 2]], points=["hand"]), np.tile(np.eye(3), (2, 1, 1)), 1e-12)


@pytest.mark.parametrize("bend", [1e-1, 1e-2, 1e-3, 1e-4])
def test_near_it_digits_are_lost_in_proportion(bend: float) -> None:
    robot, q = _arm(), np.array([1.0, 0.0, 0.0, 0.0, bend])
    omega = robot.osim_inverse(q, points=["hand"])
    near((robot.osim(q, points=["hand"]) @ omega)[None], np.eye(3)[None], 1e-15 / bend**2 + 1e-14)


def test_a_plane_never_has_a_third_direction() -> None:
    """Zero in every configuration: found when it is traced, told when it is called."""
    b = Builder("planar")
    for i, parent in enumerate(("world", "link0", "link1", "link2")):
        b.body(
            f"link{i}", parent=parent, joint=Revolute("z"), position=(0.5 if i else 0, 0, 0), mass=1.0,
            com=(0.25, 0, 0), inertia=(0.01, 0.01, 0.01),
        )  # fmt: skip
    with pytest.raises(SingularError, match="the frames cannot be moved independently"):
        b.build().osim([0.1, 0.2, 0.3, 0.4], points=["link3"])


def test_more_rows_than_velocities() -> None:
    with pytest.raises(ArgumentError, match="osim: the frames and points have 6 rows but the robot only 2 independent"):
        fb.robots.double_pendulum().osim([0.1, 0.2], frames=["tip"])
    with pytest.raises(ArgumentError, match="at least one name in frames= or points="):
        fb.robots.double_pendulum().osim([0.1, 0.2])


def test_toggle_position_comes_first() -> None:
    with pytest.raises(SingularError, match="loop 'closing' is at a toggle position"):
        fb.robots.parallelogram().mass_matrix([0.0, 0.0, 0.0])


def _programs(robot: System, count: int = 3, **ends: list[str]) -> list[Any]:
    """The programs of PV-OSIMr, of C-EFPA and of projection, or the first of them."""
    recording = robot.osim_inverse.specialise(**ends).state[0].recording
    algorithms = (recording.method.record, *(rival.record for rival in recording.method.rivals))
    return [recording.record_algorithm(x, recording.select_arguments(("q",))) for x in algorithms[:count]]


@pytest.mark.parametrize("name", ["chained", "tripod", "geared", "moored", "coupled", "explicit", "nested"])
def test_inward_and_outward_algorithms_agree(name: str) -> None:
    """PV-OSIMr, C-EFPA and projection, for all bodies at once: rows replaced by unit wrenches several times over."""
    robot, q = mechanism(name), state(name).q
    bodies = list(robot.names.bodies)
    programs = _programs(robot, frames=bodies, points=bodies)
    inward, outward, projected = (interpret(p, {"q": q})["Omega"] for p in programs)
    near(inward, outward, 1e-11)
    near(projected, outward, 1e-11)
    assert np.array_equal(inward, np.swapaxes(inward, 1, 2))


def test_the_algorithm_with_fewer_operations_is_kept() -> None:
    """Of a long chain PV-OSIMr, of a point three times on a small linkage C-EFPA; neither tries projection."""
    chain, linkage = fb.robots.gt_chain(6), fb.robots.five_bar()
    chosen = []
    for robot, points in ((chain, list(chain.names.bodies[-5:])), (linkage, ["right_forearm"] * 3)):
        counts = [program.operations for program in _programs(robot, 2, points=points)]
        assert robot.osim_inverse.specialise(points=points).program().operations == min(counts)
        chosen.append(counts.index(min(counts)))
    assert chosen == [0, 1]


def _chain(n: int) -> System:
    b = Builder("chain")
    for k in range(n):
        b.body(f"b{k}", parent=f"b{k - 1}" if k else "world", joint=Revolute("xyz"[k % 3]), mass=1.0,
               inertia=(0.1, 0.2, 0.25), com=(0.1, 0.02, 0.03), position=(0.3, 0.1, 0.05))  # fmt: skip
    return b.build()


def test_chains_may_be_longer_than_python_recurses() -> None:
    robot = _chain(300)
    q = robot.random(0)
    J = robot.jacobian(q, "b299")
    expected = J @ np.linalg.solve(robot.mass_matrix(q), J.T)
    for program in _programs(robot, 2, frames=["b299"]):
        near(interpret(program, {"q": q[None]})["Omega"], expected[None], 1e-10)


def test_operations_grow_with_the_square_of_the_rows() -> None:
    """O(n + m²): with points on every second link of a chain, the growth of the growth is constant."""

    def count(n: int) -> int:
        return _programs(_chain(n), 1, points=[f"b{k}" for k in range(1, n, 2)])[0].operations

    counts = [count(n) for n in (16, 28, 40, 52)]
    second = np.diff(counts, 2)
    assert abs(second[1] / second[0] - 1) < 0.1
