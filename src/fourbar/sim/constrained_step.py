"""A Runge-Kutta step of a robot whose constraints are kept by forces, as a program.

Four passes of the constrained forward dynamics; then the state is put back on the constraints: q by Newton's steps
along M⁻¹ Aᵀ until φ is closed, v by the impulse that takes out what breaks a row. Where the rows that were chosen to
stand for all no longer do so, the new state is made infinite: such a step is left to `ConstrainedFollower`, which
solves by singular values.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ..algorithms.constrained.dynamics import ForwardDynamics, Still
from ..algorithms.constrained.multipliers import IndependentRows
from ..algorithms.energy import add
from ..expr import maximum, select
from ..functions.context import Context
from ..functions.registry import flat
from ..functions.rollout import Rollout
from ..spatial.linear import Vec
from ..system.constrained.method_recordings import given_state, nothing_prescribed, wanted
from ..system.constrained.robot import Constrained
from ..tolerances import CONVERGED, LOOSE, WEAK
from .runge_kutta_step import Followed, ForceLaw, RungeKutta, RungeKuttaStage, assembled, integrated

NEWTON = 5  # steps at most that close it: two are usual
_INFINITE = float("inf")


class Trust(NamedTuple):
    """The rows that stand for all, and how far rows may contradict each other."""

    chosen: IndependentRows
    tolerance: float


def doubt(trust: Trust, health: Vec) -> Any:
    """1 where a solution needs a closer look (see `Health`), -1 where it does not."""
    weakness, loose, gap = health
    return select(weakness < WEAK, select(loose < LOOSE, select(gap <= trust.tolerance, -1.0, 1.0), 1.0), 1.0)


def _larger(a: Any, b: Any) -> Any:
    return maximum(a, b)


def _widest(*phi: Vec) -> Any:
    """The largest gap of a row, less the tolerance."""
    worst: Any = 0.0
    for x in (x for own in phi for x in own):
        worst = maximum(worst, maximum(x, -x))
    return worst - CONVERGED


def _where_open(gap: Any, old: Vec, new: Vec) -> Vec:
    return Vec([select(gap > 0.0, y, x) for x, y in zip(old, new, strict=True)])


def _marked(lost: Any, stop: Any) -> Any:
    return select(stop > 0.0, _INFINITE, lost)


class ConstrainedStage(RungeKuttaStage):
    """One pass of a step of a robot with constraints."""

    def __init__(self, held: Constrained, law: ForceLaw) -> None:
        super().__init__(Followed(held.system, held.system), law)
        self.model = held._model
        self.trust = Trust(held.choose("forward_dynamics", {}), held._tolerance)
        self._health: Any = None

    def _solved(self, c: Context, tau: list[Any]) -> list[Any]:
        m: Any = self.model
        forward = ForwardDynamics(
            c.equations(m.touched), c.clusters, c.cluster_states, m.bundles, given_state(c), tau, c.F_ext(), c.gravity
        )  # fmt: skip
        force, self._health = forward.rowed.multipliers(forward.missing(wanted(c)), self.trust.chosen)
        return flat(forward.accelerations(force))

    def _stop(self, c: Context, now: Any, given: dict[str, Any]) -> Any:
        return c.recorder.call(_larger, now.stop, c.recorder.call(doubt, self.trust, self._health))


class Met(NamedTuple):
    """A state that is put back on the constraints: v is that of q as it was, with no row broken."""

    q: Any
    v: Any
    stop: Any


class ConstrainedRungeKutta(RungeKutta):
    """A whole step of a robot with constraints."""

    def __init__(self, stage: ConstrainedStage) -> None:
        super().__init__(stage)
        self._held = stage

    def write(self, recorder: Any, given: dict[str, tuple[Any, ...]]) -> dict[str, Sequence[Any]]:
        """Record it."""
        found = super().write(recorder, given)
        base, loose = self._held.base(recorder, given), Vec(found["v"])

        def again(now: Met) -> tuple[Met, Any]:
            return self._nearer(base, now, loose)

        (stop,), (lost,) = found.pop("stop"), found["lost"]
        end = recorder.repeat(again, Met(Vec(found["q"]), loose, stop), NEWTON)
        return {**found, "q": end.q, "v": end.v, "lost": (recorder.call(_marked, lost, end.stop),)}

    def _nearer(self, base: Context, now: Met, v: Vec) -> tuple[Met, Any]:
        """One Newton step of q where a row is open, v without what breaks a row, and how far rows were open."""
        c, m, trust = base.with_values({"q": now.q, "v": v}), self._held.model, self._held.trust
        call, bundles = c.recorder.call, m.bundles  # type: ignore[attr-defined]  (of a ConstrainedModel)
        s = c.equations(m.touched)  # type: ignore[attr-defined]
        still = Still(s, c.clusters, c.cluster_states, bundles, given_state(c), c.still(), nothing_prescribed(c))
        rows, clusters = still.rowed.rows, c.clusters
        gap = call(_widest, *(own.phi for own in rows))
        impulse, health = still.rowed.multipliers(Vec([x for own in rows for x in own.rate]), trust.chosen)
        jumps = zip(c.by_cluster("v"), still.answers(impulse), strict=True)
        kept = flat([call(add, *both) for both in jumps])
        back, _ = still.rowed.multipliers(Vec([x for own in rows for x in own.phi]), trust.chosen)
        ways = zip(clusters, c.by_cluster("q"), still.answers(back), strict=True)
        q = Vec(flat([call(integrated, cluster.embedding, x, way) for cluster, x, way in ways]))
        stop = call(_larger, now.stop, call(doubt, trust, health))
        return Met(call(_where_open, gap, Vec(now.q), q), Vec(kept), stop), gap


def constrained_rollout(held: Constrained, law: ForceLaw) -> Rollout:
    """The steps of a robot with constraints, ready to run."""
    key = None if law.is_traced else ("held", held._recipe[1:], law)
    step = ConstrainedRungeKutta(ConstrainedStage(held, law))
    return assembled(Followed(held.system, held.system), law, step, 0, key)
