"""Rollouts of scenes from dask arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..chunks.apply import Result
from .in_chunks import control_core, rolled_lazily
from .reading import read_period
from .touching import ContactRun, Contacts, Residuals

if TYPE_CHECKING:
    from .scene import Scene

_CONTACTS = ("gap", "force", "found")


def rollout_lazily(
    scene: Scene, q: Any, v: Any, control: Any, friction: Any, *, dt: float, steps: int, every: int, period: Any
) -> ContactRun:
    """`Scene.rollout` with dask arrays as results."""
    n, nq, nv = len(scene.contacts), scene.robot.nq, scene.robot.nv
    rows = 1 + -(-steps // every)  # the start, and the end too where it is none of the others
    driven = control_core(control, -(-steps // read_period(period, dt)), nv)
    cores = {"q": (nq,), "v": (nv,), "friction": (n,), "control": driven}
    time = (rows,)
    results = [
        Result("q", (nq,), before=time), Result("v", (nv,), before=time), Result("residual", (), before=time),
        Result("worst", (), before=time), Result("converged", (), bool, before=time), Result("diverged", (), bool),
        Result("gap", (n,), before=time), Result("force", (n, 3), before=time),
        Result("found", (n,), bool, before=time), Result("last_q", (nq,)), Result("last_v", (nv,)),
        *(Result(name, (), before=time) for name in Residuals._fields),
    ]  # fmt: skip
    found = rolled_lazily(
        "rollout", scene.rollout, _read, {"q": q, "v": v, "control": control, "friction": friction}, cores, results,
        {"dt": dt, "steps": steps, "every": every, "period": period},
    )  # fmt: skip
    contacts = Contacts(scene.contacts, **{name: found.pop(name) for name in _CONTACTS})
    last = found.pop("last_q"), found.pop("last_v")
    t = np.minimum(np.arange(rows) * every, steps) * dt
    by_law = Residuals(*(found.pop(name) for name in Residuals._fields))
    return ContactRun(t=t, contacts=contacts, last=last, residuals=by_law, **found)


def _read(run: ContactRun) -> tuple[np.ndarray, ...]:
    """The arrays of a run, in the order of the results."""
    contacts = (getattr(run.contacts, name) for name in _CONTACTS)
    return run.q, run.v, run.residual, run.worst, run.converged, run.diverged, *contacts, *run.last, *run.residuals
