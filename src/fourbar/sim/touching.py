"""Motions with contacts: what is recorded of them, what is told of them, and worlds that stay alive between steps."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import Argument, to_array
from ..errors import ArgumentError, unknown, warn
from ..functions.rollout import ALWAYS, Motion, Rolled
from ..viewer.recording import Recording
from .acting import SimulationWarning
from .plotted import Plotted
from .recorded import Recorded

if TYPE_CHECKING:
    from .scene import Scene

RECORDS = ("q", "v", "residual", "worst", "gap", "force")


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
class ContactRun(Recorded, Plotted):
    """A motion with contacts: t (n), q (n, ..., nq), v (n, ..., nv) and `contacts`.

    residual (n, ...): the largest velocity (m/s) by which a condition of contact was missed in the step before; worst
    (n, ...) the same of all steps so far, and converged (n, ...) whether that was within the tolerance. diverged (...):
    which samples were not finite at some time; they are NaN from there on, and their last finite state is in `last`,
    that of all samples at the end (q, v). scene: what it was simulated in, needed to show it.
    """

    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    contacts: Contacts
    residual: np.ndarray
    worst: np.ndarray
    converged: np.ndarray
    diverged: np.ndarray
    last: tuple[np.ndarray, np.ndarray]
    scene: Scene | None = field(default=None, repr=False, compare=False)

    @property
    def recording(self) -> Recording:
        """What of it is shown.

        Returns
        -------
        Recording
            The robot, its configurations over time, what it stands on, and the forces of contacts.

        Raises
        ------
        ArgumentError
            If it is not known which robot moved, and where.
        """
        if self.scene is None:
            raise ArgumentError("it is not known what moved, and where; give it: replace(run, scene=scene)")
        forces = self.contacts.force
        points = self.scene.contact_points(self.q) if forces.shape[-2] else np.zeros(forces.shape)
        return Recording.of(
            self.scene.robot, self.t, self.q, terrains=tuple(self.scene.terrains), points=points, forces=forces
        )

    def _arrays(self) -> dict[str, np.ndarray]:
        return super()._arrays() | {"gap": self.contacts.gap, "force": self.contacts.force}


class Run:
    """A motion under way, in machine code; its records have time as the first axis."""

    def __init__(self, scene: Scene, motion: Motion, dt: float, steps: int, every: int) -> None:
        if not isinstance(every, int | np.integer) or isinstance(every, bool) or every < 1:
            raise ArgumentError(f"every={every!r}: expected a whole number of steps, at least 1")
        self.scene, self.motion, self.dt, self.steps, self.every = scene, motion, dt, steps, int(every)
        self._start = motion.state
        self._rows = motion.room(RECORDS, steps // self.every, time_first=True)
        self._tail = motion.room(RECORDS, 1, time_first=True)
        self._whole = steps - steps % self.every  # the steps whose records go into rows

    def advance(self, count: int, controls: list[np.ndarray], hold: int) -> None:
        """Some steps; the last of all is recorded too."""
        before = max(0, min(count, self._whole - self.motion.now.steps))
        if before:
            self.motion.advance(before, controls, self._rows, hold=hold, every=self.every)
        if count > before:
            self.motion.advance(count - before, controls, self._tail, hold=hold, every=self.steps)

    @property
    def t(self) -> float:
        """The time that was reached."""
        return self.motion.now.steps * self.dt

    def finished(self, name: str) -> ContactRun:
        """What was recorded; what went wrong is told."""
        done = self.motion.now.steps
        rolled = self.motion.rolled(self._rows, self.every)
        batch = self.motion.batch
        records = {x: np.moveaxis(y, len(batch), 0) for x, y in rolled.records.items()}
        times = [0.0, *((np.arange(done // self.every) + 1) * self.every * self.dt).tolist()]
        if done % self.every and done == self.steps:
            times.append(done * self.dt)
            last = {x: y[:, 0].reshape((*batch, *y.shape[2:])) for x, y in self._tail.items()}
            moved = rolled.made == done
            for x, y in last.items():
                kept = np.where(moved.reshape((*batch, *[1] * (y.ndim - len(batch)))), y, np.nan)
                records[x] = np.concatenate([records[x], kept[None]])
        self._tell(name, rolled)
        return self._result(np.array(times), records, rolled)

    def _result(self, t: np.ndarray, records: dict[str, np.ndarray], rolled: Rolled) -> ContactRun:
        n, batch = len(self.scene.contacts), self.motion.batch
        first = {
            "q": self._start["q"], "v": self._start["v"], "residual": np.zeros(batch), "worst": np.zeros(batch),
            "gap": np.full((*batch, n), np.nan), "force": np.zeros((*batch, n, 3)),
        }  # fmt: skip
        whole = {name: np.concatenate([x[None], records[name]]) for name, x in first.items()}
        contacts = Contacts(self.scene.contacts, whole["gap"], whole["force"], (whole["force"] != 0.0).any(axis=-1))
        good = whole["worst"] <= self.scene.spec.tolerance
        last = (rolled.state["q"], rolled.state["v"])
        return ContactRun(
            t, whole["q"], whole["v"], contacts, whole["residual"], whole["worst"], good, rolled.diverged, last,
            self.scene,
        )  # fmt: skip

    def _tell(self, name: str, rolled: Rolled) -> None:
        late = rolled.state["late"]
        tell(name, rolled.diverged, rolled.made * self.dt, "diverged and stopped at the last finite state",
             "try a shorter step or smaller gains")  # fmt: skip
        tell(name, late >= 0.0, late * self.dt, "had contacts that were not solved to the tolerance",
             "look at `worst` and `converged` of the result; try a shorter step or more iterations")  # fmt: skip


def tell(name: str, which: np.ndarray, when: np.ndarray, what: str, advice: str) -> None:
    """Warn of samples with which something is wrong, since when."""
    if not np.any(which):
        return
    numbers = np.flatnonzero(which)
    shown = ", ".join(map(str, numbers[:6])) + (f" and {len(numbers) - 6} more" if len(numbers) > 6 else "")
    of = f"samples {shown} of {np.size(which)}" if np.ndim(which) else "the motion"
    warn(f"{name}: {of} {what}, first at t = {float(np.min(when[which])):.6g} s; {advice}", SimulationWarning)


def asked(progress: Callable[[Iterable[int]], Iterable[int]] | None, steps: int) -> Iterator[int]:
    """The steps, wrapped by whoever wants to show them."""
    return iter(range(steps) if progress is None else progress(range(steps)))


class Batch:
    """n worlds: q (n, nq), v (n, nv), and of the last step gap (n, contacts) and force (n, contacts, 3).

    residual (n) is the largest of the last call of `step`. A world whose new state is not finite is `diverged` (n): it
    keeps its last finite state and moves no more until it is reset. friction (n, contacts) may be changed in place, for
    each world. After a reset forces are zero and gaps, which a step finds, NaN.
    """

    def __init__(self, scene: Scene, n: int, dt: float) -> None:
        if not isinstance(n, int | np.integer) or isinstance(n, bool) or n < 1:
            raise ArgumentError(f"batch({n!r}): expected how many worlds there are, at least 1")
        if not 0.0 < dt < np.inf:
            raise ArgumentError(f"batch: dt={dt!r}: expected the length of a step in seconds, positive and finite")
        self.scene, self.dt, self.n = scene, dt, int(n)
        robot, contacts = scene.robot, len(scene.contacts)
        self.q = np.repeat(robot.neutral()[None], n, 0)
        self.v = np.zeros((n, robot.nv))
        self.impulse = np.zeros((n, scene.n_impulses))
        self.residual = np.zeros(n)
        self.gap = np.full((n, contacts), np.nan)
        self.force = np.zeros((n, contacts, 3))
        self.friction = np.repeat(scene.friction[None], n, 0)
        self.diverged = np.zeros(n, bool)

    def step(self, tau: Any = None, ids: Any = None, *, steps: int = 1) -> None:
        """Some steps of all worlds, or of those named by number (or by a mask), under joint forces tau (..., nv)."""
        if not isinstance(steps, int | np.integer) or isinstance(steps, bool) or steps < 1:
            raise ArgumentError(f"step: steps={steps!r}: expected a whole number, at least 1")
        which = self._which("step", ids)
        tau = np.zeros(self.scene.robot.nv) if tau is None else self._rows("step", "tau", tau, self.v[which])
        self.residual[which] = 0.0
        for _ in range(steps):
            if self.diverged[which].any():
                which, tau = self._moving(which, tau)
            self._step(which, tau)

    def _step(self, which: Any, tau: np.ndarray) -> None:
        found = self.scene.step(
            self.q[which], self.v[which], tau, dt=self.dt, impulse=self.impulse[which], friction=self.friction[which]
        )
        for name in ("q", "v", "impulse", "gap", "force"):
            getattr(self, name)[which] = getattr(found, name)
        self.residual[which] = np.maximum(self.residual[which], found.residual)
        self.diverged[which] = lost = np.isinf(found.residual)
        if lost.any():
            numbers = np.arange(self.n)[which][lost]
            self.force[numbers], self.gap[numbers] = 0.0, np.nan

    def _moving(self, which: Any, tau: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Those of some worlds that have not diverged, and their forces; the others stay marked."""
        numbers = np.arange(self.n)[which]
        stays = self.diverged[numbers]
        self.residual[numbers[stays]] = np.inf
        return numbers[~stays], tau[~stays] if tau.ndim > 1 and len(tau) == len(numbers) else tau

    def reset(self, ids: Any = None, *, q: Any = None, v: Any = None) -> None:
        """Put all worlds, or those named, into a state: neutral and at rest where none is given."""
        which = self._which("reset", ids)
        self.q[which] = self.scene.robot.neutral() if q is None else self._finite("q", q, self.q[which])
        self.v[which] = 0.0 if v is None else self._finite("v", v, self.v[which])
        for array in (self.impulse, self.residual, self.force, self.diverged):
            array[which] = 0
        self.gap[which] = np.nan

    def change(self, name: str, values: Any, ids: Any = None) -> None:
        """Change a number of all worlds, or of those named: "friction", of every contact or of each (n, contacts)."""
        which = self._which("change", ids)
        if name != "friction":
            raise unknown("number that differs from world to world", name, ["friction"])
        given, rows = np.asarray(values, float), self.friction[which]
        if given.shape not in ((), (len(rows),), rows.shape):
            raise ArgumentError(f"change: {name} must have shape {rows.shape} or {rows.shape[:1]}, got {given.shape}")
        if not (np.isfinite(given).all() and (given >= 0.0).all()):
            raise ArgumentError(f"change: {name}={values!r}: expected coefficients, finite and not negative")
        self.friction[which] = given[:, None] if given.ndim == 1 else given

    def _which(self, verb: str, ids: Any) -> Any:
        """Worlds as an index: all, or those of numbers or of a mask."""
        if ids is None:
            return slice(None)
        chosen = np.asarray(ids)
        if chosen.dtype == bool and chosen.shape == (self.n,):
            return np.flatnonzero(chosen)
        if chosen.size == 0:
            return np.zeros(0, int)
        if chosen.ndim != 1 or chosen.dtype.kind not in "iu" or chosen.min() < 0 or chosen.max() >= self.n:
            raise ArgumentError(
                f"{verb}: ids={ids!r}: expected numbers of worlds, 0 to {self.n - 1}, or a mask of {self.n}"
            )
        return chosen

    def _rows(self, verb: str, name: str, x: Any, like: np.ndarray) -> np.ndarray:
        """An array for some worlds: (numbers), or with a row for each of them."""
        array = to_array(verb, Argument(name, like.shape[1:]), x)
        if array.ndim > 2 or (array.ndim == 2 and len(array) not in (1, len(like))):
            raise ArgumentError(f"{verb}: {name} must have shape {like.shape} or {like.shape[1:]}, got {array.shape}")
        return array

    def _finite(self, name: str, x: Any, like: np.ndarray) -> np.ndarray:
        """A part of the state for some worlds, refused where it is not finite."""
        array = self._rows("reset", name, x, like)
        if not np.isfinite(array).all():
            raise ArgumentError(f"reset: {name} is NaN or infinite; a motion starts from finite numbers")
        return array

    @property
    def converged(self) -> np.ndarray:
        """Whether all steps of the last call were solved to the tolerance, for each world."""
        return self.residual <= self.scene.spec.tolerance


class Driver:
    """Makes the steps of a run: forces from an array, from a function asked in Python, or from within the step."""

    def __init__(self, run: Run, control: Any, period: int, nv: int) -> None:
        self.run, self.control, self.period, self.nv = run, control, period, nv
        self._rows: list[np.ndarray] = []
        if isinstance(control, np.ndarray):
            self._rows = run.motion.rows({"tau": control}, -(-run.steps // period))
        elif control is None:
            self._hold(np.zeros(nv))

    def _hold(self, tau: np.ndarray) -> None:
        self._rows = self.run.motion.rows({"tau": tau[..., None, :]}, 1)

    def _ask(self) -> None:
        """Ask for the forces of the next period."""
        state = self.run.motion.state
        force = np.asarray(self.control(self.run.t, state["q"], state["v"]), float)
        wanted = (*self.run.motion.batch, self.nv)
        if force.shape[-1:] != (self.nv,) or np.broadcast_shapes(force.shape, wanted) != wanted:
            raise ArgumentError(f"control(t, q, v) returned shape {force.shape}, expected {wanted}")
        self._hold(force)

    def reach(self, steps: Iterator[int], asks: bool) -> None:
        """Make all steps. `asks`: the control is a function that Python calls."""
        run = self.run
        while run.motion.now.steps < run.steps:
            count = min(run.motion.several, run.steps - run.motion.now.steps)
            if asks:
                count = min(count, self.period - run.motion.now.steps % self.period)
                if run.motion.now.steps % self.period == 0:
                    self._ask()
            run.advance(count, self._rows, self.period if isinstance(self.control, np.ndarray) else ALWAYS)
            for _ in range(count):
                next(steps, None)
        next(steps, None)  # lets who shows them close
