"""Where the values of shared blocks lie.

The results of a task lie together in *records*, one record for the leaves that the same later tasks use, so that
short-lived ones can be overwritten early. A block finds each record through a port.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .node import Value
from .tasks import Task


@dataclass(frozen=True)
class Layout:
    """Where one task finds its loads and puts its exports: (port, offset) each; ports are numbered as they appear."""

    bases: tuple[int, ...]
    loads: tuple[tuple[int, int], ...]
    exports: tuple[tuple[int, int], ...]


class Records:
    """Places every value: the records of a task are allocated when it runs and recycled after their last use."""

    def __init__(self, tasks: Sequence[Task], kept: set[Value], first_free: int) -> None:
        self._tasks = tasks
        self._kept = kept
        self._consumers: dict[Value, list[int]] = defaultdict(list)
        for number, task in enumerate(tasks):
            for value in task.loads:
                self._consumers[value].append(number)
        self._offsets = self._group()
        self._home: dict[Value, tuple[Any, int]] = {}
        self.slots = self._allocate(first_free)

    def _group(self) -> dict[Any, dict[Any, tuple[Any, int]]]:
        """For every role: its results, split by the roles that use them -> (record, offset in it)."""
        users: dict[Any, dict[Any, set[Any]]] = defaultdict(lambda: defaultdict(set))
        for task in self._tasks:
            role = users[task.role]
            for value, tag in zip(task.exports, task.tags, strict=True):
                role[tag].update(self._tasks[n].role for n in self._consumers.get(value, ()))
                if value in self._kept:
                    role[tag].add("result of the program")
        groups: dict[Any, dict[Any, tuple[Any, int]]] = {}
        for role, results in users.items():
            size: dict[Any, int] = defaultdict(int)
            groups[role] = {}
            for tag in sorted(results):
                record = frozenset(results[tag])
                groups[role][tag] = (record, size[record])
                size[record] += 1
        return groups

    def _allocate(self, top: int) -> int:
        """Place the records of every task; returns the number of slots."""
        free: dict[int, list[int]] = defaultdict(list)
        expiring: dict[int, list[tuple[int, int]]] = defaultdict(list)
        for number, task in enumerate(self._tasks):
            for record, values in self._records_of(task).items():
                size = 1 + max(offset for _, offset in values)
                if free[size]:
                    base = free[size].pop()
                else:
                    base, top = top, top + size
                for value, offset in values:
                    value.slot = base + offset
                    self._home[value] = ((number, record), base)
                if not any(value in self._kept for value, _ in values):
                    last = max(n for value, _ in values for n in self._consumers[value])
                    expiring[last].append((size, base))
            for size, base in expiring.pop(number, ()):
                free[size].append(base)
        return top

    def _records_of(self, task: Task) -> dict[Any, list[tuple[Value, int]]]:
        """The records that a task writes: (value, offset) of each of their members."""
        records: dict[Any, list[tuple[Value, int]]] = defaultdict(list)
        places = self._offsets.get(task.role, {})
        for value, tag in zip(task.exports, task.tags, strict=True):
            record, offset = places[tag]
            records[record].append((value, offset))
        return records

    def layout(self, task: Task) -> Layout:
        """How a task addresses its loads and exports."""
        ports: dict[Any, int] = {}
        bases: list[int] = []

        def address(value: Value) -> tuple[int, int]:
            record, base = (value.argument, value.slot) if value.argument else self._home[value]
            if record not in ports:
                ports[record] = len(bases)
                bases.append(base)
            port = ports[record]
            return port, value.slot - bases[port]

        loads = tuple(address(value) for value in task.loads)
        exports = tuple(address(value) for value in task.exports)
        return Layout(tuple(bases), loads, exports)
