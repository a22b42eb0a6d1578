"""The recording of a step, as the step of a rollout."""

from __future__ import annotations

from typing import Any

from ..expr import maximum, select
from ..functions.context import Context
from ..spatial.linear import Scalar, Vec
from .candidates import Spec
from .contact_step import Stepper
from .gauss_seidel import FEW_ROWS
from .impulse_solver import gives_up
from .joint_step import JointStepper
from .soft_step import SoftStepper


def watched(residual: Scalar, worst: Scalar, late: Scalar, count: Scalar, tolerance: Scalar) -> Vec:
    """The largest residual so far, when the tolerance was first missed, and the number of steps."""
    first = select(late < 0.0, count, late)
    return Vec((maximum(worst, residual), select(residual > tolerance, first, late), count + 1.0))


def refuse_unsolved(kept: Vec, residual: Scalar, aim: Scalar, patience: Scalar) -> Vec:
    """The same; not a number where the step is to be made again with more patience."""
    return Vec((select(gives_up(residual, aim, patience) > 0.0, float("nan"), kept[0]), *kept[1:]))


def has_many_rows(spec: Spec, kept: int) -> bool:
    """Whether the rows of a step, `kept` of which are those of constraints, are solved over the joints."""
    rows = sum(1 + sum(x.discs) for x in spec.candidates) + len(spec.joints) + kept
    return rows > FEW_ROWS and not spec.soft


def stepper(c: Context, spec: Spec) -> Stepper:
    """MuJoCo's law has a step of its own; else few rows are eliminated as they are, many over the joints."""
    if spec.soft:
        return SoftStepper(c, spec)
    return JointStepper(c, spec) if has_many_rows(spec, c.model.kept_rows) else Stepper(c, spec)  # type: ignore[attr-defined]


def rollout_step(step: Stepper) -> dict[str, list[Any]]:
    """The state after a step, as the step of a rollout, which itself detects what is not finite.

    `worst` is the largest residual since the start, `late` after how many steps (`count`) it was above the tolerance
    first, -1 if never.
    """
    found, c, spec = step.results(), step.c, step.spec
    (worst,), (late,), (count,) = (c.given[name] for name in ("worst", "late", "count"))
    kept = c.recorder.call(watched, found["residual"][0], worst, late, count, spec.tolerance)
    if "patience" in c.given:
        (patience,) = c.given["patience"]
        kept = c.recorder.call(refuse_unsolved, kept, found["residual"][0], spec.aim, patience)
        found["patience"] = [patience]
    return {**found, "worst": [kept[0]], "late": [kept[1]], "count": [kept[2]]}
