"""Loops that pass folds, where two branches of closed configurations cross: energy stays, for any size of the robot.

Without gravity a parallelogram turns at a constant speed, whatever the fold. Before branches were followed, a step that
ended next to a fold changed the energy by as much as half.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import fourbar as fb
from fourbar.joints import Prismatic, Revolute
from fourbar.loops import Closure
from fourbar.robots.robot_data import rod
from fourbar.sim.loops.folds import FoldBranch, Folds, LoopFolds
from fourbar.sim.loops.varied_loops import expand_velocity

pytestmark = pytest.mark.drawn_in_line

PARALLELOGRAM, CHANGE_POINT, KITE = (1.0, 0.5, 1.0, 0.5), (1.0, 0.4, 0.9, 0.5), (0.8, 0.3, 0.3, 0.8)


def linkage(lengths: tuple[float, ...], size: float = 1.0, gravity: tuple[float, ...] = (0, 0, 0)) -> fb.System:
    """A four-bar of slender rods: ground, crank, coupler, rocker."""
    ground, crank, coupler, rocker = (size * x for x in lengths)
    b = fb.Builder("linkage", gravity=tuple(size * x for x in gravity))
    b.body("crank", joint=Revolute("z"), **rod(0.4, (crank, 0, 0)))
    b.body("coupler", parent="crank", joint=Revolute("z"), position=(crank, 0, 0), **rod(0.9, (coupler, 0, 0)))
    b.body("rocker", joint=Revolute("z"), position=(ground, 0, 0), **rod(0.7, (rocker, 0, 0)))
    pin = Closure(Revolute("z"), "coupler", "rocker", at_predecessor=(coupler, 0, 0), at_successor=(rocker, 0, 0))
    return b.loop(pin, name="pin", independent=["crank"]).build()


def isosceles(size: float = 1.0) -> fb.System:
    """A slider-crank with a rod as long as the crank: where both are upright, the slide may stay where it is."""
    arm = 0.2 * size
    b = fb.Builder("isosceles", gravity=(0, 0, 0))
    b.body("crank", joint=Revolute("z"), **rod(0.6, (arm, 0, 0)))
    b.body("rod", parent="crank", joint=Revolute("z"), position=(arm, 0, 0), **rod(0.4, (arm, 0, 0)))
    b.body("piston", joint=Prismatic("x"), position=(2.0 * arm, 0, 0), mass=0.5, inertia=(3e-4 * size**2,) * 3)
    b.loop(Closure(Revolute("z"), "rod", "piston", at_predecessor=(arm, 0, 0)), name="pin", independent=["crank"])
    return b.build()


CASES = {
    "parallelogram": (PARALLELOGRAM, (0.8, -0.8, 0.8), 3.0, 1e-8),
    "change point": (CHANGE_POINT, (0.8, -0.5, 1.4), 3.0, 1e-7),
    "kite": (KITE, (1.3, 1.0, 2.0), 3.0, 1e-8),
    "isosceles": (None, (1.0, -2.0, 0.0), 3.0, 1e-6),
}


def energy_error(name: str, size: float, steps: int) -> float:
    """The largest change of energy, relative to that at the start."""
    lengths, guess, speed, _ = CASES[name]
    robot = isosceles(size) if lengths is None else linkage(lengths, size)
    q = robot.assemble(guess, keep=["crank"])
    run = fb.rollout(robot, q, [speed], dt=1e-3, steps=steps, every=100)
    assert not run.diverged and np.abs(run.q[-1, 0]) > 2.0 * np.pi
    energy = robot.kinetic_energy(run.q, run.v)
    return float(np.abs(energy / energy[0] - 1.0).max())


@pytest.mark.parametrize("size", [1e-3, 1.0, 100.0])
@pytest.mark.parametrize("name", CASES)
def test_energy_stays_where_folds_are_passed(name: str, size: float) -> None:
    assert energy_error(name, size, 20_000) < CASES[name][3]


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_energy_stays_in_a_million_steps(name: str) -> None:
    assert energy_error(name, 1.0, 10**6) < 10.0 * CASES[name][3]


def test_a_step_that_ends_next_to_a_fold_is_as_good_as_any() -> None:
    """A parallelogram that comes to 1e-8 rad of its fold after 1000 steps, in machine code and with a Python torque."""
    robot = linkage(PARALLELOGRAM)
    q = robot.assemble([np.pi - 3.0 + 1e-8, 3.0 - np.pi, np.pi - 3.0], keep=["crank"])
    run = fb.rollout(robot, q, [3.0], dt=1e-3, steps=2000)
    assert np.abs(run.v - 3.0).max() < 1e-9 and np.abs(run.q[:, 2] - run.q[:, 0]).max() < 1e-9
    asked = fb.simulate(robot, q, [3.0], duration=2.0, period=0, tau=lambda t, q, v: 0.0 * v)
    assert np.abs(asked.v - 3.0).max() < 1e-9


def test_a_parallelogram_swings_about_its_fold() -> None:
    """Gravity along the ground: the fold is where it hangs at rest, and small swings keep their energy."""
    robot = linkage(PARALLELOGRAM, gravity=(9.81, 0, 0))
    q = robot.assemble([0.01, -0.01, 0.01], keep=["crank"])
    run = fb.rollout(robot, q, [0.1], dt=1e-3, steps=20_000)
    energy = robot.kinetic_energy(run.q, run.v) + robot.potential_energy(run.q)
    far = np.abs(run.q[:, 0]) > 1e-4  # nearer, q does not determine the energy well
    assert np.ptp(energy[far]) < 1e-7 * robot.kinetic_energy(q, [0.1])
    assert (np.diff(np.sign(run.q[:, 0])) != 0).sum() > 10


def test_a_motion_past_folds_has_the_same_bits_in_any_company() -> None:
    speeds = np.linspace(1.0, 9.0, 7)[:, None]
    robot = linkage(CHANGE_POINT)
    q = robot.assemble([0.8, -0.5, 1.4], keep=["crank"])
    whole = fb.rollout(robot, np.tile(q, (7, 1)), speeds, dt=1e-3, steps=4000, every=400)
    for i in (6, 0, 3):
        fresh = linkage(CHANGE_POINT)  # which has met no fold yet
        alone = fb.rollout(fresh, q, speeds[i], dt=1e-3, steps=4000, every=100)
        assert np.array_equal(alone.q[::4], whole.q[:, i]) and np.array_equal(alone.v[::4], whole.v[:, i])


def bend(branch: FoldBranch, x: float) -> np.ndarray:
    """The second derivatives of the dependent coordinates by x."""
    s, k = (x - branch.centre) / branch.radius, np.arange(2, branch.coefficients.shape[1])
    return branch.coefficients[:, 2:] @ (k * (k - 1) * s ** (k - 2)) / branch.radius**2


DISTANCES = 10.0 ** -np.arange(1.5, 10.0, 0.5)


def known_branch(name: str, size: float) -> tuple[fb.System, LoopFolds, FoldBranch, float]:
    """A linkage that has passed a fold, the branch on which it did, and where on this the fold is."""
    lengths, guess, speed, _ = CASES[name]
    robot = isosceles(size) if lengths is None else linkage(lengths, size)
    fb.rollout(robot, robot.assemble(guess, keep=["crank"]), [speed], dt=1e-3, steps=3000)
    ((loop, *_),) = Folds.of(robot).loops
    branch = loop.known[0]
    x = branch.centre + branch.radius * np.linspace(-0.9, 0.9, 41)
    fit = np.polynomial.Polynomial.fit(x, [loop._determinant(loop._at(branch, y)) for y in x], 7)
    (fold,) = [z.real for z in fit.roots() if abs(z.imag) < 1e-9 and abs(z.real - branch.centre) < branch.radius]
    return robot, loop, branch, fold


@pytest.mark.parametrize("size", [1e-3, 1.0, 100.0])
@pytest.mark.parametrize("name", CASES)
def test_states_near_a_fold_are_computed_well_or_refused(name: str, size: float) -> None:
    """The branch says what is right. Configurations are those of the branch, and such as loops are closed in."""
    robot, loop, branch, fold = known_branch(name, size)
    refused = {"velocity": 0.0, "acceleration": 0.0}
    for x in (fold + way * away * 1.07**k for away in DISTANCES for way in (-1.0, 1.0) for k in range(3)):
        exact = loop._at(branch, x)
        closed = loop._close(exact + (np.arange(3) != loop.i) * loop.tie.units.guesses * 1e-3 * (x - fold))
        for q in (exact, closed):
            results = {
                "velocity": (lambda q=q: robot.expand_velocity(q, [1.0]), branch.slope(x)),
                "acceleration": (lambda q=q: robot.expand_acceleration(q, [1.0], [0.0]), bend(branch, x)),
            }
            for kind, (function, expected) in results.items():
                try:
                    error = np.abs((function()[loop.d] - expected) / loop.units).max()
                    assert error < 3e-3 * max(1.0, np.abs(expected / loop.units).max())
                except fb.SingularError as said:
                    refused[kind] = max(refused[kind], abs(x - fold))
                    assert "(a fold)" in str(said) and "'pin'" in str(said)
    assert 1e-8 < refused["velocity"] < 2e-6 and 1e-5 < refused["acceleration"] < 4e-4


@pytest.mark.parametrize("method", ["mass_matrix", "inverse_dynamics", "forward_dynamics", "coriolis_matrix"])
def test_in_a_batch_states_near_a_fold_are_marked(method: str) -> None:
    robot = linkage(PARALLELOGRAM)
    q = np.outer([0.3, 1e-7, 1e-3, 1e-9, -1e-8], [1.0, -1.0, 1.0])
    function = getattr(robot, method)
    more = [np.ones((5, 1))] * (len(function.state[0].recording.required_names) - 1)
    with pytest.warns(RuntimeWarning, match=r"in some samples loop 'pin'.*\(a fold\).*these are NaN"):
        found = function(q, *more).reshape(5)
    assert np.isnan(found).tolist() == [False, True, False, True, True]
    assert np.array_equal(found[[0, 2]], function(q[[0, 2]], *(x[[0, 2]] for x in more)).reshape(2))
    derivative = function.jacobian
    with pytest.raises(fb.SingularError, match=r"\(a fold\)"):
        derivative(q[1], *(x[1] for x in more))


def test_loops_side_by_side_are_refused_too() -> None:
    """Two loops that share only the crank: the first is at its fold, the rows of the second are sound."""
    b = fb.Builder("two", gravity=(0, 0, 0))
    b.body("crank", joint=Revolute("z"), **rod(0.4, (0.5, 0, 0)))
    for k, (coupler, rocker, ground) in enumerate(((1.0, 0.5, 1.0), (0.8, 0.7, 0.9))):
        b.body(f"coupler{k}", parent="crank", joint=Revolute("z"), position=(0.5, 0, 0), **rod(0.9, (coupler, 0, 0)))
        b.body(f"rocker{k}", joint=Revolute("z"), position=(ground, 0, 0), **rod(0.7, (rocker, 0, 0)))
        pin = Closure(
            Revolute("z"), f"coupler{k}", f"rocker{k}", at_predecessor=(coupler, 0, 0), at_successor=(rocker, 0, 0)
        )
        b.loop(pin, name=f"pin{k}", independent=["crank"] if k == 0 else [])
    robot = b.build()
    assert robot.nv == 1
    for x, is_fine in ((0.3, True), (1e-7, False), (1e-9, False)):
        q = robot.assemble([x, -x, x, 0.9, 1.7], keep=["crank"])
        if is_fine:
            assert np.isfinite(robot.mass_matrix(q)).all()
        else:
            with pytest.raises(fb.SingularError, match=r"\(a fold\)"):
                robot.mass_matrix(q)


def test_velocities_of_other_joints_are_those_of_the_branch() -> None:
    """A motion that is followed in the velocity of another joint, next to a fold, still says how the crank moves."""
    robot, loop, branch, fold = known_branch("change point", 1.0)
    for away in (1e-3, 1e-6, 1e-9, 0.0):
        q = loop._at(branch, fold + away)
        every = expand_velocity(robot, (), (), q[None], np.array([[2.0]]))
        assert np.abs(every[0, loop.d] - 2.0 * branch.slope(fold + away)).max() < 1e-6


NEARLY = [
    (lengths, which, off)
    for lengths in ((PARALLELOGRAM, (0.8, -0.8, 0.8)), (CHANGE_POINT, (0.8, -0.5, 1.4)), (KITE, (1.3, 1.0, 2.0)))
    for which in range(4)
    for off in (1e-12, 1e-11, 1e-10, 1e-8, 1e-6, 1e-4, 1e-3)
]
FEW = [NEARLY[k] for k in (1, 10, 18, 25, 32, 40, 47, 55, 62, 81)]


@pytest.mark.parametrize("dt", [1e-3, pytest.param(1e-4, marks=pytest.mark.slow)])
@pytest.mark.parametrize("case", [pytest.param(x, marks=() if x in FEW else pytest.mark.slow) for x in NEARLY])
def test_lengths_that_nearly_have_a_fold_keep_energy_or_are_marked(case: Any, dt: float) -> None:
    """Such a linkage turns from one branch to the other within the square root of what is missing."""
    (lengths, guess), which, off = case
    robot = linkage(tuple(x * (1.0 + off * (k == which)) for k, x in enumerate(lengths)))
    q = robot.assemble(guess, keep=["crank"])
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        run = fb.rollout(robot, q, [3.0], dt=dt, steps=round(3.0 / dt), every=round(0.01 / dt))
    energy = robot.kinetic_energy(run.q, run.v)
    is_marked = run.diverged or any("singular position of loops" in str(x.message) for x in said)
    assert is_marked or np.abs(energy / robot.kinetic_energy(q, [3.0]) - 1.0).max() < 1e-3
    if off > 1e-9:
        assert not is_marked


def two_freedoms(off: float, which: int) -> fb.System:
    """A parallelogram, one length of which is off by a factor, whose coupler and rocker carry a second loop."""
    ground, crank, coupler, rocker = (x * (1.0 + off * (k == which)) for k, x in enumerate(PARALLELOGRAM))
    b = fb.Builder("two_freedoms", gravity=(0, 0, 0))
    b.body("crank", joint=Revolute("z"), **rod(0.4, (crank, 0, 0)))
    b.body("coupler", parent="crank", joint=Revolute("z"), position=(crank, 0, 0), **rod(0.9, (coupler, 0, 0)))
    b.body("rocker", joint=Revolute("z"), position=(ground, 0, 0), **rod(0.7, (rocker, 0, 0)))
    pin = Closure(Revolute("z"), "coupler", "rocker", at_predecessor=(coupler, 0, 0), at_successor=(rocker, 0, 0))
    b.loop(pin, name="pin")
    b.body("arm", parent="coupler", joint=Revolute("z"), position=(0.5, 0, 0), **rod(0.3, (0.4, 0, 0)))
    b.body("link", parent="arm", joint=Revolute("z"), position=(0.4, 0, 0), **rod(0.3, (0.6, 0, 0)))
    b.body("hand", parent="rocker", joint=Revolute("z"), position=(0.25, 0, 0), **rod(0.3, (0.5, 0, 0)))
    tip = Closure(Revolute("z"), "link", "hand", at_predecessor=(0.6, 0, 0), at_successor=(0.5, 0, 0))
    return b.loop(tip, name="tip").build()


OFF = [(off, which) for off in (0.0, 1e-12, 1e-11, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4) for which in (0, 2)]
SOME = [(0.0, 0), (1e-6, 2)]


@pytest.mark.parametrize("case", [pytest.param(x, marks=() if x in SOME else pytest.mark.slow) for x in OFF])
def test_loops_with_two_freedoms_keep_energy_at_folds_or_are_marked(case: tuple[float, int]) -> None:
    """Whole steps leap over a fold only if their halves come to the same; steps in parts resolve what is nearly one."""
    robot = two_freedoms(*case)
    q = np.array([robot.assemble([x, -x, x, 1.2, -1.0, 1.5]) for x in (0.8, 0.84, 0.88)])
    v = np.array([[3.0, 1.0], [3.1, 0.8], [2.8, 1.2]])
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        run = fb.rollout(robot, q, v, dt=1e-3, steps=900, every=20)
    is_marked = run.diverged.any() or any("singular position of loops" in str(x.message) for x in said)
    energy = robot.kinetic_energy(run.q, run.v)
    assert is_marked or np.abs(energy / energy[0] - 1.0).max() < 1e-3
    assert (np.abs(run.q[-1, :, 2] - q[:, 2]) > 2.3).all() or is_marked  # they have come past the fold
    if case[0] == 0.0 or case[0] > 1e-10:
        assert not is_marked
    if case[0] == 0.0:
        asked = fb.simulate(robot, q[0], v[0], duration=0.9, period=0, tau=lambda t, q, v: 0.0 * v)
        assert abs(robot.kinetic_energy(asked.q[-1], asked.v[-1]) / energy[0, 0] - 1.0) < 1e-3


def test_scenes_follow_branches_too() -> None:
    """A parallelogram turns at a constant speed in a scene, through its folds."""
    robot = linkage(PARALLELOGRAM)
    q = robot.assemble([0.8, -0.8, 0.8], keep=["crank"])
    run = fb.Scene(robot).rollout(q, [3.0], dt=1e-3, steps=4000)
    assert run.converged.all() and np.abs(run.v - 3.0).max() < 1e-8 and np.ptp(run.q[:, 0]) > 2.0 * np.pi
    worlds = fb.Scene(robot).batch(2, dt=1e-3)
    worlds.reset(q=q, v=[[3.0], [2.0]])
    worlds.step(steps=4000)
    assert np.array_equal(worlds.q[0], run.q[-1]) and np.array_equal(worlds.v[0], run.v[-1])


def test_samples_that_are_switched_together_go_on() -> None:
    """Two that fail in different velocities at the same time, one of which goes on in those of the other."""
    robot = fb.robots.five_bar()
    rng = np.random.default_rng(1)
    q = robot.random(rng, 8)
    run = fb.rollout(robot, q, np.random.default_rng(1).normal(size=(8, 2)) * 2.0, dt=1e-3, steps=1000, every=1000)
    assert not run.diverged.any()


# Starts of a delta (q of the arms, the platform's position, v), the first near where its rods are in one plane. The
# others come to where all rods are parallel: there it has a fold, and its arms do not determine the platform either.
PLATFORM = [
    ([1.852382, 2.16713, 2.14967, -0.104617, 0.379094, -0.20224], [7.4733, -0.5573, 4.4846], 22),
    ([-0.2633, -0.33488, 0.08757, 0.01602, 0.04011, 0.03899], [6.0238, -3.7074, 10.9321], 600),
    ([0.4452, 0.1467, -0.31981, -0.08022, -0.05537, -0.0142], [-0.4641, -12.1, -3.8916], 600),
    ([-0.19775, 0.14928, 0.41284, 0.07174, 0.03754, -0.02579], [-20.0252, 7.8747, 12.762], 120),
    ([0.13773, 0.27234, -0.10724, -0.00719, -0.04916, -0.02426], [6.3594, 4.6188, 11.997], 600),
]


def platform_motion(cases: list[Any], steps: int) -> tuple[fb.Run, np.ndarray]:
    """The motions, and how much of their kinetic energy is lost or gained."""
    robot = fb.robots.delta()
    q = [robot.assemble([*x, 1.0, 0.0, 0.0, 0.0], keep=["arm1", "arm2", "arm3"]) for x, *_ in cases]
    run = fb.rollout(robot, q, [v for _, v, _ in cases], dt=1e-3, steps=steps, passive=False)
    kinetic = robot.kinetic_energy(run.q, run.v)
    energy = kinetic + robot.potential_energy(run.q)
    return run, np.abs(energy - energy[0]).max(axis=0) / kinetic.max(axis=0)


@pytest.mark.parametrize(
    "case", [pytest.param(x, marks=pytest.mark.slow if k == 4 else ()) for k, x in enumerate(PLATFORM)]
)
def test_energy_stays_where_a_platform_passes_singular_positions(case: Any) -> None:
    """No step is refused, none is made again and again in ever smaller parts: the fourth took minutes."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run, error = platform_motion([case], case[2])
    assert not run.diverged.any() and error.max() < 1e-4


def test_a_motion_in_velocities_of_part_of_a_platform_has_the_same_bits_in_any_company() -> None:
    """One of two motions comes to such velocities, which once made both start anew, step by step in Python."""
    calm = ([0.1, 0.2, 0.1, 0.0, 0.0, 0.0], [0.3, 0.2, 0.1], 0)
    both, alone = (platform_motion(cases, 22)[0] for cases in ([PLATFORM[0], calm], [PLATFORM[0]]))
    assert np.array_equal(both.q[:, 0], alone.q[:, 0]) and np.array_equal(both.v[:, 0], alone.v[:, 0])


def test_velocities_of_part_of_a_platform_give_the_motion_of_those_of_the_arms() -> None:
    """With numbers that differ, too, for which steps are compiled."""
    robot, masses = fb.robots.delta(), {"platform.mass": [0.4, 0.8]}
    mixed = robot.with_independent("arm3", "platform.vy", "platform.vz")
    q, v = robot.random(np.random.default_rng(2)), [2.0, -1.0, 3.0]
    own = fb.rollout(robot, q, v, dt=1e-3, steps=100, numbers=masses)
    other = fb.rollout(mixed, q, robot.expand_velocity(q, v)[[2, 7, 8]], dt=1e-3, steps=100, numbers=masses)
    assert np.abs(own.q - other.q).max() < 1e-9 and np.abs(np.diff(own.q[-1], axis=0)).max() > 1e-4
    asked = fb.simulate(mixed, q, other.v[0, 0], duration=0.1, period=0, tau=lambda t, q, v: 0.0 * v)
    assert np.abs(asked.q[-1] - fb.rollout(mixed, q, other.v[0, 0], dt=1e-3, steps=100).q[-1]).max() < 1e-12


@pytest.mark.slow
def test_a_platform_far_from_folds_stays_in_its_velocities() -> None:
    """Others need steps of their own, which take seconds to compile."""
    robot = fb.robots.stewart_platform()
    rng = np.random.default_rng(0)
    q, v = robot.random(rng, 3), 0.3 * rng.normal(size=(3, 6))
    run = fb.rollout(robot, q, v, dt=1e-3, steps=1000, every=10, passive=False)
    energy = robot.kinetic_energy(run.q, run.v) + robot.potential_energy(run.q)
    assert np.ptp(energy, axis=0).max() < 1e-7 * robot.kinetic_energy(run.q, run.v).max()
    assert len(vars(robot)["_charts"]) <= 1


def test_a_fold_is_found_once() -> None:
    """A leg whose shank meets its fold again and again: the branch was fitted anew in every step near it, 590 times."""
    robot = fb.robots.planar_leg_linkage()
    q, v = robot.assemble([3.11332, -1.02919, -1.02919, 1.02919]), [-5.0698, 1.0851]
    run = fb.rollout(robot, q, v, dt=1e-3, steps=1200, every=10, passive=False)
    ((loop, *_),) = Folds.of(robot).loops
    assert 0 < len(loop.known) <= 4
    energy = robot.kinetic_energy(run.q, run.v) + robot.potential_energy(run.q)
    assert np.ptp(energy) < 1e-8 * robot.kinetic_energy(run.q, run.v).max()


@pytest.mark.parametrize(
    "case", [(PARALLELOGRAM, (0.8, -0.8, 0.8), 1, 1e-9), (CHANGE_POINT, (0.8, -0.5, 1.4), 0, 1e-6)]
)
def test_parts_of_steps_are_short_enough_where_lengths_nearly_have_a_fold(case: Any) -> None:
    """Their length, not dt, decides the error: with strides twice as long it was 3e-4."""
    lengths, guess, which, off = case
    robot = linkage(tuple(x * (1.0 + off * (k == which)) for k, x in enumerate(lengths)))
    run = fb.rollout(robot, robot.assemble(guess, keep=["crank"]), [3.0], dt=1e-3, steps=3000, every=10)
    energy = robot.kinetic_energy(run.q, run.v)
    assert not run.diverged and np.abs(energy / energy[0] - 1.0).max() < 5e-5
