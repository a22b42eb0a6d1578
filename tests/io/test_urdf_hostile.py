"""Broken URDFs get an error that says where and what, quickly and in little memory, or load correctly."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import fourbar as fb
from fourbar.io.formats import read_options, read_text

from .urdf_hostile import HOSTILE, chain, robot, two

pytestmark = pytest.mark.filterwarnings("ignore::fourbar.FileWarning")
SECONDS, MEGABYTES = 2.0, 500  # of CPU; the least of a few tries, as machines are busy


def test_there_are_enough() -> None:
    assert len(HOSTILE) >= 90


def _read(text: str) -> tuple[str, float]:
    """The error of a file, empty if it loads, and how long reading took."""
    start = time.process_time()
    try:
        fb.loads(text, format="urdf", name="r.urdf")
    except fb.ParseError as error:
        return str(error), time.process_time() - start
    return "", time.process_time() - start


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile(name: str) -> None:
    text, expected = HOSTILE[name]
    message, seconds = _read(text)
    for _ in range(2):
        seconds = seconds if seconds < SECONDS else min(seconds, _read(text)[1])
    assert seconds < SECONDS
    assert len(message) < 5000
    if expected:
        assert re.match(r"r\.urdf" + expected, message), message
    else:
        assert message == ""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_memory() -> None:
    code = (
        "import sys, warnings; warnings.simplefilter('ignore')\n"
        "import fourbar as fb\nfrom tests.io.urdf_hostile import HOSTILE\n"
        "for text, _ in HOSTILE.values():\n"
        "    try: fb.loads(text, format='urdf')\n    except fb.ParseError: pass\n"
        # not ru_maxrss: it starts from what the parent had
        "print(next(x.split()[1] for x in open('/proc/self/status') if x.startswith('VmHWM')))"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    found = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert found.returncode == 0, found.stderr
    assert int(found.stdout) // 1024 < MEGABYTES


@pytest.mark.slow
def test_a_chain_of_3000_links_loads_and_time_grows_with_size() -> None:
    def seconds(n: int) -> float:
        text, start = chain(n), time.process_time()
        assert fb.loads(text, format="urdf").nv == n - 1
        return time.process_time() - start

    assert seconds(3000) < 12.0 * min(seconds(500) for _ in range(3))  # linear is 6


# --- fuzzing ----------------------------------------------------------------------------------------------------------

PIECES = st.sampled_from(
    ["<", ">", "/", '"', "=", " ", "&", "0", "1", "-", ".", "e", ",", "nan", "a", "b", "j", "link", "joint", "mimic",
     "origin", "axis", "xyz", "inertial", "mass", "<!--", "-->", "<![CDATA[", "]]>", "<?x?>", "é", "\x00", "world",
     "loop"]
)  # fmt: skip
EDITS = st.lists(st.tuples(st.floats(0, 1), st.integers(0, 12), st.lists(PIECES, max_size=3)), min_size=1, max_size=6)
BASES = [text for text, _ in HOSTILE.values() if isinstance(text, str) and len(text) < 2000] + [
    two('<origin xyz="1 2 3" rpy="0 1 0"/><axis xyz="0 1 0"/><dynamics damping="1"/>'), robot(), chain(4),
]  # fmt: skip
OPTIONS = read_options(False, (), False, (), {})


def edited(text: str, edits: list[tuple[float, int, list[str]]]) -> str:
    """The text with pieces cut out and others put in."""
    for where, cut, pieces in edits:
        at = int(where * len(text))
        text = text[:at] + "".join(pieces) + text[at + cut :]
    return text


def survives(text: str | bytes) -> None:
    """Reads, or refuses with an explanation; nothing else."""
    try:
        read_text(text, "r.urdf", "urdf", OPTIONS)
    except fb.ParseError as error:
        assert error.report.errors and all(f.file == "r.urdf" and f.message for f in error.report.errors)


QUICK = settings(max_examples=150, deadline=None, database=None, suppress_health_check=list(HealthCheck))
LONG = settings(QUICK, max_examples=20_000)


@given(st.sampled_from(BASES), EDITS)
@QUICK
def test_edited_files(text: str, edits: list[tuple[float, int, list[str]]]) -> None:
    survives(edited(text, edits))


@given(st.binary(max_size=300))
@QUICK
def test_random_bytes(data: bytes) -> None:
    survives(data)


@pytest.mark.slow
@given(st.sampled_from(BASES), EDITS)
@LONG
def test_many_edited_files(text: str, edits: list[tuple[float, int, list[str]]]) -> None:
    survives(edited(text, edits))
