"""Recovery of penetration: x = depth / (5 dt) would take back a fifth of it in a step.

Where shapes come together as fast as that, which they do where one rolls over an arc, they leave each other with x: an
impact that keeps momentum, and gives back less than it takes. Otherwise rows of shapes that overlap, and of joints
beyond their limits, ask for c ≥ 0 only: rest is always allowed, and the problem of impulses never harder for a
penetration. What slides, or parts with a part of x, is left to its motion; of what rests, r = x - |c| - 10 |cₙ|
becomes a displacement dt w that changes no velocity,

    M̃ w = Jᵀ y,    J w + R y = r,

of normals and limits with r > 0 alone, where constraints hold with A w = 0. R is small beside what most rows move by
themselves: where walls contradict each other, as around what is too thick for its place, w is a compromise, and what
can hardly move that way stays. These are Newton's equations of the solver with K = 1 / R.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from ..expr import maximum, minimum, select
from ..expr.standalone_steps import standalone
from ..spatial.linear import Mat, Scalar, Vec
from .candidates import Spec
from .gauss_seidel import RowBlock, largest, size_of
from .least_norm import CoupledRows, Steps, Yields
from .newton import Yielding

_SHARE = 0.2  # of a penetration, in a step: what is deep then takes some steps, and what is in its way may give way
_REST = 0.01  # of x: what comes together more slowly counts as resting
_PARTING = 10.0  # times slower than x: what parts with more needs no displacement, which would not keep momentum
_COMPLIANCE = 1e-6  # R, of what a row moves by itself
_STIFFEST = 1e-4  # R of contacts, of what any normal moves by itself

Asked = Sequence[Any]  # r of the first row of each block, None of constraints


class RecoveryRows(Protocol):
    """The rows of a problem by group, and the equations that couple them."""

    def own_of_groups(self) -> list[tuple[tuple[RowBlock, ...], tuple[Vec, ...]]]:
        """The blocks of every group, each as the only one, and their D."""
        ...

    def regroup(self, x: Sequence[Any]) -> Sequence[Any]:
        """What belongs to all blocks, in their own order, by group."""
        ...

    def ungroup(self, x: Sequence[Any]) -> Sequence[Any]:
        """What belongs to all blocks by group in their own order."""
        ...

    def couple(self, yields: Yields) -> tuple[Steps, CoupledRows]:
        """The steps of all blocks, and the equations with their K."""
        ...


def thrown(gap: Scalar, dt: Scalar, before: Scalar) -> Scalar:
    """The velocity with which two shapes leave each other that come together, along the normal, with `before`."""
    x = maximum(-gap, 0.0) * (_SHARE / dt)
    return maximum(minimum(x, -before - _REST * x), 0.0)


def asked_of_contact(gap: Scalar, after: Vec, dt: Scalar) -> Scalar:
    """r of a normal, zero where nothing overlaps. `after`: velocities of the rows after the step."""
    moving = size_of(after) + _PARTING * size_of(after[:1])
    return select(gap < 0.0, maximum(-gap * (_SHARE / dt) - moving, 0.0), 0.0)


def asked_of_joint(ends: tuple[Scalar | None, Scalar | None], q: Scalar, after: Vec, dt: Scalar) -> Scalar:
    """r of a joint, above zero below its lower end and below zero above its upper one."""
    lower, upper = ends
    below = 0.0 if lower is None else asked_of_contact(q - lower, after, dt)
    above = 0.0 if upper is None else asked_of_contact(upper - q, after, dt)
    return below - above


def asked_of_rows(
    call: Any, spec: Spec, gaps: Sequence[Scalar], q: Sequence[Vec], after: Sequence[Vec], dt: Scalar, blocks: int
) -> list[Any]:
    """r of the first row of each block: of contacts, of joints, whose coordinates are q by link, None of constraints,
    which come last. `after`: velocities of all rows after the step, by block."""
    asked: list[Any] = []
    for candidate, gap, c in zip(spec.candidates, gaps, after, strict=False):
        asked.append(call(asked_of_contact, gap, c, dt) if candidate.law.recovers else 0.0)
    for row, c in zip(spec.joints, after[len(gaps) :], strict=True):
        limited = row.soft is None and row.ends != (None, None)
        asked.append(call(asked_of_joint, row.ends, q[row.link][row.entry], c, dt) if limited else 0.0)
    return asked + [None] * (blocks - len(asked))


def worth_recovering(asked: tuple[Scalar, ...], tolerance: float) -> Scalar:
    """Above zero where some r is more than what a step may leave."""
    return largest(*(size_of([r]) for r in asked)) - tolerance


def compliance(own: Scalar, largest_normal: Scalar, is_contact: bool) -> Scalar:
    """R of a row, from what it and normals move by themselves."""
    return _COMPLIANCE * own + _STIFFEST * largest_normal if is_contact else _COMPLIANCE * own


@standalone
def push(
    blocks: tuple[RowBlock, ...], own: tuple[Vec, ...], largest_normal: Scalar, asked: tuple[Scalar, ...]
) -> tuple[Yielding, ...]:
    """The first rows of blocks as springs towards r, where there is any."""
    found = []
    for block, D, r in zip(blocks, own, asked, strict=True):
        stiff = acts(r) / compliance(D[0], largest_normal, not block.joint)
        found.append(_spring(block.size, stiff, stiff * r))
    return tuple(found)


def acts(r: Scalar) -> Scalar:
    """1 where a row is asked for a velocity, else 0."""
    return select(size_of([r]) > 0.0, 1.0, 0.0)


@standalone
def hold(blocks: tuple[RowBlock, ...], own: tuple[Vec, ...]) -> tuple[Yielding, ...]:
    """The rows of constraints as springs that keep them where they are."""
    return tuple(_spring(1, 1.0 / compliance(D[0], 0.0, False), 0.0) for D in own)


def _spring(size: int, stiff: Scalar, force: Scalar) -> Yielding:
    rest = [0.0] * (size - 1)
    K = [Vec([stiff, *rest]), *(Vec([0.0] * size) for _ in rest)]
    return Yielding(Mat(K), Vec([force, *rest]))


def recovery_impulses(recorder: Any, rows: RecoveryRows, asked: Asked) -> Sequence[Vec]:
    """y of all rows, by block."""
    call, grouped, groups = recorder.call, rows.regroup(asked), rows.own_of_groups()
    normals = [D[0] for blocks, own in groups for block, D in zip(blocks, own, strict=True) if not block.joint]
    most = call(largest, *normals) if normals else 0.0

    yields = [
        call(hold, *own) if r[0] is None else call(push, *own, most, r) for own, r in zip(groups, grouped, strict=True)
    ]
    return rows.ungroup(rows.couple(yields)[0])
