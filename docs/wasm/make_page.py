"""Writes four_bar.html, a page whose slider moves a linkage that is computed in the browser:

    python docs/wasm/make_page.py [file]

`page.html` is the page without the robot; the robot's functions go into it as WebAssembly, so that it is one file.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import fourbar as fb
from fourbar.robots.linkages import LENGTHS
from fourbar.targets.exported_functions import read
from fourbar.targets.wasm import Module, loader

HERE = Path(__file__).resolve().parent
PLACE = "/* the robot */"


def page() -> str:
    """The page with the robot in it."""
    robot = fb.robots.crank_rocker()
    functions = [
        robot.integrate, robot.poses, robot.pose.specialise(frame="pen"), robot.inverse_dynamics, robot.kinetic_energy,
        robot.potential_energy,
    ]  # fmt: skip
    exported = read("make_page", functions, "")
    script = loader(exported, Module(exported).to_bytes())
    constants = (
        f"const START = {json.dumps(robot.neutral().tolist())}; // a configuration in which the loop is closed\n"
    )
    constants += f"const COUPLER = {LENGTHS[2]!r};\n"
    return (HERE / "page.html").read_text(encoding="utf-8").replace(PLACE, script + constants)


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else HERE / "four_bar.html"
    target.write_text(page(), encoding="utf-8")
    print(f"{target}: {target.stat().st_size} bytes")
