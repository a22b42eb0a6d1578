"""Derivatives of whole programs: against the complex step, and backwards against forwards."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from fourbar.expr import (
    Block,
    Call,
    Input,
    Output,
    Program,
    Replay,
    Shared,
    Store,
    Unrolled,
    atan2,
    cos,
    interpret,
    maximum,
    minimum,
    select,
    sin,
    sqrt,
)
from tests.functions import step

from .samples import GOLDEN, long_schedule
from .schedules import SharedBy, directly, record, schedules, wishes
from .support import EXAMPLES, generic, program_of, seeds

layouts = st.sampled_from((1, 10, 1000, -1, -3))  # operations of a block; negative: calls of a shared block
TARGETS = pytest.mark.parametrize("target", [Unrolled, Shared])


def recorder(layout):
    return Unrolled(layout) if layout > 0 else SharedBy(-layout)


def pushed(program, into, count=1):
    """The program of the results and their rates along `count` directions."""
    given = {x.name: into.input(x.name, x.shape) for x in program.inputs}
    along = [{x.name: into.input(f"d{k}_{x.name}", x.shape) for x in program.inputs} for k in range(count)]
    values, rates = Replay(program, into, given).push(along)
    outputs = [(y.name, y.shape, values[y.name]) for y in program.outputs]
    for k, rate in enumerate(rates):
        outputs += [(f"d{k}_{y.name}", y.shape, rate[y.name]) for y in program.outputs]
    return into.finish("pushed", outputs)


def pulled(program, into):
    """The program of the results and the gradients of their weighted sum."""
    given = {x.name: into.input(x.name, x.shape) for x in program.inputs}
    weights = {y.name: into.input(f"w_{y.name}", y.shape) for y in program.outputs}
    values, gradient = Replay(program, into, given).pull(weights)
    outputs = [(y.name, y.shape, values[y.name]) for y in program.outputs]
    return into.finish("pulled", [*outputs, *((f"g_{x.name}", x.shape, gradient[x.name]) for x in program.inputs)])


def numbers(program, seed):
    rng = np.random.default_rng(seed)
    at = {x.name: rng.uniform(0.3, 1.7, x.shape) for x in program.inputs}
    return at, {x.name: rng.normal(size=x.shape) for x in program.inputs}


def exact(program, at, along):
    """The rates by the complex step."""
    moved = {name: at[name] + 1j * step.STEP * along[name] for name in at}
    found = step.run(program, moved)
    return {y.name: z.imag / step.STEP for y, z in zip(program.outputs, found, strict=True)}


def near(actual, expected, tol=1e-12):
    np.testing.assert_allclose(actual, expected, rtol=tol, atol=tol * max(1.0, np.abs(expected).max(initial=0.0)))


def check(program, at, along, forwards, backwards, tol=1e-12):
    """Values unchanged; rates those of the complex step; <w, J t> = <Jᵀ w, t>."""
    values, rates = interpret(program, at), exact(program, at, along)
    ahead = interpret(forwards, {**at, **{f"d0_{name}": dx for name, dx in along.items()}})
    weights = {f"w_{y.name}": np.random.default_rng(9).normal(size=y.shape) for y in program.outputs}
    back = interpret(backwards, {**at, **weights})
    for y in program.outputs:
        near(ahead[y.name], values[y.name], 1e-14)
        near(back[y.name], values[y.name], 1e-14)
        near(ahead[f"d0_{y.name}"], rates[y.name], tol)
    total = sum(np.sum(weights[f"w_{y.name}"] * rates[y.name]) for y in program.outputs)
    size = sum(np.sum(np.abs(weights[f"w_{y.name}"] * rates[y.name])) for y in program.outputs)
    found = sum(np.sum(back[f"g_{name}"] * dx) for name, dx in along.items())
    assert abs(found - total) <= tol * (1.0 + size)


@EXAMPLES
@given(schedules, wishes, layouts, layouts, seeds)
def test_random_programs(schedule, wanted, source, target, seed):
    program = record(schedule, wanted, recorder(source))
    x, y = generic(seed, 6), generic(seed + 1, 3)
    assume(max(map(abs, directly(schedule, wanted, x, y))) < 100.0)
    at = {"x": np.reshape(x, (2, 3)), "y": np.array(y)}
    along = {"x": np.reshape(generic(seed + 2, 6), (2, 3)), "y": np.array(generic(seed + 3, 3))}
    check(program, at, along, pushed(program, recorder(target)), pulled(program, recorder(target)), 1e-10)


@TARGETS
@pytest.mark.parametrize("name", GOLDEN)
def test_samples(name, target):
    """Every operation, constants and arguments as results, a scalar; and derivatives of derivatives."""
    program = GOLDEN[name]()
    check(program, *numbers(program, 1), pushed(program, target()), pulled(program, target()))


@TARGETS
@pytest.mark.parametrize("layout", [1000, 5, -1, -3])
def test_many_steps(layout, target):
    program = long_schedule(recorder(layout))
    check(program, *numbers(program, 2), pushed(program, target()), pulled(program, target()))


def everything(x):
    """All operations, some several times, over and over: longer than what is differentiated together."""
    a, b, c = x
    for _ in range(40):
        a, b, c = (
            sin(a) * cos(b) - 0.3 * c,
            sqrt(1.0 + a * a) / (2.0 + b * b) + atan2(b, 1.5 + c * c),
            minimum(a, b) + 0.5 * maximum(b, c) - select(a < c, -a * b, 0.5 * c),
        )
    return a, b, c


@TARGETS
def test_a_long_block(target):
    program = program_of(everything, 3, Unrolled(100_000))
    assert max(len(block.code) for block in program.blocks) > 500
    check(program, *numbers(program, 3), pushed(program, target()), pulled(program, target()), 1e-11)


@pytest.mark.default_cases("Shared")
@TARGETS
def test_many_directions(target):
    """More than go into one step: each gives what it gives alone."""
    program = program_of(everything, 3, Unrolled(100_000))
    count = 40
    at, _ = numbers(program, 4)
    along = np.random.default_rng(5).normal(size=(count, 3))
    along[::3, 1:] = 0.0
    found = interpret(pushed(program, target(), count), {**at, **{f"d{k}_x": dx for k, dx in enumerate(along)}})
    for k, dx in enumerate(along):
        near(found[f"d{k}_y"], exact(program, at, {"x": dx})["y"], 1e-11)


def through(step, outputs, layout):
    """A program of calls of one step, and what it hands out."""
    into = recorder(layout)
    x = into.input("x", (3,))
    entries = outputs(lambda *args: into.call(step, *args), x)
    return into.finish("through", [("y", (len(entries),), entries)])


def pair(a, b):
    return sin(a) * b, a


SHAPES = {
    "computed twice": lambda call, x: (*call(x[0], x[1]), *call(x[0], x[1])),
    "computed again from what it gave": lambda call, x: (*call(*call(x[0], x[1])), *call(x[0], x[1])),
    "passed through": lambda call, x: call(*reversed(call(x[2], x[1]))),
    "passed through twice": lambda call, x: (*call(x[0], x[0]), *call(call(x[0], x[0])[1], x[0])),
    "an argument as result": lambda call, x: (x[2], x[2], *call(x[0], x[1]), x[0]),
    "constants": lambda call, x: (4.0, *call(2.0, 3.0), *call(x[0], 0.0), *call(0.0, x[1])),
    "only constants": lambda call, x: (1.0, 0.0, -2.5),
    "not used": lambda call, x: (call(x[0], x[1]), call(x[1], x[2]))[0],
}


@TARGETS
@pytest.mark.parametrize("layout", [1, 1000, -1])
@pytest.mark.parametrize("shape", SHAPES)
def test_how_values_travel(shape, layout, target):
    program = through(pair, SHAPES[shape], layout)
    check(program, *numbers(program, 6), pushed(program, target()), pulled(program, target()), 1e-13)


@TARGETS
def test_one_value_in_two_slots(target):
    """A block copies an argument, and computes a value twice; the next loads all copies."""
    copies = Block(2, 0, (("load", 0, 0), ("sin", 0)), (Store(1, 0, 0), Store(1, 1, 0), Store(1, 2, 1), Store(1, 3, 1)))
    loads = tuple(("load", 0, k) for k in range(4))
    mixed = Block(2, 0, (*loads, ("mul", 0, 2), ("mul", 1, 3), ("mul", 4, 1), ("add", 5, 6)), (Store(1, 0, 7),))
    calls = (Call(0, (0, 1)), Call(0, (0, 5)), Call(1, (1, 9)), Call(1, (5, 10)))
    program = Program("copies", 11, (Input("x", (1,), 0),), (Output("y", (2,), (9, 10)),), (), (copies, mixed), calls)
    (x,) = numbers(program, 8)[0]["x"]
    near(interpret(program, {"x": [x]})["y"], [x * np.sin(x) * (1.0 + x)] * 2, 1e-15)
    check(program, *numbers(program, 8), pushed(program, target()), pulled(program, target()), 1e-14)


def test_presets_do_not_move():
    """A constant that steps read from a slot; the slot's rate is zero though arguments move."""
    program = through(pair, lambda call, x: (*call(2.5, x[0]), *call(x[1], -1.5), *call(*call(2.5, 0.5))), -1)
    assert program.preset
    check(program, *numbers(program, 7), pushed(program, Shared()), pulled(program, Shared()), 1e-13)


@TARGETS
def test_what_does_not_move_costs_nothing(target):
    """Rates along an argument that a block does not depend on are the constant zero."""
    program = through(pair, lambda call, x: (*call(x[0], x[0]), *call(x[1], x[2])), 3)
    into = target()
    given = {"x": into.input("x", (3,))}
    _, (rates,) = Replay(program, into, given).push([{"x": [0.0, 1.0, 0.0]}])
    assert rates["y"][:2] == [0.0, 0.0]
    assert rates["y"][3] == 1.0 or not isinstance(rates["y"][3], float)


@TARGETS
def test_results_without_weight_have_no_gradient(target):
    program = through(pair, lambda call, x: call(x[0], x[1]), 1000)
    into = target()
    _, gradient = Replay(program, into, {"x": into.input("x", (3,))}).pull({})
    assert gradient["x"] == [0.0, 0.0, 0.0]
