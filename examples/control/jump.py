"""A quadruped jumps forwards over a gap, through contacts that are found, not given: FDDP from a clumsy hop.

    python examples/control/jump.py      # writes jump.html, which plays the hop, and the jump that became of it

The first controls crouch, push and land on the spot. Derivatives of steps with exact contacts make of them a jump of
25 cm.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from quadruped import leg_angles, quadruped, standing

import fourbar as fb

STEPS, DT, LENGTH = 80, 0.01, 0.25  # s, m
PHASES, LEGS = [0.0, 0.15, 0.25, 0.3, 0.36, 0.5, 0.8], [0.28, 0.2, 0.38, 0.38, 0.24, 0.26, 0.28]  # s, m


def problem(scene: fb.Scene) -> fb.control.Problem:
    """From rest to rest, some way ahead."""
    goal = standing(scene)
    goal[0] += LENGTH
    weights = np.r_[np.full(3, 8.0), np.full(3, 30.0), np.full(12, 2.0)]

    def cost(x: Any, u: Any, hop: Any) -> dict[str, Any]:
        return {"joints": 0.5 * (u - hop), "speed": 0.02 * x.v[6:], "turning": 0.5 * x.v[:3], "aside": 3.0 * x.q[1]}

    def end(x: Any) -> dict[str, Any]:
        return {"there": weights * x.difference(goal), "rest": 0.5 * x.v}

    return fb.control.Problem(scene, cost=cost, end=end, dt=DT, steps=STEPS, smoothing=0.02, control=(-np.inf, np.inf),
                              references={"hop": np.zeros((STEPS + 1, 12))})  # fmt: skip


def main() -> None:
    """Hop, plan, check, draw."""
    scene = quadruped()
    t = DT * np.arange(STEPS + 1)
    feet = np.zeros((STEPS + 1, 4, 2))
    feet[..., 1] = -np.interp(t, PHASES, LEGS)[:, None]
    hop = leg_angles(feet)
    start, jump = standing(scene), problem(scene)
    plan = jump.solve(start, u=hop[:-1], references={"hop": hop}, iterations=60, tolerance=1e-5)
    run = scene.rollout(start, u=plan.u, dt=DT)
    first = scene.rollout(start, u=hop[:-1], dt=DT)
    force = run.contacts.force[..., 2]
    flight = DT * (force[1:].max(axis=1) == 0.0).sum()
    print(plan.table())
    print(f"hop: ends {first.q[-1, 0]:.3f} m ahead; jump: {run.q[-1, 0]:.3f} m of {LENGTH} m, {flight:.2f} s in air, "
          f"height up to {run.q[:, 2].max():.2f} m, ends with {np.abs(run.v[-1]).max():.2f} m/s or rad/s")  # fmt: skip
    assert abs(run.q[-1, 0] - LENGTH) < 0.03 and flight > 0.08
    run.save("jump.html", ghosts=6)


if __name__ == "__main__":
    main()
