"""Spheres, capsules, cylinders, ellipsoids and boxes that MuJoCo fits to meshes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fourbar as fb

mujoco: Any = pytest.importorskip("mujoco")

KINDS = {"sphere": 2, "capsule": 3, "ellipsoid": 4, "cylinder": 5, "box": 6}
CORNERS = [(x, y, z) for x in (-0.1, 0.3) for y in (-0.05, 0.06) for z in (0.0, 0.5)]
FACES = [(1, 3, 4), (1, 4, 2), (5, 6, 8), (5, 8, 7), (1, 2, 6), (1, 6, 5), (3, 7, 8), (3, 8, 4), (1, 5, 7), (1, 7, 3),
         (2, 4, 8), (2, 8, 6)]  # fmt: skip


def written(folder: Path, kind: str) -> Path:
    lines = [f"v {x} {y} {z}" for x, y, z in CORNERS] + [f"f {a} {b} {c}" for a, b, c in FACES]
    (folder / "brick.obj").write_text("\n".join(lines), encoding="utf-8")
    file = folder / "robot.xml"
    file.write_text(f"""
        <mujoco><asset><mesh name="brick" file="brick.obj"/></asset><worldbody><geom type="plane" size="1 1 1"/>
        <body name="arm" pos="0 0 1"><joint axis="0 1 0"/><inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>
        <geom type="{kind}" mesh="brick" pos="0.1 0.2 0.3" euler="20 30 40"/></body></worldbody></mujoco>
    """, encoding="utf-8")  # fmt: skip
    return file


@pytest.mark.parametrize("kind", KINDS)
def test_a_fitted_shape_has_mujocos_size_and_place(kind: str, tmp_path: Path) -> None:
    file = written(tmp_path, kind)
    model = mujoco.MjModel.from_xml_path(str(file))  # type: ignore[attr-defined]
    (shape,) = next(x for x in fb.load(file).mechanism.bodies if x.name == "arm").geometry
    assert shape.kind == kind and model.geom_type[1] == KINDS[kind]
    halves = {"capsule": (1, 0.5), "cylinder": (1, 0.5), "box": (0.5,) * 3}.get(kind, (1,) * 3)
    size = np.multiply(shape.size, halves[: len(shape.size)])
    assert np.allclose(size, model.geom_size[1][: len(size)], rtol=1e-12)
    assert np.allclose(shape.placement.position, model.geom_pos[1], atol=1e-12)


def test_a_shape_whose_mesh_is_missing_is_left_out(tmp_path: Path) -> None:
    file = written(tmp_path, "capsule")
    (tmp_path / "brick.obj").unlink()
    with pytest.raises(fb.ParseError, match="fitted to mesh 'brick'"):
        fb.load(file)
    robot = fb.load(file, waive=["mesh@file"])
    assert not next(x for x in robot.mechanism.bodies if x.name == "arm").geometry
