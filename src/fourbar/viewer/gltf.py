"""glTF 2.0 in one binary file (.glb): what is drawn, as nodes that keyframes move. Needs no library."""

from __future__ import annotations

import json
import struct
from typing import Any

import numpy as np

from . import look
from .drawing import Drawing, Item
from .legend import legend
from .look import FIELD, FILLED, direction
from .mesh_files import Colour, linear
from .recorded_motion import GHOST, RecordedMotion, continuous, quaternions
from .triangles import TriangleSurface, arrow

_FLOAT, _INT = 5126, 5125
_ARRAY, _ELEMENTS = 34962, 34963
_KINDS = {1: "SCALAR", 3: "VEC3", 4: "VEC4"}
_STILL = 1e-6  # changes (m, of a quaternion) below which nothing is animated
_UPRIGHT = [-(0.5**0.5), 0.0, 0.0, 0.5**0.5]  # glTF has y upwards


class GltfDocument:
    """A glTF document under construction: its tables, and the bytes that these refer to."""

    def __init__(self) -> None:
        self.tables: dict[str, list[Any]] = {
            name: [] for name in ("nodes", "meshes", "materials", "accessors", "bufferViews")
        }
        self.channels: list[dict[str, Any]] = []
        self.samplers: list[dict[str, Any]] = []
        self._bytes = bytearray()
        self._known: dict[Any, int] = {}
        self._kept: list[Any] = []  # so that no other object gets the identity of one that is known

    def add(self, table: str, entry: dict[str, Any]) -> int:
        """Append to a table; the number of the entry."""
        self.tables[table].append(entry)
        return len(self.tables[table]) - 1

    def accessor(self, x: np.ndarray, target: int | None = None, extremes: bool = False) -> int:
        """Numbers (n) or (n, k) as an accessor."""
        whole = x.dtype.kind in "ui"
        x = np.ascontiguousarray(x, "<u4" if whole else "<f4")
        view = {"buffer": 0, "byteOffset": len(self._bytes), "byteLength": x.nbytes}
        self._bytes += x.tobytes()
        entry = {
            "bufferView": self.add("bufferViews", view | ({"target": target} if target else {})),
            "componentType": _INT if whole else _FLOAT,
            "count": len(x),
            "type": _KINDS[x.shape[1] if x.ndim > 1 else 1],
        }
        if extremes:
            entry |= {"min": np.atleast_1d(x.min(axis=0)).tolist(), "max": np.atleast_1d(x.max(axis=0)).tolist()}
        return self.add("accessors", entry)

    def once(self, key: Any, make: Any) -> int:
        """The number of something that is written only once."""
        if key not in self._known:
            self._known[key] = make()
        return self._known[key]

    def material(self, colour: Colour) -> int:
        """A material of a colour."""
        light = [*(linear(x) for x in colour[:3]), float(colour[3])]
        entry: dict[str, Any] = {
            "pbrMetallicRoughness": {"baseColorFactor": light, "metallicFactor": 0.0, "roughnessFactor": 0.8},
            "doubleSided": True,
        }
        if colour[3] < 1.0:
            entry["alphaMode"] = "BLEND"
        return self.once(("material", colour), lambda: self.add("materials", entry))

    def mesh(self, solid: TriangleSurface, colour: Colour) -> int:
        """A surface in a colour."""

        def corners() -> int:
            self._kept.append(solid)
            at = self.accessor(solid.vertices, _ARRAY, extremes=True)
            self.accessor(solid.normals, _ARRAY)
            self.accessor(solid.faces.reshape(-1), _ELEMENTS)
            return at

        def add_mesh() -> int:
            at = self.once(("solid", id(solid)), corners)
            part = {"attributes": {"POSITION": at, "NORMAL": at + 1}, "indices": at + 2,
                    "material": self.material(colour)}  # fmt: skip
            return self.add("meshes", {"primitives": [part]})

        return self.once(("mesh", id(solid), colour), add_mesh)

    def animate(self, node: int, path: str, times: int, x: np.ndarray) -> None:
        """Let a property of a node follow values (n, k)."""
        self.samplers.append({"input": times, "output": self.accessor(x), "interpolation": "LINEAR"})
        self.channels.append({"sampler": len(self.samplers) - 1, "target": {"node": node, "path": path}})

    def binary(self, scene: dict[str, Any], extras: dict[str, Any]) -> bytes:
        """The file."""
        whole: dict[str, Any] = {
            "asset": {"version": "2.0", "generator": "fourbar"},
            "scene": 0,
            "scenes": [scene],
            "buffers": [{"byteLength": len(self._bytes)}],
            "extras": extras,
        }
        whole |= {name: table for name, table in self.tables.items() if table}
        if self.channels:
            whole["animations"] = [{"name": "motion", "channels": self.channels, "samplers": self.samplers}]
        text = json.dumps(whole, separators=(",", ":"), allow_nan=False).encode()
        text += b" " * (-len(text) % 4)
        data = bytes(self._bytes) + b"\0" * (-len(self._bytes) % 4)
        head = struct.pack("<4sII", b"glTF", 2, 12 + 8 + len(text) + 8 + len(data))
        return head + struct.pack("<I4s", len(text), b"JSON") + text + struct.pack("<I4s", len(data), b"BIN\0") + data


def _placement(T: np.ndarray) -> dict[str, Any]:
    """A constant pose as properties of a node."""
    w, x, y, z = quaternions(T[:3, :3]).tolist()
    properties: dict[str, Any] = {}
    if np.abs(T[:3, 3]).max() > 0.0:
        properties["translation"] = T[:3, 3].tolist()
    if w < 1.0 - 1e-12:
        properties["rotation"] = [x, y, z, w]
    return properties


class GltfWriter:
    """Writes a recording as a document."""

    def __init__(self, recording: RecordedMotion, drawing: Drawing, hidden: frozenset[str]) -> None:
        self.recording, self.drawing, self.document = recording, drawing, GltfDocument()
        self.items = [x for x in drawing.items if x.layer not in hidden]
        self.top: list[int] = []
        self.base: int | None = None  # the node that a camera may follow
        self.moves = len(recording.t) > 1
        self._times = self.document.accessor(recording.t - recording.t[0], extremes=True) if self.moves else -1

    def _moving_node(self, name: str, T: np.ndarray, children: list[int]) -> int:
        """A node that takes poses (n, 4, 4) one after the other."""
        p, quaternion = T[:, :3, 3], continuous(quaternions(T[:, :3, :3]))[:, [1, 2, 3, 0]]
        below = {"children": children} if children else {}
        node = self.document.add("nodes", {"name": name, **_placement(T[0]), **below})
        if self.moves:
            if np.ptp(p, axis=0).max() > _STILL:
                self.document.animate(node, "translation", self._times, p)
            if np.ptp(quaternion, axis=0).max() > _STILL:
                self.document.animate(node, "rotation", self._times, quaternion)
        return node

    def _item(self, item: Item, colour: Colour) -> int:
        entry = {"name": item.name, "mesh": self.document.mesh(item.solid, colour), **_placement(item.placement)}
        more = {"tile": item.tile} if item.tile else {}
        return self.document.add("nodes", entry | {"extras": {"layer": item.layer, **more}})

    def worlds(self) -> None:
        """All worlds with what moves in them, then what does not."""
        places = self.recording.places(self.drawing)
        for world in range(self.recording.worlds):
            name = f"world {world}" if self.recording.worlds > 1 else self.recording.robot.name
            children = self._robot(places[:, world])
            self.top.append(self.document.add("nodes", {"name": name, "children": children}))
        self.top += [self._item(x, x.colour) for x in self.items if x.place == self.drawing.world]

    def _robot(self, places: np.ndarray) -> list[int]:
        nodes, names = [], [b.name for b in self.recording.robot.mechanism.bodies]
        for place in range(self.drawing.world):
            own = [self._item(x, x.colour) for x in self.items if x.place == place]
            if own or place == self.recording.base:
                name = names[place] if place < len(names) else f"place {place}"
                nodes.append(self._moving_node(name, places[:, place], own))
                if place == self.recording.base and self.base is None:
                    self.base = nodes[-1]
        return nodes

    def ghosts(self, count: int) -> None:
        """Translucent copies at evenly spaced times of the motion, of the first world."""
        for k in np.linspace(0, len(self.recording.t) - 1, count).round().astype(int) if self.moves else ():
            places = self.recording.places(self.drawing, slice(k, k + 1))[0, 0]
            nodes = []
            for item in self.items:
                if item.layer == "shapes" and item.place != self.drawing.world:
                    pale = (*item.colour[:3], GHOST)
                    T = places[item.place] @ item.placement
                    mesh = self.document.mesh(item.solid, pale)
                    nodes.append(
                        self.document.add("nodes", {"mesh": mesh, **_placement(T), "extras": {"layer": "ghosts"}})
                    )
            self.top.append(self.document.add("nodes", {"name": f"ghost {k}", "children": nodes}))

    def forces(self) -> None:
        """Contact forces as arrows that grow and shrink."""
        r = self.recording
        if not r.forces.size:
            return
        poses, length = r.arrows(self.drawing.size)
        solid = arrow(1.0, 0.05)
        mesh = self.document.mesh(solid, r.force_colour)
        thick = 0.2 * self.drawing.size * (length > 0.0)
        for world in range(r.worlds):
            for k in np.flatnonzero((length[:, world] > 0.0).any(axis=0)):
                node = self._moving_node(f"force {k}", poses[:, world, k], [])
                scale = np.stack([thick[:, world, k], thick[:, world, k], length[:, world, k]], axis=1)
                entry = self.document.tables["nodes"][node]
                entry |= {"mesh": mesh, "scale": scale[0].tolist(), "extras": {"layer": "forces"}}
                if self.moves:
                    self.document.animate(node, "scale", self._times, scale)
                self.top.append(node)


def glb(
    recording: RecordedMotion,
    *,
    ghosts: int = 0,
    layers: Any = None,
    rate: float = 60.0,
    most: int | None = None,
    follow: bool | None = None,
) -> bytes:
    """A recording as a binary glTF file.

    layers: which are written, "shapes" and "ground" if None. rate: keyframes per second at most. ghosts: number of
    translucent copies, at evenly spaced times. most: triangles of the whole robot at most, about. follow: whether the
    camera of a page follows the base.
    """
    recording = recording.sample(rate)
    shown = {"shapes", "ground"} if layers is None else set(layers)
    drawing = recording.drawing().complete() if "collision" in shown else recording.drawing()
    if most is not None:
        drawing = drawing.reduce(most)
    writer = GltfWriter(recording, drawing, frozenset({x.layer for x in drawing.items} - shown))
    writer.worlds()
    writer.ghosts(ghosts)
    writer.forces()
    root = writer.document.add("nodes", {"name": "z up", "rotation": _UPRIGHT, "children": writer.top})
    return writer.document.binary({"nodes": [root]}, _page_data(recording, drawing, follow, writer))


def _page_data(recording: RecordedMotion, drawing: Drawing, follow: bool | None, writer: GltfWriter) -> dict[str, Any]:
    """The other data of a page: the camera, the floor, the look, the legend."""
    bounds = recording.bounds(drawing)
    middle, radius = recording.floor(drawing)
    return {
        "bounds": bounds.round(6).tolist(),
        "start": drawing.bounds.round(6).tolist(),
        "camera": {"bounds": direction(bounds, drawing.bounds), "start": direction(drawing.bounds, drawing.bounds),
                   "fit": (FILLED, FIELD)},
        "follow": {"node": writer.base, "on": recording.follows(follow), "name": recording.base_title},
        "floor": {"middle": middle.round(6).tolist(), "radius": radius, "below": look.below(bounds),
                  "tile": look.tile(drawing.size)},
        "look": look.numbers(),
        "size": drawing.size,
        "duration": recording.duration,
        "legend": [x._asdict() for x in legend(recording, drawing)],
        "notes": list(drawing.notes),
    }  # fmt: skip
