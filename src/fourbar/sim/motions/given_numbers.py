"""Numbers that differ from sample to sample of a simulation: parameters of a robot, `numbers={"hand.mass": masses}`,
numbers of its terrain, `numbers={"terrain.normal": normals}`, and the friction of all contacts, `numbers={"friction":
coefficients}`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from ...arrays import is_lazy, tracing_advice
from ...contact.candidates import Spec
from ...contact.terrain import Terrain
from ...contact.terrain_numbers import FRICTION, TERRAINS, numbers_of
from ...errors import ArgumentError, unknown
from ...functions.varied_context import argument_names
from ...functions.varying import parameters
from ...linalg import is_semidefinite
from ...mechanism.mechanism import Mechanism
from ...once import make_recent
from ...tree.cluster_tree import GROUND, lower
from ...tree.parameters import Parameter
from ...tree.parameters import parameters as every_parameter

CONTACTS = "contacts"  # the owners of the friction of all contacts
_OF_FLUIDS = ("added_mass", "linear_drag", "quadratic_drag")
_ROUNDING = 1e-9  # of matrices that are symmetric
_NOT_NEGATIVE = ("mass", "armature", "damping", "friction", "kp", "kd", "kv", "volume", "density")


class GivenNumbers(NamedTuple):
    """Parameters of the robot, in the order of the model, numbers of terrain, and the values (..., *shape) of both, by
    the names of arguments; the friction (..., n) of all contacts, None where it is that of the scene.
    """

    which: tuple[Parameter, ...]
    values: dict[str, np.ndarray]
    terrain: tuple[Parameter, ...] = ()
    friction: np.ndarray | None = None

    @property
    def every(self) -> tuple[Parameter, ...]:
        """The parameters of the robot, then the numbers of terrain, in the order of the values."""
        return (*self.which, *self.terrain)

    @property
    def by_name(self) -> dict[str, np.ndarray]:
        """The values of the robot's, by the names of parameters."""
        return dict(zip((x.name for x in self.which), self.values.values(), strict=False))

    @property
    def of_robot(self) -> dict[str, np.ndarray]:
        """The values of the robot's, in the order of `which`."""
        return dict(islice(self.values.items(), len(self.which)))


NOTHING = GivenNumbers((), {})


class Grounds(NamedTuple):
    """The terrains of a scene by name, and the contacts on them."""

    names: tuple[str, ...]
    terrains: tuple[Terrain, ...]
    spec: Spec


NOWHERE = Grounds((), (), Spec((), ()))


def which_numbers(mechanism: Mechanism, numbers: Any, grounds: Grounds = NOWHERE) -> tuple[Parameter, ...]:
    """The parameters that numbers by name are given for: in the order of the model, then those of the terrain, then the
    friction of all contacts; none if None.
    """
    if numbers is None or (isinstance(numbers, Mapping) and not numbers):
        return ()
    if not isinstance(numbers, Mapping):
        raise ArgumentError(f"numbers={numbers!r}: expected arrays by name, such as {{'hand.mass': masses}}")
    terrain = _of_terrain(mechanism, numbers, grounds)
    touching: tuple[Parameter, ...] = ()
    if FRICTION in numbers and grounds is not NOWHERE:
        touching = (Parameter(FRICTION, (len(grounds.spec.candidates),), CONTACTS, 0, FRICTION),)
        if both := [x.name for x in terrain if x.field == FRICTION]:
            raise ArgumentError(f"numbers: give {FRICTION!r}, which is that of all contacts, or {both[0]!r}, not both")
    known = {x.name for x in (*terrain, *touching)}
    own = tuple(name for name in numbers if name not in known)
    given = {x.name for x in parameters(mechanism, own)} if own else set()
    which = tuple(x for x in every_parameter(mechanism) if x.name in given)
    return (*which, *terrain, *touching)


def refuse_dry_friction(which: Iterable[Parameter]) -> None:
    """Refuse parameters that act in scenes only."""
    for x in which:
        if x.owners == "joints" and x.field == "friction":
            raise ArgumentError(f"numbers: {x.name!r}: dry friction acts in scenes only; simulate fb.Scene(robot)")


def refuse_moved_rows(which: Iterable[Parameter]) -> None:
    """Refuse parameters on which constraints may depend that forces keep."""
    for x in which:
        if x.moves_links:
            raise ArgumentError(
                f"numbers: {x.name!r} moves places of the constraints of robot.constrained(...), which are kept where "
                "they were built; embed them with Builder.loop, or make a robot for each value"
            )


def refuse_moving_numbers(mechanism: Mechanism, spec: Spec, constrained: bool, given: GivenNumbers) -> GivenNumbers:
    """The numbers of a scene; those that its contacts, and constraints if it has some, cannot follow are refused."""
    moving = [x for x in given.which if x.moves_links]
    if moving:
        _refuse_moving_shapes(mechanism, spec, moving)
    if constrained:
        refuse_moved_rows(moving)
    return given


def _refuse_moving_shapes(mechanism: Mechanism, spec: Spec, which: Iterable[Parameter]) -> None:
    """Refuse placements of bodies without joints of their own that carry shapes: contacts know these as built."""
    tree = lower(mechanism)
    for parameter in which:
        if parameter.owners != "joints" or parameter.field != "placement" or mechanism.joints[parameter.place].joint.nv:
            continue
        link = tree.bodies[mechanism.joints[parameter.place].child].link
        if any(link in y.links and (link != GROUND or y.footing is None) for y in spec.candidates):
            raise ArgumentError(
                f"numbers: {parameter.name!r} displaces a body that is fixed to others with shapes that may touch, and "
                "contacts keep shapes where they were built; displace the moving joint that carries them, or make a "
                "scene for each value"
            )


def are_passive(which: Iterable[Parameter]) -> bool:
    """Whether springs, dampers, drag or currents are among parameters: the robot itself may have none."""
    return any(x.is_passive or x.field in ("linear_drag", "quadratic_drag", "current") for x in which)


class NamedNumbers(NamedTuple):
    """Numbers found by their names: parameters of the robot, numbers of terrain, the names of both as arguments, and
    the friction of all contacts, if it is among them.
    """

    which: tuple[Parameter, ...]
    terrain: tuple[Parameter, ...]
    arguments: tuple[str, ...]
    friction: Parameter | None


def named_numbers(mechanism: Mechanism, numbers: Any, grounds: Grounds) -> NamedNumbers:
    """The numbers that names stand for."""
    every = which_numbers(mechanism, numbers, grounds)
    terrain, touching = (tuple(x for x in every if x.owners == owners) for owners in (TERRAINS, CONTACTS))
    which = tuple(x for x in every if x.owners not in (TERRAINS, CONTACTS))
    arguments = (*argument_names(which), *argument_names(terrain))
    return NamedNumbers(which, terrain, arguments, touching[0] if touching else None)


def read_numbers(
    mechanism: Mechanism, numbers: Any, grounds: Grounds = NOWHERE, known: dict[Any, NamedNumbers] | None = None
) -> GivenNumbers:
    """Numbers by name as the user gives them, nothing if None.

    `known` holds the numbers of names that were read before: finding them takes longer than a step.
    """
    if numbers is None:
        return NOTHING
    find = partial(named_numbers, mechanism, numbers, grounds)
    named = find() if known is None or not isinstance(numbers, dict) else make_recent(known, tuple(numbers), find)
    values = [read_values(x, numbers[x.name]) for x in (*named.which, *named.terrain)]
    friction = None if named.friction is None else read_values(named.friction, numbers[FRICTION])
    return GivenNumbers(named.which, dict(zip(named.arguments, values, strict=True)), named.terrain, friction)


def _of_terrain(mechanism: Mechanism, numbers: Mapping[str, Any], grounds: Grounds) -> tuple[Parameter, ...]:
    """The numbers of the terrain, in its order."""
    known = numbers_of(grounds.names, grounds.terrains)
    of_robot = {x.name for x in every_parameter(mechanism)}
    for name in numbers:
        if name in known and name in of_robot:
            raise ArgumentError(
                f"numbers: {name!r} names a number of the robot and one of the terrain; rename the part of the robot"
            )
        of_terrain = isinstance(name, str) and name.rpartition(".")[0] in grounds.names
        if of_terrain and name not in known and name not in of_robot:
            raise unknown("number of the terrain", name, list(known))
    asked = tuple(x for x, _ in known.values() if x.name in numbers)
    for number in asked:
        footings = [y.footing for y in grounds.spec.candidates if y.friction > 0.0]
        acts = any(y and y.terrain == number.place and y.friction is not None for y in footings)
        if number.field == FRICTION and not acts:
            raise ArgumentError(
                f"numbers: {number.name!r} acts on no contact: build the scene with friction above zero there, and "
                "with pairs and priorities that leave friction to the terrain"
            )
    return asked


def read_values(x: Parameter, given: Any) -> np.ndarray:
    """The values (..., *shape) of a number as the user gives them."""
    if is_lazy(given):
        raise ArgumentError(
            f"numbers: {x.name!r} is a dask array, of shape {given.shape}, which would be computed at once here; use "
            "rollout, which works on dask arrays lazily, chunk by chunk, or give its .compute() if it fits in memory"
        )
    try:
        array = np.asarray(given)
        if array.dtype.kind == "c":  # of which NumPy would take the real part
            raise TypeError
        array = array.astype(float, copy=False)
    except (TypeError, ValueError, OverflowError, RuntimeError):
        advice = tracing_advice(given)
        got = "" if advice else f", got {given!r:.200}"
        raise ArgumentError(f"numbers: {x.name!r}: expected numbers{got}{advice}") from None
    if array.ndim < len(x.shape) or array.shape[array.ndim - len(x.shape) :] != x.shape:
        shape = ", ".join(["...", *map(str, x.shape)])
        raise ArgumentError(f"numbers: {x.name!r} must have shape ({shape}), got {array.shape}")
    if not np.isfinite(array).all():
        raise ArgumentError(f"numbers: {x.name!r} is NaN or infinite in some samples")
    fields = (FRICTION,) if x.owners in (TERRAINS, CONTACTS) else _NOT_NEGATIVE
    if x.field in fields and (array < 0.0).any():
        raise ArgumentError(f"numbers: {x.name!r} is negative in some samples, the least is {array.min():g}")
    if x.shape[1:]:
        _check_matrices(x, array)
    if x.owners == TERRAINS and x.field == "normal" and not array.any(axis=-1).all():
        raise ArgumentError(f"numbers: {x.name!r} is zero in some samples: expected directions, of any length")
    return array


def _check_matrices(x: Parameter, matrices: np.ndarray) -> None:
    """Refuse matrices (..., n, n) by which some motion would have negative kinetic energy, or gain energy by drag."""
    turned = np.swapaxes(matrices, -1, -2)
    diagonal = np.diagonal(matrices, axis1=-2, axis2=-1)
    if x.is_symmetric:
        unit = np.sqrt(np.abs(diagonal))
        size = np.maximum(np.abs(matrices), unit[..., :, None] * unit[..., None, :])
        if (np.abs(matrices - turned) > _ROUNDING * size).any():
            raise ArgumentError(f"numbers: {x.name!r} is not symmetric in some samples")
    if (x.field in _OF_FLUIDS or x.owners == "armatures") and (diagonal < 0.0).any():
        raise ArgumentError(
            f"numbers: {x.name!r} has a negative diagonal in some samples, the least entry is {diagonal.min():g}"
        )
    if x.is_symmetric or x.field == "linear_drag":
        even = 0.5 * (matrices + turned)
        if x.owners == "bodies":  # of three axes, whose entries have the same unit
            sizes = np.abs(diagonal).reshape(*diagonal.shape[:-1], -1, 3).max(axis=-1).repeat(3, axis=-1)
            even = even + _ROUNDING * sizes[..., None] * np.eye(x.shape[0])
        if not is_semidefinite(even, _ROUNDING).all():
            why = "gain energy" if x.field == "linear_drag" else "have negative kinetic energy"
            raise ArgumentError(
                f"numbers: {x.name!r} has a negative eigenvalue in some samples: some motion would {why}"
            )


def nominal(mechanism: Mechanism, x: Parameter, grounds: Grounds = NOWHERE) -> np.ndarray:
    """The value that a robot, or a terrain, itself has."""
    if x.owners == TERRAINS:
        return numbers_of(grounds.names, grounds.terrains)[x.name][1]
    return np.reshape(np.array(x.values(mechanism), float), x.shape)


def nominal_numbers(mechanism: Mechanism, names: tuple[str, ...], grounds: Grounds) -> dict[str, np.ndarray]:
    """The values that a scene itself has, by name."""
    known = numbers_of(grounds.names, grounds.terrains)
    own = tuple(name for name in names if name not in known)
    of_robot = {x.name: nominal(mechanism, x) for x in parameters(mechanism, own)} if own else {}
    return {name: known[name][1] if name in known else of_robot[name] for name in names}
