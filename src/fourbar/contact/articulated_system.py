"""Newton's equations of all rows as equations of motion of the joints, by articulated inertias.

Rows are J = C B over bases B: unit wrenches on links, or velocities of joints. A block's step is δ = own - K C y, where
y is how much faster the bases move; with M̃ the mass matrix with what acts implicitly, S = Σ Cᵀ K C and f = Σ Cᵀ own

    (M̃ + Bᵀ S B) v = Bᵀ f,    y = B v

Contacts of a link are an inertia S on it that need not be symmetric, limits and dry friction of joints numbers beside
their armature, and contacts of two links an inertia that acts between them. So a solution is a pass of the
articulated-body algorithm, outermost links first: the velocities y of a cluster, whose links move by V_b = V_c + T_b y
on carriers c, are eliminated from F = A V,

    W_j = Σ A_jb T_b,   L_k = Σ A_bkᵀ T_b,   D = Σ T_bᵀ W_b + d,   u = Σ T_bᵀ F_b + f
    A_jk -= W_j D⁻¹ L_kᵀ,   F_j -= W_j D⁻¹ u

for all links j, k that the cluster leaves coupled: its carriers, and those that touch it or what it carries. The cost
does not grow with the number of contacts of a link; those of two links cost more on their paths to a common carrier.

Rows R over the velocities of several clusters (constraints that forces keep, servos on tendons) are added after the
pass, by as many solutions as there are rows (Woodbury).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from ..spatial.linear import Mat, Vec, is_zero
from ..tree.cluster_tree import GROUND
from . import articulated_passes as passes
from .articulated_passes import PassShape, ReleasedCluster
from .link_motions import LinkMotions


class LinkBase(NamedTuple):
    """Unit wrenches on a link, in axes of the world about the origin of its tree's root. Contacts of the same two links
    have a base of their own on each of them."""

    link: int

    @property
    def size(self) -> int:
        """Number of rows."""
        return 6


class JointsBase(NamedTuple):
    """Rows of some joints, no two of one block: (cluster, row over its velocities) each."""

    rows: tuple[tuple[int, Vec], ...]

    @property
    def size(self) -> int:
        """Number of rows."""
        return len(self.rows)


class RowBase(NamedTuple):
    """Rows over the independent velocities of several clusters, (m, nv)."""

    rows: Sequence[Sequence[Any]]

    @property
    def size(self) -> int:
        """Number of rows."""
        return len(self.rows)


Base = LinkBase | JointsBase | RowBase


class Passed(NamedTuple):
    """A cluster after a pass inward: its shape, the links that are its fronts, and how it was released."""

    shape: PassShape
    fronts: tuple[int, ...]
    released: ReleasedCluster


Inward = dict[int, Passed]  # by cluster, in the order of the pass


class SystemMotion(NamedTuple):
    """The velocities of clusters and the twists of links; those that do not move are left out."""

    y: dict[int, Vec]
    V: dict[int, Vec]


class ArticulatedSystem:
    """The equations at a state: how joints move links, their inertias, and bases."""

    def __init__(self, motions: LinkMotions, first_v: Sequence[int], bases: Sequence[Base], servos: Any = ()) -> None:
        """`first_v` of each cluster; `servos`: rows over all velocities and their weights, which belong to M̃."""
        self.motions, self.bases, self._call = motions, bases, motions.call
        self.sizes = [base.size for base in bases]
        self.nv, self._first = first_v[-1], list(first_v)
        rows = [row for base in bases if isinstance(base, RowBase) for row in base.rows]
        self._rows = [self._by_cluster(row) for row in [*rows, *(gear for gear, _ in servos)]]
        self._weights = [weight for _, weight in servos]
        self._loaded = self._find_loaded()
        free = [n for n in motions.order if n not in self._loaded]
        A = {(link, link): [I] for link, I in motions.inertia.items()}
        d = {n: list(x) for n, x in enumerate(motions.armature)}
        unloaded = self._inward(free, A, d, {}, {}, symmetric=True)
        self._A = {key: self._sum(parts, passes.add_matrices) for key, parts in A.items()}
        self._d = {n: self._sum(d[n], passes.add_matrices) for n in self._loaded if d[n]}
        A, d = {key: [x] for key, x in self._A.items()}, {n: [x] for n, x in self._d.items()}
        loaded = self._inward(self._loaded, A, d, {}, {}, symmetric=True)
        self._free = unloaded | loaded
        self._omega: dict[tuple[int, int], Any] = {}
        self._servos = self._woodbury(self._free, range(len(rows), len(self._rows)))

    def _find_loaded(self) -> list[int]:
        """The clusters that carry bases, those that carry others first."""
        clusters, home = self.motions.clusters, self.motions.home
        if self._rows:
            return list(self.motions.order)
        found: set[int] = set()
        for base in self.bases:
            for n in [home[base.link]] if isinstance(base, LinkBase) else [n for n, _ in base.rows]:  # type: ignore[union-attr]
                while n not in found:
                    found.add(n)
                    if clusters[n].carriers[0] != GROUND:
                        n = home[clusters[n].carriers[0]]
        return [n for n in self.motions.order if n in found]

    def _by_cluster(self, row: Sequence[Any]) -> dict[int, Vec]:
        """A row over all velocities by cluster, where it is not zero; of one that floats over its twist."""
        parts = {}
        for n, (first, end) in enumerate(zip(self._first, self._first[1:], strict=False)):
            own = Vec(row[first:end])
            if not all(map(is_zero, own)):
                parts[n] = self._call(passes.rotate, self.motions.T[n][0], own) if self.motions.floats[n] else own
        return parts

    def _sum(self, parts: Sequence[Any], add: Any) -> Any:
        total = parts[0]
        for x in parts[1:]:
            total = self._call(add, total, x)
        return total

    def _inward(
        self,
        clusters: Sequence[int],
        A: dict[tuple[int, int], list[Mat]],
        d: dict[int, list[Mat]],
        F: dict[int, list[Vec]],
        f: dict[int, list[Vec]],
        symmetric: bool,
    ) -> Inward:
        """Release some clusters, last first; what is left on the others is added to A, by two links, and F, by link."""
        passed: Inward = {}
        for n in reversed(clusters):
            links = self.motions.clusters[n].links
            others = sorted({k for j, k in A if j in links and k not in links})
            carriers = self.motions.carriers(n)
            fronts = (*carriers, *(k for k in others if k not in carriers))
            place = (*self.motions.place[n], *map(fronts.index, others))
            shape = PassShape(place, len(links), len(fronts), self.motions.floats[n], symmetric)
            both = (*links, *others)
            inertias = tuple(
                tuple(tuple(A.pop((j, k), ())) if j in links or k in links else () for k in both) for j in both
            )
            loads, own = tuple(tuple(F.pop(link, ())) for link in links), tuple(f.get(n, ()))
            given = (self.motions.T[n], inertias, tuple(d.get(n, ())), loads, own)
            released = self._call(passes.release, shape, *given)
            for j, row in zip(fronts, released.A, strict=True):
                for k, x in zip(fronts, row, strict=True):
                    A.setdefault((j, k), []).append(x)
            if own or any(loads):
                for j, x in zip(fronts, released.F, strict=True):
                    F.setdefault(j, []).append(x)
            else:
                released = released._replace(y=Vec())
            passed[n] = Passed(shape, fronts, released)
        return passed

    def _push(self, at: Inward, F: dict[int, list[Vec]], f: dict[int, list[Vec]]) -> dict[int, Vec]:
        """D⁻¹ u of the clusters that forces on links and within clusters reach."""
        y = {}
        for n, (shape, fronts, released) in at.items():
            links = self.motions.clusters[n].links
            loads, own = tuple(tuple(F.pop(link, ())) for link in links), tuple(f.get(n, ()))
            if not own and not any(loads):
                continue
            y[n], sent = self._call(passes.push, shape, self.motions.T[n], released.W, released.D, loads, own)
            for j, x in zip(fronts, sent, strict=True):
                F.setdefault(j, []).append(x)
        return y

    def _outward(self, at: Inward, y: dict[int, Vec], clusters: Iterable[int]) -> SystemMotion:
        """The motion of some clusters, those that carry others first, from their own parts D⁻¹ u."""
        moved = SystemMotion({}, {})
        for n in clusters:
            (shape, fronts, released), own = at[n], y.get(n, Vec())
            pulled = tuple(link in moved.V for link in fronts)
            if not own and not any(pulled):
                continue
            above = tuple(moved.V[x] if on else Vec([0.0] * 6) for x, on in zip(fronts, pulled, strict=True))
            moved.y[n], twists = self._call(passes.move, shape, self.motions.T[n], released.Z, own, above)
            moved.V.update(zip(self.motions.clusters[n].links, twists, strict=True))
        return moved

    def _forces(self, f: Sequence[Any]) -> tuple[dict[int, list[Vec]], dict[int, list[Vec]]]:
        """Forces along bases, None where there are none, as wrenches on links and forces within clusters."""
        on: dict[int, list[Vec]] = {}
        within: dict[int, list[Vec]] = {}
        row = 0
        for base, force in zip(self.bases, f, strict=True):
            own: Sequence[dict[int, Vec]] = ()
            if isinstance(base, RowBase):
                own, row = self._rows[row : row + base.size], row + base.size
            elif isinstance(base, JointsBase):
                own = [dict([x]) for x in base.rows]
            if force is None:
                continue
            if isinstance(base, LinkBase):
                on.setdefault(base.link, []).append(force)
            for parts, x in zip(own, force, strict=False):
                self._add_along(within, parts, x)
        return on, within

    def _add_along(self, within: dict[int, list[Vec]], row: dict[int, Vec], x: Any) -> None:
        for n, part in row.items():
            force = Vec((x,)) if part == (1.0,) else self._call(passes.along, part, x)
            within.setdefault(n, []).append(force)

    def _rate(self, row: dict[int, Vec], y: dict[int, Vec]) -> Any:
        """The velocity of a row."""
        moving = [n for n in row if n in y]
        if not moving:
            return 0.0
        if len(moving) == 1 and row[moving[0]] == (1.0,):
            return y[moving[0]][0]
        return self._call(passes.rate, tuple(row[n] for n in moving), tuple(y[n] for n in moving))

    def _velocities(self, moved: SystemMotion) -> list[Vec]:
        """The velocities of all bases."""
        found, row = [], 0
        for base in self.bases:
            if isinstance(base, LinkBase):
                found.append(moved.V.get(base.link, Vec([0.0] * 6)))
                continue
            rows: Sequence[dict[int, Vec]] = self._rows[row : row + base.size]
            if isinstance(base, JointsBase):
                rows = [dict([x]) for x in base.rows]
            else:
                row += base.size
            found.append(Vec([self._rate(x, moved.y) for x in rows]))
        return found

    def _motion(self, F: dict[int, list[Vec]], f: dict[int, list[Vec]], clusters: Iterable[int]) -> SystemMotion:
        """The motion of some clusters by forces, M̃⁻¹ f."""
        return self._corrected(self._outward(self._free, self._push(self._free, F, f), clusters), self._servos)

    def responses(self, f: Sequence[Any]) -> list[Vec]:
        """B M̃⁻¹ Bᵀ f."""
        return self._velocities(self._motion(*self._forces(f), self._loaded))

    def accelerations(self, f: Sequence[Any]) -> list[Any]:
        """M̃⁻¹ Bᵀ f by velocity, None where there is none."""
        return self._by_velocity(self._motion(*self._forces(f), self.motions.order))

    def solve(self, b: Sequence[Any]) -> list[Any]:
        """M̃⁻¹ b by velocity."""
        within = {n: [x] for n, x in self._by_cluster(b).items()}
        return self._by_velocity(self._motion({}, within, self.motions.order))

    def _by_velocity(self, moved: SystemMotion) -> list[Any]:
        found: list[Any] = [None] * self.nv
        for n, y in moved.y.items():
            own = self._call(passes.rotate_back, self.motions.T[n][0], y) if self.motions.floats[n] else y
            found[self._first[n] : self._first[n + 1]] = own
        return found

    def step(self, S: dict[tuple[int, int], list[Any]], f: Sequence[Any]) -> list[Vec]:
        """y of all bases, for S (sums, by two bases) and f of Newton's equations."""
        return self.solve_newton(S, f)[0]

    def solve_newton(self, S: dict[tuple[int, int], list[Any]], f: Sequence[Any]) -> tuple[list[Vec], StiffSystem]:
        """y of all bases, and the equations with S, to be solved again."""
        A = {key: [x] for key, x in self._A.items()}
        d = {n: [x] for n, x in self._d.items()}
        weights: list[Any] = []
        for (a, b), parts in S.items():
            first, second = self.bases[a], self.bases[b]
            if isinstance(first, LinkBase) and isinstance(second, LinkBase):
                A.setdefault((first.link, second.link), []).extend(parts)
                continue
            K = self._sum(parts, passes.add_matrices)
            if isinstance(first, JointsBase):
                for k, (n, row) in enumerate(first.rows):
                    own = Mat((Vec((K[k][k],)),)) if row == (1.0,) else self._call(passes.outer, row, K[k][k])
                    d.setdefault(n, []).append(own)
            else:
                weights += [K[k][k] for k in range(first.size)]
        at = self._inward(self._loaded, A, d, *self._forces(f), symmetric=False)
        y = {n: x.released.y for n, x in at.items() if x.released.y}
        rows = self._woodbury(at, range(len(self._rows)), [*weights, *self._weights])
        stiff = StiffSystem(self, at, rows)
        return self._velocities(self._corrected(self._outward(at, y, self._loaded), rows)), stiff

    def solve_stiff(self, at: Inward, rows: Woodbury | None, f: Sequence[Any]) -> list[Vec]:
        """y of all bases of equations that were solved before."""
        moved = self._outward(at, self._push(at, *self._forces(f)), self._loaded)
        return self._velocities(self._corrected(moved, rows))

    def _corrected(self, moved: SystemMotion, rows: Woodbury | None) -> SystemMotion:
        return rows.correct(self._call, moved, self._rate) if rows else moved

    def _woodbury(self, at: Inward, numbers: Sequence[int], weights: Sequence[Any] | None = None) -> Woodbury | None:
        """How some rows change solutions of the equations without them; None if there are none. `weights`: those of the
        servos if None."""
        rows = [self._rows[k] for k in numbers]
        if not rows:
            return None
        within = ({n: [x] for n, x in row.items()} for row in rows)
        motions = [self._outward(at, self._push(at, {}, f), self._loaded) for f in within]
        G = Mat(Vec([self._rate(row, moved.y) for moved in motions]) for row in rows)
        W = self._call(passes.stiff_inverse, G, Vec(self._weights if weights is None else weights))
        return Woodbury(rows, motions, W)

    def between(self, a: int, b: int) -> Any:
        """B M̃⁻¹ Bᵀ of two bases on links, None if they are uncoupled; of another base with itself the diagonal."""
        first, second = self.bases[a], self.bases[b]
        if isinstance(first, LinkBase) and isinstance(second, LinkBase):
            found = self._response(first.link, second.link)
            if not self._servos:
                return found
            sides = [
                tuple(x.V.get(base.link, Vec([0.0] * 6)) for x in self._servos.motions) for base in (first, second)
            ]
            none = Mat.zeros(6, 6)
            return self._call(passes.soften, none if found is None else found, *sides, self._servos.W)
        if isinstance(first, JointsBase):
            own = [self._row_response(n, row) for n, row in first.rows]
        else:
            before = sum(base.size for base in self.bases[:a] if isinstance(base, RowBase))
            rows = self._rows[before : before + first.size]
            own = [self._rate(row, self._motion({}, {n: [x] for n, x in row.items()}, self._loaded).y) for row in rows]
        return Mat(Vec([x if i == j else 0.0 for j in range(len(own))]) for i, x in enumerate(own))

    def _response(self, a: int, b: int) -> Any:
        """Ω (6, 6) of two links without servos, None if they are uncoupled."""
        if GROUND in (a, b):
            return None
        if (a, b) in self._omega:
            return self._omega[a, b]
        if (b, a) in self._omega:
            known = self._omega[b, a]
            return None if known is None else known.T
        motions = self.motions
        n, m = motions.home[a], motions.home[b]
        if n < m:
            found = self._response(b, a)
            return None if found is None else found.T
        at, links, carriers = self._free[n].released, motions.clusters[n].links, motions.carriers(n)
        place, T = motions.place[n], motions.T[n]
        i = links.index(a)
        if n == m:
            found = self._own_response(n, i, links.index(b))
        else:
            beyond = [self._response(c, b) for c in carriers]
            if all(x is None for x in beyond):
                found = None
            else:
                Omega = tuple(Mat.zeros(6, 6) if x is None else x for x in beyond)
                found = self._call(passes.carry_response, place[i], T[i], at.Z, Omega)
        self._omega[a, b] = found
        return found

    def _own_response(self, n: int, i: int, j: int) -> Mat:
        """Ω of two links of a cluster by their places."""
        at, motions = self._free[n].released, self.motions
        if motions.floats[n]:
            return self._call(passes.respond_floating, at.D)
        fronts, T = (motions.place[n][i], motions.place[n][j]), (motions.T[n][i], motions.T[n][j])
        return self._call(passes.respond, fronts, T, at.Z, at.D, self._above(n))

    def _above(self, n: int) -> tuple[tuple[Mat, ...], ...]:
        """Ω of the carriers of a cluster."""
        carriers = self.motions.carriers(n)
        return tuple(tuple(self._response(c, k) for k in carriers) for c in carriers)

    def _row_response(self, n: int, row: Vec) -> Any:
        """The velocity of a row of a cluster under a unit force of its own."""
        at = self._free[n].released
        own = self._call(passes.row_response, row, at.W, at.Z, at.D, self._above(n))
        if not self._servos:
            return own
        rates = Vec([self._rate({n: row}, x.y) for x in self._servos.motions])
        return self._call(passes.soften_row, own, rates, self._servos.W)


class StiffSystem(NamedTuple):
    """Newton's equations with S: a pass inward, and rows over several clusters."""

    system: ArticulatedSystem
    at: Inward
    rows: Woodbury | None

    def step(self, f: Sequence[Any]) -> list[Vec]:
        """y of all bases for another f."""
        return self.system.solve_stiff(self.at, self.rows, f)


class Woodbury(NamedTuple):
    """Rows R beside equations H: R by cluster, H⁻¹ Rᵀ, and W = (1 + K R H⁻¹ Rᵀ)⁻¹ K with their stiffness K."""

    rows: Sequence[dict[int, Vec]]
    motions: Sequence[SystemMotion]
    W: Mat

    def correct(self, call: Any, moved: SystemMotion, rate: Any) -> SystemMotion:
        """The solution with the rows, from that without them."""
        weights = call(passes.times, self.W, Vec([rate(row, moved.y) for row in self.rows]))
        return SystemMotion(*(self._subtract(call, k, part, weights) for k, part in enumerate(moved)))

    def _subtract(self, call: Any, k: int, part: dict[int, Vec], weights: Vec) -> dict[int, Vec]:
        found = {}
        for key in sorted({*part, *(key for x in self.motions for key in x[k])}):
            some = [(x[k][key], w) for x, w in zip(self.motions, weights, strict=True) if key in x[k]]
            own = part.get(key, Vec([0.0] * len(some[0][0])) if some else Vec())
            columns, by = tuple(x for x, _ in some), Vec([w for _, w in some])
            found[key] = call(passes.subtract_multiples, own, columns, by) if some else own
        return found
