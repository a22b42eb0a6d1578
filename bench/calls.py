"""What one call costs, however its arguments are given: a double pendulum, µs, beside the bar of each.

    python bench/calls.py [--strict] [--save]

`--strict` ends with an error if a bar is missed, `--save` writes the results (bench/report.py). The last lines are
forward dynamics of ANYmal C, as a multiple of Pinocchio's speed (where Pinocchio and its robots are installed); and of
the Mini Cheetah in batches of 1024 that come one by one, after a pause in which worker threads fall asleep: the median,
as a multiple of that on one thread.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import fourbar as fb
from report import Report, add_options
from timing import Seconds

REPORT = Report("calls")
_FASTER = 6.0  # times as fast as Pinocchio: ANYmal C
_ONE_BY_ONE = 1.3  # times as long as on one thread


def least(call: Callable[[], Any], turns: int = 40, calls: int = 500) -> Seconds:
    """The time of one call: the least of some turns."""
    call(), call(), call()
    found = []
    for _ in range(turns):
        start = time.perf_counter()
        for _ in range(calls):
            call()
        found.append((time.perf_counter() - start) / calls)
    return Seconds.least(found)


def ways(robot: Any) -> dict[str, tuple[Callable[[], Any], float]]:
    """Calls by what they show, each with its bar."""
    q, v, a = np.array([0.3, -0.7]), np.array([1.0, -2.0]), np.array([0.5, 4.0])
    many, ql, vl, al = np.tile(q, (4, 1)), q.tolist(), v.tolist(), a.tolist()
    short, whole = q.astype(np.float32), np.array([1, 2])
    f_ext = np.zeros((len(robot.names.bodies), 6))
    f, hybrid = robot.inverse_dynamics, robot.hybrid_dynamics.specialise(["elbow"])
    return {
        "inverse_dynamics(q, v, a)": (lambda: f(q, v, a), 0.4),
        "kinetic_energy(q, v)": (lambda: robot.kinetic_energy(q, v), 0.6),
        "potential_energy(q)": (lambda: robot.potential_energy(q), 0.6),
        "integrate(q, v, 1e-3)": (lambda: robot.integrate(q, v, 1e-3), 0.6),
        "lists": (lambda: f(ql, vl, al), 3.0),
        "float32": (lambda: f(short, short, short), 3.0),
        "integers": (lambda: f(whole, whole, whole), 3.0),
        "batch q with single v": (lambda: f(many, v, a), 3.0),
        "batch q with v of shape (1, 2)": (lambda: f(many, v[None], a), 3.0),
        "two batch axes": (lambda: f(many[:, None], many[:, None], a), 3.0),
        "by name": (lambda: f(q=q, v=v, a=a), 0.6),
        "f_ext": (lambda: f(q, v, a, f_ext), 0.6),
        "several results": (lambda: hybrid(q, v, a, a), 0.8),
        'pose(q, "tip")': (lambda: robot.pose(q, "tip"), 0.8),
        'jacobian(q, "tip")': (lambda: robot.jacobian(q, "tip"), 0.8),
        'jacobian(q, frame="tip")': (lambda: robot.jacobian(q, frame="tip"), 3.0),
        "jacobian by (q, v, a)": (lambda: f.jacobian(q, v, a), 0.8),
        "jvp": (lambda: f.jvp((q, v, a), (q, v, a)), 6.0),
        "vjp": (lambda: f.vjp((q, v, a), a), 6.0),
    }


def beside_pinocchio() -> tuple[Seconds, Seconds] | None:
    """Times of forward dynamics of ANYmal C, one call, ours and Pinocchio's."""
    try:
        import pinocchio as pin

        from robots import load_urdf, robot_folder
    except ImportError:
        return None
    if not robot_folder().is_dir():
        return None
    from fourbar.bridges.pinocchio import Peer

    peer = Peer(load_urdf("anymal_c_simple_description/urdf/anymal.urdf", True, None), "anymal_c")
    robot, model = peer.robot, peer.model
    data, rng = model.createData(), np.random.default_rng(0)
    q, v, tau = robot.random(0), rng.normal(size=robot.nv), rng.normal(size=robot.nv)
    theirs = pin.neutral(model)
    ours = least(lambda: robot.forward_dynamics(q, v, tau))
    return ours, least(lambda: pin.aba(model, data, theirs, v, tau))


def one_by_one(turns: int = 300) -> float:
    """How many times as long as on one thread batches take that come a millisecond apart: medians, in turns."""
    robot, rng = fb.robots.mini_cheetah(), np.random.default_rng(0)
    q, v, tau = robot.random(0, 1024), *rng.normal(size=(2, 1024, robot.nv))
    times: dict[str, list[float]] = {"default": [], "one": []}
    for _ in range(turns):
        for name, options in (("default", {}), ("one", {"threads": 1})):
            time.sleep(1e-3)
            start = time.perf_counter()
            robot.forward_dynamics(q, v, tau, **options)
            times[name].append(time.perf_counter() - start)
    return float(np.median(times["default"]) / np.median(times["one"]))


def main() -> int:
    """Print the table; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_options(parser)
    parser.parse_args()
    for name, (call, bar) in ways(fb.robots.double_pendulum()).items():
        t = least(call)
        REPORT.record(name, "double_pendulum", t, "µs")
        REPORT.judge(f"{name:36} {1e6 * t:7.2f} µs", 1e6 * t, bar)
    times = beside_pinocchio()
    if times is not None:
        ours, peer = times
        REPORT.beside("forward_dynamics(q, v, tau)", "ANYmal C", ours, peer, per=(1, 1), unit="µs")
        REPORT.judge(f"{'ANYmal C, times Pinocchio':36} {peer / ours:7.1f}x", peer / ours, _FASTER, above=True)
    apart = one_by_one()
    REPORT.record("batches of 1024 one by one, times one thread", "mini_cheetah", apart, "x")
    REPORT.judge(f"{'batches one by one, times one thread':36} {apart:7.2f}x", apart, _ONE_BY_ONE)
    return REPORT.finish()


if __name__ == "__main__":
    sys.exit(main())
