"""Draws docs/images/loops/*.svg: a figure for each type of loop, and for clusters.  python docs/make_loop_figures.py

Lines and letters have colours that are readable on white and on black. What the loop itself holds is orange.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from pathlib import Path

TARGET = Path(__file__).parent / "images" / "loops"
LINE, LOOP, GROUND, LETTERS = "#5b86b0", "#e07b1a", "#8a8f98", "#7d838c"
CLUSTERS = ("#5b86b0", "#e07b1a", "#3f9b6b", "#a869b5")
WIDTH, HEIGHT = 220, 130
Point = tuple[float, float]
FIGURES: dict[str, Callable[[], Figure]] = {}


class Figure:
    """An SVG that is drawn piece by piece; points are pixels, y down."""

    def __init__(self) -> None:
        self.parts: list[str] = []

    def line(self, *points: Point, colour: str = LINE, width: float = 2.0, dashed: bool = False) -> Figure:
        """A line through points."""
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        dash = ' stroke-dasharray="5 4"' if dashed else ""
        self.parts.append(
            f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="{width:g}" '
            f'stroke-linecap="round" stroke-linejoin="round"{dash}/>'
        )
        return self

    def bar(self, a: Point, b: Point, colour: str = LINE) -> Figure:
        """A link, from joint to joint."""
        return self.line(a, b, colour=colour, width=7.0)

    def circle(self, at: Point, radius: float, colour: str = LINE, width: float = 2.0, fill: str = "none") -> Figure:
        """A circle."""
        self.parts.append(
            f'<circle cx="{at[0]:.1f}" cy="{at[1]:.1f}" r="{radius:g}" fill="{fill}" stroke="{colour}" '
            f'stroke-width="{width:g}"/>'
        )
        return self

    def pin(self, at: Point, colour: str = LINE) -> Figure:
        """A hinge, or the ball at the end of a rod."""
        return self.circle(at, 4.5, colour, 2.5, fill="white")

    def ground(self, at: Point, width: float = 26.0) -> Figure:
        """Hatched ground under a hinge."""
        x, y = at
        left, right, top = x - width / 2, x + width / 2, y + 12
        self.line((x, y), (x - 8, top), (x + 8, top), (x, y), colour=GROUND)
        self.line((left, top), (right, top), colour=GROUND)
        for i in range(int(width // 6)):
            self.line((left + 6 * i + 5, top), (left + 6 * i, top + 5), colour=GROUND, width=1.2)
        return self

    def gear(self, at: Point, radius: float, teeth: int, colour: str = LINE, turn: float = 0.0) -> Figure:
        """A spur gear."""
        points = []
        for i in range(4 * teeth + 1):
            r = radius + (3.0 if i % 4 in (1, 2) else -3.0)
            angle = turn + 2 * math.pi * (i - 0.5) / (4 * teeth)
            points.append((at[0] + r * math.cos(angle), at[1] + r * math.sin(angle)))
        return self.line(*points, colour=colour).circle(at, 3, colour)

    def box(self, corner: Point, size: Point, colour: str = LINE) -> Figure:
        """A block."""
        self.parts.append(
            f'<rect x="{corner[0]:.1f}" y="{corner[1]:.1f}" width="{size[0]:g}" height="{size[1]:g}" rx="3" '
            f'fill="none" stroke="{colour}" stroke-width="2"/>'
        )
        return self

    def arrow(self, a: Point, b: Point, colour: str = LETTERS) -> Figure:
        """An arrow from a to b."""
        angle = math.atan2(b[1] - a[1], b[0] - a[0])
        wings = [(b[0] - 7 * math.cos(angle + s), b[1] - 7 * math.sin(angle + s)) for s in (0.45, -0.45)]
        return self.line(a, b, colour=colour, width=1.5).line(wings[0], b, wings[1], colour=colour, width=1.5)

    def turn(self, at: Point, radius: float, start: float, end: float, colour: str = LETTERS) -> Figure:
        """An arrow along an arc, by angles (degrees, clockwise)."""
        steps = [math.radians(start + (end - start) * i / 20) for i in range(21)]
        arc = [(at[0] + radius * math.cos(t), at[1] + radius * math.sin(t)) for t in steps]
        return self.line(*arc, colour=colour, width=1.5).arrow(arc[-3], arc[-1], colour)

    def text(self, at: Point, words: str, colour: str = LETTERS, anchor: str = "middle") -> Figure:
        """Letters."""
        self.parts.append(
            f'<text x="{at[0]:.1f}" y="{at[1]:.1f}" text-anchor="{anchor}" fill="{colour}" '
            f'font-family="system-ui, sans-serif" font-size="11">{words}</text>'
        )
        return self

    def svg(self, title: str) -> str:
        """The file."""
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}">'
        )
        return "\n".join([head, f"<title>{title}</title>", *self.parts, "</svg>"]) + "\n"


def figure(draw: Callable[[], Figure]) -> Callable[[], Figure]:
    """Register a figure; its file is named after the function."""
    FIGURES[draw.__name__] = draw
    return draw


@figure
def closure() -> Figure:
    """A joint closes the chain of a four-bar."""
    a, b, c, d = (35, 95), (62, 35), (150, 28), (178, 95)
    f = Figure().ground(a).ground(d).bar(a, b).bar(b, c).bar(d, c)
    f.pin(a).pin(b).pin(d).circle(c, 9, LOOP, 1.5).pin(c, LOOP)
    return (
        f.text((178, 20), "joint", LOOP, "start")
        .text((92, 22), "predecessor")
        .text((158, 66), "successor", LETTERS, "end")
    )


@figure
def distance() -> Figure:
    """A rod with a ball at each end keeps two points apart."""
    a, b, c, d = (40, 100), (58, 45), (165, 32), (165, 100)
    f = Figure().ground(a).ground(d).bar(a, b).bar(d, c).line(b, c, colour=LOOP, width=3)
    f.pin(a).pin(d).pin(b, LOOP).pin(c, LOOP)
    return f.text((112, 30), "length", LOOP)


@figure
def gear() -> Figure:
    """A driver and the joint that it drives."""
    f = Figure().gear((80, 62), 42, 18).gear((150, 62), 26, 11, LOOP, math.pi / 11)
    f.turn((80, 62), 20, 200, 320).turn((150, 62), 13, -20, -140)
    return f.text((80, 124), "driver").text((150, 124), "driven", LOOP)


def _belt(f: Figure, a: Point, r: float, b: Point, s: float) -> Figure:
    """A belt around two pulleys at the same height or not."""
    along = math.atan2(b[1] - a[1], b[0] - a[0])
    tilt = math.acos((r - s) / math.dist(a, b))
    for side in (1, -1):
        angle = along + side * tilt
        ends = [(p[0] + q * math.cos(angle), p[1] + q * math.sin(angle)) for p, q in ((a, r), (b, s))]
        f.line(*ends, colour=LOOP, width=2.5)
    return f


@figure
def coupling() -> Figure:
    """A belt over two pulleys, and a rack: sums of coordinates are constant."""
    a, b = (55, 50), (130, 50)
    f = _belt(Figure(), a, 28, b, 16).circle(a, 28).circle(b, 16).circle(a, 3).circle(b, 3)
    f.line((100, 103), (205, 103), colour=LINE, width=6).gear((168, 80), 17, 9, LINE)
    f.arrow((150, 116), (195, 116)).turn(a, 16, 200, 320).turn(b, 9, 200, 320)
    return f.text((92, 18), "belt", LOOP).text((120, 122), "rack")


@figure
def polynomial() -> Figure:
    """A joint follows a polynomial of another."""
    curve = [(40 + 150 * t, 95 - 60 * (2.2 * t - 3.4 * t**2 + 2.2 * t**3)) for t in (i / 40 for i in range(41))]
    f = Figure().arrow((40, 105), (205, 105)).arrow((40, 105), (40, 12)).line(*curve, colour=LOOP, width=3)
    return f.text((170, 121), "q of the driver").text((46, 14), "q of the driven joint", LETTERS, "start")


@figure
def differential() -> Figure:
    """Two bevel gears drive a third one, which tilts and turns."""
    f = Figure().line((20, 68), (66, 68), width=5).line((154, 68), (200, 68), width=5)
    f.line((66, 40), (66, 96), (88, 84), (88, 52), (66, 40)).line((154, 40), (154, 96), (132, 84), (132, 52), (154, 40))
    f.line((68, 36), (152, 36), (130, 50), (90, 50), (68, 36), colour=LOOP)
    f.line((110, 36), (110, 8), colour=LOOP, width=5)
    f.turn((40, 68), 14, 120, 240).turn((180, 68), 14, 60, -60)
    return f.text((44, 116), "left output").text((176, 116), "right output").text((134, 18), "inputs", LOOP)


@figure
def parametric() -> Figure:
    """A cam and its follower: the follower's coordinate is a function of the cam's."""
    centre, shaft = (96, 86), (88, 92)
    f = Figure().circle(centre, 34).circle(shaft, 3).turn(shaft, 15, 150, 290)
    f.line((96, 51), (96, 14), colour=LOOP, width=6).line((82, 51), (110, 51), colour=LOOP, width=4)
    f.line((88, 32), (88, 20), colour=GROUND, width=3).line((104, 32), (104, 20), colour=GROUND, width=3)
    f.arrow((122, 48), (122, 18))
    return f.text((130, 36), "output", LOOP, "start").text((140, 95), "input", LETTERS, "start")


@figure
def constraint() -> Figure:
    """Two slides carry the ends of a stick."""
    f = Figure().line((45, 10), (45, 118), colour=GROUND).line((32, 108), (205, 108), colour=GROUND)
    f.line((45, 40), (150, 108), colour=LOOP, width=4).box((34, 30), (22, 20)).box((138, 98), (24, 20))
    f.pin((45, 40)).pin((150, 108)).arrow((66, 34), (66, 14)).arrow((168, 98), (198, 98))
    return f.text((118, 66), "function(x, y) = 0", LOOP, "start").text((78, 22), "y").text((184, 92), "x")


@figure
def cluster_gear() -> Figure:
    """A link and its rotor are one cluster; the carrier is another."""
    return _clusters(
        [((36, 70), "carrier", 0), ((110, 40), "link", 1), ((110, 100), "rotor", 1)], [(0, 1), (0, 2)], [(1, 2, "gear")]
    )


@figure
def cluster_belts() -> Figure:
    """A pair of belts ties two links in series and two rotors on their carrier to one cluster."""
    nodes = [((26, 64), "base", 0), ((90, 36), "thigh", 1), ((160, 36), "shank", 1), ((90, 96), "rotor", 1)]
    return _clusters([*nodes, ((160, 96), "rotor", 1)], [(0, 1), (1, 2), (0, 3), (0, 4)], [(1, 3, ""), (2, 4, "belt")])


@figure
def cluster_four_bar() -> Figure:
    """The links of a linkage are one cluster, the next link is another one."""
    nodes = [((24, 64), "base", 0), ((78, 34), "crank", 1), ((140, 34), "coupler", 1), ((104, 98), "rocker", 1)]
    return _clusters([*nodes, ((194, 64), "tool", 2)], [(0, 1), (1, 2), (0, 3), (2, 4)], [(2, 3, "pin")])


def _clusters(
    nodes: list[tuple[Point, str, int]], joints: Iterable[tuple[int, int]], loops: Iterable[tuple[int, int, str]]
) -> Figure:
    """Bodies by cluster, joints as lines, loops dashed."""
    f = Figure()
    for i, j in joints:
        f.line(nodes[i][0], nodes[j][0], colour=GROUND)
    for i, j, name in loops:
        a, b = nodes[i][0], nodes[j][0]
        f.line(a, b, colour=LETTERS, dashed=True)
        f.text(((a[0] + b[0]) / 2 + 8, (a[1] + b[1]) / 2 + 4), name, LETTERS, "start")
    for at, name, cluster in nodes:
        f.circle(at, 12, CLUSTERS[cluster], 3, fill=CLUSTERS[cluster])
        f.text((at[0], at[1] + (26 if at[1] > HEIGHT / 2 + 10 else -19)), name, CLUSTERS[cluster])
    return f


def main() -> None:
    TARGET.mkdir(exist_ok=True)
    for name, draw in FIGURES.items():
        (TARGET / f"{name}.svg").write_text(draw().svg((draw.__doc__ or "").strip()), encoding="utf-8")


if __name__ == "__main__":
    main()
