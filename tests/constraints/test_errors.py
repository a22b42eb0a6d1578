"""What is refused, and how it is said."""

from __future__ import annotations

from dataclasses import FrozenInstanceError
from typing import Any

import numpy as np
import pytest

import fourbar as fb
from fourbar import ArgumentError, AssemblyError, ModelError, UnknownNameError
from fourbar.constraints import Condition, Contact, Prescribed, Rows
from fourbar.constraints.condition import MovingView
from fourbar.joints import Composite, Prismatic, Revolute, Spherical
from fourbar.loops import Closure, Constraint, Gear

from .held import held, state, walker

pytestmark = pytest.mark.drawn_in_line

_SLOT = Composite(Prismatic("x"), Revolute("z"))


def _row(*values: Any) -> Any:
    return lambda q: list(values)


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        (Contact("left_soul"), "no frame or body 'left_soul'; did you mean 'left_sole'"),
        (Prescribed(["armm"]), "no moving joint 'armm'; did you mean 'arm'"),
        (Gear("arm", "slid", 2.0), "no moving joint 'slid'"),
        (Closure(Spherical(), "arm", "tip"), "no body 'tip'"),
    ],
)
def test_unknown_names(condition: Any, message: str) -> None:
    with pytest.raises(UnknownNameError, match=message):
        walker().constrained(condition)


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ("left_sole", "expected a constraint.*such as Contact"),
        (
            Contact("left_sole", to="left_foot"),
            "Contact of 'left_sole', 'left_foot'.*same rigid body, so that it constrains nothing",
        ),
        (Contact("slope", to="world"), "same rigid body"),
        (Closure(_SLOT, "arm", "cart"), "Composite needs its own coordinates.*Builder.loop"),
        (Rows(_row(1.0), ["cart"]), "rows over 'cart' have 3 entries"),
        (Rows(_row(), ["arm"]), "must return rows of numbers"),
        (Rows(lambda q: 3.0, ["arm"]), "must return rows of numbers"),
        (Rows(_row(np.nan), ["arm"]), "rows over 'arm' are made of finite numbers, the function returned"),
        (Rows(_row("a"), ["arm"]), "must return rows of numbers|are made of finite numbers"),
        (Rows(_row(0.0), ["arm"]), "restrict nothing"),
    ],
)
def test_constraints_that_make_no_sense(condition: Any, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        _ = walker().constrained(condition).forward_dynamics


def test_no_constraint() -> None:
    with pytest.raises(ModelError, match="needs a constraint"):
        walker().constrained()


def test_kinds() -> None:
    with pytest.raises(ModelError, match="kind must be one of weld, line, point, plane, touch, got 'glue'"):
        Contact("foot", "glue")
    with pytest.raises(ModelError, match=r"kind must be one of weld.*got \['weld'\]"):
        Contact("foot", ["weld"])  # type: ignore[arg-type]
    with pytest.raises(ModelError, match="between frames or bodies by name, got 3"):
        Contact("foot", to=3)  # type: ignore[arg-type]
    with pytest.raises(ModelError, match="a position is three finite numbers"):
        Contact("foot", at_frame=(0, np.nan, 0))
    with pytest.raises(ModelError, match="axes must be 'to' or 'frame'"):
        Contact("foot", axes="world")
    with pytest.raises(ModelError, match="'foot' twice"):
        Contact("foot", to="foot")
    with pytest.raises(ModelError, match="expected a list of joints"):
        Prescribed("knee")
    with pytest.raises(ModelError, match="hashable function"):
        Rows(3.0, ["knee"])  # type: ignore[arg-type]
    with pytest.raises(ModelError, match="is called with the coordinates of 2 joints"):
        Rows(_never, ["hip", "knee"])


@pytest.mark.parametrize("gains", [3.0, (1.0, -2.0), (np.inf, 1.0), "fast"])
def test_gains(gains: Any) -> None:
    with pytest.raises(ArgumentError, match=r"stabilize=.*expected .stiffness, damping."):
        walker().constrained(Contact("tip"), stabilize=gains)


def test_configurations() -> None:
    c, q = held("point"), walker().neutral()
    with pytest.raises(ArgumentError, match="rank: in some samples the rows are not finite"):
        c.rank(q * np.nan)
    for wrong in (1.0, "q", q[:-1]):
        with pytest.raises(ArgumentError, match="project: q"):
            c.project(wrong)
    with pytest.raises(AssemblyError, match="gap is nan"):
        held("loops").project(q * np.nan)


@pytest.mark.parametrize("weight", ["heavy", [np.nan], [[1.0, 2.0], [2.0, 1.0]], 3.0])
def test_weights(weight: Any) -> None:
    with pytest.raises(ArgumentError, match="weight: expected a symmetric positive definite matrix or its diagonal"):
        walker().constrained(Contact("tip"), actuated=["arm"], weight=weight)


@pytest.mark.parametrize("tolerance", [0.0, -1.0, np.nan, np.inf, 10**400, "small", None])
def test_tolerances(tolerance: Any) -> None:
    with pytest.raises(ArgumentError, match=r"tolerance=.* expected a positive finite number"):
        walker().constrained(Contact("tip"), tolerance=tolerance)


def test_shapes() -> None:
    c, s = held("weld"), state("weld")
    with pytest.raises(ArgumentError, match="row_acceleration must have shape"):
        c.forward_dynamics(s.q, s.v, s.tau, row_acceleration=np.zeros(3))
    with pytest.raises(ArgumentError, match="tau must have shape"):
        c.forward_dynamics(s.q, s.v, s.tau[:, :-1])


def test_frozen() -> None:
    c = held("weld")
    with pytest.raises(AttributeError, match="frozen"):
        c.system = walker()  # type: ignore[misc]
    drives = fb.robots.five_bar().actuated(["left_crank", "right_crank"])
    with pytest.raises(AttributeError, match="frozen"):
        drives.system = walker()  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError):
        Contact("foot").kind = "line"  # type: ignore[misc]


def _never(q: Any) -> Any:
    return q * q + 1.0


def test_constraints_that_cannot_be_met() -> None:
    c = walker().constrained(Constraint(_never, ["arm"]))
    with pytest.raises(AssemblyError, match="cannot be satisfied from this configuration: the remaining gap"):
        c.project(walker().neutral())


def _vanishing(q: Any, _: Any) -> Any:
    return [[q, 0.0]]


def test_rows_that_vanish() -> None:
    """At q = 0 the row holds nothing; near it the row still does, and the forces are large."""
    b = fb.Builder("two")
    b.body("first", joint=Revolute("x"), mass=1.0, com=(0, 0, -1), inertia=(0.1, 0.1, 0.1))
    b.body("second", joint=Prismatic("x"), mass=1.0)
    robot = b.build()
    c = robot.constrained(Rows(_vanishing, ["first", "second"]))
    tau, v = np.array([0.3, 0.2]), np.zeros(2)
    q = np.array([[0.0, 0.0], [1e-17, 0.0], [1e-5, 0.0], [0.5, 0.0]])
    assert c.rank(q).tolist()[0] == 0 and c.rank(q).tolist()[3] == 1
    a, force = c.forward_dynamics(q, v, tau)
    assert np.all(np.isfinite(a)) and np.all(np.isfinite(force))
    free = robot.forward_dynamics(q, v, tau)
    assert np.array_equal(a[0], free[0]) and force[0, 0] == 0.0
    assert np.abs(a[2:, 0]).max() < 1e-12
    assert np.allclose(force[2:, 0] * q[2:, 0], robot.bias_force(q, v)[2:, 0] - tau[0], rtol=1e-12)


class _Own(Condition):
    """A condition of a user, of one joint."""

    def __init__(self, rates: Any, joints: tuple[str, ...] = ("arm",)) -> None:
        self._rates, self._joints = rates, joints

    @property
    def joints(self) -> tuple[str, ...]:
        return self._joints

    def rates(self, view: MovingView) -> Any:
        return self._rates(view)


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        (_Own(lambda view: view.v("slide")), "_Own looks at 'slide', which is not among its `joints` .'arm'.; name it"),
        (_Own(lambda view: view.q("slide")), "_Own looks at 'slide'"),
        (_Own(lambda view: [view.twist("tip").linear[0]]), "looks at 'tip', which is not among its `places` .none."),
        (_Own(lambda view: [view.pose("tip").p[0]]), "looks at 'tip', which is not among its `places`"),
        (_Own(lambda view: 3.0), "_Own.rates must return a list of finite numbers, one for each row, got 3.0"),
        (_Own(lambda view: ["a"]), "_Own.rates must return a list of finite numbers"),
        (_Own(lambda view: {1.0: 2.0}), "_Own.rates must return a list of finite numbers"),
        (_Own(lambda view: [np.nan]), "_Own.rates must return a list of finite numbers"),
        (_Own(lambda view: [view.v("arm")[0] ** 2]), "_Own.rates must be linear in the velocities"),
        (_Own(lambda view: [fb.sin(view.v("arm")[0])]), "_Own.rates must be linear in the velocities"),
        (_Own(lambda view: [fb.maximum(view.v("arm")[0], 0.0)]), "_Own.rates must be linear in the velocities"),
        (_Own(lambda view: [abs(view.v("arm")[0])]), "_Own.rates must be linear in the velocities"),
        (_Own(lambda view: [fb.sqrt(view.v("arm")[0])]), "_Own.rates must be linear in the velocities"),
        (_Own(lambda view: [fb.maximum(view.v("arm")[0] - 0.5, 0.0)]), "_Own.rates must be linear in the velocities"),
        (
            _Own(lambda view: [fb.maximum(*view.v("arm"), *view.v("slide"))], ("arm", "slide")),
            "_Own.rates must be linear in the velocities",
        ),
        (
            _Own(lambda view: [view.v("arm")[0] - 0.5]),
            r"so zero where nothing moves; there they are \[-0.5\].*row_acceleration",
        ),
        (_Own(lambda view: [view.v("arm")[0] + view.q("arm")[0]]), "so zero where nothing moves; there they are"),
        (_Own(lambda view: [1e-3]), "so zero where nothing moves"),
        (Rows(lambda q: {1.0: 2.0}, ["arm"]), "must return rows of numbers"),
        ([Contact("tip")], "takes constraints as separate arguments.*constrained.*constraints"),
    ],
)
def test_conditions_of_a_user(condition: Any, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        walker().constrained(condition)


def test_a_condition_of_a_user_that_is_linear() -> None:
    c = walker().constrained(_Own(lambda view: [view.v("arm")[0] * fb.cos(view.q("arm")[0]), 0.0]))
    q = walker().random(0)
    place = walker().names.velocities.index("arm")
    angle = q[walker().names.coordinates.index("arm")]
    assert np.allclose(c.jacobian(q)[0], np.cos(angle) * np.eye(walker().nv)[place]) and not c.jacobian(q)[1].any()


@pytest.mark.parametrize("weight", [[], [[]], [np.inf], [[np.inf, 0.0], [0.0, 1.0]], [[1e-12, 0.0], [1e-10, 1.0]]])
def test_weights_that_are_none(weight: Any) -> None:
    with pytest.raises(ArgumentError, match="weight: expected a symmetric positive definite matrix or its diagonal"):
        walker().constrained(Contact("tip"), actuated=["arm"], weight=weight)
    with pytest.raises(ArgumentError, match="weight: expected a symmetric positive definite matrix or its diagonal"):
        fb.robots.five_bar().actuated(["left_crank", "right_crank"], weight=weight)


def test_axes_of_a_contact() -> None:
    for axes in (np.eye(3), ["to"], 3):
        with pytest.raises(ModelError, match="contact of 'tip': axes must be 'to' or 'frame', got"):
            Contact("tip", axes=axes)  # type: ignore[arg-type]


def test_weights_that_are_symmetric_but_for_rounding() -> None:
    """Entries that cancel, or are small beside their diagonal, are not those across to the last digit."""
    robot, rng = fb.robots.five_bar(), np.random.default_rng(0)
    q, v = robot.random(0), rng.normal(size=robot.nv)
    drives = ["left_crank", "right_crank", "left_forearm"]
    for W in (np.diag([1.0, 2.0, 3.0]), np.diag([1.0, 1e-12, 3.0])):
        size = np.sqrt(np.outer(np.diag(W), np.diag(W)))
        rough = W + 1e-16 * size * rng.normal(size=(3, 3))
        assert not np.array_equal(rough, rough.T)
        found, exact = (robot.actuated(drives, weight=w).inverse_dynamics(q, v, v) for w in (rough, W))
        assert np.allclose(found, exact, rtol=1e-9)


def test_options_of_drives_without_drives() -> None:
    for options, name in (({"least": "constraint"}, "least"), ({"weight": np.eye(2)}, "weight")):
        with pytest.raises(ArgumentError, match=f"{name}= applies to the forces of actuated joints: name these too"):
            walker().constrained(Contact("tip"), **options)


def test_names_of_functions_in_messages() -> None:
    with pytest.raises(ArgumentError, match="rank: q must have shape"):
        held("point").rank(walker().neutral()[:-1])


@pytest.mark.parametrize("prescribed", [3, 3.0, True])
def test_prescribed_that_is_no_list(prescribed: Any) -> None:
    s = state("weld")
    for function in (held("weld").hybrid_dynamics, walker().hybrid_dynamics):
        with pytest.raises(ArgumentError, match=rf"prescribed={prescribed!r}: expected a list of joint names"):
            function(s.q, s.v, s.tau, s.tau, prescribed=prescribed)


@pytest.mark.parametrize(
    "function",
    [lambda a, b: fb.sqrt(a) - b, lambda a, b: fb.sqrt(a * a) - b, lambda a, b: 0.25 / a - b],
    ids=["sqrt(a) - b", "sqrt(a²) - b", "0.25 / a - b"],
)
def test_functions_without_value_or_derivative_somewhere(function: Any) -> None:
    """Such places are met while rows are chosen, and where the robot is built: words for them, no raw errors."""
    b = fb.Builder("wheels")
    for name in "ab":
        b.body(name, joint=Revolute("z"), mass=1.0, com=(0.1, 0.0, 0.0), inertia=(0.1, 0.1, 0.1))
    robot = b.build().constrained(fb.loops.Constraint(function, ["a", "b"]))
    q = np.array([0.5, function(0.5, 0.0)])
    a, force = robot.forward_dynamics(q, [0.0, 0.0], [1.0, 0.0])
    A = robot.jacobian(q)
    assert np.allclose(A @ a, 0.0) and np.allclose(robot.system.mass_matrix(q) @ a, [1.0, 0.0] + A.T @ force)
    with pytest.raises(fb.SingularError, match="no value or no derivative"):
        robot.forward_dynamics([0.0, 0.0], [0.0, 0.0], [1.0, 0.0])
    with pytest.warns(RuntimeWarning, match="no value or no derivative"):
        both, _ = robot.forward_dynamics([q, [0.0, 0.0]], [0.0, 0.0], [1.0, 0.0])
    assert np.allclose(both[0], a) and np.isnan(both[1]).all()
