"""Closing loops numerically: the closed configuration nearest to a given one, in the loops' own units."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np

from ..joints.base import Joint, turning
from ..linalg import factors
from ..spatial.linear import Vec
from ..tolerances import CLOSED
from .units import Units


class ClosingSettings:
    """Settings of the damped Newton steps that close loops."""

    EXACT, ROUNDING = 1e-15, 1e-13  # gaps small enough to stop, and those at which rounding decides
    DAMPING, LONGEST, STALLED = (
        0.1,
        0.5,
        0.99,
    )  # of a step: damping relative to the gap, longest, smallest reduction that counts


class Closable(Protocol):
    """Joints with a condition on their coordinates."""

    joints: tuple[Joint, ...]

    @property
    def units(self) -> Units: ...

    def residual(self, q: np.ndarray) -> np.ndarray: ...

    def slopes(self, q: np.ndarray) -> np.ndarray: ...


def move(joints: Sequence[Joint], q: np.ndarray, delta: np.ndarray) -> np.ndarray:
    """q ⊕ δ for the coordinates (n, nq) of several joints."""
    result, at_q, at_v = [], 0, 0
    for joint in joints:
        own, step = q[:, at_q : at_q + joint.nq], delta[:, at_v : at_v + joint.nv]
        result.extend(joint.integrate(Vec(own.T), Vec(step.T)))
        at_q, at_v = at_q + joint.nq, at_v + joint.nv
    return np.stack(result, axis=-1)


def differences(joints: Sequence[Joint], q0: np.ndarray, q1: np.ndarray) -> np.ndarray:
    """q1 ⊖ q0 (n, nv) for the coordinates (n, nq) of several joints."""
    result, at = [], 0
    for joint in joints:
        a, b = q0[:, at : at + joint.nq], q1[:, at : at + joint.nq]
        result.extend(np.broadcast_to(x, len(q0)) for x in joint.difference(Vec(a.T), Vec(b.T)))
        at += joint.nq
    return np.stack(result, axis=-1)


def close(
    tie: Closable, q: np.ndarray, held: Sequence[int] = (), rows: Sequence[int] | None = None, steps: int = 100
) -> tuple[np.ndarray, np.ndarray]:
    """Closed configurations near q (n, nq), by Levenberg-Marquardt steps, and the remaining gaps (n).

    `held` velocities do not move; `rows`: only these are closed. Gaps are in units of their rows; nearest means the
    least norm of all velocities in their units. Small loops far from where lengths are measured have gaps that are
    large only beside their own size: where steps do not close them, they are taken by that size first.
    """
    used_rows = list(range(len(tie.units.gaps))) if rows is None else list(rows)
    closed, left = _close_in_units(tie, q, held, used_rows, tie.units.gaps, steps)
    again = np.flatnonzero(~(left < CLOSED))
    if again.size and np.any(tie.units.effects[used_rows] < tie.units.gaps[used_rows]):
        first, _ = _close_in_units(tie, np.asarray(q, float)[again], held, used_rows, tie.units.effects, steps)
        near, gaps = _close_in_units(tie, first, held, used_rows, tie.units.gaps, steps)
        better = gaps < CLOSED
        closed[again[better]], left[again[better]] = near[better], gaps[better]
    return closed, left


def _close_in_units(
    tie: Closable, q: np.ndarray, held: Sequence[int], used_rows: list[int], units: np.ndarray, steps: int
) -> tuple[np.ndarray, np.ndarray]:
    """`close` with given units of gaps (m)."""
    q = np.array(q, float)
    n = sum(j.nv for j in tie.joints)
    still = set(held)
    free = [j for j in range(n) if j not in still]
    turns = np.array([x for joint in tie.joints for x in turning(joint)], bool)
    gaps, unit = units[used_rows], tie.units.steps[free]  # (rows,), (free,)

    def gaps_at(q: np.ndarray) -> np.ndarray:
        return tie.residual(q)[..., used_rows] / gaps

    with np.errstate(all="ignore"):  # the residual may be NaN at a guess
        phi = gaps_at(q)  # (n, rows)
        busy = np.flatnonzero(_size(phi) > ClosingSettings.EXACT)
        for _ in range(steps):
            if not busy.size:
                break
            K = tie.slopes(q[busy])[:, used_rows] / gaps[:, None]  # (busy, rows, nv)
            valid = np.isfinite(phi[busy]).all(axis=-1) & np.isfinite(K).all(axis=(-2, -1))
            busy, before = busy[valid], _size(phi[busy[valid]])
            delta = np.zeros((len(busy), n))  # rad, m
            delta[:, free] = _step(phi[busy], K[valid][:, :, free] * unit, turns[free]) * unit
            q[busy], phi[busy] = _improve(tie.joints, gaps_at, q[busy], phi[busy], delta)
            after = _size(phi[busy])
            busy = busy[
                (after > ClosingSettings.EXACT)
                & (after < np.where(before < ClosingSettings.ROUNDING, 0.5, ClosingSettings.STALLED) * before)
            ]
    return q, np.abs(phi).max(axis=-1, initial=0.0)


def _size(phi: np.ndarray) -> np.ndarray:
    return np.linalg.norm(phi, axis=-1)


def _step(phi: np.ndarray, K: np.ndarray, turns: np.ndarray) -> np.ndarray:
    """The least-norm step (n, nv) that closes the gap φ (n, rows) with K (n, rows, nv).

    It is shortened where it relies on small singular values of K, and where joints would rotate too far: `turns` says
    which velocities rotate.
    """
    if not K.size:
        return np.zeros((len(K), K.shape[-1]))
    U, s, Vt = factors(K)  # (n, rows, k), (n, k), (n, k, nv)
    damped = s * s + ClosingSettings.DAMPING * np.minimum(1.0, _size(phi)[:, None]) ** 2
    inverse = np.where(s > 1e-10 * s[:, :1], s, 0.0) / np.maximum(damped, 1e-300)
    delta = -np.einsum("bji,bj,bkj,bk->bi", Vt, inverse, U, phi)
    length = np.abs(delta[:, turns]).max(axis=-1, keepdims=True, initial=0.0)
    return delta * np.minimum(1.0, ClosingSettings.LONGEST / np.maximum(length, 1e-300))


def _improve(
    joints: Sequence[Joint],
    opened: Callable[[np.ndarray], np.ndarray],
    q: np.ndarray,
    phi: np.ndarray,
    delta: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """q (n, nq) and φ (n, rows) after a step along δ (n, nv), or the largest of its halves that reduces the gap;
    unchanged where none does. φ is `opened`.
    """
    left, size = np.arange(len(q)), _size(phi)
    best, best_phi = q.copy(), phi.copy()
    for _ in range(30):
        new = move(joints, q[left], delta[left])
        new_phi = opened(new)
        better = _size(new_phi) < size[left]
        best[left[better]], best_phi[left[better]] = new[better], new_phi[better]
        left = left[~better & (size[left] > ClosingSettings.ROUNDING)]
        if not left.size:
            break
        delta[left] *= 0.5
    return best, best_phi


_NUDGES = 0.1 * 1.2 ** np.arange(16)  # of starts beside the guess: small ones first


def close_from(tie: Closable, guess: np.ndarray, held: Sequence[int] = ()) -> tuple[np.ndarray, np.ndarray]:
    """Closed configurations near guesses (n, nq), and the remaining gaps (n); `held` velocities do not move.

    Steps that reduce the gap may end in a local minimum that is not zero, depending on where they start.
    """
    guess = np.asarray(guess, float)
    closed, gaps = close(tie, guess, held)
    rng, free = np.random.default_rng(0), np.ones(sum(j.nv for j in tie.joints))
    free[list(held)] = 0.0
    for spread in _NUDGES:
        left = np.flatnonzero(~(gaps <= CLOSED) & np.isfinite(guess).all(axis=-1))
        if not left.size:
            break
        nudge = spread * free * rng.normal(size=(len(left), len(free)))
        again, gap = close(tie, move(tie.joints, guess[left], nudge * tie.units.steps), held)
        good = gap <= CLOSED
        closed[left[good]], gaps[left[good]] = again[good], gap[good]
    return closed, gaps
