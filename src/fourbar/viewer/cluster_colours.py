"""Colours of clusters: links that loops tie together have one colour, all others are grey."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from ..tree.connectivity import connectivity
from .drawing import GREY, LOST, Item, Rod
from .mesh_files import Colour

if TYPE_CHECKING:
    from ..system.system import System

_NAMED = 4  # bodies of a cluster that a legend names


class ColouredCluster(NamedTuple):
    """A cluster of several links: its title, its colour, and the numbers of its bodies."""

    title: str
    colour: Colour
    bodies: frozenset[int]


def coloured_clusters(robot: System) -> list[ColouredCluster]:
    """The clusters of a robot that have several links."""
    graph = connectivity(robot.mechanism, robot.model.cluster_tree)
    names = [b.name for b in robot.mechanism.bodies]
    clusters: list[ColouredCluster] = []
    for k, colour in enumerate(graph.colours):
        if colour is not None:
            bodies = [i for i, name in enumerate(names) if graph.clusters[name] == k]
            title = [names[i] for i in bodies[:_NAMED]] + (["…"] if len(bodies) > _NAMED else [])
            clusters.append(ColouredCluster(", ".join(title), (*colour, 1.0), frozenset(bodies)))
    return clusters


def paint_clusters(robot: System, items: list[Item], rods: list[Rod]) -> list[Item]:
    """The same items, the shapes of bodies and rods in the colours of their clusters; markers of joints stay."""
    of = {k: x.colour for x in coloured_clusters(robot) for k in x.bodies}
    count = len(robot.mechanism.bodies)
    for k, rod in enumerate(rods):
        of[count + 1 + k] = next((of[b] for b in rod.bodies if b in of), GREY)

    def colour(item: Item) -> Colour:
        stays = item.layer != "shapes" or item.colour == LOST or item.name.endswith("/marker")
        moves = item.place < count or item.place in of
        return item.colour if stays or not moves else (*of.get(item.place, GREY)[:3], item.colour[3])

    return [replace(item, colour=colour(item)) for item in items]
