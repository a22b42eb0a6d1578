"""Names of the parts of a robot."""

from __future__ import annotations

from typing import NamedTuple

from ..representation import html_table, shortened


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
        Numbers by which functions can be differentiated: `parameters=` of their derivatives.
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
        rows = ((kind, len(names), shortened(names)) for kind, names in self._asdict().items())
        return html_table("fourbar Names", ("of", "number", "names"), rows)
