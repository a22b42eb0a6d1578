"""Every URDF of example-robot-data, read by us and by Pinocchio: the same dynamics to the last digits."""

from __future__ import annotations

from pathlib import Path
from runpy import run_path
from typing import Any

import numpy as np
import pytest

import fourbar as fb

from .comparison import each, near

pin = pytest.importorskip("pinocchio")
pytestmark = pytest.mark.peers

from .urdfs import Twins, load_ours  # noqa: E402

BENCH = Path(__file__).resolve().parents[2] / "bench"
ROBOTS = run_path(str(BENCH / "peer_robots.py"))["robot_folder"]()
FILES = sorted(path.relative_to(ROBOTS).as_posix() for path in ROBOTS.rglob("*.urdf"))
EMPTY = "ur_description/urdf/ur3.urdf"  # has no link
# One file has no links; joints of another, in version 5.0, name links that it does not have.
UNREADABLE = {EMPTY, *(f for f in FILES if Path(f).name == "falcon.urdf")}
SHOWN = {"a1.urdf", "panda.urdf", "romeo_small.urdf", "TwoDofs.urdf", "iris.urdf"}  # the others are slow together
# Nothing of inertia behind some joint, or so little (M has a condition of 3e13) that accelerations have no digits.
SINGULAR = {"romeo.urdf", "romeo_laas_small.urdf", "icub.urdf"}


def each_file(files: list[str]) -> Any:
    marked = [pytest.param(f, marks=() if Path(f).name in SHOWN else pytest.mark.slow) for f in files]
    return pytest.mark.parametrize("file", marked, ids=lambda f: Path(f).stem)


@pytest.mark.skipif(not FILES, reason="example-robot-data is not installed")
@pytest.mark.filterwarnings("ignore::fourbar.FileWarning")
def test_every_file_loads() -> None:
    """All but those that cannot be read; some need a waiver, because matter, joints or mimics in them cannot be."""
    assert len(FILES) >= 60
    waived = []
    for file in FILES:
        try:
            fb.load(ROBOTS / file)
        except fb.ParseError as error:
            assert all(f.line > 0 for f in error.report.errors)
            waived.append(file)
            if file not in UNREADABLE:
                load_ours(ROBOTS / file, floating=False)
    assert EMPTY in waived and len(waived) <= 12, waived


@pytest.mark.default_cases("a1-floating", "TwoDofs-fixed", "panda-fixed", "iris-floating")
@pytest.mark.parametrize("floating", [False, True], ids=["fixed", "floating"])
@each_file([f for f in FILES if f not in UNREADABLE])
def test_dynamics(file: str, floating: bool) -> None:
    """Trees: mimics are cut in both."""
    if floating and 'link name="world"' in (ROBOTS / file).read_text(encoding="utf-8"):
        pytest.skip("the root is the world itself, which does not float")
    if load_ours(ROBOTS / file, floating).nv == 0:
        pytest.skip("nothing moves")
    twins = Twins(ROBOTS / file, floating)
    rng = np.random.default_rng(0)
    q = twins.tree.random(rng, 3)
    v, a, tau = (rng.normal(size=(3, twins.tree.nv)) for _ in range(3))
    model, data, their_q, their_v = twins.peer.model, twins.peer.data, twins.q_to_peer(q), twins.v_to_peer(v)
    forces = each(lambda *x: pin.rnea(model, data, *x), their_q, their_v, twins.v_to_peer(a))
    near(twins.tree.inverse_dynamics(q, v, a), twins.v_from_peer(forces), 1e-12)
    M = each(lambda x: np.triu(pin.crba(model, data, x)), their_q)
    M = twins.matrix_from_peer(M + np.swapaxes(np.triu(M, 1), 1, 2))
    near(twins.tree.mass_matrix(q), M, 1e-12)
    if Path(file).name in SINGULAR:
        return
    accelerations = each(lambda *x: pin.aba(model, data, *x), their_q, their_v, twins.v_to_peer(tau))
    near(twins.tree.forward_dynamics(q, v, tau), twins.v_from_peer(accelerations), 1e-12)


@pytest.mark.parametrize("file", ["panda_description/urdf/panda.urdf", "baxter_description/urdf/baxter.urdf"])
def test_mimics(file: str) -> None:
    """Their inverse dynamics and mass matrix of joints that mimic others, as ours with exact couplings."""
    robot = load_ours(ROBOTS / file, floating=False)
    model = pin.buildModelFromUrdf(str(ROBOTS / file), mimic=True)
    data = model.createData()
    names = [model.names[i] for i in range(1, model.njoints) if model.joints[i].nv]
    order = [robot.names.velocities.index(name) for name in names]
    assert len(order) == robot.nv < robot.spanning().nv
    rng = np.random.default_rng(1)
    q = robot.random(rng, 3)
    v, a = rng.normal(size=(2, 3, robot.nv))
    their_q = np.array([x[order] for x in q])
    forces = each(lambda *x: pin.rnea(model, data, *x), their_q, v[:, order], a[:, order])
    near(robot.inverse_dynamics(q, v, a)[:, order], forces, 1e-12)
    M = each(lambda x: np.triu(pin.crba(model, data, x)), their_q)
    near(robot.mass_matrix(q)[:, order][:, :, order], M + np.swapaxes(np.triu(M, 1), 1, 2), 1e-12)
