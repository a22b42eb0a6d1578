"""Scenes of files: floors, height fields and friction as the file has them."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

import fourbar as fb

pytest.importorskip("mujoco", reason="MJCF is read with MuJoCo")


def block(floor: str, box: str, more: str = "") -> fb.System:
    """A block on a floor, at rest on it, from a file."""
    return fb.loads(
        f"""<mujoco><asset>{more}</asset><worldbody>
        <geom name="floor" {floor}/>
        <body name="block"><freejoint/><inertial pos="0 0 0" mass="1" diaginertia="0.01 0.01 0.01"/>
        <geom type="box" size="0.1 0.1 0.05" {box}/></body></worldbody></mujoco>""",
        format="mjcf",
    )


def test_a_block_slides_on_the_slope_of_its_file() -> None:
    """a = g (sin α - μ cos α) with the larger friction of the two."""
    angle, mu = math.radians(30.0), 0.3
    floor = f'type="plane" size="5 5 1" euler="0 30 0" friction="{mu} 0.005 0.0001"'
    scene = fb.Scene(block(floor, 'friction="0.2 0.005 0.0001"'))
    assert len(scene.contacts) == 8 and np.array_equal(scene.friction, np.full(8, mu))
    (plane,) = scene.terrains
    assert isinstance(plane, fb.Plane)
    turned = fb.convert.quaternion_from_vector([0.0, angle, 0.0])
    run = fb.simulate(scene, [*(0.05 * np.array(plane.normal)), *turned], duration=0.2, dt=1e-3)
    assert run.converged.all()
    a = 9.81 * (math.sin(angle) - mu * math.cos(angle))
    assert abs(np.linalg.norm(run.v[-1, 3:]) - 0.2 * a) < 1e-8


def test_a_height_field_of_a_file_carries() -> None:
    """Heights of the field above its place; the first row of the file is that of the largest y, as MuJoCo has it."""
    field = '<hfield name="h" nrow="3" ncol="4" size="2 2 0.4 0.1" elevation="0 1 1 1  1 1 1 1  1 1 1 1"/>'
    scene = fb.Scene(block('type="hfield" hfield="h" pos="0 0 0.1"', "", field))
    (terrain,) = scene.terrains
    assert isinstance(terrain, fb.HeightField)
    assert abs(terrain.height(0.0, 0.0) - 0.5) < 1e-12 and abs(terrain.height(-2.0, 2.0) - 0.1) < 1e-12
    run = fb.simulate(scene, [0.5, 0.5, 0.6, 1, 0, 0, 0], duration=0.5, dt=2e-3)
    assert run.converged.all() and abs(run.q[-1, 2] - 0.55) < 1e-9


def test_what_of_the_world_does_not_act_is_said() -> None:
    with pytest.warns(fb.SimulationWarning, match="ellipsoid 'floor' of the world"):
        scene = fb.Scene(block('type="ellipsoid" size="1 1 1"', ""))
    assert scene.terrains == ()


def test_terrain_that_is_given_replaces_that_of_the_file() -> None:
    own = fb.Plane(friction=0.9)
    assert fb.Scene(block('type="plane" size="5 5 1"', ""), own).terrains == (own,)


def test_careless_use_is_refused_in_words() -> None:
    scene = fb.Scene(block('type="plane" size="5 5 1"', ""))
    with pytest.raises(fb.ArgumentError, match="q is NaN or infinite"):
        scene.simulate([np.nan] * 7, duration=0.1)
    with pytest.raises(fb.ModelError, match="NaN or infinite numbers"):
        fb.HeightField([[np.nan, 0.0], [0.0, 0.0]])
    with pytest.raises(fb.ArgumentError, match=r"an array of shape \(10, 3\)"):
        fb.rollout(fb.robots.double_pendulum(), [0.0, 0.0], [0.0, 0.0], np.zeros((10, 3)), dt=1e-3)
    with pytest.raises(AttributeError, match="did you mean 'mass_matrix'"):
        _ = fb.robots.double_pendulum().varying("lower.mass").mass_matri


SDF = """<sdf version="1.9"><world name="w"><model name="ground"><static>true</static><link name="l">
<collision name="c">
<geometry><plane><normal>0 0 1</normal><size>10 10</size></plane></geometry>
<surface><friction><ode><mu>0.4</mu><mu2>0.4</mu2></ode></friction></surface></collision></link></model>
<model name="ball"><pose>0 0 0.5 0 0 0</pose><link name="b"><inertial><mass>1</mass><inertia><ixx>0.01</ixx>
<iyy>0.01</iyy><izz>0.01</izz><ixy>0</ixy><ixz>0</ixz><iyz>0</iyz></inertia></inertial><collision name="c"><geometry>
<sphere><radius>0.1</radius></sphere></geometry>{mask}</collision></link></model></world></sdf>"""


def test_a_world_in_sdf_is_a_scene(tmp_path: Path) -> None:
    (tmp_path / "world.sdf").write_text(SDF.format(mask=""))
    scene = fb.load_scene(tmp_path / "world.sdf")
    assert scene.friction.tolist() == [0.4]
    q = scene.start()
    assert abs(q[2] - 0.1) < 1e-12
    mask = "<surface><contact><collide_bitmask>2</collide_bitmask></contact></surface>"
    (tmp_path / "world.sdf").write_text(SDF.format(mask=mask))
    assert fb.load_scene(tmp_path / "world.sdf").contacts == ()


def test_a_scene_of_mjcf_starts_at_its_keyframe(tmp_path: Path) -> None:
    (tmp_path / "scene.xml").write_text(
        """<mujoco><worldbody><geom type="plane" size="1 1 1"/><body name="a" pos="0 0 1"><freejoint/>
        <inertial pos="0 0 0" mass="1" diaginertia="0.01 0.01 0.01"/><geom type="sphere" size="0.1"/></body></worldbody>
        <keyframe><key name="home" qpos="0 0 0.7 0 1 0 0"/></keyframe></mujoco>"""
    )
    scene = fb.load_scene(tmp_path / "scene.xml", tolerance=1e-9)
    assert scene.spec.tolerance == 1e-9 and scene.keyframes["home"][2] == 0.7
    assert np.array_equal(scene.start("home"), scene.start(scene.keyframes["home"]))
    with pytest.raises(fb.UnknownNameError, match="did you mean 'home'"):
        scene.start("hom")
    assert np.allclose(scene.start(), [0, 0, 0.1, 0, 1, 0, 0])
    with pytest.warns(fb.SimulationWarning, match=r"fb.Scene\(robot\)"):
        fb.simulate(scene.robot, scene.keyframes["home"], duration=0.01)
