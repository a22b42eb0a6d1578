"""Cases that are left out of the default run, for time: `-m slow` runs them.

Of random mechanisms the first three stand in the default run. Mechanisms that take long to compile stand there in the
tests of KEPT, where others would not see what they do; so do one case or more of every test with several. What else is
listed repeats something many times to see that it does not leak, grow or depend on chance.
"""

from __future__ import annotations

import re

HEAVY = (
    "tripod", "stewart_platform", "moored", "spatial_crank", "chained", "nested", "explicit", "written", "everything",
    "repeated",
)  # fmt: skip
SEEDS = 3  # of random mechanisms, that are enough
KEPT = ("test_forward_and_inverse_dynamics_undo_each_other", "test_projection_of_the_spanning_tree", "test_jacobian")
REPEATED = (
    "bench/test_scripts.py::test_a_cluster_beside_plain_processes",
    "bench/test_scripts.py::test_cold_first_calls",
    "bench/test_scripts.py::test_rollouts",
    "bench/test_scripts.py::test_constraints_beside_a_peer",
    "bench/test_scripts.py::test_derivatives_beside_a_peer",
    "compile/test_at_once.py::test_first_calls_of_different_functions_and_robots[off-24]",
    "compile/test_many.py::test_code_of_dead_robots_is_freed",
    "compile/test_many.py::test_many_robots_need_few_mappings[300-0.0]",
    "compile/test_memory.py::test_small_stacks_suffice",
    "compile/test_memory.py::test_two_hundred_robots",
    "compile/test_processes.py::test_other_processes[forkserver]",
    "compile/test_signals.py::test_a_handler_that_returns_changes_nothing[together]",
    "compile/test_signals.py::test_an_error_in_a_handler_ends_a_batch[by name, together]",
    "compile/test_signals.py::test_an_error_in_a_handler_ends_a_batch[together]",
    "compile/test_watched.py::test_results_that_are_given_up_are_freed",
    "constraints/test_embedded.py::test_a_screw",
    "constraints/test_embedded.py::test_same_accelerations[chained]",
    "constraints/test_embedded.py::test_same_accelerations[nested]",
    "constraints/test_forward.py::test_equations_in_high_precision[twice]",
    "derivatives/test_constraint_numbers.py::test_a_small_chain[impulse]",
    "derivatives/test_held_numbers.py::test_inverse_dynamics_along_numbers",
    "derivatives/test_layouts.py::test_backwards",
    "derivatives/test_overconstrained.py::test_there_are_derivatives[bricard]",
    "derivatives/test_varying.py::test_functions_are_those_of_robots_with_these_parameters[tello]",
    "edit/test_mirror.py::test_motion_is_mirrored[5]",
    "edit/test_mirror.py::test_motion_is_mirrored[guided]",
    "expr/test_size.py::test_large_graphs_are_built_differentiated_and_evaluated[deep]",
    "expr/test_size.py::test_time_grows_about_linearly",
    "loops/test_errors.py::test_loops_that_close_outside_the_limits_have_dynamics",
    "loops/test_grouping.py::test_groups_form_a_tree",
    "loops/test_identity.py::test_equal_clusters_share_their_code",
    "loops/test_identity.py::test_programs_do_not_depend_on_the_order_of_hashes[1]",
    "robots/test_dynamics.py::test_different_robots",
    "robots/test_dynamics.py::test_mass_matrix_and_forward_dynamics[jvrc1]",
    "targets/test_casadi.py::test_a_long_chain_shares_its_code",
    "targets/test_casadi.py::test_derivatives[tello]",
)


def is_slow(node: str) -> bool:
    """Whether a test, by its id such as "tests/loops/test_dynamics.py::test_momentum[tripod]", is one of these."""
    node = node.removeprefix("tests/")
    if node.startswith(REPEATED):
        return True
    name, _, case = node.rpartition("::")[2].partition("[")
    words = re.split(r"[-, \]]", case)
    many = re.fullmatch(r"(?:tree)?(\d+)\]", case)
    return name not in KEPT and (bool(set(words) & set(HEAVY)) or (many is not None and SEEDS <= int(many[1]) < 20))
