"""The rules of the source: which package may import which, how long things may be, what is documented.

Each rule is one test that lists all offenders.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

import fourbar

SOURCE = Path(fourbar.__file__).resolve().parent
TESTS = Path(__file__).resolve().parent
ROOT = TESTS.parent

# A package may import itself, those listed here, and all that these may import.
ARROWS = {
    "errors": (),
    "hints": (),
    "other_words": (),
    "tolerances": (),
    "linalg": (),
    "once": (),
    "lazy": (),
    "representation": (),
    "sources": (),
    "arrays": ("errors",),
    "expr": ("errors",),
    "chunks": ("arrays",),
    "compile": ("expr", "sources"),
    "targets": ("sim",),
    "spatial": ("expr",),
    "joints": ("spatial",),
    "shapes": ("spatial",),
    "constraints": ("joints",),
    "loops": ("constraints",),
    "mechanism": ("constraints", "shapes"),
    "tree": ("mechanism", "arrays"),
    "edit": ("tree",),
    "algorithms": ("tree",),
    "functions": ("algorithms", "compile", "chunks"),
    "contact": ("functions",),
    "viewer": ("system", "contact"),
    "io": ("edit",),
    "plots": ("system",),
    "system": ("functions", "edit", "io"),
    "sim": ("viewer", "plots"),
    "identification": ("system",),
    "robots": ("system",),
    "interop": ("system",),
    "reference": ("system",),
    "convert": ("interop",),
    "bridges": ("interop",),
    "casadi": ("targets",),
    "dask": ("chunks",),
    "jax": ("targets",),
    "torch": ("targets",),
    "learning": ("sim",),
    "control": ("sim",),
    "gymnasium": ("learning",),
    "baselines": ("reference",),
    "lagrange": ("reference",),
    "cli": ("sim", "identification", "robots", "interop", "reference", "targets", ""),
    "__main__": ("cli",),
    "": (
        "sim",
        "identification",
        "robots",
        "bridges",
        "baselines",
        "casadi",
        "control",
        "convert",
        "lagrange",
        "loops",
        "targets",
    ),
}
# Methods that draw import these packages, which stand above their own, when they are called.
DRAWN_BY = {"system/system": {"viewer", "plots"}}
LONGEST_FILE = 350  # lines of code
LONGEST_TEST_FILE = 400
LONGEST_FUNCTION = 60
HEAVY = (
    "PIL", "casadi", "clarabel", "dask", "gymnasium", "hypothesis", "jax", "llvmlite", "matplotlib", "mujoco", "pandas",
    "pinocchio", "pydrake", "pytest", "scipy", "sympy", "torch", "tqdm", "trimesh", "viser",
)  # fmt: skip
# What every package may import.
ANYWHERE = {"errors", "hints", "lazy", "linalg", "once", "other_words", "representation", "tolerances"}


def files(root: Path) -> list[Path]:
    """The Python files below a folder."""
    return sorted(path for path in root.rglob("*.py") if "__pycache__" not in path.parts)


@cache
def tree(path: Path) -> ast.Module:
    """A file, parsed."""
    return ast.parse(path.read_text(encoding="utf-8"))


def offenders(root: Path, broken: Callable[[Path], list[str]]) -> list[str]:
    """'file: what is wrong' for every file below a folder that breaks a rule."""
    return [f"{path.relative_to(root)}: {what}" for path in files(root) for what in broken(path)]


@cache
def reachable(package: str) -> frozenset[str]:
    """All packages that a package may import."""
    return frozenset({package, *ANYWHERE}.union(*(reachable(below) for below in ARROWS[package])))


def package_of(module: tuple[str, ...]) -> str:
    """The package of a module, written as the parts of its name below fourbar; fourbar itself is ''."""
    first = module[0] if module else ""
    return "" if first == "__init__" else first


def imported(path: Path) -> Iterator[tuple[str, ...]]:
    """Modules of fourbar that a file imports anywhere, as tuples of names."""
    here = path.relative_to(SOURCE).with_suffix("").parts
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            named = (tuple(alias.name.split(".")) for alias in node.names)
            yield from (parts[1:] for parts in named if parts[0] == "fourbar")
        elif isinstance(node, ast.ImportFrom):
            named_module = tuple(node.module.split(".")) if node.module else ()
            if node.level:
                base = (*here[: len(here) - node.level], *named_module)
            elif named_module[:1] == ("fourbar",):
                base = named_module[1:]
            else:
                continue
            if base:
                yield base
            else:  # `from .. import joints`: a name of fourbar, or a package
                yield from ((alias.name,) if alias.name in ARROWS else () for alias in node.names)


def forbidden_imports(path: Path) -> list[str]:
    """What a file imports from packages above its own."""
    module = path.relative_to(SOURCE).with_suffix("").parts
    own = package_of(module)
    allowed = reachable(own) | DRAWN_BY.get("/".join(module), set())
    return [f"{own} may not import {'.'.join(m) or 'fourbar'}" for m in imported(path) if package_of(m) not in allowed]


def test_every_package_has_a_place() -> None:
    found = {package_of(path.relative_to(SOURCE).with_suffix("").parts) for path in files(SOURCE)}
    assert found == set(ARROWS), "ARROWS says what each package may import, and lists no others"


def test_control_only_descends() -> None:
    for package in ARROWS:
        assert all(package not in reachable(below) for below in ARROWS[package]), f"{package} is below itself"
    assert offenders(SOURCE, forbidden_imports) == []


@pytest.mark.quick
def test_the_check_of_imports_sees_them() -> None:
    assert ("expr", "text") in imported(SOURCE / "compile" / "kernel.py")
    assert "compile" not in reachable("algorithms") and "algorithms" not in reachable("compile")
    assert {"compile", "algorithms", "expr"} <= reachable("functions")


def run_imports(node: ast.AST) -> Iterator[ast.ImportFrom]:
    """Relative imports that are run at some time: those within functions too, not those for type checkers."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING":
            continue
        if isinstance(child, ast.ImportFrom) and child.level:
            yield child
        yield from run_imports(child)


def import_graph(root: Path) -> dict[tuple[str, ...], set[tuple[str, ...]]]:
    """The modules that each module below a folder imports, wherever in its code it does."""
    parts = {path: path.relative_to(root).with_suffix("").parts for path in files(root)}
    names = {path: own[:-1] if own[-1] == "__init__" else own for path, own in parts.items()}
    known, graph = set(names.values()), {}
    for path, own in names.items():
        found = set()
        for node in run_imports(tree(path)):
            base = (*parts[path][: len(parts[path]) - node.level], *(node.module or "").split("."))
            base = tuple(x for x in base if x)
            found |= {(*base, x.name) if (*base, x.name) in known else base for x in node.names}
        graph[own] = (found & known) - {own}
    return graph


def cycles(graph: dict[tuple[str, ...], set[tuple[str, ...]]]) -> list[str]:
    """Modules that import each other, round after round: what is left when all that leads to no cycle is taken away."""
    left = dict(graph)
    while ends := [m for m, below in left.items() if not below & left.keys()]:
        left = {m: below for m, below in left.items() if m not in ends}
    while starts := [m for m in left if not any(m in below for below in left.values())]:
        left = {m: below for m, below in left.items() if m not in starts}
    return [f"{'.'.join(m)} imports {'.'.join(x)}" for m, below in left.items() for x in sorted(below & left.keys())]


def test_no_modules_import_each_other() -> None:
    """Not within functions either: such an import may save time, but hides no cycle."""
    assert cycles(import_graph(SOURCE)) == []


@pytest.mark.quick
def test_the_check_of_cycles_sees_them(tmp_path: Path) -> None:
    (tmp_path / "__init__.py").write_text("from . import a\n", encoding="utf-8")
    (tmp_path / "a.py").write_text("from .b import x\n", encoding="utf-8")
    (tmp_path / "b.py").write_text("x = 1\ndef f():\n    from . import a\n", encoding="utf-8")
    (tmp_path / "c.py").write_text("if TYPE_CHECKING:\n    from .d import y\n", encoding="utf-8")
    (tmp_path / "d.py").write_text("from .c import z\n", encoding="utf-8")
    assert cycles(import_graph(tmp_path)) == ["a imports b", "b imports a"]


def picture_of_packages() -> dict[str, set[str]]:
    """The arrows that CONTRIBUTING.md draws: `package <- below, below`."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    rows = re.findall(r"^    (\w+) +<- ([\w, ]+?)(?:  .*)?$", text, flags=re.MULTILINE)
    return {name: {below.strip() for below in listed.split(",")} - {"nothing"} for name, listed in rows}


def test_the_picture_of_packages_agrees_with_the_imports() -> None:
    drawn = picture_of_packages()
    aliases = {
        "",
        "__main__",
        "loops",
        "convert",
        "baselines",
        "lagrange",
        "casadi",
        "jax",
        "dask",
        "torch",
        "gymnasium",
    }
    assert set(drawn) == set(ARROWS) - aliases - ANYWHERE
    assert drawn == {name: set(ARROWS[name]) - aliases - ANYWHERE for name in drawn}


def docstring_lines(node: ast.AST) -> int:
    """Lines of the docstring of a function, class or file: words for users are not code to be read."""
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Module) or not node.body:
        return 0
    first = node.body[0]
    text = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str)
    return (first.end_lineno or first.lineno) - first.lineno + 1 if text else 0


def code_lines(path: Path) -> int:
    """Lines of code of a file: without blank lines, comments, docstrings and imports."""
    skipped: set[int] = set()
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import | ast.ImportFrom):
            skipped.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
        elif count := docstring_lines(node):
            first = node.body[0].lineno  # type: ignore[attr-defined]
            skipped.update(range(first, first + count))
    lines = enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
    return sum(n not in skipped and bool(line.strip()) and not line.lstrip().startswith("#") for n, line in lines)


def too_long(path: Path) -> list[str]:
    """A file, or functions in it, beyond the limits."""
    longest = LONGEST_TEST_FILE if TESTS in path.parents else LONGEST_FILE
    count = code_lines(path)
    excess = [f"{count} lines of code, at most {longest}"] if count > longest else []
    return excess if TESTS in path.parents else [*excess, *long_functions(path)]


def long_functions(path: Path) -> list[str]:
    """Functions beyond the limit."""
    every = [n for n in ast.walk(tree(path)) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]
    sizes = [(f.name, (f.end_lineno or f.lineno) - f.lineno + 1 - docstring_lines(f)) for f in every]
    return [f"{name} has {n} lines, at most {LONGEST_FUNCTION}" for name, n in sizes if n > LONGEST_FUNCTION]


def test_files_and_functions_are_short() -> None:
    assert offenders(SOURCE, too_long) + offenders(TESTS, too_long) == []


def is_property_or_overload(node: ast.FunctionDef) -> bool:
    """Whether a member of a class is no plain method."""
    words = {ast.unparse(d).split("(")[0].split(".")[-1] for d in node.decorator_list}
    return bool(words & {"property", "cached_property", "overload", "setter"})


def needs_words(node: ast.stmt) -> bool:
    """Whether a member of a class is a method that should say what it does: not a private, trivial or special one."""
    if not isinstance(node, ast.FunctionDef) or node.name.startswith("_") or is_property_or_overload(node):
        return False
    return not ast.get_docstring(node) and (node.end_lineno or 0) - node.body[0].lineno >= 2


def undocumented(path: Path) -> list[str]:
    """Public classes and functions without a docstring.

    A property's name may say enough, and a method may rely on its class: one that implements an interface repeats
    nothing, so methods are only counted in classes that inherit from none.
    """
    found = [] if ast.get_docstring(tree(path)) or path.name == "__init__.py" else ["the file has no docstring"]
    for node in tree(path).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
            if not ast.get_docstring(node):
                found.append(f"{node.name} has no docstring")
            if isinstance(node, ast.ClassDef) and not node.bases:
                lacking = [m.name for m in node.body if isinstance(m, ast.FunctionDef) and needs_words(m)]
                found += [f"{node.name}.{name} has no docstring" for name in lacking]
    return found


def test_what_is_public_is_documented() -> None:
    assert offenders(SOURCE, undocumented) == []


def own_ranks(path: Path) -> list[str]:
    """Decompositions that decide about ranks outside of `linalg`, with tolerances and units of their own."""
    found = re.findall(r"linalg\.(svd|pinv|matrix_rank|lstsq|cond)\b", path.read_text(encoding="utf-8"))
    return found if path.name != "linalg.py" else []


def test_ranks_are_decided_in_one_place() -> None:
    assert offenders(SOURCE, own_ranks) == []


def unknown_files(path: Path) -> list[str]:
    """Files that the comments and docstrings of a file name, and that do not exist."""
    named = set(re.findall(r"`(?:[\w.]+/)*(\w+\.py)`", path.read_text(encoding="utf-8")))
    return sorted(named - {other.name for folder in (SOURCE, TESTS, ROOT / "docs") for other in files(folder)})


def test_files_that_are_named_exist() -> None:
    assert offenders(SOURCE, unknown_files) == []


def left_to_do(path: Path) -> list[str]:
    """Marks of unfinished work."""
    return re.findall(r"\b(TODO|FIXME|XXX|HACK)\b", path.read_text(encoding="utf-8"))


def test_nothing_is_left_to_do() -> None:
    assert offenders(SOURCE, left_to_do) == []


def untyped(path: Path) -> list[str]:
    """Functions at the top of a module, and methods of classes there, without types."""
    bare = []
    for owner in [tree(path), *(n for n in tree(path).body if isinstance(n, ast.ClassDef))]:
        for f in (n for n in owner.body if isinstance(n, ast.FunctionDef)):
            given = [*f.args.posonlyargs, *f.args.args, *f.args.kwonlyargs, f.args.vararg, f.args.kwarg]
            lacking = [a.arg for a in given if a and not a.annotation and a.arg not in ("self", "cls")]
            if lacking or f.returns is None:
                bare.append(f"{f.name} has no types")
    return bare


def test_types_are_given() -> None:
    assert offenders(SOURCE, untyped) == []


# Words that stand for nothing an engineer would search for, and what to write instead.
ODD_WORDS = {
    "astray": "misaligned",
    "board": "table",
    "brought": "moved",
    "crew": "workers",
    "elsewhere": "the place",
    "felt": "propagated, measured",
    "hire": "start",
    "hired": "started",
    "lowered": "cluster tree",
    "mailbox": "slot",
    "matter": "physically consistent, inertia",
    "seen": "observed, shown",
    "sound": "valid",
    "stray": "incompatible",
    "tell": "report",
    "tells": "reports",
    "told": "reported",
    "travel": "follow_path",
    "unsound": "invalid",
    "vain": "unused",
}
# In text: such words, and "a" for "per".
ODD_PHRASES = (
    r"\b(astray|crew|mailbox|cluster_tree mechanism)\b",
    r"\b(metres|radians|numbers?|entry|entries|samples?|file|ns|µs) a (radian|turn|metre|format|velocity|coordinate"
    r"|body|sample|lane|vector|port|slot|leaf|link|command|method|subject|concept)\b",
    r"\bone (number|block|method|file|line|value|call) an? (row|link|body|joint|step|algorithm|format|method)\b",
)


def odd_names(path: Path) -> list[str]:
    """Names of functions, classes and files made of odd words."""
    names = [n.name for n in ast.walk(tree(path)) if isinstance(n, ast.FunctionDef | ast.ClassDef)]
    parts = [
        (name, word)
        for name in [*names, path.stem]
        for word in ODD_WORDS
        if word in re.findall(r"[a-z]+", re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower())
    ]
    return [f"{name}: say {ODD_WORDS[word]!r} rather than {word!r}" for name, word in parts]


def odd_phrases(text: str) -> list[str]:
    """Phrases that an engineer would not write."""
    flat = re.sub(r"\s+", " ", text)
    return [match.group(0) for phrase in ODD_PHRASES for match in re.finditer(phrase, flat)]


def test_names_are_plain_words() -> None:
    assert offenders(SOURCE, odd_names) == []


def test_texts_are_plain_words() -> None:
    assert offenders(SOURCE, lambda path: odd_phrases(path.read_text(encoding="utf-8"))) == []
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")]
    assert [(page.name, odd) for page in pages if (odd := odd_phrases(page.read_text(encoding="utf-8")))] == []


def test_a_class_name_stands_for_one_thing() -> None:
    """But for the robots of other libraries, each of which its bridge calls a peer: one base, one interface."""
    found: dict[str, list[str]] = {}
    for path in files(SOURCE):
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.ClassDef):
                is_peer = node.name == "Peer" and [ast.unparse(x) for x in node.bases] == ["RobotPeer"]
                found.setdefault(f"{node.name} of {path.stem}" if is_peer else node.name, []).append(path.stem)
    assert {name: places for name, places in found.items() if len(places) > 1} == {}


# File names in several packages, each time for the same thing.
SAME_THING = {
    "a public name of a module within a package": "baselines casadi convert jax lagrange torch",
    "one library, format or command each": "json toml view",
    "read from, or written to, one format each": ("actuators bodies closures contacts joints links shapes surfaces"),
    "mathematics, and the methods for users": (
        "actuators bodies cluster_joints coriolis derivatives dynamics energy inverse_kinematics kinematics passive"
    ),
    "the same idea, applied to what the package is about": ("base lines mirror registry serialize sticks"),
}


def test_a_file_name_stands_for_one_thing() -> None:
    found: dict[str, list[str]] = {}
    for path in files(SOURCE):
        found.setdefault(path.stem, []).append(str(path.relative_to(SOURCE)))
    several = {name: places for name, places in found.items() if len(places) > 1 and name != "__init__"}
    known = {name for names in SAME_THING.values() for name in names.split()}
    assert {name: places for name, places in several.items() if name not in known} == {}
    assert known - several.keys() == set(), "these are in one package only"


@pytest.mark.quick
def test_odd_phrases_are_seen() -> None:
    assert odd_phrases("a pitch in metres a\n    radian") == ["metres a radian"]
    assert odd_phrases("one number a velocity") == ["number a velocity"]
    assert odd_phrases("one method an algorithm") == ["one method an algorithm"]
    assert odd_phrases("metres per radian; the samples that a thread takes") == []


@pytest.mark.quick
def test_the_glossary_has_the_words_of_the_source() -> None:
    text = (ROOT / "docs" / "notation.md").read_text(encoding="utf-8")
    glossary = text[text.index("## Glossary") : text.index("## Symbols")]
    words = re.findall(r"^\| ([a-z, ]+?) \|", glossary, flags=re.MULTILINE)[1:]
    assert words == [
        "robot", "mechanism", "body", "link", "joint", "spanning tree", "loop", "cluster", "independent velocities",
        "embedding", "toggle position", "constraint, condition", "run", "sample", "period", "numbers", "recording",
        "program", "kernel",
    ]  # fmt: skip


@pytest.mark.quick
def test_the_package_is_marked_as_typed() -> None:
    assert (SOURCE / "py.typed").is_file()


@pytest.mark.quick
def test_importing_fourbar_is_light() -> None:
    code = f"import fourbar, sys; print(*(m for m in {HEAVY!r} if m in sys.modules))"
    found = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONPATH": str(SOURCE.parent)},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert found.stdout.strip() == ""


def test_every_public_name_exists() -> None:
    assert [name for name in fourbar.__all__ if not hasattr(fourbar, name)] == []
    assert len(set(fourbar.__all__)) == len(fourbar.__all__)
