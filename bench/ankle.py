"""Torques of one leg of the MIT Humanoid under sinusoids: exact rotors, reflected inertia, no rotors (Figure 14).

"approximate" is the diagonal of the reflected inertia, "block" has the block of knee and ankle, which share a belt.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import fourbar as fb
from fourbar.robots.robot_data import build_facts, read_facts

AMPLITUDE, FREQUENCY = 0.5, 1.5  # rad, 1/s
KINDS = {"exact": "exact", "approximate": "reflected", "block": "block", "unconstrained": "none"}


def leg(rotors: str, side: str = "right") -> fb.System:
    """The leg by itself, with what carries the hip held still."""
    facts = read_facts("mit_humanoid_paper")
    parts = tuple(f"{side}_{name}" for name in ("hip", "knee", "ankle"))
    bodies = [row for row in facts["bodies"] if row["name"].startswith(parts)]
    names, joints = {row["name"] for row in bodies}, {row["joint"] for row in bodies}
    grounded = [{**row, "parent": row["parent"] if row["parent"] in names else "world"} for row in bodies]
    loops = [row for row in facts["loops"] if set(row["links"]) <= joints]
    return build_facts({**facts, "name": f"leg_{rotors}", "bodies": grounded, "loops": loops, "points": []}, rotors)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Torques:
    """Torque profiles (samples, joints) by kind, over one period."""

    t: np.ndarray
    joints: tuple[str, ...]
    by_kind: dict[str, np.ndarray]

    def error(self, kind: str, joint: int) -> tuple[float, float]:
        """Root mean square error against exact, N m, and relative to the largest exact torque."""
        exact = self.by_kind["exact"][:, joint]
        rms = float(np.sqrt(np.mean((self.by_kind[kind][:, joint] - exact) ** 2)))
        return rms, rms / float(np.abs(exact).max())


def torques(samples: int = 1000) -> Torques:
    """All joints of the leg follow A sin(2π f t) with its exact derivatives."""
    t = np.arange(samples) / samples / FREQUENCY
    w = 2.0 * np.pi * FREQUENCY
    robots = {kind: leg(rotors) for kind, rotors in KINDS.items()}
    names = robots["exact"].names.velocities
    ones = np.ones((1, len(names)))
    q, v, a = (AMPLITUDE * f[:, None] * ones for f in (np.sin(w * t), w * np.cos(w * t), -(w**2) * np.sin(w * t)))
    found = {kind: robot.inverse_dynamics(q, v, a) for kind, robot in robots.items()}
    short = tuple(name.removeprefix("right_").removesuffix("_link_joint") for name in names)
    return Torques(t, short, found)
