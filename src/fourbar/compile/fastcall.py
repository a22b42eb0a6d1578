"""Calling a kernel from Python in about fifty nanoseconds: the machine code.

A callable (`callables.py`) runs `@fast` from the first instruction on: it looks at the arrays, and if they are what the
kernel wants (plain float64 arrays, one sample or one row of samples, right shapes), it allocates the result and runs
the kernel, on helper threads too where these are awake. Anything else, including every error, goes to the ordinary
Python function `slow`; so does a call of a watched function whose result has a NaN, which `slow` explains.
The machine code is the same for every robot; what differs is in a table of words.
"""

from __future__ import annotations

from collections.abc import Callable

from . import signals
from .crew import AWAKE, COUNT
from .driver import FAILURES, PIECE, SIGNALS
from .ir import Code
from .threads import CHUNKS_A_THREAD
from .transfer import open_loop

# Words of the environment table.
SINGLE, BATCH = 0, 2  # kernel and data, for one sample and for a batch
(INPUTS, ARRAY_TYPE, DTYPE, SLOW, OUT_NAME, VECTORCALL, NEW_ARRAY, SAVE, RESTORE) = range(4, 13)
WATCHED, DROP = 13, 14  # whether NaN is to be explained (1: of one sample, 2: of batches too); what gives up a result
SPARE = 15  # two results that may be used again
WRAP, NEW_OBJECT = 17, 18  # a class with one slot that is to hold the result, or 0; and what makes its instances
# Threads: their name as an argument, the whole numbers from 1 on, how many by default, for how many samples, the shared
# kernel, its width, the board of the helpers, and the function that works together with them.
(THREADS_NAME, NUMBERS, THREADS, SHARING_FROM, SHARE, WIDTH, BOARD, TOGETHER) = range(19, 27)
TUPLE_ITEMS = 27  # the word of a tuple that holds its first entry, which depends on the version of Python
FIRST_ARGUMENT = 28  # then for each argument: number of core dimensions, and three core dimensions
ARGUMENT_WORDS = 4
MOST_ARGUMENTS = 8
MOST_THREADS = 64  # that can be asked for without taking the slow way
_RELEASE_FROM = 64  # samples from which on the interpreter lock is released
# Offsets in the objects of CPython and NumPy.
INSTANCE_VECTORCALL, INSTANCE_ENVIRONMENT, INSTANCE_STATE, INSTANCE_RELEASE, INSTANCE_SIZE = 16, 24, 32, 40, 48
FIRST_SLOT = 16
_OBJECT_TYPE, _ARRAY_DATA, _ARRAY_ND, _ARRAY_DIMS = 8, 16, 24, 32
_ARRAY_STRIDES, _ARRAY_DESCR, _ARRAY_FLAGS = 40, 56, 64
_ARRAY_WEAK_REFERENCES = 72
_CONTIGUOUS, _OWNED, _ALIGNED, _WRITEABLE = 0x1, 0x4, 0x100, 0x400


def _field(c: Code, pointer: str, offset: int, kind: str = "i64") -> str:
    return c.let(f"load {kind}, ptr {c.let(f'getelementptr i8, ptr {pointer}, i64 {offset}')}, align 4")


def _word(c: Code, table: str, index: int | str, kind: str = "i64") -> str:
    return c.let(f"load {kind}, ptr {c.let(f'getelementptr i64, ptr {table}, i64 {index}')}, align 8")


def _keep(c: Code, value: str, table: str, index: int | str, kind: str = "i64") -> None:
    c.do(f"store {kind} {value}, ptr {c.let(f'getelementptr i64, ptr {table}, i64 {index}')}, align 8")


class _Checks:
    """Leaves the function to `slow` at the first check that fails."""

    def __init__(self, c: Code) -> None:
        self.c = c
        self.count = 0

    def require(self, condition: str) -> None:
        name = f"checked{self.count}"
        self.count += 1
        self.c.do(f"br i1 {condition}, label %{name}, label %slow")
        self.c.label(name)

    def equal(self, a: str, b: str, kind: str = "i64") -> None:
        self.require(self.c.let(f"icmp eq {kind} {a}, {b}"))


def _check_array() -> str:
    """@check(object, description, env, args, steps, where, extra, n, flags) -> i1: note an array for the kernel.

    `where` = (number of the argument, next free core stride). The array must be plain, aligned, float64, with the core
    dimensions of its description behind `extra` (0 or 1) batch dimensions of n samples; n = -1 accepts any number.
    """
    c = Code()
    ok = _Checks(c)
    c.label("entry")
    ok.equal(_field(c, "%object", _OBJECT_TYPE, "ptr"), _word(c, "%env", ARRAY_TYPE, "ptr"), "ptr")
    ok.equal(_field(c, "%object", _ARRAY_DESCR, "ptr"), _word(c, "%env", DTYPE, "ptr"), "ptr")
    flags = c.let(f"and i32 {_field(c, '%object', _ARRAY_FLAGS, 'i32')}, %flags")
    ok.equal(flags, "%flags", "i32")
    core = _word(c, "%description", 0)
    nd = c.let(f"sext i32 {_field(c, '%object', _ARRAY_ND, 'i32')} to i64")
    ok.equal(nd, c.let(f"add i64 {core}, %extra"))
    dims, strides = _field(c, "%object", _ARRAY_DIMS, "ptr"), _field(c, "%object", _ARRAY_STRIDES, "ptr")
    _keep(c, _field(c, "%object", _ARRAY_DATA, "ptr"), "%args", "%number", "ptr")
    c.do("%batched = icmp eq i64 %extra, 1")
    c.do("br i1 %batched, label %batch, label %single")
    c.label("batch")
    ok.equal(_word(c, dims, 0), "%n")
    _keep(c, _word(c, strides, 0), "%steps", "%number")
    c.do("br label %some")
    c.label("single")
    _keep(c, "0", "%steps", "%number")
    c.do("br label %some")
    c.label("some")
    c.do("br label %core")
    j, close = open_loop(c, "core", "some", core, 1, "good")
    axis = c.let(f"add i64 {j}, %extra")
    ok.equal(_word(c, dims, axis), _word(c, "%description", c.let(f"add i64 {j}, 1")))
    _keep(c, _word(c, strides, axis), "%steps", c.let(f"add i64 {j}, %stride"))
    c.do(close)
    c.label("good")
    c.do("ret i1 true")
    c.label("slow")
    c.do("ret i1 false")
    arguments = "ptr %object, ptr %description, ptr %env, ptr %args, ptr %steps"
    rest = "i64 %number, i64 %stride, i64 %extra, i64 %n, i32 %flags"
    return f"define internal i1 @check({arguments}, {rest}) nounwind {{\n{c.body()}\n}}\n"


def _sound() -> str:
    """@sound(data, count) -> i1: whether none of so many numbers is NaN; eight at a time, then one by one."""
    c = Code()
    c.label("entry")
    c.do("%whole = and i64 %count, -8")
    c.do("br label %wide")
    i, close = open_loop(c, "wide", "entry", "%whole", 8, "rest")
    x = c.let(f"load <8 x double>, ptr {c.let(f'getelementptr double, ptr %data, i64 {i}')}, align 8")
    lost = c.let(f"bitcast <8 x i1> {c.let(f'fcmp uno <8 x double> {x}, {x}')} to i8")
    c.do(f"br i1 {c.let(f'icmp eq i8 {lost}, 0')}, label %wide_sound, label %lost")
    c.label("wide_sound")
    c.do(close)
    c.label("rest")
    c.do("%tail = getelementptr double, ptr %data, i64 %whole")
    c.do("%left = sub i64 %count, %whole")
    c.do("br label %narrow")
    i, close = open_loop(c, "narrow", "rest", "%left", 1, "good")
    x = c.let(f"load double, ptr {c.let(f'getelementptr double, ptr %tail, i64 {i}')}, align 8")
    c.do(f"br i1 {c.let(f'fcmp ord double {x}, {x}')}, label %narrow_sound, label %lost")
    c.label("narrow_sound")
    c.do(close)
    c.label("good")
    c.do("ret i1 true")
    c.label("lost")
    c.do("ret i1 false")
    return f"define internal i1 @sound(ptr %data, i64 %count) nounwind {{\n{c.body()}\n}}\n"


def _describe(c: Code, number: str) -> str:
    word = c.let(f"add i64 {c.let(f'mul i64 {number}, {ARGUMENT_WORDS}')}, {FIRST_ARGUMENT}")
    return c.let(f"getelementptr i64, ptr %env, i64 {word}")


def _options() -> str:
    """@options(env, names, values, found) -> i1: note what is given by name, out (an object) and threads (a number)."""
    c = Code()
    c.label("entry")
    c.do(f"%count = load i64, ptr {c.let('getelementptr i8, ptr %names, i64 16')}, align 8")
    out, threads = _word(c, "%env", OUT_NAME, "ptr"), _word(c, "%env", THREADS_NAME, "ptr")
    numbers, first = _word(c, "%env", NUMBERS, "ptr"), _word(c, "%env", TUPLE_ITEMS)
    c.do("br label %each")
    j, close = open_loop(c, "each", "entry", "%count", 1, "good")
    place = c.let(f"add i64 {j}, {first}")
    name, value = _word(c, "%names", place, "ptr"), _word(c, "%values", j, "ptr")
    c.do(f"br i1 {c.let(f'icmp eq ptr {name}, {out}')}, label %is_out, label %other")
    c.label("is_out")
    _keep(c, value, "%found", 0, "ptr")
    c.do("br label %each_end")
    c.label("other")
    c.do(f"br i1 {c.let(f'icmp eq ptr {name}, {threads}')}, label %numbers, label %bad")
    k, close_numbers = open_loop(c, "numbers", "other", str(MOST_THREADS), 1, "bad")
    same = c.let(f"icmp eq ptr {_word(c, numbers, k, 'ptr')}, {value}")
    c.do(f"br i1 {same}, label %is_number, label %numbers_on")
    c.label("is_number")
    _keep(c, c.let(f"add i64 {k}, 1"), "%found", 1)
    c.do("br label %each_end")
    c.label("numbers_on")
    c.do(close_numbers)
    c.label("each_end")
    c.do(close)
    c.label("good")
    c.do("ret i1 true")
    c.label("bad")
    c.do("ret i1 false")
    return f"define internal i1 @options(ptr %env, ptr %names, ptr %values, ptr %found) nounwind {{\n{c.body()}\n}}\n"


def _return_for_all(c: Code, count: str, holds: Callable[[str], str]) -> None:
    """End a function that has a label %entry: whether a condition holds for every number below `count`."""
    c.do("br label %each")
    k, close = open_loop(c, "each", "entry", count, 1, "good")
    c.do(f"br i1 {holds(k)}, label %each_on, label %bad")
    c.label("each_on")
    c.do(close)
    c.label("good")
    c.do("ret i1 true")
    c.label("bad")
    c.do("ret i1 false")


def _ready() -> str:
    """@ready(board, helpers) -> i1: whether so many helpers are there and awake."""
    c = Code()
    c.label("entry")
    there = _word(c, "%board", COUNT)

    def awake(h: str) -> str:
        is_awake = c.let(f"icmp ne i64 {_word(c, '%board', c.let(f'add i64 {h}, {AWAKE}'))}, 0")
        return c.let(f"and i1 {c.let(f'icmp sle i64 %helpers, {there}')}, {is_awake}")

    _return_for_all(c, "%helpers", awake)
    return f"define internal i1 @ready(ptr %board, i64 %helpers) nounwind {{\n{c.body()}\n}}\n"


def _apart() -> str:
    """@apart(env, args, inputs, n) -> i1: whether the result shares no memory with an argument; all are contiguous."""
    c = Code()
    c.label("entry")

    def ends(number: str) -> tuple[str, str]:
        start = _word(c, "%args", number)
        return start, c.let(f"add i64 {start}, {c.let(f'mul i64 8, {_entries(c, number)}')}")

    first, last = ends("%inputs")

    def is_apart(k: str) -> str:
        start, end = ends(k)
        return c.let(f"or i1 {c.let(f'icmp ule i64 {end}, {first}')}, {c.let(f'icmp ule i64 {last}, {start}')}")

    _return_for_all(c, "%inputs", is_apart)
    return f"define internal i1 @apart(ptr %env, ptr %args, i64 %inputs, i64 %n) nounwind {{\n{c.body()}\n}}\n"


def _fast() -> str:
    """@fast: the vectorcall function."""
    c = Code()
    ok = _Checks(c)
    c.label("entry")
    sizes = {"args_now": MOST_ARGUMENTS, "steps": 4 * MOST_ARGUMENTS, "shape": 4, "dims": 1, "options": 2}
    for name, size in sizes.items():
        c.do(f"%{name} = alloca [{size} x i64], align 8")
    c.do(f"%env = load ptr, ptr {c.let(f'getelementptr i8, ptr %callable, i64 {INSTANCE_ENVIRONMENT}')}, align 8")
    inputs = _word(c, "%env", INPUTS)
    given = c.let("and i64 %nargsf, 9223372036854775807")
    ok.equal(given, inputs)
    ok.require(c.let(f"icmp ne i64 {inputs}, 0"))
    first = _word(c, "%args", 0, "ptr")
    ok.equal(_field(c, first, _OBJECT_TYPE, "ptr"), _word(c, "%env", ARRAY_TYPE, "ptr"), "ptr")
    nd = c.let(f"sext i32 {_field(c, first, _ARRAY_ND, 'i32')} to i64")
    c.do(f"%extra = sub i64 {nd}, {_word(c, '%env', FIRST_ARGUMENT)}")
    ok.require(c.let("icmp ult i64 %extra, 2"))
    c.do("%batched = icmp eq i64 %extra, 1")
    c.do(f"%which = select i1 %batched, i64 {BATCH}, i64 {SINGLE}")
    kernel = _word(c, "%env", "%which", "ptr")
    ok.require(c.let(f"icmp ne ptr {kernel}, null"))
    c.do(f"%n = select i1 %batched, i64 {_rows(c, first, '%batched')}, i64 1")
    ok.require(c.let("icmp sgt i64 %n, 0"))
    _keep(c, "%n", "%dims", 0)
    c.do(f"%arguments = add i64 {inputs}, 1")
    _read_options(c, inputs)
    ok.require(c.let(f"call i1 @ready(ptr {_word(c, '%env', BOARD, 'ptr')}, i64 %helpers)"))
    before = f"checked{ok.count - 1}"
    c.do("br label %each")
    c.label("each")
    c.do(f"%k = phi i64 [0, %{before}], [%k_next, %each_good]")
    c.do(f"%stride = phi i64 [%arguments, %{before}], [%stride_next, %each_good]")
    description = _describe(c, "%k")
    good = _call_check(c, _word(c, "%args", "%k", "ptr"), description, "%k", "%stride", "%flags")
    c.do(f"br i1 {good}, label %each_good, label %slow")
    c.label("each_good")
    c.do(f"%stride_next = add i64 %stride, {_word(c, description, 0)}")
    c.do("%k_next = add i64 %k, 1")
    c.do(f"br i1 {c.let(f'icmp slt i64 %k_next, {inputs}')}, label %each, label %result")
    c.label("result")
    _result(c, ok, inputs)
    _compute(c, kernel, inputs)
    _finish(c, inputs)
    c.label("slow")
    call = f"call ptr {_word(c, '%env', VECTORCALL, 'ptr')}(ptr {_word(c, '%env', SLOW, 'ptr')}"
    c.do(f"ret ptr {c.let(f'{call}, ptr %args, i64 %nargsf, ptr %names)')}")
    signature = "ptr @fast(ptr %callable, ptr %args, i64 %nargsf, ptr %names)"
    return f"define {signature} nounwind {{\n{c.body()}\n}}\n"


def _read_options(c: Code, inputs: str) -> None:
    """%out: an object or null; %threads and %helpers: on how many this batch is computed; %flags: what inputs must be.

    If a batch goes into a given array, or a result that is watched, that must not overlap the inputs, which is simply
    seen for contiguous ones: a batch is not read before it is written, and who explains a NaN looks at the inputs.
    """
    _keep(c, "0", "%options", 0)
    _keep(c, "0", "%options", 1)
    c.do(f"br i1 {c.let('icmp eq ptr %names, null')}, label %known, label %options_read")
    c.label("options_read")
    values = c.let(f"getelementptr ptr, ptr %args, i64 {inputs}")
    c.do(f"%readable = call i1 @options(ptr %env, ptr %names, ptr {values}, ptr %options)")
    c.do("br i1 %readable, label %known, label %slow")
    c.label("known")
    c.do(f"%out = load ptr, ptr {c.let('getelementptr i64, ptr %options, i64 0')}, align 8")
    c.do("%into = icmp ne ptr %out, null")
    least = c.let("select i1 %batched, i64 2, i64 1")
    c.do(f"%watching = icmp uge i64 {_word(c, '%env', WATCHED)}, {least}")
    c.do("%separate = or i1 %batched, %watching")
    both = c.let("and i1 %into, %separate")
    c.do(f"%flags = select i1 {both}, i32 {_ALIGNED | _CONTIGUOUS}, i32 {_ALIGNED}")
    asked = _word(c, "%options", 1)
    c.do(f"%threads = select i1 {c.let(f'icmp eq i64 {asked}, 0')}, i64 {_word(c, '%env', THREADS)}, i64 {asked}")
    large = c.let(f"icmp sge i64 %n, {_word(c, '%env', SHARING_FROM)}")
    shared = c.let(f"and i1 {large}, {c.let('icmp sgt i64 %threads, 1')}")
    c.do(f"%helpers = select i1 {shared}, i64 {c.let('sub i64 %threads, 1')}, i64 0")


def _rows(c: Code, array: str, batched: str) -> str:
    """dims[0] of a batched array; the address is safe to read for any array with at least one dimension."""
    dims = _field(c, array, _ARRAY_DIMS, "ptr")
    safe = c.let(f"select i1 {batched}, ptr {dims}, ptr %dims")
    return _word(c, safe, 0)


def _call_check(c: Code, array: str, description: str, number: str, stride: str, flags: str) -> str:
    passed = f"ptr {array}, ptr {description}, ptr %env, ptr %args_now, ptr %steps"
    return c.let(f"call i1 @check({passed}, i64 {number}, i64 {stride}, i64 %extra, i64 %n, i32 {flags})")


def _result(c: Code, ok: _Checks, inputs: str) -> None:
    """Where the result goes: the array given as out=, or a new one."""
    description = _describe(c, inputs)
    core = _word(c, description, 0)
    c.do("br i1 %into, label %named, label %fresh")
    c.label("named")
    flags = c.let(f"or i32 %flags, {_WRITEABLE}")
    ok.require(_call_check(c, "%out", description, inputs, "%stride_next", flags))
    c.do("br i1 %separate, label %overlap, label %accepted")
    c.label("overlap")
    apart = c.let(f"call i1 @apart(ptr %env, ptr %args_now, i64 {inputs}, i64 %n)")
    c.do(f"br i1 {apart}, label %accepted, label %slow")
    c.label("accepted")
    counted = c.let("load i64, ptr %out, align 8")
    c.do(f"store i64 {c.let(f'add i64 {counted}, 1')}, ptr %out, align 8")
    c.do("br label %compute")
    c.label("fresh")
    _reuse(c, description, inputs)
    c.label("make")
    _keep(c, "%n", "%shape", 0)
    for j in range(3):
        _keep(c, _word(c, description, j + 1), "%shape", c.let(f"add i64 %extra, {j}"))
    nd = c.let(f"trunc i64 {c.let(f'add i64 {core}, %extra')} to i32")
    kind, make = _word(c, "%env", ARRAY_TYPE, "ptr"), _word(c, "%env", NEW_ARRAY, "ptr")
    made = f"ptr {kind}, i32 {nd}, ptr %shape, i32 12, ptr null, ptr null, i32 0, i32 0, ptr null"
    c.do(f"%new = call ptr {make}({made})")
    c.do(f"br i1 {c.let('icmp eq ptr %new, null')}, label %failed, label %allocated")
    c.label("failed")
    c.do("ret ptr null")
    c.label("allocated")
    _call_check(c, "%new", description, inputs, "%stride_next", "0")
    _spare(c)
    c.do("br label %compute")
    c.label("compute")
    c.do("%target = phi ptr [%out, %accepted], [%old, %reuse], [%new, %spared]")


def _reuse(c: Code, description: str, inputs: str) -> None:
    """Give out an earlier result of one sample again, if nobody but the table refers to it any more, not even weakly.

    It must still be as it was made: a user may have changed its shape, strides, flags or memory before dropping it.
    An array costs as much to make and free as the dynamics of a small arm. There are two spare ones, because in a loop
    the last result is still in use while the next is computed.
    """
    c.do(f"br i1 {c.let('icmp eq i64 %extra, 0')}, label %spare0, label %make")
    for k in range(2):
        missed = "make" if k else "spare1"
        c.label(f"spare{k}")
        c.do(f"%kept{k} = load ptr, ptr {c.let(f'getelementptr i64, ptr %env, i64 {SPARE + k}')}, align 8")
        c.do(f"br i1 {c.let(f'icmp eq ptr %kept{k}, null')}, label %make, label %counted{k}")
        c.label(f"counted{k}")
        references = c.let(f"load i64, ptr %kept{k}, align 8")
        c.do(f"br i1 {c.let(f'icmp eq i64 {references}, 1')}, label %unused{k}, label %{missed}")
        c.label(f"unused{k}")
        weak = c.let(f"icmp eq ptr {_field(c, f'%kept{k}', _ARRAY_WEAK_REFERENCES, 'ptr')}, null")
        whole = _CONTIGUOUS | _OWNED | _ALIGNED | _WRITEABLE
        same = _call_check(c, f"%kept{k}", description, inputs, "%stride_next", str(whole))
        good = c.let(f"and i1 {weak}, {same}")
        c.do(f"br i1 {good}, label %reuse, label %{missed}")
    c.label("reuse")
    c.do("%old = phi ptr [%kept0, %unused0], [%kept1, %unused1]")
    c.do("store i64 2, ptr %old, align 8")
    c.do("br label %compute")


def _spare(c: Code) -> None:
    """Keep the new result of one sample as a spare one, if there is room."""
    c.do(f"br i1 {c.let('icmp eq i64 %extra, 0')}, label %room0, label %spared")
    for k in range(2):
        c.label(f"room{k}")
        place = c.let(f"getelementptr i64, ptr %env, i64 {SPARE + k}")
        empty = c.let(f"icmp eq ptr {c.let(f'load ptr, ptr {place}, align 8')}, null")
        c.do(f"br i1 {empty}, label %keep{k}, label %{'spared' if k else 'room1'}")
        c.label(f"keep{k}")
        c.do(f"store ptr %new, ptr {place}, align 8")
        c.do("store i64 2, ptr %new, align 8")
        c.do("br label %spared")
    c.label("spared")


def _compute(c: Code, kernel: str, inputs: str) -> None:
    """Run the kernel: as it is, without the interpreter lock, or together with helpers; `slow` if memory is short."""
    data = _word(c, "%env", c.let("add i64 %which, 1"), "ptr")
    failures = _word(c, data, FAILURES)
    run = f"call void {kernel}(ptr %args_now, ptr %dims, ptr %steps, ptr {data})"
    c.do(f"br i1 {c.let(f'icmp sge i64 %n, {_RELEASE_FROM}')}, label %released, label %held")
    c.label("held")
    c.do(run)
    c.do("br label %ran")
    c.label("released")
    c.do(f"%thread = call ptr {_word(c, '%env', SAVE, 'ptr')}()")
    c.do(f"br i1 {c.let('icmp eq i64 %helpers, 0')}, label %unaided, label %aided")
    c.label("unaided")
    c.do(run)
    c.do("br label %restore")
    c.label("aided")
    width = _word(c, "%env", WIDTH)
    parts = c.let(f"mul i64 {c.let(f'mul i64 %threads, {CHUNKS_A_THREAD}')}, {width}")
    whole = c.let(f"udiv i64 %n, {parts}")
    some = c.let(f"select i1 {c.let(f'icmp eq i64 {whole}, 0')}, i64 1, i64 {whole}")
    task = f"ptr {_word(c, '%env', SHARE, 'ptr')}, ptr %args_now, ptr %dims, ptr %steps, ptr {data}"
    board, together = _word(c, "%env", BOARD, "ptr"), _word(c, "%env", TOGETHER, "ptr")
    even, most = c.let(f"mul i64 {some}, {width}"), _word(c, data, PIECE)
    chunk = c.let(f"select i1 {c.let(f'icmp slt i64 {even}, {most}')}, i64 {even}, i64 {most}")
    c.do(f"call void {together}(ptr {board}, {task}, i64 {chunk}, i64 %helpers)")
    c.do("br label %restore")
    c.label("restore")
    c.do(f"call void {_word(c, '%env', RESTORE, 'ptr')}(ptr %thread)")
    c.do("br label %ran")
    c.label("ran")
    _raise(c, _word(c, data, SIGNALS, "ptr"))
    c.do(f"br i1 {c.let(f'icmp eq i64 {failures}, {_word(c, data, FAILURES)}')}, label %computed, label %lost")
    c.label("computed")


def _raise(c: Code, table: str) -> None:
    """If a signal handler raised an error in this thread, for whose sake the kernel came back early, raise it here."""
    kind = _word(c, table, signals.ERROR, "ptr")
    c.do(f"br i1 {c.let(f'icmp eq ptr {kind}, null')}, label %undisturbed, label %disturbed")
    c.label("disturbed")
    here = c.let(f"call i64 {_word(c, table, signals.THREAD, 'ptr')}()")
    c.do(f"br i1 {c.let(f'icmp eq i64 {here}, {_word(c, table, signals.MAIN)}')}, label %raise, label %undisturbed")
    c.label("raise")
    value, trace = (_word(c, table, signals.ERROR + k, "ptr") for k in (1, 2))
    _keep(c, "null", table, signals.ERROR, "ptr")
    c.do(f"call void {_word(c, '%env', DROP, 'ptr')}(ptr %target)")
    c.do(f"call void {_word(c, table, signals.RAISE, 'ptr')}(ptr {kind}, ptr {value}, ptr {trace})")
    c.do("ret ptr null")
    c.label("undisturbed")


def _finish(c: Code, inputs: str) -> None:
    """Look for NaN if that is wanted, and return the result: bare, or in an object that names its parts."""
    c.do("br i1 %watching, label %watched, label %done")
    c.label("watched")
    good = f"call i1 @sound(ptr {_word(c, '%args_now', inputs, 'ptr')}, i64 {_entries(c, inputs)})"
    c.do(f"br i1 {c.let(good)}, label %done, label %lost")
    c.label("lost")
    c.do(f"call void {_word(c, '%env', DROP, 'ptr')}(ptr %target)")
    c.do("br label %slow")
    c.label("done")
    kind = _word(c, "%env", WRAP, "ptr")
    c.do(f"br i1 {c.let(f'icmp eq ptr {kind}, null')}, label %bare, label %wrapped")
    c.label("bare")
    c.do("ret ptr %target")
    c.label("wrapped")
    c.do(f"%object = call ptr {_word(c, '%env', NEW_OBJECT, 'ptr')}(ptr {kind}, i64 0)")
    c.do(f"br i1 {c.let('icmp eq ptr %object, null')}, label %no_object, label %filled")
    c.label("no_object")
    c.do(f"call void {_word(c, '%env', DROP, 'ptr')}(ptr %target)")
    c.do("ret ptr null")
    c.label("filled")
    c.do(f"store ptr %target, ptr {c.let(f'getelementptr i8, ptr %object, i64 {FIRST_SLOT}')}, align 8")
    c.do("ret ptr %object")


def _entries(c: Code, inputs: str) -> str:
    """How many numbers the result has."""
    description = _describe(c, inputs)
    core, count = _word(c, description, 0), "%n"
    for j in range(3):
        there = c.let(f"icmp sgt i64 {core}, {j}")
        count = c.let(f"mul i64 {count}, {c.let(f'select i1 {there}, i64 {_word(c, description, j + 1)}, i64 1')}")
    return count


def assembly() -> str:
    """The whole module."""
    return "".join([_check_array(), _sound(), _options(), _ready(), _apart(), _fast()])
