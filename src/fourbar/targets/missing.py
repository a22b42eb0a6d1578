"""Libraries that an extra brings: imported, or an error that says which command installs them."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ..errors import extra as command


def needed(module: str, extra: str) -> Any:
    """A library of another project, or an ImportError that says how to get it."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module.partition(".")[0]:
            raise
        raise ImportError(f"fourbar.{extra} needs {module}: {command(extra)}", name=module) from error
