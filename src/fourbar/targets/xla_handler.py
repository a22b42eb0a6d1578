"""Kernels as handlers of XLA's typed foreign function interface: machine code that XLA calls with a frame.

One function, @handle(frame, plan), serves all programs: it takes the buffers out of the frame and calls the kernel that
the plan names. XLA gives a handler nothing but the frame, so each program has a few instructions of its own, which add
its plan. The offsets are those of version 0.x of XLA's C interface (xla/ffi/api/c_api.h) on machines of 64 bits, which
may add fields but not move them; XLA asks which version a handler was made for when it is registered.

Large batches are shared with the threads of XLA. The caller and the tasks meet in a job on the heap, since a task may
come late, when the batch is done: it then finds the job closed, and the last one to leave frees it.
"""

from __future__ import annotations

import ctypes
from functools import partial

import numpy as np

from ..compile import batch_loop as words
from ..compile import workers
from ..compile.cache import load_module
from ..compile.ir import Code, word
from ..compile.kernel import Kernel
from ..compile.llvm import Loaded, to_object
from ..compile.transfer import open_loop
from ..once import once

MAJOR = 0  # of the interface
# Offsets in bytes. A frame; the table of XLA's functions; a buffer; the extension that asks for the version.
_EXTENSION, _API, _CONTEXT, _ARGUMENTS, _RESULTS = 8, 16, 24, 72, 112
_API_SIZE, _CREATE_ERROR, _DESTROY_ERROR, _SCHEDULE = 0, 48, 64, 136
_DATA, _RANK, _DIMS = 24, 32, 40
_EXTENSION_TYPE, _METADATA, _METADATA_MAJOR, _METADATA_MINOR, _METADATA_TRAITS = 8, 24, 24, 28, 32
_ASKS_FOR_VERSION = 1
_RESOURCE_EXHAUSTED = 8
# Words of a plan. STEPS is a table of strides as a kernel takes them, CORES one of core dimensions by argument.
KERNEL, SHARE, TABLE, INPUTS, OUTPUTS, STEPS, STEP_COUNT, CORES, MESSAGE, HELPERS, SHARED_FROM, PARTS = range(12)
WIDTH, YIELD = 12, 13
_PLAN_WORDS = 14
# Words of a job: how many are in it, and whether it is closed; how many hold it; how to free it; the share and what it
# is given.
_INSIDE, _HOLDERS, _FREE, _SHARE, _FIRST, _CHUNK, _COUNTER, _JOB_WORDS = 0, 1, 2, 3, 4, 8, 16, 24
_CLOSED = 1 << 32


def _at(c: Code, base: str, offset: int) -> str:
    return c.let(f"getelementptr i8, ptr {base}, i64 {offset}")


def _field(c: Code, base: str, offset: int, kind: str = "ptr") -> str:
    return c.let(f"load {kind}, ptr {_at(c, base, offset)}, align {4 if kind == 'i32' else 8}")


def _put(c: Code, table: str, index: int | str, value: str) -> None:
    c.do(f"store {value}, ptr {c.let(f'getelementptr i64, ptr {table}, i64 {index}')}, align 8")


def _handle(minor: int) -> str:
    """@handle(frame, plan): the error of XLA, null if there is none."""
    c = Code()
    c.label("entry")
    extension = _field(c, "%frame", _EXTENSION)
    c.do(f"br i1 {c.let(f'icmp eq ptr {extension}, null')}, label %work, label %extended")
    c.label("extended")
    kind = _field(c, extension, _EXTENSION_TYPE, "i32")
    c.do(f"br i1 {c.let(f'icmp eq i32 {kind}, {_ASKS_FOR_VERSION}')}, label %describe, label %work")
    c.label("describe")
    metadata = _field(c, extension, _METADATA)
    for offset, value in ((_METADATA_MAJOR, MAJOR), (_METADATA_MINOR, minor), (_METADATA_TRAITS, 0)):
        c.do(f"store i32 {value}, ptr {_at(c, metadata, offset)}, align 4")
    c.do("ret ptr null")
    c.label("work")
    table = word(c, "%plan", TABLE, "ptr")
    before = word(c, table, words.FAILURES)
    c.do("call void @compute(ptr %frame, ptr %plan)")
    same = c.let(f"icmp eq i64 {before}, {word(c, table, words.FAILURES)}")
    c.do(f"br i1 {same}, label %good, label %failed")
    c.label("good")
    c.do("ret ptr null")
    c.label("failed")
    error = c.let("alloca [4 x i64], align 8")
    _put(c, error, 0, "i64 28")  # its size: up to the code, which has four bytes
    _put(c, error, 1, "ptr null")
    _put(c, error, 2, f"ptr {word(c, '%plan', MESSAGE, 'ptr')}")
    _put(c, error, 3, f"i64 {_RESOURCE_EXHAUSTED}")
    create = _field(c, _field(c, "%frame", _API), _CREATE_ERROR)
    c.do(f"ret ptr {c.let(f'call ptr {create}(ptr {error})')}")
    return f"define ptr @handle(ptr %frame, ptr %plan) nounwind {{\n{c.body()}\n}}\n"


def _compute() -> str:
    """@compute(frame, plan): arguments and strides as a kernel takes them, and how many samples there are; call it."""
    c = Code()
    c.label("entry")
    inputs, outputs = word(c, "%plan", INPUTS), word(c, "%plan", OUTPUTS)
    count, step_count = c.let(f"add i64 {inputs}, {outputs}"), word(c, "%plan", STEP_COUNT)
    known, cores = word(c, "%plan", STEPS, "ptr"), word(c, "%plan", CORES, "ptr")
    argument_buffers, result_buffers = _field(c, "%frame", _ARGUMENTS), _field(c, "%frame", _RESULTS)
    args, steps = c.let(f"alloca ptr, i64 {count}, align 8"), c.let(f"alloca i64, i64 {step_count}, align 8")
    dims = c.let("alloca i64, align 8")
    c.do("br label %step")
    k, close = open_loop(c, "step", "entry", step_count, 1, "steps_end")
    _put(c, steps, k, f"i64 {word(c, known, k)}")
    c.do(close)
    c.label("steps_end")
    c.do("br label %input")
    k, close = open_loop(c, "input", "steps_end", inputs, 1, "inputs_end")
    buffer = word(c, argument_buffers, k, "ptr")
    _put(c, args, k, f"ptr {_field(c, buffer, _DATA)}")
    alone = c.let(f"icmp eq i64 {_field(c, buffer, _RANK, 'i64')}, {word(c, cores, k)}")  # the same for every sample
    _put(c, steps, k, f"i64 {c.let(f'select i1 {alone}, i64 0, i64 {word(c, steps, k)}')}")
    c.do(close)
    c.label("inputs_end")
    c.do("br label %output")
    k, close = open_loop(c, "output", "inputs_end", outputs, 1, "outputs_end")
    place = c.let(f"add i64 {inputs}, {k}")
    _put(c, args, place, f"ptr {_field(c, word(c, result_buffers, k, 'ptr'), _DATA)}")
    c.do(close)
    c.label("outputs_end")
    first = word(c, result_buffers, 0, "ptr")
    axes = c.let(f"sub i64 {_field(c, first, _RANK, 'i64')}, {word(c, cores, inputs)}")
    sizes = _field(c, first, _DIMS)
    c.do(f"store i64 1, ptr {dims}, align 8")
    c.do("br label %axis")
    k, close = open_loop(c, "axis", "outputs_end", axes, 1, "axes_end")
    so_far = c.let(f"load i64, ptr {dims}, align 8")
    c.do(f"store i64 {c.let(f'mul i64 {so_far}, {word(c, sizes, k)}')}, ptr {dims}, align 8")
    c.do(close)
    c.label("axes_end")
    n = c.let(f"load i64, ptr {dims}, align 8")
    large = c.let(f"icmp sge i64 {n}, {word(c, '%plan', SHARED_FROM)}")
    passed = f"ptr {args}, ptr {dims}, ptr {steps}, ptr {word(c, '%plan', TABLE, 'ptr')}"
    c.do(f"br i1 {large}, label %several, label %alone")
    c.label("several")
    c.do(f"call void @together(ptr %frame, ptr %plan, {passed}, i64 {n})")
    c.do("ret void")
    c.label("alone")
    c.do(f"call void {word(c, '%plan', KERNEL, 'ptr')}({passed})")
    c.do("ret void")
    return f"define internal void @compute(ptr %frame, ptr %plan) nounwind noinline {{\n{c.body()}\n}}\n"


def _together() -> str:
    """@together(frame, plan, args, dims, steps, data, n): a batch on this thread and on those of XLA."""
    c = Code()
    c.label("entry")
    malloc, free = word(c, "%data", words.MALLOC, "ptr"), word(c, "%data", words.FREE, "ptr")
    api, context = _field(c, "%frame", _API), _field(c, "%frame", _CONTEXT)
    job = c.let(f"call ptr {malloc}(i64 {8 * _JOB_WORDS})")
    knows = c.let(f"icmp uge i64 {_field(c, api, _API_SIZE, 'i64')}, {_SCHEDULE + 8}")
    able = c.let(f"and i1 {knows}, {c.let(f'icmp ne ptr {job}, null')}")
    helpers, width = word(c, "%plan", HELPERS), word(c, "%plan", WIDTH)
    c.do(f"br i1 {able}, label %begin, label %alone")
    c.label("alone")
    c.do(f"call void {free}(ptr {job})")
    c.do(f"call void {word(c, '%plan', KERNEL, 'ptr')}(ptr %args, ptr %dims, ptr %steps, ptr %data)")
    c.do("ret void")
    c.label("begin")
    parts = word(c, "%plan", PARTS)
    pieces = c.let(f"udiv i64 %n, {c.let(f'mul i64 {width}, {parts}')}")
    some = c.let(f"select i1 {c.let(f'icmp eq i64 {pieces}, 0')}, i64 1, i64 {pieces}")
    chunk = c.let(f"mul i64 {some}, {width}")
    share = word(c, "%plan", SHARE, "ptr")
    _put(c, job, _INSIDE, "i64 0")
    _put(c, job, _HOLDERS, f"i64 {c.let(f'add i64 {helpers}, 1')}")
    _put(c, job, _COUNTER, "i64 0")
    values = (f"ptr {free}", f"ptr {share}", "ptr %args", "ptr %dims", "ptr %steps", "ptr %data", f"i64 {chunk}")
    for place, value in enumerate(values, _FREE):
        _put(c, job, place, value)
    schedule = _field(c, api, _SCHEDULE)
    request, unwanted = c.let("alloca [5 x i64], align 8"), c.let("alloca [3 x i64], align 8")
    for place, value in enumerate(("i64 40", "ptr null", f"ptr {context}", "ptr @task", f"ptr {job}")):
        _put(c, request, place, value)
    c.do("br label %helper")
    _, close = open_loop(c, "helper", "begin", helpers, 1, "mine")
    error = c.let(f"call ptr {schedule}(ptr {request})")
    c.do(f"br i1 {c.let(f'icmp eq ptr {error}, null')}, label %helper_end, label %refused")
    c.label("refused")
    for place, value in enumerate(("i64 24", "ptr null", f"ptr {error}")):
        _put(c, unwanted, place, value)
    c.do(f"call void {_field(c, api, _DESTROY_ERROR)}(ptr {unwanted})")
    c.do(f"call void @let_go(ptr {job})")
    c.do("br label %helper_end")
    c.label("helper_end")
    c.do(close)
    c.label("mine")
    counter = c.let(f"getelementptr i64, ptr {job}, i64 {_COUNTER}")
    c.do(f"call void {share}(ptr %args, ptr %dims, ptr %steps, ptr %data, ptr {counter}, i64 {chunk})")
    c.let(f"atomicrmw or ptr {job}, i64 {_CLOSED} seq_cst, align 8")
    c.do("br label %wait")
    c.label("wait")
    inside = c.let(f"load atomic i64, ptr {job} seq_cst, align 8")
    c.do(f"br i1 {c.let(f'icmp eq i64 {inside}, {_CLOSED}')}, label %done, label %others")
    c.label("others")
    c.let(f"call i32 {word(c, '%plan', YIELD, 'ptr')}()")
    c.do("br label %wait")
    c.label("done")
    c.do(f"call void @let_go(ptr {job})")
    c.do("ret void")
    arguments = "ptr %frame, ptr %plan, ptr %args, ptr %dims, ptr %steps, ptr %data, i64 %n"
    return f"define internal void @together({arguments}) nounwind noinline {{\n{c.body()}\n}}\n"


def _task() -> str:
    """@task(job): what a thread of XLA does for a batch. @let_go(job): the last one to hold it frees it."""
    c = Code()
    c.label("entry")
    before = c.let("atomicrmw add ptr %job, i64 1 seq_cst, align 8")
    c.do(f"br i1 {c.let(f'icmp uge i64 {before}, {_CLOSED}')}, label %late, label %work")
    c.label("work")
    given = [f"ptr {word(c, '%job', _FIRST + k, 'ptr')}" for k in range(4)]
    counter = c.let(f"getelementptr i64, ptr %job, i64 {_COUNTER}")
    share, chunk = word(c, "%job", _SHARE, "ptr"), word(c, "%job", _CHUNK)
    c.do(f"call void {share}({', '.join(given)}, ptr {counter}, i64 {chunk})")
    c.do("br label %late")
    c.label("late")
    c.let("atomicrmw sub ptr %job, i64 1 seq_cst, align 8")
    c.do("call void @let_go(ptr %job)")
    c.do("ret void")
    d = Code()
    d.label("entry")
    holders = d.let(f"getelementptr i64, ptr %job, i64 {_HOLDERS}")
    held = d.let(f"atomicrmw sub ptr {holders}, i64 1 seq_cst, align 8")
    d.do(f"br i1 {d.let(f'icmp eq i64 {held}, 1')}, label %last, label %done")
    d.label("last")
    d.do(f"call void {word(d, '%job', _FREE, 'ptr')}(ptr %job)")
    d.do("br label %done")
    d.label("done")
    d.do("ret void")
    return (
        f"define internal void @task(ptr %job) nounwind noinline {{\n{c.body()}\n}}\n"
        f"define internal void @let_go(ptr %job) nounwind noinline {{\n{d.body()}\n}}\n"
    )


def _assembly(minor: int) -> str:
    return "\n".join([_handle(minor), _compute(), _together(), _task()])


@once
def _shared_code(minor: int) -> Loaded:
    return load_module(f"xla {MAJOR}.{minor}", partial(_assembly, minor))


class Handler:
    """A kernel as XLA calls it, at `address`. Nothing of it may be freed while XLA knows it.

    `minor` is the version of the interface announced to XLA; batches of `shared_from` samples and more are shared.
    """

    def __init__(self, kernel: Kernel, minor: int, shared_from: int) -> None:
        self._kernel = kernel
        program = kernel.program
        arrays = [*program.inputs, *program.outputs]
        core = [_strides(x.shape) for x in arrays]
        self._steps = np.array(
            [*(8 * int(np.prod(x.shape)) for x in arrays), *(s for own in core for s in own)], np.int64
        )
        self._cores = np.array(kernel.cores, np.int64)
        self._message = ctypes.create_string_buffer(f"{program.name}: no memory for a workspace".encode())
        threads = workers.default_threads()
        plan = np.zeros(_PLAN_WORDS, np.int64)
        plan[[KERNEL, SHARE, TABLE]] = kernel.address, kernel.share, kernel.data
        plan[[INPUTS, OUTPUTS]] = len(program.inputs), len(program.outputs)
        plan[[STEPS, STEP_COUNT]] = self._steps.ctypes.data, len(self._steps)
        plan[CORES], plan[MESSAGE] = self._cores.ctypes.data, ctypes.addressof(self._message)
        plan[HELPERS], plan[SHARED_FROM] = threads - 1, shared_from if threads > 1 else np.iinfo(np.int64).max
        plan[PARTS], plan[WIDTH] = threads * workers.CHUNKS_PER_THREAD, kernel.lanes.width
        plan[YIELD] = workers.workers().table[workers.YIELD]
        self._plan = plan
        self._shared = _shared_code(minor)
        handle = f"ptr inttoptr (i64 {self._shared.address('handle')} to ptr)"
        call = f"%error = tail call {handle}(ptr %frame, ptr inttoptr (i64 {plan.ctypes.data} to ptr))"
        own = f"define ptr @handler(ptr %frame) nounwind {{\n  {call}\n  ret ptr %error\n}}\n"
        self._code = Loaded(to_object(own))
        self.address = self._code.address("handler")


def _strides(shape: tuple[int, ...]) -> list[int]:
    """Row by row, in bytes."""
    strides, step = [], 8
    for n in reversed(shape):
        strides.append(step)
        step *= n
    return strides[::-1]
