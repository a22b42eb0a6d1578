"""Where meshes and included models of a file are: in listed folders, that of the file and its package, nowhere else."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Literal
from urllib.parse import unquote

_PACKAGES = ("package", "model")


@dataclass(frozen=True)
class MeshPath:
    """The result for an address: a path, or the reason why there is none."""

    path: str = ""
    problem: Literal["", "missing", "outside", "remote"] = ""


class Meshes:
    """Turns addresses of meshes into paths of files: package://name/path, model://name/path, file://path, path.

    `roots`: folders that are not searched by name, but into which paths from `base` may lead. `accepts`: what to look
    for.
    """

    def __init__(
        self,
        folders: Sequence[Path],
        base: Path | None,
        roots: Sequence[Path] = (),
        accepts: Callable[[Path], bool] = Path.is_file,
    ) -> None:
        self._accepts = accepts
        self._folders = tuple(absolute(f) for f in folders)
        self._roots = tuple(absolute(f) for f in roots)
        self._base = None if base is None else absolute(base)
        self._known: dict[str, MeshPath] = {}

    def find(self, address: str) -> MeshPath:
        """The file that an address names."""
        if address not in self._known:
            self._known[address] = self._find(address)
        return self._known[address]

    def _find(self, address: str) -> MeshPath:
        scheme, separator, rest = address.partition("://")
        if not separator:
            return self._plain(address)
        if scheme in _PACKAGES:
            return self._in_package(unquote(rest))
        return self._plain(unquote(rest)) if scheme == "file" else MeshPath(problem="remote")

    def _in_package(self, rest: str) -> MeshPath:
        """package://name/path: in a listed folder that contains `name`, or that is `name`; in the file's own package.

        That is a folder around the file that has this name, and a package.xml as packages of ROS do.
        """
        package, _, inside = rest.partition("/")
        tries = [(f, f / package / inside) for f in self._folders]
        tries += [(f, f / inside) for f in (*self._folders, *self._around()) if f.name == package]
        return self._first(tries)

    def _around(self) -> list[Path]:
        """The packages in which the file is."""
        above = [] if self._base is None else [self._base, *self._base.parents]
        return [f for f in above if _is_package(f)]

    def _plain(self, name: str) -> MeshPath:
        """A path: from the folder of the file, or from a listed one."""
        roots = [*([] if self._base is None else [self._base]), *self._folders]
        if PurePosixPath(name).is_absolute() or Path(name).is_absolute():
            return self._first([(root, Path(name)) for root in roots])
        tries = [(root, root / name) for root in roots]
        if self._base is not None:  # ../meshes/a.stl is fine where the folder above is listed
            tries += [(root, self._base / name) for root in (*self._folders, *self._roots)]
        return self._first(tries)

    def _first(self, tries: Sequence[tuple[Path, Path]]) -> MeshPath:
        """The first file that exists among those inside their folder."""
        outside = bool(tries)
        for root, path in tries:
            clean = Path(*_steps(path))
            if clean.is_relative_to(root):
                outside = False
                if self._is_there(clean):
                    return MeshPath(str(clean))
        return MeshPath(problem="outside" if outside else "missing")

    def _is_there(self, path: Path) -> bool:
        try:
            return self._accepts(path)
        except (OSError, ValueError):  # a name that no file can have
            return False


def _is_package(folder: Path) -> bool:
    try:
        return (folder / "package.xml").is_file()
    except OSError:
        return False


def absolute(path: Path) -> Path:
    """A path from the root of the disk, without . and .."""
    return Path(*_steps(Path.cwd() / path))


def _steps(path: Path) -> list[str]:
    """The parts of an absolute path, with . and .. resolved without access to the disk."""
    kept: list[str] = ["/" if path.anchor == "//" else path.anchor]  # POSIX keeps two slashes apart from one
    for part in path.parts[1:]:
        if part == ".." and len(kept) > 1:
            kept.pop()
        elif part not in (".", ".."):
            kept.append(part)
    return kept
