"""The forces that act on a robot in a simulation, and warnings: of forces of its model that do not act, and of motions
that diverge or come to singular positions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...errors import warn
from ...functions.methods.passive import has_fluid_forces
from ...mechanism.contact_pairs import touches_world
from ...once import once_per_object
from ...system.system import System
from ...tree.cluster_tree import is_compensated

if TYPE_CHECKING:
    from .controlled_motion import NotFinite

_SHOWN = 8  # joints named in a warning
# Accelerations (..., nv) and dissipated power (...) of a robot at q, v and τ.
Acting = Callable[[System, np.ndarray, np.ndarray, Any], tuple[np.ndarray, Any]]


class SimulationWarning(UserWarning):
    """Something in a robot's model does not act in the simulation, or the simulation diverged."""


def rigid(robot: System, q: np.ndarray, v: np.ndarray, tau: Any) -> tuple[np.ndarray, Any]:
    """Rigid bodies only."""
    return robot.forward_dynamics(q, v, tau), 0.0


def with_passive(robot: System, q: np.ndarray, v: np.ndarray, tau: Any) -> tuple[np.ndarray, Any]:
    """With springs and damping of the joints, drag and currents."""
    return robot.passive_dynamics(q, v, tau), robot.damping_power(q, v)


def acting_on(robot: System, passive: bool, caller: str = "simulate") -> Acting:
    """The dynamics to simulate: with springs, dampers, gravity compensation and drag, if the robot has some and
    `passive` is set.
    """
    joints = robot.model.cluster_tree.moving
    if not passive:
        return rigid
    rubbing = [c.name for c in joints if any(c.friction)]
    if rubbing:
        warn(
            f"{caller}: the Coulomb friction of {_list_joints(rubbing)} is ignored: it is discontinuous where a joint "
            "comes to rest, which Runge-Kutta steps cannot resolve; simulate fb.Scene(robot), where it acts, or set "
            "friction=0 with with_parameters",
            SimulationWarning,
        )
    sprung = any(any(c.stiffness) or any(c.damping) for c in joints)
    acting = sprung or is_compensated(robot.mechanism) or has_fluid_forces(robot.model.cluster_tree)
    return with_passive if acting else rigid


_has_floor = once_per_object(touches_world)  # of a mechanism


def warn_of_contacts(robot: System, caller: str = "simulate") -> None:
    """Warn that contacts with the world of the robot's file, such as a floor, are not simulated."""
    if _has_floor(robot.mechanism):
        warn(
            f"{caller}: contacts are not simulated: the file has a floor, or other objects of the world that can be "
            "touched, and bodies will pass through them; use fb.Scene(robot), where they act",
            SimulationWarning,
        )


class BeyondLimits(NamedTuple):
    """Joints that left their limits in a motion, and when the first did (s)."""

    joints: list[str]
    since: float


def beyond_limits(robot: System, t: np.ndarray, q: np.ndarray) -> BeyondLimits | None:
    """The joints that left their limits in a motion q (n, ..., nq), if any did."""
    joints = robot.model.cluster_tree.moving
    lower, upper = (np.array([x for c in joints for x in getattr(c, end)]) for end in ("lower", "upper"))
    if not (np.isfinite(lower).any() or np.isfinite(upper).any()):
        return None
    reached = robot.expand(q)
    outside = ((reached < lower) | (reached > upper)).reshape(len(t), -1, len(lower))
    beyond = (outside & ~outside[0]).any(axis=1)  # a sample that starts there does so on purpose
    if not beyond.any():
        return None
    owner = [c.name for c in joints for _ in c.lower]
    left = list(dict.fromkeys(name for name, out in zip(owner, beyond.any(axis=0), strict=True) if out))
    return BeyondLimits(left, float(t[int(np.argmax(beyond.any(axis=1)))]))


def warn_of_limits(robot: System, t: np.ndarray, q: np.ndarray) -> None:
    """Warn of joints that left their limits in a motion q (n, ..., nq): nothing stops them there."""
    beyond = beyond_limits(robot, t, q)
    if beyond is not None:
        warn(
            (
                f"simulate: {_list_joints(beyond.joints)} moved beyond the limits (first at t = {beyond.since:.4g} s): "
                "joint limits are enforced in scenes only, such as fb.Scene(robot)"
            ),
            SimulationWarning,
        )


def _list_joints(joints: Iterable[str]) -> str:
    names = [repr(name) for name in joints]
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return f"joint{'s' if len(names) > 1 else ''} {', '.join(names[:_SHOWN])}{more}"


def loop_hint(robot: System) -> str:
    """A sentence on loops, which a motion that diverged may have led to a toggle position; empty if there are none."""
    clusters = robot.model.cluster_tree.clusters
    names = [repr(name) for x in clusters if x.embedding.is_solved for name in x.loops]
    if not names:
        return ""
    which = f"loop {names[0]}" if len(names) == 1 else f"a loop ({', '.join(names[:4])}{', ...' * (len(names) > 4)})"
    return f". Near a toggle position of {which} velocities change quickly, and steps must be short"


def warn_of_divergence(robot: System, lost_at: np.ndarray, dt: float, not_finite: NotFinite) -> None:
    """Warn when samples (...) diverged, where the time is finite, how many did, and why if that is known."""
    lost = np.isfinite(lost_at)
    if lost.any():
        which = f"{lost.sum()} of {lost.size} samples diverged, the first" if lost.ndim else "the motion diverged"
        advice = (
            f"Try a shorter step than dt = {dt:g} s, and look for gains, stiffnesses or torques that are too large "
            f"for it{loop_hint(robot)}"
        )
        warn(f"simulate: {which} at t = {lost_at.min():.6g} s. {not_finite.reason() or advice}", SimulationWarning)


def warn_of_folds(caller: str, robot: System, since: np.ndarray) -> None:
    """Warn of samples (...) whose loops came so near to a singular position, where the time is finite, that steps lose
    most of their digits, and no smooth branch through it was found.
    """
    stuck = np.isfinite(since)
    if not stuck.any():
        return
    names = ", ".join(repr(x.name) for x in robot.mechanism.loops)
    which = f"{stuck.sum()} of {stuck.size} samples" if stuck.ndim else "the motion"
    warn(
        f"{caller}: {which} came to a singular position of loops ({names}), the first at t = {since.min():.6g} s: "
        "velocities do not determine the motion well there, and what follows may gain or lose energy. Try a shorter "
        "step, or other independent velocities (robot.with_independent(...))",
        SimulationWarning,
    )
