"""Sixty-four cart-poles swing up at once, with a bounded force: box-FDDP in batches, then the plan's feedback law.

    python examples/control/cart_pole.py      # writes cart_pole.html, which plays the motions

All starts are one batch of problems. A pole heavier than planned then follows its plan with the gains and without.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import fourbar as fb

STEPS, DT, FORCE = 100, 0.03, 10.0  # s, N


def cart_pole(mass: float = 0.2) -> fb.System:
    """A cart on a rail along x, and a pole on it, upright at zero."""
    b = fb.Builder("cart_pole")
    b.body("cart", joint=fb.joints.Prismatic("x"), mass=1.0, inertia=(0.01, 0.01, 0.01))
    b.body(
        "pole", parent="cart", joint=fb.joints.Revolute("y"), mass=mass, com=(0, 0, 0.5), inertia=(0.01, 0.01, 0.001)
    )
    b.frame("tip", "pole", position=(0, 0, 1))
    return b.build()


def problem(robot: fb.System) -> fb.control.Problem:
    """Upright at the middle of the rail, with little force."""
    return fb.control.Problem(
        robot, driven=["cart"], control=(-FORCE, FORCE), dt=DT, steps=STEPS,
        cost=lambda x, u: {"rail": 0.3 * x.q[0], "angle": 0.3 * x.q[1], "speed": 0.1 * x.v, "force": 0.03 * u},
        end=lambda x: {"rail": 10.0 * x.q[0], "angle": 17.0 * x.q[1], "speed": 3.0 * x.v},
    )  # fmt: skip


def follow(robot: fb.System, plan: Any, gains: bool) -> np.ndarray:
    """The angle of the pole at the end, of a robot that follows the first plan with its gains or without."""
    q, v = plan.q[0, 0], plan.v[0, 0]
    for k in range(STEPS):
        away = np.concatenate([q - plan.q[0, k], v - plan.v[0, k]])
        force = plan.u[0, k] + (plan.gains[0, k] @ away if gains else 0.0)
        run = fb.rollout(robot, q, v, [float(np.clip(force, -FORCE, FORCE)[0]), 0.0], dt=DT, steps=1)
        q, v = run.q[-1], run.v[-1]
    return q[1]


def main() -> None:
    """Plan, check, draw."""
    robot, rng = cart_pole(), np.random.default_rng(0)
    starts = np.stack([0.3 * rng.normal(size=64), np.pi + 0.3 * rng.normal(size=64)], axis=-1)
    plan = problem(robot).solve(starts, u=0.1 * rng.normal(size=(64, STEPS, 1)), tolerance=1e-8)
    upright = np.abs(plan.q[:, -1, 1]) < 0.05
    print(
        f"{upright.sum()} of 64 upright after {plan.iterations.max()} iterations; largest force {abs(plan.u).max():g} N"
    )
    heavy = cart_pole(0.22)
    print(f"a pole heavier by a tenth ends {abs(follow(heavy, plan, True)):.2f} rad from upright with feedback, "
          f"{abs(follow(heavy, plan, False)):.2f} rad without")  # fmt: skip
    assert upright.all() and abs(follow(heavy, plan, True)) < 0.3
    plan.run((slice(0, 8),)).save("cart_pole.html", spread=1.5)


if __name__ == "__main__":
    main()
