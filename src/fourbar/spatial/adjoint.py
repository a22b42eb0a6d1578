"""Adjoint matrices, the exponential of twists, and algebra as arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from .groups.se3 import SE3
from .groups.so3 import from_matrix
from .inertia import Articulated, Inertia
from .linear import Mat, Vec, hat
from .rotation import quaternion_matrix
from .subspace import Columns, Selection
from .transform import Transform
from .vectors import Twist, Wrench

_SE3 = SE3()


def Ad(T: Transform) -> Mat:
    """Adjoint matrix of a pose.

    Parameters
    ----------
    T : Transform
        Pose of a child frame in its parent.

    Returns
    -------
    Mat
        Ad_T (6 x 6), which carries twists from child to parent; X = Ad(T.inverse()) carries them from parent to child,
        and its transpose wrenches from child to parent.

    See Also
    --------
    ad : The Lie bracket as a matrix.
    exp : The pose that a twist leads to.

    Examples
    --------
    >>> from fourbar.spatial import Ad, Transform, Twist, exp, to_array
    >>> T, V = exp(Twist.from_array([0, 0, 0.5, 1, 0, 0])), Twist.from_array([1, 2, 3, 4, 5, 6])
    >>> bool(abs(to_array(Ad(T)) @ to_array(V) - to_array(T.motion_to_parent(V))).max() < 1e-14)
    True
    """
    R, below = T.R, hat(T.p) @ T.R
    upper = [Vec((*row, 0.0, 0.0, 0.0)) for row in R]
    return Mat((*upper, *(Vec((*left, *right)) for left, right in zip(below, R, strict=True))))


def ad(V: Twist) -> Mat:
    """Lie bracket with a twist as a matrix.

    Parameters
    ----------
    V : Twist
        Twist.

    Returns
    -------
    Mat
        ad_V (6 x 6): ad_V W is the bracket [V, W]; -ad_Vᵀ F is V ×* F.

    See Also
    --------
    Ad : The adjoint matrix of a pose.

    Examples
    --------
    >>> from fourbar.spatial import Twist, ad, to_array
    >>> to_array(ad(Twist.from_array([0, 0, 1, 0, 0, 0])))[:2, :3]
    array([[ 0., -1.,  0.],
           [ 1.,  0.,  0.]])
    """
    return _SE3.ad(V.six())


def exp(V: Twist) -> Transform:
    """Pose reached from the identity by a constant twist in unit time.

    Parameters
    ----------
    V : Twist
        Twist in the axes of the moving frame.

    Returns
    -------
    Transform
        exp(V).

    See Also
    --------
    log : The inverse.

    Examples
    --------
    >>> import numpy as np
    >>> from fourbar.spatial import Twist, exp, to_array
    >>> to_array(exp(Twist.from_array([0, 0, np.pi / 2, 1, 0, 0]))).round(3)
    array([[ 0.   , -1.   ,  0.   ,  0.637],
           [ 1.   ,  0.   ,  0.   ,  0.637],
           [ 0.   ,  0.   ,  1.   ,  0.   ],
           [ 0.   ,  0.   ,  0.   ,  1.   ]])
    """
    element = _SE3.exp(V.six())
    return Transform((quaternion_matrix(element[3:]),), Vec(element[:3]))


def log(T: Transform) -> Twist:
    """Twist that leads from the identity to a pose in unit time.

    Parameters
    ----------
    T : Transform
        Pose.

    Returns
    -------
    Twist
        The V with exp(V) = T whose rotation is the shortest, at most π.

    See Also
    --------
    exp : The inverse.

    Examples
    --------
    >>> from fourbar.spatial import Twist, exp, log, to_array
    >>> to_array(log(exp(Twist.from_array([0.1, 0.2, 0.3, 1, 2, 3])))).round(12)
    array([0.1, 0.2, 0.3, 1. , 2. , 3. ])
    """
    return Twist.of(_SE3.log((*T.p, *from_matrix(T.R))))


def to_array(value: Any) -> np.ndarray:
    """Array of a vector, matrix, twist, wrench, pose, inertia or motion subspace.

    Parameters
    ----------
    value : Vec, Mat, Twist, Wrench, Transform, Inertia, Columns or Selection
        Its scalars are numbers, or arrays of shapes that broadcast: a batch.

    Returns
    -------
    ndarray
        Vectors (..., n), twists and wrenches (..., 6), matrices (..., m, n), poses as homogeneous matrices (..., 4, 4),
        inertias (..., 6, 6), subspaces (..., 6, nv); leading axes are those of the batch.

    See Also
    --------
    Twist.from_array : The inverse, and so of the other types.

    Examples
    --------
    >>> import numpy as np
    >>> from fourbar.spatial import Twist, to_array
    >>> V = Twist.from_array(np.ones((100, 6)))  # a batch of a hundred
    >>> to_array(V.ad(V)).shape
    (100, 6)
    """
    entries, axes = _entries(value)
    flat = np.stack(np.broadcast_arrays(*(np.asarray(x, float) for row in entries for x in row)), axis=-1)
    return flat.reshape(*flat.shape[:-1], *axes)


def _entries(value: Any) -> tuple[Any, tuple[int, ...]]:
    """The entries by rows, and the shape of one value."""
    if isinstance(value, Twist | Wrench):
        value = value.six()
    elif isinstance(value, Transform):
        value = Mat((*(Vec((*row, x)) for row, x in zip(value.R, value.p, strict=True)), Vec((0.0, 0.0, 0.0, 1.0))))
    elif isinstance(value, Inertia):
        value = value.matrix()
    elif isinstance(value, Articulated):
        value = value.rows()
    elif isinstance(value, Columns | Selection):
        value = Mat.from_columns([twist.six() for twist in value.twists()])
    if isinstance(value, Mat):
        return value, (len(value), len(value[0]))
    if isinstance(value, Vec):
        return (value,), (len(value),)
    raise TypeError(
        f"expected a Vec, Mat, Twist, Wrench, Transform, Inertia or motion subspace of fourbar.spatial, got "
        f"{type(value).__name__}"
    )
