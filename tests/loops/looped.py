"""Mechanisms that together hold every kind of loop, states of them, and comparisons.

They are few and always the same, so that each of their methods is compiled once for all tests; states come in batches.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pytest

import fourbar as fb
from fourbar import Builder, System, baselines
from fourbar.joints import (
    Composite,
    Cylindrical,
    Free,
    Helical,
    Planar,
    Prismatic,
    Revolute,
    Spherical,
    SphericalEuler,
    Universal,
)
from fourbar.loops import Closure, Constraint, Coupling, Differential, Distance, Gear, Parametric, Polynomial

BATCH = 5
_SHORT = ("four_bar", "geared")
_MAKERS: dict[str, Callable[[], Builder]] = {}


def _mechanism(make: Callable[[], Builder]) -> Callable[[], Builder]:
    _MAKERS[make.__name__] = make
    return make


def shaped(b: Builder, name: str, seed: int, **where: Any) -> None:
    """A body of random shape, always that of some matter."""
    rng = np.random.default_rng(1000 + seed)
    points = 0.15 * rng.normal(size=(5, 3))
    mass = float(rng.uniform(0.5, 2.0))
    moments = mass / 5 * points.T @ points
    com = 0.1 * rng.normal(size=3)
    b.body(name, mass=mass, com=com, inertia=np.trace(moments) * np.eye(3) - moments, **where)


def rod(b: Builder, name: str, length: float, mass: float = 1.0, **where: Any) -> None:
    """A uniform thin rod along x that turns about z."""
    moment = mass * length**2 / 12
    b.body(name, mass=mass, com=(length / 2, 0, 0), inertia=(0.0, moment, moment), joint=Revolute("z"), **where)


def bars(
    b: Builder, prefix: str, lengths: tuple[float, float, float, float], carrier: str = "world", at: float = 0.0
) -> Closure:
    """Crank, coupler and rocker of a planar four-bar (ground, crank, coupler, rocker), and the joint that closes it."""
    ground, crank, coupler, rocker = lengths
    rod(b, f"{prefix}crank", crank, parent=carrier, position=(at, 0, 0))
    rod(b, f"{prefix}coupler", coupler, parent=f"{prefix}crank", position=(crank, 0, 0))
    rod(b, f"{prefix}rocker", rocker, parent=carrier, position=(at + ground, 0, 0))
    ends = {"at_predecessor": (coupler, 0, 0), "at_successor": (rocker, 0, 0)}
    return Closure(Revolute("z"), f"{prefix}coupler", f"{prefix}rocker", **ends)


@_mechanism
def four_bar() -> Builder:
    """The plain four-bar on the ground: a loop to the world, two roots."""
    b = Builder("four_bar", gravity=(0, -9.81, 0))
    return b.loop(bars(b, "", (1.0, 0.4, 0.9, 0.7)), name="loop", independent=["crank"])


@_mechanism
def geared() -> Builder:
    """A floating arm with motors, a chain of gears, a belt and a finger on a cam: all loops explicit."""
    b = Builder("geared", gravity=(0.3, -0.2, -9.7))
    shaped(b, "base", 0, joint=Free())
    shaped(b, "upper", 1, parent="base", joint=Revolute("y"), position=(0.1, 0, 0.2))
    b.rotor("upper_rotor", drives="upper", ratio=9.0, parent="base", axis="y", mass=0.3, inertia=(1e-3, 2e-3, 1e-3))
    shaped(b, "lower", 2, parent="upper", joint=Revolute("y"), position=(0, 0, -0.4), armature=0.01)
    shaped(b, "wheel", 3, parent="upper", joint=Revolute((0.6, 0.0, 0.8)), position=(0, 0.05, 0))
    shaped(b, "pinion", 4, parent="wheel", joint=Revolute("x"), position=(0, 0.1, 0))
    b.loop(Gear("lower", "wheel", -3.0, offset=0.2), name="first_stage")
    b.loop(Gear("wheel", "pinion", 2.5), name="second_stage")
    shaped(b, "slide", 5, parent="lower", joint=Prismatic("z"), position=(0, 0, -0.3))
    shaped(b, "pulley", 6, parent="lower", joint=Revolute("y"), armature=0.02)
    shaped(b, "knob", 7, parent="lower", joint=Revolute("x"))
    b.loop(Coupling({"slide": 1.0, "knob": 0.1, "pulley": -0.05}, offset=0.03), name="belt")
    shaped(b, "finger", 8, parent="slide", joint=Revolute("x"))
    shaped(b, "tip", 9, parent="finger", joint=Revolute("x"), position=(0, 0, 0.1))
    return b.loop(Polynomial("finger", "tip", (0.1, 0.8, -0.2, 0.05, 0.01)), name="cam")


@_mechanism
def differential() -> Builder:
    """A wrist driven by a differential, whose inputs are geared; another root beside it."""
    b = Builder("differential")
    shaped(b, "tilt", 10, joint=Revolute("x"), position=(0, 0, 0.5))
    shaped(b, "roll", 11, parent="tilt", joint=Revolute("z"), position=(0, 0, 0.1))
    for i, side in enumerate(("left", "right")):
        shaped(b, side, 12 + i, joint=Revolute("y"), position=(0, 0.1 * (2 * i - 1), 0.5))
    b.loop(Differential(["left", "right"], ["tilt", "roll"], [[0.5, 0.5], [1.5, -1.5]]), name="bevels")
    b.rotor("motor", drives="left", ratio=6.0, axis="y", inertia=(2e-4, 3e-4, 2e-4), mass=0.2)
    shaped(b, "hand", 14, parent="roll", joint=Spherical(), position=(0, 0, 0.2))
    shaped(b, "other", 15, joint=Planar("y"))
    return b


@_mechanism
def chained() -> Builder:
    """A four-bar whose rocker carries another four-bar, whose coupler carries an arm: a cluster on a cluster."""
    b = Builder("chained", gravity=(1.0, -9.0, 0.5))
    shaped(b, "trolley", 20, joint=Prismatic("z"))
    b.loop(bars(b, "a_", (0.9, 0.4, 0.8, 0.6), carrier="trolley"), name="first")
    second = bars(b, "b_", (0.5, 0.3, 0.6, 0.4), carrier="a_rocker", at=0.3)
    b.loop(second, name="second", independent={"b_rocker": 2.0})
    shaped(b, "arm", 21, parent="b_coupler", joint=Universal("x", "y"), position=(0.2, 0.1, 0))
    shaped(b, "hand", 22, parent="arm", joint=Revolute("z"), position=(0, 0, 0.3))
    shaped(b, "bucket", 23, parent="a_coupler", joint=Revolute("y"))
    return b


@_mechanism
def nested() -> Builder:
    """A six-bar: two loops that share bodies merge into one cluster, with a rotor geared to one of its joints."""
    b = Builder("nested", gravity=(0, -9.81, 0))
    b.loop(bars(b, "", (1.0, 0.45, 0.9, 0.7)), name="outer", independent=["crank"])
    rod(b, "lever", 0.6, parent="coupler", position=(0.5, 0.2, 0))
    rod(b, "swing", 0.7, position=(1.2, 0.8, 0), mass=0.5)
    ends = {"at_predecessor": (0.6, 0, 0), "at_successor": (0.7, 0, 0)}
    b.loop(Closure(Revolute("z"), "lever", "swing", **ends), name="inner")
    shaped(b, "rotor", 30, parent="crank", joint=Revolute("z"), position=(0.1, 0, 0))
    b.loop(Gear("coupler", "rotor", 5.0), name="gear")
    shaped(b, "tool", 31, parent="lever", joint=Revolute("x"), position=(0.3, 0, 0))
    return b


@_mechanism
def coupled() -> Builder:
    """Clusters on several links of another (Chignoli, Fig. 5): a gear between joints on the crank and on the coupler of
    a four-bar, beside an arm with a motor; the gear's wheels carry a coupling between joints on both of them.
    """
    b = Builder("coupled", gravity=(0.4, -9.7, 0.8))
    b.loop(bars(b, "", (1.0, 0.4, 0.9, 0.7)), name="four_bar", independent=["crank"])
    shaped(b, "arm", 81, parent="crank", joint=Revolute("y"), position=(0.1, 0, 0.1))
    shaped(b, "rotor", 82, parent="arm", joint=Revolute("x"), position=(0, 0, 0.1))
    b.loop(Gear("arm", "rotor", 6.0), name="motor")
    shaped(b, "wheel", 83, parent="crank", joint=Revolute("x"), position=(0.2, 0, 0.05))
    shaped(
        b, "other_wheel", 84, parent="coupler", joint=Revolute((0.0, 0.6, 0.8)), position=(0.3, 0.1, 0), armature=0.02
    )
    b.loop(Gear("wheel", "other_wheel", -2.0, offset=0.1), name="gear")
    shaped(b, "slide", 85, parent="wheel", joint=Prismatic("z"), position=(0.1, 0, 0))
    shaped(b, "spindle", 86, parent="other_wheel", joint=Revolute("y"), position=(0, 0.1, 0))
    shaped(b, "knob", 87, parent="wheel", joint=Revolute("x"), position=(0, 0.1, 0))
    b.loop(Coupling({"slide": 1.0, "knob": 0.1, "spindle": -0.05}, offset=0.03), name="belt")
    shaped(b, "hand", 88, parent="spindle", joint=Spherical(), position=(0, 0.1, 0.2))
    shaped(b, "finger", 89, parent="knob", joint=Revolute("x"), position=(0.1, 0, 0))
    return b


@_mechanism
def tripod() -> Builder:
    """A platform on three legs of changing length: spatial loops through a free joint, merged."""
    b = Builder("tripod")
    shaped(b, "platform", 40, joint=Free(), position=(0, 0, 0.8))
    for i in range(3):
        c, s = np.cos(2.0 * i), np.sin(2.0 * i)
        shaped(b, f"hip{i}", 41 + i, joint=Universal("x", "y"), position=(0.6 * c, 0.6 * s, 0))
        shaped(b, f"leg{i}", 44 + i, parent=f"hip{i}", joint=Prismatic("z"), position=(0, 0, 0.8))
        at = {"at_successor": (0.3 * c, 0.3 * s, 0)}
        b.loop(Closure(Spherical(), f"leg{i}", "platform", **at), name=f"ball{i}")
    return b


@_mechanism
def moored() -> Builder:
    """A floating base whose arm is tied to the world by a rod, and to the base by another: loops through the base."""
    b = Builder("moored")
    shaped(b, "base", 50, joint=Free())
    shaped(b, "arm", 51, parent="base", joint=Revolute("y"), position=(0.3, 0, 0))
    shaped(b, "fore", 52, parent="arm", joint=Revolute("z"), position=(0.4, 0, 0))
    b.loop(Distance("fore", "world", (0.3, 0, 0), (1.6, 0.1, 0), 0.7), name="mooring")
    shaped(b, "fin", 53, parent="base", joint=Revolute("x"), position=(-0.3, 0, 0))
    b.loop(Distance("fin", "arm", (0, 0.3, 0.1), (0.2, 0, 0.2), 0.8), name="stay")
    return b


@_mechanism
def spatial_crank() -> Builder:
    """Crank and rocker with skew axes, a connecting rod with ball joints at both ends: it spins freely; nq ≠ nv."""
    b = Builder("spatial_crank")
    shaped(b, "turret", 60, joint=Revolute("z"))
    shaped(b, "crank", 61, parent="turret", joint=Revolute("y"))
    shaped(b, "link", 62, parent="crank", joint=Spherical(), position=(0.3, 0, 0))
    shaped(b, "rocker", 63, parent="turret", joint=Revolute("x"), position=(0.6, 0.2, 0))
    at = {"at_predecessor": (0.7, 0, 0), "at_successor": (0, 0, 0.4)}
    b.loop(Closure(Spherical(), "link", "rocker", **at), name="ball", independent={})
    shaped(b, "flag", 64, parent="link", joint=SphericalEuler("zyx"), limits=([-2, -0.8, -2], [2, 0.8, 2]))
    return b


def _tilt_and_height(height: Any, q: Any) -> Any:
    """A plate that rises as it tilts, and does not turn about its normal to first order."""
    w, x, y, z = q
    size = w * w + x * x + y * y + z * z
    return [height - 0.4 * (x * x + y * y) / size - 0.1, (2.0 * w * z + 0.3 * x * y) / size]


@_mechanism
def written() -> Builder:
    """Loops written as functions: of a quaternion, of a joint with two coordinates, with a redundant row."""
    b = Builder("written")
    shaped(b, "lift", 70, joint=Prismatic("z"))
    shaped(b, "plate", 71, parent="lift", joint=Spherical())
    b.loop(Constraint(_tilt_and_height, ["lift", "plate"]), name="plate_rule")
    shaped(b, "cart", 72, joint=Cylindrical("x"))
    shaped(b, "bob", 73, parent="cart", joint=Revolute("y"))
    b.loop(Constraint(_rolls, ["cart", "bob"]), name="rolls")
    shaped(b, "nut", 74, parent="bob", joint=Helical("z", pitch=0.1))
    return b


def _rolls(cart: Any, bob: Any) -> Any:
    turn, place = cart
    rolled = place - 0.3 * fb.sin(bob) - 0.1 * turn
    return [rolled, 2.0 * rolled]


@_mechanism
def own_coordinate() -> Builder:
    """Loop joints that need coordinates of their own: a screw, and joints in series."""
    b = Builder("own_coordinate")
    shaped(b, "swing", 80, joint=Revolute("x"))
    shaped(b, "block", 81, joint=Free(), position=(0, 0.2, 0.4))
    b.loop(Closure(Helical("z", pitch=0.15), "swing", "block", at_predecessor=(0, 0, 0.3)), name="screw")
    shaped(b, "crank", 82, joint=Revolute("z"))
    shaped(b, "slab", 83, joint=Planar("z"))
    slot = Composite(Prismatic("x"), Revolute("z"))
    b.loop(Closure(slot, "crank", "slab", at_predecessor=(0.1, 0.2, 0), at_successor=(0, 0.1, 0)), name="slot")
    return b


def lifted(turn: Any) -> Any:
    """A cam: how high its follower is."""
    return 0.2 + 0.05 * fb.sin(2.0 * turn) + 0.03 * fb.cos(turn)


def steered(cart: Any, bend: Any) -> Any:
    """A turn and a slide from a screw-like joint and a hinge."""
    turn, place = cart
    return [fb.atan2(fb.sin(turn) + 0.3 * bend, 1.5 + fb.cos(bend)), 0.2 * fb.sqrt(1.0 + place * place + bend * bend)]


def rocked(height: Any) -> Any:
    return 3.0 * height * height


@_mechanism
def explicit() -> Builder:
    """Coordinates as functions of others: of several, of one that is a function itself, of one that carries nothing."""
    b = Builder("explicit")
    shaped(b, "base", 90, joint=Free())
    shaped(b, "cam", 91, parent="base", joint=Revolute("y"))
    shaped(b, "follower", 92, parent="base", joint=Prismatic("z"))
    shaped(b, "rocker", 93, parent="follower", joint=Revolute("x"), position=(0.1, 0, 0.1))
    b.loop(Parametric(rocked, ["follower"], ["rocker"]), name="rocks")
    b.loop(Parametric(lifted, ["cam"], ["follower"]), name="lifts")
    shaped(b, "cart", 94, parent="rocker", joint=Cylindrical("x"))
    b.body("bend", parent="rocker", joint=Revolute("z"))
    shaped(b, "wheel", 95, parent="cart", joint=Cylindrical("y"), position=(0, 0, 0.2))
    b.loop(Parametric(steered, ["cart", "bend"], ["wheel"]), name="steers")
    shaped(b, "tool", 96, parent="wheel", joint=Revolute("z"))
    return b


def _tilted(height: Any) -> Any:
    """A quaternion: turned about an axis that turns too."""
    c, s = fb.cos(height), fb.sin(height)
    return [c, s * fb.cos(2.0 * height), 0.6 * s * fb.sin(2.0 * height), 0.8 * s * fb.sin(2.0 * height)]


@_mechanism
def guided() -> Builder:
    """A ball joint as a function of a slide: more coordinates than velocities, so it is closed by iteration."""
    b = Builder("guided")
    shaped(b, "slide", 97, joint=Prismatic("z"), limits=(-1.0, 1.0))
    shaped(b, "ball", 98, parent="slide", joint=Spherical())
    b.loop(Parametric(_tilted, ["slide"], ["ball"]), name="guide")
    shaped(b, "arm", 99, parent="ball", joint=Revolute("x"), position=(0, 0, 0.3))
    return b


NAMES = tuple(_MAKERS)
_MARKS = {**dict.fromkeys(_SHORT, pytest.mark.quick), "tripod": pytest.mark.slow}  # it takes as long as all others


def marked(name: str) -> Any:
    """A name as a parameter of heavy tests: the largest mechanism is left to slow runs."""
    return pytest.param(name, marks=_MARKS[name]) if name in _MARKS else name


EACH = pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.quick) if name in _SHORT else name for name in NAMES]
)
EACH_BUT_LARGEST = pytest.mark.parametrize("name", [marked(name) for name in NAMES])


@cache
def mechanism(name: str) -> System:
    """One of the fixed set."""
    return fb.System(_MAKERS[name]().mechanism())  # without the warnings of `build`: some are drawn in line


@dataclass(frozen=True)
class State:
    """A batch of states with closed loops, and what else the methods take."""

    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    tau: np.ndarray
    f_ext: np.ndarray


def hold(robot: System, q: np.ndarray) -> np.ndarray:
    """How well the loops determine the dependent velocities at q: smallest singular value of K_d over largest of K."""
    found, at = np.ones(q.shape[:-1]), 0
    for group in robot.model.cluster_tree.clusters:
        tie, end = group.embedding, at + group.embedding.nq
        if not group.is_free and not tie.explicit and tie.dependent:
            K = tie.slopes(q[..., at:end])[..., tie.rows, :]
            least = np.linalg.svd(K[..., tie.dependent], compute_uv=False)[..., -1]
            found = np.minimum(found, least / np.linalg.norm(K, ord=2, axis=(-2, -1)))
        at = end
    return found


@cache
def state(name: str, seed: int = 0, speed: float = 1.0, n: int = BATCH) -> State:
    """Random states away from toggle positions; no joint is much faster than `speed`."""
    robot = mechanism(name)
    rng = np.random.default_rng(seed)
    q = robot.random(rng, 8 * n)
    q = q[np.argsort(-hold(robot, q), kind="stable")[:n]]
    v, a, tau = (rng.normal(size=(n, robot.nv)) for _ in range(3))
    v = v / np.maximum(1.0, np.abs(robot.expand_velocity(q, v)).max(axis=-1, keepdims=True))
    f_ext = rng.normal(size=(n, len(robot.names.bodies), 6))
    return State(q, speed * v, a, 10.0 * tau, f_ext)


def spanning(robot: System) -> System:
    """The spanning tree, one for each robot."""
    return baselines.spanning_tree(robot)


def apply(M: np.ndarray, x: np.ndarray) -> np.ndarray:
    """M x, sample by sample."""
    return (M @ x[..., None])[..., 0]


def transposed(M: np.ndarray) -> np.ndarray:
    return np.swapaxes(M, -1, -2)


def error(actual: np.ndarray, expected: np.ndarray, size: np.ndarray | float | None = None) -> float:
    """Largest difference over the batch (first axis), in units of the largest entry of each sample (or of `size`)."""
    actual, expected = np.asarray(actual), np.asarray(expected)
    assert actual.shape == expected.shape
    assert np.all(np.isfinite(actual))
    axes = tuple(range(1, actual.ndim))
    largest = np.abs(expected).max(axis=axes, initial=0.0) if size is None else np.asarray(size)
    difference = np.abs(actual - expected).max(axis=axes, initial=0.0)
    return float((difference / np.where(largest > 0.0, largest, 1.0)).max())


def near(actual: np.ndarray, expected: np.ndarray, tol: float, size: np.ndarray | float | None = None) -> None:
    """Equal up to tol times the largest entry of each sample, or times `size`."""
    found = error(actual, expected, size)
    assert found <= tol, f"off by {found:.3g} of the largest entry, allowed are {tol:.3g}"


# Central difference of order ten: weights of f(±h), f(±2h), ...
STENCIL = (5 / 6, -5 / 21, 5 / 84, -5 / 504, 1 / 1260)


def slope(function: Callable[[float], np.ndarray], h: float = 0.003) -> np.ndarray:
    """df/dt at t = 0."""
    return sum(w * (function(k * h) - function(-k * h)) / h for k, w in enumerate(STENCIL, 1))  # type: ignore[return-value]
