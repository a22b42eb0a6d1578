"""Constrained robots from files in which a joint moves no inertia: what needs no mass is computed."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import fourbar as fb
from fourbar.constraints import Contact
from fourbar.errors import MasslessError
from fourbar.loops import Closure

pytestmark = pytest.mark.filterwarnings("ignore::fourbar.FileWarning")

TIP = """<robot name="tip"><link name="base"/>
<link name="arm"><inertial><mass value="1"/><origin xyz="0.5 0 0"/>
<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link><link name="tip"/>
<joint name="shoulder" type="continuous"><parent link="base"/><child link="arm"/><axis xyz="0 1 0"/></joint>
<joint name="wrist" type="continuous"><parent link="arm"/><child link="tip"/><origin xyz="1 0 0"/><axis xyz="0 1 0"/>
</joint></robot>"""
Q, V, A = [0.1, 0.2], [0.3, -0.4], [1.0, 2.0]


@pytest.mark.parametrize("waive", [[], ["massless"]])
def test_what_needs_no_mass(waive: list[str]) -> None:
    robot = fb.loads(TIP, waive=waive)
    held = robot.constrained(Contact("tip", "touch"), actuated=["shoulder", "wrist"])
    J = np.asarray(robot.jacobian(Q, "tip"))
    assert np.linalg.matrix_rank(held.jacobian(Q)) == 1 and J.shape[1] == 2
    assert np.allclose(held.rate(Q, V), held.jacobian(Q) @ V)
    assert np.allclose(held.acceleration(Q, [0.0, 0.0], A), held.jacobian(Q) @ A)
    tau, force = held.inverse_dynamics(Q, [0.0, 0.0], [0.0, 0.0])
    assert np.allclose(robot.inverse_dynamics(Q, [0.0, 0.0], [0.0, 0.0]), tau + held.jacobian(Q).T @ force)
    assert pickle.loads(pickle.dumps(held)) == held


def test_states_are_projected() -> None:
    robot = fb.loads(TIP, waive=["massless"])
    placed = robot.constrained(Closure(fb.joints.Spherical(), "tip", "world", at_successor=(0.6, 0.0, 0.8)))
    q = placed.project([0.8, 0.0])
    assert np.allclose(placed.residual(q), 0.0, atol=1e-10) and not np.allclose(q[0], 0.8)


@pytest.mark.parametrize("waive", [[], ["massless"]])
@pytest.mark.parametrize("name", ["forward_dynamics", "impulse", "osim_inverse", "hybrid_dynamics", "rank"])
def test_what_needs_mass_is_refused_in_words(name: str, waive: list[str]) -> None:
    held = fb.loads(TIP, waive=waive).constrained(Contact("tip", "touch"))
    given = {"forward_dynamics": (Q, V, A), "impulse": (Q, V), "hybrid_dynamics": (Q, V, A, A)}.get(name, (Q,))
    options = {"prescribed": ["shoulder"]} if name == "hybrid_dynamics" else {}
    with pytest.raises(MasslessError, match="constrained robot: joint 'wrist' moves nothing that has inertia"):
        getattr(held, name)(*given, **options)


def test_drives_travel() -> None:
    drives = fb.loads(TIP, waive=["massless"]).actuated(["shoulder", "wrist"])
    again = pickle.loads(pickle.dumps(drives))
    assert np.array_equal(again.inverse_dynamics(Q, V, A), drives.inverse_dynamics(Q, V, A))
