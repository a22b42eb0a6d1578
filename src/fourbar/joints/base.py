"""The base of all joints. To add one: subclass `Joint` in a file of this folder, and register it in `registry.py`.
`suspect_columns` finds velocities of a joint that may be dependent, as they are with a redundant coordinate."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from ..errors import ModelError
from ..expr import Graph, prepare
from ..linalg import ranks, smallest
from ..spatial.linear import Mat, Scalar, Vec, is_zero
from ..spatial.subspace import Selection, Subspace, series
from ..spatial.transform import IDENTITY, Transform
from ..spatial.vectors import Twist
from .rates import derived_coadjoint, derived_subspace_rate
from .variable import float_fields, with_entries, with_field

if TYPE_CHECKING:
    from .mirror import Mirror
    from .mirror_image import Mirrored


class RotationRows(NamedTuple):
    """The constraints of a joint on the child's rotation R, as rows."""

    none: Callable[[Mat], list[Scalar]]  # zero for R = 1, and only there
    about_z: Callable[[Mat], list[Scalar]]  # zero where the z axes are parallel and point the same way, and only there
    angle: Callable[[Scalar, Scalar], list[Scalar]]  # sin δ, cos δ: zero for δ = 0, and only there


class Joint(ABC):
    """A joint between a parent and a child frame. Frozen and hashable: equal joints are interchangeable.

    q are its nq coordinates, v its nv velocities; the twist of the child relative to the parent is S v, in child axes.
    A joint sits at a constant placement on its parent; at its neutral position the frame of the child coincides with
    it.

    Notes
    -----
    `placement`, `subspace` and `bias` are mathematics over any scalar; `integrate` and `difference` too, so that they
    can be compiled and differentiated. A joint may be written in frames of its own choice: `aligned()` gives the
    rotation A of these frames and the joint as seen in them, T(q) = A T'(q) Aᵀ. The dynamics then uses T' (a hinge
    about any axis becomes a hinge about z).
    """

    nq: int
    nv: int
    q_names: tuple[str, ...]  # names of the coordinates: suffixes, empty for the only coordinate of a joint
    v_names: tuple[str, ...]  # names of the velocities: likewise
    pivot: ClassVar[str] = ""  # what of the child never moves in the parent: "line" (its z axis, aligned), "point", ""
    quaternions: tuple[int, ...] = ()  # the coordinates at which quaternions begin
    turning: ClassVar[str] = "all"  # which axes the child turns about: "none", "axis" (its `axis` only), or any
    tags: ClassVar[tuple[str, ...]] = ()  # what file formats call this joint, as "format:tag", what is written first

    @abstractmethod
    def placement(self, q: Sequence[Scalar]) -> Transform:
        """Pose of the child frame in the parent frame."""

    @abstractmethod
    def subspace(self, q: Sequence[Scalar]) -> Subspace:
        """S (6 x nv): the child's twist relative to the parent is S v, in child axes."""

    def bias(self, q: Sequence[Scalar], v: Sequence[Scalar]) -> Twist:
        """S° v: the component-wise rate of S v at constant v. Zero where S is constant."""
        return Twist.zero()

    def subspace_rate(self, q: Sequence[Scalar], v: Sequence[Scalar]) -> tuple[Twist, ...]:
        """S°, column by column: the component-wise rate of S as q moves with v; S° v is the `bias`."""
        return derived_subspace_rate(self, q, v)

    def aligned(self) -> tuple[Mat | None, Joint]:
        """The rotation into frames where the joint is simplest (None: these very frames), and the joint in them."""
        return None, self

    @abstractmethod
    def integrate(self, q: Sequence[Scalar], v: Sequence[Scalar]) -> Vec:
        """q ⊕ v: move for unit time with constant velocity v."""

    @abstractmethod
    def rate(self, q: Sequence[Scalar], v: Sequence[Scalar]) -> Vec:
        """q̇ (nq) at velocity v."""

    @abstractmethod
    def difference(self, q0: Sequence[Scalar], q1: Sequence[Scalar]) -> Vec:
        """q1 ⊖ q0: the velocity that moves q0 to q1 in unit time."""

    @abstractmethod
    def chart_rate(self, theta: Sequence[Scalar], v: Sequence[Scalar]) -> Vec:
        """θ̇ where q(t) = q₀ ⊕ θ(t) moves with velocity v: what an integrator needs to step along the group."""

    def coadjoint(self, v: Sequence[Scalar], p: Sequence[Scalar]) -> Vec:
        """ad_vᵀ p (nv): p · [v, e_i] for each unit velocity e_i, with the bracket of velocities. The rate at which the
        motion v turns a momentum p of the joint; zero where v = q̇."""
        return derived_coadjoint(self, v, p)

    def stretch(self, rest: Sequence[Scalar], q: Sequence[Scalar]) -> Vec:
        """δ (nv): the stretch at q of a spring that is at rest at the coordinates `rest`; by default q ⊖ rest."""
        return self.difference(rest, q)

    def stretch_rates(self, rest: Sequence[Scalar], q: Sequence[Scalar]) -> tuple[Vec, ...]:
        """∂δ̇/∂v, column by column: how the `stretch` changes with each unit velocity."""
        delta = self.stretch(rest, q)
        return tuple(self.chart_rate(delta, e) for e in Mat.identity(self.nv))

    def coordinates_of(self, T: Transform) -> Vec | None:
        """The q with placement(q) = T, angles principal, in closed form; None where there is none.

        For a T that the joint cannot reach, the coordinates of a placement near it.
        """
        return None

    def closing_rows(self, R: Mat, p: Vec, rows: RotationRows) -> Sequence[Scalar] | None:
        """Rows of the child's pose (R, p) in the parent, in the frames of `closing_frame`, that are zero where the
        joint closes a loop; None: this cannot be written without coordinates of its own."""
        return None

    def in_loop(self) -> Joint:
        """The simplest joint that holds as much where it closes a loop: coordinates do not matter there."""
        return self

    def closing_frame(self) -> Mat | None:
        """The rotation into the frames of `closing_rows` (None: these very frames): the aligned ones."""
        return self.aligned()[0]

    def mirrored(self, mirror: Mirror) -> Mirrored:
        """The mirror image, and how coordinates and velocities turn into those of the image."""
        raise ModelError(
            f"a joint of type {type(self).__name__} cannot be mirrored: give its class a method mirrored(mirror) that "
            "returns a fourbar.joints.mirror_image.Mirrored"
        )

    @property
    def variable(self) -> dict[str, Any]:
        """The numbers that may vary (`System.varying`), by name: the fields that are made of floats, but for axes."""
        return {name: x for name, x in float_fields(self).items() if not name.startswith("axis")}

    def why_constant(self, name: str) -> str:
        """The reason for which something that is not among the `variable` numbers cannot vary, where only the joint
        knows it; empty if it does not."""
        return ""

    def with_numbers(self, numbers: Mapping[str, Sequence[Scalar]]) -> Joint:
        """The joint with other values of some of the `variable` numbers: flat entries by name, which may be symbols."""
        other = self
        for name, entries in numbers.items():
            other = with_field(other, name, with_entries(getattr(other, name), iter(entries)))
        return other

    def in_series(self) -> Sequence[Joint | Transform] | None:
        """The hinges, slides, screws and placements that it consists of, with the same coordinates and velocities; None
        if these are not those of such."""
        return None

    def otherwise(self) -> Sequence[Joint | Transform] | None:
        """Hinges, slides and placements that move as the joint does, in other coordinates; None: there are none."""
        return None

    @abstractmethod
    def neutral(self) -> tuple[float, ...]:
        """The configuration in which child and parent frame coincide (unless the joint says otherwise)."""

    @abstractmethod
    def random(
        self, rng: np.random.Generator, lower: np.ndarray, upper: np.ndarray, size: tuple[int, ...] = ()
    ) -> np.ndarray:
        """Random configurations (*size, nq) within bounds (nq), which may be infinite: then angles ±π, positions ±1.

        Quaternions are uniform on SO(3) and ignore bounds.
        """


_SAMPLES, _FAR = 8, 10.0  # configurations in which S is compared, some of them up to this far from neutral


def subspace_matrix(joint: Joint, q: Sequence[float]) -> np.ndarray:
    """S (6 x nv) in numbers."""
    twists = joint.subspace(q).twists()
    return np.array([t.six() for t in twists], float).reshape(len(twists), 6).T


def turning(joint: Joint) -> list[bool]:
    """A mask of a joint's velocities that rotate its child; the others translate it, and may be of any size."""
    return [bool(np.any(column[:3])) for column in subspace_matrix(joint, joint.neutral()).T]


@lru_cache(maxsize=4096)
def suspect_columns(joint: Joint) -> tuple[tuple[int, ...], ...]:
    """Sets of columns of S that may be dependent somewhere, as those of Euler angles at gimbal lock; most have none.

    Columns that turn the child by independent axes, and columns that only move it along independent ones, are
    independent together. What does not change between random configurations does not change at all.
    """
    q = Graph().inputs("q", joint.nq)
    S = joint.subspace(q) if joint.nv else Selection(())
    if isinstance(S, Selection):
        return ()
    if all(x.__class__ is float for column in S.columns for x in column):
        independent = ranks(np.array(S.columns).T) == joint.nv
        return () if independent else (tuple(range(joint.nv)),)
    sliding = tuple(j for j, column in enumerate(S.columns) if all(map(is_zero, column[:3])))
    turning = tuple(j for j in range(joint.nv) if j not in sliding)
    samples = _sampled_subspaces(joint, prepare([x for column in S.columns for x in column], q))
    if _is_steady(samples[:, :3, turning]):
        sets = (sliding,)
    elif all(is_zero(x) for j in turning for x in S.columns[j][3:]):
        sets = (turning, sliding)
    else:
        sets = (tuple(range(joint.nv)),)
    return tuple(own for own in sets if not _is_steady(samples[:, :, own]))


def _sampled_subspaces(joint: Joint, entries: Callable[[Iterable[Any]], list[Any]]) -> np.ndarray:
    """S (n, 6, nv) at random configurations, its linear rows in the length that they have relative to the angular.

    `entries`: those of S, column by column, as a function of the coordinates.
    """
    rng, home, far = np.random.default_rng(0), np.array(joint.neutral()), np.full(joint.nq, np.inf)
    bounds = [(-far, far), (home - _FAR, home + _FAR)]
    q = np.concatenate([joint.random(rng, lower, upper, (_SAMPLES,)) for lower, upper in bounds])
    with np.errstate(all="ignore"):
        S = np.stack([np.broadcast_to(x, len(q)) for x in entries(q.T)], -1).astype(float)
        S = S.reshape(len(q), joint.nv, 6).transpose(0, 2, 1)
        length = np.linalg.norm(S[:, 3:]) / np.linalg.norm(S[:, :3])
    return np.concatenate([S[:, :3], S[:, 3:] / (length if 0.0 < length < np.inf else 1.0)], axis=1)


def _is_steady(columns: np.ndarray) -> bool:
    """Whether columns (n, rows, m) are independent, equally in all samples."""
    if columns.shape[2] == 0:
        return True
    if not np.isfinite(columns).all() or columns.shape[2] > columns.shape[1]:
        return False
    gram = columns.swapaxes(-1, -2) @ columns
    size = np.abs(gram).max()
    return bool(np.ptp(gram, axis=0).max() < 1e-9 * size and smallest(columns).min() ** 2 > 1e-12 * size)


@lru_cache(maxsize=4096)
def regular_rates(joint: Joint, armature: tuple[float, ...]) -> Callable[[Iterable[Any]], list[Any]] | None:
    """Conditions on the coordinates of a joint under which its rates are independent; None where they always are."""
    suspect = suspect_columns(joint)
    if not suspect:
        return None
    q = Graph().inputs("q", joint.nq)
    return prepare(series([(IDENTITY, joint.subspace(q))]).regular(armature, suspect), q)


def require_independent(joint: Joint, q: Sequence[float], what: str) -> None:
    """Refuse a joint whose S (6 x nv) has dependent columns at the generic configuration q."""
    if joint.nv == 0:
        return
    rank = int(ranks(subspace_matrix(joint, q)))
    if rank < joint.nv:
        raise ModelError(
            f"{what} has {joint.nv} velocities but only {rank} independent motion{'s' * (rank != 1)}: "
            f"its coordinates are redundant; remove {joint.nv - rank} of them"
        )
