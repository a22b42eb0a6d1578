"""The numbers of a mechanism that enter its equations of motion linearly, as one vector φ with names.

Ten of each body: mass m, first moment m c, rotational inertia J about the body's origin, all in the body's own frame.
Then, of each velocity of each moving joint of the spanning tree: armature, viscous and Coulomb friction, and a spring.
After the armatures of joints follow the entries of blocks that couple joints: the upper triangle of each, by rows.
And of each body in a fluid one factor of its added mass and buoyancy, which is 1 for those of the mechanism.

A placed joint stores a spring as stiffness and rest coordinates: preload = -stiffness (rest ⊖ neutral).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..errors import ModelError, UnknownNameError, unknown
from ..joints.euclidean import is_flat
from ..spatial.inertia import Inertia, unphysical
from .armature_blocks import ArmatureBlock, read_block
from .mechanism import Body, Mechanism, PlacedJoint, velocity_names
from .validate import as_matrix

Numbers = tuple[float, ...]


def spring_parameters(c: PlacedJoint) -> tuple[Numbers, Numbers]:
    """Stiffness and preload for each velocity of a placed joint; zeros without a spring."""
    if not c.stiffness:
        return (0.0,) * c.joint.nv, (0.0,) * c.joint.nv
    if c.rest != c.joint.neutral() and not is_flat(c.joint):
        raise ModelError(
            f"joint {c.name!r}: its spring is at rest away from neutral, and the coordinates of a "
            f"{type(c.joint).__name__} joint are not additive, so that its force is not linear in stiffness and "
            "preload"
        )
    stretched = c.joint.difference(c.joint.neutral(), c.rest)
    return c.stiffness, tuple(-k * float(x) if x else 0.0 for k, x in zip(c.stiffness, stretched, strict=True))


def can_hold(c: PlacedJoint, stiffness: float, preload: float) -> bool:
    """Whether a spring can have both: a preload needs a stiffness, and additive coordinates."""
    return preload == 0.0 or (stiffness > 0.0 and is_flat(c.joint))


def with_spring(c: PlacedJoint, stiffness: Sequence[float], preload: Sequence[float]) -> PlacedJoint:
    """The same placed joint with another spring."""
    for k, f in zip(stiffness, preload, strict=True):
        if k < 0.0:
            raise ModelError(f"joint {c.name!r}: stiffness must be non-negative, got {list(stiffness)}")
        if not can_hold(c, k, f):
            why = "a spring without stiffness" if is_flat(c.joint) else f"a {type(c.joint).__name__} joint"
            raise ModelError(
                f"joint {c.name!r}: {why} cannot store a preload, got {f:.6g}; remove 'preload' from columns, or "
                "set it to zero"
            )
    if not any(stiffness):
        return replace(c, stiffness=(), rest=())
    offset = [-f / k if f else 0.0 for k, f in zip(stiffness, preload, strict=True)]
    rest = c.joint.integrate(c.joint.neutral(), offset) if any(offset) else c.joint.neutral()
    return replace(c, stiffness=tuple(stiffness), rest=tuple(float(x) for x in rest))


INERTIAL = ("m", "mx", "my", "mz", "Jxx", "Jxy", "Jxz", "Jyy", "Jyz", "Jzz")
# The factor of each kind of joint parameter in τ: acceleration, velocity, its sign, displacement from neutral, one.
OF_JOINTS = ("armature", "damping", "friction", "stiffness", "preload")
RIGID = ("inertia", "armature", "fluid")  # all that inverse dynamics depends on
KINDS = (*RIGID, *(kind for kind in OF_JOINTS if kind not in RIGID))
_FIELDS = ("armature", "damping", "friction")  # of a PlacedJoint
_SPRING = ("stiffness", "preload")
_ENTRIES = {"mass": INERTIAL[:1], "com": INERTIAL[:4], "inertia": INERTIAL}  # that fields of a body depend on
_KIND_OF_FIELD = dict.fromkeys(_ENTRIES, "inertia") | {
    "rest": "preload", "matrix": "armature", "added_mass": "fluid", "volume": "fluid", "density": "fluid",
    "center_of_buoyancy": "fluid",
}  # fmt: skip
NOT_LINEAR = "regressors have no column for it; fit it by derivatives with `parameters=`"


def read_columns(columns: Any) -> tuple[str, ...]:
    """Kinds of parameters, in the order of `KINDS`, from a list of their names."""
    named = (columns,) if isinstance(columns, str) else tuple(columns)
    for name in named:
        if name not in KINDS:
            raise _unknown_kind(str(name))
    return tuple(kind for kind in KINDS if kind in named)


def _unknown_kind(name: str) -> UnknownNameError:
    """An error for a kind that does not exist, which may be meant as one of `names.numbers`."""
    owner, _, field = name.rpartition(".")
    if not owner and name != "gravity":
        return unknown("kind of parameter", name, KINDS)
    kind = _KIND_OF_FIELD.get(field, field)
    if kind in KINDS:
        return UnknownNameError(
            f"there is no kind of parameter {name!r}; all of a kind are taken together: {kind!r} includes it"
        )
    return UnknownNameError(f"there is no kind of parameter {name!r}; {NOT_LINEAR}")


def columns_of(name: str, columns: Sequence[str]) -> list[str]:
    """The parameters among `columns` that one of `names.numbers` is identified by."""
    owner, _, field = name.rpartition(".")
    if field in _ENTRIES:
        own = {f"{owner}.{entry}" for entry in _ENTRIES[field]}
        return [x for x in columns if x in own]
    kind = _KIND_OF_FIELD.get(field, field)
    if not owner or kind not in KINDS:
        return []
    return [x for x in columns if x.startswith(f"{owner}.") and x.endswith(f".{kind}")]


def _moving(mechanism: Mechanism) -> list[PlacedJoint]:
    return [c for c in mechanism.joints if c.joint.nv > 0]


def _immersed_bodies(mechanism: Mechanism) -> list[Body]:
    return [body for body in mechanism.bodies if body.fluid is not None]


def parameter_names(mechanism: Mechanism, columns: Sequence[str] = RIGID) -> tuple[str, ...]:
    """Names of the entries of φ: "link.m", "link.Jxx", "joint.armature", and "joint.x.damping" of one of several."""
    names: list[str] = []
    labels = [f"{c.name}.{v}" if v else c.name for c in _moving(mechanism) for v in c.joint.v_names]
    for kind in read_columns(columns):
        if kind == "inertia":
            names += [f"{body.name}.{name}" for body in mechanism.bodies for name in INERTIAL]
        elif kind == "fluid":
            names += [f"{body.name}.fluid" for body in _immersed_bodies(mechanism)]
        else:
            names += [f"{label}.{kind}" for label in labels]
        if kind == "armature":
            names += [
                f"{block.name}.{a}.{b}.{kind}" for block in mechanism.armatures for a, b in _pairs(mechanism, block)
            ]
    return tuple(names)


def upper_triangle(block: ArmatureBlock) -> list[tuple[int, int]]:
    """Rows and columns of the entries of a block that are parameters."""
    n = len(block.matrix)
    return [(i, j) for i in range(n) for j in range(i, n)]


def _pairs(mechanism: Mechanism, block: ArmatureBlock) -> list[tuple[str, str]]:
    """The velocities of the upper triangle of a block, by name."""
    joints = {c.name: c.joint for c in mechanism.joints}
    labels = [label for name in block.joints for label in velocity_names(name, joints[name])]
    return [(labels[i], labels[j]) for i, j in upper_triangle(block)]


def block_places(mechanism: Mechanism, columns: Sequence[str]) -> range:
    """The places in φ of the entries of blocks that couple joints."""
    if "armature" not in columns:
        return range(0)
    first = 10 * len(mechanism.bodies) * ("inertia" in columns) + sum(c.joint.nv for c in mechanism.joints)
    return range(first, first + sum(len(upper_triangle(block)) for block in mechanism.armatures))


def _of_body(body: Body) -> list[float]:
    I = Inertia.about_com(body.mass, body.com, body.inertia)
    return [float(I.m), *map(float, I.h), *map(float, I.J)]


def _of_joint(c: PlacedJoint, kind: str) -> tuple[float, ...]:
    return getattr(c, kind) if kind in _FIELDS else spring_parameters(c)[_SPRING.index(kind)]


def parameter_values(mechanism: Mechanism, columns: Sequence[str] = RIGID) -> np.ndarray:
    """φ of a mechanism, in the order of `parameter_names`."""
    values: list[float] = []
    for kind in read_columns(columns):
        if kind == "inertia":
            values += [x for body in mechanism.bodies for x in _of_body(body)]
        elif kind == "fluid":
            values += [1.0] * len(_immersed_bodies(mechanism))
        else:
            values += [x for c in _moving(mechanism) for x in _of_joint(c, kind)]
        if kind == "armature":
            values += [block.matrix[i][j] for block in mechanism.armatures for i, j in upper_triangle(block)]
    return np.array(values, float)


def about_com(ten: Sequence[float] | np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
    """Mass, centre of mass and rotational inertia about it (3 x 3), from the ten parameters of a body."""
    m, *rest = map(float, ten)
    h, (xx, xy, xz, yy, yz, zz) = np.array(rest[:3]), rest[3:]
    J = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    if m == 0.0:
        return m, h, J
    c = h / m
    return m, c, J - m * (c @ c * np.eye(3) - np.outer(c, c))


def _body_of(body: Body, ten: np.ndarray, allow_unphysical: bool) -> Body:
    m, c, inertia = about_com(ten)
    if m == 0.0 and np.any(ten[1:4] if allow_unphysical else ten[1:]):
        raise ModelError(f"body {body.name!r}: mass is zero, but the other parameters {ten[1:].tolist()} are not")
    problem = unphysical(m, inertia)
    if problem is not None and not (allow_unphysical and m >= 0.0):
        raise ModelError(f"body {body.name!r}: {problem}")
    x, y, z = c.tolist()
    return replace(body, mass=m, com=(x, y, z), inertia=as_matrix(inertia))


def with_inertial_parameters(
    mechanism: Mechanism, parameters: Any, columns: Any = RIGID, allow_unphysical: bool = False
) -> Mechanism:
    """The same mechanism with other parameters φ, in the order of `parameter_names(mechanism, columns)`.

    What `columns` leaves out stays as it was. Physically inconsistent inertias are refused unless `allow_unphysical`;
    so are preloads without a spring.
    """
    kinds = read_columns(columns)
    phi = _read_values(mechanism, parameters, kinds)
    bodies = mechanism.bodies
    if "inertia" in kinds:
        tens = phi[: 10 * len(bodies)].reshape(-1, 10)
        bodies = tuple(_body_of(body, ten, allow_unphysical) for body, ten in zip(bodies, tens, strict=True))
        phi = phi[10 * len(bodies) :]
    places = block_places(mechanism, tuple(kind for kind in kinds if kind != "inertia"))
    blocks = mechanism.armatures
    if places:
        blocks = _blocks_of(blocks, phi[places.start : places.stop])
        phi = np.delete(phi, places)
    cut, factors = _cut_by_joint(mechanism, phi, kinds)
    bodies = tuple(_with_fluid(body, factors.get(body.name, 1.0)) for body in bodies)
    connections = tuple(_joint_of(c, cut[c.name]) for c in mechanism.joints)
    return replace(mechanism, bodies=bodies, joints=connections, armatures=blocks)


def _blocks_of(blocks: Sequence[ArmatureBlock], phi: np.ndarray) -> tuple[ArmatureBlock, ...]:
    """Blocks with other entries."""
    changed_blocks, left = [], phi.tolist()
    for block in blocks:
        A = np.zeros((len(block.matrix),) * 2)
        for i, j in upper_triangle(block):
            A[i, j] = A[j, i] = left.pop(0)
        changed_blocks.append(read_block(block.name, block.joints, A))
    return tuple(changed_blocks)


def _with_fluid(body: Body, factor: float) -> Body:
    """A body with its added mass and the displaced volume times a factor."""
    if body.fluid is None or factor == 1.0:
        return body
    if factor < 0.0:
        raise ModelError(f"body {body.name!r}: the factor of its fluid must be non-negative, got {factor}")
    added = factor * np.array(body.fluid.added_mass)
    return replace(body, fluid=replace(body.fluid, added_mass=added, volume=factor * body.fluid.volume))


def _cut_by_joint(
    mechanism: Mechanism, phi: np.ndarray, kinds: Sequence[str]
) -> tuple[dict[str, dict[str, tuple[float, ...]]], dict[str, float]]:
    """The parameters of each joint, by its name and their kind; and the factors of fluids, by body."""
    by_joint: dict[str, dict[str, tuple[float, ...]]] = {c.name: {} for c in mechanism.joints}
    factors: dict[str, float] = {}
    for kind in (k for k in kinds if k != "inertia"):
        if kind == "fluid":
            for body in _immersed_bodies(mechanism):
                factors[body.name], phi = float(phi[0]), phi[1:]
            continue
        for c in _moving(mechanism):
            by_joint[c.name][kind], phi = tuple(phi[: c.joint.nv].tolist()), phi[c.joint.nv :]
    return by_joint, factors


def _joint_of(c: PlacedJoint, given: Mapping[str, tuple[float, ...]]) -> PlacedJoint:
    for kind in (k for k in given if k in _FIELDS):
        if min(given[kind]) < 0.0:
            raise ModelError(f"joint {c.name!r}: {kind} must be non-negative, got {list(given[kind])}")
    c = replace(c, **{kind: own for kind, own in given.items() if kind in _FIELDS})
    if not any(kind in given for kind in _SPRING):
        return c
    stiffness, preload = spring_parameters(c)
    return with_spring(c, given.get("stiffness", stiffness), given.get("preload", preload))


def _read_values(mechanism: Mechanism, parameters: Any, kinds: Sequence[str]) -> np.ndarray:
    names = parameter_names(mechanism, kinds)
    phi = np.asarray(parameters, float)
    if phi.shape != (len(names),):
        raise ModelError(
            f"parameters of {', '.join(kinds)}: expected {len(names)} numbers ({', '.join(names[:3])}, ...), "
            f"got shape {phi.shape}"
        )
    wrong = [name for name, x in zip(names, phi, strict=True) if not np.isfinite(x)]
    if wrong:
        raise ModelError(f"parameters must be finite; these are not: {', '.join(wrong[:8])}")
    return phi
