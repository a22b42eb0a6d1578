"""Vector sin, cos and atan2 as straight-line code. LLVM's own fall back to one scalar library call per lane.

sin and cos: Cody-Waite reduction by multiples of π/2 and the classic minimax polynomials on [-π/4, π/4], within 2 ulp
for |x| ≤ 1e8; beyond that, where an angle in radians has lost its digits, the result is NaN. The constants are those
of Sun's fdlibm (sin, cos) and Moshier's Cephes (atan).
"""

from __future__ import annotations

import math

from .ir import Code, Lanes

_MAGIC = 6755399441055744.0  # 1.5 * 2**52: adding it rounds to an integer, whose low bits are then the quadrant
LARGEST_ANGLE = 1e8
SMALLEST_QUATERNION = 1e-150  # relative to its largest entry: the squares of smaller ones vanish
# π/2 in pieces: full ones where n * piece is exact inside a fused multiply-add, short ones (n * piece fits) elsewhere.
_HALF_PI_FUSED = (1.5707963267948966, 6.123233995736766e-17, -1.4973849048591833e-33)
_HALF_PI_SPLIT = (1.5707963109016418, 1.5893254712295857e-08, 6.123233932053594e-17, 6.36831716351095e-25)
_PI_REST = 1.2246467991473532e-16  # π minus the double nearest to it
_SIN = (
    -1.66666666666666324348e-01, 8.33333333332248946124e-03, -1.98412698298579493134e-04,
    2.75573137070700676789e-06, -2.50507602534068634195e-08, 1.58969099521155010221e-10,
)  # fmt: skip
_COS = (
    4.16666666666666019037e-02, -1.38888888888741095749e-03, 2.48015872894767294178e-05,
    -2.75573143513906633035e-07, 2.08757232129817482790e-09, -1.13596475577881948265e-11,
)  # fmt: skip
_ATAN_P = (
    -6.485021904942025371773e1, -1.228866684490136173410e2, -7.500855792314704667340e1,
    -1.615753718733365076637e1, -8.750608600031904122785e-1,
)  # fmt: skip
_ATAN_Q = (
    1.945506571482613964425e2, 4.853903996359136964868e2, 4.328810604912902668951e2,
    1.650270098316988542046e2, 2.485846490142306297962e1, 1.0,
)  # fmt: skip

DECLARATIONS = (
    "declare {v} @llvm.fabs.{suffix}({v})\n"
    "declare {v} @llvm.fma.{suffix}({v}, {v}, {v})\n"
    "declare {v} @llvm.sqrt.{suffix}({v})\n"
    "declare {v} @llvm.floor.{suffix}({v})\n"
    "declare {v} @llvm.copysign.{suffix}({v}, {v})\n"
    "declare {v} @llvm.minimum.{suffix}({v}, {v})\n"
    "declare {v} @llvm.maximum.{suffix}({v}, {v})\n"
)


class Elementary:
    """Emits arithmetic and elementary functions into a function body.

    Where the CPU has fused multiply-adds they are written out, never left to the compiler: the same bits come out for
    every vector width and every version of LLVM.
    """

    def __init__(self, code: Code, lanes: Lanes) -> None:
        self.code = code
        self.lanes = lanes
        self.v = lanes.double

    def arithmetic(self, op: str, a: str, b: str) -> str:
        return self.code.let(f"{op} {self.v} {a}, {b}")

    def intrinsic(self, name: str, *args: str) -> str:
        listed = ", ".join(f"{self.v} {a}" for a in args)
        return self.code.let(f"call {self.v} @llvm.{name}.{self.lanes.suffix}({listed})")

    def negative(self, a: str) -> str:
        return self.code.let(f"fneg {self.v} {a}")

    def multiply_add(self, a: str, b: str, c: str) -> str:
        """a b + c."""
        if self.lanes.fma:
            return self.intrinsic("fma", a, b, c)
        return self.arithmetic("fadd", self.arithmetic("fmul", a, b), c)

    def constant(self, x: float) -> str:
        return self.lanes.constant(x)

    def choose(self, condition: str, a: str, b: str) -> str:
        return self.code.let(f"select {self.lanes.boolean} {condition}, {self.v} {a}, {self.v} {b}")

    def compare(self, predicate: str, a: str, b: str) -> str:
        return self.code.let(f"fcmp {predicate} {self.v} {a}, {b}")

    def polynomial(self, z: str, coefficients: tuple[float, ...]) -> str:
        """Σ coefficient_k z^k by Horner."""
        p = self.constant(coefficients[-1])
        for c in reversed(coefficients[:-1]):
            p = self.multiply_add(p, z, self.constant(c))
        return p

    def sincos(self, x: str) -> tuple[str, str]:
        """sin x, cos x."""
        size = self.intrinsic("fabs", x)
        x = self.choose(self.compare("ole", size, self.constant(LARGEST_ANGLE)), x, self.constant(math.nan))
        shifted = self.multiply_add(x, self.constant(2.0 / math.pi), self.constant(_MAGIC))
        n = self.arithmetic("fsub", shifted, self.constant(_MAGIC))
        r = self._reduce(x, n)
        z = self.arithmetic("fmul", r, r)
        s = self.multiply_add(self.arithmetic("fmul", r, z), self.polynomial(z, _SIN), r)
        upper = self.multiply_add(z, self.constant(-0.5), self.constant(1.0))
        c = self.multiply_add(self.arithmetic("fmul", z, z), self.polynomial(z, _COS), upper)
        return self._quadrant(shifted, s, c)

    def _reduce(self, x: str, n: str) -> str:
        """x - n π/2, with π/2 in pieces."""
        minus_n = self.negative(n)
        for piece in _HALF_PI_FUSED if self.lanes.fma else _HALF_PI_SPLIT:
            x = self.multiply_add(minus_n, self.constant(piece), x)
        return x

    def _quadrant(self, shifted: str, s: str, c: str) -> tuple[str, str]:
        """Swap and negate by the two low bits of the quadrant."""
        i, let, lanes = self.lanes.integer, self.code.let, self.lanes
        bits = let(f"bitcast {self.v} {shifted} to {i}")
        odd = let(f"and {i} {bits}, {lanes.integer_constant(1)}")
        even = let(f"icmp eq {i} {odd}, {lanes.integer_constant(0)}")
        sine, cosine = self.choose(even, s, c), self.choose(even, c, s)
        next_bits = let(f"add {i} {bits}, {lanes.integer_constant(1)}")
        return self._flip(sine, bits), self._flip(cosine, next_bits)

    def _flip(self, a: str, bits: str) -> str:
        """-a where bit 1 is set."""
        i, let, lanes = self.lanes.integer, self.code.let, self.lanes
        at_sign = let(f"shl {i} {bits}, {lanes.integer_constant(62)}")
        sign = let(f"and {i} {at_sign}, {lanes.integer_constant(-(1 << 63))}")
        flipped = let(f"xor {i} {let(f'bitcast {self.v} {a} to {i}')}, {sign}")
        return let(f"bitcast {i} {flipped} to {self.v}")

    def atan2(self, y: str, x: str) -> str:
        """The angle of (x, y): the ratio of the smaller to the larger side, a rational function, then the octant."""
        ax, ay = self.intrinsic("fabs", x), self.intrinsic("fabs", y)
        small, large = self._rescale(self.intrinsic("minimum", ax, ay), self.intrinsic("maximum", ax, ay))
        upper = self.compare("ogt", small, self.arithmetic("fmul", large, self.constant(0.66)))
        top = self.choose(upper, self.arithmetic("fsub", small, large), small)
        bottom = self.choose(upper, self.arithmetic("fadd", small, large), large)
        at_origin = self.compare("oeq", large, self.constant(0.0))
        angle = self._atan(self.arithmetic("fdiv", top, self.choose(at_origin, self.constant(1.0), bottom)))
        angle = self.choose(upper, self._offset(math.pi / 4, angle), angle)
        steep = self.compare("ogt", ay, ax)
        behind = self.compare("olt", self.intrinsic("copysign", self.constant(1.0), x), self.constant(0.0))
        from_y_axis = self._offset(math.pi / 2, self.choose(behind, angle, self.negative(angle)))
        from_x_axis = self.choose(behind, self._offset(math.pi, self.negative(angle)), angle)
        return self.intrinsic("copysign", self.choose(steep, from_y_axis, from_x_axis), y)

    def _rescale(self, small: str, large: str) -> tuple[str, str]:
        """Two sides of equal ratio whose sum does not overflow and whose products do not underflow."""
        huge = self.compare("ogt", large, self.constant(2.0**1000))
        tiny = self.compare("olt", large, self.constant(2.0**-900))
        grown = self.choose(tiny, self.constant(2.0**100), self.constant(1.0))
        scale = self.choose(huge, self.constant(2.0**-100), grown)
        return self.arithmetic("fmul", small, scale), self.arithmetic("fmul", large, scale)

    def _atan(self, t: str) -> str:
        """Arc tangent for |t| ≤ 0.66."""
        z = self.arithmetic("fmul", t, t)
        ratio = self.arithmetic("fdiv", self.polynomial(z, _ATAN_P), self.polynomial(z, _ATAN_Q))
        return self.multiply_add(self.arithmetic("fmul", t, z), ratio, t)

    def _offset(self, base: float, angle: str) -> str:
        """base + angle, where base is a fraction of π that a double holds only to half an ulp."""
        rest = self.constant(_PI_REST * (base / math.pi))
        return self.arithmetic("fadd", self.constant(base), self.arithmetic("fadd", angle, rest))
