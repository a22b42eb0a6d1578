"""Loops after reading: axes that few digits leave not quite parallel, gaps, and joints that cannot move."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..errors import ArgumentError
from ..joints import Fixed
from ..loops import Closure, Loop
from ..model.embedding import Tied
from ..model.lower import Lowered, lower
from ..model.mechanism import Configuration, Mechanism
from ..model.straighten import straighten
from .report import Place, Reading
from .source import Options

TOLERANCE = 2e-3  # radians; files round angles to three digits
_ROUNDING = 1e-9  # below this nothing that a file wrote was changed


def straightened(mechanism: Mechanism, options: Options, reading: Reading) -> Mechanism:
    """The mechanism with the axes of its loops straight; option `straighten`: the largest angle, 0 to leave all."""
    tolerance = options.extra.get("straighten", TOLERANCE)
    if not isinstance(tolerance, int | float) or not 0.0 <= tolerance < 0.1:
        raise ArgumentError(f"straighten={tolerance!r}: expected an angle in radians from 0 to 0.1")
    found, told = straighten(mechanism, float(tolerance)) if tolerance else (mechanism, ())
    for group in told:
        if group.angle > _ROUNDING:
            names = ", ".join(map(repr, group.joints[:6])) + (", ..." if len(group.joints) > 6 else "")
            message = (
                f"axes in a loop are not quite parallel: those of {names} are turned by up to {group.angle:.2g} rad"
            )
            reading.warn(
                Place(reading.file), message, "write more digits, or leave them with straighten=0", "straighten"
            )
    return found


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
            reading.warn(
                place("loop", group.loops[0]), message, "check their axes and places, if they should move", "frozen"
            )


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
