"""One program per scene: whatever is called, in whatever order, it is recorded once, and compiled once for one state
and once for batches; so a single step has the bits of a rollout."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fourbar as fb
from fourbar.compile import kernel
from fourbar.contact.step_rollout import RolloutStep
from fourbar.functions.function import backend
from tests.contact.walkers import hopper, starts

DT = 2e-3
STANCE = np.array([0.6, -1.2])


class Counts:
    """The programs of steps that are recorded, and the modules of machine code that they need."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.programs, self.modules = 0, set[str]()
        record, load = RolloutStep._record, kernel.load_module

        def recording(step: Any, recorder: Any) -> Any:
            self.programs += 1
            return record(step, recorder)

        def loading(key: str, assembly: Callable[[], str]) -> Any:
            if not key.startswith("driver"):  # which all programs share
                self.modules.add(key)
            return load(key, assembly)

        monkeypatch.setattr(RolloutStep, "_record", recording)
        monkeypatch.setattr(kernel, "load_module", loading)


def uses(scene: fb.Scene) -> dict[str, Callable[[int], Any]]:
    """Ways to move a scene, with so many samples, or one."""
    robot, worlds = scene.robot, {n: scene.batch(n, dt=DT) for n in (1, 3)}
    q, v = starts(robot, 3)

    def at(n: int) -> tuple[np.ndarray, np.ndarray]:
        return (q, v) if n > 1 else (q[0], v[0])

    return {
        "simulate": lambda n: fb.simulate(scene, *at(n), duration=0.01),
        "tau": lambda n: scene.simulate(*at(n), tau=[0.1, 0.0, 0.1], duration=0.01),
        "function": lambda n: scene.simulate(*at(n), u=lambda t, q, v: STANCE, duration=0.01),
        "controls": lambda n: scene.rollout(*at(n), u=np.tile(STANCE, (4, 1))),
        "friction": lambda n: scene.rollout(*at(n), steps=4, numbers={"friction": [0.4]}),
        "step": lambda n: scene.step(*at(n), dt=DT, u=STANCE),
        "step, friction": lambda n: scene.step(*at(n), [0.1, 0.0, 0.1], dt=DT, numbers={"friction": [0.4]}),
        "worlds": lambda n: worlds[n].step(),
        "worlds, u": lambda n: worlds[n].step([0.1, 0.0, 0.1], u=STANCE, steps=3),
    }


@pytest.mark.parametrize("order", [1, -1])
def test_a_scene_has_one_program(order: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    """Recorded once; its machine code is made for one state and for batches by whoever is first, and then by none."""
    monkeypatch.setenv("FOURBAR_CACHE", str(tmp_path))
    mass = 3.0 + 1e-3 * order  # so that no other test has made the program
    scene = hopper()[1]
    scene = fb.Scene(
        scene.robot.with_parameters(bodies={"base": {"mass": mass}}), *scene.terrains, contacts=scene.added
    )
    counts, ways = Counts(monkeypatch), list(uses(scene).items())[::order]
    made: dict[int, set[str]] = {}
    for (name, use), n in itertools.product(ways, (1, 3)):
        before = set(counts.modules)
        use(n)
        fresh = counts.modules - before
        assert counts.programs == 1, (name, n)
        assert n not in made or not fresh, (name, n, len(fresh))
        made.setdefault(n, fresh)
    if backend() == "llvm":
        assert made[1] and made[3]


def test_a_servo_that_is_not_driven_is_not_there() -> None:
    """Controls of zero hold a joint, no controls leave it alone: as in a robot without servos, to rounding."""
    robot, scene = hopper()
    bare = fb.Scene(fb.System(robot.mechanism.__class__(**{**vars(robot.mechanism), "actuators": ()})), *scene.terrains,
                    contacts=scene.added)  # fmt: skip
    q, v = starts(robot, 4)
    free, held = scene.rollout(q, v, steps=60), scene.rollout(q, v, u=[0.0, 0.0], steps=60)
    expected = bare.rollout(q, v, steps=60)
    assert free.u is None and held.u is not None
    assert np.abs(free.q[-1] - expected.q[-1]).max() < 1e-12 < 1e-2 < np.abs(held.q[-1] - expected.q[-1]).max()


def test_what_cannot_rest_acts_only_where_it_is_driven() -> None:
    """A tendon's servo adds a row, and a muscle has no law: without controls neither is part of a step."""
    b = fb.Builder("arms")
    for name in ("left", "right"):
        b.body(name, joint=fb.joints.Revolute("y"), mass=1.0, com=(0, 0, -0.2), inertia=(0.02,) * 3)
    tendon = b.position_servo("tendon", drives={"left": 1.0, "right": -1.0}, kp=50.0, kd=1.0).build()
    plain = fb.System(tendon.mechanism.__class__(**{**vars(tendon.mechanism), "actuators": ()}))
    start = [0.3, -0.1]
    runs = [fb.Scene(x).simulate(start, duration=0.1) for x in (tendon, plain)]
    assert np.array_equal(runs[0].q, runs[1].q)
    assert np.abs(fb.Scene(tendon).simulate(start, u=[0.0], duration=0.1).q[-1] - runs[0].q[-1]).max() > 1e-3


def looped(name: str) -> tuple[fb.Scene, np.ndarray, np.ndarray]:
    """A scene with loops far from toggle positions, and a state."""
    robot = getattr(fb.robots, name)()
    q = robot.assemble(robot.random(3))
    return fb.Scene(robot), q, 0.2 * np.ones(robot.nv)


LOOPS = ("four_bar", "slider_crank", "crank_rocker", "five_bar", "planar_leg_linkage")


@pytest.mark.parametrize("name", LOOPS)
def test_steps_of_a_loop_have_the_bits_of_a_rollout(name: str) -> None:
    """While no loop needs other velocities; the warm start is handed on."""
    scene, q, v = looped(name)
    run, impulse = scene.rollout(q, v, steps=40), None
    for k in range(1, 41):
        q, v, impulse, *_ = scene.step(q, v, dt=DT, impulse=impulse)
        assert np.array_equal(q, run.q[k]) and np.array_equal(v, run.v[k]), k


@pytest.mark.parametrize("law", [fb.contact.Rigid(), fb.contact.Compliant(), fb.contact.MuJoCo()])
def test_steps_have_the_bits_of_a_rollout(law: Any) -> None:
    """One by one and in batches, with controls, forces, friction of their own and wrenches."""
    robot, scene = hopper(law=law)
    q, v = starts(robot, 3)
    given: dict[str, Any] = {"u": STANCE, "tau": np.array([0.3, -0.1, 0.2]), "f_ext": {"base": [0, 0, 0, 0, 0, 2.0]},
                             "numbers": {"friction": np.array([[0.1], [0.5], [0.9]])}}  # fmt: skip
    for names in ((), ("u",), ("tau", "numbers"), ("u", "tau", "f_ext", "numbers")):
        some = {x: given[x] for x in names}
        run, now, impulse = scene.rollout(q, v, steps=80, **some), (q, v), None
        one = some | ({"numbers": {"friction": [0.5]}} if "numbers" in some else {})
        alone, alone_impulse = (q[1], v[1]), None
        for k in range(1, 81):
            after = scene.step(*now, dt=DT, impulse=impulse, **some)
            now, impulse = (after.q, after.v), after.impulse
            for x, expected in ((after.q, run.q), (after.v, run.v), (after.residual, run.residual),
                                (after.force, run.contacts.force), (after.gap, run.contacts.gap)):  # fmt: skip
                assert np.array_equal(x, expected[k]), (names, k)
            single = scene.step(*alone, dt=DT, impulse=alone_impulse, **one)
            alone, alone_impulse = (single.q, single.v), single.impulse
            assert np.array_equal(single.q, after.q[1]) and np.array_equal(single.force, after.force[1])


def test_a_step_follows_a_loop_where_a_rollout_does() -> None:
    """Near a fold one step is that of a rollout of one step, which makes it along the branch that is followed there."""
    robot = fb.robots.parallelogram()
    scene = fb.Scene(robot)
    for angle in (0.5, 1e-2, 1e-3):
        q, v = robot.assemble([angle, -angle, angle], keep=["crank"]), np.array([3.0])
        run, after = scene.rollout(q, v, steps=1), scene.step(q, v, dt=DT)
        assert np.array_equal(after.q, run.q[1]) and np.array_equal(after.v, run.v[1]), angle
        assert np.isfinite(after.residual) and abs(after.v[0]) > 2.0


def test_a_step_that_has_no_result_stays_where_it_is() -> None:
    """Of one state and of a sample: without forces, with an infinite residual; the others go on."""
    robot, scene = hopper()
    q, v = starts(robot, 3)
    far = v.copy()
    far[1] = 1e200
    found, alone = scene.step(q, far, dt=DT), scene.step(q[1], far[1], dt=DT)
    assert np.array_equal(found.q[1], q[1]) and np.array_equal(found.v[1], far[1]) and np.isinf(found.residual[1])
    assert not found.force[1].any() and not found.impulse[1].any()
    assert np.array_equal(alone.q, q[1]) and np.isinf(alone.residual) and not alone.force.any()
    assert np.array_equal(found.q[[0, 2]], scene.step(q[[0, 2]], v[[0, 2]], dt=DT).q)
