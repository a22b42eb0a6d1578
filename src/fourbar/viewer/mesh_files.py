"""Files of meshes as surfaces with colours, read by trimesh; what cannot be read is noted and left to a placeholder."""

from __future__ import annotations

import os
import re
from functools import lru_cache
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..errors import ArgumentError, extra
from .triangles import TriangleSurface, shade, simplify

Colour = tuple[float, float, float, float]
_PLAIN = b"<color>0.6 0.6 0.6 1</color>"  # in place of a texture that is missing
_MOST_FACES = 40_000  # of one mesh: more would not be visible


def linear(x: float) -> float:
    """A share of a colour as light: files and screens say colours by a curve, glTF and three.js compute with light."""
    return round(x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4, 5)


class MeshPart(NamedTuple):
    """A part of a mesh, and the colour that its file gives it (None: it gives none)."""

    solid: TriangleSurface
    colour: Colour | None


def read_mesh(file: str) -> tuple[MeshPart, ...]:
    """The parts of a mesh file. An `ArgumentError` says in a few words why it cannot be read."""
    try:
        stamp = os.stat(file).st_mtime_ns
    except OSError as error:
        raise ArgumentError(error.strerror or "it cannot be opened") from None
    return _read(file, stamp)


@lru_cache(maxsize=512)
def _read(file: str, stamp: int) -> tuple[MeshPart, ...]:
    try:
        import trimesh
    except ImportError:
        raise ArgumentError(f"meshes need trimesh: {extra('view')}") from None
    try:
        loaded: Any = trimesh.load(file, process=False)
    except ImportError as error:
        raise ArgumentError(f"{error}: {extra('view')}") from None
    except Exception as error:  # readers of many formats fail in many ways
        raise ArgumentError(f"{type(error).__name__}: {error}"[:120]) from None
    parts = _parts(trimesh, loaded)
    if not parts and file.lower().endswith(".dae"):  # such as those whose textures are missing
        parts = _parts(trimesh, trimesh.load(BytesIO(_without_textures(file)), file_type="dae", process=False))
    if not parts:
        raise ArgumentError("there are no triangles in it")
    return _by_colour(parts)


def _without_textures(file: str) -> bytes:
    """A COLLADA file in one colour where it has textures."""
    text = re.sub(rb"<texture\b[^>]*?(/>|>.*?</texture>)", _PLAIN, Path(file).read_bytes(), flags=re.DOTALL)
    return re.sub(rb"<newparam\b.*?</newparam>", b"", text, flags=re.DOTALL)


def _parts(trimesh: Any, loaded: Any) -> list[tuple[np.ndarray, np.ndarray, Colour | None]]:
    scene = loaded if isinstance(loaded, trimesh.Scene) else trimesh.Scene(loaded)
    scale = _metres(scene)
    return [part for name in scene.graph.nodes_geometry for part in _part(scene, name, scale)]


def _metres(scene: Any) -> float:
    """Metres per unit of a file: COLLADA says it, other formats are taken to be in metres."""
    metadata = {**scene.metadata, **{k: v for g in scene.geometry.values() for k, v in g.metadata.items()}}
    unit = metadata.get("unit", metadata.get("units"))
    return float(unit) if isinstance(unit, int | float) and 0.0 < float(unit) < 1e3 else 1.0


def _part(scene: Any, name: str, scale: float) -> list[tuple[np.ndarray, np.ndarray, Colour | None]]:
    T, key = scene.graph[name]
    mesh = scene.geometry[key]
    faces = getattr(mesh, "faces", None)
    if faces is None or not len(faces):
        return []
    vertices = (np.asarray(mesh.vertices, float) @ T[:3, :3].T + T[:3, 3]) * scale
    if not np.isfinite(vertices).all():
        return []
    faces = np.asarray(faces, int)
    return [(vertices, faces if np.linalg.det(T[:3, :3]) > 0.0 else faces[:, ::-1], _colour(mesh))]


def _colour(mesh: Any) -> Colour | None:
    """The colour of a mesh's material; the mean of a texture where the mesh uses it, or of the colours of vertices.

    None if the file names none: trimesh gives such a mesh with texture coordinates a small dark image.
    """
    visual = getattr(mesh, "visual", None)
    if visual is None or not getattr(visual, "defined", False):
        return None
    if visual.kind == "texture":
        material = visual.material
        image = getattr(material, "image", None) or getattr(material, "baseColorTexture", None)
        if image is not None:
            pixels = np.asarray(image.convert("RGBA"), float)
            return None if _is_empty(pixels) else _colour_of(_texels(pixels, visual.uv).mean(axis=0))
        return _colour_of(np.asarray(material.main_color, float))
    return _colour_of(np.asarray(visual.main_color, float))


def _is_empty(pixels: np.ndarray) -> bool:
    """Whether an image (high, wide, 4) is that of trimesh for a mesh without a material."""
    from trimesh.visual.material import empty_material

    image = empty_material().image
    return image is not None and np.array_equal(pixels, np.asarray(image.convert("RGBA"), float))


def _texels(image: np.ndarray, uv: Any) -> np.ndarray:
    """The colours (n, 4) of an image (high, wide, 4) at texture coordinates (n, 2), upwards from its lower left corner;
    all of them if there are no coordinates."""
    at = np.zeros((0, 2)) if uv is None else np.asarray(uv, float).reshape(-1, 2)
    at = at[np.isfinite(at).all(axis=1)]
    if not len(at):
        return image.reshape(-1, 4)
    high, wide = image.shape[:2]
    column, row = (np.mod(at, 1.0) * (wide, high)).astype(int).T
    return image[high - 1 - row.clip(0, high - 1), column.clip(0, wide - 1)]


def _colour_of(rgba: np.ndarray) -> Colour:
    r, g, b, a = (np.clip(rgba, 0.0, 255.0) / 255.0).round(4).tolist()
    return (r, g, b, a if a > 0.05 else 1.0)  # files that mean opaque by 0 are common


def _by_colour(parts: list[tuple[np.ndarray, np.ndarray, Colour | None]]) -> tuple[MeshPart, ...]:
    """One surface per colour, with few enough triangles."""
    groups: dict[Colour | None, list[tuple[np.ndarray, np.ndarray]]] = {}
    for vertices, faces, colour in parts:
        groups.setdefault(colour, []).append((vertices, faces))
    total = sum(len(faces) for _, faces, _ in parts)
    coloured_parts = []
    for colour, group in groups.items():
        starts = np.cumsum([0, *(len(v) for v, _ in group)])
        vertices = np.concatenate([v for v, _ in group])
        faces = np.concatenate([f + start for (_, f), start in zip(group, starts[:-1], strict=True)])
        share = max(200, int(_MOST_FACES * len(faces) / total))
        solid = shade(*simplify(vertices, faces, share))
        if len(solid.faces):
            coloured_parts.append(MeshPart(solid, colour))
    return tuple(coloured_parts)
