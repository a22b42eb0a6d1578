"""Reasons why a result is NaN although its arguments are finite: the texts of errors and warnings.

The reasons are coordinates that stand for no placement (a quaternion of zeros, an angle beyond what sin and cos can
reduce), joints that move nothing with inertia, loops at a toggle position, and Euler angles at gimbal lock.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..constraints.trace import cut
from ..errors import CoordinateError, FourbarError, MasslessError, SingularError, warn
from ..expr import Graph, prepare
from ..joints.base import regular_rates
from ..spatial.linear import Vec
from ..tolerances import FOLD_ACCELERATION, FOLD_VELOCITY
from ..tree.cluster_tree import ClusterTree, is_solid
from ..tree.clusters import Cluster, split
from ..tree.spanning_tree import series_joint
from .angles import describe_endless_angle, endless_angles, spins, stored_joints, straight

if TYPE_CHECKING:
    from ..arrays import Argument
    from ..compile.kernel import WatchedEntries
    from .recording import Recording

_EXAMINED = 100  # samples of a batch that are looked at, of those whose result is NaN


def implicit_loops(cluster_tree: ClusterTree) -> bool:
    """Whether any loop has to be solved at run time."""
    return any(cluster.embedding.is_implicit for cluster in cluster_tree.clusters)


def toggle_loops(cluster_tree: ClusterTree, q: np.ndarray) -> list[str]:
    """Names of the loops that do not determine their dependent velocities at one configuration."""
    loops = cluster_tree.implicit_clusters
    return [name for cluster, tie, places in loops if tie.is_toggled(q[places]) for name in cluster.loops]


def fold_distances(cluster_tree: ClusterTree, q: np.ndarray) -> dict[str, float]:
    """The distances (rad) from a fold at one configuration, by the names of the loops that are near one."""
    distances: dict[str, float] = {}
    for cluster, tie, places in cluster_tree.implicit_clusters:
        if tie.nv:
            away = float(tie.fold_distance(q[places]))
            distances |= dict.fromkeys(cluster.loops if away < FOLD_ACCELERATION else (), away)
    return distances


def has_bent_loops(cluster_tree: ClusterTree) -> bool:
    """Whether the conditions of some loop are not linear, so that they may have no derivative somewhere."""
    return any(not cluster.embedding.is_linear for cluster in cluster_tree.clusters)


def _without_derivative(cluster_tree: ClusterTree, q: np.ndarray) -> list[str]:
    """Names of the loops whose dependent coordinates follow one by one, but have no value or derivative at one q."""
    names: list[str] = []
    for cluster, tie, places in cluster_tree.tied_clusters:
        if tie.explicit and not tie.is_linear:  # gears and the like always have a derivative
            with np.errstate(all="ignore"):
                slopes = tie.slopes(np.array(tie.coordinates(list(q[places])), float))
            names.extend(cluster.loops if not np.isfinite(slopes).all() else ())
    return names


def describe_toggles(cluster_tree: ClusterTree, rows: np.ndarray) -> str:
    """A message about loops at configurations (n, nq) that have no result, if they are the reason; else empty."""
    bare = sorted({name for row in rows for name in _without_derivative(cluster_tree, row)})
    if bare:
        return f"loop {', '.join(map(repr, bare))}: its condition has no value or no derivative there"
    folds = [(away, name) for row in rows for name, away in fold_distances(cluster_tree, row).items()]
    if folds:
        names = ", ".join(map(repr, sorted({name for _, name in folds})))
        return (
            f"loop {names} is at a toggle position where two of its motions cross (a fold), or near one, at a distance "
            f"of {min(folds)[0]:.1g} rad: below {FOLD_ACCELERATION:g} accelerations, and below {FOLD_VELOCITY:g} "
            "velocities, have fewer than three correct digits, whichever joints are independent; take a state further "
            "away. Motions pass such a position in fourbar.rollout and fourbar.simulate"
        )
    loops = sorted({name for row in rows for name in toggle_loops(cluster_tree, row)})
    if not loops:
        return ""
    return (
        f"loop {', '.join(map(repr, loops))} is at a toggle position: its independent velocities do not determine the "
        "others there; choose others with robot.with_independent(...)"
    )


def dependent_rates(cluster_tree: ClusterTree, q: np.ndarray) -> dict[tuple[str, ...], np.ndarray]:
    """Masks (...) of the configurations (..., nq) in which the rates of a joint without armature are dependent.

    By the names of the joints that have such places: one, those of a massless chain, or where loops use their
    coordinates all of a cluster.
    """
    masks: dict[tuple[str, ...], np.ndarray] = {}
    stored = split(cluster_tree.clusters, [q[..., k] for k in range(q.shape[-1])], "nq")
    links, moving = cluster_tree.spanning_tree.links, cluster_tree.moving
    home = {cluster.links[0]: own for cluster, own in zip(cluster_tree.clusters, stored, strict=True)}
    for cluster, cluster_q in zip(cluster_tree.clusters, stored, strict=True):
        joints = [moving[i] for i in cluster.links]
        if any(x.tied for x in cluster.locking):
            lost = _dependent(_regular_velocities(cluster_tree, cluster), cluster_q, q)
            masks[tuple(joints[x.place].name for x in cluster.locking)] = lost
            continue
        tie = cluster.embedding
        coordinates = tie.coordinates(cluster_q) if cluster.is_free or cluster.locking else ()
        parts = cut(coordinates, [c.joint.nq for c in joints]) if cluster.locking else ()
        for place, _, below, _ in cluster.locking:
            chain = (cluster.links[place], *below)
            joint = series_joint(cluster_tree.spanning_tree, chain) if below else links[chain[0]].joint
            regular = regular_rates(joint, tuple(x for i in chain for x in links[i].armature))
            given = [*parts[place], *(x for i in below for x in home[i])]
            masks[tuple(moving[i].name for i in chain)] = _dependent(regular, given, q)
    return masks


def dependent_rates_mask(cluster_tree: ClusterTree, q: np.ndarray) -> np.ndarray:
    """A mask (...) of the configurations (..., nq) in which the rates of some joint are dependent."""
    lost = np.zeros(q.shape[:-1], bool)
    for where in dependent_rates(cluster_tree, q).values():
        lost = lost | where
    return lost


def _dependent(regular: Callable[[Iterable[Any]], list[Any]] | None, own: Iterable[Any], q: np.ndarray) -> np.ndarray:
    """A mask (...) of the configurations (..., nq) in which some condition on `own` coordinates does not hold."""
    lost = np.zeros(q.shape[:-1], bool)
    with np.errstate(all="ignore"):
        for valid in regular(own) if regular else ():
            lost = lost | ~np.asarray(valid, bool)
    return lost


def _regular_velocities(cluster_tree: ClusterTree, cluster: Cluster) -> Callable[[Iterable[Any]], list[Any]]:
    """Conditions on the stored coordinates of a cluster under which its velocities are independent. Traced once."""
    from ..algorithms.articulated import ArticulatedCluster  # which few robots need here
    from ..expr import Direct

    cache = vars(cluster_tree).setdefault("regular_velocities", {})
    if cluster.links not in cache:
        tie = cluster.embedding
        q = Graph().inputs("q", tie.nq)
        e = tie.state(Direct().call, Vec(q), None)
        links = [cluster_tree.spanning_tree.links[i] for i in cluster.links]
        ks = tuple(link.at(own, None) for link, own in zip(links, e.q, strict=True))
        conditions = ArticulatedCluster(ks, cluster.inner, e.G, (), cluster.locking).regular()
        cache[cluster.links] = prepare(conditions, q)
    return cache[cluster.links]


def has_locking_joints(cluster_tree: ClusterTree) -> bool:
    """Whether some joint has places at which its rates are dependent."""
    return any(cluster.locking for cluster in cluster_tree.clusters)


def describe_dependent_rates(names: Sequence[str]) -> str:
    """A message about joints whose rates are dependent; empty if there are none."""
    if not names:
        return ""
    several = "s" * (len(names) > 1)
    return (
        f"joint{several} {', '.join(map(repr, names))} {'are' if several else 'is'} at a singularity of "
        f"{'their' if several else 'its'} coordinates, such as gimbal lock: different "
        "velocities are the same motion, and the mass matrix has no inverse; use coordinates without such a place, as "
        "the quaternions of fourbar.joints.Spherical and Free, or give the joint armature"
    )


def lacks_direction(quaternions: np.ndarray) -> np.ndarray:
    """A mask (...) of the quaternions (..., 4) that are zero, or so small that their squares are."""
    from ..compile.elementary import SMALLEST_QUATERNION

    return np.asarray((np.abs(quaternions) < SMALLEST_QUATERNION).all(axis=-1))


def zero_quaternion(cluster_tree: ClusterTree, argument: str, rows: np.ndarray) -> str:
    """A message about configurations (n, nq) in which a quaternion has no length."""
    for name, joint, first in stored_joints(cluster_tree):
        for start in joint.quaternions:
            if lacks_direction(rows[:, first + start : first + start + 4]).any():
                entries = f"{argument}[{first + start}:{first + start + 4}]"
                return (
                    f"{argument}: the quaternion of joint {name!r}, {entries}, is zero, which is not a rotation; "
                    "the identity is (1, 0, 0, 0). Start from robot.neutral()"
                )
    return ""


def wrong_coordinates(cluster_tree: ClusterTree, argument: str, rows: np.ndarray) -> str:
    """A message about configurations (n, nq) of which some describe no placement; empty if all do."""
    from ..compile.elementary import LARGEST_ANGLE

    wrong = zero_quaternion(cluster_tree, argument, rows)
    if wrong or not (np.abs(rows) > LARGEST_ANGLE).any():
        return wrong
    return describe_endless_angle(cluster_tree, argument, rows)


def without_wrong_coordinates(cluster_tree: ClusterTree, function: str, q: np.ndarray) -> np.ndarray:
    """Configurations (..., nq), with NaN and a warning for those that describe no placement; an error for one."""
    why = wrong_coordinates(cluster_tree, "q", q.reshape(-1, q.shape[-1]))
    if not why:
        return q
    if q.ndim == 1:
        raise CoordinateError(f"{function}: {why}")
    warn(f"in some samples of {why}; these are NaN", RuntimeWarning)
    lost = endless_angles(cluster_tree, q)
    for _, joint, first in stored_joints(cluster_tree):
        for k in joint.quaternions:
            lost = lost | lacks_direction(q[..., first + k : first + k + 4])
    return np.where(lost[..., None], np.nan, q)


def _massless_joint(cluster_tree: ClusterTree) -> str:
    """A message about a joint that moves nothing with inertia; most robots have none. Found once."""
    cache = vars(cluster_tree)
    if "massless_joint" not in cache:
        cache["massless_joint"] = "" if is_solid(cluster_tree) else _sought_massless_joint(cluster_tree)
    return cache["massless_joint"]


def _sought_massless_joint(cluster_tree: ClusterTree, q: Sequence[float] | None = None) -> str:
    """The same at one configuration, or at any."""
    from ..algorithms.massless import check_joints  # which few robots need

    try:
        check_joints(cluster_tree, q)
    except MasslessError as error:
        return str(error)
    return ""


class Explainer:
    """Says why results are NaN. One sample: an error. A batch: a warning; those samples are NaN throughout.

    Joints that move no mass, if accepted on loading, are warned about for single samples too. `configurations`
    are the names of the arguments that hold coordinates; `recording.nan` is what NaN means where none of the general
    reasons applies; without one there is no message.
    """

    def __init__(self, recording: Recording, configurations: Sequence[str]) -> None:
        self._recording, self._cluster_tree = recording, recording.model.cluster_tree
        self._configurations, self._reason = tuple(configurations), recording.nan
        self._massless = _massless_joint(self._cluster_tree)

    @property
    def watches_batches(self) -> bool:
        """Whether NaN may come from anything but the coordinates themselves, so that all results are looked at."""
        tree = self._cluster_tree
        singular = (
            has_bent_loops(tree) or has_locking_joints(tree) or self._recording.varies_inertia or not is_solid(tree)
        )
        return bool(self._reason or self._massless or spins(tree) or singular)

    @property
    def watch(self) -> dict[str, WatchedEntries]:
        """The coordinates that are looked at while batches are computed."""
        from ..compile.kernel import WatchedEntries

        quaternions = tuple(j.first + k for j in stored_joints(self._cluster_tree) for k in j.joint.quaternions)
        others = {k + i for k in quaternions for i in range(4)} | straight(self._cluster_tree)
        angles = tuple(k for k in range(self._cluster_tree.nq) if k not in others)
        return dict.fromkeys(self._configurations, WatchedEntries(angles, quaternions))

    def __call__(self, given: Mapping[str, np.ndarray], lost: np.ndarray) -> None:
        """Explain NaN in the samples `lost` (...), which have finite arguments."""
        if not lost.any():
            return
        error = self._configuration_error({name: _rows(given[name], lost) for name in self._configurations})
        if error is None and not self._massless and "q" in given:
            error = self._singular_sample(given, lost)
        if error is None and self._massless:
            warn(f"{self._massless}; the result is NaN", RuntimeWarning)
        elif error is not None and not lost.ndim:
            try:
                raise error
            finally:
                del error  # else it and this frame would keep each other, and the arguments, alive
        elif error is not None:
            of = "of " if isinstance(error, CoordinateError) else ""  # those begin with the name of an argument
            warn(f"in some samples {of}{error}; these are NaN", RuntimeWarning)

    def _configuration_error(self, rows: Mapping[str, np.ndarray]) -> FourbarError | None:
        """A message about the configurations of the lost samples, if anything is wrong with them."""
        for name, q in rows.items():
            wrong = zero_quaternion(self._cluster_tree, name, q) or describe_endless_angle(self._cluster_tree, name, q)
            if wrong:
                return CoordinateError(wrong)
        if self._massless:
            return None
        what = (self._singular(rows["q"]) if "q" in rows else "") or self._reason
        return SingularError(what) if what else None

    def _singular_sample(self, given: Mapping[str, np.ndarray], lost: np.ndarray) -> FourbarError | None:
        """An error about a joint that moves nothing with inertia in the first of the lost samples, or whose rates are
        dependent, with the parameters of that sample.
        """
        first = tuple(np.argwhere(lost)[0])
        known = self._recording.constants

        def number(argument: Argument) -> list[float]:
            array = given[argument.name] if argument.name in given else known[argument.name]
            return np.broadcast_to(array, (*lost.shape, *argument.shape))[first].ravel().tolist()

        tree, q = self._recording.tree_at(number), _rows(given["q"], lost)[:1]
        why = describe_locks(tree, q) or _sought_massless_joint(tree, q[0].tolist())
        return SingularError(why) if why else None

    def _singular(self, rows: np.ndarray) -> str:
        """A message about loops or joints that are singular at configurations (n, nq); empty if none is."""
        return describe_toggles(self._cluster_tree, rows) or describe_locks(self._cluster_tree, rows)


def describe_locks(cluster_tree: ClusterTree, rows: np.ndarray) -> str:
    """A message about joints whose rates are dependent in some of the configurations (n, nq); empty if none is."""
    masks = dependent_rates(cluster_tree, rows).items()
    return describe_dependent_rates([name for joints, where in masks if where.any() for name in joints])


def _rows(q: np.ndarray, lost: np.ndarray) -> np.ndarray:
    """The configurations of some of the lost samples."""
    return np.broadcast_to(q, (*lost.shape, q.shape[-1]))[lost][:_EXAMINED]
