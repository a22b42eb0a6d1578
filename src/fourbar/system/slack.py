"""Loops of which rows were left out: what the user is told."""

from __future__ import annotations

from ..model.lower import Lowered

SLACK = "slack"  # what `waive` calls a gap of rows that others imply
SLACK_FIX = "write more digits where these loops meet, or hold each thing once"


def slack_messages(lowered: Lowered) -> list[str]:
    """For each loop of which rows were left out its name, and the gap."""
    return [
        f"loop {name!r} holds what other joints and loops hold already, but for a gap of {gap:.3g}: those of its rows "
        "are left out"
        for group in lowered.groups
        for name, gap in group.slack
    ]
