"""Serial chains: a double pendulum with its closed-form equations, and chains of any length, to study how cost grows.

The pendulum is two uniform rods in the x-z plane; long chains are driven by geared rotors or by pairs of belts.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import to_count
from ..errors import ArgumentError
from ..hints import with_keyword_hints
from ..joints import Revolute
from ..system.system import Builder, System
from .robot_data import Rotors, build_facts

LENGTHS = (0.5, 0.4)
MASSES = (1.0, 0.8)


@with_keyword_hints
def double_pendulum(lengths: tuple[float, float] = LENGTHS, masses: tuple[float, float] = MASSES) -> System:
    """Two uniform slender rods, each hanging down at q = 0 and swinging about y."""
    b = Builder("double_pendulum")
    parent, position = "world", (0.0, 0.0, 0.0)
    for name, length, mass in zip(("upper", "lower"), lengths, masses, strict=True):
        across = mass * length**2 / 12
        b.body(
            name,
            parent=parent,
            joint=Revolute("y"),
            joint_name={"upper": "shoulder", "lower": "elbow"}[name],
            position=position,
            mass=mass,
            com=(0.0, 0.0, -length / 2),
            inertia=(across, across, 0.0),
        )
        parent, position = name, (0.0, 0.0, -length)
    b.frame("tip", "lower", position=(0.0, 0.0, -lengths[1]))
    return b.build()


def closed_form(
    q: np.ndarray,
    v: np.ndarray,
    lengths: tuple[float, float] = LENGTHS,
    masses: tuple[float, float] = MASSES,
    gravity: float = 9.81,
) -> np.ndarray:
    """Accelerations (..., 2) of the free double pendulum, from Lagrange's equations in the absolute angles."""
    (l1, l2), (m1, m2) = lengths, masses
    a1, a2 = q[..., 0], q[..., 0] + q[..., 1]
    w1, w2 = v[..., 0], v[..., 0] + v[..., 1]
    coupling = m2 * l1 * l2 / 2
    m11, m22, m12 = (m1 / 3 + m2) * l1**2, m2 * l2**2 / 3, coupling * np.cos(a1 - a2)
    f1 = -coupling * np.sin(a1 - a2) * w2**2 - (m1 / 2 + m2) * gravity * l1 * np.sin(a1)
    f2 = coupling * np.sin(a1 - a2) * w1**2 - m2 / 2 * gravity * l2 * np.sin(a2)
    determinant = m11 * m22 - m12**2
    b1, b2 = (m22 * f1 - m12 * f2) / determinant, (m11 * f2 - m12 * f1) / determinant
    return np.stack([b1, b2 - b1], axis=-1)


_AXES = ((1, 0, 0), (0, 1, 0), (0, 0, 1))
Row = dict[str, Any]


class _Uniform:
    """Equal planar links of 1 m and 1 kg, rotors on their joints with inertia about the axis only, ratio 6."""

    gravity = (9.81, 0.0, 0.0)

    def link(self, name: str, parent: str) -> Row:
        place = {"position": (0.0 if parent == "world" else 1.0, 0.0, 0.0), "axis": (0, 0, 1)}
        return {**_row(name, parent), **place, "mass": 1.0, "com": (0.5, 0.0, 0.0), "inertia": (0, 0, 0, 0, 0, 1.0)}

    def rotor(self, name: str, parent: str, link: Row) -> Row:
        place = {"position": (0.0 if parent == "world" else 1.0, 0.0, 0.0), "axis": link["axis"]}
        return {**_row(name, parent), **place, "inertia": (0, 0, 0, 0, 0, 1e-4), "rotor": True}

    def ratio(self) -> float:
        return 6.0

    def belts(self) -> list[list[float]]:
        """Gears of 2 and belts of 3 to the first joint, from there 1 to the second."""
        return [[6.0, 0.0], [6.0, 6.0]]

    def point(self) -> tuple[float, ...]:
        return (1.0, 0.0, 0.0)


class _Random:
    """Links of random mass, inertia and placement, rotors ten thousand times lighter; ratios are integers."""

    gravity = (0.0, 0.0, -9.81)

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)

    def _random_inertia(self, scale: float) -> Row:
        """Mass, centre and inertia of a few random points."""
        mass = float(self.rng.uniform(0.1, 1.0))
        points = self.rng.uniform(-1.0, 1.0, (6, 3))
        centred = points - points.mean(0)
        moments = mass / 6.0 * centred.T @ centred
        xx, xy, xz, _, yy, yz, _, _, zz = (scale * (np.trace(moments) * np.eye(3) - moments)).ravel().tolist()
        return {"mass": scale * mass, "com": points.mean(0).tolist(), "inertia": (xx, xy, xz, yy, yz, zz)}

    def _place(self) -> Row:
        w, x, y, z = self.rng.normal(size=4)
        quaternion = np.array([w, x, y, z]) / np.sqrt(w * w + x * x + y * y + z * z)
        return {"position": self.rng.uniform(-1.0, 1.0, 3).tolist(), "rotation": quaternion.tolist()}

    def link(self, name: str, parent: str) -> Row:
        return {**_row(name, parent), **self._place(), "axis": _AXES[self.rng.integers(3)], **self._random_inertia(1.0)}

    def rotor(self, name: str, parent: str, link: Row) -> Row:
        balanced = {**self._random_inertia(1e-4), "com": (0.0, 0.0, 0.0)}
        return {**_row(name, parent), **self._place(), "axis": link["axis"], **balanced, "rotor": True}

    def ratio(self) -> float:
        return float(self.rng.integers(1, 10))

    def belts(self) -> list[list[float]]:
        first, second, along = self.rng.integers(1, 6, 2), self.rng.integers(1, 6, 2), self.rng.integers(1, 4)
        shared = float(second.prod())
        return [[float(first.prod()), 0.0], [shared, shared * float(along)]]

    def point(self) -> tuple[float, ...]:
        return tuple(self.rng.uniform(-1.0, 1.0, 3).tolist())


def _row(name: str, parent: str) -> Row:
    return {"name": name, "parent": parent, "joint": f"{name}_joint"}


def _numbers(n: int, seed: int | None) -> _Uniform | _Random:
    if to_count(n) is None:
        raise ArgumentError(f"n={n!r}: expected an integer, the number of links, at least 1")
    return _Uniform() if seed is None else _Random(seed)


@with_keyword_hints
def gt_chain(n: int = 12, seed: int | None = None, rotors: Rotors = "exact") -> System:
    """A row of n links, each hinge geared to a rotor that the link before it carries: n degrees of freedom.

    Without a seed the equal planar links of Chignoli's paper, gravity along x; with one, links drawn at random.
    Frame "cp-i" is a point of link i (the far end of equal links). rotors: "exact", "reflected", "block" or "none".
    """
    numbers = _numbers(n, seed)
    bodies, loops, points = [], [], []
    parent = "world"
    for i in range(n):
        link = numbers.link(f"link-{i}", parent)
        rotor = numbers.rotor(f"rotor-{i}", parent, link)
        bodies += [link, rotor]
        loops.append(_transmission(f"cluster-{i}", "gear", [link], [rotor], [[numbers.ratio()]]))
        points.append([f"cp-{i}", link["name"], numbers.point()])
        parent = link["name"]
    facts = {"name": f"gt_chain_{n}", "gravity": numbers.gravity, "bodies": bodies, "loops": loops, "points": points}
    return build_facts(facts, rotors)


@with_keyword_hints
def pbt_chain(n: int = 12, seed: int | None = None, rotors: Rotors = "exact") -> System:
    """A row of n links driven in pairs by belts: n degrees of freedom in n / 2 clusters.

    Both rotors of a pair sit before its first link, and the belt to the second hinge runs past the first one; of an odd
    n the last link has a rotor alone.

    Without a seed the equal planar links of Chignoli's paper, gravity along x; with one, links drawn at random.
    Frames "cp-A-i" and "cp-B-i" are points of the links. rotors: "exact", "reflected", "block" or "none".
    """
    numbers = _numbers(n, seed)
    bodies, loops, points = [], [], []
    parent = "world"
    for i in range((n + 1) // 2):
        letters = "AB" if 2 * i + 1 < n else "A"
        links: list[Row] = []
        carrier = parent
        for letter in letters:
            links.append(numbers.link(f"link-{letter}-{i}", carrier))
            carrier = links[-1]["name"]
        rotors_here = [numbers.rotor(f"rotor-{x}-{i}", parent, link) for x, link in zip(letters, links, strict=True)]
        bodies += [links[0], *rotors_here, *links[1:]]
        belts = numbers.belts()
        kind, matrix = ("parallel_belt_pair", belts) if len(links) == 2 else ("gear", [belts[0][:1]])
        loops.append(_transmission(f"cluster-{i}", kind, links, rotors_here, matrix))
        points += [[f"cp-{x}-{i}", link["name"], numbers.point()] for x, link in zip(letters, links, strict=True)]
        parent = carrier
    facts = {"name": f"pbt_chain_{n}", "gravity": numbers.gravity, "bodies": bodies, "loops": loops, "points": points}
    return build_facts(facts, rotors)


def _transmission(name: str, kind: str, links: list[Row], rotors: list[Row], matrix: list[list[float]]) -> Row:
    joints = {"links": [x["joint"] for x in links], "rotors": [x["joint"] for x in rotors]}
    return {"name": name, "kind": kind, **joints, "matrix": matrix}
