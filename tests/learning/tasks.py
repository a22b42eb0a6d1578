"""Tasks that tests share: a hopper that falls, with all that a task may have."""

from __future__ import annotations

from typing import Any

import numpy as np

import fourbar as fb
from fourbar.contact import Shape


def hopper() -> fb.Scene:
    """A trunk that moves freely, on a leg with two joints and a round foot."""
    b = fb.Builder("hopper")
    b.body("trunk", joint=fb.joints.Free(), mass=3.0, inertia=(0.03, 0.03, 0.02))
    b.body(
        "thigh", parent="trunk", joint=fb.joints.Revolute("y"), mass=0.5, com=(0, 0, -0.1), inertia=(2e-3, 2e-3, 1e-4)
    )
    b.body("shin", parent="thigh", joint=fb.joints.Revolute("y"), position=(0, 0, -0.2), mass=0.3, com=(0, 0, -0.1),
           inertia=(1e-3, 1e-3, 1e-4))  # fmt: skip
    foot = Shape("shin", "sphere", 0.02, position=(0, 0, -0.2))
    return fb.Scene(b.build(), fb.Plane(friction=0.7), contacts=[foot])


SCENE = hopper()


def begin(worlds: Any) -> tuple[np.ndarray, np.ndarray]:
    """Standing, with some noise; a command is drawn too."""
    q = np.repeat(worlds.robot.neutral()[None], len(worlds), 0)
    q[:, 2] = 0.43
    q[:, 7:] += worlds.random.uniform(-0.2, 0.2, (2,))
    worlds["command"] = worlds.random.normal(0.1)
    return q, np.zeros((len(worlds), worlds.robot.nv))


def noisy(worlds: Any) -> np.ndarray:
    """What is felt, with noise, and the command."""
    felt = worlds.proprioception()
    return np.concatenate([felt + worlds.random.normal(0.01, felt.shape[1:]), worlds["command"][:, None]], axis=1)


def upright(worlds: Any) -> np.ndarray:
    return -worlds.gravity[:, 2] - 0.01 * (worlds.action**2).sum(axis=1) + worlds["command"]


def fallen(worlds: Any) -> np.ndarray:
    return worlds.gravity[:, 2] > -0.97


def info(worlds: Any) -> dict[str, np.ndarray]:
    return {"height": worlds.base_position[:, 2], "feet": worlds.touching}


def task(**changed: Any) -> Any:
    """Standing on one leg, which nobody learns: it falls soon."""
    import fourbar.gymnasium as fg

    given: dict[str, Any] = {
        "reward": upright, "observe": noisy, "terminated": fallen, "reset": begin, "info": info, "duration": 0.18,
        "randomize": {"friction": (0.3, 0.9)}, "memory": {"command": ()},
    }  # fmt: skip
    given |= {"action": fg.Targets(30.0, 0.5, limit=20.0)}
    return fg.Task(SCENE, **(given | changed))
