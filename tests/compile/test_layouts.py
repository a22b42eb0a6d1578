"""Two layouts of one program, per model and per shape; the stages as text; the text does not depend on the process."""

import hashlib

import numpy as np
import pytest

from fourbar import ArgumentError, UnknownNameError
from fourbar.compile.batch_loop import _STACK_LIMIT
from fourbar.compile.kernel import units
from fourbar.expr import Shared, Unrolled, from_text, interpret, to_text
from fourbar.functions.context import Context
from fourbar.functions.methods import METHODS

from .support import EVERY_WIDTH, OPTIONS, arguments, as_tuple, chain, finished, function, pendulum, robot, run, started

LARGE = ("inverse_dynamics", "forward_dynamics", "inverse_mass_matrix", "mass_matrix", "center_of_mass_jacobian")


def recorded(system, method, recorder):
    """The program of a method by a recorder of one's choice."""
    entry = METHODS[method]
    static = entry.read_options(system.model.cluster_tree, **OPTIONS.get(method, {}))
    outputs = entry.record(Context(system.model, recorder, [x.on(system.model) for x in entry.inputs]), **static)
    return recorder.finish(method, outputs)


@pytest.mark.quick
@pytest.mark.parametrize("method", METHODS)
def test_both_layouts_mean_the_same(method):
    arrays = arguments(robot(), method, (5,))
    named = dict(zip(METHODS[method].arguments, arrays, strict=True))
    wanted = interpret(recorded(robot(), method, Unrolled()), named)
    shared = interpret(recorded(robot(), method, Shared()), named)
    for name, array in wanted.items():
        np.testing.assert_allclose(shared[name], array, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("method", ["forward_dynamics", "inverse_mass_matrix", "integrate", "poses", "hybrid_dynamics"])
def test_both_layouts_in_machine_code(method):
    arrays = arguments(robot(), method, (11,))
    wanted = as_tuple(run(recorded(robot(), method, Unrolled()), *arrays))
    for lanes in (EVERY_WIDTH[0], EVERY_WIDTH[2]):
        shared = as_tuple(run(recorded(robot(), method, Shared()), *arrays, lanes=lanes))
        for a, b in zip(shared, wanted, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_machine_code_follows_the_meaning_of_the_program(method):
    f = function(robot(), method)
    arrays = arguments(robot(), method, (9,))
    program = f.program()
    meant = interpret(program, dict(zip([x.name for x in program.inputs], arrays, strict=True)))
    for result, y in zip(as_tuple(f(*arrays)), program.outputs, strict=True):
        np.testing.assert_allclose(result, meant[y.name], rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("method", ["inverse_dynamics", "forward_dynamics"])
def test_a_long_chain_shares_its_steps(method):
    short, long = chain(100).program(method), chain(204).program(method)  # of eight calls in a row as many are left
    assert len(long.blocks) == len(short.blocks)
    assert sum(len(b.code) for b in long.blocks) == sum(len(b.code) for b in short.blocks)
    assert len(long.calls) > 1.5 * len(short.calls)
    assert {unit.key for unit in units(long)[0]} == {unit.key for unit in units(short)[0]}


@pytest.mark.quick
@pytest.mark.parametrize("method", LARGE)
def test_a_small_robot_is_unrolled(method):
    program = robot().program(method)
    assert all(block.table == 0 and block.ports == 1 for block in program.blocks)
    assert [call.block for call in program.calls] == list(range(len(program.blocks)))


def test_a_long_chain_computes_the_same_either_way():
    system = chain(60)
    arrays = arguments(system, "forward_dynamics", (3,))
    named = dict(zip(["q", "v", "tau"], arrays, strict=True))
    unrolled = interpret(recorded(system, "forward_dynamics", Unrolled()), named)["a"]
    scale = np.abs(unrolled).max()
    np.testing.assert_allclose(system.forward_dynamics(*arrays), unrolled, atol=1e-11 * scale)


def test_a_workspace_too_large_for_the_stack():
    system = chain(75)
    q = system.random(0, 11)
    program = system.program("mass_matrix")
    lanes = EVERY_WIDTH[3]
    assert program.slots * lanes.bytes > _STACK_LIMIT
    meant = interpret(program, {"q": q})["M"]
    np.testing.assert_allclose(run(program, q, lanes=lanes), meant, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(system.mass_matrix(q), meant, rtol=1e-10, atol=1e-10)


def overwritten(program):
    """Calls that store to a slot which they also load: code that stores early would then read the wrong number."""
    found = []
    for number, call in enumerate(program.calls):
        block = program.blocks[call.block]
        read = {call.bases[i[1]] + i[2] for i in block.code if i[0] == "load"}
        written = [call.bases[s.port] + s.offset for s in block.stores]
        if read & set(written) or len(set(written)) != len(written):
            found.append(number)
    return found


@pytest.mark.quick
@pytest.mark.parametrize("method", METHODS)
def test_no_call_overwrites_what_it_reads(method):
    """Code may store a result before it has read all its operands."""
    assert not overwritten(recorded(robot(), method, Unrolled(block_size=50)))
    assert not overwritten(recorded(robot(), method, Shared()))


@pytest.mark.parametrize("block_size", [1, 7, 60, 100_000])
def test_the_size_of_blocks_does_not_matter(block_size):
    arrays = arguments(pendulum(), "forward_dynamics", (6,))
    program = recorded(pendulum(), "forward_dynamics", Unrolled(block_size=block_size))
    np.testing.assert_allclose(run(program, *arrays), pendulum().forward_dynamics(*arrays), rtol=1e-12)


@pytest.mark.quick
@pytest.mark.parametrize("stage", ["program", "llvm", "asm"])
@pytest.mark.parametrize("method", ["inverse_dynamics", "pose"])
def test_every_stage_can_be_shown(method, stage):
    shown = robot().show(method, stage, **OPTIONS.get(method, {}))
    assert {"program": f"program {method}", "llvm": "define void @", "asm": "ret"}[stage] in shown


def test_the_program_is_shown_as_it_is():
    assert from_text(pendulum().show("mass_matrix")) == pendulum().program("mass_matrix")


def test_what_cannot_be_shown():
    with pytest.raises(UnknownNameError, match=r"mass_matrx.*mass_matrix"):
        pendulum().show("mass_matrx")
    with pytest.raises(ArgumentError, match=r"'wasm'.*program, llvm, asm"):
        pendulum().show("mass_matrix", "wasm")


_TEXTS = "from tests.compile.test_layouts import texts; print(texts())"


def texts():
    """A digest of the programs of many methods in both layouts, and of their keys in the cache."""
    found = hashlib.sha256()
    for method in METHODS:
        program = recorded(robot(), method, Shared())
        found.update(to_text(program).encode())
        found.update("".join(unit.key for unit in units(program)[0]).encode())
    for method in LARGE:
        found.update(to_text(recorded(chain(12), method, Unrolled(block_size=200))).encode())
        found.update(to_text(recorded(chain(12), method, Shared())).encode())
    return found.hexdigest()


@pytest.mark.slow  # tests/compile/test_loops.py asks the same of smaller programs
def test_programs_do_not_depend_on_the_hashes_of_the_process():
    """They are the keys of the cache: the order of no set may reach them."""
    running = [started(_TEXTS, PYTHONHASHSEED=seed) for seed in ("1", "4711")]
    assert {finished(process) for process in running} == {texts()}
