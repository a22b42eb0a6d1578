"""Pictures and texts of the connectivity graph and of the tree of clusters."""

from __future__ import annotations

import re
import sys
from collections import Counter
from typing import Any

import pytest

import fourbar as fb
from fourbar.errors import ArgumentError, extra
from fourbar.joints import Revolute
from fourbar.loops import Closure, Constraint, Gear
from fourbar.mechanism.sticks import cluster_colour, hexadecimal
from fourbar.viewer.overlays import coloured_clusters


def figure_5() -> fb.System:
    """The robot of Chignoli's Fig. 5."""
    bar: dict[str, Any] = {"mass": 1.0, "inertia": (0.01, 0.02, 0.02)}
    b = fb.Builder("figure_5")
    for name, parent, axis, x in (("1", "world", "y", 0), ("2", "1", "y", 0.4), ("3", "2", "y", 0.9),
                                  ("4", "1", "x", 0), ("5", "4", "x", 0), ("6", "1", "x", 0.2),
                                  ("7", "2", "y", 0.3)):  # fmt: skip
        b.body(name, parent=parent, joint=Revolute(axis), position=(x, 0, 0), **bar)
    ends: dict[str, Any] = {"at_predecessor": (0.7, 0, 0), "at_successor": (1.0, 0, 0)}
    b.loop(Closure(Revolute("y"), "3", "world", **ends), name="four_bar", independent=["1"])
    b.loop(Gear("4", "5", 6.0), name="motor").loop(Gear("6", "7", -2.0), name="gear")
    b.configuration("home", {"1": -0.8, "2": 0.9, "3": 1.6})
    return b.build()


def edges(text: str) -> Counter[tuple[str, str, bool]]:
    """Pairs of nodes of a graph in the DOT language, and whether they are dashed."""
    found = re.findall(r"^\s*(\S+) -> ([^\s;]+)(.*);$", text.replace('"', ""), re.MULTILINE)
    return Counter((a, b, "style=dashed" in rest) for a, b, rest in found)


def test_graph_of_bodies_as_text() -> None:
    """Joints are plain edges, loops dashed ones; bodies stand in boxes of their clusters and have their colours."""
    robot = figure_5()
    text = robot.graphviz()
    joints = {(c.parent, c.child, False) for c in robot.mechanism.joints}
    loops = {("3", "world", True), ("4", "5", True), ("6", "7", True)}
    assert edges(text) == Counter([*joints, *loops])
    boxes = re.findall(r"subgraph cluster_(\d) \{(.*?)\n  \}", text, re.DOTALL)
    assert [re.findall(r'^\s*"(\w)" ', box, re.MULTILINE) for _, box in boxes] == [
        ["1", "2", "3"],
        ["4", "5"],
        ["6", "7"],
    ]
    for k, box in boxes:
        assert hexadecimal(cluster_colour(int(k))) in box and box.count(hexadecimal(cluster_colour(int(k)), 0.65)) > 1


def test_tree_of_clusters_as_text() -> None:
    """Fig. 5: the third cluster hangs on two cells of the first, which has three."""
    text = figure_5().graphviz("clusters")
    assert set(edges(text)) == {
        ("world", "c0", False),
        ("c0:b0", "c1", False),
        ("c0:b0", "c2", False),
        ("c0:b1", "c2", False),
    }
    assert [re.findall(r'port="b\d">(\w)<', line) for line in text.splitlines() if "<table" in line] == [
        ["1", "2", "3"], ["4", "5"], ["6", "7"],
    ]  # fmt: skip


def odd_names() -> fb.System:
    """Names with signs that DOT and HTML mean something by, a fixed body, a loop of three joints and one of one."""
    b = fb.Builder('odd "one"')
    bar: dict[str, Any] = {"mass": 1.0, "inertia": (0.01, 0.01, 0.01)}
    for name in ('a "b"', "<c> & d", "back\\slash $x$"):
        b.body(name, joint=Revolute("y"), **bar)
    b.body("loop_0", parent="<c> & d", **bar)
    b.body("alone", joint=Revolute("y"), **bar)
    b.loop(Constraint(lambda x, y, z: x + y + z, ['a "b"', "<c> & d", "back\\slash $x$"]), name="sum")
    b.loop(Constraint(lambda x: x - 0.1, ["alone"]), name="stop")
    return b.build()


@pytest.mark.parametrize("what", ["bodies", "clusters"])
def test_a_parser_reads_the_text(what: str) -> None:
    pydot = pytest.importorskip("pydot")
    for robot in (odd_names(), fb.robots.tello(), fb.robots.stewart_platform()):
        graphs = pydot.graph_from_dot_data(robot.graphviz(what))
        assert graphs is not None and len(graphs) == 1
        graph = graphs[0]
        bodies = len(robot.mechanism.bodies)
        carried = sum(len(c.carriers) for c in robot.clusters)
        loops = [{*x.loop.bodies, *x.loop.joints} for x in robot.mechanism.loops]
        expected = bodies + sum(1 if len(x) == 2 else len(x) for x in loops) if what == "bodies" else carried
        assert len(graph.get_edges()) == expected
        assert graph.get_name()[1:-1].replace('\\"', '"') == robot.name


def test_loops_of_other_than_two_bodies_have_a_node() -> None:
    """It has a name that no body has."""
    text = odd_names().graphviz()
    assert "loop_0_ [" in text and "loop_1 [" in text
    dashed = [line.split(" -> ")[1].split()[0] for line in text.splitlines() if "->" in line and "dashed" in line]
    assert dashed == ["loop_0_"] * 3 + ["loop_1"]


def test_colours_are_those_of_the_viewer() -> None:
    robot = fb.robots.tello()
    text = robot.graphviz()
    for cluster in coloured_clusters(robot):
        colour = cluster.colour[:3]
        inside = re.findall(r'^\s*"([^"]+)" \[fillcolor="' + hexadecimal(colour, 0.65), text, re.MULTILINE)
        assert {robot.names.bodies.index(body) for body in inside} == cluster.bodies


def texts(figure: Any) -> list[str]:
    """All texts of a picture."""
    return [x.get_text() for x in figure.axes[0].texts if x.get_text()]


def test_picture_of_figure_5() -> None:
    """A row and a cell for each body, a dashed line for each loop, a curve for each output body."""
    pytest.importorskip("matplotlib")
    from matplotlib.patches import PathPatch

    robot = figure_5()
    figure = robot.plot_tree()
    shown = Counter(texts(figure))
    assert all(shown[name] == 2 for name in ("world", "1", "2", "3", "4", "5", "6", "7"))
    assert {"four_bar: Closure", "motor: Gear", "gear: Gear", "connectivity graph", "cluster tree"} <= set(shown)
    dashed = [x for x in figure.axes[0].lines if x.get_linestyle() == "--"]
    assert Counter(x.get_color() for x in dashed) == {hexadecimal(cluster_colour(k)): 3 for k in range(3)}
    curves = [x for x in figure.axes[0].patches if isinstance(x, PathPatch)]
    assert len(curves) == sum(len(c.carriers) for c in robot.clusters) == 4
    alone = robot.plot_tree("clusters")
    assert Counter(texts(alone))["4"] == 1 and not any(x.get_linestyle() == "--" for x in alone.axes[0].lines)


def test_texts_do_not_lie_on_each_other() -> None:
    """Of robots with long names, many loops in one body, and loops within loops."""
    pytest.importorskip("matplotlib")
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    for robot in (figure_5(), odd_names(), fb.robots.tello(), fb.robots.stewart_platform()):
        figure = robot.plot_tree()
        renderer = FigureCanvasAgg(figure).get_renderer()
        axes = figure.axes[0]
        boxes = [x.get_window_extent(renderer) for x in axes.texts if x.get_text()]
        inside = figure.bbox.padded(1.0)
        assert all(inside.contains(*box.min) and inside.contains(*box.max) for box in boxes)
        for k, a in enumerate(boxes):
            for b in boxes[:k]:
                assert min(a.x1, b.x1) <= max(a.x0, b.x0) or min(a.y1, b.y1) <= max(a.y0, b.y0) + 1.0


def test_what_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib")
    robot = fb.robots.four_bar()
    with pytest.raises(ArgumentError, match="'bodies' or 'clusters'"):
        robot.graphviz("links")
    for what in ("links", [], ["bodies", "links"]):
        with pytest.raises(ArgumentError, match="'bodies' or 'clusters'"):
            robot.plot_tree(what)
    b = fb.Builder("many")
    for k in range(1200):
        b.body(f"b{k}", joint=Revolute("y"), mass=1.0, inertia=(1, 1, 1))
    with pytest.raises(ArgumentError, match=r"robot.graphviz\(\)"):
        b.build().plot_tree()
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ArgumentError, match=re.escape(extra("plot"))):
        robot.plot_tree()
