"""Robots that come with the library."""

from .pendulum import double_pendulum

ROBOTS = {"double_pendulum": double_pendulum}

__all__ = ["ROBOTS", "double_pendulum"]
