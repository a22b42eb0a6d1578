"""<visual> and <collision>: shapes, meshes, colours."""

from __future__ import annotations

from typing import Any

from ...mechanism.contact import PLAIN, Surface
from ...mechanism.geometry import Colour, Geometry, Role
from ...mechanism.validate import read_placement
from ...shapes.base import FileWords, ShapeType
from ...shapes.registry import words_of_files
from ..element import Element
from ..meshes import Meshes
from ..surfaces import urdf_surface, urdf_surfaces
from .joints import read_origin

_MESH = "mesh"
_COLOURLESS = "it has no colour"


class UrdfShapes:
    """Reads the shapes of links. Knows the materials of the file, and where meshes are."""

    def __init__(self, root: Element, meshes: Meshes) -> None:
        self._root = root
        self._meshes = meshes
        self._colours: dict[str, Colour | None] = {}
        self._missing: list[tuple[Element, str]] = []
        self._surfaces = urdf_surfaces(root)
        for material in root.all("material"):
            with root.reading.lenient(material.key, outcome=_COLOURLESS):
                self._material(material)

    def read(self, link: Element) -> tuple[Geometry, ...]:
        """All shapes of a link; one that cannot be read is left out, with a warning."""
        roles: tuple[Role, ...] = ("visual", "collision")
        tried = [self._try_shape(element, role) for role in roles for element in link.all(role)]
        return tuple(shape for shape in tried if shape is not None)

    def _try_shape(self, element: Element, role: Role) -> Geometry | None:
        with element.reading.lenient(element.key, outcome=f"this <{element.tag}> is left out"):
            return self._shape(element, role)
        element.mark("*")
        return None

    def report_missing(self) -> None:
        """One note for all meshes that were not found."""
        if self._missing:
            element, address = self._missing[0]
            more = f" and {len(self._missing) - 1} more" if len(self._missing) > 1 else ""
            self._root.reading.note(
                element.place,
                f"mesh {address!r}{more} not found",
                "give the folders of packages and meshes: folders=[...]",
            )

    def _shape(self, element: Element, role: Role) -> Geometry:
        geometry = element.require_child("geometry")
        geometry.get("name")
        known = words_of_files()
        shape_elements = [c for c in geometry.children if c.tag == _MESH or c.tag in known]
        if len(shape_elements) != 1:
            there = ", ".join(f"<{c.tag[:60]}>" for c in geometry.children[:5]) or "nothing"
            listed = ", ".join(x for x in (*known, _MESH) if not x.startswith("drake:"))
            geometry.fail(f"it contains {there}; expected one of {listed}")
        shape = shape_elements[0]
        geometry.mark(shape.tag)
        origin = read_origin(element)
        with element.reading.naming(element.place):
            place = read_placement("origin", *(origin.get(k, d) for k, d in _PLACED))
            return Geometry(
                placement=place,
                role=role,
                name=element.get("name") or "",
                colour=self._colour(element),
                surface=self._surface(element) if role == "collision" else PLAIN,
                **(self._mesh(shape) if shape.tag == _MESH else _kind_and_size(shape, *known[shape.tag])),
            )

    def _surface(self, collision: Element) -> Surface:
        link = collision.parent
        name = "" if link is None else link.attributes.get("name", "")
        return urdf_surface(collision, self._surfaces.get(name, {}))

    def _mesh(self, shape: Element) -> dict[str, Any]:
        address = shape.require("filename")
        match = self._meshes.find(address)
        if match.problem in ("outside", "remote"):
            why = "is not in a folder that may be read" if match.problem == "outside" else "is not a file here"
            shape.reading.warn(shape.place, f"mesh {address[:200]!r} {why}", "add its folder: folders=[...]", shape.key)
        elif match.problem:
            self._missing.append((shape, address[:200]))
        return {
            "kind": "mesh",
            "mesh": address,
            "file": match.path,
            "scale": shape.numbers("scale", 3, (1.0, 1.0, 1.0)),
        }

    def _colour(self, element: Element) -> Colour | None:
        """The colour of a shape: that of its first material."""
        materials = element.all("material")
        for extra in materials[1:]:
            extra.mark("*")
            message = f"a second <material>; the first, at line {materials[0].line}, is used"
            element.reading.warn(extra.place, message, "remove one of them", extra.key)
        if materials:
            with element.reading.lenient(materials[0].key, outcome=_COLOURLESS):
                return self._material(materials[0])
            materials[0].mark("*")
        return None

    def _material(self, material: Element) -> Colour | None:
        """The colour of a material: given here, or where its name first had a colour."""
        name, given = material.get("name") or "", material.child("color")
        if given is None:
            return self._colours.get(name)
        r, g, b, a = given.numbers("rgba", 4)
        self._colours.setdefault(name, (r, g, b, a))
        return (r, g, b, a)


def _kind_and_size(shape: Element, kind: type[ShapeType], words: FileWords) -> dict[str, Any]:
    size: tuple[float, ...] = ()
    for name, count in words.parts:
        size += shape.numbers(name, count) if count > 1 else (shape.number(name),)
    return {"kind": kind.kind, "size": size}


_PLACED = (("position", (0.0, 0.0, 0.0)), ("rotation", None), ("rpy", None))
