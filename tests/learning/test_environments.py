"""Environments: Gymnasium's own checks, and the same as Gymnasium makes of single ones in every mode."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

gym: Any = pytest.importorskip("gymnasium", reason="gymnasium is not installed")

import fourbar as fb  # noqa: E402
import fourbar.gymnasium as fg  # noqa: E402
from fourbar.errors import ArgumentError  # noqa: E402
from fourbar.learning.environments import EpisodeCamera  # noqa: E402

from . import tasks  # noqa: E402

MODES = ("NextStep", "SameStep", "Disabled")
N = 5


def actions(steps: int, seed: int = 0, n: int = N) -> np.ndarray:
    return np.random.default_rng(seed).uniform(-1.2, 1.2, (steps, n, 2))


def test_the_checker_of_gymnasium_passes() -> None:
    from gymnasium.utils.env_checker import check_env

    with warnings.catch_warnings():
        warnings.filterwarnings("error")
        warnings.filterwarnings("ignore", message=".*infinity.*")  # observations are without bounds
        check_env(fg.Env(tasks.task()), skip_render_check=True)


def test_an_environment_renders_its_world() -> None:
    env = fg.Env(tasks.task(), render_mode="rgb_array", size=(80, 60))
    with pytest.raises(gym.error.ResetNeeded, match="reset first"):
        env.render()
    env.reset(seed=1)
    first = env.render()
    assert first is not None and first.shape == (60, 80, 3) and first.dtype == np.uint8
    assert np.array_equal(first, env.render()), "the same state, the same picture"
    for _ in range(20):
        env.step(np.ones(2))
    later = env.render()
    assert (np.abs(later.astype(int) - first).max(axis=2) > 40).sum() > 5, "the robot moved in the picture"
    assert fg.Env(tasks.task()).render() is None
    with pytest.raises(ArgumentError, match="rgb_array"):
        fg.Env(tasks.task(), render_mode="ansi")


def test_the_camera_follows_a_floating_base() -> None:
    b = fb.Builder("ball")
    b.body("ball", joint=fb.joints.Free(), mass=1.0, inertia=(0.004, 0.004, 0.004))
    scene = fb.Scene(b.build(), fb.Plane(), contacts=[fb.contact.Shape("ball", "sphere", 0.1)])
    camera = EpisodeCamera(scene, scene.start(), (80, 60))
    near, far = (camera.picture(scene.start() + np.array([x, 0, 0, 0, 0, 0, 0])) for x in (0.0, 50.0))
    assert (np.abs(near.astype(int) - far).max(axis=2) > 60).sum() < 5, "the ball stays in the middle, on a floor"


def same(a: Any, b: Any) -> None:
    """Equal to the bit, with the same types and keys all the way down."""
    assert type(a) is type(b)
    if isinstance(a, dict):
        assert a.keys() == b.keys()
        for name in a:
            same(a[name], b[name])
    elif isinstance(a, tuple) or (isinstance(a, np.ndarray) and a.dtype == object):
        for x, y in zip(a, b, strict=True):
            same(x, y)
    elif isinstance(a, np.ndarray):
        assert a.dtype == b.dtype and np.array_equal(a, b)
    else:
        assert a == b


@pytest.mark.parametrize("mode", MODES)
def test_it_does_what_gymnasium_makes_of_single_ones(mode: str) -> None:
    task = tasks.task()
    ours = fg.VectorEnv(task, N, autoreset_mode=mode)
    theirs = gym.vector.SyncVectorEnv([lambda: fg.Env(task)] * N, autoreset_mode=mode)
    assert ours.metadata["autoreset_mode"] == theirs.metadata["autoreset_mode"] == gym.vector.AutoresetMode(mode)
    for name in ("observation_space", "action_space", "single_observation_space", "single_action_space"):
        assert getattr(ours, name) == getattr(theirs, name)
    same(ours.reset(seed=7), theirs.reset(seed=7))
    assert ours.np_random_seed == theirs.np_random_seed
    ends = np.zeros(3, int)
    for u in actions(60):
        found, wanted = ours.step(u), theirs.step(u)
        same(found, wanted)
        terminated, truncated = found[2:4]
        ends += [
            terminated.sum(),
            truncated.sum(),
            (terminated | truncated).any() and not (terminated | truncated).all(),
        ]
        if mode == "Disabled" and (terminated | truncated).any():
            mask = terminated | truncated
            same(*(x.reset(seed=3, options={"reset_mask": mask.copy()}) for x in (ours, theirs)))
    assert (ends > 0).all(), "episodes end in both ways, and not all at once"


def test_a_world_is_the_same_in_any_group() -> None:
    task = tasks.task()
    whole = fg.VectorEnv(task, 19, autoreset_mode="SameStep")
    part = fg.VectorEnv(task, 3, autoreset_mode="SameStep")
    us = actions(60, n=19)
    seen = [whole.reset(seed=100)[0][4:7], part.reset(seed=104)[0]]
    assert np.array_equal(*seen)
    for u in us:
        found, wanted = part.step(u[4:7]), whole.step(u)
        for x, y in zip(found[:4], wanted[:4], strict=True):
            assert np.array_equal(x, y[4:7])


def test_seeds() -> None:
    envs = fg.VectorEnv(tasks.task(), 3)
    first = envs.reset(seed=5)[0]
    on = envs.reset()[0]
    assert not np.array_equal(first, on), "without a seed, random numbers go on"
    assert np.array_equal(envs.reset(seed=[5, 6, 7])[0], first) and np.array_equal(envs.reset()[0], on)
    apart = envs.reset(seed=[5, None, 7])[0]
    assert np.array_equal(apart[[0, 2]], first[[0, 2]]) and not np.array_equal(apart[1], first[1])
    other = fg.VectorEnv(tasks.task(), 3)
    assert not np.array_equal(other.reset()[0], fg.VectorEnv(tasks.task(), 3).reset()[0])


def test_numbers_differ_from_world_to_world() -> None:
    seen = {}
    task = tasks.task(reward=lambda worlds: seen.update(friction=worlds.friction.copy()) or np.zeros(len(worlds)))
    envs = fg.VectorEnv(task, N)
    envs.reset(seed=0)
    envs.step(np.zeros((N, 2)))
    friction = seen["friction"][:, 0]
    assert len(set(friction)) == N and friction.min() >= 0.3 and friction.max() <= 0.9
    with pytest.raises(KeyError, match="masss"):
        fg.VectorEnv(tasks.task(randomize={"masss": (1.0, 2.0)}), 2)


def test_masses_differ_from_world_to_world() -> None:
    """What falls freely is pushed by a joint force in proportion to what it weighs."""
    task = tasks.task(
        randomize={"trunk.mass": (1.0, 9.0), "gravity": lambda w: np.tile([0.0, 0.0, -3.0], (len(w), 1))},
        reset=lambda w: w.robot.neutral() + np.eye(9)[2], observe=lambda w: w.v, action=fg.Forces(2.0),
    )  # fmt: skip
    envs = fg.VectorEnv(task, N)
    envs.reset(seed=0)
    batch = envs._episodes.batch
    masses = batch.numbers["trunk.mass"].copy()
    assert len(set(masses)) == N and masses.min() >= 1.0 and masses.max() <= 9.0
    seen = envs.step(np.zeros((N, 2)))[0]
    assert np.allclose(seen[:, 5], -3.0 * 0.02)
    tau = np.zeros(8)
    tau[6:] = 2.0
    envs.reset(seed=0)
    assert np.array_equal(batch.numbers["trunk.mass"], masses)
    pushed = envs.step(np.ones((N, 2)))[0]
    start = tasks.SCENE.robot.neutral() + np.eye(9)[2]
    numbers = {"trunk.mass": masses[2], "gravity": [0.0, 0.0, -3.0]}
    run = tasks.SCENE.rollout(start, None, np.tile(tau, (10, 1)), numbers=numbers)
    assert np.allclose(pushed[2], run.v[-1], atol=1e-12)


def served() -> fb.Scene:
    b = fb.Builder("arm", gravity=(0.0, 0.0, 0.0))
    b.body("upper", joint=fb.joints.Revolute("y"), mass=1.0, com=(0, 0, -0.2), inertia=(0.02, 0.02, 0.02))
    b.position_servo("servo", drives="upper", kp=200.0, kd=20.0, control_range=(-0.5, 1.5))
    return fb.Scene(b.build())


def test_actions_may_be_controls_of_actuators() -> None:
    scene = served()
    seen = {}
    task = fg.Task(scene, fg.Controls(), reward=lambda w: seen.update(tau=w.tau) or np.zeros(len(w)))
    envs = fg.VectorEnv(task, 2)
    envs.reset()
    for _ in range(100):
        found = envs.step(np.array([[1.0], [-1.0]]))[0]
    assert np.allclose(found[:, 0], [1.5, -0.5], atol=1e-3) and np.abs(seen["tau"]).max() < 1.0
    with pytest.raises(ArgumentError, match="no actuators"):
        fg.Task(tasks.SCENE, fg.Controls(), reward=tasks.upright)


@pytest.mark.parametrize("mode", MODES)
def test_what_diverges_ends_and_says_so(mode: str) -> None:
    stiff = fg.Targets(1e9, 0.0, scale=[0.0, 1.0])
    task = fg.Task(tasks.SCENE, stiff, reward=lambda w: np.where(w.diverged, -10.0, 1.0), reset=lambda w: begin(w))

    def begin(worlds: Any) -> np.ndarray:
        q = worlds.robot.neutral()
        q[2] = 0.43
        return q

    envs = fg.VectorEnv(task, 3, autoreset_mode=mode)
    start, _ = envs.reset(seed=0)
    u = np.zeros((3, 2))
    u[1, 1] = 1.0
    seen, reward, terminated, truncated, info = envs.step(u)
    assert list(terminated) == [False, True, False] and not truncated.any() and list(reward) == [1.0, -10.0, 1.0]
    told = info["final_info"] if mode == "SameStep" else info
    assert told["diverged"][1] and not told["diverged"][[0, 2]].any() and np.isfinite(seen).all()
    if mode == "SameStep":
        assert np.array_equal(seen[1], start[1]) and np.isfinite(info["final_obs"][1]).all()
    elif mode == "NextStep":
        seen, reward, terminated, _, info = envs.step(np.zeros((3, 2)))
        assert np.array_equal(seen[1], start[1]) and reward[1] == 0.0 and not terminated[1]
        assert list(info["_diverged"]) == [True, False, True]
    else:
        with pytest.raises(gym.error.ResetNeeded, match=r"worlds 1.*reset_mask"):
            envs.step(u)
        seen, _ = envs.reset(options={"reset_mask": terminated})
        assert np.array_equal(seen[1], start[1])


def test_wrappers_of_gymnasium_work() -> None:
    envs = gym.wrappers.vector.RecordEpisodeStatistics(fg.VectorEnv(tasks.task(), N))
    envs = gym.wrappers.vector.NormalizeObservation(gym.wrappers.vector.ClipAction(envs))
    envs.reset(seed=1)
    lengths = []
    for u in actions(80):
        info = envs.step(u)[4]
        if "episode" in info:
            lengths += info["episode"]["l"][info["_episode"]].tolist()
    assert lengths and max(lengths) == 9


def test_it_can_be_registered_and_made() -> None:
    gym.register(
        "fourbar/Hopper-v0", entry_point="fourbar.gymnasium:Env", vector_entry_point="fourbar.gymnasium:VectorEnv"
    )
    single, many = gym.make("fourbar/Hopper-v0", task=tasks.task()), None
    many = gym.make_vec("fourbar/Hopper-v0", num_envs=2, task=tasks.task(), vectorization_mode="vector_entry_point")
    assert np.array_equal(single.reset(seed=4)[0], many.reset(seed=4)[0][0])
    copies = gym.make_vec("fourbar/Hopper-v0", num_envs=2, task=tasks.task(), vectorization_mode="sync")
    assert np.array_equal(copies.reset(seed=4)[0], many.reset(seed=4)[0])


def test_options_reach_the_task() -> None:
    def begin(worlds: Any) -> np.ndarray:
        q = worlds.robot.neutral()
        q[2] = worlds.options.get("height", 0.43)
        return q

    task = tasks.task(reset=begin, observe=lambda worlds: worlds.q)
    envs = fg.VectorEnv(task, 3)
    mask = np.array([True, False, True])
    envs.reset()
    seen, _ = envs.reset(options={"reset_mask": mask, "height": 1.0})
    assert list(seen[:, 2]) == [1.0, 0.43, 1.0]
    assert fg.Env(task).reset(options={"height": 2.0})[0][2] == 2.0


def test_forces_are_what_the_model_allows() -> None:
    from fourbar.learning.episodes import Episodes

    task = tasks.task(reset=lambda w: w.robot.neutral())
    with pytest.raises(ArgumentError, match=r"largest force.*thigh.*limit="):
        fg.Task(tasks.SCENE, fg.Forces(), reward=tasks.upright)
    drive = fg.Forces([2.0, 3.0], ["shin", "thigh"]).on(tasks.SCENE.robot)
    q, v = np.zeros((1, 9)), np.zeros((1, 8))
    assert drive.command(np.array([[1.0, -0.5]]), q, v).tolist() == [[0.0] * 6 + [-1.5, 2.0]]
    episodes = Episodes(task, 1)
    episodes.advance(np.array([[9.0, 0.0]]))
    assert episodes.action[0, 0] == 1.0 and abs(episodes.command[0, 6]) <= 20.0


def test_forces_are_held_for_a_period() -> None:
    def begin(worlds: Any) -> np.ndarray:
        q = worlds.robot.neutral()
        q[2] = 0.43
        return q

    envs = fg.VectorEnv(tasks.task(reset=begin, observe=lambda w: w.q, action=fg.Forces([1.0, 2.0])), 3)
    envs.reset(seed=0)
    u = actions(1, n=3)[0]
    seen = envs.step(u)[0]
    batch = tasks.SCENE.batch(3)
    batch.reset(q=begin(envs._episodes.batch.scene))
    batch.friction[:] = envs._episodes.batch.friction
    tau = np.zeros((3, 8))
    tau[:, 6:] = np.clip(u, -1.0, 1.0) * [1.0, 2.0]
    batch.step(tau, steps=10)
    assert np.array_equal(seen, batch.q)


REFUSED = (
    ({"reward": None}, "reward=None"),
    ({"reward": lambda w: 1.0}, r"reward\(worlds\).*shape \(2,\)"),
    ({"observe": lambda w: w.q[0]}, r"observe\(worlds\).*\(2, numbers\)"),
    ({"observe": lambda w: w.q * np.nan}, "observe.*NaN.*worlds 0, 1"),
    ({"terminated": lambda w: np.zeros(3)}, r"terminated\(worlds\)"),
    ({"info": lambda w: {"a": np.zeros(3)}}, r"info\(worlds\)\['a'\]"),
    ({"reset": lambda w: np.zeros(3)}, "reset: q must have shape"),
    ({"reset": lambda w: w.robot.neutral() * np.nan}, "q is NaN"),
    ({"period": 0.003}, "period=0.003.*multiple"),
    ({"duration": 0.001}, "longer than"),
    ({"randomize": {"friction": (2.0, 1.0)}}, r"randomize\['friction'\]"),
    ({"randomize": {"friction": (-2.0, -1.0)}}, "not negative"),
    ({"memory": {"a": "b"}}, r"memory\['a'\]"),
)


@pytest.mark.parametrize(("changed", "words"), REFUSED, ids=lambda x: x if isinstance(x, str) else "")
def test_what_is_refused_is_named(changed: dict[str, Any], words: str) -> None:
    with pytest.raises(ArgumentError, match=words):
        envs = fg.VectorEnv(tasks.task(**changed), 2)
        envs.reset()
        envs.step(np.zeros((2, 2)))


def test_calls_that_are_refused() -> None:
    envs = fg.VectorEnv(tasks.task(), 2)
    with pytest.raises(gym.error.ResetNeeded):
        envs.step(np.zeros((2, 2)))
    with pytest.raises(gym.error.ResetNeeded):
        envs.reset(options={"reset_mask": np.array([True, False])})
    envs.reset()
    for bad, words in ((np.zeros(2), "shape.*thigh, shin"), (np.full((2, 2), np.nan), "worlds 0, 1 are NaN")):
        with pytest.raises(ArgumentError, match=words):
            envs.step(bad)
    with pytest.raises(ArgumentError, match=r"3 seeds.*2 worlds"):
        envs.reset(seed=[1, 2, 3])
    with pytest.raises(ArgumentError, match="reset_mask"):
        envs.reset(options={"reset_mask": np.zeros(2, bool)})
    with pytest.raises(ArgumentError, match=r"autoreset_mode='Never'.*NextStep"):
        fg.VectorEnv(tasks.task(), 2, autoreset_mode="Never")
    with pytest.raises(KeyError, match="kneee"):
        fg.Task(tasks.SCENE, fg.Forces(1.0, ["kneee"]), reward=tasks.upright)
    with pytest.raises(ArgumentError, match="Scene"):
        fg.Task(tasks.SCENE.robot, fg.Forces(1.0), reward=tasks.upright)


def test_worlds_render_side_by_side_as_pictures() -> None:
    """A picture per world, each the same as that of a single world in the same state."""
    envs = fg.VectorEnv(tasks.task(), 3, render_mode="rgb_array", size=(60, 40), autoreset_mode="SameStep")
    assert envs.metadata["render_modes"] == ["rgb_array", "human"] and envs.metadata["render_fps"] == 50
    with pytest.raises(gym.error.ResetNeeded, match="reset"):
        envs.render()
    envs.reset(seed=4)
    envs.step(np.zeros((3, 2)))
    pictures = envs.render()
    assert pictures is not None and len(pictures) == 3
    assert all(x.shape == (40, 60, 3) and x.dtype == np.uint8 for x in pictures)
    assert not np.array_equal(pictures[0], pictures[1])
    env = fg.Env(tasks.task(), render_mode="rgb_array", size=(60, 40))
    env.reset(seed=4)
    env.step(np.zeros(2))
    assert np.abs(env.render().astype(int) - pictures[0].astype(int)).mean() < 1.0
    assert fg.VectorEnv(tasks.task(), 2).render() is None
    with pytest.raises(ArgumentError, match="VectorEnv: render_mode"):
        fg.VectorEnv(tasks.task(), 2, render_mode="ansi")


@pytest.mark.parametrize("worlds", [1, 3])
def test_a_page_shows_worlds_while_they_are_stepped(worlds: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is opened once, and moves with every step; side by side if there are several."""
    pytest.importorskip("viser", reason="viser is not installed: the extra 'view'")
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    kind, several = (fg.Env, ()) if worlds == 1 else (fg.VectorEnv, (worlds,))
    env = kind(tasks.task(), *several, render_mode="human")
    try:
        env.reset(seed=1)
        window = env._display._page.window
        handle = next(g.handle for g in window.groups if g.layer == "shapes" and g.items[0].place == 1)
        first = np.array(handle.batched_positions)
        assert len(first) % worlds == 0 and (np.ptp(first, axis=0).max() > 0.3) == (worlds > 1)
        for _ in range(10):
            env.step(np.ones(env.action_space.shape))
        assert np.abs(np.array(handle.batched_positions) - first).max() > 1e-3
        assert env.render() is None and opened == [window.url]
        assert (np.abs(window._root.position).max() > 1e-4) == (worlds == 1), "the camera follows a single robot"
    finally:
        env.close()
    assert env._display._page is None


def test_recorded_episodes_are_those_of_environments(tmp_path: Any) -> None:
    """World i of a record has the numbers of an environment with its seed, until its episode ends."""

    def policy(observations: np.ndarray) -> np.ndarray:
        return np.tanh(observations[:, :2])

    task = tasks.task()
    episodes = fg.record(task, policy, 3, seed=5)
    assert episodes.q.shape == (len(episodes.t), 3, 9) and episodes.reward.shape == (len(episodes.t) - 1, 3)
    for i in range(3):
        env = fg.Env(task)
        observation, _ = env.reset(seed=5 + i)
        total, ended, steps = 0.0, False, 0
        while not ended:
            assert np.array_equal(env._episodes.batch.q[0], episodes.q[steps, i])
            observation, reward, terminated, truncated, _ = env.step(policy(observation[None])[0])
            total, steps, ended = total + reward, steps + 1, terminated or truncated
        assert steps == episodes.steps[i] and np.isclose(total, episodes.reward[:, i].sum())
        assert terminated == episodes.terminated[i]
        assert (episodes.q[steps:, i] == episodes.q[steps, i]).all(), "it stays where it ended"
    recording = episodes.recording
    assert recording.terrains and recording.forces.shape == episodes.force.shape and recording.forces.any()
    episodes.save(tmp_path / "run.html")
    episodes.save(tmp_path / "run.npz")
    assert "fourbar" in (tmp_path / "run.html").read_text(encoding="utf-8")


def test_what_a_record_refuses() -> None:
    with pytest.raises(ArgumentError, match="duration"):
        fg.record(tasks.task(duration=None), lambda x: np.zeros((len(x), 2)))
    with pytest.raises(ArgumentError, match="record: actions must have shape"):
        fg.record(tasks.task(), lambda x: np.zeros(5))
    for wrong in ({"seed": -1}, {"policy": 3}, {"task": 3}):
        given: dict[str, Any] = {"task": tasks.task(), "policy": lambda x: np.zeros((len(x), 2)), **wrong}
        with pytest.raises(ArgumentError, match="record"):
            fg.record(**given)
    assert len(fg.record(tasks.task(duration=None), lambda x: np.zeros((len(x), 2)), duration=0.06).t) == 4
