"""Steps with contacts as rollouts: with controls, parameters that differ from sample to sample, and observations.

A scene has one such step, which takes joint forces, friction and, where actuators `can_rest`, their controls, whether
they are given or not: all motions of the scene, batches, live worlds and single steps (`OneStep`) run the same machine
code.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

from ..algorithms.activation import Signals
from ..arrays import Argument
from ..compile.cache import cached_program
from ..expr import Output, Program, select
from ..functions.arguments import F_EXT, TAU, Q, U, V
from ..functions.charted_tree import ChartedTree
from ..functions.context import Context, record_program
from ..functions.function import make
from ..functions.recording import BLOCK, Recording, fingerprint
from ..functions.registry import flat
from ..functions.rollout import GIVEN, NONE, PATIENCE, Rollout, Step, held_control, steps_since
from ..functions.step_end import OBSERVED, Observation
from ..functions.varied_context import VariedContext, argument_names
from ..mechanism.actuators import Actuator, law_of
from ..mechanism.mechanism import Mechanism
from ..once import cached_property
from ..spatial.linear import Vec, is_zero
from ..tree.cluster_tree import lower
from ..tree.parameters import Parameter
from .candidates import Spec
from .contact_model import IMPULSE, LARGEST, ContactModel
from .contact_step import Stepper
from .impulse_solver import Patience
from .step_recording import has_many_rows, rollout_step, stepper

DRIVEN = "driven"  # a control: 1 where actuators act, 0 where they do not
_COUNTED = {"worst": 0.0, "late": -1.0, "count": 0.0, PATIENCE: Patience.ALL}  # states that one step is not given
REPORTED = ("residual", "stop", "gap", "force", "next_act")  # by `OneStep`, in this order, where they exist


class RolloutStep(Step):
    """The step of a rollout, unrolled up to a size of its own."""

    def program(self) -> Program:
        """The program of one step: as it was written before, maybe by another process, or anew."""
        write = partial(record_program, self.name, self._record, largest=LARGEST)
        return cached_program(partial(fingerprint, ("contact rollout", self.key)), write)


class Force(NamedTuple):
    """Controls that are part of the step: a function (t, q, v) -> Vec of scalars, asked every `period` steps."""

    function: Callable[[Any, Vec, Vec], Vec]
    period: int = 1


class Taken(NamedTuple):
    """Inputs and reports of a step besides state and time step: joint forces `tau`, controls `u` of actuators, wrenches
    `f_ext` (6 n_bodies) on bodies, each GIVEN, NONE or a Force; parameters of the robot; observations by name; numbers
    of terrain. The friction of every contact is an input too.
    """

    tau: Any = GIVEN
    u: Any = NONE
    which: tuple[Parameter, ...] = ()
    observed: tuple[tuple[str, Observation], ...] = ()
    terrain: tuple[Parameter, ...] = ()
    f_ext: Any = NONE

    @property
    def is_traced(self) -> bool:
        """Whether functions of the user's are part of the step: as controls, or as observations `traced` from one."""
        controls = any(isinstance(x, Force) for x in (self.tau, self.u, self.f_ext))
        return controls or any(hasattr(x, "traced") for _, x in self.observed)


def can_rest(mechanism: Mechanism) -> bool:
    """Whether a mechanism has actuators, and a step may take their controls where none act: without bias and control
    they then have no force, and none of them adds a row to the problem.
    """
    return bool(mechanism.actuators) and all(map(_can_rest, mechanism.actuators))


def _can_rest(actuator: Actuator) -> bool:
    law = law_of(actuator)
    if law is None or not all(lower <= 0.0 <= upper for lower, upper in (actuator.control_range, actuator.force_range)):
        return False
    has_slopes = any(x for numbers in law for x in numbers[1:])
    return not has_slopes or sum(x != 0.0 for drive in actuator.drives for x in drive.gear) <= 1


def _has_bias(mechanism: Mechanism, which: Sequence[Parameter]) -> bool:
    """Whether forces of actuators depend on more than their controls, maybe with other parameters."""
    laws = [law_of(x) for x in mechanism.actuators]
    return any(law is None or any(law[1]) for law in laws) or any(x.owners == "actuators" for x in which)


def _driven_actuators(c: Context, driven: Any) -> tuple[Actuator, ...]:
    """The actuators of a recording, with the bias of each multiplied by a number."""
    found = []
    for actuator in c.actuators:
        gain, bias = law_of(actuator) or ((), ())
        scaled = tuple(x if is_zero(x) else c.recorder.call(_product, x, driven) for x in bias)
        found.append(replace(actuator, kind="affine", parameters=(("gain", tuple(gain)), ("bias", scaled))))
    return tuple(found)


def _product(x: Any, factor: Any) -> Any:
    return x * factor


def _scaled(x: Vec, factor: Any) -> Vec:
    return x * factor


def _moved(driven: Any, after: Vec, before: Vec) -> Vec:
    """The state of actuators after a step in which they may not act."""
    return Vec([select(driven > 0.5, new, old) for new, old in zip(after, before, strict=True)])


def _asked(function: Any, count: Any, dt: Any, q: Vec, v: Vec) -> Vec:
    return function(count * dt, q, v)


def _time(count: Any, dt: Any) -> Any:
    return count * dt


class ContactStepEnd:
    """The end of a step with contacts; see `StepEnd`. `inside` makes the same end in the robot's own velocities."""

    def __init__(
        self, stepper: Stepper, found: dict[str, Any], count: Any, inside: Callable[[ContactStepEnd], ContactStepEnd]
    ) -> None:
        self.stepper, self.found, self._inside = stepper, found, inside
        given = {name: x for name, x in stepper.c.given.items() if name not in found}
        self.now = stepper.c.with_values({**given, "q": tuple(found["q"]), "v": tuple(found["v"])})
        self.t = stepper.call(_time, count, stepper.dt)
        if stepper.implicit.is_driven:
            self.now.given["tau"] = driven(stepper, self.moving)

    @cached_property
    def moving(self) -> Context:
        """A recording at the start of the step, with its mean accelerations."""
        c = self.stepper.c
        return c.with_values({**c.given, "a": tuple(self.found["a"])})

    @cached_property
    def accelerations(self) -> list[Any]:
        """The mean accelerations of the joints of all links."""
        return self.moving.accelerations("a")

    @cached_property
    def _own(self) -> ContactStepEnd:
        return self._inside(self)

    @property
    def own(self) -> ContactStepEnd:
        """The same in the robot's own velocities."""
        return self._own

    def in_velocities_of(self, followed: ChartedTree, start: Context, tau: tuple[Any, ...] | None) -> ContactStepEnd:
        """The same of a step that followed other velocities than those of the recording `start`, in these; `tau` are
        joint forces on them.
        """
        own, a = copy(self), self.accelerations
        given = {name: x for name, x in self.now.given.items() if name != "tau"}
        given |= {} if tau is None else {"tau": tau}
        before, after = self.stepper.c.velocities(), self.now.velocities()
        moving = start.with_values(
            {**given, "q": self.stepper.c.given["q"], "v": tuple(followed.robot_entries(start, before)),
             "a": tuple(followed.robot_entries(start, a))}
        )  # fmt: skip
        own.now = start.with_values({**given, "v": tuple(followed.robot_entries(start, after))})
        vars(own).update(moving=moving, _own=own)
        if self.stepper.implicit.is_driven:
            own.now.given["tau"] = driven(self.stepper, moving, a)
        return own

    @property
    def actuator_forces(self) -> list[Any]:
        """The forces of the actuators, means over the step."""
        return self.stepper.implicit.acted(self.accelerations)

    @property
    def contacts(self) -> dict[str, Any]:
        """Gaps and forces of all contacts."""
        return {name: self.found[name] for name in ("gap", "force")}


def driven(stepper: Stepper, c: Context, a: Any = None) -> tuple[Any, ...]:
    """Forces of controls and actuators together, means over a step, on the velocities of a recording at its start; a
    are the accelerations of the joints of all links, those of the recording if None.
    """
    pulled = stepper.implicit.pulled(c.accelerations("a") if a is None else a)
    both = zip(c.by_cluster("tau"), c.project(pulled), strict=True)
    return tuple(flat([stepper.call(_sum, *x) for x in both]))


def _sum(a: Vec, b: Vec) -> Vec:
    return a + b


class ContactRollout:
    """The steps of rollouts of a mechanism: how they are recorded.

    `mechanism` has the velocities that are followed, `robot` those that its user knows: controls, and what is
    observed, are on the latter. Where loops are solved, the step says when they should be examined ("stop").
    """

    def __init__(self, mechanism: Mechanism, spec: Spec, taken: Taken, robot: Mechanism) -> None:
        self.spec, self.taken = spec._replace(numbers=taken.terrain), taken
        self.model = ContactModel.with_contacts(mechanism, self.spec)
        self._robot = ContactModel.with_contacts(robot, self.spec)
        self.followed = ChartedTree(lower(robot), self.model.cluster_tree)
        n = len(spec.candidates)
        self._sizes = {x.name: (math.prod(x.shape(self.model)),) for x in (TAU, U, F_EXT)}
        self.forces = {name: x for name in self._sizes if isinstance(x := getattr(taken, name), Force)}
        self.period = max((x.period for x in self.forces.values()), default=1)
        self.state = {x.name: x.shape(self.model) for x in (Q, V, IMPULSE)}
        self.signals = Signals.of(robot.actuators, euler=True)
        self.state |= {"act": (self.signals.size,), "worst": (), "late": (), "count": ()}
        if self.period > 1:
            self.state |= {f"held_{name}": self._sizes[name] for name in self.forces} | {"since": ()}
        many = has_many_rows(self.spec, self.model.kept_rows)
        self.patience = (Patience.NEWTON, Patience.SMOOTHED, Patience.ALL) if many else ()
        self.state |= {PATIENCE: ()} if many else {}
        given = {name: size for name, size in self._sizes.items() if getattr(taken, name) == GIVEN}
        self.controls: dict[str, tuple[int, ...]] = {**given}
        if taken.u == GIVEN and can_rest(mechanism) and (_has_bias(mechanism, taken.which) or self.signals.size):
            self.controls[DRIVEN] = ()
        self.numbers: dict[str, tuple[int, ...]] = {"dt": (), "friction": (n,)}
        for some in (taken.which, taken.terrain):
            self.numbers |= {name: x.shape for name, x in zip(argument_names(some), some, strict=True)}
        self.loops = len(self.followed.loops)
        if self.loops:
            self.numbers["usual"] = (self.followed.reference_size,)
        self.records = {"residual": (), "residuals": (3,), "energy_gain": (), "gap": (n,), "force": (n, 3)}
        if self.model.kept_rows:
            self.records["kept"] = (self.model.kept_rows,)
        if taken.u != NONE:
            self.records["acting"] = self._sizes["u"]
        self.records |= {OBSERVED + name: x.shape(self.model) for name, x in taken.observed}

    def write(self, recorder: Any, given: dict[str, tuple[Any, ...]]) -> dict[str, Any]:
        """Record one step."""
        c: Context = VariedContext.with_parameters(self.model, recorder, given, self.taken.which)
        c = self.followed.watch(c, given["usual"]) if self.loops else c
        if DRIVEN in given:
            c.actuators = _driven_actuators(c, given[DRIVEN][0])
        acting, more = self._controls(c)
        c.given |= acting
        more |= self._activate(c, given)
        tau = c.given.get("tau")
        if tau is not None and not self.followed.is_home:
            c.given["tau"] = tuple(flat(self.followed.forces(c, tau)))
        step = stepper(c, self.spec)
        found: dict[str, Any] = {**rollout_step(step), **more}
        if self.loops:
            found["stop"] = (self.followed.growth(c, -1.0, Vec(given["usual"])),)
        if self.taken.observed:
            end = ContactStepEnd(step, found, found["count"][0], partial(self._inside, given, tau))
            found |= {OBSERVED + name: x.write(end) for name, x in self.taken.observed}
        return found

    def _activate(self, c: Context, given: dict[str, tuple[Any, ...]]) -> dict[str, Any]:
        """The signals of actuators in place of their controls; their state after the step, and these controls."""
        if self.taken.u == NONE:
            return {"act": given["act"]}
        u = c.given["u"]
        if not self.signals.size:
            return {"act": (), "acting": u}
        call, state = c.recorder.call, (Vec(given["act"]), Vec(u), given["dt"][0])
        signals, after = call(self.signals.signals, *state), call(self.signals.following, *state)
        if DRIVEN in given:
            (driven,) = given[DRIVEN]
            signals, after = call(_scaled, signals, driven), call(_moved, driven, after, state[0])
        c.given["u"] = tuple(signals)
        return {"act": tuple(after), "acting": u}

    def _inside(self, given: dict[str, Any], tau: tuple[Any, ...] | None, end: ContactStepEnd) -> ContactStepEnd:
        """The end of a step in the robot's own velocities."""
        if self.followed.is_home:
            return end
        start = VariedContext.with_parameters(self._robot, end.now.recorder, given, self.taken.which)
        start.actuators = end.now.actuators
        return end.in_velocities_of(self.followed, start.in_steps(), tau)

    def _controls(self, c: Context) -> tuple[dict[str, Any], dict[str, Any]]:
        """The controls that are part of the step, and what is kept of them."""
        acting, kept, given, call = {}, {}, c.given, c.recorder.call
        v = Vec(self.followed.robot_velocities(c)) if self.forces else Vec()
        for name, force in self.forces.items():
            (count,), (dt,) = given["count"], given["dt"]
            new = call(_asked, force.function, count, dt, Vec(given["q"]), v)
            if self.period > 1:
                new = call(held_control, given["since"][0], new, Vec(given[f"held_{name}"]))
                kept[f"held_{name}"] = new
            acting[name] = tuple(new)
        if self.period > 1:
            kept["since"] = (call(steps_since, given["since"][0], float(self.period)),)
        return acting, kept


def contact_rollout(mechanism: Mechanism, spec: Spec, taken: Taken, robot: Mechanism | None = None) -> Rollout:
    """Rollouts of a mechanism: state q, v, impulse, worst, late, count; controls tau, u, f_ext as taken; numbers dt,
    friction, parameters, and what is `usual` of loops; records residual, gap, force, `acting` controls u, and
    observations. Controls and observations are those of `robot`, whose velocities may be others.
    """
    robot = mechanism if robot is None else robot
    x = ContactRollout(mechanism, spec, taken, robot)
    key = (mechanism, spec, taken, *(() if robot is mechanism else (robot,)))
    given = (x.state, x.controls, x.numbers, x.records)
    watched = {"stop": bool(x.loops), "thresholds": ("usual",)}
    return Rollout(RolloutStep("contact_rollout", x.write, *given, key=key, patience=x.patience, **watched))


class OneStep(Recording):
    """One step as a function of arrays: the program of a rollout, with what says how many steps were made left out, and
    what it reports in one array (`REPORTED`).

    Arguments are q, v, impulse, dt, friction, parameters, `usual` of loops, and controls, in the order of the rollout.
    Those that are empty are left out, and so is an impulse without entries among the results.
    """

    name = "step"

    def __init__(self, mechanism: Mechanism, spec: Spec, taken: Taken, rollout: Rollout | None = None) -> None:
        super().__init__()
        self._given, self._rollout = (mechanism, spec, taken), rollout or contact_rollout(mechanism, spec, taken)
        self.model, step = ContactModel.with_contacts(mechanism, spec), self._rollout.step
        every = {**step.state, **step.numbers, **step.controls}
        is_rigid = not self.model.cluster_tree.nv  # of which nothing is compiled
        shapes = {name: shape for name, shape in every.items() if is_rigid or 0 not in shape}
        self.arguments = tuple(Argument(name, shape) for name, shape in shapes.items() if name not in _COUNTED)
        self._next = tuple(name for name in ("q", "v", "impulse") if name in shapes)
        self.results = (*self._next, "report")  # of more than four a call takes the slow way

    def program(self, present: tuple[str, ...]) -> Program:
        """The program that takes the named arguments: all."""
        if present not in self._programs:
            self._programs[present] = self.write(present)
        return self._programs[present]

    def write(self, present: tuple[str, ...], block: int = BLOCK) -> Program:
        program = self._rollout.program
        found = {y.name: y for y in program.outputs}
        results = [replace(found[f"next_{name}"], name=name) for name in self._next]
        slots = [slot for name in REPORTED if name in found for slot in found[name].slots]
        names = {a.name for a in self.arguments} | _COUNTED.keys()
        left_out = {x.name: () for x in program.inputs if x.name not in names}
        started = program.at(left_out | {name: (x,) for name, x in _COUNTED.items()})
        return replace(started, outputs=(*results, Output("report", (len(slots),), slots)))

    @property
    def parts(self) -> tuple[Any, ...]:
        return "one step", *self._given

    @property
    def nan(self) -> str:
        return ""

    def pickle_recipe(self) -> tuple[Any, ...]:
        return one_step, *self._given


def one_step(mechanism: Mechanism, spec: Spec, taken: Taken, rollout: Rollout | None = None) -> Any:
    """The compiled function of one step; see `OneStep`. `rollout` is that of the same mechanism, if there is one."""
    return make(OneStep(mechanism, spec, taken, rollout))
