"""Where meshes and included models of a file are: in listed folders, that of the file and its package, nowhere else.

STL and OBJ are read here, other formats with trimesh.

`hull_of` chooses a few corners of the convex hull. Of the directions of a fixed set the one in which the chosen points
reach least far gets the vertex that reaches farthest, until all directions are reached or there are enough points.
Every point is a vertex of the hull, so that the hull of the points is inside that of the mesh; how much farther the
mesh reaches is reported.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import Literal
from urllib.parse import unquote

import numpy as np

from ..errors import ArgumentError, ModelError, extra
from ..mechanism.geometry import Geometry, Hull

_PACKAGES = ("package", "model")


@dataclass(frozen=True)
class MeshPath:
    """The result for an address: a path, or the reason why there is none."""

    path: str = ""
    problem: Literal["", "missing", "outside", "remote"] = ""


class Meshes:
    """Turns addresses of meshes into paths of files: package://name/path, model://name/path, file://path, path.

    `roots`: folders that are not searched by name, but into which paths from `base` may lead. `accepts`: what to look
    for.
    """

    def __init__(
        self,
        folders: Sequence[Path],
        base: Path | None,
        roots: Sequence[Path] = (),
        accepts: Callable[[Path], bool] = Path.is_file,
    ) -> None:
        self._accepts = accepts
        self._folders = tuple(absolute(f) for f in folders)
        self._roots = tuple(absolute(f) for f in roots)
        self._base = None if base is None else absolute(base)
        self._known: dict[str, MeshPath] = {}

    def find(self, address: str) -> MeshPath:
        """The file that an address names."""
        if address not in self._known:
            self._known[address] = self._find(address)
        return self._known[address]

    def _find(self, address: str) -> MeshPath:
        scheme, separator, rest = address.partition("://")
        if not separator:
            return self._plain(address)
        if scheme in _PACKAGES:
            return self._in_package(unquote(rest))
        return self._plain(unquote(rest)) if scheme == "file" else MeshPath(problem="remote")

    def _in_package(self, rest: str) -> MeshPath:
        """package://name/path: in a listed folder that contains `name`, or that is `name`; in the file's own package.

        That is a folder around the file that has this name, and a package.xml as packages of ROS do.
        """
        package, _, inside = rest.partition("/")
        tries = [(f, f / package / inside) for f in self._folders]
        tries += [(f, f / inside) for f in (*self._folders, *self._around()) if f.name == package]
        return self._first(tries)

    def _around(self) -> list[Path]:
        """The packages in which the file is."""
        above = [] if self._base is None else [self._base, *self._base.parents]
        return [f for f in above if _is_package(f)]

    def _plain(self, name: str) -> MeshPath:
        """A path: from the folder of the file, or from a listed one."""
        roots = [*([] if self._base is None else [self._base]), *self._folders]
        if PurePosixPath(name).is_absolute() or Path(name).is_absolute():
            return self._first([(root, Path(name)) for root in roots])
        tries = [(root, root / name) for root in roots]
        if self._base is not None:  # ../meshes/a.stl is fine where the folder above is listed
            tries += [(root, self._base / name) for root in (*self._folders, *self._roots)]
        return self._first(tries)

    def _first(self, tries: Sequence[tuple[Path, Path]]) -> MeshPath:
        """The first file that exists among those inside their folder."""
        outside = bool(tries)
        for root, path in tries:
            clean = Path(*_steps(path))
            if clean.is_relative_to(root):
                outside = False
                if self._is_there(clean):
                    return MeshPath(str(clean))
        return MeshPath(problem="outside" if outside else "missing")

    def _is_there(self, path: Path) -> bool:
        try:
            return self._accepts(path)
        except (OSError, ValueError):  # a name that no file can have
            return False


def _is_package(folder: Path) -> bool:
    try:
        return (folder / "package.xml").is_file()
    except OSError:
        return False


def absolute(path: Path) -> Path:
    """A path from the root of the disk, without . and .."""
    return Path(*_steps(Path.cwd() / path))


def _steps(path: Path) -> list[str]:
    """The parts of an absolute path, with . and .. resolved without access to the disk."""
    parts: list[str] = ["/" if path.anchor == "//" else path.anchor]  # POSIX keeps two slashes apart from one
    for part in path.parts[1:]:
        if part == ".." and len(parts) > 1:
            parts.pop()
        elif part not in (".", ".."):
            parts.append(part)
    return parts


MOST_POINTS = 32
_LARGEST = 256 * 2**20  # bytes of a file
_DIRECTIONS = 256
_CHUNK = 65_536  # vertices that are looked at together
_ROUNDING = 1e-12  # of the size of a mesh
_REACHED = 1e-3  # of the size of a mesh: nearer than that it is reached
_BY_TRIMESH = (".ply", ".off", ".glb", ".gltf", ".dae", ".3mf")
_STL_HEAD, _STL_FACE = 84, 50
_NUMBER = rb"[-+0-9.eEinfa]+"


def hull_of(shape: Geometry, most: int = MOST_POINTS) -> Hull:
    """The hull of a mesh whose file was found, in the axes of the shape, with its scale."""
    if shape.kind != "mesh":
        raise ArgumentError(f"a hull is made of a mesh; this shape is a {shape.kind}")
    if not shape.file:
        raise ModelError(f"the file of mesh {shape.mesh!r} was not found; load the robot with folders=[...]")
    return _hull(shape.file, shape.scale, most)


@lru_cache(maxsize=256)
def _hull(file: str, scale: tuple[float, float, float], most: int) -> Hull:
    found = reduce_hull(read_vertices(Path(file)) * np.array(scale), most)
    found.points.setflags(write=False)
    return found


def read_vertices(path: Path) -> np.ndarray:
    """The vertices (n, 3) of a mesh."""
    ending = path.suffix.lower()
    if ending not in (".stl", ".obj", *_BY_TRIMESH):
        known = ", ".join(x[1:].upper() for x in (".stl", ".obj", *_BY_TRIMESH))
        raise ModelError(f"{path.name}: hulls are made of {known} files, not of {ending or 'one without ending'}")
    try:
        if path.stat().st_size > _LARGEST:
            raise ModelError(f"{path.name}: the mesh has more than {_LARGEST} bytes")
        content = path.read_bytes()
    except OSError as error:
        raise ModelError(f"{path.name}: the mesh cannot be read: {error.strerror}") from None
    reader = {".stl": _stl, ".obj": _obj}.get(ending)
    found = _by_trimesh(path) if reader is None else reader(content)
    if len(found) == 0 or not np.isfinite(found).all():
        raise ModelError(f"{path.name}: no vertices, or some that are not finite; is this {ending[1:].upper()}?")
    return found


def _by_trimesh(path: Path) -> np.ndarray:
    try:
        import trimesh
    except ImportError:
        raise ModelError(f"{path.name}: meshes of this format are read with trimesh: {extra('mesh')}") from None
    try:
        scene = trimesh.load_scene(path)
        return np.array(scene.to_mesh().vertices, float).reshape(-1, 3)
    except Exception as error:
        raise ModelError(f"{path.name}: the mesh cannot be read: {error}") from error


def _stl(content: bytes) -> np.ndarray:
    faces = int.from_bytes(content[80:_STL_HEAD], "little") if len(content) >= _STL_HEAD else 0
    if faces and len(content) >= _STL_HEAD + _STL_FACE * faces:
        record = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("more", "<u2")])
        found = np.frombuffer(content, record, faces, _STL_HEAD)["corners"].reshape(-1, 3)
        return np.unique(found, axis=0).astype(float)
    return _lines(content, rb"vertex")


def _obj(content: bytes) -> np.ndarray:
    return _lines(content, rb"v")


def _lines(content: bytes, word: bytes) -> np.ndarray:
    """The first three numbers of all lines that begin with a word."""
    pattern = rb"^[ \t]*" + word + rb"[ \t]+(" + _NUMBER + rb")[ \t]+(" + _NUMBER + rb")[ \t]+(" + _NUMBER + rb")"
    rows = re.findall(pattern, content, re.MULTILINE)
    try:
        return np.array([[float(x) for x in row] for row in rows], float).reshape(-1, 3)
    except ValueError:
        return np.zeros((0, 3))


@lru_cache(maxsize=1)
def _directions() -> np.ndarray:
    """Unit vectors (n, 3): the axes, and others evenly over the sphere."""
    k = np.arange(_DIRECTIONS) + 0.5
    z, turn = 1.0 - 2.0 * k / _DIRECTIONS, k * math.pi * (3.0 - math.sqrt(5.0))
    r = np.sqrt(1.0 - z * z)
    return np.concatenate([np.eye(3), -np.eye(3), np.stack([r * np.cos(turn), r * np.sin(turn), z], axis=1)])


def reduce_hull(points: np.ndarray, most: int = MOST_POINTS) -> Hull:
    """At most `most` of the points (n, 3), whose hull is nearly that of all of them."""
    if most < 4:
        raise ArgumentError(f"most={most}: a hull needs at least 4 points")
    directions = _directions()
    reach, best = np.full(len(directions), -np.inf), np.zeros(len(directions), int)
    for first in range(0, len(points), _CHUNK):
        along = points[first : first + _CHUNK] @ directions.T
        own = along.argmax(axis=0)
        farther = along[own, np.arange(len(directions))]
        best = np.where(farther > reach, own + first, best)
        reach = np.maximum(reach, farther)
    size = float((reach[:3] + reach[3:6]).max())
    corners = points[best]
    chosen: list[int] = []
    got = np.full(len(directions), -np.inf)
    while len(chosen) < min(most, len(points)):
        lack = reach - got
        worst = int(lack.argmax())
        if lack[worst] <= _REACHED * size:
            break
        chosen.append(worst)
        got = np.maximum(got, directions @ corners[worst])
    beyond = float((reach - got).max()) if chosen else 0.0
    return Hull(np.unique(corners[chosen or [0]], axis=0), beyond if beyond > _ROUNDING * size else 0.0)
