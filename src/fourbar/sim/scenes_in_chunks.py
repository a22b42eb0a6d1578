"""Rollouts of scenes from dask arrays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ..chunks.apply import Result
from ..functions.step_end import OBSERVED
from .contact_run import ContactRun, Contacts, Residuals
from .in_chunks import Lazy, rolled_lazily
from .read_arguments import read_period

if TYPE_CHECKING:
    from .scene import Scene

_CONTACTS = ("gap", "force", "found")


def rollout_lazily(
    scene: Scene, given: Mapping[str, Any], observe: Any, *, dt: float, steps: int, every: int, **options: Any
) -> ContactRun:
    """`Scene.rollout` with dask arrays as results; `given`: q, v, control, u, f_ext, numbers and friction."""
    n, nq, nv, nu = len(scene.contacts), scene.robot.nq, scene.robot.nv, scene.robot.nu
    periods = -(-steps // read_period(options["period"], dt))
    lazy = Lazy.read(scene.robot, given, observe, periods, scene.model, scene.grounds)
    rows = 1 + -(-steps // every)  # the start, and the end too where it is none of the others
    time = (rows,)
    results = [
        Result("q", (nq,), before=time), Result("v", (nv,), before=time), Result("residual", (), before=time),
        Result("worst", (), before=time), Result("converged", (), bool, before=time), Result("diverged", (), bool),
        Result("gap", (n,), before=time), Result("force", (n, 3), before=time),
        Result("found", (n,), bool, before=time), Result("last_q", (nq,)), Result("last_v", (nv,)),
        *(Result(name, (), before=time) for name in Residuals._fields),
        *(() if given["u"] is None else (Result("u", (nu,), before=time),)),
        *(Result(f"{OBSERVED}{name}", shape, before=time) for name, shape in lazy.observed.items()),
    ]  # fmt: skip
    found = rolled_lazily(
        "rollout", scene.rollout, _read, lazy.given, {**lazy.cores, "friction": (n,)}, results,
        {"dt": dt, "steps": steps, "every": every, "observe": observe, **options},
    )  # fmt: skip
    contacts = Contacts(scene.contacts, **{name: found.pop(name) for name in _CONTACTS})
    last = found.pop("last_q"), found.pop("last_v")
    t = np.minimum(np.arange(rows) * every, steps) * dt
    by_law = Residuals(*(found.pop(name) for name in Residuals._fields))
    observed = lazy.observations(found)
    return ContactRun(t=t, contacts=contacts, last=last, residuals=by_law, observations=observed, scene=scene, **found)


def _read(run: ContactRun) -> tuple[np.ndarray, ...]:
    """The arrays of a run, in the order of the results."""
    contacts = (getattr(run.contacts, name) for name in _CONTACTS)
    driven = () if run.u is None else (run.u,)
    return (run.q, run.v, run.residual, run.worst, run.converged, run.diverged, *contacts, *run.last, *run.residuals,
            *driven, *run.observations.values())  # fmt: skip
