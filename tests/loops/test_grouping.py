"""Which links loops tie together: plain integers, by examples and as properties."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fourbar as fb
from fourbar.expr import interpret
from fourbar.functions import merging
from fourbar.joints import Free, Revolute
from fourbar.loops import Gear
from fourbar.tree.grouping import GROUND, LinkClusters

from .looped import bars, mechanism, near, shaped

pytestmark = pytest.mark.drawn_in_line

CHAIN = [GROUND, 0, 1, 2, 3, 4, 5, 6]  # each link on the one before


def tied(parents: Sequence[int], moved: Sequence[int], touched: Sequence[int]) -> set[int]:
    """The links of one loop."""
    groups = LinkClusters(parents)
    link = groups.tie(moved, touched)
    return set() if link == GROUND else next(set(group) for group in groups if link in group)


def group_links(parents: Sequence[int], loops: Sequence[Collection[int]]) -> list[tuple[int, ...]]:
    """The groups when loops use the coordinates of these links."""
    groups = LinkClusters(parents)
    for loop in loops:
        groups.tie(loop, [])
    return list(groups)


def test_without_loops_every_link_is_alone() -> None:
    assert group_links([GROUND, 0, 0, GROUND], []) == [(0,), (1,), (2,), (3,)]


TREE = [GROUND, 0, 0, 1, 2, GROUND]  # 0 carries 1 and 2, these carry 3 and 4; 5 stands alone
TIED: dict[str, tuple[list[int], list[int], set[int]]] = {
    "joints of brothers": ([1, 2], [], {1, 2}),
    "joint of father and son": ([1, 3], [], {1, 3}),
    "joint of a link and of its grandson": ([0, 3], [], {0, 1, 3}),
    "joints of cousins": ([3, 4], [], {1, 2, 3, 4}),
    "poses of cousins": ([], [3, 4], {1, 2, 3, 4}),
    "poses of father and son": ([], [1, 3], {3}),
    "pose in the world": ([], [3, GROUND], {0, 1, 3}),
    "pose in the world only": ([], [GROUND, GROUND], set()),
    "the same link twice": ([], [3, 3], set()),
    "several roots": ([5, 1], [], {0, 1, 5}),
    "a joint and a pose": ([4], [3], {1, 2, 3, 4}),
    "one joint": ([3], [], {3}),
}


@pytest.mark.parametrize("case", TIED)
def test_what_one_loop_ties(case: str) -> None:
    moved, touched, expected = TIED[case]
    assert tied(TREE, moved, touched) == expected


def test_loops_side_by_side() -> None:
    assert group_links(CHAIN, [{0, 1}, {2, 3}]) == [(0, 1), (2, 3), (4,), (5,), (6,), (7,)]


def test_overlapping_loops_merge() -> None:
    assert group_links(CHAIN, [{1, 2}, {2, 3}]) == [(0,), (1, 2, 3), (4,), (5,), (6,), (7,)]


def test_a_loop_within_a_loop() -> None:
    assert group_links(CHAIN, [{1, 2, 3, 4}, {2, 3}]) == [(0,), (1, 2, 3, 4), (5,), (6,), (7,)]


@pytest.mark.parametrize("order", [[0, 1, 2, 3], [3, 2, 1, 0], [0, 2, 1, 3], [3, 0, 2, 1]])
def test_a_chain_of_merges(order: list[int]) -> None:
    """Each loop overlaps the next: all become one, in whatever order they come."""
    loops = [{0, 1}, {1, 2}, {2, 3}, {3, 4}]
    assert group_links(CHAIN, [loops[i] for i in order]) == [(0, 1, 2, 3, 4), (5,), (6,), (7,)]


def test_merging_takes_in_what_lies_between() -> None:
    """Two gears on one link whose other halves are far apart: the group must hang on one link."""
    parents = [GROUND, 0, 1, 0, 3]
    loops = [tied(parents, [2, 4], [])]
    assert group_links(parents, loops) == [(0,), (1, 2, 3, 4)]


links = st.integers(1, 14).flatmap(
    lambda n: st.tuples(
        st.tuples(*(st.integers(GROUND, i - 1) for i in range(n))),
        st.lists(st.lists(st.integers(GROUND, n - 1), min_size=1, max_size=3), max_size=5),
        st.lists(st.lists(st.integers(0, n - 1), min_size=1, max_size=3), max_size=5),
    )
)


@pytest.mark.slow
@settings(max_examples=400, deadline=None, derandomize=True)
@given(links)
def test_groups_form_a_tree(drawn: tuple[tuple[int, ...], list[list[int]], list[list[int]]]) -> None:
    """Every link in one group; every loop within one; every group hangs on one other; what carries comes first."""
    parents, touched, moved = list(drawn[0]), drawn[1], drawn[2]
    loops = [tied(parents, [], poses) for poses in touched] + [tied(parents, joints, []) for joints in moved]
    groups = group_links(parents, loops)
    assert sorted(link for group in groups for link in group) == list(range(len(parents)))
    number = {link: n for n, group in enumerate(groups) for link in group}
    for loop in loops:
        assert len({number[link] for link in loop}) <= 1
    for n, group in enumerate(groups):
        carriers = {parents[link] for link in group} - set(group)
        above = {number.get(link, GROUND) for link in carriers}
        assert len(above) == 1 and max(above) < n
        assert list(group) == sorted(group)
    assert groups == group_links(parents, loops[::-1])


def test_no_group_is_larger_than_needed() -> None:
    """Random trees with two loops: apart they stay apart, and what only one of them holds is not drawn in."""
    rng = np.random.default_rng(0)
    merged = 0
    for _ in range(200):
        n = int(rng.integers(3, 9))
        parents = [int(rng.integers(GROUND, i)) for i in range(n)]
        loops = [tied(parents, rng.integers(0, n, 2).tolist(), []) for _ in range(2)]
        found = sorted(group for group in group_links(parents, loops) if len(group) > 1)
        if loops[0] & loops[1]:
            merged += 1
            (group,) = found or [tuple(loops[0])]
            assert set(group) >= loops[0] | loops[1]
        else:
            assert found == sorted(tuple(sorted(loop)) for loop in loops if len(loop) > 1)
    assert merged > 20


def path(parents: Sequence[int], link: int) -> list[int]:
    """The link, its parent, ..., down to the ground."""
    return [link] if link == GROUND else [link, *path(parents, parents[link])]


def smallest_groups(parents: Sequence[int], loops: Sequence[tuple[list[int], list[int]]]) -> list[tuple[int, ...]]:
    """Groups that hang on one link each, by sets that grow until nothing changes: by the links between a loop and the
    nearest that carries all of it, by groups that share a link, and by what lies between a group and the nearest link
    that carries all of it.
    """
    found = []
    for moved, touched in loops:
        ends = [path(parents, parents[link]) for link in moved] + [path(parents, link) for link in touched]
        top = max(set(ends[0]).intersection(*ends[1:]))
        found.append({x for link in (*moved, *touched) for x in path(parents, link) if x > top})
    found = [group for group in found if group] + [{link} for link in range(len(parents))]
    while True:
        whole: list[set[int]] = []
        for group in found:
            for other in [x for x in whole if x & group]:
                whole.remove(other)
                group = group | other
            carriers = [path(parents, parents[link]) for link in group if parents[link] not in group]
            top = max(set(carriers[0]).intersection(*carriers[1:])) if carriers else GROUND
            whole.append(group | {x for way in carriers for x in way if x > top})
        if sorted(map(sorted, whole)) == sorted(map(sorted, found)):
            return sorted(tuple(sorted(group)) for group in whole)
        found = whole


@settings(max_examples=300, deadline=None, derandomize=True)
@given(links)
def test_groups_are_the_smallest(drawn: tuple[tuple[int, ...], list[list[int]], list[list[int]]]) -> None:
    parents = drawn[0]
    loops = [([], poses) for poses in drawn[1]] + [(joints, []) for joints in drawn[2]]
    loops += [(a, b) for (_, b), (a, _) in zip(loops, loops[::-1], strict=True) if a and b]  # joints and poses together
    groups = LinkClusters(parents)
    for moved, touched in loops:
        groups.tie(moved, touched)
    whole = smallest_groups(parents, [loop for loop in loops if loop[0] or loop[1]])
    found = list(groups)
    assert all(any(set(group) <= set(x) for x in whole) for group in found)  # finer than groups that hang on one link
    if not drawn[2]:
        assert found == whole


class CountedReads(list[int]):
    """A list that counts how often an entry is read."""

    reads = 0

    def __getitem__(self, key: Any) -> Any:
        self.reads += 1
        return super().__getitem__(key)


def test_mimics_along_a_chain_do_not_pass_all_of_it_again() -> None:
    """Twenty thousand joints that follow the first: 2e8 links lie between them, in all."""
    n = 20_000
    clusters = LinkClusters(range(-1, n - 1))
    clusters._before = before = CountedReads(clusters._before)
    for link in range(1, n):
        assert clusters.tie([0, link], []) == 0
    assert list(clusters) == [tuple(range(n))]
    assert before.reads < 30 * n


def test_figure_5_of_the_paper() -> None:
    """Chignoli, Fig. 5 (bodies from one on): the third cluster hangs on two bodies of the first, in whatever order."""
    parents = [GROUND, 0, 1, 0, 3, 0, 1]
    loops: list[tuple[list[int], list[int]]] = [([], [2, GROUND]), ([3, 4], []), ([5, 6], [])]
    for order in (loops, loops[::-1]):
        groups = LinkClusters(parents)
        for moved, touched in order:
            groups.tie(moved, touched)
        assert list(groups) == [(0, 1, 2), (3, 4), (5, 6)]


def test_the_outermost_cluster_is_merged_first() -> None:
    """A gear between joints on a cluster and on a link that it carries: with that link it hangs on the cluster."""
    assert group_links([GROUND, 0, 0, 2, 1], [{0, 2}, {3, 4}]) == [(0, 2), (1, 3, 4)]


def test_clusters_by_name() -> None:
    """What the user sees of it."""
    described = {c.joints: (c.loops, c.carrier) for c in mechanism("nested").clusters}
    assert described[("crank", "coupler", "rocker", "lever", "swing", "rotor")] == (("outer", "inner", "gear"), "world")
    assert described[("tool",)] == ((), "lever")
    carriers = {c.joints[0]: c.carrier for c in mechanism("chained").clusters}
    assert carriers == {
        "trolley": "world", "a_crank": "trolley", "b_crank": "a_rocker", "arm": "b_coupler", "hand": "arm",
        "bucket": "a_coupler",
    }  # fmt: skip


def geared_four_bar(gears: int) -> fb.System:
    """A floating four-bar with gears between joints on its crank and on its coupler."""
    b = fb.Builder("geared_four_bar")
    shaped(b, "base", 80, joint=Free())
    b.loop(bars(b, "", (1.0, 0.4, 0.9, 0.7), carrier="base"), name="four_bar", independent=["crank"])
    for i in range(gears):
        shaped(b, f"wheel{i}", 90 + i, parent="crank", joint=Revolute("x"), position=(0.2, 0.1 * i, 0.05))
        shaped(b, f"driven{i}", 190 + i, parent="coupler", joint=Revolute("y"), position=(0.3, 0.1, 0.05 * i))
        b.loop(Gear(f"wheel{i}", f"driven{i}", -2.0), name=f"gear{i}")
    return b.build()


def test_gears_between_bodies_of_a_cluster_are_clusters_of_their_own() -> None:
    """They hang on both bodies; as one cluster the operations for each further gear would grow."""
    robots = [geared_four_bar(n) for n in range(5)]
    assert [c.bodies for c in robots[2].clusters if c.loops] == [
        ("crank", "coupler", "rocker"), ("wheel0", "driven0"), ("wheel1", "driven1"),
    ]  # fmt: skip
    assert robots[2].clusters[-1].carriers == ("crank", "coupler")
    for method in ("forward_dynamics", "inverse_mass_matrix"):
        counts = [getattr(robot, method).program().operations for robot in robots]
        columns = [robot.nv if method == "inverse_mass_matrix" else 1 for robot in robots]  # of the result
        growth = [(b - a) / n for a, b, n in zip(counts, counts[1:], columns[1:], strict=False)]
        assert max(growth[1:]) <= 1.05 * growth[0], counts


def figure_5(floating: bool) -> fb.System:
    """Chignoli's Fig. 5: a four-bar, an arm with a motor on its crank, and a gear between its crank and its coupler."""
    b, carrier = fb.Builder("figure_5"), "base" if floating else "world"
    if floating:
        shaped(b, "base", 80, joint=Free())
    b.loop(bars(b, "", (1.0, 0.4, 0.9, 0.7), carrier=carrier), name="four_bar", independent=["crank"])
    shaped(b, "arm", 81, parent="crank", joint=Revolute("y"), position=(0.1, 0, 0.1))
    shaped(b, "rotor", 82, parent="arm", joint=Revolute("x"), position=(0, 0, 0.1))
    b.loop(Gear("arm", "rotor", 6.0), name="motor")
    shaped(b, "wheel", 83, parent="crank", joint=Revolute("x"), position=(0.2, 0, 0.05))
    shaped(b, "driven", 84, parent="coupler", joint=Revolute((0.0, 0.6, 0.8)), position=(0.3, 0.1, 0))
    return b.loop(Gear("wheel", "driven", -2.0), name="gear").build()


def two_places() -> fb.System:
    """Two places with clusters on several links: merging pays in one and not in the other."""
    one = mechanism("coupled")
    return one.merge(geared_four_bar(3).with_gravity(one.gravity), prefix="other_")


ON_SEVERAL = {
    "figure_5": lambda: figure_5(floating=False),
    "floating_figure_5": lambda: figure_5(floating=True),
    "coupled": lambda: mechanism("coupled"),
    "one_gear": lambda: geared_four_bar(1),
    "three_gears": lambda: geared_four_bar(3),
    "two_places": lambda: two_places(),
}
INVERTING = (
    "forward_dynamics", "passive_dynamics", "solve_mass_matrix", "inverse_mass_matrix", "osim_inverse",
    "hybrid_dynamics",
)  # fmt: skip
OPTIONS: dict[str, dict[str, Any]] = {
    "osim_inverse": {"frames": ["coupler"]},
    "hybrid_dynamics": {"prescribed": ["crank"]},
}


@pytest.mark.parametrize("name", list(ON_SEVERAL))
def test_clusters_are_merged_where_that_takes_fewer_operations(name: str) -> None:
    """No program has more operations than with the paper's clusters, or with all of them merged; both are the same."""
    robot = ON_SEVERAL[name]()
    rng = np.random.default_rng(0)
    states = {"q": robot.random(1, 3)} | {x: rng.normal(size=(3, robot.nv)) for x in ("v", "a", "tau", "b")}
    for method in INVERTING:
        function = getattr(robot, method)
        if method in OPTIONS:
            function = function.specialise(**OPTIONS[method])
        recording = function.state[0].recording
        merging = [x.record for x in recording.method.rivals if "merging" in x.record.__name__]
        assert len(merging) == 1
        own, merged = (
            recording.record_algorithm(x, recording.select_arguments(recording.required_names))
            for x in (recording.method.record, *merging)
        )
        assert function.program().operations <= min(own.operations, merged.operations)
        arrays = {x: states[x] for x in recording.required_names}
        separate, together = (interpret(x, arrays) for x in (own, merged))
        for result in separate:
            near(together[result], separate[result], 1e-9)


def test_each_place_is_merged_where_that_pays(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two mechanisms side by side one is merged, which takes fewer operations than all or none; also where numbers
    vary.
    """
    both = ON_SEVERAL["two_places"]()
    assert [len(own) for own in merging._cheapest_groups(both.model)] == [3]
    recording = both.forward_dynamics.state[0].recording
    arguments = recording.select_arguments(recording.required_names)
    kept = recording.write(recording.required_names).operations
    separate = recording.record_algorithm(recording.method.record, arguments).operations
    monkeypatch.setattr(merging, "_cheapest_groups", lambda model: merging._groups(model.cluster_tree.clusters))
    whole = recording.record_algorithm(recording.method.rivals[-1].record, arguments).operations
    monkeypatch.undo()
    assert kept < 0.97 * min(separate, whole)
    q, v, tau = both.random(0), *np.random.default_rng(1).normal(size=(2, both.nv))
    twist = np.array([0.01, 0.02, 0.0, 0.03, 0.0, 0.01])
    varied = both.varying("arm.placement")
    a = varied.forward_dynamics(q, v, tau, twist)
    near(varied.inverse_dynamics(q, v, a, twist), tau, 1e-9)


SINGLE = ("inverse_dynamics", "forward_dynamics", "mass_matrix", "inverse_mass_matrix", "hybrid_dynamics",
          "coriolis_matrix", "osim_inverse", "solve_mass_matrix")  # fmt: skip


@pytest.mark.parametrize("name", ["figure_5", "floating_figure_5", "coupled", "one_gear", "three_gears"])
def test_operations_fall_against_clusters_on_one_link(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every program has fewer operations than with clusters that each hang on one link."""

    def counts() -> dict[str, int]:
        robot, found = ON_SEVERAL[name](), {}
        for method in SINGLE:
            function = getattr(robot, method)
            function = function.specialise(**OPTIONS[method]) if method in OPTIONS else function
            recording = function.state[0].recording
            found[method] = recording.write(recording.required_names).operations  # not from the disk cache
        for method in ("forward_dynamics", "inverse_dynamics"):
            jacobian = getattr(robot, method).jacobian.recording
            found[f"{method}.jacobian"] = jacobian.write(jacobian.required_names).operations
        return found

    def hang_on_one(self: LinkClusters, link: int) -> None:
        while len(self._carriers[link]) > 1:
            link = self._merge([link, self.first(max(self._carriers[link]))])

    several = counts()
    monkeypatch.setattr(LinkClusters, "_hang", hang_on_one)
    mechanism.cache_clear()
    single = counts()
    mechanism.cache_clear()
    assert all(several[method] <= single[method] for method in several), (several, single)
    assert several["forward_dynamics"] < 0.97 * single["forward_dynamics"]


def test_which_clusters_are_merged() -> None:
    """The clusters of Fig. 5 stay apart, on the ground and in flight; those of a mechanism nested twice are merged."""

    def chosen(robot: fb.System) -> str:
        recording = robot.forward_dynamics.state[0].recording
        counts = {
            x.__name__: recording.record_algorithm(x, recording.select_arguments(recording.required_names)).operations
            for x in (recording.method.record, recording.method.rivals[-1].record)
        }
        return min(counts, key=lambda name: counts[name])

    assert [chosen(ON_SEVERAL[x]()) for x in ("figure_5", "floating_figure_5")] == ["forward_dynamics"] * 2
    assert chosen(ON_SEVERAL["coupled"]()) == "_by_merging"
    clusters = [c.bodies for c in figure_5(floating=False).clusters]
    assert clusters == [("crank", "coupler", "rocker"), ("arm", "rotor"), ("wheel", "driven")]
