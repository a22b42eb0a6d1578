"""Passive forces of joints: springs, viscous damping and dry friction.

A spring with the stretch δ(q) of its joint and stiffnesses k stores U = ½ Σ k δ²; its force on the velocities is
-(∂δ̇/∂v)ᵀ k δ, so that U̇ = -v · τ. For a joint with q̇ = v that is -k (q - rest); for a ball it is -k times the rotation
vector from the rest where all k are equal.
"""

from __future__ import annotations

from ..expr import select, tanh
from ..joints.base import Joint
from ..spatial.linear import Scalar, Vec, dot


def _spring_pull(joint: Joint, q: Vec, rest: Vec, k: Vec) -> Vec:
    return Vec([a * b for a, b in zip(k, joint.stretch(rest, q), strict=True)])


def spring_force(joint: Joint, q: Vec, rest: Vec, k: Vec) -> Vec:
    """-(∂δ̇/∂v)ᵀ k δ (nv) of one joint."""
    pull = _spring_pull(joint, q, rest, k)
    return Vec([-dot(rate, pull) for rate in joint.stretch_rates(rest, q)])


def spring_energy(joint: Joint, q: Vec, rest: Vec, k: Vec) -> Scalar:
    """½ Σ k δ² of one joint."""
    return 0.5 * dot(joint.stretch(rest, q), _spring_pull(joint, q, rest, k))


def damping_force(v: Vec, d: Vec) -> Vec:
    """-d v (nv) of one joint."""
    return Vec([-(a * b) for a, b in zip(d, v, strict=True)])


def friction_force(v: Vec, f: Vec, smooth: Scalar) -> Vec:
    """-f tanh(v / smooth) (nv) of one joint: dry friction, smoothed around rest; NaN unless `smooth` is positive."""
    return Vec([select(smooth > 0.0, -(a * tanh(b / smooth)), float("nan")) for a, b in zip(f, v, strict=True)])


def damping_power(v: Vec, d: Vec) -> Scalar:
    """Σ d v²: the power that the damper of one joint takes."""
    return dot([a * b for a, b in zip(d, v, strict=True)], v)
