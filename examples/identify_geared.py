"""A lift and an arm with geared motors: what can be identified of links and rotors, from a stream of measurements.

The measurements come in pieces from a generator, as from files larger than memory; none is kept.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import fourbar as fb


def build(rotor: float) -> fb.System:
    """A carriage driven by a drum, an arm driven through a gear of 50; `rotor` is the inertia of its motor."""
    b = fb.Builder("lift")
    b.body("carriage", joint=fb.joints.Prismatic("z"), mass=8.0, inertia=(0.1, 0.1, 0.1))
    b.body("drum", joint=fb.joints.Revolute("x"), position=(0, 0.3, 0), mass=1.0, inertia=(4e-3, 2e-3, 2e-3))
    b.loop(fb.loops.Gear("carriage", "drum", 20.0), independent=["carriage"])
    b.body(
        "arm",
        parent="carriage",
        joint=fb.joints.Revolute("y"),
        mass=2.0,
        com=(0.3, 0, 0.05),
        inertia=(0.01, 0.06, 0.06),
    )
    b.rotor(
        "rotor", drives="arm", ratio=50.0, parent="carriage", axis="y", mass=0.3, inertia=(rotor / 2, rotor, rotor / 2)
    )
    return b.build()


true, guess = build(rotor=1.2e-4), build(rotor=3e-4)

base = fb.base_parameters(guess, "inertia")
print("what motion depends on:", *base.combinations, sep="\n  ")
assert "arm.Jyy + 2500 rotor.Jyy" in base.combinations  # the motor's inertia counts 50² times


def measurements(pieces: int = 20, n: int = 200) -> Iterator[dict[str, np.ndarray]]:
    """Samples piece by piece."""
    rng = np.random.default_rng(0)
    for _ in range(pieces):
        q, (v, a) = true.random(rng, n), rng.normal(size=(2, n, true.nv))
        noise = [2.0, 0.1] * rng.normal(size=(n, true.nv))
        yield {"q": q, "v": v, "a": a, "tau": true.inverse_dynamics(q, v, a) + noise}


result = fb.identify(guess, measurements())
print("\n" + result.report())

right = base.combine @ true.inertial_parameters("inertia")
score = np.abs(result.base_values - right) / result.base_deviations
print(f"\nerrors in standard deviations: at most {score.max():.1f}")
assert score.max() < 5.0

try:
    result.value("rotor.Jyy")
except fb.IdentificationError as error:
    print(f"refused: {error}")
