"""Draws docs/images/gradients.png: three motions with contacts and their gradients.

python docs/make_gradient_picture.py [FILE]

The scenes are those of docs/differentiate.md, whose code is run. Lines are simulations, short thick ones the gradients.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np

HERE = Path(__file__).resolve().parent
BLUE, RED, GREEN, GREY = "#0072B2", "#D55E00", "#009E73", "#888888"


def scenes() -> dict[str, Any]:
    """The names that the page defines, by running its code."""
    text = (HERE / "differentiate.md").read_text(encoding="utf-8")
    names: dict[str, Any] = {}
    exec("\n".join(re.findall(r"```python\n(.*?)```", text, re.S)), names)
    return names


def draw_throw(ax: Any, page: dict[str, Any]) -> None:
    """The paths of the ball before and after the Newton steps."""
    speeds = ((2.0, GREY, "first"), (page["speed"], BLUE, "after two Newton steps"))
    for speed, colour, label in speeds:
        run = page["throw"].rollout(page["start"], [0, 8.0, 0, speed, 0, 2.0], steps=500)
        ax.plot(run.q[:, 0], run.q[:, 2], color=colour, lw=2, label=label)
        ax.plot(run.q[-1, 0], run.q[-1, 2], "o", color=colour)
    ax.axhline(0.0, color="black", lw=1)
    ax.axvline(page["target"], color=RED, ls=":", lw=2)
    ax.set(title="a throw to x = 3 m", xlabel="x (m)", ylabel="z (m)", ylim=(-0.05, 1.35))
    ax.legend(frameon=False, loc="upper right")


def draw_slide(ax: Any, page: dict[str, Any]) -> None:
    """The misfit by friction, and its slopes."""
    slide, measured = page["slide"], page["measured"]
    mu = np.linspace(0.2, 0.5, 121)
    run = slide.rollout(*page["pushed"], steps=100, numbers={"terrain.friction": mu})
    misfit = 1e4 * ((run.q[..., 0] - measured[:, None]) ** 2).sum(axis=0)
    ax.plot(mu, misfit, color=BLUE, lw=2)
    for x in np.linspace(0.22, 0.48, 7):
        value, width = np.interp(x, mu, misfit), 0.012
        rise = 1e4 * page["slope"](x) * width
        ax.plot([x - width, x + width], [value - rise, value + rise], color=RED, lw=3)
    ax.axvline(page["high"], color=GREEN, ls=":", lw=2)
    ax.text(page["high"] + 0.005, 0.8 * misfit.max(), f"found: {page['high']:.3f}\ntrue: 0.35", color=GREEN)
    ax.set(title="friction from a slide", xlabel="coefficient of friction", ylabel="squared errors (cm²)")


def draw_foot(ax: Any, page: dict[str, Any]) -> None:
    """The speed after the step by the angle of the leg, and its slopes."""
    hopper, angles = page["hopper"], np.linspace(-0.4, 0.4, 161)

    def start(angle: np.ndarray) -> dict[str, Any]:
        zero = np.zeros_like(angle)
        q = np.stack([zero, zero + 0.62, angle, zero], axis=-1)
        v = np.stack([zero + 0.6, zero, zero, zero], axis=-1)
        return {"q": q, "v": v, "u": angle[:, None, None] * np.ones((1, 350, 1)), "dt": 1e-3}

    run = hopper.rollout(**start(angles))
    ax.plot(angles, run.v[-1, :, 0], color=BLUE, lw=2)
    some = np.linspace(-0.35, 0.35, 8)
    found = hopper.rollout_vjp(**start(some), weights=page["by_last_speed"])
    slopes, width = found.q[:, 2] + found.u.sum(axis=(1, 2)), 0.03
    for x, value, slope in zip(some, found.run.v[-1, :, 0], slopes, strict=True):
        ax.plot([x - width, x + width], [value - width * slope, value + width * slope], color=RED, lw=3)
    ax.axhline(0.2, color=GREEN, ls=":", lw=2)
    ax.plot(page["angle"], 0.2, "o", color=GREEN)
    ax.set(title="a foot placement", xlabel="angle of the leg (rad)", ylabel="speed after the step (m/s)")


def main() -> None:
    """Draw the picture."""
    page = scenes()
    figure, axes = plt.subplots(1, 3, figsize=(13, 3.8), layout="constrained")
    for ax, draw in zip(axes, (draw_throw, draw_slide, draw_foot), strict=True):
        draw(ax, page)
        ax.spines[["top", "right"]].set_visible(False)
    figure.savefig(sys.argv[1] if len(sys.argv) > 1 else HERE / "images" / "gradients.png", dpi=110)


if __name__ == "__main__":
    main()
