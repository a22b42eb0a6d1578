"""The coordinates of every joint, by name, from a configuration of the robot, and the other way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...errors import ArgumentError, AssemblyError
from ..embedding import Tied
from ..groups import Group, split
from ..lower import Lowered
from ..restart import close_from
from ..trace import cut

_CLOSED = 1e-9


def read_configuration(lowered: Lowered, q: Any) -> np.ndarray:
    """One configuration (nq) of finite numbers."""
    try:
        array = np.asarray(q, float)
    except (TypeError, ValueError):
        raise ArgumentError(f"q: expected {lowered.nq} numbers, got {q!r}") from None
    if array.shape != (lowered.nq,) or not np.all(np.isfinite(array)):
        raise ArgumentError(f"q: expected {lowered.nq} finite numbers, got shape {array.shape} from {q!r}")
    return array


def coordinates(lowered: Lowered, q: np.ndarray) -> dict[str, tuple[float, ...]]:
    """The coordinates of all moving joints at a closed configuration."""
    found: dict[str, tuple[float, ...]] = {}
    for group, own in zip(lowered.groups, split(lowered.groups, q.tolist(), "nq"), strict=True):
        tie = group.embedding
        full = tie.coordinates(own) if isinstance(tie, Tied) else own
        if isinstance(tie, Tied) and not tie.explicit:  # what is explicit is closed always
            gap = float(np.abs(tie.residual(np.array(full)) / tie.units.gaps).max(initial=0.0))
            _check_gap(group, gap, "at the given q; robot.assemble(q) closes them")
        found.update(_by_joint(lowered, group, full))
    return found


def _check_gap(group: Group, gap: float, where: str) -> None:
    """Refuse a gap, in units of the rows."""
    if not gap < _CLOSED:
        names = ", ".join(map(repr, group.loops))
        raise AssemblyError(f"loops {names} are open by {gap:.3g} {where}")


def _by_joint(lowered: Lowered, group: Group, full: Sequence[Any]) -> dict[str, tuple[float, ...]]:
    moving = [lowered.moving[i] for i in group.links]
    parts = cut(full, [c.joint.nq for c in moving])
    return {c.name: tuple(float(x) for x in part) for c, part in zip(moving, parts, strict=True)}


def moved_to(
    lowered: Lowered, start: Mapping[str, tuple[float, ...]], given: Mapping[str, Any]
) -> dict[str, tuple[float, ...]]:
    """Coordinates near `start` in which some joints have given ones and every loop is closed."""
    found = dict(start)
    joints = {c.name: c.joint for c in lowered.moving}
    for name, value in given.items():
        try:
            own = np.atleast_1d(np.asarray(value, float))
        except (TypeError, ValueError):
            own = np.zeros(0)
        if own.shape != (joints[name].nq,) or not np.all(np.isfinite(own)):
            raise ArgumentError(f"joint {name!r} has {joints[name].nq} coordinates, finite numbers, got {value!r}")
        found[name] = tuple(own.tolist())
    for group in lowered.groups:
        names = [lowered.moving[i].name for i in group.links]
        if isinstance(group.embedding, Tied) and set(names) & set(given):
            held = [j for j, name in enumerate(x for x in names for _ in range(joints[x].nv)) if name in given]
            q, gap = close_from(group.embedding, np.array([[x for name in names for x in found[name]]]), held)
            _check_gap(group, float(gap[0]), f"with {', '.join(map(repr, given))} kept: no closed configuration near")
            found.update(_by_joint(lowered, group, q[0].tolist()))
    return found


def gathered(lowered: Lowered, full: np.ndarray) -> np.ndarray:
    """The configuration (..., nq) of a robot from the coordinates (..., n) of all its moving joints."""
    ends = np.cumsum([c.joint.nq for c in lowered.moving])
    parts = []
    for group in lowered.groups:
        columns = [j for i in group.links for j in range(ends[i] - lowered.moving[i].joint.nq, ends[i])]
        tie = group.embedding
        if isinstance(tie, Tied) and tie.explicit:
            parts += [full[..., columns[j], None] / scale for j, scale in tie.independent]
        else:
            parts.append(full[..., columns])
    return np.concatenate(parts, axis=-1) if parts else full


def gathered_velocity(lowered: Lowered, full: np.ndarray) -> np.ndarray:
    """The independent velocities (..., nv) from those of all moving joints."""
    ends = np.cumsum([c.joint.nv for c in lowered.moving])
    parts = []
    for group in lowered.groups:
        columns = [j for i in group.links for j in range(ends[i] - lowered.moving[i].joint.nv, ends[i])]
        tie = group.embedding
        chosen = tie.independent if isinstance(tie, Tied) else [(j, 1.0) for j in range(len(columns))]
        parts += [full[..., columns[j], None] / scale for j, scale in chosen]
    return np.concatenate(parts, axis=-1) if parts else full
