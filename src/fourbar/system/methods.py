"""The methods of a robot: one entry an algorithm. This is where algorithms meet names, shapes and documentation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..algorithms import aba, crba, efpa, energy, hybrid, kinematics, minverse, rnea
from ..algorithms import reactions as reaction
from ..algorithms.kinematics import Reported
from ..algorithms.sweep import Sweeps
from ..model.embedding import Tied
from ..model.lower import Home, every_body, pose_matrix
from ..spatial.linear import Vec
from ..spatial.vectors import Wrench
from .context import Context, Record

Outputs = list[tuple[str, tuple[int, ...], list[Any]]]


@dataclass(frozen=True)
class Method:
    """An algorithm as a method: arrays it takes, what it returns, options that choose the code (`static`)."""

    record: Record
    arguments: tuple[str, ...]
    results: tuple[str, ...]
    optional: tuple[str, ...] = ()
    static: tuple[str, ...] = ()
    doc: str = ""


METHODS: dict[str, Method] = {}


def _method(arguments: str, results: str, optional: str = "", static: str = "") -> Any:
    """Register a recording function as a method; its docstring becomes the method's."""

    def register(function: Record) -> Record:
        name = function.__name__
        doc = function.__doc__ or ""
        METHODS[name] = Method(
            function,
            tuple(arguments.split()),
            tuple(results.split()),
            tuple(optional.split()),
            tuple(static.split()),
            doc,
        )
        return function

    return register


def _flat(parts: Sequence[Sequence[Any]]) -> list[Any]:
    return [x for part in parts for x in part]


def _vector(c: Context, name: str, parts: Sequence[Sequence[Any]]) -> Outputs:
    return [(name, (c.nv,), _flat(parts))]


@_method("q v a", "tau", optional="f_ext")
def inverse_dynamics(c: Context) -> Outputs:
    """Joint forces τ (..., nv) that cause accelerations a: τ = M a + C v + g - Jᵀ f_ext (RNEA).

    f_ext (..., n_bodies, 6): wrench [moment; force] on each body, in its frame.
    """
    tau = rnea.inverse_dynamics(c.equations(), c.velocities(), c.accelerations("a"), c.F_ext(), c.gravity)
    return _vector(c, "tau", c.project(tau))


def _accelerations(c: Context, v: list[Any], tau: list[Any], gravity: Sequence[float]) -> list[Any]:
    return aba.forward_dynamics(c.equations(), c.groups, c.expanded, v, tau, c.F_ext(), gravity)


@_method("q v tau", "a", optional="f_ext")
def forward_dynamics(c: Context) -> Outputs:
    """Accelerations a (..., nv) caused by joint forces τ (ABA, O(n)).

    f_ext (..., n_bodies, 6): wrench [moment; force] on each body, in its frame.
    """
    return _vector(c, "a", _accelerations(c, c.velocities(), c.by_group("tau"), c.gravity))


@_method("q v a tau", "a tau", optional="f_ext", static="prescribed")
def hybrid_dynamics(c: Context, prescribed: tuple[bool, ...]) -> Outputs:
    """All accelerations and all joint forces (a, τ), when some joints have their acceleration prescribed.

    prescribed: names of these joints. Their entries of `a` are read, and the other joints' entries of `tau`.
    """
    moved, forces = hybrid.hybrid_dynamics(
        c.equations(), c.groups, c.expanded, c.velocities(), c.by_group("a"), c.accelerations("a"), c.by_group("tau"),
        c.F_ext(), prescribed, c.gravity,
    )  # fmt: skip
    return _vector(c, "a_all", moved) + _vector(c, "tau_all", forces)


@_method("q v", "tau", optional="f_ext")
def bias_force(c: Context) -> Outputs:
    """C v + g - Jᵀ f_ext (..., nv): the joint forces at acceleration zero (nonlinear effects)."""
    tau = rnea.inverse_dynamics(c.equations(), c.velocities(), c.accelerations(""), c.F_ext(), c.gravity)
    return _vector(c, "tau", c.project(tau))


@_method("q", "tau")
def gravity_force(c: Context) -> Outputs:
    """g(q) (..., nv): the joint forces that hold the robot still."""
    tau = rnea.inverse_dynamics(c.equations(), c.still(), c.still(), c.F_ext(), c.gravity)
    return _vector(c, "tau", c.project(tau))


@_method("q", "M")
def mass_matrix(c: Context) -> Outputs:
    """Mass matrix M (..., nv, nv), symmetric and full (CRBA)."""
    half = c.columns(crba.mass_matrix(c.equations()))
    M = c.columns([list(row) for row in zip(*half, strict=True)])
    return [("M", (c.nv, c.nv), _flat(M))]


@_method("q", "M_inverse")
def inverse_mass_matrix(c: Context) -> Outputs:
    """M⁻¹ (..., nv, nv) in O(n²), without forming M."""
    return [("M_inverse", (c.nv, c.nv), _flat(minverse.inverse_mass_matrix(c.equations(), c.groups, c.expanded)))]


@_method("q b", "x")
def solve_mass_matrix(c: Context) -> Outputs:
    """x = M⁻¹ b (..., nv) in O(n), without forming M."""
    return _vector(c, "x", _accelerations(c, c.still(), c.by_group("b"), (0.0, 0.0, 0.0)))


@_method("q v", "energy")
def kinetic_energy(c: Context) -> Outputs:
    """½ vᵀ M v (...)."""
    return [("energy", (), [energy.kinetic_energy(c.sweeps(), c.velocities())])]


@_method("q", "energy")
def potential_energy(c: Context) -> Outputs:
    """Potential energy in gravity (...); zero where every mass is at the height of the world's origin."""
    return [("energy", (), [energy.potential_energy(c.sweeps(), c.gravity)])]


@_method("q", "position")
def center_of_mass(c: Context) -> Outputs:
    """Centre of mass (..., 3) of all that moves, in the world."""
    return [("position", (3,), list(energy.center_of_mass(c.sweeps())))]


@_method("q", "J")
def center_of_mass_jacobian(c: Context) -> Outputs:
    """J (..., 3, nv): the velocity of the centre of mass is J v."""
    return [("J", (3, c.nv), _flat(c.columns(energy.center_of_mass_jacobian(c.sweeps()))))]


@_method("q v", "h", static="about")
def momentum(c: Context, about: str = energy.COM) -> Outputs:
    """Momentum h (..., 6) = [angular; linear] of all that moves, in world axes, about="com" (default) or "world"."""
    return [("h", (6,), list(energy.momentum(c.sweeps(), c.velocities(), about)))]


@_method("q", "A", static="about")
def momentum_matrix(c: Context, about: str = energy.COM) -> Outputs:
    """A (..., 6, nv) with momentum = A v; about="com" (default, the centroidal momentum matrix) or "world"."""
    return [("A", (6, c.nv), _flat(c.columns(energy.momentum_matrix(c.sweeps(), about))))]


@_method("q", "A")
def centroidal_matrix(c: Context) -> Outputs:
    """Centroidal momentum matrix A (..., 6, nv): momentum about the centre of mass = A v, in world axes."""
    return [("A", (6, c.nv), _flat(c.columns(energy.momentum_matrix(c.sweeps(), energy.COM))))]


@_method("q", "T", static="frame")
def pose(c: Context, frame: Home) -> Outputs:
    """Pose T (..., 4, 4) of a frame or body in the world, as a homogeneous matrix."""
    return [("T", (4, 4), _flat(pose_matrix(kinematics.poses(c.sweeps(), [frame])[0])))]


@_method("q", "T")
def poses(c: Context) -> Outputs:
    """Poses T (..., n_bodies, 4, 4) of all bodies in the world, as homogeneous matrices."""
    homes = [c.model.lowered.bodies[b.name] for b in c.model.mechanism.bodies]
    placed = kinematics.poses(c.sweeps(), homes)
    return [("T", (len(homes), 4, 4), _flat([_flat(pose_matrix(p)) for p in placed]))]


@_method("q v", "velocity", static="frame at expressed_in")
def velocity(c: Context, frame: Reported) -> Outputs:
    """Velocity (..., 6) = [angular; linear] of a frame: by default of its origin, in world axes.

    at: "origin", a point (x, y, z) fixed in the frame, or "world" (the point of the body passing the world's origin).
    expressed_in: "world", "frame" (the frame's own axes), or the name of another frame or body.
    """
    return [("velocity", (6,), list(kinematics.motion_of(c.sweeps(), c.velocities(), c.still(), frame)[0]))]


@_method("q v a", "acceleration", static="frame at expressed_in")
def acceleration(c: Context, frame: Reported) -> Outputs:
    """Acceleration (..., 6) of a frame: the component-wise rate of its `velocity`, J a + J̇ v.

    In world axes that is the ordinary acceleration of the point; gravity is not included.
    """
    v, a = c.velocities(), c.accelerations("a")
    return [("acceleration", (6,), list(kinematics.motion_of(c.sweeps(), v, a, frame)[1]))]


@_method("q", "J", static="frame at expressed_in")
def jacobian(c: Context, frame: Reported) -> Outputs:
    """Jacobian J (..., 6, nv) of a frame: its `velocity` is J v, with the same `at` and `expressed_in`."""
    return [("J", (6, c.nv), _flat(c.columns(kinematics.jacobian(c.sweeps(), frame))))]


@_method("q v", "Jdot_v", static="frame at expressed_in")
def jacobian_rate(c: Context, frame: Reported) -> Outputs:
    """J̇ v (..., 6): the `acceleration` of a frame when a = 0."""
    v, a = c.velocities(), c.accelerations("")
    return [("Jdot_v", (6,), list(kinematics.motion_of(c.sweeps(), v, a, frame)[1]))]


def _step(embedding: Any, q: Any, v: Any, dt: Any) -> Any:
    return embedding.integrate(q, v * dt)


@_method("q v dt", "q")
def integrate(c: Context) -> Outputs:
    """q ⊕ v dt (..., nq): the configuration after moving with constant velocity v for a time dt; loops stay closed."""
    (dt,) = c.given["dt"]
    q, v = c.by_group("q"), c.by_group("v")
    parts = [c.recorder.call(_step, group.embedding, q[n], v[n], dt) for n, group in enumerate(c.groups)]
    return [("q_next", (c.model.lowered.nq,), _flat(parts))]


def _rate(embedding: Any, theta: Any, v: Any) -> Any:
    return embedding.chart_rate(theta, v)


@_method("theta v", "rate")
def chart_rate(c: Context) -> Outputs:
    """θ̇ (..., nv) where q(t) = q₀ ⊕ θ(t) moves with velocity v: for integrators that step along the group."""
    theta, v = c.by_group("theta"), c.by_group("v")
    parts = [c.recorder.call(_rate, group.embedding, theta[n], v[n]) for n, group in enumerate(c.groups)]
    return _vector(c, "rate", parts)


def _between(embedding: Any, q0: Any, q1: Any) -> Any:
    return embedding.difference(q0, q1)


@_method("q0 q1", "v")
def difference(c: Context) -> Outputs:
    """q1 ⊖ q0 (..., nv): the velocity that moves q0 to q1 in unit time."""
    q0, q1 = c.by_group("q0"), c.by_group("q1")
    parts = [c.recorder.call(_between, group.embedding, q0[n], q1[n]) for n, group in enumerate(c.groups)]
    return _vector(c, "v", parts)


@_method("q", "q")
def expand(c: Context) -> Outputs:
    """Coordinates of all joints of the spanning tree, in the order of `names.joints` without fixed ones."""
    q = _flat(c.coordinates())
    return [("q_all", (len(q),), q)]


@_method("q v", "v")
def expand_velocity(c: Context) -> Outputs:
    """Velocities G v of all joints of the spanning tree."""
    v = _flat(c.velocities())
    return [("v_all", (len(v),), v)]


@_method("q v a", "a")
def expand_acceleration(c: Context) -> Outputs:
    """Accelerations G a + g of all joints of the spanning tree."""
    a = _flat(c.accelerations("a"))
    return [("a_all", (len(a),), a)]


@_method("q", "G")
def loop_map(c: Context) -> Outputs:
    """G (..., n, nv): the velocities of all n velocities of the spanning tree are G v."""
    n = c.tree.nv
    identity = [[1.0 if i == j else 0.0 for j in range(n)] for i in range(n)]
    return [("G", (n, c.nv), _flat(c.columns(identity)))]


@_method("q v", "g")
def loop_bias(c: Context) -> Outputs:
    """g (..., n): the accelerations of the spanning tree are G a + g."""
    g = _flat(c.accelerations(""))
    return [("g", (len(g),), g)]


@_method("q", "Omega", static="frames points expressed_in")
def osim_inverse(c: Context, ends: tuple[tuple[Home, bool], ...], in_world: bool) -> Outputs:
    """Inverse operational-space inertia Ω = J M⁻¹ Jᵀ (..., k, k) of many frames together (EFPA).

    frames: names, six rows each [angular; linear]; points: names, three linear rows each, after the frames.
    expressed_in: "world" (default) or "frame" (each in its own axes); at the origins.
    """
    k = sum(3 if linear else 6 for _, linear in ends)
    rows = efpa.osim_inverse(c.equations(), c.groups, c.expanded, ends, in_world)
    return [("Omega", (k, k), _flat(rows))]


def _loop_wrenches(c: Context) -> dict[str, list[Wrench]]:
    """What loops do to the bodies they tie, by body; the independent joints are driven, the others passive."""
    tau = rnea.inverse_dynamics(c.equations(), c.velocities(), c.accelerations("a"), c.F_ext(), c.gravity)
    q = c.coordinates()
    found: dict[str, list[Wrench]] = {}
    for group in c.groups:
        if isinstance(group.embedding, Tied) and group.embedding.traced.bodies:
            own_q, own_tau = tuple(q[i] for i in group.links), tuple(tau[i] for i in group.links)
            forces = c.recorder.call(reaction.loop_wrenches, group.embedding, own_q, own_tau)
            for body, F in zip(group.embedding.traced.bodies, forces, strict=True):
                found.setdefault(body, []).append(F)
    return found


@_method("q v a", "F", optional="f_ext")
def reactions(c: Context) -> Outputs:
    """Reactions (..., n_bodies, 6): the wrench that each body receives from its parent through its joint, in its frame.

    With loops, only the independent joints are driven; the forces of loop joints and rods on the bodies are accounted
    for, while gears and couplings act as torques in the joints they couple.
    """
    bodies, connections = c.model.mechanism.bodies, c.model.mechanism.connections
    tree, poses = every_body(c.model.mechanism)
    number = {connection.name: i for i, connection in enumerate(c.model.lowered.moving)}
    by_link = (c.coordinates(), c.velocities(), c.accelerations("a"))
    q, v, a = ([x[number[k.name]] if k.name in number else Vec() for k in connections] for x in by_link)
    F = [
        Wrench.of(c.given["f_ext"][6 * b : 6 * b + 6]) if "f_ext" in c.given else Wrench.zero()
        for b in range(len(bodies))
    ]
    total = [c.recorder.call(reaction.carried, pose, f, Wrench.zero()) for pose, f in zip(poses, F, strict=True)]
    for body, forces in _loop_wrenches(c).items():
        for b in (b for b, x in enumerate(bodies) if x.name == body):
            for f in forces:
                total[b] = c.recorder.call(reaction.carried, poses[b], f, total[b])
    s = Sweeps(tree, c.recorder, _flat(q), _flat(v))
    found = reaction.reactions(s, v, a, total, poses, c.gravity)
    return [("F", (len(bodies), 6), [x for F in found for x in F.six()])]
