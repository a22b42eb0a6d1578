"""Configurations of a robot: neutral, named, random."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..arrays import to_count
from ..errors import ArgumentError, warn
from ..functions.model import Model
from ..mechanism.mechanism import Mechanism
from ..mechanism.validate import read_rng
from ..once import cached_property
from ..tree.assembly import cluster_named
from ..tree.sampling import Follow, cluster_random
from .names import ByName

_SHOWN = 4  # joints listed in a message


class Configured:
    """Configurations that a robot offers, with their loops closed."""

    mechanism: Mechanism
    model: Model

    def neutral(self) -> np.ndarray:
        """Configuration in which every joint is at its neutral position.

        Returns
        -------
        ndarray, shape (nq,)
            Zeros and unit quaternions, or the nearest configuration in which loops are closed.

        Warns
        -----
        RuntimeWarning
            If joints are outside their limits there, with their names: `random` and `configurations` have others.

        Examples
        --------
        >>> import fourbar as fb
        >>> robot = fb.robots.double_pendulum()
        >>> robot.neutral()
        array([0., 0.])
        """
        if self._neutral_advice:
            warn(self._neutral_advice, RuntimeWarning)
        return self.model.neutral()

    @cached_property
    def _neutral_advice(self) -> str:
        """The joints that are outside their limits in the neutral configuration, and what to do; empty if none is."""
        from .limits import beyond_limits

        beyond = [str(x) for x in beyond_limits(self.model.cluster_tree, self.model.neutral())]
        if not beyond:
            return ""
        others = f" and {len(beyond) - _SHOWN} more" if len(beyond) > _SHOWN else ""
        valid = [x for x, q in self.configurations.items() if not beyond_limits(self.model.cluster_tree, q)]
        other = f"robot.configurations[{valid[0]!r}]" if valid else "a configuration named by Builder.configuration"
        return (
            f"neutral: joints of {self.mechanism.name!r} are outside their limits there: "
            f"{'; '.join(beyond[:_SHOWN])}{others}. Begin with {other}, or with robot.random(0)"
        )

    @cached_property
    def configurations(self) -> Mapping[str, np.ndarray]:
        """Named configurations, such as keyframes of a file.

        Returns
        -------
        mapping of str to ndarray, shape (nq,)
            Each with its loops closed.
        """
        cluster_tree, by_name = self.model.cluster_tree, {}
        for named in self.mechanism.configurations:
            coordinates = dict(named.coordinates)
            parts = [cluster_named(cluster_tree, cluster, coordinates) for cluster in cluster_tree.clusters]
            by_name[named.name] = np.concatenate(parts or [np.zeros(0)])
            by_name[named.name].setflags(write=False)
        return ByName("configuration", by_name)

    def random(self, rng: np.random.Generator | int | None = None, n: int | None = None) -> np.ndarray:
        """Random configurations within the limits of the joints.

        Parameters
        ----------
        rng : Generator or int, optional
            Generator of random numbers, or its seed.
        n : int, optional
            Number of configurations; one without an axis for it if None.

        Returns
        -------
        ndarray, shape (nq,) or (n, nq)
            Configurations with their loops closed, in the assembly of `neutral`: a motion leads from there to each of
            them, unless the robot is built outside its limits and none leads into them.

        Notes
        -----
        Coordinates of joints outside loops are uniform between their limits (±π rad and ±1 m where there are none),
        rotations uniform over all rotations. So are the independent coordinates of explicit loops, over those values at
        which the joints that they drive are within their limits too; where these values are fewer than one in fifty,
        samples are the ends of random walks among them, nearly uniform if the loops are linear. If no configuration is
        found within the limits of the joints that are driven, samples pass these, with a warning. In loops whose
        coordinates are all stored none is uniform: samples are ends of random paths from `neutral`, which turn at
        limits and before singular positions, and lie more densely near it. A seed gives the same samples again; from
        256 on they are computed in machine code.

        Examples
        --------
        >>> import fourbar as fb
        >>> robot = fb.robots.double_pendulum()
        >>> robot.random(0, n=1000).shape
        (1000, 2)
        """
        if n is not None and to_count(n, 0) is None:
            raise ArgumentError(f"random: n must be a whole number of configurations, or None for one, got {n!r}")
        generator, size = read_rng(rng), () if n is None else (int(n),)
        cluster_tree = self.model.cluster_tree
        parts = [
            cluster_random(cluster_tree, cluster, generator, size, self._follower(number, n or 1))
            for number, cluster in enumerate(cluster_tree.clusters)
        ]
        return np.concatenate(parts, axis=-1) if parts else np.zeros((*size, 0))

    def _follower(self, number: int, n: int) -> Follow | None:
        """Machine code that follows the paths of a cluster, where it pays for n samples."""
        from ..functions import closed_paths  # when first needed: few ask for many samples

        cluster_tree = self.model.cluster_tree
        if not closed_paths.is_worthwhile(cluster_tree, number, n):
            return None
        first = closed_paths.like(cluster_tree, number)
        if first not in self._paths:
            function = closed_paths.compiled_path(self.mechanism, first)
            self._paths.setdefault(first, closed_paths.follower(function))
        return self._paths[first]

    @cached_property
    def _paths(self) -> dict[int, Follow]:
        """Machine code for paths, by the number of a cluster."""
        return {}
