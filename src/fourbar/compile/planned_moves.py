"""Moves of arguments that are looked at once for a whole batch: machine code that is the same for every robot.

`@move_pack` and `@move_unpack` of `batch_loop.py` find out from strides, for every W samples again, how an argument
lies in memory, which takes longer than to move a few numbers. A *plan* is the answer for each argument; where it is one
of the usual ones, and W samples are there, `@quick_pack` and `@quick_unpack` go by it. Code that computes one sample at
a time is for single calls, and has no plans.
"""

from __future__ import annotations

from collections.abc import Callable

from .ir import Code, Lanes, word
from .transfer import CHUNK, LEAST_BYTES, Pack, Unpack, can_be_aligned, open_loop, unaligned_entries

# Words of one argument's plan: what kind it is; its array; the distance of its samples; entries per sample
# and how far they are apart; the byte offset of its first slot (inputs), or the address of its slot map (outputs).
KIND, ARRAY, OUTER, COUNT, INNER, PLACE = range(6)
PLAN_WORDS = 6
# Kinds: any; a row of adjacent entries for each sample, or a long one (of outputs only where rows can be aligned); for
# each entry the numbers of all samples, side by side, or (inputs) just one such entry; the same for all.
ANY, ROWS, LONG_ROWS, COLUMNS, SAME, COLUMN = range(6)
_LONG, _LONG_RESULT = 32, 96  # entries of a sample from which on a row is long, that of an input and of an output
SAMPLES = "ptr %args, ptr %steps, ptr %data, ptr %ws, ptr %plans, i64 %now, i64 %n"  # of all that moves arguments


def has_plans(lanes: Lanes) -> bool:
    """Whether moves are planned."""
    return lanes.width > 1


def plan_functions(lanes: Lanes, layout: str) -> list[str]:
    """All functions. `layout` is the text of @layout, which `batch_loop.py` writes."""
    if not has_plans(lanes):
        return []
    moves = (make(lanes, x) for make in (_rows, _columns, _quick) for x in _DIRECTIONS)
    return [layout, _plan(), _long_rows_pack(lanes), _long_rows_unpack(lanes), *moves]


_DIRECTIONS = ("pack", "unpack")


def plan_moves(c: Code, lanes: Lanes, table: str, words: int, arrays: str, count: str, inputs: str) -> None:
    """%plans of `count` arguments, for a run of samples from %first below %end: of more than W, else null.

    From label `begin` to label `samples`, where the loop over samples begins: the number of the first is %now, and
    %next that of the first of the next turn.
    """
    c.label("begin")
    if not has_plans(lanes):
        c.do("br label %samples")
        c.label("samples")
        c.do("%now = phi i64 [%first, %begin], [%next, %samples]")
        c.do("%plans = phi ptr [null, %begin], [%plans, %samples]")
        return
    several = c.let(f"icmp sgt i64 {c.let('sub i64 %end, %first')}, {lanes.width}")
    c.do(f"br i1 {several}, label %planning, label %samples")
    c.label("planning")
    c.do(f"%room = alloca i64, i64 {c.let(f'mul i64 {count}, {PLAN_WORDS}')}, align 8")
    given = f"ptr {table}, i64 {words}, ptr {arrays}, ptr %steps, ptr %room"
    c.do(f"call void @plan({given}, i64 {count}, i64 {inputs}, i64 %n)")
    c.do("br label %samples")
    c.label("samples")
    c.do("%now = phi i64 [%first, %begin], [%first, %planning], [%next, %samples]")
    c.do("%plans = phi ptr [null, %begin], [%room, %planning], [%plans, %samples]")


def find_plans(c: Code, lanes: Lanes) -> None:
    """%quick: whether the moves of the samples from %now on are planned, and W of them are left."""
    if has_plans(lanes):
        all_lanes = c.let(f"icmp sle i64 {c.let(f'add i64 %now, {lanes.width}')}, %n")
        c.do(f"%quick = and i1 {all_lanes}, {c.let('icmp ne ptr %plans, null')}")


def move_argument(c: Code, lanes: Lanes, direction: str, number: str, argument: str, begin: str, away: str) -> None:
    """Move an argument of the W samples from %now on, `away` bytes from where its array begins: by its plan, if %quick.

    `argument` is its row in the table of arguments. Done once per function: the labels have fixed names.
    """
    if has_plans(lanes):
        c.do("br i1 %quick, label %planned, label %other")
        c.label("planned")
        plan = c.let(f"getelementptr i64, ptr %plans, i64 {c.let(f'mul i64 {number}, {PLAN_WORDS}')}")
        if direction == "pack":
            _move_column(c, lanes, plan, away)
        parameters = f"ptr %ws, ptr {plan}, ptr {argument}, ptr %steps, i64 {away}"
        c.do(f"call void @quick_{direction}({parameters}, i64 %now, i64 %n)")
        c.do("br label %moved")
        c.label("other")
    outer = word(c, "%steps", number)
    array = c.let(f"getelementptr i8, ptr {begin}, i64 {away}")
    parameters = f"ptr %ws, ptr {argument}, ptr %steps, ptr {array}, i64 {outer}"
    c.do(f"call void @move_{direction}({parameters}, i64 %now, i64 %n)")
    if has_plans(lanes):
        c.do("br label %moved")
        c.label("moved")


def _set(c: Code, table: str, index: int, value: str, kind: str = "i64") -> None:
    c.do(f"store {kind} {value}, ptr {c.let(f'getelementptr i64, ptr {table}, i64 {index}')}, align 8")


def _move_column(c: Code, lanes: Lanes, plan: str, away: str) -> None:
    """Where an input is a single entry, move it here and go on at label `moved`: a call takes several times as long."""
    is_column = c.let(f"icmp eq i64 {word(c, plan, KIND)}, {COLUMN}")
    c.do(f"br i1 {is_column}, label %column, label %quick_move")
    c.label("column")
    array = c.let(f"getelementptr i8, ptr {word(c, plan, ARRAY, 'ptr')}, i64 {away}")
    here = c.let(f"getelementptr double, ptr {array}, i64 %now")
    slot = c.let(f"getelementptr i8, ptr %ws, i64 {word(c, plan, PLACE)}")
    c.do(f"store {lanes.double} {c.let(f'load {lanes.double}, ptr {here}, align 8')}, ptr {slot}, align {lanes.bytes}")
    c.do("br label %moved")
    c.label("quick_move")


def _plan() -> str:
    """@plan(table, words, args, steps, into, count, inputs, n): the plans of `count` arguments for n samples.

    The first `inputs` of them are brought, others taken. `words` are those of one row of the table of arguments.
    """
    c = Code()
    c.label("entry")
    c.do("%layout = alloca [3 x i64], align 8")
    c.do("br label %each")
    number, close = open_loop(c, "each", "entry", "%count", 1, "done")
    argument = c.let(f"getelementptr i64, ptr %table, i64 {c.let(f'mul i64 {number}, %words')}")
    row = c.let(f"getelementptr i64, ptr %into, i64 {c.let(f'mul i64 {number}, {PLAN_WORDS}')}")
    array, outer = word(c, "%args", number, "ptr"), word(c, "%steps", number)
    c.do(f"call void @layout(ptr {argument}, ptr %steps, ptr %layout)")
    flat, total, inner = (word(c, "%layout", k) for k in range(3))
    brought = c.let(f"icmp slt i64 {number}, %inputs")
    slots, place = word(c, argument, 7), word(c, argument, 6)
    is_flat = c.let(f"icmp ne i64 {flat}, 0")
    adjacent = c.let(f"icmp eq i64 {inner}, 8")
    small = c.let(f"icmp slt i64 {c.let(f'mul i64 %n, {outer}')}, {LEAST_BYTES}")
    short = c.let(f"icmp slt i64 {total}, {CHUNK}")  # such rows are not streamed
    plain = c.let(f"or i1 {brought}, {c.let(f'or i1 {small}, {short}')}")
    rows = c.let(f"and i1 {c.let(f'and i1 {is_flat}, {adjacent}')}, {plain}")
    least = c.let(f"select i1 {brought}, i64 {_LONG}, i64 {_LONG_RESULT}")
    suited = c.let(f"or i1 {brought}, {can_be_aligned(c, outer)}")
    is_long = c.let(f"and i1 {suited}, {c.let(f'icmp sge i64 {total}, {least}')}")
    by_row = c.let(f"select i1 {is_long}, i64 {LONG_ROWS}, i64 {ROWS}")
    kind = c.let(f"select i1 {rows}, i64 {by_row}, i64 {ANY}")
    dense = c.let(f"and i1 {is_flat}, {c.let(f'icmp eq i64 {outer}, 8')}")
    alone = c.let(f"and i1 {brought}, {c.let(f'icmp eq i64 {total}, 1')}")
    columns = c.let(f"select i1 {alone}, i64 {COLUMN}, i64 {COLUMNS}")
    kind = c.let(f"select i1 {dense}, i64 {columns}, i64 {kind}")
    fixed = c.let(f"and i1 {c.let(f'and i1 {is_flat}, {brought}')}, {c.let(f'icmp eq i64 {outer}, 0')}")
    kind = c.let(f"select i1 {fixed}, i64 {SAME}, i64 {kind}")
    _set(c, row, KIND, kind)
    _set(c, row, ARRAY, array, "ptr")
    for index, value in ((OUTER, outer), (COUNT, total), (INNER, inner)):
        _set(c, row, index, value)
    _set(c, row, PLACE, c.let(f"select i1 {brought}, i64 {slots}, i64 {place}"))
    c.do(close)
    c.label("done")
    c.do("ret void")
    arguments = "ptr %table, i64 %words, ptr %args, ptr %steps, ptr %into, i64 %count, i64 %inputs, i64 %n"
    return f"define internal void @plan({arguments}) #0 {{\n{c.body()}\n}}\n"


_ROWS = "ptr noalias %slots, ptr noalias %map, ptr noalias %array, i64 %outer, i64 %count"


def _rows(lanes: Lanes, direction: str) -> str:
    """@rows_pack, @rows_unpack(slots, map, array, outer, count): a row of adjacent entries for each of W samples."""
    row = Pack(lanes) if direction == "pack" else Unpack(lanes)
    return _row_by_row(row, f"rows_{direction}", row.move_square)


def _long_rows_pack(lanes: Lanes) -> str:
    """@long_rows_pack: the same for many entries. Moving halves takes registers, which short rows would pay for."""
    row = Pack(lanes)
    return _row_by_row(row, "long_rows_pack", row.move_halves if lanes.width > 2 else row.move_square)


def _long_rows_unpack(lanes: Lanes) -> str:
    """@long_rows_unpack: the same for many entries, where all rows can be aligned: first those before an aligned
    address. Two functions, for the one that has to remember something stores it, when stores are what all wait for.
    """
    c = Code()
    c.label("entry")
    head = unaligned_entries(c, lanes, "%array", "%outer")
    c.do(f"br i1 {c.let(f'icmp eq i64 {head}, 0')}, label %aligned, label %unaligned")
    c.label("aligned")
    c.do("tail call void @rows_unpack(ptr %slots, ptr %map, ptr %array, i64 %outer, i64 %count)")
    c.do("ret void")
    c.label("unaligned")
    c.do(f"tail call void @head_and_rows(ptr %slots, ptr %map, ptr %array, i64 %outer, i64 %count, i64 {head})")
    c.do("ret void")
    rest = Code()
    rest.label("entry")
    rest.do("call void @rows_unpack(ptr %slots, ptr %map, ptr %array, i64 %outer, i64 %head)")
    at = rest.let("getelementptr i32, ptr %map, i64 %head"), rest.let("getelementptr double, ptr %array, i64 %head")
    left = rest.let("sub i64 %count, %head")
    rest.do(f"tail call void @rows_unpack(ptr %slots, ptr {at[0]}, ptr {at[1]}, i64 %outer, i64 {left})")
    rest.do("ret void")
    return (
        f"define internal void @long_rows_unpack({_ROWS}) #0 {{\n{c.body()}\n}}\n"
        f"define internal void @head_and_rows({_ROWS}, i64 %head) #0 {{\n{rest.body()}\n}}\n"
    )


def _row_by_row(row: Pack | Unpack, name: str, square: Callable[[str, list[str]], None]) -> str:
    """A function that moves W entries of W samples at a time, as `square` does, and then the rest."""
    c, w = row.c, row.lanes.width
    c.label("entry")
    rows = ["%array"]
    for _ in range(1, w):
        rows.append(c.let(f"getelementptr i8, ptr {rows[-1]}, i64 %outer"))
    row.count_squares()
    c.do("br label %wide")
    row.move_adjacent(rows, "entry", square)
    c.do("ret void")
    return f"define internal void @{name}({_ROWS}) #0 {{\n{c.body()}\n}}\n"


def _columns(lanes: Lanes, direction: str) -> str:
    """@columns_pack, @columns_unpack(slots, map, array, inner, count): `count` entries of each of W samples, which
    follow each other in the array; the next entry of all of them is `inner` bytes on.
    """
    c, v = Code(), lanes.double
    c.label("entry")
    c.do("br label %each")
    k, close = open_loop(c, "each", "entry", "%count", 1, "done")
    there = c.let(f"getelementptr i8, ptr %array, i64 {c.let(f'mul i64 {k}, %inner')}")
    if direction == "pack":
        slot = c.let(f"getelementptr {v}, ptr %slots, i64 {k}")
        c.do(f"store {v} {c.let(f'load {v}, ptr {there}, align 8')}, ptr {slot}, align {lanes.bytes}")
    else:
        index = c.let(f"load i32, ptr {c.let(f'getelementptr i32, ptr %map, i64 {k}')}, align 4")
        slot = c.let(f"getelementptr {v}, ptr %slots, i64 {c.let(f'zext i32 {index} to i64')}")
        c.do(f"store {v} {c.let(f'load {v}, ptr {slot}, align {lanes.bytes}')}, ptr {there}, align 8")
    c.do(close)
    c.label("done")
    c.do("ret void")
    arguments = "ptr noalias %slots, ptr noalias %map, ptr noalias %array, i64 %inner, i64 %count"
    return f"define internal void @columns_{direction}({arguments}) #0 {{\n{c.body()}\n}}\n"


def _quick(lanes: Lanes, direction: str) -> str:
    """@quick_pack, @quick_unpack(ws, plan, argument, steps, from, now, n): move an argument of W samples, all of which
    are there, beginning `from` bytes into its array.
    """
    c, v = Code(), lanes.double
    c.label("entry")
    kind, outer, count = (word(c, "%plan", k) for k in (KIND, OUTER, COUNT))
    array = c.let(f"getelementptr i8, ptr {word(c, '%plan', ARRAY, 'ptr')}, i64 %from")
    here = c.let(f"getelementptr i8, ptr {array}, i64 {c.let(f'mul i64 %now, {outer}')}")
    place = word(c, "%plan", PLACE)
    if direction == "pack":
        slots, slot_map = c.let(f"getelementptr i8, ptr %ws, i64 {place}"), "null"
    else:
        slots, slot_map = "%ws", c.let(f"inttoptr i64 {place} to ptr")
    cases = {ROWS: "rows", LONG_ROWS: "long_rows", COLUMNS: "columns", SAME: "same"}
    c.do(f"switch i64 {kind}, label %any [{' '.join(f'i64 {k}, label %{name}' for k, name in cases.items())}]")
    for name in ("rows", "long_rows"):
        c.label(name)
        c.do(f"call void @{name}_{direction}(ptr {slots}, ptr {slot_map}, ptr {here}, i64 {outer}, i64 {count})")
        c.do("ret void")
    c.label("columns")
    inner = word(c, "%plan", INNER)
    c.do(f"call void @columns_{direction}(ptr {slots}, ptr {slot_map}, ptr {here}, i64 {inner}, i64 {count})")
    c.do("ret void")
    c.label("same")
    if direction == "pack":
        inner = word(c, "%plan", INNER)
        c.do("br label %entries")
        k, close = open_loop(c, "entries", "same", count, 1, "done")
        at = c.let(f"getelementptr i8, ptr {array}, i64 {c.let(f'mul i64 {k}, {inner}')}")
        x = c.let(f"load double, ptr {at}, align 8")
        one = c.let(f"insertelement {v} poison, double {x}, i64 0")
        every = c.let(f"shufflevector {v} {one}, {v} poison, <{lanes.width} x i32> zeroinitializer")
        c.do(f"store {v} {every}, ptr {c.let(f'getelementptr {v}, ptr {slots}, i64 {k}')}, align {lanes.bytes}")
        c.do(close)
        c.label("done")
    c.do("ret void")
    c.label("any")
    c.do(f"call void @move_{direction}(ptr %ws, ptr %argument, ptr %steps, ptr {array}, i64 {outer}, i64 %now, i64 %n)")
    c.do("ret void")
    arguments = "ptr %ws, ptr %plan, ptr %argument, ptr %steps, i64 %from, i64 %now, i64 %n"
    return f"define internal void @quick_{direction}({arguments}) #0 {{\n{c.body()}\n}}\n"
