"""A cluster tree as a function of parameters p of its mechanism, and which changes of them its loops can follow.

With symbols for the parameters it is a tree over another kind of scalar. Zeros stay zeros, so that what the model
leaves out stays out of the equations. Symbols stand for masses, centres of mass, inertias about them, positions of
joints on their parents, armatures, the strength of gravity, and parameters of loops such as gear ratios and lengths of
rods. Placements inside a loop stay numbers, as do all rotations and fluids.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from math import hypot
from typing import Any, NamedTuple

import numpy as np

from ..constraints.trace import LoopTrace, trace_loops
from ..expr import Expr, Graph, jvp, prepare
from ..expr.autodiff import reachable
from ..joints.base import turning
from ..mechanism.actuators import law_of
from ..mechanism.armature_blocks import ArmatureBlock
from ..mechanism.mechanism import Body, Mechanism, PlacedJoint
from ..spatial.fluid_inertia import AnyInertia, Hydrodynamics
from ..spatial.inertia import Inertia
from ..spatial.linear import Scalar, Vec
from ..spatial.transform import Transform
from ..tolerances import RANK
from .bound_embedding import Bound, Following, WithNumbers
from .cluster_tree import GROUND, ClusterTree, arrange, compensated_inertias, every_body, fluids
from .clusters import Cluster, loop_residual
from .equivalent_trees import choose_frames, hold_rotor_frames, regroup
from .links import Link, LinkArmature, immerse, link_armatures
from .parameters import Parameter, change_parameters, parameters
from .spanning_tree import SpanningTree

Which = tuple[Parameter, ...]


class VariedTree(NamedTuple):
    """The parameters of a cluster tree: of its links, of links with equal equations of motion and fewer parameters, of
    these in the cheapest frames; placements of bodies and frames; gravity; what each joint does by itself: damping,
    stiffness, rest, dry friction; and gain and bias of the actuators `with_laws` that change.
    """

    links: tuple[Link, ...]
    equivalent: tuple[Link, ...]
    reframed: tuple[Link, ...]
    bodies: tuple[Transform, ...]
    frames: tuple[Transform, ...]
    gravity: Vec  # (3,)
    passive: tuple[tuple[Vec, Vec, Vec, Vec], ...]
    laws: tuple[tuple[Vec, Vec], ...]
    fluids: tuple[Hydrodynamics, ...]


def varied_tree(mechanism: Mechanism, which: Which, p: Sequence[Scalar]) -> VariedTree:
    """All parameters where some are p, which may be symbols."""
    other = change_parameters(mechanism, which, p)
    tree, bodies, frames, moving = arrange(other)
    equivalent = regroup(tree)
    cheapest = choose_frames(hold_rotor_frames(equivalent))
    laws = [law_of(other.actuators[place]) for place in with_laws(which)]
    return VariedTree(
        tree.links,
        equivalent.links,
        cheapest.links,
        tuple(home.pose for home in bodies.values()),
        tuple(home.pose for home in frames.values()),
        Vec(other.gravity),
        tuple((Vec(x.damping), Vec(x.stiffness), Vec(x.rest), Vec(x.friction)) for x in moving),
        tuple((Vec(law[0]), Vec(law[1])) for law in laws if law is not None),
        tuple(fluids(other, bodies).values()),
    )


def with_laws(which: Which) -> list[int]:
    """The actuators, by number, whose laws have some of the parameters."""
    return list(dict.fromkeys(x.place for x in which if x.owners == "actuators"))


def varied_bodies(
    mechanism: Mechanism, which: Which, p: Sequence[Scalar]
) -> tuple[tuple[Link, ...], tuple[Transform, ...]]:
    """The parameters of a tree with a link for every body: its links, and the pose of each body in its link."""
    tree, poses = every_body(change_parameters(mechanism, which, p))
    return tree.links, poses


def varied_compensation(mechanism: Mechanism, which: Which, p: Sequence[Scalar]) -> tuple[Inertia, ...]:
    """The inertias of all links whose weight is compensated."""
    return compensated_inertias(change_parameters(mechanism, which, p))


def with_varied(
    mechanism: Mechanism, cluster_tree: ClusterTree, which: Which, p: Vec, varied: VariedTree
) -> ClusterTree:
    """A cluster tree with parameters p, the values of a recording."""
    parents = cluster_tree.spanning_tree.parents
    tree, equivalent, cheapest = (
        SpanningTree(parents, links) for links in (varied.links, varied.equivalent, varied.reframed)
    )
    bodies, frames = (
        {name: home._replace(pose=pose) for (name, home), pose in zip(homes.items(), poses, strict=True)}
        for homes, poses in ((cluster_tree.bodies, varied.bodies), (cluster_tree.frames, varied.frames))
    )
    moving = tuple(
        replace(joint, damping=tuple(d), stiffness=tuple(k), rest=tuple(rest), friction=tuple(f))
        for joint, (d, k, rest, f) in zip(cluster_tree.moving, varied.passive, strict=True)
    )
    bound = [_bind(mechanism, cluster_tree, cluster, which, p) for cluster in cluster_tree.clusters]
    if any(x.is_inertia for x in which):
        resisting = _resisting_links(mechanism, cluster_tree, which)
        bound = [replace(cluster, varies=not resisting.issuperset(cluster.links)) for cluster in bound]
    clusters = tuple(bound)
    return replace(
        cluster_tree, spanning_tree=tree, equivalent=equivalent, unturned=hold_rotor_frames(equivalent), bodies=bodies,
        frames=frames, moving=moving, clusters=clusters, cheapest=cheapest,
        fluids=dict(zip(cluster_tree.fluids, varied.fluids, strict=True)),
    )  # fmt: skip


def _resisting_links(mechanism: Mechanism, cluster_tree: ClusterTree, which: Which) -> set[int]:
    """The links whose joints move inertia whatever the parameters are: that of a body that is constant."""
    varied = {(x.place, x.field) for x in which if x.owners == "bodies"}
    turned, pushed = set(), set()
    for place, body in enumerate(mechanism.bodies):
        home = cluster_tree.bodies[body.name].link
        moments = np.linalg.eigvalsh(np.array(body.inertia, float))
        if (place, "inertia") not in varied and moments[0] > RANK * moments[-1]:
            turned.add(home)
        if (place, "mass") not in varied and body.mass > 0.0:
            pushed.add(home)
    links = enumerate(cluster_tree.moving)
    return {i for i, joint in links if i in turned and (i in pushed or all(turning(joint.joint)))}


def _bind(mechanism: Mechanism, cluster_tree: ClusterTree, cluster: Cluster, which: Which, p: Vec) -> Cluster:
    """A cluster whose loops have parameters p, if they depend on any."""
    loops = loops_with(mechanism, cluster_tree, cluster, which)
    if loops is None:
        return cluster
    tie, rows_used = loops
    return replace(cluster, embedding=Bound(tie, Vec([x for x, own in zip(p, rows_used, strict=True) if own])))


def loops_with(
    mechanism: Mechanism, cluster_tree: ClusterTree, cluster: Cluster, which: Which
) -> tuple[Following, list[bool]] | None:
    """The loops of a cluster with parameters that are yet to be given, and a mask of the entries that they take; None
    where they depend on none.
    """
    tie, places = cluster.tie, affects_loops(mechanism, cluster_tree, cluster, which)
    if tie is None or not any(places):
        return None
    traced = retrace(mechanism, cluster, tuple(x for x, rows_used in zip(which, places, strict=True) if rows_used))
    if not _depends(traced):
        return None
    return Following.of(tie, traced), [own for x, own in zip(which, places, strict=True) for _ in range(x.size)]


def affects_loops(mechanism: Mechanism, cluster_tree: ClusterTree, cluster: Cluster, which: Which) -> list[bool]:
    """A mask of the parameters on which the loops of a cluster can depend: their own, and placements and numbers of
    joints on and below their bodies.
    """
    near, mask = {*cluster.links, *cluster.carriers}, []
    for parameter in which:
        if parameter.owners == "loops":
            mask.append(mechanism.loops[parameter.place].name in cluster.loops)
        elif parameter.owners == "joints" and parameter.moves_links:
            mask.append(cluster_tree.bodies[mechanism.joints[parameter.place].child].link in near)
        else:
            mask.append(False)
    return mask


def _depends(traced: LoopTrace) -> bool:
    return not {x.id for x in traced.p}.isdisjoint(node.id for node in reachable(traced.roots))


@lru_cache(maxsize=64)
def retrace(mechanism: Mechanism, cluster: Cluster, which: Which) -> LoopTrace:
    """The trace of a cluster's loops as they depend on parameters."""
    assert cluster.tie is not None
    p = Graph().inputs("parameter", sum(x.size for x in which))
    other = change_parameters(mechanism, which, p)
    tree, bodies, _, moving = arrange(other)
    loops = [loop for loop in other.loops if loop.name in cluster.loops]
    residual = loop_residual(tree, moving, bodies.__getitem__, cluster.links, loops)
    return trace_loops(cluster.tie.joints, residual, cluster.tie.traced.bodies, p)


def opening_rates(
    mechanism: Mechanism, cluster_tree: ClusterTree, cluster: Cluster, which: Which, q: np.ndarray
) -> np.ndarray:
    """The rates (n, m, p) at which rows of a cluster's loops open when the dependent joints follow the changes.

    q (n, nq) are closed configurations of all joints. Not zero in overconstrained loops: there some changes remove a
    degree of freedom, or all of them. Rounding beside the largest effect of a change, in units of rows, is zero.
    """
    tie, places = cluster.tie, affects_loops(mechanism, cluster_tree, cluster, which)
    assert tie is not None
    every = np.zeros((len(q), len(tie.traced.phi), sum(x.size for x in which)))
    if not any(places):
        return every
    own = tuple(x for x, rows_used in zip(which, places, strict=True) if rows_used)
    traced, built = retrace(mechanism, cluster, own), [value for x in own for value in x.values(mechanism)]
    m, n = len(traced.phi), len(traced.p)
    slopes = [x for p in traced.p for x in jvp(traced.phi, {p: 1.0})]
    opening = np.zeros((len(q), n * m))
    for i, x in enumerate(prepare(slopes, (*traced.q, *traced.p))((*q.T, *built))):
        opening[:, i] = x
    opening = opening.reshape(len(q), n, m).swapaxes(-1, -2)
    K = tie.slopes(q)[:, :, tie.dependent]
    rows_used = np.repeat(places, [x.size for x in which])
    follow = np.linalg.solve(K[:, tie.rows], opening[:, tie.rows])
    left = opening - K @ follow
    unit = tie.units.effects[:, None]
    largest = np.abs(opening / unit).max(axis=(0, 1), initial=0.0)
    every[:, :, rows_used] = np.where(np.abs(left / unit) > RANK * largest, left, 0.0)
    return every


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
        which = tuple(x for x, rows_used in zip(every, own, strict=True) if rows_used)
        if tie is not None and which:
            values = [symbol for x in which for symbol in symbols[x]]
            cluster = replace(cluster, embedding=WithNumbers.of(tie, retrace(mechanism, cluster, which), values))
        clusters.append(cluster)
    return tuple(clusters)
