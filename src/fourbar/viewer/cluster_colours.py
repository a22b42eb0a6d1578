"""Colours of clusters: links that loops tie together have one colour, all others are grey."""

from __future__ import annotations

import colorsys
from dataclasses import replace
from typing import Any, NamedTuple

from .drawing import GREY, LOST, Item, Rod
from .mesh_files import Colour
from .sticks import PALETTE

_GOLDEN = 0.381966  # of the circle of hues, from one colour to the next where the palette ends
_NAMED = 4  # bodies of a cluster that a legend names


class ColouredCluster(NamedTuple):
    """A cluster of several links: its title, its colour, and the numbers of its bodies."""

    title: str
    colour: Colour
    bodies: frozenset[int]


def cluster_colour(k: int) -> Colour:
    """The colour of the k-th cluster."""
    if k < len(PALETTE) - 1:  # the last is a grey
        return PALETTE[k]
    return (*colorsys.hsv_to_rgb((0.1 + _GOLDEN * k) % 1.0, 0.55, 0.75), 1.0)


def coloured_clusters(robot: Any) -> list[ColouredCluster]:
    """The clusters of a robot that have several links."""
    tree = robot.model.cluster_tree
    names = [b.name for b in robot.mechanism.bodies]
    found: list[ColouredCluster] = []
    for cluster in tree.clusters:
        own = [k for k, name in enumerate(names) if tree.bodies[name].link in cluster.links]
        if len(cluster.links) > 1:
            shown = [names[k] for k in own[:_NAMED]] + (["…"] if len(own) > _NAMED else [])
            found.append(ColouredCluster(", ".join(shown), cluster_colour(len(found)), frozenset(own)))
    return found


def paint_clusters(robot: Any, items: list[Item], rods: list[Rod]) -> list[Item]:
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
