"""Pinocchio (`pip install pin`): its models as ours, and its states.

Pinocchio orders spatial vectors [linear; angular] and quaternions (x, y, z, w), and stores a continuous joint as
(cos, sin) of its angle. A `Peer` holds one of its models, the same robot as ours, and converts between the two.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import joints
from ..errors import ModelError
from ..joints.base import Joint
from ..system.robot import Builder, System

_AXES = {"X": "x", "Y": "y", "Z": "z"}
_TWIST_ORDER = [3, 4, 5, 0, 1, 2]


def _kind(model: Any, i: int) -> str:
    return model.joints[i].shortname().removeprefix("JointModel")


def _is_unbounded(kind: str) -> bool:
    return kind.startswith(("RUB", "RevoluteUnbounded"))


def _joint(model: Any, i: int) -> Joint:
    kind = _kind(model, i)
    plain: dict[str, Callable[[], Joint]] = {
        "FreeFlyer": joints.Free,
        "Spherical": joints.Spherical,
        "Translation": joints.Translation3,
        "Planar": joints.Planar,
    }
    if kind in plain:
        return plain[kind]()
    if kind.endswith("Unaligned"):
        axis = model.joints[i].extract().axis
        return joints.Prismatic(axis) if kind.startswith("Prismatic") else joints.Revolute(axis)
    if kind[-1] in _AXES and kind[:-1] in ("R", "RUB"):
        return joints.Revolute(_AXES[kind[-1]])
    if kind[-1] in _AXES and kind[:-1] == "P":
        return joints.Prismatic(_AXES[kind[-1]])
    raise ModelError(f"Pinocchio's joint {model.names[i]!r} is a {kind}, which this bridge does not translate")


def _velocity_order(model: Any, i: int) -> list[int]:
    """Which of our velocities of a joint each of Pinocchio's is."""
    nv = model.joints[i].nv
    return _TWIST_ORDER if nv == 6 else [1, 2, 0] if _kind(model, i) == "Planar" else list(range(nv))


def from_pinocchio(model: Any, name: str | None = None) -> System:
    """The same robot, from the numbers of a Pinocchio model. Its operational frames become frames.

    Inertias are taken as they are, physical or not; Pinocchio does not check them either.
    """
    b = Builder(name or model.name or "robot", gravity=model.gravity.linear)
    for i in range(1, model.njoints):
        parent, placement, inertia = model.parents[i], model.jointPlacements[i], model.inertias[i]
        first, count = model.joints[i].idx_v, model.joints[i].nv
        b.body(
            model.names[i],
            parent="world" if parent == 0 else model.names[parent],
            joint=_joint(model, i),
            position=placement.translation,
            rotation=placement.rotation,
            mass=inertia.mass,
            com=inertia.lever,
            inertia=inertia.inertia,
            armature=model.armature[first : first + count][np.argsort(_velocity_order(model, i))],
            allow_unphysical=True,
        )
    taken = {"world", *model.names}
    for frame in model.frames:
        if frame.name not in taken:
            taken.add(frame.name)
            body = "world" if frame.parentJoint == 0 else model.names[frame.parentJoint]
            b.frame(frame.name, body, position=frame.placement.translation, rotation=frame.placement.rotation)
    return b.build()


class Peer:
    """A Pinocchio model, the same robot as ours (`robot`), and the conversions of states between them."""

    def __init__(self, model: Any, name: str | None = None) -> None:
        self.model = model
        self.data = model.createData()
        self.robot = from_pinocchio(model, name)
        self._v_order = np.arange(model.nv)
        for i in range(1, model.njoints):
            first, nv = model.joints[i].idx_v, model.joints[i].nv
            self._v_order[first : first + nv] = first + np.array(_velocity_order(model, i))
        self._v_back = np.argsort(self._v_order)

    def q_to_peer(self, q: np.ndarray) -> np.ndarray:
        """Our configurations (..., nq) as Pinocchio's."""
        parts, at = [], 0
        for i in range(1, self.model.njoints):
            kind = _kind(self.model, i)
            n = self.model.joints[i].nq - (1 if _is_unbounded(kind) or kind == "Planar" else 0)
            own = q[..., at : at + n]
            at += n
            if kind == "FreeFlyer":
                own = own[..., [0, 1, 2, 4, 5, 6, 3]]
            elif kind == "Spherical":
                own = own[..., [1, 2, 3, 0]]
            elif _is_unbounded(kind) or kind == "Planar":
                angle = own[..., -1:]
                own = np.concatenate([own[..., :-1], np.cos(angle), np.sin(angle)], axis=-1)
            parts.append(own)
        return np.concatenate(parts, axis=-1)

    def v_to_peer(self, v: np.ndarray) -> np.ndarray:
        """Our velocities, accelerations or joint forces (..., nv) as Pinocchio's."""
        return v[..., self._v_order]

    def v_from_peer(self, v: np.ndarray) -> np.ndarray:
        """Pinocchio's velocities, accelerations or joint forces (..., nv) as ours."""
        return v[..., self._v_back]

    def matrix_from_peer(self, m: np.ndarray) -> np.ndarray:
        """Pinocchio's matrices on velocities (..., nv, nv) as ours."""
        return m[..., self._v_back[:, None], self._v_back]

    def jacobian_from_peer(self, J: np.ndarray) -> np.ndarray:
        """Pinocchio's Jacobians (..., 6, nv) as ours: rows [angular; linear]."""
        return J[..., _TWIST_ORDER, :][..., self._v_back]
