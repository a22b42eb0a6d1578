"""Where contacts act: a compiled function of the configuration, for showing forces."""

from __future__ import annotations

from functools import partial
from typing import Any

from ..algorithms import kinematics
from ..functions.arguments import Q
from ..functions.context import Context
from ..functions.function import make
from ..functions.recording import MethodRecording
from ..functions.registry import Method, Option, Outputs
from ..mechanism.mechanism import Mechanism
from ..spatial.linear import Vec
from ..spatial.transform import IDENTITY, Transform
from ..tree.cluster_tree import GROUND, ClusterTree, Location
from .candidates import Candidate, OneOf, Spec
from .contact_model import ContactModel
from .contact_rows import touch_pairs


def _point(candidate: Candidate, poses: tuple[Transform, Transform]) -> Vec:
    return candidate.geometry.touch(*poses).point


def contact_points(c: Context, spec: Spec) -> Outputs:
    """The points (n, 3) of the world where the candidates of contacts would touch."""
    links = sorted({link for x in spec.candidates for link in x.links if link != GROUND})
    placed = kinematics.poses(c.sweeps(), [Location(link, IDENTITY) for link in links])
    poses: dict[int, Transform] = dict(zip(links, placed, strict=True)) | {GROUND: IDENTITY}
    of_two = touch_pairs(c.recorder, spec.candidates, poses)
    points = []
    for x in spec.candidates:
        own = x.geometry
        if isinstance(own, OneOf):
            points.append(of_two[own.manifold, x.links][own.k].point)
        else:
            points.append(c.recorder.call(_point, x, (poses[x.links[0]], poses[x.links[1]])))
    return [("points", (len(points), 3), [x for point in points for x in point])]


_METHOD = Method(contact_points, (Q,), ("points",), (), (Option("spec"),), text=contact_points.__doc__ or "")


def _static(cluster_tree: ClusterTree, spec: Spec) -> dict[str, Any]:
    return {"spec": spec}


def compiled_points(mechanism: Mechanism, spec: Spec) -> Any:
    """The function q (..., nq) -> points (..., n, 3) where the contacts of a scene act."""
    model = ContactModel.with_contacts(mechanism, spec)
    key = (compiled_points, mechanism, spec)
    return make(MethodRecording(model, "contact_points", _METHOD, partial(_static, spec=spec), key))
