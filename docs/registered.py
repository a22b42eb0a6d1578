"""What the registry says of a method, for the stub and the API page: the only place here that knows how it says it."""

from __future__ import annotations

import inspect
from inspect import Parameter

from fourbar.functions.function import true_signature
from fourbar.functions.method_table import SUBJECTS
from fourbar.functions.registry import METHODS, Method
from fourbar.system.constrained import actuated, drive_recordings, method_recordings
from fourbar.system.constrained.inverse_dynamics import METHOD

ROW_FUNCTIONS = ("jacobian", "residual", "rate", "acceleration", "osim_inverse")
assert drive_recordings.METHODS is method_recordings.METHODS  # importing it registered its methods there


def methods() -> dict[str, Method]:
    """The methods of a robot by name, in the order of the table of methods."""
    return {name: METHODS[name] for name in SUBJECTS}


def constrained_methods() -> dict[str, Method]:
    """The functions of a `Constrained` as users call them: without the result that says how far to trust the rest."""
    names = ("forward_dynamics", "inverse_dynamics", "inverse_passive_dynamics", "hybrid_dynamics", "impulse")
    found = {name: method_recordings.METHODS[name] for name in (*names, *ROW_FUNCTIONS)} | {"hybrid_dynamics": METHOD}
    return {name: m._replace(results=tuple(x for x in m.results if x != "health")) for name, m in found.items()}


def actuated_methods() -> dict[str, Method]:
    """The functions of an `Actuated`."""
    return dict(actuated.METHODS)


def options_of(method: Method) -> list[Parameter]:
    """The options that choose the code of a method, with their defaults."""
    return [signature_of(method).parameters[x.name] for x in method.options]


def signature_of(method: Method) -> inspect.Signature:
    """What a call takes: arrays, options, arrays that may be left out, and where and on how many threads to work."""
    return true_signature(method.defaults, method.optional, method.options)
