"""Whether code that lies on disk can only be the user's own (POSIX).

Object code from the cache is run, so nobody else may be able to put a file there: not into the folder, and not another
folder into its place. Windows has no such check: see docs/concepts.md.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

_KNOWS_OWNERS = hasattr(os, "getuid")


def untrusted_folder(folder: Path) -> str | None:
    """Why code found in a folder, given by its real path, could be somebody else's; None if it could not."""
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
    """Why others may move what is in a folder; None if only this user may, and root, who may do anything anyhow.

    In a folder with the sticky bit everybody moves their own only.
    """
    if status.st_uid not in (0, os.getuid()):
        return "belongs to another user"
    by_group = bool(status.st_mode & stat.S_IWGRP) and not _is_private_group(status.st_gid)
    if (by_group or status.st_mode & stat.S_IWOTH) and not status.st_mode & stat.S_ISVTX:
        return "is writable by them"
    return None


def _is_private_group(number: int) -> bool:
    """Whether a group is the user's alone, as many systems make one for each user."""
    import grp
    import pwd

    try:
        group, user = grp.getgrgid(number), pwd.getpwuid(os.getuid())
    except KeyError:
        return False
    return user.pw_gid == number and group.gr_name == user.pw_name and set(group.gr_mem) <= {user.pw_name}


def read_own(path: Path) -> bytes | None:
    """The content of a file of this user, or of root, that no other may write; None for any other, and for a link."""
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0))
    with open(handle, "rb") as file:
        status = os.fstat(handle)
        if _KNOWS_OWNERS and not _is_own(status):
            return None
        return file.read()


def _is_own(status: os.stat_result) -> bool:
    others = status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    return stat.S_ISREG(status.st_mode) and status.st_uid in (0, os.getuid()) and not others
