"""Declaring armature that couples joints: a part of the `Builder`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from ..errors import ModelError
from ..joints.base import Joint
from .armature_blocks import ArmatureBlock, check, read_block


class ArmatureBuilder:
    """Collects armature blocks by name."""

    def __init__(self) -> None:
        super().__init__()
        self._armatures: dict[str, ArmatureBlock] = {}

    def armature(self, joints: Any, matrix: Any, *, name: str | None = None) -> Self:
        """Add armature that couples joints: a symmetric block of the mass matrix.

        Parameters
        ----------
        joints : sequence of str
            Joints; each has all of its velocities.
        matrix : array_like, shape (n, n)
            Symmetric matrix (kg m², kg m, kg) over their n velocities, without negative eigenvalues. It is added to the
            mass matrix, and to the `armature` of the joints.
        name : str, optional
            Name of the block; by default 'armature' and a number.

        Returns
        -------
        Builder
            The builder itself, so that calls can be chained.

        See Also
        --------
        rotor : A rotor as a body, which is exact.
        fourbar.baselines.reflected_robot : A robot with such blocks in place of its rotors.

        Notes
        -----
        A rotor of inertia I that turns by c · v adds I c cᵀ, the reflected inertia of a transmission (Chignoli §II-C).
        The joints then form one cluster. On spherical, planar and free joints the momentum turns with the joint, as
        that of a body does.

        Examples
        --------
        Two rotors of 1e-4 kg m² drive a knee and an ankle by belts: they turn by 12 knee and 12 (knee + ankle).

        >>> import fourbar as fb
        >>> b = fb.Builder("leg")
        >>> _ = b.body("knee", joint=fb.joints.Revolute("y"), mass=1.0, com=(0, 0, -0.1), inertia=(0.01, 0.01, 0.01))
        >>> _ = b.body("ankle", parent="knee", joint=fb.joints.Revolute("y"), position=(0, 0, -0.3), mass=0.2)
        >>> robot = b.armature(["knee", "ankle"], [[0.0288, 0.0144], [0.0144, 0.0144]], name="belts").build()
        >>> robot.mass_matrix([0.0, 0.0]).round(4)
        array([[0.0668, 0.0144],
               [0.0144, 0.0144]])
        """
        chosen = f"armature{len(self._armatures) + 1}" if name is None else name
        if not isinstance(chosen, str) or not chosen:
            raise ModelError(
                f"the name of an armature must be a non-empty string, got {name!r}; leave it out to have one chosen"
            )
        return self._add_armatures(read_block(chosen, joints, matrix))

    def _add_armatures(self, *blocks: ArmatureBlock) -> Self:
        for block in blocks:
            if block.name in self._armatures:
                raise ModelError(f"there is already an armature {block.name!r}; names must be unique")
            self._armatures[block.name] = block
        return self

    def _checked_armatures(self, joints: Mapping[str, Joint]) -> tuple[ArmatureBlock, ...]:
        check(tuple(self._armatures.values()), joints)
        return tuple(self._armatures.values())
