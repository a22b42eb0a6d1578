"""Loops after reading: axes that few digits leave not quite parallel, gaps, and joints that cannot move."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..errors import ArgumentError, FourbarError, unknown
from ..joints import Fixed
from ..loops import Closure, Loop
from ..model.embedding import Tied
from ..model.lower import Lowered, lower
from ..model.mechanism import Configuration, Mechanism
from ..model.straighten import Straightened, astray, straighten
from .report import Place, Reading
from .source import Options

TOLERANCE = 2e-3  # radians; files round angles to three digits
LARGEST = 0.2  # radians that a user can ask for
_DIGITS = 1e-6  # below this a file's digits are those of rounding: to be rigid or not must not depend on them
_MARGIN = 30.0  # how much more than an angle a loop must hold to hold without it
_ROUNDING = 1e-9  # below this nothing that a file wrote was changed


def straightened(
    mechanism: Mechanism, options: Options, reading: Reading, place: Callable[[str], Place] | None = None
) -> Mechanism:
    """The mechanism with the axes of its loops straight; option `straighten`: the largest angle, 0 to leave all.

    Or angles by joint: others are straightened as usual, which is where loops then move more. `place`: where a joint is
    in the file.
    """
    given = options.extra.get("straighten", {})
    usual, named = _angles(given, mechanism)

    def accept(before: Mechanism, after: Mechanism, change: Straightened) -> bool:
        asked = not isinstance(given, Mapping) or any(name in named for name in change.joints)
        return asked or _frees(before, after, change)

    found, told = straighten(mechanism, usual, named, accept)
    for group in told:
        if group.angle > _ROUNDING:
            names, angle = _listed(group.joints), group.angle
            message = f"axes in a loop are not quite parallel: those of {names} are turned by up to {angle:.2g} rad"
            where = Place(reading.file) if place is None else place(group.joints[0])
            reading.warn(where, message, "write more digits, or leave them with straighten=0", "straighten")
    return found


def _frees(before: Mechanism, after: Mechanism, change: Straightened) -> bool:
    """Whether loops move more with straight axes, or the change is one of the last digits."""
    if change.angle < _DIGITS:
        return True
    try:
        held = lower(before)
        return _is_loose(held, change.angle) and lower(after).nv > held.nv
    except FourbarError:  # whichever cannot be lowered: what is wrong with it is found when it is used
        return True


def _is_loose(lowered: Lowered, angle: float) -> bool:
    """Whether loops hold so little in some direction that axes turned by an angle could let it go.

    That changes K by about the angle; a direction that is held much more stays held, and need not be looked at again.
    """
    for group in lowered.groups:
        tie = group.embedding
        if isinstance(tie, Tied):
            assert tie.closed is not None
            K = tie.numbers(tie.closed)[1]
            sizes, rank = np.linalg.svd(K, compute_uv=False), K.shape[1] - tie.nv
            if rank and sizes[rank - 1] < _MARGIN * angle * sizes[0]:
                return True
    return False


def _angles(given: Any, mechanism: Mechanism) -> tuple[float, dict[str, float]]:
    """The usual tolerance, and those by joint."""
    usual, named = (TOLERANCE, dict(given)) if isinstance(given, Mapping) else (given, {})
    for angle in (usual, *named.values()):
        if isinstance(angle, bool) or not isinstance(angle, int | float) or not 0.0 <= angle <= LARGEST:
            raise ArgumentError(
                f"straighten={given!r}: expected an angle in radians from 0 to {LARGEST}, or such angles by joint"
            )
    known = {c.name for c in mechanism.connections} | {x.name for x in mechanism.loops}
    for name in named:
        if name not in known:
            raise unknown("joint or loop (of straighten=)", name, known)
    return float(usual), named


def report_loops(mechanism: Mechanism, reading: Reading, place: Callable[[str, str], Place]) -> None:
    """How far from closed the loops are in each configuration of the file, before assembly; and joints they freeze.

    `place`: where a "configuration" or "loop" is in the file, by name.
    """
    if not mechanism.loops:
        return
    with reading.naming(place("loop", mechanism.loops[0].name)):
        lowered = lower(mechanism)
    for named in mechanism.configurations:
        gap = _gap(lowered, named)
        if gap > 1e-12:
            message = (
                f"in configuration {named.name!r} the loops of the file are {gap:.3g} open; they are closed when used"
            )
            reading.note(place("configuration", named.name), message)
    by_name = {named.name: named.loop for named in mechanism.loops}
    for group in lowered.groups:
        meant = all(_holds(by_name[name]) for name in group.loops)
        if isinstance(group.embedding, Tied) and group.embedding.nv == 0 and not meant:
            joints = ", ".join(repr(lowered.moving[i].name) for i in group.links[:8])
            message = f"loops {', '.join(map(repr, group.loops))} leave no motion to joints {joints}"
            why, fix = _astray(mechanism, group.loops[0])
            reading.warn(place("loop", group.loops[0]), message + why, fix, "frozen")


def _astray(mechanism: Mechanism, loop: str) -> tuple[str, str]:
    """Why the loop of some hinges may be rigid, and what to do."""
    found = astray(mechanism, loop, TOLERANCE)
    if not found:
        return "", "check their axes and places, if they should move"
    told = "; ".join(f"the axis of {x.joint!r} is {x.angle:.3g} rad from those of {_listed(x.others)}" for x in found)
    angles = {x.joint: _above(x.angle) for x in found if x.angle < LARGEST}
    read = f", or read them as parallel with straighten={angles!r}" if angles else ""
    return f": {told}", f"if they should move, these are meant to be parallel: correct the file{read}"


def _above(angle: float) -> float:
    """An angle of two digits that is larger."""
    return float(f"{min(1.1 * angle + 1e-3, LARGEST):.2g}")


def _listed(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names[:6])) + (", ..." if len(names) > 6 else "")


def _holds(loop: Loop) -> bool:
    """Whether a loop is there to hold things in place: a weld, or a joint kept at a value."""
    return (isinstance(loop, Closure) and isinstance(loop.joint, Fixed)) or not loop.bodies


def _gap(lowered: Lowered, named: Configuration) -> float:
    given, gap = dict(named.coordinates), 0.0
    for group in lowered.groups:
        if isinstance(group.embedding, Tied):
            connections = [lowered.moving[i] for i in group.links]
            q = np.array([x for c in connections for x in given.get(c.name, c.joint.neutral())])
            gap = max(gap, float(np.abs(group.embedding.residual(q)).max(initial=0.0)))
    return gap
