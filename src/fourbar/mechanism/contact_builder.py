"""Declaring what a robot may touch: a part of the `Builder`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

from ..errors import ModelError, unknown
from .contact_rules import NO_RULES, ContactRules
from .validate import read_geometry

if TYPE_CHECKING:
    from .contact import Surface
    from .geometry import Geometry
    from .mechanism import Body

_WORLD = "world"


class ContactBuilder:
    """Collects shapes of the world, and rules of contact by name."""

    def __init__(self) -> None:
        super().__init__()
        self._world: dict[Geometry, None] = {}
        self._rules: ContactRules = NO_RULES

    def world(self, *shapes: Geometry) -> Self:
        """Add shapes that are fixed in the world: a floor, a height field, a table.

        Parameters
        ----------
        *shapes : Geometry
            Their placement is in the world; with role "collision" bodies can touch them.

        Returns
        -------
        Builder
            The builder itself, so that calls can be chained.

        Examples
        --------
        >>> import fourbar as fb
        >>> from fourbar.mechanism.geometry import Geometry
        >>> b = fb.Builder("hopper").world(Geometry("plane", role="collision", name="floor"))
        >>> _ = b.body("trunk", joint=fb.joints.Free(), mass=1.0, inertia=(0.1, 0.1, 0.1))
        >>> b.build().mechanism.world[0].name
        'floor'
        """
        return self._add_world(read_geometry("world", shapes), NO_RULES)

    def exclude_contact(self, first: str, second: str) -> Self:
        """Say that no shapes of two bodies touch each other.

        Parameters
        ----------
        first, second : str
            Bodies, or "world".

        Returns
        -------
        Builder
            The builder itself, so that calls can be chained.

        Examples
        --------
        >>> import fourbar as fb
        >>> b = fb.Builder("arm").body("upper", joint=fb.joints.Revolute("y"), mass=1.0, inertia=(0.1, 0.1, 0.1))
        >>> b.exclude_contact("upper", "world").build().mechanism.contacts.excluded
        (('upper', 'world'),)
        """
        self._rules = self._rules.joined(ContactRules(excluded=((first, second),)))
        return self

    def contact_pair(
        self, first: tuple[str, str], second: tuple[str, str], surface: Surface | None = None, name: str = ""
    ) -> Self:
        """Say that two shapes may touch, whatever their groups and bodies are.

        Parameters
        ----------
        first, second : pair of str
            Body (or "world") and name of the shape: ("foot", "sole").
        surface : Surface, optional
            Friction and other numbers of this pair; those of `Surface()` if None.
        name : str, optional
            What the pair is called.

        Returns
        -------
        Builder
            The builder itself, so that calls can be chained.

        Examples
        --------
        >>> import fourbar as fb
        >>> from fourbar.mechanism.geometry import Geometry
        >>> ball = Geometry("sphere", (0.1,), role="collision", name="ball")
        >>> from fourbar.mechanism.contact import Surface
        >>> b = fb.Builder("toy").world(Geometry("plane", role="collision", name="floor"))
        >>> _ = b.body("toy", joint=fb.joints.Free(), mass=1.0, inertia=(0.1, 0.1, 0.1), geometry=[ball])
        >>> robot = b.contact_pair(("world", "floor"), ("toy", "ball"), Surface(friction=0.3)).build()
        >>> robot.mechanism.contacts.pairs[0].surface.friction
        0.3
        """
        from .contact import PLAIN, ContactPair, Surface

        for shape in (first, second):
            if not (isinstance(shape, tuple) and len(shape) == 2 and all(isinstance(x, str) and x for x in shape)):
                raise ModelError(f"contact_pair: a shape is (body, name of the shape), got {shape!r}")
        if surface is None:
            surface = PLAIN
        if not isinstance(surface, Surface):
            raise ModelError(f"contact_pair: surface must be a Surface, got {surface!r}")
        self._rules = self._rules.joined(ContactRules((ContactPair(first, second, surface, name),)))
        return self

    def contact_options(self, **options: Any) -> Self:
        """Set options of all contacts.

        Parameters
        ----------
        **options
            with_parents, enabled, cone, impratio and timestep of `ContactRules`.

        Returns
        -------
        Builder
            The builder itself, so that calls can be chained.

        Examples
        --------
        >>> import fourbar as fb
        >>> b = fb.Builder("arm").body("upper", joint=fb.joints.Revolute("y"), mass=1.0, inertia=(0.1, 0.1, 0.1))
        >>> b.contact_options(cone="elliptic", timestep=0.001).build().mechanism.contacts.cone
        'elliptic'
        """
        known = ("with_parents", "enabled", "cone", "impratio", "timestep")
        for key in options:
            if key not in known:
                raise ModelError(f"contact_options: {unknown('option', key, known)}")
        self._rules = replace(self._rules, **options)
        return self

    def _add_world(self, shapes: Iterable[Geometry], rules: ContactRules) -> Self:
        self._world |= dict.fromkeys(shapes)
        self._rules = self._rules.joined(rules)
        return self

    def _checked_rules(self, bodies: Mapping[str, Body]) -> ContactRules:
        if self._rules == NO_RULES:
            return NO_RULES
        names = {body: {x.name for x in own.geometry} for body, own in bodies.items()}
        names[_WORLD] = {x.name for x in self._world}
        self._rules.check(names, lambda what, body: ModelError(f"{what}: {unknown('body', body, names)}"))
        return self._rules
