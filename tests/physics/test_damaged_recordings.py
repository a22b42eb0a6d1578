"""Recordings that are damaged, or are of another robot, are refused by name."""

import numpy as np
import pytest

import fourbar as fb


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"t": np.zeros(3)}, "q must hold numbers"),
        ({"t": np.zeros((11, 1))}, "t must hold numbers"),
        ({"v": np.zeros((11, 1))}, "v must hold numbers of shape"),
        ({"v": np.full((11, 2), "x")}, "v must hold numbers"),
        ({"v": None}, "an array 'v', which is missing"),
        ({"lost": None}, "an array 'lost', which is missing"),
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
        fb.Trajectory.load(file)


def test_a_recording_without_folders_is_read(tmp_path):
    file = tmp_path / "run.npz"
    run = fb.simulate(fb.robots.double_pendulum(), [0.1, 0.2], duration=0.1, dt=0.01)
    run.save(file)
    with np.load(file) as held:
        arrays = {name: x for name, x in held.items() if name != "mesh_folders"}
    np.savez(file, **arrays)
    assert np.array_equal(fb.Trajectory.load(file).q, run.q)
