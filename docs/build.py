"""Builds the documentation site from the pages of this folder:  python docs/build.py  (extra `docs`)

The pages are plain Markdown that reads well anywhere, and their Python runs in the tests. Here every block of Python
becomes a cell that is run and shows what it prints, the API page becomes a page per section, and examples become pages.
Warnings are errors. The result is docs/_build/html/index.html; `--quick` runs nothing.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
from pathlib import Path

from check_links import broken_links
from make_api import make as make_api
from make_gallery import write as write_gallery
from make_notebooks import BLOCK, executed_pages, is_installed
from make_notebooks import write as write_notebooks

from fourbar.cli.docs import list_for_programs, pages

DOCS = Path(__file__).parent
ROOT = DOCS.parent
BUILD = DOCS / "_build"
SOURCE, HTML = BUILD / "source", BUILD / "html"
_PAIR = re.compile(r"<!-- needs: (\S+) -->\n```python\n.*?```\n\n```python\n.*?```", re.DOTALL)
_TOP = "CHANGELOG|CODE_OF_CONDUCT|CONTRIBUTING|SECURITY"  # pages of the root that the site has too
_NOTEBOOK = "---\nfile_format: mystnb\nkernelspec:\n  name: python3\n---\n"


def as_cells(text: str) -> str:
    """A page whose blocks of Python are cells; blocks that need what is not installed stay text."""

    def cell(m: re.Match[str]) -> str:
        return (
            f"```{{code-cell}} ipython3\n{m['code']}```" if is_installed(m["needs"]) else f"```python\n{m['code']}```"
        )

    return _NOTEBOOK + BLOCK.sub(cell, text) if BLOCK.search(text) else text


def beside(text: str) -> str:
    """A page in which a block of another library and the block of ours after it stand side by side."""

    def raw(html: str) -> str:
        return f"```{{raw}} html\n{html}\n```"

    return _PAIR.sub(lambda m: f'{raw(f"""<div class="beside {m[1]}">""")}\n\n{m[0]}\n\n{raw("</div>")}', text)


def with_notebook(name: str, text: str) -> str:
    """A page with a link to its notebook below the title."""
    title, _, rest = text.partition("\n")
    return f'{title}\n\n<a href="notebooks/{name}.ipynb" download>This page as a notebook</a>\n{rest}'


def relinked(text: str) -> str:
    """Links that leave docs/ lead to their pages of the site."""
    text = re.sub(r"\]\(\.\./examples/([\w/]+)\.py\)", r"](examples/\1.md)", text)
    text = text.replace("](../examples/", "](examples/")
    text = text.replace("](../README.md)", "](index.md)").replace("](docs/", "](")
    text = re.sub(r"\[([^]]*)\]\((wasm/\w+\.html)\)", r'<a href="\2">\1</a>', text)  # a page as it is
    return re.sub(rf"\]\((?:\.\./)?({_TOP})\.md(#[\w-]+)?\)", r"](\1.md\2)", text)


def slug(title: str) -> str:
    """A section's title as the name of a file."""
    return re.sub(r"\W+", "_", title.lower()).strip("_")


def write_api() -> None:
    """The API page as a page per section, and one that lists them."""
    head, *parts = re.split(r"^## ", make_api(), flags=re.MULTILINE)
    folder = SOURCE / "api"
    folder.mkdir()
    names = []
    for part in parts:
        title, _, body = part.partition("\n")
        body = re.sub(r"^(#+)#", r"\1", body, flags=re.MULTILINE)  # a level up: the section is a page now
        body = re.sub(r"\]\((\w+\.md)", r"](../\1", body)
        (folder / f"{slug(title)}.md").write_text(f"# {title}\n{body}", encoding="utf-8")
        names.append(f"api/{slug(title)}")
    listed = "\n".join(names)
    (SOURCE / "api.md").write_text(f"{head}\n```{{toctree}}\n:maxdepth: 1\n\n{listed}\n```\n", encoding="utf-8")


def write_examples() -> None:
    """A page per example: what it says of itself, and its code; and the files that pages and examples read."""
    folder = SOURCE / "examples"
    folder.mkdir()
    for path in (ROOT / "examples").glob("*.urdf"):
        shutil.copy(path, folder)
    names = []
    for path in sorted((ROOT / "examples").rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        words = re.match(r'"""(.*?)"""', text, re.DOTALL)
        title = path.stem.replace("_", " ").capitalize()
        page = f"# {title}\n\n{words[1] if words else ''}\n\n```python\n{text}```\n"
        name = path.relative_to(ROOT / "examples").with_suffix("").as_posix()
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / f"{name}.md").write_text(page, encoding="utf-8")
        names.append(f"examples/{name}")
    listed = "\n".join(names)
    page = f"# Examples\n\nScripts that run from start to end.\n\n```{{toctree}}\n:maxdepth: 1\n\n{listed}\n```\n"
    (SOURCE / "examples.md").write_text(page, encoding="utf-8")


def write_llms() -> None:
    """llms.txt: the list of the pages, for readers that are programs; llms-full.txt: the pages themselves."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    (HTML / "llms.txt").write_text(list_for_programs(".html"), encoding="utf-8")
    (HTML / "llms-full.txt").write_text("\n\n".join([readme, *pages().values()]), encoding="utf-8")


def write_source(run: bool) -> None:
    """The pages as Sphinx reads them."""
    shutil.rmtree(SOURCE, ignore_errors=True)
    shutil.copytree(DOCS / "site", SOURCE)
    shutil.copytree(DOCS / "images", SOURCE / "images")
    (SOURCE / "_pages" / "wasm").mkdir(parents=True)
    for page in (DOCS / "wasm").glob("*.html"):
        text = re.sub(r'href="\.\./(\w+)\.md', r'href="../\1.html', page.read_text(encoding="utf-8"))
        (SOURCE / "_pages" / "wasm" / page.name).write_text(text, encoding="utf-8")
    executed = executed_pages()
    for path in [*DOCS.glob("*.md"), *(ROOT / f"{x}.md" for x in _TOP.split("|"))]:
        if path.name != "api.md":
            text = relinked(path.read_text(encoding="utf-8"))
            text = beside(text) if path.name.startswith("from_") else text
            text = with_notebook(path.stem, text) if path.stem in executed else text
            (SOURCE / path.name).write_text(as_cells(text) if run else text, encoding="utf-8")
    write_api()
    write_examples()
    write_gallery(SOURCE, run)


def main() -> int:
    """Write the source and build it."""
    parser = argparse.ArgumentParser(description="build the documentation site into docs/_build/html")
    parser.add_argument("--quick", action="store_true", help="show the code of the pages without running it")
    run = not parser.parse_args().quick
    if not all(map(is_installed, ("sphinx", "myst_nb", "latex2mathml"))):
        print(
            'the site needs Sphinx, MyST and latex2mathml; install them with  pip install ".[docs]"',
            file=sys.stderr,
        )
        return 2
    write_source(run)
    mode = "force" if run else "off"
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-E", "-b", "html"]
    done = subprocess.run([*command, "-D", f"nb_execution_mode={mode}", SOURCE, HTML], check=False)
    if done.returncode:
        return done.returncode
    write_llms()
    write_notebooks(HTML / "notebooks", executed=BUILD / "jupyter_execute" if run else None)
    broken = broken_links(HTML)
    print("\n".join(broken), file=sys.stderr) if broken else print(f"built {HTML / 'index.html'}")
    return int(bool(broken))


if __name__ == "__main__":
    raise SystemExit(main())
