"""The scripts of docs/, which share modules and are no package."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

DOCS = Path(__file__).resolve().parents[2] / "docs"


def script(name: str) -> ModuleType:
    """A file of docs/ as a module, as it is when it is run from there."""
    if str(DOCS) not in sys.path:
        sys.path.insert(0, str(DOCS))
    return import_module(name)
