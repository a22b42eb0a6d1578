"""Names of the parts of a robot."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple, TypeVar

from ..errors import unknown
from ..representation import abbreviate, html_table

T = TypeVar("T")


class ByName(Mapping[str, T]):
    """Things of one kind by name, read-only; an unknown name raises an error with the nearest known ones."""

    def __init__(self, kind: str, items: Mapping[str, T]) -> None:
        self._kind, self._items = kind, dict(items)

    def __getitem__(self, name: str) -> T:
        if name not in self._items:
            raise unknown(self._kind, name, self._items)
        return self._items[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __repr__(self) -> str:
        return repr(self._items)


class Names(NamedTuple):
    """Names of all parts of a robot, in the order of the arrays.

    Parameters
    ----------
    bodies : tuple of str
        Bodies, as in `f_ext` and `poses`.
    joints : tuple of str
        All joints, fixed ones and those of loops too.
    frames : tuple of str
        Named frames.
    coordinates : tuple of str
        Coordinates, as in q.
    velocities : tuple of str
        Velocities, as in v, a and tau.
    parameters : tuple of str
        Parameters, as in `System.inertial_parameters`.
    numbers : tuple of str
        Numbers that may vary: `parameters=` of derivatives, `System.varying`, `numbers=` of rollouts.
    actuators : tuple of str
        Actuators, as in u.

    Examples
    --------
    >>> import fourbar as fb
    >>> robot = fb.robots.double_pendulum()
    >>> robot.names.velocities
    ('shoulder', 'elbow')
    """

    bodies: tuple[str, ...]
    joints: tuple[str, ...]
    frames: tuple[str, ...]
    coordinates: tuple[str, ...]
    velocities: tuple[str, ...]
    parameters: tuple[str, ...]
    numbers: tuple[str, ...]
    actuators: tuple[str, ...]

    def __repr__(self) -> str:
        return f"<fourbar Names: {', '.join(f'{len(names)} {kind}' for kind, names in self._asdict().items())}>"

    def _repr_html_(self) -> str:
        rows = ((kind, len(names), abbreviate(names)) for kind, names in self._asdict().items())
        return html_table("fourbar Names", ("of", "number", "names"), rows)
