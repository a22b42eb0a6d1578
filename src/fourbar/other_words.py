"""Words that other libraries have for what fourbar offers: only mistakes need them."""

from __future__ import annotations

from functools import cache

# What others call the same: our name, then theirs. Case, underlines and "get", "compute", "calc" in front do not count.
_ARGUMENTS = {
    "a": "acc acceleration accelerations ddq qacc qdd qddot vdot",
    "com": "center centre center_of_mass centroid",
    "damping": "b kd viscous",
    "dt": "delta_t h sample_time step_size time_step timestep",
    "duration": "horizon length seconds steps t_end t_final tf time total_time",
    "f_ext": "ext_forces external_forces fext wrench wrenches xfrc_applied",
    "floating": "fixed_base floating_base free_flyer freeflyer root_joint",
    "folders": "mesh_dir mesh_path package_dir package_dirs package_path search_path",
    "frame": "body body_name ee end_effector frame_id frame_name link link_name site",
    "friction": "coulomb friction_coefficient mu",
    "numbers": "model_parameters parameter parameters params",
    "gear": "gear_ratio ratio reduction",
    "gravity": "g",
    "gravity_compensation": "gravcomp",
    "inertia": "I inertia_matrix moments",
    "kd": "damping derivative_gain",
    "kp": "gain proportional_gain stiffness",
    "kv": "damping gain",
    "limits": "bounds joint_limits range",
    "mass": "m",
    "max_force": "effort effort_limit force_limit torque_limit",
    "parent": "parent_body parent_link",
    "position": "offset origin pos translation xyz",
    "q": "angles configuration joint_positions positions pos qpos theta",
    "ratio": "gear gear_ratio n reduction",
    "rotation": "orientation quat quaternion R rotation_matrix",
    "rpy": "euler euler_angles orientation",
    "stiffness": "k kp",
    "steps": "horizon iterations n n_steps num_steps",
    "tangents": "da direction directions dq dv dtau q_dot qdot tangent v_dot vdot",
    "cotangent": "cot cotangents w weight weights",
    "tau": "control controls effort forces generalized_forces joint_forces joint_torques torque torques u",
    "u": "action actions command commands control controls ctrl input",
    "threads": "jobs n_jobs n_threads num_threads workers",
    "v": "dof_vel dq joint_velocities qd qdot qvel velocities velocity",
}
_ROBOT = {
    "acceleration": "body_acceleration frame_acceleration link_acceleration spatial_acceleration",
    "actuator_matrix": "actuation_matrix B S",
    "bias_force": "bias bias_forces bias_term h nle non_linear_effects qfrc_bias",
    "center_of_mass": "centre_of_mass center_of_mass_position com com_position subtree_com",
    "center_of_mass_jacobian": "com_jacobian jac_com jac_subtree_com jacobian_center_of_mass jcom",
    "centroidal_matrix": "ccrba centroidal_map centroidal_momentum_matrix cmm",
    "chart_rate": "qdot velocity_to_qdot n_matrix map_velocity_to_qdot",
    "configurations": "home keyframes keyframe keys poses_by_name reference_configurations",
    "constrained": "add_constraint constraint_dynamics contact_dynamics with_constraints",
    "control_force": "actuation ctrl_to_force",
    "coriolis_force": "coriolis_vector velocity_product",
    "coriolis_matrix": "C coriolis",
    "difference": "differentiate_pos log minus subtract",
    "forward_dynamics": "aba articulated_body_algorithm lcaba fd forward",
    "gravity_force": "generalized_gravity gravity_compensation gravity_forces gravity_torque gravity_vector "
    "gravity_generalized_forces static_torque",
    "inertial_parameters": "dynamic_parameters inertias parameters theta",
    "integrate": "exp integrate_pos plus retract",
    "inverse_dynamics": "compute_torque computed_torque id inverse rnea",
    "inverse_kinematics": "ik ikine",
    "inverse_mass_matrix": "inv_mass_matrix inverse_inertia minv minverse",
    "jacobian": "body_jacobian frame_jacobian geometric_jacobian jac jac_body jac_site jacob0 jacobe joint_jacobian "
    "spatial_jacobian spatial_velocity_jacobian",
    "jacobian_rate": "djacobian frame_jacobian_time_variation jacobian_derivative jacobian_dot "
    "jacobian_time_derivative jacobian_time_variation jdot",
    "kinetic_energy": "energy kinetic mechanical_energy total_energy",
    "limits": "joint_limits lower_limits position_limits upper_limits velocity_limits effort_limits",
    "lock": "build_reduced_model fix fix_joints freeze reduced reduced_model",
    "loop_gap": "closure_error constraint_error constraint_residual phi",
    "loop_jacobian": "constraint_jacobian constraints_jacobian K",
    "loop_map": "G",
    "mass_matrix": "crba full_m generalized_inertia H inertia inertia_matrix joint_space_inertia_matrix M",
    "momentum": "centroidal_momentum spatial_momentum spatial_momentum_in_world_about_point",
    "names": "actuator_names body_names bodies coordinate_names frame_names frames joint_names joints link_names links",
    "neutral": "default_configuration neutral_configuration q0 qpos0 zero zero_configuration",
    "nq": "n_q num_positions",
    "nu": "n_actuators n_u num_actuated_dofs num_actuators",
    "nv": "dof dofs n_dof n_dofs n_v ndof ndofs num_dofs num_velocities",
    "osim": "lambda operational_space_inertia operational_space_inertia_matrix task_space_inertia",
    "osim_inverse": "delassus delassus_matrix inverse_operational_space_inertia",
    "pose": "body_pose fkine forward_kinematics frame_placement frame_pose frame_transform link_pose transform",
    "poses": "body_poses fk forward_kinematics frames_forward_kinematics link_fk link_poses transforms xpos",
    "potential_energy": "energy mechanical_energy potential total_energy",
    "random": "random_configuration sample",
    "regressor": "inverse_dynamics_regressor joint_torque_regressor",
    "reactions": "constraint_forces joint_reactions reaction_forces",
    "save": "dump export to_file to_json to_mjcf to_sdf to_urdf write",
    "solve_mass_matrix": "solve_m",
    "twists": "body_velocities link_velocities",
    "velocity": "body_velocity frame_velocity link_velocity spatial_velocity twist",
    "with_gravity": "set_gravity",
    "with_parameters": "set_inertia set_mass set_parameter set_parameters with_mass",
    "fb.Scene(robot)": "batch step",
    "fb.rollout(robot, ...)": "rollout",
    "fb.simulate(robot, ...)": "run simulate simulation",
    "fb.view(robot)": "animate display draw render view viewer visualize",
    "fb.export_c(robot, ...)": "codegen export_c generate_c to_c",
    "fb.identify(robot, ...)": "identify",
}
_BUILDER = {
    "actuator": "add_actuator add_drive",
    "body": "add_body add_joint add_link joint link",
    "build": "compile finalize finish system",
    "configuration": "add_keyframe key keyframe",
    "frame": "add_frame add_site site",
    "loop": "add_closure add_constraint add_gear add_loop closure constraint gear",
    "motor": "add_motor",
    "position_servo": "add_servo position servo",
    "rotor": "add_rotor geared_motor gearmotor",
    "velocity_servo": "velocity",
}
_SCENE = {
    "batch": "envs parallel vectorize worlds",
    "contact_points": "contact_positions points",
    "keyframes": "configurations keys",
    "rollout": "rollouts run",
    "simulate": "simulation",
    "start": "initial_state reset",
    "step": "advance forward",
}
_MODULE = {
    "Builder": "ModelBuilder MechanismBuilder MjSpec Spec",
    "Plane": "Floor Ground",
    "Run": "ContactRun Result Rollouts Trajectory",
    "Scene": "Env Environment Simulation Simulator World",
    "System": "Model MjModel MultibodyPlant Robot RobotModel RobotWrapper",
    "joints": "joint",
    "load": "build_model_from_urdf build_model_from_mjcf from_file from_mjcf from_path from_sdf from_urdf "
    "from_xml_path load_mjcf load_model load_robot load_sdf load_urdf load_xml open read",
    "load_scene": "load_world scene_from_file",
    "loads": "from_string from_xml_string load_string",
    "loops": "closures loop",
    "robots": "examples models",
    "simulate": "simulation",
    "view": "display render show visualize",
}
_JOINTS = {
    "Fixed": "Weld",
    "Free": "Floating FreeFlyer Free6 SixDof",
    "Helical": "Screw",
    "Prismatic": "Linear Slide Slider Translational",
    "Revolute": "Continuous Hinge Pin RevoluteUnbounded Rotary Rotational",
    "Spherical": "Ball BallJoint Quaternion",
    "Universal": "Cardan",
}
_LOOPS = {
    "Closure": "Connect Cut JointClosure LoopJoint PointClosure RevoluteClosure Weld",
    "Coupling": "Equality Linear LinearCoupling Mimic Tendon",
    "Differential": "BevelDifferential",
    "Distance": "Rod Link Rope Tie",
    "Gear": "Belt Gearbox GearPair Pulley Transmission",
    "Parametric": "Explicit",
    "Constraint": "Custom Implicit",
}
_ROBOTS = {
    "cassie_leg": "cassie digit",
    "double_pendulum": "acrobot pendubot pendulum",
    "mini_cheetah": "cheetah quadruped go1",
    "mit_humanoid": "humanoid",
    "stewart_platform": "hexapod gough stewart",
    "differential_wrist": "differential wrist",
}
SCOPES = {
    "argument": _ARGUMENTS, "Builder": _BUILDER, "Scene": _SCENE, "robot": _ROBOT, "fourbar": _MODULE,
    "fourbar.joints": _JOINTS, "fourbar.loops": _LOOPS, "fourbar.robots": _ROBOTS,
}  # fmt: skip


def plain(name: str) -> str:
    """A name without case, underscores and prefixes such as get."""
    word = name.replace("_", "").lower()
    for verb in ("compute", "calc", "get"):
        if word.startswith(verb) and len(word) > len(verb):
            return word.removeprefix(verb)
    return word


@cache
def names_of(scope: str) -> dict[str, list[str]]:
    """Our names by the words of others."""
    ours: dict[str, list[str]] = {}
    for name, words in SCOPES.get(scope, {}).items():
        for word in dict.fromkeys(map(plain, (name, *words.split()))):
            ours.setdefault(word, []).append(name)
    return ours
