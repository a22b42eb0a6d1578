"""The page of the documentation whose slider moves a linkage: its numbers are fourbar's, in Node and in a browser."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import fourbar as fb
from fourbar.robots.linkages import LENGTHS

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "wasm"
NODE = shutil.which("node")
BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
CODE = re.compile(r'^const code = ".*";$', re.MULTILINE)
STATE = (8.0, -12.5)  # speed and acceleration of the crank


def page() -> str:
    """The page as it was written."""
    return (FOLDER / "four_bar.html").read_text(encoding="utf-8")


def at_angle(angle: float) -> np.ndarray:
    """The configuration with the crank at an angle."""
    robot = fb.robots.crank_rocker()
    q, steps = robot.neutral(), 50
    for rate in [(angle - q[0]) / steps] * steps:
        q = robot.integrate(q, [rate], 1.0)
    return q


def test_the_page_is_what_the_script_writes(tmp_path: Path) -> None:
    """Apart from the last digits of constants, which may depend on the machine."""
    target = tmp_path / "page.html"
    subprocess.run([sys.executable, str(FOLDER / "make_page.py"), str(target)], check=True, timeout=120)
    found, expected = (re.sub(r"const START = .*", "", CODE.sub("", x)) for x in (target.read_text("utf-8"), page()))
    assert found == expected, "docs/wasm/four_bar.html is not up to date: run python docs/wasm/make_page.py"
    assert "http" not in page()  # nothing is fetched


@pytest.mark.skipif(NODE is None, reason="Node, which runs JavaScript, is not installed")
def test_torques_and_places(tmp_path: Path) -> None:
    robot = fb.robots.crank_rocker()
    (script,) = re.findall(r'<script type="module">(.*?)</script>', page(), re.DOTALL)
    angles = [0.2, 2.0, 4.5, 6.2]
    asked = f"""
        const robot = await load();
        let q = Float64Array.from(START);
        const found = {json.dumps(angles)}.map((angle) => {{
          q = movedTo(robot, q, angle);
          return {{ torques: torques(robot, q, {STATE[0]}, {STATE[1]}), points: points(robot, q) }};
        }});
        console.log(JSON.stringify({{ found, turn: turn(robot, q, {STATE[0]}, {STATE[1]}, 9) }}));
    """
    (tmp_path / "page.mjs").write_text(script + asked, encoding="utf-8")
    run = subprocess.run([str(NODE), "page.mjs"], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert run.returncode == 0, run.stderr
    told = json.loads(run.stdout)
    for angle, found in zip(angles, told["found"], strict=True):
        q = at_angle(angle)
        parts = [robot.inverse_dynamics(q, [v], [a])[0] for v, a in ((0.0, 0.0), (STATE[0], 0.0), STATE)]
        expected = {"weight": parts[0], "motion": parts[1] - parts[0], "gain": parts[2] - parts[1], "total": parts[2]}
        assert found["torques"] == pytest.approx(expected, rel=1e-10, abs=1e-10)
        places = found["points"]
        np.testing.assert_allclose(places["pen"], robot.pose(q, "pen")[:2, 3], atol=1e-12)
        ends = [places[x] for x in ("ground", "elbow", "pin", "support", "ground")]
        lengths = np.linalg.norm(np.diff(ends, axis=0), axis=1)
        np.testing.assert_allclose(lengths, np.array(LENGTHS)[[1, 2, 3, 0]], atol=1e-12)
    for angle, torque in told["turn"]:
        assert torque == pytest.approx(robot.inverse_dynamics(at_angle(angle), *([x] for x in STATE))[0], abs=1e-10)


@pytest.mark.slow
@pytest.mark.skipif(BROWSER is None, reason="no Chromium is installed")
def test_a_slider_is_moved_in_a_browser(tmp_path: Path) -> None:
    """What the page shows then, and where it draws the crank."""
    moves = {"angle": 135.0, "speed": STATE[0], "acceleration": STATE[1]}
    script = """
        <script>setTimeout(() => {
          for (const [id, value] of Object.entries(MOVES)) {
            const slider = document.getElementById(id);
            slider.value = value;
            slider.dispatchEvent(new Event("input"));
          }
        }, 1000);</script>
    """
    target = tmp_path / "moved.html"
    target.write_text(page().replace("</body>", script.replace("MOVES", json.dumps(moves)) + "</body>"), "utf-8")
    command = [str(BROWSER), "--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=5000", "--dump-dom"]
    run = subprocess.run([*command, target.as_uri()], capture_output=True, text=True, timeout=120)
    robot, q = fb.robots.crank_rocker(), at_angle(np.radians(135.0))
    torque = robot.inverse_dynamics(q, *([x] for x in STATE))[0]
    (shown,) = re.findall(r'<td id="total">(.*?)</td>', run.stdout)
    assert shown == f"{torque:.3f} N m"
    (bar,) = re.findall(r'stroke="var\(--crank\)" points="(\S+) (\S+)"', run.stdout)
    (x0, y0), (x1, y1) = (map(float, point.split(",")) for point in bar)
    assert np.degrees(np.arctan2(y0 - y1, x1 - x0)) == pytest.approx(135.0, abs=0.1)
