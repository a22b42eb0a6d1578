"""Model files. One package per format, listed in `formats.py`; findings go to a `Report`."""

from .report import Finding, ParseError, Report

__all__ = ["Finding", "ParseError", "Report"]
