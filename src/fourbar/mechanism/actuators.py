"""Actuators: what drives joints, through gears. Frozen data by name, and how it follows edits.

The velocity of an actuator is the sum, over its drives, of gear · velocity of the joint. So an actuator force u
exerts gear · u on the joint's velocities, and all actuators together give τ = Bᵀ u (`System.actuator_matrix`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np

from ..errors import ModelError, unknown
from ..joints.base import Joint
from .validate import read_coordinates, read_number

Axes = Literal["child", "parent"]
_ENDLESS = (-np.inf, np.inf)


@dataclass(frozen=True)
class Drive:
    """A joint and the gear ratios through which an actuator moves it.

    Parameters
    ----------
    joint : str
        The joint.
    gear : tuple of float, default (1.0,)
        Gear ratios, one per velocity of the joint.
    axes : {'child', 'parent'}, default 'child'
        Axes of the gear: those of the child, as the velocities of a joint are, or those of the parent for a spherical
        or free joint, where the gear is then a vector (or two, angular and linear) that stays in these axes.

    Examples
    --------
    >>> import fourbar as fb
    >>> fb.Drive("knee", (9.0,))
    Drive(joint='knee', gear=(9.0,), axes='child')
    """

    joint: str
    gear: tuple[float, ...] = (1.0,)
    axes: Axes = "child"


@dataclass(frozen=True)
class Actuator:
    """An actuator: the joints it moves, its ranges, and its law as plain data.

    Parameters
    ----------
    name : str
        Its name.
    drives : tuple of Drive
        What it moves, through which gears.
    control_range : tuple of float, default (-inf, inf)
        Lower and upper control.
    force_range : tuple of float, default (-inf, inf)
        Lower and upper force (N m, N).
    kind : str, default 'motor'
        What makes force from control: 'motor' (the control times `gain`), 'affine' (`gain` and `bias` by 1, length and
        velocity), or what a file calls it.
    parameters : tuple, default ()
        Numbers of the law, (name, numbers) each; no method uses them.

    Examples
    --------
    >>> import fourbar as fb
    >>> fb.Actuator("motor", (fb.Drive("knee", (9.0,)),)).joints
    ('knee',)
    """

    name: str
    drives: tuple[Drive, ...]
    control_range: tuple[float, float] = _ENDLESS
    force_range: tuple[float, float] = _ENDLESS
    kind: str = "motor"
    parameters: tuple[tuple[str, tuple[float, ...]], ...] = ()

    @property
    def joints(self) -> tuple[str, ...]:
        """The joints it moves."""
        return tuple(dict.fromkeys(drive.joint for drive in self.drives))


def make(
    name: Any,
    drives: Any,
    gear: Any = 1.0,
    axes: Any = "child",
    control_range: Any = None,
    force_range: Any = None,
    kind: Any = "motor",
    parameters: Any = None,
) -> Actuator:
    """An actuator from the user's arguments."""
    if not isinstance(name, str) or not name:
        raise ModelError(f"an actuator needs a name, a non-empty string; got {name!r}")
    what = f"actuator {name!r}"
    if not isinstance(kind, str) or not kind:
        raise ModelError(f"{what}: kind is a word such as 'motor', got {kind!r}")
    return Actuator(
        name,
        _drives(what, drives, gear, axes),
        _range(f"{what}, control_range", control_range),
        _range(f"{what}, force_range", force_range),
        kind,
        _parameters(what, parameters),
    )


def _drives(what: str, drives: Any, gear: Any, axes: Any) -> tuple[Drive, ...]:
    if isinstance(drives, str):
        found = [Drive(drives, read_coordinates(f"{what}, gear", gear), axes)]
    elif isinstance(drives, Mapping) and drives:
        scale = read_number(f"{what}, gear (of several joints: one number)", gear)
        ratios = {str(j): read_coordinates(f"{what}, gear of joint {j!r}", x) for j, x in drives.items()}
        found = [Drive(j, tuple(scale * x for x in own), axes) for j, own in ratios.items()]
    elif isinstance(drives, list | tuple) and drives and all(isinstance(x, Drive) for x in drives):
        if axes != "child" or not (np.isscalar(gear) and gear == 1.0):
            raise ModelError(
                f"{what}: in a list of drives each Drive has its own gear and axes; got gear={gear!r}, {axes=}"
            )
        found = [replace(x, gear=read_coordinates(f"{what}, gear of joint {x.joint!r}", x.gear)) for x in drives]
    else:
        raise ModelError(
            f"{what}: drives must be a joint, gear ratios by joint such as {{'knee': 9.0}}, or a list of Drive, got "
            f"{drives!r}"
        )
    for drive in found:
        if drive.axes not in get_args(Axes):
            raise ModelError(f"{what}: axes={drive.axes!r}: expected one of {', '.join(map(repr, get_args(Axes)))}")
    return tuple(found)


def _range(what: str, value: Any) -> tuple[float, float]:
    if value is None:
        return _ENDLESS
    try:
        lower, upper = (float(x) for x in value)
    except (TypeError, ValueError):
        raise ModelError(f"{what}: expected a pair (lower, upper), got {value!r}") from None
    if not (lower <= upper and lower < np.inf and upper > -np.inf):  # false for NaN too
        raise ModelError(f"{what}: the lower end must be a number not above the upper one, got {value!r}")
    return lower, upper


def _parameters(what: str, value: Any) -> tuple[tuple[str, tuple[float, ...]], ...]:
    if value is None:
        return ()
    if not isinstance(value, Mapping):
        raise ModelError(f"{what}: parameters are numbers by name, such as {{'gain': 2.0}}, got {value!r}")
    return tuple((str(key), read_coordinates(f"{what}, {key}", x)) for key, x in value.items())


def check(actuators: Iterable[Actuator], joints: Mapping[str, Joint]) -> None:
    """Refuse actuators on unknown or fixed joints, or with a gear of the wrong length."""
    for actuator in actuators:
        what = f"actuator {actuator.name!r}"
        for drive in actuator.drives:
            if drive.joint not in joints:
                raise ModelError(f"{what}: {unknown('joint', drive.joint, joints)}")
            joint = joints[drive.joint]
            if joint.nv == 0:
                raise ModelError(f"{what}: joint {drive.joint!r} is fixed and cannot be driven")
            if len(drive.gear) != joint.nv:
                raise ModelError(
                    f"{what}: joint {drive.joint!r} ({type(joint).__name__}) has {joint.nv} velocities, but the gear "
                    f"has {len(drive.gear)} ratios; give one per velocity"
                )
            if drive.axes == "parent" and not _is_turning(joint):
                raise ModelError(
                    f"{what}: axes= applies to ball and free joints only; joint {drive.joint!r} is a "
                    f"{type(joint).__name__}"
                )


def _is_turning(joint: Joint) -> bool:
    """Whether its velocities are vectors in the child's axes, three at a time."""
    from ..joints.lie import Free, Spherical

    return isinstance(joint, Spherical | Free)


def renamed(actuator: Actuator, joint: Mapping[str, str], names: Mapping[str, str]) -> Actuator:
    """The same actuator under other names."""
    drives = tuple(replace(x, joint=joint.get(x.joint, x.joint)) for x in actuator.drives)
    return replace(actuator, name=names.get(actuator.name, actuator.name), drives=drives)


def of_joints(actuators: Iterable[Actuator], joints: Iterable[str]) -> tuple[Actuator, ...]:
    """The actuators restricted to these joints, as the others do not move; those left without a drive are dropped."""
    kept = set(joints)
    parts = (replace(a, drives=tuple(x for x in a.drives if x.joint in kept)) for a in actuators)
    return tuple(a for a in parts if a.drives)


def mirrored(actuator: Actuator, image: Callable[[str], Sequence[Sequence[float]]]) -> Actuator:
    """The mirror image: its joints move with V v (V: `image` of the joint), the actuator as before: V⁻ᵀ gear."""

    def turned(drive: Drive) -> Drive:
        gear = np.linalg.solve(np.array(image(drive.joint)).T, np.array(drive.gear))
        return replace(drive, gear=tuple((gear + 0.0).tolist()))

    return replace(actuator, drives=tuple(map(turned, actuator.drives)))
