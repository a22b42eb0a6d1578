"""Meshes of MJCF: each file once per scale, by its path from the folder of the written file."""

from __future__ import annotations

import os
import struct
from pathlib import Path, PurePosixPath
from typing import Any
from xml.etree import ElementTree as ET

from ...mechanism.geometry import Geometry
from .written_numbers import Fresh, Unsaid, child

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
