"""Functions of a robot as PyTorch functions on the CPU: the machine code of the NumPy functions on tensors' memory.

Needs the extra `torch`. They go through autograd (forwards, backwards, twice), `torch.func` and `torch.compile`. The
gradient by a configuration has an entry for each coordinate, as PyTorch will have it; a function is differentiated as
if it were constant off the configuration space (`operations.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count
from typing import Any
from weakref import WeakValueDictionary

from ..arrays import Argument, bind, named_rows, refuse_lazy, shape_text
from ..errors import ArgumentError
from ..functions.attributes import OptionedMethod
from ..functions.method_table import SUBJECTS
from .operations import Functions, Operation, WrappedMethod, is_taken, recording_of, signature
from .torch_operations import Operator, by_place, duals, nothing, operator, torch

_DTYPES = (torch.float64, torch.float32)
_WAYS = "torch.autograd.grad, torch.func.jvp, torch.func.jacrev or torch.func.jacfwd"
_made: WeakValueDictionary[str, Any] = WeakValueDictionary()  # functions and methods by what identifies them
_count = count()
_Tensor, _float64, _is_compiling = torch.Tensor, torch.float64, torch.compiler.is_dynamo_compiling


def _register(of: Any, name: str) -> str:
    """The identity of a function or method, from now on and for ever."""
    key = f"{name} {next(_count)}"
    _made[key] = of
    return key


def _opaque(of: str, *args: Any, **named: Any) -> Any:
    """A call as `torch.compile` sees it: it does not look inside, but runs it on tensors without values."""
    return _made[of].run(args, named)


torch.compiler.allow_in_graph(_opaque)


class TorchFunction:
    """A function of a robot that takes and returns tensors. Made by `function`."""

    def __init__(self, of: Any, dtype: Any) -> None:
        recording = recording_of(of, "fourbar.torch", "torch.compile", _WAYS)
        self._of, self._recording, self._dtype = of, recording, dtype
        self._arguments = {a.name: a for a in recording.arguments}
        self._required = tuple(recording.required_names)
        self._operators: dict[tuple[str, ...], Operator] = {}
        self._count = len(self._required)
        self._on_tensors, self._to_tensors = nothing, nothing  # until there is an operator
        self._key = _register(self, recording.name)
        self.__name__ = self.__qualname__ = recording.name
        self.__doc__ = recording.doc
        self.__signature__ = signature(recording.arguments)

    def __repr__(self) -> str:
        given = ", ".join(a.declaration for a in self._recording.arguments)
        return f"<fourbar PyTorch function {self.__name__}({given}) -> {', '.join(self._recording.results)}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return function, (self._of, self._dtype)

    def __call__(self, *args: Any, **named: Any) -> Any:
        if _is_compiling():
            return _opaque(self._key, *args, **named)
        if len(args) == self._count and not named and duals._current_level < 0:  # written for speed: most calls
            found = self._on_tensors(*args)
            if found is not None:
                return found if found.__class__ is _Tensor else self._to_tensors(found)
        return self.run(args, named)

    def run(self, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """The call: at once, if PyTorch need not see it (the NumPy function checks shapes), or else by the operator."""
        present = self._required
        if named or len(args) != len(present):
            given = self._bind(args, named)
            present, args = tuple(given), tuple(given.values())
        known = self._operators.get(present)
        if known is None:
            known = self._operator(present)
        if self._dtype is _float64:  # by place and complete: `__call__` has tried its machine code
            results = known.through_numpy(args) if present is self._required else known.direct(args)
            if results is not None:
                return results
        tensors = [self._tensor(self._arguments[name], x).double() for name, x in zip(present, args, strict=True)]
        results = known(*tensors)
        results = results if self._dtype is _float64 else tuple([y.to(self._dtype) for y in results])
        return results[0] if len(results) == 1 else results

    def _operator(self, present: tuple[str, ...]) -> Operator:
        """PyTorch's operator for the named arguments, traced when it is first needed."""
        of = Operation(self._recording, present)
        found = self._operators.setdefault(present, operator(of, by_place(self._of, of)))
        if present == self._required and self._dtype is _float64:
            self._on_tensors, self._to_tensors = found.on_tensors, found.to_tensors
        return found

    def _bind(self, args: tuple[Any, ...], named: dict[str, Any]) -> dict[str, Any]:
        for name in named:
            if name not in self._arguments:
                listed = ", ".join(self._arguments)
                raise TypeError(f"{self.__name__} as a PyTorch function has no argument {name!r}; it takes {listed}")
        return bind(self.__name__, self._recording.arguments, args, named)

    def _tensor(self, argument: Argument, x: Any) -> Any:
        """An argument as a tensor that the operator takes."""
        name = argument.name
        if isinstance(x, Mapping):
            x = self._stack_rows(argument, x)
        elif not isinstance(x, _Tensor):
            x = self._convert(name, x)
        elif x.dtype is not self._dtype:
            raise ArgumentError(self._wrong_dtype(name, x.dtype))
        if not x.is_cpu or x.layout is not torch.strided:
            raise ArgumentError(self._wrong_place(name, x))
        if x.shape[x.ndim - len(argument.shape) :] != argument.shape or x.ndim < len(argument.shape):
            raise ArgumentError(self._wrong_shape(argument, x))
        return x

    def _stack_rows(self, argument: Argument, x: Mapping[str, Any]) -> Any:
        """Rows by name as one tensor."""
        rows, leading = named_rows(self.__name__, argument, x, lambda _, own, row: self._tensor(own, row))
        none = torch.zeros(argument.shape[1:], dtype=self._dtype)
        every = [rows.get(k, none) for k in range(len(argument.rows))]
        return torch.stack([row.expand(*leading, *none.shape) for row in every], -2)

    def _convert(self, name: str, x: Any) -> Any:
        """Numbers, lists and arrays as tensors."""
        refuse_lazy(self.__name__, **{name: x})
        if isinstance(x, torch.fx.Proxy):
            raise ArgumentError(
                f"{self.__name__}: {name} has no value while torch.fx.symbolic_trace follows it; use torch.compile, "
                "torch.export or torch.fx.experimental.proxy_tensor.make_fx, which see its operator"
            )
        try:
            return torch.as_tensor(x, dtype=self._dtype)
        except (TypeError, ValueError, RuntimeError) as error:
            raise ArgumentError(f"{self.__name__}: {name} cannot be read as a tensor of numbers: {error}") from None

    def _wrong_dtype(self, name: str, dtype: Any) -> str:
        expected_dtype, given = str(self._dtype), str(dtype)
        if dtype.is_complex:  # whose conversion would lose the imaginary part
            return f"{self.__name__}: {name} must hold real numbers, got a tensor of {given}"
        what = f"{self.__name__}: {name} is a tensor of {given}; expected {expected_dtype}"
        if self._dtype is not _float64:
            return f"{what}, which this function was made for"
        return (
            f"{what}, in which functions of fourbar compute. Convert it with {name}.double(), through which gradients "
            "flow, or make the function with dtype=torch.float32, which converts arguments and results"
        )

    def _wrong_place(self, name: str, x: Any) -> str:
        what = f"{self.__name__} is machine code for the CPU and for dense tensors"
        return f"{what}; {name} is on {str(x.device)!r} with layout {x.layout}. Move it with {name}.cpu(), .to_dense()"

    def _wrong_shape(self, argument: Argument, x: Any) -> str:
        wanted = shape_text(argument.shape)
        return f"{self.__name__}: {argument.name} must have shape {wanted}, got {tuple(x.shape)}"


class TorchMethod(WrappedMethod):
    """A method with options, which `torch.compile` need not look into. Made by `function`."""

    def __init__(self, method: OptionedMethod, dtype: Any) -> None:
        super().__init__(method, lambda own: function(own, dtype), "PyTorch")
        self._dtype = dtype
        self._key = _register(self, method.__name__)

    def __reduce__(self) -> tuple[Any, ...]:
        return function, (self._method, self._dtype)

    def __call__(self, *args: Any, **named: Any) -> Any:
        if _is_compiling():
            return _opaque(self._key, *args, **named)
        return self.run(args, named)

    def run(self, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """The call of the function for these options."""
        return super().__call__(*args, **named)


class TorchFunctions(Functions):
    """The functions of a robot, all made at once, so that `torch.compile` finds them. Made by `functions`."""

    def __init__(self, robot: Any, dtype: Any) -> None:
        super().__init__(robot, lambda of: function(of, dtype), "PyTorch")
        self._dtype = dtype
        for name in SUBJECTS:
            of = getattr(robot, name, None)
            if is_taken(of):
                self.__dict__[name] = function(of, dtype)

    def __reduce__(self) -> tuple[Any, ...]:
        return functions, (self._robot, self._dtype)


def function(of: Any, dtype: Any = torch.float64) -> Any:
    """A function of a robot as a PyTorch function.

    Parameters
    ----------
    of : function
        Such as ``robot.forward_dynamics``, or ``robot.pose``, whose options then go by name.
    dtype : torch.dtype
        Of the tensors that it takes and returns; others are refused. It computes in float64 either way: with
        ``torch.float32`` arguments and results are converted.

    Returns
    -------
    TorchFunction
        Takes tensors by place or by name, with any leading axes; optional arguments such as `f_ext` may be left out.

    Raises
    ------
    ArgumentError
        Where `of` is not a function of a robot, or is a derivative, which PyTorch is to make; when it is called, where
        a tensor is not on the CPU, or has another dtype or shape.

    Examples
    --------
    >>> import torch, fourbar as fb, fourbar.torch
    >>> robot = fb.robots.double_pendulum()
    >>> dynamics = fb.torch.function(robot.forward_dynamics)
    >>> q = v = tau = torch.zeros(2, dtype=torch.float64)
    >>> torch.func.jacrev(dynamics)(q, v, tau).shape
    torch.Size([2, 2])
    """
    if dtype not in _DTYPES:
        raise ArgumentError(
            f"fourbar.torch.function: dtype={dtype!r}: expected torch.float64, or torch.float32, which is converted"
        )
    return TorchMethod(of, dtype) if isinstance(of, OptionedMethod) else TorchFunction(of, dtype)


def functions(robot: Any, dtype: Any = torch.float64) -> TorchFunctions:
    """All functions of a robot as PyTorch functions: ``functions(robot).forward_dynamics(q, v, tau)``.

    Parameters
    ----------
    robot : System
        A robot, or ``robot.varying("hand.mass")``, whose parameters are arguments.
    dtype : torch.dtype
        Of the tensors that they take and return, as in `function`.

    Returns
    -------
    TorchFunctions
        Has each function under its name.

    Examples
    --------
    >>> import torch, fourbar as fb, fourbar.torch
    >>> robot = fb.robots.double_pendulum()
    >>> fb.torch.functions(robot).mass_matrix(torch.zeros(2, dtype=torch.float64)).shape
    torch.Size([2, 2])
    """
    return TorchFunctions(robot, dtype)
