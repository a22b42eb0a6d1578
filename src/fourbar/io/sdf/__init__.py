"""SDF 1.3 to 1.12: models of links and joints, which may form loops; frames; nested models; gearboxes and screws."""

from __future__ import annotations

from ...mechanism.builder import MechanismBuilder
from ...mechanism.mechanism import Mechanism
from ..element import Element, report_leftovers
from ..loop_repair import report_loops, straighten_axes
from ..report import Report, loop_key
from ..source import Options, Source
from ..xml import parse
from .build import Assembly
from .include import Includes, modernize
from .joints import MATTERS, note_others
from .links import SdfShapes
from .scope import collect

# What would change the motion, or is a missing body, joint or placement.
_MATTERS = (
    "include", "state", "actor", "population", "road", "link@*", "link/inertial*", "inertial/*", "inertial@*",
    "inertia/*", "fluid_added_mass", "joint@*", "joint/*", "joint/axis/*", "joint/axis2/*", "dynamics/*", "limit/*",
    "xyz@*", "mimic/*", "mimic@*", "pose@*", "frame/*", "frame@*", "model@*", "gripper", "drake:joint/*", *MATTERS,
)  # fmt: skip
_UNUSED = ("plugin", "self_collide", "allow_auto_disable", "enable_wind", "light", "gui", "scene", "physics", "audio")


def read(source: Source, options: Options) -> tuple[Mechanism, Report]:
    """The mechanism in an SDF file: of its only model, or of all models of its world."""
    reading = options.reading(source)
    root = modernize(parse(source, reading))
    includes = Includes(options, reading)
    includes.expand(root, source)
    reading.check()
    top = _top(root)
    scopes = collect(root if top.tag == "model" else top)
    for scope in scopes:
        _note_unused(scope.element)
    if not any(scope.of("link") for scope in scopes):
        top.fail("there is no <link>: the file contains no bodies")
    b = MechanismBuilder(top.require("name"), gravity=_gravity(top))
    Assembly(scopes, SdfShapes(includes.meshes), reading).add_to(b, options.floating)
    reading.check()  # an element that was refused is only partly read
    note_others(root)
    report_leftovers(root, _MATTERS)
    reading.check()
    for kind in ("link", "joint"):
        reading.places.update({item.full: item.element.place for scope in scopes for item in scope.of(kind)})
    joints = {item.full: item.element.place for scope in scopes for item in scope.of("joint")}
    reading.places.update({loop_key(name): place for name, place in joints.items()})
    with reading.naming(top.place):
        mechanism = straighten_axes(b.mechanism(), options, reading, lambda name: joints.get(name, top.place))
    report_loops(mechanism, reading, lambda kind, name: joints.get(name, top.place))
    return mechanism, reading.close()


def _top(root: Element) -> Element:
    """The world of a file, or its only model."""
    candidates = root.all("world") or root.all("model")
    if len(candidates) != 1:
        names = ", ".join(repr(e.attributes.get("name", "")) for e in candidates[:5]) or "none"
        root.fail(f"expected one <world> or one <model>, found {len(candidates)}: {names}")
    return candidates[0]


def _gravity(top: Element) -> tuple[float, ...]:
    if top.tag == "model":
        return (0.0, 0.0, -9.81)
    gravity = top.child("gravity")
    return (0.0, 0.0, -9.8) if gravity is None else gravity.text_numbers(3)


def _note_unused(element: Element) -> None:
    for tag in _UNUSED:
        for child in element.all(tag):
            child.mark("*")
            element.reading.note(child.place, f"<{tag}> is ignored: it is not part of a mechanism")
