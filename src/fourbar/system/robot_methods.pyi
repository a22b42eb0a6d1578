"""The types of a robot's methods. Made from the registry by `python docs/make_stub.py`: do not edit."""
# ruff: noqa: E501

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, Protocol, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]
Arrays = ArrayLike | tuple[ArrayLike | None, ...] | Mapping[str, ArrayLike | None]
Names = str | Sequence[str]
Wrenches = ArrayLike | Mapping[str, ArrayLike]
Result = TypeVar("Result", covariant=True)

class Function(Protocol):
    """What every function of a robot has besides the call and its derivatives."""

    __name__: str
    def program(self, *optional: str) -> Any:
        """The program that is compiled, with the named optional arguments."""
    @property
    def signature(self) -> str:
        """The core shapes of arguments and results, as of a generalised ufunc."""

class Derivative(Protocol):
    """A derivative is a function like any other, with derivatives of its own."""

    @property
    def jvp(self) -> Any: ...
    @property
    def vjp(self) -> Any: ...
    @property
    def jacobian(self) -> Any: ...

class Jvp(Derivative, Protocol[Result]):
    """Rates of the results when the arguments move with tangents."""

    def __call__(
        self,
        args: Arrays,
        tangents: Arrays = (),
        parameters: Mapping[str, ArrayLike | None] | None = None,
        *,
        out: Any = None,
        threads: int | None = None,
    ) -> Result:
        """Rates of the results at `args` when these move with `tangents`, each a tuple in the order of the arguments or
        a mapping by name; the tangent of a configuration has nv entries. `parameters`: rates of numbers of a robot."""

class Vjp(Derivative, Protocol[Result]):
    """Gradients of a weighted sum of the results."""

    def __call__(
        self,
        args: Arrays,
        cotangent: Arrays,
        parameters: Names | None = None,
        *,
        out: Any = None,
        threads: int | None = None,
    ) -> Result:
        """Gradients of Σ cotangent · result by each argument; by a configuration it has nv entries. `parameters`: names
        of numbers of the robot, by which gradients are wanted too."""

class Parts(Protocol):
    """Derivatives by each argument that was given, by name and by number."""

    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[Array]: ...
    def __getitem__(self, number: int, /) -> Array: ...
    @property
    def parameters(self) -> Mapping[str, Array]:
        """Derivatives by the numbers of the robot that were asked for, by name."""

class ByQ(Parts, Protocol):
    @property
    def q(self) -> Array: ...

class ByQ0Q1(Parts, Protocol):
    @property
    def q0(self) -> Array: ...
    @property
    def q1(self) -> Array: ...

class ByQB(Parts, Protocol):
    @property
    def q(self) -> Array: ...
    @property
    def b(self) -> Array: ...

class ByQFExt(Parts, Protocol):
    @property
    def q(self) -> Array: ...
    @property
    def f_ext(self) -> Array: ...

class ByQU(Parts, Protocol):
    @property
    def q(self) -> Array: ...
    @property
    def u(self) -> Array: ...

class ByQV(Parts, Protocol):
    @property
    def q(self) -> Array: ...
    @property
    def v(self) -> Array: ...

class ByQVA(Parts, Protocol):
    @property
    def q(self) -> Array: ...
    @property
    def v(self) -> Array: ...
    @property
    def a(self) -> Array: ...

class ByQVAFExt(Parts, Protocol):
    @property
    def q(self) -> Array: ...
    @property
    def v(self) -> Array: ...
    @property
    def a(self) -> Array: ...
    @property
    def f_ext(self) -> Array: ...

class ByQVAFExtFrictionVelocity(Parts, Protocol):
    @property
    def q(self) -> Array: ...
    @property
    def v(self) -> Array: ...
    @property
    def a(self) -> Array: ...
    @property
    def f_ext(self) -> Array: ...
    @property
    def friction_velocity(self) -> Array: ...

class ByQVAFExtTauPassive(Parts, Protocol):
    @property
    def q(self) -> Array: ...
    @property
    def v(self) -> Array: ...
    @property
    def a(self) -> Array: ...
    @property
    def f_ext(self) -> Array: ...
    @property
    def tau_passive(self) -> Array: ...

class ByQVAFExtTauPassiveFrictionVelocity(Parts, Protocol):
    @property
    def q(self) -> Array: ...
    @property
    def v(self) -> Array: ...
    @property
    def a(self) -> Array: ...
    @property
    def f_ext(self) -> Array: ...
    @property
    def tau_passive(self) -> Array: ...
    @property
    def friction_velocity(self) -> Array: ...

class ByQVATauFExt(Parts, Protocol):
    @property
    def q(self) -> Array: ...
    @property
    def v(self) -> Array: ...
    @property
    def a(self) -> Array: ...
    @property
    def tau(self) -> Array: ...
    @property
    def f_ext(self) -> Array: ...

class ByQVATauFExtRowAcceleration(Parts, Protocol):
    @property
    def q(self) -> Array: ...
    @property
    def v(self) -> Array: ...
    @property
    def a(self) -> Array: ...
    @property
    def tau(self) -> Array: ...
    @property
    def f_ext(self) -> Array: ...
    @property
    def row_acceleration(self) -> Array: ...

class ByQVDt(Parts, Protocol):
    @property
    def q(self) -> Array: ...
    @property
    def v(self) -> Array: ...
    @property
    def dt(self) -> Array: ...

class ByQVFExt(Parts, Protocol):
    @property
    def q(self) -> Array: ...
    @property
    def v(self) -> Array: ...
    @property
    def f_ext(self) -> Array: ...

class ByQVRestitution(Parts, Protocol):
    @property
    def q(self) -> Array: ...
    @property
    def v(self) -> Array: ...
    @property
    def restitution(self) -> Array: ...

class ByQVTauFExt(Parts, Protocol):
    @property
    def q(self) -> Array: ...
    @property
    def v(self) -> Array: ...
    @property
    def tau(self) -> Array: ...
    @property
    def f_ext(self) -> Array: ...

class ByQVTauFExtRowAcceleration(Parts, Protocol):
    @property
    def q(self) -> Array: ...
    @property
    def v(self) -> Array: ...
    @property
    def tau(self) -> Array: ...
    @property
    def f_ext(self) -> Array: ...
    @property
    def row_acceleration(self) -> Array: ...

class ByQVU(Parts, Protocol):
    @property
    def q(self) -> Array: ...
    @property
    def v(self) -> Array: ...
    @property
    def u(self) -> Array: ...

class ByThetaV(Parts, Protocol):
    @property
    def theta(self) -> Array: ...
    @property
    def v(self) -> Array: ...

class JacobianOfInverseDynamics(Derivative, Protocol):
    def __call__(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        f_ext: Wrenches | None = None,
        *,
        parameters: Names | None = None,
        out: Any = None,
        threads: int | None = None,
    ) -> ByQVAFExt:
        """All first derivatives, by argument; columns for a configuration are along its nv velocities."""

class InverseDynamics(Function, Protocol):
    def __call__(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        f_ext: Wrenches | None = None,
        *,
        out: Array | None = None,
        threads: int | None = None,
    ) -> Array:
        """Joint forces that cause given accelerations (RNEA).

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Configuration, with its loops closed: `robot.check(q, v)` checks them, `robot.assemble(q)` closes them.
        v : array_like, shape (..., nv)
            Velocity (rad/s, m/s).
        a : array_like, shape (..., nv)
            Acceleration (rad/s², m/s²).
        f_ext : array_like, shape (..., n_bodies, 6), or dict, optional
            Wrench [moment; force] (N m, N) on each body, at its origin and in its axes; or on some bodies,
            ``{"hand": wrench}``.
        out : ndarray, optional
            Array that receives the result.
        threads : int, optional
            Largest number of threads for a batch.

        Returns
        -------
        tau : ndarray, shape (..., nv)
            Joint forces (N m, N).

        See Also
        --------
        forward_dynamics : Accelerations caused by joint forces.
        inverse_passive_dynamics : The same with springs and damping of the joints.
        reactions : All six components of the force in every joint.

        Notes
        -----
        τ = M a + C v + g - Σ Jᵀ f_ext, in O(n), of the rigid bodies and armatures alone. For speed q is not checked: where
        loops are open, the result means nothing. `System.check` looks at a state, `System.assemble` closes its loops.

        Examples
        --------
        >>> import fourbar as fb
        >>> robot = fb.robots.double_pendulum()
        >>> robot.inverse_dynamics([0.1, 0.2], [1.0, 0.0], [0.0, 0.0]).round(4)
        array([1.1004, 0.4797])
        """
    @property
    def jvp(self) -> Jvp[Array]:
        """Rates of the results along tangents of the arguments."""
    @property
    def vjp(self) -> Vjp[ByQVAFExt]:
        """Gradients of a weighted sum of the results."""
    @property
    def jacobian(self) -> JacobianOfInverseDynamics:
        """All first derivatives."""

class JacobianOfForwardDynamics(Derivative, Protocol):
    def __call__(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike,
        f_ext: Wrenches | None = None,
        *,
        parameters: Names | None = None,
        out: Any = None,
        threads: int | None = None,
    ) -> ByQVTauFExt:
        """All first derivatives, by argument; columns for a configuration are along its nv velocities."""

class ForwardDynamics(Function, Protocol):
    def __call__(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike,
        f_ext: Wrenches | None = None,
        *,
        out: Array | None = None,
        threads: int | None = None,
    ) -> Array:
        """Accelerations caused by joint forces (ABA).

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Configuration, with its loops closed: `robot.check(q, v)` checks them, `robot.assemble(q)` closes them.
        v : array_like, shape (..., nv)
            Velocity (rad/s, m/s).
        tau : array_like, shape (..., nv)
            Joint forces (N m, N).
        f_ext : array_like, shape (..., n_bodies, 6), or dict, optional
            Wrench [moment; force] (N m, N) on each body, at its origin and in its axes; or on some bodies,
            ``{"hand": wrench}``.
        out : ndarray, optional
            Array that receives the result.
        threads : int, optional
            Largest number of threads for a batch.

        Returns
        -------
        a : ndarray, shape (..., nv)
            Accelerations (rad/s², m/s²).

        See Also
        --------
        inverse_dynamics : Joint forces that cause given accelerations.
        passive_dynamics : The same with springs and damping of the joints.
        hybrid_dynamics : Accelerations of some joints and forces of the others.
        simulate : Motion over time.

        Notes
        -----
        Solves M a + C v + g = τ + Σ Jᵀ f_ext in O(n) without forming M; loops are embedded (Chignoli, Alg. 1). For robots
        with up to 12 independent velocities M is formed and factored where that takes fewer operations (projection,
        Chignoli §II-D). For speed q is not checked: where loops are open, the result means nothing. `System.check` looks at
        a state, `System.assemble` closes its loops.

        Examples
        --------
        >>> import fourbar as fb
        >>> robot = fb.robots.double_pendulum()
        >>> robot.forward_dynamics([0.1, 0.2], [1.0, 0.0], [0.0, 0.0]).round(4)
        array([  1.8735, -16.5602])

        Leading axes are batches; they broadcast.

        >>> import numpy as np
        >>> robot.forward_dynamics(np.zeros((1000, 2)), np.zeros(2), np.zeros(2)).shape
        (1000, 2)

        Derivatives are attributes of the function.

        >>> robot.forward_dynamics.jacobian([0.1, 0.2], [1.0, 0.0], [0.0, 0.0]).tau.shape
        (2, 2)
        """
    @property
    def jvp(self) -> Jvp[Array]:
        """Rates of the results along tangents of the arguments."""
    @property
    def vjp(self) -> Vjp[ByQVTauFExt]:
        """Gradients of a weighted sum of the results."""
    @property
    def jacobian(self) -> JacobianOfForwardDynamics:
        """All first derivatives."""

class BlocksOfHybridDynamics(Protocol):
    @property
    def a(self) -> ByQVATauFExt: ...
    @property
    def tau(self) -> ByQVATauFExt: ...

class JacobianOfHybridDynamics(Derivative, Protocol):
    def __call__(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        tau: ArrayLike,
        f_ext: Wrenches | None = None,
        *,
        prescribed: Sequence[str],
        parameters: Names | None = None,
        out: Any = None,
        threads: int | None = None,
    ) -> BlocksOfHybridDynamics:
        """All first derivatives, by argument; columns for a configuration are along its nv velocities."""

class SpecialisedJacobianOfHybridDynamics(Derivative, Protocol):
    def __call__(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        tau: ArrayLike,
        f_ext: Wrenches | None = None,
        *,
        parameters: Names | None = None,
        out: Any = None,
        threads: int | None = None,
    ) -> BlocksOfHybridDynamics:
        """All first derivatives, by argument; columns for a configuration are along its nv velocities."""

class JvpOfHybridDynamics(Derivative, Protocol):
    def __call__(
        self,
        args: Arrays,
        tangents: Arrays = (),
        parameters: Mapping[str, ArrayLike | None] | None = None,
        *,
        prescribed: Sequence[str],
        out: Any = None,
        threads: int | None = None,
    ) -> tuple[Array, Array]:
        """Rates of the results when the arguments move with tangents."""

class VjpOfHybridDynamics(Derivative, Protocol):
    def __call__(
        self,
        args: Arrays,
        cotangent: Arrays,
        parameters: Names | None = None,
        *,
        prescribed: Sequence[str],
        out: Any = None,
        threads: int | None = None,
    ) -> ByQVATauFExt:
        """Gradients of a weighted sum of the results."""

class SpecialisedHybridDynamics(Function, Protocol):
    def __call__(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        tau: ArrayLike,
        f_ext: Wrenches | None = None,
        *,
        out: tuple[Array, ...] | None = None,
        threads: int | None = None,
    ) -> tuple[Array, Array]:
        """All accelerations and joint forces, where some accelerations and the other forces are given."""
    @property
    def jvp(self) -> Jvp[tuple[Array, Array]]:
        """Rates of the results along tangents of the arguments."""
    @property
    def vjp(self) -> Vjp[ByQVATauFExt]:
        """Gradients of a weighted sum of the results."""
    @property
    def jacobian(self) -> SpecialisedJacobianOfHybridDynamics:
        """All first derivatives."""

class HybridDynamics(Protocol):
    __name__: str
    def __call__(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        tau: ArrayLike,
        prescribed: Sequence[str],
        *,
        f_ext: Wrenches | None = None,
        out: tuple[Array, ...] | None = None,
        threads: int | None = None,
    ) -> tuple[Array, Array]:
        """All accelerations and joint forces, where some accelerations and the other forces are given.

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
        f_ext : array_like, shape (..., n_bodies, 6), or dict, optional
            Wrench [moment; force] (N m, N) on each body, at its origin and in its axes; or on some bodies,
            ``{"hand": wrench}``.
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

        See Also
        --------
        forward_dynamics : No acceleration is given.
        inverse_dynamics : All accelerations are given.

        Notes
        -----
        The rows of M a + C v + g = τ + Σ Jᵀ f_ext are solved for what is not given in O(n) (Kim, Table 4).

        Examples
        --------
        >>> import fourbar as fb
        >>> robot = fb.robots.double_pendulum()
        >>> a, tau = robot.hybrid_dynamics([0.1, 0.2], [0.0, 0.0], [2.0, 0.0], [0.0, 0.0], prescribed=["shoulder"])
        >>> a.round(3), tau.round(3)
        (array([  2.   , -16.547]), array([0.063, 0.   ]))
        """
    def specialise(self, prescribed: Sequence[str]) -> SpecialisedHybridDynamics:
        """The function for one choice of options: it takes arrays only, and is called faster."""
    @property
    def options(self) -> tuple[str, ...]:
        """The names of the options."""
    @property
    def jvp(self) -> JvpOfHybridDynamics:
        """Rates of the results along tangents of the arguments."""
    @property
    def vjp(self) -> VjpOfHybridDynamics:
        """Gradients of a weighted sum of the results."""
    @property
    def jacobian(self) -> JacobianOfHybridDynamics:
        """All first derivatives."""

class JacobianOfBiasForce(Derivative, Protocol):
    def __call__(
        self,
        q: ArrayLike,
        v: ArrayLike,
        f_ext: Wrenches | None = None,
        *,
        parameters: Names | None = None,
        out: Any = None,
        threads: int | None = None,
    ) -> ByQVFExt:
        """All first derivatives, by argument; columns for a configuration are along its nv velocities."""

class BiasForce(Function, Protocol):
    def __call__(
        self,
        q: ArrayLike,
        v: ArrayLike,
        f_ext: Wrenches | None = None,
        *,
        out: Array | None = None,
        threads: int | None = None,
    ) -> Array:
        """Joint forces at acceleration zero: Coriolis, centrifugal and gravity forces.

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Configuration, with its loops closed.
        v : array_like, shape (..., nv)
            Velocity (rad/s, m/s).
        f_ext : array_like, shape (..., n_bodies, 6), or dict, optional
            Wrench [moment; force] (N m, N) on each body, at its origin and in its axes; or on some bodies,
            ``{"hand": wrench}``.
        out : ndarray, optional
            Array that receives the result.
        threads : int, optional
            Largest number of threads for a batch.

        Returns
        -------
        tau : ndarray, shape (..., nv)
            C v + g - Σ Jᵀ f_ext (N m, N), also called nonlinear effects.

        See Also
        --------
        gravity_force : g alone.
        coriolis_force : C v alone.

        Examples
        --------
        >>> import fourbar as fb
        >>> robot = fb.robots.double_pendulum()
        >>> robot.bias_force([0.1, 0.2], [1.0, 0.0]).round(4)
        array([1.1004, 0.4797])
        """
    @property
    def jvp(self) -> Jvp[Array]:
        """Rates of the results along tangents of the arguments."""
    @property
    def vjp(self) -> Vjp[ByQVFExt]:
        """Gradients of a weighted sum of the results."""
    @property
    def jacobian(self) -> JacobianOfBiasForce:
        """All first derivatives."""

class JacobianOfGravityForce(Derivative, Protocol):
    def __call__(
        self,
        q: ArrayLike,
        *,
        parameters: Names | None = None,
        out: Any = None,
        threads: int | None = None,
    ) -> ByQ:
        """All first derivatives, by argument; columns for a configuration are along its nv velocities."""

class GravityForce(Function, Protocol):
    def __call__(self, q: ArrayLike, *, out: Array | None = None, threads: int | None = None) -> Array:
        """Joint forces that hold the robot still against gravity.

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Configuration, with its loops closed.
        out : ndarray, optional
            Array that receives the result.
        threads : int, optional
            Largest number of threads for a batch.

        Returns
        -------
        tau : ndarray, shape (..., nv)
            g(q) = ∂U/∂q (N m, N), with the potential energy U.

        See Also
        --------
        potential_energy : The energy of which this is the gradient.
        bias_force : With Coriolis and centrifugal forces.

        Examples
        --------
        >>> import fourbar as fb
        >>> robot = fb.robots.double_pendulum()
        >>> robot.gravity_force([0.1, 0.2]).round(4)
        array([1.1004, 0.4638])
        """
    @property
    def jvp(self) -> Jvp[Array]:
        """Rates of the results along tangents of the arguments."""
    @property
    def vjp(self) -> Vjp[ByQ]:
        """Gradients of a weighted sum of the results."""
    @property
    def jacobian(self) -> JacobianOfGravityForce:
        """All first derivatives."""

class JacobianOfMassMatrix(Derivative, Protocol):
    def __call__(
        self,
        q: ArrayLike,
        *,
        parameters: Names | None = None,
        out: Any = None,
        threads: int | None = None,
    ) -> ByQ:
        """All first derivatives, by argument; columns for a configuration are along its nv velocities."""

class MassMatrix(Function, Protocol):
    def __call__(self, q: ArrayLike, *, out: Array | None = None, threads: int | None = None) -> Array:
        """Mass matrix, symmetric and full (CRBA).

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Configuration, with its loops closed.
        out : ndarray, optional
            Array that receives the result.
        threads : int, optional
            Largest number of threads for a batch.

        Returns
        -------
        M : ndarray, shape (..., nv, nv)
            Mass matrix (kg m², kg m, kg), with armatures on its diagonal.

        See Also
        --------
        inverse_mass_matrix : The inverse.
        solve_mass_matrix : M⁻¹ b.
        mass_matrix_rate : Its rate.

        Notes
        -----
        With loops M = Gᵀ M_tree G, with the `loop_map` G and the mass matrix M_tree of the spanning tree.

        Examples
        --------
        >>> import fourbar as fb
        >>> robot = fb.robots.double_pendulum()
        >>> robot.mass_matrix([0.1, 0.2]).round(4)
        array([[0.4828, 0.1211],
               [0.1211, 0.0427]])
        """
    @property
    def jvp(self) -> Jvp[Array]:
        """Rates of the results along tangents of the arguments."""
    @property
    def vjp(self) -> Vjp[ByQ]:
        """Gradients of a weighted sum of the results."""
    @property
    def jacobian(self) -> JacobianOfMassMatrix:
        """All first derivatives."""

class JacobianOfInverseMassMatrix(Derivative, Protocol):
    def __call__(
        self,
        q: ArrayLike,
        *,
        parameters: Names | None = None,
        out: Any = None,
        threads: int | None = None,
    ) -> ByQ:
        """All first derivatives, by argument; columns for a configuration are along its nv velocities."""

class InverseMassMatrix(Function, Protocol):
    def __call__(self, q: ArrayLike, *, out: Array | None = None, threads: int | None = None) -> Array:
        """Inverse of the mass matrix.

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Configuration, with its loops closed.
        out : ndarray, optional
            Array that receives the result.
        threads : int, optional
            Largest number of threads for a batch.

        Returns
        -------
        M_inverse : ndarray, shape (..., nv, nv)
            M⁻¹ (1/(kg m²), 1/(kg m), 1/kg), in O(n²) for large robots.

        See Also
        --------
        mass_matrix : The mass matrix.
        solve_mass_matrix : Its product with one vector, in O(n).

        Examples
        --------
        >>> import fourbar as fb
        >>> robot = fb.robots.double_pendulum()
        >>> (robot.inverse_mass_matrix([0.1, 0.2]) @ robot.mass_matrix([0.1, 0.2])).round(9)
        array([[1., 0.],
               [0., 1.]])
        """
    @property
    def jvp(self) -> Jvp[Array]:
        """Rates of the results along tangents of the arguments."""
    @property
    def vjp(self) -> Vjp[ByQ]:
        """Gradients of a weighted sum of the results."""
    @property
    def jacobian(self) -> JacobianOfInverseMassMatrix:
        """All first derivatives."""

class JacobianOfSolveMassMatrix(Derivative, Protocol):
    def __call__(
        self,
        q: ArrayLike,
        b: ArrayLike,
        *,
        parameters: Names | None = None,
        out: Any = None,
        threads: int | None = None,
    ) -> ByQB:
        """All first derivatives, by argument; columns for a configuration are along its nv velocities."""

class SolveMassMatrix(Function, Protocol):
    def __call__(self, q: ArrayLike, b: ArrayLike, *, out: Array | None = None, threads: int | None = None) -> Array:
        """Solution x of M x = b.

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Configuration, with its loops closed.
        b : array_like, shape (..., nv)
            Right-hand side: joint forces (N m, N).
        out : ndarray, optional
            Array that receives the result.
        threads : int, optional
            Largest number of threads for a batch.

        Returns
        -------
        x : ndarray, shape (..., nv)
            M⁻¹ b (rad/s², m/s²), in O(n) for large robots.

        See Also
        --------
        inverse_mass_matrix : The whole matrix M⁻¹.

        Examples
        --------
        >>> import fourbar as fb
        >>> robot = fb.robots.double_pendulum()
        >>> robot.solve_mass_matrix([0.1, 0.2], [1.0, 0.0]).round(4)
        array([  7.1811, -20.3774])
        """
    @property
    def jvp(self) -> Jvp[Array]:
        """Rates of the results along tangents of the arguments."""
    @property
    def vjp(self) -> Vjp[ByQB]:
        """Gradients of a weighted sum of the results."""
    @property
    def jacobian(self) -> JacobianOfSolveMassMatrix:
        """All first derivatives."""

class JacobianOfCoriolisMatrix(Derivative, Protocol):
    def __call__(
        self,
        q: ArrayLike,
        v: ArrayLike,
        *,
        parameters: Names | None = None,
        out: Any = None,
        threads: int | None = None,
    ) -> ByQV:
        """All first derivatives, by argument; columns for a configuration are along its nv velocities."""

class CoriolisMatrix(Function, Protocol):
    def __call__(self, q: ArrayLike, v: ArrayLike, *, out: Array | None = None, threads: int | None = None) -> Array:
        """Coriolis matrix, the one of the Christoffel symbols.

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Configuration, with its loops closed.
        v : array_like, shape (..., nv)
            Velocity (rad/s, m/s).
        out : ndarray, optional
            Array that receives the result.
        threads : int, optional
            Largest number of threads for a batch.

        Returns
        -------
        C : ndarray, shape (..., nv, nv)
            Coriolis matrix (kg m²/s, kg m/s, kg/s).

        See Also
        --------
        coriolis_force : C v, in O(n).
        christoffel : The symbols of which it is made.
        mass_matrix_rate : Ṁ = C + Cᵀ.

        Notes
        -----
        C_ij = Σ_k Γ_ijk v_k, also for velocities that are not rates of coordinates, so that Ṁ - 2 C is skew-symmetric and
        C v + g is the `bias_force`. With loops C = Gᵀ (C_tree G + M_tree Ġ).

        Examples
        --------
        >>> import fourbar as fb
        >>> robot = fb.robots.double_pendulum()
        >>> C = robot.coriolis_matrix([0.1, 0.2], [1.0, 0.5])
        >>> C.round(4)
        array([[-0.0079, -0.0238],
               [ 0.0159,  0.    ]])
        """
    @property
    def jvp(self) -> Jvp[Array]:
        """Rates of the results along tangents of the arguments."""
    @property
    def vjp(self) -> Vjp[ByQV]:
        """Gradients of a weighted sum of the results."""
    @property
    def jacobian(self) -> JacobianOfCoriolisMatrix:
        """All first derivatives."""

class JacobianOfMassMatrixRate(Derivative, Protocol):
    def __call__(
        self,
        q: ArrayLike,
        v: ArrayLike,
        *,
        parameters: Names | None = None,
        out: Any = None,
        threads: int | None = None,
    ) -> ByQV:
        """All first derivatives, by argument; columns for a configuration are along its nv velocities."""

class MassMatrixRate(Function, Protocol):
    def __call__(self, q: ArrayLike, v: ArrayLike, *, out: Array | None = None, threads: int | None = None) -> Array:
        """Rate of the mass matrix as the robot moves.

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Configuration, with its loops closed.
        v : array_like, shape (..., nv)
            Velocity (rad/s, m/s).
        out : ndarray, optional
            Array that receives the result.
        threads : int, optional
            Largest number of threads for a batch.

        Returns
        -------
        M_rate : ndarray, shape (..., nv, nv)
            Ṁ = C + Cᵀ (kg m²/s, kg m/s, kg/s).

        See Also
        --------
        mass_matrix : The mass matrix.
        coriolis_matrix : The Coriolis matrix C.

        Examples
        --------
        >>> import fourbar as fb
        >>> robot = fb.robots.double_pendulum()
        >>> robot.mass_matrix_rate([0.1, 0.2], [1.0, 0.5]).round(4)
        array([[-0.0159, -0.0079],
               [-0.0079,  0.    ]])
        """
    @property
    def jvp(self) -> Jvp[Array]:
        """Rates of the results along tangents of the arguments."""
    @property
    def vjp(self) -> Vjp[ByQV]:
        """Gradients of a weighted sum of the results."""
    @property
    def jacobian(self) -> JacobianOfMassMatrixRate:
        """All first derivatives."""

class JacobianOfCoriolisForce(Derivative, Protocol):
    def __call__(
        self,
        q: ArrayLike,
        v: ArrayLike,
        *,
        parameters: Names | None = None,
        out: Any = None,
        threads: int | None = None,
    ) -> ByQV:
        """All first derivatives, by argument; columns for a configuration are along its nv velocities."""

class CoriolisForce(Function, Protocol):
    def __call__(self, q: ArrayLike, v: ArrayLike, *, out: Array | None = None, threads: int | None = None) -> Array:
        """Coriolis and centrifugal forces.

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Configuration, with its loops closed.
        v : array_like, shape (..., nv)
            Velocity (rad/s, m/s).
        out : ndarray, optional
            Array that receives the result.
        threads : int, optional
            Largest number of threads for a batch.

        Returns
        -------
        tau : ndarray, shape (..., nv)
            C v (N m, N): the `bias_force` without gravity and external wrenches.

        See Also
        --------
        coriolis_matrix : The matrix C.
        bias_force : With gravity.

        Examples
        --------
        >>> import fourbar as fb
        >>> robot = fb.robots.double_pendulum()
        >>> robot.coriolis_force([0.1, 0.2], [1.0, 0.5]).round(4)
        array([-0.0199,  0.0159])
        """
    @property
    def jvp(self) -> Jvp[Array]:
        """Rates of the results along tangents of the arguments."""
    @property
    def vjp(self) -> Vjp[ByQV]:
        """Gradients of a weighted sum of the results."""
    @property
    def jacobian(self) -> JacobianOfCoriolisForce:
        """All first derivatives."""

class JacobianOfChristoffel(Derivative, Protocol):
    def __call__(
        self,
        q: ArrayLike,
        *,
        parameters: Names | None = None,
        out: Any = None,
        threads: int | None = None,
    ) -> ByQ:
        """All first derivatives, by argument; columns for a configuration are along its nv velocities."""

class Christoffel(Function, Protocol):
    def __call__(self, q: ArrayLike, *, out: Array | None = None, threads: int | None = None) -> Array:
        """Christoffel symbols of the first kind of the mass matrix.

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Configuration, with its loops closed.
        out : ndarray, optional
            Array that receives the result.
        threads : int, optional
            Largest number of threads for a batch.

        Returns
        -------
        Gamma : ndarray, shape (..., nv, nv, nv)
            Γ_ijk (kg m², kg m, kg) with C_ij = Σ_k Γ_ijk v_k.

        See Also
        --------
        coriolis_matrix : Their sum with the velocities.

        Notes
        -----
        Where v = q̇, Γ_ijk = ½ (∂_k M_ij + ∂_j M_ik - ∂_i M_jk), symmetric in j and k. For velocities that are not rates of
        coordinates (spherical and free joints) they are the symbols in the frame of these velocities, with brackets.

        Examples
        --------
        >>> import fourbar as fb
        >>> robot = fb.robots.double_pendulum()
        >>> robot.christoffel([0.1, 0.2])[0].round(4)
        array([[ 0.    , -0.0159],
               [-0.0159, -0.0159]])
        """
    @property
    def jvp(self) -> Jvp[Array]:
        """Rates of the results along tangents of the arguments."""
    @property
    def vjp(self) -> Vjp[ByQ]:
        """Gradients of a weighted sum of the results."""
    @property
    def jacobian(self) -> JacobianOfChristoffel:
        """All first derivatives."""

class JacobianOfKineticEnergy(Derivative, Protocol):
    def __call__(
        self,
        q: ArrayLike,
        v: ArrayLike,
        *,
        parameters: Names | None = None,
        out: Any = None,
        threads: int | None = None,
    ) -> ByQV:
        """All first derivatives, by argument; columns for a configuration are along its nv velocities."""

class KineticEnergy(Function, Protocol):
    def __call__(self, q: ArrayLike, v: ArrayLike, *, out: Array | None = None, threads: int | None = None) -> Any:
        """Kinetic energy ½ vᵀ M v.

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Configuration, with its loops closed.
        v : array_like, shape (..., nv)
            Velocity (rad/s, m/s).
        out : ndarray, optional
            Array that receives the result.
        threads : int, optional
            Largest number of threads for a batch.

        Returns
        -------
        energy : float or ndarray, shape (...)
            Kinetic energy (J), with that of armatures.

        See Also
        --------
        potential_energy : The energy in gravity.
        spring_energy : The energy in springs of the joints.

        Examples
        --------
        >>> import fourbar as fb
        >>> robot = fb.robots.double_pendulum()
        >>> float(robot.kinetic_energy([0.1, 0.2], [1.0, 0.0]).round(4))
        0.2414
        """
    @property
    def jvp(self) -> Jvp[Any]:
        """Rates of the results along tangents of the arguments."""
    @property
    def vjp(self) -> Vjp[ByQV]:
        """Gradients of a weighted sum of the results."""
    @property
    def jacobian(self) -> JacobianOfKineticEnergy:
        """All first derivatives."""

class JacobianOfPotentialEnergy(Derivative, Protocol):
    def __call__(
        self,
        q: ArrayLike,
        *,
        parameters: Names | None = None,
        out: Any = None,
        threads: int | None = None,
    ) -> ByQ:
        """All first derivatives, by argument; columns for a configuration are along its nv velocities."""

class PotentialEnergy(Function, Protocol):
    def __call__(self, q: ArrayLike, *, out: Array | None = None, threads: int | None = None) -> Any:
        """Potential energy in gravity.

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Configuration, with its loops closed.
        out : ndarray, optional
            Array that receives the result.
        threads : int, optional
            Largest number of threads for a batch.

        Returns
        -------
        energy : float or ndarray, shape (...)
            Potential energy (J), zero where every mass is at the height of the origin of the world.

        See Also
        --------
        gravity_force : Its gradient.
        kinetic_energy : The energy of motion.
        spring_energy : The energy in springs of the joints.

        Examples
        --------
        >>> import fourbar as fb
        >>> robot = fb.robots.double_pendulum()
        >>> float(robot.potential_energy([0.1, 0.2]).round(4))
        -7.8441
        """
    @property
    def jvp(self) -> Jvp[Any]:
        """Rates of the results along tangents of the arguments."""
    @property
    def vjp(self) -> Vjp[ByQ]:
        """Gradients of a weighted sum of the results."""
    @property
    def jacobian(self) -> JacobianOfPotentialEnergy:
        """All first derivatives."""

class JacobianOfCenterOfMass(Derivative, Protocol):
    def __call__(
        self,
        q: ArrayLike,
        *,
        parameters: Names | None = None,
        out: Any = None,
        threads: int | None = None,
    ) -> ByQ:
        """All first derivatives, by argument; columns for a configuration are along its nv velocities."""

class CenterOfMass(Function, Protocol):
    def __call__(self, q: ArrayLike, *, out: Array | None = None, threads: int | None = None) -> Array:
        """Centre of mass of all moving bodies.

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Configuration, with its loops closed.
        out : ndarray, optional
            Array that receives the result.
        threads : int, optional
            Largest number of threads for a batch.

        Returns
        -------
        position : ndarray, shape (..., 3)
            Position (m) in the world.

        See Also
        --------
        center_of_mass_jacobian : Its velocity is J v.

        Examples
        --------
        >>> import fourbar as fb
        >>> robot = fb.robots.double_pendulum()
        >>> robot.center_of_mass([0.1, 0.2]).round(4)
        array([-0.0623,  0.    , -0.4442])
        """
    @property
    def jvp(self) -> Jvp[Array]:
        """Rates of the results along tangents of the arguments."""
    @property
    def vjp(self) -> Vjp[ByQ]:
        """Gradients of a weighted sum of the results."""
    @property
    def jacobian(self) -> JacobianOfCenterOfMass:
        """All first derivatives."""

class JacobianOfCenterOfMassJacobian(Derivative, Protocol):
    def __call__(
        self,
        q: ArrayLike,
        *,
        parameters: Names | None = None,
        out: Any = None,
        threads: int | None = None,
    ) -> ByQ:
        """All first derivatives, by argument; columns for a configuration are along its nv velocities."""

class CenterOfMassJacobian(Function, Protocol):
    def __call__(self, q: ArrayLike, *, out: Array | None = None, threads: int | None = None) -> Array:
        """Jacobian of the centre of mass.

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Configuration, with its loops closed.
        out : ndarray, optional
            Array that receives the result.
        threads : int, optional
            Largest number of threads for a batch.

        Returns
        -------
        J : ndarray, shape (..., 3, nv)
            The velocity (m/s) of the centre of mass, in world axes, is J v.

        See Also
        --------
        center_of_mass : The centre of mass itself.
        momentum_matrix : Linear and angular momentum.

        Examples
        --------
        >>> import fourbar as fb
        >>> robot = fb.robots.double_pendulum()
        >>> robot.center_of_mass_jacobian([0.1, 0.2]).round(4)
        array([[-0.4442, -0.0849],
               [ 0.    ,  0.    ],
               [ 0.0623,  0.0263]])
        """
    @property
    def jvp(self) -> Jvp[Array]:
        """Rates of the results along tangents of the arguments."""
    @property
    def vjp(self) -> Vjp[ByQ]:
        """Gradients of a weighted sum of the results."""
    @property
    def jacobian(self) -> JacobianOfCenterOfMassJacobian:
        """All first derivatives."""

class JacobianOfMomentum(Derivative, Protocol):
    def __call__(
        self,
        q: ArrayLike,
        v: ArrayLike,
        *,
        about: Literal["com", "world"] = "com",
        parameters: Names | None = None,
        out: Any = None,
        threads: int | None = None,
    ) -> ByQV:
        """All first derivatives, by argument; columns for a configuration are along its nv velocities."""

class SpecialisedJacobianOfMomentum(Derivative, Protocol):
    def __call__(
        self,
        q: ArrayLike,
        v: ArrayLike,
        *,
        parameters: Names | None = None,
        out: Any = None,
        threads: int | None = None,
    ) -> ByQV:
        """All first derivatives, by argument; columns for a configuration are along its nv velocities."""

class JvpOfMomentum(Derivative, Protocol):
    def __call__(
        self,
        args: Arrays,
        tangents: Arrays = (),
        parameters: Mapping[str, ArrayLike | None] | None = None,
        *,
        about: Literal["com", "world"] = "com",
        out: Any = None,
        threads: int | None = None,
    ) -> Array:
        """Rates of the results when the arguments move with tangents."""

class VjpOfMomentum(Derivative, Protocol):
    def __call__(
        self,
        args: Arrays,
        cotangent: Arrays,
        parameters: Names | None = None,
        *,
        about: Literal["com", "world"] = "com",
        out: Any = None,
        threads: int | None = None,
    ) -> ByQV:
        """Gradients of a weighted sum of the results."""

class SpecialisedMomentum(Function, Protocol):
    def __call__(self, q: ArrayLike, v: ArrayLike, *, out: Array | None = None, threads: int | None = None) -> Array:
        """Angular and linear momentum of all moving bodies."""
    @property
    def jvp(self) -> Jvp[Array]:
        """Rates of the results along tangents of the arguments."""
    @property
    def vjp(self) -> Vjp[ByQV]:
        """Gradients of a weighted sum of the results."""
    @property
    def jacobian(self) -> SpecialisedJacobianOfMomentum:
        """All first derivatives."""

class Momentum(Protocol):
    __name__: str
    def __call__(
        self,
        q: ArrayLike,
        v: ArrayLike,
        about: Literal["com", "world"] = "com",
        *,
        out: Array | None = None,
        threads: int | None = None,
    ) -> Array:
        """Angular and linear momentum of all moving bodies.

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Configuration, with its loops closed.
        v : array_like, shape (..., nv)
            Velocity (rad/s, m/s).
        about : {'com', 'world'}, default 'com'
            Point about which the angular momentum is taken: the centre of mass, or the origin of the world.
        out : ndarray, optional
            Array that receives the result.
        threads : int, optional
            Largest number of threads for a batch.

        Returns
        -------
        h : ndarray, shape (..., 6)
            Momentum [angular; linear] (kg m²/s, kg m/s), in world axes.

        See Also
        --------
        momentum_matrix : The matrix A in h = A v.

        Examples
        --------
        >>> import fourbar as fb
        >>> robot = fb.robots.double_pendulum()
        >>> robot.momentum([0.1, 0.2], [1.0, 0.0], about="world").round(4)
        array([ 0.    ,  0.4828,  0.    , -0.7996,  0.    ,  0.1122])
        """
    def specialise(self, about: Literal["com", "world"] = "com") -> SpecialisedMomentum:
        """The function for one choice of options: it takes arrays only, and is called faster."""
    @property
    def options(self) -> tuple[str, ...]:
        """The names of the options."""
    @property
    def jvp(self) -> JvpOfMomentum:
        """Rates of the results along tangents of the arguments."""
    @property
    def vjp(self) -> VjpOfMomentum:
        """Gradients of a weighted sum of the results."""
    @property
    def jacobian(self) -> JacobianOfMomentum:
        """All first derivatives."""

class JacobianOfMomentumMatrix(Derivative, Protocol):
    def __call__(
        self,
        q: ArrayLike,
        *,
        about: Literal["com", "world"] = "com",
        parameters: Names | None = None,
        out: Any = None,
        threads: int | None = None,
    ) -> ByQ:
        """All first derivatives, by argument; columns for a configuration are along its nv velocities."""

class SpecialisedJacobianOfMomentumMatrix(Derivative, Protocol):
    def __call__(
        self,
        q: ArrayLike,
        *,
        parameters: Names | None = None,
        out: Any = None,
        threads: int | None = None,
    ) -> ByQ:
        """All first derivatives, by argument; columns for a configuration are along its nv velocities."""

class JvpOfMomentumMatrix(Derivative, Protocol):
    def __call__(
        self,
        args: Arrays,
        tangents: Arrays = (),
        parameters: Mapping[str, ArrayLike | None] | None = None,
        *,
        about: Literal["com", "world"] = "com",
        out: Any = None,
        threads: int | None = None,
    ) -> Array:
        """Rates of the results when the arguments move with tangents."""

class VjpOfMomentumMatrix(Derivative, Protocol):
    def __call__(
        self,
        args: Arrays,
        cotangent: Arrays,
        parameters: Names | None = None,
        *,
        about: Literal["com", "world"] = "com",
        out: Any = None,
        threads: int | None = None,
    ) -> ByQ:
        """Gradients of a weighted sum of the results."""

class SpecialisedMomentumMatrix(Function, Protocol):
    def __call__(self, q: ArrayLike, *, out: Array | None = None, threads: int | None = None) -> Array:
        """Matrix that takes the velocity to the momentum."""
    @property
    def jvp(self) -> Jvp[Array]:
        """Rates of the results along tangents of the arguments."""
    @property
    def vjp(self) -> Vjp[ByQ]:
        """Gradients of a weighted sum of the results."""
    @property
    def jacobian(self) -> SpecialisedJacobianOfMomentumMatrix:
        """All first derivatives."""

class MomentumMatrix(Protocol):
    __name__: str
    def __call__(
        self,
        q: ArrayLike,
        about: Literal["com", "world"] = "com",
        *,
        out: Array | None = None,
        threads: int | None = None,
    ) -> Array:
        """Matrix that takes the velocity to the momentum.

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Configuration, with its loops closed.
        about : {'com', 'world'}, default 'com'
            Point about which the angular momentum is taken: the centre of mass, which makes A the centroidal momentum
            matrix, or the origin of the world.
        out : ndarray, optional
            Array that receives the result.
        threads : int, optional
            Largest number of threads for a batch.

        Returns
        -------
        A : ndarray, shape (..., 6, nv)
            The `momentum` [angular; linear] in world axes is A v.

        See Also
        --------
        momentum : The momentum itself.
        centroidal_matrix : The same about the centre of mass, without options.

        Examples
        --------
        >>> import fourbar as fb
        >>> robot = fb.robots.double_pendulum()
        >>> robot.momentum_matrix([0.1, 0.2], about="world").shape
        (6, 2)
        """
    def specialise(self, about: Literal["com", "world"] = "com") -> SpecialisedMomentumMatrix:
        """The function for one choice of options: it takes arrays only, and is called faster."""
    @property
    def options(self) -> tuple[str, ...]:
        """The names of the options."""
    @property
    def jvp(self) -> JvpOfMomentumMatrix:
        """Rates of the results along tangents of the arguments."""
    @property
    def vjp(self) -> VjpOfMomentumMatrix:
        """Gradients of a weighted sum of the results."""
    @property
    def jacobian(self) -> JacobianOfMomentumMatrix:
        """All first derivatives."""

class JacobianOfCentroidalMatrix(Derivative, Protocol):
    def __call__(
        self,
        q: ArrayLike,
        *,
        parameters: Names | None = None,
        out: Any = None,
        threads: int | None = None,
    ) -> ByQ:
        """All first derivatives, by argument; columns for a configuration are along its nv velocities."""

class CentroidalMatrix(Function, Protocol):
    def __call__(self, q: ArrayLike, *, out: Array | None = None, threads: int | None = None) -> Array:
        """Centroidal momentum matrix.

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Configuration, with its loops closed.
        out : ndarray, optional
            Array that receives the result.
        threads : int, optional
            Largest number of threads for a batch.

        Returns
        -------
        A : ndarray, shape (..., 6, nv)
            The momentum [angular; linear] about the centre of mass, in world axes, is A v.

        See Also
        --------
        momentum_matrix : About the origin of the world too.

        Examples
        --------
        >>> import fourbar as fb
        >>> robot = fb.robots.double_pendulum()
        >>> robot.centroidal_matrix([0.1, 0.2]).round(4)[1]
        array([0.1206, 0.0502])
        """
    @property
    def jvp(self) -> Jvp[Array]:
        """Rates of the results along tangents of the arguments."""
    @property
    def vjp(self) -> Vjp[ByQ]:
        """Gradients of a weighted sum of the results."""
    @property
    def jacobian(self) -> JacobianOfCentroidalMatrix:
        """All first derivatives."""

class JacobianOfPose(Derivative, Protocol):
    def __call__(
        self,
        q: ArrayLike,
        *,
        frame: str,
        parameters: Names | None = None,
        out: Any = None,
        threads: int | None = None,
    ) -> ByQ:
        """All first derivatives, by argument; columns for a configuration are along its nv velocities."""

class SpecialisedJacobianOfPose(Derivative, Protocol):
    def __call__(
        self,
        q: ArrayLike,
        *,
        parameters: Names | None = None,
        out: Any = None,
        threads: int | None = None,
    ) -> ByQ:
        """All first derivatives, by argument; columns for a configuration are along its nv velocities."""

class JvpOfPose(Derivative, Protocol):
    def __call__(
        self,
        args: Arrays,
        tangents: Arrays = (),
        parameters: Mapping[str, ArrayLike | None] | None = None,
        *,
        frame: str,
        out: Any = None,
        threads: int | None = None,
    ) -> Array:
        """Rates of the results when the arguments move with tangents."""

class VjpOfPose(Derivative, Protocol):
    def __call__(
        self,
        args: Arrays,
        cotangent: Arrays,
        parameters: Names | None = None,
        *,
        frame: str,
        out: Any = None,
        threads: int | None = None,
    ) -> ByQ:
        """Gradients of a weighted sum of the results."""

class SpecialisedPose(Function, Protocol):
    def __call__(self, q: ArrayLike, *, out: Array | None = None, threads: int | None = None) -> Array:
        """Pose of a frame or body in the world."""
    @property
    def jvp(self) -> Jvp[Array]:
        """Rates of the results along tangents of the arguments."""
    @property
    def vjp(self) -> Vjp[ByQ]:
        """Gradients of a weighted sum of the results."""
    @property
    def jacobian(self) -> SpecialisedJacobianOfPose:
        """All first derivatives."""

class Pose(Protocol):
    __name__: str
    def __call__(self, q: ArrayLike, frame: str, *, out: Array | None = None, threads: int | None = None) -> Array:
        """Pose of a frame or body in the world.

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Configuration, with its loops closed.
        frame : str
            Name of a frame or body.
        out : ndarray, optional
            Array that receives the result.
        threads : int, optional
            Largest number of threads for a batch.

        Returns
        -------
        T : ndarray, shape (..., 4, 4)
            Homogeneous matrix [[R, p], [0, 1]]: rotation from the axes of the frame to those of the world, and position
            (m).

        See Also
        --------
        poses : Poses of all bodies.
        velocity : Velocity of a frame.

        Examples
        --------
        >>> import fourbar as fb
        >>> robot = fb.robots.double_pendulum()
        >>> robot.pose([0.1, 0.2], "tip").round(3)
        array([[ 0.955,  0.   ,  0.296, -0.168],
               [ 0.   ,  1.   ,  0.   ,  0.   ],
               [-0.296,  0.   ,  0.955, -0.88 ],
               [ 0.   ,  0.   ,  0.   ,  1.   ]])
        """
    def specialise(self, frame: str) -> SpecialisedPose:
        """The function for one choice of options: it takes arrays only, and is called faster."""
    @property
    def options(self) -> tuple[str, ...]:
        """The names of the options."""
    @property
    def jvp(self) -> JvpOfPose:
        """Rates of the results along tangents of the arguments."""
    @property
    def vjp(self) -> VjpOfPose:
        """Gradients of a weighted sum of the results."""
    @property
    def jacobian(self) -> JacobianOfPose:
        """All first derivatives."""

class JacobianOfPoses(Derivative, Protocol):
    def __call__(
        self,
        q: ArrayLike,
        *,
        parameters: Names | None = None,
        out: Any = None,
        threads: int | None = None,
    ) -> ByQ:
        """All first derivatives, by argument; columns for a configuration are along its nv velocities."""

class Poses(Function, Protocol):
    def __call__(self, q: ArrayLike, *, out: Array | None = None, threads: int | None = None) -> Array:
        """Poses of all bodies in the world.

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Configuration, with its loops closed.
        out : ndarray, optional
            Array that receives the result.
        threads : int, optional
            Largest number of threads for a batch.

        Returns
        -------
        T : ndarray, shape (..., n_bodies, 4, 4)
            Homogeneous matrices [[R, p], [0, 1]] in the order of `names.bodies`, positions in m.

        See Also
        --------
        pose : Pose of one frame or body.

        Examples
        --------
        >>> import fourbar as fb
        >>> robot = fb.robots.double_pendulum()
        >>> robot.poses([0.1, 0.2]).shape
        (2, 4, 4)
        """
    @property
    def jvp(self) -> Jvp[Array]:
        """Rates of the results along tangents of the arguments."""
    @property
    def vjp(self) -> Vjp[ByQ]:
        """Gradients of a weighted sum of the results."""
    @property
    def jacobian(self) -> JacobianOfPoses:
        """All first derivatives."""

class JacobianOfVelocity(Derivative, Protocol):
    def __call__(
        self,
        q: ArrayLike,
        v: ArrayLike,
        *,
        frame: str,
        at: Literal["origin", "world"] | ArrayLike = "origin",
        expressed_in: str = "world",
        parameters: Names | None = None,
        out: Any = None,
        threads: int | None = None,
    ) -> ByQV:
        """All first derivatives, by argument; columns for a configuration are along its nv velocities."""

class SpecialisedJacobianOfVelocity(Derivative, Protocol):
    def __call__(
        self,
        q: ArrayLike,
        v: ArrayLike,
        *,
        parameters: Names | None = None,
        out: Any = None,
        threads: int | None = None,
    ) -> ByQV:
        """All first derivatives, by argument; columns for a configuration are along its nv velocities."""

class JvpOfVelocity(Derivative, Protocol):
    def __call__(
        self,
        args: Arrays,
        tangents: Arrays = (),
        parameters: Mapping[str, ArrayLike | None] | None = None,
        *,
        frame: str,
        at: Literal["origin", "world"] | ArrayLike = "origin",
        expressed_in: str = "world",
        out: Any = None,
        threads: int | None = None,
    ) -> Array:
        """Rates of the results when the arguments move with tangents."""

class VjpOfVelocity(Derivative, Protocol):
    def __call__(
        self,
        args: Arrays,
        cotangent: Arrays,
        parameters: Names | None = None,
        *,
        frame: str,
        at: Literal["origin", "world"] | ArrayLike = "origin",
        expressed_in: str = "world",
        out: Any = None,
        threads: int | None = None,
    ) -> ByQV:
        """Gradients of a weighted sum of the results."""

class SpecialisedVelocity(Function, Protocol):
    def __call__(self, q: ArrayLike, v: ArrayLike, *, out: Array | None = None, threads: int | None = None) -> Array:
        """Velocity of a frame or body."""
    @property
    def jvp(self) -> Jvp[Array]:
        """Rates of the results along tangents of the arguments."""
    @property
    def vjp(self) -> Vjp[ByQV]:
        """Gradients of a weighted sum of the results."""
    @property
    def jacobian(self) -> SpecialisedJacobianOfVelocity:
        """All first derivatives."""

class Velocity(Protocol):
    __name__: str
    def __call__(
        self,
        q: ArrayLike,
        v: ArrayLike,
        frame: str,
        at: Literal["origin", "world"] | ArrayLike = "origin",
        expressed_in: str = "world",
        *,
        out: Array | None = None,
        threads: int | None = None,
    ) -> Array:
        """Velocity of a frame or body.

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Configuration, with its loops closed.
        v : array_like, shape (..., nv)
            Velocity (rad/s, m/s).
        frame : str
            Name of a frame or body.
        at : {'origin', 'world'} or array_like, shape (3,), default 'origin'
            Point of the body whose motion is meant: the origin of the frame, the point that passes the origin of the
            world, or a point (m) in the axes of the frame.
        expressed_in : str, default 'world'
            Axes of the result: 'world', 'frame' (those of the frame itself), or the name of another frame or body.
        out : ndarray, optional
            Array that receives the result.
        threads : int, optional
            Largest number of threads for a batch.

        Returns
        -------
        velocity : ndarray, shape (..., 6)
            [angular; linear] (rad/s, m/s).

        See Also
        --------
        jacobian : The matrix J in J v.
        acceleration : Its rate.
        twists : Twists of all bodies, in their own axes.

        Examples
        --------
        >>> import fourbar as fb
        >>> robot = fb.robots.double_pendulum()
        >>> robot.velocity([0.1, 0.2], [1.0, 0.0], "tip").round(4)
        array([ 0.    ,  1.    ,  0.    , -0.8796,  0.    ,  0.1681])
        >>> robot.velocity([0.1, 0.2], [1.0, 0.0], "tip", expressed_in="frame").round(4)
        array([ 0.    ,  1.    ,  0.    , -0.89  ,  0.    , -0.0993])
        """
    def specialise(
        self,
        frame: str,
        at: Literal["origin", "world"] | ArrayLike = "origin",
        expressed_in: str = "world",
    ) -> SpecialisedVelocity:
        """The function for one choice of options: it takes arrays only, and is called faster."""
    @property
    def options(self) -> tuple[str, ...]:
        """The names of the options."""
    @property
    def jvp(self) -> JvpOfVelocity:
        """Rates of the results along tangents of the arguments."""
    @property
    def vjp(self) -> VjpOfVelocity:
        """Gradients of a weighted sum of the results."""
    @property
    def jacobian(self) -> JacobianOfVelocity:
        """All first derivatives."""

class JacobianOfAcceleration(Derivative, Protocol):
    def __call__(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        *,
        frame: str,
        at: Literal["origin", "world"] | ArrayLike = "origin",
        expressed_in: str = "world",
        parameters: Names | None = None,
        out: Any = None,
        threads: int | None = None,
    ) -> ByQVA:
        """All first derivatives, by argument; columns for a configuration are along its nv velocities."""

class SpecialisedJacobianOfAcceleration(Derivative, Protocol):
    def __call__(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        *,
        parameters: Names | None = None,
        out: Any = None,
        threads: int | None = None,
    ) -> ByQVA:
        """All first derivatives, by argument; columns for a configuration are along its nv velocities."""

class JvpOfAcceleration(Derivative, Protocol):
    def __call__(
        self,
        args: Arrays,
        tangents: Arrays = (),
        parameters: Mapping[str, ArrayLike | None] | None = None,
        *,
        frame: str,
        at: Literal["origin", "world"] | ArrayLike = "origin",
        expressed_in: str = "world",
        out: Any = None,
        threads: int | None = None,
    ) -> Array:
        """Rates of the results when the arguments move with tangents."""

class VjpOfAcceleration(Derivative, Protocol):
    def __call__(
        self,
        args: Arrays,
        cotangent: Arrays,
        parameters: Names | None = None,
        *,
        frame: str,
        at: Literal["origin", "world"] | ArrayLike = "origin",
        expressed_in: str = "world",
        out: Any = None,
        threads: int | None = None,
    ) -> ByQVA:
        """Gradients of a weighted sum of the results."""

class SpecialisedAcceleration(Function, Protocol):
    def __call__(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        *,
        out: Array | None = None,
        threads: int | None = None,
    ) -> Array:
        """Acceleration of a frame or body."""
    @property
    def jvp(self) -> Jvp[Array]:
        """Rates of the results along tangents of the arguments."""
    @property
    def vjp(self) -> Vjp[ByQVA]:
        """Gradients of a weighted sum of the results."""
    @property
    def jacobian(self) -> SpecialisedJacobianOfAcceleration:
        """All first derivatives."""

class Acceleration(Protocol):
    __name__: str
    def __call__(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        frame: str,
        at: Literal["origin", "world"] | ArrayLike = "origin",
        expressed_in: str = "world",
        *,
        out: Array | None = None,
        threads: int | None = None,
    ) -> Array:
        """Acceleration of a frame or body.

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Configuration, with its loops closed.
        v : array_like, shape (..., nv)
            Velocity (rad/s, m/s).
        a : array_like, shape (..., nv)
            Acceleration (rad/s², m/s²).
        frame : str
            Name of a frame or body.
        at : {'origin', 'world'} or array_like, shape (3,), default 'origin'
            Point of the body whose motion is meant: the origin of the frame, the point that passes the origin of the
            world, or a point (m) in the axes of the frame.
        expressed_in : str, default 'world'
            Axes of the result: 'world', 'frame' (those of the frame itself), or the name of another frame or body.
        out : ndarray, optional
            Array that receives the result.
        threads : int, optional
            Largest number of threads for a batch.

        Returns
        -------
        acceleration : ndarray, shape (..., 6)
            [angular; linear] (rad/s², m/s²): J a + J̇ v, the component-wise rate of the `velocity`. Gravity is not
            included.

        See Also
        --------
        jacobian_rate : J̇ v alone.

        Notes
        -----
        In world axes this is the ordinary acceleration of the point.

        Examples
        --------
        >>> import fourbar as fb
        >>> robot = fb.robots.double_pendulum()
        >>> robot.acceleration([0.1, 0.2], [1.0, 0.0], [0.0, 0.0], "tip").round(4)
        array([0.    , 0.    , 0.    , 0.1681, 0.    , 0.8796])
        """
    def specialise(
        self,
        frame: str,
        at: Literal["origin", "world"] | ArrayLike = "origin",
        expressed_in: str = "world",
    ) -> SpecialisedAcceleration:
        """The function for one choice of options: it takes arrays only, and is called faster."""
    @property
    def options(self) -> tuple[str, ...]:
        """The names of the options."""
    @property
    def jvp(self) -> JvpOfAcceleration:
        """Rates of the results along tangents of the arguments."""
    @property
    def vjp(self) -> VjpOfAcceleration:
        """Gradients of a weighted sum of the results."""
    @property
    def jacobian(self) -> JacobianOfAcceleration:
        """All first derivatives."""

class JacobianOfJacobian(Derivative, Protocol):
    def __call__(
        self,
        q: ArrayLike,
        *,
        frame: str,
        at: Literal["origin", "world"] | ArrayLike = "origin",
        expressed_in: str = "world",
        parameters: Names | None = None,
        out: Any = None,
        threads: int | None = None,
    ) -> ByQ:
        """All first derivatives, by argument; columns for a configuration are along its nv velocities."""

class SpecialisedJacobianOfJacobian(Derivative, Protocol):
    def __call__(
        self,
        q: ArrayLike,
        *,
        parameters: Names | None = None,
        out: Any = None,
        threads: int | None = None,
    ) -> ByQ:
        """All first derivatives, by argument; columns for a configuration are along its nv velocities."""

class JvpOfJacobian(Derivative, Protocol):
    def __call__(
        self,
        args: Arrays,
        tangents: Arrays = (),
        parameters: Mapping[str, ArrayLike | None] | None = None,
        *,
        frame: str,
        at: Literal["origin", "world"] | ArrayLike = "origin",
        expressed_in: str = "world",
        out: Any = None,
        threads: int | None = None,
    ) -> Array:
        """Rates of the results when the arguments move with tangents."""

class VjpOfJacobian(Derivative, Protocol):
    def __call__(
        self,
        args: Arrays,
        cotangent: Arrays,
        parameters: Names | None = None,
        *,
        frame: str,
        at: Literal["origin", "world"] | ArrayLike = "origin",
        expressed_in: str = "world",
        out: Any = None,
        threads: int | None = None,
    ) -> ByQ:
        """Gradients of a weighted sum of the results."""

class SpecialisedJacobian(Function, Protocol):
    def __call__(self, q: ArrayLike, *, out: Array | None = None, threads: int | None = None) -> Array:
        """Jacobian of a frame or body."""
    @property
    def jvp(self) -> Jvp[Array]:
        """Rates of the results along tangents of the arguments."""
    @property
    def vjp(self) -> Vjp[ByQ]:
        """Gradients of a weighted sum of the results."""
    @property
    def jacobian(self) -> SpecialisedJacobianOfJacobian:
        """All first derivatives."""

class Jacobian(Protocol):
    __name__: str
    def __call__(
        self,
        q: ArrayLike,
        frame: str,
        at: Literal["origin", "world"] | ArrayLike = "origin",
        expressed_in: str = "world",
        *,
        out: Array | None = None,
        threads: int | None = None,
    ) -> Array:
        """Jacobian of a frame or body.

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Configuration, with its loops closed.
        frame : str
            Name of a frame or body.
        at : {'origin', 'world'} or array_like, shape (3,), default 'origin'
            Point of the body whose motion is meant: the origin of the frame, the point that passes the origin of the
            world, or a point (m) in the axes of the frame.
        expressed_in : str, default 'world'
            Axes of the result: 'world', 'frame' (those of the frame itself), or the name of another frame or body.
        out : ndarray, optional
            Array that receives the result.
        threads : int, optional
            Largest number of threads for a batch.

        Returns
        -------
        J : ndarray, shape (..., 6, nv)
            The `velocity` [angular; linear] of the frame is J v, with the same `at` and `expressed_in`.

        See Also
        --------
        jacobians : Jacobians of all bodies.
        jacobian_rate : J̇ v.

        Examples
        --------
        >>> import fourbar as fb
        >>> robot = fb.robots.double_pendulum()
        >>> robot.jacobian([0.1, 0.2], "tip").round(4)[3:]
        array([[-0.8796, -0.3821],
               [ 0.    ,  0.    ],
               [ 0.1681,  0.1182]])
        """
    def specialise(
        self,
        frame: str,
        at: Literal["origin", "world"] | ArrayLike = "origin",
        expressed_in: str = "world",
    ) -> SpecialisedJacobian:
        """The function for one choice of options: it takes arrays only, and is called faster."""
    @property
    def options(self) -> tuple[str, ...]:
        """The names of the options."""
    @property
    def jvp(self) -> JvpOfJacobian:
        """Rates of the results along tangents of the arguments."""
    @property
    def vjp(self) -> VjpOfJacobian:
        """Gradients of a weighted sum of the results."""
    @property
    def jacobian(self) -> JacobianOfJacobian:
        """All first derivatives."""

class JacobianOfJacobianRate(Derivative, Protocol):
    def __call__(
        self,
        q: ArrayLike,
        v: ArrayLike,
        *,
        frame: str,
        at: Literal["origin", "world"] | ArrayLike = "origin",
        expressed_in: str = "world",
        parameters: Names | None = None,
        out: Any = None,
        threads: int | None = None,
    ) -> ByQV:
        """All first derivatives, by argument; columns for a configuration are along its nv velocities."""

class SpecialisedJacobianOfJacobianRate(Derivative, Protocol):
    def __call__(
        self,
        q: ArrayLike,
        v: ArrayLike,
        *,
        parameters: Names | None = None,
        out: Any = None,
        threads: int | None = None,
    ) -> ByQV:
        """All first derivatives, by argument; columns for a configuration are along its nv velocities."""

class JvpOfJacobianRate(Derivative, Protocol):
    def __call__(
        self,
        args: Arrays,
        tangents: Arrays = (),
        parameters: Mapping[str, ArrayLike | None] | None = None,
        *,
        frame: str,
        at: Literal["origin", "world"] | ArrayLike = "origin",
        expressed_in: str = "world",
        out: Any = None,
        threads: int | None = None,
    ) -> Array:
        """Rates of the results when the arguments move with tangents."""

class VjpOfJacobianRate(Derivative, Protocol):
    def __call__(
        self,
        args: Arrays,
        cotangent: Arrays,
        parameters: Names | None = None,
        *,
        frame: str,
        at: Literal["origin", "world"] | ArrayLike = "origin",
        expressed_in: str = "world",
        out: Any = None,
        threads: int | None = None,
    ) -> ByQV:
        """Gradients of a weighted sum of the results."""

class SpecialisedJacobianRate(Function, Protocol):
    def __call__(self, q: ArrayLike, v: ArrayLike, *, out: Array | None = None, threads: int | None = None) -> Array:
        """Rate of the Jacobian of a frame, times the velocity."""
    @property
    def jvp(self) -> Jvp[Array]:
        """Rates of the results along tangents of the arguments."""
    @property
    def vjp(self) -> Vjp[ByQV]:
        """Gradients of a weighted sum of the results."""
    @property
    def jacobian(self) -> SpecialisedJacobianOfJacobianRate:
        """All first derivatives."""

class JacobianRate(Protocol):
    __name__: str
    def __call__(
        self,
        q: ArrayLike,
        v: ArrayLike,
        frame: str,
        at: Literal["origin", "world"] | ArrayLike = "origin",
        expressed_in: str = "world",
        *,
        out: Array | None = None,
        threads: int | None = None,
    ) -> Array:
        """Rate of the Jacobian of a frame, times the velocity.

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Configuration, with its loops closed.
        v : array_like, shape (..., nv)
            Velocity (rad/s, m/s).
        frame : str
            Name of a frame or body.
        at : {'origin', 'world'} or array_like, shape (3,), default 'origin'
            Point of the body whose motion is meant: the origin of the frame, the point that passes the origin of the
            world, or a point (m) in the axes of the frame.
        expressed_in : str, default 'world'
            Axes of the result: 'world', 'frame' (those of the frame itself), or the name of another frame or body.
        out : ndarray, optional
            Array that receives the result.
        threads : int, optional
            Largest number of threads for a batch.

        Returns
        -------
        Jdot_v : ndarray, shape (..., 6)
            J̇ v (rad/s², m/s²): the `acceleration` of the frame where a = 0.

        See Also
        --------
        jacobian : The Jacobian J.
        acceleration : J a + J̇ v.

        Examples
        --------
        >>> import fourbar as fb
        >>> robot = fb.robots.double_pendulum()
        >>> robot.jacobian_rate([0.1, 0.2], [1.0, 0.0], "tip").round(4)
        array([0.    , 0.    , 0.    , 0.1681, 0.    , 0.8796])
        """
    def specialise(
        self,
        frame: str,
        at: Literal["origin", "world"] | ArrayLike = "origin",
        expressed_in: str = "world",
    ) -> SpecialisedJacobianRate:
        """The function for one choice of options: it takes arrays only, and is called faster."""
    @property
    def options(self) -> tuple[str, ...]:
        """The names of the options."""
    @property
    def jvp(self) -> JvpOfJacobianRate:
        """Rates of the results along tangents of the arguments."""
    @property
    def vjp(self) -> VjpOfJacobianRate:
        """Gradients of a weighted sum of the results."""
    @property
    def jacobian(self) -> JacobianOfJacobianRate:
        """All first derivatives."""

class JacobianOfTwists(Derivative, Protocol):
    def __call__(
        self,
        q: ArrayLike,
        v: ArrayLike,
        *,
        parameters: Names | None = None,
        out: Any = None,
        threads: int | None = None,
    ) -> ByQV:
        """All first derivatives, by argument; columns for a configuration are along its nv velocities."""

class Twists(Function, Protocol):
    def __call__(self, q: ArrayLike, v: ArrayLike, *, out: Array | None = None, threads: int | None = None) -> Array:
        """Twists of all bodies.

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Configuration, with its loops closed.
        v : array_like, shape (..., nv)
            Velocity (rad/s, m/s).
        out : ndarray, optional
            Array that receives the result.
        threads : int, optional
            Largest number of threads for a batch.

        Returns
        -------
        V : ndarray, shape (..., n_bodies, 6)
            [angular; linear] (rad/s, m/s) of the origin of each body, in the axes of the body.

        See Also
        --------
        velocity : Velocity of one frame, at any point and in any axes.
        jacobians : The matrices J in J v.

        Examples
        --------
        >>> import fourbar as fb
        >>> robot = fb.robots.double_pendulum()
        >>> robot.twists([0.1, 0.2], [1.0, 0.0]).round(4)
        array([[ 0.    ,  1.    ,  0.    ,  0.    ,  0.    ,  0.    ],
               [ 0.    ,  1.    ,  0.    , -0.49  ,  0.    , -0.0993]])
        """
    @property
    def jvp(self) -> Jvp[Array]:
        """Rates of the results along tangents of the arguments."""
    @property
    def vjp(self) -> Vjp[ByQV]:
        """Gradients of a weighted sum of the results."""
    @property
    def jacobian(self) -> JacobianOfTwists:
        """All first derivatives."""

class JacobianOfJacobians(Derivative, Protocol):
    def __call__(
        self,
        q: ArrayLike,
        *,
        parameters: Names | None = None,
        out: Any = None,
        threads: int | None = None,
    ) -> ByQ:
        """All first derivatives, by argument; columns for a configuration are along its nv velocities."""

class Jacobians(Function, Protocol):
    def __call__(self, q: ArrayLike, *, out: Array | None = None, threads: int | None = None) -> Array:
        """Jacobians of all bodies.

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Configuration, with its loops closed.
        out : ndarray, optional
            Array that receives the result.
        threads : int, optional
            Largest number of threads for a batch.

        Returns
        -------
        J : ndarray, shape (..., n_bodies, 6, nv)
            The `twists` of the bodies are J v.

        See Also
        --------
        jacobian : Jacobian of one frame, at any point and in any axes.

        Examples
        --------
        >>> import fourbar as fb
        >>> robot = fb.robots.double_pendulum()
        >>> robot.jacobians([0.1, 0.2]).shape
        (2, 6, 2)
        """
    @property
    def jvp(self) -> Jvp[Array]:
        """Rates of the results along tangents of the arguments."""
    @property
    def vjp(self) -> Vjp[ByQ]:
        """Gradients of a weighted sum of the results."""
    @property
    def jacobian(self) -> JacobianOfJacobians:
        """All first derivatives."""

class JacobianOfGeneralizedForce(Derivative, Protocol):
    def __call__(
        self,
        q: ArrayLike,
        f_ext: Wrenches,
        *,
        parameters: Names | None = None,
        out: Any = None,
        threads: int | None = None,
    ) -> ByQFExt:
        """All first derivatives, by argument; columns for a configuration are along its nv velocities."""

class GeneralizedForce(Function, Protocol):
    def __call__(self, q: ArrayLike, f_ext: Wrenches, *, out: Array | None = None, threads: int | None = None) -> Array:
        """Joint forces that do the work of wrenches on bodies.

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Configuration, with its loops closed.
        f_ext : array_like, shape (..., n_bodies, 6), or dict
            Wrench [moment; force] (N m, N) on each body, at its origin and in its axes; or on some bodies,
            ``{"hand": wrench}``.
        out : ndarray, optional
            Array that receives the result.
        threads : int, optional
            Largest number of threads for a batch.

        Returns
        -------
        tau : ndarray, shape (..., nv)
            Σ Jᵀ f_ext (N m, N).

        See Also
        --------
        jacobians : The matrices J.

        Examples
        --------
        >>> import fourbar as fb
        >>> robot = fb.robots.double_pendulum()
        >>> robot.generalized_force([0.1, 0.2], [[0, 0, 0, 0, 0, 0], [0, 0, 0, 1.0, 0, 0]]).round(4)
        array([-0.49,  0.  ])
        """
    @property
    def jvp(self) -> Jvp[Array]:
        """Rates of the results along tangents of the arguments."""
    @property
    def vjp(self) -> Vjp[ByQFExt]:
        """Gradients of a weighted sum of the results."""
    @property
    def jacobian(self) -> JacobianOfGeneralizedForce:
        """All first derivatives."""

class JacobianOfActuatorForce(Derivative, Protocol):
    def __call__(
        self,
        q: ArrayLike,
        u: ArrayLike,
        *,
        parameters: Names | None = None,
        out: Any = None,
        threads: int | None = None,
    ) -> ByQU:
        """All first derivatives, by argument; columns for a configuration are along its nv velocities."""

class ActuatorForce(Function, Protocol):
    def __call__(self, q: ArrayLike, u: ArrayLike, *, out: Array | None = None, threads: int | None = None) -> Array:
        """Joint forces made by the actuators.

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Configuration, with its loops closed.
        u : array_like, shape (..., n_actuators)
            Forces of the actuators (N m, N), in the order of `names.actuators`.
        out : ndarray, optional
            Array that receives the result.
        threads : int, optional
            Largest number of threads for a batch.

        Returns
        -------
        tau : ndarray, shape (..., nv)
            τ = Bᵀ u (N m, N) on the independent velocities, with the `actuator_matrix` B.

        Raises
        ------
        ArgumentError
            If the robot has no actuators.

        See Also
        --------
        actuator_matrix : The matrix B.
        System.actuated : Dynamics in the forces of actuated joints.

        Notes
        -----
        In a loop an actuator may be on any joint.

        Examples
        --------
        >>> import fourbar as fb
        >>> b = fb.Builder("geared")
        >>> _ = b.body("arm", joint=fb.joints.Revolute("y"), mass=1.0, com=(0, 0, -0.3), inertia=(0.01, 0.01, 0.01))
        >>> robot = b.actuator("motor", drives="arm", gear=9.0).build()
        >>> robot.actuator_force([0.0], [2.0])
        array([18.])
        """
    @property
    def jvp(self) -> Jvp[Array]:
        """Rates of the results along tangents of the arguments."""
    @property
    def vjp(self) -> Vjp[ByQU]:
        """Gradients of a weighted sum of the results."""
    @property
    def jacobian(self) -> JacobianOfActuatorForce:
        """All first derivatives."""

class JacobianOfActuatorMatrix(Derivative, Protocol):
    def __call__(
        self,
        q: ArrayLike,
        *,
        parameters: Names | None = None,
        out: Any = None,
        threads: int | None = None,
    ) -> ByQ:
        """All first derivatives, by argument; columns for a configuration are along its nv velocities."""

class ActuatorMatrix(Function, Protocol):
    def __call__(self, q: ArrayLike, *, out: Array | None = None, threads: int | None = None) -> Array:
        """Matrix that takes the velocity to the velocities of the actuators.

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Configuration, with its loops closed.
        out : ndarray, optional
            Array that receives the result.
        threads : int, optional
            Largest number of threads for a batch.

        Returns
        -------
        B : ndarray, shape (..., n_actuators, nv)
            The actuators move with B v, and their forces u make the joint forces τ = Bᵀ u.

        Raises
        ------
        ArgumentError
            If the robot has no actuators.

        See Also
        --------
        actuator_force : The product Bᵀ u.

        Examples
        --------
        >>> import fourbar as fb
        >>> b = fb.Builder("geared")
        >>> _ = b.body("arm", joint=fb.joints.Revolute("y"), mass=1.0, com=(0, 0, -0.3), inertia=(0.01, 0.01, 0.01))
        >>> robot = b.actuator("motor", drives="arm", gear=9.0).build()
        >>> robot.actuator_matrix([0.0])
        array([[9.]])
        """
    @property
    def jvp(self) -> Jvp[Array]:
        """Rates of the results along tangents of the arguments."""
    @property
    def vjp(self) -> Vjp[ByQ]:
        """Gradients of a weighted sum of the results."""
    @property
    def jacobian(self) -> JacobianOfActuatorMatrix:
        """All first derivatives."""

class JacobianOfActuatorLength(Derivative, Protocol):
    def __call__(
        self,
        q: ArrayLike,
        *,
        parameters: Names | None = None,
        out: Any = None,
        threads: int | None = None,
    ) -> ByQ:
        """All first derivatives, by argument; columns for a configuration are along its nv velocities."""

class ActuatorLength(Function, Protocol):
    def __call__(self, q: ArrayLike, *, out: Array | None = None, threads: int | None = None) -> Array:
        """Lengths of the actuators.

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Configuration, with its loops closed.
        out : ndarray, optional
            Array that receives the result.
        threads : int, optional
            Largest number of threads for a batch.

        Returns
        -------
        length : ndarray, shape (..., nu)
            Σ gear · coordinates of the joints that an actuator moves (rad, m).

        Raises
        ------
        ArgumentError
            If the robot has no actuators.

        See Also
        --------
        actuator_matrix : Velocities of the actuators.
        control_response : Forces of the actuators, which may depend on their lengths.

        Notes
        -----
        The coordinates of a spherical joint are its rotation vector, those of others on a group q ⊖ neutral. On a free
        joint an actuator has the length zero, as in MuJoCo.

        Examples
        --------
        >>> import fourbar as fb
        >>> b = fb.Builder("geared")
        >>> _ = b.body("arm", joint=fb.joints.Revolute("y"), mass=1.0, com=(0, 0, -0.3), inertia=(0.01, 0.01, 0.01))
        >>> robot = b.position_servo("servo", drives="arm", gear=2.0, kp=5.0, kd=0.5).build()
        >>> robot.actuator_length([0.25])
        array([0.5])
        """
    @property
    def jvp(self) -> Jvp[Array]:
        """Rates of the results along tangents of the arguments."""
    @property
    def vjp(self) -> Vjp[ByQ]:
        """Gradients of a weighted sum of the results."""
    @property
    def jacobian(self) -> JacobianOfActuatorLength:
        """All first derivatives."""

class JacobianOfControlResponse(Derivative, Protocol):
    def __call__(
        self,
        q: ArrayLike,
        v: ArrayLike,
        u: ArrayLike,
        *,
        parameters: Names | None = None,
        out: Any = None,
        threads: int | None = None,
    ) -> ByQVU:
        """All first derivatives, by argument; columns for a configuration are along its nv velocities."""

class ControlResponse(Function, Protocol):
    def __call__(
        self,
        q: ArrayLike,
        v: ArrayLike,
        u: ArrayLike,
        *,
        out: Array | None = None,
        threads: int | None = None,
    ) -> Array:
        """Forces of the actuators at their controls.

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Configuration, with its loops closed.
        v : array_like, shape (..., nv)
            Velocity (rad/s, m/s).
        u : array_like, shape (..., nu)
            Controls of the actuators, in the order of `names.actuators`: those of a motor are forces (N m, N), those of
            servos lengths (rad, m) or velocities (rad/s, m/s).
        out : ndarray, optional
            Array that receives the result.
        threads : int, optional
            Largest number of threads for a batch.

        Returns
        -------
        force : ndarray, shape (..., nu)
            Forces of the actuators before their gears (N m, N), within their control and force ranges.

        Raises
        ------
        ArgumentError
            If the robot has no actuators, or one of a kind that has a state of its own.

        See Also
        --------
        control_force : Joint forces made of these.
        Builder.actuator : What a force depends on.

        Notes
        -----
        force = (g₀ + g₁ length + g₂ velocity) u + b₀ + b₁ length + b₂ velocity: gain · u of a motor,
        kp (u - length) - kd velocity of a position servo, kv (u - velocity) of a velocity servo.

        Examples
        --------
        >>> import fourbar as fb
        >>> b = fb.Builder("geared")
        >>> _ = b.body("arm", joint=fb.joints.Revolute("y"), mass=1.0, com=(0, 0, -0.3), inertia=(0.01, 0.01, 0.01))
        >>> robot = b.position_servo("servo", drives="arm", gear=2.0, kp=5.0, kd=0.5).build()
        >>> robot.control_response([0.25], [0.0], [1.0])
        array([2.5])
        """
    @property
    def jvp(self) -> Jvp[Array]:
        """Rates of the results along tangents of the arguments."""
    @property
    def vjp(self) -> Vjp[ByQVU]:
        """Gradients of a weighted sum of the results."""
    @property
    def jacobian(self) -> JacobianOfControlResponse:
        """All first derivatives."""

class JacobianOfControlForce(Derivative, Protocol):
    def __call__(
        self,
        q: ArrayLike,
        v: ArrayLike,
        u: ArrayLike,
        *,
        parameters: Names | None = None,
        out: Any = None,
        threads: int | None = None,
    ) -> ByQVU:
        """All first derivatives, by argument; columns for a configuration are along its nv velocities."""

class ControlForce(Function, Protocol):
    def __call__(
        self,
        q: ArrayLike,
        v: ArrayLike,
        u: ArrayLike,
        *,
        out: Array | None = None,
        threads: int | None = None,
    ) -> Array:
        """Joint forces made by the actuators at their controls.

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Configuration, with its loops closed.
        v : array_like, shape (..., nv)
            Velocity (rad/s, m/s).
        u : array_like, shape (..., nu)
            Controls of the actuators, in the order of `names.actuators`: those of a motor are forces (N m, N), those of
            servos lengths (rad, m) or velocities (rad/s, m/s).
        out : ndarray, optional
            Array that receives the result.
        threads : int, optional
            Largest number of threads for a batch.

        Returns
        -------
        tau : ndarray, shape (..., nv)
            Forces on the independent velocities (N m, N).

        Raises
        ------
        ArgumentError
            If the robot has no actuators, or one of a kind that has a state of its own.

        See Also
        --------
        control_response : Forces of the actuators.
        control_gains : How these forces change with q and v.
        passive_forces : Springs and damping, which act besides.

        Notes
        -----
        τ = Gᵀ Bᵀ f with f the `control_response`. On each joint the sum is held between its `min_force` and `max_force`,
        also on one that loops determine.

        Examples
        --------
        >>> import fourbar as fb
        >>> b = fb.Builder("geared")
        >>> _ = b.body("arm", joint=fb.joints.Revolute("y"), mass=1.0, com=(0, 0, -0.3), inertia=(0.01, 0.01, 0.01))
        >>> robot = b.position_servo("servo", drives="arm", gear=2.0, kp=5.0, kd=0.5).build()
        >>> robot.control_force([0.25], [0.0], [1.0])
        array([5.])
        """
    @property
    def jvp(self) -> Jvp[Array]:
        """Rates of the results along tangents of the arguments."""
    @property
    def vjp(self) -> Vjp[ByQVU]:
        """Gradients of a weighted sum of the results."""
    @property
    def jacobian(self) -> JacobianOfControlForce:
        """All first derivatives."""

class BlocksOfControlGains(Protocol):
    @property
    def stiffness(self) -> ByQVU: ...
    @property
    def damping(self) -> ByQVU: ...

class JacobianOfControlGains(Derivative, Protocol):
    def __call__(
        self,
        q: ArrayLike,
        v: ArrayLike,
        u: ArrayLike,
        *,
        parameters: Names | None = None,
        out: Any = None,
        threads: int | None = None,
    ) -> BlocksOfControlGains:
        """All first derivatives, by argument; columns for a configuration are along its nv velocities."""

class ControlGains(Function, Protocol):
    def __call__(
        self,
        q: ArrayLike,
        v: ArrayLike,
        u: ArrayLike,
        *,
        out: tuple[Array, ...] | None = None,
        threads: int | None = None,
    ) -> tuple[Array, Array]:
        """Stiffness and damping that the actuators add to the joints.

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Configuration, with its loops closed.
        v : array_like, shape (..., nv)
            Velocity (rad/s, m/s).
        u : array_like, shape (..., nu)
            Controls of the actuators, in the order of `names.actuators`: those of a motor are forces (N m, N), those of
            servos lengths (rad, m) or velocities (rad/s, m/s).
        out : tuple of ndarray, optional
            Arrays that receive the results.
        threads : int, optional
            Largest number of threads for a batch.

        Returns
        -------
        stiffness : ndarray, shape (..., nv, nv)
            K = -∂τ/∂q of the `control_force` τ (N m/rad, N/m).
        damping : ndarray, shape (..., nv, nv)
            D = -∂τ/∂v (N m s/rad, N s/m).

        Raises
        ------
        ArgumentError
            If the robot has no actuators, or one of a kind that has a state of its own.

        See Also
        --------
        control_force : The forces.

        Notes
        -----
        K = Bᵀ diag(k) B and D = Bᵀ diag(d) B with the slopes k, d of the actuators' laws (kp and kd of a servo), zero for
        what is at an end of its range; how B itself changes is left out, so both are symmetric. A step that is implicit in
        the servos solves (M + dt D + dt² K) Δv = dt (τ - h - dt K v).

        Examples
        --------
        >>> import fourbar as fb
        >>> b = fb.Builder("geared")
        >>> _ = b.body("arm", joint=fb.joints.Revolute("y"), mass=1.0, com=(0, 0, -0.3), inertia=(0.01, 0.01, 0.01))
        >>> robot = b.position_servo("servo", drives="arm", gear=2.0, kp=5.0, kd=0.5).build()
        >>> K, D = robot.control_gains([0.25], [0.0], [1.0])
        >>> K, D
        (array([[20.]]), array([[2.]]))
        """
    @property
    def jvp(self) -> Jvp[tuple[Array, Array]]:
        """Rates of the results along tangents of the arguments."""
    @property
    def vjp(self) -> Vjp[ByQVU]:
        """Gradients of a weighted sum of the results."""
    @property
    def jacobian(self) -> JacobianOfControlGains:
        """All first derivatives."""

class JacobianOfPassiveForces(Derivative, Protocol):
    def __call__(
        self,
        q: ArrayLike,
        v: ArrayLike,
        *,
        parameters: Names | None = None,
        out: Any = None,
        threads: int | None = None,
    ) -> ByQV:
        """All first derivatives, by argument; columns for a configuration are along its nv velocities."""

class PassiveForces(Function, Protocol):
    def __call__(self, q: ArrayLike, v: ArrayLike, *, out: Array | None = None, threads: int | None = None) -> Array:
        """Forces of springs and viscous damping in the joints, of gravity compensation, drag and currents.

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Configuration, with its loops closed.
        v : array_like, shape (..., nv)
            Velocity (rad/s, m/s).
        out : ndarray, optional
            Array that receives the result.
        threads : int, optional
            Largest number of threads for a batch.

        Returns
        -------
        tau : ndarray, shape (..., nv)
            -stiffness (q - rest) - damping v (N m, N), summed over all joints, also those that are not independent; and
            the joint forces that hold the compensated fraction of the weight of each body, and Σ Jᵀ F of the wrenches F of
            drag and current on bodies in a `Fluid`.

        See Also
        --------
        passive_dynamics : Accelerations with these forces.
        spring_energy : Energy in the springs.
        damping_power : Power taken by damping.

        Notes
        -----
        Springs of spherical and free joints act on the rotation vector from `rest`, those of free joints on the
        displacement too. A body with `gravity_compensation` c is pushed by -c m g at its centre of mass, against gravity g,
        as MuJoCo's `gravcomp` does. Coulomb friction (`friction`) is not included, since it is discontinuous at rest;
        `inverse_passive_dynamics` has it smoothed.

        Examples
        --------
        >>> import fourbar as fb
        >>> robot = fb.robots.double_pendulum()
        >>> sprung = robot.with_parameters(joints={"elbow": {"stiffness": 5.0, "damping": 0.1}})
        >>> sprung.passive_forces([0.1, 0.2], [1.0, 0.5])
        array([ 0.  , -1.05])
        """
    @property
    def jvp(self) -> Jvp[Array]:
        """Rates of the results along tangents of the arguments."""
    @property
    def vjp(self) -> Vjp[ByQV]:
        """Gradients of a weighted sum of the results."""
    @property
    def jacobian(self) -> JacobianOfPassiveForces:
        """All first derivatives."""

class JacobianOfPassiveDynamics(Derivative, Protocol):
    def __call__(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike,
        f_ext: Wrenches | None = None,
        *,
        parameters: Names | None = None,
        out: Any = None,
        threads: int | None = None,
    ) -> ByQVTauFExt:
        """All first derivatives, by argument; columns for a configuration are along its nv velocities."""

class PassiveDynamics(Function, Protocol):
    def __call__(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike,
        f_ext: Wrenches | None = None,
        *,
        out: Array | None = None,
        threads: int | None = None,
    ) -> Array:
        """Accelerations caused by joint forces with springs, damping, gravity compensation, drag and currents.

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Configuration, with its loops closed.
        v : array_like, shape (..., nv)
            Velocity (rad/s, m/s).
        tau : array_like, shape (..., nv)
            Joint forces (N m, N).
        f_ext : array_like, shape (..., n_bodies, 6), or dict, optional
            Wrench [moment; force] (N m, N) on each body, at its origin and in its axes; or on some bodies,
            ``{"hand": wrench}``.
        out : ndarray, optional
            Array that receives the result.
        threads : int, optional
            Largest number of threads for a batch.

        Returns
        -------
        a : ndarray, shape (..., nv)
            Accelerations (rad/s², m/s²): `forward_dynamics` of τ + `passive_forces`.

        See Also
        --------
        forward_dynamics : The rigid bodies alone.
        inverse_passive_dynamics : The inverse.

        Examples
        --------
        >>> import fourbar as fb
        >>> robot = fb.robots.double_pendulum()
        >>> sprung = robot.with_parameters(joints={"elbow": {"stiffness": 5.0, "damping": 0.1}})
        >>> sprung.passive_dynamics([0.1, 0.2], [0.0, 0.0], [0.0, 0.0]).round(3)
        array([ 21.927, -96.53 ])
        """
    @property
    def jvp(self) -> Jvp[Array]:
        """Rates of the results along tangents of the arguments."""
    @property
    def vjp(self) -> Vjp[ByQVTauFExt]:
        """Gradients of a weighted sum of the results."""
    @property
    def jacobian(self) -> JacobianOfPassiveDynamics:
        """All first derivatives."""

class JacobianOfInversePassiveDynamics(Derivative, Protocol):
    def __call__(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        f_ext: Wrenches | None = None,
        friction_velocity: ArrayLike | None = None,
        *,
        parameters: Names | None = None,
        out: Any = None,
        threads: int | None = None,
    ) -> ByQVAFExtFrictionVelocity:
        """All first derivatives, by argument; columns for a configuration are along its nv velocities."""

class InversePassiveDynamics(Function, Protocol):
    def __call__(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        f_ext: Wrenches | None = None,
        friction_velocity: ArrayLike | None = None,
        *,
        out: Array | None = None,
        threads: int | None = None,
    ) -> Array:
        """Joint forces that, together with springs, damping, drag and dry friction, cause given accelerations.

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Configuration, with its loops closed.
        v : array_like, shape (..., nv)
            Velocity (rad/s, m/s).
        a : array_like, shape (..., nv)
            Acceleration (rad/s², m/s²).
        f_ext : array_like, shape (..., n_bodies, 6), or dict, optional
            Wrench [moment; force] (N m, N) on each body, at its origin and in its axes; or on some bodies,
            ``{"hand": wrench}``.
        friction_velocity : array_like, shape (...), optional
            Velocity v_s > 0 (rad/s, m/s) around rest over which dry friction is smoothed: joints with `friction` f then
            rub with -f tanh(v / v_s). Without it there is no dry friction.
        out : ndarray, optional
            Array that receives the result.
        threads : int, optional
            Largest number of threads for a batch.

        Returns
        -------
        tau : ndarray, shape (..., nv)
            What drives must supply (N m, N): `inverse_dynamics` less `passive_forces`, less dry friction.

        Raises
        ------
        SingularError
            If `friction_velocity` is not positive (NaN and a warning in a batch).

        See Also
        --------
        inverse_dynamics : The rigid bodies alone.
        passive_dynamics : The inverse, without dry friction, which `simulate` follows.

        Examples
        --------
        >>> import fourbar as fb
        >>> robot = fb.robots.double_pendulum()
        >>> sprung = robot.with_parameters(joints={"elbow": {"stiffness": 5.0, "damping": 0.1}})
        >>> sprung.inverse_passive_dynamics([0.1, 0.2], [0.0, 0.0], [0.0, 0.0]).round(3)
        array([1.1  , 1.464])

        Computed torque that compensates dry friction of 0.3 N m, smoothed below 0.05 rad/s:

        >>> rubbing = sprung.with_parameters(joints={"shoulder": {"friction": 0.3}})
        >>> rubbing.inverse_passive_dynamics([0.1, 0.2], [1.0, 0.0], [0.0, 0.0], friction_velocity=0.05).round(3)
        array([1.4  , 1.48 ])
        """
    @property
    def jvp(self) -> Jvp[Array]:
        """Rates of the results along tangents of the arguments."""
    @property
    def vjp(self) -> Vjp[ByQVAFExtFrictionVelocity]:
        """Gradients of a weighted sum of the results."""
    @property
    def jacobian(self) -> JacobianOfInversePassiveDynamics:
        """All first derivatives."""

class JacobianOfSpringEnergy(Derivative, Protocol):
    def __call__(
        self,
        q: ArrayLike,
        *,
        parameters: Names | None = None,
        out: Any = None,
        threads: int | None = None,
    ) -> ByQ:
        """All first derivatives, by argument; columns for a configuration are along its nv velocities."""

class SpringEnergy(Function, Protocol):
    def __call__(self, q: ArrayLike, *, out: Array | None = None, threads: int | None = None) -> Any:
        """Energy in the springs of the joints, and of gravity compensation.

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Configuration, with its loops closed.
        out : ndarray, optional
            Array that receives the result.
        threads : int, optional
            Largest number of threads for a batch.

        Returns
        -------
        energy : float or ndarray, shape (...)
            ½ Σ stiffness (q - rest)² (J), less the compensated fraction of the potential energy of each body: what
            `passive_forces` of springs and compensation store.

        See Also
        --------
        passive_forces : The forces of the springs.
        potential_energy : The energy in gravity.

        Examples
        --------
        >>> import fourbar as fb
        >>> robot = fb.robots.double_pendulum()
        >>> sprung = robot.with_parameters(joints={"elbow": {"stiffness": 5.0}})
        >>> float(sprung.spring_energy([0.1, 0.2]).round(4))
        0.1
        """
    @property
    def jvp(self) -> Jvp[Any]:
        """Rates of the results along tangents of the arguments."""
    @property
    def vjp(self) -> Vjp[ByQ]:
        """Gradients of a weighted sum of the results."""
    @property
    def jacobian(self) -> JacobianOfSpringEnergy:
        """All first derivatives."""

class JacobianOfDampingPower(Derivative, Protocol):
    def __call__(
        self,
        q: ArrayLike,
        v: ArrayLike,
        *,
        parameters: Names | None = None,
        out: Any = None,
        threads: int | None = None,
    ) -> ByQV:
        """All first derivatives, by argument; columns for a configuration are along its nv velocities."""

class DampingPower(Function, Protocol):
    def __call__(self, q: ArrayLike, v: ArrayLike, *, out: Array | None = None, threads: int | None = None) -> Any:
        """Power taken by viscous damping in the joints, and by drag and currents.

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Configuration, with its loops closed.
        v : array_like, shape (..., nv)
            Velocity (rad/s, m/s).
        out : ndarray, optional
            Array that receives the result.
        threads : int, optional
            Largest number of threads for a batch.

        Returns
        -------
        power : float or ndarray, shape (...)
            Σ damping v² over all joints (W), never negative; and of bodies in a `Fluid` the power that drag takes, and that
            a current takes or gives.

        See Also
        --------
        passive_forces : The forces of the dampers.

        Examples
        --------
        >>> import fourbar as fb
        >>> robot = fb.robots.double_pendulum()
        >>> damped = robot.with_parameters(joints={"elbow": {"damping": 0.1}})
        >>> float(damped.damping_power([0.1, 0.2], [1.0, 0.5]))
        0.025
        """
    @property
    def jvp(self) -> Jvp[Any]:
        """Rates of the results along tangents of the arguments."""
    @property
    def vjp(self) -> Vjp[ByQV]:
        """Gradients of a weighted sum of the results."""
    @property
    def jacobian(self) -> JacobianOfDampingPower:
        """All first derivatives."""

class JacobianOfIntegrate(Derivative, Protocol):
    def __call__(
        self,
        q: ArrayLike,
        v: ArrayLike,
        dt: ArrayLike = 1.0,
        *,
        parameters: Names | None = None,
        out: Any = None,
        threads: int | None = None,
    ) -> ByQVDt:
        """All first derivatives, by argument; columns for a configuration are along its nv velocities."""

class Integrate(Function, Protocol):
    def __call__(
        self,
        q: ArrayLike,
        v: ArrayLike,
        dt: ArrayLike = 1.0,
        *,
        out: Array | None = None,
        threads: int | None = None,
    ) -> Array:
        """Configuration after moving with constant velocity for a time.

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Configuration, with its loops closed.
        v : array_like, shape (..., nv)
            Velocity (rad/s, m/s).
        dt : array_like, shape (...), default 1.0
            Time (s); without it v is the step itself, q ⊕ v.
        out : ndarray, optional
            Array that receives the result.
        threads : int, optional
            Largest number of threads for a batch.

        Returns
        -------
        q : ndarray, shape (..., nq)
            q ⊕ v dt; loops stay closed and quaternions of unit length.

        Raises
        ------
        SingularError
            If the loops cannot be closed after the step (NaN and a warning in a batch).

        See Also
        --------
        difference : The velocity between two configurations.
        simulate : Motion over time.

        Notes
        -----
        On a Lie group q ⊕ δ = q · exp(δ); where v = q̇ this is q + v dt.

        Examples
        --------
        >>> import fourbar as fb
        >>> robot = fb.robots.double_pendulum()
        >>> robot.integrate([0.1, 0.2], [1.0, -1.0], 0.1)
        array([0.2, 0.1])
        """
    @property
    def jvp(self) -> Jvp[Array]:
        """Rates of the results along tangents of the arguments."""
    @property
    def vjp(self) -> Vjp[ByQVDt]:
        """Gradients of a weighted sum of the results."""
    @property
    def jacobian(self) -> JacobianOfIntegrate:
        """All first derivatives."""

class JacobianOfChartRate(Derivative, Protocol):
    def __call__(
        self,
        theta: ArrayLike,
        v: ArrayLike,
        *,
        parameters: Names | None = None,
        out: Any = None,
        threads: int | None = None,
    ) -> ByThetaV:
        """All first derivatives, by argument; columns for a configuration are along its nv velocities."""

class ChartRate(Function, Protocol):
    def __call__(
        self,
        theta: ArrayLike,
        v: ArrayLike,
        *,
        out: Array | None = None,
        threads: int | None = None,
    ) -> Array:
        """Rate of the exponential coordinates of a step.

        Parameters
        ----------
        theta : array_like, shape (..., nv)
            θ in q(t) = q₀ ⊕ θ(t) (rad, m).
        v : array_like, shape (..., nv)
            Velocity (rad/s, m/s).
        out : ndarray, optional
            Array that receives the result.
        threads : int, optional
            Largest number of threads for a batch.

        Returns
        -------
        rate : ndarray, shape (..., nv)
            θ̇ (rad/s, m/s) while q moves with velocity v: what integrators need that step along the group.

        See Also
        --------
        integrate : q ⊕ v dt.

        Notes
        -----
        For a spherical or free joint of a loop of which only a part is independent, θ alone does not determine the rate,
        except at θ = 0; ``difference.jvp((q0, q), (None, v))`` does.

        Examples
        --------
        >>> import fourbar as fb
        >>> robot = fb.robots.double_pendulum()
        >>> robot.chart_rate([0.1, 0.2], [1.0, 0.0])
        array([1., 0.])
        """
    @property
    def jvp(self) -> Jvp[Array]:
        """Rates of the results along tangents of the arguments."""
    @property
    def vjp(self) -> Vjp[ByThetaV]:
        """Gradients of a weighted sum of the results."""
    @property
    def jacobian(self) -> JacobianOfChartRate:
        """All first derivatives."""

class JacobianOfDifference(Derivative, Protocol):
    def __call__(
        self,
        q0: ArrayLike,
        q1: ArrayLike,
        *,
        parameters: Names | None = None,
        out: Any = None,
        threads: int | None = None,
    ) -> ByQ0Q1:
        """All first derivatives, by argument; columns for a configuration are along its nv velocities."""

class Difference(Function, Protocol):
    def __call__(self, q0: ArrayLike, q1: ArrayLike, *, out: Array | None = None, threads: int | None = None) -> Array:
        """Velocity that moves one configuration to another in unit time.

        Parameters
        ----------
        q0 : array_like, shape (..., nq)
            Configuration at the start.
        q1 : array_like, shape (..., nq)
            Configuration at the end.
        out : ndarray, optional
            Array that receives the result.
        threads : int, optional
            Largest number of threads for a batch.

        Returns
        -------
        v : ndarray, shape (..., nv)
            q1 ⊖ q0 (rad, m), such that q0 ⊕ v = q1.

        See Also
        --------
        integrate : q ⊕ v dt.

        Examples
        --------
        >>> import fourbar as fb
        >>> robot = fb.robots.double_pendulum()
        >>> robot.difference([0.1, 0.2], [0.3, 0.1]).round(3)
        array([ 0.2, -0.1])
        """
    @property
    def jvp(self) -> Jvp[Array]:
        """Rates of the results along tangents of the arguments."""
    @property
    def vjp(self) -> Vjp[ByQ0Q1]:
        """Gradients of a weighted sum of the results."""
    @property
    def jacobian(self) -> JacobianOfDifference:
        """All first derivatives."""

class JacobianOfExpand(Derivative, Protocol):
    def __call__(
        self,
        q: ArrayLike,
        *,
        parameters: Names | None = None,
        out: Any = None,
        threads: int | None = None,
    ) -> ByQ:
        """All first derivatives, by argument; columns for a configuration are along its nv velocities."""

class Expand(Function, Protocol):
    def __call__(self, q: ArrayLike, *, out: Array | None = None, threads: int | None = None) -> Array:
        """Coordinates of all joints of the spanning tree.

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Configuration, with its loops closed.
        out : ndarray, optional
            Array that receives the result.
        threads : int, optional
            Largest number of threads for a batch.

        Returns
        -------
        q : ndarray, shape (..., n_all)
            Coordinates (rad, m) in the order of `names.joints`, fixed joints left out.

        See Also
        --------
        expand_velocity : The velocities of all joints.

        Examples
        --------
        >>> import fourbar as fb
        >>> wrist = fb.robots.differential_wrist()
        >>> wrist.expand([0.1, 0.2]).round(3)
        array([ 0.1,  0.3, -0.1,  0.2])
        """
    @property
    def jvp(self) -> Jvp[Array]:
        """Rates of the results along tangents of the arguments."""
    @property
    def vjp(self) -> Vjp[ByQ]:
        """Gradients of a weighted sum of the results."""
    @property
    def jacobian(self) -> JacobianOfExpand:
        """All first derivatives."""

class JacobianOfExpandVelocity(Derivative, Protocol):
    def __call__(
        self,
        q: ArrayLike,
        v: ArrayLike,
        *,
        parameters: Names | None = None,
        out: Any = None,
        threads: int | None = None,
    ) -> ByQV:
        """All first derivatives, by argument; columns for a configuration are along its nv velocities."""

class ExpandVelocity(Function, Protocol):
    def __call__(self, q: ArrayLike, v: ArrayLike, *, out: Array | None = None, threads: int | None = None) -> Array:
        """Velocities of all joints of the spanning tree.

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Configuration, with its loops closed.
        v : array_like, shape (..., nv)
            Velocity (rad/s, m/s).
        out : ndarray, optional
            Array that receives the result.
        threads : int, optional
            Largest number of threads for a batch.

        Returns
        -------
        v : ndarray, shape (..., n)
            G v (rad/s, m/s), with the `loop_map` G.

        See Also
        --------
        expand : The coordinates of all joints.
        loop_map : The matrix G.

        Examples
        --------
        >>> import fourbar as fb
        >>> wrist = fb.robots.differential_wrist()
        >>> wrist.expand_velocity([0.1, 0.2], [1.0, 0.0])
        array([1., 1., 1., 0.])
        """
    @property
    def jvp(self) -> Jvp[Array]:
        """Rates of the results along tangents of the arguments."""
    @property
    def vjp(self) -> Vjp[ByQV]:
        """Gradients of a weighted sum of the results."""
    @property
    def jacobian(self) -> JacobianOfExpandVelocity:
        """All first derivatives."""

class JacobianOfExpandAcceleration(Derivative, Protocol):
    def __call__(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        *,
        parameters: Names | None = None,
        out: Any = None,
        threads: int | None = None,
    ) -> ByQVA:
        """All first derivatives, by argument; columns for a configuration are along its nv velocities."""

class ExpandAcceleration(Function, Protocol):
    def __call__(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        *,
        out: Array | None = None,
        threads: int | None = None,
    ) -> Array:
        """Accelerations of all joints of the spanning tree.

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Configuration, with its loops closed.
        v : array_like, shape (..., nv)
            Velocity (rad/s, m/s).
        a : array_like, shape (..., nv)
            Acceleration (rad/s², m/s²).
        out : ndarray, optional
            Array that receives the result.
        threads : int, optional
            Largest number of threads for a batch.

        Returns
        -------
        a : ndarray, shape (..., n)
            G a + g (rad/s², m/s²), with the `loop_map` G and the `loop_bias` g.

        See Also
        --------
        expand_velocity : The velocities of all joints.

        Examples
        --------
        >>> import fourbar as fb
        >>> robot = fb.robots.four_bar()
        >>> robot.expand_acceleration(robot.neutral(), [1.0], [0.0]).round(3)
        array([0., 0., 0.])
        """
    @property
    def jvp(self) -> Jvp[Array]:
        """Rates of the results along tangents of the arguments."""
    @property
    def vjp(self) -> Vjp[ByQVA]:
        """Gradients of a weighted sum of the results."""
    @property
    def jacobian(self) -> JacobianOfExpandAcceleration:
        """All first derivatives."""

class JacobianOfLoopMap(Derivative, Protocol):
    def __call__(
        self,
        q: ArrayLike,
        *,
        parameters: Names | None = None,
        out: Any = None,
        threads: int | None = None,
    ) -> ByQ:
        """All first derivatives, by argument; columns for a configuration are along its nv velocities."""

class LoopMap(Function, Protocol):
    def __call__(self, q: ArrayLike, *, out: Array | None = None, threads: int | None = None) -> Array:
        """Matrix that takes the independent velocities to those of the spanning tree.

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Configuration, with its loops closed.
        out : ndarray, optional
            Array that receives the result.
        threads : int, optional
            Largest number of threads for a batch.

        Returns
        -------
        G : ndarray, shape (..., n, nv)
            The n velocities of the spanning tree are G v.

        See Also
        --------
        loop_bias : The accelerations are G a + g.
        loop_jacobian : K with K G = 0.

        Notes
        -----
        q̇ = G ẏ (Chignoli); forces on all joints make Gᵀ τ on the independent velocities.

        Examples
        --------
        >>> import fourbar as fb
        >>> robot = fb.robots.four_bar()
        >>> robot.loop_map(robot.neutral()).round(3)
        array([[ 1.],
               [ 1.],
               [-1.]])
        """
    @property
    def jvp(self) -> Jvp[Array]:
        """Rates of the results along tangents of the arguments."""
    @property
    def vjp(self) -> Vjp[ByQ]:
        """Gradients of a weighted sum of the results."""
    @property
    def jacobian(self) -> JacobianOfLoopMap:
        """All first derivatives."""

class JacobianOfLoopBias(Derivative, Protocol):
    def __call__(
        self,
        q: ArrayLike,
        v: ArrayLike,
        *,
        parameters: Names | None = None,
        out: Any = None,
        threads: int | None = None,
    ) -> ByQV:
        """All first derivatives, by argument; columns for a configuration are along its nv velocities."""

class LoopBias(Function, Protocol):
    def __call__(self, q: ArrayLike, v: ArrayLike, *, out: Array | None = None, threads: int | None = None) -> Array:
        """Accelerations of the spanning tree where the independent accelerations are zero.

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Configuration, with its loops closed.
        v : array_like, shape (..., nv)
            Velocity (rad/s, m/s).
        out : ndarray, optional
            Array that receives the result.
        threads : int, optional
            Largest number of threads for a batch.

        Returns
        -------
        g : ndarray, shape (..., n)
            g = Ġ v (rad/s², m/s²): the accelerations of the spanning tree are G a + g.

        See Also
        --------
        loop_map : The matrix G.

        Examples
        --------
        >>> import fourbar as fb
        >>> robot = fb.robots.four_bar()
        >>> robot.loop_bias(robot.neutral(), [1.0]).round(3)
        array([0., 0., 0.])
        """
    @property
    def jvp(self) -> Jvp[Array]:
        """Rates of the results along tangents of the arguments."""
    @property
    def vjp(self) -> Vjp[ByQV]:
        """Gradients of a weighted sum of the results."""
    @property
    def jacobian(self) -> JacobianOfLoopBias:
        """All first derivatives."""

class JacobianOfOsimInverse(Derivative, Protocol):
    def __call__(
        self,
        q: ArrayLike,
        *,
        frames: Sequence[str] = (),
        points: Sequence[str] = (),
        expressed_in: Literal["world", "frame"] = "world",
        parameters: Names | None = None,
        out: Any = None,
        threads: int | None = None,
    ) -> ByQ:
        """All first derivatives, by argument; columns for a configuration are along its nv velocities."""

class SpecialisedJacobianOfOsimInverse(Derivative, Protocol):
    def __call__(
        self,
        q: ArrayLike,
        *,
        parameters: Names | None = None,
        out: Any = None,
        threads: int | None = None,
    ) -> ByQ:
        """All first derivatives, by argument; columns for a configuration are along its nv velocities."""

class JvpOfOsimInverse(Derivative, Protocol):
    def __call__(
        self,
        args: Arrays,
        tangents: Arrays = (),
        parameters: Mapping[str, ArrayLike | None] | None = None,
        *,
        frames: Sequence[str] = (),
        points: Sequence[str] = (),
        expressed_in: Literal["world", "frame"] = "world",
        out: Any = None,
        threads: int | None = None,
    ) -> Array:
        """Rates of the results when the arguments move with tangents."""

class VjpOfOsimInverse(Derivative, Protocol):
    def __call__(
        self,
        args: Arrays,
        cotangent: Arrays,
        parameters: Names | None = None,
        *,
        frames: Sequence[str] = (),
        points: Sequence[str] = (),
        expressed_in: Literal["world", "frame"] = "world",
        out: Any = None,
        threads: int | None = None,
    ) -> ByQ:
        """Gradients of a weighted sum of the results."""

class SpecialisedOsimInverse(Function, Protocol):
    def __call__(self, q: ArrayLike, *, out: Array | None = None, threads: int | None = None) -> Array:
        """Inverse operational-space inertia of one or more frames (PV-OSIMr or EFPA)."""
    @property
    def jvp(self) -> Jvp[Array]:
        """Rates of the results along tangents of the arguments."""
    @property
    def vjp(self) -> Vjp[ByQ]:
        """Gradients of a weighted sum of the results."""
    @property
    def jacobian(self) -> SpecialisedJacobianOfOsimInverse:
        """All first derivatives."""

class OsimInverse(Protocol):
    __name__: str
    def __call__(
        self,
        q: ArrayLike,
        frames: Sequence[str] = (),
        points: Sequence[str] = (),
        expressed_in: Literal["world", "frame"] = "world",
        *,
        out: Array | None = None,
        threads: int | None = None,
    ) -> Array:
        """Inverse operational-space inertia of one or more frames (PV-OSIMr or EFPA).

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Configuration, with its loops closed.
        frames : sequence of str, optional
            Frames or bodies with six rows each, [angular; linear].
        points : sequence of str, optional
            Frames or bodies with three rows each, the linear ones; they come after `frames`.
        expressed_in : {'world', 'frame'}, default 'world'
            Axes of the rows: those of the world, or of each frame itself.
        out : ndarray, optional
            Array that receives the result.
        threads : int, optional
            Largest number of threads for a batch.

        Returns
        -------
        Omega : ndarray, shape (..., k, k)
            Ω = J M⁻¹ Jᵀ, with the Jacobians of all frames at their origins in J.

        See Also
        --------
        osim : Its inverse.

        Notes
        -----
        Found by propagating unit forces inward (PV-OSIMr, Sathya et al., arXiv 2310.03676, here over clusters) or
        accelerations outward (C-EFPA, Chignoli eq. 61-67), or of robots with up to 12 independent velocities from M
        (projection, Chignoli §II-E): whichever takes fewer operations for this robot and these frames.

        Examples
        --------
        >>> import fourbar as fb
        >>> robot = fb.robots.double_pendulum()
        >>> robot.osim_inverse([0.1, 0.2], points=["tip"]).round(3)
        array([[ 3.723,  0.   , -1.305],
               [ 0.   ,  0.   ,  0.   ],
               [-1.305,  0.   ,  0.529]])
        """
    def specialise(
        self,
        frames: Sequence[str] = (),
        points: Sequence[str] = (),
        expressed_in: Literal["world", "frame"] = "world",
    ) -> SpecialisedOsimInverse:
        """The function for one choice of options: it takes arrays only, and is called faster."""
    @property
    def options(self) -> tuple[str, ...]:
        """The names of the options."""
    @property
    def jvp(self) -> JvpOfOsimInverse:
        """Rates of the results along tangents of the arguments."""
    @property
    def vjp(self) -> VjpOfOsimInverse:
        """Gradients of a weighted sum of the results."""
    @property
    def jacobian(self) -> JacobianOfOsimInverse:
        """All first derivatives."""

class JacobianOfOsim(Derivative, Protocol):
    def __call__(
        self,
        q: ArrayLike,
        *,
        frames: Sequence[str] = (),
        points: Sequence[str] = (),
        expressed_in: Literal["world", "frame"] = "world",
        parameters: Names | None = None,
        out: Any = None,
        threads: int | None = None,
    ) -> ByQ:
        """All first derivatives, by argument; columns for a configuration are along its nv velocities."""

class SpecialisedJacobianOfOsim(Derivative, Protocol):
    def __call__(
        self,
        q: ArrayLike,
        *,
        parameters: Names | None = None,
        out: Any = None,
        threads: int | None = None,
    ) -> ByQ:
        """All first derivatives, by argument; columns for a configuration are along its nv velocities."""

class JvpOfOsim(Derivative, Protocol):
    def __call__(
        self,
        args: Arrays,
        tangents: Arrays = (),
        parameters: Mapping[str, ArrayLike | None] | None = None,
        *,
        frames: Sequence[str] = (),
        points: Sequence[str] = (),
        expressed_in: Literal["world", "frame"] = "world",
        out: Any = None,
        threads: int | None = None,
    ) -> Array:
        """Rates of the results when the arguments move with tangents."""

class VjpOfOsim(Derivative, Protocol):
    def __call__(
        self,
        args: Arrays,
        cotangent: Arrays,
        parameters: Names | None = None,
        *,
        frames: Sequence[str] = (),
        points: Sequence[str] = (),
        expressed_in: Literal["world", "frame"] = "world",
        out: Any = None,
        threads: int | None = None,
    ) -> ByQ:
        """Gradients of a weighted sum of the results."""

class SpecialisedOsim(Function, Protocol):
    def __call__(self, q: ArrayLike, *, out: Array | None = None, threads: int | None = None) -> Array:
        """Operational-space inertia of one or more frames."""
    @property
    def jvp(self) -> Jvp[Array]:
        """Rates of the results along tangents of the arguments."""
    @property
    def vjp(self) -> Vjp[ByQ]:
        """Gradients of a weighted sum of the results."""
    @property
    def jacobian(self) -> SpecialisedJacobianOfOsim:
        """All first derivatives."""

class Osim(Protocol):
    __name__: str
    def __call__(
        self,
        q: ArrayLike,
        frames: Sequence[str] = (),
        points: Sequence[str] = (),
        expressed_in: Literal["world", "frame"] = "world",
        *,
        out: Array | None = None,
        threads: int | None = None,
    ) -> Array:
        """Operational-space inertia of one or more frames.

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Configuration, with its loops closed.
        frames : sequence of str, optional
            Frames or bodies with six rows each, [angular; linear].
        points : sequence of str, optional
            Frames or bodies with three rows each, the linear ones; they come after `frames`.
        expressed_in : {'world', 'frame'}, default 'world'
            Axes of the rows: those of the world, or of each frame itself.
        out : ndarray, optional
            Array that receives the result.
        threads : int, optional
            Largest number of threads for a batch.

        Returns
        -------
        Lambda : ndarray, shape (..., k, k)
            Λ = (J M⁻¹ Jᵀ)⁻¹, with the Jacobians of all frames at their origins in J.

        Raises
        ------
        ArgumentError
            If there are more rows than independent velocities.
        SingularError
            If the frames cannot be moved independently in all their rows (NaN and a warning in a batch).

        See Also
        --------
        osim_inverse : Ω = Λ⁻¹, which exists always.

        Examples
        --------
        >>> import fourbar as fb
        >>> robot = fb.robots.delta()
        >>> robot.osim(robot.neutral(), points=["tool"]).shape
        (3, 3)
        """
    def specialise(
        self,
        frames: Sequence[str] = (),
        points: Sequence[str] = (),
        expressed_in: Literal["world", "frame"] = "world",
    ) -> SpecialisedOsim:
        """The function for one choice of options: it takes arrays only, and is called faster."""
    @property
    def options(self) -> tuple[str, ...]:
        """The names of the options."""
    @property
    def jvp(self) -> JvpOfOsim:
        """Rates of the results along tangents of the arguments."""
    @property
    def vjp(self) -> VjpOfOsim:
        """Gradients of a weighted sum of the results."""
    @property
    def jacobian(self) -> JacobianOfOsim:
        """All first derivatives."""

class JacobianOfReactions(Derivative, Protocol):
    def __call__(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        f_ext: Wrenches | None = None,
        *,
        parameters: Names | None = None,
        out: Any = None,
        threads: int | None = None,
    ) -> ByQVAFExt:
        """All first derivatives, by argument; columns for a configuration are along its nv velocities."""

class Reactions(Function, Protocol):
    def __call__(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        f_ext: Wrenches | None = None,
        *,
        out: Array | None = None,
        threads: int | None = None,
    ) -> Array:
        """Wrenches that bodies receive through their joints.

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Configuration, with its loops closed.
        v : array_like, shape (..., nv)
            Velocity (rad/s, m/s).
        a : array_like, shape (..., nv)
            Acceleration (rad/s², m/s²).
        f_ext : array_like, shape (..., n_bodies, 6), or dict, optional
            Wrench [moment; force] (N m, N) on each body, at its origin and in its axes; or on some bodies,
            ``{"hand": wrench}``.
        out : ndarray, optional
            Array that receives the result.
        threads : int, optional
            Largest number of threads for a batch.

        Returns
        -------
        F : ndarray, shape (..., n_bodies, 6)
            Wrench [moment; force] (N m, N) that each body receives from its parent through its joint, in the frame of the
            body.

        See Also
        --------
        inverse_dynamics : The components along the joint axes.
        System.least_reactions : Where loops hold more than is needed.

        Notes
        -----
        With loops only the independent joints are driven; the forces of loop joints and rods on bodies are accounted for,
        while gears and couplings act as torques in the joints they couple. Where loops hold more than is needed (a planar
        four-bar closed by a hinge in space) rigid bodies do not determine how joints share the load: here rows that others
        imply carry nothing, so that the answer depends on which joint closes the loop.

        Examples
        --------
        >>> import fourbar as fb
        >>> robot = fb.robots.double_pendulum()
        >>> robot.reactions([0.0, 0.0], [0.0, 0.0], [0.0, 0.0])[:, 5].round(3)
        array([17.658,  7.848])
        """
    @property
    def jvp(self) -> Jvp[Array]:
        """Rates of the results along tangents of the arguments."""
    @property
    def vjp(self) -> Vjp[ByQVAFExt]:
        """Gradients of a weighted sum of the results."""
    @property
    def jacobian(self) -> JacobianOfReactions:
        """All first derivatives."""

class JacobianOfLoopPull(Derivative, Protocol):
    def __call__(
        self,
        q: ArrayLike,
        *,
        parameters: Names | None = None,
        out: Any = None,
        threads: int | None = None,
    ) -> ByQ:
        """All first derivatives, by argument; columns for a configuration are along its nv velocities."""

class LoopPull(Function, Protocol):
    def __call__(self, q: ArrayLike, *, out: Array | None = None, threads: int | None = None) -> Array:
        """Wrenches on all bodies of unit forces along the conditions of loops.

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Configuration, with its loops closed.
        out : ndarray, optional
            Array that receives the result.
        threads : int, optional
            Largest number of threads for a batch.

        Returns
        -------
        pull : ndarray, shape (..., m, n_bodies, 6)
            Wrench [moment; force] on each body, in its frame, of a unit force along each condition of each loop, in the
            order of the rows of `loop_jacobian`.

        See Also
        --------
        loop_jacobian : The same on the joints of the spanning tree.

        Examples
        --------
        >>> import fourbar as fb
        >>> robot = fb.robots.four_bar()
        >>> robot.loop_pull(robot.neutral()).shape
        (6, 3, 6)
        """
    @property
    def jvp(self) -> Jvp[Array]:
        """Rates of the results along tangents of the arguments."""
    @property
    def vjp(self) -> Vjp[ByQ]:
        """Gradients of a weighted sum of the results."""
    @property
    def jacobian(self) -> JacobianOfLoopPull:
        """All first derivatives."""

class JacobianOfRegressor(Derivative, Protocol):
    def __call__(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        *,
        columns: str | Sequence[str] = ("inertia", "armature", "fluid"),
        packed: bool = False,
        parameters: Names | None = None,
        out: Any = None,
        threads: int | None = None,
    ) -> ByQVA:
        """All first derivatives, by argument; columns for a configuration are along its nv velocities."""

class SpecialisedJacobianOfRegressor(Derivative, Protocol):
    def __call__(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        *,
        parameters: Names | None = None,
        out: Any = None,
        threads: int | None = None,
    ) -> ByQVA:
        """All first derivatives, by argument; columns for a configuration are along its nv velocities."""

class JvpOfRegressor(Derivative, Protocol):
    def __call__(
        self,
        args: Arrays,
        tangents: Arrays = (),
        parameters: Mapping[str, ArrayLike | None] | None = None,
        *,
        columns: str | Sequence[str] = ("inertia", "armature", "fluid"),
        packed: bool = False,
        out: Any = None,
        threads: int | None = None,
    ) -> Array:
        """Rates of the results when the arguments move with tangents."""

class VjpOfRegressor(Derivative, Protocol):
    def __call__(
        self,
        args: Arrays,
        cotangent: Arrays,
        parameters: Names | None = None,
        *,
        columns: str | Sequence[str] = ("inertia", "armature", "fluid"),
        packed: bool = False,
        out: Any = None,
        threads: int | None = None,
    ) -> ByQVA:
        """Gradients of a weighted sum of the results."""

class SpecialisedRegressor(Function, Protocol):
    def __call__(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        *,
        out: Array | None = None,
        threads: int | None = None,
    ) -> Array:
        """Regressor: joint forces are linear in the inertial parameters."""
    @property
    def jvp(self) -> Jvp[Array]:
        """Rates of the results along tangents of the arguments."""
    @property
    def vjp(self) -> Vjp[ByQVA]:
        """Gradients of a weighted sum of the results."""
    @property
    def jacobian(self) -> SpecialisedJacobianOfRegressor:
        """All first derivatives."""

class Regressor(Protocol):
    __name__: str
    def __call__(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        columns: str | Sequence[str] = ("inertia", "armature", "fluid"),
        packed: bool = False,
        *,
        out: Array | None = None,
        threads: int | None = None,
    ) -> Array:
        """Regressor: joint forces are linear in the inertial parameters.

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Configuration, with its loops closed.
        v : array_like, shape (..., nv)
            Velocity (rad/s, m/s).
        a : array_like, shape (..., nv)
            Acceleration (rad/s², m/s²).
        columns : str or sequence of str, default ('inertia', 'armature', 'fluid')
            Kinds of parameters. 'inertia': mass m, first moment m c and rotational inertia J about the origin of each body.
            For each velocity of each joint: 'armature' (multiplies its acceleration), 'damping' (its velocity), 'friction'
            (the sign of its velocity), 'stiffness' (the displacement of its spring from neutral), 'preload' (one). 'fluid':
            of each body in a fluid the factor of its added mass and buoyancy, one as they are.
        packed : bool, default False
            Return only the entries that are not zero at every state, shape (..., n), at the places that `regressor_pattern`
            lists.
        out : ndarray, optional
            Array that receives the result.
        threads : int, optional
            Largest number of threads for a batch.

        Returns
        -------
        Y : ndarray, shape (..., nv, p)
            τ = Y φ, with φ = ``robot.inertial_parameters(columns)``.

        See Also
        --------
        System.inertial_parameters : The parameters φ.
        momentum_regressor : The same for the momentum, without accelerations.
        base_parameters : The combinations of φ on which τ depends.

        Examples
        --------
        >>> import fourbar as fb
        >>> robot = fb.robots.double_pendulum()
        >>> Y = robot.regressor([0.1, 0.2], [1.0, 0.0], [0.0, 0.0])
        >>> (Y @ robot.inertial_parameters()).round(4)
        array([1.1004, 0.4797])
        """
    def specialise(
        self,
        columns: str | Sequence[str] = ("inertia", "armature", "fluid"),
        packed: bool = False,
    ) -> SpecialisedRegressor:
        """The function for one choice of options: it takes arrays only, and is called faster."""
    @property
    def options(self) -> tuple[str, ...]:
        """The names of the options."""
    @property
    def jvp(self) -> JvpOfRegressor:
        """Rates of the results along tangents of the arguments."""
    @property
    def vjp(self) -> VjpOfRegressor:
        """Gradients of a weighted sum of the results."""
    @property
    def jacobian(self) -> JacobianOfRegressor:
        """All first derivatives."""

class JacobianOfMomentumRegressor(Derivative, Protocol):
    def __call__(
        self,
        q: ArrayLike,
        v: ArrayLike,
        *,
        columns: str | Sequence[str] = ("inertia", "armature", "fluid"),
        parameters: Names | None = None,
        out: Any = None,
        threads: int | None = None,
    ) -> ByQV:
        """All first derivatives, by argument; columns for a configuration are along its nv velocities."""

class SpecialisedJacobianOfMomentumRegressor(Derivative, Protocol):
    def __call__(
        self,
        q: ArrayLike,
        v: ArrayLike,
        *,
        parameters: Names | None = None,
        out: Any = None,
        threads: int | None = None,
    ) -> ByQV:
        """All first derivatives, by argument; columns for a configuration are along its nv velocities."""

class JvpOfMomentumRegressor(Derivative, Protocol):
    def __call__(
        self,
        args: Arrays,
        tangents: Arrays = (),
        parameters: Mapping[str, ArrayLike | None] | None = None,
        *,
        columns: str | Sequence[str] = ("inertia", "armature", "fluid"),
        out: Any = None,
        threads: int | None = None,
    ) -> Array:
        """Rates of the results when the arguments move with tangents."""

class VjpOfMomentumRegressor(Derivative, Protocol):
    def __call__(
        self,
        args: Arrays,
        cotangent: Arrays,
        parameters: Names | None = None,
        *,
        columns: str | Sequence[str] = ("inertia", "armature", "fluid"),
        out: Any = None,
        threads: int | None = None,
    ) -> ByQV:
        """Gradients of a weighted sum of the results."""

class SpecialisedMomentumRegressor(Function, Protocol):
    def __call__(self, q: ArrayLike, v: ArrayLike, *, out: Array | None = None, threads: int | None = None) -> Array:
        """Regressor of the generalized momentum."""
    @property
    def jvp(self) -> Jvp[Array]:
        """Rates of the results along tangents of the arguments."""
    @property
    def vjp(self) -> Vjp[ByQV]:
        """Gradients of a weighted sum of the results."""
    @property
    def jacobian(self) -> SpecialisedJacobianOfMomentumRegressor:
        """All first derivatives."""

class MomentumRegressor(Protocol):
    __name__: str
    def __call__(
        self,
        q: ArrayLike,
        v: ArrayLike,
        columns: str | Sequence[str] = ("inertia", "armature", "fluid"),
        *,
        out: Array | None = None,
        threads: int | None = None,
    ) -> Array:
        """Regressor of the generalized momentum.

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Configuration, with its loops closed.
        v : array_like, shape (..., nv)
            Velocity (rad/s, m/s).
        columns : str or sequence of str, default ('inertia', 'armature', 'fluid')
            Kinds of parameters, see `System.regressor`.
        out : ndarray, optional
            Array that receives the result.
        threads : int, optional
            Largest number of threads for a batch.

        Returns
        -------
        Y : ndarray, shape (..., nv, p)
            M v = Y φ, with φ = ``robot.inertial_parameters(columns)``; zero in the columns of friction and springs.

        See Also
        --------
        momentum_rate_regressor : What motion itself adds to the momentum.
        regressor : Of the joint forces.

        Examples
        --------
        >>> import fourbar as fb
        >>> robot = fb.robots.double_pendulum()
        >>> Y = robot.momentum_regressor([0.1, 0.2], [1.0, 0.0])
        >>> (Y @ robot.inertial_parameters()).round(4)
        array([0.4828, 0.1211])
        """
    def specialise(
        self,
        columns: str | Sequence[str] = ("inertia", "armature", "fluid"),
    ) -> SpecialisedMomentumRegressor:
        """The function for one choice of options: it takes arrays only, and is called faster."""
    @property
    def options(self) -> tuple[str, ...]:
        """The names of the options."""
    @property
    def jvp(self) -> JvpOfMomentumRegressor:
        """Rates of the results along tangents of the arguments."""
    @property
    def vjp(self) -> VjpOfMomentumRegressor:
        """Gradients of a weighted sum of the results."""
    @property
    def jacobian(self) -> JacobianOfMomentumRegressor:
        """All first derivatives."""

class JacobianOfMomentumRateRegressor(Derivative, Protocol):
    def __call__(
        self,
        q: ArrayLike,
        v: ArrayLike,
        *,
        columns: str | Sequence[str] = ("inertia", "armature", "fluid"),
        parameters: Names | None = None,
        out: Any = None,
        threads: int | None = None,
    ) -> ByQV:
        """All first derivatives, by argument; columns for a configuration are along its nv velocities."""

class SpecialisedJacobianOfMomentumRateRegressor(Derivative, Protocol):
    def __call__(
        self,
        q: ArrayLike,
        v: ArrayLike,
        *,
        parameters: Names | None = None,
        out: Any = None,
        threads: int | None = None,
    ) -> ByQV:
        """All first derivatives, by argument; columns for a configuration are along its nv velocities."""

class JvpOfMomentumRateRegressor(Derivative, Protocol):
    def __call__(
        self,
        args: Arrays,
        tangents: Arrays = (),
        parameters: Mapping[str, ArrayLike | None] | None = None,
        *,
        columns: str | Sequence[str] = ("inertia", "armature", "fluid"),
        out: Any = None,
        threads: int | None = None,
    ) -> Array:
        """Rates of the results when the arguments move with tangents."""

class VjpOfMomentumRateRegressor(Derivative, Protocol):
    def __call__(
        self,
        args: Arrays,
        cotangent: Arrays,
        parameters: Names | None = None,
        *,
        columns: str | Sequence[str] = ("inertia", "armature", "fluid"),
        out: Any = None,
        threads: int | None = None,
    ) -> ByQV:
        """Gradients of a weighted sum of the results."""

class SpecialisedMomentumRateRegressor(Function, Protocol):
    def __call__(self, q: ArrayLike, v: ArrayLike, *, out: Array | None = None, threads: int | None = None) -> Array:
        """Regressor of what motion itself adds to the generalized momentum."""
    @property
    def jvp(self) -> Jvp[Array]:
        """Rates of the results along tangents of the arguments."""
    @property
    def vjp(self) -> Vjp[ByQV]:
        """Gradients of a weighted sum of the results."""
    @property
    def jacobian(self) -> SpecialisedJacobianOfMomentumRateRegressor:
        """All first derivatives."""

class MomentumRateRegressor(Protocol):
    __name__: str
    def __call__(
        self,
        q: ArrayLike,
        v: ArrayLike,
        columns: str | Sequence[str] = ("inertia", "armature", "fluid"),
        *,
        out: Array | None = None,
        threads: int | None = None,
    ) -> Array:
        """Regressor of what motion itself adds to the generalized momentum.

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Configuration, with its loops closed.
        v : array_like, shape (..., nv)
            Velocity (rad/s, m/s).
        columns : str or sequence of str, default ('inertia', 'armature', 'fluid')
            Kinds of parameters, see `System.regressor`.
        out : ndarray, optional
            Array that receives the result.
        threads : int, optional
            Largest number of threads for a batch.

        Returns
        -------
        Y : ndarray, shape (..., nv, p)
            d/dt (M v) = τ + Y φ, with φ = ``robot.inertial_parameters(columns)``.

        See Also
        --------
        momentum_regressor : Of the momentum itself.

        Notes
        -----
        For rigid bodies and armatures Y φ = Cᵀ v - g, with the `coriolis_matrix` C. No acceleration is needed: over any
        time Δ(M v) - ∫ Y φ dt = ∫ τ dt.

        Examples
        --------
        >>> import fourbar as fb
        >>> robot = fb.robots.double_pendulum()
        >>> robot.momentum_rate_regressor([0.1, 0.2], [1.0, 0.0]).shape
        (2, 22)
        """
    def specialise(
        self,
        columns: str | Sequence[str] = ("inertia", "armature", "fluid"),
    ) -> SpecialisedMomentumRateRegressor:
        """The function for one choice of options: it takes arrays only, and is called faster."""
    @property
    def options(self) -> tuple[str, ...]:
        """The names of the options."""
    @property
    def jvp(self) -> JvpOfMomentumRateRegressor:
        """Rates of the results along tangents of the arguments."""
    @property
    def vjp(self) -> VjpOfMomentumRateRegressor:
        """Gradients of a weighted sum of the results."""
    @property
    def jacobian(self) -> JacobianOfMomentumRateRegressor:
        """All first derivatives."""

class JacobianOfKineticEnergyRegressor(Derivative, Protocol):
    def __call__(
        self,
        q: ArrayLike,
        v: ArrayLike,
        *,
        parameters: Names | None = None,
        out: Any = None,
        threads: int | None = None,
    ) -> ByQV:
        """All first derivatives, by argument; columns for a configuration are along its nv velocities."""

class KineticEnergyRegressor(Function, Protocol):
    def __call__(self, q: ArrayLike, v: ArrayLike, *, out: Array | None = None, threads: int | None = None) -> Array:
        """Regressor of the kinetic energy.

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Configuration, with its loops closed.
        v : array_like, shape (..., nv)
            Velocity (rad/s, m/s).
        out : ndarray, optional
            Array that receives the result.
        threads : int, optional
            Largest number of threads for a batch.

        Returns
        -------
        y : ndarray, shape (..., p)
            The kinetic energy (J) is y · φ, with φ = ``robot.inertial_parameters()``.

        See Also
        --------
        kinetic_energy : The energy itself.
        potential_energy_regressor : Of the energy in gravity.

        Examples
        --------
        >>> import fourbar as fb
        >>> robot = fb.robots.double_pendulum()
        >>> y = robot.kinetic_energy_regressor([0.1, 0.2], [1.0, 0.0])
        >>> float((y @ robot.inertial_parameters()).round(4))
        0.2414
        """
    @property
    def jvp(self) -> Jvp[Array]:
        """Rates of the results along tangents of the arguments."""
    @property
    def vjp(self) -> Vjp[ByQV]:
        """Gradients of a weighted sum of the results."""
    @property
    def jacobian(self) -> JacobianOfKineticEnergyRegressor:
        """All first derivatives."""

class JacobianOfPotentialEnergyRegressor(Derivative, Protocol):
    def __call__(
        self,
        q: ArrayLike,
        *,
        parameters: Names | None = None,
        out: Any = None,
        threads: int | None = None,
    ) -> ByQ:
        """All first derivatives, by argument; columns for a configuration are along its nv velocities."""

class PotentialEnergyRegressor(Function, Protocol):
    def __call__(self, q: ArrayLike, *, out: Array | None = None, threads: int | None = None) -> Array:
        """Regressor of the potential energy in gravity.

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Configuration, with its loops closed.
        out : ndarray, optional
            Array that receives the result.
        threads : int, optional
            Largest number of threads for a batch.

        Returns
        -------
        y : ndarray, shape (..., p)
            The potential energy (J) is y · φ, with φ = ``robot.inertial_parameters()``.

        See Also
        --------
        potential_energy : The energy itself.
        kinetic_energy_regressor : Of the kinetic energy.

        Examples
        --------
        >>> import fourbar as fb
        >>> robot = fb.robots.double_pendulum()
        >>> y = robot.potential_energy_regressor([0.1, 0.2])
        >>> float((y @ robot.inertial_parameters()).round(4))
        -7.8441
        """
    @property
    def jvp(self) -> Jvp[Array]:
        """Rates of the results along tangents of the arguments."""
    @property
    def vjp(self) -> Vjp[ByQ]:
        """Gradients of a weighted sum of the results."""
    @property
    def jacobian(self) -> JacobianOfPotentialEnergyRegressor:
        """All first derivatives."""

class JacobianOfLoopResidual(Derivative, Protocol):
    def __call__(
        self,
        q: ArrayLike,
        *,
        rows: str = "all",
        parameters: Names | None = None,
        out: Any = None,
        threads: int | None = None,
    ) -> ByQ:
        """All first derivatives, by argument; columns for a configuration are along its nv velocities."""

class SpecialisedJacobianOfLoopResidual(Derivative, Protocol):
    def __call__(
        self,
        q: ArrayLike,
        *,
        parameters: Names | None = None,
        out: Any = None,
        threads: int | None = None,
    ) -> ByQ:
        """All first derivatives, by argument; columns for a configuration are along its nv velocities."""

class JvpOfLoopResidual(Derivative, Protocol):
    def __call__(
        self,
        args: Arrays,
        tangents: Arrays = (),
        parameters: Mapping[str, ArrayLike | None] | None = None,
        *,
        rows: str = "all",
        out: Any = None,
        threads: int | None = None,
    ) -> Array:
        """Rates of the results when the arguments move with tangents."""

class VjpOfLoopResidual(Derivative, Protocol):
    def __call__(
        self,
        args: Arrays,
        cotangent: Arrays,
        parameters: Names | None = None,
        *,
        rows: str = "all",
        out: Any = None,
        threads: int | None = None,
    ) -> ByQ:
        """Gradients of a weighted sum of the results."""

class SpecialisedLoopResidual(Function, Protocol):
    def __call__(self, q: ArrayLike, *, out: Array | None = None, threads: int | None = None) -> Array:
        """Conditions φ(q) of all loops, zero where these are closed."""
    @property
    def jvp(self) -> Jvp[Array]:
        """Rates of the results along tangents of the arguments."""
    @property
    def vjp(self) -> Vjp[ByQ]:
        """Gradients of a weighted sum of the results."""
    @property
    def jacobian(self) -> SpecialisedJacobianOfLoopResidual:
        """All first derivatives."""

class LoopResidual(Protocol):
    __name__: str
    def __call__(
        self,
        q: ArrayLike,
        rows: str = "all",
        *,
        out: Array | None = None,
        threads: int | None = None,
    ) -> Array:
        """Conditions φ(q) of all loops, zero where these are closed.

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Coordinates, with open or closed loops.
        rows : str
            ``"all"``: every condition of every loop, in the order of the rows of `loop_jacobian`. ``"independent"``: the
            conditions that hold the dependent coordinates stored in q, as many as there are of these and none that others
            imply: the equality constraints of an optimisation over q. Explicit loops, which every q satisfies, have none.
        out : ndarray, optional
            Array that receives the result.
        threads : int, optional
            Largest number of threads for a batch.

        Returns
        -------
        phi : ndarray, shape (..., m)
            Residuals: metres for points that coincide, sines of angles for axes that align, and the coordinate's own unit
            for gears and couplings.

        See Also
        --------
        loop_jacobian : The derivative K along the velocities of the spanning tree.
        loop_gap : The largest residual.
        assemble : A configuration with φ = 0.

        Notes
        -----
        φ(q) = 0 is Chignoli's eq. 2. Derivatives are by the nq entries of q as they are, not along the nv independent
        velocities, along which φ does not change: `jacobian` gives ∂φ/∂q (m, nq). Where all joints are hinges and slides
        with implicit loops and q is in the order of the joints, that is K.

        Examples
        --------
        >>> import fourbar as fb
        >>> robot = fb.robots.four_bar()
        >>> robot.loop_residual([0.1, 0.0, 0.0], rows="independent").shape
        (2,)
        >>> robot.loop_residual.jacobian([0.1, 0.0, 0.0]).q.shape
        (6, 3)
        """
    def specialise(self, rows: str = "all") -> SpecialisedLoopResidual:
        """The function for one choice of options: it takes arrays only, and is called faster."""
    @property
    def options(self) -> tuple[str, ...]:
        """The names of the options."""
    @property
    def jvp(self) -> JvpOfLoopResidual:
        """Rates of the results along tangents of the arguments."""
    @property
    def vjp(self) -> VjpOfLoopResidual:
        """Gradients of a weighted sum of the results."""
    @property
    def jacobian(self) -> JacobianOfLoopResidual:
        """All first derivatives."""

class JacobianOfLoopJacobian(Derivative, Protocol):
    def __call__(
        self,
        q: ArrayLike,
        *,
        parameters: Names | None = None,
        out: Any = None,
        threads: int | None = None,
    ) -> ByQ:
        """All first derivatives, by argument; columns for a configuration are along its nv velocities."""

class LoopJacobian(Function, Protocol):
    def __call__(self, q: ArrayLike, *, out: Array | None = None, threads: int | None = None) -> Array:
        """Jacobian of the conditions of all loops.

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Configuration, with its loops closed.
        out : ndarray, optional
            Array that receives the result.
        threads : int, optional
            Largest number of threads for a batch.

        Returns
        -------
        K : ndarray, shape (..., m, n)
            ∂φ/∂q of every condition of every loop, also those that others imply, over all n velocities of the spanning
            tree.

        See Also
        --------
        loop_jacobian_bias : k in K q̈ = k.
        loop_map : G with K G = 0.
        loop_pull : The wrenches along the conditions.

        Notes
        -----
        K q̇ = 0 and K q̈ = k (Chignoli eq. 2).

        Examples
        --------
        >>> import fourbar as fb
        >>> robot = fb.robots.four_bar()
        >>> K, G = robot.loop_jacobian(robot.neutral()), robot.loop_map(robot.neutral())
        >>> K.shape, bool(abs(K @ G).max() < 1e-9)
        ((6, 3), True)
        """
    @property
    def jvp(self) -> Jvp[Array]:
        """Rates of the results along tangents of the arguments."""
    @property
    def vjp(self) -> Vjp[ByQ]:
        """Gradients of a weighted sum of the results."""
    @property
    def jacobian(self) -> JacobianOfLoopJacobian:
        """All first derivatives."""

class JacobianOfLoopJacobianBias(Derivative, Protocol):
    def __call__(
        self,
        q: ArrayLike,
        v: ArrayLike,
        *,
        parameters: Names | None = None,
        out: Any = None,
        threads: int | None = None,
    ) -> ByQV:
        """All first derivatives, by argument; columns for a configuration are along its nv velocities."""

class LoopJacobianBias(Function, Protocol):
    def __call__(self, q: ArrayLike, v: ArrayLike, *, out: Array | None = None, threads: int | None = None) -> Array:
        """Right-hand side of the conditions of all loops on accelerations.

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Configuration, with its loops closed.
        v : array_like, shape (..., nv)
            Velocity (rad/s, m/s).
        out : ndarray, optional
            Array that receives the result.
        threads : int, optional
            Largest number of threads for a batch.

        Returns
        -------
        k : ndarray, shape (..., m)
            k = -K̇ q̇, with K q̈ = k for the accelerations q̈ of the spanning tree.

        See Also
        --------
        loop_jacobian : The matrix K.

        Examples
        --------
        >>> import fourbar as fb
        >>> robot = fb.robots.four_bar()
        >>> robot.loop_jacobian_bias(robot.neutral(), [1.0]).shape
        (6,)
        """
    @property
    def jvp(self) -> Jvp[Array]:
        """Rates of the results along tangents of the arguments."""
    @property
    def vjp(self) -> Vjp[ByQV]:
        """Gradients of a weighted sum of the results."""
    @property
    def jacobian(self) -> JacobianOfLoopJacobianBias:
        """All first derivatives."""

class JacobianOfArticulatedInertia(Derivative, Protocol):
    def __call__(
        self,
        q: ArrayLike,
        *,
        frame: str | None = None,
        parameters: Names | None = None,
        out: Any = None,
        threads: int | None = None,
    ) -> ByQ:
        """All first derivatives, by argument; columns for a configuration are along its nv velocities."""

class SpecialisedJacobianOfArticulatedInertia(Derivative, Protocol):
    def __call__(
        self,
        q: ArrayLike,
        *,
        parameters: Names | None = None,
        out: Any = None,
        threads: int | None = None,
    ) -> ByQ:
        """All first derivatives, by argument; columns for a configuration are along its nv velocities."""

class JvpOfArticulatedInertia(Derivative, Protocol):
    def __call__(
        self,
        args: Arrays,
        tangents: Arrays = (),
        parameters: Mapping[str, ArrayLike | None] | None = None,
        *,
        frame: str | None = None,
        out: Any = None,
        threads: int | None = None,
    ) -> Array:
        """Rates of the results when the arguments move with tangents."""

class VjpOfArticulatedInertia(Derivative, Protocol):
    def __call__(
        self,
        args: Arrays,
        cotangent: Arrays,
        parameters: Names | None = None,
        *,
        frame: str | None = None,
        out: Any = None,
        threads: int | None = None,
    ) -> ByQ:
        """Gradients of a weighted sum of the results."""

class SpecialisedArticulatedInertia(Function, Protocol):
    def __call__(self, q: ArrayLike, *, out: Array | None = None, threads: int | None = None) -> Array:
        """Articulated inertia of one body or of all bodies."""
    @property
    def jvp(self) -> Jvp[Array]:
        """Rates of the results along tangents of the arguments."""
    @property
    def vjp(self) -> Vjp[ByQ]:
        """Gradients of a weighted sum of the results."""
    @property
    def jacobian(self) -> SpecialisedJacobianOfArticulatedInertia:
        """All first derivatives."""

class ArticulatedInertia(Protocol):
    __name__: str
    def __call__(
        self,
        q: ArrayLike,
        frame: str | None = None,
        *,
        out: Array | None = None,
        threads: int | None = None,
    ) -> Array:
        """Articulated inertia of one body or of all bodies.

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Configuration, with its loops closed.
        frame : str, optional
            Name of a frame or body; without it the result has an axis of all bodies, in the order of `names.bodies`.
        out : ndarray, optional
            Array that receives the result.
        threads : int, optional
            Largest number of threads for a batch.

        Returns
        -------
        I_A : ndarray, shape (..., 6, 6) or (..., n_bodies, 6, 6)
            Symmetric matrix [[kg m², kg m], [kg m, kg]] for twists [angular; linear] at the origin of the frame and in its
            axes.

        See Also
        --------
        articulated_bias : The wrench at acceleration zero.
        osim : The inertia of a frame while it hangs on the joints that carry it.

        Notes
        -----
        The wrench F = I_A A + p_A accelerates a body by A, cut from the joint that carries it, while all joints that it
        carries move freely: Î of Kim's Table 3. Bodies joined by fixed joints are one body; those fixed to the ground are
        one with all that stands on it. Links that loops tie together form a cluster: a body among them has its block of
        Chignoli's 𝖨ᴬ, the body with what it carries outside the cluster; forces of the loops are part of F.

        Examples
        --------
        >>> import fourbar as fb
        >>> robot = fb.robots.double_pendulum()
        >>> robot.articulated_inertia([0.1, 0.2], "upper").shape, robot.articulated_inertia([0.1, 0.2]).shape
        ((6, 6), (2, 6, 6))
        """
    def specialise(self, frame: str | None = None) -> SpecialisedArticulatedInertia:
        """The function for one choice of options: it takes arrays only, and is called faster."""
    @property
    def options(self) -> tuple[str, ...]:
        """The names of the options."""
    @property
    def jvp(self) -> JvpOfArticulatedInertia:
        """Rates of the results along tangents of the arguments."""
    @property
    def vjp(self) -> VjpOfArticulatedInertia:
        """Gradients of a weighted sum of the results."""
    @property
    def jacobian(self) -> JacobianOfArticulatedInertia:
        """All first derivatives."""

class JacobianOfArticulatedBias(Derivative, Protocol):
    def __call__(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike,
        f_ext: Wrenches | None = None,
        *,
        frame: str | None = None,
        parameters: Names | None = None,
        out: Any = None,
        threads: int | None = None,
    ) -> ByQVTauFExt:
        """All first derivatives, by argument; columns for a configuration are along its nv velocities."""

class SpecialisedJacobianOfArticulatedBias(Derivative, Protocol):
    def __call__(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike,
        f_ext: Wrenches | None = None,
        *,
        parameters: Names | None = None,
        out: Any = None,
        threads: int | None = None,
    ) -> ByQVTauFExt:
        """All first derivatives, by argument; columns for a configuration are along its nv velocities."""

class JvpOfArticulatedBias(Derivative, Protocol):
    def __call__(
        self,
        args: Arrays,
        tangents: Arrays = (),
        parameters: Mapping[str, ArrayLike | None] | None = None,
        *,
        frame: str | None = None,
        out: Any = None,
        threads: int | None = None,
    ) -> Array:
        """Rates of the results when the arguments move with tangents."""

class VjpOfArticulatedBias(Derivative, Protocol):
    def __call__(
        self,
        args: Arrays,
        cotangent: Arrays,
        parameters: Names | None = None,
        *,
        frame: str | None = None,
        out: Any = None,
        threads: int | None = None,
    ) -> ByQVTauFExt:
        """Gradients of a weighted sum of the results."""

class SpecialisedArticulatedBias(Function, Protocol):
    def __call__(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike,
        f_ext: Wrenches | None = None,
        *,
        out: Array | None = None,
        threads: int | None = None,
    ) -> Array:
        """Bias force of the articulated body of one body or of all bodies."""
    @property
    def jvp(self) -> Jvp[Array]:
        """Rates of the results along tangents of the arguments."""
    @property
    def vjp(self) -> Vjp[ByQVTauFExt]:
        """Gradients of a weighted sum of the results."""
    @property
    def jacobian(self) -> SpecialisedJacobianOfArticulatedBias:
        """All first derivatives."""

class ArticulatedBias(Protocol):
    __name__: str
    def __call__(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike,
        frame: str | None = None,
        *,
        f_ext: Wrenches | None = None,
        out: Array | None = None,
        threads: int | None = None,
    ) -> Array:
        """Bias force of the articulated body of one body or of all bodies.

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Configuration, with its loops closed.
        v : array_like, shape (..., nv)
            Velocity (rad/s, m/s).
        tau : array_like, shape (..., nv)
            Joint forces (N m, N).
        frame : str, optional
            Name of a frame or body; without it the result has an axis of all bodies, in the order of `names.bodies`.
        f_ext : array_like, shape (..., n_bodies, 6), or dict, optional
            Wrench [moment; force] (N m, N) on each body, at its origin and in its axes; or on some bodies,
            ``{"hand": wrench}``.
        out : ndarray, optional
            Array that receives the result.
        threads : int, optional
            Largest number of threads for a batch.

        Returns
        -------
        p_A : ndarray, shape (..., 6) or (..., n_bodies, 6)
            Wrench [moment; force] (N m, N) at the origin of the frame and in its axes.

        See Also
        --------
        articulated_inertia : I_A in F = I_A A + p_A.
        acceleration : A, with ``expressed_in="frame"``.

        Notes
        -----
        B̂ of Kim's Table 3. A is the component-wise rate of the twist less gravity, ``acceleration(q, v, a, frame,
        expressed_in="frame")`` minus (0, g) in the axes of the frame, since gravity acts as an acceleration of the ground.

        Examples
        --------
        >>> import fourbar as fb
        >>> robot = fb.robots.double_pendulum()
        >>> robot.articulated_bias([0.1, 0.2], [0.0, 0.0], [0.0, 1.0]).round(3) + 0.0
        array([[ 0.   ,  2.838,  0.   , -3.675,  0.   ,  0.745],
               [ 0.   ,  0.   ,  0.   ,  0.   ,  0.   ,  0.   ]])
        """
    def specialise(self, frame: str | None = None) -> SpecialisedArticulatedBias:
        """The function for one choice of options: it takes arrays only, and is called faster."""
    @property
    def options(self) -> tuple[str, ...]:
        """The names of the options."""
    @property
    def jvp(self) -> JvpOfArticulatedBias:
        """Rates of the results along tangents of the arguments."""
    @property
    def vjp(self) -> VjpOfArticulatedBias:
        """Gradients of a weighted sum of the results."""
    @property
    def jacobian(self) -> JacobianOfArticulatedBias:
        """All first derivatives."""

class JacobianOfClusterSubspace(Derivative, Protocol):
    def __call__(
        self,
        q: ArrayLike,
        *,
        cluster: str,
        parameters: Names | None = None,
        out: Any = None,
        threads: int | None = None,
    ) -> ByQ:
        """All first derivatives, by argument; columns for a configuration are along its nv velocities."""

class SpecialisedJacobianOfClusterSubspace(Derivative, Protocol):
    def __call__(
        self,
        q: ArrayLike,
        *,
        parameters: Names | None = None,
        out: Any = None,
        threads: int | None = None,
    ) -> ByQ:
        """All first derivatives, by argument; columns for a configuration are along its nv velocities."""

class JvpOfClusterSubspace(Derivative, Protocol):
    def __call__(
        self,
        args: Arrays,
        tangents: Arrays = (),
        parameters: Mapping[str, ArrayLike | None] | None = None,
        *,
        cluster: str,
        out: Any = None,
        threads: int | None = None,
    ) -> Array:
        """Rates of the results when the arguments move with tangents."""

class VjpOfClusterSubspace(Derivative, Protocol):
    def __call__(
        self,
        args: Arrays,
        cotangent: Arrays,
        parameters: Names | None = None,
        *,
        cluster: str,
        out: Any = None,
        threads: int | None = None,
    ) -> ByQ:
        """Gradients of a weighted sum of the results."""

class SpecialisedClusterSubspace(Function, Protocol):
    def __call__(self, q: ArrayLike, *, out: Array | None = None, threads: int | None = None) -> Array:
        """Motion subspace of a cluster joint."""
    @property
    def jvp(self) -> Jvp[Array]:
        """Rates of the results along tangents of the arguments."""
    @property
    def vjp(self) -> Vjp[ByQ]:
        """Gradients of a weighted sum of the results."""
    @property
    def jacobian(self) -> SpecialisedJacobianOfClusterSubspace:
        """All first derivatives."""

class ClusterSubspace(Protocol):
    __name__: str
    def __call__(self, q: ArrayLike, cluster: str, *, out: Array | None = None, threads: int | None = None) -> Array:
        """Motion subspace of a cluster joint.

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Configuration, with its loops closed.
        cluster : str
            A body of the cluster.
        out : ndarray, optional
            Array that receives the result.
        threads : int, optional
            Largest number of threads for a batch.

        Returns
        -------
        S : ndarray, shape (..., 6 n, k)
            𝖲 of a cluster of n bodies with k independent velocities ẏ: 𝖲 ẏ are the twists of its bodies relative to their
            output bodies, stacked in the order of ``clusters[...].bodies``, each in the axes of its body.

        See Also
        --------
        cluster_transform : 𝖷, for the motion of the output bodies.
        cluster_force_subspaces : 𝖳ᵃ and 𝖳ᶜ.
        clusters : The clusters by name.

        Notes
        -----
        𝖲 = X_Λλ block(S_i) G (Chignoli eq. 24). The output body of a body is the nearest one outside the cluster that
        carries it. The twists of a cluster are 𝗏 = 𝖷 𝗏_parent + 𝖲 ẏ.

        Examples
        --------
        >>> import fourbar as fb
        >>> robot = fb.robots.four_bar()
        >>> robot.cluster_subspace(robot.neutral(), "link1").shape
        (18, 1)
        """
    def specialise(self, cluster: str) -> SpecialisedClusterSubspace:
        """The function for one choice of options: it takes arrays only, and is called faster."""
    @property
    def options(self) -> tuple[str, ...]:
        """The names of the options."""
    @property
    def jvp(self) -> JvpOfClusterSubspace:
        """Rates of the results along tangents of the arguments."""
    @property
    def vjp(self) -> VjpOfClusterSubspace:
        """Gradients of a weighted sum of the results."""
    @property
    def jacobian(self) -> JacobianOfClusterSubspace:
        """All first derivatives."""

class JacobianOfClusterTransform(Derivative, Protocol):
    def __call__(
        self,
        q: ArrayLike,
        *,
        cluster: str,
        parameters: Names | None = None,
        out: Any = None,
        threads: int | None = None,
    ) -> ByQ:
        """All first derivatives, by argument; columns for a configuration are along its nv velocities."""

class SpecialisedJacobianOfClusterTransform(Derivative, Protocol):
    def __call__(
        self,
        q: ArrayLike,
        *,
        parameters: Names | None = None,
        out: Any = None,
        threads: int | None = None,
    ) -> ByQ:
        """All first derivatives, by argument; columns for a configuration are along its nv velocities."""

class JvpOfClusterTransform(Derivative, Protocol):
    def __call__(
        self,
        args: Arrays,
        tangents: Arrays = (),
        parameters: Mapping[str, ArrayLike | None] | None = None,
        *,
        cluster: str,
        out: Any = None,
        threads: int | None = None,
    ) -> Array:
        """Rates of the results when the arguments move with tangents."""

class VjpOfClusterTransform(Derivative, Protocol):
    def __call__(
        self,
        args: Arrays,
        cotangent: Arrays,
        parameters: Names | None = None,
        *,
        cluster: str,
        out: Any = None,
        threads: int | None = None,
    ) -> ByQ:
        """Gradients of a weighted sum of the results."""

class SpecialisedClusterTransform(Function, Protocol):
    def __call__(self, q: ArrayLike, *, out: Array | None = None, threads: int | None = None) -> Array:
        """Transform of motions from the parent cluster to a cluster."""
    @property
    def jvp(self) -> Jvp[Array]:
        """Rates of the results along tangents of the arguments."""
    @property
    def vjp(self) -> Vjp[ByQ]:
        """Gradients of a weighted sum of the results."""
    @property
    def jacobian(self) -> SpecialisedJacobianOfClusterTransform:
        """All first derivatives."""

class ClusterTransform(Protocol):
    __name__: str
    def __call__(self, q: ArrayLike, cluster: str, *, out: Array | None = None, threads: int | None = None) -> Array:
        """Transform of motions from the parent cluster to a cluster.

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Configuration, with its loops closed.
        cluster : str
            A body of the cluster.
        out : ndarray, optional
            Array that receives the result.
        threads : int, optional
            Largest number of threads for a batch.

        Returns
        -------
        X : ndarray, shape (..., 6 n, 6 m)
            𝖷 from the m bodies of the parent cluster (the ground counts as one) to the n bodies of this one, both in the
            order of ``clusters[...].bodies``: one 6 x 6 block per body, in the columns of its output body. Its transpose
            carries wrenches to the parent cluster.

        See Also
        --------
        cluster_subspace : 𝖲.

        Notes
        -----
        The twists of a cluster are 𝗏 = 𝖷 𝗏_parent + 𝖲 ẏ (Chignoli §V-B).

        Examples
        --------
        >>> import fourbar as fb
        >>> robot = fb.robots.four_bar()
        >>> robot.cluster_transform(robot.neutral(), "link1").shape
        (18, 6)
        """
    def specialise(self, cluster: str) -> SpecialisedClusterTransform:
        """The function for one choice of options: it takes arrays only, and is called faster."""
    @property
    def options(self) -> tuple[str, ...]:
        """The names of the options."""
    @property
    def jvp(self) -> JvpOfClusterTransform:
        """Rates of the results along tangents of the arguments."""
    @property
    def vjp(self) -> VjpOfClusterTransform:
        """Gradients of a weighted sum of the results."""
    @property
    def jacobian(self) -> JacobianOfClusterTransform:
        """All first derivatives."""

class BlocksOfClusterForceSubspaces(Protocol):
    @property
    def Ta(self) -> ByQ: ...
    @property
    def Tc(self) -> ByQ: ...

class JacobianOfClusterForceSubspaces(Derivative, Protocol):
    def __call__(
        self,
        q: ArrayLike,
        *,
        cluster: str,
        parameters: Names | None = None,
        out: Any = None,
        threads: int | None = None,
    ) -> BlocksOfClusterForceSubspaces:
        """All first derivatives, by argument; columns for a configuration are along its nv velocities."""

class SpecialisedJacobianOfClusterForceSubspaces(Derivative, Protocol):
    def __call__(
        self,
        q: ArrayLike,
        *,
        parameters: Names | None = None,
        out: Any = None,
        threads: int | None = None,
    ) -> BlocksOfClusterForceSubspaces:
        """All first derivatives, by argument; columns for a configuration are along its nv velocities."""

class JvpOfClusterForceSubspaces(Derivative, Protocol):
    def __call__(
        self,
        args: Arrays,
        tangents: Arrays = (),
        parameters: Mapping[str, ArrayLike | None] | None = None,
        *,
        cluster: str,
        out: Any = None,
        threads: int | None = None,
    ) -> tuple[Array, Array]:
        """Rates of the results when the arguments move with tangents."""

class VjpOfClusterForceSubspaces(Derivative, Protocol):
    def __call__(
        self,
        args: Arrays,
        cotangent: Arrays,
        parameters: Names | None = None,
        *,
        cluster: str,
        out: Any = None,
        threads: int | None = None,
    ) -> ByQ:
        """Gradients of a weighted sum of the results."""

class SpecialisedClusterForceSubspaces(Function, Protocol):
    def __call__(
        self,
        q: ArrayLike,
        *,
        out: tuple[Array, ...] | None = None,
        threads: int | None = None,
    ) -> tuple[Array, Array]:
        """Active and constraint force subspaces of a cluster joint."""
    @property
    def jvp(self) -> Jvp[tuple[Array, Array]]:
        """Rates of the results along tangents of the arguments."""
    @property
    def vjp(self) -> Vjp[ByQ]:
        """Gradients of a weighted sum of the results."""
    @property
    def jacobian(self) -> SpecialisedJacobianOfClusterForceSubspaces:
        """All first derivatives."""

class ClusterForceSubspaces(Protocol):
    __name__: str
    def __call__(
        self,
        q: ArrayLike,
        cluster: str,
        *,
        out: tuple[Array, ...] | None = None,
        threads: int | None = None,
    ) -> tuple[Array, Array]:
        """Active and constraint force subspaces of a cluster joint.

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Configuration, with its loops closed.
        cluster : str
            A body of the cluster.
        out : tuple of ndarray, optional
            Arrays that receive the results.
        threads : int, optional
            Largest number of threads for a batch.

        Returns
        -------
        Ta : ndarray, shape (..., 6 n, k)
            𝖳ᵃ: the wrenches on the n bodies of the cluster, stacked in the order of ``clusters[...].bodies``, of unit
            forces on its k independent velocities, applied at the independent joints.
        Tc : ndarray, shape (..., 6 n, 6 n - k)
            𝖳ᶜ: a basis of the constraint wrenches: those of the joints, then those of the loops.

        See Also
        --------
        cluster_subspace : 𝖲, with 𝖲ᵀ 𝖳ᵃ = 1 and 𝖲ᵀ 𝖳ᶜ = 0.

        Notes
        -----
        𝖳ᵃ = X*_Λλ block(Tᵃ_i) 𝖯 with Gᵀ 𝖯 = 1, where 𝖯 selects the independent joints (Chignoli eq. 30). 𝖳ᶜ holds X*_Λλ
        block(Tᶜ_i), which eq. 30 has, and X*_Λλ block(Tᵃ_i) Kᵀ, the forces of the loops, which it lacks. The wrenches
        across the cluster joint are 𝖿 = 𝖳ᵃ τ + 𝖳ᶜ λ, with 𝖲ᵀ 𝖿 = τ (eq. 31).

        Examples
        --------
        >>> import fourbar as fb
        >>> robot = fb.robots.four_bar()
        >>> Ta, Tc = robot.cluster_force_subspaces(robot.neutral(), "link1")
        >>> S = robot.cluster_subspace(robot.neutral(), "link1")
        >>> (S.T @ Ta).round(12), bool(abs(S.T @ Tc).max() < 1e-12)
        (array([[1.]]), True)
        """
    def specialise(self, cluster: str) -> SpecialisedClusterForceSubspaces:
        """The function for one choice of options: it takes arrays only, and is called faster."""
    @property
    def options(self) -> tuple[str, ...]:
        """The names of the options."""
    @property
    def jvp(self) -> JvpOfClusterForceSubspaces:
        """Rates of the results along tangents of the arguments."""
    @property
    def vjp(self) -> VjpOfClusterForceSubspaces:
        """Gradients of a weighted sum of the results."""
    @property
    def jacobian(self) -> JacobianOfClusterForceSubspaces:
        """All first derivatives."""

class BlocksOfConstrainedForwardDynamics(Protocol):
    @property
    def a(self) -> ByQVTauFExtRowAcceleration: ...
    @property
    def force(self) -> ByQVTauFExtRowAcceleration: ...

class JacobianOfConstrainedForwardDynamics(Derivative, Protocol):
    def __call__(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike,
        f_ext: Wrenches | None = None,
        row_acceleration: ArrayLike | None = None,
        *,
        parameters: Names | None = None,
        out: Any = None,
        threads: int | None = None,
    ) -> BlocksOfConstrainedForwardDynamics:
        """All first derivatives, by argument; columns for a configuration are along its nv velocities."""

class ConstrainedForwardDynamics(Function, Protocol):
    def __call__(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike,
        f_ext: Wrenches | None = None,
        row_acceleration: ArrayLike | None = None,
        *,
        out: tuple[Array, ...] | None = None,
        threads: int | None = None,
    ) -> tuple[Array, Array]:
        """Accelerations and constraint forces caused by joint forces.

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Configuration, with its loops closed.
        v : array_like, shape (..., nv)
            Velocity (rad/s, m/s).
        tau : array_like, shape (..., nv)
            Joint forces (N m, N).
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
            Accelerations (rad/s², m/s²).
        force : ndarray, shape (..., m)
            Forces λ along the rows (N m, N).

        Raises
        ------
        SingularError
            If the rows contradict each other (NaN and a warning in a batch).

        Notes
        -----
        M a + C v + g = τ + Aᵀ λ and A a + Ȧ v = 0 (Kim eq. 67-69), in O(n) and m³. Where rows are redundant, λ is the least
        of all that do the same.

        Examples
        --------
        >>> import fourbar as fb
        >>> robot = fb.robots.double_pendulum()
        >>> held = robot.constrained(fb.constraints.Contact("tip", "touch"))
        >>> a, force = held.forward_dynamics([0.1, 0.2], [0.0, 0.0], [0.0, 0.0])
        >>> a.round(3), force.round(3)
        (array([-1.961,  2.789]), array([2.922]))
        """
    @property
    def jvp(self) -> Jvp[tuple[Array, Array]]:
        """Rates of the results along tangents of the arguments."""
    @property
    def vjp(self) -> Vjp[ByQVTauFExtRowAcceleration]:
        """Gradients of a weighted sum of the results."""
    @property
    def jacobian(self) -> JacobianOfConstrainedForwardDynamics:
        """All first derivatives."""

class BlocksOfConstrainedInverseDynamics(Protocol):
    @property
    def tau(self) -> ByQVAFExtTauPassive: ...
    @property
    def force(self) -> ByQVAFExtTauPassive: ...

class JacobianOfConstrainedInverseDynamics(Derivative, Protocol):
    def __call__(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        f_ext: Wrenches | None = None,
        tau_passive: ArrayLike | None = None,
        *,
        parameters: Names | None = None,
        out: Any = None,
        threads: int | None = None,
    ) -> BlocksOfConstrainedInverseDynamics:
        """All first derivatives, by argument; columns for a configuration are along its nv velocities."""

class ConstrainedInverseDynamics(Function, Protocol):
    def __call__(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        f_ext: Wrenches | None = None,
        tau_passive: ArrayLike | None = None,
        *,
        out: tuple[Array, ...] | None = None,
        threads: int | None = None,
    ) -> tuple[Array, Array]:
        """Forces of drives and constraints that cause accelerations.

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Configuration, with its loops closed.
        v : array_like, shape (..., nv)
            Velocity (rad/s, m/s).
        a : array_like, shape (..., nv)
            Acceleration (rad/s², m/s²), which the constraints must allow.
        f_ext : array_like, shape (..., n_bodies, 6), or dict, optional
            Wrench [moment; force] (N m, N) on each body, at its origin and in its axes; or on some bodies,
            ``{"hand": wrench}``.
        tau_passive : array_like, shape (..., n), optional
            Given forces (N m, N) that act in the joints besides those of the drives, one for each velocity of each
            joint, in the order of `expand_velocity` (n = nv without embedded loops).
        out : tuple of ndarray, optional
            Arrays that receive the results.
        threads : int, optional
            Largest number of threads for a batch.

        Returns
        -------
        tau : ndarray, shape (..., n_actuated)
            Forces of the drives (N m, N).
        force : ndarray, shape (..., m)
            Forces λ along the rows (N m, N).

        Raises
        ------
        ArgumentError
            If the constraints do not allow the accelerations.
        SingularError
            If the drives cannot cause them (NaN and a warning in a batch).

        See Also
        --------
        inverse_passive_dynamics : With the springs, dampers and friction of the joints.

        Notes
        -----
        Kim eq. 56-66. Where the drives are more than enough, `least` of `System.constrained` says what is least: their
        forces, or those of the constraints and of embedded loops. Springs and damping of the joints are left out, as in
        `forward_dynamics`.

        Examples
        --------
        >>> import fourbar as fb
        >>> robot = fb.robots.double_pendulum()
        >>> held = robot.constrained(fb.constraints.Contact("tip", "touch"), actuated=["shoulder", "elbow"])
        >>> a, _ = held.forward_dynamics([0.1, 0.2], [0.0, 0.0], [0.0, 0.0])
        >>> tau, force = held.inverse_dynamics([0.1, 0.2], [0.0, 0.0], a)
        >>> tau.shape, force.shape
        ((2,), (1,))
        """
    @property
    def jvp(self) -> Jvp[tuple[Array, Array]]:
        """Rates of the results along tangents of the arguments."""
    @property
    def vjp(self) -> Vjp[ByQVAFExtTauPassive]:
        """Gradients of a weighted sum of the results."""
    @property
    def jacobian(self) -> JacobianOfConstrainedInverseDynamics:
        """All first derivatives."""

class BlocksOfConstrainedInversePassiveDynamics(Protocol):
    @property
    def tau(self) -> ByQVAFExtTauPassiveFrictionVelocity: ...
    @property
    def force(self) -> ByQVAFExtTauPassiveFrictionVelocity: ...

class JacobianOfConstrainedInversePassiveDynamics(Derivative, Protocol):
    def __call__(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        f_ext: Wrenches | None = None,
        tau_passive: ArrayLike | None = None,
        friction_velocity: ArrayLike | None = None,
        *,
        parameters: Names | None = None,
        out: Any = None,
        threads: int | None = None,
    ) -> BlocksOfConstrainedInversePassiveDynamics:
        """All first derivatives, by argument; columns for a configuration are along its nv velocities."""

class ConstrainedInversePassiveDynamics(Function, Protocol):
    def __call__(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        f_ext: Wrenches | None = None,
        tau_passive: ArrayLike | None = None,
        friction_velocity: ArrayLike | None = None,
        *,
        out: tuple[Array, ...] | None = None,
        threads: int | None = None,
    ) -> tuple[Array, Array]:
        """Forces of drives and constraints that, together with springs, damping and dry friction, cause accelerations.

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Configuration, with its loops closed.
        v : array_like, shape (..., nv)
            Velocity (rad/s, m/s).
        a : array_like, shape (..., nv)
            Acceleration (rad/s², m/s²), which the constraints must allow.
        f_ext : array_like, shape (..., n_bodies, 6), or dict, optional
            Wrench [moment; force] (N m, N) on each body, at its origin and in its axes; or on some bodies,
            ``{"hand": wrench}``.
        tau_passive : array_like, shape (..., n), optional
            Given forces (N m, N) that act in the joints besides those of drives, springs, dampers and friction, one for
            each velocity of each joint, in the order of `expand_velocity` (n = nv without embedded loops).
        friction_velocity : array_like, shape (...), optional
            Velocity v_s > 0 (rad/s, m/s) around rest over which dry friction is smoothed: joints with `friction` f then
            rub with -f tanh(v / v_s). Without it there is no dry friction.
        out : tuple of ndarray, optional
            Arrays that receive the results.
        threads : int, optional
            Largest number of threads for a batch.

        Returns
        -------
        tau : ndarray, shape (..., n_actuated)
            Forces that the drives must supply (N m, N).
        force : ndarray, shape (..., m)
            Forces λ along the rows (N m, N).

        Raises
        ------
        ArgumentError
            If the constraints do not allow the accelerations.
        SingularError
            If the drives cannot cause them, or `friction_velocity` is not positive (NaN and a warning in a batch).

        See Also
        --------
        inverse_dynamics : The rigid bodies alone.

        Notes
        -----
        Kim eq. 56-66 with forces τ_p of the passive joints. The forces of springs, dampers and friction in actuated joints
        relieve or load their drives.

        Examples
        --------
        >>> import fourbar as fb
        >>> robot = fb.robots.double_pendulum().with_parameters(joints={"elbow": {"damping": 2.0}})
        >>> held = robot.constrained(fb.constraints.Contact("tip", "touch"), actuated=["shoulder"])
        >>> q, v, _ = [0.1, 0.2], *held.impulse([0.1, 0.2], [1.0, 0.0])
        >>> a, _ = held.forward_dynamics(q, v, robot.passive_forces(q, v))
        >>> abs(held.inverse_passive_dynamics(q, v, a)[0]).round(9)
        array([0.])
        """
    @property
    def jvp(self) -> Jvp[tuple[Array, Array]]:
        """Rates of the results along tangents of the arguments."""
    @property
    def vjp(self) -> Vjp[ByQVAFExtTauPassiveFrictionVelocity]:
        """Gradients of a weighted sum of the results."""
    @property
    def jacobian(self) -> JacobianOfConstrainedInversePassiveDynamics:
        """All first derivatives."""

class BlocksOfConstrainedHybridDynamics(Protocol):
    @property
    def a(self) -> ByQVATauFExtRowAcceleration: ...
    @property
    def tau(self) -> ByQVATauFExtRowAcceleration: ...
    @property
    def force(self) -> ByQVATauFExtRowAcceleration: ...

class JacobianOfConstrainedHybridDynamics(Derivative, Protocol):
    def __call__(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        tau: ArrayLike,
        f_ext: Wrenches | None = None,
        row_acceleration: ArrayLike | None = None,
        *,
        prescribed: Sequence[str],
        least: Literal["constraint", "torque"] = "constraint",
        parameters: Names | None = None,
        out: Any = None,
        threads: int | None = None,
    ) -> BlocksOfConstrainedHybridDynamics:
        """All first derivatives, by argument; columns for a configuration are along its nv velocities."""

class SpecialisedJacobianOfConstrainedHybridDynamics(Derivative, Protocol):
    def __call__(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        tau: ArrayLike,
        f_ext: Wrenches | None = None,
        row_acceleration: ArrayLike | None = None,
        *,
        parameters: Names | None = None,
        out: Any = None,
        threads: int | None = None,
    ) -> BlocksOfConstrainedHybridDynamics:
        """All first derivatives, by argument; columns for a configuration are along its nv velocities."""

class JvpOfConstrainedHybridDynamics(Derivative, Protocol):
    def __call__(
        self,
        args: Arrays,
        tangents: Arrays = (),
        parameters: Mapping[str, ArrayLike | None] | None = None,
        *,
        prescribed: Sequence[str],
        least: Literal["constraint", "torque"] = "constraint",
        out: Any = None,
        threads: int | None = None,
    ) -> tuple[Array, Array, Array]:
        """Rates of the results when the arguments move with tangents."""

class VjpOfConstrainedHybridDynamics(Derivative, Protocol):
    def __call__(
        self,
        args: Arrays,
        cotangent: Arrays,
        parameters: Names | None = None,
        *,
        prescribed: Sequence[str],
        least: Literal["constraint", "torque"] = "constraint",
        out: Any = None,
        threads: int | None = None,
    ) -> ByQVATauFExtRowAcceleration:
        """Gradients of a weighted sum of the results."""

class SpecialisedConstrainedHybridDynamics(Function, Protocol):
    def __call__(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        tau: ArrayLike,
        f_ext: Wrenches | None = None,
        row_acceleration: ArrayLike | None = None,
        *,
        out: tuple[Array, ...] | None = None,
        threads: int | None = None,
    ) -> tuple[Array, Array, Array]:
        """All accelerations and forces, where some accelerations and the other forces are given."""
    @property
    def jvp(self) -> Jvp[tuple[Array, Array, Array]]:
        """Rates of the results along tangents of the arguments."""
    @property
    def vjp(self) -> Vjp[ByQVATauFExtRowAcceleration]:
        """Gradients of a weighted sum of the results."""
    @property
    def jacobian(self) -> SpecialisedJacobianOfConstrainedHybridDynamics:
        """All first derivatives."""

class ConstrainedHybridDynamics(Protocol):
    __name__: str
    def __call__(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        tau: ArrayLike,
        prescribed: Sequence[str],
        least: Literal["constraint", "torque"] = "constraint",
        *,
        f_ext: Wrenches | None = None,
        row_acceleration: ArrayLike | None = None,
        out: tuple[Array, ...] | None = None,
        threads: int | None = None,
    ) -> tuple[Array, Array, Array]:
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
    def specialise(
        self,
        prescribed: Sequence[str],
        least: Literal["constraint", "torque"] = "constraint",
    ) -> SpecialisedConstrainedHybridDynamics:
        """The function for one choice of options: it takes arrays only, and is called faster."""
    @property
    def options(self) -> tuple[str, ...]:
        """The names of the options."""
    @property
    def jvp(self) -> JvpOfConstrainedHybridDynamics:
        """Rates of the results along tangents of the arguments."""
    @property
    def vjp(self) -> VjpOfConstrainedHybridDynamics:
        """Gradients of a weighted sum of the results."""
    @property
    def jacobian(self) -> JacobianOfConstrainedHybridDynamics:
        """All first derivatives."""

class BlocksOfConstrainedImpulse(Protocol):
    @property
    def v(self) -> ByQVRestitution: ...
    @property
    def force(self) -> ByQVRestitution: ...

class JacobianOfConstrainedImpulse(Derivative, Protocol):
    def __call__(
        self,
        q: ArrayLike,
        v: ArrayLike,
        restitution: ArrayLike | None = None,
        *,
        parameters: Names | None = None,
        out: Any = None,
        threads: int | None = None,
    ) -> BlocksOfConstrainedImpulse:
        """All first derivatives, by argument; columns for a configuration are along its nv velocities."""

class ConstrainedImpulse(Function, Protocol):
    def __call__(
        self,
        q: ArrayLike,
        v: ArrayLike,
        restitution: ArrayLike | None = None,
        *,
        out: tuple[Array, ...] | None = None,
        threads: int | None = None,
    ) -> tuple[Array, Array]:
        """Velocities after the constraints close at once, and the impulses along their rows.

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Configuration, with its loops closed.
        v : array_like, shape (..., nv)
            Velocity (rad/s, m/s).
        restitution : array_like, shape (..., m), optional
            Each row A v is -restitution times what it was afterwards; zero without it.
        out : tuple of ndarray, optional
            Arrays that receive the results.
        threads : int, optional
            Largest number of threads for a batch.

        Returns
        -------
        v : ndarray, shape (..., nv)
            Velocities afterwards (rad/s, m/s).
        force : ndarray, shape (..., m)
            Impulses along the rows (N m s, N s).

        Raises
        ------
        SingularError
            If the rows contradict each other (NaN and a warning in a batch).

        Notes
        -----
        This is also the projection of v on the constraints that changes the kinetic energy of the difference least.

        Examples
        --------
        >>> import fourbar as fb
        >>> robot = fb.robots.double_pendulum()
        >>> held = robot.constrained(fb.constraints.Contact("tip", "touch"))
        >>> v, impulses = held.impulse([0.1, 0.2], [1.0, 0.0])
        >>> v.round(3)
        array([ 1.382, -1.966])
        """
    @property
    def jvp(self) -> Jvp[tuple[Array, Array]]:
        """Rates of the results along tangents of the arguments."""
    @property
    def vjp(self) -> Vjp[ByQVRestitution]:
        """Gradients of a weighted sum of the results."""
    @property
    def jacobian(self) -> JacobianOfConstrainedImpulse:
        """All first derivatives."""

class JacobianOfConstrainedJacobian(Derivative, Protocol):
    def __call__(
        self,
        q: ArrayLike,
        *,
        parameters: Names | None = None,
        out: Any = None,
        threads: int | None = None,
    ) -> ByQ:
        """All first derivatives, by argument; columns for a configuration are along its nv velocities."""

class ConstrainedJacobian(Function, Protocol):
    def __call__(self, q: ArrayLike, *, out: Array | None = None, threads: int | None = None) -> Array:
        """Rows of the constraints.

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Configuration, with its loops closed.
        out : ndarray, optional
            Array that receives the result.
        threads : int, optional
            Largest number of threads for a batch.

        Returns
        -------
        A : ndarray, shape (..., m, nv)
            The rows: A v is zero while the constraints hold.

        Examples
        --------
        >>> import fourbar as fb
        >>> robot = fb.robots.double_pendulum()
        >>> held = robot.constrained(fb.constraints.Contact("tip", "touch"))
        >>> held.jacobian([0.1, 0.2]).round(4)
        array([[0.1681, 0.1182]])
        """
    @property
    def jvp(self) -> Jvp[Array]:
        """Rates of the results along tangents of the arguments."""
    @property
    def vjp(self) -> Vjp[ByQ]:
        """Gradients of a weighted sum of the results."""
    @property
    def jacobian(self) -> JacobianOfConstrainedJacobian:
        """All first derivatives."""

class JacobianOfConstrainedResidual(Derivative, Protocol):
    def __call__(
        self,
        q: ArrayLike,
        *,
        parameters: Names | None = None,
        out: Any = None,
        threads: int | None = None,
    ) -> ByQ:
        """All first derivatives, by argument; columns for a configuration are along its nv velocities."""

class ConstrainedResidual(Function, Protocol):
    def __call__(self, q: ArrayLike, *, out: Array | None = None, threads: int | None = None) -> Array:
        """Residuals of loops and functions, zero where they are closed.

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Configuration.
        out : ndarray, optional
            Array that receives the result.
        threads : int, optional
            Largest number of threads for a batch.

        Returns
        -------
        phi : ndarray, shape (..., m)
            Residual φ (m, rad); zero for rows that hold velocities only.

        Examples
        --------
        >>> import fourbar as fb
        >>> robot = fb.robots.double_pendulum()
        >>> held = robot.constrained(fb.constraints.Contact("tip", "touch"))
        >>> held.residual([0.1, 0.2])
        array([0.])
        """
    @property
    def jvp(self) -> Jvp[Array]:
        """Rates of the results along tangents of the arguments."""
    @property
    def vjp(self) -> Vjp[ByQ]:
        """Gradients of a weighted sum of the results."""
    @property
    def jacobian(self) -> JacobianOfConstrainedResidual:
        """All first derivatives."""

class JacobianOfConstrainedRate(Derivative, Protocol):
    def __call__(
        self,
        q: ArrayLike,
        v: ArrayLike,
        *,
        parameters: Names | None = None,
        out: Any = None,
        threads: int | None = None,
    ) -> ByQV:
        """All first derivatives, by argument; columns for a configuration are along its nv velocities."""

class ConstrainedRate(Function, Protocol):
    def __call__(self, q: ArrayLike, v: ArrayLike, *, out: Array | None = None, threads: int | None = None) -> Array:
        """Rates of the rows.

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Configuration, with its loops closed.
        v : array_like, shape (..., nv)
            Velocity (rad/s, m/s).
        out : ndarray, optional
            Array that receives the result.
        threads : int, optional
            Largest number of threads for a batch.

        Returns
        -------
        rate : ndarray, shape (..., m)
            A v (rad/s, m/s), zero while the constraints hold.

        Examples
        --------
        >>> import fourbar as fb
        >>> robot = fb.robots.double_pendulum()
        >>> held = robot.constrained(fb.constraints.Contact("tip", "touch"))
        >>> held.rate([0.1, 0.2], [1.0, 0.0]).round(4)
        array([0.1681])
        """
    @property
    def jvp(self) -> Jvp[Array]:
        """Rates of the results along tangents of the arguments."""
    @property
    def vjp(self) -> Vjp[ByQV]:
        """Gradients of a weighted sum of the results."""
    @property
    def jacobian(self) -> JacobianOfConstrainedRate:
        """All first derivatives."""

class JacobianOfConstrainedAcceleration(Derivative, Protocol):
    def __call__(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        *,
        parameters: Names | None = None,
        out: Any = None,
        threads: int | None = None,
    ) -> ByQVA:
        """All first derivatives, by argument; columns for a configuration are along its nv velocities."""

class ConstrainedAcceleration(Function, Protocol):
    def __call__(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        *,
        out: Array | None = None,
        threads: int | None = None,
    ) -> Array:
        """Accelerations of the rows.

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Configuration, with its loops closed.
        v : array_like, shape (..., nv)
            Velocity (rad/s, m/s).
        a : array_like, shape (..., nv)
            Acceleration (rad/s², m/s²).
        out : ndarray, optional
            Array that receives the result.
        threads : int, optional
            Largest number of threads for a batch.

        Returns
        -------
        acceleration : ndarray, shape (..., m)
            A a + Ȧ v (rad/s², m/s²).

        Examples
        --------
        >>> import fourbar as fb
        >>> robot = fb.robots.double_pendulum()
        >>> held = robot.constrained(fb.constraints.Contact("tip", "touch"))
        >>> held.acceleration([0.1, 0.2], [1.0, 0.0], [0.0, 0.0]).round(4)
        array([0.8796])
        """
    @property
    def jvp(self) -> Jvp[Array]:
        """Rates of the results along tangents of the arguments."""
    @property
    def vjp(self) -> Vjp[ByQVA]:
        """Gradients of a weighted sum of the results."""
    @property
    def jacobian(self) -> JacobianOfConstrainedAcceleration:
        """All first derivatives."""

class JacobianOfConstrainedOsimInverse(Derivative, Protocol):
    def __call__(
        self,
        q: ArrayLike,
        *,
        parameters: Names | None = None,
        out: Any = None,
        threads: int | None = None,
    ) -> ByQ:
        """All first derivatives, by argument; columns for a configuration are along its nv velocities."""

class ConstrainedOsimInverse(Function, Protocol):
    def __call__(self, q: ArrayLike, *, out: Array | None = None, threads: int | None = None) -> Array:
        """Inverse inertia along the rows.

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Configuration, with its loops closed.
        out : ndarray, optional
            Array that receives the result.
        threads : int, optional
            Largest number of threads for a batch.

        Returns
        -------
        Omega : ndarray, shape (..., m, m)
            Ω = A M⁻¹ Aᵀ, without forming M.

        Examples
        --------
        >>> import fourbar as fb
        >>> robot = fb.robots.double_pendulum()
        >>> held = robot.constrained(fb.constraints.Contact("tip", "touch"))
        >>> held.osim_inverse([0.1, 0.2]).round(4)
        array([[0.5285]])
        """
    @property
    def jvp(self) -> Jvp[Array]:
        """Rates of the results along tangents of the arguments."""
    @property
    def vjp(self) -> Vjp[ByQ]:
        """Gradients of a weighted sum of the results."""
    @property
    def jacobian(self) -> JacobianOfConstrainedOsimInverse:
        """All first derivatives."""

class JacobianOfActuatedInverseDynamics(Derivative, Protocol):
    def __call__(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        f_ext: Wrenches | None = None,
        *,
        parameters: Names | None = None,
        out: Any = None,
        threads: int | None = None,
    ) -> ByQVAFExt:
        """All first derivatives, by argument; columns for a configuration are along its nv velocities."""

class ActuatedInverseDynamics(Function, Protocol):
    def __call__(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        f_ext: Wrenches | None = None,
        *,
        out: Array | None = None,
        threads: int | None = None,
    ) -> Array:
        """Forces of the drives that cause accelerations of the independent velocities.

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Configuration, with its loops closed.
        v : array_like, shape (..., nv)
            Velocity (rad/s, m/s).
        a : array_like, shape (..., nv)
            Acceleration (rad/s², m/s²).
        f_ext : array_like, shape (..., n_bodies, 6), or dict, optional
            Wrench [moment; force] (N m, N) on each body, at its origin and in its axes; or on some bodies,
            ``{"hand": wrench}``.
        out : ndarray, optional
            Array that receives the result.
        threads : int, optional
            Largest number of threads for a batch.

        Returns
        -------
        tau : ndarray, shape (..., n_actuated)
            Forces of the drives (N m, N), those with least τᵀ W τ where there are more than needed.

        Raises
        ------
        SingularError
            If the drives do not hold the robot in this configuration (NaN and a warning in a batch).

        Examples
        --------
        >>> import fourbar as fb
        >>> robot = fb.robots.five_bar().actuated(["left_crank", "right_crank"])
        >>> q = robot.system.neutral()
        >>> robot.inverse_dynamics(q, [0.0, 0.0], [1.0, 0.0]).round(4)
        array([-0.6487,  0.6819])
        """
    @property
    def jvp(self) -> Jvp[Array]:
        """Rates of the results along tangents of the arguments."""
    @property
    def vjp(self) -> Vjp[ByQVAFExt]:
        """Gradients of a weighted sum of the results."""
    @property
    def jacobian(self) -> JacobianOfActuatedInverseDynamics:
        """All first derivatives."""

class JacobianOfActuatedInversePassiveDynamics(Derivative, Protocol):
    def __call__(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        f_ext: Wrenches | None = None,
        friction_velocity: ArrayLike | None = None,
        *,
        parameters: Names | None = None,
        out: Any = None,
        threads: int | None = None,
    ) -> ByQVAFExtFrictionVelocity:
        """All first derivatives, by argument; columns for a configuration are along its nv velocities."""

class ActuatedInversePassiveDynamics(Function, Protocol):
    def __call__(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        f_ext: Wrenches | None = None,
        friction_velocity: ArrayLike | None = None,
        *,
        out: Array | None = None,
        threads: int | None = None,
    ) -> Array:
        """Forces of the drives that cause accelerations besides springs, damping and friction of all joints.

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Configuration, with its loops closed.
        v : array_like, shape (..., nv)
            Velocity (rad/s, m/s).
        a : array_like, shape (..., nv)
            Acceleration (rad/s², m/s²).
        f_ext : array_like, shape (..., n_bodies, 6), or dict, optional
            Wrench [moment; force] (N m, N) on each body, at its origin and in its axes; or on some bodies,
            ``{"hand": wrench}``.
        friction_velocity : array_like, shape (...), optional
            Velocity v_s > 0 (rad/s, m/s) around rest over which dry friction is smoothed: joints with `friction` f then
            rub with -f tanh(v / v_s). Without it there is no dry friction.
        out : ndarray, optional
            Array that receives the result.
        threads : int, optional
            Largest number of threads for a batch.

        Returns
        -------
        tau : ndarray, shape (..., n_actuated)
            Forces of the drives (N m, N), those with least τᵀ W τ where there are more than needed.

        Raises
        ------
        SingularError
            If the drives do not hold the robot in this configuration (NaN and a warning in a batch).

        Examples
        --------
        >>> import fourbar as fb
        >>> linkage = fb.robots.five_bar()
        >>> damped = linkage.with_parameters(joints={"left_crank": {"damping": 2.0}})
        >>> robot = damped.actuated(["left_crank", "right_crank"])
        >>> q, v = linkage.neutral(), [1.0, 0.0]
        >>> (robot.inverse_passive_dynamics(q, v, v) - robot.inverse_dynamics(q, v, v)).round(9)
        array([2., 0.])
        """
    @property
    def jvp(self) -> Jvp[Array]:
        """Rates of the results along tangents of the arguments."""
    @property
    def vjp(self) -> Vjp[ByQVAFExtFrictionVelocity]:
        """Gradients of a weighted sum of the results."""
    @property
    def jacobian(self) -> JacobianOfActuatedInversePassiveDynamics:
        """All first derivatives."""

class JacobianOfActuatedForwardDynamics(Derivative, Protocol):
    def __call__(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike,
        f_ext: Wrenches | None = None,
        *,
        parameters: Names | None = None,
        out: Any = None,
        threads: int | None = None,
    ) -> ByQVTauFExt:
        """All first derivatives, by argument; columns for a configuration are along its nv velocities."""

class ActuatedForwardDynamics(Function, Protocol):
    def __call__(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike,
        f_ext: Wrenches | None = None,
        *,
        out: Array | None = None,
        threads: int | None = None,
    ) -> Array:
        """Accelerations caused by forces of the drives.

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Configuration, with its loops closed.
        v : array_like, shape (..., nv)
            Velocity (rad/s, m/s).
        tau : array_like, shape (..., n_actuated)
            Forces of the drives (N m, N).
        f_ext : array_like, shape (..., n_bodies, 6), or dict, optional
            Wrench [moment; force] (N m, N) on each body, at its origin and in its axes; or on some bodies,
            ``{"hand": wrench}``.
        out : ndarray, optional
            Array that receives the result.
        threads : int, optional
            Largest number of threads for a batch.

        Returns
        -------
        a : ndarray, shape (..., nv)
            Accelerations of the independent velocities (rad/s², m/s²).

        Examples
        --------
        >>> import fourbar as fb
        >>> robot = fb.robots.five_bar().actuated(["left_crank", "right_crank"])
        >>> q = robot.system.neutral()
        >>> robot.forward_dynamics(q, [0.0, 0.0], [1.0, 0.0]).round(4)
        array([ 62.9444, -32.7904])
        """
    @property
    def jvp(self) -> Jvp[Array]:
        """Rates of the results along tangents of the arguments."""
    @property
    def vjp(self) -> Vjp[ByQVTauFExt]:
        """Gradients of a weighted sum of the results."""
    @property
    def jacobian(self) -> JacobianOfActuatedForwardDynamics:
        """All first derivatives."""

class JacobianOfActuatedActuatorMap(Derivative, Protocol):
    def __call__(
        self,
        q: ArrayLike,
        *,
        parameters: Names | None = None,
        out: Any = None,
        threads: int | None = None,
    ) -> ByQ:
        """All first derivatives, by argument; columns for a configuration are along its nv velocities."""

class ActuatedActuatorMap(Function, Protocol):
    def __call__(self, q: ArrayLike, *, out: Array | None = None, threads: int | None = None) -> Array:
        """Matrix that takes the velocity to those of the actuated joints.

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Configuration, with its loops closed.
        out : ndarray, optional
            Array that receives the result.
        threads : int, optional
            Largest number of threads for a batch.

        Returns
        -------
        B : ndarray, shape (..., n_actuated, nv)
            The actuated joints move with B v, and forces τ of the drives make Bᵀ τ on the independent velocities.

        Examples
        --------
        >>> import fourbar as fb
        >>> robot = fb.robots.five_bar().actuated(["left_crank", "right_crank"])
        >>> q = robot.system.neutral()
        >>> robot.actuator_map(q)
        array([[1., 0.],
               [0., 1.]])
        """
    @property
    def jvp(self) -> Jvp[Array]:
        """Rates of the results along tangents of the arguments."""
    @property
    def vjp(self) -> Vjp[ByQ]:
        """Gradients of a weighted sum of the results."""
    @property
    def jacobian(self) -> JacobianOfActuatedActuatorMap:
        """All first derivatives."""

class RobotMethods:
    """The algorithms, as attributes of a robot."""

    @property
    def inverse_dynamics(self) -> InverseDynamics:
        """Joint forces that cause given accelerations (RNEA).

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Configuration, with its loops closed: `robot.check(q, v)` checks them, `robot.assemble(q)` closes them.
        v : array_like, shape (..., nv)
            Velocity (rad/s, m/s).
        a : array_like, shape (..., nv)
            Acceleration (rad/s², m/s²).
        f_ext : array_like, shape (..., n_bodies, 6), or dict, optional
            Wrench [moment; force] (N m, N) on each body, at its origin and in its axes; or on some bodies,
            ``{"hand": wrench}``.
        out : ndarray, optional
            Array that receives the result.
        threads : int, optional
            Largest number of threads for a batch.

        Returns
        -------
        tau : ndarray, shape (..., nv)
            Joint forces (N m, N).

        See Also
        --------
        forward_dynamics : Accelerations caused by joint forces.
        inverse_passive_dynamics : The same with springs and damping of the joints.
        reactions : All six components of the force in every joint.

        Notes
        -----
        τ = M a + C v + g - Σ Jᵀ f_ext, in O(n), of the rigid bodies and armatures alone. For speed q is not checked: where
        loops are open, the result means nothing. `System.check` looks at a state, `System.assemble` closes its loops.

        Examples
        --------
        >>> import fourbar as fb
        >>> robot = fb.robots.double_pendulum()
        >>> robot.inverse_dynamics([0.1, 0.2], [1.0, 0.0], [0.0, 0.0]).round(4)
        array([1.1004, 0.4797])
        """
    @property
    def forward_dynamics(self) -> ForwardDynamics:
        """Accelerations caused by joint forces (ABA).

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Configuration, with its loops closed: `robot.check(q, v)` checks them, `robot.assemble(q)` closes them.
        v : array_like, shape (..., nv)
            Velocity (rad/s, m/s).
        tau : array_like, shape (..., nv)
            Joint forces (N m, N).
        f_ext : array_like, shape (..., n_bodies, 6), or dict, optional
            Wrench [moment; force] (N m, N) on each body, at its origin and in its axes; or on some bodies,
            ``{"hand": wrench}``.
        out : ndarray, optional
            Array that receives the result.
        threads : int, optional
            Largest number of threads for a batch.

        Returns
        -------
        a : ndarray, shape (..., nv)
            Accelerations (rad/s², m/s²).

        See Also
        --------
        inverse_dynamics : Joint forces that cause given accelerations.
        passive_dynamics : The same with springs and damping of the joints.
        hybrid_dynamics : Accelerations of some joints and forces of the others.
        simulate : Motion over time.

        Notes
        -----
        Solves M a + C v + g = τ + Σ Jᵀ f_ext in O(n) without forming M; loops are embedded (Chignoli, Alg. 1). For robots
        with up to 12 independent velocities M is formed and factored where that takes fewer operations (projection,
        Chignoli §II-D). For speed q is not checked: where loops are open, the result means nothing. `System.check` looks at
        a state, `System.assemble` closes its loops.

        Examples
        --------
        >>> import fourbar as fb
        >>> robot = fb.robots.double_pendulum()
        >>> robot.forward_dynamics([0.1, 0.2], [1.0, 0.0], [0.0, 0.0]).round(4)
        array([  1.8735, -16.5602])

        Leading axes are batches; they broadcast.

        >>> import numpy as np
        >>> robot.forward_dynamics(np.zeros((1000, 2)), np.zeros(2), np.zeros(2)).shape
        (1000, 2)

        Derivatives are attributes of the function.

        >>> robot.forward_dynamics.jacobian([0.1, 0.2], [1.0, 0.0], [0.0, 0.0]).tau.shape
        (2, 2)
        """
    @property
    def hybrid_dynamics(self) -> HybridDynamics:
        """All accelerations and joint forces, where some accelerations and the other forces are given.

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
        f_ext : array_like, shape (..., n_bodies, 6), or dict, optional
            Wrench [moment; force] (N m, N) on each body, at its origin and in its axes; or on some bodies,
            ``{"hand": wrench}``.
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

        See Also
        --------
        forward_dynamics : No acceleration is given.
        inverse_dynamics : All accelerations are given.

        Notes
        -----
        The rows of M a + C v + g = τ + Σ Jᵀ f_ext are solved for what is not given in O(n) (Kim, Table 4).

        Examples
        --------
        >>> import fourbar as fb
        >>> robot = fb.robots.double_pendulum()
        >>> a, tau = robot.hybrid_dynamics([0.1, 0.2], [0.0, 0.0], [2.0, 0.0], [0.0, 0.0], prescribed=["shoulder"])
        >>> a.round(3), tau.round(3)
        (array([  2.   , -16.547]), array([0.063, 0.   ]))
        """
    @property
    def bias_force(self) -> BiasForce:
        """Joint forces at acceleration zero: Coriolis, centrifugal and gravity forces.

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Configuration, with its loops closed.
        v : array_like, shape (..., nv)
            Velocity (rad/s, m/s).
        f_ext : array_like, shape (..., n_bodies, 6), or dict, optional
            Wrench [moment; force] (N m, N) on each body, at its origin and in its axes; or on some bodies,
            ``{"hand": wrench}``.
        out : ndarray, optional
            Array that receives the result.
        threads : int, optional
            Largest number of threads for a batch.

        Returns
        -------
        tau : ndarray, shape (..., nv)
            C v + g - Σ Jᵀ f_ext (N m, N), also called nonlinear effects.

        See Also
        --------
        gravity_force : g alone.
        coriolis_force : C v alone.

        Examples
        --------
        >>> import fourbar as fb
        >>> robot = fb.robots.double_pendulum()
        >>> robot.bias_force([0.1, 0.2], [1.0, 0.0]).round(4)
        array([1.1004, 0.4797])
        """
    @property
    def gravity_force(self) -> GravityForce:
        """Joint forces that hold the robot still against gravity.

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Configuration, with its loops closed.
        out : ndarray, optional
            Array that receives the result.
        threads : int, optional
            Largest number of threads for a batch.

        Returns
        -------
        tau : ndarray, shape (..., nv)
            g(q) = ∂U/∂q (N m, N), with the potential energy U.

        See Also
        --------
        potential_energy : The energy of which this is the gradient.
        bias_force : With Coriolis and centrifugal forces.

        Examples
        --------
        >>> import fourbar as fb
        >>> robot = fb.robots.double_pendulum()
        >>> robot.gravity_force([0.1, 0.2]).round(4)
        array([1.1004, 0.4638])
        """
    @property
    def mass_matrix(self) -> MassMatrix:
        """Mass matrix, symmetric and full (CRBA).

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Configuration, with its loops closed.
        out : ndarray, optional
            Array that receives the result.
        threads : int, optional
            Largest number of threads for a batch.

        Returns
        -------
        M : ndarray, shape (..., nv, nv)
            Mass matrix (kg m², kg m, kg), with armatures on its diagonal.

        See Also
        --------
        inverse_mass_matrix : The inverse.
        solve_mass_matrix : M⁻¹ b.
        mass_matrix_rate : Its rate.

        Notes
        -----
        With loops M = Gᵀ M_tree G, with the `loop_map` G and the mass matrix M_tree of the spanning tree.

        Examples
        --------
        >>> import fourbar as fb
        >>> robot = fb.robots.double_pendulum()
        >>> robot.mass_matrix([0.1, 0.2]).round(4)
        array([[0.4828, 0.1211],
               [0.1211, 0.0427]])
        """
    @property
    def inverse_mass_matrix(self) -> InverseMassMatrix:
        """Inverse of the mass matrix.

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Configuration, with its loops closed.
        out : ndarray, optional
            Array that receives the result.
        threads : int, optional
            Largest number of threads for a batch.

        Returns
        -------
        M_inverse : ndarray, shape (..., nv, nv)
            M⁻¹ (1/(kg m²), 1/(kg m), 1/kg), in O(n²) for large robots.

        See Also
        --------
        mass_matrix : The mass matrix.
        solve_mass_matrix : Its product with one vector, in O(n).

        Examples
        --------
        >>> import fourbar as fb
        >>> robot = fb.robots.double_pendulum()
        >>> (robot.inverse_mass_matrix([0.1, 0.2]) @ robot.mass_matrix([0.1, 0.2])).round(9)
        array([[1., 0.],
               [0., 1.]])
        """
    @property
    def solve_mass_matrix(self) -> SolveMassMatrix:
        """Solution x of M x = b.

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Configuration, with its loops closed.
        b : array_like, shape (..., nv)
            Right-hand side: joint forces (N m, N).
        out : ndarray, optional
            Array that receives the result.
        threads : int, optional
            Largest number of threads for a batch.

        Returns
        -------
        x : ndarray, shape (..., nv)
            M⁻¹ b (rad/s², m/s²), in O(n) for large robots.

        See Also
        --------
        inverse_mass_matrix : The whole matrix M⁻¹.

        Examples
        --------
        >>> import fourbar as fb
        >>> robot = fb.robots.double_pendulum()
        >>> robot.solve_mass_matrix([0.1, 0.2], [1.0, 0.0]).round(4)
        array([  7.1811, -20.3774])
        """
    @property
    def coriolis_matrix(self) -> CoriolisMatrix:
        """Coriolis matrix, the one of the Christoffel symbols.

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Configuration, with its loops closed.
        v : array_like, shape (..., nv)
            Velocity (rad/s, m/s).
        out : ndarray, optional
            Array that receives the result.
        threads : int, optional
            Largest number of threads for a batch.

        Returns
        -------
        C : ndarray, shape (..., nv, nv)
            Coriolis matrix (kg m²/s, kg m/s, kg/s).

        See Also
        --------
        coriolis_force : C v, in O(n).
        christoffel : The symbols of which it is made.
        mass_matrix_rate : Ṁ = C + Cᵀ.

        Notes
        -----
        C_ij = Σ_k Γ_ijk v_k, also for velocities that are not rates of coordinates, so that Ṁ - 2 C is skew-symmetric and
        C v + g is the `bias_force`. With loops C = Gᵀ (C_tree G + M_tree Ġ).

        Examples
        --------
        >>> import fourbar as fb
        >>> robot = fb.robots.double_pendulum()
        >>> C = robot.coriolis_matrix([0.1, 0.2], [1.0, 0.5])
        >>> C.round(4)
        array([[-0.0079, -0.0238],
               [ 0.0159,  0.    ]])
        """
    @property
    def mass_matrix_rate(self) -> MassMatrixRate:
        """Rate of the mass matrix as the robot moves.

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Configuration, with its loops closed.
        v : array_like, shape (..., nv)
            Velocity (rad/s, m/s).
        out : ndarray, optional
            Array that receives the result.
        threads : int, optional
            Largest number of threads for a batch.

        Returns
        -------
        M_rate : ndarray, shape (..., nv, nv)
            Ṁ = C + Cᵀ (kg m²/s, kg m/s, kg/s).

        See Also
        --------
        mass_matrix : The mass matrix.
        coriolis_matrix : The Coriolis matrix C.

        Examples
        --------
        >>> import fourbar as fb
        >>> robot = fb.robots.double_pendulum()
        >>> robot.mass_matrix_rate([0.1, 0.2], [1.0, 0.5]).round(4)
        array([[-0.0159, -0.0079],
               [-0.0079,  0.    ]])
        """
    @property
    def coriolis_force(self) -> CoriolisForce:
        """Coriolis and centrifugal forces.

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Configuration, with its loops closed.
        v : array_like, shape (..., nv)
            Velocity (rad/s, m/s).
        out : ndarray, optional
            Array that receives the result.
        threads : int, optional
            Largest number of threads for a batch.

        Returns
        -------
        tau : ndarray, shape (..., nv)
            C v (N m, N): the `bias_force` without gravity and external wrenches.

        See Also
        --------
        coriolis_matrix : The matrix C.
        bias_force : With gravity.

        Examples
        --------
        >>> import fourbar as fb
        >>> robot = fb.robots.double_pendulum()
        >>> robot.coriolis_force([0.1, 0.2], [1.0, 0.5]).round(4)
        array([-0.0199,  0.0159])
        """
    @property
    def christoffel(self) -> Christoffel:
        """Christoffel symbols of the first kind of the mass matrix.

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Configuration, with its loops closed.
        out : ndarray, optional
            Array that receives the result.
        threads : int, optional
            Largest number of threads for a batch.

        Returns
        -------
        Gamma : ndarray, shape (..., nv, nv, nv)
            Γ_ijk (kg m², kg m, kg) with C_ij = Σ_k Γ_ijk v_k.

        See Also
        --------
        coriolis_matrix : Their sum with the velocities.

        Notes
        -----
        Where v = q̇, Γ_ijk = ½ (∂_k M_ij + ∂_j M_ik - ∂_i M_jk), symmetric in j and k. For velocities that are not rates of
        coordinates (spherical and free joints) they are the symbols in the frame of these velocities, with brackets.

        Examples
        --------
        >>> import fourbar as fb
        >>> robot = fb.robots.double_pendulum()
        >>> robot.christoffel([0.1, 0.2])[0].round(4)
        array([[ 0.    , -0.0159],
               [-0.0159, -0.0159]])
        """
    @property
    def kinetic_energy(self) -> KineticEnergy:
        """Kinetic energy ½ vᵀ M v.

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Configuration, with its loops closed.
        v : array_like, shape (..., nv)
            Velocity (rad/s, m/s).
        out : ndarray, optional
            Array that receives the result.
        threads : int, optional
            Largest number of threads for a batch.

        Returns
        -------
        energy : float or ndarray, shape (...)
            Kinetic energy (J), with that of armatures.

        See Also
        --------
        potential_energy : The energy in gravity.
        spring_energy : The energy in springs of the joints.

        Examples
        --------
        >>> import fourbar as fb
        >>> robot = fb.robots.double_pendulum()
        >>> float(robot.kinetic_energy([0.1, 0.2], [1.0, 0.0]).round(4))
        0.2414
        """
    @property
    def potential_energy(self) -> PotentialEnergy:
        """Potential energy in gravity.

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Configuration, with its loops closed.
        out : ndarray, optional
            Array that receives the result.
        threads : int, optional
            Largest number of threads for a batch.

        Returns
        -------
        energy : float or ndarray, shape (...)
            Potential energy (J), zero where every mass is at the height of the origin of the world.

        See Also
        --------
        gravity_force : Its gradient.
        kinetic_energy : The energy of motion.
        spring_energy : The energy in springs of the joints.

        Examples
        --------
        >>> import fourbar as fb
        >>> robot = fb.robots.double_pendulum()
        >>> float(robot.potential_energy([0.1, 0.2]).round(4))
        -7.8441
        """
    @property
    def center_of_mass(self) -> CenterOfMass:
        """Centre of mass of all moving bodies.

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Configuration, with its loops closed.
        out : ndarray, optional
            Array that receives the result.
        threads : int, optional
            Largest number of threads for a batch.

        Returns
        -------
        position : ndarray, shape (..., 3)
            Position (m) in the world.

        See Also
        --------
        center_of_mass_jacobian : Its velocity is J v.

        Examples
        --------
        >>> import fourbar as fb
        >>> robot = fb.robots.double_pendulum()
        >>> robot.center_of_mass([0.1, 0.2]).round(4)
        array([-0.0623,  0.    , -0.4442])
        """
    @property
    def center_of_mass_jacobian(self) -> CenterOfMassJacobian:
        """Jacobian of the centre of mass.

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Configuration, with its loops closed.
        out : ndarray, optional
            Array that receives the result.
        threads : int, optional
            Largest number of threads for a batch.

        Returns
        -------
        J : ndarray, shape (..., 3, nv)
            The velocity (m/s) of the centre of mass, in world axes, is J v.

        See Also
        --------
        center_of_mass : The centre of mass itself.
        momentum_matrix : Linear and angular momentum.

        Examples
        --------
        >>> import fourbar as fb
        >>> robot = fb.robots.double_pendulum()
        >>> robot.center_of_mass_jacobian([0.1, 0.2]).round(4)
        array([[-0.4442, -0.0849],
               [ 0.    ,  0.    ],
               [ 0.0623,  0.0263]])
        """
    @property
    def momentum(self) -> Momentum:
        """Angular and linear momentum of all moving bodies.

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Configuration, with its loops closed.
        v : array_like, shape (..., nv)
            Velocity (rad/s, m/s).
        about : {'com', 'world'}, default 'com'
            Point about which the angular momentum is taken: the centre of mass, or the origin of the world.
        out : ndarray, optional
            Array that receives the result.
        threads : int, optional
            Largest number of threads for a batch.

        Returns
        -------
        h : ndarray, shape (..., 6)
            Momentum [angular; linear] (kg m²/s, kg m/s), in world axes.

        See Also
        --------
        momentum_matrix : The matrix A in h = A v.

        Examples
        --------
        >>> import fourbar as fb
        >>> robot = fb.robots.double_pendulum()
        >>> robot.momentum([0.1, 0.2], [1.0, 0.0], about="world").round(4)
        array([ 0.    ,  0.4828,  0.    , -0.7996,  0.    ,  0.1122])
        """
    @property
    def momentum_matrix(self) -> MomentumMatrix:
        """Matrix that takes the velocity to the momentum.

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Configuration, with its loops closed.
        about : {'com', 'world'}, default 'com'
            Point about which the angular momentum is taken: the centre of mass, which makes A the centroidal momentum
            matrix, or the origin of the world.
        out : ndarray, optional
            Array that receives the result.
        threads : int, optional
            Largest number of threads for a batch.

        Returns
        -------
        A : ndarray, shape (..., 6, nv)
            The `momentum` [angular; linear] in world axes is A v.

        See Also
        --------
        momentum : The momentum itself.
        centroidal_matrix : The same about the centre of mass, without options.

        Examples
        --------
        >>> import fourbar as fb
        >>> robot = fb.robots.double_pendulum()
        >>> robot.momentum_matrix([0.1, 0.2], about="world").shape
        (6, 2)
        """
    @property
    def centroidal_matrix(self) -> CentroidalMatrix:
        """Centroidal momentum matrix.

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Configuration, with its loops closed.
        out : ndarray, optional
            Array that receives the result.
        threads : int, optional
            Largest number of threads for a batch.

        Returns
        -------
        A : ndarray, shape (..., 6, nv)
            The momentum [angular; linear] about the centre of mass, in world axes, is A v.

        See Also
        --------
        momentum_matrix : About the origin of the world too.

        Examples
        --------
        >>> import fourbar as fb
        >>> robot = fb.robots.double_pendulum()
        >>> robot.centroidal_matrix([0.1, 0.2]).round(4)[1]
        array([0.1206, 0.0502])
        """
    @property
    def pose(self) -> Pose:
        """Pose of a frame or body in the world.

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Configuration, with its loops closed.
        frame : str
            Name of a frame or body.
        out : ndarray, optional
            Array that receives the result.
        threads : int, optional
            Largest number of threads for a batch.

        Returns
        -------
        T : ndarray, shape (..., 4, 4)
            Homogeneous matrix [[R, p], [0, 1]]: rotation from the axes of the frame to those of the world, and position
            (m).

        See Also
        --------
        poses : Poses of all bodies.
        velocity : Velocity of a frame.

        Examples
        --------
        >>> import fourbar as fb
        >>> robot = fb.robots.double_pendulum()
        >>> robot.pose([0.1, 0.2], "tip").round(3)
        array([[ 0.955,  0.   ,  0.296, -0.168],
               [ 0.   ,  1.   ,  0.   ,  0.   ],
               [-0.296,  0.   ,  0.955, -0.88 ],
               [ 0.   ,  0.   ,  0.   ,  1.   ]])
        """
    @property
    def poses(self) -> Poses:
        """Poses of all bodies in the world.

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Configuration, with its loops closed.
        out : ndarray, optional
            Array that receives the result.
        threads : int, optional
            Largest number of threads for a batch.

        Returns
        -------
        T : ndarray, shape (..., n_bodies, 4, 4)
            Homogeneous matrices [[R, p], [0, 1]] in the order of `names.bodies`, positions in m.

        See Also
        --------
        pose : Pose of one frame or body.

        Examples
        --------
        >>> import fourbar as fb
        >>> robot = fb.robots.double_pendulum()
        >>> robot.poses([0.1, 0.2]).shape
        (2, 4, 4)
        """
    @property
    def velocity(self) -> Velocity:
        """Velocity of a frame or body.

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Configuration, with its loops closed.
        v : array_like, shape (..., nv)
            Velocity (rad/s, m/s).
        frame : str
            Name of a frame or body.
        at : {'origin', 'world'} or array_like, shape (3,), default 'origin'
            Point of the body whose motion is meant: the origin of the frame, the point that passes the origin of the
            world, or a point (m) in the axes of the frame.
        expressed_in : str, default 'world'
            Axes of the result: 'world', 'frame' (those of the frame itself), or the name of another frame or body.
        out : ndarray, optional
            Array that receives the result.
        threads : int, optional
            Largest number of threads for a batch.

        Returns
        -------
        velocity : ndarray, shape (..., 6)
            [angular; linear] (rad/s, m/s).

        See Also
        --------
        jacobian : The matrix J in J v.
        acceleration : Its rate.
        twists : Twists of all bodies, in their own axes.

        Examples
        --------
        >>> import fourbar as fb
        >>> robot = fb.robots.double_pendulum()
        >>> robot.velocity([0.1, 0.2], [1.0, 0.0], "tip").round(4)
        array([ 0.    ,  1.    ,  0.    , -0.8796,  0.    ,  0.1681])
        >>> robot.velocity([0.1, 0.2], [1.0, 0.0], "tip", expressed_in="frame").round(4)
        array([ 0.    ,  1.    ,  0.    , -0.89  ,  0.    , -0.0993])
        """
    @property
    def acceleration(self) -> Acceleration:
        """Acceleration of a frame or body.

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Configuration, with its loops closed.
        v : array_like, shape (..., nv)
            Velocity (rad/s, m/s).
        a : array_like, shape (..., nv)
            Acceleration (rad/s², m/s²).
        frame : str
            Name of a frame or body.
        at : {'origin', 'world'} or array_like, shape (3,), default 'origin'
            Point of the body whose motion is meant: the origin of the frame, the point that passes the origin of the
            world, or a point (m) in the axes of the frame.
        expressed_in : str, default 'world'
            Axes of the result: 'world', 'frame' (those of the frame itself), or the name of another frame or body.
        out : ndarray, optional
            Array that receives the result.
        threads : int, optional
            Largest number of threads for a batch.

        Returns
        -------
        acceleration : ndarray, shape (..., 6)
            [angular; linear] (rad/s², m/s²): J a + J̇ v, the component-wise rate of the `velocity`. Gravity is not
            included.

        See Also
        --------
        jacobian_rate : J̇ v alone.

        Notes
        -----
        In world axes this is the ordinary acceleration of the point.

        Examples
        --------
        >>> import fourbar as fb
        >>> robot = fb.robots.double_pendulum()
        >>> robot.acceleration([0.1, 0.2], [1.0, 0.0], [0.0, 0.0], "tip").round(4)
        array([0.    , 0.    , 0.    , 0.1681, 0.    , 0.8796])
        """
    @property
    def jacobian(self) -> Jacobian:
        """Jacobian of a frame or body.

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Configuration, with its loops closed.
        frame : str
            Name of a frame or body.
        at : {'origin', 'world'} or array_like, shape (3,), default 'origin'
            Point of the body whose motion is meant: the origin of the frame, the point that passes the origin of the
            world, or a point (m) in the axes of the frame.
        expressed_in : str, default 'world'
            Axes of the result: 'world', 'frame' (those of the frame itself), or the name of another frame or body.
        out : ndarray, optional
            Array that receives the result.
        threads : int, optional
            Largest number of threads for a batch.

        Returns
        -------
        J : ndarray, shape (..., 6, nv)
            The `velocity` [angular; linear] of the frame is J v, with the same `at` and `expressed_in`.

        See Also
        --------
        jacobians : Jacobians of all bodies.
        jacobian_rate : J̇ v.

        Examples
        --------
        >>> import fourbar as fb
        >>> robot = fb.robots.double_pendulum()
        >>> robot.jacobian([0.1, 0.2], "tip").round(4)[3:]
        array([[-0.8796, -0.3821],
               [ 0.    ,  0.    ],
               [ 0.1681,  0.1182]])
        """
    @property
    def jacobian_rate(self) -> JacobianRate:
        """Rate of the Jacobian of a frame, times the velocity.

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Configuration, with its loops closed.
        v : array_like, shape (..., nv)
            Velocity (rad/s, m/s).
        frame : str
            Name of a frame or body.
        at : {'origin', 'world'} or array_like, shape (3,), default 'origin'
            Point of the body whose motion is meant: the origin of the frame, the point that passes the origin of the
            world, or a point (m) in the axes of the frame.
        expressed_in : str, default 'world'
            Axes of the result: 'world', 'frame' (those of the frame itself), or the name of another frame or body.
        out : ndarray, optional
            Array that receives the result.
        threads : int, optional
            Largest number of threads for a batch.

        Returns
        -------
        Jdot_v : ndarray, shape (..., 6)
            J̇ v (rad/s², m/s²): the `acceleration` of the frame where a = 0.

        See Also
        --------
        jacobian : The Jacobian J.
        acceleration : J a + J̇ v.

        Examples
        --------
        >>> import fourbar as fb
        >>> robot = fb.robots.double_pendulum()
        >>> robot.jacobian_rate([0.1, 0.2], [1.0, 0.0], "tip").round(4)
        array([0.    , 0.    , 0.    , 0.1681, 0.    , 0.8796])
        """
    @property
    def twists(self) -> Twists:
        """Twists of all bodies.

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Configuration, with its loops closed.
        v : array_like, shape (..., nv)
            Velocity (rad/s, m/s).
        out : ndarray, optional
            Array that receives the result.
        threads : int, optional
            Largest number of threads for a batch.

        Returns
        -------
        V : ndarray, shape (..., n_bodies, 6)
            [angular; linear] (rad/s, m/s) of the origin of each body, in the axes of the body.

        See Also
        --------
        velocity : Velocity of one frame, at any point and in any axes.
        jacobians : The matrices J in J v.

        Examples
        --------
        >>> import fourbar as fb
        >>> robot = fb.robots.double_pendulum()
        >>> robot.twists([0.1, 0.2], [1.0, 0.0]).round(4)
        array([[ 0.    ,  1.    ,  0.    ,  0.    ,  0.    ,  0.    ],
               [ 0.    ,  1.    ,  0.    , -0.49  ,  0.    , -0.0993]])
        """
    @property
    def jacobians(self) -> Jacobians:
        """Jacobians of all bodies.

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Configuration, with its loops closed.
        out : ndarray, optional
            Array that receives the result.
        threads : int, optional
            Largest number of threads for a batch.

        Returns
        -------
        J : ndarray, shape (..., n_bodies, 6, nv)
            The `twists` of the bodies are J v.

        See Also
        --------
        jacobian : Jacobian of one frame, at any point and in any axes.

        Examples
        --------
        >>> import fourbar as fb
        >>> robot = fb.robots.double_pendulum()
        >>> robot.jacobians([0.1, 0.2]).shape
        (2, 6, 2)
        """
    @property
    def generalized_force(self) -> GeneralizedForce:
        """Joint forces that do the work of wrenches on bodies.

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Configuration, with its loops closed.
        f_ext : array_like, shape (..., n_bodies, 6), or dict
            Wrench [moment; force] (N m, N) on each body, at its origin and in its axes; or on some bodies,
            ``{"hand": wrench}``.
        out : ndarray, optional
            Array that receives the result.
        threads : int, optional
            Largest number of threads for a batch.

        Returns
        -------
        tau : ndarray, shape (..., nv)
            Σ Jᵀ f_ext (N m, N).

        See Also
        --------
        jacobians : The matrices J.

        Examples
        --------
        >>> import fourbar as fb
        >>> robot = fb.robots.double_pendulum()
        >>> robot.generalized_force([0.1, 0.2], [[0, 0, 0, 0, 0, 0], [0, 0, 0, 1.0, 0, 0]]).round(4)
        array([-0.49,  0.  ])
        """
    @property
    def actuator_force(self) -> ActuatorForce:
        """Joint forces made by the actuators.

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Configuration, with its loops closed.
        u : array_like, shape (..., n_actuators)
            Forces of the actuators (N m, N), in the order of `names.actuators`.
        out : ndarray, optional
            Array that receives the result.
        threads : int, optional
            Largest number of threads for a batch.

        Returns
        -------
        tau : ndarray, shape (..., nv)
            τ = Bᵀ u (N m, N) on the independent velocities, with the `actuator_matrix` B.

        Raises
        ------
        ArgumentError
            If the robot has no actuators.

        See Also
        --------
        actuator_matrix : The matrix B.
        System.actuated : Dynamics in the forces of actuated joints.

        Notes
        -----
        In a loop an actuator may be on any joint.

        Examples
        --------
        >>> import fourbar as fb
        >>> b = fb.Builder("geared")
        >>> _ = b.body("arm", joint=fb.joints.Revolute("y"), mass=1.0, com=(0, 0, -0.3), inertia=(0.01, 0.01, 0.01))
        >>> robot = b.actuator("motor", drives="arm", gear=9.0).build()
        >>> robot.actuator_force([0.0], [2.0])
        array([18.])
        """
    @property
    def actuator_matrix(self) -> ActuatorMatrix:
        """Matrix that takes the velocity to the velocities of the actuators.

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Configuration, with its loops closed.
        out : ndarray, optional
            Array that receives the result.
        threads : int, optional
            Largest number of threads for a batch.

        Returns
        -------
        B : ndarray, shape (..., n_actuators, nv)
            The actuators move with B v, and their forces u make the joint forces τ = Bᵀ u.

        Raises
        ------
        ArgumentError
            If the robot has no actuators.

        See Also
        --------
        actuator_force : The product Bᵀ u.

        Examples
        --------
        >>> import fourbar as fb
        >>> b = fb.Builder("geared")
        >>> _ = b.body("arm", joint=fb.joints.Revolute("y"), mass=1.0, com=(0, 0, -0.3), inertia=(0.01, 0.01, 0.01))
        >>> robot = b.actuator("motor", drives="arm", gear=9.0).build()
        >>> robot.actuator_matrix([0.0])
        array([[9.]])
        """
    @property
    def actuator_length(self) -> ActuatorLength:
        """Lengths of the actuators.

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Configuration, with its loops closed.
        out : ndarray, optional
            Array that receives the result.
        threads : int, optional
            Largest number of threads for a batch.

        Returns
        -------
        length : ndarray, shape (..., nu)
            Σ gear · coordinates of the joints that an actuator moves (rad, m).

        Raises
        ------
        ArgumentError
            If the robot has no actuators.

        See Also
        --------
        actuator_matrix : Velocities of the actuators.
        control_response : Forces of the actuators, which may depend on their lengths.

        Notes
        -----
        The coordinates of a spherical joint are its rotation vector, those of others on a group q ⊖ neutral. On a free
        joint an actuator has the length zero, as in MuJoCo.

        Examples
        --------
        >>> import fourbar as fb
        >>> b = fb.Builder("geared")
        >>> _ = b.body("arm", joint=fb.joints.Revolute("y"), mass=1.0, com=(0, 0, -0.3), inertia=(0.01, 0.01, 0.01))
        >>> robot = b.position_servo("servo", drives="arm", gear=2.0, kp=5.0, kd=0.5).build()
        >>> robot.actuator_length([0.25])
        array([0.5])
        """
    @property
    def control_response(self) -> ControlResponse:
        """Forces of the actuators at their controls.

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Configuration, with its loops closed.
        v : array_like, shape (..., nv)
            Velocity (rad/s, m/s).
        u : array_like, shape (..., nu)
            Controls of the actuators, in the order of `names.actuators`: those of a motor are forces (N m, N), those of
            servos lengths (rad, m) or velocities (rad/s, m/s).
        out : ndarray, optional
            Array that receives the result.
        threads : int, optional
            Largest number of threads for a batch.

        Returns
        -------
        force : ndarray, shape (..., nu)
            Forces of the actuators before their gears (N m, N), within their control and force ranges.

        Raises
        ------
        ArgumentError
            If the robot has no actuators, or one of a kind that has a state of its own.

        See Also
        --------
        control_force : Joint forces made of these.
        Builder.actuator : What a force depends on.

        Notes
        -----
        force = (g₀ + g₁ length + g₂ velocity) u + b₀ + b₁ length + b₂ velocity: gain · u of a motor,
        kp (u - length) - kd velocity of a position servo, kv (u - velocity) of a velocity servo.

        Examples
        --------
        >>> import fourbar as fb
        >>> b = fb.Builder("geared")
        >>> _ = b.body("arm", joint=fb.joints.Revolute("y"), mass=1.0, com=(0, 0, -0.3), inertia=(0.01, 0.01, 0.01))
        >>> robot = b.position_servo("servo", drives="arm", gear=2.0, kp=5.0, kd=0.5).build()
        >>> robot.control_response([0.25], [0.0], [1.0])
        array([2.5])
        """
    @property
    def control_force(self) -> ControlForce:
        """Joint forces made by the actuators at their controls.

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Configuration, with its loops closed.
        v : array_like, shape (..., nv)
            Velocity (rad/s, m/s).
        u : array_like, shape (..., nu)
            Controls of the actuators, in the order of `names.actuators`: those of a motor are forces (N m, N), those of
            servos lengths (rad, m) or velocities (rad/s, m/s).
        out : ndarray, optional
            Array that receives the result.
        threads : int, optional
            Largest number of threads for a batch.

        Returns
        -------
        tau : ndarray, shape (..., nv)
            Forces on the independent velocities (N m, N).

        Raises
        ------
        ArgumentError
            If the robot has no actuators, or one of a kind that has a state of its own.

        See Also
        --------
        control_response : Forces of the actuators.
        control_gains : How these forces change with q and v.
        passive_forces : Springs and damping, which act besides.

        Notes
        -----
        τ = Gᵀ Bᵀ f with f the `control_response`. On each joint the sum is held between its `min_force` and `max_force`,
        also on one that loops determine.

        Examples
        --------
        >>> import fourbar as fb
        >>> b = fb.Builder("geared")
        >>> _ = b.body("arm", joint=fb.joints.Revolute("y"), mass=1.0, com=(0, 0, -0.3), inertia=(0.01, 0.01, 0.01))
        >>> robot = b.position_servo("servo", drives="arm", gear=2.0, kp=5.0, kd=0.5).build()
        >>> robot.control_force([0.25], [0.0], [1.0])
        array([5.])
        """
    @property
    def control_gains(self) -> ControlGains:
        """Stiffness and damping that the actuators add to the joints.

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Configuration, with its loops closed.
        v : array_like, shape (..., nv)
            Velocity (rad/s, m/s).
        u : array_like, shape (..., nu)
            Controls of the actuators, in the order of `names.actuators`: those of a motor are forces (N m, N), those of
            servos lengths (rad, m) or velocities (rad/s, m/s).
        out : tuple of ndarray, optional
            Arrays that receive the results.
        threads : int, optional
            Largest number of threads for a batch.

        Returns
        -------
        stiffness : ndarray, shape (..., nv, nv)
            K = -∂τ/∂q of the `control_force` τ (N m/rad, N/m).
        damping : ndarray, shape (..., nv, nv)
            D = -∂τ/∂v (N m s/rad, N s/m).

        Raises
        ------
        ArgumentError
            If the robot has no actuators, or one of a kind that has a state of its own.

        See Also
        --------
        control_force : The forces.

        Notes
        -----
        K = Bᵀ diag(k) B and D = Bᵀ diag(d) B with the slopes k, d of the actuators' laws (kp and kd of a servo), zero for
        what is at an end of its range; how B itself changes is left out, so both are symmetric. A step that is implicit in
        the servos solves (M + dt D + dt² K) Δv = dt (τ - h - dt K v).

        Examples
        --------
        >>> import fourbar as fb
        >>> b = fb.Builder("geared")
        >>> _ = b.body("arm", joint=fb.joints.Revolute("y"), mass=1.0, com=(0, 0, -0.3), inertia=(0.01, 0.01, 0.01))
        >>> robot = b.position_servo("servo", drives="arm", gear=2.0, kp=5.0, kd=0.5).build()
        >>> K, D = robot.control_gains([0.25], [0.0], [1.0])
        >>> K, D
        (array([[20.]]), array([[2.]]))
        """
    @property
    def passive_forces(self) -> PassiveForces:
        """Forces of springs and viscous damping in the joints, of gravity compensation, drag and currents.

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Configuration, with its loops closed.
        v : array_like, shape (..., nv)
            Velocity (rad/s, m/s).
        out : ndarray, optional
            Array that receives the result.
        threads : int, optional
            Largest number of threads for a batch.

        Returns
        -------
        tau : ndarray, shape (..., nv)
            -stiffness (q - rest) - damping v (N m, N), summed over all joints, also those that are not independent; and
            the joint forces that hold the compensated fraction of the weight of each body, and Σ Jᵀ F of the wrenches F of
            drag and current on bodies in a `Fluid`.

        See Also
        --------
        passive_dynamics : Accelerations with these forces.
        spring_energy : Energy in the springs.
        damping_power : Power taken by damping.

        Notes
        -----
        Springs of spherical and free joints act on the rotation vector from `rest`, those of free joints on the
        displacement too. A body with `gravity_compensation` c is pushed by -c m g at its centre of mass, against gravity g,
        as MuJoCo's `gravcomp` does. Coulomb friction (`friction`) is not included, since it is discontinuous at rest;
        `inverse_passive_dynamics` has it smoothed.

        Examples
        --------
        >>> import fourbar as fb
        >>> robot = fb.robots.double_pendulum()
        >>> sprung = robot.with_parameters(joints={"elbow": {"stiffness": 5.0, "damping": 0.1}})
        >>> sprung.passive_forces([0.1, 0.2], [1.0, 0.5])
        array([ 0.  , -1.05])
        """
    @property
    def passive_dynamics(self) -> PassiveDynamics:
        """Accelerations caused by joint forces with springs, damping, gravity compensation, drag and currents.

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Configuration, with its loops closed.
        v : array_like, shape (..., nv)
            Velocity (rad/s, m/s).
        tau : array_like, shape (..., nv)
            Joint forces (N m, N).
        f_ext : array_like, shape (..., n_bodies, 6), or dict, optional
            Wrench [moment; force] (N m, N) on each body, at its origin and in its axes; or on some bodies,
            ``{"hand": wrench}``.
        out : ndarray, optional
            Array that receives the result.
        threads : int, optional
            Largest number of threads for a batch.

        Returns
        -------
        a : ndarray, shape (..., nv)
            Accelerations (rad/s², m/s²): `forward_dynamics` of τ + `passive_forces`.

        See Also
        --------
        forward_dynamics : The rigid bodies alone.
        inverse_passive_dynamics : The inverse.

        Examples
        --------
        >>> import fourbar as fb
        >>> robot = fb.robots.double_pendulum()
        >>> sprung = robot.with_parameters(joints={"elbow": {"stiffness": 5.0, "damping": 0.1}})
        >>> sprung.passive_dynamics([0.1, 0.2], [0.0, 0.0], [0.0, 0.0]).round(3)
        array([ 21.927, -96.53 ])
        """
    @property
    def inverse_passive_dynamics(self) -> InversePassiveDynamics:
        """Joint forces that, together with springs, damping, drag and dry friction, cause given accelerations.

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Configuration, with its loops closed.
        v : array_like, shape (..., nv)
            Velocity (rad/s, m/s).
        a : array_like, shape (..., nv)
            Acceleration (rad/s², m/s²).
        f_ext : array_like, shape (..., n_bodies, 6), or dict, optional
            Wrench [moment; force] (N m, N) on each body, at its origin and in its axes; or on some bodies,
            ``{"hand": wrench}``.
        friction_velocity : array_like, shape (...), optional
            Velocity v_s > 0 (rad/s, m/s) around rest over which dry friction is smoothed: joints with `friction` f then
            rub with -f tanh(v / v_s). Without it there is no dry friction.
        out : ndarray, optional
            Array that receives the result.
        threads : int, optional
            Largest number of threads for a batch.

        Returns
        -------
        tau : ndarray, shape (..., nv)
            What drives must supply (N m, N): `inverse_dynamics` less `passive_forces`, less dry friction.

        Raises
        ------
        SingularError
            If `friction_velocity` is not positive (NaN and a warning in a batch).

        See Also
        --------
        inverse_dynamics : The rigid bodies alone.
        passive_dynamics : The inverse, without dry friction, which `simulate` follows.

        Examples
        --------
        >>> import fourbar as fb
        >>> robot = fb.robots.double_pendulum()
        >>> sprung = robot.with_parameters(joints={"elbow": {"stiffness": 5.0, "damping": 0.1}})
        >>> sprung.inverse_passive_dynamics([0.1, 0.2], [0.0, 0.0], [0.0, 0.0]).round(3)
        array([1.1  , 1.464])

        Computed torque that compensates dry friction of 0.3 N m, smoothed below 0.05 rad/s:

        >>> rubbing = sprung.with_parameters(joints={"shoulder": {"friction": 0.3}})
        >>> rubbing.inverse_passive_dynamics([0.1, 0.2], [1.0, 0.0], [0.0, 0.0], friction_velocity=0.05).round(3)
        array([1.4  , 1.48 ])
        """
    @property
    def spring_energy(self) -> SpringEnergy:
        """Energy in the springs of the joints, and of gravity compensation.

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Configuration, with its loops closed.
        out : ndarray, optional
            Array that receives the result.
        threads : int, optional
            Largest number of threads for a batch.

        Returns
        -------
        energy : float or ndarray, shape (...)
            ½ Σ stiffness (q - rest)² (J), less the compensated fraction of the potential energy of each body: what
            `passive_forces` of springs and compensation store.

        See Also
        --------
        passive_forces : The forces of the springs.
        potential_energy : The energy in gravity.

        Examples
        --------
        >>> import fourbar as fb
        >>> robot = fb.robots.double_pendulum()
        >>> sprung = robot.with_parameters(joints={"elbow": {"stiffness": 5.0}})
        >>> float(sprung.spring_energy([0.1, 0.2]).round(4))
        0.1
        """
    @property
    def damping_power(self) -> DampingPower:
        """Power taken by viscous damping in the joints, and by drag and currents.

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Configuration, with its loops closed.
        v : array_like, shape (..., nv)
            Velocity (rad/s, m/s).
        out : ndarray, optional
            Array that receives the result.
        threads : int, optional
            Largest number of threads for a batch.

        Returns
        -------
        power : float or ndarray, shape (...)
            Σ damping v² over all joints (W), never negative; and of bodies in a `Fluid` the power that drag takes, and that
            a current takes or gives.

        See Also
        --------
        passive_forces : The forces of the dampers.

        Examples
        --------
        >>> import fourbar as fb
        >>> robot = fb.robots.double_pendulum()
        >>> damped = robot.with_parameters(joints={"elbow": {"damping": 0.1}})
        >>> float(damped.damping_power([0.1, 0.2], [1.0, 0.5]))
        0.025
        """
    @property
    def integrate(self) -> Integrate:
        """Configuration after moving with constant velocity for a time.

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Configuration, with its loops closed.
        v : array_like, shape (..., nv)
            Velocity (rad/s, m/s).
        dt : array_like, shape (...), default 1.0
            Time (s); without it v is the step itself, q ⊕ v.
        out : ndarray, optional
            Array that receives the result.
        threads : int, optional
            Largest number of threads for a batch.

        Returns
        -------
        q : ndarray, shape (..., nq)
            q ⊕ v dt; loops stay closed and quaternions of unit length.

        Raises
        ------
        SingularError
            If the loops cannot be closed after the step (NaN and a warning in a batch).

        See Also
        --------
        difference : The velocity between two configurations.
        simulate : Motion over time.

        Notes
        -----
        On a Lie group q ⊕ δ = q · exp(δ); where v = q̇ this is q + v dt.

        Examples
        --------
        >>> import fourbar as fb
        >>> robot = fb.robots.double_pendulum()
        >>> robot.integrate([0.1, 0.2], [1.0, -1.0], 0.1)
        array([0.2, 0.1])
        """
    @property
    def chart_rate(self) -> ChartRate:
        """Rate of the exponential coordinates of a step.

        Parameters
        ----------
        theta : array_like, shape (..., nv)
            θ in q(t) = q₀ ⊕ θ(t) (rad, m).
        v : array_like, shape (..., nv)
            Velocity (rad/s, m/s).
        out : ndarray, optional
            Array that receives the result.
        threads : int, optional
            Largest number of threads for a batch.

        Returns
        -------
        rate : ndarray, shape (..., nv)
            θ̇ (rad/s, m/s) while q moves with velocity v: what integrators need that step along the group.

        See Also
        --------
        integrate : q ⊕ v dt.

        Notes
        -----
        For a spherical or free joint of a loop of which only a part is independent, θ alone does not determine the rate,
        except at θ = 0; ``difference.jvp((q0, q), (None, v))`` does.

        Examples
        --------
        >>> import fourbar as fb
        >>> robot = fb.robots.double_pendulum()
        >>> robot.chart_rate([0.1, 0.2], [1.0, 0.0])
        array([1., 0.])
        """
    @property
    def difference(self) -> Difference:
        """Velocity that moves one configuration to another in unit time.

        Parameters
        ----------
        q0 : array_like, shape (..., nq)
            Configuration at the start.
        q1 : array_like, shape (..., nq)
            Configuration at the end.
        out : ndarray, optional
            Array that receives the result.
        threads : int, optional
            Largest number of threads for a batch.

        Returns
        -------
        v : ndarray, shape (..., nv)
            q1 ⊖ q0 (rad, m), such that q0 ⊕ v = q1.

        See Also
        --------
        integrate : q ⊕ v dt.

        Examples
        --------
        >>> import fourbar as fb
        >>> robot = fb.robots.double_pendulum()
        >>> robot.difference([0.1, 0.2], [0.3, 0.1]).round(3)
        array([ 0.2, -0.1])
        """
    @property
    def expand(self) -> Expand:
        """Coordinates of all joints of the spanning tree.

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Configuration, with its loops closed.
        out : ndarray, optional
            Array that receives the result.
        threads : int, optional
            Largest number of threads for a batch.

        Returns
        -------
        q : ndarray, shape (..., n_all)
            Coordinates (rad, m) in the order of `names.joints`, fixed joints left out.

        See Also
        --------
        expand_velocity : The velocities of all joints.

        Examples
        --------
        >>> import fourbar as fb
        >>> wrist = fb.robots.differential_wrist()
        >>> wrist.expand([0.1, 0.2]).round(3)
        array([ 0.1,  0.3, -0.1,  0.2])
        """
    @property
    def expand_velocity(self) -> ExpandVelocity:
        """Velocities of all joints of the spanning tree.

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Configuration, with its loops closed.
        v : array_like, shape (..., nv)
            Velocity (rad/s, m/s).
        out : ndarray, optional
            Array that receives the result.
        threads : int, optional
            Largest number of threads for a batch.

        Returns
        -------
        v : ndarray, shape (..., n)
            G v (rad/s, m/s), with the `loop_map` G.

        See Also
        --------
        expand : The coordinates of all joints.
        loop_map : The matrix G.

        Examples
        --------
        >>> import fourbar as fb
        >>> wrist = fb.robots.differential_wrist()
        >>> wrist.expand_velocity([0.1, 0.2], [1.0, 0.0])
        array([1., 1., 1., 0.])
        """
    @property
    def expand_acceleration(self) -> ExpandAcceleration:
        """Accelerations of all joints of the spanning tree.

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Configuration, with its loops closed.
        v : array_like, shape (..., nv)
            Velocity (rad/s, m/s).
        a : array_like, shape (..., nv)
            Acceleration (rad/s², m/s²).
        out : ndarray, optional
            Array that receives the result.
        threads : int, optional
            Largest number of threads for a batch.

        Returns
        -------
        a : ndarray, shape (..., n)
            G a + g (rad/s², m/s²), with the `loop_map` G and the `loop_bias` g.

        See Also
        --------
        expand_velocity : The velocities of all joints.

        Examples
        --------
        >>> import fourbar as fb
        >>> robot = fb.robots.four_bar()
        >>> robot.expand_acceleration(robot.neutral(), [1.0], [0.0]).round(3)
        array([0., 0., 0.])
        """
    @property
    def loop_map(self) -> LoopMap:
        """Matrix that takes the independent velocities to those of the spanning tree.

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Configuration, with its loops closed.
        out : ndarray, optional
            Array that receives the result.
        threads : int, optional
            Largest number of threads for a batch.

        Returns
        -------
        G : ndarray, shape (..., n, nv)
            The n velocities of the spanning tree are G v.

        See Also
        --------
        loop_bias : The accelerations are G a + g.
        loop_jacobian : K with K G = 0.

        Notes
        -----
        q̇ = G ẏ (Chignoli); forces on all joints make Gᵀ τ on the independent velocities.

        Examples
        --------
        >>> import fourbar as fb
        >>> robot = fb.robots.four_bar()
        >>> robot.loop_map(robot.neutral()).round(3)
        array([[ 1.],
               [ 1.],
               [-1.]])
        """
    @property
    def loop_bias(self) -> LoopBias:
        """Accelerations of the spanning tree where the independent accelerations are zero.

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Configuration, with its loops closed.
        v : array_like, shape (..., nv)
            Velocity (rad/s, m/s).
        out : ndarray, optional
            Array that receives the result.
        threads : int, optional
            Largest number of threads for a batch.

        Returns
        -------
        g : ndarray, shape (..., n)
            g = Ġ v (rad/s², m/s²): the accelerations of the spanning tree are G a + g.

        See Also
        --------
        loop_map : The matrix G.

        Examples
        --------
        >>> import fourbar as fb
        >>> robot = fb.robots.four_bar()
        >>> robot.loop_bias(robot.neutral(), [1.0]).round(3)
        array([0., 0., 0.])
        """
    @property
    def osim_inverse(self) -> OsimInverse:
        """Inverse operational-space inertia of one or more frames (PV-OSIMr or EFPA).

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Configuration, with its loops closed.
        frames : sequence of str, optional
            Frames or bodies with six rows each, [angular; linear].
        points : sequence of str, optional
            Frames or bodies with three rows each, the linear ones; they come after `frames`.
        expressed_in : {'world', 'frame'}, default 'world'
            Axes of the rows: those of the world, or of each frame itself.
        out : ndarray, optional
            Array that receives the result.
        threads : int, optional
            Largest number of threads for a batch.

        Returns
        -------
        Omega : ndarray, shape (..., k, k)
            Ω = J M⁻¹ Jᵀ, with the Jacobians of all frames at their origins in J.

        See Also
        --------
        osim : Its inverse.

        Notes
        -----
        Found by propagating unit forces inward (PV-OSIMr, Sathya et al., arXiv 2310.03676, here over clusters) or
        accelerations outward (C-EFPA, Chignoli eq. 61-67), or of robots with up to 12 independent velocities from M
        (projection, Chignoli §II-E): whichever takes fewer operations for this robot and these frames.

        Examples
        --------
        >>> import fourbar as fb
        >>> robot = fb.robots.double_pendulum()
        >>> robot.osim_inverse([0.1, 0.2], points=["tip"]).round(3)
        array([[ 3.723,  0.   , -1.305],
               [ 0.   ,  0.   ,  0.   ],
               [-1.305,  0.   ,  0.529]])
        """
    @property
    def osim(self) -> Osim:
        """Operational-space inertia of one or more frames.

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Configuration, with its loops closed.
        frames : sequence of str, optional
            Frames or bodies with six rows each, [angular; linear].
        points : sequence of str, optional
            Frames or bodies with three rows each, the linear ones; they come after `frames`.
        expressed_in : {'world', 'frame'}, default 'world'
            Axes of the rows: those of the world, or of each frame itself.
        out : ndarray, optional
            Array that receives the result.
        threads : int, optional
            Largest number of threads for a batch.

        Returns
        -------
        Lambda : ndarray, shape (..., k, k)
            Λ = (J M⁻¹ Jᵀ)⁻¹, with the Jacobians of all frames at their origins in J.

        Raises
        ------
        ArgumentError
            If there are more rows than independent velocities.
        SingularError
            If the frames cannot be moved independently in all their rows (NaN and a warning in a batch).

        See Also
        --------
        osim_inverse : Ω = Λ⁻¹, which exists always.

        Examples
        --------
        >>> import fourbar as fb
        >>> robot = fb.robots.delta()
        >>> robot.osim(robot.neutral(), points=["tool"]).shape
        (3, 3)
        """
    @property
    def reactions(self) -> Reactions:
        """Wrenches that bodies receive through their joints.

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Configuration, with its loops closed.
        v : array_like, shape (..., nv)
            Velocity (rad/s, m/s).
        a : array_like, shape (..., nv)
            Acceleration (rad/s², m/s²).
        f_ext : array_like, shape (..., n_bodies, 6), or dict, optional
            Wrench [moment; force] (N m, N) on each body, at its origin and in its axes; or on some bodies,
            ``{"hand": wrench}``.
        out : ndarray, optional
            Array that receives the result.
        threads : int, optional
            Largest number of threads for a batch.

        Returns
        -------
        F : ndarray, shape (..., n_bodies, 6)
            Wrench [moment; force] (N m, N) that each body receives from its parent through its joint, in the frame of the
            body.

        See Also
        --------
        inverse_dynamics : The components along the joint axes.
        System.least_reactions : Where loops hold more than is needed.

        Notes
        -----
        With loops only the independent joints are driven; the forces of loop joints and rods on bodies are accounted for,
        while gears and couplings act as torques in the joints they couple. Where loops hold more than is needed (a planar
        four-bar closed by a hinge in space) rigid bodies do not determine how joints share the load: here rows that others
        imply carry nothing, so that the answer depends on which joint closes the loop.

        Examples
        --------
        >>> import fourbar as fb
        >>> robot = fb.robots.double_pendulum()
        >>> robot.reactions([0.0, 0.0], [0.0, 0.0], [0.0, 0.0])[:, 5].round(3)
        array([17.658,  7.848])
        """
    @property
    def loop_pull(self) -> LoopPull:
        """Wrenches on all bodies of unit forces along the conditions of loops.

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Configuration, with its loops closed.
        out : ndarray, optional
            Array that receives the result.
        threads : int, optional
            Largest number of threads for a batch.

        Returns
        -------
        pull : ndarray, shape (..., m, n_bodies, 6)
            Wrench [moment; force] on each body, in its frame, of a unit force along each condition of each loop, in the
            order of the rows of `loop_jacobian`.

        See Also
        --------
        loop_jacobian : The same on the joints of the spanning tree.

        Examples
        --------
        >>> import fourbar as fb
        >>> robot = fb.robots.four_bar()
        >>> robot.loop_pull(robot.neutral()).shape
        (6, 3, 6)
        """
    @property
    def regressor(self) -> Regressor:
        """Regressor: joint forces are linear in the inertial parameters.

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Configuration, with its loops closed.
        v : array_like, shape (..., nv)
            Velocity (rad/s, m/s).
        a : array_like, shape (..., nv)
            Acceleration (rad/s², m/s²).
        columns : str or sequence of str, default ('inertia', 'armature', 'fluid')
            Kinds of parameters. 'inertia': mass m, first moment m c and rotational inertia J about the origin of each body.
            For each velocity of each joint: 'armature' (multiplies its acceleration), 'damping' (its velocity), 'friction'
            (the sign of its velocity), 'stiffness' (the displacement of its spring from neutral), 'preload' (one). 'fluid':
            of each body in a fluid the factor of its added mass and buoyancy, one as they are.
        packed : bool, default False
            Return only the entries that are not zero at every state, shape (..., n), at the places that `regressor_pattern`
            lists.
        out : ndarray, optional
            Array that receives the result.
        threads : int, optional
            Largest number of threads for a batch.

        Returns
        -------
        Y : ndarray, shape (..., nv, p)
            τ = Y φ, with φ = ``robot.inertial_parameters(columns)``.

        See Also
        --------
        System.inertial_parameters : The parameters φ.
        momentum_regressor : The same for the momentum, without accelerations.
        base_parameters : The combinations of φ on which τ depends.

        Examples
        --------
        >>> import fourbar as fb
        >>> robot = fb.robots.double_pendulum()
        >>> Y = robot.regressor([0.1, 0.2], [1.0, 0.0], [0.0, 0.0])
        >>> (Y @ robot.inertial_parameters()).round(4)
        array([1.1004, 0.4797])
        """
    @property
    def momentum_regressor(self) -> MomentumRegressor:
        """Regressor of the generalized momentum.

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Configuration, with its loops closed.
        v : array_like, shape (..., nv)
            Velocity (rad/s, m/s).
        columns : str or sequence of str, default ('inertia', 'armature', 'fluid')
            Kinds of parameters, see `System.regressor`.
        out : ndarray, optional
            Array that receives the result.
        threads : int, optional
            Largest number of threads for a batch.

        Returns
        -------
        Y : ndarray, shape (..., nv, p)
            M v = Y φ, with φ = ``robot.inertial_parameters(columns)``; zero in the columns of friction and springs.

        See Also
        --------
        momentum_rate_regressor : What motion itself adds to the momentum.
        regressor : Of the joint forces.

        Examples
        --------
        >>> import fourbar as fb
        >>> robot = fb.robots.double_pendulum()
        >>> Y = robot.momentum_regressor([0.1, 0.2], [1.0, 0.0])
        >>> (Y @ robot.inertial_parameters()).round(4)
        array([0.4828, 0.1211])
        """
    @property
    def momentum_rate_regressor(self) -> MomentumRateRegressor:
        """Regressor of what motion itself adds to the generalized momentum.

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Configuration, with its loops closed.
        v : array_like, shape (..., nv)
            Velocity (rad/s, m/s).
        columns : str or sequence of str, default ('inertia', 'armature', 'fluid')
            Kinds of parameters, see `System.regressor`.
        out : ndarray, optional
            Array that receives the result.
        threads : int, optional
            Largest number of threads for a batch.

        Returns
        -------
        Y : ndarray, shape (..., nv, p)
            d/dt (M v) = τ + Y φ, with φ = ``robot.inertial_parameters(columns)``.

        See Also
        --------
        momentum_regressor : Of the momentum itself.

        Notes
        -----
        For rigid bodies and armatures Y φ = Cᵀ v - g, with the `coriolis_matrix` C. No acceleration is needed: over any
        time Δ(M v) - ∫ Y φ dt = ∫ τ dt.

        Examples
        --------
        >>> import fourbar as fb
        >>> robot = fb.robots.double_pendulum()
        >>> robot.momentum_rate_regressor([0.1, 0.2], [1.0, 0.0]).shape
        (2, 22)
        """
    @property
    def kinetic_energy_regressor(self) -> KineticEnergyRegressor:
        """Regressor of the kinetic energy.

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Configuration, with its loops closed.
        v : array_like, shape (..., nv)
            Velocity (rad/s, m/s).
        out : ndarray, optional
            Array that receives the result.
        threads : int, optional
            Largest number of threads for a batch.

        Returns
        -------
        y : ndarray, shape (..., p)
            The kinetic energy (J) is y · φ, with φ = ``robot.inertial_parameters()``.

        See Also
        --------
        kinetic_energy : The energy itself.
        potential_energy_regressor : Of the energy in gravity.

        Examples
        --------
        >>> import fourbar as fb
        >>> robot = fb.robots.double_pendulum()
        >>> y = robot.kinetic_energy_regressor([0.1, 0.2], [1.0, 0.0])
        >>> float((y @ robot.inertial_parameters()).round(4))
        0.2414
        """
    @property
    def potential_energy_regressor(self) -> PotentialEnergyRegressor:
        """Regressor of the potential energy in gravity.

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Configuration, with its loops closed.
        out : ndarray, optional
            Array that receives the result.
        threads : int, optional
            Largest number of threads for a batch.

        Returns
        -------
        y : ndarray, shape (..., p)
            The potential energy (J) is y · φ, with φ = ``robot.inertial_parameters()``.

        See Also
        --------
        potential_energy : The energy itself.
        kinetic_energy_regressor : Of the kinetic energy.

        Examples
        --------
        >>> import fourbar as fb
        >>> robot = fb.robots.double_pendulum()
        >>> y = robot.potential_energy_regressor([0.1, 0.2])
        >>> float((y @ robot.inertial_parameters()).round(4))
        -7.8441
        """
    @property
    def loop_residual(self) -> LoopResidual:
        """Conditions φ(q) of all loops, zero where these are closed.

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Coordinates, with open or closed loops.
        rows : str
            ``"all"``: every condition of every loop, in the order of the rows of `loop_jacobian`. ``"independent"``: the
            conditions that hold the dependent coordinates stored in q, as many as there are of these and none that others
            imply: the equality constraints of an optimisation over q. Explicit loops, which every q satisfies, have none.
        out : ndarray, optional
            Array that receives the result.
        threads : int, optional
            Largest number of threads for a batch.

        Returns
        -------
        phi : ndarray, shape (..., m)
            Residuals: metres for points that coincide, sines of angles for axes that align, and the coordinate's own unit
            for gears and couplings.

        See Also
        --------
        loop_jacobian : The derivative K along the velocities of the spanning tree.
        loop_gap : The largest residual.
        assemble : A configuration with φ = 0.

        Notes
        -----
        φ(q) = 0 is Chignoli's eq. 2. Derivatives are by the nq entries of q as they are, not along the nv independent
        velocities, along which φ does not change: `jacobian` gives ∂φ/∂q (m, nq). Where all joints are hinges and slides
        with implicit loops and q is in the order of the joints, that is K.

        Examples
        --------
        >>> import fourbar as fb
        >>> robot = fb.robots.four_bar()
        >>> robot.loop_residual([0.1, 0.0, 0.0], rows="independent").shape
        (2,)
        >>> robot.loop_residual.jacobian([0.1, 0.0, 0.0]).q.shape
        (6, 3)
        """
    @property
    def loop_jacobian(self) -> LoopJacobian:
        """Jacobian of the conditions of all loops.

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Configuration, with its loops closed.
        out : ndarray, optional
            Array that receives the result.
        threads : int, optional
            Largest number of threads for a batch.

        Returns
        -------
        K : ndarray, shape (..., m, n)
            ∂φ/∂q of every condition of every loop, also those that others imply, over all n velocities of the spanning
            tree.

        See Also
        --------
        loop_jacobian_bias : k in K q̈ = k.
        loop_map : G with K G = 0.
        loop_pull : The wrenches along the conditions.

        Notes
        -----
        K q̇ = 0 and K q̈ = k (Chignoli eq. 2).

        Examples
        --------
        >>> import fourbar as fb
        >>> robot = fb.robots.four_bar()
        >>> K, G = robot.loop_jacobian(robot.neutral()), robot.loop_map(robot.neutral())
        >>> K.shape, bool(abs(K @ G).max() < 1e-9)
        ((6, 3), True)
        """
    @property
    def loop_jacobian_bias(self) -> LoopJacobianBias:
        """Right-hand side of the conditions of all loops on accelerations.

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Configuration, with its loops closed.
        v : array_like, shape (..., nv)
            Velocity (rad/s, m/s).
        out : ndarray, optional
            Array that receives the result.
        threads : int, optional
            Largest number of threads for a batch.

        Returns
        -------
        k : ndarray, shape (..., m)
            k = -K̇ q̇, with K q̈ = k for the accelerations q̈ of the spanning tree.

        See Also
        --------
        loop_jacobian : The matrix K.

        Examples
        --------
        >>> import fourbar as fb
        >>> robot = fb.robots.four_bar()
        >>> robot.loop_jacobian_bias(robot.neutral(), [1.0]).shape
        (6,)
        """
    @property
    def articulated_inertia(self) -> ArticulatedInertia:
        """Articulated inertia of one body or of all bodies.

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Configuration, with its loops closed.
        frame : str, optional
            Name of a frame or body; without it the result has an axis of all bodies, in the order of `names.bodies`.
        out : ndarray, optional
            Array that receives the result.
        threads : int, optional
            Largest number of threads for a batch.

        Returns
        -------
        I_A : ndarray, shape (..., 6, 6) or (..., n_bodies, 6, 6)
            Symmetric matrix [[kg m², kg m], [kg m, kg]] for twists [angular; linear] at the origin of the frame and in its
            axes.

        See Also
        --------
        articulated_bias : The wrench at acceleration zero.
        osim : The inertia of a frame while it hangs on the joints that carry it.

        Notes
        -----
        The wrench F = I_A A + p_A accelerates a body by A, cut from the joint that carries it, while all joints that it
        carries move freely: Î of Kim's Table 3. Bodies joined by fixed joints are one body; those fixed to the ground are
        one with all that stands on it. Links that loops tie together form a cluster: a body among them has its block of
        Chignoli's 𝖨ᴬ, the body with what it carries outside the cluster; forces of the loops are part of F.

        Examples
        --------
        >>> import fourbar as fb
        >>> robot = fb.robots.double_pendulum()
        >>> robot.articulated_inertia([0.1, 0.2], "upper").shape, robot.articulated_inertia([0.1, 0.2]).shape
        ((6, 6), (2, 6, 6))
        """
    @property
    def articulated_bias(self) -> ArticulatedBias:
        """Bias force of the articulated body of one body or of all bodies.

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Configuration, with its loops closed.
        v : array_like, shape (..., nv)
            Velocity (rad/s, m/s).
        tau : array_like, shape (..., nv)
            Joint forces (N m, N).
        frame : str, optional
            Name of a frame or body; without it the result has an axis of all bodies, in the order of `names.bodies`.
        f_ext : array_like, shape (..., n_bodies, 6), or dict, optional
            Wrench [moment; force] (N m, N) on each body, at its origin and in its axes; or on some bodies,
            ``{"hand": wrench}``.
        out : ndarray, optional
            Array that receives the result.
        threads : int, optional
            Largest number of threads for a batch.

        Returns
        -------
        p_A : ndarray, shape (..., 6) or (..., n_bodies, 6)
            Wrench [moment; force] (N m, N) at the origin of the frame and in its axes.

        See Also
        --------
        articulated_inertia : I_A in F = I_A A + p_A.
        acceleration : A, with ``expressed_in="frame"``.

        Notes
        -----
        B̂ of Kim's Table 3. A is the component-wise rate of the twist less gravity, ``acceleration(q, v, a, frame,
        expressed_in="frame")`` minus (0, g) in the axes of the frame, since gravity acts as an acceleration of the ground.

        Examples
        --------
        >>> import fourbar as fb
        >>> robot = fb.robots.double_pendulum()
        >>> robot.articulated_bias([0.1, 0.2], [0.0, 0.0], [0.0, 1.0]).round(3) + 0.0
        array([[ 0.   ,  2.838,  0.   , -3.675,  0.   ,  0.745],
               [ 0.   ,  0.   ,  0.   ,  0.   ,  0.   ,  0.   ]])
        """
    @property
    def cluster_subspace(self) -> ClusterSubspace:
        """Motion subspace of a cluster joint.

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Configuration, with its loops closed.
        cluster : str
            A body of the cluster.
        out : ndarray, optional
            Array that receives the result.
        threads : int, optional
            Largest number of threads for a batch.

        Returns
        -------
        S : ndarray, shape (..., 6 n, k)
            𝖲 of a cluster of n bodies with k independent velocities ẏ: 𝖲 ẏ are the twists of its bodies relative to their
            output bodies, stacked in the order of ``clusters[...].bodies``, each in the axes of its body.

        See Also
        --------
        cluster_transform : 𝖷, for the motion of the output bodies.
        cluster_force_subspaces : 𝖳ᵃ and 𝖳ᶜ.
        clusters : The clusters by name.

        Notes
        -----
        𝖲 = X_Λλ block(S_i) G (Chignoli eq. 24). The output body of a body is the nearest one outside the cluster that
        carries it. The twists of a cluster are 𝗏 = 𝖷 𝗏_parent + 𝖲 ẏ.

        Examples
        --------
        >>> import fourbar as fb
        >>> robot = fb.robots.four_bar()
        >>> robot.cluster_subspace(robot.neutral(), "link1").shape
        (18, 1)
        """
    @property
    def cluster_transform(self) -> ClusterTransform:
        """Transform of motions from the parent cluster to a cluster.

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Configuration, with its loops closed.
        cluster : str
            A body of the cluster.
        out : ndarray, optional
            Array that receives the result.
        threads : int, optional
            Largest number of threads for a batch.

        Returns
        -------
        X : ndarray, shape (..., 6 n, 6 m)
            𝖷 from the m bodies of the parent cluster (the ground counts as one) to the n bodies of this one, both in the
            order of ``clusters[...].bodies``: one 6 x 6 block per body, in the columns of its output body. Its transpose
            carries wrenches to the parent cluster.

        See Also
        --------
        cluster_subspace : 𝖲.

        Notes
        -----
        The twists of a cluster are 𝗏 = 𝖷 𝗏_parent + 𝖲 ẏ (Chignoli §V-B).

        Examples
        --------
        >>> import fourbar as fb
        >>> robot = fb.robots.four_bar()
        >>> robot.cluster_transform(robot.neutral(), "link1").shape
        (18, 6)
        """
    @property
    def cluster_force_subspaces(self) -> ClusterForceSubspaces:
        """Active and constraint force subspaces of a cluster joint.

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Configuration, with its loops closed.
        cluster : str
            A body of the cluster.
        out : tuple of ndarray, optional
            Arrays that receive the results.
        threads : int, optional
            Largest number of threads for a batch.

        Returns
        -------
        Ta : ndarray, shape (..., 6 n, k)
            𝖳ᵃ: the wrenches on the n bodies of the cluster, stacked in the order of ``clusters[...].bodies``, of unit
            forces on its k independent velocities, applied at the independent joints.
        Tc : ndarray, shape (..., 6 n, 6 n - k)
            𝖳ᶜ: a basis of the constraint wrenches: those of the joints, then those of the loops.

        See Also
        --------
        cluster_subspace : 𝖲, with 𝖲ᵀ 𝖳ᵃ = 1 and 𝖲ᵀ 𝖳ᶜ = 0.

        Notes
        -----
        𝖳ᵃ = X*_Λλ block(Tᵃ_i) 𝖯 with Gᵀ 𝖯 = 1, where 𝖯 selects the independent joints (Chignoli eq. 30). 𝖳ᶜ holds X*_Λλ
        block(Tᶜ_i), which eq. 30 has, and X*_Λλ block(Tᵃ_i) Kᵀ, the forces of the loops, which it lacks. The wrenches
        across the cluster joint are 𝖿 = 𝖳ᵃ τ + 𝖳ᶜ λ, with 𝖲ᵀ 𝖿 = τ (eq. 31).

        Examples
        --------
        >>> import fourbar as fb
        >>> robot = fb.robots.four_bar()
        >>> Ta, Tc = robot.cluster_force_subspaces(robot.neutral(), "link1")
        >>> S = robot.cluster_subspace(robot.neutral(), "link1")
        >>> (S.T @ Ta).round(12), bool(abs(S.T @ Tc).max() < 1e-12)
        (array([[1.]]), True)
        """
