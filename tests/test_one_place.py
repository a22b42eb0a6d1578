"""Each concept has one place: what is added touches one file and one line, and sweeps are written once."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fourbar as fb
from fourbar.constraints import serialize as loops_plain
from fourbar.io import formats
from fourbar.joints import Prismatic, Revolute, registry
from fourbar.joints.base import RotationRows
from fourbar.joints.mirror import Mirror
from fourbar.joints.mirror_image import ONE, Mirrored
from fourbar.joints.serialize import number, text
from fourbar.loops import Loop
from fourbar.spatial.linear import Mat, Scalar, Vec

SOURCE = Path(fb.__file__).parent


def naming(word: str) -> set[str]:
    """The source files in which a word occurs, but for robots and their equals among the groups."""
    files = (p for p in SOURCE.rglob("*.py") if not {"robots", "groups"} & set(p.relative_to(SOURCE).parts))
    found = (p for p in files if re.search(rf"\b{word}\b", p.read_text(encoding="utf-8")))
    return {p.relative_to(SOURCE).as_posix() for p in found}


def test_files_that_a_joint_type_is_named_in() -> None:
    """Its own, the registry and the public names; besides, formats and bridges that have a word for it."""
    needed = {"joints/__init__.py", "joints/registry.py"}
    assert naming("Schoenflies") == {*needed, "joints/lie.py"}
    words = naming("Helical") - {*needed, "joints/one_axis.py", "other_words.py"}
    assert {path.split("/")[0] for path in words} == {"io", "bridges"} and len(words) <= 8


@dataclass(frozen=True)
class Slider(Prismatic):
    """A joint of this test alone: a slide that is not called so."""

    def mirrored(self, mirror: Mirror) -> Mirrored:
        return Mirrored(Slider(mirror.axis(self.axis, axial=False)), ONE, ONE)

    def closing_rows(self, R: Mat, p: Vec, rows: RotationRows) -> list[Scalar]:
        return [p[0], p[1], *rows.none(R)]


@dataclass(frozen=True)
class Leadscrew(Loop):
    """A loop of this test alone."""

    spindle: str
    nut: str
    lead: float

    @property
    def joints(self) -> tuple[str, ...]:
        return (self.spindle, self.nut)

    @property
    def driven_joints(self) -> tuple[str, ...]:
        return (self.nut,)

    def residual(self, view: Any) -> tuple[Scalar, ...]:
        return (view.q(self.nut)[0] - self.lead * view.q(self.spindle)[0],)


def read_lines(source: Any, options: Any) -> Any:
    """A body on a slider for each line."""
    b = fb.Builder("lines")
    for name in source.text.split():
        b.body(name, joint=Slider("y"), mass=1.0)
    return b.mechanism(), options.reading(source).close()


@pytest.fixture
def registered() -> Iterator[None]:
    """One line for a joint, a loop and a format each; taken back afterwards."""
    registry.register(Slider, Slider("y"))
    loops_plain.register(Leadscrew, {"spindle": text, "nut": text, "lead": number})
    formats.register(formats.Format("lines", (".lines",), reader=read_lines))
    yield
    del registry.TYPES["Slider"], loops_plain.TYPES["Leadscrew"], formats.FORMATS["lines"]


def _again(robot: fb.System) -> fb.System:
    return fb.loads(formats.FORMATS["json"].write(robot.mechanism, "robot")[0], format="json")


@pytest.mark.usefixtures("registered")
def test_one_line_registers() -> None:
    """Files hold the joint and the loop, and the format is read; nothing else had to be touched."""
    b = fb.Builder("press")
    b.body("spindle", joint=Revolute("z"), mass=1.0, inertia=(0.01, 0.01, 0.02))
    b.body("nut", joint=Slider("z"), mass=5.0)
    b.loop(Leadscrew("spindle", "nut", 0.01))
    press = b.build()
    again = _again(press)
    assert (
        again.mechanism.joints[1].joint == Slider("z")
        and again.mechanism.loops[0].loop == press.mechanism.loops[0].loop
    )
    q, v, tau = np.ones((3, 1))
    assert np.array_equal(again.forward_dynamics(q, v, tau), press.forward_dynamics(q, v, tau))
    assert press.mechanism.joints[1].joint.mirrored(Mirror("x")).joint == Slider("z")
    assert fb.loads("a b", name="two.lines").nv == 2


@pytest.mark.usefixtures("registered")
def test_names_are_given_once() -> None:
    other = type("Slider", (Prismatic,), {})
    with pytest.raises(fb.ModelError, match=r"'Slider'.*already"):
        registry.register(other)
    with pytest.raises(fb.ModelError, match="examples of Slider"):
        registry.register(Slider, Prismatic("y"))
    with pytest.raises(fb.ModelError, match="derives from Joint"):
        registry.register(Leadscrew)  # type: ignore[arg-type]


def test_algorithms_do_not_ask_what_a_cluster_is() -> None:
    """A link alone is a cluster of one: only `articulated.node` tells them apart, by their map."""
    asked = re.compile(r"\bisinstance\(|\bis_free\b|\be is (not )?None\b")
    found = [
        f"{path.name}: {line.strip()}"
        for path in sorted((SOURCE / "algorithms").rglob("*.py"))
        for line in path.read_text(encoding="utf-8").splitlines()
        if asked.search(line)
    ]
    assert found == []
    identity = [p.name for p in (SOURCE / "algorithms").rglob("*.py") if "is_identity" in p.read_text(encoding="utf-8")]
    assert identity == ["articulated.py"]


def test_traversals_are_in_one_file() -> None:
    """Loops over the links or clusters of a tree from parent to child, or back, are those of sweep.py."""
    over = r"enumerate\(.*parents\)|zip\(.*\bparents\b|reversed\(range\(len\((self\.)?(s\.tree\.parents|clusters|ks)\)"
    loop = re.compile(rf"for .* in .*({over})")
    found = {
        path.name
        for path in (SOURCE / "algorithms").rglob("*.py")
        for line in path.read_text(encoding="utf-8").splitlines()
        if loop.search(line)
    }
    assert found - {"branch_solver.py"} == {"sweep.py"}  # that one is about branches of a sparse matrix
