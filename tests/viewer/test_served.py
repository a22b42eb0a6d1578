"""Served pages without a browser: what is served, what sliders, layers and handles do. Needs viser."""

from __future__ import annotations

import http.client
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fourbar as fb
from fourbar.cli.main import main
from fourbar.errors import ArgumentError
from fourbar.viewer.mesh_files import linear
from fourbar.viewer.served_page import aces, paint

pytest.importorskip("viser", reason="viser is not installed: the extra 'view'")


@pytest.fixture
def serve() -> Iterator[Callable[..., fb.View]]:
    """`fb.view` without a browser, on any free port, until the test ends."""
    served: list[fb.View] = []

    def show(*what: Any, **options: Any) -> fb.View:
        served.append(fb.view(*what, browser=False, port=0, **options))
        return served[-1]

    yield show
    for shown in served:
        shown.stop()


def _answer(shown: fb.View, path: str) -> tuple[int, bytes]:
    """What the server answers to a path that no client tidied before."""
    connection = http.client.HTTPConnection("127.0.0.1", shown.window.server.get_port(), timeout=20)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def test_only_this_machine_is_served_and_no_file_of_it(serve: Callable[..., fb.View], tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("nobody may read this", encoding="utf-8")
    shown = serve(fb.robots.double_pendulum())
    assert shown.window.server.get_host() == "127.0.0.1"
    status, body = _answer(shown, "/")
    assert status == 200 and b"<html" in body
    up = "../" * 30
    plain = [str(secret), f"//{secret}", f"/{up}{secret}", f"/assets/{up}{secret}", f"/..\\..\\{secret}"]
    hidden = [f"/{up}{secret}".replace("..", "%2e%2e"), f"/{up}{secret}".replace("/", "%2f"), f"/%00{secret}"]
    for path in (*plain, *hidden):
        status, body = _answer(shown, path)
        assert b"nobody may read this" not in body, path


def test_the_command_serves_until_it_is_interrupted() -> None:
    command = [sys.executable, "-m", "fourbar", "view", "double_pendulum", "--no-browser", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        line = next(process.stdout)
        assert line.startswith("double_pendulum at http://localhost:") and line.endswith("; Ctrl-C ends\n")
        url = line.split(" at ")[1].split(";")[0]
        with urllib.request.urlopen(url, timeout=60) as answer:
            assert b"<html" in answer.read()
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=60) == 0


def test_the_command_may_be_interrupted_before_it_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(page: fb.View) -> None:
        raise KeyboardInterrupt

    stopped = []
    stop = fb.View.stop
    monkeypatch.setattr(fb.View, "wait", interrupted)
    monkeypatch.setattr(fb.View, "stop", lambda page: (stop(page), stopped.append(page.url)))
    assert main(["view", "double_pendulum", "--no-browser", "--port", "0"]) == 0
    assert len(stopped) == 1


def test_worlds_ghosts_and_layers(serve: Callable[..., fb.View]) -> None:
    """All that can be switched, moved and chosen, by what the server does for the page."""
    robot = fb.robots.double_pendulum()
    runs = fb.rollout(robot, np.array([[0.3, 0.0], [1.0, 0.5], [2.0, 0.0]]), dt=0.01, steps=50)
    shown = serve(runs, spread=1.0)
    player: Any = shown.control
    player.playing.value = False
    assert all(len(g.handle.batched_positions) % 3 == 0 for g in shown.window.groups)
    player._show_ghosts(4)
    assert len(player._ghosts) == sum(g.layer == "shapes" for g in shown.window.groups)
    for layer in shown.window.drawing.layers:
        shown.window.show(layer, True)
    player.seek(0.25)
    places = runs.recording.places(shown.window.drawing, slice(25, 26))
    group = next(g for g in shown.window.groups if g.items[0].name == "lower/stick")
    wanted = places[0, :, group.items[0].place, :3, 3] + player.recording.offsets()
    assert np.abs(np.array(group.handle.batched_positions) - wanted).max() < 1e-6
    with pytest.raises(fb.ArgumentError, match="motion"):
        _ = shown.q


def test_worlds_may_stand_far_apart(serve: Callable[..., fb.View]) -> None:
    robot = fb.robots.double_pendulum()
    shown = serve(fb.rollout(robot, np.zeros((2, 2)), dt=0.01, steps=2), spread=100.0)
    assert np.ptp(np.array(shown.window.groups[0].handle.batched_positions), axis=0).max() > 99.0


def test_a_seek_moves_the_time_line(serve: Callable[..., fb.View]) -> None:
    robot = fb.robots.double_pendulum()
    shown = serve(fb.simulate(robot, [0.3, 0.0], duration=1.0, dt=0.01))
    player: Any = shown.control
    player.playing.value = False
    player.seek(0.5)
    assert abs(float(player._line.value) - 0.5) < 1e-9


def test_a_motion_that_is_stopped_stays_where_it_is_put(serve: Callable[..., fb.View]) -> None:
    """Also where the player is about to show its next state."""
    robot = fb.robots.double_pendulum()
    player: Any = serve(fb.simulate(robot, [0.3, 0.0], duration=1.0, dt=0.01)).control
    with player._lock:
        time.sleep(0.2)  # until the player waits for its turn
        player.playing.value = False
        player.seek(0.0)
    time.sleep(0.2)
    assert player.t == 0.0


@pytest.mark.parametrize(
    ("q", "options", "words"),
    [
        ([np.nan, 0.0], {}, "q is NaN"),
        (None, {"host": "192.0.2.1"}, "host='192.0.2.1' cannot be served"),
        (None, {"host": "no such host"}, "host='no such host' cannot be served"),
        (None, {"spread": -1.0}, "spread=-1.0"),
        (None, {"spread": "wide"}, "spread='wide'"),
    ],
)
def test_what_cannot_be_shown_is_refused(
    serve: Callable[..., fb.View], q: Any, options: dict[str, Any], words: str
) -> None:
    with pytest.raises(fb.ArgumentError, match=words):
        serve(fb.robots.double_pendulum(), q, **options)


def test_a_scene_is_shown_on_its_ground(serve: Callable[..., fb.View]) -> None:
    b = fb.Builder("ball")
    b.body("ball", joint=fb.joints.Free(), mass=1.0, inertia=(0.004, 0.004, 0.004))
    scene = fb.Scene(b.build(), fb.Plane(point=(0.0, 0.0, 0.3)), contacts=[fb.contact.Shape("ball", "sphere", 0.1)])
    assert np.allclose(serve(scene).q, scene.start()) and abs(scene.start()[2] - 0.4) < 1e-9
    assert np.allclose(serve(scene, [0.0, 0.0, 2.0, 1.0, 0.0, 0.0, 0.0]).q[2], 2.0)


def test_a_stretched_arm_can_be_dragged_out_of_its_singular_position(serve: Callable[..., fb.View]) -> None:
    """Upright, its hinges about z and y: sideways no joint moves the tool, at first."""
    b = fb.Builder("arm")
    matter = {"mass": 1.0, "inertia": (0.1, 0.1, 0.1)}
    b.body("turn", joint=fb.joints.Revolute("z"), **matter)
    b.body("upper", parent="turn", joint=fb.joints.Revolute("y"), **matter)
    b.body("lower", parent="upper", joint=fb.joints.Revolute("y"), position=(0, 0, 0.5), **matter)
    robot = b.frame("tool", "lower", position=(0, 0, 0.5)).build()
    shown = serve(robot)
    posing: Any = shown.control
    posing._take("tool")
    posing._control.position = np.array([0.0, 0.3, 0.8])
    posing._drag()
    assert np.linalg.norm(robot.pose(shown.q, "tool")[:3, 3] - [0.0, 0.3, 0.8]) < 0.02
    posing._control.position = np.array([0.0, 0.0, 3.0])  # too far: as near as it can
    posing._drag()
    assert np.linalg.norm(robot.pose(shown.q, "tool")[:3, 3] - [0.0, 0.0, 1.0]) < 0.05


def test_a_drag_brings_a_looped_robot_to_the_handle(serve: Callable[..., fb.View]) -> None:
    robot = fb.robots.five_bar()
    shown = serve(robot)
    posing: Any = shown.control
    posing._take(robot.names.frames[0])
    start = np.array(posing._control.position)
    way = np.array([0.03, -0.02, 0.0])
    posing._control.position = start + way
    posing._drag()
    found = robot.pose(shown.q, robot.names.frames[0])[:3, 3]
    assert np.linalg.norm(found - start - way) < 1e-4
    assert float(robot.loop_gap(shown.q)) < 1e-9
    values = [float(slider.value) for slider in posing._sliders]
    assert np.allclose(values, posing.posture.values(shown.q))
    shown.q = robot.neutral()
    assert np.allclose(shown.q, robot.neutral())


def test_a_robot_without_random_configurations_stays_and_says_so(
    serve: Callable[..., fb.View], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of some files no sample closes the loops within the limits: the button must not fail where nobody sees it."""
    robot = fb.robots.four_bar()
    shown = serve(robot)
    before = shown.q
    shown.control.randomize()
    after = shown.q
    assert not np.array_equal(after, before)

    def none(*_: Any, **__: Any) -> Any:
        raise fb.AssemblyError("no closed configuration within the limits")

    monkeypatch.setattr(type(robot), "random", none)
    shown.control.randomize()
    assert np.array_equal(shown.q, after) and "no closed configuration" in shown.control._said.content


def thrown(distance: float) -> fb.Run:
    """A ball that is thrown over a floor, so many metres far."""
    b = fb.Builder("ball").body("ball", joint=fb.joints.Free(), mass=1.0, inertia=(0.004, 0.004, 0.004))
    scene = fb.Scene(b.build(), fb.Plane(), contacts=[fb.contact.Shape("ball", "sphere", 0.1)])
    v = np.array([0.0, 0.0, 0.0, distance / 0.5, 0.0, 0.0])
    return scene.simulate([0.0, 0.0, 0.3, 1.0, 0.0, 0.0, 0.0], v, duration=0.5, every=10)


def test_the_camera_follows_the_base(serve: Callable[..., fb.View]) -> None:
    """The scene moves back by as much as the base moves; by itself only where the motion goes far."""
    for far, follow, follows in ((1.0, True, True), (1.0, None, False), (1.0, False, False), (20.0, None, True)):
        run = thrown(far)
        shown = serve(run, follow=follow)
        shown.control.playing.value = False
        shown.control.seek(0.5)
        assert np.allclose(-np.array(shown.window._root.position), (run.q[-1] - run.q[0])[:3] * follows)
        if follows:
            shown.control.follow(False)
            assert np.abs(shown.window._root.position).max() == 0.0
    with pytest.raises(ArgumentError, match="follow=3: expected the name of a body, True, False or None"):
        serve(thrown(1.0), follow=3)
    with pytest.raises(fb.UnknownNameError, match="no body to follow 'base'"):
        serve(thrown(1.0), follow="base")


def test_the_camera_follows_a_body(serve: Callable[..., fb.View]) -> None:
    """Any body by name, also one of a robot that is fixed to the ground."""
    robot = fb.robots.double_pendulum()
    run = fb.simulate(robot, [1.0, 0.5], duration=0.5, dt=1e-2)
    assert serve(run).control.recording.base is None
    name = robot.names.bodies[-1]
    shown = serve(run, follow=name)
    shown.control.playing.value = False
    shown.control.seek(0.5)
    moved = robot.poses(run.q[-1])[-1, :3, 3] - robot.poses(run.q[0])[-1, :3, 3]
    assert np.abs(moved).max() > 0.1 and np.allclose(-np.array(shown.window._root.position), moved)


def test_a_legend_is_shown_with_its_layers(serve: Callable[..., fb.View]) -> None:
    window = serve(thrown(1.0)).window
    assert window._legend is not None
    text = window._legend[0]
    assert "contact force" in text.content and "axis" not in text.content
    window.show("forces", False)
    window.show("axes", True)
    assert "contact force" not in text.content
    assert serve(fb.robots.four_bar(), colour="clusters").window._legend[0].content.count("link1") == 1


def test_planes_are_floors_with_a_grid(serve: Callable[..., fb.View]) -> None:
    """In the plane, with lines through the origin; hidden with their layer."""
    window = serve(thrown(1.0)).window
    (floor,) = window._floors
    assert abs(floor.position[2]) < 1e-6 and floor.plane_opacity == 1.0
    assert np.allclose(np.mod(np.array(floor.position[:2]) / floor.section_size + 0.5, 1.0), 0.5, atol=1e-4)
    window.show("ground", False)
    assert not floor.visible
    assert not serve(fb.robots.four_bar()).window._floors


def test_colours_are_those_of_the_pages() -> None:
    """The renderer's curve of light undone: a surface in the sun is as bright as on a page."""
    for colour in ((0.2, 0.42, 0.7, 1.0), (0.88, 0.51, 0.16, 1.0), (0.4, 0.4, 0.45, 1.0)):
        shown = aces(0.85 * np.array(paint(colour)) / 255.0)
        assert np.allclose(shown, [0.9 * linear(x) for x in colour[:3]], atol=0.01)


def test_only_the_ground_receives_shadows(serve: Callable[..., fb.View]) -> None:
    """A surface with two sides would cast shadows on itself: robots looked grey on all sides."""
    robot = fb.robots.double_pendulum()
    hill = fb.contact.Solid("box", (0.2, 0.2, 0.2), position=(1.0, 0.0, -2.9))
    window = serve(fb.Scene(robot, fb.Plane(point=(0.0, 0.0, -3.0)), hill)).window
    receives = {group.layer: group.handle.receive_shadow for group in window.groups}
    assert receives["ground"] and not receives["shapes"]
