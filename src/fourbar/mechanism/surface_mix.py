"""The surface of a contact from those of the two shapes that touch, by MuJoCo's rules.

Margins and gaps add. The shape with the higher priority sets all other numbers. Of equal ones friction, dimensions and
damping are the larger, restitution and stiffness the smaller, and time constants and impedances are mixed with weights.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from .contact import PLAIN, Surface
from .contact_pairs import MayTouch

SOLREF, SOLIMP = (0.02, 1.0), (0.9, 0.95, 0.001, 0.5, 2.0)  # MuJoCo's, where nothing is said
_LEAST = 1e-15  # weights below it are none


def contact_surface(touching: MayTouch) -> Surface:
    """The surface of a contact: that of the pair, else mixed from those of the two shapes."""
    if touching.pair is not None:
        return touching.pair.surface
    return mixed(touching.first.shape.surface, touching.second.shape.surface)


def mixed(a: Surface, b: Surface) -> Surface:
    """The surface of a contact between two; None is the other's number."""
    if a.priority != b.priority:
        chosen = a if a.priority > b.priority else b
        return _plain(replace(chosen, margin=a.margin + b.margin, gap=a.gap + b.gap))
    weight = _weight(a.mix, b.mix)
    return Surface(
        friction=_of(max, a.friction, b.friction),
        friction2=_second(a, b),
        torsion=_of(max, a.torsion, b.torsion),
        rolling=_of(max, a.rolling, b.rolling),
        restitution=_of(min, a.restitution, b.restitution),
        stiffness=_of(min, a.stiffness, b.stiffness),
        damping=_of(max, a.damping, b.damping),
        margin=a.margin + b.margin,
        gap=a.gap + b.gap,
        dimensions=max(a.dimensions, b.dimensions),
        solref=_references(a.solref, b.solref, weight),
        solimp=_mixed(a.solimp, b.solimp, SOLIMP, weight),
    )


def _plain(surface: Surface) -> Surface:
    """Without what chooses: bits, priority and weight."""
    return replace(surface, groups=PLAIN.groups, meets=PLAIN.meets, priority=0, mix=1.0)


def _of(choose: Callable[[float, float], float], a: float | None, b: float | None) -> float | None:
    return b if a is None else a if b is None else choose(a, b)


def _second(a: Surface, b: Surface) -> float | None:
    """Friction in the second direction, where it is another."""
    if a.friction2 is None and b.friction2 is None:
        return None
    return _of(max, *(x.friction if x.friction2 is None else x.friction2 for x in (a, b)))


def _weight(a: float, b: float) -> float:
    """The weight of the first."""
    if a >= _LEAST and b >= _LEAST:
        return a / (a + b)
    return 0.5 if a < _LEAST and b < _LEAST else 0.0 if a < _LEAST else 1.0


def _mixed(
    a: tuple[float, ...] | None, b: tuple[float, ...] | None, default: tuple[float, ...], weight: float
) -> tuple[float, ...] | None:
    if a is None and b is None:
        return None
    return tuple(weight * x + (1.0 - weight) * y for x, y in zip(a or default, b or default, strict=True))


def _references(a: tuple[float, ...] | None, b: tuple[float, ...] | None, weight: float) -> tuple[float, ...] | None:
    """Time constants are mixed; of stiffness and damping, which are negative, the stiffer."""
    first, second = a or SOLREF, b or SOLREF
    if first[0] > 0.0 and second[0] > 0.0:
        return _mixed(a, b, SOLREF, weight)
    return tuple(min(x, y) for x, y in zip(first, second, strict=True))
