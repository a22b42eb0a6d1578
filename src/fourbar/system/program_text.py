"""Text about a robot: its connectivity graph and cluster tree in the DOT language, and the stages of its programs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from html import escape
from typing import Any

from ..compile.kernel import units
from ..compile.llvm import batch_lanes, to_assembly
from ..expr import Program, to_text
from ..mechanism.mechanism import WORLD
from ..mechanism.sticks import Shade, hexadecimal
from ..tree.assembly import ClusterInfo, Connectivity, LoopEdge, connectivity
from ..tree.cluster_tree import GROUND

# Operations of sin and cos of one angle together, as the backend writes them (compile/elementary.py).
_SINCOS = {"add": 21, "mul": 20}


def _llvm(program: Program) -> str:
    return "\n".join(unit.assembly(batch_lanes()) for unit in units(program)[0])


def _asm(program: Program) -> str:
    return "\n".join(to_assembly(unit.assembly(batch_lanes())) for unit in units(program)[0])


STAGES: dict[str, Callable[[Program], str]] = {"program": to_text, "llvm": _llvm, "asm": _asm}


def count(program: Program) -> Counter[str]:
    """Operations of one sample by kind; a negation is free, sin and cos are counted as what they expand to."""
    total: Counter[str] = Counter()
    for call in program.calls:
        angles = set()
        for op, *operands in program.blocks[call.block].code:
            if op in ("sin", "cos"):
                angles.add(operands[0])
            elif op not in ("load", "table", "neg"):
                total["add" if op == "sub" else op] += 1
        for kind, n in _SINCOS.items():
            total[kind] += n * len(angles)
    return total


_LIGHT, _PALE = 0.65, 0.9  # white in the colour of a body, and of the box around its cluster
_PLAIN = "#f2f3f5"
_STYLE = (
    'graph [rankdir=LR, fontname="Helvetica", fontsize=11]',
    'node [shape=box, style="rounded,filled", fontname="Helvetica", fontsize=11, fillcolor="#f2f3f5", color="#888888"]',
    'edge [fontname="Helvetica", fontsize=9, color="#555555", fontcolor="#555555"]',
)


def _quote(text: str) -> str:
    """A string of DOT; a line break stays one."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def _body(graph: Connectivity, name: str) -> str:
    colour = graph.colour(name)
    if name == WORLD:
        return f'{_quote(name)} [shape=box, style=filled, fillcolor="#d5d8dc"];'
    return f"{_quote(name)};" if colour is None else f'{_quote(name)} [fillcolor="{hexadecimal(colour, _LIGHT)}"];'


def _loop(graph: Connectivity, loop: LoopEdge, number: int) -> Iterator[str]:
    """A dashed edge between two bodies; through a node of its own if the loop ties any other number of them."""
    colour = hexadecimal((graph.colours[loop.cluster] if loop.cluster != GROUND else None) or (0.3, 0.3, 0.3))
    name = f"{loop.name}\n{loop.kind}"
    dashed = f'style=dashed, dir=none, color="{colour}"'
    label = f'fontcolor="{colour}", label={_quote(name)}'
    ends = [_quote(body) for body in loop.ends]
    if len(ends) == 2:
        yield f"{ends[0]} -> {ends[1]} [{dashed}, constraint=false, {label}];"
        return
    hub = f"loop_{number}"
    while hub in graph.clusters:
        hub += "_"
    node = f'{hub} [shape=box, style="rounded,dashed", color="{colour}", fontsize=9, {label}];'
    yield node if loop.cluster == GROUND else f"subgraph cluster_{loop.cluster} {{ {node} }}"
    yield from (f"{end} -> {hub} [{dashed}];" for end in ends)


def _bodies(graph: Connectivity, clusters: Sequence[ClusterInfo]) -> Iterator[str]:
    """Lines of the connectivity graph: a box around the bodies of each cluster that loops tie."""
    for k in range(GROUND, len(clusters)):
        names = [name for name, cluster in graph.clusters.items() if cluster == k]
        colour: Shade | None = None if k == GROUND else graph.colours[k]
        if colour is None:
            yield from (_body(graph, name) for name in names)
            continue
        yield f"subgraph cluster_{k} {{"
        yield f'  label="clusters[{k}]"; style="rounded,filled"; color="{hexadecimal(colour)}";'
        yield f'  fontcolor="{hexadecimal(colour)}"; fillcolor="{hexadecimal(colour, _PALE)}";'
        yield from (f"  {_body(graph, name)}" for name in names)
        yield "}"
    for joint in graph.joints:
        label = f"{joint.name}\n{joint.kind}" if joint.has_own_name else joint.kind
        yield f"{_quote(joint.parent)} -> {_quote(joint.child)} [label={_quote(label)}];"
    for number, loop in enumerate(graph.loops):
        yield from _loop(graph, loop, number)


def _tree(graph: Connectivity, clusters: Sequence[ClusterInfo]) -> Iterator[str]:
    """Lines of the cluster tree: a table per cluster, an edge from each of its output bodies."""
    place = {WORLD: "world"} | {body: f"c{k}:b{n}" for k, x in enumerate(clusters) for n, body in enumerate(x.bodies)}
    yield 'world [shape=box, style=filled, fillcolor="#d5d8dc"];'
    for k, cluster in enumerate(clusters):
        colour = graph.colours[k]
        fill, edge = (_PLAIN, "#888888") if colour is None else (hexadecimal(colour, _LIGHT), hexadecimal(colour))
        cells = "".join(f'<tr><td port="b{n}">{escape(body)}</td></tr>' for n, body in enumerate(cluster.bodies))
        tied = f'<tr><td border="0"><i>{escape(", ".join(cluster.loops))}</i></td></tr>' if cluster.loops else ""
        table = (
            f'<table border="1" cellborder="1" cellspacing="0" color="{edge}" bgcolor="{fill}">{cells}{tied}</table>'
        )
        yield f"c{k} [shape=plain, style=solid, label=<{table}>];"
    for k, cluster in enumerate(clusters):
        yield from (f"{place[body]} -> c{k};" for body in cluster.carriers)


GRAPHS: dict[str, Callable[[Connectivity, Sequence[ClusterInfo]], Iterator[str]]] = {
    "bodies": _bodies,
    "clusters": _tree,
}


def graph_text(robot: Any, what: str) -> str:
    """The text of a graph: 'bodies' or 'clusters'."""
    lines = GRAPHS[what](connectivity(robot.mechanism, robot.model.cluster_tree), robot.clusters)
    body = "\n".join(f"  {line}" for line in (*(f"{x};" for x in _STYLE), *lines))
    return f"digraph {_quote(robot.name)} {{\n{body}\n}}\n"
