"""What closes a kinematic loop. Adding one: subclass `Loop`, write its residual; everything else is derived from it."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from ..errors import ModelError
from ..spatial.linear import Scalar, Vec, dot
from ..spatial.transform import Transform

if TYPE_CHECKING:
    from ..joints.base import Joint
    from ..joints.mirror import Mirror, Mirrored, Rows


class View(Protocol):
    """What a loop sees of the mechanism: coordinates of joints and poses of bodies, by name, over any scalar."""

    def q(self, joint: str) -> Vec:
        """Coordinates of a joint."""
        ...

    def pose(self, body: str) -> Transform:
        """Pose of a body in the frame of the body that carries the whole loop."""
        ...


class Loop(ABC):
    """A condition φ = 0 between joints or bodies. Frozen and hashable.

    Only the residual φ is written. Its Jacobian K, the rates k, and the maps G and g from independent to all velocities
    and accelerations come from differentiating its trace (Chignoli §IV).
    """

    @property
    @abstractmethod
    def joints(self) -> tuple[str, ...]:
        """Joints whose coordinates the residual uses."""

    @property
    def bodies(self) -> tuple[str, ...]:
        """Bodies whose poses the residual uses."""
        return ()

    @property
    def driven_joints(self) -> tuple[str, ...]:
        """Joints that should rather be dependent than the others."""
        return ()

    @property
    def extra_joint(self) -> Joint | None:
        """A joint that needs coordinates of its own to close the loop: a robot gets a body without mass for it."""
        return None

    @abstractmethod
    def residual(self, view: View) -> Sequence[Scalar]:
        """φ: zero where the loop is closed. Rows may be redundant."""

    def minimal_residual(self, view: View) -> Sequence[Scalar]:
        """φ with as few rows as it holds velocities: none that only tells closed configurations apart, and so stays
        zero to first order where the loop is closed. It is zero where `residual` is, and only there."""
        return self.residual(view)

    # What editing a robot does to a loop. These work for every loop; a loop that stays one of its own kind says so.

    def renamed(self, joints: Mapping[str, str], bodies: Mapping[str, str]) -> Loop:
        """The same loop where joints and bodies have other names (old to new; those not listed stay)."""
        return Renamed(self, _of(joints, self.joints), _of(bodies, self.bodies))

    def held(self, at: Mapping[str, tuple[float, ...]]) -> tuple[Loop, ...]:
        """What is left where some joints stay at given coordinates: nothing, the loop itself, or others."""
        stay = tuple((joint, tuple(at[joint])) for joint in self.joints if joint in at)
        if len(stay) < len(self.joints) or self.bodies:
            return (Held(self, stay) if stay else self,)
        return ()

    def mirrored(self, mirror: Mirror, joints: Mapping[str, Mirrored]) -> Loop:
        """The mirror image; `joints` are the images of the joints, by name."""
        maps = tuple((name, joints[name].q) for name in self.joints)
        return Reflected(self, mirror, maps)


# Loops of any kind in an edited robot: what they see of it is turned into what they knew before.


@dataclass(frozen=True)
class Seen(Loop):
    """A loop that looks at the robot through `_view`."""

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

    def residual(self, view: View) -> Sequence[Scalar]:
        return self.inner.residual(self._view(view))

    def minimal_residual(self, view: View) -> Sequence[Scalar]:
        return self.inner.minimal_residual(self._view(view))

    @abstractmethod
    def _view(self, view: View) -> View:
        """The robot as the loop knows it."""


@dataclass(frozen=True)
class Renamed(Seen):
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

    def _view(self, view: View) -> View:
        return _RenamedView(view, dict(self.joint_names), dict(self.body_names))


class _RenamedView:
    def __init__(self, view: View, joints: dict[str, str], bodies: dict[str, str]) -> None:
        self._inner, self._joints, self._bodies = view, joints, bodies

    def q(self, joint: str) -> Vec:
        return self._inner.q(self._joints.get(joint, joint))

    def pose(self, body: str) -> Transform:
        return self._inner.pose(self._bodies.get(body, body))


@dataclass(frozen=True)
class Held(Seen):
    """A loop some of whose joints do not move any more: (joint, coordinates)."""

    at: tuple[tuple[str, tuple[float, ...]], ...]

    @property
    def joints(self) -> tuple[str, ...]:
        return tuple(x for x in self.inner.joints if x not in dict(self.at))

    @property
    def driven_joints(self) -> tuple[str, ...]:
        return tuple(x for x in self.inner.driven_joints if x not in dict(self.at))

    def _view(self, view: View) -> View:
        return _HeldView(view, dict(self.at))


class _HeldView:
    def __init__(self, view: View, at: dict[str, tuple[float, ...]]) -> None:
        self._inner, self._at = view, at
        self.pose = view.pose

    def q(self, joint: str) -> Vec:
        return Vec(self._at[joint]) if joint in self._at else self._inner.q(joint)


@dataclass(frozen=True)
class Reflected(Seen):
    """The mirror image of a loop; `maps` are the orthogonal maps of its joints' coordinates to those of the image."""

    mirror: Mirror
    maps: tuple[tuple[str, Rows], ...]

    def _view(self, view: View) -> View:
        return _ReflectedView(view, self.mirror, dict(self.maps))


class _ReflectedView:
    def __init__(self, view: View, mirror: Mirror, maps: dict[str, Rows]) -> None:
        self._inner, self._mirror, self._maps = view, mirror, maps

    def q(self, joint: str) -> Vec:
        image = self._inner.q(joint)
        return Vec([dot(column, image) for column in zip(*self._maps[joint], strict=True)])

    def pose(self, body: str) -> Transform:
        return self._mirror.transform(self._inner.pose(body))


def _of(names: Mapping[str, str], used: Sequence[str]) -> tuple[tuple[str, str], ...]:
    return tuple((old, names[old]) for old in used if names.get(old, old) != old)


def read_number(what: str, value: Any) -> float:
    """One finite number."""
    try:
        x = float(value)
    except (TypeError, ValueError):
        x = math.nan
    if not math.isfinite(x):
        raise ModelError(f"{what} must be a finite number, got {value!r}")
    return x


def read_names(what: str, names: Any) -> tuple[str, ...]:
    """Names of different joints, in a list or tuple."""
    if isinstance(names, str) or not isinstance(names, Sequence) or not all(isinstance(x, str) for x in names):
        shown = [names] if isinstance(names, str) else ["left", "right"]
        raise ModelError(f"{what}: expected a list of joints, such as {shown!r}, got {names!r}")
    if not names:
        raise ModelError(f"{what}: expected at least one joint, got {names!r}")
    if len(set(names)) < len(names):
        raise ModelError(f"{what}: expected different joints, got {list(names)!r}")
    return tuple(names)
