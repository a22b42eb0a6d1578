"""The tolerances with which ranks, gaps and singular positions are decided, each with its reason.

All of them are pure numbers: what they are compared with is measured in units of its own (`linalg.balance`,
`model.units`), so that metres or millimetres, gears of 1 or of 1e9, make no difference.
"""

from __future__ import annotations

# Ranks
RANK = 1e-9  # singular values below this part of the largest: the rounding of models that are written with nine digits
DUST = 1e-9  # entries below this part of what a displacement of the bodies would do: the same, entry by entry
STATIONARY = 1e-6  # rows of bodies that displacements change less than this only tell half a turn from none
NOTHING = 1e-12  # rows or columns shorter than this part of the longest are sums that cancelled
ROUNDING = 1e-12  # singular values below this part of the largest are rounding for certain
DOUBTFUL = 1e-5  # between `ROUNDING` and this the rank is in doubt: a search that ends at a toggle stops so near to it
PREFERRED = 1e-6  # a column that is asked for is taken if this part of the largest is left of it
FAIR = 0.1  # a column that is as good as others is taken for other reasons if this part of the largest is left of it

# Gaps of loops, in units of their rows
CLOSED = 1e-11  # a gap that may be left where a configuration is called closed
ASSEMBLED = 1e-10  # the same where a robot is built: its numbers may be those of a file
REDUNDANT = 1e-6  # a gap that rows may leave which others imply: six digits of a file
IMPLIED = 30.0  # times that gap: how far rows may be from depending on others, for such a gap to be their fault
SPREADING = 30.0  # times that gap: what it may become elsewhere

# Toggle positions
LOST = 1e-7  # hold of a loop, beside that where it was built, below which half of the digits are gone
KEEP_AWAY = 1e-6  # hold at which random configurations keep away from toggle positions
NO_PIVOT = 1e-9  # a pivot below this part of its row is no pivot
