"""Files of what is shown: pages, glTF, pictures and films, by the ending of their names."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from ..arrays import to_count
from ..errors import ArgumentError
from .drawing import LAYERS
from .gltf import glb
from .pictures import film, picture
from .recorded_motion import RecordedMotion, apart, colour_recording, following, warn_of_missing
from .standalone_page import page

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
