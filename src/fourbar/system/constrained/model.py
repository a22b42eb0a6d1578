"""Conditions by name as bundles of rows by number, on a robot's tree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

import numpy as np

from ...algorithms.constrained.rows import ConstraintRows
from ...constraints import Closure, Condition, Loop
from ...constraints.closures import closes_directly
from ...constraints.trace import Varied, trace
from ...errors import ArgumentError, ModelError, unknown
from ...functions.arguments import Input
from ...functions.model import Changes, Model
from ...functions.options import read_frame
from ...mechanism.mechanism import Mechanism
from ...once import cached_property
from ...spatial.linear import Vec
from ...tree.cluster_tree import GROUND, ClusterTree, Location
from ...tree.parameters import Parameter, numbers, numbers_of, with_changed

Given = Condition | Loop
CONSTRAINTS, GAINS = "constraints", "gains"  # owners of numbers
_GAINS = tuple(Parameter(f"stabilize.{x}", (), GAINS, k, x) for k, x in enumerate(("stiffness", "damping")))


def named(mechanism: Mechanism, conditions: Sequence[Given], names: Any) -> tuple[str, ...]:
    """The names of the constraints: as given, or after their kind and position, "contact1", as for loops."""
    taken = {x.name.rpartition(".")[0] for x in numbers(mechanism)} | {x.name.rpartition(".")[0] for x in _GAINS}
    if names is None:
        found: list[str] = []
        for place, condition in enumerate(conditions, 1):
            kind = type(condition).__name__.lower()
            found.append(next(x for k in count(place) if (x := f"{kind}{k}") not in taken and x not in found))
        return tuple(found)
    listed = [] if isinstance(names, str) or not isinstance(names, Sequence) else list(names)
    if len(listed) != len(conditions) or not all(isinstance(x, str) and x for x in listed):
        raise ModelError(f"names={names!r}: expected a list of {len(conditions)} names, one per constraint")
    for name in listed:
        if name in taken or listed.count(name) > 1:
            raise ModelError(f"names={names!r}: {name!r} is already the name of something else; choose another one")
    return tuple(listed)


def _title(condition: Given) -> str:
    places = [*condition.bodies, *condition.joints] if isinstance(condition, Loop) else _looked_at(condition)
    return f"{type(condition).__name__} of {', '.join(map(repr, places))}"


def _looked_at(condition: Condition) -> list[str]:
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


def _chain(cluster_tree: ClusterTree, home: dict[int, int], link: int) -> dict[int, int]:
    """Clusters from that of a link to the root, and the link through which each is reached."""
    found: dict[int, int] = {}
    while link >= 0:
        found[home[link]] = link
        link = cluster_tree.clusters[home[link]].carrier
    return found


def carrier_of(cluster_tree: ClusterTree, links: Sequence[int]) -> int:
    """The nearest common ancestor of these links: they move relative to it by their own joints only."""
    home = {link: n for n, cluster in enumerate(cluster_tree.clusters) for link in cluster.links}
    chains = [_chain(cluster_tree, home, link) for link in links]
    common = set(chains[0]).intersection(*chains[1:])
    if not common:
        return GROUND
    nearest = max(common)
    reached = {chain[nearest] for chain in chains}
    return reached.pop() if len(reached) == 1 else cluster_tree.clusters[nearest].carrier


def _held(condition: Any) -> Given:
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
            f"{_title(condition)}: a {kind} needs its own coordinates to close a loop; embed it with Builder.loop, or "
            "add a body on that joint and weld it with Closure(Fixed(), ...)"
        )
    return condition


def _varied(given: Given, changes: Changes) -> Varied:
    """A constraint as a function of changes of its parameters."""

    def at(by: Vec) -> Given:
        left, found = iter(by), given
        for number, _ in changes:
            found = with_changed(found, number.field, left)
        return _held(found)

    return Varied(at, sum(number.size for number, _ in changes))


def bundle(cluster_tree: ClusterTree, given: Given, changing: bool = False, changes: Changes = ()) -> ConstraintRows:
    """The rows of one condition, on places that may be `changing`, with `changes` of its own parameters: entries of a
    recording.
    """
    condition = _held(given)
    homes, joints = _homes(cluster_tree, condition), _joint_links(cluster_tree, condition)
    links = sorted({home.link for home in homes.values()} - {GROUND})
    grounded = any(home.link == GROUND for home in homes.values())
    if homes and not joints and (not links or (len(links) == 1 and not grounded)):
        raise ModelError(
            f"{_title(condition)}: everything it refers to is on the same rigid body, so that it constrains nothing"
        )
    carrier = GROUND if grounded or joints or len(links) < 2 else carrier_of(cluster_tree, links)
    places = {name: (home.link, home.pose) for name, home in homes.items()}
    kinds = {name: cluster_tree.moving[i].joint.aligned()[1] for name, i in joints.items()}
    poses = tuple(home.pose for home in homes.values()) if changing else ()
    traced = trace(_varied(given, changes), places, links, kinds, changing)
    by = Vec([entry for _, own in changes for entry in own])
    return ConstraintRows(traced, tuple(links), tuple(joints.values()), carrier, poses, by)


@dataclass(frozen=True)
class ConstrainedModel(Model):
    """A mechanism with conditions on top; `gains` are the stiffness and damping of Baumgarte's stabilisation.

    `changing`: the mechanism's numbers are entries of a recording; `changes` of those of the conditions are too.
    """

    conditions: tuple[Given, ...] = ()
    names: tuple[str, ...] = ()
    gains: tuple[float, float] | None = None
    changing: bool = False
    changes: Changes = ()

    @property
    def numbers(self) -> list[Parameter]:
        """Those of the mechanism, of the conditions, and the gains."""
        found = super().numbers
        for place, (name, condition) in enumerate(zip(self.names, self.conditions, strict=True)):
            found += numbers_of(name, condition, CONSTRAINTS, place)
        return found + (list(_GAINS) if self.gains is not None else [])

    def changed(self, cluster_tree: ClusterTree, more: Changes) -> Model:
        changes = self.changes + more
        return replace(self, cluster_tree=cluster_tree, changing=cluster_tree is not self.cluster_tree, changes=changes)

    @cached_property
    def gain_changes(self) -> tuple[Any, Any]:
        """Those of stiffness and damping."""
        found = {number: entries[0] for number, entries in self.changes if number.owners == GAINS}
        stiffness, damping = (found.get(number, 0.0) for number in _GAINS)
        return stiffness, damping

    @cached_property
    def bundles(self) -> tuple[ConstraintRows, ...]:
        found = []
        for place, condition in enumerate(self.conditions):
            own = tuple(x for x in self.changes if (x[0].owners, x[0].place) == (CONSTRAINTS, place))
            found.append(bundle(self.cluster_tree, condition, self.changing, own))
        return tuple(found)

    @cached_property
    def m(self) -> int:
        """Number of rows."""
        return sum(b.traced.m for b in self.bundles)

    @cached_property
    def rows(self) -> tuple[str, ...]:
        """What each row belongs to."""
        titles = [(_title(c), b.traced.m) for c, b in zip(self.conditions, self.bundles, strict=True)]
        return tuple(f"{title}, row {i + 1}" for title, m in titles for i in range(m))

    @cached_property
    def touched(self) -> tuple[int, ...]:
        """Links whose frames the rows need."""
        return tuple(sorted({link for b in self.bundles for link in b.links}))


class PerRow(Input):
    """A number for each row (m)."""

    def shape(self, model: ConstrainedModel) -> tuple[int, ...]:
        return (model.m,)


FORCE, ROW_ACCELERATION, RESTITUTION = map(PerRow, ("force", "row_acceleration", "restitution"))


class Numbers:
    """A recorder that computes: arguments are numbers given by name."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = values

    def input(self, name: str, shape: tuple[int, ...]) -> tuple[float, ...]:
        """The entries of an argument."""
        return tuple(map(float, self._values[name]))

    def call(self, function: Any, *args: Any) -> Any:
        """Just call it."""
        return function(*args)


def read_tolerance(tolerance: Any) -> float:
    """How far rows may contradict each other, as given by a user."""
    try:
        found = float(tolerance)
    except (TypeError, ValueError, OverflowError):
        found = np.nan
    if not 0.0 < found < np.inf:
        raise ArgumentError(f"tolerance={tolerance!r}: expected a positive finite number")
    return found


def read_gains(gains: Any) -> tuple[float, float] | None:
    """Stiffness and damping of what has drifted, as given by a user."""
    if gains is None:
        return None
    try:
        stiffness, damping = map(float, gains)
    except (TypeError, ValueError):
        stiffness = damping = np.nan
    if not (0.0 <= stiffness < np.inf and 0.0 <= damping < np.inf):
        raise ArgumentError(
            f"stabilize={gains!r}: expected (stiffness, damping) of φ̈ = -stiffness φ - damping φ̇, both >= 0"
        )
    return stiffness, damping
