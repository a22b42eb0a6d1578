"""Arguments and options are declared once: by objects, in the registration of the methods that have them."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fourbar as fb
from fourbar.functions.arguments import COORDINATES, ConfigurationArgument, DeclaredArgument, OpenCoordinates, Q, V
from fourbar.functions.context import Context
from fourbar.functions.function import make_method
from fourbar.functions.methods import METHODS
from fourbar.functions.model import Model
from fourbar.functions.registry import Method, Option, Outputs

from .support import pendulum, robot

SOURCE = Path(fb.__file__).resolve().parent


@pytest.mark.quick
def test_one_name_is_one_argument() -> None:
    declared: dict[str, set[DeclaredArgument]] = {}
    for method in METHODS.values():
        for x in (*method.inputs, *method.extra):
            declared.setdefault(x.name, set()).add(x)
    several = {name: arguments for name, arguments in declared.items() if len(arguments) > 1}
    assert several == {"q": {Q, COORDINATES}}, "loops may be open only in coordinates of which residuals are taken"
    configurations = {
        name for name, (x, *_) in declared.items() if isinstance(x, ConfigurationArgument | OpenCoordinates)
    }
    assert configurations == {"q", "q0", "q1"}


@pytest.mark.quick
@pytest.mark.parametrize("name", METHODS)
def test_what_reads_options_takes_those_that_are_declared(name: str) -> None:
    method = METHODS[name]
    _, *read = inspect.signature(method.read).parameters
    assert tuple(read) == method.static
    taken = inspect.signature(method.record).parameters
    required = [x.name for x in method.options if x.required]
    assert required == list(method.static[: len(required)]), "those that have to be given come first"
    assert len(taken) > 1 or not method.options


def listed_configurations(path: Path) -> list[str]:
    """Literals with the names of several configurations."""
    literals = (n for n in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(n, ast.Tuple | ast.List))
    values = [[x.value for x in n.elts if isinstance(x, ast.Constant)] for n in literals]
    return [f"{path.name}: {own}" for own in values if len({"q", "q0", "q1"} & set(map(str, own))) > 1]


def test_nobody_lists_the_names_of_configurations() -> None:
    found = [row for path in sorted(SOURCE.rglob("*.py")) for row in listed_configurations(path)]
    assert found == []  # each declares itself


class PerBody(DeclaredArgument):
    """A number for each body."""

    def shape(self, model: Model) -> tuple[int, ...]:
        return (len(model.mechanism.bodies),)


def _sum(weight: Any, v: Any, often: float) -> Any:
    return sum((often * x * v[0] for x in weight), 0.0)


def _weighed(c: Context, often: float) -> Outputs:
    return [("total", (), [c.recorder.call(_sum, c.given["weight"], c.given["v"], often)])]


def _read(_: Any, often: Any) -> dict[str, Any]:
    return {"often": float(often)}


def test_an_argument_and_an_option_of_your_own() -> None:
    method = Method(_weighed, (Q, V, PerBody("weight")), ("total",), options=(Option("often", 2),), read=_read)
    model = pendulum().model
    assert method.read_options(model.cluster_tree) == {"often": 2.0}
    assert method.read_options(model.cluster_tree, often=3) == {"often": 3.0}
    f = make_method(model, "weighed", method, method.read_options)
    q, v, weight = np.zeros(2), np.array([3.0, 5.0]), np.array([1.0, 2.0])
    assert f(q, v, weight) == 18.0
    assert f.jacobian(q, v, weight).weight.tolist() == [6.0, 6.0]
    assert f.jacobian(q, v, weight).q.shape == (2,)


@pytest.mark.parametrize("listed", [["slider"], ("slider",), {"slider"}, {"slider": 1.0}, iter(["slider"])])
def test_names_of_prescribed_joints_in_whatever_holds_them(listed: Any) -> None:
    f = robot().hybrid_dynamics
    assert f.specialise(prescribed=listed) is f.specialise(prescribed=["slider"])


def test_options_that_have_an_order_come_as_lists() -> None:
    with pytest.raises(fb.ArgumentError, match=r"frames=.*expected a name, a number or a list"):
        robot().osim.specialise(frames={"tip"})
