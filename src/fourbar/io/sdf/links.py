"""<link>: inertia, with the format's defaults, and shapes."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from ...errors import ModelError
from ...joints.axis import rotation_from_z
from ...mechanism.contact import PLAIN
from ...mechanism.fluid import Fluid
from ...mechanism.geometry import Geometry, Role
from ...mechanism.placement import Placement
from ...shapes.base import FileWords
from ...shapes.registry import words_of_files
from ...spatial.inertia import is_usable, unphysical
from ..element import Element
from ..meshes import Meshes
from ..surfaces import sdf_surface
from .resolve import Pose, read_pose

_LETTERS = "pqrxyz"  # of the velocities [angular; linear] of a link
ADDED_MASS = {  # the places of the elements of <fluid_added_mass>, which lists linear velocities first
    a + b: (_LETTERS.index(a), _LETTERS.index(b)) for n, a in enumerate("xyzpqr") for b in "xyzpqr"[n:]
}
_MOMENTS = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
_OTHER_SHAPES = ("plane", "mesh")
_UNUSED = ("enable_wind", "self_collide", "must_be_base_link", "light", "sensor", "projector", "particle_emitter")
_LOOKS = (
    "surface",
    "material",
    "laser_retro",
    "max_contacts",
    "cast_shadows",
    "transparency",
    "visibility_flags",
    "meta",
)


def read_inertial(link: Element, moves: bool = True) -> dict[str, Any]:
    """Mass, centre of mass and inertia in the frame of the link. All versions of SDF default them to 1."""
    inertial = link.child("inertial")
    if inertial is None:
        if moves:
            message = "no <inertial>: SDF then assumes a mass of 1 kg and moments of 1 kg m²"
            link.reading.add("note", link.place, message, "", "link/inertial")
        return {"mass": 1.0, "inertia": (1.0, 1.0, 1.0)}
    if inertial.flag("auto", False):
        message = "auto inertia, from the shapes of the link, is not supported"
        inertial.reading.doubt(inertial.place, message, "write mass and inertia", "inertial@auto")
    for child in inertial.all("density") + inertial.all("auto_inertia_params"):
        child.mark("*", "")
    frame = read_pose(inertial.child("pose"))
    mass = number(inertial, "mass", 1.0)
    matrix = inertial.child("inertia")
    xx, xy, xz, yy, yz, zz = (
        (1.0, 0.0, 0.0, 1.0, 0.0, 1.0)
        if matrix is None
        else (number(matrix, name, 1.0 if name[1] == name[2] else 0.0) for name in _MOMENTS)
    )
    I = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    if mass < 0.0:
        inertial.require_child("mass").fail(f"mass {mass} is negative")
    problem = unphysical(mass, I)
    if problem is not None:
        place = (matrix or inertial).place
        report = inertial.reading.warn if is_usable(mass, I) else inertial.reading.doubt
        report(place, problem, "correct the numbers", "inertia")
    tensor = frame.R @ I @ frame.R.T
    return {
        "mass": mass,
        "com": frame.p,
        "inertia": 0.5 * (tensor + tensor.T),
        "fluid": _read_added_mass(inertial),
        "allow_unphysical": True,
    }


def _read_added_mass(inertial: Element) -> Fluid | None:
    """The added mass at the origin of the link and in its axes, whatever the <pose> of the <inertial> is."""
    matrix = inertial.child("fluid_added_mass")
    if matrix is None:
        return None
    M = np.zeros((6, 6))
    for tag, (i, j) in ADDED_MASS.items():
        M[i, j] = M[j, i] = number(matrix, tag, 0.0)
    try:
        return Fluid(added_mass=M)
    except ModelError as error:
        matrix.fail(str(error))


def number(element: Element, tag: str, default: float) -> float:
    """The number in a child element."""
    child = element.child(tag)
    return default if child is None else child.text_number()


def flag(element: Element, tag: str, default: bool) -> bool:
    """The truth in a child element."""
    child = element.child(tag)
    return default if child is None else child.text_flag()


def check_link(link: Element) -> None:
    """Report properties of a link that would change its motion."""
    for tag, normal, what in (
        ("gravity", True, "gravity acts on it here"),
        ("kinematic", False, "forces move it here"),
    ):
        if flag(link, tag, normal) is not normal:
            link.reading.doubt(link.place, f"<{tag}> is {not normal}: ignored, {what}", "", f"link/{tag}")
    decay = link.child("velocity_decay")
    if decay is not None:
        if any(number(decay, tag, 0.0) for tag in ("linear", "angular")):
            decay.reading.doubt(decay.place, "damping of a body's velocity is ignored", "", "link/velocity_decay")
        decay.mark("*")


class SdfShapes:
    """Reads <visual> and <collision>."""

    def __init__(self, meshes: Callable[[str], Meshes]) -> None:
        self._meshes = cache(meshes)

    def read(self, link: Element, place: Callable[[Element | None], Pose] = read_pose) -> list[Geometry]:
        """All shapes of a link; one that cannot be read is left out, with a warning. `place`: the placement of a <pose>
        on the link.
        """
        roles: tuple[Role, ...] = ("visual", "collision")
        found = [self._try_shape(element, role, place) for role in roles for element in link.all(role)]
        return [shape for shape in found if shape is not None]

    def _try_shape(self, element: Element, role: Role, place: Callable[[Element | None], Pose]) -> Geometry | None:
        with element.reading.lenient(f"link/{role}", outcome=f"this <{role}> is left out"):
            return self._shape(element, role, place)
        element.mark("*")
        return None

    def _shape(self, element: Element, role: Role, place: Callable[[Element | None], Pose]) -> Geometry | None:
        element.get("name")
        colour = _colour(element.child("material"))
        for tag in _LOOKS:
            for child in element.all(tag):
                child.mark("*")
        pose = element.child("pose")
        geometry = element.require_child("geometry")
        known = (*words_of_files(), *_OTHER_SHAPES)
        shapes = [c for c in geometry.children if c.tag in known]
        if len(shapes) != 1:
            if not shapes and len(geometry.children) <= 1:  # <empty/>, or an unsupported kind: a leftover
                return None
            geometry.fail(f"{len(shapes)} shapes; expected one of {', '.join(known)}")
        return self._geometry(
            geometry,
            shapes[0],
            place(pose),
            {
                "role": role,
                "name": element.attributes.get("name", ""),
                "colour": colour,
                "surface": sdf_surface(element) if role == "collision" else PLAIN,
            },
        )

    def _geometry(self, geometry: Element, shape: Element, at: Pose, said: dict[str, Any]) -> Geometry:
        geometry.mark(shape.tag)
        place = Placement(tuple(map(tuple, at.R.tolist())), tuple(at.p.tolist()))  # type: ignore[arg-type]
        common: dict[str, Any] = {"placement": place, **said}
        if shape.tag == "mesh":
            address = shape.require_child("uri").words()
            scale = shape.child("scale")
            factors = (1.0, 1.0, 1.0) if scale is None else scale.text_numbers(3)
            shape.mark("submesh", "convex_decomposition")
            file = self._meshes(shape.reading.file).find(address).path
            return Geometry("mesh", mesh=address or "?", scale=factors, file=file, **common)  # type: ignore[arg-type]
        if shape.tag == "plane":
            shape.mark("*", "normal", "size")
            return Geometry("plane", **{**common, "placement": _facing(shape, at)})
        with shape.reading.naming(shape.place):
            kind, words = words_of_files()[shape.tag]
            return Geometry(kind.kind, _size(shape, words), **common)


def _facing(plane: Element, at: Pose) -> Placement:
    """The place of a plane, turned so that its normal is z."""
    given = next((c for c in plane.children if c.tag == "normal"), None)
    normal = np.array((0.0, 0.0, 1.0) if given is None else given.text_numbers(3))
    if given is not None and not normal.any():
        given.fail("the normal of a plane is zero")
    turn = rotation_from_z(tuple((normal / np.linalg.norm(normal)).tolist()))
    R = at.R if turn is None else at.R @ np.array(turn, float)
    return Placement(tuple(map(tuple, R.tolist())), tuple(at.p.tolist()))  # type: ignore[arg-type]


def _size(shape: Element, words: FileWords) -> tuple[float, ...]:
    size: tuple[float, ...] = ()
    for tag, count in words.parts:
        child = shape.require_child(tag)
        size += child.text_numbers(count) if count > 1 else (child.text_number(),)
    return size


def _colour(material: Element | None) -> tuple[float, ...] | None:
    """The diffuse colour of a material, or the ambient one; None without either."""
    for tag in ("diffuse", "ambient"):
        found = material.child(tag) if material is not None else None
        if found is not None:
            count = len(found.words().split())
            numbers = found.text_numbers(3 if count == 3 else 4)
            return (*numbers[:3], numbers[3] if count == 4 else 1.0)
    return None


def ignore(link: Element) -> None:
    """Mark what is not part of a mechanism and does not affect the dynamics."""
    for tag in _UNUSED:
        for child in link.all(tag):
            child.mark("*", "")
