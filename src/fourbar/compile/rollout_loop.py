"""The driver of rollouts: W samples stay in the workspace while a program runs step after step on its own results.

One entry point beside those of `batch_loop.py`, for one thread or several:
  @share(args, dims, steps, data, counter, chunk)

args[0] is a table of what one call asks for (`STEPS`...), the others are arrays, one for each *move*. A move brings an
array into slots or takes one out of slots, as the arguments of a kernel are; its array may have a row for every few
steps. The moves are, in this order: what is brought at the start; controls, which a new row brings again as the motion
goes on; the outputs at the end; and records, of which a row is written after every `EVERY` steps.

After each step the new state takes the place of the old one in the samples that are under way; those that have already
made more steps than the motion wait for it. A sample whose new state is not finite keeps the old one and is `DIVERGED`;
one whose step says so is `STOPPED` after it; neither moves again.
"""

from __future__ import annotations

from . import signals
from .batch_loop import (
    ARGUMENT_WORDS,
    DATA_WORDS,
    SHARE,
    SIGNALS,
    calling,
    entry_point,
    some_lane,
    transfers,
)
from .ir import Code, Lanes, word
from .planned_moves import SAMPLES, find_plans, move_argument, plan_moves
from .transfer import open_loop

# Words of the data table behind those of `batch_loop.py`: the table of moves, and how many there are of each kind.
MOVES, BROUGHT, HELD, TAKEN, RECORDED = range(DATA_WORDS, DATA_WORDS + 5)
# Pairs of byte offsets (from, to): controls from where they are brought to their slots; results to the state's slots.
HELD_TABLE, HELD_SLOTS, STATE_TABLE, STATE_SLOTS = range(DATA_WORDS + 5, DATA_WORDS + 9)
# Byte offsets: of room for a new state; of what has become of each sample; of how many steps it has made; of the slot
# that stops it if it is above zero (-1: there is none).
ROOM, STATUS, MADE, STOP = range(DATA_WORDS + 9, DATA_WORDS + 13)
ROLLOUT_WORDS = DATA_WORDS + 13
# Words of what a call asks for: how many steps; the number of the first; how many steps a row of controls holds, and
# after how many there is a record; the rows that the arrays of controls and records begin with. Then, for each move,
# the distance of its rows.
STEPS, FIRST, HOLD, EVERY, FIRST_CONTROL, FIRST_RECORD, ROWS = range(7)
RUNNING, DIVERGED, STOPPED = 0, 1, 2  # what becomes of a sample


def rollout_driver(lanes: Lanes) -> str:
    """All functions, as one LLVM module."""
    parts = [
        *transfers(lanes),
        *calling(lanes),
        _moves(lanes, "pack"),
        _moves(lanes, "unpack"),
        _hold(lanes),
        _accept(lanes),
        _steps(),
        _run(lanes),
        signals.interrupt_check(SIGNALS),
        entry_point("share", ", ptr %counter, i64 %chunk", SHARE),
        lanes.attributes,
        "!0 = !{i32 1}",
    ]
    return "\n".join(parts)


def _moves(lanes: Lanes, direction: str) -> str:
    """@moves_pack, @moves_unpack(..., first, count, row): moves from number `first` on, of one row of their arrays; by
    their plans, if there are any and W samples are left.
    """
    c = Code()
    c.label("entry")
    asked, table = word(c, "%args", 0, "ptr"), word(c, "%data", MOVES, "ptr")
    find_plans(c, lanes)
    c.do("br label %each")
    k, close = open_loop(c, "each", "entry", "%count", 1, "done")
    number = c.let(f"add i64 {k}, %first")
    move = c.let(f"getelementptr i64, ptr {table}, i64 {c.let(f'mul i64 {number}, {ARGUMENT_WORDS}')}")
    distance = word(c, asked, c.let(f"add i64 {number}, {ROWS}"))
    away = c.let(f"mul i64 {distance}, %row")
    begin = word(c, "%args", c.let(f"add i64 {number}, 1"), "ptr")
    move_argument(c, lanes, direction, number, move, begin, away)
    c.do(close)
    c.label("done")
    c.do("ret void")
    more = "i64 %first, i64 %count, i64 %row"
    return f"define internal void @moves_{direction}({SAMPLES}, {more}) #0 {{\n{c.body()}\n}}\n"


def _slot(c: Code, offset: str) -> str:
    return c.let(f"getelementptr i8, ptr %ws, i64 {offset}")


def _load(c: Code, lanes: Lanes, offset: str) -> str:
    return c.let(f"load {lanes.double}, ptr {_slot(c, offset)}, align {lanes.bytes}")


def _store(c: Code, lanes: Lanes, value: str, offset: str) -> None:
    c.do(f"store {lanes.double} {value}, ptr {_slot(c, offset)}, align {lanes.bytes}")


def _pair(c: Code, table: str, k: str) -> tuple[str, str]:
    pair = c.let(f"getelementptr [2 x i64], ptr {table}, i64 {k}")
    return word(c, pair, 0), word(c, pair, 1)


def _hold(lanes: Lanes) -> str:
    """@hold(..., row): bring a row of controls. They arrive in room of their own: bringing writes beyond its target."""
    c = Code()
    c.label("entry")
    table, slots = word(c, "%data", HELD_TABLE, "ptr"), word(c, "%data", HELD_SLOTS)
    first, count = word(c, "%data", BROUGHT), word(c, "%data", HELD)
    c.do(f"call void @moves_pack({SAMPLES}, i64 {first}, i64 {count}, i64 %row)")
    c.do("br label %each")
    k, close = open_loop(c, "each", "entry", slots, 1, "done")
    origin, target = _pair(c, table, k)
    _store(c, lanes, _load(c, lanes, origin), target)
    c.do(close)
    c.label("done")
    c.do("ret void")
    return f"define internal void @hold({SAMPLES}, i64 %row) #0 {{\n{c.body()}\n}}\n"


def _accept(lanes: Lanes) -> str:
    """@accept(data, ws, number) -> whether some sample goes on after a step, whose results this puts in place.

    The new state is first brought together elsewhere, for it may lie in slots of the old one. x - x is NaN where x is
    not finite, else zero.
    """
    c = Code()
    c.label("entry")
    table, slots, room = word(c, "%data", STATE_TABLE, "ptr"), word(c, "%data", STATE_SLOTS), word(c, "%data", ROOM)
    c.do("br label %new")
    c.label("new")
    c.do("%new_i = phi i64 [0, %entry], [%new_next, %new_body]")
    c.do(f"%bad = phi {lanes.double} [{_zero(lanes)}, %entry], [%worse, %new_body]")
    c.do(f"br i1 {c.let(f'icmp slt i64 %new_i, {slots}')}, label %new_body, label %judge")
    c.label("new_body")
    x = _load(c, lanes, _pair(c, table, "%new_i")[0])
    c.do(f"%worse = fadd {lanes.double} %bad, {c.let(f'fsub {lanes.double} {x}, {x}')}")
    _store(c, lanes, x, c.let(f"add i64 {room}, {c.let(f'mul i64 %new_i, {lanes.bytes}')}"))
    c.do("%new_next = add i64 %new_i, 1")
    c.do("br label %new")
    c.label("judge")
    valid, left = _judge_samples(c, lanes)
    c.do("br label %old")
    k, close = open_loop(c, "old", "judge", slots, 1, "done")
    target = _pair(c, table, k)[1]
    new = _load(c, lanes, c.let(f"add i64 {room}, {c.let(f'mul i64 {k}, {lanes.bytes}')}"))
    kept = _choose(c, lanes, valid, new, _load(c, lanes, target))
    # Volatile, or else LLVM makes a masked store of it, which is slow.
    c.do(f"store volatile {lanes.double} {kept}, ptr {_slot(c, target)}, align {lanes.bytes}")
    c.do(close)
    c.label("done")
    c.do(f"ret i1 {left}")
    return f"define internal i1 @accept(ptr %data, ptr %ws, i64 %number) #0 {{\n{c.body()}\n}}\n"


def _judge_samples(c: Code, lanes: Lanes) -> tuple[str, str]:
    """A mask of the samples that accept their new state (%bad is NaN if it is not finite), and whether any goes on."""
    v, b = lanes.double, lanes.boolean
    status_at, made_at, stop_at = word(c, "%data", STATUS), word(c, "%data", MADE), word(c, "%data", STOP)
    status, steps_made = _load(c, lanes, status_at), _load(c, lanes, made_at)
    going = c.let(f"fcmp oeq {v} {status}, {lanes.constant(float(RUNNING))}")
    one = c.let(f"insertelement {v} poison, double {c.let('sitofp i64 %number to double')}, i64 0")
    here = c.let(f"shufflevector {v} {one}, {v} poison, <{lanes.width} x i32> zeroinitializer")
    running = c.let(f"and {b} {going}, {c.let(f'fcmp oeq {v} {steps_made}, {here}')}")
    finite = c.let(f"fcmp ord {v} %bad, %bad")
    valid = c.let(f"and {b} {running}, {finite}")
    has_stop = c.let(f"icmp sge i64 {stop_at}, 0")
    stop = _load(c, lanes, c.let(f"select i1 {has_stop}, i64 {stop_at}, i64 {status_at}"))  # zero where it runs
    stops = c.let(f"and {b} {valid}, {c.let(f'fcmp ogt {v} {stop}, {lanes.constant(0.0)}')}")
    diverges = c.let(f"xor {b} {running}, {valid}")
    after = _choose(c, lanes, diverges, lanes.constant(float(DIVERGED)), status)
    after = _choose(c, lanes, stops, lanes.constant(float(STOPPED)), after)
    _store(c, lanes, after, status_at)
    one_more = c.let(f"fadd {v} {steps_made}, {lanes.constant(1.0)}")
    _store(c, lanes, _choose(c, lanes, valid, one_more, steps_made), made_at)
    return valid, some_lane(c, lanes, c.let(f"fcmp oeq {v} {after}, {lanes.constant(float(RUNNING))}"))


def _zero(lanes: Lanes) -> str:
    return lanes.constant(0.0)


def _choose(c: Code, lanes: Lanes, condition: str, a: str, b: str) -> str:
    return c.let(f"select {lanes.boolean} {condition}, {lanes.double} {a}, {lanes.double} {b}")


def _due(c: Code, number: str, period: str) -> str:
    """Whether a number of steps is a multiple of a period."""
    return c.let(f"icmp eq i64 {c.let(f'urem i64 {number}, {period}')}, 0")


def _steps() -> str:
    """@steps: all steps of W samples that are in the workspace; ends early where none of them is under way."""
    c = Code()
    c.label("entry")
    asked = word(c, "%args", 0, "ptr")
    count, first, hold, every = (word(c, asked, k) for k in (STEPS, FIRST, HOLD, EVERY))
    first_control, first_record = word(c, asked, FIRST_CONTROL), word(c, asked, FIRST_RECORD)
    brought, held, outputs, recorded = (word(c, "%data", k) for k in (BROUGHT, HELD, TAKEN, RECORDED))
    records = c.let(f"add i64 {c.let(f'add i64 {brought}, {held}')}, {outputs}")
    c.do("br label %step")
    k, close = open_loop(c, "step", "entry", count, 1, "done")
    number = c.let(f"add i64 {first}, {k}")
    fresh = c.let(f"or i1 {_due(c, number, hold)}, {c.let(f'icmp eq i64 {k}, 0')}")
    c.do(f"br i1 {fresh}, label %control, label %go")
    c.label("control")
    row = c.let(f"sub i64 {c.let(f'udiv i64 {number}, {hold}')}, {first_control}")
    c.do(f"call void @hold({SAMPLES}, i64 {row})")
    c.do("br label %go")
    c.label("go")
    c.do("call void @calls(ptr %data, ptr %ws)")
    c.do(f"%left = call i1 @accept(ptr %data, ptr %ws, i64 {number})")
    after = c.let(f"add i64 {number}, 1")
    c.do(f"br i1 {_due(c, after, every)}, label %record, label %look")
    c.label("record")
    row = c.let(f"sub i64 {c.let(f'udiv i64 {after}, {every}')}, {first_record}")
    c.do(f"call void @moves_unpack({SAMPLES}, i64 {records}, i64 {recorded}, i64 {row})")
    c.do("br label %look")
    c.label("look")
    c.do("br i1 %left, label %onward, label %done")
    c.label("onward")
    c.do(close)
    c.label("done")
    c.do("ret void")
    return f"define internal void @steps({SAMPLES}) #0 {{\n{c.body()}\n}}\n"


def _run(lanes: Lanes) -> str:
    """@run: samples from %first below %end, W at a time."""
    c = Code()
    c.label("entry")
    brought, held, outputs = (word(c, "%data", k) for k in (BROUGHT, HELD, TAKEN))
    results = c.let(f"add i64 {brought}, {held}")
    every = c.let(f"add i64 {c.let(f'add i64 {results}, {outputs}')}, {word(c, '%data', RECORDED)}")
    arrays, table = c.let("getelementptr i64, ptr %args, i64 1"), word(c, "%data", MOVES, "ptr")
    c.do("%some = icmp slt i64 %first, %end")
    c.do("br i1 %some, label %begin, label %done")
    plan_moves(c, lanes, table, ARGUMENT_WORDS, arrays, every, results)
    c.do(f"call void @moves_pack({SAMPLES}, i64 0, i64 {brought}, i64 0)")
    c.do("call void @preset(ptr %data, ptr %ws)")
    c.do(f"call void @steps({SAMPLES})")
    c.do(f"call void @moves_unpack({SAMPLES}, i64 {results}, i64 {outputs}, i64 0)")
    c.do(f"%next = add i64 %now, {lanes.width}")
    c.do("%more = icmp slt i64 %next, %end")
    c.do("br i1 %more, label %samples, label %done")
    c.label("done")
    c.do("ret void")
    arguments = "ptr %args, ptr %steps, ptr %data, ptr %ws, i64 %first, i64 %end, i64 %n"
    return f"define internal void @run({arguments}) #0 {{\n{c.body()}\n}}\n"
