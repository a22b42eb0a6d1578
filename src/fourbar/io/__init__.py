"""Model files. One file a format, listed in `formats.py`; what is found while reading goes to a `Report`."""

from .report import Finding, ParseError, Report

__all__ = ["Finding", "ParseError", "Report"]
