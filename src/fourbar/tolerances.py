"""The tolerances with which ranks, gaps and singular positions are decided, each with its reason.

Those with which a solver decides that it has converged are settings of that solver, in a class beside it.

All but `BEYOND` are dimensionless: they are compared with quantities in natural units (`linalg.balance`,
`tree.units`), so that metres or millimetres, gears of 1 or of 1e9, make no difference.
"""

from __future__ import annotations

# Ranks
RANK = 1e-9  # singular values below this fraction of the largest: the rounding of models written with nine digits
DUST = 1e-9  # entries below this fraction of the effect of a displacement of the bodies: the same, entry by entry
STATIONARY = 1e-6  # rows of bodies that displacements change less than this only distinguish half a turn from none
NOTHING = 1e-12  # rows or columns shorter than this fraction of the longest are sums that cancelled
NO_INERTIA = 1e-13  # pivots of M below this fraction of the inertia that could resist at most are rounding
VANISHED = NO_INERTIA**2  # square of a column, relative to those of all columns, that is rounding
ROUNDING = 1e-12  # singular values below this fraction of the largest are certainly rounding
DOUBTFUL = 1e-5  # between `ROUNDING` and this the rank is in doubt: a search that ends at a toggle stops so near to it
PREFERRED = 1e-6  # a requested column is taken if this fraction of the largest is left of it
FAIR = 0.1  # a column equivalent to others is taken for other reasons if this fraction of the largest is left of it
REMAINDER = 1e-9  # relative size of a column, or of its rest beside others, below which it adds nothing: as `RANK`
# A pivot is a difference of numbers as large as the diagonal entry, which are rounded: of one that is 1e-12 of it
# fewer than four digits are right.
DEPENDENT = 1e12  # ratio of a diagonal entry to its pivot from which on the pivot is rounding
UNSEEN = 1e-11  # singular values of measured data below this fraction of the largest are the rounding of their sums
STILL = 1e-9  # velocities per unit of freedom below which a joint does not move when others are locked: as `RANK`
OPENING = 1e-9  # of the opening of loops that rates of numbers could cause, the part that opens them: as `RANK`

# Redundant rows of constraints, and drives
LOOSE = 1e-9  # of its entry of Ω, the part of a row above which others do not imply it: as `RANK`
WEAK = 1e8  # ratio of an entry of the diagonal of Ω to its pivot from which on half of the digits are lost
UNHELD = 1e16  # squared ratio of a column of drives to its rest beside others, where half of the digits are lost
BROKEN = 1e-8  # of the largest, the change of redundant rows above which they do not stay redundant: half of the digits
BALANCED = 1e-8  # of the largest, the forces of passive joints that drives may leave unbalanced: half of the digits

# Gaps of loops, in units of their rows
CLOSED = 1e-11  # the largest gap of a closed configuration: a hundred times `ClosingSettings.ROUNDING`
ASSEMBLED = 1e-10  # the same when a robot is built, where loops close no further and no row is redundant
CONVERGED = 1e-12  # the gap that Newton's method may leave within a step: a tenth of `CLOSED`
WRITTEN = 1e-9  # the largest gap of a configuration that is taken as it is: nine digits of a file
OPEN = 1e-6  # the gap from which on a configuration is refused: six digits of measured or printed coordinates
DIGITS_OF_AXES = 1e-6  # the turn of an axis (rad) that is rounding of a file, which must not make a loop rigid
REDUNDANT = 1e-6  # the largest gap of redundant rows: six digits of a file
IMPLIED = 30.0  # relative to that gap: how far rows may be from depending on others, to blame the gap on redundancy
SPREADING = 30.0  # relative to that gap: how much it may grow in other configurations

# Toggle positions
LOST = 1e-7  # hold of a loop, relative to that where it was built, below which fewer than nine digits are right
KEEP_AWAY = 1e-6  # hold at which random configurations stay away from toggle positions: ten times `LOST`
NO_PIVOT = 1e-9  # a pivot below this fraction of its row is zero
NEAR_TOGGLE = 1e-3  # least singular value of K_d, beside the entries of K, below which a closer look decides
HALF_A_TURN = 1e-12  # of 1 + cos θ, of which fewer than four digits are right nearer to half a turn (1.4e-6 rad)
GIMBAL_LOCK = 1e-15  # sine of half the middle Euler angle (or of its complement) that is a few roundings of one
GIMBAL_RATES = 1e-12  # sine of the angle from gimbal lock below which rates have fewer than four digits
# Folds: the length of a row of K after elimination, as at a distance r from a fold (rad), below which fewer than three
# digits are right where loops are closed to the last bit. That gap moves dependent joints by ε / r, which turns
# tangents by ε / r² and changes curvatures by ε / r³ (five linkages: up to 1e-15 / r² and 6e-15 / r³)
FOLD_VELOCITY = 1e-6
FOLD_ACCELERATION = 2e-4
FOLD_STEP = 1e-5  # accelerations that are used for a short step only, in which their error counts less
FOLD_BRANCHES = 1e-6  # √`CONVERGED`: so near to a fold (rad) such a gap moves joints as far as from branch to branch
BEYOND = 1e-9  # (rad, m): how far searches may pass a limit, and what dependent joints keep away from theirs
