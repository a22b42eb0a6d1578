"""Calling a kernel from Python in about fifty nanoseconds: the machine code.

A callable (`callables.py`) runs `@fast` from the first instruction on: it looks at the arguments
(`vectorcall_arguments.py`), and if they are what the kernel wants, it allocates the results (`vectorcall_results.py`)
and runs the kernel, on worker threads too where these were started. Anything else, including every error, goes to the
ordinary Python function `slow`; so does a call of a watched function whose result has a NaN, which `slow` explains.
Where there is no such function, null is returned without an error. The machine code is the same for every robot; what
differs is in a table of words (`vectorcall_words.py`).
"""

from __future__ import annotations

from . import signals
from . import vectorcall_arguments as fastarguments
from . import vectorcall_results as fastresults
from . import vectorcall_words as w
from .batch_loop import FAILURES, PIECE, SIGNALS, STRANGE
from .ir import Code, word
from .vectorcall_words import Checks, describe, keep
from .workers import CHUNKS_PER_THREAD, COUNT, WORTH_WAKING

_RELEASE_FROM = 64  # samples from which on the interpreter lock is released


def assembly() -> str:
    """The whole module."""
    return "".join([*fastarguments.functions(), *fastresults.functions(), _fast()])


def _fast() -> str:
    """@fast: the vectorcall function."""
    c = Code()
    ok = Checks(c)
    c.label("entry")
    sizes = {"args_now": w.MOST_ARGUMENTS, "steps": 4 * w.MOST_ARGUMENTS, "objects": w.MOST_ARGUMENTS}
    sizes |= {"dims": 1, "options": 2, "call": w.CALL_WORDS, "space": w.MOST_CONVERTED}
    sizes |= {"results": w.MOST_OUTPUTS, "numbers": w.MOST_OUTPUTS}
    for name, size in sizes.items():
        c.do(f"%{name} = alloca [{size} x i64], align 8")
    _choose(c)
    c.do(f"%inputs = load i64, ptr {c.let(f'getelementptr i64, ptr %env, i64 {w.INPUTS}')}, align 8")
    ok.require(c.let("icmp ne i64 %inputs, 0"))
    c.do(f"%outputs = load i64, ptr {c.let(f'getelementptr i64, ptr %env, i64 {w.OUTPUTS}')}, align 8")
    _read_arguments(c, f"checked{ok.count - 1}")
    _read_options(c, ok)
    _results(c, ok)
    _compute(c)
    c.do("br i1 %watching, label %watched, label %done")
    c.label("watched")
    good = "call i1 @all_without_nan(ptr %env, ptr %args_now, i64 %inputs, i64 %outputs, i64 %n)"
    c.do(f"br i1 {c.let(good)}, label %done, label %lost")
    c.label("lost")
    c.do("call void @drop(ptr %env, ptr %results, i64 %outputs)")
    c.do("br label %slow")
    c.label("done")
    finish = "call ptr @finish(ptr %env, ptr %results, ptr %args_now, i64 %inputs, i64 %outputs)"
    c.do(f"ret ptr {c.let(finish)}")
    c.label("slow")
    slow = c.let(f"load ptr, ptr {c.let(f'getelementptr i8, ptr %callable, i64 {w.INSTANCE_SLOW}')}, align 8")
    c.do(f"br i1 {c.let(f'icmp eq ptr {slow}, null')}, label %none, label %there")
    c.label("none")
    c.do("ret ptr null")
    c.label("there")
    call = f"call ptr {word(c, '%table', w.VECTORCALL, 'ptr')}(ptr {slow}, ptr %args, i64 %nargsf, ptr %names)"
    c.do(f"ret ptr {c.let(call)}")
    signature = "ptr @fast(ptr %callable, ptr %args, i64 %nargsf, ptr %names)"
    return f"define {signature} nounwind {{\n{c.body()}\n}}\n"


def _choose(c: Code) -> None:
    """%env: the table of the kernel that takes what is given; %given: that, in order; %options: out and threads."""
    c.do(f"%table = load ptr, ptr {c.let(f'getelementptr i8, ptr %callable, i64 {w.INSTANCE_ENVIRONMENT}')}, align 8")
    keep(c, "0", "%options", 0)
    keep(c, "0", "%options", 1)
    positional = c.let("and i64 %nargsf, 9223372036854775807")
    complete = c.let(f"icmp eq i64 {positional}, {word(c, '%table', w.INPUTS)}")
    plain = c.let(f"and i1 {complete}, {c.let('icmp eq ptr %names, null')}")
    c.do(f"br i1 {plain}, label %chosen, label %gather")
    c.label("gather")
    passed = f"ptr %table, ptr %args, i64 {positional}, ptr %names, ptr %objects, ptr %options"
    c.do(f"%found = call ptr @gather({passed})")
    c.do(f"br i1 {c.let('icmp eq ptr %found, null')}, label %slow, label %chosen")
    c.label("chosen")
    c.do("%env = phi ptr [%table, %entry], [%found, %gather]")
    c.do("%given = phi ptr [%args, %entry], [%objects, %gather]")


def _read_arguments(c: Code, before: str) -> None:
    """Note each argument for the kernel. %n: how many samples; %extra: in how many batch dimensions."""
    keep(c, "1", "%call", w.SAMPLES)
    keep(c, "-1", "%call", w.COMMON_FLAGS)
    for at in (w.LEADING, w.LEADING_DIMS, w.CONVERTED):
        keep(c, "0", "%call", at)
    c.do("%arguments = add i64 %inputs, %outputs")
    c.do("br label %each")
    c.label("each")
    c.do(f"%k = phi i64 [0, %{before}], [%k_next, %each_good]")
    c.do(f"%stride = phi i64 [%arguments, %{before}], [%stride_next, %each_good]")
    description = describe(c, "%k")
    good = _call_check(c, word(c, "%given", "%k", "ptr"), description, "%k", "%stride", "%space", str(w.ALIGNED))
    c.do(f"br i1 {good}, label %each_good, label %slow")
    c.label("each_good")
    c.do(f"%stride_next = add i64 %stride, {word(c, description, 0)}")
    c.do("%k_next = add i64 %k, 1")
    c.do(f"br i1 {c.let('icmp slt i64 %k_next, %inputs')}, label %each, label %read")
    c.label("read")
    c.do(f"%n = load i64, ptr {c.let(f'getelementptr i64, ptr %call, i64 {w.SAMPLES}')}, align 8")
    c.do(f"%extra = load i64, ptr {c.let(f'getelementptr i64, ptr %call, i64 {w.LEADING}')}, align 8")
    keep(c, "%n", "%dims", 0)


def _read_options(c: Code, ok: Checks) -> None:
    """%kernel; %out: an object or null; %threads and %workers: on how many this batch is computed.

    If a batch goes into a given array, or a result that is watched, that must not overlap the inputs, which is simply
    seen for contiguous ones: a batch is not read before it is written, and who explains a NaN looks at the inputs.
    """
    c.do("%batched = icmp ne i64 %extra, 0")
    c.do(f"%which = select i1 %batched, i64 {w.BATCH}, i64 {w.SINGLE}")
    c.do(f"%kernel = load ptr, ptr {c.let('getelementptr i64, ptr %env, i64 %which')}, align 8")
    ok.require(c.let("icmp ne ptr %kernel, null"))
    ok.require(c.let("icmp sgt i64 %n, 0"))
    c.do(f"%out = load ptr, ptr {c.let('getelementptr i64, ptr %options, i64 0')}, align 8")
    c.do("%into = icmp ne ptr %out, null")
    least = c.let("select i1 %batched, i64 2, i64 1")
    c.do(f"%watching = icmp uge i64 {word(c, '%env', w.WATCHED)}, {least}")
    c.do("%separate = or i1 %batched, %watching")
    asked = word(c, "%options", 1)
    c.do(f"%threads = select i1 {c.let(f'icmp eq i64 {asked}, 0')}, i64 {word(c, '%env', w.THREADS)}, i64 {asked}")
    large = c.let(f"icmp sge i64 %n, {word(c, '%env', w.SHARING_FROM)}")
    some = c.let("icmp sgt i64 %threads, 1")
    shared = c.let(f"and i1 %batched, {c.let(f'and i1 {large}, {some}')}")
    c.do(f"%workers = select i1 {shared}, i64 {c.let('sub i64 %threads, 1')}, i64 0")
    ok.require(c.let(f"icmp sle i64 %workers, {word(c, word(c, '%env', w.JOB_TABLE, 'ptr'), COUNT)}"))
    c.do("br i1 %into, label %named, label %fresh")


def _call_check(c: Code, array: str, description: str, number: str, stride: str, space: str, flags: str) -> str:
    passed = f"ptr {array}, ptr {description}, ptr %env, ptr %args_now, ptr %steps, i64 {number}, i64 {stride}"
    return c.let(f"call i1 @check({passed}, ptr %call, ptr {space}, i32 {flags})")


def _results(c: Code, ok: Checks) -> None:
    """Where the results go: into the array given as out=, or new ones; a number has its place here until the end."""
    c.label("named")
    ok.equal("%outputs", "1")
    common = c.let(f"and i64 {word(c, '%call', w.COMMON_FLAGS)}, {w.CONTIGUOUS}")
    loose = c.let(f"icmp eq i64 {common}, 0")
    ok.require(c.let(f"xor i1 {c.let(f'and i1 {loose}, %separate')}, true"))
    whole = w.ALIGNED | w.WRITEABLE | w.CONTIGUOUS
    flags = c.let(f"select i1 %separate, i32 {whole}, i32 {w.ALIGNED | w.WRITEABLE}")
    ok.require(_call_check(c, "%out", describe(c, "%inputs"), "%inputs", "%stride_next", "null", flags))
    c.do("br i1 %separate, label %overlap, label %accepted")
    c.label("overlap")
    apart = c.let("call i1 @apart(ptr %env, ptr %args_now, i64 %inputs, i64 %n)")
    c.do(f"br i1 {apart}, label %accepted, label %slow")
    c.label("accepted")
    counted = c.let("load i32, ptr %out, align 8")
    c.do(f"store i32 {c.let(f'add i32 {counted}, 1')}, ptr %out, align 8")
    keep(c, "%out", "%results", 0, "ptr")
    c.do("br label %compute")
    c.label("fresh")
    c.do("br label %place")
    c.label("place")
    c.do("%j = phi i64 [0, %fresh], [%j_next, %placed]")
    c.do("%into_stride = phi i64 [%stride_next, %fresh], [%into_stride_next, %placed]")
    c.do("%number = add i64 %inputs, %j")
    core = word(c, describe(c, "%number"), 0)
    c.do(f"%into_stride_next = add i64 %into_stride, {core}")
    c.do("%j_next = add i64 %j, 1")
    plain = c.let(f"or i64 {core}, %extra")
    c.do(f"br i1 {c.let(f'icmp eq i64 {plain}, 0')}, label %alone, label %array")
    c.label("alone")
    keep(c, c.let("getelementptr double, ptr %numbers, i64 %j"), "%args_now", "%number", "ptr")
    keep(c, "0", "%steps", "%number")
    c.do("br label %placed")
    c.label("array")
    passed = "ptr %env, ptr %args_now, ptr %steps, i64 %j, i64 %number, i64 %into_stride, ptr %call"
    c.do(f"%new = call ptr @obtain({passed})")
    c.do(f"br i1 {c.let('icmp eq ptr %new, null')}, label %failed, label %placed")
    c.label("failed")
    c.do("call void @drop(ptr %env, ptr %results, i64 %j)")
    c.do("ret ptr null")
    c.label("placed")
    c.do("%target = phi ptr [null, %alone], [%new, %array]")
    keep(c, "%target", "%results", "%j", "ptr")
    c.do(f"br i1 {c.let('icmp slt i64 %j_next, %outputs')}, label %place, label %compute")


def _compute(c: Code) -> None:
    """Run the kernel: as it is, without the interpreter lock, or together with workers; `slow` if memory is short."""
    c.label("compute")
    data = word(c, "%env", c.let("add i64 %which, 1"), "ptr")
    failures, strange = word(c, data, FAILURES), word(c, data, STRANGE)
    run = f"call void %kernel(ptr %args_now, ptr %dims, ptr %steps, ptr {data})"
    c.do(f"br i1 {c.let(f'icmp sge i64 %n, {_RELEASE_FROM}')}, label %released, label %held")
    c.label("held")
    c.do(run)
    c.do("br label %ran")
    c.label("released")
    c.do(f"%thread = call ptr {word(c, '%env', w.SAVE, 'ptr')}()")
    c.do(f"br i1 {c.let('icmp eq i64 %workers, 0')}, label %unaided, label %aided")
    c.label("unaided")
    c.do(run)
    c.do("br label %restore")
    c.label("aided")
    width = word(c, "%env", w.WIDTH)
    parts = c.let(f"mul i64 {c.let(f'mul i64 %threads, {CHUNKS_PER_THREAD}')}, {width}")
    whole = c.let(f"udiv i64 %n, {parts}")
    some = c.let(f"select i1 {c.let(f'icmp eq i64 {whole}, 0')}, i64 1, i64 {whole}")
    task = f"ptr {word(c, '%env', w.SHARE, 'ptr')}, ptr %args_now, ptr %dims, ptr %steps, ptr {data}"
    jobs, together = word(c, "%env", w.JOB_TABLE, "ptr"), word(c, "%env", w.TOGETHER, "ptr")
    even, most = c.let(f"mul i64 {some}, {width}"), word(c, data, PIECE)
    chunk = c.let(f"select i1 {c.let(f'icmp slt i64 {even}, {most}')}, i64 {even}, i64 {most}")
    enough = c.let(f"mul i64 {word(c, '%env', w.SHARING_FROM)}, {WORTH_WAKING}")
    long = c.let(f"zext i1 {c.let(f'icmp sge i64 %n, {enough}')} to i64")
    c.do(f"call void {together}(ptr {jobs}, {task}, i64 {chunk}, i64 %workers, i64 {long})")
    c.do("br label %restore")
    c.label("restore")
    c.do(f"call void {word(c, '%env', w.RESTORE, 'ptr')}(ptr %thread)")
    c.do("br label %ran")
    c.label("ran")
    _raise(c, word(c, data, SIGNALS, "ptr"))
    no_failure = c.let(f"icmp eq i64 {failures}, {word(c, data, FAILURES)}")
    nothing_strange = c.let(f"icmp eq i64 {strange}, {word(c, data, STRANGE)}")
    c.do(f"br i1 {c.let(f'and i1 {no_failure}, {nothing_strange}')}, label %computed, label %lost")
    c.label("computed")


def _raise(c: Code, table: str) -> None:
    """If a signal handler raised an error in this thread, for whose sake the kernel came back early, raise it here."""
    kind = word(c, table, signals.ERROR, "ptr")
    c.do(f"br i1 {c.let(f'icmp eq ptr {kind}, null')}, label %undisturbed, label %disturbed")
    c.label("disturbed")
    here = c.let(f"call i64 {word(c, table, signals.THREAD, 'ptr')}()")
    c.do(f"br i1 {c.let(f'icmp eq i64 {here}, {word(c, table, signals.MAIN)}')}, label %raise, label %undisturbed")
    c.label("raise")
    value, trace = (word(c, table, signals.ERROR + k, "ptr") for k in (1, 2))
    keep(c, "null", table, signals.ERROR, "ptr")
    c.do("call void @drop(ptr %env, ptr %results, i64 %outputs)")
    c.do(f"call void {word(c, table, signals.RAISE, 'ptr')}(ptr {kind}, ptr {value}, ptr {trace})")
    c.do("ret ptr null")
    c.label("undisturbed")
