"""Separating a program: what depends on some of its arguments alone, and the rest.

Parameters of a robot that differ from sample to sample are often the same in many calls, or in all steps of a motion.
What follows from them alone (the inertia of composite bodies, mostly) is then computed once, by a program of its own;
the rest takes these values, in one array, instead of the parameters.

On absolute slots single operations are moved, also out of repeats; a call of a block with ports is moved as a whole.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

from .program import MEMORY, Block, Call, Input, Output, Program, Repeat, Store
from .split import BlockPart

KNOWN = "parameters"  # what the first program results in, and the rest takes
_SUMS = ("add", "sub", "neg")


class Separated(NamedTuple):
    """`before` takes the arguments that were named and returns `KNOWN` (k); `rest` takes that instead of them.

    `moved` is the number of operations moved out of the rest.
    """

    before: Program
    rest: Program
    moved: int


class _Made(NamedTuple):
    """A value that depends on the named arguments alone: an entry of one of these (call -1, its slot), an instruction
    of a call, or (ported) what a call has put into a slot; or a constant (call -2), which both programs have.
    """

    call: int
    number: int
    ported: bool = False


_Sum = tuple[str, list[Any]]  # an operation, and its operands: other values, or numbers
_CONSTANT = _Made(-2, 0)
_FINISHED = 1 << 62


def separate(program: Program, names: Collection[str], least_values: bool = False) -> Separated:
    """A program in two, of which the rest does not take the named arguments, of which there is at least one.

    All that depends on these alone is moved; with `least_values` only what the program computes before it looks at any
    other argument, and no sum or difference of what is known too. Fewer values are then known, which pays where they
    are brought anew in every call.
    """
    inputs = [x for x in program.inputs if x.name in names]
    end = _first_call_of_others(program, inputs) if least_values else len(program.calls)
    separation = _Separation(program, inputs, end, {})
    separation.go()
    if least_values:
        separation = _Separation(program, inputs, end, separation.sums())
        separation.go()
    return separation.result()


class _Separation:
    """A walk through the calls of a program that knows what each slot holds."""

    def __init__(self, program: Program, given: list[Input], end: int, sums: dict[_Made, _Sum]) -> None:
        self._program, self._given = program, given
        self._stays_from, self._sums = end, sums  # the first call that stays as it is; what the rest computes again
        self._origin: dict[_Made, _Sum] = {}  # of what is moved
        self._holds = {x.first + k: _Made(-1, x.first + k) for x in given for k in range(x.size)}
        self._holds.update((slot, _CONSTANT) for slot, _ in program.preset)
        inside = {k for r in program.repeats for k in range(r.first, r.end)}
        self._repeated = inside
        self._looped = {slot for k in inside for slot in _written_slots(program, k)}
        self._read_in_place = {slot for k, call in enumerate(program.calls) if call.bases != (0,)
                               for slot in _read_slots(program, k)}  # fmt: skip
        self.crossing: dict[_Made, int] = {}  # what the rest needs, and its place in the array
        self._first: list[tuple[int, Block, Call, dict[int, int]]] = []  # calls before: number, block, call, places
        self._rest: list[tuple[int, Block, Call]] = []
        self._moved = 0

    def go(self) -> None:
        """Assign every operation."""
        raw = [slot for slot in self._holds if slot in self._read_in_place and self._holds[slot] is not _CONSTANT]
        self._put_in_place(-1, raw)
        for number, call in enumerate(self._program.calls):
            if call.bases == (0,) and not call.table:
                self._divide(number, self._program.blocks[call.block])
            else:
                self._keep_or_move(number, call)

    def _place(self, made: _Made) -> int:
        """The slot, in the rest, of a value that was computed before."""
        return self._program.slots + self.crossing.setdefault(made, len(self.crossing))

    def _put_in_place(self, number: int, slots: Iterable[int]) -> None:
        """In the rest, copy known values into the slots that they had."""
        listed = list(slots)
        if listed:
            code = tuple(("load", 0, self._place(self._holds[slot])) for slot in listed)
            stores = tuple(Store(0, slot, i) for i, slot in enumerate(listed))
            self._rest.append((number, Block(1, 0, code, stores), Call(0, (0,))))

    def _keep_or_move(self, number: int, call: Call) -> None:
        """A call of a block with ports."""
        program = self._program
        block, written = program.blocks[call.block], list(_written_slots(program, number))
        known = number < self._stays_from and all(slot in self._holds for slot in _read_slots(program, number))
        if known and number not in self._repeated:
            self._first.append((number, block, call, {}))
            self._moved += sum(op not in MEMORY for op, *_ in block.code)
            self._holds.update((slot, _Made(number, slot, True)) for slot in written)
            self._put_in_place(number, [x for x in written if x in self._looped or x in self._read_in_place])
            self._forget(x for x in written if x in self._looped)
        else:
            self._rest.append((number, block, call))
            self._forget(written)

    def _forget(self, slots: Iterable[int]) -> None:
        for slot in slots:
            self._holds.pop(slot, None)

    def _divide(self, number: int, block: Block) -> None:
        """A block on absolute slots."""
        known = self._early_values(number, block)
        first, rest = _SeparatedPart(block), _SeparatedPart(block)
        for i, (op, *operands) in enumerate(block.code):
            if op in MEMORY:
                continue
            if known[i] is not None:
                first.compute(i)
                self._moved += 1
                continue
            for a in operands:
                if a.__class__ is int:
                    self._find(rest, a, known[a])
            rest.compute(i)
        for store in block.stores:
            origin = known[store.value] if isinstance(store.value, int) else _CONSTANT
            if origin is not None:
                first.store(store)
            if (
                origin is None
                or origin is _CONSTANT
                or store.offset in self._looped
                or store.offset in self._read_in_place
            ):
                if isinstance(store.value, int):
                    self._find(rest, store.value, origin)
                rest.store(store)
            if origin is None or store.offset in self._looped:
                self._forget([store.offset])
            else:
                self._holds[store.offset] = origin
        if first.made or first.stores:
            self._first.append((number, first.block(1, 0), Call(0, (0,)), dict(first.numbers)))
        if rest.stores:
            self._rest.append((number, rest.block(1, 0), Call(0, (0,))))

    def _early_values(self, number: int, block: Block) -> list[_Made | None]:
        """The value of each instruction that depends on the named arguments alone.

        A product that only a sum of the rest needs stays with it: both are one operation there, rounded once, and
        results keep their bits.
        """
        known = self._dependent_values(number, block)
        users: dict[int, list[int]] = {}
        for i, (op, *operands) in enumerate(block.code):
            if op not in MEMORY:
                for a in operands:
                    if a.__class__ is int:
                        users.setdefault(a, []).append(i)
        stored = {x.value for x in block.stores if isinstance(x.value, int)}
        for a, own in users.items():
            alone = len(own) == 1 and a not in stored and block.code[a][0] == "mul"
            if alone and known[own[0]] is None and block.code[own[0]][0] in ("add", "sub"):
                known[a] = None
        return known

    def _dependent_values(self, number: int, block: Block) -> list[_Made | None]:
        """`_early_values` without its exceptions."""
        known: list[_Made | None] = []
        for i, (op, *operands) in enumerate(block.code):
            if op == "load":
                known.append(self._holds.get(operands[1]))
            elif number >= self._stays_from:
                known.append(None)
            else:
                sources = [known[a] if a.__class__ is int else a for a in operands]
                decided = None not in sources and any(x.__class__ is _Made and x is not _CONSTANT for x in sources)
                known.append(_Made(number, i) if decided else None)
                if decided and op in _SUMS:
                    self._origin[_Made(number, i)] = op, sources
        return known

    def sums(self) -> dict[_Made, _Sum]:
        """Values that cross over and are sums or differences of other such values: the rest may compute them."""

        def crosses(x: Any) -> bool:
            return x.__class__ is not _Made or x in self.crossing

        found = ((made, self._origin[made]) for made in self.crossing if made in self._origin)
        return {made: own for made, own in found if all(map(crosses, own[1]))}

    def _find(self, rest: _SeparatedPart, i: int, made: _Made | None) -> None:
        """Let the rest find instruction i where it is."""
        if made is None or made is _CONSTANT:
            rest.place(i)
        else:
            rest.numbers.setdefault(i, self._load_value(rest, made))

    def _load_value(self, rest: _SeparatedPart, made: _Made) -> int:
        """The number, in a part of the rest, of a value that is known, or the sum of such values."""
        if made not in rest.known:
            if made in self._sums:
                op, sources = self._sums[made]
                operands = [self._load_value(rest, x) if x.__class__ is _Made else x for x in sources]
                rest.known[made] = rest.add((op, *operands))
            else:
                rest.known[made] = rest.add(("load", 0, self._place(made)))
        return rest.known[made]

    def result(self) -> Separated:
        """Both programs."""
        program, names = self._program, {x.name for x in self._given}
        outputs = tuple(Output(y.name, y.shape, tuple(map(self._ending, y.slots))) for y in program.outputs)
        if not self.crossing:  # an array has entries, used or not
            self._place(_Made(-1, self._given[0].first))
        n, slots = len(self.crossing), tuple(map(self._end, self.crossing))
        before = replace(
            program, name=f"{program.name}.{KNOWN}", slots=program.slots + n, inputs=tuple(self._given),
            outputs=(Output(KNOWN, (n,), slots),), **_calls(self._storing(), ()),
        )  # fmt: skip
        at = next(k for k, x in enumerate(program.inputs) if x.name in names)
        left = [x for x in program.inputs if x.name not in names]
        left.insert(at, Input(KNOWN, (n,), program.slots))
        rest = replace(
            program, slots=program.slots + n, inputs=tuple(left), outputs=outputs, **_calls(self._rest, program.repeats)
        )  # fmt: skip
        return Separated(before, rest, self._moved)

    def _ending(self, slot: int) -> int:
        """The slot in which the second program has, at its end, a value of the whole one."""
        made = self._holds.get(slot)
        return slot if made is None or made is _CONSTANT else self._place(made)

    def _end(self, made: _Made) -> int:
        """The slot in which the first program has, at its end, a value that the second one reads."""
        return made.number if made.call == -1 else self._program.slots + self.crossing[made]

    def _storing(self) -> Iterator[tuple[int, Block, Call]]:
        """The calls of the first program, with stores of the values that the second one reads."""
        crossing: dict[int, list[_Made]] = {}
        for made in self.crossing:
            crossing.setdefault(made.call, []).append(made)
        for number, block, call, places in self._first:
            values = crossing.get(number, [])
            if values and values[0].ported:
                yield number, block, call
                code = tuple(("load", 0, made.number) for made in values)
                stores = tuple(Store(0, self._end(made), i) for i, made in enumerate(values))
                yield number, Block(1, 0, code, stores), Call(0, (0,))
                continue
            crossing_stores = tuple(Store(0, self._end(made), places[made.number]) for made in values)
            yield number, replace(block, stores=(*block.stores, *crossing_stores)), call


def _first_call_of_others(program: Program, given: list[Input]) -> int:
    """The first call that reads an entry of an argument that is not among the given ones."""
    own = {x.name for x in given}
    others = {x.first + k for x in program.inputs if x.name not in own for k in range(x.size)}
    numbers = range(len(program.calls))
    return next((number for number in numbers if not others.isdisjoint(_read_slots(program, number))), len(numbers))


class _SeparatedPart(BlockPart):
    """Some instructions of a block on absolute slots."""

    def __init__(self, block: Block) -> None:
        super().__init__(block)
        self.known: dict[_Made, int] = {}  # numbers of values that were computed elsewhere


def _read_slots(program: Program, number: int) -> set[int]:
    """The slots that a call reads."""
    call = program.calls[number]
    return {call.bases[x[1]] + x[2] for x in program.blocks[call.block].code if x[0] == "load"}


def _written_slots(program: Program, number: int) -> set[int]:
    """The slots that a call writes."""
    call = program.calls[number]
    return {call.bases[x.port] + x.offset for x in program.blocks[call.block].stores}


def _calls(listed: Iterable[tuple[int, Block, Call]], repeats: Iterable[Repeat]) -> dict[str, Any]:
    """Blocks, calls and repeats, from calls with the numbers that they had."""
    blocks: dict[Block, int] = {}
    calls, origins = [], []
    for number, block, call in listed:
        origins.append(number)
        calls.append(replace(call, block=blocks.setdefault(block, len(blocks))))
    origins.append(_FINISHED)
    remaining = []
    for r in repeats:
        first, end = (next(k for k, number in enumerate(origins) if number >= at) for at in (r.first, r.end))
        if end > first:
            remaining.append(Repeat(first, end - first, r.going, r.most))
    return {"blocks": tuple(blocks), "calls": tuple(calls), "repeats": tuple(remaining)}
