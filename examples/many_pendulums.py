"""A thousand double pendulums at once: how fast a tiny difference at the start grows."""

import time

import numpy as np

import fourbar as fb

COUNT = 1000
robot = fb.robots.double_pendulum()
rng = np.random.default_rng(0)
q = np.array([2.6, 0.8]) + 1e-6 * rng.normal(size=(COUNT, 2))

fb.simulate(robot, q, duration=1e-3, dt=1e-3)  # compiles
begin = time.perf_counter()
run = fb.simulate(robot, q, duration=2.0, dt=1e-3, every=500)
seconds = time.perf_counter() - begin

for t, states in zip(run.t, run.q, strict=True):
    print(f"t = {t:3.1f} s: spread of the tip {robot.pose(states, 'tip')[:, :3, 3].std(axis=0).max():.1e} m")
energy = robot.kinetic_energy(run.q, run.v) + robot.potential_energy(run.q)
print(
    f"{seconds / 2000 / COUNT * 1e9:.0f} ns per step and pendulum; energy kept to {np.ptp(energy, axis=0).max():.0e} J"
)
