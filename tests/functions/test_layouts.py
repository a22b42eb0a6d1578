"""Derivatives of programs whose steps share their code (large robots) are those of the unrolled ones."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

from fourbar import Builder, System
from fourbar.expr import Program, interpret
from fourbar.functions.context import record
from fourbar.functions.derivative_recordings import KINDS
from fourbar.functions.methods import METHODS
from fourbar.functions.recording import MethodRecording
from fourbar.joints import Revolute, Spherical
from fourbar.loops import Gear

from .step import STEP, rate, run

LINKS = 64


@cache
def chain() -> System:
    """Revolute joints in turn about three axes, a ball joint and a geared wheel on the way."""
    rng = np.random.default_rng(0)
    b = Builder("chain")
    for i in range(LINKS):
        joint = Spherical() if i == 5 else Revolute("xyz"[i % 3])
        where = {"parent": f"link{i - 1}" if i else "world", "position": (0.05, 0.0, 0.1)}
        b.body(f"link{i}", joint=joint, mass=1.0, com=0.05 * rng.random(3), inertia=(0.01, 0.012, 0.013), **where)
        if i == 8:
            b.body(f"wheel{i}", parent=f"link{i - 1}", joint=Revolute("x"), mass=0.2, inertia=(1e-3, 1e-3, 1e-3))
            b.loop(Gear(f"link{i}", f"wheel{i}", 3.0), name=f"gear{i}")
    return b.build()


class Unrolled(MethodRecording):
    """A method that is unrolled however large it is."""

    def write(self, present: tuple[str, ...], block: int = 1000) -> Program:
        given = self.select_arguments(present)
        return record(self.name, self.model, self.method.record, given, self.static, block, 10**9)


@cache
def derived(kind: str, recording: type[MethodRecording], method: str, present: tuple[str, ...]) -> Program:
    return KINDS[kind](recording(chain().model, method, METHODS[method], lambda cluster_tree: {}, ())).program(present)


def is_shared(program: Program) -> bool:
    return any(call.bases != (0,) for call in program.calls)


def given(method: str) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(1)
    q = chain().random(rng, 1)
    last = METHODS[method].arguments[2]
    return {"q": q, "v": 0.1 * rng.normal(size=(1, chain().nv)), last: rng.normal(size=(1, chain().nv))}


def near(actual: Any, expected: Any, tol: float) -> None:
    assert np.abs(actual - expected).max() <= tol * np.abs(expected).max()


def test_along_a_direction(method: str = "forward_dynamics") -> None:
    state = given(method)
    rng = np.random.default_rng(2)
    moving = {f"d_{x}": rng.normal(size=(1, chain().nv)) for x in state}
    present = (*state, *moving)
    programs = [derived("jvp", recording, method, present) for recording in (MethodRecording, Unrolled)]
    assert is_shared(programs[0]) and not is_shared(programs[1])
    ours, unrolled = (next(iter(interpret(p, {**state, **moving}).values())) for p in programs)
    near(ours, unrolled, 1e-12)
    rates = {x: moving[f"d_{x}"] for x in state}
    rates["q"] = rate(chain(), state["q"], rates["q"])
    source = chain().forward_dynamics.state[0].program(tuple(state))
    (exact,) = run(source, {x: state[x] + 1j * STEP * rates[x] for x in state})
    near(ours, exact.imag / STEP, 1e-12)


@pytest.mark.slow
def test_backwards(method: str = "forward_dynamics") -> None:
    state = given(method)
    rng = np.random.default_rng(3)
    weight = rng.normal(size=(1, chain().nv))
    moving = {f"d_{x}": rng.normal(size=(1, chain().nv)) for x in state}
    programs = [derived("vjp", recording, method, (*state, "w_a")) for recording in (MethodRecording, Unrolled)]
    assert is_shared(programs[0]) and not is_shared(programs[1])
    ours, unrolled = (list(interpret(p, {**state, "w_a": weight}).values()) for p in programs)
    for a, b in zip(ours, unrolled, strict=True):
        near(a, b, 1e-12)
    pushed = interpret(derived("jvp", MethodRecording, method, (*state, *moving)), {**state, **moving})
    forwards = np.sum(weight * next(iter(pushed.values())))
    backwards = sum(np.sum(g * x) for g, x in zip(ours, moving.values(), strict=True))
    assert abs(forwards - backwards) <= 1e-12 * np.sum(np.abs(weight * next(iter(pushed.values()))))


@pytest.mark.parametrize("method", ["mass_matrix"])
def test_other_methods_of_large_robots(method: str) -> None:
    """M is shared, too; against the complex step along one direction."""
    rng = np.random.default_rng(4)
    q, dq = chain().random(rng, 1), rng.normal(size=(1, chain().nv))
    f = getattr(chain(), method)
    source = f.state[0].program(("q",))
    (exact,) = run(source, {"q": q + 1j * STEP * rate(chain(), q, dq)})
    (found,) = interpret(f.jvp.state[0].program(("q", "d_q")), {"q": q, "d_q": dq}).values()
    near(found, exact.imag / STEP, 1e-12)
