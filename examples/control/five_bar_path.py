"""A five-bar linkage draws a circle with the least effort: a robot with a loop, and a reference for every knot.

    python examples/control/five_bar_path.py      # writes five_bar_path.png

The loop is part of the dynamics: states are those of the two cranks, and no constraint has to be met by the solver.
"""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np

import fourbar as fb

STEPS, DT, RADIUS = 120, 0.01, 0.05  # s, m


def main() -> None:
    """Plan, check, draw."""
    robot = fb.robots.five_bar()
    q0 = robot.neutral()
    middle = robot.pose(q0, "tip")[:3, 3] - [RADIUS, 0.0, 0.0]
    turn = np.linspace(0.0, 1.0, STEPS + 1)
    angle = 2.0 * np.pi * (10 * turn**3 - 15 * turn**4 + 6 * turn**5)  # from rest to rest
    circle = middle + RADIUS * np.stack([np.cos(angle), np.sin(angle), 0.0 * angle], axis=-1)
    problem = fb.control.Problem(
        robot, dt=DT, steps=STEPS, references={"path": circle}, numbers={"tightness": 1e3},
        cost=lambda x, u, path, tightness: {"effort": 0.1 * u, "path": tightness * (x.pose("tip")[:2, 3] - path[:2])},
        end=lambda x, path: {"path": 1e3 * (x.pose("tip")[:2, 3] - path[:2]), "rest": x.v},
    )  # fmt: skip
    hold = robot.inverse_dynamics(q0, np.zeros(2), np.zeros(2))
    plan = problem.solve(q0, u=hold, numbers={"tightness": [1e3, 10.0]})
    tip = robot.pose(plan.q, "tip")[..., :3, 3]
    gap = np.abs(robot.loop_gap(plan.q)).max()
    away = np.linalg.norm(tip - circle, axis=-1).max(axis=-1)
    effort = DT * (plan.u**2).sum(axis=(1, 2))
    for k, name in enumerate(("tight", "loose")):
        print(f"{name}: {plan.reason[k]} after {plan.iterations[k]} iterations, at most {1e3 * away[k]:.3f} mm off the "
              f"path, effort {effort[k]:.3f} N²m²s; loops closed to {gap:.1g}")  # fmt: skip
    assert plan.converged.all() and away[0] < 1e-3 and gap < 1e-9 and effort[1] < effort[0]
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    axes[0].plot(*circle[:, :2].T, "k--", label="path")
    for k, name in enumerate(("tight", "loose")):
        axes[0].plot(*tip[k, :, :2].T, label=name)
        axes[1].plot(plan.t[:-1], plan.u[k], f"C{k}", label=[name, None])
    axes[0].set(aspect="equal", xlabel="x (m)", ylabel="y (m)")
    axes[1].set(xlabel="time (s)", ylabel="torque of the cranks (N m)")
    axes[0].legend()
    axes[1].legend()
    figure.savefig("five_bar_path.png", dpi=120)


if __name__ == "__main__":
    main()
