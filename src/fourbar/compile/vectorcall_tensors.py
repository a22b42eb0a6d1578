"""Calling a kernel with tensors of another library, on their memory: machine code in front of that of `vectorcall.py`.

A class of tensors may have the C interface of DLPack, which describes a tensor (data, shape, strides) in some tens of
nanoseconds, where making a NumPy array of it takes hundreds. `@tensors` writes such descriptions into records that look
like NumPy's arrays to `@fast`, which reads nothing else of its arguments. Before that it asks whether all is as usual:
the library may be about to trace or to differentiate what it sees of a call. An array that is the result is handed to
the library through the same interface, and lives as long as the tensor on its memory.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from . import vectorcall_words as w
from .cache import load_module
from .ir import Code, word
from .transfer import open_loop
from .vectorcall_words import Checks, field, keep

_CAPSULE = b"dlpack_exchange_api"
_MAJOR = 1  # version of the interface
# Offsets in its table: that of an older version, the functions that make a tensor of memory and describe a tensor.
_PREVIOUS, _MAKE, _DESCRIBE = 8, 32, 40
# Offsets in a description (DLTensor), and what a plain float64 tensor has there.
_DATA, _DEVICE, _ND, _DTYPE, _SHAPE, _STRIDES, _OFFSET, _SIZE = 0, 8, 16, 20, 24, 32, 40, 48
_CPU = 1
_FLOAT64 = 2 | 64 << 8 | 1 << 16  # code, bits, lanes
# Words of managed memory (DLManagedTensorVersioned): its owner, who frees it, its description; here with what frees it
# behind that, then shape and strides.
_OWNER, _FREE, _FLAGS, _DESCRIPTION, _FREED_WITH = 1, 2, 3, 4, 10

# Words of a reader's table: a class, the functions that describe and make its tensors, @fast, the name of an attribute,
# False, and functions of CPython.
TYPE, DESCRIBE, MAKE, FAST, ATTRIBUTE, NO, GET, TRUTH, ALLOCATE = range(9)
RUNNING, ENTER, LEAVE, DROP, FREE = range(9, 14)  # what frees a result, in this order
_FREEING = 5
# How many questions there are before a call and about each tensor, which follow.
BEFORE, ABOUT_EACH, FIRST_QUESTION = range(14, 17)

_MOST_AXES = w.MOST_LEADING + 3
_RECORD = w.ARRAY_FLAGS // 8 + 1  # words of an array that are read
_WORDS = _RECORD + _MOST_AXES  # and behind them its strides in bytes


class TensorReader:
    """How machine code reads and makes tensors of a class, which has the C interface of DLPack.

    `before` are functions of no arguments, `about_each` of a tensor; if one of them does not answer with False, 0 or
    the like, or an `attribute` of a tensor is not False, the machine code leaves a call alone. Tensors that it made
    outlive all functions: never drop a reader.
    """

    def __init__(
        self,
        kind: type,
        before: Sequence[Callable[[], Any]],
        attribute: str,
        about_each: Sequence[Callable[[Any], Any]],
    ) -> None:
        self._code = load_module("tensors", assembly)
        self._held = kind, sys.intern(attribute), *before, *about_each
        self.address = self._code.address("tensors")
        self.table = np.zeros(FIRST_QUESTION + len(before) + len(about_each), np.int64)
        self.table[[DESCRIBE, MAKE]] = interface(kind)
        self.table[[TYPE, ATTRIBUTE, NO]] = id(kind), id(self._held[1]), id(False)
        self.table[[BEFORE, ABOUT_EACH]] = len(before), len(about_each)
        self.table[FIRST_QUESTION:] = [id(one) for one in (*before, *about_each)]
        api = ctypes.pythonapi
        for at, function in {
            GET: api.PyObject_GetAttr,
            TRUTH: api.PyObject_IsTrue,
            ALLOCATE: api.PyMem_RawMalloc,
            RUNNING: api.Py_IsInitialized,
            ENTER: api.PyGILState_Ensure,
            LEAVE: api.PyGILState_Release,
            DROP: api.Py_DecRef,
            FREE: api.PyMem_RawFree,
        }.items():
            self.table[at] = ctypes.cast(function, ctypes.c_void_p).value or 0


def interface(kind: type) -> tuple[int, int]:
    """The addresses of the functions that describe and make tensors of a class; 0 if it has none that is known here."""
    capsule = getattr(kind, "__dlpack_c_exchange_api__", None)
    if type(capsule).__name__ != "PyCapsule":
        return 0, 0
    get, is_valid = ctypes.pythonapi.PyCapsule_GetPointer, ctypes.pythonapi.PyCapsule_IsValid
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    is_valid.restype, is_valid.argtypes = ctypes.c_int, [ctypes.py_object, ctypes.c_char_p]
    table = get(capsule, _CAPSULE) if is_valid(capsule, _CAPSULE) else None
    while table and ctypes.c_uint32.from_address(table).value != _MAJOR:
        table = ctypes.c_void_p.from_address(table + _PREVIOUS).value
    describe, make = ((table and ctypes.c_void_p.from_address(table + at).value) or 0 for at in (_DESCRIBE, _MAKE))
    return describe, make


def assembly() -> str:
    """The whole module."""
    return "".join([_ask(), _record(), _free_tensor(), _make_tensor(), _tensors()])


def _ask() -> str:
    """@ask(table, reader, first, count, args, given) -> i1: whether all of these questions are answered with no."""
    c = Code()
    c.label("entry")
    vectorcall, drop = word(c, "%table", w.VECTORCALL, "ptr"), word(c, "%table", w.DROP, "ptr")
    truth = word(c, "%reader", TRUTH, "ptr")
    c.do("br label %each")
    k, close = open_loop(c, "each", "entry", "%count", 1, "good")
    question = word(c, "%reader", c.let(f"add i64 {k}, %first"), "ptr")
    c.do(f"%answer = call ptr {vectorcall}(ptr {question}, ptr %args, i64 %given, ptr null)")
    c.do(f"br i1 {c.let('icmp eq ptr %answer, null')}, label %failed, label %answered")
    c.label("answered")
    c.do(f"%yes = call i32 {truth}(ptr %answer)")
    c.do(f"call void {drop}(ptr %answer)")
    c.do(f"br i1 {c.let('icmp eq i32 %yes, 0')}, label %each_on, label %failed")
    c.label("each_on")
    c.do(close)
    c.label("good")
    c.do("ret i1 true")
    c.label("failed")
    c.do(f"call void {word(c, '%table', w.CLEAR_ERROR, 'ptr')}()")
    c.do("ret i1 false")
    arguments = "ptr %table, ptr %reader, i64 %first, i64 %count, ptr %args, i64 %given"
    return f"define internal i1 @ask({arguments}) nounwind {{\n{c.body()}\n}}\n"


def _record() -> str:
    """@record(place, table, reader, record) -> i1: what is an array to @fast, from the tensor at a place."""
    c = Code()
    ok = Checks(c, "bad")
    c.label("entry")
    c.do(f"%seen = alloca [{_SIZE // 8} x i64], align 8")
    c.do("%object = load ptr, ptr %place, align 8")
    ok.equal(field(c, "%object", w.OBJECT_TYPE, "ptr"), word(c, "%reader", TYPE, "ptr"), "ptr")
    get, name = word(c, "%reader", GET, "ptr"), word(c, "%reader", ATTRIBUTE, "ptr")
    c.do(f"%has = call ptr {get}(ptr %object, ptr {name})")
    c.do(f"call void {word(c, '%table', w.DROP, 'ptr')}(ptr %has)")  # which accepts null
    hasnt = c.let(f"icmp eq ptr %has, {word(c, '%reader', NO, 'ptr')}")
    c.do(f"br i1 {hasnt}, label %without, label %refused")
    c.label("without")
    count, first = word(c, "%reader", ABOUT_EACH), c.let(f"add i64 {word(c, '%reader', BEFORE)}, {FIRST_QUESTION}")
    ok.require(c.let(f"call i1 @ask(ptr %table, ptr %reader, i64 {first}, i64 {count}, ptr %place, i64 1)"))
    failed = c.let(f"call i32 {word(c, '%reader', DESCRIBE, 'ptr')}(ptr %object, ptr %seen)")
    c.do(f"br i1 {c.let(f'icmp eq i32 {failed}, 0')}, label %described, label %refused")
    c.label("refused")
    c.do(f"call void {word(c, '%table', w.CLEAR_ERROR, 'ptr')}()")
    c.do("br label %bad")
    c.label("described")
    ok.equal(field(c, "%seen", _DEVICE, "i32"), str(_CPU), "i32")
    ok.equal(field(c, "%seen", _DTYPE, "i32"), str(_FLOAT64), "i32")
    nd, shape, strides = field(c, "%seen", _ND, "i32"), field(c, "%seen", _SHAPE, "ptr"), field(c, "%seen", _STRIDES)
    ok.require(c.let(f"icmp sle i32 {nd}, {_MOST_AXES}"))
    ok.require(c.let(f"or i1 {c.let(f'icmp eq i32 {nd}, 0')}, {c.let(f'icmp ne i64 {strides}, 0')}"))
    start = field(c, "%seen", _DATA)  # null if there is no memory behind it
    data = c.let(f"add i64 {start}, {field(c, '%seen', _OFFSET)}")
    ok.require(c.let(f"icmp ne i64 {start}, 0"))
    ok.equal(c.let(f"and i64 {data}, 7"), "0")
    own_strides = c.let(f"getelementptr i64, ptr %record, i64 {_RECORD}")
    keep(c, word(c, "%table", w.ARRAY_TYPE), "%record", w.OBJECT_TYPE // 8)
    keep(c, data, "%record", w.ARRAY_DATA // 8)
    keep(c, c.let(f"zext i32 {nd} to i64"), "%record", w.ARRAY_ND // 8)
    keep(c, shape, "%record", w.ARRAY_DIMS // 8, "ptr")
    keep(c, own_strides, "%record", w.ARRAY_STRIDES // 8, "ptr")
    keep(c, word(c, "%table", w.DTYPE), "%record", w.ARRAY_DESCR // 8)
    _write_strides(c, nd, shape, c.let(f"inttoptr i64 {strides} to ptr"), own_strides, f"checked{ok.count - 1}")
    c.label("bad")
    c.do("ret i1 false")
    arguments = "ptr %place, ptr %table, ptr %reader, ptr %record"
    return f"define internal i1 @record({arguments}) nounwind {{\n{c.body()}\n}}\n"


def _write_strides(c: Code, nd: str, shape: str, strides: str, own: str, before: str) -> None:
    """Strides in bytes, from the last axis on, and flags: whether the entries lie one behind the other."""
    c.do(f"%axes = zext i32 {nd} to i64")
    c.do("br label %axis")
    c.label("axis")
    c.do(f"%left = phi i64 [%axes, %{before}], [%j, %one_axis]")
    c.do(f"%next = phi i64 [8, %{before}], [%beyond, %one_axis]")
    c.do(f"%dense = phi i1 [true, %{before}], [%still, %one_axis]")
    c.do(f"br i1 {c.let('icmp eq i64 %left, 0')}, label %written, label %one_axis")
    c.label("one_axis")
    c.do("%j = sub i64 %left, 1")
    size, step = word(c, shape, "%j"), c.let(f"mul i64 {word(c, strides, '%j')}, 8")
    keep(c, step, own, "%j")
    fits = c.let(f"or i1 {c.let(f'icmp eq i64 {step}, %next')}, {c.let(f'icmp eq i64 {size}, 1')}")
    c.do(f"%still = and i1 %dense, {fits}")
    c.do(f"%beyond = mul i64 %next, {size}")
    c.do("br label %axis")
    c.label("written")
    flags = c.let(f"select i1 %dense, i64 {w.ALIGNED | w.CONTIGUOUS}, i64 {w.ALIGNED}")
    keep(c, flags, "%record", w.ARRAY_FLAGS // 8)
    c.do("ret i1 true")


def _free_tensor() -> str:
    """@freed(memory): give up a result, from any thread, also one that does not hold the interpreter lock."""
    c = Code()
    c.label("entry")
    running, enter, leave, drop, free = (word(c, "%memory", _FREED_WITH + k, "ptr") for k in range(_FREEING))
    c.do(f"%alive = call i32 {running}()")  # otherwise the process ends, and nothing may be freed
    c.do(f"br i1 {c.let('icmp eq i32 %alive, 0')}, label %done, label %enter")
    c.label("enter")
    c.do(f"%state = call i32 {enter}()")
    c.do(f"call void {drop}(ptr {word(c, '%memory', _OWNER, 'ptr')})")
    c.do(f"call void {leave}(i32 %state)")
    c.do(f"call void {free}(ptr %memory)")
    c.do("br label %done")
    c.label("done")
    c.do("ret void")
    return f"define internal void @freed(ptr %memory) nounwind {{\n{c.body()}\n}}\n"


def _make_tensor() -> str:
    """@made(array, reader) -> object or null: a tensor on the memory of a contiguous array, which it keeps."""
    c = Code()
    c.label("entry")
    c.do("%place = alloca ptr, align 8")
    c.do(f"%axes = sext i32 {field(c, '%array', w.ARRAY_ND, 'i32')} to i64")
    first = _FREED_WITH + _FREEING
    size = c.let(f"add i64 {c.let('mul i64 %axes, 16')}, {8 * first}")
    c.do(f"%memory = call ptr {word(c, '%reader', ALLOCATE, 'ptr')}(i64 {size})")
    c.do(f"br i1 {c.let('icmp eq ptr %memory, null')}, label %short, label %fill")
    c.label("short")  # of memory: the array will do
    c.do("ret ptr %array")
    c.label("fill")
    shape = c.let(f"getelementptr i64, ptr %memory, i64 {first}")
    strides = c.let(f"getelementptr i64, ptr {shape}, i64 %axes")
    described = c.let(f"getelementptr i64, ptr %memory, i64 {_DESCRIPTION}")
    for at, value, kind in (
        (0, str(_MAJOR), "i64"), (_OWNER, "%array", "ptr"), (_FREE, "@freed", "ptr"), (_FLAGS, "0", "i64"),
    ):  # fmt: skip
        keep(c, value, "%memory", at, kind)
    for k in range(_FREEING):
        keep(c, word(c, "%reader", RUNNING + k), "%memory", _FREED_WITH + k)
    for at, value, kind in (
        (_DATA, field(c, "%array", w.ARRAY_DATA), "i64"), (_DEVICE, str(_CPU), "i64"),
        (_ND, c.let(f"or i64 %axes, {_FLOAT64 << 32}"), "i64"),  # and the type, behind it in the same word
        (_SHAPE, shape, "ptr"), (_STRIDES, strides, "ptr"), (_OFFSET, "0", "i64"),
    ):  # fmt: skip
        keep(c, value, described, at // 8, kind)
    _write_shape(c, field(c, "%array", w.ARRAY_DIMS, "ptr"), shape, strides)
    c.label("written")
    failed = c.let(f"call i32 {word(c, '%reader', MAKE, 'ptr')}(ptr %memory, ptr %place)")
    c.do(f"br i1 {c.let(f'icmp eq i32 {failed}, 0')}, label %good, label %bad")
    c.label("good")
    c.do("%tensor = load ptr, ptr %place, align 8")
    c.do("ret ptr %tensor")
    c.label("bad")
    c.do("ret ptr null")
    return f"define internal ptr @made(ptr %array, ptr %reader) nounwind {{\n{c.body()}\n}}\n"


def _write_shape(c: Code, dims: str, shape: str, strides: str) -> None:
    """The shape of a contiguous array and its strides in entries, from the last axis on; goes on at %written."""
    c.do("br label %axis")
    c.label("axis")
    c.do("%left = phi i64 [%axes, %fill], [%j, %one_axis]")
    c.do("%next = phi i64 [1, %fill], [%beyond, %one_axis]")
    c.do(f"br i1 {c.let('icmp eq i64 %left, 0')}, label %written, label %one_axis")
    c.label("one_axis")
    c.do("%j = sub i64 %left, 1")
    size = word(c, dims, "%j")
    keep(c, size, shape, "%j")
    keep(c, "%next", strides, "%j")
    c.do(f"%beyond = mul i64 %next, {size}")
    c.do("br label %axis")


def _tensors() -> str:
    """@tensors: the vectorcall function. A tensor; what @fast returns, if that is no array; or None where the call is
    not one that machine code serves.
    """
    c = Code()
    c.label("entry")
    c.do(f"%records = alloca [{w.MOST_ARGUMENTS * _WORDS} x i64], align 8")
    c.do(f"%objects = alloca [{w.MOST_ARGUMENTS} x ptr], align 8")
    c.do(f"%table = load ptr, ptr {c.let(f'getelementptr i8, ptr %callable, i64 {w.INSTANCE_ENVIRONMENT}')}, align 8")
    c.do(f"%reader = load ptr, ptr {c.let(f'getelementptr i8, ptr %callable, i64 {w.INSTANCE_READER}')}, align 8")
    c.do("%count = and i64 %nargsf, 9223372036854775807")
    few, by_place = c.let(f"icmp sle i64 %count, {w.MOST_ARGUMENTS}"), c.let("icmp eq ptr %names, null")
    c.do(f"br i1 {c.let(f'and i1 {few}, {by_place}')}, label %begin, label %none")
    c.label("begin")
    questions = word(c, "%reader", BEFORE)
    idle = f"call i1 @ask(ptr %table, ptr %reader, i64 {FIRST_QUESTION}, i64 {questions}, ptr null, i64 0)"
    c.do(f"br i1 {c.let(idle)}, label %each, label %none")
    c.label("each")
    c.do("%k = phi i64 [0, %begin], [%k_next, %noted]")
    c.do(f"br i1 {c.let('icmp slt i64 %k, %count')}, label %one, label %run")
    c.label("one")
    record = c.let(f"getelementptr i64, ptr %records, i64 {c.let(f'mul i64 %k, {_WORDS}')}")
    keep(c, record, "%objects", "%k", "ptr")
    place = c.let("getelementptr ptr, ptr %args, i64 %k")
    good = c.let(f"call i1 @record(ptr {place}, ptr %table, ptr %reader, ptr {record})")
    c.do(f"br i1 {good}, label %noted, label %none")
    c.label("noted")
    c.do("%k_next = add i64 %k, 1")
    c.do("br label %each")
    c.label("run")
    fast = word(c, "%reader", FAST, "ptr")
    c.do(f"%found = call ptr {fast}(ptr %callable, ptr %objects, i64 %count, ptr null)")
    c.do(f"br i1 {c.let('icmp eq ptr %found, null')}, label %unserved, label %served")
    c.label("served")
    kind = field(c, "%found", w.OBJECT_TYPE, "ptr")
    is_array = c.let(f"icmp eq ptr {kind}, {word(c, '%table', w.ARRAY_TYPE, 'ptr')}")
    c.do(f"br i1 {is_array}, label %array, label %other")
    c.label("array")
    c.do(f"ret ptr {c.let('call ptr @made(ptr %found, ptr %reader)')}")
    c.label("other")
    c.do("ret ptr %found")
    c.label("unserved")
    error = c.let(f"call ptr {word(c, '%table', w.ERROR, 'ptr')}()")
    c.do(f"br i1 {c.let(f'icmp eq ptr {error}, null')}, label %none, label %raised")
    c.label("raised")
    c.do("ret ptr null")
    c.label("none")
    nothing = word(c, "%table", w.NONE, "ptr")
    c.do(f"call void {word(c, '%table', w.TAKE, 'ptr')}(ptr {nothing})")
    c.do(f"ret ptr {nothing}")
    signature = "ptr @tensors(ptr %callable, ptr %args, i64 %nargsf, ptr %names)"
    return f"define {signature} nounwind {{\n{c.body()}\n}}\n"
