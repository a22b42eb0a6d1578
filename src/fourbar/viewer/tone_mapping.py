"""Colours for a page whose renderer maps light by the ACES film curve, which darkens and saturates them."""

from __future__ import annotations

import numpy as np

from .mesh_files import Colour, linear

# The fit of the curve by S. Hill that three.js uses: linear light to its own primaries, a curve, and back.
_IN = np.array([[0.59719, 0.35458, 0.04823], [0.076, 0.90834, 0.01566], [0.0284, 0.13383, 0.83777]]) / 0.6
_OUT = np.array([[1.60475, -0.53108, -0.07367], [-0.10208, 1.10813, -0.00605], [-0.00327, -0.07276, 1.07602]])
_LIT, _WANTED = 0.7, 0.85  # light on a surface in the sun: there, and with the lights of the pages


def aces(light: np.ndarray) -> np.ndarray:
    """What the screen shows of light (3), both linear."""
    v = _IN @ light
    return _OUT @ ((v * (v + 0.0245786) - 0.000090537) / (v * (0.983729 * v + 0.432951) + 0.238081))


def paint(colour: Colour) -> tuple[int, ...]:
    """The colour (3 bytes, linear) with which a surface looks there as one of a given colour does on the pages."""
    w = np.clip(np.linalg.solve(_OUT, _WANTED * np.array([linear(x) for x in colour[:3]])), 0.0, 0.97)
    a, b, c = 1.0 - 0.983729 * w, 0.0245786 - 0.432951 * w, -0.000090537 - 0.238081 * w
    light = np.linalg.solve(_IN, (np.sqrt(b * b - 4.0 * a * c) - b) / (2.0 * a)) / _LIT
    return tuple(np.round(255.0 * light.clip(0.0, 1.0)).astype(int).tolist())
