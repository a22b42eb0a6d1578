"""Runs the scenes of the gallery: pictures, recordings that play in the page, and the page itself.

docs/build.py calls `write(folder)`; to look at one alone:  python docs/make_gallery.py FOLDER [NAME ...]
"""

from __future__ import annotations

import inspect
import runpy
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import fourbar as fb
import fourbar.dask

EXAMPLES = Path(__file__).parents[1] / "examples"
SCENES: dict[str, tuple[str, Callable[[], Any]]] = {}


def scene(title: str) -> Callable[[Callable[[], Any]], Callable[[], Any]]:
    """Register a function that returns a motion."""

    def register(make: Callable[[], Any]) -> Callable[[], Any]:
        SCENES[make.__name__] = (title, make)
        return make

    return register


@scene("A four-bar swings")
def four_bar() -> Any:
    """Its loop stays closed to rounding, and its energy to the order of the step."""
    robot = fb.robots.four_bar()
    return fb.simulate(robot, robot.neutral(), [3.0], duration=4.0, dt=1e-3, every=20)


@scene("Tello's differential legs")
def tello() -> Any:
    """Motors turn; hips, knees and ankles follow through differentials and linkages. The torso floats."""
    robot = fb.robots.tello().with_gravity((0.0, 0.0, 0.0))
    phase = np.arange(robot.nv - 6)

    def motors(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        wanted = 0.8 * np.sin(3.0 * t + phase)
        return np.concatenate([np.zeros(6), 0.3 * (wanted - v[6:])])

    return fb.simulate(robot, robot.neutral(), duration=4.0, dt=1e-3, tau=motors, period=0.01, every=20)


@scene("A Stewart platform")
def stewart_platform() -> Any:
    """Six slides carry a platform: six loops through it, closed in every step."""
    robot = fb.robots.stewart_platform()
    phase = np.arange(6) * np.pi / 3

    def slides(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        wanted = 0.05 * np.sin(2.0 * t + phase)
        return robot.gravity_force(q) + 200.0 * (wanted - v)

    return fb.simulate(robot, robot.neutral(), duration=4.0, dt=1e-3, tau=slides, period=0.002, every=20)


@scene("A quadruped on rough terrain")
def quadruped() -> Any:
    """Mini Cheetah, its rotors included, drops onto bumps that are a formula and stands there by a PD law."""
    robot = fb.robots.mini_cheetah()
    feet = [name for name in robot.names.frames if "foot" in name]

    def bumps(x: Any, y: Any, z: Any) -> Any:
        return z - 0.03 * fb.sin(7.0 * x) * fb.sin(5.0 * y + 0.5)

    q = robot.neutral()
    q[2], q[7:] = 0.35, np.tile([0.0, -0.8, 1.6], 4)
    stand = q[7:].copy()

    def hold(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return np.concatenate([np.zeros(6), 40.0 * (stand - q[7:]) - 1.0 * v[6:]])

    ground = fb.Scene(robot, fb.SignedDistance(bumps, friction=0.8), contacts=feet)
    return ground.simulate(q, duration=2.0, dt=1e-3, tau=hold, period=0.002, every=20)


@scene("A swing-up by CasADi and IPOPT")
def swing_up() -> Any:
    """The plan of [an example](../examples/swing_up.md), followed by the simulation."""
    example = runpy.run_path(str(EXAMPLES / "swing_up.py"))
    robot = example["cart_pole"]()
    return example["followed"](robot, example["plan"](robot)[2])


@scene("An arm's inertias, identified")
def identification() -> Any:
    """Forces measured with noise, and those of the identified arm, on a motion it was not identified from."""
    import matplotlib.pyplot as plt

    example = runpy.run_path(str(EXAMPLES / "identify_arm.py"))
    true, arm = example["true"], example["arm"]
    t = np.linspace(0.0, 4.0, 400)
    rates = np.array([1.0, 1.7, 2.3])
    angle = t[:, None] * rates
    q, v, a = 0.8 * np.cos(angle), -0.8 * rates * np.sin(angle), -0.8 * rates**2 * np.cos(angle)
    measured = true.inverse_dynamics(q, v, a) + 0.2 * np.random.default_rng(1).normal(size=q.shape)
    figure, axes = plt.subplots(figsize=(6.4, 4.0), layout="constrained")
    axes.plot(t, measured, color="0.8")
    axes.plot(t, arm.inverse_dynamics(q, v, a))
    axes.set(xlabel="time (s)", ylabel="joint force (N m)")
    return figure


@scene("A sweep on a cluster")
def sweep_on_a_cluster() -> Any:
    """When the lower arms of ninety thousand double pendulums, let go from one position, turn over, by their masses.

    Processes of a cluster of dask compute it, here two on one machine;
    [an example](../examples/sweep_on_a_cluster.md) does it for a million.
    """
    from distributed import Client, LocalCluster

    example = runpy.run_path(str(EXAMPLES / "sweep_on_a_cluster.py"))
    masses = np.geomspace(0.1, 3.0, 300)
    upper, lower = (x.ravel() for x in np.meshgrid(masses, masses, indexing="ij"))
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster):
        lazy = fb.dask.sweep(example["time_of_turning"], upper, lower, chunk=10_000)
        turned = lazy.compute().reshape(300, 300)
    return example["drawn"](masses, turned)


def page(folder: Path, name: str) -> str:
    """The page of one scene: what it shows, its recording or picture in the folder, and the code."""
    title, make = SCENES[name]
    code = inspect.getsource(make).partition("\n")[2]
    words = inspect.cleandoc(make.__doc__ or "")
    if (folder / f"{name}.html").exists():
        frame = f'<iframe class="recording" src="../_static/recordings/{name}.html" title="{title}"></iframe>'
        shown = f"```{{raw}} html\n{frame}\n```\n"
    else:
        shown = f"![{title}](../_static/recordings/{name}.png)\n" if (folder / f"{name}.png").exists() else ""
    return f"# {title}\n\n{words}\n\n{shown}\n```python\n{code}```\n"


def card(folder: Path, name: str) -> str:
    """What the page of the gallery shows of a scene."""
    picture = f":img-top: _static/recordings/{name}.png\n" if (folder / f"{name}.png").exists() else ""
    return f":::{{grid-item-card}} {SCENES[name][0]}\n{picture}:link: gallery/{name}\n:link-type: doc\n:::\n"


def record(folder: Path, name: str) -> None:
    """A motion as a page of its own and a picture; a picture as it is."""
    made = SCENES[name][1]()
    if hasattr(made, "savefig"):
        made.savefig(folder / f"{name}.png", dpi=100)
    else:
        made.save(folder / f"{name}.html")
        made.save(folder / f"{name}.png", size=(640, 400), time=0.3 * float(made.t[-1]))
    print(f"gallery: {name}", flush=True)


def write(source: Path, run: bool = True) -> None:
    """The pages of the gallery, below the sources of the site; without recordings and pictures unless `run`."""
    folder, pages = source / "_static" / "recordings", source / "gallery"
    folder.mkdir(parents=True)
    pages.mkdir()
    for name in SCENES:
        if run:
            record(folder, name)
        (pages / f"{name}.md").write_text(page(folder, name), encoding="utf-8")
    cards, listed = "\n".join(card(folder, x) for x in SCENES), "\n".join(f"gallery/{name}" for name in SCENES)
    text = "# Gallery\n\nMotions play in the page: drag to turn, scroll to come nearer.\n\n"
    text += f"::::{{grid}} 1 2 2 3\n:gutter: 2\n\n{cards}::::\n\n```{{toctree}}\n:hidden:\n\n{listed}\n```\n"
    (source / "gallery.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    target = Path(sys.argv[1])
    target.mkdir(parents=True, exist_ok=True)
    for chosen in sys.argv[2:] or SCENES:
        record(target, chosen)
