"""Constraints by name as groups of rows by number, on a robot's tree."""

from __future__ import annotations

from collections.abc import Sequence

from ..algorithms.constrained.rows import ConstraintRows
from ..constraints import Closure, Condition, Loop
from ..constraints.closures import closes_directly
from ..constraints.trace import VariedCondition, trace_rows
from ..errors import ModelError, unknown
from ..spatial.linear import Vec
from ..tree.cluster_tree import GROUND, ClusterTree, Location
from ..tree.parameters import with_parameter
from .model import Changes
from .options import read_frame

Given = Condition | Loop


def title(condition: Given) -> str:
    """The name of a constraint in messages: its kind, and the joints or bodies it refers to."""
    places = [*condition.bodies, *condition.joints] if isinstance(condition, Loop) else _referenced_names(condition)
    return f"{type(condition).__name__} of {', '.join(map(repr, places))}"


def _referenced_names(condition: Condition) -> list[str]:
    return [x for x in (*condition.places, *condition.joints) if x != "world"]


def _homes(cluster_tree: ClusterTree, condition: Given) -> dict[str, Location]:
    if isinstance(condition, Condition):
        return {name: read_frame(cluster_tree, name) for name in condition.places}
    for body in condition.bodies:
        if body not in cluster_tree.bodies:
            raise unknown("body", body, cluster_tree.bodies)
    return {name: cluster_tree.bodies[name] for name in condition.bodies}


def _joint_links(cluster_tree: ClusterTree, condition: Given) -> dict[str, int]:
    number = {c.name: i for i, c in enumerate(cluster_tree.moving)}
    for joint in condition.joints:
        if joint not in number:
            raise unknown("moving joint", joint, number)
    return {joint: number[joint] for joint in condition.joints}


def _chain(cluster_tree: ClusterTree, home: dict[int, int], link: int) -> dict[int, set[int]]:
    """Clusters from that of a link to the root, and the links through which each is reached."""
    links_by_cluster: dict[int, set[int]] = {}
    reached = {link}
    while GROUND not in reached:
        n = home[min(reached)]
        links_by_cluster[n] = reached
        reached = set(cluster_tree.clusters[n].carriers)
    return links_by_cluster


def carrier_of(cluster_tree: ClusterTree, links: Sequence[int]) -> int:
    """The nearest common ancestor of these links: they move relative to it by their own joints only."""
    home = {link: n for n, cluster in enumerate(cluster_tree.clusters) for link in cluster.links}
    chains = [_chain(cluster_tree, home, link) for link in links]
    common = set(chains[0]).intersection(*chains[1:])
    for nearest in sorted(common, reverse=True):
        reached = {link for chain in chains for link in chain[nearest]}
        if len(reached) == 1:
            return reached.pop()
    return GROUND


def _check_enforceable(condition: object) -> Given:
    """A constraint in a form that forces can enforce; refused if that is impossible."""
    if isinstance(condition, list | tuple):
        raise ModelError(
            "constrained() takes constraints as separate arguments, not as a list: write constrained(*constraints)"
        )
    if not isinstance(condition, Condition | Loop):
        raise ModelError(f"expected a constraint of fourbar.constraints, such as Contact('foot'), got {condition!r}")
    if isinstance(condition, Closure) and not closes_directly(condition.joint):
        kind = type(condition.joint).__name__
        raise ModelError(
            f"{title(condition)}: a {kind} needs its own coordinates to close a loop; embed it with Builder.loop, or "
            "add a body on that joint and weld it with Closure(Fixed(), ...)"
        )
    return condition


def _parametrize(condition: Given, changes: Changes) -> VariedCondition:
    """A constraint as a function of some of its parameters."""

    def at(p: Vec) -> Given:
        left, found = iter(p), condition
        for number, _ in changes:
            found = with_parameter(found, number.field, left)
        return _check_enforceable(found)

    return VariedCondition(at, sum(number.size for number, _ in changes))


def group_rows(
    cluster_tree: ClusterTree, given: Given, changing: bool = False, changes: Changes = ()
) -> ConstraintRows:
    """The rows of one condition, on places that may be `changing`; `changes` are other values of its own parameters,
    entries of a recording.
    """
    condition = _check_enforceable(given)
    homes, joints = _homes(cluster_tree, condition), _joint_links(cluster_tree, condition)
    links = sorted({home.link for home in homes.values()} - {GROUND})
    grounded = any(home.link == GROUND for home in homes.values())
    if homes and not joints and (not links or (len(links) == 1 and not grounded)):
        raise ModelError(
            f"{title(condition)}: everything it refers to is on the same rigid body, so that it constrains nothing"
        )
    carrier = GROUND if grounded or joints or len(links) < 2 else carrier_of(cluster_tree, links)
    places = {name: (home.link, home.pose) for name, home in homes.items()}
    kinds = {name: cluster_tree.moving[i].joint.aligned()[1] for name, i in joints.items()}
    poses = tuple(home.pose for home in homes.values()) if changing else ()
    traced = trace_rows(_parametrize(given, changes), places, links, kinds, changing)
    by = Vec([entry for _, own in changes for entry in own])
    return ConstraintRows(traced, tuple(links), tuple(joints.values()), carrier, poses, by)
