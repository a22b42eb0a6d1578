"""The end of a step, over which observations are written."""

from __future__ import annotations

from typing import Any, Protocol

from .context import Context

OBSERVED = "observed "  # before the names of observations among those of records and results


class StepEnd(Protocol):
    """The end of a step.

    `now` is a recording at the state there, with the controls u, if there are any, and tau: all forces of controls and
    actuators on the independent velocities. `moving` is one with accelerations a. Steps that solve for velocities know
    these only as means over the step: `moving` is then at the state where it began. Steps may follow other velocities
    than the robot's own; `own` is in the latter.
    """

    t: Any
    now: Context

    @property
    def moving(self) -> Any:
        """A recording with accelerations."""
        ...

    @property
    def own(self) -> StepEnd:
        """The same end in the robot's own velocities."""
        ...

    @property
    def actuator_forces(self) -> list[Any]:
        """The forces of the actuators that acted."""
        ...

    @property
    def contacts(self) -> dict[str, Any] | None:
        """Flat gaps and forces of the contacts of a scene; None of a robot alone."""
        ...


class Observation(Protocol):
    """Something that is computed at the end of a step."""

    def shape(self, subject: Any) -> tuple[int, ...]:
        """Its shape."""
        ...

    def write(self, end: StepEnd) -> list[Any]:
        """Its flat entries."""
        ...
