"""Makes a notebook from each page that has Python.  python docs/make_notebooks.py FOLDER [PAGE ...]

A block of Python is a cell, the words between blocks are cells of Markdown. docs/build.py puts the notebooks on the
site, with the results of the cells where it has run them. Run one in the root of a clone, beside `examples/`.
"""

from __future__ import annotations

import importlib.util
import json
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parent
BLOCK = re.compile(r"(?:<!-- needs: (?P<needs>\S+) -->\n)?```python\n(?P<code>.*?)```", re.DOTALL)
_HINT = "*A page of the documentation as a notebook. Run it in the root of a clone of fourbar: it reads `examples/`.*"


def is_installed(package: str | None) -> bool:
    """Whether the package that a block needs is there."""
    return package is None or importlib.util.find_spec(package.partition(".")[0]) is not None


def notebook(text: str, outputs: Sequence[list[Any]] | None = None) -> dict[str, Any]:
    """A page as a notebook (nbformat 4.5), with the outputs of its code cells in order, if there are any."""
    cells = []
    for number, (kind, source) in enumerate(_parts(text)):
        cell: dict[str, Any] = {"cell_type": kind, "id": f"cell{number}", "metadata": {}}
        cell["source"] = source.strip("\n").splitlines(keepends=True)
        if kind == "code":
            run = sum(x["cell_type"] == "code" for x in cells)
            cell |= {"execution_count": None if outputs is None else run + 1}
            cell |= {"outputs": [] if outputs is None else outputs[run]}
        cells.append(cell)
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    metadata = {"kernelspec": kernel, "language_info": {"name": "python"}}
    return {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}


def _parts(text: str) -> Iterator[tuple[str, str]]:
    """Markdown and code in turns; blocks that need a missing package stay Markdown."""
    yield "markdown", _HINT
    end = 0
    for match in BLOCK.finditer(text):
        if is_installed(match["needs"]):
            if text[end : match.start()].strip():
                yield "markdown", _relink(text[end : match.start()])
            yield "code", match["code"]
            end = match.end()
    if text[end:].strip():
        yield "markdown", _relink(text[end:])


def _relink(text: str) -> str:
    """Links to pages as links to the site, whose folder `notebooks` has the notebook."""
    text = re.sub(r"\]\((\w+)\.md(#[\w-]+)?\)", r"](../\1.html\2)", text)
    text = re.sub(r"\]\(\.\./examples/(\w+)\.py\)", r"](../examples/\1.html)", text)
    return text.replace("](images/", "](../_images/")


def executed_pages() -> dict[str, str]:
    """The pages that have Python, by name."""
    texts = {path.stem: path.read_text(encoding="utf-8") for path in sorted(DOCS.glob("*.md")) if path.stem != "api"}
    return {name: text for name, text in texts.items() if BLOCK.search(text)}


def write(folder: Path, names: Sequence[str] = (), executed: Path | None = None) -> list[Path]:
    """Write the notebooks, with outputs of those of the same name in the folder `executed`."""
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for name, text in executed_pages().items():
        if names and name not in names:
            continue
        outputs = None
        if executed is not None:
            cells = json.loads((executed / f"{name}.ipynb").read_text(encoding="utf-8"))["cells"]
            outputs = [cell["outputs"] for cell in cells if cell["cell_type"] == "code"]
        files.append(folder / f"{name}.ipynb")
        files[-1].write_text(json.dumps(notebook(text, outputs), indent=1, ensure_ascii=False), encoding="utf-8")
    return files


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    print(*write(Path(sys.argv[1]), sys.argv[2:]), sep="\n")
