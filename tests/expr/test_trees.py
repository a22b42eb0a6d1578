"""Nested tuples taken apart and put together."""

from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fourbar.expr import Graph, Value, flatten, leaves, tree_map, unflatten

from .schedules import Couple
from .support import EXAMPLES

FEW = settings(EXAMPLES, max_examples=40)


class Pair(NamedTuple):
    first: object
    second: object


scalars = st.floats(allow_nan=False)
structure = st.none() | st.integers() | st.text(max_size=3) | st.booleans()
trees = st.recursive(
    scalars | structure,
    lambda inner: (
        st.lists(inner, max_size=4).map(tuple)
        | st.tuples(inner, inner).map(Pair._make)
        | st.lists(inner, max_size=3).map(Couple)
    ),
    max_leaves=10,
)


def classes(tree):
    """The tree with every item replaced by its class."""
    return (tree.__class__, *map(classes, tree)) if isinstance(tree, tuple) else tree.__class__


@FEW
@given(trees)
def test_flatten_and_back(tree):
    found, shape = flatten(tree)
    again = unflatten(shape, iter(found))
    assert again == tree
    assert classes(again) == classes(tree)


@FEW
@given(trees)
def test_leaves_are_the_floats_from_left_to_right(tree):
    found, _ = flatten(tree)
    assert leaves(tree) == found
    assert all(x.__class__ is float for x in found)


@FEW
@given(trees)
def test_map_of_the_identity_changes_nothing(tree):
    assert tree_map(lambda x: x, tree) == tree
    assert classes(tree_map(lambda x: x, tree)) == classes(tree)


@FEW
@given(trees)
def test_map_reaches_every_leaf_and_nothing_else(tree):
    assert leaves(tree_map(lambda x: 7.0, tree)) == [7.0] * len(leaves(tree))
    assert flatten(tree_map(lambda x: 7.0, tree))[1] == flatten(tree)[1]


@FEW
@given(trees)
def test_structures_can_be_keys(tree):
    known = {flatten(tree)[1]: "found"}
    assert known[flatten(tree_map(lambda x: x + 1.0, tree))[1]] == "found"


def test_symbols_are_leaves():
    x = Graph().inputs("x", 1)[0]
    value = Value()
    assert leaves((x, Pair(value, 1.0), 3)) == [x, value, 1.0]


DIFFERENT = [((1.0,), Couple((1.0,))), ((1.0, 2.0), Pair(1.0, 2.0)), ((1,), (2,)), ((), None), ((1.0,), ((1.0,),))]


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_different_structures_differ(one, other):
    assert flatten(one)[1] != flatten(other)[1]


def test_equal_structures_with_other_numbers_are_equal():
    assert flatten(Pair(1.0, (2.0, "a")))[1] == flatten(Pair(5.0, (6.0, "a")))[1]


def test_long_tuples_of_leaves():
    """They are looked at as a whole: class and length tell them apart, nested or not."""
    long = tuple(float(k) for k in range(40))
    tree = (3, long, Couple(long), (long[:13], "a", 1.0))
    found, structure = flatten(tree)
    assert found == [*long, *long, *long[:13], 1.0]
    again = unflatten(structure, iter(found))
    assert again == tree and again[2].__class__ is Couple
    assert flatten(tree_map(lambda x: x + 1.0, tree))[1] == structure
    kinds = [long, long[:39], Couple(long), (*long[:39], 1), (*long[:39], None), (long,)]
    assert len({flatten(x)[1] for x in kinds}) == len(kinds)
