"""Written and read again: the same dynamics, for every joint and loop that a format can say; the rest is listed."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fourbar as fb
from fourbar.constraints.loop import MechanismView
from fourbar.edit.coordinates import gather, gather_velocity
from fourbar.joints import (
    Composite,
    Cylindrical,
    Fixed,
    Free,
    Helical,
    Joint,
    Planar,
    Prismatic,
    Revolute,
    Schoenflies,
    Spherical,
    SphericalEuler,
    SphericalExponential,
    Universal,
)
from fourbar.joints.registry import _ODD, _OTHER
from fourbar.loops import Closure, Coupling, Differential, Gear, Loop, Polynomial
from tests.algorithms.mechanisms import random_mechanism

from .exported import PLACED, PLAIN

pytestmark = pytest.mark.filterwarnings("ignore::fourbar.FileWarning")
SCREWS: tuple[Joint, ...] = (Helical("y", pitch=0.3), Helical(_ODD, pitch=-0.2))
SAYABLE = {"urdf": (*PLAIN, *PLACED, *SCREWS, Planar("z"), Planar(_ODD)), "mjcf": (*PLAIN, *SCREWS)}
ENDING = {"urdf": "urdf", "mjcf": "xml"}


def some(cases: Iterable[str], *short: str) -> list[Any]:
    """Names of cases; those that are not among the short ones are for slow runs."""
    return [name if name in short else pytest.param(name, marks=pytest.mark.slow) for name in cases]


@cache
def tree(format: str, seed: int) -> fb.System:
    """A random tree of joints that a format can say. MuJoCo has no moving bodies without mass."""
    for attempt in range(100):
        rng = np.random.default_rng((seed, attempt))
        kinds = SAYABLE[format]
        joints = [kinds[i] for i in rng.choice(len(kinds), 6, replace=False)]
        made = random_mechanism(rng, joints, f"tree{seed}")
        light = any(b.mass == 0.0 for b in made.mechanism.bodies)
        if format == "urdf" or not light:
            return made
    raise AssertionError


def written_again(robot: fb.System, format: str, folder: Path, **options: object) -> fb.System:
    file = folder / f"robot.{ENDING[format]}"
    robot.save(file, format=format, **options)  # type: ignore[arg-type]
    return fb.load(file, format=format).with_gravity(robot.gravity)


def named(robot: fb.System, full: np.ndarray, of: str) -> dict[str, np.ndarray]:
    """Coordinates or velocities of all moving joints, one for each freedom, under the names that writers give."""
    found, at = {}, 0
    for c in robot.model.cluster_tree.moving:
        n = getattr(c.joint, of)
        whole = isinstance(c.joint, Planar | Free) or n == 1
        names = [c.name] if whole else [f"{c.name}_{i + 1}" for i in range(n)]
        for i, name in enumerate(names):
            found[name] = full[..., at : at + n] if whole else full[..., at + i : at + i + 1]
        at += n
    return found


def other_side(robot: fb.System, again: fb.System, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """q of the robot that was read again, and B: its velocities are B v."""
    ours_q, ours_v = named(robot, robot.expand(q), "nq"), named(robot, robot.expand_velocity(q, np.eye(robot.nv)), "nv")
    moving = again.model.cluster_tree.moving
    full_q = [ours_q.get(c.name, np.array(c.joint.neutral())) for c in moving]
    full_v = [ours_v.get(c.name, np.zeros((robot.nv, c.joint.nv))) for c in moving]
    B = gather_velocity(again.model.cluster_tree, np.concatenate(full_v, axis=-1)).T
    return gather(again.model.cluster_tree, np.concatenate(full_q)), B


def same_dynamics(robot: fb.System, again: fb.System, tolerance: float = 1e-12) -> None:
    """For B that does not change with q: τ = Bᵀ τ'(q', B v, B a), and the same place of the last body."""
    assert again.nv == robot.nv
    rng = np.random.default_rng(0)
    for _ in range(3):
        q, v, a = robot.random(rng), *rng.normal(size=(2, robot.nv))
        other, B = other_side(robot, again, q)
        tau, expected = B.T @ again.inverse_dynamics(other, B @ v, B @ a), robot.inverse_dynamics(q, v, a)
        assert np.abs(tau - expected).max() <= tolerance * np.abs(expected).max()
        M, wanted = B.T @ again.mass_matrix(other) @ B, robot.mass_matrix(q)
        assert np.abs(M - wanted).max() <= tolerance * np.abs(wanted).max()
        for body in robot.names.bodies[-1:]:
            assert np.abs(again.pose(other, body) - robot.pose(q, body)).max() < 1e-12


@pytest.mark.parametrize("seed", [0, *(pytest.param(n, marks=pytest.mark.slow) for n in range(1, 5))])
@pytest.mark.parametrize("format", ["urdf", "mjcf"])
def test_trees(format: str, seed: int, tmp_path: Path) -> None:
    if format == "mjcf":
        pytest.importorskip("mujoco")
    robot = tree(format, seed)
    same_dynamics(robot, written_again(robot, format, tmp_path), 1e-12 if format == "urdf" else 1e-11)


def test_every_joint_was_written() -> None:
    for format, kinds in SAYABLE.items():
        seen = {c.joint for seed in range(5) for c in tree(format, seed).mechanism.joints}
        assert {type(j) for j in seen} >= {type(j) for j in kinds} - {Fixed}, format


def fan(loop: Loop | None, n: int = 4) -> fb.System:
    """Joints a, b, c, d in two branches, with mass, and a loop."""
    b = fb.Builder("fan", gravity=(1.0, -2.0, -9.0))
    b.body("base", mass=1.0, inertia=(1, 1, 1))
    for i, name in enumerate("abcd"[:n]):
        joint = (Revolute(_ODD), Helical("y", pitch=0.2), Prismatic(_OTHER), Revolute("x"))[i]
        b.body(
            name, parent=("base", "a", "base", "c")[i], joint=joint, position=(0.1 * i, 0.2, -0.1),
            rpy=(0.1, 0.2 * i, 0.3), mass=1.0 + i, com=(0.1, 0.2, 0.1),
            inertia=(0.1, 0.01, -0.02, 0.12, 0.005, 0.09), armature=0.1,
        )  # fmt: skip
    return (b if loop is None else b.loop(loop, name="tie")).build()


LINEAR: dict[str, Loop] = {
    "gear": Gear("a", "d", 3.0, 0.1),
    "gear of a screw": Gear("a", "b", -2.0),
    "gear of a slide": Gear("b", "c", 0.5, -0.2),
    "coupling of two": Coupling({"a": 2.0, "d": -3.0}, offset=0.1),
    "coupling of three": Coupling({"a": 2.0, "b": 0.7, "d": -3.0}, offset=0.1),
    "coupling of four": Coupling({"d": 2.0, "c": 0.7, "a": -3.0, "b": 1.0}),
    "differential": Differential(["a", "b"], ["c", "d"], [[0.5, 0.5], [1.0, -1.0]]),
    "differential with zeros": Differential(["a", "b"], ["c", "d"], [[0.5, 0.0], [1.0, -1.0]]),
    "straight polynomial": Polynomial("a", "d", (0.1, 2.0)),
}


@pytest.mark.parametrize("name", some(LINEAR, "gear of a screw", "coupling of three", "differential"))
@pytest.mark.parametrize("format", ["urdf", "mjcf"])
def test_linear_loops(format: str, name: str, tmp_path: Path) -> None:
    if format == "mjcf":
        pytest.importorskip("mujoco")
    robot = fan(LINEAR[name])
    same_dynamics(robot, written_again(robot, format, tmp_path), 1e-12 if format == "urdf" else 1e-11)


def test_two_conditions_on_one_joint(tmp_path: Path) -> None:
    """A joint can mimic one other: the second condition is a coupling."""
    b = fb.Builder("three")
    for name in "abc":
        b.body(name, joint=Revolute("y"), mass=1.0, com=(0.1, 0, 0), inertia=(0.1, 0.1, 0.1))
    robot = b.loop(Gear("a", "c", 2.0), name="first").loop(Gear("b", "c", 4.0), name="second").build()
    assert robot.nv == 1
    same_dynamics(robot, written_again(robot, "urdf", tmp_path))


def closed(joint: Joint, n: int) -> fb.System:
    """An arm whose end is held by a joint to the world."""
    b, parent = fb.Builder("closed"), "world"
    for i in range(n):
        b.body(
            f"l{i}", parent=parent, joint=Revolute("xyz"[i % 3]), position=(0.3, 0.05 * i, 0.0), mass=1.0,
            rpy=(0.3 * i + 0.2, 0.4, -0.5 * i), com=(0.1, 0.0, 0.0), inertia=(0.01, 0.02, 0.03),
        )  # fmt: skip
        parent = f"l{i}"
    place, tip = b.build().pose(np.zeros(n), parent), np.array([0.2, 0.1, 0.05])
    at = place[:3, :3] @ tip + place[:3, 3]
    loop = Closure(joint, "world", parent, at_predecessor=at, predecessor_rotation=place[:3, :3], at_successor=tip)
    return b.loop(loop, name="hold", independent=["l0"]).build()


HELD: dict[str, tuple[Joint, int, tuple[str, ...]]] = {  # joint, bodies, formats that say it
    "revolute": (Revolute(_ODD), 6, ("urdf", "mjcf")),
    "prismatic": (Prismatic(_ODD), 6, ("urdf",)),
    "cylindrical": (Cylindrical(_OTHER), 5, ("urdf",)),
    "planar": (Planar(_ODD), 4, ("urdf",)),
    "spherical": (Spherical(), 4, ("urdf", "mjcf")),
    "spherical by angles": (SphericalEuler("zyx"), 4, ("urdf", "mjcf")),
    "spherical by vector": (SphericalExponential(), 4, ("urdf", "mjcf")),
    "universal": (Universal(_ODD, _OTHER), 5, ("urdf",)),
    "fixed": (Fixed(), 7, ("urdf", "mjcf")),
}


@pytest.mark.parametrize("format", ["urdf", "mjcf"])
@pytest.mark.parametrize("name", some(HELD, "spherical", "universal"))
def test_closures(format: str, name: str, tmp_path: Path) -> None:
    joint, n, formats = HELD[name]
    robot = closed(joint, n)
    if format not in formats:
        with pytest.raises(
            fb.ModelError,
            match=r"loop 'hold', a Closure.*waive=\['loop'\] \(--waive-written loop\): the loop is left out",
        ):
            robot.save(tmp_path / "a.xml", format=format)
        assert written_again(robot, format, tmp_path, waive=["loop"]).nv == n
        return
    if format == "mjcf":
        pytest.importorskip("mujoco")
    again = written_again(robot, format, tmp_path)
    q = robot.neutral()
    other, B = other_side(robot, again, q)
    assert again.nv == robot.nv == 1 and again.loop_gap(other) < 1e-12
    M, wanted = B.T @ again.mass_matrix(other) @ B, robot.mass_matrix(q)
    assert np.abs(M - wanted).max() <= 1e-11 * np.abs(wanted).max()
    if np.array_equal(B, np.eye(robot.nv)):
        v, a = np.random.default_rng(1).normal(size=(2, robot.nv))
        tau, expected = again.inverse_dynamics(other, v, a), robot.inverse_dynamics(q, v, a)
        assert np.abs(tau - expected).max() <= 1e-11 * np.abs(expected).max()


class Own(Loop):
    """A user's type of loop, which prefers a dependent joint."""

    @property
    def joints(self) -> tuple[str, ...]:
        return ("a", "d")

    @property
    def driven_joints(self) -> tuple[str, ...]:
        return ("d",)

    def residual(self, view: MechanismView) -> list[Any]:
        return [view.q("d")[0] - fb.sin(view.q("a")[0])]


UNSAID: dict[str, tuple[str, fb.Builder | None, Loop | None, str]] = {
    "urdf ball": ("urdf", fb.Builder("r").body("x", joint=Spherical()), None, "joint 'x', a Spherical"),
    "urdf vector": ("urdf", fb.Builder("r").body("x", joint=SphericalExponential()), None, "a SphericalExponential"),
    "urdf Schoenflies": ("urdf", fb.Builder("r").body("x", joint=Schoenflies("y")), None, "joint 'x', a Schoenflies"),
    "urdf parts": ("urdf", fb.Builder("r").body("x", joint=Composite(Spherical(), Prismatic("x"))), None, "Composite"),
    "mjcf planar": ("mjcf", fb.Builder("r").body("x", joint=Planar(_ODD)), None, "joint 'x', a Planar"),
    "mjcf Schoenflies": ("mjcf", fb.Builder("r").body("x", joint=Schoenflies("y")), None, "joint 'x', a Schoenflies"),
    "mjcf vector": ("mjcf", fb.Builder("r").body("x", joint=SphericalExponential()), None, "a SphericalExponential"),
    "urdf own": ("urdf", None, Own(), "loop 'tie', a Own"),
    "mjcf high cam": ("mjcf", None, Polynomial("a", "d", (0, 1, 0, 0, 0, 0.1)), "loop 'tie', a Polynomial"),
}  # fmt: skip
MATTER = {"mass": 1.3, "com": (0.1, 0.2, 0.3), "inertia": (0.1, 0.2, 0.25)}


@pytest.mark.parametrize("name", some(UNSAID, "urdf ball", "urdf own", "mjcf planar", "mjcf high cam"))
def test_what_cannot_be_said_is_refused_or_waived(name: str, tmp_path: Path) -> None:
    """Waived joints are hinges and slides: another robot, with the same motions. Waived loops are left out."""
    format, builder, loop, words = UNSAID[name]
    robot = fan(loop) if builder is None else with_matter(builder)
    key = "loop" if builder is None else "coordinates"
    with pytest.raises(fb.ModelError, match=rf"cannot express: .*{words}.*waive=\['{key}'\]"):
        robot.save(tmp_path / "a.xml", format=format)
    assert not (tmp_path / "a.xml").exists()
    report = robot.save(tmp_path / "a.xml", format=format, waive=[key])
    assert "(waived)" in str(report) and words in str(report)
    if format == "mjcf":
        pytest.importorskip("mujoco")
    again = written_again(robot, format, tmp_path, waive=[key])
    if builder is None:
        same_dynamics(fan(None), again, 1e-11)
    else:
        assert again.nv == robot.nv
        q = np.zeros(again.nq)
        M, wanted = again.mass_matrix(q), robot.mass_matrix(robot.neutral())
        assert np.abs(np.linalg.eigvalsh(M) - np.linalg.eigvalsh(wanted)).max() < 1e-12


def with_matter(builder: fb.Builder) -> fb.System:
    (c,) = builder.mechanism().joints
    return fb.Builder("r").body("x", joint=c.joint, **MATTER).build()


def test_bodies_without_mass_that_carry_others(tmp_path: Path) -> None:
    """MuJoCo lets a body without mass move if one with mass is fixed to it, as readers of SDF make them."""
    pytest.importorskip("mujoco")
    b = fb.Builder("r").body("carrier", joint=Revolute(_ODD)).body("plate", parent="carrier", position=(0.1, 0, 0))
    b.body("link", parent="plate", position=(0, 0.2, 0), rpy=(0.1, 0.2, 0.3), **MATTER)
    b.body("next", parent="link", joint=Prismatic("x"), **MATTER)
    same_dynamics(b.build(), written_again(b.build(), "mjcf", tmp_path), 1e-11)


def test_waived_armature_is_left_out(tmp_path: Path) -> None:
    b = fb.Builder("r").body("x", joint=Free(), armature=0.5, **MATTER)
    for format in ("urdf", "mjcf"):
        with pytest.raises(fb.ModelError, match=r"the armature of a .*waive=\['armature'\]"):
            b.build().save(tmp_path / "a.xml", format=format)
        assert "the armature is left out (waived)" in str(
            b.build().save(tmp_path / "a.xml", format=format, waive=["armature"])
        )


@pytest.mark.parametrize("format", ["urdf", "mjcf"])
def test_other_coordinates_have_no_parameters_of_the_old_ones(format: str, tmp_path: Path) -> None:
    """Armature is waived by itself; what else is lost is told; no actuator pulls at the new ones."""
    b = fb.Builder("r").body("x", joint=SphericalExponential(), armature=0.5, damping=0.1, limits=(-1, 1), **MATTER)
    b.body("y", parent="x", joint=Revolute("y"), **MATTER).actuator("m", drives="x", gear=(1, 2, 3))
    robot = b.build()
    with pytest.raises(fb.ModelError, match=r"the armature in its own coordinates.*waive=\['armature'\]"):
        robot.save(tmp_path / "a.xml", format=format, waive=["coordinates"])
    told = str(robot.save(tmp_path / "a.xml", format=format, waive=["coordinates", "armature"]))
    assert "joint 'x': damping, lower, upper in its own coordinates are left out" in told
    assert "actuator 'm': left out" in told and 'name="m"' not in (tmp_path / "a.xml").read_text()


def test_an_actuator_of_a_free_joint_that_is_written_as_others_is_left_out(tmp_path: Path) -> None:
    mujoco = pytest.importorskip("mujoco")
    b = fb.Builder("r").body("x", joint=Revolute("y"), **MATTER).body("y", parent="x", joint=Free(), **MATTER)
    robot = b.actuator("m", drives="y", gear=(1, 2, 3, 0, 0, 0)).build()
    assert "actuator 'm': left out" in str(robot.save(tmp_path / "a.xml", waive=["coordinates"], format="mjcf"))
    assert mujoco.MjModel.from_xml_path(str(tmp_path / "a.xml")).nv == 7


def test_waivers_are_checked(tmp_path: Path) -> None:
    with pytest.raises(fb.ArgumentError, match="waive='loop': expected a list"):
        fan(None).save(tmp_path / "a.urdf", waive="loop")
    with pytest.raises(fb.ArgumentError, match=r"waive=\['loops'\]: expected some of coordinates, loop, armature"):
        fan(None).save(tmp_path / "a.urdf", waive=["loops"])


def test_what_is_waived_without_effect_is_reported(tmp_path: Path) -> None:
    (note,) = (f for f in fan(None).save(tmp_path / "a.urdf", waive=["armature"]) if f.severity == "note")
    assert note.message == "waive=['armature'] was not needed: nothing was left out"
    for ending in ("json", "toml"):
        with pytest.raises(fb.ArgumentError, match=r"waive=\['loop'\]: this format expresses everything"):
            fan(None).save(tmp_path / f"a.{ending}", waive=["loop"])
    fan(None).save(tmp_path / "a.json")
    assert not fb.load(tmp_path / "a.json", waive=["colour*", "body@*"]).report
    with pytest.raises(fb.ArgumentError, match=r"waive=\['colour'\].*matches no finding in .*a\.json"):
        fb.load(tmp_path / "a.json", waive=["colour", "body@*"])


def test_a_spring_that_is_left_out_is_reported_once(tmp_path: Path) -> None:
    solid = {"mass": 1.0, "inertia": (1.0, 1.0, 1.0), "stiffness": 2.0, "damping": 0.5}
    b = fb.Builder("sprung").body("a", joint=fb.joints.Revolute("x"), **solid)
    b.body("b", parent="a", joint=fb.joints.Spherical(), **solid)
    told = [f.message for f in b.build().save(tmp_path / "a.urdf", waive=["coordinates"])]
    about = [x for x in told if "spring" in x or "stiffness" in x]
    assert about == ["joints 'a', 'b': the spring is left out"]
    assert "joint 'b': damping in its own coordinates are left out" in told


def test_actuators_of_free_joints_with_armature(tmp_path: Path) -> None:
    """MuJoCo's velocities are then those of the joint: they are written, and read again the same."""
    pytest.importorskip("mujoco")
    text = (
        '<mujoco><worldbody><body name="a"><joint name="f" type="free" armature=".1"/><geom size=".1"/></body>'
        '</worldbody><actuator><motor name="m" joint="f" gear="1 2 3 4 5 6"/></actuator></mujoco>'
    )
    robot = fb.loads(text, format="mjcf", waive=["joint@armature"])
    report = robot.save(tmp_path / "a.xml")
    assert not any("actuator" in f.message for f in report)
    again = fb.load(tmp_path / "a.xml", waive=["joint@armature"])
    assert again.actuators[0].drives == robot.actuators[0].drives == (fb.Drive("f", (1.0, 2.0, 3.0, 4.0, 5.0, 6.0)),)


@pytest.mark.parametrize("ending", ["urdf", "sdf"])
def test_rotors_without_a_mass_are_read_with_a_warning(ending: str, tmp_path: Path) -> None:
    """Rotors of the source of this chain have moments but no mass: that is counted in their stators."""
    robot = fb.robots.gt_chain(2)
    assert "waive=['inertia']" not in str(robot.save(tmp_path / f"chain.{ending}"))
    with pytest.warns(fb.FileWarning, match="warnings .inertia"):
        again = fb.load(tmp_path / f"chain.{ending}")
    assert "mass is zero, but the inertia" in again.report.details()
    assert np.allclose(again.mass_matrix([0.3, 0.4]), robot.mass_matrix([0.3, 0.4]), rtol=1e-12)
    phi = again.inertial_parameters()
    assert again.with_inertial_parameters(phi, allow_unphysical=True) == again


@pytest.mark.parametrize("ending", ["urdf", "sdf"])
def test_inertias_that_are_refused_when_read_are_named(ending: str, tmp_path: Path) -> None:
    b = fb.Builder("negative").body(
        "arm", joint=Revolute("z"), mass=1.0, inertia=(1.0, 1.0, -0.1), com=(1.0, 0.0, 0.0), allow_unphysical=True
    )
    report = str(b.build().save(tmp_path / f"negative.{ending}"))
    assert "'arm': negative principal moments" in report and "waive=['inertia']" in report
    with pytest.raises(fb.ParseError, match="negative principal moment"):
        fb.load(tmp_path / f"negative.{ending}")
    again = fb.load(tmp_path / f"negative.{ending}", waive=["inertia"])
    assert np.allclose(again.mass_matrix([0.3]), 0.9, rtol=1e-12)
    assert "waive=['inertia']" not in str(fb.robots.four_bar().save(tmp_path / f"sound.{ending}"))
