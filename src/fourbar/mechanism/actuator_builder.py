"""Declaring actuators, kind by kind: a part of the `Builder`."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from ..errors import ModelError
from . import actuators
from .actuators import Actuator


class ActuatorBuilder:
    """Collects actuators by name."""

    def __init__(self) -> None:
        super().__init__()
        self._actuators: dict[str, Actuator] = {}

    def actuator(
        self,
        name: str,
        *,
        drives: Any,
        gear: Any = 1.0,
        axes: str = "child",
        control_range: Any = None,
        force_range: Any = None,
        kind: str = "motor",
        parameters: Any = None,
        dynamics: Any = None,
        delay: int = 0,
    ) -> Self:
        """Add an actuator that moves joints: its force times gear is the force on the joint. A motor by default.

        The actuator's length is Σ gear · coordinate, its velocity Σ gear · velocity of the joints, and its force
        (g₀ + g₁ length + g₂ velocity) u + b₀ + b₁ length + b₂ velocity, with u its entry of the control of
        `System.control_force`. `motor`, `position_servo`, `velocity_servo` and `damper` are laws of this form.

        Parameters
        ----------
        name : str
            Its name; `System.names.actuators` has all of them, in the order of the controls.
        drives : str, mapping or list of Drive
            A joint; or gear ratios by joint, as of a tendon over several, {"knee": 9.0, "ankle": -2.0}.
        gear : number or one for each velocity of the joint
            Velocity of the actuator per velocity of the joint, and force on the joint per force of the actuator.
        axes : {"child", "parent"}
            "parent": the gear of a ball or free joint stays in the parent's axes.
        control_range, force_range : pair of numbers, optional
            Ends within which control and force (N, or N m where the length is an angle) are held.
        kind : str
            "motor" or "affine"; other words are carried, and `System.control_force` refuses them.
        parameters : mapping from name to numbers, optional
            "gain": g₀ of a motor (1 if not given), up to three numbers g of an affine law; "bias": up to three, b.
        dynamics : Dynamics or str, optional
            An activation that follows the control in simulations, and that the law has in place of it.
        delay : int, default 0
            Number of steps of a simulation after which a control acts; until then the first steps have zeros.

        Returns
        -------
        Builder
            The builder itself, so that calls can be chained.

        See Also
        --------
        System.control_force : Joint forces made by the actuators at their controls.
        System.actuator_force : Joint forces of given forces of the actuators.

        Examples
        --------
        >>> import fourbar as fb
        >>> b = fb.Builder("arm")
        >>> _ = b.body("rod", joint=fb.joints.Revolute("y"), mass=1.0, com=(0, 0, -0.5), inertia=(0.1, 0.1, 0))
        >>> b.actuator("motor", drives="rod", gear=9.0, force_range=(-2.0, 2.0)).build().names.actuators
        ('motor',)
        """
        signal = (dynamics, delay)
        made = actuators.make(name, drives, gear, axes, control_range, force_range, kind, parameters, *signal)
        return self._add_actuator(made)

    def motor(
        self,
        name: str,
        *,
        drives: Any,
        gear: Any = 1.0,
        axes: str = "child",
        control_range: Any = None,
        force_range: Any = None,
        dynamics: Any = None,
        delay: int = 0,
    ) -> Self:
        """Add an actuator whose control u is its force.

        Parameters
        ----------
        name : str
            Its name.
        drives : str, mapping or list of Drive
            What it moves, as in `actuator`.
        gear : number or one for each velocity of the joint, default 1.0
            Velocity of the actuator per velocity of the joint, and force on the joint per force of the actuator.
        axes : {"child", "parent"}, default "child"
            "parent": the gear of a ball or free joint stays in the parent's axes.
        control_range : pair of numbers, optional
            Ends within which the control (N, or N m where the length is an angle) is held.
        force_range : pair of numbers, optional
            Ends within which the force of the actuator (N, or N m where the length is an angle) is held.
        dynamics : Dynamics or str, optional
            An activation that follows the control, and that the law has in place of it, as in `actuator`.
        delay : int, default 0
            Number of steps of a simulation after which a control acts.

        Returns
        -------
        Builder
            The builder itself, so that calls can be chained.

        See Also
        --------
        rotor : The inertia of a geared motor: a body, and the gear that ties it to a joint.

        Examples
        --------
        >>> import fourbar as fb
        >>> b = fb.Builder("arm")
        >>> _ = b.body("rod", joint=fb.joints.Revolute("y"), mass=1.0, com=(0, 0, -0.5), inertia=(0.1, 0.1, 0))
        >>> robot = b.motor("motor", drives="rod", gear=9.0, force_range=(-2.0, 2.0)).build()
        >>> robot.control_force([0.0], [0.0], [0.5])
        array([4.5])
        """
        law = ("motor", None)
        made = actuators.make(name, drives, gear, axes, control_range, force_range, *law, dynamics, delay)
        return self._add_actuator(made)

    def position_servo(
        self,
        name: str,
        *,
        drives: Any,
        kp: float,
        kd: float = 0.0,
        gear: Any = 1.0,
        axes: str = "child",
        control_range: Any = None,
        force_range: Any = None,
        dynamics: Any = None,
        delay: int = 0,
    ) -> Self:
        """Add an actuator whose control is a position: its force is kp (u - length) - kd velocity.

        Parameters
        ----------
        name : str
            Its name.
        drives : str, mapping or list of Drive
            What it moves, as in `actuator`.
        kp : float
            Force per length: N m/rad of a joint that turns, N/m of one that slides, with gear 1.
        kd : float
            Force per velocity: N m s/rad or N s/m.
        gear : number or one for each velocity of the joint, default 1.0
            Velocity of the actuator per velocity of the joint, and force on the joint per force of the actuator.
        axes : {"child", "parent"}, default "child"
            "parent": the gear of a ball or free joint stays in the parent's axes.
        control_range : pair of numbers, optional
            Ends within which the control (rad or m, times gear) is held.
        force_range : pair of numbers, optional
            Ends within which the force of the actuator (N, or N m where the length is an angle) is held.
        dynamics : Dynamics or str, optional
            An activation that follows the control, and that the law has in place of it, as in `actuator`.
        delay : int, default 0
            Number of steps of a simulation after which a control acts.

        Returns
        -------
        Builder
            The builder itself, so that calls can be chained.

        Examples
        --------
        >>> import fourbar as fb
        >>> b = fb.Builder("arm")
        >>> _ = b.body("rod", joint=fb.joints.Revolute("y"), mass=1.0, com=(0, 0, -0.5), inertia=(0.1, 0.1, 0))
        >>> robot = b.position_servo("servo", drives="rod", kp=20.0, kd=1.0, force_range=(-5.0, 5.0)).build()
        >>> robot.control_force([0.1], [0.0], [0.2])
        array([2.])
        """
        limits, signal = (control_range, force_range), (dynamics, delay)
        return self._affine(name, drives, gear, axes, limits, actuators.servo(kp, kd), signal)

    def velocity_servo(
        self,
        name: str,
        *,
        drives: Any,
        kv: float,
        gear: Any = 1.0,
        axes: str = "child",
        control_range: Any = None,
        force_range: Any = None,
        dynamics: Any = None,
        delay: int = 0,
    ) -> Self:
        """Add an actuator whose control is a velocity: its force is kv (u - velocity).

        Parameters
        ----------
        name : str
            Its name.
        drives : str, mapping or list of Drive
            What it moves, as in `actuator`.
        kv : float
            Force per velocity: N m s/rad of a joint that turns, N s/m of one that slides, with gear 1.
        gear : number or one for each velocity of the joint, default 1.0
            Velocity of the actuator per velocity of the joint, and force on the joint per force of the actuator.
        axes : {"child", "parent"}, default "child"
            "parent": the gear of a ball or free joint stays in the parent's axes.
        control_range : pair of numbers, optional
            Ends within which the control (rad/s or m/s, times gear) is held.
        force_range : pair of numbers, optional
            Ends within which the force of the actuator (N, or N m where the length is an angle) is held.
        dynamics : Dynamics or str, optional
            An activation that follows the control, and that the law has in place of it, as in `actuator`.
        delay : int, default 0
            Number of steps of a simulation after which a control acts.

        Returns
        -------
        Builder
            The builder itself, so that calls can be chained.

        Examples
        --------
        >>> import fourbar as fb
        >>> b = fb.Builder("arm")
        >>> _ = b.body("rod", joint=fb.joints.Revolute("y"), mass=1.0, com=(0, 0, -0.5), inertia=(0.1, 0.1, 0))
        >>> robot = b.velocity_servo("servo", drives="rod", kv=2.0).build()
        >>> robot.control_force([0.0], [0.5], [1.0])
        array([1.])
        """
        limits, signal = (control_range, force_range), (dynamics, delay)
        return self._affine(name, drives, gear, axes, limits, actuators.velocity_servo(kv), signal)

    def damper(
        self,
        name: str,
        *,
        drives: Any,
        kv: float,
        gear: Any = 1.0,
        axes: str = "child",
        control_range: Any = (0.0, np.inf),
        force_range: Any = None,
        dynamics: Any = None,
        delay: int = 0,
    ) -> Self:
        """Add a damper whose control scales its damping: its force is -kv u velocity.

        Parameters
        ----------
        name : str
            Its name.
        drives : str, mapping or list of Drive
            What it moves, as in `actuator`.
        kv : float
            Force per velocity and control: N m s/rad or N s/m, with gear 1.
        gear : number or one for each velocity of the joint, default 1.0
            Velocity of the actuator per velocity of the joint, and force on the joint per force of the actuator.
        axes : {"child", "parent"}, default "child"
            "parent": the gear of a ball or free joint stays in the parent's axes.
        control_range : pair of numbers, default (0, inf)
            Ends within which the control is held; one below zero would push.
        force_range : pair of numbers, optional
            Ends within which the force of the actuator (N, or N m where the length is an angle) is held.
        dynamics : Dynamics or str, optional
            An activation that follows the control, and that the law has in place of it, as in `actuator`.
        delay : int, default 0
            Number of steps of a simulation after which a control acts.

        Returns
        -------
        Builder
            The builder itself, so that calls can be chained.

        Examples
        --------
        >>> import fourbar as fb
        >>> b = fb.Builder("arm")
        >>> _ = b.body("rod", joint=fb.joints.Revolute("y"), mass=1.0, com=(0, 0, -0.5), inertia=(0.1, 0.1, 0))
        >>> robot = b.damper("brake", drives="rod", kv=2.0).build()
        >>> robot.control_force([0.0], [0.5], [1.0])
        array([-1.])
        """
        limits, signal = (control_range, force_range), (dynamics, delay)
        return self._affine(name, drives, gear, axes, limits, actuators.controlled_damper(kv), signal)

    def _affine(
        self, name: str, drives: Any, gear: Any, axes: str, limits: tuple[Any, Any], law: Any, signal: tuple[Any, Any]
    ) -> Self:
        """Add an actuator with the parameters of an affine law; `limits` are those of its control and its force,
        `signal` its dynamics and delay.
        """
        return self._add_actuator(actuators.make(name, drives, gear, axes, *limits, "affine", law, *signal))

    def _add_actuator(self, actuator: Actuator) -> Self:
        if actuator.name in self._actuators:
            raise ModelError(f"there is already an actuator {actuator.name!r}; names must be unique")
        self._actuators[actuator.name] = actuator
        return self
