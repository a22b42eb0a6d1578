"""Joints of every type, for tests."""

from __future__ import annotations

from .base import Joint
from .registry import examples

REGISTRY: tuple[Joint, ...] = examples()
