"""What the tables and figures of `paper.py` say, and why they differ from the paper's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from textwrap import fill

from methods import LARGEST_FOLDED, MODELS, PAPER, Case, operations

Measured = Mapping[str, Sequence[Mapping[str, float]]]


def _say(text: str) -> None:
    print(fill(" ".join(text.split()), 118, initial_indent="  - ", subsequent_indent="    "))


def _range(values: Sequence[float]) -> str:
    return f"{min(values):+.0f} to {max(values):+.0f} %"


def _paper(number: str, name: str) -> str:
    return _range(PAPER[number][name])


def _of(rows: Sequence[Mapping[str, float]], name: str) -> str:
    return _range([100.0 * (row[name] / row["cluster"] - 1.0) for row in rows])


def read_tables(cases: Sequence[Case], results: Mapping[str, Measured]) -> None:
    """Conclusions from the tables, with their numbers."""
    print("\nWhere these tables differ from the paper's, and why:")
    for number, found in results.items():
        _say(
            f"Table {number}, approximate: {_of(found['times'], 'approximate')} in time, "
            f"{_of(found['counts'], 'approximate')} in operations; the paper: {_paper(number, 'approximate')}."
        )
        _READERS[number](found)
        if number == "II":
            _read_rotors(cases)
    if len(cases) < len(MODELS):
        _say("Not all robots were measured.")


def _read_rotors(cases: Sequence[Case]) -> None:
    costs = [_rotor_cost(case) for case in cases]
    _say(
        f"""An exact rotor costs {min(costs):.0f} to {max(costs):.0f} operations of C-RNEA. A rotor that is symmetric
        about its axis needs no sine, cosine or rotation of its own: its frame need not turn, and its mass is booked on
        what carries it. The rotors of the chains are drawn at random, without any symmetry; there the approximation
        saves what it saves in the paper."""
    )


def _read_inverse(found: Measured) -> None:
    _say(
        f"""Table II, projected: {_of(found["counts"], "projected")} in operations; the paper:
        {_paper("II", "projected")}. Our C-RNEA is RNEA of the spanning tree with a folded G and rotors that do not
        turn; the projected one has a dense G and the whole tree. In time {_of(found["times"], "projected")}, as all
        that passes between its steps, G first of all, goes through memory."""
    )


def _read_forward(found: Measured) -> None:
    chains, others = _chains_and_others(found)
    _say(
        f"""Table III, projection and multipliers compiled like C-ABA, folded and with their sparsity: on the chains
        {_of(chains, "folded projection")} and {_of(chains, "folded Lagrange")} more operations than C-ABA, on the other
        robots {_of(others, "folded projection")} and {_of(others, "folded Lagrange")}; the paper, whose matrices are
        sparse in part: {_paper("III", "projection")} and {_paper("III", "Lagrange")}. So folding helps all of them.
        Chains of fewer than twelve links take fewer operations by projection than by C-ABA, longer ones more. Up to 12
        velocities `forward_dynamics` keeps whichever program has fewer."""
    )
    _say(
        f"""Table III, with dense matrices by NumPy: projection {_of(found["counts"], "projection")} in operations, in
        time {_of(found["times"], "projection")}; Lagrange {_of(found["counts"], "Lagrange")}, in time
        {_of(found["times"], "Lagrange")}. LAPACK does one sample at a time where compiled functions do several in one
        instruction, and the baseline decomposes K to find rows that imply each other."""
    )


def _read_osim(found: Measured) -> None:
    chains, others = _chains_and_others(found)
    _say(
        f"""Table IV, folded projection: on the chains {_of(chains, "folded projection")} more operations than C-EFPA,
        on the other robots {_of(others, "folded projection")}; PV-OSIMr {_of(chains, "PV-OSIMr")} and
        {_of(others, "PV-OSIMr")}. `osim_inverse` keeps whichever program has the fewest, and tries projection up to 12
        velocities. Dense: {_of(found["counts"], "projected")}; the paper: {_paper("IV", "projected")}. All feet of a
        robot are frames of six rows here; which the paper took it does not say."""
    )


def _chains_and_others(found: Measured) -> tuple[Sequence[Mapping[str, float]], Sequence[Mapping[str, float]]]:
    """Counts of the two chains, and of the robots that were measured besides."""
    return found["counts"][:2], found["counts"][2:] or found["counts"]


_READERS = {"II": _read_inverse, "III": _read_forward, "IV": _read_osim}


def _rotor_cost(case: Case) -> float:
    """Operations of C-RNEA that a rotor adds to the robot with reflected inertia."""
    rotors = case.tree.nv - case.robot.nv
    return (operations(case.robot.inverse_dynamics) - operations(case.twin.inverse_dynamics)) / rotors


def read_figures(exponents: Mapping[str, float]) -> None:
    """What the growth says."""
    listed = ", ".join(f"{name} n^{x:.2f}" for name, x in exponents.items())
    _say(
        f"""By operations (the second kind of chain): {listed}. The recursive algorithms and the approximate ones grow
        linearly. Dense methods tend to the cube; their times do so late, since products of matrices run the faster the
        larger they are, and small ones take the time of their calls. Folded projection and multipliers are compiled up
        to {LARGEST_FOLDED} links."""
    )


def read_torques() -> None:
    """What the torques say."""
    _say(
        """The two errors that the paper prints are those of the knee here; the ankle's are smaller in N m and larger in
        proportion. The knee is the fourth of the five joints of the leg, so it may be a matter of counting. For every
        joint the approximation is better than nothing, and far from exact. With the block of the joints that share a
        belt, which costs one product more, the error of the knee falls to 0.30 N m and that of the ankle to 0.07."""
    )
