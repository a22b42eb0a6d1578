"""What of fourbar is public, by section: the list that the API page, the check of docstrings and the examples share.

A class is public with its methods and properties, those of its bases in this library first. Some members have plain
names because other modules of the library use them; `INTERNAL` lists these, and nothing of them is promised.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, Literal

from registered import actuated_methods, constrained_methods, methods, signature_of

import fourbar as fb
from fourbar import baselines, constraints, contact, control, convert, dask, errors, lagrange, loops, observe, spatial
from fourbar.bridges import drake, mujoco, pinocchio
from fourbar.functions.registry import METHODS, Method
from fourbar.identification import BaseParameters, Excitation, Fourier
from fourbar.joints import JOINT_TYPES, GroupJoint, Joint
from fourbar.sim.scenes.batch import Batch
from fourbar.sim.scenes.scene_start import Keyframe
from fourbar.sim.scenes.step_function import StepFunction
from fourbar.system.constrained.actuated import Actuated
from fourbar.system.constrained.robot import Constrained
from fourbar.system.equations import Equations
from fourbar.system.inspection import Names
from fourbar.tree.assembly import ClusterInfo

Kind = Literal["function", "method", "class", "property", "algorithm"]
SCALARS = ("sin", "cos", "tan", "sqrt", "exp", "tanh", "asin", "acos", "atan2", "minimum", "maximum", "select")
SHOWN_ALONE = ("HeightField", "Plane", "SignedDistance")  # of contacts: they are names of the package too
INTERNAL: dict[type, tuple[str, ...]] = {
    fb.System: ("model", "mechanism"),
    fb.Builder: ("mechanism",),
    Constrained: (
        "choose", "compiled", "dependent", "differentiable", "no_rows_error", "once", "quiet_force", "quiet_rows",
        "resolved", "samples",
    ),
    fb.Scene: (
        "chart", "default_dt", "function", "inputs", "may_be_apart", "model", "observer", "read_numbers",
        "read_state", "reference_velocities", "step", "step_of",
    ),
    fb.Report: ("place_of", "lines"),
    BaseParameters: ("alone", "silent"),
    spatial.Columns: ("free", "push", "accelerate"),
    spatial.Selection: ("free", "push", "accelerate"),
    spatial.Inertia: ("force",),
    control.Problem: ("read_start",),
}  # fmt: skip


@dataclass(frozen=True)
class Entry:
    """A public name: its title, docstring and signature. `brief`: a summary says it all. `silent`: returns None."""

    name: str
    kind: Kind
    doc: str
    signature: inspect.Signature | None = None
    brief: bool = False
    silent: bool = False


@dataclass(frozen=True)
class Section:
    """Public names under a title, with the object whose docstring introduces them."""

    title: str
    entries: tuple[Entry, ...]
    about: Any = None


def _signature(of: Callable[..., Any]) -> inspect.Signature:
    """Parameters without annotations, without `self` and what is private."""
    parameters = inspect.signature(of).parameters.values()
    kept = [p.replace(annotation=p.empty) for p in parameters if p.name != "self" and not p.name.startswith("_")]
    return inspect.Signature(kept)


def _doc(thing: Any) -> str:
    return inspect.cleandoc(thing.__doc__ or "")


def function(f: Callable[..., Any], prefix: str = "", brief: bool = False) -> Entry:
    """A function as an entry."""
    return Entry(f"{prefix}{f.__name__}", "function", _doc(f), _signature(f), brief)


def kind_of(kind: type, prefix: str = "", brief: bool = False) -> Entry:
    """A class as an entry, with what its constructor takes."""
    return Entry(f"{prefix}{kind.__name__}", "class", vars(kind).get("__doc__") and _doc(kind), _signature(kind), brief)


def member_names(kind: type, only_own: bool = False) -> list[str]:
    """Public members of a class and of its bases in this library, those of the bases first; fields of data left out."""
    homes = [kind] if only_own else [c for c in reversed(kind.__mro__) if c.__module__.startswith("fourbar")]
    fields = (*getattr(kind, "__dataclass_fields__", ()), *getattr(kind, "_fields", ()))
    hidden = {*INTERNAL.get(kind, ()), *fields, *(METHODS if kind is fb.System else ())}
    names = dict.fromkeys(name for home in homes for name in vars(home))
    return [name for name in names if not name.startswith("_") and name not in hidden]


def members(kind: type, only_own: bool = False, title: str = "", brief: bool = False) -> Iterator[Entry]:
    """Methods and properties of a class as entries."""
    for name in member_names(kind, only_own):
        member = inspect.getattr_static(kind, name)
        value = getattr(member, "fget", None) or getattr(member, "func", None)
        called = f"{title or kind.__name__}.{name}"
        if value is not None:
            yield Entry(called, "property", _doc(value), None, brief)
        elif callable(member):
            call = getattr(member, "__func__", member)
            silent = getattr(call, "__annotations__", {}).get("return", call) in (None, "None")
            yield Entry(called, "method", _doc(call), _signature(call), brief, silent)


def algorithms() -> Iterator[Entry]:
    """The registered methods of a robot."""
    for name, method in methods().items():
        yield Entry(f"System.{name}", "algorithm", inspect.cleandoc(method.doc), signature_of(method))


def _called(kind: type, functions: dict[str, Method], entry: Entry) -> Entry:
    """An attribute that is a function as that function; others as they are."""
    method = functions.get(entry.name.rpartition(".")[2])
    if method is None:
        return entry
    return Entry(entry.name, "algorithm", inspect.cleandoc(method.doc), signature_of(method))


def _bridge(bridge: ModuleType) -> Iterator[Entry]:
    """A peer: the function that makes a robot of ours, and what its states have beyond those of a StateMap."""
    yield function(next(f for name, f in vars(bridge).items() if name.startswith("from_")))
    yield kind_of(bridge.Peer)
    yield from members(bridge.Peer, only_own=True)


def _named(module: ModuleType, leave: Iterable[str] = ()) -> list[Any]:
    return [getattr(module, name) for name in module.__all__ if name not in leave]


def _classes(prefix: str, kinds: Iterable[type]) -> tuple[Entry, ...]:
    return tuple(kind_of(kind, prefix) for kind in kinds)


def _identification() -> Iterator[Entry]:
    yield from map(function, (fb.base_parameters, fb.identify, fb.exciting_trajectory))
    for kind in (BaseParameters, fb.Identification, Excitation, Fourier):
        yield kind_of(kind)
        yield from members(kind)


def _control() -> Iterator[Entry]:
    for thing in _named(control):
        if inspect.isclass(thing):
            yield kind_of(thing, "control.")
            yield from (x for x in members(thing, only_own=True, title=f"control.{thing.__name__}") if x.doc)
        else:
            yield function(thing, "control.")


def _conversions() -> Iterator[Entry]:
    named = _named(convert, ["StateMap"])
    yield from (function(thing) for thing in named if inspect.isfunction(thing))
    yield from (kind_of(thing, brief=True) for thing in named if inspect.isclass(thing))
    yield kind_of(convert.StateMap)
    yield from members(convert.StateMap)


_ALGEBRA = ("Twist", "Wrench", "Transform", "Inertia", "Vec", "Mat", "Columns", "Selection", "Group", "Subgroup")
_OTHER_GROUPS = ("SE2", "SE3", "SO2", "SO3", "SchoenfliesGroup", "Rn", "AbelianGroup")


def _spatial() -> Iterator[Entry]:
    """Functions, then the types with their members, which a summary explains, then the groups of the library."""
    yield from (function(thing) for thing in _named(spatial) if inspect.isfunction(thing))
    for kind in (getattr(spatial, name) for name in _ALGEBRA):
        yield kind_of(kind)
        yield from (entry for entry in members(kind, only_own=True, brief=True) if entry.doc)
    yield from (kind_of(getattr(spatial, name), brief=True) for name in _OTHER_GROUPS)


def _learning() -> Iterator[Entry]:
    gymnasium = import_module("fourbar.gymnasium")
    yield from _classes("", [gymnasium.Task, gymnasium.Targets, gymnasium.Forces, gymnasium.Controls])
    yield function(gymnasium.record)
    yield from _classes("", [gymnasium.RecordedEpisodes])
    for kind in (gymnasium.VectorEnv, gymnasium.Env):
        yield kind_of(kind)
        yield from (entry for entry in members(kind, only_own=True) if entry.name.endswith((".reset", ".step")))
    yield kind_of(gymnasium.Worlds)
    yield from members(gymnasium.Worlds)


def _written(name: str) -> Section:
    """A module that needs another library, which may be missing here: from its source."""
    package = Path(fb.__file__).parent
    text = ast.parse((package / f"{name}.py").read_text(encoding="utf-8"))
    entries = []
    for imported in (x for x in text.body if isinstance(x, ast.ImportFrom)):
        home = package.joinpath(*str(imported.module).split(".")).with_suffix(".py")
        there = {getattr(x, "name", ""): x for x in ast.parse(home.read_text(encoding="utf-8")).body}
        entries += [_from_source(name, there[alias.name]) for alias in imported.names]
    title = {"jax": "JAX", "torch": "PyTorch", "casadi": "CasADi"}[name]
    return Section(f"{title}: `fourbar.{name}`", tuple(entries), SimpleNamespace(__doc__=ast.get_docstring(text)))


def _from_source(prefix: str, made: Any) -> Entry:
    """A function or a class as an entry, without what it is made of being imported."""
    name, doc = f"{prefix}.{made.name}", ast.get_docstring(made) or ""
    if isinstance(made, ast.ClassDef):
        return Entry(name, "class", doc, None, True)
    own, parameter = made.args, inspect.Parameter
    listed = [*own.posonlyargs, *own.args]
    defaults = [None] * (len(listed) - len(own.defaults)) + [*own.defaults]
    found = [(x.arg, d, parameter.POSITIONAL_OR_KEYWORD) for x, d in zip(listed, defaults, strict=True)]
    found += [(own.vararg.arg, None, parameter.VAR_POSITIONAL)] if own.vararg else []
    found += [(x.arg, d, parameter.KEYWORD_ONLY) for x, d in zip(own.kwonlyargs, own.kw_defaults, strict=True)]
    parameters = [parameter(x, kind, default=_as_written(d)) for x, d, kind in found]
    return Entry(name, "function", doc, inspect.Signature(parameters))


def _as_written(default: ast.expr | None) -> Any:
    """A default as it is written, in a signature."""
    if default is None:
        return inspect.Parameter.empty
    return type("Written", (), {"__repr__": lambda _: ast.unparse(default)})()


def sections() -> Iterator[Section]:
    """All that is public, and at last what the package offers and no other section has."""
    found = [*_sections()]
    yield from found
    known = {entry.name.partition("(")[0] for own in found for entry in own.entries}
    about = {getattr(own.about, "__name__", "") for own in found}
    left = [getattr(fb, name) for name in fb.__all__ if name not in known | about]
    other = [x for x in left if not inspect.ismodule(x)]
    if other:
        yield Section("Other names", tuple(kind_of(x) if inspect.isclass(x) else function(x) for x in other))


def _sections() -> Iterator[Section]:
    yield Section(
        "Building",
        (
            kind_of(fb.Builder),
            *members(fb.Builder),
            kind_of(fb.Fluid),
            kind_of(fb.Actuator),
            kind_of(fb.Drive),
            kind_of(fb.Dynamics),
        ),
    )
    yield Section(
        "Files", (function(fb.load), function(fb.loads), kind_of(fb.Report), *members(fb.Report), kind_of(fb.Finding))
    )
    yield Section("Robots", (*members(fb.System), kind_of(Names), kind_of(ClusterInfo)), fb.System)
    yield Section("Algorithms", tuple(algorithms()))
    yield Section("Joints", _classes("joints.", (*JOINT_TYPES, GroupJoint)), Joint)
    yield Section("Loops", _classes("loops.", _named(loops, ["Loop"])), loops.Loop)
    held = [kind for kind in _named(constraints, ["Condition"]) if kind not in _named(loops)]
    yield Section("Constraints", _classes("constraints.", held), constraints.Condition)
    for kind, functions in ((Constrained, constrained_methods()), (Actuated, actuated_methods())):
        own = tuple(_called(kind, functions, entry) for entry in members(kind, only_own=True))
        yield Section(f"Robots: `{kind.__name__}`", own, kind)
    run = (kind_of(fb.Run), *members(fb.Run))
    yield Section(
        "Simulation", (function(fb.simulate), function(fb.rollout), function(fb.traced), *run, function(fb.linearize))
    )
    terrains = (kind_of(fb.Plane), kind_of(fb.HeightField), kind_of(fb.SignedDistance))
    step = Entry("Scene.step", "method", _doc(StepFunction.__call__), _signature(StepFunction.__call__))
    scene = (kind_of(fb.Scene), step, *members(fb.Scene), kind_of(Keyframe), kind_of(Batch), *members(Batch))
    yield Section("Contacts", (*scene, *terrains, *_classes("contact.", _named(contact, SHOWN_ALONE))))
    yield Section("Compilation", (function(fb.compile_progress), kind_of(fb.CompileProgress)))
    yield Section("Viewing", (function(fb.view), kind_of(fb.View), *members(fb.View)))
    seen = tuple(function(getattr(observe, name), "observe.") for name in observe.__all__)
    yield Section("Observations: `fourbar.observe`", seen, observe)
    yield Section("Control: `fourbar.control`", tuple(_control()), control)
    yield Section("Identification", tuple(_identification()))
    yield Section("Robots of the library", tuple(function(f, "robots.", True) for f in fb.robots.ROBOTS.values()))
    yield Section("Spatial algebra: `fourbar.spatial`", tuple(_spatial()), spatial)
    yield Section("Functions of any scalar", tuple(function(getattr(fb, name), brief=True) for name in SCALARS))
    raised = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, Exception)]
    warned = [fb.ParseError, fb.FileWarning, fb.SimulationWarning]
    yield Section("Errors and warnings", tuple(_error(kind) for kind in (*raised, *warned)))
    yield Section("Formulas: what `System.equations` returns", (kind_of(Equations), *members(Equations)))
    made = (kind_of(lagrange.Lagrangian), *members(lagrange.Lagrangian))
    yield Section("Energies differentiated: `fourbar.lagrange`", made, lagrange)
    compared = tuple(kind_of(x) if inspect.isclass(x) else function(x) for x in _named(baselines))
    yield Section("Other treatments of loops: `fourbar.baselines`", compared, baselines)
    yield Section("Many machines: `fourbar.dask`", tuple(function(f) for f in _named(dask)), dask)
    yield from map(_written, ("jax", "torch", "casadi"))
    yield Section("Conversions: `fourbar.convert`", tuple(_conversions()), convert)
    if find_spec("gymnasium") is not None:
        yield Section("Learning: `fourbar.gymnasium`", tuple(_learning()), import_module("fourbar.gymnasium"))
    for title, bridge in (("Pinocchio", pinocchio), ("MuJoCo", mujoco), ("Drake", drake)):
        yield Section(f"{title}: `{bridge.__name__}`", tuple(_bridge(bridge)), bridge)


def _error(kind: type) -> Entry:
    """An exception or warning, with the classes it can be caught as."""
    bases = ", ".join(base.__name__ for base in kind.__bases__)
    return Entry(f"{kind.__name__}({bases})", "class", _doc(kind), None, True)
