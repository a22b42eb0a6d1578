"""The documentation site: its links."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parents[1] / "docs" / "check_links.py"


def test_links_that_lead_nowhere_are_listed(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "index.html").write_text(
        '<a href="a/b.html#there">x</a> <a href="a/b.html?x=1#gone">x</a> <a href="#top">x</a> <a href="c.html">x</a>'
        '<a href="https://example.org/c">x</a> <img src="a/d.png"> <a href="#">x</a> <script>"href="z.html""</script>'
    )
    (tmp_path / "a" / "b.html").write_text('<h1 id="there">x</h1> <a href="../index.html">x</a> <a href="../">x</a>')
    done = subprocess.run([sys.executable, SCRIPT, tmp_path], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and done.stdout.splitlines() == [
        "index.html: a/b.html has no place #gone",
        "index.html: index.html has no place #top",
        "index.html: there is no c.html",
        "index.html: there is no a/d.png",
    ]
    (tmp_path / "index.html").write_text('<a href="a/b.html#there">x</a>')
    done = subprocess.run([sys.executable, SCRIPT, tmp_path], capture_output=True, text=True, check=False)
    assert done.returncode == 0
