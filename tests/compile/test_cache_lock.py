"""Processes that begin together and share a cache: each thing is compiled by one of them."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("fcntl")

CODE = """
import os, sys, time
import numpy as np
import fourbar as fb
from fourbar.compile import cache
made, plain = [], cache.to_object
def slowly(assembly):
    made.append(1)
    time.sleep(0.05)
    return plain(assembly)
cache.to_object = slowly
robot = fb.robots.double_pendulum()
print("ready", flush=True)
sys.stdin.readline()
robot.forward_dynamics(*np.zeros((3, 16, 2)))
print(len(made))
"""


def start(cache: Path) -> subprocess.Popen[str]:
    """A process that is ready to compute."""
    environment = {**os.environ, "FOURBAR_CACHE": str(cache)}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "env": environment}
    return subprocess.Popen([sys.executable, "-c", CODE], **pipes)  # type: ignore[call-overload]


def test_processes_that_begin_together_compile_once(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    processes = [start(cache) for _ in range(3)]
    for process in processes:
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    counts = [int(process.communicate(timeout=120)[0]) for process in processes]
    objects = list(cache.glob("*.o"))
    assert sum(counts) == len(objects) > 0
    assert not list(cache.glob("*.lock"))


def test_the_lock_of_a_process_that_was_killed_is_free(tmp_path: Path) -> None:
    code = """
import sys, time
from pathlib import Path
from fourbar.compile.cache import make_once_across_processes
with make_once_across_processes(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""
    holder = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path / "x.o")], stdout=subprocess.PIPE, text=True, env=dict(os.environ)
    )
    assert holder.stdout is not None and holder.stdout.readline() == "held\n"
    holder.kill()
    holder.wait(timeout=60)
    from fourbar.compile.cache import make_once_across_processes

    begin = time.monotonic()
    with (
        make_once_across_processes(tmp_path / "x.o"),
        make_once_across_processes(tmp_path / "x.o"),
    ):  # as in a signal handler
        pass
    assert time.monotonic() - begin < 30.0
    assert not (tmp_path / "x.lock").exists()


def test_nobody_waits_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import fcntl

    from fourbar.compile import cache

    monkeypatch.setattr(cache, "_LONGEST", 0.1)
    with open(tmp_path / "x.lock", "w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with cache.make_once_across_processes(tmp_path / "x.o"):
            pass
    with cache.make_once_across_processes(tmp_path / "missing" / "x.o"):
        pass
