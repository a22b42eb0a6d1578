"""Robots for the tests of targets."""

from __future__ import annotations

import fourbar as fb


def chain(n: int) -> fb.System:
    """Links in a row."""
    b = fb.Builder("chain")
    for i in range(n):
        b.body(
            f"link{i}", parent=f"link{i - 1}" if i else "world", joint=fb.joints.Revolute("xyz"[i % 3]),
            position=(0.0, 0.0, 0.2 if i else 0.0), mass=1.0, com=(0.01, 0.0, 0.1), inertia=(0.01, 0.012, 0.005),
        )  # fmt: skip
    return b.build()


def floating() -> fb.System:
    """A body that is free in space, with an arm."""
    b = fb.Builder("floating")
    b.body("base", joint=fb.joints.Free(), mass=2.0, com=(0.02, 0.0, 0.1), inertia=(0.03, 0.02, 0.04))
    b.body(
        "arm", parent="base", joint=fb.joints.Revolute("y"), position=(0.1, 0.0, 0.0),
        mass=1.0, com=(0.0, 0.1, 0.2), inertia=(0.01, 0.012, 0.005),
    )  # fmt: skip
    return b.build()
