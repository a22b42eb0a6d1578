"""A part of a robot moves as it does in the robot when the rest stands still."""

from __future__ import annotations

import numpy as np
import pytest

import fourbar as fb
from fourbar.joints import Free, Revolute

from .support import by_joint, close, q_of, robot, state, v_of

CASES = [
    ("chained", "b_crank"), ("geared", "upper"), ("geared", "lower"), ("geared", "slide"), ("differential", "tilt"),
    ("0", "body1"), ("5", "body1"), ("nested", "crank"), ("spatial_crank", "crank"), ("explicit", "cam"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "body"), CASES)
def test_equations_are_those_with_the_rest_locked(name: str, body: str) -> None:
    r = robot(name)
    carrier = next(c.parent for c in r.mechanism.joints if c.child == body)
    q = state(name)[0][0]
    part = r.sub(body)
    rest = [
        c.name for c in r.model.cluster_tree.moving if c.name not in {x.name for x in part.model.cluster_tree.moving}
    ]
    locked = r.lock(rest, q) if rest else r
    R = np.eye(3) if carrier == "world" else r.pose(q, carrier)[:3, :3]
    part = part.with_gravity(R.T @ r.gravity)
    assert {c.name for c in locked.model.cluster_tree.moving} == {c.name for c in part.model.cluster_tree.moving}
    own = by_joint(r, r.expand(q), "nq")
    q1, q2 = q_of(part, own), q_of(locked, own)
    rng = np.random.default_rng(0)
    v, a = rng.normal(size=(2, part.nv))
    v2 = v_of(locked, by_joint(part, part.expand_velocity(q1, v), "nv"))
    a2 = v_of(locked, by_joint(part, part.expand_acceleration(q1, v, a), "nv"))
    assert part.names.velocities == locked.names.velocities
    close(part.inverse_dynamics(q1, v, a), locked.inverse_dynamics(q2, v2, a2), 1e-10)
    base = np.eye(4) if carrier == "world" else r.pose(q, carrier)
    close(base @ part.pose(q1, body), r.pose(q, body))


def test_rotors_and_frames_belong_to_the_part() -> None:
    r = robot("geared")
    arm = r.sub("upper", name="arm")
    assert arm.name == "arm" and "upper_rotor" in arm.names.bodies and "base" not in arm.names.bodies
    assert arm.names.velocities == ("upper", "lower", "slide", "knob", "finger")
    floating = robot("nested").sub("tool", joint=Free())
    assert floating.nv == 6 and floating.mechanism.loops == ()


def test_to_frames() -> None:
    b = fb.Builder("torso")
    b.body("trunk", joint=Free(), mass=5, inertia=(1, 1, 1))
    for side in ("left", "right"):
        b.body(f"{side}_upper", parent="trunk", joint=Revolute("y"), mass=1, inertia=(0.1, 0.1, 0.1))
        b.rotor(f"{side}_rotor", parent="trunk", drives=f"{side}_upper", ratio=5, mass=0.1, inertia=(1e-3,) * 3)
        b.body(
            f"{side}_fore", parent=f"{side}_upper", joint=Revolute("y"), position=(0, 0, -0.3), mass=1, com=(0, 0, -0.1)
        )
        b.frame(f"{side}_hand", f"{side}_fore", position=(0, 0, -0.3))
    b.frame("chest", "trunk")
    b.configuration("bent", {"left_fore": 0.3, "right_fore": 0.4})
    r = b.build()
    arm = r.sub("left_upper", to=["left_hand"])
    assert arm.names.bodies == ("left_upper", "left_rotor", "left_fore")
    assert arm.names.frames == ("left_hand", "chest")  # the chest is on what is the world now
    assert arm.mechanism.configurations[0].coordinates == (("left_fore", (0.3,)),)
    half = r.sub(to=["right_hand"])
    assert half.names.bodies == ("trunk", "right_upper", "right_rotor", "right_fore")
    assert half.names.frames == ("right_hand", "chest")
    close(half.pose(half.neutral(), "right_hand"), r.pose(r.neutral(), "right_hand"))
    assert r.sub() == r


def test_errors() -> None:
    r = robot("chained")
    with pytest.raises(fb.UnknownNameError, match="no body 'trolly'; did you mean 'trolley'"):
        r.sub("trolly")
    with pytest.raises(fb.ModelError, match=r"loop 'first' connects the part to 'a_rocker', .*'a_crank'"):
        r.sub("a_coupler")
    with pytest.raises(fb.UnknownNameError, match="no frame or body 'hnd'"):
        r.sub("arm", to=["hnd"])
    with pytest.raises(fb.ModelError, match="'bucket' is not carried by 'arm'"):
        r.sub("arm", to=["bucket"])
    with pytest.raises(fb.ModelError, match=r"such as \['hand'\]"):
        r.sub("arm", to="hand")
    with pytest.raises(fb.ModelError, match="name that body"):
        r.sub(joint=Free())
    with pytest.raises(fb.ModelError, match="'finger' cannot be replaced, since loop 'cam' uses it"):
        robot("geared").sub("finger", joint=Free())
    with pytest.raises(fb.ModelError, match="'b_crank' cannot be replaced, since loops connect it to 'b_rocker'"):
        r.sub("b_crank", joint=Free())
