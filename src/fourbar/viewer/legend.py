"""The legend of colours and arrows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from . import overlays
from .drawing import Drawing
from .mesh_files import Colour
from .recorded_motion import RecordedMotion


class Entry(NamedTuple):
    """A line of a legend: the layer with which it is shown, a colour and its meaning."""

    layer: str
    colour: Colour
    text: str


def legend(recording: RecordedMotion, drawing: Drawing) -> list[Entry]:
    """The lines of a legend, for the layers that there are."""
    entries = [Entry(layer, colour, text) for layer, colour, text in overlays.MEANINGS if layer in drawing.layers]
    entries += [Entry("shapes", colour, text) for text, colour in recording.colours_used()]
    if recording.forces.size and np.nanmax(np.abs(recording.forces), initial=0.0) > 0.0:
        entries.append(Entry("forces", recording.force_colour, f"contact force, {_scale(recording, drawing.size)}"))
    return entries


def _scale(recording: RecordedMotion, size: float) -> str:
    """How long arrows are: a force in round numbers, and the length of its arrow."""
    length = recording.force_length(size)
    wanted = 0.25 * size / length
    power = 10.0 ** np.floor(np.log10(wanted))
    force = float(max(k * power for k in (1.0, 2.0, 5.0) if k * power <= wanted))
    return f"{force:g} N: {_metres(force * length)} long"


def _metres(x: float) -> str:
    return f"{x:.2g} m" if x >= 1.0 else f"{100.0 * x:.2g} cm" if x >= 0.01 else f"{1000.0 * x:.2g} mm"
