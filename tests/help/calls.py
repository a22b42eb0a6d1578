"""Calls of a robot's methods, right and wrong: what type checkers are shown. It is not run."""

import numpy as np

import fourbar as fb

robot = fb.robots.double_pendulum()
q, v = np.zeros(2), np.zeros(2)

a = robot.forward_dynamics(q, v, tau=v)
first: float = a[0] + 1.0
robot.forward_dynamics([0.0, 0.0], (0, 0), v, f_ext=np.zeros((2, 6)), out=a, threads=2)
shape: tuple[int, ...] = robot.pose(q, "tip").shape
shape = robot.pose.specialise("tip")(q).shape
shape = robot.pose.specialise(frame="tip").jacobian(q).q.shape
robot.velocity(q, v, "tip", at=(0, 0, 1), expressed_in="frame")
a, tau = robot.hybrid_dynamics(q, v, v, v, ["elbow"], f_ext=None)
shape = robot.hybrid_dynamics.jacobian(q, v, v, v, prescribed=["elbow"]).tau.q.shape
shape = robot.forward_dynamics.jacobian(q, v, v).tau.shape
shape = robot.forward_dynamics.jacobian(q, v, v, parameters=["upper.mass"]).parameters["upper.mass"].shape
shape = robot.forward_dynamics.jvp((q, v, v), (v, None, None)).shape
shape = robot.forward_dynamics.vjp((q, v, v), v).q.shape
shape = robot.pose.jvp(q, v, frame="tip").shape
energy: float = robot.kinetic_energy(q, v)
robot.momentum(q, v, about="world")
robot.regressor(q, v, v, columns=["inertia", "damping"], packed=True)
robot.osim_inverse(q, points=["tip"])
robot.inverse_dynamics.jacobian.jvp((q, v, v), (v, None, None))
shape = robot.lock(["elbow"]).expand(np.zeros(1)).shape
held = robot.constrained(fb.constraints.Contact("tip", "point"), actuated=["elbow"])
shape = held.jacobian(q).shape
a, force = held.forward_dynamics(q, v, v, row_acceleration=np.zeros(3))
a, tau, force = held.hybrid_dynamics(q, v, v, v, prescribed=["elbow"], least="torque")
shape = held.forward_dynamics.jacobian(q, v, v).force.tau.shape
shape = robot.actuated(["shoulder", "elbow"]).inverse_dynamics(q, v, v).shape
fb.simulate(robot, q, duration=1.0)
shape = fb.baselines.spanning_forces(robot, v).shape
shape = fb.lagrange.Lagrangian(robot).mass_matrix(q).shape
shape = fb.convert.matrix_from_euler([0.1, 0.2, 0.3], "xyz").shape
robot = fb.bridges.pinocchio.from_pinocchio(None)
robot = (
    fb.Builder("arm").body("rod", joint=fb.joints.Revolute("y"), mass=1.0).loop(fb.loops.Gear("a", "b", 2.0)).build()
)

robot.forward_dynamics(q, v)  # wrong: tau is missing
robot.forward_dynamics(q, v, torque=v)  # wrong: misspelt
robot.forward_dynamik(q, v, v)  # wrong: misspelt
robot.forward_dynamics(q, v, v, None, a)  # wrong: out goes by name
robot.pose(q)  # wrong: frame is missing
robot.pose(q, 3)  # wrong: frame is a name
robot.pose.specialise("tip")(q, "tip")  # wrong: arrays only
robot.momentum(q, v, about="origin")  # wrong: no such choice
robot.hybrid_dynamics(q, v, v, v)  # wrong: prescribed is missing
print(robot.forward_dynamics.jacobian(q, v, v).acceleration)  # wrong: no such argument
robot.pose.jvp(q, v)  # wrong: frame is missing
robot.forward_dynamics.vjp((q, v, v))  # wrong: cotangent is missing
robot.mass_matrix(q, thread=2)  # wrong: misspelt
robot.mass_matrix = 3  # wrong: frozen
fb.simulate(robot, q, time=1.0)  # wrong: misspelt
print(fb.simulat)  # wrong: misspelt
fb.joints.Revolut("y")  # wrong: misspelt
fb.loops.Geer("a", "b", 2.0)  # wrong: misspelt
fb.Builder("arm").body("rod", jiont=fb.joints.Revolute("y"))  # wrong: misspelt
held.forward_dynamics(q, v)  # wrong: tau is missing
held.hybrid_dynamics(q, v, v, v, ["elbow"], least="energy")  # wrong: no such choice
robot.actuated(["elbow"]).forward_dynamics(q, v, torque=v)  # wrong: misspelt
