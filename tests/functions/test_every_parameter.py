"""Every parameter of every joint type, by name: in derivatives, in varying robots and in rollouts, each against robots
that were built with other numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pytest

import fourbar as fb
from fourbar.errors import ArgumentError
from fourbar.functions.methods import METHODS
from fourbar.joints import Composite, CustomJoint, Helical, Joint, Prismatic, Revolute, Universal
from fourbar.joints.euclidean import FlatJoint
from fourbar.joints.examples import REGISTRY
from fourbar.joints.mirror import Mirror
from fourbar.spatial.transform import Transform
from fourbar.system.constrained.constrained_model import compute
from fourbar.tree.parameters import Parameter, parameters
from tests.loops import looped

from .rebuilt import rebuilt, slope

_ROUNDED = 1e-12


@dataclass(frozen=True)
class Rolling:
    """A disk that rolls along x, and rises."""

    radius: float = 0.3
    slope: tuple[float, float] = (0.2, 0.1)
    power: int = 2

    def __call__(self, q: Any) -> Any:
        c, s = np.cos(q[0]), np.sin(q[0])
        height = self.slope[0] * q[0] + self.slope[1] * q[0] ** self.power
        return [[c, 0, s], [0, 1, 0], [-s, 0, c]], [self.radius * q[0], 0.0, height]


@dataclass(frozen=True)
class Spiral(FlatJoint):
    """A joint type as users write one: a turn about z that moves outwards."""

    growth: float = 0.2

    nq = nv = 1
    v_names = ("",)

    def placement(self, q: Any) -> Transform:
        return Revolute().placement(q).then(Transform((), fb.spatial.Vec((self.growth * q[0], 0.0, 0.0))))

    def subspace(self, q: Any) -> Any:
        six = fb.spatial.Vec((0.0, 0.0, 1.0, self.growth, self.growth * q[0], 0.0))
        return fb.spatial.Columns((six,))

    def bias(self, q: Any, v: Any) -> Any:
        return fb.spatial.Twist.of((0.0, 0.0, 0.0, 0.0, self.growth * v[0] * v[0], 0.0))


@dataclass(frozen=True)
class Unsuited(Prismatic):
    """One whose velocity is scaled by a number."""

    gear: float = 2.0

    def _about_z(self) -> Joint:
        return Unsuited(gear=self.gear)

    def integrate(self, q: Any, v: Any) -> Any:
        return fb.spatial.Vec((q[0] + self.gear * v[0],))


_AT = fb.spatial.exp(fb.spatial.Twist.of((0.3, -0.2, 0.5, 0.1, 0.2, -0.3)))
JOINTS = {f"{k}-{type(joint).__name__}": joint for k, joint in enumerate(REGISTRY)} | {
    "rolling": CustomJoint(Rolling(), nq=1),
    "mirrored": CustomJoint(Rolling(), nq=1).mirrored(Mirror("y")).joint,
    "rolling_in_series": Composite(Helical("y", pitch=0.2), CustomJoint(Rolling(), nq=1)),
    "spiral": Spiral(),
    "placed_in_series": Composite(
        _AT, Prismatic("x"), _AT, _AT, Composite(Revolute((0.0, 0.6, 0.8)), _AT), Universal("y", "z"), _AT
    ),
}
_SHORT = (
    "rolling",
    "rolling_in_series",
    "placed_in_series",
    "spiral",
    *(k for k, x in JOINTS.items() if type(x) is Helical and x.axis[2] < 1),
)


@cache
def robot(case: str) -> fb.System:
    """A hinge, the joint with all that a joint may have, and another hinge."""
    joint = JOINTS[case]
    b = fb.Builder("tested", gravity=(0.3, -0.2, -9.7))
    looped.shaped(b, "arm", 1, joint=Revolute((0.6, 0.0, 0.8)), position=(0.1, 0.2, 0.3))
    rng = np.random.default_rng(2)
    passive: dict[str, Any] = {}
    if joint.nv:
        given = ("armature", "damping", "stiffness", "friction")
        passive = {name: rng.uniform(0.1, 0.3, joint.nv) for name in given}
    passive["gravity_compensation"] = 0.3
    looped.shaped(b, "tested", 2, parent="arm", joint=joint, position=(0.2, 0.1, 0.0), **passive)
    looped.shaped(b, "hand", 3, parent="tested", joint=Revolute("x"), position=(0.1, 0.0, 0.2))
    b.frame("tip", "hand", position=(0.1, 0.2, 0.3))
    return b.build()


def own(made: fb.System) -> list[Parameter]:
    """The parameters of the joint under test and of its body, of the frame, and gravity."""
    names = ("tested", "tip", "")
    return [x for x in parameters(made.mechanism) if x.name.rpartition(".")[0] in names]


def state(made: fb.System) -> dict[str, np.ndarray]:
    v, a, tau = np.random.default_rng(7).normal(size=(3, made.nv))
    return {"q": made.random(4), "v": v, "a": a, "tau": tau}


def numerically(made: fb.System, function: str, given: dict[str, np.ndarray], **static: Any) -> np.ndarray:
    """The results of a function one after the other, computed by Python."""
    method = METHODS[function]
    values = {name: given[name] for name in method.arguments}
    options = method.read_options(made.model.cluster_tree, **static)
    return np.concatenate([np.ravel(x) for x in compute(made.model, method, options, values)])


FUNCTIONS: dict[str, dict[str, Any]] = {
    "inverse_dynamics": {},
    "forward_dynamics": {},
    "passive_forces": {},
    "coriolis_matrix": {},
    "pose": {"frame": "tip"},
}


def random_changes(which: list[Parameter], size: float, seed: int = 3) -> dict[str, np.ndarray]:
    """A change of each parameter; of an inertia one that leaves it that of some matter."""
    rng = np.random.default_rng(seed)
    found = {x.name: size * rng.normal(size=x.shape) for x in which}
    return {x.name: 0.01 * (found[x.name] + found[x.name].T) if x.is_symmetric else found[x.name] for x in which}


@pytest.mark.default_cases(*_SHORT)
@pytest.mark.parametrize("case", JOINTS)
def test_derivatives(case: str) -> None:
    """Along a change of each parameter, against differences of robots that Python computes."""
    made, which = robot(case), own(robot(case))
    given, names = state(made), [x.name for x in which]
    found = {}
    for function, static in FUNCTIONS.items():
        args = {name: given[name] for name in METHODS[function].arguments}
        found[function] = getattr(made, function).jacobian(**args, **static, parameters=names).parameters
    for x in which:
        change = random_changes([x], 1.0)

        def at(h: float, change: Any = change) -> np.ndarray:
            other = rebuilt(made, change, h)
            parts = [numerically(other, function, given, **static) for function, static in FUNCTIONS.items()]
            return np.concatenate(parts)

        blocks = [np.reshape(found[function][x.name], (-1, x.size)) for function in FUNCTIONS]
        expected = slope(at)
        along = np.concatenate(blocks) @ np.ravel(change[x.name])
        assert np.abs(along - expected).max() <= 1e-6 * max(1.0, np.abs(expected).max()), x.name
        assert np.any(expected) or x.name.endswith("friction"), x.name


@pytest.mark.default_cases(*_SHORT)
@pytest.mark.parametrize("case", JOINTS)
def test_varying(case: str) -> None:
    """All parameters at once, against robots that were built with them and that Python computes."""
    made, which = robot(case), own(robot(case))
    varied, given = made.varying(*(x.name for x in which)), state(made)
    changes = [random_changes(which, 0.03, seed) for seed in (3, 4)]
    values = [np.stack([varied.nominal[x.name] + change[x.name] for change in changes]) for x in which]
    others = [rebuilt(made, change, 1.0) for change in changes]
    for function, static in FUNCTIONS.items():
        args = [given[name] for name in METHODS[function].arguments]
        found = getattr(varied, function)(*args, *values, **static)
        for k, other in enumerate(others):
            expected = numerically(other, function, given, **static)
            assert np.abs(np.ravel(found[k]) - expected).max() <= _ROUNDED * np.abs(expected).max(initial=1.0), function


@pytest.mark.default_cases(*_SHORT[:2])
@pytest.mark.parametrize("case", [k for k, x in JOINTS.items() if x.nv])
def test_rollouts(case: str) -> None:
    """All parameters at once, against rollouts of robots that were built with them."""
    joints = {"tested": {"friction": 0.0}}
    made = robot(case).with_parameters(joints=joints)
    which = own(made)
    q, v = made.random(4), 0.3 * state(made)["v"]
    changes = [random_changes(which, 0.03, seed) for seed in (3, 4)]
    nominal = made.varying(*(x.name for x in which)).nominal
    numbers = {x.name: np.stack([nominal[x.name] + change[x.name] for change in changes]) for x in which}
    run = fb.rollout(made, q, v, dt=1e-3, steps=20, numbers=numbers)
    for k, change in enumerate(changes):
        other = fb.rollout(rebuilt(made, change, 1.0), q, v, dt=1e-3, steps=20)
        assert np.abs(run.q[:, k] - other.q).max() < 1e-12 and np.abs(run.v[:, k] - other.v).max() < 1e-10


@pytest.mark.parametrize(
    ("joint", "name", "words"),
    [
        (CustomJoint(Rolling(), nq=1), "power", "power = 2 is a whole number"),
        (CustomJoint(Rolling(), nq=1), "home", "do not depend on home"),
        (fb.joints.SphericalEuler("zyx"), "sequence", "is not made of numbers"),
        (fb.joints.Universal("x", "y"), "axis2", "an axis of Universal is a direction.*'tested.placement'"),
        (Unsuited("x"), "gear", "what a velocity of Unsuited means depends on it"),
        (fb.joints.Fixed(), "damping", "it does not move"),
    ],
)  # fmt: skip
@pytest.mark.quick
def test_the_reason_is_said(joint: Joint, name: str, words: str) -> None:
    """The same in all places that take names."""
    b = fb.Builder("refused")
    b.body("arm", joint=Revolute("y"), mass=1.0, inertia=(0.1, 0.1, 0.1))
    b.body("tested", parent="arm", joint=joint, mass=1.0, inertia=(0.1, 0.1, 0.1))
    made, called = b.build(), f"tested.{name}"
    q, v = made.random(0), np.zeros(made.nv)
    for ask in (
        lambda: made.varying(called),
        lambda: made.mass_matrix.jacobian(q, parameters=[called]),
        lambda: made.potential_energy.vjp(q, 1.0, parameters=[called]),
        lambda: fb.rollout(made, q, v, dt=1e-3, steps=2, numbers={called: 1.0}),
        lambda: fb.Scene(made).rollout(q, v, dt=1e-3, steps=2, numbers={called: 1.0}),
    ):
        with pytest.raises(ArgumentError, match=f"{called}.*cannot vary: .*{words}"):
            ask()
