"""Moving samples between NumPy's arrays and the workspace: machine code that is the same for every robot.

An array holds one sample after another; the workspace holds, for each entry, the W values of W samples side by side.
W x W entries at a time are transposed in registers, the rest of a row in smaller pieces. A single sample is copied to
all lanes. Where the entries of a sample are not adjacent in memory, they are moved one by one.

A store that straddles two cache lines takes longer than another, and a store of 64 bytes may be made of two of 32
bytes. NumPy's large arrays begin 16 bytes behind a line, others at any multiple of 16. Where rows are a multiple of 32
bytes apart, as those of all matrices with an even number of rows and columns, a few entries of each are moved first, so
that all other stores are aligned: a humanoid's mass matrix took 9 % longer without.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

from .ir import Code, Lanes

_AHEAD = 24  # entries between a store and the line asked for beside it: three lines, measured best of 2 to 16


DECLARATIONS = "declare void @llvm.prefetch.p0(ptr, i32, i32, i32)\n"  # the intrinsics that the code uses


def open_loop(c: Code, name: str, before: str, end: str, step: int, after: str) -> tuple[str, str]:
    """Start a loop `name` that counts from 0 while below `end`; label `before` leads to it, it leads to label `after`.

    Returns the counter, and the text that closes the loop.
    """
    c.label(name)
    c.do(f"%{name}_i = phi i64 [0, %{before}], [%{name}_next, %{name}_last]")
    c.do(f"%{name}_more = icmp slt i64 %{name}_i, {end}")
    c.do(f"br i1 %{name}_more, label %{name}_body, label %{after}")
    c.label(f"{name}_body")
    close = f"br label %{name}_last\n{name}_last:\n  %{name}_next = add i64 %{name}_i, {step}\n  br label %{name}"
    return f"%{name}_i", close


_ALIKE = 32  # bytes


def can_be_aligned(c: Code, outer: str) -> str:
    """Whether rows at this distance can be aligned together, at least to half of the widest vectors."""
    return c.let(f"icmp eq i64 {c.let(f'and i64 {outer}, {_ALIKE - 1}')}, 0")


def unaligned_entries(c: Code, lanes: Lanes, array: str, outer: str) -> str:
    """How many entries of a row lie before the address from which on its vectors are aligned: less than W.

    They are aligned as far as all rows are alike: to a multiple of the largest power of two in the rows' distance.
    """
    lowest = c.let(f"and i64 {outer}, {c.let(f'sub i64 0, {outer}')}")
    agreed, most = c.let(f"add i64 {lowest}, -1"), lanes.bytes - 1
    few = c.let(f"icmp ult i64 {agreed}, {most}")
    bits = c.let(f"select i1 {few}, i64 {agreed}, i64 {most}")
    before = c.let(f"sub i64 0, {c.let(f'ptrtoint ptr {array} to i64')}")
    return c.let(f"lshr i64 {c.let(f'and i64 {before}, {bits}')}, 3")


class _RowMover(ABC):
    """Code that moves a row of %count entries of W samples; subclasses say in which direction."""

    def __init__(self, lanes: Lanes) -> None:
        self.lanes = lanes
        self.v = lanes.double
        self.c = Code()

    def function(self, name: str) -> str:
        """@name(slots, map, array, outer stride, inner stride, count, first sample, number of samples)."""
        c = self.c
        c.label("entry")
        rows = self._sample_addresses()
        self.count_squares()
        if self.lanes.width > 1:
            alone = c.let(f"icmp eq i64 {c.let('sub i64 %n, %i')}, 1")
            c.do(f"br i1 {alone}, label %single, label %several")
        else:
            c.do("br label %single")
        k, close = open_loop(c, "single", "entry", "%count", 1, "done")
        self.move_single(k, rows[0])
        c.do(close)
        if self.lanes.width > 1:
            self._move_several(rows)
        c.label("done")
        c.do("ret void")
        arguments = "ptr noalias %slots, ptr noalias %map, ptr noalias %array, i64 %outer, i64 %inner, i64 %count"
        return f"define internal void @{name}({arguments}, i64 %i, i64 %n) #0 {{\n{c.body()}\n}}\n"

    def _move_several(self, rows: list[str]) -> None:
        """All entries of W samples: label `several`, which leads to label `done`."""
        c = self.c
        c.label("several")
        c.do(f"br i1 {c.let('icmp eq i64 %inner, 8')}, label %wide, label %narrow")
        self.move_adjacent(rows, "several", self.move_square)
        c.do("br label %done")
        k, close = open_loop(c, "narrow", "several", "%count", 1, "done")
        self.move_entry(k, rows)
        c.do(close)

    def move_adjacent(self, rows: list[str], before: str, square: Callable[[str, list[str]], None]) -> None:
        """All entries of W rows whose entries are adjacent: W at a time by `square`, then W/2, ..., 2, 1 of the rest.

        The code begins with label `wide`, to which label `before` leads. No entry that does not exist is touched.
        """
        c, w = self.c, self.lanes.width
        k, close = open_loop(c, "wide", before, f"%count_of_{w}", w, "rest")
        square(k, rows)
        c.do(close)
        c.label("rest")
        few = w // 2
        while few:
            some = c.let(f"icmp ne i64 {c.let(f'and i64 %count, {few}')}, 0")
            c.do(f"br i1 {some}, label %rest_{few}, label %no_{few}")
            c.label(f"rest_{few}")
            self.move_few(c.let(f"and i64 %count, {-2 * few}"), rows, few)
            c.do(f"br label %no_{few}")
            c.label(f"no_{few}")
            few //= 2

    def count_squares(self) -> None:
        """%count_of_W: how many entries are in whole squares."""
        w = self.lanes.width
        self.c.do(f"%count_of_{w} = and i64 %count, {-w}")

    def _sample_addresses(self) -> list[str]:
        """Where each lane's sample lies; lanes beyond the last sample repeat it."""
        c = self.c
        last = c.let("add i64 %n, -1")
        rows = []
        for lane in range(self.lanes.width):
            index = c.let(f"add i64 %i, {lane}")
            inside = c.let(f"icmp slt i64 {index}, {last}")
            clamped = c.let(f"select i1 {inside}, i64 {index}, i64 {last}")
            rows.append(c.let(f"getelementptr i8, ptr %array, i64 {c.let(f'mul i64 {clamped}, %outer')}"))
        return rows

    def entry(self, row: str, k: str) -> str:
        """Address of entry k of a sample."""
        return self.c.let(f"getelementptr i8, ptr {row}, i64 {self.c.let(f'mul i64 {k}, %inner')}")

    def transpose(self, x: list[str]) -> list[str]:
        """M vectors of W, where M divides W: in M x M squares rows become columns, in log2 M rounds of exchanges."""
        w, distance = self.lanes.width, 1
        while distance < len(x):
            y = list(x)
            for i in (i for i in range(len(x)) if not i & distance):
                low = [j if not j & distance else w + j - distance for j in range(w)]
                high = [j + distance if not j & distance else w + j for j in range(w)]
                for target, order in ((i, low), (i + distance, high)):
                    mask = ", ".join(f"i32 {k}" for k in order)
                    pair = f"{self.v} {x[i]}, {self.v} {x[i + distance]}"
                    y[target] = self.c.let(f"shufflevector {pair}, <{w} x i32> <{mask}>")
            x, distance = y, 2 * distance
        return x

    @abstractmethod
    def move_single(self, k: str, row: str) -> None:
        """Entry k, where there is one sample only."""

    def move_square(self, k: str, rows: list[str]) -> None:
        """W entries from k on, of W samples."""
        self.move_few(k, rows, self.lanes.width)

    def move_halves(self, k: str, rows: list[str]) -> None:
        """`move_square`, half by half. In long rows these exchange places faster by loads than in registers."""
        half = self.lanes.width // 2
        for first in (0, half):
            self.move_few(self.c.let(f"add i64 {k}, {first}"), rows, half)

    @abstractmethod
    def move_few(self, k: str, rows: list[str], m: int) -> None:
        """M entries from k on, of W samples, where M divides W."""

    @abstractmethod
    def move_entry(self, k: str, rows: list[str]) -> None:
        """Entry k of W samples, which need not follow each other."""


class Pack(_RowMover):
    """From an array into consecutive slots."""

    def _store(self, k: str, value: str) -> None:
        where = self.c.let(f"getelementptr {self.v}, ptr %slots, i64 {k}")
        self.c.do(f"store {self.v} {value}, ptr {where}, align {self.lanes.bytes}")

    def move_single(self, k: str, row: str) -> None:
        c, w = self.c, self.lanes.width
        x = c.let(f"load double, ptr {self.entry(row, k)}, align 8")
        one = c.let(f"insertelement {self.v} poison, double {x}, i64 0")
        self._store(k, c.let(f"shufflevector {self.v} {one}, {self.v} poison, <{w} x i32> zeroinitializer"))

    def move_few(self, k: str, rows: list[str], m: int) -> None:
        c, part = self.c, f"<{m} x double>"
        places = [c.let(f"getelementptr double, ptr {row}, i64 {k}") for row in rows]
        loaded = [c.let(f"load {part}, ptr {place}, align 8") for place in places]
        for j, x in enumerate(self.transpose([self._join(loaded[i::m], m) for i in range(m)])):
            self._store(c.let(f"add i64 {k}, {j}"), x)

    def _join(self, x: list[str], m: int) -> str:
        """Vectors of M, one after the other in one of W."""
        while len(x) > 1:
            kind, order = f"<{m} x double>", ", ".join(f"i32 {j}" for j in range(2 * m))
            pairs = zip(x[::2], x[1::2], strict=True)
            x = [self.c.let(f"shufflevector {kind} {a}, {kind} {b}, <{2 * m} x i32> <{order}>") for a, b in pairs]
            m *= 2
        return x[0]

    def move_entry(self, k: str, rows: list[str]) -> None:
        total = "poison"
        for lane, row in enumerate(rows):
            x = self.c.let(f"load double, ptr {self.entry(row, k)}, align 8")
            total = self.c.let(f"insertelement {self.v} {total}, double {x}, i64 {lane}")
        self._store(k, total)


class Unpack(_RowMover):
    """From the slots that a map lists into an array.

    The processor does not recognise the stores of W rows in turn as streams, and each waits for its cache line.
    Prefetching the lines some stores ahead saves a fifth of the time of a matrix.
    """

    def _load(self, k: str) -> str:
        c = self.c
        index = c.let(f"load i32, ptr {c.let(f'getelementptr i32, ptr %map, i64 {k}')}, align 4")
        where = c.let(f"getelementptr {self.v}, ptr %slots, i64 {c.let(f'zext i32 {index} to i64')}")
        return c.let(f"load {self.v}, ptr {where}, align {self.lanes.bytes}")

    def _ask_for(self, where: str) -> None:
        """Prefetch the line at an address for writing; an invalid address does no harm."""
        self.c.do(f"call void @llvm.prefetch.p0(ptr {where}, i32 1, i32 3, i32 1)")

    def move_single(self, k: str, row: str) -> None:
        x = self.c.let(f"extractelement {self.v} {self._load(k)}, i64 0")
        self.c.do(f"store double {x}, ptr {self.entry(row, k)}, align 8")

    def move_square(self, k: str, rows: list[str]) -> None:
        c = self.c
        loaded = [self._load(c.let(f"add i64 {k}, {j}")) for j in range(self.lanes.width)]
        for row, x in zip(rows, self.transpose(loaded), strict=True):
            where = c.let(f"getelementptr double, ptr {row}, i64 {k}")
            self._ask_for(c.let(f"getelementptr double, ptr {where}, i64 {_AHEAD}"))
            c.do(f"store {self.v} {x}, ptr {where}, align 8")

    def move_few(self, k: str, rows: list[str], m: int) -> None:
        c, part = self.c, f"<{m} x double>"
        loaded = [self._load(c.let(f"add i64 {k}, {j}")) for j in range(m)]
        for i, x in enumerate(self.transpose(loaded)):
            for first, row in zip(range(0, self.lanes.width, m), rows[i::m], strict=True):
                order = ", ".join(f"i32 {j}" for j in range(first, first + m))
                y = c.let(f"shufflevector {self.v} {x}, {self.v} poison, <{m} x i32> <{order}>")
                c.do(f"store {part} {y}, ptr {c.let(f'getelementptr double, ptr {row}, i64 {k}')}, align 8")

    def move_entry(self, k: str, rows: list[str]) -> None:
        value = self._load(k)
        for lane, row in enumerate(rows):
            x = self.c.let(f"extractelement {self.v} {value}, i64 {lane}")
            self.c.do(f"store double {x}, ptr {self.entry(row, k)}, align 8")


LEAST_BYTES = 24 << 20  # smaller arrays stay in a cache, where ordinary stores are as fast and readers find them
CHUNK = 64  # entries of a sample that are buffered at a time


class Stream(Unpack):
    """Code that moves whole chunks of adjacent entries of W samples.

    The buffer of a sample has W places for the end of the chunk before, and then a chunk. Aligned vectors start at its
    places h, h + W, h + 2 W, ... where h, from 1 to W, is the number of entries before the row's first aligned address.
    """

    def __init__(self, lanes: Lanes) -> None:
        super().__init__(lanes)
        self._pitch = lanes.width + CHUNK

    def function(self, name: str) -> str:
        """@name(slots, map, array, outer stride, inner stride, count, first sample, number of samples) -> how many
        entries of each sample were moved: none if the array is small or its entries are not adjacent.

        The entries before an aligned address, if all rows are alike, are moved by `@rows_unpack` of `planned_moves.py`.
        """
        c, w = self.c, self.lanes.width
        c.label("entry")
        c.do(f"%buffer = alloca [{w * self._pitch} x double], align 64")
        c.do("%nowhere = alloca [8 x double], align 64")
        unaligned = unaligned_entries(c, self.lanes, "%array", "%outer")
        c.do(f"%head = select i1 {can_be_aligned(c, '%outer')}, i64 {unaligned}, i64 0")
        rows = [c.let(f"getelementptr double, ptr {row}, i64 %head") for row in self._sample_addresses()]
        c.do(f"%whole = and i64 {c.let('sub i64 %count, %head')}, {-CHUNK}")
        c.do(f"br i1 {self._is_worth_it()}, label %start, label %nothing")
        c.label("nothing")
        c.do("ret i64 0")
        c.label("start")
        here = c.let(f"getelementptr i8, ptr %array, i64 {c.let('mul i64 %i, %outer')}")
        c.do(f"call void @rows_unpack(ptr %slots, ptr %map, ptr {here}, i64 %outer, i64 %head)")
        c.do("br label %chunk")
        k, close = open_loop(c, "chunk", "start", "%whole", CHUNK, "finish")
        self._fill(k)
        self._empty(k, rows)
        c.do(close)
        c.label("finish")
        end = c.let(f"add i64 %whole, {-w}")
        for lane, row in enumerate(rows):
            self._copy(self._place(lane, 0), c.let(f"getelementptr double, ptr {row}, i64 {end}"))
        c.do("fence seq_cst")  # streaming stores are not ordered with those that signal the end to other threads
        c.do(f"ret i64 {c.let('add i64 %head, %whole')}")
        arguments = "ptr noalias %slots, ptr noalias %map, ptr noalias %array, i64 %outer, i64 %inner, i64 %count"
        return f"define internal i64 @{name}({arguments}, i64 %i, i64 %n) #0 {{\n{c.body()}\n}}\n"

    def _is_worth_it(self) -> str:
        c = self.c
        large = c.let(f"icmp sge i64 {c.let('mul i64 %n, %outer')}, {LEAST_BYTES}")
        all_lanes = c.let(f"icmp sle i64 {c.let(f'add i64 %i, {self.lanes.width}')}, %n")
        adjacent = c.let("icmp eq i64 %inner, 8")
        long = c.let("icmp sgt i64 %whole, 0")
        return c.let(f"and i1 {c.let(f'and i1 {large}, {all_lanes}')}, {c.let(f'and i1 {adjacent}, {long}')}")

    def _place(self, lane: int, k: str | int) -> str:
        """Address of place k of a sample's buffer."""
        return self.c.let(f"getelementptr double, ptr %buffer, i64 {self.c.let(f'add i64 {k}, {lane * self._pitch}')}")

    def _copy(self, source: str, target: str) -> None:
        """W entries, wherever they lie."""
        x = self.c.let(f"load {self.v}, ptr {source}, align 8")
        self.c.do(f"store {self.v} {x}, ptr {target}, align 8")

    def _fill(self, k: str) -> None:
        """Put the entries from k on into the buffers."""
        c, w = self.c, self.lanes.width
        c.do("br label %fill")
        t, close = open_loop(c, "fill", "chunk_body", str(CHUNK), w, "filled")
        first = c.let(f"add i64 {c.let(f'add i64 {k}, %head')}, {t}")
        loaded = [self._load(c.let(f"add i64 {first}, {j}")) for j in range(w)]
        place = c.let(f"add i64 {t}, {w}")
        for lane, x in enumerate(self.transpose(loaded)):
            c.do(f"store {self.v} {x}, ptr {self._place(lane, place)}, align {self.lanes.bytes}")
        c.do(close)
        c.label("filled")

    def _empty(self, k: str, rows: list[str]) -> None:
        """Write all aligned vectors that the buffers hold, and keep the last entries.

        In the first chunk, the first vector would begin before the row: the row's start is stored as it is.
        """
        c, w = self.c, self.lanes.width
        is_first = c.let(f"icmp eq i64 {k}, 0")
        c.do(f"br i1 {is_first}, label %beginning, label %vectors")
        c.label("beginning")
        for lane, row in enumerate(rows):
            self._copy(self._place(lane, w), row)
        c.do("br label %vectors")
        c.label("vectors")
        for lane, row in enumerate(rows):
            number = c.let(f"lshr i64 {c.let(f'ptrtoint ptr {row} to i64')}, 3")
            head = c.let(f"sub i64 {w}, {c.let(f'and i64 {number}, {w - 1}')}")
            first = c.let(f"add i64 {c.let(f'add i64 {k}, {head}')}, {-w}")
            for j in range(0, CHUNK, w):
                vector = c.let(f"load {self.v}, ptr {self._place(lane, c.let(f'add i64 {head}, {j}'))}, align 8")
                where = c.let(f"getelementptr double, ptr {row}, i64 {c.let(f'add i64 {first}, {j}')}")
                if j == 0:
                    where = c.let(f"select i1 {is_first}, ptr %nowhere, ptr {where}")
                c.do(f"store {self.v} {vector}, ptr {where}, align {self.lanes.bytes}, !nontemporal !0")
            self._copy(self._place(lane, CHUNK), self._place(lane, 0))
