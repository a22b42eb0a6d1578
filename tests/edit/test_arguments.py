"""What is no robot, no list and no number is refused in words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import fourbar as fb

Call = Callable[[fb.System], Any]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda r: r.lock(3), r"joints=3: expected a list of names, such as \['hip'\]"),
        (lambda r: r.lock({"elbow": "x"}), "joint 'elbow' takes 1 finite coordinates, got 'x'"),
        (lambda r: r.lock({"elbow": None}), "joint 'elbow' takes 1 finite coordinates, got None"),
        (lambda r: r.attach("arm.urdf", "upper"), "expected another robot, such as fb.load.*got 'arm.urdf'"),
        (lambda r: r.merge(3), "expected another robot, such as fb.load.*got 3"),
        (lambda r: fb.load(None), "expected the name of a file, got None"),  # type: ignore[arg-type]
        (lambda r: fb.load(b"arm.urdf"), "expected the name of a file, got b'arm.urdf'"),  # type: ignore[arg-type]
        (lambda r: fb.loads(3), "loads takes the text of a model file, got 3"),  # type: ignore[arg-type]
        (lambda r: fb.loads("<robot/>", strict="no"), "strict='no': expected True or False"),  # type: ignore[arg-type]
    ],
)
def test_arguments_of_the_wrong_kind(call: Call, message: str) -> None:
    with pytest.raises((fb.ArgumentError, fb.ModelError), match=message):
        call(fb.robots.double_pendulum())
