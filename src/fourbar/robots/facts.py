"""Robots from their numbers: the files of `robots/data`, with geared rotors as bodies, as reflected inertia, or without.

A file lists bodies (each with the joint that carries it), loops and points, in SI units. Loops are of these kinds:
`gear` and `parallel_belt_pair`: rotors = matrix · links; `implicit_differential`: a function of rotors and links, whose
independent velocities are the rotors' behind their gear boxes; `point_coincidence`: a hinge between two bodies.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from importlib.resources import files
from typing import Any, Literal, get_args

import numpy as np

from ..errors import ArgumentError
from ..joints import Free, Revolute
from ..loops import Closure, Constraint, Differential, Gear
from ..system.robot import Builder, System

Rotors = Literal["exact", "reflected", "none"]
Functions = Mapping[str, Callable[..., Any]]


def check_choice(what: str, given: str, choices: tuple[str, ...]) -> None:
    """Refuse an option that is none of the choices."""
    if given not in choices:
        raise ArgumentError(f"{what}={given!r}: expected one of {', '.join(map(repr, choices))}")


def read_facts(name: str) -> dict[str, Any]:
    """The numbers of a robot."""
    return json.loads((files(__package__) / "data" / f"{name}.json").read_text("utf-8"))


def merged_facts(name: str, *parts: dict[str, Any]) -> dict[str, Any]:
    """Several lists of bodies, loops and points as one robot; gravity is that of the first."""
    joined = {key: [x for part in parts for x in part[key]] for key in ("bodies", "loops", "points")}
    return {"name": name, "gravity": parts[0]["gravity"], **joined}


def build_facts(facts: dict[str, Any], rotors: Rotors = "exact", functions: Functions | None = None) -> System:
    """The robot of a file.

    rotors="exact": they are bodies of their own, tied to the links by loops. "reflected": they stand still on what
    carries them, and the joints they drive have an armature, the reflected inertia N² I of the rotors about their axes.
    "none": they are left out. `functions`: the loops that are functions, by kind (what the loop's name ends with).
    """
    check_choice("rotors", rotors, get_args(Rotors))
    reflected = _reflected_inertias(facts, functions) if rotors == "reflected" else {}
    b = Builder(facts["name"], gravity=facts["gravity"])
    for row in facts["bodies"]:
        if rotors == "exact" or not row.get("rotor"):
            _add_body(b, row, reflected.get(row["joint"], 0.0))
        elif rotors == "reflected":
            _add_body(b, {**row, "rotor": "fixed"}, 0.0)
    for row in facts["loops"]:
        if rotors == "exact" or "rotors" not in row:
            _add_loop(b, row, functions or {})
    for name, body, position in facts["points"]:
        b.frame(name, body, position=position)
    return b.build()


def _add_body(b: Builder, row: dict[str, Any], armature: float) -> None:
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


def _reflected_inertias(facts: dict[str, Any], functions: Functions | None) -> dict[str, float]:
    """Σ (∂ rotor / ∂ link)² I for each driven joint.

    An approximation: the rotors' spin is taken to be that of the driven joints alone (not of what carries them), one
    joint's share of a rotor that two joints drive is taken without the other's, and where the transmission is not a
    constant its value in the closed configuration with the links at zero is taken.
    """
    inertias = {row["joint"]: _axis_inertia(row) for row in facts["bodies"] if row.get("rotor")}
    exact = build_facts(facts, "exact", functions) if any("matrix" not in r and "rotors" in r for r in facts["loops"]) else None
    found: dict[str, float] = {}
    for row in facts["loops"]:
        if "rotors" not in row:
            continue
        speeds = np.array(row["matrix"]) if "matrix" in row else _transmission(exact, row)
        shares = np.array([inertias[rotor] for rotor in row["rotors"]]) @ speeds**2
        for link, share in zip(row["links"], shares.tolist(), strict=True):
            found[link] = found.get(link, 0.0) + share
    return found
