"""Derivatives along numbers where rows of constraints depend on each other: as long as they go on doing so."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fourbar as fb
from fourbar.errors import SingularError
from fourbar.joints import Fixed, Revolute
from fourbar.loops import Closure
from tests.constraints.test_inverse import five_bar
from tests.constraints.test_inverse import states as hinge_states

from .rebuilt import again, slope
from .test_constraint_numbers import together
from .test_dynamics import near

pytestmark = [pytest.mark.drawn_in_line, pytest.mark.usefixtures("interpreted_programs")]


_INPLANE, _TILT = np.array([0.0, 0, 0.4, 1.0, -0.5, 0]), np.array([1.0, 0, 0, 0, 0, 0])


def _plane() -> tuple[Any, dict[str, np.ndarray]]:
    """Five hinges in a plane, closed by a weld: three of its rows say nothing, as long as all stays in the plane."""
    system = five_bar(False)
    ground = Closure(Fixed(), "world", "right", at_predecessor=(0.15, 0, 0))
    c = system.constrained(ground, actuated=["left", "tip", "right"], names=["ground"])
    q, v, a = hinge_states()
    return c, {"q": q, "v": v, "a": a, "tau": np.random.default_rng(2).normal(size=v.shape)}


@pytest.mark.parametrize("function", [pytest.param("forward_dynamics", marks=pytest.mark.slow), "inverse_dynamics"])
def test_rows_that_go_on_to_depend_on_each_other(function: str) -> None:
    """However the weld is turned; a hinge has to stay in the plane."""
    c, given = _plane()
    f = getattr(c, function)
    args = {k: given[k] for k in ("q", "v", "tau" if function == "forward_dynamics" else "a")}
    tilt = _TILT if function == "forward_dynamics" else 0 * _TILT  # where other accelerations would be allowed
    rates = {"ground.at_predecessor": _INPLANE + tilt, "left_elbow.placement": _INPLANE}
    found = f.jvp(args, parameters=rates)

    def at(h: float) -> np.ndarray:
        return together(getattr(again(c, rates, h), function).function(**args)[:-1])

    near(together(found), slope(at), 1e-6)
    assert np.abs(found[1]).max() > 1e-2
    weights = tuple(np.ones_like(x) for x in found)
    with pytest.warns(RuntimeWarning, match=r"would become independent if 'left_elbow.placement' changed"):
        gradient = f.vjp(args, weights, parameters=list(rates)).parameters
    by_place, by_ground = gradient["left_elbow.placement"], gradient["ground.at_predecessor"]
    assert np.all(np.isnan(by_place[:, :2])) and np.all(np.isfinite(by_place[:, 2:])) and np.all(np.isfinite(by_ground))
    total = by_place[:, 2:] @ _INPLANE[2:] + by_ground @ rates["ground.at_predecessor"]
    assert np.allclose(total, together(found).sum(axis=1), rtol=1e-9)
    with pytest.warns(RuntimeWarning, match="would become independent"):
        J = f.jacobian(**args, parameters=list(rates))
    for block, rate in zip(J, found, strict=True):
        own, ground = (block.parameters[k] for k in ("left_elbow.placement", "ground.at_predecessor"))
        assert np.all(np.isnan(own[..., :2])) and np.all(np.isfinite(block.q))
        near(own[..., 2:] @ _INPLANE[2:] + ground @ rates["ground.at_predecessor"], rate, 1e-9)


@pytest.mark.default_cases("inverse_dynamics", "impulse")
@pytest.mark.parametrize("function", ["forward_dynamics", "inverse_dynamics", "impulse"])
def test_rows_that_stop_to_depend_on_each_other(function: str) -> None:
    """A tilted hinge moves out of the plane: then less motion is left, and the forces jump."""
    c, given = _plane()
    f = getattr(c, function)
    last = {"forward_dynamics": ("tau",), "inverse_dynamics": ("a",)}.get(function, ())
    args = {k: given[k] for k in ("q", "v", *last)}
    with pytest.warns(RuntimeWarning, match="the rank of the constraints changes"):
        found = f.jvp(args, parameters={"left_elbow.placement": np.stack([_TILT, 0 * _TILT, _INPLANE, _TILT])})
    assert np.isnan(found[0]).all(axis=1).tolist() == [True, False, False, True]
    with pytest.raises(SingularError, match="no derivative"):
        f.jvp({k: x[0] for k, x in args.items()}, parameters={"left_elbow.placement": _TILT})
    by_mass = f.jvp(args, parameters={"tip.mass": 1.0})
    assert np.all(np.isfinite(by_mass[0]))
    with pytest.warns(RuntimeWarning, match="the rank of the constraints changes"):
        more = f.jvp(args, parameters={"left_elbow.placement": np.stack([[0 * _TILT] * 4, [_TILT] * 4])})
    assert np.isnan(more[0]).all(axis=2).tolist() == [[False] * 4, [True] * 4]


@pytest.mark.default_cases("inverse_dynamics")
@pytest.mark.parametrize("function", ["forward_dynamics", "inverse_dynamics"])
def test_second_derivatives_where_rows_stop_to_depend_on_each_other(function: str) -> None:
    """A Jacobian has no derivative along numbers where the function has none."""
    c, given = _plane()
    f = getattr(c, function).jacobian
    args = {k: given[k] for k in ("q", "v", "tau" if function == "forward_dynamics" else "a")}
    with pytest.warns(RuntimeWarning, match="the rank of the constraints changes"):
        found = f.jvp(args, parameters={"left_elbow.placement": np.stack([_TILT, 0 * _TILT, _INPLANE, _TILT])})
    assert np.isnan(found[0].q).all(axis=(1, 2)).tolist() == [True, False, False, True]
    with pytest.raises(SingularError, match="no derivative"):
        f.jvp({k: x[0] for k, x in args.items()}, parameters={"left_elbow.placement": _TILT})


def _four_hinges(size: float) -> Any:
    b = fb.Builder("hinges", gravity=(0, -9.81, 0))
    parent = "world"
    for i, length in enumerate((0.0, 1.0, 0.9, 1.1)):
        at, inertia = (length * size, 0, 0), np.full(3, size**2)
        b.body(f"b{i}", parent=parent, joint=Revolute("z"), position=at, mass=1.0, inertia=inertia, com=at)
        parent = f"b{i}"
    ground = Closure(
        Fixed(), parent, "world", at_predecessor=(0.8 * size, 0, 0), at_successor=(1.5 * size, 0.2 * size, 0)
    )
    return b.build().constrained(ground)


@pytest.mark.parametrize("size", [1.0, 1e-10])
def test_small_linkages_keep_the_rank_that_large_ones_keep(size: float) -> None:
    """Rows of lengths are small beside those of angles: they are rows all the same."""
    c, still = _four_hinges(size), np.zeros(4)
    with pytest.warns(RuntimeWarning, match="would become independent if 'b2.placement' changed"):
        J = c.forward_dynamics.jacobian(np.array([0.7, -1.9, 0.8, 0.3]), still, still, parameters=["b2.placement"])
    assert np.isnan(J.force.parameters["b2.placement"]).all(axis=0).tolist() == [True] * 2 + [False] * 4
