"""Models that attach other models: read through MuJoCo's compiler, from allowed folders only."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import fourbar as fb

mujoco = pytest.importorskip("mujoco")

TETRAHEDRON = "v 0 0 0\nv {0} 0 0\nv 0 {0} 0\nv 0 0 {0}\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"
HAND = (
    '<mujoco model="hand"><compiler angle="radian" meshdir="shapes"/>{0}<asset><mesh name="m" file="palm.obj"/></asset>'
    '<worldbody><body name="palm" pos="0 0 .1"><joint name="turn" axis="0 0 1"/><geom type="mesh" mesh="m"/>'
    '<body name="tip" pos=".1 0 0"><joint name="bend" axis="0 1 0"/><geom size=".1"/></body></body></worldbody>'
    '<actuator><motor name="drive" joint="bend" gear="9"/></actuator></mujoco>'
)
ARM = (
    '<mujoco model="arm"><asset><model name="hand" file="hand/hand.xml"/></asset><worldbody><body name="arm">'
    '<joint name="lift" axis="0 1 0"/><geom size=".1" pos=".2 0 0"/><frame pos=".4 0 0">'
    '<attach model="hand" body="palm" prefix="{0}"/></frame></body></worldbody></mujoco>'
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "hand" / "shapes").mkdir(parents=True)
    (tmp_path / "hand" / "hand.xml").write_text(HAND.format(""))
    (tmp_path / "hand" / "shapes" / "palm.obj").write_text(TETRAHEDRON.format(0.3))
    (tmp_path / "arm.xml").write_text(ARM.format("left_"))
    return tmp_path


def test_the_robot_is_that_of_mujoco(folder: Path) -> None:
    from fourbar.bridges.mujoco import Peer

    robot = fb.load(folder / "arm.xml")
    assert robot.names.velocities == ("lift", "left_turn", "left_bend")
    assert robot.names.actuators == ("left_drive",)
    model = mujoco.MjModel.from_xml_path(str(folder / "arm.xml"))
    peer, data = Peer(model, robot), mujoco.MjData(model)
    data.qpos[:] = q = robot.random(rng=0)
    mujoco.mj_forward(model, data)
    M = np.zeros((3, 3))
    mujoco.mj_fullM(model, data, M)
    ours = robot.mass_matrix(q)
    assert np.abs(ours - peer.matrix_from_peer(M, q)).max() < 1e-7 * np.abs(M).max()  # meshes are in single precision


def test_a_mesh_of_the_attached_model_is_looked_for_beside_it(folder: Path) -> None:
    (folder / "hand" / "shapes" / "palm.obj").rename(folder / "palm.obj")
    with pytest.raises(fb.ModelError, match="whose file is not there"):
        fb.load(folder / "arm.xml")


def test_a_mesh_that_could_be_two_is_refused(folder: Path) -> None:
    (folder / "shapes").mkdir()
    (folder / "shapes" / "palm.obj").write_text(TETRAHEDRON.format(0.5))
    with pytest.raises(fb.ModelError, match="is found in several places"):
        fb.load(folder / "arm.xml")


def test_attached_models_are_checked(folder: Path) -> None:
    (folder / "hand" / "hand.xml").write_text(HAND.format("").replace('pos="0 0 .1"', 'pos="nan 0 0"'))
    with pytest.raises(fb.ModelError, match=r"hand.xml:1: .*'nan' is no finite number"):
        fb.load(folder / "arm.xml")


def test_only_from_allowed_folders(folder: Path) -> None:
    inside = folder / "robots"
    inside.mkdir()
    (inside / "arm.xml").write_text(ARM.format("left_").replace("hand/hand.xml", "../hand/hand.xml"))
    with pytest.raises(fb.ModelError, match="not in the folders that may be read"):
        fb.load(inside / "arm.xml")
    assert fb.load(inside / "arm.xml", folders=[folder]).nv == 3


def test_a_model_that_attaches_itself(folder: Path) -> None:
    text = ARM.format("left_").replace("hand/hand.xml", "arm.xml").replace('body="palm"', 'body="arm"')
    (folder / "arm.xml").write_text(text)
    with pytest.raises(fb.ModelError, match="attaches itself"):
        fb.load(folder / "arm.xml")


def test_models_that_multiply(folder: Path) -> None:
    """Ten levels of ten copies would be ten milliard bodies."""
    for i in range(10):
        attached = "".join(f'<attach model="m" body="b" prefix="p{k}_"/>' for k in range(10))
        (folder / f"m{i}.xml").write_text(
            f'<mujoco><asset><model name="m" file="m{i + 1}.xml"/></asset><worldbody><body name="b">{attached}'
            '<joint/><geom size=".1"/></body></worldbody></mujoco>'
        )
    (folder / "m10.xml").write_text(
        '<mujoco><worldbody><body name="b"><joint/><geom size=".1"/></body></worldbody></mujoco>'
    )
    with pytest.raises(fb.ModelError, match="bodies are attached"):
        fb.load(folder / "m0.xml")


def test_two_files_of_one_name(folder: Path) -> None:
    (folder / "hand" / "more.xml").write_text('<mujocoinclude><option timestep=".01"/></mujocoinclude>')
    (folder / "more.xml").write_text('<mujocoinclude><option gravity="0 0 -1"/></mujocoinclude>')
    (folder / "hand" / "hand.xml").write_text(HAND.format('<include file="more.xml"/>'))
    text = ARM.format("left_").replace("<asset>", '<include file="./more.xml"/><asset>')
    (folder / "arm.xml").write_text(text)
    with pytest.raises(fb.ModelError, match="are two files called"):
        fb.load(folder / "arm.xml")
