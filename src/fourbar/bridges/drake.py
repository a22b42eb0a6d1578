"""The bridge to Drake: another name of `fourbar.interop.drake`."""

from ..interop.drake import *  # noqa: F403
from ..interop.drake import __all__ as __all__
