"""The Coriolis matrix and what belongs to it, for trees and for mechanisms with loops.

With q̇ = G ẏ, and M, C, Γ those of the spanning tree: C_ind = Gᵀ (C G + M Ġ) and
Γ_ind,abc = Σ G_ia (G_jb G_kc Γ_ijk + M_ij ∂_c G_jb), which have the same properties.
"""

from __future__ import annotations

from typing import Any

from ...algorithms import coriolis, crba, rnea
from ...algorithms import coriolis as symbols
from ...algorithms.tiles import transpose
from ...spatial.linear import Mat, Vec
from ...tree.embedding import map_rate
from ...tree.states import project_forces
from ..arguments import Q, V
from ..context import Context
from ..registry import Outputs, flat, method, vector

Rows = list[list[Any]]


def _add(a: Vec, b: Vec) -> Vec:
    return a + b


def _column(G: tuple[Mat, ...], c: int) -> tuple[Vec, ...]:
    return tuple(Vec([row[c] for row in block]) for block in G)


def _sum(c: Context, rows: Rows, others: Rows) -> Rows:
    """The sum of two matrices."""
    return [list(c.recorder.call(_add, Vec(a), Vec(b))) for a, b in zip(rows, others, strict=True)]


def _map_columns(c: Context, rows: Rows, n: int, blocks: tuple[Mat, ...]) -> Rows:
    """The columns of cluster n in rows (on the velocities of all links), times a map of its links, such as G or Ġ."""
    first, links = c.tree.first_v, c.tree.links
    cuts = [slice(first[i], first[i] + links[i].joint.nv) for i in c.clusters[n].links]
    return [list(c.recorder.call(project_forces, blocks, tuple(Vec(row[cut]) for cut in cuts))) for row in rows]


def _times_map_rate(c: Context, rows: Rows) -> Rows:
    """rows Ġ; zero in the columns of free links."""
    product: Rows = [[] for _ in rows]
    for n, (cluster, rates) in enumerate(zip(c.clusters, c.map_rates, strict=True)):
        nv = cluster.embedding.nv
        parts: Rows = [[0.0] * nv for _ in rows]
        if rates is not None and nv > 0:
            parts = _map_columns(c, rows, n, rates)
        for target, part in zip(product, parts, strict=True):
            target.extend(part)
    return product


def _coriolis(c: Context) -> Rows:
    parts = coriolis.parts(c.equations(), c.coordinates(), c.velocities())
    half = c.columns(coriolis.coriolis_matrix(parts))
    if c.is_looped:
        half = _sum(c, half, _times_map_rate(c, coriolis.mass_matrix(parts)))
    return transpose(c.columns(transpose(half)))


@method(Q, V, results="C")
def coriolis_matrix(c: Context) -> Outputs:
    """Coriolis matrix, the one of the Christoffel symbols.

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
    return [("C", (c.nv, c.nv), flat(_coriolis(c)))]


@method(Q, V, results="M_rate")
def mass_matrix_rate(c: Context) -> Outputs:
    """Rate of the mass matrix as the robot moves.

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
    C = _coriolis(c)
    return [("M_rate", (c.nv, c.nv), flat(_sum(c, C, transpose(C))))]


@method(Q, V, results="tau")
def coriolis_force(c: Context) -> Outputs:
    """Coriolis and centrifugal forces.

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
    tau = rnea.inverse_dynamics(c.equations(), c.velocities(), c.accelerations(""), c.F_ext(), (0.0, 0.0, 0.0))
    return vector(c, "tau", c.project(tau))


def _independent_symbols(c: Context, cube: symbols.Cube) -> symbols.Cube:
    """Γ of the spanning tree on independent velocities: contracted with G three times, plus Σ G_ia M_ij ∂_c G_jb."""
    planes = [c.columns(plane) for plane in cube]
    planes = [transpose(c.columns(transpose(plane))) for plane in planes]
    rows = c.columns([[plane[b][k] for plane in planes] for b in range(c.nv) for k in range(c.nv)])
    symbols_on_v = [[[rows[b * c.nv + k][a] for k in range(c.nv)] for b in range(c.nv)] for a in range(c.nv)]
    half = transpose(c.columns(crba.mass_matrix(c.equations())))
    first = 0
    for n, (cluster, e) in enumerate(zip(c.clusters, c.cluster_states, strict=True)):
        for k in range(first, first + (0 if cluster.is_free else cluster.embedding.nv)):
            v = c.recorder.call(_column, e.G, k - first)
            added = _map_columns(c, half, n, c.recorder.call(map_rate, cluster.embedding, e, v))
            for a, row in enumerate(added):
                column = Vec([symbols_on_v[a][first + b][k] for b in range(len(row))])
                for b, x in enumerate(c.recorder.call(_add, column, Vec(row))):
                    symbols_on_v[a][first + b][k] = x
        first += cluster.embedding.nv
    return symbols_on_v


@method(Q, results="Gamma")
def christoffel(c: Context) -> Outputs:
    """Christoffel symbols of the first kind of the mass matrix.

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
    cube = symbols.christoffel(c.equations(), c.coordinates())
    if c.is_looped:
        cube = _independent_symbols(c, cube)
    return [("Gamma", (c.nv, c.nv, c.nv), flat([flat(plane) for plane in cube]))]
