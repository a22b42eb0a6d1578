"""Random configurations of robots with loops: closed, within all limits, in one assembly, the same by every route."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fourbar as fb
from fourbar.functions import closed_paths
from fourbar.joints import Prismatic, Revolute
from fourbar.loops import Constraint, Coupling, Differential, Gear, Parametric, Polynomial
from fourbar.tree.embedding import LoopEmbedding

SOLID = {"mass": 1.0, "inertia": (1.0, 1.0, 1.0)}
LINKAGES = ["crank_rocker", "delta", "five_bar", "parallelogram", "slider_crank"]
MANY = closed_paths.WORTH_COMPILING


def limits_of_all(robot: Any) -> tuple[np.ndarray, np.ndarray]:
    """The limits of the coordinates of `expand`."""
    moving = robot.model.cluster_tree.moving
    lower, upper = ([x for c in moving for x in side(c)] for side in (lambda c: c.lower, lambda c: c.upper))
    return np.array(lower), np.array(upper)


def is_within_limits(robot: Any, q: np.ndarray) -> bool:
    lower, upper = limits_of_all(robot)
    full = robot.expand(q)
    return bool(((full >= lower - 1e-9) & (full <= upper + 1e-9)).all())


@pytest.mark.parametrize("n", [3, 50, MANY])
@pytest.mark.parametrize("name", LINKAGES)
def test_samples_are_closed_within_limits_and_away_from_toggles(name: str, n: int) -> None:
    robot = getattr(fb.robots, name)()
    q = robot.random(1, n)
    assert q.shape == (n, robot.nq) and robot.loop_gap(q).max() < 1e-10 and is_within_limits(robot, q)
    robot.check(q)
    (tie,) = [c.embedding for c in robot.model.cluster_tree.clusters if isinstance(c.embedding, LoopEmbedding)]
    K = tie.units.of(tie.slopes(np.concatenate([q, [tie.closed]])))[:, list(tie.rows)]
    least = np.linalg.svd(K, compute_uv=False)[:, -1]
    assert (least[:-1] > 0.005 * least[-1]).all()


@pytest.mark.parametrize("n", [60, MANY])
def test_samples_are_in_one_assembly(n: int) -> None:
    """In closed form: coupler and ground of a parallelogram stay parallel, the elbow of a crank-rocker on one side."""
    q = fb.robots.parallelogram().random(0, n)
    assert np.allclose(q @ [1.0, 1.0, 0.0], 0.0, atol=1e-9) and np.ptp(q[:, 0]) > 2.0
    rocker = fb.robots.crank_rocker()
    sides = []
    for at in np.concatenate([[rocker.neutral()], rocker.random(0, n)]):
        K = rocker.loop_jacobian(at)[:2]
        sides.append(np.linalg.det(K[:, 1:]))
    assert (np.sign(sides) == np.sign(sides[0])).all()


@pytest.mark.parametrize("name", ["delta", "slider_crank", pytest.param("stewart_platform", marks=pytest.mark.slow)])
def test_machine_code_and_numpy_find_the_same_samples(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = getattr(fb.robots, name)().random(3, MANY)
    assert np.array_equal(compiled, getattr(fb.robots, name)().random(3, MANY))
    monkeypatch.setattr(closed_paths, "WORTH_COMPILING", 10 * MANY)
    plain = getattr(fb.robots, name)().random(3, MANY)
    np.testing.assert_allclose(compiled, plain, atol=1e-8)


def test_few_samples_are_those_of_arrays() -> None:
    """One by one in Python's numbers, or all at once in arrays."""
    robot = fb.robots.five_bar()
    tree = robot.model.cluster_tree
    from fourbar.tree import path_following, sampling

    given = [*sampling._from_home(tree, tree.clusters[0], np.random.default_rng(0), 20, 0), np.full(20, 0.3)]
    limits, tie = sampling.limits_of(tree, tree.clusters[0]), tree.clusters[0].embedding
    q, arrived = path_following.follow_path(tie, limits, *given)
    for k in range(20):
        alone, there = path_following.follow_path(tie, limits, *(x[k : k + 1] for x in given))
        assert there[0] == arrived[k] and np.allclose(alone[0], q[k], atol=1e-10)


def test_the_interpreter_finds_the_same_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = fb.robots.four_bar().random(2, MANY)
    monkeypatch.setenv("FOURBAR_BACKEND", "numpy")
    np.testing.assert_allclose(fb.robots.four_bar().random(2, MANY), compiled, atol=1e-8)


def test_equal_clusters_share_their_code() -> None:
    robot = fb.robots.tello()
    robot.random(0, MANY)
    looped = [c for c in robot.model.cluster_tree.clusters if isinstance(c.embedding, LoopEmbedding)]
    assert len(robot._paths) < sum(not c.embedding.explicit for c in looped) == 4


@pytest.mark.parametrize("ratio", [-2.0, 0.25, 50.0])
def test_dependent_joints_of_gears_keep_their_limits(ratio: float) -> None:
    b = fb.Builder("geared")
    b.body("arm", joint=Revolute("z"), limits=(-2.0, 1.0), **SOLID)
    b.body("wheel", joint=Revolute("z"), limits=(-0.5, 0.7), **SOLID)
    robot = b.loop(Gear("arm", "wheel", ratio)).build()
    q = robot.random(0, 2000)
    assert is_within_limits(robot, q)
    ends = sorted((max(-0.5 / abs(ratio), -2.0), min(0.7 / abs(ratio), 1.0)))
    if ratio < 0:
        ends = [-min(0.7 / -ratio, 2.0), min(0.5 / -ratio, 1.0)]
    assert np.allclose([q.min(), q.max()], ends, atol=0.01 * np.ptp(ends))
    histogram = np.histogram(q, 5, ends)[0]
    assert histogram.min() > 330  # uniform: 400 each


def test_an_independent_joint_without_limits_covers_the_range_of_what_it_drives() -> None:
    b = fb.Builder("motor")
    b.body("rotor", joint=Revolute("z"), **SOLID)
    b.body("arm", joint=Revolute("z"), limits=(-1.0, 1.0), **SOLID)
    robot = b.loop(Gear("rotor", "arm", 0.01)).build()
    q = robot.random(0, 500)
    assert is_within_limits(robot, q) and q.min() < -90.0 and q.max() > 90.0


def test_differentials_and_polynomials_keep_the_limits_of_dependent_joints() -> None:
    b = fb.Builder("bound")
    b.body("left", joint=Revolute("z"), limits=(-1.0, 1.0), **SOLID)
    b.body("right", joint=Revolute("z"), limits=(-1.0, 1.0), **SOLID)
    b.body("sum", joint=Revolute("z"), limits=(-0.1, 0.1), **SOLID)
    b.loop(Coupling({"left": 1.0, "right": 1.0, "sum": -1.0}), independent=["left", "right"])
    b.body("cam", joint=Revolute("z"), limits=(-1.0, 1.0), **SOLID)
    b.body("tappet", joint=Prismatic("z"), limits=(0.25, 0.5), **SOLID)
    b.loop(Polynomial("cam", "tappet", (0.0, 0.0, 1.0)), independent=["cam"])
    robot = b.build()
    q = robot.random(0, 400)
    assert is_within_limits(robot, q)
    cam = q[:, robot.names.coordinates.index("cam")]
    assert (cam < -0.6).any() and (cam > 0.6).any()


def test_limits_that_cannot_be_met_are_named() -> None:
    b = fb.Builder("impossible")
    b.body("arm", joint=Revolute("z"), limits=(0.5, 1.0), **SOLID)
    b.body("wheel", joint=Revolute("z"), limits=(-1.0, -0.5), **SOLID)
    robot = b.loop(Gear("arm", "wheel", 1.0)).build()
    with pytest.warns(RuntimeWarning, match=r"dependent joints.*'wheel' \[-1, -0.5\]"):
        q = robot.random(0, 10)
    assert ((q >= 0.5) & (q <= 1.0)).all()


def bound(limits: list[tuple[float, float] | None], loop: Any, inputs: int) -> Any:
    """Hinges j0, j1, ... with limits, tied by a loop whose independent joints are the first ones."""
    b = fb.Builder("bound")
    for i, range_ in enumerate(limits):
        b.body(f"j{i}", joint=Revolute("y"), limits=range_, **SOLID)
    return b.loop(loop, independent=[f"j{i}" for i in range(inputs)]).build()


def differential(*limits: tuple[float, float] | None) -> Any:
    return bound(list(limits), Differential(["j0", "j1"], ["j2", "j3"], [[1, 1], [1, -1]]), 2)


WIDE = (-3.0, 3.0)
NARROW = {
    "thin": lambda: differential(WIDE, WIDE, (-0.05, 0.05), (-0.05, 0.05)),
    "thinner": lambda: differential(WIDE, WIDE, (-1e-6, 1e-6), (-1e-6, 1e-6)),
    "one range of no width": lambda: differential(WIDE, WIDE, (-1.0, 1.0), (0.3, 0.3)),
    "one edge": lambda: differential((-3.0, 2.0), WIDE, (5.0, 7.0), None),
    "far from the range without limits": lambda: differential(None, (-1.0, 1.0), (20.0, 20.5), None),
    "slab": lambda: bound([(-1.0, 1.0), (-0.5, 2.0), (0.0, 1e-4)], Coupling({"j0": 1.0, "j1": 2.0, "j2": -1.0}), 2),
    "cubic": lambda: bound([(-1.0, 1.0), (0.2, 0.2001)], Constraint(lambda x, y: x**3 + x - y, ["j0", "j1"]), 1),
    "cubic, far": lambda: bound([None, (1000.0, 1001.0)], Constraint(lambda x, y: x**3 + x - y, ["j0", "j1"]), 1),
    "arcs": lambda: bound(
        [WIDE, WIDE, (1.0, 1.0001), (-0.1, 0.4)],
        Parametric(lambda x, y: [x * x + y * y, x * y], ["j0", "j1"], ["j2", "j3"]),
        2,
    ),
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("case", NARROW)
def test_narrow_limits_of_dependent_joints_are_kept_for_any_number_of_samples(case: str) -> None:
    robot = NARROW[case]()
    for n in (1, 40, 6000):
        q = robot.random(0, n)
        assert q.shape == (n, robot.nq) and is_within_limits(robot, q) and robot.loop_gap(q).max() < 1e-10
        assert np.array_equal(q, robot.random(0, n))


@pytest.mark.parametrize("turn", [0, 1])
def test_walks_between_narrow_limits_are_uniform(turn: int) -> None:
    """Inputs of a differential are linear in its outputs: these are uniform and independent too."""
    ranges = [(-1e-4, 3e-4), (-1.0, 1.0)]
    robot = differential(WIDE, WIDE, *np.roll(ranges, turn, axis=0).tolist())
    full = np.roll(robot.expand(robot.random(1, 8000))[:, 2:], -turn, axis=1)
    cells = np.histogram2d(*full.T, bins=4, range=ranges)[0]
    assert cells.sum() == 8000 and ((cells - 500.0) ** 2 / 500.0).sum() < 37.7  # chi-squared, 15: one in a thousand


def test_walks_are_uniform_over_a_cut_off_corner() -> None:
    """Three inputs below one plane, a simplex: each has the density (1 - x)², the mean 1/4 and the variance 3/80."""
    sides, thin = [(0.0, 1.0)] * 3, 0.01
    loop = Parametric(lambda x, y, z: [x + y + z], ["j0", "j1", "j2"], ["j3"])
    q = bound([*sides, (-1.0, thin)], loop, 3).random(0, 6000) / thin
    assert q.min() > 0.0 and q.sum(axis=1).max() < 1.0
    np.testing.assert_allclose(q.mean(axis=0), 0.25, atol=0.01)
    np.testing.assert_allclose(q.var(axis=0), 3.0 / 80.0, atol=0.003)


def test_both_arms_of_a_cam_are_reached_between_narrow_limits() -> None:
    robot = bound([WIDE, (0.25, 0.2501)], Polynomial("j0", "j1", (0.0, 0.0, 1.0)), 1)
    cam = robot.random(0, 500)[:, 0]
    assert is_within_limits(robot, cam[:, None]) and 150 < np.count_nonzero(cam > 0.0) < 350


@pytest.mark.parametrize("n", [1, 300, 20000])
def test_empty_sets_are_named_for_any_number_of_samples(n: int) -> None:
    with pytest.warns(RuntimeWarning, match=r"no configuration.*'j2' \[6.001, 7\]"):
        differential(WIDE, WIDE, (6.001, 7.0), None).random(0, n)
    with pytest.warns(RuntimeWarning, match=r"no configuration.*'j1' \[3, 4\]"):
        bound([(-1.0, 1.0), (3.0, 4.0)], Constraint(lambda x, y: x**3 + x - y, ["j0", "j1"]), 1).random(0, n)


SHIPPED = [name for name in dir(fb.robots) if not name.startswith("_") and callable(getattr(fb.robots, name))]


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_robots_keep_all_limits(name: str) -> None:
    robot = getattr(fb.robots, name)()
    if robot.nq:
        q = robot.random(0, 6)
        assert is_within_limits(robot, q) and robot.loop_gap(q).max() < 1e-10
