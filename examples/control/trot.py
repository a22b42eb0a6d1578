"""A quadruped trots, and takes a push that its gait alone does not survive: MPPI around a reference gait.

    python examples/control/trot.py      # writes trot.png

Every 20 ms 128 motions of 0.4 s are simulated under joint targets with noise; their weighted mean acts. Two live worlds
run side by side: one under the plans, one under the gait.
"""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from quadruped import HEIGHT, quadruped, standing, trot

import fourbar as fb

SPEED, PERIOD, DT, STEPS = 0.5, 0.02, 4e-3, 100  # m/s, s
PUSH, PUSHED = 120.0, (2.0, 2.2)  # N to the side, on the trunk, between these times (s)


def problem(scene: fb.Scene) -> fb.control.Problem:
    """Forwards at the speed, upright, at its height, near the gait."""

    def cost(x: Any, u: Any, gait: Any) -> dict[str, Any]:
        T, velocity = x.pose("trunk"), x.velocity("trunk")
        return {
            "speed": 3.0 * (velocity[3:5] - [SPEED, 0.0]), "turning": 0.7 * velocity[:3], "heading": 3.0 * T[1, 0],
            "upright": 8.0 * T[:2, 2], "height": 20.0 * (T[2, 3] - HEIGHT), "joints": 0.7 * (x.q[7:] - gait),
        }  # fmt: skip

    return fb.control.Problem(scene, cost=cost, dt=DT, steps=STEPS, references={"gait": np.zeros((STEPS + 1, 12))},
                              control=(-np.inf, np.inf))  # fmt: skip


def main(duration: float = 5.0) -> None:
    """Trot, push, draw."""
    scene = quadruped()
    planner = problem(scene).sampling(samples=128, noise=[0.1, 0.12, 0.12] * 4, knots=5, period=PERIOD, temperature=0.1)
    worlds, rows = scene.batch(2, dt=1e-3), np.arange(round(STEPS * DT / PERIOD))
    q0 = standing(scene)
    worlds.reset(q=np.tile(q0, (2, 1)))
    trunk = [x.name for x in scene.robot.mechanism.bodies].index("trunk")
    record = []
    for k in range(round(duration / PERIOD)):
        t = k * PERIOD
        gait = trot(t + PERIOD * rows, SPEED)
        plan = planner.step(worlds.q[0], worlds.v[0], t=t, around=gait,
                            references={"gait": trot(t + DT * np.arange(STEPS + 1), SPEED)})  # fmt: skip
        push = np.zeros((2, len(scene.robot.mechanism.bodies), 6))
        push[:, trunk, 4] = PUSH * (PUSHED[0] <= t < PUSHED[1])
        worlds.step(u=np.stack([plan, gait[0]]), f_ext=push, steps=round(PERIOD / 1e-3))
        record.append((t + PERIOD, worlds.q.copy()))
    t, q = (np.array(x) for x in zip(*record, strict=True))
    upright = 1.0 - 2.0 * (q[..., 4] ** 2 + q[..., 5] ** 2)
    ahead, low = q[-1, 0, 0] / duration, q[:, 0, 2].min()
    print(f"with sampling: {ahead:.2f} m/s, height at least {low:.2f} m, upright to {upright[:, 0].min():.2f}")
    print(f"the gait alone: height at least {q[:, 1, 2].min():.2f} m, upright to {upright[:, 1].min():.2f}")
    figure, axes = plt.subplots(3, 1, figsize=(8, 6), sharex=True, layout="constrained")
    for k, name in enumerate(("with sampling", "gait alone")):
        axes[0].plot(t, np.gradient(q[:, k, 0], t), label=name)
        axes[1].plot(t, q[:, k, 1])
        axes[2].plot(t, upright[:, k])
    for axis, label in zip(axes, ("forwards (m/s)", "aside (m)", "upright (cosine)"), strict=True):
        axis.axvspan(*PUSHED, color="0.9")
        axis.set_ylabel(label)
    axes[0].legend()
    axes[2].set_xlabel("time (s)")
    figure.savefig("trot.png", dpi=110)
    assert upright[:, 0].min() > 0.8 and q[:, 0, 2].min() > 0.2 and upright[:, 1].min() < 0.5


if __name__ == "__main__":
    main()
