"""`scene.step`: one step of a scene as a function, with its derivatives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...once import cached_property
from ..loops.varied_loops import close
from ..motions.given_numbers import NOTHING
from ..motions.read_arguments import check_actuators, check_step, read_act
from .scene_motion import SceneStep, StepArguments, Stepped
from .step_derivatives import StepDerivatives, StepGradient, StepJacobian, StepRates

if TYPE_CHECKING:
    from .scene import Scene


class StepFunction:
    """One step of a scene: `scene.step(q, v, tau, dt=dt)`. `jacobian`, `jvp` and `vjp` are its derivatives."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._stepped: Any = None  # the configuration after the last step
        self._plain: dict[tuple[bool, bool], SceneStep] = {}  # the steps without numbers, by whether u and f_ext act

    @cached_property
    def derivatives(self) -> StepDerivatives:
        """The derivatives of the steps of the scene; refused where there are none."""
        return StepDerivatives(self._scene)

    def __call__(
        self,
        q: Any,
        v: Any,
        tau: Any = None,
        *,
        dt: float,
        u: Any = None,
        f_ext: Any = None,
        impulse: Any = None,
        act: Any = None,
        numbers: Any = None,
        threads: int | None = None,
    ) -> Stepped:
        """One step, of one state or of a batch of states.

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Configuration.
        v : array_like, shape (..., nv)
            Velocity (rad/s, m/s).
        tau : array_like, shape (..., nv), optional
            Joint forces (N m, N).
        dt : float
            Length of the step (s).
        u : array_like, shape (..., nu), optional
            Controls of the actuators, which do not act if None.
        f_ext : array_like, shape (..., n_bodies, 6), or dict, optional
            Wrenches [moment; force] (N m, N) on bodies, each in the frame of its body, or by name, {"hand": wrench}.
        impulse : array_like, shape (..., n_impulses), optional
            The warm start of the solver: `impulse` of the step before. States then have the bits of a rollout, as long
            as no loop needs other independent velocities. If None the solver begins at zero, takes longer and stops
            elsewhere within its tolerance, and the state is the start of a motion unless it is the `q` that the last
            step returned: its loops are closed, and constraints have to be met.
        act : array_like, shape (..., na), optional
            The state of the actuators: `act` of the step before; zero if None.
        numbers : dict, optional
            Parameters of robot and terrain, and the "friction" (..., n) of all contacts, by name, as in `simulate`.
        threads : int, optional
            Number of threads; as many as there are CPUs for large batches if None.

        Returns
        -------
        Stepped
            q, v, `impulse`, the residual (m/s) of the step, gaps (m) and forces (N) of the contacts, the state `act` of
            the actuators. A state whose next
            one is not finite stays as it is, with an infinite residual.

        Raises
        ------
        ArgumentError
            If an argument is invalid, or the state is the start of a motion and its loops are open.
        """
        scene = self._scene
        check_step(dt)
        known = NOTHING if numbers is None else scene.read_numbers(numbers)
        if impulse is None and scene.closes and q is not self._stepped:
            q, v = close("step", scene.robot, known.which, known.by_name, *(np.asarray(x, float) for x in (q, v)))
            scene.kept.check(q, v, known.which)
        if u is not None:
            check_actuators(scene.robot)
        key = u is not None, f_ext is not None
        step = self._plain.get(key) if known is NOTHING else None
        if step is None:
            step = scene.step_of(known.which, known.terrain, *key)
            if known is NOTHING:
                self._plain[key] = step
        act = None if act is None else read_act("step", scene.robot, act, u is not None)
        stepped = step.step(StepArguments(q, v, tau, dt, u, f_ext, impulse, known, threads, act))
        self._stepped = stepped.q
        return stepped

    def jacobian(
        self,
        q: Any,
        v: Any,
        tau: Any = None,
        *,
        dt: float,
        u: Any = None,
        f_ext: Any = None,
        impulse: Any = None,
        numbers: Any = None,
        parameters: Any = (),
        smoothing: float = 0.0,
        threads: int | None = None,
    ) -> StepJacobian:
        """The step and its derivatives: A by the state, B by the controls u, or by tau where no u is given.

        Arguments are those of the step. parameters: names of numbers of the robot and the terrain ("hand.mass",
        "terrain.friction", or "friction" of all contacts) by which it is differentiated too. smoothing: a velocity
        (m/s) over which the changes between open, sticking and sliding contacts are rounded, in the derivative alone.
        """
        given = StepArguments(q, v, tau, dt, u, f_ext, impulse, NOTHING, threads)
        return self.derivatives.jacobian(given, numbers, parameters, smoothing)

    def jvp(
        self,
        args: Any,
        tangents: Any,
        *,
        dt: float,
        f_ext: Any = None,
        impulse: Any = None,
        numbers: Any = None,
        parameters: Any = None,
        smoothing: float = 0.0,
        threads: int | None = None,
    ) -> StepRates:
        """The step and the rates of q and v as the arguments (q, v, tau, u) move with tangents.

        Both are tuples, or dictionaries by name; what is left out does not move. The tangent of q has nv entries.
        parameters: rates of numbers by name, {"hand.mass": 1.0}. smoothing: as in `jacobian`.
        """
        return self.derivatives.jvp(
            args, tangents, StepArguments(None, None, None, dt, None, f_ext, impulse, NOTHING, threads), numbers,
            parameters, smoothing,
        )  # fmt: skip

    def vjp(
        self,
        args: Any,
        cotangent: Any,
        *,
        dt: float,
        f_ext: Any = None,
        impulse: Any = None,
        numbers: Any = None,
        parameters: Any = (),
        smoothing: float = 0.0,
        threads: int | None = None,
    ) -> StepGradient:
        """The step, and the gradient of the sum of w_q · q⁺ and w_v · v⁺ by the arguments (q, v, tau, u).

        cotangent: (w_q, w_v), each (..., nv), w_q on the tangent at q⁺. parameters: names of numbers by which to
        differentiate. smoothing: as in `jacobian`.
        """
        return self.derivatives.vjp(
            args, cotangent, StepArguments(None, None, None, dt, None, f_ext, impulse, NOTHING, threads), numbers,
            parameters, smoothing,
        )  # fmt: skip

    def __repr__(self) -> str:
        return f"<fourbar step of {self._scene!r}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return StepFunction, (self._scene,)
