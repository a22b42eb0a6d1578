"""`Constrained`: a robot restricted by more than its joints and embedded loops."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ...algorithms.constrained.multipliers import IndependentRows
from ...arrays import Argument, to_array
from ...errors import ArgumentError, ModelError
from ...functions.arguments import Q
from ...functions.function import make_method
from ...functions.nan_reasons import without_wrong_coordinates
from ...functions.registry import Method
from ...linalg import ranks
from ...once import cached_property
from ...tree.closed_positions import CLOSED, RESTARTS, Opened, close, longest_length, turning_velocities, velocity_units
from ..closed_states import report_open
from ..inspection import Names
from ..massless_bodies import check_solvable
from . import drive_recordings as _driven  # noqa: F401  (registers its recordings)
from . import method_recordings as _balance  # noqa: F401  (registers how to differentiate)
from .constrained_model import ConstrainedModel, Frozen, Given, compute, constraint_names, read_gains, read_tolerance
from .inverse_dynamics import Drives, HybridDynamics, make_inverse, read_drives
from .method_recordings import METHODS, without_health
from .redundant_samples import Dependent, Resolved, by_svd
from .redundant_samples import choose as standing

if TYPE_CHECKING:
    from ..robot_methods import (
        ConstrainedAcceleration,
        ConstrainedForwardDynamics,
        ConstrainedHybridDynamics,
        ConstrainedImpulse,
        ConstrainedInverseDynamics,
        ConstrainedInversePassiveDynamics,
        ConstrainedJacobian,
        ConstrainedOsimInverse,
        ConstrainedRate,
        ConstrainedResidual,
    )
    from ..system import System

_SAMPLES, _NEAR = 3, (0.0, 0.1, 0.3)  # random configurations at which the rank of the rows is found; nudges of neutral

Recipe = tuple[Any, ...]


def _restore(kind: type[System], mechanism: Any, options: Recipe) -> Constrained:
    return Constrained(kind._without_checks(mechanism), *options)  # which was checked before


def _rebuild(made_by: str, robot: Recipe, name: str, static: tuple[tuple[str, Any], ...]) -> Any:
    """A function from its recipe and the method that makes it: how functions travel to other processes."""
    return getattr(_restore(*robot), made_by)(name, **dict(static))


class Constrained(Frozen):
    """A robot with constraints that are enforced by forces, made by `System.constrained`. Frozen, picklable.

    q and v are those of the robot. Every constraint is a number of rows A(q) v = 0 (named in `rows`), enforced by
    forces λ along the rows: M a + C v + g = τ + Aᵀ λ. Rows may be redundant. The functions are compiled and have
    derivatives like those of a robot.

    Parameters
    ----------
    system : System
        The robot.
    conditions : sequence of Condition or Loop
        The constraints.
    drives : tuple, optional
        Actuated joints, what is least, and its weight; see `System.constrained`.
    gains : tuple of float, optional
        Stiffness and damping that pull back what has drifted.
    tolerance : float, default 1e-05
        How far rows may contradict each other, relative to their size.
    names : sequence of str, optional
        Names of the constraints.

    Examples
    --------
    >>> import fourbar as fb
    >>> robot = fb.robots.double_pendulum()
    >>> held = robot.constrained(fb.constraints.Contact("tip", "touch"))
    >>> a, force = held.forward_dynamics([0.1, 0.2], [0.0, 0.0], [0.0, 0.0])
    >>> bool(abs(held.acceleration([0.1, 0.2], [0.0, 0.0], a)).max() < 1e-9)
    True
    """

    system: System
    _model: ConstrainedModel
    _drives: Drives | None
    _tolerance: float
    _made: dict[Any, Any]

    def __init__(
        self,
        system: System,
        conditions: Sequence[Given],
        drives: Any = None,
        gains: Any = None,
        tolerance: float = 1e-5,
        names: Any = None,
    ) -> None:
        cluster_tree = system.model.cluster_tree
        if not conditions:
            raise ModelError("constrained() needs a constraint, such as Contact('foot'); for motors see actuated()")
        called = constraint_names(system.mechanism, conditions, names)
        self.__dict__.update(
            system=system,
            _model=ConstrainedModel(
                system.mechanism, cluster_tree, conditions=tuple(conditions), names=called, gains=read_gains(gains)
            ),
            _drives=read_drives(cluster_tree, drives),
            _tolerance=read_tolerance(tolerance),
            _made={},
        )
        _ = self._model.groups

    @property
    def _recipe(self) -> Recipe:
        m = self._model
        return type(self.system), self.system.mechanism, (m.conditions, self._drives, m.gains, self._tolerance, m.names)

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, self._recipe

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Constrained) and self._recipe == other._recipe

    def __hash__(self) -> int:
        return hash(self._recipe)

    def __repr__(self) -> str:
        return f"<fourbar Constrained {self.system.name!r}: nv={self.system.nv}, {self.m} rows>"

    @property
    def m(self) -> int:
        """Number of rows.

        Returns
        -------
        int
            How many rows all constraints have.
        """
        return self._model.m

    @property
    def rows(self) -> tuple[str, ...]:
        """The names of the constraints to which the rows belong.

        Returns
        -------
        tuple of str
            A name per row, in the order of λ.
        """
        return self._model.rows

    @property
    def constraints(self) -> tuple[str, ...]:
        """Names of the constraints.

        Returns
        -------
        tuple of str
            In the order in which they were given.
        """
        return self._model.names

    @cached_property
    def names(self) -> Names:
        """Names of all parts of the robot and its constraints.

        Returns
        -------
        Names
            Those of the robot; `numbers` has those of the constraints too: 'contact1.at_frame', 'distance2.length',
            'stabilize.damping', ...
        """
        return self.system.names._replace(numbers=tuple(x.name for x in self._model.numbers))

    def compiled(self, name: str, **static: Any) -> Any:
        """One of the compiled functions, by name."""
        check_solvable(self._model.cluster_tree, METHODS[name], name)
        key = tuple(sorted(static.items()))
        rebuild = (_rebuild, "compiled", self._recipe, name, key)
        make = partial(make_method, self._model, name, METHODS[name], lambda _: static, rebuild)
        return self.once((name, key), make)

    def differentiable(self, name: str, **static: Any) -> Any:
        """The compiled function without its last result, a measure of trust: the part that is differentiated."""
        key = tuple(sorted(static.items()))
        rebuild = (_rebuild, "differentiable", self._recipe, name, key)
        return self.once(
            (name, key, "differentiable"),
            partial(make_method, self._model, name, without_health(name), lambda _: static, rebuild),
        )

    def resolved(self, name: str, **static: Any) -> Any:
        """A problem with unknown forces along the rows, by name."""
        check_solvable(self._model.cluster_tree, METHODS[name], name)
        key = tuple(sorted(static.items()))

        def make() -> Resolved:
            chosen = self.choose(name, static)
            both = self.compiled, self.differentiable
            function, differentiable = (make(name, chosen=chosen, **static) for make in both)
            solve = by_svd(
                lambda: self.compiled(f"{name}_factor", **static),
                lambda: self.compiled(f"{name}_apply", **static),
                self.quiet_rows,
            )
            rebuild, dependent = (_rebuild, "resolved", self._recipe, name, key), self.dependent(chosen.rows, **static)
            return Resolved(function, differentiable, solve, self._tolerance, rebuild, dependent=dependent)

        return self.once(("resolved", name, key), make)

    def dependent(self, standing: Sequence[int], prescribed: Any = ()) -> Dependent | None:
        """The check of rows that others represent, if there are any."""
        if len(standing) == self.m:
            return None
        held = [x for own in prescribed for x in own] or [False] * self.system.nv
        return Dependent(self._model, self.jacobian, [not x for x in held])

    @cached_property
    def forward_dynamics(self) -> ConstrainedForwardDynamics:
        """Accelerations and constraint forces caused by joint forces: ``a, force = forward_dynamics(q, v, tau)``.

        Takes q (..., nq), v (..., nv), tau (..., nv) (N m, N), and optionally f_ext (..., n_bodies, 6), wrenches on the
        bodies in their frames, and row_acceleration (..., m), how the rows accelerate instead of not at all. Solves M a
        + C v + g = τ + Aᵀ λ and A a + Ȧ v = 0 (Kim eq. 67-69), in O(n) and m³. Where rows are redundant, λ is the least
        of all that do the same.

        Returns
        -------
        Resolved
            The function; it returns a (..., nv) (rad/s², m/s²) and λ (..., m) (N, N m).
        """
        return self.resolved("forward_dynamics")

    @cached_property
    def impulse(self) -> ConstrainedImpulse:
        """Jump of the velocity when the constraints become active at once: ``v, impulses = impulse(q, v)``.

        Takes q (..., nq), v (..., nv), and optionally restitution (..., m): rows are -restitution times what they were
        afterwards, zero without it. This is also the projection of v on the constraints in the sense of kinetic energy.

        Returns
        -------
        Resolved
            The function; it returns v (..., nv) (rad/s, m/s) and the impulses (..., m) along the rows (N s, N m s).
        """
        return self.resolved("impulse")

    @cached_property
    def hybrid_dynamics(self) -> ConstrainedHybridDynamics:
        """All accelerations and forces, where some accelerations are prescribed.

        ``a, tau, force = hybrid_dynamics(q, v, a, tau, prescribed=[...])`` takes q (..., nq), v, a, tau (..., nv) and
        the option prescribed, names of joints: their entries of `a` are read, and the other joints' entries of `tau`.
        Where the forces are not unique, least='constraint' makes λ least, least='torque' the forces of the prescribed
        joints. Optionally f_ext and row_acceleration, as for `forward_dynamics` (Kim eq. 70-80).

        Returns
        -------
        Hybrid
            The function; it returns a (..., nv), τ (..., nv) and λ (..., m).
        """
        made: Any = HybridDynamics(self, self._tolerance)
        return made

    @cached_property
    def inverse_dynamics(self) -> ConstrainedInverseDynamics:
        """Forces of drives and constraints that cause accelerations: ``tau, force = inverse_dynamics(q, v, a)``.

        Takes q (..., nq), v (..., nv), a (..., nv), which the constraints must allow, and optionally f_ext (...,
        n_bodies, 6) and tau_passive (..., n), given forces of joints. Where the drives are more than enough, `least` of
        `System.constrained` says what is least (Kim eq. 56-66). Springs and damping: `inverse_passive_dynamics`.

        Returns
        -------
        Inverse
            The function; it returns τ (..., n_actuated) (N m, N) and λ (..., m).

        Raises
        ------
        ArgumentError
            If the robot was constrained without `actuated=`, or the drives are too few.
        """
        made: Any = make_inverse(self, self._drives, self._tolerance)
        return made

    @cached_property
    def inverse_passive_dynamics(self) -> ConstrainedInversePassiveDynamics:
        """Forces of drives and constraints that, together with springs and damping, cause accelerations.

        ``tau, force = inverse_passive_dynamics(q, v, a)`` takes what `inverse_dynamics` takes, and optionally
        friction_velocity (...), over which dry friction is smoothed (rad/s, m/s): without it there is none.

        Returns
        -------
        Inverse
            The function; it returns τ (..., n_actuated) (N m, N) and λ (..., m).
        """
        made: Any = make_inverse(self, self._drives, self._tolerance, sprung=True)
        return made

    @property
    def jacobian(self) -> ConstrainedJacobian:
        """Rows of the constraints: ``A = jacobian(q)``.

        Returns
        -------
        Function
            The function; it returns A (..., m, nv): A v is zero while the constraints hold.
        """
        return self.compiled("jacobian")

    @property
    def residual(self) -> ConstrainedResidual:
        """Residuals of loops and functions, zero where they are closed: ``phi = residual(q)``.

        Returns
        -------
        Function
            The function; it returns φ (..., m) (m, rad), zero for rows that hold velocities only.
        """
        return self.compiled("residual")

    @property
    def rate(self) -> ConstrainedRate:
        """Rates of the rows: ``rate(q, v)``.

        Returns
        -------
        Function
            The function; it returns A v (..., m), zero while the constraints hold.
        """
        return self.compiled("rate")

    @property
    def acceleration(self) -> ConstrainedAcceleration:
        """Accelerations of the rows: ``acceleration(q, v, a)``.

        Returns
        -------
        Function
            The function; it returns A a + Ȧ v (..., m).
        """
        return self.compiled("acceleration")

    @property
    def osim_inverse(self) -> ConstrainedOsimInverse:
        """Inverse inertia along the rows: ``Omega = osim_inverse(q)``.

        Returns
        -------
        Function
            The function; it returns Ω = A M⁻¹ Aᵀ (..., m, m), without forming M.
        """
        return self.compiled("osim_inverse")

    def rank(self, q: Any) -> np.ndarray:
        """Number of independent rows.

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Configuration, with its loops closed.

        Returns
        -------
        ndarray of int, shape (...)
            The rank of A at q.
        """
        given = to_array("rank", Argument("q", (self.system.nq,)), q)
        Y, _ = self.compiled("impulse_factor")(given, np.zeros(self.system.nv))
        if not np.all(np.isfinite(Y)):
            raise ArgumentError("rank: in some samples the rows are not finite; check q there")
        return ranks(Y)

    def project(self, q: Any, v: Any = None) -> Any:
        """States near given ones that meet the constraints.

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Guess.
        v : array_like, shape (..., nv), optional
            Velocity (rad/s, m/s).

        Returns
        -------
        ndarray, shape (..., nq), or tuple of ndarray
            Configurations in which loops and functions are closed; if v is given, also the velocities (..., nv) nearest
            to v in the sense of kinetic energy that break no row. Newton's steps lead there from q, else from starts
            beside it: near, but not the nearest of all.

        Raises
        ------
        AssemblyError
            If the constraints cannot be met from here (NaN and a warning in a batch).
        """
        argument = Argument("q", (self.system.nq,))
        array = np.array(to_array("project", argument, q))
        found = self._close(without_wrong_coordinates(self._model.cluster_tree, "project", array))
        return found if v is None else (found, self.impulse(found, v)[0])

    def _close(self, q: np.ndarray) -> np.ndarray:
        moved = partial(self.compiled("trial_step"), dt=1.0)
        closed, gaps = self._nearest(q.reshape(-1, q.shape[-1]), Opened(self.residual, self.jacobian, moved))
        lost = ~(gaps <= CLOSED)
        if np.any(lost):
            gap = np.abs(self.residual(closed[lost])).max(axis=-1, initial=0.0)
            report_open("the constraints cannot be satisfied from {this}", gap, q.ndim == 1)
        closed[lost] = np.nan
        return closed.reshape(q.shape)

    def _nearest(self, q: np.ndarray, opened: Opened, restarts: int = RESTARTS) -> tuple[np.ndarray, np.ndarray]:
        """Configurations near q (n, nq) that meet the constraints, and gaps (n) that are left."""
        cluster_tree = self._model.cluster_tree
        return close(q, opened, turning_velocities(cluster_tree), longest_length(cluster_tree), restarts)

    def samples(self, name: str, **values: Any) -> np.ndarray:
        """The last result of a recording at some configurations in which the constraints are met."""
        found = [self._run(METHODS[name], q=q, **values)[-1] for q in self._configurations]
        return np.array([x for x in found if np.all(np.isfinite(x))] or found)

    @cached_property
    def quiet_force(self) -> float:
        """A force that is small for this robot: a thousandth of what unit accelerations and gravity take somewhere."""
        method, v, a = METHODS["spanning_forces"], np.zeros(self.system.nv), np.ones(self.system.nv)
        forces = [self._run(method, q=q, v=v, a=a)[0] for q in self._configurations]
        return 1e-3 * float(np.nanmax(np.abs(forces)))

    @cached_property
    def quiet_rows(self) -> np.ndarray:
        """Accelerations of the rows (m) that are small for this robot: a thousandth of what unit ones do somewhere."""
        found = np.abs(self.samples("jacobian")).sum(axis=-1).max(axis=0)
        return 1e-3 * np.where(found > 0.0, found, 1.0)

    def once(self, key: Any, make: Callable[[], Any]) -> Any:
        """The cached value of a key."""
        if key not in self._made:
            self._made[key] = make()
        return self._made[key]

    @cached_property
    def _configurations(self) -> list[np.ndarray]:
        """Some configurations in which the constraints are met, if such are found: near the neutral one, where a robot
        is built, and elsewhere, where it may be assembled in other ways."""
        rng = np.random.default_rng(0)
        starts = [self.system.random(rng) for _ in range(_SAMPLES)]
        if not any(b.traced.holonomic for b in self._model.groups):
            return starts
        neutral, moved = self.system.model.neutral(), METHODS["trial_step"]
        tree = self._model.cluster_tree
        unit = velocity_units(turning_velocities(tree), longest_length(tree))
        nudges = [size * unit * rng.normal(size=self.system.nv) for size in _NEAR]
        starts += [self._run(moved, q=neutral, v=v, dt=[1.0])[0] for v in nudges]
        closed = [self._closed_number(q) for q in starts]
        return [q for q in closed if q is not None] or starts

    def _closed_number(self, q: np.ndarray) -> np.ndarray | None:
        """`_closed` without compiling anything, from one start; None if it fails."""
        residual, jacobian, moved = METHODS["residual"], METHODS["jacobian"], METHODS["trial_step"]
        opened = Opened(
            lambda q: np.array([self._run(residual, q=x)[0] for x in q]),
            lambda q: np.array([self._run(jacobian, q=x)[0] for x in q]),
            lambda q, v: np.array([self._run(moved, q=x, v=y, dt=[1.0])[0] for x, y in zip(q, v, strict=True)]),
        )
        with np.errstate(all="ignore"):  # the constraints may have no value at a start
            found, gaps = self._nearest(q[None], opened, restarts=0)
        return found[0] if gaps[0] <= CLOSED else None

    def _run(self, method: Method, static: dict[str, Any] | None = None, **values: Any) -> list[np.ndarray]:
        """A recording, run on numbers; NaN or infinite where a result is undefined."""
        return compute(self._model, method, static or {}, values)

    def choose(self, name: str, static: dict[str, Any]) -> IndependentRows:
        """The rows that stand for all, where the constraints are met."""
        method = METHODS[f"{name}_factor"]
        zeros = {x.name: np.zeros(x.shape(self._model)) for x in method.inputs if x is not Q}
        samples = [self._run(method, static, q=q, **zeros)[0] for q in self._configurations]
        valid = [Y for Y in samples if np.all(np.isfinite(Y))]
        if not valid or not (chosen := standing(np.array(valid))).rows:
            raise self.no_rows_error()
        return chosen._replace(quiet=tuple(self.quiet_rows.tolist()))

    def no_rows_error(self) -> ModelError:
        """The error where the rows are zero wherever the constraints are satisfied."""
        return ModelError(f"the constraints restrict nothing: no row of {', '.join(self.rows)} depends on a velocity")
