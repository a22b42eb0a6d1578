"""Loading machine code into a process."""

import sys

import pytest

from .support import python

# Fills all gaps of the address space but the smallest down to 3 GB below the libraries, then loads code that is too
# long for these gaps and whose constants fit into them.
_SCATTERED = """
import ctypes
from fourbar.compile.llvm import Loaded, to_object

lines = ["define double @f(double %x0) {"]
lines += [f"%x{k + 1} = fmul double %x{k}, {1.0 + k % 7 / 64}" for k in range(4000)]
code = to_object("\\n".join([*lines, "ret double %x4000", "}"]))

mmap = ctypes.CDLL(None).mmap
mmap.restype = ctypes.c_void_p
mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
def reserve(size):
    return mmap(None, size, 0, 0x4022, -1, 0)  # private, anonymous, without a reserve

low = reserve(3 << 30)
while reserve(8192) > low:
    pass
kept = Loaded(code)
f = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(kept.address("f"))
expected = 1e-100
for k in range(4000):
    expected *= 1.0 + k % 7 / 64
print(f(1e-100) == expected)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="how the address space is filled is written for Linux")
def test_code_loads_where_free_memory_is_scattered() -> None:
    """Code refers to its constants over less than 2 GB, also in a process that has mapped more (large libraries do)."""
    assert python(_SCATTERED) == "True"
