"""Random algorithms for the recorders: which step is called on which earlier values, and what is wanted at the end."""

from __future__ import annotations

from typing import NamedTuple
from unittest import mock

from hypothesis import strategies as st

from fourbar.expr import Direct, Shared, cos, leaves, maximum, minimum, select, sin
from fourbar.expr import shared_tasks as tasks


class Couple(tuple):
    """A tuple of a class of its own, without NamedTuple's `_make`."""

    __slots__ = ()


class Item(NamedTuple):
    """What all steps work on: nested tuples with three leaves."""

    a: Couple
    b: object


def item(x, y, z):
    return Item(Couple((x, y)), z)


def blend(p, q):
    return (item(0.5 * (p.a[0] + q.a[1]), 0.5 * p.a[1] - 0.25 * q.a[0], p.b - 0.5 * q.b),)


def turn(p, q):
    """Two results are computed, the third is passed through."""
    c, s = cos(p.b), sin(p.b)
    return (item(0.7 * (c * q.a[0] - s * q.a[1]), 0.7 * (s * q.a[0] + c * q.a[1]), q.b),)


def swap(p, q):
    return q, p


def fixed(p, q):
    return (item(0.0, 1.0, -1.0),)


def mixed(p, q):
    """Computed values (one of them twice), constants, and values passed through, all in one result."""
    shared = sin(p.a[0]) * q.b
    return item(shared, 2.5, shared), item(p.b, 0.0, -shared), item(q.a[1], -p.a[1], 0.125)


def order(p, q):
    ahead = 0.5 * (q.a[0] - p.a[0])
    return (item(minimum(p.b, q.b), maximum(p.b, q.b), select(p.a[0] < q.a[0], ahead, 0.0)),)


def ratio(p, q):
    bounded = p.b * q.a[1] / (1.0 + q.a[1] * q.a[1])
    return item(p.a[0] / (q.b * q.b + 1.0), q.a[0] / 3.0, p.a[1]), item(-q.b, sin(q.b), bounded)


STEPS = {f.__name__: f for f in (blend, turn, swap, fixed, mixed, order, ratio)}

_step = st.tuples(st.sampled_from(sorted(STEPS)), st.integers(0, 200), st.integers(0, 200))
schedules = st.lists(_step, min_size=1, max_size=40)
wishes = st.lists(st.integers(0, 200), min_size=1, max_size=6)


def play(schedule, wanted, recorder, x, y):
    """Run a schedule on six numbers x and three numbers y; returns the leaves of the items that are wanted."""
    pool = [
        item(0.0, 1.0, -1.0),
        item(2.5, -0.3, 0.75),
        item(x[0], x[0], x[1]),
        item(x[5], 0.0, 1.0),
        item(*x[0:3]),
        item(*x[3:6]),
        item(y[2], y[0], y[1]),
    ]
    for name, i, j in schedule:
        results = recorder.call(STEPS[name], pool[-1 - i % len(pool)], pool[-1 - j % len(pool)])
        pool.extend(results)
    return [leaf for k in wanted for leaf in leaves(pool[-1 - k % len(pool)])]


def record(schedule, wanted, recorder):
    """The program of a schedule."""
    x, y = recorder.input("x", (2, 3)), recorder.input("y", (3,))
    found = play(schedule, wanted, recorder, x, y)
    return recorder.finish("schedule", [("z", (len(wanted), 3), found)])


def directly(schedule, wanted, x, y):
    """The numbers of a schedule."""
    return play(schedule, wanted, Direct(), x, y)


class SharedBy(Shared):
    """The per-shape layout with a given number of calls a block."""

    def __init__(self, count):
        super().__init__()
        self._count = count

    def finish(self, name, outputs):
        with mock.patch.object(tasks, "_FUSED", (self._count,)):
            return super().finish(name, outputs)
