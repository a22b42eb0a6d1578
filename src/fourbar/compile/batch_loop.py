"""The driver: machine code that is the same for every robot. It brings W samples into the workspace, runs the blocks,
and takes the results out.

Entry points, compiled once per CPU:
  @kernel(args, dims, steps, data)                  a loop of a NumPy generalised ufunc over dims[0] samples
  @share(args, dims, steps, data, counter, chunk)   the same, but takes samples in chunks from a shared counter, so that
                                                    several threads can work on one batch

`data` is a table of 64-bit words written by `kernel.py`, laid out as below. The table of calls has a row for each:
the address of a block's function, its own table, and the byte offset of a slot that is above zero in some lane where
the block has something to do (-1: always). A row without a function jumps. Every lane always computes a real
sample and never looks at its neighbours, so the result of a sample does not depend on where in a batch it stands.
"""

from __future__ import annotations

from . import signals
from .elementary import LARGEST_ANGLE, SMALLEST_QUATERNION
from .ir import Code, Lanes, word
from .planned_moves import SAMPLES, find_plans, has_plans, move_argument, plan_functions, plan_moves
from .transfer import DECLARATIONS, Pack, Stream, Unpack, open_loop

# Words of the data table.
BYTES, ARGUMENTS, INPUTS, ARGUMENT_TABLE, CALL_TABLE, CALLS, PRESET_TABLE, PRESETS, MALLOC, FREE, FAILURES = range(11)
PIECE, SIGNALS = 11, 12  # after how many samples signals are looked for, and the table of `signals.py`
# Coordinates that are looked at: rows of slots that hold angles (byte offset of the first, how many), and the byte
# offsets of quaternions.
ANGLE_TABLE, ANGLES, QUATERNION_TABLE, QUATERNIONS = range(13, 17)
STRANGE = 17
# Two are written. FAILURES: how often there was no memory for a workspace, and nothing was computed. STRANGE: how often
# an angle was too large to be one, or a quaternion zero.
DATA_WORDS = 18
# Words of one argument: three core dimensions; where in `steps` their strides are (-1: nowhere); the address of its
# slot map (outputs); the byte offset of its first slot (inputs).
ARGUMENT_WORDS = 8
CALL_WORDS = 3  # of a row of the table of calls
# Words of a jump: byte offset of the slot that says whether a repeat goes on, or -1 to jump anyhow; byte offset of the
# slot that counts its passes; how many there may be; the row to go to if it does not go on.
GOING, PASSES, MOST, TARGET = range(4)
_STACK_LIMIT = 1 << 15  # threads may have a stack of 128 kB


def driver(lanes: Lanes) -> str:
    """All functions of the driver, as one LLVM module."""
    parts = [
        *transfers(lanes),
        _bring(lanes),
        _take(lanes),
        _judge(lanes),
        *calling(lanes),
        _run(lanes),
        signals.interrupt_check(SIGNALS),
        entry_point("kernel", "", _KERNEL),
        entry_point("share", ", ptr %counter, i64 %chunk", SHARE),
        lanes.attributes,
        "!0 = !{i32 1}",
    ]
    return "\n".join(parts)


def transfers(lanes: Lanes) -> list[str]:
    """The functions that move samples between arrays and the workspace, and their declarations."""
    return [
        DECLARATIONS,
        Pack(lanes).function("pack"),
        Unpack(lanes).function("unpack"),
        *([Stream(lanes).function("stream")] if lanes.width > 1 else []),
        moving(lanes, "pack"),
        moving(lanes, "unpack"),
        *plan_functions(lanes, layout()),
        presetting(lanes),
    ]


def _stride(c: Code, argument: str, dimension: int) -> str:
    """Stride of a core dimension, zero if the argument has no such dimension."""
    where = word(c, argument, 3 + dimension)
    missing = c.let(f"icmp slt i64 {where}, 0")
    index = c.let(f"select i1 {missing}, i64 0, i64 {where}")
    return c.let(f"select i1 {missing}, i64 0, i64 {word(c, '%steps', index)}")


def _flat(c: Code, shape: tuple[str, str, str]) -> tuple[str, str, str, str]:
    """Whether the entries of a sample of %argument lie at one distance of each other, and its three strides."""
    d0, d1, d2 = shape
    s0, s1, s2 = (_stride(c, "%argument", k) for k in range(3))
    follow1 = c.let(f"icmp eq i64 {s1}, {c.let(f'mul i64 {d2}, {s2}')}")
    row = c.let(f"mul i64 {d1}, {d2}")
    follow0 = c.let(f"icmp eq i64 {s0}, {c.let(f'mul i64 {row}, {s2}')}")
    flat1 = c.let(f"or i1 {follow1}, {c.let(f'icmp eq i64 {d1}, 1')}")
    flat0 = c.let(f"or i1 {follow0}, {c.let(f'icmp eq i64 {d0}, 1')}")
    return c.let(f"and i1 {flat0}, {flat1}"), s0, s1, s2


def layout() -> str:
    """@layout(argument, steps, into): whether an argument is flat, how many entries it has, and their distance."""
    c = Code()
    c.label("entry")
    shape = (word(c, "%argument", 0), word(c, "%argument", 1), word(c, "%argument", 2))
    flat, _, _, inner = _flat(c, shape)
    total = c.let(f"mul i64 {shape[0]}, {c.let(f'mul i64 {shape[1]}, {shape[2]}')}")
    for k, x in enumerate((c.let(f"zext i1 {flat} to i64"), total, inner)):
        c.do(f"store i64 {x}, ptr {c.let(f'getelementptr i64, ptr %into, i64 {k}')}, align 8")
    c.do("ret void")
    return f"define internal void @layout(ptr %argument, ptr %steps, ptr %into) #0 {{\n{c.body()}\n}}\n"


def moving(lanes: Lanes, direction: str) -> str:
    """@move_pack, @move_unpack: all rows of one argument. Rows that follow each other in memory are moved as one."""
    c = Code()
    c.label("entry")
    d0, d1, d2 = (word(c, "%argument", k) for k in range(3))
    slot_map, first = word(c, "%argument", 6, "ptr"), word(c, "%argument", 7)
    slots = c.let(f"getelementptr i8, ptr %ws, i64 {first}")
    row = c.let(f"mul i64 {d1}, {d2}")
    total = c.let(f"mul i64 {d0}, {row}")
    all_lanes = c.let(f"icmp sle i64 {c.let(f'add i64 %i, {lanes.width}')}, %n")
    flat, s0, s1, s2 = _flat(c, (d0, d1, d2))
    if has_plans(lanes):
        dense = c.let(f"and i1 {flat}, {c.let('icmp eq i64 %outer, 8')}")
        c.do(f"br i1 {c.let(f'and i1 {dense}, {all_lanes}')}, label %columns, label %rows")
        c.label("columns")
        here = c.let("getelementptr double, ptr %array, i64 %i")
        c.do(f"call void @columns_{direction}(ptr {slots}, ptr {slot_map}, ptr {here}, i64 {s2}, i64 {total})")
        c.do("ret void")
    else:
        c.do("br label %rows")
    c.label("rows")
    rows0 = c.let(f"select i1 {flat}, i64 1, i64 {d0}")
    rows1 = c.let(f"select i1 {flat}, i64 1, i64 {d1}")
    count = c.let(f"select i1 {flat}, i64 {total}, i64 {d2}")
    c.do("br label %outermost")
    i0, close0 = open_loop(c, "outermost", "rows", rows0, 1, "done")
    c.do("br label %middle")
    i1, close1 = open_loop(c, "middle", "outermost_body", rows1, 1, "outermost_end")
    at = c.let(f"add i64 {c.let(f'mul i64 {i0}, {s0}')}, {c.let(f'mul i64 {i1}, {s1}')}")
    base = c.let(f"getelementptr i8, ptr %array, i64 {at}")
    number = c.let(f"add i64 {c.let(f'mul i64 {i0}, {row}')}, {c.let(f'mul i64 {i1}, {d2}')}")
    to = c.let(f"getelementptr {lanes.double}, ptr {slots}, i64 {number}") if direction == "pack" else slots
    row_map = c.let(f"getelementptr i32, ptr {slot_map}, i64 {number}")
    if direction == "unpack" and lanes.width > 1:  # a single sample is never worth streaming
        row = f"ptr {to}, ptr {row_map}, ptr {base}, i64 %outer, i64 {s2}, i64 {count}"
        gone = c.let(f"call i64 @stream({row}, i64 %i, i64 %n)")
        row_map = c.let(f"getelementptr i32, ptr {row_map}, i64 {gone}")
        base = c.let(f"getelementptr double, ptr {base}, i64 {gone}")
        count = c.let(f"sub i64 {count}, {gone}")
    row = f"ptr {to}, ptr {row_map}, ptr {base}, i64 %outer, i64 {s2}, i64 {count}"
    c.do(f"call void @{direction}({row}, i64 %i, i64 %n)")
    c.do(close1)
    c.label("outermost_end")
    c.do(close0)
    c.label("done")
    c.do("ret void")
    arguments = "ptr %ws, ptr %argument, ptr %steps, ptr %array, i64 %outer, i64 %i, i64 %n"
    return f"define internal void @move_{direction}({arguments}) #0 {{\n{c.body()}\n}}\n"


def _each_argument(c: Code, lanes: Lanes, first: str, count: str, direction: str) -> None:
    """Move `count` arguments from number `first` on, for the W samples from %now on; label `done` follows."""
    find_plans(c, lanes)
    c.do("br label %arguments")
    k, close = open_loop(c, "arguments", "entry", count, 1, "done")
    number = c.let(f"add i64 {k}, {first}")
    words = c.let(f"mul i64 {number}, {ARGUMENT_WORDS}")
    argument = c.let(f"getelementptr i64, ptr %argument_table, i64 {words}")
    move_argument(c, lanes, direction, number, argument, word(c, "%args", number, "ptr"), "0")
    c.do(close)
    c.label("done")


def _bring(lanes: Lanes) -> str:
    """@bring: W samples and the preset constants into a workspace."""
    c = _move_prologue()
    inputs = word(c, "%data", INPUTS)
    _each_argument(c, lanes, "0", inputs, "pack")
    c.do("call void @preset(ptr %data, ptr %ws)")
    c.do("ret void")
    return f"define internal void @bring({SAMPLES}) #0 {{\n{c.body()}\n}}\n"


def _move_prologue() -> Code:
    """The beginning of a function that moves arguments of W samples."""
    c = Code()
    c.label("entry")
    c.do(f"%argument_table = load ptr, ptr {c.let(f'getelementptr i64, ptr %data, i64 {ARGUMENT_TABLE}')}, align 8")
    return c


def presetting(lanes: Lanes) -> str:
    """@preset(data, ws): the preset constants into a workspace, in which the arguments are already."""
    c = Code()
    c.label("entry")
    presets, preset_table = word(c, "%data", PRESETS), word(c, "%data", PRESET_TABLE, "ptr")
    c.do("br label %preset")
    k, close = open_loop(c, "preset", "entry", presets, 1, "done")
    pair = c.let(f"getelementptr [2 x i64], ptr {preset_table}, i64 {k}")
    where = c.let(f"getelementptr i8, ptr %ws, i64 {word(c, pair, 0)}")
    x = word(c, pair, 1, "double")
    one = c.let(f"insertelement {lanes.double} poison, double {x}, i64 0")
    every = c.let(f"shufflevector {lanes.double} {one}, {lanes.double} poison, <{lanes.width} x i32> zeroinitializer")
    c.do(f"store {lanes.double} {every}, ptr {where}, align {lanes.bytes}")
    c.do(close)
    c.label("done")
    c.do("ret void")
    return f"define internal void @preset(ptr %data, ptr %ws) #0 {{\n{c.body()}\n}}\n"


def _take(lanes: Lanes) -> str:
    """@take: the results of W samples out of a workspace."""
    c = _move_prologue()
    inputs = word(c, "%data", INPUTS)
    outputs = c.let(f"sub i64 {word(c, '%data', ARGUMENTS)}, {inputs}")
    _each_argument(c, lanes, inputs, outputs, "unpack")
    c.do("ret void")
    return f"define internal void @take({SAMPLES}) #0 {{\n{c.body()}\n}}\n"


def _size(c: Code, lanes: Lanes, x: str) -> str:
    """The absolute values of numbers."""
    bits = c.let(f"bitcast {lanes.double} {x} to {lanes.integer}")
    size = c.let(f"and {lanes.integer} {bits}, {lanes.integer_constant((1 << 63) - 1)}")
    return c.let(f"bitcast {lanes.integer} {size} to {lanes.double}")


def _look_at_angles(
    c: Code, lanes: Lanes, name: str, before: str, angles: tuple[str, str], after: str, group: int
) -> None:
    """A loop `name`, between labels, over groups of angles (the first, how many); to `strange` from a far one."""
    c.do(f"br label %{name}")
    j, close = open_loop(c, name, before, angles[1], 1, after)
    here = c.let(f"getelementptr [{group} x {lanes.double}], ptr {angles[0]}, i64 {j}")
    for k in range(group):
        x = c.let(f"load {lanes.double}, ptr {c.let(f'getelementptr {lanes.double}, ptr {here}, i64 {k}')}, align 8")
        far = c.let(f"fcmp ogt {lanes.double} {_size(c, lanes, x)}, {lanes.constant(LARGEST_ANGLE)}")
        c.do(f"br i1 {some_lane(c, lanes, far)}, label %strange, label %{name}_good{k}")
        c.label(f"{name}_good{k}")
    c.do(close)


def _judge(lanes: Lanes) -> str:
    """@judge(data, ws): count it if one of W samples in a workspace has coordinates that stand for no placement."""
    c = Code()
    c.label("entry")
    angles, angle_table = word(c, "%data", ANGLES), word(c, "%data", ANGLE_TABLE, "ptr")
    quaternions, quaternion_table = word(c, "%data", QUATERNIONS), word(c, "%data", QUATERNION_TABLE, "ptr")
    c.do("br label %row")
    k, close_row = open_loop(c, "row", "entry", angles, 1, "quaternions")
    row = c.let(f"getelementptr [2 x i64], ptr {angle_table}, i64 {k}")
    first, count = c.let(f"getelementptr i8, ptr %ws, i64 {word(c, row, 0)}"), word(c, row, 1)
    before = "row_body"
    if lanes.width == 1:  # few instructions per angle: the loop itself would take as long as they
        quads = c.let(f"lshr i64 {count}, 2")
        _look_at_angles(c, lanes, "four_angles", before, (first, quads), "rest", 4)
        c.label("rest")
        first = c.let(f"getelementptr [4 x {lanes.double}], ptr {first}, i64 {quads}")
        count, before = c.let(f"and i64 {count}, 3"), "rest"
    _look_at_angles(c, lanes, "angle", before, (first, count), "row_end", 1)
    c.label("row_end")
    c.do(close_row)
    c.label("quaternions")
    c.do("br label %quaternion")
    k, close = open_loop(c, "quaternion", "quaternions", quaternions, 1, "done")
    first = c.let(f"getelementptr i8, ptr %ws, i64 {word(c, quaternion_table, k)}")
    places = [c.let(f"getelementptr {lanes.double}, ptr {first}, i64 {i}") for i in range(4)]
    parts = [c.let(f"load {lanes.double}, ptr {place}, align 8") for place in places]
    least = lanes.constant(SMALLEST_QUATERNION)
    zero = [c.let(f"fcmp olt {lanes.double} {_size(c, lanes, x)}, {least}") for x in parts]
    pairs = [c.let(f"and {lanes.boolean} {a}, {b}") for a, b in (zero[:2], zero[2:])]
    none = c.let(f"and {lanes.boolean} {pairs[0]}, {pairs[1]}")
    c.do(f"br i1 {some_lane(c, lanes, none)}, label %strange, label %quaternion_good")
    c.label("quaternion_good")
    c.do(close)
    c.label("strange")
    c.let(f"atomicrmw add ptr {c.let(f'getelementptr i64, ptr %data, i64 {STRANGE}')}, i64 1 seq_cst, align 8")
    c.do("ret void")
    c.label("done")
    c.do("ret void")
    return f"define internal void @judge(ptr %data, ptr %ws) #0 {{\n{c.body()}\n}}\n"


def some_lane(c: Code, lanes: Lanes, flags: str) -> str:
    """Whether a flag of some lane is set."""
    if lanes.width == 1:  # as it is: LLVM would make a number of it, and test that
        return flags if lanes.scalar else c.let(f"extractelement {lanes.boolean} {flags}, i64 0")
    bits = c.let(f"bitcast {lanes.boolean} {flags} to i{lanes.width}")
    return c.let(f"icmp ne i{lanes.width} {bits}, 0")


def calling(lanes: Lanes) -> tuple[str, str]:
    """@jump(table, ws, next) -> the row to go to from a row that jumps, and @calls(data, ws), which runs all rows."""
    return _jump(lanes), _calls(lanes)


def _is_wanted(c: Code, lanes: Lanes, offset: str) -> str:
    """Whether a slot is above zero in some lane."""
    x = c.let(f"load {lanes.double}, ptr {c.let(f'getelementptr i8, ptr %ws, i64 {offset}')}, align 8")
    return some_lane(c, lanes, c.let(f"fcmp ogt {lanes.double} {x}, {lanes.constant(0.0)}"))


def _jump(lanes: Lanes) -> str:
    c = Code()
    c.label("entry")
    going, target = word(c, "%table", GOING), word(c, "%table", TARGET)
    c.do(f"br i1 {c.let(f'icmp slt i64 {going}, 0')}, label %leave, label %look")
    c.label("look")
    wanted = _is_wanted(c, lanes, going)
    counter = c.let(f"getelementptr i8, ptr %ws, i64 {word(c, '%table', PASSES)}")
    passes = c.let(f"load i64, ptr {counter}, align 8")
    allowed = c.let(f"icmp slt i64 {passes}, {word(c, '%table', MOST)}")
    again = c.let(f"and i1 {wanted}, {allowed}")
    more = c.let(f"select i1 {again}, i64 {c.let(f'add i64 {passes}, 1')}, i64 0")
    c.do(f"store i64 {more}, ptr {counter}, align 8")
    c.do(f"br i1 {again}, label %stay, label %leave")
    c.label("stay")
    c.do("ret i64 %next")
    c.label("leave")
    c.do(f"ret i64 {target}")
    return f"define internal i64 @jump(ptr %table, ptr %ws, i64 %next) #0 {{\n{c.body()}\n}}\n"


def _calls(lanes: Lanes) -> str:
    c = Code()
    c.label("entry")
    calls, call_table = word(c, "%data", CALLS), word(c, "%data", CALL_TABLE, "ptr")
    c.do("br label %row")
    c.label("row")
    c.do("%k = phi i64 [0, %entry], [%next, %block], [%next, %look], [%target, %other]")
    c.do(f"br i1 {c.let(f'icmp slt i64 %k, {calls}')}, label %some, label %done")
    c.label("some")
    row = c.let(f"getelementptr [{CALL_WORDS} x i64], ptr {call_table}, i64 %k")
    function, table, going = word(c, row, 0, "ptr"), word(c, row, 1, "ptr"), word(c, row, 2)
    c.do("%next = add i64 %k, 1")
    c.do(f"br i1 {c.let(f'icmp slt i64 {going}, 0')}, label %always, label %look")
    c.label("look")
    c.do(f"br i1 {_is_wanted(c, lanes, going)}, label %block, label %row")
    c.label("always")
    c.do(f"br i1 {c.let(f'icmp eq ptr {function}, null')}, label %other, label %block")
    c.label("block")
    c.do(f"call void {function}(ptr %ws, ptr {table})")
    c.do("br label %row")
    c.label("other")
    c.do(f"%target = call i64 @jump(ptr {table}, ptr %ws, i64 %next)")
    c.do("br label %row")
    c.label("done")
    c.do("ret void")
    return f"define internal void @calls(ptr %data, ptr %ws) #0 {{\n{c.body()}\n}}\n"


def _run(lanes: Lanes) -> str:
    """@run: samples from %first below %end, W at a time. For more than W of them, moves are planned."""
    c = Code()
    c.label("entry")
    count, table, inputs = (
        word(c, "%data", ARGUMENTS),
        word(c, "%data", ARGUMENT_TABLE, "ptr"),
        word(c, "%data", INPUTS),
    )
    c.do("%some = icmp slt i64 %first, %end")
    c.do("br i1 %some, label %begin, label %done")
    plan_moves(c, lanes, table, ARGUMENT_WORDS, "%args", count, inputs)
    c.do(f"call void @bring({SAMPLES})")
    c.do("call void @judge(ptr %data, ptr %ws)")
    c.do("call void @calls(ptr %data, ptr %ws)")
    c.do(f"call void @take({SAMPLES})")
    c.do(f"%next = add i64 %now, {lanes.width}")
    c.do("%more = icmp slt i64 %next, %end")
    c.do("br i1 %more, label %samples, label %done")
    c.label("done")
    c.do("ret void")
    arguments = "ptr %args, ptr %steps, ptr %data, ptr %ws, i64 %first, i64 %end, i64 %n"
    return f"define internal void @run({arguments}) #0 {{\n{c.body()}\n}}\n"


_KERNEL = [
    "  br label %again",
    "again:",
    "  %from = phi i64 [0, %begin], [%upto, %check]",
    "  %upto = add i64 %from, %piece",
    "  %short = icmp slt i64 %upto, %n",
    "  %to = select i1 %short, i64 %upto, i64 %n",
    "  call void @run(ptr %args, ptr %steps, ptr %data, ptr %ws, i64 %from, i64 %to, i64 %n)",
    "  br i1 %short, label %check, label %finished",
    "check:",
    "  %stop = call i1 @interrupted(ptr %data)",
    "  br i1 %stop, label %finished, label %again",
    "finished:",
]
SHARE = [
    "  br label %again",
    "again:",
    "  %done = phi i64 [0, %begin], [%did, %work], [0, %check]",
    "  %from = atomicrmw add ptr %counter, i64 %chunk seq_cst, align 8",
    "  %left = icmp slt i64 %from, %n",
    "  br i1 %left, label %work, label %finished",
    "work:",
    "  %upto = add i64 %from, %chunk",
    "  %short = icmp slt i64 %upto, %n",
    "  %to = select i1 %short, i64 %upto, i64 %n",
    "  call void @run(ptr %args, ptr %steps, ptr %data, ptr %ws, i64 %from, i64 %to, i64 %n)",
    "  %did = add i64 %done, %chunk",
    "  %due = icmp sge i64 %did, %piece",
    "  br i1 %due, label %check, label %again",
    "check:",
    "  %stop = call i1 @interrupted(ptr %data)",
    "  br i1 %stop, label %abandon, label %again",
    "abandon:",  # the other threads find nothing left
    "  %rest = atomicrmw xchg ptr %counter, i64 %n seq_cst, align 8",
    "  br label %finished",
    "finished:",
]


def entry_point(name: str, more: str, body: list[str]) -> str:
    """An exported function: finds a workspace, on the stack if it is small, and works on dims[0] samples.

    Where there is no memory for one it only counts that: whoever called looks at the count before and after.
    """
    inner = f"@{name}_with(ptr %args, ptr %dims, ptr %steps, ptr %data{more}, ptr %ws)"
    passed = inner.replace(f"@{name}_with", f"void @{name}_with")
    c = Code()
    c.label("entry")
    size = word(c, "%data", BYTES)
    c.do(f"%large = icmp ugt i64 {size}, {_STACK_LIMIT}")
    c.do("br i1 %large, label %heap, label %stack")
    c.label("stack")
    c.do(f"%on_stack = alloca i8, i64 {size}, align 64")
    c.do(f"call {passed.replace('%ws', '%on_stack')}")
    c.do("ret void")
    c.label("heap")
    malloc, free = word(c, "%data", MALLOC, "ptr"), word(c, "%data", FREE, "ptr")
    block = c.let(f"call ptr {malloc}(i64 {c.let(f'add i64 {size}, 64')})")
    c.do(f"br i1 {c.let(f'icmp eq ptr {block}, null')}, label %none, label %some")
    c.label("none")
    counter = c.let(f"getelementptr i64, ptr %data, i64 {FAILURES}")
    c.let(f"atomicrmw add ptr {counter}, i64 1 seq_cst, align 8")
    c.do("ret void")
    c.label("some")
    raw = c.let(f"ptrtoint ptr {block} to i64")
    aligned = c.let(f"and i64 {c.let(f'add i64 {raw}, 63')}, -64")
    c.do(f"%on_heap = inttoptr i64 {aligned} to ptr")
    c.do(f"call {passed.replace('%ws', '%on_heap')}")
    c.do(f"call void {free}(ptr {block})")
    c.do("ret void")
    outer = f"define void @{name}(ptr %args, ptr %dims, ptr %steps, ptr %data{more}) #0 {{\n{c.body()}\n}}\n"
    head = ["begin:", "  %n = load i64, ptr %dims, align 8", f"  %piece_at = getelementptr i64, ptr %data, i64 {PIECE}"]
    work = "\n".join([*head, "  %piece = load i64, ptr %piece_at, align 8", *body, "  ret void"])
    return f"define internal void {inner} #0 {{\n{work}\n}}\n{outer}"
