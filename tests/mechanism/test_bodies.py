"""What a body may be: every wrong number is refused when it is given, by name and with what was expected."""

import math

import numpy as np
import pytest

import fourbar as fb
from fourbar import Builder, ModelError
from fourbar.joints import Fixed, Free, Prismatic, Revolute

SOLID = {"mass": 1.0, "inertia": (1.0, 1.0, 1.0)}
NOT_FINITE = pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf], ids=str)


def body(**given):
    """A builder with one body."""
    return Builder().body("rod", **{"joint": Revolute("y"), **SOLID, **given})


def only(builder):
    """The body and the connection of a builder with one body."""
    mechanism = builder.mechanism()
    return mechanism.bodies[0], mechanism.joints[0]


@pytest.mark.quick
@NOT_FINITE
@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("mass", lambda x: x),
        ("com", lambda x: (0.0, x, 0.0)),
        ("inertia", lambda x: (1.0, x, 1.0)),
        ("inertia", lambda x: np.diag([1.0, 1.0, x])),
        ("position", lambda x: (x, 0.0, 0.0)),
        ("rpy", lambda x: (0.0, 0.0, x)),
        ("rotation", lambda x: (1.0, 0.0, 0.0, x)),
        ("rotation", lambda x: np.diag([1.0, 1.0, x])),
        ("armature", lambda x: x),
        ("damping", lambda x: [x]),
        ("friction", lambda x: x),
    ],
)
def test_numbers_must_be_finite(name, make, bad):
    with pytest.raises(ModelError, match=f"body 'rod', {name}: all numbers must be finite"):
        body(**{name: make(bad)})


@pytest.mark.quick
@pytest.mark.parametrize("bad", ["heavy", None, [1.0], (1.0, 2.0), 1j, {}, np.zeros(1)], ids=repr)
def test_a_mass_is_a_number(bad):
    with pytest.raises(ModelError, match="body 'rod', mass: "):
        body(mass=bad)


@pytest.mark.parametrize(
    ("name", "bad"),
    [
        ("com", (0.0, 0.0)), ("com", 1.0), ("com", "abc"), ("com", None), ("com", [(0, 0, 0)]), ("com", (0, 0, 1j)),
        ("position", (0.0,) * 4), ("position", "x"), ("position", [[0, 0, 0]]), ("position", None),
        ("inertia", 1.0), ("inertia", (1.0,) * 4), ("inertia", np.eye(2)), ("inertia", "round"), ("inertia", np.eye(4)),
        ("rpy", (0.0, 0.0)), ("rpy", "abc"), ("rotation", (1.0, 0.0, 0.0)), ("rotation", np.eye(2)),
        ("armature", (1.0, 2.0)), ("damping", "thick"), ("friction", [[0.1]]),
    ],
)  # fmt: skip
def test_shapes_and_types(name, bad):
    with pytest.raises(ModelError, match=f"body 'rod', {name}: expected"):
        body(**{name: bad})


@pytest.mark.quick
def test_a_negative_mass_is_refused_always():
    for allowed in (False, True):
        with pytest.raises(ModelError, match=r"body 'rod': mass -1\.0 is negative"):
            body(mass=-1.0, allow_unphysical=allowed)


@pytest.mark.quick
def test_an_inertia_is_symmetric_always():
    skew = [[1.0, 0.1, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    for allowed in (False, True):
        with pytest.raises(ModelError, match=r"body 'rod', inertia: the inertia matrix .* is not symmetric"):
            body(inertia=skew, allow_unphysical=allowed)


UNPHYSICAL = {
    "negative principal moment": ({"inertia": (-0.1, 1.0, 1.0)}, r"negative principal moment -0\.1"),
    "negative by products": ({"inertia": (1.0, 2.0, 0.0, 1.0, 0.0, 1.0)}, "negative principal moment -1"),
    "triangle inequality": ({"inertia": (1.0, 1.0, 2.1)}, r"triangle inequality .*1 \+ 1 < 2\.1.*units"),
    "inertia without mass": ({"mass": 0.0}, "mass is zero, but the inertia"),
}


@pytest.mark.quick
@pytest.mark.parametrize("what", UNPHYSICAL)
def test_matter_has_certain_inertias(what):
    given, message = UNPHYSICAL[what]
    with pytest.raises(ModelError, match=f"body 'rod': .*{message}"):
        body(**given)
    assert only(body(**given, allow_unphysical=True))[0].name == "rod"


@pytest.mark.parametrize(
    "inertia",
    [(0.0, 0.0, 0.0), (1.0, 1.0, 0.0), (1.0, 1.0, 2.0), (1.0, 2.0, 3.0 + 1e-12), (1e-12, 1e-12, 1e-12)],
    ids=str,
)
def test_points_rods_and_plates_are_matter(inertia):
    assert np.allclose(np.diag(only(body(inertia=inertia))[0].inertia), inertia)


@pytest.mark.parametrize(
    "inertia",
    [(2.0, 0.1, 0.2, 3.0, 0.3, 4.0), [[2.0, 0.1, 0.2], [0.1, 3.0, 0.3], [0.2, 0.3, 4.0]]],
    ids=["six numbers", "matrix"],
)
def test_forms_of_an_inertia(inertia):
    found = np.array(only(body(inertia=inertia))[0].inertia)
    assert np.array_equal(found, [[2.0, 0.1, 0.2], [0.1, 3.0, 0.3], [0.2, 0.3, 4.0]])


def test_rounding_in_an_inertia_is_averaged():
    inertia = np.eye(3)
    inertia[0, 1] = 1e-12
    found = np.array(only(body(inertia=inertia))[0].inertia)
    assert np.array_equal(found, found.T)


@pytest.mark.parametrize("name", ["armature", "damping", "friction"])
def test_losses_are_not_negative(name):
    with pytest.raises(ModelError, match=rf"body 'rod', {name}: expected numbers ≥ 0, got -0\.1"):
        body(**{name: -0.1})
    with pytest.raises(ModelError, match=f"{name}: expected numbers ≥ 0"):
        body(joint=Free(), **{name: (0, 0, 0, 0, 0, -1e-9)})
    assert getattr(only(body(joint=Free(), **{name: 0.5}))[1], name) == (0.5,) * 6
    assert getattr(only(body(joint=Free(), **{name: range(6)}))[1], name) == (0.0, 1.0, 2.0, 3.0, 4.0, 5.0)


LIMITS = {
    "reversed": (1.0, -1.0), "NaN": (math.nan, 1.0), "one": (1.0,), "three": (1.0, 2.0, 3.0), "a number": 1.0,
    "words": ("low", "high"), "too many": ((0.0, 0.0), (1.0, 1.0)), "nothing": (None, None),
    "above all": (math.inf, math.inf), "below all": (-math.inf, -math.inf), "no numbers": object(),
}  # fmt: skip


@pytest.mark.quick
@pytest.mark.parametrize("what", LIMITS)
def test_wrong_limits(what):
    with pytest.raises(ModelError, match="body 'rod', limits: "):
        body(limits=LIMITS[what])


def test_limits():
    assert only(body())[1].lower == (-math.inf,)
    assert only(body(limits=(-1, 2)))[1].upper == (2.0,)
    assert only(body(limits=(-math.inf, 0.5)))[1].lower == (-math.inf,)
    assert only(body(limits=(0.5, 0.5)))[1].lower == (0.5,)
    free = only(body(joint=Free(), limits=([-1.0] * 7, 1.0)))[1]
    assert free.lower == (-1.0,) * 7
    assert free.upper == (1.0,) * 7


@pytest.mark.parametrize("bad", [Revolute, "revolute", 1, {"type": "hinge"}, [Revolute("z")]], ids=str)
def test_a_joint_is_a_joint(bad):
    with pytest.raises(ModelError, match=r"body 'rod': joint must be a joint such as Revolute\('z'\), got"):
        body(joint=bad)


@pytest.mark.quick
@pytest.mark.parametrize(
    ("axis", "message"),
    [
        ((0.0, 0.0, 0.0), "it is zero"),
        ((0.0, 0.0, 2.0), r"length 2, expected a unit vector; divide it by its length: \[0\.0, 0\.0, 1\.0\]"),
        ((0.0, 0.1, 1.0), "length 1.00498756"),
        ("w", "unknown axis 'w'"),
        ((0.0, 1.0), "three finite numbers"),
        ((0.0, 0.0, math.nan), "three finite numbers"),
        (None, "three finite numbers"),
    ],
    ids=str,
)
@pytest.mark.parametrize("joint", [Revolute, Prismatic])
def test_axes(joint, axis, message):
    with pytest.raises(ModelError, match=message):
        joint(axis)


def test_a_body_without_joint_is_fixed():
    assert only(body(joint=None))[1].joint == Fixed()


def test_a_refused_body_leaves_no_trace():
    """After the mistake is mended the same builder goes on."""
    b = Builder()
    for wrong in ({"position": (0, 0)}, {"mass": -1.0}, {"limits": (1, 0)}, {"armature": -1.0}, {"com": "x"}):
        with pytest.raises(ModelError):
            b.body("rod", joint=Revolute("y"), **{**SOLID, **wrong})
    b.body("rod", joint=Revolute("y"), **SOLID)
    assert b.build().nv == 1
    assert fb.Builder().body("rod", **SOLID).build().nv == 0
