"""Poses and axes as URDF writes them."""

from __future__ import annotations

import math
from typing import Any

from ..element import Element

Three = tuple[float, ...]
_ZERO = (0.0, 0.0, 0.0)
_SHORT = 1e-6  # an axis shorter than this has no direction
_ROUNDED = 2e-3  # error of the length of an axis written with three digits


def read_origin(element: Element, tag: str = "origin") -> dict[str, Any]:
    """<origin xyz rpy> inside an element, as arguments of `Builder`: position and rpy, or rotation (w, x, y, z)."""
    origin = element.child(tag)
    if origin is None:
        return {}
    placed: dict[str, Any] = {"position": origin.numbers("xyz", 3, _ZERO)}
    quaternion = origin.get("quat_xyzw")
    if quaternion is not None:
        if origin.get("rpy") is not None:
            origin.fail("both rpy and quat_xyzw are given", "keep one of them")
        x, y, z, w = origin.numbers("quat_xyzw", 4)
        length = math.sqrt(w * w + x * x + y * y + z * z)
        if abs(length - 1.0) > _ROUNDED:
            origin.fail(f"quat_xyzw has length {length:.6g}", "a unit quaternion is expected")
        placed["rotation"] = (w / length, x / length, y / length, z / length)
    else:
        rpy = origin.numbers("rpy", 3, _ZERO)
        if any(rpy):
            placed["rpy"] = rpy
    return placed


def read_origin_numbers(origin: Element) -> Three:
    """xyz and rpy of an origin."""
    return (*origin.numbers("xyz", 3, _ZERO), *origin.numbers("rpy", 3, _ZERO))


def read_axis(element: Element, tag: str = "axis") -> Three:
    """<axis xyz> inside an element, of unit length; x by default."""
    axis = element.child(tag)
    if axis is None:
        return (1.0, 0.0, 0.0)
    xyz = axis.numbers("xyz", 3)
    length = math.sqrt(sum(x * x for x in xyz))
    if length < _SHORT:
        axis.fail(f"the axis {' '.join(map(repr, xyz))} has no direction", "give a vector of length 1")
    unit = tuple(x / length for x in xyz)
    if abs(length - 1.0) > _ROUNDED:
        shown = " ".join(f"{x:.9g}" for x in unit)
        axis.reading.warn(
            axis.place, f"the axis has length {length:.6g}; it is normalised to {shown}", "write that", axis.key
        )
    return unit
