"""`Function`: a compiled algorithm as the user calls it.

    tau = f(q, v, a)                        one sample, or any leading axes, which broadcast
    f(q, v, a, out=tau)                     into an existing array
    f(q, v, a, threads=2)                   on two threads (else as many as there are CPUs, for large batches)

The program is traced and compiled at the first call. With FOURBAR_BACKEND=numpy it is interpreted instead.
"""

from __future__ import annotations

import math
import operator
import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import Argument, as_signed, batch_shape, bind, check_target, is_lazy, quick_array, to_array
from ..compile import callables
from ..compile.callables import GeneralisedUfunc, compile_ufunc, signature
from ..compile.kernel import Watch
from ..compile.llvm import batch_lanes, single_lane
from ..compile.signals import raise_error
from ..compile.workers import WORTH_WAKING, default_threads, run_shared
from ..errors import ArgumentError, unknown
from ..expr import Output, Program, interpret
from ..once import Turn, cached_property, import_late, once
from .model import Model
from .nan_reasons import Explainer
from .recording import MethodRecording, Recording, Static
from .registry import Method, Option

if TYPE_CHECKING:
    from inspect import Signature

_WORTH_SHARING = 3_000_000  # operations in a batch from which on several threads pay (about 0.1 ms)
_BACKENDS = ("llvm", "numpy")
_EXTRA = ("out", "threads")  # what every function takes besides its arguments


def backend() -> str:
    """The backend: "llvm", or "numpy" (the reference interpreter) if FOURBAR_BACKEND says so."""
    asked = os.environ.get("FOURBAR_BACKEND", "llvm")
    if asked not in _BACKENDS:
        raise ValueError(f"FOURBAR_BACKEND={asked!r}: expected one of {', '.join(_BACKENDS)}")
    return asked


def sharing_from(program: Program) -> int:
    """The size of a batch from which on several threads pay off."""
    return max(2, _WORTH_SHARING // max(1, program.operations))


def _overlap(some: Sequence[np.ndarray], others: Sequence[np.ndarray]) -> bool:
    """Whether an array of the one lot may lie over one of the other."""
    return any(np.may_share_memory(a, b) for a in some for b in others)


class Variant:
    """One program (one choice of optional arguments), with the kernels that were needed so far."""

    def __init__(self, program: Program, watch: Watch) -> None:
        self.program = program
        self._watch = watch
        sizes = [n for x in (*program.inputs, *program.outputs) for n in x.shape]
        self.compiled = backend() == "llvm" and 0 not in sizes  # NumPy knows no generalised ufuncs of empty arrays
        self.sharing_from = sharing_from(program)
        self._ufuncs: dict[bool, GeneralisedUfunc] = {}

    def ufunc(self, single: bool) -> GeneralisedUfunc:
        """The program in machine code: for one sample, or for batches."""
        ufunc = self._ufuncs.get(single)
        if ufunc is None:
            lanes = single_lane() if single else batch_lanes()
            ufunc = self._ufuncs.setdefault(single, compile_ufunc(self.program, lanes, self._watch))
        return ufunc

    def run(self, arrays: list[np.ndarray], batch: tuple[int, ...], out: tuple[Any, ...] | None, threads: int) -> Any:
        """The results, a tuple; `out` are arrays to write into."""
        if not self.compiled:
            return self._interpret(arrays, out)
        n = math.prod(batch)
        overlapping = out is not None and _overlap(arrays, out)
        if threads > 1 and n >= self.sharing_from and not overlapping:
            return self._run_threads(arrays, batch, n, out, threads)
        compiled_ufunc, into = self.ufunc(single=batch == ()), {} if out is None else {"out": out}
        if compiled_ufunc.ufunc is None:
            apart = [x.copy() for x in arrays] if overlapping else arrays
            results = self._run_threads(apart, batch, n, out, 1)
            return results if batch or out is not None else tuple(r[()] for r in results)
        failures = compiled_ufunc.kernel.failures
        with np.errstate(all="ignore"):  # branches that are not taken, and samples that are NaN, are no news
            results = compiled_ufunc.ufunc(*arrays, order="C", **into)
        raise_error()
        compiled_ufunc.kernel.check_memory(failures)
        return results if isinstance(results, tuple) else (results,)

    def _interpret(self, arrays: list[np.ndarray], out: tuple[Any, ...] | None) -> tuple[Any, ...]:
        names = [x.name for x in self.program.inputs]
        found = interpret(self.program, dict(zip(names, arrays, strict=True)))
        results = [found[y.name] for y in self.program.outputs]
        if out is None:
            return tuple(r[()] for r in results)
        for target, result in zip(out, results, strict=True):
            target[...] = result
        return out

    def _run_threads(
        self, arrays: list[np.ndarray], batch: tuple[int, ...], n: int, out: tuple[Any, ...] | None, threads: int
    ) -> tuple[Any, ...]:
        flat = [self._rows(array, x.shape, batch, n) for array, x in zip(arrays, self.program.inputs, strict=True)]
        results = out or tuple(np.empty((*batch, *y.shape)) for y in self.program.outputs)
        whole = [r if r.flags.carray else np.empty(r.shape) for r in results]
        rows = [self._rows(w, y.shape, batch, n) for w, y in zip(whole, self.program.outputs, strict=True)]
        kernel = self.ufunc(single=batch == ()).kernel
        failures = kernel.failures
        run_shared(kernel, flat + rows, n, threads, n >= WORTH_WAKING * self.sharing_from)
        raise_error()
        kernel.check_memory(failures)
        for result, written in zip(results, whole, strict=True):
            if result is not written:
                result[...] = written
        return results

    @staticmethod
    def _rows(array: np.ndarray, core: tuple[int, ...], batch: tuple[int, ...], n: int) -> np.ndarray:
        """An aligned array with one batch axis, or none if it is the same for every sample."""
        if array.ndim > len(core):
            wanted = (*batch, *core)
            array = array if array.shape == wanted else np.broadcast_to(array, wanted)
            array = array if len(batch) == 1 else array.reshape(n, *core)
        return array if array.flags.aligned else np.require(array, requirements="A")


DERIVATIVES: dict[str, Callable[[Recording], Any]] = {}  # by kind, of any recording: `derivatives` fills this in


def at_least_one(owner: str, name: str, value: Any) -> int:
    """A number of threads or steps, of any type that stands for a whole number."""
    try:
        count = operator.index(value)
    except TypeError:
        count = 0
    if count < 1:
        raise ArgumentError(f"{owner}: {name} must be a whole number of at least 1, got {value!r}")
    return count


class FunctionState:
    """The state of a function, apart from the machine code of its calls: a recording, and its kernels."""

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self.name, self.results = recording.name, recording.results
        self._derivatives: dict[str, Any] = {}
        self._turn = Turn()
        self._armed: set[tuple[tuple[str, ...], bool]] = set()
        self._variants: dict[tuple[str, ...], Variant] = {}
        names, required = recording.names, recording.required_names
        fast = callables.is_supported() and backend() == "llvm"
        self.environment = callables.Environment(names, required) if fast else None
        self._environments = {} if self.environment is None else {required: self.environment}
        self._direct: Callable[..., Any] = callables.decline if self.environment is None else self.environment.direct()

    @property
    def arguments(self) -> tuple[Argument, ...]:
        """The arguments."""
        return self.recording.arguments

    @cached_property
    def _explain(self) -> Explainer | None:
        """Says why results are NaN, where that may be because of coordinates."""
        recording = self.recording
        configurations = [a.name for a in self.arguments if a.is_configuration]
        return Explainer(recording, configurations) if configurations else None

    def derivative(self, kind: str) -> Any:
        """A derivative of this function, made when it is first asked for."""
        if kind not in self._derivatives:
            import_late(f"{__package__}.derivatives")  # when first needed: not all who compute differentiate
            with self._turn.take():
                if kind not in self._derivatives:
                    self._derivatives.setdefault(kind, DERIVATIVES[kind](self.recording))
        return self._derivatives[kind]

    def program(self, present: tuple[str, ...]) -> Program:
        """The program for the named arguments."""
        return self.recording.program(present)

    def variant(self, present: tuple[str, ...]) -> Variant:
        """The program for the named arguments, ready to run."""
        variant = self._variants.get(present)
        if variant is None:
            program = self.program(present)
            watch = {} if self._explain is None else self._explain.watch
            variant = self._variants.setdefault(present, Variant(program, watch))
        return variant

    def call(self, *args: Any, out: Any = None, threads: int | None = None, **named: Any) -> Any:
        """Any call that is not served by the machine code."""
        if out is None and threads is None and not named and self._armed:
            found = self._call_with_arrays(args)
            if found is not NotImplemented:
                return found
        values = bind(self.name, self.arguments, args, named)
        present = tuple(values)
        arguments = [a for a in self.arguments if a.name in values]
        if any(is_lazy(x) for x in values.values()):
            return self._lazy(present, list(values.values()), out)
        arrays = [to_array(self.name, a, values[a.name]) for a in arguments]
        batch = batch_shape(self.name, arguments, arrays)
        allowed = self._threads(threads)
        targets = None if out is None else self._targets(out, batch, present)
        if targets is not None and self._explain is not None:  # which is to see the arguments, not what is over them
            arrays = [x.copy() if _overlap([x], targets) else x for x in arrays]
        variant = self.variant(present)
        results = variant.run(arrays, batch, targets, allowed)
        self._arm(variant, present, single=batch == ())
        undefined = _not_finite if self.recording.inverts_mass else np.isnan
        if self._explain is not None and any(undefined(x).any() for x in results):
            lost = _nan_mask(arguments, arrays, variant.program.outputs, results, batch, undefined)
            self._explain(dict(zip(present, arrays, strict=True)), lost)
            results = tuple(_fill_nan(x, lost) for x in results)
        return results[0] if len(results) == 1 else tuple(results)

    def evaluate(self, *args: Any) -> Any:
        """The results for all required arguments, with NaN where there are none, without a word."""
        names = self.recording.required_names
        arguments = [a for a in self.arguments if a.name in names]
        arrays = [to_array(self.name, a, x) for a, x in zip(arguments, args, strict=True)]
        results = self.variant(tuple(names)).run(arrays, batch_shape(self.name, arguments, arrays), None, 1)
        return results[0] if len(results) == 1 else tuple(results)

    def _call_with_arrays(self, args: tuple[Any, ...]) -> Any:
        """The results of machine code for arguments as arrays; NotImplemented if it does not take these."""
        arrays, changed = [], False
        for value in args:
            array = quick_array(value)
            if array is None:
                return NotImplemented
            changed = changed or array is not value
            arrays.append(array)
        return self._direct(*arrays) if changed else NotImplemented  # which it has seen

    def _arm(self, variant: Variant, present: tuple[str, ...], single: bool) -> None:
        """Let the machine code serve the next call of this kind."""
        if self.environment is None or not variant.compiled or (present, single) in self._armed:
            return
        kernel = variant.ufunc(single).kernel
        watched = 0 if self._explain is None else 2 if self._explain.watches_batches else 1
        with self._turn.take():
            if (present, single) in self._armed:
                return
            self.environment.watch(watched)
            if present not in self._environments:
                self._environments[present] = self.environment.add_variant(present)
            self._armed.add((present, single))
            self._environments[present].arm(kernel, single, variant.sharing_from)

    def _threads(self, asked: int | None) -> int:
        return default_threads() if asked is None else at_least_one(self.name, "threads", asked)

    def _targets(self, out: Any, batch: tuple[int, ...], present: tuple[str, ...]) -> tuple[Any, ...]:
        outputs = self.program(present).outputs
        targets = out if isinstance(out, tuple) else (out,)
        if len(targets) != len(outputs):
            wanted = f"{len(outputs)} arrays ({', '.join(self.results)})"
            raise ArgumentError(f"{self.name}: out must be {wanted}, got {len(targets)}")
        for target, y in zip(targets, outputs, strict=True):
            check_target(f"{self.name}: out ({y.name})", target, (*batch, *y.shape))
        return targets

    def _lazy(self, present: tuple[str, ...], values: list[Any], out: Any) -> Any:
        """Dask arrays: the call becomes part of their graph."""
        from ..chunks.apply import Result, apply  # which few need

        if out is not None:
            raise ArgumentError(f"{self.name}: out= cannot be used with dask arrays")
        program = self.program(present)
        arguments = [a for a in self.arguments if a.name in present]
        results = [Result(y.name, y.shape) for y in program.outputs]
        found = apply(self.name, _Chunk(self.call, self.recording.rebuild), dict(zip(present, values, strict=True)),
                      arguments, results, local=True)  # fmt: skip
        return found[0] if len(found) == 1 else found


def _not_finite(x: Any) -> np.ndarray:
    return ~np.isfinite(x)


def _nan_mask(
    arguments: Sequence[Argument],
    arrays: Sequence[np.ndarray],
    outputs: Sequence[Output],
    results: Sequence[Any],
    batch: tuple[int, ...],
    undefined: Callable[[Any], np.ndarray],
) -> np.ndarray:
    """A mask (...) of the samples that have `undefined` entries in a result although all their arguments are finite."""
    lost = np.zeros(batch, bool)
    for y, result in zip(outputs, results, strict=True):
        lost = lost | np.any(undefined(result), axis=_core(y.shape))
    for argument, x in zip(arguments, arrays, strict=True):
        lost = lost & np.all(np.isfinite(x), axis=_core(argument.shape))
    return lost


def _fill_nan(result: Any, lost: np.ndarray) -> Any:
    """A result with NaN in all entries of the samples `lost` (...): what is left of them is no answer either."""
    if np.ndim(result):
        result[lost] = np.nan
        return result
    return np.float64(np.nan) if lost else result


def _core(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The last axes, as many as a core shape has."""
    return tuple(range(-len(shape), 0))


class _Chunk:
    """A function of arrays by name that may be sent to another process, where it is made anew."""

    def __init__(self, call: Callable[..., Any], rebuild: tuple[Any, ...]) -> None:
        self.call, self.rebuild = call, rebuild

    def __call__(self, arrays: Mapping[str, np.ndarray]) -> tuple[Any, ...]:
        found = self.call(**arrays)
        return found if isinstance(found, tuple) else (found,)

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickle_chunk, (self.rebuild,)


def _unpickle_chunk(rebuild: tuple[Any, ...]) -> _Chunk:
    make, *args = rebuild
    return _Chunk(make(*args), rebuild)


class PlainFunction:
    """A function without the machine-code entry: where the interpreter or the backend does not allow it."""

    __slots__ = ("__weakref__", "held")

    def __init__(self, held: tuple[FunctionState, None]) -> None:
        object.__setattr__(self, "held", held)

    __setattr__ = callables.refuse
    __delattr__ = callables.refuse

    def __call__(self, *args: Any, **named: Any) -> Any:
        return self.held[0].call(*args, **named)


def _representation(self: Any) -> str:
    state = self.held[0]
    given = ", ".join(a.declaration for a in state.arguments)
    return f"<fourbar function {state.name}({given}) -> {', '.join(state.results)}>"


def true_signature(
    arguments: Mapping[str, float | None], optional: Sequence[str], options: Sequence[Option] = ()
) -> Signature:
    """The signature of a function: arrays, by name with their defaults; options; arrays that may be left out; more.

    Where there are options, arrays that may be left out go by name.
    """
    from inspect import Parameter, Signature  # which computing does not need

    kind = Parameter.POSITIONAL_OR_KEYWORD
    needed = [Parameter(name, kind, default=Parameter.empty if x is None else x) for name, x in arguments.items()]
    chosen = [Parameter(x.name, kind, default=Parameter.empty if x.required else x.default) for x in options]
    left_out = [Parameter(x, Parameter.KEYWORD_ONLY if options else kind, default=None) for x in optional]
    extra = [Parameter(x, Parameter.KEYWORD_ONLY, default=None) for x in _EXTRA]
    return Signature([*needed, *chosen, *left_out, *extra])


def signature_of(arguments: Sequence[Argument]) -> Signature:
    """The signature of a function without options."""
    required = {a.name: a.default for a in as_signed(arguments) if not a.optional}
    return true_signature(required, [a.name for a in arguments if a.optional])


def _signature(self: Any) -> Signature:
    return signature_of(self.held[0].arguments)


def _name(self: Any, attribute: str) -> str:
    """`__name__` and `__qualname__`, of which a type would take none but its own."""
    if attribute in ("__name__", "__qualname__"):
        return self.held[0].name
    raise AttributeError(f"a fourbar function has no attribute {attribute!r}")


def _reduce(self: Any) -> tuple[Any, ...]:
    make, *args = self.held[0].recording.rebuild
    return make, tuple(args)


def _program(self: Any, *optional: str) -> Program:
    """The program of this function, with the named optional arguments."""
    state = self.held[0]
    known = [a.name for a in state.arguments if a.optional]
    for name in optional:
        if name not in known:
            raise unknown(f"optional argument of {state.name}", name, known)
    return state.program(tuple(a.name for a in state.arguments if not a.optional or a.name in optional))


_METHODS: dict[str, Any] = {
    "__repr__": _representation,
    "__reduce__": _reduce,
    "program": _program,
    "state": property(lambda self: self.held),
    "signature": property(lambda self: signature(_program(self))),
    "help": property(lambda self: self.held[0].recording.doc),
    "__doc__": property(lambda self: self.held[0].recording.doc),
    "__signature__": property(_signature),
    "__getattr__": _name,
    "jvp": property(lambda self: self.held[0].derivative("jvp")),
    "vjp": property(lambda self: self.held[0].derivative("vjp")),
    "jacobian": property(lambda self: self.held[0].derivative("jacobian")),
}


def _with_methods(kind: type) -> type:
    for name, method in _METHODS.items():
        setattr(kind, name, method)
    return kind


_with_methods(PlainFunction)


@once
def _function_type() -> type:
    """The type of functions that run machine code when called, with the attributes that all functions have."""
    return _with_methods(callables.callable_type("Function"))


def make_method(model: Model, name: str, method: Method, static: Static, rebuild: tuple[Any, ...] = ()) -> Any:
    """The function of a method of a model for one choice of options, which `static` reads.

    `rebuild` makes it anew in other processes.
    """
    return make(MethodRecording(model, name, method, static, rebuild))


def make(recording: Recording) -> Any:
    """The callable that a user holds."""
    state = FunctionState(recording)
    if state.environment is None:
        return PlainFunction((state, None))
    _function_type()
    return state.environment.callable(state, "Function", state.call)
