"""`Run`: the result of every simulation, with time as the first axis and the start as its first row."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...arrays import is_lazy
from ...errors import ArgumentError
from ...hints import with_keyword_hints
from ...plots.motion_pictures import PlottedMotion, plot_motion
from ...representation import quantity
from ...system.system import System
from ...viewer.recorded_motion import RecordedMotion
from .results import Form, Recorded, check_forms, load_arrays, loaded_observations, observation_forms

if TYPE_CHECKING:
    from ..scenes.scene import Scene

_KIND = "Run"


@dataclass(frozen=True)
class Contacts:
    """The contacts of a motion: by recorded time, sample and contact (in the order of `names`).

    gap: the distance (m), negative inside, at the start of the step that ends at the time; infinite for points of two
    shapes that are not there, such as those of faces where edges cross. force: on the first of the
    two that touch (the robot, on terrain), in the world (N), the mean over that step. found: whether it pressed.
    """

    names: tuple[str, ...]
    gap: np.ndarray  # (times, ..., contacts)
    force: np.ndarray  # (times, ..., contacts, 3)
    found: np.ndarray  # (times, ..., contacts)

    def __getitem__(self, name: str) -> Contacts:
        """The contacts of one name."""
        if name not in self.names:
            raise KeyError(f"there is no contact {name!r}; there are {', '.join(self.names)}")
        k = self.names.index(name)
        return Contacts((name,), self.gap[..., k], self.force[..., k, :], self.found[..., k])


class Residuals(NamedTuple):
    """By how much contacts missed each law in a step, the largest of all contacts, for every time and sample.

    signorini: |λₙ cₙ| (J), of a normal impulse and the velocity with which it leaves. cone: how far friction is outside
    its cone (N s). dissipation: |λ · (c + μ |cₜ| n)| (J), zero where friction takes as much energy as it can.
    """

    signorini: np.ndarray  # (times, ...), as the next two
    cone: np.ndarray
    dissipation: np.ndarray


MEASURES = ("residual", "worst", "penetration", "energy_gain")
_OF_SCENE = {name: Form() for name in (*MEASURES, *Residuals._fields)} | {"converged": Form(kinds="b")}
_OPTIONAL = {  # in the files of some runs
    "lost": Form(), "steps": Form(kinds="iu", over_time=False), "diverged": Form(kinds="b", over_time=False),
    "too_fast": Form(kinds="b"), "constraint_force": Form(None),
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Run(Recorded):
    """A simulated motion, or a batch of motions: the result of `simulate` and `rollout` of a robot or a scene.

    Time is the first axis of every array over time, and its first row is the start. Further axes are those of the
    batch of samples, if there is one.

    Parameters
    ----------
    t : ndarray, shape (n,)
        Times (s).
    q : ndarray, shape (n, ..., nq)
        Configurations.
    v : ndarray, shape (n, ..., nv)
        Velocities (rad/s, m/s).
    robot : System, optional
        The robot that moved, which plots and views need.
    lost : ndarray, shape (n, ...), optional
        Energy (J) that damping took since the start, integrated like the motion: the sum of kinetic, potential and
        spring energy falls by this, and changes otherwise by the work of joint forces only. None for scenes.
    steps : ndarray of int, shape (...), optional
        Number of steps that each sample made with a finite state.
    diverged : ndarray of bool, shape (...), optional
        Samples that made fewer steps than were asked for. They are NaN from there on. If None, those whose last state
        is not finite.
    u : ndarray, shape (n, ..., nu), optional
        Controls of the actuators in the step that ends at each time, NaN at the start; None if they do not act.
    act : ndarray, shape (n, ..., na), optional
        States of the actuators (`System.names.activations`); None if they have none, or do not act.
    observations : dict of ndarray, shape (n, ..., *shape)
        Observations by name.
    scene : Scene, optional
        The scene of the motion; the fields below are None without one.
    contacts : Contacts, optional
        Gaps (m) and forces (N) of the contacts, by name.
    residual : ndarray, shape (n, ...), optional
        The largest velocity (m/s) by which a condition of contact was missed in the step before.
    worst : ndarray, shape (n, ...), optional
        The largest residual of all steps so far, including those between two records.
    converged : ndarray of bool, shape (n, ...), optional
        Whether the residual was within the tolerance.
    penetration : ndarray, shape (n, ...), optional
        How deep (m) the deepest contact was at the start of the step before, zero if none was.
    energy_gain : ndarray, shape (n, ...), optional
        Energy (J) that contacts, limits and dry friction added to the robot in the step before: the work of their
        impulses if that is positive, else zero. Rigid contacts have none.
    residuals : Residuals, optional
        By how much each law of contact was missed.
    last : tuple of ndarray, optional
        The last finite q and v of all samples.
    constraint_force : ndarray, shape (n, ..., m), optional
        Forces along the rows of a constrained robot, means over the step before; None for others.
    too_fast : ndarray of bool, shape (n, ...), optional
        Whether something moved so far in a step (twenty times what its shapes reach, or a radian) that contacts may
        have been missed; None, not known, for lazy runs.

    Examples
    --------
    >>> import fourbar as fb
    >>> import numpy as np
    >>> robot = fb.robots.double_pendulum()
    >>> fb.simulate(robot, [0.5, 0.0], duration=0.1, dt=0.01).q.shape
    (11, 2)
    >>> run = fb.rollout(fb.Scene(robot), np.zeros((3, 2)), dt=0.01, steps=10)
    >>> run.q.shape, bool(run.converged.all())
    ((11, 3, 2), True)
    """

    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    robot: System | None = field(default=None, repr=False)
    # Those of a robot alone, and of a scene, are declared as if they were always there: who simulates one has them.
    lost: np.ndarray = None  # type: ignore[assignment]
    steps: np.ndarray = None  # type: ignore[assignment]
    diverged: np.ndarray = None  # type: ignore[assignment]  (see __post_init__)
    u: np.ndarray | None = None
    act: Any = None
    observations: dict[str, np.ndarray] = field(default_factory=dict)
    scene: Scene | None = field(default=None, repr=False)
    contacts: Contacts = None  # type: ignore[assignment]
    residual: np.ndarray = None  # type: ignore[assignment]
    worst: np.ndarray = None  # type: ignore[assignment]
    converged: np.ndarray = None  # type: ignore[assignment]
    penetration: np.ndarray = None  # type: ignore[assignment]
    energy_gain: np.ndarray = None  # type: ignore[assignment]
    residuals: Residuals = None  # type: ignore[assignment]
    last: tuple[np.ndarray, np.ndarray] | None = None
    constraint_force: np.ndarray | None = None
    too_fast: np.ndarray | None = None

    def __post_init__(self) -> None:
        if self.diverged is None:
            late = self.q[-1] if len(self.q) else self.q.sum(axis=0)
            object.__setattr__(self, "diverged", np.asarray(~np.isfinite(late).all(axis=-1)))
        if self.robot is None and self.scene is not None:
            object.__setattr__(self, "robot", self.scene.robot)

    def __repr__(self) -> str:
        span = f"from t = {self.t[0]:g} to {self.t[-1]:g} s" if len(self.t) else "without times"
        shown = f"{quantity(len(self.t), 'state')} {span}, q {self.q.shape}, v {self.v.shape}"
        if is_lazy(self.q):  # to look at values would compute them
            return f"<fourbar Run, not computed: {shown}>"
        lost = f", {int(np.sum(self.diverged))} diverged" if self.q.ndim > 2 and np.any(self.diverged) else ""
        return f"<fourbar Run: {shown}{lost}{self._outcome()}>"

    def _outcome(self) -> str:
        """How well contacts were solved, for a scene."""
        if self.worst is None:
            return ""
        worst = np.max(self.worst, initial=0.0, where=np.isfinite(self.worst))
        solved = np.all(self.converged) and (self.scene is None or worst <= self.scene.spec.tolerance)
        return ", all solved" if solved else f", worst residual {worst:.2g}"

    @property
    def recording(self) -> RecordedMotion:
        """The motion as the viewer takes it.

        Returns
        -------
        RecordedMotion
            The robot and its configurations over time, each sample in a world of its own; of a scene also its terrain
            and the forces of contacts.

        Raises
        ------
        ArgumentError
            If the run has no robot.
        """
        scene, shown = self.scene, {}
        if scene is not None:
            forces = np.zeros((*self.q.shape[:-1], 0, 3)) if self.contacts is None else self.contacts.force
            points = scene.contact_points(self.q) if forces.shape[-2] else np.zeros(forces.shape)
            shown = {"terrains": tuple(scene.terrains), "touching": scene.added, "points": points, "forces": forces}
        return RecordedMotion.of(self.robot, self.t, self.q, **shown)

    @staticmethod
    @with_keyword_hints
    def load(path: str | Path, robot: System | Scene | None = None, folders: Iterable[str | Path] = ()) -> Run:
        """Read a motion that `save` wrote to a .npz file.

        Parameters
        ----------
        path : str or Path
            The file.
        robot : System or Scene, optional
            The robot that moved; the one in the file if None. Or the scene of the motion, which the file does not hold,
            and which is needed to show its terrain and contacts.
        folders : iterable of str or Path, optional
            Where meshes of the robot are looked for, besides the folders where they were.

        Returns
        -------
        Run
            The motion.

        Raises
        ------
        ArgumentError
            If the file is not such a motion, has no robot, or has contacts other than those of the scene.

        Examples
        --------
        >>> import fourbar as fb, tempfile
        >>> robot = fb.robots.four_bar()
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = fb.simulate(robot, robot.neutral(), duration=0.1, dt=0.01).save(f"{folder}/run.npz")
        ...     run = fb.Run.load(file)
        >>> run.q.shape, run.robot == robot
        ((11, 3), True)
        """
        scene = None if robot is None or isinstance(robot, System) else robot
        kind, arrays, robot = load_arrays(path, robot if scene is None else scene.robot, folders)  # type: ignore[arg-type]
        file = Path(path).name
        if kind != _KIND:
            raise ArgumentError(f"{file} holds a {kind}, not a {_KIND}; fb.view and `fourbar view` can show it")
        of_scene = "contact_names" in arrays
        forms = {"q": Form((robot.nq,)), "v": Form((robot.nv,))}
        forms |= _scene_forms(file, robot, arrays) if of_scene else {}
        forms |= {name: form for name, form in _OPTIONAL.items() if name in arrays} | observation_forms(arrays)
        forms |= {name: Form((size,)) for name, size in (("u", robot.nu), ("act", robot.na)) if name in arrays}
        if missing := [name for name in forms if name not in arrays]:
            raise ArgumentError(f"{file}: a {_KIND} has an array {missing[0]!r}, which is missing; it is damaged")
        check_forms(path, arrays, forms)
        names = tuple(str(name) for name in arrays["contact_names"]) if of_scene else ()
        if scene is not None and names != tuple(scene.contacts):
            raise ArgumentError(f"{file}: its {len(names)} contacts are not the {len(scene.contacts)} of the scene")
        more = {name: arrays[name] for name in (*_OPTIONAL, "u", "act") if name in arrays}
        more |= {"diverged": arrays["diverged"][()]} if "diverged" in arrays else {}
        return Run(
            arrays["t"], arrays["q"], arrays["v"], robot, scene=scene, observations=loaded_observations(arrays), **more,
            **(_loaded_contacts(names, arrays) if of_scene else {}),
        )  # fmt: skip

    def _arrays(self) -> dict[str, np.ndarray]:
        arrays = super()._arrays() | {"diverged": np.asarray(self.diverged)}
        if self.contacts is None:
            return arrays
        arrays |= {"gap": self.contacts.gap, "force": self.contacts.force, **self.residuals._asdict()}
        arrays["contact_names"] = np.array(self.contacts.names, str)
        return arrays if self.last is None else arrays | {"last_q": self.last[0], "last_v": self.last[1]}

    @with_keyword_hints
    def plot(
        self,
        what: Sequence[str] | None = None,
        *,
        joints: Sequence[str] | None = None,
        sample: int | tuple[int, ...] = 0,
        tau: np.ndarray | Callable[..., Any] | None = None,
    ) -> Any:
        """Draw the motion over time.

        Parameters
        ----------
        what : sequence of str, optional
            Parts among 'coordinates', 'velocities', 'torques', 'energy' and 'contacts'; all that are known but the
            velocities if None.
        joints : sequence of str, optional
            Joints to draw; if None all, of robots with many coordinates in loops the independent ones.
        sample : int or tuple of int, default 0
            Which sample of a batch is drawn.
        tau : array_like, shape (n, nv), or callable, optional
            Joint forces (N m, N) to draw: an array, or the function tau(t, q, v) of the simulation.

        Returns
        -------
        matplotlib.figure.Figure
            The figure. Coordinates are grouped by unit, and by limb where they are many; beyond their limits there are
            bands. Quaternions are drawn as roll, pitch and yaw.

        Raises
        ------
        ArgumentError
            If matplotlib is not installed, or the motion has no robot.

        See Also
        --------
        System.plot : The robot as a stick figure.

        Examples
        --------
        >>> import fourbar as fb
        >>> run = fb.simulate(fb.robots.double_pendulum(), [0.5, 0.0], duration=0.1, dt=0.01)
        >>> len(run.plot().axes)
        2
        """
        if self.robot is None:
            raise ArgumentError("plot: this motion has no robot; add it with replace(run, robot=robot)")
        batch = self.q.shape[1:-1]
        at = (slice(None), *_place(sample, batch))
        title = self.robot.name + (f", sample {sample} of {int(np.prod(batch))}" if batch else "")
        q, v = self.q[at], self.v[at]
        lost = None if self.lost is None else self.lost[at]
        forces = _joint_forces(tau, self.t, q, v)
        shown = PlottedMotion(self.robot, self.t, q, v, forces, lost, self._contact_forces(at))
        return plot_motion(shown, what, joints, title)

    def _contact_forces(self, at: tuple[Any, ...]) -> Mapping[str, np.ndarray] | None:
        """The size of the force of each contact over time, if there are any."""
        if self.contacts is None or not self.contacts.names:
            return None
        force = np.linalg.norm(self.contacts.force[at], axis=-1)
        return dict(zip(self.contacts.names, np.nan_to_num(force).T, strict=True))


def _scene_forms(file: str, robot: System, arrays: Mapping[str, np.ndarray]) -> dict[str, Form]:
    """The forms of the arrays that runs of scenes have, for as many contacts as the file names."""
    names = arrays["contact_names"]
    if names.ndim != 1 or (names.dtype.kind != "U" and names.size):
        raise ArgumentError(
            f"{file}: contact_names must hold names, got {names.dtype} {names.shape}; the file is damaged"
        )
    last = {"last_q": Form((robot.nq,), over_time=False), "last_v": Form((robot.nv,), over_time=False)}
    return {**_OF_SCENE, "diverged": _OPTIONAL["diverged"], "gap": Form((len(names),)), "force": Form((len(names), 3)),
            **last}  # fmt: skip


def penetration(gap: np.ndarray) -> np.ndarray:
    """How deep (m) the deepest contact of each state is, from gaps (..., n); zero if nothing overlaps, NaN of NaN."""
    return np.maximum(-gap.min(axis=-1, initial=np.inf), 0.0)


def _loaded_contacts(names: tuple[str, ...], x: Mapping[str, np.ndarray]) -> dict[str, Any]:
    """The fields of a run of a scene, from the arrays of a file."""
    return {
        "contacts": Contacts(names, x["gap"], x["force"], (x["force"] != 0.0).any(axis=-1)),
        "residuals": Residuals(*(x[name] for name in Residuals._fields)),
        "last": (x["last_q"], x["last_v"]),
        **{name: x[name] for name in (*MEASURES, "converged")},
    }


def _place(sample: Any, batch: tuple[int, ...]) -> tuple[int, ...]:
    """The indices of a sample in a batch."""
    if not batch:
        return ()
    try:
        at = sample if isinstance(sample, tuple) else np.unravel_index(sample, batch)
        return tuple(range(n)[i] for i, n in zip(at, batch, strict=True))
    except (IndexError, ValueError, TypeError):
        raise ArgumentError(
            f"plot: sample={sample!r}: expected the number of a sample, or its place in a batch {batch}"
        ) from None


def _joint_forces(tau: Any, t: np.ndarray, q: np.ndarray, v: np.ndarray) -> np.ndarray | None:
    """Joint forces (n, nv), from an array or a function of one sample."""
    if tau is None:
        return None
    if callable(tau):
        every = (np.asarray(tau(*now), float) for now in zip(t, q, v, strict=True))
        return np.array([np.broadcast_to(x, v.shape[1:]) for x in every])
    n, nv = v.shape
    try:
        array = np.asarray(tau, float)
    except (TypeError, ValueError):
        raise ArgumentError(f"plot: tau must be a function tau(t, q, v) or an array, got {tau!r:.80}") from None
    if array.ndim != 2 or array.shape[1] != nv or array.shape[0] not in (n, n - 1):
        raise ArgumentError(
            f"plot: tau must be a function tau(t, q, v) or an array ({n}, {nv}), one row for each recorded time, got "
            f"shape {array.shape}"
        )
    return np.concatenate([array, array[-1:]]) if len(array) < n else array
