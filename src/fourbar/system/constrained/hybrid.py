"""Hybrid dynamics under constraints, by the names of the prescribed joints."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import ArgumentError
from ...functions.methods.dynamics import read_prescribed
from .dense_solvers import drive
from .drive_plan import make_plan
from .inverse_dynamics import LEAST
from .method_recordings import Prescribed
from .redundant_samples import Resolved

if TYPE_CHECKING:
    from .robot import Constrained


class HybridDynamics:
    """All accelerations and forces, where some accelerations and the other forces are given.

    Parameters
    ----------
    q : array_like, shape (..., nq)
        Configuration, with its loops closed.
    v : array_like, shape (..., nv)
        Velocity (rad/s, m/s).
    a : array_like, shape (..., nv)
        Acceleration (rad/s², m/s²); read for the joints in `prescribed`.
    tau : array_like, shape (..., nv)
        Joint forces (N m, N); read for all other joints.
    prescribed : sequence of str
        Joints whose acceleration is given.
    least : {'constraint', 'torque'}, default 'constraint'
        What is least where the forces are not unique: λ, or the forces of the prescribed joints.
    f_ext : array_like, shape (..., n_bodies, 6), or dict, optional
        Wrench [moment; force] (N m, N) on each body, at its origin and in its axes; or on some bodies,
        ``{"hand": wrench}``.
    row_acceleration : array_like, shape (..., m), optional
        How the rows accelerate (rad/s², m/s²) instead of not at all.
    out : tuple of ndarray, optional
        Arrays that receive the results.
    threads : int, optional
        Largest number of threads for a batch.

    Returns
    -------
    a : ndarray, shape (..., nv)
        Accelerations of all joints (rad/s², m/s²).
    tau : ndarray, shape (..., nv)
        Forces of all joints (N m, N).
    force : ndarray, shape (..., m)
        Forces λ along the rows (N m, N).

    Raises
    ------
    SingularError
        If the rows contradict each other (NaN and a warning in a batch).

    Notes
    -----
    Kim eq. 70-80. The derivatives take the options by name.

    Examples
    --------
    >>> import fourbar as fb
    >>> robot = fb.robots.double_pendulum()
    >>> held = robot.constrained(fb.constraints.Contact("tip", "touch"))
    >>> a, tau, force = held.hybrid_dynamics([0.1, 0.2], [1.0, 0.0], [0.5, 0.0], [0.0, 0.0], prescribed=["shoulder"])
    >>> a.round(3)
    array([ 0.5  , -8.153])
    """

    def __init__(self, robot: Constrained, tolerance: float) -> None:
        self._robot, self._tolerance = robot, tolerance

    def __repr__(self) -> str:
        return "<fourbar function hybrid_dynamics(q, v, a, tau, prescribed, least='constraint') -> a, tau, force>"

    def __reduce__(self) -> tuple[Any, ...]:
        return _hybrid_of, (self._robot,)

    def specialise(self, prescribed: Sequence[str] | None = None, least: str = "constraint") -> Resolved:
        """The function for one choice of the options: it takes arrays only."""
        if prescribed is None:
            example = "hybrid_dynamics(q, v, a, tau, prescribed=['hip'])"
            raise TypeError(f"hybrid_dynamics needs 'prescribed', names of joints, e.g. {example}")
        if least not in LEAST:
            raise ArgumentError(f"least={least!r}: expected one of {', '.join(map(repr, LEAST))}")
        names = prescribed if isinstance(prescribed, str) or not isinstance(prescribed, Iterable) else tuple(prescribed)
        held = read_prescribed(self._robot.system.model.cluster_tree, names)["prescribed"]
        if least == "constraint" or not any(map(any, held)):
            return self._robot.resolved("hybrid_dynamics", prescribed=held)
        return self._robot.once(("least torque", held), lambda: self._least_torque(held, names))

    def _least_torque(self, held: Prescribed, names: Sequence[str]) -> Resolved:
        """The function with least forces of the prescribed joints."""
        driven = [j for j, x in enumerate(x for own in held for x in own) if x]
        plan = make_plan(self._robot.samples("jacobian"), driven, None, True, self._robot.quiet_force)
        chosen = self._robot.choose("hybrid_dynamics", {"prescribed": held})
        options = {"chosen": chosen, "prescribed": held, "plan": plan}
        function, differentiable = (
            make("hybrid_torque", **options) for make in (self._robot.compiled, self._robot.differentiable)
        )
        dependent = self._robot.dependent(chosen.rows, held)
        by_svd = partial(_torque_by_svd, self._robot, held, np.isin(np.arange(self._robot.system.nv), driven))
        return Resolved(
            function,
            differentiable,
            by_svd,
            self._tolerance,
            (_torque_of, self._robot, names),
            dependent=dependent,
        )

    def __call__(
        self,
        q: Any,
        v: Any,
        a: Any,
        tau: Any,
        prescribed: Sequence[str] | None = None,
        least: str = "constraint",
        *,
        f_ext: Any = None,
        row_acceleration: Any = None,
        out: Any = None,
        threads: int | None = None,
    ) -> Any:
        given = {"f_ext": f_ext, "row_acceleration": row_acceleration}
        named = {name: x for name, x in given.items() if x is not None}
        return self.specialise(prescribed, least)(q, v, a, tau, out=out, threads=threads, **named)

    def jvp(self, args: Any, tangents: Any = (), *, prescribed: Sequence[str] | None = None, **options: Any) -> Any:
        """Rates of (a, tau, λ) along tangents of the arguments."""
        least = options.pop("least", LEAST[1])
        return self.specialise(prescribed, least).jvp(args, tangents, **options)

    def vjp(self, args: Any, cotangents: Any, *, prescribed: Sequence[str] | None = None, **options: Any) -> Any:
        """Gradients of Σ cotangent · result, for a cotangent of each of (a, tau, λ)."""
        least = options.pop("least", LEAST[1])
        return self.specialise(prescribed, least).vjp(args, cotangents, **options)

    def jacobian(self, *args: Any, prescribed: Sequence[str] | None = None, **named: Any) -> Any:
        """All first derivatives: `.a.q`, `.tau.a`, `.force.tau`, ..."""
        least = named.pop("least", LEAST[1])
        return self.specialise(prescribed, least).jacobian(*args, **named)


def _hybrid_of(robot: Constrained) -> Any:
    return robot.hybrid_dynamics


def _torque_of(robot: Constrained, prescribed: tuple[str, ...]) -> Any:
    return robot.hybrid_dynamics.specialise(prescribed, "torque")


def _torque_by_svd(robot: Constrained, held: Prescribed, driven: np.ndarray, given: dict[str, np.ndarray]) -> Any:
    """Least forces of the prescribed joints by singular values."""
    base: Any = robot.resolved("hybrid_dynamics", prescribed=held)
    a, tau, _ = base(**given)
    state = given["q"], given["v"]
    needed = robot.system.inverse_dynamics(*state, a, f_ext=given.get("f_ext")) - np.where(driven, 0.0, tau)
    found = drive(needed, robot.jacobian(given["q"]), driven, None, True, robot.quiet_force)
    tau = tau.copy()
    tau[..., driven] = found.tau
    return (a, tau, found.force), found.gap
