"""Motions of a scene: from checked arguments to the run."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ..contact.step_rollout import Force, Taken, first_state
from ..functions.rollout import GIVEN, RolloutRun
from .charted_run import ChartedRun
from .contact_run import ContactRun, Driver, MotionRequest, RunningContacts, wrap_steps
from .control_sizes import argument_of, control_sizes
from .given_numbers import GivenNumbers, check_friction
from .observe import check_driven, read_observations
from .runge_kutta_step import Commands, Traced
from .states_so_far import states_attached

if TYPE_CHECKING:
    from .scene import Scene


def run_motion(caller: str, scene: Scene, q: Any, v: Any, wanted: MotionRequest) -> ContactRun:
    """The run of a motion from q (..., nq) and v (..., nv), made in one go."""
    check_friction(caller, wanted.friction)
    acting = {name: x for name, x in wanted.controls.items() if x is not None}
    inside = {name: x for name, x in acting.items() if isinstance(x, Traced)}
    outside = {name: x for name, x in acting.items() if name not in inside}
    numbers = scene.read_numbers(wanted.numbers, wanted.friction)
    observed = read_observations(wanted.observe, scene.model)
    if "u" not in acting:
        check_driven(observed, scene.robot.mechanism)
    # Joint forces are an input of the step even where there are none, as friction is: in live worlds both are given
    # with every call, and the same program has the same bits.
    forces: dict[str, Any] = {"tau": GIVEN} | dict.fromkeys(outside, GIVEN)
    sizes = control_sizes(scene.robot)
    for name, x in inside.items():
        forces[name] = Force(Commands(x, argument_of(name), sizes[name]), wanted.period)
    taken = Taken(**forces, which=numbers.which, observed=observed, terrain=numbers.terrain)
    shapes = [x.shape[:-2] for x in outside.values() if isinstance(x, np.ndarray)]
    batch = np.broadcast_shapes(*shapes) if shapes else ()
    motion = _at_start(caller, scene, scene.read_state(caller, q, v, numbers), wanted, taken, numbers, batch)
    first = scene.observer(numbers.which, observed).observe(motion.part("q"), motion.part("v"), numbers.of_robot)
    run = RunningContacts(caller, scene, motion, wanted, first)
    with states_attached(caller, lambda: run.t, lambda error: run.result()):
        Driver(run, outside, wanted.period).reach(wrap_steps(wanted.progress, wanted.steps))
    result = run.result()
    run.warn_of(result)
    return result


def _at_start(
    caller: str, scene: Scene, state: tuple[np.ndarray, np.ndarray], wanted: MotionRequest, taken: Taken,
    numbers: GivenNumbers, batch: tuple[int, ...],
) -> RolloutRun | ChartedRun:  # fmt: skip
    """A motion at its beginning."""
    home = scene.chart(taken, scene.robot)
    friction = scene.friction if wanted.friction is None else wanted.friction
    given = {"dt": wanted.dt, "friction": friction, **numbers.values}
    charted = partial(ChartedRun, scene.robot, partial(scene.chart, taken), which=taken.which)
    start = charted if home.loops else home.rollout.start
    return start(first_state(home.rollout.step.state, *state), given, batch, caller=caller)
