"""Functions of a robot as JAX functions on the CPU: XLA calls the same machine code, and JAX its derivatives.

Needs the extra `jax`, and float64 (`jax.config.update("jax_enable_x64", True)`). They go through `jit`, `vmap`, `grad`,
`jvp`, `jacfwd`, `jacrev`, `hessian` and `lax.scan`. The tangent of a configuration has an entry for each coordinate, as
JAX will have it; a function is differentiated as if it were constant off the configuration space (`operations.py`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib import import_module
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from ..arrays import Argument, batch_shape, bind, named_rows, refuse_lazy, wrong_core
from ..compile.kernel import Kernel, digest
from ..compile.llvm import batch_lanes, single_lane
from ..errors import ArgumentError, require_library
from ..expr import Program
from ..functions.attributes import OptionedMethod
from ..functions.function import sharing_from
from ..functions.recording import Recording
from ..once import Turn
from .operations import Functions, Operation, UnfitLibrary, WrappedMethod, recording_of, signature
from .xla_handler import MAJOR, Handler

jax = require_library("jax", "jax")

_FLOAT = np.dtype(float)
_SMALLEST_MINOR = 1  # of version 0.x of the interface: XLA takes none below
_USED = {
    "ffi": ("ffi_lowering", "pycapsule", "register_ffi_target", "include_dir"),
    "extend.core": ("Primitive",),
    "interpreters.ad": ("Zero", "is_undefined_primal", "instantiate_zeros", "primitive_jvps", "primitive_transposes"),
    "interpreters.batching": ("primitive_batchers",),
    "interpreters.mlir": ("register_lowering",),
    "interpreters.xla": ("apply_primitive",),
}


def _unfit(why: str) -> UnfitLibrary:
    there = f"jax {jax.__version__} does not fit fourbar.jax"
    return UnfitLibrary(
        f"{there}: {why}. It needs jax>=0.5 with version {MAJOR}.x of XLA's typed FFI: pip install -U jax", name="jax"
    )


def _parts() -> tuple[Any, ...]:
    """The modules of JAX that are used, and the names used of each."""
    try:
        modules = tuple(import_module(f"jax.{name}") for name in _USED)
    except ImportError as error:
        raise _unfit(f"it has no {error.name or 'such module'} ({error})") from error
    for module, names in zip(modules, _USED.values(), strict=True):
        for name in names:
            if not hasattr(module, name):
                raise _unfit(f"it has no {module.__name__}.{name}")
    return modules


def interface_version(header: str) -> int:
    """The minor version of XLA's C interface, from the header that jaxlib comes with; another major one is refused."""
    version = dict(re.findall(r"#define\s+XLA_FFI_API_(MAJOR|MINOR)\s+(\d+)", header))
    if set(version) != {"MAJOR", "MINOR"}:
        raise _unfit("the header of its foreign function interface names no version")
    if int(version["MAJOR"]) != MAJOR or int(version["MINOR"]) < _SMALLEST_MINOR:
        raise _unfit(f"its typed FFI has version {version['MAJOR']}.{version['MINOR']}")
    return int(version["MINOR"])


def _read_header(folder: str) -> str:
    try:
        return (Path(folder) / "xla" / "ffi" / "api" / "c_api.h").read_text(encoding="utf-8")
    except OSError as error:
        raise _unfit(f"the header of its foreign function interface cannot be read ({error})") from error


ffi, _core, ad, batching, mlir, xla = _parts()
_MINOR = interface_version(_read_header(ffi.include_dir()))


class XlaHandlers:
    """Handlers that XLA knows, by name. They stay until the process ends, since compiled functions refer to them."""

    def __init__(self) -> None:
        self._known: dict[str, Handler] = {}
        self._turn = Turn()

    def name(self, program: Program, single: bool) -> str:
        """XLA's name for the handler of a program, which is registered if need be: for one sample or for batches.

        It says what is computed, and is the same in every process, so that JAX can keep compiled functions on disk.
        """
        lanes = single_lane() if single else batch_lanes()
        name = f"fourbar_{program.name}_{digest(program, lanes, {}).hex()[:32]}"
        with self._turn.take():
            if name not in self._known:
                handler = Handler(Kernel(program, lanes, pauses=False), _MINOR, sharing_from(program))
                register(name, handler.address)
                self._known[name] = handler
        return name


def register(name: str, address: int) -> None:
    """Make a handler known to XLA, which asks it for its version."""
    try:
        ffi.register_ffi_target(name, ffi.pycapsule(_pointer(address)), platform="cpu")
    except Exception as error:  # whatever XLA says of a handler that it does not take
        raise _unfit(f"it refuses a function of fourbar ({error})") from error


def _pointer(address: int) -> Any:
    import ctypes

    return ctypes.cast(address, ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p))


_handlers = XlaHandlers()
call_p = _core.Primitive("fourbar")  # parameter: op, an Operation
call_p.multiple_results = True


def _leading(op: Operation, shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """The axes before those of one sample: an argument has all of them, or none."""
    found = [shape[: len(shape) - len(a.shape)] for shape, a in zip(shapes, op.arguments, strict=True)]
    return max(found, key=len, default=())


def call(op: Operation, args: Sequence[Any]) -> list[Any]:
    """An operation on arrays; each has all leading axes or none."""
    return call_p.bind(*args, op=op)


def _abstract(*args: Any, op: Operation) -> list[Any]:
    leading = _leading(op, [x.shape for x in args])
    return [jax.core.ShapedArray((*leading, *y.shape), np.dtype(float)) for y in op.program.outputs]


def _lower(ctx: Any, *args: Any, op: Operation) -> Any:
    leading = _leading(op, [x.shape for x in ctx.avals_in])
    if not all(isinstance(n, int) for n in leading):
        raise NotImplementedError(
            f"fourbar.jax: {op.recording.name} needs arrays of known shape; {leading} has symbols (jax.export)"
        )
    if ctx.module_context.lowering_parameters.for_export:
        raise NotImplementedError(
            f"fourbar.jax: {op.recording.name} is machine code of this process, to which a file of jax.export could "
            "only refer. Pickle the function of fourbar.jax instead, and compile it where it is needed; or write C "
            "source with fb.export_c"
        )
    return ffi.ffi_lowering(_handlers.name(op.program, prod(leading) == 1))(ctx, *args)


def _refused_device(ctx: Any, *args: Any, op: Operation) -> Any:
    raise NotImplementedError(
        f"fourbar.jax: {op.recording.name} is machine code for the CPU; this device is "
        f"{', '.join(ctx.module_context.platforms)}. Run it under jax.default_device(jax.devices('cpu')[0])"
    )


def _jvp(primals: Sequence[Any], tangents: Sequence[Any], *, op: Operation) -> tuple[Any, Any]:
    """The rule of forward differentiation."""
    results = call(op, primals)
    moving = tuple(i for i, t in enumerate(tangents) if type(t) is not ad.Zero)
    if not moving:
        return results, [ad.Zero.from_primal_value(y) for y in results]
    if set(moving) <= set(op.linear):
        less = op.along(moving)
        still = len(primals) - len(op.linear)
        if less is None:
            rates_of_results = call(op, [*primals[:still], *map(ad.instantiate_zeros, tangents[still:])])
        else:
            rates_of_results = call(less, [*primals[:still], *(tangents[i] for i in moving)])
        return results, [jax.numpy.broadcast_to(x, y.shape) for x, y in zip(rates_of_results, results, strict=True)]
    rates = []
    for i in moving:
        project = op.project(i)
        rates.append(tangents[i] if project is None else call(project, [primals[i], tangents[i]])[0])
    return results, call(op.forward(moving), [*primals, *rates])


def _transpose(weights: Sequence[Any], *args: Any, op: Operation) -> list[Any]:
    """The rule of transposition: operations are linear in some of their last arguments."""
    unknown = [i for i, x in enumerate(args) if ad.is_undefined_primal(x)]
    gradients: list[Any] = [None] * len(args)
    weighted = tuple(k for k, w in enumerate(weights) if type(w) is not ad.Zero)
    if not weighted:
        for i in unknown:
            gradients[i] = ad.Zero(args[i].aval)
        return gradients
    if tuple(unknown) != op.linear:
        raise NotImplementedError(
            f"fourbar.jax: {op.recording.name} is transposed by arguments in which it is not linear"
        )
    other, of, picked = op.transpose(weighted)
    known = args[: len(args) - len(unknown)]
    results = call(other, [*known, *(ad.instantiate_zeros(weights[k]) for k in of)])
    for i, pick in zip(unknown, picked, strict=True):
        extra = results[pick].ndim - len(args[i].aval.shape)  # the argument is the same for all samples of these axes
        gradients[i] = results[pick].sum(axis=tuple(range(extra))) if extra else results[pick]
    return gradients


def _vmap(args: Sequence[Any], axes: Sequence[Any], *, op: Operation) -> tuple[Any, Any]:
    """The rule of `vmap`: one more leading axis."""
    size = next(x.shape[axis] for x, axis in zip(args, axes, strict=True) if axis is not None)
    apart = [x if axis is None else jax.numpy.moveaxis(x, axis, 0) for x, axis in zip(args, axes, strict=True)]
    shapes = [np.shape(x)[axis is not None :] for x, axis in zip(apart, axes, strict=True)]  # some are plain numbers
    leading = _leading(op, shapes)
    batched = []
    for argument, axis, shape, a in zip(apart, axes, shapes, op.arguments, strict=True):
        whole = (size, *leading, *a.shape)
        if axis is None and shape == a.shape:
            batched.append(argument)  # the same for all
        elif axis is None:
            batched.append(jax.numpy.broadcast_to(argument, whole))
        else:
            missing = (1,) * (len(whole) - argument.ndim)
            batched.append(jax.numpy.broadcast_to(argument.reshape(size, *missing, *shape), whole))
    results = call(op, batched)
    return results, [0] * len(results)


call_p.def_impl(partial(xla.apply_primitive, call_p))  # compiled, also under jax.disable_jit and jax_debug_nans
call_p.def_abstract_eval(_abstract)
ad.primitive_jvps[call_p] = _jvp
ad.primitive_transposes[call_p] = _transpose
batching.primitive_batchers[call_p] = _vmap
mlir.register_lowering(call_p, _refused_device)
mlir.register_lowering(call_p, _lower, platform="cpu")


class JaxFunction:
    """A function of a robot as JAX traces it. Made by `function`."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._operations: dict[tuple[str, ...], Operation] = {}
        self._jitted = jax.jit(self._call, inline=True)
        self.__name__ = self.__qualname__ = recording.name
        self.__doc__ = recording.doc
        self.__signature__ = signature(recording.arguments)

    def __repr__(self) -> str:
        given = ", ".join(a.declaration for a in self._recording.arguments)
        return f"<fourbar JAX function {self.__name__}({given}) -> {', '.join(self._recording.results)}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickle, self._recording.rebuild

    def __call__(self, *args: Any, **named: Any) -> Any:
        """Compiled where all arguments have values: one call of XLA instead of one for each step on the way."""
        if not named and (_concrete.issuperset(map(type, args)) or all(map(is_concrete, args))):
            return self._jitted(*args)
        return self._call(*args, **named)

    def _call(self, *args: Any, **named: Any) -> Any:
        recording = self._recording
        wrong = [name for name in named if name not in {a.name for a in recording.arguments}]
        if wrong:
            listed = ", ".join(a.name for a in recording.arguments)
            raise TypeError(f"{recording.name} as a JAX function has no argument {wrong[0]!r}; it takes {listed}")
        given = bind(recording.name, recording.arguments, args, named)
        op = self._operation(tuple(given))
        check_precision(recording.name)
        arrays = [array(recording.name, a, x) for a, x in zip(op.arguments, given.values(), strict=True)]
        leading = batch_shape(recording.name, op.arguments, arrays)
        results = call(op, [whole(x, a.shape, leading) for x, a in zip(arrays, op.arguments, strict=True)])
        return results[0] if len(results) == 1 else tuple(results)

    def _operation(self, present: tuple[str, ...]) -> Operation:
        found = self._operations.get(present)
        return self._operations.setdefault(present, Operation(self._recording, present)) if found is None else found


def _unpickle(make: Callable[..., Any], *args: Any) -> JaxFunction:
    return function(make(*args))


_concrete: set[type] = set()  # classes of arrays with values, as far as they were seen: JAX takes long to say so


def is_concrete(x: Any) -> bool:
    """Whether this is an array of JAX with values, which nothing traces; its class is known from then on."""
    found = isinstance(x, jax.Array) and not isinstance(x, jax.core.Tracer)
    if found:
        _concrete.add(type(x))
    return found


def check_precision(name: str) -> None:
    """Refuse to compute while JAX is set to float32."""
    if jax.dtypes.canonicalize_dtype(float) != np.dtype(float):
        raise ArgumentError(
            f"{name}: functions of fourbar compute in float64, and JAX is set to float32; call "
            'jax.config.update("jax_enable_x64", True) before any array is made'
        )


def array(name: str, argument: Argument, value: Any) -> Any:
    """A value as an array of float64 of the right core shape."""
    refuse_lazy(name, **{argument.name: value})
    if isinstance(value, Mapping):
        rows, leading = named_rows(name, argument, value, array)
        stacked = jax.numpy.zeros((*leading, *argument.shape))
        for k, row in rows.items():
            stacked = stacked.at[..., k, :].set(row)
        return stacked
    try:
        read = value if isinstance(value, jax.Array) else jax.numpy.asarray(value)
    except (TypeError, ValueError) as error:
        raise ArgumentError(f"{name}: {argument.name} cannot be read as an array of numbers: {error}") from None
    if read.dtype.kind not in "fiub" and not jax.numpy.issubdtype(read.dtype, np.floating):  # bfloat16 has its own
        raise ArgumentError(f"{name}: {argument.name} must hold real numbers, got an array of dtype {read.dtype}")
    core = len(argument.shape)
    if read.ndim < core or read.shape[read.ndim - core :] != argument.shape:
        raise wrong_core(name, argument, read.shape)
    return read if read.dtype == _FLOAT else read.astype(float)  # not in vain: that takes 12 µs


def whole(x: Any, core: tuple[int, ...], leading: tuple[int, ...]) -> Any:
    """An array with all leading axes, or none."""
    return x if x.shape == core else jax.numpy.broadcast_to(x, (*leading, *core))


def function(of: Any) -> Any:
    """A function of a robot as a JAX function.

    Parameters
    ----------
    of : function
        Such as ``robot.forward_dynamics``, or ``robot.pose``, whose options then go by name.

    Returns
    -------
    JaxFunction
        Takes arrays by place or by name, with any leading axes; optional arguments such as `f_ext` may be left out.
        Where a result does not exist it is NaN, and no error says why.

    Raises
    ------
    ArgumentError
        Where `of` is not a function of a robot, or is a derivative, which JAX is to make.

    Examples
    --------
    >>> import jax, fourbar as fb, fourbar.jax
    >>> jax.config.update("jax_enable_x64", True)
    >>> robot = fb.robots.double_pendulum()
    >>> dynamics = fb.jax.function(robot.forward_dynamics)
    >>> q = v = tau = jax.numpy.zeros(2)
    >>> jax.jit(jax.jacfwd(dynamics))(q, v, tau).shape
    (2, 2)
    """
    if isinstance(of, OptionedMethod):
        return WrappedMethod(of, function, "JAX")
    return JaxFunction(recording_of(of, "fourbar.jax", "JAX", "jax.jvp, jax.grad, jax.jacfwd or jax.jacrev"))


def functions(robot: Any) -> Functions:
    """All functions of a robot as JAX functions: ``functions(robot).forward_dynamics(q, v, tau)``.

    Parameters
    ----------
    robot : System
        A robot, or ``robot.varying("hand.mass")``, whose parameters are arguments.

    Returns
    -------
    Functions
        Has each function under its name.

    Examples
    --------
    >>> import jax, fourbar as fb, fourbar.jax
    >>> jax.config.update("jax_enable_x64", True)
    >>> robot = fb.robots.double_pendulum()
    >>> fb.jax.functions(robot).mass_matrix(jax.numpy.zeros((5, 2))).shape
    (5, 2, 2)
    """
    return Functions(robot, function, "JAX")
