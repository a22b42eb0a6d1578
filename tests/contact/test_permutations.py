"""The order of bodies, candidates and samples changes nothing but rounding."""

from __future__ import annotations

import numpy as np
import pytest

import fourbar as fb
from fourbar.contact import Shape

DT, STEPS = 1e-3, 120
BODIES = ("slab", "ball", "can", "brick")
SIZES = {"slab": ("box", (0.3, 0.2, 0.05)), "ball": ("sphere", (0.06,)), "can": ("capsule", (0.04, 0.1)),
         "brick": ("box", (0.1, 0.12, 0.08))}  # fmt: skip


def world(bodies: tuple[str, ...], shapes: tuple[str, ...]) -> fb.Scene:
    """Bodies and shapes in some order."""
    b = fb.Builder("world")
    for name in bodies:
        k = BODIES.index(name) + 1
        b.body(name, joint=fb.joints.Free(), mass=0.5 * k, inertia=(1e-3 * k, 1.2e-3 * k, 1.5e-3 * k))
    contacts = [Shape(name, *SIZES[name], friction=0.5) for name in shapes]
    return fb.Scene(b.build(), fb.Plane(0.4), contacts=contacts, pairs=[("slab", "ball"), ("slab", "can")])


def states(n: int) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Coordinates (n, 7) and velocities (n, 6) by body: what lies on the slab slides with it."""
    rng, found = np.random.default_rng(2), {}
    for name, at in (("slab", (0, 0, 0.026)), ("ball", (0.05, 0, 0.113)), ("can", (-0.08, 0.02, 0.145)),
                     ("brick", (0.6, 0.1, 0.1))):  # fmt: skip
        turn = np.array([1.0, 0, 0, 0]) + (0.3 * rng.normal(size=(n, 4)) if name == "brick" else 0.0)
        turn = np.broadcast_to(turn, (n, 4)) / np.linalg.norm(np.broadcast_to(turn, (n, 4)), axis=-1, keepdims=True)
        place = np.array(at) + 1e-3 * rng.uniform(-1, 1, (n, 3)) * [1, 1, 0]
        found[name] = np.c_[place, turn], 0.5 * rng.normal(size=(n, 6)) * [0.2, 0.2, 0.2, 1, 1, 0]
    return found


@pytest.fixture(scope="module")
def reference() -> tuple[fb.Run, dict[str, tuple[np.ndarray, np.ndarray]]]:
    start = states(6)
    return roll(world(BODIES, BODIES), BODIES, start), start


def roll(scene: fb.Scene, order: tuple[str, ...], start: dict[str, tuple[np.ndarray, np.ndarray]]) -> fb.Run:
    q, v = (np.concatenate([start[name][k] for name in order], axis=1) for k in (0, 1))
    return scene.rollout(q, v, dt=DT, steps=STEPS)


def by_body(run: fb.Run, order: tuple[str, ...]) -> np.ndarray:
    """Coordinates and velocities (times, samples, 4, 13) by body in the order of `BODIES`."""
    places = [order.index(name) for name in BODIES]
    q, v = run.q.reshape(*run.q.shape[:-1], 4, 7), run.v.reshape(*run.v.shape[:-1], 4, 6)
    return np.concatenate([q, v], axis=-1)[..., places, :]


def test_the_order_of_samples_does_not_matter(reference) -> None:
    run, start = reference
    assert run.converged.all() and run.contacts.found.sum() > 1000
    order = np.array([3, 0, 5, 1, 4, 2])
    other = roll(world(BODIES, BODIES), BODIES, {name: (q[order], v[order]) for name, (q, v) in start.items()})
    assert np.array_equal(other.q, run.q[:, order]) and np.array_equal(other.v, run.v[:, order])


@pytest.mark.parametrize("order", [(3, 2, 1, 0), (1, 3, 0, 2)])
def test_the_order_of_bodies_and_candidates_does_not_matter(reference, order: tuple[int, ...]) -> None:
    """To rounding, which grows with the motion; but for one sample of six, whose slab comes to rest as it slides and
    turns on redundant points: there several motions exist, of which rounding chooses."""
    run, start = reference
    turned = tuple(BODIES[k] for k in order)
    for bodies, shapes in ((turned, BODIES), (BODIES, turned), (turned, turned)):
        other = roll(world(bodies, shapes), bodies, start)
        difference = np.abs(by_body(other, bodies) - by_body(run, BODIES)).max(axis=(0, 2, 3))  # by sample
        assert (difference < 1e-7).sum() >= 5, (bodies, shapes, difference)
        assert shapes == turned or np.median(difference) < 1e-8
