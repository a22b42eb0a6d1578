"""From the program of a step to machine code that makes many of them: the tables of `rollout_loop.py`, and calls."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ..expr import Input, Output, Program, interpret
from ..once import once
from . import batch_loop as words
from . import rollout_loop as own
from .cache import load_module
from .ir import Lanes
from .kernel import Tables, loaded_blocks, workspace_slots
from .llvm import Loaded
from .rollout_loop import DIVERGED, STOPPED
from .workers import address, call_shared, chunk_size, most_threads

_SHARE = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 5, ctypes.c_int64)
_NEVER = 1 << 62  # samples after which signals are looked for: a call is short, and Python looks after it


class Roles(NamedTuple):
    """The roles of arguments of a step's program, by name: `state` says which result is the new value of which input;
    `numbers` stay as they are; `controls` change from row to row; `stop`, if it is not empty, is a result that ends the
    motion of a sample where it is above zero.
    """

    state: Mapping[str, str]
    numbers: tuple[str, ...]
    controls: tuple[str, ...]
    stop: str = ""


class Request(NamedTuple):
    """A request of one call: `steps` steps from number `first` on, a row of controls for each `hold` of them, a record
    after each `every`, of which the arrays begin with number `first_record`.
    """

    steps: int
    first: int = 0
    hold: int = 1
    every: int = 1
    first_record: int = 0


@once
def _driver(lanes: Lanes) -> Loaded:
    return load_module(f"rollout {lanes}", partial(own.rollout_driver, lanes))


class _Move(NamedTuple):
    """Entries that are moved together: their shape, and the slots in which they lie."""

    shape: tuple[int, ...]
    slots: Sequence[int]

    @staticmethod
    def of(argument: Input | Output) -> _Move:
        if isinstance(argument, Output):
            return _Move(argument.shape, argument.slots)
        return _Move(argument.shape, tuple(range(argument.first, argument.first + argument.size)))

    def move_to(self, first: int) -> _Move:
        """Its move into consecutive slots from `first` on."""
        return _Move(self.shape, tuple(range(first, first + len(self.slots))))


class RolloutKernel:
    """A step in machine code, with the results that are `recorded` (names of results, or of inputs that are state).

    The inputs of the program must be in the order state, numbers, controls: bringing one writes beyond its slots.
    """

    def __init__(self, program: Program, lanes: Lanes, roles: Roles, recorded: Sequence[str]) -> None:
        self.lanes, self._name = lanes, program.name
        self._code, blocks = loaded_blocks(program, lanes)
        self._loaded = _driver(lanes)
        self._share = self._loaded.address("share")
        self._alone = _SHARE(self._share)
        self._tables = tables = Tables(program, lanes, blocks, {})
        inputs, outputs = {x.name: x for x in program.inputs}, {y.name: y for y in program.outputs}
        if list(inputs) != [*roles.state, *roles.numbers, *roles.controls]:
            raise ValueError(f"{program.name}: inputs {list(inputs)} are not state, numbers and controls in this order")
        state, results = (
            [_Move.of(inputs[x]) for x in roles.state],
            [_Move.of(outputs[y]) for y in roles.state.values()],
        )
        held = [_Move.of(inputs[x]) for x in roles.controls]
        status = workspace_slots(program)  # and behind it how many steps were made, and room for a new state
        arrived, top = [], status + 2 + sum(len(move.slots) for move in state)
        for move in held:
            arrived.append(move.move_to(top))
            top += len(move.slots)
        fate = [_Move((), (status,)), _Move((), (status + 1,))]
        records = [_Move.of(inputs[name] if name in roles.state else outputs[name]) for name in recorded]
        numbers = [_Move.of(inputs[x]) for x in roles.numbers]
        self._moves = [*state, *numbers, *fate], arrived, [*state, *fate], records
        size = lanes.bytes
        self._data = data = np.zeros(own.ROLLOUT_WORDS, np.int64)
        data[: words.DATA_WORDS] = tables.data
        data[words.BYTES], data[words.PIECE] = (top + lanes.width) * size, _NEVER
        data[own.MOVES] = tables.keep_alive(self._table())
        data[[own.BROUGHT, own.HELD, own.TAKEN, own.RECORDED]] = [len(some) for some in self._moves]
        for at, pairs in (own.HELD_TABLE, _pairs(arrived, held)), (own.STATE_TABLE, _pairs(results, state)):
            data[[at, at + 1]] = tables.keep_alive(pairs * size), len(pairs)
        data[[own.ROOM, own.STATUS, own.MADE]] = (status + 2) * size, status * size, (status + 1) * size
        data[own.STOP] = outputs[roles.stop].slots[0] * size if roles.stop else -1
        self._data_address = address(data)

    def _table(self) -> np.ndarray:
        """The rows of all moves, and where the strides of each are."""
        every = [move for some in self._moves for move in some]
        taken_from = len(self._moves[0]) + len(self._moves[1])
        table = np.zeros((len(every), words.ARGUMENT_WORDS), np.int64)
        stride = len(every)
        for number, (row, move) in enumerate(zip(table, every, strict=True)):
            missing = 3 - len(move.shape)
            row[:3] = (1,) * missing + move.shape
            row[3:6] = [-1] * missing + list(range(stride, stride + len(move.shape)))
            stride += len(move.shape)
            if number >= taken_from:
                row[6] = self._tables.keep_alive(np.array(move.slots, np.int32))
            elif move.slots:
                row[7] = move.slots[0] * self.lanes.bytes
        return table

    def run(
        self,
        request: Request,
        brought: Sequence[np.ndarray],
        controls: Sequence[np.ndarray],
        taken: Sequence[np.ndarray],
        records: Sequence[np.ndarray],
        threads: int,
    ) -> None:
        """Make steps, on `threads` threads.

        `brought` are state, numbers, what became of each sample and how many steps it has made; `taken` are to hold all
        but the numbers afterwards. The first axis of each array are the samples, the second one of `controls` and
        `records` are rows: row k of a record, of all that there could be, is taken after step (k + 1) every. No array
        may overlap those that are written, but for states, which may be written where they were read.
        """
        self.bind_arrays(brought, controls, taken, records).run(request, threads)

    def bind_arrays(
        self,
        brought: Sequence[np.ndarray],
        controls: Sequence[np.ndarray],
        taken: Sequence[np.ndarray],
        records: Sequence[np.ndarray],
    ) -> BoundArrays:
        """The same arrays, as for `run`, to be used again and again: they must stay where they are."""
        return BoundArrays(self, brought, controls, taken, records)

    def call(self, n: int, arguments: tuple[int, int, int], threads: int) -> None:
        """Call the machine code on n samples as a `BoundArrays` has laid them out."""
        failures = self._data[words.FAILURES]
        if threads > 1:
            threads = min(threads, most_threads())
            chunk = chunk_size(n, threads, self.lanes.width, _NEVER)
            call_shared(self._share, arguments, self._data_address, chunk, threads)
        else:
            self._alone(*arguments, self._data_address, ctypes.byref(ctypes.c_int64()), n)
        if self._data[words.FAILURES] != failures:
            raise MemoryError(f"{self._name}: no memory for a workspace of {self._data[words.BYTES]} bytes")


class BoundArrays:
    """Arrays of a kernel as its machine code takes them: see `RolloutKernel.run`."""

    def __init__(
        self,
        kernel: RolloutKernel,
        brought: Sequence[np.ndarray],
        controls: Sequence[np.ndarray],
        taken: Sequence[np.ndarray],
        records: Sequence[np.ndarray],
    ) -> None:
        self._kernel, self._arrays = kernel, [*brought, *controls, *taken, *records]
        arrays = self._arrays
        rows = [*[False] * len(brought), *[True] * len(controls), *[False] * len(taken), *[True] * len(records)]
        outer = [x.strides[0] for x in arrays]
        core = [s for x, has_rows in zip(arrays, rows, strict=True) for s in x.strides[1 + has_rows :]]
        distances = [x.strides[1] if has_rows else 0 for x, has_rows in zip(arrays, rows, strict=True)]
        before = [len(taken[-1]), 0, *map(address, arrays), *outer, *core]
        self._asked = slice(len(before), len(before) + 6)
        self._table = np.array([*before, *[0] * 6, *distances], np.int64)
        dims = address(self._table)
        self._table[1] = dims + 8 * len(before)
        self._n, self._arguments = len(taken[-1]), (dims + 8, dims, dims + 8 * (len(arrays) + 2))
        self._last: Request | None = None

    def run(self, request: Request, threads: int) -> None:
        """Make steps, on `threads` threads."""
        if request != self._last:
            first_control = request.first // request.hold
            self._table[self._asked] = (
                request.steps, request.first, request.hold, request.every, first_control, request.first_record + 1
            )  # fmt: skip
            self._last = request
        self._kernel.call(self._n, self._arguments, threads)


class Interpreter:
    """The same steps by the interpreter: what a `RolloutKernel` is judged by."""

    def __init__(self, program: Program, roles: Roles, recorded: Sequence[str]) -> None:
        self._program, self._roles = program, roles
        self._recorded = [roles.state.get(name, name) for name in recorded]
        self._is_state = [name in roles.state for name in recorded]

    def run(
        self,
        request: Request,
        brought: Sequence[np.ndarray],
        controls: Sequence[np.ndarray],
        taken: Sequence[np.ndarray],
        records: Sequence[np.ndarray],
        threads: int,
    ) -> None:
        """Make steps; see `RolloutKernel.run`."""
        roles = self._roles
        names = [*roles.state, *roles.numbers]
        inputs = dict(zip(names, brought[: len(names)], strict=True))
        status, steps_made = brought[-2].copy(), brought[-1].copy()
        for number in range(request.first, request.first + request.steps):
            row = number // request.hold - request.first // request.hold
            inputs |= {name: x[:, row] for name, x in zip(roles.controls, controls, strict=True)}
            results = interpret(self._program, inputs)
            results |= self._accept(inputs, results, status, steps_made, number)
            inputs |= {name: results[after] for name, after in roles.state.items()}
            if (number + 1) % request.every == 0:
                for target, name in zip(records, self._recorded, strict=True):
                    target[:, (number + 1) // request.every - 1 - request.first_record] = results[name]
        for target, x in zip(taken, [*(inputs[name] for name in roles.state), status, steps_made], strict=True):
            target[...] = x

    def _accept(
        self,
        before: Mapping[str, np.ndarray],
        found: Mapping[str, np.ndarray],
        status: np.ndarray,
        made: np.ndarray,
        number: int,
    ) -> dict[str, np.ndarray]:
        """The states after a step, by the names of results; notes what becomes of each sample."""
        running = (status == own.RUNNING) & (made == number)
        finite = np.ones(len(status), bool)
        for after in self._roles.state.values():
            finite &= np.isfinite(found[after]).reshape(len(status), -1).all(axis=1)
        valid = running & finite
        status[running & ~finite] = DIVERGED
        if self._roles.stop:
            status[valid & (found[self._roles.stop] > 0.0)] = STOPPED
        made[valid] += 1.0
        chosen = {}
        for name, after in self._roles.state.items():
            new = found[after]
            chosen[after] = np.where(valid.reshape(-1, *[1] * (new.ndim - 1)), new, before[name])
        return chosen


def _pairs(origin: Sequence[_Move], target: Sequence[_Move]) -> np.ndarray:
    """From which slot to which: (n, 2)."""
    slots = [[slot for move in some for slot in move.slots] for some in (origin, target)]
    return np.array(slots, np.int64).reshape(2, -1).T.copy()


def advance_patiently(
    kernel: Any,
    levels: Sequence[float],
    request: Request,
    brought: Sequence[np.ndarray],
    controls: Sequence[np.ndarray],
    taken: Sequence[np.ndarray],
    records: Sequence[np.ndarray],
    threads: int,
) -> None:
    """Make steps as `RolloutKernel.run` does, each with the least patience first: the samples that refuse make it again
    together, with more.

    `brought` may be the arrays of `taken`, which has the patience before the status and the number of steps made.
    """
    place = len(taken) - 3
    numbers, first = brought[place + 1 : -2], np.full(len(taken[place]), levels[0])
    fate = [np.array(x) for x in brought[-2:]]
    for k in range(request.steps):
        one = request._replace(steps=1, first=request.first + k)
        row = one.first // request.hold - request.first // request.hold
        rows, state = [x[:, row:] for x in controls], brought[:place] if k == 0 else taken[:place]
        kernel.run(one, [*state, first, *numbers, *fate], rows, taken, records, threads)
        redo_patiently(kernel, levels, one, (numbers, fate), rows, taken, records, threads)
        fate = [np.array(x) for x in taken[-2:]]


def redo_patiently(
    kernel: Any,
    levels: Sequence[float],
    one: Request,
    before: tuple[Sequence[np.ndarray], Sequence[np.ndarray]],
    controls: Sequence[np.ndarray],
    taken: Sequence[np.ndarray],
    records: Sequence[np.ndarray],
    threads: int,
) -> None:
    """Let the samples that refused a step with the least patience make it again. `before`: numbers, and status and
    number of steps made at its start."""
    place, (numbers, fate) = len(taken) - 3, before
    for level in levels[1:]:
        hard = np.flatnonzero((taken[-2] == own.DIVERGED) & (fate[0] == own.RUNNING) & (fate[1] == one.first))
        if not hard.size:
            break
        parts = [*(x[hard] for x in taken[:place]), np.full(hard.size, level)]  # as they were before the step
        some = [*parts, *(x[hard] for x in numbers), *(x[hard] for x in fate)]
        ends = [np.empty_like(x) for x in (*parts, *some[-2:])]
        into = [np.empty((hard.size, *x.shape[1:])) for x in records]
        kernel.run(one, some, [x[hard] for x in controls], ends, into, threads if 8 * hard.size > len(fate[0]) else 1)
        for whole, part in zip(taken, ends, strict=True):
            whole[hard] = part
        if (one.first + 1) % one.every == 0:
            at = (one.first + 1) // one.every - 1 - one.first_record
            for whole, part in zip(records, into, strict=True):
                whole[hard, at] = part[:, at]
    taken[place][...] = levels[-1]
