"""`System`: the user's robot. One method per algorithm, traced and compiled when first called."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..errors import ArgumentError, warn
from ..functions.attributes import OptionedMethod, with_methods
from ..functions.model import Model
from ..hints import Hinted
from ..mechanism.builder import MechanismBuilder as MechanismBuilder
from ..mechanism.inertial_parameters import parameter_names
from ..mechanism.mechanism import Mechanism
from ..mechanism.validate import read_three
from ..once import cached_property
from ..representation import counted, html_table
from ..tree.assembly import ClusterInfo, choose_independent, describe
from ..tree.cluster_tree import ClusterTree
from .closed_states import FLAT_FIX, SLACK_FIX, Looped, flat_messages, slack_messages
from .configurations import Configured
from .edit import Editing
from .inspection import Inspected
from .massless_bodies import check_regular, unsolvable
from .names import Names
from .parameters import Parametrised
from .plotting import Plotting
from .reaching import Reaching
from .robot_methods import RobotMethods

if TYPE_CHECKING:
    from ..constraints import Condition, Loop
    from ..io.report import Report
    from ..mechanism.actuators import Actuator
    from .constrained.actuated import Actuated
    from .constrained.robot import Constrained


@with_methods
class System(RobotMethods, Parametrised, Configured, Inspected, Editing, Looped, Reaching, Plotting, Hinted):
    """A robot: frozen, thread-safe, hashable by content, picklable.

    Made by `Builder.build`, `load`, `loads`, or from another robot (`lock`, `attach`, `with_parameters`, ...). Its
    algorithms (`forward_dynamics`, `pose`, ...) are compiled when they are first called. They take arrays with any
    leading axes, which broadcast, and have derivatives: `.jvp`, `.vjp` and `.jacobian`. They take q as it is: where its
    loops are open, results mean nothing. `check(q, v)` refuses such states.

    Parameters
    ----------
    mechanism : Mechanism
        What the robot is made of, such as `Builder.mechanism` returns.
    report : Report, optional
        What was found while its file was read.

    Raises
    ------
    ModelError
        If the mechanism cannot be built: a loop cannot be closed, or a joint moves nothing.

    Notes
    -----
    A configuration q has nq coordinates (rad, m, quaternions), a velocity v has nv entries; a joint force τ is such
    that τ · v is power. With loops, v are the independent velocities. Algorithms take q as it is: where its loops are
    open, results mean nothing. `check` refuses such states.

    Examples
    --------
    >>> import fourbar as fb
    >>> robot = fb.robots.double_pendulum()
    >>> robot
    <fourbar System 'double_pendulum': 2 bodies, nq=2, nv=2>
    >>> robot.nq, robot.nv
    (2, 2)
    """

    _scope = "robot"
    mechanism: Mechanism

    def __init__(self, mechanism: Mechanism, report: Report | None = None) -> None:
        self._hold(mechanism, report)
        check_regular(self.model.cluster_tree)

    @classmethod
    def _unchecked(cls, mechanism: Mechanism, report: Report | None = None) -> System:
        """A robot whose mechanism needs no check: that was done before, or its dynamics is known not to be regular."""
        system = object.__new__(cls)
        system._hold(mechanism, report)
        return system

    def _hold(self, mechanism: Mechanism, report: Report | None) -> None:
        self.__dict__.update({"mechanism": mechanism} if report is None else {"mechanism": mechanism, "report": report})

    @cached_property
    def report(self) -> Report:
        """The findings of reading the robot's file.

        Returns
        -------
        Report
            The findings; empty for a robot that was built otherwise.
        """
        from ..io.report import NOTHING

        return NOTHING

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"a System is frozen; {name!r} cannot be set. Build another one, or use with_gravity(...)")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a System is frozen; {name!r} cannot be deleted")

    def __reduce__(self) -> tuple[Any, ...]:
        return restored, (self.mechanism, self.__dict__.get("report"))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, System) and self.mechanism == other.mechanism

    def __hash__(self) -> int:
        known = vars(self)  # every number of the model counts: found once
        return known["_hash"] if "_hash" in known else known.setdefault("_hash", hash(self.mechanism))

    def __repr__(self) -> str:
        m = self.mechanism
        return f"<fourbar System {m.name!r}: {counted(len(m.bodies), 'body', 'bodies')}, nq={self.nq}, nv={self.nv}>"

    def _repr_html_(self) -> str:
        joints = ((c.name, type(c.joint).__name__, c.parent, c.child) for c in self.mechanism.joints)
        from ..viewer.recorded_motion import still
        from ..viewer.standalone_page import notebook

        return notebook(lambda: still(self), html_table(repr(self), ("joint", "type", "parent", "body"), joints))

    @cached_property
    def model(self) -> Model:
        """The mechanism and its cluster tree."""
        return Model.of(self.mechanism, unsolvable(self.__dict__.get("report", ())))

    @property
    def name(self) -> str:
        """Name of the robot.

        Returns
        -------
        str
            Its name.
        """
        return self.mechanism.name

    @property
    def gravity(self) -> tuple[float, float, float]:
        """Acceleration of gravity.

        Returns
        -------
        tuple of float
            The acceleration (m/s²) of a free body, in world axes; (0, 0, -9.81) by default.
        """
        return self.mechanism.gravity

    @property
    def actuators(self) -> tuple[Actuator, ...]:
        """Actuators of the robot.

        Returns
        -------
        tuple of Actuator
            In the order of their forces u: what they move, through which gear, and how much.
        """
        return self.mechanism.actuators

    @cached_property
    def nq(self) -> int:
        """Number of coordinates of a configuration.

        Returns
        -------
        int
            The size of q.
        """
        return self.model.cluster_tree.nq

    @cached_property
    def nv(self) -> int:
        """Number of (independent) velocities.

        Returns
        -------
        int
            The size of v, a and τ.
        """
        return self.model.cluster_tree.nv

    @property
    def nu(self) -> int:
        """Number of controls: one for each of the `actuators`."""
        return len(self.mechanism.actuators)

    @cached_property
    def names(self) -> Names:
        """Names of all parts of the robot.

        Returns
        -------
        Names
            Names of bodies, joints, frames, coordinates, velocities, inertial parameters, numbers that may vary
            (`parameters=` of derivatives, `varying`, `numbers=` of rollouts), and actuators, each in the order of the
            arrays.
        """
        m = self.mechanism
        return Names(
            tuple(b.name for b in m.bodies),
            tuple(c.name for c in m.joints),
            tuple(f.name for f in m.frames),
            tuple(x for cluster in self.clusters for x in cluster.coordinate_names),
            tuple(x for cluster in self.clusters for x in cluster.velocity_names),
            parameter_names(m),
            tuple(x.name for x in self.model.numbers),
            tuple(a.name for a in m.actuators),
        )

    @cached_property
    def clusters(self) -> tuple[ClusterInfo, ...]:
        """Clusters of the robot: bodies tied by loops.

        Returns
        -------
        tuple of ClusterInfo
            A body that no loop ties is a cluster of one. Clusters that carry others come first.
        """
        return tuple(describe(self.model.cluster_tree, cluster) for cluster in self.model.cluster_tree.clusters)

    def with_independent(self, *joints: str | tuple[str, float] | list[str] | dict[str, float]) -> System:
        """Robot with other independent velocities.

        Parameters
        ----------
        *joints : str, tuple, list or dict
            Joints whose velocities become the independent ones of their cluster. A pair (joint, scale) makes the
            independent velocity 1/scale of that of the joint; one list or mapping of these will do too. For a joint
            with several velocities (a platform) all are meant, or single ones: 'platform.vx'.

        Returns
        -------
        System
            The same robot, whose v has another meaning.

        Raises
        ------
        ModelError
            If these velocities do not determine the others.

        Notes
        -----
        A mechanism that passes a toggle position needs this: there the current choice no longer determines the other
        velocities.

        Examples
        --------
        >>> import fourbar as fb
        >>> robot = fb.robots.slider_crank()
        >>> robot.names.velocities
        ('crank',)
        >>> robot.with_independent("rod").names.velocities
        ('rod',)
        """
        return System(choose_independent(self.mechanism, self.clusters, joints))

    def constrained(
        self,
        *constraints: Condition | Loop,
        actuated: Sequence[str] | None = None,
        least: str = "torque",
        weight: Any = None,
        stabilize: Any = None,
        tolerance: float = 1e-5,
        names: Sequence[str] | None = None,
    ) -> Constrained:
        """Robot under constraints that are kept by forces.

        Parameters
        ----------
        *constraints : Condition or Loop
            Contacts, prescribed motion, rows and loops of `fourbar.constraints`; loops given here are not embedded.
        actuated : sequence of str, optional
            Joints with a drive; `Constrained.inverse_dynamics` needs them.
        least : {'torque', 'constraint'}, default 'torque'
            What is least where the forces of the drives are not unique: these forces, or those of the constraints.
        weight : array_like, optional
            Weight of what is least, a symmetric positive definite matrix or its diagonal.
        stabilize : tuple of float, optional
            (stiffness, damping) of φ̈ = -stiffness φ - damping φ̇ (1/s², 1/s), which pulls back what has drifted.
        tolerance : float, default 1e-05
            How far rows may contradict each other, or given accelerations the rows, relative to their size.
        names : sequence of str, optional
            Names of the constraints, for derivatives by their numbers; by default 'contact1', 'gear2', ...

        Returns
        -------
        Constrained
            The robot with its constraints.

        Raises
        ------
        ModelError
            If no constraint is given, or one does not fit the robot.

        See Also
        --------
        Builder.loop : Loops that are embedded: exact, and part of the coordinates.

        Examples
        --------
        >>> import fourbar as fb
        >>> robot = fb.robots.double_pendulum()
        >>> held = robot.constrained(fb.constraints.Contact("tip", "point"))
        >>> held
        <fourbar Constrained 'double_pendulum': nv=2, 3 rows>
        """
        from .constrained.robot import Constrained

        if actuated is None and (least != "torque" or weight is not None):
            given = "least" if weight is None else "weight"
            raise ArgumentError(
                f"{given}= applies to the forces of actuated joints: name these too, actuated=['hip', ...]"
            )
        drives = None if actuated is None else (actuated, least, weight)
        return Constrained(self, constraints, drives, stabilize, tolerance, names)

    def actuated(self, joints: Sequence[str], weight: Any = None) -> Actuated:
        """Robot in the forces of its actuated joints.

        Parameters
        ----------
        joints : sequence of str
            Joints with a drive, independent or not, as many as needed or more.
        weight : array_like, optional
            W in τᵀ W τ, which is least where the forces are not unique: a symmetric positive definite matrix or its
            diagonal.

        Returns
        -------
        Actuated
            The robot with these drives.

        Raises
        ------
        ArgumentError
            If the joints are too few to hold the robot.

        See Also
        --------
        actuator_force : Forces of the actuators that the model declares.

        Examples
        --------
        >>> import fourbar as fb
        >>> robot = fb.robots.five_bar()
        >>> robot.actuated(["left_crank", "right_crank"])
        <fourbar Actuated 'five_bar': left_crank, right_crank>
        """
        from .constrained.actuated import Actuated

        return Actuated(self, (joints, "torque", weight))

    def spanning(self) -> System:
        """Robot without its loops: the spanning tree.

        Returns
        -------
        System
            The same bodies and joints; every joint has coordinates of its own.

        Notes
        -----
        A body without mass that only a loop holds cannot be moved by any force here: then M is singular.

        Examples
        --------
        >>> import fourbar as fb
        >>> robot = fb.robots.four_bar()
        >>> robot.nv, robot.spanning().nv
        (1, 3)
        """
        return self._unchecked(replace(self.mechanism, loops=()))

    def with_gravity(self, gravity: Sequence[float]) -> System:
        """Robot in another field of gravity.

        Parameters
        ----------
        gravity : array_like, shape (3,)
            Acceleration (m/s²) of a free body, in world axes.

        Returns
        -------
        System
            The same robot with this gravity.

        Examples
        --------
        >>> import fourbar as fb
        >>> robot = fb.robots.double_pendulum()
        >>> robot.with_gravity((0, 0, -1.62)).gravity
        (0.0, 0.0, -1.62)
        """
        return System(replace(self.mechanism, gravity=read_three("gravity", gravity)))


def restored(mechanism: Mechanism, report: Report | None = None) -> System:
    """A robot as it travels to other processes."""
    return System._unchecked(mechanism, report)


class Builder(MechanismBuilder):
    """Builds a robot: collects bodies, joints, frames, loops and actuators by name.

    Parameters
    ----------
    name : str, default 'robot'
        Name of the robot.
    gravity : array_like, shape (3,), default (0, 0, -9.81)
        Acceleration of gravity (m/s²), in world axes.

    See Also
    --------
    load : A robot from a file.

    Examples
    --------
    >>> import fourbar as fb
    >>> b = fb.Builder("pendulum")
    >>> _ = b.body("rod", joint=fb.joints.Revolute("y"), mass=1.0, com=(0, 0, -0.5), inertia=(0.083, 0.083, 0))
    >>> robot = b.build()
    >>> robot.gravity_force([0.1]).round(4)
    array([0.4897])
    """

    def build(self) -> System:
        """Build the robot.

        Returns
        -------
        System
            The finished robot.

        Raises
        ------
        ModelError
            If the whole makes no robot: parents form a circle, loops cannot be closed, or a joint moves nothing.

        Warns
        -----
        RuntimeWarning
            Where rows of a loop are left out, as others imply them but for a small gap; where loops are singular in the
            configuration near which they are closed (a linkage drawn in line), so that their assembly is arbitrary.

        Examples
        --------
        >>> import fourbar as fb
        >>> fb.Builder("block").body("block", joint=fb.joints.Free(), mass=1.0, inertia=(1, 1, 1)).build()
        <fourbar System 'block': 1 body, nq=7, nv=6>
        """
        robot = System(self.mechanism())
        for message in slack_messages(robot.model.cluster_tree):
            warn(f"{message}; {SLACK_FIX}", RuntimeWarning)
        for message in flat_messages(robot.mechanism, robot.model.cluster_tree):
            warn(f"{message}; {FLAT_FIX}", RuntimeWarning)
        return robot


__all__ = ["Builder", "OptionedMethod", "ClusterTree", "Names", "System"]
