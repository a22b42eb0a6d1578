"""Digests of the programs of every method, to see that a change of the source leaves them equal.

    python bench/digests.py > before.txt         before a change
    python bench/digests.py --against before.txt after it: lists the programs that differ, with their operations

Robots: all that come with the library, the random mechanisms of the tests, their mechanisms with loops, a walker
under each kind of constraint, and scenes, whose steps are programs too. Derivatives are written down where the method
itself is small, not those of steps. `--robots` and `--methods` take patterns (`looped_*`) for a quick look; `--against`
then compares these only.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import sys
import tempfile
from collections.abc import Iterator
from fnmatch import fnmatch
from functools import partial
from pathlib import Path
from typing import Any

os.environ["FOURBAR_CACHE"] = (_CACHE := tempfile.TemporaryDirectory()).name  # programs are to be written anew
sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(1, str(Path(__file__).parents[1] / "tests"))

import fourbar as fb
from fourbar.expr import Program, to_text

OPTIONS: dict[str, dict[str, Any]] = {  # of methods that need some
    "hybrid_dynamics": {"prescribed": "first joint"},
    "pose": {"frame": "last body"},
    "velocity": {"frame": "last body"},
    "acceleration": {"frame": "last body"},
    "jacobian": {"frame": "last body"},
    "jacobian_rate": {"frame": "last body"},
    "osim": {"frames": "last body"},
    "osim_inverse": {"frames": "last body"},
    "cluster_subspace": {"cluster": "last moving body"},
    "cluster_transform": {"cluster": "last moving body"},
    "cluster_force_subspaces": {"cluster": "last moving body"},
}
CONSTRAINED = ("acceleration", "forward_dynamics", "hybrid_dynamics", "impulse", "jacobian", "osim_inverse", "rate")
SMALL = 3000  # operations of a method whose derivatives are written down too
SMALL_CONSTRAINED = 15000  # the same of robots that are held: all of their methods are large


def robots() -> Iterator[tuple[str, Any]]:
    """How every robot is made, by name."""
    from tests.algorithms.mechanisms import COUNT, mechanism
    from tests.constraints import held
    from tests.loops import looped
    from tests.loops.test_wide import ring

    for name, make in fb.robots.ROBOTS.items():
        yield name, partial(make, 4) if name in ("gt_chain", "pbt_chain") else make
    for k in range(COUNT):
        yield f"random{k}", partial(mechanism, k)
    for name, make in looped._MAKERS.items():
        yield f"looped_{name}", lambda make=make: make().build()
    for floating in (False, True):
        yield f"wide_{'floating' if floating else 'fixed'}", partial(ring, 16, floating)
    for name in held.CASES:
        yield f"held_{name}", partial(held.held, name)
    yield from scenes()


def scenes() -> Iterator[tuple[str, Any]]:
    """How scenes are made, by name: each law, shapes on terrain and on each other, few rows and many, and loops."""
    from tests.contact import bodies, walkers

    ground = fb.Plane(friction=0.6)
    laws = {"rigid": fb.contact.Rigid(), "compliant": fb.contact.Compliant(1e4, 100.0), "mujoco": fb.contact.MuJoCo()}
    for name, law in laws.items():
        yield f"scene_hopper_{name}", lambda law=law: walkers.hopper(law=law)[1]
    yield "scene_box", lambda: fb.Scene(bodies.box(), ground)
    yield "scene_box_and_ball", lambda: fb.Scene(bodies.box().attach(bodies.ball(), "world", prefix="other_"), ground)
    feet = [f"{leg}_foot_contact" for leg in ("FL", "FR", "HL", "HR")]
    yield "scene_mini_cheetah", lambda: fb.Scene(fb.robots.mini_cheetah(), ground, contacts=feet)
    yield "scene_four_bar", lambda: fb.Scene(fb.robots.four_bar(), ground, contacts=["link2"])


def methods(robot: Any) -> list[str]:
    """The names of the methods that are compiled."""
    if isinstance(robot, fb.Scene):
        return ["step"]
    if isinstance(robot, fb.System):
        return sorted(name for name, member in vars(fb.System).items() if hasattr(member, "subject"))
    return sorted(CONSTRAINED)


def function(robot: Any, name: str) -> Any:
    """A method with its options chosen."""
    if isinstance(robot, fb.Scene):
        return robot.function
    if not isinstance(robot, fb.System):
        own = {"prescribed": ["right_foot", "crank", "cart"]} if name == "hybrid_dynamics" else {}
        method = getattr(robot, name)
        return method.specialise(**own) if hasattr(method, "specialise") else method
    chosen = {
        "last body": robot.names.bodies[-1],
        "last moving body": robot.clusters[-1].bodies[-1],
        "first joint": [robot.clusters[0].velocity_names[0].split(".")[0]],
    }
    options = {key: chosen[value] for key, value in OPTIONS.get(name, {}).items()}
    if "frames" in options:
        options["frames"] = [options["frames"]]
    method = getattr(robot, name)
    return method.specialise(**options) if hasattr(method, "specialise") else method


def operations(program: Program) -> int:
    """Operations of one sample."""
    sizes = [len(block.code) for block in program.blocks]
    return sum(sizes[call.block] for call in program.calls)


def parts(f: Any) -> tuple[Any, Any]:
    """What computes the results of a function, and what is differentiated: two where rows may be redundant."""
    return (f.function, f.differentiable) if hasattr(f, "differentiable") else (f, f)


def line(name: str, program: Program) -> str:
    """Name, digest and operations of a program."""
    return f"{name} {hashlib.sha256(to_text(program).encode()).hexdigest()[:16]} {operations(program)}"


def programs(label: str, robot: Any, name: str) -> Iterator[str]:
    """The lines of a method, of it with external forces, and of its derivatives."""
    f, differentiable = parts(function(robot, name))
    program = f.program()
    yield line(f"{label}.{name}", program)
    if "f_ext" in repr(f):
        yield line(f"{label}.{name}+f_ext", f.program("f_ext"))
    if isinstance(robot, fb.Scene):
        return
    if operations(program) < (SMALL if isinstance(robot, fb.System) else SMALL_CONSTRAINED):
        for kind in ("jvp", "vjp", "jacobian"):
            derived = getattr(differentiable, kind)
            inner = getattr(derived, "function", derived)
            if hasattr(inner, "program"):
                along = [f"d_{x.name}" for x in program.inputs] if kind == "jvp" else []
                yield line(f"{label}.{name}.{kind}", inner.program(*along))


def lines(which: str = "*", what: str = "*") -> Iterator[str]:
    """All lines; what a robot does not have is said instead."""
    for label, make in robots():
        if not fnmatch(label, which):
            continue
        robot = make()
        for name in methods(robot):
            if not fnmatch(name, what):
                continue
            try:
                yield from programs(label, robot, name)
            except fb.FourbarError as error:
                yield f"{label}.{name} {type(error).__name__} 0"


def _chosen(name: str, which: str, what: str) -> bool:
    label, method, *_ = name.split(".")
    return fnmatch(label, which) and fnmatch(method.partition("+")[0], what)


def main() -> int:
    """Print the digests, or compare them with earlier ones."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--against", type=Path, help="digests that were printed before")
    parser.add_argument("--robots", default="*", help="a pattern for the names of robots")
    parser.add_argument("--methods", default="*", help="a pattern for the names of methods")
    asked = parser.parse_args()
    chosen = asked.robots, asked.methods
    if asked.against is None:
        for text in lines(*chosen):
            print(text, flush=True)
        return 0
    rows = [row.split(" ", 1) for row in asked.against.read_text(encoding="utf-8").splitlines()]
    before = {name: rest for name, rest in rows if _chosen(name, *chosen)}
    now = dict(row.split(" ", 1) for row in lines(*chosen))
    differ = [name for name in {**before, **now} if before.get(name) != now.get(name)]
    more = 0
    for name in differ:
        print(f"{name}: {before.get(name, 'absent')} -> {now.get(name, 'absent')}")
        counts = [int(x[name].split()[-1]) for x in (before, now) if name in x]
        more += counts[0] < counts[-1]
    print(f"{len(now)} programs, {len(differ)} differ, {more} of them have more operations")
    return bool(differ)


if __name__ == "__main__":
    sys.exit(main())
