"""The Mini Cheetah learns to walk in some minutes on one CPU: `fourbar.gymnasium`, and PPO in plain NumPy.

    python -m pip install ".[gymnasium,plot]"
    python examples/learn_to_walk.py                    # writes learn_to_walk.png and learn_to_walk.html, the gait
    python examples/learn_to_walk.py --seeds 1 2 3

Actions are targets of the twelve joints, fifty per second. The reward is for going forward at a given speed, straight
and steadily, with feet that step in time. The trainer is proximal policy optimisation (Schulman et al. 2017) with small
networks whose gradients are written by hand.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from itertools import pairwise

import numpy as np

import fourbar as fb
import fourbar.gymnasium as fg

SPEED = 0.6  # m/s, forward
GAIT = 0.5  # s: a trot, in which a diagonal pair of legs stands while the other swings
HOME = (0.0, -0.8, 1.6)  # abduction, hip and knee of each leg: standing
PERFECT = 1.8  # what a step can bring at most
WORLDS, HORIZON, EPOCHS, PARTS = 128, 32, 4, 4
DISCOUNT, TRACE, CLIP, RATE = 0.97, 0.95, 0.2, 1e-3
NOISE = (0.4, 0.1)  # deviations of actions, from the first update to the last


def stance(robot: fb.System) -> np.ndarray:
    """Standing with the feet on the floor."""
    q = robot.neutral()
    q[7:] = np.tile(HOME, 4)
    q[2] = -min(robot.pose(q, frame)[2, 3] for frame in robot.names.frames if "foot" in frame)
    return q


def task() -> fg.Task:
    """Walk forward."""
    robot = fb.robots.mini_cheetah("reflected")
    feet = [frame for frame in robot.names.frames if "foot" in frame]
    scene = fb.Scene(robot, fb.Plane(friction=0.8), contacts=feet, tolerance=1e-6)
    home, pairs = stance(robot), np.array([foot[:2] in ("FL", "HR") for foot in feet])

    def reset(worlds: fg.Worlds) -> tuple[np.ndarray, np.ndarray]:
        q = np.repeat(home[None], len(worlds), 0)
        q[:, 7:] += worlds.random.uniform(-0.1, 0.1, (12,))
        q[:, 2] += 0.02
        return q, worlds.random.normal(0.1, (robot.nv,))

    def observe(worlds: fg.Worlds) -> np.ndarray:
        clock = 2.0 * np.pi / GAIT * worlds.t[:, None]
        return np.concatenate([worlds.proprioception(), np.sin(clock), np.cos(clock)], axis=1)

    def reward(worlds: fg.Worlds) -> np.ndarray:
        v = worlds.base_velocity
        first = np.sin(2.0 * np.pi / GAIT * worlds.t) > 0.0
        standing = np.where(first[:, None], pairs, ~pairs)
        change = worlds.action - worlds.last_action
        return (
            np.exp(-8.0 * (v[:, 3] - SPEED) ** 2)
            + 0.3 * np.exp(-4.0 * v[:, 2] ** 2)
            + 0.5 * (worlds.touching == standing).mean(axis=1)
            - 0.5 * v[:, 4] ** 2
            - 0.5 * v[:, 5] ** 2
            - 0.03 * (v[:, 0] ** 2 + v[:, 1] ** 2)
            - (worlds.gravity[:, :2] ** 2).sum(axis=1)
            - 0.01 * (change**2).sum(axis=1)
            - 1e-4 * (worlds.tau**2).sum(axis=1)
        )

    def fallen(worlds: fg.Worlds) -> np.ndarray:
        return (worlds.gravity[:, 2] > -0.8) | (worlds.base_position[:, 2] < 0.2)

    legs = fg.Targets(stiffness=30.0, damping=0.7, around=home, scale=0.4, limit=18.0)
    return fg.Task(
        scene, legs, reward=reward, observe=observe, terminated=fallen, reset=reset, duration=8.0,
        randomize={"friction": (0.5, 1.0)}, info=lambda worlds: {"speed": worlds.base_velocity[:, 3]},
    )  # fmt: skip


class Network:
    """Layers with tanh between them; gradients by hand, steps by Adam."""

    def __init__(self, rng: np.random.Generator, sizes: tuple[int, ...], last: float) -> None:
        self.weights = [rng.normal(size=s).astype(np.float32) / np.sqrt(s[0]) for s in pairwise(sizes)]
        self.weights[-1] *= last
        self.biases = [np.zeros(n, np.float32) for n in sizes[1:]]
        self._moments = [(np.zeros_like(x), np.zeros_like(x)) for x in self.parameters]
        self._count = 0

    @property
    def parameters(self) -> list[np.ndarray]:
        """All numbers that are learned."""
        return [*self.weights, *self.biases]

    def __call__(self, x: np.ndarray) -> list[np.ndarray]:
        """What each layer gives, the input first."""
        layers = [x]
        for k, (w, b) in enumerate(zip(self.weights, self.biases, strict=True)):
            y = layers[-1] @ w + b
            layers.append(np.tanh(y, out=y) if k < len(self.weights) - 1 else y)
        return layers

    def gradients(self, layers: list[np.ndarray], back: np.ndarray) -> list[np.ndarray]:
        """Of weights and biases, from that of the output."""
        weights, biases = [], []
        for k in range(len(self.weights) - 1, -1, -1):
            weights.append(layers[k].T @ back)
            biases.append(back.sum(axis=0))
            if k:
                back = (back @ self.weights[k].T) * (1.0 - layers[k] ** 2)
        return [*weights[::-1], *biases[::-1]]

    def improve(self, gradients: list[np.ndarray], rate: float) -> None:
        """A step of Adam against gradients that are cut to length 1."""
        size = np.sqrt(sum(float((g * g).sum()) for g in gradients))
        self._count += 1
        rate *= np.sqrt(1.0 - 0.999**self._count) / (1.0 - 0.9**self._count)
        for x, g, (mean, square) in zip(self.parameters, gradients, self._moments, strict=True):
            g = g * np.float32(1.0 / max(1.0, size))
            mean += np.float32(0.1) * (g - mean)
            square += np.float32(0.001) * (g * g - square)
            x -= np.float32(rate) * mean / (np.sqrt(square) + np.float32(1e-7))


class Scaler:
    """Observations with mean 0 and deviation 1, by what was seen so far."""

    def __init__(self, size: int) -> None:
        self.count, self.mean, self.square = 1e-3, np.zeros(size), np.zeros(size)

    def learn(self, x: np.ndarray) -> None:
        """Take a batch into account."""
        total = self.count + len(x)
        off = x.mean(axis=0) - self.mean
        self.square += ((x - x.mean(axis=0)) ** 2).sum(axis=0) + off**2 * self.count * len(x) / total
        self.mean += off * len(x) / total
        self.count = total

    def __call__(self, x: np.ndarray) -> np.ndarray:
        """Observations, scaled."""
        return np.clip((x - self.mean) / np.sqrt(self.square / self.count + 1e-4), -8.0, 8.0).astype(np.float32)


class Trainer:
    """PPO: an actor that draws actions, a critic that values states, and what they learn from."""

    def __init__(self, envs: fg.VectorEnv, seed: int) -> None:
        self.envs, self.rng = envs, np.random.default_rng(seed)
        width, size = envs.single_observation_space.shape[0], envs.single_action_space.shape[0]
        self.actor = Network(self.rng, (width, 64, 64, size), 0.01)
        self.critic = Network(self.rng, (width, 64, 64, 1), 1.0)
        self.scaler, self.rate, self.spread = Scaler(width), RATE, NOISE[0]
        self.raw, _ = envs.reset(seed=seed * 100_000)
        self.returns = np.zeros(envs.num_envs)
        self.finished: list[float] = []
        self.seconds = {"environment": 0.0, "networks": 0.0}

    def value(self, x: np.ndarray) -> np.ndarray:
        """What states are worth."""
        return self.critic(x)[-1][:, 0]

    def collect(self) -> dict[str, np.ndarray]:
        """Some steps of all worlds: rows of time, world."""
        kept: dict[str, list[np.ndarray]] = {name: [] for name in ("x", "u", "logp", "value", "reward", "ended")}
        seen = []
        for _ in range(HORIZON):
            x = self.scaler(self.raw)
            mean = self.actor(x)[-1]
            noise = self.rng.standard_normal(mean.shape, np.float32)
            u = mean + np.float32(self.spread) * noise
            seen.append(self.raw)
            clock = time.perf_counter()
            self.raw, reward, terminated, truncated, info = self.envs.step(u)
            self.seconds["environment"] += time.perf_counter() - clock
            ended = terminated | truncated
            self.returns += reward
            self.finished += self.returns[ended].tolist()
            self.returns[ended] = 0.0
            reward = (1.0 - DISCOUNT) * reward  # values are means of rewards, then
            late = np.flatnonzero(truncated & ~terminated)
            if len(late):  # time is up, but the state was worth something
                reward[late] += DISCOUNT * self.value(self.scaler(np.stack(info["final_obs"][late])))
            logp = -0.5 * (noise**2).sum(axis=1)
            for name, y in (("x", x), ("u", u), ("logp", logp), ("value", self.value(x)), ("reward", reward)):
                kept[name].append(y)
            kept["ended"].append(ended)
        found = {name: np.stack(y) for name, y in kept.items()}
        found["after"] = self.value(self.scaler(self.raw))
        self.scaler.learn(np.concatenate(seen))
        return found

    def update(self, data: dict[str, np.ndarray]) -> None:
        """Improve both networks by what was collected."""
        advantage = np.zeros_like(data["value"])
        trace, after = np.zeros(data["value"].shape[1], np.float32), data["after"]
        for t in range(HORIZON - 1, -1, -1):
            on = 1.0 - data["ended"][t]
            delta = data["reward"][t] + DISCOUNT * on * after - data["value"][t]
            trace = delta + DISCOUNT * TRACE * on * trace
            advantage[t], after = trace, data["value"][t]
        flat = {name: data[name].reshape(-1, *data[name].shape[2:]) for name in ("x", "u", "logp", "value")}
        flat["a"] = advantage.ravel()
        flat["target"] = flat["a"] + flat["value"]
        flat["a"] = (flat["a"] - flat["a"].mean()) / (flat["a"].std() + 1e-6)
        moved = [self._step({k: x[rows] for k, x in flat.items()}) for rows in self._parts(len(flat["a"]))]
        change = float(np.mean(moved[-PARTS:]))  # of the policy, as a divergence: the rate follows it
        self.rate = float(np.clip(self.rate * (0.7 if change > 0.02 else 1.4 if change < 0.005 else 1.0), 1e-4, 3e-3))

    def _parts(self, n: int) -> Iterator[np.ndarray]:
        for _ in range(EPOCHS):
            yield from np.split(self.rng.permutation(n), PARTS)

    def _step(self, d: dict[str, np.ndarray]) -> float:
        n = np.float32(len(d["a"]))
        layers, spread = self.actor(d["x"]), np.float32(self.spread)
        z = (d["u"] - layers[-1]) / spread
        log_ratio = -0.5 * (z**2).sum(axis=1) - d["logp"]
        ratio = np.exp(log_ratio)
        inside = np.where(d["a"] > 0.0, ratio < 1.0 + CLIP, ratio > 1.0 - CLIP)
        slope = -(inside * ratio * d["a"] / n)[:, None]  # d loss / d log p
        self.actor.improve(self.actor.gradients(layers, slope * z / spread), self.rate)
        layers = self.critic(d["x"])
        self.critic.improve(self.critic.gradients(layers, (layers[-1] - d["target"][:, None]) / n), RATE)
        return float(np.mean(ratio - 1.0 - log_ratio))


def evaluate(walk: fg.Task, trainer: Trainer | None, seed: int = 1) -> tuple[float, float, float]:
    """Mean return, mean speed (m/s) and share of falls of 64 episodes without noise; of standing still if None."""
    envs = fg.VectorEnv(walk, 64, autoreset_mode="Disabled")
    raw, _ = envs.reset(seed=seed)
    total, speed, running, fell, steps = np.zeros(64), np.zeros(64), np.ones(64, bool), 0, 0
    while running.any():
        u = np.zeros(envs.action_space.shape) if trainer is None else trainer.actor(trainer.scaler(raw))[-1]
        raw, reward, terminated, truncated, info = envs.step(u)
        total += reward * running
        speed += info["speed"] * running
        steps += running.sum()
        fell += int((terminated & running).sum())
        ended = terminated | truncated
        running &= ~ended
        if ended.any():
            raw, _ = envs.reset(options={"reset_mask": ended})
    return float(total.mean()), float(speed.sum() / steps), fell / 64


def train(walk: fg.Task, seed: int, steps: int, verbose: bool = True) -> tuple[Trainer, np.ndarray]:
    """A trainer after so many steps, and its curve: rows of steps, seconds, mean return of the episodes that ended."""
    trainer = Trainer(fg.VectorEnv(walk, WORLDS, autoreset_mode="SameStep"), seed)
    curve, start = [], time.perf_counter()
    updates = max(1, steps // (WORLDS * HORIZON))
    for k in range(1, updates + 1):
        trainer.spread = NOISE[0] * (NOISE[1] / NOISE[0]) ** (k / updates)
        data = trainer.collect()
        clock = time.perf_counter()
        trainer.update(data)
        trainer.seconds["networks"] += time.perf_counter() - clock
        if trainer.finished and (k % 10 == 0 or k == updates):
            curve.append((k * WORLDS * HORIZON, time.perf_counter() - start, float(np.mean(trainer.finished))))
            trainer.finished.clear()
            if verbose:
                print(
                    f"seed {seed}: {curve[-1][0]:>8} steps, {curve[-1][1]:5.0f} s, return {curve[-1][2]:7.1f}",
                    flush=True,
                )
    return trainer, np.array(curve).reshape(-1, 3)


def walk_of(walk: fg.Task, trainer: Trainer, worlds: int = 4) -> fg.RecordedEpisodes:
    """Episodes without noise: the gait that was learned."""
    return fg.record(walk, lambda raw: trainer.actor(trainer.scaler(raw))[-1], worlds, seed=1)


def draw(curves: dict[str, np.ndarray], still: float, most: float, path: str) -> None:
    """The learning curves as a picture, with what standing still and a perfect walk would bring."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7, 4), layout="constrained")
    for name, curve in curves.items():
        axes.plot(curve[:, 0] / 1e6, curve[:, 2], ".-", label=name)
    axes.axhline(most, color="0.5", linestyle=":", label="perfect")
    axes.axhline(still, color="0.5", linestyle="--", label="standing still")
    axes.set(xlabel="steps of all worlds [million]", ylabel="return per episode of 8 s", ylim=(0.0, None))
    axes.set_title("Mini Cheetah learns to walk")
    axes.legend(loc="lower right")
    axes.grid(alpha=0.3)
    figure.savefig(path, dpi=120)
    pyplot.close(figure)


def main() -> None:
    """Learn, evaluate, draw."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1], help="each learns anew")
    parser.add_argument("--steps", type=int, default=800_000, help="of all worlds together")
    parser.add_argument("--picture", default="learn_to_walk.png", help="where the learning curves go")
    parser.add_argument("--page", default="learn_to_walk.html", help="where the gait goes that the last seed learned")
    given = parser.parse_args()
    walk, words = task(), "return {:.0f}, {:.2f} m/s, {:.0%} fall"
    still = evaluate(walk, None)
    print("standing still:", words.format(*still))
    curves: dict[str, np.ndarray] = {}
    gait = None
    for seed in given.seeds:
        trainer, curves[f"seed {seed}"] = train(walk, seed, given.steps)
        spent = ", ".join(f"{x} {s:.0f} s" for x, s in trainer.seconds.items())
        print(f"seed {seed}: {words.format(*evaluate(walk, trainer))}; {spent}", flush=True)
        gait = walk_of(walk, trainer)
    draw(curves, still[0], PERFECT * walk.steps, given.picture)
    if gait is not None:
        print(gait, "in", gait.save(given.page, spread=0.8))


if __name__ == "__main__":
    main()
