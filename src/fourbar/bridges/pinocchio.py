"""The bridge to Pinocchio: another name of `fourbar.interop.pinocchio`."""

from ..interop.pinocchio import *  # noqa: F403
from ..interop.pinocchio import __all__ as __all__
