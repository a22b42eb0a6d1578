"""Draws docs/images/feet.png, the picture of the README: Cassie on its feet.  python docs/make_readme_picture.py [FILE]

Two of `fourbar.robots.cassie_leg` on a pelvis, each leg with two loops: the achilles rod and the plantar rod. Cassie is
dropped onto a plane and stands by a PD law; the arrows are the contact forces of the last state.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from PIL import Image

import fourbar as fb
from fourbar.contact import Shape

SIDES = ("left", "right")


def cassie() -> fb.System:
    """Both legs on a floating pelvis."""
    b = fb.Builder("cassie")
    b.body("pelvis", joint=fb.joints.Free(), mass=10.3, inertia=(0.09, 0.08, 0.06))
    leg = fb.robots.cassie_leg()
    robot = b.build().attach(leg, "pelvis", position=(0.0, 0.13, 0.0), prefix="left_")
    return robot.attach(leg.mirrored("y"), "pelvis", position=(0.0, -0.13, 0.0), prefix="right_")


def stand(robot: fb.System) -> fb.Run:
    """A moment on a floor; each foot is a bar that touches with its two ends."""
    turned = (0.0, np.pi / 2, 0.0)
    bars = [Shape(f"{side}_foot", "capsule", (0.02, 0.18), (0.03, 0.0, -0.02), rpy=turned) for side in SIDES]
    scene = fb.Scene(robot, fb.Plane(friction=0.8), contacts=bars)
    q = scene.start(robot.neutral())
    places = [robot.names.coordinates.index(name) for name in robot.names.velocities[6:]]
    stiffness = 400.0 / np.diag(robot.inverse_mass_matrix(q))[6:]

    def hold(t: float, q_now: np.ndarray, v: np.ndarray) -> np.ndarray:
        """A PD law about the start."""
        return np.concatenate([np.zeros(6), stiffness * ((q - q_now)[places] - 0.1 * v[6:])])

    return scene.simulate(q, duration=0.3, dt=1e-3, tau=hold, every=10)


def main() -> None:
    """Draw."""
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "images" / "feet.png"
    run = stand(cassie())
    run.save(path, time=run.t[-1], size=(2000, 1250))
    with Image.open(path) as whole:
        part = whole.crop((200, 190, 1800, 1190)).resize((880, 550), Image.Resampling.LANCZOS)
        part.quantize(255).save(path, optimize=True)


if __name__ == "__main__":
    main()
