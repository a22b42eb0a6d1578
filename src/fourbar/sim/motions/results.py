"""The common part of all results of a simulation: they can be shown, and written to a file."""

from __future__ import annotations

import json
import warnings
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, NamedTuple
from zipfile import ZipFile, is_zipfile

import numpy as np

from ...arrays import memory
from ...contact.shapes import Shape
from ...errors import ArgumentError, FourbarError, warn
from ...io.formats import FORMATS
from ...io.source import check_path
from ...mechanism.geometry import Geometry
from ...mechanism.mechanism import Mechanism
from ...representation import html_table
from ...system.closed_states import FLAT
from ...system.load import FileWarning, loads
from ...system.system import System
from ...viewer.export import notebook, write
from ...viewer.recorded_motion import RecordedMotion
from ...viewer.triangles import TriangleSurface, merge, shade
from .outcome import SimulationWarning

_FORMAT = 1
POINTS, FORCES, VERTICES, FACES = "contact_points", "contact_forces", "ground_vertices", "ground_faces"
TOUCHING = "contact_shapes"
_OBSERVED = "observations/"  # before the names of observations
_ROBOT, _FOLDERS, _KIND, _VERSION = "robot", "mesh_folders", "kind", "fourbar"


class Recorded(ABC):
    """A motion that was recorded. It can be shown, `fb.view(run)`, and saved."""

    @property
    @abstractmethod
    def recording(self) -> RecordedMotion:
        """The motion as the viewer takes it.

        Returns
        -------
        RecordedMotion
            The robot and its configurations over time.

        Raises
        ------
        ArgumentError
            If the motion has no robot.
        """

    def save(self, path: str | Path, **options: Any) -> Path:
        """Write the motion to a file, in the format that its ending names.

        Parameters
        ----------
        path : str or Path
            ``.npz``: all arrays and the robot, for `Run.load` and ``fourbar view``. ``.html``: a page of its own
            that plays the motion in any browser, without a server. ``.glb``: binary glTF with animation, for Blender
            and others. ``.gif``, ``.mp4``: a film; ``.png``: a picture.
        **options : object
            ``ghosts=5``: translucent copies at 5 times (.html, .glb, .png). ``rate=60.0``: states per second at most.
            ``layers=["shapes", "frames", "axes", "mass", "inertia", "collision", "ground"]``: what is drawn.
            ``spread=1.0``: distance (m) between the worlds of a batch; in one place if not given. ``follow=True``: the
            camera follows the base, ``follow="hand"`` a body by name (not .glb). Pictures also take ``size=(960, 600)``
            in pixels, and ``time=0.0`` (.png).

        Returns
        -------
        Path
            The file.

        Raises
        ------
        ArgumentError
            If the ending is not known, the file cannot be written, or the motion has no robot.

        Examples
        --------
        >>> import fourbar as fb, tempfile
        >>> robot = fb.robots.four_bar()
        >>> run = fb.simulate(robot, robot.neutral(), duration=0.1, dt=0.01)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     run.save(f"{folder}/run.html").name
        'run.html'
        """
        where = check_path(path)
        if not where.parent.is_dir():
            raise ArgumentError(f"save: file {str(path)!r} cannot be written: there is no folder {str(where.parent)!r}")
        try:
            self._write(where, options)
        except OSError as error:
            raise ArgumentError(f"save: file {str(path)!r} cannot be written: {error}") from None
        return where

    def _write(self, path: Path, options: dict[str, Any]) -> None:
        if path.suffix.lower() != ".npz":
            write(self.recording, path, **options)
            return
        if options:
            raise ArgumentError(f"save: {', '.join(options)} is not an option of .npz files, which hold everything")
        shown = self.recording
        arrays = self._arrays() | (shown_arrays(shown) if shown.terrains or shown.points.size else {})
        save_arrays(path, type(self).__name__, arrays, shown.robot)

    def _arrays(self) -> dict[str, np.ndarray]:
        """The arrays that a file holds, by name."""
        own = {f.name: x for f in fields(self) if isinstance(x := getattr(self, f.name), np.ndarray)}  # type: ignore[arg-type]
        return own | {_OBSERVED + name: x for name, x in getattr(self, "observations", {}).items()}

    def _repr_html_(self) -> str:
        table = html_table(repr(self), ("array", "shape", "least", "largest"),
                           (_summary(*pair) for pair in self._arrays().items()))  # fmt: skip
        return notebook(lambda: self.recording, table)


def _summary(name: str, x: np.ndarray) -> tuple[str, ...]:
    """An array as a row of a table: its shape and its range, of what is finite."""
    if x.dtype.kind not in "fiu":
        return name, str(x.shape), "-", "-"
    finite = x[np.isfinite(x)]
    extremes = (f"{finite.min():.6g}", f"{finite.max():.6g}") if finite.size else ("-", "-")
    return name, str(x.shape), *extremes


def save_arrays(path: Path, kind: str, arrays: Mapping[str, np.ndarray], robot: System) -> None:
    """Write arrays with the robot that they belong to, if a file can hold it."""
    about = {_VERSION: np.array(_FORMAT), _KIND: np.array(kind)}
    mechanism, folders = _findable(robot.mechanism)
    try:
        text, _ = FORMATS["json"].write(mechanism, path.name)
        about |= {_ROBOT: np.array(text), _FOLDERS: np.array(json.dumps(folders))}
    except FourbarError as error:
        warn(f"save: {path.name} holds the motion but not the robot; give robot= when loading it: {error}",
             SimulationWarning)  # fmt: skip
    with path.open("wb") as file:
        np.savez_compressed(file, allow_pickle=False, **arrays, **about)


def _findable(mechanism: Mechanism) -> tuple[Mechanism, list[str]]:
    """A mechanism whose meshes are found again in the folders, which are returned too."""
    folders: set[str] = set()

    def findable(shapes: tuple[Geometry, ...]) -> tuple[Geometry, ...]:
        shapes_found = []
        for shape in shapes:
            steps = (shape.mesh.partition("://")[2] or shape.mesh).split("/")
            plain = shape.file and ".." not in steps and Path(shape.file).parts[-len(steps) :] == tuple(steps)
            if shape.file:
                folders.add(str(Path(*Path(shape.file).parts[: -len(steps)]) if plain else Path(shape.file).parent))
            shapes_found.append(shape if plain or not shape.file else replace(shape, mesh=shape.file))
        return tuple(shapes_found)

    bodies = tuple(replace(b, geometry=findable(b.geometry)) for b in mechanism.bodies)
    return replace(mechanism, bodies=bodies, world=findable(mechanism.world)), sorted(folders)


def load_arrays(
    path: str | Path, robot: System | None = None, folders: Any = ()
) -> tuple[str, dict[str, np.ndarray], System]:
    """A saved motion: its kind, its arrays, and the robot (the given one, if it has the right size)."""
    path = Path(path)
    try:
        _check_size(path)
        with np.load(path, allow_pickle=False) as file:
            held = {name: file[name] for name in file.files}
    except ArgumentError:
        raise
    except MemoryError:
        raise ArgumentError(f"{path.name} holds arrays that are larger than the memory of this machine") from None
    except OSError as error:
        raise ArgumentError(f"{path.name} cannot be read as a recording (.npz): {error}") from None
    except Exception:  # of zipfile, zlib or NumPy, which have a dozen kinds of errors for damaged files
        raise ArgumentError(f"{path.name} is not a recording written by run.save('x.npz'), or it is damaged") from None
    _check_version(path, held)
    if robot is None:
        if _ROBOT not in held:
            raise ArgumentError(f"{path.name} has no robot; give robot=")
        known = [*folders, *_mesh_folders(path, held)]
        with warnings.catch_warnings():  # who built the robot was warned of its assembly
            warnings.filterwarnings("ignore", rf".*warnings? \({FLAT}\)", FileWarning)
            robot = loads(str(held[_ROBOT]), format="json", name=path.name, folders=known)
    arrays = {k: x for k, x in held.items() if k not in (_ROBOT, _FOLDERS, _KIND, _VERSION)}
    if not {"t", "q"} <= arrays.keys() or arrays["q"].shape[-1:] != (robot.nq,):
        shape = arrays["q"].shape if "q" in arrays else None
        raise ArgumentError(f"{path.name}: expected arrays t and q (..., {robot.nq}) of {robot.name!r}, got q {shape}")
    return str(held.get(_KIND, np.array("Run"))), arrays, robot


def _check_version(path: Path, held: Mapping[str, np.ndarray]) -> None:
    """Refuse a file of another format than this fourbar writes; a file without a version is of the first."""
    version = held.get(_VERSION, np.array(_FORMAT))
    if version.shape != () or version.dtype.kind not in "iu" or int(version) != _FORMAT:
        raise ArgumentError(
            f"{path.name}: its format is {str(version)[:40]}, this fourbar reads format {_FORMAT}; it is damaged, or a "
            "newer fourbar wrote it"
        )


def _check_size(path: Path) -> None:
    """Refuse a file whose arrays, unpacked, are larger than the memory of this machine."""
    if not is_zipfile(path):
        return
    with ZipFile(path) as file:
        size = float(sum(x.file_size for x in file.infolist()))
    if size > memory():
        raise ArgumentError(
            f"{path.name} ({path.stat().st_size / 1e6:.3g} MB) holds {size / 1e9:.3g} GB of arrays, this machine has "
            f"{memory() / 1e9:.3g} GB of memory"
        )


def _mesh_folders(path: Path, held: Mapping[str, np.ndarray]) -> list[str]:
    """The folders of meshes that a file names, of which those are left that exist."""
    try:
        names = json.loads(str(held.get(_FOLDERS, "[]")))
    except (ValueError, RecursionError):
        names = None
    if not isinstance(names, list) or not all(isinstance(x, str) for x in names):
        raise ArgumentError(f"{path.name}: {_FOLDERS} is no list of folders; the file is damaged")
    return [x for x in names if "\0" not in x and Path(x).is_dir()]


class Form(NamedTuple):
    """The form of a saved array: its axes after those of time and of the batch, the kinds of its numbers.

    axes: None if any. over_time: whether the first axis is time. kinds: letters of `numpy.dtype.kind`.
    """

    axes: tuple[int, ...] | None = ()
    kinds: str = "fiu"
    over_time: bool = True


_KINDS = {"b": "booleans", "iu": "whole numbers"}  # numbers otherwise


def check_forms(path: str | Path, arrays: Mapping[str, np.ndarray], forms: Mapping[str, Form]) -> None:
    """Refuse arrays of a file that do not have their forms, and times that are not finite or that fall."""
    t, batch = arrays["t"], arrays["q"].shape[1:-1]
    _check_form(path, "t", t, (None,), "fiu")
    if not (np.isfinite(t).all() and (np.diff(t) >= 0).all()):
        raise ArgumentError(
            f"{Path(path).name}: t must hold times that are finite and do not fall; the file is damaged"
        )
    for name, form in forms.items():
        lead = (*t.shape * form.over_time, *batch)
        free = (None,) * (arrays[name].ndim - len(lead)) if form.axes is None else form.axes
        _check_form(path, name, arrays[name], (*lead, *free), form.kinds)


def _check_form(path: str | Path, name: str, array: np.ndarray, shape: tuple[int | None, ...], kinds: str) -> None:
    """Refuse an array of another shape, in which None is any number, or with numbers of other kinds."""
    fits = array.ndim == len(shape) and all(b in (None, a) for a, b in zip(array.shape, shape, strict=True))
    if not fits or array.dtype.kind not in kinds:
        expected = str(shape).replace("None", "n")
        raise ArgumentError(
            f"{Path(path).name}: {name} must hold {_KINDS.get(kinds, 'numbers')} of shape {expected}, got "
            f"{array.dtype} {array.shape}; the file is damaged, or belongs to another robot"
        )


def observation_forms(arrays: Mapping[str, np.ndarray]) -> dict[str, Form]:
    """The forms of the observations among arrays of a file."""
    return {name: Form(None, "fiub") for name in arrays if name.startswith(_OBSERVED)}


def loaded_observations(arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The observations among arrays of a file, by name."""
    return {name.removeprefix(_OBSERVED): x for name, x in arrays.items() if name.startswith(_OBSERVED)}


def load_recording(path: str | Path, robot: System | None = None, folders: Any = ()) -> RecordedMotion:
    """Any motion that was saved to a .npz file, as it is shown."""
    _, arrays, robot = load_arrays(path, robot, folders)
    check_forms(path, arrays, {"q": Form((robot.nq,))})
    shown: dict[str, Any] = {}
    if arrays.get(POINTS, np.zeros(0)).size:
        shown = {"points": arrays[POINTS], "forces": arrays.get(FORCES, np.zeros(0))}
        expected = (len(arrays["t"]), arrays["q"][0].size // robot.nq, *arrays[POINTS].shape[2:-1], 3)
        if any(x.shape != expected or x.ndim != 4 or x.dtype.kind != "f" for x in shown.values()):
            raise ArgumentError(
                f"{Path(path).name}: {POINTS} and {FORCES} must hold numbers (times, worlds, contacts, 3), got "
                f"{' and '.join(str(x.shape) for x in shown.values())}; the file is damaged"
            )
    if VERTICES in arrays:
        shown["ground"] = (_ground(path, arrays[VERTICES], arrays.get(FACES, np.zeros(0))),)
    if TOUCHING in arrays:
        try:
            shown["touching"] = tuple(Shape(*given) for given in json.loads(str(arrays[TOUCHING])))
        except (ValueError, TypeError, RecursionError) as error:
            raise ArgumentError(
                f"{Path(path).name}: {TOUCHING} is no list of shapes ({error}); the file is damaged"
            ) from None
    return RecordedMotion.of(robot, arrays["t"], arrays["q"], **shown)


def _ground(path: str | Path, vertices: np.ndarray, faces: np.ndarray) -> TriangleSurface:
    """The ground that a file holds, as a surface."""
    shaped = all(x.ndim == 2 and x.shape[1] == 3 for x in (vertices, faces))
    if not shaped or vertices.dtype.kind != "f" or faces.dtype.kind not in "iu":
        raise ArgumentError(
            f"{Path(path).name}: {VERTICES} and {FACES} must hold numbers (n, 3) and whole numbers (m, 3), got "
            f"{vertices.dtype} {vertices.shape} and {faces.dtype} {faces.shape}; the file is damaged"
        )
    if not np.isfinite(vertices).all() or (faces.size and not (faces.min() >= 0 and faces.max() < len(vertices))):
        raise ArgumentError(f"{Path(path).name}: {VERTICES} and {FACES} are no surface; the file is damaged")
    return shade(vertices, faces)


def shown_arrays(recording: RecordedMotion) -> dict[str, np.ndarray]:
    """The arrays that a file needs to show contacts and ground, besides the motion."""
    arrays = {POINTS: recording.points, FORCES: recording.forces}
    surfaces = recording.surfaces()
    if surfaces:
        whole = merge(surfaces)
        arrays |= {VERTICES: whole.vertices, FACES: whole.faces}
    if recording.touching:
        touching = [(x.frame, x.kind, x.size, x.position, x.rotation) for x in recording.touching]
        arrays[TOUCHING] = np.array(json.dumps(touching))
    return arrays
