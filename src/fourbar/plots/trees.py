"""The connectivity graph and the cluster tree of a robot as a picture."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from ..errors import ArgumentError
from ..mechanism.mechanism import WORLD
from ..mechanism.sticks import hexadecimal
from ..tree.assembly import Connectivity, LoopEdge, connectivity
from ..tree.cluster_tree import GROUND
from .style import DARK, EDGE, drawing, shorten

if TYPE_CHECKING:
    from ..system.system import System

PANELS = ("bodies", "clusters")
_LARGEST = 300.0  # inches: larger figures are refused
_TEXT, _SMALL = 8.0, 7.0  # points
_DRAWN = 1.06  # of the width of a text: what it takes as pixels, at most
_ROW, _BOX, _PAD = 0.30, 0.21, 0.09  # inches: from row to row, height of a box, beside its text
_INDENT, _STEM = 0.34, 0.14  # inches: of a child, and from the left of a box to the line to its children
_LANE = 0.13  # inches from one loop to the next
_GAP = 0.55  # inches between columns of clusters, and between the panels
_HEAD, _MARGIN, _NOTE = 0.75, 0.15, 0.18  # inches: above the graphs, around them, of the line with the loops of a box
_TITLE = 1.3  # inches: width of the longer title
_CENTRED: dict[str, Any] = {"size": _TEXT, "ha": "center", "va": "center_baseline", "color": DARK, "zorder": 4,
                            "parse_math": False}  # fmt: skip
_LIGHT, _PLAIN, _GROUND = 0.65, "#f2f3f5", "#d5d8dc"


@lru_cache(maxsize=4096)
def _width(text: str, size: float = _TEXT) -> float:
    """The width (inches) of a text."""
    from matplotlib.textpath import TextPath

    return (
        _DRAWN * float(TextPath((0.0, 0.0), text.replace("$", r"\$"), size=size).get_extents().width) / 72.0
        if text
        else 0.0
    )


def _box(axes: Any, x: float, y: float, size: tuple[float, float], colours: tuple[str, str]) -> None:
    """A box with its left edge at x and its middle at y; colours of its face and of its edge."""
    from matplotlib.patches import FancyBboxPatch

    corner, style = (x, y - size[1] / 2.0), "round,pad=0,rounding_size=0.05"
    axes.add_patch(FancyBboxPatch(corner, *size, boxstyle=style, fc=colours[0], ec=colours[1], lw=0.9, zorder=3))


def _colours(graph: Connectivity, body: str) -> tuple[str, str]:
    """The colours of the box of a body and of its edge."""
    shade = graph.colour(body)
    if body == WORLD:
        return _GROUND, EDGE
    return (_PLAIN, EDGE) if shade is None else (hexadecimal(shade, _LIGHT), hexadecimal(shade))


def _line_colour(graph: Connectivity, cluster: int) -> str:
    shade = None if cluster == GROUND else graph.colours[cluster]
    return DARK if shade is None else hexadecimal(shade)


class BodyRows:
    """The connectivity graph in rows, one per body below the body that carries it; loops are dashed lines beside them.

    A row is as high as the loops that end in it need, each at a height of its own. Lengths are in inches.
    """

    title = "connectivity graph"

    def __init__(self, graph: Connectivity) -> None:
        self.graph = graph
        self.bodies, self.depth = _outline(graph)
        self.parent = {x.child: x for x in graph.joints}
        self.ends: dict[str, list[LoopEdge]] = {body: [] for body in self.bodies}
        for loop in graph.loops:
            for body in loop.ends:
                self.ends[body].append(loop)
        self.y, self.box, y = {}, {}, 0.0
        for body in self.bodies:
            self.box[body] = max(_BOX, 1.3 * _LANE * len(self.ends[body]))
            height = self.box[body] + _ROW - _BOX
            self.y[body] = y - height / 2.0
            y -= height
        self.height = -y
        self.named = {x.name: min(x.ends, key=lambda body: len(self.ends[body])) for x in graph.loops if x.ends}
        self.right = {body: self._label_end(body) for body in self.bodies}
        self.lanes = self._choose_lanes()
        self.first_lane = max(self._loop_end(body) for body in self.bodies) + _LANE
        self.width = max(_TITLE, self.first_lane + _LANE * max(self.lanes.values(), default=0))

    def _left_edge(self, body: str) -> float:
        return _INDENT * self.depth[body]

    def _box_end(self, body: str) -> float:
        return self._left_edge(body) + _width(shorten(body)) + 2.0 * _PAD

    def _joint(self, body: str) -> str:
        joint = self.parent.get(body)
        if joint is None:
            return ""
        return f"{shorten(joint.name)}: {joint.kind}" if joint.has_own_name else joint.kind

    def _label_end(self, body: str) -> float:
        return self._box_end(body) + _PAD + _width(self._joint(body), _SMALL)

    def _loop(self, loop: LoopEdge) -> str:
        return f"{shorten(loop.name)}: {loop.kind}"

    def _loop_end(self, body: str) -> float:
        own = [_width(self._loop(x), _SMALL) for x in self.ends[body] if self.named[x.name] == body]
        return self.right[body] + (3.0 * _PAD + max(own) + _PAD if own else 2.0 * _PAD)

    def _height(self, loop: LoopEdge, body: str) -> float:
        """The height at which a loop ends in the row of a body: one above the other in the order of their lanes."""
        own = sorted(self.ends[body], key=lambda x: (self._span(x)[1] > self.y[body] + 1e-9, x.name))
        return self.y[body] + 1.3 * _LANE * (0.5 * (len(own) - 1) - own[::-1].index(loop))

    def _span(self, loop: LoopEdge) -> tuple[float, float]:
        heights = [self.y[body] for body in loop.ends]
        return min(heights), max(heights)

    def _choose_lanes(self) -> dict[str, int]:
        """A lane for each loop, short ones first, so that no two lie on each other."""
        used: list[list[tuple[float, float]]] = []
        lanes = {}
        for loop in sorted((x for x in self.graph.loops if x.ends), key=lambda x: self._span(x)[1] - self._span(x)[0]):
            low, high = self._span(loop)
            low, high = low - _ROW / 2.0, high + _ROW / 2.0
            free = (k for k, spans in enumerate(used) if all(high <= a or b <= low for a, b in spans))
            lane = next(free, len(used))
            if lane == len(used):
                used.append([])
            used[lane].append((low, high))
            lanes[loop.name] = lane
        return lanes

    def draw(self, axes: Any, x: float) -> None:
        """Draw it with its left at x, downwards from zero."""
        for body in self.bodies:
            width = self._box_end(body) - self._left_edge(body)
            _box(axes, x + self._left_edge(body), self.y[body], (width, self.box[body]), _colours(self.graph, body))
            axes.text(x + self._left_edge(body) + width / 2.0, self.y[body], shorten(body), **_CENTRED)
            joint = self.parent.get(body)
            if joint is not None:
                stem = x + self._left_edge(joint.parent) + _STEM
                at = [stem, stem, x + self._left_edge(body)], [self.y[joint.parent], self.y[body], self.y[body]]
                axes.plot(*at, "-", color=EDGE, lw=1.1, zorder=1)
                axes.text(x + self._box_end(body) + _PAD, self.y[body], self._joint(body), size=_SMALL, color="#666666",
                          va="center_baseline", style="italic", parse_math=False)  # fmt: skip
        for loop in self.graph.loops:
            if loop.ends:
                self._draw_loop(axes, x, loop)

    def _draw_loop(self, axes: Any, x: float, loop: LoopEdge) -> None:
        colour = _line_colour(self.graph, loop.cluster)
        lane = x + self.first_lane + _LANE * self.lanes[loop.name]
        heights = [self._height(loop, body) for body in loop.ends]
        for body, y in zip(loop.ends, heights, strict=True):
            start = x + self.right[body] + 2.0 * _PAD
            text = self._loop(loop) if self.named[loop.name] == body else ""
            axes.plot([start], [y], "o", ms=3.0, color=colour, zorder=3)
            if text:
                axes.text(start + _PAD, y, text, size=_SMALL, color=colour, va="center_baseline", parse_math=False)
            after = start + (_width(text, _SMALL) + 1.6 * _PAD if text else 0.0)
            axes.plot([after, lane], [y, y], "--", color=colour, lw=1.1, zorder=2)
        axes.plot([lane, lane], [min(heights), max(heights)], "--", color=colour, lw=1.1, zorder=2)


def _outline(graph: Connectivity) -> tuple[list[str], dict[str, int]]:
    """The bodies, each followed by those that it carries, those of its own cluster first; and their depths."""
    children: dict[str, list[str]] = {body: [] for body in graph.clusters}
    for joint in graph.joints:
        children[joint.parent].append(joint.child)
    bodies, depth, stack = [], {WORLD: 0}, [WORLD]
    while stack:
        body = stack.pop()
        bodies.append(body)
        own = sorted(children[body], key=lambda name: graph.clusters[name] != graph.clusters[body])
        depth |= dict.fromkeys(own, depth[body] + 1)
        stack += reversed(own)
    return bodies, depth


class ClusterColumns:
    """The cluster tree in columns: a box per cluster with a cell per body, and a line from each of its carriers."""

    title = "cluster tree"

    def __init__(self, graph: Connectivity, clusters: Sequence[Any]) -> None:
        self.graph, self.clusters = graph, clusters
        self.cells = [(WORLD,), *(x.bodies for x in clusters)]
        home = {body: k for k, bodies in enumerate(self.cells) for body in bodies}
        self.home = home
        self.carriers = [(), *(x.carriers for x in clusters)]
        parents = [-1, *(home[x.carriers[0]] for x in clusters)]
        self.column = [0] * len(parents)
        for k, parent in enumerate(parents[1:], 1):
            self.column[k] = self.column[parent] + 1
        self.notes = ["", *(shorten(", ".join(x.loops)) for x in clusters)]
        self.widths = [max([_width(shorten(b)) for b in own] + [_width(note, _SMALL)]) + 2.0 * _PAD
                       for own, note in zip(self.cells, self.notes, strict=True)]  # fmt: skip
        self.heights = [_BOX * len(own) + (_NOTE if note else 0.0)
                        for own, note in zip(self.cells, self.notes, strict=True)]  # fmt: skip
        self.left = self._lefts()
        self.top = self._tops(parents)
        self.width = max(_TITLE, *(a + b for a, b in zip(self.left, self.widths, strict=True)))
        self.height = max(b - a for a, b in zip(self.top, self.heights, strict=True))

    def _lefts(self) -> list[float]:
        count = max(self.column) + 1
        wide = [max(w for w, c in zip(self.widths, self.column, strict=True) if c == k) for k in range(count)]
        starts = [sum(wide[:k]) + _GAP * k for k in range(count)]
        return [starts[c] for c in self.column]

    def _tops(self, parents: Sequence[int]) -> list[float]:
        """The tops of the boxes: each beside the middle of those that it carries, none over another."""
        children: list[list[int]] = [[] for _ in parents]
        for k, parent in enumerate(parents[1:], 1):
            children[parent].append(k)
        room = [0.0] * len(parents)  # the height of a cluster with all that it carries
        for k in reversed(range(len(parents))):
            room[k] = max(self.heights[k] + _ROW - _BOX, sum(room[c] for c in children[k]))
        top, start = [0.0] * len(parents), [0.0] * len(parents)
        for k in range(len(parents)):
            top[k] = start[k] - (room[k] - self.heights[k]) / 2.0
            y = start[k] - (room[k] - sum(room[c] for c in children[k])) / 2.0
            for c in children[k]:
                start[c] = y
                y -= room[c]
        return top

    def _middle(self, body: str) -> tuple[float, float]:
        k = self.home[body]
        return self.left[k] + self.widths[k], self.top[k] - _BOX * (self.cells[k].index(body) + 0.5)

    def draw(self, axes: Any, x: float) -> None:
        """Draw it with its left at x, downwards from zero."""
        for k, cell_bodies in enumerate(self.cells):
            colours = _colours(self.graph, cell_bodies[0])
            left, width, middle = x + self.left[k], self.widths[k], self.top[k] - self.heights[k] / 2.0
            _box(axes, left, middle, (width, self.heights[k]), colours)
            for n, body in enumerate(cell_bodies):
                y = self.top[k] - _BOX * (n + 0.5)
                axes.text(left + width / 2.0, y, shorten(body), **_CENTRED)
                if n:
                    axes.plot([left, left + width], [y + _BOX / 2.0] * 2, "-", color=colours[1], lw=0.6, zorder=4)
            note = {**_CENTRED, "size": _SMALL, "color": colours[1], "style": "italic"}
            axes.text(left + width / 2.0, self.top[k] - self.heights[k] + _NOTE / 2.0, self.notes[k], **note)
            for body in self.carriers[k]:
                self._draw_line(axes, x, body, (self.left[k], middle))

    def _draw_line(self, axes: Any, x: float, body: str, to: tuple[float, float]) -> None:
        from matplotlib.patches import PathPatch
        from matplotlib.path import Path

        (a, y), (b, z) = self._middle(body), to
        half = 0.5 * _GAP
        corners = [(x + a, y), (x + b - half, y), (x + b - half, z), (x + b, z)]
        codes = [Path.MOVETO, Path.CURVE4, Path.CURVE4, Path.CURVE4]
        axes.add_patch(PathPatch(Path(corners, codes), fc="none", ec=EDGE, lw=1.1, zorder=2))
        axes.plot([x + a], [y], "o", ms=3.0, color=EDGE, zorder=5)


def plot_tree(robot: System, what: Iterable[str]) -> Any:
    """A figure of the connectivity graph, of the cluster tree, or of both side by side."""
    graph = connectivity(robot.mechanism, robot.model.cluster_tree)
    with drawing(1.0, 1.0, "") as figure:
        figure.set_layout_engine("none")
        panels = [BodyRows(graph) if x == "bodies" else ClusterColumns(graph, robot.clusters) for x in what]
        width = 2.0 * _MARGIN + sum(p.width for p in panels) + _GAP * (len(panels) - 1)
        height = _HEAD + _MARGIN + max(p.height for p in panels)
        if max(width, height) > _LARGEST:
            raise ArgumentError(
                f"plot_tree: a picture of {len(graph.clusters)} bodies would be {max(width, height) * 0.0254:.0f} m "
                "large; robot.graphviz() gives the graph as text"
            )
        figure.set_size_inches(max(width, 3.5), height)
        axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
        axes.set(xlim=(-_MARGIN, max(width, 3.5) - _MARGIN), ylim=(_HEAD - height, _HEAD))
        axes.axis("off")
        axes.text(0.0, _HEAD - 0.3, robot.name, size=12, weight="bold", parse_math=False)
        x = 0.0
        for panel in panels:
            axes.text(x, 0.14, panel.title, size=9, color=DARK)
            panel.draw(axes, x)
            x += panel.width + _GAP
    return figure
