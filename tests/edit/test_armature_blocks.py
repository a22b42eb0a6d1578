"""Armature that couples joints: declared, edited, written and read."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import fourbar as fb
from fourbar.joints import Revolute, Spherical

BODY = {"mass": 1.3, "com": (0.1, -0.2, 0.3), "inertia": (0.3, 0.4, 0.2)}
BELTS = [[0.3, 0.12], [0.12, 0.2]]


def leg() -> fb.Builder:
    b = fb.Builder("leg").body("thigh", joint=Revolute("x"), joint_name="hip", armature=0.05, **BODY)
    b.body("shin", parent="thigh", joint=Revolute("y"), joint_name="knee", position=(0, 0, -0.4), **BODY)
    return b.body("foot", parent="shin", joint=Revolute("y"), joint_name="ankle", position=(0, 0, -0.4), **BODY)


def belted() -> fb.System:
    return leg().armature(["knee", "ankle"], BELTS, name="belts").build()


def difference(robot: fb.System, other: fb.System) -> np.ndarray:
    q = robot.random(0, 3)
    return robot.mass_matrix(q) - other.mass_matrix(q)


@pytest.mark.quick
@pytest.mark.parametrize(
    ("joints", "matrix", "said"),
    [
        (["knee", "toe"], BELTS, "armature 'belts'.*no joint 'toe'"),
        (["knee"], BELTS, "expected a matrix of 1 rows.*'knee'.*got 2"),
        (["knee", "knee"], BELTS, "expected different joints"),
        ("knee", BELTS, r"expected a list of joints, such as \['knee'\]"),
        (["knee", "ankle"], [[1.0, 0.5], [0.2, 1.0]], "not symmetric"),
        (["knee", "ankle"], [[1.0, 2.0], [2.0, 1.0]], "negative eigenvalue"),
        (["knee", "ankle"], [[0.0, 1e-9], [1e-9, 1.0]], "negative eigenvalue"),
        (["knee", "ankle"], [[1.0, np.nan], [np.nan, 1.0]], "finite numbers"),
        (["knee", "ankle"], [[1.0, "x"], [1.0, 1.0]], "symmetric matrix of numbers"),
        (["knee", "ankle"], [[1e308, 0.0], [0.0, 1e308]], "check the units"),
        (["knee", "ankle"], [1.0, 2.0], "symmetric matrix"),
    ],
)
def test_what_is_wrong_is_refused(joints: object, matrix: object, said: str) -> None:
    with pytest.raises(fb.ModelError, match=said):
        leg().armature(joints, matrix, name="belts").build()


def test_names_and_fixed_joints() -> None:
    with pytest.raises(fb.ModelError, match="already an armature 'belts'"):
        leg().armature(["knee"], [[1.0]], name="belts").armature(["ankle"], [[1.0]], name="belts")
    with pytest.raises(fb.ModelError, match="non-empty string, got 3"):
        leg().armature(["knee"], [[1.0]], name=3)  # type: ignore[arg-type]
    b = leg().body("camera", parent="thigh")
    with pytest.raises(fb.ModelError, match="joint 'camera' is fixed; leave it out"):
        b.armature(["knee", "camera"], [[1.0]]).build()


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
def test_rank_one_in_any_units(scale: float) -> None:
    """A single rotor that both joints drive: rounding makes no negative eigenvalue of it."""
    c = np.array([12.0, 7.0 * scale])
    leg().armature(["knee", "ankle"], 1.7e-4 * np.outer(c, c)).build()


def test_files(tmp_path: Path) -> None:
    robot = belted()
    for name in ("leg.json", "leg.toml"):
        robot.save(tmp_path / name)
        again = fb.load(tmp_path / name)
        assert again == robot and again.mechanism.armatures == robot.mechanism.armatures
    text = (tmp_path / "leg.json").read_text().replace('ankle"]', 'toe"]').replace('"ankle"\n', '"toe"\n')
    (tmp_path / "wrong.json").write_text(text)
    with pytest.raises(fb.ModelError, match=r"wrong\.json.*'toe'"):
        fb.load(tmp_path / "wrong.json")


@pytest.mark.parametrize("name", ["leg.urdf", "leg.sdf", "leg.xml"])
def test_other_formats_refuse_by_name(name: str, tmp_path: Path) -> None:
    with pytest.raises(
        fb.ModelError, match="cannot express: armature 'belts', which couples velocities of 'knee', 'ankle'"
    ):
        belted().save(tmp_path / name)
    report = belted().save(tmp_path / name, waive=["armature"])
    assert any("belts" in str(x) for x in report.findings)
    assert not fb.load(tmp_path / name).mechanism.armatures


def test_a_diagonal_is_written_as_armature_of_joints(tmp_path: Path) -> None:
    robot = leg().armature(["hip", "ankle"], np.diag([0.3, 0.2])).build()
    robot.save(tmp_path / "leg.xml")
    armatures = {c.name: c.armature for c in fb.load(tmp_path / "leg.xml").mechanism.joints}
    assert armatures["hip"] == pytest.approx((0.35,)) and armatures["ankle"] == pytest.approx((0.2,))


def test_edits() -> None:
    robot = belted()
    other = robot.with_parameters(armatures={"belts": {"matrix": np.eye(2)}})
    assert np.allclose(difference(other, robot)[:, 1:, 1:], np.eye(2) - BELTS)
    with pytest.raises(fb.ModelError, match="'masses'"):
        robot.with_parameters(armatures={"belts": {"masses": 1.0}})
    renamed = robot.renamed(joints={"knee": "k"}, armatures={"belts": "B"})
    assert [(x.name, x.joints) for x in renamed.mechanism.armatures] == [("B", ("k", "ankle"))]
    two = robot.merge(robot, prefix="other_")
    assert [x.name for x in two.mechanism.armatures] == ["belts", "other_belts"]
    assert two.mechanism.armatures[1].joints == ("other_knee", "other_ankle")


def test_locked_joints_leave_their_rows() -> None:
    """What is left of M is the part of the joints that move."""
    robot = belted()
    for joint, left in (("knee", "ankle"), ("ankle", "knee"), ("hip", None)):
        locked = robot.lock([joint])
        kept = [robot.names.velocities.index(name) for name in locked.names.velocities]
        q = np.zeros((1, 3))
        assert np.allclose(locked.mass_matrix(q[:, kept]), robot.mass_matrix(q)[:, kept][:, :, kept])
        assert left is None or locked.mechanism.armatures[0].joints == (left,)
    assert robot.sub("foot").mechanism.armatures[0].matrix == ((0.2,),)
    assert robot.sub("thigh").mechanism.armatures == robot.mechanism.armatures


def test_mirror_image() -> None:
    """The kinetic energy of the image is the same, also of a ball whose axes are reflected."""
    b = leg().body("ball", parent="foot", joint=Spherical(), **BODY)
    L = np.random.default_rng(0).normal(size=(4, 4))
    robot = b.armature(["ball", "knee"], L @ L.T).build()
    q, v = robot.random(0), np.random.default_rng(1).normal(size=robot.nv)
    for plane in ("x", "y", (0.6, 0.0, 0.8)):
        image = robot.mirrored(plane)
        assert image.kinetic_energy(*robot.mirrored_state(q, v, plane)) == pytest.approx(robot.kinetic_energy(q, v))


def test_information_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from fourbar.cli.main import main

    belted().save(tmp_path / "leg.json")
    main(["info", str(tmp_path / "leg.json")])
    assert "knee, ankle" in (said := capsys.readouterr().out) and "0.3 0.12; 0.12 0.2" in said


def test_identification_takes_blocks_as_known_and_says_so() -> None:
    robot = belted()
    rng = np.random.default_rng(0)
    q, (v, a) = robot.random(rng, 300), rng.normal(size=(2, 300, robot.nv))
    data = {"q": q, "v": v, "a": a, "tau": robot.inverse_dynamics(q, v, a)}
    result = fb.identify(robot, data, columns=("inertia", "armature"), noise=0.01)
    blocks = [n for n in result.names if n.startswith("belts.")]
    said = dict(zip(result.names, result.statuses, strict=True))
    assert len(blocks) == 3 and all(said[n] == "taken as known" for n in blocks)
    assert "taken as known (armature that couples joints" in str(result) and "belts.knee.ankle.armature" in str(result)
    assert result.robot.mechanism.armatures == robot.mechanism.armatures
