"""The double pendulum: two uniform rods swinging in the x-z plane, with its closed-form equations beside it."""

from __future__ import annotations

import numpy as np

from ..joints import Revolute
from ..system.system import Builder, System

LENGTHS = (0.5, 0.4)
MASSES = (1.0, 0.8)


def double_pendulum(lengths: tuple[float, float] = LENGTHS, masses: tuple[float, float] = MASSES) -> System:
    """Two uniform slender rods, each hanging down at q = 0 and swinging about y."""
    b = Builder("double_pendulum")
    parent, position = "world", (0.0, 0.0, 0.0)
    for name, length, mass in zip(("upper", "lower"), lengths, masses, strict=True):
        across = mass * length**2 / 12
        b.body(
            name,
            parent=parent,
            joint=Revolute("y"),
            joint_name={"upper": "shoulder", "lower": "elbow"}[name],
            position=position,
            mass=mass,
            com=(0.0, 0.0, -length / 2),
            inertia=(across, across, 0.0),
        )
        parent, position = name, (0.0, 0.0, -length)
    b.frame("tip", "lower", position=(0.0, 0.0, -lengths[1]))
    return b.build()


def closed_form(
    q: np.ndarray,
    v: np.ndarray,
    lengths: tuple[float, float] = LENGTHS,
    masses: tuple[float, float] = MASSES,
    gravity: float = 9.81,
) -> np.ndarray:
    """Accelerations (..., 2) of the free double pendulum, from Lagrange's equations in the absolute angles."""
    (l1, l2), (m1, m2) = lengths, masses
    a1, a2 = q[..., 0], q[..., 0] + q[..., 1]
    w1, w2 = v[..., 0], v[..., 0] + v[..., 1]
    coupling = m2 * l1 * l2 / 2
    m11, m22, m12 = (m1 / 3 + m2) * l1**2, m2 * l2**2 / 3, coupling * np.cos(a1 - a2)
    f1 = -coupling * np.sin(a1 - a2) * w2**2 - (m1 / 2 + m2) * gravity * l1 * np.sin(a1)
    f2 = coupling * np.sin(a1 - a2) * w1**2 - m2 / 2 * gravity * l2 * np.sin(a2)
    determinant = m11 * m22 - m12**2
    b1, b2 = (m22 * f1 - m12 * f2) / determinant, (m11 * f2 - m12 * f1) / determinant
    return np.stack([b1, b2 - b1], axis=-1)
