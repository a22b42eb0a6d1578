"""The mirror image of a mechanism."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..errors import ModelError
from ..joints.axis import Axis
from ..joints.mirror import Mirror
from ..joints.mirror_image import Mirrored, Rows
from ..mechanism import actuators, armature_blocks
from ..mechanism.fluid import Fluid
from ..mechanism.geometry import Geometry
from ..mechanism.mechanism import Body, Matrix, Mechanism, PlacedJoint, Placement
from ..mechanism.validate import as_matrix
from ..spatial.linear import Mat
from ..tree.cluster_tree import ClusterTree
from .rename import check

_OF_TWISTS = ("added_mass", "linear_drag", "quadratic_drag")
_BY_VELOCITY = ("armature", "damping", "friction", "stiffness", "max_velocity")


def mirror(mechanism: Mechanism, plane: Axis) -> Mechanism:
    """Everything reflected in the plane through the world's origin with the normal `plane`; gravity too."""
    m = Mirror(plane)
    images = {c.name: m.joint(c.joint) for c in mechanism.joints}
    return check(
        replace(
            mechanism,
            bodies=tuple(_body(m, b) for b in mechanism.bodies),
            joints=tuple(_connection(m, c, images[c.name]) for c in mechanism.joints),
            frames=tuple(replace(f, placement=_place(m, f.placement)) for f in mechanism.frames),
            gravity=m.vector(mechanism.gravity),
            loops=tuple(replace(x, loop=x.loop.mirrored(m, images)) for x in mechanism.loops),
            configurations=tuple(
                replace(
                    x,
                    coordinates=tuple((j, _map(images[j].q, q)) for j, q in x.coordinates),
                    velocities=tuple((j, _map(images[j].v, v)) for j, v in x.velocities),
                )
                for x in mechanism.configurations
            ),
            actuators=tuple(actuators.mirrored(x, lambda j: images[j].v) for x in mechanism.actuators),
            world=tuple(_shape(m, shape) for shape in mechanism.world),
            armatures=tuple(
                armature_blocks.map_block(x, {j: images[j].v for j in x.joints}) for x in mechanism.armatures
            ),
        )
    )


def _map(rows: Rows, q: tuple[float, ...]) -> tuple[float, ...]:
    return tuple((np.array(rows) @ np.array(q) + 0.0).tolist()) if q else q


def _matrix(m: Mirror, R: Matrix) -> Matrix:
    return as_matrix(np.array(m.matrix(R), float))


def _place(m: Mirror, placement: Placement) -> Placement:
    return Placement(_matrix(m, placement.rotation), m.vector(placement.position))


def _body(m: Mirror, body: Body) -> Body:
    J = np.array(m.matrix(body.inertia), float)
    shapes = tuple(_shape(m, shape) for shape in body.geometry)
    fluid = None if body.fluid is None else _fluid(m, body.name, body.fluid)
    return replace(body, com=m.vector(body.com), inertia=as_matrix(0.5 * (J + J.T)), geometry=shapes, fluid=fluid)


def _fluid(m: Mirror, body: str, fluid: Fluid) -> Fluid:
    """Matrices of twists turn by -Q for angular and Q for linear velocities."""
    none, P = np.zeros((3, 3)), np.array(m.polar_rows)
    Q = np.block([[-P, none], [none, P]]) + 0.0
    if not m.is_plain and any(map(any, fluid.quadratic_drag)):
        raise ModelError(
            f"body {body!r}: its quadratic drag cannot be mirrored in a plane that mixes the axes of the body; mirror "
            "in a plane normal to one of its axes, or remove it first"
        )
    matrices = {name: Q @ np.array(getattr(fluid, name)) @ Q + 0.0 for name in _OF_TWISTS}
    vectors = {name: m.vector(getattr(fluid, name)) for name in ("center_of_buoyancy", "current")}
    return replace(fluid, **matrices, **vectors)


def _shape(m: Mirror, shape: Geometry) -> Geometry:
    """Q R = (Q R F) F with F a reflection in y, under which simple shapes are symmetric; meshes take it as a scale.

    The heights of a height field are reversed along y.
    """
    R = np.array(m.Q @ Mat.of(shape.placement.rotation), float) * [1.0, -1.0, 1.0] + 0.0
    x, y, z = shape.scale
    place = Placement(as_matrix(R), m.vector(shape.placement.position))
    heights = tuple(row[::-1] for row in shape.heights)
    return replace(shape, placement=place, scale=(x, -y, z) if shape.kind == "mesh" else shape.scale, heights=heights)


def _connection(m: Mirror, c: PlacedJoint, image: Mirrored) -> PlacedJoint:
    ends = np.array([c.lower, c.upper])
    if np.all(np.isinf(ends)):
        lower, upper = c.lower, c.upper
    else:
        signs, order = _signs(c, image.q, "limits")
        turned = np.where(signs > 0.0, ends[:, order], -ends[::-1, order])
        lower, upper = (tuple(row.tolist()) for row in turned)
    c = replace(c, **_forces(c, image))
    return replace(
        c, joint=image.joint, placement=_place(m, c.placement), lower=lower, upper=upper, rest=_map(image.q, c.rest),
        **{name: _by_velocity(c, image, name) for name in _BY_VELOCITY},
    )  # fmt: skip


def _forces(c: PlacedJoint, image: Mirrored) -> dict[str, tuple[float, ...]]:
    """The ends of the range of its forces."""
    if not c.min_force:
        return {"max_force": _by_velocity(c, image, "max_force")}
    signs, order = _signs(c, image.v, "range of forces")
    ends = np.array([c.min_force, c.max_force])
    lower, upper = np.where(signs > 0.0, ends[:, order], -ends[::-1, order])
    return {"min_force": tuple(lower.tolist()), "max_force": tuple(upper.tolist())}


def _by_velocity(c: PlacedJoint, image: Mirrored, name: str) -> tuple[float, ...]:
    values = getattr(c, name)
    if len(set(values)) < 2:
        return values
    _, order = _signs(c, image.v, name)
    return tuple(values[j] for j in order)


def _signs(c: PlacedJoint, rows: Rows, what: str) -> tuple[np.ndarray, list[int]]:
    """A map that only permutes coordinates and changes signs: the signs, and the permutation."""
    M = np.array(rows)
    order = np.abs(M).argmax(axis=1)
    signs = M[np.arange(len(M)), order]
    if np.any(np.abs(np.abs(signs) - 1.0) > 1e-12):
        raise ModelError(
            f"joint {c.name!r}: the {what} of a {type(c.joint).__name__} joint cannot be mirrored in a plane that "
            "mixes its coordinates; mirror in a plane normal to one of its axes, or remove them first"
        )
    return np.sign(signs), order.tolist()


def state_maps(cluster_tree: ClusterTree, plane: Axis) -> tuple[np.ndarray, np.ndarray]:
    """The matrices that map coordinates and velocities of all moving joints to those of the image."""
    m = Mirror(plane)
    images = [m.joint(c.joint) for c in cluster_tree.moving]
    return _block_diagonal([x.q for x in images]), _block_diagonal([x.v for x in images])


def _block_diagonal(blocks: list[Rows]) -> np.ndarray:
    sizes = [len(block) for block in blocks]
    A, at = np.zeros((sum(sizes), sum(sizes))), 0
    for block, n in zip(blocks, sizes, strict=True):
        A[at : at + n, at : at + n] = block
        at += n
    return A
