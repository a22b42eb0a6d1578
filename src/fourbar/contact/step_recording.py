"""The recordings of a step: as a function of its own, and as the step of a rollout."""

from __future__ import annotations

from typing import Any

from ..expr import maximum, select
from ..functions.context import Context
from ..functions.registry import Outputs
from ..spatial.linear import Scalar, Vec, dot
from .candidates import Spec
from .contact_step import Stepper
from .gauss_seidel import NEWTON_ROWS
from .matrix_free import MatrixFreeStepper
from .soft_step import SoftStepper


def last_finite(old: Vec, new: Vec, measure: Scalar) -> Vec:
    """The new state, or the old one where the new is not finite."""
    return Vec([select(measure < 1e200, b, a) for a, b in zip(old, new, strict=True)])


def marked(residual: Scalar, measure: Scalar) -> Scalar:
    """The residual; infinite where the new state is not finite."""
    return select(measure < 1e200, residual, float("inf"))


def magnitude(*parts: Vec) -> Scalar:
    """The sum of squares of all entries; NaN or infinite if one of them is."""
    total: Scalar = 0.0
    for part in parts:
        total = total + dot(part, part)
    return total


def watched(residual: Scalar, worst: Scalar, late: Scalar, count: Scalar, tolerance: Scalar) -> Vec:
    """The largest residual so far, when the tolerance was first missed, and the number of steps."""
    first = select(late < 0.0, count, late)
    return Vec((maximum(worst, residual), select(residual > tolerance, first, late), count + 1.0))


def stepper(c: Context, spec: Spec) -> Stepper:
    """MuJoCo's law has a step of its own; else few rows are solved together, many link by link.

    Servos that move several velocities couple all rows: these are solved together however many they are.
    """
    if spec.soft:
        return SoftStepper(c, spec)
    kept: int = c.model.kept_rows  # type: ignore[attr-defined]  (of a ContactModel)
    rows = sum(1 + sum(x.discs) for x in spec.candidates) + len(spec.joints) + kept
    if rows > NEWTON_ROWS and not (many := MatrixFreeStepper(c, spec)).implicit.coupled:
        return many
    return Stepper(c, spec)


def contact_step(c: Context, spec: Spec) -> Outputs:
    """The state after a step of length dt from q, v under joint forces tau, with the impulses as they were before.

    Where it is not finite, the state stays as it was, forces are zero and the residual is infinite: a NaN among the
    results would make all of them NaN. `report` holds residual, gaps, forces.
    """
    found, call = stepper(c, spec).results(), c.recorder.call
    q, v, impulse = (Vec(found[name]) for name in ("q", "v", "impulse"))
    size = call(magnitude, q, v, impulse)
    n = len(spec.candidates)
    force = call(last_finite, Vec([0.0] * 3 * n), Vec(found["force"]), size) if n else ()
    return [
        ("q_next", (len(q),), list(call(last_finite, Vec(c.given["q"]), q, size))),
        ("v_next", (len(v),), list(call(last_finite, Vec(c.given["v"]), v, size))),
        ("impulse_next", (len(impulse),), list(call(last_finite, Vec([0.0] * len(impulse)), impulse, size))),
        ("report", (1 + 4 * n,), [call(marked, found["residual"][0], size), *found["gap"], *force]),
    ]


def rollout_step(step: Stepper) -> dict[str, list[Any]]:
    """The state after a step, as the step of a rollout, which itself detects what is not finite.

    `worst` is the largest residual since the start, `late` after how many steps (`count`) it was above the tolerance
    first, -1 if never.
    """
    found, c, spec = step.results(), step.c, step.spec
    (worst,), (late,), (count,) = (c.given[name] for name in ("worst", "late", "count"))
    kept = c.recorder.call(watched, found["residual"][0], worst, late, count, spec.tolerance)
    return {**found, "worst": [kept[0]], "late": [kept[1]], "count": [kept[2]]}
