"""How much is computed to choose among more candidates than a scene simulates."""

from __future__ import annotations

import itertools

import pytest

import fourbar as fb
from fourbar.contact import boxes
from fourbar.mechanism.geometry import Geometry


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_all_contacts_of_two_boxes_are_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    b = fb.Builder("boxes")
    names, shape = [f"box{k}" for k in range(4)], Geometry("box", (0.1, 0.1, 0.1), role="collision")
    for name in names:
        b.body(name, joint=fb.joints.Free(), mass=1.0, inertia=(0.1, 0.1, 0.1), geometry=[shape])
    calls = 0
    compute = boxes.BoxAndBox.touches

    def counting(*args: object) -> object:
        nonlocal calls
        calls += 1
        return compute(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(boxes.BoxAndBox, "touches", counting)
    pairs = list(itertools.combinations(names, 2))
    scene = fb.Scene(b.build(), fb.Plane(), pairs=pairs)
    assert 0 < calls <= len(pairs)
    assert sum(":" in name for name in scene.contacts) <= 40 and sum("nearest" in name for name in scene.contacts) == 24
