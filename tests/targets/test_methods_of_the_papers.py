"""Functions that the papers add to the plain dynamics, in C, CasADi, JAX and PyTorch: the same numbers."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fourbar as fb
from fourbar.joints import Free, Revolute
from tests.loops import looped

from .test_c import called, needs_compiler, shared


@cache
def robot() -> fb.System:
    """A floating hull in water with a four-bar, a gear on two of its links, armature that couples joints, friction."""
    b = fb.Builder("papers", gravity=(0.3, -9.7, 0.2))
    water = fb.Fluid(added_mass=[0.1, 0.2, 0.3, 1, 2, 3], volume=1e-3, linear_drag=[1] * 6, current=(0.1, 0.2, 0.3))
    looped.shaped(b, "hull", 1, joint=Free(), fluid=water)
    b.loop(looped.bars(b, "", (1.0, 0.4, 0.9, 0.7), carrier="hull"), name="four_bar", independent=["crank"])
    looped.shaped(b, "wheel", 2, parent="crank", joint=Revolute("x"), position=(0.2, 0, 0.05), friction=0.3)
    looped.shaped(b, "driven", 3, parent="coupler", joint=Revolute("y"), position=(0.3, 0.1, 0))
    b.loop(fb.loops.Gear("wheel", "driven", -2.0), name="gear")
    looped.shaped(b, "hip", 4, parent="hull", joint=Revolute("y"), position=(0, 0.3, 0), damping=0.2)
    looped.shaped(b, "knee", 5, parent="hip", joint=Revolute("y"), position=(0, 0, -0.3))
    b.armature(["hip", "knee"], [[0.03, 0.01], [0.01, 0.02]], name="belts")
    b.frame("toe", "knee", position=(0, 0, -0.3))
    return b.build()


def stewart() -> fb.System:
    return fb.robots.stewart_platform()


V, TAU = ("q", "v"), ("q", "v", "tau")
FUNCTIONS: dict[str, tuple[Callable[[], fb.System], str, dict[str, Any], tuple[str, ...]]] = {
    "loop residual": (robot, "loop_residual", {}, ("q",)),
    "independent rows": (stewart, "loop_residual", {"rows": "independent"}, ("q",)),
    "articulated inertia": (robot, "articulated_inertia", {"frame": "coupler"}, ("q",)),
    "articulated bias": (robot, "articulated_bias", {"frame": "hull"}, TAU),
    "S of a cluster": (robot, "cluster_subspace", {"cluster": "wheel"}, ("q",)),
    "transform of a cluster": (robot, "cluster_transform", {"cluster": "wheel"}, ("q",)),
    "inverse operational-space inertia": (robot, "osim_inverse", {"frames": ["toe", "driven", "hull"]}, ("q",)),
    "projection": (stewart, "forward_dynamics", {}, TAU),
    "dynamics in a fluid": (robot, "passive_dynamics", {}, TAU),
    "hybrid": (robot, "hybrid_dynamics", {"prescribed": ["crank", "hip"]}, ("q", "v", "a", "tau")),
    "springs and drag": (robot, "inverse_passive_dynamics", {}, ("q", "v", "a")),
}
pytestmark = pytest.mark.drawn_in_line
EACH = pytest.mark.parametrize("name", FUNCTIONS)


def case(name: str) -> tuple[Any, tuple[np.ndarray, ...], tuple[np.ndarray, ...]]:
    """A function with its options, arguments, and results."""
    make, method, options, names = FUNCTIONS[name]
    made, rng = make(), np.random.default_rng(4)
    q = min(made.random(0, 20), key=lambda x: np.abs(made.loop_map(x)).max())
    args = tuple(q if x == "q" else rng.normal(size=made.nv) for x in names)
    function = getattr(made, method)
    function = function.specialise(**options) if hasattr(function, "specialise") else function
    named = dict(zip(names, args, strict=True))
    results = getattr(made, method)(**named, **options)
    return function, args, tuple(results) if isinstance(results, tuple) else (results,)


def close(found: Any, expected: tuple[np.ndarray, ...]) -> None:
    found = tuple(found) if isinstance(found, tuple | list) else (found,)
    assert len(found) == len(expected)
    for x, y in zip(found, expected, strict=True):
        assert np.abs(np.array(x, float).reshape(y.shape) - y).max() < 1e-11 * max(1.0, np.abs(y).max())


@needs_compiler
def test_c(tmp_path: Path) -> None:
    """All with one result, in one source."""
    found = {name: case(name) for name in FUNCTIONS if name not in ("hybrid", "independent rows")}
    fb.export_c(tmp_path, [function for function, _, _ in found.values()], name="papers")
    library = shared(tmp_path, "papers")
    for name, (_, args, (expected,)) in found.items():
        close(called(library, f"papers_{FUNCTIONS[name][1]}", list(args), expected.shape), (expected,))


@EACH
def test_casadi(name: str) -> None:
    pytest.importorskip("casadi", reason="casadi is not installed")
    to_casadi: Any = pytest.importorskip("fourbar.casadi").function
    function, args, expected = case(name)
    close(to_casadi(function)(*args), expected)


def test_dry_friction_in_casadi() -> None:
    """Optional arguments are named."""
    pytest.importorskip("casadi", reason="casadi is not installed")
    to_casadi: Any = pytest.importorskip("fourbar.casadi").function
    _, (q, v, a), _ = case("springs and drag")
    f = robot().inverse_passive_dynamics
    expected = f(q, v, a, friction_velocity=0.1)
    assert np.abs(expected - f(q, v, a)).max() > 0.1
    close(to_casadi(f, "friction_velocity")(q, v, a, 0.1), (expected,))


@EACH
def test_jax(name: str) -> None:
    jax: Any = pytest.importorskip("jax", reason="jax is not installed")
    to_jax: Any = pytest.importorskip("fourbar.jax").function
    jax.config.update("jax_enable_x64", True)
    function, args, expected = case(name)
    mapped = to_jax(function)
    close(jax.jit(mapped)(*args), expected)


@EACH
def test_torch(name: str) -> None:
    torch: Any = pytest.importorskip("torch", reason="torch is not installed")
    to_torch: Any = pytest.importorskip("fourbar.torch").function
    function, args, expected = case(name)
    found = to_torch(function)(*(torch.from_numpy(np.array(x)) for x in args))
    close(tuple(x.numpy() for x in found) if isinstance(found, tuple | list) else found.numpy(), expected)
