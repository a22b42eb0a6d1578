"""Writing LLVM assembly as text, for vectors of W doubles."""

from __future__ import annotations

import struct
from dataclasses import dataclass, replace


def hexadecimal(x: float) -> str:
    """A double exactly, as LLVM writes it."""
    return f"0x{struct.unpack('<Q', struct.pack('<d', x))[0]:016X}"


@dataclass(frozen=True)
class Lanes:
    """The vector types for W samples at a time, and what the CPU offers for them."""

    width: int
    fma: bool
    scalar: bool = False  # one lane, written without vectors: LLVM need not scalarise them

    def plain(self) -> Lanes:
        """The same lanes as blocks use them: a scalar if there is one lane."""
        return replace(self, scalar=self.width == 1)

    def _of(self, kind: str) -> str:
        return kind if self.scalar else f"<{self.width} x {kind}>"

    @property
    def double(self) -> str:
        return self._of("double")

    @property
    def integer(self) -> str:
        return self._of("i64")

    @property
    def boolean(self) -> str:
        return self._of("i1")

    @property
    def suffix(self) -> str:
        """The ending of the names of LLVM's functions of doubles."""
        return "f64" if self.scalar else f"v{self.width}f64"

    @property
    def bytes(self) -> int:
        """Size of one slot of the workspace."""
        return 8 * self.width

    def constant(self, x: float) -> str:
        """A vector of equal constants."""
        return hexadecimal(x) if self.scalar else f"splat (double {hexadecimal(x)})"

    def integer_constant(self, x: int) -> str:
        return str(x) if self.scalar else f"splat (i64 {x})"

    @property
    def attributes(self) -> str:
        """Function attributes: vectors must not be split, whatever width the CPU's tuning prefers."""
        bits = 64 * self.width
        return (
            f'attributes #0 = {{ nounwind noinline "no-trapping-math"="true" '
            f'"min-legal-vector-width"="{bits}" "prefer-vector-width"="{bits}" }}\n'
        )


class Code:
    """Lines of a function body with fresh names."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._count = 0

    def let(self, expression: str) -> str:
        """A new register holding the value of an instruction; returns its name."""
        name = f"%t{self._count}"
        self._count += 1
        self.lines.append(f"  {name} = {expression}")
        return name

    def do(self, instruction: str) -> None:
        """An instruction without a value."""
        self.lines.append(f"  {instruction}")

    def label(self, name: str) -> None:
        self.lines.append(f"{name}:")

    def body(self) -> str:
        return "\n".join(self.lines)


def word(c: Code, table: str, index: int | str, kind: str = "i64") -> str:
    """A word of a table of the runtime."""
    return c.let(f"load {kind}, ptr {c.let(f'getelementptr i64, ptr {table}, i64 {index}')}, align 8")
