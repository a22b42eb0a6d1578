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
from ..functions.arguments import F_EXT
from ..interop import Convention, PeerJoint, convention, swapped
from ..interop.robot_states import InSeries
from ..joints.base import Joint
from ..system.system import Builder, System, restore
from .peer import RobotPeer, constant_pose, in_series

__all__ = ["Peer", "from_pinocchio"]

_AXES = {"X": "x", "Y": "y", "Z": "z"}
_PLAIN: dict[str, Callable[[], Joint]] = {
    "FreeFlyer": joints.Free,
    "Spherical": joints.Spherical,
    "SphericalZYX": lambda: joints.SphericalEuler("zyx"),
    "Translation": joints.Translation3,
    "Planar": joints.Planar,
}


def _kind(joint: Any) -> str:
    return joint.shortname().removeprefix("JointModel")


def _joint(joint: Any, name: str) -> Joint:
    kind = _kind(joint)
    inner = joint.extract() if hasattr(joint, "extract") else joint
    if kind in _PLAIN:
        return _PLAIN[kind]()
    if kind == "Composite":
        parts = [(constant_pose(T.rotation, T.translation), _joint(x, name)) for T, x in _inside(inner)]
        return in_series([part for pair in parts for part in pair])
    if kind == "Universal":
        return joints.Universal(inner.axis1, inner.axis2)
    if kind == "HelicalUnaligned":
        return joints.Helical(inner.axis, pitch=inner.pitch)
    if kind.endswith("Unaligned"):
        return joints.Prismatic(inner.axis) if kind.startswith("Prismatic") else joints.Revolute(inner.axis)
    if kind[-1] in _AXES and kind[:-1] in ("R", "RUB"):
        return joints.Revolute(_AXES[kind[-1]])
    if kind[-1] in _AXES and kind[:-1] == "P":
        return joints.Prismatic(_AXES[kind[-1]])
    if kind[-1] in _AXES and kind[:-1] == "H":
        return joints.Helical(_AXES[kind[-1]], pitch=inner.pitch)
    raise ModelError(f"Pinocchio's joint {name!r} is a {kind}, which this bridge does not translate")


def _inside(composite: Any) -> list[tuple[Any, Any]]:
    """The placements and joints of a composite joint."""
    return list(zip(composite.jointPlacements, composite.joints, strict=True))


def _convention(joint: Any, name: str) -> Convention:
    """The convention of one of Pinocchio's joints; continuous ones differ from others in their kind only."""
    kind = _kind(joint)
    if kind == "Composite":
        return InSeries(tuple(_convention(x, name) for _, x in _inside(joint.extract())))
    unbounded = kind.startswith(("RUB", "RevoluteUnbounded"))
    return convention("pinocchio", _joint(joint, name), "unbounded" if unbounded else "")


def from_pinocchio(model: Any, name: str | None = None) -> System:
    """The robot of a Pinocchio model.

    Parameters
    ----------
    model : pinocchio.Model
        The model; its operational frames become frames.
    name : str, optional
        Name of the robot; that of the model if None.

    Returns
    -------
    System
        The same robot.

    Raises
    ------
    ModelError
        If a joint has no counterpart here.

    Notes
    -----
    Inertias are taken as they are, physical or not, even where a joint moves nothing and forward dynamics is NaN;
    Pinocchio does not check them either.

    Examples
    --------
    >>> import pinocchio
    >>> from fourbar.bridges.pinocchio import from_pinocchio
    >>> from_pinocchio(pinocchio.buildSampleModelManipulator()).nv
    6
    """
    b = Builder(name or model.name or "robot", gravity=model.gravity.linear)
    for i in range(1, model.njoints):
        parent, placement, inertia = model.parents[i], model.jointPlacements[i], model.inertias[i]
        first, count = model.joints[i].idx_v, model.joints[i].nv
        armature = np.asarray(model.armature[first : first + count])
        b.body(
            model.names[i],
            parent="world" if parent == 0 else model.names[parent],
            joint=_joint(model.joints[i], model.names[i]),
            position=placement.translation,
            rotation=placement.rotation,
            mass=inertia.mass,
            com=inertia.lever,
            inertia=inertia.inertia,
            armature=_convention(model.joints[i], model.names[i]).v_from_peer(np.zeros(0), armature),
            allow_unphysical=True,
        )
    used = {"world", *model.names}
    for frame in model.frames:
        if frame.name not in used:
            used.add(frame.name)
            body = "world" if frame.parentJoint == 0 else model.names[frame.parentJoint]
            b.frame(frame.name, body, position=frame.placement.translation, rotation=frame.placement.rotation)
    return restore(b.mechanism())


class Peer(RobotPeer):
    """A Pinocchio model, the same robot as ours (`robot`), and the conversions of states between them.

    It has the conversions of `StateMap`. Velocities are ours in another order: no conversion needs q.

    Parameters
    ----------
    model : pinocchio.Model
        The model.
    name : str, optional
        Name of the robot; that of the model if None.

    Examples
    --------
    >>> import pinocchio
    >>> from fourbar.bridges.pinocchio import Peer
    >>> peer = Peer(pinocchio.buildSampleModelManipulator())
    >>> peer.q_to_peer(peer.robot.neutral()).shape
    (6,)
    """

    def __init__(self, model: Any, name: str | None = None) -> None:
        parts, q = [], 0
        for i in range(1, model.njoints):
            joint = model.joints[i]
            stored = _convention(joint, model.names[i])
            parts.append(PeerJoint(model.names[i], stored, q, joint.idx_v, joint.idx_q, joint.idx_v))
            q += stored.nq
        super().__init__("pinocchio", model, from_pinocchio(model, name), parts)
        self.data = model.createData()

    def jacobian_from_peer(self, J: Any) -> np.ndarray:
        """Jacobians of Pinocchio as ours.

        Parameters
        ----------
        J : array_like, shape (..., 6, nv)
            Its Jacobians, rows [linear; angular].

        Returns
        -------
        ndarray, shape (..., 6, nv)
            Our Jacobians, rows [angular; linear].

        Notes
        -----
        LOCAL is our ``expressed_in="frame"``, LOCAL_WORLD_ALIGNED our default, WORLD our ``at="world"``.
        """
        return self.columns_from_peer(_swap_rows(J))

    def jacobian_to_peer(self, J: Any) -> np.ndarray:
        """Our Jacobians as those of Pinocchio.

        Parameters
        ----------
        J : array_like, shape (..., 6, nv)
            Our Jacobians, rows [angular; linear].

        Returns
        -------
        ndarray, shape (..., 6, nv)
            Its Jacobians, rows [linear; angular].
        """
        return _swap_rows(self.columns_to_peer(J))

    def wrenches_to_peer(self, f_ext: Any) -> np.ndarray:
        """Our wrenches on bodies as those on its joints.

        Parameters
        ----------
        f_ext : array_like, shape (..., n_bodies, 6), or dict
            Our wrenches [moment; force] (N m, N) on the bodies, in their frames; or on some, ``{"hand": wrench}``.

        Returns
        -------
        ndarray, shape (..., njoints, 6)
            [force; moment] on its joints, the universe first: make `pin.Force` of each row.
        """
        theirs = swapped(F_EXT.read(self.robot.model, "wrenches_to_peer", f_ext))
        return np.concatenate([np.zeros_like(theirs[..., :1, :]), theirs], axis=-2)

    def wrenches_from_peer(self, forces: Any) -> np.ndarray:
        """Its wrenches on joints as ours on bodies.

        Parameters
        ----------
        forces : array_like, shape (..., njoints, 6)
            [force; moment] on its joints, the universe first.

        Returns
        -------
        ndarray, shape (..., n_bodies, 6)
            Our wrenches [moment; force] (N m, N) on the bodies, in their frames.
        """
        return swapped(forces)[..., 1:, :]

    def momentum_from_peer(self, h: Any) -> np.ndarray:
        """Its centroidal momentum as ours.

        Parameters
        ----------
        h : array_like, shape (..., 6)
            Its hg, [linear; angular].

        Returns
        -------
        ndarray, shape (..., 6)
            Our momentum [angular; linear] (kg m²/s, kg m/s).
        """
        return swapped(h)


def _swap_rows(J: Any) -> np.ndarray:
    return np.swapaxes(swapped(np.swapaxes(np.asarray(J, float), -1, -2)), -1, -2)
