"""The results of a call: machine code, the same for every robot (see `vectorcall.py`)."""

from __future__ import annotations

from . import vectorcall_words as w
from .ir import Code, word
from .transfer import open_loop
from .vectorcall_words import describe, entries, field, keep


def functions() -> list[str]:
    """@obtain, @all_without_nan, @drop, @finish, and the functions that they call."""
    return [_obtain(), _without_nan(), _all_without_nan(), _drop(), _finish()]


def _obtain() -> str:
    """@obtain(env, args, steps, which, number, stride, call) -> object or null: an array for a result, noted.

    `which` counts the results, `number` all arguments. An array costs as much to make and free as the dynamics of a
    small arm; so there are two spare ones for each result of one sample, because in a loop the last result is still in
    use while the next is computed.
    """
    c = Code()
    c.label("entry")
    c.do(f"%shape = alloca [{w.MOST_LEADING + 4} x i64], align 8")
    description = describe(c, "%number")
    core, extra = word(c, description, 0), word(c, "%call", w.LEADING)
    spare = c.let(f"add i64 {c.let('mul i64 %which, 2')}, {w.FIRST_SPARE}")
    c.do(f"%spares = getelementptr i64, ptr %env, i64 {spare}")
    c.do(f"%alone = icmp eq i64 {extra}, 0")
    c.do("br i1 %alone, label %spare0, label %make")
    _reuse(c, description)
    c.label("make")
    leading = word(c, "%call", w.LEADING_DIMS, "ptr")
    c.do("br label %lead")
    j, close = open_loop(c, "lead", "make", extra, 1, "shaped")
    keep(c, word(c, leading, j), "%shape", j)
    c.do(close)
    c.label("shaped")
    for k in range(3):
        keep(c, word(c, description, k + 1), "%shape", c.let(f"add i64 {extra}, {k}"))
    nd = c.let(f"trunc i64 {c.let(f'add i64 {core}, {extra}')} to i32")
    kind, make = word(c, "%env", w.ARRAY_TYPE, "ptr"), word(c, "%env", w.NEW_ARRAY, "ptr")
    made = f"ptr {kind}, i32 {nd}, ptr %shape, i32 12, ptr null, ptr null, i32 0, i32 0, ptr null"
    c.do(f"%new = call ptr {make}({made})")
    c.do(f"br i1 {c.let('icmp eq ptr %new, null')}, label %failed, label %allocated")
    c.label("failed")
    c.do("ret ptr null")
    c.label("allocated")
    _call_check(c, "%new", description, 0)
    c.do("br i1 %alone, label %room0, label %spared")
    for k in range(2):
        c.label(f"room{k}")
        empty = c.let(f"icmp eq ptr {word(c, '%spares', k, 'ptr')}, null")
        c.do(f"br i1 {empty}, label %keep{k}, label %{'spared' if k else 'room1'}")
        c.label(f"keep{k}")
        keep(c, "%new", "%spares", k, "ptr")
        c.do("store i32 2, ptr %new, align 8")
        c.do("br label %spared")
    c.label("spared")
    c.do("ret ptr %new")
    arguments = "ptr %env, ptr %args, ptr %steps, i64 %which, i64 %number, i64 %stride, ptr %call"
    return f"define internal ptr @obtain({arguments}) nounwind {{\n{c.body()}\n}}\n"


def _call_check(c: Code, array: str, description: str, flags: int) -> str:
    passed = f"ptr {array}, ptr {description}, ptr %env, ptr %args, ptr %steps, i64 %number, i64 %stride"
    return c.let(f"call i1 @check({passed}, ptr %call, ptr null, i32 {flags})")


def _reuse(c: Code, description: str) -> None:
    """Reuse an earlier result of one sample, if nobody but the table refers to it any more, not even weakly.

    It must still be as it was made: a user may have changed its shape, strides, flags or memory before dropping it.
    """
    for k in range(2):
        missed = "make" if k else "spare1"
        c.label(f"spare{k}")
        c.do(f"%kept{k} = load ptr, ptr {c.let(f'getelementptr i64, ptr %spares, i64 {k}')}, align 8")
        c.do(f"br i1 {c.let(f'icmp eq ptr %kept{k}, null')}, label %make, label %counted{k}")
        c.label(f"counted{k}")
        references = c.let(f"load i32, ptr %kept{k}, align 8")
        c.do(f"br i1 {c.let(f'icmp eq i32 {references}, 1')}, label %unused{k}, label %{missed}")
        c.label(f"unused{k}")
        weak = c.let(f"icmp eq ptr {field(c, f'%kept{k}', w.ARRAY_WEAK_REFERENCES, 'ptr')}, null")
        same = _call_check(c, f"%kept{k}", description, w.CONTIGUOUS | w.OWNED | w.ALIGNED | w.WRITEABLE)
        c.do(f"br i1 {c.let(f'and i1 {weak}, {same}')}, label %reuse, label %{missed}")
    c.label("reuse")
    c.do("%old = phi ptr [%kept0, %unused0], [%kept1, %unused1]")
    c.do("store i32 2, ptr %old, align 8")
    c.do("ret ptr %old")


def _without_nan() -> str:
    """@without_nan(data, count) -> i1: whether each of `count` numbers is finite; eight at a time, then one by one."""
    c = Code()
    c.label("entry")
    c.do("%whole = and i64 %count, -8")
    c.do("br label %wide")
    i, close = open_loop(c, "wide", "entry", "%whole", 8, "rest")
    numbers = c.let(f"load <8 x double>, ptr {c.let(f'getelementptr double, ptr %data, i64 {i}')}, align 8")
    numbers = c.let(f"fmul <8 x double> {numbers}, zeroinitializer")  # NaN of infinity too
    lost = c.let(f"bitcast <8 x i1> {c.let(f'fcmp uno <8 x double> {numbers}, {numbers}')} to i8")
    c.do(f"br i1 {c.let(f'icmp eq i8 {lost}, 0')}, label %wide_good, label %lost")
    c.label("wide_good")
    c.do(close)
    c.label("rest")
    c.do("%tail = getelementptr double, ptr %data, i64 %whole")
    c.do("%left = sub i64 %count, %whole")
    c.do("br label %narrow")
    i, close = open_loop(c, "narrow", "rest", "%left", 1, "good")
    numbers = c.let(f"load double, ptr {c.let(f'getelementptr double, ptr %tail, i64 {i}')}, align 8")
    numbers = c.let(f"fmul double {numbers}, 0.0")
    c.do(f"br i1 {c.let(f'fcmp ord double {numbers}, {numbers}')}, label %narrow_good, label %lost")
    c.label("narrow_good")
    c.do(close)
    c.label("good")
    c.do("ret i1 true")
    c.label("lost")
    c.do("ret i1 false")
    return f"define internal i1 @without_nan(ptr %data, i64 %count) nounwind {{\n{c.body()}\n}}\n"


def _all_without_nan() -> str:
    """@all_without_nan(env, args, inputs, outputs, n) -> i1: whether no result has a NaN; they are contiguous."""
    c = Code()
    c.label("entry")
    c.do("br label %each")
    j, close = open_loop(c, "each", "entry", "%outputs", 1, "good")
    number = c.let(f"add i64 {j}, %inputs")
    data, count = word(c, "%args", number, "ptr"), entries(c, number, "%n")
    c.do(f"br i1 {c.let(f'call i1 @without_nan(ptr {data}, i64 {count})')}, label %each_on, label %lost")
    c.label("each_on")
    c.do(close)
    c.label("good")
    c.do("ret i1 true")
    c.label("lost")
    c.do("ret i1 false")
    arguments = "ptr %env, ptr %args, i64 %inputs, i64 %outputs, i64 %n"
    return f"define internal i1 @all_without_nan({arguments}) nounwind {{\n{c.body()}\n}}\n"


def _drop() -> str:
    """@drop(env, results, count): give up results; null is none."""
    c = Code()
    c.label("entry")
    drop = word(c, "%env", w.DROP, "ptr")  # Py_DecRef, which accepts null
    c.do("br label %each")
    j, close = open_loop(c, "each", "entry", "%count", 1, "done")
    c.do(f"call void {drop}(ptr {word(c, '%results', j, 'ptr')})")
    c.do(close)
    c.label("done")
    c.do("ret void")
    return f"define internal void @drop(ptr %env, ptr %results, i64 %count) nounwind {{\n{c.body()}\n}}\n"


def _finish() -> str:
    """@finish(env, results, args, inputs, outputs) -> object or null: what the caller gets.

    One result bare, or in an object that names its parts; several in a tuple. A result that is null is a number.
    """
    c = Code()
    c.label("entry")
    c.do("br label %each")
    j, close = open_loop(c, "each", "entry", "%outputs", 1, "complete")
    result = word(c, "%results", j, "ptr")
    c.do(f"br i1 {c.let(f'icmp eq ptr {result}, null')}, label %number, label %each_on")
    c.label("number")
    data, dtype = word(c, "%args", c.let(f"add i64 {j}, %inputs"), "ptr"), word(c, "%env", w.DTYPE, "ptr")
    c.do(f"%scalar = call ptr {word(c, '%env', w.NEW_SCALAR, 'ptr')}(ptr {data}, ptr {dtype}, ptr null)")
    keep(c, "%scalar", "%results", j, "ptr")
    c.do(f"br i1 {c.let('icmp eq ptr %scalar, null')}, label %failed, label %each_on")
    c.label("each_on")
    c.do(close)
    c.label("complete")
    c.do("%only = load ptr, ptr %results, align 8")
    c.do(f"br i1 {c.let('icmp eq i64 %outputs, 1')}, label %one, label %several")
    c.label("one")
    kind = word(c, "%env", w.WRAP, "ptr")
    c.do(f"br i1 {c.let(f'icmp eq ptr {kind}, null')}, label %bare, label %wrapped")
    c.label("bare")
    c.do("ret ptr %only")
    c.label("wrapped")
    c.do(f"%object = call ptr {word(c, '%env', w.NEW_OBJECT, 'ptr')}(ptr {kind}, i64 0)")
    c.do(f"br i1 {c.let('icmp eq ptr %object, null')}, label %failed, label %filled")
    c.label("filled")
    c.do(f"store ptr %only, ptr {c.let(f'getelementptr i8, ptr %object, i64 {w.FIRST_SLOT}')}, align 8")
    c.do("ret ptr %object")
    c.label("several")
    c.do(f"%tuple = call ptr {word(c, '%env', w.NEW_TUPLE, 'ptr')}(i64 %outputs)")
    c.do(f"br i1 {c.let('icmp eq ptr %tuple, null')}, label %failed, label %tupled")
    c.label("tupled")
    c.do(f"%items = getelementptr i64, ptr %tuple, i64 {word(c, '%env', w.TUPLE_ITEMS)}")
    c.do("br label %item")
    j, close = open_loop(c, "item", "tupled", "%outputs", 1, "full")
    keep(c, word(c, "%results", j, "ptr"), "%items", j, "ptr")
    c.do(close)
    c.label("full")
    c.do("ret ptr %tuple")
    c.label("failed")
    c.do("call void @drop(ptr %env, ptr %results, i64 %outputs)")
    c.do("ret ptr null")
    arguments = "ptr %env, ptr %results, ptr %args, i64 %inputs, i64 %outputs"
    return f"define internal ptr @finish({arguments}) nounwind {{\n{c.body()}\n}}\n"
