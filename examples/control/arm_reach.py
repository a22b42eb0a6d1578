"""A six-axis arm reaches places within limits of torque, joints and speed: constraints by an augmented Lagrangian.

    python examples/control/arm_reach.py      # writes arm_reach.html, which plays the motions

One problem, three goals, a batch: goals are numbers, and changing them compiles nothing.
"""

from __future__ import annotations

import numpy as np

import fourbar as fb

GOALS = np.array([[0.5, 0.35, 0.5], [0.55, -0.2, 0.35], [0.3, 0.5, 0.75]])  # m
AXES, LENGTHS = "zyyzyz", (0.15, 0.4, 0.2, 0.2, 0.1, 0.08)  # m
MASSES, TORQUES = (4.0, 5.0, 3.0, 2.0, 1.0, 0.5), np.array([60.0, 60.0, 40.0, 12.0, 12.0, 6.0])  # kg, N m


def arm() -> fb.System:
    """Links along z, with hinges in turn about their own axis and across it."""
    b, below = fb.Builder("arm"), "world"
    for k, (axis, length, mass) in enumerate(zip(AXES, LENGTHS, MASSES, strict=True)):
        inertia = (mass * length**2 / 12 + 2e-3, mass * length**2 / 12 + 2e-3, 2e-3)
        place = (0, 0, 0 if k == 0 else LENGTHS[k - 1])
        b.body(f"link{k}", parent=below, joint=fb.joints.Revolute(axis), position=place, mass=mass,
               com=(0, 0, length / 2), inertia=inertia, limits=(-2.6, 2.6), max_force=TORQUES[k],
               max_velocity=2.0)  # fmt: skip
        below = f"link{k}"
    b.frame("hand", below, position=(0, 0, LENGTHS[-1]))
    return b.build()


def main() -> None:
    """Plan, check, draw."""
    robot = arm()
    problem = fb.control.Problem(
        robot, dt=0.02, steps=60, numbers={"goal": GOALS[0]}, within=fb.control.limits(robot),
        cost=lambda x, u: {"torque": 0.02 * u, "speed": 0.1 * x.v},
        end_within={"there": (lambda x, goal: x.pose("hand")[:3, 3] - goal, 0.0, 0.0),
                    "still": (lambda x: x.v, 0.0, 0.0)},
    )  # fmt: skip
    start = np.array([0.0, 0.5, 1.2, 0.0, 0.8, 0.0])
    hold = robot.gravity_force(start)
    plan = problem.solve(start, u=hold, numbers={"goal": GOALS})
    away = np.linalg.norm(robot.pose(plan.q[:, -1], "hand")[:, :3, 3] - GOALS, axis=1)
    for k, reason in enumerate(plan.reason):
        speed, torque = abs(plan.v[k]).max(), (abs(plan.u[k]) / TORQUES).max()
        print(f"goal {k}: {reason} after {plan.iterations[k]} iterations, {1e6 * away[k]:.3f} µm away, speed at most "
              f"{speed:.4f} rad/s, torque at most {torque:.3f} of the limit")  # fmt: skip
    assert plan.converged.all() and away.max() < 2e-6 and abs(plan.v).max() < 2.0 + 2e-6
    assert (abs(plan.u) <= TORQUES).all()
    plan.run().save("arm_reach.html", spread=0.8)


if __name__ == "__main__":
    main()
