"""`StepProblem`: the problem of one step in numbers, to look at, save, and solve alone, watching the solver."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..errors import ArgumentError
from ..expr.unrolled import Direct
from ..functions.context import Context
from ..spatial.linear import Mat, Vec
from . import gauss_seidel, interior, newton
from .candidates import Spec
from .contact_model import ContactModel
from .contact_step import Stepper
from .gauss_seidel import ContactProblem, RowBlock, Solution
from .impulse_solver import DenseRows, solve_with
from .interior import is_tight
from .interior_solver import InteriorBlock, solve_inside, without_open
from .least_norm import Steps
from .newton import Yielding

_WIDTH = 3  # numbers of a block's bounds at most
_ARRAYS = ("G", "g", "bounds", "discs", "is_joint", "names", "start", "tolerance", "redundant")


class Iteration(NamedTuple):
    """An iteration of the solver.

    phase: "sweep", "Newton", "smoothed", "proximal" (Newton steps with stiffer rows), "interior point", or "least norm"
    of impulses that are kept if they obey the laws as well. attempt: its number. residual: m/s, after the iteration.
    barrier: the barrier parameter, the velocity τ (m/s) of smoothed steps and the energy (J) of the interior point,
    zero for others.
    """

    phase: str
    attempt: int
    residual: float
    barrier: float


class SolvedProblem(NamedTuple):
    """Impulses (rows,) of a problem, velocities (rows,) with them, the residual (m/s), and the iterations."""

    impulse: np.ndarray
    velocity: np.ndarray
    residual: float
    iterations: tuple[Iteration, ...]


@dataclass(frozen=True, eq=False)
class StepProblem:
    """The problem of one step: impulses λ with c = G λ + g that obey the laws of contacts and joints.

    Rows of a contact are its normal, two of sliding friction, one of torsional and two of rolling friction, as far as
    it has these; a joint with limits or dry friction, and a constraint, are one row each.

    Parameters
    ----------
    G : ndarray, shape (rows, rows)
        Velocities by unit impulses (1/kg, 1/(kg m), 1/(kg m²)), with the compliance of normals.
    g : ndarray, shape (rows,)
        Velocities without impulses, with what the law adds: m/s, of joints rad/s too; moments of contacts are forces at
        the reach of the shape.
    bounds : ndarray, shape (blocks, 3)
        Of a contact the coefficients of its kinds of friction; of a joint the lower and upper end of its velocity and
        the impulse of dry friction. NaN where there are fewer.
    discs : ndarray of int, shape (blocks, 3)
        Rows of each kind of friction of a block, zero where there are fewer.
    is_joint : ndarray of bool, shape (blocks,)
        Whether a block is a row of a joint or constraint.
    names : tuple of str
        Names of the blocks.
    start : ndarray, shape (rows,)
        Impulses (N s, N m s) that the solver starts from.
    tolerance : float
        Residual (m/s) at which the solver stops.
    redundant : bool
        Whether the impulses may not be unique: then those of least norm are taken.

    Examples
    --------
    >>> import fourbar as fb
    >>> b = fb.Builder("ball")
    >>> _ = b.body("ball", joint=fb.joints.Free(), mass=2.0, inertia=(0.004, 0.004, 0.004))
    >>> scene = fb.Scene(b.build(), fb.Plane(0.5), contacts=[fb.contact.Shape("ball", "sphere", 0.1)])
    >>> problem = scene.problem([0, 0, 0.1, 1, 0, 0, 0], dt=0.001)
    >>> problem.names, problem.G.shape
    (('ball',), (3, 3))
    >>> solved = problem.solve()
    >>> round(float(solved.impulse[0]), 6), [x.phase for x in solved.iterations]
    (0.01962, ['sweep'])
    """

    G: np.ndarray
    g: np.ndarray
    bounds: np.ndarray
    discs: np.ndarray
    is_joint: np.ndarray
    names: tuple[str, ...]
    start: np.ndarray
    tolerance: float
    redundant: bool

    @property
    def blocks(self) -> tuple[RowBlock, ...]:
        """The rows of each block."""
        found, at = [], 0
        for discs, joint in zip(self.discs.tolist(), self.is_joint.tolist(), strict=True):
            found.append(RowBlock(at, tuple(n for n in discs if n), joint=joint))
            at += found[-1].size
        return tuple(found)

    def velocity(self, impulse: Any) -> np.ndarray:
        """Velocities of all rows.

        Parameters
        ----------
        impulse : array_like, shape (rows,)
            Impulses (N s, N m s).

        Returns
        -------
        ndarray, shape (rows,)
            c = G λ + g (m/s, rad/s).
        """
        return np.asarray(self.G @ np.asarray(impulse, float) + self.g)

    def solve(self, start: Any = None, *, tolerance: float | None = None, iterations: int = 200) -> SolvedProblem:
        """Solve the problem in Python, by the phases that steps run in machine code.

        Parameters
        ----------
        start : array_like, shape (rows,), optional
            Impulses to start from; those of the problem if None.
        tolerance : float, optional
            Residual (m/s) at which the solver stops; that of the problem if None.
        iterations : int, default 200
            Smoothed steps at most.

        Returns
        -------
        SolvedProblem
            Impulses, velocities, residual, and statistics of each iteration.

        Raises
        ------
        ArgumentError
            If there are not as many impulses as rows.
        """
        begin = self.start if start is None else np.asarray(start, float)
        if begin.shape != self.g.shape:
            raise ArgumentError(f"solve: expected {len(self.g)} impulses, got an array of shape {begin.shape}")
        if not len(self.g):
            return SolvedProblem(begin, self.g, 0.0, ())
        watch = _Watch()
        bounds = tuple(Vec([x for x in row if x == x]) for row in self.bounds.tolist())
        problem = ContactProblem(Mat(map(Vec, self.G.tolist())), Vec(self.g.tolist()), bounds)
        blocks = self.blocks
        scale = gauss_seidel.scaled(problem, blocks)
        rows = _WatchedRows(watch, problem, blocks, scale, self.redundant)
        effort = _Effort(self.tolerance if tolerance is None else float(tolerance), 3, iterations)
        with np.errstate(all="ignore"):
            found = solve_with(watch, rows, Vec(begin.tolist()), effort, rows)
        impulse = np.array(found.impulse, float)
        return SolvedProblem(impulse, self.velocity(impulse), float(found.residual), tuple(watch.iterations))

    def save(self, path: str | Path) -> Path:
        """Write the problem to a .npz file.

        Parameters
        ----------
        path : str or Path
            The file.

        Returns
        -------
        Path
            The file.
        """
        where = Path(path)
        with where.open("wb") as file:
            np.savez_compressed(file, allow_pickle=False, **{name: np.asarray(getattr(self, name)) for name in _ARRAYS})
        return where

    @staticmethod
    def load(path: str | Path) -> StepProblem:
        """Read a problem that `save` wrote.

        Parameters
        ----------
        path : str or Path
            The file.

        Returns
        -------
        StepProblem
            The problem.

        Raises
        ------
        ArgumentError
            If the file is not such a problem.
        """
        try:
            with np.load(path, allow_pickle=False) as file:
                held = {name: file[name] for name in _ARRAYS}
        except (OSError, ValueError, KeyError) as error:
            raise ArgumentError(f"{Path(path).name} is not a problem written by problem.save: {error}") from None
        names = tuple(map(str, held["names"].tolist()))
        more = {"tolerance": float(held["tolerance"]), "redundant": bool(held["redundant"])}
        return StepProblem(**{**held, "names": names, **more})


class _Effort(NamedTuple):
    """Settings of the solver: the residual (m/s) it aims at, sweeps at a time, most passes."""

    aim: float
    sweeps: int
    rounds: int


class _Watch(Direct):
    """Runs the solver on numbers, and keeps what each iteration does."""

    def __init__(self) -> None:
        self.iterations: list[Iteration] = []
        self.attempt, self.energy = 0, 0.0

    def call(self, function: Any, *args: Any) -> Any:
        found = function(*args)
        if function is interior.first or function is interior.lower:
            self.energy = float(found)
        return found

    def add(self, phase: str, residual: Any, barrier: Any = 0.0) -> None:
        """Add an iteration."""
        self.iterations.append(Iteration(phase, self.attempt, float(residual), float(barrier)))


class _WatchedRows(DenseRows):
    """Rows whose iterations are watched, with an interior-point phase."""

    _phase: tuple[str, Any] = ("sweep", 0.0)

    def sweep(self, at: Solution, again: bool = False) -> Vec:
        if again and self._phase[0] != "sweep":
            self.recorder.attempt += 1
        self._phase = ("sweep", 0.0)
        return super().sweep(at, again)

    def newton_step(self, at: Solution, attempt: Any) -> Vec:
        tau = 0.0 if attempt is None else attempt[0]
        self._phase = ("Newton" if attempt is None else "smoothed" if tau > 0.0 else "proximal", tau)
        return super().newton_step(at, attempt)

    def subtract(self, x: Vec, steps: Steps, length: Any) -> Vec:
        self._phase = ("least norm", 0.0)
        return super().subtract(x, steps, length)

    def evaluate(self, x: Vec, at: Solution | None = None) -> Solution:
        found = super().evaluate(x, at)
        self.recorder.add(self._phase[0], found.residual, self._phase[1])
        return found

    def interior_point(self, best: Solution, tolerance: float, going: Any) -> Solution:
        """The best of given impulses and, where `going` is above zero, of those found through the interior."""
        self._phase = ("interior point", 0.0)
        return self._joined(solve_inside(self.recorder, self, self._split(best), tolerance, going))

    def without_open_impulses(self, best: Solution, tolerance: float, going: Any) -> Solution:
        """Given impulses without those of open contacts."""
        self._phase = ("", 0.0)
        return self._joined(without_open(self.recorder, self, self._split(best), tolerance, going))

    def _parts(self, x: Sequence[Any]) -> tuple[Vec, ...]:
        return tuple(Vec(x[b.first : b.first + b.size]) for b in self.blocks)

    def _split(self, at: Solution) -> Solution:
        return Solution(self._parts(at.impulse), at.residual)

    def _joined(self, at: Solution) -> Solution:
        return super().evaluate(Vec([x for own in at.impulse for x in own]))

    def interior_blocks(self) -> list[InteriorBlock]:
        """Every block by itself."""
        every = zip(self.blocks, self.scale.own, self.problem.bounds, strict=True)
        return [
            InteriorBlock(b._replace(first=0), is_tight(b, bounds), own, Vec([0.0] * b.size), bounds)
            for b, own, bounds in every
        ]

    def velocities_of(self, x: Sequence[Vec]) -> Sequence[Vec]:
        """The velocities of all blocks under their impulses."""
        impulse = Vec([y for own in x for y in own])
        return self._parts([gauss_seidel.velocity(self.problem, impulse, i) for i in range(len(impulse))])

    def evaluate_at(self, x: Sequence[Vec], c: Sequence[Vec]) -> Solution:
        """Impulses with their residual, from their velocities."""
        impulse, velocities = (Vec([z for own in y for z in own]) for y in (x, c))
        residual = gauss_seidel.residual(self.scale, self.blocks, self.problem.bounds, impulse, velocities)
        if self._phase[0] == "interior point":
            self.recorder.add("interior point", residual, self.recorder.energy)
        return Solution(tuple(x), residual)

    def responses(self, yields: Sequence[Yielding]) -> Sequence[Vec]:
        """How much faster all blocks become by the steps that these are."""
        delta = newton.coupled_step(self.problem.G, tuple(yields))
        return self._parts([sum((a * b for a, b in zip(row, delta, strict=True)), 0.0) for row in self.problem.G])


def step_problem(model: ContactModel, spec: Spec, given: Mapping[str, tuple[float, ...]]) -> StepProblem:
    """The problem of the step of a model from numbers that are given by name, each as its flat entries."""
    c = Context.at(model, Direct(), given).in_steps()
    stepper = Stepper(c, spec)
    problem = stepper.problem(stepper.delassus())
    if stepper.impacts:
        problem = stepper._bouncing(problem, 1.0)
    blocks = stepper.blocks
    names = [*(x.name for x in spec.candidates), *(x.name for x in spec.joints)]
    names += [f"constraint {k}" for k in range(len(blocks) - len(names))]
    discs = np.array([[*b.discs, *[0] * (_WIDTH - len(b.discs))] for b in blocks], int).reshape(-1, _WIDTH)
    bounds = [[*map(float, x), *[np.nan] * (_WIDTH - len(x))] for x in problem.bounds]
    size = len(problem.g)
    return StepProblem(
        np.array([list(map(float, row)) for row in problem.G]).reshape(size, size),
        np.array(list(map(float, problem.g))), np.array(bounds).reshape(-1, _WIDTH), discs,
        np.array([b.joint for b in blocks], bool), tuple(names), np.array(given["impulse"], float), spec.aim,
        bool(stepper.is_redundant),
    )  # fmt: skip
