"""Operations (`operations.py`) as operators that PyTorch knows: on the CPU, traced, batched, differentiated.

An operator takes tensors whose leading axes broadcast, as the NumPy functions do. On the CPU it is such a function, on
the memory of the tensors. Its derivatives are operators again. They are written for PyTorch's dispatcher itself
(`torch.library.Library`) rather than with `torch.library.custom_op`, which takes twice the time of a call, and which
`torch.func` does not differentiate.
"""

from __future__ import annotations

import hashlib
import re
import sys
from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np

from ..arrays import wrong_core
from ..compile.kernel import digest
from ..compile.llvm import single_lane
from ..compile.vectorcall_tensors import TensorReader, interface
from ..errors import ArgumentError, require_library
from ..functions.function import make
from ..once import Turn, cached_property, once
from .operations import Operation, UnfitLibrary

torch = require_library("torch", "torch", "a function in PyTorch")

_NAMESPACE = "fourbar"
_INSIDE = (
    "_are_functorch_transforms_active", "_any_requires_grad", "_len_torch_dispatch_stack", "_is_tracing",
)  # fmt: skip


def _parts() -> tuple[Any, ...]:
    """The parts of PyTorch's inside that are used."""
    try:
        inside = torch._C
        below, after = inside._AutoDispatchBelowAutograd, inside._after_autograd_keyset
        duals, functions = torch.autograd.forward_ad, torch.autograd.function
        single = require_library("torch._functorch.autograd_function", "torch").enable_single_level_autograd_function
        used = (
            *((inside, name) for name in _INSIDE), (torch.library, "register_vmap"), (torch._VF, "_unpack_dual"),
            (torch._VF, "_make_dual"), (duals, "_current_level"), (duals, "_set_fwd_grad_enabled"),
        )  # fmt: skip
        for home, name in used:
            getattr(home, name)
        return inside, below, after, duals, functions._SingleLevelFunction, single
    except (ImportError, AttributeError) as error:
        raise UnfitLibrary(
            f"torch {torch.__version__} does not fit fourbar.torch: {error}. It needs torch>=2.13", name="torch"
        ) from error


_C, _BelowAutograd, _AFTER, duals, _Function, _single_level = _parts()
_Tensor, _float64, _FLOAT = torch.Tensor, torch.float64, np.dtype(float)
_grad_enabled, _any_requires_grad, _transformed = (
    torch.is_grad_enabled, _C._any_requires_grad, _C._are_functorch_transforms_active
)  # fmt: skip
_dispatch_modes, _tracing = _C._len_torch_dispatch_stack, _C._is_tracing
_PLAIN = frozenset((_Tensor, torch.nn.Parameter))  # classes of tensors that are nothing else
_library = torch.library.Library(_NAMESPACE, "FRAGMENT")


class _NotMemory(Exception):
    """A tensor that NumPy cannot read in place: a wrapper, on another device, or of another dtype."""


def _arrays(args: Sequence[Any]) -> list[np.ndarray]:
    """Tensors as NumPy arrays on their memory, while no gradients are recorded."""
    arrays = []
    for x in args:
        try:
            array = x.numpy()
        except (RuntimeError, TypeError):
            raise _NotMemory from None
        if array.dtype is not _FLOAT:
            raise _NotMemory
        arrays.append(array)
    return arrays


class Operator:
    """An operation that PyTorch knows. It stays known until the process ends, since compiled graphs refer to it.

    `call` is the NumPy function, if there is one already.
    """

    def __init__(self, name: str, of: Operation, call: Callable[..., Any]) -> None:
        self.of, self.name, self._call = of, name, call
        self.outputs: tuple[tuple[int, ...], ...] = tuple(y.shape for y in of.program.outputs)
        self._forward: dict[tuple[int, ...], Operator] = {}
        self.to_tensors, self.on_tensors = self._to_tensors(), _on_tensors(call)
        self._register()

    def _register(self) -> None:
        schema = ", ".join(f"Tensor x{i}" for i in range(len(self.of.present)))
        given = ", ".join(["Tensor"] * len(self.outputs))
        result = given if len(self.outputs) == 1 else f"({given})"
        _library.define(f"{self.name}({schema}) -> {result}", tags=(torch.Tag.pt2_compliant_tag,))
        qualified = f"{_NAMESPACE}::{self.name}"
        _library.impl(self.name, self.on_cpu, "CPU")
        torch.library.register_fake(qualified, self._trace_shapes, lib=_library)
        torch.library.register_vmap(qualified, self._vmap, lib=_library)
        _library.impl(self.name, self._differentiate, "Autograd", with_keyset=True)
        self.overload = getattr(getattr(torch.ops, _NAMESPACE), self.name).default

    def _record(self, args: Sequence[Any]) -> Any:
        """A call on tensors of which some want gradients, or are of another class."""
        for x in args:
            if x.__class__ not in _PLAIN:
                return None
        try:
            if _grad_enabled() and _any_requires_grad(*args):
                return _Recorded.apply(self, None, *args)
            with torch.no_grad():
                return self.on_memory(args)
        except _NotMemory:
            return None

    def direct(self, args: Sequence[Any]) -> Any:
        """The result or a tuple of results, without PyTorch's dispatcher; None where others are to see the call."""
        found = self.on_tensors(*args) if duals._current_level < 0 else None
        if found is not None:
            return found if found.__class__ is _Tensor else self.to_tensors(found)
        return self.through_numpy(args)

    def through_numpy(self, args: Sequence[Any]) -> Any:
        """`direct`, for calls that its machine code does not serve."""
        if duals._current_level >= 0 or _transformed() or _dispatch_modes() or _tracing():
            return None
        for x in args:
            if x.__class__ is not _Tensor or x.requires_grad:
                return self._record(args)
        return self._on_plain(args)

    def _on_plain(self, args: Sequence[Any]) -> Any:
        """The call on plain tensors that need no gradients; None if their memory cannot be used directly."""
        try:
            return self.on_memory(args)
        except _NotMemory:
            return None

    def __call__(self, *args: Any) -> tuple[Any, ...]:
        """The results, always a tuple."""
        found = self.direct(args)
        if found is None:
            found = self.overload(*args)
        return (found,) if len(self.outputs) == 1 else tuple(found)

    def on_cpu(self, *args: Any) -> Any:
        """The operator on memory: arguments are not copied, and neither are results."""
        return self._on_arrays([x.numpy() for x in args])

    def on_memory(self, args: Sequence[Any]) -> Any:
        """`on_cpu` where arguments may not be such memory, in which case it raises an exception."""
        return self._on_arrays(_arrays(args))

    def _on_arrays(self, arrays: list[np.ndarray]) -> Any:
        return self.to_tensors(self._call(*arrays))

    def _to_tensors(self) -> Callable[[Any], Any]:
        """From what the NumPy function returns to tensors."""
        tensor = torch.from_numpy

        def one_number(found: Any) -> Any:  # of one sample it is no array
            return tensor(found) if type(found) is np.ndarray else torch.tensor(found, dtype=_float64)

        (first, *others) = self.outputs
        if others:
            return lambda found: tuple([tensor(np.asarray(y)) for y in found])
        return one_number if first == () else tensor

    def _trace_shapes(self, *args: Any) -> Any:
        """Shapes of results, from those of arguments. Whoever asks may also want the gradient."""
        name = self.of.recording.name
        for x, a in zip(args, self.of.arguments, strict=True):
            core = len(a.shape)
            if x.ndim < core or tuple(x.shape[x.ndim - core :]) != a.shape:
                raise wrong_core(name, a, tuple(x.shape))
        leading = self.leading(args)
        if any(x.requires_grad for x in args):
            _ = self.backward  # a compiled graph that another process has kept may refer to it
        results = [args[0].new_empty((*leading, *shape)) for shape in self.outputs]
        return results[0] if len(results) == 1 else tuple(results)

    def leading(self, args: Sequence[Any]) -> tuple[Any, ...]:
        """The axes before those of one sample, of all arguments together; their sizes may be symbols."""
        shapes = [x.shape[: x.ndim - len(a.shape)] for x, a in zip(args, self.of.arguments, strict=True)]
        try:
            return tuple(torch.broadcast_shapes(*shapes))
        except RuntimeError:
            shown = ", ".join(f"{a.name} {tuple(s)}" for a, s in zip(self.of.arguments, shapes, strict=True))
            what = f"{self.of.recording.name}: the leading (batch) axes do not broadcast together: {shown}"
            raise ArgumentError(what) from None

    def _vmap(self, info: Any, axes: Sequence[int | None], *args: Any) -> tuple[Any, Any]:
        """The rule of `vmap`: one more leading axis, before those that an argument has."""
        arguments = self.of.arguments
        leading_axes = [
            x.ndim - len(a.shape) - (axis is not None) for x, a, axis in zip(args, arguments, axes, strict=True)
        ]
        most = max(leading_axes)
        batched = []
        for argument, axis, n in zip(args, axes, leading_axes, strict=True):
            if axis is not None:
                argument = argument.movedim(axis, 0)
                argument = (
                    argument.reshape(argument.shape[0], *[1] * (most - n), *argument.shape[1:])
                    if most > n
                    else argument
                )
            batched.append(argument)
        return self.overload(*batched), 0 if len(self.outputs) == 1 else (0,) * len(self.outputs)

    def _differentiate(self, keys: Any, *args: Any) -> Any:
        """The operator where tensors may have gradients or tangents."""
        nested = _transformed()
        if nested:
            pairs = [torch._VF._unpack_dual(x, level=0) for x in args]
            if any(tangent is not None for _, tangent in pairs):
                return self._dual(*zip(*pairs, strict=True))
        if nested or duals._current_level >= 0 or (_grad_enabled() and _any_requires_grad(*args)):
            with _single_level():
                return _Recorded.apply(self, keys, *args)
        with _BelowAutograd():
            return self.overload.redispatch(keys & _AFTER, *args)

    def _dual(self, primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
        """Results with tangents, within `torch.func.jvp`, which may be within another one.

        The derivative that a `torch.autograd.Function` has for this is not differentiated forwards again.
        """
        results = self(*primals)
        rates = self.push(primals, tangents, [y.shape for y in results])
        duals_of_results = [
            torch._VF._make_dual(y, rate + torch.zeros_like(y), level=0)  # both are to be batched where one is
            for y, rate in zip(results, rates, strict=True)
        ]
        return duals_of_results[0] if len(duals_of_results) == 1 else tuple(duals_of_results)

    @cached_property
    def backward(self) -> Operator:
        """The gradients by all arguments along the configuration space, from these and weights of the results."""
        return operator(self.of.backward)

    def forward(self, moving: tuple[int, ...]) -> Operator:
        """The rates of the results, from all arguments and tangents of those at the places `moving`."""
        if moving not in self._forward:
            self._forward.setdefault(moving, operator(self.of.forward(moving)))
        return self._forward[moving]

    def pull(self, args: Sequence[Any], weights: Sequence[Any], wanted: Sequence[bool]) -> list[Any]:
        """The gradients by the entries of those arguments that are wanted; None for others."""
        gradients = self.backward(*args, *weights)
        wanted_gradients: list[Any] = [None] * len(args)
        for i, (argument, gradient) in enumerate(zip(args, gradients, strict=True)):
            if wanted[i]:
                if self.of.project(i) is not None:
                    (gradient,) = operator(self.of.projection.up)(argument, gradient)
                wanted_gradients[i] = (
                    gradient if gradient.shape == argument.shape else gradient.sum_to_size(argument.shape)
                )
        return wanted_gradients

    def push(self, primals: Sequence[Any], tangents: Sequence[Any], shapes: Sequence[Any]) -> list[Any]:
        """The rates of results of some shapes, along tangents by entries; those that are None do not move."""
        of = self.of
        moving = tuple(i for i, tangent in enumerate(tangents) if tangent is not None)
        if set(moving) <= set(of.linear):
            still = len(primals) - len(of.linear)
            less = of.along(moving)
            if less is None:
                given = [torch.zeros_like(x) if t is None else t for x, t in zip(primals, tangents, strict=True)]
                found = self(*primals[:still], *given[still:])
            else:
                found = operator(less)(*primals[:still], *(tangents[i] for i in moving))
            return [rate.expand(shape) for rate, shape in zip(found, shapes, strict=True)]
        rates = []
        for i in moving:
            project = of.project(i)
            rates.append(tangents[i] if project is None else operator(project)(primals[i], tangents[i])[0])
        return list(self.forward(moving)(*primals, *rates))


class _Recorded(_Function):
    """An operator in the graph of autograd; without `keys` of the dispatcher nobody else is to see it.

    With them, transformations of `torch.func` that are outside still do.
    """

    @staticmethod
    def forward(ctx: Any, of: Operator, keys: Any, *args: Any) -> Any:
        ctx.operator = of
        ctx.save_for_backward(*args)
        if keys is None:
            return of.on_memory(args)
        ctx.save_for_forward(*args)
        if not _transformed():
            with _BelowAutograd():
                return of.overload.redispatch(keys & _AFTER, *args)
        with _BelowAutograd(), torch.enable_grad(), duals._set_fwd_grad_enabled(True):  # for those outside
            return of.overload.redispatch(keys & _AFTER, *args)

    @staticmethod
    def backward(ctx: Any, *weights: Any) -> Any:
        return None, None, *ctx.operator.pull(ctx.saved_tensors, weights, ctx.needs_input_grad[2:])

    @staticmethod
    def jvp(ctx: Any, of: Any, keys: Any, *tangents: Any) -> Any:
        primals = ctx.saved_tensors
        leading = ctx.operator.leading(primals)
        shapes = [(*leading, *shape) for shape in ctx.operator.outputs]
        found = ctx.operator.push(primals, tangents, shapes)
        return found[0] if len(found) == 1 else tuple(found)


def _name(of: Operation) -> str:
    """PyTorch's name for an operation. It says what is computed, and how that is differentiated.

    It is the same in every process, so that PyTorch can keep graphs on disk. Robots that differ in their loops only may
    have the same program: where a configuration can go is then all that distinguishes their gradients.
    """
    programs = [of.program]
    curved = [i for i in range(len(of.arguments)) if of.project(i) is not None]
    if curved:
        programs.append(of.projection.up.program)
    identity = hashlib.sha256(repr(curved).encode())
    for program in programs:
        identity.update(digest(program, single_lane(), {}))
    words = re.sub(r"\W", "_", of.program.name)
    return f"{words}_{identity.hexdigest()[:32]}"


class _Operators:
    """The operators that PyTorch knows, by operation and by name."""

    def __init__(self) -> None:
        self._by_name: dict[str, Operator] = {}
        self._by_operation: dict[Operation, Operator] = {}
        self._turn = Turn()

    def get(self, of: Operation, call: Callable[..., Any] | None) -> Operator:
        """The operator of an operation, which is made known if need be."""
        known = self._by_operation.get(of)
        if known is None:
            name = _name(of)
            with self._turn.take():
                known = self._by_name.get(name)
                if known is None:
                    known = self._by_name[name] = Operator(name, of, numpy_function(of) if call is None else call)
                self._by_operation[of] = known
        return known


_known = _Operators()


def operator(of: Operation, call: Callable[..., Any] | None = None) -> Operator:
    """An operation as PyTorch knows it; `call` is the NumPy function, if there is one already."""
    return _known.get(of, call)


def numpy_function(of: Operation) -> Callable[..., Any]:
    """The NumPy function of an operation, which takes its arguments by place."""
    return by_place(make(of.recording), of)


def nothing(*args: Any) -> None:
    """The function of machine code that there is none of."""


@once
def _reader() -> TensorReader | None:
    """How machine code reads tensors, while nobody but autograd could see a call, and that has nothing to record."""
    if 0 in interface(_Tensor):
        return None
    before = _transformed, _dispatch_modes, _tracing
    about_each = (_Tensor.is_neg,)  # since DLPack says nothing of negated views
    return TensorReader(_Tensor, before, "requires_grad", about_each)


def _on_tensors(call: Callable[..., Any]) -> Callable[..., Any]:
    """A NumPy function on the memory of tensors: its result, or None where its machine code does not serve a call."""
    environment = cast(Any, call).state[0].environment if hasattr(type(call), "state") else None
    reader = None if environment is None else _reader()
    return nothing if environment is None or reader is None else environment.on_tensors(reader)


def by_place(function: Callable[..., Any], of: Operation) -> Callable[..., Any]:
    """A function that may be given other arguments too, for those that an operation has."""
    names, present = tuple(a.name for a in of.recording.arguments), tuple(map(sys.intern, of.present))
    if present == names[: len(present)]:
        return function
    return lambda *args: function(**dict(zip(present, args, strict=True)))
