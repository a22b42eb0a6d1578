"""MJCF: the same numbers as MuJoCo, which compiles the files, computes from them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fourbar as fb

from .mjcf_models import LOOPS, TREES

mujoco = pytest.importorskip("mujoco")
pytestmark = pytest.mark.peers
TOLERANCE = 1e-13
_FORCES_OFF = ("CONSTRAINT", "SPRING", "DAMPER", "ACTUATION", "LIMIT", "CONTACT", "FRICTIONLOSS")


def peer_of(model: Any, robot: fb.System) -> Any:
    from fourbar.bridges.mujoco import Peer

    return Peer(model, robot)


def only_rigid(model: Any) -> Any:
    """The model with everything off that is no rigid-body dynamics."""
    for flag in _FORCES_OFF:
        model.opt.disableflags |= getattr(mujoco.mjtDisableBit, f"mjDSBL_{flag}")
    model.body_gravcomp[:] = 0.0
    model.opt.density, model.opt.viscosity = 0.0, 0.0
    return model


def relative(ours: np.ndarray, theirs: np.ndarray, size: float) -> float:
    return float(np.abs(ours - theirs).max(initial=0.0)) / max(size, 1e-300)


def worst_errors(model: Any, robot: fb.System, seed: int = 0, samples: int = 3) -> dict[str, float]:
    """The largest relative differences of mass matrix, bias and inverse dynamics at random states."""
    peer, data, rng = peer_of(model, robot), mujoco.MjData(model), np.random.default_rng(seed)
    worst = dict.fromkeys(("mass_matrix", "inverse_dynamics", "bias_force"), 0.0)
    for _ in range(samples):
        q = robot.random(rng)
        v, a = rng.normal(size=robot.nv), rng.normal(size=robot.nv)

        def inverse(acceleration: np.ndarray, q: np.ndarray = q, v: np.ndarray = v) -> np.ndarray:
            data.qpos[:], data.qvel[:] = peer.q_to_peer(q), peer.v_to_peer(v, q)
            data.qacc[:] = peer.a_to_peer(acceleration, q, v)
            mujoco.mj_inverse(model, data)
            return peer.force_from_peer(data.qfrc_inverse.copy(), q)

        tau, bias = inverse(a), inverse(np.zeros_like(a))
        M = np.zeros((model.nv, model.nv))
        mujoco.mj_fullM(model, data, M)
        M = peer.matrix_from_peer(M, q)
        size = np.abs(tau).max(initial=0.0)  # a bias may vanish but for rounding
        found = {
            "mass_matrix": relative(robot.mass_matrix(q), M, np.abs(M).max(initial=0.0)),
            "inverse_dynamics": relative(robot.inverse_dynamics(q, v, a), tau, size),
            "bias_force": relative(robot.bias_force(q, v), bias, size),
        }
        worst = {key: max(worst[key], found[key]) for key in worst}
    return worst


def both(text: str) -> tuple[Any, fb.System]:
    return only_rigid(mujoco.MjModel.from_xml_string(text)), fb.loads(text, format="mjcf")


@pytest.mark.parametrize("name", TREES)
def test_trees_have_the_same_dynamics(name: str) -> None:
    model, robot = both(TREES[name])
    assert (robot.nq, robot.nv) == (model.nq, model.nv)
    for method, error in worst_errors(model, robot).items():
        assert error < TOLERANCE, method


@pytest.mark.parametrize("name", TREES)
def test_bodies_and_sites_are_where_they_are(name: str) -> None:
    model, robot = both(TREES[name])
    data = mujoco.MjData(model)
    data.qpos[:] = q = robot.random(rng=1)
    mujoco.mj_kinematics(model, data)
    for i in range(1, model.nbody):
        pose = robot.pose(q, model.body(i).name)
        assert np.allclose(pose[:3, :3], data.xmat[i].reshape(3, 3), rtol=0, atol=1e-14)
        assert np.allclose(pose[:3, 3], data.xpos[i], rtol=0, atol=1e-14)


@pytest.mark.default_cases("connect", "weld", "weld that may turn", "joint", "quartic", "tendon", "several")
@pytest.mark.parametrize("name", LOOPS)
def test_loops_hold_what_equalities_hold(name: str) -> None:
    """Where our loops are closed MuJoCo's equalities are, its constraint Jacobian allows our velocities, and the
    dynamics projected on them is the same."""
    text, free = LOOPS[name]
    model, robot = mujoco.MjModel.from_xml_string(text), fb.loads(text, format="mjcf")
    assert robot.nv == free
    peer, data, rng = peer_of(model, robot), mujoco.MjData(model), np.random.default_rng(0)
    for _ in range(3):
        q = robot.random(rng)
        data.qpos[:] = peer.q_to_peer(q)
        data.qvel[:] = peer.v_to_peer(rng.normal(size=robot.nv), q)
        mujoco.mj_forward(model, data)
        held = data.efc_type == mujoco.mjtConstraint.mjCNSTR_EQUALITY
        assert held.any()
        angular = name.startswith("weld") and name != "weld that may turn"
        assert np.abs(data.efc_pos[held]).max() < (3e-8 if angular else 1e-12)
        assert np.abs(data.efc_vel[held]).max() < 1e-12
    for method, error in worst_errors(only_rigid(model), robot).items():
        assert error < TOLERANCE, method


def test_the_velocity_of_a_free_joint_is_converted() -> None:
    """MuJoCo's own differentiation of positions, against ours."""
    model, robot = both(TREES["tree on a free base"])
    peer, rng = peer_of(model, robot), np.random.default_rng(3)
    q, v, dt = robot.random(rng), rng.normal(size=robot.nv), 1e-7
    moved = np.zeros(model.nv)
    mujoco.mj_differentiatePos(model, moved, 2 * dt, robot.integrate(q, v, -dt), robot.integrate(q, v, dt))
    assert np.allclose(moved, peer.v_to_peer(v, q), rtol=0, atol=1e-8)


def test_a_compiled_model_is_converted_too() -> None:
    from fourbar.bridges.mujoco import from_mujoco

    text = TREES["several joints"]
    robot, report = from_mujoco(mujoco.MjModel.from_xml_string(text))
    ours = fb.loads(text, format="mjcf")
    q = robot.random(rng=0)
    assert np.array_equal(robot.mass_matrix(q), ours.mass_matrix(q))
    assert not report.errors


@pytest.mark.parametrize("offset", [2.4e-9, 9e-7, 1.1e-6, 1e-3])
def test_a_centre_of_mass_near_the_origin(offset: float) -> None:
    """MuJoCo takes one less than 1e-6 away for the origin; the product of mass and offset is the right answer."""
    model, robot = both(
        f'<mujoco><worldbody><body name="b"><freejoint/><inertial pos="{offset!r} 0 0" mass="178.25" '
        'diaginertia="2 3 4"/></body></worldbody></mujoco>'
    )
    data, M = mujoco.MjData(model), np.zeros((6, 6))
    mujoco.mj_forward(model, data)
    mujoco.mj_fullM(model, data, M)
    ours = np.abs(robot.mass_matrix(robot.neutral())[3:, :3]).max()
    assert np.isclose(ours, 178.25 * offset, rtol=1e-14)
    assert np.isclose(np.abs(M[:3, 3:]).max(), 178.25 * offset if offset > 1e-6 else 0.0, rtol=1e-12)


# --- MuJoCo Menagerie -------------------------------------------------------------------------------------------------

_ROOT = os.environ.get("MENAGERIE_ROOT", "")
_FILES = sorted(p for p in Path(_ROOT).rglob("*.xml") if "<mujoco" in p.read_text("utf-8")) if _ROOT else []


@pytest.mark.slow
@pytest.mark.skipif(not _FILES, reason="MENAGERIE_ROOT does not name a copy of MuJoCo Menagerie")
@pytest.mark.parametrize("path", _FILES or [Path()], ids=lambda p: p.as_posix().removeprefix(_ROOT))
@pytest.mark.filterwarnings("ignore::fourbar.FileWarning", "ignore::UserWarning")
def test_menagerie(path: Path) -> None:
    """Every model that MuJoCo compiles without its meshes loads; what needs waiving is reported; the dynamics agree."""
    from fourbar.bridges.mujoco import from_mujoco
    from fourbar.io.mjcf.compiled import compile_texts
    from fourbar.io.mjcf.strict_text import read_texts
    from fourbar.io.source import Options, read_source

    options, source = Options(waive=("*",), folders=(Path(_ROOT),)), read_source(path)
    try:
        model, _ = compile_texts(read_texts(source, options, options.reading(source)), options.reading(source))
    except fb.ModelError as error:
        pytest.skip(f"MuJoCo does not compile it without meshes: {error}")
    if model.nbody < 2:
        pytest.skip("a scene without bodies")
    robot, report = from_mujoco(model, waive=("*",))
    said = str(report)
    used = {loop.name for loop in robot.mechanism.loops}
    for i in range(model.neq):
        name = model.equality(i).name or f"equality{i}"
        assert name in used or f"equality {name!r}" in said
    for i in range(model.ntendon):
        assert f"tendon {model.tendon(i).name or f'tendon{i}'!r}" in said
    for i in range(model.nactuator):
        name = model.actuator(i).name or f"actuator{i}"
        assert name in robot.names.actuators or f"actuator {name!r}" in said
    assert all(robot.loop_gap(q) < 1e-9 for q in robot.configurations.values())
    for method, error in worst_errors(only_rigid(model), robot).items():
        assert error < 1e-9, method
