"""A locked robot moves as the robot does when the locked joints are held, and feels the same forces."""

from __future__ import annotations

import numpy as np
import pytest

import fourbar as fb
from fourbar import System
from fourbar.joints import Fixed, Revolute
from fourbar.loops import Constraint, Coupling, Gear

from .support import by_joint, close, q_of, robot, state, v_of

CASES = [
    ("four_bar", ["crank"]),
    ("geared", ["base", "wheel"]),
    pytest.param("geared", ["knob", "tip"], marks=pytest.mark.slow),
    ("differential", ["tilt"]),
    ("differential", ["motor", "hand"]),
    pytest.param("chained", ["b_coupler", "trolley"], marks=pytest.mark.slow),
    ("nested", ["tool"]),
    pytest.param("tripod", ["leg1"], marks=pytest.mark.slow),
    ("moored", ["arm"]),
    pytest.param("moored", ["base"], marks=pytest.mark.slow),
    ("explicit", ["follower"]),
    ("explicit", ["cart"]),
    ("spatial_crank", ["turret"]),
    ("spatial_crank", ["link"]),
    ("written", ["lift"]),
    pytest.param("written", ["bob"], marks=pytest.mark.slow),
    pytest.param("own_coordinate", ["swing"], marks=pytest.mark.slow),
    ("own_coordinate", ["slab"]),
    *((str(i), None) for i in (0, 5)),
]
EACH = pytest.mark.parametrize(("name", "joints"), CASES, ids=lambda x: x if isinstance(x, str) else "+".join(x or []))


def every_second(r: System) -> list[str]:
    return [c.name for c in r.model.cluster_tree.moving][::2]


class Held:
    """A robot, the same locked at one configuration, and a state of both."""

    def __init__(self, name: str, joints: list[str] | None) -> None:
        self.r = robot(name)
        self.q0 = state(name)[0][0]
        self.locked = self.r.lock(joints or every_second(self.r), self.q0)
        rng = np.random.default_rng(3)
        at = by_joint(self.r, self.r.expand(self.q0), "nq")
        self.stuck = {name: x for name, x in at.items() if name not in self.free}
        self.start = q_of(self.locked, at) if self.free else np.zeros(0)
        self.v = rng.normal(size=self.locked.nv)
        self.a = rng.normal(size=self.locked.nv)
        self.q = self.locked.integrate(self.start, self.v, 0.01)  # not just where it was locked

    @property
    def free(self) -> set[str]:
        return {c.name for c in self.locked.model.cluster_tree.moving}

    def whole_q(self) -> np.ndarray:
        return q_of(self.r, {**self.stuck, **by_joint(self.locked, self.locked.expand(self.q), "nq")})

    def whole(self, full: np.ndarray) -> np.ndarray:
        """Independent velocities of the robot, from velocities of the joints of the locked one."""
        still = {c.name: np.zeros(c.joint.nv) for c in self.r.model.cluster_tree.moving}
        return v_of(self.r, {**still, **by_joint(self.locked, full, "nv")})


@pytest.mark.default_cases("geared-base+wheel", "own_coordinate-slab", "0-")
@EACH
def test_equations_are_the_reduced_ones(name: str, joints: list[str] | None) -> None:
    h = Held(name, joints)
    q = h.whole_q()
    assert np.all(h.r.loop_gap(q) < 1e-10)
    v = h.whole(h.locked.expand_velocity(h.q, h.v))
    a = h.whole(h.locked.expand_acceleration(h.q, h.v, h.a))
    unit = np.array([h.whole(h.locked.expand_velocity(h.q, e)) for e in np.eye(h.locked.nv)]).reshape(-1, h.r.nv)
    close(h.locked.inverse_dynamics(h.q, h.v, h.a), unit @ h.r.inverse_dynamics(q, v, a), 1e-10)
    close(h.locked.mass_matrix(h.q), unit @ h.r.mass_matrix(q) @ unit.T, 1e-10)
    close(h.locked.kinetic_energy(h.q, h.v), h.r.kinetic_energy(q, v))
    lifted = h.locked.potential_energy(h.q) - h.locked.potential_energy(h.start)
    close(lifted, h.r.potential_energy(q) - h.r.potential_energy(h.q0))  # what stands on the ground does not count
    for body in h.r.names.bodies:
        close(h.locked.pose(h.q, body), h.r.pose(q, body), 1e-10)
    still = by_joint(h.r, h.r.expand_velocity(q, v), "nv")
    assert all(np.abs(still[name]).max() < 1e-9 for name in h.stuck)  # the robot agrees that these do not move


@EACH
def test_names_and_bodies_stay(name: str, joints: list[str] | None) -> None:
    r = robot(name)
    locked = r.lock(joints or every_second(r), state(name)[0][0])
    assert locked.names.bodies == r.names.bodies and locked.names.joints == r.names.joints
    assert locked.names.frames == r.names.frames
    kept = [c for c in locked.mechanism.joints if not isinstance(c.joint, Fixed)]
    assert all(c in r.mechanism.joints for c in kept)


@pytest.mark.parametrize("number", ["1", "6"])
def test_forward_dynamics_is_that_of_prescribed_rest(number: str) -> None:
    r = robot(number)
    joints = every_second(r)
    q, v, _, tau = (x[0] for x in state(number))
    locked = r.lock(joints, q)
    v = v_of(r, {n: 0.0 * x if n in joints else x for n, x in by_joint(r, v, "nv").items()})
    a, _ = r.hybrid_dynamics(q, v, np.zeros(r.nv), tau, prescribed=joints)
    of_locked = [q_of(locked, by_joint(r, q, "nq")), *(v_of(locked, by_joint(r, x, "nv")) for x in (v, tau))]
    close(locked.forward_dynamics(*of_locked), v_of(locked, by_joint(r, a, "nv")), 1e-9)


def test_what_loops_hold_becomes_fixed() -> None:
    bars = robot("four_bar").lock(["crank"])
    assert bars.nv == 0 and bars.mechanism.loops == ()
    assert bars.mass_matrix(np.zeros(0)).shape == (0, 0)
    nested = robot("nested").lock(["rotor"], state("nested")[0][0])
    assert nested.names.velocities == ("tool",)  # the gear holds the coupler, and that the crank and everything else


def test_independent_choice_is_kept_where_it_can_be() -> None:
    geared = robot("geared")
    assert geared.lock(["slide"]).names.velocities[-2:] == ("knob", "finger")
    chained = robot("chained").lock(["trolley"])
    loops = {x.name: x.independent for x in chained.mechanism.loops}
    assert loops["second"] == (("b_rocker", 2.0),)
    bevels = robot("differential").lock(["motor"])  # holds an independent one: the other is left
    assert bevels.names.velocities[0] == "right"


def test_a_held_coupling_is_still_a_coupling() -> None:
    geared = robot("geared")
    locked = geared.lock({"pulley": 2.0})
    belt = next(x.loop for x in locked.mechanism.loops if x.name == "belt")
    assert belt == Coupling({"slide": 1.0, "knob": 0.1}, offset=0.03 + 0.05 * 2.0)


def test_a_mapping_gives_coordinates() -> None:
    bars = robot("four_bar")
    locked = bars.lock({"crank": 0.9}, q=bars.assemble([0.8, 0.0, 1.5], keep=["crank"]))
    q = bars.assemble([0.9, 0.0, 1.5], keep=["crank"])
    for body in bars.names.bodies:
        close(locked.pose(np.zeros(0), body), bars.pose(q, body))
    hand = robot("differential")
    half = np.sqrt(0.5)
    turned = hand.lock({"hand": (half, half, 0, 0)})
    close(turned.pose(turned.neutral(), "hand")[:3, :3], [[1, 0, 0], [0, 0, -1], [0, 1, 0]])


def test_user_loops_are_held_too() -> None:
    b = fb.Builder("three")
    for name in ("a", "b", "c"):
        b.body(name, joint=Revolute("z"), mass=1.0, inertia=(1, 1, 1))
    b.loop(Constraint(lambda x, y, z: x * y - fb.sin(z) + x, ["a", "b", "c"]), name="rule", independent=["a", "b"])
    r = b.build()
    locked = r.lock({"b": 0.5}, q=r.assemble([0.1, 0.5, 0.2]))
    assert locked.names.velocities == ("a",)
    q = locked.assemble([0.3, 0.4], keep=["a"])
    assert abs(0.3 * 0.5 + 0.3 - np.sin(q[1])) < 1e-12
    b = fb.Builder("two")
    for name in ("a", "b"):
        b.body(name, joint=Revolute("z"), mass=1.0, inertia=(1, 1, 1))
    assert b.loop(Gear("a", "b", 0.0, offset=0.3)).build().lock(["b"]).nv == 1  # b stands still anyway


def test_nothing_to_lock() -> None:
    r = robot("four_bar")
    assert r.lock([]) == r


def test_errors() -> None:
    r = robot("four_bar")
    with pytest.raises(fb.ModelError, match=r"such as \['crank'\]"):
        r.lock("crank")
    with pytest.raises(fb.UnknownNameError, match="no moving joint 'crnk'; did you mean 'crank'"):
        r.lock(["crnk"])
    with pytest.raises(fb.AssemblyError, match=r"loops .loop. are open by .* robot.assemble"):
        r.lock(["crank"], [0.1, 0.2, 0.3])
    with pytest.raises(fb.ArgumentError, match="expected 3 finite numbers, got shape"):
        r.lock(["crank"], [0.1])
    with pytest.raises(fb.ArgumentError, match="'crank' takes 1 finite coordinates, got"):
        r.lock({"crank": (0.1, 0.2)})
    with pytest.raises(fb.AssemblyError, match="with 'crank', 'rocker' fixed"):
        r.lock({"crank": 0.0, "rocker": 3.0})
