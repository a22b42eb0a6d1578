"""Checks names and phrases:  python docs/check_language.py [--locals PACKAGE]

Four rules of CONTRIBUTING.md, "Names and sentences", that a program can check:

- phrases: pages, docstrings and messages contain none of `PHRASES`,
- openings: the first sentence of a docstring names the thing, and does not begin as one of `OPENINGS`,
- functions: a function is a verb or the noun of its result, not a past participle,
- locals: `x`, `found`, `own` and other words of `VAGUE` are last read within three lines of their assignment.

All packages are checked but those of `UNREAD`. `--locals` lists the vague locals of a package, checked or not.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "fourbar"
PAGES = ("README.md", "docs/*.md", "docs/site/*.md")

UNREAD = ("contact",)  # packages that are not checked yet

PHRASES = {  # what to write instead, by a regular expression of the phrase
    r"such as (lie|stand|lies|stands)\b": "those that lie ...",
    r"\b(feels?|felt)\b": "is coupled to, is subject to, measures",
    r"\b(is|are|was|were) (told|said)\b": "is reported, is given, raises, warns",
    r"\bnothing is (left to be )?said\b": "no warning is issued",
    r"\bso many\b": "n, at most n, this number of",
    r"\bof which and of that\b": "name both",
    r"\bin question\b": "this",
    r"\bcomes? of it\b": "results",
    r"\b(leads?|led) nowhere\b": "does not converge, makes no progress",
    r"\bas good as (not|no)\b": "treated as",
    r"\bon (its|their) own account\b": "by itself, independently",
    r"\b(that|which) anyone sees\b": "visible",
    r"\bsomebody\b": "name who",
    r"\bwhat is (none|no|meant|said|told|asked)\b": "name the thing",
    r"\bwhat may touch what\b": "collision filtering",
    r"\bway through the interior\b": "interior-point phase",
    r"\bblows?\b": "impacts",
    r"\bpale (copy|copies)\b": "translucent copies, ghosts",
    r"\bsees to it\b": "ensures",
    r"\bto be said of\b": "a remark on",
    r"\bis no news\b|\bare no news\b": "is expected",
}

OPENINGS = ("What", "That which", "Who", "All of it", "Itself")

VAGUE = ("x", "found", "own", "given", "made", "more", "kept", "taken", "way", "ways", "leap", "course")
NEAR = 3  # lines between the assignment and the last use of a vague local

_WORDS = """
found made given taken kept held built drawn known seen sent written left lost met told said chosen shown bound led
meant felt laid driven frozen hidden broken begun borne brought thrown grown worn wound torn gone done understood
"""
IRREGULAR = frozenset(_WORDS.split())
NOT_PARTICIPLES = ("need", "seed", "speed", "feed", "embed", "proceed", "exceed")
AFTER = ("at", "by", "in", "up", "out", "along", "from", "to", "of", "on", "with", "once", "place")  # a participle
_WORDS = """
is are has can was may must be as with without read run call find check require report note add leave set unpickle
walk np
"""
BEFORE = frozenset(_WORDS.split())  # a name that begins with one of these is a question, or a verb and its object
NOUNS = {  # names that end like participles, and why they stay
    "constrained": "System: the robot under constraints; public",
    "actuated": "System: the robot in the forces of its drives; public",
    "mirrored": "a changed copy; public, of joints and loops a method that users write",
    "renamed": "a changed copy; public, of loops a method that users write",
    "aligned": "a method of joints that users may write",
    "identified": "a public property: names of parameters",
    "only_combined": "a public property: names of parameters",
    "left_out": "a public property: names of parameters",
    "scaled": "Fourier: a changed copy; public",
    "swapped": "convert: a changed copy; public",
    "diverged": "a public property: a mask of worlds",
    "touched": "a property: links whose frames constraints need",
    "joint_torques_from_generalized": "'generalized forces' is the term",
    "wrenches_from_generalized": "'generalized forces' is the term",
    "forces_and_joint_torques_from_generalized": "'generalized forces' is the term",
    "converged": "a public property: a mask of worlds",
    "contact_found": "a public observation, called as the contacts' `found`",
    "traced": "public: marks a function",
    "resolved": "a problem with unknown forces, resolved by an SVD; listed among the members of Constrained",
    "compiled": "a compiled function; listed among the members of Constrained",
}


class Fault(NamedTuple):
    """A breach of a rule: where it is, and what is wrong there."""

    file: Path
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.file.relative_to(ROOT)}:{self.line}: {self.text}"


def phrases(file: Path, line: int, text: str) -> Iterator[Fault]:
    """Phrases of the list in a text that begins at a line; line breaks count as spaces."""
    flat = text.replace("\n", " ")
    for phrase, better in PHRASES.items():
        for match in re.finditer(phrase, flat, re.IGNORECASE):
            yield Fault(file, line + text.count("\n", 0, match.start()), f"{match[0]!r}: write {better!r}")


def prose(tree: ast.Module) -> Iterator[ast.Constant]:
    """Docstrings and messages of a module: all its strings of several words."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.count(" ") > 1:
            yield node


def openings(file: Path, tree: ast.Module) -> Iterator[Fault]:
    """Docstrings that do not begin with the name of a thing."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = (ast.get_docstring(node) or "").partition("\n")[0]
            if re.match(rf"({'|'.join(OPENINGS)})\b", first):
                yield Fault(file, node.body[0].lineno, f"{first!r}: name the thing first")


def is_participle(name: str) -> bool:
    """Whether a function's name is a past participle, such as `projected`, `_known_in` or `power_lost`."""
    words = name.strip("_").split("_")
    if name in NOUNS or words[0] in BEFORE:
        return False
    while len(words) > 1 and words[-1] in AFTER:
        words.pop()
    last = words[-1]
    return last in IRREGULAR or (last.endswith("ed") and len(last) > 4 and last not in NOT_PARTICIPLES)


def functions(file: Path, tree: ast.Module) -> Iterator[Fault]:
    """Functions whose names are past participles."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and is_participle(node.name):
            yield Fault(file, node.lineno, f"{node.name}: a function is a verb or the noun of its result")


def _stored(node: ast.AST) -> set[str]:
    return {x.id for x in ast.walk(node) if isinstance(x, ast.Name) and isinstance(x.ctx, ast.Store)}


def _arguments(arguments: ast.arguments) -> set[str]:
    return {x.arg for x in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)}


def vague_names(node: ast.AST, hidden: frozenset[str] = frozenset()) -> Iterator[ast.Name]:
    """Vague names in the scope of a function: without those that comprehensions and inner functions bind."""
    for child in ast.iter_child_nodes(node):
        inner = hidden
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            inner = hidden | _arguments(child.args) | _stored(child)
        elif isinstance(child, ast.Lambda):
            inner = hidden | _arguments(child.args)
        elif isinstance(child, ast.Tuple) and {"x", "y"} <= _stored(child):
            continue  # coordinates
        elif isinstance(child, ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp):
            inner = hidden.union(*(_stored(x.target) for x in child.generators))
        if isinstance(child, ast.Name) and child.id in VAGUE and child.id not in hidden:
            yield child
        yield from vague_names(child, inner)


def long_lived_locals(file: Path, tree: ast.Module) -> Iterator[Fault]:
    """Vague locals that are read far from where they are assigned."""
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        lines: dict[tuple[str, bool], list[int]] = {}
        for name in vague_names(function):
            lines.setdefault((name.id, isinstance(name.ctx, ast.Store)), []).append(name.lineno)
        for name in set(VAGUE) - _arguments(function.args):
            first, last = min(lines.get((name, True), [0])), max(lines.get((name, False), [0]))
            if first and last - first > NEAR:
                text = f"{function.name}: local {name!r} lives for {last - first} lines; name the quantity"
                yield Fault(file, first, text)


def package_of(file: Path) -> str:
    """The package of a source file; "fourbar" for the modules beside the packages."""
    parts = file.relative_to(SOURCE).parts
    return parts[0] if len(parts) > 1 else "fourbar"


def faults() -> Iterator[Fault]:
    """All breaches of the rules."""
    for pattern in PAGES:
        for page in sorted(ROOT.glob(pattern)):
            if page.name != "api.md":  # docstrings, which are checked where they are written
                yield from phrases(page, 1, page.read_text(encoding="utf-8"))
    for file in sorted(SOURCE.rglob("*.py")):
        if package_of(file) in UNREAD:
            continue
        tree = ast.parse(file.read_text(encoding="utf-8"))
        for node in prose(tree):
            yield from phrases(file, node.lineno, str(node.value))
        yield from openings(file, tree)
        yield from functions(file, tree)
        yield from long_lived_locals(file, tree)


def vague_locals(package: str) -> Iterator[Fault]:
    """The long-lived vague locals of one package."""
    for file in sorted(SOURCE.rglob("*.py")):
        if package_of(file) == package:
            yield from long_lived_locals(file, ast.parse(file.read_text(encoding="utf-8")))


def main() -> int:
    """Print all faults; 1 if there are any."""
    parser = argparse.ArgumentParser(description="Checks names and phrases.")
    parser.add_argument("--locals", metavar="PACKAGE", help="list the vague locals of a package")
    package = parser.parse_args().locals
    faulty = list(vague_locals(package) if package else faults())
    print(*faulty, sep="\n", end="\n" if faulty else "")
    print(f"{len(faulty)} faults; not checked: {', '.join(UNREAD)}")
    return 1 if faulty else 0


if __name__ == "__main__":
    sys.exit(main())
