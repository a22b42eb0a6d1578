"""One pass of a Runge-Kutta step (`runge_kutta_step.py`) as a function: for forces that Python is asked for, and for
libraries that differentiate, which make the four passes themselves.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..arrays import Argument
from ..expr import Program, flatten, leaves, unflatten
from ..functions.context import record_program
from ..functions.function import make
from ..functions.recording import BLOCK, Recording
from ..functions.varied_context import argument_names
from ..spatial.linear import Vec
from .runge_kutta_step import Followed, ForceLaw, Pass, RungeKuttaStage, control_sizes

_SCALARS = ("number", "lost", "stop")  # of a pass
Shapes = dict[str, tuple[int, ...]]


class StageRecording(Recording):
    """The recording of a stage: a pass, where the step starts, controls, dt, `usual` of loops, and
    parameters, to the next pass.

    A pass is several arguments and results, called as the fields of `Pass` are, without those that are empty; the
    start is q0 and v0. If it is `packed`, these are arrays `now` (N) and `start` (nq + nv). Derivatives are by entries.
    """

    name = "runge_kutta_stage"

    def __init__(self, followed: Followed, law: ForceLaw, packed: bool) -> None:
        super().__init__()
        now = followed.now
        self.model = now.model
        self._followed, self._law, self.packed = followed, law, packed
        self._stage, self._nq, self.watched = RungeKuttaStage(followed, law), now.nq, followed.watched
        begin = self._stage.begin({"q0": Vec([0.0] * now.nq), "v0": Vec([0.0] * now.nv)})
        self._structure = flatten(begin)[1]
        sizes = {name: len(leaves(part)) for name, part in zip(Pass._fields, begin, strict=True)}
        self.parts_of_pass: Shapes = {name: () if name in _SCALARS else (n,) for name, n in sizes.items() if n}
        ends = dict(zip(sizes, np.cumsum([*sizes.values()]).tolist(), strict=True))
        self.places = {name: slice(end - sizes[name], end) for name, end in ends.items()}  # in a packed pass
        self.size = sum(sizes.values())
        shapes: Shapes = {"now": (self.size,), "start": (now.nq + now.nv,)}
        if not packed:
            shapes = {**self.parts_of_pass, "q0": (now.nq,), "v0": (now.nv,)}
        self.results = ("next",) if packed else tuple(f"next_{name}" for name in self.parts_of_pass)
        self.arguments = tuple(Argument(name, shape) for name, shape in (shapes | self._rest()).items())

    def _rest(self) -> Shapes:
        """The other arguments of a pass."""
        robot, law = self._followed.robot, self._law
        sizes = control_sizes(robot)
        found: Shapes = {name: (sizes[name],) for name in law.given}
        found |= {"dt": ()} | ({"usual": (self.watched,)} if self.watched else {})
        return found | {name: x.shape for name, x in zip(argument_names(law.which), law.which, strict=True)}

    def write(self, present: tuple[str, ...], block: int = BLOCK) -> Program:
        return record_program(self.name, self._record, block)

    def _record(self, recorder: Any) -> list[tuple[str, tuple[int, ...], list[Any]]]:
        given = {a.name: recorder.input(a.name, a.shape) for a in self.arguments}
        if self.packed:
            entries, start = given.pop("now"), given.pop("start")
            q0, v0 = start[: self._nq], start[self._nq :]
        else:
            entries = tuple(x for name in self.parts_of_pass for x in given.pop(name))
            q0, v0 = given.pop("q0"), given.pop("v0")
        known: dict[str, Any] = {"q0": Vec(q0), "v0": Vec(v0), "dt": given["dt"][0]}
        known |= {name: Vec(given[name]) for name in (*self._law.given, "usual") if name in given}
        now = unflatten(self._structure, iter(entries))
        after = leaves(self._stage.write(self._stage.base(recorder, given), now, known))
        if self.packed:
            return [("next", (self.size,), after)]
        shapes = self.parts_of_pass.items()
        return [(f"next_{name}", shape, after[self.places[name]]) for name, shape in shapes]

    @property
    def parts(self) -> tuple[Any, ...]:
        return "stage", self._followed.now.mechanism, self._followed.robot.mechanism, self._law, self.packed

    @property
    def nan(self) -> str:
        return ""

    def pickle_recipe(self) -> tuple[Any, ...]:
        return unpickle_stage, self._followed, self._law, self.packed


def unpickle_stage(followed: Followed, law: ForceLaw, packed: bool) -> Any:
    """The compiled function of a stage, in another process."""
    return make(StageRecording(followed, law, packed))


class StageResult(NamedTuple):
    """q, v and the energy lost after a step, whether loops should be examined, and whether everything is finite."""

    q: np.ndarray
    v: np.ndarray
    lost: Any
    stop: bool
    finite: bool


class StageFunction:
    """One pass as a compiled function of arrays, in steps with forces tau that Python is asked for."""

    def __init__(self, followed: Followed, law: ForceLaw) -> None:
        recording = StageRecording(followed, law, packed=True)
        self._size, self._loops = recording.size, followed.loops
        self._q, self._v = recording.places["q"], recording.places["v"]
        self._lost, self._stop = (recording.places[name].start for name in ("lost", "stop"))
        self._call = make(recording)

    def step(
        self,
        t: float,
        q: np.ndarray,
        v: np.ndarray,
        dt: float,
        force: Any,
        usual: np.ndarray | None,
        folds: np.ndarray,
    ) -> StageResult:
        """The state after a step of length dt, with force(t, q, v) asked four times.

        `usual` (..., n): the velocities of all joints, for unit velocities, when loops were last examined; None if they
        have not been. `folds` (..., m): the numbers of branches near folds.
        """
        now, length = np.zeros((*v.shape[:-1], self._size)), np.array(dt)
        now[..., self._q], now[..., self._v], now[..., self._stop] = q, v, -1.0
        start = np.concatenate([q, v], axis=-1)
        more: tuple[Any, ...] = ()
        if self._loops:
            sizes = np.full((*v.shape[:-1], len(self._loops)), np.inf) if usual is None else usual[..., self._loops]
            more = (np.concatenate([sizes, folds], axis=-1),)
        for time in (t, t + 0.5 * dt, t + 0.5 * dt, t + dt):
            now = self._call(now, start, force(time, now[..., self._q], now[..., self._v]), length, *more)
        stop = bool(self._loops) and bool((now[..., self._stop] > 0.0).any())
        finite = bool(np.isfinite(now).all())
        return StageResult(now[..., self._q], now[..., self._v], now[..., self._lost], stop, finite)
