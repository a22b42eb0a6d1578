"""Object code on disk: private, checked, repaired, shared by processes, and never needed."""

import os
import stat
import sys
import warnings

import numpy as np
import pytest

import fourbar as fb
from fourbar.compile import cache, kernel
from fourbar.compile import cache as programs
from fourbar.compile import cache as trust
from fourbar.compile import callables as gufunc
from fourbar.joints import Revolute

from .support import chain, finished, machine_code_only, python, same_bits, started

pytestmark = machine_code_only
POSIX = pytest.mark.skipif(sys.platform == "win32", reason="about permissions of POSIX systems")
Q = np.array([0.3])


def hinge(length=1.0):
    """A small robot; another length makes another program."""
    b = fb.Builder("hinge")
    b.body("rod", joint=Revolute("y"), mass=1.0, com=(0.0, 0.0, -length))
    return b.build()


def forget():
    """Let the process look for code in the folder again, as a new one does."""
    kernel._driver.forget()
    for table in (cache._loaded, gufunc._compiled, programs._programs):
        table.clear()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty cache, and a process that remembers no code."""
    monkeypatch.setenv("FOURBAR_CACHE", str(tmp_path / "cache"))
    forget()
    return tmp_path / "cache"


@pytest.fixture
def compiled(monkeypatch):
    """The modules that were compiled."""
    seen = []
    to_object = cache.to_object
    monkeypatch.setattr(cache, "to_object", lambda assembly: seen.append(assembly) or to_object(assembly))
    return seen


def evaluate():
    """A robot made anew, so that its code is looked up again."""
    forget()
    return hinge().gravity_force(Q).copy()


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@POSIX
def test_the_folder_belongs_to_the_user_alone(folder):
    evaluate()
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    files = list(folder.iterdir())
    assert files
    assert all(path.suffix == ".o" and stat.S_IMODE(path.stat().st_mode) == 0o600 for path in files)


def test_code_is_compiled_once(folder, compiled):
    first = evaluate()
    assert len(compiled) == len(list(folder.iterdir())) > 0
    before = contents(folder)
    compiled.clear()
    assert same_bits(evaluate(), first)
    assert not compiled
    assert contents(folder) == before


DAMAGES = {
    "empty": lambda c: b"",
    "truncated head": lambda c: c[:10],
    "truncated checksum": lambda c: c[:40],
    "truncated code": lambda c: c[:-1],
    "half": lambda c: c[: len(c) // 2],
    "garbage": lambda c: os.urandom(len(c)),
    "zeros": lambda c: bytes(len(c)),
    "longer": lambda c: c + b"\0",
    "other magic": lambda c: b"X" + c[1:],
    "bit of the checksum": lambda c: c[:20] + bytes([c[20] ^ 1]) + c[21:],
    "first bit of the code": lambda c: c[:49] + bytes([c[49] ^ 1]) + c[50:],
    "a bit in the middle": lambda c: c[: len(c) // 2] + bytes([c[len(c) // 2] ^ 16]) + c[len(c) // 2 + 1 :],
    "last bit": lambda c: c[:-1] + bytes([c[-1] ^ 128]),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_is_compiled_again_and_repaired(folder, compiled, damage):
    wanted = evaluate()
    before = contents(folder)
    for path in folder.iterdir():
        path.write_bytes(DAMAGES[damage](path.read_bytes()))
    compiled.clear()
    assert same_bits(evaluate(), wanted)
    assert len(compiled) == len(before)
    assert contents(folder) == before


def test_code_under_a_wrong_name_is_not_trusted(folder, compiled):
    """Sound files, but each under the name of another: the checksum covers the name."""
    wanted = evaluate()
    forget()
    hinge(2.0).gravity_force(Q)
    before = contents(folder)
    names = sorted(before)
    for name, other in zip(names, names[1:] + names[:1], strict=True):
        (folder / name).write_bytes(before[other])
    compiled.clear()
    assert same_bits(evaluate(), wanted)
    assert len(compiled) == 2
    forget()
    hinge(2.0).gravity_force(Q)
    assert contents(folder) == before


@pytest.mark.parametrize("what", ["identity", "_writers"])
def test_the_key_depends_on_the_machine_and_the_compiler(folder, compiled, monkeypatch, what):
    wanted = evaluate()
    names = set(contents(folder))
    compiled.clear()
    known = getattr(cache, what)()
    monkeypatch.setattr(cache, what, lambda: known + "another")
    assert same_bits(evaluate(), wanted)
    assert len(compiled) == len(names)
    assert len(set(contents(folder)) - names) == len(names)


def test_the_identity_names_cpu_and_compiler():
    import llvmlite
    import llvmlite.binding as llvm

    assert llvm.get_host_cpu_name() in cache.identity()
    assert llvm.get_host_cpu_features().flatten() in cache.identity()
    assert llvmlite.__version__ in cache.identity()


def test_it_can_be_switched_off(tmp_path, monkeypatch, compiled):
    monkeypatch.setenv("FOURBAR_CACHE", "off")
    monkeypatch.chdir(tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        first, second = evaluate(), evaluate()
    assert same_bits(first, second)
    assert len(compiled) == 4
    assert not list(tmp_path.iterdir())


def warned(match):
    """One call that works but warns."""
    with pytest.warns(RuntimeWarning, match=match):
        result = evaluate()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert same_bits(evaluate(), result)
    return result


@POSIX
@pytest.mark.parametrize("mode", [0o777, 0o770, 0o707, 0o722])
def test_a_folder_that_others_may_write_to_is_not_used(folder, compiled, mode):
    folder.mkdir()
    folder.chmod(mode)
    warned("other users may write to it.*FOURBAR_CACHE")
    assert compiled
    assert not list(folder.iterdir())


@POSIX
@pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() != 0, reason="only root can give a folder away")
def test_a_folder_of_another_user_is_not_used(folder):
    folder.mkdir(mode=0o700)
    os.chown(folder, 12345, 12345)
    warned("belongs to another user")
    assert not list(folder.iterdir())


@POSIX
@pytest.mark.parametrize("mode", [0o777, 0o757, 0o703])
def test_a_folder_whose_parent_others_may_write_to_is_not_used(tmp_path, monkeypatch, mode):
    """Somebody could put another folder into its place."""
    parent = tmp_path / "open"
    (parent / "between").mkdir(parents=True)
    monkeypatch.setenv("FOURBAR_CACHE", str(parent / "between" / "cache"))
    parent.chmod(mode)
    warned("other users may replace it.*open.*writable")
    assert not list((parent / "between" / "cache").iterdir())


@POSIX
def test_a_folder_in_one_that_is_open_but_sticky_is_used(tmp_path, monkeypatch):
    """As in /tmp: others may write there, but not move what is not theirs."""
    parent = tmp_path / "sticky"
    parent.mkdir()
    parent.chmod(0o1777)
    monkeypatch.setenv("FOURBAR_CACHE", str(parent / "cache"))
    evaluate()
    assert list((parent / "cache").iterdir())


@POSIX
@pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() != 0, reason="only root can give a folder away")
def test_a_folder_in_one_of_another_user_is_not_used(tmp_path, monkeypatch):
    parent = tmp_path / "theirs"
    parent.mkdir()
    os.chown(parent, 12345, 12345)
    monkeypatch.setenv("FOURBAR_CACHE", str(parent / "cache"))
    warned("other users may replace it.*theirs belongs to another user")


@POSIX
def test_a_group_of_ones_own_is_nobody_else(monkeypatch):
    """Many systems make a group for each user, and let it write to what the user makes."""
    import grp
    import pwd
    from types import SimpleNamespace as Entry

    status = os.stat_result((0o40775, 0, 0, 0, os.getuid(), 4321, 0, 0, 0, 0))
    monkeypatch.setattr(pwd, "getpwuid", lambda uid: Entry(pw_name="eve", pw_gid=4321))
    for members, problem in (([], None), (["eve"], None), (["eve", "bob"], "is writable by them")):
        monkeypatch.setattr(grp, "getgrgid", lambda gid, m=members: Entry(gr_name="eve", gr_mem=m))
        assert trust._replaceable(status) == problem
    monkeypatch.setattr(grp, "getgrgid", lambda gid: Entry(gr_name="staff", gr_mem=[]))
    assert trust._replaceable(status) == "is writable by them"


OTHERS = {
    "writable by others": lambda path: path.chmod(0o606),
    "writable by a group": lambda path: path.chmod(0o660),
    "a link": lambda path: path.symlink_to(path.rename(path.with_name("elsewhere"))),
    "of another user": lambda path: os.chown(path, 12345, 12345),
}


@POSIX
@pytest.mark.parametrize("change", OTHERS)
def test_files_of_others_are_not_run(folder, compiled, change):
    """They are compiled again, and replaced."""
    if change == "of another user" and os.getuid() != 0:
        pytest.skip("only root can give a file away")
    wanted = evaluate()
    for path in list(folder.glob("*.o")):
        OTHERS[change](path)
    seen = len(compiled)
    assert same_bits(evaluate(), wanted)
    assert len(compiled) == 2 * seen
    files = list(folder.glob("*.o"))
    assert files
    assert all(not path.is_symlink() and stat.S_IMODE(path.stat().st_mode) == 0o600 for path in files)
    assert all(path.stat().st_uid == os.getuid() for path in files)


@POSIX
def test_a_link_is_followed_once(tmp_path, monkeypatch):
    """What it leads to later is not what was looked at."""
    real, other, link = tmp_path / "real", tmp_path / "other", tmp_path / "link"
    real.mkdir(mode=0o700)
    other.mkdir(mode=0o700)
    link.symlink_to(real)
    monkeypatch.setenv("FOURBAR_CACHE", str(link))
    evaluate()
    link.unlink()
    link.symlink_to(other)
    hinge(2.0).gravity_force(Q)
    assert list(real.iterdir())
    assert not list(other.iterdir())


@POSIX
def test_a_folder_that_cannot_be_written_is_not_used(folder, monkeypatch):
    folder.mkdir()
    folder.chmod(0o500)
    if os.getuid() == 0:  # whom nothing stops
        monkeypatch.setattr(os, "access", lambda path, mode: False)
    warned("not writable")


def test_a_folder_that_cannot_be_made(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("FOURBAR_CACHE", str(tmp_path / "file" / "cache"))
    warned("cannot store compiled code")


def test_a_folder_that_vanishes(folder):
    import shutil

    wanted = evaluate()
    shutil.rmtree(folder)
    with pytest.warns(RuntimeWarning, match="could not write"):
        assert same_bits(evaluate(), wanted)


def test_a_full_disk_leaves_no_temporary_file(folder, monkeypatch):
    def full(*paths):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.warns(RuntimeWarning, match="No space left"):
        evaluate()
    assert not list(folder.iterdir())


def test_a_folder_in_the_place_of_a_file(folder):
    wanted = evaluate()
    names = list(contents(folder))
    for name in names:
        (folder / name).unlink()
        (folder / name).mkdir()
    with pytest.warns(RuntimeWarning, match="could not write"):
        assert same_bits(evaluate(), wanted)
    assert sorted(path.name for path in folder.iterdir()) == sorted(names)


_COUNTED = """
import os, time
import numpy as np
from fourbar.compile import cache
from tests.compile.support import arguments, digest, pendulum
compiled = []
to_object = cache.to_object
cache.to_object = lambda text: compiled.append(text) or to_object(text)
if "GATE" in os.environ:  # begin when all have come here
    open(os.path.join(os.environ["GATE"], str(os.getpid())), "w").close()
    while len(os.listdir(os.environ["GATE"])) < 4:
        time.sleep(0.001)
results = [pendulum().inverse_dynamics(*arguments(pendulum(), "inverse_dynamics", b)) for b in ((), (9,))]
print(digest(results), len(compiled))
"""


@pytest.mark.slow  # test_cache_lock has processes that begin together
def test_processes_race_for_one_cache(tmp_path):
    """Four at once on an empty folder: all agree, nothing is left behind, and a fifth has nothing to compile."""
    (tmp_path / "gate").mkdir()
    given = {"FOURBAR_CACHE": str(tmp_path / "cache"), "GATE": str(tmp_path / "gate")}
    running = [started(_COUNTED, **given) for _ in range(4)]
    answers = [finished(process).split() for process in running]
    assert len({answer[0] for answer in answers}) == 1
    assert any(int(answer[1]) > 0 for answer in answers)  # one that is late may find all of it
    assert all(path.suffix == ".o" for path in (tmp_path / "cache").iterdir())
    fifth = python(_COUNTED, FOURBAR_CACHE=str(tmp_path / "cache")).split()
    assert fifth == [answers[0][0], "0"]


def test_robots_share_blocks(folder, compiled):
    """The steps of a long chain serve another one of other sizes and masses."""
    q = np.zeros(150)
    chain(150).forward_dynamics(q, q, q)
    assert len(compiled) > 1
    compiled.clear()
    chain(150, seed=7).forward_dynamics(q, q, q)
    assert not compiled


def test_without_source_files_the_code_itself_is_the_key(folder, compiled, monkeypatch):
    monkeypatch.setattr(cache, "_writers", lambda: "")
    first = evaluate()
    compiled.clear()
    assert same_bits(evaluate(), first)
    assert not compiled


def test_source_files_that_cannot_be_read_are_no_key(monkeypatch):
    def refuse(path):
        raise PermissionError("not yours")

    assert cache._writers.__wrapped__()
    monkeypatch.setattr(cache.Path, "read_bytes", refuse)
    assert cache._writers.__wrapped__() == ""


def test_the_name_of_the_folder_may_be_relative_or_at_home(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("USERPROFILE", str(tmp_path / "home"))
    monkeypatch.setenv("FOURBAR_CACHE", "~/code")
    assert cache.cache_folder() == tmp_path / "home" / "code"
    name = f"relative-{tmp_path.name}"
    monkeypatch.setenv("FOURBAR_CACHE", name)
    assert cache.cache_folder() == tmp_path / name
    monkeypatch.chdir(tmp_path / "home")
    assert cache.cache_folder() == tmp_path / name


def test_the_default_folder_follows_the_system(monkeypatch, tmp_path):
    if sys.platform.startswith("linux"):
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
        monkeypatch.delenv("FOURBAR_CACHE", raising=False)
        assert cache.cache_folder() == tmp_path / "fourbar"
        monkeypatch.setenv("FOURBAR_CACHE", "")
        assert cache.cache_folder() == tmp_path / "fourbar"
