"""Colours of bodies and clusters: the same in pages, pictures and graphs. Red, green, blue from 0 to 1."""

from __future__ import annotations

import colorsys

Shade = tuple[float, float, float]
# Colours that people who confuse red and green can distinguish too; the last is a grey.
PALETTE: tuple[Shade, ...] = tuple(
    (r / 255, g / 255, b / 255)
    for r, g, b in ((52, 106, 178), (224, 130, 42), (62, 148, 92), (160, 90, 164), (198, 78, 82), (70, 150, 160),
                    (150, 120, 70), (110, 110, 120))
)  # fmt: skip
_GOLDEN = 0.381966  # of the circle of hues, from one colour to the next where the palette ends


def cluster_colour(k: int) -> Shade:
    """The colour of the k-th cluster that loops tie."""
    if k < len(PALETTE) - 1:
        return PALETTE[k]
    return colorsys.hsv_to_rgb((0.1 + _GOLDEN * k) % 1.0, 0.55, 0.75)


def hexadecimal(colour: Shade, white: float = 0.0) -> str:
    """The colour as #rrggbb, mixed with a part of white."""
    return "#" + "".join(f"{round(255.0 * (x + white * (1.0 - x))):02x}" for x in colour)
