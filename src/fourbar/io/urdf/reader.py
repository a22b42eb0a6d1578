"""From the text of a URDF to a mechanism.

<link>: the name and the inertia of a body.

<mimic>: joints that follow another one exactly.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

import numpy as np

from ...constraints import Gear
from ...errors import unknown
from ...joints import Fixed, Free, Joint
from ...mechanism.builder import MechanismBuilder
from ...mechanism.mechanism import WORLD, Mechanism
from ...mechanism.validate import read_placement
from ...spatial.inertia import is_usable, unphysical
from ..element import Element, report_leftovers
from ..meshes import Meshes
from ..report import Place, Report, loop_key
from ..sidecar import add_sidecar
from ..source import Options, Source
from ..srdf import add_srdf
from ..xml import parse
from .closures import Closures, report_not_dependent
from .joints import Mimic, ReadJoint, check_tree, read_joint, read_origin, read_origin_numbers, with_ground
from .shapes import UrdfShapes
from .transmissions import read_transmissions


def add_mimics(builder: MechanismBuilder, joints: Mapping[str, ReadJoint]) -> None:
    """A gear for every joint that mimics another; chains of them end at a joint that mimics none."""
    for name, joint in joints.items():
        if joint.mimic is not None:
            with joint.element.reading.element():
                _add(builder, joints, name, joint.mimic)


def _add(builder: MechanismBuilder, joints: Mapping[str, ReadJoint], name: str, mimic: Mimic) -> None:
    if joints[name].joint.nv == 0:
        mimic.element.reading.note(mimic.element.place, "a fixed joint cannot mimic another")
        return
    found = _end(joints, name, mimic)
    if found is None:
        return
    driver, ratio, offset = found
    for end in (name, driver):
        if joints[end].joint.nq != 1:
            mimic.element.fail(f"joint {end!r} has {joints[end].joint.nq} coordinates; only joints with one can mimic")
    chosen = next(({end: joints[end].scale} for end in (driver, name) if joints[end].independent), {})
    reading, loop = mimic.element.reading, f"{name}_mimic"
    reading.places[loop_key(loop)] = mimic.element.place
    with reading.naming(mimic.element.place):
        builder.loop(Gear(driver, name, ratio, offset), name=loop, independent=chosen)


def _end(joints: Mapping[str, ReadJoint], name: str, mimic: Mimic) -> tuple[str, float, float] | None:
    """The joint at the end of a chain of mimics, with the ratio and offset of the whole chain.

    None where the chain ends at an unknown joint, and the user accepts that the joint then moves freely.
    """
    path = {name: None}
    ratio, offset = 1.0, 0.0
    follows: Mimic | None = mimic
    while follows is not None:
        offset, ratio = offset + ratio * follows.offset, ratio * follows.multiplier
        if follows.joint not in joints:
            text = str(unknown("joint", follows.joint, joints))
            mimic.element.reading.doubt(mimic.element.place, text, "name a joint of the file", "mimic")
            return None
        if follows.joint in path:
            shown = [*path, follows.joint]
            mimic.element.fail(f"joints mimic each other in a cycle: {' -> '.join(shown[:12])}")
        path[follows.joint] = None
        follows = joints[follows.joint].mimic
    return list(path)[-1], ratio, offset


_MOMENTS = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")


def read_link(link: Element, shapes: UrdfShapes) -> dict[str, Any]:
    """A link as arguments of `Builder.body`: mass, com, inertia about it in the link's axes, geometry."""
    _check_origin(link)
    body = _read_inertial(link)
    body["geometry"] = shapes.read(link)
    return body


def _check_origin(link: Element) -> None:
    """A link has no <origin>; an identity is harmless, any other is left to be reported."""
    if all(c.text == "" and not any(read_origin_numbers(c)) for c in link.children if c.tag == "origin"):
        for origin in link.all("origin"):
            origin.mark("*")


def _read_inertial(link: Element) -> dict[str, Any]:
    inertial = link.child("inertial")
    if inertial is None:
        return {}
    place = read_origin(inertial)
    mass, I = _read_mass(inertial), _read_moments(inertial)
    body: dict[str, Any] = {"mass": mass, "com": place.get("position", (0.0, 0.0, 0.0))}
    if inertial.children:
        _check_inertia(inertial.child("inertia") or inertial, mass, I)
    if "rpy" in place or "rotation" in place:
        with inertial.reading.naming(inertial.place):
            placed = read_placement("origin", (0.0, 0.0, 0.0), place.get("rotation"), place.get("rpy"))
        R = np.array(placed.rotation)
        with np.errstate(over="ignore", invalid="ignore"):  # the builder refuses what is not finite
            I = R @ I @ R.T
            I = 0.5 * (I + I.T)
    return {**body, "inertia": I, "allow_unphysical": True}


def _read_mass(inertial: Element) -> float:
    """The mass; zero where it is missing and that is waived."""
    mass_element = inertial.child("mass")
    if mass_element is None:
        fix = 'write <mass value="...">, or remove <inertial>'
        inertial.reading.doubt(
            inertial.place, "<mass> is missing; without it the mass is zero", fix, _key(inertial, "mass")
        )
        return 0.0
    mass = mass_element.number("value")
    if mass < 0.0:
        mass_element.fail(f"mass {mass} is negative")
    return mass


def _read_moments(inertial: Element) -> np.ndarray:
    """The inertia about the centre of mass; zero, that of a point, where it is missing and that is waived, as are
    moments that are.
    """
    tensor = inertial.child("inertia")
    if tensor is None:
        message, fix = "<inertia> is missing; without it the mass is a point", "write its six moments"
        inertial.reading.doubt(inertial.place, message, fix, _key(inertial, "inertia"))
        return np.zeros((3, 3))
    missing = [name for name in _MOMENTS if tensor.get(name) is None]
    if missing:
        some = f"attribute {missing[0]!r} is" if len(missing) == 1 else f"attributes {', '.join(missing)} are"
        message = f"{some} missing; if accepted, missing moments count as zero"
        tensor.reading.doubt(tensor.place, message, "write all six moments", tensor.key)
    xx, xy, xz, yy, yz, zz = (tensor.number(name, 0.0) for name in _MOMENTS)
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def _key(inertial: Element, tag: str) -> str:
    return f"{inertial.key}/{tag}"


def _check_inertia(tensor: Element, mass: float, I: np.ndarray) -> None:
    """Physically inconsistent inertias: a warning where equations of motion make sense with them, else an error unless
    waived.
    """
    problem = unphysical(mass, I)
    if problem is None:
        return
    report = tensor.reading.warn if is_usable(mass, I) else tensor.reading.doubt
    report(tensor.place, problem, "correct the numbers", "inertia")


# What is not understood in these places would change the dynamics.
_MATTERS = (
    "inertial/*", "inertial@*", "mass@*", "inertia@*", "joint/origin@*", "inertial/origin@*", "axis@*", "mimic@*",
    "mimic/*", "parent@*", "child@*", "link/origin*", "*loop*", "*constraint*", "*coupling*", "*closure*", "xacro:*",
    "transmission/*nertia*", "link/mass", "link/inertia", "force_element", "drake:linear_bushing_rpy",
    "drake:linear_spring_damper", "drake:deformable_properties", "drake:joint/*", "drake:joint@*",
    "dynamics@stiffness", "dynamics@armature", "dynamics@spring*",
)  # fmt: skip
_SPRING = "for a spring write spring_stiffness and spring_reference"
_NO_FORCE = "forces between bodies other than those of joints are not part of a robot here; add them to f_ext"
_FIXES = {
    "link/origin": "move it to the joint, or to inertial, visual and collision",
    "joint/dynamics@stiffness": _SPRING,
    "force_element": _NO_FORCE,
    "drake:linear_bushing_rpy": _NO_FORCE,
    "drake:linear_spring_damper": _NO_FORCE,
}
# What well-known programs add to a URDF for themselves.
_CONTACT, _CONTROL, _DRAWN = (
    "concerns contact and is ignored",
    "concerns a controller and is ignored",
    "is ignored",
)
_OTHERS = {
    "gazebo": "for Gazebo only", "mujoco": "for MuJoCo only", "ros2_control": "for ros2_control only",
    "plugin": "for another program", "sensor": "concerns a sensor and is ignored",
    "transmission/*": "concerns the hardware and is ignored", "hardwareInterface": _CONTROL,
    "link/contact": _CONTACT, "link/surface": _CONTACT, "collision/surface": _CONTACT, "link@concave": _CONTACT,
    "link/self_collision_checking": _CONTACT, "link/self_collision": _CONTACT, "link/self_filter": _CONTACT,
    "link/collision_checking": _CONTACT, "contact_coefficients": _CONTACT, "collision@group": _CONTACT,
    "collision_filter_group": _CONTACT, "drake:collision_filter_group": _CONTACT, "disable_collisions": _CONTACT,
    "drake:proximity_properties": _CONTACT, "collision/verbose": _DRAWN, "visual/verbose": _DRAWN,
    "material/*": _DRAWN, "color@*": _DRAWN, "material@*": _DRAWN, "visual@*": _DRAWN, "visual/drake:*": _DRAWN,
    "mesh/drake:*": _CONTACT, "geometry/*@type": _DRAWN, "link@type": _DRAWN, "link@drake_ignore": "for Drake only",
    "joint@dont_collapse": "for another program", "joint/joint_properties": _CONTROL,
    "dynamics@D": _CONTROL, "dynamics@K": _CONTROL, "dynamics@mu_coulomb": _CONTROL, "dynamics@mu_viscous": _CONTROL,
    "drake:controller_gains": _CONTROL, "limit@*": _CONTROL,
}  # fmt: skip


def read(source: Source, options: Options) -> tuple[Mechanism, Report]:
    """The mechanism in a URDF file."""
    reading = options.reading(source)
    root = parse(source, reading)
    builder = _read_robot(root, source, options)
    _report_gazebo(root)
    report_leftovers(root, _MATTERS, _FIXES, _OTHERS)
    reading.check()
    beside = options.extra.get("sidecar")
    added = Report() if beside is None else add_sidecar(builder, beside, options).report()
    semantic = options.extra.get("srdf")
    added += Report() if semantic is None else add_srdf(builder, semantic, options).report()
    reading.places = {**added.places, **reading.places}
    with reading.naming(Place(source.name)):
        mechanism = builder.mechanism()
    report_not_dependent(root, mechanism)
    return mechanism, reading.close() + added


def _read_robot(root: Element, source: Source, options: Options) -> MechanismBuilder:
    """The content of the file, in a builder."""
    reading = root.reading
    if root.tag != "robot":
        root.fail(f"the root element is <{root.tag}>, not <robot>", "is this a URDF?")
    _check_xacro(root)
    shapes = UrdfShapes(root, Meshes(options.folders, source.folder))
    links = _by_name(root, "link")
    joints = _read_joints(root)
    links = with_ground(root, links, joints.values())
    reading.check()
    if not links:
        root.fail("there is no <link>")
    order = check_tree(root, links, list(joints.values()))
    bodies = {}
    for name, link in links.items():
        with reading.element():
            bodies[name] = read_link(link, shapes)
    transmissions = read_transmissions(root, joints)
    reading.check()
    shapes.report_missing()
    builder = MechanismBuilder(_name(root, source))
    _add_bodies(builder, order, bodies, joints, transmissions.armatures, links, options.floating)
    add_mimics(builder, joints)
    Closures(root, builder, joints, links).read()
    transmissions.add_actuators(builder)
    _add_frames(root, builder, links)
    reading.check()
    return builder


def _check_xacro(root: Element) -> None:
    for child in root.children:
        if child.tag.startswith("xacro:"):
            root.mark(child.tag)
            child.mark("*")
            message = f"<{child.tag}> belongs to xacro, which left it unexpanded or was not run"
            fix = (
                "expand the file first: xacro model.xacro > model.urdf; remove what is left over if nothing is missing"
            )
            root.reading.doubt(child.place, message, fix, child.key)
    root.reading.check()


def _report_gazebo(root: Element) -> None:
    """Report what only Gazebo reads. Joints and links in it are part of the robot there, and may close loops."""
    for element in root.all("gazebo"):
        element.mark("*")
        added = next((c for c in element.children if c.tag in ("joint", "link", "model")), None)
        if added is None:
            root.reading.note(element.place, _OTHERS["gazebo"], key="gazebo")
        else:
            text = f"<{added.tag}> inside <gazebo> is part of the robot in Gazebo only"
            root.reading.doubt(added.place, text, "declare it as <loop>, or in a side-car file", f"gazebo/{added.tag}")


def _name(root: Element, source: Source) -> str:
    root.get("version")
    name = (root.get("name") or "").strip()
    if not name:
        name = PurePath(source.name).stem or "robot"
        root.reading.warn(
            root.place, f"the robot has no name; it is called {name!r}", 'write <robot name="...">', "robot"
        )
    return name


def _add_frames(root: Element, builder: MechanismBuilder, links: Mapping[str, Element]) -> None:
    """<frame name link xyz rpy>, which Drake reads: a placement on a link."""
    for element in root.all("frame"):
        with root.reading.element(), root.reading.naming(element.place):
            name, link = element.require("name"), element.require("link")
            if link not in links:
                element.fail(str(unknown("link", link, links)))
            at = read_origin_numbers(element)
            builder.frame(name, link, position=at[:3], rpy=at[3:])
            root.reading.places.setdefault(name, element.place)


def _by_name(root: Element, *tags: str) -> dict[str, Element]:
    """Elements by name; duplicate names are reported."""
    elements: dict[str, Element] = {}
    tag = tags[0]
    for element in sorted((e for t in tags for e in root.all(t)), key=lambda e: e.line):
        with root.reading.element():
            name = element.require("name")
            if name in elements:
                element.fail(
                    f"a second {tag} {name!r}; the first is at line {elements[name].line}", "rename one of them"
                )
            elements[name] = element
            root.reading.places[name] = element.place
    return elements


def _read_joints(root: Element) -> dict[str, ReadJoint]:
    joints: dict[str, ReadJoint] = {}
    for name, element in _by_name(root, "joint", "drake:joint").items():
        with root.reading.element():
            joints[name] = read_joint(element)
    return joints


def _add_bodies(
    builder: MechanismBuilder,
    order: list[str],
    bodies: Mapping[str, dict[str, Any]],
    joints: Mapping[str, ReadJoint],
    armatures: Mapping[str, float],
    links: Mapping[str, Element],
    floating: bool | Joint,
) -> None:
    """The bodies, parents first. A root named world, which is fixed, is the ground itself."""
    root, *others = order
    reading = links[root].reading
    with reading.naming(links[root].place):
        _add_root(builder, links[root], bodies[root], joints, floating)
    by_child = {joint.child: joint for joint in joints.values()}
    for name in others:
        joint = by_child[name]
        armature = armatures.get(joint.name, 0.0)
        with reading.element(), reading.naming(joint.element.place):
            builder.body(
                name, parent=joint.parent, joint=joint.joint, joint_name=joint.name,
                armature=armature, **joint.arguments, **bodies[name],
            )  # fmt: skip


def _add_root(
    builder: MechanismBuilder,
    link: Element,
    body: dict[str, Any],
    joints: Mapping[str, ReadJoint],
    floating: bool | Joint,
) -> None:
    name = link.require("name")
    if name == WORLD:
        if floating is not False:
            link.fail(f"the root link {WORLD!r} is the ground, which cannot float", "rename it, or remove it")
        if body.get("mass") or body["geometry"]:
            link.reading.note(link.place, f"the link {WORLD!r} is the ground; its mass and shapes are ignored")
        return
    joint = floating if isinstance(floating, Joint) else Free() if floating else Fixed()
    reserved = ("root_joint", f"{name}_root_joint")
    free = next((x for x in reserved if x not in joints), "fourbar_root_joint")
    builder.body(name, joint=joint, joint_name=free, **body)
