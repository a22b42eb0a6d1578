"""Swing a cart-pole up with CasADi and IPOPT: the dynamics are fourbar's, the derivatives CasADi's.

    python -m pip install ".[casadi,plot]"
    python examples/swing_up.py

Direct collocation by the trapezoidal rule: the state and the force on the cart at N + 1 times, the equations of motion
between neighbours, least force. The plan is checked by simulating it with fourbar.
"""

from __future__ import annotations

import casadi
import numpy as np

import fourbar as fb
import fourbar.casadi

DURATION, STEPS, LIMIT = 2.0, 150, 20.0


def cart_pole() -> fb.System:
    """A cart on a rail along x, and a pole that hangs from it."""
    b = fb.Builder("cart_pole")
    b.body("cart", joint=fb.joints.Prismatic("x"), mass=1.0, inertia=(0.01, 0.01, 0.01))
    b.body(
        "pole",
        parent="cart",
        joint=fb.joints.Revolute("y"),
        mass=0.3,
        com=(0.0, 0.0, -0.5),
        inertia=(0.025, 0.025, 0.0),
    )
    return b.build()


def plan(robot: fb.System) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """q (N + 1, 2), v (N + 1, 2) and the force on the cart (N + 1) of a swing-up with the least force."""
    dynamics = fb.casadi.function(robot.forward_dynamics)
    dt = DURATION / STEPS
    problem = casadi.Opti()
    q, v, force = (problem.variable(n, STEPS + 1) for n in (2, 2, 1))
    a = dynamics.map(STEPS + 1)(q, v, casadi.vertcat(force, casadi.DM.zeros(1, STEPS + 1)))
    problem.subject_to(q[:, 1:] - q[:, :-1] == dt / 2 * (v[:, 1:] + v[:, :-1]))
    problem.subject_to(v[:, 1:] - v[:, :-1] == dt / 2 * (a[:, 1:] + a[:, :-1]))
    problem.subject_to(problem.bounded(-LIMIT, force, LIMIT))
    for x, start, end in ((q, (0.0, 0.0), (0.0, np.pi)), (v, (0.0, 0.0), (0.0, 0.0))):
        problem.subject_to(x[:, 0] == casadi.vertcat(*start))
        problem.subject_to(x[:, -1] == casadi.vertcat(*end))
    problem.minimize(dt * casadi.sumsqr(force))
    problem.set_initial(q[1, :], np.linspace(0.0, np.pi, STEPS + 1))
    problem.solver("ipopt", {"print_time": False}, {"print_level": 0, "sb": "yes"})
    found = problem.solve()
    return found.value(q).T, found.value(v).T, found.value(force)


def followed(robot: fb.System, force: np.ndarray) -> fb.Run:
    """The motion under the planned force, linear between the times of the plan."""
    times = np.linspace(0.0, DURATION, STEPS + 1)
    return fb.simulate(
        robot, [0.0, 0.0], duration=DURATION, dt=2e-3, period=0,
        tau=lambda t, q, v: np.array([np.interp(t, times, force), 0.0]),
    )  # fmt: skip


def main() -> None:
    """Plan, follow, draw."""
    robot = cart_pole()
    q, _, force = plan(robot)
    run = followed(robot, force)
    print(f"largest force {np.abs(force).max():.1f} N; the pole ends {abs(run.q[-1, 1] - np.pi):.1e} rad from upright")
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    _, axes = pyplot.subplots(2, 1, sharex=True, figsize=(7, 5), layout="constrained")
    times = np.linspace(0.0, DURATION, STEPS + 1)
    axes[0].plot(run.t, run.q, label=("cart [m]", "pole [rad]"))
    axes[0].plot(times, q, "k.", markersize=3)
    axes[0].legend()
    axes[1].plot(times, force, color="tab:green")
    axes[1].set(xlabel="time [s]", ylabel="force [N]")
    pyplot.savefig("swing_up.png")


if __name__ == "__main__":
    main()
