"""Vector sin, cos and atan2 as straight-line code. LLVM's own fall back to one scalar library call a lane.

sin and cos: Cody-Waite reduction by multiples of π/2 and the classic minimax polynomials on [-π/4, π/4], within 2 ulp for
|x| ≤ 1e8; beyond that, where an angle in radians has lost its meaning, the result is NaN. The constants are those of
Sun's fdlibm (sin, cos) and Moshier's Cephes (atan).
"""

from __future__ import annotations

import math

from .ir import Code, Lanes

_MAGIC = 6755399441055744.0  # 1.5 * 2**52: adding it rounds to an integer, whose low bits are then the quadrant
_LARGEST_ANGLE = 1e8
# π/2 in pieces: full ones where n * piece is exact inside a fused multiply-add, short ones (n * piece fits) elsewhere.
_HALF_PI_FUSED = (1.5707963267948966, 6.123233995736766e-17, -1.4973849048591833e-33)
_HALF_PI_SPLIT = (1.570796310901642, 1.5893254712295857e-08, 6.123233932053594e-17, 6.36831716351095e-25)
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
    "declare {v} @llvm.fabs.v{w}f64({v})\n"
    "declare {v} @llvm.fma.v{w}f64({v}, {v}, {v})\n"
    "declare {v} @llvm.sqrt.v{w}f64({v})\n"
    "declare {v} @llvm.copysign.v{w}f64({v}, {v})\n"
    "declare {v} @llvm.minimum.v{w}f64({v}, {v})\n"
    "declare {v} @llvm.maximum.v{w}f64({v}, {v})\n"
)


class Elementary:
    """Emits elementary functions into a function body."""

    def __init__(self, code: Code, lanes: Lanes) -> None:
        self.code = code
        self.lanes = lanes
        self.v = lanes.double

    def arithmetic(self, op: str, a: str, b: str) -> str:
        return self.code.let(f"{op} contract {self.v} {a}, {b}")

    def intrinsic(self, name: str, *args: str) -> str:
        listed = ", ".join(f"{self.v} {a}" for a in args)
        return self.code.let(f"call {self.v} @llvm.{name}.v{self.lanes.width}f64({listed})")

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
            p = self.arithmetic("fadd", self.arithmetic("fmul", p, z), self.constant(c))
        return p

    def sincos(self, x: str) -> tuple[str, str]:
        """sin x, cos x."""
        size = self.intrinsic("fabs", x)
        x = self.choose(self.compare("ole", size, self.constant(_LARGEST_ANGLE)), x, self.constant(math.nan))
        shifted = self.arithmetic("fadd", self.arithmetic("fmul", x, self.constant(2.0 / math.pi)), self.constant(_MAGIC))
        n = self.arithmetic("fsub", shifted, self.constant(_MAGIC))
        r = self._reduce(x, n)
        z = self.arithmetic("fmul", r, r)
        rz = self.arithmetic("fmul", r, z)
        s = self.arithmetic("fadd", r, self.arithmetic("fmul", rz, self.polynomial(z, _SIN)))
        half = self.arithmetic("fmul", z, self.constant(0.5))
        w = self.arithmetic("fsub", self.constant(1.0), half)
        rest = self.arithmetic("fsub", self.arithmetic("fsub", self.constant(1.0), w), half)
        zz = self.arithmetic("fmul", z, z)
        tail = self.arithmetic("fadd", rest, self.arithmetic("fmul", zz, self.polynomial(z, _COS)))
        c = self.arithmetic("fadd", w, tail)
        return self._quadrant(shifted, s, c)

    def _reduce(self, x: str, n: str) -> str:
        minus_n = self.code.let(f"fneg {self.v} {n}")
        if self.lanes.fma:
            for piece in _HALF_PI_FUSED:
                x = self.intrinsic("fma", minus_n, self.constant(piece), x)
            return x
        for piece in _HALF_PI_SPLIT:
            x = self.arithmetic("fadd", x, self.arithmetic("fmul", minus_n, self.constant(piece)))
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
        sign = let(f"shl {i} {let(f'and {i} {bits}, {lanes.integer_constant(2)}')}, {lanes.integer_constant(62)}")
        flipped = let(f"xor {i} {let(f'bitcast {self.v} {a} to {i}')}, {sign}")
        return let(f"bitcast {i} {flipped} to {self.v}")

    def atan2(self, y: str, x: str) -> str:
        """The angle of (x, y): reduce to a ratio in [0, 1], then to [-0.41, 0.66], then a rational function."""
        ax, ay = self.intrinsic("fabs", x), self.intrinsic("fabs", y)
        small, large = self.intrinsic("minimum", ax, ay), self.intrinsic("maximum", ax, ay)
        upper = self.compare("ogt", small, self.arithmetic("fmul", large, self.constant(0.66)))
        top = self.choose(upper, self.arithmetic("fsub", small, large), small)
        bottom = self.choose(upper, self.arithmetic("fadd", small, large), large)
        at_origin = self.compare("oeq", large, self.constant(0.0))
        t = self.arithmetic("fdiv", top, self.choose(at_origin, self.constant(1.0), bottom))
        z = self.arithmetic("fmul", t, t)
        ratio = self.arithmetic("fdiv", self.polynomial(z, _ATAN_P), self.polynomial(z, _ATAN_Q))
        curve = self.arithmetic("fmul", self.arithmetic("fmul", t, z), ratio)
        base = self.choose(upper, self.constant(math.pi / 4), self.constant(0.0))
        low = self.choose(upper, self.constant(0.5 * 6.123233995736766e-17), self.constant(0.0))
        angle = self.arithmetic("fadd", base, self.arithmetic("fadd", t, self.arithmetic("fadd", curve, low)))
        steep = self.compare("ogt", ay, ax)
        folded = self.arithmetic("fadd", self.arithmetic("fsub", self.constant(math.pi / 2), angle), self.constant(6.123233995736766e-17))
        angle = self.choose(steep, folded, angle)
        signed_x = self.intrinsic("copysign", self.constant(1.0), x)
        left = self.compare("olt", signed_x, self.constant(0.0))
        mirrored = self.arithmetic("fadd", self.arithmetic("fsub", self.constant(math.pi), angle), self.constant(1.2246467991473532e-16))
        return self.intrinsic("copysign", self.choose(left, mirrored, angle), y)
