"""Terrain to learn on: tiles that fit together, levels, places to start from, and scans of heights."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fourbar as fb

pytest.importorskip("gymnasium", reason="gymnasium is not installed")

import fourbar.gymnasium as fg

KINDS = (fg.LevelGround(), fg.Slope(), fg.Stairs(), fg.Stairs((-0.03, -0.2)), fg.Rough(), fg.SteppingStones())


def tiles(**more: Any) -> fg.TerrainTiles:
    return fg.TerrainTiles(KINDS, **{"levels": 3, "size": 6.0, "spacing": 0.1, **more})


def test_tiles_fit_together() -> None:
    """Heights are zero around every tile, and the table is one field."""
    made = tiles()
    table = np.array(made.field.heights)
    assert table.shape == (3 * 60 + 40 + 1, 6 * 60 + 40 + 1) and made.field.origin == (-2.0, -2.0)
    for level in range(3):
        for kind in range(len(KINDS)):
            x, y = made.grid(level, kind)
            z = np.asarray(made.field.height(x, y))
            for edge in (z[0], z[-1], z[:, 0], z[:, -1]):
                np.testing.assert_allclose(edge, 0.0, atol=1e-12)
            middle = z[28:33, 28:33]
            assert np.ptp(middle) < 1e-12  # a platform


def test_difficulty_grows_with_the_level() -> None:
    made = tiles()
    for kind in (1, 2, 4, 5):
        rough = [np.abs(np.diff(made.field.height(*made.grid(level, kind)), axis=0)).sum() for level in range(3)]
        assert rough[0] < rough[1] < rough[2] or kind == 5
    rises = [np.asarray(made.field.height(*made.grid(level, 2))) for level in range(3)]
    for z, rise in zip(rises, (0.03, 0.115, 0.2), strict=True):
        np.testing.assert_allclose(z / rise, np.round(z / rise), atol=1e-9)  # whole steps
    down = np.asarray(made.field.height(*made.grid(2, 3)))
    np.testing.assert_allclose(down, -rises[2], atol=1e-12)
    stones = [np.asarray(made.field.height(*made.grid(level, 5))) for level in range(3)]
    assert all(set(np.round(z, 9).ravel()) == {-0.8, 0.0} for z in stones)
    gaps = [(z < -0.4).mean() for z in stones]
    assert gaps[0] < gaps[1] < gaps[2]


def test_equal_seeds_give_equal_terrain() -> None:
    assert tiles(seed=3).field == tiles(seed=3).field != tiles(seed=4).field


def test_starts_are_on_the_terrain() -> None:
    made = tiles()
    rng = np.random.default_rng(0)
    level, kind = rng.integers(0, 3, 50), rng.integers(0, 6, 50)
    offset = rng.uniform(-1.0, 1.0, (50, 2))
    start = made.start(level, kind, offset, reach=0.2)
    np.testing.assert_allclose(start[:, :2], (np.stack([level, kind], 1) + 0.5) * 6.0 + offset)
    angle = rng.uniform(0.0, 2.0 * np.pi, (50, 30))
    around = start[:, None, :2] + 0.1 * np.stack([np.cos(angle), np.sin(angle)], -1)
    highest = np.asarray(made.field.height(around[..., 0], around[..., 1])).max(axis=1)
    assert (start[:, 2] >= made.field.height(start[:, 0], start[:, 1]) - 1e-12).all()
    assert (start[:, 2] >= highest - 0.03).mean() > 0.9  # of a grid of places, not of all


def test_levels_of_the_next_episodes() -> None:
    class One:
        def integers(self, low: int, high: int) -> np.ndarray:
            return np.array([1])

    level = tiles().promote(np.array([0, 0, 1, 2, 2, 1]), np.array([4.0, 0.5, 2.0, 4.0, 1.0, 3.01]), One())
    assert level.tolist() == [1, 0, 1, 1, 1, 2]


def test_scans_are_those_of_compiled_observations() -> None:
    made = tiles()
    b = fb.Builder("ball")
    b.body("ball", joint=fb.joints.Free(), mass=1.0, inertia=(0.004, 0.004, 0.004))
    scene = fb.Scene(b.build(), made.field, contacts=[fb.contact.Shape("ball", "sphere", 0.05)])
    points = np.random.default_rng(0).uniform(-0.5, 0.5, (7, 2))
    yaw = np.array([0.3, -2.0])
    q = np.zeros((2, 7))
    q[:, :3] = [[4.0, 20.0, 1.0], [13.0, 27.5, 1.5]]
    q[:, 3], q[:, 6] = np.cos(0.5 * yaw), np.sin(0.5 * yaw)
    seen = scene.rollout(q, steps=1, observe={"scan": fb.observe.height_scan("ball", points, made.field)})
    wanted = fg.scan_heights(made.field, q[:, :3], yaw, points)
    np.testing.assert_allclose(seen.observations["scan"][0], wanted, rtol=0, atol=1e-12)


def test_lasting_arrays_and_headings() -> None:
    """A curriculum keeps its levels over resets, which zero everything else."""
    made, robot = tiles(), fb.robots.mini_cheetah()
    feet = [frame for frame in robot.names.frames if "foot" in frame]
    headings = []

    def reset(worlds: fg.Worlds) -> np.ndarray:
        assert not worlds["seen"].any()
        worlds["level"], worlds["seen"] = worlds["level"] + 1.0, 1.0
        q = np.repeat(robot.neutral()[None], len(worlds), 0)
        q[:, :3] = made.start(0, 0) + np.array([0.0, 0.0, 0.6])
        q[:, 3], q[:, 6] = np.cos(0.35), np.sin(0.35)
        return q

    def observe(worlds: fg.Worlds) -> np.ndarray:
        headings.append(worlds.heading.copy())
        return fg.scan_heights(made.field, worlds.base_position, worlds.heading, [(0.0, 0.0), (0.1, 0.0)])

    task = fg.Task(
        fb.Scene(robot, made.field, contacts=feet), fg.Forces(1.0), reward=lambda worlds: worlds["level"],
        observe=observe, reset=reset, memory={"seen": ()}, lasting={"level": ()},
    )  # fmt: skip
    envs = fg.VectorEnv(task, 2)
    observations, _ = envs.reset(seed=0)
    np.testing.assert_allclose(observations, 0.6, atol=1e-6)
    np.testing.assert_allclose(headings[-1], 0.7, atol=1e-9)
    level = envs.step(np.zeros((2, 12)))[1]
    np.testing.assert_array_equal(level, 1.0)
    envs.reset()
    np.testing.assert_array_equal(envs.step(np.zeros((2, 12)))[1], 2.0)
    envs.reset(seed=0)  # all begins again
    np.testing.assert_array_equal(envs.step(np.zeros((2, 12)))[1], 1.0)
    with pytest.raises(fb.ArgumentError, match="in memory and in lasting"):
        fg.Task(task.scene, fg.Forces(1.0), reward=len, memory={"a": ()}, lasting={"a": ()})


@pytest.mark.parametrize(
    ("more", "message"),
    [({"size": 6.05}, "multiple"), ({"levels": 0}, "at least 1"), ({"border": -1.0}, "not negative")],
)
def test_refusals(more: dict[str, Any], message: str) -> None:
    with pytest.raises(fb.ArgumentError, match=message):
        tiles(**more)
    with pytest.raises(fb.ArgumentError, match="expected some of LevelGround"):
        fg.TerrainTiles([])
