"""Joints in series as one joint: T = T₁(q₁) T₂(q₂) ..., with fixed placements between them where wanted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..errors import ModelError
from ..expr import Graph
from ..once import cached_property
from ..spatial.linear import Mat, Scalar, Vec, vec, zeros
from ..spatial.subspace import Columns, Selection, Subspace, series
from ..spatial.transform import IDENTITY, Transform
from ..spatial.vectors import Twist
from .base import Joint, require_independent
from .mirror_image import Mirrored, blocks
from .variable import why_axis_is_constant, with_entries, with_field

if TYPE_CHECKING:
    from .mirror import Mirror

Part = Joint | Transform


class SeriesLink(NamedTuple):
    """One joint of a series, about z: the fixed placement before it, and which entries of q and v are its own."""

    before: Transform
    joint: Joint
    q: slice
    v: slice

    def transform(self, q: Sequence[Scalar]) -> Transform:
        """From the previous link to this one; q is that of the whole series."""
        return self.before.then(self.joint.placement(q[self.q]))


class Gap(NamedTuple):
    """A placement of a series that may vary: the number of the joint behind it, and the axes of its displacement in the
    frame there, which is that of the joint about z.
    """

    number: int
    axes: Mat  # (3, 3)

    def name_among(self, joints: int) -> str:
        """Its name among the numbers of the series."""
        return "end_placement" if self.number == joints else f"{self.number + 1}_placement"

    def displace(self, placement: Transform, twist: Sequence[Scalar]) -> Transform:
        """The placement, up to the joint about z, displaced by a twist in its own axes."""
        return with_entries(placement, iter((*(self.axes @ Vec(twist[:3])), *(self.axes @ Vec(twist[3:])))))


class SeriesJoint(Joint):
    """Joints in series. Subclasses define the `parts`, whose coordinates and velocities are concatenated.

    S and S° come from the recursion over the parts: with V = X₂ V₁ + V₂ and X₂ the motion transform across part 2,
    dX₂/dt = -ad(V₂) X₂, so S° v = X₂ (S° v)₁ + (S° v)₂ - ad(V₂) X₂ V₁.
    """

    parts: tuple[Part, ...]

    @cached_property
    def _chain(self) -> tuple[tuple[SeriesLink, ...], Transform]:
        """The parts with every joint about z, all that is constant merged; and the placement after the last joint."""
        links: list[SeriesLink] = []
        pending, at_q, at_v = IDENTITY, 0, 0
        for part in _flatten(self.parts):
            if isinstance(part, Transform):
                pending = _product(pending, part)
                continue
            A, joint = part.aligned()
            before = pending if A is None else _product(pending, Transform((A,)))
            links.append(SeriesLink(before, joint, slice(at_q, at_q + joint.nq), slice(at_v, at_v + joint.nv)))
            pending = IDENTITY if A is None else Transform((A.T,))
            at_q, at_v = at_q + joint.nq, at_v + joint.nv
        return tuple(links), pending

    @property
    def _links(self) -> tuple[SeriesLink, ...]:
        return self._chain[0]

    @cached_property
    def pivot(self) -> str:
        """A point at which the origins of child and parent stay together, found from the placement at symbols."""
        p = self.placement(Graph().inputs("q", self.nq)).p
        return "point" if p == zeros(3) else ""

    def placement(self, q: Sequence[Scalar]) -> Transform:
        links, after = self._chain
        T = IDENTITY
        for link in links:
            T = T.then(link.transform(q))
        return T.then(after)

    def subspace(self, q: Sequence[Scalar]) -> Subspace:
        return self._columns(q) if self._selection is None else self._selection

    @cached_property
    def _selection(self) -> Selection | None:
        """S where it is a constant selection, as for prismatic joints along x and y; found from S at symbols."""
        columns = self._columns(Graph().inputs("q", self.nq)).columns
        rows = tuple(column.index(1.0) if 1.0 in column else -1 for column in columns)
        selected = Selection(rows)
        return selected if len(set(rows) - {-1}) == len(rows) and selected.dense.columns == columns else None

    def _columns(self, q: Sequence[Scalar]) -> Columns:
        links, after = self._chain
        return series((link.transform(q), link.joint.subspace(q[link.q])) for link in links).to_child(after)

    def bias(self, q: Sequence[Scalar], v: Sequence[Scalar]) -> Twist:
        links, after = self._chain
        V, c = Twist.zero(), Twist.zero()
        for link in links:
            X, own_q, own_v = link.transform(q), q[link.q], v[link.v]
            V_before, V_own = X.motion_to_child(V), link.joint.subspace(own_q).twist(own_v)
            c = X.motion_to_child(c) + link.joint.bias(own_q, own_v) - V_own.ad(V_before)
            V = V_before + V_own
        return after.motion_to_child(c)

    def subspace_rate(self, q: Sequence[Scalar], v: Sequence[Scalar]) -> tuple[Twist, ...]:
        links, after = self._chain
        S, rates = (), ()
        for link in links:
            X, own_q, own_v = link.transform(q), q[link.q], v[link.v]
            link_subspace = link.joint.subspace(own_q)
            V_own = link_subspace.twist(own_v)
            S = tuple(X.motion_to_child(s) for s in S)
            carried = tuple(X.motion_to_child(r) - V_own.ad(s) for r, s in zip(rates, S, strict=True))
            S, rates = (*S, *link_subspace.twists()), (*carried, *link.joint.subspace_rate(own_q, own_v))
        return tuple(after.motion_to_child(r) for r in rates)

    def in_series(self) -> list[Part] | None:
        flat_parts: list[Part] = []
        for part in self.parts:
            inner = [part] if isinstance(part, Transform) else part.in_series()
            if inner is None:
                return None
            flat_parts += inner
        return flat_parts

    def aligned(self) -> tuple[Mat | None, Joint]:
        """The frames in which the last joint is about z: the rotation after it moves to the other end."""
        links, after = self._chain
        if not after.factors:
            return None, self
        first = links[0]._replace(before=_product(Transform(after.factors), links[0].before))
        return after.R.T, Composite(*_parts((first, *links[1:]), Transform((), after.p)))

    @property
    def quaternions(self) -> tuple[int, ...]:
        return tuple(link.q.start + k for link in self._links for k in link.joint.quaternions)

    def integrate(self, q: Sequence[Scalar], v: Sequence[Scalar]) -> Vec:
        return Vec([x for link in self._links for x in link.joint.integrate(q[link.q], v[link.v])])

    def rate(self, q: Sequence[Scalar], v: Sequence[Scalar]) -> Vec:
        return Vec([x for link in self._links for x in link.joint.rate(q[link.q], v[link.v])])

    def difference(self, q0: Sequence[Scalar], q1: Sequence[Scalar]) -> Vec:
        return Vec([x for link in self._links for x in link.joint.difference(q0[link.q], q1[link.q])])

    def chart_rate(self, theta: Sequence[Scalar], v: Sequence[Scalar]) -> Vec:
        return Vec([x for link in self._links for x in link.joint.chart_rate(theta[link.v], v[link.v])])

    def coadjoint(self, v: Sequence[Scalar], p: Sequence[Scalar]) -> Vec:
        return Vec([x for link in self._links for x in link.joint.coadjoint(v[link.v], p[link.v])])

    def stretch(self, rest: Sequence[Scalar], q: Sequence[Scalar]) -> Vec:
        return Vec([x for link in self._links for x in link.joint.stretch(rest[link.q], q[link.q])])

    def stretch_rates(self, rest: Sequence[Scalar], q: Sequence[Scalar]) -> tuple[Vec, ...]:
        columns = []
        for link in self._links:
            for rate in link.joint.stretch_rates(rest[link.q], q[link.q]):
                whole: list[Scalar] = [0.0] * self.nv
                whole[link.v] = rate
                columns.append(Vec(whole))
        return tuple(columns)

    def neutral(self) -> tuple[float, ...]:
        return tuple(x for link in self._links for x in link.joint.neutral())

    def random(
        self, rng: np.random.Generator, lower: np.ndarray, upper: np.ndarray, size: tuple[int, ...] = ()
    ) -> np.ndarray:
        parts = [link.joint.random(rng, lower[link.q], upper[link.q], size) for link in self._links]
        return np.concatenate(parts, axis=-1)


@dataclass(frozen=True, init=False, repr=False)
class Composite(SeriesJoint):
    """Joints in series as one joint, without bodies between. q and v: those of the parts, one after the other.

    Parameters
    ----------
    *parts : Joint or Transform
        Joints, and placements between them. With these, the neutral configuration places the child at their product;
        they may vary (`System.varying`), as "joint.2_placement" before the second joint, and "joint.end_placement".

    Examples
    --------
    >>> import fourbar as fb
    >>> joint = fb.joints.Composite(fb.joints.Prismatic("x"), fb.joints.Revolute("z"))
    >>> joint.nq, joint.nv
    (2, 2)
    """

    parts: tuple[Part, ...]
    gaps: tuple[Gap, ...]  # of its placements, which may vary

    def __init__(self, *parts: Part) -> None:
        object.__setattr__(self, "parts", tuple(_read_part(part) for part in parts))
        object.__setattr__(self, "gaps", tuple(_gaps(self.parts)))
        if not any(isinstance(part, Joint) for part in parts):
            raise ModelError(f"a composite joint needs at least one joint, got {parts!r}; use Fixed() for none")
        unlimited = np.full(self.nq, np.inf)
        require_independent(self, self.random(np.random.default_rng(0), -unlimited, unlimited).tolist(), repr(self))

    @classmethod
    def redundant(cls, *parts: Part) -> Composite:
        """Joints in series whose velocities may be dependent everywhere, as those of a massless chain with armature."""
        made = object.__new__(cls)
        object.__setattr__(made, "parts", tuple(_read_part(part) for part in parts))
        object.__setattr__(made, "gaps", ())
        return made

    def aligned(self) -> tuple[Mat | None, Joint]:
        A, joint = super().aligned()
        if A is None:
            return None, self
        last = len(self._links)
        gaps = tuple(x._replace(axes=A.T) if x.number == last else x for x in self.gaps)
        return A, with_field(joint, "gaps", gaps)

    @property
    def variable(self) -> dict[str, Any]:
        """The placements, "2_placement" before the second joint and "end_placement" after the last one; and the numbers
        of the joints in series, called as their velocities are: "2_pitch" is that of the second one.
        """
        placements: dict[str, Any] = {x.name_among(len(self._links)): IDENTITY for x in self.gaps}
        return placements | {
            _numbered_name(i, name): x
            for i, link in enumerate(self._links, 1)
            for name, x in link.joint.variable.items()
        }

    def why_constant(self, name: str) -> str:
        number, _, field = name.partition("_")
        links = self._links
        if field == "placement" and (number == "end" or number in map(str, range(1, len(links) + 1))):
            where = "after its last joint" if number == "end" else f"before its joint {number}"
            return f"the composite joint has no placement {where}; build it with one, such as Transform()"
        if field.startswith("axis") and number in map(str, range(1, len(links) + 1)):
            return f"{why_axis_is_constant(links[int(number) - 1].joint)}; turn it by placements around it"
        return ""

    def with_numbers(self, numbers: Mapping[str, Sequence[Scalar]]) -> Composite:
        links, after = self._chain
        changed, left = list(links), dict(numbers)
        for n, link in enumerate(links):
            called = {name: _numbered_name(n + 1, name) for name in link.joint.variable}
            if own := {name: left.pop(whole) for name, whole in called.items() if whole in left}:
                changed[n] = link._replace(joint=link.joint.with_numbers(own))
        for gap in self.gaps:
            twist = left.pop(gap.name_among(len(links)), None)
            if twist is None:
                continue
            if gap.number == len(links):
                after = gap.displace(after, twist)
            else:
                link = changed[gap.number]
                changed[gap.number] = link._replace(before=gap.displace(link.before, twist))
        if left:
            raise KeyError(*left)
        if all(isinstance(x, float) for entries in numbers.values() for x in entries):
            return with_field(Composite(*_parts(changed, after)), "gaps", self.gaps)
        parts = tuple(part for link in changed for part in (link.before, link.joint))
        other = with_field(self, "parts", (*parts, after))
        # symbols of a recording are in no other trace: nothing is tried which traces of its own would find
        other.__dict__.update(_chain=(tuple(changed), after), pivot="", _selection=None)
        return other

    @property
    def nq(self) -> int:
        return sum(part.nq for part in self.parts if isinstance(part, Joint))

    @property
    def nv(self) -> int:
        return sum(part.nv for part in self.parts if isinstance(part, Joint))

    @property
    def q_names(self) -> tuple[str, ...]:
        return tuple(_numbered_name(i, name) for i, link in enumerate(self._links, 1) for name in link.joint.q_names)

    @property
    def v_names(self) -> tuple[str, ...]:
        return tuple(_numbered_name(i, name) for i, link in enumerate(self._links, 1) for name in link.joint.v_names)

    def mirrored(self, mirror: Mirror) -> Mirrored:
        images = [mirror.joint(part) if isinstance(part, Joint) else mirror.transform(part) for part in self.parts]
        moving = [image for image in images if isinstance(image, Mirrored)]
        parts = [image.joint if isinstance(image, Mirrored) else image for image in images]
        return Mirrored(Composite(*parts), blocks(*(m.q for m in moving)), blocks(*(m.v for m in moving)))

    def otherwise(self) -> list[Part] | None:
        parts = [[p] if isinstance(p, Transform) else p.in_series() or p.otherwise() for p in self.parts]
        return None if any(p is None for p in parts) else [x for p in parts for x in p or ()]

    def __repr__(self) -> str:
        return f"Composite({', '.join(map(repr, self.parts))})"


def _read_part(part: Any) -> Part:
    """A joint, or a placement in plain floats with its rotation as one matrix."""
    if isinstance(part, Joint):
        return part
    if not isinstance(part, Transform):
        raise ModelError(f"the parts of a composite joint must be joints and Transforms, got {part!r}")
    try:
        R, p = np.array(part.R, float), np.array(part.p, float)
    except (TypeError, ValueError, OverflowError):
        raise ModelError(
            f"a placement inside a composite joint must consist of constant numbers, got {part!r}"
        ) from None
    error = np.abs(R @ R.T - np.eye(3)).max()
    if not (error < 1e-9 and np.linalg.det(R) > 0.0 and np.all(np.isfinite(p))):
        raise ModelError(f"a placement inside a composite joint needs a rotation matrix and a finite p, got {part!r}")
    return Transform.of(Mat.of(R), vec(p))


def _flatten(parts: Sequence[Part]) -> Iterator[Part]:
    """The parts, with nested series flattened."""
    for part in parts:
        if isinstance(part, SeriesJoint):
            yield from _flatten(part.parts)
        else:
            yield part


def _gaps(parts: Sequence[Part]) -> Iterator[Gap]:
    """The placements among the parts, one for all that follow each other."""
    number, pending = 0, False
    for part in _flatten(parts):
        if isinstance(part, Transform):
            pending = True
            continue
        if pending:
            A, _ = part.aligned()
            yield Gap(number, Mat.identity(3) if A is None else A.T)
        number, pending = number + 1, False
    if pending:
        yield Gap(number, Mat.identity(3))


def _parts(links: Sequence[SeriesLink], after: Transform) -> list[Part]:
    """The parts of a chain, without placements that do nothing."""
    return [part for link in links for part in (link.before, link.joint) if part != IDENTITY] + (
        [after] if after != IDENTITY else []
    )


def _product(outer: Transform, inner: Transform) -> Transform:
    """The product of two constant placements, its rotation as one matrix."""
    T = outer.then(inner)
    return Transform.of([[_tidy(x) for x in row] for row in T.R], T.p)


def _tidy(x: float) -> float:
    """Entries of AᵀA that differ from 0 or ±1 by rounding only would hide the structure of what is around them."""
    return float(round(x)) if abs(x - round(x)) < 1e-15 else x


def _numbered_name(number: int, name: str) -> str:
    return f"{number}_{name}" if name else str(number)
