"""What help(), inspect and editors see of the functions of a robot."""

from __future__ import annotations

import inspect
import pydoc

import pytest

import fourbar as fb
from fourbar.functions.methods import METHODS

ROBOT = fb.robots.double_pendulum()


@pytest.mark.quick
@pytest.mark.parametrize("name", METHODS)
def test_every_method_says_what_it_takes(name: str) -> None:
    method, f = METHODS[name], getattr(ROBOT, name)
    parameters = inspect.signature(f).parameters
    needed = [p.name for p in parameters.values() if p.default is p.empty]
    without_default = [name for name, default in method.defaults.items() if default is None]
    assert needed == [*without_default, *(x.name for x in method.options if x.required)]
    assert list(parameters) == [*method.arguments, *method.static, *method.optional, "out", "threads"]
    assert all(parameters[x.name].default == x.default for x in method.options if not x.required)
    assert f.__name__ == name
    assert inspect.getdoc(f) == inspect.cleandoc(method.doc)


@pytest.mark.quick
def test_help_shows_the_text_of_a_method() -> None:
    for f in (ROBOT.forward_dynamics, ROBOT.pose):
        shown = pydoc.plain(pydoc.render_doc(f))
        assert inspect.getdoc(f).splitlines()[0] in shown


def test_a_misspelt_argument_is_seen_by_inspection() -> None:
    signature = inspect.signature(ROBOT.inverse_dynamics)
    signature.bind([0.0, 0.0], [0.0, 0.0], a=[0.0, 0.0], out=None)
    with pytest.raises(TypeError, match="missing a required argument: 'a'"):
        signature.bind([0.0, 0.0], [0.0, 0.0], acceleration=[0.0, 0.0])


def test_arguments_by_place_are_in_the_order_of_the_signature() -> None:
    given = {name: [0.1, 0.2] for name in ("q", "v", "a", "tau")}
    bound = inspect.signature(ROBOT.hybrid_dynamics).bind(*given.values(), ["elbow"])
    assert bound.arguments == {**given, "prescribed": ["elbow"]}
    placed, named = ROBOT.hybrid_dynamics(*bound.args), ROBOT.hybrid_dynamics(**bound.arguments)
    assert [x.tolist() for x in placed] == [x.tolist() for x in named]


def test_functions_of_constrained_and_actuated_robots_say_what_they_take() -> None:
    held = ROBOT.constrained(fb.constraints.Contact("tip", "touch"), actuated=["shoulder", "elbow"])
    for f in (held.forward_dynamics, held.inverse_dynamics, held.impulse, held.hybrid_dynamics, held.jacobian):
        assert "Parameters\n" in inspect.getdoc(f) and "Returns\n" in inspect.getdoc(f)
        assert next(iter(inspect.signature(f).parameters)) == "q"
    driven = ROBOT.actuated(["shoulder", "elbow"])
    assert "n_actuated" in inspect.getdoc(driven.forward_dynamics)
    assert list(inspect.signature(driven.forward_dynamics).parameters)[:3] == ["q", "v", "tau"]
