"""Prints the size of the source by package:  python docs/measure_source.py [COMMIT ...]

For the working tree, or for commits: files, lines, lines of code (without blank lines, comments and imports) and of
docstrings, functions named by a past participle, and long-lived vague locals, by the rules of `check_language.py`.
"""

from __future__ import annotations

import argparse
import ast
import io
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import check_language

ROOT = Path(__file__).parents[1]
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


class Size(NamedTuple):
    """The size of some files, and the names in them that break a rule."""

    files: int
    lines: int
    code: int
    docstrings: int
    participles: int
    vague: int

    def __add__(self, other: Size) -> Size:  # type: ignore[override]
        return Size(*(a + b for a, b in zip(self, other, strict=True)))


NOTHING = Size(0, 0, 0, 0, 0, 0)


def spans(tree: ast.Module) -> tuple[set[int], set[int]]:
    """The lines of docstrings, and those of imports."""
    docstrings: set[int] = set()
    imports: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            imports.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
        elif isinstance(node, DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            first = node.body[0]
            docstrings.update(range(first.lineno, (first.end_lineno or first.lineno) + 1))
    return docstrings, imports


def size(file: Path) -> Size:
    """The size of one file."""
    text = file.read_text(encoding="utf-8")
    tree, lines = ast.parse(text), text.splitlines()
    docstrings, imports = spans(tree)
    code = sum(
        n not in docstrings and n not in imports and bool(line.strip()) and not line.lstrip().startswith("#")
        for n, line in enumerate(lines, 1)
    )
    participles = sum(1 for _ in check_language.functions(file, tree))
    vague = sum(1 for _ in check_language.long_lived_locals(file, tree))
    return Size(1, len(lines), code, len(docstrings), participles, vague)


def by_package(source: Path) -> dict[str, Size]:
    """The sizes of all packages of a source folder; "fourbar" for the modules beside the packages."""
    sizes: dict[str, Size] = {}
    for file in sorted(source.rglob("*.py")):
        parts = file.relative_to(source).parts
        package = parts[0] if len(parts) > 1 else "fourbar"
        sizes[package] = sizes.get(package, NOTHING) + size(file)
    return sizes


def table(title: str, sizes: dict[str, Size]) -> Iterator[str]:
    """The lines of a table."""
    yield f"{title:16}" + "".join(f"{name:>12}" for name in Size._fields)
    total = sum(sizes.values(), NOTHING)
    for package, row in [*sorted(sizes.items()), ("all", total), ("but contact", total_but(sizes, "contact"))]:
        yield f"{package:16}" + "".join(f"{count:12,}" for count in row)


def total_but(sizes: dict[str, Size], package: str) -> Size:
    """The size of all packages but one."""
    return sum((row for name, row in sizes.items() if name != package), NOTHING)


def measure(commit: str) -> dict[str, Size]:
    """The sizes at a commit."""
    run = subprocess.run(["git", "archive", commit, "src"], cwd=ROOT, capture_output=True, check=True)
    with tempfile.TemporaryDirectory() as folder, tarfile.open(fileobj=io.BytesIO(run.stdout)) as archive:
        archive.extractall(folder, filter="data")
        return by_package(Path(folder) / "src" / "fourbar")


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description="Prints the size of the source by package.")
    parser.add_argument("commits", nargs="*", metavar="COMMIT", help="commits; the working tree if none is named")
    commits = parser.parse_args().commits
    tables = [(commit, measure(commit)) for commit in commits] or [("working tree", by_package(ROOT / "src/fourbar"))]
    for title, sizes in tables:
        print(*table(title, sizes), sep="\n", end="\n\n")


if __name__ == "__main__":
    main()
