"""The axioms of every Lie group, one test each, near the identity, near a half turn and beyond it."""

from __future__ import annotations

import math
from typing import Any

import mpmath as mp
import numpy as np
import pytest

from fourbar.spatial.groups import SE2, SE3, SO2, SO3, AbelianGroup, Group, Rn, SchoenfliesGroup
from fourbar.spatial.linear import Mat, Vec, hat, vec

from .support import (
    EACH,
    REGION,
    REGIONS,
    TOL,
    body_velocity,
    dexp_series,
    drawn,
    elements,
    homogeneous,
    many_digits,
    near,
    plain,
    same,
    samples,
    selection,
    spatial_velocity,
    vectors,
)  # fmt: skip

# --- the group -------------------------------------------------------------------------------------------------------


@drawn
def test_identity(group: Group, data: Any) -> None:
    a = data.draw(elements(group))
    assert group.compose(group.identity(), a) == a == group.compose(a, group.identity())
    assert group.exp(vec([0.0] * group.nv)) == group.identity()
    near(group.rotation(group.identity()), np.eye(3))
    near(group.translation(group.identity()), np.zeros(3))


@drawn
def test_inverse(group: Group, data: Any) -> None:
    a = data.draw(elements(group))
    same(group, group.compose(a, group.inverse(a)), group.identity())
    same(group, group.compose(group.inverse(a), a), group.identity())


@drawn
def test_associativity(group: Group, data: Any) -> None:
    a, b, c = (data.draw(elements(group)) for _ in range(3))
    same(group, group.compose(group.compose(a, b), c), group.compose(a, group.compose(b, c)))


@drawn
def test_composition_is_that_of_placements(group: Group, data: Any) -> None:
    a, b = data.draw(elements(group)), data.draw(elements(group))
    ra, rb = np.array(group.rotation(a)), np.array(group.rotation(b))
    near(group.rotation(group.compose(a, b)), ra @ rb)
    near(group.translation(group.compose(a, b)), group.translation(a) + ra @ group.translation(b), floor=1.0)
    near(ra @ ra.T, np.eye(3))


@drawn
def test_plus_and_minus(group: Group, data: Any) -> None:
    a, b = data.draw(elements(group)), data.draw(elements(group))
    same(group, group.plus(a, group.minus(b, a)), b, 3 * TOL)


@EACH
def test_long_products_of_quaternions_stay_unit(group: Group) -> None:
    """Rounding is a random walk of about √n ulps; nothing drifts."""
    a, step = group.identity(), group.exp(vec([0.01 * (k + 1) for k in range(group.nv)]))
    for _ in range(2000):
        a = group.compose(a, step)
    r = np.array(group.rotation(a))
    near(r @ r.T, np.eye(3), 2e-13)


# --- exp and log -----------------------------------------------------------------------------------------------------


@EACH
@REGION
def test_exp_is_the_matrix_exponential(group: Group, region: str) -> None:
    for v in samples(group, region):
        with mp.workdps(40):
            exact = plain(mp.expm(homogeneous((selection(group) @ v).tolist())))
        near(group.rotation(group.exp(v)), exact[:3, :3])
        near(group.translation(group.exp(v)), exact[:3, 3])


@EACH
@REGION
def test_log_undoes_exp(group: Group, region: str) -> None:
    """Relative to the rotation and to the translation apart, so that a tiny rotation is not lost beside the other."""
    for v in samples(group, region):
        got = group.log(group.exp(v))
        same(group, group.exp(got), group.exp(v))
        if REGIONS[region] < math.pi or not any(row < 3 for row in group.rows):
            turning = sum(row < 3 for row in group.rows)
            near(got[:turning], v[:turning], 4e-16)
            near(got[turning:], v[turning:])


@drawn
def test_exp_undoes_log(group: Group, data: Any) -> None:
    a = data.draw(elements(group))
    same(group, group.exp(group.log(a)), a)


@drawn
def test_log_is_principal(group: Group, data: Any) -> None:
    v = group.log(data.draw(elements(group)))
    turning = [x for x, row in zip(v, group.rows, strict=True) if row < 3]
    assert math.hypot(*turning) <= math.pi * (1 + 2e-16)


@pytest.mark.parametrize("group", [SO2(), SE2(), SchoenfliesGroup()], ids=lambda g: g.name)
def test_log_of_half_turn_in_the_plane_is_plus_pi(group: Group) -> None:
    for turns in (0, 2, 20):
        v = group.log(vec([0.0] * (group.nq - 1) + [math.pi + turns * 2 * math.pi]))
        assert v[0] == pytest.approx(math.pi, abs=turns * 1e-15) or v[0] == pytest.approx(-math.pi, abs=turns * 1e-15)
    assert group.log(vec([0.0] * (group.nq - 1) + [math.pi]))[0] == math.pi


@REGION
def test_log_of_both_quaternions(region: str) -> None:
    for v in samples(SO3(), region):
        q = SO3().exp(v)
        assert SO3().log(q) == SO3().log(-q)
    for x in ((1.0, 0.0, 0.0), (0.0, -1.0, 0.0), (0.0, 0.6, -0.8), (-0.6, 0.0, 0.8)):
        half_turn = vec([0.0, *x])
        assert SO3().log(half_turn) == SO3().log(-half_turn)
        near(np.linalg.norm(SO3().log(half_turn)), math.pi)


# --- adjoints --------------------------------------------------------------------------------------------------------


@drawn
def test_Ad_is_a_homomorphism(group: Group, data: Any) -> None:
    a, b = data.draw(elements(group)), data.draw(elements(group))
    near(group.Ad(group.compose(a, b)), group.Ad(a) @ group.Ad(b), floor=1.0)
    near(group.Ad(group.inverse(a)) @ group.Ad(a), np.eye(group.nv), TOL * (1 + np.max(np.abs(group.Ad(a)))))


@EACH
@REGION
def test_Ad_of_exp_is_expm_of_ad(group: Group, region: str) -> None:
    for v in samples(group, region):
        with mp.workdps(40):
            exact = plain(mp.expm(many_digits(group.ad(v))))
        near(group.Ad(group.exp(v)), exact)


@drawn
def test_conjugation_is_Ad(group: Group, data: Any) -> None:
    a, v = data.draw(elements(group)), data.draw(vectors(group))
    conjugated = group.compose(group.compose(a, group.exp(v)), group.inverse(a))
    same(group, conjugated, group.exp(group.Ad(a) @ v), 3 * TOL)


@drawn
def test_bracket_is_antisymmetric(group: Group, data: Any) -> None:
    v, w = data.draw(vectors(group)), data.draw(vectors(group))
    largest = float(np.max(np.abs(v)))
    near(group.ad(v) @ w, -(group.ad(w) @ v), 1e-15, floor=largest * float(np.max(np.abs(w))))
    near(group.ad(v) @ v, np.zeros(group.nv), 1e-15, floor=largest**2)


@drawn
def test_bracket_satisfies_jacobi(group: Group, data: Any) -> None:
    u, v = (data.draw(vectors(group)) for _ in range(2))
    au, av = group.ad(u), group.ad(v)
    size = max(abs(x) for x in u) * max(abs(x) for x in v)
    near(group.ad(au @ v), au @ av - av @ au, floor=size)


@drawn
def test_subgroup_of_rigid_motions(group: Group, data: Any) -> None:
    """H Ad(a) = Ad_SE3(a) H and H ad(v) = ad_SE3(H v) H: v is the part of the twist that the rows name."""
    a, v, h = data.draw(elements(group)), data.draw(vectors(group)), selection(group)
    r, p = np.array(group.rotation(a)), group.translation(a)
    in_space = np.block([[r, np.zeros((3, 3))], [np.array(hat(p)) @ r, r]])
    near(h @ np.array(group.Ad(a)), in_space @ h)
    assert np.array_equal(h @ np.array(group.ad(v)), np.array(SE3().ad((h @ v).tolist())) @ h)


# --- derivatives of exp ----------------------------------------------------------------------------------------------


@EACH
@REGION
def test_dexp_is_the_power_series(group: Group, region: str) -> None:
    for v in samples(group, region):
        near(group.dexp(v), plain(dexp_series(group.ad(v))), 2e-15)
        near(group.right_dexp(v), plain(dexp_series(-group.ad(v))), 2e-15)


@EACH
@REGION
def test_dexp_inv_is_the_inverse(group: Group, region: str) -> None:
    for v in samples(group, region):
        with mp.workdps(40):
            left, right = plain(dexp_series(group.ad(v)) ** -1), plain(dexp_series(-group.ad(v)) ** -1)
        # Near the pole at 2π the condition number of an angle of 6.0 takes some digits.
        near(group.dexp_inv(v), left, 3e-15 if region != "near_2pi" else 3e-14)
        near(group.right_dexp_inv(v), right, 3e-15 if region != "near_2pi" else 3e-14)
        near(group.dexp(v) @ group.dexp_inv(v), np.eye(group.nv), 1e-14 * max(1.0, float(np.max(np.abs(left)))))


@EACH
@REGION
def test_dexp_is_the_derivative_of_exp(group: Group, region: str) -> None:
    """By complex steps, which have no truncation error; dexp gives the spatial, right_dexp the body velocity."""
    for v in samples(group, region):
        left, right = selection(group) @ np.array(group.dexp(v)), selection(group) @ np.array(group.right_dexp(v))
        for j in range(group.nv):
            a = group.exp(Vec([complex(x, 1e-200 if k == j else 0.0) for k, x in enumerate(v)]))
            placement = np.array(group.rotation(a), complex), np.array(group.translation(a), complex)
            moving = *map(np.real, placement), *(np.imag(x) / 1e-200 for x in placement)
            near(spatial_velocity(*moving), left[:, j], floor=1.0)
            near(body_velocity(*moving), right[:, j], floor=1.0)


@EACH
def test_right_dexp_is_transposed_or_adjoint(group: Group) -> None:
    """dexp(v) = Ad(exp v) dexp(-v); on SO(3) that is the transpose (Liu-Jain eq. 54)."""
    for v in samples(group, "moderate"):
        near(group.dexp(v), group.Ad(group.exp(v)) @ group.right_dexp(v))
        if group == SO3():
            near(group.dexp(v), group.right_dexp(v).T)


# --- From, Tables 1 and 2 --------------------------------------------------------------------------------------------

U, V, W, P, Q, R = 0.3, -1.1, 0.7, 1.9, -0.4, 2.3
P1, P2, P3, P4, P5, P6 = 0.2, 1.3, -0.8, 2.1, -1.7, 0.6


def zero(n: int) -> list[list[float]]:
    return [[0.0] * n] * n


# Group; velocity and momentum in From's order, linear first; ad_V; ad~_p; where our entries stand in his order.
TABLE: list[tuple[Group, list[float], list[float], list[list[float]], list[list[float]], list[int]]] = [
    (
        SE3(), [U, V, W, P, Q, R], [P1, P2, P3, P4, P5, P6],
        [[0, -R, Q, 0, -W, V], [R, 0, -P, W, 0, -U], [-Q, P, 0, -V, U, 0],
         [0, 0, 0, 0, -R, Q], [0, 0, 0, R, 0, -P], [0, 0, 0, -Q, P, 0]],
        [[0, 0, 0, 0, P3, -P2], [0, 0, 0, -P3, 0, P1], [0, 0, 0, P2, -P1, 0],
         [0, P3, -P2, 0, P6, -P5], [-P3, 0, P1, -P6, 0, P4], [P2, -P1, 0, P5, -P4, 0]],
        [3, 4, 5, 0, 1, 2],
    ),
    (
        SchoenfliesGroup(), [U, V, W, R], [P1, P2, P3, P4],
        [[0, -R, 0, V], [R, 0, 0, -U], [0, 0, 0, 0], [0, 0, 0, 0]],
        [[0, 0, 0, -P2], [0, 0, 0, P1], [0, 0, 0, 0], [P2, -P1, 0, 0]],
        [3, 0, 1, 2],
    ),
    # The printed V^ of R^3 has r in it; a translation has r = 0 and three entries.
    (Rn(3), [U, V, W], [P1, P2, P3], zero(3), zero(3), [0, 1, 2]),
    (
        SE2(), [U, V, R], [P1, P2, P3],
        [[0, -R, V], [R, 0, -U], [0, 0, 0]],
        [[0, 0, -P2], [0, 0, P1], [P2, -P1, 0]],
        [2, 0, 1],
    ),
    # Table 1 prints p^ for ad~_p of SO(3); Table 2, eq. 68 and ad~_p v = -ad_v^T p = -p x v say -p^.
    (
        SO3(), [P, Q, R], [P1, P2, P3],
        [[0, -R, Q], [R, 0, -P], [-Q, P, 0]],
        [[0, P3, -P2], [-P3, 0, P1], [P2, -P1, 0]],
        [0, 1, 2],
    ),
    (Rn(2), [U, V], [P1, P2], zero(2), zero(2), [0, 1]),
    (Rn(1), [W], [P1], zero(1), zero(1), [0]),
    (SO2(), [R], [P1], zero(1), zero(1), [0]),
]  # fmt: skip


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row[0].name)
def test_from_table_1(row: Any) -> None:
    group, v, p, ad, coriolis, order = row
    ours_v, ours_p = vec([v[k] for k in order]), vec([p[k] for k in order])
    pick = np.ix_(order, order)
    assert np.array_equal(group.ad(ours_v), np.array(ad)[pick])
    assert np.array_equal(group.coadjoint_coriolis(ours_p), np.array(coriolis)[pick])
    near(group.coadjoint_coriolis(ours_p) @ ours_v, -group.ad(ours_v).transpose_times(ours_p), 1e-15)


@EACH
def test_from_table_2(group: Group) -> None:
    """S(φ) = 1 - ½ ad + ⅙ ad² - ...: the terms shown, up to the next one of order |φ|³; 1 for abelian groups."""
    v = samples(group, "moderate")[0] * 1e-3
    ad = np.array(group.ad(v))
    shown = np.eye(group.nv) - ad / 2 + ad @ ad / 6
    size = float(np.linalg.norm(ad))
    assert float(np.linalg.norm(np.array(group.right_dexp(v)) - shown)) <= size**3 / 20 + 1e-16
    if isinstance(group, AbelianGroup):
        assert group.right_dexp(v) == Mat.identity(group.nv)
        assert group.coadjoint_coriolis(v) == Mat.zeros(group.nv, group.nv)


@drawn
def test_coriolis_force_does_no_work(group: Group, data: Any) -> None:
    v, p = data.draw(vectors(group)), data.draw(vectors(group))
    c = np.array(group.coadjoint_coriolis(p))
    assert np.array_equal(c, -c.T)
    near(c @ v, -group.ad(v).transpose_times(p), 1e-15, floor=float(np.max(np.abs(v)) * np.max(np.abs(p))))
