"""Robots made from robots: pure functions from mechanisms to mechanisms, one idea per file, imported when first
used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazy import lazy

if TYPE_CHECKING:
    from . import change as change
    from . import coordinates as coordinates
    from . import join as join
    from . import lock as lock
    from . import mass_from_shapes as mass_from_shapes
    from . import mirror as mirror
    from . import rename as rename
    from . import sub as sub

lazy()
