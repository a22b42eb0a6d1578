"""`names.numbers` is one list for derivatives, varying robots, rollouts, scenes and identification."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pytest

import fourbar as fb
from fourbar.errors import ArgumentError, FourbarError, UnknownNameError
from fourbar.joints import Composite, CustomJoint, Free, Helical, Prismatic, Revolute, Spherical
from fourbar.spatial import Transform
from tests.loops import looped

NOT_PASSIVE = ("friction", "gain", "kp", "kd", "kv", "bias")  # what `passive_dynamics` does not depend on
IDENTIFIED = (
    "mass", "com", "inertia", "armature", "damping", "stiffness", "rest", "friction", "matrix", "added_mass", "volume",
    "density", "center_of_buoyancy",
)  # fmt: skip


@dataclass(frozen=True)
class Cam:
    """A slide that a turn lifts."""

    rise: float = 0.1

    def __call__(self, q: Any) -> Any:
        c, s = np.cos(q[0]), np.sin(q[0])
        return [[c, -s, 0], [s, c, 0], [0, 0, 1]], [0.0, 0.0, self.rise * s]


pytestmark = [
    pytest.mark.drawn_in_line,
    pytest.mark.filterwarnings("ignore:.*the Coulomb friction of joint 'cam' is ignored:fourbar.SimulationWarning"),
]


@cache
def robot() -> fb.System:
    """A floating vehicle in water with an arm, a four-bar, a gear, a rod, springs, blocks of armature and motors."""
    b = fb.Builder("whole", gravity=(0.3, -0.2, -9.7))
    drag = np.diag([0.1, 0.2, 0.1, 0.5, 0.6, 0.7])
    water = fb.Fluid(
        added_mass=10.0 * drag, volume=0.002, center_of_buoyancy=(0.01, 0.02, 0.1), linear_drag=drag,
        quadratic_drag=drag, current=(0.1, 0.2, -0.1),
    )  # fmt: skip
    looped.shaped(b, "trunk", 1, joint=Free(), fluid=water, gravity_compensation=0.2)
    screw = Composite(Helical("y", pitch=0.1), Transform.of(np.eye(3), (0.1, 0.0, 0.1)), Prismatic("x"))
    looped.shaped(b, "screw", 2, parent="trunk", joint=screw, stiffness=(3.0, 4.0), rest=(0.1, 0.2), damping=0.3)
    looped.shaped(b, "cam", 3, parent="screw", joint=CustomJoint(Cam(), nq=1), position=(0.1, 0.2, 0.3), friction=0.2)
    looped.shaped(b, "ball", 4, parent="trunk", joint=Spherical(), position=(0.2, 0, 0), armature=(0.1, 0.2, 0.3))
    b.loop(looped.bars(b, "", (1.0, 0.4, 0.9, 0.7), carrier="trunk"), name="four_bar", independent=["crank"])
    looped.shaped(b, "wheel", 5, parent="coupler", joint=Revolute("z"))
    b.loop(fb.loops.Gear("cam", "wheel", 3.0, offset=0.1), name="gear")
    looped.shaped(b, "lever", 6, parent="trunk", joint=Revolute("y"), position=(0, 0.3, 0))
    looped.shaped(b, "knee", 7, parent="lever", joint=Revolute("y"), position=(0, 0, -0.3))
    b.armature(["lever", "knee"], [[0.03, 0.01], [0.01, 0.02]], name="belts")
    b.loop(fb.loops.Distance("trunk", "knee", (0.2, 0.1, 0.1), (0.1, 0.0, 0.0), 0.5), name="rod", independent=["lever"])
    b.frame("tip", "cam", position=(0.1, 0, 0))
    b.motor("motor", drives="lever")
    b.position_servo("servo", drives="crank", kp=20.0, kd=1.0)
    made = b.build()
    sizes = {c.name: c.joint.nv for c in made.mechanism.joints if c.joint.nv}
    return made.with_parameters(joints={x: {"armature": (0.2,) * n, "damping": (0.3,) * n} for x, n in sizes.items()})


@cache
def state() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    made = robot()
    q = min(made.random(0, 30), key=lambda x: np.abs(made.loop_map(x)).max())
    v, tau = 0.3 * np.random.default_rng(1).normal(size=(2, made.nv))
    return q, v, tau


@cache
def nominal() -> dict[str, np.ndarray]:
    return robot().varying(*robot().names.numbers).nominal


def test_every_kind_of_number_is_listed() -> None:
    fields = {name.rpartition(".")[2] for name in robot().names.numbers}
    assert fields >= {
        "gravity", "mass", "com", "inertia", "gravity_compensation", "added_mass", "volume", "center_of_buoyancy",
        "density", "linear_drag", "quadratic_drag", "current", "placement", "armature", "damping", "stiffness", "rest",
        "friction", "1_pitch", "2_placement", "rise", "at_predecessor", "at_successor", "ratio", "offset",
        "predecessor_point", "successor_point", "length", "matrix", "gain", "kp", "kd",
    }  # fmt: skip
    assert {"gravity", "tip.placement", "belts.matrix", "servo.kp", "rod.length"} <= set(robot().names.numbers)


def moved(name: str, rng: np.random.Generator) -> np.ndarray:
    """A direction in which a number may move: loops can follow it, and an inertia stays symmetric."""
    own = nominal()[name]
    change = rng.normal(size=own.shape)
    if name.endswith(("inertia", "added_mass", "matrix")):
        change = 1e-2 * (change + change.T)
        if not own.any(axis=0).all():  # of a thin rod
            change[0] = change[:, 0] = 0.0
        return change
    if name.startswith(("four_bar.", "crank.", "coupler.", "rocker.")) and own.shape == (6,):
        change[[0, 1, 5]] = 0.0  # of a planar loop only changes within the plane
    return change


def test_derivatives_varying_and_rollouts_take_the_same_names() -> None:
    """Differences of varying robots, and of one short step of rollouts, against derivatives, by each name."""
    made, (q, v, tau) = robot(), state()
    names = [x for x in made.names.numbers if not x.endswith(NOT_PASSIVE)]
    J = made.passive_dynamics.jacobian(q, v, tau, parameters=names).parameters
    rng, h, dt = np.random.default_rng(2), 1e-5, 1e-7
    direction = {name: moved(name, rng) for name in names}
    samples = {
        name: np.stack([nominal()[name] + s * h * direction[name] * (x == name) for x in names for s in (1, -1)])
        for name in names
    }
    a = made.varying(*names).passive_dynamics(q, v, tau, *samples.values())
    run = fb.rollout(made, q, v, tau, dt=dt, steps=1, numbers=samples)
    by_rollout = (run.v[-1, 0::2] - run.v[-1, 1::2]) / (2 * h * dt)
    for k, name in enumerate(names):
        along = np.reshape(J[name], (made.nv, -1)) @ np.ravel(direction[name])
        largest = max(1.0, np.abs(along).max())
        assert np.any(along) or name == "tip.placement", name
        assert np.abs((a[2 * k] - a[2 * k + 1]) / (2 * h) - along).max() < 1e-6 * largest, name
        assert np.abs(by_rollout[k] - along).max() < 1e-3 * largest, name


def test_the_robots_own_numbers_change_nothing() -> None:
    made, (q, v, tau) = robot(), state()
    calls: list[Callable[..., Any]] = [fb.rollout, lambda _, *args, **given: fb.Scene(made).rollout(*args, **given)]
    for roll in calls:
        plain = roll(made, q, v, tau, dt=1e-3, steps=5)
        numbers = {x: value for x, value in nominal().items() if roll is not fb.rollout or not x.endswith("friction")}
        again = roll(made, q, v, tau, dt=1e-3, steps=5, numbers=numbers)
        assert np.abs(plain.q - again.q).max() < 1e-12 and np.abs(plain.v - again.v).max() < 1e-10
    assert np.abs(made.varying(*nominal()).mass_matrix(q, *nominal().values()) - made.mass_matrix(q)).max() < 1e-12


@cache
def identified() -> fb.Identification:
    made, rng = robot(), np.random.default_rng(3)
    q = made.random(rng, 800)
    q = q[np.argsort(np.abs(made.loop_map(q)).max(axis=(1, 2)))[:400]]  # away from where loops lock
    v, a = rng.normal(size=(2, 400, made.nv))
    every = ("inertia", "armature", "fluid", "damping", "friction", "stiffness", "preload")
    tau = made.regressor(q, v, a, columns=every) @ made.inertial_parameters(every)
    return fb.identify(made, {"q": q, "v": v, "a": a, "tau": tau}, columns=every, consistent=None, keep_unexcited=True)


def test_identification_takes_the_names_or_says_why_not() -> None:
    result = identified()
    for name in robot().names.numbers:
        field = name.rpartition(".")[2]
        try:
            value, _ = result.value(name)
        except UnknownNameError as error:
            words = "is identified by" if field in IDENTIFIED else "regressors have no column for it"
            assert name in str(error) and words in str(error)
        except fb.IdentificationError:
            assert field in IDENTIFIED
        else:
            assert np.isclose(value, nominal()[name], rtol=1e-6, atol=1e-9), name
        with pytest.raises(UnknownNameError) as refused:
            fb.base_parameters(robot(), name)
        assert ("are taken together" if field in IDENTIFIED else "fit it by derivatives") in str(refused.value)


@pytest.mark.quick
def test_what_is_no_number_is_refused_alike() -> None:
    """The same error, with the reason, wherever names are taken."""
    made, (q, v, _) = robot(), state()
    wrong = {
        "crank.axis": "an axis of Revolute is a direction",
        "crank.stiffness": "it has no spring",
        "screw.friction": "it has no dry friction",
        "crank.gravity_compensation": "it has none",
        "crank.limits": "do not depend on limits",
        "lever.volume": "it is in no fluid",
        "screw.1_placement": "has no placement before its joint 1",
        "screw.end_placement": "has no placement after its last joint",
        "screw.2_axis": "an axis of Prismatic is a direction",
        "four_bar.predecessor": "is not made of numbers",
        "nothing.mass": "there is no parameter 'nothing.mass'",
    }
    for name, words in wrong.items():
        said = set()
        for ask in (
            lambda name=name: made.varying(name),
            lambda name=name: made.mass_matrix.jacobian(q, parameters=[name]),
            lambda name=name: made.mass_matrix.jvp(q, parameters={name: 1.0}),
            lambda name=name: fb.rollout(made, q, v, dt=1e-3, steps=1, numbers={name: 1.0}),
            lambda name=name: fb.Scene(made).rollout(q, v, dt=1e-3, steps=1, numbers={name: 1.0}),
        ):
            with pytest.raises((ArgumentError, FourbarError)) as error:
                ask()
            assert words in str(error.value), (name, str(error.value))
            said.add(str(error.value).partition("cannot vary: ")[2])
        assert len(said) == 1, said
