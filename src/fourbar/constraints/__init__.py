"""What may hold a robot on top of its joints and loops: contacts, prescribed motion, rows written by the user.

Loops (`fourbar.loops`) may be given too: they are then kept by forces instead of being solved for.
"""

from .base import Condition
from .contact import Contact
from .rows import Prescribed, Rows

__all__ = ["Condition", "Contact", "Prescribed", "Rows"]
