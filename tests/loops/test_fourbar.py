"""The four-bar linkage: closed forms, its two assemblies, dead points, long simulations."""

from __future__ import annotations

import itertools
import warnings

import mpmath
import numpy as np
import pytest

import fourbar as fb
from fourbar import Builder, SingularError, System
from fourbar.joints import Prismatic, Revolute
from fourbar.loops import Closure

from .looped import bars, mechanism, near, rod

pytestmark = pytest.mark.drawn_in_line

LENGTHS = (1.0, 0.4, 0.9, 0.7)  # those of mechanism("four_bar"): its crank can turn all the way
CRANK = np.array([-2.5, -1.0, 0.3, 1.2, 2.9])


def linkage(lengths: tuple[float, float, float, float], **options: object) -> System:
    b = Builder("linkage", gravity=(0, -9.81, 0))
    return b.loop(bars(b, "", lengths), name="loop", **options).build()


def closed(angle: float, side: int, lengths: tuple[float, ...] = LENGTHS) -> tuple[float, float, float]:
    """All joint angles for a crank angle, by intersecting circles; `side` is the assembly."""
    ground, crank, coupler, rocker = map(mpmath.mpf, lengths)
    tip = crank * mpmath.expj(angle)
    reach = ground - tip
    away = mpmath.acos((coupler**2 + abs(reach) ** 2 - rocker**2) / (2 * coupler * abs(reach)))
    absolute = mpmath.arg(reach) + side * away
    pin = tip + coupler * mpmath.expj(absolute)
    return angle, absolute - angle, mpmath.arg(pin - ground)


def exact_acceleration(angle: float, speed: float, side: int) -> float:
    """-(½ m' θ̇² + V') / m with kinetic energy ½ m(θ) θ̇² and potential V(θ), in 40 digits."""

    def middles(x: mpmath.mpf) -> list[tuple[mpmath.mpc, mpmath.mpf]]:
        """Centre and direction of every rod."""
        first, second, third = closed(x, side)
        tip = LENGTHS[1] * mpmath.expj(first)
        return [
            (tip / 2, first),
            (tip + LENGTHS[2] / mpmath.mpf(2) * mpmath.expj(first + second), first + second),
            (LENGTHS[0] + LENGTHS[3] / mpmath.mpf(2) * mpmath.expj(third), third),
        ]

    def inertia(x: mpmath.mpf) -> mpmath.mpf:
        total = mpmath.mpf(0)
        for i, length in enumerate(LENGTHS[1:]):
            way = mpmath.diff(lambda y, i=i: middles(y)[i][0], x)
            turn = mpmath.diff(lambda y, i=i: middles(y)[i][1], x)
            total += abs(way) ** 2 + mpmath.mpf(length) ** 2 / 12 * turn**2
        return total

    with mpmath.workdps(40):
        x = mpmath.mpf(angle)
        weight = mpmath.mpf("9.81") * mpmath.diff(lambda y: sum(c.imag for c, _ in middles(y)), x)
        bend = mpmath.diff(inertia, x) / 2 * mpmath.mpf(speed) ** 2
        return float(-(bend + weight) / inertia(x))


def configurations(side: int) -> np.ndarray:
    return np.array([[float(x) for x in closed(angle, side)] for angle in CRANK])


@pytest.mark.quick
def test_parallelogram() -> None:
    """Three uniform rods of mass 1 on a parallelogram: -g cos θ (2/2 + 1) / ((2/3 + 1) L)."""
    robot = linkage((1.0, 0.5, 1.0, 0.5), independent=["crank"])
    q = np.array([1.0, -1.0, 1.0])
    assert robot.loop_gap(q) < 1e-15
    a = robot.forward_dynamics(q, np.array([1.0]), np.array([0.0]))
    assert a[0] == pytest.approx(-12.720877489359486, rel=1e-13)
    assert a[0] == pytest.approx(-9.81 * np.cos(1.0) * 2 / ((2 / 3 + 1) * 0.5), rel=1e-13)
    near(robot.loop_map(q)[None], np.array([[[1.0], [-1.0], [1.0]]]), 1e-15)


@pytest.mark.parametrize("side", [1, -1])
def test_closed_form(side: int) -> None:
    robot, q = mechanism("four_bar"), configurations(side)
    speed = np.array([0.0, 1.0, -2.0, 3.0, 0.5])
    assert robot.loop_gap(q).max() < 1e-15
    a = robot.forward_dynamics(q, speed[:, None], np.zeros((5, 1)))
    expected = [exact_acceleration(*pair, side) for pair in zip(CRANK, speed, strict=True)]
    near(a[:, 0], np.array(expected), 1e-13)


def test_two_assemblies() -> None:
    """A guess on either side finds its own assembly; they move differently."""
    robot = mechanism("four_bar")
    sides = [configurations(side) for side in (1, -1)]
    found = [robot.assemble(q + 0.05, keep=["crank"]) for q in sides]
    for q, again in zip(sides, found, strict=True):
        exact = robot.assemble(np.concatenate([q[:, :1] + 0.05, q[:, 1:]], axis=-1), keep=["crank"])
        near(again, exact, 1e-12)
    a = [robot.forward_dynamics(q, np.ones((5, 1)), np.zeros((5, 1))) for q in sides]
    assert np.abs(a[0] - a[1]).min() > 1e-2


@pytest.mark.parametrize("side", [1, -1])
def test_a_full_turn_keeps_the_assembly(side: int) -> None:
    robot, steps = mechanism("four_bar"), 120
    start = q = configurations(side)[0]
    for _ in range(steps):
        q = robot.integrate(q, np.array([2 * np.pi]), 1.0 / steps)
        exact = np.array([float(x) for x in closed(q[0], side)])
        assert np.abs(np.angle(np.exp(1j * (q - exact)))).max() < 1e-12
    assert q[0] == pytest.approx(start[0] + 2 * np.pi, abs=1e-12)
    assert robot.loop_gap(q) < 1e-15


def test_every_spanning_tree_is_the_same_mechanism() -> None:
    """The loop cut at another joint, closed by other joints or by a weld: the crank moves the same."""
    ground, crank, coupler, rocker = LENGTHS
    robots = [mechanism("four_bar")]
    for last in (Revolute("z"), None):
        b = Builder("chain", gravity=(0, -9.81, 0))
        rod(b, "crank", crank)
        rod(b, "coupler", coupler, parent="crank", position=(crank, 0, 0))
        rod(b, "rocker", rocker, parent="coupler", position=(coupler, 0, 0))
        home, at = ("world", (ground, 0, 0)) if last else ("pin", (0, 0, 0))
        if last is None:
            b.body("pin", joint=Revolute("z"), position=(ground, 0, 0))
        joint = last or fb.joints.Fixed()
        b.loop(Closure(joint, "rocker", home, at_predecessor=(rocker, 0, 0), at_successor=at), independent=["crank"])
        robots.append(b.build())
    rng = np.random.default_rng(0)
    q = configurations(1)
    v, tau = rng.normal(size=(2, 5, 1))
    a = robots[0].forward_dynamics(q, v, tau)
    turned = np.pi + q[:, 2:] - q[:, :1] - q[:, 1:2]
    chain = np.concatenate([q[:, :2], turned], axis=-1)
    near(robots[1].forward_dynamics(chain, v, tau), a, 1e-12)
    pinned = np.concatenate([chain, q[:, 2:] + np.pi], axis=-1)
    assert robots[2].loop_gap(pinned).max() < 1e-14
    near(robots[2].forward_dynamics(pinned, v, tau), a, 1e-12)


def dead_point() -> np.ndarray:
    """Crank and coupler in line: here the rocker does not tell where the crank goes."""
    ground, crank, coupler, rocker = LENGTHS
    angle = np.arccos((ground**2 + (crank + coupler) ** 2 - rocker**2) / (2 * ground * (crank + coupler)))
    pin = (crank + coupler) * np.exp(1j * angle) - ground
    return np.array([angle, 0.0, np.angle(pin)])


def test_dead_point_is_named() -> None:
    """One sample: an error with the loop's name and what to do."""
    robot, q = mechanism("four_bar").with_independent("rocker"), dead_point()
    assert robot.loop_gap(q) < 1e-15
    with pytest.raises(SingularError, match=r"loop 'loop' is at a toggle position.*with_independent"):
        robot.forward_dynamics(q, np.zeros(1), np.zeros(1))


@pytest.mark.parametrize("method", ["forward_dynamics", "inverse_dynamics"])
def test_dead_point_in_a_batch(method: str) -> None:
    """Only that sample is NaN; the others are what they are without it."""
    robot, q = mechanism("four_bar").with_independent("rocker"), configurations(1)
    alone = getattr(robot, method)(q, np.ones((5, 1)), np.ones((5, 1)))
    q[2] = dead_point()
    with pytest.warns(RuntimeWarning, match="'loop' is at a toggle position"):
        a = getattr(robot, method)(q, np.ones((5, 1)), np.ones((5, 1)))
    assert np.array_equal(np.isnan(a[:, 0]), [False, False, True, False, False])
    assert np.array_equal(np.delete(a, 2), np.delete(alone, 2))


def test_other_independent_velocity_at_the_dead_point() -> None:
    """With the crank as independent velocity nothing happens there."""
    robot, q = mechanism("four_bar"), dead_point()
    near(robot.loop_map(q)[None, 2], np.zeros((1, 1)), 1e-15, 1.0)
    a = robot.forward_dynamics(q, np.ones(1), np.zeros(1))
    beside = [robot.forward_dynamics(robot.integrate(q, np.ones(1), t), np.ones(1), np.zeros(1)) for t in (1e-6, -1e-6)]
    assert a[0] == pytest.approx(np.mean(beside), rel=1e-9)


def test_near_the_dead_point_the_answer_is_still_good() -> None:
    """Accuracy is lost in proportion to how near it is, and no more: the rocker's equation against the crank's."""
    by_crank, by_rocker = mechanism("four_bar"), mechanism("four_bar").with_independent("rocker")
    for away in (1e-2, 1e-4, 1e-6):
        q = by_crank.assemble(dead_point() + np.array([away, 0, 0]), keep=["crank"])
        G = by_crank.loop_map(q)[2, 0]
        a = by_crank.forward_dynamics(q, np.array([0.1]), np.zeros(1))
        expected = by_crank.expand_acceleration(q, np.array([0.1]), a)[2]
        found = by_rocker.forward_dynamics(q, np.array([0.1 * G]), np.zeros(1))[0]
        assert abs(found - expected) < 1e-13 / away**2 * abs(expected) + 1e-12


def test_same_physics_for_all_independent_velocities() -> None:
    """The choice changes coordinates only: all joints accelerate alike under the same motor."""
    robot, q, rng = mechanism("four_bar"), configurations(1), np.random.default_rng(2)
    v, tau = rng.normal(size=(2, 5, 1))
    every = robot.expand_acceleration(q, v, robot.forward_dynamics(q, v, tau))
    for choice, column in (("rocker", 2), ("coupler", 1), (("coupler", 3.0), 1)):
        other = robot.with_independent(choice)
        G = other.loop_map(q)
        speed = v * robot.loop_map(q)[:, column] / G[:, column]
        force = tau * G[:, 0]
        a = other.forward_dynamics(q, speed, force)
        near(other.expand_velocity(q, speed), robot.expand_velocity(q, v), 1e-12)
        near(other.expand_acceleration(q, speed, a), every, 1e-10)


def test_flat_parallelogram_is_singular_whatever_is_independent() -> None:
    """Two assemblies meet where the bars lie on one line: the loop itself loses a row, also half a turn on."""
    robot = linkage((1.0, 0.5, 1.0, 0.5), independent=["crank"])
    for q in (np.zeros(3), np.array([np.pi, -np.pi, np.pi])):
        for choice in ("crank", "coupler", "rocker"):
            with pytest.raises(SingularError, match="toggle position"):
                robot.with_independent(choice).forward_dynamics(q, np.ones(1), np.ones(1))


def test_right_angles_are_no_toggle_positions() -> None:
    """Elimination exchanges rows: a vanishing pivot of a sound matrix does no harm."""
    b = Builder("five_bar", gravity=(0, -9.81, 0))
    lengths, parent = (1.0, 1.0, 2.0, 1.0, 1.0), "world"
    for i, length in enumerate(lengths):
        rod(b, f"bar{i}", length, parent=parent, position=(lengths[i - 1] if i else 0, 0, 0))
        parent = f"bar{i}"
    fixed = {"at_predecessor": (1.0, 0, 0), "at_successor": (2.0, 0, 0)}
    robot = b.loop(Closure(fb.joints.Fixed(), parent, "world", **fixed), independent=["bar0", "bar3"]).build()
    tie = robot.model.cluster_tree.clusters[0].embedding
    q = np.array(list(itertools.product((-np.pi / 2, 0.0, np.pi / 2, np.pi), repeat=5)))
    K = tie.slopes(q)[:, tie.rows]
    K_d, K_i = K[..., tie.dependent], K[..., [j for j, _ in tie.independent]]
    sound = (robot.loop_gap(q) < 1e-12) & (np.linalg.cond(K_d) < 100.0)
    assert sound.sum() > 5
    near(robot.loop_map(q[sound])[:, tie.dependent], -np.linalg.solve(K_d[sound], K_i[sound]), 1e-14)


def test_slider_crank_by_its_slider() -> None:
    """A closure by a prismatic joint, and its dead centre: batch and other independent velocity."""
    b = Builder("engine", gravity=(0, -9.81, 0))
    rod(b, "crank", 0.3)
    rod(b, "link", 0.8, parent="crank", position=(0.3, 0, 0))
    b.body("piston", mass=0.5, inertia=(1e-3, 1e-3, 1e-3), parent="link", joint=Revolute("z"), position=(0.8, 0, 0))
    robot = b.loop(Closure(Prismatic("x"), "world", "piston"), name="bore", independent=["crank"]).build()
    assert robot.nv == 1
    q = robot.assemble([0.0, 0.1, -0.1], keep=["crank"])
    near(q[None], np.zeros((1, 3)), 1e-12, 1.0)
    x = [robot.pose(robot.integrate(q, np.ones(1), t), "piston")[0, 3] for t in np.linspace(0, 1, 9)]
    t = np.linspace(0, 1, 9)
    near(np.array(x), 0.3 * np.cos(t) + np.sqrt(0.64 - 0.09 * np.sin(t) ** 2), 1e-14)
    assert np.isfinite(robot.forward_dynamics(q, np.ones(1), np.ones(1))).all()


def _drift(robot: System, q: np.ndarray, v: np.ndarray, steps: int, dt: float) -> tuple[float, float]:
    """Largest change of energy relative to its kinetic part, and largest gap."""
    t = fb.simulate(robot, q, v, duration=steps * dt, dt=dt, every=50)
    kinetic = robot.kinetic_energy(t.q, t.v)
    energy = kinetic + robot.potential_energy(t.q)
    return float(np.abs(energy - energy[0]).max() / kinetic.max()), float(robot.loop_gap(t.q).max())


def test_energy_is_conserved() -> None:
    drift, gap = _drift(mechanism("four_bar"), configurations(1)[1], np.array([4.0]), 2_000, 1e-3)
    assert drift < 1e-9 and gap < 1e-14


@pytest.mark.slow
def test_energy_is_conserved_for_long() -> None:
    """10⁵ steps."""
    drift, gap = _drift(mechanism("four_bar"), configurations(1)[1], np.array([4.0]), 100_000, 1e-3)
    assert drift < 1e-8 and gap < 1e-14


def test_nothing_warns_in_a_regular_simulation() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fb.simulate(mechanism("four_bar"), configurations(1)[:2], np.ones((2, 1)), duration=0.1, dt=1e-3)
