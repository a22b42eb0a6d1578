"""Reading the arguments of a call: machine code, the same for every robot (see `vectorcall.py`).

An argument is a plain float64 array; for one sample also what becomes one at little cost: a number, a list or tuple of
numbers, an array of float32 or int64.
"""

from __future__ import annotations

from . import vectorcall_words as w
from .ir import Code, word
from .transfer import open_loop
from .vectorcall_words import Checks, entries, field, keep


def functions() -> list[str]:
    """@gather, @check, @apart, and the functions that they call."""
    return [_gather(), _place_keywords(), _number(), _convert(), _row(), _leading(), _check(), _apart()]


def _end(c: Code) -> None:
    c.label("good")
    c.do("ret i1 true")
    c.label("bad")
    c.do("ret i1 false")


def _gather() -> str:
    """@gather(table, args, positional, names, objects, options) -> table or null: arguments in the order of the kernel.

    What is given by place and by name is put in order, None is left out, and the table is found whose kernel takes just
    that. `options` are out (an object) and threads (a number).
    """
    c = Code()
    c.label("entry")
    c.do(f"%all = alloca [{w.MOST_ARGUMENTS} x i64], align 8")
    total, none = word(c, "%env", w.ARGUMENTS), word(c, "%env", w.NONE, "ptr")
    _place(c, total, none)
    c.label("by_name")
    c.do(f"br i1 {c.let('icmp eq ptr %names, null')}, label %order, label %read_names")
    c.label("read_names")
    values = c.let("getelementptr ptr, ptr %args, i64 %positional")
    passed = f"ptr %env, ptr %names, ptr {values}, ptr %all, i64 %positional, ptr %options"
    c.do(f"br i1 {c.let(f'call i1 @named({passed})')}, label %order, label %bad")
    c.label("order")
    c.do("br label %each")
    c.label("each")
    c.do("%k = phi i64 [0, %order], [%k_next, %each_last]")
    c.do("%next = phi i64 [0, %order], [%next_now, %each_last]")
    c.do("%mask = phi i64 [0, %order], [%mask_now, %each_last]")
    c.do(f"br i1 {c.let(f'icmp slt i64 %k, {total}')}, label %each_body, label %choose")
    c.label("each_body")
    one = word(c, "%all", "%k", "ptr")
    keep(c, one, "%objects", "%next", "ptr")
    there = c.let(f"zext i1 {c.let(f'icmp ne ptr {one}, {none}')} to i64")
    c.do("br label %each_last")
    c.label("each_last")
    c.do(f"%next_now = add i64 %next, {there}")
    c.do(f"%mask_now = or i64 %mask, {c.let(f'shl i64 {there}, %k')}")
    c.do("%k_next = add i64 %k, 1")
    c.do("br label %each")
    c.label("choose")
    c.do("%table = phi ptr [%env, %each], [%other, %choose_next]")
    c.do(f"br i1 {c.let('icmp eq ptr %table, null')}, label %bad, label %compare")
    c.label("compare")
    same = c.let(f"icmp eq i64 {word(c, '%table', w.MASK)}, %mask")
    c.do(f"br i1 {same}, label %good, label %choose_next")
    c.label("choose_next")
    c.do(f"%other = load ptr, ptr {c.let(f'getelementptr i64, ptr %table, i64 {w.NEXT}')}, align 8")
    c.do("br label %choose")
    c.label("good")
    c.do("ret ptr %table")
    c.label("bad")
    c.do("ret ptr null")
    arguments = "ptr %env, ptr %args, i64 %positional, ptr %names, ptr %objects, ptr %options"
    return f"define internal ptr @gather({arguments}) nounwind {{\n{c.body()}\n}}\n"


def _place(c: Code, total: str, none: str) -> None:
    """%all: what is given by place, and None for the others; goes on at the label %by_name."""
    c.do(f"br i1 {c.let(f'icmp sle i64 %positional, {total}')}, label %placed, label %bad")
    j, close = open_loop(c, "placed", "entry", total, 1, "by_name")
    given = c.let(f"icmp slt i64 {j}, %positional")
    c.do(f"br i1 {given}, label %placed_given, label %placed_none")
    c.label("placed_given")
    keep(c, word(c, "%args", j, "ptr"), "%all", j, "ptr")
    c.do("br label %placed_end")
    c.label("placed_none")
    keep(c, none, "%all", j, "ptr")
    c.do("br label %placed_end")
    c.label("placed_end")
    c.do(close)


def _place_keywords() -> str:
    """@named(env, names, values, all, positional, options) -> i1: put what is given by name into its place."""
    c = Code()
    c.label("entry")
    c.do(f"%count = load i64, ptr {c.let(f'getelementptr i8, ptr %names, i64 {w.OBJECT_LENGTH}')}, align 8")
    out, threads = word(c, "%env", w.OUT_NAME, "ptr"), word(c, "%env", w.THREADS_NAME, "ptr")
    numbers, first = word(c, "%env", w.NUMBERS, "ptr"), word(c, "%env", w.TUPLE_ITEMS)
    total, none = word(c, "%env", w.ARGUMENTS), word(c, "%env", w.NONE, "ptr")
    c.do("br label %each")
    j, close = open_loop(c, "each", "entry", "%count", 1, "good")
    name, value = word(c, "%names", c.let(f"add i64 {j}, {first}"), "ptr"), word(c, "%values", j, "ptr")
    c.do("br label %known")
    k, close_known = open_loop(c, "known", "each_body", total, 1, "option")
    same = c.let(f"icmp eq ptr {word(c, '%env', c.let(f'add i64 {k}, {w.FIRST_NAME}'), 'ptr')}, {name}")
    c.do(f"br i1 {same}, label %found, label %known_on")
    c.label("found")
    keep(c, value, "%all", k, "ptr")
    c.do(f"br i1 {c.let(f'icmp sge i64 {k}, %positional')}, label %each_end, label %bad")
    c.label("known_on")
    c.do(close_known)
    c.label("option")
    c.do(f"br i1 {c.let(f'icmp eq ptr {value}, {none}')}, label %left_out, label %wanted")
    c.label("left_out")
    known = c.let(f"or i1 {c.let(f'icmp eq ptr {name}, {out}')}, {c.let(f'icmp eq ptr {name}, {threads}')}")
    c.do(f"br i1 {known}, label %each_end, label %bad")
    c.label("wanted")
    c.do(f"br i1 {c.let(f'icmp eq ptr {name}, {out}')}, label %is_out, label %other")
    c.label("is_out")
    keep(c, value, "%options", 0, "ptr")
    c.do("br label %each_end")
    c.label("other")
    c.do(f"br i1 {c.let(f'icmp eq ptr {name}, {threads}')}, label %numbers, label %bad")
    k, close_numbers = open_loop(c, "numbers", "other", str(w.MOST_THREADS), 1, "bad")
    same = c.let(f"icmp eq ptr {word(c, numbers, k, 'ptr')}, {value}")
    c.do(f"br i1 {same}, label %is_number, label %numbers_on")
    c.label("is_number")
    keep(c, c.let(f"add i64 {k}, 1"), "%options", 1)
    c.do("br label %each_end")
    c.label("numbers_on")
    c.do(close_numbers)
    c.label("each_end")
    c.do(close)
    _end(c)
    arguments = "ptr %env, ptr %names, ptr %values, ptr %all, i64 %positional, ptr %options"
    return f"define internal i1 @named({arguments}) nounwind {{\n{c.body()}\n}}\n"


def _number() -> str:
    """@number(object, env, where) -> i1: write a float, an int or a float64 of NumPy, not of a subclass, to a place."""
    c = Code()
    c.label("entry")
    kind = field(c, "%object", w.OBJECT_TYPE, "ptr")
    is_float = c.let(f"icmp eq ptr {kind}, {word(c, '%env', w.FLOAT_TYPE, 'ptr')}")
    is_scalar = c.let(f"icmp eq ptr {kind}, {word(c, '%env', w.SCALAR_TYPE, 'ptr')}")
    c.do(f"br i1 {c.let(f'or i1 {is_float}, {is_scalar}')}, label %float, label %other")
    c.label("float")
    c.do(f"store double {field(c, '%object', w.NUMBER_VALUE, 'double')}, ptr %where, align 8")
    c.do("br label %good")
    c.label("other")
    is_integer = c.let(f"icmp eq ptr {kind}, {word(c, '%env', w.INTEGER_TYPE, 'ptr')}")
    c.do(f"br i1 {is_integer}, label %integer, label %bad")
    c.label("integer")
    c.do(f"%value = call double {word(c, '%env', w.INTEGER_VALUE, 'ptr')}(ptr %object)")
    c.do("store double %value, ptr %where, align 8")
    c.do(f"br i1 {c.let('fcmp oeq double %value, -1.0')}, label %doubtful, label %good")
    c.label("doubtful")
    error = c.let(f"call ptr {word(c, '%env', w.ERROR, 'ptr')}()")
    c.do(f"br i1 {c.let(f'icmp eq ptr {error}, null')}, label %good, label %too_large")
    c.label("too_large")
    c.do(f"call void {word(c, '%env', w.CLEAR_ERROR, 'ptr')}()")
    c.do("br label %bad")
    _end(c)
    return f"define internal i1 @number(ptr %object, ptr %env, ptr %where) nounwind {{\n{c.body()}\n}}\n"


def _row() -> str:
    """@row(object, env, where, count) -> i1: write an array of `count` float32 or int64 to a place."""
    c = Code()
    ok = Checks(c, "bad")
    c.label("entry")
    ok.equal(field(c, "%object", w.ARRAY_ND, "i32"), "1", "i32")
    flags = c.let(f"and i32 {field(c, '%object', w.ARRAY_FLAGS, 'i32')}, {w.ALIGNED}")
    ok.equal(flags, str(w.ALIGNED), "i32")
    ok.equal(word(c, field(c, "%object", w.ARRAY_DIMS, "ptr"), 0), "%count")
    stride = word(c, field(c, "%object", w.ARRAY_STRIDES, "ptr"), 0)
    data, dtype = field(c, "%object", w.ARRAY_DATA, "ptr"), field(c, "%object", w.ARRAY_DESCR, "ptr")
    c.do(f"%short = icmp eq ptr {dtype}, {word(c, '%env', w.SHORT_DTYPE, 'ptr')}")
    c.do(f"%whole = icmp eq ptr {dtype}, {word(c, '%env', w.INTEGER_DTYPE, 'ptr')}")
    c.do("br i1 %short, label %shorts, label %others")
    for name, before, kind, convert in (("shorts", "", "float", "fpext"), ("integers", "others", "i64", "sitofp")):
        j, close = open_loop(c, name, before or f"checked{ok.count - 1}", "%count", 1, "good")
        offset = c.let(f"mul i64 {j}, {stride}")
        x = c.let(f"load {kind}, ptr {c.let(f'getelementptr i8, ptr {data}, i64 {offset}')}, align 4")
        keep(c, c.let(f"{convert} {kind} {x} to double"), "%where", j, "double")
        c.do(close)
        if name == "shorts":
            c.label("others")
            c.do("br i1 %whole, label %integers, label %bad")
    _end(c)
    return f"define internal i1 @row(ptr %object, ptr %env, ptr %where, i64 %count) nounwind {{\n{c.body()}\n}}\n"


def _convert() -> str:
    """@convert(object, description, env, args, steps, number, stride, call, space) -> i1: one sample into the space.

    For arguments that are not float64 arrays.
    """
    c = Code()
    c.label("entry")
    core, size = word(c, "%description", 0), word(c, "%description", 1)
    used = word(c, "%call", w.CONVERTED)
    where = c.let(f"getelementptr double, ptr %space, i64 {used}")
    keep(c, where, "%args", "%number", "ptr")
    keep(c, "0", "%steps", "%number")
    c.do(f"%flat = icmp eq i64 {core}, 0")
    c.do(f"%count = select i1 %flat, i64 1, i64 {size}")
    after = c.let(f"add i64 {used}, %count")
    keep(c, after, "%call", w.CONVERTED)
    room, low = c.let(f"icmp sle i64 {after}, {w.MOST_CONVERTED}"), c.let(f"icmp sle i64 {core}, 1")
    c.do(f"br i1 {c.let(f'and i1 {room}, {low}')}, label %fits, label %bad")
    c.label("fits")
    c.do("br i1 %flat, label %alone, label %several")
    c.label("alone")
    c.do(f"br i1 {c.let(f'call i1 @number(ptr %object, ptr %env, ptr {where})')}, label %good, label %bad")
    c.label("several")
    keep(c, "8", "%steps", "%stride")
    kind = field(c, "%object", w.OBJECT_TYPE, "ptr")
    array, listed, tupled = (word(c, "%env", one, "ptr") for one in (w.ARRAY_TYPE, w.LIST_TYPE, w.TUPLE_TYPE))
    c.do(f"br i1 {c.let(f'icmp eq ptr {kind}, {array}')}, label %array, label %listed")
    c.label("array")
    row = f"call i1 @row(ptr %object, ptr %env, ptr {where}, i64 %count)"
    c.do(f"br i1 {c.let(row)}, label %good, label %bad")
    c.label("listed")
    c.do(f"br i1 {c.let(f'icmp eq ptr {kind}, {listed}')}, label %list, label %tupled")
    c.label("list")
    c.do(f"%in_list = load ptr, ptr {c.let(f'getelementptr i8, ptr %object, i64 {w.LIST_ITEMS}')}, align 8")
    c.do("br label %counted")
    c.label("tupled")
    c.do(f"br i1 {c.let(f'icmp eq ptr {kind}, {tupled}')}, label %tuple, label %bad")
    c.label("tuple")
    c.do(f"%in_tuple = getelementptr i64, ptr %object, i64 {word(c, '%env', w.TUPLE_ITEMS)}")
    c.do("br label %counted")
    c.label("counted")
    c.do("%items = phi ptr [%in_list, %list], [%in_tuple, %tuple]")
    length = field(c, "%object", w.OBJECT_LENGTH)
    c.do(f"br i1 {c.let(f'icmp eq i64 {length}, %count')}, label %each, label %bad")
    j, close = open_loop(c, "each", "counted", "%count", 1, "good")
    item, place = word(c, "%items", j, "ptr"), c.let(f"getelementptr double, ptr {where}, i64 {j}")
    c.do(f"br i1 {c.let(f'call i1 @number(ptr {item}, ptr %env, ptr {place})')}, label %each_good, label %bad")
    c.label("each_good")
    c.do(close)
    _end(c)
    arguments = "ptr %object, ptr %description, ptr %env, ptr %args, ptr %steps, i64 %number, i64 %stride"
    return f"define internal i1 @convert({arguments}, ptr %call, ptr %space) nounwind {{\n{c.body()}\n}}\n"


def _leading() -> str:
    """@leading(dims, extra, call, input) -> i64: how many samples an array with batch dimensions has; 0 if it is wrong.

    Those of the first array that has some are those of the call, and all others have the same; an input that has one
    sample only is the same for all.
    """
    c = Code()
    c.label("entry")
    c.do(f"%known = load ptr, ptr {c.let(f'getelementptr i64, ptr %call, i64 {w.LEADING_DIMS}')}, align 8")
    before = word(c, "%call", w.LEADING)
    c.do(f"br i1 {c.let(f'icmp sle i64 %extra, {w.MOST_LEADING}')}, label %size, label %bad")
    c.label("size")
    c.do("%j = phi i64 [0, %entry], [%j_next, %size]")
    c.do("%n = phi i64 [1, %entry], [%n_next, %size]")
    c.do(f"%n_next = mul i64 %n, {word(c, '%dims', '%j')}")
    c.do("%j_next = add i64 %j, 1")
    c.do(f"br i1 {c.let('icmp slt i64 %j_next, %extra')}, label %size, label %sized")
    c.label("sized")
    c.do(f"br i1 {c.let('icmp eq ptr %known, null')}, label %lead, label %later")
    c.label("later")
    c.do(f"br i1 {c.let(f'icmp eq i64 %extra, {before}')}, label %each, label %differs")
    k, close = open_loop(c, "each", "later", "%extra", 1, "good")
    same = c.let(f"icmp eq i64 {word(c, '%dims', k)}, {word(c, '%known', k)}")
    c.do(f"br i1 {same}, label %each_on, label %differs")
    c.label("each_on")
    c.do(close)
    c.label("differs")
    c.do("br i1 %input, label %one_sample, label %bad")
    c.label("one_sample")
    is_one, fewer = c.let("icmp eq i64 %n_next, 1"), c.let(f"icmp sle i64 %extra, {before}")
    c.do(f"br i1 {c.let(f'and i1 {is_one}, {fewer}')}, label %good, label %was_one")
    c.label("was_one")
    was_one, more = c.let(f"icmp eq i64 {word(c, '%call', w.SAMPLES)}, 1"), c.let(f"icmp sge i64 %extra, {before}")
    c.do(f"br i1 {c.let(f'and i1 {was_one}, {more}')}, label %lead, label %bad")
    c.label("lead")
    keep(c, "%n_next", "%call", w.SAMPLES)
    keep(c, "%extra", "%call", w.LEADING)
    keep(c, "%dims", "%call", w.LEADING_DIMS, "ptr")
    c.do("br label %good")
    c.label("good")
    c.do("ret i64 %n_next")
    c.label("bad")
    c.do("ret i64 0")
    return f"define internal i64 @leading(ptr %dims, i64 %extra, ptr %call, i1 %input) nounwind {{\n{c.body()}\n}}\n"


def _check() -> str:
    """@check(object, description, env, args, steps, number, stride, call, space, flags) -> i1: note one for the kernel.

    A plain float64 array that has the flags, with the core dimensions of its description behind no batch dimensions or
    those of the call; several of these only if it is contiguous. With `space`, which inputs have, it may also be what
    @convert takes, or one sample that is the same for all.
    """
    c = Code()
    ok = Checks(c, "bad")
    c.label("entry")
    c.do("%input = icmp ne ptr %space, null")
    for at, wanted, good in ((w.OBJECT_TYPE, w.ARRAY_TYPE, "array"), (w.ARRAY_DESCR, w.DTYPE, "plain")):
        same = c.let(f"icmp eq ptr {field(c, '%object', at, 'ptr')}, {word(c, '%env', wanted, 'ptr')}")
        c.do(f"br i1 {same}, label %{good}, label %strange")
        if good == "array":
            c.label(good)
    c.label("strange")
    c.do("br i1 %input, label %convert, label %bad")
    c.label("convert")
    passed = "ptr %object, ptr %description, ptr %env, ptr %args, ptr %steps, i64 %number, i64 %stride"
    c.do(f"ret i1 {c.let(f'call i1 @convert({passed}, ptr %call, ptr %space)')}")
    c.label("plain")
    flags = field(c, "%object", w.ARRAY_FLAGS, "i32")
    ok.equal(c.let(f"and i32 {flags}, %flags"), "%flags", "i32")
    common = word(c, "%call", w.COMMON_FLAGS)
    keep(c, c.let(f"and i64 {common}, {c.let(f'zext i32 {flags} to i64')}"), "%call", w.COMMON_FLAGS)
    core = word(c, "%description", 0)
    nd = c.let(f"sext i32 {field(c, '%object', w.ARRAY_ND, 'i32')} to i64")
    c.do(f"%extra = sub i64 {nd}, {core}")
    dims, strides = field(c, "%object", w.ARRAY_DIMS, "ptr"), field(c, "%object", w.ARRAY_STRIDES, "ptr")
    keep(c, field(c, "%object", w.ARRAY_DATA, "ptr"), "%args", "%number", "ptr")
    keep(c, "0", "%steps", "%number")
    c.do("%none = icmp eq i64 %extra, 0")
    complete = c.let(f"icmp eq i64 %extra, {word(c, '%call', w.LEADING)}")
    ok.require(c.let(f"or i1 %input, {complete}"))
    ok.require(c.let("icmp sge i64 %extra, 0"))
    c.do("br i1 %none, label %core_first, label %batch")
    c.label("batch")
    c.do(f"%samples = call i64 @leading(ptr {dims}, i64 %extra, ptr %call, i1 %input)")
    ok.require(c.let("icmp ne i64 %samples, 0"))
    c.do(f"br i1 {c.let('icmp eq i64 %samples, 1')}, label %core_first, label %rows")
    c.label("rows")
    c.do(f"br i1 {c.let('icmp eq i64 %extra, 1')}, label %one, label %many")
    c.label("one")
    keep(c, word(c, strides, 0), "%steps", "%number")
    c.do("br label %core_first")
    c.label("many")
    ok.require(c.let(f"icmp ne i32 {c.let(f'and i32 {flags}, {w.CONTIGUOUS}')}, 0"))
    keep(c, c.let(f"mul i64 8, {entries(c, '%number', '1')}"), "%steps", "%number")
    c.do("br label %core_first")
    c.label("core_first")
    c.do("br label %core")
    j, close = open_loop(c, "core", "core_first", core, 1, "good")
    axis = c.let(f"add i64 {j}, %extra")
    ok.equal(word(c, dims, axis), word(c, "%description", c.let(f"add i64 {j}, 1")))
    keep(c, word(c, strides, axis), "%steps", c.let(f"add i64 {j}, %stride"))
    c.do(close)
    _end(c)
    arguments = f"{passed}, ptr %call, ptr %space, i32 %flags"
    return f"define internal i1 @check({arguments}) nounwind {{\n{c.body()}\n}}\n"


def _apart() -> str:
    """@apart(env, args, inputs, n) -> i1: whether the result shares no memory with an argument; all are contiguous."""
    c = Code()
    c.label("entry")

    def ends(number: str) -> tuple[str, str]:
        start, size = word(c, "%args", number), c.let(f"mul i64 8, {entries(c, number, '%n')}")
        return start, c.let(f"add i64 {start}, {size}")

    first, last = ends("%inputs")
    c.do("br label %each")
    k, close = open_loop(c, "each", "entry", "%inputs", 1, "good")
    start, end = ends(k)
    apart = c.let(f"or i1 {c.let(f'icmp ule i64 {end}, {first}')}, {c.let(f'icmp ule i64 {last}, {start}')}")
    c.do(f"br i1 {apart}, label %each_on, label %bad")
    c.label("each_on")
    c.do(close)
    _end(c)
    return f"define internal i1 @apart(ptr %env, ptr %args, i64 %inputs, i64 %n) nounwind {{\n{c.body()}\n}}\n"
