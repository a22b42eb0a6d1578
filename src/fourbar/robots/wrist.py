"""A wrist driven by bevel gears: two inputs, whose sum tilts and whose difference turns the hand."""

from __future__ import annotations

from ..constraints import Differential
from ..joints import Revolute
from ..system.system import Builder, System


def differential_wrist() -> System:
    """A yoke (pitch) carries the hand (roll); two bevel gears on the pitch axis mesh with one on the hand.

    Half the sum of the gears' speeds is the pitch, half their difference the roll. All four bodies are one cluster with
    constant G; the independent velocities are pitch and roll. With `with_independent("left_gear", "right_gear")` the
    same robot has the gears' velocities instead, and forces that are the motors' torques.
    """
    b = Builder("differential_wrist")
    b.body(
        "yoke", joint=Revolute("y"), joint_name="pitch", mass=0.25, com=(0.02, 0.0, 0.0), inertia=(2e-4, 1.5e-4, 2e-4)
    )
    for side, y in (("left", 0.03), ("right", -0.03)):
        b.body(f"{side}_gear", joint=Revolute("y"), position=(0.0, y, 0.0), mass=0.06, inertia=(6e-6, 1.1e-5, 6e-6))
    b.body(
        "hand", parent="yoke", joint=Revolute("x"), joint_name="roll", position=(0.03, 0.0, 0.0), mass=0.4,
        com=(0.06, 0.0, 0.005), inertia=(3e-4, 6e-4, 5e-4),
    )  # fmt: skip
    gears = Differential(["pitch", "roll"], ["left_gear", "right_gear"], [[1.0, 1.0], [1.0, -1.0]])
    b.loop(gears, name="bevels", independent=["pitch", "roll"])
    b.frame("palm", "hand", position=(0.1, 0.0, 0.0))
    return b.build()
