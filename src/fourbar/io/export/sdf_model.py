"""The elements of an SDF model: links, joints, frames and shapes, with names that SDF accepts."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any
from xml.etree import ElementTree as ET

from ...edit.placements import transform
from ...mechanism.fluid import SixBySix
from ...mechanism.geometry import Geometry
from ...mechanism.mechanism import WORLD, Body, Mechanism
from ...shapes.endless import HalfSpace
from ...spatial.linear import Vec
from ...spatial.transform import IDENTITY, Transform
from ..sdf.links import ADDED_MASS
from .shape_parts import write_parts
from .surfaces import Losses, write_surface
from .written_numbers import Fresh, Unsaid, child, list_names, rpy, words

_MOMENTS = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
_ADDED_MASS = 10  # the version 1.n from which on links have <fluid_added_mass>
_OLDEST = 8  # the version 1.n that is written unless a later one is needed


def add_element(parent: ET.Element, tag: str, values: Any) -> ET.Element:
    """An element that holds numbers, or a word."""
    found = child(parent, tag)
    found.text = values if isinstance(values, str) else words(values)
    return found


class SdfModel:
    """A <model>. All its links, joints and frames have different names: `links` and `joints` are by our names."""

    def __init__(self, mechanism: Mechanism, unsaid: Unsaid) -> None:
        self.unsaid, self.version = unsaid, _OLDEST
        self.element = ET.Element("model", {"name": unsaid.name(_plain(mechanism.name) or "model")})
        self.new = Fresh([WORLD])
        self._otherwise: dict[str, str] = {}
        self._massless: list[str] = []
        self._losses = Losses(unsaid)
        self.links = {WORLD: WORLD, **self._sdf_names((body.name for body in mechanism.bodies), "link")}
        self.frames = self._sdf_names((frame.name for frame in mechanism.frames), "frame")
        self._joints: dict[str, str] = {}

    def _sdf_names(self, names: Iterable[str], kind: str) -> dict[str, str]:
        return {name: self.sdf_name(name, kind) for name in names}

    def sdf_name(self, name: str, kind: str) -> str:
        """Our name in a form that SDF accepts: unique, and not reserved."""
        plain = _plain(self.unsaid.name(name)) or kind
        found = self.new(plain) if self.new.is_free(plain) else self.new(f"{plain}_{kind}")
        if found != name:
            self._otherwise[name] = found
        return found

    def leave(self) -> None:
        """Report changed names and massless links."""
        if self._otherwise:
            names = ", ".join(f"{a!r} as {b!r}" for a, b in list(self._otherwise.items())[:5])
            more = ", ..." if len(self._otherwise) > 5 else ""
            why = "in SDF all links, joints and frames need different names, without ::"
            self.unsaid.leave(f"{len(self._otherwise)} names are changed ({names}{more}): {why}")
        if self._massless:
            self.unsaid.leave(f"massless links ({list_names(self._massless)}) are written, which Gazebo refuses")
        self._losses.report()

    def document(self, gravity: tuple[float, ...] | None) -> ET.Element:
        """The <sdf>; with gravity the model is in a <world>."""
        root = ET.Element("sdf", {"version": f"1.{self.version}"})
        if any(element.tag.startswith("drake:") for element in self.element.iter()):
            root.set("xmlns:drake", "https://drake.mit.edu")
        if gravity is None:
            root.append(self.element)
        else:
            world = child(root, "world", name=self.element.get("name"))
            add_element(world, "gravity", gravity)
            world.append(self.element)
        return root

    # --- elements -----------------------------------------------------------------------------------------------------

    def pose(self, owner: ET.Element, T: Transform, relative_to: str = WORLD) -> None:
        """A pose; nothing where it is the default."""
        if T != IDENTITY or relative_to != WORLD:
            given = {} if relative_to == WORLD else {"relative_to": relative_to}
            child(owner, "pose", **given).text = words((*T.p, *rpy(T)))

    def link(self, name: str, T: Transform, relative_to: str, body: Body | None = None) -> ET.Element:
        """A link, placed relative to another; without a body it is massless."""
        element = child(self.element, "link", name=name)
        self.pose(element, T, relative_to)
        inertial = child(element, "inertial")
        mass, com, I = (0.0, (0.0,) * 3, ((0.0,) * 3,) * 3) if body is None else (body.mass, body.com, body.inertia)
        if not mass:
            self._massless.append(name)
        self.pose(inertial, Transform((), Vec(com)))
        add_element(inertial, "mass", [mass])
        matrix = child(inertial, "inertia")
        for tag in _MOMENTS:
            add_element(matrix, tag, [I["xyz".index(tag[1])]["xyz".index(tag[2])]])
        if body is not None and body.fluid is not None and any(map(any, body.fluid.added_mass)):
            self._added_mass(inertial, body.fluid.added_mass)
        used = Fresh(())
        for shape in () if body is None else body.geometry:
            self._shape(element, shape, used)
        return element

    def _added_mass(self, inertial: ET.Element, added: SixBySix) -> None:
        """The added mass in the frame of the link, without zeros."""
        self.version = max(self.version, _ADDED_MASS)
        matrix = child(inertial, "fluid_added_mass")
        for tag, (i, j) in ADDED_MASS.items():
            if added[i][j]:
                add_element(matrix, tag, [added[i][j]])

    def joint(self, name: str, kind: str, parent: str, link: str, tag: str = "joint") -> ET.Element:
        """A joint between two links; Drake's have their own tag."""
        element = child(self.element, tag, name=name, type=kind)
        prefix = "drake:" if tag.startswith("drake:") else ""
        add_element(element, f"{prefix}parent", parent)
        add_element(element, f"{prefix}child", link)
        return element

    def frame(self, name: str, link: str, T: Transform) -> str:
        """A named placement on a link. A model has none on the world: there it is a massless link."""
        if link == WORLD:
            self.link(name, T, WORLD)
            self.joint(self.new(f"{name}_joint"), "fixed", WORLD, name)
        else:
            self.pose(child(self.element, "frame", name=name, attached_to=link), T)
        return name

    def place(self, name: str, link: str, T: Transform) -> str:
        """The name of a placement on a link: the link's where they coincide, else that of a new frame."""
        return link if T == IDENTITY and link != WORLD else self.frame(self.new(name), link, T)

    def _shape(self, link: ET.Element, shape: Geometry, used: Fresh) -> None:
        parts = write_parts(shape.form)
        is_plane = isinstance(shape.form, HalfSpace)
        if parts is None and not (shape.mesh or is_plane):
            self.unsaid.leave(f"link {link.get('name')!r}: a {shape.form.title} is left out")
            return
        element = child(link, shape.role, name=used(self.unsaid.name(shape.name) or f"{shape.role}_{len(link)}"))
        self.pose(element, transform(shape.placement))
        inside = child(child(element, "geometry"), shape.kind if parts is None else parts.tag)
        if shape.mesh:
            add_element(inside, "uri", self.unsaid.name(shape.mesh))
            add_element(inside, "scale", shape.scale)
        elif parts is None:
            add_element(inside, "normal", (0.0, 0.0, 1.0))
            add_element(inside, "size", (1.0, 1.0))
        else:
            for tag, values in parts.numbers.items():
                add_element(inside, tag, values)
        if shape.colour is not None:
            material = child(element, "material")
            for tag in ("ambient", "diffuse"):
                add_element(material, tag, shape.colour)
        if shape.role == "collision":
            write_surface(element, shape.surface, self._losses)


def _plain(name: str) -> str:
    """A name without what SDF reserves: `::`, and double underscores at both ends."""
    plain = name.replace("::", "_")
    return plain.strip("_") if re.fullmatch("__.*__", plain, re.DOTALL) else plain
