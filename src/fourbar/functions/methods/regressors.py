"""Regressors: forces, momenta and energies as linear functions of the parameters of bodies and joints."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...algorithms import regressor as regressors
from ...algorithms.regressor import Blocks, Immersed
from ...errors import ArgumentError
from ...joints.base import Joint
from ...joints.euclidean import is_flat
from ...mechanism.inertial_parameters import RIGID, block_places, read_columns, upper_triangle
from ...spatial.linear import Mat, Vec, is_zero
from ...tree.cluster_tree import Location
from ...tree.links import hydrodynamics
from ..arguments import A, Q, V
from ..context import Context, Model, record
from ..registry import METHODS, Option, Outputs, flat, method

_COLUMNS = Option("columns", RIGID, type="str or sequence of str", text="Kinds of parameters, see `System.regressor`.")


def _read_columns(_: Any, columns: Any) -> dict[str, Any]:
    return {"columns": read_columns(columns)}


def _read_packed(_: Any, columns: Any, packed: Any) -> dict[str, Any]:
    if not isinstance(packed, bool):
        raise ArgumentError(f"packed={packed!r}: expected True or False")
    return {"columns": read_columns(columns), "packed": packed}


def _homes(c: Context) -> list[Location]:
    return [c.model.cluster_tree.bodies[body.name] for body in c.model.mechanism.bodies]


def _fluids(c: Context) -> list[Immersed]:
    """The fluids around bodies, also those that do not move."""
    tree, fluids = c.model.cluster_tree, []
    for body in c.model.mechanism.bodies:
        if body.fluid is not None:
            fluid = tree.fluids.get(body.name) or hydrodynamics(body.fluid)
            fluids.append(Immersed(*tree.bodies[body.name], fluid.inertia))
    return fluids


def _stretch(joint: Joint, q: Vec) -> Vec:
    return joint.stretch(Vec(joint.neutral()), q)


def _stretch_map(joint: Joint, q: Vec, G: Mat) -> Mat:
    """∂δ̇/∂v of a joint's stretch δ, on the independent velocities."""
    return Mat(joint.stretch_rates(Vec(joint.neutral()), q)).T @ G


def _stretches(c: Context) -> list[Vec]:
    """δ of each joint from neutral."""
    pairs = zip(c.model.cluster_tree.moving, c.coordinates(), strict=True)
    return [c.recorder.call(_stretch, moving.joint, q) for moving, q in pairs]


def _stretch_maps(c: Context) -> list[tuple[Mat, ...]]:
    """Maps from the independent velocities to rates of the stretches, by cluster and link.

    A spring's force is that which `passive_forces` gives it, -(∂δ̇/∂v)ᵀ k δ.
    """
    q = c.coordinates()
    maps: list[tuple[Mat, ...]] = []
    for cluster, e in zip(c.clusters, c.cluster_states, strict=True):
        joints = [c.model.cluster_tree.moving[i].joint for i in cluster.links]
        if all(map(is_flat, joints)) or not cluster.embedding.nv:
            maps.append(e.G)
            continue
        parts = zip(joints, cluster.links, e.G, strict=True)
        maps.append(tuple(c.recorder.call(_stretch_map, joint, q[i], G) for joint, i, G in parts))
    return maps


# What the parameters of joints multiply, for each link.
_FACTORS: dict[str, Callable[[Context], list[Vec]]] = {
    "damping": lambda c: c.velocities(),
    "friction": lambda c: [c.recorder.call(regressors.signs, v) for v in c.velocities()],
    "stiffness": _stretches,
    "preload": lambda c: [Vec((1.0,) * link.joint.nv) for link in c.tree.links],
}


def _maps(c: Context, kind: str) -> list[tuple[Mat, ...]] | None:
    """Along which maps these act on the independent velocities; None: along those of the velocities."""
    return _stretch_maps(c) if kind == "stiffness" else None


class _Rows:
    """The rows of a regressor on the independent velocities, filled column by column."""

    def __init__(self, c: Context) -> None:
        self.c = c
        self.rows: list[list[Any]] = [[] for _ in range(c.nv)]
        self.first = [sum(g.embedding.nv for g in c.clusters[:n]) for n in range(len(c.clusters))]

    def _append(self, parts: Sequence[tuple[int, Mat]], width: int) -> None:
        """New columns: blocks at given rows, zero elsewhere."""
        at = len(self.rows[0]) if self.rows else 0
        for first, block in parts:
            for row, values in zip(self.rows[first:], block, strict=False):
                row.extend(values)
        for row in self.rows:
            row.extend([0.0] * (at + width - len(row)))

    def add_bodies(self, blocks: Sequence[Blocks], momenta: Sequence[Blocks] | None = None, width: int = 10) -> None:
        """Columns of each body, ten if not said otherwise, by link: Gᵀ of `blocks`, and Ġᵀ of `momenta` if given."""
        for body, blocks_by_link in enumerate(blocks):
            parts: list[tuple[int, Mat]] = []
            for n, (cluster, e) in enumerate(zip(self.c.clusters, self.c.cluster_states, strict=True)):
                carrying = [b for b, link in enumerate(cluster.links) if link in blocks_by_link]
                if carrying and cluster.embedding.nv:
                    mine = tuple(blocks_by_link[cluster.links[b]] for b in carrying)
                    G = tuple(e.G[b] for b in carrying)
                    rates = self.c.map_rates[n] if momenta is not None else None
                    if rates is not None and momenta is not None:
                        mine += tuple(momenta[body][cluster.links[b]] for b in carrying)
                        G += tuple(rates[b] for b in carrying)
                    projected = mine[0] if e.is_identity else self.c.recorder.call(regressors.project_rows, G, mine)
                    parts.append((self.first[n], projected))
            self._append(parts, width)

    def add_joints(self, values: Sequence[Vec], along: Sequence[tuple[Mat, ...] | None] | None = None) -> None:
        """A column of each velocity of each link: Gᵀ of what its parameter multiplies, or of other maps `along` (None:
        zero)."""
        home = {link: (n, b) for n, cluster in enumerate(self.c.clusters) for b, link in enumerate(cluster.links)}
        maps = [e.G for e in self.c.cluster_states] if along is None else along
        for link, factors in enumerate(values):
            n, b = home[link]
            blocks = maps[n]
            G = Mat.zeros(len(factors), len(factors)) if blocks is None else blocks[b]
            block = (
                self.c.recorder.call(regressors.spread_rows, G, factors) if self.c.clusters[n].embedding.nv else Mat()
            )
            self._append([(self.first[n], block)], len(factors))

    def add_armatures(
        self, values: Sequence[Vec], along: Sequence[tuple[Mat, ...] | None] | None = None, sign: float = 1.0
    ) -> None:
        """As `add_joints`, and ±Gᵀ of the forces that turn a unit of each armature, where velocities do not commute."""
        at, v = len(self.rows[0]) if self.rows else 0, self.c.velocities()
        self.add_joints(values, along)
        home = {link: (n, b) for n, cluster in enumerate(self.c.clusters) for b, link in enumerate(cluster.links)}
        for i, link in enumerate(self.c.tree.links):
            n, b = home[i]
            if not is_flat(link.joint) and self.c.clusters[n].embedding.nv:
                G = self.c.cluster_states[n].G[b]
                first = at + self.c.tree.first_v[i]
                rows = self.rows[self.first[n] : self.first[n] + self.c.clusters[n].embedding.nv]
                own = Mat(Vec(row[first : first + link.joint.nv]) for row in rows)
                block = self.c.recorder.call(regressors.add_gyroscopic_columns, own, link.joint, v[i], G, sign)
                for row, values_ in zip(rows, block, strict=True):
                    row[first : first + link.joint.nv] = values_

    def add_armature_blocks(
        self, values: Sequence[Vec], along: Sequence[tuple[Mat, ...] | None] | None = None, sign: float = 1.0
    ) -> None:
        """A column of each entry of blocks that couple joints, as `add_armatures`; none turns for the sign zero."""
        tree, v = self.c.model.cluster_tree, self.c.velocities()
        number = {c.name: i for i, c in enumerate(tree.moving)}
        for block in self.c.model.mechanism.armatures:
            links = [number[name] for name in block.joints]
            n = next(n for n, cluster in enumerate(self.c.clusters) if links[0] in cluster.links)
            own = [self.c.clusters[n].links.index(i) for i in links]
            G = tuple(self.c.cluster_states[n].G[b] for b in own)
            rates = self.c.cluster_states[n].G if along is None else along[n]
            acting = None if rates is None else tuple(rates[b] for b in own)
            joints = tuple(tree.moving[i].joint for i in links)
            columns = self.c.recorder.call(
                regressors.block_columns, joints, tuple(values[i] for i in links), tuple(v[i] for i in links),
                acting, G, sign,
            )  # fmt: skip
            self._append([(self.first[n], columns)], len(upper_triangle(block)))

    def result(self) -> Outputs:
        """All rows as the result Y."""
        return [("Y", (self.c.nv, len(self.rows[0]) if self.rows else 0), flat(self.rows))]


def _torque_rows(c: Context, columns: Sequence[str]) -> list[list[Any]]:
    rows = _Rows(c)
    for kind in columns:
        if kind == "inertia":
            v, a = c.velocities(), c.accelerations("a")
            rows.add_bodies(regressors.force_blocks(c.sweeps(), _homes(c), v, a, c.gravity))
        elif kind == "fluid":
            if fluids := _fluids(c):
                state = c.velocities(), c.accelerations("a")
                rows.add_bodies(regressors.fluid_force_blocks(c.sweeps(), fluids, *state, c.gravity), width=1)
        elif kind == "armature":
            rows.add_armatures(c.accelerations("a"))
            rows.add_armature_blocks(c.accelerations("a"))
        else:
            rows.add_joints(_FACTORS[kind](c), _maps(c, kind))
    return rows.rows


@method(Q, V, A, results="Y", options=[_COLUMNS, Option("packed", False)], read=_read_packed)
def regressor(c: Context, columns: tuple[str, ...], packed: bool) -> Outputs:
    """Regressor: joint forces are linear in the inertial parameters.

    Parameters
    ----------
    columns : str or sequence of str, default ('inertia', 'armature', 'fluid')
        Kinds of parameters. 'inertia': mass m, first moment m c and rotational inertia J about the origin of each body.
        For each velocity of each joint: 'armature' (multiplies its acceleration), 'damping' (its velocity), 'friction'
        (the sign of its velocity), 'stiffness' (the displacement of its spring from neutral), 'preload' (one). 'fluid':
        of each body in a fluid the factor of its added mass and buoyancy, one as they are.
    packed : bool, default False
        Return only the entries that are not zero at every state, shape (..., n), at the places that `regressor_pattern`
        lists.

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
    entries = flat(_torque_rows(c, columns))
    if packed:
        nonzero = [x for x in entries if not is_zero(x)]
        return [("Y", (len(nonzero),), nonzero)]
    return [("Y", (c.nv, len(entries) // max(1, c.nv)), entries)]


def regressor_pattern(model: Model, columns: Any) -> tuple[np.ndarray, np.ndarray]:
    """Rows and columns of the entries of Y that are not zero at every state, row by row."""
    places: list[tuple[int, int]] = []

    def find(c: Context) -> Outputs:
        rows = _torque_rows(c, read_columns(columns))
        places[:] = [(i, j) for i, row in enumerate(rows) for j, x in enumerate(row) if not is_zero(x)]
        return []

    record("pattern", model, find, METHODS["regressor"].all_arguments(model), {})
    found = np.array(places, int).reshape(-1, 2)
    return found[:, 0], found[:, 1]


@method(Q, V, results="Y", options=[_COLUMNS], read=_read_columns)
def momentum_regressor(c: Context, columns: tuple[str, ...]) -> Outputs:
    """Regressor of the generalized momentum.

    Returns
    -------
    Y : ndarray, shape (..., nv, p)
        M v = Y φ, with φ = ``robot.inertial_parameters(columns)``; zero in the columns of friction and springs.

    See Also
    --------
    momentum_rate_regressor : The change of momentum by motion itself.
    regressor : Of the joint forces.

    Examples
    --------
    >>> import fourbar as fb
    >>> robot = fb.robots.double_pendulum()
    >>> Y = robot.momentum_regressor([0.1, 0.2], [1.0, 0.0])
    >>> (Y @ robot.inertial_parameters()).round(4)
    array([0.4828, 0.1211])
    """
    rows = _Rows(c)
    for kind in columns:
        if kind == "inertia":
            rows.add_bodies(regressors.momentum_blocks(c.sweeps(), _homes(c), c.velocities()))
        elif kind == "fluid":
            if fluids := _fluids(c):
                rows.add_bodies(regressors.fluid_momentum_blocks(c.sweeps(), fluids, c.velocities()), width=1)
        else:
            rows.add_joints(c.velocities() if kind == "armature" else c.still())
        if kind == "armature":
            rows.add_armature_blocks(c.velocities(), sign=0.0)
    return rows.result()


def _negative(x: Vec) -> Vec:
    return -x


@method(Q, V, results="Y", options=[_COLUMNS], read=_read_columns)
def momentum_rate_regressor(c: Context, columns: tuple[str, ...]) -> Outputs:
    """Regressor of what motion itself adds to the generalized momentum.

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
    rows = _Rows(c)
    for kind in columns:
        if kind == "inertia":
            s, v = c.sweeps(), c.velocities()
            pushes = regressors.push_blocks(s, _homes(c), c.coordinates(), v, c.gravity)
            rows.add_bodies(pushes, regressors.momentum_blocks(s, _homes(c), v) if c.is_looped else None)
        elif kind == "fluid":
            if fluids := _fluids(c):
                s, v = c.sweeps(), c.velocities()
                pushes = regressors.push_blocks(s, fluids, c.coordinates(), v, c.gravity)
                momenta = regressors.fluid_momentum_blocks(s, fluids, v) if c.is_looped else None
                rows.add_bodies(pushes, momenta, width=1)
        elif kind == "armature":
            rows.add_armatures(c.velocities(), c.map_rates, -1.0)
            rows.add_armature_blocks(c.velocities(), c.map_rates, -1.0)
        else:
            rows.add_joints([c.recorder.call(_negative, x) for x in _FACTORS[kind](c)], _maps(c, kind))
    return rows.result()


def _halved_squares(v: Vec) -> Vec:
    return Vec([0.5 * (x * x) for x in v])


def _block_energies(c: Context) -> list[Vec]:
    """The kinetic energy of a unit of each entry of blocks that couple joints."""
    number, v = {x.name: i for i, x in enumerate(c.model.cluster_tree.moving)}, c.velocities()
    blocks = [tuple(v[number[name]] for name in block.joints) for block in c.model.mechanism.armatures]
    return [c.recorder.call(regressors.block_energies, parts) for parts in blocks]


@method(Q, V, results="y")
def kinetic_energy_regressor(c: Context) -> Outputs:
    """Regressor of the kinetic energy.

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
    rows = regressors.kinetic_energy_rows(c.sweeps(), _homes(c), c.velocities())
    spun = [c.recorder.call(_halved_squares, v) for v in c.velocities()]
    moved = regressors.fluid_kinetic_energies(c.sweeps(), _fluids(c), c.velocities())
    y = flat([*rows, *spun, *_block_energies(c), moved])
    return [("y", (len(y),), y)]


@method(Q, results="y")
def potential_energy_regressor(c: Context) -> Outputs:
    """Regressor of the potential energy in gravity.

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
    coupled = block_places(c.model.mechanism, ("armature",))
    rows = regressors.potential_energy_rows(c.sweeps(), _homes(c), c.gravity)
    lifted = regressors.fluid_potential_energies(c.sweeps(), _fluids(c), c.gravity)
    y = flat([*rows, *c.still(), [0.0] * len(coupled), lifted])
    return [("y", (len(y),), y)]
