"""Loops between coordinates of joints: gears, belts, racks, differentials, polynomial couplings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from ..errors import ModelError
from ..spatial.linear import Scalar
from .loop import Loop, MechanismView, read_factor, read_names, read_number

if TYPE_CHECKING:
    from ..joints.mirror import Mirror
    from ..joints.mirror_image import Mirrored


def _matrix(value: Any) -> np.ndarray:
    """An array of numbers; one without axes if it cannot be read."""
    try:
        return np.asarray(value, float)
    except (TypeError, ValueError, OverflowError):
        return np.zeros(())


def _only(view: MechanismView, joint: str) -> Scalar:
    """The coordinate of a joint that has just one."""
    q = view.q(joint)
    if len(q) != 1:
        raise ModelError(f"joint {joint!r} has {len(q)} coordinates; a coupling is between joints with one")
    return q[0]


@dataclass(frozen=True)
class Coupling(Loop):
    """Linear relation between coordinates: belts, racks, chains of gears.

    Σ factor · q = offset. With one joint: it is held.

    Parameters
    ----------
    factors : mapping of str to float
        Factors by joint, each with one coordinate.
    offset : float, default 0.0
        The sum (rad, m).

    Examples
    --------
    >>> import fourbar as fb
    >>> fb.loops.Coupling({"left": 1.0, "right": -1.0}).joints
    ('left', 'right')
    """

    linear: ClassVar[bool] = True
    factors: tuple[tuple[str, float], ...]
    offset: float = 0.0

    def __init__(self, factors: Mapping[str, float], offset: float = 0.0) -> None:
        if not isinstance(factors, Mapping):
            raise ModelError(f"a coupling takes factors by joint, {{'left': 1.0, 'right': -1.0}}, got {factors!r}")
        read = tuple((name, read_factor(f"factor of {name!r}", x)) for name, x in factors.items())
        if all(x == 0.0 for _, x in read):
            raise ModelError(f"a coupling needs joints, and a factor that is not zero, got {dict(factors)!r}")
        object.__setattr__(self, "factors", read)
        object.__setattr__(self, "offset", read_number("offset", offset))

    @property
    def joints(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.factors)

    @property
    def driven_joints(self) -> tuple[str, ...]:
        return self.joints[-1:]

    def residual(self, view: MechanismView) -> Sequence[Scalar]:
        total: Scalar = -self.offset
        for name, x in self.factors:
            total = total + x * _only(view, name)
        return (total,)

    def renamed(self, joints: Mapping[str, str], bodies: Mapping[str, str]) -> Coupling:
        return Coupling({joints.get(name, name): x for name, x in self.factors}, self.offset)

    def hold(self, at: Mapping[str, tuple[float, ...]]) -> tuple[Loop, ...]:
        left = {name: x for name, x in self.factors if name not in at}
        if not any(left.values()):
            return super().hold(at)
        return (Coupling(left, self.offset - sum(x * at[name][0] for name, x in self.factors if name in at)),)

    def mirrored(self, mirror: Mirror, joints: Mapping[str, Mirrored]) -> Loop:
        return _if_symmetric(self, joints) or super().mirrored(mirror, joints)


@dataclass(frozen=True)
class _Pair(Loop):
    """One joint that drives another."""

    driver: str
    driven: str

    def __post_init__(self) -> None:
        if self.driver == self.driven:
            raise ModelError(f"a {type(self).__name__.lower()} couples two joints, got {self.driver!r} twice")

    @property
    def joints(self) -> tuple[str, ...]:
        return (self.driver, self.driven)

    @property
    def driven_joints(self) -> tuple[str, ...]:
        return (self.driven,)

    def renamed(self, joints: Mapping[str, str], bodies: Mapping[str, str]) -> Self:
        driver, driven = (joints.get(x, x) for x in self.joints)
        return replace(self, driver=driver, driven=driven)

    def mirrored(self, mirror: Mirror, joints: Mapping[str, Mirrored]) -> Loop:
        return _if_symmetric(self, joints) or super().mirrored(mirror, joints)


@dataclass(frozen=True)
class Gear(_Pair):
    """A gear, a geared rotor, or a mimic joint of URDF: q_driven = ratio · q_driver + offset.

    Parameters
    ----------
    driver : str
        Joint that drives.
    driven : str
        Joint that follows.
    ratio : float
        Turns of the driven joint per turn of the driver.
    offset : float, default 0.0
        Coordinate of the driven joint (rad, m) where the driver is at zero.

    Examples
    --------
    >>> import fourbar as fb
    >>> fb.loops.Gear("knee", "knee_rotor", 6.0).driven_joints
    ('knee_rotor',)
    """

    linear: ClassVar[bool] = True
    ratio: float
    offset: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "ratio", read_factor("ratio", self.ratio))
        object.__setattr__(self, "offset", read_number("offset", self.offset))

    def residual(self, view: MechanismView) -> Sequence[Scalar]:
        return (_only(view, self.driven) - self.ratio * _only(view, self.driver) - self.offset,)


@dataclass(frozen=True)
class Polynomial(_Pair):
    """A joint that follows a polynomial of another: q_driven = Σ c_k q_driver^k, such as a joint equality of MJCF.

    Parameters
    ----------
    driver : str
        Joint that drives.
    driven : str
        Joint that follows.
    coefficients : sequence of float
        The coefficients c_k, that of the power 0 first.

    Examples
    --------
    >>> import fourbar as fb
    >>> fb.loops.Polynomial("crank", "cam", (0.0, 1.0, 0.5)).joints
    ('crank', 'cam')
    """

    coefficients: tuple[float, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.coefficients, str | Mapping) or not hasattr(self.coefficients, "__iter__"):
            raise ModelError(
                "a polynomial coupling takes a list of coefficients, that of the power 0 first, got "
                f"{self.coefficients!r}"
            )
        read = tuple(read_number("a coefficient", c) for c in self.coefficients)
        if not read:
            raise ModelError("a polynomial coupling needs at least one coefficient")
        object.__setattr__(self, "coefficients", read)

    def residual(self, view: MechanismView) -> Sequence[Scalar]:
        return (_only(view, self.driven) - self.value(_only(view, self.driver)),)

    def value(self, q: Scalar) -> Scalar:
        """The coordinate of the driven joint, for that of the driver."""
        total: Scalar = 0.0
        for c in reversed(self.coefficients):
            total = total * q + c
        return total


@dataclass(frozen=True)
class Differential(Loop):
    """Several joints driven together: outputs = matrix · inputs, such as the two halves of a geared differential.

    Parameters
    ----------
    inputs : sequence of str
        Joints that drive.
    outputs : sequence of str
        Joints that follow.
    matrix : array_like, shape (n_outputs, n_inputs)
        Their coordinates from those of the inputs.

    Examples
    --------
    >>> import fourbar as fb
    >>> fb.loops.Differential(["pitch", "roll"], ["left", "right"], [[1, 1], [1, -1]]).driven_joints
    ('left', 'right')
    """

    linear: ClassVar[bool] = True
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    matrix: tuple[tuple[float, ...], ...]

    def __init__(self, inputs: Sequence[str], outputs: Sequence[str], matrix: Any) -> None:
        given = (("inputs", inputs), ("outputs", outputs))
        drivers, driven = (read_names(f"the {x} of a differential", names) for x, names in given)
        if set(drivers) & set(driven):
            raise ModelError(f"a differential takes lists of different joints, got {inputs!r} and {outputs!r}")
        array = _matrix(matrix)
        if array.shape != (len(outputs), len(inputs)) or not np.all(np.isfinite(array)):
            raise ModelError(
                f"a differential with {len(outputs)} outputs and {len(inputs)} inputs needs a finite matrix of shape "
                f"{(len(outputs), len(inputs))}, got {matrix!r}"
            )
        object.__setattr__(self, "inputs", drivers)
        object.__setattr__(self, "outputs", driven)
        object.__setattr__(self, "matrix", tuple(tuple(row) for row in array.tolist()))

    @property
    def joints(self) -> tuple[str, ...]:
        return self.inputs + self.outputs

    @property
    def driven_joints(self) -> tuple[str, ...]:
        return self.outputs

    def residual(self, view: MechanismView) -> Sequence[Scalar]:
        rows = []
        for output, row in zip(self.outputs, self.matrix, strict=True):
            value = _only(view, output)
            for name, x in zip(self.inputs, row, strict=True):
                value = value - x * _only(view, name)
            rows.append(value)
        return rows

    def renamed(self, joints: Mapping[str, str], bodies: Mapping[str, str]) -> Differential:
        inputs, outputs = ([joints.get(x, x) for x in names] for names in (self.inputs, self.outputs))
        return Differential(inputs, outputs, self.matrix)

    def hold(self, at: Mapping[str, tuple[float, ...]]) -> tuple[Loop, ...]:
        if not any(joint in at for joint in self.joints):
            return (self,)
        rows = zip(self.outputs, self.matrix, strict=True)
        written = [Coupling({**dict(zip(self.inputs, row, strict=True)), out: -1.0}) for out, row in rows]
        return tuple(left for row in written for left in row.hold(at))

    def mirrored(self, mirror: Mirror, joints: Mapping[str, Mirrored]) -> Loop:
        return _if_symmetric(self, joints) or super().mirrored(mirror, joints)


def _if_symmetric(loop: Loop, joints: Mapping[str, Mirrored]) -> Loop | None:
    """The loop itself, where every joint has the same coordinate as its mirror image."""
    return loop if all(joints[name].q == ((1.0,),) for name in loop.joints) else None
