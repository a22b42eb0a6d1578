"""Adds llms.txt, which lists the pages for readers that are programs, to the wheel (hatchling calls this)."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class WheelHook(BuildHookInterface):
    """Writes the list beside the pages."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Write llms.txt to a temporary folder, and include it from there."""
        sys.path.insert(0, str(Path(self.root) / "src"))
        from fourbar.cli.docs import list_for_programs

        file = Path(tempfile.mkdtemp()) / "llms.txt"
        file.write_text(list_for_programs(".md"), encoding="utf-8")
        build_data["force_include"][str(file)] = "fourbar/docs/llms.txt"
