"""Where joints and frames sit: rotations in all their forms, and what is no rotation."""

import math

import numpy as np
import pytest

from fourbar import Builder, ModelError
from fourbar.joints import Revolute

S = math.sqrt(0.5)
TURN = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])  # by 90° about z


def placement(**given):
    """The placement of a body, and of a frame, that were given the same numbers."""
    b = Builder()
    b.body("rod", joint=Revolute("y"), mass=1.0, inertia=(1.0, 1.0, 1.0), **given)
    b.frame("tip", "rod", **given)
    mechanism = b.mechanism()
    assert mechanism.frames[0].placement == mechanism.joints[0].placement
    return mechanism.frames[0].placement


@pytest.mark.quick
@pytest.mark.parametrize(
    "given",
    [
        {"rotation": TURN},
        {"rotation": TURN.tolist()},
        {"rotation": (S, 0.0, 0.0, S)},
        {"rotation": (-S, 0.0, 0.0, -S)},
        {"rpy": (0.0, 0.0, math.pi / 2)},
    ],
    ids=["matrix", "lists", "quaternion", "its negative", "rpy"],
)
def test_forms_of_a_rotation(given):
    np.testing.assert_allclose(placement(**given).rotation, TURN, atol=1e-15)


def test_roll_pitch_yaw_turn_about_fixed_axes_in_turn():
    def about(axis, angle):
        c, s = math.cos(angle), math.sin(angle)
        R = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
        return np.roll(R, (axis + 1, axis + 1), axis=(0, 1))

    found = placement(rpy=(0.1, 0.2, 0.3)).rotation
    np.testing.assert_allclose(found, about(2, 0.3) @ about(1, 0.2) @ about(0, 0.1), atol=1e-15)


def test_a_quaternion_of_nearly_unit_length_is_normalised():
    R = np.array(placement(rotation=(S + 1e-8, 0.0, 0.0, S)).rotation)
    np.testing.assert_allclose(R.T @ R, np.eye(3), atol=1e-15)


WRONG = {
    "reflection": (np.diag([1.0, 1.0, -1.0]), "is a reflection, expected a rotation"),
    "inversion": (-np.eye(3), "is a reflection, expected a rotation"),
    "scaled": (1.01 * np.eye(3), r"is not orthogonal \(RᵀR differs from 1 by 0\.0201\)"),
    "sheared": ([[1.0, 0.1, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]], "is not orthogonal"),
    "zero": (np.zeros((3, 3)), "is not orthogonal"),
    "long quaternion": ((1.0, 0.0, 0.0, 1.0), r"quaternion \(w, x, y, z\) = .* has length 1\.41421356, expected 1"),
    "no quaternion": ((0.0, 0.0, 0.0, 0.0), "has length 0, expected 1"),
}


@pytest.mark.quick
@pytest.mark.parametrize("what", WRONG)
def test_what_is_no_rotation(what):
    rotation, message = WRONG[what]
    with pytest.raises(ModelError, match=f"body 'rod', rotation: .*{message}"):
        placement(rotation=rotation)
    with pytest.raises(ModelError, match=f"frame 'tip', rotation: .*{message}"):
        Builder().frame("tip", "rod", rotation=rotation)


def test_one_form_at_a_time():
    for name, make in (("body 'rod'", Builder().body), ("frame 'rod'", lambda n, **g: Builder().frame(n, "b", **g))):
        with pytest.raises(ModelError, match=f"{name}: give rotation= or rpy=, not both"):
            make("rod", rotation=np.eye(3), rpy=(0, 0, 0))


def test_gravity_is_three_numbers():
    assert Builder(gravity=(0, 0, 0)).body("rod").mechanism().gravity == (0.0, 0.0, 0.0)
    for bad in (9.81, (0.0, -9.81), "down", (0.0, 0.0, math.nan)):
        with pytest.raises(ModelError, match="gravity: "):
            Builder(gravity=bad)
