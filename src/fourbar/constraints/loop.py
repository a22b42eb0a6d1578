"""Kinematic loops. Adding one: subclass `Loop`, write its residual; everything else is derived from it."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from ..errors import ModelError
from ..once import import_late
from ..spatial.linear import Scalar, Vec
from ..spatial.transform import Transform
from .condition import Rates, Restriction

if TYPE_CHECKING:
    from ..joints.base import Joint
    from ..joints.mirror import Mirror
    from ..joints.mirror_image import Mirrored


class MechanismView(Protocol):
    """The mechanism as a loop sees it: coordinates of joints and poses of bodies, by name, over any scalar."""

    def q(self, joint: str) -> Vec:
        """Coordinates of a joint."""
        ...

    def pose(self, body: str) -> Transform:
        """Pose of a body in the frame of the body that carries the whole loop."""
        ...


class Loop(Restriction):
    """A condition φ = 0 between joints or bodies. Frozen and hashable.

    Given to `Builder.loop` it is embedded: exact, with fewer velocities. Given to `System.constrained` it is kept by
    forces.

    Notes
    -----
    Only the residual φ is written. Its Jacobian K, the rates k, and the maps G and g from independent to all velocities
    and accelerations come from differentiating its trace (Chignoli §II-B).
    """

    holonomic: ClassVar[bool] = True
    sights: ClassVar[str] = "bodies"
    linear: ClassVar[bool] = False  # whether it is linear in coordinates of joints, and looks at nothing else

    @property
    @abstractmethod
    def joints(self) -> tuple[str, ...]:
        """Joints whose coordinates the residual uses."""

    @property
    def bodies(self) -> tuple[str, ...]:
        """Bodies whose poses the residual uses."""
        return ()

    @property
    def attachments(self) -> tuple[tuple[str, Sequence[float]], ...]:
        """Where it holds its bodies together: each with a point (m) in its frame; none if it holds joints."""
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
    def residual(self, view: MechanismView) -> Sequence[Scalar]:
        """φ: zero where the loop is closed. Rows may be redundant."""

    def minimal_residual(self, view: MechanismView) -> Sequence[Scalar]:
        """φ with as few rows as it holds velocities: none that only distinguishes closed configurations, and so stays
        zero to first order where the loop is closed. It is zero where `residual` is, and only there."""
        return self.residual(view)

    def residual_and_rates(self, view: MechanismView, rates_of: Rates) -> tuple[Sequence[Scalar], Sequence[Scalar]]:
        """φ and its rates."""
        phi = list(self.minimal_residual(view))
        return phi, rates_of(phi)

    # What editing a robot does to a loop. These work for every loop; a loop that stays one of its own kind says so.

    def renamed(self, joints: Mapping[str, str], bodies: Mapping[str, str]) -> Loop:
        """The same loop where joints and bodies have other names (old to new; those not listed stay)."""
        return _edit("renamed")(self, _of(joints, self.joints), _of(bodies, self.bodies))

    def hold(self, at: Mapping[str, tuple[float, ...]]) -> tuple[Loop, ...]:
        """The loops that are left where some joints stay at given coordinates: none, the loop itself, or others."""
        stay = tuple((joint, tuple(at[joint])) for joint in self.joints if joint in at)
        if len(stay) < len(self.joints) or self.bodies:
            return (_edit("held")(self, stay) if stay else self,)
        return ()

    def mirrored(self, mirror: Mirror, joints: Mapping[str, Mirrored]) -> Loop:
        """The mirror image; `joints` are the images of the joints, by name."""
        maps = tuple((name, joints[name].q) for name in self.joints)
        return _edit("reflected")(self, mirror, maps)


EDITED: dict[str, Callable[..., Loop]] = {}  # loops of any kind in an edited robot: `serialize` fills this in


def _edit(how: str) -> Callable[..., Loop]:
    import_late(f"{__package__}.serialize")  # when first needed: few robots are edited
    return EDITED[how]


def _of(names: Mapping[str, str], used: Sequence[str]) -> tuple[tuple[str, str], ...]:
    return tuple((old, names[old]) for old in used if names.get(old, old) != old)


_LARGEST = 1e50  # products of several numbers must stay finite


def read_number(what: str, value: Any) -> float:
    """One finite number."""
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise ModelError(f"{what} must be a finite number, got {value!r}")
    if abs(number) > _LARGEST:
        raise ModelError(f"{what} must be at most {_LARGEST:g}, got {value!r}; check the units")
    return number


def read_factor(what: str, value: Any) -> float:
    """One finite number whose inverse is finite too, or zero."""
    x = read_number(what, value)
    if 0.0 < abs(x) < 1.0 / _LARGEST:
        raise ModelError(f"{what} must be zero or at least {1.0 / _LARGEST:g}, got {value!r}; check the units")
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
