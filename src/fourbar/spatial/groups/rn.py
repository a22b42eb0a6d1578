"""Rⁿ: translations, or n coordinates without further meaning."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import final

from fourbar.spatial.linear import Mat, Vec, zeros

from .base import AbelianGroup, Scalars

# Which entries of the twist [angular; linear] move: one translation is along z, two are in the xy-plane.
_ROWS: dict[int, tuple[int, ...]] = {1: (5,), 2: (3, 4), 3: (3, 4, 5)}


@final
@dataclass(frozen=True)
class Rn(AbelianGroup):
    """Vectors of n scalars under addition. q = v = the vector. For n > 3 it places nothing in 3-space."""

    n: int
    name: str = field(init=False, repr=False)
    nq: int = field(init=False, repr=False)
    nv: int = field(init=False, repr=False)
    rows: tuple[int, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if self.n < 1:
            raise ValueError(f"R^n needs n >= 1, not {self.n}")
        known = {"name": f"R{self.n}", "nq": self.n, "nv": self.n, "rows": _ROWS.get(self.n, ())}
        for key, value in known.items():
            object.__setattr__(self, key, value)

    def identity(self) -> Vec:
        return zeros(self.n)

    def compose(self, a: Scalars, b: Scalars) -> Vec:
        return Vec(a) + b

    def inverse(self, a: Scalars) -> Vec:
        return -Vec(a)

    def exp(self, v: Scalars) -> Vec:
        return Vec(v)

    def log(self, a: Scalars) -> Vec:
        return Vec(a)

    def rotation(self, a: Scalars) -> Mat:
        self._need_placement()
        return Mat.identity(3)

    def translation(self, a: Scalars) -> Vec:
        self._need_placement()
        p = [0.0, 0.0, 0.0]
        for row, x in zip(self.rows, a, strict=True):
            p[row - 3] = x
        return Vec(p)

    def _need_placement(self) -> None:
        if not self.rows:
            raise ValueError(f"R^{self.n} does not act on 3-space: only R^1, R^2 and R^3 place a body")
