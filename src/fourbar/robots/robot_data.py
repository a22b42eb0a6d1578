"""Robots from their numbers: the files of `robots/data`, geared rotors as bodies, as reflected inertia, or none.

A file lists bodies (each with the joint that carries it), loops and points, in SI units. Loops are of these kinds:
`gear` and `parallel_belt_pair`: rotors = matrix · links; `implicit_differential`: a function of rotors and links, whose
independent velocities are the rotors' behind their gear boxes; `point_coincidence`: a hinge between two bodies.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from pkgutil import get_data
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from ..constraints import Closure, Constraint, Differential, Gear
from ..errors import ArgumentError
from ..joints import Free, Revolute
from ..mechanism.armature_blocks import is_coupled
from ..system.system import Builder, System
from ..tree.clusters import split

Rotors = Literal["exact", "reflected", "block", "none"]
Functions = Mapping[str, Callable[..., Any]]


def check_choice(what: str, given: str, choices: tuple[str, ...]) -> None:
    """Refuse an option that is not among the choices."""
    if given not in choices:
        raise ArgumentError(f"{what}={given!r}: expected one of {', '.join(map(repr, choices))}")


def read_facts(name: str) -> dict[str, Any]:
    """The numbers of a robot."""
    return json.loads(get_data("fourbar.robots", f"data/{name}.json") or b"")


def merged_facts(name: str, *parts: dict[str, Any]) -> dict[str, Any]:
    """Several lists of bodies, loops and points as one robot; gravity is that of the first."""
    joined = {key: [x for part in parts for x in part[key]] for key in ("bodies", "loops", "points")}
    return {"name": name, "gravity": parts[0]["gravity"], **joined}


def build_facts(
    facts: dict[str, Any],
    rotors: Rotors = "exact",
    functions: Functions | None = None,
    limits: Mapping[str, tuple[float, float]] | None = None,
) -> System:
    """The robot of a file.

    rotors="exact": they are bodies, connected to the links by loops. "reflected": they are fixed to their carriers, and
    the joints they drive have an armature, the reflected inertia N² I of the rotors about their axes. "block": the same
    with an armature block for joints that drive rotors together. "none": they are left out. `functions`: the loops that
    are functions, by the ending of the loop's name; `limits`: of joints, by the ending of the body's name.
    """
    check_choice("rotors", rotors, get_args(Rotors))
    blocks = _reflected_blocks(facts, functions) if rotors in ("reflected", "block") else {}
    coupled = {name: x for name, x in blocks.items() if rotors == "block" and is_coupled(x.matrix)}
    reflected = _diagonals(x for name, x in blocks.items() if name not in coupled)
    b = Builder(facts["name"], gravity=facts["gravity"])
    for row in facts["bodies"]:
        if rotors == "exact" or not row.get("rotor"):
            ends = next((ends for ending, ends in (limits or {}).items() if row["name"].endswith(ending)), None)
            _add_body(b, row, reflected.get(row["joint"], 0.0), ends)
        elif rotors != "none":
            _add_body(b, {**row, "rotor": "fixed"})
    for row in facts["loops"]:
        if rotors == "exact" or "rotors" not in row:
            _add_loop(b, row, functions or {})
    for name, body, position in facts["points"]:
        b.frame(name, body, position=position)
    for name, block in coupled.items():
        b.armature(block.joints, block.matrix, name=name)
    return System(b.mechanism())  # files draw four-bars in line, of which `build` would warn


def _add_body(
    b: Builder, row: dict[str, Any], armature: float = 0.0, limits: tuple[float, float] | None = None
) -> None:
    joint = None if row.get("rotor") == "fixed" else Revolute(tuple(row["axis"])) if "axis" in row else Free()
    b.body(
        row["name"],
        parent=row["parent"],
        joint=joint,
        joint_name=row["joint"],
        position=row.get("position", (0.0, 0.0, 0.0)),
        rotation=row.get("rotation"),
        mass=row.get("mass", 0.0),
        com=row.get("com", (0.0, 0.0, 0.0)),
        inertia=row.get("inertia", (0.0, 0.0, 0.0)),
        armature=armature,
        limits=limits,
        allow_unphysical=True,  # some rotors of the source have inertia without mass, some links are flat
    )


def _add_loop(b: Builder, row: dict[str, Any], functions: Functions) -> None:
    name, kind = row["name"], row["kind"]
    if kind == "gear":
        (link,), (rotor,), ((ratio,),) = row["links"], row["rotors"], row["matrix"]
        b.loop(Gear(link, rotor, ratio), name=name, independent=[link])
    elif kind == "parallel_belt_pair":
        b.loop(Differential(row["links"], row["rotors"], row["matrix"]), name=name, independent=row["links"])
    elif kind == "implicit_differential":
        function = next(f for ending, f in functions.items() if name.endswith(ending))
        scales = dict.fromkeys(row["rotors"], float(row["ratio"]))
        b.loop(Constraint(function, [*row["rotors"], *row["links"]]), name=name, independent=scales)
    else:
        hinge = Closure(
            Revolute(tuple(row["axis"])),
            row["predecessor"],
            row["successor"],
            at_predecessor=row["at_predecessor"],
            at_successor=row["at_successor"],
        )
        b.loop(hinge, name=name, independent=row["independent"])


def _axis_inertia(row: dict[str, Any]) -> float:
    """Inertia of a rotor about its axis; the axis passes through the centre of mass or near it."""
    xx, xy, xz, yy, yz, zz = row.get("inertia", (0.0,) * 6)
    axis, com = np.array(row["axis"], float), np.array(row.get("com", (0.0, 0.0, 0.0)), float)
    J = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    arm = np.cross(axis, com)
    return float(axis @ J @ axis + row.get("mass", 0.0) * arm @ arm)


class _Reflected(NamedTuple):
    """Reflected inertia of the rotors of a loop, over the joints that it drives."""

    joints: list[str]
    matrix: np.ndarray


def _reflected_blocks(facts: dict[str, Any], functions: Functions | None) -> dict[str, _Reflected]:
    """Nᵀ I N for the joints of each loop, with N = ∂ rotors / ∂ links, by the name of the loop.

    An approximation: the rotors' spin is taken to be that of the driven joints alone (without their carriers' motion),
    and where the transmission is not a constant its value in the closed configuration with the links at zero is taken.
    """
    inertias = {row["joint"]: _axis_inertia(row) for row in facts["bodies"] if row.get("rotor")}
    driven = [row for row in facts["loops"] if "rotors" in row]
    constant = all("matrix" in row for row in driven)
    exact = None if constant else build_facts(facts, "exact", functions)
    blocks: dict[str, _Reflected] = {}
    for row in driven:
        ratios = np.array(row["matrix"], float) if exact is None or "matrix" in row else _transmission(exact, row)
        own = np.array([inertias[rotor] for rotor in row["rotors"]])
        blocks[row["name"]] = _Reflected(row["links"], (ratios.T * own) @ ratios)
    return blocks


def _diagonals(blocks: Iterable[_Reflected]) -> dict[str, float]:
    """The inertia of each driven joint, without the coupling to others."""
    inertias: dict[str, float] = {}
    for block in blocks:
        for link, share in zip(block.joints, np.diagonal(block.matrix).tolist(), strict=True):
            inertias[link] = inertias.get(link, 0.0) + share
    return inertias


def _transmission(exact: System, row: dict[str, Any]) -> np.ndarray:
    """∂ rotors / ∂ links of a loop, in the closed configuration with the links at zero."""
    cluster_tree = exact.model.cluster_tree
    q = exact.model.neutral()
    q[[exact.names.coordinates.index(link) for link in row["links"]]] = 0.0
    q = exact.assemble(q, keep=row["links"])
    owned = zip(cluster_tree.clusters, split(cluster_tree.clusters, q.tolist(), "nq"), strict=True)
    cluster, own = next((cluster, own) for cluster, own in owned if row["name"] in cluster.loops)
    assert cluster.tie is not None
    G = cluster.tie.expand(own, None).G
    blocks = {cluster_tree.moving[i].name: block for i, block in zip(cluster.links, G, strict=True)}
    rotors, links = (np.vstack([np.array(blocks[name], float) for name in row[kind]]) for kind in ("rotors", "links"))
    return rotors @ np.linalg.inv(links)


def rod(mass: float, end: Any, radius: float = 0.0) -> dict[str, Any]:
    """A uniform cylinder from the origin of its body to `end`; without a radius a slender rod."""
    d = np.asarray(end, float)
    axis = d / np.sqrt(d @ d)
    along = np.outer(axis, axis)
    inertia = mass * ((d @ d / 12.0 + radius**2 / 4.0) * (np.eye(3) - along) + radius**2 / 2.0 * along)
    return {"mass": mass, "com": d / 2.0, "inertia": inertia}


def disc(mass: float, radius: float, thickness: float) -> dict[str, Any]:
    """A uniform disc about the z axis, with its centre at the origin."""
    across = mass * (radius**2 / 4.0 + thickness**2 / 12.0)
    return {"mass": mass, "inertia": (across, across, mass * radius**2 / 2.0)}
