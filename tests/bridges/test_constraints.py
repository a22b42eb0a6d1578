"""The same accelerations, contact forces and impacts as Pinocchio's constrained dynamics."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fourbar.constraints import Contact

from .comparison import each, near, states

pin = pytest.importorskip("pinocchio")
pytestmark = pytest.mark.peers

CASES = {
    "talos_reduced": ("weld", ("left_sole_link", "right_sole_link")),
    "anymal_b": ("point", ("LF_FOOT", "RF_FOOT", "LH_FOOT", "RH_FOOT")),
}
EACH = pytest.mark.parametrize("name", CASES)


class Held:
    """One robot in both libraries, with the same frames held; velocities keep them still."""

    def __init__(self, peer: Any, kind: str, frames: tuple[str, ...]) -> None:
        self.peer, self.kind, self.model = peer, kind, peer.model
        self.data = peer.model.createData()
        self.c = peer.robot.constrained(*(Contact(f, kind, axes="frame") for f in frames))
        self.s = states(peer)
        self.v = self.c.impulse(self.s.q, self.s.v)[0]
        self.their_v = peer.v_to_peer(self.v)
        self.constraints, self.memory = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
        six = pin.ContactType.CONTACT_6D if kind == "weld" else pin.ContactType.CONTACT_3D
        for name in frames:
            frame = self.model.frames[self.model.getFrameId(name)]
            place = frame.parentJoint, frame.placement
            self.constraints.append(pin.RigidConstraintModel(six, self.model, *place, pin.ReferenceFrame.LOCAL))
            self.memory.append(self.constraints[-1].createData())
        pin.initConstraintDynamics(self.model, self.data, self.constraints, self.memory)

    def forces(self) -> np.ndarray:
        """Of the last call, in the order of our rows."""
        found = [d.contact_force for d in self.memory]
        return np.concatenate([[*f.angular, *f.linear] if self.kind == "weld" else f.linear for f in found])


_made: dict[str, Held] = {}


@pytest.fixture
def held(name: str, bench: Any) -> Held:
    """One of each name serves all tests."""
    if not bench.robot_folder().is_dir():
        pytest.skip("example-robot-data is not installed")
    if name not in _made:
        _made[name] = Held(bench.load(name), *CASES[name])
    return _made[name]


@pytest.mark.default_cases("anymal_b")
@EACH
def test_accelerations_and_forces(held: Held) -> None:
    settings = pin.ProximalSettings(1e-12, 0.0, 1)

    def theirs(q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> np.ndarray:
        a = pin.constraintDynamics(held.model, held.data, q, v, tau, held.constraints, held.memory, settings)
        return np.concatenate([held.peer.v_from_peer(a), held.forces()])

    found = each(theirs, held.s.their_q, held.their_v, held.s.their_tau)
    a, force = held.c.forward_dynamics(held.s.q, held.v, held.s.tau)
    near(a, found[:, : a.shape[1]], 1e-11)
    near(force, found[:, a.shape[1] :], 1e-11)


@pytest.mark.default_cases("anymal_b")
@EACH
def test_impacts(held: Held) -> None:
    settings = pin.ProximalSettings(1e-12, 0.0, 1)

    def theirs(q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return pin.impulseDynamics(held.model, held.data, q, v, held.constraints, held.memory, 0.3, settings)

    found = held.peer.v_from_peer(each(theirs, held.s.their_q, held.s.their_v))
    after, _ = held.c.impulse(held.s.q, held.s.v, restitution=np.full(held.c.m, 0.3))
    near(after, found, 1e-11)
