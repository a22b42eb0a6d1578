"""What is made once per process, by whichever thread comes first.

A thread that makes something takes a turn at it (`Turn`), so that others wait for the result instead of making it
again. Nobody may wait at such a lock for ever:

* A signal handler may need what the interrupted code is making: a thread that has a turn does not wait for it.
* Two threads must not wait for each other, not even if a signal handler in one of them needs one thing while another
  is half made. So turns have levels, and a thread that has one waits only for those of higher levels. Otherwise it
  goes on without: the thing may then be made twice, and all get the one that was stored first (`dict.setdefault`).
* In a forked child the thread that had a turn does not exist: turns are free there.
"""

from __future__ import annotations

import os
from _thread import RLock, get_ident  # not `threading`, which building a robot does not need
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import update_wrapper
from importlib import import_module
from types import ModuleType
from typing import Any, Generic, TypeVar, overload

T = TypeVar("T")


class _Process:
    """The number of forks that led to this process, and the lock under which a child renews its locks."""

    def __init__(self) -> None:
        self.forks = 0
        self.renewing = RLock()

    def forked(self) -> None:
        """We are the child."""
        self.renewing = RLock()
        self.forks += 1
        mine = _levels.get(get_ident(), 0)
        _levels.clear()  # of threads that do not exist here
        if mine:
            _levels[get_ident()] = mine


_process = _Process()


_levels: dict[int, int] = {}  # the highest level of the turns that a thread has, by thread
LARGE, SMALL, LAST = 1, 2, 3  # levels: things made from others, things made alone, things never to be entered twice


class Turn:
    """`with turn.taken():` one thread at a time, as described above. The last level always waits."""

    __slots__ = ("_forks", "_level", "_lock")

    def __init__(self, level: int = LARGE) -> None:
        self._lock = RLock()
        self._forks = _process.forks
        self._level = level

    def _present(self) -> Any:
        """The lock in this process."""
        if self._forks != _process.forks:
            with _process.renewing:
                if self._forks != _process.forks:
                    self._lock = RLock()
                    self._forks = _process.forks
        return self._lock

    @contextmanager
    def taken(self) -> Iterator[None]:
        """Take the turn, or go on without it."""
        thread = get_ident()
        before = _levels.get(thread, 0)
        if before >= self._level and self._level != LAST:
            yield
            return
        try:
            _levels[thread] = self._level
            with self._present():
                yield
        finally:
            if before:
                _levels[thread] = before
            else:
                _levels.pop(thread, None)


class Once(Generic[T]):
    """A function of hashable arguments that calls another once for each of them, and caches the result."""

    def __init__(self, make: Callable[..., T]) -> None:
        self._values: dict[tuple[Any, ...], T] = {}
        self._turn = Turn(SMALL)
        self._make = make
        update_wrapper(self, make)

    def __call__(self, *args: Any) -> T:
        if args not in self._values:
            with self._turn.taken():
                if args not in self._values:
                    self._values.setdefault(args, self._make(*args))
        return self._values[args]

    def forget(self) -> None:
        """Call it again, uncached."""
        self._values.clear()


def once(make: Callable[..., T]) -> Once[T]:
    """The decorator for such a function."""
    return Once(make)


class cached_property(Generic[T]):  # noqa: N801
    """An attribute that is computed when first read.

    It has no lock, unlike functools' in Python 3.11: threads that read it at once may each compute it, and all get
    the first result.
    """

    def __init__(self, compute: Callable[[Any], T]) -> None:
        self.func = compute
        self.__doc__ = compute.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type) -> cached_property[T]: ...
    @overload
    def __get__(self, instance: object, owner: type | None = None) -> T: ...
    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is None:
            return self
        return instance.__dict__.setdefault(self._name, self.func(instance))


class Standstill:
    """Nobody has certain turns of the last level while the process forks: a child would find data half written, and
    locks that no thread of its releases."""

    def __init__(self) -> None:
        self._turns: list[Turn] = []
        self._held: list[ExitStack] = []

    def add(self, turn: Turn) -> None:
        """Take this one too. One who has it may wait for those that were added before, not the other way round."""
        self._turns.append(turn)

    def begin(self) -> None:
        """Take all turns, and keep them: also those that are added by a thread for which this has to wait."""
        while True:
            turns, held = list(self._turns), ExitStack()
            for turn in reversed(turns):
                held.enter_context(turn.taken())
            if len(turns) == len(self._turns):
                break
            held.close()
        self._held.append(held)

    def end(self) -> None:
        """Release them, in the parent and in the child."""
        if self._held:
            self._held.pop().close()


_complete: dict[str, ModuleType] = {}
_importing = Turn(LAST)
forking = Standstill()  # registered once: Python runs those hooks that are there when a fork begins
forking.add(_importing)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=forking.begin, after_in_parent=forking.end, after_in_child=forking.end)


def imported(name: str) -> ModuleType:
    """A module that is imported when first needed.

    For the main thread another one imports it: a signal handler that needs it meanwhile then waits for that thread,
    whereas it would find the module half initialised if its own thread were importing it.
    """
    if name not in _complete:
        import threading

        if threading.current_thread() is threading.main_thread():
            _import_in_thread(name)
            _complete[name] = import_module(name)  # which also raises the error, if there was one
        else:
            with _importing.taken():
                _complete[name] = import_module(name)
    return _complete[name]


def _import_in_thread(name: str) -> None:
    import threading

    def attempt() -> None:
        with suppress(Exception), _importing.taken():
            import_module(name)

    worker = threading.Thread(target=attempt, name=f"fourbar imports {name}", daemon=True)
    try:
        worker.start()
    except RuntimeError:  # no thread can be started, as at interpreter exit
        return
    worker.join()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_process.forked)
