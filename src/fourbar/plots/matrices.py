"""A matrix as a picture: which entries there are, and how large they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..mechanism.mechanism import joint_of
from .motion_lines import RANGE, group_titles, limbs
from .style import DARK, EDGE, drawing, labels, load_matplotlib, too_long

if TYPE_CHECKING:
    from ..system.system import System

_WRITTEN = 7  # rows up to which entries are written as numbers
_NAMED = 24  # rows up to which each has its name; of more, each limb has
_ROUNDING = 1e-12  # of what two entries of the diagonal allow: a zero


def plot_matrix(M: np.ndarray, names: Sequence[str], title: str, limb: Sequence[str]) -> Any:
    """A figure of a symmetric matrix (n, n): the size of its entries, and white where they are zero."""
    n = len(M)
    scale = np.sqrt(np.outer(np.abs(np.diag(M)), np.abs(np.diag(M))))
    sizes = np.where(np.abs(M) > _ROUNDING * scale, np.abs(M), np.nan)
    side = float(np.clip(2.0 + 0.75 * n, 4.0, 7.5) if n <= _WRITTEN else np.clip(2.6 + 0.28 * n, 4.0, 8.5))
    with drawing(side + 1.6, side, title) as figure:
        from matplotlib.colors import LogNorm

        axes = figure.add_subplot()
        axes.grid(False)
        finite = sizes[np.isfinite(sizes)]
        norm = LogNorm(finite.min(), max(finite.max(), finite.min() * 1.001)) if finite.size else None
        image = axes.imshow(sizes, norm=norm, cmap=load_matplotlib().colormaps["viridis"])
        if n > _WRITTEN:
            figure.colorbar(image, ax=axes, shrink=0.8, label="size of the entry")
        else:
            _write_entries(axes, M, sizes)
        _name_rows(axes, names, limb)
        filled = np.isfinite(sizes).sum()
        axes.set_title(f"{filled} of {n * n} entries are not zero ({100 * int(filled) // max(1, n * n)} %)")
        axes.spines[:].set_visible(True)
    return figure


def _write_entries(axes: Any, M: np.ndarray, sizes: np.ndarray) -> None:
    """The numbers of a small matrix, which need no scale of colours."""
    whole = np.log(np.where(np.isfinite(sizes), sizes, np.nan))
    middle = 0.5 * (np.nanmin(whole) + np.nanmax(whole)) if np.isfinite(whole).any() else 0.0
    for i, j in zip(*np.nonzero(np.isfinite(sizes)), strict=True):
        light = whole[i, j] <= middle
        axes.text(j, i, f"{M[i, j]:.3g}", ha="center", va="center", color="white" if light else "black", fontsize=8)


def _name_rows(axes: Any, names: Sequence[str], limb: Sequence[str]) -> None:
    n = len(names)
    if n <= _NAMED:
        written = labels(names, too_long(names))
        axes.set_xticks(range(n), written, rotation=90)
        axes.set_yticks(range(n), written)
        return
    starts = [i for i in range(n) if not i or limb[i] != limb[i - 1]]
    ends = [*starts[1:], n]
    if len(starts) == 1:  # a chain: some of its names
        some = range(0, n, -(-n // _NAMED))
        written = labels([names[i] for i in some], short=True)
        axes.set_xticks(some, written, rotation=90)
        axes.set_yticks(some, written)
        return
    middles = [0.5 * (a + b - 1) for a, b in zip(starts, ends, strict=True)]
    called = group_titles([names[a:b] for a, b in zip(starts, ends, strict=True)])
    written = [RANGE.rstrip().join([x, "\n" + y]) if y else x for x, _, y in (z.partition(RANGE) for z in called)]
    axes.set_xticks(middles, written, rotation=90)
    axes.set_yticks(middles, written)
    axes.tick_params(length=0, colors=DARK)
    for start in starts[1:]:
        axes.axhline(start - 0.5, color=EDGE, lw=0.5)
        axes.axvline(start - 0.5, color=EDGE, lw=0.5)


def plot_mass_matrix(robot: System, q: np.ndarray) -> Any:
    """A figure of the mass matrix of a robot."""
    cluster_tree = robot.model.cluster_tree
    of, joints = limbs(cluster_tree), [c.name for c in cluster_tree.moving]
    names: tuple[str, ...] = robot.names.velocities
    limb = [of.get(joint_of(name, joints) or name, name) for name in names]
    return plot_matrix(robot.mass_matrix(q), names, f"mass matrix of {robot.name}", limb)
