"""Recordings that are damaged, or are of another robot, are refused by name."""

import zipfile

import numpy as np
import pytest

import fourbar as fb
from fourbar.sim.motions.results import load_recording


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"t": np.zeros(3)}, "q must hold numbers"),
        ({"t": np.zeros((11, 1))}, "t must hold numbers"),
        ({"v": np.zeros((11, 1))}, "v must hold numbers of shape"),
        ({"v": np.full((11, 2), "x")}, "v must hold numbers"),
        ({"v": None}, "an array 'v', which is missing"),
        ({"lost": np.zeros(3)}, "lost must hold numbers of shape"),
        ({"mesh_folders": np.array("{")}, "mesh_folders is no list"),
        ({"mesh_folders": np.array("[1]")}, "mesh_folders is no list"),
    ],
)
def test_a_damaged_trajectory_is_refused(change, words, tmp_path):
    file = tmp_path / "run.npz"
    fb.simulate(fb.robots.double_pendulum(), [0.1, 0.2], duration=0.1, dt=0.01).save(file)
    with np.load(file) as held:
        arrays = {**held, **change}
    np.savez(file, **{name: x for name, x in arrays.items() if x is not None})
    with pytest.raises(fb.ArgumentError, match=words):
        fb.Run.load(file)


def test_a_recording_without_folders_is_read(tmp_path):
    file = tmp_path / "run.npz"
    run = fb.simulate(fb.robots.double_pendulum(), [0.1, 0.2], duration=0.1, dt=0.01)
    run.save(file)
    with np.load(file) as held:
        arrays = {name: x for name, x in held.items() if name != "mesh_folders"}
    np.savez(file, **arrays)
    assert np.array_equal(fb.Run.load(file).q, run.q)


def standing(tmp_path):
    """A ball that fell on the floor, its scene, and the file of the motion."""
    b = fb.Builder("ball", gravity=(0, 0, -9.81))
    b.body("ball", joint=fb.joints.Free(), mass=1.0, inertia=(0.01, 0.01, 0.01))
    scene = fb.Scene(b.build(), fb.Plane(), contacts=[fb.contact.Shape("ball", "sphere", (0.1,))])
    run = scene.simulate([0, 0, 0.12, 1, 0, 0, 0], duration=0.2, dt=0.01)
    return scene, run, run.save(tmp_path / "run.npz")


def test_a_motion_with_contacts_is_read_again(tmp_path):
    scene, run, file = standing(tmp_path)
    read = fb.Run.load(file, scene)
    assert read.contacts.names == run.contacts.names and read.contacts.found.any()
    for name in ("t", "q", "v", "residual", "worst", "converged", "diverged", "too_fast"):
        assert np.array_equal(getattr(read, name), getattr(run, name), equal_nan=True), name
    for one, other in ((read.last, run.last), (read.residuals, run.residuals)):
        assert all(np.array_equal(x, y, equal_nan=True) for x, y in zip(one, other, strict=True))
    for name in ("gap", "force", "found"):
        assert np.array_equal(getattr(read.contacts, name), getattr(run.contacts, name), equal_nan=True)
    assert read.recording.points.shape == run.recording.points.shape
    assert fb.Run.load(file).q.shape == run.q.shape  # the robot is in the file


def test_a_damaged_motion_with_contacts_is_refused(tmp_path):
    scene, _, file = standing(tmp_path)
    with np.load(file) as held:
        arrays = {name: x for name, x in held.items() if name != "cone"}
    np.savez(tmp_path / "less.npz", **arrays)
    with pytest.raises(fb.ArgumentError, match="an array 'cone', which is missing"):
        fb.Run.load(tmp_path / "less.npz")
    np.savez(tmp_path / "wrong.npz", **arrays, cone=np.zeros(3))
    with pytest.raises(fb.ArgumentError, match="cone must hold numbers of shape"):
        fb.Run.load(tmp_path / "wrong.npz")
    with pytest.raises(fb.ArgumentError, match="1 contacts are not the 0 of the scene"):
        fb.Run.load(file, fb.Scene(scene.robot))
    np.savez(tmp_path / "other.npz", **{**arrays, "kind": np.array("Film")})
    with pytest.raises(fb.ArgumentError, match="holds a Film, not a Run"):
        fb.Run.load(tmp_path / "other.npz")


def test_arrays_larger_than_memory_are_refused_unread(tmp_path, monkeypatch):
    file = fb.simulate(fb.robots.double_pendulum(), [0.1, 0.2], duration=0.1, dt=0.01).save(tmp_path / "run.npz")
    with zipfile.ZipFile(file, "a") as held, held.open("more.npy", "w") as array:  # a header that declares 1e18 numbers
        np.lib.format.write_array_header_1_0(array, {"descr": "<f8", "fortran_order": False, "shape": (10**18,)})
    with pytest.raises(fb.ArgumentError, match=r"larger than the memory|damaged"):
        fb.Run.load(file)
    monkeypatch.setattr("fourbar.sim.motions.results.memory", lambda: 1e3)
    with pytest.raises(fb.ArgumentError, match="of arrays, this machine has 1e-06 GB of memory"):
        fb.Run.load(file)


def save_arrays(file, arrays):
    np.savez(file, **{name: x for name, x in arrays.items() if x is not None})
    return file


WRONG = {
    "scalar": lambda x: np.array(1.5),
    "text": lambda x: np.array("x"),
    "complex": lambda x: np.full(np.shape(x), 1j),
    "date": lambda x: np.array("2020-01-01", "M8[D]"),
    "record": lambda x: np.zeros(3, [("a", "f8")]),
    "longer": lambda x: np.concatenate([np.atleast_1d(x)] * 2),
    "one axis more": lambda x: x[None],
}
UNUSED = {"fourbar", "kind", "robot", "mesh_folders"}  # of which the text is checked, below
SHOWN = {"contact_points", "contact_forces", "ground_vertices", "ground_faces", "contact_shapes"}


@pytest.mark.parametrize("wrong", WRONG)
def test_every_array_of_a_wrong_form_is_refused(wrong, tmp_path):
    """Those of the motion by `Run.load`, those that are only shown by `load_recording`."""
    scene, _, file = standing(tmp_path)
    with np.load(file) as held:
        arrays = dict(held)
    assert arrays.keys() > SHOWN
    longer = {"ground_vertices", "ground_faces"} if wrong == "longer" else set()  # which are a surface all the same
    for name in arrays.keys() - UNUSED - longer:
        damaged = save_arrays(tmp_path / "damaged.npz", {**arrays, name: WRONG[wrong](arrays[name])})
        with pytest.raises(fb.ArgumentError, match=r"damaged\.npz: .*(damaged|expected arrays t and q)"):
            load_recording(damaged) if name in SHOWN else fb.Run.load(damaged, scene)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"t": np.array([0.0, np.nan, 0.02])}, "t must hold times that are finite"),
        ({"t": np.array([0.0, np.inf, 0.02])}, "t must hold times that are finite"),
        ({"t": np.array([0.0, 0.02, 0.01])}, "t must hold times that are finite and do not fall"),
        ({"fourbar": np.array(2)}, "its format is 2, this fourbar reads format 1"),
        ({"mesh_folders": np.array("[" * 100_000)}, "mesh_folders is no list"),
        ({"mesh_folders": np.array('["a\\u0000b"]')}, None),
    ],
)
def test_times_versions_and_folders_of_a_file_are_checked(change, words, tmp_path):
    file = fb.simulate(fb.robots.double_pendulum(), [0.1, 0.2], duration=0.02, dt=0.01).save(tmp_path / "run.npz")
    with np.load(file) as held:
        save_arrays(file, {**held, **change})
    if words is None:
        assert len(fb.Run.load(file).t) == 3
    else:
        with pytest.raises(fb.ArgumentError, match=words):
            fb.Run.load(file)


def test_a_file_with_changed_or_missing_bytes_is_read_or_refused_by_name(tmp_path):
    """zipfile, zlib and NumPy raise EOFError, zlib.error, NotImplementedError and others for damaged files."""
    whole = fb.simulate(fb.robots.double_pendulum(), [0.1, 0.2], duration=0.1, dt=0.01).save(tmp_path / "run.npz")
    data, rng = whole.read_bytes(), np.random.default_rng(0)
    damaged = [data[:n] for n in np.linspace(0, len(data) - 1, 25).astype(int)]
    for _ in range(150):
        changed = bytearray(data)
        for place in rng.integers(len(data), size=3):
            changed[place] = rng.integers(256)
        damaged.append(bytes(changed))
    refused = 0
    for content in damaged:
        (tmp_path / "damaged.npz").write_bytes(content)
        try:
            fb.Run.load(tmp_path / "damaged.npz")
        except fb.FourbarError as error:
            refused += 1
            assert "damaged" in str(error)
    assert refused > 100
