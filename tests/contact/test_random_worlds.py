"""Random robots with random shapes on random terrain, for long: what must hold whatever happens."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import fourbar as fb
from fourbar.contact import Shape
from fourbar.contact.gauss_seidel import FEW_ROWS

STEPS, DT, RECOVERED = 10_000, 1e-3, 0.2
KINDS = {"sphere": 1, "capsule": 2, "box": 3, "ellipsoid": 3, "cylinder": 2, "point": 0}


def shape(rng: np.random.Generator, body: str) -> Shape:
    """Something of a few centimetres."""
    kind = str(rng.choice(list(KINDS)))
    size = tuple(rng.uniform(0.03, 0.12, KINDS[kind]))
    return Shape(body, kind, size, position=tuple(rng.uniform(-0.05, 0.05, 3)), rpy=tuple(rng.uniform(-3, 3, 3)))


def robot_of(rng: np.random.Generator) -> fb.System:
    """A free body with up to three more on hinges and slides, damped, some with limits or dry friction."""
    b = fb.Builder("random")
    b.body("body0", joint=fb.joints.Free(), mass=float(rng.uniform(0.5, 3.0)),
           inertia=tuple(rng.uniform(0.004, 0.006, 3)))  # fmt: skip
    for k in range(1, int(rng.integers(1, 5))):
        hinge = rng.uniform() < 0.7
        joint = fb.joints.Revolute(str(rng.choice(list("xyz")))) if hinge else fb.joints.Prismatic("z")
        wide = 1.0 if hinge else 0.05
        b.body(f"body{k}", parent=f"body{rng.integers(0, k)}", joint=joint, position=tuple(rng.uniform(-0.15, 0.15, 3)),
               mass=float(rng.uniform(0.2, 1.0)), inertia=tuple(rng.uniform(0.001, 0.0015, 3)), damping=0.02,
               limits=(-wide, wide) if rng.uniform() < 0.5 else None,
               friction=0.05 if rng.uniform() < 0.5 else 0.0)  # fmt: skip
    return b.build()


def terrain(rng: np.random.Generator, number: int) -> fb.contact.Plane | fb.HeightField | fb.SignedDistance:
    """A slope, a bumpy field or waves; its friction holds what lies on it."""
    if number % 3 == 0:
        return fb.Plane(friction=float(rng.uniform(0.3, 1.0)), normal=(*rng.uniform(-0.1, 0.1, 2), 1.0))
    if number % 3 == 1:
        return fb.HeightField(rng.uniform(0.0, 0.05, (8, 8)), (1.0, 1.0), (-3.5, -3.5), float(rng.uniform(0.3, 1.0)))
    a, b = rng.uniform(1.0, 2.0, 2)
    return fb.SignedDistance(lambda x, y, z: z - 0.03 * fb.sin(a * x) * fb.sin(b * y), friction=0.8)


def world(seed: int) -> tuple[fb.System, fb.Scene]:
    """A robot of four shapes or fewer over terrain."""
    rng = np.random.default_rng(seed)
    robot = robot_of(rng)
    shapes = [shape(rng, body.name) for body in robot.mechanism.bodies]
    return robot, fb.Scene(robot, terrain(rng, seed), contacts=shapes, pairs="none")


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
def test_a_random_robot_falls_and_comes_to_rest(seed: int) -> None:
    """No NaN; solved or marked; energy grows by what takes back a penetration at most; nothing sinks in at rest."""
    robot, scene = world(seed)
    rng, n = np.random.default_rng(100 + seed), 4
    q = np.repeat(robot.neutral()[None], n, 0)
    q[:, :3] = [*rng.uniform(-0.5, 0.5, 2), 0.6]
    v = rng.normal(size=(n, robot.nv))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fb.SimulationWarning)  # what is not solved is looked at below
        run = scene.simulate(q, v, duration=STEPS * DT, dt=DT, every=1)
    assert np.isfinite(run.q).all() and np.isfinite(run.v).all() and not run.diverged.any()
    assert np.array_equal(run.converged, np.maximum.accumulate(run.residual, axis=0) <= 1e-10)
    assert (run.residual <= 1e-10).mean() > (0.997 if scene.n_impulses <= FEW_ROWS else 0.9)
    energy = robot.kinetic_energy(run.q, run.v) + robot.potential_energy(run.q)
    depth = np.maximum(-run.contacts.gap[1:], 0.0).sum(axis=-1)
    push = np.linalg.norm(run.contacts.force[1:], axis=-1).max(axis=-1)
    work = push * (np.minimum(RECOVERED * depth, 0.5 * DT) + run.residual[1:] * DT)
    if robot.nv > 6:  # links that turn: a step of first order misses the second, ½ dt² of what changes with v³
        work += DT**2 * (1.0 + np.abs(run.v[:-1]).max(axis=-1)) ** 3
    assert (np.diff(energy, axis=0) <= work + 1e-12).all()
    still = np.abs(run.v[-1]).max(axis=-1) < 1e-6
    if still.any():
        assert run.contacts.gap[-1, still].min() > -1e-6


@pytest.mark.slow
@pytest.mark.parametrize(("speed", "gain"), [(1e6, 0.0), (1.0, 1e9), (1e6, 1e9)])
def test_what_is_absurd_ends_in_marked_samples(speed: float, gain: float) -> None:
    """A million metres per second, and gains that no step can follow: samples are finite, or marked and reported."""
    robot, scene = world(9)
    q = np.repeat(robot.neutral()[None], 3, 0)
    q[:, 2] = 0.6
    v = np.zeros((3, robot.nv))
    v[1] = -speed

    def pushed(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        force = -gain * v
        force[[0, 2]] = 0.0
        return force

    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        run = scene.simulate(q, v, duration=0.2, dt=DT, tau=pushed)
    assert np.isfinite(run.q[:, [0, 2]]).all() and run.converged[:, [0, 2]].all() and not run.diverged[[0, 2]].any()
    assert np.isfinite(run.last[0]).all() and np.isfinite(run.last[1]).all()
    sound = np.isfinite(run.q[-1, 1]).all() and run.converged[-1, 1]
    named = any("samples 1 of 3" in str(x.message) for x in told)
    assert sound or (named and (run.diverged[1] or not run.converged[-1, 1]))
    assert gain == 0.0 or run.diverged[1]
