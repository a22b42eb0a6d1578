"""Added mass and buoyancy: a general constant 6 x 6 inertia of bodies (From eq. 11, 48) in every algorithm."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import fourbar as fb
from fourbar.joints import Free
from fourbar.reference.lagrange import Lagrangian
from fourbar.spatial import Twist, exp
from tests.loops import looped

from . import immersed
from .immersed import coadjoint, immerse, inertia, with_fluids
from .mechanisms import mechanism
from .test_connection import koszul

TREES = ("vehicle", "random0", "random5")
LOOPS = ("four_bar", "geared", "spatial_crank")
SLOW = pytest.mark.slow_cases("random0", "random5", "geared", "spatial_crank")


def EACH(test: Any) -> Any:
    return SLOW(pytest.mark.parametrize("name", [*TREES, *LOOPS])(test))


def EACH_TREE(test: Any) -> Any:
    return SLOW(pytest.mark.parametrize("name", TREES)(test))


@cache
def robot_of(name: str) -> fb.System:
    if name == "vehicle":
        return immersed.vehicle()
    return immerse(mechanism(int(name[6:])) if name.startswith("random") else looped.mechanism(name))


def state_of(name: str, n: int = 3) -> tuple[np.ndarray, ...]:
    robot, rng = robot_of(name), np.random.default_rng(3)
    q = looped.state(name, n=n).q if name in LOOPS else robot.random(2, n)
    return q, *rng.normal(size=(3, n, robot.nv))


def error(actual: np.ndarray, expected: np.ndarray) -> float:
    return float(np.abs(actual - expected).max() / max(1.0, np.abs(expected).max()))


@EACH
def test_forces_are_those_of_each_body(name: str) -> None:
    """M, inverse, forward and hybrid dynamics, energies and M⁻¹ beside sums over bodies in NumPy."""
    robot, (q, v, a, _) = robot_of(name), state_of(name)
    M = np.array([immersed.mass_matrix(robot, x) for x in q])
    tau = np.array([immersed.inverse_dynamics(robot, *x) for x in zip(q, v, a, strict=True)])
    assert error(robot.mass_matrix(q), M) < 1e-12
    assert np.linalg.eigvalsh(M).min() > 0.0
    assert error(robot.inverse_dynamics(q, v, a), tau) < 1e-12
    assert error(robot.forward_dynamics(q, v, tau), a) < 1e-9
    assert error(robot.inverse_mass_matrix(q) @ M, np.broadcast_to(np.eye(robot.nv), M.shape)) < 1e-9
    assert error(robot.kinetic_energy(q, v), 0.5 * np.einsum("ni,nij,nj->n", v, M, v)) < 1e-12
    first = robot.hybrid_dynamics(q, v, a, tau, prescribed=[robot.names.velocities[0].split(".")[0]])
    assert error(first[0], a) < 1e-9 and error(first[1], tau) < 1e-9
    assert error(robot.inverse_dynamics(q[0], v[0], a[0]), tau[0]) < 1e-12


@EACH
def test_coriolis_matrix(name: str) -> None:
    """C v + g is the bias, Ṁ = C + Cᵀ, and g is the gradient of weights and buoyancy."""
    robot, (q, v, _, _) = robot_of(name), state_of(name)
    C, g, h = robot.coriolis_matrix(q, v), robot.gravity_force(q), 1e-6
    assert error((C @ v[..., None])[..., 0] + g, robot.bias_force(q, v)) < 1e-12
    assert error((C @ v[..., None])[..., 0], robot.coriolis_force(q, v)) < 1e-12
    rate = (robot.mass_matrix(robot.integrate(q, h * v)) - robot.mass_matrix(robot.integrate(q, -h * v))) / (2 * h)
    assert error(rate, C + np.swapaxes(C, -1, -2)) < 1e-8
    assert error(robot.mass_matrix_rate(q, v), rate) < 1e-8
    rise = robot.potential_energy(robot.integrate(q, h * v)) - robot.potential_energy(robot.integrate(q, -h * v))
    assert error(np.sum(g * v, axis=-1), rise / (2 * h)) < 1e-6


@EACH_TREE
def test_koszul_formula(name: str) -> None:
    """The Christoffel symbols are those of the Levi-Civita connection of M."""
    robot, (q, v, _, _) = robot_of(name), state_of(name, 1)
    symbols = robot.christoffel(q)
    assert error(symbols, koszul(robot, q)) < 1e-10
    assert error(np.einsum("...ijk,...k->...ij", symbols, v), robot.coriolis_matrix(q, v)) < 1e-11


@EACH
def test_lagrangian_and_regressors(name: str) -> None:
    """The Lagrangian has the same forces; Y φ are forces, momenta and energies, with the fluid as a constant."""
    robot, (q, v, a, _) = robot_of(name), state_of(name)
    reference, tau, phi = Lagrangian(robot), robot.inverse_dynamics(q, v, a), robot.inertial_parameters()
    momenta = (robot.mass_matrix(q) @ v[..., None])[..., 0]
    assert error(reference.inverse_dynamics(q, v, a), tau) < 1e-10
    assert error(reference.momenta(q, v), momenta) < 1e-11
    assert error(robot.regressor(q, v, a) @ phi, tau) < 1e-11
    assert error(robot.momentum_regressor(q, v) @ phi, momenta) < 1e-11
    back = np.swapaxes(robot.coriolis_matrix(q, v), -1, -2) @ v[..., None]
    assert error(robot.momentum_rate_regressor(q, v) @ phi, back[..., 0] - robot.gravity_force(q)) < 1e-11
    assert error(robot.kinetic_energy_regressor(q, v) @ phi, robot.kinetic_energy(q, v)) < 1e-12
    assert error(robot.potential_energy_regressor(q) @ phi, robot.potential_energy(q)) < 1e-11
    scaled = phi + np.where([x.endswith(".fluid") for x in robot.parameter_names()], 0.5, 0.0)
    other = robot.with_inertial_parameters(scaled)
    assert error(other.inverse_dynamics(q, v, a), robot.regressor(q, v, a) @ scaled) < 1e-11
    assert set(robot.inertial_parameters("fluid")) == {1.0}


def test_identification_with_a_known_fluid() -> None:
    """Masses are found from forces that the fluid takes part in."""
    robot, rng = robot_of("vehicle"), np.random.default_rng(0)
    q, (v, a) = robot.random(1, 400), rng.normal(size=(2, 400, robot.nv))
    tau = robot.inverse_dynamics(q, v, a)
    guess = robot.with_parameters(bodies={"hull": {"mass": 7.0}, "piston": {"mass": 1.5}})
    found = fb.identify(guess, {"q": q, "v": v, "a": a, "tau": tau}, noise="common").robot
    assert error(found.inverse_dynamics(q, v, a), tau) < 1e-6
    assert all(a.fluid == b.fluid for a, b in zip(found.mechanism.bodies, robot.mechanism.bodies, strict=True))


@EACH_TREE
def test_momentum(name: str) -> None:
    """Momentum of bodies and fluid in world axes; the centre of mass is that of the bodies."""
    robot, (q, v, _, _) = robot_of(name), state_of(name, 1)
    total = np.zeros(6)
    for body, pose, J in immersed.moving_bodies(robot, q[0]):
        h = inertia(body) @ (J @ v[0])
        spin, linear = pose[:3, :3] @ h[:3], pose[:3, :3] @ h[3:]
        total += np.concatenate([spin + np.cross(pose[:3, 3], linear), linear])
    assert error(robot.momentum(q[0], v[0], about="world"), total) < 1e-12
    c = robot.center_of_mass(q[0])
    about = np.concatenate([total[:3] - np.cross(c, total[3:]), total[3:]])
    assert error(robot.momentum(q[0], v[0]), about) < 1e-11
    assert error(robot.momentum_matrix(q[0]) @ v[0], about) < 1e-11
    h = 1e-6
    moved = robot.center_of_mass(robot.integrate(q[0], h * v[0])) - robot.center_of_mass(
        robot.integrate(q[0], -h * v[0])
    )
    assert error(robot.center_of_mass_jacobian(q[0]) @ v[0], moved / (2 * h)) < 1e-8


@EACH
def test_derivatives(name: str) -> None:
    """Jacobians, jvp and vjp of inverse and forward dynamics beside differences."""
    robot, (q, v, a, tau) = robot_of(name), (x[0] for x in state_of(name, 1))
    h, rng = 1e-6, np.random.default_rng(5)
    for f, given in ((robot.inverse_dynamics, a), (robot.forward_dynamics, tau)):
        J = f.jacobian(q, v, given)
        d = rng.normal(size=(3, robot.nv))
        ends = [f(robot.integrate(q, s * d[0]), v + s * d[1], given + s * d[2]) for s in (h, -h)]
        slope = (ends[0] - ends[1]) / (2 * h)
        assert error(J[0] @ d[0] + J[1] @ d[1] + J[2] @ d[2], slope) < 1e-7
        assert error(f.jvp((q, v, given), tuple(d)), slope) < 1e-7
        w = rng.normal(size=robot.nv)
        back = f.vjp((q, v, given), w)
        assert error(np.array(sum(x @ y for x, y in zip(back, d, strict=True))), np.array(w @ slope)) < 1e-6


@EACH
def test_articulated_bodies_and_reactions(name: str) -> None:
    """F = I_A A + p_A with the wrench that a body receives; the root's is that of the inverse dynamics."""
    robot, (q, v, _, tau) = robot_of(name), (x[0] for x in state_of(name, 1))
    a = robot.forward_dynamics(q, v, tau)
    if name in TREES:
        received = robot.reactions(q, v, a)
        for n, body in enumerate(robot.mechanism.bodies):
            pose = robot.pose(q, body.name)
            A = robot.acceleration(q, v, a, body.name, expressed_in="frame")
            A = A - np.concatenate([np.zeros(3), pose[:3, :3].T @ np.array(robot.gravity)])
            if robot.mechanism.joints[n].joint.nv:
                F = robot.articulated_inertia(q, body.name) @ A + robot.articulated_bias(q, v, tau, body.name)
                assert error(F, received[n]) < 1e-9
    frame = robot.names.bodies[-1]
    J = robot.jacobian(q, frame)
    inverse = J @ np.linalg.solve(robot.mass_matrix(q), J.T)
    assert error(robot.osim_inverse(q, [frame]), inverse) < 1e-9


def kirchhoff(body: object, momentum_rate: object, V: np.ndarray, T: np.ndarray, duration: float) -> np.ndarray:
    """V and pose after a time, by Kirchhoff's equations d/dt (M V) = ad_Vᵀ M V + forces, in NumPy alone."""
    M = inertia(body)  # type: ignore[arg-type]

    def rate(_: float, x: np.ndarray) -> np.ndarray:
        V, R = x[:6], x[9:].reshape(3, 3)
        A = np.linalg.solve(M, momentum_rate(R, V) - coadjoint(V, M @ V))  # type: ignore[operator]
        return np.concatenate([A, R @ V[3:], (R @ immersed.hat(V[:3])).ravel()])

    start = np.concatenate([V, T[:3, 3], T[:3, :3].ravel()])
    return solve_ivp(rate, (0.0, duration), start, rtol=1e-11, atol=1e-12).y[:, -1]


def one_body(gravity: tuple[float, float, float] = (0.0, 0.0, 0.0), forces: bool = False) -> fb.System:
    fluid = immersed.any_fluid(np.random.default_rng(11), forces)
    b = fb.Builder("one", gravity=gravity)
    return b.body("b", joint=Free(), mass=2.0, com=(0.1, -0.05, 0.2), inertia=(0.3, 0.4, 0.2), fluid=fluid).build()


@pytest.mark.quick
def test_kirchhoff_equations() -> None:
    """A tumbling body with weight and buoyancy, beside an independent integration."""
    robot = one_body(gravity=(0.0, 0.0, -9.81))
    (body,), V = robot.mechanism.bodies, np.array([0.5, -1.0, 2.0, 1.0, 0.3, -0.5])
    run = fb.simulate(robot, robot.neutral(), V, duration=2.0, dt=0.002)
    down = np.array([0.0, 0.0, -9.81])
    end = kirchhoff(body, lambda R, _: immersed.weight(body, R.T @ down), V, np.eye(4), 2.0)
    assert error(run.v[-1], end[:6]) < 1e-8
    assert error(robot.pose(run.q[-1], "b")[:3, 3], end[6:9]) < 1e-8


@pytest.mark.quick
def test_momentum_of_body_and_fluid_is_constant() -> None:
    """In the inertial frame, without forces; so is the energy. The momentum of the body alone is not."""
    robot = with_fluids(immersed.vehicle(gravity=(0.0, 0.0, 0.0)), density=0.0)
    rng = np.random.default_rng(0)
    run = fb.simulate(robot, robot.neutral(), rng.normal(size=robot.nv), duration=1.0, dt=0.001)
    momentum, energy = robot.momentum(run.q, run.v, about="world"), robot.kinetic_energy(run.q, run.v)
    assert np.abs(momentum - momentum[0]).max() < 1e-8 * np.abs(momentum).max()
    assert np.ptp(energy) < 1e-9 * energy[0]
    dry = with_fluids(robot, added_mass=np.zeros(6))
    assert np.ptp(dry.momentum(run.q, run.v, about="world"), axis=0).max() > 0.1


@pytest.mark.quick
def test_energy_with_gravity() -> None:
    """Kinetic and potential energy, with buoyancy in the latter, keep their sum."""
    robot = immersed.vehicle()
    run = fb.simulate(robot, robot.neutral(), np.full(robot.nv, 0.5), duration=1.0, dt=0.001)
    energy = robot.kinetic_energy(run.q, run.v) + robot.potential_energy(run.q)
    assert np.ptp(energy) < 1e-8 * np.ptp(robot.potential_energy(run.q))


@pytest.mark.quick
def test_added_mass_has_no_weight() -> None:
    """A ball whose weight is its buoyancy stays; another falls with (m - ρV) g / (m + m_a)."""
    added = np.diag([0.0, 0.0, 0.0, 3.0, 3.0, 3.0])
    for mass, volume in ((2.0, 2e-3), (5.0, 1e-3)):
        fluid = fb.Fluid(added_mass=added, volume=volume, density=1000.0)
        robot = fb.Builder("ball").body("b", joint=Free(), mass=mass, inertia=(0.1,) * 3, fluid=fluid).build()
        a = robot.forward_dynamics(robot.neutral(), np.zeros(6), np.zeros(6))
        assert np.allclose(a, [0, 0, 0, 0, 0, -9.81 * (mass - 1000 * volume) / (mass + 3.0)], atol=1e-14)


def test_numpy_backend(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FOURBAR_BACKEND", "numpy")
    robot = immersed.vehicle(forces=True)
    rng = np.random.default_rng(4)
    q, (v, a) = robot.random(2), rng.normal(size=(2, robot.nv))
    assert error(robot.inverse_dynamics(q, v, a), immersed.inverse_dynamics(robot, q, v, a)) < 1e-12
    assert error(robot.passive_forces(q, v), immersed.passive_forces(robot, q, v)) < 1e-12


def test_massless_body_with_added_mass() -> None:
    """The fluid alone resists; without it the joint moves nothing."""
    b = fb.Builder("shell").body("b", joint=Free(), fluid=fb.Fluid(added_mass=[0.1, 0.1, 0.1, 1.0, 2.0, 3.0]))
    robot = b.build()
    a = robot.forward_dynamics(robot.neutral(), np.zeros(6), [1, 1, 1, 1, 1, 1])
    assert np.allclose(a, [10.0, 10.0, 10.0, 1.0, 0.5, 1.0 / 3.0])


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"added_mass": -np.ones(6)}, "negative kinetic energy"),
        ({"added_mass": np.triu(np.ones((6, 6)))}, "symmetric"),
        ({"added_mass": np.ones(3)}, r"\(6,\) or \(6, 6\)"),
        ({"volume": -1.0}, "volume"),
        ({"density": -1.0}, "density"),
        ({"linear_drag": [-1, 0, 0, 0, 0, 0]}, "gain energy"),
        ({"quadratic_drag": [-1, 0, 0, 0, 0, 0]}, "not negative"),
        ({"current": [1.0, 2.0]}, "current"),
    ],
)
def test_refused(given: dict[str, object], words: str) -> None:
    with pytest.raises(fb.ModelError, match=words):
        fb.Fluid(**given)


def test_refused_as_fluid() -> None:
    with pytest.raises(fb.ModelError, match=r"body 'b': fluid must be a fb\.Fluid"):
        fb.Builder().body("b", joint=Free(), mass=1.0, fluid="water")  # type: ignore[arg-type]


def coupled(at: tuple[int, int], entry: float, diagonal: Any) -> np.ndarray:
    """A symmetric matrix with one entry off its diagonal."""
    M = np.diag(np.asarray(diagonal, float))
    M[at] = M[at[::-1]] = entry
    return M


@pytest.mark.parametrize("unit", [1.0, 1e-3, 1e3, 1e-6])
def test_signs_and_symmetry_in_any_units(unit: float) -> None:
    """Matrices of a small body are judged as those of a large one; lengths in other units, masses as they are."""
    units = np.outer(*2 * [np.repeat([unit, 1.0], 3)])
    good = coupled((0, 3), 0.9e-3, [1e-6, 1e-6, 1e-6, 1.0, 1.0, 1.0])
    for field in ("added_mass", "linear_drag"):
        fb.Fluid(**{field: units * good})
        fb.Fluid(**{field: units * (good - np.diag([0, 1e-6 * (1 + 1e-12), 0, 0, 0, 0]))})  # rounding of zero
        for bad in (
            coupled((0, 3), 1.1e-3, np.diag(good)),
            coupled((0, 3), 1e-6, [0.0, 0.0, 0.0, 1.0, 1.0, 1.0]),
            coupled((0, 1), 0.0, [-1e-10, 1e-6, 1e-6, 1.0, 1.0, 1.0]),
            -1e-10 * np.eye(6),
        ):
            with pytest.raises(fb.ModelError, match=r"negative kinetic energy|gain energy"):
                fb.Fluid(**{field: units * bad})
    wrong = good.copy()
    wrong[0, 1] = 1e-8
    with pytest.raises(fb.ModelError, match="symmetric"):
        fb.Fluid(added_mass=units * wrong)


def test_wrong_matrices_among_numbers_are_refused() -> None:
    """In rollouts, in one sample of a batch."""
    b = fb.Builder("hull")
    b.body("hull", joint=Free(), mass=1.0, inertia=(0.1, 0.1, 0.1), fluid=fb.Fluid(added_mass=np.ones(6)))
    robot, lopsided, turned = b.build(), np.eye(6), np.eye(6)
    lopsided[0, 1], turned[2, 2] = 0.1, -1.0
    coupled, skew = np.eye(6), np.eye(6)
    coupled[[0, 1], [1, 0]] = 1.1  # of eigenvalue -0.1, with a positive diagonal
    skew[[3, 4], [4, 3]] = 3.0, -3.0  # which takes energy from every motion
    for name, wrong, words in (
        ("hull.added_mass", lopsided, "not symmetric"),
        ("hull.inertia", lopsided[:3, :3], "not symmetric"),
        ("hull.added_mass", turned, "negative diagonal"),
        ("hull.linear_drag", turned, "negative diagonal"),
        ("hull.quadratic_drag", turned, "negative diagonal"),
        ("hull.inertia", turned[:3, :3], "negative eigenvalue"),
        ("hull.inertia", 1e-12 * coupled[:3, :3], "negative eigenvalue"),
        ("hull.added_mass", coupled, "negative eigenvalue"),
        ("hull.linear_drag", coupled, "negative eigenvalue"),
    ):
        values = np.stack([np.eye(len(wrong)), wrong])
        with pytest.raises(fb.ArgumentError, match=rf"numbers: '{name}' .*{words} in some samples"):
            fb.rollout(robot, robot.neutral(), dt=0.01, steps=2, numbers={name: values})
        assert fb.rollout(robot, robot.neutral(), dt=0.01, steps=2, numbers={name: values[0]}).q.shape == (3, 7)
    tilted = exp(Twist.of((0.3, 0.2, 0.1, 0.0, 0.0, 0.0))).R
    rod = np.array(tilted) @ np.diag([0.0, 1e-7, 1e-7]) @ np.array(tilted).T  # by rounding not quite semidefinite
    for name, right in (("hull.linear_drag", skew), ("hull.inertia", rod), ("hull.inertia", np.zeros((3, 3)))):
        assert fb.rollout(robot, robot.neutral(), dt=0.01, steps=2, numbers={name: right}).q.shape == (3, 7)


def test_a_wrong_keyword_is_answered_with_the_right_one() -> None:
    with pytest.raises(TypeError, match="Fluid has no argument 'volum'; did you mean 'volume'"):
        fb.Fluid(volum=1.0)  # type: ignore[call-arg]
