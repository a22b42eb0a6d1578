"""Scenes whose loops pass toggle positions: the independent velocities change there, as they do without contacts.

The rocker of a crank-rocker turns back twice per turn of the crank. In its velocity the motion must be that of the
crank, which never comes to a toggle position, and of `fb.simulate`, up to the first order of the step.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

import fourbar as fb
from fourbar.joints import Revolute
from fourbar.loops import Closure
from fourbar.robots.linkages import LENGTHS, MASSES
from fourbar.robots.robot_data import rod
from fourbar.sim.loops.charts import Charts

UNTIL = 0.6  # the crank makes more than half a turn, and the rocker turns back at least once


def linkage(independent: str = "rocker", mass: float = MASSES[1]) -> fb.System:
    """The crank-rocker with a motor on the crank, damping in the rocker, and a ball on the pen."""
    ground, crank, coupler, rocker = LENGTHS
    b = fb.Builder("crank_rocker", gravity=(0.0, -9.81, 0.0))
    b.body("crank", joint=Revolute("z"), **rod(MASSES[0], (crank, 0, 0)))
    b.body(
        "coupler",
        parent="crank",
        joint=Revolute("z"),
        position=(crank, 0, 0),
        **{**rod(MASSES[1], (coupler, 0, 0)), "mass": mass},
    )
    b.body("rocker", joint=Revolute("z"), position=(ground, 0, 0), damping=0.02, **rod(MASSES[2], (rocker, 0, 0)))
    pin = Closure(Revolute("z"), "coupler", "rocker", at_predecessor=(coupler, 0, 0), at_successor=(rocker, 0, 0))
    b.loop(pin, name="pin", independent=["crank"])
    b.frame("pen", "coupler", position=(0.5 * coupler, 0.4 * coupler, 0.0))
    return b.actuator("motor", drives="crank", gear=2.0).build().with_independent(independent)


def start(speed: float = 6.0) -> tuple[np.ndarray, np.ndarray]:
    """A configuration, and the velocities of all joints there, of the crank one by one."""
    crank = linkage("crank")
    q = crank.assemble((2.0, -1.6, 1.9))
    return q, crank.expand_velocity(q, [speed])


def held(t: Any, q: Any, v: Any) -> Any:
    """A force on the rocker that depends on its velocity and on the crank's angle."""
    return [0.3 - 0.05 * v[0] + 0.1 * fb.cos(q[0])]


def held_in_python(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    return 0.3 - 0.05 * v[..., :1] + 0.1 * np.cos(q[..., :1])


PERIOD = 0.02
ROWS = np.linspace(-0.4, 0.6, round(UNTIL / PERIOD))[:, None]
CONTROLS: dict[str, dict[str, Any]] = {
    "none": {},
    "rows": {"tau": ROWS, "period": PERIOD},
    "python": {"tau": held_in_python, "period": PERIOD},
    "traced": {"tau": fb.traced(held), "period": PERIOD},
    "actuators": {"u": 0.2 * ROWS, "period": PERIOD},
    "both": {"u": fb.traced(lambda t, q, v: [0.2 * fb.sin(9.0 * t) - 0.01 * v[0]]), "tau": ROWS, "period": PERIOD},
}


@pytest.mark.parametrize("which", CONTROLS)
def test_the_motion_is_that_of_fourth_order_to_first_order(which: str) -> None:
    """Steps of dt and dt/2 extrapolated agree with `fb.simulate`, which changes velocities itself."""
    robot = linkage()
    q, v = start()
    options = {"duration": UNTIL, **CONTROLS[which]}
    exact = fb.simulate(robot, q, v[2:], dt=2.5e-4, every=80, **options)
    coarse, fine = (
        fb.Scene(robot).simulate(q, v[2:], dt=dt, every=round(0.02 / dt), **options) for dt in (5e-4, 2.5e-4)
    )
    assert coarse.converged.all() and fine.converged.all()
    passed = np.diff(np.sign(exact.v[:, 0]))
    assert passed.any(), "the rocker turned back"
    for name in ("q", "v"):
        first, second, wanted = (getattr(x, name) for x in (coarse, fine, exact))
        near, far = np.abs(2.0 * second - first - wanted).max(), np.abs(first - wanted).max()
        assert far < 0.2 and near < 0.15 * far, (name, near, far)
    assert robot.loop_gap(fine.q).max() < 1e-14


def test_velocities_and_observations_are_those_of_the_robot() -> None:
    """In whatever velocities a motion is followed."""
    robot, crank = linkage(), linkage("crank")
    q, v = start()
    observed = {
        "energy": fb.observe.energy(), "mass": fb.observe.method("mass_matrix"), "tau": fb.observe.joint_force(),
        "pen": fb.observe.velocity("pen"), "state": fb.traced(lambda t, q, v: [t, *q, *v]),
        "imu": fb.observe.imu("pen"),
    }  # fmt: skip
    rows, u = np.full((600, 1), 0.3), np.full((600, 1), 0.1)
    run = fb.Scene(robot).rollout(q, v[2:], rows, u=u, dt=1e-3, observe=observed)
    found = run.observations
    # The velocities of all joints, from the pen's motion: independent of the rocker's velocity.
    J = crank.jacobian(run.q, "pen")[..., 3:5, 0]
    crank_speed = np.einsum("ni,ni->n", J, found["pen"][:, 3:5]) / np.einsum("ni,ni->n", J, J)
    speed = crank.expand_velocity(run.q, crank_speed[:, None])
    assert np.abs(run.v[:, 0] - speed[:, 2]).max() < 1e-10
    assert np.abs(found["state"][:, 4:] - run.v).max() < 1e-12
    assert np.abs(found["state"][:, 1:4] - run.q).max() == 0.0
    kinetic = crank.kinetic_energy(run.q, crank_speed[:, None])
    assert np.abs(found["energy"][:, 0] - kinetic).max() < 1e-10 * kinetic.max()
    far = np.abs(robot.expand_velocity(run.q, np.ones((len(run.t), 1)))).max(axis=-1) < 10.0
    assert far.sum() > 300
    assert np.abs(found["mass"][far] / robot.mass_matrix(run.q[far]) - 1.0).max() < 1e-10
    through = 0.3 + 2.0 * 0.1 * robot.expand_velocity(run.q, np.ones((len(run.t), 1)))[:, 0]
    assert np.abs(found["tau"][1:, 0] - through[:-1])[far[:-1]].max() < 1e-9
    a = np.diff(crank.velocity(run.q, crank_speed[:, None], "pen")[:, 3:], axis=0) / 1e-3  # mean over a step
    felt = np.einsum("nji,nj->ni", crank.pose(run.q, "pen")[:-1, :3, :3], a - np.array([0, -9.81, 0]))
    assert np.abs(found["imu"][1:, 3:] - felt).max() < 0.02 * np.abs(felt).max()


def test_a_motion_has_the_same_bits_in_any_company() -> None:
    """Alone, in batches, on two threads, in live worlds stepped together, in parts and one by one."""
    robot = linkage()
    q, v = start()
    scales = np.linspace(0.2, 1.2, 11)
    many = scales[:, None] * v[2:]
    scene = fb.Scene(robot)
    options: dict[str, Any] = {"dt": 1e-3, "steps": 400, "every": 400}
    whole = scene.rollout(np.tile(q, (11, 1)), many, **options, threads=1)
    shared = scene.rollout(np.tile(q, (11, 1)), many, **options, threads=2)
    assert np.array_equal(whole.q, shared.q) and np.array_equal(whole.v, shared.v)
    for some in ([10], [3, 10, 0], list(range(1, 9))):
        part = scene.rollout(np.tile(q, (len(some), 1)), many[some], **options)
        assert np.array_equal(part.q, whole.q[:, some]) and np.array_equal(part.v, whole.v[:, some])
    worlds = scene.batch(11, dt=1e-3)
    worlds.reset(q=q, v=many)
    for _ in range(2):
        worlds.step(steps=100)
    for _ in range(100):
        worlds.step(ids=[0, 10, 4])
    worlds.step(ids=[1, 2, 3, 5, 6, 7, 8, 9], steps=100)
    worlds.step(steps=100)
    assert np.array_equal(worlds.q, whole.q[-1]) and np.array_equal(worlds.v, whole.v[-1]) and worlds.converged.all()
    assert np.array_equal(worlds.residual <= 1e-10, np.ones(11, bool)) and (worlds.t == 0.4).all()


@pytest.mark.parametrize("which", ["python", "both"])
def test_records_are_the_same_at_any_spacing(which: str) -> None:
    """Every so many steps, with a last one in between, alone and beside motions that switch at other times."""
    scene, options = fb.Scene(linkage()), {"duration": 0.4, "dt": 1e-3, **CONTROLS[which]}
    q, v = start()
    full = scene.simulate(q, v[2:], **options)
    speeds = np.linspace(-1.0, 1.0, 6).reshape(2, 3, 1) * v[2:]
    for every in (7, 400, 1000):
        one = scene.simulate(q, v[2:], every=every, **options)
        many = scene.simulate(np.tile(q, (2, 3, 1)), speeds, every=every, **options)
        rows = np.round(one.t / 1e-3).astype(int)
        assert rows[-1] == 400
        for run in (one, many):
            own = run.q if run is one else run.q[:, 1, 2]
            assert np.array_equal(own, full.q[rows])
        assert np.array_equal(one.v, full.v[rows]) and np.array_equal(many.v[:, 1, 2], full.v[rows])
        assert all(map(np.array_equal, one.last, (full.q[-1], full.v[-1])))


def test_worlds_take_states_and_controls_of_the_robot() -> None:
    """A world that is followed in other velocities can be reset, or given a state in place; controls act on the robot's
    own velocities."""
    robot = linkage()
    q, v = start()
    scene = fb.Scene(robot)
    control = 0.3 * np.ones((500, 1))
    wanted = scene.rollout(q, v[2:], control, dt=1e-3)
    worlds = scene.batch(2, dt=1e-3)
    worlds.reset(q=q, v=v[2:])
    worlds.step(0.3 * np.ones(1), steps=500)
    assert np.array_equal(worlds.q, wanted.q[[-1, -1]]) and np.array_equal(worlds.v, wanted.v[[-1, -1]])
    worlds.reset([0], q=q, v=v[2:])
    worlds.q[1], worlds.v[1], worlds.impulse[1] = q, v[2:], 0.0
    worlds.step(0.3 * np.ones(1), steps=500)
    assert np.array_equal(worlds.q, wanted.q[[-1, -1]]) and np.array_equal(worlds.v, wanted.v[[-1, -1]])


def test_parameters_differ_from_sample_to_sample_in_other_velocities_too() -> None:
    robot = linkage()
    q, v = start()
    masses = np.array([0.5, 1.0, 2.0]) * MASSES[1]
    some = fb.Scene(robot).rollout(np.tile(q, (3, 1)), v[2:], dt=1e-3, steps=500, numbers={"coupler.mass": masses})
    assert some.converged.all()
    for k, mass in enumerate(masses):
        alone = fb.Scene(linkage(mass=mass)).rollout(q, v[2:], dt=1e-3, steps=500)
        assert np.abs(alone.q - some.q[:, k]).max() < 1e-8


@pytest.mark.parametrize("friction", [0.0, 0.5])
def test_contacts_act_while_velocities_change(friction: float) -> None:
    """The pen lands on a floor and slides along it. The motions in both velocities come together as steps become
    shorter, and energy rises by no more than the second order of a step."""
    floor = fb.Plane(point=(0, 0.078, 0), normal=(0, 1, 0), friction=friction)
    pen = fb.contact.Shape("pen", "sphere", 0.01)
    q, v = start()
    apart = []
    for dt in (4e-4, 1e-4):
        runs = []
        for independent, own in (("crank", v[:1]), ("rocker", v[2:])):
            scene = fb.Scene(linkage(independent), floor, contacts=[pen])
            runs.append(scene.simulate(q, own, duration=UNTIL, dt=dt, observe={"energy": fb.observe.energy()}))
        assert all(x.converged.all() for x in runs)
        assert all(x.contacts.found.any() and x.contacts.gap[1:].min() > -1e-9 for x in runs)
        energy = runs[1].observations["energy"].sum(axis=-1)
        assert np.diff(energy).max() < 2500.0 * dt**2
        apart.append(np.abs(runs[0].q[-1] - runs[1].q[-1]).max())
    assert apart[1] < 0.5 * apart[0] < 0.2


def test_a_start_at_a_toggle_position_moves() -> None:
    """There the rocker's velocity is zero whatever the crank does: at rest the motion is determined all the same."""
    robot, crank = linkage(), linkage("crank")
    ground, a, b, c = LENGTHS
    x = np.pi + np.arccos((ground**2 + (b - a) ** 2 - c**2) / (2 * ground * (b - a)))
    in_line = (x, -np.pi, np.arctan2((a - b) * np.sin(x), (a - b) * np.cos(x) - ground))
    q = crank.integrate(crank.assemble(in_line), np.array([1e-4]), 1.0)
    wanted = fb.Scene(crank).simulate(q, duration=0.3, dt=2e-4)
    found = fb.Scene(robot).simulate(q, duration=0.3, dt=2e-4)
    assert found.converged.all() and np.ptp(wanted.q[:, 0]) > 0.1
    assert np.abs(found.q - wanted.q).max() < 5e-3


def test_a_start_exactly_at_a_toggle_position_is_refused_or_marked() -> None:
    """As `fb.simulate` refuses it; of a batch the sample is marked, and the others go on."""
    scene, crank = fb.Scene(linkage()), linkage("crank")
    ground, a, b, c = LENGTHS
    x = np.pi + np.arccos((ground**2 + (b - a) ** 2 - c**2) / (2 * ground * (b - a)))
    flat = crank.assemble((x, -np.pi, np.arctan2((a - b) * np.sin(x), (a - b) * np.cos(x) - ground)))
    for run in (scene.simulate, lambda *args, **options: fb.simulate(scene.robot, *args, **options)):
        with pytest.raises(fb.SingularError, match=r"loop 'pin' is at a toggle position.*with_independent"):
            run(flat, [1.0], duration=0.1)
    q, v = start()
    with pytest.warns(fb.SimulationWarning, match="sample.* 0 of 2 came to a toggle position") as said:
        both = scene.simulate(np.array([flat, q]), [[1.0], v[2:]], duration=0.1)
    assert "samples 0 of 2 diverged" in " ".join(str(x.message) for x in said)
    assert both.diverged.tolist() == [True, False] and both.converged[-1].tolist() == [False, True]
    assert np.array_equal(both.q[:, 1], scene.simulate(q, v[2:], duration=0.1).q)


def test_where_no_velocities_help_the_motion_is_marked(monkeypatch: pytest.MonkeyPatch) -> None:
    """It counts as not converged from there on, in runs and in live worlds, until these are reset."""
    monkeypatch.setattr(Charts, "better", lambda self, q, w, poor: None)
    robot = linkage()
    q, v = start()
    scene = fb.Scene(robot)
    with pytest.warns(fb.SimulationWarning, match=r"samples 0 of 2 came to a toggle position.*first at t = 0\.[01]"):
        run = scene.simulate(np.tile(q, (2, 1)), [v[2:], 0.0 * v[2:]], duration=0.2, dt=1e-3)
    assert run.converged[0].all() and not run.converged[-1, 0] and run.converged[-1, 1]
    worlds = scene.batch(2, dt=1e-3)
    worlds.reset(q=q, v=[v[2:], 0.0 * v[2:]])
    worlds.step(steps=200)
    assert worlds.converged.tolist() == [False, True]
    worlds.reset()
    assert worlds.converged.all()


@pytest.mark.parametrize("name", ["five_bar", pytest.param("stewart_platform", marks=pytest.mark.slow)])
def test_parallel_robots_pass_too(name: str) -> None:
    """The slides of a Stewart platform soon determine its pose badly; it is followed itself then."""
    robot = fb.robots.ROBOTS[name]()
    q, v = robot.random(0), 0.5 * np.random.default_rng(0).normal(size=robot.nv)
    with pytest.warns(fb.SimulationWarning, match="beyond the limits"):
        exact = fb.simulate(robot, q, v, duration=0.6, dt=1e-3, every=100)
    scene = fb.Scene(robot, limits=False)
    coarse, fine = (scene.simulate(q, v, duration=0.6, dt=dt, every=round(0.1 / dt)) for dt in (5e-4, 2.5e-4))
    assert coarse.converged.all() and fine.converged.all()
    assert np.abs(2.0 * fine.q - coarse.q - exact.q).max() < np.abs(coarse.q - exact.q).max()
    assert np.abs(fine.q - exact.q).max() < 0.7 * np.abs(coarse.q - exact.q).max()


def five_bar() -> tuple[fb.System, np.ndarray]:
    """A five-bar whose cranks drive it through a toggle position, and its start."""
    b = fb.Builder("five_bar", gravity=(0, -9.81, 0))
    for side, x in (("L", -0.1), ("R", 0.1)):
        more: dict[str, Any] = {"joint": Revolute("z"), "inertia": (1e-4, 2e-3, 2e-3)}
        b.body(f"{side}1", position=(x, 0, 0), mass=0.5, com=(0.1, 0, 0), damping=0.02, **more)
        b.body(f"{side}2", parent=f"{side}1", position=(0.2, 0, 0), mass=0.3, com=(0.15, 0, 0), **more)
    pin = Closure(Revolute("z"), "L2", "R2", at_predecessor=(0.3, 0, 0), at_successor=(0.3, 0, 0))
    robot = b.loop(pin, name="tip", independent=["L1", "R1"]).build()
    return robot, robot.assemble([2.2, -1.0, 0.9, 1.0], keep=["L1", "R1"])


def unit(angle: float) -> np.ndarray:
    return np.array([np.cos(angle), np.sin(angle)])


def rates_in_all_coordinates(y: np.ndarray) -> np.ndarray:
    """q̇ and q̈ of the five-bar from q and q̇ of all four joints, by Newton's equations of its bodies and a multiplier for
    the pin: no choice of velocities, and no toggle position.
    """
    q, v = y[:4], y[4:]
    M, h, J, rest, gap = np.zeros((4, 4)), np.zeros(4), np.zeros((2, 4)), np.zeros(2), np.array([-0.2, 0.0])
    for i, sign in ((0, 1.0), (2, -1.0)):
        angles, speeds = np.cumsum(q[i : i + 2]), np.cumsum(v[i : i + 2])
        along = np.array([unit(x) for x in angles])
        across = np.array([unit(x + np.pi / 2) for x in angles])
        for mass, arms, turns in ((0.5, (0.1, 0.0), (1.0, 0.0)), (0.3, (0.2, 0.15), (1.0, 1.0))):
            Jc = (np.array(arms)[:, None] * across).T @ np.array([[1.0, 0.0], [1.0, 1.0]])
            pull = -(np.array(arms) * speeds**2) @ along + (0.0, 9.81)
            M[i : i + 2, i : i + 2] += mass * Jc.T @ Jc + 2e-3 * np.outer(turns, turns)
            h[i : i + 2] += mass * Jc.T @ pull
        arms = np.array([0.2, 0.3])
        J[:, i : i + 2] = sign * (arms[:, None] * across).T @ np.array([[1.0, 0.0], [1.0, 1.0]])
        rest, gap = rest - sign * (arms * speeds**2) @ along, gap + sign * arms @ along
    tau = np.array([3.0 - 0.02 * v[0], 0.0, -3.0 - 0.02 * v[2], 0.0])
    whole = np.block([[M, -J.T], [J, np.zeros((2, 2))]])
    kept = -rest - 100.0 * J @ v - 2500.0 * gap  # gaps of rounding die out
    return np.concatenate([v, np.linalg.solve(whole, np.concatenate([tau - h, kept]))[:4]])


@cache
def reference(until: float = 0.2, dt: float = 2e-4) -> np.ndarray:
    """q and q̇ (n, 8) of all joints every 2 ms, by Runge-Kutta steps in all coordinates."""
    y = np.concatenate([five_bar()[1], np.zeros(4)])
    found, h = [y], dt
    for k in range(round(until / dt)):
        h = dt
        parts = 10 if 0.112 < k * dt < 0.122 else 1  # where the linkage comes near its folded position
        for _ in range(parts):
            h = dt / parts
            k1 = rates_in_all_coordinates(y)
            k2 = rates_in_all_coordinates(y + 0.5 * h * k1)
            k3 = rates_in_all_coordinates(y + 0.5 * h * k2)
            k4 = rates_in_all_coordinates(y + h * k3)
            y = y + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
        if (k + 1) % round(2e-3 / dt) == 0:
            found.append(y)
    return np.array(found)


def test_a_five_bar_passes_near_its_fold_as_in_all_coordinates() -> None:
    """All links are nearly in line at 0.116 s, and the cranks' speeds double within 2 ms. Runs of any step pass, and
    come together with the reference as steps become shorter; energy changes by the work of controls and damping alone.
    """
    robot, q = five_bar()
    wanted = reference()
    exact = fb.simulate(robot, q, duration=0.2, dt=2.5e-4, every=8, tau=(3.0, -3.0))
    assert np.abs(exact.q - wanted[:, :4]).max() < 1e-4 and np.abs(exact.v - wanted[:, [4, 6]]).max() < 2e-2
    apart = {}
    for dt in (2e-3, 1e-3, 5e-4, 2.5e-4):
        run = fb.Scene(robot).simulate(q, duration=0.2, dt=dt, tau=(3.0, -3.0))
        assert not run.diverged and run.converged.all() and robot.loop_gap(run.q).max() < 1e-13
        energy = robot.kinetic_energy(run.q, run.v) + robot.potential_energy(run.q)
        power = 0.02 * (run.v**2).sum(axis=-1)
        lost = np.concatenate([[0.0], np.cumsum(0.5 * dt * (power[1:] + power[:-1]))])
        gained = (run.q - q)[:, [0, 2]] @ [3.0, -3.0] - lost
        off = np.abs(energy - energy[0] - gained)[round(0.13 / dt)]
        assert off < 300.0 * dt, (dt, off)  # 1.7 J at 1 ms where the step is made at once
        every = round(2e-3 / dt)
        error = np.abs(run.q[::every] - wanted[:, :4]).max(axis=-1)
        apart[dt] = error[:66].max(), error.max()
    assert apart[2e-3][0] < 0.07 and apart[1e-3][0] < 0.02
    assert apart[2.5e-4][0] < 0.3 * apart[1e-3][0] and apart[2.5e-4][1] < 0.5 * apart[1e-3][1]


def test_steps_in_parts_have_the_same_bits_in_any_company() -> None:
    """Alone, in a batch, in live worlds, with controls of arrays and functions, recorded at any spacing; with traced
    controls that are held for a period too, but for rounding.
    """
    robot, q = five_bar()
    scene, controls = fb.Scene(robot), np.array([[3.0, -3.0], [2.0, -2.5], [3.0, -3.0]])
    rows = np.repeat(controls[:, None], 70, axis=1)
    whole = scene.rollout(np.tile(q, (3, 1)), tau=rows, dt=2e-3)
    assert not whole.diverged.any() and whole.converged.all()
    alone = scene.rollout(q, tau=rows[0], dt=2e-3, every=10)
    for name in ("q", "v", "residual"):
        one, many = getattr(alone, name), getattr(whole, name)
        assert np.array_equal(one, many[::10, 0]) and np.array_equal(many[:, 0], many[:, 2])
    asked = scene.simulate(q, duration=0.14, dt=2e-3, tau=lambda t, q, v: controls[0])
    assert np.array_equal(asked.q, whole.q[:, 0]) and np.array_equal(asked.v, whole.v[:, 0])
    worlds = scene.batch(3, dt=2e-3, observe={"state": fb.traced(lambda t, q, v: [t, *q, *v])})
    worlds.reset(q=q)
    worlds.step(controls, steps=57)
    for _ in range(5):
        worlds.step(controls)
    worlds.step(controls[0], ids=[0, 2], steps=8)
    worlds.step(controls[1], ids=[1], steps=8)
    assert np.array_equal(worlds.q, whole.q[-1]) and np.array_equal(worlds.v, whole.v[-1]) and worlds.converged.all()
    assert np.array_equal(worlds.t, np.full(3, 70 * 2e-3))
    state = worlds.observations["state"]
    assert np.abs(state[:, 0] - 0.14).max() < 1e-12 and np.abs(state[:, 1:5] - worlds.q).max() == 0.0
    assert np.abs(state[:, 5:] - worlds.v).max() < 1e-10
    for period in (2e-3, 10e-3):
        traced = fb.traced(lambda t, q, v: [3.0 + 0.0 * t, -3.0])
        held = scene.simulate(q, duration=0.14, dt=2e-3, tau=traced, period=period)
        assert np.abs(held.q - whole.q[:, 0]).max() < 1e-9


def test_a_motion_that_diverges_at_a_toggle_position_names_the_loop() -> None:
    robot, q = five_bar()
    with pytest.warns(fb.SimulationWarning, match=r"diverged.*shorter step.*toggle position of loop 'tip'"):
        run = fb.Scene(robot).simulate(q, duration=0.3, dt=2e-2, tau=(3e4, -3e4))
    assert run.diverged
    with pytest.warns(fb.SimulationWarning, match=r"diverged.*shorter step.*toggle position of loop 'tip'"):
        law = lambda t, q, v: np.array([3e4, -3e4])  # noqa: E731
        fb.simulate(robot, np.tile(q, (2, 1)), duration=0.3, dt=1e-2, period=0, tau=law)
