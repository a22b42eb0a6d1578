"""The rows of a condition, differentiated: φ, A v, A a + Ȧ v, and A as what it does to links and to joints."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple

from ..errors import ModelError
from ..expr import Expr, Graph, evaluate, jvp
from ..joints.base import Joint
from ..spatial.linear import Mat, Scalar, Vec, hat
from ..spatial.transform import Transform
from ..spatial.vectors import Twist
from .read import check_linear, known
from .restriction import Restriction

GROUND = -1
_LINK = (9, 3, 3, 3, 3, 3, 9)  # numbers of a moving link: R, p, ω, v, α, a, Γ


class Taylor(NamedTuple):
    """A link to second order in time, relative to its carrier: R, p; ω, v; α, a (classical), Γ = [α] + [ω]²."""

    R: Mat
    p: Vec
    w: Vec
    v: Vec
    al: Vec
    acc: Vec
    G: Mat

    @staticmethod
    def of(flat: Sequence[Scalar]) -> Taylor:
        """From its numbers, one after the other."""
        parts, at = [], 0
        for size in _LINK:
            own = Vec(flat[at : at + size])
            parts.append(own if size == 3 else Mat((Vec(own[:3]), Vec(own[3:6]), Vec(own[6:]))))
            at += size
        return Taylor(*parts)

    def pose(self, t: Scalar) -> Transform:
        """Pose after a time t, up to t²."""
        half = 0.5 * t * t
        R = self.R + (self.R @ hat(self.w)) * t + (self.R @ self.G) * half
        return Transform((R,), self.p + (self.R @ self.v) * t + (self.R @ self.acc) * half)

    def twist(self, t: Scalar) -> Twist:
        """Velocity in its own axes after a time t, up to t."""
        return Twist(self.w + self.al * t, self.v + (self.acc - self.w.cross(self.v)) * t)


LINK_SIZE = sum(_LINK)
PLACE_SIZE = 12  # numbers of a pose: R, p


@dataclass(frozen=True, eq=False)
class RowTrace:
    """Expressions of the numbers of the links (`LINK_SIZE` each), then q, v, a of the joints, then, if places may
    change, their poses (`PLACE_SIZE` each), then changes of the condition's own numbers."""

    inputs: tuple[Expr, ...]
    phi: tuple[Scalar, ...]  # zero for rows that are not the rate of anything
    rate: tuple[Scalar, ...]
    acceleration: tuple[Scalar, ...]
    pull: tuple[tuple[tuple[Scalar, ...], ...], ...]  # for each link: m rows of six
    turn: tuple[tuple[tuple[Scalar, ...], ...], ...]  # for each joint: m rows over its velocities
    holonomic: bool

    @property
    def m(self) -> int:
        """Number of rows."""
        return len(self.rate)

    @property
    def entries(self) -> list[Scalar]:
        """All entries of A."""
        return [x for part in (*self.pull, *self.turn) for row in part for x in row]


class _View:
    """What a condition sees at time t."""

    def __init__(
        self,
        condition: Restriction,
        t: Scalar,
        places: Mapping[str, tuple[int, Transform]],
        links: Mapping[int, Taylor],
        joints: Mapping[str, tuple[Joint, Vec, Vec, Vec]],
    ) -> None:
        self._of, self._t, self._places, self._links, self._joints = condition, t, places, links, joints

    def q(self, joint: str) -> Vec:
        kind, q, v, a = known(self._of, "joints", self._joints, joint)
        return kind.integrate(q, v * self._t + a * (0.5 * self._t * self._t))

    def v(self, joint: str) -> Vec:
        _, _, v, a = known(self._of, "joints", self._joints, joint)
        return v + a * self._t

    def pose(self, body: str) -> Transform:
        link, inner = known(self._of, self._of.sights, self._places, body)
        return inner if link == GROUND else self._links[link].pose(self._t).then(inner)

    def twist(self, place: str) -> Twist:
        link, inner = known(self._of, "places", self._places, place)
        return Twist.zero() if link == GROUND else inner.motion_to_child(self._links[link].twist(self._t))


class Varied(NamedTuple):
    """A condition whose numbers may change: `at` gives it for so many changes."""

    at: Callable[[Vec], Restriction]
    size: int = 0

    @staticmethod
    def fixed(condition: Restriction) -> Varied:
        """One that does not."""
        return Varied(lambda _: condition)


def trace(
    varied: Varied,
    places: Mapping[str, tuple[int, Transform]],
    links: Sequence[int],
    joints: Mapping[str, Joint],
    changing: bool = False,
) -> RowTrace:
    """Differentiate a condition in time, and its rates along the motions of links and joints.

    `places`: link and pose in it of what the condition looks at; `links`: those of them that move. The poses are inputs
    too if they are `changing`, and so are changes of the condition's numbers.
    """
    work = Graph()
    changes = Vec(work.inputs("change", varied.size))
    condition = varied.at(changes)
    poses: list[Any] = [work.inputs(f"place{k}", PLACE_SIZE) for k in range(len(places) if changing else 0)]
    if changing:
        homes = zip(places.items(), poses, strict=True)
        places = {name: (link, _pose(own)) for (name, (link, _)), own in homes}
    (t,) = work.inputs("t", 1)
    flat = [work.inputs(f"link{i}", LINK_SIZE) for i in links]
    moving = {i: Taylor.of(x) for i, x in zip(links, flat, strict=True)}
    state = {
        name: (j, Vec(work.inputs(f"q{k}", j.nq)), Vec(work.inputs(f"v{k}", j.nv)), Vec(work.inputs(f"a{k}", j.nv)))
        for k, (name, j) in enumerate(joints.items())
    }
    view = _View(condition, t, places, moving, state)
    phi, rate = condition.residual_and_rates(view, lambda x: jvp(x, {t: 1.0}))
    if not rate:
        raise ModelError(f"{condition!r} holds nothing: it has no rows")
    acceleration = jvp(rate, {t: 1.0})
    pull = [[jvp(rate, {x: 1.0}) for x in (*link.w, *link.v)] for link in moving.values()]
    turn = [[jvp(rate, {x: 1.0}) for x in v] for _, _, v, _ in state.values()]
    inputs: list[Any] = [x for link in flat for x in link]
    inputs += [x for _, q, v, a in state.values() for x in (*q, *v, *a)]
    inputs += [*(x for own in poses for x in own), *changes]
    traced = _settled(t, inputs, (phi, rate, acceleration), (pull, turn), condition.holonomic)
    if not traced.holonomic:
        moved = {x for link in moving.values() for x in (*link.w, *link.v)} | {
            x for _, _, v, _ in state.values() for x in v
        }
        moves = {y: x in moved for x, y in zip(inputs, traced.inputs, strict=True)}
        check_linear(condition, traced.rate, traced.entries, moves)
    return traced


def _pose(entries: Sequence[Scalar]) -> Transform:
    """A place from its numbers."""
    R = Mat(Vec(entries[i : i + 3]) for i in (0, 3, 6))
    return Transform((R,), Vec(entries[9:]))


def _settled(t: Expr, inputs: list[Any], rows: Any, columns: Any, holonomic: bool) -> RowTrace:
    """The same at t = 0, folded, in a graph of its own."""
    final = Graph()
    symbols = final.inputs("x", len(inputs))
    known: dict[Expr, Any] = {**dict(zip(inputs, symbols, strict=True)), t: 0.0}
    every = [*rows, *(column for parts in columns for part in parts for column in part)]
    found = iter(evaluate([x for column in every for x in column], known))  # at once: they have much in common
    m = len(rows[0])
    phi, rate, acceleration = (tuple(islice(found, m)) for _ in rows)
    pull, turn = (
        tuple(tuple(zip(*(tuple(islice(found, m)) for _ in part), strict=True)) for part in parts)  # columns to rows
        for parts in columns
    )
    return RowTrace(symbols, phi, rate, acceleration, pull, turn, holonomic)
