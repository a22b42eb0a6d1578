"""A NumPy generalised ufunc around a machine-code loop: broadcasting, out=, strides, other dtypes, GIL released."""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from ..expr import Program
from ..once import Turn
from .ir import Lanes
from .kernel import Kernel, Watch, digest

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
