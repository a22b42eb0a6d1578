"""The robots of the paper have the published numbers: sizes, masses, clusters, G, K, points."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fourbar import ArgumentError, robots

from .support import FACTS, columns_of, mass, robot, rows_of

EACH = pytest.mark.parametrize("name", FACTS)


def _clusters(name: str) -> list[dict[str, Any]]:
    return FACTS[name]["clusters"]


@EACH
def test_sizes_and_mass(name: str) -> None:
    system, facts = robot(name), FACTS[name]
    assert (system.nq, system.nv) == (facts["nq"], facts["nv"])
    assert mass(system) == pytest.approx(facts["total_mass"], rel=1e-14)
    assert list(system.names.joints) == facts["joints"]


@EACH
def test_clusters(name: str) -> None:
    """The same joints are tied together, and the same velocities are independent, at the same places in v."""
    system = robot(name)
    tied = [cluster for cluster in system.clusters if cluster.loops]
    assert len(tied) == len(_clusters(name))
    for cluster, expected in zip(tied, _clusters(name), strict=True):
        assert cluster.loops == (expected["name"],)
        assert list(cluster.joints) == expected["joints"]
        assert list(cluster.velocity_names) == expected["independent"]
        assert columns_of(system, expected["independent"])[0] == expected["v_index"]
        assert system.names.coordinates.index(cluster.coordinate_names[0]) == expected["q_index"]


@EACH
def test_constant_maps(name: str) -> None:
    """G is what was published, and K G = 0 for the published K."""
    system = robot(name)
    constant = [cluster for cluster in _clusters(name) if "G" in cluster]
    if not constant:
        pytest.skip("no loop of it has a constant G")
    G = system.loop_map(system.random(0))
    for cluster in constant:
        rows, columns = rows_of(system, cluster["joints"]), columns_of(system, cluster["independent"])
        assert np.array_equal(G[np.ix_(rows, columns)], cluster["G"])
        assert not np.any(np.array(cluster["K"]) @ G[np.ix_(rows, columns)])
        assert np.count_nonzero(G[rows]) == np.count_nonzero(cluster["G"])


@EACH
def test_constant_constraints(name: str) -> None:
    """The rows of K are the published ones, up to their sign."""
    groups = {group.loops[0]: group for group in robot(name).model.cluster_tree.clusters if group.loops}
    for cluster in _clusters(name):
        if "K" in cluster:
            tie = groups[cluster["name"]].embedding
            K = np.array([[float(x) for x in row] for row in tie.traced.K])
            published = np.array(cluster["K"])
            for row in K:
                assert any(np.array_equal(row, other) or np.array_equal(row, -other) for other in published)


@pytest.mark.parametrize("name", ["gt_chain_12_uniform", "pbt_chain_12_uniform"])
def test_chains_follow_the_rule(name: str) -> None:
    """Their bodies are made by a rule: it gives the published ones."""
    m = robot(name).mechanism
    found = [
        [b.name, c.parent, list(c.placement.position), b.mass, list(b.com), [list(row) for row in b.inertia]]
        for b, c in zip(m.bodies, m.joints, strict=True)
    ]
    assert found == FACTS[name]["bodies"]


@EACH
def test_points(name: str) -> None:
    system = robot(name)
    frames = {frame.name: [frame.body, list(frame.placement.position)] for frame in system.mechanism.frames}
    assert FACTS[name]["points"].items() <= frames.items()


@pytest.mark.parametrize("rotors", ["reflected", "block", "none"])
@pytest.mark.parametrize("name", ["mini_cheetah", "mit_humanoid", "tello", "tello_with_arms", "jvrc1"])
def test_without_rotor_bodies(name: str, rotors: str) -> None:
    """No loops are left, the velocities are as many, and the rotors' mass is there or not."""
    exact, other = robot(name), robot(name, rotors)
    assert not other.mechanism.loops
    assert other.nv == exact.nv
    assert {frame.name for frame in other.mechanism.frames} == {frame.name for frame in exact.mechanism.frames}
    spinning = {joint for cluster in exact.clusters if cluster.loops for joint in cluster.joints if "rotor" in joint}
    carried = zip(exact.mechanism.bodies, exact.mechanism.joints, strict=True)
    weight = sum(body.mass for body, c in carried if c.name in spinning)
    assert mass(other) == pytest.approx(mass(exact) - (weight if rotors == "none" else 0.0), rel=1e-14)


def test_options_are_checked() -> None:
    with pytest.raises(ArgumentError, match="'exact', 'reflected', 'block', 'none'"):
        robots.tello(rotors="some")  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="'latest', 'paper'"):
        robots.mini_cheetah(version="v3")
    for n in (0, -1, 1.5, "3"):
        with pytest.raises(ArgumentError, match="number of links, at least 1"):
            robots.gt_chain(n)  # type: ignore[arg-type]
