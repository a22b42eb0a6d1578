"""The inertias and the friction of an arm, from a motion designed for it and forces measured with noise.

A bar shows the progress where tqdm is installed.
"""

from __future__ import annotations

import numpy as np

import fourbar as fb

try:
    from tqdm import tqdm
except ImportError:
    tqdm = None

SHAPES = {
    "column": (4.0, (0.02, -0.01, 0.1), (0.06, 0.05, 0.02)),
    "upper": (3.0, (0.2, 0.01, 0.02), (0.01, 0.05, 0.05)),
    "fore": (1.5, (0.15, 0.0, -0.02), (0.004, 0.015, 0.016)),
}


def build(scale: float) -> fb.System:
    """The arm; `scale` is how much heavier it is than it should be."""
    b = fb.Builder("arm")
    parent, place, axis = "world", (0.0, 0.0, 0.0), "z"
    for name, (mass, com, inertia) in SHAPES.items():
        matter = {"mass": scale * mass, "com": com, "inertia": scale * np.array(inertia)}
        b.body(name, parent=parent, joint=fb.joints.Revolute(axis), position=place, limits=(-2.0, 2.0), **matter)
        parent, place, axis = name, (0.0, 0.1, 0.2) if name == "column" else (0.4, 0.0, 0.0), "y"
    return b.build()


true, guess = build(1.0), build(1.3)

motion = fb.exciting_trajectory(guess, period=8.0, velocity=2.0, acceleration=10.0, evaluations=150, samples=800)
print(f"exciting motion: condition number {motion.condition:.0f}, a random one has {motion.first:.0f}\n")

rng = np.random.default_rng(0)
friction = 0.3 * motion.v + [0.8, 0.6, 0.4] * np.sign(motion.v)
tau = true.inverse_dynamics(motion.q, motion.v, motion.a) + friction
data = {"q": motion.q, "v": motion.v, "a": motion.a, "tau": tau + 0.2 * rng.normal(size=tau.shape)}

kinds = ("inertia", "damping", "friction")
result = fb.identify(guess, data, columns=kinds, progress=tqdm)
print(result.report())

arm = result.robot
q = true.random(rng, 200)
error = np.abs(arm.gravity_force(q) - true.gravity_force(q)).max() / np.abs(true.gravity_force(q)).max()
print(f"\ngravity forces of the identified arm are right to {error:.2%}; of the guess to 30%")
assert error < 0.03
assert all(abs(result.value(f"{name}.friction")[0] - x) < 0.1 for name, x in zip(SHAPES, (0.8, 0.6, 0.4), strict=True))
