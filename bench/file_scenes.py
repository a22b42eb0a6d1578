"""A scene of an MJCF file, ours and MuJoCo's: the same bodies, servos, collision pairs, and states in mid-motion.

python bench/file_scenes.py FILE [options of bench/files.py]

prints what `measure` finds, as JSON; bench/files.py runs it in a process of its own for each scene, so that one that
fails or does not end leaves the others alone.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

os.environ.setdefault("FOURBAR_THREADS", "1")

import mujoco.rollout
import numpy as np

import fourbar as fb
from fourbar.bridges.mujoco import Peer
from timing import least_cpu

mj: Any = mujoco  # whose names type checkers do not see
DROP, MOVING, FAST_DT = 0.05, 0.4, 4e-3  # m above the floor; s until mid-motion; s, the step of a performance user
_CORNERS, _FACES = [0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1], [0, 2, 1, 0, 1, 3, 0, 3, 2, 1, 2, 3]


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of a measurement."""
    parser.add_argument("--all", action="store_true", help="all contacts of the file, not only those with terrain")
    parser.add_argument("--batch", type=int, default=1024, help="samples of a rollout")
    parser.add_argument("--states", type=int, default=256, help="different states among them")
    parser.add_argument("--steps", type=int, default=20, help="steps of a timed rollout")
    parser.add_argument("--turns", type=int, default=3, help="repetitions, of which the least counts")


def peer_model(path: Path, every_pair: bool) -> Any:
    """MuJoCo's model of a file, with contacts of terrain only unless every pair is asked for.

    Meshes whose files are missing become small tetrahedra where they are for display only: neither contacts nor
    inertias come from them.
    """
    spec = mj.MjSpec.from_file(str(path))
    folder, missing = Path(spec.modelfiledir) / spec.compiler.meshdir, {}
    for mesh in spec.meshes:
        if mesh.file and not (folder / mesh.file).exists():
            missing[mesh.name or Path(mesh.file).stem] = mesh.file
            mesh.file, mesh.uservert, mesh.userface = "", _CORNERS, _FACES
    in_pairs = {name for pair in spec.pairs for name in (pair.geomname1, pair.geomname2)}
    for geom in spec.geoms:
        if geom.meshname in missing:
            collides = geom.contype or geom.conaffinity or geom.name in in_pairs
            if collides or not (geom.parent.explicitinertial or geom.mass == 0.0 or geom.density == 0.0):
                raise ValueError(f"MuJoCo needs mesh {missing[geom.meshname]!r} for contacts or inertia; it is missing")
    model = spec.compile()
    if not every_pair:
        model = _without_moving_pairs(spec, model)
    return model


def _without_moving_pairs(spec: Any, model: Any) -> Any:
    """The model in which no two moving geoms may touch: each kind of static geom has a bit of its own, which those
    moving geoms have that may touch it."""
    fixed = model.body_weldid[model.geom_bodyid] == 0
    bits = np.stack([model.geom_contype, model.geom_conaffinity], axis=1)  # (geoms, 2)
    kinds = sorted({tuple(x) for x in bits[fixed].tolist()} - {(0, 0)})
    if len(kinds) > 31:
        raise ValueError(f"static geoms of {len(kinds)} kinds of contype and conaffinity; the filter has 31 bits")
    for geom in spec.geoms:
        contype, conaffinity = (int(x) for x in bits[geom.id])
        if fixed[geom.id]:
            geom.contype = 1 << kinds.index((contype, conaffinity)) if contype or conaffinity else 0
            geom.conaffinity = 0
        else:
            geom.conaffinity = sum(1 << k for k, (t, a) in enumerate(kinds) if contype & a or t & conaffinity)
            geom.contype = 0
    for pair in list(spec.pairs):
        if not any(fixed[model.geom(name).id] for name in (pair.geomname1, pair.geomname2)):
            spec.delete(pair)
    return spec.compile()


def peer_rollout(model: Any, states: np.ndarray, controls: np.ndarray, steps: int) -> np.ndarray:
    """MuJoCo's states (n, state) after some steps under controls (n, 1, nu), on one thread."""
    controls = np.ascontiguousarray(np.broadcast_to(controls, (len(states), steps, model.nu)))
    after: Any = mujoco.rollout.rollout(model, mj.MjData(model), states, controls)[0]
    return np.ascontiguousarray(after[:, -1])


def restarts(states: np.ndarray, at_least: float) -> int:
    """Number of states (n, state) whose motions MuJoCo found unstable, and put back to the start: their time (s) is
    less than that of others."""
    return int((states[:, 0] < at_least).sum())


@dataclass
class Task:
    """A scene of both, controls (states, 1, nu) that hold random postures, and states in mid-motion of each."""

    scene: fb.Scene
    model: Any
    peer: Peer
    controls: np.ndarray
    q: np.ndarray
    v: np.ndarray
    states: np.ndarray

    @classmethod
    def of(cls, scene: fb.Scene, model: Any, count: int, seed: int = 0) -> Task:
        """Both dropped from the same place, each by its own steps."""
        rng, robot, dt = np.random.default_rng(seed), scene.robot, float(model.opt.timestep)
        if robot.nu != model.nu:
            raise ValueError(f"{robot.nu} actuators here, {model.nu} in MuJoCo")
        peer = Peer(model, robot)
        limited = model.actuator_ctrllimited[:, None] > 0
        low, high = np.where(limited, model.actuator_ctrlrange, [[-1.0, 1.0]]).T
        home = model.key_ctrl[0] if model.nkey else np.zeros(model.nu)
        posture = home + 0.25 * (high - low) * rng.uniform(-1.0, 1.0, (count, 1, model.nu))
        controls = np.clip(posture, low, high)

        qpos = np.array(peer.q_to_peer(scene.start()))
        qvel = np.zeros((count, model.nv))
        for j in np.flatnonzero(model.jnt_type == mj.mjtJoint.mjJNT_FREE):
            at, dof = model.jnt_qposadr[j], model.jnt_dofadr[j]
            qpos[at + 2] += DROP
            qvel[:, dof : dof + 6] = 0.2 * rng.normal(size=(count, 6))
        q = np.repeat(peer.q_from_peer(qpos)[None], count, 0)
        v = peer.v_from_peer(qvel, q)
        states = np.zeros((count, mj.mj_stateSize(model, mj.mjtState.mjSTATE_FULLPHYSICS)))
        states[:, 1 : 1 + model.nq] = qpos
        states[:, 1 + model.nq : 1 + model.nq + model.nv] = qvel
        task = cls(scene, model, peer, controls, q, v, states)
        steps = max(1, round(MOVING / dt))
        run = task.roll(task.q, task.v, controls, steps, dt)
        task.q, task.v = (np.array(x) for x in run.last)
        task.states = peer_rollout(model, states, controls, steps)
        return task

    def roll(
        self, q: np.ndarray, v: np.ndarray, controls: np.ndarray, steps: int, dt: float, every: int | None = None
    ) -> Any:
        """Our rollout under controls (n, 1, nu) that are held."""
        given = {"u": controls, "period": steps * dt} if controls.shape[-1] else {}
        return self.scene.rollout(q, v, dt=dt, steps=steps, every=every or steps, threads=1, **given)

    def seen_by_peer(self, states: np.ndarray) -> dict[str, float]:
        """Points touching, the deepest point (m) and kinetic energies (J) of MuJoCo's states, by its geometry."""
        data, counts, deepest, energies = mj.MjData(self.model), [], 0.0, []
        for state in states:
            mj.mj_setState(self.model, data, state, mj.mjtState.mjSTATE_FULLPHYSICS)
            mj.mj_forward(self.model, data)
            mj.mj_energyVel(self.model, data)
            distances = data.contact.dist
            counts.append(int((distances < 0.0).sum()))
            deepest = min(deepest, float(distances.min(initial=0.0)))
            energies.append(float(data.energy[1]))
        return {"touching": float(np.mean(counts)), "deepest": deepest, "kinetic": float(np.mean(energies)),
                "largest": float(np.max(energies))}  # fmt: skip

    def our_states(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Our states as MuJoCo's; those that are not finite are left out."""
        finite = np.isfinite(q).all(axis=-1) & np.isfinite(v).all(axis=-1)
        q, v, model = q[finite], v[finite], self.model
        states = np.zeros((len(q), self.states.shape[1]))
        states[:, 1 : 1 + model.nq] = self.peer.q_to_peer(q)
        states[:, 1 + model.nq : 1 + model.nq + model.nv] = self.peer.v_to_peer(v, q)
        return states


def measure(path: Path, options: argparse.Namespace) -> dict[str, Any]:
    """The row of a scene: seconds as lists of samples per step and sample, and what the motions are like."""
    warnings.simplefilter("ignore")
    row: dict[str, Any] = {}
    start = time.process_time()
    model = peer_model(path, options.all)
    row["peer_loading"] = time.process_time() - start
    start = time.process_time()
    scene = fb.load_scene(path, pairs="all" if options.all else "none")
    row["loading"] = time.process_time() - start
    dt = float(model.opt.timestep)
    row |= {"nv": scene.robot.nv, "peer_nv": int(model.nv), "dt": dt}
    start = time.process_time()
    first = np.repeat(scene.start()[None], 8, 0)
    given = {"u": np.zeros((8, 1, model.nu)), "period": 10 * dt} if scene.robot.nu else {}
    scene.rollout(first, dt=dt, steps=10, every=10, threads=1, **given)
    row["first"] = time.process_time() - start
    if options.cold:
        return row
    task = Task.of(scene, model, min(options.states, options.batch))
    return row | _quality(task, options.steps) | _times(task, options)


def _quality(task: Task, steps: int) -> dict[str, Any]:
    """Our motion from its states on: unsolved steps, residual, and both ends as MuJoCo's geometry sees them."""
    dt = float(task.model.opt.timestep)
    run = task.roll(task.q, task.v, task.controls, steps, dt, every=1)
    if run.diverged.any():
        raise ValueError(f"{int(run.diverged.sum())} of {run.diverged.size} motions diverged")
    solved, gaps = run.converged[1:], run.contacts.gap[1:]
    ours = task.seen_by_peer(task.our_states(run.q[-1], run.v[-1]))
    after = peer_rollout(task.model, task.states, task.controls, steps)
    return {
        "points": len(task.scene.contacts), "pressing": float(run.contacts.found[1:].sum(axis=-1).mean()),
        "unsolved": float(1.0 - solved.mean()), "residual": float(np.nanmax(run.residual)),
        "own_deepest": float(np.nanmin(gaps, initial=0.0)), "ours": ours, "peer": task.seen_by_peer(after),
        "peer_restarts": restarts(after, float(task.states[:, 0].max()) + (steps - 1) * dt),
    }  # fmt: skip


def _times(task: Task, options: argparse.Namespace) -> dict[str, Any]:
    """CPU seconds per step and sample: a batch by both, with MuJoCo's fast settings, and one state by single calls."""
    model, steps, dt = task.model, options.steps, float(task.model.opt.timestep)
    repeats = -(-options.batch // len(task.q))
    q, v, states, controls = (
        np.ascontiguousarray(np.concatenate([x] * repeats)[: options.batch])
        for x in (task.q, task.v, task.states, task.controls)
    )
    per = steps * options.batch
    times = least_cpu({
        "ours": lambda: task.roll(q, v, controls, steps, dt),
        "peer": lambda: peer_rollout(model, states, controls, steps),
    }, options.turns)  # fmt: skip
    seconds = {name: [t / per for t in x.samples] for name, x in times.items()}

    kept = model.opt.timestep, model.opt.iterations
    model.opt.timestep, model.opt.iterations = FAST_DT, 1
    times = least_cpu({
        "ours_fast": lambda: task.roll(q, v, controls, steps, FAST_DT),
        "peer_fast": lambda: peer_rollout(model, states, controls, steps),
    }, max(1, options.turns - 1))  # fmt: skip
    seconds |= {name: [t / per for t in x.samples] for name, x in times.items()}
    after = peer_rollout(model, task.states, task.controls, steps)
    model.opt.timestep, model.opt.iterations = kept
    return {
        "peer_fast_restarts": restarts(after, float(task.states[:, 0].max()) + (steps - 1) * FAST_DT),
        "seconds": seconds | _single_calls(task, 5 * options.turns),
    }


def _single_calls(task: Task, turns: int, steps: int = 50) -> dict[str, list[float]]:
    """CPU seconds of one step by one call from Python, `scene.step` and `mj_step`, from the first state on."""
    model, scene, dt = task.model, task.scene, float(task.model.opt.timestep)
    data, control = mj.MjData(model), task.controls[0, 0]
    given = {"u": control} if scene.robot.nu else {}

    def ours() -> None:
        q, v, impulse = task.q[0], task.v[0], None
        for _ in range(steps):
            q, v, impulse, *_ = scene.step(q, v, dt=dt, impulse=impulse, **given)

    def peer() -> None:
        mj.mj_setState(model, data, task.states[0], mj.mjtState.mjSTATE_FULLPHYSICS)
        data.ctrl[:] = control
        for _ in range(steps):
            mj.mj_step(model, data)

    calls: dict[str, Callable[[], None]] = {"our_call": ours, "peer_call": peer}
    for call in calls.values():
        call()
    return {name: [t / steps for t in x.samples] for name, x in least_cpu(calls, turns).items()}


def main() -> int:
    """Measure one scene; the row goes to standard output, the reason of a failure to standard error."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--cold", action="store_true", help="load and compile only")
    add_options(parser)
    options = parser.parse_args()
    try:
        print(json.dumps(measure(options.file, options)))
    except Exception as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
