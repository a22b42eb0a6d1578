"""Numbers of terrain that differ from sample to sample: the same as scenes built with them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

import fourbar as fb
from fourbar.compile import rollout_kernel as machine
from fourbar.contact import Shape, Solid

pytestmark = pytest.mark.usefixtures("no_warnings")

N, STEPS = 2, 100


@cache
def brick() -> fb.System:
    """A box that moves freely, with a post on it."""
    b = fb.Builder("brick")
    b.body("brick", joint=fb.joints.Free(), mass=1.0, inertia=(0.004, 0.006, 0.005))
    return b.build()


SHAPES = {
    "balls": [Shape("brick", "sphere", 0.03, position=(x, y, -0.02)) for x, y in ((0.1, 0), (-0.1, 0.06))],
    "rim": [Shape("brick", "cylinder", (0.08, 0.1))],
    "egg": [Shape("brick", "ellipsoid", (0.1, 0.07, 0.05), friction=0.3)],
}
TURN = np.array([1.0, 0.02, -0.03, 0.01])
START = [0.02, 0.01, 0.15, *(TURN / np.linalg.norm(TURN))]
RNG = np.random.default_rng(2)
HEIGHTS = 0.06 * RNG.normal(size=(N, 5, 4))
FIELD = {"spacing": (0.12, 0.15), "origin": (-0.25, -0.2)}


def waves(x: Any, y: Any, z: Any, height: Any, lengths: Any) -> Any:
    return z - height * fb.sin(x / lengths[0]) * fb.cos(y / lengths[1])


Build = Callable[[dict[str, Any]], Any]


def plane(own: dict[str, Any]) -> fb.Plane:
    return fb.Plane(own.get("friction", 0.5), own.get("point", (0, 0, 0)), own.get("normal", (0, 0, 1)))


def field(own: dict[str, Any]) -> fb.HeightField:
    return fb.HeightField(own.get("heights", np.zeros((5, 4))), friction=own.get("friction", 0.5), **FIELD)


def dunes(own: dict[str, Any]) -> fb.SignedDistance:
    numbers = {"height": own.get("height", 0.0), "lengths": own.get("lengths", (0.2, 0.2))}
    return fb.SignedDistance(waves, friction=own.get("friction", 0.5), numbers=numbers)


PLANES = {
    "normal": np.c_[0.3 * RNG.normal(size=(N, 2)), RNG.uniform(0.8, 3.0, N)],
    "point": 0.05 * RNG.normal(size=(N, 3)),
    "friction": RNG.uniform(0.1, 0.9, N),
}
WAVES = {
    "height": RNG.uniform(0.0, 0.04, N),
    "lengths": RNG.uniform(0.1, 0.3, (N, 2)),
    "friction": RNG.uniform(0.1, 0.9, N),
}
CASES: list[tuple[str, Build, dict[str, np.ndarray]]] = [
    ("balls", plane, PLANES),
    ("rim", plane, {"normal": PLANES["normal"]}),
    ("egg", plane, PLANES),
    ("balls", field, {"heights": HEIGHTS, "friction": PLANES["friction"]}),
    ("balls", dunes, WAVES),
    ("egg", dunes, {"height": WAVES["height"]}),
]


@pytest.mark.slow_cases("rim-plane-values1")
@pytest.mark.parametrize(("shapes", "build", "values"), CASES)
def test_a_scene_moves_as_scenes_built_with_these_numbers(
    shapes: str, build: Build, values: dict[str, np.ndarray]
) -> None:
    robot, numbers = brick(), {f"terrain.{name}": x for name, x in values.items()}
    scene = fb.Scene(robot, build({}), contacts=SHAPES[shapes])
    run = scene.rollout(START, steps=STEPS, numbers=numbers)
    one = scene.step(run.q[-1], run.v[-1], dt=2e-3, numbers=numbers)
    assert (run.contacts.found.any(axis=(0, 2))).all()
    for k in range(N):
        built = fb.Scene(robot, build({name: x[k] for name, x in values.items()}), contacts=SHAPES[shapes])
        expected = built.rollout(START, steps=STEPS)
        assert np.abs(run.q[:, k] - expected.q).max() < 1e-12
        assert np.abs(run.contacts.gap[1:, k] - expected.contacts.gap[1:]).max() < 1e-12
    same = built.step(run.q[-1, k], run.v[-1, k], dt=2e-3)  # one is enough: another program of the same recording
    assert np.abs(one.q[k] - same.q).max() < 1e-12 and np.abs(one.v[k] - same.v).max() < 1e-10


@pytest.mark.parametrize("law", [fb.contact.Rigid(), fb.contact.Compliant(2e4, 100.0), fb.contact.MuJoCo()])
def test_every_law_takes_them(law: Any) -> None:
    robot = brick()
    scene = fb.Scene(robot, fb.Plane(0.5), contacts=SHAPES["balls"], law=law)
    run = scene.rollout(START, steps=STEPS, numbers={f"terrain.{x}": y for x, y in PLANES.items()})
    for k in range(N):
        built = fb.Scene(robot, plane({name: x[k] for name, x in PLANES.items()}), contacts=SHAPES["balls"], law=law)
        expected = built.rollout(START, steps=STEPS)
        assert np.abs(run.q[:, k] - expected.q).max() < 1e-11


def test_the_larger_friction_acts_and_other_contacts_keep_theirs() -> None:
    b = fb.Builder("two")
    for k, name in enumerate(("left", "right")):
        b.body(name, joint=fb.joints.Free(), position=(0, k, 0), mass=1.0, inertia=(0.004,) * 3)
    robot = b.build()
    rough, smooth = (Shape(name, "sphere", 0.1, friction=mu) for name, mu in (("left", 0.6), ("right", None)))
    scene = fb.Scene(robot, fb.Plane(0.5), Solid("box", (8, 8, 1), position=(0, 0, -0.5), friction=0.1),
                     contacts=[rough, smooth], pairs="none")  # fmt: skip
    assert scene.contacts == ("left", "right", "left:terrain1", "right:terrain1")
    q = robot.neutral()
    q[[2, 9]] = 0.1
    v = np.zeros(12)
    v[[3, 9]] = 3.0
    given = np.array([0.2, 0.9])
    run = scene.rollout(q, v, steps=1, numbers={"terrain.friction": given, "terrain.point": [0, 0, -1.0]})
    both = scene.rollout(q, v, steps=1, numbers={"terrain.friction": given})
    slid = np.linalg.norm(run.contacts.force[1, :, :, :2], axis=-1) / 9.81
    assert np.abs(slid[:, 2:] - [0.6, 0.1]).max() < 1e-9 and not slid[:, :2].any()
    pressed = both.contacts.force[1]
    shares = np.linalg.norm(pressed[..., :2], axis=-1) / pressed[..., 2].clip(1e-9)
    assert np.abs(shares[:, 0] - [0.6, 0.9])[pressed[:, 0, 2] > 1e-6].max(initial=0.0) < 1e-6


def test_the_same_bits_in_any_batch_on_one_and_two_threads() -> None:
    rng, n = np.random.default_rng(5), 1024
    scene = fb.Scene(brick(), dunes({}), contacts=SHAPES["balls"])
    values = {
        "terrain.height": rng.uniform(0.0, 0.04, n),
        "terrain.lengths": rng.uniform(0.1, 0.3, (n, 2)),
        "terrain.friction": rng.uniform(0.1, 0.9, n),
        "brick.mass": rng.uniform(0.5, 2.0, n),
    }
    whole = scene.rollout(START, steps=60, numbers=values, every=20, threads=1)
    assert whole.contacts.found.any()
    two = scene.rollout(START, steps=60, numbers=values, every=20, threads=2)
    assert np.array_equal(two.q, whole.q) and np.array_equal(two.residual, whole.residual)
    for part in (slice(5, 6), slice(100, 107), slice(200, 208)):
        some = {name: x[part] for name, x in values.items()}
        for threads in (1, 2):
            run = scene.rollout(START, steps=60, numbers=some, every=20, threads=threads)
            assert np.array_equal(run.q, whole.q[:, part]) and np.array_equal(run.v, whole.v[:, part])


def test_other_values_need_no_other_machine_code(monkeypatch: pytest.MonkeyPatch) -> None:
    scene, made, init = fb.Scene(brick(), field({}), contacts=SHAPES["balls"]), [], machine.RolloutKernel.__init__

    def counting(self: Any, *args: Any, **named: Any) -> None:
        made.append(1)
        init(self, *args, **named)

    monkeypatch.setattr(machine.RolloutKernel, "__init__", counting)
    for scale in (0.5, 1.0, 2.0):
        scene.rollout(START, steps=2, numbers={"terrain.heights": scale * HEIGHTS})
    assert len(made) == 1


def test_worlds_have_terrain_of_their_own() -> None:
    robot = brick()
    scene = fb.Scene(robot, fb.Plane(0.5), contacts=SHAPES["balls"])
    worlds = scene.batch(N, numbers={"terrain.normal": [0, 0, 1], "brick.mass": 1.0, "terrain.friction": 0.5})
    assert worlds.nominal["terrain.friction"] == 0.5 and worlds.nominal["terrain.normal"].tolist() == [0, 0, 1]
    worlds.reset(q=START)
    worlds.change("terrain.friction", PLANES["friction"])
    worlds.numbers["terrain.normal"][:] = PLANES["normal"]
    worlds.step(steps=STEPS)
    for k in range(N):
        built = fb.Scene(robot, plane({x: PLANES[x][k] for x in ("normal", "friction")}), contacts=SHAPES["balls"])
        expected = built.rollout(START, steps=STEPS, every=STEPS)
        assert np.abs(worlds.q[k] - expected.q[-1]).max() < 1e-12
    worlds.step(np.zeros(6), ids=[0])
    with pytest.raises(fb.ArgumentError, match="negative"):
        worlds.change("terrain.friction", -0.1)


def test_terrain_of_a_file_meets_shapes_by_their_priorities() -> None:
    text = """
    <mujoco><worldbody>
      <geom name="floor" type="plane" size="0 0 1" friction="0.2"/>
      <geom name="ramp" type="plane" size="0 0 1" pos="0 0 -9" friction="0.3" priority="1"/>
      <body><freejoint/><inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>
        <geom name="ball" type="sphere" size="0.1" friction="0.5" condim="3"/></body>
    </worldbody></mujoco>"""
    robot = fb.loads(text)
    scene = fb.Scene(robot)
    assert [x.footing for x in scene.spec.candidates] == [(0, 0.5), (1, 0.0)]
    q, v = np.array([0, 0, 0.1, 1, 0, 0, 0]), np.array([0, 0, 0, 3.0, 0, 0])
    run = scene.rollout(q, v, steps=1, numbers={"terrain.friction": np.array([0.1, 0.7])})
    assert np.abs(np.abs(run.contacts.force[1, :, 0, 0]) / 9.81 - [0.5, 0.7]).max() < 1e-9
    low = q - [0, 0, 9, 0, 0, 0, 0]
    run = scene.rollout(low, v, steps=1, numbers={"ramp.friction": np.array([0.1, 0.7]), "terrain.point": [0, 0, -20]})
    assert np.abs(np.abs(run.contacts.force[1, :, 1, 0]) / 9.81 - [0.1, 0.7]).max() < 1e-9


@pytest.mark.parametrize(
    ("numbers", "words"),
    [
        ({"terrain.slope": 0.1}, "terrain.slope.*terrain.normal"),
        ({"terrain.normal": np.zeros((3, 3))}, "zero in some samples"),
        ({"terrain.normal": np.ones(2)}, r"shape \(\.\.\., 3\)"),
        ({"terrain.point": [np.nan, 0, 0]}, "NaN"),
        ({"terrain.friction": -1.0}, "negative"),
        ({"terrain1.friction": 0.1}, "acts on no contact"),
    ],
)
def test_what_is_refused(numbers: dict[str, Any], words: str) -> None:
    scene = fb.Scene(brick(), fb.Plane(), fb.Plane(0.0), contacts=SHAPES["balls"])
    with pytest.raises((fb.ArgumentError, fb.UnknownNameError), match=words):
        scene.rollout(START, steps=1, numbers=numbers)


def test_friction_is_given_once() -> None:
    scene = fb.Scene(brick(), fb.Plane(), contacts=SHAPES["balls"])
    with pytest.raises(fb.ArgumentError, match="not both"):
        scene.rollout(START, steps=1, numbers={"friction": 0.4 * np.ones(3), "terrain.friction": 0.3})
    with pytest.raises(fb.UnknownNameError, match=r"terrain\.friction"):
        fb.rollout(brick(), START, dt=1e-3, steps=1, numbers={"terrain.friction": 0.3})


@pytest.mark.parametrize(
    ("numbers", "words"),
    [
        ({"x": 1.0}, "besides x, y, z"),
        ({"friction": 1.0}, "besides x, y, z"),
        ({"height": [[[1.0]]]}, "one or two axes"),
        ({"height": float("nan")}, "finite"),
        (3.0, "by name"),
    ],
)
def test_numbers_of_a_signed_distance_that_are_refused(numbers: Any, words: str) -> None:
    with pytest.raises(fb.ModelError, match=words):
        fb.SignedDistance(lambda x, y, z, height=0.0: z - height, numbers=numbers)


def test_a_name_that_robot_and_terrain_share_is_refused() -> None:
    b = fb.Builder("two")
    b.body("terrain", joint=fb.joints.Free(), mass=1.0, inertia=(0.004,) * 3)
    hill = fb.SignedDistance(lambda x, y, z, mass: z - 0.01 * mass, numbers={"mass": 1.0})
    scene = fb.Scene(b.build(), hill, contacts=[Shape("terrain", "sphere", 0.1)])
    with pytest.raises(fb.ArgumentError, match="robot and one of the terrain"):
        scene.rollout(START, steps=1, numbers={"terrain.mass": 1.0})


def test_chunks_of_dask_arrays_take_them() -> None:
    da = pytest.importorskip("dask.array")
    scene = fb.Scene(brick(), fb.Plane(0.5), contacts=SHAPES["balls"])
    q, given = np.tile(START, (4, 1)), np.linspace(0.1, 0.9, 4)
    numbers = {"terrain.friction": da.from_array(given, chunks=2), "terrain.normal": [0.1, 0, 1]}
    lazy = scene.rollout(da.from_array(q, chunks=(2, 7)), steps=40, numbers=numbers)
    whole = scene.rollout(q, steps=40, numbers={"terrain.friction": given, "terrain.normal": [0.1, 0, 1]})
    assert np.array_equal(lazy.q.compute(), whole.q)


def test_a_signed_distance_must_take_its_numbers() -> None:
    with pytest.raises(fb.ModelError, match=r"function \(x, y, z, height\).*'height'"):
        fb.SignedDistance(lambda x, y, z: z, numbers={"height": 0.1})
