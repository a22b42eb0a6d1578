"""Draws docs/images/laws.png: what the three laws of contact mean.  python docs/make_contact_picture.py [FILE]

Each panel is simulated: the force of a floor on a ball that is pressed into it, a block on a slope that friction
should hold, a ball that falls.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np

import fourbar as fb
from fourbar.contact import Compliant, MuJoCo, Rigid, Shape

G = 9.81
LAWS: dict[str, tuple[Any, str, Any]] = {
    "Rigid()": (Rigid(), "#0072B2", "-"),
    "Compliant(2e4, 100)": (Compliant(2e4, 100.0), "#009E73", "--"),
    "MuJoCo()": (MuJoCo(), "#D55E00", "-."),
}


def ball(law: Any, restitution: float | None = None) -> fb.Scene:
    """A ball of 1 kg that moves up and down."""
    b = fb.Builder("ball")
    b.body("ball", joint=fb.joints.Prismatic("z"), mass=1.0)
    floor = fb.Plane(friction=0.5, restitution=restitution)
    return fb.Scene(b.build(), floor, contacts=[Shape("ball", "sphere", 0.1, restitution=restitution)], law=law)


def block(law: Any, angle: float) -> fb.Scene:
    """A block on four feet on a slope, along whose x it would slide."""
    gravity = (G * np.sin(angle), 0.0, -G * np.cos(angle))
    b = fb.Builder("block", gravity=gravity)
    b.body("block", joint=fb.joints.Free(), mass=1.0, inertia=(0.004, 0.004, 0.007))
    feet = [Shape("block", position=(x, y, -0.05)) for x in (-0.1, 0.1) for y in (-0.1, 0.1)]
    return fb.Scene(b.build(), fb.Plane(friction=0.6), contacts=feet, law=law)


def pressed(ax: Any) -> None:
    """The depth at which a ball rests that is pressed by more and more."""
    loads = np.linspace(0.0, 200.0, 24)
    for name, (law, colour, line) in LAWS.items():
        scene = ball(law)
        push = np.zeros((len(loads), 800, 1)) - loads[:, None, None]
        run = scene.rollout(np.full((len(loads), 1), 0.1), None, push, dt=2e-3, every=800)
        depth = 1e3 * (0.1 - run.q[-1, :, 0])
        ax.plot(depth, run.contacts.force[-1, :, 0, 2], line, color=colour, label=name, lw=2)
    ax.set(title="force at rest", xlabel="how deep it sinks in (mm)", ylabel="normal force (N)", xlim=(-0.5, None))


def held(ax: Any) -> None:
    """How far a block slides that friction should hold."""
    for name, (law, colour, line) in LAWS.items():
        run = block(law, 0.4).simulate([0, 0, 0.05, 1, 0, 0, 0], duration=2.0, dt=2e-3, every=10)
        ax.plot(run.t, 1e3 * run.q[:, 0], line, color=colour, label=name, lw=2)
    ax.set(title="a block on a slope that friction holds", xlabel="time (s)", ylabel="how far it slid (mm)")


def dropped(ax: Any) -> None:
    """A ball that falls, without restitution, and a rigid one that has some."""
    for law, colour, line in LAWS.values():
        run = ball(law).simulate([0.3], duration=1.0, dt=1e-3, every=2)
        ax.plot(run.t, 1e3 * (run.q[:, 0] - 0.1), line, color=colour, lw=2)
    run = ball(Rigid(), 0.7).simulate([0.3], duration=1.0, dt=1e-3, every=2)
    ax.plot(run.t, 1e3 * (run.q[:, 0] - 0.1), ":", color="#0072B2", lw=2, label="Rigid(), restitution=0.7")
    ax.set(title="a ball that falls", xlabel="time (s)", ylabel="height above the floor (mm)")
    ax.legend(loc="upper right")


def main() -> None:
    """Draw."""
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "images" / "laws.png"
    fig, axes = plt.subplots(1, 3, figsize=(13.0, 4.2), layout="constrained")
    for ax, draw in zip(axes, (pressed, held, dropped), strict=True):
        draw(ax)
        ax.grid(alpha=0.3)
    handles, labels = axes[0].get_legend_handles_labels()
    fig.legend(handles, labels, loc="outside lower center", ncols=3)
    fig.savefig(path, dpi=90)


if __name__ == "__main__":
    main()
