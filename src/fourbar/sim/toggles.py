"""Motions of scenes that come to a toggle position in which no other independent velocities determine a loop better."""

from __future__ import annotations

from ..system.system import System


def toggle_advice(robot: System) -> str:
    """What to do about a loop at a toggle position."""
    return (
        f"no velocities of its joints ({', '.join(robot.names.velocities)} now) determine the motion there, and what "
        "follows counts as not converged; let loops be rows of the problem: "
        "fb.Scene(robot.spanning().constrained(*(x.loop for x in robot.mechanism.loops)), ...)"
    )
