"""Bodies in a fluid: the wrenches that the sweeps for rigid bodies lack for added inertia and buoyancy; drag, currents.

The sweeps treat the added inertia as part of the body's. Velocity and gravity act on it otherwise (`FluidInertia`): the
difference is a wrench on each immersed link, by one sweep more. Robots without such bodies have none of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import add
from typing import Any, NamedTuple

from ..spatial.fluid_inertia import Hydrodynamics, is_immersed
from ..spatial.linear import Scalar, Vec, is_zero
from ..spatial.transform import Transform
from ..spatial.vectors import Twist, Wrench
from ..tree.cluster_tree import GROUND, Location
from ..tree.links import Kinematics
from .sweep import Sweeps, velocity_outward


def immersed_links(s: Sweeps) -> list[int]:
    """The links with bodies in a fluid."""
    return [i for i, link in enumerate(s.tree.links) if is_immersed(link.I)]


def gravity_outward(k: Kinematics, parent: Vec) -> Vec:
    """Gravity, or another vector of the world, in the axes of each link."""
    return k.X.unrotate(parent)


def gravity_in_roots(s: Sweeps, gravity: Vec) -> Sequence[Vec | None]:
    """Gravity in the axes of the root of each link; None for all links of robots without bodies in a fluid."""
    if not immersed_links(s):
        return [None] * len(s.tree.links)
    in_root = {root: s.step(root, gravity_outward, gravity) for root in dict.fromkeys(s.tree.roots)}
    return [in_root[root] for root in s.tree.roots]


def _net(k: Kinematics, F_ext: Wrench, V: Twist, gravity: Vec) -> Wrench:
    return F_ext - k.I.correction(V, gravity) if is_immersed(k.I) else F_ext


def net_wrenches(s: Sweeps, v: Sequence[Vec], F_ext: Sequence[Wrench], gravity: Sequence[Any]) -> Sequence[Wrench]:
    """External wrenches on the links, less those that the sweeps lack for added inertia and buoyancy."""
    immersed = immersed_links(s)
    if not immersed:
        return F_ext
    V, down = {GROUND: Twist.zero()}, {GROUND: Vec(gravity)}
    s.outward_to(immersed, velocity_outward, V, v)
    s.outward_to(immersed, gravity_outward, down)
    net = list(F_ext)
    for i in immersed:
        net[i] = s.step(i, _net, F_ext[i], V[i], down[i])
    return net


class FluidWrench(NamedTuple):
    """The wrench of drag and current on a link, and the power that it takes."""

    F: Wrench
    power: Scalar


def _fluid_wrench(pose: Transform, fluid: Hydrodynamics, V: Twist, current: Vec) -> FluidWrench:
    """That on a body at a pose on its link; V and the current in the link's frame."""
    F = pose.force_to_parent(fluid.wrench(pose.motion_to_child(V), pose.unrotate(current)))
    return FluidWrench(F, -F.power(V))


def fluid_wrenches(
    s: Sweeps, v: Sequence[Vec], bodies: Sequence[tuple[Location, Hydrodynamics]]
) -> list[tuple[int, FluidWrench]]:
    """The wrenches of drag and current on the links of bodies in a fluid, body by body."""
    acting = [(home, fluid) for home, fluid in bodies if fluid.has_forces]
    V: dict[int, Twist] = {GROUND: Twist.zero()}
    s.outward_to([home.link for home, _ in acting], velocity_outward, V, v)
    flows: dict[tuple[Any, ...], dict[int, Vec]] = {}
    wrenches = []
    for home, fluid in acting:
        key = tuple(x if x.__class__ is float else id(x) for x in fluid.current)  # symbols are not compared
        flow = flows.setdefault(key, {GROUND: fluid.current})
        if all(map(is_zero, fluid.current)):
            flow[home.link] = fluid.current
        else:
            s.outward_to([home.link], gravity_outward, flow)
        wrenches.append((home.link, s.recorder.call(_fluid_wrench, home.pose, fluid, V[home.link], flow[home.link])))
    return wrenches


def _pass_inward(k: Kinematics, F: Wrench) -> tuple[Vec, Wrench]:
    """Sᵀ F, and the wrench on the parent."""
    return k.S.project(F), k.X.force_to_parent(F)


def joint_forces(s: Sweeps, wrenches: Sequence[tuple[int, FluidWrench]]) -> dict[int, Vec]:
    """Σ Jᵀ F by link, of those that carry bodies on which the wrenches act."""
    on: dict[int, Wrench] = {}
    for link, (F, _) in wrenches:
        on[link] = s.recorder.call(add, on[link], F) if link in on else F
    return s.inward_from(_pass_inward, on, add, GROUND)
