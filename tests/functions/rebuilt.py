"""Derivatives along numbers of a robot by another route: differences of robots built with changed numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from fourbar import System
from fourbar.constraints import Contact, Rows
from fourbar.functions.context import Model
from fourbar.functions.parameter_derivatives import incompatible_changes
from fourbar.joints import Composite, CustomJoint, Joint, Universal
from fourbar.loops import Closure, Constraint, Coupling, Differential, Distance, Gear, Polynomial
from fourbar.mechanism.actuators import Actuator, law_form, law_numbers, law_of, servo, velocity_servo
from fourbar.mechanism.mechanism import Mechanism, NamedLoop, Placement
from fourbar.spatial import Transform
from fourbar.system.constrained.robot import Constrained
from fourbar.tree.clusters import Cluster
from fourbar.tree.embedding import LoopEmbedding
from fourbar.tree.parameters import parameters

Rates = Mapping[str, np.ndarray]
_PASSIVE = ("armature", "damping", "stiffness", "rest", "friction")
_LEVELS, _LARGEST = 3, 0.002


def _exp(twist: np.ndarray) -> np.ndarray:
    """exp of a twist as a homogeneous matrix, by its series."""
    x, y, z = twist[:3]
    A = np.zeros((4, 4))
    A[:3, :3], A[:3, 3] = [[0, -z, y], [z, 0, -x], [-y, x, 0]], twist[3:]
    found = term = np.eye(4)
    for k in range(1, 25):
        term = term @ A / k
        found = found + term
    return found


def _place(R: Any, p: Any, twist: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    R, moved = np.array(R, float), _exp(twist)
    return R @ moved[:3, :3], np.array(p, float) + R @ moved[:3, 3]


def _tuples(x: np.ndarray) -> Any:
    return tuple(map(tuple, x.tolist())) if x.ndim == 2 else tuple(x.tolist())


def _placement(place: Placement, twist: np.ndarray | None) -> Placement:
    if twist is None:
        return place
    R, p = _place(place.rotation, place.position, twist)
    return Placement(_tuples(R), _tuples(p))


def _closure(loop: Closure, by: Rates) -> Closure:
    ends = []
    for place, field in ((loop.at_predecessor, "at_predecessor"), (loop.at_successor, "at_successor")):
        ends.append(_place(place.R, place.p, by.get(field, np.zeros(6))))
    (R, p), (S, s) = ends
    return Closure(
        loop.joint, loop.predecessor, loop.successor, at_predecessor=p, at_successor=s, predecessor_rotation=R,
        successor_rotation=S,
    )  # fmt: skip


def _contact(contact: Contact, by: Rates) -> Contact:
    (R, p), (S, _) = (_place((x := getattr(contact, k)).R, x.p, by.get(k, np.zeros(6))) for k in ("at_frame", "at_to"))
    names = contact.frame, contact.kind, contact.to, contact.axes
    return Contact(*names, at_frame=p, frame_rotation=R, to_rotation=S)


def _joint(joint: Any, by: Rates) -> Any:
    """A joint whose numbers have moved; those of a composite joint are called after their place among its joints."""
    if not by:
        return joint
    if isinstance(joint, CustomJoint):
        return CustomJoint(_function(joint.function, by), joint.nq, joint.name, joint.home)
    if not isinstance(joint, Composite):
        return replace(joint, **{k: getattr(joint, k) + float(x) for k, x in by.items()})
    joint, by = _displaced(joint, by)
    if not by:
        return joint
    parts, at = [], 0
    for part in joint.parts:
        count = len(_flattened(part))
        own = {(int(number) - at, name): x for number, _, name, x in ((*k.partition("_"), x) for k, x in by.items())}
        mine = {k: x for k, x in own.items() if 1 <= k[0] <= count}
        names = {f"{i}_{name}" if isinstance(part, Composite) else name: x for (i, name), x in mine.items()}
        parts.append(_joint(part, names) if isinstance(part, Joint) else part)
        at += count
    return Composite(*parts)


def _displaced(joint: Composite, by: Rates) -> tuple[Composite, Rates]:
    """A composite joint whose placements have moved, and the other changes."""
    twists = {k: x for k, x in by.items() if k.endswith("_placement")}
    flat = [y for x in joint.parts for y in (_flat(x) if isinstance(x, Composite) else [x])]
    parts: list[Any] = []
    for k, part in enumerate(flat):
        number = 1 + sum(len(_flattened(x)) for x in parts)
        last = k + 1 == len(flat)
        name = "end_placement" if last else f"{number}_placement"
        if not isinstance(part, Joint) and name in twists and (last or isinstance(flat[k + 1], Joint)):
            part = Transform.of(*_place(part.R, part.p, twists[name]))
        parts.append(part)
    return Composite(*parts), {k: x for k, x in by.items() if k not in twists}


def _flat(joint: Composite) -> list[Any]:
    return [y for x in joint.parts for y in (_flat(x) if isinstance(x, Composite) else [x])]


def _function(function: Any, by: Rates) -> Any:
    """A function that is a dataclass with other numbers; it may be that of another, mirrored."""
    if hasattr(function, "function"):
        return replace(function, function=_function(function.function, by))
    moved = {k: np.array(getattr(function, k)) + x for k, x in by.items()}
    return replace(function, **{k: _tuples(x) if x.ndim else float(x) for k, x in moved.items()})


def _flattened(part: Any) -> list[Any]:
    """The joints in series of a part of a composite joint."""
    if isinstance(part, Composite):
        return [x for inner in part.parts for x in _flattened(inner)]
    if isinstance(part, Universal):
        return [part, part]
    return [part] if isinstance(part, Joint) else []


def _actuator(actuator: Actuator, by: Rates) -> Actuator:
    """An actuator with other gains, written down again as `Builder.actuator` does."""
    gain, bias = law_of(actuator)
    form = law_form(actuator)
    if not by:
        return actuator
    if form == "motor":
        return replace(actuator, parameters=(("gain", (gain[0] + float(by["gain"]),)),))
    if form == "affine":
        law = (
            ("gain", _tuples(np.array(gain) + by.get("gain", 0.0))),
            ("bias", _tuples(np.array(bias) + by.get("bias", 0.0))),
        )
        return replace(actuator, parameters=law)
    numbers = {k: x + float(by.get(k, 0.0)) for k, x in law_numbers(actuator).items()}
    made = servo(**numbers) if form == "position" else velocity_servo(**numbers)
    return replace(actuator, parameters=tuple(made.items()))


def _loop(loop: Any, by: Rates) -> Any:
    if isinstance(loop, Closure):
        return _closure(loop, by)
    if isinstance(loop, Contact):
        return _contact(loop, by)
    if isinstance(loop, Rows | Constraint) and by:
        function = replace(loop.function, **{k: getattr(loop.function, k) + x for k, x in by.items()})
        return type(loop)(function, loop.of)
    if isinstance(loop, Gear):
        return Gear(loop.driver, loop.driven, loop.ratio + by.get("ratio", 0.0), loop.offset + by.get("offset", 0.0))
    if isinstance(loop, Coupling):
        factors = np.array([x for _, x in loop.factors]) + by.get("factors", 0.0)
        return Coupling(dict(zip(loop.joints, factors, strict=True)), loop.offset + by.get("offset", 0.0))
    if isinstance(loop, Polynomial):
        return Polynomial(loop.driver, loop.driven, _tuples(np.array(loop.coefficients) + by.get("coefficients", 0.0)))
    if isinstance(loop, Differential):
        return Differential(loop.inputs, loop.outputs, np.array(loop.matrix) + by.get("matrix", 0.0))
    if isinstance(loop, Distance):
        first, second = (
            _tuples(np.array(getattr(loop, f"{end}_point")) + by.get(f"{end}_point", 0.0))
            for end in ("predecessor", "successor")
        )
        return Distance(loop.predecessor, loop.successor, first, second, loop.length + by.get("length", 0.0))
    assert not by
    return loop


def _named(loop: NamedLoop, by: Rates) -> NamedLoop:
    return replace(loop, loop=_loop(loop.loop, by))


def again(c: Constrained, rates: Rates, h: float) -> Constrained:
    """A constrained robot whose own numbers, and those of the robot below, have moved along the rates for a time h."""
    conditions = []
    for name, condition in zip(c.constraints, c._model.conditions, strict=True):
        by = {k.rpartition(".")[2]: h * x for k, x in rates.items() if k.rpartition(".")[0] == name}
        conditions.append(_loop(condition, by))
    gains = c._model.gains
    if gains is not None:
        gains = tuple(
            x + h * float(rates.get(f"stabilize.{k}", 0.0))
            for x, k in zip(gains, ("stiffness", "damping"), strict=True)
        )
    robot = rebuilt(c.system, rates, h) if any(k in c.system.names.numbers for k in rates) else c.system
    return Constrained(robot, conditions, c._drives, gains)


def rebuilt(robot: System, rates: Rates, h: float) -> System:
    """The robot whose numbers have moved along the rates for a time h."""
    m: Mechanism = robot.mechanism

    def of(name: str) -> dict[str, np.ndarray]:
        return {k.rpartition(".")[2]: h * x for k, x in rates.items() if k.rpartition(".")[0] == name}

    bodies, connections = [], []
    for body in m.bodies:
        by = of(body.name)
        mass, com, inertia = (np.array(getattr(body, k)) + by.get(k, 0.0) for k in ("mass", "com", "inertia"))
        taken_off = body.gravity_compensation + float(by.get("gravity_compensation", 0.0))
        made = replace(body, mass=float(mass), com=_tuples(com), inertia=_tuples(inertia))
        bodies.append(replace(made, gravity_compensation=taken_off))
    for c in m.joints:
        by = of(c.name)
        own = {k: _tuples(np.array(getattr(c, k)) + by[k]) for k in _PASSIVE if k in by}
        joint = _joint(c.joint, {k: x for k, x in by.items() if k in c.joint.variable})
        connections.append(replace(c, joint=joint, placement=_placement(c.placement, by.get("placement")), **own))
    frames = [replace(f, placement=_placement(f.placement, of(f.name).get("placement"))) for f in m.frames]
    own = [of(x.name) for x in m.loops]
    fields = [{k: x for k, x in by.items() if hasattr(loop.loop, k)} for loop, by in zip(m.loops, own, strict=True)]
    loops = [_named(loop, by) for loop, by in zip(m.loops, fields, strict=True)]
    actuators = [_actuator(x, of(x.name)) for x in m.actuators]
    moved = {"actuators": actuators, "bodies": bodies, "joints": connections, "frames": frames, "loops": loops}
    gravity = _tuples(np.array(m.gravity) + h * rates.get("gravity", np.zeros(3)))
    other = System(replace(m, gravity=gravity, **{name: tuple(x) for name, x in moved.items()}))
    cluster_tree = other.model.cluster_tree
    same = zip(robot.model.cluster_tree.clusters, cluster_tree.clusters, strict=True)
    groups = tuple(new if new.is_free else _with_choice(old, new) for old, new in same)
    other.__dict__["model"] = Model(other.mechanism, replace(cluster_tree, clusters=groups))
    return other


def _with_choice(old: Cluster, new: Cluster) -> Cluster:
    """A group whose independent velocities and rows are those of another one."""
    tie, own = old.embedding, new.embedding
    assert isinstance(tie, LoopEmbedding) and isinstance(own, LoopEmbedding)
    chosen = LoopEmbedding(own.joints, own.traced, tie.independent, tie.rows, own.closed, own.units)
    return replace(new, embedding=chosen)


def closed(robot: System, other: System, q: np.ndarray) -> np.ndarray:
    """Configurations of the other robot with the independent coordinates of q (batch, nq)."""
    found, at = [], 0
    for group, changed in zip(robot.model.cluster_tree.clusters, other.model.cluster_tree.clusters, strict=True):
        tie, new = group.embedding, changed.embedding
        own = q[:, at : at + tie.nq]
        at += tie.nq
        if not group.is_free:
            assert tie.explicit == new.explicit
            own = own if tie.explicit else np.array([_follow(tie, new, x) for x in own])
        found.append(own)
    return np.concatenate(found, axis=-1)


def _follow(tie: Any, new: Any, q: np.ndarray) -> np.ndarray:
    for _ in range(8):
        phi, K = new.residual(q), new.slopes(q)
        step = np.zeros(K.shape[1])
        step[list(tie.dependent)] = -np.linalg.lstsq(K[:, tie.dependent], phi, rcond=1e-8)[0]
        q = np.array([float(x) for x in new.move(q.tolist(), step.tolist())])
    assert np.abs(new.residual(q)).max() < 1e-12  # in all rows, those that are not used too
    return q


def random_rates(robot: System, seed: int = 3, size: float = 0.03) -> dict[str, np.ndarray]:
    """Rates of all numbers at once, except those entries that loops cannot follow (out of the plane of a linkage)."""
    rng = np.random.default_rng(seed)
    which = tuple(parameters(robot.mechanism))
    rates = {x.name: size * rng.normal(size=x.shape) for x in which}
    for x in which:
        if x.field == "inertia":
            rates[x.name] = 0.01 * (rates[x.name] + rates[x.name].T)
    for change in incompatible_changes(robot.model, which):
        held = np.abs(change.opening).max(axis=0) > 1e-9
        for x, own in zip(which, np.split(held, np.cumsum([x.size for x in which])[:-1]), strict=True):
            rates[x.name] = np.where(own.reshape(x.shape), 0.0, rates[x.name])
    return rates


def differences(robot: System, rates: Rates, value: Callable[[System, Any], np.ndarray], q: np.ndarray) -> np.ndarray:
    """d/dh of value(robot at h, q at h) at h = 0."""

    def at(h: float) -> np.ndarray:
        other = rebuilt(robot, rates, h)
        return value(other, closed(robot, other, q))

    return slope(at)


def slope(at: Callable[[float], np.ndarray]) -> np.ndarray:
    """d/dh of at(h) at h = 0, by Richardson's extrapolation of central differences."""
    table: list[np.ndarray] = []
    for level in range(_LEVELS):
        h = _LARGEST / 2**level
        row = [(at(h) - at(-h)) / (2 * h)]
        for k, below in enumerate(table):
            row.append(row[k] + (row[k] - below) / (4.0 ** (k + 1) - 1))
        table = row
    return table[-1]
