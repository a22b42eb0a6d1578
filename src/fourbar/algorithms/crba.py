"""The mass matrix M(q): composite rigid bodies (CRBA).

Everything is carried in the frame of the root body of each tree, where inertias just add and a column of M needs no
further transforms: M_ij = S_iᵀ (Ic_j S_j) for every joint i that carries joint j. M does not depend on the root's q.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from ..expr import Recorder
from ..expr.standalone_steps import standalone
from ..spatial.fluid_inertia import AnyInertia
from ..spatial.linear import Mat, Vec
from ..spatial.transform import IDENTITY, Transform
from ..spatial.vectors import Twist, Wrench
from ..tree.links import Kinematics
from . import armature
from .branch_solver import branches
from .sweep import Outcome, Sweeps

_AT_ONCE = 8  # carrying joints in one step: a long chain then has fewer steps to record
_SMALL = 64  # velocities up to which every joint is treated for itself
_ROWS, _COLUMNS = 16, 8  # of a part of M whose code is shared


class LinkInRoot(NamedTuple):
    """A link in the frame of its root: pose, motion subspace, inertia."""

    pose: Transform
    S: tuple[Twist, ...]
    I: AnyInertia


def carry(k: Kinematics, pose: Transform) -> LinkInRoot:
    """A link at a pose in its root's frame."""
    return LinkInRoot(pose, tuple(pose.motion_to_parent(s) for s in k.S.twists()), k.I.to_parent(pose))


def carry_root(k: Kinematics, _ground: None) -> LinkInRoot:
    """The root is carried in its own frame."""
    return LinkInRoot(IDENTITY, k.S.twists(), k.I)


def carry_outward(k: Kinematics, parent: LinkInRoot) -> LinkInRoot:
    """The pose in the root's frame, multiplied out."""
    pose = parent.pose.then(k.X)
    return carry(k, Transform((pose.R,), pose.p))


def compose_inward(k: Kinematics, children: tuple[AnyInertia, ...], own: LinkInRoot) -> Outcome:
    """Ic = I + Σ Ic of the children;  the momentum Ic S of each unit motion of the joint, and M_jj = Sᵀ Ic S."""
    Ic = sum(children, own.I)
    momenta = tuple(Ic.momentum(s) for s in own.S)
    return Outcome((momenta, diagonal(k, own.S, momenta)), Ic)


def diagonal(k: Kinematics, S: tuple[Twist, ...], momenta: tuple[Wrench, ...]) -> Mat:
    """M_jj = Sᵀ (Ic S), plus the armature."""
    return Mat(
        Vec([momenta[j].power(s) + (k.armature[i] if i == j else 0.0) for j in range(len(S))]) for i, s in enumerate(S)
    )


def couple(carriers: tuple[tuple[Twist, ...], ...], momenta: tuple[Wrench, ...]) -> tuple[Mat, ...]:
    """The blocks S_iᵀ (Ic_j S_j) of M between a joint j and some of the joints i that carry it."""
    return tuple(Mat(Vec([h.power(s) for h in momenta]) for s in S) for S in carriers)


def carry_all(s: Sweeps) -> list[LinkInRoot]:
    """Every link in the frame of its root."""
    return s.outward(carry_outward, None, root=carry_root)


def mass_matrix(s: Sweeps) -> list[list[Any]]:
    """M as rows of scalars; zero where neither joint carries the other."""
    carried = carry_all(s)
    return assemble(s, carried, s.inward(compose_inward, carried))


def assemble(s: Sweeps, carried: Sequence[LinkInRoot], composed: Sequence[tuple[Any, Mat]]) -> list[list[Any]]:
    """M from the momenta Ic S and the diagonal block of every joint; armature that couples joints is added."""
    n = s.tree.nv
    M: list[list[Any]] = [[0.0] * n for _ in range(n)]
    if n > _SMALL:
        couple_all(s.recorder, s.tree.parents, s.tree.first_v, M, [c.S for c in carried], composed)
    else:
        _couple_each(s, M, carried, composed)
    armature.add_couplings(s, M)
    return M


def _couple_each(
    s: Sweeps, M: list[list[Any]], carried: Sequence[LinkInRoot], composed: Sequence[tuple[Any, Mat]]
) -> None:
    """The blocks of M joint by joint."""
    for j, (momenta, diagonal) in enumerate(composed):
        _write(s.tree.first_v, M, j, j, diagonal)
        for some in carriers_of(s, j):
            blocks = s.recorder.call(couple, tuple(carried[i].S for i in some), momenta)
            for i, block in zip(some, blocks, strict=True):
                _write(s.tree.first_v, M, i, j, block)


@standalone
def _couple_tile(rows: tuple[Any, ...], columns: tuple[Any, ...]) -> tuple[Any, ...]:
    """A part of M between some motions and some momenta, written once for all parts of a size.

    All are given and returned entry by entry, in one long tuple, which is recorded in a fraction of the time.
    """
    motions = [Twist.of(Vec(rows[k : k + 6])) for k in range(0, len(rows), 6)]
    momenta = [Wrench.of(Vec(columns[k : k + 6])) for k in range(0, len(columns), 6)]
    return tuple([h.power(s) for s in motions for h in momenta])


def couple_all(
    recorder: Recorder,
    parents: Sequence[int],
    first_v: Sequence[int],
    M: list[list[Any]],
    S: Sequence[tuple[Twist, ...]],
    composed: Sequence[tuple[Any, Mat]],
) -> None:
    """The blocks of M branch by branch: between its joints and all their carriers, in tiles."""
    for branch, carriers in branches(parents):
        rows = _motions(first_v, carriers, S)
        for at, j in enumerate(branch):
            momenta, diagonal = composed[j]
            _write(first_v, M, j, j, diagonal)
            blocks = recorder.call(couple, tuple(S[i] for i in branch[:at]), momenta) if at else ()
            for i, block in zip(branch[:at], blocks, strict=True):
                _write(first_v, M, i, j, block)
        columns = _motions(first_v, branch, [momenta for momenta, _ in composed])
        for r in range(0, len(rows), _ROWS):
            for c in range(0, len(columns), _COLUMNS):
                _write_tile(recorder, M, rows[r : r + _ROWS], columns[c : c + _COLUMNS])


def _motions(first_v: Sequence[int], joints: Sequence[int], of: Sequence[tuple[Any, ...]]) -> list[tuple[int, Any]]:
    """For each velocity of some joints its number, and its entry in `of`."""
    return [(first_v[i] + k, x) for i in joints for k, x in enumerate(of[i])]


def _write_tile(
    recorder: Recorder, M: list[list[Any]], rows: Sequence[tuple[int, Twist]], columns: Sequence[tuple[int, Wrench]]
) -> None:
    tile = recorder.call(_couple_tile, _entries(rows), _entries(columns))
    places = [b for b, _ in columns]
    for at, (a, _) in enumerate(rows):
        row = tile[at * len(places) : (at + 1) * len(places)]
        own = M[a]
        for b, x in zip(places, row, strict=True):
            own[b] = M[b][a] = x


def _entries(some: Sequence[tuple[int, Twist]] | Sequence[tuple[int, Wrench]]) -> tuple[Any, ...]:
    return tuple([entry for _, x in some for part in x for entry in part])


def carriers_of(s: Sweeps, j: int) -> Iterator[list[int]]:
    """The joints that carry joint j, some at a time."""
    above = s.tree.ancestors(j)
    return (above[k : k + _AT_ONCE] for k in range(0, len(above), _AT_ONCE))


def _write(first_v: Sequence[int], M: list[list[Any]], i: int, j: int, block: Mat) -> None:
    """Write a block (m, n) and its transpose; of a diagonal block the upper triangle counts."""
    at_i, at_j = first_v[i], first_v[j]
    for a, row in enumerate(block):
        for b, x in enumerate(row):
            if i != j or a <= b:
                M[at_i + a][at_j + b] = M[at_j + b][at_i + a] = x
