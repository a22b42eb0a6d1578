"""The figures that are returned. Imports matplotlib: to be imported when a picture is drawn."""

from __future__ import annotations

from io import BytesIO

from matplotlib.figure import Figure

_DPI = 110


class Picture(Figure):
    """A figure that belongs to no window, and that notebooks show as it is."""

    def _repr_png_(self) -> bytes:
        written = BytesIO()
        self.savefig(written, format="png", dpi=_DPI)
        return written.getvalue()
