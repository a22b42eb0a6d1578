"""`System`: the user's robot. One method per algorithm, traced and compiled when first called.

Configurations of a robot: neutral, named, random.

Numbers of a robot: its inertial parameters as one vector, and functions that take some of them as arguments.

Pictures of a robot, by matplotlib.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np

from ..arrays import to_count
from ..errors import ArgumentError, warn
from ..functions.attributes import OptionedMethod, with_methods
from ..functions.model import Model
from ..hints import Hinted
from ..mechanism.actuators import activation_names
from ..mechanism.builder import MechanismBuilder as MechanismBuilder
from ..mechanism.inertial_parameters import RIGID, parameter_names, parameter_values, with_inertial_parameters
from ..mechanism.mechanism import Mechanism
from ..mechanism.validate import read_rng, read_three
from ..once import cached_property
from ..representation import html_table, quantity
from ..tree.assembly import ClusterInfo, choose_independent, close_cluster_near, describe
from ..tree.cluster_tree import ClusterTree
from ..tree.sampling import Follow, cluster_random
from .closed_states import FLAT_FIX, SLACK_FIX, Looped, flat_messages, read_argument, slack_messages
from .edit import Editing
from .inspection import ByName, Inspected, Names
from .massless_bodies import check_regular, unsolvable
from .reaching import Reaching
from .robot_methods import RobotMethods

if TYPE_CHECKING:
    from ..constraints import Condition, Loop
    from ..functions.varying import Varying
    from ..io.report import Report
    from ..mechanism.actuators import Actuator
    from .constrained.actuated import Actuated
    from .constrained.robot import Constrained


class Plotting:
    """Pictures of a robot. Figures belong to no window: `figure.savefig("robot.png")` writes one."""

    nq: int
    name: str
    model: Any

    def plot(self, q: Any = None, *, frames: Sequence[str] = (), center_of_mass: bool = False) -> Any:
        """Draw the robot as a stick figure.

        Parameters
        ----------
        q : array_like, shape (nq,) or (n, nq), optional
            Configuration, `neutral` if None; of several the last is drawn dark and those before pale.
        frames : sequence of str, optional
            Frames and bodies whose axes are drawn: x red, y green, z blue.
        center_of_mass : bool, default False
            Mark the centre of mass.

        Returns
        -------
        matplotlib.figure.Figure
            The figure; flat for a robot that moves in a plane of two axes of the world.

        Raises
        ------
        ArgumentError
            If matplotlib is not installed.

        See Also
        --------
        Run.plot : A motion over time.

        Examples
        --------
        >>> import fourbar as fb
        >>> robot = fb.robots.four_bar()
        >>> figure = robot.plot(robot.random(0, n=3))
        >>> len(figure.axes)
        1
        """
        from ..plots.sticks import plot_robot

        configurations = read_argument("plot", "q", self.nq, self.model.neutral() if q is None else q)
        if not np.isfinite(configurations).all():
            raise ArgumentError("plot: q is NaN or infinite; a figure shows finite configurations")
        listed = [frames] if isinstance(frames, str) else list(frames)
        return plot_robot(
            cast("System", self), configurations.reshape(-1, self.nq), listed, bool(center_of_mass), self.name
        )

    def plot_mass_matrix(self, q: Any = None) -> Any:
        """Draw which entries the mass matrix has, and how large they are.

        Parameters
        ----------
        q : array_like, shape (nq,), optional
            Configuration; `neutral` if None.

        Returns
        -------
        matplotlib.figure.Figure
            The figure; entries that are zero are white.

        Raises
        ------
        ArgumentError
            If matplotlib is not installed.

        See Also
        --------
        mass_matrix : The matrix itself.

        Examples
        --------
        >>> import fourbar as fb
        >>> figure = fb.robots.gt_chain().plot_mass_matrix()
        >>> len(figure.axes)
        2
        """
        from ..plots.matrices import plot_mass_matrix

        given = read_argument("plot_mass_matrix", "q", self.nq, self.model.neutral() if q is None else q)
        return plot_mass_matrix(cast("System", self), given.reshape(-1, self.nq)[-1])

    def plot_tree(self, what: str | Sequence[str] = ("bodies", "clusters")) -> Any:
        """Draw the connectivity graph and the tree of clusters.

        Parameters
        ----------
        what : {'bodies', 'clusters'} or sequence of these, default both
            'bodies': a row for each body below the body that carries it, with the joint between them; loops are dashed
            lines between the bodies that they tie. 'clusters': a box for each cluster with its bodies, and a line from
            each body that carries it, one or several.

        Returns
        -------
        matplotlib.figure.Figure
            The figure, as large as it needs to be. Clusters that loops tie have a colour, the same as with
            ``fb.view(robot, colour="clusters")``; bodies that no loop ties are grey.

        Raises
        ------
        ArgumentError
            If matplotlib is not installed, or if the robot is too large for a picture.

        See Also
        --------
        graphviz : The same graphs as text for Graphviz.
        clusters : The clusters by name.

        Examples
        --------
        >>> import fourbar as fb
        >>> figure = fb.robots.tello().plot_tree()
        >>> figure.savefig("tello.png")  # doctest: +SKIP
        """
        from ..plots.trees import PANELS, plot_tree

        panels = [what] if isinstance(what, str) else list(what)
        if not panels or any(x not in PANELS for x in panels):
            raise ArgumentError(f"plot_tree: what={what!r}: expected {' or '.join(map(repr, PANELS))}, or both")
        return plot_tree(cast("System", self), panels)


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


_SHOWN = 4  # joints listed in a message


class Configured:
    """Configurations that a robot offers, with their loops closed."""

    mechanism: Mechanism
    model: Model

    def neutral(self) -> np.ndarray:
        """Configuration in which every joint is at its neutral position.

        Returns
        -------
        ndarray, shape (nq,)
            Zeros and unit quaternions, or the nearest configuration in which loops are closed.

        Warns
        -----
        RuntimeWarning
            If joints are outside their limits there, with their names: `random` and `configurations` have others.

        Examples
        --------
        >>> import fourbar as fb
        >>> robot = fb.robots.double_pendulum()
        >>> robot.neutral()
        array([0., 0.])
        """
        if self._neutral_advice:
            warn(self._neutral_advice, RuntimeWarning)
        return self.model.neutral()

    @cached_property
    def _neutral_advice(self) -> str:
        """The joints that are outside their limits in the neutral configuration, and what to do; empty if none is."""
        from .limits import beyond_limits

        beyond = [str(x) for x in beyond_limits(self.model.cluster_tree, self.model.neutral())]
        if not beyond:
            return ""
        others = f" and {len(beyond) - _SHOWN} more" if len(beyond) > _SHOWN else ""
        valid = [x for x, q in self.configurations.items() if not beyond_limits(self.model.cluster_tree, q)]
        other = f"robot.configurations[{valid[0]!r}]" if valid else "a configuration named by Builder.configuration"
        return (
            f"neutral: joints of {self.mechanism.name!r} are outside their limits there: "
            f"{'; '.join(beyond[:_SHOWN])}{others}. Begin with {other}, or with robot.random(0)"
        )

    @cached_property
    def configurations(self) -> Mapping[str, np.ndarray]:
        """Named configurations, such as keyframes of a file.

        Returns
        -------
        mapping of str to ndarray, shape (nq,)
            Each with its loops closed.
        """
        cluster_tree, by_name = self.model.cluster_tree, {}
        for named in self.mechanism.configurations:
            coordinates = dict(named.coordinates)
            parts = [close_cluster_near(cluster_tree, cluster, coordinates) for cluster in cluster_tree.clusters]
            by_name[named.name] = np.concatenate(parts or [np.zeros(0)])
            by_name[named.name].setflags(write=False)
        return ByName("configuration", by_name)

    def random(self, rng: np.random.Generator | int | None = None, n: int | None = None) -> np.ndarray:
        """Random configurations within the limits of the joints.

        Parameters
        ----------
        rng : Generator or int, optional
            Generator of random numbers, or its seed.
        n : int, optional
            Number of configurations; one without an axis for it if None.

        Returns
        -------
        ndarray, shape (nq,) or (n, nq)
            Configurations with their loops closed, in the assembly of `neutral`: a motion leads from there to each of
            them, unless the robot is built outside its limits and none leads into them.

        Notes
        -----
        Coordinates of joints outside loops are uniform between their limits (±π rad and ±1 m where there are none),
        rotations uniform over all rotations. So are the independent coordinates of explicit loops, over those values at
        which the joints that they drive are within their limits too; where these values are fewer than one in fifty,
        samples are the ends of random walks among them, nearly uniform if the loops are linear. If no configuration is
        found within the limits of the joints that are driven, samples pass these, with a warning. In loops whose
        coordinates are all stored none is uniform: samples are ends of random paths from `neutral`, which turn at
        limits and before singular positions, and lie more densely near it. A seed gives the same samples again; from
        100 on they are computed in machine code.

        Examples
        --------
        >>> import fourbar as fb
        >>> robot = fb.robots.double_pendulum()
        >>> robot.random(0, n=1000).shape
        (1000, 2)
        """
        if n is not None and to_count(n, 0) is None:
            raise ArgumentError(f"random: n must be a whole number of configurations, or None for one, got {n!r}")
        generator, size = read_rng(rng), () if n is None else (int(n),)
        cluster_tree = self.model.cluster_tree
        parts = [
            cluster_random(cluster_tree, cluster, generator, size, self._follower(number, n or 1))
            for number, cluster in enumerate(cluster_tree.clusters)
        ]
        return np.concatenate(parts, axis=-1) if parts else np.zeros((*size, 0))

    def _follower(self, number: int, n: int) -> Follow | None:
        """Machine code that follows the paths of a cluster, where it pays for n samples."""
        from ..functions import closed_paths  # when first needed: few ask for many samples

        cluster_tree = self.model.cluster_tree
        if not closed_paths.is_worthwhile(cluster_tree, number, n):
            return None
        first = closed_paths.like(cluster_tree, number)
        if first not in self._paths:
            function = closed_paths.compiled_path(self.mechanism, first)
            self._paths.setdefault(first, closed_paths.follower(function))
        return self._paths[first]

    @cached_property
    def _paths(self) -> dict[int, Follow]:
        """Machine code for paths, by the number of a cluster."""
        return {}


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
    def _without_checks(cls, mechanism: Mechanism, report: Report | None = None) -> System:
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
        return restore, (self.mechanism, self.__dict__.get("report"))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, System) and self.mechanism == other.mechanism

    def __hash__(self) -> int:
        known = vars(self)  # every number of the model counts: found once
        return known["_hash"] if "_hash" in known else known.setdefault("_hash", hash(self.mechanism))

    def __repr__(self) -> str:
        m = self.mechanism
        return f"<fourbar System {m.name!r}: {quantity(len(m.bodies), 'body', 'bodies')}, nq={self.nq}, nv={self.nv}>"

    def _repr_html_(self) -> str:
        joints = ((c.name, type(c.joint).__name__, c.parent, c.child) for c in self.mechanism.joints)
        from ..viewer.export import notebook
        from ..viewer.recorded_motion import still

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

    @property
    def na(self) -> int:
        """Size of the state of the actuators: activations, and controls that wait (`names.activations`)."""
        return len(self.names.activations)

    @cached_property
    def names(self) -> Names:
        """Names of all parts of the robot.

        Returns
        -------
        Names
            Names of bodies, joints, frames, coordinates, velocities, inertial parameters, numbers that may vary
            (`parameters=` of derivatives, `varying`, `numbers=` of rollouts), actuators and their state, each in the
            order of the arrays.
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
            activation_names(m.actuators),
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
        """Robot under constraints that are enforced by forces.

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
        """Robot driven at chosen joints, anywhere in its loops.

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
        return self._without_checks(replace(self.mechanism, loops=()))

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


def restore(mechanism: Mechanism, report: Report | None = None) -> System:
    """A robot as it travels to other processes."""
    return System._without_checks(mechanism, report)


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
