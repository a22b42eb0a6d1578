"""Pictures of a robot, by matplotlib."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import ArgumentError
from .closed_states import stored


class Plotting:
    """Pictures of a robot. Figures belong to no window: `figure.savefig("robot.png")` writes one."""

    nq: int
    name: str
    model: Any

    def plot(self, q: Any = None, *, frames: Sequence[str] = (), center_of_mass: bool = False) -> Any:
        """Draw the robot as a stick figure.

        Parameters
        ----------
        q : array_like, shape (nq,) or (n, nq), optional
            Configuration, `neutral` if None; of several the last is drawn dark and those before pale.
        frames : sequence of str, optional
            Frames and bodies whose axes are drawn: x red, y green, z blue.
        center_of_mass : bool, default False
            Mark the centre of mass.

        Returns
        -------
        matplotlib.figure.Figure
            The figure; flat for a robot that moves in a plane of two axes of the world.

        Raises
        ------
        ArgumentError
            If matplotlib is not installed.

        See Also
        --------
        Run.plot : A motion over time.

        Examples
        --------
        >>> import fourbar as fb
        >>> robot = fb.robots.four_bar()
        >>> figure = robot.plot(robot.random(0, n=3))
        >>> len(figure.axes)
        1
        """
        from ..plots.sticks import plot_robot

        configurations = stored("plot", "q", self.nq, self.model.neutral() if q is None else q)
        if not np.isfinite(configurations).all():
            raise ArgumentError("plot: q is NaN or infinite; a figure shows finite configurations")
        listed = [frames] if isinstance(frames, str) else list(frames)
        return plot_robot(self, configurations.reshape(-1, self.nq), listed, bool(center_of_mass), self.name)

    def plot_mass_matrix(self, q: Any = None) -> Any:
        """Draw which entries the mass matrix has, and how large they are.

        Parameters
        ----------
        q : array_like, shape (nq,), optional
            Configuration; `neutral` if None.

        Returns
        -------
        matplotlib.figure.Figure
            The figure; entries that are zero are white.

        Raises
        ------
        ArgumentError
            If matplotlib is not installed.

        See Also
        --------
        mass_matrix : The matrix itself.

        Examples
        --------
        >>> import fourbar as fb
        >>> figure = fb.robots.gt_chain().plot_mass_matrix()
        >>> len(figure.axes)
        2
        """
        from ..plots.matrices import plot_mass_matrix

        given = stored("plot_mass_matrix", "q", self.nq, self.model.neutral() if q is None else q)
        return plot_mass_matrix(self, given.reshape(-1, self.nq)[-1])

    def plot_tree(self, what: str | Sequence[str] = ("bodies", "clusters")) -> Any:
        """Draw the connectivity graph and the tree of clusters.

        Parameters
        ----------
        what : {'bodies', 'clusters'} or sequence of these, default both
            'bodies': a row for each body below the body that carries it, with the joint between them; loops are dashed
            lines between the bodies that they tie. 'clusters': a box for each cluster with its bodies, and a line from
            each body that carries it, one or several.

        Returns
        -------
        matplotlib.figure.Figure
            The figure, as large as it needs to be. Clusters that loops tie have a colour, the same as with
            ``fb.view(robot, colour="clusters")``; bodies that no loop ties are grey.

        Raises
        ------
        ArgumentError
            If matplotlib is not installed, or if the robot is too large for a picture.

        See Also
        --------
        graphviz : The same graphs as text for Graphviz.
        clusters : The clusters by name.

        Examples
        --------
        >>> import fourbar as fb
        >>> figure = fb.robots.tello().plot_tree()
        >>> figure.savefig("tello.png")  # doctest: +SKIP
        """
        from ..plots.trees import PANELS, plot_tree

        panels = [what] if isinstance(what, str) else list(what)
        if not panels or any(x not in PANELS for x in panels):
            raise ArgumentError(f"plot_tree: what={what!r}: expected {' or '.join(map(repr, PANELS))}, or both")
        return plot_tree(self, panels)
