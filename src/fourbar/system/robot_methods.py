"""The algorithms as attributes of a robot, for type checkers and editors: a stub declares them.

Installing fourbar makes it from the registry, as does `python docs/make_stub.py`; when the program runs, the attributes
come from there.
"""

from __future__ import annotations


class RobotMethods:
    """Declares the registered methods of a robot."""
