"""Steps of the passes of `articulated_system`, each for one cluster; all clusters of a shape share code."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ..expr.standalone_steps import standalone
from ..spatial.linear import Mat, Scalar, Vec

Mats = tuple[Mat, ...]
Vecs = tuple[Vec, ...]
Parts = tuple[Mats, ...]  # by place: matrices whose sum counts


class ReleasedCluster(NamedTuple):
    """A cluster whose velocities are eliminated: how it pushes on the links that it leaves coupled (W, by link), how it
    follows their motion (Z = D⁻¹ Lᵀ, by link), its D factored, its own motion D⁻¹ u, and what it adds to the equations
    of these links, A by two of them and F by one."""

    W: Mats  # (6, n) each
    Z: Mats  # (n, 6) each
    D: Mat  # (n, n)
    y: Vec  # (n,)
    A: tuple[Mats, ...]  # (6, 6) each
    F: Vecs  # (6,) each


class PassShape(NamedTuple):
    """How a cluster is released: for each of its links the front (by number) that is its carrier, -1 for the ground,
    and then those of other links that are coupled to them; how many links and fronts there are; whether its velocities
    are the twist of its only link; whether A is symmetric."""

    place: tuple[int, ...]
    links: int
    fronts: int
    floats: bool
    symmetric: bool


def add(a: Vec, b: Vec) -> Vec:
    """Sum of two vectors."""
    return Vec(a) + b


def add_matrices(a: Mat, b: Mat) -> Mat:
    """Sum of two matrices."""
    return Mat(a) + Mat(b)


def _total(parts: Sequence[Any]) -> Any:
    total = parts[0]
    for x in parts[1:]:
        total = total + x
    return total


def _sums(parts: Sequence[Any], count: int, places: Sequence[int]) -> list[Any]:
    """Sums of what goes to the same place, None where nothing does."""
    totals: list[Any] = [None] * count
    for place, x in zip(places, parts, strict=True):
        if place >= 0 and x is not None:
            totals[place] = x if totals[place] is None else totals[place] + x
    return totals


def _factor(A: Mat) -> Mat:
    """L and U of A = L U, one below and one above the diagonal, on which is one over that of U."""
    n = len(A)
    left = [list(row) for row in A]
    for k in range(n):
        left[k][k] = 1.0 / left[k][k]
        for i in range(k + 1, n):
            left[i][k] = left[i][k] * left[k][k]
            for j in range(k + 1, n):
                left[i][j] = left[i][j] - left[i][k] * left[k][j]
    return Mat(Vec(row) for row in left)


def _solution(LU: Mat, b: Sequence[Scalar]) -> Vec:
    """x with L U x = b, without pivoting."""
    x, n = list(b), len(b)
    for i in range(n):
        for j in range(i):
            x[i] = x[i] - LU[i][j] * x[j]
    for i in reversed(range(n)):
        for j in reversed(range(i + 1, n)):
            x[i] = x[i] - LU[i][j] * x[j]
        x[i] = x[i] * LU[i][i]
    return Vec(x)


def _solve_columns(LU: Mat, B: Mat) -> Mat:
    return Mat.from_columns([_solution(LU, column) for column in Mat(B).T])


@standalone
def release(shape: PassShape, T: Mats, A: tuple[Parts, ...], d: Mats, F: tuple[Vecs, ...], f: Vecs) -> ReleasedCluster:
    """Eliminate the velocities of a cluster. A by two places: its links, then other links that are coupled to these; F
    by link. Of each the parts are given, whose sums count."""
    links, size, place = shape.links, len(A), shape.place
    sums: list[list[Any]] = [[_total([Mat(x) for x in parts]) if parts else None for parts in row] for row in A]
    load = [_total([Vec(x) for x in parts]) if parts else None for parts in F]
    if shape.floats:
        W = [None if row[0] is None else row[0] for row in sums]
        L = W if shape.symmetric else [None if x is None else x.T for x in sums[0]]
        D, u = sums[0][0], load[0]
    else:
        W = [_total_product(row[:links], T) for row in sums]
        L = W if shape.symmetric else [
            _total_product([None if row[k] is None else row[k].T for row in sums[:links]], T) for k in range(size)
        ]  # fmt: skip
        D = _total([Mat(t).T @ w for t, w in zip(T, W, strict=False) if w is not None])
        u = None
        for t, x in zip(T, load, strict=True):
            if x is not None:
                u = Mat(t).transpose_times(x) if u is None else u + Mat(t).transpose_times(x)
    D = _total([D, *map(Mat, d)])
    for x in f:
        u = Vec(x) if u is None else u + x
    n = len(D)
    LU = _factor(D)
    y = _solution(LU, u) if u is not None else Vec([0.0] * n)
    on = _sums(W, shape.fronts, place)
    follows = on if shape.symmetric else _sums(L, shape.fronts, place)
    none = Mat.zeros(6, n)
    on, follows = [none if x is None else x for x in on], [none if x is None else x for x in follows]
    Z = [_solve_columns(LU, x.T) for x in follows]
    left = []
    for j in range(shape.fronts):
        row = []
        for k in range(shape.fronts):
            if shape.symmetric and k < j:
                row.append(left[k][j].T)
                continue
            own = [sums[a][b] for a in range(size) for b in range(size) if place[a] == j and place[b] == k
                   and (a < links or b < links) and sums[a][b] is not None]  # fmt: skip
            row.append(_less_product(_total(own) if own else None, on[j], Z[k], shape.symmetric and j == k))
        left.append(row)
    forces = []
    for j in range(shape.fronts):
        own = [load[a] for a in range(links) if place[a] == j and load[a] is not None]
        total = _total(own) if own else Vec([0.0] * 6)
        forces.append(total - on[j] @ y if u is not None else total)
    return ReleasedCluster(tuple(on), tuple(Z), LU, y, tuple(map(tuple, left)), tuple(forces))


def _total_product(row: Sequence[Any], T: Sequence[Mat]) -> Any:
    """Σ A_b T_b."""
    terms = [a @ Mat(t) for a, t in zip(row, T, strict=True) if a is not None]
    return _total(terms) if terms else None


def _less_product(own: Any, W: Mat, Z: Mat, symmetric: bool) -> Mat:
    """A - W Z, of a symmetric one the upper half twice."""
    columns = list(Z.T)
    rows: list[list[Scalar]] = [[0.0] * 6 for _ in range(6)]
    for i, w in enumerate(W):
        for j, z in enumerate(columns):
            if symmetric and j < i:
                rows[i][j] = rows[j][i]
                continue
            product = w.dot(z)
            rows[i][j] = -product if own is None else own[i][j] - product
    return Mat(map(Vec, rows))


@standalone
def push(shape: PassShape, T: Mats, W: Mats, D: Mat, F: tuple[Vecs, ...], f: Vecs) -> tuple[Vec, Vecs]:
    """D⁻¹ u of a cluster that is released already, under other forces, and those on its fronts."""
    load = [_total([Vec(x) for x in parts]) if parts else None for parts in F]
    u: Any = load[0] if shape.floats else None
    if not shape.floats:
        for t, x in zip(T, load, strict=True):
            if x is not None:
                u = Mat(t).transpose_times(x) if u is None else u + Mat(t).transpose_times(x)
    for x in f:
        u = Vec(x) if u is None else u + x
    y = _solution(D, u)
    forces = []
    for j, w in enumerate(W):
        own = [x for front, x in zip(shape.place, load, strict=False) if front == j and x is not None]
        forces.append(_total(own) - Mat(w) @ y if own else -(Mat(w) @ y))
    return y, tuple(forces)


@standalone
def move(shape: PassShape, T: Mats, Z: Mats, y: Vec, V: Vecs) -> tuple[Vec, Vecs]:
    """The velocities of a cluster, and the twists of its links, from those of its fronts; y: without these, if any."""
    own: Any = Vec(y) if y else None
    for z, twist in zip(Z, V, strict=True):
        pulled = Mat(z) @ twist
        own = -pulled if own is None else own - pulled
    if own is None:
        own = Vec([0.0] * (6 if shape.floats else len(T[0][0])))
    if shape.floats:
        return own, (own,)
    moved = []
    for front, t in zip(shape.place, T, strict=False):
        twist = Mat(t) @ own
        moved.append(twist + V[front] if front >= 0 else twist)
    return own, tuple(moved)


@standalone
def carry_twist(place: tuple[int, ...], T: Mats, v: Vec, V: Vecs) -> Vecs:
    """The twists of a cluster's links, from its velocities and the twists of its fronts."""
    moved = []
    for front, t in zip(place, T, strict=True):
        twist = Mat(t) @ v
        moved.append(twist + V[front] if front >= 0 else twist)
    return tuple(moved)


@standalone
def respond(fronts: tuple[int, int], T: Mats, Z: Mats, D: Mat, above: tuple[Mats, ...]) -> Mat:
    """Ω = X Ω X'ᵀ + T D⁻¹ T'ᵀ of two links of a cluster, maybe the same, with X = 1 - T Z beside their carriers;
    `above`: Ω of the carriers."""
    first, second = Mat(T[0]), Mat(T[1])
    total = first @ _solve_columns(D, second.T)
    if not above:
        return total
    rows = [_carried(fronts[0], first, Z, [above[c][k] for c in range(len(Z))]) for k in range(len(Z))]
    return total + _carried(fronts[1], second, Z, [x.T for x in rows]).T


@standalone
def respond_floating(D: Mat) -> Mat:
    """Ω of a link that floats."""
    return _solve_columns(D, Mat.identity(6))


def _carried(front: int, T: Mat, Z: Mats, Omega: Sequence[Mat]) -> Mat:
    """X Ω of a link, from Ω between its carriers and another link."""
    turned = _total([Mat(z) @ Mat(x) for z, x in zip(Z, Omega, strict=True)])
    return Mat(Omega[front]) - T @ turned


@standalone
def carry_response(front: int, T: Mat, Z: Mats, Omega: Mats) -> Mat:
    """Ω between a link of a cluster and a link beyond it, from that of its carriers."""
    return _carried(front, Mat(T), Z, Omega)


@standalone
def row_response(row: Vec, W: Mats, Z: Mats, D: Mat, above: tuple[Mats, ...]) -> Scalar:
    """The velocity of a row of a cluster under a unit force of its own."""
    y = _solution(D, row)
    total = Vec(row).dot(y)
    for z, some in zip(Z, above, strict=True):
        pushed = _total([Mat(x) @ (Mat(w) @ y) for x, w in zip(some, W, strict=True)])
        total = total + Vec(row).dot(Mat(z) @ pushed)
    return total


@standalone
def outer(row: Vec, K: Scalar) -> Mat:
    """K rowᵀ row."""
    return Mat(Vec([(K * a) * b for b in row]) for a in row)


@standalone
def along(row: Vec, f: Scalar) -> Vec:
    """A force along a row."""
    return Vec(row) * f


@standalone
def rate(rows: Vecs, v: Vecs) -> Scalar:
    """The velocity of a row over some clusters."""
    return _total([Vec(row).dot(x) for row, x in zip(rows, v, strict=True)])


def rotate(T: Mat, v: Vec) -> Vec:
    """The twist, or the wrench, of a link that floats from its velocities or forces on these: T is orthogonal."""
    return Mat(T) @ v


def rotate_back(T: Mat, V: Vec) -> Vec:
    """The velocities of a link that floats from its twist."""
    return Mat(T).transpose_times(V)


def stiff_inverse(G: Mat, K: Vec) -> Mat:
    """(1 + K G)⁻¹ K, for a diagonal K."""
    n = len(K)
    A = Mat(
        Vec([k * x + (1.0 if i == j else 0.0) for j, x in enumerate(row)])
        for i, (k, row) in enumerate(zip(K, G, strict=True))
    )
    return _solve_columns(_factor(A), Mat(Vec([K[i] if i == j else 0.0 for j in range(n)]) for i in range(n)))


def times(A: Mat, x: Vec) -> Vec:
    """A x."""
    return Mat(A) @ x


def subtract_multiples(x: Vec, columns: Vecs, weights: Vec) -> Vec:
    """x - Σ w c."""
    for column, w in zip(columns, weights, strict=True):
        x = Vec(x) - Vec(column) * w
    return x


def soften(Omega: Mat, left: Vecs, right: Vecs, W: Mat) -> Mat:
    """Ω - Y W Y'ᵀ, with columns Y and Y'."""
    return Mat(Omega) - Mat.from_columns(left) @ (Mat(W) @ Mat(right))


def soften_row(own: Scalar, rates: Vec, W: Mat) -> Scalar:
    """The response of a row, less that of servos to it."""
    return own - Vec(rates).dot(Mat(W) @ rates)
