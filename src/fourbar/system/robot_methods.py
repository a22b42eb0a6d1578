"""The algorithms as attributes of a robot, for type checkers and editors: the stub beside declares them.

`python docs/make_stub.py` writes it from the registry, where the attributes come from when the program runs.
"""

from __future__ import annotations


class RobotMethods:
    """Declares the registered methods of a robot."""
