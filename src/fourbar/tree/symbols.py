"""A mechanism with its parameters replaced by symbols: the same tree over another kind of scalar.

Zeros stay zeros, so that what the model leaves out stays out of the equations. Symbols stand for masses, centres of
mass, inertias about them, positions of joints on their parents, armatures, the strength of gravity, and parameters of
loops such as gear ratios and lengths of rods. Placements inside a loop stay numbers, as do all rotations and fluids.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import hypot
from typing import Any

from ..expr import Expr, Graph
from ..mechanism.armature_blocks import ArmatureBlock
from ..mechanism.mechanism import Body, Mechanism, PlacedJoint
from ..spatial.fluid_inertia import AnyInertia
from ..spatial.inertia import Inertia
from ..spatial.linear import Vec
from ..spatial.transform import Transform
from .bound_embedding import WithNumbers
from .cluster_tree import GROUND, ClusterTree
from .clusters import Cluster
from .links import Link, LinkArmature, immerse, link_armatures
from .parameter_changes import affects_loops, retrace
from .parameters import Parameter, parameters

_AXES = "xyz"


class Parameters:
    """Symbols made so far, with their names and values."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self.found: dict[Expr, tuple[str, float]] = {}

    def symbol(self, name: str, value: float) -> Any:
        """A symbol for a number; zero stays zero."""
        if value == 0.0:
            return 0.0
        (x,) = self._graph.inputs(f"parameter {name}", 1)
        self.found[x] = name, value
        return x

    def vector(self, letter: str, values: Sequence[float], of: str) -> Vec:
        """Three symbols."""
        return Vec([self.symbol(f"{letter}{axis}_{of}", x) for axis, x in zip(_AXES, values, strict=True)])

    def inertia(self, body: Body) -> Inertia:
        """Mass, centre of mass and inertia about it, in the body's frame."""
        pairs = [(i, j) for i in range(3) for j in range(i, 3)]
        entry = {(i, j): self.symbol(f"I{_AXES[i]}{_AXES[j]}_{body.name}", body.inertia[i][j]) for i, j in pairs}
        rows = [[entry[min(i, j), max(i, j)] for j in range(3)] for i in range(3)]
        mass = self.symbol(f"m_{body.name}", body.mass)
        return Inertia.about_com(mass, self.vector("c", body.com, body.name), rows)

    def gravity(self, gravity: Sequence[float]) -> tuple[Any, Any, Any]:
        """The strength g of gravity as a symbol, along its direction."""
        strength = hypot(*gravity)
        g = self.symbol("g", strength)
        x, y, z = (0.0 if part == 0.0 else g * (part / strength) for part in gravity)
        return x, y, z

    def entries(self, x: Parameter, mechanism: Mechanism) -> list[Any]:
        """The entries of a loop's parameter as symbols."""
        values, loop = x.values(mechanism), getattr(mechanism, x.owners)[x.place].name
        marks = [f"{x.field}_{loop}"] if x.size == 1 else [f"{x.field}{i + 1}_{loop}" for i in range(x.size)]
        return [self.symbol(mark, value) for mark, value in zip(marks, values, strict=True)]

    def armatures(self, mechanism: Mechanism, moving: Sequence[PlacedJoint]) -> list[LinkArmature]:
        """Armatures of all joints, and of blocks that couple some."""
        joints = [replace(c, armature=self._armature(c)) for c in moving]
        blocks = [self._block(block, {c.name: c for c in moving}) for block in mechanism.armatures]
        return link_armatures(joints, blocks, {c.name: i for i, c in enumerate(moving)})

    def _armature(self, c: PlacedJoint) -> tuple[Any, ...]:
        return tuple(self.symbol(f"J_{name}", x) for name, x in zip(_labels(c), c.armature, strict=True))

    def _block(self, block: ArmatureBlock, joints: Mapping[str, PlacedJoint]) -> ArmatureBlock:
        names, n = [name for joint in block.joints for name in _labels(joints[joint])], len(block.matrix)
        entry = {(i, j): block.matrix[i][j] for i in range(n) for j in range(i, n)}
        symbols = {
            (i, j): self.symbol(f"J_{block.name}_{names[i]}" + (f"_{names[j]}" if i != j else ""), x)
            for (i, j), x in entry.items()
        }
        rows = tuple(tuple(symbols[min(i, j), max(i, j)] for j in range(n)) for i in range(n))
        return replace(block, matrix=rows)


def _labels(c: PlacedJoint) -> list[str]:
    return [f"{c.name}_{suffix}" if suffix else c.name for suffix in c.joint.v_names]


def _placement(p: Parameters, cluster_tree: ClusterTree, connection: PlacedJoint, link: Link) -> Transform:
    """The placement of a joint, with its position on the parent in symbols."""
    parent = cluster_tree.bodies[connection.parent].pose
    position = p.vector("l", connection.placement.position, connection.name)
    return Transform(link.placement.factors, parent.point(position))


def with_symbols(mechanism: Mechanism, cluster_tree: ClusterTree, p: Parameters) -> tuple[Mechanism, ClusterTree]:
    """The mechanism and its tree with symbols for parameters."""
    inertias: list[AnyInertia] = [Inertia.zero()] * len(cluster_tree.spanning_tree.links)
    for body in mechanism.bodies:
        home = cluster_tree.bodies[body.name]
        if home.link != GROUND:
            inertias[home.link] = inertias[home.link] + immerse(p.inertia(body), body.fluid).to_parent(home.pose)
    tied = {link for cluster in cluster_tree.clusters if not cluster.is_free for link in cluster.links}
    links, armatures = [], p.armatures(mechanism, cluster_tree.moving)
    for i, (c, link) in enumerate(zip(cluster_tree.moving, cluster_tree.spanning_tree.links, strict=True)):
        placement = link.placement if i in tied else _placement(p, cluster_tree, c, link)
        armature, coupled = armatures[i]
        links.append(link._replace(placement=placement, I=inertias[i], armature=armature, coupled=coupled))
    tree = replace(cluster_tree.spanning_tree, links=tuple(links))
    gravity, clusters = p.gravity(mechanism.gravity), _clusters(p, mechanism, cluster_tree)
    found = replace(cluster_tree, spanning_tree=tree, equivalent=tree, unturned=tree, clusters=clusters)
    return replace(mechanism, gravity=gravity), found


def _clusters(p: Parameters, mechanism: Mechanism, cluster_tree: ClusterTree) -> tuple[Cluster, ...]:
    """The clusters, with symbols for the parameters of their loops except placements."""
    every = tuple(x for x in parameters(mechanism) if x.owners == "loops" and not x.is_placement(mechanism))
    symbols = {x: p.entries(x, mechanism) for x in every}
    clusters = []
    for cluster in cluster_tree.clusters:
        tie, own = cluster.tie, affects_loops(mechanism, cluster_tree, cluster, every)
        which = tuple(x for x, kept in zip(every, own, strict=True) if kept)
        if tie is not None and which:
            values = [symbol for x in which for symbol in symbols[x]]
            cluster = replace(cluster, embedding=WithNumbers.of(tie, retrace(mechanism, cluster, which), values))
        clusters.append(cluster)
    return tuple(clusters)
