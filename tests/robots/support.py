"""The robots under test, their published numbers, and states of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from fourbar import System, robots

FACTS: dict[str, Any] = json.loads(Path(__file__).with_name("facts.json").read_text("utf-8"))
BATCH = 5


def _with(name: str, **options: Any) -> Callable[[], System]:
    return lambda: robots.ROBOTS[name](**options)


PAPER: dict[str, Callable[[], System]] = {
    **{name: robots.ROBOTS[name] for name in FACTS if name in robots.ROBOTS},
    "mini_cheetah_paper": _with("mini_cheetah", version="paper"),
    "mit_humanoid_paper": _with("mit_humanoid", version="paper"),
    "gt_chain_12_uniform": _with("gt_chain", n=12),
    "pbt_chain_12_uniform": _with("pbt_chain", n=12),
}
GEARED = ("gt_chain", "jvrc1", "mini_cheetah", "mit_humanoid", "pbt_chain", "tello", "tello_with_arms")
LINKED = (
    "cassie_leg", "crank_rocker", "delta", "five_bar", "four_bar", "parallelogram", "planar_leg_linkage", "six_bar",
    "slider_crank", "stewart_platform", "tello",
)  # fmt: skip


@cache
def robot(name: str, rotors: str | None = None) -> System:
    """A robot by name, built once for all tests."""
    if name in PAPER:
        return PAPER[name]() if rotors is None else robots.ROBOTS[name](rotors=rotors)
    return robots.ROBOTS[name]() if rotors is None else robots.ROBOTS[name](rotors=rotors)


def mass(system: System) -> float:
    """Total mass."""
    return sum(body.mass for body in system.mechanism.bodies)


class State(NamedTuple):
    """A batch of states."""

    q: np.ndarray
    v: np.ndarray
    a: np.ndarray


def state(system: System, seed: int = 0, n: int = BATCH) -> State:
    """Random closed states."""
    rng = np.random.default_rng(seed)
    q = system.random(rng, n)
    v, a = rng.normal(size=(2, n, system.nv))
    return State(q, v, a)


SPREADS = {"stewart_platform": 0.04, "tello": 0.3}  # how far independent joints may go from q = 0; 0.4 for others


def near(system: System, n: int = BATCH, seed: int = 1) -> np.ndarray:
    """Closed configurations (n, nq), assembled as the neutral one is: the independent joints are moved from there."""
    spread = SPREADS.get(system.name, 0.4)
    moves = np.random.default_rng(seed).uniform(0.3 * spread, spread, (n, system.nv))
    signs = np.random.default_rng(seed + 1).choice([-1.0, 1.0], (n, system.nv))
    if system.name in ("four_bar", "parallelogram", "planar_leg_linkage"):
        signs = np.broadcast_to(np.sign(system.neutral()[-3:])[:1], signs.shape)  # away from the flat position
    q = np.broadcast_to(system.neutral(), (n, system.nq))
    for _ in range(20):
        q = system.integrate(q, signs * moves, 0.05)
    return q


def rows_of(system: System, names: list[str]) -> list[int]:
    """Where the velocities of joints are among those of the spanning tree."""
    joints = [c for c in system.mechanism.joints if c.joint.nv > 0]
    starts = np.cumsum([0, *(c.joint.nv for c in joints)])
    at = {c.name: range(int(s), int(s) + c.joint.nv) for c, s in zip(joints, starts, strict=False)}
    return [row for name in names for row in at[name]]


def columns_of(system: System, names: list[str]) -> list[int]:
    """Where independent velocities are in v, by label."""
    return [system.names.velocities.index(name) for name in names]
