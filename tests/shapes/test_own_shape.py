"""A shape of one's own: it works everywhere, or is refused by the name of what it lacks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pytest

import fourbar as fb
from fourbar.errors import ModelError
from fourbar.expr import select, sqrt
from fourbar.io.formats import FORMATS
from fourbar.mechanism.geometry import Geometry
from fourbar.shapes import ShapeType, register
from fourbar.shapes.base import BallFeature, FileWords, MassMoments, RimFeature, Triangles
from fourbar.shapes.registry import EXAMPLES, TYPES
from fourbar.shapes.solids import turn_profile
from fourbar.spatial.linear import Vec, dot
from fourbar.viewer.recorded_motion import draw


@dataclass(frozen=True)
class BareCone(ShapeType):
    """A cone of which nothing is known but its sizes."""

    radius: float
    length: float

    kind = "cone"
    sizes = ("radius", "length")


@dataclass(frozen=True)
class Cone(BareCone):
    """A cone along z, its base at the origin."""

    words = (FileWords("cone", (("radius", 1), ("length", 1))),)

    def support(self, n: Vec) -> Vec:
        across = dot(n[:2], n[:2])
        level = across < 1e-60
        out = sqrt(select(level, 1.0, across))
        rim = Vec((n[0] * (self.radius / out), n[1] * (self.radius / out), 0.0))
        at_tip = n[2] * self.length > self.radius * select(level, 0.0, out)
        return Vec([select(at_tip, a, b) for a, b in zip((0.0, 0.0, self.length), rim, strict=True)])

    def on_terrain(self) -> tuple[BallFeature | RimFeature, ...]:
        return (BallFeature((0.0, 0.0, self.length)), RimFeature((0.0, 0.0, 0.0), (0.0, 0.0, 1.0), self.radius))

    def moments(self) -> MassMoments:
        r, h = self.radius, self.length
        m = np.pi * r * r * h / 3
        across, along = 3 / 20 * m * r * r, m * h * h / 10
        return MassMoments(m, np.array([0.0, 0.0, m * h / 4]), np.diag([across, across, along]))

    def triangles(self, sides: int = 24) -> Triangles:
        return turn_profile((self.radius, 1e-9), (0.0, self.length), sides)


@dataclass(frozen=True)
class Other(BareCone):
    """Another shape of that name."""


@pytest.fixture
def cones(request: pytest.FixtureRequest) -> Iterator[type[ShapeType]]:
    """A kind of cone, registered for one test."""
    kind = request.param
    register(kind, kind(0.1, 0.2))
    try:
        yield kind
    finally:
        del TYPES["cone"], EXAMPLES["cone"]


BARE = pytest.mark.parametrize("cones", [BareCone], indirect=True)
WHOLE = pytest.mark.parametrize("cones", [Cone], indirect=True)


def _toy() -> fb.System:
    b = fb.Builder("toy")
    cone = Geometry("cone", (0.1, 0.2), role="collision", name="tip")
    b.body("cone", joint=fb.joints.Free(), mass=1.0, inertia=(0.01, 0.01, 0.01), geometry=[cone])
    return b.build()


def _with_ball() -> fb.System:
    b = fb.Builder("toy")
    cone = Geometry("cone", (0.1, 0.2), role="collision", name="tip")
    ball = Geometry("sphere", (0.1,), role="collision", name="ball")
    for shape in (cone, ball):
        b.body(shape.name, joint=fb.joints.Free(), mass=1.0, inertia=(0.01, 0.01, 0.01), geometry=[shape])
    return b.build()


@BARE
def test_what_lacks_a_part_is_refused_by_name(cones: type[ShapeType]) -> None:
    robot = _toy()
    uses = {
        "moments": lambda: robot.with_mass_from_geometry(1000.0),
        "on_terrain": lambda: fb.Scene(robot, fb.Plane()),
        "distance": lambda: fb.contact.Solid("cone", (0.1, 0.2)),
    }
    uses["support"] = lambda: fb.Scene(_with_ball(), pairs=[("tip", "ball")], grounded=[])
    for part, use in uses.items():
        with pytest.raises(ModelError, match=rf"cone has no .*Cone lacks `{part}`"):
            use()
    assert any("cone has no surface" in note for note in draw(robot).complete().notes)
    for form, words in (("urdf", "a cone is left out"), ("sdf", "a cone is left out"), ("mjcf", "no word for")):
        _, report = FORMATS[form].write(robot.mechanism, f"toy.{form}")
        assert words in str(report), form


@BARE
def test_sizes_are_checked_and_kept_in_files(cones: type[ShapeType]) -> None:
    with pytest.raises(ModelError, match="a cone takes radius, length"):
        Geometry("cone", (0.1,))
    with pytest.raises(ModelError, match="registered already"):
        register(Other)
    text, _ = FORMATS["json"].write(_toy().mechanism, "toy.json")
    again = fb.loads(text, format="json")
    assert again.mechanism.bodies[0].geometry == _toy().mechanism.bodies[0].geometry


@WHOLE
def test_a_whole_cone_is_as_good_as_any(cones: type[ShapeType]) -> None:
    robot = _toy()
    filled = robot.with_mass_from_geometry(1000.0).mechanism.bodies[0]
    assert np.isclose(filled.mass, 1000.0 * np.pi * 0.1**2 * 0.2 / 3) and np.isclose(filled.com[2], 0.05)
    assert np.isclose(filled.inertia[2][2], 0.3 * filled.mass * 0.1**2)
    drawing = draw(robot).complete()
    assert not drawing.notes and any(x.layer == "collision" for x in drawing.items)
    for form in ("urdf", "sdf"):
        text, _ = FORMATS[form].write(robot.mechanism, f"toy.{form}")
        (shape,) = fb.loads(text, format=form).mechanism.bodies[-1].geometry
        assert (shape.kind, shape.size) == ("cone", (0.1, 0.2))
    run = fb.Scene(robot, fb.Plane()).simulate([0, 0, 0, 1, 0, 0, 0], duration=0.1, every=50)
    assert len(run.contacts.names) == 4 and np.abs(run.q[-1, :3]).max() < 1e-9  # its tip and three points of the rim
    assert np.allclose(run.contacts.force[-1].sum(axis=0), [0, 0, 9.81], atol=1e-6)
    scene = fb.Scene(_with_ball(), pairs=[("tip", "ball")])
    between = scene.contact_points([0, 0, 0, 1, 0, 0, 0, 0, 0, 0.35, 1, 0, 0, 0])
    assert np.allclose(between, [[0, 0, 0.225]])  # between the tip and the ball above it
