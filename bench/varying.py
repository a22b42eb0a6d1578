"""Parameters that differ from sample to sample beside fixed ones.  python bench/varying.py [--quick] [--strict]

Functions of a batch whose robots have masses, centres of mass and inertias of their own, beside the function of the
robot itself: `robot.varying(...)`, which is given the parameters in every call, and `.at(...)`, which is given them
once; then Runge-Kutta steps with `numbers=`. `--strict` exits non-zero when a row of `at` or of steps falls short.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

import numpy as np

import fourbar as fb
from peer_robots import load_peer
from timing import steady

BATCH, STEPS, LIMIT = 1024, 64, 1.3
ROBOTS = ("panda", "anymal_b", "mini_cheetah")
FUNCTIONS = ("inverse_dynamics", "forward_dynamics", "mass_matrix")
FIELDS = {"masses": ("mass",), "masses, coms": ("mass", "com"), "all of six bodies": ("mass", "com", "inertia"),
          "all": ("mass", "com", "inertia")}  # fmt: skip
_missed: list[str] = []


def parameters(robot: fb.System, case: str) -> dict[str, np.ndarray]:
    """Values of parameters in each sample, around the robot's own."""
    heavy = [x.name for x in robot.mechanism.bodies if x.mass > 0.0]
    bodies = heavy[-6:] if case == "all of six bodies" else heavy
    nominal = robot.varying(*(f"{body}.{field}" for body in bodies for field in FIELDS[case])).nominal
    rng = np.random.default_rng(0)
    return {name: x * rng.uniform(0.9, 1.1, (BATCH, *[1] * x.ndim)) for name, x in nominal.items()}


def judged(row: str, value: float) -> None:
    """Print a row beside its limit."""
    good = value <= LIMIT
    print(f"{row}   limit <= {LIMIT:g}{'' if good else '   MISSED'}", flush=True)
    if not good:
        _missed.append(row)


def rows(name: str, case: str, turns: int, seconds: float) -> None:
    """All rows of a robot with some of its parameters."""
    robot = fb.robots.ROBOTS[name]() if name in fb.robots.ROBOTS else load_peer(name).robot
    rng = np.random.default_rng(1)
    q, v, tau = robot.random(rng, BATCH), 0.1 * rng.normal(size=(BATCH, robot.nv)), rng.normal(size=(BATCH, robot.nv))
    values = parameters(robot, case)
    many, count = robot.varying(*values), sum(x[0].size for x in values.values())
    at = many.at(values)
    for function in FUNCTIONS:
        args = (q,) if function == "mass_matrix" else (q, v, tau)
        own, direct, held = (getattr(x, function) for x in (robot, many, at))
        given = [*values.values()]

        def calls(own: Any = own, direct: Any = direct, held: Any = held, args: Any = args, given: Any = given) -> Any:
            return (
                lambda: own(*args, threads=1), lambda: direct(*args, *given, threads=1), lambda: held(*args, threads=1)
            )  # fmt: skip

        fixed, first, once = steady(*calls(), turns=turns, seconds=seconds)
        row = f"{name:12} {function:17} {case:18} {count:4} numbers: fixed {fixed / BATCH * 1e9:5.0f} ns"
        judged(f"{row}, in every call {first / fixed:.2f}x, at {once / fixed:.2f}x", once / fixed)

    def roll(numbers: Any) -> Any:
        return fb.rollout(robot, q, v, tau[:, None], dt=1e-4, steps=STEPS, period=STEPS * 1e-4, every=STEPS, threads=1,
                          numbers=numbers)  # fmt: skip

    fixed, varied = steady(lambda: roll(None), lambda: roll(values), turns=turns, seconds=seconds)
    row = f"{name:12} {'RK4 step':17} {case:18} {count:4} numbers: fixed {fixed / BATCH / STEPS * 1e9:5.0f} ns"
    judged(f"{row}, numbers= {varied / fixed:.2f}x", varied / fixed)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="see whether it runs; the numbers mean nothing")
    parser.add_argument("--strict", action="store_true", help="exit non-zero when a row falls short")
    parser.add_argument("--robots", default=",".join(ROBOTS))
    given = parser.parse_args()
    for name in given.robots.split(","):
        for case in FIELDS:
            rows(name, case, 1 if given.quick else 9, 0.0 if given.quick else 0.02)
    if _missed and given.strict:
        sys.exit(f"{len(_missed)} rows fall short")


if __name__ == "__main__":
    main()
