"""The pages in a real browser: seen by their pixels, moved by their sliders, played, without an error.

Needs Chromium (Debian: `apt-get install chromium`), playwright and, for the served pages, viser.
"""

from __future__ import annotations

import io
import shutil
import subprocess
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fourbar as fb

pytestmark = pytest.mark.slow
_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "microsoft-edge")
FLAGS = (
    "--headless", "--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader",
    "--disable-background-networking", "--disable-component-update", "--no-first-run", "--hide-scrollbars",
)  # fmt: skip
_TIMEOUT = 180_000  # ms: software WebGL on a busy machine is slow
_SIZE = {"width": 800, "height": 500}
_SCENE = {"x": 0, "y": 160, "width": 470, "height": 340}  # of a served page: without its panel and its messages
_ORANGE = ((180, 255), (60, 160), (0, 110))  # red, green and blue of an arrow of a force
_NO_MESSAGES = "[class*=Notification] { display: none !important }"  # their bars are orange, their size that of a font
_SHARP = (
    "() => [...document.querySelectorAll('canvas')].some(c => c.width > 100 && getComputedStyle(c).opacity === '1')"
)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    command = next((path for name in _BROWSERS if (path := shutil.which(name))), None)
    if command is None:
        pytest.skip("no browser is installed (Debian: apt-get install chromium)")
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    pytest.importorskip("PIL.Image", reason="Pillow is not installed")
    with playwright.sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=command, args=list(FLAGS))
        yield started
        started.close()


class Watched:
    """A page, with all errors that it reports."""

    def __init__(self, browser: Any) -> None:
        self.page = browser.new_page(viewport=_SIZE)
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
def run() -> fb.Run:
    robot = fb.robots.four_bar()
    return fb.simulate(robot, robot.assemble([0.8, 0.0, 0.0], keep=["link1_joint"]), [3.0], duration=2.0, dt=0.01)


def test_an_exported_page_plays_from_a_file(browser: Any, run: fb.Run, tmp_path: Path) -> None:
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
        motion = fb.Run(np.array([0.0, 1.0]), np.array([[0.0, 0.0], q]), np.zeros((2, 2)), robot, np.zeros(2))
        motion.save(tmp_path / "arm.html")
        watched = Watched(browser)
        watched.page.goto((tmp_path / "arm.html").as_uri() + "#still=1")
        found = np.argwhere(np.ptp(watched.pixels(), axis=2) > 50)
        rows.append(found[:, 0].mean())
        watched.page.close()
    assert rows[1] < rows[0] - 40  # half a turn from hanging: upwards in the picture


def test_pictures_and_films_by_the_browser(browser: Any, run: fb.Run, tmp_path: Path) -> None:
    from PIL import Image

    run.save(tmp_path / "run.png", size=(400, 250), time=1.0)
    with Image.open(tmp_path / "run.png") as shot:
        assert shot.size == (400, 250) and coloured(np.asarray(shot.convert("RGB")).astype(int)) > 500
    run.save(tmp_path / "run.gif", size=(200, 120), rate=2.0)
    with Image.open(tmp_path / "run.gif") as film:
        assert film.size == (200, 120) and film.n_frames == 5


def test_a_film_in_mp4(browser: Any, run: fb.Run, tmp_path: Path) -> None:
    ffmpeg = shutil.which("ffmpeg")
    if ffmpeg is None:
        pytest.skip("ffmpeg is not installed (Debian: apt-get install ffmpeg)")
    run.save(tmp_path / "run.mp4", size=(401, 251), rate=2.0)  # of odd sizes the last row and column are left out
    command = [
        ffmpeg,
        "-loglevel",
        "error",
        "-i",
        str(tmp_path / "run.mp4"),
        "-f",
        "rawvideo",
        "-pix_fmt",
        "rgb24",
        "-",
    ]
    data = subprocess.run(command, capture_output=True, check=True).stdout
    frames = np.frombuffer(data, np.uint8).reshape(-1, 250, 400, 3).astype(int)
    assert len(frames) == 5 and all(coloured(x) > 100 for x in frames)
    assert all(changed(a, b) > 100 for a, b in pairwise(frames)), "it moves"


@pytest.fixture
def serve(browser: Any) -> Iterator[Callable[..., tuple[fb.View, Watched]]]:
    """Show something on any free port, and wait until the browser has drawn the page."""
    pytest.importorskip("viser", reason="viser is not installed: the extra 'view'")
    served: list[tuple[fb.View, Watched]] = []

    def show(*what: Any) -> tuple[fb.View, Watched]:
        shown, watched = fb.view(*what, browser=False, port=0), Watched(browser)
        served.append((shown, watched))
        watched.page.goto(shown.url + "?fixedDpr=1")
        watched.page.wait_for_function(_SHARP)
        watched.page.add_style_tag(content=_NO_MESSAGES)
        until(lambda: coloured(watched.pixels(_SCENE)) > 150, watched.page)
        return shown, watched

    yield show
    for shown, watched in served:
        watched.page.close()
        shown.stop()


def settled(watched: Watched) -> np.ndarray:
    """What is seen when nothing changes any more."""
    seen = [watched.pixels(_SCENE)]

    def quiet() -> bool:
        seen.append(watched.pixels(_SCENE))
        return changed(seen[-1], seen[-2]) == 0

    until(quiet, watched.page)
    return seen[-1]


def orange(pixels: np.ndarray) -> int:
    """How many pixels have the colour of forces."""
    return int(np.all([(low <= pixels[..., k]) & (pixels[..., k] <= high) for k, (low, high) in enumerate(_ORANGE)],
                      axis=0).sum())  # fmt: skip


def test_a_robot_is_seen_and_a_slider_moves_it_with_its_loop(serve: Any) -> None:
    robot = fb.robots.four_bar()
    start = robot.assemble([0.8, 0.0, 0.0], keep=["link1_joint"])
    shown, watched = serve(robot, start)
    before = settled(watched)
    slider = watched.page.get_by_role("slider").first
    slider.focus()
    for _ in range(40):
        slider.press("ArrowRight")
    until(lambda: abs(shown.q[0] - start[0]) > 0.1, watched.page)
    assert float(robot.loop_gap(shown.q)) < 1e-9
    until(lambda: changed(watched.pixels(_SCENE), before) > 500, watched.page)
    assert watched.errors == []


def test_the_view_is_reset_by_its_button(serve: Any) -> None:
    """After the camera was turned by the mouse, the picture is again what it was."""
    _, watched = serve(fb.robots.four_bar())
    page, before = watched.page, settled(watched)
    page.mouse.move(200.0, 300.0)
    page.mouse.down()
    for k in range(1, 9):
        page.mouse.move(200.0 + 15.0 * k, 300.0 - 5.0 * k)
        page.wait_for_timeout(50)
    page.mouse.up()
    until(lambda: changed(watched.pixels(_SCENE), before) > 300, page)
    settled(watched)
    page.get_by_role("button", name="reset view").click()
    until(lambda: changed(watched.pixels(_SCENE), before) < 60, page)
    assert watched.errors == []


def test_a_motion_plays_with_forces(serve: Any) -> None:
    b = fb.Builder("ball")
    b.body("ball", joint=fb.joints.Free(), mass=1.0, inertia=(0.004, 0.004, 0.004), com=(0.0, 0.0, 0.05))
    scene = fb.Scene(b.build(), fb.Plane(), contacts=[fb.contact.Shape("ball", "sphere", 0.1)])
    run = scene.simulate([0.0, 0.0, 0.5, 1.0, 0.0, 0.0, 0.0], duration=1.0, every=10)
    shown, watched = serve(run)
    first, player = watched.pixels(_SCENE), shown.control
    until(lambda: changed(watched.pixels(_SCENE), first) > 50, watched.page)  # it plays by itself
    player.playing.value = False
    player.seek(0.0)
    high = settled(watched)
    player.seek(1.0)
    until(lambda: changed(watched.pixels(_SCENE), high) > 50, watched.page)
    low = settled(watched)
    assert orange(high) < 20 < orange(low) - 20, "a force is drawn where the ball lies, none while it falls"
    assert watched.errors == []


def test_ghosts_are_seen_when_their_slider_is_moved(serve: Any, run: fb.Run) -> None:
    shown, watched = serve(run)
    shown.control.playing.value = False
    shown.control.seek(1.0)
    alone = settled(watched)
    slider = watched.page.get_by_role("slider").nth(1)  # after the time line
    slider.focus()
    for _ in range(4):
        slider.press("ArrowRight")
    until(lambda: changed(watched.pixels(_SCENE), alone) > 500, watched.page)
    pale = (np.ptp(settled(watched), axis=2) > 15).sum() - (np.ptp(alone, axis=2) > 15).sum()
    assert pale > 1000, "more pixels have a colour, though a pale one"
    assert watched.errors == []


def test_a_frame_is_dragged_with_the_mouse(serve: Any) -> None:
    """Its loops follow, and the legs keep their limits."""
    robot = fb.robots.stewart_platform()
    start = robot.neutral()
    shown, watched = serve(robot, start)
    before, page = settled(watched), watched.page
    page.locator("input[value='(none)']").first.click()
    page.get_by_role("option", name="top", exact=True).click()
    until(lambda: changed(watched.pixels(_SCENE), before) > 300, page)
    new = settled(watched)
    blue = (new[..., 2] > 200) & (new[..., 0] < 90) & (new[..., 1] < 180) & (np.abs(new - before).max(axis=2) > 40)
    rows, columns = np.nonzero(blue)  # an arrow, a square and an arc of the handle, each of which moves it
    x, y = float(columns[len(columns) // 2] + _SCENE["x"]), float(rows[len(rows) // 2] + _SCENE["y"])
    page.mouse.move(x, y)
    page.wait_for_timeout(500)
    page.mouse.down()
    for k in range(1, 6):
        page.mouse.move(x + 5.0 * k, y - 5.0 * k)
        page.wait_for_timeout(100)
    page.mouse.up()
    until(lambda: np.abs(shown.q - start).max() > 0.02, page)
    until(lambda: changed(watched.pixels(_SCENE), new) > 300, page)
    assert (shown.q >= robot.limits.lower).all() and (shown.q <= robot.limits.upper).all()
    assert float(robot.loop_gap(shown.q)) < 1e-9 and watched.errors == []
