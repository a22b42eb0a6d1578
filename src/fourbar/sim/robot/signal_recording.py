"""How actuators come by their signals in a Runge-Kutta step, as a function of arrays: for libraries that differentiate,
which make the passes of a step themselves.
"""

from __future__ import annotations

from typing import Any

from ...arrays import Argument
from ...expr import Program
from ...functions.context import record_program
from ...functions.model import Model
from ...functions.recording import BLOCK, Recording
from ...spatial.linear import Vec
from ...system.system import System
from .runge_kutta_step import ForceLaw, signals_of

PASSES = 4


class SignalRecording(Recording):
    """(act, u, dt) to the state of the actuators after a step, and what their laws have in each of its passes."""

    name = "signals"

    def __init__(self, robot: System, law: ForceLaw) -> None:
        super().__init__()
        self.model: Model = robot.model
        self._robot, self._law, self.signals = robot, law, signals_of(robot, law)
        self.arguments = Argument("act", (self.signals.size,)), Argument("u", (robot.nu,)), Argument("dt", ())
        self.results = ("next_act", *(f"u{k}" for k in range(PASSES)))

    def write(self, present: tuple[str, ...], block: int = BLOCK) -> Program:
        def run(recorder: Any) -> Any:
            act, u, dt = (Vec(recorder.input(a.name, a.shape)) for a in self.arguments)
            after = recorder.call(self.signals.following, act, u, dt[0])
            passes = [recorder.call(self.signals.signals, act, u, dt[0], float(k)) for k in range(PASSES)]
            return [("next_act", (len(after),), after), *((f"u{k}", (len(x),), x) for k, x in enumerate(passes))]

        return record_program(self.name, run, block)

    @property
    def parts(self) -> tuple[Any, ...]:
        return self.name, self.signals

    @property
    def nan(self) -> str:
        return ""

    def pickle_recipe(self) -> tuple[Any, ...]:
        return type(self), self._robot, self._law
