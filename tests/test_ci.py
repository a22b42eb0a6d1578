"""What CI installs: Chromium and ffmpeg, or the reason why not; the oldest packages; what a distribution holds."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tomllib
from pathlib import Path
from runpy import run_path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SCRIPT = ROOT / ".ci" / "browser"
ALWAYS = (".gitignore", "pyproject.toml")  # what is part of every source distribution
CHECKOUT = {".pre-commit-config.yaml"}
BASH = shutil.which("bash")
pytestmark = pytest.mark.skipif(BASH is None or os.name != "posix", reason="the script is for bash")


def run(folder: Path, **programs: str) -> tuple[int, str]:
    """The script on a machine that has only these programs, each a line of shell."""
    for name, line in programs.items():
        file = folder / name.replace("_", "-")
        file.write_text(f"#!{BASH}\n{line}\n", encoding="utf-8")
        file.chmod(0o755)
    done = subprocess.run(
        [str(BASH), str(SCRIPT)], env={"PATH": str(folder)}, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout + done.stderr


def test_nothing_is_done_where_both_are_there(tmp_path: Path) -> None:
    assert run(tmp_path, chromium="", ffmpeg="", id="echo 0", apt_get="exit 9") == (0, "")


def test_what_is_missing_is_installed(tmp_path: Path) -> None:
    code, said = run(tmp_path, chromium="", id="echo 0", apt_get='echo "apt $*"')
    assert code == 0 and said.splitlines() == ["apt update", "apt install -y --no-install-recommends ffmpeg"]


def test_without_apt_or_root_the_reason_is_reported(tmp_path: Path) -> None:
    code, said = run(tmp_path, id="echo 0")
    assert code == 1 and "chromium ffmpeg not installed" in said and "no apt-get" in said
    code, said = run(tmp_path, id="echo 1000", apt_get="exit 9")
    assert code == 1 and "needs root" in said and "sudo apt-get install" in said


def test_an_installation_that_fails_fails(tmp_path: Path) -> None:
    line = '[ "$1" = update ] || { echo "E: Unable to locate package"; exit 100; }'
    code, said = run(tmp_path, id="echo 0", apt_get=line)
    assert code == 100 and "Unable to locate" in said


def git(*arguments: str) -> list[str]:
    """Lines that git prints about this folder; skips where it is no checkout, as in a source distribution."""
    if not (ROOT / ".git").exists() or shutil.which("git") is None:
        pytest.skip("this folder is no checkout with git")
    done = subprocess.run(["git", "-C", str(ROOT), *arguments], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def test_the_oldest_packages_are_the_lower_bounds() -> None:
    """Those of fourbar and of the quick tests, each once; CI installs them."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    pins = run_path(str(ROOT / ".ci" / "oldest"))["constraints"]()
    assert len(pins) == len(project["dependencies"]) + len(project["optional-dependencies"]["test-quick"])
    assert [pin.replace("==", ">=") for pin in pins[:2]] == project["dependencies"]
    policy = (ROOT / "docs" / "support.md").read_text(encoding="utf-8")
    assert all(f"{pin.split('==')[1]} and later" in policy for pin in pins[:2])  # the support policy has them too
    assert any(pin.startswith("dask==") for pin in pins) and ".ci/oldest" in (ROOT / ".ci" / "run").read_text()


def test_the_support_policy_lists_every_extra() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    ours = {"test-quick", "test-base", "test", "peers", "browser", "docs", "dev", "bench"}  # for work on fourbar itself
    rows = re.findall(r"^\| (`.*?`) \|", (ROOT / "docs" / "support.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert {name for row in rows for name in re.findall(r"`([\w-]+)`", row)} == set(extras) - ours


def test_the_source_distribution_holds_all_that_tests_read() -> None:
    """Everything in the folder, but for what only a checkout needs."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    included = {*project["tool"]["hatch"]["build"]["targets"]["sdist"]["include"], *ALWAYS}
    assert {line.split("/")[0] for line in git("ls-files")} - included == CHECKOUT
    assert all((ROOT / name).exists() for name in included)
    ignored = git("ls-files", "--cached", "--ignored", "--exclude-standard")  # which a distribution leaves out
    assert not ignored
