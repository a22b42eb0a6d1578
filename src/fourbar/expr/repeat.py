"""Recording a part of a program that runs until it is done: `recorder.repeat(body, state, most, going)`.

`state` is nested tuples of scalars. `body(state) -> (state, going)` is ordinary algorithm code: it makes calls of the
recorder, and may use any value of the recording besides its state. It is recorded once; the program runs it while
`going`, a scalar, is above zero in some sample, at most `most` times. What comes back is the state at the end.

    def halve(x):
        return (0.5 * x,), 0.5 * x - 1e-3          # the state, and what is above zero as long as more is to be done

    (x,) = recorder.repeat(lambda state: recorder.call(halve, *state), (x,), most=60)

If the body returns None for `going`, there are `most` passes (none where the one given is not above zero), and nothing
is selected. Otherwise a sample whose `going` is not above zero (also where it is NaN) keeps its state, whatever other
samples of its batch still need: the recorder selects between old and new state, so that results do not depend on the
batch.

The state lies in slots of its own: it is copied there before the first pass and at the end of each pass.

A step that most samples do not need is left out where none does: `recorder.update` writes its results over `variables`
only if a scalar is above zero in some sample. Nothing is copied or selected.

    found = recorder.variables((0.0, 0.0))
    found = recorder.update(found, going, function, x, y)      # (0.0, 0.0) where going is not above zero
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from .functions import select
from .node import Value
from .program import Repeat
from .pytree import flatten, leaves, rebuild, unflatten

if TYPE_CHECKING:
    from .shared_tasks import Use

Body = Callable[[Any], tuple[Any, Any]]  # the second is None where all passes are made
CARRIED = "carried by a repeat"  # no argument has such a name
ALWAYS_USED = 1 << 62  # the call that uses a value last, of one that no call has to ask for


@dataclass(frozen=True)
class OpenRepeat:
    """A repeat while it is recorded: the copy before it (None if it is one step), the last step of each pass, and
    whether it goes on."""

    enter: Use | None
    turn: Use
    going: Value
    most: int


class CarriedState(NamedTuple):
    """Values with slots of their own, which lie together, and the copy that first writes them."""

    values: list[Value]
    enter: Use


class RepeatRange(NamedTuple):
    """The calls that a repeat runs again: from the first to that before `end`."""

    first: int
    end: int
    repeat: OpenRepeat


@dataclass
class OpenRepeats:
    """The repeats of a recording, and the values that they carry from pass to pass."""

    states: list[CarriedState] = field(default_factory=list)
    found: list[OpenRepeat] = field(default_factory=list)

    def carry(self, recorder: RepeatRecorder, given: Sequence[Any]) -> CarriedState:
        """Record that some leaves are copied into new values with slots of their own."""
        values = [Value(argument=CARRIED) for _ in given]
        self.states.append(CarriedState(values, recorder.copy(given, values)))
        return self.states[-1]

    def place(self, first: int) -> int:
        """Give the carried values slots from `first` on; returns the next free one."""
        for state in self.states:
            for slot, value in enumerate(state.values, first):
                value.slot = slot
            first += len(state.values)
        return first

    def ranges(self, number: Mapping[int, int]) -> list[RepeatRange]:
        """The repeats as ranges of calls, given the numbers of calls by the identities of uses that are left."""
        live = [loop for loop in self.found if id(loop.turn) in number]  # nobody wants what the others compute
        ranges = []
        for loop in live:
            last = number[id(loop.turn)]
            ranges.append(RepeatRange(last if loop.enter is None else number[id(loop.enter)] + 1, last + 1, loop))
        return sorted(ranges, key=lambda x: (x.first, -x.end))

    def repeats(self, number: Mapping[int, int]) -> tuple[Repeat, ...]:
        """The repeats, once all values have their slots."""
        return tuple(Repeat(x.first, x.end - x.first, x.repeat.going.slot, x.repeat.most) for x in self.ranges(number))


class RepeatRecorder(Protocol):
    """The part of a recorder that this needs."""

    def call(self, function: Callable[..., Any], *args: Any) -> Any:
        """Record a step."""
        ...

    def copy(self, leaves: Sequence[Any], into: Sequence[Value]) -> Use:
        """Record that leaves are copied into values that have slots of their own."""
        ...

    def call_into(self, function: Callable[..., Any], args: Any, into: Sequence[Value]) -> tuple[Use, list[Any]]:
        """Record a standalone step whose results go into values that have slots of their own."""
        ...


def repeat(recorder: RepeatRecorder, loops: OpenRepeats, body: Body, state: Any, most: int, going: Any) -> Any:
    """Record a repeat, which becomes one of `loops`."""
    _check_most(most)
    given, structure = flatten((state, _scalar(going)))
    carried, enter = loops.carry(recorder, given)
    before, goes = unflatten(structure, iter(carried))
    after, goes_on = body(before)
    changed = _leaves_like(before, after)
    mixed = any(new is not old and new in carried for new, old in zip(changed, carried, strict=False))
    if goes_on is None and not mixed:
        turn = copy_changes(recorder, (*changed, goes), carried)
    else:
        new = (*changed, goes if goes_on is None else _scalar(goes_on))
        if mixed:
            chosen = recorder.call(_choose_leaves, goes, new, tuple(carried))
            turn = copy_changes(recorder, chosen, carried)
        else:  # where they lie
            turn, _ = recorder.call_into(_choose_leaves, (goes, new, tuple(carried)), carried)
    if turn is not None:
        loops.found.append(OpenRepeat(enter, turn, goes, most))
    return before


def copy_changes(recorder: RepeatRecorder, new_leaves: Sequence[Any], carried: Sequence[Value]) -> Use | None:
    """Record that what a pass has changed is copied; None if that is nothing."""
    moved = [(new, old) for new, old in zip(new_leaves, carried, strict=True) if new is not old]
    return recorder.copy([new for new, _ in moved], [old for _, old in moved]) if moved else None


def variables(recorder: RepeatRecorder, loops: OpenRepeats, state: Any) -> Any:
    """Values in slots of their own, which `update` writes anew; `state` at first."""
    given, structure = flatten(state)
    return unflatten(structure, iter(loops.carry(recorder, given).values))


def update(recorder: Any, loops: OpenRepeats, state: Any, going: Any, function: Callable[..., Any], args: Any) -> Any:
    """Record that variables become function(*args) where `going` is above zero in some sample; returns them.

    In samples in which it is not, the function must give what the variables are; it must be a standalone step, and take
    none of them. A result that is a constant must be that from the first.
    """
    goes = going
    if going.__class__ is not Value or going.argument != CARRIED:  # whose slot may hold something else by then
        (goes,) = loops.carry(recorder, [_scalar(going)]).values
        goes.last_use = ALWAYS_USED
    known, structure = flatten(state)
    turn, results = recorder.call_into(function, args, known)
    loops.found.append(OpenRepeat(None, turn, goes, 1))
    return unflatten(structure, iter(results))


def repeat_numbers(body: Body, state: Any, most: int, going: Any) -> Any:
    """Run a repeat at once, on numbers or arrays."""
    _check_most(most)
    passes = 0
    while passes < most and np.any(np.asarray(going) > 0.0):
        after, goes_on = body(state)
        more = going if goes_on is None else goes_on
        state, going = _choose_numbers(going, after, state), select(going > 0.0, more, going)
        passes += 1
    return state


def _choose_numbers(going: Any, after: Any, before: Any) -> Any:
    if isinstance(before, tuple):
        both = zip(after, before, strict=True)
        return rebuild(before.__class__, [_choose_numbers(going, new, old) for new, old in both])
    return select(going > 0.0, after, before)


def _choose_leaves(going: Any, after: tuple[Any, ...], before: tuple[Any, ...]) -> tuple[Any, ...]:
    """The new leaves of the samples that go on, the old ones of the others."""
    return tuple([select(going > 0.0, new, old) for new, old in zip(after, before, strict=True)])


def _check_most(most: int) -> None:
    if most.__class__ is not int or most < 1:
        raise ValueError(f"most={most!r}: expected a whole number of passes, at least 1")


def _scalar(x: Any) -> Any:
    return float(x) if isinstance(x, int | float) else x


def _leaves_like(before: Any, after: Any) -> list[Any]:
    new_leaves = leaves(after)
    if len(new_leaves) != len(leaves(before)):
        raise ValueError(
            f"the body of a repeat was given {len(leaves(before))} numbers and returned {len(new_leaves)}; it must "
            "return a state of the same structure, with floats for constants"
        )
    return new_leaves
