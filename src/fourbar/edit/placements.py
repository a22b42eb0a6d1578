"""Placements as transforms, and back."""

from __future__ import annotations

import numpy as np

from ..mechanism.mechanism import Placement
from ..mechanism.validate import as_matrix
from ..spatial.linear import Vec
from ..spatial.transform import Transform


def transform(placement: Placement) -> Transform:
    """A placement as a transform."""
    return Transform.of(placement.rotation, Vec(placement.position))


def placement(T: Transform) -> Placement:
    """A constant transform as a placement."""
    x, y, z = (float(a) + 0.0 for a in T.p)
    return Placement(as_matrix(np.array(T.R, float) + 0.0), (x, y, z))
