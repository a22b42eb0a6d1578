"""Wrong names are answered with the right ones: of attributes, arguments, configurations, robots."""

from __future__ import annotations

import inspect
import pickle
import traceback
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fourbar as fb
from fourbar.errors import OneWarning, warn
from fourbar.hints import suggestions
from fourbar.other_words import SCOPES

pytestmark = pytest.mark.quick


@pytest.fixture(scope="module")
def robot() -> fb.System:
    return fb.robots.double_pendulum()


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("crba", "mass_matrix"), ("rnea", "inverse_dynamics"), ("aba", "forward_dynamics"), ("com", "center_of_mass"),
        ("forward_kinematics", "pose"), ("jacobian_time_derivative", "jacobian_rate"), ("mass_matrx", "mass_matrix"),
        ("computeCoriolisMatrix", "coriolis_matrix"), ("nonLinearEffects", "bias_force"), ("num_dofs", "nv"),
        ("simulate", "fb.simulate(robot, ...)"), ("CalcMassMatrix", "mass_matrix"), ("getFrameJacobian", "jacobian"),
    ],
)  # fmt: skip
def test_names_of_other_libraries_are_answered_with_ours(robot: fb.System, name: str, meant: str) -> None:
    with pytest.raises(AttributeError, match=f"no attribute '{name}'") as caught:
        getattr(robot, name)
    assert meant in str(caught.value)
    assert "Did you mean" not in "".join(traceback.format_exception(caught.value))  # Python would say it twice


def test_robots_with_constraints_hint_too(robot: fb.System) -> None:
    with pytest.raises(AttributeError, match="'Constrained' object has no attribute 'aba'; did you mean 'forward_dyn"):
        robot.constrained(fb.constraints.Contact("tip", "point")).aba  # noqa: B018  # pyright: ignore


def test_every_word_leads_to_a_name_that_exists(robot: fb.System) -> None:
    homes: dict[str, Any] = {
        "robot": robot, "Builder": fb.Builder, "Scene": fb.Scene, "fourbar": fb, "fourbar.joints": fb.joints,
        "fourbar.loops": fb.loops, "fourbar.robots": fb.robots,
    }  # fmt: skip
    for scope, home in homes.items():
        for name, words in SCOPES[scope].items():
            assert "(" in name or hasattr(home, name), (scope, name)
            for word in words.split():
                assert not hasattr(home, word), f"{scope}: {word} exists"
                assert name in suggestions(word, dir(home), scope), (scope, word)


def test_attributes_that_are_there_raise_their_own_errors(robot: fb.System) -> None:
    class Odd(fb.System):
        @property
        def broken(self) -> float:
            raise AttributeError("of the property itself")

    with pytest.raises(AttributeError, match="of the property itself"):
        Odd(robot.mechanism).broken  # noqa: B018
    assert not hasattr(robot, "_repr_latex_") and not hasattr(robot, "__array__")
    assert pickle.loads(pickle.dumps(robot)) == robot


def wrong_keywords(robot: fb.System) -> list[tuple[Any, str]]:
    """Calls with a wrong keyword, and the word that was meant."""
    q, v, scene, b = [0.1, 0.2], [0.0, 0.0], fb.Scene(robot), fb.Builder()
    return [
        (lambda: fb.rollout(robot, q, v, torque=v, dt=1e-3, steps=1), "tau"),  # pyright: ignore
        (lambda: fb.simulate(robot, q, v, duration=1.0, timestep=1e-3), "dt"),  # pyright: ignore
        (lambda: scene.rollout(q, v, torque=v, steps=1), "tau"),  # pyright: ignore
        (lambda: scene.simulate(q, v, torque=v, duration=1.0), "tau"),  # pyright: ignore
        (lambda: scene.simulate(q, v, control=v, duration=1.0), "tau' or 'u"),  # pyright: ignore
        (lambda: scene.rollout(q, friction=[0.5], steps=1), 'numbers={"friction": ...}'),  # pyright: ignore
        (lambda: fb.Scene(robot, tolerence=1.0), "tolerance"),  # pyright: ignore
        (lambda: robot.inverse_dynamics(q, v, qdd=v), "'a'"),
        (lambda: robot.forward_dynamics(q, qdot=v, tau=v), "'v'"),
        (lambda: robot.pose(q, frme="tip"), "frame"),
        (lambda: robot.pose(q, link="tip"), "frame"),
        (lambda: robot.inverse_dynamics.jvp((q, v, v), q_dot=v), "tangents"),
        (lambda: robot.inverse_dynamics.jvp((q, v, v), q_dot=v), r"inverse_dynamics.jvp((q, v, a), (dq, dv, da))"),
        (lambda: robot.pose.jvp(q, q_dot=v, frame="tip"), "pose.jvp(q, dq)"),
        (lambda: robot.inverse_dynamics.vjp((q, v, v), weights=v), "cotangent"),
        (lambda: b.body("arm", joints=fb.joints.Revolute("y")), "joint"),  # pyright: ignore
        (lambda: b.motor("m", drives="arm", ratio=9.0), "Builder.rotor"),  # pyright: ignore
        (lambda: b.position_servo("m", drives="arm", stiffness=9.0), "kp"),  # pyright: ignore
        (lambda: robot.lock(q0=v), "lock has no argument 'q0'"),  # pyright: ignore
        (lambda: robot.inverse_dynamics.vjp((q, v, v), cot=v), "cotangent"),
        (lambda: fb.Plane(mu=0.5), "Plane has no argument 'mu'; did you mean 'friction'?"),  # pyright: ignore
        (lambda: fb.contact.Shape("tip", "sphere", 0.1, pos=(0, 0, 1)), "position"),  # pyright: ignore
        (lambda: fb.joints.Revolute(direction="y"), "Revolute has no argument 'direction'"),  # pyright: ignore
        (lambda: fb.loops.Gear("a", "b", gear_ratio=2.0), "ratio"),  # pyright: ignore
        (lambda: fb.robots.tello(rotor="exact"), "tello has no argument 'rotor'; did you mean 'rotors'?"),  # pyright: ignore
        (lambda: fb.Run.load("run.npz", folder="."), "folders"),  # pyright: ignore
        (lambda: fb.simulate(robot, q, duration=0.01).plot(samples=2), "sample"),  # pyright: ignore
        (lambda: fb.observe.pose(link="tip"), "frame"),  # pyright: ignore
    ]


def test_wrong_keywords_are_answered_with_the_right_ones(robot: fb.System) -> None:
    for call, meant in wrong_keywords(robot):
        with pytest.raises(TypeError, match="has no argument") as caught:
            call()
        assert meant in str(caught.value)


def test_missing_files_and_options_of_formats_are_answered_with_near_ones(robot: fb.System, tmp_path: Path) -> None:
    file = tmp_path / "pendulum.json"
    robot.save(file)
    with pytest.raises(fb.ArgumentError, match=r"no file '.*pendulm\.json'; did you mean 'pendulum\.json'\?"):
        fb.load(tmp_path / "pendulm.json")
    with pytest.raises(fb.ArgumentError, match=r"no file '.*'; there is no folder '.*elsewhere'"):
        fb.load(tmp_path / "elsewhere" / "pendulum.json")
    with pytest.raises(fb.ArgumentError, match=r"json has no option 'folder'; did you mean 'folders'\?"):
        fb.load(file, folder=tmp_path)
    with pytest.raises(fb.ArgumentError, match=r"json has no option 'root_joint'; did you mean 'floating'\?"):
        fb.load(file, root_joint=True)


def test_errors_of_the_work_itself_are_left_as_they_are(robot: fb.System) -> None:
    def torque(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        raise TypeError("of the user")

    with pytest.raises(TypeError, match="of the user"):
        fb.simulate(robot, [0.1, 0.2], duration=0.01, period=0, tau=torque)
    with pytest.raises(TypeError, match="required"):
        fb.simulate(robot, [0.1, 0.2])  # pyright: ignore


def test_wrapped_functions_keep_their_signature() -> None:
    assert "duration" in inspect.signature(fb.simulate).parameters
    assert [*inspect.signature(fb.Builder.motor).parameters][:4] == ["self", "name", "drives", "gear"]


def test_configurations_suggest() -> None:
    b = fb.Builder("arm").body("rod", joint=fb.joints.Revolute("y"), mass=1.0, inertia=(1, 1, 1))
    robot = b.configuration("home", {"rod": 0.5}).build()
    with pytest.raises(KeyError, match="did you mean 'home'"):
        robot.configurations["hom"]
    assert robot.configurations == {"home": np.array([0.5])} and robot.configurations.get("hom") is None
    assert len(robot.configurations) == 1 and "home" in repr(robot.configurations)


def test_modules_of_robots_are_hidden() -> None:
    with pytest.raises(AttributeError, match="did you mean 'cassie_leg'"):
        fb.robots.cassie()  # pyright: ignore
    shown = [name for name in dir(fb.robots) if not name.startswith("_")]
    assert sorted(fb.robots.ROBOTS) == [name for name in shown if name != "ROBOTS"]
    assert all(callable(getattr(fb.robots, name)) for name in fb.robots.ROBOTS)
    assert sorted(x for x in dir(fb.contact) if x[0] != "_") == sorted(fb.contact.__all__)


def test_integrate_without_a_time_takes_the_step_itself(robot: fb.System) -> None:
    q, v = robot.random(0, n=3), np.array([0.3, -0.2])
    assert np.array_equal(robot.integrate(q, v), robot.integrate(q, v, 1.0))
    assert np.array_equal(robot.integrate(q[0], v), robot.integrate(q[0], v, dt=1.0))
    assert inspect.signature(robot.integrate).parameters["dt"].default == 1.0
    assert np.array_equal(robot.integrate.jacobian(q[0], v).q, robot.integrate.jacobian(q[0], v, 1.0).q)
    assert np.array_equal(robot.integrate.jvp((q[0], v), (v, v)), robot.integrate.jvp((q[0], v, 1.0), (v, v)))
    assert np.array_equal(robot.integrate.vjp((q[0], v), v).v, robot.integrate.vjp((q[0], v, 1.0), v).v)
    free = fb.Builder().body("block", joint=fb.joints.Free(), mass=1.0, inertia=(1, 1, 1)).build()
    step = np.arange(6) / 10
    assert np.allclose(free.difference(free.neutral(), free.integrate(free.neutral(), step)), step)


def test_a_height_field_is_shown_in_a_line() -> None:
    field = fb.HeightField(np.linspace(0.0, 0.5, 2500).reshape(50, 50), spacing=0.1)
    assert "50 x 50 heights from 0 to 0.5 m" in repr(field) and len(repr(field)) < 150


def test_warnings_of_one_piece_of_work_are_one() -> None:
    class Other(UserWarning):
        pass

    def work(*kinds: type[Warning]) -> list[warnings.WarningMessage]:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            with OneWarning("file", Other), OneWarning("part", Other):
                for n, kind in enumerate(kinds):
                    warn(f"message {n}", kind)
        return caught

    assert work() == []
    (alone,) = work(UserWarning)
    assert str(alone.message) == "message 0" and alone.category is UserWarning
    (both,) = work(UserWarning, RuntimeWarning)
    assert str(both.message) == "file: 2 warnings\n- message 0\n- message 1" and both.category is Other
    assert work(RuntimeWarning, RuntimeWarning)[0].category is RuntimeWarning
