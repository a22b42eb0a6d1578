"""Things made once per process, by whichever thread comes first.

A thread that makes something takes a turn at it (`Turn`), so that others wait for the result instead of making it
again. No thread may wait for ever at such a lock:

* A signal handler may need what the interrupted code is making: a thread that has a turn does not wait for it.
* Two threads must not wait for each other, not even if a signal handler in one of them needs one thing while another
  is half made. So turns have levels, and a thread that has one waits only for those of higher levels. Otherwise it
  goes on without: the thing may then be made twice, and all get the one that was stored first (`dict.setdefault`).
* In a forked child the thread that had a turn does not exist: turns are free there.

Threads also share Python's garbage collector, which is off while one of them makes much that is no garbage.
"""

from __future__ import annotations

import gc
import os
import sys
from _thread import RLock, get_ident  # not `threading`, which building a robot does not need
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from functools import update_wrapper
from importlib import import_module
from types import ModuleType
from typing import Any, Generic, TypeVar, overload
from weakref import ref

T = TypeVar("T")
K = TypeVar("K")
_MOST_RECENT = 8  # things that `make_recent` keeps


class _Process:
    """The number of forks that led to this process, and the lock under which a child renews its locks."""

    def __init__(self) -> None:
        self.forks = 0
        self.renewing = RLock()

    def renew_in_child(self) -> None:
        """Renew locks and levels in a forked child."""
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
    """`with turn.take():` one thread at a time, as described above. The last level always waits."""

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
    def take(self) -> Iterator[None]:
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
            with self._turn.take():
                if args not in self._values:
                    self._values.setdefault(args, self._make(*args))
        return self._values[args]

    def forget(self) -> None:
        """Call it again, uncached."""
        self._values.clear()


def once(make: Callable[..., T]) -> Once[T]:
    """The decorator for such a function."""
    return Once(make)


class OncePerObject(Generic[T]):
    """A function of an object that calls another once for it, and keeps the result as long as the object lives.

    Objects are distinguished by identity: to compare or hash a mechanism takes long.
    """

    def __init__(self, make: Callable[[Any], T]) -> None:
        self.cache: dict[int, tuple[ref[Any], T]] = {}
        self._make = make
        update_wrapper(self, make)

    def __call__(self, thing: Any) -> T:
        key = id(thing)
        cache = self.cache.get(key)
        if cache is not None and cache[0]() is thing:
            return cache[1]
        found = self._make(thing)
        self.cache[key] = ref(thing, lambda gone: self._forget(key, gone)), found
        return found

    def _forget(self, key: int, gone: ref[Any]) -> None:
        """An object is gone; another may have taken its id."""
        cache = self.cache.get(key)
        if cache is not None and cache[0] is gone:
            self.cache.pop(key, None)


def once_per_object(make: Callable[[Any], T]) -> OncePerObject[T]:
    """The decorator for such a function."""
    return OncePerObject(make)


_turns = [Turn() for _ in range(64)]  # by dictionary: threads that make different things rarely meet
_MISSING: Any = object()


def make_once(cache: dict[K, T], key: K, make: Callable[[], T]) -> T:
    """The value of a key of a dictionary: the one that is there, or else the one that `make` returns. Other threads
    that need it meanwhile wait for it.
    """
    value: Any = cache.get(key, _MISSING)
    if value is _MISSING:
        with _turns[(id(cache) >> 4) % len(_turns)].take():
            value = cache.get(key, _MISSING)
            if value is _MISSING:
                value = cache.setdefault(key, make())
    return value


def make_recent(cache: dict[K, T], key: K, make: Callable[[], T], passing: Callable[[K], bool] = lambda _: True) -> T:
    """As `make_once`, for keys that may differ from call to call, such as those with functions of the user's.

    Of the keys that are `passing` only the last few stay.
    """

    def make_room() -> T:
        for old in [x for x in [*cache] if passing(x)][: 1 - _MOST_RECENT]:
            cache.pop(old, None)
        return make()

    return make_once(cache, key, make_room)


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


class once_property(cached_property[T]):  # noqa: N801
    """The same of attributes that take long: one thread computes it, the others wait."""

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is None:
            return self
        return make_once(instance.__dict__, self._name, lambda: self.func(instance))


class Standstill:
    """Keeps all threads out of certain turns of the last level while the process forks.

    Otherwise a child would inherit half-written data, and locks that none of its threads releases.
    """

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
                held.enter_context(turn.take())
            if len(turns) == len(self._turns):
                break
            held.close()
        self._held.append(held)

    def end(self) -> None:
        """Release them, in the parent and in the child."""
        if self._held:
            self._held.pop().close()


class _Forking(Standstill):
    """Also waits until no other thread imports a part of this library.

    A child would wait for such an import for ever, since none of its threads finishes it.
    """

    def begin(self) -> None:
        """Take all turns when no such import is under way."""
        seen: set[str] = set()  # wait for each once: a thread that forks while it imports may be waited for itself
        while True:
            super().begin()
            names = _imports_of_other_threads() - seen
            if not names:
                return
            self.end()  # what is imported may need a turn
            for name in names:
                with suppress(Exception):
                    import_module(name)  # waits for the thread that does it
            seen |= names

    def end_in_child(self) -> None:
        """Release them. An import that has begun in the last moment is forgotten.

        To let none begin, `begin` would have to keep Python's lock of imports, for which a thread may wait that has a
        lock that other modules take before a fork.
        """
        for name in _imports_of_other_threads():
            _module_locks().pop(name, None)
            if getattr(getattr(sys.modules.get(name), "__spec__", None), "_initializing", False):
                del sys.modules[name]
        self.end()


def _module_locks() -> dict[str, Any]:
    """Weak references to the locks of the modules that are being imported."""
    return getattr(sys.modules.get("_frozen_importlib"), "_module_locks", {})


def _imports_of_other_threads() -> set[str]:
    """The modules of this library that other threads import just now."""
    locks = [(name, lock()) for name, lock in _module_locks().copy().items() if name.startswith(_LIBRARY)]
    return {name for name, lock in locks if getattr(lock, "owner", None) not in (None, get_ident())}


_LIBRARY = f"{__package__}."
_complete: dict[str, ModuleType] = {}
_importing = Turn(LAST)
forking = _Forking()  # registered once: Python runs those hooks that are there when a fork begins
forking.add(_importing)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=forking.begin, after_in_parent=forking.end, after_in_child=forking.end_in_child)


def import_late(name: str) -> ModuleType:
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
            with _importing.take():
                _complete[name] = import_module(name)
    return _complete[name]


def _import_in_thread(name: str) -> None:
    import threading

    def attempt() -> None:
        with suppress(Exception), _importing.take():
            import_module(name)

    worker = threading.Thread(target=attempt, name=f"fourbar imports {name}", daemon=True)
    try:
        worker.start()
    except RuntimeError:  # no thread can be started, as at interpreter exit
        return
    worker.join()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_process.renew_in_child)


class _Collector:
    """Switches Python's cyclic garbage collection off while a thread needs it to be."""

    def __init__(self) -> None:
        self._turn = Turn(LAST)
        self._users = 0
        self._wanted = False

    @contextmanager
    def off(self) -> Iterator[None]:
        """Without garbage collection."""
        self._begin()
        try:
            yield
        finally:
            self._end()

    def _begin(self) -> None:
        with self._turn.take():
            if not self._users:
                self._wanted = gc.isenabled()
            self._users += 1
            gc.disable()

    def _end(self) -> None:
        with self._turn.take():
            self._users = max(0, self._users - 1)
            if not self._users and self._wanted:
                gc.enable()

    def renew_in_child(self) -> None:
        """In a child, where the other threads do not exist."""
        if self._users and self._wanted:
            gc.enable()
        self._users = 0


_collector = _Collector()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_collector.renew_in_child)


def no_collection() -> AbstractContextManager[None]:
    """Without garbage collection: where a file is read or a program is written it finds nothing, and takes a fifth to a
    third of the time.
    """
    return _collector.off()
