"""Parameters that differ from sample to sample beside fixed ones.

python bench/varying.py [--quick] [--strict] [--save]

Functions of a batch whose robots have masses, centres of mass and inertias of their own, beside the function of a robot
with the parameters of one sample, fixed: `robot.varying(...)`, which is given the parameters in every call, and
`.at(...)`, which is given them once; then Runge-Kutta steps with `numbers=`. "nominal" is the time with the numbers of
the file, which may be special: a rotor on its axis needs no angle. `--strict` exits non-zero when a row of `at` or of
steps falls short, `--save` writes the results (bench/report.py).
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

import numpy as np

import fourbar as fb
from peer_robots import load_peer
from report import Report, add_options
from timing import steady

BATCH, STEPS, LIMIT = 1024, 64, 1.3
ROBOTS = ("panda", "anymal_b", "mini_cheetah")
FUNCTIONS = ("inverse_dynamics", "forward_dynamics", "mass_matrix")
FIELDS = {"masses": ("mass",), "masses, coms": ("mass", "com"), "all of six bodies": ("mass", "com", "inertia"),
          "all": ("mass", "com", "inertia")}  # fmt: skip
REPORT = Report("varying")


def parameters(robot: fb.System, case: str) -> dict[str, np.ndarray]:
    """Values of parameters in each sample, around the robot's own; what is zero there is not here."""
    heavy = [x.name for x in robot.mechanism.bodies if x.mass > 0.0]
    bodies = heavy[-6:] if case == "all of six bodies" else heavy
    nominal = robot.varying(*(f"{body}.{field}" for body in bodies for field in FIELDS[case])).nominal
    rng = np.random.default_rng(0)
    found = {name: x * rng.uniform(0.9, 1.1, (BATCH, *[1] * x.ndim)) for name, x in nominal.items()}
    for name, x in found.items():
        if x.ndim > 1:
            change = 0.01 * max(1e-3, np.abs(x).max()) * rng.normal(size=x.shape)
            found[name] = x + (change if x.ndim == 2 else change + np.swapaxes(change, 1, 2))
    return found


def fixed_at(robot: fb.System, values: dict[str, np.ndarray]) -> fb.System:
    """The robot with the parameters of the first sample."""
    bodies: dict[str, dict[str, Any]] = {}
    for name, x in values.items():
        body, field = name.rsplit(".", 1)
        bodies.setdefault(body, {"allow_unphysical": True})[field] = x[0]
    return robot.with_parameters(bodies=bodies)


def rows(name: str, case: str, turns: int, seconds: float) -> None:
    """All rows of a robot with some of its parameters."""
    robot = fb.robots.ROBOTS[name]() if name in fb.robots.ROBOTS else load_peer(name).robot
    rng = np.random.default_rng(1)
    q, v, tau = robot.random(rng, BATCH), 0.1 * rng.normal(size=(BATCH, robot.nv)), rng.normal(size=(BATCH, robot.nv))
    values = parameters(robot, case)
    many, count = robot.varying(*values), sum(x[0].size for x in values.values())
    at, alike = many.at(values), fixed_at(robot, values)
    for function in FUNCTIONS:
        args = (q,) if function == "mass_matrix" else (q, v, tau)
        nominal, own, direct, held = (getattr(x, function) for x in (robot, alike, many, at))
        given = [*values.values()]

        def calls(
            nominal: Any = nominal, own: Any = own, direct: Any = direct, held: Any = held, args: Any = args,
            given: Any = given,
        ) -> Any:  # fmt: skip
            return (
                lambda: nominal(*args, threads=1), lambda: own(*args, threads=1),
                lambda: direct(*args, *given, threads=1), lambda: held(*args, threads=1),
            )  # fmt: skip

        usual, fixed, first, once = steady(*calls(), turns=turns, seconds=seconds)
        row = f"{name:12} {function:17} {case:18} {count:4} numbers: fixed {fixed / BATCH * 1e9:5.0f} ns"
        row += f" (nominal {usual / BATCH * 1e9:.0f})"
        title = f"{function.replace('_', ' ')}, {case}"
        REPORT.record(f"{title}, fixed parameters", name, fixed, "ns", BATCH)
        REPORT.record(f"{title}, given in every call", name, first / fixed, "x")
        REPORT.record(f"{title}, given once (`at`)", name, once / fixed, "x")
        REPORT.judge(f"{row}, in every call {first / fixed:.2f}x, at {once / fixed:.2f}x", once / fixed, LIMIT)

    def roll(robot: fb.System, numbers: Any) -> Any:
        return fb.rollout(robot, q, v, tau[:, None], dt=1e-4, steps=STEPS, period=STEPS * 1e-4, every=STEPS, threads=1,
                          numbers=numbers)  # fmt: skip

    fixed, varied = steady(lambda: roll(alike, None), lambda: roll(robot, values), turns=turns, seconds=seconds)
    row = f"{name:12} {'RK4 step':17} {case:18} {count:4} numbers: fixed {fixed / BATCH / STEPS * 1e9:5.0f} ns"
    REPORT.record(f"Runge-Kutta step, {case}, `numbers=`", name, varied / fixed, "x")
    REPORT.judge(f"{row}, numbers= {varied / fixed:.2f}x", varied / fixed, LIMIT)


def main() -> int:
    """Print all rows; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="see whether it runs; the numbers mean nothing")
    add_options(parser)
    parser.add_argument("--robots", default=",".join(ROBOTS))
    given = parser.parse_args()
    for name in given.robots.split(","):
        for case in FIELDS:
            rows(name, case, 1 if given.quick else 9, 0.0 if given.quick else 0.02)
    return REPORT.finish()


if __name__ == "__main__":
    sys.exit(main())
