"""Robots with loops as values: equality and hashes, pickles, other processes, the text of their programs."""

from __future__ import annotations

import hashlib
import os
import pickle
import subprocess
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from fourbar import Builder, System, baselines
from fourbar.joints import Revolute
from fourbar.loops import Closure, Coupling, Gear

from .looped import BATCH, EACH, bars, mechanism, near, shaped, state

pytestmark = pytest.mark.drawn_in_line

TESTS = Path(__file__).resolve().parent.parent
METHODS = ("forward_dynamics", "inverse_dynamics", "integrate", "mass_matrix", "loop_bias")
PRINTED = ("four_bar", "geared", "moored", "written", "own_coordinate")


def digest(names: tuple[str, ...] = PRINTED) -> str:
    """A fingerprint of the programs of some robots."""
    found = hashlib.sha256()
    for name in names:
        for method in METHODS:
            found.update(mechanism(name).show(method).encode())
    found.update(centipede(3).show("forward_dynamics").encode())
    found.update(centipede(60).show("forward_dynamics").encode())
    return found.hexdigest()


def _elsewhere(code: str, seed: str, given: bytes = b"") -> bytes:
    """What a Python program in another process writes, with another order of hashes."""
    environment = os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join([str(TESTS), *sys.path])}
    return subprocess.run(
        [sys.executable, "-c", code], input=given, env=environment, check=True, capture_output=True
    ).stdout


@cache
def centipede(n: int) -> System:
    """Four-bars, each carried by the rocker of the one before; every third is different, the others are alike."""
    b = Builder(f"centipede{n}", gravity=(0, -9.81, 0))
    carrier = "world"
    for i in range(n):
        length = 0.5 if i % 3 else 0.55
        b.loop(
            bars(b, f"s{i}_", (1.0, 0.4, 0.9, 0.7 + length / 10), carrier=carrier, at=0.1), independent=[f"s{i}_crank"]
        )
        carrier = f"s{i}_rocker"
    return b.build()


@pytest.mark.slow_cases("1")
@pytest.mark.parametrize("seed", ["1", pytest.param("2", marks=pytest.mark.slow)])
def test_programs_do_not_depend_on_the_order_of_hashes(seed: str) -> None:
    code = "from tests.loops.test_identity import digest; print(digest(), end='')"
    assert _elsewhere(code, seed).decode() == digest()


@EACH
def test_equal_when_built_again(name: str) -> None:
    from .looped import _MAKERS

    robot, again = mechanism(name), _MAKERS[name]().build()
    assert robot == again and hash(robot) == hash(again) and robot is not again
    assert robot != robot.spanning() and robot != robot.with_gravity((0, 0, 1))


def _geared(ratio: float = 2.0, name: str = "gear", driver: str = "a") -> System:
    b = Builder("geared")
    for i, wheel in enumerate("ab"):
        shaped(b, wheel, i, joint=Revolute("z"))
    return b.loop(Gear(driver, "b" if driver == "a" else "a", ratio), name=name).build()


def test_different_loops_make_different_robots() -> None:
    robots = [
        _geared(),
        _geared(3.0),
        _geared(name="other"),
        _geared(driver="b"),
        _geared().with_independent("b"),
        _geared().with_independent(("a", 2.0)),
    ]
    assert len(set(robots)) == len(robots)
    assert _geared().with_independent("b") == _geared().with_independent("b")
    assert Coupling({"a": 1.0, "b": 2.0}) == Coupling({"a": 1, "b": 2})
    place = {"at_predecessor": [1, 0, 0]}
    assert Closure(Revolute("z"), "a", "b", **place) == Closure(
        Revolute("z"), "a", "b", at_predecessor=np.array([1.0, 0, 0])
    )
    assert Closure(Revolute("z"), "a", "b", **place) != Closure(Revolute("z"), "b", "a", **place)


@EACH
def test_pickled_robots_are_equal(name: str) -> None:
    robot = mechanism(name)
    again = pickle.loads(pickle.dumps(robot))
    assert again == robot and hash(again) == hash(robot)
    assert again.names == robot.names and np.array_equal(again.neutral(), robot.neutral())


@pytest.mark.parametrize("name", ["four_bar", "written"])
def test_robots_and_their_methods_travel(name: str) -> None:
    """To a process with another order of hashes: the same robot, the same bits."""
    robot, s = mechanism(name), state(name)
    code = (
        "import pickle, sys\n"
        "robot, method, s = pickle.load(sys.stdin.buffer)\n"
        "a = method(s.q, s.v, s.tau)\n"
        "same = (robot.forward_dynamics(s.q, s.v, s.tau) == a).all()\n"
        "sys.stdout.buffer.write(pickle.dumps((robot, a, bool(same))))"
    )
    sent = pickle.dumps((robot, robot.forward_dynamics, s))
    again, a, same = pickle.loads(_elsewhere(code, "3", sent))
    assert again == robot and same
    assert np.array_equal(a, robot.forward_dynamics(s.q, s.v, s.tau))


@pytest.mark.slow
def test_equal_clusters_share_their_code() -> None:
    """A long robot has many calls of few blocks, and is right."""
    robot = centipede(60)
    program = robot.program("forward_dynamics")
    assert len(program.blocks) < len(program.calls) / 4
    rng = np.random.default_rng(0)
    one = mechanism("four_bar").random(rng, BATCH)
    near(one[:, :1], one[:, :1], 0.0)
    q = robot.assemble(np.tile(robot.neutral(), (2, 1)) + 1e-2 * rng.normal(size=(2, robot.nq)))
    v, a = 0.1 * rng.normal(size=(2, 2, robot.nv))
    tau = robot.inverse_dynamics(q, v, a)
    near(tau, baselines.projected_inverse_dynamics(robot, q, v, a), 1e-10)
    near(robot.forward_dynamics(q, v, tau), a, 1e-6)


@pytest.mark.slow  # compile/test_layouts has both layouts of many methods
@pytest.mark.quick
def test_both_layouts_agree() -> None:
    """A short robot is unrolled, a long one shares steps: the same cluster in both moves the same."""
    short, long = centipede(3), centipede(60)
    assert len(short.program("forward_dynamics").blocks) <= 3
    rng = np.random.default_rng(1)
    q = short.assemble(np.tile(short.neutral(), (2, 1)) + 1e-2 * rng.normal(size=(2, short.nq)))
    rest = np.tile(long.neutral()[short.nq :], (2, 1))
    joined = np.concatenate([q, rest], axis=-1)
    v = rng.normal(size=(2, short.nv))
    moving = np.concatenate([v, np.zeros((2, long.nv - short.nv))], axis=-1)
    a, b = short.loop_bias(q, v), long.loop_bias(joined, moving)
    near(b[:, : a.shape[-1]], a, 1e-13)
    near(long.poses(joined)[:, :9], short.poses(q), 1e-14)
