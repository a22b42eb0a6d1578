"""What a condition returned, checked: one number a row, linear in the velocities."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import isfinite
from numbers import Real
from typing import Any

import numpy as np

from ..errors import ModelError
from ..expr import Expr, evaluate
from ..spatial.linear import Scalar

_SAME = 1e-9  # relative: what differs less is rounding


def known(condition: Any, kind: str, table: Mapping[str, Any], name: str) -> Any:
    """What a condition looks at; it may only look at what it declares."""
    if name not in table:
        declared = ", ".join(map(repr, table)) or "none"
        raise ModelError(
            f"{type(condition).__name__} looks at {name!r}, which is not among its `{kind}` ({declared}); name it there"
        )
    return table[name]


def read_rates(condition: Any, found: Any) -> list[Scalar]:
    """The rates as a list of scalars."""
    rates = list(found) if isinstance(found, Iterable) and not isinstance(found, str | Mapping) else None
    if rates is None or not all(isinstance(x, Expr) or (isinstance(x, Real) and isfinite(x)) for x in rates):
        kind = type(condition).__name__
        raise ModelError(f"{kind}.rates must return a list of finite numbers, one for each row, got {found!r}")
    return [x if isinstance(x, Expr) else float(x) for x in rates]


def check_linear(condition: Any, entries: Sequence[Scalar], inputs: Mapping[Expr, bool]) -> None:
    """Refuse entries of A that depend on velocities (`inputs` says what is one), by two trials that differ in these."""
    rng = np.random.default_rng(0)
    still = {x: rng.uniform(0.5, 1.0) for x in inputs}
    trials = []
    for _ in range(2):
        values = {x: rng.uniform(0.5, 1.0) if moves else still[x] for x, moves in inputs.items()}
        with np.errstate(all="ignore"):
            trials.append(np.array(evaluate(entries, values), float))
    first, second = trials
    if np.any(np.abs(first - second) > _SAME * (np.abs(first) + np.abs(second))):
        kind = type(condition).__name__
        raise ModelError(f"{kind}.rates must be linear in the velocities, A(q) v: its rows A change with these")
