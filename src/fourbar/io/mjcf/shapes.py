"""Geoms as the geometry that bodies carry. MuJoCo sizes boxes, cylinders and capsules by halves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ...mechanism.geometry import Geometry
from ...mechanism.placement import Placement
from ...shapes.registry import TYPES
from .bodies import rotation
from .contacts import colliding, geom_contact

_KINDS = ("plane", "hfield", "sphere", "capsule", "ellipsoid", "cylinder", "box", "mesh")  # by MuJoCo's numbers
_HFIELD, _MESH = _KINDS.index("hfield"), _KINDS.index("mesh")
_GREY = (0.5, 0.5, 0.5, 1.0)  # MuJoCo's default
_TEXTURE = (  # what decides on the pixels of a texture
    "type", "builtin", "rgb1", "rgb2", "mark", "markrgb", "random", "width", "height", "nchannel", "gridsize",
    "gridlayout", "content_type", "colorspace",
)  # fmt: skip
_PNG = b"\x89PNG\r\n"
_MOST_PIXELS = 1 << 24
Rgb = tuple[float, float, float]


class TextureColours:
    """The mean colours of textures, in place of which shapes are drawn. `find` gives the file of a texture, if any."""

    def __init__(self, mujoco: Any, find: Callable[[Any], Path | None]) -> None:
        self._mujoco, self._find = mujoco, find
        self._known: dict[str, Rgb | None] = {}

    def of(self, spec: Any, material: Any) -> Rgb | None:
        """That of the texture of a material; None without one, or if its picture is not there."""
        roles = self._mujoco.mjtTextureRole
        names = [material.textures[int(role)] for role in (roles.mjTEXROLE_RGB, roles.mjTEXROLE_RGBA)]
        name = next((x for x in names if x), "")
        texture = spec.texture(name) if name else None
        if texture is not None and name not in self._known:
            self._known[name] = self._mean(texture)
        return self._known.get(name)

    def _mean(self, texture: Any) -> Rgb | None:
        """The mean of the pixels that MuJoCo makes of a texture, which is compiled by itself."""
        alone = self._mujoco.MjSpec()
        copy = alone.add_texture(name="texture")
        for key in _TEXTURE:
            setattr(copy, key, getattr(texture, key))
        if texture.file:
            path = self._find(texture)
            if path is None:
                return None
            copy.file = f"texture{path.suffix}"
            alone.assets[copy.file] = path.read_bytes()
        if _pixels(copy, alone.assets.get(copy.file, b"")) > _MOST_PIXELS:
            return None
        try:
            model = alone.compile()
        except ValueError:  # a damaged picture, or neither a picture nor a pattern
            return None
        pixels = np.asarray(model.tex_data).reshape(-1, int(model.tex_nchannel[0]))
        red, green, blue = np.broadcast_to(pixels[:, :3].mean(axis=0) / 255.0, 3).tolist()
        return red, green, blue


def _pixels(texture: Any, content: bytes) -> int:
    """How many pixels a texture has: its own, or those that the header of a PNG states."""
    if content.startswith(_PNG):
        return int.from_bytes(content[16:20]) * int.from_bytes(content[20:24])
    return int(texture.width) * int(texture.height)


@dataclass(frozen=True)
class GeomSource:
    """The mesh and colour of a geom, which its spec has and the compiled geom lacks. None: no geometry of ours."""

    geom: Any
    kind: str
    mesh: str = ""
    scale: tuple[float, float, float] = (1.0, 1.0, 1.0)
    colour: tuple[float, float, float, float] | None = None
    found: str = ""  # where the file of the mesh is

    @staticmethod
    def of(spec: Any, geom: Any, textures: TextureColours, found: Path | None = None) -> GeomSource:
        """The shape of a geom, before meshes and materials are removed; `found`: the file of its mesh."""
        colour = tuple(float(x) for x in geom.rgba)
        material = spec.material(geom.material) if geom.material else None
        if material is not None and np.allclose(colour, _GREY):
            colour = tuple(float(x) for x in material.rgba)
        mean = textures.of(spec, material) if material is not None else None
        if mean is not None:
            colour = (*(x * y for x, y in zip(colour, mean, strict=False)), colour[3])
        shown = None if np.allclose(colour, _GREY) else tuple(min(max(x, 0.0), 1.0) for x in colour)
        mesh = spec.mesh(geom.meshname) if geom.meshname else None
        kind = "mesh" if int(geom.type) == _MESH and mesh is not None else "fitted" if is_fitted(geom) else ""
        file = (mesh.file or mesh.name) if mesh is not None else ""
        scale = tuple(float(x) for x in mesh.scale) if mesh is not None else (1.0, 1.0, 1.0)
        kind, where = "hfield" if int(geom.type) == _HFIELD else kind, "" if found is None else str(found)
        return GeomSource(geom, kind, file, scale, shown, where)  # type: ignore[arg-type]


def is_fitted(geom: Any) -> bool:
    """Whether the size and place of a geom, which is no mesh itself, come from a mesh."""
    return bool(geom.meshname) and _HFIELD < int(geom.type) < _MESH


def stem(file: str) -> str:
    """The name of a file without folder and ending: MuJoCo's name for an unnamed mesh."""
    return file.replace("\\", "/").rsplit("/", 1)[-1].rsplit(".", 1)[0]


def geometries(model: Any, shapes: Sequence[GeomSource]) -> dict[int, list[Geometry]]:
    """The geometry of each body, by its number, that of the world too. Height fields without heights are left out."""
    said = {shape.geom.id: shape for shape in shapes}
    touching = colliding(model)
    by_body: dict[int, list[Geometry]] = {}
    for g in range(model.ngeom):
        shape = said.get(g)
        made = _geometry(model, g, shape, bool(touching[g]))
        if made is not None:
            by_body.setdefault(int(model.geom_bodyid[g]), []).append(made)
    return by_body


def _geometry(model: Any, g: int, shape: GeomSource | None, touches: bool) -> Geometry | None:
    kind, (a, b, c) = int(model.geom_type[g]), (float(x) for x in model.geom_size[g])
    R, p = rotation(model.geom_quat[g]), np.array(model.geom_pos[g])
    common: dict[str, Any] = {
        **geom_contact(model, g, touches),
        "colour": shape.colour if shape else None,
        "name": model.geom(g).name,
    }
    if shape is not None and shape.kind == "hfield":
        return _field(model, int(model.geom_dataid[g]), _placement(R, p), common) if kind == _HFIELD else None
    if shape is not None and shape.kind == "fitted" and not shape.geom.meshname:
        return None  # its mesh is missing
    if shape is not None and shape.kind == "mesh":
        if kind == _MESH:  # compiled: MuJoCo has moved it into the mesh's own principal frame
            R, p = _undone(model, int(model.geom_dataid[g]), R, p)
        return Geometry("mesh", (), _placement(R, p), mesh=shape.mesh, scale=shape.scale, file=shape.found, **common)
    known = TYPES[_KINDS[kind]].mjcf if kind < len(_KINDS) else None
    if known is None:
        return None
    size = tuple(factor * x for factor, x in zip(known, (a, b, c), strict=False))
    return Geometry(_KINDS[kind], size, _placement(R, p), **common)


def _field(model: Any, h: int, place: Placement, common: dict[str, Any]) -> Geometry:
    """A height field: MuJoCo has its heights from 0 to 1, row by row along y."""
    rows, columns, first = int(model.hfield_nrow[h]), int(model.hfield_ncol[h]), int(model.hfield_adr[h])
    x, y, high, depth = model.hfield_size[h].tolist()
    table = high * np.array(model.hfield_data[first : first + rows * columns], float).reshape(rows, columns).T
    return Geometry("hfield", (2.0 * x, 2.0 * y, depth), place, heights=tuple(map(tuple, table.tolist())), **common)


def _undone(model: Any, mesh: int, R: np.ndarray, p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The pose of the mesh's file: T_geom = T_file T_mesh."""
    R_file = R @ rotation(model.mesh_quat[mesh]).T
    return R_file, p - R_file @ model.mesh_pos[mesh]


def _placement(R: np.ndarray, p: np.ndarray) -> Placement:
    return Placement(tuple(map(tuple, R.tolist())), tuple(p.tolist()))  # type: ignore[arg-type]
