"""Makes the files of a wheel that are not in git: types of a robot's methods, llms.txt (hatchling calls this).

An editable installation, whose files are those of the checkout, calls it too. The registry of methods is imported, so a
build needs NumPy and llvmlite, as fourbar itself does.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class WheelHook(BuildHookInterface):
    """Writes the stub beside its module, and llms.txt, which lists the pages for readers that are programs."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Write the stub, which `artifacts` includes, and llms.txt to a temporary folder, included from there."""
        root = Path(self.root)
        sys.path[:0] = [str(root / "src"), str(root / "docs")]
        import make_stub

        from fourbar.cli.docs import list_for_programs

        make_stub.write()
        if version == "editable":  # the pages are those of the checkout
            return
        file = Path(tempfile.mkdtemp()) / "llms.txt"
        file.write_text(list_for_programs(".md"), encoding="utf-8")
        build_data["force_include"][str(file)] = "fourbar/docs/llms.txt"
