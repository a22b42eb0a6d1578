"""Where the values of shared blocks lie.

The results of a task lie together in *records*, one record for the leaves that the same later tasks use, so that
short-lived ones can be overwritten early. A block finds each record through a port.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .node import Value
from .shared_tasks import KEPT, Task

_RESULT = -1  # the role of the caller of the program


@dataclass(frozen=True)
class Layout:
    """Where one task finds its loads and puts its exports: (port, offset) each; ports are numbered as they appear."""

    bases: tuple[int, ...]
    loads: tuple[tuple[int, int], ...]
    exports: tuple[tuple[int, int], ...]

    def places(self) -> tuple[tuple[int, int], ...]:
        """Where everything is: loads, then exports."""
        return self.loads + self.exports


@dataclass(frozen=True)
class Ports:
    """How one block addresses the loads and exports of all of its calls, wherever these have them.

    `anchors` are the numbers of the values that the ports point at; `addresses` are (port, offset) of every value.
    """

    anchors: tuple[int, ...]
    addresses: tuple[tuple[int, int], ...]

    @staticmethod
    def common(layouts: Sequence[Layout]) -> Ports:
        """Values share a port if they lie equally far apart in all layouts: the fewest ports that serve every call."""
        numbers: dict[Any, list[int]] = {}
        given = [layout.places() for layout in layouts]
        (_, first), *others = [list(zip(*places, strict=True)) if places else [(), ()] for places in given]
        for i, (port, _) in enumerate(given[0] if given else ()):
            moved = tuple((ports[i], offsets[i] - first[i]) for ports, offsets in others)
            numbers.setdefault((port, moved), []).append(i)
        anchors: list[int] = []
        addresses: dict[int, tuple[int, int]] = {}
        for port, members in enumerate(numbers.values()):
            least = min(members, key=lambda i: first[i])
            anchors.append(least)
            addresses.update((i, (port, first[i] - first[least])) for i in members)
        return Ports(tuple(anchors), tuple(addresses[i] for i in range(len(addresses))))

    @staticmethod
    def of_slots(slots: np.ndarray) -> Ports:
        """The same for values that lie in slots (calls, values): values share a port if they are always equally far."""
        groups: dict[bytes, list[int]] = {}
        for i, column in enumerate(slots.T):
            groups.setdefault((column - column[0]).tobytes(), []).append(i)
        anchors = [min(members, key=lambda i: slots[0, i]) for members in groups.values()]
        found = {i: port for port, members in enumerate(groups.values()) for i in members}
        distances = [(found[i], int(slots[0, i] - slots[0, anchors[found[i]]])) for i in range(slots.shape[1])]
        return Ports(tuple(anchors), tuple(distances))

    def bases(self, layout: Layout) -> tuple[int, ...]:
        """What the ports of a call point at."""
        places = layout.places()
        return tuple(layout.bases[places[i][0]] + places[i][1] for i in self.anchors)


class Records:
    """Places every value: the records of a task are allocated when it runs and recycled after their last use.

    The results of a standalone step are one record, whoever uses them.
    """

    def __init__(self, tasks: Sequence[Task], first_free: int, repeated: Sequence[tuple[int, int]] = ()) -> None:
        self._tasks = tasks
        self._roles = _numbered(task.role for task in tasks)
        self._last: dict[Value, int] = {}
        self._users: dict[Value, frozenset[int]] = {}
        nobody: frozenset[int] = frozenset()
        joined: dict[tuple[frozenset[int], int], frozenset[int]] = {}  # few are different, and a set takes 216 bytes
        for number, (task, role) in enumerate(zip(tasks, self._roles, strict=True)):
            for value in task.loads:
                self._last[value] = number
                before = self._users.get(value, nobody)
                if role not in before:
                    if (before, role) not in joined:
                        joined[before, role] = before | {role}
                    self._users[value] = joined[before, role]
        for first, end in repeated:
            self._outlast(first, end)
        self._offsets = self._group()
        self._home: dict[Value, tuple[Any, int]] = {}
        self.slots = self._allocate(first_free)

    def _outlast(self, first: int, end: int) -> None:
        """Keep what tasks[first:end], which run again and again, read and did not make until the last of them."""
        made = {value for task in self._tasks[first:end] for value in task.exports}
        for task in self._tasks[first:end]:
            for value in task.loads:
                if value not in made:
                    self._last[value] = max(self._last[value], end - 1)

    def _group(self) -> dict[int, dict[Any, tuple[Any, int]]]:
        """For every role: its results, split by the roles that use them -> (record, offset in it)."""
        users: dict[int, dict[Any, set[int]]] = defaultdict(lambda: defaultdict(set))
        for task, number in zip(self._tasks, self._roles, strict=True):
            role = users[number]
            for value, tag in zip(() if task.is_apart else task.exports, task.tags, strict=True):
                role[tag].update(self._users.get(value, ()))
                if value.last_use == KEPT:
                    role[tag].add(_RESULT)
        groups: dict[int, dict[Any, tuple[Any, int]]] = {}
        for number, results in users.items():
            size: dict[Any, int] = defaultdict(int)
            groups[number] = {}
            for tag in sorted(results):
                record = frozenset(results[tag])
                groups[number][tag] = (record, size[record])
                size[record] += 1
        return groups

    def _allocate(self, top: int) -> int:
        """Place the records of every task; returns the number of slots."""
        free: dict[int, list[int]] = defaultdict(list)
        expiring: dict[int, list[tuple[int, int]]] = defaultdict(list)
        for number, task in enumerate(self._tasks):
            for record, values in self._records_of(number).items():
                size = 1 + max(offset for _, offset in values)
                if free[size]:
                    base = free[size].pop()
                else:
                    base, top = top, top + size
                home = ((number, record), base)
                for value, offset in values:
                    value.slot = base + offset
                    if value in self._last or not task.is_apart:
                        self._home[value] = home
                if not any(value.last_use == KEPT for value, _ in values):
                    last = max(self._last.get(value, number) for value, _ in values)
                    expiring[last].append((size, base))
            for size, base in expiring.pop(number, ()):
                free[size].append(base)
        return top

    def _records_of(self, number: int) -> dict[Any, list[tuple[Value, int]]]:
        """The records that a task writes: (value, offset) of each of their members."""
        task = self._tasks[number]
        if task.is_apart and task.exports[0].argument:  # a copy into values that have slots of their own
            return {}
        if task.is_apart:
            return {"all": [(value, i) for i, value in enumerate(task.exports)]}
        records: dict[Any, list[tuple[Value, int]]] = defaultdict(list)
        places = self._offsets.get(self._roles[number], {})
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


def _numbered(roles: Iterable[Any]) -> list[int]:
    """Equal roles by equal numbers, which are compared faster."""
    known: dict[Any, int] = {}
    return [known.setdefault(role, len(known)) for role in roles]
