"""Python objects whose calls run machine code.

Callables are freed by machine code, since CPython does not release what an instance of such a type holds. Anyone could
call a method `__del__`, and then the callable, when its tables are gone. The code reads nothing but the instance: at
interpreter exit, instances may outlive all modules and what those hold.

NumPy's generalised ufuncs around machine-code loops give broadcasting, out=, strides and other dtypes without the GIL.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple
from weakref import WeakValueDictionary

import numpy as np

from ..expr import Program
from ..once import Turn, once
from . import vectorcall_words as words
from .cache import load_module
from .ir import Code, Lanes
from .kernel import Kernel, Watch, digest
from .llvm import Loaded
from .vectorcall import assembly
from .vectorcall_tensors import FAST, TensorReader
from .workers import code, default_threads, workers

_DOUBLE = 12  # NPY_DOUBLE
MOST_OPERANDS = 64 if int(np.__version__.split(".")[0]) >= 2 else 32  # of a ufunc: NPY_MAXARGS
_FROM_SIGNATURE = 31  # PyUFunc_FromFuncAndDataAndSignature in NumPy's table of ufunc functions


def capsule_table(name: str, size: int) -> Any:
    """NumPy's C function table as an array of addresses."""
    try:
        from numpy._core import _multiarray_umath as module  # type: ignore[attr-defined]
    except ImportError:  # NumPy 1.x
        from numpy.core import _multiarray_umath as module  # type: ignore[no-redef]
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return (ctypes.c_void_p * size).from_address(get(getattr(module, name), None))


@cache
def _maker() -> Any:
    p, i, s = ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p
    prototype = ctypes.PYFUNCTYPE(ctypes.py_object, p, p, p, i, i, i, i, s, s, i, s)
    return prototype(capsule_table("_UFUNC_API", 64)[_FROM_SIGNATURE])


def signature(program: Program) -> str:
    """The core dimensions in NumPy's notation. They are fixed numbers, so that NumPy checks them too."""

    def one(shape: tuple[int, ...]) -> str:
        return "(" + ",".join(map(str, shape)) + ")"

    inputs = ",".join(one(x.shape) for x in program.inputs)
    return inputs + "->" + ",".join(one(y.shape) for y in program.outputs)


class GeneralisedUfunc:
    """The ufunc of a kernel, None if it has more operands than NumPy allows.

    NumPy borrows every pointer it is given, so that they are kept alive here.
    """

    def __init__(self, kernel: Kernel) -> None:
        program = kernel.program
        n_in, n_out = len(program.inputs), len(program.outputs)
        self.kernel = kernel
        self._functions = (ctypes.c_void_p * 1)(kernel.address)
        self._data = (ctypes.c_void_p * 1)(kernel.data)
        self._types = (ctypes.c_char * (n_in + n_out))(*([bytes([_DOUBLE])] * (n_in + n_out)))
        self._strings = (program.name.encode(), b"compiled by fourbar", signature(program).encode())
        name, doc, text = self._strings
        address = ctypes.addressof
        self.ufunc: np.ufunc | None = None
        if n_in + n_out <= MOST_OPERANDS:
            pointers = (address(self._functions), address(self._data), address(self._types))
            self.ufunc = _maker()(*pointers, 1, n_in, n_out, -1, name, doc, 0, text)


_compiled: WeakValueDictionary[bytes, GeneralisedUfunc] = WeakValueDictionary()
_turns = [Turn() for _ in range(64)]  # by the key: threads that compile different programs rarely meet


def compile_ufunc(program: Program, lanes: Lanes, watch: Watch) -> GeneralisedUfunc:
    """The ufunc of a program. Equal programs, such as those of equal robots, share one as long as anyone holds it."""
    key = digest(program, lanes, watch)
    ufunc = _compiled.get(key)
    if ufunc is not None:
        return ufunc
    with _turns[key[0] % len(_turns)].take():
        ufunc = _compiled.get(key)
        return _compiled.setdefault(key, GeneralisedUfunc(Kernel(program, lanes, watch))) if ufunc is None else ufunc


_TYPE = 8  # offset of the type in an object


def _assembly(state: int, drop: int, free: int, clear: int, weak: int) -> str:
    """@release(object): tp_dealloc of a type that has `held`, what CPython frees objects and clears weak references
    with, and these, at such offsets.
    """
    c = Code()
    c.label("entry")
    offsets = _TYPE, state, drop, free, clear, weak
    places = [c.let(f"getelementptr i8, ptr %object, i64 {at}") for at in offsets]
    reference = places[1]
    kind, held, dropped, freed, cleared, references = (c.let(f"load ptr, ptr {at}, align 8") for at in places)
    c.do(f"br i1 {c.let(f'icmp eq ptr {dropped}, null')}, label %unfinished, label %made")
    c.label("made")
    c.do(f"br i1 {c.let(f'icmp eq ptr {references}, null')}, label %unknown, label %known")
    c.label("known")
    c.do(f"call void {cleared}(ptr %object)")
    c.do("br label %unknown")
    c.label("unknown")
    c.do(f"store ptr null, ptr {reference}, align 8")
    c.do(f"br i1 {c.let(f'icmp eq ptr {held}, null')}, label %empty, label %full")
    c.label("full")
    c.do(f"call void {dropped}(ptr {held})")
    c.do("br label %empty")
    c.label("empty")
    c.do(f"call void {freed}(ptr %object)")
    c.do(f"call void {dropped}(ptr {kind})")
    c.do("ret void")
    c.label("unfinished")  # an instance that was never filled: it stays
    c.do("ret void")
    return f"define void @release(ptr %object) nounwind {{\n{c.body()}\n}}\n"


class Release:
    """The function that frees instances of this layout, and the `fields` that it needs there, by offset."""

    def __init__(self, *at: int) -> None:
        self._code: Loaded = load_module(f"release {at}", lambda: _assembly(*at))
        self.address = self._code.address("release")
        api, (_, drop, free, clear, _) = ctypes.pythonapi, at
        functions = {free: api.PyObject_Free, drop: api.Py_DecRef, clear: api.PyObject_ClearWeakRefs}
        self.fields = {at: ctypes.cast(one, ctypes.c_void_p).value or 0 for at, one in functions.items()}


@once
def release(state: int, drop: int, free: int, clear: int, weak: int) -> Release:
    """The function that frees instances with these offsets, in this process."""
    return Release(state, drop, free, clear, weak)


_NEW_ARRAY_SLOT, _NEW_SCALAR_SLOT = 93, 60  # PyArray_New and PyArray_Scalar in NumPy's table of array functions
_NEVER = 1 << 62
_KEPT = list(range(1, words.MOST_THREADS + 1))  # small numbers are the same objects everywhere in CPython
_NUMBERS = np.array([id(k) for k in _KEPT], np.int64)


def is_supported() -> bool:
    """Whether objects of this interpreter have the layout that the machine code expects."""
    wide = ctypes.sizeof(ctypes.c_void_p) == 8 and sys.byteorder == "little"
    plain = wide and object.__basicsize__ == 16  # more where references are traced or there is no GIL
    return sys.implementation.name == "cpython" and plain


class _Member(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("type", ctypes.c_int),
        ("offset", ctypes.c_ssize_t),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    ]


class _TypeSlot(ctypes.Structure):
    _fields_ = [("slot", ctypes.c_int), ("value", ctypes.c_void_p)]


class _Spec(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("basicsize", ctypes.c_int),
        ("itemsize", ctypes.c_int),
        ("flags", ctypes.c_uint),
        ("slots", ctypes.c_void_p),
    ]


_TP_CALL, _TP_DEALLOC, _TP_MEMBERS, _SSIZE, _OBJECT, _READONLY = 50, 52, 72, 19, 16, 1
_DEFAULT_FLAGS, _HAVE_VECTORCALL = 1 << 18, 1 << 11


def address_of(function: Any) -> int:
    """Address of a C function of the interpreter."""
    return ctypes.cast(function, ctypes.c_void_p).value or 0


def refuse(self: Any, name: str, *value: Any) -> None:
    """Refuse changes of attributes."""
    raise AttributeError(f"a fourbar function is frozen; {name!r} cannot be changed")


def _release() -> Release:
    at = words.INSTANCE_DROP, words.INSTANCE_FREE, words.INSTANCE_CLEAR, words.INSTANCE_WEAK_REFERENCES
    return release(words.INSTANCE_STATE, *at)


@once
def callable_type(name: str) -> type:
    """A Python type whose instances run the machine code when called; `held` is a state and an `Environment`."""
    api = ctypes.pythonapi
    members = (_Member * 4)(
        _Member(b"__vectorcalloffset__", _SSIZE, words.INSTANCE_VECTORCALL, _READONLY, None),
        _Member(b"__weaklistoffset__", _SSIZE, words.INSTANCE_WEAK_REFERENCES, _READONLY, None),
        _Member(b"held", _OBJECT, words.INSTANCE_STATE, _READONLY, None),
        _Member(),
    )
    slots = (_TypeSlot * 4)(
        _TypeSlot(_TP_CALL, address_of(api.PyVectorcall_Call)),
        _TypeSlot(_TP_DEALLOC, _release().address),
        _TypeSlot(_TP_MEMBERS, ctypes.addressof(members)),
        _TypeSlot(0, None),
    )
    flags = _DEFAULT_FLAGS | _HAVE_VECTORCALL
    spec = _Spec(f"fourbar.{name}".encode(), words.INSTANCE_SIZE, 0, flags, ctypes.addressof(slots))
    api.PyType_FromSpec.restype, api.PyType_FromSpec.argtypes = ctypes.py_object, [ctypes.c_void_p]
    made: Any = api.PyType_FromSpec(ctypes.addressof(spec))
    made.__setattr__, made.__delattr__ = refuse, refuse
    made._borrowed = members, slots, spec  # as long as there is the type, which instances keep
    return made


class _Common(NamedTuple):
    """The common part of all callables of this process: words of their tables, fields of the instances, and what has
    to live as long as any of them, for functions may be called after modules are gone."""

    table: np.ndarray
    fields: dict[int, int]
    borrowed: tuple[Any, ...]


@once
def _common() -> _Common:
    fast, freed, table = load_module("fastcall", assembly), _release(), _common_words()
    jobs = workers().table
    table[words.JOB_TABLE] = jobs.ctypes.data
    fields = {**freed.fields, words.INSTANCE_VECTORCALL: fast.address("fast")}
    return _Common(table, fields, (jobs, _KEPT, _NUMBERS, fast, freed))


def _common_words() -> np.ndarray:
    """A table with the words that do not depend on machine code."""
    api, table = ctypes.pythonapi, np.zeros(words.TABLE_WORDS, np.int64)
    known = {words.FLOAT_TYPE: float, words.SCALAR_TYPE: np.float64}
    types = {at: kind for at, kind in known.items() if _holds_its_value(kind)}
    types |= {words.ARRAY_TYPE: np.ndarray, words.INTEGER_TYPE: int, words.LIST_TYPE: list, words.TUPLE_TYPE: tuple}
    dtypes = {words.DTYPE: np.float64, words.SHORT_DTYPE: np.float32, words.INTEGER_DTYPE: np.int64}
    names = {words.OUT_NAME: sys.intern("out"), words.THREADS_NAME: sys.intern("threads"), words.NONE: None}
    for at, one in {**types, **{at: np.dtype(kind) for at, kind in dtypes.items()}, **names}.items():
        table[at] = id(one)
    functions = {
        words.VECTORCALL: api.PyObject_Vectorcall,
        words.NEW_TUPLE: api.PyTuple_New,
        words.NEW_OBJECT: api.PyType_GenericAlloc,
        words.DROP: api.Py_DecRef,
        words.SAVE: api.PyEval_SaveThread,
        words.RESTORE: api.PyEval_RestoreThread,
        words.INTEGER_VALUE: api.PyLong_AsDouble,
        words.ERROR: api.PyErr_Occurred,
        words.CLEAR_ERROR: api.PyErr_Clear,
        words.TAKE: api.Py_IncRef,
    }
    for at, function in functions.items():
        table[at] = address_of(function)
    arrays = capsule_table("_ARRAY_API", 400)
    table[[words.NEW_ARRAY, words.NEW_SCALAR]] = arrays[_NEW_ARRAY_SLOT], arrays[_NEW_SCALAR_SLOT]
    table[words.NUMBERS] = _NUMBERS.ctypes.data
    table[words.TUPLE_ITEMS] = tuple.__basicsize__ // 8
    table[words.SHARING_FROM] = _NEVER
    return table


def _holds_its_value(kind: type) -> bool:
    """Whether a number of this type has its value where the machine code expects it."""
    some = kind(0.7)
    return ctypes.c_double.from_address(id(some) + words.NUMBER_VALUE).value == 0.7


def decline(*args: Any, **named: Any) -> Any:
    """The error of a callable that has only machine code, for arguments that this does not take."""
    return NotImplemented


class Environment:
    """The table of one callable. Until `arm` gives it a kernel, all calls take the slow path.

    `names` are those of all arguments; its kernel takes the `present` ones, and others are served by the environments
    that `add_variant` made.
    """

    def __init__(self, names: tuple[str, ...], present: tuple[str, ...]) -> None:
        self._common = _common()
        table = self._common.table.copy()
        self._table = table
        self._names = [sys.intern(name) for name in names]
        if len(names) <= words.MOST_ARGUMENTS:
            table[words.ARGUMENTS] = len(names)
            table[words.FIRST_NAME : words.FIRST_NAME + len(names)] = [id(name) for name in self._names]
            table[words.MASK] = sum(1 << k for k, name in enumerate(names) if name in present)
        self.names, self.present = names, present
        self._last: Environment | None = None  # of those that were added
        self._held: list[Any] = []

    def callable(self, state: Any, name: str, slow: Any) -> Any:
        """A callable that runs on this table, and on `slow` otherwise; it keeps these and `state` alive."""
        return self._instance(name, state, slow)

    def direct(self) -> Any:
        """A callable that is machine code only: NotImplemented where that does not serve a call."""
        return self._instance("Direct", None, decline)

    def on_tensors(self, reader: TensorReader) -> Any:
        """A callable that takes tensors by place: None where its machine code does not serve a call."""
        reader.table[FAST] = self._common.fields[words.INSTANCE_VECTORCALL]
        fields = {words.INSTANCE_VECTORCALL: reader.address, words.INSTANCE_READER: reader.table.ctypes.data}
        return self._instance("OnTensors", reader, None, fields)

    def _instance(self, name: str, state: Any, slow: Any, other: Mapping[int, int] | None = None) -> Any:
        instance: Any = callable_type(name)()
        held = (state, self, slow)
        fields = {
            **self._common.fields,
            words.INSTANCE_ENVIRONMENT: self._table.ctypes.data,
            words.INSTANCE_SLOW: 0 if slow is None else id(slow),
            **(other or {}),
        }
        for offset, value in fields.items():
            ctypes.c_void_p.from_address(id(instance) + offset).value = value
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(held))  # the reference that the instance has from the next line on
        ctypes.c_void_p.from_address(id(instance) + words.INSTANCE_STATE).value = id(held)
        return instance

    _SPARES = slice(words.FIRST_SPARE, words.FIRST_NAME)
    _drop = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)(address_of(ctypes.pythonapi.Py_DecRef))

    def __del__(self) -> None:
        table = vars(self).get("_table")  # none where `__init__` was interrupted
        for spare in () if table is None else table[self._SPARES].tolist():  # at the process's end this module is empty
            if spare:
                self._drop(spare)

    def watch(self, watched: int) -> None:
        """From now on calls go the slow way too whose result has a NaN: 1, those of one sample; 2, batches too."""
        self._table[words.WATCHED] = watched

    def add_variant(self, present: tuple[str, ...]) -> Environment:
        """One more environment behind this one, for another choice of arguments."""
        other = Environment(self.names, present)
        other.watch(int(self._table[words.WATCHED]))
        self._held.append(other)
        (self._last or self)._table[words.NEXT] = other._table.ctypes.data
        self._last = other
        return other

    def arm(self, kernel: Kernel, single: bool, sharing_from: int) -> None:
        """Let the machine code serve calls with one sample, or with a batch, by this kernel.

        A batch of at least `sharing_from` samples is computed on several threads.
        """
        program: Program = kernel.program
        arguments = [*program.inputs, *program.outputs]
        which = words.SINGLE if single else words.BATCH
        if len(program.outputs) > words.MOST_OUTPUTS or len(arguments) > words.MOST_ARGUMENTS:
            return
        for k, argument in enumerate(arguments):
            at = words.FIRST_ARGUMENT + words.ARGUMENT_WORDS * k
            self._table[at] = len(argument.shape)
            self._table[at + 1 : at + 1 + len(argument.shape)] = argument.shape
        if not single:
            self._table[[words.SHARE, words.WIDTH, words.SHARING_FROM]] = kernel.share, kernel.lanes.width, sharing_from
            self._table[[words.TOGETHER, words.THREADS]] = code().together_address, default_threads()
        self._held.append(kernel)
        self._table[[which + 1, which]] = kernel.data, kernel.address
        self._table[words.OUTPUTS] = len(program.outputs)
        self._table[words.INPUTS] = len(program.inputs)

    def follow(self, other: Environment, kind: type) -> None:
        """Serve the calls of another callable, but return each result in an instance of a class with one slot."""
        own = [words.MASK, words.NEXT, words.WRAP, *range(words.FIRST_SPARE, words.FIRST_NAME)]
        served = np.delete(np.arange(words.TABLE_WORDS), own)
        self._table[served] = other._table[served]
        self._table[words.WRAP] = id(kind)
        self._held[:] = [other, kind]


def is_first_slot(kind: type, value: Any) -> bool:
    """Whether the one slot of a class, to which it is given, lies where the machine code puts it."""
    made = kind(value)
    return ctypes.c_void_p.from_address(id(made) + words.FIRST_SLOT).value == id(value)


@once
def _front_type() -> type:
    """The type of `Front.callable`: except for calls, it behaves like the callable behind it."""
    front_type: Any = callable_type("Derivative")
    front_type.__getattr__ = lambda self, name: getattr(self.held[0], name)
    front_type.__repr__ = lambda self: repr(self.held[0])
    front_type.__doc__ = property(lambda self: self.held[0].__doc__)
    front_type.__reduce__ = lambda self: self.held[0].__reduce__()
    return front_type


class Front:
    """Machine code in front of a Python callable that names the parts of a compiled function's result.

    Once the callable has returned an instance of its result class, ordinary calls are served without it.
    """

    def __init__(self, slow: Any, inner: Environment) -> None:
        self._inner = inner
        self._environment = Environment(inner.names, inner.present)
        self._slow = slow

    def callable(self) -> Any:
        """The callable for the user."""
        _front_type()
        return self._environment.callable(self._slow, "Derivative", self._slow)

    def serve(self, result: Any, array: np.ndarray) -> None:
        """Return results like this one, which holds `array` in its only slot."""
        if is_first_slot(type(result), array):
            self._environment.follow(self._inner, type(result))
