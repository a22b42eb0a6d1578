"""Libraries that an extra brings: imported, or an error that says which command installs them."""

from ..errors import needed

__all__ = ["needed"]
