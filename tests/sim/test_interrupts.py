"""Motions of scenes: interrupts, states that converged, and the same bits in every way of running."""

import os
import signal
import sys
import threading
import time

import numpy as np
import pytest

import fourbar as fb

POSIX = pytest.mark.skipif(sys.platform == "win32", reason="signals are sent with os.kill")


def balls(n=2, **options):
    b = fb.Builder("balls")
    for k in range(n):
        b.body(f"b{k}", joint=fb.joints.Free(), mass=1.0 + 0.1 * k, inertia=(0.011, 0.012, 0.013))
    shapes = [fb.contact.Shape(f"b{k}", "sphere", 0.1) for k in range(n)]
    return fb.Scene(b.build(), fb.Plane(friction=0.6), contacts=shapes, **options)


def states(scene, n=3):
    rng = np.random.default_rng(0)
    q = np.tile(scene.robot.neutral(), (n, 1))
    for k in range(scene.robot.nq // 7):
        q[:, 7 * k : 7 * k + 3] = 0.02 * rng.normal(size=(n, 3)) + (0.0, 0.0, 0.15 + 0.25 * k)
    return q, rng.normal(size=(n, scene.robot.nv))


@pytest.mark.parametrize("friction", [0.6, 1.0])
def test_live_worlds_and_rollouts_have_the_same_bits(friction):
    """Whether joint forces and friction are given or not: one program makes all of these steps."""
    scene = balls()
    q, v = states(scene)
    given = np.full(len(scene.contacts), friction)
    run = scene.rollout(q, v, dt=2e-3, steps=200, numbers={"friction": given})
    worlds, again = scene.batch(len(q)), scene.batch(len(q))
    for x in (worlds, again):
        x.friction[...] = friction
        x.reset(q=q, v=v)
    worlds.step(steps=200)
    for _ in range(200):
        again.step(np.zeros(scene.robot.nv))
    pushed = scene.simulate(q, v, duration=0.4, tau=np.zeros((200, scene.robot.nv)), numbers={"friction": given})
    asked = scene.rollout(q, v, steps=200, tau=lambda t, q, v: 0.0 * v, numbers={"friction": given})
    for x in (worlds.q, again.q, pushed.q[-1], asked.q[-1]):
        assert np.array_equal(x, run.q[-1])
    if friction == 0.6:
        assert np.array_equal(scene.rollout(q, v, dt=2e-3, steps=200).q, run.q)


def box(tolerance):
    b = fb.Builder("box")
    b.body("box", joint=fb.joints.Free(), mass=1.0, inertia=(0.011, 0.012, 0.013))
    shapes = [fb.contact.Shape("box", "box", (0.2, 0.2, 0.2))]
    scene = fb.Scene(b.build(), fb.Plane(friction=0.6), contacts=shapes, iterations=1, tolerance=tolerance)
    rng = np.random.default_rng(0)
    rotation = rng.normal(size=4)
    return scene, [0, 0, 0.3, *(rotation / np.linalg.norm(rotation))], rng.normal(size=6)


@pytest.mark.parametrize(("tolerance", "advice"), [(1e-16, "tolerance=1e-15"), (1e-19, "iterations=10")])
def test_a_state_converged_or_not_by_its_own_step(tolerance, advice):
    """One step that is not solved does not mark the states after it; the advice depends on how much was missed."""
    scene, q, v = box(tolerance)
    with pytest.warns(fb.SimulationWarning, match=f"tolerance of {tolerance:g} m/s.*{advice}"):
        run = scene.rollout(q, v, steps=200)
    assert np.array_equal(run.converged, run.residual <= tolerance)
    later = np.maximum.accumulate(~run.converged, axis=0) & run.converged
    assert later.any() and run.worst[-1] > tolerance
    assert "worst residual" in repr(run)


@pytest.mark.quick
def test_the_usual_tolerance():
    scene = balls()
    assert scene.spec.tolerance == 1e-8 and scene.spec.aim == 1e-10
    assert [balls(tolerance=x).spec.aim for x in (1e-6, 1e-10, 1e-12, 0.0)] == [1e-8, 1e-10, 1e-12, 0.0]


@pytest.mark.parametrize("verb", ["simulate", "rollout"])
def test_an_interrupted_control_of_a_scene_has_the_states_so_far(verb):
    scene = balls(1)

    def control(t, q, v):
        if t > 0.0399:
            raise KeyboardInterrupt
        return 0.0 * v

    much = {"duration": 0.1} if verb == "simulate" else {"steps": 50}
    with pytest.raises(KeyboardInterrupt) as caught:
        getattr(scene, verb)(scene.start(), tau=control, **much)
    run = caught.value.run
    whole = scene.rollout(scene.start(), steps=50)
    assert type(run).__name__ == "Run" and np.isclose(run.t[-1], 0.04)
    assert np.array_equal(run.q, whole.q[: len(run.t)]) and "'run'" in caught.value.__notes__[0]


def interrupt(move):
    """The KeyboardInterrupt of a motion that would take minutes, shortly after it has begun."""
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt) as caught:
            timer.start()
            move()
            time.sleep(10.0)
    finally:
        timer.join()
        signal.signal(signal.SIGINT, before)
    return caught.value


@POSIX
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("way", ["scene", "rollout", "worlds", "some worlds"])
def test_ctrl_c_ends_long_motions(way, threads):
    scene = balls(1)
    q, v = states(scene, 4)
    long = {"steps": 10**8, "threads": threads}
    worlds = scene.batch(4)
    worlds.reset(q=q, v=v)
    worlds.step()  # compiled before the clock starts
    begun = worlds.t[0]
    moves = {
        "scene": lambda: scene.rollout(q, v, every=10**6, **long),
        "rollout": lambda: fb.rollout(scene.robot, q, v, dt=1e-3, every=10**6, **long),
        "worlds": lambda: worlds.step(**long),
        "some worlds": lambda: worlds.step(ids=[0, 1, 2, 3], **long),
    }
    run = interrupt(moves[way]).run
    if "worlds" in way:
        assert run is worlds and begun < worlds.t[0] < 2e5 and (worlds.t == worlds.t[0]).all()
        assert np.isfinite(worlds.q).all()
    else:
        assert run.q.shape[-1] == scene.robot.nq and not run.diverged.any()


def test_long_calls_of_worlds_have_the_bits_and_the_residual_of_one(monkeypatch):
    scene = balls(2)
    q, v = states(scene)
    whole, parts = scene.batch(3), scene.batch(3)
    monkeypatch.setattr(parts, "_several", lambda driven: 9)
    for x in (whole, parts):
        x.reset(q=q, v=v)
        x.step(steps=100)
    assert np.array_equal(whole.q, parts.q) and np.array_equal(whole.residual, parts.residual)
