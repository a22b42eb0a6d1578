"""The bridge to Drake: another name of `fourbar.interop.drake`."""

from ..interop.drake import *  # noqa: F403
