"""Large graphs: nothing recurses, and time grows in proportion to size."""

import gc
import time

import pytest

from fourbar.expr import Graph, Shared, Unrolled, evaluate, from_text, interpret, jvp, reachable, to_text, vjp

from .support import Dual

LARGE = 20_000
POINT = (0.5, 0.75)


def deep(x, count):
    """A chain: every node hangs on the one before."""
    y = x[0]
    for _ in range(count // 2):
        y = y * x[1] + x[0]
    return y


def wide(x, count):
    """Many independent terms, summed pairwise."""
    terms = [(x[0] + float(k)) * x[1] for k in range(count // 3)]
    while len(terms) > 1:
        terms = [*(a + b for a, b in zip(terms[::2], terms[1::2], strict=False)), *terms[len(terms) & ~1 :]]
    return terms[0]


@pytest.fixture(autouse=True)
def no_collection(only_new):
    """Graphs are freed between the tests; while the clock runs, nobody looks for garbage among millions of nodes."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def by_dual_numbers(shape, point):
    """Value, and slope along the first entry."""
    return shape((Dual(point[0], 1.0), Dual(point[1])), LARGE)


def step(y, x):
    return (y * 0.5 + x,)


def trace(count):
    x = Graph().inputs("x", 2)
    return x, deep(x, count)


def in_one_block(count):
    """The program of a single large step."""
    recorder = Unrolled(block_size=10**9)
    x = recorder.input("x", (2,))
    return recorder.finish("large", [("y", (), recorder.call(lambda x: (deep(x, count),), x))])


def in_steps(recorder, count):
    """The program of a long chain of small steps."""
    x = recorder.input("x", (2,))
    y = x[0]
    for _ in range(count):
        (y,) = recorder.call(step, y, x[1])
    return recorder.finish("chain", [("y", (), (y,))])


@pytest.mark.slow_cases("deep")
@pytest.mark.parametrize("shape", [deep, wide])
def test_large_graphs_are_built_differentiated_and_evaluated(shape):
    graph = Graph()
    x = graph.inputs("x", 2)
    y = shape(x, LARGE)
    assert len(graph.nodes) > 0.95 * LARGE
    forward, (reverse, _) = jvp([y], {x[0]: 1.0}), vjp([y], [1.0], x)
    found = evaluate([*forward, reverse], dict(zip(x, POINT, strict=True)))
    assert found == pytest.approx([by_dual_numbers(shape, POINT).slope] * 2, rel=1e-9)


def test_large_graphs_become_programs_and_text_and_come_back():
    program = in_one_block(LARGE)
    assert len(program.blocks[0].code) > 0.95 * LARGE
    again = from_text(to_text(program))
    assert again == program
    assert interpret(again, {"x": POINT})["y"] == pytest.approx(by_dual_numbers(deep, POINT).value, rel=1e-9)


@pytest.mark.default_cases("Shared")
@pytest.mark.parametrize("make", [Unrolled, Shared])
def test_long_recordings(make):
    program = in_steps(make(), 20_000)
    assert from_text(to_text(program)) == program
    assert interpret(program, {"x": [7.0, 1.5]})["y"] == pytest.approx(3.0)


# What is prepared without the clock, and what is timed.
WORK = {
    "trace": (lambda n: n, trace),
    "reachable": (trace, lambda t: reachable([t[1]])),
    "jvp": (trace, lambda t: jvp([t[1]], {t[0][0]: 1.0})),
    "vjp": (trace, lambda t: vjp([t[1]], [1.0], t[0])),
    "evaluate": (trace, lambda t: evaluate([t[1]], {t[0][0]: 0.5, t[0][1]: 0.5})),
    "one large step": (lambda n: n, in_one_block),
    "small blocks": (lambda n: n // 10, lambda n: in_steps(Unrolled(block_size=20), n)),
    "shared blocks": (lambda n: n // 10, lambda n: in_steps(Shared(), n)),
    "to_text": (in_one_block, to_text),
    "from_text": (lambda n: to_text(in_one_block(n)), from_text),
    "interpret": (in_one_block, lambda p: interpret(p, {"x": POINT})),
}


def seconds(prepare, work, count):
    given = prepare(count)
    start = time.process_time()
    work(given)
    return time.process_time() - start


@pytest.mark.slow
@pytest.mark.parametrize("row", WORK.values(), ids=WORK)
def test_time_grows_about_linearly(row):
    """Four times the size: linear growth takes 4 times as long, quadratic growth 16 times.

    The best of a few runs counts, for others share the machine.
    """
    ratios = []
    for _ in range(5):
        ratios.append(seconds(*row, 20_000) / seconds(*row, 5_000))
        if ratios[-1] < 8.0:
            return
    raise AssertionError(f"times for four times the size: {ratios}")
