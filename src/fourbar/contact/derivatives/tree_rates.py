"""Changes of the equations of a step by q and v for trees, from the sweeps that inverse dynamics has.

∂ID by its own sweeps, O(n · depth), with the contacts' forces held on their links. A contact is differentiated by the
displacements ξ of its links alone: with the body Jacobians J of these, the wrenches W on them and the twists V⁺ after
the step, δr = -Jᵀ (∂W/∂ξ) J δq, and δc = (∂c/∂ξ) J δq + C δV⁺ with C the rows over the links.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ...algorithms.derivatives import bend, has_constant_subspace, inverse_dynamics_variation
from ...algorithms.kinematics import along
from ...algorithms.tiles import Rows, plus_product, transpose
from ...arrays import Argument
from ...expr import Replay, Shared, Unrolled
from ...functions.registry import flat
from ...spatial.linear import Mat, Vec, is_zero
from ...spatial.transform import IDENTITY, Transform
from ...spatial.vectors import Twist
from ...tree.cluster_tree import GROUND, Location
from ...tree.links import Kinematics
from ..candidates import Candidate
from ..contact_rows import located, rates, touched
from ..terrain_numbers import TerrainNumbers
from .known_step import KnownStep, bias_of, with_bias
from .response import negative
from .tree_ends import velocity_slopes

_PIECE = 400


class Carried(NamedTuple):
    """A link in the world: pose, twist after the step, the unit motions S of its joint, and the changes ψ of the twists
    of all that it carries, as seen from these, when it moves by S; at the world's origin."""

    pose: Transform
    V: Twist
    S: tuple[Twist, ...]
    psi: tuple[Twist, ...]


_STILL = Carried(IDENTITY, Twist.zero(), (), ())


def carry_outward(k: Kinematics, parent: Carried, v: Vec, sigma: tuple[Twist, ...] | None) -> Carried:
    """A link on another one, at the velocity of its joint after the step; `sigma`: the derivatives of S v."""
    pose = parent.pose.then(k.X)
    pose = Transform((pose.R,), pose.p)
    S = tuple(map(pose.motion_to_parent, k.S.twists()))
    V = parent.V
    for s, x in zip(S, v, strict=True):
        V = V + Twist(s.angular * x, s.linear * x)
    psi = tuple(map(parent.V.ad, S))
    if sigma is not None:
        psi = tuple(t + pose.motion_to_parent(x) for t, x in zip(psi, sigma, strict=True))
    return Carried(pose, V, S, psi)


def _sigma(joint: Any, q: Vec, v: Vec) -> tuple[Twist, ...]:
    return bend(joint, q, v, Vec([0.0] * len(v))).sigma


def _in_body(pose: Transform, columns: tuple[Twist, ...]) -> tuple[Vec, ...]:
    return tuple(pose.motion_to_child(x).six() for x in columns)


class LinkSlopes(NamedTuple):
    """Of a link: its body Jacobian J (6, nv), and the changes Ψ (6, nv) of its twist after the step by q."""

    J: Rows
    psi: Rows


class TreeRates:
    """δr and δc (rows, 2 nv) by q and v, at a solution."""

    def __init__(self, step: KnownStep, a: Sequence[Vec], impulse: Sequence[Vec]) -> None:
        self._step, self._a, self._impulse = step, a, impulse
        self._recorder, self._call, self._n = step.c.recorder, step.call, step.c.nv
        self._ahead = step.ahead(a)
        self._speeds = self._by_link(self._ahead)
        self._links = self._slopes_of_links()

    def _by_link(self, v: Sequence[Vec]) -> list[Any]:
        found: list[Any] = [None] * len(self._step.s.tree.parents)
        for cluster, own in zip(self._step.c.clusters, v, strict=True):
            found[cluster.links[0]] = own
        return found

    def _slopes_of_links(self) -> dict[int, LinkSlopes]:
        step, call, tree = self._step, self._call, self._step.s.tree
        q = step.c.coordinates()
        sigma = [
            None if has_constant_subspace(x.joint) else call(_sigma, x.joint, q[i], self._speeds[i])
            for i, x in enumerate(tree.links)
        ]
        homes = [Location(link, IDENTITY) for link in step.touched]
        carried = along(step.s, homes, _STILL, carry_outward, self._speeds, sigma)
        found = {}
        for link in step.touched:
            J: Rows = [[0.0] * self._n for _ in range(6)]
            psi: Rows = [[0.0] * self._n for _ in range(6)]
            for i in (link, *tree.ancestors(link)):
                for target, columns in ((J, carried[i].S), (psi, carried[i].psi)):
                    for k, column in enumerate(call(_in_body, carried[link].pose, columns)):
                        for row, x in zip(target, column, strict=True):
                            row[tree.first_v[i] + k] = x
            found[link] = LinkSlopes(J, psi)
        return found

    def rates(self) -> tuple[Rows, Rows]:
        """δr (nv, 2 nv) without forces of springs, dampers and actuators, and δc of the contacts (rows, 2 nv)."""
        step, c, recorder = self._step, self._step.c, self._recorder
        on = step.contact_wrenches(self._impulse)
        by_link = c.links_accelerations(self._a)
        varied = inverse_dynamics_variation(step.s, c.coordinates(), c.velocities(), by_link, on, c.gravity)
        turns = velocity_slopes(step, self._a)
        r, dc = [[*by_q] for by_q in varied.q], list[list[Any]]()
        for k, candidate in enumerate(step.spec.candidates):
            links = [x for x in candidate.links if x != GROUND]
            slopes = self._contact(k, candidate)
            by_pose = [self._link_columns(link) for link in links]
            for link, of_wrench in zip(links, slopes.wrenches, strict=True):
                change: Rows = [[0.0] * self._n for _ in range(6)]
                for other, own in zip(links, of_wrench, strict=True):
                    change = _add(recorder, change, own, self._links[other].J)
                used = by_pose[links.index(link)]
                across = negative(recorder, transpose([[row[j] for j in used] for row in self._links[link].J]))
                some = plus_product(recorder, [r[j] for j in used], across, change)
                for j, row in zip(used, some, strict=True):
                    r[j] = row
            by_q: Rows = [[0.0] * self._n for _ in slopes.rows[0]]
            by_v: Rows = [[0.0] * self._n for _ in slopes.rows[0]]
            for link, of_c, rows in zip(links, slopes.velocity, slopes.rows, strict=True):
                J, psi = self._links[link]
                by_q = _add(recorder, _add(recorder, by_q, of_c, J), rows, psi)
                by_v = _add(recorder, by_v, rows, J)
            dc += [[*x, *self._turned(y, turns)] for x, y in zip(by_q, by_v, strict=True)]
        return [[*x, *y] for x, y in zip(r, varied.v, strict=True)], dc

    def _link_columns(self, link: int) -> list[int]:
        """The velocities that move a link."""
        J = self._links[link].J
        return [j for j in range(self._n) if not all(is_zero(row[j]) for row in J)]

    def _turned(self, row: list[Any], turns: dict[int, Rows]) -> list[Any]:
        """A row over v⁺ as one over v."""
        turned = list(row)
        for first, slopes in turns.items():
            own = row[first : first + len(slopes)]
            if not all(map(is_zero, own)):
                (turned[first : first + len(slopes)],) = plus_product(self._recorder, None, [own], slopes)
        return turned

    def _contact(self, k: int, candidate: Candidate) -> ContactSlopes:
        """A contact by the displacements of its links."""
        step, recorder = self._step, self._recorder
        links = [x for x in candidate.links if x != GROUND]
        size, places = 1 + sum(candidate.discs), [i for i, x in enumerate(candidate.links) if x != GROUND]
        numbers = TerrainNumbers(step.spec, step.c.given).of(candidate)
        flat_numbers = [x for _, value in numbers for x in _leaves(value)]
        inputs = [Argument(f"pose{i}", (12,)) for i in places] + [Argument(f"twist{i}", (6,)) for i in places]
        inputs += [Argument("impulse", (size,)), Argument("dt", ()), Argument("numbers", (len(flat_numbers),))]
        inputs = [x for x in inputs if 0 not in x.shape]
        own: Any = Shared() if isinstance(recorder, Shared) else Unrolled()
        given = {x.name: own.input(x.name, x.shape) for x in inputs}
        poses = tuple(_pose(given[f"pose{i}"]) if i in places else IDENTITY for i in range(2))
        twists = tuple(Twist.of(Vec(given[f"twist{i}"])) for i in places)
        shaped = _like(numbers, list(given.get("numbers", ())))
        wrenches, velocity, rows = own.call(
            _contact_terms, candidate, poses, twists, Vec(given["impulse"]), given["dt"][0], shaped
        )
        outputs = [(f"wrench{i}", (6,), list(x)) for i, x in zip(places, wrenches, strict=True)]
        outputs += [("velocity", (size,), list(velocity))]
        outputs += [(f"rows{i}", (6 * size,), flat(x)) for i, x in zip(places, rows, strict=True)]
        program = own.finish("contact", outputs)
        values: dict[str, Any] = {"impulse": tuple(self._impulse[k]), "dt": (step.dt,)}
        values |= {"numbers": tuple(flat_numbers)} if flat_numbers else {}
        ways = []
        for i, link in zip(places, links, strict=True):
            pose = step.poses[link]
            R, p = self._call(_pose_entries, pose)
            values[f"pose{i}"] = (*R, *p)
            values[f"twist{i}"] = tuple(self._call(_times_twist, tuple(map(tuple, self._links[link].J)), self._speed()))
            for unit in Mat.identity(6):
                ways.append({f"pose{i}": self._call(_pose_rate, pose, unit)})
        found, moved = Replay(program, recorder, values, _PIECE).push(ways)
        by_link = [moved[6 * j : 6 * j + 6] for j in range(len(links))]
        return ContactSlopes(
            [[transpose([list(x[f"wrench{i}"]) for x in some]) for some in by_link] for i in places],
            [transpose([list(x["velocity"]) for x in some]) for some in by_link],
            [[list(found[f"rows{i}"][6 * j : 6 * j + 6]) for j in range(size)] for i in places],
        )

    def _speed(self) -> tuple[Any, ...]:
        """v⁺ in the axes at the start."""
        return tuple(x for part in self._ahead for x in part)


class ContactSlopes(NamedTuple):
    """Of a contact: by link and displaced link ∂W/∂ξ (6, 6); by displaced link ∂c/∂ξ (rows, 6); by link its rows C
    (rows, 6)."""

    wrenches: list[list[Rows]]
    velocity: list[Rows]
    rows: list[Rows]


def _add(recorder: Any, total: Rows, left: Rows, right: Rows) -> Rows:
    """total + left right."""
    return plus_product(recorder, total, left, right)


def _times_twist(J: tuple[tuple[Any, ...], ...], v: tuple[Any, ...]) -> Vec:
    total: list[Any] = []
    for row in J:
        x: Any = 0.0
        for a, b in zip(row, v, strict=True):
            x = x + a * b
        total.append(x)
    return Vec(total)


def _pose(entries: Sequence[Any]) -> Transform:
    return Transform((Mat(Vec(entries[3 * i : 3 * i + 3]) for i in range(3)),), Vec(entries[9:]))


def _pose_entries(pose: Transform) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    units = Mat.identity(3)
    columns = [pose.rotate(x) for x in units]
    return tuple(columns[j][i] for i in range(3) for j in range(3)), tuple(pose.p)


def _pose_rate(pose: Transform, unit: Vec) -> tuple[Any, ...]:
    """The rates of a pose that moves with a unit twist, in its own axes."""
    columns = [pose.rotate(Vec(unit[:3]).cross(x)) for x in Mat.identity(3)]
    return (*(columns[j][i] for i in range(3) for j in range(3)), *pose.rotate(Vec(unit[3:])))


def _contact_terms(
    candidate: Candidate, poses: Any, twists: tuple[Twist, ...], impulse: Vec, dt: Any, numbers: Any
) -> tuple[tuple[Vec, ...], Vec, tuple[Mat, ...]]:
    """The wrenches of a contact on its links, means over the step; c; and its rows."""
    touch = touched(candidate.geometry, poses, numbers) if numbers else candidate.geometry.touch(*poses)
    placed = located(candidate, poses, touch)
    wrenches = tuple(rows.transpose_times(impulse) * (1.0 / dt) for rows in placed.rows)
    velocity = with_bias(rates(placed.rows, twists), *bias_of(candidate, placed.touch, dt), impulse)
    return wrenches, velocity, placed.rows


def _leaves(x: Any) -> list[Any]:
    return [y for part in x for y in _leaves(part)] if isinstance(x, tuple | list) else [x]


def _like(numbers: Any, entries: list[Any]) -> Any:
    """Numbers of terrain with other entries."""

    def fill(x: Any) -> Any:
        if isinstance(x, Vec):
            return Vec([fill(y) for y in x])
        return tuple(fill(y) for y in x) if isinstance(x, tuple | list) else entries.pop(0)

    return tuple((name, fill(value)) for name, value in numbers)
