"""From the text of an MJCF file to a compiled MuJoCo model, without the files of its meshes and pictures.

What is only drawn or collides is removed before compiling. A mesh is needed only where it alone defines a body's
inertia.

Height fields: MuJoCo is given those whose heights are there, and are not too many.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Any, NoReturn

from ...errors import FourbarError, extra
from ..report import Place, Reading
from .findings import report_counts
from .lines import ElementLines, without_lines
from .shapes import GeomSource, TextureColours, is_fitted, stem
from .strict_text import MOST_HEIGHTS, Texts

_LARGEST = 64 * 2**20  # bytes of a file
_PNG, _SIZE = b"\x89PNG\r\n\x1a\n", slice(16, 24)


def supplied_fields(spec: Any, texts: Texts, reading: Reading) -> set[str]:
    """Give MuJoCo the files of height fields; the names of those found. The others are removed and reported."""
    supplied, missing = set(), []
    for number, field in enumerate(list(spec.hfields)):
        name = field.name or PurePosixPath(field.file.replace("\\", "/")).stem
        content = _content(spec, field, texts) if field.file else b""
        if content is None:
            missing.append(name)
            spec.delete(field)
            continue
        supplied.add(name)
        if field.file:
            field.name, field.file = name, f"field{number}{Path(field.file).suffix}"
            folder = field.compiler.meshdir
            spec.assets[f"{folder}/{field.file}" if folder else field.file] = content
    if missing:
        listed = ", ".join(repr(x[:60]) for x in missing[:5])
        message = f"height fields {listed} are ignored: their heights are not found, or more than {MOST_HEIGHTS}"
        reading.add("note", Place(texts.lines.file), message, "add their folder with folders=[...]", "hfield")
    return supplied


def _content(spec: Any, field: Any, texts: Texts) -> bytes | None:
    """The bytes of its file; None if it is not found, or makes too many heights."""
    file = PurePosixPath(field.file.replace("\\", "/")).name if spec.strippath else field.file
    path = texts.finder(texts.lines.element_at(field.info)).mesh(field.compiler.meshdir, file)
    if path is None or path.stat().st_size > _LARGEST:
        return None
    content = path.read_bytes()
    if content.startswith(_PNG):
        width, height = (int.from_bytes(content[_SIZE][k : k + 4], "big") for k in (0, 4))
    else:  # rows and columns, then the heights, in 4 bytes each
        width, height = (int.from_bytes(content[k : k + 4], "little", signed=True) for k in (0, 4))
    return content if 0 < width * height <= MOST_HEIGHTS else None


_LARGEST_MESH = 256 * 2**20  # bytes


class MissingPackageError(FourbarError, ImportError):
    """A package that an optional part of fourbar needs is not installed."""


def import_mujoco() -> Any:
    """MuJoCo, or an error that says how to install it."""
    try:
        import mujoco
    except ImportError:
        raise MissingPackageError(
            f"reading MJCF files needs MuJoCo, which is not installed; {extra('mujoco')}"
        ) from None
    return mujoco


def compile_texts(texts: Texts, reading: Reading) -> tuple[Any, list[GeomSource]]:
    """The compiled model of a document and its shapes; raises ParseError with MuJoCo's words and a line."""
    mujoco = import_mujoco()
    with _heard(texts.lines, reading):
        spec = mujoco.MjSpec.from_string(texts.text, include=texts.included)
    _report_compiler(mujoco, spec, texts.lines, reading)
    shapes = _strip(mujoco, spec, texts, reading)
    reading.check()
    with _heard(texts.lines, reading):
        model = spec.compile()
    texts.lines.learn(spec, model)
    return model, shapes


@contextmanager
def _heard(lines: ElementLines, reading: Reading) -> Iterator[None]:
    """A context for calls of MuJoCo: its errors become ours, with a line; its warnings become findings."""
    mujoco = import_mujoco()
    previous = mujoco.get_mju_user_warning()
    mujoco.set_mju_user_warning(_unheard)  # otherwise MuJoCo also writes a log into the working folder
    try:
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            yield
    except (ValueError, RuntimeError, MemoryError) as error:
        _refuse(str(error), lines, reading)
    finally:
        mujoco.set_mju_user_warning(previous)
    for warning in said:
        message = str(warning.message)
        reading.note(lines.at(message) or Place(lines.file), f"MuJoCo says: {without_lines(message)}")


def _unheard(said: str) -> None:
    """MuJoCo's warnings arrive as Python warnings."""


def _refuse(message: str, lines: ElementLines, reading: Reading) -> NoReturn:
    """MuJoCo's message as ours: on one line, with the place of the element that it concerns."""
    words = re.sub(r"^(XML )?Error: ", "", without_lines(message))
    reading.fail(lines.at(message) or Place(lines.file, 1), f"MuJoCo refuses it: {words}")


def _report_compiler(mujoco: Any, spec: Any, lines: ElementLines, reading: Reading) -> None:
    """Report what the compiler changes in the numbers of the file."""
    settings, whole = spec.compiler, Place(lines.file)
    for attribute in ("boundmass", "boundinertia", "balanceinertia", "fusestatic"):
        if getattr(settings, attribute):
            reading.note(whole, f"compiler {attribute}={float(getattr(settings, attribute)):g} changes the bodies")
    if settings.settotalmass > 0:
        reading.note(whole, f"compiler settotalmass={settings.settotalmass:g} scales all masses")
    if settings.inertiafromgeom == mujoco.mjtInertiaFromGeom.mjINERTIAFROMGEOM_TRUE:
        for body in spec.bodies:
            if body.explicitinertial:
                message = f"body {body.name!r}: <inertial> is ignored, since inertiafromgeom is true"
                reading.warn(_place(lines, body), message, key="body/inertial")


def _strip(mujoco: Any, spec: Any, texts: Texts, reading: Reading) -> list[GeomSource]:
    """Remove from the spec what needs files but not dynamics; give MuJoCo the meshes that inertias come from, and to
    which spheres, capsules, cylinders and boxes are fitted.

    A mesh that is not needed becomes a massless sphere, so that MuJoCo still places it.
    """
    spec.compiler.discardvisual = False
    counts = {"sensor": spec.sensors, "skin": spec.skins, "texture": spec.textures}
    report_counts(reading, Place(texts.lines.file), {key: len(things) for key, things in counts.items()})
    meshes = {mesh.name or stem(mesh.file): mesh for mesh in spec.meshes}
    files = {name: _mesh_file(spec, mesh, texts) for name, mesh in meshes.items() if mesh.file}
    textures = TextureColours(mujoco, lambda texture: _picture(spec, texture, texts))
    shapes = [GeomSource.of(spec, geom, textures, files.get(geom.meshname)) for geom in spec.geoms]
    _remove_looks(spec)
    there = {name for name in meshes if name not in files or _is_readable(files[name])}
    needed = _needed_meshes(mujoco, spec, meshes, there, texts.lines, reading)
    fields = supplied_fields(spec, texts, reading)
    for geom in spec.geoms:
        flat = geom.type == mujoco.mjtGeom.mjGEOM_HFIELD and geom.hfieldname not in fields
        if (geom.meshname and geom.meshname not in needed) or flat:
            geom.type, geom.size, geom.mass = mujoco.mjtGeom.mjGEOM_SPHERE, [1.0, 0.0, 0.0], 0.0
            geom.meshname = geom.hfieldname = ""
    for number, (name, mesh) in enumerate(meshes.items()):
        if name not in needed:
            spec.delete(mesh)
        elif (path := files.get(name)) is not None:
            _supply(spec, mesh, path, number)
    return shapes


def _remove_looks(spec: Any) -> None:
    """Remove sensors, and textures with their materials."""
    for shape in [*spec.geoms, *spec.sites, *spec.tendons, *spec.flexes]:
        shape.material = ""
    for light in spec.lights:
        light.texture = ""
    for group in (spec.sensors, spec.skins, spec.materials, spec.textures):
        for element in list(group):
            spec.delete(element)


def _needed_meshes(
    mujoco: Any, spec: Any, meshes: dict[str, Any], there: set[str], lines: ElementLines, reading: Reading
) -> set[str]:
    """The meshes that inertias come from, or sizes, and that were found; a finding for each other."""
    wanted: dict[str, Any] = {}
    fitted: dict[str, Any] = {}
    for geom in spec.geoms:
        if geom.meshname and _gives_inertia(mujoco, geom):
            wanted.setdefault(geom.meshname, geom)
        elif geom.meshname and is_fitted(geom):
            fitted.setdefault(geom.meshname, geom)
    for name in fitted.keys() - wanted.keys() - there:
        message = f"geoms are fitted to mesh {name[:200]!r}, whose file was not found: they are left out"
        fix = "add its folder with folders=[...], or give the geoms a size instead of a mesh"
        reading.doubt(_place(lines, fitted[name]), message, fix, "mesh@file")
    for name, geom in wanted.items():
        if name not in meshes:
            reading.fail(_place(lines, geom), f"there is no mesh {name[:200]!r}")
        if name not in there:
            message = f"inertias of bodies come from mesh {name!r}, whose file was not found: its mass is missing"
            fix = "add its folder with folders=[...], or give the bodies an <inertial>"
            reading.doubt(_place(lines, meshes[name]), message, fix, "mesh@file")
    return (wanted.keys() | fitted.keys()) & there


def _gives_inertia(mujoco: Any, geom: Any) -> bool:
    """Whether the inertia of a body comes from this geom."""
    settings, body = geom.compiler, geom.parent  # of its own model: an attached one has its own
    rule = settings.inertiafromgeom
    if geom.mass == 0.0 or (geom.mass != geom.mass and geom.density == 0.0) or not _moves(body):
        return False
    low, high = settings.inertiagrouprange
    if not low <= geom.group <= high or rule == mujoco.mjtInertiaFromGeom.mjINERTIAFROMGEOM_FALSE:
        return False
    return rule == mujoco.mjtInertiaFromGeom.mjINERTIAFROMGEOM_TRUE or not body.explicitinertial


def _moves(body: Any) -> bool:
    """Whether a joint carries the body or one of its ancestors."""
    while body is not None and body.name != "world":
        if list(body.joints):
            return True
        body = body.parent
    return False


def _mesh_file(spec: Any, mesh: Any, texts: Texts) -> Path | None:
    """The file of a mesh."""
    file = PurePosixPath(mesh.file.replace("\\", "/")).name if spec.strippath else mesh.file
    return texts.finder(texts.lines.element_at(mesh.info)).mesh(mesh.compiler.meshdir, file)


def _picture(spec: Any, texture: Any, texts: Texts) -> Path | None:
    """The file of a texture, if it is there and not too large."""
    file = PurePosixPath(texture.file.replace("\\", "/")).name if spec.strippath else texture.file
    path = texts.finder(texts.lines.element_at(texture.info)).mesh(texture.compiler.texturedir, file)
    return path if _is_readable(path) else None


def _is_readable(path: Path | None) -> bool:
    return path is not None and path.stat().st_size <= _LARGEST_MESH


def _supply(spec: Any, mesh: Any, path: Path, number: int) -> None:
    """Give MuJoCo the bytes of a mesh. It is named by a number, since several files may have the same name."""
    mesh.name, mesh.file, folder = mesh.name or stem(mesh.file), f"{number}{path.suffix}", mesh.compiler.meshdir
    spec.assets[f"{folder}/{mesh.file}" if folder else mesh.file] = path.read_bytes()


def _place(lines: ElementLines, thing: Any) -> Place:
    """The place of a thing in a spec; the file as a whole where MuJoCo does not know it."""
    return lines.at(thing.info) or Place(lines.file)
