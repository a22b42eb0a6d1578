"""Exported MJCF: inertias that MuJoCo would refuse, rods and meshes. The robot that is read again moves as before."""

from __future__ import annotations

import struct
import sysconfig
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fourbar as fb
from fourbar.edit.coordinates import gather, gather_velocity
from fourbar.io.formats import FORMATS
from fourbar.joints import Fixed, Prismatic, Revolute, Spherical
from fourbar.loops import Distance
from fourbar.mechanism.geometry import Geometry
from tests.loops import looped

mujoco = pytest.importorskip("mujoco")
pytestmark = pytest.mark.filterwarnings("ignore::fourbar.FileWarning")
SHARED = Path(sysconfig.get_path("purelib")) / "cmeel.prefix/share"
REAL = SHARED / "example-robot-data" / "robots"


def again(robot: fb.System, folder: Path, waive: Sequence[str] = ()) -> tuple[fb.System, fb.Report]:
    report = robot.save(folder / "robot.xml", waive=waive)
    mujoco.MjModel.from_xml_path(str(folder / "robot.xml"))
    return fb.load(folder / "robot.xml"), report


def mapped(robot: fb.System, other: fb.System, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A state of a robot as that of another with the same joints in another order, or in parts."""
    parts = []
    for full, n in ((robot.expand(q), "nq"), (robot.expand_velocity(q, v), "nv")):
        ends = np.cumsum([getattr(c.joint, n) for c in robot.model.cluster_tree.moving])
        names = [c.name for c in robot.model.cluster_tree.moving]
        own = dict(zip(names, np.split(np.asarray(full), ends[:-1]), strict=True))
        own |= {f"{name}_{i + 1}": x[i : i + 1] for name, x in own.items() for i in range(len(x))}
        parts.append(np.concatenate([own[c.name] for c in other.model.cluster_tree.moving]))
    cluster_tree = other.model.cluster_tree
    return gather(cluster_tree, parts[0]), gather_velocity(cluster_tree, parts[1])


def difference(robot: fb.System, other: fb.System) -> float:
    """The largest relative difference of kinetic and potential energy: the same for all q and v, the same motion."""
    rng, worst = np.random.default_rng(0), 0.0
    zero = robot.potential_energy(robot.neutral())
    zero_there = other.potential_energy(mapped(robot, other, robot.neutral(), np.zeros(robot.nv))[0])
    for _ in range(5):
        q, v = robot.random(rng), rng.normal(size=robot.nv)
        there = mapped(robot, other, q, v)
        assert np.max(other.loop_gap(there[0]), initial=0.0) < 1e-12
        T, U = robot.kinetic_energy(q, v), robot.potential_energy(q) - zero
        dT, dU = T - other.kinetic_energy(*there), U - other.potential_energy(there[0]) + zero_there
        worst = max(worst, abs(float(dT / T)), abs(float(dU)) / max(1.0, abs(float(U))))
    return worst


SAYABLE = [
    "cassie_leg", "crank_rocker", "double_pendulum", "five_bar", "gt_chain", "parallelogram", "pbt_chain",
    "planar_leg_linkage",
]  # fmt: skip


@pytest.mark.default_cases("cassie_leg", "double_pendulum", "five_bar")
@pytest.mark.parametrize("name", SAYABLE)
def test_robots_of_thin_rods_plates_and_rotors(name: str, tmp_path: Path) -> None:
    robot = getattr(fb.robots, name)()
    other, _ = again(robot, tmp_path)
    assert other.nv == robot.nv and difference(robot, other) < 1e-12


@pytest.mark.skipif(not REAL.is_dir(), reason="example-robot-data is not installed")
@pytest.mark.parametrize("path", ["go1_description/urdf/go1.urdf", "ur_description/urdf/ur5_robot.urdf"])
def test_real_robots(path: str, tmp_path: Path) -> None:
    robot = fb.load(REAL / path, folders=[SHARED])
    other, _ = again(robot, tmp_path)
    assert difference(robot, other) < 1e-12


@pytest.mark.skipif(not REAL.is_dir(), reason="example-robot-data is not installed")
def test_the_meshes_of_a_real_robot(tmp_path: Path) -> None:
    robot = fb.load(REAL / "ur_description/urdf/ur5_robot.urdf", folders=[SHARED])
    _, report = again(robot, tmp_path)
    model = mujoco.MjModel.from_xml_path(str(tmp_path / "robot.xml"))
    assert model.nmesh == 7  # those to collide with
    assert "7 meshes are left out" in str(report) and "STL, OBJ and MSH files, not .dae" in str(report)
    shapes = [g for body in fb.load(tmp_path / "robot.xml", folders=[SHARED]).mechanism.bodies for g in body.geometry]
    assert sum(g.kind == "mesh" and Path(g.file).is_file() for g in shapes) == 7


ROD = (0.0, 0.1, 0.1)
TURNED = np.array([[0.36, 0.48, -0.8], [-0.8, 0.6, 0.0], [0.48, 0.64, 0.6]])


def principal(*moments: float) -> np.ndarray:
    """An inertia of these principal moments about odd axes."""
    J = TURNED @ np.diag(moments) @ TURNED.T
    return 0.5 * (J + J.T)


def small(name: str) -> fb.System:
    b: Any = fb.Builder(name)
    b.body("a", joint=Revolute("y"), mass=2.0, com=(0.1, 0.2, 0.3), inertia=principal(0.2, 0.3, 0.4))
    place: dict[str, Any] = {"parent": "a", "position": (0.3, 0.1, 0.2), "rotation": TURNED}
    if name == "rod":
        b.body("b", joint=Spherical(), mass=1.0, com=(0, 0.1, 0.2), inertia=principal(0.0, 0.1, 0.1), **place)
    elif name == "rounded":
        b.body("b", joint=Spherical(), mass=1.0, com=(0, 0.1, 0.2), inertia=principal(-2e-22, 0.1, 0.1), **place)
    elif name == "plate":
        b.body("b", joint=Spherical(), mass=1.0, inertia=principal(0.1, 0.2, 0.30000000000000004), **place)
    elif name == "point":
        b.body("b", joint=Revolute("x"), mass=1.0, com=(0.0, 0.5, 0.0), **place)
    elif name == "point fixed":
        b.body("b", joint=Fixed(), mass=1.0, com=(0.0, 0.5, 0.0), **place)
    elif name == "point carried":
        b.body("b", joint=Revolute("x"), **place).body("c", parent="b", mass=1.0, position=(0, 0.5, 0))
    elif name == "without mass":
        b.body("b", joint=Revolute("x"), **place)
        b.body("c", parent="b", joint=Revolute("y"), mass=1.0, com=(0.2, 0, 0.1), inertia=principal(0.1, 0.1, 0.1))
    elif name == "slides":
        b.body("c", joint=Prismatic("z"), mass=1.0)
    elif name == "fixed":
        b.body("b", joint=Fixed(), mass=1.0, inertia=principal(0.0, 0.0, 0.1), allow_unphysical=True, **place)
    elif name == "one axis":
        b.body("c", joint=Revolute("x"), position=(1, 0, 0), mass=1.0, inertia=principal(0.01, 0.02, 0.5),
               allow_unphysical=True)  # fmt: skip
        b.body("d", parent="c", joint=Prismatic("y"), mass=1.0, inertia=principal(0.01, 0.02, 0.5),
               allow_unphysical=True)  # fmt: skip
        b.body("e", parent="d", joint=Revolute("-x"), mass=1.0, inertia=(0.1, 0, 0), allow_unphysical=True)
    elif name == "rotor":
        b.body("b", joint=Revolute("z"), mass=1.0, inertia=(0.01, 0.01, 0.05), allow_unphysical=True, **place)
    return b.build()


MATTER = {
    "rod": "no moment about one axis", "rounded": "no moment about one axis", "plate": "",
    "point": "no moment about one axis", "point fixed": "", "point carried": "'b': no mass",
    "without mass": "body 'b': no mass", "slides": "no moment",
    "fixed": "'b': moments are written with those of the body that it is fixed to",
    "one axis": "bodies 'e', 'd', 'c': turns about one axis at most",
    "rotor": "'b': moments across its hinge are taken from",
}  # fmt: skip


@pytest.mark.parametrize("name", MATTER)
def test_what_mujoco_would_refuse_is_said_so_that_it_moves_the_same(name: str, tmp_path: Path) -> None:
    robot = small(name)
    other, report = again(robot, tmp_path)
    assert difference(robot, other) < 1e-12
    assert MATTER[name] in str(report) and len(report) == bool(MATTER[name])


def test_an_inertia_that_no_matter_has_is_refused_unless_waived(tmp_path: Path) -> None:
    b: Any = fb.Builder("odd").body("a", joint=Revolute("y"), mass=2.0, inertia=(0.2, 0.3, 0.4))
    b.body("b", parent="a", joint=Spherical(), mass=1.0, inertia=principal(0.1, 0.2, 0.36), allow_unphysical=True)
    robot = b.build()
    with pytest.raises(fb.ModelError, match=r"'b': a physically inconsistent inertia \(0.1 \+ 0.2 < 0.36\).*inertia"):
        robot.save(tmp_path / "robot.xml")
    other, report = again(robot, tmp_path, waive=["inertia"])
    assert "the nearest physically consistent one (waived)" in str(report)
    J = np.array(next(x for x in other.mechanism.bodies if x.name == "b").inertia)
    assert np.allclose(np.linalg.eigvalsh(J), [0.12, 0.22, 0.34])


def test_what_is_too_light_to_be_said_is_refused() -> None:
    b = fb.Builder("mote").body("a", joint=Revolute("y"), mass=1e-9, com=(1e-4, 0, 0))
    with pytest.raises(fb.ModelError, match="'a': mass or moments below MuJoCo's minimum"):
        FORMATS["mjcf"].write(b.mechanism(), "a.xml")


# --- rods -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["moored", "delta"])
def test_a_rod_is_a_tendon_that_keeps_its_length(name: str, tmp_path: Path) -> None:
    robot = fb.robots.delta() if name == "delta" else looped.mechanism(name)
    robot.save(tmp_path / "robot.xml", waive=["coordinates"])
    model = mujoco.MjModel.from_xml_path(str(tmp_path / "robot.xml"))
    other = fb.load(tmp_path / "robot.xml")
    rods = lengths(robot)
    assert rods and rods.keys() == lengths(other).keys() and other.nv == robot.nv
    for name, length in rods.items():
        kept = model.tendon_length0[model.tendon(name).id] + model.equality(name).data[0]
        assert abs(kept - length) < 1e-12 and abs(lengths(other)[name] - length) < 1e-12


def lengths(robot: fb.System) -> dict[str, float]:
    return {x.name: x.loop.length for x in robot.mechanism.loops if isinstance(x.loop, Distance)}


TENDON = """<mujoco><worldbody>
<site name="s" pos="0 0 1"/><geom name="g" size=".1" contype="0" conaffinity="0"/>
<body name="a"><joint name="j" axis="0 1 0"/><joint name="k" axis="0 0 1"/><geom size=".1"/><site name="e" pos="1 0 0"/>
<body name="b"><geom size=".1"/><site name="f" pos="0 1 0"/></body></body></worldbody>
<tendon><spatial name="t">{}</spatial><spatial name="u"><site site="s"/><site site="e"/></spatial></tendon>
<equality><tendon name="rod" tendon1="t" {}/></equality></mujoco>"""
STRAIGHT = '<site site="s"/><site site="e"/>'


def test_a_tendon_of_fixed_length_is_read_as_a_rod() -> None:
    robot = fb.loads(TENDON.format(STRAIGHT, 'polycoef=".5 0 0 0 0"'), format="mjcf")
    (named,) = robot.mechanism.loops
    assert isinstance(named.loop, Distance)
    assert (named.loop.bodies, named.loop.predecessor_point) == (("world", "a"), (0.0, 0.0, 1.0))
    assert abs(named.loop.length - (np.sqrt(2.0) + 0.5)) < 1e-12 and robot.nv == 1
    assert "spatial tendon 't' is a rod" in str(robot.report)
    assert "spatial tendon 'u' is ignored" in str(robot.report)


@pytest.mark.parametrize(
    ("path", "more", "words"),
    [
        ('<site site="s"/><geom geom="g"/><site site="e"/>', "", "straight from site to site"),
        ('<site site="s"/><site site="f"/><site site="e"/>', "", "straight from site to site"),
        (STRAIGHT, 'tendon2="u"', "only a single spatial tendon"),
        (STRAIGHT, 'polycoef="-2 0 0 0 0"', "impossible for a rod"),
    ],
)
def test_other_spatial_tendons_are_no_rods(path: str, more: str, words: str) -> None:
    with pytest.raises(fb.ModelError, match=words):
        fb.loads(TENDON.format(path, more), format="mjcf")


def test_a_tendon_between_bodies_that_do_not_move_to_each_other_is_no_loop() -> None:
    robot = fb.loads(TENDON.format('<site site="e"/><site site="f"/>', ""), format="mjcf")
    assert not robot.mechanism.loops and "do not move relative to each other" in str(robot.report)


# --- meshes -----------------------------------------------------------------------------------------------------------

CORNERS = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], float)
FACES = ((0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3))


def stl(path: Path, count: int = 1) -> str:
    path.parent.mkdir(exist_ok=True)
    faces = b"".join(struct.pack("<12fH", 0, 0, 0, *CORNERS[list(f)].ravel(), 0) for f in FACES)
    path.write_bytes(bytes(80) + struct.pack("<I", 4 * count) + faces * count)
    return str(path)


def test_meshes_are_written_with_their_paths(tmp_path: Path) -> None:
    one, two = stl(tmp_path / "meshes" / "part.stl"), stl(tmp_path / "other" / "part.stl")
    (tmp_path / "text.stl").write_text("solid part\nendsolid part\n")
    many = stl(tmp_path / "many.stl", 50_001)
    shapes = [
        Geometry("mesh", mesh="a", file=one), Geometry("mesh", mesh="a", file=one, role="collision"),
        Geometry("mesh", mesh="a", file=one, scale=(2.0, 1.0, 1.0)), Geometry("mesh", mesh="b", file=two),
        Geometry("mesh", mesh="c.dae", file=str(tmp_path / "c.dae")), Geometry("mesh", mesh="d.stl"),
        Geometry("mesh", mesh="t", file=str(tmp_path / "text.stl")), Geometry("mesh", mesh="m", file=many),
        Geometry("mesh", mesh="g", file=str(tmp_path / "gone.obj")),
    ]  # fmt: skip
    b: Any = fb.Builder("a").body("a", joint=Revolute("z"), mass=1, inertia=(1, 1, 1), geometry=shapes)
    robot: fb.System = b.build()
    (tmp_path / "out").mkdir()
    report = robot.save(tmp_path / "out" / "a.xml")
    text = (tmp_path / "out" / "a.xml").read_text()
    assert 'file="../meshes/part.stl"' in text and str(tmp_path) not in text
    model = mujoco.MjModel.from_xml_path(str(tmp_path / "out" / "a.xml"))
    assert (model.nmesh, model.ngeom) == (3, 4) and model.geom_contype.tolist() == [0, 1, 0, 0]
    for words in ("not .dae", "their files are unknown", "binary STL", "at most 200000", "no longer exist"):
        assert words in str(report)
    with pytest.raises(fb.ArgumentError, match="waive"):
        robot.save(tmp_path / "out" / "a.xml", waive=["mesh"])
