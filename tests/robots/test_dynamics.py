"""Every robot builds, closes its loops, and obeys its own equations; its spanning tree tells the same."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from fourbar import System, robots

from .support import BATCH, GEARED, LINKED, near, robot, state

EACH = pytest.mark.parametrize("name", robots.ROBOTS)
SIZES = {
    "cassie_leg": (8, 5), "crank_rocker": (3, 1), "delta": (10, 3), "differential_wrist": (2, 2),
    "double_pendulum": (2, 2), "five_bar": (4, 2),
    "four_bar": (3, 1), "gt_chain": (12, 12), "jvrc1": (39, 38), "mini_cheetah": (19, 18), "mit_humanoid": (25, 24),
    "parallelogram": (3, 1), "pbt_chain": (12, 12), "planar_leg_linkage": (4, 2), "six_bar": (5, 3),
    "slider_crank": (3, 1), "stewart_platform": (25, 6), "tello": (25, 16), "tello_with_arms": (33, 24),
}  # fmt: skip


@EACH
def test_sizes(name: str) -> None:
    system = robot(name)
    assert (system.nq, system.nv) == SIZES[name]
    assert len(system.names.coordinates) == system.nq
    assert len(system.names.velocities) == system.nv


@EACH
def test_documented(name: str) -> None:
    assert len(robots.ROBOTS[name].__doc__ or "") > 60
    assert getattr(robots, name) is robots.ROBOTS[name]
    assert name in robots.__all__


@EACH
def test_closed(name: str) -> None:
    system = robot(name)
    assert system.loop_gap(system.neutral()) <= 1e-12
    q = system.random(0, 20)
    assert np.all(system.loop_gap(q) <= 1e-12)
    assert np.allclose(system.assemble(q), q, rtol=0.0, atol=1e-10)


@EACH
def test_equal_and_picklable(name: str) -> None:
    system, again = robot(name), robots.ROBOTS[name]()
    assert system == again
    assert hash(system) == hash(again)
    copied = pickle.loads(pickle.dumps(system))
    assert copied == system
    assert copied.names == system.names


@pytest.mark.slow
def test_different_robots() -> None:
    assert robot("tello") != robot("tello").with_gravity((0.0, 1.0, 0.0))
    assert len({robot(name) for name in robots.ROBOTS}) == len(robots.ROBOTS)
    assert len({robot("tello", rotors) for rotors in ("exact", "reflected", "none")}) == 3
    assert robots.gt_chain(3, seed=1) == robots.gt_chain(3, seed=1)
    assert robots.gt_chain(3, seed=1) != robots.gt_chain(3, seed=2)


@pytest.mark.default_cases("four_bar", "double_pendulum", "mini_cheetah", "tello", "cassie_leg")
@pytest.mark.slow_cases("jvrc1")
@EACH
def test_mass_matrix_and_forward_dynamics(name: str) -> None:
    """M is symmetric and positive, and forward dynamics undoes inverse dynamics."""
    system = robot(name)
    q, v, a = state(system)
    M = system.mass_matrix(q)
    assert np.abs(M - np.swapaxes(M, 1, 2)).max() <= 1e-14 * np.abs(M).max()
    assert np.linalg.eigvalsh(M).min() > 0.0
    found = system.forward_dynamics(q, v, system.inverse_dynamics(q, v, a))
    condition = np.linalg.cond(M)[:, None]
    assert np.all(np.abs(found - a) <= 1e-13 * condition * np.abs(a).max() + 1e-12 * condition)


def _spanning(system: System, q: np.ndarray, v: np.ndarray) -> tuple[System, np.ndarray, np.ndarray]:
    return system.spanning(), system.expand(q), system.expand_velocity(q, v)


@pytest.mark.default_cases("four_bar", "differential_wrist", "tello", "gt_chain")
@pytest.mark.every_mechanism
@EACH
def test_projection_of_the_spanning_tree(name: str) -> None:
    """M = GᵀHG and τ = Gᵀ(H(Ga + g) + c), with H, c of the tree without loops."""
    system = robot(name)
    q, v, a = state(system)
    tree, q_all, v_all = _spanning(system, q, v)
    G, g = system.loop_map(q), system.loop_bias(q, v)
    assert np.allclose(v_all, np.einsum("nij,nj->ni", G, v), rtol=1e-12, atol=1e-12)
    H = tree.mass_matrix(q_all)
    M = system.mass_matrix(q)
    assert np.abs(np.swapaxes(G, 1, 2) @ H @ G - M).max() <= 1e-12 * np.abs(M).max()
    a_all = np.einsum("nij,nj->ni", G, a) + g
    tau = np.einsum("nij,ni->nj", G, tree.inverse_dynamics(q_all, v_all, a_all))
    expected = system.inverse_dynamics(q, v, a)
    assert np.abs(tau - expected).max() <= 1e-11 * np.abs(expected).max()


@pytest.mark.default_cases("four_bar", "cassie_leg", "slider_crank", "tello")
@pytest.mark.parametrize("name", LINKED)
def test_maps_follow_the_closed_motion(name: str) -> None:
    """G and g are the rates of the joints' coordinates along a motion that keeps the loops closed."""
    system = robot(name)
    q, v = near(system), state(system).v
    tree, h = system.spanning(), 1e-4
    steps = [system.expand(system.integrate(q, v, k * h)) for k in (-1, 0, 1)]
    assert all(np.all(system.loop_gap(system.integrate(q, v, k * h)) <= 1e-12) for k in (-1, 1))
    forward, backward = tree.difference(steps[1], steps[2]) / h, tree.difference(steps[1], steps[0]) / h
    rate, bend = (forward - backward) / 2.0, (forward + backward) / h
    expected = system.expand_velocity(q, v)
    g = system.loop_bias(q, v)
    assert np.abs(g).max() < 100.0
    assert np.abs(rate - expected).max() <= 2e-6 * (1.0 + np.abs(expected).max())
    assert np.abs(bend - g).max() <= 1e-5 * (1.0 + np.abs(g).max())


@pytest.mark.default_cases("five_bar", "tello")
@pytest.mark.parametrize("name", ["cassie_leg", "delta", "five_bar", "six_bar", "stewart_platform", "tello"])
def test_lagrange_multipliers(name: str) -> None:
    """The accelerations are those of the spanning tree with forces that hold the loops: another method altogether."""
    system = robot(name)
    q, (_, v, tau) = near(system), state(system)
    tree, q_all, v_all = _spanning(system, q, v)
    H, c = tree.mass_matrix(q_all), tree.bias_force(q_all, v_all)
    G, g = system.loop_map(q), system.loop_bias(q, v)
    found = np.einsum("nij,nj->ni", G, system.forward_dynamics(q, v, tau)) + g
    for n in range(BATCH):
        K = np.linalg.svd(G[n].T)[2][system.nv :]  # what G does not reach
        applied = np.linalg.lstsq(G[n].T, tau[n], rcond=None)[0]
        m = len(K)
        A = np.block([[H[n], K.T], [K, np.zeros((m, m))]])
        solved = np.linalg.solve(A, np.concatenate([applied - c[n], K @ g[n]]))[: len(c[n])]
        assert np.abs(found[n] - solved).max() <= 1e-9 * (1.0 + np.abs(solved).max())


@pytest.mark.default_cases("gt_chain", "tello_with_arms")
@pytest.mark.parametrize("name", [name for name in GEARED if name not in ("jvrc1", "tello")])
def test_reflected_twin_is_near_but_different(name: str) -> None:
    """Reflected inertia lacks the coupling of the rotors' spin with other motions: only the diagonal of M is right."""
    exact, twin = robot(name), robot(name, "reflected")
    if name.startswith("tello"):
        links = [j for c in exact.clusters if len(c.velocity_names) == 2 for j in c.joints if "rotor" not in j]
        exact = exact.with_independent(*links)
        q = exact.neutral()
        for link in links:
            q[exact.names.coordinates.index(link)] = 0.0
        q = exact.assemble(q, keep=links)
    else:
        q = exact.neutral()
    assert exact.names.velocities == twin.names.velocities
    M = exact.mass_matrix(q)
    approximate, bare = (other.mass_matrix(other.neutral()) for other in (twin, robot(name, "none")))
    size = np.sqrt(np.outer(np.diag(M), np.diag(M)))
    assert np.diag(approximate) == pytest.approx(np.diag(M), rel=1e-12)
    assert 1e-5 < (np.abs(approximate - M) / size).max() < 0.5
    assert np.all(np.diag(bare) <= np.diag(M))
    assert np.any(np.diag(bare) < 0.999 * np.diag(M))
