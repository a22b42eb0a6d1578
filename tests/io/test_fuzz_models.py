"""Random damage to valid MJCF and SDF files: what comes out is a robot or an error of ours, never anything else."""

from __future__ import annotations

import re
import warnings

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import fourbar as fb

from .sdf_models import TREES, joint, link, sdf

SDF = (
    *TREES.values(),
    sdf(
        link("a") + link("b", "1 0 0 0 0 0") + link("c", "0 1 0 0 0 0") + joint("j", "revolute", "a", "b")
        + joint("k", "universal", "b", "c", "<axis2><xyz>0 1 0</xyz></axis2>") + joint("l", "ball", "c", "a")
    ),
)  # fmt: skip
INERTIAL = '<inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>'
MJCF = (
    f'<mujoco><option gravity="0 0 -9"/><worldbody><body name="a" pos="0 0 1" euler="0 0 30"><freejoint/>{INERTIAL}'
    f'<body name="b" pos="1 0 0"><joint name="j" axis="0 1 0" ref="10" range="-90 90" armature=".1"/>{INERTIAL}'
    f'<site name="s"/></body></body><body name="c"><joint name="k" type="slide" pos="1 2 3"/>{INERTIAL}'
    '<geom type="box" size="1 2 3"/></body></worldbody>'
    '<tendon><fixed name="t"><joint joint="j" coef="1"/><joint joint="k" coef="2"/></fixed></tendon>'
    '<equality><connect body1="b" body2="c" anchor="0 0 0"/><tendon tendon1="t"/></equality>'
    '<actuator><motor joint="j" gear="3"/></actuator><keyframe><key qpos="0 0 1 1 0 0 0 0 0"/></keyframe></mujoco>',
    f'<mujoco><worldbody><body name="a"><joint name="x" type="ball"/><joint name="y" type="slide"/>{INERTIAL}</body>'
    f'<body name="b"><joint name="z"/>{INERTIAL}</body></worldbody>'
    '<equality><joint joint1="y" joint2="z" polycoef="0 1 2 3 4"/></equality></mujoco>',
)
VALUES = (
    "",
    "0",
    "-1",
    "1e308",
    "nan",
    "1,5",
    "x",
    "a",
    "b",
    "j",
    "1 2 3",
    "0 0 0",
    "world",
    "true",
    "::",
    "ä",
    "0x1",
    "1e-320",
)
PIECES = ("<", ">", "/", '"', "&", "<a>", "</link>", "<body>", "<pose>", "]]>", "<!--", "\0", "\xff", "1" * 500)


@st.composite
def damaged(draw: st.DrawFn, documents: tuple[str, ...]) -> str:
    """A document with a few changes: another value, a piece put in or cut out, an element repeated or dropped."""
    text = draw(st.sampled_from(documents))
    for _ in range(draw(st.integers(1, 3))):
        spots = [m.span(1) for m in re.finditer(r'(?:="|>)([^"<>]*)(?:"|<)', text)]
        elements = [m.span() for m in re.finditer(r"<(\w+)[^<>]*(?:/>|>[^<>]*</\1>)", text)]
        change = draw(st.sampled_from(("value", "piece", "cut", "drop", "repeat")))
        if change == "value" and spots:
            a, b = draw(st.sampled_from(spots))
            text = text[:a] + draw(st.sampled_from(VALUES)) + text[b:]
        elif change in ("drop", "repeat") and elements:
            a, b = draw(st.sampled_from(elements))
            text = text[:a] + (text[a:b] * 2 if change == "repeat" else "") + text[b:]
        elif text:
            a = draw(st.integers(0, len(text)))
            b = min(len(text), a + draw(st.integers(0, 30))) if change == "cut" else a
            text = text[:a] + ("" if change == "cut" else draw(st.sampled_from(PIECES))) + text[b:]
    return text


def is_explained(text: str, format: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            robot = fb.loads(text, format=format)
        except fb.FourbarError as error:
            assert str(error)
        else:
            assert robot.names.bodies


QUICK = settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
LONG = settings(max_examples=20_000, deadline=None, suppress_health_check=list(HealthCheck))


@QUICK
@given(damaged(SDF))
def test_damaged_sdf(text: str) -> None:
    is_explained(text, "sdf")


@QUICK
@given(damaged(MJCF))
def test_damaged_mjcf(text: str) -> None:
    pytest.importorskip("mujoco")
    is_explained(text, "mjcf")


@pytest.mark.slow
@LONG
@given(damaged(SDF))
def test_damaged_sdf_at_length(text: str) -> None:
    is_explained(text, "sdf")


@pytest.mark.slow
@LONG
@given(damaged(MJCF))
def test_damaged_mjcf_at_length(text: str) -> None:
    pytest.importorskip("mujoco")
    is_explained(text, "mjcf")
