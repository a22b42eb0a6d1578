"""How hostile files are tried: in a process of their own, with bounds on time and memory."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

SECONDS, MEGABYTES = 2.0, 500  # of CPU; the least of a few tries, as machines are busy
WITHOUT_LINE = ("the file is empty", "moves nothing that has inertia")  # these are about the file as a whole

_TRIAL = """
import json, resource, sys, time, warnings
def peak():  # in kB; ru_maxrss starts from what the parent had
    try:
        return int(next(x.split()[1] for x in open("/proc/self/status") if x.startswith("VmHWM")))
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
warnings.simplefilter("ignore")
import fourbar as fb
{warm}
cases = json.load(sys.stdin)
resource.setrlimit(resource.RLIMIT_CPU, (100, 100))
before = peak()
def attempt(text):
    start = time.process_time()
    try:
        robot = fb.loads(text.encode("latin-1"), name="f.{ending}", format="{format}")
        found = {{"loaded": [len(robot.names.bodies), robot.nv]}}
    except fb.FourbarError as error:
        found = {{"error": str(error), "kind": type(error).__name__}}
    except BaseException as error:
        found = {{"crash": f"{{type(error).__name__}}: {{error}}"}}
    return {{**found, "seconds": time.process_time() - start}}
for name, text in cases.items():
    found = attempt(text)
    for again in range(2):
        if found["seconds"] >= {seconds}:
            found["seconds"] = min(found["seconds"], attempt(text)["seconds"])
    found["megabytes"] = (peak() - before) / 1024
    print(json.dumps([name, found]), flush=True)
"""


def try_all(cases: Mapping[str, str], format: str, ending: str, warm: str) -> dict[str, Any]:
    """What became of each text: loaded or refused, in how much time and memory.

    Texts are bytes as latin-1. `warm` is a valid file, read first, so that imports do not count.
    """
    code = _TRIAL.format(format=format, ending=ending, seconds=SECONDS, warm=f"fb.loads({warm!r}, format={format!r})")
    done = subprocess.run(
        [sys.executable, "-c", code],
        input=json.dumps(dict(cases)),
        capture_output=True,
        text=True,
        timeout=120,
        env=_environment(),
    )
    assert done.returncode == 0, f"the process died: {done.stderr[-2000:]}"
    return dict(json.loads(line) for line in done.stdout.splitlines())


def _environment() -> dict[str, str]:
    import os

    return {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}


def judge(found: Mapping[str, Any], expected: str) -> None:
    """One case: an error with file, line and the expected words; or, where "loads" is expected, a robot."""
    assert "crash" not in found, found
    assert found["seconds"] < SECONDS, found
    assert found["megabytes"] < MEGABYTES, found
    if expected.startswith("loads"):
        assert "loaded" in found, found
        wanted = [int(x) for x in expected.split()[1:]]
        assert not wanted or found["loaded"] == wanted, found
    else:
        assert "error" in found, found
        assert expected in found["error"], found
        where = found["error"].split(": ")[0].split(":")
        assert where[0].startswith("f."), found
        assert len(where) == 2 or any(words in found["error"] for words in WITHOUT_LINE), found
