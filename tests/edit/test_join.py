"""Robots put together have the energies and equations of their parts; renaming changes nothing else."""

from __future__ import annotations

import numpy as np
import pytest

import fourbar as fb
from fourbar.joints import Fixed, Free, Prismatic, Revolute

from .support import by_joint, close, q_of, robot, state, v_of


@pytest.mark.parametrize("pair", [("four_bar", "5"), ("differential", "geared"), ("0", "four_bar")], ids="+".join)
def test_side_by_side(pair: tuple[str, str]) -> None:
    first, second = robot(pair[0]), robot(pair[1]).with_gravity(robot(pair[0]).gravity)
    both = first.merge(second, prefix="b_", name="both")
    (q, v, a, tau), (q2, v2, a2, tau2) = state(pair[0]), state(pair[1])
    x = [np.concatenate(parts, axis=-1) for parts in ((q, q2), (v, v2), (a, a2), (tau, tau2))]
    assert both.name == "both" and (both.nq, both.nv) == (first.nq + second.nq, first.nv + second.nv)
    close(
        both.inverse_dynamics(*x[:3]),
        np.concatenate([first.inverse_dynamics(q, v, a), second.inverse_dynamics(q2, v2, a2)], axis=-1),
    )
    close(
        both.kinetic_energy(x[0], x[1]), first.kinetic_energy(q, v) + second.kinetic_energy(q2, v2)
    )  # the energies add up
    close(both.potential_energy(x[0]), first.potential_energy(q) + second.potential_energy(q2))
    close(both.pose(x[0], f"b_{second.names.bodies[-1]}"), second.pose(q2, second.names.bodies[-1]))


CARRIED = [
    ("5", "four_bar", "hand", None),
    ("0", "differential", "middle", Revolute((0.6, 0.0, 0.8))),
    ("geared", "3", "tip", None),
]


@pytest.mark.parametrize(("carrier", "name", "frame", "joint"), CARRIED, ids=lambda x: x if isinstance(x, str) else "")
def test_carried(carrier: str, name: str, frame: str, joint: object) -> None:
    """Energies are those of the carrier and of the other robot on a floating base that moves as the mount does."""
    r, other = robot(carrier), robot(name)
    place = {"position": (0.1, -0.2, 0.3), "rpy": (0.3, 0.1, -0.4)}
    both = r.attach(other, frame, joint, prefix="x_", base="mount", **place)
    rng = np.random.default_rng(0)
    q, v = both.random(rng, 3), rng.normal(size=(3, both.nv))
    parts_q, parts_v = by_joint(both, both.expand(q), "nq"), by_joint(both, both.expand_velocity(q, v), "nv")
    alone = {n.removeprefix("x_"): x for n, x in parts_q.items()}, {n.removeprefix("x_"): x for n, x in parts_v.items()}
    own = (
        {n: x for n, x in parts_q.items() if not n.startswith("x_")},
        {n: x for n, x in parts_v.items() if not n.startswith("x_")},
    )
    b = fb.Builder("air", gravity=r.gravity).body("air", joint=Free(), mass=1e-9, inertia=(1e-9, 1e-9, 1e-9))
    flying = b.build().attach(other, "air", base="mount")
    T, V = both.pose(q, "mount"), both.velocity(q, v, "mount", expressed_in="frame")
    at = {"air": np.concatenate([T[:, :3, 3], _quaternions(T[:, :3, :3])], axis=-1), **alone[0]}
    flying_q, flying_v = q_of(flying, at), v_of(flying, {"air": V, **alone[1]})
    kinetic = r.kinetic_energy(q_of(r, own[0]), v_of(r, own[1])) + flying.kinetic_energy(flying_q, flying_v)
    potential = r.potential_energy(q_of(r, own[0])) + flying.potential_energy(flying_q)
    close(both.kinetic_energy(q, v), kinetic, 1e-7)  # the floating anchor has a mass of 1e-9
    close(both.potential_energy(q), potential, 1e-7)
    expected = r.pose(q_of(r, own[0]), frame) @ fb.Builder().body("a", mass=1, **place).build().pose(np.zeros(0), "a")
    if joint is None:
        close(T, expected)


def _quaternions(R: np.ndarray) -> np.ndarray:
    from scipy.spatial.transform import Rotation

    return Rotation.from_matrix(R).as_quat()[:, [3, 0, 1, 2]]


def test_an_arm_on_a_cart_is_what_a_builder_makes() -> None:
    link = {"mass": 1.0, "com": (0.2, 0, 0), "inertia": (0.01, 0.02, 0.02)}
    cart = fb.Builder("cart").body("cart", joint=Prismatic("x"), mass=3.0).frame("top", "cart", position=(0, 0, 0.5))
    arm = fb.Builder("arm").body("upper", joint=Revolute("y"), **link)
    arm.body("fore", parent="upper", joint=Revolute("y"), position=(0.4, 0, 0), **link)
    arm.rotor("rotor", parent="upper", drives="fore", ratio=20, axis="y", mass=0.1, inertia=(1e-4, 1e-4, 1e-4))
    whole = fb.Builder("cart").body("cart", joint=Prismatic("x"), mass=3.0)
    whole.body("upper", parent="cart", joint=Revolute("y"), position=(0, 0, 0.5), **link)
    whole.body("fore", parent="upper", joint=Revolute("y"), position=(0.4, 0, 0), **link)
    whole.rotor("rotor", parent="upper", drives="fore", ratio=20, axis="y", mass=0.1, inertia=(1e-4, 1e-4, 1e-4))
    made, expected = cart.build().attach(arm.build(), "top"), whole.build()
    assert made.names.velocities == expected.names.velocities == ("cart", "upper", "fore")
    assert made.names.bodies == ("cart", "arm_base", "upper", "fore", "rotor")
    rng = np.random.default_rng(0)
    q, v, tau = (rng.normal(size=(4, 3)) for _ in range(3))
    close(made.forward_dynamics(q, v, tau), expected.forward_dynamics(q, v, tau), 1e-13)


def test_configurations_are_joined() -> None:
    def one(name: str, **known: float) -> fb.System:
        b = fb.Builder(name).body(name, joint=Revolute("z"), mass=1, inertia=(1, 1, 1))
        for word, value in known.items():
            b.configuration(word, {name: value})
        return b.build()

    both = one("a", home=0.1, up=0.2).merge(one("b", up=0.3, down=0.4))
    assert {k: v.tolist() for k, v in both.configurations.items()} == {
        "home": [0.1, 0.3], "up": [0.2, 0.3], "down": [0.1, 0.4],
    }  # fmt: skip
    assert one("a").attach(one("b", up=0.3), "a").configurations["up"].tolist() == [0.0, 0.3]


@pytest.mark.parametrize("name", ["geared", "differential", "four_bar", "written", "moored", "own_coordinate", "5"])
def test_renamed_is_the_same_robot(name: str) -> None:
    r = robot(name)
    other = r.renamed(bodies=str.upper, joints=lambda x: f"j_{x}", frames=str.title, loops=lambda x: f"l_{x}", name="R")
    q, v, a, _ = state(name)
    close(other.inverse_dynamics(q, v, a), r.inverse_dynamics(q, v, a), 1e-13)
    assert other.names.velocities == tuple(f"j_{x}" for x in r.names.velocities) and other.name == "R"
    assert other.names.bodies == tuple(x.upper() for x in r.names.bodies)
    back = other.renamed(
        bodies=dict(zip(other.names.bodies, r.names.bodies, strict=True)),
        joints=lambda x: x.removeprefix("j_"),
        frames=dict(zip(other.names.frames, r.names.frames, strict=True)),
        loops=lambda x: x.removeprefix("l_"),
        name=r.name,
    )
    assert back == r


def test_errors() -> None:
    r = robot("four_bar")
    with pytest.raises(fb.ModelError, match="there is already a body 'crank'"):
        r.merge(r)
    with pytest.raises(fb.ModelError, match="with_gravity"):
        r.merge(robot("geared"), prefix="x")
    with pytest.raises(fb.UnknownNameError, match="no frame or body 'crnk'; did you mean 'crank'"):
        r.attach(r, "crnk", prefix="x_")
    with pytest.raises(fb.ModelError, match="joint must be a joint such as"):
        r.attach(r, "crank", "hinge", prefix="x_")  # type: ignore[arg-type]
    with pytest.raises(fb.UnknownNameError, match="no joint 'x'"):
        r.renamed(joints={"x": "y"})
    with pytest.raises(fb.ModelError, match="there is already a body 'rocker'"):
        r.renamed(bodies={"crank": "rocker"})
    with pytest.raises(fb.ModelError, match="loop 'loop': the new name is ''"):
        r.renamed(loops={"loop": ""})
    assert Fixed() in {c.joint for c in r.attach(r, "crank", prefix="x_").mechanism.joints}
