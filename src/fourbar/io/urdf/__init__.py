"""URDF: links and joints of a tree; URDF+ and the constraints proposed for urdfdom, which close loops."""

from .reader import read

__all__ = ["read"]
