"""Fluids around bodies in files: all of it in our own, added mass in SDF, refused elsewhere; and after edits."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import fourbar as fb
from fourbar.joints import Free, Revolute


def robot_in_water() -> fb.System:
    rng = np.random.default_rng(0)
    A = rng.normal(size=(6, 6))
    hull = fb.Fluid(
        added_mass=A @ A.T, volume=0.02, center_of_buoyancy=(0.1, 0.2, 0.3), density=1025.0, linear_drag=A @ A.T,
        quadratic_drag=[1, 2, 3, 4, 5, 6], current=(0.3, -0.2, 0.1),
    )  # fmt: skip
    arm = fb.Fluid(added_mass=[0.1, 0.2, 0.3, 4, 5, 6], volume=0.001)
    b = fb.Builder("diver").body("hull", joint=Free(), mass=10.0, inertia=(1.0, 1.1, 1.2), fluid=hull)
    b.body("arm", parent="hull", joint=Revolute("y"), position=(0.3, 0, 0), mass=1.0, inertia=(0.1,) * 3, fluid=arm)
    return b.build()


def fluids(robot: fb.System) -> list[fb.Fluid | None]:
    return [body.fluid for body in robot.mechanism.bodies]


@pytest.mark.quick
@pytest.mark.parametrize("ending", ["json", "toml"])
def test_own_files(tmp_path: Path, ending: str) -> None:
    robot = robot_in_water()
    robot.save(tmp_path / f"diver.{ending}")
    assert fb.load(tmp_path / f"diver.{ending}").mechanism == robot.mechanism


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"volume": -1}', "volume"),
        ('{"added_mass": [1, 2, 3]}', "fluid.added_mass"),
        ('{"viscosity": 1}', "viscosity"),
        ('{"added_mass": [-1, 0, 0, 0, 0, 0]}', "negative kinetic energy"),
        ("3", "fluid"),
    ],
)
def test_refused_in_own_files(text: str, words: str) -> None:
    with pytest.raises(fb.ParseError, match=words):
        fb.loads(f'{{"fourbar": 1, "name": "x", "bodies": [{{"name": "b", "fluid": {text}}}]}}', format="json")


SDF = """<sdf version="1.10"><model name="m"><link name="hull"><inertial><pose>0.1 0 0 0 0 0.3</pose><mass>2</mass>
<inertia><ixx>1</ixx><iyy>1</iyy><izz>1</izz></inertia><fluid_added_mass>{}</fluid_added_mass></inertial></link></model>
</sdf>"""


def test_added_mass_of_gazebo() -> None:
    """Linear velocities first, about the origin of the link and in its axes, whatever the frame of the inertia is."""
    text = SDF.format("<xx>1</xx><yy>2</yy><zz>3</zz><pp>4</pp><qq>5</qq><rr>6</rr><xy>0.1</xy><yr>0.2</yr>")
    (body,) = fb.loads(text, format="sdf").mechanism.bodies
    expected = np.diag([4.0, 5.0, 6.0, 1.0, 2.0, 3.0])
    expected[3, 4] = expected[4, 3] = 0.1
    expected[2, 4] = expected[4, 2] = 0.2
    assert body.fluid is not None
    assert np.array_equal(body.fluid.added_mass, expected)


def test_refused_of_gazebo() -> None:
    with pytest.raises(fb.ParseError, match="added_mass"):
        fb.loads(SDF.format("<xx>-1</xx>"), format="sdf")
    with pytest.raises(fb.ParseError, match="ww"):
        fb.loads(SDF.format("<ww>1</ww>"), format="sdf")


def test_sdf_is_written(tmp_path: Path) -> None:
    robot = robot_in_water()
    words = r"buoyancy, drag and current around bodies 'hull', 'arm'.*waive=\['fluid'\]"
    with pytest.raises(fb.ModelError, match=words):
        robot.save(tmp_path / "diver.sdf")
    robot.save(tmp_path / "diver.sdf", waive=["fluid"])
    assert 'version="1.10"' in (tmp_path / "diver.sdf").read_text()
    read = fb.load(tmp_path / "diver.sdf")
    for mine, theirs in zip(fluids(robot), fluids(read), strict=True):
        assert mine is not None and theirs == fb.Fluid(added_mass=mine.added_mass)
    only = robot.with_parameters(bodies={"hull": {"fluid": fluids(read)[0]}, "arm": {"fluid": None}})
    only.save(tmp_path / "only.sdf")
    q, v, a = robot.neutral(), np.ones(7), np.arange(7.0)
    assert np.allclose(fb.load(tmp_path / "only.sdf").inverse_dynamics(q, v, a), only.inverse_dynamics(q, v, a))


@pytest.mark.parametrize("ending", ["urdf", "xml"])
def test_refused_elsewhere(tmp_path: Path, ending: str) -> None:
    robot = robot_in_water()
    with pytest.raises(fb.ModelError, match="the fluid around bodies 'hull', 'arm'"):
        robot.save(tmp_path / f"diver.{ending}")
    robot.save(tmp_path / f"diver.{ending}", waive=["fluid"])
    assert fluids(fb.load(tmp_path / f"diver.{ending}", waive=[])) == [None, None]


def test_edits_keep_fluids() -> None:
    robot = robot_in_water()
    assert fluids(robot.with_parameters(bodies={"hull": {"mass": 11.0}})) == fluids(robot)
    assert fluids(robot.with_parameters(joints={"arm": {"damping": 1.0}})) == fluids(robot)
    assert fluids(robot.lock(["arm"])) == fluids(robot)
    assert fluids(robot.with_parameters(bodies={"hull": {"fluid": None}}))[0] is None


def test_joined_robots_and_parts_keep_fluids() -> None:
    """Fluids of all bodies, and the motion in them: two robots side by side move as each alone, a part as the whole
    whose base is held."""
    robot = robot_in_water()
    q, rng = robot.random(3), np.random.default_rng(2)
    v, tau = rng.normal(size=(2, robot.nv))
    a = robot.passive_dynamics(q, v, tau)
    renamed = robot.renamed(bodies={"hull": "boat"})
    for both in (robot.merge(robot, prefix="second_"), renamed.merge(robot, prefix="second_")):
        assert fluids(both) == 2 * fluids(robot)
        found = both.passive_dynamics(np.tile(q, 2), np.tile(v, 2), np.tile(tau, 2))
        assert np.allclose(found, np.tile(a, 2), rtol=1e-11, atol=1e-11)
    arm = robot.sub("arm")
    assert fluids(arm) == fluids(robot)[1:]
    stand = fb.Builder("stand", gravity=robot.mechanism.gravity).body("post", mass=1.0).build()
    mounted = stand.attach(arm, "post", prefix="left_")
    assert [x for x in fluids(mounted) if x is not None] == fluids(arm)
    one = arm.random(0), rng.normal(size=arm.nv), rng.normal(size=arm.nv)
    assert np.allclose(mounted.passive_dynamics(*one), arm.passive_dynamics(*one), rtol=1e-11, atol=1e-11)
    upright = np.array([*robot.neutral()[:-1], *one[0]])  # the hull held where the world of the arm is
    still = np.concatenate([np.zeros(6), one[1]])
    held, _ = robot.hybrid_dynamics(upright, still, np.zeros(7), [*np.zeros(6), *one[2]], prescribed=["hull"])
    assert np.allclose(held[6:], arm.forward_dynamics(*one), rtol=1e-11, atol=1e-11)


def test_mirror_image() -> None:
    """Its motion is the mirror image, exactly: Q turns linear, -Q angular velocities."""
    robot = robot_in_water()
    image = robot.mirrored("y")
    rng = np.random.default_rng(1)
    q, (v, tau) = robot.random(0), rng.normal(size=(2, robot.nv))
    forces = robot.mirrored_state(q, tau)[1]
    a = image.passive_dynamics(*robot.mirrored_state(q, v), forces)
    expected = robot.mirrored_state(q, robot.passive_dynamics(q, v, tau))[1]
    assert np.allclose(a, expected, rtol=1e-11, atol=1e-11)
    with pytest.raises(fb.ModelError, match="quadratic drag cannot be mirrored"):
        robot.mirrored((0.6, 0.8, 0.0))
