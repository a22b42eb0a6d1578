"""Armature that couples joints: a symmetric block of the mass matrix, in all algorithms the same Lagrangian."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import fourbar as fb
from fourbar.joints import Free, Joint, Planar, Prismatic, Revolute, Spherical
from fourbar.reference.lagrange import Lagrangian
from tests.loops import looped

BODY = {"mass": 1.3, "com": (0.1, -0.2, 0.3), "inertia": (0.3, 0.4, 0.2)}
BELTS = np.array([[0.3, 0.12], [0.12, 0.2]])


def definite(seed: int, n: int) -> np.ndarray:
    """A random inertia (n, n)."""
    L = np.random.default_rng(seed).normal(size=(n, n))
    return L @ L.T


def arm(b: fb.Builder, a: Joint, c: Joint) -> fb.Builder:
    """A floating base with a forked arm: joints a, m, b and c, of which m hangs on the first, too."""
    b.body("base", joint=Free(), **BODY)
    b.body("a", parent="base", joint=a, position=(0.1, 0.2, 0.3), armature=0.2, **BODY)
    b.body("m", parent="a", joint=Revolute("x"), position=(0.1, 0.2, 0.3), **BODY)
    b.body("b", parent="a", joint=Revolute("z"), position=(0.3, 0.2, 0.3), **BODY)
    return b.body("c", parent="b", joint=c, position=(0.2, 0.1, 0.3), **BODY)


def coupled(a: Joint, c: Joint, matrix: np.ndarray | None = None) -> fb.System:
    A = definite(0, a.nv + c.nv) if matrix is None else matrix
    return arm(fb.Builder("coupled"), a, c).armature(["a", "c"], A, name="belts").build()


def geared() -> fb.System:
    """Joints of an arm, one of which drives a rotor, with blocks that couple it to a ball and to a slide."""
    b = arm(fb.Builder("geared"), Spherical(), Prismatic("x"))
    b.rotor("rotor", parent="a", drives="b", ratio=4.0, axis="y", mass=0.1, inertia=(1e-2, 2e-2, 1e-2))
    return b.armature(["b", "a"], definite(1, 4)).armature(["c", "b"], definite(2, 2)).build()


def on_a_four_bar() -> fb.System:
    """Joints on two bodies of a four-bar: their cluster hangs on both."""
    b = fb.Builder("four_bar")
    b.loop(looped.bars(b, "", (1.0, 0.4, 0.9, 0.7)), name="four_bar", independent=["crank"])
    b.body("left", parent="crank", joint=Revolute("x"), position=(0.2, 0.1, 0.0), **BODY)
    b.body("right", parent="coupler", joint=Revolute((0.0, 0.6, 0.8)), position=(0.3, 0.1, 0.0), **BODY)
    b.configuration("bent", {"crank": 0.9, "coupler": -0.5, "rocker": 1.2})
    return b.armature(["left", "right"], BELTS).build()


ROBOTS = {
    "hinges": lambda: coupled(Revolute("y"), Revolute("x")),
    "ball": lambda: coupled(Spherical(), Prismatic("x")),
    "planar_and_free": lambda: coupled(Planar(), Free()),
    "one_joint": lambda: arm(fb.Builder("one"), Spherical(), Free()).armature(["c"], definite(3, 6)).build(),
    "geared": geared,
    "on_a_four_bar": on_a_four_bar,
}
EACH = pytest.mark.parametrize("name", list(ROBOTS))


@pytest.mark.quick
def test_the_block_is_added_to_the_mass_matrix() -> None:
    robot, plain = (
        coupled(Revolute("y"), Revolute("x"), BELTS),
        arm(fb.Builder("p"), Revolute("y"), Revolute("x")).build(),
    )
    q = plain.random(0, 4)
    order = [robot.names.coordinates.index(name) for name in plain.names.coordinates]
    at = [robot.names.velocities.index(name) for name in plain.names.velocities]
    moved = np.empty_like(q)
    moved[:, order] = q
    more = robot.mass_matrix(moved)[:, at][:, :, at] - plain.mass_matrix(q)
    expected = np.zeros_like(more)
    place = [plain.names.velocities.index(name) for name in ("a", "c")]
    expected[np.ix_(range(len(q)), place, place)] = BELTS
    assert np.abs(more - expected).max() < 1e-14
    assert ("a", "b", "c") in [cluster.joints for cluster in robot.clusters]


@pytest.mark.quick
@EACH
def test_forces_are_those_of_the_energies(name: str) -> None:
    """Inverse, forward and hybrid dynamics, M⁻¹, C, Γ and regressors beside the Lagrangian and each other."""
    robot = ROBOTS[name]()
    rng = np.random.default_rng(1)
    q, v, a = robot.random(2, 5), *rng.normal(size=(2, 5, robot.nv))
    energies = Lagrangian(robot)
    tau, M = energies.inverse_dynamics(q, v, a), robot.mass_matrix(q)
    near = {"rtol": 1e-10, "atol": 1e-10}
    assert np.allclose(energies.mass_matrix(q), M, **near)
    assert np.allclose(energies.momenta(q, v), (M @ v[..., None])[..., 0], **near)
    assert np.allclose(robot.kinetic_energy(q, v), 0.5 * np.einsum("...i,...ij,...j", v, M, v), **near)
    assert np.allclose(robot.inverse_dynamics(q, v, a), tau, **near)
    assert np.allclose(robot.forward_dynamics(q, v, tau), a, **near)
    assert np.allclose(robot.inverse_mass_matrix(q) @ M, np.eye(robot.nv), **near)
    assert np.allclose(robot.solve_mass_matrix(q, tau), np.linalg.solve(M, tau[..., None])[..., 0], **near)
    prescribed = [cluster.velocity_names[0].split(".")[0] for cluster in robot.clusters]
    for part in (prescribed[-1:], prescribed):
        both = robot.hybrid_dynamics(q, v, a, tau, prescribed=part)
        assert np.allclose(both[0], a, **near) and np.allclose(both[1], tau, **near)
    C = robot.coriolis_matrix(q, v)
    assert np.allclose((C @ v[..., None])[..., 0] + robot.gravity_force(q), robot.bias_force(q, v), **near)
    assert np.allclose(np.einsum("...ijk,...k->...ij", robot.christoffel(q), v), C, **near)
    assert np.allclose(robot.mass_matrix_rate(q, v), C + np.swapaxes(C, -1, -2), **near)
    phi = robot.inertial_parameters()
    assert np.allclose(robot.regressor(q, v, a) @ phi, tau, **near)
    assert np.allclose(robot.momentum_regressor(q, v) @ phi, (M @ v[..., None])[..., 0], **near)
    turned = (np.swapaxes(C, -1, -2) @ v[..., None])[..., 0] - robot.gravity_force(q)
    assert np.allclose(robot.momentum_rate_regressor(q, v) @ phi, turned, **near)
    assert np.allclose(robot.kinetic_energy_regressor(q, v) @ phi, robot.kinetic_energy(q, v), **near)
    assert np.allclose(robot.potential_energy_regressor(q) @ phi, robot.potential_energy(q), **near)
    ends = [robot.names.bodies[-1], robot.names.bodies[1]]
    J = np.concatenate([robot.jacobian(q, end) for end in ends], axis=-2)
    assert np.allclose(robot.osim_inverse(q, frames=ends), J @ np.linalg.solve(M, np.swapaxes(J, -1, -2)), **near)


@EACH
def test_derivatives_are_those_of_differences(name: str) -> None:
    robot = ROBOTS[name]()
    rng = np.random.default_rng(3)
    q, v, x = robot.random(4), *rng.normal(size=(2, robot.nv))
    h = 1e-6
    for function in (robot.inverse_dynamics, robot.forward_dynamics):
        J = function.jacobian(q, v, x)
        for k, e in enumerate(np.eye(robot.nv)):
            by_q = (function(robot.integrate(q, e, h), v, x) - function(robot.integrate(q, -e, h), v, x)) / (2 * h)
            by_v = (function(q, v + h * e, x) - function(q, v - h * e, x)) / (2 * h)
            by_x = (function(q, v, x + h * e) - function(q, v, x - h * e)) / (2 * h)
            for found, expected in ((J.q, by_q), (J.v, by_v), (J[2], by_x)):
                assert np.allclose(found[:, k], expected, rtol=1e-6, atol=1e-6 * max(1.0, np.abs(x).max()))


@EACH
def test_energy_is_constant_without_forces(name: str) -> None:
    robot = ROBOTS[name]().with_gravity((0.0, 0.0, 0.0))
    run = fb.simulate(
        robot, robot.neutral(), 0.5 * np.random.default_rng(0).normal(size=robot.nv), duration=0.5, dt=0.002
    )
    energy = robot.kinetic_energy(run.q, run.v)
    assert np.ptp(energy) < 1e-8 * energy[0]


def as_massless_rotors(matrix: np.ndarray) -> fb.System:
    """The same robot with rotors that have an armature only, geared to both joints: A = Σ λ c cᵀ."""
    b = arm(fb.Builder("rotors"), Revolute("y"), Revolute("x"))
    inertias, turns = np.linalg.eigh(matrix)
    for k, inertia in enumerate(inertias):
        b.body(f"r{k}", parent="base", joint=Revolute("z"), armature=inertia)
    return b.loop(fb.loops.Differential(["a", "c"], ["r0", "r1"], turns.T), independent=["a", "c"]).build()


def both_states(robot: fb.System, twin: fb.System) -> tuple[list[np.ndarray], list[np.ndarray], list[int]]:
    """q, v and forces of two robots whose velocities have another order, and that order."""
    order = [twin.names.velocities.index(name) for name in robot.names.velocities]
    places = [twin.names.coordinates.index(name) for name in robot.names.coordinates]
    rng = np.random.default_rng(5)
    own = [robot.random(6, 4), *rng.normal(size=(2, 4, robot.nv))]
    other = [np.empty_like(x) for x in own]
    for x, y, at in zip(own, other, (places, order, order), strict=True):
        y[:, at] = x
    return own, other, order


def test_massless_geared_rotors_are_the_same_robot() -> None:
    """Accelerations, reactions, articulated inertias, constrained and simulated motion, contacts."""
    robot, twin = coupled(Revolute("y"), Revolute("x"), BELTS), as_massless_rotors(BELTS)
    (q, v, tau), other, order = both_states(robot, twin)
    same = {"rtol": 1e-11, "atol": 1e-11}
    a = twin.forward_dynamics(*other)
    assert np.allclose(robot.forward_dynamics(q, v, tau), a[:, order], **same)
    n = len(robot.names.bodies)
    assert np.allclose(robot.reactions(q, v, tau), twin.reactions(*other)[:, :n], **same)
    for body in ("base", "b"):
        assert np.allclose(robot.articulated_inertia(q, body), twin.articulated_inertia(other[0], body), **same)
    held = [x.constrained(fb.loops.Coupling({"m": 1.0, "b": -1.0})) for x in (robot, twin)]
    found, expected = held[0].forward_dynamics(q, v, tau)[0], held[1].forward_dynamics(*other)[0]
    assert np.allclose(found, expected[:, order], **same)
    runs = [fb.simulate(x, s[0][0], s[1][0], duration=0.1, dt=0.01) for x, s in ((robot, (q, v)), (twin, other))]
    assert np.allclose(runs[0].v, runs[1].v[:, order], **same)
    steps = [fb.Scene(x).step(s[0][0], s[1][0], dt=0.002) for x, s in ((robot, (q, v)), (twin, other))]
    assert np.allclose(steps[0].v, steps[1].v[order], **same)


def test_numpy_backend(tmp_path: Path) -> None:
    """The programs without LLVM, in a process of their own."""
    code = (
        "import numpy as np, fourbar as fb\n"
        "from tests.algorithms.test_armature_blocks import ROBOTS\n"
        "robot, rng = ROBOTS['ball'](), np.random.default_rng(0)\n"
        "q, v, a = robot.random(0, 3), *rng.normal(size=(2, 3, robot.nv))\n"
        "found = robot.forward_dynamics(q, v, robot.inverse_dynamics(q, v, a))\n"
        "assert np.allclose(found, a, atol=1e-11), abs(found - a).max()"
    )
    root = Path(__file__).parents[2]
    path = os.pathsep.join([str(root / "src"), str(root), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "FOURBAR_BACKEND": "numpy", "FOURBAR_CACHE": str(tmp_path), "PYTHONPATH": path}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr


def test_the_matrix_is_a_parameter() -> None:
    """From sample to sample, and in derivatives; also where it is zero in the robot."""
    robot = coupled(Revolute("y"), Revolute("x"), BELTS)
    none = robot.with_parameters(armatures={"belts": {"matrix": np.zeros((2, 2))}})
    rng = np.random.default_rng(0)
    q, v, tau = robot.random(0, 3), *rng.normal(size=(2, 3, robot.nv))
    a = robot.forward_dynamics(q, v, tau)
    assert np.allclose(none.varying("belts.matrix").forward_dynamics(q, v, tau, BELTS), a)
    J = none.inverse_dynamics.jacobian(q, v, a, parameters=["belts.matrix"]).parameters["belts.matrix"]
    change = np.einsum("...ijk,jk->...i", J, BELTS)
    assert np.allclose(none.inverse_dynamics(q, v, a) + change, tau, atol=1e-11)


def test_identification_takes_blocks_from_the_robot() -> None:
    b = fb.Builder("two").body("a", joint=Revolute("y"), **BODY)
    robot = b.body("b", parent="a", joint=Revolute("x"), **BODY).armature(["a", "b"], BELTS, name="belts").build()
    assert robot.parameter_names("armature")[-3:] == ("belts.a.a.armature", "belts.a.b.armature", "belts.b.b.armature")
    doubled = robot.with_inertial_parameters(2.0 * robot.inertial_parameters("armature"), "armature")
    assert np.allclose(doubled.mechanism.armatures[0].matrix, 2.0 * BELTS)
    rng = np.random.default_rng(0)
    q, v, a = rng.normal(size=(3, 200, 2))
    found = fb.identify(robot, {"q": q, "v": v, "a": a, "tau": robot.inverse_dynamics(q, v, a)}).robot
    assert found.mechanism.armatures == robot.mechanism.armatures
    assert np.allclose(found.inverse_dynamics(q, v, a), robot.inverse_dynamics(q, v, a), atol=1e-6)


def test_equations_have_the_entries_as_symbols() -> None:
    b = fb.Builder("two").body("a", joint=Revolute("z"), **BODY)
    robot = b.body("b", parent="a", joint=Revolute("z"), **BODY).armature(["a", "b"], BELTS, name="belts").build()
    names = {str(x) for x in robot.equations(symbols=True).parameters}
    assert {"J_belts_a", "J_belts_a_b", "J_belts_b"} <= names


def test_figure_14_with_the_block_of_the_belts(monkeypatch: pytest.MonkeyPatch) -> None:
    """The errors of Chignoli's Fig. 14 fall from 1.04 to 0.30 N m (knee) and from 0.83 to 0.07 (ankle)."""
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "bench"))
    from ankle import torques  # type: ignore[import-not-found]

    found = torques(200)
    errors = {
        (kind, joint): round(found.error(kind, found.joints.index(joint))[0], 2)
        for kind in ("unconstrained", "approximate", "block")
        for joint in ("knee", "ankle")
    }
    assert errors["unconstrained", "knee"] == 4.31
    assert (errors["approximate", "knee"], errors["block", "knee"]) == (1.04, 0.30)
    assert (errors["approximate", "ankle"], errors["block", "ankle"]) == (0.83, 0.07)
