"""Hybrid dynamics under constraints, by the names of the prescribed joints."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import ArgumentError
from ...functions.methods.dynamics import PRESCRIBED, read_prescribed
from ...functions.registry import Option
from .dense_solvers import drive
from .drive_recordings import METHODS
from .inverse_dynamics import LEAST, make_plan
from .method_recordings import Prescribed
from .redundant_samples import Resolved

if TYPE_CHECKING:
    from .robot import Constrained


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
