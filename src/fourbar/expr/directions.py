"""Directions of a Jacobian that share their code.

Along a direction only some of the values that a block loads move: its *pattern*. Code is written for a few patterns,
and a direction is pushed by that of a larger one, where the rest of the rates are zeros. What this adds to the work
matters where there are many such directions; where there are few, their own code would take far longer to compile than
it ever saves. So the patterns of all blocks are found first, and those that save the most code for the work that they
add are given up until that has grown by `_MORE`.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .program import Call, Program
from .replay import BlockFunction, Pattern

_MORE = 0.01  # of the work, for all directions together

Entries = Mapping[str, Sequence[Any]]  # the flat entries of arguments or results, by name
Patterns = dict[Pattern, Pattern]  # the pattern whose code is used, by the pattern of a direction


def is_zero(x: Any) -> bool:
    """Whether a rate is zero whatever the arguments are."""
    return x.__class__ is float and x == 0.0


def shared_patterns(program: Program, pieces: Sequence[BlockFunction], directions: Sequence[Entries]) -> list[Patterns]:
    """For each piece, the pattern whose code each of the patterns that occur uses."""
    counts = _count_directions(program, pieces, directions)
    patterns_by_piece = [piece.patterns(count) for piece, count in zip(pieces, counts, strict=True)]
    used = [_sum_by_code(patterns, count) for patterns, count in zip(patterns_by_piece, counts, strict=True)]
    instead = _drop_patterns(pieces, used)
    for patterns, moved in zip(patterns_by_piece, instead, strict=True):
        for pattern, chosen in patterns.items():
            while chosen in moved:
                chosen = moved[chosen]
            patterns[pattern] = chosen
    return patterns_by_piece


def _count_directions(
    program: Program, pieces: Sequence[BlockFunction], directions: Sequence[Entries]
) -> list[Counter[Pattern]]:
    """The number of directions of each pattern, in all calls of each piece. Directions are the bits of a number."""
    moving: dict[int, int] = {}  # the directions along which a slot moves
    for k, direction in enumerate(directions):
        for argument in program.inputs:
            for slot, rate in enumerate(direction.get(argument.name, ()), argument.first):
                moving[slot] = moving.get(slot, 0) | (not is_zero(rate)) << k
    moving.update((slot, 0) for slot, _ in program.preset)
    counts: list[Counter[Pattern]] = [Counter() for _ in pieces]
    for call in program.calls:
        piece = pieces[call.block]
        groups = _groups(call, piece, moving)
        after = [0] * len(piece.stores)
        for pattern, mask in groups:
            for k, moves in enumerate(piece.reach(pattern).stored):
                after[k] |= mask if moves else 0
        moving.update(zip(_slots(call, piece.stores), after, strict=True))
        if sum(mask.bit_count() for _, mask in groups) > 1:
            counts[call.block].update({pattern: mask.bit_count() for pattern, mask in groups})
    return counts


def _slots(call: Call, places: Sequence[tuple[int, int]]) -> Iterator[int]:
    return (call.bases[port] + offset for port, offset in places)


def _groups(call: Call, piece: BlockFunction, moving: Mapping[int, int]) -> list[tuple[Pattern, int]]:
    """The patterns in a call, and the directions of each."""
    masks = [moving.get(slot, 0) for slot in _slots(call, piece.loads)]
    every = 0
    for mask in masks:
        every |= mask
    groups: list[tuple[Pattern, int]] = [((), every)]
    for i, mask in enumerate(masks):
        split = [((*p, i), g & mask) for p, g in groups] + [(p, g & ~mask) for p, g in groups]
        groups = [(p, g) for p, g in split if g]
    return groups


def _sum_by_code(patterns: Patterns, count: Counter[Pattern]) -> dict[Pattern, int]:
    """The number of directions that use the code of each pattern."""
    used: Counter[Pattern] = Counter()
    for pattern, chosen in patterns.items():
        used[chosen] += count[pattern]
    return dict(used)


def _drop_patterns(pieces: Sequence[BlockFunction], used: list[dict[Pattern, int]]) -> list[Patterns]:
    """For each piece the patterns that get no code of their own, and what stands in for them."""
    moved: list[Patterns] = [{} for _ in pieces]
    work = sum(n * piece.reach(p).size for piece, own in zip(pieces, used, strict=True) for p, n in own.items())
    left = _MORE * work

    def offers(number: int, pattern: Pattern) -> Iterator[tuple[float, int, Pattern, Pattern, int]]:
        """The cost of giving up a pattern per instruction saved, by the least of those that include it."""
        piece, counts = pieces[number], used[number]
        larger = [p for p in counts if p != pattern and set(pattern) <= set(p)]
        if larger:
            best = min(larger, key=lambda p: (piece.reach(p).size, p))
            size = piece.reach(pattern).size
            yield (
                (piece.reach(best).size - size) * counts[pattern] / max(1, size),
                number,
                pattern,
                best,
                counts[pattern],
            )

    waiting = [offer for number, own in enumerate(used) for pattern in own for offer in offers(number, pattern)]
    heapq.heapify(waiting)
    while waiting:
        _, number, pattern, best, count = heapq.heappop(waiting)
        counts, reach = used[number], pieces[number].reach
        if best not in counts or counts[pattern] != count:  # it has changed since it was offered
            for offer in offers(number, pattern):
                heapq.heappush(waiting, offer)
            continue
        added = (reach(best).size - reach(pattern).size) * count
        if added <= left:
            left -= added
            counts[best] += counts.pop(pattern)
            moved[number][pattern] = best
    return moved
