"""Files of what is shown: pages, glTF, pictures and films, by the ending of their names. A page is one file without a
server, for browsers, mail and notebooks."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Iterable
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from ..arrays import to_count
from ..errors import ArgumentError, FourbarError
from .drawing import LAYERS
from .gltf import glb
from .recorded_motion import RecordedMotion, apart, colour_recording, following, warn_of_missing
from .rendering import film, picture

_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<link rel="icon" href="data:,">
<title>{title}</title><style>
html, body {{ margin: 0; height: 100%; overflow: hidden; background: #f4f5f8; color: #333 }}
html {{ font: 13px/1.5 system-ui, sans-serif }}
#scene {{ width: 100%; height: 100%; display: block; touch-action: none; cursor: grab }}
#head {{ position: absolute; left: 12px; top: 10px; pointer-events: none }}
#head b {{ font-size: 15px }} #notes {{ color: #a33 }}
#side {{ position: absolute; right: 12px; top: 10px; text-align: left; padding: 6px 10px; border-radius: 6px;
  background: rgba(255, 255, 255, 0.6) }} #side label {{ display: block }} #reset {{ margin: 4px 0; width: 100% }}
#legend {{ position: absolute; left: 12px; bottom: 44px; pointer-events: none; text-shadow: 0 0 3px #fff }}
#legend i {{ display: inline-block; width: 10px; height: 10px; border-radius: 3px; margin-right: 6px }}
#bar {{ position: absolute; left: 12px; right: 12px; bottom: 10px; display: flex; gap: 10px; align-items: center }}
#time {{ flex: 1 }} #clock {{ min-width: 4.5em; text-align: right }} #play {{ width: 2.6em }}
.still #side, .still #bar, .still #head, .still #legend {{ display: none !important }}
</style></head><body><canvas id="scene"></canvas>
<div id="head"><b>{title}</b><br><span id="notes"></span></div><div id="side"><div id="layers"></div>
<label><input type="checkbox" id="follow"> <span id="followed"></span></label>
<button id="reset">reset view</button></div>
<div id="legend"></div>
<div id="bar"><button id="play"></button><input id="time" type="range" min="0" max="1" step="any" value="0">
<span id="clock"></span><select id="speed" title="speed"><option value="0.1">0.1 ×</option>
<option value="0.25">0.25 ×</option><option value="0.5">0.5 ×</option><option value="1" selected>1 ×</option>
<option value="2">2 ×</option><option value="5">5 ×</option></select></div>
<script type="application/octet-stream" id="glb">{glb}</script><script>
{script}</script></body></html>
"""


@cache
def _script() -> str:
    return Path(__file__).with_name("page.js").read_text(encoding="utf-8")


def page(recording: RecordedMotion, title: str = "", **options: Any) -> str:
    """A page that shows a recording; options as of `glb`. It loads nothing from elsewhere."""
    wanted: dict[str, Any] = {"layers": LAYERS} | options
    data = glb(recording, **wanted)
    return _PAGE.format(title=escape(title or recording.robot.name), glb=b64encode(data).decode(), script=_script())


def frame_page(recording: RecordedMotion, height: int = 360, **options: Any) -> str:
    """The page inside a frame, as notebooks show it."""
    inner = escape(page(recording, **options), quote=True)
    style = f"width: 100%; height: {height}px; border: 1px solid #ddd; border-radius: 4px"
    return f'<iframe srcdoc="{inner}" style="{style}" sandbox="allow-scripts"></iframe>'


_NOTEBOOK_FACES = 12_000  # triangles of a robot in a notebook, which keeps what it shows
_NOTEBOOK_RATE = 30.0


def notebook(recording: Callable[[], RecordedMotion], table: str) -> str:
    """A robot or a motion in a notebook: its drawing, then its table; only the table if it has no shapes."""
    try:
        shown = frame_page(recording(), rate=_NOTEBOOK_RATE, layers=("shapes", "ground"), most=_NOTEBOOK_FACES)
    except FourbarError:  # no robot, no states, loops that are open
        return table
    return f"{shown}<details><summary>numbers</summary>{table}</details>"


ENDINGS = {".html": "a page", ".glb": "glTF", ".png": "a picture", ".gif": "a film", ".mp4": "a film"}
_DRAWN = ("ghosts", "layers", "spread", "colour")
_OPTIONS = {
    ".html": (*_DRAWN, "rate", "follow", "title"), ".glb": (*_DRAWN, "rate"),
    ".png": (*_DRAWN, "follow", "size", "time"), ".gif": (*_DRAWN, "rate", "follow", "size"),
    ".mp4": (*_DRAWN, "rate", "follow", "size"),
}  # fmt: skip


def write(recording: RecordedMotion, path: Path, **options: Any) -> None:
    """Write a recording to a file."""
    ending = path.suffix.lower()
    if ending not in ENDINGS:
        raise ArgumentError(f"save: {path.name!r} has an unknown ending; expected .npz, {', '.join(ENDINGS)}")
    _check(ending, options)
    recording = apart(recording, options.pop("spread", recording.spread))
    recording = colour_recording(recording, options.pop("colour", recording.colour))
    if "follow" in options:
        recording, options["follow"] = following(recording, options["follow"])
    warn_of_missing(recording.drawing().notes)
    if ending == ".html":
        path.write_text(page(recording, **options), encoding="utf-8")
    elif ending == ".glb":
        path.write_bytes(glb(recording, **options))
    elif ending == ".png":
        picture(recording, path, **options)
    else:
        film(recording, path, **options)


def _check(ending: str, options: dict[str, Any]) -> None:
    for name in options:
        if name not in _OPTIONS[ending]:
            raise ArgumentError(
                f"save: {name!r} is not an option of {ending} files; there are {', '.join(_OPTIONS[ending])}"
            )
    layers = options.get("layers")
    listed = isinstance(layers, Iterable) and not isinstance(layers, str)
    if layers is not None and not (listed and set(layers) <= set(LAYERS)):
        raise ArgumentError(f"layers={layers!r}: expected a list of some of {', '.join(LAYERS)}")
    ghosts, rate = options.get("ghosts", 0), options.get("rate", 1.0)
    if to_count(ghosts, 0) is None:
        raise ArgumentError(f"ghosts={ghosts!r}: expected a whole number, not negative")
    if not isinstance(rate, int | float | np.number) or not rate > 0.0:
        raise ArgumentError(f"rate={rate!r}: expected states per second, positive")
