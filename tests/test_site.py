"""The documentation site: its links, and pages that stand two libraries side by side."""

from __future__ import annotations

import importlib
import importlib.util
import json
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

import fourbar as fb

DOCS = Path(__file__).parents[1] / "docs"
SCRIPT = DOCS / "check_links.py"
_PAIR = re.compile(r"<!-- needs: (\S+) -->\n```python\n(.*?)```\n\n```python\n(.*?)```", re.DOTALL)
_COLUMN = 59  # letters that half the width of the site shows, in the size of site.css


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


def test_notebooks_have_the_code_of_their_pages(tmp_path: Path) -> None:
    """Every executed page, its blocks as cells in order; results of a run are put below their cells."""
    make = runpy.run_path(str(DOCS / "make_notebooks.py"))
    files = make["write"](tmp_path)
    assert {path.stem for path in files} >= {"howto", "loops", "simulate", "derivatives"}
    for path in files:
        book = json.loads(path.read_text(encoding="utf-8"))
        text = (DOCS / f"{path.stem}.md").read_text(encoding="utf-8")
        blocks = [m["code"].strip() for m in make["BLOCK"].finditer(text) if make["is_installed"](m["needs"])]
        codes = ["".join(x["source"]).strip() for x in book["cells"] if x["cell_type"] == "code"]
        assert codes == blocks and len({x["id"] for x in book["cells"]}) == len(book["cells"])
        words = "".join("".join(x["source"]) for x in book["cells"] if x["cell_type"] == "markdown")
        assert not re.search(r"\]\(\w+\.md", words)  # links lead to the site
        if importlib.util.find_spec("nbformat") is not None:
            importlib.import_module("nbformat").validate(book)
    text = "# T\n\n```python\n1\n```\nand\n```python\n2\n```\n"
    one, two = (x for x in make["notebook"](text, [["a"], ["b"]])["cells"] if x["cell_type"] == "code")
    assert (one["outputs"], two["outputs"], two["execution_count"]) == (["a"], ["b"], 2)


@pytest.mark.parametrize("library", ["pinocchio", "mujoco", "drake"])
def test_ten_tasks_stand_side_by_side_and_fit(library: str) -> None:
    text = (DOCS / f"from_{library}.md").read_text(encoding="utf-8")
    tasks = re.split(r"^## \d+\. ", text, flags=re.MULTILINE)[1:]
    assert len(tasks) == 10 and all(_PAIR.search(task) for task in tasks)
    lines = [line for pair in _PAIR.finditer(text) for line in (pair[2] + pair[3]).splitlines()]
    assert [line for line in lines if len(line) > _COLUMN] == []


def test_formulas_are_mathml_without_raw_tex() -> None:
    """What the pages use is understood: no alignment mark or unknown command is left over, matrices keep brackets."""
    pytest.importorskip("latex2mathml")
    pytest.importorskip("sphinx")
    mathml = runpy.run_path(str(DOCS / "site" / "conf.py"))["_mathml"]
    for page in ("theory", "equations", "loops", "derivatives"):
        text = re.sub(r"```.*?```", "", (DOCS / f"{page}.md").read_text(encoding="utf-8"), flags=re.DOTALL)
        formulas = re.findall(r"\$\$(.+?)\$\$|\$(.+?)\$", text, flags=re.DOTALL)
        assert len(formulas) >= 4
        for block, inline in formulas:
            tex = block or inline
            found = mathml(tex, "block" if block else "inline")
            assert found.startswith("<math") and "\\" not in found and "&amp;" not in found, tex
            assert found.count('class="matrix"') == len(re.findall(r"begin{(?:matrix|bmatrix)}", tex)), tex


def test_every_type_of_loop_has_its_figure() -> None:
    """The figures are those that the script draws, and the table of loops shows one for each type."""
    figures = runpy.run_path(str(DOCS / "make_loop_figures.py"))["FIGURES"]
    text = (DOCS / "loops.md").read_text(encoding="utf-8")
    for name in set(fb.loops.__all__) - {"Loop", "Formula"}:
        assert name.lower() in figures and f"| ![{name}](images/loops/{name.lower()}.svg) | `{name}(" in text
    drawn = {path.stem: path.read_text(encoding="utf-8") for path in (DOCS / "images" / "loops").glob("*.svg")}
    assert drawn == {name: draw().svg(draw.__doc__.strip()) for name, draw in figures.items()}


def _ragged_rows(text: str) -> list[str]:
    """Rows of tables with another number of cells than the first row, such as tables whose lines were joined."""
    rows, cells = [], 0
    for line in re.sub(r"```.*?```", "", text, flags=re.DOTALL).splitlines():
        count = len(re.split(r"(?<!\\)\|", line.strip())) if line.startswith("|") else 0
        if count and cells not in (0, count):
            rows.append(line)
        cells = count and (cells or count)
    return rows


def test_rows_of_tables_have_equally_many_cells() -> None:
    assert _ragged_rows("| a | b | | --- | --- | | c | d |\n| e | f |\n") == ["| e | f |"]
    pages = [*DOCS.glob("*.md"), *DOCS.parent.glob("*.md"), *(DOCS / "site").glob("*.md")]
    assert [(page.name, row) for page in pages for row in _ragged_rows(page.read_text(encoding="utf-8"))] == []
