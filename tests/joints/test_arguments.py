"""Bad arguments are refused when a joint is made, with words that say what to do."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from fourbar.expr import Graph
from fourbar.joints import (
    Composite,
    CustomJoint,
    Helical,
    Planar,
    Revolute,
    Spherical,
    SphericalEuler,
    Translation3,
    Universal,
)
from fourbar.joints.axis import rotation_from_z, unit_axis
from fourbar.spatial.linear import Mat, Vec
from fourbar.spatial.transform import Transform

EYE = np.eye(3)


def scaled(q: Any) -> Any:
    return EYE * (1.0 + q[0] * q[0]), [0, 0, 0]


def mirrored(q: Any) -> Any:
    return np.diag([1.0, 1.0, -1.0]), [q[0], 0, 0]


def redundant(q: Any) -> Any:
    return EYE, [q[0] + q[1], 0, 0]


def out_of_domain(q: Any) -> Any:
    return EYE, [np.sqrt(q[0] - 5.0), 0, 0]


BAD: list[tuple[Callable[[], Any], str]] = [
    (lambda: Revolute("w"), "unknown axis 'w'"),
    (lambda: Revolute("xy"), "unknown axis 'xy'"),
    (lambda: Revolute((0.0, 0.0, 2.0)), r"length 2, expected a unit vector; divide it by its length: \[0.0, 0.0, 1"),
    (lambda: Revolute((0.0, 0.0, 0.0)), "it is zero"),
    (lambda: Planar((1.0, 0.0)), "three finite numbers"),
    (lambda: Planar((math.nan, 0.0, 1.0)), "three finite numbers"),
    (lambda: Planar(("a", "b", "c")), "three finite numbers"),  # type: ignore[arg-type]
    (lambda: Revolute(None), "three finite numbers"),  # type: ignore[arg-type]
    (lambda: Helical("z", math.inf), "pitch of a helical joint must be a finite number"),
    (lambda: Helical("z", "fine"), "pitch .* got 'fine'"),  # type: ignore[arg-type]
    (lambda: Universal("x", "-x"), "are parallel"),
    (lambda: SphericalEuler("xxz"), "unknown Euler sequence 'xxz'; expected one of xyx, xyz"),
    (lambda: SphericalEuler("XYZ"), "lower case"),
    (lambda: Composite(), "at least one joint"),
    (lambda: Composite(Transform()), "at least one joint"),
    (lambda: Composite(Revolute("x"), "y"), "joints and Transforms, got 'y'"),  # type: ignore[arg-type]
    (lambda: Composite(Revolute("x"), Revolute("x")), "has 2 velocities but only 1 independent motion: .* redundant"),
    (lambda: Composite(Translation3(), Translation3(), Spherical()), "has 9 velocities but only 6"),
    (lambda: Composite(Revolute(), Transform.of(Mat.of(2 * EYE), (0, 0, 0))), "needs a rotation matrix"),
    (lambda: Composite(Revolute(), Transform((), Vec((math.nan, 0.0, 0.0)))), "a finite p"),
    (lambda: Composite(Revolute(), Transform((), Vec(Graph().inputs("p", 3)))), "must consist of constant numbers"),
    (lambda: CustomJoint("f", 1), "needs a hashable function"),  # type: ignore[arg-type]
    (lambda: CustomJoint(scaled, 0), "needs 1 to 6 coordinates, got nq = 0"),
    (lambda: CustomJoint(scaled, 1.0), "needs 1 to 6 coordinates"),  # type: ignore[arg-type]
    (lambda: CustomJoint(scaled, 1, home=(1.0, 2.0)), "home configuration of custom joint 'scaled' must be 1 finite"),
    (lambda: CustomJoint(scaled, 1, name="big"), "'big' returned R = .* expected a rotation matrix, but RᵀR differs"),
    (lambda: CustomJoint(mirrored, 1), "reflection"),
    (lambda: CustomJoint(redundant, 2), "'redundant' has 2 velocities but only 1"),
    (lambda: CustomJoint(out_of_domain, 1), "expected finite numbers"),
    (lambda: CustomJoint(lambda q: (EYE, [np.sqrt(q[0] * q[0]), 0, 0]), 1), "derivative there is not finite"),
    (lambda: CustomJoint(lambda q: EYE, 1), r"expected a pair .* got ndarray of shape \(3, 3\)"),
    (lambda: CustomJoint(lambda q: (EYE, [q[0], 0]), 1), r"a pair of shapes \(3, 3\) and \(2,\)"),
    (lambda: CustomJoint(lambda q: None, 1), r"got NoneType of shape \(\)"),
    (lambda: CustomJoint(lambda q: np.full((4, 4), q[0]), 1), "last row"),
    (lambda: CustomJoint(lambda q: (EYE, [q[0], 0, "up"]), 1), "numbers or symbols, got 'up'"),
]


@pytest.mark.parametrize("make, words", BAD, ids=lambda x: x if isinstance(x, str) else "")
def test_refused(make: Callable[[], Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        make()


@pytest.mark.parametrize(
    "function, words",
    [
        (lambda q: (EYE, [math.sin(q[0]), 0, 0]), "not math's"),
        (lambda q: (EYE, [q[0] if q[0] > 0 else 0, 0, 0]), "fourbar.select"),
        (lambda q: (EYE, [q[7], 0, 0]), "index 7"),
    ],
)
def test_errors_of_a_function_name_the_joint(function: Any, words: str) -> None:
    """What the function raised is kept, with a note that says where."""
    with pytest.raises(Exception, match=words) as caught:
        CustomJoint(function, 1, name="odd")
    assert "custom joint 'odd', called with 1 symbol" in caught.value.__notes__[0]


def test_axes() -> None:
    for axis in ("x", "y", "z", "-x", "-y", "-z", "+y", (0.6, 0.0, -0.8), (1e-7, 0.0, 1.0), np.array([0, 0, -1])):
        z = unit_axis(axis)  # type: ignore[arg-type]
        assert abs(np.linalg.norm(z) - 1.0) < 1e-15
        A = np.eye(3) if rotation_from_z(z) is None else np.array(rotation_from_z(z))
        np.testing.assert_allclose(A @ [0, 0, 1], z, atol=1e-16)
        np.testing.assert_allclose(A @ A.T, np.eye(3), atol=3e-16)
        assert np.linalg.det(A) > 0.0
    assert repr(Revolute("-x")) == "Revolute(axis='-x')"
    assert Revolute("y") == Revolute((0, 1, 0)) == eval(repr(Revolute("y")))
    assert Revolute((0.6, 0.0, -0.8)) == eval(repr(Revolute((0.6, 0.0, -0.8))))
