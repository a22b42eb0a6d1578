"""Whether a folder of Windows is one that only this user, and administrators, can write to.

Windows has no owner and mode as POSIX has. But it protects the profile of each user, where the default folder of the
cache is; elsewhere, as in the root of a drive, it lets every user create and change files unless this is
forbidden.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import PureWindowsPath

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
