"""Robots shared with the benchmarks, which are no package: their loader is imported by path."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest

_BENCH = Path(__file__).parents[2] / "bench" / "robots.py"


@pytest.fixture(scope="session")
def bench() -> Any:
    """The module bench/robots.py."""
    spec = importlib.util.spec_from_file_location("bench_robots", _BENCH)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(_BENCH.parent))  # for what it imports beside it
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(_BENCH.parent))
    return module
