"""Most of these tests are about mathematics: they run on the reference interpreter, which needs no compilation."""

from __future__ import annotations

from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def interpreted(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Programs are interpreted, but in `test_compiled`."""
    if request.module.__name__.rpartition(".")[2] != "test_compiled":
        monkeypatch.setenv("FOURBAR_BACKEND", "numpy")
    yield
