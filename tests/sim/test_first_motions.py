"""First motions of one robot or scene from many threads at once: one thread makes the machine code, the others wait."""

import threading
import time
from collections import Counter

import numpy as np
import pytest

import fourbar as fb
from fourbar.contact.step_rollout import RolloutStep
from fourbar.functions import rollout as rollouts

THREADS = 5
UPRIGHT = [0, 0, 0.3, 1, 0, 0, 0]


def ball():
    b = fb.Builder("ball")
    b.body("ball", joint=fb.joints.Free(), mass=1.0, inertia=(0.004, 0.004, 0.004))
    return b.build()


def scene():
    return fb.Scene(ball(), fb.Plane(), contacts=[fb.contact.Shape("ball", "sphere", 0.1)])


def worlds(place):
    batch = place.batch(2)
    batch.reset(q=UPRIGHT)
    batch.step(steps=4)
    return batch.q


WAYS = {
    "scene.rollout": (scene, lambda x: x.rollout(UPRIGHT, steps=4).q),
    "scene.simulate": (scene, lambda x: x.simulate(UPRIGHT, duration=0.01).q),
    "scene.batch": (scene, worlds),
    "rollout": (ball, lambda x: fb.rollout(x, [UPRIGHT] * 2, dt=0.01, steps=4).q),
    "simulate": (ball, lambda x: fb.simulate(x, UPRIGHT, duration=0.04, dt=0.01).q),
    "observed": (ball, lambda x: fb.simulate(
        x, UPRIGHT, duration=0.04, dt=0.01, observe={"e": fb.observe.energy()}).observations["e"]),
    "loop": (fb.robots.four_bar, lambda x: fb.simulate(x, x.neutral(), duration=0.04, dt=0.01).q),
}  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
def test_threads_wait_for_the_first(way, monkeypatch):
    made = Counter()

    def counted(owner, name, key):
        original = getattr(owner, name)

        def call(*args):
            made[key(args)] += 1
            time.sleep(0.02)  # so that others come meanwhile
            return original(*args)

        monkeypatch.setattr(owner, name, call)

    counted(rollouts.Step, "program", lambda args: (args[0].name, *args[0].numbers))
    counted(RolloutStep, "program", lambda args: args[0].name)
    counted(rollouts, "RolloutKernel", lambda args: (args[0].name, "kernel", args[1], args[3]))
    make, move = WAYS[way]
    subject, gate, moved = make(), threading.Barrier(THREADS), []

    def begin():
        gate.wait()
        moved.append(move(subject))

    threads = [threading.Thread(target=begin) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(moved) == THREADS
    assert all(np.array_equal(x, moved[0]) for x in moved)
    assert made
    assert set(made.values()) == {1}, made
