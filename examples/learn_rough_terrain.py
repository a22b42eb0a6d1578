"""The Mini Cheetah learns to walk over stairs, slopes and bumps: a curriculum of tiles in one height field.

    python -m pip install ".[gymnasium,plot]"
    python examples/learn_rough_terrain.py              # writes learn_rough_terrain.png and learn_rough_terrain.html

The gait, the rewards and the trainer are those of `learn_to_walk.py`. In addition the robot scans the heights around
it, and starts on the tile of its level: it is promoted when it comes far, and demoted when it does not come half that
far.
"""

from __future__ import annotations

import argparse

import learn_to_walk as flat
import numpy as np

import fourbar as fb
import fourbar.gymnasium as fg

KINDS = (fg.Rough((0.01, 0.08)), fg.Slope((0.05, 0.35)), fg.Stairs((0.01, 0.07)), fg.Stairs((-0.01, -0.07)))
LEVELS, SIZE = 6, 5.0
SCAN = np.stack(np.meshgrid(np.linspace(-0.3, 0.6, 7), np.linspace(-0.25, 0.25, 3), indexing="ij"), -1).reshape(-1, 2)


def task(learning: bool = True) -> tuple[fg.Task, fg.TerrainTiles]:
    """Walk forward over the tiles; if not `learning`, every world stays at its level, and levels are spread evenly."""
    robot = fb.robots.mini_cheetah("reflected")
    feet = [frame for frame in robot.names.frames if "foot" in frame]
    tiles = fg.TerrainTiles(KINDS, levels=LEVELS, size=SIZE, spacing=0.05, border=4.0)
    scene = fb.Scene(robot, tiles.field, contacts=feet, tolerance=1e-6)
    home, pairs = flat.stance(robot), np.array([foot[:2] in ("FL", "HR") for foot in feet])

    def reset(worlds: fg.Worlds) -> tuple[np.ndarray, np.ndarray]:
        level, kind = worlds["level"].astype(int), worlds["kind"].astype(int)
        new = worlds["episodes"] == 0.0
        if new.any():
            kind = np.where(new, worlds.random.integers(0, len(KINDS)), kind)
            level = np.where(new, worlds.random.integers(0, 2 if learning else LEVELS), level)
        gone = np.linalg.norm(worlds.base_position[:, :2] - tiles.middle(level, kind), axis=1)
        if learning:
            level = np.where(new, level, tiles.promote(level, gone, worlds.random, far=0.4))
        worlds["level"], worlds["kind"], worlds["episodes"] = level, kind, worlds["episodes"] + 1.0
        q = np.repeat(home[None], len(worlds), 0)
        q[:, 7:] += worlds.random.uniform(-0.1, 0.1, (12,))
        q[:, :3] = tiles.start(level, kind, worlds.random.uniform(-0.2, 0.2, (2,)))
        q[:, 2] += home[2] + 0.02
        turn = worlds.random.uniform(-np.pi, np.pi)
        q[:, 3], q[:, 6] = np.cos(0.5 * turn), np.sin(0.5 * turn)
        return q, worlds.random.normal(0.1, (robot.nv,))

    def height(worlds: fg.Worlds) -> np.ndarray:
        """Heights (n, points) of the base above the terrain around it."""
        return fg.scan_heights(tiles.field, worlds.base_position, worlds.heading, SCAN)

    def observe(worlds: fg.Worlds) -> np.ndarray:
        clock = 2.0 * np.pi / flat.GAIT * worlds.t[:, None]
        seen = [worlds.proprioception(), np.sin(clock), np.cos(clock), 5.0 * (height(worlds) - home[2])]
        return np.concatenate(seen, axis=1)

    def reward(worlds: fg.Worlds) -> np.ndarray:
        v = worlds.base_velocity
        first = np.sin(2.0 * np.pi / flat.GAIT * worlds.t) > 0.0
        standing = np.where(first[:, None], pairs, ~pairs)
        change = worlds.action - worlds.last_action
        return (
            np.exp(-8.0 * (v[:, 3] - flat.SPEED) ** 2)
            + 0.3 * np.exp(-4.0 * v[:, 2] ** 2)
            + 0.5 * (worlds.touching == standing).mean(axis=1)
            - 0.5 * v[:, 4] ** 2
            - 0.2 * v[:, 5] ** 2
            - 0.03 * (v[:, 0] ** 2 + v[:, 1] ** 2)
            - 0.5 * (worlds.gravity[:, :2] ** 2).sum(axis=1)
            - 0.01 * (change**2).sum(axis=1)
            - 1e-4 * (worlds.tau**2).sum(axis=1)
        )

    def fallen(worlds: fg.Worlds) -> np.ndarray:
        return (worlds.gravity[:, 2] > -0.6) | (height(worlds).mean(axis=1) < 0.12)

    legs = fg.Targets(stiffness=30.0, damping=0.7, around=home, scale=0.4, limit=18.0)
    made = fg.Task(
        scene, legs, reward=reward, observe=observe, terminated=fallen, reset=reset, duration=8.0,
        randomize={"friction": (0.6, 1.0)}, lasting={"level": (), "kind": (), "episodes": ()},
        info=lambda worlds: {"speed": worlds.base_velocity[:, 3], "level": worlds["level"].copy()},
    )  # fmt: skip
    return made, tiles


def main() -> None:
    """Learn, evaluate, draw."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1], help="each learns anew")
    parser.add_argument("--steps", type=int, default=2_000_000, help="of all worlds together")
    parser.add_argument("--picture", default="learn_rough_terrain.png", help="where the learning curves go")
    parser.add_argument("--page", default="learn_rough_terrain.html", help="where the gait of the last seed goes")
    given = parser.parse_args()
    words = "return {:.0f}, {:.2f} m/s, {:.0%} fall"
    (walk, _), (judged, _) = task(), task(learning=False)
    still = flat.evaluate(judged, None)
    print("standing still:", words.format(*still))
    curves: dict[str, np.ndarray] = {}
    for seed in given.seeds:
        trainer, curves[f"seed {seed}"] = flat.train(walk, seed, given.steps)
        _, _, _, _, info = trainer.envs.step(np.zeros(trainer.envs.action_space.shape))
        print(f"seed {seed}: mean level {info['level'].mean():.1f} of 0 to {LEVELS - 1}; on all levels",
              words.format(*flat.evaluate(judged, trainer)), flush=True)  # fmt: skip
        gait = flat.walk_of(judged, trainer)
        print(gait, "in", gait.save(given.page))
    flat.draw(curves, still[0], flat.PERFECT * walk.steps, given.picture)


if __name__ == "__main__":
    main()
