"""The interface of Lie groups of joint configurations, and Rⁿ, the simplest of them.

An element is a flat `Vec` q of nq scalars, a velocity or increment is a `Vec` v of nv scalars in the *body* frame, and
q ⊕ δ = q · exp(δ). The scalars are of any kind: floats, NumPy arrays (a batch), traced expressions, dual numbers;
complex ones too, except in `log`, which needs atan2. Nothing branches on data.

Twists are ordered [angular; linear]; From writes [linear; angular], so his matrices appear here permuted.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, final

from fourbar.spatial.linear import Mat, Vec, zeros
from fourbar.spatial.subspace import Selection, Subspace
from fourbar.spatial.transform import Transform

Scalar = Any
Scalars = Sequence[Any]


class Group(ABC):
    """A Lie group that is a configuration space of rigid bodies. Instances are stateless and hashable.

    An element is stored as nq scalars, a velocity has nv scalars in the body frame. A group of your own that moves
    bodies in space is a `Subgroup`, which needs fewer methods.

    Notes
    -----
    The matrices of the literature on configuration spaces: From's S(φ) of body velocity = S(φ) φ̇ is `right_dexp`, its
    inverse `right_dexp_inv`, and his C(v) = ad~_(Mv) is `coadjoint_coriolis` of the momentum M v.

    Examples
    --------
    >>> from fourbar.spatial import SO3
    >>> group = SO3()
    >>> group.log(group.compose(group.exp((0.1, 0.0, 0.0)), group.exp((0.2, 0.0, 0.0))))
    (0.3, 0.0, 0.0)
    """

    __slots__ = ()
    name: str
    nq: int  # scalars that store an element
    nv: int  # dimension: scalars in a velocity
    rows: tuple[int, ...]  # which entries of the twist [angular; linear] v holds: the ones of H in V = H v, From eq. 58

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self)

    def __hash__(self) -> int:
        return hash(type(self))

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

    @property
    def subspace(self) -> Subspace:
        """From's H (6 x nv): the twist of the body in its own axes is H v."""
        return Selection(self.rows)

    def placement(self, a: Scalars) -> Transform:
        """Placement (R, p) of 3-space that the element a (nq) stands for."""
        return Transform.of(self.rotation(a), self.translation(a))

    @abstractmethod
    def identity(self) -> Vec:
        """The neutral element (nq)."""

    @abstractmethod
    def compose(self, a: Scalars, b: Scalars) -> Vec:
        """Product a · b (nq): the placement b, given in the frame that a places."""

    @abstractmethod
    def inverse(self, a: Scalars) -> Vec:
        """Inverse a⁻¹ (nq)."""

    @abstractmethod
    def exp(self, v: Scalars) -> Vec:
        """The element (nq) reached from the identity with the constant body velocity v (nv) after one unit of time."""

    @abstractmethod
    def log(self, a: Scalars) -> Vec:
        """The v (nv) with exp(v) = a, principal: a rotation angle in (-π, π], or of length at most π in space."""

    @abstractmethod
    def rotation(self, a: Scalars) -> Mat:
        """Rotation R (3 x 3) of the placement x -> R x + p of 3-space that the element stands for."""

    @abstractmethod
    def translation(self, a: Scalars) -> Vec:
        """Translation p (3) of the placement x -> R x + p of 3-space that the element stands for."""

    @abstractmethod
    def Ad(self, a: Scalars) -> Mat:
        """The adjoint (nv x nv): a exp(v) a⁻¹ = exp(Ad(a) v). Carries velocities from the placed frame outwards."""

    @abstractmethod
    def ad(self, v: Scalars) -> Mat:
        """The Lie bracket as a matrix (nv x nv): ad(v) w = [v, w]. From Table 1."""

    @abstractmethod
    def dexp(self, v: Scalars) -> Mat:
        """Series Σ ad(v)^k / (k+1)! (nv x nv) in closed form: d exp(v) · exp(-v) = dexp(v) dv, in the fixed frame.

        Singular where a rotation angle is a multiple of 2π other than 0.
        """

    @abstractmethod
    def dexp_inv(self, v: Scalars) -> Mat:
        """The inverse of dexp(v) (nv x nv) in closed form. Has a pole where the rotation angle reaches 2π."""

    @abstractmethod
    def rate(self, a: Scalars, v: Scalars) -> Vec:
        """The rate ȧ (nq) of an element that moves with velocity v (nv): of a ⊕ t v at t = 0."""

    def right_dexp(self, v: Scalars) -> Mat:
        """Matrix dexp(-v) (nv x nv): exp(-v) · d exp(v) = right_dexp(v) dv, seen from the body.

        This is From's S(φ) = 1 - ½ ad_φ + ⅙ ad_φ² - ... of body velocity = S(φ) φ̇ (eq. 28, 29 and 55).
        """
        return self.dexp(-Vec(v))

    def right_dexp_inv(self, v: Scalars) -> Mat:
        """The inverse of right_dexp(v) (nv x nv): φ̇ = right_dexp_inv(φ) · body velocity."""
        return self.dexp_inv(-Vec(v))

    def coadjoint_coriolis(self, momentum: Scalars) -> Mat:
        """From's matrix ad~_p (nv x nv) of the momentum p = M v (nv), with ad~_p v = -ad(v)ᵀ p.

        It is the Coriolis matrix of a body that moves freely on the group: M v̇ + ad~_(Mv) v = τ (From eq. 75). The
        right-hand side is linear in v, so column j is -ad(e_j)ᵀ p, for every group (From §5).
        """
        basis = Mat.identity(self.nv)
        return Mat.from_columns([-self.ad(e).transpose_times(momentum) for e in basis])

    def plus(self, a: Scalars, v: Scalars) -> Vec:
        """Element a ⊕ v = a · exp(v) (nq)."""
        return self.compose(a, self.exp(v))

    def minus(self, b: Scalars, a: Scalars) -> Vec:
        """Velocity b ⊖ a = log(a⁻¹ b) (nv): the shortest v with a ⊕ v = b."""
        return self.log(self.compose(self.inverse(a), b))


class AbelianGroup(Group):
    """A group whose elements commute: the bracket vanishes, and with it every Coriolis term (From §4.5, §4.6)."""

    __slots__ = ()

    def rate(self, a: Scalars, v: Scalars) -> Vec:
        return Vec(v)

    def Ad(self, a: Scalars) -> Mat:
        return Mat.identity(self.nv)

    def ad(self, v: Scalars) -> Mat:
        return Mat.zeros(self.nv, self.nv)

    def dexp(self, v: Scalars) -> Mat:
        return Mat.identity(self.nv)

    def dexp_inv(self, v: Scalars) -> Mat:
        return Mat.identity(self.nv)


# Which entries of the twist [angular; linear] move: one translation is along z, two are in the xy-plane.
_ROWS: dict[int, tuple[int, ...]] = {1: (5,), 2: (3, 4), 3: (3, 4, 5)}


@final
@dataclass(frozen=True)
class Rn(AbelianGroup):
    """Vectors of n scalars under addition. q = v = the vector. For n > 3 it places nothing in 3-space."""

    n: int
    name: str = field(init=False, repr=False)
    nq: int = field(init=False, repr=False)
    nv: int = field(init=False, repr=False)
    rows: tuple[int, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if self.n < 1:
            raise ValueError(f"R^n needs n >= 1, not {self.n}")
        known = {"name": f"R{self.n}", "nq": self.n, "nv": self.n, "rows": _ROWS.get(self.n, ())}
        for key, value in known.items():
            object.__setattr__(self, key, value)

    def identity(self) -> Vec:
        return zeros(self.n)

    def compose(self, a: Scalars, b: Scalars) -> Vec:
        return Vec(a) + b

    def inverse(self, a: Scalars) -> Vec:
        return -Vec(a)

    def exp(self, v: Scalars) -> Vec:
        return Vec(v)

    def log(self, a: Scalars) -> Vec:
        return Vec(a)

    def rotation(self, a: Scalars) -> Mat:
        self._need_placement()
        return Mat.identity(3)

    def translation(self, a: Scalars) -> Vec:
        self._need_placement()
        p = [0.0, 0.0, 0.0]
        for row, x in zip(self.rows, a, strict=True):
            p[row - 3] = x
        return Vec(p)

    def _need_placement(self) -> None:
        if not self.rows:
            raise ValueError(f"R^{self.n} does not act on 3-space: only R^1, R^2 and R^3 place a body")
