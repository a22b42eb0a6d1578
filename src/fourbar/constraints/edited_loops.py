"""Loops of any kind in an edited robot: each sees the robot as it was before the edit."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from ..joints.mirror import Mirror
from ..joints.mirror_image import Rows
from ..spatial.linear import Scalar, Vec, dot
from ..spatial.transform import Transform
from .loop import EDITED, Loop, MechanismView


@dataclass(frozen=True)
class EditedLoop(Loop):
    """A loop of an edited robot, which it sees through `_view`."""

    inner: Loop

    @property
    def joints(self) -> tuple[str, ...]:
        return self.inner.joints

    @property
    def bodies(self) -> tuple[str, ...]:
        return self.inner.bodies

    @property
    def driven_joints(self) -> tuple[str, ...]:
        return self.inner.driven_joints

    def residual(self, view: MechanismView) -> Sequence[Scalar]:
        return self.inner.residual(self._view(view))

    def minimal_residual(self, view: MechanismView) -> Sequence[Scalar]:
        return self.inner.minimal_residual(self._view(view))

    @abstractmethod
    def _view(self, view: MechanismView) -> MechanismView:
        """The robot as the loop knows it."""


@dataclass(frozen=True)
class Renamed(EditedLoop):
    """A loop whose joints and bodies have other names: pairs (old, new)."""

    joint_names: tuple[tuple[str, str], ...]
    body_names: tuple[tuple[str, str], ...]

    @property
    def joints(self) -> tuple[str, ...]:
        return tuple(dict(self.joint_names).get(x, x) for x in self.inner.joints)

    @property
    def bodies(self) -> tuple[str, ...]:
        return tuple(dict(self.body_names).get(x, x) for x in self.inner.bodies)

    @property
    def driven_joints(self) -> tuple[str, ...]:
        return tuple(dict(self.joint_names).get(x, x) for x in self.inner.driven_joints)

    def _view(self, view: MechanismView) -> MechanismView:
        return _RenamedView(view, dict(self.joint_names), dict(self.body_names))


class _RenamedView:
    def __init__(self, view: MechanismView, joints: dict[str, str], bodies: dict[str, str]) -> None:
        self._inner, self._joints, self._bodies = view, joints, bodies

    def q(self, joint: str) -> Vec:
        return self._inner.q(self._joints.get(joint, joint))

    def pose(self, body: str) -> Transform:
        return self._inner.pose(self._bodies.get(body, body))


@dataclass(frozen=True)
class LoopWithLockedJoints(EditedLoop):
    """A loop with locked joints: (joint, coordinates)."""

    at: tuple[tuple[str, tuple[float, ...]], ...]

    @property
    def joints(self) -> tuple[str, ...]:
        return tuple(x for x in self.inner.joints if x not in dict(self.at))

    @property
    def driven_joints(self) -> tuple[str, ...]:
        return tuple(x for x in self.inner.driven_joints if x not in dict(self.at))

    def _view(self, view: MechanismView) -> MechanismView:
        return _LockedView(view, dict(self.at))


class _LockedView:
    def __init__(self, view: MechanismView, at: dict[str, tuple[float, ...]]) -> None:
        self._inner, self._at = view, at
        self.pose = view.pose

    def q(self, joint: str) -> Vec:
        return Vec(self._at[joint]) if joint in self._at else self._inner.q(joint)


@dataclass(frozen=True)
class Reflected(EditedLoop):
    """The mirror image of a loop; `maps` are the orthogonal maps of its joints' coordinates to those of the image."""

    mirror: Mirror
    maps: tuple[tuple[str, Rows], ...]

    def _view(self, view: MechanismView) -> MechanismView:
        return _ReflectedView(view, self.mirror, dict(self.maps))


class _ReflectedView:
    def __init__(self, view: MechanismView, mirror: Mirror, maps: dict[str, Rows]) -> None:
        self._inner, self._mirror, self._maps = view, mirror, maps

    def q(self, joint: str) -> Vec:
        image = self._inner.q(joint)
        return Vec([dot(column, image) for column in zip(*self._maps[joint], strict=True)])

    def pose(self, body: str) -> Transform:
        return self._mirror.transform(self._inner.pose(body))


EDITED.update(renamed=Renamed, held=LoopWithLockedJoints, reflected=Reflected)
