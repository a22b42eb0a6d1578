"""<include>: models of other files, inserted in place of the element. Nothing is downloaded.

`model://name` is a folder `name` in one of the listed folders; its model.config says which file. Paths start from the
folder of the file that includes, and must not lead out of it and of the listed ones; links in them are followed.
<include> overrides name, pose, placement_frame and static of the model.

Conventions of older versions of SDF are rewritten as the newest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from ...errors import ArgumentError
from ..element import Element
from ..meshes import Meshes, MeshPath, absolute
from ..report import Reading
from ..source import LARGEST, Options, Source, read_source
from ..xml import parse

VERSIONS = tuple(f"1.{n}" for n in range(3, 13))
_AXES_OF_JOINTS = 5  # the version 1.n from which on axes are given in the frame of the joint, before in the model's
_GRAVITY = 6  # from which on gravity is that of the world, before of its physics
_RELATIVE_TO = 7  # from which on poses name a frame by relative_to, before by frame, and all names are different


def check_version(root: Element) -> None:
    """Refuse anything but SDF of a supported version."""
    if root.tag != "sdf":
        root.fail(f"the root element of an SDF file is <sdf>, not <{root.tag[:60]}>")
    version = root.require("version")
    if version not in VERSIONS:
        root.fail(f"version {version[:60]!r} is not supported", f"expected one of {', '.join(VERSIONS)}")


def modernize(root: Element) -> Element:
    """A file, its version checked, with older conventions rewritten in place; included files come later, likewise."""
    check_version(root)
    version = int(root.attributes["version"].split(".")[1])
    if version >= _RELATIVE_TO:
        return root
    for element in _everything(root):
        if element.tag == "pose" and "frame" in element.attributes:
            frame = element.attributes.pop("frame")
            if frame.strip():
                element.attributes.setdefault("relative_to", frame)
        if version < _AXES_OF_JOINTS and element.tag == "joint":
            for axis in (child for child in element.children if child.tag in ("axis", "axis2")):
                _say_model_frame(axis)
        if version < _GRAVITY and element.tag == "world":
            _lift_gravity(element)
        if element.tag in ("model", "world"):
            _make_unique(element)
    return root


def _make_unique(scope: Element) -> None:
    """Older joints and frames may have the names of links: they are renamed, which is reported."""
    used = {child.attributes.get("name", "") for child in scope.children if child.tag in ("link", "model")}
    for tag in ("joint", "frame"):
        for child in (child for child in scope.children if child.tag == tag):
            name = child.attributes.get("name", "")
            if name and name in used:
                new_name = f"{name}_{tag}"
                while new_name in used:
                    new_name += "_"
                child.attributes["name"] = name = new_name
                message = f"a {tag} has the name of a link: it is called {new_name[:200]!r} here"
                child.reading.add("note", child.place, message, "", f"{tag}@name")
            used.add(name)


def _lift_gravity(world: Element) -> None:
    for physics in (child for child in world.children if child.tag == "physics"):
        for gravity in (child for child in physics.children if child.tag == "gravity"):
            if all(child.tag != "gravity" for child in world.children):
                gravity.parent = world
                world.children.append(gravity)
                return


def _say_model_frame(axis: Element) -> None:
    tag = "use_parent_model_frame"
    if all(child.tag != tag for child in axis.children):
        said = Element(tag, {}, axis, axis.line, axis.reading)
        said.text = "true"
        axis.children.append(said)


def _everything(root: Element) -> Iterator[Element]:
    pending = [root]
    while pending:
        element = pending.pop()
        yield element
        pending.extend(element.children)


_WHERE = ("sdf", "world", "model")
_MOST = 1000  # includes of a file, nested ones too
_DEEPEST = 20  # nesting depth of includes
_KNOWN = ("uri", "name", "pose", "placement_frame", "static")
_MISSING = {
    "missing": ("there is no such model", "give its folder with folders=[...]"),
    "outside": ("it is outside of the folder of the file, and of those listed", "give its folder with folders=[...]"),
    "remote": ("nothing is downloaded", "download it, and give its folder with folders=[...]"),
}


@dataclass
class Includes:
    """Expands the includes of a file. `bases`: the folder of each file that was read, by name."""

    options: Options
    reading: Reading
    bases: dict[str, Path | None] = field(default_factory=dict)
    count: int = 0
    size: int = 0  # bytes

    def expand(self, root: Element, source: Source) -> None:
        """Replace all <include> in a document, those of included ones too."""
        self.bases[source.name] = source.folder
        self._expand(root, (_identity(source),))

    def meshes(self, file: str) -> Meshes:
        """The finder of the files that a file names."""
        return self._finder(file, Path.is_file)

    def _finder(self, file: str, accepts: Callable[[Path], bool]) -> Meshes:
        roots = [folder for folder in self.bases.values() if folder is not None]
        return Meshes(self.options.folders, self.bases[file], roots[:1], accepts)

    def _expand(self, root: Element, ancestors: tuple[Path, ...]) -> None:
        pending = [root]
        while pending:
            element = pending.pop()
            for n, child in enumerate(element.children):
                if child.tag == "include" and element.tag in _WHERE:
                    with self.reading.element():
                        element.children[n] = self._include(child, ancestors) or child
                elif child.tag in _WHERE:
                    pending.append(child)
            element.children = [c for c in element.children if not (c.tag == "include" and c.is_read("*"))]

    def _include(self, include: Element, ancestors: tuple[Path, ...]) -> Element | None:
        """The model that replaces an <include>; None where it is left out, which is reported."""
        self.count += 1
        if self.count > _MOST:
            include.fail(f"more than {_MOST} models are included")
        if include.flag("merge", False):
            include.fail(
                "merge=true is not supported", "write the links and joints of the model here, or include it whole"
            )
        uri = include.require_child("uri").words()
        match = self._finder(include.reading.file, _is_model).find(uri)
        include.mark("*")
        if match.problem:
            problem, fix = _MISSING[match.problem]
            include.reading.doubt(include.place, f"{uri[:200]!r} cannot be included: {problem}", fix, "include")
            return None
        path = self._choose(Path(match.path), include)
        if path in ancestors:
            names = " -> ".join(p.name for p in (*ancestors[ancestors.index(path) :], path))
            include.fail(f"files include each other in a cycle: {names[:300]}")
        if len(ancestors) > _DEEPEST:
            include.fail(f"includes are nested deeper than {_DEEPEST}")
        model = self._model(path, include)
        if model is not None:
            _replace(model, include)
            self._expand(model, (*ancestors, path))
        return model

    def _read(self, path: Path, include: Element) -> Element:
        """The root of another file; its findings join ours."""
        try:
            source = read_source(path)
        except ArgumentError as error:
            include.fail(str(error))
        self.size += len(source.data)
        if self.size > LARGEST:
            include.fail(f"included files are larger than {LARGEST // 2**20} MiB together")
        self.bases.setdefault(source.name, source.folder)
        reading = Reading(source.name, self.options.strict, self.options.waive)
        reading.findings = self.reading.findings
        return parse(source, reading)

    def _choose(self, path: Path, include: Element) -> Path:
        """The file of a model: in a folder, the newest listed in its model.config that we can read."""
        if not path.is_dir():
            return path
        config = self._read(path / "model.config", include)
        listed = {e.attributes.get("version", VERSIONS[0]): e for e in config.all("sdf")}
        readable = [version for version in VERSIONS if version in listed]
        if config.tag != "model" or not readable:
            versions = ", ".join(map(repr, listed)) or "none"
            config.fail(f"no <sdf> of a supported version is listed; supported versions: {versions[:200]}")
        element = listed[readable[-1]]
        found = Meshes((), path).find(element.words()) if element.words() else MeshPath(problem="missing")
        if found.problem:
            element.fail(f"{element.words()[:200]!r} is not in the folder of the model")
        return Path(found.path)

    def _model(self, path: Path, include: Element) -> Element | None:
        """The only model of a file; None for one that contains only lights."""
        root = modernize(self._read(path, include))
        models = root.all("model")
        if not models and not root.all("world") and (root.all("light") or root.all("actor")):
            kind = "light" if root.all("light") else "actor"
            include.reading.note(include.place, f"an included {kind} is ignored: it is not part of a mechanism")
            return None
        if len(models) != 1:
            names = ", ".join(repr(e.attributes.get("name", "")) for e in models[:5]) or "none"
            root.fail(f"expected one <model> in an included file, found {len(models)}: {names[:300]}")
        return models[0]


def _is_model(path: Path) -> bool:
    return path.is_file() or (path / "model.config").is_file()


def _identity(source: Source) -> Path:
    return absolute(Path(source.name)) if source.folder is not None else Path()


def _replace(model: Element, include: Element) -> None:
    """Insert a model in place of an <include>, which overrides some of its properties."""
    for child in include.children:
        if child.tag == "plugin":
            include.reading.note(child.place, "<plugin> is ignored: it is not part of a mechanism")
        elif child.tag not in _KNOWN:
            include.reading.warn(child.place, f"<{child.tag[:60]}> is not understood", key=f"include/{child.tag[:60]}")
    model.parent = include.parent
    for tag in ("name", "placement_frame"):
        said = include.child(tag)
        if said is not None:
            model.attributes[tag] = said.words()
    if include.child("placement_frame") is not None and include.child("pose") is None:
        include.fail("<placement_frame> without <pose>: SDF needs both", "write <pose>0 0 0 0 0 0</pose>")
    for tag in ("pose", "static"):
        said = include.child(tag)
        if said is not None:
            model.children = [c for c in model.children if c.tag != tag]
            said.parent = model
            model.children.append(said)
