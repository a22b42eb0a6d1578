"""Inverse dynamics with an actuated set (Kim eq. 56-66): whose forces, and which of many solutions;
and hybrid dynamics, with the names of the prescribed joints.

The structure of such a problem is found at some configurations.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ...algorithms.constrained.drives import Plan
from ...algorithms.constrained.multipliers import IndependentRows
from ...errors import ArgumentError, unknown
from ...functions.methods.dynamics import PRESCRIBED, read_prescribed
from ...functions.registry import Option
from ...linalg import inverse_in_units, ranks, transpose
from ...tolerances import BALANCED, NOTHING
from ...tree.cluster_tree import ClusterTree
from .drive_recordings import METHODS
from .method_recordings import Prescribed
from .redundant_samples import BySvd, Dependent, Resolved, choose, drive

if TYPE_CHECKING:
    from .robot import Constrained

_NONE = IndependentRows((), ())


def make_plan(
    samples: np.ndarray, active: Sequence[int], weight: np.ndarray | None, least_torque: bool, quiet: float
) -> Plan:
    """Independent rows and velocities, from samples (s, k, n) of the rows; `quiet`: a small force."""
    k, n = samples.shape[1:]
    passive = [j for j in range(n) if j not in active]
    size = len(active) if least_torque else k
    L = np.eye(size) if weight is None else np.linalg.cholesky(weight)
    root = tuple(map(tuple, L.tolist()))
    if not least_torque:
        own = np.linalg.solve(L, samples[:, :, passive])
        held = choose(own, _typical(own))
        return Plan(tuple(active), tuple(passive), held, _NONE, _NONE, root, False, quiet, k)
    rows = choose(transpose(samples), _typical(transpose(samples)))
    C = _best(samples[:, list(rows.rows)])
    passive_C = _best(C[:, :, passive])
    held = choose(passive_C, _typical(passive_C))
    P = np.eye(len(rows.rows)) - passive_C @ inverse_in_units(passive_C)
    spare = choose(P) if len(held.rows) < len(rows.rows) else _NONE
    return Plan(tuple(active), tuple(passive), held, rows, spare, root, True, quiet, k)


def _best(samples: np.ndarray) -> np.ndarray:
    """The samples of largest rank."""
    if 0 in samples.shape:
        return samples
    found = ranks(samples / _typical(samples)[:, None])
    return samples[found == found.max()]


def _typical(samples: np.ndarray) -> np.ndarray:
    """The sizes (m) of the rows of samples (s, m, n), the largest of all samples: their units."""
    found = np.abs(samples).max(axis=(0, 2), initial=0.0)
    return np.where(found > NOTHING * found.max(initial=0.0), found, np.inf)


LEAST = ("torque", "constraint")
_SYMMETRIC = 1e-9  # tolerance of asymmetric entries of a weight, relative to √(W_ii W_jj)


@dataclass(frozen=True)
class Drives:
    """Actuated joints, the norm minimised where their forces are not unique, and its weight (None: the identity)."""

    joints: tuple[str, ...]
    least: str = "torque"
    weight: tuple[tuple[float, ...], ...] | None = None

    def places(self, cluster_tree: ClusterTree) -> list[int]:
        """The velocities of the spanning tree that are actuated, in the order of the joints."""
        first = cluster_tree.spanning_tree.first_v
        number = {c.name: i for i, c in enumerate(cluster_tree.moving)}
        return [first[number[j]] + k for j in self.joints for k in range(cluster_tree.moving[number[j]].joint.nv)]


def read_drives(cluster_tree: ClusterTree, drives: Any) -> Drives | None:
    """The drives of a robot, checked."""
    if drives is None or isinstance(drives, Drives):
        return drives
    joints, least, weight = drives
    if isinstance(joints, str) or not isinstance(joints, Sequence) or not joints:
        raise ArgumentError(f"actuated={joints!r}: expected a list of joint names, e.g. ['hip', 'knee']")
    known = [c.name for c in cluster_tree.moving]
    for name in joints:
        if name not in known:
            raise unknown("moving joint", name, known)
    if len(set(joints)) < len(joints):
        raise ArgumentError(f"actuated={list(joints)!r}: a joint is named twice")
    if least not in LEAST:
        raise ArgumentError(f"least={least!r}: expected 'torque' (of the actuators) or 'constraint' (forces)")
    return Drives(tuple(joints), least, _read_weight(weight))


def _read_weight(weight: Any) -> tuple[tuple[float, ...], ...] | None:
    """A positive definite matrix, or its diagonal, as tuples."""
    if weight is None:
        return None
    W: Any
    try:
        W = np.asarray(weight, float)
    except (TypeError, ValueError, OverflowError):
        W = np.zeros((0, 1))
    W = np.diag(W) if W.ndim == 1 else W
    square = W.ndim == 2 and W.shape[0] == W.shape[1] > 0 and bool(np.isfinite(W).all())
    if not square or not _is_symmetric(W) or not np.linalg.eigvalsh(W := 0.5 * (W + W.T))[0] > 0.0:
        raise ArgumentError(f"weight: expected a symmetric positive definite matrix or its diagonal, got {weight!r}")
    return tuple(map(tuple, W.tolist()))


def _is_symmetric(W: np.ndarray) -> bool:
    """Up to rounding: of each entry, beside those of a positive definite matrix on the diagonal."""
    size = np.sqrt(np.abs(np.diag(W)))
    return bool(np.all(np.abs(W - W.T) <= _SYMMETRIC * np.outer(size, size)))


def check_weight(weight: tuple[tuple[float, ...], ...] | None, size: int, what: str) -> np.ndarray | None:
    """The weight as an array, of the size of what it weighs."""
    if weight is not None and len(weight) != size:
        raise ArgumentError(f"weight has {len(weight)} rows, but there are {size} {what}")
    return None if weight is None else np.array(weight)


class Inverse(Resolved):
    """tau, force = inverse_dynamics(q, v, a, f_ext=None): forces of actuators and constraints for accelerations that
    the constraints allow."""

    def __init__(
        self,
        function: Any,
        differentiable: Any,
        by_svd: BySvd,
        rebuild: tuple[Any, ...],
        joints: Sequence[str],
        robot: Constrained,
        tolerance: float,
        dependent: Dependent | None,
    ) -> None:
        why = (
            f"the actuators {list(joints)!r} cannot cause the accelerations: forces of passive joints cannot be "
            "balanced (a singular configuration)"
        )
        super().__init__(function, differentiable, by_svd, BALANCED, rebuild, why, dependent)
        self._robot, self._allowed = robot, tolerance

    def __call__(self, *args: Any, out: Any = None, threads: int | None = None, **named: Any) -> Any:
        self._check(args, named)
        return super().__call__(*args, out=out, threads=threads, **named)

    def undefined_samples(self, args: Any, named: Mapping[str, Any] | None = None) -> np.ndarray:
        self._check(args, named)
        return super().undefined_samples(args, named)

    def _check(self, args: Any, named: Mapping[str, Any] | None) -> None:
        """Refuse accelerations that the constraints do not allow."""
        arrays = self.read(args, named)
        if not all(isinstance(x, np.ndarray) for x in arrays.values()):
            return  # lazy arrays are not checked
        gap = np.abs(self._robot.acceleration(arrays["q"], arrays["v"], arrays["a"]))
        if not np.any(gap > self._allowed * self._robot.quiet_rows):
            return
        terms = np.abs(self._robot.jacobian(arrays["q"])) @ np.abs(arrays["a"])[..., None]
        relative = np.nan_to_num(gap / (self._robot.quiet_rows + terms[..., 0]))
        if np.any(relative > self._allowed):
            row = int(np.argmax(relative) % gap.shape[-1])
            reached = np.nanmax(gap[..., row])
            raise ArgumentError(
                f"the constraints do not allow these accelerations: A a + Ȧ v reaches {reached:.3g} in "
                f"{self._robot.rows[row]}; take them from forward_dynamics, or prescribe some in hybrid_dynamics"
            )


def make_inverse(robot: Constrained, drives: Drives | None, tolerance: float, sprung: bool = False) -> Inverse:
    """The inverse dynamics of a robot with drives; `sprung`: with springs, dampers and friction of its joints."""
    name = "inverse_passive_dynamics" if sprung else "inverse_dynamics"
    if drives is None:
        raise ArgumentError(f"{name} needs the actuated joints: robot.constrained(..., actuated=['hip', ...])")
    cluster_tree, still = robot.system.model.cluster_tree, np.zeros(robot.system.nv)
    samples = robot.samples("spanning_forces", v=still, a=still)
    places, torque = drives.places(cluster_tree), drives.least == "torque"
    what = (len(places), "actuated velocities") if torque else (samples.shape[1], "rows of constraints and loops")
    weight = check_weight(drives.weight, *what)
    plan = make_plan(samples, places, weight, torque, robot.quiet_force)
    if torque and samples.shape[1] and not plan.rows.rows:
        raise robot.no_rows_error()
    held, passive = len(plan.held.rows), len(plan.passive)
    if held < passive:
        raise ArgumentError(
            f"actuated={list(drives.joints)!r} are too few: {passive} velocities are passive, and the "
            f"constraints determine only {held} of their forces; name more joints, or "
            "prescribe the accelerations of some joints only, with hybrid_dynamics(..., prescribed=[...])"
        )
    function, differentiable = (make(name, plan=plan) for make in (robot.compiled, robot.differentiable))
    by_svd = partial(_by_svd, robot, plan, weight, sprung)
    dependent = None if plan.is_direct else robot.dependent(())
    return Inverse(
        function, differentiable, by_svd, (_inverse_of, robot, name), drives.joints, robot, tolerance, dependent
    )


def _inverse_of(robot: Constrained, name: str) -> Any:
    return getattr(robot, name)


def _by_svd(
    robot: Constrained, plan: Plan, weight: np.ndarray | None, sprung: bool, given: dict[str, np.ndarray]
) -> Any:
    """Inverse dynamics by singular values."""
    tau, rows = robot.compiled("spanning_forces", passive=sprung)(**given)
    valid = np.isfinite(tau).all(axis=-1) & np.isfinite(rows).all(axis=(-2, -1))
    clean = np.where(valid[:, None], tau, 0.0), np.where(valid[:, None, None], rows, 0.0)
    places = np.array(plan.active)
    order = np.argsort(places)  # `drive` knows the velocities by their order
    W = weight if weight is None or not plan.least_torque else weight[np.ix_(order, order)]
    found = drive(*clean, np.isin(np.arange(tau.shape[-1]), places), W, plan.least_torque, plan.quiet)
    own = np.empty_like(found.tau)
    own[:, order] = found.tau
    return (own, found.force[..., : robot.m]), np.where(valid, found.gap, np.nan)


_LEAST = Option(
    "least",
    LEAST[1],
    type="{'constraint', 'torque'}",
    text="What is least where the forces are not unique: λ, or the forces of the prescribed joints.",
)
METHOD = METHODS["hybrid_dynamics"]._replace(options=(PRESCRIBED, _LEAST))


class HybridDynamics:
    """The function `hybrid_dynamics` of a constrained robot, with its options."""

    def __init__(self, robot: Constrained, tolerance: float) -> None:
        self._robot, self._tolerance = robot, tolerance

    @property
    def __doc__(self) -> str:
        return METHOD.doc

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
