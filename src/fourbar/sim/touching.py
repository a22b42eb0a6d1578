"""Motions with contacts: what is recorded of them, what is told of them, and worlds that stay alive between steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ArgumentError, warn
from .acting import SimulationWarning

if TYPE_CHECKING:
    from .scene import Scene


@dataclass(frozen=True)
class Contacts:
    """What touched: by recorded time, sample and contact (in the order of `names`).

    gap: the distance (m), negative inside, at the start of the step that ends at the time. force: on the first of the
    two that touch (the robot, on terrain), in the world (N), the mean over that step. found: whether it pressed.
    """

    names: tuple[str, ...]
    gap: np.ndarray
    force: np.ndarray
    found: np.ndarray

    def __getitem__(self, name: str) -> Contacts:
        """The contacts of one name."""
        if name not in self.names:
            raise KeyError(f"there is no contact {name!r}; there are {', '.join(self.names)}")
        k = self.names.index(name)
        return Contacts((name,), self.gap[..., k], self.force[..., k, :], self.found[..., k])


@dataclass(frozen=True)
class ContactRun:
    """A motion with contacts: t (n), q (n, ..., nq), v (n, ..., nv) and `contacts`.

    residual (n, ...): the largest velocity (m/s) by which a condition of contact was missed in the steps since the last
    record; infinite where the motion diverged, which ends in its last finite state. converged (n, ...): whether that
    was within the tolerance.
    """

    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    contacts: Contacts
    residual: np.ndarray
    converged: np.ndarray


class Recorder:
    """A motion under way."""

    def __init__(self, scene: Scene, q: np.ndarray, v: np.ndarray, dt: float, every: int) -> None:
        if not isinstance(every, int | np.integer) or isinstance(every, bool) or every < 1:
            raise ArgumentError(f"every={every!r}: expected a whole number of steps, at least 1")
        self.scene, self.q, self.v, self.dt, self.every = scene, q, v, dt, every
        batch, n = q.shape[:-1], len(scene.contacts)
        self.impulse = np.zeros((*batch, scene.n_impulses))
        self.steps = 0
        self._worst = np.zeros(batch)
        self._late = np.full(batch, -1.0)  # when a sample's contacts were first not solved
        self._lost = np.full(batch, -1.0)  # when a sample diverged
        self._kept = [(0.0, q, v, np.full((*batch, n), np.nan), np.zeros((*batch, n, 3)), np.zeros(batch))]

    @property
    def t(self) -> float:
        """The time that was reached."""
        return self.steps * self.dt

    def advance(self, tau: Any, friction: Any, last: bool) -> None:
        """One step."""
        found = self.scene.step(self.q, self.v, tau, dt=self.dt, impulse=self.impulse, friction=friction)
        self.q, self.v, self.impulse = found.q, found.v, found.impulse
        self.steps += 1
        self._mark(found.residual)
        if last or self.steps % self.every == 0:
            self._kept.append((self.t, self.q, self.v, found.gap, found.force, self._worst))
            self._worst = np.zeros(self._worst.shape)

    def _mark(self, residual: np.ndarray) -> None:
        self._worst = np.maximum(self._worst, residual)
        begin = self.t - self.dt
        lost = ~np.isfinite(residual)
        late = ~lost & (residual > self.scene.spec.tolerance)
        self._lost = np.where(lost & (self._lost < 0.0), begin, self._lost)
        self._late = np.where(late & (self._late < 0.0), begin, self._late)

    def finished(self, name: str) -> ContactRun:
        """What was recorded; what went wrong is told."""
        t, q, v, gap, force, residual = (np.array(x) for x in zip(*self._kept, strict=True))
        self._tell(name)
        contacts = Contacts(self.scene.contacts, gap, force, (force != 0.0).any(axis=-1))
        return ContactRun(t, q, v, contacts, residual, residual <= self.scene.spec.tolerance)

    def _tell(self, name: str) -> None:
        for when, what, advice in (
            (self._lost, "diverged and stay at their last finite state", "try a shorter step or smaller gains"),
            (self._late, "have contacts that were not solved to the tolerance",
             "look at the result's `residual` and `converged`; try a shorter step or more iterations"),
        ):  # fmt: skip
            which = np.flatnonzero(np.atleast_1d(when) >= 0.0)
            if len(which):
                first = float(np.atleast_1d(when).ravel()[which].min())
                of = f"samples {_listed(which)} of {np.size(when)}" if np.ndim(when) else "the motion"
                warn(f"{name}: {of}: {what}, first at t = {first:.6g} s; {advice}", SimulationWarning)


def _listed(which: np.ndarray) -> str:
    shown = ", ".join(map(str, which[:6]))
    return shown + (f" and {len(which) - 6} more" if len(which) > 6 else "")


class Batch:
    """n worlds: q (n, nq), v (n, nv), residual (n), gap (n, contacts) and force (n, contacts, 3) of the last step.

    friction (n, contacts) may be changed in place, for each world.
    """

    def __init__(self, scene: Scene, n: int, dt: float) -> None:
        if not isinstance(n, int | np.integer) or n < 1:
            raise ArgumentError(f"batch({n!r}): expected how many worlds there are, at least 1")
        self.scene, self.dt, self.n = scene, dt, int(n)
        robot, contacts = scene.robot, len(scene.contacts)
        self.q = np.repeat(robot.neutral()[None], n, 0)
        self.v = np.zeros((n, robot.nv))
        self.impulse = np.zeros((n, scene.n_impulses))
        self.residual = np.zeros(n)
        self.gap = np.zeros((n, contacts))
        self.force = np.zeros((n, contacts, 3))
        self.friction = np.repeat(scene.friction[None], n, 0)

    def step(self, tau: Any = None, ids: Any = None, *, steps: int = 1) -> None:
        """Some steps of all worlds, or of those named by number (or by a mask), under joint forces tau (..., nv)."""
        which = slice(None) if ids is None else ids
        for _ in range(steps):
            found = self.scene.step(
                self.q[which], self.v[which], tau, dt=self.dt, impulse=self.impulse[which],
                friction=self.friction[which],
            )  # fmt: skip
            for name, x in found._asdict().items():
                getattr(self, name)[which] = x

    def reset(self, ids: Any = None, *, q: Any = None, v: Any = None) -> None:
        """Put all worlds, or those named, into a state: neutral and at rest where none is given."""
        which = slice(None) if ids is None else ids
        self.q[which] = self.scene.robot.neutral() if q is None else q
        self.v[which] = 0.0 if v is None else v
        self.impulse[which] = 0.0
        self.residual[which] = 0.0

    @property
    def converged(self) -> np.ndarray:
        """Whether the last step of each world was solved to the tolerance."""
        return self.residual <= self.scene.spec.tolerance
