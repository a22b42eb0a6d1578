"""Moving samples between NumPy's arrays and the workspace: machine code that is the same for every robot.

An array holds one sample after another; the workspace holds, for each entry, the W values of W samples side by side.
W x W entries at a time are transposed in registers; a masked load or store takes care of the rest of a row. A single
sample is copied to all lanes. Where the entries of a sample are not adjacent in memory, they are moved one by one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

from .ir import Code, Lanes

_AHEAD = 24  # entries between a store and the line asked for beside it: three lines, measured best of 2 to 16


def declarations(lanes: Lanes) -> str:
    """The intrinsics that the code uses."""
    v, w = lanes.double, lanes.width
    return (
        f"declare {v} @llvm.masked.load.v{w}f64.p0(ptr, i32, {lanes.boolean}, {v})\n"
        f"declare void @llvm.masked.store.v{w}f64.p0({v}, ptr, i32, {lanes.boolean})\n"
        "declare void @llvm.prefetch.p0(ptr, i32, i32, i32)\n"
    )


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


class _Row(ABC):
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
        alone = c.let(f"icmp eq i64 {c.let('sub i64 %n, %i')}, 1")
        adjacent = c.let("icmp eq i64 %inner, 8")
        c.do(f"br i1 {alone}, label %single, label %several")
        k, close = open_loop(c, "single", "entry", "%count", 1, "done")
        self.move_single(k, rows[0])
        c.do(close)
        c.label("several")
        c.do(f"br i1 {adjacent}, label %wide, label %narrow")
        k, close = open_loop(c, "wide", "several", "%count", self.lanes.width, "done")
        self.move_square(k, rows)
        c.do(close)
        k, close = open_loop(c, "narrow", "several", "%count", 1, "done")
        self.move_entry(k, rows)
        c.do(close)
        c.label("done")
        c.do("ret void")
        arguments = "ptr noalias %slots, ptr noalias %map, ptr noalias %array, i64 %outer, i64 %inner, i64 %count"
        return f"define internal void @{name}({arguments}, i64 %i, i64 %n) #0 {{\n{c.body()}\n}}\n"

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

    def existing(self, first: str) -> str:
        """Which of the W entries from `first` on exist."""
        c, w, i = self.c, self.lanes.width, self.lanes.integer
        one = c.let(f"insertelement {i} poison, i64 {c.let(f'sub i64 %count, {first}')}, i64 0")
        left = c.let(f"shufflevector {i} {one}, {i} poison, <{w} x i32> zeroinitializer")
        numbers = ", ".join(f"i64 {k}" for k in range(w))
        return c.let(f"icmp slt {i} <{numbers}>, {left}")

    def transposed(self, x: list[str]) -> list[str]:
        """W vectors of W: rows become columns, in log2 W rounds of exchanges."""
        w, distance = self.lanes.width, 1
        while distance < w:
            y = list(x)
            for i in (i for i in range(w) if not i & distance):
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

    @abstractmethod
    def move_square(self, k: str, rows: list[str]) -> None:
        """W entries from k on, of W samples."""

    @abstractmethod
    def move_whole_square(self, k: str, rows: list[str]) -> None:
        """The same where all W entries exist."""

    @abstractmethod
    def move_entry(self, k: str, rows: list[str]) -> None:
        """Entry k of W samples, which need not follow each other."""


class Pack(_Row):
    """From an array into consecutive slots. May write up to W - 1 slots too many: what follows is written later."""

    def _store(self, k: str, value: str) -> None:
        where = self.c.let(f"getelementptr {self.v}, ptr %slots, i64 {k}")
        self.c.do(f"store {self.v} {value}, ptr {where}, align {self.lanes.bytes}")

    def move_single(self, k: str, row: str) -> None:
        c, w = self.c, self.lanes.width
        x = c.let(f"load double, ptr {self.entry(row, k)}, align 8")
        one = c.let(f"insertelement {self.v} poison, double {x}, i64 0")
        self._store(k, c.let(f"shufflevector {self.v} {one}, {self.v} poison, <{w} x i32> zeroinitializer"))

    def move_square(self, k: str, rows: list[str]) -> None:
        c, w, mask = self.c, self.lanes.width, self.existing(k)
        loaded = []
        for row in rows:
            where = c.let(f"getelementptr double, ptr {row}, i64 {k}")
            given = f"ptr {where}, i32 8, {self.lanes.boolean} {mask}, {self.v} zeroinitializer"
            loaded.append(c.let(f"call {self.v} @llvm.masked.load.v{w}f64.p0({given})"))
        for j, x in enumerate(self.transposed(loaded)):
            self._store(c.let(f"add i64 {k}, {j}"), x)

    def move_whole_square(self, k: str, rows: list[str]) -> None:
        c = self.c
        places = [c.let(f"getelementptr double, ptr {row}, i64 {k}") for row in rows]
        loaded = [c.let(f"load {self.v}, ptr {place}, align 8") for place in places]
        for j, x in enumerate(self.transposed(loaded)):
            self._store(c.let(f"add i64 {k}, {j}"), x)

    def move_entry(self, k: str, rows: list[str]) -> None:
        total = "poison"
        for lane, row in enumerate(rows):
            x = self.c.let(f"load double, ptr {self.entry(row, k)}, align 8")
            total = self.c.let(f"insertelement {self.v} {total}, double {x}, i64 {lane}")
        self._store(k, total)


class Unpack(_Row):
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
        c, w, mask = self.c, self.lanes.width, self.existing(k)
        last = c.let("add i64 %count, -1")
        loaded = []
        for j in range(w):
            index = c.let(f"add i64 {k}, {j}")
            inside = c.let(f"icmp slt i64 {index}, {last}")
            loaded.append(self._load(c.let(f"select i1 {inside}, i64 {index}, i64 {last}")))
        for row, x in zip(rows, self.transposed(loaded), strict=True):
            where = c.let(f"getelementptr double, ptr {row}, i64 {k}")
            self._ask_for(c.let(f"getelementptr double, ptr {where}, i64 {_AHEAD}"))
            masked = f"{self.v} {x}, ptr {where}, i32 8, {self.lanes.boolean} {mask}"
            c.do(f"call void @llvm.masked.store.v{w}f64.p0({masked})")

    def move_whole_square(self, k: str, rows: list[str]) -> None:
        c = self.c
        loaded = [self._load(c.let(f"add i64 {k}, {j}")) for j in range(self.lanes.width)]
        for row, x in zip(rows, self.transposed(loaded), strict=True):
            where = c.let(f"getelementptr double, ptr {row}, i64 {k}")
            self._ask_for(c.let(f"getelementptr double, ptr {where}, i64 {_AHEAD}"))
            c.do(f"store {self.v} {x}, ptr {where}, align 8")

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
        """
        c, w = self.c, self.lanes.width
        c.label("entry")
        c.do(f"%buffer = alloca [{w * self._pitch} x double], align 64")
        c.do("%nowhere = alloca [8 x double], align 64")
        rows = self._sample_addresses()
        c.do(f"%whole = and i64 %count, {-CHUNK}")
        c.do(f"br i1 {self._is_worth_it()}, label %chunk, label %nothing")
        c.label("nothing")
        c.do("ret i64 0")
        k, close = open_loop(c, "chunk", "entry", "%whole", CHUNK, "finish")
        self._fill(k)
        self._empty(k, rows)
        c.do(close)
        c.label("finish")
        end = c.let(f"add i64 %whole, {-w}")
        for lane, row in enumerate(rows):
            self._copy(self._place(lane, 0), c.let(f"getelementptr double, ptr {row}, i64 {end}"))
        c.do("fence seq_cst")  # streaming stores are not ordered with those that tell other threads of the end
        c.do("ret i64 %whole")
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
        first = c.let(f"add i64 {k}, {t}")
        loaded = [self._load(c.let(f"add i64 {first}, {j}")) for j in range(w)]
        place = c.let(f"add i64 {t}, {w}")
        for lane, x in enumerate(self.transposed(loaded)):
            c.do(f"store {self.v} {x}, ptr {self._place(lane, place)}, align {self.lanes.bytes}")
        c.do(close)
        c.label("filled")

    def _empty(self, k: str, rows: list[str]) -> None:
        """Write all aligned vectors that the buffers hold, and keep the last entries.

        In the first chunk, the first vector would begin before the row: the row's start is stored as it is.
        """
        c, w = self.c, self.lanes.width
        is_first = c.let(f"icmp eq i64 {k}, 0")
        c.do(f"br i1 {is_first}, label %start, label %vectors")
        c.label("start")
        for lane, row in enumerate(rows):
            self._copy(self._place(lane, w), row)
        c.do("br label %vectors")
        c.label("vectors")
        for lane, row in enumerate(rows):
            number = c.let(f"lshr i64 {c.let(f'ptrtoint ptr {row} to i64')}, 3")
            head = c.let(f"sub i64 {w}, {c.let(f'and i64 {number}, {w - 1}')}")
            first = c.let(f"add i64 {c.let(f'add i64 {k}, {head}')}, {-w}")
            for j in range(0, CHUNK, w):
                x = c.let(f"load {self.v}, ptr {self._place(lane, c.let(f'add i64 {head}, {j}'))}, align 8")
                where = c.let(f"getelementptr double, ptr {row}, i64 {c.let(f'add i64 {first}, {j}')}")
                if j == 0:
                    where = c.let(f"select i1 {is_first}, ptr %nowhere, ptr {where}")
                c.do(f"store {self.v} {x}, ptr {where}, align {self.lanes.bytes}, !nontemporal !0")
            self._copy(self._place(lane, CHUNK), self._place(lane, 0))
