"""Which folders of Windows may hold the cache: those that other users cannot write to."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path

import pytest

from fourbar.compile import cache
from fourbar.compile.cache import untrusted_on_windows

ME = {
    "USERPROFILE": r"C:\Users\me",
    "LOCALAPPDATA": r"C:\Users\me\AppData\Local",
    "APPDATA": r"C:\Users\me\AppData\Roaming",
    "PUBLIC": r"C:\Users\Public",
    "ALLUSERSPROFILE": r"C:\ProgramData",
    "TEMP": r"C:\Users\me\AppData\Local\Temp",
}


def resolved(links: dict[str, str]) -> Callable[[str], str]:
    """A file system with links and junctions: the longest that is the beginning of a path is followed, once."""

    def real(name: str) -> str:
        for link, target in sorted(links.items(), reverse=True):
            if name.lower() == link.lower() or name.lower().startswith(link.lower() + "\\"):
                return target + name[len(link) :]
        return name

    return real


@pytest.mark.parametrize(
    "folder",
    [
        r"C:\Users\me\AppData\Local\fourbar",
        r"c:\users\ME\appdata\LOCAL\fourbar",
        r"C:\Users\me\work\cache",
        r"C:\Users\me",
        "C:/Users/me/cache",
        "\\\\?\\C:\\Users\\me\\cache",
        ME["TEMP"] + r"\fourbar",
    ],
)
def test_folders_of_the_profile(folder: str) -> None:
    assert untrusted_on_windows(folder, ME, resolved({})) is None


@pytest.mark.parametrize(
    "folder",
    [
        r"C:\cache",
        r"D:\cache",
        r"C:\Users\you\cache",
        r"C:\Users\menace\cache",
        r"C:\Users",
        r"C:\Temp\Users\me",
        "\\\\server\\share\\cache",
        "\\\\?\\UNC\\server\\share\\cache",
        r"D:\Users\me\cache",
    ],
)
def test_other_folders(folder: str) -> None:
    problem = untrusted_on_windows(folder, ME, resolved({}))
    assert problem is not None and r"outside of your profile, C:\Users\me" in problem


@pytest.mark.parametrize("folder", [r"C:\Users\Public\cache", r"C:\ProgramData\cache"])
def test_folders_of_everybody(folder: str) -> None:
    for environment in (ME, {**ME, "USERPROFILE": r"C:\Users\Public", "LOCALAPPDATA": r"C:\ProgramData\x"}):
        assert untrusted_on_windows(folder, environment, resolved({})) == "all users may write to it"


def test_junctions_count_as_what_they_lead_to() -> None:
    out, back = {r"C:\Users\me\cache": r"D:\shared"}, {r"D:\cache": r"C:\Users\me\cache"}
    assert "outside" in (untrusted_on_windows(r"C:\Users\me\cache", ME, resolved(out)) or "")
    assert untrusted_on_windows(r"D:\cache", ME, resolved(back)) is None
    moved = {r"C:\Users\me": r"E:\homes\me"}  # the profile itself, on another drive
    assert untrusted_on_windows(r"C:\Users\me\cache", ME, resolved(moved)) is None
    assert untrusted_on_windows(r"E:\homes\you", ME, resolved(moved)) is not None


def test_profiles_elsewhere() -> None:
    network = {"USERPROFILE": "\\\\server\\homes\\me", "LOCALAPPDATA": r"D:\profiles\me\Local"}
    assert untrusted_on_windows("\\\\server\\homes\\me\\cache", network, resolved({})) is None
    assert untrusted_on_windows("\\\\?\\UNC\\server\\homes\\me\\cache", network, resolved({})) is None
    assert untrusted_on_windows(r"D:\profiles\me\Local\fourbar", network, resolved({})) is None
    assert untrusted_on_windows("\\\\server\\homes\\you", network, resolved({})) is not None


@pytest.mark.parametrize("profile", ["", "C:\\", r"C:\Users", "C:"])
def test_a_profile_that_is_none(profile: str) -> None:
    problem = untrusted_on_windows(r"C:\Users\me\cache", {"USERPROFILE": profile}, resolved({}))
    assert problem is not None and "USERPROFILE" in problem


def test_the_cache_uses_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Through the same function, warning and words as elsewhere; only the system is another."""
    monkeypatch.setattr(cache, "_ON_WINDOWS", True)
    profile, outside = tmp_path / "Users" / "me", tmp_path / "shared"
    outside.mkdir()
    outside.chmod(0o777)
    profile.mkdir(parents=True)
    (profile / "link").symlink_to(outside)
    for name in ("LOCALAPPDATA", "APPDATA", "PUBLIC", "ALLUSERSPROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("USERPROFILE", str(profile))
    cache._prepare.cache_clear()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            monkeypatch.setenv("FOURBAR_CACHE", str(profile / "cache"))
            assert cache.cache_folder() == (profile / "cache").resolve()
        for name in (outside / "cache", profile / "link"):
            monkeypatch.setenv("FOURBAR_CACHE", str(name))
            with pytest.warns(RuntimeWarning, match="outside of your profile.*Set FOURBAR_CACHE to a folder"):
                assert cache.cache_folder() is None
    finally:
        cache._prepare.cache_clear()


def test_files_that_are_links_are_not_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(cache, "_ON_WINDOWS", True)
    name = "0" * 64 + ".o"
    (tmp_path / "own").mkdir()
    cache.write(tmp_path / "own" / name, b"code")
    assert cache.read(tmp_path / "own" / name) == b"code"
    (tmp_path / name).symlink_to(tmp_path / "own" / name)
    assert cache.read(tmp_path / name) is None
