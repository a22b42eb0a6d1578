"""𝖲, 𝖷, 𝖳ᵃ and 𝖳ᶜ of clusters (Chignoli §V): against Jacobians and twists of bodies, and the identities they obey."""

from __future__ import annotations

import numpy as np
import pytest

import fourbar as fb

from .looped import mechanism

ROBOTS = ["four_bar", "five_bar", "delta", "differential_wrist", "tello", "mini_cheetah", "double_pendulum", "coupled"]
RNG = np.random.default_rng(3)


def robot_of(name: str) -> fb.System:
    """A robot of the library, or a mechanism whose clusters hang on several bodies of others."""
    return mechanism(name) if name == "coupled" else getattr(fb.robots, name)()


def each_cluster(robot: fb.System):
    """(cluster, numbers of its bodies, its columns of v)."""
    first = 0
    for info in robot.clusters:
        size = len(info.velocity_names)
        yield info, [robot.names.bodies.index(b) for b in info.bodies], slice(first, first + size)
        first += size


@pytest.mark.parametrize("name", ROBOTS)
def test_twists_of_a_cluster(name: str) -> None:
    """𝗏 = 𝖷 𝗏_parent + 𝖲 ẏ, with twists from another algorithm; 𝖲 are columns of the bodies' Jacobians."""
    robot = robot_of(name)
    q, v = robot.random(rng=1), RNG.normal(size=robot.nv)
    twists, jacobians = robot.twists(q, v), robot.jacobians(q)
    for info, bodies, columns in each_cluster(robot):
        body = info.bodies[-1]
        S, X = robot.cluster_subspace(q, body), robot.cluster_transform(q, body)
        np.testing.assert_allclose(S, np.concatenate(jacobians[bodies])[:, columns], atol=1e-12)
        parent = next((own for own in robot.clusters if info.carrier in own.bodies), None)
        above = (
            np.zeros(6)
            if parent is None
            else np.concatenate([twists[robot.names.bodies.index(b)] for b in parent.bodies])
        )
        np.testing.assert_allclose(X @ above + S @ v[columns], np.concatenate(twists[bodies]), atol=1e-12)


@pytest.mark.parametrize("name", ROBOTS)
def test_force_subspaces(name: str) -> None:
    """𝖲ᵀ 𝖳ᵃ = 1, 𝖲ᵀ 𝖳ᶜ = 0, and together they span all wrenches."""
    robot = robot_of(name)
    q = robot.random(rng=2)
    for info, _, _ in each_cluster(robot):
        S = robot.cluster_subspace(q, info.bodies[0])
        Ta, Tc = robot.cluster_force_subspaces(q, info.bodies[0])
        scale = max(1.0, np.abs(Tc).max(initial=0.0))
        np.testing.assert_allclose(S.T @ Ta, np.eye(S.shape[1]), atol=1e-11)
        np.testing.assert_allclose(S.T @ Tc, 0.0, atol=1e-11 * scale)
        assert np.linalg.matrix_rank(np.hstack([Ta, Tc])) == S.shape[0]


def test_active_wrenches_act_at_the_independent_joints() -> None:
    """Wrenches on bodies, as external forces, do the work of the joint forces that they stand for."""
    robot = fb.robots.four_bar()
    q, tau = robot.random(rng=4), np.array([1.7])
    info = robot.clusters[0]
    Ta, Tc = robot.cluster_force_subspaces(q, "link1")
    wrenches = np.zeros((len(robot.names.bodies), 6))
    bodies = [robot.names.bodies.index(b) for b in info.bodies]
    wrenches[bodies] = (Ta @ tau).reshape(-1, 6)
    np.testing.assert_allclose(robot.generalized_force(q, wrenches), tau, atol=1e-12)
    wrenches[bodies] = (Tc @ RNG.normal(size=Tc.shape[1])).reshape(-1, 6)
    np.testing.assert_allclose(robot.generalized_force(q, wrenches), 0.0, atol=1e-11)


def test_batches_and_derivatives() -> None:
    robot = fb.robots.five_bar()
    q = robot.random(rng=5, n=4)
    S = robot.cluster_subspace(q, robot.clusters[0].bodies[0])
    assert S.shape == (4, 6 * len(robot.clusters[0].bodies), 2)
    one = robot.cluster_subspace.jacobian(q[0], cluster=robot.clusters[0].bodies[0]).q
    h, e = 1e-6, np.array([1.0, 0.0])
    ahead, behind = (robot.cluster_subspace(robot.integrate(q[0], e, s), robot.clusters[0].bodies[0]) for s in (h, -h))
    np.testing.assert_allclose(one[..., 0], (ahead - behind) / (2 * h), atol=1e-7)


def test_an_unknown_body_is_named() -> None:
    with pytest.raises(fb.UnknownNameError, match="link1"):
        fb.robots.four_bar().cluster_subspace(fb.robots.four_bar().neutral(), "link_1")
