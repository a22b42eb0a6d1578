"""Parameters by name: the robot that a builder makes with these numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fourbar as fb
from fourbar.joints import Prismatic, Revolute, Spherical
from fourbar.loops import Closure, Coupling, Differential, Distance, Gear, Polynomial
from fourbar.mechanism.geometry import Geometry

from .support import close, robot

OLD: dict[str, Any] = {
    "mass": 1.0, "com": (0.1, 0.2, 0.3), "inertia": (0.1, 0.1, 0.1), "position": (1, 2, 3), "rpy": (0.1, 0.2, 0.3),
    "armature": 0.1, "damping": 0.2, "friction": 0.3, "limits": (-1, 1), "stiffness": 2.0, "rest": 0.5,
    "max_force": 10.0, "max_velocity": 3.0,
}  # fmt: skip
NEW: dict[str, Any] = {
    "mass": 2.0, "com": (0, 0.2, 0.3), "inertia": (0.2, 0.1, 0.15), "geometry": [Geometry("sphere", (0.1,))],
    "position": (1, 2, 4), "rpy": (0.1, 0.2, 0.4), "rotation": (1, 0, 0, 0), "armature": 0.2, "damping": 0.3,
    "friction": 0.4, "limits": (-2, 1), "stiffness": 3.0, "rest": 0.6, "max_force": 11.0, "max_velocity": 4.0,
}  # fmt: skip


def built(arguments: dict[str, Any], joint: Any = None) -> fb.System:
    b = fb.Builder("r").body("a", joint=joint or Revolute("y"), joint_name="j", **arguments)
    return b.frame("f", "a", position=(0, 0, 1)).build()


@pytest.mark.parametrize("key", list(NEW))
def test_one_parameter(key: str) -> None:
    expected = {**OLD, key: NEW[key]}
    if key == "rotation":
        del expected["rpy"]
    kind = "bodies" if key in ("mass", "com", "inertia", "geometry") else "joints"
    changed = built(OLD).with_parameters(**{kind: {"a" if kind == "bodies" else "j": {key: NEW[key]}}})
    assert changed == built(expected)


def test_joint_types_frames_and_gravity() -> None:
    place = {key: OLD[key] for key in ("mass", "com", "inertia", "position", "rpy")}
    same_axis = built(OLD).with_parameters(joints={"j": {"joint": Spherical(), "armature": (1, 2, 3)}})
    assert same_axis == built({**place, "armature": (1, 2, 3)}, Spherical())
    moved = built(OLD).with_parameters(frames={"f": {"rpy": (0, 0, 1)}}, gravity=(0, 0, -1.6))
    assert moved.mechanism.frames[0].placement.position == (0, 0, 1)
    close(moved.mechanism.frames[0].placement.rotation[0][0], np.cos(1.0))
    assert moved.gravity == (0, 0, -1.6)
    assert built(OLD).with_parameters(frames={"f": {"body": "world"}}).mechanism.frames[0].body == "world"
    assert built(OLD).with_parameters() == built(OLD)


def test_unphysical_bodies_stay() -> None:
    flat = fb.Builder().body("a", joint=Revolute("z"), mass=1, inertia=(1, 0.1, 0.1), allow_unphysical=True).build()
    assert flat.with_parameters(joints={"a": {"armature": 1.0}}).mechanism.bodies == flat.mechanism.bodies
    with pytest.raises(fb.ModelError, match="triangle"):
        flat.with_parameters(bodies={"a": {"mass": 2.0}})
    assert flat.with_parameters(bodies={"a": {"mass": 2.0, "allow_unphysical": True}}).mechanism.bodies[0].mass == 2.0


LOOPS = [
    (Gear("a", "b", 2.0, offset=0.1), {"ratio": np.float64(3.0)}, Gear("a", "b", 3.0, offset=0.1)),
    (Polynomial("a", "b", (0.0, 1.0)), {"coefficients": np.array([0.1, 2.0])}, Polynomial("a", "b", (0.1, 2.0))),
    (Coupling({"a": 1.0, "b": 2.0}), {"factors": {"a": 3, "b": 1}, "offset": 0.1}, Coupling({"a": 3, "b": 1}, 0.1)),
    (Differential(["a"], ["b"], [[2]]), {"matrix": np.array([[5.0]])}, Differential(["a"], ["b"], [[5]])),
    (Distance("a", "b", (0, 0, 0), (1, 0, 0), 1.0), {"length": 1.5}, Distance("a", "b", (0, 0, 0), (1, 0, 0), 1.5)),
    (
        Closure(Revolute("z"), "a", "b", at_predecessor=(1, 0, 0)),
        {"at_predecessor": (1.5, 0, 0), "at_successor": {"position": (0.5, 0, 0)}},
        Closure(Revolute("z"), "a", "b", at_predecessor=(1.5, 0, 0), at_successor=(0.5, 0, 0)),
    ),
]  # fmt: skip


@pytest.mark.parametrize(("loop", "given", "expected"), LOOPS, ids=lambda x: type(x).__name__)
def test_loops(loop: Any, given: dict[str, Any], expected: Any) -> None:
    from fourbar.edit.change import change

    b = fb.Builder().body("a", joint=Prismatic("x"), mass=1).body("b", joint=Revolute("z"), mass=1, inertia=(1, 1, 1))
    found = change(b.loop(loop, name="loop", independent=["a"]).mechanism(), loops={"loop": given})
    assert found.loops[0].loop == expected and found.loops[0].independent == (("a", 1.0),)
    found = change(found, loops={"loop": {"independent": {"b": 2.0}}})
    assert found.loops[0].independent == (("b", 2.0),)


def test_a_gear_ratio_scales_the_reflected_inertia() -> None:
    b = fb.Builder().body("link", joint=Revolute("z"), mass=1, inertia=(1, 1, 1))
    robot = b.rotor("rotor", drives="link", ratio=10, mass=0.1, inertia=(1e-3, 1e-3, 2e-3)).build()
    other = robot.with_parameters(
        loops={"rotor_gear": {"ratio": 20}}, bodies={"rotor": {"inertia": (1e-3, 1e-3, 2e-3)}}
    )
    close(robot.mass_matrix([0.0]), [[1 + 100 * 2e-3]], 1e-14)
    close(other.mass_matrix([0.0]), [[1 + 400 * 2e-3]], 1e-14)


def test_errors() -> None:
    r = robot("four_bar")
    with pytest.raises(fb.UnknownNameError, match="no body 'crnk'; did you mean 'crank'"):
        r.with_parameters(bodies={"crnk": {"mass": 1}})
    with pytest.raises(fb.ModelError, match="body 'crank': unknown parameter 'masss'; did you mean 'mass'"):
        r.with_parameters(bodies={"crank": {"masss": 1}})
    with pytest.raises(fb.ModelError, match="body 'crank': expected parameters by name, got 1"):
        r.with_parameters(bodies={"crank": 1})  # type: ignore[dict-item]
    with pytest.raises(fb.ModelError, match="expected parameters by joint"):
        r.with_parameters(joints=[1])  # type: ignore[arg-type]
    with pytest.raises(fb.ModelError, match=r"mass -1.0 is negative"):
        r.with_parameters(bodies={"crank": {"mass": -1}})
    with pytest.raises(fb.ModelError, match="loop 'loop': unknown key 'ratio'"):
        r.with_parameters(loops={"loop": {"ratio": 2}})
    with pytest.raises(fb.ModelError, match="cannot be closed"):
        r.with_parameters(loops={"loop": {"at_successor": (90, 0, 0)}})
    with pytest.raises(fb.ModelError, match="loop 'rolls': unknown key 'ratio'"):
        robot("written").with_parameters(loops={"rolls": {"ratio": 1}})
    with pytest.raises(fb.ModelError, match=r"frame 'f': .*no body 'b'"):
        built(OLD).with_parameters(frames={"f": {"body": "b"}})
