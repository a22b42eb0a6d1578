"""Linear-quadratic regulators: algebraic Riccati equations by structured doubling, refined by Newton's method.

The discrete equation P = Q + Aᵀ P (1 + G P)⁻¹ A, G = B R⁻¹ Bᵀ, by doubling the length of the horizon (Chu, Fan, Lin,
Wang 2004); the continuous one becomes such a doubling by a Cayley transform with a rate γ (Chu, Fan, Lin 2005). Newton
steps (Kleinman) then solve Lyapunov equations of the closed loop, by doubling too, until the residual is rounding.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..errors import ArgumentError, SingularError

_DOUBLINGS = 60  # a horizon of 2⁶⁰ steps
_NEWTON = 12  # steps, of which two or three are needed


class _RiccatiSettings:
    """Of the solvers of Riccati and Lyapunov equations."""

    STILL = 1e-15  # relative change of P, or of a sum, below which further terms are rounding
    MARGINAL = 1e-9  # distance of modes to the border of stability, relative to their size, that counts as zero
    ROUNDING = 1e-10  # of a vector that should be zero, beside the matrices that it is the product of


@dataclass(frozen=True)
class Regulator:
    """A linear-quadratic regulator u = -K x.

    K (..., nu, nx): the gain. P (..., nx, nx): the cost to go is ½ xᵀ P x. poles (..., nx), complex: eigenvalues of
    A - B K, in 1/s, or per step where the system is discrete.
    """

    K: np.ndarray
    P: np.ndarray
    poles: np.ndarray


class _System(NamedTuple):
    """A system without cross terms: A (nx, nx), B (nx, nu), Q (nx, nx), R (nu, nu), and K = R⁻¹ Nᵀ that was removed."""

    A: np.ndarray
    B: np.ndarray
    Q: np.ndarray
    R: np.ndarray
    cross: np.ndarray

    @property
    def G(self) -> np.ndarray:
        """B R⁻¹ Bᵀ."""
        return _symmetric(self.B @ np.linalg.solve(self.R, self.B.T))


def lqr(A: Any, B: Any, Q: Any, R: Any, N: Any = None, *, discrete: bool = False) -> Regulator:
    """Compute the feedback u = -K x that minimises a quadratic cost of a linear system, over an infinite time.

    Parameters
    ----------
    A : array_like, shape (..., nx, nx)
        ẋ = A x + B u, or x⁺ = A x + B u of a discrete system.
    B : array_like, shape (..., nx, nu)
        Effect of the controls.
    Q : array_like, shape (..., nx, nx) or (nx,)
        Weights of states, symmetric and not negative: the cost is ½ xᵀ Q x + ½ uᵀ R u + xᵀ N u, over time or over all
        steps. A vector is a diagonal.
    R : array_like, shape (..., nu, nu) or (nu,)
        Weights of controls, symmetric and positive.
    N : array_like, shape (..., nx, nu), optional
        Weights of products of both; zero if None.
    discrete : bool, default False
        A and B are those of a step, as `linearize` gives them with dt=, and not of rates.

    Returns
    -------
    Regulator
        The gain K (..., nu, nx), the matrix P (..., nx, nx) of the cost to go, and the closed loop's poles (..., nx).

    Raises
    ------
    ArgumentError
        If shapes do not fit, or R is not positive.
    SingularError
        If no feedback makes the system stable, or the cost does not see a mode that is not stable.

    See Also
    --------
    linearize : A and B of a robot or a scene.

    Notes
    -----
    A gain for an observer is the dual: with measurements y = C x and covariances W of x and V of y,
    ``lqr(A.T, C.T, W, V).K.T`` is the gain of a continuous Kalman filter. Around a state of a robot x is
    [q ⊖ q₀; v - v₀], so that the forces are ``u0 - K @ np.r_[robot.difference(q0, q), v - v0]``.

    Examples
    --------
    >>> import fourbar as fb
    >>> arm = fb.robots.double_pendulum()
    >>> A, B = fb.linearize(arm, [3.14159265, 0.0])
    >>> upright = fb.control.lqr(A, B, [10, 10, 1, 1], [1, 1])
    >>> upright.K.shape, bool((upright.poles.real < 0).all())
    ((2, 4), True)
    """
    A, B = np.asarray(A, float), np.asarray(B, float)
    if A.ndim < 2 or B.ndim < 2 or A.shape[-1] != A.shape[-2] or B.shape[-2] != A.shape[-1]:
        raise ArgumentError(f"lqr: A must be (..., nx, nx) and B (..., nx, nu); got {A.shape} and {B.shape}")
    nx, nu = B.shape[-2:]
    Q, R = _weights("Q", Q, nx), _weights("R", R, nu)
    N = np.zeros((nx, nu)) if N is None else np.asarray(N, float)
    if N.shape[-2:] != (nx, nu):
        raise ArgumentError(f"lqr: N must be (..., {nx}, {nu}), got {N.shape}")
    matrices = A, B, Q, R, N
    try:
        batch = np.broadcast_shapes(*[x.shape[:-2] for x in matrices])
    except ValueError:
        raise ArgumentError(f"lqr: leading axes {[x.shape[:-2] for x in matrices]} do not fit together") from None
    for name, x in zip("ABQRN", matrices, strict=True):
        if not np.isfinite(x).all():
            raise ArgumentError(f"lqr: {name} is NaN or infinite")
    wide = [np.broadcast_to(x, (*batch, *x.shape[-2:])) for x in matrices]
    K, P = np.empty((*batch, nu, nx)), np.empty((*batch, nx, nx))
    poles = np.empty((*batch, nx), complex)
    for i in np.ndindex(*batch):  # each by itself, so that its bits do not depend on the others
        a, b, q, r, n = (x[i] for x in wide)
        K[i], P[i], poles[i] = _solve(a, b, q, r, n, discrete)
    return Regulator(K, P, poles)


def _weights(name: str, given: Any, size: int) -> np.ndarray:
    """A symmetric matrix of weights, from itself or its diagonal."""
    array = np.asarray(given, float)
    if array.ndim == 0 and size == 1:
        array = array.reshape(1)
    array = np.diag(array) if array.ndim == 1 else array
    if array.ndim < 2 or array.shape[-2:] != (size, size):
        raise ArgumentError(f"lqr: {name} must be (..., {size}, {size}) or ({size},), got {np.shape(given)}")
    apart = np.abs(array - array.swapaxes(-1, -2)).max(initial=0.0)
    if apart > _RiccatiSettings.ROUNDING * np.abs(array).max(initial=0.0):
        raise ArgumentError(f"lqr: {name} is not symmetric: entries differ by up to {apart:.3g}")
    return _symmetric(array)


def _symmetric(x: np.ndarray) -> np.ndarray:
    return 0.5 * (x + x.swapaxes(-1, -2))


def _solve(
    A: np.ndarray, B: np.ndarray, Q: np.ndarray, R: np.ndarray, N: np.ndarray, discrete: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """K, P and the poles of one system."""
    try:
        np.linalg.cholesky(R)
    except np.linalg.LinAlgError:
        raise ArgumentError("lqr: R, the weights of controls, must be positive definite") from None
    cross = np.linalg.solve(R, N.T)
    system = _System(A - B @ cross, B, _symmetric(Q - N @ cross), R, cross)
    with np.errstate(all="ignore"):
        try:
            P = (_double_discrete if discrete else _double_continuous)(system)
            P = _refine(system, P, discrete)
        except np.linalg.LinAlgError:
            P = np.full_like(system.Q, np.nan)
    if not np.isfinite(P).all():
        _refuse(system, discrete)
    K = _gain(system, P, discrete)
    poles = np.linalg.eigvals(system.A - B @ K)
    if (_growth(poles, discrete) >= -_RiccatiSettings.MARGINAL * _scale(poles, discrete)).any():
        _refuse(system, discrete)  # rounding may leave a mode that is not seen on either side of the border
    return K + cross, P, poles


def _growth(poles: np.ndarray, discrete: bool) -> np.ndarray:
    """Above zero where a mode grows, or does not decay but for rounding."""
    return np.abs(poles) - 1.0 if discrete else np.real(poles)


def _scale(poles: np.ndarray, discrete: bool) -> float:
    """The size beside which a growth counts as zero."""
    size = float(np.abs(poles).max(initial=0.0))
    return max(size, 1.0) if discrete else size


def _gain(s: _System, P: np.ndarray, discrete: bool) -> np.ndarray:
    if discrete:
        return np.linalg.solve(s.R + s.B.T @ P @ s.B, s.B.T @ P @ s.A)
    return np.linalg.solve(s.R, s.B.T @ P)


def _doubling(A: np.ndarray, G: np.ndarray, H: np.ndarray) -> np.ndarray:
    """The limit of H as the horizon doubles; NaN if there is none."""
    eye = np.eye(len(A))
    for _ in range(_DOUBLINGS):
        W = np.linalg.inv(eye + G @ H)
        added = A.T @ H @ W @ A
        H_next = _symmetric(H + added)
        G, A, H = _symmetric(G + A @ W @ G @ A.T), A @ W @ A, H_next
        if not np.isfinite(H).all():
            break
        if np.abs(added).max(initial=0.0) <= _RiccatiSettings.STILL * np.abs(H).max(initial=0.0):
            return H
    return np.full_like(H, np.nan)


def _double_discrete(s: _System) -> np.ndarray:
    return _doubling(s.A, s.G, s.Q)


def _double_continuous(s: _System) -> np.ndarray:
    """The Cayley transform of the Hamiltonian matrix, at a rate amid its eigenvalues."""
    G, Q, A = s.G, s.Q, s.A
    rates = np.abs(np.linalg.eigvals(np.block([[A, -G], [-Q, -A.T]])))
    largest = rates.max(initial=0.0)
    if largest == 0.0:
        return np.full_like(Q, np.nan)
    rate = np.exp(np.mean(np.log(np.maximum(rates, _RiccatiSettings.MARGINAL * largest))))
    inverse = np.linalg.inv(A - rate * np.eye(len(A)))
    W = np.linalg.inv((A - rate * np.eye(len(A))).T + Q @ inverse @ G)
    moved = np.eye(len(A)) + 2.0 * rate * W.T
    return _doubling(moved, _symmetric(2.0 * rate * inverse @ G @ W), _symmetric(2.0 * rate * W @ Q @ inverse))


def _refine(s: _System, P: np.ndarray, discrete: bool) -> np.ndarray:
    """Newton's method: P is the cost to go of its own gain. The best one is returned."""
    best, least = P, np.inf
    for _ in range(_NEWTON):
        residual = np.abs(_residual(s, P, discrete)).max(initial=0.0)
        if not residual < least:
            return best
        best, least = P, residual
        K = _gain(s, P, discrete)
        P = _lyapunov(s.A - s.B @ K, _symmetric(s.Q + K.T @ s.R @ K), discrete)
    return best


def _residual(s: _System, P: np.ndarray, discrete: bool) -> np.ndarray:
    K = _gain(s, P, discrete)
    if discrete:
        return s.A.T @ P @ (s.A - s.B @ K) + s.Q - P
    return s.A.T @ P + P @ s.A - K.T @ s.R @ K + s.Q


def _lyapunov(A: np.ndarray, W: np.ndarray, discrete: bool) -> np.ndarray:
    """X of Aᵀ X A - X + W = 0, or Aᵀ X + X A + W = 0; NaN where A is not stable."""
    if not discrete:
        sizes = np.abs(np.linalg.eigvals(A))
        rate = np.exp(np.mean(np.log(np.maximum(sizes, _RiccatiSettings.MARGINAL * sizes.max()))))
        inverse = np.linalg.inv(rate * np.eye(len(A)) - A)
        A, W = (rate * np.eye(len(A)) + A) @ inverse, 2.0 * rate * inverse.T @ W @ inverse
    total = W
    for _ in range(_DOUBLINGS):
        added = A.T @ total @ A
        total, A = _symmetric(total + added), A @ A
        if not np.abs(added).max() > _RiccatiSettings.STILL * np.abs(total).max():
            break
    return total


def _refuse(s: _System, discrete: bool) -> None:
    """Raise an error that says which mode has no solution."""
    kind = "z" if discrete else "s"
    for matrix, test, why in (
        (s.A, s.B.T, "no feedback makes the system stable: the controls B do not reach the mode"),
        (s.A.T, s.Q, "the cost Q does not see a mode that is not stable, the one"),
    ):
        values, vectors = np.linalg.eig(matrix.T)  # left vectors: what the controls push
        for value, vector in zip(values, vectors.T, strict=True):
            unstable = _growth(np.array(value), discrete) >= -_RiccatiSettings.MARGINAL * _scale(values, discrete)
            if unstable and np.abs(test @ vector).max() <= _RiccatiSettings.ROUNDING * np.abs(test).max(initial=1.0):
                raise SingularError(f"lqr: {why} at {kind} = {value:.4g}")
    raise SingularError(
        "lqr: the Riccati equation has no solution that makes the system stable: look at modes on the border of "
        f"stability that the controls hardly reach or the cost hardly sees{'' if discrete else ', and at discrete='}"
    )
