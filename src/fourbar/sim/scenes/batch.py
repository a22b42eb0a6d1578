"""Persistent worlds for learning: all are in one scene, each has a state of its own."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...arrays import Argument, to_array, to_count
from ...compile.rollout_loop import DIVERGED
from ...contact.candidates import reported_gaps
from ...contact.step_rollout import DRIVEN, Taken
from ...errors import ArgumentError, unknown
from ...functions.rollout import FEWEST, GIVEN, NONE
from ...functions.step_end import OBSERVED
from ...hints import Hinted
from ...system.system import System
from ..loops.chart_table import Chart
from ..loops.charted_worlds import ChartedWorlds
from ..loops.varied_loops import close
from ..motions.given_numbers import GivenNumbers, nominal, read_values
from ..motions.read_arguments import check_actuators, is_positive, read_constant
from ..observe import check_driven, read_observations
from .in_place_worlds import STATE, InPlaceWorlds

if TYPE_CHECKING:
    from .scene import Scene


_STATE = 6  # arrays that carry a world from step to step
_ARRAYS = ("q", "v", "impulse", "act", "residual", "_count", "gap", "force", "friction")


class Batch(Hinted):
    """Persistent worlds of a scene, as `Scene.batch` returns them.

    Parameters
    ----------
    scene : Scene
        The scene.
    n : int
        Number of worlds.
    dt : float
        Length of a step (s).
    numbers, observe, f_ext : optional
        As in `Scene.batch`.

    Attributes
    ----------
    q, v : ndarray, shapes (n, nq) and (n, nv)
        The states.
    act : ndarray, shape (n, na)
        States of the actuators, in the order of `robot.names.activations`.
    gap, force : ndarray, shapes (n, contacts) and (n, contacts, 3)
        Gaps (m) and contact forces (N, in the world) of the last step; after a reset NaN and zero.
    residual : ndarray, shape (n)
        The largest residual (m/s) of the last call of `step`.
    diverged : ndarray of bool, shape (n)
        Worlds whose new state was not finite: they keep their last finite state, and stay there until they are reset.
    friction : ndarray, shape (n, contacts)
        Coefficients of sliding friction, which may be changed in place.
    numbers : dict of ndarray, shapes (n, *shape)
        Parameters by name, which may be changed in place. "terrain.friction" acts in the contacts on that terrain,
        `friction` in all others.
    observations : dict of ndarray, shapes (n, *shape)
        Observations of the last step, or of the reset.
    f_ext : ndarray, shape (n, n_bodies, 6), or None
        Wrenches that act in all steps to which no others are given, which may be changed in place.

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

    def __init__(
        self, scene: Scene, n: int, dt: float, numbers: Any = None, observe: Any = None, f_ext: Any = None
    ) -> None:
        if (count := to_count(n)) is None:
            raise ArgumentError(f"batch({n!r}): the number of worlds must be a positive integer")
        if not is_positive(dt):
            raise ArgumentError(f"batch: dt={dt!r}: expected the length of a step in seconds, positive and finite")
        self.scene, self.dt, self.n = scene, float(dt), count
        robot, contacts = scene.robot, len(scene.contacts)
        self.q = np.repeat(robot.model.neutral()[None], n, 0)
        self.v = np.zeros((n, robot.nv))
        self.impulse = np.zeros((n, scene.n_impulses))
        self.act = np.zeros((n, robot.na))
        self.residual = np.zeros(n)
        self.diverged = np.zeros(n, bool)
        self.gap = np.full((n, contacts), np.nan)
        self.force = np.zeros((n, contacts, 3))
        self.friction = np.repeat(scene.friction[None], n, 0)
        self._count = np.zeros(n)
        self._shapes = {name: vars(self)[name].shape for name in _ARRAYS}
        self._may_be_apart = scene.may_be_apart
        self._standing: dict[tuple[str, ...], InPlaceWorlds] = {}  # by the controls that act
        self._parts: dict[tuple[str, ...], int] = {}  # steps between two looks at signals, by the same
        self.f_ext: np.ndarray | None = None
        if f_ext is not None:
            wrenches = self._wrenches("batch", f_ext, n)
            self.f_ext = np.broadcast_to(wrenches, (n, wrenches.shape[-1])).reshape(n, -1, 6).copy()
        self._charted: ChartedWorlds | None = None
        known = scene.read_numbers(numbers)
        if known.friction is not None:
            self.friction = self._spread("friction", known.friction, (contacts,))
        self._parameters, self._terrain, self._called = known.which, known.terrain, tuple(known.of_robot)
        both = zip(known.every, known.values.values(), strict=True)
        self.numbers = {x.name: self._spread(x.name, y, x.shape) for x, y in both}
        self._number_shapes = {name: x.shape for name, x in self.numbers.items()}
        self._observed = read_observations(observe, scene.model)
        self._watch = scene.observer(self._parameters, self._observed)
        self.q = self._close("batch", slice(None), self.q)
        if self._chart(robot, ()).loops:
            self._charted = ChartedWorlds(robot, self._chart, known.which, self.q, self.v, lambda: self.numbers)
        self.observations = self._watch.observe(self.q, self.v, self._numbers(slice(None)))

    def _spread(self, name: str, x: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
        try:
            return np.broadcast_to(x, (self.n, *shape)).copy()
        except ValueError:
            raise ArgumentError(
                f"batch: {name!r} must have shape {shape} or {(self.n, *shape)}, got {x.shape}"
            ) from None

    def _close(self, verb: str, which: Any, q: np.ndarray, **others: np.ndarray) -> np.ndarray:
        """Configurations of some worlds with loops closed that depend on numbers, some of which may be `others`."""
        values = {x.name: self.numbers[x.name][which] for x in self._parameters} | others
        return close(verb, self.scene.robot, self._parameters, values, q, np.zeros(self.scene.robot.nv))[0]

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
        self,
        tau: Any = None,
        ids: Any = None,
        *,
        u: Any = None,
        f_ext: Any = None,
        steps: int = 1,
        threads: int | None = None,
    ) -> None:
        """Make steps of all worlds, or of some, in machine code.

        Parameters
        ----------
        tau : array_like, shape (nv) or (worlds, nv), optional
            Joint forces (N m, N), held during all steps.
        ids : array_like of int or bool, optional
            Numbers of the worlds, or a mask; all if None.
        u : array_like, shape (nu) or (worlds, nu), optional
            Controls of the actuators, held; actuators do not act if None.
        f_ext : array_like or dict, optional
            Wrenches on bodies, shape (n_bodies, 6) or (worlds, n_bodies, 6), or by name, {"hand": wrench}, held; the
            attribute `f_ext` if None.
        steps : int, default 1
            Number of steps.
        threads : int, optional
            Number of threads; as many as there are CPUs for many worlds if None.

        Raises
        ------
        ArgumentError
            If an argument is invalid.
        KeyboardInterrupt
            On Ctrl-C, with the worlds, at the states that they have reached, as its attribute `run`.
        """
        if steps.__class__ is not int or steps < 1:
            if (count := to_count(steps)) is None:
                raise ArgumentError(f"step: steps={steps!r}: expected a whole number, at least 1")
            steps = count
        controls = {"tau": tau}
        if u is not None:
            controls["u"] = u
        if f_ext is not None:
            controls["f_ext"] = f_ext
        elif self.f_ext is not None:
            controls["f_ext"] = self.f_ext[self._which("step", ids)]
        try:
            if steps > FEWEST and steps > (most := self._several(tuple(controls))):
                self._step_in_parts(controls, ids, (steps, most), threads)
            else:
                self._step_at_once(controls, ids, steps, threads)
        except KeyboardInterrupt as error:
            error.run = self  # type: ignore[attr-defined]
            raise

    def _several(self, acting: tuple[str, ...]) -> int:
        """Steps that take some milliseconds."""
        if acting not in self._parts:
            self._parts[acting] = self._chart(self.scene.robot, acting).rollout.several(self.n)
        return self._parts[acting]

    def _step_in_parts(self, given: dict[str, Any], ids: Any, steps: tuple[int, int], threads: int | None) -> None:
        """Steps of some worlds, in calls of machine code with `most` of them at most, between which signals are
        handled.
        """
        left, most = steps
        which = self._which("step", ids)
        worst = np.zeros_like(self.residual[which])
        while left:
            count = min(left, most)
            self._step_at_once(given, ids, count, threads)
            worst = self.residual[which] = np.maximum(worst, self.residual[which])
            left -= count

    def _step_at_once(self, given: dict[str, Any], ids: Any, steps: int, threads: int | None) -> None:
        """Steps of some worlds in one call of machine code, under controls as the user gives them."""
        charted = self._charted
        if ids is not None or 1 in self.diverged.tobytes() or (charted is not None and charted.any_away):
            self._step_some(np.arange(self.n)[self._which("step", ids)], given, steps, threads)
            return
        arrays, acting = self._arrays(), tuple(given)
        standing = self._standing.get(acting)
        if standing is None or not standing.holds(arrays):
            self._check_controls(acting)
            standing = self._standing[acting] = self._place(acting, self._settle())
        self._drive(standing.controls, self.n, given)
        if not standing.advance(steps, threads):
            worlds, status = np.arange(self.n), standing.status
            lost = status == DIVERGED
            if charted is not None:  # worlds that stopped may go on in other velocities, or in parts of a step
                ended = np.flatnonzero(status)
                fate = status[ended].copy(), standing.made[ended].copy()
                held = {name: x[ended] for name, x in standing.controls.items()}
                lost[ended] = self._advance_in_charts(ended, held, steps, threads, fate)
            self._mark_divergence(worlds[lost])
        self._report_gaps()

    def _report_gaps(self) -> None:
        """Report an infinite gap where there is no contact point."""
        if self._may_be_apart:
            self.gap[...] = reported_gaps(self.gap)

    def _arrays(self) -> tuple[np.ndarray, ...]:
        """All that a step reads and writes: state, reports, numbers."""
        state = (self.q, self.v, self.impulse, self.act, self.residual, self._count)
        reported = (self.gap, self.force, *self.observations.values())
        usual = () if self._charted is None else (self._charted.samples.usual,)
        return (*state, *reported, self.friction, *self.numbers.values(), *usual)

    def _settle(self) -> tuple[np.ndarray, ...]:
        """These arrays in a form that machine code can write, also where a user has put others in their place."""
        for some, shapes in ((vars(self), self._shapes), (self.numbers, self._number_shapes)):
            for name, shape in shapes.items():
                some[name] = np.require(some[name], float, ["A", "W"])
                if some[name].shape != shape:
                    raise ArgumentError(f"batch: {name} must have shape {shape}, got {some[name].shape}")
        return self._arrays()

    def _inputs(self, acting: tuple[str, ...]) -> Taken:
        """The inputs and reports of a step, with some controls; joint forces are always among them."""
        u, f_ext = (GIVEN if name in acting else NONE for name in ("u", "f_ext"))
        return self.scene.inputs(Taken(GIVEN, u, self._parameters, self._observed, self._terrain, f_ext))

    def _check_controls(self, acting: Collection[str]) -> None:
        """Refuse controls of a robot without actuators, and observations of actuators that do not act."""
        if "u" in acting:
            check_actuators(self.scene.robot)
        else:
            check_driven(self._observed, self.scene.robot.mechanism)

    def _chart(self, now: System, acting: tuple[str, ...]) -> Chart:
        """The steps in the velocities of `now`, with the controls that act."""
        return self.scene.chart(self._inputs(acting), now)

    def _place(self, acting: tuple[str, ...], arrays: Sequence[np.ndarray]) -> InPlaceWorlds:
        """Worlds in given arrays, with some controls, in the robot's own velocities."""
        rollout = self._chart(self.scene.robot, acting).rollout
        names = ["gap", "force", *(OBSERVED + name for name in self.observations)]
        end = _STATE + len(names)
        reported = dict(zip(names, arrays[_STATE:end], strict=True))
        return InPlaceWorlds(rollout, self.dt, arrays[:_STATE], reported, arrays[end:])

    def _drive(self, controls: Mapping[str, np.ndarray], n: int, given: dict[str, Any]) -> None:
        """Write the controls that n worlds hold into arrays (n, size), by name."""
        for name, target in controls.items():
            control = given.get(name)
            if name == DRIVEN:
                target[...] = "u" in given
            elif name == "f_ext":
                target[...] = self._wrenches("step", control, n)
            else:
                target[...] = 0.0 if control is None else self._rows("step", name, control, target.shape[1], n)

    def _wrenches(self, verb: str, f_ext: Any, n: int) -> np.ndarray:
        """Wrenches of n worlds: (6 n_bodies), or with a row for each of them."""
        array = read_constant(verb, self.scene.robot, f_ext)
        if array.ndim > 2 or (array.ndim == 2 and len(array) not in (1, n)):
            core = (array.shape[-1] // 6, 6)
            raise ArgumentError(
                f"{verb}: f_ext must have shape {(n, *core)} or {core}, got {(*array.shape[:-1], *core)}"
            )
        return array

    def _step_some(self, worlds: np.ndarray, given: dict[str, Any], steps: int, threads: int | None) -> None:
        """Steps of some worlds, of which those that have diverged stay where they are."""
        stays = self.diverged[worlds]
        going = worlds[~stays]
        if self._charted is not None:
            self._charted.come_back(going, self.q, self.v)
        self.residual[worlds[stays]] = np.inf
        self._check_controls(given)
        shapes = self._chart(self.scene.robot, tuple(given)).rollout.step.controls
        held = {name: np.empty((len(worlds), *shape)) for name, shape in shapes.items()}
        self._drive(held, len(worlds), given)
        if not len(going):
            return
        held = {name: x[~stays] for name, x in held.items()}
        advance = self._advance_apart if self._charted is None else self._advance_in_charts
        self._mark_divergence(going[advance(going, held, steps, threads)])
        self._report_gaps()

    def _advance_apart(
        self, worlds: np.ndarray, controls: dict[str, np.ndarray], steps: int, threads: int | None
    ) -> np.ndarray:
        """Steps of some worlds under controls (m, size), in arrays of their own; which of them have diverged."""
        arrays = self._settle()
        apart = self._place(tuple(controls), [x[worlds] for x in arrays])
        for name, target in apart.controls.items():
            target[...] = controls[name]
        apart.advance(steps, threads)
        for mine, x in zip(arrays, apart.written, strict=False):
            mine[worlds] = x
        return apart.status == DIVERGED

    def _advance_in_charts(
        self, worlds: np.ndarray, controls: dict[str, np.ndarray], steps: int, threads: int | None,
        fate: tuple[np.ndarray, np.ndarray] | None = None,
    ) -> np.ndarray:  # fmt: skip
        """The same where loops are solved, each in its velocities; `fate` as in `ChartedWorlds.advance`."""
        assert self._charted is not None
        self._settle()
        acting, m = tuple(controls), len(worlds)
        parts = {
            "q": self.q,
            "v": self.v,
            "impulse": self.impulse,
            "act": self.act,
            "worst": self.residual,
            "count": self._count,
        }
        before = {name: x[worlds] for name, x in parts.items()} | {"late": np.full(m, -1.0)}
        state = {name: before[name] for name in STATE}
        if fate is None:
            state["worst"] = np.zeros(m)
        step = self._chart(self.scene.robot, acting).rollout.step
        numbers = {"dt": np.full(m, self.dt), "friction": self.friction[worlds]}
        names = [name for name in step.numbers if name not in (*numbers, "usual")]
        numbers |= {name: x[worlds] for name, x in zip(names, self.numbers.values(), strict=True)}
        reported = {"gap": self.gap, "force": self.force}
        reported |= {OBSERVED + name: x for name, x in self.observations.items()}
        records = {name: x[worlds][:, None] for name, x in reported.items()}
        rows = [controls[name][:, None] for name in step.controls]
        lost = self._charted.advance(acting, worlds, state, numbers, rows, records, steps, threads, fate)
        for name, x in parts.items():
            x[worlds] = state[name]
        for name, x in reported.items():
            x[worlds] = records[name][:, 0]
        return lost

    def _mark_divergence(self, lost: np.ndarray) -> None:
        """Mark worlds that have diverged."""
        self.diverged[lost] = True
        self.residual[lost], self.gap[lost], self.force[lost] = np.inf, np.nan, 0.0
        for x in self.observations.values():
            x[lost] = np.nan

    @property
    def too_fast(self) -> np.ndarray:
        """Whether each world (n) moves so far in a step that contacts may be missed."""
        return self.scene.too_fast(self.v, self.dt)

    def reset(self, ids: Any = None, *, q: Any = None, v: Any = None, act: Any = None) -> None:
        """Put all worlds, or some, into a state.

        Parameters
        ----------
        ids : array_like of int or bool, optional
            Numbers of the worlds, or a mask; all if None.
        q : array_like, shape (nq) or (worlds, nq), optional
            Configurations, whose loops are closed where they depend on `numbers`; neutral if None.
        v : array_like, shape (nv) or (worlds, nv), optional
            Velocities (rad/s, m/s); zero if None.
        act : array_like, shape (na) or (worlds, na), optional
            States of the actuators; zero if None.

        Raises
        ------
        ArgumentError
            If a state is not finite, its loops are open, or constraints are not met.
        """
        which = self._which("reset", ids)
        known = GivenNumbers(self._parameters, self._numbers(which))
        q = self.scene.robot.model.neutral() if q is None else q
        for name, part, shape in (("q", q, self.q[which].shape), ("v", v, self.v[which].shape)):
            if np.ndim(part) > 2 or (np.ndim(part) == 2 and len(part) not in (1, shape[0])):
                raise ArgumentError(f"reset: {name} must have shape {shape} or {shape[1:]}, got {np.shape(part)}")
        self.q[which], self.v[which] = self.scene.read_state("reset", q, v, known, strict=True)
        self.act[which] = 0.0 if act is None else self._rows("reset", "act", act, *self.act[which].shape[::-1])
        if self._charted is not None:
            self._charted.begin(np.arange(self.n)[which], self.q, self.v)
        for array in (self.impulse, self.residual, self.force, self.diverged, self._count):
            array[which] = 0
        self.gap[which] = np.nan
        if self.observations and len(self.q[which]):
            for name, x in self._watch.observe(self.q[which], self.v[which], self._numbers(which)).items():
                self.observations[name][which] = x

    def change(self, name: str, values: Any, ids: Any = None) -> None:
        """Change a number of all worlds, or of some; loops that depend on it are closed again.

        Parameters
        ----------
        name : str
            "friction", or one of `numbers`.
        values : array_like, shape (*shape) or (worlds, *shape)
            New values; of friction also one for all contacts, or one for each world.
        ids : array_like of int or bool, optional
            Numbers of the worlds, or a mask; all if None.
        """
        which, known = self._which("change", ids), {"friction": self.friction, **self.numbers}
        if name not in known:
            raise unknown("number that differs from world to world", name, list(known))
        rows, new = known[name][which], np.asarray(values, float)
        if name == "friction" and new.ndim == 1 and new.shape == rows.shape[:1]:
            new = new[:, None]
        try:
            new = np.broadcast_to(new, rows.shape)
        except ValueError:
            raise ArgumentError(
                f"change: {name} must have shape {rows.shape} or {rows.shape[1:]}, got {new.shape}"
            ) from None
        if name == "friction":
            if not (np.isfinite(new).all() and (new >= 0.0).all()):
                raise ArgumentError(f"change: {name}={values!r}: expected coefficients, finite and not negative")
        else:
            read_values(next(x for x in (*self._parameters, *self._terrain) if x.name == name), new)
        q = self._close("change", which, self.q[which], **{name: new})
        known[name][which], self.q[which] = new, q

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
                f"{verb}: ids={ids!r}: expected indices of worlds, 0 to {self.n - 1}, or a mask of {self.n} booleans"
            )
        if verb == "step" and np.bincount(chosen).max() > 1:
            raise ArgumentError(f"step: ids={ids!r}: duplicate ids; use steps= to take several steps")
        return chosen

    def _rows(self, verb: str, name: str, x: Any, size: int, n: int) -> np.ndarray:
        """An array for n worlds: (size), or with a row for each of them."""
        if type(x) is np.ndarray and x.dtype == float and x.shape == (n, size):
            return x
        array = to_array(verb, Argument(name, (size,)), x)
        if array.ndim > 2 or (array.ndim == 2 and len(array) not in (1, n)):
            raise ArgumentError(f"{verb}: {name} must have shape {(n, size)} or {(size,)}, got {array.shape}")
        return array

    @property
    def converged(self) -> np.ndarray:
        """Worlds (n) whose steps of the last call were all solved to the tolerance.

        A world at a toggle position of a loop that it could not pass is not among them.
        """
        found = self.residual <= self.scene.spec.tolerance
        return found if self._charted is None else found & ~np.isfinite(self._charted.samples.stuck)
