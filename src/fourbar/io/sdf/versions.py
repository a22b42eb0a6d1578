"""The supported versions of SDF; older conventions are rewritten as the newest."""

from __future__ import annotations

from collections.abc import Iterator

from ..element import Element

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


def modernized(root: Element) -> Element:
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
    taken = {child.attributes.get("name", "") for child in scope.children if child.tag in ("link", "model")}
    for tag in ("joint", "frame"):
        for child in (child for child in scope.children if child.tag == tag):
            name = child.attributes.get("name", "")
            if name and name in taken:
                found = f"{name}_{tag}"
                while found in taken:
                    found += "_"
                child.attributes["name"] = name = found
                message = f"a {tag} has the name of a link: it is called {found[:200]!r} here"
                child.reading.add("note", child.place, message, "", f"{tag}@name")
            taken.add(name)


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
