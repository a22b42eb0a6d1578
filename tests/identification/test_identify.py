"""Identification recovers what was put in, says how well, and refuses to say what cannot be known."""

from __future__ import annotations

import re
from collections import deque
from typing import Any

import numpy as np
import pytest

import fourbar as fb
from fourbar import ArgumentError, IdentificationError, System, identify
from fourbar.errors import extra
from fourbar.identification.base_parameters import random_configurations

from .arms import arm, base_values, changed, geared, measured, without


@pytest.mark.parametrize("robot", [arm(), geared(), fb.robots.four_bar()], ids=lambda r: r.name)
def test_exact_data(robot: System) -> None:
    """Base parameters to the last digits; the new robot moves like the measured one, though its links may differ."""
    result = identify(changed(robot), measured(robot))
    true = base_values(result, robot)
    assert np.abs(result.base_values - true).max() < 1e-9 * np.abs(true).max()
    q, v, a, tau = measured(robot, 20, seed=7).values()
    assert np.abs(result.robot.inverse_dynamics(q, v, a) - tau).max() < 1e-8 * np.abs(tau).max()
    assert result.residuals.max() < 1e-8 * np.abs(tau).max()


def test_noise_and_confidence() -> None:
    """Errors of many identifications, in units of the reported deviations, are normal: mean square one."""
    robot, noise = arm(), np.array([0.5, 0.2, 0.05])
    known = changed(robot, 0.02)
    scores = []
    for seed in range(12):
        result = identify(known, measured(robot, 400, noise, seed), consistent=None)
        scores.append((result.base_values - base_values(result, robot)) / result.base_deviations)
        assert np.allclose(result.noise, noise, rtol=0.12)
    assert 0.85 < np.sqrt(np.mean(np.square(scores))) < 1.15


def test_weights() -> None:
    """Equations of a noisy joint count less: given or estimated, deviations are smaller than with one noise for all."""
    robot, noise = arm(), np.array([0.01, 0.01, 1.0])
    data = measured(robot, 300, noise)
    known = changed(robot, 0.02)
    common = identify(known, data, noise="common", consistent=None)
    given = identify(known, data, noise=noise, consistent=None)
    found = identify(known, data, consistent=None)
    assert np.allclose(found.base_deviations, given.base_deviations, rtol=0.2)
    errors = [np.linalg.norm(r.base_values - base_values(r, robot)) for r in (found, common)]
    assert errors[0] < 0.5 * errors[1]


def test_prior() -> None:
    """A strong prior keeps the robot as it is, a weak one changes nothing."""
    robot = arm()
    known, data = changed(robot), measured(robot, 100, 0.5)
    strong = identify(known, data, prior=1e-6)
    assert np.allclose(strong.values, known.inertial_parameters("inertia"), rtol=1e-3, atol=1e-6)
    weak, none = identify(known, data, prior=1e4, consistent=None), identify(known, data, consistent=None)
    assert np.allclose(weak.base_values, none.base_values, rtol=1e-4, atol=1e-5)
    assert np.all(identify(known, data, prior=0.1).base_deviations < none.base_deviations)


@pytest.mark.parametrize("consistent", ["interior-point", "sdp"])
def test_consistent(consistent: str) -> None:
    """Bad data would make bodies of negative mass; the result is matter all the same, and fits hardly worse."""
    if consistent == "sdp":
        pytest.importorskip("clarabel")
    robot = arm()
    known, data = changed(robot), measured(robot, 12, 3.0, seed=5)
    free = identify(known, data, consistent=None)
    with pytest.raises(fb.ModelError, match=r"body '"):
        _ = free.robot
    result = identify(known, data, consistent=consistent)
    for ten in result.values.reshape(-1, 10):
        P = np.empty((4, 4))
        J = np.array([[ten[4], ten[5], ten[6]], [ten[5], ten[7], ten[8]], [ten[6], ten[8], ten[9]]])
        P[:3, :3], P[:3, 3], P[3, :3], P[3, 3] = 0.5 * np.trace(J) * np.eye(3) - J, ten[1:4], ten[1:4], ten[0]
        assert np.linalg.eigvalsh(P).min() > 0.0
    assert result.robot.mass_matrix(result.robot.neutral()).shape == (3, 3)
    off = robot.inverse_dynamics(data["q"], data["v"], data["a"]) - data["tau"]
    truth = np.sqrt(np.mean(off**2, axis=0))
    least, cost, allowed = (np.sum((x / free.noise) ** 2) for x in (free.residuals, result.residuals, truth))
    assert least < cost < allowed  # the true robot is consistent too, so the best consistent one fits better


def test_two_solvers_find_the_same() -> None:
    pytest.importorskip("clarabel")
    robot = arm()
    known, data = changed(robot), measured(robot, 12, 3.0, seed=5)
    options: dict[str, Any] = {"prior": 30.0, "noise": 3.0}
    ours, theirs = (identify(known, data, consistent=c, **options) for c in ("interior-point", "sdp"))
    free = identify(known, data, consistent=None, **options)
    assert np.abs(ours.values - free.values).max() > 0.1
    assert np.allclose(ours.values, theirs.values, rtol=1e-3, atol=1e-3)


def test_friction_and_springs() -> None:
    robot, truth = arm(), {"damping": [0.5, 0.3, 0.1], "friction": [0.2, 0.1, 0.05], "stiffness": [3, 2, 1]}

    def extra(q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return v * truth["damping"] + np.sign(v) * truth["friction"] + q * truth["stiffness"] + [0.3, -0.2, 0.1]

    kinds = ("inertia", "damping", "friction", "stiffness", "preload")
    result = identify(changed(robot), measured(robot, 300, 1e-3, extra=extra), columns=kinds)
    for kind, values in {**truth, "preload": [0.3, -0.2, 0.1]}.items():
        for joint, expected in zip(("column", "upper", "fore"), values, strict=True):
            value, deviation = result.value(f"{joint}.{kind}")
            assert abs(value - expected) < 5 * deviation < 0.01
    moved = [c for c in result.robot.mechanism.joints if c.joint.nv]
    for field, kind in (("damping", "damping"), ("friction", "friction"), ("stiffness", "stiffness")):
        assert np.allclose([getattr(c, field) for c in moved], np.array(truth[kind])[:, None], atol=2e-3)
    assert np.allclose([c.rest for c in moved], [[-0.1], [0.1], [-0.1]], atol=2e-3) and result.left_out == ()
    assert np.allclose(result.robot.inertial_parameters(kinds), result.values, rtol=1e-9, atol=1e-12)


def test_a_constant_force_needs_a_spring() -> None:
    """A preload without stiffness is told, and left out of the robot by name."""
    robot = arm()
    data = measured(robot, 300, 1e-3, extra=lambda q, v: np.array([0.3, -0.2, 0.1]))
    result = identify(changed(robot), data, columns=("inertia", "preload"))
    assert abs(result.value("upper.preload")[0] + 0.2) < 0.01
    assert result.left_out == ("column.preload", "upper.preload", "fore.preload")
    assert all(c.stiffness == () for c in result.robot.mechanism.joints)
    assert "not in `robot` (a constant force needs a spring):\n  column.preload, upper.preload" in result.report()


def test_armature_and_friction_are_in_the_robot_of_a_geared_mechanism() -> None:
    """Of tied joints too: their friction shows through the gears, only together with that of what they drive."""
    robot, kinds = geared(), ("inertia", "armature", "damping", "friction", "stiffness")
    joints = kinds[1:]
    values = np.random.default_rng(3).uniform(0.1, 1.0, len(robot.parameter_names(joints)))
    true = robot.with_inertial_parameters(values, joints)
    data = measured(robot)
    Y = robot.regressor(data["q"], data["v"], data["a"], columns=kinds)
    data["tau"] = Y @ true.inertial_parameters(kinds)
    result = identify(changed(robot), data, columns=kinds)
    state = measured(robot, 20, seed=8)
    Y = robot.regressor(state["q"], state["v"], state["a"], columns=kinds)
    expected = Y @ true.inertial_parameters(kinds)
    assert np.abs(Y @ result.robot.inertial_parameters(kinds) - expected).max() < 1e-8 * np.abs(expected).max()
    assert "elbow.damping + 2500 rotor.damping" in result.base.combinations
    with pytest.raises(IdentificationError, match=r"rotor.damping is only in combination"):
        result.value("rotor.damping")


def test_armature_that_is_not_asked_for_is_known() -> None:
    robot = arm().with_inertial_parameters([0.3, 0.2, 0.1], "armature")
    result = identify(changed(robot), measured(robot))
    assert np.allclose(result.base_values, base_values(result, robot), rtol=1e-8, atol=1e-9)
    assert np.array_equal(result.robot.inertial_parameters("armature"), [0.3, 0.2, 0.1])


def test_external_forces() -> None:
    robot, rng = arm(), np.random.default_rng(4)
    data = measured(robot)
    f_ext = rng.normal(size=(300, 4, 6))
    data["tau"] = robot.inverse_dynamics(data["q"], data["v"], data["a"], f_ext=f_ext)
    result = identify(changed(robot), {**data, "f_ext": f_ext})
    assert np.allclose(result.base_values, base_values(result, robot), rtol=1e-8, atol=1e-9)


def test_report() -> None:
    result = identify(changed(arm()), measured(arm(), 200, 0.1))
    text = result.report()
    assert str(result) == text
    assert "base parameters, condition number" in text and "physically consistent (interior-point)" in text
    assert "only in combination" in text and "without effect" in text and "column.Jzz + " in text
    assert set(result.identified) == set(result.base.identifiable) & set(result.identified)
    assert max(map(len, text.splitlines())) <= 100


# --- what cannot be known ---------------------------------------------------------------------------------------------


def test_unidentifiable_parameters_are_not_called_identified() -> None:
    result = identify(changed(arm()), measured(arm()))
    assert "tool.m" not in result.identified and np.isnan(result.deviations[result.names.index("tool.m")])
    with pytest.raises(IdentificationError, match=r"tool.m is only in combination: motion depends on it only together"):
        result.value("tool.m")
    with pytest.raises(IdentificationError, match=r"column.m is without effect: no motion"):
        result.value("column.m")
    with pytest.raises(IdentificationError, match=r"tool.mass is only in combination"):
        result.value("tool.mass")
    with pytest.raises(fb.UnknownNameError, match=r"no parameter 'tool.mx1'; did you mean"):
        result.value("tool.mx1")
    value, deviation = result.value(result.identified[0])
    assert np.isfinite(value) and deviation >= 0.0


@pytest.mark.parametrize("robot", [geared(), fb.robots.five_bar(), fb.robots.delta()], ids=lambda r: r.name)
def test_only_what_forces_depend_on_alone_is_identified(robot: System) -> None:
    """A parameter is called identified only if no change of the others can make up for it: tried with such changes."""
    rng = np.random.default_rng(0)
    q = random_configurations(robot, rng, 200)
    v, a = rng.normal(size=(2, 200, robot.nv))
    data = {"q": q, "v": v, "a": a, "tau": robot.inverse_dynamics(q, v, a)}
    result = identify(changed(robot), data)
    Y = robot.regressor(q, v, a, columns="inertia").reshape(200 * robot.nv, -1)
    sizes = np.linalg.norm(Y, axis=0)
    Y = Y / np.where(sizes > 1e-9 * sizes.max(), sizes, np.inf)
    for name in result.identified:
        j = result.names.index(name)
        others = np.delete(Y, j, axis=1)
        left = Y[:, j] - others @ np.linalg.lstsq(others, Y[:, j], rcond=1e-10)[0]
        assert np.linalg.norm(left) > 1e-8
    for name, status in zip(result.names, result.statuses, strict=True):
        if status != "identified":
            with pytest.raises(IdentificationError, match=f"{name} is {status}: "):
                result.value(name)


def test_data_that_excite_too_little() -> None:
    """Standing still, a robot tells its weights only."""
    robot = arm()
    data = measured(robot)
    still = {**data, "v": 0.0 * data["v"], "a": 0.0 * data["a"]}
    still["tau"] = robot.gravity_force(data["q"])
    with pytest.raises(IdentificationError, match=r"do not excite \d+ of \d+ base parameters: column.Jzz .*prior="):
        identify(changed(robot), still)
    kept = identify(changed(robot), still, keep_unexcited=True)
    assert np.abs(kept.robot.gravity_force(data["q"]) - still["tau"]).max() < 1e-9
    unseen = [name for name, x in zip(kept.names, kept.statuses, strict=True) if x == "not excited"]
    assert unseen and not set(unseen) & set(kept.identified)
    with pytest.raises(IdentificationError, match=r"is not excited: these data do not depend on it"):
        kept.value(unseen[0])
    assert np.isinf(kept.base_deviations).any()
    assert identify(changed(robot), still, prior=0.3).robot.nv == 3


def test_too_few_data_for_confidence() -> None:
    robot, data = arm(), measured(arm(), 6, 0.1)
    assert fb.base_parameters(robot, "inertia").rank == 15
    few = {name: x[:3] for name, x in data.items()}
    with pytest.raises(IdentificationError, match=r"too few data: 9 equations for 15 base parameters"):
        identify(changed(robot), few)
    five = {name: x[:5] for name, x in data.items()}
    with pytest.raises(IdentificationError, match=r"equations for \d+ base parameters leave no residual"):
        identify(changed(robot), five, keep_unexcited=True)
    assert np.all(identify(changed(robot), five, noise=0.1, keep_unexcited=True).base_deviations > 1e-4)


def test_uncertain_parameters() -> None:
    """Noise far above the signal: nothing is called identified."""
    result = identify(changed(arm()), measured(arm(), 60, 1e4))
    assert result.identified == ()
    with pytest.raises(IdentificationError, match=r"is uncertain: its standard deviation exceeds"):
        result.value(result.base.identifiable[0])


def test_bodies_without_mass_staywithout() -> None:
    b = fb.Builder("cardan")
    b.body("cross", joint=fb.joints.Revolute("x"))
    b.body(
        "shaft", parent="cross", joint=fb.joints.Revolute("y"), mass=1.0, com=(0.1, 0, 0.3), inertia=(0.1, 0.2, 0.25)
    )
    robot = b.build()
    result = identify(changed(robot), measured(robot))
    assert result.statuses[:10] == ("held",) * 10 and result.robot.mechanism.bodies[0].mass == 0.0
    assert np.allclose(result.base_values, base_values(result, robot), atol=1e-9)


# --- errors -----------------------------------------------------------------------------------------------------------


def test_errors() -> None:
    robot, data = arm(), measured(arm(), 20)
    cases: list[tuple[Any, dict[str, Any], str]] = [
        (without(data, "tau"), {}, r"data: tau missing; given: q, v, a"),
        ({**data, "torque": 1}, {}, r"unknown array 'torque'; expected q, v, a, tau, f_ext, t"),
        ({**data, "v": data["v"][:, :2]}, {}, r"v has shape \(20, 2\), expected \(n, 3\): one row per sample"),
        (
            {**data, "a": data["a"][:9]},
            {},
            r"a has shape \(9, 3\), expected \(n, 3\) with n=20, the number of samples in q",
        ),
        ({**data, "tau": data["tau"].T}, {}, r"tau has shape \(3, 20\), .* it looks transposed, give tau.T"),
        ({**data, "q": data["q"][0]}, {}, r"q has shape \(3,\), expected \(n, 3\): one row per sample"),
        ({**data, "t": data["q"]}, {}, r"t has shape \(20, 3\), expected \(n,\)"),
        ({**data, "q": "left"}, {}, r"data: q must be an array of numbers, got str"),
        ({**data, "q": np.full((20, 3), "left")}, {}, r"data: q must be an array of numbers, got ndarray"),
        (data, {"progress": True}, r"progress=True: expected a function that wraps an iterable, such as tqdm.tqdm"),
        ([data, {"q": 1}], {}, r"data, piece 1: v, tau missing"),
        ([data, 3], {}, r"data, piece 1: expected a mapping with arrays q, v, a, tau"),
        (7, {}, r"data: expected a mapping .* got int"),
        ([], {}, r"there are no samples"),
        ([data, without(data, "a")], {}, r"data, piece 1: form='force' needs accelerations a \(n, nv\) in every"),
        (data, {"columns": []}, r"columns=\[\]: expected at least one kind"),
        (data, {"prior": -1.0}, r"prior=-1.0: expected a positive relative standard deviation"),
        (data, {"consistent": "maybe"}, r"consistent='maybe': expected 'interior-point', 'sdp' or None"),
        (data, {"prior": True}, r"prior=True: expected a positive relative standard deviation"),
        ({**data, "tau": data["tau"] + 0j}, {}, r"data: tau must hold real numbers, got an array of dtype complex128"),
        (data, {"noise": ["a", "b", "c"]}, r"expected one positive number, or 3 of them, for column, upper, fore"),
        (data, {"noise": "loud"}, r"noise='loud': expected 'estimated', 'common'"),
        (data, {"noise": [1.0, 2.0]}, r"expected one positive number, or 3 of them, for column, upper, fore"),
        (data, {"chunk": 0}, r"chunk=0: expected a whole number of samples, at least 1"),
    ]
    for given, options, message in cases:
        with pytest.raises(ArgumentError, match=message):
            identify(robot, given, **options)
    broken = data["tau"].copy()
    broken[4, 1] = np.nan
    with pytest.raises(ArgumentError, match=r"tau is not finite in 1 samples, first in sample 4; remove them"):
        identify(robot, {**data, "tau": broken})
    with pytest.raises(ArgumentError, match=r"first in sample 4"):
        identify(robot, {**data, "tau": broken}, chunk=3)
    with pytest.raises(ArgumentError, match=r"robot: expected a System, such as fourbar.load\(...\) returns, got str"):
        identify("arm.urdf", data)  # type: ignore[arg-type]
    b = fb.Builder("pendulum")
    b.body("rod", joint=fb.joints.Revolute("y"), mass=1.0, com=(0, 0, -0.5), inertia=(0.1, 0.1, 0.01))
    with pytest.raises(ArgumentError, match=r"q has shape \(9,\), expected \(n, 1\): .*column .*, q\[:, None\]"):
        identify(b.build(), dict.fromkeys(("q", "v", "a", "tau"), np.zeros(9)))


def test_forces_that_are_zero() -> None:
    data = measured(arm(), 50, 0.0) | {"tau": np.zeros((50, 3))}
    for consistent in ("interior-point", None):
        with pytest.raises(IdentificationError, match="the measured forces are zero in all samples"):
            identify(arm(), data, consistent=consistent)


def test_pieces_in_any_collection() -> None:
    """That there are no accelerations is seen in a deque as well as in a list."""
    data = measured(arm(), 200, 0.0)
    data = {name: data[name] for name in ("q", "v", "tau")} | {"t": 1e-3 * np.arange(200)}
    for pieces in ([data], deque([data]), iter([data]), {"first": data}.values()):
        assert identify(arm(), pieces, prior=1.0).kinds == arm().names.velocities


def test_missing_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "clarabel", None)
    with pytest.raises(fb.FourbarError, match=re.escape(f"needs the packages clarabel and scipy: {extra('identify')}")):
        identify(changed(arm()), measured(arm(), 12, 3.0, seed=5), consistent="sdp")
