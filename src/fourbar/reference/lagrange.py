"""The equations of motion from the energies alone, by differentiating them: the way of Lagrange, Boltzmann and Hamel.

Kinetic energy T(q, v) and potential energy U(q) of the spanning tree are traced once; all else is derivatives of these
traces. For velocities v that are no rates of coordinates (quasi-velocities: spherical, planar and free joints) the
equations are those of Boltzmann and Hamel, with the momenta p = ∂T/∂v,

    d/dt p_i - p · [v, e_i] - X_i (T - U) = τ_i

where X_i is the derivative along a unit velocity, of f(q ⊕ t e_i), and [v, e_i] the bracket of velocities (ad_v e_i
on a Lie group; zero where v = q̇, and then these are Lagrange's equations). Loops do no work: with q̇ = G ẏ the
forces on the independent velocities are Gᵀ τ.

Much slower than the recursive algorithms, and independent of them: of the library's mechanics only the energies and the
joints are used. Plain NumPy, batched over leading axes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..algorithms import energy
from ..algorithms.sweep import Sweeps
from ..expr import Direct, Expr, Graph, evaluate, jvp, prepare, vjp
from ..joints.rates import derived_coadjoint
from ..once import cached_property
from ..spatial.linear import Scalar
from ..system.system import System
from ..tree.spanning_tree import SpanningTree

__all__ = ["Lagrangian"]


class _Traced(NamedTuple):
    """Forces, momenta and X U as expressions of the coordinates, velocities and accelerations of the spanning tree."""

    q: tuple[Expr, ...]
    v: tuple[Expr, ...]
    a: tuple[Expr, ...]
    tau: list[Scalar]
    p: list[Scalar]
    weight: list[Scalar]


def _trace(tree: SpanningTree, gravity: Sequence[float]) -> _Traced:
    """Differentiate T(q ⊕ (δ + t w), v + t a) and U(q ⊕ δ) at δ = 0, t = 0, w = v."""
    work, final = Graph(), Graph()
    q = work.inputs("q", tree.nq)
    v, a, w, delta = (work.inputs(name, tree.nv) for name in ("v", "a", "w", "delta"))
    (t,) = work.inputs("t", 1)
    shifts: list[Any] = [d + t * x for d, x in zip(delta, w, strict=True)]  # type: ignore[operator]
    parts = zip(tree.links, tree.split_q(q), tree.split_v(shifts), strict=True)
    moved = [x for link, own, shift in parts for x in link.joint.integrate(own, shift)]
    fast = [x + t * y for x, y in zip(v, a, strict=True)]  # type: ignore[operator]
    s = Sweeps(tree, Direct(), moved, fast)
    T, U = energy.kinetic_energy(s, tree.split_v(fast)), energy.potential_energy(s, gravity)
    p = vjp([T], [1.0], v)
    drawn = vjp([T], [1.0], delta)
    weight = vjp([U], [1.0], delta)
    known: dict[Expr, Any] = dict.fromkeys((*delta, t), 0.0)
    q_out, v_out, a_out = final.inputs("q", tree.nq), final.inputs("v", tree.nv), final.inputs("a", tree.nv)
    known.update(zip((*q, *v, *a, *w), (*q_out, *v_out, *a_out, *v_out), strict=True))
    flat = evaluate([*jvp(p, {t: 1.0}), *p, *drawn, *weight], known)
    p_rate, p, drawn, weight = (flat[k * tree.nv : (k + 1) * tree.nv] for k in range(4))
    turned: list[Scalar] = []
    for link, own_p, own_v in zip(tree.links, tree.split_v(p), tree.split_v(v_out), strict=True):
        turned += derived_coadjoint(link.joint, own_v, own_p)
    tau = [r - b - d + u for r, b, d, u in zip(p_rate, turned, drawn, weight, strict=True)]
    return _Traced(q_out, v_out, a_out, tau, p, weight)


class Lagrangian:
    """Equations of motion of a robot from its energies alone.

    Parameters
    ----------
    robot : System
        The robot.

    Examples
    --------
    >>> import fourbar as fb
    >>> robot = fb.robots.double_pendulum()
    >>> fb.lagrange.Lagrangian(robot).inverse_dynamics([0.1, 0.2], [1.0, 0.0], [0.0, 0.0]).round(4)
    array([1.1004, 0.4797])
    """

    def __init__(self, robot: System) -> None:
        self.robot = robot
        self._tree = robot.model.cluster_tree.spanning_tree

    def inverse_dynamics(self, q: Any, v: Any, a: Any) -> np.ndarray:
        """Joint forces that cause given accelerations.

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Configuration, with its loops closed.
        v : array_like, shape (..., nv)
            Velocity (rad/s, m/s).
        a : array_like, shape (..., nv)
            Acceleration (rad/s², m/s²).

        Returns
        -------
        ndarray, shape (..., nv)
            τ = M a + C v + g (N m, N).
        """
        q, v, a = (np.asarray(x, float) for x in (q, v, a))
        full = self.robot.expand_acceleration(q, v, a)
        tau = self._forces(self.robot.expand(q), self.robot.expand_velocity(q, v), full)
        return self._project(q, tau)

    def bias_force(self, q: Any, v: Any) -> np.ndarray:
        """Joint forces at acceleration zero.

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Configuration, with its loops closed.
        v : array_like, shape (..., nv)
            Velocity (rad/s, m/s).

        Returns
        -------
        ndarray, shape (..., nv)
            C v + g (N m, N).
        """
        return self.inverse_dynamics(q, v, np.zeros(self.robot.nv))

    def gravity_force(self, q: Any) -> np.ndarray:
        """Joint forces that hold the robot still.

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Configuration, with its loops closed.

        Returns
        -------
        ndarray, shape (..., nv)
            ∂U/∂q along the velocities (N m, N).
        """
        return self._project(np.asarray(q, float), self._weight(self.robot.expand(q)))

    def momenta(self, q: Any, v: Any) -> np.ndarray:
        """Generalized momenta.

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Configuration, with its loops closed.
        v : array_like, shape (..., nv)
            Velocity (rad/s, m/s).

        Returns
        -------
        ndarray, shape (..., nv)
            ∂T/∂v = M v (kg m²/s, kg m/s), with those of armatures.
        """
        return self._project(
            np.asarray(q, float), self._momenta(self.robot.expand(q), self.robot.expand_velocity(q, v))
        )

    def mass_matrix(self, q: Any) -> np.ndarray:
        """Mass matrix: second derivatives of the kinetic energy.

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Configuration, with its loops closed.

        Returns
        -------
        ndarray, shape (..., nv, nv)
            ∂²T/∂v² (kg m², kg m, kg), with armatures on its diagonal.
        """
        n = self._tree.nv
        full = self._mass_matrix(self.robot.expand(q))
        M = full.reshape(*full.shape[:-1], n, n)
        G = self.robot.loop_map(q)
        return np.swapaxes(G, -1, -2) @ M @ G

    def _project(self, q: np.ndarray, tau: np.ndarray) -> np.ndarray:
        """Gᵀ τ."""
        return (np.swapaxes(self.robot.loop_map(q), -1, -2) @ tau[..., None])[..., 0]

    @cached_property
    def _expressions(self) -> _Traced:
        return _trace(self._tree, self.robot.gravity)

    @cached_property
    def _forces(self) -> Callable[..., np.ndarray]:
        t = self._expressions
        return _function(t.tau, t.q, t.v, t.a)

    @cached_property
    def _momenta(self) -> Callable[..., np.ndarray]:
        return _function(self._expressions.p, self._expressions.q, self._expressions.v)

    @cached_property
    def _weight(self) -> Callable[..., np.ndarray]:
        return _function(self._expressions.weight, self._expressions.q)

    @cached_property
    def _mass_matrix(self) -> Callable[..., np.ndarray]:
        t = self._expressions
        rows = [vjp([x], [1.0], t.v) for x in t.p]
        return _function([x for row in rows for x in row], t.q)


def _function(roots: Sequence[Scalar], *inputs: tuple[Expr, ...]) -> Callable[..., np.ndarray]:
    """A function of arrays (..., n), one for each cluster of inputs, that returns the roots as an array (..., m)."""
    run = prepare(roots, [x for cluster in inputs for x in cluster])

    def function(*arrays: np.ndarray) -> np.ndarray:
        shape = np.broadcast_shapes(*(x.shape[:-1] for x in arrays))
        columns: Iterable[Any] = (x[..., i] for x in arrays for i in range(x.shape[-1]))
        found = np.empty((*shape, len(roots)))
        for i, x in enumerate(run(columns)):
            found[..., i] = x
        return found

    return function
