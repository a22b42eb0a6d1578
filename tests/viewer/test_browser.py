"""The pages in a real browser: seen by their pixels, moved by their sliders, played, without an error.

Needs Chromium (Debian: `apt-get install chromium`), playwright and, for the served pages, viser.
"""

from __future__ import annotations

import io
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fourbar as fb
from fourbar.viewer.pictures import FLAGS, find_browser

pytestmark = pytest.mark.slow
_TIMEOUT = 180_000  # ms: software WebGL on a busy machine is slow
_PORT = 8642
_SHARP = (
    "() => [...document.querySelectorAll('canvas')].some(c => c.width > 100 && getComputedStyle(c).opacity === '1')"
)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    command = find_browser()
    if command is None:
        pytest.skip("no browser is installed (Debian: apt-get install chromium)")
    playwright = pytest.importorskip("playwright.sync_api")
    pytest.importorskip("PIL.Image")
    with playwright.sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=command, args=list(FLAGS))
        yield started
        started.close()


class Watched:
    """A page, with all errors that it reports."""

    def __init__(self, browser: Any, size: tuple[int, int] = (640, 400)) -> None:
        self.page = browser.new_page(viewport={"width": size[0], "height": size[1]})
        self.page.set_default_timeout(_TIMEOUT)
        self.errors: list[str] = []
        self.asked: list[str] = []
        self.page.on("console", lambda m: self.errors.append(m.text) if m.type == "error" else None)
        self.page.on("pageerror", lambda e: self.errors.append(str(e)))
        self.page.on("request", lambda r: self.asked.append(r.url))

    def pixels(self, clip: dict[str, int] | None = None) -> np.ndarray:
        """What is seen, (high, wide, 3)."""
        from PIL import Image

        shot = self.page.screenshot(timeout=_TIMEOUT, **({"clip": clip} if clip else {}))
        return np.asarray(Image.open(io.BytesIO(shot)).convert("RGB")).astype(int)


def coloured(pixels: np.ndarray) -> int:
    """How many pixels have a colour: the sticks of a robot, not the floor."""
    return int((np.ptp(pixels, axis=2) > 50).sum())


def changed(a: np.ndarray, b: np.ndarray) -> int:
    """How many pixels differ clearly."""
    return int((np.abs(a - b).max(axis=2) > 40).sum())


def until(done: Callable[[], bool], page: Any, seconds: float = 120.0) -> None:
    """Wait for something, while the page goes on."""
    for _ in range(int(seconds / 0.25)):
        if done():
            return
        page.wait_for_timeout(250)
    raise AssertionError("it did not happen in time")


@pytest.fixture(scope="module")
def run() -> fb.Trajectory:
    robot = fb.robots.four_bar()
    return fb.simulate(robot, robot.assemble([0.8, 0.0, 0.0], keep=["link1_joint"]), [3.0], duration=2.0, dt=0.01)


def test_an_exported_page_plays_from_a_file(browser: Any, run: fb.Trajectory, tmp_path: Path) -> None:
    run.save(tmp_path / "run.html", ghosts=2)
    watched = Watched(browser)
    watched.page.goto((tmp_path / "run.html").as_uri())
    first = watched.pixels()
    assert coloured(first) > 1500
    until(lambda: changed(watched.pixels(), first) > 500, watched.page)  # it plays by itself
    watched.page.evaluate("fourbar.play(false)")
    watched.page.evaluate("fourbar.set(0)")
    still = watched.pixels()
    watched.page.locator("#time").evaluate("e => { e.value = 1.0; e.dispatchEvent(new Event('input')); }")
    assert changed(watched.pixels(), still) > 500
    before = watched.pixels()
    watched.page.locator("#layer-frames").check()
    assert changed(watched.pixels(), before) > 50
    assert watched.errors == []
    assert all(url.startswith(("file:", "data:")) for url in watched.asked)
    watched.page.close()


def test_where_the_page_draws_is_where_the_robot_is(browser: Any, tmp_path: Path) -> None:
    """The picture of a lying arm and of the same arm upright: seen in other rows."""
    robot = fb.robots.double_pendulum()
    rows = []
    for q in ([0.0, 0.0], [np.pi, 0.0]):
        motion = fb.Trajectory(np.array([0.0, 1.0]), np.array([[0.0, 0.0], q]), np.zeros((2, 2)), np.zeros(2), robot)
        motion.save(tmp_path / "arm.html")
        watched = Watched(browser)
        watched.page.goto((tmp_path / "arm.html").as_uri() + "#still=1")
        found = np.argwhere(np.ptp(watched.pixels(), axis=2) > 50)
        rows.append(found[:, 0].mean())
        watched.page.close()
    assert rows[1] < rows[0] - 40  # half a turn from hanging: upwards in the picture


def test_pictures_and_films_by_the_browser(browser: Any, run: fb.Trajectory, tmp_path: Path) -> None:
    from PIL import Image

    run.save(tmp_path / "run.png", size=(400, 250), time=1.0)
    with Image.open(tmp_path / "run.png") as shot:
        assert shot.size == (400, 250) and coloured(np.asarray(shot.convert("RGB")).astype(int)) > 500
    run.save(tmp_path / "run.gif", size=(200, 120), rate=2.0)
    with Image.open(tmp_path / "run.gif") as film:
        assert film.size == (200, 120) and film.n_frames == 5


def opened(browser: Any, shown: fb.View) -> Watched:
    """A served page, when it is drawn."""
    watched = Watched(browser)
    watched.page.goto(shown.url + "?fixedDpr=1")
    watched.page.wait_for_function(_SHARP)
    left = {"x": 0, "y": 100, "width": 330, "height": 300}
    until(lambda: coloured(watched.pixels(left)) > 150, watched.page)
    return watched


def test_a_robot_is_seen_and_a_slider_moves_it_with_its_loop(browser: Any) -> None:
    pytest.importorskip("viser")
    robot = fb.robots.four_bar()
    start = robot.assemble([0.8, 0.0, 0.0], keep=["link1_joint"])
    shown = fb.view(robot, start, browser=False, port=_PORT)
    try:
        assert shown.window.server.get_host() == "127.0.0.1"
        watched = opened(browser, shown)
        left = {"x": 0, "y": 100, "width": 330, "height": 300}
        before = watched.pixels(left)
        slider = watched.page.get_by_role("slider").first
        slider.focus()
        for _ in range(40):
            slider.press("ArrowRight")
        until(lambda: abs(shown.q[0] - start[0]) > 0.1, watched.page)
        assert float(robot.loop_gap(shown.q)) < 1e-9
        until(lambda: changed(watched.pixels(left), before) > 100, watched.page)
        assert watched.errors == []
        watched.page.close()
    finally:
        shown.stop()


def test_a_motion_plays_with_forces(browser: Any) -> None:
    pytest.importorskip("viser")
    b = fb.Builder("ball")
    b.body("ball", joint=fb.joints.Free(), mass=1.0, inertia=(0.004, 0.004, 0.004), com=(0.0, 0.0, 0.05))
    scene = fb.Scene(b.build(), fb.Plane(), contacts=[fb.contact.Shape("ball", "sphere", 0.1)])
    run = scene.simulate([0.0, 0.0, 0.5, 1.0, 0.0, 0.0, 0.0], duration=1.0, every=10)
    shown = fb.view(run, browser=False, port=_PORT)
    try:
        watched = Watched(browser)
        watched.page.goto(shown.url + "?fixedDpr=1")
        watched.page.wait_for_function(_SHARP)
        before, player = shown.control.t, shown.control
        until(lambda: player.t != before, watched.page)
        player.playing.value = False
        player.seek(0.0)
        watched.page.wait_for_timeout(3000)
        left = {"x": 0, "y": 100, "width": 330, "height": 300}
        high = watched.pixels(left)
        player.seek(1.0)
        until(lambda: changed(watched.pixels(left), high) > 50, watched.page)
        assert watched.errors == []
        watched.page.close()
    finally:
        shown.stop()


def test_only_this_machine_is_served_and_no_file_of_it(tmp_path: Path) -> None:
    pytest.importorskip("viser")
    shown = fb.view(fb.robots.double_pendulum(), browser=False, port=_PORT)
    try:
        for path in ("/etc/passwd", "/../../../../etc/passwd", "/%2e%2e/%2e%2e/%2e%2e/%2e%2e/etc/passwd"):
            try:
                with urllib.request.urlopen(shown.url + path, timeout=20) as answer:
                    assert b"root:" not in answer.read()
            except urllib.error.HTTPError as error:
                assert error.code in (403, 404)
        assert shown.window.server.get_host() == "127.0.0.1"
    finally:
        shown.stop()


def test_the_command_serves_until_it_is_interrupted() -> None:
    pytest.importorskip("viser")
    command = [sys.executable, "-m", "fourbar", "view", "double_pendulum", "--no-browser", "--port", str(_PORT)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        line = next(x for x in process.stdout if "Ctrl-C" in x)
        url = line.split(" at ")[1].split(";")[0]
        with urllib.request.urlopen(url, timeout=60) as answer:
            assert b"<html" in answer.read()
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=60) == 0


def test_worlds_ghosts_and_layers() -> None:
    """All that can be switched, moved and chosen, by what the server does for the page."""
    pytest.importorskip("viser")
    robot = fb.robots.double_pendulum()
    runs = fb.rollout(robot, np.array([[0.3, 0.0], [1.0, 0.5], [2.0, 0.0]]), dt=0.01, steps=50)
    shown = fb.view(runs, browser=False, port=_PORT, spread=1.0)
    try:
        player: Any = shown.control
        player.playing.value = False
        assert all(len(g.handle.batched_positions) % 3 == 0 for g in shown.window.groups)
        player._show_ghosts(4)
        assert len(player._ghosts) == sum(g.layer == "shapes" for g in shown.window.groups)
        for layer in shown.window.drawing.layers:
            shown.window.show(layer, True)
        player.seek(0.25)
        places = runs.recording.places(shown.window.drawing, slice(25, 26))  # rollouts begin after a step
        group = next(g for g in shown.window.groups if g.items[0].name == "lower/stick")
        wanted = places[0, :, group.items[0].place, :3, 3] + player.recording.offsets()
        assert np.abs(np.array(group.handle.batched_positions) - wanted).max() < 1e-6
        with pytest.raises(fb.ArgumentError, match="motion"):
            _ = shown.q
    finally:
        shown.stop()


def test_a_drag_moves_the_robot() -> None:
    pytest.importorskip("viser")
    robot = fb.robots.five_bar()
    shown = fb.view(robot, browser=False, port=_PORT)
    try:
        posing: Any = shown.control
        posing._take(robot.names.frames[0])
        start = np.array(posing._control.position)
        way = np.array([0.03, -0.02, 0.0])
        posing._control.position = start + way
        posing._dragged()
        found = robot.pose(shown.q, robot.names.frames[0])[:3, 3]
        assert np.linalg.norm(found - start - way) < 5e-3
        assert float(robot.loop_gap(shown.q)) < 1e-6
        values = [float(slider.value) for slider in posing._sliders]
        assert np.allclose(values, posing.posture.values(shown.q))
        shown.q = robot.neutral()
        assert np.allclose(shown.q, robot.neutral())
    finally:
        shown.stop()
