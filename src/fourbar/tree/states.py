"""A cluster at a state: the coordinates and velocities of its links, and the map G, g from its independent ones.

All velocities are q̇ = G ẏ, all accelerations q̈ = G ÿ + g, and forces come back as Gᵀ τ. Of a link on its own joint G is
the identity and g zero: then nothing is multiplied, nor recorded.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ..spatial.linear import Mat, Vec

Call = Callable[..., Any]  # `recorder.call`


class OwnState(NamedTuple):
    """A link on its own joint: q̇ = ẏ."""

    q: tuple[Vec, ...]  # (nq of the link,) each
    v: tuple[Vec, ...]  # (nv of the link,) each

    @property
    def is_identity(self) -> bool:
        """Whether G is the identity."""
        return True

    @property
    def G(self) -> tuple[Mat, ...]:
        return (Mat.identity(len(self.v[0])),)

    @property
    def g(self) -> tuple[Vec, ...]:
        return (Vec([0.0] * len(self.v[0])),)

    def accelerations(self, call: Call, a: Vec) -> tuple[Vec, ...]:
        """By link, from the independent ones."""
        return (a,)

    def project(self, call: Call, forces: tuple[Vec, ...]) -> Vec:
        """Forces by link as forces on the independent velocities."""
        return forces[0]


class EmbeddedState(NamedTuple):
    """Links tied by loops: for each its coordinates, velocity G ẏ, and its blocks of G and g."""

    q: tuple[Vec, ...]  # (nq of the link,) each
    v: tuple[Vec, ...]  # (nv of the link,) each
    G: tuple[Mat, ...]  # (nv of the link, independent velocities) each
    g: tuple[Vec, ...]  # (nv of the link,) each

    @property
    def is_identity(self) -> bool:
        """As for `OwnState`."""
        return False

    def accelerations(self, call: Call, a: Vec) -> tuple[Vec, ...]:
        """G ÿ + g, by link."""
        return call(accelerations, self.G, self.g, a)

    def project(self, call: Call, forces: tuple[Vec, ...]) -> Vec:
        """Gᵀ τ."""
        return call(project_forces, self.G, forces)


ClusterState = OwnState | EmbeddedState


def project_forces(G: tuple[Mat, ...], forces: tuple[Vec, ...]) -> Vec:
    """Gᵀ τ."""
    parts = [block.transpose_times(force) for block, force in zip(G, forces, strict=True)]
    return sum(parts[1:], parts[0])


def accelerations(G: tuple[Mat, ...], g: tuple[Vec, ...], a: Vec) -> tuple[Vec, ...]:
    """G ÿ + g, by link."""
    return tuple(block @ a + bias for block, bias in zip(G, g, strict=True))
