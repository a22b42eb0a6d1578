"""The regressor against Pinocchio's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from .comparison import each, near, states

pin = pytest.importorskip("pinocchio")
pytestmark = pytest.mark.peers

THEIR_ORDER = [0, 1, 2, 3, 4, 5, 7, 6, 8, 9]  # their parameters of a body, xx xy yy xz yz zz, in our order


@pytest.mark.parametrize("name", ["panda", "anymal_b"])
def test_joint_torque_regressor(name: str, bench: Any) -> None:
    if not bench.robot_folder().is_dir():
        pytest.skip("example-robot-data is not installed")
    peer = bench.load(name)
    s = states(peer)
    theirs = each(
        lambda *x: pin.computeJointTorqueRegressor(peer.model, peer.data, *x), s.their_q, s.their_v, s.their_a
    )
    theirs = peer.v_from_peer(theirs.swapaxes(1, 2)).swapaxes(1, 2).reshape(len(s.q), peer.robot.nv, -1, 10)
    ours = peer.robot.regressor(s.q, s.v, s.a, columns="inertia")
    near(ours, np.ascontiguousarray(theirs[..., THEIR_ORDER]).reshape(ours.shape))
