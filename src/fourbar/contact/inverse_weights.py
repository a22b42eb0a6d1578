"""Inverse inertias of bodies and joints at the neutral configuration: MuJoCo scales its softness by these."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..algorithms.constrained.rows import gram
from ..expr import Direct
from ..functions.context import Context
from ..functions.model import Model
from ..mechanism.mechanism import WORLD, Mechanism
from ..spatial.linear import Mat, Vec
from ..tree.cluster_tree import GROUND
from .delassus import ForceBasis, FreeMotion

_LEAST = 1e-15  # what moves less does not


class Weights(NamedTuple):
    """1/kg of the bodies' centres of mass, by name, and of the joints' velocities (1/kg or 1/(kg m²)), by link."""

    bodies: dict[str, float]
    joints: tuple[tuple[float, ...], ...]


def weights(model: Model, q: Sequence[float]) -> Weights:
    """The mean of the three directions in which a body, a ball or a free joint moves, at coordinates q."""
    c = Context.at(model, Direct(), {"q": tuple(float(x) for x in q), "v": (0.0,) * model.cluster_tree.nv})
    tree = model.cluster_tree
    still = [Vec([0.0] * cluster.embedding.nv) for cluster in c.clusters]
    homes = sorted({home.link for home in tree.bodies.values() if home.link != GROUND})
    free = FreeMotion(c.equations(homes), c.clusters, c.cluster_states, c.velocities(), still, c.F_ext(), c.gravity)
    bodies = {WORLD: 0.0}
    for body in model.mechanism.bodies:
        link, pose = tree.bodies[body.name]
        bodies[body.name] = 0.0 if link == GROUND else _of_body(free, link, pose.point(Vec(body.com)))
    joints = [_of_joint(free, link, placed.joint.nv) for link, placed in enumerate(tree.moving)]
    return Weights(bodies, tuple(joints))


def _answers(free: FreeMotion, base: ForceBasis) -> list[float]:
    """The diagonal of Ω: how fast a unit force moves along itself."""
    own = free.responses(base)
    both = tuple(own[n] for n in own)
    omega = gram(both, both)
    return [float(omega[i][i]) for i in range(base.size)]


def _of_body(free: FreeMotion, link: int, at: Vec) -> float:
    """The mean over unit forces at a point of a link; over unit moments where forces do not move it."""
    forces = [Vec((*at.cross(e), *e)) for e in Mat.identity(3)]
    moments = [Vec((*e, 0.0, 0.0, 0.0)) for e in Mat.identity(3)]
    found = _answers(free, ForceBasis(link, Mat((*moments, *forces))))
    turning, moving = sum(found[:3]) / 3.0, sum(found[3:]) / 3.0
    return turning if moving < _LEAST else moving


def _of_joint(free: FreeMotion, link: int, nv: int) -> tuple[float, ...]:
    found = _answers(free, ForceBasis(link, Mat.identity(nv), joint=True))
    if nv not in (3, 6):
        return tuple(found)
    parts = [found[k : k + 3] for k in range(0, nv, 3)]
    return tuple(sum(part) / 3.0 for part in parts for _ in part)


def body_of(mechanism: Mechanism, name: str) -> str:
    """The body that a name stands for: its own, or that of a frame."""
    for frame in mechanism.frames:
        if frame.name == name:
            return frame.body
    return name
