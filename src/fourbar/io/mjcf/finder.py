"""Where the files are that a document names: found as MuJoCo does, inside the folders that may be read.

A document that is included is part of the model that includes it. MuJoCo looks for the files it names in the folder of
that model first, and if there are none, in the folder of the document itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ..meshes import Meshes


class Finder:
    """Finds what one document names. `model`: the folder of the model that it is part of, `own`: its own folder."""

    def __init__(self, folders: Sequence[Path], model: Path | None, own: Path | None) -> None:
        self._folders, self._model = tuple(folders), model
        above = (*folders, *([] if model is None else [model]))  # into which a path may lead
        self._from_model = Meshes((), model, above)
        self._from_own = Meshes((), own, above)
        self._listed = Meshes(folders, None)

    def inside(self, own: Path | None) -> Finder:
        """The finder of a document in the folder `own` that this one includes."""
        return Finder(self._folders, self._model, own)

    def included(self, name: str) -> Path | None:
        """A document to include."""
        return _first((self._from_model, name), (self._from_own, name), (self._listed, name))

    def attached(self, name: str) -> Path | None:
        """A model to attach: from the folder of the document alone."""
        return _first((self._from_own, name), (self._listed, name))

    def mesh(self, folder: str, file: str) -> Path | None:
        """A mesh; `folder` is the `meshdir` of the model, which does not apply in a document's own folder."""
        name = f"{folder}/{file}" if folder else file
        return _first((self._from_model, name), (self._from_own, file), (self._listed, name), (self._listed, file))


def _first(*tries: tuple[Meshes, str]) -> Path | None:
    found = (meshes.find(name).path for meshes, name in tries)
    return next((Path(path) for path in found if path), None)
