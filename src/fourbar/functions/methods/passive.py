"""Springs, dampers and dry friction in the joints, compensated weights, drag and currents, beside the rigid bodies:
their forces, and the motion.
"""

from __future__ import annotations

from typing import Any

from ...algorithms import fluid_wrenches, passive, rnea
from ...algorithms.energy import add, potential_energy
from ...algorithms.fluid_wrenches import FluidWrench
from ...algorithms.sweep import Sweeps
from ...spatial.linear import Scalar, Vec
from ...spatial.vectors import Wrench
from ...tree.cluster_tree import ClusterTree, is_compensated
from .. import merging, projection
from ..arguments import F_EXT, FRICTION_VELOCITY, TAU, A, Q, V
from ..context import Context
from ..registry import Outputs, Rival, method, vector
from .dynamics import accelerations, inverse_parts, merged_solver


def acts(numbers: tuple[Any, ...]) -> bool:
    """Whether some of the numbers are not zero, as far as that is known while recording."""
    return any(not isinstance(x, float | int) or x for x in numbers)


def _springs(c: Context, of: Any) -> dict[int, Any]:
    """Something of each spring, by link."""
    q, call = c.coordinates(), c.recorder.call
    return {
        i: call(of, joint.joint, q[i], Vec(joint.rest), Vec(joint.stiffness))
        for i, joint in enumerate(c.model.cluster_tree.moving)
        if acts(joint.stiffness)
    }


def passive_by_link(c: Context) -> dict[int, Vec]:
    """Forces of springs, dampers and gravity compensation, of drag and currents, and of dry friction where
    `friction_velocity` is given, by the links whose joints have some.
    """
    v, call = c.velocities(), c.recorder.call
    forces = {
        i: call(passive.damping_force, v[i], Vec(joint.damping))
        for i, joint in enumerate(c.model.cluster_tree.moving)
        if acts(joint.damping)
    }
    more = (_springs(c, passive.spring_force), _rubbing(c), _lifting(c), _fluid_forces(c))
    for i, force in (pair for part in more for pair in part.items()):
        forces[i] = call(add, forces[i], force) if i in forces else force
    return forces


def _lifting(c: Context) -> dict[int, Vec]:
    """Forces by link that hold the weight that is compensated; none where it is not."""
    s = c.compensation()
    if s is None:
        return {}
    none = [Wrench.zero()] * len(c.tree.links)
    return dict(enumerate(rnea.inverse_dynamics(s, c.still(), c.still(), none, c.gravity)))


def _fluid_wrenches(c: Context, s: Sweeps) -> list[tuple[int, FluidWrench]]:
    """The wrenches of drag and currents, by link."""
    tree = c.model.cluster_tree
    return fluid_wrenches.fluid_wrenches(s, c.velocities(), [(tree.bodies[body], x) for body, x in tree.fluids.items()])


def _fluid_forces(c: Context) -> dict[int, Vec]:
    """The forces of drag and currents by link."""
    if not c.model.cluster_tree.fluids:
        return {}
    s = c.sweeps()
    return fluid_wrenches.joint_forces(s, _fluid_wrenches(c, s))


def has_fluid_forces(cluster_tree: ClusterTree) -> bool:
    """Whether drag or currents act, as far as that is known while recording."""
    return any(x.has_forces for x in cluster_tree.fluids.values())


def is_passive(c: Context) -> bool:
    """Whether there are springs, dampers, compensated weights, drag or currents."""
    tree = c.model.cluster_tree
    sprung = any(acts(x.damping) or acts(x.stiffness) for x in tree.moving)
    return sprung or is_compensated(c.model.mechanism) or has_fluid_forces(tree)


def _rubbing(c: Context) -> dict[int, Vec]:
    """Forces of dry friction by link; none where no `friction_velocity` is given."""
    if FRICTION_VELOCITY.name not in c.given:
        return {}
    v, (smooth,) = c.velocities(), c.given[FRICTION_VELOCITY.name]
    return {
        i: c.recorder.call(passive.friction_force, v[i], Vec(joint.friction), smooth)
        for i, joint in enumerate(c.model.cluster_tree.moving)
        if acts(joint.friction)
    }


def passive_parts(c: Context) -> list[Vec]:
    """The forces of `passive_by_link` on the independent velocities, by cluster."""
    forces = c.still()
    for i, force in passive_by_link(c).items():
        forces[i] = force
    return c.project(forces)


@method(Q, V, results="tau")
def passive_forces(c: Context) -> Outputs:
    """Forces of springs and viscous damping in the joints, of gravity compensation, drag and currents.

    Returns
    -------
    tau : ndarray, shape (..., nv)
        -stiffness (q - rest) - damping v (N m, N), summed over all joints, also those that are not independent; and
        the joint forces that hold the compensated fraction of the weight of each body, and Σ Jᵀ F of the wrenches F of
        drag and current on bodies in a `Fluid`.

    See Also
    --------
    passive_dynamics : Accelerations with these forces.
    spring_energy : Energy in the springs.
    damping_power : Power taken by damping.

    Notes
    -----
    Springs of spherical and free joints act on the rotation vector from `rest`, those of free joints on the
    displacement too. A body with `gravity_compensation` c is pushed by -c m g at its centre of mass, against gravity g,
    as MuJoCo's `gravcomp` does. Coulomb friction (`friction`) is not included, since it is discontinuous at rest;
    `inverse_passive_dynamics` has it smoothed.

    Examples
    --------
    >>> import fourbar as fb
    >>> robot = fb.robots.double_pendulum()
    >>> sprung = robot.with_parameters(joints={"elbow": {"stiffness": 5.0, "damping": 0.1}})
    >>> sprung.passive_forces([0.1, 0.2], [1.0, 0.5])
    array([ 0.  , -1.05])
    """
    return vector(c, "tau", passive_parts(c))


def _driving_parts(c: Context) -> list[Vec]:
    """τ with the passive forces, by cluster."""
    return [c.recorder.call(add, *both) for both in zip(c.by_cluster("tau"), passive_parts(c), strict=True)]


def _by_projection(c: Context) -> Outputs:
    return vector(c, "a", projection.accelerations(c, _driving_parts(c)))


def _by_merging(c: Context) -> Outputs:
    return vector(c, "a", merged_solver(c, _driving_parts(c)))


@method(
    Q,
    V,
    TAU,
    results="a",
    optional=[F_EXT],
    inverts_mass=True,
    rivals=[Rival(_by_projection, projection.may_win_for_vectors), Rival(_by_merging, merging.may_win)],
)
def passive_dynamics(c: Context) -> Outputs:
    """Accelerations caused by joint forces with springs, damping, gravity compensation, drag and currents.

    Returns
    -------
    a : ndarray, shape (..., nv)
        Accelerations (rad/s², m/s²): `forward_dynamics` of τ + `passive_forces`.

    See Also
    --------
    forward_dynamics : The rigid bodies alone.
    inverse_passive_dynamics : The inverse.

    Examples
    --------
    >>> import fourbar as fb
    >>> robot = fb.robots.double_pendulum()
    >>> sprung = robot.with_parameters(joints={"elbow": {"stiffness": 5.0, "damping": 0.1}})
    >>> sprung.passive_dynamics([0.1, 0.2], [0.0, 0.0], [0.0, 0.0]).round(3)
    array([ 21.927, -96.53 ])
    """
    return vector(c, "a", accelerations(c, c.velocities(), _driving_parts(c), c.gravity))


NO_FRICTION_VELOCITY = (
    "friction_velocity must be positive: the velocity around rest over which dry friction is smoothed"
)


@method(Q, V, A, results="tau", optional=[F_EXT, FRICTION_VELOCITY], nan=NO_FRICTION_VELOCITY)
def inverse_passive_dynamics(c: Context) -> Outputs:
    """Joint forces that, together with springs, damping, drag and dry friction, cause given accelerations.

    Returns
    -------
    tau : ndarray, shape (..., nv)
        What drives must supply (N m, N): `inverse_dynamics` less `passive_forces`, less dry friction.

    Raises
    ------
    SingularError
        If `friction_velocity` is not positive (NaN and a warning in a batch).

    See Also
    --------
    inverse_dynamics : The rigid bodies alone.
    passive_dynamics : The inverse, without dry friction, which `simulate` follows.

    Examples
    --------
    >>> import fourbar as fb
    >>> robot = fb.robots.double_pendulum()
    >>> sprung = robot.with_parameters(joints={"elbow": {"stiffness": 5.0, "damping": 0.1}})
    >>> sprung.inverse_passive_dynamics([0.1, 0.2], [0.0, 0.0], [0.0, 0.0]).round(3)
    array([1.1  , 1.464])

    Computed torque that compensates dry friction of 0.3 N m, smoothed below 0.05 rad/s:

    >>> rubbing = sprung.with_parameters(joints={"shoulder": {"friction": 0.3}})
    >>> rubbing.inverse_passive_dynamics([0.1, 0.2], [1.0, 0.0], [0.0, 0.0], friction_velocity=0.05).round(3)
    array([1.4  , 1.48 ])
    """
    return vector(c, "tau", inverse_passive_parts(c))


def inverse_passive_parts(c: Context) -> list[Vec]:
    """Inverse dynamics less the passive forces, by cluster."""
    forces = [c.recorder.call(_negate, part) for part in passive_parts(c)]
    return [c.recorder.call(add, *both) for both in zip(inverse_parts(c), forces, strict=True)]


def _negate(x: Vec) -> Vec:
    return -x


def _less(a: Scalar, b: Scalar) -> Scalar:
    return a - b


@method(Q, results="energy")
def spring_energy(c: Context) -> Outputs:
    """Energy in the springs of the joints, and of gravity compensation.

    Returns
    -------
    energy : float or ndarray, shape (...)
        ½ Σ stiffness (q - rest)² (J), less the compensated fraction of the potential energy of each body: what
        `passive_forces` of springs and compensation store.

    See Also
    --------
    passive_forces : The forces of the springs.
    potential_energy : The energy in gravity.

    Examples
    --------
    >>> import fourbar as fb
    >>> robot = fb.robots.double_pendulum()
    >>> sprung = robot.with_parameters(joints={"elbow": {"stiffness": 5.0}})
    >>> float(sprung.spring_energy([0.1, 0.2]).round(4))
    0.1
    """
    total: Any = 0.0
    for energy in _springs(c, passive.spring_energy).values():
        total = c.recorder.call(add, total, energy)
    if (s := c.compensation()) is not None:
        total = c.recorder.call(_less, total, potential_energy(s, c.gravity))
    return [("energy", (), [total])]


@method(Q, V, results="power")
def damping_power(c: Context) -> Outputs:
    """Power taken by viscous damping in the joints, and by drag and currents.

    Returns
    -------
    power : float or ndarray, shape (...)
        Σ damping v² over all joints (W), never negative; and of bodies in a `Fluid` the power that drag takes, and that
        a current takes or gives.

    See Also
    --------
    passive_forces : The forces of the dampers.

    Examples
    --------
    >>> import fourbar as fb
    >>> robot = fb.robots.double_pendulum()
    >>> damped = robot.with_parameters(joints={"elbow": {"damping": 0.1}})
    >>> float(damped.damping_power([0.1, 0.2], [1.0, 0.5]))
    0.025
    """
    return [("power", (), [dissipated_power(c)])]


def dissipated_power(c: Context) -> Any:
    """The power that damping, drag and currents take."""
    v = c.velocities()
    total: Any = 0.0
    for i, joint in enumerate(c.model.cluster_tree.moving):
        if acts(joint.damping):
            total = c.recorder.call(add, total, c.recorder.call(passive.damping_power, v[i], Vec(joint.damping)))
    for _, (_, power) in _fluid_wrenches(c, c.sweeps()) if c.model.cluster_tree.fluids else ():
        total = c.recorder.call(add, total, power)
    return total
