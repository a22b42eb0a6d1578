"""The rules of the source: which layer may import which, how long files and functions may be, what is documented."""

import ast
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

import fourbar

SOURCE = Path(fourbar.__file__).resolve().parent
TESTS = Path(__file__).resolve().parent

# A layer may import itself, those listed here, and all that these may import.
ARROWS = {
    "errors": (),
    "tolerances": (),
    "linalg": (),
    "lazy": (),
    "once": (),
    "sources": (),
    "expr": ("errors",),
    "compile": ("expr", "sources"),
    "spatial": ("expr",),
    "joints": ("spatial",),
    "loops": ("joints",),
    "conventions": ("joints",),
    "constraints": ("loops",),
    "model": ("joints", "loops"),
    "algorithms": ("model", "constraints"),
    "io": ("model", "conventions"),
    "system": ("algorithms", "compile", "io"),
    "sim": ("system",),
    "identification": ("system",),
    "view": ("system",),
    "robots": ("system",),
    "convert": ("system", "conventions"),
    "bridges": ("convert",),
    "baselines": ("system",),
    "lagrange": ("system",),
    "cli": ("sim", "identification", "view", "robots", "bridges", "baselines", "lagrange", ""),
    "__main__": ("cli",),
    "": ("sim", "identification", "view", "robots", "bridges", "baselines", "convert", "lagrange"),
}
LONGEST_FILE = 500
LONGEST_FUNCTION = 60
HEAVY = (
    "llvmlite",
    "clarabel",
    "matplotlib",
    "dask",
    "pinocchio",
    "mujoco",
    "pydrake",
    "scipy",
    "sympy",
    "pandas",
    "tqdm",
    "hypothesis",
    "pytest",
)


def files(root):
    return sorted(path for path in root.rglob("*.py") if "__pycache__" not in path.parts)


def name_of(path):
    return path.relative_to(SOURCE if SOURCE in path.parents else TESTS).as_posix()


EVERY_FILE = pytest.mark.parametrize("path", files(SOURCE), ids=name_of)
EVERY_TEST = pytest.mark.parametrize("path", files(TESTS), ids=name_of)


@cache
def tree(path):
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def reachable(layer):
    """All layers that a layer may import."""
    found = {layer, "errors", "lazy", "linalg", "once", "tolerances"}
    for below in ARROWS[layer]:
        found |= reachable(below)
    return found


def layer_of(module):
    """The layer of a module, written as the parts of its name below fourbar; the package itself is ''."""
    first = module[0] if module else ""
    return "" if first == "__init__" else first


def imported(path):
    """Modules of fourbar that a file imports anywhere, as tuples of names."""
    here = path.relative_to(SOURCE).with_suffix("").parts
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            for alias in node.names:
                parts = tuple(alias.name.split("."))
                if parts[0] == "fourbar":
                    yield parts[1:]
        elif isinstance(node, ast.ImportFrom):
            named = tuple(node.module.split(".")) if node.module else ()
            if node.level:
                base = (*here[: len(here) - node.level], *named)
            elif named[:1] == ("fourbar",):
                base = named[1:]
            else:
                continue
            if base:
                yield base
            else:  # `from .. import joints`: a name of the package, or a layer
                yield from ((alias.name,) if alias.name in ARROWS else () for alias in node.names)


def test_every_layer_has_a_place():
    found = {layer_of(path.relative_to(SOURCE).with_suffix("").parts) for path in files(SOURCE)}
    assert found <= set(ARROWS), "say in ARROWS what the new layer may import"


def test_the_arrows_have_no_circles():
    for layer in ARROWS:
        below = set().union(*(reachable(x) for x in ARROWS[layer]))
        assert layer not in below


@EVERY_FILE
def test_layers(path):
    own = layer_of(path.relative_to(SOURCE).with_suffix("").parts)
    wrong = sorted(".".join(m) or "fourbar" for m in imported(path) if layer_of(m) not in reachable(own))
    assert not wrong, f"{own or 'fourbar'} may import {sorted(reachable(own))} only"


@pytest.mark.short
def test_the_check_of_layers_sees_imports():
    assert ("expr", "text") in imported(SOURCE / "compile" / "kernel.py")
    assert ("errors",) in imported(SOURCE / "compile" / "arguments.py")
    assert ("joints",) in imported(SOURCE / "bridges" / "pinocchio.py")
    assert reachable("compile") == {"compile", "expr", "errors", "lazy", "linalg", "once", "sources", "tolerances"}
    assert "compile" not in reachable("algorithms")
    assert {"compile", "algorithms", "expr"} <= reachable("system")


@EVERY_FILE
def test_files_are_short(path):
    assert len(path.read_text(encoding="utf-8").splitlines()) <= LONGEST_FILE


@EVERY_TEST
def test_test_files_are_short(path):
    assert len(path.read_text(encoding="utf-8").splitlines()) <= LONGEST_FILE


def functions(path):
    return [n for n in ast.walk(tree(path)) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]


@EVERY_FILE
def test_functions_are_short(path):
    long = [f.name for f in functions(path) if f.end_lineno - f.lineno + 1 > LONGEST_FUNCTION]
    assert not long


def is_property_or_overload(node):
    words = {ast.unparse(d).split("(")[0].split(".")[-1] for d in node.decorator_list}
    return bool(words & {"property", "cached_property", "overload", "setter"})


def undocumented(path):
    """Public classes and functions without a docstring.

    A property's name may say enough, and a method may rely on its class: one that implements an interface repeats
    nothing, so methods are only counted in classes that inherit from none.
    """
    found = [] if ast.get_docstring(tree(path)) or path.name == "__init__.py" else ["the file"]
    for node in tree(path).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
            if not ast.get_docstring(node):
                found.append(node.name)
            if isinstance(node, ast.ClassDef) and not node.bases:
                found += [f"{node.name}.{m.name}" for m in node.body if needs_words(m)]
    return found


def needs_words(node):
    """Whether a member of a class is a method that should say what it does: not a private, trivial or special one."""
    if not isinstance(node, ast.FunctionDef) or node.name.startswith("_") or is_property_or_overload(node):
        return False
    return not ast.get_docstring(node) and node.end_lineno - node.body[0].lineno >= 2


@EVERY_FILE
def test_what_is_public_is_documented(path):
    assert not undocumented(path)


@EVERY_FILE
def test_nothing_is_left_to_do(path):
    assert not re.search(r"\b(TODO|FIXME|XXX|HACK)\b", path.read_text(encoding="utf-8"))


@EVERY_FILE
def test_types_are_given(path):
    """Every argument and result of a function at the top of a module, or of a method of a class there."""
    bare = []
    for owner in [tree(path), *(n for n in tree(path).body if isinstance(n, ast.ClassDef))]:
        for f in (n for n in owner.body if isinstance(n, ast.FunctionDef)):
            given = [*f.args.posonlyargs, *f.args.args, *f.args.kwonlyargs, f.args.vararg, f.args.kwarg]
            untyped = [a.arg for a in given if a and not a.annotation and a.arg not in ("self", "cls")]
            if untyped or f.returns is None:
                bare.append(f.name)
    assert not bare


@pytest.mark.short
def test_the_package_is_marked_as_typed():
    assert (SOURCE / "py.typed").is_file()


@pytest.mark.short
def test_importing_fourbar_is_light():
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


def test_every_public_name_exists():
    assert [name for name in fourbar.__all__ if not hasattr(fourbar, name)] == []
    assert len(set(fourbar.__all__)) == len(fourbar.__all__)
