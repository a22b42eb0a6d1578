"""Limits of a robot, and inverse kinematics: the methods that a user calls."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, cast

from ..once import cached_property

if TYPE_CHECKING:
    import numpy as np

    from .inverse_kinematics import InverseKinematics
    from .limits import Limits
    from .system import System


class Reaching:
    """Limits of a robot, and configurations that reach targets. What finds them is imported when it is first used."""

    model: Any

    @cached_property
    def limits(self) -> Limits:
        """Limits of the joints as arrays.

        Returns
        -------
        Limits
            `lower` and `upper` in the order of q; `velocity`, `effort` and `least_effort` in the order of v.
        """
        from .limits import limits_of

        return limits_of(self.model.cluster_tree)

    @cached_property
    def _searches(self) -> dict[Any, Any]:
        """Compiled searches by their kinds of targets, and starts by their seed."""
        return {}

    def inverse_kinematics(
        self,
        targets: Mapping[str, Any],
        q0: Any = None,
        *,
        center_of_mass: Any = None,
        tolerance: float = 1e-8,
        restarts: int | None = None,
        iterations: int = 100,
        limits: bool = True,
        held: Iterable[str] = (),
        rng: np.random.Generator | int = 0,
    ) -> InverseKinematics:
        """Configurations in which frames, or the centre of mass, are where they should be.

        Parameters
        ----------
        targets : mapping of str to array_like or Target
            For each frame or body a pose (..., 4, 4), a position (..., 3), or a `Target`, which has weights.
        q0 : array_like, shape (..., nq), optional
            Where the search begins, with loops closed; `neutral` if None.
        center_of_mass : array_like, shape (..., 3), or Target, optional
            Where the centre of mass is to be.
        tolerance : float, default 1e-08
            Largest distance (m) and angle (rad) with which a target counts as reached.
        restarts : int, optional
            How often a search that failed begins anew, at random configurations; what cannot be reached costs them all.
            100 if None, or 20 for robots whose loops have to be closed, which takes time.
        iterations : int, default 100
            Largest number of iterations of each search.
        limits : bool, default True
            Keep the limits of all joints, those of dependent joints of loops too.
        held : list of str, optional
            Joints that stay where q0 has them, such as a free base; of a loop all that are independent, or none.
        rng : Generator or int, default 0
            Generator of random numbers, or its seed, for the restarts.

        Returns
        -------
        InverseKinematics
            The configurations, which of them reach all targets, and by how much the others miss each of them.

        Raises
        ------
        ArgumentError
            If targets or numbers are not what is expected.
        UnknownNameError
            If there is no such frame, body or joint.
        AssemblyError
            If the loops of q0 are open.

        See Also
        --------
        pose : Where a frame is.
        limits : The limits that are kept.

        Notes
        -----
        Leading axes of targets and q0 broadcast; samples are solved in machine code, each until it has ended, and a
        sample has the same bits alone and in a batch. The method is that of Levenberg and Marquardt on the
        configuration group with bounds; loops stay closed at every step. The first solution found is returned: it is
        near q0 if no restart was needed. Where targets cannot be reached, q is the best configuration found, a local
        minimum of the weighted sum of squares.

        Examples
        --------
        >>> import fourbar as fb
        >>> robot = fb.robots.double_pendulum()
        >>> T = robot.pose(robot.random(0, n=100), "tip")
        >>> found = robot.inverse_kinematics({"tip": T})
        >>> found
        <fourbar InverseKinematics: 100 of 100 reached>
        >>> bool(abs(robot.pose(found.q, "tip") - T).max() < 1e-7)
        True
        """
        from .inverse_kinematics import Settings, find

        settings = Settings(tolerance, restarts, iterations, limits, held, rng)
        return find(cast("System", self), targets, center_of_mass, q0, settings)
