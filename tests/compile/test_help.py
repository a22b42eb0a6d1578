"""What help(), inspect and editors see of the functions of a robot."""

from __future__ import annotations

import inspect
import pydoc

import pytest

import fourbar as fb
from fourbar.functions.arguments import F_EXT, Q, complete_docstring, declared_entries, entries
from fourbar.functions.methods import METHODS
from fourbar.functions.registry import Method, Option
from fourbar.system.constrained import actuated, drive_recordings

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
def test_docstrings_describe_only_what_differs_from_the_declarations() -> None:
    registered = [*METHODS.items(), *drive_recordings.METHODS.items(), *actuated.METHODS.items()]
    repeated, unknown = [], []
    for name, method in registered:
        known = {entry.name: (entry.type, " ".join(entry.text.split())) for entry in declared_entries(method)}
        for entry in entries(method.text, "Parameters"):
            if known.get(entry.name) == (entry.type, " ".join(entry.text.split())):
                repeated.append(f"{name}: {entry.name}")
            if entry.name not in known and name != "hybrid_dynamics":  # `hybrid.METHOD` has its options
                unknown.append(f"{name}: {entry.name}")
    assert (repeated, unknown) == ([], [])


@pytest.mark.quick
def test_a_docstring_gets_the_entries_of_what_its_method_takes() -> None:
    def two(c: object) -> None:
        """Two results.

        Parameters
        ----------
        side : str
            Left or right.

        Returns
        -------
        a : ndarray
            One.
        """

    method = Method(
        two, (Q,), ("a", "b"), (F_EXT,), (Option("side", "left"), Option("n", 2, type="int", text="Count."))
    )
    doc = complete_docstring(method._replace(text=two.__doc__ or ""))
    listed = {entry.name: entry for entry in entries(doc, "Parameters")}
    assert [*listed] == ["q", "side", "n", "f_ext", "out", "threads"]
    assert listed["side"].text == "Left or right." and listed["n"].type == "int, default 2"
    assert listed["f_ext"].type.endswith(", or dict, optional") and listed["out"].type == "tuple of ndarray, optional"
    assert max(map(len, doc.splitlines())) <= 112 and '``{"hand": wrench}``' in doc
    assert doc.startswith("Two results.\n\nParameters\n") and doc.endswith("Returns\n-------\na : ndarray\n    One.")
    assert complete_docstring(method) == ""


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
