"""`Actuated`: a mechanism with loops in the coordinates of its motors, wherever these are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...algorithms import aba, rnea
from ...algorithms.constrained.drives import actuator_forces
from ...errors import ArgumentError
from ...expr import select
from ...functions.arguments import F_EXT, FRICTION_VELOCITY, A, DeclaredArgument, Q, V
from ...functions.context import Context, Model
from ...functions.function import make_method
from ...functions.methods.passive import inverse_passive_parts
from ...functions.registry import Method, Outputs, flat, method, vector
from ...linalg import ranks
from ...once import cached_property
from ...spatial.linear import Mat, Vec
from ...tolerances import UNHELD
from .constrained_model import Frozen, NumericRecorder
from .inverse_dynamics import Drives, check_weight, read_drives

if TYPE_CHECKING:
    from ..robot_methods import (
        ActuatedActuatorMap,
        ActuatedForwardDynamics,
        ActuatedInverseDynamics,
        ActuatedInversePassiveDynamics,
    )
    from ..system import System

METHODS: dict[str, Method] = {}
_SAMPLES = 3


@dataclass(frozen=True)
class ActuatedModel(Model):
    """A mechanism and the velocities of its spanning tree that have a drive; `root` is L in weight = L Lᵀ.

    `sizes` are reference values of the squared columns of L⁻¹ B.
    """

    places: tuple[int, ...] = ()
    root: tuple[tuple[float, ...], ...] = ()
    sizes: tuple[float, ...] = ()


class _DriveForces(DeclaredArgument):
    """A force of each actuated velocity (n_actuated)."""

    type = "array_like, shape (..., n_actuated)"

    def shape(self, model: ActuatedModel) -> tuple[int, ...]:
        return (len(model.places),)


TAU = _DriveForces("tau", text="Forces of the drives (N m, N).")


def _actuated_model(c: Context) -> ActuatedModel:
    assert isinstance(c.model, ActuatedModel)
    return c.model


def _map(c: Context) -> Mat:
    """B: the rows of G of the actuated velocities."""
    unit = [[1.0 if j == place else 0.0 for j in range(c.tree.nv)] for place in _actuated_model(c).places]
    return Mat(Vec(row) for row in c.columns(unit))


def transposed_times(B: Mat, tau: Vec) -> Vec:
    """Bᵀ τ."""
    return B.transpose_times(tau)


_NOT_HELD = "the actuators do not hold the robot in this configuration: there is a motion that none of them resists"


@method(Q, V, A, results="tau", optional=[F_EXT], nan=_NOT_HELD, into=METHODS)
def inverse_dynamics(c: Context) -> Outputs:
    """Forces of the drives that cause accelerations of the independent velocities.

    Returns
    -------
    tau : ndarray, shape (..., n_actuated)
        Forces of the drives (N m, N), those with least τᵀ W τ where there are more than needed.

    Raises
    ------
    SingularError
        If the drives do not hold the robot in this configuration (NaN and a warning in a batch).

    Examples
    --------
    >>> import fourbar as fb
    >>> robot = fb.robots.five_bar().actuated(["left_crank", "right_crank"])
    >>> q = robot.system.neutral()
    >>> robot.inverse_dynamics(q, [0.0, 0.0], [1.0, 0.0]).round(4)
    array([-0.6487,  0.6819])
    """
    tau = c.project(rnea.inverse_dynamics(c.equations(), c.velocities(), c.accelerations("a"), c.F_ext(), c.gravity))
    return _by_drives(c, tau)


def _by_drives(c: Context, tau: Sequence[Vec]) -> Outputs:
    """The forces of the drives that make forces of the independent velocities, by cluster."""
    m = _actuated_model(c)
    L = Mat(Vec(row) for row in m.root)
    found = c.recorder.call(_valid_forces, _map(c), L, Vec(m.sizes), Vec(flat(tau)))
    return [("tau", (len(m.places),), list(found))]


@method(Q, V, A, results="tau", optional=[F_EXT, FRICTION_VELOCITY], nan=_NOT_HELD, into=METHODS)
def inverse_passive_dynamics(c: Context) -> Outputs:
    """Forces of the drives that cause accelerations besides springs, damping and friction of all joints.

    Returns
    -------
    tau : ndarray, shape (..., n_actuated)
        Forces of the drives (N m, N), those with least τᵀ W τ where there are more than needed.

    Raises
    ------
    SingularError
        If the drives do not hold the robot in this configuration (NaN and a warning in a batch).

    Examples
    --------
    >>> import fourbar as fb
    >>> linkage = fb.robots.five_bar()
    >>> damped = linkage.with_parameters(joints={"left_crank": {"damping": 2.0}})
    >>> robot = damped.actuated(["left_crank", "right_crank"])
    >>> q, v = linkage.neutral(), [1.0, 0.0]
    >>> (robot.inverse_passive_dynamics(q, v, v) - robot.inverse_dynamics(q, v, v)).round(9)
    array([2., 0.])
    """
    return _by_drives(c, inverse_passive_parts(c))


def _valid_forces(B: Mat, L: Mat, sizes: Vec, tau: Vec) -> Vec:
    """The actuators' forces; NaN where they do not determine the motion."""
    found, weakness = actuator_forces(B, L, sizes, tau)
    return Vec([select(weakness < UNHELD, x, float("nan")) for x in found])


@method(Q, V, TAU, results="a", optional=[F_EXT], into=METHODS)
def forward_dynamics(c: Context) -> Outputs:
    """Accelerations caused by forces of the drives.

    Returns
    -------
    a : ndarray, shape (..., nv)
        Accelerations of the independent velocities (rad/s², m/s²).

    Examples
    --------
    >>> import fourbar as fb
    >>> robot = fb.robots.five_bar().actuated(["left_crank", "right_crank"])
    >>> q = robot.system.neutral()
    >>> robot.forward_dynamics(q, [0.0, 0.0], [1.0, 0.0]).round(4)
    array([ 62.9444, -32.7904])
    """
    independent = c.recorder.call(transposed_times, _map(c), Vec(c.given["tau"]))
    parts, at = [], 0
    for cluster in c.clusters:
        parts.append(Vec(independent[at : at + cluster.embedding.nv]))
        at += cluster.embedding.nv
    a = aba.forward_dynamics(c.equations(), c.clusters, c.cluster_states, c.velocities(), parts, c.F_ext(), c.gravity)
    return vector(c, "a", a)


@method(Q, results="B", into=METHODS)
def actuator_map(c: Context) -> Outputs:
    """Matrix that takes the velocity to those of the actuated joints.

    Returns
    -------
    B : ndarray, shape (..., n_actuated, nv)
        The actuated joints move with B v, and forces τ of the drives make Bᵀ τ on the independent velocities.

    Examples
    --------
    >>> import fourbar as fb
    >>> robot = fb.robots.five_bar().actuated(["left_crank", "right_crank"])
    >>> q = robot.system.neutral()
    >>> robot.actuator_map(q)
    array([[1., 0.],
           [0., 1.]])
    """
    return [("B", (len(_actuated_model(c).places), c.nv), flat(_map(c)))]


def _rebuild(kind: type[System], mechanism: Any, drives: Drives, name: str) -> Any:
    return getattr(_restore(kind, mechanism, drives), name)


class Actuated(Frozen):
    """A robot whose forces are those of its drives, made by `System.actuated`. Frozen, picklable.

    The actuated joints may be independent or not, as many as needed or more. q, v and a are those of the robot. The
    functions are compiled and have derivatives like those of a robot.

    Parameters
    ----------
    system : System
        The robot.
    drives : tuple
        Actuated joints, what is least, and its weight; see `System.actuated`.

    Examples
    --------
    >>> import fourbar as fb
    >>> robot = fb.robots.five_bar().actuated(["left_crank", "right_crank"])
    >>> robot.inverse_dynamics(robot.system.neutral(), [0.0, 0.0], [0.0, 0.0]).shape
    (2,)
    """

    system: System
    _drives: Drives
    _model: ActuatedModel

    def __init__(self, system: System, drives: Any) -> None:
        read = read_drives(system.model.cluster_tree, drives)
        assert read is not None
        self.__dict__.update(system=system, _drives=read)
        places = read.places(system.model.cluster_tree)
        W = check_weight(read.weight, len(places), "actuated velocities")
        L = np.eye(len(places)) if W is None else np.linalg.cholesky(W)
        root = tuple(map(tuple, L.tolist()))
        model = ActuatedModel(system.mechanism, system.model.cluster_tree, places=tuple(places), root=root)
        samples = self._samples(model)
        self._check_enough(int(ranks(samples).max()))
        sizes = (np.linalg.solve(L, samples) ** 2).sum(axis=-2).max(axis=0)
        self.__dict__["_model"] = replace(model, sizes=tuple(sizes.tolist()))

    def _samples(self, model: ActuatedModel) -> np.ndarray:
        """B at some configurations."""
        rng = np.random.default_rng(0)
        samples = []
        for _ in range(_SAMPLES):
            c = Context(model, NumericRecorder({"q": self.system.random(rng)}), [Q.on(model)])
            samples.append([float(x) for x in actuator_map(c)[0][2]])
        return np.array(samples).reshape(_SAMPLES, len(model.places), self.system.nv)

    def _check_enough(self, held: int) -> None:
        if held < self.system.nv:
            raise ArgumentError(
                f"actuated={list(self._drives.joints)!r} are too few: they determine {held} of {self.system.nv} "
                "independent velocities, so that no forces cause a given acceleration; name more joints, or "
                "prescribe the accelerations of some joints only, with robot.hybrid_dynamics(..., prescribed=[...])"
            )

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, self._recipe

    @property
    def _recipe(self) -> tuple[Any, ...]:
        return type(self.system), self.system.mechanism, self._drives

    def __repr__(self) -> str:
        return f"<fourbar Actuated {self.system.name!r}: {', '.join(self._drives.joints)}>"

    @property
    def joints(self) -> tuple[str, ...]:
        """Actuated joints.

        Returns
        -------
        tuple of str
            In the order of their forces.
        """
        return self._drives.joints

    def _compile(self, name: str) -> Any:
        rebuild = (_rebuild, *self._recipe, name)
        return make_method(self._model, name, METHODS[name], lambda _: {}, rebuild)

    @cached_property
    def inverse_dynamics(self) -> ActuatedInverseDynamics:
        """Forces of the drives that cause accelerations: ``tau = inverse_dynamics(q, v, a)``.

        Takes q (..., nq), v (..., nv), a (..., nv), and optionally f_ext (..., n_bodies, 6).

        Returns
        -------
        Function
            The function; it returns τ (..., n_actuated) (N m, N), that with least τᵀ W τ where it is not unique.
        """
        return self._compile("inverse_dynamics")

    @cached_property
    def inverse_passive_dynamics(self) -> ActuatedInversePassiveDynamics:
        """Forces of the drives besides springs, damping and friction: ``tau = inverse_passive_dynamics(q, v, a)``.

        Takes what `inverse_dynamics` takes, and optionally `friction_velocity` (rad/s, m/s) that smooths dry friction.

        Returns
        -------
        Function
            The function; it returns τ (..., n_actuated) (N m, N), that with least τᵀ W τ where it is not unique.
        """
        return self._compile("inverse_passive_dynamics")

    @cached_property
    def forward_dynamics(self) -> ActuatedForwardDynamics:
        """Accelerations caused by forces of the drives: ``a = forward_dynamics(q, v, tau)``.

        Takes q (..., nq), v (..., nv), tau (..., n_actuated) (N m, N), and optionally f_ext (..., n_bodies, 6).

        Returns
        -------
        Function
            The function; it returns the independent accelerations a (..., nv) (rad/s², m/s²).
        """
        return self._compile("forward_dynamics")

    @cached_property
    def actuator_map(self) -> ActuatedActuatorMap:
        """Matrix that takes the velocity to those of the actuated joints: ``B = actuator_map(q)``.

        Returns
        -------
        Function
            The function; it returns B (..., n_actuated, nv): the actuated joints move with B v, and forces τ of the
            drives make Bᵀ τ on the independent velocities.
        """
        return self._compile("actuator_map")


def _restore(kind: type[System], mechanism: Any, drives: Drives) -> Actuated:
    return Actuated(kind._without_checks(mechanism), drives)  # which was checked before
