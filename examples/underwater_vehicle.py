"""An underwater vehicle with an arm: the arm swings, and the hull answers through the water that both move."""

import numpy as np

import fourbar as fb
from fourbar.joints import Free, Revolute

WATER = 1025.0  # kg/m³


def cylinder(radius: float, length: float, axis: int, current: tuple[float, float, float]) -> fb.Fluid:
    """Water around a slender cylinder at the origin of a body: it is moved across the axis, hardly along it."""
    volume = np.pi * radius**2 * length
    across, turned = WATER * volume, WATER * volume * length**2 / 12
    linear, angular = np.full(3, across), np.full(3, turned)
    linear[axis], angular[axis] = 0.1 * across, 0.0
    sides = np.full(3, 0.5 * WATER * 1.1 * 2 * radius * length)  # drag coefficient 1.1 on the side
    sides[axis] = 0.5 * WATER * 0.8 * np.pi * radius**2  # and 0.8 on the ends
    return fb.Fluid(
        added_mass=[*angular, *linear],
        volume=volume,
        density=WATER,
        linear_drag=[1.0, 1.0, 1.0, 2.0, 2.0, 2.0],
        quadratic_drag=[*(0.03 * sides * length**3), *sides],
        current=current,
    )


def vehicle(current: tuple[float, float, float] = (0.0, 0.0, 0.0)) -> fb.System:
    """A hull that floats where it is, with a heavy keel, and an arm of two links; all links have the mass of water."""
    b = fb.Builder("vehicle")
    hull, link = cylinder(0.15, 1.2, 0, current), cylinder(0.04, 0.5, 0, current)
    m, n = WATER * hull.volume, WATER * link.volume
    b.body("hull", joint=Free(), mass=m, com=(0, 0, -0.03), inertia=(1.0, 10.5, 10.5), fluid=hull)
    rod = {"mass": n, "inertia": (0.002, 0.05, 0.05), "fluid": link}
    b.body("shoulder", parent="hull", joint=Revolute("y"), position=(0.4, 0, -0.2))
    b.body("upper", parent="shoulder", position=(0.25, 0, 0), **rod)
    b.body("elbow", parent="upper", joint=Revolute("y"), position=(0.25, 0, 0))
    b.body("fore", parent="elbow", position=(0.25, 0, 0), **rod)
    return b.build()


robot = vehicle()
arm = [robot.names.velocities.index(name) for name in ("shoulder", "elbow")]
start = robot.neutral()

# Still water without drag: the arm swings by its motors, and the momentum of vehicle and water stays zero.
slippery = {
    body.name: {"fluid": fb.Fluid(added_mass=body.fluid.added_mass)} for body in robot.mechanism.bodies if body.fluid
}
ideal = robot.with_parameters(bodies=slippery, gravity=(0, 0, 0))


def swing(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Motors of the arm; the thrusters are off."""
    tau = np.zeros(robot.nv)
    tau[arm] = 2.0 * np.cos(2 * np.pi * t / 3), 0.5 * np.sin(2 * np.pi * t / 3)
    return tau


free = fb.simulate(ideal, start, duration=3.0, dt=2e-3, tau=swing, every=50)
momentum = np.abs(ideal.momentum(free.q, free.v, about="world")).max()
pitch = np.degrees(2 * np.arctan2(free.q[:, 5], free.q[:, 3]))
print(f"without drag the hull pitches by up to {np.abs(pitch).max():.1f}°; largest momentum {momentum:.0e}")
assert momentum < 1e-8

# With weight, buoyancy and drag: the keel rights the hull, and drag takes the energy that the motors gave.
real = fb.simulate(robot, start, duration=3.0, dt=2e-3, tau=swing, every=50)
pitch = np.degrees(2 * np.arctan2(real.q[:, 5], real.q[:, 3]))
print(f"in water it pitches by up to {np.abs(pitch).max():.1f}°, and drag took {real.lost[-1]:.2f} J")
coast = fb.simulate(robot, real.q[-1], real.v[-1], duration=20.0, dt=5e-3, every=200)
energy = robot.kinetic_energy(coast.q, coast.v) + robot.potential_energy(coast.q)
assert np.all(np.diff(energy) < 0.0)

# A current carries the vehicle along; thrusters that hold it need the forces of drag and current.
flowing = vehicle(current=(0.4, 0.1, 0.1))
adrift = fb.simulate(flowing, start, duration=60.0, dt=1e-2, every=500)
R = flowing.pose(adrift.q[-1], "hull")[:3, :3]
print("adrift it moves with", (R @ adrift.v[-1, 3:6]).round(3) + 0.0, "m/s; to stay it needs", end=" ")
hold = flowing.inverse_passive_dynamics(start, np.zeros(robot.nv), np.zeros(robot.nv))
print(hold[3:6].round(1) + 0.0, "N, and", hold[arm].round(2) + 0.0, "N m in the arm")
