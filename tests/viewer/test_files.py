"""Motions in files: what is saved is read again; pages are whole; what cannot be done is said."""

from __future__ import annotations

import json
import re
import shutil
import sys
from dataclasses import replace
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import fourbar as fb
from fourbar.cli.main import main
from fourbar.errors import extra
from fourbar.mechanism.geometry import Geometry
from fourbar.sim.motions.results import load_recording
from fourbar.viewer import drawing, rendering
from fourbar.viewer.export import page
from fourbar.viewer.gltf import glb
from fourbar.viewer.recorded_motion import draw, following, still, warn_of_missing

pytestmark = pytest.mark.drawn_in_line


@pytest.fixture(scope="module")
def run() -> fb.Run:
    robot = fb.robots.four_bar()
    return fb.simulate(robot, robot.assemble([0.8, 0.0, 0.0], keep=["link1_joint"]), [3.0], duration=0.2, dt=0.01)


@pytest.fixture(scope="module")
def landed() -> Any:
    b = fb.Builder("box")
    b.body("box", joint=fb.joints.Free(), mass=1.0, inertia=(0.01, 0.01, 0.01))
    corners = [fb.contact.Shape("box", position=(x, y, -0.1)) for x in (-0.1, 0.1) for y in (-0.1, 0.1)]
    scene = fb.Scene(b.build(), fb.Plane(friction=0.5), contacts=corners)
    return scene.simulate([0.0, 0.0, 0.1, 1.0, 0.0, 0.0, 0.0], duration=0.1, every=10)


def test_a_trajectory_is_read_again(run: fb.Run, tmp_path: Path) -> None:
    run.save(tmp_path / "run.npz")
    again = fb.Run.load(tmp_path / "run.npz")
    for name in ("t", "q", "v", "lost"):
        assert np.array_equal(getattr(again, name), getattr(run, name))
    assert again.robot == run.robot
    other = fb.robots.double_pendulum()
    with pytest.raises(fb.ArgumentError, match=r"run.npz.*\(\.\.\., 2\)"):
        fb.Run.load(tmp_path / "run.npz", robot=other)


@pytest.mark.parametrize("name", ["run.npz", "run.html", "run.glb"])
def test_a_folder_that_is_not_there_is_named(run: fb.Run, tmp_path: Path, name: str) -> None:
    with pytest.raises(fb.ArgumentError, match=f"{name}.*no folder .*missing"):
        run.save(tmp_path / "missing" / name)
    (tmp_path / name).mkdir()
    with pytest.raises(fb.ArgumentError, match=f"{name}.*cannot be written"):
        run.save(tmp_path / name)


def test_what_is_no_recording_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.npz").write_text("nothing", encoding="utf-8")
    np.savez(tmp_path / "b.npz", t=np.zeros(1), q=np.zeros((1, 3)))
    with pytest.raises(fb.ArgumentError, match=r"a\.npz is not a recording"):
        fb.Run.load(tmp_path / "a.npz")
    with pytest.raises(fb.ArgumentError, match="has no robot"):
        fb.Run.load(tmp_path / "b.npz")
    with pytest.raises(fb.ArgumentError, match="cannot be read"):
        fb.Run.load(tmp_path / "none.npz")


def test_a_robot_that_no_file_holds_is_given_at_loading(tmp_path: Path) -> None:
    slide = fb.joints.CustomJoint(lambda q: (np.eye(3), [q[0], 0.0, 0.0]), nq=1, name="slide")
    robot = fb.Builder("rail").body("cart", joint=slide, mass=1.0).build()
    run = fb.Run(np.zeros(2), np.tile(robot.neutral(), (2, 1)), np.zeros((2, robot.nv)), robot, np.zeros(2))
    with pytest.warns(fb.SimulationWarning, match="not the robot"):
        run.save(tmp_path / "run.npz")
    with pytest.raises(fb.ArgumentError, match="robot="):
        fb.Run.load(tmp_path / "run.npz")
    assert fb.Run.load(tmp_path / "run.npz", robot=robot).robot is robot


def test_rollouts_show_each_sample_as_a_world() -> None:
    robot = fb.robots.double_pendulum()
    runs = fb.rollout(robot, np.array([[0.1, 0.0], [0.5, 0.2], [1.0, 0.0]]), dt=0.01, steps=10)
    assert np.array_equal(runs.recording.q, runs.q) and runs.recording.worlds == 3
    spread = replace(runs.recording, spread=2.0).offsets()
    assert len(np.unique(spread, axis=0)) == 3 and not runs.recording.offsets().any()


def test_contacts_act_at_the_corners(landed: Any, tmp_path: Path) -> None:
    shown = landed.recording
    z = landed.q[:, 2]
    assert np.allclose(shown.points[:, 0, :, 2], (z - 0.1)[:, None], atol=1e-9)
    assert np.allclose(np.abs(shown.points[..., :2]), 0.1, atol=1e-6)
    assert shown.forces[-1, 0].sum(axis=0)[2] == pytest.approx(9.81, rel=1e-3)
    poses, length = shown.arrows(1.0)
    size = np.linalg.norm(shown.forces[-1, 0], axis=-1)
    assert np.allclose(length[-1, 0], 0.8 * size / 9.81)  # its weight is nearly as long as the box
    assert np.allclose(poses[-1, 0, :, :3, 2] * size[:, None], shown.forces[-1, 0])
    assert length.max() <= 1.6
    landed.save(tmp_path / "box.npz")
    again = load_recording(tmp_path / "box.npz")
    assert np.array_equal(again.q, shown.q) and np.array_equal(again.points, shown.points)
    assert np.array_equal(again.forces, shown.forces) and np.abs(again.ground[0].vertices[:, 2]).max() == 0.0
    loaded = fb.Run.load(tmp_path / "box.npz")
    assert np.array_equal(loaded.contacts.force, landed.contacts.force) and loaded.robot == landed.robot


def test_a_page_loads_nothing_from_elsewhere(run: fb.Run, tmp_path: Path) -> None:
    run.save(tmp_path / "run.html", ghosts=2)
    text = (tmp_path / "run.html").read_text(encoding="utf-8")
    script = re.sub(r'<script type="application/octet-stream".*?</script>', "", text, flags=re.DOTALL)
    assert not re.search(r"https?:|//[a-z]+\.|import\(|fetch\(|XMLHttpRequest|@import", script)
    assert set(re.findall(r'(?:src|href)="([^"]*)"', script)) == {"data:,"}
    assert len(text) < 400_000


def test_names_are_escaped_in_pages() -> None:
    robot = fb.robots.double_pendulum()
    assert "<script>alert" not in page(still(robot), title="<script>alert(1)</script>")


def test_options_of_files_are_checked(run: fb.Run, tmp_path: Path) -> None:
    for name, options, said in (
        ("run.avi", {}, "unknown ending"),
        ("run.html", {"size": (10, 10)}, "not an option"),
        ("run.npz", {"ghosts": 2}, "not an option"),
        ("run.glb", {"layers": "shapes"}, "layers"),
        ("run.glb", {"layers": 3}, "layers"),
        ("run.glb", {"rate": "fast"}, "rate"),
        ("run.glb", {"layers": ["skin"]}, "layers"),
        ("run.glb", {"ghosts": -1}, "ghosts"),
        ("run.glb", {"rate": 0.0}, "rate"),
        ("run.png", {"size": (1, 2, 3)}, "width and height"),
    ):
        with pytest.raises(fb.ArgumentError, match=said):
            run.save(tmp_path / name, **options)
    with pytest.raises(fb.ArgumentError, match="has no robot"):
        replace(run, robot=None).save(tmp_path / "run.html")


def test_a_gif_has_the_colour_of_forces_that_are_not_there_at_its_start(tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image")
    b = fb.Builder("ball")
    b.body("ball", joint=fb.joints.Free(), mass=1.0, inertia=(0.01, 0.01, 0.01))
    scene = fb.Scene(b.build(), fb.Plane(), contacts=[fb.contact.Shape("ball", "sphere", 0.1)])
    run = scene.simulate([0, 0, 0.2, 1, 0, 0, 0], duration=0.5, dt=0.01)
    run.save(tmp_path / "run.gif", size=(160, 100), rate=10.0)
    with image.open(tmp_path / "run.gif") as film:
        shown = []
        for k in (0, film.n_frames - 1):
            film.seek(k)
            shown.append(np.asarray(film.convert("RGB")).astype(int))
    orange = [int(((x[..., 0] > 180) & (x[..., 1] < 110) & (x[..., 2] < 80)).sum()) for x in shown]
    assert orange[0] == 0 and orange[1] > 20


def test_pictures_and_films(run: fb.Run, tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image")
    run.save(tmp_path / "run.png", size=(320, 200))
    with image.open(tmp_path / "run.png") as shot:
        assert shot.size == (320, 200)
        colours = np.asarray(shot.convert("RGB")).reshape(-1, 3)
    assert 200 < (np.ptp(colours.astype(int), axis=1) > 60).sum() < 20_000  # the coloured links, not everything
    run.save(tmp_path / "run.gif", size=(160, 100), rate=10.0)
    with image.open(tmp_path / "run.gif") as film:
        assert film.n_frames == 3


def test_a_film_says_how_far_it_is_on_a_terminal(capsys: pytest.CaptureFixture[str], monkeypatch: Any) -> None:
    made = [np.zeros((2, 2, 3), np.uint8)] * 3
    assert len([*rendering._with_progress(made, 3, "run.gif")]) == 3 and not capsys.readouterr().err
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    assert len([*rendering._with_progress(made, 3, "run.gif")]) == 3
    assert "run.gif: picture 2 of 3" in capsys.readouterr().err


def test_mp4_without_ffmpeg_is_refused_before_anything_is_drawn(
    run: fb.Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shutil.which", lambda name: None)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(fb.FourbarError, match="ffmpeg.*" + re.escape(extra("film"))):
        run.save(tmp_path / "run.mp4")


def test_the_command_writes_files(tmp_path: Path, capsys: pytest.CaptureFixture[str], run: fb.Run) -> None:
    run.save(tmp_path / "run.npz")
    assert main(["view", str(tmp_path / "run.npz"), "--output", str(tmp_path / "run.html")]) == 0
    assert "wrote" in capsys.readouterr().out and (tmp_path / "run.html").stat().st_size > 10_000
    assert main(["view", "double_pendulum", "--output", str(tmp_path / "arm.glb")]) == 0
    assert (tmp_path / "arm.glb").read_bytes()[:4] == b"glTF"
    assert main(["view", "double_pendulum", "--moved", "tello"]) == 2
    assert main(["view", "double_pendulum", "--output", str(tmp_path / "no" / "arm.glb")]) == 2
    assert "no folder" in capsys.readouterr().err


def test_the_command_follows_a_body(tmp_path: Path, capsys: pytest.CaptureFixture[str], run: fb.Run) -> None:
    """Also one without shapes; the page has the number of its node, and its name on the switch."""
    run.save(tmp_path / "run.npz")
    file, name = str(tmp_path / "run.npz"), run.robot.names.bodies[1]
    assert main(["view", file, "--output", str(tmp_path / "run.html"), "--follow", name]) == 0
    recording, on = following(run.recording, name)
    binary = glb(recording, follow=on)
    data = json.loads(binary[20 : 20 + int.from_bytes(binary[12:16], "little")])
    followed = data["extras"]["follow"]
    assert followed["on"] and followed["name"] == data["nodes"][followed["node"]]["name"] == name
    assert all(node.get("children") != [] for node in data["nodes"])
    run.save(tmp_path / "run.png", follow=name, size=(64, 64))
    assert main(["view", file, "--follow", "nobody", "--no-browser"]) == 2
    assert main(["view", "double_pendulum", "--follow", "upper", "--no-browser"]) == 2
    said = capsys.readouterr().err
    assert "no body to follow 'nobody'" in said and "--follow needs a motion" in said


def test_a_motion_shows_itself_in_a_notebook(run: fb.Run, landed: Any) -> None:
    for motion in (run, landed):
        text = motion._repr_html_()
        assert text.startswith("<iframe") and "<table>" in text and len(text) < 300_000
    bare = replace(run, robot=None)._repr_html_()
    assert bare.startswith("<table>")


def test_without_viser_the_command_that_installs_it_is_said(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "viser", None)
    with pytest.raises(ImportError, match="viser.*" + re.escape(extra("view"))):
        fb.view(fb.robots.double_pendulum(), browser=False)
    assert main(["view", "double_pendulum", "--no-browser"]) == 2
    assert extra("view") in capsys.readouterr().err


@pytest.mark.quick
def test_what_cannot_be_shown_is_refused(run: fb.Run) -> None:
    with pytest.raises(fb.ArgumentError, match="robot"):
        fb.view(3, browser=False)
    with pytest.raises(fb.ArgumentError, match="own configurations"):
        fb.view(run, [0.0], browser=False)
    with pytest.raises(fb.ArgumentError, match=r"shape \(2,\)"):
        fb.view(fb.robots.four_bar(), [0.0, 1.0], browser=False)


def test_a_missing_mesh_is_said_in_one_line() -> None:
    with pytest.warns(UserWarning, match=r"a\.stl.*1 more"):
        warn_of_missing(("mesh 'a.stl' was not found", "mesh 'b.stl' was not found"))


@pytest.mark.parametrize("name", ["arm.html", "arm.glb"])
def test_files_say_that_a_mesh_is_missing(name: str, tmp_path: Path) -> None:
    b = fb.Builder("arm")
    shape = Geometry("mesh", mesh="package://nowhere/arm.stl")
    b.body("arm", joint=fb.joints.Revolute("y"), mass=1.0, com=(0.0, 0.0, -0.2), geometry=[shape])
    robot = b.build()
    moved = fb.Run(np.arange(2.0), np.zeros((2, 1)), np.zeros((2, 1)), robot, np.zeros(2))
    with pytest.warns(UserWarning, match=r"arm\.stl.*boxes are drawn instead"):
        moved.save(tmp_path / name)


MESHED = """<robot name="arm"><link name="base"/><link name="rod"><inertial><mass value="1"/><origin xyz="0 0 -.2"/>
<inertia ixx=".1" iyy=".1" izz=".1" ixy="0" ixz="0" iyz="0"/></inertial>
<visual><geometry><mesh filename="{0}"/></geometry></visual></link>
<joint name="swing" type="continuous"><parent link="base"/><child link="rod"/><axis xyz="0 1 0"/></joint></robot>"""


@pytest.mark.parametrize("address", ["package://arm/meshes/rod.obj", "../meshes/rod.obj", "../meshes/gone.obj"])
def test_a_recording_finds_the_meshes_of_its_robot(address: str, tmp_path: Path) -> None:
    """Where they were when it was recorded, from any folder; what was missing then still is."""
    pytest.importorskip("trimesh")
    package = tmp_path / "share" / "arm"
    (package / "urdf").mkdir(parents=True)
    (package / "meshes").mkdir()
    (package / "package.xml").write_text("<package/>", encoding="utf-8")
    (package / "meshes" / "rod.obj").write_text("v 0 0 0\nv 0 0 -1\nv .1 0 0\nf 1 2 3\n", encoding="utf-8")
    (package / "urdf" / "arm.urdf").write_text(MESHED.format(address), encoding="utf-8")
    robot = fb.load(package / "urdf" / "arm.urdf", folders=[package])
    run = fb.Run(np.arange(2.0), np.zeros((2, 1)), np.zeros((2, 1)), robot, np.zeros(2))
    missing = "gone" in address
    run.save(tmp_path / "run.npz")
    drawing = load_recording(tmp_path / "run.npz").drawing()
    assert bool(drawing.notes) == missing
    again = fb.Run.load(tmp_path / "run.npz").robot
    assert again is not None and [x.file for b in again.mechanism.bodies for x in b.geometry] == [
        "" if missing else str(package / "meshes" / "rod.obj")
    ]


def test_mp4_by_the_ffmpeg_of_imageio(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Where no program is installed, that of the package imageio-ffmpeg writes the film."""
    program = shutil.which("ffmpeg")
    if program is None:
        pytest.skip("ffmpeg is not installed (Debian: apt-get install ffmpeg)")
    package: Any = ModuleType("imageio_ffmpeg")
    package.__spec__ = ModuleSpec("imageio_ffmpeg", None)
    package.get_ffmpeg_exe = lambda: program
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", package)
    monkeypatch.setattr("shutil.which", lambda name: None)
    robot = fb.robots.double_pendulum()
    run = fb.simulate(robot, [0.5, 0.0], duration=0.2, dt=0.01)
    run.save(tmp_path / "run.mp4", size=(64, 48), rate=10.0)
    assert (tmp_path / "run.mp4").read_bytes()[4:8] == b"ftyp"


def test_meshes_are_read_when_they_are_shown(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Those of collision shapes only when their layer is asked for."""
    pytest.importorskip("trimesh", reason="trimesh is not installed: the extra 'view'")
    corners = "vertex 0 0 0\nvertex 1 0 0\nvertex 0 1 0"
    for name in ("looks", "touches"):
        text = f"solid a\nfacet normal 0 0 1\nouter loop\n{corners}\nendloop\nendfacet\nendsolid a\n"
        (tmp_path / f"{name}.stl").write_text(text)
    shapes = "".join(
        f'<{kind}><geometry><mesh filename="{name}.stl"/></geometry></{kind}>'
        for kind, name in (("visual", "looks"), ("collision", "touches"))
    )
    (tmp_path / "plate.urdf").write_text(
        f'<robot name="plate"><link name="a"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" '
        f'ixz="0" iyz="0"/></inertial>{shapes}</link></robot>'
    )
    read: list[str] = []
    original = drawing.read_mesh
    monkeypatch.setattr(drawing, "read_mesh", lambda file: (read.append(Path(file).stem), original(file))[1])
    drawn = draw(fb.load(tmp_path / "plate.urdf"))
    assert read == ["looks"] and "collision" in drawn.layers
    assert drawn.complete().unread is None and read == ["looks", "touches"]
