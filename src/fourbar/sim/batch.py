"""Worlds that stay alive between steps: all are in one scene, each has a state of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import Argument, to_array
from ..contact.candidates import reported_gaps
from ..contact.rolling import GIVEN, NONE, SEEN, Taken
from ..errors import ArgumentError, unknown
from .numbers import nominal, read_numbers
from .observe import check_driven, read_observations
from .reading import check_actuators
from .standing import Standing
from .watch import Watch

if TYPE_CHECKING:
    from .scene import Scene


class Batch:
    """n worlds: q (n, nq), v (n, nv), and of the last step gap (n, contacts) and force (n, contacts, 3).

    residual (n) is the largest of the last call of `step`. A world whose new state is not finite is `diverged` (n): it
    keeps its last finite state and moves no more until it is reset. friction (n, contacts) and the arrays of `numbers`
    (n, *shape), by name, may be changed in place, for each world; where "terrain.friction" is among these, it acts in
    the contacts on that terrain, and `friction` in all others. observations (n, *shape) by name are those of the
    last step, or of the reset. After a reset forces are zero and gaps, which a step finds, NaN.

    Examples
    --------
    >>> import fourbar as fb
    >>> import numpy as np
    >>> b = fb.Builder("ball")
    >>> _ = b.body("ball", joint=fb.joints.Free(), mass=1.0, inertia=(0.004, 0.004, 0.004))
    >>> scene = fb.Scene(b.build(), fb.Plane(), contacts=[fb.contact.Shape("ball", "sphere", 0.1)])
    >>> worlds = scene.batch(4, numbers={"gravity": [0, 0, -9.81]}, observe={"touches": fb.observe.contact_found()})
    >>> worlds.numbers["gravity"][2:] *= 0.5
    >>> worlds.reset(q=[0, 0, 0.11, 1, 0, 0, 0])
    >>> worlds.step(steps=25)
    >>> worlds.observations["touches"][:, 0].tolist()
    [1.0, 1.0, 0.0, 0.0]
    """

    def __init__(self, scene: Scene, n: int, dt: float, numbers: Any = None, observe: Any = None) -> None:
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
        self.diverged = np.zeros(n, bool)
        self.gap = np.full((n, contacts), np.nan)
        self.force = np.zeros((n, contacts, 3))
        self.friction = np.repeat(scene.friction[None], n, 0)
        self._count = np.zeros(n)
        self._standing: Standing | None = None
        given = read_numbers(robot.mechanism, numbers, scene.grounds)
        self._parameters, self._terrain, self._called = given.which, given.terrain, tuple(given.of_robot)
        both = zip(given.every, given.values.values(), strict=True)
        self.numbers = {x.name: self._spread(x.name, y, x.shape) for x, y in both}
        self._observed = read_observations(observe, scene.model)
        self._watch = Watch(scene.model, self._parameters, self._observed)
        self.observations = self._watch.see(self.q, self.v, self._numbers(slice(None)))

    def _spread(self, name: str, x: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
        try:
            return np.broadcast_to(x, (self.n, *shape)).copy()
        except ValueError:
            raise ArgumentError(f"batch: {name!r} of shape {x.shape} does not fit {self.n} worlds") from None

    def _numbers(self, which: Any) -> dict[str, np.ndarray]:
        """The numbers of the robot of some worlds, by the names of arguments."""
        return {name: x[which] for name, x in zip(self._called, self.numbers.values(), strict=False)}

    @property
    def nominal(self) -> dict[str, np.ndarray]:
        """The numbers as the robot and the terrain themselves have them, by name."""
        mechanism, grounds = self.scene.robot.mechanism, self.scene.grounds
        return {x.name: nominal(mechanism, x, grounds) for x in (*self._parameters, *self._terrain)}

    @property
    def t(self) -> np.ndarray:
        """The time (n) since each world was reset, in seconds."""
        return self._count * self.dt

    def step(
        self, tau: Any = None, ids: Any = None, *, u: Any = None, steps: int = 1, threads: int | None = None
    ) -> None:
        """Some steps of all worlds, or of those named by number (or by a mask), in one call of machine code.

        Joint forces tau (..., nv) and controls u (..., nu) of the actuators, which act if u is given, are held.
        """
        if not isinstance(steps, int | np.integer) or isinstance(steps, bool) or steps < 1:
            raise ArgumentError(f"step: steps={steps!r}: expected a whole number, at least 1")
        which, robot = self._which("step", ids), self.scene.robot
        numbers = np.arange(self.n)[which]
        controls = {"tau": np.zeros(robot.nv) if tau is None else self._rows("step", "tau", tau, robot.nv, numbers)}
        if u is None:
            check_driven(self._observed, robot.mechanism)
        else:
            check_actuators(robot)
            controls["u"] = self._rows("step", "u", u, robot.nu, numbers)
        if self.diverged[which].any():
            stays = self.diverged[numbers]
            self.residual[numbers[stays]] = np.inf
            controls = {k: x[~stays] if x.ndim > 1 and len(x) == len(stays) else x for k, x in controls.items()}
            which = numbers = numbers[~stays]
        if len(numbers):
            self._advance(which, controls, int(steps), threads)

    def _advance(self, which: Any, controls: dict[str, np.ndarray], steps: int, threads: int | None) -> None:
        """Steps of some worlds, none of which has diverged."""
        u = GIVEN if "u" in controls else NONE
        taken = Taken(GIVEN, u, True, self._parameters, self._observed, self._terrain)
        rollout = self.scene.rolled(taken)
        own = [self.q, self.v, self.impulse, self._count]
        numbers = [self.friction, *self.numbers.values()]
        if isinstance(which, slice):
            if self._standing is None or not self._standing.holds(rollout, own, numbers):
                self._standing = Standing(rollout, self.n, self.dt, own, numbers)
            standing = self._standing
        else:
            standing = Standing(rollout, len(which), self.dt, [x[which] for x in own], [x[which] for x in numbers])
        standing.advance(controls, steps, threads)
        self._keep(which, standing)

    def _keep(self, which: Any, found: Standing) -> None:
        """Take what came of steps."""
        diverged = found.status != 0.0
        for mine, x in zip((self.q, self.v, self.impulse, self._count), found.after, strict=True):
            mine[which] = x
        self.diverged[which] = diverged
        self.residual[which] = found.worst
        self.gap[which], self.force[which] = reported_gaps(found.records["gap"]), found.records["force"]
        for name, x in self.observations.items():
            x[which] = found.records[SEEN + name]
        if diverged.any():
            lost = np.arange(self.n)[which][diverged]
            self.residual[lost], self.gap[lost], self.force[lost] = np.inf, np.nan, 0.0
            for x in self.observations.values():
                x[lost] = np.nan

    def reset(self, ids: Any = None, *, q: Any = None, v: Any = None) -> None:
        """Put all worlds, or those named, into a state: neutral and at rest where none is given."""
        which = self._which("reset", ids)
        self.q[which] = self.scene.robot.neutral() if q is None else self._finite("q", q, self.q[which])
        self.v[which] = 0.0 if v is None else self._finite("v", v, self.v[which])
        self.scene.kept.check(self.q[which], self.v[which])
        for array in (self.impulse, self.residual, self.force, self.diverged, self._count):
            array[which] = 0
        self.gap[which] = np.nan
        if self.observations and len(self.q[which]):
            for name, x in self._watch.see(self.q[which], self.v[which], self._numbers(which)).items():
                self.observations[name][which] = x

    def change(self, name: str, values: Any, ids: Any = None) -> None:
        """Change a number of all worlds, or of those named: "friction", of every contact or of each (n, contacts), or
        one of `numbers`.
        """
        which, known = self._which("change", ids), {"friction": self.friction, **self.numbers}
        if name not in known:
            raise unknown("number that differs from world to world", name, list(known))
        rows, given = known[name][which], np.asarray(values, float)
        if name == "friction" and given.ndim == 1 and given.shape == rows.shape[:1]:
            given = given[:, None]
        try:
            given = np.broadcast_to(given, rows.shape)
        except ValueError:
            raise ArgumentError(
                f"change: {name} must have shape {rows.shape} or {rows.shape[1:]}, got {given.shape}"
            ) from None
        if name == "friction":
            if not (np.isfinite(given).all() and (given >= 0.0).all()):
                raise ArgumentError(f"change: {name}={values!r}: expected coefficients, finite and not negative")
        else:
            read_numbers(self.scene.robot.mechanism, {name: given}, self.scene.grounds)
        known[name][which] = given

    def _which(self, verb: str, ids: Any) -> Any:
        """Worlds as an index: all, or those of numbers or of a mask."""
        if ids is None:
            return slice(None)
        chosen = np.atleast_1d(np.asarray(ids))
        if chosen.dtype == bool and chosen.shape == (self.n,):
            return np.flatnonzero(chosen)
        if chosen.size == 0:
            return np.zeros(0, int)
        if chosen.ndim != 1 or chosen.dtype.kind not in "iu" or chosen.min() < 0 or chosen.max() >= self.n:
            raise ArgumentError(
                f"{verb}: ids={ids!r}: expected numbers of worlds, 0 to {self.n - 1}, or a mask of {self.n}"
            )
        return chosen

    def _rows(self, verb: str, name: str, x: Any, size: int, worlds: np.ndarray) -> np.ndarray:
        """An array for some worlds: (size), or with a row for each of them."""
        array = to_array(verb, Argument(name, (size,)), x)
        if array.ndim > 2 or (array.ndim == 2 and len(array) not in (1, len(worlds))):
            raise ArgumentError(f"{verb}: {name} must have shape {(len(worlds), size)} or {(size,)}, got {array.shape}")
        return array

    def _finite(self, name: str, x: Any, like: np.ndarray) -> np.ndarray:
        """A part of the state for some worlds, refused where it is not finite."""
        array = self._rows("reset", name, x, like.shape[1], like)
        if not np.isfinite(array).all():
            raise ArgumentError(f"reset: {name} is NaN or infinite; a motion starts from finite numbers")
        return array

    @property
    def converged(self) -> np.ndarray:
        """Whether all steps of the last call were solved to the tolerance, for each world."""
        return self.residual <= self.scene.spec.tolerance
