"""The tolerances with which ranks, gaps and singular positions are decided, each with its reason.

All of them are dimensionless: they are compared with quantities in natural units (`linalg.balance`,
`tree.units`), so that metres or millimetres, gears of 1 or of 1e9, make no difference.
"""

from __future__ import annotations

# Ranks
RANK = 1e-9  # singular values below this fraction of the largest: the rounding of models written with nine digits
DUST = 1e-9  # entries below this fraction of the effect of a displacement of the bodies: the same, entry by entry
STATIONARY = 1e-6  # rows of bodies that displacements change less than this only distinguish half a turn from none
NOTHING = 1e-12  # rows or columns shorter than this fraction of the longest are sums that cancelled
ROUNDING = 1e-12  # singular values below this fraction of the largest are certainly rounding
DOUBTFUL = 1e-5  # between `ROUNDING` and this the rank is in doubt: a search that ends at a toggle stops so near to it
PREFERRED = 1e-6  # a requested column is taken if this fraction of the largest is left of it
FAIR = 0.1  # a column equivalent to others is taken for other reasons if this fraction of the largest is left of it

# Gaps of loops, in units of their rows
CLOSED = 1e-11  # the largest gap of a configuration that counts as closed
ASSEMBLED = 1e-10  # the same when a robot is built: its numbers may come from a file
REDUNDANT = 1e-6  # the largest gap of redundant rows: six digits of a file
IMPLIED = 30.0  # relative to that gap: how far rows may be from depending on others, to blame the gap on redundancy
SPREADING = 30.0  # relative to that gap: how much it may grow in other configurations

# Toggle positions
LOST = 1e-7  # hold of a loop, relative to that where it was built, below which half of the digits are lost
KEEP_AWAY = 1e-6  # hold at which random configurations stay away from toggle positions
NO_PIVOT = 1e-9  # a pivot below this fraction of its row is zero
# Folds: the length of a row of K after elimination, as at a distance r from a fold (rad), below which fewer than three
# digits are right where loops are closed to the last bit. That gap moves dependent joints by ε / r, which turns
# tangents by ε / r² and changes curvatures by ε / r³ (five linkages: up to 1e-15 / r² and 6e-15 / r³)
FOLD_VELOCITY = 1e-6
FOLD_ACCELERATION = 2e-4
FOLD_STEP = 1e-5  # accelerations that are used for a short step only, in which their error counts less
BEYOND = 1e-9  # how far (rad, m) a limit may be passed, and what dependent joints keep away from theirs: searches
