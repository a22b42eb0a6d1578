"""The recording of a step, as the step of a rollout."""

from __future__ import annotations

from typing import Any

from ..expr import maximum, select
from ..functions.context import Context
from ..spatial.linear import Scalar, Vec
from .candidates import Spec
from .contact_step import Stepper
from .gauss_seidel import NEWTON_ROWS
from .matrix_free import MatrixFreeStepper
from .soft_step import SoftStepper


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


def rollout_step(step: Stepper) -> dict[str, list[Any]]:
    """The state after a step, as the step of a rollout, which itself detects what is not finite.

    `worst` is the largest residual since the start, `late` after how many steps (`count`) it was above the tolerance
    first, -1 if never.
    """
    found, c, spec = step.results(), step.c, step.spec
    (worst,), (late,), (count,) = (c.given[name] for name in ("worst", "late", "count"))
    kept = c.recorder.call(watched, found["residual"][0], worst, late, count, spec.tolerance)
    return {**found, "worst": [kept[0]], "late": [kept[1]], "count": [kept[2]]}
