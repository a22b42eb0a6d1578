"""Small programs whose text is kept under golden/."""

from __future__ import annotations

import random
from typing import NamedTuple

import numpy as np

from fourbar.expr import (
    Shared,
    Unrolled,
    atan2,
    cos,
    floor,
    jvp,
    lookup,
    maximum,
    minimum,
    select,
    sin,
    sqrt,
    to_text,
    vjp,
)

from .schedules import STEPS, record


class Link(NamedTuple):
    length: float
    mass: float
    stiffness: float


class Point(NamedTuple):
    x: float
    y: float


class State(NamedTuple):
    place: Point
    angle: float


class Load(NamedTuple):
    force: Point
    moment: float


LINKS = (Link(1.0, 0.5, 0.0), Link(0.75, 2.0, 3.0), Link(0.6, 1.5, 4.0))
GRAVITY = 9.81


def outward(link, q, state):
    """The next state of a planar chain."""
    angle = state.angle + q
    return State(Point(state.place.x + link.length * cos(angle), state.place.y + link.length * sin(angle)), angle)


def inward(link, q, base, tip, load):
    """What a link of the chain passes on to the one before it."""
    force = Point(load.force.x, load.force.y + link.mass * GRAVITY)
    arm = Point(tip.place.x - base.place.x, tip.place.y - base.place.y)
    moment = load.moment + arm.x * load.force.y - arm.y * load.force.x + link.stiffness * q
    return Load(force, moment)


def chain(recorder):
    """Static moments of a chain of three links: a sweep out and a sweep back."""
    q = recorder.input("q", (3,))
    tip_force = recorder.input("tip_force", (2,))
    states = [State(Point(0.0, 0.0), 0.0)]
    for link, angle in zip(LINKS, q, strict=True):
        states.append(recorder.call(outward, link, angle, states[-1]))
    load = Load(Point(*tip_force), 0.0)
    moments = []
    for k in reversed(range(3)):
        load = recorder.call(inward, LINKS[k], q[k], states[k], states[k + 1], load)
        moments.insert(0, load.moment)
    return recorder.finish("chain", [("moments", (3,), moments), ("tip", (2,), states[-1].place)])


def operations():
    """Every operation, results that are inputs or constants, and a scalar."""
    recorder = Unrolled()
    a, b = recorder.input("ab", (2,))
    (t,) = recorder.input("t", ())

    def step(a, b, t):
        arithmetic = (a + b, a - b, a * b, a / b, -a, a * -2.0, 3.0 - b)
        elementary = (sin(t), cos(t), sqrt(t), atan2(a, b))
        chosen = (minimum(a, b), maximum(a, 0.5), select(a < b, t, 1.0), select(a <= t, 0.0, b))
        return arithmetic, elementary, chosen

    def find(a, t):
        return floor(a), lookup(np.array([0.25, -1.0]).tobytes(), t)

    found = recorder.call(find, a, t)
    arithmetic, elementary, chosen = recorder.call(step, a, b, t)
    outputs = [
        ("arithmetic", (7,), arithmetic),
        ("elementary", (2, 2), elementary),
        ("chosen", (4,), chosen),
        ("found", (2,), found),
    ]
    return recorder.finish("operations", [*outputs, ("same", (3,), (b, 4.0, a)), ("scalar", (), (float("inf"),))])


def derivatives():
    """Value, directional derivative and gradient of a function of three numbers."""
    recorder = Unrolled()
    x, dx = recorder.input("x", (3,)), recorder.input("dx", (3,))

    def step(x, dx):
        value = sin(x[0] * x[1]) / sqrt(x[2]) + maximum(x[0], x[2])
        return value, jvp([value], dict(zip(x, dx, strict=True)))[0], tuple(vjp([value], [1.0], x))

    value, slope, gradient = recorder.call(step, x, dx)
    scalars = [("value", (), (value,)), ("slope", (), (slope,))]
    return recorder.finish("derivatives", [*scalars, ("gradient", (3,), gradient)])


def long_schedule(recorder):
    """Many steps with long and short lives; too long to read, used to see that recording is deterministic."""
    rng = random.Random(7)
    schedule = [(rng.choice(sorted(STEPS)), rng.randrange(8), rng.randrange(100)) for _ in range(60)]
    return record(schedule, [0, 1, 30], recorder)


GOLDEN = {
    "chain_unrolled": lambda: chain(Unrolled()),
    "chain_small_blocks": lambda: chain(Unrolled(block_size=8)),
    "chain_shared": lambda: chain(Shared()),
    "operations": operations,
    "derivatives": derivatives,
}


def all_texts():
    """The text of every sample."""
    programs = [*(make() for make in GOLDEN.values()), long_schedule(Unrolled(block_size=5)), long_schedule(Shared())]
    return "".join(map(to_text, programs))
