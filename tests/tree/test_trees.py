"""Names, parents and order: what makes bodies a mechanism."""

import numpy as np
import pytest

import fourbar as fb
from fourbar import Builder, ModelError
from fourbar.joints import Free, Prismatic, Revolute, Spherical

SOLID = {"mass": 1.0, "com": (0.1, 0.0, 0.2), "inertia": (1.0, 1.0, 1.0)}


def tree(*links, **names):
    """Bodies on hinges, from pairs (name, parent)."""
    b = Builder()
    for name, parent in links:
        b.body(name, parent=parent, joint=Revolute("y"), joint_name=names.get(name), position=(0.0, 0.1, 0.3), **SOLID)
    return b


@pytest.mark.quick
def test_names_are_different():
    b = tree(("arm", "world"))
    with pytest.raises(ModelError, match="there is already a body 'arm'"):
        b.body("arm", **SOLID)
    b.frame("tip", "arm")
    with pytest.raises(ModelError, match="there is already a frame 'tip'"):
        b.frame("tip", "arm")
    with pytest.raises(ModelError, match="there is already a frame 'arm'"):
        b.frame("arm", "arm")
    with pytest.raises(ModelError, match="there is already a body 'tip'"):
        b.body("tip", **SOLID)


@pytest.mark.parametrize("bad", ["", None, 3, b"arm", ["arm"], ("arm",)], ids=repr)
def test_names_are_words(bad):
    with pytest.raises(ModelError, match="a body needs a name, a non-empty string"):
        Builder().body(bad)
    with pytest.raises(ModelError, match="a frame needs a name, a non-empty string"):
        Builder().frame(bad, "arm")
    if bad:
        with pytest.raises(ModelError, match="body 'arm': parent and joint_name must be names"):
            Builder().body("arm", joint_name=bad)
    if bad != "":
        with pytest.raises(ModelError, match="body 'arm': parent and joint_name must be names"):
            Builder().body("arm", parent=bad)
        with pytest.raises(ModelError, match="frame 'tip': body must be a name"):
            Builder().frame("tip", bad)


def test_the_world_is_taken():
    with pytest.raises(ModelError, match="'world' is reserved for the ground"):
        Builder().body("world")
    with pytest.raises(ModelError, match="'world' is reserved for the ground"):
        Builder().frame("world", "arm")


@pytest.mark.quick
def test_a_joint_carries_one_body():
    with pytest.raises(ModelError, match=r"joint 'hinge' carries both 'a' and 'b'; .*joint_name="):
        tree(("a", "world"), ("b", "a"), a="hinge", b="hinge").build()
    with pytest.raises(ModelError, match="joint 'b' carries both 'a' and 'b'"):
        tree(("a", "world"), ("b", "a"), a="b").build()


@pytest.mark.quick
def test_an_unknown_parent():
    with pytest.raises(ModelError, match=r"body 'hand': parent: there is no body 'foreram'; did you mean 'forearm'\?"):
        tree(("forearm", "world"), ("hand", "foreram")).build()
    with pytest.raises(ModelError, match=r"parent: there is no body 'wrld'; did you mean 'world'\?"):
        tree(("forearm", "wrld")).build()
    with pytest.raises(ModelError, match="known: world, a, b"):
        tree(("a", "world"), ("b", "xyz")).build()


def test_a_frame_on_an_unknown_body():
    with pytest.raises(ModelError, match="frame 'tip': there is no body 'hnd'; did you mean 'hand'"):
        tree(("hand", "world")).frame("tip", "hnd").build()


@pytest.mark.quick
@pytest.mark.parametrize(
    ("links", "circle"),
    [
        ([("a", "a")], "a -> a"),
        ([("a", "b"), ("b", "a")], "a -> b -> a"),
        ([("base", "world"), ("a", "c"), ("b", "a"), ("c", "b")], "a -> c -> b -> a"),
        ([("tail", "a"), ("a", "b"), ("b", "a")], "a -> b -> a"),
    ],
    ids=["itself", "two", "three", "with a tail"],
)
def test_circles_are_not_loops(links, circle):
    with pytest.raises(ModelError, match=rf"cycle: {circle}\..*declare a kinematic loop with loop\(\.\.\.\)"):
        tree(*links).build()


def test_something_is_needed():
    with pytest.raises(ModelError, match=r"mechanism 'nothing' has no bodies; add one with body\(\.\.\.\)"):
        Builder("nothing").build()


@pytest.mark.quick
def test_bodies_may_be_declared_in_any_order():
    links = [("hip", "world"), ("knee", "hip"), ("ankle", "knee"), ("arm", "hip"), ("hand", "arm")]
    wanted = tree(*links).build()
    backwards = tree(*reversed(links)).build()
    assert set(backwards.names.bodies) == set(wanted.names.bodies)
    order = list(backwards.names.bodies)
    assert all(parent == "world" or order.index(parent) < order.index(name) for name, parent in links)
    q = np.linspace(-1.0, 1.0, 5)
    permuted = q[[wanted.names.bodies.index(name) for name in order]]
    for name, _ in links:
        np.testing.assert_allclose(backwards.pose(permuted, name), wanted.pose(q, name), atol=1e-14)


def test_the_order_of_declaration_is_kept_where_it_can_be():
    assert tree(("b", "world"), ("a", "world"), ("c", "b")).build().names.bodies == ("b", "a", "c")
    assert tree(("tip", "mid"), ("mid", "root"), ("root", "world")).build().names.bodies == ("root", "mid", "tip")


def test_a_long_chain_declared_backwards():
    n = 300
    links = [(f"b{i}", f"b{i - 1}" if i else "world") for i in range(n)]
    assert tree(*reversed(links)).mechanism().bodies[0].name == "b0"


def test_several_roots():
    both = tree(("a", "world"), ("b", "world"), ("b2", "b")).build()
    assert both.nv == 3
    M = both.mass_matrix(np.array([0.1, 0.2, 0.3]))
    assert np.all(M[0, 1:] == 0.0)
    assert M[1, 2] != 0.0
    alone = tree(("b", "world"), ("b2", "b")).build().mass_matrix(np.array([0.2, 0.3]))
    np.testing.assert_allclose(M[1:, 1:], alone, rtol=1e-14)


@pytest.mark.quick
def test_names():
    b = Builder("walker")
    b.body("trunk", joint=Free(), joint_name="base", **SOLID)
    b.body("leg", parent="trunk", joint=Revolute("y"), joint_name="hip", **SOLID)
    b.body("shoe", parent="leg", **SOLID)
    b.body("arm", parent="trunk", joint=Spherical(), joint_name="shoulder", **SOLID)
    b.body("hand", parent="arm", joint=Prismatic("z"), **SOLID)
    b.frame("sole", "shoe").frame("camera", "trunk")
    walker = b.build()
    assert (walker.name, walker.nq, walker.nv) == ("walker", 13, 11)
    names = walker.names
    assert names.bodies == ("trunk", "leg", "shoe", "arm", "hand")
    assert names.joints == ("base", "hip", "shoe", "shoulder", "hand")
    assert names.frames == ("sole", "camera")
    assert len(names.coordinates) == 13
    assert len(names.velocities) == 11
    assert names.coordinates[7] == names.velocities[6] == "hip"
    assert all(x.startswith("base.") for x in names.coordinates[:7])
    assert names.velocities[-1] == "hand"
    assert len(set(names.coordinates)) == 13
    assert repr(walker) == "<fourbar System 'walker': 5 bodies, nq=13, nv=11>"


def test_a_builder_goes_on_after_building():
    b = tree(("a", "world"))
    first = b.build()
    b.body("b", parent="a", joint=Revolute("x"), **SOLID)
    assert (first.nv, b.build().nv) == (1, 2)
    assert isinstance(b.mechanism(), type(first.mechanism))
    assert fb.System(first.mechanism) == first
