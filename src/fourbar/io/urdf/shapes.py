"""<visual> and <collision>: shapes, meshes, colours."""

from __future__ import annotations

from typing import Any

from ...model.geometry import Colour, Geometry, Role
from ...model.read import read_placement
from ..element import Element
from ..meshes import Meshes
from .pose import read_origin

_KINDS = ("box", "cylinder", "sphere", "capsule", "ellipsoid", "mesh")


class Shapes:
    """Reads the shapes of links. Knows the materials of the file, and where meshes are."""

    def __init__(self, root: Element, meshes: Meshes) -> None:
        self._root = root
        self._meshes = meshes
        self._colours: dict[str, Colour | None] = {}
        self._missing: list[tuple[Element, str]] = []
        for material in root.all("material"):
            with root.reading.element():
                self._material(material)

    def read(self, link: Element) -> tuple[Geometry, ...]:
        """All shapes of a link."""
        visuals = [self._shape(e, "visual") for e in link.all("visual")]
        return tuple(visuals + [self._shape(e, "collision") for e in link.all("collision")])

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
        geometry = element.required("geometry")
        geometry.get("name")
        found = [c for c in geometry.children if c.tag in _KINDS]
        if len(found) != 1:
            geometry.fail(f"{len(found)} shapes; one of {', '.join(_KINDS)} is expected")
        shape = found[0]
        geometry.mark(shape.tag)
        origin = read_origin(element)
        with element.reading.naming(element.place):
            place = read_placement("origin", *(origin.get(k, d) for k, d in _PLACED))
            return Geometry(
                shape.tag,  # type: ignore[arg-type]
                placement=place,
                role=role,
                name=element.get("name") or "",
                colour=self._colour(element),
                **self._size(shape),
            )

    def _size(self, shape: Element) -> dict[str, Any]:
        if shape.tag == "mesh":
            return self._mesh(shape)
        if shape.tag == "box":
            return {"size": shape.numbers("size", 3)}
        if shape.tag == "ellipsoid":
            return {"size": shape.numbers("radii", 3)}
        size = (shape.number("radius"),)
        return {"size": size if shape.tag == "sphere" else (*size, shape.number("length"))}

    def _mesh(self, shape: Element) -> dict[str, Any]:
        address = shape.require("filename")
        found = self._meshes.find(address)
        if found.problem in ("outside", "remote"):
            why = "is not in a folder that may be read" if found.problem == "outside" else "is not a file here"
            shape.reading.warn(
                shape.place, f"mesh {address[:200]!r} {why}", "list its folder: folders=[...]", shape.key
            )
        elif found.problem:
            self._missing.append((shape, address[:200]))
        return {"mesh": address, "file": found.path, "scale": shape.numbers("scale", 3, (1.0, 1.0, 1.0))}

    def _colour(self, element: Element) -> Colour | None:
        material = element.child("material")
        return None if material is None else self._material(material)

    def _material(self, material: Element) -> Colour | None:
        """The colour of a material: given here, or where its name was first given a colour."""
        name, given = material.get("name") or "", material.child("color")
        if given is None:
            return self._colours.get(name)
        r, g, b, a = given.numbers("rgba", 4)
        self._colours.setdefault(name, (r, g, b, a))
        return (r, g, b, a)


_PLACED = (("position", (0.0, 0.0, 0.0)), ("rotation", None), ("rpy", None))
