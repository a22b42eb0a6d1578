"""Data that the machine code of a call reads: words of a callable's table, offsets in objects, and code for these."""

from __future__ import annotations

from .ir import Code, word

# Words of the environment table.
SINGLE, BATCH = 0, 2  # kernel and data, for one sample and for a batch
INPUTS, OUTPUTS = 4, 5  # of the kernel; no inputs: there is no kernel yet
MASK, NEXT = 6, 7  # which of all arguments the kernel takes, a bit each; the table for another choice of them, or 0
ARGUMENTS = 8  # how many there are, with those that may be left out
WATCHED = 9  # whether NaN is to be explained: 1 of one sample, 2 of batches too
WRAP = 10  # a class with one slot that is to hold the result, or 0
# Threads: how many by default, for how many samples, the shared kernel, its width, the job table of the workers, and
# the function that works together with them.
THREADS, SHARING_FROM, SHARE, WIDTH, JOB_TABLE, TOGETHER = range(11, 17)
# Names of arguments, and the whole numbers from 1 on, as objects.
OUT_NAME, THREADS_NAME, NUMBERS = range(17, 20)
# Objects of CPython and NumPy: types (0 where their layout is not known), dtypes, None.
ARRAY_TYPE, FLOAT_TYPE, SCALAR_TYPE, INTEGER_TYPE, LIST_TYPE, TUPLE_TYPE = range(20, 26)
DTYPE, SHORT_DTYPE, INTEGER_DTYPE, NONE = range(26, 30)
TUPLE_ITEMS = 30  # the word of a tuple that holds its first entry, which depends on the version of Python
# Functions of CPython and NumPy.
VECTORCALL, NEW_ARRAY, NEW_SCALAR, NEW_TUPLE, NEW_OBJECT, DROP = range(31, 37)
SAVE, RESTORE, INTEGER_VALUE, ERROR, CLEAR_ERROR, TAKE = range(37, 43)
MOST_ARGUMENTS, MOST_OUTPUTS = 60, 4  # a mask of the arguments is a word
FIRST_SPARE = 43  # for each output two results that may be used again
FIRST_NAME = FIRST_SPARE + 2 * MOST_OUTPUTS  # of all arguments
FIRST_ARGUMENT = FIRST_NAME + MOST_ARGUMENTS  # inputs and outputs: number of core dimensions, three core dimensions
ARGUMENT_WORDS = 4
TABLE_WORDS = FIRST_ARGUMENT + ARGUMENT_WORDS * MOST_ARGUMENTS

MOST_THREADS = 64  # that can be asked for without taking the slow way
MOST_LEADING = 6  # batch dimensions
MOST_CONVERTED = 128  # numbers that are not float64 yet

# What is known of a call so far: samples, batch dimensions, where their sizes are, flags that all arrays have, how many
# numbers were converted.
SAMPLES, LEADING, LEADING_DIMS, COMMON_FLAGS, CONVERTED = range(5)
CALL_WORDS = 5

# Offsets in the objects of CPython and NumPy, in bytes. References are counted in the lower half of the first word;
# CPython 3.14 has flags in the upper half.
INSTANCE_VECTORCALL, INSTANCE_ENVIRONMENT, INSTANCE_STATE, INSTANCE_SLOW = 16, 24, 32, 40
INSTANCE_DROP, INSTANCE_FREE, INSTANCE_CLEAR = 48, 56, 64  # functions of CPython that release an object
INSTANCE_WEAK_REFERENCES, INSTANCE_READER, INSTANCE_SIZE = 72, 80, 88
FIRST_SLOT = 16
OBJECT_TYPE, OBJECT_LENGTH, LIST_ITEMS, NUMBER_VALUE = 8, 16, 24, 16
ARRAY_DATA, ARRAY_ND, ARRAY_DIMS, ARRAY_STRIDES, ARRAY_DESCR, ARRAY_FLAGS = 16, 24, 32, 40, 56, 64
ARRAY_WEAK_REFERENCES = 72
CONTIGUOUS, OWNED, ALIGNED, WRITEABLE = 0x1, 0x4, 0x100, 0x400


def field(c: Code, pointer: str, offset: int, kind: str = "i64") -> str:
    """The content of an object at an offset in bytes."""
    return c.let(f"load {kind}, ptr {c.let(f'getelementptr i8, ptr {pointer}, i64 {offset}')}, align 4")


def keep(c: Code, value: str, table: str, index: int | str, kind: str = "i64") -> None:
    """Write a word of a table."""
    c.do(f"store {kind} {value}, ptr {c.let(f'getelementptr i64, ptr {table}, i64 {index}')}, align 8")


def describe(c: Code, number: str) -> str:
    """Where the description of an argument is: inputs first, then outputs."""
    at = c.let(f"add i64 {c.let(f'mul i64 {number}, {ARGUMENT_WORDS}')}, {FIRST_ARGUMENT}")
    return c.let(f"getelementptr i64, ptr %env, i64 {at}")


def entries(c: Code, number: str, samples: str) -> str:
    """The number of entries of an argument in a number of samples."""
    description = describe(c, number)
    core, count = word(c, description, 0), samples
    for j in range(3):
        there = c.let(f"icmp sgt i64 {core}, {j}")
        count = c.let(f"mul i64 {count}, {c.let(f'select i1 {there}, i64 {word(c, description, j + 1)}, i64 1')}")
    return count


class Checks:
    """Leaves for a label at the first check that fails."""

    def __init__(self, c: Code, other: str = "slow") -> None:
        self.c = c
        self.count = 0
        self.other = other

    def require(self, condition: str) -> None:
        """Leave unless a condition holds."""
        name = f"checked{self.count}"
        self.count += 1
        self.c.do(f"br i1 {condition}, label %{name}, label %{self.other}")
        self.c.label(name)

    def equal(self, a: str, b: str, kind: str = "i64") -> None:
        """Leave unless two values are equal."""
        self.require(self.c.let(f"icmp eq {kind} {a}, {b}"))
