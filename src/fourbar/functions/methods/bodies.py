"""All bodies at once: how they move, and what forces on them mean for the joints."""

from __future__ import annotations

from ...algorithms import bodies
from ..arguments import F_EXT, Q, V
from ..context import Context
from ..registry import Outputs, flat, method, vector


@method(Q, V, results="V")
def twists(c: Context) -> Outputs:
    """Twists V (..., n_bodies, 6) = [angular; linear] of all bodies: of their origins, in their own axes."""
    homes = [c.model.cluster_tree.bodies[b.name] for b in c.model.mechanism.bodies]
    found = bodies.twists(c.sweeps(), c.velocities(), homes)
    return [("V", (len(homes), 6), flat([V.six() for V in found]))]


@method(Q, results="J")
def jacobians(c: Context) -> Outputs:
    """Jacobians J (..., n_bodies, 6, nv) of all bodies: their `twists` are J v."""
    homes = [c.model.cluster_tree.bodies[b.name] for b in c.model.mechanism.bodies]
    rows = [row for J in bodies.jacobians(c.sweeps(), homes) for row in c.columns(J)]
    return [("J", (len(homes), 6, c.nv), flat(rows))]


@method(Q, F_EXT, results="tau")
def generalized_force(c: Context) -> Outputs:
    """Σ Jᵀ F (..., nv): the joint forces that do the work of wrenches f_ext (..., n_bodies, 6) on bodies."""
    return vector(c, "tau", c.project(bodies.generalized_force(c.sweeps(), c.F_ext())))
