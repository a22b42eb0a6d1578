"""`System`: the user's robot. One method an algorithm, traced and compiled when it is first called."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from numbers import Integral
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ArgumentError, warn
from ..functions.attributes import OptionedMethod, with_methods
from ..functions.model import Model
from ..functions.registry import METHODS
from ..mechanism.builder import Builder as MechanismBuilder
from ..mechanism.inertial_parameters import RIGID, parameter_names, parameter_values, with_inertial_parameters
from ..mechanism.mechanism import Actuator, Mechanism
from ..mechanism.validate import read_rng, read_three
from ..once import cached_property
from ..tree.assembly import ClusterInfo, choose_independent, cluster_named, cluster_neutral, cluster_random, describe
from ..tree.cluster_tree import ClusterTree
from .closed_states import SLACK_FIX, Looped, slack_messages
from .edit import Editing
from .names import Names
from .robot_methods import RobotMethods
from .singular import check_regular, unsolvable

if TYPE_CHECKING:
    from ..constraints import Condition, Loop
    from ..functions.varying import Varying
    from ..io.report import Report
    from .constrained.actuated import Actuated
    from .constrained.robot import Constrained
    from .equations import Equations


@with_methods
class System(RobotMethods, Editing, Looped):
    """A robot: frozen, thread-safe, hashable by content, picklable. Made by `Builder.build()` or `load`.

    Methods take q as it is: where its loops are open, results mean nothing. `check(q, v)` refuses such states.
    """

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
        """What was found while its file was read."""
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
        return hash(self.mechanism)

    def __repr__(self) -> str:
        m = self.mechanism
        return f"<fourbar System {m.name!r}: {len(m.bodies)} bodies, nq={self.nq}, nv={self.nv}>"

    @cached_property
    def model(self) -> Model:
        """The mechanism and its cluster tree."""
        return Model.of(self.mechanism, unsolvable(self.__dict__.get("report", ())))

    @property
    def name(self) -> str:
        return self.mechanism.name

    @property
    def gravity(self) -> tuple[float, float, float]:
        return self.mechanism.gravity

    @property
    def actuators(self) -> tuple[Actuator, ...]:
        """The actuators, in the order of their forces u: what they move, through which gear, and how much."""
        return self.mechanism.actuators

    @cached_property
    def nq(self) -> int:
        """Number of coordinates."""
        return self.model.cluster_tree.nq

    @cached_property
    def nv(self) -> int:
        """Number of velocities."""
        return self.model.cluster_tree.nv

    @cached_property
    def names(self) -> Names:
        """Names of bodies, joints, frames, coordinates, velocities, parameters (of `inertial_parameters()`), and of the
        numbers along which functions can be differentiated (`parameters=` of their derivatives), and of actuators."""
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
        """The clusters: bodies tied by loops (a body alone is a cluster of one), what carries first."""
        return tuple(describe(self.model.cluster_tree, cluster) for cluster in self.model.cluster_tree.clusters)

    def with_independent(self, *joints: str | tuple[str, float] | list[str] | dict[str, float]) -> System:
        """The same robot with other independent velocities in the clusters of the named joints.

        A mechanism that passes a toggle position needs this: there the old ones stop to determine the others. A pair
        (joint, scale) makes the independent velocity 1/scale of the joint's. One list or mapping of them does too. Of a
        joint with several velocities (a platform) all are meant, or single ones: "platform.vx".
        """
        return System(choose_independent(self.mechanism, self.clusters, joints))

    def varying(self, *names: str) -> Varying:
        """The functions of this robot with some of its parameters as arguments, without compiling for each value.

        Parameters
        ----------
        *names : str
            Parameters: ``"gravity"``, ``"hand.mass"``, ``"hand.com"``, ``"hand.inertia"`` (about the centre of mass),
            ``"elbow.armature"``, ``"elbow.damping"``, ``"elbow.stiffness"`` and ``"elbow.rest"`` where there is a
            spring, and those of loops, such as ``"gear.ratio"``.

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
            For a placement, which cannot be an argument.

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
        """The robot under constraints that are kept by forces: contacts, prescribed motion, rows, loops not embedded.

        constraints: of `fourbar.constraints`. actuated: joints with a drive, for inverse dynamics;
        least: what is least where their forces are not unique, "torque" or "constraint" (forces), with `weight`, a
        matrix or its diagonal. stabilize: (stiffness, damping) of φ̈ = -stiffness φ - damping φ̇, which pulls back what
        has drifted. tolerance: how far rows may contradict each other, or given accelerations them, relative.
        names: what the constraints are called, for derivatives by their numbers ("contact1", "gear2", ... if not told).
        """
        from .constrained.robot import Constrained

        if actuated is None and (least != "torque" or weight is not None):
            given = "least" if weight is None else "weight"
            raise ArgumentError(
                f"{given}= is about the forces of actuated joints: name these too, actuated=['hip', ...]"
            )
        drives = None if actuated is None else (actuated, least, weight)
        return Constrained(self, constraints, drives, stabilize, tolerance, names)

    def actuated(self, joints: Sequence[str], weight: Any = None) -> Actuated:
        """The robot in the forces of its actuators: `joints` with a drive, independent or not, enough of them or more.

        Where they are more than enough, their forces are those with least τᵀ W τ; `weight` is W or its diagonal.
        """
        from .constrained.actuated import Actuated

        return Actuated(self, (joints, "torque", weight))

    def spanning(self) -> System:
        """The same bodies and joints without the loops: the spanning tree as a robot of its own.

        A body without mass that only a loop holds can be moved by no force here: then M is singular.
        """
        return self._unchecked(replace(self.mechanism, loops=()))

    def with_gravity(self, gravity: Sequence[float]) -> System:
        """The same robot in another field of gravity."""
        return System(replace(self.mechanism, gravity=read_three("gravity", gravity)))

    def inertial_parameters(self, columns: Any = RIGID) -> np.ndarray:
        """φ (p): the parameters that a `regressor` with the same `columns` multiplies."""
        return parameter_values(self.mechanism, columns)

    def parameter_names(self, columns: Any = RIGID) -> tuple[str, ...]:
        """What each of the `inertial_parameters` is called: "link.m", "link.mx", "link.Jxx", "joint.armature", ..."""
        return parameter_names(self.mechanism, columns)

    def with_inertial_parameters(self, parameters: Any, columns: Any = RIGID, allow_unphysical: bool = False) -> System:
        """The same robot with other `inertial_parameters` φ (p), in the same order.

        Parameters that no matter has are refused, unless `allow_unphysical`; so are preloads without a spring.
        """
        return System(with_inertial_parameters(self.mechanism, parameters, columns, allow_unphysical))

    def regressor_pattern(self, columns: Any = RIGID) -> tuple[np.ndarray, np.ndarray]:
        """Rows and columns (n, n) of the entries that `regressor(..., packed=True)` keeps, in its order."""
        from ..functions.methods.regressors import regressor_pattern

        return regressor_pattern(self.model, columns)

    def neutral(self) -> np.ndarray:
        """The configuration (nq) in which every joint is at its neutral position."""
        return np.concatenate(
            [cluster_neutral(self.model.cluster_tree, g) for g in self.model.cluster_tree.clusters] or [np.zeros(0)]
        )

    @cached_property
    def configurations(self) -> Mapping[str, np.ndarray]:
        """The named configurations (nq), such as the keyframes of a file, each with its loops closed."""
        cluster_tree, found = self.model.cluster_tree, {}
        for named in self.mechanism.configurations:
            given = dict(named.coordinates)
            parts = [cluster_named(cluster_tree, cluster, given) for cluster in cluster_tree.clusters]
            found[named.name] = np.concatenate(parts or [np.zeros(0)])
            found[named.name].setflags(write=False)
        return MappingProxyType(found)

    def random(self, rng: np.random.Generator | int | None = None, n: int | None = None) -> np.ndarray:
        """A random configuration (nq), or n of them (n, nq), within the limits of the joints.

        Loops are closed as in `neutral`: a motion leads from there to each of them, unless the robot is built outside
        its limits and none leads into them.
        """
        if n is not None and (not isinstance(n, Integral) or n < 0):
            raise ArgumentError(f"random: n must be a whole number of configurations, or None for one, got {n!r}")
        generator, size = read_rng(rng), () if n is None else (int(n),)
        parts = [
            cluster_random(self.model.cluster_tree, cluster, generator, size)
            for cluster in self.model.cluster_tree.clusters
        ]
        return np.concatenate(parts, axis=-1) if parts else np.zeros((*size, 0))

    def equations(self, symbols: bool = False, simplify: bool = True) -> Equations:
        """M(q), C(q, v), g(q) and τ as SymPy expressions, with LaTeX and plain Python; for small mechanisms.

        With `symbols`, masses, centres of mass, inertias, positions of joints, armatures, gravity and numbers of loops
        (ratios, lengths) are symbols too (zeros stay zeros; within loops places stay numbers). Needs SymPy: pip install
        ".[sympy]".
        """
        from .equations import make_equations

        return make_equations(self.model, self.names, symbols, simplify)

    def show(self, method: str, stage: str = "program", **options: Any) -> str:
        """What a method is made of, as text; stage is "program", "llvm" or "asm"."""
        from .show import STAGES

        if method not in METHODS:
            from ..errors import unknown

            raise unknown("method", method, METHODS)
        if stage not in STAGES:
            raise ArgumentError(f"stage={stage!r}: expected one of {', '.join(STAGES)}")
        return STAGES[stage](self.program(method, **options))

    def program(self, method: str, **options: Any) -> Any:
        """The program of a method: what is compiled."""
        made = getattr(self, method)
        return (made.specialise(**options) if isinstance(made, OptionedMethod) else made).program()


def restored(mechanism: Mechanism, report: Report | None = None) -> System:
    """A robot as it travels to other processes."""
    return System._unchecked(mechanism, report)


class Builder(MechanismBuilder):
    """Collects bodies, joints and frames by name, then builds a robot.

    >>> b = Builder("pendulum")
    >>> b.body("rod", joint=Revolute("y"), mass=1.0, com=(0, 0, -0.5), inertia=(0.083, 0.083, 0))
    >>> robot = b.build()
    """

    def build(self) -> System:
        """The finished robot. Where rows of a loop are left out, as others imply them but for a small gap, it warns."""
        robot = System(self.mechanism())
        for message in slack_messages(robot.model.cluster_tree):
            warn(f"{message}; {SLACK_FIX}", RuntimeWarning)
        return robot


__all__ = ["Builder", "OptionedMethod", "ClusterTree", "Names", "System"]
