"""Shapes of MJCF with their surfaces, height fields, and rules of contact.

Meshes of MJCF: each file once per scale, by its path from the folder of the written file.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np

from ...edit.placements import transform
from ...mechanism.contact import ContactPair, Surface
from ...mechanism.contact_rules import ContactRules
from ...mechanism.geometry import Geometry
from ...mechanism.mechanism import WORLD
from ..numbers import quaternion
from .written_numbers import Fresh, Unsaid, child, words

_ENDINGS = (".stl", ".obj", ".msh")
_MOST_FACES = 200_000  # triangles in an STL file for MuJoCo
_SHOWN = 6


class Assets:
    """Writes the meshes that geoms use. `folder`: where the file will be."""

    def __init__(self, root: ET.Element, folder: Path, unsaid: Unsaid) -> None:
        self._root, self._folder, self._unsaid = root, folder, unsaid
        self._section: ET.Element | None = None
        self._names: dict[tuple[str, tuple[float, ...]], str] = {}
        self._new = Fresh(())
        self._left: dict[str, list[str]] = {}  # bodies whose mesh is left out, by the reason

    def geom(self, body: str, shape: Geometry) -> dict[str, Any] | None:
        """Attributes of a geom that shows a mesh; None where MuJoCo could not read it, which is reported."""
        reason = _unreadable(shape.file)
        if reason:
            self._left.setdefault(reason, []).append(body)
            return None
        key = (shape.file, shape.scale)
        if key not in self._names:
            if self._section is None:
                self._section = child(self._root, "asset")
            self._names[key] = name = self._new(self._unsaid.name(PurePosixPath(Path(shape.file).as_posix()).stem))
            scale = None if shape.scale == (1.0, 1.0, 1.0) else shape.scale
            file = self._unsaid.name(self._path(shape.file))
            # Masses do not come from meshes here; with inertia="shell" MuJoCo also accepts flat and open ones.
            child(self._section, "mesh", name=name, file=file, scale=scale, inertia="shell")
        return {"type": "mesh", "mesh": self._names[key]}

    def report(self) -> None:
        """Report the meshes that are left out, once per reason."""
        for reason, bodies in self._left.items():
            listed = ", ".join(map(repr, list(dict.fromkeys(bodies))[:_SHOWN]))
            more = ", ..." if len(set(bodies)) > _SHOWN else ""
            count = f"{len(bodies)} meshes are" if len(bodies) > 1 else "a mesh is"
            self._unsaid.leave(f"{count} left out (of {listed}{more}): {reason}")

    def _path(self, file: str) -> str:
        try:
            return Path(os.path.relpath(file, self._folder)).as_posix()
        except ValueError:  # on another drive
            return Path(file).as_posix()


def _unreadable(file: str) -> str:
    """Why MuJoCo cannot read a mesh; nothing where it can."""
    if not file:
        return "their files are unknown; load the robot with folders=[...] (--folders)"
    ending = Path(file).suffix.lower()
    if ending not in _ENDINGS:
        return f"MuJoCo reads STL, OBJ and MSH files, not {ending or 'files without an ending'}"
    if not Path(file).is_file():
        return "their files no longer exist"
    return _bad_stl(Path(file)) if ending == ".stl" else ""


def _bad_stl(path: Path) -> str:
    """Why MuJoCo cannot read an STL file: it accepts binary ones with a limited number of triangles."""
    with path.open("rb") as file:
        head = file.read(84)
    faces = struct.unpack("<I", head[80:])[0] if len(head) == 84 else 0
    if path.stat().st_size != 84 + 50 * faces or not faces:
        return "MuJoCo reads binary STL files only; these are text, or damaged"
    return f"MuJoCo reads STL files of at most {_MOST_FACES} triangles" if faces > _MOST_FACES else ""


_FRICTION = (1.0, 0.005, 0.0001)  # what MuJoCo has where nothing is said
_UNSAID = ("restitution", "stiffness", "damping")
_THINNEST = 1e-3


class GeomWriter:
    """Writes geoms, and remembers what they are called, for pairs."""

    def __init__(self, root: ET.Element, folder: Path, unsaid: Unsaid) -> None:
        self._root, self._unsaid = root, unsaid
        self._assets = Assets(root, folder, unsaid)
        self._new, self._fields = Fresh(()), Fresh(())
        self._names: dict[tuple[str, str], str] = {}
        self._lost: dict[str, None] = {}  # numbers of surfaces that are left out

    def write(self, element: ET.Element, body: str, shapes: Iterable[Geometry], moves: bool) -> None:
        """The geoms of a body, which moves or not."""
        for shape in shapes:
            form = self._form(body, shape, moves)
            if form is not None:
                name = self._new(self._unsaid.name(shape.name)) if shape.name else None
                if name:
                    self._names.setdefault((body, shape.name), name)
                where = _place(_from_lowest(shape) if shape.heights else shape)
                child(element, "geom", name=name, **form, rgba=shape.colour, **where, **self._contact_attributes(shape))

    def report(self) -> None:
        """Report what was left out of all of them."""
        self._assets.report()
        if self._lost:
            self._unsaid.leave(f"{', '.join(self._lost)} of surfaces are left out: MJCF has solref and solimp instead")

    def _form(self, body: str, shape: Geometry, moves: bool) -> dict[str, Any] | None:
        what = "the world" if body == WORLD else f"body {body!r}"
        if shape.form.is_terrain and moves:
            self._unsaid.leave(f"{what}: a {shape.kind} is left out")
            return None
        if any(x <= 0.0 for x in (shape.size[:2] if shape.heights else shape.size)):
            self._unsaid.leave(f"{what}: a {shape.kind} of zero size is left out")
            return None
        if shape.mesh:
            return self._assets.geom(body, shape)
        if shape.heights:
            return {"type": "hfield", "hfield": self._field(shape)}
        if shape.form.mjcf is None:
            self._unsaid.leave(f"{what}: a {shape.form.title} is left out, which MJCF has no word for")
            return None
        size = [x / factor for x, factor in zip(shape.size, shape.form.mjcf, strict=True)]
        return {"type": shape.kind, "size": size or [0.0, 0.0, 1.0]}

    def _field(self, shape: Geometry) -> str:
        """A height field as an asset: rows from the far end of y, and heights from the lowest up."""
        table = np.array(shape.heights)
        high = float(table.max() - table.min())
        x, y, depth = shape.size
        name = self._fields(self._unsaid.name(shape.name) or "field")
        section = self._root.find("asset")
        child(
            child(self._root, "asset") if section is None else section, "hfield", name=name,
            nrow=str(table.shape[1]), ncol=str(table.shape[0]),
            size=(0.5 * x, 0.5 * y, high or 1.0, max(depth + float(table.min()), _THINNEST)),
            elevation=words((table - table.min()).T[::-1].ravel()),
        )  # fmt: skip
        return name

    def _contact_attributes(self, shape: Geometry) -> dict[str, Any]:
        if shape.role == "visual":
            return {"contype": "0", "conaffinity": "0", "group": "2"}
        surface = shape.surface
        whole = {"contype": (surface.groups, 1), "conaffinity": (surface.meets, 1), "priority": (surface.priority, 0)}
        unusual = {key: str(x) for key, (x, normal) in whole.items() if x != normal}
        mix = None if surface.mix == 1.0 else [surface.mix]
        if surface.friction2 is not None:
            self._lost["friction2"] = None
        return {"group": "3", **unusual, "solmix": mix, **self._numbers(surface)}

    def _numbers(self, surface: Surface) -> dict[str, Any]:
        """The attributes that geoms and pairs have in common."""
        self._lost |= dict.fromkeys(x for x in _UNSAID if getattr(surface, x) is not None)
        said = (surface.friction, surface.torsion, surface.rolling)
        friction = [normal if x is None else x for x, normal in zip(said, _FRICTION, strict=True)]
        return {
            "friction": None if said == (None,) * 3 else friction,
            "condim": None if surface.dimensions == 3 else str(surface.dimensions),
            "margin": [surface.margin] if surface.margin else None,
            "gap": [surface.gap] if surface.gap else None,
            "solref": surface.solref,
            "solimp": surface.solimp,
        }

    def rules(self, rules: ContactRules) -> None:
        """Pairs and exclusions."""
        section = ET.Element("contact")
        for pair in rules.pairs:
            self._pair(section, pair)
        for first, second in rules.excluded:
            child(section, "exclude", body1=first, body2=second)
        if len(section):
            self._root.append(section)

    def _pair(self, section: ET.Element, pair: ContactPair) -> None:
        names = [self._names.get(end) for end in (pair.first, pair.second)]
        if None in names:
            self._unsaid.leave(f"the pair of {pair.first} and {pair.second} is left out, as one of its shapes is")
            return
        said = self._numbers(pair.surface)
        if said["friction"] is not None or pair.surface.friction2 is not None:
            slide, turn, roll = said["friction"] or _FRICTION
            second = slide if pair.surface.friction2 is None else pair.surface.friction2
            said["friction"] = [slide, second, turn, roll, roll]
        child(section, "pair", name=self._unsaid.name(pair.name) or None, geom1=names[0], geom2=names[1], **said)


def options(rules: ContactRules) -> tuple[dict[str, Any], dict[str, str]]:
    """Attributes of <option>, and of its <flag>."""
    numbers = {key: [x] if (x := getattr(rules, key)) is not None else None for key in ("impratio", "timestep")}
    flags = {} if rules.enabled else {"contact": "disable"}
    flags |= {"eulerdamp": "disable"} if rules.implicit_damping is False else {}
    flags |= {"filterparent": "disable"} if rules.with_parents else {}
    return {"cone": rules.cone, "integrator": rules.integrator, **numbers}, flags


def _from_lowest(shape: Geometry) -> Geometry:
    """A height field from its lowest height on."""
    lowest, place = min(map(min, shape.heights)), shape.placement
    position = tuple(p + lowest * row[2] for p, row in zip(place.position, place.rotation, strict=True))
    return replace(shape, placement=replace(place, position=position)) if lowest else shape


def _place(shape: Geometry) -> dict[str, Any]:
    T = transform(shape.placement)
    found = {"pos": T.p} if any(T.p) else {}
    return {**found, "quat": quaternion(T.R)} if T.factors else found
