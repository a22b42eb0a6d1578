"""Object code and programs, in this process and on disk. Object code is keyed by its program, the CPU and the compiler;
a program by the robot and the method that it was traced from.

Files are written to a temporary name and moved into place, so that many processes may share the folder; each begins
with a checksum of its name and its content, and one that does not match is made again, never trusted. The folder and
its files must belong to the user alone (on Windows: be in the user's profile), and its size is bounded. FOURBAR_CACHE
names another folder, or switches the cache off with "off".

Windows has no owner and mode as POSIX has. But it protects the profile of each user, where the default folder of the
cache is; elsewhere, as in the root of a drive, it lets every user create and change files unless this is
forbidden.

One process at a time makes what goes into the cache: others wait for it instead of making it again. Many may begin
together, such as the workers of a cluster on one machine, and all need the same code. Nobody waits for ever: the lock
of a process that ends is free at once, and after a time everybody goes on without it. What is made is the same in any
case; only work is saved.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path, PureWindowsPath
from weakref import WeakValueDictionary

import numpy as np

from ..expr import Program
from ..expr.text import pack, unpack
from ..once import no_collection
from ..sources import sources
from .compilation_progress import note_writing
from .llvm import Loaded, identity, to_object

try:
    import fcntl
except ImportError:  # Windows: each process makes its own
    fcntl = None

_LONGEST = 60.0  # seconds that a process waits for another
_mine: set[Path] = set()  # what this process is making


@contextmanager
def make_once_across_processes(path: Path) -> Iterator[None]:
    """While a file of the cache is made. Look for it again inside: another process may have made it meanwhile."""
    if fcntl is None or path in _mine:  # another thread makes it, or a signal handler needs what it interrupted
        yield
        return
    lock = path.with_suffix(".lock")
    try:
        handle = os.open(lock, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600)
    except OSError:  # a folder that is read only, or was removed
        yield
        return
    _mine.add(path)
    try:
        if _acquire(handle):
            try:
                yield
            finally:
                with suppress(OSError):
                    lock.unlink()
                fcntl.flock(handle, fcntl.LOCK_UN)  # a forked child has the handle too
        else:
            yield
    finally:
        _mine.discard(path)
        os.close(handle)


def _acquire(handle: int) -> bool:
    """Whether the lock is ours, once it is or after a time."""
    assert fcntl is not None
    end, pause = time.monotonic() + _LONGEST, 0.001
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            if time.monotonic() > end:
                return False
        except OSError:  # a file system without locks
            return False
        time.sleep(pause)
        pause = min(0.05, 1.5 * pause)


_OWN = ("USERPROFILE", "LOCALAPPDATA", "APPDATA")  # set by Windows, for each user
_EVERYBODYS = ("PUBLIC", "ALLUSERSPROFILE")


def untrusted_on_windows(
    folder: str, environment: Mapping[str, str], real: Callable[[str], str] = os.path.realpath
) -> str | None:
    """Why others could write to a folder; None if it is in the profile of this user.

    `real` resolves links and junctions: what counts is where they lead.
    """
    here = _path(real(folder))
    shared = [_path(real(environment[name])) for name in _EVERYBODYS if environment.get(name)]
    if any(here.is_relative_to(one) for one in shared):
        return "all users may write to it"
    folders = [_path(real(environment[name])) for name in _OWN if environment.get(name)]
    profiles = [one for one in folders if _is_one_users(one)]
    if any(here.is_relative_to(one) for one in profiles):
        return None
    if not profiles:
        return "the folder of your profile is not known: USERPROFILE is not set to it"
    return f"Windows lets other users write to folders outside of your profile, {profiles[0]}"


def _is_one_users(path: PureWindowsPath) -> bool:
    r"""Whether a folder is deep enough to be one user's: C:\Users\me or \\server\homes\me, not C:\Users."""
    return len(path.parts) > (1 if path.drive.startswith("\\\\") else 2)


def _path(name: str) -> PureWindowsPath:
    r"""A path without the prefix of long ones, \\?\C:\... or \\?\UNC\server\..., which is another name of the same."""
    path = name.replace("/", "\\")
    if path.startswith("\\\\?\\UNC\\"):
        return PureWindowsPath("\\\\" + path[8:])
    return PureWindowsPath(path.removeprefix("\\\\?\\"))


_MAGIC = b"fourbar cached 1\n"


def cache_folder() -> Path | None:
    """The folder of the cache, created if necessary; None if there is none."""
    asked = os.environ.get("FOURBAR_CACHE")
    return None if asked == "off" else _prepare(asked or _default_folder())


def _default_folder() -> str:
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or os.path.expanduser("~")
    elif sys.platform == "darwin":
        base = os.path.expanduser("~/Library/Caches")
    else:
        base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return os.path.join(base, "fourbar")


@cache
def _prepare(name: str) -> Path | None:
    folder = Path(name).expanduser().absolute()
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder = folder.resolve()  # links are resolved once: they may lead elsewhere later
        problem = untrusted_folder(folder)
    except OSError as error:
        problem = str(error)
    if problem is None:
        return folder
    warnings.warn(
        f"fourbar cannot store compiled code in {name} ({problem}): every process will compile again. Set "
        "FOURBAR_CACHE to a folder of your own, or to 'off'.",
        RuntimeWarning,
        stacklevel=2,
    )
    return None


def read(path: Path) -> bytes | None:
    """The content of a cache file; None if there is none, or it is damaged or another user's."""
    try:
        content = read_own(path)
    except OSError:
        return None
    if content is None:
        return None
    start = len(_MAGIC) + 32
    body = content[start:]
    if content[:start] != _head(path, body):
        return None
    note_use(path)
    return body


def _head(path: Path, content: bytes) -> bytes:
    """The header of a cache file. The name is part of the checksum: content under a wrong name counts as damaged."""
    return _MAGIC + hashlib.sha256(path.name.encode() + content).digest()


def write(path: Path, content: bytes) -> None:
    """Put a file into the cache; a warning if that fails."""
    temporary = path.parent / f"writing-{os.urandom(8).hex()}.part"
    try:
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)
        with os.fdopen(handle, "wb") as file:
            file.write(_head(path, content) + content)
        os.replace(temporary, path)
        prune_sometimes(path)
    except OSError as error:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        warnings.warn(f"fourbar could not write {path}: {error}", RuntimeWarning, stacklevel=3)


_MOST = 1 << 30  # bytes
_KEPT = 0.75  # fraction to which they are reduced once exceeded
_DAY = 86400.0
_OURS = re.compile(r"[0-9a-f]{64}\.(o|program|lock)|writing-.*\.part")


def note_use(path: Path) -> None:
    """Record, to the day, that a file was used."""
    with suppress(OSError):  # another process may have removed it since, or may have it open
        if path.stat().st_mtime < time.time() - _DAY:
            os.utime(path)


def prune_sometimes(written: Path) -> None:
    """Prune the folder of a new file: for one in 256 of them, chosen by name, since it examines all the others."""
    if written.name.startswith("00"):
        prune(written.parent)


def prune(folder: Path) -> None:
    """Remove the least recently used files if all together are too large."""
    files = _files(folder)
    total = sum(size for _, size, _ in files)
    if total <= _MOST:
        return
    for _, size, path in sorted(files):
        with suppress(OSError):  # another process may have it open
            Path(path).unlink(missing_ok=True)
            total -= size
        if total <= _KEPT * _MOST:
            return


def _files(folder: Path) -> list[tuple[float, int, str]]:
    """(time of last use, size, path) of each file of the cache."""
    files = []
    with os.scandir(folder) as entries:
        for entry in entries:
            if _OURS.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
                with suppress(FileNotFoundError):  # another process is pruning too
                    status = entry.stat(follow_symlinks=False)
                    files.append((status.st_mtime, status.st_size, entry.path))
    return files


_ON_WINDOWS = os.name == "nt"
_KNOWS_OWNERS = hasattr(os, "getuid")


def untrusted_folder(folder: Path) -> str | None:
    """Why code in a folder, given by its real path, could be another user's; None if it could not."""
    if _ON_WINDOWS:
        return untrusted_on_windows(str(folder), os.environ)
    if not _KNOWS_OWNERS:
        return None
    status = folder.stat()
    if status.st_uid != os.getuid():
        return "it belongs to another user"
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return "other users may write to it"
    if not os.access(folder, os.W_OK | os.X_OK):
        return "it is not writable"
    for above in folder.parents:
        problem = _replaceable(above.stat())
        if problem is not None:
            return f"other users may replace it: {above} {problem}"
    return None


def _replaceable(status: os.stat_result) -> str | None:
    """The reason why others can replace files of a folder; None if only this user and root can.

    In a folder with the sticky bit everybody can move only their own files.
    """
    if status.st_uid not in (0, os.getuid()):
        return "belongs to another user"
    by_cluster = bool(status.st_mode & stat.S_IWGRP) and not _is_private_group(status.st_gid)
    if (by_cluster or status.st_mode & stat.S_IWOTH) and not status.st_mode & stat.S_ISVTX:
        return "is writable by them"
    return None


def _is_private_group(number: int) -> bool:
    """Whether a group belongs to the user alone, as on many systems."""
    import grp
    import pwd

    try:
        group, user = grp.getgrgid(number), pwd.getpwuid(os.getuid())
    except KeyError:
        return False
    return user.pw_gid == number and group.gr_name == user.pw_name and set(group.gr_mem) <= {user.pw_name}


def read_own(path: Path) -> bytes | None:
    """The content of a file of this user, or of root, that nobody else may write; None for any other, and for a
    link. On Windows files are as trustworthy as their folder.
    """
    if _ON_WINDOWS and not stat.S_ISREG(os.lstat(path).st_mode):
        return None
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0))
    with open(handle, "rb") as file:
        status = os.fstat(handle)
        if _KNOWS_OWNERS and not _ON_WINDOWS and not _is_own(status):
            return None
        return file.read()


def _is_own(status: os.stat_result) -> bool:
    others = status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    return stat.S_ISREG(status.st_mode) and status.st_uid in (0, os.getuid()) and not others


_loaded: WeakValueDictionary[str, Loaded] = WeakValueDictionary()


def load_module(key: str, assembly: Callable[[], str]) -> Loaded:
    """An LLVM module in memory, shared while any caller holds a reference. `key` identifies its source."""
    found = _loaded.get(key)
    return _loaded.setdefault(key, Loaded(cached_object(key, assembly))) if found is None else found


def cached_object(key: str, assembly: Callable[[], str]) -> bytes:
    """Object code of an LLVM module, from the cache if present.

    `key` is what the module is made from; the CPU, the compiler and the sources that write the module belong to it too.
    """
    folder = cache_folder()
    if folder is None:
        return to_object(assembly())
    whole = "\n".join([identity(), _writers() or assembly(), key])
    path = folder / (hashlib.sha256(whole.encode()).hexdigest() + ".o")
    return read(path) or _compile_object(path, assembly)


def _compile_object(path: Path, assembly: Callable[[], str]) -> bytes:
    """Object code that is not in the cache yet, unless another process is making it."""
    with make_once_across_processes(path):
        code = read(path)
        if code is None:
            code = to_object(assembly())
            write(path, code)
        return code


@cache
def _writers() -> str:
    """A fingerprint of the sources that write LLVM assembly (this folder); empty if they differ from what runs."""
    digest = hashlib.sha256()
    files = sources(str(Path(__file__).parent))
    try:
        for path, _ in files:
            digest.update(Path(path).read_bytes())
    except OSError:
        return ""
    return digest.hexdigest() if files else ""


_WORTH_A_FILE = 1000  # instructions; fewer are traced in the time it takes to look for the file


def cached_program(key: Callable[[], bytes | None], make: Callable[[], Program]) -> Program:
    """The program that `make` writes, from the cache if present.

    `key` gives all that the program depends on, or None if that is unknown: then it is always made.
    """
    with no_collection():
        return _find_or_make(key, make)


_programs: WeakValueDictionary[str, Program] = WeakValueDictionary()


def _find_or_make(key: Callable[[], bytes | None], make: Callable[[], Program]) -> Program:
    """The program of this process, of the folder, or a new one. Equal robots hold the same program."""
    known = key()
    if known is None:
        return _write_program(make)
    name = hashlib.sha256(_reader() + known).hexdigest()
    found = _programs.get(name)
    return _programs.setdefault(name, _read_or_make(name, make)) if found is None else found


def _read_or_make(name: str, make: Callable[[], Program]) -> Program:
    folder = cache_folder()
    if folder is None:
        return _write_program(make)
    path = folder / f"{name}.program"
    found = read(path)
    return _make(path, make) if found is None else unpack(found)


def _make(path: Path, make: Callable[[], Program]) -> Program:
    """A program that is not in the cache yet, unless another process is making it."""
    with make_once_across_processes(path):
        found = read(path)
        if found is not None:
            return unpack(found)
        program = _write_program(make)
        if sum(len(block.code) for block in program.blocks) >= _WORTH_A_FILE:
            write(path, pack(program))
        return program


def _write_program(make: Callable[[], Program]) -> Program:
    """A new program; the time that it takes belongs to the compilation that follows."""
    began = time.monotonic()
    program = make()
    note_writing(began)
    return program


def _reader() -> bytes:
    """Python reads only what the same version wrote; the constants in a program are computed by NumPy."""
    return f"{sys.implementation.cache_tag} {sys.version}\n{np.__version__}\n".encode()
