"""Every operation in machine code against its meaning in NumPy, on ordinary and special numbers."""

import math

import numpy as np
import pytest

from fourbar.compile.ir import Lanes
from fourbar.expr import (
    Block,
    Call,
    Input,
    Output,
    Program,
    Store,
    Unrolled,
    atan2,
    cos,
    floor,
    from_text,
    interpret,
    lookup,
    maximum,
    minimum,
    select,
    sin,
    sqrt,
)
from fourbar.expr.interpret import MEANING

from .support import EVERY_WIDTH, program_of, run

TINY = 5e-324
HUGE = 1.7e308
SPECIAL = (0.0, -0.0, 1.0, -1.0, TINY, -3 * TINY, 2.3e-308, 1e-200, 1e200, HUGE, -HUGE, math.inf, -math.inf, math.nan)
ORDINARY = (0.3, -1.9, 2.5, 7.25, -0.001, 40.0)
PAIRS = np.array([(a, b) for a in SPECIAL + ORDINARY for b in SPECIAL + ORDINARY])

TABLE = np.array([0.1, -7.0, math.inf, 3e300, 5.0]).tobytes()

# Operations whose result is exact or correctly rounded: the same bits as NumPy's, whatever the operands.
EXACT = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "neg": lambda a, b: -a,
    "sqrt": lambda a, b: sqrt(a),
    "min": lambda a, b: minimum(a, b),
    "max": lambda a, b: maximum(a, b),
    "lt": lambda a, b: select(a < b, 1.0, -1.0),
    "le": lambda a, b: select(a <= b, 1.0, -1.0),
    "select": lambda a, b: select(a < b, a, b),
    "floor": lambda a, b: floor(a),
    "lookup": lambda a, b: lookup(TABLE, a),
}
ROUNDED = {
    "sin": lambda a, b: sin(a),
    "cos": lambda a, b: cos(a),
    "atan2": lambda a, b: atan2(a, b),
}


def equal_or_both_nan(a, b):
    return (a == b) | (np.isnan(a) & np.isnan(b))


def test_every_operation_is_tested():
    assert set(MEANING) == set(EXACT) | set(ROUNDED)


@pytest.mark.quick
@pytest.mark.parametrize("name", EXACT)
def test_exact_operations(name):
    program = program_of(lambda x: (EXACT[name](x[0], x[1]),), 2)
    assert np.all(equal_or_both_nan(run(program, PAIRS), interpret(program, {"x": PAIRS})["y"]))


@pytest.mark.parametrize("name", ["add", "sub", "mul", "div", "neg", "sqrt"])
def test_zeros_keep_their_sign(name):
    program = program_of(lambda x: (EXACT[name](x[0], x[1]),), 2)
    zeros = np.array([(a, b) for a in (0.0, -0.0) for b in (0.0, -0.0, 1.0, -1.0)])
    got, meant = run(program, zeros), interpret(program, {"x": zeros})["y"]
    known = ~np.isnan(meant)
    assert np.array_equal(np.signbit(got[known]), np.signbit(meant[known]))


@pytest.mark.parametrize("name", ROUNDED)
def test_elementary_functions(name):
    program = program_of(lambda x: (ROUNDED[name](x[0], x[1]),), 2)
    finite = PAIRS[np.all(np.isfinite(PAIRS), axis=1) & (np.abs(PAIRS[:, 0]) < 1e8)]
    pairs = finite if name != "atan2" else PAIRS[np.all(np.isfinite(PAIRS), axis=1)]
    meant = interpret(program, {"x": pairs})["y"]
    assert np.all(np.abs(run(program, pairs) - meant) <= 4 * np.spacing(np.abs(meant)))


@pytest.mark.parametrize("lanes", EVERY_WIDTH, ids=str)
def test_all_operations_in_every_width(lanes):
    """One program of everything, on more samples than a vector holds."""

    def everything(x):
        a, b = x
        return tuple(f(a, b) for f in (*EXACT.values(), *ROUNDED.values()))

    program = program_of(everything, 2)
    x = np.random.default_rng(0).uniform(0.1, 3.0, (37, 2))
    np.testing.assert_allclose(run(program, x, lanes=lanes), interpret(program, {"x": x})["y"], rtol=1e-15)


@pytest.mark.quick
@pytest.mark.parametrize("constant", [0.0, 1.0, 2.0, 3.0, 4.0])
@pytest.mark.parametrize("form", ["c - ab", "ab - c", "c + ab", "ab + c"])
def test_a_constant_is_not_taken_for_the_number_of_an_instruction(form, constant):
    """A product is fused into the sum with a constant that may equal the product's place in the program."""
    forms = {
        "c - ab": lambda x: (constant - x[0] * x[1],),
        "ab - c": lambda x: (x[0] * x[1] - constant,),
        "c + ab": lambda x: (constant + x[0] * x[1],),
        "ab + c": lambda x: (x[0] * x[1] + constant,),
    }
    program = program_of(forms[form], 2)
    x = np.array([3.0, 5.0])
    assert run(program, x) == interpret(program, {"x": x})["y"]


@pytest.mark.parametrize("fma", [True, False])
def test_sums_of_products(fma):
    """Every way to fuse: left, right, both, neither (a product used twice), chained, stored as well."""

    def sums(x):
        a, b, c, d = x
        ab, cd = a * b, c * d
        return ab + cd, ab - cd, a * c + d, d - a * c, a * d - b, b * d + b * d, (a * b + c) * d + a, -(a * c) - b * d

    program = program_of(sums, 4)
    x = np.random.default_rng(1).standard_normal((50, 4))
    if fma and not EVERY_WIDTH[0].fma:
        pytest.skip("this CPU has no fused multiply-add")
    got = run(program, x, lanes=Lanes(4, fma))
    np.testing.assert_allclose(got, interpret(program, {"x": x})["y"], rtol=1e-13, atol=1e-14)


def test_fused_multiply_add_rounds_once():
    lanes = EVERY_WIDTH[2]
    if not lanes.fma:
        pytest.skip("this CPU has no fused multiply-add")
    program = program_of(lambda x: (x[0] * x[0] - x[1],), 2)
    a = 1.0 + 2.0**-30
    assert run(program, np.array([a, 1.0 + 2.0**-29]), lanes=lanes)[0] == 2.0**-60


def test_without_fused_multiply_add_the_bits_are_numpys():
    program = program_of(lambda x: (x[0] * x[1] + x[2], x[2] - x[0] * x[1], sqrt(x[0]) / x[1]), 3)
    x = np.random.default_rng(2).uniform(0.5, 2.0, (100, 3))
    assert np.array_equal(run(program, x, lanes=Lanes(4, False)), interpret(program, {"x": x})["y"])


def test_comparisons_as_numbers_and_numbers_as_conditions():
    """Also where one crosses from a block into another, and comes out as a result."""

    def first(x):
        return x[0] < x[1], (x[0] < x[1]) * x[0] + x[1], select(x[2], x[0], x[1])

    recorder = Unrolled(block_size=1)
    x = recorder.input("x", (3,))
    less, masked, chosen = recorder.call(first, x)
    (again,) = recorder.call(lambda less, x: (select(less, x[2], -x[2]),), less, x)
    program = recorder.finish("conditions", [("y", (4,), (less, masked, chosen, again))])
    assert len(program.blocks) == 2
    x = np.array([(1.0, 2.0, 3.0), (2.0, 1.0, 0.0), (1.0, 1.0, -0.0), (np.nan, 1.0, np.nan), (-1.0, 5.0, -2.0)])
    for lanes in EVERY_WIDTH:
        assert np.array_equal(run(program, x, lanes=lanes), interpret(program, {"x": x})["y"], equal_nan=True)


STEPS = (
    lambda a, b, c: a + b * c,
    lambda a, b, c: a - b * c,
    lambda a, b, c: a * b - c,
    lambda a, b, c: a / (b * b + 1.0),
    lambda a, b, c: -a,
    lambda a, b, c: sin(a) * cos(a) + sin(b),
    lambda a, b, c: sqrt(a * a + 1.0),
    lambda a, b, c: atan2(a, b * b + 0.5),
    lambda a, b, c: minimum(a, maximum(b, c)),
    lambda a, b, c: select(a < b, c * (b - a), 0.0),
    lambda a, b, c: select(b <= a, a - b, b - a) * 2.0 - 3.0,
)


@pytest.mark.parametrize("seed", range(40))
def test_random_programs(seed):
    """Thirty random steps in blocks of random length; all continuous, so that a last bit does not matter."""
    rng = np.random.default_rng(seed)
    recorder = Unrolled(block_size=int(rng.integers(1, 60)))
    inputs = recorder.input("x", (4,))
    pool = [*inputs, 0.0, 1.0, -1.0, 2.0, 3.0, 0.5]
    for _ in range(30):
        a, b, c = (pool[k] for k in rng.integers(0, len(pool), 3))
        step = STEPS[rng.integers(len(STEPS))]
        pool += recorder.call(lambda a, b, c, step=step: (_small(step(a, b, c)),), a, b, c)
    program = recorder.finish("random", [("y", (12,), pool[-12:])])
    x = rng.uniform(-2.0, 2.0, (13, 4))
    meant = interpret(program, {"x": x})["y"]
    lanes = Lanes(int(rng.choice([1, 2, 4, 8])), bool(rng.integers(2)) and EVERY_WIDTH[0].fma)
    np.testing.assert_allclose(run(program, x, lanes=lanes), meant, rtol=1e-9, atol=1e-9)


def _small(x):
    return x / sqrt(1.0 + x * x)


def test_ports_and_tables():
    """A block that is called twice, on other slots and with other constants."""
    block = Block(2, 2, (("load", 0, 0), ("table", 0), ("mul", 0, 1), ("table", 1), ("add", 2, 3)), (Store(1, 0, 4),))
    program = Program(
        "twice", 5, (Input("x", (2,), 0),), (Output("y", (3,), (2, 3, 4)),), ((4, 7.5),), (block,),
        (Call(0, (0, 2), (2.0, 1.0)), Call(0, (1, 3), (-3.0, 0.25))),
    )  # fmt: skip
    for lanes in EVERY_WIDTH:
        assert np.array_equal(run(program, np.array([[1.5, 2.0]] * 9), lanes=lanes), [[4.0, -5.75, 7.5]] * 9)


def test_constants_are_exact():
    awkward = [0.1, 1 / 3, TINY, -TINY, 1.7976931348623157e308, 2.0**-1022, math.pi]
    program = program_of(lambda x: tuple(select(x[0] < 0.0, x[0], c) for c in awkward), 1)
    assert run(program, np.array([1.0])).tobytes() == np.array(awkward).tobytes()


def test_outputs_may_be_inputs_or_constants_and_repeat():
    text = """program mixed slots 4
input x 2 at 0
output y 2x3 at 1:2 0:1 3:4 0:1 2:3 2:3
preset 3 -0.125
block 0 ports 1 table 0
  %0 = load 0 0
  %1 = neg %0
  store 0 2 %1
call 0 0
"""
    program = from_text(text)
    assert np.array_equal(run(program, np.array([4.0, 5.0])), [[5.0, 4.0, -0.125], [4.0, -4.0, -4.0]])
    assert np.array_equal(run(program, np.array([[4.0, 5.0]] * 11))[10], [[5.0, 4.0, -0.125], [4.0, -4.0, -4.0]])


def test_unknown_operations_are_refused():
    program = from_text("program p slots 2\ninput x 1 at 0\noutput y 1 at 1:2\nblock 0 ports 1 table 0\n"
                        "  %0 = load 0 0\n  %1 = cosh %0\n  store 0 1 %1\ncall 0 0\n")  # fmt: skip
    with pytest.raises(ValueError, match="cosh"):
        run(program, np.array([1.0]))


def test_more_than_three_core_dimensions_are_refused():
    program = Program("p", 1, (Input("x", (1, 1, 1, 1), 0),), (Output("y", (), (0,)),), (), (), ())
    with pytest.raises(ValueError, match="three core dimensions"):
        run(program, np.zeros((1, 1, 1, 1)))
