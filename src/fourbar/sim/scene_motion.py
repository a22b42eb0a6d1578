"""Motions of a scene: from checked arguments to the run."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ..contact.step_rollout import Force, Taken, first_state
from ..functions.rollout import GIVEN, RolloutRun
from .charted_run import ChartedRun
from .contact_run import Driver, RunningContacts, wrap_steps
from .control_sizes import control_sizes
from .given_numbers import GivenNumbers
from .observe import check_driven, read_observations
from .read_arguments import MotionRequest, read_control
from .run import Run
from .runge_kutta_step import Commands, Traced
from .states_so_far import states_attached
from .wrenches import read_wrenches

if TYPE_CHECKING:
    from .scene import Scene


def run_motion(scene: Scene, wanted: MotionRequest) -> Run:
    """The run of a motion that is asked for."""
    caller, acting = wanted.caller, _read_controls(scene, wanted)
    inside = {name: x for name, x in acting.items() if isinstance(x, Traced)}
    outside = {name: x for name, x in acting.items() if name not in inside}
    numbers = scene.read_numbers(wanted.numbers)
    observed = read_observations(wanted.observe, scene.model)
    if "u" not in acting:
        check_driven(observed, scene.robot.mechanism)
    # Joint forces are an input of the step even where there are none, as friction is: in live worlds both are given
    # with every call, and the same program has the same bits.
    forces: dict[str, Any] = {"tau": GIVEN} | dict.fromkeys(outside, GIVEN)
    sizes = control_sizes(scene.robot)
    for name, x in inside.items():
        forces[name] = Force(Commands(x, name, sizes[name]), wanted.hold)
    taken = Taken(**forces, which=numbers.which, observed=observed, terrain=numbers.terrain)
    shapes = [x.shape[:-2] for x in outside.values() if isinstance(x, np.ndarray)]
    batch = np.broadcast_shapes(*shapes) if shapes else ()
    start = scene.read_state(caller, wanted.q, wanted.v, numbers)
    motion = _at_start(scene, start, wanted, taken, numbers, batch)
    first = scene.observer(numbers.which, observed).observe(motion.part("q"), motion.part("v"), numbers.of_robot)
    run = RunningContacts(scene, motion, wanted, first)
    with states_attached(caller, lambda: run.t, lambda error: run.result()):
        Driver(run, outside, wanted.hold).reach(wrap_steps(wanted.progress, wanted.steps))
    result = run.result()
    run.warn_of(result)
    return result


def _read_controls(scene: Scene, wanted: MotionRequest) -> dict[str, Any]:
    """The controls that act, by name."""
    robot, rows = scene.robot, -(-wanted.steps // wanted.hold)
    every = {"tau": read_control(robot, wanted.tau, rows), "u": read_control(robot, wanted.u, rows, "u"),
             "f_ext": read_wrenches(wanted.caller, robot, wanted.f_ext, rows)}  # fmt: skip
    return {name: x for name, x in every.items() if x is not None}


def _at_start(
    scene: Scene, state: tuple[np.ndarray, np.ndarray], wanted: MotionRequest, taken: Taken,
    numbers: GivenNumbers, batch: tuple[int, ...],
) -> RolloutRun | ChartedRun:  # fmt: skip
    """A motion at its beginning."""
    home = scene.chart(taken, scene.robot)
    friction = scene.friction if numbers.friction is None else numbers.friction
    given = {"dt": wanted.dt, "friction": friction, **numbers.values}
    charted = partial(ChartedRun, scene.robot, partial(scene.chart, taken), which=taken.which)
    start = charted if home.loops else home.rollout.start
    return start(first_state(home.rollout.step.state, *state), given, batch, caller=wanted.caller)
