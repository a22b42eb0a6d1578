"""Numbers of a robot: its inertial parameters as one vector, and functions that take some of them as arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from ..functions.model import Model
from ..mechanism.inertial_parameters import RIGID, parameter_names, parameter_values, with_inertial_parameters
from ..mechanism.mechanism import Mechanism

if TYPE_CHECKING:
    from ..functions.varying import Varying


class Parametrised:
    """The parameters of a robot: read, changed and varied."""

    mechanism: Mechanism
    model: Model

    def varying(self, *names: str) -> Varying:
        """The functions of this robot with some of its parameters as arguments, without compiling for each value.

        Parameters
        ----------
        *names : str
            Parameters, some of `names.numbers`: ``"gravity"``, ``"hand.mass"``, ``"hand.com"``, ``"hand.inertia"``
            (about the centre of mass), those of the fluid around a body (``"hull.linear_drag"``, ...),
            ``"elbow.placement"`` (a twist that displaces it), ``"elbow.armature"``,
            ``"elbow.damping"``, ``"elbow.stiffness"`` and ``"elbow.rest"`` where there is a spring,
            ``"elbow.friction"`` where there is some (which acts in scenes), ``"hand.gravity_compensation"`` where there
            is some, numbers of the type of a joint,
            ``"screw.pitch"``, gains of actuators (``"motor.gain"``, ``"servo.kp"``, ``"servo.kd"``, ``"wheel.kv"``;
            ``gain`` and ``bias`` of others), ``"tip.placement"`` of a frame, and those of loops, ``"gear.ratio"``.

        Returns
        -------
        Varying
            Its methods take the parameters after their own arguments, in the order of `names`. They may differ from
            sample to sample of a batch.

        Raises
        ------
        UnknownNameError
            For a name that the robot does not have.
        ArgumentError
            For what the robot has that cannot vary, such as an axis, with the reason.

        Notes
        -----
        Values are taken as they are: whether some body can have them is not checked. Where parameters of a loop vary, q
        must close the loop with these parameters.

        Examples
        --------
        >>> import fourbar as fb, numpy as np
        >>> robot = fb.robots.double_pendulum()
        >>> masses = np.linspace(0.5, 2.0, 1000)
        >>> a = robot.varying("lower.mass").forward_dynamics([0.3, 0.4], [0, 0], [0, 0], masses)
        >>> a.shape
        (1000, 2)
        """
        from ..functions.varying import Varying  # when first needed

        return Varying(self.model, names)

    def inertial_parameters(self, columns: Any = RIGID) -> np.ndarray:
        """Inertial parameters, in which joint forces are linear.

        Parameters
        ----------
        columns : str or sequence of str, default ('inertia', 'armature', 'fluid')
            Kinds of parameters, see `System.regressor`.

        Returns
        -------
        ndarray, shape (p,)
            φ, in the order of `parameter_names`: what a `regressor` with the same columns multiplies.

        See Also
        --------
        with_inertial_parameters : The robot with other parameters.

        Examples
        --------
        >>> import fourbar as fb
        >>> robot = fb.robots.double_pendulum()
        >>> robot.inertial_parameters("armature")
        array([0., 0.])
        """
        return parameter_values(self.mechanism, columns)

    def parameter_names(self, columns: Any = RIGID) -> tuple[str, ...]:
        """Names of the inertial parameters.

        Parameters
        ----------
        columns : str or sequence of str, default ('inertia', 'armature', 'fluid')
            Kinds of parameters, see `System.regressor`.

        Returns
        -------
        tuple of str
            'link.m', 'link.mx', ..., 'link.Jzz', 'joint.armature', ..., in the order of `inertial_parameters`.

        Examples
        --------
        >>> import fourbar as fb
        >>> robot = fb.robots.double_pendulum()
        >>> robot.parameter_names()[:5]
        ('upper.m', 'upper.mx', 'upper.my', 'upper.mz', 'upper.Jxx')
        """
        return parameter_names(self.mechanism, columns)

    def with_inertial_parameters(self, parameters: Any, columns: Any = RIGID, allow_unphysical: bool = False) -> Self:
        """Robot with other inertial parameters.

        Parameters
        ----------
        parameters : array_like, shape (p,)
            φ, in the order of `parameter_names`.
        columns : str or sequence of str, default ('inertia', 'armature', 'fluid')
            Kinds of parameters, see `System.regressor`.
        allow_unphysical : bool, default False
            Accept parameters that no distribution of mass has.

        Returns
        -------
        System
            The same robot with these parameters.

        Raises
        ------
        ModelError
            If the parameters are not physically consistent, or a preload has no spring that could hold it.

        Examples
        --------
        >>> import fourbar as fb
        >>> robot = fb.robots.double_pendulum()
        >>> heavier = robot.with_inertial_parameters(2.0 * robot.inertial_parameters())
        >>> float(heavier.mass_matrix([0.0, 0.0])[0, 0] / robot.mass_matrix([0.0, 0.0])[0, 0])
        2.0
        """
        return type(self)(with_inertial_parameters(self.mechanism, parameters, columns, allow_unphysical))  # type: ignore[call-arg]

    def regressor_pattern(self, columns: Any = RIGID) -> tuple[np.ndarray, np.ndarray]:
        """Places of the entries of a packed regressor.

        Parameters
        ----------
        columns : str or sequence of str, default ('inertia', 'armature', 'fluid')
            Kinds of parameters, see `System.regressor`.

        Returns
        -------
        rows : ndarray of int, shape (n,)
            Rows of the entries that ``regressor(..., packed=True)`` keeps, in its order.
        columns : ndarray of int, shape (n,)
            Their columns.

        Examples
        --------
        >>> import fourbar as fb
        >>> robot = fb.robots.double_pendulum()
        >>> rows, columns = robot.regressor_pattern()
        >>> len(rows)
        12
        """
        from ..functions.methods.regressors import regressor_pattern

        return regressor_pattern(self.model, columns)
