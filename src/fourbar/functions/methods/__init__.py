"""The methods of a robot, one entry an algorithm: where algorithms meet names, shapes and documentation.

Each file registers its methods when it is imported, which is when one of them is first asked for.
"""

from ..registry import METHODS, Method, load

__all__ = ["METHODS", "Method", "load"]
