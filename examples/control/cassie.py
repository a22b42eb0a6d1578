"""Cassie squats and stands up again, on its springs and with its closed loops: FDDP from a guess that is no motion.

    python examples/control/cassie.py path/to/mujoco_menagerie      # writes cassie.png and cassie.html

The guess is the robot standing still, under no torques: gaps between knots, which the solver closes. Rods and springs
of the legs are in the dynamics; contacts of the feet are found.
"""

from __future__ import annotations

import sys
import warnings
from typing import Any

import matplotlib.pyplot as plt
import numpy as np

import fourbar as fb

STEPS, DT, LOW = 100, 0.01, 0.12  # s, m


def load(folder: str) -> fb.Scene:
    """The robot on its feet."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return fb.load_scene(f"{folder}/agility_cassie/scene.xml", contacts=["left-foot", "right-foot"], pairs="none",
                             joint_friction=False, tolerance=1e-7)  # fmt: skip


def main(folder: str) -> None:
    """Plan, check, draw."""
    scene = load(folder)
    robot, q0 = scene.robot, scene.start()
    t = DT * np.arange(STEPS + 1)
    height = q0[2] - LOW * np.sin(np.pi * np.clip(t / 0.9, 0.0, 1.0)) ** 2
    weights = np.r_[1.0, 1.0, 1.0, 5.0, 5.0, 0.0, np.full(robot.nv - 6, 0.3)]

    def cost(x: Any, u: Any, height: Any) -> dict[str, Any]:
        return {"height": 60.0 * (x.q[2] - height), "posture": 3.0 * weights * x.difference(q0), "speed": 0.1 * x.v,
                "torque": 0.1 * u}  # fmt: skip

    problem = fb.control.Problem(
        scene, cost=cost, end=lambda x: {"posture": 5.0 * weights * x.difference(q0), "rest": 0.3 * x.v}, dt=DT,
        steps=STEPS, references={"height": height}, smoothing=0.02,
    )  # fmt: skip
    plan = problem.solve(q0, q_guess=np.tile(q0, (STEPS + 1, 1)), iterations=30, tolerance=1e-5)
    print(plan.table())
    run = scene.rollout(q0, u=plan.u, dt=DT)
    apart = np.abs(run.q[:, 2] - height).max()
    open_by = np.abs(robot.loop_gap(run.q)).max()
    print(f"height within {1e3 * apart:.0f} mm of the wanted one, loops open by {open_by:.1g} m at most")
    assert plan.gap == 0.0 and apart < 0.04
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
    axes[0].plot(t, height, "k--", t, run.q[:, 2])
    axes[0].set(xlabel="time (s)", ylabel="height of the pelvis (m)")
    axes[1].plot(t[:-1], plan.u[:, [2, 3, 4]], label=["hip", "knee", "foot"])
    axes[1].set(xlabel="time (s)", ylabel="controls of the left leg")
    axes[1].legend()
    figure.savefig("cassie.png", dpi=110)
    run.save("cassie.html")


if __name__ == "__main__":
    main(sys.argv[1])
