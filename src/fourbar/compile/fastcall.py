"""Calling a kernel from Python in about fifty nanoseconds.

`FastCallable` is a Python type whose calls run machine code from the first instruction on: it looks at the arrays, and
if they are what the kernel wants (plain float64 arrays, one sample or one row of samples, right shapes), it allocates
the result and runs the kernel. Anything else, including every error, goes to the ordinary Python function `slow`; so
does a call of a watched function whose result has a NaN, which `slow` explains.
The machine code is the same for every robot; what differs is in a table of words.
"""

from __future__ import annotations

import ctypes
import sys
import sysconfig
from functools import cache
from typing import Any

import numpy as np

from ..expr import Program
from .cache import cached_object
from .gufunc import capsule_table
from .ir import Code
from .kernel import Kernel
from .machine import Loaded
from .transfer import open_loop

# Words of the environment table.
SINGLE, BATCH = 0, 2  # kernel and data, for one sample and for a batch
(INPUTS, LARGEST_BATCH, ARRAY_TYPE, DTYPE, SLOW, OUT_NAME, VECTORCALL, NEW_ARRAY, SAVE, RESTORE) = range(4, 14)
WATCHED, DROP = 14, 15  # whether NaN is to be explained, and what gives up a result
SPARE = 16  # two results that may be used again
FIRST_ARGUMENT = 18  # then for each argument: number of core dimensions, and three core dimensions
_ARGUMENT_WORDS = 4
_MOST_ARGUMENTS = 8
_RELEASE_FROM = 64  # samples from which on the interpreter lock is released
_NEW_ARRAY_SLOT = 93  # PyArray_New in NumPy's table of array functions
# Offsets in the objects of CPython and NumPy.
_INSTANCE_VECTORCALL, _INSTANCE_ENVIRONMENT, _INSTANCE_STATE, _INSTANCE_SIZE = 16, 24, 32, 40
_OBJECT_TYPE, _ARRAY_DATA, _ARRAY_ND, _ARRAY_DIMS = 8, 16, 24, 32
_ARRAY_STRIDES, _ARRAY_DESCR, _ARRAY_FLAGS = 40, 56, 64
_ARRAY_WEAK_REFERENCES = 72
_CONTIGUOUS, _OWNED, _ALIGNED, _WRITEABLE = 0x1, 0x4, 0x100, 0x400


def supported() -> bool:
    """Whether objects of this interpreter are laid out as the machine code expects."""
    free_threaded = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
    return sys.implementation.name == "cpython" and ctypes.sizeof(ctypes.c_void_p) == 8 and not free_threaded


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
    word = c.let(f"add i64 {c.let(f'mul i64 {number}, {_ARGUMENT_WORDS}')}, {FIRST_ARGUMENT}")
    return c.let(f"getelementptr i64, ptr %env, i64 {word}")


def _fast() -> str:
    """@fast: the vectorcall function."""
    c = Code()
    ok = _Checks(c)
    c.label("entry")
    for name, size in (("args_now", _MOST_ARGUMENTS), ("steps", 4 * _MOST_ARGUMENTS), ("shape", 4), ("dims", 1)):
        c.do(f"%{name} = alloca [{size} x i64], align 8")
    c.do(f"%env = load ptr, ptr {c.let(f'getelementptr i8, ptr %callable, i64 {_INSTANCE_ENVIRONMENT}')}, align 8")
    inputs = _word(c, "%env", INPUTS)
    given = c.let("and i64 %nargsf, 9223372036854775807")
    ok.equal(given, inputs)
    ok.require(c.let(f"icmp ne i64 {inputs}, 0"))
    first = _word(c, "%args", 0, "ptr")
    ok.equal(_field(c, first, _OBJECT_TYPE, "ptr"), _word(c, "%env", ARRAY_TYPE, "ptr"), "ptr")
    nd = c.let(f"sext i32 {_field(c, first, _ARRAY_ND, 'i32')} to i64")
    c.do(f"%extra = sub i64 {nd}, {_word(c, '%env', FIRST_ARGUMENT)}")
    ok.require(c.let("icmp ult i64 %extra, 2"))
    batched = c.let("icmp eq i64 %extra, 1")
    c.do(f"%which = select i1 {batched}, i64 {BATCH}, i64 {SINGLE}")
    kernel = _word(c, "%env", "%which", "ptr")
    ok.require(c.let(f"icmp ne ptr {kernel}, null"))
    c.do(f"%n = select i1 {batched}, i64 {_rows(c, first, batched)}, i64 1")
    ok.require(c.let("icmp sgt i64 %n, 0"))
    ok.require(c.let(f"icmp sle i64 %n, {_word(c, '%env', LARGEST_BATCH)}"))
    _keep(c, "%n", "%dims", 0)
    c.do(f"%arguments = add i64 {inputs}, 1")
    c.do("br label %each")
    c.label("each")
    c.do("%k = phi i64 [0, %" + f"checked{ok.count - 1}" + "], [%k_next, %each_good]")
    c.do("%stride = phi i64 [%arguments, %" + f"checked{ok.count - 1}" + "], [%stride_next, %each_good]")
    description = _describe(c, "%k")
    good = _call_check(c, _word(c, "%args", "%k", "ptr"), description, "%k", "%stride", str(_ALIGNED))
    c.do(f"br i1 {good}, label %each_good, label %slow")
    c.label("each_good")
    c.do(f"%stride_next = add i64 %stride, {_word(c, description, 0)}")
    c.do("%k_next = add i64 %k, 1")
    c.do(f"br i1 {c.let(f'icmp slt i64 %k_next, {inputs}')}, label %each, label %result")
    c.label("result")
    _result(c, ok, inputs)
    _compute(c, kernel, inputs)
    c.label("slow")
    call = f"call ptr {_word(c, '%env', VECTORCALL, 'ptr')}(ptr {_word(c, '%env', SLOW, 'ptr')}"
    c.do(f"ret ptr {c.let(f'{call}, ptr %args, i64 %nargsf, ptr %names)')}")
    signature = "ptr @fast(ptr %callable, ptr %args, i64 %nargsf, ptr %names)"
    return f"define {signature} nounwind {{\n{c.body()}\n}}\n"


def _rows(c: Code, array: str, batched: str) -> str:
    """dims[0] of a batched array; the address is safe to read for any array with at least one dimension."""
    dims = _field(c, array, _ARRAY_DIMS, "ptr")
    safe = c.let(f"select i1 {batched}, ptr {dims}, ptr %dims")
    return _word(c, safe, 0)


def _call_check(c: Code, array: str, description: str, number: str, stride: str, flags: str) -> str:
    passed = f"ptr {array}, ptr {description}, ptr %env, ptr %args_now, ptr %steps"
    return c.let(f"call i1 @check({passed}, i64 {number}, i64 {stride}, i64 %extra, i64 %n, i32 {flags})")


def _result(c: Code, ok: _Checks, inputs: str) -> None:
    """Where the result goes: the array given as out= (for one sample), or a new one."""
    description = _describe(c, inputs)
    core = _word(c, description, 0)
    c.do(f"br i1 {c.let('icmp eq ptr %names, null')}, label %fresh, label %named")
    c.label("named")
    ok.equal("%extra", "0")
    ok.equal(_field(c, "%names", 16), "1")
    ok.equal(_field(c, "%names", 24, "ptr"), _word(c, "%env", OUT_NAME, "ptr"), "ptr")
    c.do(f"%out = load ptr, ptr {c.let(f'getelementptr ptr, ptr %args, i64 {inputs}')}, align 8")
    whole = c.let(f"mul i64 {_word(c, '%env', WATCHED)}, {_CONTIGUOUS}")
    flags = c.let(f"or i32 {c.let(f'trunc i64 {whole} to i32')}, {_ALIGNED | _WRITEABLE}")
    ok.require(_call_check(c, "%out", description, inputs, "%stride_next", flags))
    counted = c.let("load i64, ptr %out, align 8")
    c.do(f"store i64 {c.let(f'add i64 {counted}, 1')}, ptr %out, align 8")
    c.do("br label %compute")
    named = f"checked{ok.count - 1}"
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
    c.do(f"%target = phi ptr [%out, %{named}], [%old, %reuse], [%new, %spared]")


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
    data = _word(c, "%env", c.let("add i64 %which, 1"), "ptr")
    run = f"call void {kernel}(ptr %args_now, ptr %dims, ptr %steps, ptr {data})"
    c.do(f"br i1 {c.let(f'icmp sge i64 %n, {_RELEASE_FROM}')}, label %released, label %held")
    c.label("held")
    c.do(run)
    c.do("br label %ran")
    c.label("released")
    c.do(f"%thread = call ptr {_word(c, '%env', SAVE, 'ptr')}()")
    c.do(run)
    c.do(f"call void {_word(c, '%env', RESTORE, 'ptr')}(ptr %thread)")
    c.do("br label %ran")
    c.label("ran")
    watched = _word(c, "%env", WATCHED)
    c.do(f"br i1 {c.let(f'icmp eq i64 {watched}, 0')}, label %done, label %watched")
    c.label("watched")
    good = f"call i1 @sound(ptr {_word(c, '%args_now', inputs, 'ptr')}, i64 {_entries(c, inputs)})"
    c.do(f"br i1 {c.let(good)}, label %done, label %lost")
    c.label("lost")
    c.do(f"call void {_word(c, '%env', DROP, 'ptr')}(ptr %target)")
    c.do("br label %slow")
    c.label("done")
    c.do("ret ptr %target")


def _entries(c: Code, inputs: str) -> str:
    """How many numbers the result has."""
    description = _describe(c, inputs)
    core, count = _word(c, description, 0), "%n"
    for j in range(3):
        there = c.let(f"icmp sgt i64 {core}, {j}")
        count = c.let(f"mul i64 {count}, {c.let(f'select i1 {there}, i64 {_word(c, description, j + 1)}, i64 1')}")
    return count


class _Member(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("type", ctypes.c_int),
        ("offset", ctypes.c_ssize_t),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    ]


class _Slot(ctypes.Structure):
    _fields_ = [("slot", ctypes.c_int), ("value", ctypes.c_void_p)]


class _Spec(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("basicsize", ctypes.c_int),
        ("itemsize", ctypes.c_int),
        ("flags", ctypes.c_uint),
        ("slots", ctypes.c_void_p),
    ]


_HELD: list[Any] = []  # what the type object borrows
_TP_CALL, _TP_MEMBERS, _SSIZE, _OBJECT, _READONLY = 50, 72, 19, 16, 1
_DEFAULT_FLAGS, _HAVE_VECTORCALL = 1 << 18, 1 << 11


def address_of(function: Any) -> int:
    """Address of a C function of the interpreter."""
    return ctypes.cast(function, ctypes.c_void_p).value or 0


def _refuse(self: Any, name: str, *value: Any) -> None:
    raise AttributeError(f"a fourbar function is frozen; {name!r} cannot be changed")


def _release(self: Any) -> None:
    """Let go of the state: CPython does not do it for types that its garbage collector does not look at."""
    if hasattr(self, "state"):
        type(self).state.__delete__(self)


@cache
def callable_type() -> tuple[type, int]:
    """The Python type, and the address of the machine code that its instances run when called."""
    code = Loaded([cached_object("fastcall", lambda: _check_array() + _sound() + _fast())])
    api = ctypes.pythonapi
    members = (_Member * 3)(
        _Member(b"__vectorcalloffset__", _SSIZE, _INSTANCE_VECTORCALL, _READONLY, None),
        _Member(b"state", _OBJECT, _INSTANCE_STATE, 0, None),
        _Member(),
    )
    slots = (_Slot * 3)(
        _Slot(_TP_CALL, address_of(api.PyVectorcall_Call)),
        _Slot(_TP_MEMBERS, ctypes.addressof(members)),
        _Slot(0, None),
    )
    flags = _DEFAULT_FLAGS | _HAVE_VECTORCALL
    spec = _Spec(b"fourbar.Function", _INSTANCE_SIZE, 0, flags, ctypes.addressof(slots))
    api.PyType_FromSpec.restype, api.PyType_FromSpec.argtypes = ctypes.py_object, [ctypes.c_void_p]
    made: Any = api.PyType_FromSpec(ctypes.addressof(spec))
    made.__setattr__, made.__delattr__, made.__del__ = _refuse, _refuse, _release
    _HELD.extend([code, members, slots, spec])
    return made, code.address("fast")


class Environment:
    """The table of one callable. Until `arm` gives it a kernel, all calls go to `slow`.

    If it is `watched`, so do those whose result has a NaN.
    """

    def __init__(self, slow: Any, watched: bool) -> None:
        api = ctypes.pythonapi
        arrays = capsule_table("_ARRAY_API", 400)
        table = np.zeros(FIRST_ARGUMENT + _ARGUMENT_WORDS * _MOST_ARGUMENTS, np.int64)
        table[ARRAY_TYPE] = id(np.ndarray)
        table[DTYPE] = id(np.dtype(np.float64))
        table[SLOW] = id(slow)
        table[OUT_NAME] = id(sys.intern("out"))
        table[VECTORCALL] = address_of(api.PyObject_Vectorcall)
        table[NEW_ARRAY] = arrays[_NEW_ARRAY_SLOT]
        table[SAVE], table[RESTORE] = address_of(api.PyEval_SaveThread), address_of(api.PyEval_RestoreThread)
        table[WATCHED], table[DROP] = watched, address_of(api.Py_DecRef)
        self._table = table
        self._held = [slow]

    def callable(self, state: Any) -> Any:
        """A callable that runs on this table; it keeps `state` (and the table) alive."""
        kind, code = callable_type()
        instance: Any = kind()
        kind.state.__set__(instance, (state, self))  # type: ignore[attr-defined]
        ctypes.c_void_p.from_address(id(instance) + _INSTANCE_ENVIRONMENT).value = self._table.ctypes.data
        ctypes.c_void_p.from_address(id(instance) + _INSTANCE_VECTORCALL).value = code
        return instance

    def __del__(self) -> None:
        for k in (SPARE, SPARE + 1):
            if self._table[k]:
                ctypes.pythonapi.Py_DecRef(ctypes.cast(int(self._table[k]), ctypes.py_object))

    def arm(self, kernel: Kernel, single: bool, largest_batch: int) -> None:
        """Let the machine code serve calls with one sample, or with a batch of at most so many, by this kernel."""
        program: Program = kernel.program
        arguments = [*program.inputs, *program.outputs]
        which = SINGLE if single else BATCH
        if len(program.outputs) != 1 or not program.outputs[0].shape or len(arguments) > _MOST_ARGUMENTS:
            return
        if self._table[which] == kernel.address:
            return
        for k, argument in enumerate(arguments):
            at = FIRST_ARGUMENT + _ARGUMENT_WORDS * k
            self._table[at] = len(argument.shape)
            self._table[at + 1 : at + 1 + len(argument.shape)] = argument.shape
        self._held.append(kernel)
        self._table[[LARGEST_BATCH, which + 1, which]] = largest_batch, kernel.data, kernel.address
        self._table[INPUTS] = len(program.inputs)
