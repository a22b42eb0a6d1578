"""Actuators: what drives joints, through gears. Frozen data by name, and how it follows edits.

The velocity of an actuator is the sum, over its drives, of gear · velocity of the joint. So an actuator force u
exerts gear · u on the joint's velocities, and all actuators together give τ = Bᵀ u (`System.actuator_matrix`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from ..errors import ModelError, unknown
from ..joints.base import Joint
from .actuator_dynamics import Dynamics, read_delay, read_dynamics, read_range
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
        What makes force from control: 'motor' (the control times `gain`, 1 if not given), 'affine' (`gain` and `bias`,
        up to three numbers each, by 1, length and velocity), or what a file calls it, which does not act.
    parameters : tuple, default ()
        Numbers of the law, (name, numbers) each.
    dynamics : Dynamics, optional
        An activation that follows the control, and that the law has in place of it.
    delay : int, default 0
        Number of steps of a simulation after which a control acts.

    Notes
    -----
    force = (gain[0] + gain[1] length + gain[2] velocity) u + bias[0] + bias[1] length + bias[2] velocity, with the
    control u held within `control_range`, then the force within `force_range`; with `dynamics` u is the activation,
    which follows the control that is held within `control_range`. Forces are in N, or in N m where the
    length is an angle (rad). `System.control_force` computes it.

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
    dynamics: Dynamics | None = None
    delay: int = 0

    @property
    def joints(self) -> tuple[str, ...]:
        """The joints it moves."""
        return tuple(dict.fromkeys(drive.joint for drive in self.drives))


class SignalPlaces(NamedTuple):
    """Where the state of an actuator is in that of all: its activation, -1 if it has none, and its controls that wait
    for their delay, the oldest first."""

    activation: int
    waiting: range


def signal_places(actuators: Sequence[Actuator]) -> list[SignalPlaces]:
    """The places of all actuators: first all activations, then all controls that wait."""
    count, places = 0, []
    end = sum(x.dynamics is not None for x in actuators)
    for actuator in actuators:
        activation = -1 if actuator.dynamics is None else count
        count += activation >= 0
        places.append(SignalPlaces(activation, range(end, end + actuator.delay)))
        end += actuator.delay
    return places


def activation_names(actuators: Sequence[Actuator]) -> tuple[str, ...]:
    """The names of the entries of the state of actuators: those of actuators, then "servo.1", ... of what waits."""
    waiting = (f"{x.name}.{k + 1}" for x in actuators for k in range(x.delay))
    return (*(x.name for x in actuators if x.dynamics is not None), *waiting)


Law = tuple[tuple[float, float, float], tuple[float, float, float]]  # gain and bias by 1, length and velocity
AFFINE = ("motor", "affine")  # the kinds that have such a law


def law_of(actuator: Actuator) -> Law | None:
    """Gain and bias of an actuator by 1, length and velocity; None of a kind that has no such law."""
    if actuator.kind not in AFFINE:
        return None
    numbers = dict(actuator.parameters)
    known = ("gain",) if actuator.kind == "motor" else ("gain", "bias")
    for key, values in numbers.items():
        most = 1 if actuator.kind == "motor" else 3
        if key not in known or len(values) > most:
            raise ModelError(
                f"actuator {actuator.name!r}: {key} = {list(values)} is no part of the law of kind {actuator.kind!r}, "
                f"which has {' and '.join(known)} of at most {most} number{'s' if most > 1 else ''}"
            )
    gain, bias = numbers.get("gain", (1.0,)), numbers.get("bias", ())
    return _three(gain), _three(bias)


def _three(values: tuple[float, ...]) -> tuple[float, float, float]:
    x, y, z = (*values, 0.0, 0.0, 0.0)[:3]
    return x, y, z


def law_form(actuator: Actuator) -> str:
    """The kind of its law: of a 'motor', of a 'position' or 'velocity' servo, another 'affine' one, or '' for none."""
    found = law_of(actuator)
    if found is None or actuator.kind == "motor":
        return "" if found is None else "motor"
    (g, *by_state), (b, x, v) = found
    if any(by_state) or b or not g:
        return "affine"
    return "position" if x == -g else "velocity" if v == -g and not x else "affine"


_NUMBERS = {"motor": ("gain",), "position": ("kp", "kd"), "velocity": ("kv",), "affine": ("gain", "bias"), "": ()}


def law_numbers(actuator: Actuator) -> dict[str, float | tuple[float, ...]]:
    """The numbers of its law by name: gain of a motor, kp and kd or kv of a servo, else gain and bias."""
    form, law = law_form(actuator), law_of(actuator)
    if law is None:
        return {}
    gain, bias = law
    values = (gain, bias) if form == "affine" else (gain[0], -bias[2])
    return dict(zip(_NUMBERS[form], values, strict=False))


def with_law_number(actuator: Actuator, form: str, field: str, values: Sequence[Any]) -> Actuator:
    """The actuator with one number of its law, which may be symbols, replaced; `form` is what its law was at first."""
    found = law_of(actuator)
    assert found is not None
    gain, bias = found
    if form == "affine":
        gain, bias = (tuple(values), bias) if field == "gain" else (gain, tuple(values))
        return replace(actuator, parameters=(("gain", gain), ("bias", bias)))
    (value,) = values
    if field == "gain":
        return replace(actuator, parameters=(("gain", (value,)),))
    gain = gain if field == "kd" else (value, 0.0, 0.0)
    bias = {"kp": (0.0, -value, bias[2]), "kd": (0.0, bias[1], -value), "kv": (0.0, 0.0, -value)}[field]
    return replace(actuator, parameters=(("gain", gain), ("bias", bias)))


def servo(kp: Any, kd: Any) -> dict[str, tuple[float, ...]]:
    """The parameters of a position servo: kp (u - length) - kd velocity."""
    p, d = _gain("kp", kp), _gain("kd", kd)
    return {"gain": (p,), "bias": (0.0, -p, -d) if d else (0.0, -p)}


def velocity_servo(kv: Any) -> dict[str, tuple[float, ...]]:
    """The parameters of a velocity servo: kv (u - velocity)."""
    k = _gain("kv", kv)
    return {"gain": (k,), "bias": (0.0, 0.0, -k)}


def controlled_damper(kv: Any) -> dict[str, tuple[float, ...]]:
    """The parameters of a damper that is controlled: -kv velocity u."""
    return {"gain": (0.0, 0.0, -_gain("kv", kv))}


def _gain(what: str, value: Any) -> float:
    found = read_number(what, value)
    if found < 0.0:
        raise ModelError(f"{what}={value!r}: a gain is not negative; turn the sense of an actuator with its gear")
    return found


def make(
    name: Any,
    drives: Any,
    gear: Any = 1.0,
    axes: Any = "child",
    control_range: Any = None,
    force_range: Any = None,
    kind: Any = "motor",
    parameters: Any = None,
    dynamics: Any = None,
    delay: Any = 0,
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
        read_dynamics(what, dynamics),
        read_delay(what, delay),
    )


def _drives(what: str, drives: Any, gear: Any, axes: Any) -> tuple[Drive, ...]:
    if isinstance(drives, str):
        listed = [Drive(drives, read_coordinates(f"{what}, gear", gear), axes)]
    elif isinstance(drives, Mapping) and drives:
        scale = read_number(f"{what}, gear (of several joints: one number)", gear)
        ratios = {str(j): read_coordinates(f"{what}, gear of joint {j!r}", x) for j, x in drives.items()}
        listed = [Drive(j, tuple(scale * x for x in own), axes) for j, own in ratios.items()]
    elif isinstance(drives, list | tuple) and drives and all(isinstance(x, Drive) for x in drives):
        if axes != "child" or not (np.isscalar(gear) and gear == 1.0):
            raise ModelError(
                f"{what}: in a list of drives each Drive has its own gear and axes; got gear={gear!r}, {axes=}"
            )
        listed = [replace(x, gear=read_coordinates(f"{what}, gear of joint {x.joint!r}", x.gear)) for x in drives]
    else:
        raise ModelError(
            f"{what}: drives must be a joint, gear ratios by joint such as {{'knee': 9.0}}, or a list of Drive, got "
            f"{drives!r}"
        )
    for drive in listed:
        if drive.axes not in get_args(Axes):
            raise ModelError(f"{what}: axes={drive.axes!r}: expected one of {', '.join(map(repr, get_args(Axes)))}")
    return tuple(listed)


def _range(what: str, value: Any) -> tuple[float, float]:
    return _ENDLESS if value is None else read_range(what, value)


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
    remaining = set(joints)
    parts = (replace(a, drives=tuple(x for x in a.drives if x.joint in remaining)) for a in actuators)
    return tuple(a for a in parts if a.drives)


def hold_joints(
    actuators: Iterable[Actuator], joints: Mapping[str, Joint], at: Mapping[str, Sequence[float]]
) -> list[Actuator]:
    """The actuators if joints stay at coordinates `at`: what these add to lengths becomes a part of the laws."""
    return [_hold_joints(actuator, joints, at) for actuator in actuators]


def _hold_joints(actuator: Actuator, joints: Mapping[str, Joint], at: Mapping[str, Sequence[float]]) -> Actuator:
    drives = [drive for drive in actuator.drives if drive.joint in at]
    law = law_of(actuator) if drives else None
    if law is None or not (law[0][1] or law[1][1]):
        return actuator
    length = sum(_length(joints[drive.joint], drive.gear, at[drive.joint]) for drive in drives)
    gain, bias = ((x + y * length, y, z) for x, y, z in law)
    return replace(actuator, kind="affine", parameters=(("gain", gain), ("bias", bias)))


def _length(joint: Joint, gear: Sequence[float], q: Sequence[float]) -> float:
    return 0.0 if floats(joint) else float(np.dot(gear, np.array(joint.stretch(joint.neutral(), q), float)))


def floats(joint: Joint) -> bool:
    """Whether a joint lets a body turn and move all ways: then a drive on it has no length."""
    return joint.nv == 6 and bool(joint.quaternions)


def mirrored(actuator: Actuator, image: Callable[[str], Sequence[Sequence[float]]]) -> Actuator:
    """The mirror image: its joints move with V v (V: `image` of the joint), the actuator as before: V⁻ᵀ gear."""

    def turn(drive: Drive) -> Drive:
        gear = np.linalg.solve(np.array(image(drive.joint)).T, np.array(drive.gear))
        return replace(drive, gear=tuple((gear + 0.0).tolist()))

    return replace(actuator, drives=tuple(map(turn, actuator.drives)))
