"""Scenes from model files."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ..contact.terrain import Terrain
from ..errors import OneWarning
from ..hints import with_keyword_hints
from ..io.formats import FORMATS
from ..joints.base import Joint
from ..system.load import FileWarning, load
from .outcome import SimulationWarning
from .scene import Scene


class SceneWarning(SimulationWarning, FileWarning):
    """Parts of a file were not understood, and shapes or limits of its model do not act."""


@with_keyword_hints
def load_scene(
    path: str | Path,
    *terrains: Terrain,
    format: str | None = None,
    strict: bool = False,
    waive: Iterable[str] = (),
    floating: bool | Joint = False,
    folders: Iterable[str | Path] = (),
    **options: Any,
) -> Scene:
    """Load a scene from a model file: robots and objects, what does not move, and how they touch.

    Parameters
    ----------
    path : str or Path
        MJCF with its floor, or any other file that `load` reads: a world in SDF, or a URDF with terrain of its own.
    *terrains : Plane, HeightField, SignedDistance or Solid
        What does not move, instead of what the file has fixed to the world.
    format : str, optional
        As in `load`; likewise the next four.
    strict : bool, default False
        Make errors of warnings.
    waive : iterable of str, optional
        Findings to accept.
    floating : bool or Joint, default False
        True puts the root on a free joint.
    folders : iterable of str or Path, optional
        Where packages and meshes are looked for.
    **options : object
        What `Scene` takes by name, such as contacts, pairs, law and tolerance; and options of one format, such as
        srdf="robot.srdf" beside a URDF.

    Returns
    -------
    Scene
        The scene; its `robot` is all that moves, and its `keyframes` are the configurations of the file.

    Raises
    ------
    ParseError
        If the file cannot be read.

    Warns
    -----
    FileWarning
        If parts of the file were not understood.
    SimulationWarning
        If shapes or limits of the model do not act. Several warnings are one that lists them, and is of both classes
        where they differ.

    See Also
    --------
    load : The robot alone.

    Examples
    --------
    >>> import tempfile, fourbar as fb
    >>> b = fb.Builder("ball")
    >>> _ = b.body("ball", joint=fb.joints.Free(), mass=1.0, inertia=(0.004, 0.004, 0.004))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = b.build().save(f"{folder}/ball.json")
    ...     scene = fb.load_scene(f"{folder}/ball.json", fb.Plane(), contacts=["ball"])
    >>> scene.contacts
    ('ball',)
    """
    known = {name for x in FORMATS.values() for name in x.options}
    reading = {name: options.pop(name) for name in known & set(options)}
    with OneWarning(str(path), SceneWarning):
        robot = load(path, format=format, strict=strict, waive=waive, floating=floating, folders=folders, **reading)
        return Scene(robot, *terrains, **options)
