"""The traversals of the library: from the root to the leaves and back, over links and over clusters of links.

A step is a pure function of one link or one cluster. Outward it is handed what its parent returned; inward it is handed
what its children sent. It does not know whether it runs on numbers or is being traced.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from ..expr.node import Value
from ..expr.pytree import leaves
from ..once import cached_property
from ..spatial.linear import Vec
from ..spatial.vectors import Twist
from ..tree.clusters import GROUND, Cluster
from ..tree.links import Kinematics, Link
from ..tree.spanning_tree import SpanningTree

if TYPE_CHECKING:
    from ..expr import Recorder


def velocity_outward(k: Kinematics, parent: Twist, v: Vec) -> Twist:
    """V = X V_λ + S v."""
    return k.X.motion_to_child(parent) + k.S.twist(v)


class Outcome(NamedTuple):
    """The return value of a step: its own result, and what it sends on, inward to the parent, outward for each link."""

    result: Any
    message: Any


def outward(parents: Sequence[int], ground: Any, step: Callable[[int, Any], Any]) -> list[Any]:
    """result_i = step(i, result of the parent or `ground`), for nodes whose parents come first."""
    results: list[Any] = []
    for i, parent in enumerate(parents):
        results.append(step(i, ground if parent < 0 else results[parent]))
    return results


def inward(parents: Sequence[int], step: Callable[[int, tuple[Any, ...]], tuple[Any, Any]]) -> tuple[list[Any], Any]:
    """result_i, message to the parent = step(i, messages of the children in order); and the messages to the ground."""
    messages: list[list[Any]] = [[] for _ in range(len(parents) + 1)]  # the last: to the ground, whose number is -1
    results: list[Any] = [None] * len(parents)
    for i in reversed(range(len(parents))):
        results[i], message = step(i, tuple(messages[i]))
        messages[parents[i]].insert(0, message)
    return results, tuple(messages[-1])


def summed_inward(
    parents: Sequence[int], own: Sequence[Any], sent: Callable[[int, Any], Any]
) -> tuple[list[Any], tuple[Any, ...]]:
    """total_i = own_i + Σ sent(j, total_j) over the children j; and the sums of what is sent to each carrier -1 - k."""
    totals: list[Any] = [*own, *(None for _ in range(-min(parents)))]  # of carriers from the last to the first
    for i in reversed(range(len(parents))):
        message, before = sent(i, totals[i]), totals[parents[i]]
        totals[parents[i]] = message if before is None else before + message
    return totals[: len(own)], tuple(totals[: len(own) - 1 : -1])


def _first_step(step: Callable[..., Any], link: Link, q: Any, v: Any, *args: Any) -> tuple[Any, Any]:
    k = link.at(q, v)
    return k, step(k, *args)


def _itself(k: Kinematics) -> Kinematics:
    return k


class Sweeps:
    """Runs steps over a tree at one state. The kinematics k = (X, S, c_J, I) of a link is made when first used.

    `armature`: that of the rotors by link, where the tree's own holds more, such as implicit damping.
    """

    def __init__(
        self,
        tree: SpanningTree,
        recorder: Recorder,
        q: Sequence[Any],
        v: Sequence[Any] | None = None,
        armature: Sequence[Vec] | None = None,
    ) -> None:
        self.tree = tree
        self.armature = [link.armature for link in tree.links] if armature is None else list(armature)
        self.recorder = recorder
        self._q = tree.split_q(q)
        self._v = [None] * len(tree.links) if v is None else tree.split_v(v)
        self.k: list[Any] = [None] * len(tree.links)

    def fold(self, function: Callable[..., Any], *args: Any) -> Any:
        """function(*args), recorded only if an argument is recorded: of constants it is a constant."""
        recorded = any(x.__class__ is Value for x in leaves(args))
        return self.recorder.call(function, *args) if recorded else function(*args)

    def step(self, i: int, step: Callable[..., Any], *args: Any) -> Any:
        """step(k_i, *args)."""
        if self.k[i] is not None:
            return self.recorder.call(step, self.k[i], *args)
        self.k[i], result = self.recorder.call(_first_step, step, self.tree.links[i], self._q[i], self._v[i], *args)
        return result

    def kinematics(self, i: int) -> Kinematics:
        """k_i."""
        return self.k[i] if self.k[i] is not None else self.step(i, _itself)

    def outward(
        self, step: Callable[..., Any], ground: Any, *inputs: Sequence[Any], root: Callable[..., Any] | None = None
    ) -> list[Any]:
        """result_i = step(k_i, result of the parent (or ground), inputs_i...); `root`: the step of roots instead."""

        def own(i: int, above: Any) -> Any:
            chosen = step if root is None or self.tree.parents[i] >= 0 else root
            return self.step(i, chosen, above, *(x[i] for x in inputs))

        return outward(self.tree.parents, ground, own)

    def inward(self, step: Callable[..., Any], *inputs: Sequence[Any]) -> list[Any]:
        """result_i, message to the parent = step(k_i, messages of the children, inputs_i...)."""
        return inward(self.tree.parents, lambda i, sent: self.step(i, step, sent, *(x[i] for x in inputs)))[0]

    def outward_to(self, links: Iterable[int], step: Callable[..., Any], known: dict[int, Any], *inputs: Any) -> None:
        """`outward` for just the links that carry some; `known` has what they hang on, and gains their results."""
        for link in links:
            missing = []
            while link not in known:
                missing.append(link)
                link = self.tree.parents[link]
            for i in reversed(missing):
                known[i] = self.step(i, step, known[self.tree.parents[i]], *(x[i] for x in inputs))

    def inward_from(
        self, step: Callable[..., Any], on: Mapping[int, Any], add: Callable[..., Any], carrier: int
    ) -> dict[int, Any]:
        """`inward` for just the links between some, with what acts `on` them, and their `carrier`, which carries all.

        result_i, message = step(k_i, sum on the link); messages to the carrier and the ground are left out.
        """
        loads, results = dict(on), {}
        for i in range(len(self.tree.parents) - 1, carrier, -1):
            if i in loads:
                results[i], sent = self.step(i, step, loads[i])
                parent = self.tree.parents[i]
                if parent not in (GROUND, carrier):
                    loads[parent] = self.recorder.call(add, loads[parent], sent) if parent in loads else sent
        return results


class CarrierMessages(NamedTuple):
    """The message of a cluster to those that carry it: one for each carrier, and terms that couple several of them."""

    on: tuple[Any, ...]
    across: tuple[Any, ...] = ()


class Hung(NamedTuple):
    """The messages of all that hangs on a cluster: those on each link, and coupling terms, with the places (among the
    links) of the carriers that each couples.
    """

    on: tuple[tuple[Any, ...], ...]
    across: tuple[tuple[tuple[int, ...], Any], ...] = ()


class Node(Protocol):
    """Where a step over clusters runs."""

    def step(self, step: Callable[..., Any], *args: Any) -> Any:
        """step(the cluster, *args)."""


class KeepingNode:
    """A node that passes to every step the values that an earlier one kept."""

    def __init__(self, node: Node, kept: Any) -> None:
        self._node, self._kept = node, kept

    def step(self, step: Callable[..., Any], *args: Any) -> Any:
        """step(the cluster, what was kept, *args)."""
        return self._node.step(step, self._kept, *args)


class ClusterSweeps:
    """Runs steps over the clusters of a tree, each by its node; a link alone is a cluster of one."""

    def __init__(self, s: Sweeps, clusters: Sequence[Cluster], nodes: Sequence[Node]) -> None:
        self.s, self.clusters, self.nodes = s, clusters, nodes

    def keeping(self, kept: Sequence[Any]) -> ClusterSweeps:
        """Sweeps whose steps take, after the cluster, the values that it kept of an earlier sweep."""
        return ClusterSweeps(self.s, self.clusters, [KeepingNode(*x) for x in zip(self.nodes, kept, strict=True)])

    @cached_property
    def home(self) -> dict[int, int]:
        """The cluster of each link."""
        return {link: n for n, cluster in enumerate(self.clusters) for link in cluster.links}

    def path(self, link: int) -> list[int]:
        """The clusters from that of a link to the root."""
        numbers = []
        while link >= 0:
            numbers.append(self.home[link])
            link = self.clusters[numbers[-1]].carriers[0]
        return numbers

    def zeros(self, n: int) -> list[float]:
        """A zero for each independent velocity of cluster n."""
        return [0.0] * self.clusters[n].embedding.nv

    def inward(self, step: Callable[..., Any], *inputs: Any) -> list[Any]:
        """result_n, `CarrierMessages` to the carriers = step(cluster, what is `Hung` on it, inputs_n...)."""
        messages: list[list[Any]] = [[] for _ in range(len(self.s.tree.parents) + 1)]  # the last: to the ground
        across: dict[int, list[Any]] = {}
        results: list[Any] = [None] * len(self.clusters)
        for n in reversed(range(len(self.clusters))):
            cluster = self.clusters[n]
            hung = Hung(tuple(tuple(messages[link]) for link in cluster.links), tuple(across.get(n, ())))
            results[n], sent = self.nodes[n].step(step, hung, *(x[n] for x in inputs))
            for carrier, message in zip(cluster.carriers, sent.on, strict=True):
                messages[carrier].insert(0, message)
            if sent.across:
                above = self.home[cluster.carriers[0]]
                places = tuple(self.clusters[above].links.index(carrier) for carrier in cluster.carriers)
                across.setdefault(above, []).extend((places, term) for term in sent.across)
        return results

    def inward_from(
        self, step: Callable[..., Any], on: Mapping[int, Any], within: Mapping[int, Any], add: Any, *inputs: Any
    ) -> dict[int, Any]:
        """`inward` for just the clusters that are reached by what acts `on` links and `within` clusters.

        result_n, messages by carrier = step(cluster, sum on each link or None, what acts within or None, inputs_n...).
        """
        loads, results = dict(on), {}
        for n in reversed(range(len(self.clusters))):
            links, carriers = self.clusters[n].links, self.clusters[n].carriers
            if n not in within and not any(link in loads for link in links):
                continue
            acting = tuple(loads.get(link) for link in links)
            results[n], sent = self.nodes[n].step(step, acting, within.get(n), *(x[n] for x in inputs))
            if carriers == (GROUND,):
                continue
            for carrier, message in zip(carriers, sent, strict=True):
                loads[carrier] = self.s.recorder.call(add, loads[carrier], message) if carrier in loads else message
        return results

    def visit_inward(self, loads: dict[int, Any], visit: Callable[[int, Any], None]) -> None:
        """visit(n, loads of cluster n) for the clusters that are loaded, or that visits to others load on the way."""
        for n in reversed(range(len(self.clusters))):
            if n in loads:
                visit(n, loads[n])

    def outward(
        self, step: Callable[..., Any], ground: Any, *inputs: Any, only: Iterable[int] | None = None
    ) -> dict[int, Any]:
        """result_n, message by link = step(cluster, messages of the carriers or ground, inputs_n...), by cluster."""
        moved, results = {GROUND: ground}, {}
        for n in range(len(self.clusters)) if only is None else only:
            cluster = self.clusters[n]
            above = tuple(moved[carrier] for carrier in cluster.carriers)
            results[n], parts = self.nodes[n].step(step, above, *(x[n] for x in inputs))
            moved.update(zip(cluster.links, parts, strict=True))
        return results
