"""Steps through the interior beside Newton's method on the equations as they are written, and the elimination."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from fourbar.contact import interior
from fourbar.contact.gauss_seidel import ContactProblem, RowBlock, scaled
from fourbar.spatial.linear import Mat, Vec

BLOCKS = (
    RowBlock(0, (2,)), RowBlock(3, ()), RowBlock(4, (2, 1)), RowBlock(8, (2, 1, 2)), RowBlock(14, (), joint=True),
    RowBlock(15, (), joint=True), RowBlock(16, (), joint=True),
)  # fmt: skip
ROWS = 17
BOUNDS = ([0.7], [], [0.5, 0.02], [0.9, 0.01, 0.03], [-0.4, 0.3, 0.0], [-1e30, 0.2, 0.6], [0.0, 0.0, 0.0])


def problem(seed: int) -> tuple[np.ndarray, np.ndarray, list[Vec], list[Vec], np.ndarray]:
    """G, g, what rows do by themselves and bounds by block, and impulses."""
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(ROWS, ROWS + 3))
    G, g = A @ A.T / ROWS, rng.normal(size=ROWS)
    bounds = tuple(Vec(x) for x in BOUNDS)
    whole = ContactProblem(Mat(Vec(row) for row in G.tolist()), Vec(g.tolist()), bounds)
    return G, g, list(scaled(whole, BLOCKS).own), list(bounds), 0.3 * rng.normal(size=ROWS)


def rows_of(block: RowBlock) -> slice:
    return slice(block.first, block.first + block.size)


def equations(block: RowBlock, tight: bool, bounds: Vec, z: np.ndarray, c: np.ndarray, e: float) -> list[float]:
    """What must vanish, as the module says it, one number after the other."""
    if tight:
        return [c[0]]
    if block.joint:
        lower, upper, hold = bounds
        a, kappa, eta, low, above, high, below = z
        rubs = [c[0] + kappa * a, kappa * hold * eta - e, eta - 0.5 * (1 - a * a)] if hold else [a, kappa, eta]
        above_lower = [low * above - e, above - (c[0] - lower)] if lower > -1e29 else [low, above]
        return [*rubs, *above_lower, high * below - e, below - (upper - c[0])]
    found, at, row = [z[0] * z[1] - e, z[1] - c[0]], 2, 1
    for size, mu in zip(block.discs, bounds, strict=True):
        a, kappa, eta = z[at : at + size] / (mu * z[0]), z[at + size], z[at + size + 1]
        found += [*(c[row : row + size] + kappa * a), kappa * mu * z[0] * eta - e, eta - 0.5 * (1 - a @ a)]
        at, row = at + size + 2, row + size
    return found


@pytest.mark.parametrize("seed", range(4))
def test_a_step_is_newtons(seed: int) -> None:
    """With contacts of all kinds, joints with and without friction and limits, and a row that must not move: the same
    change as that of Newton's method with a Jacobian from differences."""
    G, g, own, bounds, x = problem(seed)
    c, e = G @ x + g, 0.05
    tight = [interior.is_tight(*both) for both in zip(BLOCKS, bounds, strict=True)]
    assert tight == [False] * 6 + [True]
    soft = [Vec([0.0] * block.size) for block in BLOCKS]
    z, impulse = [], np.zeros(ROWS)
    for k, block in enumerate(BLOCKS):
        args = Vec(x[rows_of(block)].tolist()), Vec(c[rows_of(block)].tolist())
        point = interior.entered(block, tight[k], own[k], bounds[k], *args, e)
        z.append(np.array(point.numbers, float))
        impulse[rows_of(block)] = point.impulse
    c, e = G @ impulse + g, 0.02
    state = [(tight[k], own[k], soft[k], bounds[k], Vec(z[k].tolist()), Vec(c[rows_of(b)].tolist()), e)
             for k, b in enumerate(BLOCKS)]  # fmt: skip
    K, first = np.zeros((ROWS, ROWS)), np.zeros(ROWS)
    for block, args in zip(BLOCKS, state, strict=True):
        found = interior.interior_yielding(block, *args)
        K[rows_of(block), rows_of(block)], first[rows_of(block)] = found.K, found.own
    v = np.linalg.solve(np.eye(ROWS) + G @ K, G @ first)
    steps = [
        interior.interior_step(b, *args, Vec(v[rows_of(b)].tolist())) for b, args in zip(BLOCKS, state, strict=True)
    ]

    cuts = np.cumsum([0, *(len(x) for x in z)])

    def missed(flat: np.ndarray) -> np.ndarray:
        own_z = [flat[a:b] for a, b in pairwise(cuts)]
        parts = [interior.placed(*both) for both in zip(BLOCKS, tight, bounds, map(Vec, own_z), strict=True)]
        speeds = G @ np.concatenate([np.array(p.impulse, float) for p in parts]) + g
        found = []
        for k, block in enumerate(BLOCKS):
            found += equations(block, tight[k], bounds[k], own_z[k], speeds[rows_of(block)], e)
        return np.array(found)

    flat = np.concatenate(z)
    scale = np.maximum(np.abs(flat), 1e-3) * 1e-6
    J = np.stack(
        [(missed(flat + d) - missed(flat - d)) / (2 * h) for d, h in zip(np.diag(scale), scale, strict=True)], 1
    )
    ours = np.concatenate([np.array(s.change, float) for s in steps])
    left = J @ ours + missed(flat)
    counted = np.ones(len(flat), bool)
    counted[cuts[4] : cuts[4] + 3] = False  # friction of a joint that has none: these do not act
    counted[cuts[5] + 3 : cuts[5] + 5] = False  # a limit at infinity
    assert np.abs(left[counted]).max() < 1e-6 * max(1.0, np.abs(ours[counted]).max())
    for k, s in enumerate(steps):
        t = float(interior.length(s.fall))
        positive = np.array(z[k]) + t * np.array(s.change, float)
        point = interior.placed(BLOCKS[k], tight[k], bounds[k], Vec(positive.tolist()))
        assert float(point.product) > 0.0 or tight[k]


def test_contacts_that_move_away_lose_their_impulse() -> None:
    """Others keep it, and so do joints."""
    block, own = RowBlock(0, (2,)), Vec([2.0, 3.0])
    away = Vec([0.1, 0.0, 0.0])
    assert interior.opened(block, own, Vec([1e-9, 1e-10, 0.0]), away, 1e-8) == (0.0, 0.0, 0.0)
    for kept, c in ((Vec([0.5, 0.1, -0.2]), Vec([1e-9, 0.0, 0.0])), (Vec([1e-8, 0.0, 0.0]), away)):
        assert interior.opened(block, own, kept, c, 1e-8) == kept
    joint = RowBlock(0, (), joint=True)
    assert interior.opened(joint, Vec([1.0]), Vec([1e-9]), Vec([1.0]), 1e-8) == (1e-9,)
