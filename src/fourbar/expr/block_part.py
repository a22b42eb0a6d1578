"""Some instructions of a block as a block of their own: what splitting and separating programs have in common."""

from __future__ import annotations

from .program import Block, Instruction, Store


class BlockPart:
    """Instructions of a block, taken over one by one; `made` are those that compute something."""

    def __init__(self, block: Block) -> None:
        self._whole = block
        self._code: list[Instruction] = []
        self.numbers: dict[int, int] = {}  # of an instruction of the whole block, here
        self.made: list[int] = []
        self.stores: list[Store] = []

    def add(self, instruction: Instruction) -> int:
        """The number of one more instruction."""
        self._code.append(instruction)
        return len(self._code) - 1

    def read(self, i: int) -> Instruction:
        """The instruction that reads what instruction i has, if that is not computed here: as it stands."""
        return self._whole.code[i]

    def place(self, i: int) -> int:
        """The number of instruction i here: computed, or read."""
        if i not in self.numbers:
            self.numbers[i] = self.add(self.read(i))
        return self.numbers[i]

    def compute(self, i: int) -> None:
        """Take over an operation whose operands are here, or are read."""
        op, *operands = self._whole.code[i]
        placed = [self.place(a) if a.__class__ is int else a for a in operands]
        self.numbers[i] = self.add((op, *placed))
        self.made.append(i)

    def store(self, store: Store) -> None:
        """Take over a store."""
        value = self.place(store.value) if isinstance(store.value, int) else store.value
        self.stores.append(Store(store.port, store.offset, value))

    def block(self, ports: int, table: int) -> Block:
        """All that was taken over."""
        return Block(ports, table, tuple(self._code), tuple(self.stores))
