"""Functions of a robot in which some of its parameters are arguments: they may differ from sample to sample."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import Argument
from ..errors import ArgumentError, unknown
from ..mechanism.mechanism import Mechanism
from ..spatial.linear import Vec
from ..tree.cluster_tree import ClusterTree
from ..tree.parameter_changes import varied_tree, with_varied
from ..tree.parameters import Parameter, find
from ..tree.parameters import parameters as every_parameter
from .attributes import OptionedMethod
from .function import make
from .method_table import SUBJECTS
from .model import Model
from .recording import ParameterRecording
from .registry import METHODS
from .varied_context import VariedContext, argument_names, as_arguments

if TYPE_CHECKING:
    from .varying_at import VaryingAt


class VariedRecording(ParameterRecording):
    """A method with parameters of the model as arguments, after those that it needs."""

    def __init__(self, model: Model, name: str, options: dict[str, Any], which: tuple[Parameter, ...]) -> None:
        method = METHODS[name]
        again = (unpickle_varying, model.mechanism, tuple(x.name for x in which), name, tuple(options.items()))
        super().__init__(model, name, method, partial(method.read_options, **options), again, as_arguments(which))
        self.which = which

    def context(self, recorder: Any, present: Sequence[Argument]) -> VariedContext:
        return VariedContext(self.model, recorder, present, self.which)

    def tree_at(self, number: Callable[[Argument], Sequence[float]]) -> ClusterTree:
        p = Vec([x for argument in as_arguments(self.which) for x in number(argument)])
        mechanism, built = self.model.mechanism, self.model.cluster_tree
        return with_varied(mechanism, built, self.which, p, varied_tree(mechanism, self.which, p))


class Varying:
    """The functions of a robot with some of its parameters as arguments. Made by `System.varying`.

    A method takes, after its own arguments, the parameters in the order in which they were named, each with leading
    axes like any argument; as keywords they are written with underscores (``hand_mass``). `nominal` has the values of
    the robot by name. `at` takes the parameters once, for many calls.

    Examples
    --------
    >>> import fourbar as fb, numpy as np
    >>> robot = fb.robots.double_pendulum()
    >>> heavier = robot.varying("lower.mass")
    >>> masses = np.linspace(0.5, 2.0, 4)
    >>> heavier.inverse_dynamics([0.3, 0.4], [0, 0], [0, 0], masses).shape
    (4, 2)
    """

    def __init__(self, model: Model, names: Iterable[str]) -> None:
        self._model = model
        self._which = parameters(model.mechanism, tuple(names))
        self.names = tuple(x.name for x in self._which)

    @property
    def nominal(self) -> dict[str, np.ndarray]:
        """The values that the robot itself has."""
        return {x.name: np.reshape(x.values(self._model.mechanism), x.shape) for x in self._which}

    def at(self, *values: Any, **named: Any) -> VaryingAt:
        """The functions with values of the parameters, which are given once instead of in every call.

        What follows from the parameters alone is then computed once too, and batches with as many samples as the
        parameters have, along one axis, read it in place: a call takes 1.0 to 1.2 times as long as one of the robot's
        own function, where one that is given 64 parameters takes up to twice as long.

        Parameters
        ----------
        *values : array_like, shape (..., *shape)
            The parameters, in the order in which they were named; or a single mapping of values by their names.
        **named : array_like, shape (..., *shape)
            The same by the names of arguments: ``hand_mass``.

        Returns
        -------
        VaryingAt
            Its methods take what those of the robot take. The values are copied.

        Examples
        --------
        >>> import fourbar as fb, numpy as np
        >>> robot = fb.robots.double_pendulum()
        >>> masses = np.linspace(0.5, 2.0, 1000)
        >>> many = robot.varying("lower.mass", "gravity").at({"lower.mass": masses, "gravity": [0, 0, -1.62]})
        >>> many.forward_dynamics([0.3, 0.4], [0, 0], [0, 0]).shape
        (1000, 2)
        """
        from .varying_at import VaryingAt, read_values  # when first needed

        given = read_values(self.names, as_arguments(self._which), values, named)
        again = (varying_at, (self._model.mechanism, self.names, given))
        return VaryingAt(self._model, self._recording, given, again)

    def _recording(self, name: str, options: dict[str, Any]) -> VariedRecording:
        return VariedRecording(self._model, name, options, self._which)

    def __getattr__(self, name: str) -> Any:
        if name not in SUBJECTS:
            raise AttributeError(str(unknown("method of a varying robot", name, SUBJECTS)))
        if METHODS[name].options:
            made = OptionedMethod(self._model, name, self._make, argument_names(self._which))
        else:
            made = self._make(self._model, name, {})
        return self.__dict__.setdefault(name, made)

    def _make(self, model: Model, name: str, options: dict[str, Any]) -> Any:
        return make(self._recording(name, options))

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *SUBJECTS})

    def __repr__(self) -> str:
        return f"<fourbar System {self._model.mechanism.name!r} varying {', '.join(self.names)}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return varying, (self._model.mechanism, self.names)


def parameters(mechanism: Mechanism, names: tuple[str, ...]) -> tuple[Parameter, ...]:
    """Parameters by name, each once."""
    if not names:
        raise ArgumentError("varying: name at least one parameter, such as 'hand.mass'")
    for name in names:
        if not isinstance(name, str):
            raise ArgumentError(
                f"varying: {name!r} is not a name; expected names as separate arguments, such as "
                "varying('hand.mass', 'gravity'); write varying(*names) for those of a list"
            )
    if len(set(names)) < len(names):
        raise ArgumentError(f"varying: a parameter is named twice: {', '.join(names)}")
    return find(every_parameter(mechanism), names, mechanism)


def varying(mechanism: Mechanism, names: tuple[str, ...]) -> Varying:
    """The functions of a mechanism with some of its parameters as arguments."""
    return Varying(Model.of(mechanism), names)


def varying_at(mechanism: Mechanism, names: tuple[str, ...], given: Mapping[str, np.ndarray]) -> VaryingAt:
    """`varying` at values by the names of arguments, as pickles make it in other processes."""
    return varying(mechanism, names).at(**given)


def unpickle_varying(
    mechanism: Mechanism, names: tuple[str, ...], name: str, options: tuple[tuple[str, Any], ...]
) -> Any:
    """A function with parameters as arguments: how it travels to other processes."""
    made = getattr(varying(mechanism, names), name)
    return made.specialise(**dict(options)) if isinstance(made, OptionedMethod) else made
